"""The grid of powers of two on which scores are binned: in which bin a score lies, and when two share one.

A bin of exponent e holds the scores from m · 2**e up to, not including, (m + 1) · 2**e. Two bins of any exponents are
disjoint or one holds the other, so binning finely and joining is binning coarsely, without rounding.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from heldout.arrays import Floats

# The exponent of a bin that holds one score and nothing beside it; below every exponent of a bin with a width.
POINT = -2000
# From this exponent on, all scores that are not negative share one bin, and all negative ones another.
WIDEST = 1024
# The unit of the smallest floats: a finer grid tells no two scores apart.
FINEST = -1074
HUGE = float(np.finfo(np.float64).max)
# Whole numbers are floats up to here; scores that are more bins away from 0 than this are bins of their own.
WHOLE = 2.0**53


def distinct(values: Floats) -> Floats:
    """The distinct values in order; by sorting, because np.unique hashes, which takes many times as long for millions.

    >>> distinct(np.array([2.0, 1.0, 2.0]))
    array([1., 2.])
    """
    ordered = np.sort(values)
    return ordered[np.concatenate([[True], ordered[1:] != ordered[:-1]])] if len(ordered) else ordered


def scaled(values: Floats, exponent: NDArray[np.int64]) -> Floats:
    """Values times powers of two; one that is a float is multiplied with, which is many times as fast.

    >>> scaled(np.array([3.0]), np.array(-1))
    array([1.5])
    """
    if exponent.ndim == 0 and abs(int(exponent)) < WIDEST - 1:
        return values * 2.0 ** int(exponent)
    if exponent.ndim == 1 and len(exponent) and max(-(least := int(exponent.min())), int(exponent.max())) < WIDEST - 1:
        return values * np.ldexp(1.0, np.arange(least, int(exponent.max()) + 1))[exponent - least]
    multiples: Floats = np.ldexp(values, exponent)
    return multiples


def index_of(scores: Floats, exponent: ArrayLike) -> Floats:
    """How many widths of a bin the lower edge of each score's bin is above 0; inf where that is no float.

    >>> index_of(np.array([0.75, -0.1]), -1)
    array([ 1., -1.])
    """
    with np.errstate(over="ignore", under="ignore"):
        index = np.floor(scaled(scores, -np.asarray(exponent, dtype=np.int64)))
    # A negative score that was rounded to 0 is still below 0.
    return np.where((index == 0) & (scores < 0), -1.0, index)


def floor_to(scores: Floats, exponent: ArrayLike) -> Floats:
    """The lower edge of each score's bin.

    The edge below the lowest float stands as the lowest float, so that every edge is a score that could be met.

    >>> floor_to(np.array([0.7, -0.1, 3.0]), -1)
    array([ 0.5, -0.5,  3. ])
    """
    power = np.asarray(exponent, dtype=np.int64)
    index = index_of(scores, power)
    with np.errstate(over="ignore", under="ignore"):
        low = scaled(index, power)
    own = ~(np.abs(index) < WHOLE) | (power <= POINT)
    return np.maximum(np.where(own, scores, low), -HUGE) + 0.0


def above(scores: Floats) -> Floats:
    """The next float above each score.

    >>> above(np.array([1.0])).tolist()
    [1.0000000000000002]
    """
    # Read as whole numbers, the bits of floats of one sign are in their order; np.nextafter takes many times as long.
    values = np.asarray(scores, dtype=np.float64) + 0.0
    next_up: Floats = (values.view(np.int64) + np.where(values < 0, -1, values < np.inf)).view(np.float64) + 0.0
    return next_up


def mirrored(ends: Floats) -> Floats:
    """The last float below each end, with its sign changed: where a bin that ends there begins when scores are negated.

    >>> mirrored(np.array([1.0])).tolist()
    [-0.9999999999999999]
    """
    with np.errstate(over="ignore", under="ignore"):
        return -np.nextafter(ends, -np.inf) + 0.0


def ends_of(low: Floats, exponent: ArrayLike) -> Floats:
    """The first float above each bin; inf where there is none.

    >>> ends_of(np.array([0.5, 3.0]), np.array([-1, POINT])).tolist()
    [1.0, 3.0000000000000004]
    """
    power = np.asarray(exponent, dtype=np.int64)
    index = index_of(low, power)
    with np.errstate(over="ignore", under="ignore"):
        end = scaled(index + 1.0, power)
        single = ~(np.abs(index) < WHOLE) | (power <= POINT)
    return np.maximum(np.where(single, -np.inf, end), above(low)) + 0.0


def meeting(scores: Floats) -> NDArray[np.int64]:
    """From which exponent on each score shares a bin with the next; `scores` are distinct and in order.

    >>> meeting(np.array([-1.0, 0.0, 0.25, 0.75])).tolist()
    [1025, -1, 0]
    """
    # The bits of a float without its sign are whole numbers in the order of the floats. The bins of negative scores
    # hold their end that is farther from 0, so one is taken off to make them like the others.
    below = scores < 0
    bits = np.abs(scores).view(np.int64) - below
    field = bits >> 52
    here, there = field[:-1], field[1:]
    # In one binade the highest bit that differs decides; 2**-1074 is the unit of the lowest two.
    differ = np.frexp((bits[:-1] ^ bits[1:]).astype(np.float64))[1].astype(np.int64)
    level = np.where(here == there, np.maximum(here, 1) - 1075 + differ, np.maximum(here, there) - 1022)
    return np.where(below[:-1] != below[1:], WIDEST + 1, level)


def exponent_for(scores: Floats, most: int) -> int:
    """The smallest exponent for which so many distinct scores, in order, meet at most `most` bins.

    Two bins are always met where some scores are negative and some are not.

    >>> exponent_for(np.array([0.25, 0.5, 0.75]), 2)
    -1
    """
    level = meeting(scores)
    if len(level) < most:
        return POINT
    # One more bin is met than there are neighbours that do not share one.
    rank = len(level) - most
    return min(int(np.partition(level, rank)[rank]), WIDEST)


# Between 0 and 1 bins may become finer towards both ends, where scores of classifiers crowd: steps down a ladder.
#
# In the middle all bins have one width, that of the grid. Where a score is nearer to an end than 2**-step, every
# halving of the distance halves the width, so that 2**(bits - step) bins share each octave of distances, down to
# 2**deepest above 0; below 1 every float is soon a bin of its own. All of them are bins of the grid, so they merge with
# any other. An octave below 1 takes distances from (not including) 2**j up to 2**(j + 1), because bins hold their lower
# edge. With the ladder of 2**20 bins, areas of scores that are uniform, logistic, or crowd as Beta(.05, .05) does are
# certain to half of a twentieth of their standard error at 10**8 rows.

STEP = 8
DEEPEST = -200
# The mantissa of a float, and what is added to its exponent, in the bits of a float.
MANTISSA, BIAS = 52, 1023
# The unit of the floats from half to 1.
BELOW_ONE = -53


@dataclass(frozen=True)
class Ladder:
    """Bins from 0 to 1 that are 2**-bits wide in the middle, numbered from the lowest up.

    Where there is room for few bins only, more of them may share fewer octaves: `step` and `deepest` say how. Every
    ladder goes down to 2**BELOW_ONE at least.

    >>> ladder = Ladder(8)
    >>> low, exponent = ladder.edges(ladder.cells(np.array([0.0, 0.3, 0.999, 1.0])))
    >>> low[1:].tolist(), exponent[1:].tolist()
    ([0.296875, 0.998046875, 1.0], [-8, -10, -53])
    """

    bits: int
    step: int = STEP
    deepest: int = DEEPEST

    @classmethod
    def of(cls, most: int) -> Self | None:
        """The ladder with at most so many bins of the widest kind; None where they are too few for one."""
        bits = (most - 1).bit_length() - 1
        return cls(bits) if bits >= STEP else None

    @property
    def octave(self) -> int:
        """How many bins share an octave."""
        return 1 << (self.bits - self.step)

    @property
    def shift(self) -> int:
        """By how much the bits of a float are shifted to number the bins of its octave."""
        return MANTISSA - (self.bits - self.step)

    @property
    def first_octave(self) -> int:
        """What is taken off the shifted bits of a score of at least 2**deepest to have its number."""
        return (BIAS + self.deepest - 1) * self.octave

    @property
    def middle(self) -> int:
        """What is added to the whole part of a score in the middle times 2**bits to have its number."""
        return (-self.step - self.deepest) * self.octave

    @property
    def last(self) -> int:
        """The number of the bin of 1 alone."""
        return self.top - (BIAS + BELOW_ONE) * self.octave + 2

    @property
    def top(self) -> int:
        """From what the shifted bits of the distance from 1 are taken off to have the number of a score near 1."""
        return self.middle + (1 << self.bits) - self.octave + (BIAS - self.step) * self.octave - 1

    def __len__(self) -> int:
        return self.last + 1

    def cells(self, scores: Floats) -> NDArray[np.int64]:
        """The number of each score's bin; scores lie between 0 and 1."""
        index = (scores * 2.0**self.bits).astype(np.int64)
        tails = np.flatnonzero((index < self.octave) | (index >= (1 << self.bits) - self.octave))
        index += self.middle
        if len(tails):
            near, deep = scores[tails] + 0.0, 2.0**self.deepest
            linear = np.minimum(near, deep) * (self.octave / deep)
            low = np.where(near < deep, linear, (near.view(np.int64) >> self.shift) - self.first_octave)
            distance = ((1.0 - near).view(np.int64) - 1) >> self.shift
            index[tails] = np.where(near < 0.5, low, np.minimum(self.top - distance, self.last))
        return index

    def widest(self, low: Floats) -> NDArray[np.int16]:
        """The exponent of the bin at each of these edges; where there is no bin, that of the middle."""
        exponent = np.full(len(low), -self.bits, dtype=np.int16)
        inside = (low >= 0) & (low <= 1)
        exponent[inside] = self.edges(self.cells(low[inside]))[1]
        return exponent

    def edges(self, cells: NDArray[Any]) -> tuple[Floats, NDArray[np.int16]]:
        """The lower edges and the exponents of the bins with these numbers."""
        below, above_middle = self.middle + self.octave, self.middle + (1 << self.bits) - self.octave
        # For all as in the middle, where most of them lie.
        low = cells * 2.0**-self.bits
        low -= self.middle * 2.0**-self.bits
        exponent = np.full(len(cells), -self.bits, dtype=np.int16)
        fine = self.bits - self.step
        side = np.flatnonzero(cells < below)
        near = cells[side].astype(np.int64)
        number = self.first_octave + np.maximum(near, self.octave)
        linear = near * 2.0 ** (self.deepest - fine)
        low[side] = np.where(near < self.octave, linear, (number << self.shift).view(np.float64))
        exponent[side] = (number // self.octave) - BIAS - fine
        side = np.flatnonzero(cells >= above_middle)
        near = cells[side].astype(np.int64)
        number = self.top - near
        distance = ((number + 1) << self.shift).view(np.float64)
        single = near == self.last
        # Where floats are wider apart than bins would be, the lowest float of a bin is its edge.
        low[side] = np.where(single, 1.0, 1.0 - np.floor(distance * 2.0**-BELOW_ONE) * 2.0**BELOW_ONE)
        octaves = (number // self.octave) - BIAS - fine
        exponent[side] = np.where(single, BELOW_ONE, np.maximum(octaves, BELOW_ONE))
        return low, exponent
