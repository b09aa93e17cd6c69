"""Intervals for the areas under the ROC and the precision-recall curve."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from heldout.arrays import Floats
from heldout.evidence import Ranking
from heldout.evidence.ranking import BLOCK
from heldout.intervals.group_leverage import GroupSpread, ranked_spread
from heldout.intervals.proportion import wilson_at
from heldout.intervals.quantiles import single_root, t_value, z_value
from heldout.measures.ranking import average_precision, roc_auc
from heldout.measures.ranking_batch import RankingSpan, add_up, inner, lost_pairs, precision_sums, weigh_precision

# Intervals for the area under the ROC curve: DeLong's variance, and the formulas that need only the area.
#
# The area is a mean over pairs, so its variance comes from two sets of independent terms: for each positive the share
# of negatives it outranks, for each negative the share of positives that outrank it (its placement). One pass over
# the distinct scores gives both. Sources: DeLong, DeLong & Clarke-Pearson (1988), Biometrics 44, 837-845; Obuchowski
# (1997), Biometrics 53, 567-578, for grouped cases; Newcombe (2006), Statistics in Medicine 25, 559-573; Hanley &
# McNeil (1982).

# An area this near to 0 or 1 is there: sums of weights miss it by rounding.
TOLERANCE = 1e-12
# The weight of the usual variance, in cases of each class, when it is averaged with the variance that was observed.
KEPT_CASES = 5.0


def area(ranking: Ranking) -> float:
    """The area under the ROC curve, nan without positives or without negatives."""
    top, bottom = roc_auc.function(ranking)
    return float(top / bottom) if bottom else math.nan


def placements(ranking: Ranking) -> tuple[Floats, Floats]:
    """Share of negatives that a positive at each score outranks, and of positives that outrank a negative there.

    Ties count half. The mean of the first over the positives, and of the second over the negatives, is the area.

    >>> above, below = placements(Ranking(np.array([0.9, 0.4]), np.array([1, 1]), np.array([0, 2])))
    >>> above.tolist(), below.tolist()
    ([1.0, 0.5], [0.25, 0.75])
    """
    above = 1 - (ranking.fp - ranking.negatives * 0.5) / ranking.n_negative
    below = (ranking.tp - ranking.positives * 0.5) / ranking.n_positive
    return above, below


def effective_sizes(ranking: Ranking) -> tuple[float, float]:
    """How many independent positives and negatives there are.

    With weights, Kish's (Σw)²/Σw²; with groups, the groups that hold a positive and those that hold a negative.
    """
    groups = ranking.groups
    if groups is not None:
        numbers = [np.unique(groups.group[column > 0]).size for column in (groups.positives, groups.negatives)]
        return float(numbers[0]), float(numbers[1])
    return kish_sizes(ranking)


def kish_sizes(ranking: Ranking) -> tuple[float, float]:
    """The numbers of positives and negatives; with weights Kish's (Σw)²/Σw², that of equally weighted cases."""
    if ranking.positive_squares is None or ranking.negative_squares is None:
        return float(ranking.n_positive), float(ranking.n_negative)
    squares = ranking.positive_squares.sum(), ranking.negative_squares.sum()
    totals = ranking.n_positive, ranking.n_negative
    p, n = (total**2 / square if square else 0.0 for total, square in zip(totals, squares, strict=True))
    return float(p), float(n)


@dataclass(frozen=True, slots=True)
class PlacementSpread:
    """How much the placements of one class vary: their variance, and the degrees of freedom it was estimated with."""

    variance: float
    freedom: float


def placement_spreads(ranking: Ranking) -> tuple[PlacementSpread, PlacementSpread]:
    """The spread of the placements of the positives and of the negatives; a single case has none.

    The degrees of freedom are those of a chi-square with the same relative variance, 2 (Σd²)² / Σd⁴: where a few cases
    lose nearly all pairs, the variance is known no better than from those few. Satterthwaite (1946).

    >>> seen = Ranking(np.array([3.0, 2.0, 1.0]), np.array([2, 1, 0]), np.array([0, 1, 1]))
    >>> [round(spread.variance, 4) for spread in placement_spreads(seen)]
    [0.0208, 0.0139]
    """
    memo = ranking.memo
    if "placement spreads" not in memo:
        memo["placement spreads"] = _weighted_spreads(ranking) if ranking.weighted else _plain_spreads(ranking)
    spreads: tuple[PlacementSpread, PlacementSpread] = memo["placement spreads"]
    return spreads


def _plain_spreads(ranking: Ranking) -> tuple[PlacementSpread, PlacementSpread]:
    p, q = float(ranking.n_positive), float(ranking.n_negative)
    lost = lost_pairs(ranking)
    # Twice the negatives that outrank a positive, twice the positives that outrank a negative; on the mean.
    centre_up, centre_down = lost / p, (2 * p * q - lost) / q

    def add(span: RankingSpan) -> Floats:
        sums = np.empty((2, 2))
        sides = (
            (span.fp, span.negatives, centre_up, span.positives),
            (span.tp, span.positives, centre_down, span.negatives),
        )
        squares = []
        for double, entries, centre, _ in sides:
            np.multiply(double, 2.0, out=double)
            np.subtract(double, entries, out=double)
            np.subtract(double, centre, out=double)
            squares.append(np.multiply(double, double, out=double))
        for at, (square, side) in enumerate(zip(squares, sides, strict=True)):
            sums[at, 0] = inner(side[3], square)
            np.multiply(square, square, out=square)
            sums[at, 1] = inner(side[3], square)
        return sums

    sums = np.zeros((2, 2)) + add_up(ranking, add)
    up, down = (
        PlacementSpread(float(two / (4 * others * others * (size - 1))) if size > 1 else 0.0, _freedom(two, four))
        for (two, four), size, others in zip(sums, (p, q), (q, p), strict=True)
    )
    return up, down


def _weighted_spreads(ranking: Ranking) -> tuple[PlacementSpread, PlacementSpread]:
    value = area(ranking)
    columns = ranking.positives, ranking.negatives
    squares = ranking.positive_squares, ranking.negative_squares
    totals = ranking.n_positive, ranking.n_negative
    spreads = []
    for placement, column, square, total, size in zip(
        placements(ranking), columns, squares, totals, kish_sizes(ranking), strict=True
    ):
        distance = (placement - value) ** 2
        two = float(inner(square, distance))
        # Fourth powers of weights are not kept: those at one score are taken as equal.
        four = float(inner(square * (square / np.maximum(column, 1e-300)) ** 2, distance * distance))
        variance = two / total**2 * size * size / (size - 1) if size > 1 else 0.0
        spreads.append(PlacementSpread(variance, _freedom(two, four)))
    return spreads[0], spreads[1]


def _freedom(squares: float, fourths: float) -> float:
    return float(2 * squares * squares / fourths) if fourths > 0 else 0.0


def delong_variance(ranking: Ranking) -> float:
    """The variance of the area under the ROC curve; nan with fewer than two positives or negatives.

    With weights it is the sum of squared influences, with groups Obuchowski's with leverage; both are DeLong's own when
    all weights are equal or every case is its own group.

    >>> round(delong_variance(Ranking(np.array([3.0, 2.0, 1.0]), np.array([2, 1, 0]), np.array([0, 1, 1]))), 4)
    0.0139
    """
    memo = ranking.memo
    if "delong variance" not in memo:
        sizes = effective_sizes(ranking)
        if min(sizes) <= 1:
            memo["delong variance"] = math.nan
        elif ranking.groups is not None:
            memo["delong variance"] = clustered_area(ranking).variance
        else:
            spreads = zip(placement_spreads(ranking), sizes, strict=True)
            memo["delong variance"] = sum(spread.variance / size for spread, size in spreads)
    variance: float = memo["delong variance"]
    return variance


def clustered_area(ranking: Ranking) -> GroupSpread:
    """The variance of the area over groups, and the degrees of freedom of its t."""
    memo = ranking.memo
    if "clustered area" not in memo:
        value, (above, below) = area(ranking), placements(ranking)
        up, down = (above - value) / ranking.n_positive, (below - value) / ranking.n_negative
        memo["clustered area"] = ranked_spread(ranking, up, down, by_class=True)
    spread: GroupSpread = memo["clustered area"]
    return spread


def delong(ranking: Ranking, level: float = 0.95) -> tuple[float, float]:
    """DeLong's interval as it was published, area ± z · standard error, cut off at 0 and 1.

    Too short near 1 and with few positives: at an area of 1 its width is 0.

    >>> low, high = delong(Ranking(np.arange(4.0)[::-1], np.array([9, 4, 2, 1]), np.array([1, 3, 5, 9])))
    >>> print(f"{low:.3f} {high:.3f}")
    0.731 0.984
    """
    return _symmetric(ranking, delong_variance(ranking), level)


def hanley_mcneil(ranking: Ranking, level: float = 0.95) -> tuple[float, float]:
    """Area ± z · the standard error that Hanley and McNeil derive from the area alone, cut off at 0 and 1.

    >>> low, high = hanley_mcneil(Ranking(np.arange(4.0)[::-1], np.array([9, 4, 2, 1]), np.array([1, 3, 5, 9])))
    >>> print(f"{low:.3f} {high:.3f}")
    0.726 0.990
    """
    p, q = effective_sizes(ranking)
    return _symmetric(ranking, hanley_mcneil_variance(area(ranking), p, q), level)


def hanley_mcneil_variance(value: float, positives: float, negatives: float) -> float:
    """The variance of an area if both scores were exponential: it needs nothing but the area and the sizes."""
    two_positives, two_negatives = value / (2 - value), 2 * value * value / (1 + value)
    spread = (
        value * (1 - value)
        + (positives - 1) * (two_positives - value * value)
        + (negatives - 1) * (two_negatives - value * value)
    )
    return spread / (positives * negatives) if positives and negatives else math.nan


def delong_logit(ranking: Ranking, level: float = 0.95, *, student: bool = True) -> tuple[float, float]:
    """DeLong's standard error on the logit scale, with t of the smaller class; the default with groups.

    t has one degree of freedom less than the smaller class has cases: the standard error rests on no more than those.
    With groups it has as many as they leave. Where the standard error is 0 (an area of 0 or 1) or missing, Newcombe's
    interval stands in.

    >>> low, high = delong_logit(Ranking(np.arange(4.0)[::-1], np.array([9, 4, 2, 1]), np.array([1, 3, 5, 9])))
    >>> print(f"{low:.3f} {high:.3f}")
    0.661 0.949
    """
    value, variance = area(ranking), delong_variance(ranking)
    if math.isnan(value):
        return 0.0, 1.0
    if not (TOLERANCE < value < 1 - TOLERANCE and variance > 0):
        return newcombe(ranking, level)
    freedom = min(effective_sizes(ranking)) - 1 if ranking.groups is None else clustered_area(ranking).df
    critical = float(t_value(level, freedom)) if student else z_value(level)
    return logit_limits(value, math.sqrt(variance), critical)


def logit_limits(value: float, error: float, critical: float) -> tuple[float, float]:
    """Value ± critical · standard error, taken on the logit scale; the value lies strictly between 0 and 1."""
    middle = math.log(value / (1 - value))
    half = critical * error / (value * (1 - value))
    low, high = (_expit(middle + sign * half) for sign in (-1, 1))
    return low, high


def newcombe(ranking: Ranking, level: float = 0.95) -> tuple[float, float]:
    """Newcombe's method 5: all areas whose own Hanley-McNeil-like variance does not reject the one observed.

    >>> low, high = newcombe(Ranking(np.array([2.0, 1.0]), np.array([20, 0]), np.array([0, 30])))
    >>> print(f"{low:.3f} {high:.3f}")
    0.916 1.000
    """
    return _inverted(ranking, (1.0, 1.0), z_value(level))


def delong_score(ranking: Ranking, level: float = 0.95) -> tuple[float, float]:
    """Newcombe's method 5 with the variance of each class brought to what DeLong sees in it; the default.

    Five cases' worth of Newcombe's variance is kept beside what the cases of a class show, and t has the degrees of
    freedom of the two together. At an area of 0 or 1 nothing is seen, and the interval is Newcombe's own.

    >>> low, high = delong_score(Ranking(np.arange(4.0)[::-1], np.array([9, 4, 2, 1]), np.array([1, 3, 5, 9])))
    >>> print(f"{low:.3f} {high:.3f}")
    0.661 0.945
    """
    value, sizes = area(ranking), effective_sizes(ranking)
    if math.isnan(value):
        return 0.0, 1.0
    expected = usual_spread(value)
    if not TOLERANCE < value < 1 - TOLERANCE or not expected > 0:
        return newcombe(ranking, level)
    spreads = placement_spreads(ranking)
    ratios = [
        (spread.freedom * spread.variance / expected + KEPT_CASES) / (spread.freedom + KEPT_CASES) for spread in spreads
    ]
    parts = [ratio / size for ratio, size in zip(ratios, sizes, strict=True)]
    lost = sum(part * part / (spread.freedom + KEPT_CASES) for part, spread in zip(parts, spreads, strict=True))
    critical = float(t_value(level, sum(parts) ** 2 / lost))
    return _inverted(ranking, (ratios[0], ratios[1]), critical)


def usual_spread(theta: Any) -> Any:
    """The variance of the placements of a class at an area, the mean of Hanley and McNeil's for the two classes."""
    return theta * (1 - theta) * ((1 - theta) / (2 - theta) + theta / (1 + theta)) / 2


def newcombe_of_groups(ranking: Ranking, level: float = 0.95) -> tuple[float, float]:
    """Newcombe's limits with the variance over groups, the farther ones of two ways to count independent cases.

    Either there are as many as groups that hold one, and his variance is brought to the one that is seen; or as many as
    the design effect leaves, with his variance as it is. The one is narrow where few groups hold most cases, the other
    where the areas of groups differ more than those of cases.
    """
    value, spread = area(ranking), clustered_area(ranking)
    if math.isnan(value) or not TOLERANCE < value < 1 - TOLERANCE or not spread.variance > 0:
        return newcombe(ranking, level)
    critical = float(t_value(level, spread.df))
    groups, cases = (
        (sizes, spread.variance / (float(usual_spread(value)) * (1 / sizes[0] + 1 / sizes[1])))
        for sizes in (effective_sizes(ranking), kish_sizes(ranking))
    )
    effect = max(cases[1], 1.0)
    left = max(cases[0][0] / effect, 1.0), max(cases[0][1] / effect, 1.0)
    low, high = _inverted(ranking, (groups[1], groups[1]), critical)
    other_low, other_high = _inverted(ranking, (1.0, 1.0), critical, left)
    return min(low, other_low), max(high, other_high)


def _inverted(
    ranking: Ranking, ratios: tuple[float, float], critical: float, sizes: tuple[float, float] | None = None
) -> tuple[float, float]:
    """All areas that a test with the variance at each of them does not reject."""
    value, (p, q) = area(ranking), sizes or effective_sizes(ranking)
    if math.isnan(value):
        return 0.0, 1.0
    beyond = (q - 1) * ratios[0] + (p - 1) * ratios[1]

    def rejects(theta: float) -> float:
        spread = (theta * (1 - theta) + beyond * usual_spread(theta)) / (p * q)
        return float((value - theta) * (value - theta) - critical * critical * spread)

    # Just outside the estimate nothing is rejected. At an estimate of 0 or 1 the limit on that side is it.
    edge = min(1e-9, value / 2, (1 - value) / 2) if TOLERANCE < value < 1 - TOLERANCE else 1e-9
    low = single_root(rejects, 0.0, value - edge) if value > TOLERANCE else 0.0
    high = single_root(rejects, value + edge, 1.0) if value < 1 - TOLERANCE else 1.0
    return low, high


def _symmetric(ranking: Ranking, variance: float, level: float) -> tuple[float, float]:
    value = area(ranking)
    if math.isnan(value) or math.isnan(variance):
        return 0.0, 1.0
    half = z_value(level) * math.sqrt(max(variance, 0.0))
    return max(value - half, 0.0), min(value + half, 1.0)


def _expit(x: float) -> float:
    return 1 / (1 + math.exp(-x)) if x > 0 else math.exp(x) / (1 + math.exp(x))


# The interval for average precision: influence of each case, on the logit scale.
#
# Average precision is Σ pos · tp/(tp+fp) / P. One more positive at a score changes its own precision, P, and every
# precision at and below that score by fp/(tp+fp)²; one more negative changes those by −tp/(tp+fp)². The sum of
# squares of these influences is the variance, with a random number of positives, as in a sample of cases.


def average_precision_influence(ranking: Ranking) -> tuple[Floats, Floats]:
    """How fast average precision grows with the positives and with the negatives at each distinct score.

    >>> up, down = average_precision_influence(Ranking(np.array([2.0, 1.0]), np.array([1, 1]), np.array([0, 2])))
    >>> up.tolist(), down.tolist()
    ([0.1875, -0.0625], [-0.5625, -0.0625])
    """
    total = float(ranking.n_positive)
    predicted = np.maximum(ranking.tp + ranking.fp, 1e-300)
    precision = ranking.tp / predicted
    value = float(ranking.positives @ precision) / total
    weight = ranking.positives / predicted / predicted
    up = precision - value + _at_and_below(weight * ranking.fp)
    return up / total, -_at_and_below(weight * ranking.tp) / total


def _at_and_below(entries: Floats) -> Any:
    return np.cumsum(entries[::-1])[::-1]


def average_precision_variance(ranking: Ranking) -> float:
    """The variance of average precision; weights enter by their squares, cases of one group together.

    >>> round(average_precision_variance(Ranking(np.array([2.0, 1.0]), np.array([1, 1]), np.array([0, 2]))), 6)
    0.046875
    """
    memo = ranking.memo
    if "precision variance" not in memo:
        memo["precision variance"] = _variance(ranking)
    variance: float = memo["precision variance"]
    return variance


def _variance(ranking: Ranking) -> float:
    groups = ranking.groups
    if groups is not None:
        return clustered_precision(ranking).variance if len(groups.keys) > 1 else math.nan
    return _swept_variance(ranking)


def clustered_precision(ranking: Ranking) -> GroupSpread:
    """The variance of average precision over groups, and the degrees of freedom of its t."""
    memo = ranking.memo
    if "clustered precision" not in memo:
        memo["clustered precision"] = ranked_spread(ranking, *average_precision_influence(ranking))
    spread: GroupSpread = memo["clustered precision"]
    return spread


def _swept_variance(ranking: Ranking) -> float:
    """The same in passes over blocks, so that no array as long as the ranking is made."""
    sums = precision_sums(ranking)
    # What each block and those below it add.
    below = np.cumsum(np.reshape(sums.blocks, (-1, 2))[::-1], axis=0)[::-1]
    top, bottom = average_precision.function(ranking)
    value = top / bottom

    def add(span: RankingSpan) -> float:
        here = slice(span.start, span.start + len(span.tp))
        precision, *parts = weigh_precision(span)
        total = 0.0
        # What one more positive, then one more negative changes at a score and below it: the sum of the block and of
        # those below, less the sum above the score.
        for change, entries, whole, side, squares in zip(
            (precision - value, 0.0), parts, below[span.start // BLOCK],
            (span.positives, span.negatives), (ranking.positive_squares, ranking.negative_squares), strict=True,
        ):  # fmt: skip
            influence = np.cumsum(entries)
            np.subtract(entries, influence, out=influence)
            influence += whole
            influence += change
            np.multiply(influence, influence, out=influence)
            total += float(inner(side if squares is None else squares[here], influence))
        return total

    return float(add_up(ranking, add)) / float(bottom) ** 2


def average_precision_limits(ranking: Ranking, level: float = 0.95) -> tuple[float, float]:
    """Average precision ± t · standard error on the logit scale, t with one degree less than there are positives.

    At an average precision of 1, or with a single positive (or group of them), Wilson's interval with the number of
    positives stands in.

    >>> low, high = average_precision_limits(Ranking(np.array([2.0, 1.0]), np.array([10, 0]), np.array([0, 90])))
    >>> print(f"{low:.3f} {high:.3f}")
    0.722 1.000
    """
    top, bottom = average_precision.function(ranking)
    if not bottom:
        return 0.0, 1.0
    value, size = top / bottom, effective_sizes(ranking)[0]
    variance = average_precision_variance(ranking)
    if value >= 1 - TOLERANCE or size <= 1 or not variance > 0:
        low, high = wilson_at(min(value, 1.0), size, z_value(level))
        return float(low), float(high)
    freedom = size - 1 if ranking.groups is None else max(min(size - 1, clustered_precision(ranking).df), 1.0)
    return logit_limits(value, math.sqrt(variance), float(t_value(level, freedom)))
