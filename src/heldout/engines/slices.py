"""Counting predictions slice by slice, in one pass over the rows."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from heldout.evidence import Label
from heldout.evidence.folds import FoldCounts
from heldout.evidence.keys import key_array
from heldout.evidence.labels import places
from heldout.evidence.slices import SliceCounts, SliceGroups
from heldout.predictions.slices import SliceColumn
from heldout.predictions.table import Predictions

# Where slice, truth and prediction together have at most this many cells they are counted in place.
DIRECT_CELLS = 1 << 22
# Combinations of two slice columns are counted as long as pairs · rows is at most this.
MOST_PAIRED = 200_000_000
# Rows are counted in blocks that stay in the processor's cache.
BLOCK = 1 << 15


def count_slices(predictions: Predictions, labels: tuple[Label, ...], columns: Sequence[SliceColumn]) -> SliceCounts:
    """Count how often each class was predicted for each true class in every slice; `labels` name all that are met.

    With several columns the slices are their combinations; the key of one is its code in base (number of slices).

    >>> from heldout.predictions.slices import slice_column
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
    if size <= DIRECT_CELLS:
        cells, cases, sums, squares = _in_place(predictions, labels, columns, weight, size)
    else:
        keys = _keys(predictions, labels, columns, slice(None))
        cells, where, cases = np.unique(keys, return_inverse=True, return_counts=True)
        sums = squares = None
        if weight is not None:
            sums, squares = (
                np.asarray(np.bincount(where, weights=w), dtype=np.float64) for w in (weight, weight * weight)
            )
    met, place = np.unique(cells // (k * k), return_inverse=True)
    made = labels, met, place, cells // k % k, cells % k
    return SliceCounts(
        FoldCounts(*made, cases),
        None if sums is None else FoldCounts(*made, sums),
        None if squares is None or predictions.weight is None else FoldCounts(*made, squares),
        _groups(predictions, labels, columns, met),
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
        held = slice(start, start + block)
        key = _keys(predictions, labels, columns, held)
        cases += np.bincount(key, minlength=size)
        if weight is not None and sums is not None and squares is not None:
            here = weight[held]
            sums += np.bincount(key, weights=here, minlength=size)
            squares += np.bincount(key, weights=here * here, minlength=size)
    cells = np.flatnonzero(cases)
    return cells, cases[cells], None if sums is None else sums[cells], None if squares is None else squares[cells]


def _keys(
    predictions: Predictions, labels: tuple[Label, ...], columns: Sequence[SliceColumn], held: slice
) -> NDArray[np.int64]:
    move = places(predictions.labels, labels)
    key = columns[0].codes[held].astype(np.int64)
    for column in columns[1:]:
        key *= len(column.labels)
        key += column.codes[held]
    for coded, place in (
        (predictions.truth, predictions.truth_place),
        (predictions.predicted, predictions.predicted_place),
    ):
        key *= len(labels)
        # A label that no row holds has no place; its code is never looked up.
        key += move[place][coded.codes[held].astype(np.int64) - coded.offset]
    return key


def _groups(
    predictions: Predictions, labels: tuple[Label, ...], columns: Sequence[SliceColumn], slices: NDArray[np.int64]
) -> SliceGroups | None:
    """The groups behind every cell of every slice; `slices` are the codes of those that were met."""
    group = predictions.group
    if group is None:
        return None
    cells, number = len(labels) ** 2, len(group.labels)
    key = _keys(predictions, labels, columns, slice(None))
    key = np.searchsorted(slices, key // cells) * cells + key % cells
    # By the place of the cell among those that were met: their numbers, times the groups, may not fit.
    held, dense = np.unique(key, return_inverse=True)
    entries, where, rows = np.unique(
        dense * number + (group.codes.astype(np.int64) - group.offset), return_inverse=True, return_counts=True
    )
    weight = predictions.weight
    count = rows if weight is None else np.bincount(where, weights=weight)
    met, place = np.unique(entries % number, return_inverse=True)
    keys = key_array([group.labels[code] for code in met.tolist()])
    flat = held[entries // number]
    return SliceGroups(keys, flat // cells, place, flat % cells, count)
