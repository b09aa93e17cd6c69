"""The engine for rows in memory: confusion matrices of all rows, of every fold and slice, and what the scores tell."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from heldout.arguments import require
from heldout.arrays import Floats
from heldout.engines.bins import bins_of
from heldout.engines.probability_sums import tally, tally_classes
from heldout.errors import ValuesError
from heldout.evidence import Clusters, Confusion, Label
from heldout.evidence.counted import Counted, CountedColumn, ScoreTally, class_columns, sided
from heldout.evidence.labels import key_array, places
from heldout.evidence.partitions import FoldCounts, SliceCounts, SliceGroups
from heldout.evidence.probabilities import sums_by
from heldout.evidence.score_bins import MOST, ScoreBins
from heldout.predictions.alignment import WITH_COPIES
from heldout.predictions.label_encoding import Coded
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


def count(predictions: Predictions) -> Confusion:
    """Count how often each class was predicted for each true class.

    >>> from heldout.predictions.table import assemble
    >>> count(assemble(["a", "a", "b"], ["a", "b", "b"])).matrix
    array([[1, 1],
           [0, 1]])
    """
    truth, predicted = predictions.truth, predictions.predicted
    height, width = len(truth.labels), len(predicted.labels)
    if predictions.group is not None or height * width > DIRECT_CELLS:
        return _count_sorted(predictions)
    counter = _CellCounter(predictions, height * width)
    starts = range(0, predictions.n, STRETCH)
    # Many cells for each stretch would take more than they save.
    if height * width > FEW_CELLS:
        starts = range(0, predictions.n, max(predictions.n, 1))
    length = starts.step
    cases = np.zeros(height * width, dtype=np.int64)
    weighted = predictions.weight is not None
    sums, squares = (np.zeros(height * width), np.zeros(height * width)) if weighted else (None, None)
    for counted, blocks in share_out(lambda start: counter.take(start, start + length), starts):
        cases += counted
        # In the order of the blocks, so that sums are the same by however many threads.
        for own, square in blocks:
            if sums is not None and squares is not None:
                sums += own
                squares += square
    present = np.flatnonzero(cases)
    return _confusion(
        predictions,
        present // width,
        present % width,
        cases[present],
        None if sums is None else sums[present],
        None if squares is None else squares[present],
    )


@dataclass(frozen=True, slots=True)
class _CellCounter:
    """Counts the cells of the table of truth and prediction in stretches of rows."""

    predictions: Predictions
    cells: int

    def take(self, start: int, stop: int) -> tuple[NDArray[np.int64], list[tuple[Floats, Floats]]]:
        """How many cases each cell has; with weights, their sums and those of their squares in every block."""
        truth, predicted, weight = self.predictions.truth, self.predictions.predicted, self.predictions.weight
        stop = min(stop, self.predictions.n)
        one_byte = self.cells <= PAIRED_CELLS and truth.codes.dtype == predicted.codes.dtype == np.uint8
        if one_byte and weight is None and not truth.offset and not predicted.offset and stop - start >= PAIRED_ROWS:
            return self._take_pairs(start, stop), []
        width = len(predicted.labels)
        shift = truth.offset * width + predicted.offset
        cases = np.zeros(self.cells, dtype=np.int64)
        blocks: list[tuple[Floats, Floats]] = []
        buffer = np.empty(BLOCK, dtype=np.int64)
        sums, squares = (None, None) if weight is None else np.zeros((2, self.cells))
        for begin in range(start, stop, BLOCK):
            rows = slice(begin, min(begin + BLOCK, stop))
            key = _keys(truth.codes[rows], predicted.codes[rows], width, buffer)
            if shift:
                key -= shift
            cases += np.bincount(key, minlength=self.cells)
            if weight is None:
                continue
            own, square = (sums_by(key, power, self.cells) for power in (weight[rows], weight[rows] ** 2))
            if self.cells > FEW_CELLS and sums is not None and squares is not None:
                sums += own
                squares += square
            else:
                blocks.append((own, square))
        if self.cells > FEW_CELLS and sums is not None and squares is not None:
            blocks.append((sums, squares))
        return cases, blocks

    def _take_pairs(self, start: int, stop: int) -> NDArray[np.int64]:
        """The same where a cell fits into a byte: two rows are counted at a time."""
        truth, predicted = self.predictions.truth.codes[start:stop], self.predictions.predicted.codes[start:stop]
        key = truth * np.uint8(len(self.predictions.predicted.labels))
        key += predicted
        even = len(key) // 2 * 2
        both = np.bincount(key[:even].view(np.uint16), minlength=1 << 16).reshape(256, 256)
        cases = both.sum(axis=0) + both.sum(axis=1)
        if even < len(key):
            cases[key[even]] += 1
        return np.asarray(cases[: self.cells])


def _keys(truth: NDArray[Any], predicted: NDArray[Any], width: int, buffer: NDArray[np.int64]) -> NDArray[np.int64]:
    key = buffer[: len(truth)]
    np.multiply(truth, width, out=key, casting="unsafe", dtype=np.int64)
    np.add(key, predicted, out=key, casting="unsafe", dtype=np.int64)
    return key


def _count_sorted(predictions: Predictions) -> Confusion:
    """Count by sorting the cells that were met: for very many classes, and for groups."""
    truth, predicted, group = predictions.truth, predictions.predicted, predictions.group
    width = len(predicted.labels)
    key = truth.codes.astype(np.int64)
    key -= truth.offset
    key *= width
    key += predicted.codes
    key -= predicted.offset
    if predictions.weight is None and group is None:
        key.sort()
        starts = np.flatnonzero(np.concatenate([[True], key[1:] != key[:-1]]))
        cases = np.diff(np.append(starts, len(key)))
        cells = key[starts]
        return _confusion(predictions, cells // width, cells % width, cases, None, None)
    cells, where, cases = np.unique(key, return_inverse=True, return_counts=True)
    weight = predictions.weight
    sums: Any = None if weight is None else np.bincount(where, weights=weight)
    squares: Any = None if weight is None else np.bincount(where, weights=weight * weight)
    clusters = None
    if group is not None:
        codes = group.codes.astype(np.int64) - group.offset
        pairs, cell_index, number = np.unique(codes * len(cells) + where, return_inverse=True, return_counts=True)
        cell_sums = number if weight is None else np.bincount(cell_index, weights=weight)
        groups_present, dense = np.unique(pairs // len(cells), return_inverse=True)
        keys = key_array([group.labels[code] for code in groups_present.tolist()])
        clusters = Clusters(keys, dense, pairs % len(cells), cell_sums)
    return _confusion(predictions, cells // width, cells % width, cases, sums, squares, clusters)


def _confusion(
    predictions: Predictions,
    truth: NDArray[np.int64],
    predicted: NDArray[np.int64],
    cases: NDArray[np.int64],
    sums: NDArray[np.float64] | None,
    squares: NDArray[np.float64] | None,
    clusters: Clusters | None = None,
) -> Confusion:
    """Evidence in the joint labels, without the classes that neither column holds unless they were declared."""
    rows, columns = predictions.truth_place[truth], predictions.predicted_place[predicted]
    labels = predictions.labels
    if not predictions.keep_labels:
        occurring = np.zeros(len(labels), dtype=bool)
        occurring[rows] = True
        occurring[columns] = True
        if not occurring.all():
            move = np.cumsum(occurring) - 1
            rows, columns = move[rows], move[columns]
            labels = tuple(label for label, there in zip(labels, occurring.tolist(), strict=True) if there)
    flat = rows * len(labels) + columns
    if not bool((flat[1:] > flat[:-1]).all()):
        # Codes and labels stand in different orders.
        order = np.argsort(flat)
        back = np.empty(len(order), dtype=np.int64)
        back[order] = np.arange(len(order))
        if clusters is not None:
            cell = back[clusters.cell]
            # By group and then by cell, as every engine lists them.
            listed = np.lexsort((cell, clusters.group))
            clusters = Clusters(clusters.keys, clusters.group[listed], cell[listed], clusters.count[listed])
        rows, columns, cases = rows[order], columns[order], cases[order]
        sums, squares = (None if column is None else column[order] for column in (sums, squares))
    return Confusion(
        labels,
        rows,
        columns,
        cases if sums is None else sums,
        squares=squares,
        rows=None if sums is None else cases,
        clusters=clusters,
    )


# Where fold, truth and prediction together have at most this many cells they are counted in place.
DIRECT_FOLD_CELLS = 1 << 22


def count_folds(predictions: Predictions, labels: tuple[Label, ...]) -> FoldCounts:
    """Count how often each class was predicted for each true class in every fold; `labels` name all that are met.

    >>> from heldout.predictions.table import assemble
    >>> seen = count_folds(assemble(["a", "a", "b"], ["a", "b", "b"], fold=[1, 2, 2]), ("a", "b"))
    >>> seen[1].matrix
    array([[0, 1],
           [0, 1]])
    """
    fold = require(predictions.fold, "the predictions have no folds")
    truth, predicted = predictions.truth, predictions.predicted
    k, at = len(labels), {label: position for position, label in enumerate(labels)}
    move = np.array([at.get(label, -1) for label in predictions.labels], dtype=np.int64)
    numbers = fold.codes.astype(np.int64) - fold.offset
    rows = move[predictions.truth_place][truth.codes.astype(np.int64) - truth.offset]
    columns = move[predictions.predicted_place][predicted.codes.astype(np.int64) - predicted.offset]
    flat = (numbers * k + rows) * k + columns
    weight = predictions.weight
    size = len(fold.labels) * k * k
    if size <= DIRECT_FOLD_CELLS:
        cases = np.bincount(flat, minlength=size)
        cells = np.flatnonzero(cases)
        counts = cases[cells] if weight is None else np.bincount(flat, weights=weight, minlength=size)[cells]
    else:
        cells, where, cases = np.unique(flat, return_inverse=True, return_counts=True)
        counts = cases if weight is None else np.bincount(where, weights=weight)
    folds_present, fold_index = np.unique(cells // (k * k), return_inverse=True)
    keys = key_array([fold.labels[code] for code in folds_present.tolist()])
    return FoldCounts(labels, keys, fold_index, cells // k % k, cells % k, counts)


# Where slice, truth and prediction together have at most this many cells they are counted in place.
DIRECT_SLICE_CELLS = 1 << 22
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
    k = len(labels)
    slices = int(np.prod([len(column.labels) for column in columns]))
    shared = _shares(predictions)
    weight = predictions.weight if shared is None else shared
    size = slices * k * k
    if size <= DIRECT_SLICE_CELLS:
        cells, cases, sums, squares = _in_place(predictions, labels, columns, weight, size)
    else:
        keys = _slice_keys(predictions, labels, columns, slice(None))
        cells, where, cases = np.unique(keys, return_inverse=True, return_counts=True)
        sums = squares = None
        if weight is not None:
            sums, squares = (
                np.asarray(np.bincount(where, weights=w), dtype=np.float64) for w in (weight, weight * weight)
            )
    slices_present, slice_index = np.unique(cells // (k * k), return_inverse=True)
    entries = labels, slices_present, slice_index, cells // k % k, cells % k
    return SliceCounts(
        FoldCounts(*entries, cases),
        None if sums is None else FoldCounts(*entries, sums),
        None if squares is None or predictions.weight is None else FoldCounts(*entries, squares),
        _slice_groups(predictions, labels, columns, slices_present),
    )


def _shares(predictions: Predictions) -> NDArray[np.float64] | None:
    """What each row counts where models predicted a case more than once: all rows of a case count as one."""
    if predictions.id is None or predictions.fold is None:
        return None
    case = predictions.id.codes.astype(np.int64) - predictions.id.offset
    times = np.bincount(case)
    if times.max(initial=0) <= 1:
        return None
    share = 1 / times[case]
    return share if predictions.weight is None else share * predictions.weight


def _in_place(
    predictions: Predictions,
    labels: tuple[Label, ...],
    columns: Sequence[SliceColumn],
    weight: NDArray[np.float64] | None,
    size: int,
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64] | None, NDArray[np.float64] | None]:
    cases = np.zeros(size, dtype=np.int64)
    sums, squares = (None, None) if weight is None else (np.zeros(size), np.zeros(size))
    # The sums of a block are as long as there are cells: few rows at a time must not pay for many of those.
    block = max(BLOCK, 4 * size)
    for start in range(0, predictions.n, block):
        rows = slice(start, start + block)
        key = _slice_keys(predictions, labels, columns, rows)
        cases += np.bincount(key, minlength=size)
        if weight is not None and sums is not None and squares is not None:
            here = weight[rows]
            sums += np.bincount(key, weights=here, minlength=size)
            squares += np.bincount(key, weights=here * here, minlength=size)
    cells = np.flatnonzero(cases)
    return cells, cases[cells], None if sums is None else sums[cells], None if squares is None else squares[cells]


def _slice_keys(
    predictions: Predictions, labels: tuple[Label, ...], columns: Sequence[SliceColumn], rows: slice
) -> NDArray[np.int64]:
    move = places(predictions.labels, labels)
    key = columns[0].codes[rows].astype(np.int64)
    for column in columns[1:]:
        key *= len(column.labels)
        key += column.codes[rows]
    for coded, place in (
        (predictions.truth, predictions.truth_place),
        (predictions.predicted, predictions.predicted_place),
    ):
        key *= len(labels)
        # A label that no row holds has no place; its code is never looked up.
        key += move[place][coded.codes[rows].astype(np.int64) - coded.offset]
    return key


def _slice_groups(
    predictions: Predictions, labels: tuple[Label, ...], columns: Sequence[SliceColumn], slices: NDArray[np.int64]
) -> SliceGroups | None:
    """The groups behind every cell of every slice; `slices` are the codes of those that were met."""
    group = predictions.group
    if group is None:
        return None
    cells, number = len(labels) ** 2, len(group.labels)
    key = _slice_keys(predictions, labels, columns, slice(None))
    key = np.searchsorted(slices, key // cells) * cells + key % cells
    # By the place of the cell among those that were met: their numbers, times the groups, may not fit.
    entries_present, dense = np.unique(key, return_inverse=True)
    entries, where, rows = np.unique(
        dense * number + (group.codes.astype(np.int64) - group.offset), return_inverse=True, return_counts=True
    )
    weight = predictions.weight
    count = rows if weight is None else np.bincount(where, weights=weight)
    groups_present, group_index = np.unique(entries % number, return_inverse=True)
    keys = key_array([group.labels[code] for code in groups_present.tolist()])
    flat = entries_present[entries // number]
    return SliceGroups(keys, flat // cells, group_index, flat % cells, count)


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
    confusion = count(predictions)
    labels = confusion.labels
    folds = None if predictions.fold is None else count_folds(predictions, labels)
    given, gone, gaps = left_out(predictions)
    return Counted(
        confusion=confusion,
        positive=positive_among(predictions, labels),
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


def positive_among(predictions: Predictions, labels: tuple[Label, ...]) -> Label | None:
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


def score_tally(predictions: Predictions, rows: NDArray[np.int64] | None = None) -> ScoreTally:
    """What the scores of some rows tell, or of all of them."""
    scores = require(predictions.scores, "there are no scores")
    kept = slice(None) if rows is None else rows
    values = scores.values[kept]
    weight = None if predictions.weight is None else predictions.weight[kept]
    group = _groups(predictions, kept)
    codes = _codes(predictions.truth, predictions.truth_place, kept)
    if not scores.per_class:
        labels = predictions.labels
        true = codes == (labels.index(predictions.positive) if predictions.positive is not None else 1)
        single = bins_of(values, true, 2, weight=weight, group=group)
        probabilities = tally(values, true, weight, group=group) if scores.is_probability else None
        return ScoreTally((single,), probabilities, scores.unfit)
    k = len(predictions.labels)

    def count_column(index: int) -> ScoreBins:
        sides = sided(codes, index, k)
        return bins_of(values[:, index], sides, class_columns(k), weight=weight, group=group, most=most_bins(k))

    bins = tuple(share_out(count_column, range(k)))
    probabilities = tally_classes(values, codes, weight, group=group, n_classes=k) if scores.is_probability else None
    return ScoreTally(bins, probabilities, scores.unfit, predictions.labels)


def _codes(coded: Coded, place: NDArray[np.int64], rows: Any) -> NDArray[np.int64]:
    codes: NDArray[np.int64] = coded.codes[rows].astype(np.int64)
    return place[codes - coded.offset]


def _groups(predictions: Predictions, rows: Any) -> Groups | None:
    """The group of some rows, with the keys of those that are met."""
    group = predictions.group
    if group is None:
        return None
    groups_present, codes = np.unique(group.codes[rows].astype(np.int64) - group.offset, return_inverse=True)
    return codes, key_array([group.labels[code] for code in groups_present.tolist()])


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
        (left.name, right.name): count_slices(predictions, labels, [left, right])
        for left, right in itertools.combinations(predictions.slices, 2)
    }
