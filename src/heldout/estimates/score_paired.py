"""Tango's score interval for the difference of two accuracies measured on the same cases."""

from __future__ import annotations

import numpy as np

from heldout.arrays import Floats
from heldout.estimates.quantiles import z_value
from heldout.estimates.root import bracketed_root


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
    def excess(d: Floats) -> Floats:
        half = (2 * n - b + c) * d - b - c
        q = (np.sqrt(np.maximum(half * half + 8 * n * c * d * (1 - d), 0.0)) - half) / (4 * n)
        return np.asarray((n * d - (b - c)) - z * np.sqrt(n * np.maximum(2 * q + d * (1 - d), 0.0)))

    start = (b - c) / n
    if start >= 1.0:
        return 1.0
    # A step inside: with no discordant case the statistic is 0 of 0 at the estimate itself.
    return float(bracketed_root(excess, np.asarray(start + 1e-12 * (1 - start)), np.asarray(1.0)))
