"""When a p-value decides: one rule for every verdict."""

from __future__ import annotations

# To a computer 1 − .9 is a hair below .1, and 1 − .95 a hair above .05.
ROUNDING = 1e-12


def decides(p: float, level: float) -> bool:
    """Whether a p-value is small enough to reject at a level; nan never is.

    >>> decides(0.05, 0.95), decides(0.1, 0.9), decides(0.051, 0.95), decides(float("nan"), 0.95)
    (True, True, False, False)
    """
    return p <= 1 - level + ROUNDING
