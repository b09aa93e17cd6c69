"""What a sample of n cases will show: the width of an interval, and the chance to meet a bound or show a difference."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from heldout.arrays import Floats
from heldout.intervals.proportion import clopper_pearson, wilson
from heldout.intervals.quantiles import t_value, z_value

# A distribution is represented by this many equally likely values: the number of positives, and a pilot's posterior.
NODES = 15
PRIOR_NODES = 41


def midpoints(number: int) -> Floats:
    """The middles of equally likely parts: the probabilities at which quantiles stand for a distribution.

    >>> midpoints(2).tolist()
    [0.25, 0.75]
    """
    return (np.arange(number) + 0.5) / number


def phi(z: float) -> float:
    """The standard normal distribution function.

    >>> round(phi(1.96), 3)
    0.975
    """
    return math.erfc(-z / math.sqrt(2)) / 2


@dataclass(frozen=True, slots=True)
class Groups:
    """Groups of cases that are alike: their mean size, the correlation within, and how much the sizes vary.

    `variation` is the standard deviation of the sizes over their mean.
    """

    size: float
    correlation: float
    variation: float = 0.0

    def inflation(self, share: float = 1.0) -> float:
        """How many times the variance of independent cases: Kish (1965), with Eldridge et al. (2006) for unequal sizes.

        Where only a share of the cases counts, such as the positives, a case meets that many fewer of its own group.

        >>> Groups(10, 0.1).inflation(), round(Groups(10, 0.1, 0.5).inflation(), 3)
        (1.9, 2.15)
        """
        return 1 + max((1 + self.variation**2) * self.size - 1, 0.0) * share * self.correlation

    def freedom(self, n: Any, share: float = 1.0) -> Any:
        """Degrees of freedom of a standard error over the groups that hold such a case; unequal ones count less."""
        holding = n / self.size * (1 - (1 - share) ** self.size)
        return np.maximum(holding / (1 + self.variation**2) - 1, 1.0)


class Sampling(ABC):
    """A measure of which n cases will be a sample; `beliefs` are equally likely true values, one or many."""

    value: float

    @abstractmethod
    def mean_width(self, n: int, level: float) -> float:
        """The mean width of the interval over samples of n cases."""

    @abstractmethod
    def width_chance(self, n: int, level: float, width: float, beliefs: Sequence[float]) -> float:
        """The chance that the interval is at most so wide."""

    @abstractmethod
    def pass_chances(self, n: int, level: float, bound: float, *, above: bool, beliefs: Sequence[float]) -> Floats:
        """For each true value the chance that the one-sided limit of the level clears the bound, as a gate asks."""

    @abstractmethod
    def variance(self, n: float) -> float:
        """The variance of the estimate, for large samples."""


def keep(share: Floats) -> Floats:
    """A share as it is."""
    return share


def f1_of_jaccard(share: Floats) -> Floats:
    """F1 as a function of the Jaccard index, which is a plain share of cases.

    >>> f1_of_jaccard(np.array([0.5])).round(3).tolist()
    [0.667]
    """
    return np.asarray(2 * share / (1 + share))


@dataclass(frozen=True)
class ShareSampling(Sampling):
    """A share of those cases that count, by Wilson's interval, summed over all that can happen.

    `counted` is the share of the cases that count: all for accuracy, the positives for recall; how many there will be
    is chance as well. `bend` is what the share and its limits are turned into, for F1.
    """

    value: float
    counted: float = 1.0
    bend: Callable[[Floats], Floats] = keep

    def mean_width(self, n: int, level: float) -> float:
        """The mean width over samples of n cases."""
        widths = []
        for size in self._sizes(n):
            hits = likely_hits(size, self.value)
            low, high = self._limits(hits, size, level)
            widths.append(float((binomial(hits, size, self.value) * (high - low)).sum()))
        return float(np.mean(widths))

    def width_chance(self, n: int, level: float, width: float, beliefs: Sequence[float]) -> float:
        """The chance of an interval at most so wide."""
        chances = []
        for size in self._sizes(n):
            for belief in beliefs:
                hits = likely_hits(size, belief)
                low, high = self._limits(hits, size, level)
                chances.append(float(binomial(hits, size, belief)[high - low <= width + 1e-12].sum()))
        return float(np.mean(chances))

    def pass_chances(self, n: int, level: float, bound: float, *, above: bool, beliefs: Sequence[float]) -> Floats:
        """For each true value the chance that Clopper and Pearson's limit clears the bound."""
        from scipy.special import betainc

        truths = np.asarray(beliefs, dtype=np.float64)
        chances = []
        for size in self._sizes(n):
            least = self._fewest_hits(size, level, bound, above=above)
            if least > size:
                chances.append(np.zeros(len(truths)))
                continue
            # P(X ≥ x) = I_p(x, n − x + 1); below, hits and misses change places.
            rate = truths if above else 1 - truths
            chances.append(np.ones(len(truths)) if least == 0 else betainc(least, size - least + 1, rate))
        return np.asarray(np.mean(chances, axis=0))

    def variance(self, n: float) -> float:
        """The variance of the share, bent by the delta method."""
        step = 1e-6
        ends = self.bend(np.array([max(self.value - step, 0.0), min(self.value + step, 1.0)]))
        slope = float(ends[1] - ends[0]) / (min(self.value + step, 1.0) - max(self.value - step, 0.0))
        return slope**2 * self.value * (1 - self.value) / max(n * self.counted, 1.0)

    def _sizes(self, n: int) -> list[int]:
        """Numbers of cases that count, each equally likely."""
        if self.counted >= 1:
            return [n]
        return [max(int(size), 1) for size in likely_sizes(n, self.counted)]

    def _limits(self, hits: Floats, size: int, level: float) -> tuple[Floats, Floats]:
        low, high = wilson(hits, size, level)
        return self.bend(low), self.bend(high)

    def _fewest_hits(self, size: int, level: float, bound: float, *, above: bool) -> int:
        """The fewest hits (below a bound: misses) with which the limit meets the bound; size + 1 where none do."""

        def meets(count: int) -> bool:
            hits = np.array([float(count if above else size - count)])
            low, high = (self.bend(end) for end in clopper_pearson(hits, size, 2 * level - 1))
            return bool(low[0] >= bound - 1e-12 if above else high[0] <= bound + 1e-12)

        start, stop = -1, size + 1
        while stop - start > 1:
            middle = (start + stop) // 2
            start, stop = (start, middle) if middle <= size and meets(middle) else (middle, stop)
        return stop


@dataclass(frozen=True)
class NormalSampling(Sampling):
    """An estimate that is normal on its own scale or on the logit scale, where its interval is made.

    `spread` gives the variance of the estimate for true values and numbers of cases; `freedom` the degrees of freedom
    of t, by n; infinite is z. `varied` gives equally likely numbers of cases that tell as much as a sample of n will,
    which is chance where it depends on how many positives there are. `guard` is the standard error at a bound, by
    which a gate keeps away from it at least. `shift` is by how much a gate moves the estimate towards the bound for
    the case against it that it adds: by the bound, the number of cases and whether the value is to lie above.
    """

    value: float
    spread: Callable[[Any, Any], Any]
    freedom: Callable[[Any], Any]
    logit: bool = False
    varied: Callable[[float], Floats] = lambda n: np.array([float(n)])
    guard: Callable[[float, float], float] = lambda _bound, _n: 0.0
    shift: Callable[[float, float, bool], float] = lambda _bound, _n, _above: 0.0

    def mean_width(self, n: int, level: float) -> float:
        """The mean width over samples of n cases."""
        return float(self._widths(n, level, [self.value]).mean())

    def width_chance(self, n: int, level: float, width: float, beliefs: Sequence[float]) -> float:
        """The chance of an interval at most so wide."""
        return float((self._widths(n, level, beliefs) <= width).mean())

    def pass_chances(self, n: int, level: float, bound: float, *, above: bool, beliefs: Sequence[float]) -> Floats:
        """For each true value the chance that the limit clears the bound."""
        from scipy.special import ndtr

        sign = 1.0 if above else -1.0
        target, critical = float(self._place(bound)), float(self._critical(n, 2 * level - 1))

        def falls_short(transformed: float) -> bool:
            return bool(sign * (transformed - target) < critical * self._error(self._back(transformed), n))

        # The estimate at which the limit just meets the bound; farther away from the bound is better.
        step = sign * max(critical * float(self._error(bound, n)), 1e-9)
        near, far = target, target + step
        while falls_short(far) and abs(far - target) < 60 * abs(step):
            far += step
        for _ in range(60):
            middle = (near + far) / 2
            near, far = (middle, far) if falls_short(middle) else (near, middle)
        least = bound + sign * self.guard(bound, n) * z_value(2 * level - 1)
        guarded = float(self._place(min(max(least, 1e-12), 1 - 1e-12) if self.logit else least))
        far = max(far, guarded) if above else min(far, guarded)
        if moved := self.shift(bound, n, above):
            seen = float(self._back(far)) + sign * moved
            far = float(self._place(min(max(seen, 1e-12), 1 - 1e-12) if self.logit else seen))
        truths = np.asarray(beliefs, dtype=np.float64)
        return np.asarray(ndtr(sign * (self._place(truths) - far) / self._error(truths, n)))

    def variance(self, n: float) -> float:
        """The variance of the estimate."""
        return float(self.spread(self.value, n))

    def draw_beliefs(self, n: float) -> list[float]:
        """True values that a pilot of n cases leaves, equally likely."""
        return [float(belief) for belief in self._samples(n, [self.value])[0]]

    def _samples(self, n: float, truths: Sequence[float]) -> Floats:
        """Estimates that a sample may give, equally likely, a row for each true value."""
        from scipy.special import ndtri

        truth = np.asarray(truths, dtype=np.float64)[:, None]
        return np.asarray(self._back(self._place(truth) + self._error(truth, n) * ndtri(midpoints(PRIOR_NODES))))

    def _widths(self, n: float, level: float, truths: Sequence[float]) -> Floats:
        """Widths that a sample may give, equally likely."""
        seen, sizes = self._samples(n, truths).reshape(-1, 1), np.asarray(self.varied(n))
        half = self._critical(sizes, level) * self._error(seen, sizes)
        return np.asarray(self._back(self._place(seen) + half) - self._back(self._place(seen) - half))

    def _critical(self, n: Any, level: float) -> Any:
        freedom = self.freedom(n)
        return z_value(level) if np.isinf(freedom).all() else t_value(level, freedom)

    def _error(self, value: Any, n: Any) -> Any:
        """The standard error on the scale of the interval."""
        return np.sqrt(self.spread(value, n)) / (value * (1 - value) if self.logit else 1.0)

    def _place(self, value: Any) -> Any:
        return np.log(value / (1 - value)) if self.logit else value

    def _back(self, transformed: Any) -> Any:
        if not self.logit:
            return transformed
        from scipy.special import expit

        return np.clip(expit(transformed), 1e-12, 1 - 1e-12)


def likely_sizes(n: int, share: float) -> Floats:
    """Numbers of n cases that count, each with probability `share`: quantiles that are equally likely.

    >>> likely_sizes(100, 0.1)[[0, 7, 14]].tolist()
    [5.0, 10.0, 16.0]
    """
    from scipy.special import bdtrik

    return np.asarray(np.ceil(np.nan_to_num(bdtrik(midpoints(NODES), n, share), nan=0.0)))


def likely_hits(n: int, p: float) -> Floats:
    """Every number of successes that n trials come to with more than a vanishing probability."""
    middle, reach = n * p, 8 * math.sqrt(n * p * (1 - p)) + 10
    return np.arange(max(0, math.floor(middle - reach)), min(n, math.ceil(middle + reach)) + 1, dtype=np.float64)


def binomial(hits: Floats, n: int, p: float) -> Floats:
    """The probability of each number of successes.

    >>> binomial(np.array([0.0, 1.0]), 1, 0.25).round(2).tolist()
    [0.75, 0.25]
    """
    from scipy.special import gammaln, xlog1py, xlogy

    ways = gammaln(n + 1) - gammaln(hits + 1) - gammaln(n - hits + 1)
    return np.asarray(np.exp(ways + xlogy(hits, p) + xlog1py(n - hits, -p)))


Claim = Literal["difference", "non-inferiority", "equivalence"]
# Up to this many cases the power of McNemar's test is summed exactly; beyond, Connor's formula is as good.
EXACT_PAIRED = 5_000
# Up to this many cases in each test set every pair of counts is summed.
EXACT_UNPAIRED = 2_000


@dataclass(frozen=True)
class Claimed:
    """What is to be shown of the difference `gap` (positive: the first is better), and at which level.

    A margin is judged by an interval of level 1 − 2·(1 − level), as a comparison does.
    """

    gap: float
    level: float
    claim: Claim = "difference"
    margin: float = 0.0

    @property
    def tail_level(self) -> float:
        """The level of the two-sided interval that decides."""
        return self.level if self.claim == "difference" else 2 * self.level - 1

    def power(self, error: float, freedom: float = math.inf) -> float:
        """The power where the estimated difference is normal with this standard error."""
        critical = z_value(self.tail_level) if math.isinf(freedom) else float(t_value(self.tail_level, freedom))
        if self.claim == "difference":
            return phi(abs(self.gap) / error - critical) + phi(-abs(self.gap) / error - critical)
        above = phi((self.gap + self.margin) / error - critical)
        if self.claim == "non-inferiority":
            return above
        return max(above + phi((self.margin - self.gap) / error - critical) - 1, 0.0)


def paired_share_power(n: float, discordance: float, claimed: Claimed) -> float:
    """The power on n cases that both judged: of McNemar's test (Connor 1987), or of Tango's interval for a margin.

    >>> round(paired_share_power(475, 0.1, Claimed(0.04, 0.95)), 2)
    0.8
    """
    gap, own = claimed.gap, math.sqrt(max(discordance - claimed.gap**2, 0.0))
    root = math.sqrt(n)
    critical = z_value(claimed.tail_level)

    def beyond(shift: float) -> float:
        """The chance that the difference, measured so that more is better, is shown to lie above −shift."""
        null = math.sqrt(_tango_variance(discordance, gap if shift >= 0 else -gap, -abs(shift)))
        distance = root * ((gap if shift >= 0 else -gap) + abs(shift)) - critical * null
        return phi(distance / own) if own else float(distance > 0)

    if claimed.claim == "difference":
        ends = [sign * root * abs(gap) - critical * math.sqrt(discordance) for sign in (1, -1)]
        return sum(phi(end / own) if own else float(end > 0) for end in ends)
    above = beyond(claimed.margin)
    if claimed.claim == "non-inferiority":
        return above
    return max(above + beyond(-claimed.margin) - 1, 0.0)


def _tango_variance(discordance: float, gap: float, null: float) -> float:
    """The variance of one case's difference, where the true difference is `null`: Tango (1998), restricted estimate."""
    first, second = (discordance + gap) / 2, (discordance - gap) / 2
    b = -discordance + (2 - first + second) * null
    c = -second * null * (1 - null)
    restricted = (math.sqrt(max(b * b - 8 * c, 0.0)) - b) / 4
    return max(2 * restricted + null * (1 - null), 1e-12)


def mcnemar_power(n: int, discordance: float, gap: float, level: float = 0.95) -> float:
    """The probability that McNemar's mid-p test rejects, summed over the number of discordant cases and their split.

    >>> round(mcnemar_power(475, 0.1, 0.04), 3)
    0.801
    """
    from scipy.special import betainc

    number = likely_hits(n, discordance)
    most = _critical_splits(number, level)
    to_a = min(max((discordance + gap) / (2 * discordance), 0.0), 1.0)
    at_most = np.maximum(most, 0.0)
    # At most x on one side, or at most x on the other: P(X ≤ x) = I_{1−p}(n − x, x + 1).
    either = sum(betainc(np.maximum(number - at_most, 0.5), at_most + 1, share) for share in (to_a, 1 - to_a))
    return float((binomial(number, n, discordance) * np.where(most >= 0, either, 0.0)).sum())


def _critical_splits(number: Floats, level: float) -> Floats:
    """For each number of discordant cases the most that may fall to one side for the mid-p test to reject, or −1."""
    from scipy.special import bdtrik, betainc

    def p(least: Floats) -> Floats:
        # The two terms of mcnemar_p; P(X ≤ −1) is 0.
        inside = np.maximum(least, 0.0)
        below = np.where(inside > 0, betainc(number - inside + 1, np.maximum(inside, 1.0), 0.5), 0.0)
        return np.where(2 * least < number, betainc(np.maximum(number - inside, 0.5), inside + 1, 0.5) + below, 1.0)

    # Near the quantile of the exact test, then one step up or down where the mid-p test says otherwise.
    least = np.floor(np.nan_to_num(bdtrik((1 - level) / 2, np.maximum(number, 1.0), 0.5), nan=0.0)) + 1
    for _ in range(3):
        least = np.where((least >= 0) & (p(least) > 1 - level), least - 1, least)
    return np.where((number > 0) & (least >= 0), least, -1.0)


def unpaired_share_power(n: int, first: float, second: float, claimed: Claimed) -> float:
    """The power of the pooled z test of two shares, of which more is better, or of Newcombe's interval for a margin.

    Summed over every pair of counts up to a few thousand cases; beyond, normal: Fleiss, Levin & Paik (2003), ch. 4.

    >>> round(unpaired_share_power(686, 0.9, 0.85, Claimed(0.05, 0.95)), 2)
    0.8
    """
    if n > EXACT_UNPAIRED:
        return _normal_unpaired_power(n, first, second, claimed)
    hits = [likely_hits(n, rate) for rate in (first, second)]
    weights = np.outer(*(binomial(counts, n, rate) for counts, rate in zip(hits, (first, second), strict=True)))
    rates = [counts / n for counts in hits]
    apart = rates[0][:, None] - rates[1]
    if claimed.claim == "difference":
        both = (rates[0][:, None] + rates[1]) / 2
        shown = np.abs(apart) > z_value(claimed.level) * np.sqrt(2 * both * (1 - both) / n)
        return float(weights[shown & (apart != 0)].sum())
    ends = [wilson(counts, n, claimed.tail_level) for counts in hits]
    below = np.hypot((rates[0] - ends[0][0])[:, None], ends[1][1] - rates[1])
    above = np.hypot((ends[0][1] - rates[0])[:, None], rates[1] - ends[1][0])
    shown = apart - below > -claimed.margin
    if claimed.claim == "equivalence":
        shown &= apart + above < claimed.margin
    return float(weights[shown].sum())


def _normal_unpaired_power(n: int, first: float, second: float, claimed: Claimed) -> float:
    own = math.sqrt((first * (1 - first) + second * (1 - second)) / n)
    if claimed.claim != "difference":
        return claimed.power(own)
    mean = (first + second) / 2
    null = math.sqrt(2 * mean * (1 - mean) / n)
    reach, critical = abs(first - second), z_value(claimed.level)
    return phi((reach - critical * null) / own) + phi((-reach - critical * null) / own)
