"""Sums that grow block by block: power sums of losses, and cases in bins by their probability."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from heldout.arrays import Floats
from heldout.evidence.probabilities import Moments, Reliability

# A probability this near to an edge, in widths of a bin, is compared with the edge itself: multiplying rounds.
NEAR_EDGE = 1e-9


# BLAS shares a product of more than 10,000 numbers among threads, which costs more than it saves.
SHORT = 1 << 13


def dot(one: Floats, two: Floats) -> float:
    """The sum of products, of columns of any length, in one thread.

    >>> dot(np.ones(10_000), np.full(10_000, 2.0))
    20000.0
    """
    whole = len(one) // SHORT * SHORT
    rest = float(one[whole:] @ two[whole:])
    if not whole:
        return rest
    pieces = np.vecdot(one[:whole].reshape(-1, SHORT), two[:whole].reshape(-1, SHORT))
    return float(np.add.reduce(pieces)) + rest


class PowerSums:
    """Power sums of a loss about the mean of its first block."""

    def __init__(self, block: int) -> None:
        self.centre = 0.0
        self.sums = np.zeros((3, 4))
        self._away, self._square, self._product = np.empty((3, block))
        self._begun = False

    def add(self, loss: Floats, weight: Floats | None) -> None:
        """Add a block of losses."""
        size = len(loss)
        if not self._begun:
            self._begun, self.centre = True, float(np.add.reduce(loss) / size)
        away = np.subtract(loss, self.centre, out=self._away[:size])
        square = np.multiply(away, away, out=self._square[:size])
        if weight is None:
            # Only the first row is summed here; without weights the three are equal.
            self.sums[0] += size, np.add.reduce(away), away @ away, square @ away
            return
        held = self._product[:size]
        held[:] = weight
        for power in range(3):
            self.sums[power] += np.add.reduce(held), held @ away, held @ square, (held * square) @ away
            np.multiply(held, weight, out=held)

    def add_long(self, loss: Floats, away: Floats, square: Floats) -> None:
        """Add a block of any length without weights; the last two columns are there to be written to."""
        size = len(loss)
        if not self._begun:
            self._begun, self.centre = True, float(np.add.reduce(loss) / size)
        np.subtract(loss, self.centre, out=away)
        np.multiply(away, away, out=square)
        self.sums[0] += size, np.add.reduce(away), dot(away, away), dot(square, away)

    def moments(self, *, weighted: bool, negated: bool = False) -> Moments:
        """What was added, or its negative, about the mean."""
        sums = self.sums if weighted else np.repeat(self.sums[:1], 3, axis=0)
        if negated:
            return Moments(-self.centre, sums * [1.0, -1.0, 1.0, -1.0]).centred()
        return Moments(self.centre, sums).centred()


class Binner:
    """Cases in bins of equal width, apart by y: the sums that `Reliability` is made of.

    Sums are kept by a key: first the bins of the cases with y = 0, then those of y = 1, each from the last bin down.
    """

    def __init__(self, bins: int, block: int, *, weighted: bool) -> None:
        self.bins = bins
        self.weighted = weighted
        self.cases = np.zeros(2 * bins, dtype=np.int64)
        # Sums of y − p and its square; with weights, of w and of both with w and with w².
        self.table = np.zeros((5 if weighted else 2, 2 * bins))
        self._inner = np.linspace(0.0, 1.0, bins + 1)[1:-1]
        self._scaled, self._floor = np.empty((2, block))
        self._narrow, self._key = np.empty(block, dtype=np.int32), np.empty(block, dtype=np.int64)

    def add(self, p: Floats, y: Floats, gap: Floats, square: Floats, weight: Floats | None) -> NDArray[np.int64]:
        """Add a block of probabilities within [0, 1], y, y − p and its square; gives the key of every case."""
        size, bins = len(p), self.bins
        scaled, floor, narrow, key = self._scaled[:size], self._floor[:size], self._narrow[:size], self._key[:size]
        # y − p is −p or 1 − p, so that its sign tells the class and its size the bin.
        np.multiply(gap, bins, out=scaled)
        np.floor(scaled, out=floor)
        np.subtract(scaled, floor, out=scaled)
        if np.minimum.reduce(scaled) < NEAR_EDGE or np.maximum.reduce(scaled) > 1 - NEAR_EDGE:
            near = np.flatnonzero((scaled < NEAR_EDGE) | (scaled > 1 - NEAR_EDGE))
            floor[near] = y[near] * bins - 1 - np.searchsorted(self._inner, p[near])
        # By way of 32 bits, into which processors turn floats many at a time.
        np.copyto(narrow, floor, casting="unsafe")
        np.add(narrow, bins, out=narrow)
        np.copyto(key, narrow)
        width = 2 * bins
        self.cases += np.bincount(key, minlength=width)
        if weight is None:
            self.table[0] += np.bincount(key, weights=gap, minlength=width)
            self.table[1] += np.bincount(key, weights=square, minlength=width)
            return key
        self.table[0] += np.bincount(key, weights=weight, minlength=width)
        held = weight
        for at in (1, 3):
            self.table[at] += np.bincount(key, weights=held * gap, minlength=width)
            self.table[at + 1] += np.bincount(key, weights=held * square, minlength=width)
            held = held * weight
        return key

    def place(self, key: NDArray[np.int64]) -> NDArray[np.int64]:
        """The bin of each key."""
        return self.bins - 1 - key % self.bins

    def reliability(self) -> Reliability:
        """What was added."""
        # Axes: y, bin.
        cases = self.cases.reshape(2, -1)[:, ::-1]
        tables = self.table.reshape(len(self.table), 2, -1)[:, :, ::-1]
        if self.weighted:
            held, gap, square, heavy_gap, heavy_square = tables
        else:
            held, (gap, square) = cases.astype(np.float64), tables
            heavy_gap, heavy_square = gap, square
        return Reliability(
            cases=cases.sum(axis=0),
            weight=held.sum(axis=0),
            observed=held[1].copy(),
            gap=gap.sum(axis=0),
            squares=square.sum(axis=0),
            # p(1 − p) = g − g² with g = |y − p|, whichever y is.
            spread=np.maximum((np.abs(gap) - square).sum(axis=0), 0.0),
            noise=heavy_square.sum(axis=0),
            expected_noise=np.maximum((np.abs(heavy_gap) - heavy_square).sum(axis=0), 0.0),
        )


def no_reliability() -> Reliability:
    """No bins."""
    nothing = np.zeros(0)
    return Reliability(np.zeros(0, dtype=np.int64), *[nothing] * 7)
