"""Intervals of measures at one point of a curve, over all thresholds that the cases do not rule out.

Such a measure is a value at a threshold that is itself unknown: where the false positive rate is .1, where precision
falls below .9. Every threshold gets two tests: whether it can be the one that is meant, with deviate Q, and whether
the value there can be v. Together they reject v where the squares add up to more than z². So the interval runs over the
limits at every threshold with √(z² − Q²) in place of z. The first test is about one margin of the table at the
threshold, the second about the cases given this margin, which makes the two independent.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from heldout.arrays import Floats
from heldout.evidence import Ranking
from heldout.intervals.largest_gap import largest_gap_limits
from heldout.intervals.partial_areas import partial_area_limits
from heldout.intervals.proportion import mid_p, wilson_at
from heldout.intervals.quantiles import z_value
from heldout.intervals.threshold_states import TINY, binomial_deviate, hull, list_depths, remaining, threshold_states
from heldout.measures.quantity import Bound
from heldout.measures.ranking import HAIR, value_range

Limits = tuple[float, float]
# The precision at the cut is seen over so many standard deviations of its place to both sides.
SLOPE_REACH = 2.0


def profile_limits(ranking: Ranking, bound: Bound, level: float = 0.95) -> Limits:
    """The interval of a measure at one point of a curve, of a partial area, or of the largest gap.

    >>> from heldout.measures.catalogue import find
    >>> seen = Ranking(np.array([2.0, 1.0]), np.array([40, 10]), np.array([10, 90]))
    >>> low, high = profile_limits(seen, find("tpr_at_fpr", fpr=0.2))
    >>> print(f"{low:.2f} {high:.2f}")
    0.67 0.89
    """
    value = float(bound.value({"ranking": ranking}))
    if np.isnan(value):
        return value_range(bound.measure, bound.parameters)
    low, high = FORMS[bound.measure.component](ranking, bound, level)
    return min(low, value), max(high, value)


def limit_recall_at_fpr(ranking: Ranking, bound: Bound, level: float) -> Limits:
    """The threshold is the last whose false positive rate is small enough; the recall there is a proportion."""
    states, critical = threshold_states(ranking), z_value(level)
    rate, negatives = float(bound.parameters["fpr"]), states.negatives
    allowed = states.fp <= (rate + HAIR) * negatives
    deviate = binomial_deviate(states.fp, negatives, rate, critical)
    following = np.append(deviate[1:], np.inf)
    meant = allowed & ~np.append(allowed[1:], False)
    # A tie is one step: the rate may be passed inside it.
    doubt = np.where(meant, 0.0, np.where(deviate > 0, deviate, np.maximum(-following, 0.0)))
    likely = doubt <= critical
    ends = wilson_at(states.tp[likely] / states.positives, states.positives, remaining(critical, doubt[likely]))
    return hull(*ends, float(states.tp[meant].max() / states.positives))


def limit_precision_at_recall(ranking: Ranking, bound: Bound, level: float) -> Limits:
    """The threshold is the first whose recall is large enough; given it, FP of FP + P cases is a proportion."""
    states, critical = threshold_states(ranking, together=True), z_value(level)
    rate, positives = float(bound.parameters["recall"]), states.positives
    tp, fp, before = states.tp[1:], states.fp[1:], states.tp[:-1]
    least = (rate - HAIR) * positives
    meant = (tp >= least) & (before < least)
    deviate = binomial_deviate(tp, positives, rate, critical)
    preceding = np.append(-np.inf, deviate[:-1])
    doubt = np.where(meant, 0.0, np.where(deviate < 0, -deviate, np.maximum(preceding, 0.0)))
    likely = doubt <= critical
    tp, fp, before, meant = tp[likely], fp[likely], before[likely], meant[likely]
    left = remaining(critical, doubt[likely])
    # The recall at a threshold that is meant: as given, but for the step of a tie in which it is reached.
    beyond = (1 - rate) * (tp - before) / np.maximum(positives - before, TINY)
    recall = np.where(meant, tp / positives, np.where(tp < least, rate, rate + beyond))
    few, many = wilson_at(fp / (fp + positives), fp + positives, left)
    low, high = (recall / (recall + share / np.maximum(1 - share, TINY)) for share in (many, few))
    # Inside a tie the recall is not given but seen: there the precision is a proportion of its own.
    tied = meant & (tp - before > 1 + HAIR)
    least_seen, most_seen = wilson_at(tp / (tp + fp), tp + fp, left)
    low, high = np.where(tied, np.minimum(low, least_seen), low), np.where(tied, np.maximum(high, most_seen), high)
    return hull(low, high, float((tp / (tp + fp))[meant].max()))


def limit_recall_at_precision(ranking: Ranking, bound: Bound, level: float) -> Limits:
    """The threshold is the last that is precise enough: precise itself, and no later one is clearly too precise."""
    states, critical = threshold_states(ranking, together=True), z_value(level)
    precision, positives = float(bound.parameters["precision"]), states.positives
    tp, predicted = states.tp, states.tp + states.fp
    reached = tp >= (precision - HAIR) * predicted
    last = int(np.flatnonzero(reached)[-1])
    if precision < 1:
        deviate = (tp - precision * predicted) / np.sqrt(np.maximum(predicted * precision * (1 - precision), TINY))
    else:
        deviate = np.where(reached, 0.0, -np.inf)
    later = np.append(np.maximum.accumulate(np.maximum(deviate, 0.0)[::-1])[::-1][1:], 0.0)
    doubt = np.maximum(np.maximum(-deviate, 0.0), later)
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
    if last and predicted[last] - predicted[last - 1] > 1 + HAIR:
        least_seen, most_seen = wilson_at(value, positives, critical)
        return hull(np.append(low, least_seen), np.append(high, most_seen), value)
    return hull(low, high, value)


def limit_top(ranking: Ranking, bound: Bound, level: float) -> Limits:
    """Gain, lift and precision among the highest scores: a share of all cases lies above the threshold."""
    states, critical = threshold_states(ranking, together=True), z_value(level)
    reach = states.tp + states.fp
    total, positives = float(reach[-1]), states.positives
    if "k" in bound.parameters:
        share = min(float(bound.parameters["k"]) / float(ranking.n), 1.0)
    else:
        share = min(float(bound.parameters["share"]), 1.0)
    cut = share * total
    found = float(np.interp(cut, reach, states.tp))
    depths = list_depths(cut, total, critical)
    doubt = np.abs(binomial_deviate(depths, total, share, critical))
    doubt[depths == cut] = 0.0
    likely = doubt <= critical
    depths, left = depths[likely], remaining(critical, doubt[likely])
    # Around the cut the positives grow along a line: their noise would only be counted twice.
    away = max(SLOPE_REACH * np.sqrt(cut * (1 - share)), 1.0)
    near = np.clip([cut - away, cut + away], 0.0, total)
    slope = float(np.diff(np.interp(near, reach, states.tp))[0] / max(near[1] - near[0], TINY))
    positive = np.clip(
        found + slope * (depths - cut), np.maximum(positives - (total - depths), 0.0), np.minimum(depths, positives)
    )
    above = wilson_at(positive / depths, _tied_size(depths, reach), left)
    if "k" in bound.parameters:
        # Wilson's limits leave out too much where nearly all or hardly any of a few cases are positive.
        size = float(_tied_size(np.array([cut]), reach)[0])
        exact = mid_p(found / cut * size, size, level)
        return hull(np.append(above[0], exact[0]), np.append(above[1], exact[1]), found / cut)
    if share >= 1:
        return 1.0, 1.0
    rest = total - depths
    low, high = _ratio_limits(
        positive / depths, above, (positives - positive) / rest, wilson_at((positives - positive) / rest, rest, left)
    )
    odds = share / (1 - share)
    with np.errstate(invalid="ignore"):
        gains = low * odds / (1 + low * odds), np.where(np.isinf(high), 1.0, high * odds / (1 + high * odds))
    least, most = hull(*gains, found / positives)
    return (least, most) if bound.measure.bounded else (least / share, most / share)


def _tied_size(depths: Floats, reach: Floats) -> Floats:
    """How many cases the share of positives down to a depth rests on: inside a tie, on more than the depth itself."""
    at = np.clip(np.searchsorted(reach, depths - HAIR * reach[-1]), 1, len(reach) - 1)
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


FORMS: Mapping[str, Callable[[Ranking, Bound, float], Limits]] = {
    "recall at a false positive rate": limit_recall_at_fpr,
    "precision at a recall": limit_precision_at_recall,
    "recall at a precision": limit_recall_at_precision,
    "top": limit_top,
    "partial area": partial_area_limits,
    "corrected partial area": partial_area_limits,
    "largest gap": lambda ranking, _, level: largest_gap_limits(ranking, level),
}
