"""Looking again into the bins that leave the areas least certain: which they are, and what a second reading found."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from heldout.arrays import Floats, Integers
from heldout.engines.bins import BLOCK, FAR, LIMIT, BinCounter, bins_of
from heldout.errors import ValuesError
from heldout.evidence.bin_grid import ends_of, index_of
from heldout.evidence.ranking import Ranking
from heldout.evidence.score_bins import ROOM, ScoreBins, inside
from heldout.threads import cached_property

# One message for a fault that several functions can find.
FILES_AT_REST = "evaluate them when nothing writes to them, or a copy."


# The part of the tolerance that the bins which are not refined may use up.
LEFT = 0.25
# Without a tolerance areas are certain to this part of their standard error, which is too little to see in an
# interval; and never to less than the second number.
OF_ERROR = 1 / 20
LEAST_TOLERANCE = 1e-8
# Standard errors are computed from the cases in this many classes of scores, with about equally many cases in each.
CLASSES_OF_SCORES = 4096
# Bins whose doubts differ by less than this factor are one part; the faintest are one part whatever they leave.
STEP = 16.0
FAINT = STEP**-7
# Bins of the grid for which a table says whether they are looked into.
TABLE = 1 << 24


@dataclass(frozen=True, eq=False)
class Refinement:
    """The bins to look into: their lower edges and exponents.

    They are taken in parts, those that leave most in doubt first, each part with its own room for as many finer bins as
    will be met.
    """

    low: Floats
    exponent: NDArray[np.int16]
    base: int
    k: int
    weighted: bool
    part: NDArray[np.int8]
    rooms: tuple[int, ...]

    def __len__(self) -> int:
        return len(self.low)

    @cached_property
    def ends(self) -> Floats:
        """The first float above each refined bin."""
        return ends_of(self.low, self.exponent)

    @cached_property
    def _table(self) -> tuple[int, NDArray[np.int8]] | None:
        """The first cell of the grid that is looked into, and what is there from it on; None where it would be long.

        0 is nothing, p + 1 a bin of part p that fills the cell, and -1 bins that are smaller than the cell.
        """
        if not len(self) or abs(self.base) > LIMIT:
            return None
        cells = index_of(self.low, self.base)
        if not (np.abs(cells) < FAR).all() or cells[-1] - cells[0] >= TABLE:
            return None
        table = np.zeros(int(cells[-1] - cells[0]) + 1, dtype=np.int8)
        table[(cells - cells[0]).astype(np.int64)] = np.where(self.exponent == self.base, self.part + 1, -1)
        return int(cells[0]), table

    def rows(self, scores: ArrayLike) -> tuple[Integers, NDArray[np.int8]]:
        """Which rows have a score in one of the bins, and the part that the bin belongs to."""
        values = np.asarray(scores)
        blocks = [self._near(values[at : at + BLOCK]) for at in range(0, len(values), BLOCK) if len(self)]
        if not blocks:
            return np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int8)
        rows_near = np.concatenate([rows + at * BLOCK for at, (rows, _) in enumerate(blocks)])
        part = np.concatenate([parts for _, parts in blocks]) - np.int8(1)
        if (unsure := np.flatnonzero(part < 0)).size:
            bin_index = self._place(values[rows_near[unsure]])
            part[unsure] = np.where(bin_index >= 0, self.part[bin_index], -1)
            rows_near, part = rows_near[part >= 0], part[part >= 0]
        return rows_near, part

    def _near(self, scores: NDArray[Any]) -> tuple[Integers, NDArray[np.int8]]:
        """The rows of a block that may be in a bin, and what the table says of their cells; -1 where there is none."""
        if self._table is None:
            rows = np.flatnonzero((scores >= self.low[0]) & (scores < self.ends[-1]))
            return rows, np.full(len(rows), -1, dtype=np.int8)
        first, table = self._table
        cells = index_of(scores.astype(np.float64, copy=False), self.base) - first
        if cells.min() >= 0 and cells.max() < len(table):
            marks = table[cells.astype(np.int64)]
            rows = np.flatnonzero(marks)
            return rows, marks[rows]
        within = np.flatnonzero((cells >= 0) & (cells < len(table)))
        marks = table[cells[within].astype(np.int64)]
        return within[marks != 0], marks[marks != 0]

    def _place(self, scores: NDArray[Any]) -> Integers:
        """The bin that each score is in, -1 where it is in none."""
        # Adding 0 makes one score of -0.0 and 0.0.
        values = scores.astype(np.float64) + 0.0
        bin_index = np.searchsorted(self.low, values, side="right") - 1
        return np.where((bin_index >= 0) & (values < self.ends[bin_index]), bin_index, -1)

    def recount(self) -> Recount:
        """A counter for the second reading."""
        return Recount(self)

    def put(self, bins: ScoreBins, *found: ScoreBins) -> ScoreBins:
        """The bins with those that were looked into replaced by what was found in them."""
        if not len(self):
            return bins
        sub = _stacked(list(found))
        parent = np.searchsorted(self.low, sub.low, side="right") - 1
        inner = (parent >= 0) & (sub.low < self.ends[parent])
        # A bin that the second reading had to count on a coarser grid stays as it was.
        inner &= sub.exponent < self.exponent[parent]
        chosen, parent = np.flatnonzero(inner), parent[inner]
        gone = np.searchsorted(bins.low, self.low[np.unique(parent)])
        self._check(bins, sub.counts[chosen], np.searchsorted(bins.low, self.low[parent]), gone)
        rest, found_inside = bins.taken(np.delete(np.arange(len(bins)), gone)), sub.taken(chosen)
        # On the grid of the others, below which they stay as fine as they are.
        return rest + replace(found_inside, base=bins.base, most=bins.most, refined=0, room=bins.room)

    def _check(self, bins: ScoreBins, counts: NDArray[np.int64], parent: Integers, gone: Integers) -> None:
        """Refuse a second reading that counted other rows than the first."""
        before, after = bins.counts[gone], np.zeros((len(bins), bins.k), dtype=np.int64)
        np.add.at(after, parent, counts)
        if not np.array_equal(before, after[gone]):
            raise ValuesError(
                "The second reading of the scores found other rows than the first, so the data changed in between.",
                hint=FILES_AT_REST,
            )


class Recount:
    """The second reading: rows in the bins that are looked into, counted batch by batch as finely as there is room."""

    def __init__(self, refinement: Refinement) -> None:
        self.refinement = refinement
        self._counters = [BinCounter(refinement.k, room, refinement.weighted) for room in refinement.rooms]
        self._grouped: ScoreBins | None = None

    def __bool__(self) -> bool:
        return bool(len(self.refinement))

    def add(
        self,
        scores: ArrayLike,
        codes: ArrayLike,
        weight: NDArray[np.float64] | None = None,
        group: tuple[NDArray[Any], NDArray[Any]] | None = None,
    ) -> None:
        """Read one batch again."""
        columns = [np.asarray(column) for column in (scores, codes)] + ([] if weight is None else [weight])
        rows, part = self.refinement.rows(columns[0])
        if group is None:
            for number, counter in enumerate(self._counters):
                own = rows if len(self._counters) == 1 else rows[part == number]
                counter.add(*(column[own] for column in columns))
            return
        values, places, *weights = (column[rows] for column in columns)
        room = sum(self.refinement.rooms)
        k, row_group = self.refinement.k, (group[0][rows], group[1])
        counted_bins = bins_of(values, places, k, weight=weights[0] if weights else None, group=row_group, most=room)
        self._grouped = counted_bins if self._grouped is None else self._grouped + counted_bins

    def put(self, bins: ScoreBins) -> ScoreBins:
        """The bins with what was found."""
        counted_bins = [self._grouped] if self._grouped is not None else [counter.bins() for counter in self._counters]
        return self.refinement.put(bins, *counted_bins)


def refine(bins: ScoreBins, tolerance: float | None, *, place: int = 1, room: int | None = None) -> Refinement:
    """Which bins to look into so that the areas of the class at `place` become certain to the tolerance.

    Without one each area has its own, a twentieth of its standard error. There are none where areas are certain
    already, and len() of the answer is 0.

    >>> len(refine(bins_of([0.1, 0.2, 0.3], [0, 1, 0], 2), 1e-6))
    0
    >>> again = refine(bins := bins_of([0.1, 0.2, 0.3], [0, 1, 0], 2, most=1), 1e-6).recount()
    >>> again.add([0.1, 0.2, 0.3], [0, 1, 0])
    >>> again.put(bins).low
    array([0.1, 0.2, 0.3])
    """
    # A second reading finds room for ROOM bins, or for twice as many as the first if that is more; but with more
    # refined bins than there may be, all of them would go back to the grid.
    free = max(bins.most_refined - bins.refined, 0)
    room = min(max(2 * bins.most, ROOM) if room is None else room, free)
    chosen, doubt = _most_doubtful(*_widest(bins, tolerance, place), free // 2)
    low, exponent = bins.low[chosen], bins.exponent[chosen]
    rows = bins.counts[chosen].sum(axis=1)
    part, rooms = _parts(doubt, int(rows.sum()), room)
    return Refinement(low, exponent, bins.base, bins.k, bins.weighted, part, rooms)


def _widest(bins: ScoreBins, tolerance: float | None, place: int) -> tuple[Integers, Floats]:
    """The bins that leave most in doubt, as few as will do, in their order; and how much each leaves."""
    none = np.zeros(0, dtype=np.int64), np.zeros(0)
    ranking = bins.ranking(place)
    if ranking.joined is None or not ranking.n_positive:
        return none
    contributions = inside(ranking)
    doubts = [doubt[::-1] for doubt in (2 * contributions.open, contributions.high - contributions.low)]
    limits = (tolerance, tolerance) if tolerance is not None else _limits(ranking)
    if all(doubt.sum() <= limit for doubt, limit in zip(doubts, limits, strict=True)):
        return none
    most = np.maximum(doubts[0], doubts[1] * (limits[0] / limits[1] if limits[1] else 1.0))
    order = np.argsort(most, kind="stable")
    # From the smallest up: as long as the sum fits, they are left alone.
    fits = np.logical_and.reduce(
        [np.cumsum(doubt[order]) <= LEFT * limit for doubt, limit in zip(doubts, limits, strict=True)]
    )
    chosen = order[~fits]
    chosen = np.sort(chosen[bins.joined[chosen]])
    return chosen, most[chosen]


def _limits(ranking: Ranking) -> tuple[float, float]:
    """How far the ROC area and the average precision may be off: a part of the standard error of each."""
    roc, precision = (max(OF_ERROR * error, LEAST_TOLERANCE) for error in standard_errors(ranking))
    return roc, precision


def standard_errors(ranking: Ranking) -> tuple[float, float]:
    """About the standard errors of the ROC area and of average precision, of cases that do not come in groups.

    The first is DeLong's, the second from the influence of every case; there must be positives.

    >>> scores, counts = np.array([3.0, 2.0, 1.0]), np.array([[2, 1, 0], [0, 1, 1]])
    >>> [round(error, 3) for error in standard_errors(Ranking(scores, *counts))]
    [0.09, 0.099]
    """
    rows = ranking.tp + ranking.fp
    cuts = np.searchsorted(rows, rows[-1] * np.arange(1, CLASSES_OF_SCORES + 1) / CLASSES_OF_SCORES)
    ends = np.unique(np.minimum(cuts, len(rows) - 1))
    tp, fp = (cumulative[ends].astype(np.float64) for cumulative in (ranking.tp, ranking.fp))
    p, n = np.diff(tp, prepend=0.0), np.diff(fp, prepend=0.0)
    squares = [
        counts if held is None else np.diff(np.cumsum(held)[ends], prepend=0.0)
        for counts, held in ((p, ranking.positive_squares), (n, ranking.negative_squares))
    ]
    positives, negatives = (max(float(cumulative[-1]), 1e-300) for cumulative in (tp, fp))
    variance = 0.0
    for side, own, total, placement in (
        (p, squares[0], positives, (fp - n / 2) / negatives),
        (n, squares[1], negatives, (tp - p / 2) / positives),
    ):
        variance += float(own @ (placement - float(side @ placement) / total) ** 2) / total**2
    predicted = np.maximum(tp + fp, 1e-300)
    precision, weight = tp / predicted, p / predicted / predicted
    below = [np.cumsum((weight * counts)[::-1])[::-1] for counts in (fp, tp)]
    up = precision - float(p @ precision) / positives + below[0]
    spread = float(squares[0] @ (up * up)) + float(squares[1] @ (below[1] * below[1]))
    return math.sqrt(max(variance, 0.0)), math.sqrt(max(spread, 0.0)) / positives


def _most_doubtful(chosen: Integers, doubt: Floats, most: int) -> tuple[Integers, Floats]:
    """At most so many of the bins, those that leave most in doubt, in their order."""
    if len(chosen) <= most:
        return chosen, doubt
    kept = np.sort(np.argsort(doubt, kind="stable")[len(chosen) - most :])
    return chosen[kept], doubt[kept]


def _parts(doubt: Floats, rows: int, room: int) -> tuple[NDArray[np.int8], tuple[int, ...]]:
    """Bins that leave about as much in doubt go together: the part of each, and how many sub-bins a part may have.

    A bin with doubt d that is split into m leaves d / m; with Σ m given, the sum of these is least for m ~ √d.
    """
    if rows <= room or not len(doubt):
        return np.zeros(len(doubt), dtype=np.int8), (room,)
    largest = float(doubt.max())
    level = np.floor(np.log(largest / np.maximum(doubt, largest * FAINT)) / np.log(STEP))
    _, part = np.unique(level, return_inverse=True)
    share = np.bincount(part, weights=np.sqrt(doubt))
    # Two for every bin, and what is left by their doubts.
    left = max(room - 2 * len(doubt), 0)
    rooms = 2 * np.bincount(part) + np.floor(left * share / share.sum()).astype(np.int64)
    return part.astype(np.int8), tuple(rooms.tolist())


def _stacked(found: list[ScoreBins]) -> ScoreBins:
    """What was found in all parts together; only the columns of bins are looked at."""
    if len(found) == 1:
        return found[0]
    first = found[0]

    def stacked(name: str) -> Any:
        columns = [getattr(bins, name) for bins in found]
        return None if columns[0] is None else np.concatenate(columns)

    return replace(
        first,
        **{name: stacked(name) for name in ("low", "exponent", "counts", "weights", "squares")},
    )
