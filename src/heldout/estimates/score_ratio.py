"""Score intervals for the ratio of two independent proportions and for the odds ratio of a 2×2 table.

Both are solved by the same device. Written in s, the count that the restricted fit moves between cells, the
score statistic is a sum of terms s^2/(a - s) and s^2/(b + s), convex and rising, so that Newton's method
from the right of the root converges without a safeguard. Derivations in docs/statistics.md.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from heldout.arrays import Floats
from heldout.estimates.quantiles import z_value

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
    low = _ratio_low(first, of_first, second, of_second, z2)
    # p1/p2 is at most what one over p2/p1 is at least.
    inverse = _ratio_low(second, of_second, first, of_first, z2)
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
    low = _odds_low(hit, rest, missed, wrong, z2)
    inverse = _odds_low(missed, wrong, hit, rest, z2)
    return low, np.where(inverse > 0, 1 / np.where(inverse > 0, inverse, 1), np.inf)


def _floats(*arrays: ArrayLike) -> tuple[Floats, ...]:
    return np.broadcast_arrays(*(np.asarray(array, dtype=np.float64) for array in arrays))


def _ratio_low(x1: Floats, n1: Floats, x2: Floats, n2: Floats, z2: float) -> Floats:
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


def _odds_low(a: Floats, d: Floats, b: Floats, c: Floats, z2: float) -> Floats:
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
