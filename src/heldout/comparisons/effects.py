"""How large a difference is, whatever the number of cases: in standard deviations of one case."""

from __future__ import annotations

import math

PER_CASE = "difference in standard deviations of one case"


def per_case(difference: float, error: float, n: float) -> float:
    """The difference over the standard deviation per case, which is its standard error times √n.

    For a mean of case differences that is their mean over their standard deviation; any other measure has the case
    contributions that its standard error is made of. Without an error there is none.

    >>> per_case(0.1, 0.02, 100)
    0.5
    """
    return difference / (error * math.sqrt(n)) if error > 0 and n > 0 else math.nan


def per_case_of_two(difference: float, error: float, n_a: float, n_b: float) -> float:
    """The same for two sets of cases: with equal spread in both, Cohen's d of a difference of means.

    Cohen (1988), Statistical Power Analysis, ch. 2: the error is that of one case times √(1/n_a + 1/n_b).

    >>> round(per_case_of_two(0.1, 0.2 * math.sqrt(1 / 50 + 1 / 200), 50, 200), 12)
    0.5
    """
    return per_case(difference, error, n_a * n_b / (n_a + n_b)) if n_a > 0 and n_b > 0 else math.nan
