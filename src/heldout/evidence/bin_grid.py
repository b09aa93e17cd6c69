"""The grid of powers of two on which scores are binned: in which bin a score lies, and when two share one.

A bin of exponent e holds the scores from m · 2**e up to, not including, (m + 1) · 2**e. Two bins of any exponents are
disjoint or one holds the other, so binning finely and joining is binning coarsely, without rounding.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from heldout.arrays import Floats

# The exponent of a bin that holds one score and nothing beside it; below every exponent of a bin with a width.
POINT = -2000
# From here on all scores that are not negative share a bin, and all negative ones another.
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
    # What is so small that it became 0 is still below 0.
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
