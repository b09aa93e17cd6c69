"""A fixed set of bins for probabilities, fine near 0 and 1: counters for scores that are not known beforehand.

The bins lie on the grid of powers of two. From 2**-6 to 1 - 2**-6 they are 2**-depth wide; nearer to 0 and to 1 every
binade has 2**(depth - 6) of them, so that a bin is never wider than a small share of the distance to the end. The
rungs below 2**-LOWEST are one bin at either end, and a score of 1 has its own.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from heldout.arrays import Floats
from heldout.evidence.counted import class_columns
from heldout.evidence.score_bins import ScoreBins

INNER = 6
# Near 1 a float of 64 bits is a multiple of 2**-53, and no bin is narrower than 2**-(38 + 14).
LOWEST = 38
DEEPEST = 20
# Counters of all columns and classes together, of eight bytes each.
MOST_COUNTERS = 1 << 24
# Bins are joined while there are more than this, and while the area stays certain to this part of its standard error.
ENOUGH, CERTAIN = 1 << 17, 1 / 20
# The fraction bits of a float of 64 bits, and what is added to its exponent.
FRACTION, BIAS = 52, 1023


@dataclass(frozen=True, slots=True)
class Ladder:
    """The bins of one depth.

    >>> Ladder(20).size
    2064387
    """

    depth: int

    @classmethod
    def for_classes(cls, k: int) -> Ladder:
        """The deepest for which the counters of so many classes find room.

        >>> Ladder.for_classes(2).depth, Ladder.for_classes(10).depth, Ladder.for_classes(1000).depth
        (20, 16, 12)
        """
        tables = 2 if k == 2 else k * class_columns(k)
        fitting = (d for d in range(DEEPEST, INNER + 2, -1) if cls(d).size * tables <= MOST_COUNTERS)
        return cls(next(fitting, INNER + 2))

    @property
    def rung(self) -> int:
        """So many bins, as a power of two, are in each binade near the ends."""
        return self.depth - INNER

    @property
    def slope(self) -> int:
        """The number of bins from 2**-LOWEST to 2**-INNER."""
        return (LOWEST - INNER) << self.rung

    @property
    def _middle(self) -> int:
        return (1 << self.depth) - (2 << self.rung)

    @property
    def size(self) -> int:
        """The number of bins."""
        return 2 * self.slope + self._middle + 3

    def places(self, scores: Any) -> Any:
        """The bin of each score, a tensor of floats of 64 bits from 0 to 1."""
        import torch

        shift = FRACTION - self.rung
        low = scores < 0.5
        # The bits of a float that is not negative are in its order. Bins hold their lower end, which near 1 is the one
        # farther from the end, so one is taken off there.
        bits = torch.where(low, scores.view(torch.int64), (1.0 - scores).view(torch.int64) - 1)
        rung = ((bits >> shift) - ((BIAS - LOWEST) << self.rung) + 1).clamp_(min=0)
        inside = bits >= ((BIAS - INNER) << FRACTION)
        middle = (scores * float(1 << self.depth)).long() + (1 + self.slope - (1 << self.rung))
        place = torch.where(inside, middle, torch.where(low, rung, self.size - 2 - rung))
        return torch.where(scores >= 1, self.size - 1, place)

    def edges(self) -> tuple[Floats, NDArray[np.int16]]:
        """The lower edge and the exponent of every bin, the lowest first.

        >>> low, exponent = Ladder(8).edges()
        >>> bool((low[1:] == low[:-1] + np.exp2(exponent[:-1].astype(float))).all())
        True
        """
        rungs = np.arange(self.slope + 1, dtype=np.int64) + ((BIAS - LOWEST) << self.rung)
        steps = (rungs << (FRACTION - self.rung)).view(np.float64)
        narrow = (rungs[:-1] >> self.rung) - BIAS - self.rung
        cells = np.arange(self._middle, dtype=np.float64) + float(1 << self.rung)
        low = np.concatenate(
            [[0.0], steps[:-1], np.ldexp(cells, -self.depth), 1.0 - steps[:0:-1], [1.0 - steps[0]], [1.0]]
        )
        ends = [-LOWEST], narrow, np.full(self._middle, -self.depth), narrow[::-1], [-LOWEST], [-self.depth]
        return low, np.concatenate(ends).astype(np.int16)

    def coarser(self, table: NDArray[Any]) -> NDArray[Any]:
        """A table with a row for each bin as the ladder of one depth less has it: bins that it joins are added up.

        >>> Ladder(8).coarser(np.ones((Ladder(8).size, 1), dtype=int)).shape == (Ladder(7).size, 1)
        True
        """
        pairs = table[1:-2].reshape(-1, 2, table.shape[1])
        return np.concatenate([table[:1], pairs[:, 0] + pairs[:, 1], table[-2:]])

    def bins(self, tables: list[NDArray[Any]], least: float, greatest: float, most: int) -> ScoreBins:
        """What was counted in one column: rows by bin and class, and sums of weights and of their squares if any.

        Where two classes meet very many bins, these are joined as long as that costs the area next to nothing: every
        measure of every ranking takes as long as there are bins.
        """
        counts = tables[0]
        met = _met(counts)
        if len(met) > ENOUGH and counts.shape[1] == 2 and self.depth > INNER + 2 and _is_certain(self.coarser(counts)):
            joined = [self.coarser(table) for table in tables]
            return Ladder(self.depth - 1).bins(joined, least, greatest, most)
        low, exponent = self.edges()
        low, exponent = low[met], exponent[met]
        counts, *sums = (table[met] for table in tables)
        weights, squares = sums or (None, None)
        return ScoreBins(low, exponent, counts, -self.depth, least, greatest, weights, squares, None, most).settled()


def _met(counts: NDArray[Any]) -> NDArray[np.int64]:
    """The bins with a row in them; two columns are looked at as such, which is many times faster."""
    return np.flatnonzero(counts[:, 0] | counts[:, 1] if counts.shape[1] == 2 else counts.any(axis=1))


def _is_certain(counts: NDArray[Any]) -> bool:
    """Whether the order of scores within bins changes the area by less than a twentieth of its standard error.

    The standard error is that of Hanley and McNeil (1982), from the area and the numbers of both classes alone.
    """
    down, up = (column.astype(np.float64) for column in counts.T)
    negatives, positives = float(down.sum()), float(up.sum())
    if not negatives or not positives:
        return True
    pairs = negatives * positives
    inside = float(up @ down) / pairs
    area = float(up @ (np.cumsum(down) - down / 2)) / pairs
    first, second = area / (2 - area), 2 * area**2 / (1 + area)
    spread = area * (1 - area) + (positives - 1) * (first - area**2) + (negatives - 1) * (second - area**2)
    return inside <= CERTAIN * float(np.sqrt(max(spread, 0.0) / pairs))
