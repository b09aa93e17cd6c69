"""The front door: from predictions, in any form, to an evaluation."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Unpack, cast

import numpy as np
from numpy.typing import NDArray

from heldout.api.fitted_model import NO_MODEL, is_model, predict_cases
from heldout.api.options import EvaluateArguments, takes
from heldout.arguments import check_rows, listing
from heldout.engines import memory
from heldout.engines.accumulator import Evidence, checked_threshold
from heldout.engines.engine_choice import EngineOptions, counted_elsewhere, known_evidence, only_evidence
from heldout.engines.memory import refuse_copies
from heldout.errors import OptionError
from heldout.evidence import Confusion, Label
from heldout.evidence.counted import Counted
from heldout.files import check_matrix
from heldout.files.ledger import enter_use
from heldout.files.matrix import NamedMatrix, name_matrix
from heldout.intervals.dependence import fold_dependence
from heldout.predictions.case_values import NoThresholdError, take_as_scores
from heldout.predictions.column_roles import is_no_column
from heldout.predictions.label_encoding import check_label_list
from heldout.predictions.positive_class import fitted
from heldout.predictions.slice_plans import name_slices
from heldout.predictions.source import ReadOptions, Source, gather
from heldout.predictions.table import Predictions, no_threshold_note
from heldout.result import keeps_backend
from heldout.results.evaluation import Evaluation
from heldout.results.evaluation_builder import Folded, Settings, judge


@keeps_backend
@takes(EvaluateArguments)
def evaluate(
    data: Any = None, predicted: Any = None, y: Any = None, **options: Unpack[EvaluateArguments]
) -> Evaluation:
    """Measure a classifier from its predictions, every measure with an interval.

    Rows are matched by position. Large data are not held in memory: files, folders and lazy frames are counted where
    they are. The words of scikit-learn and others are accepted too: `y_true`, `y_pred`, `y_score`, `sample_weight`,
    `pos_label`, `groups`.

    Parameters
    ----------
    data : array, data frame, lazy frame, path, evidence or fitted model
        The true classes, one per case; or a data frame (of pandas, Polars, PyArrow, DuckDB, Ibis, Spark or Dask) or the
        path of a file or folder whose columns are then named; or what was counted before; or pairs of the true classes
        and the predictions or scores of a batch: evaluate((y, model(X)) for X, y in loader).
    predicted : array or column name, optional
        The predicted classes; for a fitted model, its features. Fractions, or a table with a column for each class, are
        taken as scores.
    y : array, optional
        For a fitted model, the true classes: evaluate(model, X, y).
    truth : array or column name, optional
        The true classes, where they are not the first argument.
    score : array, table or column names, optional
        A score or probability of the positive class for each case, or one for each case and class. Without predictions,
        these follow from it.
    threshold : float, optional
        The score from which the positive class is predicted; 0.5 for probabilities by default.
    weight : array or column name, optional
        How much each case counts.
    group : array or column name, optional
        Which cases belong together, such as those of one patient. Intervals take whole groups as the cases.
    fold : array or column name, optional
        Which model of a resampling plan made each prediction. A column that is called fold is used unless this is
        "none".
    id : array or column name, optional
        Which case it is, where it was predicted more than once or is matched with other predictions.
    matrix : table, data frame, dictionary, path or text, optional
        A confusion matrix instead of cases.
    rows : {"truth", "predicted"}, optional
        What the rows of the matrix are; the truth unless its axes say otherwise.
    positive : label, optional
        The positive class; known for usual pairs such as no and yes, or 0 and 1.
    labels : sequence of labels, optional
        The classes in the order to show them; by default those that occur.
    measures : str or sequence of str, optional
        The measures to show, such as "accuracy", "macro f1" or "recall[spam]"; all by default.
    costs : Costs, table, dictionary, path or text, optional
        What each kind of error costs, as in "yes,no:10; no,yes:1" (truth, predicted: cost).
    cost_rows : {"truth", "predicted"}, optional
        What the rows of a table of costs are.
    level : float
        The level of the intervals: the share of them that should contain the true value.
    method : str, optional
        The interval method wherever it applies, such as "bootstrap"; by default the best for each kind of measure.
    missing : {"refuse", "drop"}
        What to do with rows with missing values: refuse them, or drop them and say how many.
    seed : int
        Seed of the random number generator.
    replicates : int
        How many bootstrap replicates are drawn, where an interval needs them.
    slices : column names, dictionary of arrays or "all", optional
        Columns that divide the cases, to see where the classifier fails.
    calibration_bins : int, optional
        The number of bins of calibration errors and reliability; 10 by default.
    calibration_strategy : {"uniform", "quantile"}, optional
        Bins of equal width, or with equally many cases each.
    ignore : str or sequence of str
        Codes of rules that are not to be checked, such as "H014".
    limits : dictionary, optional
        Other limits of rules, by code and name: {"H014": {"width": 0.1}}.
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
    prevalence : float, optional
        The share of the positive class where it will be used, if it differs from that of these cases.
    ledger : path, optional
        A file that records every use of the cases; a finding reports earlier uses.

    Returns
    -------
    Evaluation
        Every measure with its interval: evaluation["recall"], print(evaluation), evaluation.write("report.html").

    Examples
    --------
    >>> print(evaluate(["yes", "no", "no", "yes"], ["yes", "no", "yes", "yes"])["recall"])
    recall[yes] 1.000 [.342 – 1.000] (0.95 wilson, n = 2)

    """
    data, predicted, options, remarks = _read_first(data, predicted, y, options)
    notes = remarks
    settings = Settings.from_options(options)
    settings = replace(settings, **_check_review_options(options["ignore"], options["limits"]))
    settings.checked()
    source, predictions = Source(), None
    labels, missing, score = options["labels"], options["missing"], options["score"]
    slices = name_slices(options["slices"])
    roles = {"truth": options["truth"], "predicted": predicted, "weight": options["weight"], "group": options["group"]}
    unfolded = is_no_column(options["fold"])
    roles |= {"fold": None if unfolded else options["fold"], "id": options["id"]}
    beside = {**roles, "score": score, "threshold": options["threshold"], "slices": slices}
    check_rows("rows", options["rows"])
    counted: Counted | None = None
    where = EngineOptions.from_options(options).checked()
    if isinstance(data, Confusion):
        only_evidence({**beside, "matrix": options["matrix"]}, where)
        confusion = data if labels is None else data.with_labels(fitted(tuple(labels), data.labels))
    elif (known := known_evidence(data)) is not None:
        only_evidence({**beside, "matrix": options["matrix"]}, where)
        counted, source = known
        confusion = _relabelled(counted, labels)
    elif options["matrix"] is not None:
        confusion, notes = _from_matrix(options["matrix"], labels, options["rows"], {"data": data, **beside})
    else:
        cut = checked_threshold(options["threshold"], predicted)
        # A method that was asked for by name may be for the scores of one model.
        guess_fold = not unfolded and (settings.method is None or settings.by_fold() is not None)
        asked = ReadOptions(labels, missing, score, settings.positive, cut, slices, guess_fold=guess_fold)
        elsewhere, more = _count_elsewhere(data, roles, asked, where, ranked=settings.ranked)
        notes = (*remarks, *more)
        if elsewhere is not None:
            counted, source = elsewhere
            confusion = counted.confusion
        else:
            predictions, source = gather(
                data,
                roles,
                labels=labels,
                missing=missing,
                score=score,
                positive=settings.positive,
                threshold=cut,
                slices=slices,
                guess_fold=guess_fold,
                ranked=settings.ranked,
            )
            _check_ids(predictions)
            confusion = _count(predictions)
            notes = (*remarks, *predictions.said)
    folded = None if predictions is None or predictions.fold is None else Folded(fold_dependence(predictions))
    evaluation = judge(confusion, predictions, settings, source=source, notes=notes, folded=folded, counted=counted)
    return evaluation if options["ledger"] is None else enter_evaluation(evaluation, options["ledger"], "evaluate")


def _read_first(
    data: Any, predicted: Any, y: Any, options: EvaluateArguments
) -> tuple[Any, Any, EvaluateArguments, tuple[str, ...]]:
    """The first arguments for what they are: a model with its features and the truth, or scores for predictions."""
    if isinstance(data, Iterator) and all(
        given is None for given in (predicted, y, options["truth"], options["score"])
    ):
        return _count_batches(data, options), None, {**options, "threshold": None}, ()
    if is_model(data):
        data, (predicted, more) = None, predict_cases(data, predicted, y, dict(options))
        options = cast("EvaluateArguments", more)
    elif y is not None:
        if data is not None or options["truth"] is not None:
            raise OptionError(
                NO_MODEL,
                hint="pass evaluate(model, X, y), or the truth and the predictions alone: evaluate(truth, predicted).",
            )
        options = {**options, "truth": y}
    predicted, score, remarks = take_as_scores(predicted, options["score"])
    return data, predicted, {**options, "score": score}, remarks


def _count_batches(batches: Iterator[Any], options: EvaluateArguments) -> Evidence:
    """What pairs of true classes and predictions or scores hold, counted pair by pair and not kept."""
    evidence = Evidence(options["labels"], options["positive"], options["threshold"], options["missing"])
    scored = False
    for number, batch in enumerate(batches, 1):
        pair = isinstance(batch, tuple | list) and len(batch) == 2
        if not pair or not all(hasattr(part, "__len__") for part in batch):
            raise OptionError(
                f"Batch {number} is no pair of two columns, true classes and predictions or scores. It is "
                f"{'a pair of single values' if pair else f'of type {type(batch).__name__}'}.",
                hint="give pairs of arrays, as in evaluate((y, model(X)) for X, y in loader).",
            )
        # Scores of one batch may all be whole numbers, as classes are.
        scored = scored or take_as_scores(batch[1], None)[1] is not None
        evidence.update(batch[0], **{"score" if scored else "predicted": batch[1]})
    return evidence


def _count_elsewhere(
    data: Any, roles: dict[str, Any], asked: ReadOptions, where: EngineOptions, *, ranked: bool
) -> tuple[tuple[Counted, Source] | None, tuple[str, ...]]:
    """What an engine counted, if one did; scores of which only the order is asked for are cut at 0 if they must be."""
    try:
        return counted_elsewhere(data, roles, asked, where), ()
    except NoThresholdError:
        if not ranked:
            raise
    return counted_elsewhere(data, roles, replace(asked, threshold=0.0), where), (no_threshold_note("0"),)


def enter_evaluation(evaluation: Evaluation, ledger: Any, asked: str) -> Evaluation:
    """The evaluation with what a ledger says of its cases, in which this use is entered."""
    measures = ["accuracy"]
    scores = evaluation.scores
    if scores is not None and not scores.evidence.per_class and evaluation.positive is not None:
        measures.append("roc_auc")
    name = evaluation.source.name or "predictions"
    values = {(name, measure): evaluation[measure].value for measure in measures}
    return replace(evaluation, earlier=enter_use(check_path(ledger), asked, [evaluation.fingerprint], values))


def check_path(ledger: Any) -> str | Path:
    """The path of a ledger, refused where it is none."""
    if not isinstance(ledger, str | Path) or not str(ledger):
        raise OptionError(
            f"A ledger is a file. Got {ledger!r}.",
            hint="name one, as in ledger='ledger.jsonl' (--ledger ledger.jsonl).",
        )
    return ledger


def _check_review_options(ignore: Any, limits: Any) -> dict[str, Any]:
    """The rules that are ignored and the limits that are changed; refused where there are no such rules."""
    if ignore in (None, ()) and limits is None:
        # Most calls: the rules need not be loaded before somebody reads the review.
        return {"ignore": (), "limits": {}}
    from heldout.findings.review import check_codes, check_limits

    return {"ignore": check_codes(ignore), "limits": check_limits(limits, "evaluation")}


def _count(predictions: Predictions) -> Confusion:
    if predictions.fold is None:
        return memory.count(predictions)
    from heldout.intervals.dependence import count_cases

    return count_cases(predictions)


def _check_ids(predictions: Predictions) -> None:
    """Without folds each row is a case, so an id stands once."""
    if predictions.id is None or predictions.fold is not None:
        return
    counts = np.bincount(predictions.id.codes.astype(np.int64) - predictions.id.offset)
    twice = np.flatnonzero(counts > 1)
    if len(twice):
        raise refuse_copies(predictions.id.labels[twice[0]], int(counts[twice[0]]), len(twice))


def refuse_other_labels(counted: Sequence[Label], named: Sequence[Label], when: str) -> OptionError:
    """The error of classes other than those that the evidence was counted with."""
    return OptionError(
        f"The evidence was counted with the labels {listing(counted)}, and {listing(named)} were named.",
        hint=f"name them {when} counting, or leave out labels= (--labels).",
    )


def _relabelled(counted: Counted, labels: Sequence[Label] | None) -> Confusion:
    """The counts over these labels, which may only be those that were counted: scores and slices go by them."""
    if labels is None:
        return counted.confusion
    named = fitted(tuple(labels), counted.labels)
    if tuple(named) != counted.labels:
        raise refuse_other_labels(counted.labels, named, "before")
    return counted.confusion


def _from_matrix(
    matrix: Any, labels: Sequence[Label] | None, rows: str | None, columns: dict[str, Any]
) -> tuple[Confusion, tuple[str, ...]]:
    given = [name for name, column in columns.items() if column is not None]
    if given:
        raise OptionError(
            f"A confusion matrix was given together with {listing(given)}.", hint="give the matrix or the columns."
        )
    if labels is not None:
        check_label_list(labels, "write ['no', 'yes'].")
    named = name_matrix(matrix)
    names = named.labels if labels is None else tuple(labels)
    table = check_matrix(named.table if names is None else named.arranged(names), names)
    where = _shares_where(table)
    if where:
        raise OptionError(
            f"The entries of the matrix sum to {where}, so they are shares and not counts.",
            hint="give the counts: how sure we are depends on how many cases there were.",
        )
    notes = list(named.notes)
    if rows is None and named.rows == "predicted":
        notes.append("the rows of the matrix are the prediction, as the names of its axes say")
    confusion = Confusion.of(NamedMatrix(names, table, named.rows), rows=rows)
    if confusion.counts.dtype.kind == "f":
        notes.append("the entries of the matrix are not whole: the intervals take them as that many cases")
    return confusion, tuple(notes)


def _shares_where(table: NDArray[Any]) -> str:
    """Where the entries of a matrix sum to 1, which counts do not; empty where they are counts or weights."""
    if table.dtype.kind != "f" or bool(np.all(table == np.floor(table))):
        return ""
    if table.sum() <= 1 + 1e-6:
        return f"{float(table.sum()):g}"
    for axis, name in ((1, "row"), (0, "column")):
        sums = table.sum(axis=axis)
        if np.all(np.abs(sums[sums > 0] - 1) <= 1e-6):
            return f"1 in every {name}"
    return ""
