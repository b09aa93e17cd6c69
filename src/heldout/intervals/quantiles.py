"""Quantiles of the normal and of Student's t distribution, as intervals need them."""

from __future__ import annotations

from functools import lru_cache
from statistics import NormalDist

import numpy as np
from numpy.typing import ArrayLike

from heldout.arrays import Floats
from heldout.errors import OptionError

_STANDARD_NORMAL = NormalDist()


@lru_cache(maxsize=16)
def z_value(level: float = 0.95) -> float:
    """The two-sided critical value of the standard normal distribution.

    >>> round(z_value(0.95), 4)
    1.96
    """
    return _STANDARD_NORMAL.inv_cdf(1 - _tail(level))


def t_value(level: float, df: ArrayLike) -> Floats:
    """The two-sided critical value of Student's t distribution, df may be fractional.

    >>> round(float(t_value(0.95, 9)), 4)
    2.2622
    """
    from scipy.special import stdtrit

    return np.asarray(stdtrit(np.asarray(df, dtype=np.float64), 1 - _tail(level)))


def _tail(level: float) -> float:
    if not 0 < level < 1:
        raise OptionError(
            f"The level of an interval must lie between 0 and 1, and {level!r} does not.",
            hint="use a share such as 0.95, not a percentage.",
        )
    return (1 - level) / 2
