"""The confusion matrix of every fold and of every slice of the cases, as counted evidence, merged with +."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from heldout.arguments import Label
from heldout.errors import MatrixError
from heldout.evidence.confusion import Clusters, Confusion, Counts
from heldout.evidence.labels import join_keys, join_labels, places
from heldout.threads import cached_property

# Tables of all folds are made in batches of at most this many cells.
BATCH_CELLS = 1 << 21


@dataclass(frozen=True, eq=False)
class FoldCounts:
    """How often each class was predicted for each true class, in every fold.

    `fold`, `truth`, `predicted` and `counts` list the cells that were met: places in `keys` and `labels`, and the
    number of predictions, or their weight. Merging joins folds of the same key.

    >>> seen = FoldCounts(("a", "b"), np.array([1, 2]), *(np.array(x) for x in ([0, 1], [0, 1], [0, 0], [3, 1])))
    >>> [one.matrix.tolist() for one in (seen + seen)]
    [[[6, 0], [0, 0]], [[0, 0], [2, 0]]]
    """

    labels: tuple[Label, ...]
    keys: NDArray[Any]
    fold: NDArray[np.int64]
    truth: NDArray[np.int64]
    predicted: NDArray[np.int64]
    counts: Counts

    def __len__(self) -> int:
        return len(self.keys)

    @property
    def n_classes(self) -> int:
        """The number of classes."""
        return len(self.labels)

    @cached_property
    def sizes(self) -> NDArray[np.float64]:
        """The number of predictions in each fold, or their weight."""
        return np.asarray(np.bincount(self.fold, weights=self.counts, minlength=len(self)), dtype=np.float64)

    def __getitem__(self, place: int) -> Confusion:
        """The counts of one fold."""
        if not 0 <= place < len(self):
            raise IndexError(f"there is no fold at place {place} of {len(self)}")
        entries = np.flatnonzero(self.fold == place)
        order = entries[np.lexsort((self.predicted[entries], self.truth[entries]))]
        return Confusion(self.labels, self.truth[order], self.predicted[order], self.counts[order])

    def __iter__(self) -> Iterator[Confusion]:
        return (self[index] for index in range(len(self)))

    def tables(self) -> Iterator[NDArray[np.float64]]:
        """The square tables of all folds, (B, k, k), in batches that fit in memory."""
        cells = self.n_classes**2
        block = max(1, BATCH_CELLS // cells)
        order = np.argsort(self.fold, kind="stable")
        fold = self.fold[order]
        for start in range(0, len(self), block):
            stop = min(start + block, len(self))
            entries = order[np.searchsorted(fold, start) : np.searchsorted(fold, stop)]
            tables = np.zeros((stop - start, self.n_classes, self.n_classes))
            tables[self.fold[entries] - start, self.truth[entries], self.predicted[entries]] = self.counts[entries]
            yield tables

    def __add__(self, other: object) -> FoldCounts:
        if not isinstance(other, FoldCounts):
            return NotImplemented
        labels = join_labels(self.labels, other.labels)
        index_of = {label: position for position, label in enumerate(labels)}
        keys, code = join_keys([self.keys, other.keys])
        moves = [np.array([index_of[label] for label in part.labels], dtype=np.int64) for part in (self, other)]
        k = len(labels)
        flat = np.concatenate(
            [
                (code[part.fold + offset] * k + move[part.truth]) * k + move[part.predicted]
                for part, move, offset in zip((self, other), moves, (0, len(self.keys)), strict=True)
            ]
        )
        counts = np.concatenate([self.counts, other.counts])
        cells, where = np.unique(flat, return_inverse=True)
        total = np.zeros(len(cells), dtype=counts.dtype)
        np.add.at(total, where, counts)
        return FoldCounts(labels, keys, cells // (k * k), cells // k % k, cells % k, total)

    def __radd__(self, other: object) -> FoldCounts:
        # sum() begins with 0.
        return self if other == 0 else NotImplemented


TOLERANCE = 1e-9


@dataclass(frozen=True, eq=False)
class SliceGroups:
    """How many cases of each cell every group holds in every slice, sorted by slice.

    `place` are places among the slices, `group` places in `keys`, and `cell` is truth · k + predicted.
    """

    keys: NDArray[Any]
    place: NDArray[np.int64]
    group: NDArray[np.int64]
    cell: NDArray[np.int64]
    count: NDArray[Any]

    def clusters(self, held: slice, cells: NDArray[np.int64]) -> Clusters:
        """The groups of some entries; `cells` are those of the evidence that they belong to."""
        groups_present, dense = np.unique(self.group[held], return_inverse=True)
        return Clusters(self.keys[groups_present], dense, np.searchsorted(cells, self.cell[held]), self.count[held])

    def moved(self, slices: NDArray[np.int64], classes: NDArray[np.int64], number: int) -> SliceGroups:
        """The same entries among other slices, and classes of which there are `number`: new places of the old ones."""
        k = max(len(classes), 1)
        cell = classes[self.cell // k] * number + classes[self.cell % k]
        return replace(self, place=slices[self.place], cell=cell)

    def __add__(self, other: object) -> SliceGroups:
        """Both together, where places and cells mean the same on either side."""
        if not isinstance(other, SliceGroups):
            return NotImplemented
        keys, code = join_keys([self.keys, other.keys])
        group = np.concatenate([code[: len(self.keys)][self.group], code[len(self.keys) :][other.group]])
        place, cell, count = (
            np.concatenate([own, others])
            for own, others in ((self.place, other.place), (self.cell, other.cell), (self.count, other.count))
        )
        # By sorting on three columns: their product need not fit a whole number.
        order = np.lexsort((group, cell, place))
        place, cell, group, count = (column[order] for column in (place, cell, group, count))
        new = np.ones(len(order), dtype=bool)
        new[1:] = (np.diff(place) != 0) | (np.diff(cell) != 0) | (np.diff(group) != 0)
        starts = np.flatnonzero(new)
        total = np.add.reduceat(count, starts) if len(starts) else count
        return SliceGroups(keys, place[starts], group[starts], cell[starts], total)


@dataclass(frozen=True, eq=False)
class SliceCounts:
    """How often each class was predicted for each true class, in every slice.

    `cases` counts rows. With weights, `weights` and `squares` hold the sums of the weights and of their squares; with
    weights alone, the rows are shares of cases that were predicted several times. The keys are codes of slices.
    `groups` are kept where rows come in groups.

    >>> seen = SliceCounts(FoldCounts(("a", "b"), *(np.array(x) for x in ([0, 1], [0, 1], [0, 1], [0, 0], [3, 1]))))
    >>> seen[1].matrix.tolist(), seen.rest(1).matrix.tolist()
    ([[0, 0], [1, 0]], [[3, 0], [0, 0]])
    """

    cases: FoldCounts
    weights: FoldCounts | None = None
    squares: FoldCounts | None = None
    groups: SliceGroups | None = None

    def __len__(self) -> int:
        return len(self.cases)

    @property
    def keys(self) -> NDArray[np.int64]:
        """The codes of the slices that were met."""
        return self.cases.keys

    @cached_property
    def sizes(self) -> NDArray[np.int64]:
        """The number of rows in each slice."""
        return np.rint(self.cases.sizes).astype(np.int64)

    @cached_property
    def _starts(self) -> NDArray[np.int64]:
        return np.searchsorted(self.cases.fold, np.arange(len(self) + 1))

    @cached_property
    def whole(self) -> Confusion:
        """The counts of all slices together."""
        k = self.cases.n_classes
        cells, where = np.unique(self.cases.truth * k + self.cases.predicted, return_inverse=True)
        rows = np.zeros(len(cells), dtype=np.int64)
        np.add.at(rows, where, self.cases.counts)
        sums, squares = (
            None if part is None else np.bincount(where, weights=part.counts, minlength=len(cells))
            for part in (self.weights, self.squares)
        )
        confusion = _confusion(self, cells // k, cells % k, rows, sums, squares)
        groups = self.groups
        if groups is None:
            return confusion
        cell_count = len(cells)
        entries, entry_index = np.unique(
            groups.group * cell_count + np.searchsorted(cells, groups.cell), return_inverse=True
        )
        count = np.asarray(np.bincount(entry_index, weights=groups.count), dtype=np.float64)
        clusters = Clusters(groups.keys, entries // cell_count, entries % cell_count, count)
        return replace(confusion, clusters=clusters)

    def __getitem__(self, place: int) -> Confusion:
        """The counts of one slice."""
        if not 0 <= place < len(self):
            raise IndexError(f"there is no slice at place {place} of {len(self)}")
        rows = slice(*self._starts[place : place + 2].tolist())
        sums, squares = (None if part is None else part.counts[rows] for part in (self.weights, self.squares))
        cases = self.cases
        truth, predicted = cases.truth[rows], cases.predicted[rows]
        confusion = _confusion(self, truth, predicted, cases.counts[rows], sums, squares)
        if self.groups is None:
            return confusion
        entries = slice(*np.searchsorted(self.groups.place, [place, place + 1]).tolist())
        return replace(confusion, clusters=self.groups.clusters(entries, truth * cases.n_classes + predicted))

    def rest(self, place: int) -> Confusion:
        """The counts of all cases outside a slice."""
        return left_of(self.whole, self[place])

    def __add__(self, other: object) -> SliceCounts:
        if not isinstance(other, SliceCounts):
            return NotImplemented
        pairs = [(self.weights, other.weights), (self.squares, other.squares)]
        if any((own is None) != (others is None) for own, others in [*pairs, (self.groups, other.groups)]):
            raise MatrixError(
                "Slices with weights or groups and slices without cannot be merged. Only one side has them.",
                hint="count both with the same roles, or both without.",
            )
        weights, squares = (None if own is None or others is None else own + others for own, others in pairs)
        cases = self.cases + other.cases
        return SliceCounts(cases, weights, squares, _joined_groups(cases, (self, other)))

    def __radd__(self, other: object) -> SliceCounts:
        # sum() begins with 0.
        return self if other == 0 else NotImplemented


def _joined_groups(cases: FoldCounts, parts: tuple[SliceCounts, SliceCounts]) -> SliceGroups | None:
    """The groups of two parts in the slices and classes of both together."""
    moved = []
    for part in parts:
        if part.groups is None:
            return None
        slices = np.searchsorted(cases.keys, part.keys)
        moved.append(part.groups.moved(slices, places(part.cases.labels, cases.labels), cases.n_classes))
    return moved[0] + moved[1]


def left_of(whole: Confusion, part: Confusion) -> Confusion:
    """What is left of a whole without a part of it, both over the same labels.

    >>> left_of(Confusion.of([[5, 1], [0, 4]]), Confusion.of([[5, 0], [0, 1]])).matrix
    array([[0, 1],
           [0, 3]])
    """
    k = whole.n_classes
    at = np.searchsorted(whole.truth * k + whole.predicted, part.truth * k + part.predicted)
    counts, squares, rows = (
        _less(total, less, at)
        for total, less in ((whole.counts, part.counts), (whole.squares, part.squares), (whole.rows, part.rows))
    )
    remaining = rows if rows is not None else counts
    # Shares of cases that add up to none are left with the error of their rounding.
    kept = np.flatnonzero(remaining > TOLERANCE)
    truth, predicted = whole.truth[kept], whole.predicted[kept]
    return Confusion(
        whole.labels,
        truth,
        predicted,
        np.maximum(counts[kept], 0),
        squares=None if squares is None else np.maximum(squares[kept], 0),
        rows=None if rows is None else rows[kept],
        clusters=_groups_left(whole, part, truth * k + predicted),
    )


def _groups_left(whole: Confusion, part: Confusion, cells: NDArray[np.int64]) -> Clusters | None:
    """What is left of every group, where rows come in groups; `cells` are those that are left."""
    all_clusters, part_clusters, k = whole.clusters, part.clusters, whole.n_classes
    if all_clusters is None or part_clusters is None:
        return None
    keys, code = join_keys([all_clusters.keys, part_clusters.keys])
    group = np.concatenate(
        [code[: len(all_clusters.keys)][all_clusters.group], code[len(all_clusters.keys) :][part_clusters.group]]
    )
    # Cells by their place in the whole, of which the part is one: with their numbers a group and a cell together
    # would not fit a whole number where there are a million classes.
    known = whole.truth * k + whole.predicted
    inside = np.searchsorted(known, part.truth * k + part.predicted)
    cell, number = np.concatenate([all_clusters.cell, inside[part_clusters.cell]]), max(len(known), 1)
    counts = np.concatenate([all_clusters.count, -np.asarray(part_clusters.count)])
    entries, where = np.unique(group * number + cell, return_inverse=True)
    sums = np.bincount(where, weights=counts)
    kept = np.flatnonzero(np.abs(sums) > TOLERANCE)
    entries, sums = entries[kept], sums[kept]
    groups_present, dense = np.unique(entries // number, return_inverse=True)
    left = np.searchsorted(cells, known[entries % number])
    return Clusters(keys[groups_present], dense, left, np.asarray(sums, dtype=np.float64))


def _less(total: Any, less: Any, at: NDArray[np.int64]) -> Any:
    if total is None or less is None:
        return None
    left = total.copy()
    left[at] -= less
    return left


def _confusion(
    seen: SliceCounts,
    truth: NDArray[np.int64],
    predicted: NDArray[np.int64],
    rows: NDArray[np.int64] | NDArray[np.float64],
    sums: Any,
    squares: Any,
) -> Confusion:
    cases = rows.astype(np.int64)
    labels = seen.cases.labels
    if sums is None:
        return Confusion(labels, truth, predicted, cases)
    # Parts of a case are no weights that somebody gave: they count as the cases that they add up to.
    return Confusion(labels, truth, predicted, sums, squares=squares, rows=None if squares is None else cases)


# What stands in brackets is no value of the column, and stands last: (other), (missing).
_NO_VALUE = re.compile(r"\(+(missing|other)\)+")


def is_value(label: str) -> bool:
    """Whether the name of a slice is a value of its column.

    >>> is_value("f"), is_value("(missing)")
    (True, False)
    """
    return _NO_VALUE.fullmatch(label) is None


def natural(labels: Sequence[str]) -> tuple[str, ...]:
    """Numbers by their size where all are numbers, otherwise texts by code point; what is no value last.

    >>> natural(["10", "(missing)", "9"])
    ('9', '10', '(missing)')
    """
    named = [label for label in labels if is_value(label)]
    last = sorted((label for label in labels if not is_value(label)), reverse=True)
    try:
        return (*sorted(named, key=lambda label: (float(label), label)), *last)
    except ValueError:
        return (*sorted(named), *last)


def join_slices(left: Sequence[str], right: Sequence[str]) -> tuple[str, ...]:
    """The names of both: in their natural order if both are, otherwise in the order of the first.

    >>> join_slices(("9", "11"), ("10",))
    ('9', '10', '11')
    >>> join_slices(("low", "high"), ("high", "(missing)"))
    ('low', 'high', '(missing)')
    """
    first, second = tuple(left), tuple(right)
    if first == second:
        return first
    union = tuple(dict.fromkeys([*first, *second]))
    if first == natural(first) and second == natural(second):
        return natural(union)
    values = [label for label in union if is_value(label)]
    return (*values, *natural([label for label in union if not is_value(label)]))


def moved(
    counts: SliceCounts,
    before: Sequence[str],
    after: Sequence[str],
    before_two: Sequence[str] = ("",),
    after_two: Sequence[str] = ("",),
) -> SliceCounts:
    """The same counts under the codes that the slices have among other names; of two columns, those of both."""
    if tuple(before) == tuple(after) and tuple(before_two) == tuple(after_two):
        return counts
    first, second = (
        np.array([place[label] for label in names], dtype=np.int64)
        for names, place in (
            (before, {label: at for at, label in enumerate(after)}),
            (before_two, {label: at for at, label in enumerate(after_two)}),
        )
    )
    keys = counts.keys
    codes = first[keys // len(before_two)] * len(after_two) + second[keys % len(before_two)]
    order = np.argsort(codes)
    back = np.empty(len(order), dtype=np.int64)
    back[order] = np.arange(len(order))
    rows = np.argsort(back[counts.cases.fold], kind="stable")

    def again(part: FoldCounts) -> FoldCounts:
        taken = part.truth[rows], part.predicted[rows], part.counts[rows]
        return FoldCounts(part.labels, codes[order], back[part.fold][rows], *taken)

    groups = counts.groups
    if groups is not None:
        entries = np.argsort(back[groups.place], kind="stable")
        columns = groups.group[entries], groups.cell[entries], groups.count[entries]
        groups = replace(groups, place=back[groups.place][entries], group=columns[0], cell=columns[1], count=columns[2])
    return SliceCounts(
        again(counts.cases),
        None if counts.weights is None else again(counts.weights),
        None if counts.squares is None else again(counts.squares),
        groups,
    )
