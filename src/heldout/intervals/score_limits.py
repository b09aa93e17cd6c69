"""Score intervals, the generalisations of Wilson's: F-beta, ratios of proportions, mean costs, paired differences."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike

from heldout.arrays import Floats
from heldout.errors import OptionError, ValuesError
from heldout.intervals.proportion import wilson, wilson_at
from heldout.intervals.quantiles import bracketed_root, single_root, z_value

# Score interval for the F-beta of a class, the generalisation of Wilson's interval.
#
# Derivation in docs/statistics.md. In short: with w = beta^2/(1 + beta^2), F = tp/(tp + w·fn + (1-w)·fp), and the
# restricted maximum-likelihood variance turns out to be f(1-f) times a slowly varying factor, so that each limit is a
# Wilson limit at the estimate with an effective size that depends on the limit itself.

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


# Score intervals for the ratio of two independent proportions and for the odds ratio of a 2×2 table.
#
# Both are solved by the same device. Written in s, the count that the restricted fit moves between cells, the score
# statistic is a sum of terms s^2/(a - s) and s^2/(b + s), convex and rising, so that Newton's method from the right
# of the root converges without a safeguard. Derivations in docs/statistics.md.

_LEAST = 1e-9  # a (fractional) count below this is none
_STEPS = 7  # starts within a factor of 2 of the root (4 for the odds ratio) and doubles the digits each time


def ratio_limits(
    x1: ArrayLike, n1: ArrayLike, x2: ArrayLike, n2: ArrayLike, level: float = 0.95
) -> tuple[Floats, Floats]:
    """Koopman's score interval for p1/p2 from x1 of n1 and x2 of n2 (Biometrics 40 (1984), 513-517).

    For the likelihood ratios TPR/FPR and FNR/TNR. The upper limit is inf when x2 is 0, the lower 0 when x1
    is 0; a proportion without trials says nothing, (0, inf).

    >>> low, high = ratio_limits(20, 20, 0, 30)
    >>> print(f"{low:.2f} {high}")
    8.81 inf
    """
    z2 = z_value(level) ** 2
    first, of_first, second, of_second = _floats(x1, n1, x2, n2)
    # p1/p2 is at most what one over p2/p1 is at least.
    low, inverse = _ratio_low(*_both_ways(first, second), *_both_ways(of_first, of_second), z2)
    return low, np.where(inverse > 0, 1 / np.where(inverse > 0, inverse, 1), np.inf)


def odds_ratio_limits(
    tp: ArrayLike, fn: ArrayLike, fp: ArrayLike, tn: ArrayLike, level: float = 0.95
) -> tuple[Floats, Floats]:
    """Cornfield's score interval, without continuity correction, for the odds ratio tp·tn/(fp·fn).

    All odds ratios with (tp - A)^2·(sum of 1/cell) <= z^2, where A and the other three cells are those
    expected at that odds ratio with the same margins. A zero cell gives a limit of 0 or inf.

    >>> low, high = odds_ratio_limits(20, 0, 0, 30)
    >>> print(f"{low:.2f} {high}")
    162.68 inf
    """
    z2 = z_value(level) ** 2
    hit, missed, wrong, rest = _floats(tp, fn, fp, tn)
    low, inverse = _odds_low(*_both_ways(hit, missed), *_both_ways(rest, wrong), z2)
    return low, np.where(inverse > 0, 1 / np.where(inverse > 0, inverse, 1), np.inf)


def _floats(*arrays: ArrayLike) -> tuple[Floats, ...]:
    return np.broadcast_arrays(*(np.asarray(array, dtype=np.float64) for array in arrays))


def _both_ways(one: Floats, other: Floats) -> tuple[Floats, Floats]:
    """Both as rows, one first and the other first, so that two limits are found at once."""
    return np.stack([one, other]), np.stack([other, one])


def _ratio_low(x1: Floats, x2: Floats, n1: Floats, n2: Floats, z2: float) -> Floats:
    """The lower limit of p1/p2.

    Under p1 = R·p2 the fit obeys (x1 - n1·p1)/q1 = -(x2 - n2·p2)/q2 =: s, hence p1 = (x1 - s)/(n1 - s),
    p2 = (x2 + s)/(n2 + s), and the statistic is s^2·(a/(x1 - s) + b/(x2 + s)) with a, b the miss rates.
    """
    usable = (x1 > _LEAST) & (n2 > 0)
    x1, n1 = np.where(usable, x1, 1), np.where(usable, n1, 2)
    x2, n2 = np.where(usable, x2, 1), np.where(usable, n2, 2)
    a, b = np.maximum(1 - x1 / n1, 0), np.maximum(1 - x2 / n2, 0)
    # Where either term alone reaches z2; the root is left of both, and not beyond x1.
    first = 2 * z2 * x1 / (z2 + np.sqrt(z2 * (z2 + 4 * a * x1)))
    second = np.where(b > 0, (z2 + np.sqrt(z2 * (z2 + 4 * b * x2))) / (2 * np.where(b > 0, b, 1)), np.inf)
    s = np.minimum(first, second)
    # Every first trial succeeded: p1 stays 1 until s = x1, and falls only from there.
    stuck = s >= x1 * (1 - 1e-12)
    s = np.where(stuck, x1, s)
    for _ in range(_STEPS):
        left = np.where(stuck, 1, x1 - s)
        right = x2 + s
        value = s * s * (a / left + b / right) - z2
        slope = s * (a * (2 * x1 - s) / (left * left) + b * (2 * x2 + s) / (right * right))
        s = np.where(stuck, s, np.maximum(s - value / np.where(stuck, 1, slope), 0))
    p2 = (x2 + s) / (n2 + s)
    odds_against = np.maximum(x1 * (z2 / (x1 * x1) - (1 - p2) / (n2 * p2)), 0)
    p1 = np.where(stuck, 1 / (1 + odds_against), (x1 - s) / np.where(stuck, 1, n1 - s))
    return np.where(usable, p1 / p2, 0.0)


def _odds_low(a: Floats, b: Floats, d: Floats, c: Floats, z2: float) -> Floats:
    """The lower limit of a·d/(b·c): cells a - s, d - s, b + s, c + s keep the margins."""
    usable = np.minimum(a, d) > _LEAST
    a, d = np.where(usable, a, 1), np.where(usable, d, 1)
    # Where each term alone reaches z2; the root is left of all four.
    falling = [2 * z2 * cell / (z2 + np.sqrt(z2 * (z2 + 4 * cell))) for cell in (a, d)]
    rising = [(z2 + np.sqrt(z2 * (z2 + 4 * cell))) / 2 for cell in (b, c)]
    s = np.minimum(np.minimum(*falling), np.minimum(*rising))
    for _ in range(_STEPS):
        w, x, y, z = a - s, d - s, b + s, c + s
        value = s * s * (1 / w + 1 / x + 1 / y + 1 / z) - z2
        slope = s * ((2 * a - s) / (w * w) + (2 * d - s) / (x * x) + (2 * b + s) / (y * y) + (2 * c + s) / (z * z))
        s = s - value / slope
    return np.where(usable, (a - s) / (b + s) * ((d - s) / (c + s)), 0.0)


# Score interval for a mean cost when every value that a cost can take is known.
#
# Derivation in docs/statistics.md. The values that were never observed count: an error that costs 100 and did not
# happen in 200 cases may still happen, and only its known cost bounds what it would do to the mean.

_SAME = 1e-14  # differences of shares below this are rounding
_NEAREST = 1e-150  # the tilt at which all the mass sits on the extreme value, if that was observed


def mean_cost_limits(costs: ArrayLike, counts: ArrayLike, level: float = 0.95) -> tuple[float, float]:
    """Limits of the mean of `costs`, each seen `counts` times, a count of 0 for what was never seen.

    All means mu with n(m - mu)^2 <= z^2·V(mu), m the observed mean and V the variance at the multinomial
    maximum-likelihood fit with mean mu. For costs 0 and 1 this is Wilson's interval.

    >>> low, high = mean_cost_limits([0, 1, 100], [200, 0, 0])
    >>> print(f"{low:.3f} {high:.3f}")
    0.000 1.885
    """
    values = np.asarray(costs, dtype=np.float64).ravel()
    seen = np.asarray(counts, dtype=np.float64).ravel()
    if values.size == 0 or values.size != seen.size:
        raise ValuesError(
            f"A mean cost needs one count for each cost; there are {values.size} costs, {seen.size} counts.",
            hint="give 0 as the count of a cost that was never observed.",
        )
    low, high = many_cost_limits(values[None], seen[None], level)
    return float(low[0]), float(high[0])


def many_cost_limits(costs: Floats, counts: Floats, level: float = 0.95) -> tuple[Floats, Floats]:
    """The limits of many mean costs at once: one row of costs and one of counts for each.

    >>> low, high = many_cost_limits(np.array([[0.0, 1.0]] * 2), np.array([[8.0, 2.0], [0.0, 0.0]]))
    >>> print(low.round(3), high.round(3))
    [0.057 0.   ] [0.51 1.  ]
    """
    least, most = costs.min(axis=1), costs.max(axis=1)
    total = counts.sum(axis=1)
    low, high = least.copy(), most.copy()
    known = np.flatnonzero((total > 0) & (least < most))
    if not len(known):
        return low, high
    costs, counts, total, least, most = costs[known], counts[known], total[known], least[known], most[known]
    span = most - least
    # The first half looks from the top, the second from the bottom, so that all limits are upper limits.
    places = np.concatenate([(costs - least[:, None]) / span[:, None], (most[:, None] - costs) / span[:, None]])
    gaps = np.concatenate([places[len(known) :], places[: len(known)]])
    shares = np.tile(counts / total[:, None], (2, 1))
    above, below = np.split(_high(places, gaps, shares, np.tile(total, 2), z_value(level)), 2)
    mean = (costs * counts).sum(axis=1) / total
    lower = np.where(below >= 1, least, most - span * below)
    upper = np.where(above >= 1, most, least + span * above)
    low[known] = np.maximum(least, np.minimum(lower, mean))
    high[known] = np.minimum(most, np.maximum(upper, mean))
    return low, high


def _high(places: Floats, gaps: Floats, shares: Floats, total: Floats, z: float) -> Floats:
    """For each row of `places` in [0, 1] (`gaps` = 1 - places) the upper limit of its mean."""
    mean = (places * shares).sum(axis=1)
    z2 = z * z

    def fit(tilt: Floats) -> tuple[Floats, Floats]:
        """Mean and variance of the fit with weights n_j/(1 - c_j + tilt·c_j), tilt in (0, 1]."""
        # Not 0, and multiplied by the tilt, so that the weight of c = 1 stays finite.
        t = np.maximum(tilt, _NEAREST)[:, None]
        weights = shares * (t / (gaps + t * places))
        weights /= weights.sum(axis=1, keepdims=True)
        mu = (weights * places).sum(axis=1)
        return mu, (weights * np.square(places - mu[:, None])).sum(axis=1)

    def wilson_high(tilt: Floats) -> tuple[Floats, Floats]:
        mu, variance = fit(tilt)
        spread = mu * (1 - mu)
        factor = np.where(spread > _SAME, variance / np.where(spread > _SAME, spread, 1), 1)
        return mu, wilson_at(mean, total / np.maximum(factor, _SAME), z)[1]

    def distance(tilt: Floats) -> Floats:
        mu, limit = wilson_high(tilt)
        return mu - limit

    nearest, ones = np.full(len(places), _NEAREST), np.ones(len(places))
    edge, edge_variance = fit(nearest)
    edge_square = edge_variance + edge * edge
    # If the extreme value was never seen the tilted fit reaches only as far as `edge`; what lies beyond takes
    # mass on the extreme itself: the mean square is edge_square + kappa·(mu - edge), and the condition is
    # quadratic in mu.
    observed = (shares * (gaps == 0)).sum(axis=1) > 0
    # The tolerance is for a single observed value, where both sides are 0 but for rounding.
    beyond = ~observed & (np.square(edge - mean) <= z2 * edge_variance / total + _SAME * _SAME)
    kappa = np.where(beyond, (1 - edge_square) / np.where(beyond, 1 - edge, 1), 1)
    middle = 2 * total * mean + z2 * kappa
    last = total * mean * mean - z2 * (edge_square - kappa * edge)
    square_root = np.sqrt(np.maximum(middle * middle - 4 * (total + z2) * last, 0))
    mixed = (middle + square_root) / (2 * (total + z2))
    if beyond.all():
        return np.asarray(np.minimum(mixed, 1), dtype=np.float64)
    tilted = wilson_high(bracketed_root(distance, nearest, ones))[1]
    return np.asarray(np.minimum(np.where(beyond, mixed, tilted), 1), dtype=np.float64)


# Tango's score interval for the difference of two accuracies measured on the same cases.


def paired_difference_limits(
    only_first: float, only_second: float, n: float, level: float = 0.95
) -> tuple[float, float]:
    """Limits of p1 - p2 when `only_first` cases were right by the first alone, `only_second` by the second alone.

    All d with (b - c - n·d)² ≤ z²·n·(2q + d(1 - d)), q the fitted share of cases that only the second gets
    right: Tango (1998), Statistics in Medicine 17, 891-908. It agrees with McNemar's test about zero.

    >>> low, high = paired_difference_limits(0, 0, 50)
    >>> print(f"{low:.3f} {high:.3f}")
    -0.071 0.071
    """
    if n <= 0:
        return -1.0, 1.0
    low = -_upper(only_second, only_first, n, z_value(level))
    return low, _upper(only_first, only_second, n, z_value(level))


def _upper(b: float, c: float, n: float, z: float) -> float:
    def excess(d: float) -> float:
        half = (2 * n - b + c) * d - b - c
        q = (math.sqrt(max(half * half + 8 * n * c * d * (1 - d), 0.0)) - half) / (4 * n)
        return float((n * d - (b - c)) - z * math.sqrt(n * max(2 * q + d * (1 - d), 0.0)))

    start = (b - c) / n
    if start >= 1.0:
        return 1.0
    # A step inside: with no discordant case the statistic is 0 of 0 at the estimate itself.
    return single_root(excess, float(start + 1e-12 * (1 - start)), 1.0)
