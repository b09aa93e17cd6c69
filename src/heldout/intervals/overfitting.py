"""The overfitting gap: how much better a learner does on its training cases than on others, with an interval."""

from __future__ import annotations

import math

from heldout.intervals.estimate import Estimate
from heldout.intervals.proportion import wilson


def overfitting_gap(test: Estimate, training_error: float, training_cases: int, level: float) -> Estimate:
    """The error on test cases less that on training cases.

    The limits come from those of the two errors (Zou & Donner, 2008: the variance is recovered from each interval), as
    if the two were independent; they share cases, which makes the interval a little wide.

    >>> error = Estimate("error_rate", None, None, 0.2, 0.15, 0.26, 0.95, "wilson", 200)
    >>> gap = overfitting_gap(error, 0.05, 1000, 0.95)
    >>> print(f"{gap.value:.3f} {gap.low:.3f} {gap.high:.3f}")
    0.150 0.098 0.211
    """
    value = test.value - training_error
    low = high = math.nan
    if training_cases and not math.isnan(test.low):
        best, worst = (float(x) for x in wilson(training_error * training_cases, training_cases, level))
        low = value - math.hypot(test.value - test.low, worst - training_error)
        high = value + math.hypot(test.high - test.value, training_error - best)
    return Estimate(
        "overfitting_gap", None, None, value, low, high, level, "mover", test.n,
        "there are no predictions of training cases" if math.isnan(value) else "",
    )  # fmt: skip
