"""A stretch of the grid with a counter for every bin in it: counting scores there takes no sorting.

The bin of a score is the whole part of the score times a power of two, which floats multiply without rounding. Work is
done in blocks that stay in the cache.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from heldout.arrays import Floats, Integers
from heldout.evidence.grid import POINT, index_of
from heldout.evidence.score_bins import ScoreBins

BLOCK = 1 << 15
# Exponents whose powers of two, and what scores become when multiplied by them, are floats with room to spare.
LIMIT = 1000
# Indices of bins up to here are exact.
FAR = 2.0**52
# So many stretches are opened, each for at least this share of the rows.
STRETCHES = 8
SHARE = 0.01


class Stretch:
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

    def take(self, bins: ScoreBins) -> ScoreBins:
        """Count what was counted before, where it lies here; what is left of it."""
        index = index_of(bins.low, self.exponent) - self.first
        here = (index >= 0) & (index < self.size)
        if self.owners is None:
            here &= bins.exponent == self.exponent
        else:
            here[here] = self.owners[index[here].astype(np.int64)] == bins.low[here]
        place = index[here].astype(np.int64)
        self.counts.reshape(-1, self.k)[place] += bins.counts[here].astype(np.uint32)
        self.rows += int(bins.counts[here].sum())
        for held, sums in zip(self.sums, (bins.weights, bins.squares), strict=False):
            if sums is not None:
                held.reshape(-1, self.k)[place] += sums[here]
        rest = ~here
        return replace(
            bins,
            low=bins.low[rest],
            exponent=bins.exponent[rest],
            counts=bins.counts[rest],
            weights=None if bins.weights is None else bins.weights[rest],
            squares=None if bins.squares is None else bins.squares[rest],
        )

    @property
    def met(self) -> int:
        """How many bins were met, at least: those of the commonest class here."""
        table = self.counts.reshape(-1, self.k)
        return int(max(np.count_nonzero(table[:, place]) for place in range(self.k)))

    def bins(self, most: int) -> ScoreBins:
        """What was counted here; the ends of the scores are not known."""
        table = self.counts.reshape(-1, self.k)
        kept = np.flatnonzero(table.any(axis=1))
        if self.owners is not None:
            low, base = self.owners[kept], POINT
        else:
            low, base = np.ldexp((kept + self.first).astype(np.float64), self.exponent) + 0.0, self.exponent
        weights, squares = [held.reshape(-1, self.k)[kept] for held in self.sums] or (None, None)
        exponent, counts = np.full(len(kept), base, dtype=np.int16), table[kept].astype(np.int64)
        return ScoreBins(low, exponent, counts, base, np.inf, -np.inf, weights, squares, None, most)


def stretches(bins: ScoreBins, room: int, *, weighted: bool) -> list[Stretch]:
    """Stretches of the grid, at most `room` bins in all, that hold as many of the rows seen so far as can be."""
    exact = bins.base == POINT
    exponent = _spread(bins, room) if exact else bins.base
    if not len(bins) or abs(exponent) > LIMIT:
        return []
    index, rows = index_of(bins.low, exponent), bins.counts.sum(axis=1)
    enough = SHARE * float(rows.sum())
    usable = np.abs(index) < FAR
    found: list[Stretch] = []
    while room > 0 and len(found) < STRETCHES and usable.any():
        cells, held = index[usable], rows[usable]
        first, last, gain = _fullest(cells, held, room)
        if gain < enough:
            break
        # A margin for scores that are still to come.
        margin = min((room - (last - first + 1)) // 2, (last - first) // 16 + 8)
        first, size = first - margin, last - first + 1 + 2 * margin
        inside = usable & (index >= first) & (index < first + size)
        owners = _owners(bins.low[inside], index[inside] - first, rows[inside], size) if exact else None
        found.append(Stretch(exponent, first, size, bins.k, weighted=weighted, owners=owners))
        usable &= ~inside
        room -= size
    return found


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
