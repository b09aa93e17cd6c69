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

    def bins(self, tables: list[NDArray[Any]], least: float, greatest: float, most: int) -> ScoreBins:
        """What was counted in one column: rows by bin and class, and sums of weights and of their squares if any."""
        met = np.flatnonzero(tables[0].any(axis=1))
        low, exponent = self.edges()
        low, exponent = low[met], exponent[met]
        counts, *sums = (table[met] for table in tables)
        weights, squares = sums or (None, None)
        return ScoreBins(low, exponent, counts, -self.depth, least, greatest, weights, squares, None, most).settled()
