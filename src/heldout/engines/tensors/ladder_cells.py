"""The ladder of bins on a device: the number of each probability's bin, and evidence from counters of all bins."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from heldout.arguments import require
from heldout.engines.tensors.transfers import fetch
from heldout.evidence.bin_grid import BELOW_ONE, BIAS, DEEPEST, MANTISSA, Ladder
from heldout.evidence.counted import class_columns
from heldout.evidence.score_bins import MOST, ScoreBins

# Counters of all columns and classes of a training loop together, of eight bytes each.
MOST_COUNTERS = 1 << 24
# Of several classes most probabilities are small, and each class has fewer bins: these begin to narrow at 2**-5.
STEP_OF_MANY = 5
FINEST_OF_MANY, COARSEST_OF_MANY = 20, 7


def choose_ladder(k: int) -> Ladder:
    """The ladder on which a training loop counts so many classes: of two that of files, of more as many as find room.

    >>> choose_ladder(2), choose_ladder(1000)
    (Ladder(bits=20, step=8, deepest=-200), Ladder(bits=11, step=5, deepest=-57))
    """
    if k == 2:
        return require(Ladder.of(MOST), "so many bins make a ladder")
    room = MOST_COUNTERS // (k * class_columns(k))
    for bits in range(FINEST_OF_MANY, COARSEST_OF_MANY - 1, -1):
        ladder = Ladder(bits, STEP_OF_MANY, BELOW_ONE)
        # What is left goes to deeper octaves, which only 0 has.
        deeper = (room - len(ladder)) // ladder.octave
        if deeper >= 0:
            break
    return replace(ladder, deepest=max(BELOW_ONE - max(deeper, 0), DEEPEST))


def find_cells(ladder: Ladder, scores: Any) -> Any:
    """The number of each score's bin, as `Ladder.cells` has it; a tensor of floats of 64 bits from 0 to 1."""
    low, deep = scores < 0.5, 2.0**ladder.deepest
    # The bits of a float that is not negative are in its order. Bins hold their lower end, which near 1 is the one
    # farther from the end, so one is taken off there.
    bits = torch.where(low, scores.view(torch.int64), (1.0 - scores).view(torch.int64) - 1)
    number = bits >> ladder.shift
    linear = (scores.clamp(max=deep) * (ladder.octave / deep)).long()
    above = (ladder.top - number).clamp(max=ladder.last)
    below = torch.where(scores < deep, linear, number - ladder.first_octave)
    middle = (scores * 2.0**ladder.bits).long() + ladder.middle
    inside = bits >= (BIAS - ladder.step) << MANTISSA
    return torch.where(inside, middle, torch.where(low, below, above))


def bins_of_counters(ladder: Ladder, tables: list[Any], ends: NDArray[np.float64], most: int) -> tuple[ScoreBins, ...]:
    """Evidence of every column from counters by column, bin and class; only what was met is brought to memory.

    The first of `tables` are rows, two more the sums of weights and of their squares. `ends` are the least and the
    greatest score of each column.
    """
    there = tables[0].any(dim=2)
    column, cell = there.nonzero().unbind(dim=1)
    # Kernels count in 32 bits, and evidence in 64.
    rows, *heavy = (table[column, cell] for table in tables)
    counts, *sums = (fetch(table) for table in (rows.long(), *heavy))
    low, exponent = ladder.edges(fetch(cell.int()))
    stops = there.sum(dim=1).cumsum(0).tolist()
    finer = np.zeros(len(low) + 1, dtype=np.int64)
    if ladder != Ladder.of(most):
        # What is known of single bins is found out for all columns at once.
        whole = ScoreBins(low, exponent, counts, -ladder.bits, np.inf, -np.inf, most=most)
        np.cumsum(exponent < whole.coarsest, out=finer[1:])
    found = []
    for start, stop, (least, greatest) in zip([0, *stops], stops, ends.tolist(), strict=False):
        here = slice(start, stop)
        weights, squares = (part[here] for part in sums) if sums else (None, None)
        bins = ScoreBins(low[here], exponent[here], counts[here], -ladder.bits, least, greatest, weights, squares,
                         None, most, int(finer[stop] - finer[start]))  # fmt: skip
        found.append(bins.settled() if len(bins) > most else bins)
    return tuple(found)
