"""Two learners over many data sets, as beliefs: the Bayesian signed ranks, by Dirichlet weights of the data sets."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from heldout.arguments import check_level, check_whole
from heldout.arrays import Floats
from heldout.comparisons.bayes_folds import Posterior, check_rope
from heldout.comparisons.procedure import procedure
from heldout.comparisons.wilcoxon import paired_values, pseudomedian
from heldout.errors import OptionError

# Draws at a time hold at most this many numbers.
AT_ONCE = 1 << 22
# So many draws place the limits of an interval; sorting more would cost more than it tells.
FOR_LIMITS = 4000

BAYES_SIGNED_RANK = procedure(
    "bayes-signed-rank",
    "data sets",
    "The posterior of the signed ranks under a Dirichlet process, with a region of practical equivalence.",
    "Benavoli et al. (2014, 2017)",
)


def bayes_signed_rank(
    a: Any,
    b: Any,
    *,
    rope: float = 0.0,
    prior: float = 0.5,
    draws: int = 50_000,
    seed: int = 0,
    level: float = 0.95,
) -> Posterior:
    """How likely A is higher, B is higher, or the difference stays within ± `rope`, on a further data set.

    Each draw weighs the data sets anew, together with one of no difference whose weight is `prior`, and asks which of
    the three most averages of two differences fall into. The probabilities are the shares of draws.

    >>> a, b = [0.81, 0.92, 0.73, 0.88, 0.79, 0.85], [0.75, 0.90, 0.66, 0.83, 0.80, 0.79]
    >>> found = bayes_signed_rank(a, b, rope=0.01, draws=5_000)
    >>> found.a_higher > 0.95, round(sum(found.odds), 9)
    (True, 1.0)
    """
    rope, draws = check_rope(rope), check_whole("draws", draws, 1)
    check_level(level)
    if not (isinstance(prior, int | float) and 0 < prior < math.inf):
        raise OptionError(f"The weight of the prior must be above 0. Got {prior!r}.", hint="leave prior out for 0.5.")
    found, _, _ = paired_values(a, b)
    with_prior = np.concatenate([[0.0], found])
    sums = with_prior[:, None] + with_prior[None, :]
    # An average that lies on the edge counts half on either side of it.
    above = (sums > 2 * rope) + 0.5 * (sums == 2 * rope)
    below = (sums < -2 * rope) + 0.5 * (sums == -2 * rope)
    weights = np.concatenate([[prior], np.ones(len(found))])
    random = np.random.default_rng(check_whole("seed", seed, 0))
    counts, limits = np.zeros(3), _Limits(sums / 2, min(draws, FOR_LIMITS))
    for begin in range(0, draws, step := max(AT_ONCE // len(weights), 1)):
        drawn = random.dirichlet(weights, min(step, draws - begin))
        higher, lower = (((drawn @ side) * drawn).sum(axis=1) for side in (above, below))
        counts += _winners(higher, lower, rope)
        limits.add(drawn)
    odds = counts / draws
    low, high = limits.between(level)
    note = "A and B are equal on every data set" if not found.any() else ""
    return Posterior(
        pseudomedian(found, level)[0], low, high, level, BAYES_SIGNED_RANK.name, math.nan, len(found), note=note,
        interval_method="posterior", rope=rope, a_higher=float(odds[0]), within=float(odds[1]), b_higher=float(odds[2]),
    )  # fmt: skip


def _winners(higher: Floats, lower: Floats, rope: float) -> Floats:
    """How many draws each of the three has the most of; equal shares are divided."""
    shares = np.stack([higher, 1 - higher - lower if rope else np.full(len(higher), -1.0), lower], axis=1)
    best = shares >= shares.max(axis=1, keepdims=True) - 1e-12
    return np.asarray((best / best.sum(axis=1, keepdims=True)).sum(axis=0))


class _Limits:
    """The median average of two differences in each of the first draws."""

    def __init__(self, averages: Floats, wanted: int) -> None:
        self.rows, self.columns = np.triu_indices(len(averages))
        flat = averages[self.rows, self.columns]
        order = np.argsort(flat, kind="stable")
        self.rows, self.columns, self.ordered = self.rows[order], self.columns[order], flat[order]
        self.twice = np.where(self.rows == self.columns, 1.0, 2.0)
        self.wanted = wanted
        self.medians: list[float] = []

    def add(self, drawn: Floats) -> None:
        step = max(AT_ONCE // len(self.ordered), 1)
        for begin in range(0, min(len(drawn), self.wanted - len(self.medians)), step):
            part = drawn[begin : min(begin + step, begin + self.wanted - len(self.medians), len(drawn))]
            reached = np.cumsum(part[:, self.rows] * part[:, self.columns] * self.twice, axis=1) >= 0.5
            self.medians += self.ordered[reached.argmax(axis=1)].tolist()

    def between(self, level: float) -> tuple[float, float]:
        low, high = np.quantile(self.medians, [(1 - level) / 2, (1 + level) / 2])
        return float(low), float(high)
