"""Score interval for the F-beta of a class, the generalisation of Wilson's interval.

Derivation in docs/statistics.md. In short: with w = beta^2/(1 + beta^2), F = tp/(tp + w·fn + (1-w)·fp), and
the restricted maximum-likelihood variance turns out to be f(1-f) times a slowly varying factor, so that each
limit is a Wilson limit at the estimate with an effective size that depends on the limit itself.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike

from heldout.arrays import Floats
from heldout.errors import OptionError
from heldout.estimates.proportion import wilson, wilson_at
from heldout.estimates.quantiles import z_value
from heldout.estimates.root import bracketed_root

_SECANT_STEPS = 8  # three or four are the rule
_CLOSE = 1e-13  # the last call of Wilson's formula then gains the remaining digits
_LEAST_FACTOR = 1e-300


def f_score_limits(
    tp: ArrayLike, fp: ArrayLike, fn: ArrayLike, beta: float = 1.0, level: float = 0.95
) -> tuple[Floats, Floats]:
    """Limits of F-beta from the true positives, false positives and false negatives of a class.

    All f with (tp(1-f) - f·e)^2 <= z^2·m·V(f), e = w·fn + (1-w)·fp, m = tp + fp + fn, V the variance at the
    multinomial maximum-likelihood fit under F = f. True negatives do not enter. beta = 1 is Wilson's
    interval on tp/m mapped to F, beta = 0 Wilson on precision and beta = inf Wilson on recall.

    >>> low, high = f_score_limits(20, 0, 0, beta=2)
    >>> print(f"{low:.3f} {high:.3f}")
    0.867 1.000
    """
    if not beta >= 0:
        raise OptionError(f"The beta of an F score must be 0 or more, and {beta!r} is not.", hint="use 1 for F1.")
    hits = np.asarray(tp, dtype=np.float64)
    wrong, missed = np.asarray(fp, dtype=np.float64), np.asarray(fn, dtype=np.float64)
    if beta == 1:
        return f_one_limits(hits, wrong + missed, z_value(level))
    if beta < 1:
        # F is symmetric under swapping the two errors and w with 1 - w; w >= 1/2 keeps every term of the
        # quadratic for the fit of one sign.
        beta, wrong, missed = (1 / beta if beta > 0 else np.inf), missed, wrong
    share = 1 / (1 + beta * beta)
    if share == 0:
        return wilson(hits, hits + missed, level)
    return _heavier_miss_limits(hits, missed, wrong, share, z_value(level))


def f_one_limits(hits: Floats, errors: Floats, z: float) -> tuple[Floats, Floats]:
    """F1 = 2J/(1 + J) rises with Jaccard's J = tp/(tp + fp + fn), a proportion of m cases: Wilson on J."""
    size = hits + errors
    known = size > 0
    low, high = wilson_at(np.where(known, hits / np.where(known, size, 1), 0.5), size, z)
    return 2 * low / (1 + low), 2 * high / (1 + high)


def _heavier_miss_limits(hits: Floats, heavy: Floats, light: Floats, share: float, z: float) -> tuple[Floats, Floats]:
    """Limits for tp/(tp + w·heavy + (1-w)·light) with 1 - w = share <= 1/2."""
    hits, heavy, light = np.broadcast_arrays(hits, heavy, light)
    whole = hits + (1 - share) * heavy + share * light
    known = whole > 0
    rate = np.where(known, hits / np.where(known, whole, 1), 0.5)
    cases = np.where(known, hits + heavy + light, 1)
    size = np.where(known, whole * whole / cases, 0)
    # Per case, so that nothing overflows for any counts.
    hit, big, small = hits / cases, heavy / cases, light / cases

    def effective(f: Floats) -> Floats:
        return size / _spread_factor(f, hit, big, small, share)

    # Row 0 is the distance of the lower limit from 0, row 1 that of the upper limit from 1: mirrored, both
    # are lower Wilson limits.
    ends = np.stack([rate, 1 - rate])
    mirror = np.array([0.0, 1.0]).reshape(2, *[1] * rate.ndim)

    def limit(y: Floats) -> Floats:
        return _wilson_low(ends, effective(np.abs(mirror - y)), z * z)

    low, below = _fixed_point(limit, ends)
    # Once more at the points found: this also gives small limits all their digits.
    return wilson_at(rate, effective(low), z)[0], wilson_at(rate, effective(1 - below), z)[1]


def _spread_factor(f: Floats, hit: Floats, big: Floats, small: Floats, share: float) -> Floats:
    """g(f) = w·s + (1-w)(1-s), with V(f) = f(1-f)·g(f) and s in [0, 1] the one free number of the fit."""
    lean = 1 - 2 * share
    slope = lean * (1 - f)
    offset = share * (1 - f * share)
    middle = slope * (hit + big) - offset * (big + small)
    root = np.sqrt(middle * middle + 4 * slope * big * offset)
    # The root in [0, 1] of slope·s^2 - middle·s - big·offset = 0, in the form that does not cancel. Both
    # denominators vanish only together with V (f = 1 without errors), where the factor does not matter.
    positive = middle > 0
    down = np.where(positive, 2 * slope, root - middle)
    up = np.where(positive, middle + root, 2 * big * offset)
    s = np.minimum(up / np.where(down > 0, down, 1), 1)
    return np.maximum(share + lean * s, _LEAST_FACTOR)


def _wilson_low(p: Floats, n: Floats, z2: float) -> Floats:
    hits = 2 * n * p
    return hits * p / (hits + z2 + np.sqrt(z2 * (z2 + 2 * hits * (1 - p))))


def _fixed_point(limit: Callable[[Floats], Floats], start: Floats) -> Floats:
    """The y between 0 and `start` with y = limit(y): secant steps, and a bracketed search if those fail."""
    before = limit(start)
    there = limit(before)
    gap_before = before - there
    y = there
    for _ in range(_SECANT_STEPS):
        there = limit(y)
        gap = y - there
        turn = gap - gap_before
        moved = np.where(turn != 0, gap / np.where(turn != 0, turn, 1), 1) * (y - before)
        before, gap_before = y, gap
        # Never outside the bracket; where the line through the last two points is flat, where it was.
        y = np.minimum(np.maximum(y - moved, 0), start)
        if bool(np.all(np.abs(gap) <= _CLOSE)):
            return there
    if bool(np.all(np.abs(y - limit(y)) <= _CLOSE)):
        return y
    return bracketed_root(lambda x: x - limit(x), np.zeros_like(start), start)
