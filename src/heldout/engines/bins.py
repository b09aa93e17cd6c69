"""Scores counted in bins: rows in memory at once, or many batches one after another in bounded memory."""

from __future__ import annotations

from dataclasses import replace
from functools import reduce
from operator import add
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from heldout.arrays import Floats, Integers
from heldout.engines.score_sort import rank, refuse_scores
from heldout.evidence.bin_grid import POINT, distinct, exponent_for, floor_to, index_of
from heldout.evidence.score_bins import MOST, ScoreBins

# A stretch of the grid with a counter for every bin in it: counting scores there takes no sorting.
#
# The bin of a score is the whole part of the score times a power of two, which floats multiply without rounding. Work
# is done in blocks that stay in the cache.

BLOCK = 1 << 15
# Exponents whose powers of two, and what scores become when multiplied by them, are floats with room to spare.
LIMIT = 1000
# Indices of bins up to here are exact.
FAR = 2.0**52
# The most stretches that are opened, and the least share of the rows that each must hold.
STRETCHES = 8
SHARE = 0.01
# Bins that lie farther apart than so many are found by sorting.
WIDE = 1 << 24


class BinRange:
    """Counters for the bins `first` to `first + size` of one exponent.

    With `owners` a bin counts one score only, its owner: that is how distinct scores are counted while they are few.
    """

    def __init__(
        self, exponent: int, first: int, size: int, k: int, *, weighted: bool, owners: Floats | None = None
    ) -> None:
        self.exponent, self.first, self.size, self.k = exponent, first, size, k
        self.owners = owners
        self.rows = 0
        self.counts = np.zeros(size * k, dtype=np.uint32)
        self.sums = [np.zeros(size * k) for _ in range(2 if weighted else 0)]
        self._index, self._key = np.empty(BLOCK), np.empty(BLOCK, dtype=np.int64)

    def add(self, scores: NDArray[Any], codes: NDArray[Any], weight: Floats | None) -> Integers | None:
        """Count the rows whose score lies here; where the others are, None if there are none."""
        left: list[Integers] = []
        for start in range(0, len(scores), BLOCK):
            stop = start + BLOCK
            part = None if weight is None else weight[start:stop]
            missed = self._block(scores[start:stop], codes[start:stop], part)
            if missed is not None:
                left.append(missed + start)
        if not left:
            self.rows += len(scores)
            return None
        missing = np.concatenate(left)
        self.rows += len(scores) - len(missing)
        return missing

    def _block(self, scores: NDArray[Any], codes: NDArray[Any], weight: Floats | None) -> Integers | None:
        index = self._index[: len(scores)]
        with np.errstate(over="ignore", under="ignore"):
            np.multiply(scores, 2.0**-self.exponent, out=index, dtype=np.float64)
        if scores.min() < 0:
            np.floor(index, out=index)
            index[(index == 0) & (scores < 0)] = -1.0
        here = missed = None
        if not (index.min() >= self.first and index.max() < self.first + self.size):
            within = (index >= self.first) & (index < self.first + self.size)
            here, missed = np.flatnonzero(within), np.flatnonzero(~within)
            index = index[here]
        key = self._key[: len(index)]
        np.copyto(key, index, casting="unsafe")
        if self.first:
            key -= self.first
        if self.owners is not None:
            same = self.owners[key] == (scores if here is None else scores[here])
            if not same.all():
                kept = np.flatnonzero(same)
                other = np.flatnonzero(~same) if here is None else here[~same]
                missed = other if missed is None else np.concatenate([missed, other])
                here, key = kept if here is None else here[kept], key[kept]
        if here is not None:
            codes, weight = codes[here], None if weight is None else weight[here]
        np.multiply(key, self.k, out=key)
        np.add(key, codes, out=key)
        np.add.at(self.counts, key, np.uint32(1))
        if weight is not None:
            np.add.at(self.sums[0], key, weight)
            np.add.at(self.sums[1], key, weight * weight)
        return missed

    def emptied(self) -> BinRange:
        """Counters of the same bins that have counted nothing yet."""
        return BinRange(self.exponent, self.first, self.size, self.k, weighted=bool(self.sums), owners=self.owners)

    def is_like(self, other: BinRange) -> bool:
        """Whether these are counters of the same bins."""
        same = (self.exponent, self.first, self.size) == (other.exponent, other.first, other.size)
        return same and self.owners is other.owners

    def absorb(self, other: BinRange) -> None:
        """Add what was counted of the same bins."""
        self.rows += other.rows
        self.counts += other.counts
        self.sums = [own + others for own, others in zip(self.sums, other.sums, strict=True)]

    def take(self, bins: ScoreBins) -> ScoreBins:
        """Count what was counted before, where it lies here; what is left of it."""
        index = index_of(bins.low, self.exponent) - self.first
        here = (index >= 0) & (index < self.size)
        if self.owners is None:
            here &= bins.exponent == self.exponent
        else:
            here[here] = self.owners[index[here].astype(np.int64)] == bins.low[here]
        offsets = index[here].astype(np.int64)
        self.counts.reshape(-1, self.k)[offsets] += bins.counts[here].astype(np.uint32)
        self.rows += int(bins.counts[here].sum())
        for total, sums in zip(self.sums, (bins.weights, bins.squares), strict=False):
            if sums is not None:
                total.reshape(-1, self.k)[offsets] += sums[here]
        return bins.taken(~here)

    @property
    def met(self) -> int:
        """How many bins were met, at least: those of the commonest class here."""
        table = self.counts.reshape(-1, self.k)
        return int(max(np.count_nonzero(table[:, column]) for column in range(self.k)))

    def bins(self, most: int) -> ScoreBins:
        """What was counted here; the ends of the scores are not known."""
        table = self.counts.reshape(-1, self.k)
        kept = np.flatnonzero(table.any(axis=1))
        if self.owners is not None:
            low, base = self.owners[kept], POINT
        else:
            low, base = np.ldexp((kept + self.first).astype(np.float64), self.exponent) + 0.0, self.exponent
        weights, squares = [sums.reshape(-1, self.k)[kept] for sums in self.sums] or (None, None)
        exponent, counts = np.full(len(kept), base, dtype=np.int16), table[kept].astype(np.int64)
        return ScoreBins(low, exponent, counts, base, np.inf, -np.inf, weights, squares, None, most)


def stretches(bins: ScoreBins, room: int, *, weighted: bool) -> list[BinRange]:
    """Stretches of the grid, at most `room` bins in all, that hold as many of the rows seen so far as can be."""
    exact = bins.base == POINT
    exponent = _spread(bins, room) if exact else bins.base
    if not len(bins) or abs(exponent) > LIMIT:
        return []
    index, rows = index_of(bins.low, exponent), bins.counts.sum(axis=1)
    enough = SHARE * float(rows.sum())
    usable = np.abs(index) < FAR
    ranges: list[BinRange] = []
    while room > 0 and len(ranges) < STRETCHES and usable.any():
        cells, row_cells = index[usable], rows[usable]
        first, last, gain = _fullest(cells, row_cells, room)
        if gain < enough:
            break
        # A margin for scores that are still to come.
        margin = min((room - (last - first + 1)) // 2, (last - first) // 16 + 8)
        first, size = first - margin, last - first + 1 + 2 * margin
        inside = usable & (index >= first) & (index < first + size)
        owners = _owners(bins.low[inside], index[inside] - first, rows[inside], size) if exact else None
        ranges.append(BinRange(exponent, first, size, bins.k, weighted=weighted, owners=owners))
        usable &= ~inside
        room -= size
    return ranges


def _spread(bins: ScoreBins, room: int) -> int:
    """The exponent with which a bin for every distinct score, from the least to the greatest, finds room."""
    if not len(bins):
        return LIMIT + 1
    # Halves, because the difference of two floats may be none.
    width = bins.low[-1] / 2 - bins.low[0] / 2
    if width == 0:
        return max(int(np.frexp(bins.low[0])[1]) - 40, -LIMIT)
    part, power = np.frexp(width / max(room - 1, 1))
    return int(power) + int(part > 0.5)


def _fullest(cells: Floats, rows: NDArray[np.int64], room: int) -> tuple[int, int, int]:
    """The first and the last of the `room` neighbouring bins that hold the most rows, and how many they hold."""
    upto = np.concatenate([[0], np.cumsum(rows)])
    stop = np.searchsorted(cells, cells + room)
    gain = upto[stop] - upto[:-1]
    best = int(gain.argmax())
    return int(cells[best]), int(cells[stop[best] - 1]), int(gain[best])


def _owners(low: Floats, place: Floats, rows: NDArray[np.int64], size: int) -> Floats:
    """The score that each bin counts: the commonest in it; nan, which equals no score, where there was none."""
    owners = np.full(size, np.nan)
    order = np.argsort(rows, kind="stable")
    owners[place[order].astype(np.int64)] = low[order]
    return owners


# Rows outside the stretches are sorted in chunks of this many times the scores that can be kept: enough to see whether
# there are more distinct ones than that.
CHUNK = 1.5
# A counter of a bin holds 32 bits.
FULL = (1 << 32) - 1


def bins_of(
    scores: ArrayLike,
    codes: ArrayLike,
    k: int,
    *,
    weight: NDArray[np.float64] | None = None,
    group: tuple[NDArray[Any], NDArray[Any]] | None = None,
    most: int = MOST,
) -> ScoreBins:
    """Count rows by score and class; `codes` are places among `k` classes, or whether each row is positive.

    `group` is the group's code of every row and the keys of the codes. Scores must be finite.

    >>> bins_of(np.array([0.9, 0.4, 0.4]), np.array([True, True, False]), 2).counts.tolist()
    [[1, 1], [0, 1]]
    """
    values, places = np.asarray(scores), np.asarray(codes)
    _ends(values)
    if k == 2 and weight is None and group is None:
        # One sort of keys that carry the class, where no row need be followed to its place.
        seen = rank(values, places != 0)
        counts = np.stack([seen.negatives[::-1], seen.positives[::-1]], axis=1).astype(np.int64)
        return ScoreBins.of_distinct(seen.scores[::-1] + 0.0, counts, most=most)
    # Adding 0 makes one score of -0.0 and 0.0.
    floats = np.asarray(values, dtype=np.float64) + 0.0
    joined = _count_joined(floats, places, k, weight, most) if group is None else None
    return ScoreBins.of(floats, places, k, weight=weight, group=group, most=most) if joined is None else joined


def _count_joined(values: Floats, places: NDArray[Any], k: int, weight: Floats | None, most: int) -> ScoreBins | None:
    """Count rows of more distinct scores than are kept; None where they are not more, or their bins lie far apart.

    Their grid is known before anything is counted, so that no table has a row for every distinct score.
    """
    scores = distinct(values) if len(values) > most else values
    if len(scores) <= most or abs(base := exponent_for(scores, most)) > LIMIT:
        return None
    low = floor_to(scores, base)
    low = low[np.concatenate([[True], low[1:] != low[:-1]])]
    index = index_of(low, base)
    if not (index[0] > -FAR and index[-1] < FAR) or index[-1] - index[0] >= WIDE:
        return None
    bin_of = np.zeros(int(index[-1] - index[0]) + 1, dtype=np.int32)
    bin_of[(index - index[0]).astype(np.int64)] = np.arange(len(low))
    cell = bin_of[(index_of(values, base) - index[0]).astype(np.int64)].astype(np.int64)
    cell *= k
    np.add(cell, places, out=cell, casting="unsafe")
    counts = np.bincount(cell, minlength=len(low) * k).astype(np.int64).reshape(-1, k)
    weights = squares = None
    if weight is not None:
        sums = (np.bincount(cell, weights=power, minlength=len(low) * k) for power in (weight, weight * weight))
        weights, squares = (table.astype(np.float64, copy=False).reshape(-1, k) for table in sums)
    exponent, ends = np.full(len(low), base, dtype=np.int16), (float(scores[0]), float(scores[-1]))
    return ScoreBins(low, exponent, counts, base, *ends, weights, squares, most=most)


def _ends(scores: NDArray[Any]) -> tuple[float, float]:
    """The least and the greatest score; refused if one is not finite."""
    if not len(scores):
        return np.inf, -np.inf
    least, greatest = float(scores.min()) + 0.0, float(scores.max()) + 0.0
    if np.isfinite(least) and np.isfinite(greatest):
        return least, greatest
    raise refuse_scores(scores, rows_known=False)


class BinCounter:
    """Scores of many batches, counted one after another: the sum of what bins_of makes of each.

    The first rows are sorted, to learn where scores lie. Then bins that hold most of them get a counter each, and only
    rows elsewhere are put aside and sorted. When many are, the counters are laid out anew.

    >>> counter = BinCounter(2)
    >>> counter.add(np.array([0.9, 0.4]), np.array([True, False]))
    >>> counter.bins().counts.tolist()
    [[1, 0], [0, 1]]
    """

    def __init__(self, k: int, most: int = MOST, weighted: bool = False, *, chunk: int | None = None) -> None:
        self.k = k
        self.most = most
        self.weighted = weighted
        self.chunk = int(CHUNK * most) if chunk is None else chunk
        self.n = 0
        self._least, self._greatest = np.inf, -np.inf
        none = np.zeros(0)
        self._held = bins_of(none, none, k, weight=none if weighted else None, most=most)
        self._stretches: list[BinRange] = []
        self._aside: list[tuple[NDArray[Any], ...]] = []
        self._waiting = 0
        # Rows before the counters were laid out, and rows put aside since.
        self._before = self._missed = 0

    def add(self, scores: ArrayLike, codes: ArrayLike, weight: NDArray[np.float64] | None = None) -> None:
        """Count one more batch; `codes` are places among the classes, or whether each row is positive."""
        values, places = np.asarray(scores), np.asarray(codes)
        least, greatest = _ends(values)
        if values.dtype.kind != "f":
            values = values.astype(np.float64)
        places = places.view(np.uint8) if places.dtype == np.bool_ else places
        if places.dtype.kind not in "iu" or places.dtype == np.uint64:
            places = places.astype(np.int64)
        self._least, self._greatest = min(self._least, least), max(self._greatest, greatest)
        self.n += len(values)
        rest: tuple[NDArray[Any], ...] = (values, places) if weight is None else (values, places, np.asarray(weight))
        copied = False
        for stretch in self._stretches:
            if stretch.rows + len(rest[0]) > FULL:
                self._lay_out()
                break
        for stretch in self._stretches:
            missed = stretch.add(rest[0], rest[1], rest[2] if weight is not None else None)
            if missed is None:
                rest = ()
                break
            rest, copied = tuple(column[missed] for column in rest), True
        if rest:
            # Copied, because the caller may change the arrays before they are counted.
            self._aside.append(rest if copied else tuple(column.copy() for column in rest))
            self._waiting += len(rest[0])
            self._missed += len(rest[0])
        if self._waiting >= self.chunk:
            self._sort()
        if self.n >= 2 * self._before and self._stretches:
            self._look_again()

    @property
    def is_laid_out(self) -> bool:
        """Whether there are bins with a counter each."""
        return bool(self._stretches)

    def lay_out_like(self, other: BinCounter) -> None:
        """Count in the same bins as another counter does."""
        if not self._stretches:
            self._stretches = [stretch.emptied() for stretch in other._stretches]
            self._before, self._missed = self.n, 0

    def absorb(self, other: BinCounter) -> None:
        """Add what another one has counted, which is of no use then."""
        rest = other._sorted()
        alike = len(self._stretches) == len(other._stretches)
        alike = alike and all(map(BinRange.is_like, self._stretches, other._stretches))
        if not alike or self.n + other.n > FULL:
            for stretch in other._stretches:
                rest = rest + stretch.bins(self.most)
        else:
            for own, others in zip(self._stretches, other._stretches, strict=True):
                own.absorb(others)
        self._held = self._sorted() + rest if len(rest) else self._sorted()
        self.n += other.n
        self._least, self._greatest = min(self._least, other._least), max(self._greatest, other._greatest)

    def bins(self) -> ScoreBins:
        """Everything that was counted so far."""
        self._held = self._sorted()
        parts = [stretch.bins(self.most) for stretch in self._stretches]
        if len(self._held) or not parts:
            parts = [self._held, *parts]
        return replace(reduce(add, parts).settled(), least=self._least, greatest=self._greatest)

    def _sorted(self) -> ScoreBins:
        """What was held and put aside."""
        if not self._waiting:
            return self._held
        columns = [np.concatenate(parts) for parts in zip(*self._aside, strict=True)]
        self._aside, self._waiting = [], 0
        weight = columns[2] if self.weighted else None
        return self._held + bins_of(columns[0], columns[1], self.k, weight=weight, most=self.most)

    def _sort(self) -> None:
        self._held = self._sorted()
        distinct = self._held.base == POINT
        if not self._stretches:
            # Counters of single scores pay where scores come again.
            if not distinct or self.n >= 2 * len(self._held):
                self._lay_out()
        elif distinct != (self._stretches[0].owners is not None):
            self._lay_out()

    def _look_again(self) -> None:
        """Lay the counters out anew if many rows passed them by, or if there are more than needed."""
        crowded = len(self._held) + sum(stretch.met for stretch in self._stretches) > self.most
        if 4 * self._missed > self.n - self._before or crowded:
            self._lay_out()
        else:
            self._before, self._missed = self.n, 0

    def _lay_out(self) -> None:
        self._held = self._sorted()
        for stretch in self._stretches:
            self._held = self._held + stretch.bins(self.most)
        self._stretches = []
        self._before, self._missed = self.n, 0
        self._stretches = stretches(self._held, 2 * self.most, weighted=self.weighted)
        if self.n < FULL // 2:
            for stretch in self._stretches:
                self._held = stretch.take(self._held)
