"""Intervals for means of losses (Brier score, log loss), for the skill made of them, and for top-k accuracy."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from heldout.arrays import Floats
from heldout.evidence.losses import LOSSES, CaseProbabilities
from heldout.evidence.probabilities import Moments, Probabilities, ProbabilityGroups
from heldout.intervals.areas import logit_limits
from heldout.intervals.group_leverage import GroupSpread, even_pulls, group_spread
from heldout.intervals.proportion import wilson, wilson_at
from heldout.intervals.quantiles import t_value, z_value

Limits = tuple[float, float]

# A variance below this share of the mean square is rounding: all losses are alike.
NEGLIGIBLE = 1e-24
# A variance below this is that of rounding, of a mean between 0 and 1.
FLAT = 1e-14
# The weight, in cases, of the variance that the probabilities themselves predict, where it is above the observed one.
PROMISED = 20.0


def hall(mean: float, variance: float, third: float, critical: float) -> Limits:
    """Hall's limits for a mean: the t statistic is bent until its skewness is gone, and bent back.

    `variance` and `third` are those of the mean itself, not of one case. Hall (1992), On the removal of skewness by
    transformation, JRSS B 54, 221-228.

    >>> low, high = hall(1.0, 0.01, 0.0005, 1.96)
    >>> print(f"{low:.3f} {high:.3f}")
    0.852 1.767
    """
    error = math.sqrt(variance)
    if error == 0:
        return mean, mean
    a = third / error**3
    if abs(a) < 1e-9:
        return mean - critical * error, mean + critical * error

    def bent_back(z: float) -> float:
        return 3 / a * (math.cbrt(1 + a * (z - a / 6)) - 1)

    # With little confidence and much skewness the estimate itself could be left out.
    return min(mean - bent_back(critical) * error, mean), max(mean - bent_back(-critical) * error, mean)


def mean_limits(moments: Moments, n: int, level: float = 0.95, *, bounds: Limits = (0.0, math.inf)) -> Limits:
    """Hall's limits for the mean of independent losses, given their moments and the number of cases.

    With weights the variance is the larger of the linearised one, which sees whether heavy cases have large losses,
    and that of Kish's effective number of cases.

    >>> low, high = mean_limits(Moments.of(np.array([0.0, 0.1, 0.1, 0.9])), 4)
    >>> print(f"{low:.3f} {high:.3f}")
    0.000 0.890
    """
    if n < 2:
        return bounds
    return _within(hall(moments.mean, *_mean_moments(moments, n), z_value(level)), bounds)


def _mean_moments(moments: Moments, n: int) -> tuple[float, float]:
    """The variance and the third moment of the mean of independent losses."""
    mean, weight = moments.mean, moments.weight
    sums = moments.about(mean)
    correction = n / (n - 1)
    linearised, by_kish = float(sums[1, 2]) / weight**2, float(sums[0, 2]) * float(sums[1, 0]) / weight**3
    variance = max(correction * linearised, correction * by_kish)
    return (0.0 if variance <= NEGLIGIBLE * mean**2 else variance), float(sums[2, 3]) / weight**3


@dataclass(frozen=True, slots=True, eq=False)
class PromisedLosses:
    """What the probabilities themselves say of a loss, bin by bin.

    `chance` is that of a class other than the most probable one, `right` the loss where the most probable one comes
    true and `wrong` where it does not.
    """

    chance: Floats
    right: Floats
    wrong: Floats
    weight: Floats

    @classmethod
    def of(cls, probabilities: Probabilities, loss: str) -> PromisedLosses:
        """From the bins; of several classes, those that are not the most probable one are taken as equally probable."""
        k, (chance, weight) = max(probabilities.n_classes, 2), promised_errors(probabilities)
        top, other = 1 - chance, chance / (k - 1)
        norm = top**2 + (k - 1) * other**2

        def lose(true: Floats) -> Floats:
            distance = (1 - true) ** 2 + norm - true**2
            raised = np.maximum(true, np.finfo(np.float64).eps)
            case = CaseProbabilities(true, raised, distance / 2 if k == 2 else distance, norm)
            return np.asarray(LOSSES[loss].formula(case))

        return cls(chance, lose(top), lose(other), weight)

    @property
    def moments(self) -> tuple[float, float]:
        """The variance and the third moment of the loss of a case if the probabilities are true."""
        first, second, third = (
            float((((1 - self.chance) * self.right**power + self.chance * self.wrong**power) * self.weight).sum())
            / float(self.weight.sum())
            for power in (1, 2, 3)
        )
        return second - first**2, third - 3 * first * second + 2 * first**3

    def widen(self, variance: float, third: float, size: float, units: float) -> tuple[float, float]:
        """The variance and third moment of a mean of so many cases, with what is promised, the less the more units."""
        promised, skew = self.moments
        if promised / size <= variance:
            return variance, third
        lean = PROMISED / (PROMISED + units)
        variance += lean * (promised / size - variance)
        expected = skew / size**2
        return variance, third + (lean * (expected - third) if abs(expected) > abs(third) else 0.0)

    def reach(self, moments: Moments, share: float) -> float:
        """How far the mean moves if this share of the cases were wrong and no loss like theirs had been seen.

        The largest loss that was seen is not kept; Σl³/Σl² is at most that large, and equal where one is like no other.
        """
        best = float(self.right.max()) if self.wrong.mean() < self.right.mean() else 0.0
        sums = moments.about(best)
        seen = best + (float(sums[0, 3] / sums[0, 2]) if sums[0, 2] > 0 else 0.0)
        wrong = float((self.wrong * self.weight).sum() / self.weight.sum())
        unseen = wrong - seen
        return share * unseen if (unseen > 0) == (wrong > best) else 0.0

    def return_from_wrong(self, mean: float, share: float, cases: float) -> float:
        """How far the mean moves back if this share of the cases were right, where not half a case was."""
        right, wrong = (float(loss @ self.weight / self.weight.sum()) for loss in (self.right, self.wrong))
        return share * (right - wrong) if 2 * cases * (wrong - mean) / (wrong - right or math.inf) < 1 else 0.0


def promised_errors(probabilities: Probabilities) -> tuple[Floats, Floats]:
    """The chance of a class other than the most probable one, for every bin that holds cases, and the bin's weight."""
    bins = probabilities.reliability
    filled = bins.weight > 0
    weight = bins.weight[filled]
    if probabilities.top_label:
        return np.clip(1 - bins.predicted[filled] / weight, 0.0, 1.0), weight
    # The less probable class of two, from p(1 − p).
    return (1 - np.sqrt(np.maximum(1 - 4 * bins.spread[filled] / weight, 0.0))) / 2, weight


def loss_limits(probabilities: Probabilities, loss: str, level: float = 0.95) -> Limits:
    """Hall's limits for a mean loss; whole groups are the cases where there are groups.

    Few cases of a sharp classifier show no large loss, and their own spread then knows nothing of it. So the spread
    leans on the one that the probabilities promise, and errors like those that were not seen have Wilson's upper limit;
    so have right answers where every one was wrong.

    >>> from heldout.engines.probability_sums import tally
    >>> seen = tally(np.array([0.9, 0.2, 0.4, 0.8]), np.array([True, False, True, True]))
    >>> low, high = loss_limits(seen, "brier")
    >>> print(f"{low:.3f} {high:.3f}")
    0.000 0.876
    """
    bounds = loss_bounds(probabilities, loss)
    groups = probabilities.groups
    if loss not in probabilities.losses or (probabilities.n if groups is None else groups.number) < 2:
        return bounds
    moments = probabilities.losses[loss]
    if groups is None:
        variance, third = _mean_moments(moments, probabilities.n)
        units, critical = probabilities.n_kish, z_value(level)
    else:
        spread, third = _group_moments(probabilities, groups, loss)
        variance = 0.0 if spread.variance <= NEGLIGIBLE * moments.mean**2 else spread.variance
        if variance == 0:
            variance, third = equal_groups_moments(moments, spread.effective)
        units, critical = spread.effective, float(t_value(level, spread.df))
    promised = PromisedLosses.of(probabilities, loss)
    low, high = hall(moments.mean, *promised.widen(variance, third, probabilities.n_kish, units), critical)
    unseen = float(wilson_at(0.0, units, z_value(level))[1])
    for reach in (promised.reach(moments, unseen), promised.return_from_wrong(moments.mean, unseen, units)):
        low, high = min(low, moments.mean + reach), max(high, moments.mean + reach)
    return _within((low, high), bounds)


def equal_groups_moments(moments: Moments, groups: float) -> tuple[float, float]:
    """The variance and the third moment of a mean where every group has the same, as of so many single cases.

    How much groups differ is not known then, and cases of one group may be copies of each other. Both are 0 where all
    cases are alike.

    >>> variance, third = equal_groups_moments(Moments.of(np.array([0.0, 0.5, 0.0, 0.5])), 2)
    >>> variance, third
    (0.0625, 0.0)
    """
    sums = moments.about(moments.mean)
    spread, skew = float(sums[0, 2]) / moments.weight, float(sums[0, 3]) / moments.weight
    if spread <= NEGLIGIBLE * moments.mean**2:
        return 0.0, 0.0
    return spread / max(groups - 1, 1.0), skew / max(groups, 1.0) ** 2


def loss_bounds(probabilities: Probabilities, loss: str) -> Limits:
    """The smallest and the largest value a mean loss can have."""
    return 0.0, LOSSES[loss].largest(probabilities.n_classes)


def _group_moments(probabilities: Probabilities, groups: ProbabilityGroups, loss: str) -> tuple[GroupSpread, float]:
    """The spread of the mean, and its third moment, from each group's summed distance from it."""
    moments, weight = probabilities.losses[loss], float(groups.weight.sum())
    sums = (groups.losses[loss] - moments.mean * groups.weight) / weight
    independent = float(moments.about(moments.mean)[1, 2]) / weight**2
    shares = groups.weight / weight
    spread = group_spread(sums, shares, even_pulls(shares, probabilities.n_kish), independent=independent)
    return spread, float((sums**3).sum())


def skill_limits(probabilities: Probabilities, loss: str, level: float = 0.95) -> Limits:
    """Limits for the skill 1 − loss / (loss of the class shares), by the delta method.

    The class shares are estimated from the same cases, so their error is a part of it, and partly cancels.

    >>> from heldout.engines.probability_sums import tally
    >>> seen = tally(np.array([0.9, 0.2, 0.4, 0.8]), np.array([True, False, True, False]))
    >>> low, high = skill_limits(seen, "brier")
    >>> print(f"{low:.3f} {high:.3f}")
    -1.216 1.000
    """
    shares = probabilities.class_weight / (probabilities.weight or 1.0)
    present = shares > 0
    n = probabilities.n
    if n < 2 or present.sum() < 2:
        return -math.inf, 1.0
    moments = probabilities.losses[loss]
    share, by_class = shares[present], probabilities.class_losses[loss][present] / probabilities.weight
    reference, slope = float(LOSSES[loss].reference(shares)), LOSSES[loss].slope(shares)[present]
    mean = moments.mean
    pull = mean / reference * slope
    pull = pull - share @ pull
    spread = float(moments.about(mean)[0, 2]) / moments.weight
    variance = spread + float(share @ pull**2) - 2 * float(by_class @ pull)
    size = units = probabilities.n_kish
    variance = max(variance, 0.0) / reference**2 / max(size - 1, 1.0)
    critical = z_value(level)
    groups = probabilities.groups
    if groups is not None:
        if groups.number < 2:
            return -math.inf, 1.0
        # The design effect of the loss itself stands for that of the skill: group sums by class are not kept.
        plain = spread / max(probabilities.n_kish - 1, 1.0)
        grouped, _ = _group_moments(probabilities, groups, loss)
        variance *= max(grouped.variance / plain, 1.0) if plain > 0 else 1.0
        critical, units = float(t_value(level, grouped.df)), grouped.effective
    seen = spread / max(size - 1, 1.0)
    if min(variance, seen) <= FLAT:
        # Losses that are all alike, or those of the class shares themselves: the delta method sees no spread there but
        # that of the shares.
        least, most = loss_limits(probabilities, loss, level)
        apart = critical * math.sqrt(variance)
        low, high = (
            min(-most / reference, -mean / reference - apart),
            max(-least / reference, -mean / reference + apart),
        )
        if variance <= FLAT:
            low = min(low, -mean / _least_reference(shares, loss, units, level))
        return 1 + low, min(1 + high, 1.0)
    variance *= PromisedLosses.of(probabilities, loss).widen(seen, 0.0, size, units)[0] / seen
    value, half_width = 1 - mean / reference, critical * math.sqrt(variance)
    return value - half_width, min(value + half_width, 1.0)


def _least_reference(shares: Floats, loss: str, units: float, level: float) -> float:
    """The loss of class shares of which the largest is at Wilson's upper limit.

    Where all classes are equally frequent that loss is at its largest, and the delta method sees no slope.
    """
    top = int(shares.argmax())
    end = float(wilson_at(float(shares[top]), units, z_value(level))[1])
    moved = shares * (1 - end) / (1 - shares[top])
    moved[top] = end
    return float(LOSSES[loss].reference(moved))


def part_limits(probabilities: Probabilities, part: str, level: float = 0.95) -> Limits:
    """Limits for the refinement or the resolution of the Brier score, about the value without its bias.

    The refinement is the variance of what came true within the bins, and the resolution what that lacks of the variance
    of all cases. Bins of few cases fit what came true too well, which moves both: Ferro & Fricker (2012).

    >>> from heldout.engines.probability_sums import tally
    >>> seen = tally(np.tile([0.1, 0.3, 0.8, 0.9], 20), np.tile([False, True, True, True], 20))
    >>> low, high = part_limits(seen, "resolution")
    >>> print(f"{low:.3f} {high:.3f}")
    0.140 0.239
    """
    bins, n = probabilities.reliability, probabilities.n_kish
    bounds = (-1.0, 0.25) if part == "resolution" else (0.0, 1.0)
    groups = probabilities.groups
    if n < 2 or (groups is not None and groups.number < 2):
        return bounds
    filled = bins.weight > 0
    moments = probabilities.losses["brier"]
    share = bins.weight[filled] / probabilities.weight
    rate, gap = bins.observed[filled] / bins.weight[filled], bins.gap[filled] / bins.weight[filled]
    cases = np.maximum(n * share, 1.0)
    # A single case says nothing of the variance in its bin: there it is that of its own probability.
    within = np.maximum(bins.squares[filled] / bins.weight[filled] - gap**2, 0.0)
    unbiased = np.where(
        cases > 1.5, within * cases / np.maximum(cases - 1, 0.5), bins.spread[filled] / bins.weight[filled]
    )  # fmt: skip
    prevalence = float(share @ rate)
    centre = moments.mean - float(share @ gap**2) + float(unbiased.sum()) / n
    # A case with the loss l moves the refinement by l, and its bin takes back what the gap has of it.
    pull, by_class = 0.0, float(probabilities.class_losses["brier"][1]) / probabilities.weight
    if part == "resolution":
        pull = 1 - 2 * prevalence
        centre = prevalence * (1 - prevalence) * n / (n - 1) - centre
    spread = float(moments.about(moments.mean)[0, 2]) / moments.weight
    spread += pull**2 * prevalence * (1 - prevalence) - 2 * pull * (by_class - moments.mean * prevalence)
    spread += _bin_spread(share, rate, rate, pull) - _bin_spread(share, rate, rate - gap, pull)
    # One degree of freedom less for each bin, because a share was fitted in each.
    freedom = max(n - int(filled.sum()), n / 2)
    variance = max(spread, 0.0) / freedom + 2 * float((unbiased**2).sum()) / n**2
    critical = float(t_value(level, freedom))
    if groups is not None:
        grouped, _ = _group_moments(probabilities, groups, "brier")
        plain = float(moments.about(moments.mean)[0, 2]) / moments.weight / (n - 1)
        variance *= max(grouped.variance / plain, 1.0) if plain > 0 else 1.0
        critical = float(t_value(level, grouped.df))
    half_width = critical * math.sqrt(variance)
    if variance <= FLAT or float(unbiased.sum()) <= FLAT:
        # All cases of a bin came out alike, which may be chance.
        size = n if groups is None else grouped.effective
        half_width = max(half_width, float(wilson_at(0.0, size, z_value(level))[1]))
    return _within((centre - half_width, centre + half_width), bounds)


def _bin_spread(share: Floats, rate: Floats, centre: Floats, pull: float) -> float:
    """The variance of `pull` · y − (y − centre)², where every case of a bin has the same centre."""
    hit, miss = pull - (1 - centre) ** 2, -(centre**2)
    mean = float(share @ (rate * hit + (1 - rate) * miss))
    return float(share @ (rate * hit**2 + (1 - rate) * miss**2)) - mean**2


def uncertainty_limits(probabilities: Probabilities, level: float = 0.95) -> Limits:
    """Limits for the uncertainty π(1 − π) of the Brier score, from Wilson's for the prevalence π.

    >>> from heldout.engines.probability_sums import tally
    >>> low, high = uncertainty_limits(tally(np.full(50, 0.4), np.arange(50) < 20))
    >>> print(f"{low:.3f} {high:.3f}")
    0.200 0.250
    """
    prevalence = float(probabilities.class_weight[1]) / (probabilities.weight or 1.0)
    ends = np.asarray(wilson_at(prevalence, probabilities.n_kish, z_value(level)))
    spread = ends * (1 - ends)
    return float(spread.min()), 0.25 if ends[0] <= 0.5 <= ends[1] else float(spread.max())


def top_k_limits(
    probabilities: Probabilities, k: int = 2, level: float = 0.95, formula: Callable[..., Any] = wilson
) -> Limits:
    """Wilson's limits, or another formula's, for the share of cases whose true class is among the k most probable.

    With weights the size is the smaller of Kish's and the linearised effective number; with groups the limits are
    symmetric on the logit scale with the jackknife error over groups, or Wilson's with G cases at 0 and 1.

    >>> from heldout.engines.probability_sums import tally_classes
    >>> table = np.tile([[0.5, 0.3, 0.2], [0.2, 0.2, 0.6]], (10, 1))
    >>> low, high = top_k_limits(tally_classes(table, np.zeros(20, dtype=int)))
    >>> print(f"{low:.3f} {high:.3f}")
    0.299 0.701
    """
    ranks, squares, n = probabilities.ranks, probabilities.rank_squares, probabilities.n
    if ranks is None or squares is None or not probabilities.weight:
        return 0.0, 1.0
    rate = min(float(ranks[:k].sum()) / probabilities.weight, 1.0)
    groups = probabilities.groups
    if groups is not None and groups.ranks is not None:
        return _grouped_rate(probabilities, groups, rate, k, level)
    size = probabilities.n_kish
    spread = float(squares[:k].sum()) * (1 - rate) ** 2 + float(squares[k:].sum()) * rate**2
    variance = spread / probabilities.weight**2 * n / max(n - 1, 1)
    if probabilities.weighted and variance > 0:
        size = min(size, rate * (1 - rate) / variance)
    low, high = formula(rate * size, size, level)
    return float(low), float(high)


def _grouped_rate(probabilities: Probabilities, groups: ProbabilityGroups, rate: float, k: int, level: float) -> Limits:
    number, squares = groups.number, probabilities.rank_squares
    if number < 2 or groups.ranks is None or squares is None:
        return 0.0, 1.0
    within, weight = groups.ranks.place < k, float(groups.weight.sum())
    hits = np.bincount(groups.ranks.group[within], weights=groups.ranks.total[within], minlength=number)
    sums = (hits - rate * groups.weight) / weight
    independent = (float(squares[:k].sum()) * (1 - rate) ** 2 + float(squares[k:].sum()) * rate**2) / weight**2
    shares = groups.weight / weight
    spread = group_spread(sums, shares, even_pulls(shares, probabilities.n_kish), independent=independent)
    if rate in (0.0, 1.0) or spread.variance == 0:
        low, high = wilson_at(rate, number, z_value(level))
        return float(low), float(high)
    return logit_limits(rate, math.sqrt(spread.variance), float(t_value(level, spread.df)))


def _within(limits: Limits, bounds: Limits) -> Limits:
    return max(limits[0], bounds[0]), min(limits[1], bounds[1])
