"""Intervals of measures at one point, or over a part, of a curve: of all thresholds that the cases do not rule out.

Such a measure is a value at a threshold that is itself unknown: where the false positive rate is .1, where precision
falls below .9. Every threshold gets two tests: whether it can be the one that is meant, with deviate Q, and whether
the value there can be v. Together they reject v where the squares add up to more than z². So the interval runs over the
limits at every threshold with √(z² − Q²) in place of z. The first test is about one margin of the table at the
threshold, the second about the cases given this margin, which makes the two independent.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from heldout.arrays import Floats
from heldout.evidence import Ranking
from heldout.intervals.areas import kish_sizes
from heldout.intervals.proportion import mid_p, wilson_at
from heldout.intervals.quantiles import z_value
from heldout.measures.quantity import Bound
from heldout.measures.ranking import BY_RECALL, TOLERANCE, value_range

TINY = 1e-300
# Critical values are at least this, so that nothing is divided by 0.
LEAST = 1e-9
# The most depths that are tried; neighbours are a small part of a standard deviation apart.
MOST_DEPTHS = 2001
# How many times a threshold's deviate counts. The cases between two thresholds move both tests, so the best of many
# thresholds owes its place to chance as well: counted once, intervals are too wide. Chosen by coverage, which is that
# of both sides together; where each limit must keep its error by itself, the deviate counts once.
DOUBTED = 1.2


@dataclass(frozen=True, slots=True)
class ThresholdStates:
    """TP and FP at every threshold, from the one above all scores down; weights are brought to independent cases."""

    tp: Floats
    fp: Floats

    @property
    def positives(self) -> float:
        """The number of positives."""
        return float(self.tp[-1])

    @property
    def negatives(self) -> float:
        """The number of negatives."""
        return float(self.fp[-1])

    @property
    def backwards(self) -> ThresholdStates:
        """The same with the lowest score first."""
        return ThresholdStates(self.positives - self.tp[::-1], self.negatives - self.fp[::-1])

    @property
    def mirrored(self) -> ThresholdStates:
        """The same with the classes exchanged and the lowest score first."""
        return ThresholdStates(self.negatives - self.fp[::-1], self.positives - self.tp[::-1])


def threshold_states(ranking: Ranking, *, together: bool = False) -> ThresholdStates:
    """The states of a ranking; with weights each class has Kish's size, or `together` both have that of all cases.

    Measures that depend on how frequent positives are need the second, which keeps the share of positives.

    >>> states = threshold_states(Ranking(np.array([0.9, 0.4]), np.array([1, 1]), np.array([0, 2])))
    >>> states.tp.tolist(), states.fp.tolist()
    ([0.0, 1.0, 2.0], [0.0, 0.0, 2.0])
    """
    up = down = 1.0
    squares = ranking.positive_squares, ranking.negative_squares
    if squares[0] is not None and squares[1] is not None:
        if together:
            up = down = float(ranking.n / max(squares[0].sum() + squares[1].sum(), TINY))
        else:
            sizes, totals = kish_sizes(ranking), (ranking.n_positive, ranking.n_negative)
            up, down = (float(size / max(total, TINY)) for size, total in zip(sizes, totals, strict=True))
    tp, fp = (np.concatenate([[0.0], column * scale]) for column, scale in ((ranking.tp, up), (ranking.fp, down)))
    return ThresholdStates(tp, fp)


def binomial_deviate(count: Any, trials: float, rate: float, critical: float) -> Floats:
    """The normal deviate of the mid-P binomial distribution at a count; far beyond `critical` it is infinite.

    >>> np.round(binomial_deviate([1.0, 2.0, 3.0, 99.0], 100.0, 0.02, 2.0), 2).tolist()
    [-0.62, 0.1, 0.73, inf]
    """
    from scipy.special import betainc, ndtri

    count = np.asarray(count, dtype=np.float64)
    expected = trials * rate
    if not 0 < rate < 1:
        return np.where(count > expected + LEAST, np.inf, np.where(count < expected - LEAST, -np.inf, 0.0))
    deviates = np.where(count > expected, np.inf, -np.inf)
    # The beta functions are slow: only counts that could be within the critical value are looked at.
    reach = (2 * critical + 4) * np.sqrt(expected * (1 - rate)) + (critical + 3) ** 2
    near = np.abs(count - expected) <= reach
    x = count[near]
    rest = np.maximum(trials - x, 0.0)
    # P(X > x) and P(X ≥ x); their mean is the upper tail, and each tail is taken as it is, so that neither cancels.
    over = np.where(rest > LEAST, betainc(x + 1, np.maximum(rest, LEAST), rate), 0.0)
    at_least = np.where(x > LEAST, betainc(np.maximum(x, LEAST), rest + 1, rate), 1.0)
    under = np.where(x > LEAST, betainc(rest + 1, np.maximum(x, LEAST), 1 - rate), 0.0)
    up_to = np.where(rest > LEAST, betainc(np.maximum(rest, LEAST), x + 1, 1 - rate), 1.0)
    upper, lower = (over + at_least) / 2, (under + up_to) / 2
    deviates[near] = np.where(lower < upper, ndtri(lower), -ndtri(upper))
    return np.asarray(deviates)


def list_depths(cut: float, total: float, critical: float) -> Floats:
    """How many cases may lie above a threshold that is meant to have `cut` of them above it, which is among them.

    >>> list_depths(2.5, 6.0, 1.0).tolist()
    [1.0, 2.0, 2.5, 3.0, 4.0, 5.0]
    """
    away = (2 * critical + 4) * np.sqrt(cut) + (critical + 3) ** 2
    first, last = max(np.ceil(cut - away), 1.0), min(np.floor(cut + away), np.ceil(total) - 1)
    many = last - first >= MOST_DEPTHS
    depths = np.linspace(first, last, MOST_DEPTHS) if many else np.arange(first, last + 0.5)
    return np.unique(np.append(depths, cut))


def weigh_doubts(states: ThresholdStates, weight: float) -> Floats:
    """How many times the deviate of each threshold counts: once where a tie makes it, in which no threshold lies.

    >>> weigh_doubts(ThresholdStates(np.array([0.0, 1.0, 3.0]), np.array([0.0, 0.0, 2.0])), 1.2).tolist()
    [1.2, 1.2, 1.0]
    """
    steps = np.diff(states.tp + states.fp, prepend=0.0)
    return np.asarray(np.where(steps > 1 + TOLERANCE, 1.0, weight), dtype=np.float64)


def remaining(critical: float, deviate: Floats) -> Floats:
    """What is left of a critical value for a second test, where the first has this deviate."""
    return np.sqrt(np.maximum(critical * critical - np.square(deviate), LEAST * LEAST))


def hull(low: Floats, high: Floats, value: float, ends: tuple[float, float] = (0.0, 1.0)) -> tuple[float, float]:
    """The interval from the lowest to the highest limit, inside the range; it holds the value."""
    least = min(value, float(np.min(low, initial=value)))
    most = max(value, float(np.max(high, initial=value)))
    return max(least, ends[0]), min(most, ends[1])


# The largest possible variance is averaged with the observed one, with the weight of so many cases; that of negatives
# inside the range only where a limit must keep its error by itself.
KEPT_POSITIVES, KEPT_NEGATIVES = 1.0, 2.0


def partial_area_limits(
    ranking: Ranking, bound: Bound, level: float = 0.95, *, one_sided: bool = False
) -> tuple[float, float]:
    """The interval of a partial area, the mean recall over a range of false positive rates, also on McClish's scale.

    The range ends where a given share of the negatives scores higher, and the sample may have more or fewer of them
    there: all ends that the binomial test does not rule out are tried. At each, the mean recall varies with the
    positives, and with where inside the range the negatives fall; Wilson's interval with the effective number of cases
    has the variance of both. A range of recalls is a range of the classes exchanged.

    >>> from heldout.measures.catalogue import find
    >>> seen = Ranking(np.arange(4.0)[::-1], np.array([9, 4, 2, 1]), np.array([1, 3, 5, 9]))
    >>> low, high = partial_area_limits(seen, find("partial_auc"))
    >>> print(f"{low:.3f} {high:.3f}")
    0.000 0.074
    """
    by_recall = bound.measure.name in BY_RECALL
    low, high = float(bound.parameters["low"]), float(bound.parameters["high"])
    states = threshold_states(ranking)
    inner = (1 - high, 1 - low) if by_recall else (low, high)
    shares = mean_recall_limits(states.mirrored if by_recall else states, *inner, level, one_sided=one_sided)
    width, part = high - low, (high * high - low * low) / 2
    areas = shares[0] * width, shares[1] * width
    if not bound.measure.component.startswith("corrected"):
        return areas
    guessing = width - part if by_recall else part
    least, most = ((area - guessing) / (width - guessing) for area in areas)
    return (1 + least) / 2, (1 + most) / 2


def mean_recall_limits(
    states: ThresholdStates, low: float, high: float, level: float = 0.95, *, one_sided: bool = False
) -> tuple[float, float]:
    """The interval of the mean recall over false positive rates from `low` to `high`."""
    weight, kept = (1.0, KEPT_NEGATIVES) if one_sided else (DOUBTED, 0.0)
    p, q, critical = states.positives, states.negatives, z_value(level)
    x, y = states.fp / q, states.tp / p
    depths = list_depths(high * q, q, critical)
    deviate = weight * np.abs(binomial_deviate(depths, q, high, critical))
    deviate[depths == high * q] = 0.0
    likely = deviate <= critical
    ends, left, begin = depths[likely] / q, remaining(critical, deviate[likely]), low / high
    seen = _Curve.of(x, y).range_to(ends, begin)
    # Before the first negative the sample knows the recall at the end only: for the lower limit it grows along a line.
    least = _Curve.of(x, np.where(x > 0, y, 0.0)).range_to(ends, begin)
    lows, highs = (_wilson_limits(ranges, p, q, left, kept) for ranges in (least, seen))
    low_ends, high_ends = lows[0], highs[1]
    none = weight * float(np.abs(binomial_deviate(np.zeros(1), q, high, critical))[0])
    if none <= critical:
        # With no negative in the range, all of it lies before the first.
        first = float(y[x <= 0].max())
        left = remaining(critical, np.array([none]))
        low_ends = np.append(low_ends, wilson_at(first / 2, p, left)[0])
        high_ends = np.append(high_ends, wilson_at(first, p, left)[1])
    return hull(low_ends, high_ends, float(np.clip(seen.mean[depths[likely] == high * q], 0.0, 1.0)[0]))


def _wilson_limits(
    ranges: _Ranges, positives: float, negatives: float, critical: Floats, kept: float
) -> tuple[Floats, Floats]:
    """Wilson's limits of the mean recall over each range, with the number of cases that has the same variance."""
    mean = np.clip(ranges.mean, 0.0, 1.0)
    most = mean * (1 - mean)
    seen = np.clip(ranges.square - mean * mean, 0.0, most)
    by_positives = (positives * seen + KEPT_POSITIVES * most) / (positives + KEPT_POSITIVES)
    inside = ranges.ends * negatives
    steps = mean * np.maximum(ranges.top - mean, 0.0)
    by_negatives = (inside * ranges.spread + kept * steps) / np.maximum(inside + kept, LEAST)
    variance = by_positives / positives + by_negatives / np.maximum(inside, 1.0)
    size = np.where(variance > 0, most / np.maximum(variance, LEAST**2), positives)
    return wilson_at(mean, size, critical)


@dataclass(frozen=True, slots=True)
class _Ranges:
    """The recall over ranges: where they end, mean, spread and last value, and the mean square over positives."""

    ends: Floats
    mean: Floats
    spread: Floats
    top: Floats
    square: Floats


@dataclass(frozen=True, slots=True)
class _Curve:
    """A line through points, and the integrals of y, x·y and y² along it."""

    x: Floats
    y: Floats
    sums: tuple[Floats, Floats, Floats]

    @classmethod
    def of(cls, x: Floats, y: Floats) -> _Curve:
        pieces = _pieces(x[:-1], x[1:], y[:-1], y[1:])
        first, second, third = (np.concatenate([[0.0], np.cumsum(piece)]) for piece in pieces)
        return cls(x, y, (first, second, third))

    def up_to(self, end: Floats) -> tuple[Floats, Floats, Floats, Floats]:
        """The integrals from 0 to each end, and the y there."""
        at = np.clip(np.searchsorted(self.x, end, side="right") - 1, 0, len(self.x) - 2)
        rise, run = self.y[at + 1] - self.y[at], self.x[at + 1] - self.x[at]
        y = self.y[at] + np.where(run > 0, rise * (end - self.x[at]) / np.where(run > 0, run, 1.0), 0.0)
        pieces = _pieces(self.x[at], end, self.y[at], y)
        first, second, third = (total[at] + piece for total, piece in zip(self.sums, pieces, strict=True))
        return first, second, third, y

    def range_to(self, ends: Floats, start: float) -> _Ranges:
        """What ranges hold that begin at a share `start` of their ends."""
        begun, done = self.up_to(ends * start), self.up_to(ends)
        width = ends * (1 - start)
        area, moment, squares = (after - before for before, after in zip(begun[:3], done[:3], strict=True))
        mean = area / width
        # A negative above the range counts as one at its beginning, where the recall is `first`.
        first = begun[3]
        all_mean, all_squares = start * first + area / ends, start * first * first + squares / ends
        spread = np.maximum(all_squares - all_mean * all_mean, 0.0) / (1 - start) ** 2
        return _Ranges(ends, mean, spread, done[3], 2 * (ends * area - moment) / width**2)


def _pieces(x0: Floats, x1: Floats, y0: Floats, y1: Floats) -> tuple[Floats, Floats, Floats]:
    """The integrals of y, x·y and y² along straight lines."""
    run = x1 - x0
    moment = x0 * (2 * y0 + y1) + x1 * (y0 + 2 * y1)
    return run * (y0 + y1) / 2, run * moment / 6, run * (y0 * y0 + y0 * y1 + y1 * y1) / 3


# What of the optimism is taken off the limits, chosen by coverage: of the lower, and of the upper at most and over z².
FROM_LOW, FROM_HIGH, FROM_HIGH_BY_SQUARE = 0.75, 0.3, 0.6


def largest_gap_limits(ranking: Ranking, level: float = 0.95) -> tuple[float, float]:
    """The interval of the largest gap between the true and the false positive rate, the Kolmogorov-Smirnov statistic.

    A maximum over thresholds is too large in a sample: noise decides which threshold is best. The lower limit is the
    lowest over all thresholds that the cases do not rule out as the best. From the limits of the best threshold itself
    a part is taken off of what leaving out one case at a time shows the maximum to be too large by. The interval
    reaches down to 0 unless the Kolmogorov-Smirnov test rejects that both classes score alike.

    >>> low, high = largest_gap_limits(Ranking(np.arange(4.0)[::-1], np.array([9, 4, 2, 1]), np.array([1, 3, 5, 9])))
    >>> print(f"{low:.3f} {high:.3f}")
    0.194 0.770
    """
    states = threshold_states(ranking)
    if not (states.positives and states.negatives):
        return 0.0, 1.0
    gaps = find_gaps(states)
    if -gaps.min() > gaps.max():
        states = states.backwards
        gaps = find_gaps(states)
    best = int(gaps.argmax())
    value, critical = float(gaps[best]), z_value(level)
    moved = [np.abs(column - column[best]) / column[-1] for column in (states.tp, states.fp)]
    spread = moved[0] * (1 - moved[0]) / states.positives + moved[1] * (1 - moved[1]) / states.negatives
    behind = (value - gaps) / np.sqrt(np.maximum(spread, TINY))
    behind[best] = 0.0
    likely = behind <= critical
    low, _ = _difference_limits(states, likely, remaining(critical, behind[likely]))
    least, high = _difference_limits(states, np.arange(len(gaps)) == best, np.array([critical]))
    # The distance at which the test rejects; Smirnov's two-sided limit.
    chance = math.sqrt(-math.log((1 - level) / 2) / 2 * (1 / states.positives + 1 / states.negatives))
    excess = optimism(states)
    lowest = max(min(float(low.min()), float(least[0]) - FROM_LOW * excess), 0.0) if value > chance else 0.0
    taken = min(FROM_HIGH, FROM_HIGH_BY_SQUARE / critical**2)
    return min(lowest, value), min(max(float(high[0]) - taken * excess, value), 1.0)


def find_gaps(states: ThresholdStates) -> Floats:
    """TPR − FPR at every threshold."""
    return np.asarray(states.tp / states.positives - states.fp / states.negatives)


def optimism(states: ThresholdStates) -> float:
    """How much larger the maximum is than the gap of cases that had no part in the choice of the threshold.

    Each case is left out, the best threshold of the others is found, and the case is judged by it. Without one case the
    gap changes by a constant from that case on, so the maxima before and after every place tell all of it.

    >>> seen = threshold_states(Ranking(np.arange(4.0)[::-1], np.array([9, 4, 2, 1]), np.array([1, 3, 5, 9])))
    >>> round(optimism(seen), 4)
    0.0
    """
    p, q = states.positives, states.negatives
    if min(p, q) <= 1:
        return 0.0
    left_out = 0.0
    for column, size, fewer, change in (
        (states.tp, p, (p - 1, q), -1 / (p - 1)),
        (states.fp, q, (p, q - 1), 1 / (q - 1)),
    ):
        gaps = states.tp / fewer[0] - states.fp / fewer[1]
        before = np.maximum.accumulate(gaps)[:-1]
        after = np.maximum.accumulate(gaps[::-1])[::-1][1:] + change
        # The case is called positive where the best threshold is at it or below; half where two are equally good.
        called = np.where(after > before + TOLERANCE, 1.0, np.where(after < before - TOLERANCE, 0.0, 0.5))
        left_out += float(np.diff(column) @ called) / size * (1 if change < 0 else -1)
    value = float(find_gaps(states).max())
    return min(max(value - left_out, 0.0), value)


def _difference_limits(states: ThresholdStates, at: Any, critical: Floats) -> tuple[Floats, Floats]:
    """Newcombe's limits of TPR − FPR at some thresholds, from Wilson's of both rates."""
    up, down = states.tp[at] / states.positives, states.fp[at] / states.negatives
    low, high = wilson_at(up, states.positives, critical)
    least, most = wilson_at(down, states.negatives, critical)
    gap = up - down
    return gap - np.hypot(up - low, most - down), gap + np.hypot(high - up, down - least)


Limits = tuple[float, float]
# The precision at the cut is estimated over this many standard deviations of its place to both sides.
SLOPE_REACH = 2.0


def profile_limits(ranking: Ranking, bound: Bound, level: float = 0.95, *, one_sided: bool = False) -> Limits:
    """The interval of a measure at one point of a curve, of a partial area, or of the largest gap.

    For a statement about one side, each end is to keep its error by itself.

    >>> from heldout.measures.catalogue import find
    >>> seen = Ranking(np.array([2.0, 1.0]), np.array([40, 10]), np.array([10, 90]))
    >>> low, high = profile_limits(seen, find("tpr_at_fpr", fpr=0.2))
    >>> print(f"{low:.2f} {high:.2f}")
    0.67 0.89
    """
    value = float(bound.value({"ranking": ranking}))
    if np.isnan(value):
        return value_range(bound.measure, bound.parameters)
    component = bound.measure.component
    if component == "largest gap":
        low, high = largest_gap_limits(ranking, level)
    elif component.endswith("partial area"):
        low, high = partial_area_limits(ranking, bound, level, one_sided=one_sided)
    else:
        low, high = POINTS[component](ranking, bound, level, 1.0 if one_sided else DOUBTED)
    return min(low, value), max(high, value)


def limit_recall_at_fpr(ranking: Ranking, bound: Bound, level: float, weight: float) -> Limits:
    """The threshold is the last whose false positive rate is small enough; the recall there is a proportion."""
    states, critical = threshold_states(ranking), z_value(level)
    rate, negatives = float(bound.parameters["fpr"]), states.negatives
    allowed = states.fp <= (rate + TOLERANCE) * negatives
    deviate = binomial_deviate(states.fp, negatives, rate, critical)
    following = np.append(deviate[1:], np.inf)
    meant = allowed & ~np.append(allowed[1:], False)
    # A tie is one step: the rate may be passed inside it.
    doubt = np.where(meant, 0.0, np.where(deviate > 0, deviate, np.maximum(-following, 0.0)))
    doubt = weigh_doubts(states, weight) * doubt
    likely = doubt <= critical
    ends = wilson_at(states.tp[likely] / states.positives, states.positives, remaining(critical, doubt[likely]))
    return hull(*ends, float(states.tp[meant].max() / states.positives))


def limit_precision_at_recall(ranking: Ranking, bound: Bound, level: float, weight: float) -> Limits:
    """The threshold is the first whose recall is large enough; given it, FP of FP + P cases is a proportion."""
    states, critical = threshold_states(ranking, together=True), z_value(level)
    rate, positives = float(bound.parameters["recall"]), states.positives
    tp, fp, before = states.tp[1:], states.fp[1:], states.tp[:-1]
    least = (rate - TOLERANCE) * positives
    meant = (tp >= least) & (before < least)
    deviate = binomial_deviate(tp, positives, rate, critical)
    preceding = np.append(-np.inf, deviate[:-1])
    doubt = np.where(meant, 0.0, np.where(deviate < 0, -deviate, np.maximum(preceding, 0.0)))
    doubt = weigh_doubts(states, weight)[1:] * doubt
    likely = doubt <= critical
    tp, fp, before, meant = tp[likely], fp[likely], before[likely], meant[likely]
    left = remaining(critical, doubt[likely])
    # The recall at a threshold that is meant: as given, but for the step of a tie in which it is reached.
    beyond = (1 - rate) * (tp - before) / np.maximum(positives - before, TINY)
    recall = np.where(meant, tp / positives, np.where(tp < least, rate, rate + beyond))
    few, many = wilson_at(fp / (fp + positives), fp + positives, left)
    low, high = (recall / (recall + share / np.maximum(1 - share, TINY)) for share in (many, few))
    # Inside a tie the recall is not given but seen: there the precision is a proportion of its own.
    tied = meant & (tp - before > 1 + TOLERANCE)
    least_seen, most_seen = wilson_at(tp / (tp + fp), tp + fp, left)
    low, high = np.where(tied, np.minimum(low, least_seen), low), np.where(tied, np.maximum(high, most_seen), high)
    return hull(low, high, float((tp / (tp + fp))[meant].max()))


def limit_recall_at_precision(ranking: Ranking, bound: Bound, level: float, weight: float) -> Limits:
    """The threshold is the last that is precise enough: precise itself, and no later one is clearly too precise."""
    states, critical = threshold_states(ranking, together=True), z_value(level)
    precision, positives = float(bound.parameters["precision"]), states.positives
    tp, predicted = states.tp, states.tp + states.fp
    reached = tp >= (precision - TOLERANCE) * predicted
    last = int(np.flatnonzero(reached)[-1])
    if precision < 1:
        deviate = (tp - precision * predicted) / np.sqrt(np.maximum(predicted * precision * (1 - precision), TINY))
    else:
        deviate = np.where(reached, 0.0, -np.inf)
    later = np.append(np.maximum.accumulate(np.maximum(deviate, 0.0)[::-1])[::-1][1:], 0.0)
    # Of later thresholds the best is taken already.
    doubt = np.maximum(weigh_doubts(states, weight) * np.maximum(-deviate, 0.0), later)
    doubt[last] = 0.0
    likely = doubt <= critical
    left = remaining(critical, doubt[likely])
    # Given the precision, predicted of predicted + FN cases is a proportion, and a function of the recall.
    concerned = predicted[likely] + positives - tp[likely]
    low, high = (
        share * precision / (share * precision + 1 - share)
        for share in wilson_at(predicted[likely] / concerned, concerned, left)
    )
    value = float(tp[last] / positives)
    if last and predicted[last] - predicted[last - 1] > 1 + TOLERANCE:
        least_seen, most_seen = wilson_at(value, positives, critical)
        return hull(np.append(low, least_seen), np.append(high, most_seen), value)
    return hull(low, high, value)


def limit_top(ranking: Ranking, bound: Bound, level: float, weight: float) -> Limits:
    """Gain, lift and precision among the highest scores: a share of all cases lies above the threshold."""
    states, critical = threshold_states(ranking, together=True), z_value(level)
    reach = states.tp + states.fp
    total, positives = float(reach[-1]), states.positives
    if "k" in bound.parameters:
        share = min(float(bound.parameters["k"]) / float(ranking.n), 1.0)
    else:
        share = min(float(bound.parameters["share"]), 1.0)
    cut = share * total
    reached = float(np.interp(cut, reach, states.tp))
    depths = list_depths(cut, total, critical)
    # A share of all cases is deep enough for the positives to grow along a line; among few, most of it is noise.
    doubt = (weight if "k" in bound.parameters else 1.0) * np.abs(binomial_deviate(depths, total, share, critical))
    doubt[depths == cut] = 0.0
    likely = doubt <= critical
    depths, left = depths[likely], remaining(critical, doubt[likely])
    # Around the cut the positives grow along a line: their noise would only be counted twice.
    away = max(SLOPE_REACH * np.sqrt(cut * (1 - share)), 1.0)
    near = np.clip([cut - away, cut + away], 0.0, total)
    slope = float(np.diff(np.interp(near, reach, states.tp))[0] / max(near[1] - near[0], TINY))
    positive = np.clip(
        reached + slope * (depths - cut), np.maximum(positives - (total - depths), 0.0), np.minimum(depths, positives)
    )
    above = wilson_at(positive / depths, _tied_size(depths, reach), left)
    if "k" in bound.parameters:
        # Wilson's limits leave out too much where nearly all or hardly any of a few cases are positive.
        size = float(_tied_size(np.array([cut]), reach)[0])
        exact = mid_p(reached / cut * size, size, level)
        return hull(np.append(above[0], exact[0]), np.append(above[1], exact[1]), reached / cut)
    if share >= 1:
        return 1.0, 1.0
    rest = total - depths
    low, high = _ratio_limits(
        positive / depths, above, (positives - positive) / rest, wilson_at((positives - positive) / rest, rest, left)
    )
    odds = share / (1 - share)
    with np.errstate(invalid="ignore"):
        gains = low * odds / (1 + low * odds), np.where(np.isinf(high), 1.0, high * odds / (1 + high * odds))
    least, most = hull(*gains, reached / positives)
    return (least, most) if bound.measure.bounded else (least / share, most / share)


def _tied_size(depths: Floats, reach: Floats) -> Floats:
    """How many cases the share of positives down to a depth rests on: inside a tie, on more than the depth itself."""
    at = np.clip(np.searchsorted(reach, depths - TOLERANCE * reach[-1]), 1, len(reach) - 1)
    before, cases = reach[at - 1], np.maximum(reach[at] - reach[at - 1], TINY)
    inside = np.minimum(np.maximum(depths - before, 0.0), cases)
    return np.asarray(depths * depths / np.maximum(before + inside * inside / cases, TINY))


def _ratio_limits(
    first: Floats, first_limits: tuple[Floats, Floats], second: Floats, second_limits: tuple[Floats, Floats]
) -> tuple[Floats, Floats]:
    """Limits of a ratio of two independent rates from those of the rates: Donner & Zou (2012)."""
    (low, high), (least, most) = first_limits, second_limits
    product = first * second
    with np.errstate(divide="ignore", invalid="ignore"):
        bottom = most * (2 * second - most)
        root = np.sqrt(np.maximum(product**2 - low * (2 * first - low) * bottom, 0.0))
        down = np.where(bottom != 0, (product - root) / bottom, 0.0)
        bottom = least * (2 * second - least)
        root = np.sqrt(np.maximum(product**2 - high * (2 * first - high) * bottom, 0.0))
        up = np.where(bottom > 0, (product + root) / bottom, np.inf)
    return np.nan_to_num(down, nan=0.0), up


POINTS: Mapping[str, Callable[[Ranking, Bound, float, float], Limits]] = {
    "recall at a false positive rate": limit_recall_at_fpr,
    "precision at a recall": limit_precision_at_recall,
    "recall at a precision": limit_recall_at_precision,
    "top": limit_top,
}
