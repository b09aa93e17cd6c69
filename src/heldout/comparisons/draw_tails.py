"""The p-values of random draws: of a difference drawn again and again, and of one whose two sides changed places."""

from __future__ import annotations

import math

import numpy as np

from heldout.arrays import Floats

# Sums of random tables add up in another order than the counts themselves: equal means equal up to rounding.
HAIR = 1e-12


def counted_p(as_extreme: int, draws: int) -> float:
    """The share of draws as extreme as what was seen, which counts as one of them.

    One is added on top and bottom, as in every Monte Carlo test: no number of draws shows that p is 0. Davison &
    Hinkley (1997), Bootstrap Methods and their Application, ch. 4.

    >>> counted_p(0, 999)
    0.001
    """
    return (as_extreme + 1) / (draws + 1)


def tail_p(drawn: Floats) -> float:
    """Twice the smaller of the shares of draws on either side of zero; draws of zero count on both.

    Where all draws lie on one side, that of a normal distribution with their mean and spread, if it is smaller: the
    number of draws must not decide whether a p-value survives a correction for many pairs.

    >>> tail_p(np.array([-1.0, 1.0, 2.0, 3.0])), tail_p(np.zeros(9))
    (0.8, 1.0)
    """
    counted, normal = _tails(drawn)
    return min(counted, normal)


def tail_note(drawn: Floats) -> str:
    """A sentence where the p-value of draws does not come from counting them.

    >>> tail_note(np.array([2.0, 3.0, 4.0]))
    'no draw of 3 lies beyond zero, so p is that of a normal distribution with their mean and spread'
    """
    counted, normal = _tails(drawn)
    if normal >= counted:
        return ""
    size = f"{len(drawn):,}"
    return f"no draw of {size} lies beyond zero, so p is that of a normal distribution with their mean and spread"


def _tails(drawn: Floats) -> tuple[float, float]:
    """The p-values by counting, and by the normal distribution: 1 where there is something to count or no spread."""
    fewer = min(int((drawn <= HAIR).sum()), int((drawn >= -HAIR).sum()))
    spread = float(drawn.std())
    # Draws that are all the same differ by rounding alone.
    apart = spread > HAIR * abs(float(drawn.mean()))
    normal = math.erfc(abs(float(drawn.mean())) / spread / math.sqrt(2)) if apart and not fewer else 1.0
    return min(1.0, 2 * counted_p(fewer, len(drawn))), normal


def swap_p(difference: float, swapped: Floats, hair: float = HAIR) -> float:
    """The two-sided p-value of a difference among those after exchanges.

    >>> swap_p(0.2, np.array([0.1, -0.2, 0.05]))
    0.5
    """
    return counted_p(_as_large(difference, swapped, hair), len(swapped))


def swap_note(difference: float, swapped: Floats, hair: float = HAIR) -> str:
    """A sentence where p is the smallest that so many exchanges can show.

    >>> swap_note(0.2, np.array([0.1, -0.1, 0.05]))
    'none of 3 exchanges makes so large a difference: p is at most 1/4, and no smaller one can be shown with so few'
    """
    if _as_large(difference, swapped, hair):
        return ""
    return (
        f"none of {len(swapped):,} exchanges makes so large a difference: p is at most 1/{len(swapped) + 1:,}, and no "
        "smaller one can be shown with so few"
    )


def _as_large(difference: float, swapped: Floats, hair: float) -> int:
    return int((np.abs(swapped) >= abs(difference) - hair).sum())
