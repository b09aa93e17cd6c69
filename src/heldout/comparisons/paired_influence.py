"""Two classifiers on the same cases that come in groups or have weights: differences from the influence of each case.

A case's influence on A − B is how fast the difference grows with its weight. The influences of a group are summed, and
their squares give the variance, as in the intervals of one classifier (`intervals/group_leverage.py`). The same serves
measures of answers, average precision and averaged areas of several classes.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from heldout.arguments import method_key
from heldout.arrays import Codes, Floats
from heldout.comparisons.best import JointValues
from heldout.comparisons.pair_test import (
    ONE_UNIT,
    PER_CASE,
    ROUNDING,
    SAME_ANSWERS,
    find_reach,
    per_case,
    register_procedure,
    two_sided,
)
from heldout.engines.score_sort import rank
from heldout.errors import OptionError
from heldout.evidence import Confusion, Label
from heldout.evidence.probabilities import sums_by
from heldout.intervals.areas import average_precision_influence
from heldout.intervals.count_estimator import Estimator
from heldout.intervals.estimate import PairTest, undefined_test
from heldout.intervals.group_leverage import class_shares, effective_number, group_spread
from heldout.intervals.multiclass_areas import AreaAverage, area_influence
from heldout.intervals.proportion import wilson_at
from heldout.intervals.quantiles import t_value, z_value
from heldout.measures.quantity import Quantity

INFLUENCE_T = register_procedure(
    "influence-t",
    "same cases",
    "Cases with groups or weights: t of the influences on the difference, summed by group; default for counts there.",
    "Liang & Zeger (1986); MacKinnon, Nielsen & Webb (2023); Imbens & Kolesár (2016)",
)
NO_SPREAD = "no group or case moves the difference, so the interval is what Wilson's allows for changes not yet seen"


@dataclass(frozen=True, slots=True)
class CaseUnits:
    """The true class of every case, its weight and its group, where cases have them."""

    classes: Codes
    weight: Floats | None = None
    group: NDArray[Any] | None = None

    @property
    def held(self) -> Floats:
        """The weights; 1 where there are none."""
        return np.ones(len(self.classes)) if self.weight is None else np.asarray(self.weight, dtype=np.float64)


@dataclass(frozen=True, slots=True)
class InfluenceSpread:
    """The variance of a difference, its degrees of freedom, and the number of units and of equally large ones."""

    variance: float
    df: float
    units: int
    effective: float


def influence_spread(influence: Floats, units: CaseUnits) -> InfluenceSpread:
    """What the influences of the cases, each times its weight, say of the variance of a difference.

    With weights and no groups it is the larger of what heavy cases show and what as many equally weighted cases as
    Kish's effective number would have.

    >>> seen = influence_spread(np.array([0.1, -0.1, 0.1, -0.1]), CaseUnits(np.zeros(4, dtype=np.int64)))
    >>> round(seen.variance, 4), seen.units, round(seen.df, 6)
    (0.0533, 4, 3.0)
    """
    weights, classes = units.held, units.classes
    spread = sums_by(classes, influence**2, int(classes.max(initial=0)) + 1)
    own = sums_by(classes, weights**2, len(spread))
    independent, squares = float(spread.sum()), float(weights @ weights)
    if units.group is not None:
        keys, code = np.unique(units.group, return_inverse=True)
        shares, pulls = class_shares(code, classes, weights, spread, own, len(keys))
        grouped = group_spread(sums_by(code, influence, len(keys)), shares, pulls, independent=independent)
        return InfluenceSpread(grouped.variance, grouped.df, len(keys), grouped.effective)
    n = int((weights > 0).sum())
    shares, _ = class_shares(np.arange(len(weights)), classes, weights, spread, own, len(weights))
    per_weight = np.divide(influence**2, weights, out=np.zeros_like(weights), where=weights > 0)
    equal = float(per_weight.sum()) * squares / float(weights.sum()) if n else 0.0
    factor = n / (n - 1) if n > 1 else math.inf
    effective = effective_number(shares)
    return InfluenceSpread(factor * max(independent, equal), max(effective - 1, 1.0), n, effective)


def influence_test(
    values: tuple[float, float], influence: Floats, units: CaseUnits, *, level: float, reach: float
) -> PairTest:
    """The test of A − B from the influences of the cases; p and the interval are of the same t.

    `reach` is the largest difference there can be.
    """
    name, n, difference = INFLUENCE_T.name, len(influence), values[0] - values[1]
    seen = influence_spread(influence, units)
    if seen.units < 2:
        return PairTest(difference, -reach, reach, level, name, math.nan, n, note=ONE_UNIT)
    error = math.sqrt(seen.variance)
    if error <= ROUNDING * max(*map(abs, values), 1.0):
        # Signs that all agree have this chance if either sign is as likely.
        p = 1.0 if abs(difference) <= ROUNDING else 2.0 ** (1 - seen.units)
        half = (reach if math.isfinite(reach) else 0.0) * float(wilson_at(0.0, seen.effective, z_value(level))[1])
        low, high = max(difference - half, -reach), min(difference + half, reach)
        return PairTest(difference, low, high, level, name, p, n, note=NO_SPREAD, interval_method=name)
    statistic, half = difference / error, float(t_value(level, seen.df)) * error
    return PairTest(
        difference, max(difference - half, -reach), min(difference + half, reach), level, name,
        two_sided(statistic, seen.df), n, statistic, seen.df, effect=per_case(difference, error, n),
        effect_name=PER_CASE, interval_method=name,
    )  # fmt: skip


def compare_dependent_counts(
    answers: tuple[Codes, Codes],
    units: CaseUnits,
    labels: tuple[Label, ...],
    quantity: Quantity,
    *,
    method: str | None = None,
    level: float = 0.95,
) -> PairTest:
    """A − B of any measure of answers to cases that come in groups or have weights.

    >>> from heldout.measures.catalogue import read_quantity
    >>> truth, a, b = np.tile([0, 1], 30), np.tile([0, 1, 0, 1, 1, 1], 10), np.tile([0, 0, 0, 1, 1, 0], 10)
    >>> units = CaseUnits(truth, group=np.repeat(np.arange(10), 6))
    >>> result = compare_dependent_counts((a, b), units, (0, 1), read_quantity("recall[1]", (0, 1)))
    >>> f"{result.difference:.3f}", result.df
    ('0.667', nan)
    """
    check_dependent_method(method, quantity.bound.name)
    sides = [count_influence(answer, units, labels, quantity) for answer in answers]
    values = sides[0][0], sides[1][0]
    if math.isnan(values[0]) or math.isnan(values[1]):
        without = " and ".join(side for side, value in zip("AB", values, strict=True) if math.isnan(value))
        reason = f"{without}: {quantity.bound.undefined}"
        return undefined_test(reason, level, INFLUENCE_T.name, len(units.classes))
    reach = find_reach(quantity.bound.measure)
    test = influence_test(values, sides[0][1] - sides[1][1], units, level=level, reach=reach)
    if np.array_equal(*answers):
        return replace(test, note=SAME_ANSWERS)
    return test


def count_influence(
    answer: Codes, units: CaseUnits, labels: tuple[Label, ...], quantity: Quantity
) -> tuple[float, Floats]:
    """The value of one classifier by a measure of answers, and the influence of every case on it, times its weight."""
    k, weights = len(labels), units.held
    cells, cell = np.unique(units.classes.astype(np.int64) * k + answer, return_inverse=True)
    confusion = Confusion(labels, cells // k, cells % k, sums_by(cell, weights, len(cells)), rows=np.bincount(cell))
    subject = Estimator(confusion).subject(quantity)
    factor = quantity.times(confusion.n)
    if quantity.class_ is None:
        return float(subject.value) * factor, weights * subject.gradient[cell] * factor
    at = confusion.index(quantity.class_)
    # TP, FN, FP and TN of the class.
    corner = np.where(units.classes == at, np.where(answer == at, 0, 1), np.where(answer == at, 2, 3))
    return float(subject.value[at]), weights * subject.gradient[at][corner]


def compare_average_precision(
    scores_a: Floats, scores_b: Floats, units: CaseUnits, *, level: float = 0.95, undefined: str = ""
) -> PairTest:
    """A − B of average precision on cases that come in groups or have weights; class 1 is the positive one.

    >>> positive = np.array([True, False, True, False, True, False])
    >>> scores = np.array([6.0, 5, 4, 3, 2, 1]), np.array([6.0, 4, 5, 2, 3, 1])
    >>> units = CaseUnits(positive.astype(np.int64), group=np.arange(6))
    >>> found = compare_average_precision(*scores, units)
    >>> print(f"{found.difference:.3f} [{found.low:.3f}, {found.high:.3f}]")
    -0.161 [-0.526, 0.204]
    """
    (a, first), (b, second) = (precision_influence(own, units) for own in (scores_a, scores_b))
    if math.isnan(a) or math.isnan(b):
        return undefined_test(undefined, level, INFLUENCE_T.name, len(units.classes), reach=1.0)
    return influence_test((a, b), first - second, units, level=level, reach=_reach_of_areas(first, second))


def _reach_of_areas(first: Floats, second: Floats) -> float:
    """The largest difference of two areas: none where the cases are ranked alike, as DeLong's interval says too."""
    return 0.0 if np.array_equal(first, second) else 1.0


def precision_influence(scores: Floats, units: CaseUnits) -> tuple[float, Floats]:
    """The average precision, and the influence of every case on it, times its weight; nan without positives."""
    positive = units.classes == 1
    ranking = rank(scores, positive, weight=units.weight)
    if not ranking.n_positive:
        return math.nan, np.zeros(len(positive))
    up, down = average_precision_influence(ranking)
    precision = ranking.tp / np.maximum(ranking.tp + ranking.fp, 1e-300)
    value = float(ranking.positives @ precision) / float(ranking.n_positive)
    score_index = np.searchsorted(-ranking.scores, -np.asarray(scores, dtype=np.float64))
    return value, units.held * np.where(positive, up[score_index], down[score_index])


def compare_averaged_areas(
    scores: tuple[NDArray[Any], NDArray[Any]],
    units: CaseUnits,
    average: AreaAverage,
    *,
    method: str | None = None,
    level: float = 0.95,
    undefined: str = "",
) -> PairTest:
    """A − B of an averaged area of several classes, whether cases have groups or weights or neither.

    >>> rng = np.random.default_rng(1)
    >>> codes = np.arange(60) % 3
    >>> scores = np.eye(3)[codes] + rng.normal(size=(60, 3)), np.eye(3)[codes] + rng.normal(size=(60, 3))
    >>> found = compare_averaged_areas(scores, CaseUnits(codes), "macro")
    >>> print(f"{found.difference:.3f} [{found.low:.3f}, {found.high:.3f}]")
    0.058 [-0.057, 0.172]
    """
    check_dependent_method(method, f"{average} roc_auc" if average != "hand_till" else "hand_till_auc")
    k = scores[0].shape[1]
    (a, first), (b, second) = (area_influence(own, units.classes, k, average, weight=units.weight) for own in scores)
    if math.isnan(a) or math.isnan(b):
        return undefined_test(undefined, level, INFLUENCE_T.name, len(units.classes), reach=1.0)
    return influence_test((a, b), first - second, units, level=level, reach=_reach_of_areas(first, second))


def join_influences(sides: Sequence[tuple[float, Floats]], units: CaseUnits) -> JointValues | None:
    """The values of several classifiers on the same cases with their covariance, from the influences of the cases.

    None where a variance is not known, as with one group only.

    >>> units = CaseUnits(np.zeros(4, dtype=np.int64))
    >>> first, second = np.array([0.1, -0.1, 0.1, -0.1]), np.array([0.1, 0.1, -0.1, -0.1])
    >>> join_influences([(0.5, first), (0.5, second)], units).covariance.round(4)
    array([[0.0533, 0.    ],
           [0.    , 0.0533]])
    """
    influences = np.stack([influence for _, influence in sides])
    spreads = [influence_spread(influence, units) for influence in influences]
    if not all(math.isfinite(spread.variance) for spread in spreads):
        return None
    if units.group is not None:
        keys, code = np.unique(units.group, return_inverse=True)
        influences = np.stack([sums_by(code, influence, len(keys)) for influence in influences])
    products = influences @ influences.T
    # The variances are those of one classifier alone, which allow for groups and weights; the correlations are plain.
    plain, errors = np.sqrt(np.diag(products)), np.sqrt([spread.variance for spread in spreads])
    scale = np.divide(errors, plain, out=np.zeros_like(errors), where=plain > 0)
    # The fewest, so that it does not matter who is named first.
    df, effective = (min(getattr(spread, name) for spread in spreads) for name in ("df", "effective"))
    values = np.array([value for value, _ in sides])
    return JointValues(values, products * np.outer(scale, scale), df, effective)


def check_dependent_method(method: str | None, measure: str) -> None:
    """Refuse a method other than this one, which is all there is for such cases or areas."""
    if method is None or method_key(method) == INFLUENCE_T.name:
        return
    raise OptionError(
        f"The method {method!r} does not compare by {measure} here: it takes cases as independent and equally "
        "weighted, or does not know the measure.",
        hint=f"leave method out for {INFLUENCE_T.name!r}.",
    )
