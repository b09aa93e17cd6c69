"""The confusion matrix as counted evidence, merged with +.

Only the cells that were met are kept, so that it stays small for any number of classes.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from heldout.arguments import Label, listing
from heldout.errors import MatrixError
from heldout.evidence.labels import check_same_kind, join_keys, join_labels, places
from heldout.files.matrix import check_matrix, check_total, name_matrix
from heldout.threads import cached_property
from heldout.values import state_of

# One message for a fault that several functions can find.
NAME_EVERY_CLASS = "name every class that occurs in truth or prediction."


Counts = NDArray[np.int64] | NDArray[np.float64]

# A k × k array of this side takes 128 MB; beyond it nothing in heldout makes one.
DENSE_CLASSES = 4000
# From this many classes on it pays to look for those that have the same counts.
MANY_CLASSES = 5000


@dataclass(frozen=True, eq=False)
class Clusters:
    """How many cases of each cell every group holds: one entry per group and cell that was met."""

    keys: NDArray[Any]
    group: NDArray[np.int64]
    cell: NDArray[np.int64]
    count: Counts

    @property
    def number(self) -> int:
        """How many groups there are."""
        return len(self.keys)


@dataclass(frozen=True, eq=False)
class Confusion:
    """How often each class was predicted for each true class.

    `truth`, `predicted` and `counts` list the cells that were met, in row order: indices into `labels`, and the
    number of cases, or their weight. With weights, `squares` holds the sum of squared weights of each cell and
    `rows` the number of rows behind it. Merging joins the label sets.

    >>> seen = Confusion.of([[50, 0], [2, 48]], ["a", "b"])
    >>> (seen + seen).matrix
    array([[100,   0],
           [  4,  96]])
    """

    # What a notebook shows of it, as "module:function" of a layer above.
    _notebook_by: ClassVar[str] = "heldout.report.notebook:confusion_cell"

    labels: tuple[Label, ...]
    truth: NDArray[np.int64]
    predicted: NDArray[np.int64]
    counts: Counts
    squares: NDArray[np.float64] | None = None
    rows: NDArray[np.int64] | None = None
    clusters: Clusters | None = None

    def _repr_html_(self) -> str:
        from heldout.result import bound_late
        from heldout.show.html import render_html

        return render_html(bound_late(self._notebook_by)(self))

    @classmethod
    def of(cls, matrix: Any, labels: Sequence[Label] | None = None, *, rows: str | None = None) -> Confusion:
        """From a table of counts; `rows` says whether its rows are the truth or the prediction.

        A data frame or a dictionary of rows is read by its labels. Rows are the truth unless the name of an axis says
        otherwise.
        """
        if rows not in (None, "truth", "predicted"):
            raise MatrixError(
                f"The rows of a matrix are 'truth' or 'predicted'. Got {rows!r}.", hint="say what the rows are."
            )
        named = name_matrix(matrix)
        labels = named.labels if labels is None else labels
        table = check_matrix(named.table if labels is None else named.arranged(labels), labels, cases_needed=False)
        if (rows or named.rows) == "predicted":
            table = table.T
        names = tuple(range(len(table))) if labels is None else tuple(labels)
        if len(set(names)) < len(names) or not all(isinstance(name, str | int | float) for name in names):
            raise MatrixError(
                f"The labels of the matrix must be distinct text or numbers. Got {listing(map(repr, names))}.",
                hint="give each row a label of its own.",
            )
        truth, predicted = np.nonzero(table)
        counts = table[truth, predicted]
        if counts.dtype.kind == "f" and not np.all(counts == np.floor(counts)):
            # Fractional entries are weights whose spread is unknown: each is taken as that many cases.
            return cls(names, truth, predicted, counts.astype(np.float64), rows=np.ceil(counts).astype(np.int64))
        return cls(names, truth, predicted, counts.astype(np.int64))

    @cached_property
    def weighted(self) -> bool:
        """Whether the cases carry weights."""
        return self.squares is not None

    @cached_property
    def cases(self) -> NDArray[np.int64]:
        """The number of rows behind each cell that was met."""
        return np.rint(self.counts).astype(np.int64) if self.rows is None else self.rows

    @cached_property
    def of_rows(self) -> Confusion:
        """The same cells with the number of rows behind each in the place of their weight."""
        return self if self.rows is None else Confusion(self.labels, self.truth, self.predicted, self.cases)

    @cached_property
    def n(self) -> int | float:
        """The number of cases, or their weight."""
        total: int | float = self.counts.sum().item()
        # The parts of cases that were predicted several times add up to whole ones but for rounding.
        whole = isinstance(total, float) and abs(total - round(total)) < min(1e-9, 1e-12 * total)
        return float(round(total)) if whole else total

    @cached_property
    def n_cases(self) -> int:
        """The number of rows that were counted."""
        # Not the sum of rounded cells, where the predictions of one case share it.
        return int(self.cases.sum()) if self.rows is not None else round(self.n)

    @cached_property
    def n_classes(self) -> int:
        """The number of classes."""
        return len(self.labels)

    @cached_property
    def truth_totals(self) -> Counts:
        """Cases of each true class."""
        return self._totals(self.truth, self.counts)

    @cached_property
    def predicted_totals(self) -> Counts:
        """Cases for which each class was predicted."""
        return self._totals(self.predicted, self.counts)

    @cached_property
    def hits(self) -> Counts:
        """Cases of each class that were predicted right."""
        right = self.truth == self.predicted
        return self._totals(self.truth[right], self.counts[right])

    @cached_property
    def right(self) -> float:
        """Cases that were predicted right."""
        return float(self.hits.sum())

    @cached_property
    def wrong(self) -> float:
        """Cases that were predicted wrong: summed, because what is left of all cases may be rounding alone."""
        return float(self.counts[self.truth != self.predicted].sum())

    @cached_property
    def corners(self) -> NDArray[np.float64]:
        """TP, FN, FP, TN of every class against the rest, one row per class.

        >>> Confusion.of([[10, 1], [2, 35]]).corners
        array([[10.,  1.,  2., 35.],
               [35.,  2.,  1., 10.]])
        """
        wrong = self.truth != self.predicted
        counts = self.counts.astype(np.float64)
        k = self.n_classes
        # The errors are summed, not subtracted: rounding of weights must not leave a crumb where there is no case.
        fn = np.bincount(self.truth[wrong], weights=counts[wrong], minlength=k)
        fp = np.bincount(self.predicted[wrong], weights=counts[wrong], minlength=k)
        tp = self.hits.astype(np.float64)
        tn = true_negatives(counts.sum(), tp, fn, fp, lambda c: counts[(self.truth != c) & (self.predicted != c)].sum())
        return np.stack([tp, fn, fp, tn], axis=1)

    @cached_property
    def alike(self) -> tuple[NDArray[np.float64], NDArray[np.int64]] | None:
        """The distinct rows of `corners`, and which of them each class has; None where that would save nothing.

        Of a million classes most have the same few counts: what is worked out for each class is worked out once
        for all that are alike.
        """
        if self.n_classes < MANY_CLASSES or self.counts.dtype.kind == "f":
            return None
        # Without TN, which the total of all cases leaves.
        tp, fn, fp = self.corners[:, :3].astype(np.int64).T
        tall, wide = int(fn.max()) + 1, int(fp.max()) + 1
        if (int(tp.max()) + 1) * tall * wide >= 2**62:
            return None
        kinds, first, kind_index = np.unique((tp * tall + fn) * wide + fp, return_index=True, return_inverse=True)
        return None if 2 * len(kinds) > self.n_classes else (self.corners[first], kind_index)

    # What was derived is left out of copies: it can be made again, and not all of it can be pickled.
    __getstate__ = state_of

    @cached_property
    def memo(self) -> dict[Any, Any]:
        """What was derived from these counts and will be asked for again."""
        return {}

    @property
    def is_dense(self) -> bool:
        """Whether there are few enough classes for a square array."""
        return self.n_classes <= DENSE_CLASSES

    @property
    def matrix(self) -> Counts:
        """The square table, rows are the truth; refused where it would not fit in memory."""
        if not self.is_dense:
            raise MatrixError(
                f"A table of {self.n_classes:,} × {self.n_classes:,} classes is not made; "
                f"up to {DENSE_CLASSES:,} classes are.",
                hint="use .truth, .predicted and .counts, which list the cells that were met.",
            )
        table: Any = np.zeros((self.n_classes, self.n_classes), dtype=self.counts.dtype)
        table[self.truth, self.predicted] = self.counts
        square: Counts = table
        return square

    def _totals(self, index: NDArray[np.int64], counts: Counts) -> Counts:
        if counts.dtype.kind == "f":
            return np.bincount(index, weights=counts, minlength=self.n_classes)
        total = np.zeros(self.n_classes, dtype=np.int64)
        # Not bincount with weights: it sums in floats, which are exact only up to 2**53.
        np.add.at(total, index, counts)
        return total

    def index(self, label: Label) -> int:
        """The place of a label."""
        try:
            return _sorted_place(self.labels, label)
        except ValueError:
            raise MatrixError(
                f"There is no class {label!r}. The classes are: {listing(self.labels)}.",
                hint="use one of these.",
            ) from None

    def largest(self, most: int) -> NDArray[np.int64]:
        """The places of the classes with most cases, the largest first; of equal ones the first.

        >>> Confusion.of([[1, 0, 0], [0, 3, 1], [0, 0, 4]]).largest(2).tolist()
        [1, 2]
        """
        totals = self.truth_totals
        if most < len(totals):
            # Those that are larger than the last to be taken, and of its equals as many as there is room for.
            last = np.partition(totals, len(totals) - most)[len(totals) - most]
            above = np.flatnonzero(totals > last)
            kept = np.concatenate([above, np.flatnonzero(totals == last)[: most - len(above)]])
        else:
            kept = np.arange(len(totals))
        return np.asarray(kept[np.lexsort((kept, -totals[kept]))])

    def with_labels(self, labels: Sequence[Label]) -> Confusion:
        """The same evidence with its classes in another order, or among further classes that were not met."""
        move = places(self.labels, labels)
        if (move < 0).any():
            unknown = [self.labels[index] for index in np.flatnonzero(move < 0).tolist()]
            raise MatrixError(
                f"The labels given leave out classes that were met: {listing(unknown)}.",
                hint=NAME_EVERY_CLASS,
            )
        return _combined(tuple(labels), [(self, move)])

    def thinned(self, n: int) -> Confusion:
        """The same shares for n rows in all: what is left when every case counts once, however often predicted.

        >>> Confusion.of([[6, 2], [0, 4]]).thinned(6).matrix
        array([[3., 1.],
               [0., 2.]])
        """
        times = self.n_cases / n
        if times == 1:
            return self
        clusters = self.clusters
        return Confusion(
            self.labels,
            self.truth,
            self.predicted,
            self.counts / times,
            squares=None if self.squares is None else self.squares / times,
            rows=None if self.squares is None else np.ceil(self.cases / times).astype(np.int64),
            clusters=None
            if clusters is None
            else Clusters(clusters.keys, clusters.group, clusters.cell, clusters.count / times),
        )

    def __add__(self, other: object) -> Confusion:
        if not isinstance(other, Confusion):
            return NotImplemented
        if self.weighted != other.weighted:
            raise MatrixError(
                "Weighted and unweighted evidence cannot be merged. One side has weights, the other has none.",
                hint="count both with weights (1 for every case where there are none), or both without.",
            )
        if (self.clusters is None) != (other.clusters is None):
            raise MatrixError(
                "Evidence with groups and evidence without cannot be merged. One side has groups, the other has none.",
                hint="count both with group, or both without.",
            )
        check_total(self.n_cases + other.n_cases, "Together there are", "merge fewer, or see what was counted twice.")
        check_same_kind(self.labels, other.labels)
        labels = join_labels(self.labels, other.labels)
        return _combined(labels, [(part, places(part.labels, labels)) for part in (self, other)])

    def __radd__(self, other: object) -> Confusion:
        # sum() begins with 0.
        return self if other == 0 else NotImplemented

    def __eq__(self, other: object) -> bool:
        """Equal counts for equal labels, in whatever order the labels stand."""
        if not isinstance(other, Confusion):
            return NotImplemented
        if self.weighted != other.weighted or self.n_classes != other.n_classes:
            return False
        move = places(other.labels, self.labels)
        if (move < 0).any() or (self.clusters is None) != (other.clusters is None):
            return False
        first, second = (_combined(self.labels, [part]) for part in ((self, np.arange(self.n_classes)), (other, move)))
        if first.clusters is not None and second.clusters is not None:
            return _same_groups(first, second)
        columns = [(part.truth, part.predicted, part.counts, part.cases, part.squares) for part in (first, second)]
        # Weights have squares on both sides or on neither.
        return all(np.array_equal(x, y) for x, y in zip(*columns, strict=True) if x is not None and y is not None)

    __hash__ = None  # type: ignore[assignment]


def true_negatives(total: Any, tp: Any, fn: Any, fp: Any, remaining: Callable[[int], Any]) -> Any:
    """TN of every class, along the last axis: what is left of the total, or where that is little, the sum of its cells.

    A small difference of large weights is rounding. No more than two classes of a table leave less than a quarter, so
    that `remaining`, which sums the cells that have nothing to do with a class, is asked for a few classes only.

    >>> parts = np.array([2e6, 1e-6]), np.array([0.0, 1e-6]), np.array([1e-6, 0.0])
    >>> true_negatives(2e6 + 2e-6, *parts, lambda c: (1e-6, 2e6)[c]).tolist()
    [1e-06, 2000000.0]
    """
    whole = np.asarray(total)[..., None]
    tn = np.asarray(whole - tp - fn - fp)
    little = tn < whole / 4
    for c in np.flatnonzero(little.reshape(-1, tn.shape[-1]).any(axis=0)).tolist():
        tn[..., c] = np.where(little[..., c], remaining(c), tn[..., c])
    return tn


def _sorted_place(labels: tuple[Label, ...], label: Label) -> int:
    """The place of a label, found by halving where the labels are in order: there may be a million."""
    try:
        index = bisect_left(labels, label)
    except TypeError:
        # Numbers and texts together are sorted by our order, which they do not have themselves.
        return labels.index(label)
    return index if index < len(labels) and labels[index] == label else labels.index(label)


def _same_groups(left: Confusion, right: Confusion) -> bool:
    """Whether every group holds as many cases of every cell, both sides over the same labels."""
    first, second = left.clusters, right.clusters
    if first is None or second is None:
        return first is second
    _, code = join_keys([first.keys, second.keys])
    sides = []
    for seen, clusters, codes in ((left, first, code[: first.number]), (right, second, code[first.number :])):
        columns = codes[clusters.group], seen.truth[clusters.cell], seen.predicted[clusters.cell], clusters.count
        order = np.lexsort(columns[2::-1])
        sides.append([column[order] for column in columns])
    return all(np.array_equal(x, y) for x, y in zip(*sides, strict=True))


def _combined(labels: tuple[Label, ...], parts: list[tuple[Confusion, NDArray[np.int64]]]) -> Confusion:
    k = len(labels)
    keys = np.concatenate([move[part.truth] * k + move[part.predicted] for part, move in parts])
    cells, where = np.unique(keys, return_inverse=True)
    weighted = parts[0][0].weighted

    def summed(columns: list[Any]) -> Any:
        joined = np.concatenate(columns)
        total = np.zeros(len(cells), dtype=joined.dtype)
        np.add.at(total, where, joined)
        return total

    clusters = None
    if parts[0][0].clusters is not None:
        sizes = [len(part.truth) for part, _ in parts]
        starts = np.concatenate([[0], np.cumsum(sizes)[:-1]]).astype(np.int64)
        clusters = _combined_clusters([part.clusters for part, _ in parts], starts, where)
    return Confusion(
        labels,
        cells // k,
        cells % k,
        summed([part.counts for part, _ in parts]),
        squares=summed([part.squares for part, _ in parts]) if weighted else None,
        rows=summed([part.cases for part, _ in parts]) if any(part.rows is not None for part, _ in parts) else None,
        clusters=clusters,
    )


def _combined_clusters(
    parts: Sequence[Clusters | None], starts: NDArray[np.int64], where: NDArray[np.int64]
) -> Clusters:
    present = [part for part in parts if part is not None]
    keys, code = join_keys([part.keys for part in present])
    offsets = np.concatenate([[0], np.cumsum([part.number for part in present])[:-1]]).astype(np.int64)
    group = np.concatenate([code[part.group + offset] for part, offset in zip(present, offsets, strict=True)])
    cell = np.concatenate([where[part.cell + start] for part, start in zip(present, starts, strict=True)])
    count = np.concatenate([part.count for part in present])
    width = int(cell.max(initial=0)) + 1
    pairs, pair_index = np.unique(group * width + cell, return_inverse=True)
    total = np.zeros(len(pairs), dtype=count.dtype)
    np.add.at(total, pair_index, count)
    return Clusters(keys, pairs // width, pairs % width, total)
