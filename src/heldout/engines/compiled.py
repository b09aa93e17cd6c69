"""Compiled passes over rows of two classes, with the extra "fast": bins, confusion and losses at the speed of memory.

What they count is what NumPy counts; sums of losses are added in another order, and so agree to 1e-12 of their size.
The functions are plain Python that numba compiles when they are first needed, and keeps compiled beside this file, or
where NUMBA_CACHE_DIR says. Formulas of losses are not among them: NumPy evaluates those that are declared.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from heldout.arrays import Flags, Floats, Integers
from heldout.engines.probability_sums import LossSums
from heldout.engines.score_ladder import LadderCells
from heldout.evidence.bin_grid import DEEPEST, STEP, Ladder
from heldout.evidence.losses import LOSSES
from heldout.evidence.probabilities import Probabilities
from heldout.evidence.probability_bins import USUAL_BINS
from heldout.extras import EXTRAS

# Rows of a block: what one pass leaves for the next stays in the cache.
BLOCK = 1 << 16
# From this many rows on compiled passes are worth loading, which takes as long as NumPy needs for some ten million.
WORTH = 1 << 24

Made = TypeVar("Made")


def is_worth_it(rows: int | None) -> bool:
    """Whether compiled passes count so many rows: if they are known to be many, and numba is there.

    >>> is_worth_it(1000), is_worth_it(None)
    (False, False)
    """
    return rows is not None and rows >= WORTH and not EXTRAS["fast"].list_missing()


@cache
def compile_pass(function: Callable[..., Made], *, any_order: bool = False) -> Callable[..., Made]:
    """A function below, compiled, or what was compiled before; with `any_order` several terms are added at a time."""
    import numba

    options: dict[str, Any] = {"nogil": True}
    if any_order:
        options["fastmath"] = {"reassoc", "contract", "nsz"}

    compiled: Callable[..., Made]
    try:
        compiled = numba.njit(function, cache=True, **options)
    except RuntimeError:
        # Nowhere to keep it.
        compiled = numba.njit(function, **options)
    return compiled


# One short loop after the other: all of it in one loop takes five times as long.


def _find_cells(
    scores: Floats, truth: NDArray[np.uint8], steps: Integers, scales: Floats, spare: Floats, keys: Integers
) -> None:
    """Twice the number of each score's bin on the ladder, and its class; see `Ladder.cells`."""
    bits, distances = scores.view(np.int64), spare.view(np.int64)
    shift, first, middle, top, last = steps[0], steps[1], steps[2], steps[3], steps[4]
    scale, near, deep, fine = scales[0], scales[1], scales[2], scales[3]
    for row in range(len(scores)):
        score = scores[row]
        if score < near:
            cell = np.int64(score * fine) if score < deep else (bits[row] >> shift) - first
        elif score < 1.0 - near:
            cell = np.int64(score * scale) + middle
        else:
            spare[row] = 1.0 - score
            cell = min(top - ((distances[row] - 1) >> shift), last)
        keys[row] = 2 * cell + truth[row]


def _count_cells(
    keys: Integers, scores: Floats, owners: Floats, small: NDArray[np.uint8], carried: NDArray[np.uint32]
) -> int:
    """Count rows in their bins; of those that are not of the owner the places are left in `keys`: so many."""
    misses = 0
    for row in range(len(scores)):
        key = keys[row]
        if len(owners) and owners[key >> 1] != scores[row]:
            keys[misses] = row
            misses += 1
        else:
            small[key] += np.uint8(1)
            if small[key] == 0:
                carried[key] += np.uint32(1)
    return misses


def _calibrate(
    scores: Floats,
    truth: NDArray[np.uint8],
    edges: Floats,
    cases: Integers,
    table: Floats,
    right: Floats,
    square: Floats,
) -> None:
    """Sums of y − p and its square by class and bin, as `Binner` has them; and what losses are made of."""
    bins = len(edges) - 1
    # Sums of a block by themselves, so that they do not lose digits beside those of all.
    sums = np.zeros((2 * bins, 2))
    for row in range(len(scores)):
        score = scores[row]
        place = int(score * bins)
        # Multiplying rounds, so the edges have the last word.
        if place > 0 and score <= edges[place]:
            place -= 1
        elif place < bins - 1 and score > edges[place + 1]:
            place += 1
        gap = truth[row] - score
        key = (truth[row] + 1) * bins - 1 - place
        cases[key] += 1
        sums[key, 0] += gap
        sums[key, 1] += gap * gap
    for key in range(2 * bins):
        table[0, key] += sums[key, 0]
        table[1, key] += sums[key, 1]
    for row in range(len(scores)):
        gap = truth[row] - scores[row]
        square[row] = gap * gap
        right[row] = scores[row] if truth[row] else 1.0 - scores[row]


def _sum_powers(loss: Floats, truth: NDArray[np.uint8], centre: float) -> tuple[float, float, float, float]:
    """Sums of the distances of losses from a centre, of their squares and cubes, and of the losses of positives."""
    one = two = three = positives = 0.0
    for row in range(len(loss)):
        away = loss[row] - centre
        own = away * away
        one += away
        two += own
        three += own * away
        positives += loss[row] * truth[row]
    return one, two, three, positives


class CompiledTally:
    """What a batch of probabilities of two classes adds, counted block after block; without counters, losses alone."""

    def __init__(self, ladder: Ladder, counters: LadderCells | None, owners: Floats | None) -> None:
        self._counters, self._owners = counters, np.zeros(0) if owners is None else owners
        fine = ladder.bits - STEP
        self._steps = np.array(
            [ladder.shift, ladder.first_octave, ladder.middle, ladder.top, ladder.last], dtype=np.int64
        )
        self._scales = np.array([2.0**ladder.bits, 2.0**-STEP, 2.0**DEEPEST, 2.0 ** (fine - DEEPEST)])
        self._sums = LossSums(0, weighted=False)
        self._positives = np.zeros(len(LOSSES))
        self._right, self._square = np.empty((2, BLOCK))
        self._keys = np.empty(BLOCK, dtype=np.int64)

    def add(self, scores: NDArray[Any], truth: Flags, eps: float) -> Integers:
        """Count rows whose scores lie between 0 and 1; gives the places of those that are put aside."""
        missed = []
        counters, binner = self._counters, self._sums.binner
        edges = np.linspace(0.0, 1.0, USUAL_BINS + 1)
        for start in range(0, len(scores), BLOCK):
            here = slice(start, start + BLOCK)
            values = np.ascontiguousarray(scores[here], dtype=np.float64)
            positive, keys = truth[here].view(np.uint8), self._keys[: len(values)]
            right, square = self._right[: len(values)], self._square[: len(values)]
            if counters is not None:
                compile_pass(_find_cells)(values, positive, self._steps, self._scales, square, keys)
                number = compile_pass(_count_cells)(keys, values, self._owners, counters.small, counters.carried)
                missed.append(keys[:number] + start)
            compile_pass(_calibrate)(values, positive, edges, binner.cases, binner.table, right, square)
            self._add_losses(right, square, positive, eps)
        return np.concatenate(missed) if missed else np.zeros(0, dtype=np.int64)

    def _add_losses(self, right: Floats, square: Floats, positive: NDArray[np.uint8], eps: float) -> None:
        for at, (name, values) in enumerate(self._sums.losses(right, square, None, eps).items()):
            sums = self._sums.powers[name]
            if not sums.sums[0, 0]:
                sums.centre = float(np.add.reduce(values) / len(values))
            *powers, positives = compile_pass(_sum_powers, any_order=True)(values, positive, sums.centre)
            sums.sums[0] += len(values), *powers
            self._positives[at] += positives

    def probabilities(self) -> Probabilities:
        """The sums of losses."""
        positive = self._sums.binner.cases.reshape(2, -1)[1].sum()
        return self._sums.made_of_two(np.array([positive, *self._positives]))
