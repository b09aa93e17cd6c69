"""From rows in memory to everything that is counted of them."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from heldout.engines import memory
from heldout.engines.bin_counter import bins_of
from heldout.engines.folds import count_folds
from heldout.engines.probabilities import tally, tally_classes
from heldout.engines.slices import count_slices
from heldout.errors import ValuesError
from heldout.evidence import Label
from heldout.evidence.counted import Counted, CountedColumn, ScoreTally, class_columns, sided
from heldout.evidence.keys import key_array
from heldout.evidence.score_bins import MOST
from heldout.evidence.slices import SliceCounts
from heldout.predictions.encode import Coded
from heldout.predictions.match import usual_positive
from heldout.predictions.table import Predictions

Groups = tuple[NDArray[np.int64], NDArray[Any]]

# With a score for each of very many classes every one still has this many bins.
LEAST_BINS = 4096


def counted(
    predictions: Predictions,
    *,
    rows: int | None = None,
    missing: Mapping[str, int] | None = None,
    lost: int | None = None,
    pairs: bool = False,
) -> Counted:
    """Count everything that the predictions hold; `pairs` also the combinations of two slice columns.

    `rows`, `missing` and `lost` say how many rows were given and left out, if that is not what the predictions say.

    >>> from heldout.predictions.table import assemble
    >>> counted(assemble(["a", "a", "b"], ["a", "b", "b"])).confusion.matrix
    array([[1, 1],
           [0, 1]])
    """
    check_once(predictions)
    confusion = memory.count(predictions)
    labels = confusion.labels
    folds = None if predictions.fold is None else count_folds(predictions, labels)
    given, gone, gaps = left_out(predictions)
    return Counted(
        confusion=confusion,
        positive=_positive(predictions, labels),
        threshold=predictions.threshold if predictions.scores is not None else None,
        scores=None if predictions.scores is None else score_tally(predictions),
        folds=folds,
        fold_scores=() if folds is None or predictions.scores is None else _fold_tallies(predictions),
        slices=tuple(
            CountedColumn(
                column.name, column.labels, count_slices(predictions, labels, [column]), column.kind, column.note
            )
            for column in predictions.slices
        ),
        pairs=_pairs(predictions, labels) if pairs else {},
        rows=given if rows is None else rows,
        lost=gone if lost is None else lost,
        missing=gaps if missing is None else dict(missing),
        declared=predictions.keep_labels,
        notes=predictions.notes,
        joined_types=predictions.joined_types,
    )


def _positive(predictions: Predictions, labels: tuple[Label, ...]) -> Label | None:
    """The positive class; without scores it is one of the classes that were met."""
    if predictions.scores is not None or predictions.positive in labels:
        return predictions.positive
    return usual_positive(labels)


def most_bins(classes: int) -> int:
    """How many bins each of so many columns of scores may have.

    >>> most_bins(2), most_bins(1000)
    (524288, 4096)
    """
    return max(LEAST_BINS, MOST // classes)


def left_out(predictions: Predictions) -> tuple[int, int, dict[str, int]]:
    """How many rows were given, how many of them were left out, and in how many each role lacked a value.

    >>> from heldout.predictions.table import assemble
    >>> left_out(assemble([1, None, 0], [1, 0, 0], missing="drop"))
    (3, 1, {'truth': 1})
    """
    given = predictions.n if predictions.given is None else predictions.given
    return given, predictions.lost, dict(predictions.missing)


def check_once(predictions: Predictions) -> None:
    """Counts do not know which predictions are of one case, so each is one of its own."""
    if predictions.id is None:
        return
    case = predictions.id.codes.astype(np.int64) - predictions.id.offset
    times = np.bincount(case)
    if times.max(initial=0) > 1:
        place = int(times.argmax())
        raise ValuesError(
            f"The id {predictions.id.labels[place]!r} stands in {times[place]:,} rows, and counts do not tell which "
            "predictions are of one case.",
            hint="evaluate cases that were predicted more than once from their rows.",
        )


def score_tally(predictions: Predictions, rows: NDArray[np.int64] | None = None) -> ScoreTally:
    """What the scores of some rows tell, or of all of them."""
    scores = predictions.scores
    if scores is None:
        message = "there are no scores"
        raise TypeError(message)
    held = slice(None) if rows is None else rows
    values = scores.values[held]
    weight = None if predictions.weight is None else predictions.weight[held]
    group = _groups(predictions, held)
    codes = _codes(predictions.truth, predictions.truth_place, held)
    if not scores.per_class:
        labels = predictions.labels
        true = codes == (labels.index(predictions.positive) if predictions.positive is not None else 1)
        single = bins_of(values, true, 2, weight=weight, group=group)
        probabilities = tally(values, true, weight, group=group) if scores.is_probability else None
        return ScoreTally((single,), probabilities, scores.unfit)
    k = len(predictions.labels)
    bins = tuple(
        bins_of(
            values[:, place],
            sided(codes, place, k),
            class_columns(k),
            weight=weight,
            group=group,
            most=most_bins(k),
        )
        for place in range(k)
    )
    probabilities = tally_classes(values, codes, weight, group=group, n_classes=k) if scores.is_probability else None
    return ScoreTally(bins, probabilities, scores.unfit, predictions.labels)


def _codes(coded: Coded, place: NDArray[np.int64], held: Any) -> NDArray[np.int64]:
    codes: NDArray[np.int64] = coded.codes[held].astype(np.int64)
    return place[codes - coded.offset]


def _groups(predictions: Predictions, held: Any) -> Groups | None:
    """The group of some rows, with the keys of those that are met."""
    group = predictions.group
    if group is None:
        return None
    met, codes = np.unique(group.codes[held].astype(np.int64) - group.offset, return_inverse=True)
    return codes, key_array([group.labels[code] for code in met.tolist()])


def _fold_tallies(predictions: Predictions) -> tuple[ScoreTally, ...]:
    """What the scores of every fold tell, in the order in which folds are counted."""
    fold = predictions.fold
    if fold is None:
        return ()
    codes = fold.codes.astype(np.int64) - fold.offset
    order = np.argsort(codes, kind="stable")
    starts = np.flatnonzero(np.diff(codes[order], prepend=-1))
    return tuple(score_tally(predictions, rows) for rows in np.split(order, starts[1:]))


def _pairs(predictions: Predictions, labels: tuple[Label, ...]) -> dict[tuple[str, str], SliceCounts]:
    return {
        (one.name, two.name): count_slices(predictions, labels, [one, two])
        for one, two in itertools.combinations(predictions.slices, 2)
    }
