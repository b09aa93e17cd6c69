"""The front door: from predictions, in any form, to an evaluation."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from heldout.api.engine_choice import Where, counted_elsewhere, known_evidence, only_evidence
from heldout.api.evaluation_builder import Folded, Settings, fold_dependence, judge
from heldout.arguments import listing
from heldout.engines import memory
from heldout.engines.accumulator import checked_threshold
from heldout.errors import OptionError, ValuesError
from heldout.evaluation import Evaluation
from heldout.evidence import Confusion, Label
from heldout.evidence.counted import Counted
from heldout.files import check_matrix
from heldout.findings.review import check_codes, check_limits
from heldout.predictions.positive_class import fitted
from heldout.predictions.source import Asked, Source, gather
from heldout.predictions.table import Missing, Predictions
from heldout.resampling.outcome import case_counts


def evaluate(
    data: Any = None,
    predicted: Any = None,
    *,
    truth: Any = None,
    score: Any = None,
    threshold: float | None = None,
    weight: Any = None,
    group: Any = None,
    fold: Any = None,
    id: Any = None,  # noqa: A002 - the word for it everywhere, flags and columns included
    matrix: Any = None,
    rows: str = "truth",
    positive: Label | None = None,
    labels: Sequence[Label] | None = None,
    measures: str | Iterable[str] = "all",
    costs: Any = None,
    cost_rows: str | None = None,
    level: float = 0.95,
    method: str | None = None,
    missing: Missing = "refuse",
    seed: int = 0,
    replicates: int = 2000,
    slices: Any = None,
    mute: str | Iterable[str] = (),
    limits: Any = None,
    engine: str | None = None,
    master: str | None = None,
    tolerance: float = 1e-6,
    passes: int = 3,
) -> Evaluation:
    """Measure a classifier from its predictions, every measure with an interval.

    Takes two columns (lists, arrays, tensors, data frame columns), a data frame, also a lazy one of Polars, DuckDB,
    Ibis, Spark or Dask, or the path of a file or folder with the names of its columns, counted evidence, or a confusion
    matrix as `matrix=` with `rows` saying what its rows are. `score` is one score per case, or one per case and class;
    without `predicted` the class comes from it, at `threshold`. `weight` and `group` are one value per case, and rows
    are matched by position. `fold` says which model of a resampling plan made each prediction, and `id` which case it
    is about, where a case was predicted more than once. `method` replaces the default interval where it applies.
    `slices` names columns that divide the cases ("all" for every column without a role; for arrays, values by name),
    and `mute` rules that are not to be checked, by their codes. `limits` replaces limits of rules, by code and name:
    `{"H014": {"width": 0.1}}`.
    What is too large is not held: `engine` says who reads a path (else it is chosen by its size) and `master` on which
    cluster; areas are then certain to `tolerance`, in at most so many `passes` over the scores.

    >>> print(evaluate(["yes", "no", "no", "yes"], ["yes", "no", "yes", "yes"])["recall"])
    recall[yes] 1.000 [.342 – 1.000] (0.95 wilson, n = 2)
    """
    notes: tuple[str, ...] = ()
    muted, changed = check_codes(mute), check_limits(limits, "evaluation")
    source, predictions = Source(), None
    roles = {"truth": truth, "predicted": predicted, "weight": weight, "group": group, "fold": fold, "id": id}
    beside = {**roles, "score": score, "threshold": threshold, "slices": slices}
    for name, value in (("rows", rows), ("cost_rows", cost_rows)):
        if value not in (None, "truth", "predicted"):
            raise OptionError(
                f"{name} must be 'truth' or 'predicted'. Got {value!r}.", hint=f"say what the {name} are."
            )
    counted: Counted | None = None
    where = Where(engine, master, tolerance, passes).checked()
    if isinstance(data, Confusion):
        only_evidence({**beside, "matrix": matrix}, where)
        confusion = data if labels is None else data.with_labels(fitted(tuple(labels), data.labels))
    elif (known := known_evidence(data)) is not None:
        only_evidence({**beside, "matrix": matrix}, where)
        counted, source = known
        confusion = _relabelled(counted, labels)
    elif matrix is not None:
        confusion = _from_matrix(matrix, labels, rows, {"data": data, **beside})
        if confusion.counts.dtype.kind == "f":
            notes = ("the entries of the matrix are not whole: the intervals take them as that many cases",)
    else:
        cut = checked_threshold(threshold, predicted)
        asked = Asked(labels, missing, score, positive, cut, slices)
        elsewhere = counted_elsewhere(data, roles, asked, where)
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
                positive=positive,
                threshold=cut,
                slices=slices,
            )
            _check_ids(predictions)
            confusion = memory.count(predictions) if predictions.fold is None else case_counts(predictions)
            notes = predictions.said
    settings = Settings(positive, measures, costs, cost_rows, level, method, seed, replicates, muted, changed)
    folded = None if predictions is None or predictions.fold is None else Folded(fold_dependence(predictions))
    return judge(confusion, predictions, settings, source=source, notes=notes, folded=folded, counted=counted)


def _check_ids(predictions: Predictions) -> None:
    """Without folds each row is a case, so an id stands once."""
    if predictions.id is None or predictions.fold is not None:
        return
    counts = np.bincount(predictions.id.codes.astype(np.int64) - predictions.id.offset)
    twice = np.flatnonzero(counts > 1)
    if len(twice):
        raise ValuesError(
            f"The id {predictions.id.labels[twice[0]]!r} stands in {counts[twice[0]]:,} rows; "
            f"{len(twice):,} ids stand in more than one.",
            hint="leave out the copies, or say with fold= (--fold) which model made which prediction.",
        )


def _relabelled(counted: Counted, labels: Sequence[Label] | None) -> Confusion:
    """The counts over these labels, which may only be those that were counted: scores and slices go by them."""
    if labels is None:
        return counted.confusion
    given = fitted(tuple(labels), counted.labels)
    if tuple(given) != counted.labels:
        raise OptionError(
            f"The evidence was counted with the labels {listing(counted.labels)}, and {listing(given)} were named.",
            hint="name them before counting, or leave out labels= (--labels).",
        )
    return counted.confusion


def _from_matrix(matrix: Any, labels: Sequence[Label] | None, rows: str, columns: dict[str, Any]) -> Confusion:
    given = [name for name, column in columns.items() if column is not None]
    if given:
        raise OptionError(
            f"A confusion matrix was given together with {listing(given)}.", hint="give the matrix or the columns."
        )
    if isinstance(labels, str):
        raise OptionError(f"labels must be a list of the classes. Got {labels!r}.", hint="write ['no', 'yes'].")
    table = check_matrix(matrix, labels)
    if table.dtype.kind == "f" and table.sum() <= 1 + 1e-6:
        raise OptionError(
            f"The entries of the matrix sum to {float(table.sum()):g}, so they are shares and not counts.",
            hint="give the counts: how sure we are depends on how many cases there were.",
        )
    return Confusion.of(table, labels, rows=rows)
