"""DeLong's tests: do two classifiers have the same area under the ROC curve, on the same cases or on different ones.

The placements of a case (the share of the other class that it outranks, or that outranks it) are the independent terms
of an area. Those of all models come from one sort of each, and every variance and covariance from two products of
matrices, so m models on n cases cost O(m n log n + m² n). Sources: DeLong, DeLong & Clarke-Pearson (1988), Biometrics
44, 837-845; Sun & Xu (2014) for the sort in place of all pairs; Obuchowski (1997) for grouped cases.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from heldout.arguments import listing, require
from heldout.arrays import Flags, Floats
from heldout.comparisons.pair_test import (
    PER_CASE,
    OmnibusTest,
    mover_limits,
    per_case,
    per_case_of_two,
    register_procedure,
    two_sided,
)
from heldout.engines.score_sort import rank, refuse_scores
from heldout.errors import ValuesError
from heldout.evidence import Ranking
from heldout.evidence.joint_counts import IndexPair, JointScores
from heldout.evidence.probabilities import sums_by
from heldout.intervals.areas import TOLERANCE, area, delong_logit, delong_variance
from heldout.intervals.estimate import PairTest, join_notes, undefined_test
from heldout.intervals.group_leverage import group_spread, leverage_factors
from heldout.intervals.quantiles import t_value, z_value
from heldout.measures.ranking import ONE_CLASS
from heldout.measures.ranking_batch import inner

Interval = Literal["t", "mover"]

DELONG = register_procedure(
    "delong",
    "same cases",
    "Areas under two ROC curves: z test, and an interval with t of the smaller class.",
    "DeLong, DeLong & Clarke-Pearson (1988), Comparing the areas under two or more correlated ROC curves",
    "For two areas of .92 to .998 on 60 to 200 cases the interval held the truth .90 to .95 of the time, that of "
    "delong-mover .94 to .96; where both are .98 on 100 cases the test rejects a true null .009 of the time.",
)
DELONG_MOVER = register_procedure(
    "delong-mover",
    "same cases",
    "Areas under two ROC curves: z test, and an interval made of those of both areas on the logit scale.",
    "DeLong, DeLong & Clarke-Pearson (1988); Zou & Donner (2008), Construction of confidence intervals",
)
DELONG_UNPAIRED = register_procedure(
    "delong-unpaired",
    "different cases",
    "Areas under two ROC curves: Welch's t with DeLong's variances, and an interval made of those of both areas.",
    "DeLong, DeLong & Clarke-Pearson (1988); Welch (1947) for the degrees of freedom; Zou & Donner (2008)",
    "Where both areas are .98 on 100 cases each the test rejects a true null .009 of the time.",
)
TOO_FEW = "DeLong's variance needs two positives and two negatives, so there is no test."
ALIKE = "Both rank the cases alike."
BY_T, MADE_OF_TWO = "delong-t", "mover of delong-logit"
NO_AREAS = "the areas have no variances, so they cannot be compared together"
NO_SPREAD = (
    "No variance of the difference was seen; the test uses the standard error that the interval of the areas implies."
)


@dataclass(frozen=True, slots=True, eq=False)
class Areas:
    """The areas under the ROC curves of several models on the same cases, with their covariance matrix.

    `positives` and `negatives` are the numbers of independent ones: groups where there are groups, Kish's with weights.
    """

    values: Floats
    covariance: Floats
    positives: float
    negatives: float
    n: int

    def __len__(self) -> int:
        return len(self.values)

    @property
    def df(self) -> float:
        """One less than the smaller class has: no standard error rests on more."""
        return min(self.positives, self.negatives) - 1


@dataclass(frozen=True, slots=True)
class AllEqual:
    """The test that several areas are all the same: chi-square with its degrees of freedom."""

    statistic: float
    df: int
    p: float


@dataclass(frozen=True, slots=True, eq=False)
class AreaGroups:
    """The groups behind areas: the share of each in the positives and in the negatives, and what single cases give.

    `up` and `down` are the sums over single cases of the products of their contributions, (m, m); `cases` are the
    numbers of positives and of negatives, with weights Kish's.
    """

    positives: Floats
    negatives: Floats
    up: Floats
    down: Floats
    cases: tuple[float, float]

    @property
    def number(self) -> int:
        """How many groups there are."""
        return len(self.positives)


@dataclass(frozen=True, slots=True, eq=False)
class Influence:
    """What each case, or group, contributes to the areas of m models: arrays (m, units), the mean taken off."""

    values: Floats
    up: Floats
    down: Floats
    sizes: tuple[float, float]
    groups: AreaGroups | None = None

    def covariance(self, contrast: Floats | None = None) -> Floats:
        """The covariance matrix of the areas, or of contrasts of them (one to a row)."""
        up, down = (part if contrast is None else contrast @ part for part in (self.up, self.down))
        if min(self.sizes) <= 1:
            return np.full((len(up), len(up)), math.nan)
        p, q = (size / (size - 1) for size in self.sizes)
        groups = self.groups
        if groups is None:
            return np.asarray(p * (up @ up.T) + q * (down @ down.T))
        up = up * leverage_factors(groups.positives, int(self.sizes[0]))
        down = down * leverage_factors(groups.negatives, int(self.sizes[1]))
        across = up @ down.T
        factor = groups.number / (groups.number - 1)
        return np.asarray(p * (up @ up.T) + q * (down @ down.T) + factor * (across + across.T))

    def areas(self, n: int) -> Areas:
        """The areas of the models on n cases, with their covariance."""
        return Areas(self.values, self.covariance(), *self.sizes, n=n)

    def freedom(self, contrast: Floats) -> float:
        """The degrees of freedom that groups leave to the t of one contrast of the areas."""
        groups, smaller = self.groups, min(self.sizes) - 1
        if groups is None:
            return smaller
        sums = contrast @ (self.up + self.down)
        spread = [max(float(contrast @ part @ contrast), 0.0) for part in (groups.up, groups.down)]
        independent = sum(spread)
        if not independent > 0:
            return smaller
        shares = (spread[0] * groups.positives + spread[1] * groups.negatives) / independent
        parts = zip((groups.positives, groups.negatives), spread, groups.cases, strict=True)
        pulls = sum(held * math.sqrt(part / independent * cases) for held, part, cases in parts)
        return min(group_spread(sums, shares, np.asarray(pulls), independent=independent).df, max(smaller, 1.0))


def delong_paired(
    scores_a: ArrayLike,
    scores_b: ArrayLike,
    positive: ArrayLike,
    *,
    level: float = 0.95,
    interval: Interval = "t",
    weight: Floats | None = None,
    groups: NDArray[Any] | None = None,
) -> PairTest:
    """Area of A less area of B on the same cases.

    The p-value is that of z, as published. The interval has t of the smaller class instead, which covers better with
    few cases; where a sample area is 0 or 1 it is made of the two intervals on the logit scale, since DeLong's variance
    is 0 there. With `interval="mover"` it is made of the two in any case, which covers better for areas near 1.

    >>> truth = [True] * 4 + [False] * 4
    >>> result = delong_paired([8, 7, 6, 3, 5, 4, 2, 1], [8, 5, 3, 2, 7, 6, 4, 1], truth)
    >>> print(f"{result.difference:.3f} [{result.low:.3f}, {result.high:.3f}] p = {result.p:.3f}")
    0.375 [-0.275, 1.000] p = 0.066
    """
    rows, mask = resolve_scores([np.asarray(scores_a), np.asarray(scores_b)], positive)
    influence = find_influence(rows, mask, weight, groups)
    variance = influence.covariance(np.array([[1.0, -1.0]]))[0, 0].item()
    areas = influence.areas(len(mask))
    df = influence.freedom(np.array([1.0, -1.0])) if weight is not None or groups is not None else None
    source = _rank_rows(rows, mask, weight, groups)
    return paired_areas(areas, (0, 1), variance, source, level=level, interval=interval, df=df)


def delong_pairs(
    scores: ArrayLike,
    positive: ArrayLike,
    *,
    level: float = 0.95,
    interval: Interval = "t",
    weight: Floats | None = None,
    groups: NDArray[Any] | None = None,
    influence: Influence | None = None,
) -> dict[tuple[int, int], PairTest]:
    """Every pair of m models on the same cases: (0, 1), (0, 2) … (m − 2, m − 1); p-values are not corrected.

    `influence` is that of the same scores, where it is known already.

    >>> result = delong_pairs([[4, 2, 3, 1], [4, 3, 2, 1], [2, 3, 1, 4]], [True, True, False, False])
    >>> [(pair, tested.difference) for pair, tested in result.items()]
    [((0, 1), -0.25), ((0, 2), 0.25), ((1, 2), 0.5)]
    """
    rows, mask = resolve_scores(scores, positive)
    influence = influence or find_influence(rows, mask, weight, groups)
    areas = influence.areas(len(mask))
    covariance, variances = areas.covariance, np.diag(areas.covariance)
    rankings = _rank_rows(rows, mask, weight, groups)
    tests = {}
    for a, b in combinations(range(len(rows)), 2):
        variance = float(variances[a] + variances[b] - 2 * covariance[a, b])
        contrast = np.zeros((1, len(rows)))
        contrast[0, [a, b]] = 1.0, -1.0
        if variance <= 1e-9 * float(variances[a] + variances[b]):
            # Most digits are gone: the difference of the influences has them.
            variance = influence.covariance(contrast)[0, 0].item()
        df = influence.freedom(contrast[0]) if weight is not None or groups is not None else None
        tests[a, b] = paired_areas(areas, (a, b), variance, rankings, level=level, interval=interval, df=df)
    return tests


def all_areas_equal(areas: Areas) -> AllEqual:
    """DeLong's chi-square test that all the areas are the same; models that rank alike count once.

    >>> scores, mask = resolve_scores([[2.0, 1.0, 4.0, 0.0]] * 3, [True, False, True, False])
    >>> all_areas_equal(find_influence(scores, mask).areas(4))
    AllEqual(statistic=0.0, df=0, p=1.0)
    """
    m = len(areas)
    contrast = np.eye(m - 1, m) - np.eye(m - 1, m, k=1)
    if np.isnan(areas.covariance).any() or np.isnan(areas.values).any():
        return AllEqual(math.nan, 0, math.nan)
    spread, gap = contrast @ areas.covariance @ contrast.T, contrast @ areas.values
    sizes, axes = np.linalg.eigh(spread)
    seen = sizes > 1e-10 * max(float(np.trace(areas.covariance)), 1e-300)
    if not seen.any():
        return AllEqual(0.0, 0, 1.0) if not gap.any() else AllEqual(math.nan, 0, math.nan)
    statistic = float((((axes.T @ gap)[seen]) ** 2 / sizes[seen]).sum())
    from scipy.special import chdtrc

    df = int(seen.sum())
    return AllEqual(statistic, df, float(chdtrc(df, statistic)))


def compare_all_areas(areas: Areas, name: str = "roc_auc", *, level: float = 0.95) -> OmnibusTest:
    """DeLong's chi-square: are the areas under all ROC curves the same. The difference is that of best and worst.

    >>> truth = [True, True, True, False, False, False]
    >>> scores, mask = resolve_scores([[6, 5, 3, 4, 2, 1], [4, 6, 2, 5, 3, 1], [2, 3, 4, 5, 6, 1]], truth)
    >>> result = compare_all_areas(find_influence(scores, mask).areas(6))
    >>> result.df, result.about
    (2.0, 'the areas under the ROC curves (roc_auc)')
    """
    test = all_areas_equal(areas)
    return OmnibusTest(
        float(np.ptp(areas.values)), np.nan, np.nan, level, DELONG.name, test.p, areas.n, test.statistic,
        float(test.df), about=f"the areas under the ROC curves ({name})",
        note=NO_AREAS if np.isnan(test.p) else "",
    )  # fmt: skip


def delong_unpaired(a: Ranking, b: Ranking, *, level: float = 0.95) -> PairTest:
    """Area of one ranking less that of another, which ranks different cases.

    The test is pROC's: Welch's t, each variance with as many degrees of freedom as there are cases (or groups), less
    one. The interval is made of the two areas' own intervals on the logit scale, so it stays within −1 and 1.

    >>> first = Ranking(np.arange(4.0)[::-1], np.array([9, 4, 2, 1]), np.array([1, 3, 5, 9]))
    >>> second = Ranking(np.arange(4.0)[::-1], np.array([6, 4, 3, 3]), np.array([3, 4, 5, 6]))
    >>> result = delong_unpaired(first, second)
    >>> print(f"{result.difference:.3f} [{result.low:.3f}, {result.high:.3f}] p = {result.p:.3f}, df = {result.df:.1f}")
    0.214 [-0.046, 0.447] p = 0.067, df = 58.3
    """
    values, variances = (area(a), area(b)), (delong_variance(a), delong_variance(b))
    n = sum(_cases(side) for side in (a, b))
    if math.isnan(values[0]) or math.isnan(values[1]):
        return undefined_area(level, n, DELONG_UNPAIRED.name)
    difference = values[0] - values[1]
    low, high = mover_limits(values, (delong_logit(a, level), delong_logit(b, level)))
    if math.isnan(sum(variances)):
        return _without_test(difference, level, n, DELONG_UNPAIRED.name)
    total, note, seen = sum(variances), "", variances
    if not total > 0:
        total, note = _implied(difference, low, high, level), NO_SPREAD
        variances = total / 2, total / 2
    units = _units(a), _units(b)
    df = total**2 / sum(part**2 / (size - 1) for part, size in zip(variances, units, strict=True))
    statistic = difference / math.sqrt(total)
    p = two_sided(statistic, df)
    return _with_disagreement(PairTest(
        difference, low, high, level, DELONG_UNPAIRED.name, p, n, statistic, df,
        effect=per_case_of_two(difference, math.sqrt(sum(seen)), _cases(a), _cases(b)), effect_name=PER_CASE,
        note=note, interval_method=MADE_OF_TWO,
    ), "Welch's t, as in pROC", "made of those of both areas")  # fmt: skip


def undefined_area(level: float, n: int, method: str) -> PairTest:
    """What there is to say without positives or without negatives."""
    return undefined_test(ONE_CLASS, level, method, n, reach=1.0)


def _without_test(difference: float, level: float, n: int, method: str) -> PairTest:
    return PairTest(difference, -1.0, 1.0, level, method, math.nan, n, note=TOO_FEW)


@dataclass(frozen=True, slots=True)
class RankingSource:
    """What a test of two areas asks of the cases besides: the ranking of a model, and whether two rank all alike."""

    ranking: Callable[[int], Ranking]
    same_order: Callable[[int, int], bool]
    units: str = "cases"


def _rank_rows(scores: Floats, mask: Flags, weight: Floats | None, groups: NDArray[Any] | None) -> RankingSource:
    return RankingSource(
        lambda index: rank(scores[index], mask, weight=weight, group=_coded(groups)),
        lambda a, b: _same_order(scores[a], scores[b]),
        "cases" if groups is None else "groups",
    )


def paired_areas(
    areas: Areas,
    pair: tuple[int, int],
    variance: float,
    rankings: RankingSource,
    *,
    level: float,
    interval: Interval,
    df: float | None,
) -> PairTest:
    """The test of two areas on the same cases, from the areas and the variance of their difference.

    With groups or weights, `df` are the degrees of freedom of both the interval and the test, which then agree.
    """
    name = DELONG.name if interval == "t" else DELONG_MOVER.name
    a, b = pair
    values = float(areas.values[a]), float(areas.values[b])
    if math.isnan(values[0]):
        return undefined_area(level, areas.n, name)
    difference = values[0] - values[1]
    if math.isnan(variance):
        return _without_test(difference, level, areas.n, name)
    extreme = any(not TOLERANCE < value < 1 - TOLERANCE for value in values)
    # Where every case has the same part in the difference there is no variance, but rounding may leave a trace of one.
    spreadless = not variance > (TOLERANCE * difference) ** 2
    if spreadless and (rankings.same_order(a, b) if extreme else abs(difference) <= TOLERANCE):
        return PairTest(
            0.0, 0.0, 0.0, level, name, 1.0, areas.n, 0.0, note=ALIKE, interval_method=BY_T
        )  # fmt: skip
    error, note, by = 0.0 if spreadless else math.sqrt(variance), "", BY_T
    if extreme or spreadless or interval == "mover":
        by = MADE_OF_TWO
        sides = [delong_logit(rankings.ranking(at), level) for at in pair]
        own = areas.covariance[a, a], areas.covariance[b, b]
        product = math.sqrt(max(float(own[0] * own[1]), 0.0))
        # Areas that move together without any spread would leave the interval no width.
        known = product > 0 and not (spreadless and not extreme)
        correlation = float(areas.covariance[a, b]) / product if known else 0.0
        low, high = mover_limits(values, (sides[0], sides[1]), correlation)
    else:
        half = float(t_value(level, areas.df if df is None else df)) * error
        low, high = difference - half, difference + half
    if not error > 0:
        if difference == 0:
            return PairTest(0.0, low, high, level, name, 1.0, areas.n, 0.0, interval_method=by)
        error, note = math.sqrt(_implied(difference, low, high, level)), NO_SPREAD
    statistic = difference / error
    p = math.erfc(abs(statistic) / math.sqrt(2)) if df is None else two_sided(statistic, df)
    low, high = max(low, -1.0), min(high, 1.0)
    test = PairTest(
        difference, low, high, level, name, p, areas.n, statistic, math.nan if df is None else df, effect_name=PER_CASE,
        effect=per_case(difference, math.sqrt(max(variance, 0.0)), areas.n), note=note, interval_method=by,
    )  # fmt: skip
    of_t = f"by t of the {areas.df + 1:,.0f} {rankings.units} of the smaller class"
    return _with_disagreement(
        test,
        "the normal distribution, as in pROC" if df is None else f"t with {df:.3g} degrees of freedom",
        of_t if by == BY_T else "made of those of both areas",
    )


def _with_disagreement(result: PairTest, test: str, interval: str) -> PairTest:
    """Say so where the p-value and the interval, which rest on different distributions, do not agree."""
    outside = result.low > 0 or result.high < 0
    if (result.p <= 1 - result.level) == outside:
        return result
    text = f"p is by {test}; the interval, {interval}, {'leaves out' if outside else 'holds'} 0"
    return replace(result, note=join_notes(result.note, text))


def _implied(difference: float, low: float, high: float, level: float) -> float:
    """The variance that the limit towards no difference implies."""
    reach = difference - low if difference > 0 else high - difference
    return (reach / z_value(level)) ** 2 or 1.0


def _same_order(a: Floats, b: Floats) -> bool:
    first, second = (np.unique(side, return_inverse=True)[1] for side in (a, b))
    return bool(np.array_equal(first, second))


def resolve_scores(scores: ArrayLike | list[NDArray[Any]], positive: ArrayLike) -> tuple[Floats, Flags]:
    """Scores as an array (m, n) and the mask of the positives, or an error that says what is wrong."""
    mask = np.asarray(positive, dtype=np.bool_)
    if isinstance(scores, list) and len({np.shape(row) for row in scores}) > 1:
        raise ValuesError(
            f"The models have {listing(len(row) for row in scores)} scores, and the same cases are needed.",
            hint="give every model one score for each case, in the same order.",
        )
    rows = np.atleast_2d(np.asarray(scores, dtype=np.float64))
    if rows.ndim != 2 or rows.shape[1] != len(mask):
        raise ValuesError(
            f"Every model needs one score for each of the {len(mask):,} cases. Got an array of shape {rows.shape}.",
            hint="give one row of scores per model, all for the same cases in the same order.",
        )
    for at, row in enumerate(rows):
        if not np.isfinite(row).all():
            raise refuse_scores(row, f" of model {at + 1}")
    return rows, mask


def find_influence(
    scores: Floats, mask: Flags, weight: Floats | None = None, groups: NDArray[Any] | None = None
) -> Influence:
    """What each case, or group, contributes to the area of every model: one sort of each row of scores (m, n)."""
    m, n = scores.shape
    weights = None if weight is None else np.asarray(weight, dtype=np.float64)
    up_weight, down_weight = (
        np.ones(int(side.sum())) if weights is None else weights[side] for side in (mask, ~mask)
    )  # fmt: skip
    totals = float(up_weight.sum()), float(down_weight.sum())
    if min(totals) <= 0:
        return Influence(np.full(m, math.nan), np.zeros((m, 0)), np.zeros((m, 0)), (0.0, 0.0))
    up, down = np.empty((m, len(up_weight))), np.empty((m, len(down_weight)))
    values = np.empty(m)
    places = np.flatnonzero(mask), np.flatnonzero(~mask)
    for at in range(m):
        placed = case_placements(scores[at], mask, weights)
        np.take(placed, places[0], out=up[at])
        np.take(placed, places[1], out=down[at])
        values[at] = inner(up[at], up_weight) / totals[0]
    for part, own, total in ((up, up_weight, totals[0]), (down, down_weight, totals[1])):
        np.subtract(part, values[:, None], out=part)
        np.multiply(part, own / total, out=part)
    if groups is None:
        sizes = (float(total**2 / inner(own, own)) for own, total in zip((up_weight, down_weight), totals, strict=True))
        return Influence(values, up, down, (next(sizes), next(sizes)))
    keys, code = np.unique(groups, return_inverse=True)
    if len(code) != n:
        raise ValuesError(f"{n:,} cases have {len(code):,} groups.", hint="give one group for each case.")
    summed: list[Floats] = [
        np.stack([np.bincount(code[side], weights=row, minlength=len(keys)).astype(np.float64) for row in part])
        for part, side in ((up, mask), (down, ~mask))
    ]
    group_weights = [sums_by(code[side], own, len(keys)) for side, own in ((mask, up_weight), (~mask, down_weight))]
    sizes_met = tuple(float((own > 0).sum()) for own in group_weights)
    kish = tuple(total**2 / float(inner(own, own)) for own, total in zip((up_weight, down_weight), totals, strict=True))
    behind = AreaGroups(
        group_weights[0] / totals[0], group_weights[1] / totals[1], up @ up.T, down @ down.T, (kish[0], kish[1])
    )
    return Influence(values, summed[0], summed[1], (sizes_met[0], sizes_met[1]), behind)


def case_placements(scores: Floats, positive: Flags, weight: Floats | None = None) -> Floats:
    """For each case the share of the other class that is on its right side of it; ties count half.

    That is the share of negatives below a positive, and of positives above a negative: the mean over either class is
    the area.

    >>> case_placements(np.array([0.9, 0.4, 0.4, 0.1]), np.array([True, True, False, False]))
    array([1.  , 0.75, 0.75, 1.  ])
    """
    order = np.argsort(scores)
    ordered, up = scores[order], positive[order]
    if weight is None:
        tp = np.cumsum(up, dtype=np.float64)
        fp = np.arange(1.0, len(up) + 1) - tp
    else:
        own = weight[order]
        tp, fp = np.cumsum(np.where(up, own, 0.0)), np.cumsum(np.where(up, 0.0, own))
    total_p, total_n = float(tp[-1]), float(fp[-1])
    fresh = ordered[1:] != ordered[:-1]
    if not fresh.all():
        # Of the cases at the same score, half are below.
        last = np.append(np.flatnonzero(fresh), len(scores) - 1)
        sizes = np.diff(last, prepend=-1)
        ends = tp[last], fp[last]
        tp, fp = (np.repeat((end + np.concatenate([[0.0], end[:-1]])) / 2, sizes) for end in ends)
    np.divide(fp, total_n, out=fp)
    np.divide(tp, -total_p, out=tp)
    np.add(tp, 1.0, out=tp)
    placed = np.empty(len(scores))
    placed[order] = np.where(up, fp, tp)
    return placed


def _coded(groups: NDArray[Any] | None) -> tuple[NDArray[np.int64], NDArray[Any]] | None:
    if groups is None:
        return None
    keys, code = np.unique(groups, return_inverse=True)
    return code, keys


def _cases(ranking: Ranking) -> int:
    return round(ranking.n) if not ranking.weighted else len(ranking)


def _units(ranking: Ranking) -> float:
    return float(len(ranking.groups.keys)) if ranking.groups is not None else float(ranking.n)


# DeLong's test of areas from sums over the cases, without the cases themselves.
#
# A placement depends on the bin of its score only, so the variance of a difference of areas is a sum over cases that
# any engine can make. Where bins hold several scores, the placements are known up to a bound: by the triangle
# inequality the standard error is at most what is seen plus that bound, and the test and the interval are made with
# the most that it can be, so that they never claim more than the rows would.


def counted_areas(joint: JointScores) -> Areas:
    """The areas of all models with their covariance matrix."""
    if joint.groups is not None:
        influence = _grouped(joint)
        return influence.areas(joint.n)
    m = len(joint.placed)
    own = [_variance(joint, *placed.squares) for placed in joint.placed]
    covariance = np.diag(own)
    for a in range(m):
        for b in range(a + 1, m):
            apart = _variance(joint, joint.up[a, b], joint.down[a, b])
            covariance[a, b] = covariance[b, a] = (own[a] + own[b] - apart) / 2
    values = np.array([placed.area for placed in joint.placed])
    return Areas(values, covariance, float(joint.positives), float(joint.negatives), joint.n)


def delong_counted(
    joint: JointScores,
    pair: IndexPair,
    ranking: Callable[[int], Ranking],
    *,
    level: float = 0.95,
    interval: Interval = "t",
) -> PairTest:
    """The area of the one less that of the other on the same cases, as `delong_paired` tests it; pairs in order."""
    a, b = pair
    sides = joint.placed[a], joint.placed[b]
    exact = sides[0].exact and sides[1].exact
    unseen = [sides[0].unseen[at] + sides[1].unseen[at] for at in (0, 1)]
    variance = _grouped_most(joint, pair, unseen) if joint.groups is not None else _most(joint, pair, unseen)
    units = "cases" if joint.groups is None else "groups"
    alike = RankingSource(ranking, lambda *_: exact and not joint.moved[pair], units)
    df = None
    if joint.groups is not None:
        contrast = np.zeros(len(joint.placed))
        contrast[list(pair)] = 1.0, -1.0
        df = _grouped(joint).freedom(contrast)
    test = paired_areas(counted_areas(joint), pair, variance, alike, level=level, interval=interval, df=df)
    return test if exact or math.isnan(test.p) else widen_by_slack(test, sides[0].slack + sides[1].slack)


def widen_by_slack(test: PairTest, slack: float) -> PairTest:
    """The same with the interval and the p-value that hold wherever within the slack the difference is."""
    size = abs(test.difference)
    nearest = max(size - slack, 0.0) / size if size else 0.0
    near = abs(test.statistic) * nearest
    p = test.p
    if test.statistic and math.isnan(test.df):
        p = math.erfc(near / math.sqrt(2))
    elif test.statistic:
        p = two_sided(near, test.df)
    text = f"the areas come from bins of scores, and their difference is known to ±{slack:.1g}: p and interval allow it"
    return replace(
        test,
        low=max(test.low - slack, -1.0),
        high=min(test.high + slack, 1.0),
        p=p,
        note=join_notes(test.note, text),
    )


def _most(joint: JointScores, pair: IndexPair, unseen: Sequence[float]) -> float:
    """The largest variance of the difference that goes with what was seen; that itself where nothing is unseen."""
    seen = joint.up[pair], joint.down[pair]
    if not any(unseen):
        return _variance(joint, *seen)
    return _variance(joint, *((math.sqrt(part) + more) ** 2 for part, more in zip(seen, unseen, strict=True)))


def _grouped(joint: JointScores) -> Influence:
    groups = require(joint.groups, "there are no groups")
    p, q = max(joint.positives, 1), max(joint.negatives, 1)
    values = np.array([placed.area for placed in joint.placed])
    sizes = float((groups.positives > 0).sum()), float((groups.negatives > 0).sum())
    own = [[placed.squares[side] for placed in joint.placed] for side in (0, 1)]
    products = [_products(squares, apart) for squares, apart in zip(own, (joint.up, joint.down), strict=True)]
    behind = AreaGroups(
        groups.positives / p, groups.negatives / q, products[0] / p**2, products[1] / q**2, (float(p), float(q))
    )
    return Influence(values, groups.up / p, groups.down / q, sizes, behind)


def _products(squares: Sequence[float], apart: Mapping[IndexPair, float]) -> Floats:
    """The sums of products, from those of the squares and of the squared differences."""
    products = np.diag(np.asarray(squares, dtype=np.float64))
    for (a, b), difference in apart.items():
        products[a, b] = products[b, a] = (squares[a] + squares[b] - difference) / 2
    return products


def _grouped_most(joint: JointScores, pair: IndexPair, unseen: Sequence[float]) -> float:
    """The same for groups: the form of Obuchowski's variance is never negative, so its root obeys the triangle too."""
    influence = _grouped(joint)
    contrast = np.zeros((1, len(joint.placed)))
    contrast[0, list(pair)] = 1.0, -1.0
    variance = float(influence.covariance(contrast)[0, 0])
    if not any(unseen) or math.isnan(variance) or joint.groups is None:
        return variance
    # A sum over the cases of a group is off by at most the root of their number times the length of the vector.
    largest = math.sqrt(int(joint.groups.n.max()))
    more = sum(
        math.sqrt(size / (size - 1)) * largest * part / total
        for size, part, total in zip(influence.sizes, unseen, (joint.positives, joint.negatives), strict=True)
    )
    return (math.sqrt(max(variance, 0.0)) + more) ** 2


def _variance(joint: JointScores, up: float, down: float) -> float:
    p, q = joint.positives, joint.negatives
    return math.nan if min(p, q) < 2 else up / (p * (p - 1)) + down / (q * (q - 1))
