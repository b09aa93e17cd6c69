"""Intervals for a proportion: k successes in n independent trials.

Every interval takes arrays (or numbers) that broadcast against each other and returns (low, high).
Successes and trials may be fractional, because an effective sample size is; 0 <= successes <= trials is
for the caller to see to. No trials give (0, 1): nothing is known. The estimate always lies inside.
Formulas: Brown, Cai and DasGupta, "Interval estimation for a binomial proportion", Statistical Science
16 (2001), 101-133.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from heldout.intervals.quantiles import bracketed_root, tail_error, z_value

Floats: TypeAlias = NDArray[np.float64]
Limits: TypeAlias = tuple[Floats, Floats]

_LEAST = 1e-9  # a (fractional) count below this is none: the beta functions fail next to 0


def wilson_at(p: ArrayLike, n: ArrayLike, z: ArrayLike) -> Limits:
    """Wilson's interval for a rate `p` seen on `n` trials, with critical value `z`.

    The form for effective sizes and for t in place of z; everything else calls `wilson`.

    >>> low, high = wilson_at(0.3, 40, 1.96)
    >>> print(f"{low:.3f} {high:.3f}")
    0.181 0.454
    """
    rate, size = np.asarray(p, dtype=np.float64), np.asarray(n, dtype=np.float64)
    z2 = np.square(np.asarray(z, dtype=np.float64))
    miss = 1 - rate
    root = np.sqrt(z2 * (z2 + 4 * size * rate * miss))
    hits = 2 * size * rate
    # The textbook form subtracts nearly equal numbers for the limit next to 0 or 1 (nothing is left of it
    # at n = 1e12). Both limits here are sums of positive terms, taken from whichever bound is nearer, so
    # that a rate of 0 has the lower limit 0 and a rate of 1 the upper limit 1 exactly.
    low = hits * rate / (hits + z2 + root)
    misses = 2 * size * miss
    high = np.where(
        rate > 0.5,
        1 - misses * miss / (misses + z2 + root),
        (hits + z2 + root) / (2 * (size + z2)),
    )
    return np.minimum(low, rate), np.maximum(high, rate)


def wilson(successes: ArrayLike, trials: ArrayLike, level: float = 0.95) -> Limits:
    """Wilson's score interval: every p that a two-sided score test does not reject.

    >>> low, high = wilson(12, 40)
    >>> print(f"{low:.3f} {high:.3f}")
    0.181 0.454
    """
    rate, size = _rate(successes, trials)
    return wilson_at(rate, size, z_value(level))


def wilson_cc(successes: ArrayLike, trials: ArrayLike, level: float = 0.95) -> Limits:
    """Wilson's interval with continuity correction: longer, and close to Clopper-Pearson.

    The score test with |p_hat - p| less 1/(2n) is the plain one at a rate moved by 1/(2n), so each limit
    is the plain limit at the moved rate (Newcombe 1998, Statistics in Medicine 17, method 4).

    >>> low, high = wilson_cc(12, 40)
    >>> print(f"{low:.3f} {high:.3f}")
    0.171 0.467
    """
    rate, size = _rate(successes, trials)
    z = z_value(level)
    half = 0.5 / np.where(size > 0, size, 1)
    low, _ = wilson_at(np.maximum(rate - half, 0), size, z)
    _, high = wilson_at(np.minimum(rate + half, 1), size, z)
    return low, high


def clopper_pearson(successes: ArrayLike, trials: ArrayLike, level: float = 0.95) -> Limits:
    """The "exact" interval of Clopper and Pearson: coverage never below the level, often well above.

    >>> low, high = clopper_pearson(12, 40)
    >>> print(f"{low:.3f} {high:.3f}")
    0.166 0.465
    """
    from scipy.special import betainccinv, betaincinv

    hits, misses = _counts(successes, trials)
    tail = tail_error(level)
    # Beta(0, b) does not exist: the ends are the limits 0 and 1 themselves.
    some, others = hits > _LEAST, misses > _LEAST
    low = np.where(some, betaincinv(np.where(some, hits, 1), misses + 1, tail), 0.0)
    high = np.where(others, betainccinv(hits + 1, np.where(others, misses, 1), tail), 1.0)
    return _holding(low, high, hits, misses)


def jeffreys(successes: ArrayLike, trials: ArrayLike, level: float = 0.95) -> Limits:
    """Quantiles of the posterior under Jeffreys' prior Beta(1/2, 1/2).

    The lower limit is 0 when nothing succeeded and the upper 1 when everything did, as Brown, Cai and
    DasGupta (2001, section 4.1.2) have it; without that the coverage goes to 0 as p nears 0 or 1.

    >>> low, high = jeffreys(12, 40)
    >>> print(f"{low:.3f} {high:.3f}")
    0.176 0.452
    """
    from scipy.special import betainccinv, betaincinv

    hits, misses = _counts(successes, trials)
    tail = tail_error(level)
    # R's column jeffreys_mod in tests/oracles/data/r does the same; its column jeffreys keeps the raw
    # quantiles at the ends and so leaves the estimate 0 of 0/n outside the interval.
    low = np.where(hits > _LEAST, betaincinv(hits + 0.5, misses + 0.5, tail), 0.0)
    high = np.where(misses > _LEAST, betainccinv(hits + 0.5, misses + 0.5, tail), 1.0)
    return _holding(low, high, hits, misses)


def agresti_coull(successes: ArrayLike, trials: ArrayLike, level: float = 0.95) -> Limits:
    """The normal interval after z^2/2 successes and as many failures were added, kept within [0, 1].

    >>> low, high = agresti_coull(12, 40)
    >>> print(f"{low:.3f} {high:.3f}")
    0.180 0.455
    """
    hits, misses = _counts(successes, trials)
    z = z_value(level)
    size = hits + misses + z * z
    rate = (hits + z * z / 2) / size
    half = z * np.sqrt(rate * (1 - rate) / size)
    empty = hits + misses == 0
    low = np.where(empty, 0.0, np.maximum(rate - half, 0))
    high = np.where(empty, 1.0, np.minimum(rate + half, 1))
    return low, high


def mid_p(successes: ArrayLike, trials: ArrayLike, level: float = 0.95) -> Limits:
    """The exact interval that counts only half the probability of the observed value in each tail.

    >>> low, high = mid_p(12, 40)
    >>> print(f"{low:.3f} {high:.3f}")
    0.174 0.454
    """
    hits, misses = np.broadcast_arrays(*_counts(successes, trials))
    tail = tail_error(level)
    return _holding(_mid_p_low(hits, misses, tail), 1 - _mid_p_low(misses, hits, tail), hits, misses)


def normal(successes: ArrayLike, trials: ArrayLike, level: float = 0.95) -> Limits:
    """The textbook interval p ± z·sqrt(p(1 − p)/n), cut off at 0 and 1.

    For comparison with texts that use it (Mitchell 1997, section 5.2): it has zero width at 0 and n, and
    at n = 20, p = .01 it covers .18 instead of .95. Read nothing off it for small n.

    >>> low, high = normal(12, 40)
    >>> print(f"{low:.2f} {high:.2f}")
    0.16 0.44
    """
    rate, size = _rate(successes, trials)
    known = size > 0
    half = z_value(level) * np.sqrt(rate * (1 - rate) / np.where(known, size, 1))
    low = np.where(known, np.maximum(rate - half, 0), 0.0)
    high = np.where(known, np.minimum(rate + half, 1), 1.0)
    return low, high


def _counts(successes: ArrayLike, trials: ArrayLike) -> tuple[Floats, Floats]:
    """Successes and failures; a failure count that rounding has put below 0 is 0."""
    hits = np.asarray(successes, dtype=np.float64)
    return hits, np.maximum(np.asarray(trials, dtype=np.float64) - hits, 0)


def _rate(successes: ArrayLike, trials: ArrayLike) -> tuple[Floats, Floats]:
    """Rate and size; without trials the rate is 1/2, at which Wilson with n = 0 is exactly (0, 1)."""
    size = np.asarray(trials, dtype=np.float64)
    known = size > 0
    rate = np.where(known, np.asarray(successes, dtype=np.float64) / np.where(known, size, 1), 0.5)
    return np.minimum(rate, 1), size


def _holding(low: Floats, high: Floats, hits: Floats, misses: Floats) -> Limits:
    """The limits, moved where fractional counts near 0 or n would leave the estimate outside."""
    size = hits + misses
    known = size > 0
    rate = hits / np.where(known, size, 1)
    return np.where(known, np.minimum(low, rate), 0.0), np.where(known, np.maximum(high, rate), 1.0)


def _mid_p_low(hits: Floats, misses: Floats, tail: float) -> Floats:
    """The p at which P(X > hits) + P(X = hits)/2 equals `tail`, 0 where there are no hits."""
    from scipy.special import betainc, betaincinv

    some = hits > _LEAST
    inside = some & (misses > _LEAST)
    a, b = np.where(inside, hits, 1.0), np.where(inside, misses, 1.0)
    # P(X >= x) = I_p(x, n-x+1) and P(X > x) = I_p(x+1, n-x); their mean is the mid-P tail, so the root lies
    # between the points at which the one and the other equal the tail.
    start, stop = np.asarray(betaincinv([a, a + 1], [b + 1, b], tail), dtype=np.float64)
    root = bracketed_root(lambda p: (betainc(a, b + 1, p) + betainc(a + 1, b, p)) / 2 - tail, start, stop)
    # All hits: P(X > n) = 0, so p^n = 2·tail.
    ends = np.where(some, (2 * tail) ** (1 / np.where(some, hits, 1.0)), 0.0)
    return np.where(inside, root, ends)


# By the names under which they are asked for; the default first.
METHODS: dict[str, Callable[..., Limits]] = {
    "wilson": wilson,
    "wilson-cc": wilson_cc,
    "clopper-pearson": clopper_pearson,
    "jeffreys": jeffreys,
    "agresti-coull": agresti_coull,
    "mid-p": mid_p,
    "normal": normal,
}


# Classes whose share is further below the largest than this many standard errors are not the commonest.
CONTENDING = 3.0


def largest_share_limits(counts: ArrayLike, level: float = 0.95) -> tuple[float, float]:
    """Limits of the share of the commonest class, whichever class that is.

    The largest of several counts is too large in a sample, because chance decides which it is. The lower limit is
    Wilson's with continuity correction, its error divided by the number of classes that may be the commonest
    (Bonferroni), and at least 1/k. Of the upper limit nothing is taken off: no class has a larger share here.

    >>> low, high = largest_share_limits([22, 20, 18])
    >>> print(f"{low:.3f} {high:.3f}")
    0.333 0.493
    """
    sizes = np.asarray(counts, dtype=np.float64)
    top, total = float(sizes.max()), float(sizes.sum())
    low, high = (float(limit) for limit in wilson(top, total, level))
    contenders = int(np.count_nonzero(top - sizes <= CONTENDING * np.sqrt(top + sizes)))
    if contenders > 1 and total > 0:
        low = max(float(wilson_cc(top, total, 1 - (1 - level) / contenders)[0]), 1 / len(sizes))
        low = min(low, top / total)
    return low, high


def exact_largest_share_limits(counts: ArrayLike, level: float = 0.95) -> tuple[float, float]:
    """Limits of the share of the commonest class, each of which keeps its level: Clopper and Pearson's.

    The class that is commonest in truth has no more cases than the one that is so here, so that the upper limit holds.
    The lower one would be too high only if that of some class were, which k classes at an error over k rule out.

    >>> low, high = exact_largest_share_limits([22, 20, 18])
    >>> print(f"{low:.3f} {high:.3f}")
    0.333 0.501
    """
    sizes = np.asarray(counts, dtype=np.float64)
    top, total = float(sizes.max()), float(sizes.sum())
    low = float(clopper_pearson(top, total, 1 - (1 - level) / len(sizes))[0])
    return max(low, 1 / len(sizes)), float(clopper_pearson(top, total, level)[1])
