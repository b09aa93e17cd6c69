"""The front door to decisions: from scores, in any form, to a threshold."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, TypeVar, Unpack

from heldout.api.evaluate import refuse_other_labels
from heldout.api.fitted_model import NO_MODEL, is_model, predict_cases
from heldout.api.options import EngineArguments, takes
from heldout.arguments import Missing, check_level, check_prevalence, check_rows, check_whole, listing
from heldout.costs import Costs, settle_costs
from heldout.engines.engine_choice import EngineOptions, counted_elsewhere, known_evidence, only_evidence
from heldout.engines.score_evidence import CountedScores, RowScores
from heldout.errors import OptionError
from heldout.evidence import Label
from heldout.evidence.counted import Counted
from heldout.predictions.case_values import refuse_several
from heldout.predictions.positive_class import choose_positive, fitted, quoted
from heldout.predictions.source import ReadOptions, Source, gather
from heldout.predictions.table import Predictions
from heldout.result import keeps_backend
from heldout.results.evaluation_builder import counted_notes
from heldout.thresholds.classes import CostOfDecision, cost_of_decision
from heldout.thresholds.decision import Decision, ThresholdDecision
from heldout.thresholds.decision_warnings import GET_ROWS
from heldout.thresholds.selection import choose, choose_rows


@keeps_backend
@takes(EngineArguments)
def choose_threshold(
    data: Any = None,
    score: Any = None,
    y: Any = None,
    *,
    truth: Any = None,
    by: str | None = None,
    require: str | None = None,
    then: str | None = None,
    costs: Any = None,
    cost_rows: str | None = None,
    prevalence: float | None = None,
    current: float | None = None,
    honest: bool = False,
    folds: int = 10,
    weight: Any = None,
    group: Any = None,
    positive: Label | None = None,
    labels: Sequence[Label] | None = None,
    missing: Missing = "refuse",
    level: float = 0.95,
    seed: int = 0,
    replicates: int = 999,
    **large: Unpack[EngineArguments],
) -> Decision:
    """Choose the threshold from which a case is called positive, and say how sure that is.

    Of more than two classes, `positive` is told from all the others together; without it, with `costs` and a
    probability for each class, there is no threshold: the answer says what it costs to predict the class of least
    expected cost, against predicting the likeliest one.

    Parameters
    ----------
    data : array, data frame, lazy frame, path, evidence or fitted model
        The true classes, one per case; or a data frame (of pandas, Polars, PyArrow, DuckDB, Ibis, Spark or Dask) or the
        path of a file or folder whose columns are then named; or what was counted before.
    score : array, table or column names, optional
        A score of the positive class for each case; with costs, also a probability for each class. Of a fitted model,
        its features.
    y : array, optional
        For a fitted model, the true classes: choose_threshold(model, X, y, by="f1").
    truth : array or column name, optional
        The true classes, where they are not the first argument.
    by : str, optional
        What the choice is to be best by: "cost" or "iso" (with costs), "youden", "closest" or any measure of the
        counts.
    require : str, optional
        What must hold, such as "recall >= 0.9, precision >= 0.5".
    then : str, optional
        The measure by which the best is chosen among what the requirements allow; precision by default.
    costs : Costs, table, dictionary, path or text, optional
        What each kind of error costs, as in "yes,no:10; no,yes:1" (truth, predicted: cost).
    cost_rows : {"truth", "predicted"}, optional
        What the rows of a table of costs are.
    prevalence : float, optional
        The share of the positive class where it will be used, if it differs from that of these cases.
    current : float, optional
        The threshold in use now, to compare with.
    honest : bool
        Whether the choice is judged on cases that had no part in it, by cross-fitting.
    folds : int
        The number of folds of the cross-fitting.
    weight : array or column name, optional
        How much each case counts.
    group : array or column name, optional
        Which cases belong together, such as those of one patient. Intervals take whole groups as the cases.
    positive : label, optional
        The positive class; known for usual pairs such as no and yes, or 0 and 1.
    labels : sequence of labels, optional
        The classes in the order to show them; by default those that occur.
    missing : {"refuse", "drop"}
        What to do with rows with missing values: refuse them, or drop them and say how many.
    level : float
        The level of the intervals: the share of them that should contain the true value.
    seed : int
        Seed of the random number generator.
    replicates : int
        How many bootstrap replicates are drawn, where an interval needs them.
    engine : str, optional
        What reads and counts a path: memory, stream, polars, duckdb, dask or spark; by default chosen by its size.
    master : str, optional
        The cluster that the engine runs on, such as "spark://host:7077"; by default this machine.
    tolerance : float, optional
        How far areas may be off where scores are counted in bins.
    passes : int
        How often the scores may be read to reach the tolerance.
    threads : int, optional
        How many threads count; by default as many as there are cores.

    Returns
    -------
    Decision
        The threshold with what holds there and what it could have been; of several classes with costs, what deciding by
        them costs.

    Examples
    --------
    >>> chosen = choose_threshold([1, 1, 0, 1, 0, 0], [0.9, 0.8, 0.7, 0.6, 0.3, 0.1], by="youden")
    >>> chosen.threshold
    0.8

    """
    check_level(level)
    check_whole("seed", seed, 0)
    check_whole("replicates", replicates, 1)
    check_rows("cost_rows", cost_rows)
    if prevalence is not None:
        check_prevalence(prevalence)
    if is_model(data) or y is not None:
        data, score, truth, labels = _ask_model(data, score, y, truth, labels)
    roles = {"truth": truth, "predicted": None, "weight": weight, "group": group}
    # Any threshold will do to read the columns: the classes that it gives are not used.
    asked = ReadOptions(labels, missing, score, positive, 0.0)
    where = EngineOptions.from_options(large).checked()
    known = known_evidence(data)
    if known is not None:
        only_evidence({**roles, "score": score}, where)
        _check_classes(known[0], positive, labels)
    else:
        known = counted_elsewhere(data, roles, asked, where)
    options: dict[str, Any] = {
        "require": require, "then": then, "prevalence": prevalence, "current": current, "level": level, "seed": seed,
        "replicates": replicates,
    }  # fmt: skip
    if known is not None:
        if honest:
            raise OptionError(
                "The rows were counted and not kept, so none are left that had no part in the choice.",
                hint=f"{GET_ROWS}; or leave out honest= (--honest), choose on one part of the rows and evaluate on "
                "another.",
            )
        return _choose_from_counts(known[0], known[1], by, costs, cost_rows, options)
    predictions, source = gather(
        data, roles, labels=labels, missing=missing, score=score, positive=positive, threshold=0.0, against_rest=True
    )
    if predictions.scores is not None and predictions.scores.per_class and costs is not None and by in (None, "cost"):
        refused = {"weight": weight, "group": group, "honest": honest or None, **options}
        return _decide_classes(predictions, source, costs, cost_rows, refused)
    if predictions.scores is None or predictions.scores.per_class or len(predictions.labels) != 2:
        raise refuse_several(predictions.labels, OR_COSTS)
    chosen = predictions.positive
    evidence = RowScores(predictions, predictions.labels)
    code = predictions.labels.index(chosen) if chosen is not None else 1
    costs = _name_costs(costs, predictions.labels, cost_rows)
    decision = choose_rows(
        evidence.values,
        evidence.codes == code,
        by,
        weight=predictions.weight,
        group=evidence.group_codes,
        honest=honest,
        folds=folds,
        costs=costs,
        positive=predictions.labels[code],
        negative=predictions.labels[1 - code],
        **options,
    )
    return _told(decision, source, predictions.said)


def _ask_model(model: Any, X: Any, y: Any, truth: Any, labels: Any) -> tuple[None, Any, Any, Any]:
    """The scores, the truth and the classes of a fitted model, in the place of data."""
    if not is_model(model):
        raise OptionError(
            NO_MODEL,
            hint="pass choose_threshold(model, X, y), or the truth and the scores: choose_threshold(truth, score).",
        )
    answers = predict_cases(model, X, y, {"truth": truth, "score": None, "labels": labels, "threshold": None})[1]
    if answers["score"] is None:
        raise OptionError(
            f"The model {type(model).__name__} gives no scores, and a threshold is chosen by them.",
            hint="take one with predict_proba or decision_function.",
        )
    return None, answers["score"], answers["truth"], answers["labels"]


# What can be done with several classes but to name one.
OR_COSTS = (
    "; or, with a probability for each class in rows, give costs alone (--costs, costs=) for the class of least "
    "expected cost"
)
# Options that choose among thresholds, of which several classes have none, or that need more than counts of cases.
OF_THRESHOLDS = ("require", "then", "prevalence", "current", "honest", "weight", "group")


def _decide_classes(
    predictions: Predictions, source: Source, costs: Any, cost_rows: str | None, options: dict[str, Any]
) -> CostOfDecision:
    """What it costs to answer the class of least expected cost, where each of several classes has a probability."""
    named = [name for name in OF_THRESHOLDS if options[name] is not None]
    if named:
        raise OptionError(
            f"The class of least expected cost is predicted without any threshold, and these options are for one: "
            f"{listing(named)}.",
            hint="leave them out; or name the class that is to be told from all the others (positive=, --positive).",
        )
    evidence, labels = RowScores(predictions, predictions.labels), predictions.labels
    costs = _name_costs(costs, labels, cost_rows)
    answer = cost_of_decision(evidence.values, evidence.codes, costs, labels, level=options["level"])
    return _told(answer, source, predictions.said)


def _choose_from_counts(
    counted: Counted, source: Source, by: str | None, costs: Any, cost_rows: str | None, options: dict[str, Any]
) -> Decision:
    """The choice where the scores were counted and their rows not kept."""
    if counted.scores is None:
        raise OptionError(
            "A threshold is chosen by scores, and none were counted.", hint="count with score= (--score)."
        )
    labels, positive = counted.scores.labels or counted.labels, counted.positive
    if counted.scores.per_class or len(labels) != 2 or positive is None:
        raise refuse_several(labels, OR_COSTS)
    costs = _name_costs(costs, labels, cost_rows)
    negative = next(label for label in labels if label != positive)
    ranking = CountedScores.of(counted).ranking(positive)
    decision = choose(ranking, by, costs=costs, positive=positive, negative=negative, **options)
    return _told(decision, source, counted_notes(counted))


def _name_costs(costs: Any, labels: Sequence[Label], rows: str | None) -> Costs | None:
    """The costs with the classes that they are for; `rows` says what those of a table or a file are."""
    return None if costs is None else Costs(tuple(labels), settle_costs(costs, labels, rows))


Told = TypeVar("Told", ThresholdDecision, CostOfDecision)


def _told(decision: Told, source: Source, notes: Sequence[str]) -> Told:
    """The choice with what was read, and what is to be said of that."""
    told = (*_drop_folds(source, notes), *decision.notes)
    return replace(decision, columns=source.describe_guesses(without="predicted"), notes=told)


def _drop_folds(source: Source, notes: Sequence[str]) -> list[str]:
    """The notes without those on a column of folds, which has no use here."""
    folds = [note for role, _, note in source.unused if role == "fold"]
    return [note for note in notes if note not in folds]


def _check_classes(counted: Counted, positive: Label | None, labels: Sequence[Label] | None) -> None:
    """Refuse classes other than those that the scores were counted for."""
    counted_labels = counted.labels if counted.scores is None else counted.scores.labels or counted.labels
    named = () if labels is None else fitted(tuple(labels), counted_labels)
    if labels is not None and set(named) != set(counted_labels):
        raise refuse_other_labels(counted_labels, named, "when")
    if (
        positive is not None
        and counted.positive is not None
        and choose_positive(positive, counted_labels) != counted.positive
    ):
        raise OptionError(
            f"The scores were counted as those of {quoted(counted.positive)}, and {quoted(positive)} was named.",
            hint="name the positive class when counting, or leave out positive= (--positive).",
        )
