"""The front door: from predictions, in any form, to an evaluation."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Unpack

import numpy as np
from numpy.typing import NDArray

from heldout.api.options import EvaluateArguments, takes
from heldout.arguments import listing
from heldout.engines import memory
from heldout.engines.accumulator import checked_threshold
from heldout.engines.engine_choice import EngineOptions, counted_elsewhere, known_evidence, only_evidence
from heldout.engines.memory import refuse_copies
from heldout.errors import OptionError
from heldout.evidence import Confusion, Label
from heldout.evidence.counted import Counted
from heldout.files import check_matrix
from heldout.files.ledger import enter_use
from heldout.files.matrix import NamedMatrix, name_matrix
from heldout.intervals.dependence import fold_dependence
from heldout.predictions.case_values import NoThresholdError
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
def evaluate(data: Any = None, predicted: Any = None, **options: Unpack[EvaluateArguments]) -> Evaluation:
    """Measure a classifier from its predictions, every measure with an interval.

    Takes two columns (lists, arrays, tensors, data frame columns), a data frame, also a lazy one of Polars, DuckDB,
    Ibis, Spark or Dask, or the path of a file or folder with the names of its columns, counted evidence, or a confusion
    matrix as `matrix=` (a table, a data frame that is read by its labels, a dictionary of rows, a file) with `rows`
    saying what its rows are. `score` is one score per case, or one per case and class;
    without `predicted` the class comes from it, at `threshold`. `weight` and `group` are one value per case, and rows
    are matched by position. `fold` says which model of a resampling plan made each prediction (a column that is called
    fold is used unless `fold="none"`), and `id` which case it is about, where a case was predicted more than once.
    `method` replaces the default interval where it applies. Calibration errors are of `calibration_bins` bins (10), of
    equal width or, with the `calibration_strategy` "quantile", with equally many cases each.
    `slices` names columns that divide the cases ("all" for every column without a role; for arrays, values by name),
    and `mute` rules that are not to be checked, by their codes. `limits` replaces limits of rules, by code and name:
    `{"H014": {"width": 0.1}}`. `prevalence` is the share of the positive class where it will be used, and `ledger` a
    file in which this use of the cases is entered; others are a finding.
    What is too large is not held: `engine` says who reads a path (else it is chosen by its size) and `master` on which
    cluster; areas are then certain to `tolerance`, in at most so many `passes` over the scores.

    >>> print(evaluate(["yes", "no", "no", "yes"], ["yes", "no", "yes", "yes"])["recall"])
    recall[yes] 1.000 [.342 – 1.000] (0.95 wilson, n = 2)
    """
    notes: tuple[str, ...] = ()
    settings = Settings.from_options(options)
    settings = replace(settings, **_check_review_options(options["mute"], options["limits"]))
    settings.checked()
    source, predictions = Source(), None
    labels, missing, score = options["labels"], options["missing"], options["score"]
    slices = name_slices(options["slices"])
    roles = {"truth": options["truth"], "predicted": predicted, "weight": options["weight"], "group": options["group"]}
    unfolded = is_no_column(options["fold"])
    roles |= {"fold": None if unfolded else options["fold"], "id": options["id"]}
    beside = {**roles, "score": score, "threshold": options["threshold"], "slices": slices}
    for name, value in (("rows", options["rows"]), ("cost_rows", options["cost_rows"])):
        if value not in (None, "truth", "predicted"):
            raise OptionError(
                f"{name} must be 'truth' or 'predicted'. Got {value!r}.", hint=f"say what the {name} are."
            )
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
        elsewhere, notes = _count_elsewhere(data, roles, asked, where, ranked=settings.ranked)
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
            notes = predictions.said
    folded = None if predictions is None or predictions.fold is None else Folded(fold_dependence(predictions))
    made = judge(confusion, predictions, settings, source=source, notes=notes, folded=folded, counted=counted)
    return made if options["ledger"] is None else enter_evaluation(made, options["ledger"], "evaluate")


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


def _check_review_options(mute: Any, limits: Any) -> dict[str, Any]:
    """The rules that are muted and the limits that are changed; refused where there are no such rules."""
    if mute in (None, ()) and limits is None:
        # Most calls: the rules need not be loaded before somebody reads the review.
        return {"mute": (), "limits": {}}
    from heldout.findings.review import check_codes, check_limits

    return {"mute": check_codes(mute), "limits": check_limits(limits, "evaluation")}


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
    given = fitted(tuple(labels), counted.labels)
    if tuple(given) != counted.labels:
        raise refuse_other_labels(counted.labels, given, "before")
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
