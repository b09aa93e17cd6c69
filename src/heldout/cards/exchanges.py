"""The interval of an importance from one test part, in which every case counts twice: for what it gets and gives.

Let h(i, d) be the change of the loss of case i when it gets the value of case d. The importance of a fixed model is the
mean of h over independent i and d, a U-statistic (Fisher, Rudin & Dominici 2019), and a shuffle is a part of
its pairs in which every case receives once and gives once. By Hoeffding (1948) h = mean + a(i) + b(d) + e(i, d) with
parts that are uncorrelated for i ≠ d. In a shuffle every a and every b is there exactly once, so that of n cases and K
shuffles the mean has the variance

    [Var(a + b) + Var(e) / K] / n,

the second part being that of an incomplete U-statistic (Blom 1976). A t interval over the changes that cases receive
leaves out b, and with it that all cases get their values from the same few donors.

The means over the shuffles of what a case received and of what it gave sum to a + b and noise. The noise of the first
is that of b(d) + e(i, d), that of the second of a(i) + e(i, d), each over K: together
[Var(a) + Var(b) + 2 Var(e)] / K, of which Var(e) / K belongs there. What is too much, [Var(a) + Var(b) + Var(e)] / K,
is the variance of the single changes over K, which is seen and is taken off. Unless a and b pull against each other,
that is at most half of all; no more is taken off, and then the interval is too wide rather than too narrow.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from heldout.arrays import Floats
from heldout.estimates.quantiles import t_value

REFERENCE = "Hoeffding (1948), Annals of Mathematical Statistics 19; Blom (1976), Biometrika 63"
MOST_NOISE = 0.5
ONE_GROUP = "all cases are of one group, so there is no spread to judge by"
NO_LOSS = "no exchange changed a loss, so there is no spread to judge by"


@dataclass(frozen=True, eq=False)
class Exchanges:
    """What shuffling one column did to each case.

    `received` is the mean change of its own loss, `given` that of the losses of those who got its value, and `variance`
    that of the single changes. `group` is the group of each case, where these are what is independent.
    """

    received: Floats
    given: Floats
    variance: float
    shuffles: int
    group: NDArray[np.int64] | None = None

    def limits(self, level: float) -> tuple[float, float, str]:
        """Student's t limits of the mean change, or why there are none.

        >>> changes = np.array([0.0, 0.2, 0.1, 0.1])
        >>> low, high, _ = Exchanges(changes, changes[::-1], 0.01, 5).limits(0.95)
        >>> print(f"{low:.3f} {high:.3f}")
        -0.064 0.264
        """
        n, mean = len(self.received), float(self.received.mean())
        influence = self.received + self.given - 2 * mean
        if self.group is not None:
            place = np.unique(self.group, return_inverse=True)[1]
            influence = np.asarray(np.bincount(place, weights=influence), dtype=np.float64)
        units = len(influence)
        if units < 2:
            return math.nan, math.nan, ONE_GROUP
        spread = float(np.square(influence).sum())
        if spread == 0:
            return math.nan, math.nan, NO_LOSS
        noise = min(n * self.variance / self.shuffles, MOST_NOISE * spread)
        half = float(t_value(level, units - 1)) * math.sqrt((spread - noise) * units / (units - 1)) / n
        return mean - half, mean + half, ""
