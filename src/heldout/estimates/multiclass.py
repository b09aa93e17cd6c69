"""The area under the ROC curve for three or more classes, one against the rest or Hand and Till's, with intervals.

Every average here is a weighted mean of A(c, d): the chance that a case of class c has a higher score for c than a
case of class d has. So a case's influence is a sum over the comparisons it enters, and the variance a sum over cases.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from heldout.arguments import closest, listing
from heldout.arrays import Floats, Integers
from heldout.engines.multiclass import ClassPlacements, class_placements
from heldout.engines.ranking import rank
from heldout.errors import OptionError
from heldout.estimates.delong import HAIR, logit_limits, newcombe
from heldout.estimates.quantiles import t_value
from heldout.evidence import Ranking
from heldout.evidence.probabilities import sums_by

AreaAverage = Literal["macro", "weighted", "hand_till", "weighted_hand_till"]
# The interval from the scores that a case has for all classes together.
JOINT = "delong-logit"
AREA_AVERAGES: tuple[AreaAverage, ...] = ("macro", "weighted", "hand_till", "weighted_hand_till")


@dataclass(frozen=True, slots=True)
class MulticlassArea:
    """An averaged area (nan with fewer than two classes), its limits and standard error.

    `smallest` is the number of cases of the smallest class that occurs, `absent` the number of classes that do not.
    `method` says how the limits were found, and `undefined` why there is no area.
    """

    average: AreaAverage
    value: float
    low: float
    high: float
    level: float
    standard_error: float
    smallest: int
    absent: int
    method: str = JOINT
    undefined: str = ""


def ovr_auc(scores: NDArray[Any], codes: Integers, k: int, *, weight: Floats | None = None) -> Floats:
    """The area of each class against the rest, by its own column of scores; nan for a class without cases.

    >>> scores = np.array([[0.8, 0.1, 0.1], [0.2, 0.7, 0.1], [0.1, 0.6, 0.3], [0.3, 0.5, 0.2]])
    >>> ovr_auc(scores, np.array([0, 1, 2, 1]), 3).round(3)
    array([1.  , 0.75, 1.  ])
    """
    totals = sums_by(codes, np.ones(len(codes)) if weight is None else weight, k)
    areas = np.full((k, k), np.nan)
    for placed in class_placements(scores, codes, k, weight):
        areas[placed.class_] = placed.areas
    return _against_rest(areas, totals)


def multiclass_auc(
    scores: NDArray[Any], codes: Integers, k: int, average: AreaAverage = "macro", *, weight: Floats | None = None
) -> float:
    """An averaged area: "macro" or "weighted" one against the rest, "hand_till" or "weighted_hand_till" pairwise.

    Classes without cases are left out.

    >>> scores = np.array([[0.8, 0.1, 0.1], [0.2, 0.7, 0.1], [0.1, 0.6, 0.3], [0.3, 0.5, 0.2]])
    >>> round(multiclass_auc(scores, np.array([0, 1, 2, 1]), 3), 4)
    0.9167
    """
    _check_average(average)
    totals = sums_by(codes, np.ones(len(codes)) if weight is None else weight, k)
    areas = np.full((k, k), np.nan)
    for placed in class_placements(scores, codes, k, weight):
        areas[placed.class_] = placed.areas
    return averaged(areas, comparison_weights(average, totals))


def multiclass_auc_limits(
    scores: NDArray[Any],
    codes: Integers,
    k: int,
    average: AreaAverage = "macro",
    level: float = 0.95,
    *,
    weight: Floats | None = None,
    group: Integers | None = None,
) -> tuple[float, float]:
    """The limits of an averaged area; see `multiclass_areas`.

    >>> scores = np.eye(3)[np.repeat([0, 1, 2], 20)]
    >>> low, high = multiclass_auc_limits(scores, np.repeat([0, 1, 2], 20), 3)
    >>> print(f"{low:.3f} {high:.3f}")
    0.925 1.000
    """
    (found,) = multiclass_areas(scores, codes, k, (average,), level, weight=weight, group=group)
    return found.low, found.high


def multiclass_areas(
    scores: NDArray[Any],
    codes: Integers,
    k: int,
    averages: Sequence[AreaAverage] = ("macro", "weighted", "hand_till"),
    level: float = 0.95,
    *,
    weight: Floats | None = None,
    group: Integers | None = None,
) -> list[MulticlassArea]:
    """Averaged areas with their limits, all from one sort for each class.

    The limits are symmetric on the logit scale, with the standard error from DeLong's placements and t with one degree
    of freedom less than the smallest class has cases (or there are groups). Where nothing varies (all areas 1), they
    are the average of Newcombe's. A class without cases may have any area between 0 and 1.

    >>> scores = np.array([[0.8, 0.1, 0.1], [0.2, 0.7, 0.1], [0.1, 0.6, 0.3], [0.3, 0.5, 0.2]] * 5)
    >>> [round(found.value, 3) for found in multiclass_areas(scores, np.array([0, 1, 2, 1] * 5), 3)]
    [0.917, 0.875, 0.917]
    """
    for average in averages:
        _check_average(average)
    held = np.ones(len(codes)) if weight is None else weight
    totals = sums_by(codes, held, k)
    areas = np.full((k, k), np.nan)
    plans = [comparison_weights(average, totals) for average in averages]
    influence = np.zeros((len(plans), len(codes)))
    for placed in class_placements(scores, codes, k, weight):
        areas[placed.class_] = placed.areas
        for row, average in enumerate(averages):
            centre: Literal["rest", "pair"] = "rest" if average in ("macro", "weighted") else "pair"
            influence[row] += _influence(placed, codes, held, totals, plans[row][placed.class_], centre)
    problem = _of_rows(scores, codes, totals, weight, group, level)
    found = []
    for row, average in enumerate(averages):
        value = averaged(areas, plans[row])
        moving = influence[row] + share_influence(average, areas, totals, value)[codes] * held
        error = math.sqrt(_variance(moving, codes, k, group)) if len(codes) else math.nan
        found.append(limited(problem, average, value, error, plans[row]))
    return found


@dataclass(frozen=True, slots=True)
class Comparisons:
    """What limits of averaged areas rest on, apart from the standard error.

    `totals` are the cases of each class or their weight, `cases` their number and `sizes` the effective number of each
    class that occurs; `groups` is the number of groups, where rows come in groups. `ranked` ranks a class against
    another, or against the rest, by its own score.
    """

    totals: Floats
    cases: Integers
    sizes: Floats
    groups: int | None
    level: float
    ranked: Callable[[int, int | None], Ranking]
    method: str = JOINT


def _of_rows(
    scores: NDArray[Any], codes: Integers, totals: Floats, weight: Floats | None, group: Integers | None, level: float
) -> Comparisons:
    k, met = len(totals), totals > 0
    squares = totals if weight is None else sums_by(codes, weight**2, k)

    def ranked(first: int, second: int | None) -> Ranking:
        rows = slice(None) if second is None else (codes == first) | (codes == second)
        held = None
        if group is not None:
            keys, code = np.unique(group[rows], return_inverse=True)
            held = (code, keys)
        mine = codes[rows] == first
        return rank(scores[rows, first], mine, weight=None if weight is None else weight[rows], group=held)

    sizes = totals[met] if weight is None else totals[met] ** 2 / squares[met]
    number = None if group is None else len(np.unique(group))
    return Comparisons(totals, np.bincount(codes, minlength=k), sizes, number, level, ranked)


def comparison_weights(average: AreaAverage, totals: Floats) -> Floats:
    """How much A(c, d) counts in the average, row c and column d; they sum to 1."""
    met = totals > 0
    apart = np.outer(met, met) & ~np.eye(len(totals), dtype=bool)
    if average in ("macro", "weighted"):
        # Against the rest, class d counts by its share of the rest, in which every case counts alike.
        rest = np.where(apart, totals, 0.0)
        rest = rest / np.maximum(rest.sum(axis=1, keepdims=True), np.finfo(np.float64).tiny)
        plan = rest * (totals[:, None] if average == "weighted" else 1.0)
    elif average == "hand_till":
        plan = apart.astype(np.float64)
    else:
        plan = np.where(apart, totals[:, None] + totals, 0.0)
    whole = float(plan.sum())
    return np.asarray(plan / whole if whole > 0 else plan, dtype=np.float64)


def averaged(areas: Floats, plan: Floats) -> float:
    """The mean of the areas A(c, d) by what each counts; nan where none does."""
    # An average of ones can come out a hair above 1.
    return min(float((plan * np.nan_to_num(areas)).sum()), 1.0) if plan.any() else math.nan


def _against_rest(areas: Floats, totals: Floats) -> Floats:
    rest = np.where(np.isnan(areas), 0.0, totals)
    held = rest.sum(axis=1)
    known = held > 0
    found = (np.nan_to_num(areas) * rest).sum(axis=1)
    return np.where(known, found / np.where(known, held, 1.0), np.nan)


def _influence(
    placed: ClassPlacements,
    codes: Integers,
    held: Floats,
    totals: Floats,
    plan: Floats,
    centre: Literal["rest", "pair"],
) -> Floats:
    """What each case adds to the average by the comparisons of one class with the others, less its expectation."""
    mine = codes == placed.class_
    per_case = np.divide(plan, totals, out=np.zeros_like(plan), where=totals > 0)
    whole = float(plan.sum())
    area = float((plan * np.nan_to_num(placed.areas)).sum())
    # Of a case of this class: what it outranks, each case of the others counted by its part in the average.
    outranked = placed.ordered.below(per_case[codes] * held)
    # Of a case of another: the share of this class that outranks it. A pair of classes has its own expectation; the
    # rest, a mixture of classes, has one.
    expected = np.nan_to_num(placed.areas)[codes] if centre == "pair" else area / (whole or 1.0)
    of_others = per_case[codes] * (placed.above - expected)
    return held * np.where(mine, (outranked - area) / totals[placed.class_], of_others)


def share_influence(average: AreaAverage, areas: Floats, totals: Floats, value: float) -> Floats:
    """What a case of each class adds because it changes the class shares by which a weighted average weighs."""
    whole = totals.sum()
    met = totals > 0
    if average == "weighted" and met.sum() > 1:
        return np.asarray(np.where(met, _against_rest(areas, totals) - value, 0.0) / whole)
    if average == "weighted_hand_till" and met.sum() > 1:
        pairs = np.nan_to_num(areas) + np.nan_to_num(areas).T
        others = met.sum() - 1
        return np.asarray(np.where(met, pairs.sum(axis=1) / (2 * others) - value, 0.0) / whole)
    return np.zeros(len(totals))


def _variance(influence: Floats, codes: Integers, k: int, group: Integers | None) -> float:
    if group is not None:
        sums = np.bincount(group, weights=influence)
        number = len(np.unique(group))
        return number / (number - 1) * float(sums @ sums) if number > 1 else math.inf
    cases = np.bincount(codes, minlength=k)
    mean = sums_by(codes, influence, k) / np.maximum(cases, 1)
    away = influence - mean[codes]
    within = sums_by(codes, away * away, k) * cases / np.maximum(cases - 1, 1)
    return float(within.sum() + (cases * mean**2).sum())


def limited(problem: Comparisons, average: AreaAverage, value: float, error: float, plan: Floats) -> MulticlassArea:
    """The average with its limits, from its standard error and from what each class has of cases."""
    k = len(problem.totals)
    met = int((problem.totals > 0).sum())
    smallest = int(problem.cases[problem.totals > 0].min()) if met else 0
    low, high = 0.0, 1.0
    if met > 1 and not math.isinf(error):
        if HAIR < value < 1 - HAIR and error > HAIR * value:
            freedom = float(problem.sizes.min()) - 1
            if problem.groups is not None:
                freedom = min(freedom, problem.groups - 1)
            low, high = logit_limits(value, error, float(t_value(problem.level, max(freedom, 1.0))))
        else:
            low, high = _newcombe_average(problem, average, plan)
        share = met / k if average == "macro" else met * (met - 1) / (k * (k - 1)) if average == "hand_till" else 1.0
        low, high = min(low * share, value), max(high * share + 1 - share, value)
    return MulticlassArea(average, value, low, high, problem.level, error, smallest, k - met, problem.method)


def _newcombe_average(problem: Comparisons, average: AreaAverage, plan: Floats) -> tuple[float, float]:
    """The mean of Newcombe's limits of the comparisons, by their part in the average."""
    limits = np.zeros(2)
    for first in np.flatnonzero(plan.any(axis=1)).tolist():
        if average in ("macro", "weighted"):
            limits += plan[first].sum() * np.array(newcombe(problem.ranked(first, None), problem.level))
            continue
        for second in np.flatnonzero(plan[first]).tolist():
            limits += plan[first, second] * np.array(newcombe(problem.ranked(first, second), problem.level))
    return float(limits[0]), min(float(limits[1]), 1.0)


def _check_average(average: str) -> None:
    if average not in AREA_AVERAGES:
        near = closest(str(average), AREA_AVERAGES)
        raise OptionError(
            f"There is no average {average!r} of areas. There are: {listing(AREA_AVERAGES)}.",
            hint=f"did you mean {near!r}?" if near else "use 'macro'.",
        )
