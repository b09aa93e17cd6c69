"""Intervals from the values in the single folds: corrected and naive t, and the mean of areas."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from heldout.arrays import Floats
from heldout.estimates.delong import hanley_mcneil_variance, logit_limits
from heldout.estimates.dependence import LEAST, Dependence
from heldout.estimates.quantiles import t_value, z_value
from heldout.estimates.root import bracketed_root

MEASURED_FOLDS = 10
# Just beside the estimate no value is rejected.
NEAR = 1e-9
NAIVE = (
    "the naive t takes the folds as independent, which they are not: in simulations its 95 % intervals held the true "
    "error 90 to 95 % of the time over 10 folds and little more than 40 % over 10 × 10"
)


@dataclass(frozen=True, slots=True)
class FoldMethod:
    """An interval made from the values in the single folds."""

    name: str
    summary: str
    reference: str
    find: Callable[[Floats, Dependence, float], tuple[float, float]]
    finding: str = ""


def corrected_t(values: Floats, plan: Dependence, level: float) -> tuple[float, float]:
    """Student's t with the variance of the mean raised for the training rows that the folds share.

    Nadeau & Bengio (2003): s² (1/J + test/train). Over repetitions the degrees of freedom are those of one of them,
    because further ones add no cases, but nine where one has fewer folds than ten: that is what was measured.

    >>> plan = Dependence(150, ratio=1 / 9, independent=10)
    >>> [round(x, 3) for x in corrected_t(np.array([.8, .9, .7, .8, .9, .8, .7, .9, .8, .7]), plan, 0.95)]
    [0.715, 0.885]
    """
    folds = min(len(values), max(plan.independent, MEASURED_FOLDS))
    return _t(values, 1 / max(len(values), 1) + plan.ratio, folds - 1, level)


def naive_t(values: Floats, plan: Dependence, level: float) -> tuple[float, float]:  # noqa: ARG001 - one signature
    """Student's t as if the folds were independent: too narrow."""
    return _t(values, 1 / max(len(values), 1), len(values) - 1, level)


def _t(values: Floats, factor: float, df: int, level: float) -> tuple[float, float]:
    if df < 1:
        return math.nan, math.nan
    half = float(t_value(level, df)) * math.sqrt(factor * float(values.var(ddof=1)))
    return float(values.mean()) - half, float(values.mean()) + half


FOLD_METHODS = {
    method.name: method
    for method in (
        FoldMethod(
            "corrected-t",
            "Student's t with the variance raised for the training rows that the folds share.",
            "Nadeau & Bengio (2003)",
            corrected_t,
        ),
        FoldMethod(
            "naive-t",
            "Student's t over the folds as if they were independent: too narrow.",
            "Dietterich (1998)",
            naive_t,
            NAIVE,
        ),
    )
}


def mean_area_limits(
    areas: Floats, positives: Floats, negatives: Floats, plan: Dependence, level: float
) -> tuple[float, float]:
    """Limits of the mean over folds of the area under the ROC curve, on the logit scale.

    The variance is Hanley and McNeil's at the sizes of the folds. A fold of m of the n cases tells m/n of what all of
    them would, so the mean over a partition has the variance of one fold divided by the number of folds, and
    repetitions add nothing; it is then raised for what the folds share.

    >>> plan = Dependence(100, factor=1.5)
    >>> low, high = mean_area_limits(np.full(10, 0.8), np.full(10, 5.0), np.full(10, 5.0), plan, 0.95)
    >>> round(low, 3), round(high, 3)
    (0.681, 0.883)
    """
    value, critical = float(areas.mean()), z_value(level)
    sizes, times = np.unique(np.stack([positives, negatives]), axis=1, return_counts=True)
    share = sizes.sum(axis=0) / plan.n * times / times.sum()
    factor = min(plan.factor, LEAST) if plan.factor > 1 else 1.0

    def variance(area: Any) -> Any:
        return factor * sum(s * hanley_mcneil_variance(area, p, q) for s, p, q in zip(share, *sizes, strict=True))

    # Within one comparison of 0 or 1 the logit scale has no end; there, the areas that the one seen does not reject.
    edge = (1 + 1e-9) / float((positives * negatives).sum())
    if edge < value < 1 - edge:
        return logit_limits(value, math.sqrt(variance(value)), critical)

    def rejects(area: Floats) -> Floats:
        return np.asarray((value - area) ** 2 - critical**2 * variance(area))

    low = bracketed_root(rejects, np.array(0.0), np.array(value - NEAR)) if value > 2 * NEAR else 0.0
    high = bracketed_root(rejects, np.array(value + NEAR), np.array(1.0)) if value < 1 - 2 * NEAR else 1.0
    return float(low), float(high)


def nothing_told(values: Floats) -> str:
    """Why the values in the folds say nothing of how sure their mean is, where they do not.

    >>> nothing_told(np.array([0.8, 0.9])), nothing_told(np.array([1.0, 1.0]))
    ('', 'it is the same in every fold, which says nothing of how sure it is')
    """
    if len(values) < 2:
        return "it is defined in one fold only, which says nothing of how sure it is"
    # What rounding leaves is no spread.
    same = float(np.ptp(values)) <= 1e-12 * max(1.0, float(np.abs(values).max()))
    return "it is the same in every fold, which says nothing of how sure it is" if same else ""


def spread(values: Any) -> float:
    """The standard deviation over the folds where the measure is defined."""
    there = np.asarray(values, dtype=np.float64)
    there = there[~np.isnan(there)]
    return float(there.std(ddof=1)) if len(there) > 1 else math.nan
