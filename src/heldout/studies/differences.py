"""The power to show a difference of two classifiers, or that there is none beyond a margin."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np

from heldout.arrays import Floats
from heldout.intervals.proportion import wilson
from heldout.intervals.quantiles import t_value, z_value
from heldout.studies.sampling import binomial, likely_hits, phi

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


# Two classifiers on the same cases, by the share of cases that exactly one of them gets right.


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
    # At most so many on one side, or at most so many on the other: P(X ≤ x) = I_{1−p}(n − x, x + 1).
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


# Two classifiers on different test sets of n cases each.


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
