"""Averaged areas of a column of scores for each class, from rows or from bins of each column by itself."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from heldout.arguments import closest, listing
from heldout.arrays import Floats, Integers
from heldout.engines.score_evidence import CountedScores, RowScores, ScoreEvidence
from heldout.engines.score_sort import ClassPlacements, rank, with_placements
from heldout.errors import OptionError
from heldout.evidence import Ranking
from heldout.evidence.counted import MOST_PAIRWISE, ScoreTally
from heldout.evidence.labels import join_keys
from heldout.evidence.probabilities import sums_by
from heldout.evidence.score_bins import POINT, BinGroups, ScoreBins
from heldout.intervals.areas import TOLERANCE, logit_limits, newcombe
from heldout.intervals.group_leverage import GroupSpread, class_shares, even_pulls, group_spread
from heldout.intervals.quantiles import t_value
from heldout.measures.certified import allowance
from heldout.measures.rest_columns import find_rest_columns
from heldout.threads import cached_property

# The area under the ROC curve for three or more classes, one against the rest or Hand and Till's, with intervals.
#
# Every average here is a weighted mean of A(c, d): the chance that a case of class c has a higher score for c than a
# case of class d has. So a case's influence is a sum over the comparisons it enters, and the variance a sum over
# cases.

AreaAverage = Literal["macro", "weighted", "hand_till", "weighted_hand_till"]
# The interval from the scores that a case has for all classes together.
JOINT = "delong-logit"
AREA_AVERAGES: tuple[AreaAverage, ...] = get_args(AreaAverage)


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
    weights = np.ones(len(codes)) if weight is None else weight
    totals = sums_by(codes, weights, k)
    areas = np.full((k, k), np.nan)
    plans = [comparison_weights(average, totals) for average in averages]
    influence, spread = np.zeros((len(plans), len(codes))), np.zeros((len(plans), k))

    def move(placed: ClassPlacements) -> tuple[int, Floats, list[Floats]]:
        moved = [
            _influence(placed, codes, weight, totals, plan[placed.class_], _centre(average))
            for plan, average in zip(plans, averages, strict=True)
        ]
        return placed.class_, placed.areas, moved

    for class_, against, moved in with_placements(scores, codes, k, weight, move):
        areas[class_] = against
        for row, one in enumerate(moved):
            influence[row] += one
            if group is not None:
                spread[row] += sums_by(codes, one**2, k)
    problem = _of_rows(scores, codes, totals, weight, group, level)
    averaged_areas = []
    for row, average in enumerate(averages):
        value = averaged(areas, plans[row])
        by_share = share_influence(average, areas, totals, value)[codes] * weights
        moving, df = influence[row] + by_share, math.inf
        if group is None or not len(codes):
            error = math.sqrt(_variance(moving, codes, k)) if len(codes) else math.nan
        else:
            grouped = _grouped_spread(moving, codes, weights, group, spread[row] + sums_by(codes, by_share**2, k))
            error, df = math.sqrt(grouped.variance), grouped.df
        averaged_areas.append(limited(problem, average, value, error, plans[row], df))
    return averaged_areas


def area_influence(
    scores: NDArray[Any], codes: Integers, k: int, average: AreaAverage, *, weight: Floats | None = None
) -> tuple[float, Floats]:
    """An averaged area, and the influence of every case on it, times its weight.

    >>> scores = np.array([[0.8, 0.1, 0.1], [0.2, 0.7, 0.1], [0.1, 0.6, 0.3], [0.3, 0.5, 0.2]])
    >>> value, influence = area_influence(scores, np.array([0, 1, 2, 1]), 3, "macro")
    >>> round(value, 4), bool(abs(influence.sum()) < 1e-12)
    (0.9167, True)
    """
    weights = np.ones(len(codes)) if weight is None else weight
    totals = sums_by(codes, weights, k)
    areas, influence = np.full((k, k), np.nan), np.zeros(len(codes))
    plan, centre = comparison_weights(average, totals), _centre(average)
    for placed in with_placements(scores, codes, k, weight, lambda placed: placed):
        areas[placed.class_] = placed.areas
        influence += _influence(placed, codes, weight, totals, plan[placed.class_], centre)
    value = averaged(areas, plan)
    return value, influence + share_influence(average, areas, totals, value)[codes] * weights


def _centre(average: AreaAverage) -> Literal["rest", "pair"]:
    """Whether an area is one of a class against the rest, or of a pair."""
    return "rest" if average in ("macro", "weighted") else "pair"


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
    k, present = len(totals), totals > 0
    squares = totals if weight is None else sums_by(codes, weight**2, k)

    def ranked(first: int, second: int | None) -> Ranking:
        rows = slice(None) if second is None else (codes == first) | (codes == second)
        coded_group = None
        if group is not None:
            keys, code = np.unique(group[rows], return_inverse=True)
            coded_group = (code, keys)
        mine = codes[rows] == first
        return rank(scores[rows, first], mine, weight=None if weight is None else weight[rows], group=coded_group)

    sizes = totals[present] if weight is None else totals[present] ** 2 / squares[present]
    number = None if group is None else len(np.unique(group))
    return Comparisons(totals, np.bincount(codes, minlength=k), sizes, number, level, ranked)


def comparison_weights(average: AreaAverage, totals: Floats) -> Floats:
    """How much A(c, d) counts in the average, row c and column d; they sum to 1."""
    present = totals > 0
    apart = np.outer(present, present) & ~np.eye(len(totals), dtype=bool)
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
    # An average of ones can come out a little above 1.
    return min(float((plan * np.nan_to_num(areas)).sum()), 1.0) if plan.any() else math.nan


def _against_rest(areas: Floats, totals: Floats) -> Floats:
    rest = np.where(np.isnan(areas), 0.0, totals)
    rest_totals = rest.sum(axis=1)
    known = rest_totals > 0
    sums = (np.nan_to_num(areas) * rest).sum(axis=1)
    return np.where(known, sums / np.where(known, rest_totals, 1.0), np.nan)


def _influence(
    placed: ClassPlacements,
    codes: Integers,
    weight: Floats | None,
    totals: Floats,
    plan: Floats,
    centre: Literal["rest", "pair"],
) -> Floats:
    """What each case adds to the average by the comparisons of one class with the others, less its expectation."""
    per_case = np.divide(plan, totals, out=np.zeros_like(plan), where=totals > 0)
    whole = float(plan.sum())
    area = float((plan * np.nan_to_num(placed.areas)).sum())
    # Of a case of this class: what it outranks, each case of the others counted by its part in the average.
    order = placed.ordered.order
    counted = per_case[placed.codes]
    if weight is not None:
        counted *= weight[order]
    outranked = placed.ordered.middles(counted)[placed.mine]
    # Of a case of another: the share of this class that outranks it. A pair of classes has its own expectation; the
    # rest, a mixture of classes, has one.
    expected = np.nan_to_num(placed.areas)[codes] if centre == "pair" else area / (whole or 1.0)
    moved = placed.above - expected
    moved *= per_case[codes]
    moved[order[placed.mine]] = (outranked - area) / totals[placed.class_]
    return moved if weight is None else weight * moved


def share_influence(average: AreaAverage, areas: Floats, totals: Floats, value: float) -> Floats:
    """What a case of each class adds because it changes the class shares by which a weighted average weighs."""
    whole = totals.sum()
    present = totals > 0
    if average == "weighted" and present.sum() > 1:
        return np.asarray(np.where(present, _against_rest(areas, totals) - value, 0.0) / whole)
    if average == "weighted_hand_till" and present.sum() > 1:
        pairs = np.nan_to_num(areas) + np.nan_to_num(areas).T
        others = present.sum() - 1
        return np.asarray(np.where(present, pairs.sum(axis=1) / (2 * others) - value, 0.0) / whole)
    return np.zeros(len(totals))


def _grouped_spread(influence: Floats, codes: Integers, held: Floats, group: Integers, spread: Floats) -> GroupSpread:
    """The spread over groups; `spread` is what the cases of each class have of the squared influences.

    The squares are those of single comparisons, which are known of scores in bins too.
    """
    keys, code = np.unique(group, return_inverse=True)
    shares, _ = class_shares(code, codes, held, spread, sums_by(codes, held**2, len(spread)), len(keys))
    pulls = even_pulls(shares, float(held.sum()) ** 2 / float(held @ held))
    return group_spread(sums_by(code, influence, len(keys)), shares, pulls, independent=float(spread.sum()))


def _variance(influence: Floats, codes: Integers, k: int) -> float:
    cases = np.bincount(codes, minlength=k)
    mean = sums_by(codes, influence, k) / np.maximum(cases, 1)
    away = influence - mean[codes]
    within = sums_by(codes, away * away, k) * cases / np.maximum(cases - 1, 1)
    return float(within.sum() + (cases * mean**2).sum())


def limited(
    problem: Comparisons, average: AreaAverage, value: float, error: float, plan: Floats, df: float = math.inf
) -> MulticlassArea:
    """The average with its limits, from its standard error and from what each class has of cases.

    `df` are the degrees of freedom that groups leave.
    """
    k = len(problem.totals)
    n_present = int((problem.totals > 0).sum())
    smallest = int(problem.cases[problem.totals > 0].min()) if n_present else 0
    low, high = 0.0, 1.0
    if n_present > 1 and not math.isinf(error):
        if TOLERANCE < value < 1 - TOLERANCE and error > TOLERANCE * value:
            freedom = float(problem.sizes.min()) - 1
            if problem.groups is not None:
                freedom = min(freedom, problem.groups - 1, df)
            low, high = logit_limits(value, error, float(t_value(problem.level, max(freedom, 1.0))))
        else:
            low, high = _newcombe_average(problem, average, plan)
        share = (
            n_present / k
            if average == "macro"
            else n_present * (n_present - 1) / (k * (k - 1))
            if average == "hand_till"
            else 1.0
        )
        low, high = min(low * share, value), max(high * share + 1 - share, value)
    return MulticlassArea(average, value, low, high, problem.level, error, smallest, k - n_present, problem.method)


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


AT_MOST = f"{JOINT}, at most"
AVERAGES: tuple[AreaAverage, ...] = ("macro", "weighted", "hand_till")
TOO_MANY = f"with more than {MOST_PAIRWISE} classes, scores are counted for each class against the rest, not for pairs"


def areas_of(evidence: ScoreEvidence, level: float) -> list[MulticlassArea]:
    """The macro and the weighted area against the rest, and Hand and Till's, with their limits."""
    if isinstance(evidence, RowScores):
        return multiclass_areas(
            evidence.values,
            evidence.codes,
            len(evidence.labels),
            AVERAGES,
            level,
            weight=evidence.predictions.weight,
            group=evidence.group_codes,
        )
    tally = evidence.tally
    return areas_of_bins(tally.bins, level) if tally.pairwise else _areas_against_rest(tally, level)


def areas_of_bins(bins: tuple[ScoreBins, ...], level: float) -> list[MulticlassArea]:
    """The areas from the bins of every class's column; which scores one case has together is not known from them.

    A case's influence on an average is a sum over the columns, and its part of each is known from the bins. The
    standard error of the sum is at most the sum of the standard errors of the parts (the triangle inequality), which
    is what they would have if all columns went up and down together: the limits are never too narrow. Of groups, the
    sums over columns are known, and so is the standard error itself.
    """
    first = _Column(0, bins[0])
    plans = [comparison_weights(average, first.totals) for average in AVERAGES]
    errors = [_Error(bins) for _ in AVERAGES]
    areas = np.full((len(bins), len(bins)), np.nan)
    # One column after the other: of many classes, what is derived from all of them at once would be large.
    for place, held in enumerate(bins):
        column = _Column(place, held)
        areas[place] = column.areas
        for average, plan, error in zip(AVERAGES, plans, errors, strict=True):
            error.add(column, column.influence(plan[place], rest=average != "hand_till"))
    problem = _comparisons(bins, first, level)
    averaged_areas = []
    for average, plan, error in zip(AVERAGES, plans, errors, strict=True):
        value = averaged(areas, plan)
        # This part depends on the class alone, which any column knows.
        by_class = share_influence(average, areas, first.totals, value)
        error.add(first, np.broadcast_to(by_class, (len(first.held), len(by_class))))
        averaged_areas.append(limited(problem, average, value, error.found, plan, error.df))
    return averaged_areas


def slack_of(evidence: ScoreEvidence) -> dict[str, float]:
    """How far each averaged area can be off because scores were counted in bins; empty where none is.

    Two cases of different classes in one joined bin count half, and may count nothing or all of a pair.
    """
    if not isinstance(evidence, CountedScores) or not evidence.per_class or evidence.exact:
        return {}
    bins = evidence.tally.bins
    if not evidence.tally.pairwise:
        return _slack_against_rest(evidence.tally)
    totals = _Column(0, bins[0]).totals
    open_ = np.zeros((len(bins), len(totals)))
    tolerance = 0.0
    for place, held in enumerate(bins):
        if not held.joined.any() or not totals[place]:
            continue
        inside = _Column(place, held).held[held.joined]
        # Shares first: the product of two large sums of weights may be no float.
        shares = inside / np.where(totals > 0, totals, 1.0)
        open_[place] = shares[:, place] @ shares / 2
        tolerance = max(tolerance, allowance(held.ranking(place)))
    if not tolerance:
        return {}
    return {average: float((comparison_weights(average, totals) * open_).sum()) + tolerance for average in AVERAGES}


def _comparisons(bins: tuple[ScoreBins, ...], first: _Column, level: float) -> Comparisons:
    """What the limits rest on beside the standard error."""
    present = first.totals > 0
    sizes = first.totals[present] ** 2 / first.squares.sum(axis=0)[present]
    groups = bins[0].groups

    def ranked(one: int, two: int | None) -> Ranking:
        return bins[one].ranking(one) if two is None else _between(bins[one], one, two)

    number, method = (None, AT_MOST) if groups is None else (len(groups.keys), JOINT)
    return Comparisons(first.totals, first.cases, sizes, number, level, ranked, method)


class _Error:
    """The standard error of a sum of influences, one for each column, or what it is at most."""

    def __init__(self, bins: tuple[ScoreBins, ...]) -> None:
        group_keys = [class_bins.groups.keys for class_bins in bins if class_bins.groups is not None]
        self.empty = not bins[0].n
        self.most = 0.0
        self.grouped = bool(group_keys)
        keys, codes = join_keys(group_keys) if group_keys else (np.zeros(0), np.zeros(0, dtype=np.int64))
        self.codes: NDArray[np.int64] = codes
        self.starts = np.cumsum([0, *(len(keys) for keys in group_keys)])
        self.sums, self.parts = np.zeros(len(keys)), np.zeros(len(keys))
        self.independent, self.cases = 0.0, 1.0

    def add(self, column: _Column, influence: Floats, at: int | None = None) -> None:
        """Add the influence by one column; of groups the sums are known, of cases how large they are at most.

        `at` is the place of the column, where it is not that of its class in the bins.
        """
        if not self.grouped:
            self.most += column.deviation(influence)
            return
        place = column.place if at is None else at
        start, stop = self.starts[place : place + 2].tolist()
        self.sums += sums_by(self.codes[start:stop], column.by_group(influence), len(self.sums))
        spread = (column.squares * influence**2).sum(axis=0)
        per_case = np.divide(spread, column.totals, out=np.zeros_like(spread), where=column.totals > 0)
        own = column.by_group(np.broadcast_to(per_case, column.held.shape))
        self.parts += sums_by(self.codes[start:stop], own, len(self.sums))
        self.independent += float(spread.sum())
        self.cases = float(column.totals.sum()) ** 2 / max(float(column.squares.sum()), 1e-300)

    @cached_property
    def _spread(self) -> GroupSpread:
        whole = float(self.parts.sum())
        shares = self.parts / whole if whole > 0 else np.full(len(self.parts), 1 / len(self.parts))
        return group_spread(self.sums, shares, even_pulls(shares, self.cases), independent=self.independent)

    @property
    def found(self) -> float:
        """The standard error; nan without cases, infinite with one group."""
        if self.empty:
            return math.nan
        return math.sqrt(self._spread.variance) if self.grouped else self.most

    @property
    def df(self) -> float:
        """The degrees of freedom that groups leave."""
        return self._spread.df if self.grouped and not self.empty else math.inf


@dataclass(frozen=True, eq=False)
class _Column:
    """The bins of one class's scores, from the lowest up, and what ranks above and below in them."""

    place: int
    bins: ScoreBins

    @cached_property
    def held(self) -> Floats:
        """Cases, or their weight, of each class in each bin."""
        counts = self.bins.counts if self.bins.weights is None else self.bins.weights
        return np.asarray(counts, dtype=np.float64)

    @cached_property
    def squares(self) -> Floats:
        """Sums of squared weights; of cases that count alike, their number."""
        return np.asarray(self.bins.counts if self.bins.squares is None else self.bins.squares, dtype=np.float64)

    @cached_property
    def totals(self) -> Floats:
        """The cases of each class, or their weight."""
        return np.asarray(self.held.sum(axis=0))

    @cached_property
    def cases(self) -> NDArray[np.int64]:
        """The number of cases of each class."""
        return np.asarray(self.bins.counts.sum(axis=0))

    @cached_property
    def below(self) -> Floats:
        """The cases of each class with a score below each bin, and half of those in it."""
        return np.asarray(np.cumsum(self.held, axis=0) - self.held / 2)

    @cached_property
    def above(self) -> Floats:
        """The share of the class itself with a higher score than a case in each bin."""
        own = self.totals[self.place]
        return (own - self.below[:, self.place]) / own if own else np.zeros(len(self.held))

    @cached_property
    def areas(self) -> Floats:
        """The area of this class against each other one by this class's score, nan where there is none."""
        areas = np.full(len(self.totals), np.nan)
        present = self.totals > 0
        if present[self.place]:
            areas[present] = (self.above @ self.held)[present] / self.totals[present]
            areas[self.place] = np.nan
        return areas

    def influence(self, plan: Floats, *, rest: bool) -> Floats:
        """What a case of each class in each bin adds to an average by the comparisons of this class, per weight."""
        if not self.totals[self.place]:
            return np.zeros_like(self.held)
        per_case = np.divide(plan, self.totals, out=np.zeros_like(plan), where=self.totals > 0)
        known, whole = np.nan_to_num(self.areas), float(plan.sum())
        area = float((plan * known).sum())
        expected = np.full(len(plan), area / (whole or 1.0)) if rest else known
        moved = per_case * (self.above[:, None] - expected)
        moved[:, self.place] = (self.below @ per_case - area) / self.totals[self.place]
        return np.asarray(moved)

    def deviation(self, influence: Floats) -> float:
        """The standard error that an influence by bin and class gives, cases within a class about their mean."""
        cases = self.cases.astype(np.float64)
        sums = (self.held * influence).sum(axis=0)
        mean = sums / np.maximum(cases, 1)
        away = (self.squares * influence**2).sum(axis=0) - sums * mean
        within = np.maximum(away, 0.0) * cases / np.maximum(cases - 1, 1)
        return math.sqrt(float(within.sum() + (cases * mean**2).sum()))

    def by_group(self, influence: Floats) -> Floats:
        """The sums of an influence over the cases of each group."""
        groups = self.bins.groups
        if groups is None:
            return np.zeros(0)
        return sums_by(groups.group, influence[groups.place, groups.class_] * groups.count, len(groups.keys))


def _between(bins: ScoreBins, first: int, second: int) -> Ranking:
    """The ranking of one class against another, by the bins of its own score."""
    pair_counts = bins.counts[:, [second, first]]
    filled = np.flatnonzero(pair_counts.any(axis=1))
    at = np.full(len(bins), -1, dtype=np.int64)
    at[filled] = np.arange(len(filled))
    groups = bins.groups
    if groups is not None:
        mine = np.flatnonzero((groups.class_ == first) | (groups.class_ == second))
        keys, code = np.unique(groups.group[mine], return_inverse=True)
        classes = (groups.class_[mine] == first).astype(np.int64)
        groups = BinGroups(groups.keys[keys], code, at[groups.place[mine]], classes, groups.count[mine])
    weights, squares = (None if t is None else t[filled][:, [second, first]] for t in (bins.weights, bins.squares))
    pair_bins = replace(
        bins, low=bins.low[filled], exponent=bins.exponent[filled], counts=pair_counts[filled], weights=weights,
        squares=squares, groups=groups,
    )  # fmt: skip
    return pair_bins.ranking(1)


def _areas_against_rest(tally: ScoreTally, level: float) -> list[MulticlassArea]:
    """The same areas where the bins of each column tell its own class (1) from all the others (0)."""
    bins, columns = tally.bins, find_rest_columns(tally)
    totals, cases, squares = columns.totals, columns.cases, columns.squares
    present = totals > 0
    averages = [average for average in AVERAGES if average != "hand_till"]
    plans = [comparison_weights(average, totals) for average in averages]
    errors = [_Error(bins) for _ in averages]
    # Against each other class what it is against all of them, of which the averages are made.
    areas = np.where(present & ~np.eye(len(bins), dtype=bool), columns.middles[:, None], np.nan)
    for plan, error in zip(plans, errors, strict=True):
        counted = plan.sum(axis=1)
        if not error.grouped:
            # What a case adds to an average grows with what its comparisons count in it.
            error.most = float(counted @ columns.deviations)
            continue
        for place, (held, part) in enumerate(zip(bins, counted.tolist(), strict=True)):
            one = _Column(1, held)
            error.add(one, one.influence(np.array([part, 0.0]), rest=True), place)
    groups = bins[0].groups
    number, method = (None, AT_MOST) if groups is None else (len(groups.keys), JOINT)
    sizes = totals[present] ** 2 / squares[present]
    problem = Comparisons(totals, cases, sizes, number, level, lambda one, _: bins[one].ranking(1), method)
    averaged_areas = []
    for average, plan, error in zip(averages, plans, errors, strict=True):
        value = averaged(areas, plan)
        _add_shares(error, bins, share_influence(average, areas, totals, value), (totals, cases, squares))
        averaged_areas.append(limited(problem, average, value, error.found, plan, error.df))
    nan, like = math.nan, averaged_areas[0]
    pairs = MulticlassArea("hand_till", nan, nan, nan, level, nan, like.smallest, like.absent, method, TOO_MANY)
    return [*averaged_areas, pairs]


def _add_shares(
    error: _Error, bins: tuple[ScoreBins, ...], by_class: Floats, known: tuple[Floats, NDArray[np.int64], Floats]
) -> None:
    """Add the influence that depends on the class of a case alone."""
    if error.grouped:
        for place, held in enumerate(bins):
            column = _Column(1, held)
            error.add(column, np.broadcast_to([0.0, by_class[place]], column.held.shape), place)
        return
    totals, cases, squares = known
    weights = (totals[None, :], squares[None, :]) if bins[0].weighted else (None, None)
    point = np.full(1, POINT, dtype=np.int16)
    whole = ScoreBins(np.zeros(1), point, cases[None, :], POINT, 0.0, 0.0, *weights)
    error.add(_Column(0, whole), by_class[None, :])


def _slack_against_rest(tally: ScoreTally) -> dict[str, float]:
    columns = find_rest_columns(tally)
    tolerance = float(columns.allowances.max(where=columns.open > 0, initial=0.0))
    if not tolerance:
        return {}
    # All classes that have cases count alike in the mean.
    parts = {"macro": (columns.totals > 0).astype(np.float64), "weighted": columns.totals}
    return {average: float(part @ columns.open) / float(part.sum()) + tolerance for average, part in parts.items()}
