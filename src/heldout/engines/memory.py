"""The engine for rows in memory: confusion matrices of all rows, of every fold and slice, and what the scores tell."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from heldout.arguments import require
from heldout.arrays import Floats, Integers
from heldout.engines.confusion_cells import ConfusionCells
from heldout.engines.labelled_scores import LabelledScores
from heldout.errors import ValuesError
from heldout.evidence import Confusion, Label
from heldout.evidence.counted import Counted, CountedColumn
from heldout.evidence.labels import key_array, places
from heldout.evidence.partitions import FoldCounts, SliceCounts
from heldout.evidence.probabilities import sums_by
from heldout.predictions.alignment import WITH_COPIES
from heldout.predictions.positive_class import usual_positive
from heldout.predictions.slice_plans import SliceColumn
from heldout.predictions.table import Predictions
from heldout.threads import share_out

# Rows are counted in blocks that stay in the processor's cache: twice as fast as whole columns.
BLOCK = 1 << 15
# Rows that a thread counts at a time, where there are at most FEW_CELLS cells to count in.
STRETCH = 1 << 19
FEW_CELLS = 1 << 14
# Cells whose numbers fit into a byte are counted two rows at a time, if the rows are many.
PAIRED_CELLS, PAIRED_ROWS = 256, 1 << 17
# Where the square of codes has at most this many cells it is counted in place, otherwise by sorting.
DIRECT_CELLS = 1 << 24
# Of fold or slice, truth and prediction together fewer.
DIRECT_PART_CELLS = 1 << 22


def count(predictions: Predictions) -> Confusion:
    """Count how often each class was predicted for each true class.

    >>> from heldout.predictions.table import assemble
    >>> count(assemble(["a", "a", "b"], ["a", "b", "b"])).matrix
    array([[1, 1],
           [0, 1]])
    """
    cells = _count_cells(predictions, predictions.labels, [], predictions.weight)
    return cells.among(declared=predictions.keep_labels).confusion()


def _count_cells(
    predictions: Predictions,
    labels: tuple[Label, ...],
    columns: Sequence[tuple[NDArray[Any], int]],
    weight: Floats | None,
) -> ConfusionCells:
    """Rows counted by truth, prediction, group and some columns, each of which has codes and so many of them.

    Codes are counted as they are, and only those that are met are looked up: a label that no row holds has no place.
    """
    truth, predicted, group = predictions.truth, predictions.predicted, predictions.group
    height, width = len(truth.labels), len(predicted.labels)
    terms = [*columns, (truth.codes, height), (predicted.codes, width)]
    shift, size = truth.offset * width + predicted.offset, math.prod(number for _, number in terms)

    def fill(key: NDArray[Any], rows: slice) -> NDArray[Any]:
        # In one step for the first two.
        np.multiply(terms[0][0][rows], terms[1][1], out=key, casting="unsafe", dtype=key.dtype)
        np.add(key, terms[1][0][rows], out=key, casting="unsafe", dtype=key.dtype)
        for codes, number in terms[2:]:
            np.multiply(key, number, out=key)
            np.add(key, codes[rows], out=key, casting="unsafe", dtype=key.dtype)
        return np.subtract(key, shift, out=key) if shift else key

    n, grouped = predictions.n, None
    if group is None and size <= (DIRECT_PART_CELLS if columns else DIRECT_CELLS):
        one_byte = size <= PAIRED_CELLS and truth.codes.dtype == predicted.codes.dtype == np.uint8
        paired = one_byte and weight is None and not shift and not columns
        cells, sums = _count_in_place(fill, n, size, weight, whole=not columns, paired=paired)
    else:
        keyed = fill(np.empty(n, dtype=np.int64), slice(None))
        if group is None:
            cells, sums = _count_sorted(keyed, weight)
        else:
            # By the place of the cell among those that were met: their numbers, times the groups, may not fit.
            met, dense = np.unique(keyed, return_inverse=True)
            entries, sums = _count_sorted(dense * len(group.labels) + group.places(), weight)
            cells, grouped = met[entries // len(group.labels)], (entries % len(group.labels), key_array(group.labels))
    place = places(predictions.labels, labels)
    true = place[predictions.truth_place[cells // width % height]]
    called = place[predictions.predicted_place[cells % width]]
    return ConfusionCells(labels, true, called, *sums, part=cells // (height * width), group=grouped)


Sums = tuple[Integers, Floats | None, Floats | None]


def _count_in_place(
    fill: Callable[[NDArray[Any], slice], NDArray[Any]],
    n: int,
    size: int,
    weight: Floats | None,
    *,
    whole: bool,
    paired: bool,
) -> tuple[Integers, Sums]:
    """The keys below a size that are met; of each the rows, and with weights their sums and those of their squares.

    `fill` writes the keys of some rows. What is counted of all rows is summed in short blocks whatever the size, and
    `paired` keys fit into a byte.
    """
    # The sums of a block are as long as there are cells: few rows at a time must not pay for many of those.
    block = BLOCK if whole else max(BLOCK, 4 * size)
    # Nor must each stretch.
    shared = size <= FEW_CELLS and block == BLOCK
    stretch = STRETCH if shared else max(n, 1)

    def add_up(total: Iterable[Floats], own: Iterable[Floats]) -> None:
        for left, right in zip(total, own, strict=True):
            np.add(left, right, out=left)

    def take(start: int) -> tuple[Integers, list[list[Floats]]]:
        stop = min(start + stretch, n)
        if paired and stop - start >= PAIRED_ROWS:
            return _count_pairs(fill(np.empty(stop - start, dtype=np.uint8), slice(start, stop)), size), []
        sums: list[list[Floats]] = []
        cases = np.zeros(size, dtype=np.int64)
        buffer = np.empty(min(block, stop - start), dtype=np.int64)
        for begin in range(start, stop, block):
            rows = slice(begin, min(begin + block, stop))
            key = fill(buffer[: rows.stop - begin], rows)
            cases += np.bincount(key, minlength=size)
            if weight is None:
                continue
            own = [sums_by(key, power, size) for power in (weight[rows], weight[rows] ** 2)]
            if shared or not sums:
                sums.append(own)
            else:
                add_up(sums[0], own)
        return cases, sums

    cases, total = np.zeros(size, dtype=np.int64), np.zeros((2, 0 if weight is None else size))
    for counted, sums in share_out(take, range(0, n, stretch)):
        cases += counted
        # In the order of the blocks, so that sums are the same by however many threads.
        for own in sums:
            add_up(total, own)
    cells = np.flatnonzero(cases)
    return cells, (cases[cells], None, None) if weight is None else (cases[cells], total[0, cells], total[1, cells])


def _count_pairs(key: NDArray[Any], size: int) -> Integers:
    """How many rows have each key of a byte: two rows are counted at a time."""
    even = len(key) // 2 * 2
    both = np.bincount(key[:even].view(np.uint16), minlength=1 << 16).reshape(256, 256)
    cases = both.sum(axis=0) + both.sum(axis=1)
    if even < len(key):
        cases[key[even]] += 1
    return np.asarray(cases[:size])


def _count_sorted(keys: Integers, weight: Floats | None) -> tuple[Integers, Sums]:
    """The same by sorting the keys, which may be written over: where there are very many."""
    if weight is None:
        keys.sort()
        starts = np.flatnonzero(np.concatenate([[True], keys[1:] != keys[:-1]]))
        return keys[starts], (np.diff(np.append(starts, len(keys))), None, None)
    cells, where, cases = np.unique(keys, return_inverse=True, return_counts=True)
    sums, squares = (np.asarray(np.bincount(where, power), dtype=np.float64) for power in (weight, weight * weight))
    return cells, (cases, sums, squares)


def count_folds(predictions: Predictions, labels: tuple[Label, ...]) -> FoldCounts:
    """Count how often each class was predicted for each true class in every fold; `labels` name all that are met.

    >>> from heldout.predictions.table import assemble
    >>> seen = count_folds(assemble(["a", "a", "b"], ["a", "b", "b"], fold=[1, 2, 2]), ("a", "b"))
    >>> seen[1].matrix
    array([[0, 1],
           [0, 1]])
    """
    fold = require(predictions.fold, "the predictions have no folds")
    cells = _count_cells(predictions, labels, [(fold.places(), len(fold.labels))], predictions.weight)
    return cells.folds(key_array(fold.labels))


# Combinations of two slice columns are counted as long as pairs · rows is at most this.
MOST_PAIRED = 200_000_000


def count_slices(predictions: Predictions, labels: tuple[Label, ...], columns: Sequence[SliceColumn]) -> SliceCounts:
    """Count how often each class was predicted for each true class in every slice; `labels` name all that are met.

    With several columns the slices are their combinations; the key of one is its code in base (number of slices).

    >>> from heldout.predictions.slice_plans import slice_column
    >>> from heldout.predictions.table import assemble
    >>> sex = slice_column(["f", "m", "m"], "sex")
    >>> count_slices(assemble(["a", "a", "b"], ["a", "b", "b"]), ("a", "b"), [sex])[1].matrix
    array([[0, 1],
           [0, 1]])
    """
    coded = [(column.codes, len(column.labels)) for column in columns]
    shared = _shares(predictions)
    weight = predictions.weight if shared is None else shared
    counts = _count_cells(predictions, labels, coded, weight).slices()
    if shared is None:
        return counts
    groups = None
    if predictions.group is not None:
        groups = _count_cells(predictions, labels, coded, predictions.weight).slices().groups
    return replace(counts, squares=None if predictions.weight is None else counts.squares, groups=groups)


def _shares(predictions: Predictions) -> NDArray[np.float64] | None:
    """What each row counts where models predicted a case more than once: all rows of a case count as one."""
    if predictions.id is None or predictions.fold is None:
        return None
    case = predictions.id.places()
    times = np.bincount(case)
    if times.max(initial=0) <= 1:
        return None
    share = 1 / times[case]
    return share if predictions.weight is None else share * predictions.weight


def counted(predictions: Predictions, *, pairs: bool = False) -> Counted:
    """Count everything that the predictions hold; `pairs` also the combinations of two slice columns.

    >>> from heldout.predictions.table import assemble
    >>> counted(assemble(["a", "a", "b"], ["a", "b", "b"])).confusion.matrix
    array([[1, 1],
           [0, 1]])
    """
    check_once(predictions)
    confusion = count(predictions)
    labels = confusion.labels
    folds = None if predictions.fold is None else count_folds(predictions, labels)
    given, gone, gaps = left_out(predictions)
    scored = None if predictions.scores is None else LabelledScores.of(predictions)
    labels_of_scores = predictions.labels if predictions.scores is not None and predictions.scores.per_class else ()
    return Counted(
        confusion=confusion,
        positive=positive_among(predictions, labels),
        threshold=predictions.threshold if predictions.scores is not None else None,
        scores=None if scored is None else scored.tally(labels_of_scores),
        folds=folds,
        fold_scores=() if scored is None else tuple(rows.tally(labels_of_scores) for rows in scored.folds().values()),
        slices=tuple(
            CountedColumn(
                column.name, column.labels, count_slices(predictions, labels, [column]), column.kind, column.note
            )
            for column in predictions.slices
        ),
        pairs=_pairs(predictions, labels) if pairs else {},
        rows=given,
        lost=gone,
        missing=gaps,
        declared=predictions.keep_labels,
        notes=predictions.notes,
        joined_types=predictions.joined_types,
    )


def positive_among(predictions: Predictions, labels: tuple[Label, ...]) -> Label | None:
    """The positive class; without scores it is one of the classes that were met."""
    if predictions.scores is not None or predictions.positive in labels:
        return predictions.positive
    return usual_positive(labels)


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
    case = predictions.id.places()
    times = np.bincount(case)
    if times.max(initial=0) > 1:
        often = int(times.argmax())
        raise refuse_repeated(predictions.id.labels[often], int(times[often]))


def refuse_repeated(name: object, times: int, way: str = "") -> ValuesError:
    """The error of an id that stands in several rows where only counts are kept; `way` says how to keep the rows."""
    return ValuesError(
        f"The id {name!r} stands in {times:,} rows, and counts do not tell which predictions are of one case.",
        hint=f"evaluate cases that were predicted more than once from their rows{way}.",
    )


def refuse_copies(name: object, times: int, ids: int) -> ValuesError:
    """The error of ids that stand in several rows where every row is a case of its own."""
    several = "1 id stands" if ids == 1 else f"{ids:,} ids stand"
    return ValuesError(
        f"The id {name!r} stands in {times:,} rows; {several} in more than one.",
        hint=WITH_COPIES,
    )


def _pairs(predictions: Predictions, labels: tuple[Label, ...]) -> dict[tuple[str, str], SliceCounts]:
    return {
        (left.name, right.name): count_slices(predictions, labels, [left, right])
        for left, right in itertools.combinations(predictions.slices, 2)
    }
