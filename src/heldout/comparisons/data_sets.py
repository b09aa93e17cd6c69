"""Learners compared over many data sets: two by signed ranks, more by their average ranks."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from heldout.arguments import check_level, check_whole, closest, listing
from heldout.arrays import Floats
from heldout.comparisons.corrections import CORRECTIONS, adjust, find_correction
from heldout.comparisons.fold_tests import Posterior, check_rope
from heldout.comparisons.learner_ranks import LearnerRanks, RankPair
from heldout.comparisons.pair_test import Tested, find_procedure, procedure
from heldout.comparisons.ranks import (
    NEMENYI,
    dunn_difference,
    friedman,
    iman_davenport,
    nemenyi_difference,
    nemenyi_p,
    normal_p,
    rank_table,
    rank_z,
    wins_and_ties,
)
from heldout.comparisons.result_table import ResultTable, read_results
from heldout.comparisons.wilcoxon import SIGN, WILCOXON, paired_values, pseudomedian, sign_test, wilcoxon
from heldout.errors import OptionError

# Two learners over many data sets, as beliefs: the Bayesian signed ranks, by Dirichlet weights of the data sets.

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


DATA_SET_TESTS: dict[str, Callable[..., Tested]] = {
    WILCOXON.name: wilcoxon,
    SIGN.name: sign_test,
    BAYES_SIGNED_RANK.name: bayes_signed_rank,
}
# Below this many data sets the normal and F distributions are rough.
FEW = 6


def compare_over_data_sets(a: Any, b: Any, method: str = "wilcoxon", *, level: float = 0.95, **options: Any) -> Tested:
    """Two learners over data sets, one value of each per data set; `options` are those of the test.

    >>> compare_over_data_sets([0.8, 0.9, 0.7, 0.9], [0.7, 0.8, 0.7, 0.8], "sign").statistic
    3.0
    """
    used = find_procedure(method, "data sets")
    if used.name not in DATA_SET_TESTS:
        raise OptionError(
            f"The method {used.name!r} is for a table of learners, and here are two.",
            hint=f"use one of: {listing(DATA_SET_TESTS)}; or rank_learners.",
        )
    return DATA_SET_TESTS[used.name](a, b, level=level, **options)


def rank_learners(
    table: Any,
    *,
    control: object = None,
    correction: str | None = None,
    level: float = 0.95,
    higher_is_better: bool | None = None,
) -> LearnerRanks:
    """Rank the learners on every data set, test whether they differ, and which of them do.

    Without a `control` all pairs are compared, by default with Nemenyi's test; with one, all others with it, by default
    with Holm's correction. `table` is anything that `read_results` takes.

    >>> table = {"tree": [0.7, 0.8, 0.6, 0.9], "bayes": [0.8, 0.9, 0.7, 0.8], "knn": [0.6, 0.7, 0.5, 0.7]}
    >>> found = rank_learners(table)
    >>> found.average_ranks
    {'tree': 1.75, 'bayes': 1.25, 'knn': 3.0}
    """
    held = read_results(table, higher_is_better=higher_is_better)
    check_level(level)
    place = None if control is None else held.place(control)
    used = _correction(correction, against_control=place is not None)
    ranks = rank_table(held)
    pairs = _pairs(held, ranks, place, used, level)
    tests = (iman_davenport(ranks), friedman(ranks, ties=False), friedman(ranks, ties=True))
    return LearnerRanks(
        held, ranks, tests, pairs, used, level, _critical(held, len(pairs), used, level),
        control=None if place is None else held.learners[place], notes=_notes(held, ranks, used),
    )  # fmt: skip


def _correction(asked: str | None, *, against_control: bool) -> str:
    """The name of the correction; Nemenyi's test is one of its own, for all pairs."""
    if asked is None:
        return "holm" if against_control else NEMENYI.name
    key = str(asked).strip().casefold()
    if key == NEMENYI.name or (key not in CORRECTIONS and closest(key, [*CORRECTIONS, NEMENYI.name]) == NEMENYI.name):
        if key != NEMENYI.name:
            raise OptionError(f"There is no correction {asked!r}.", hint=f"did you mean {NEMENYI.name!r}?")
        name = NEMENYI.name
    else:
        name = find_correction(asked).name
    if against_control and name in (NEMENYI.name, "shaffer"):
        raise OptionError(
            f"{name.capitalize()}'s test is for all pairs, and here all are compared with one control.",
            hint="use 'holm', 'hommel' or 'bonferroni', or leave out the control.",
        )
    return name


def _pairs(table: ResultTable, ranks: Floats, control: int | None, used: str, level: float) -> tuple[RankPair, ...]:
    k = len(table.learners)
    if control is None:
        first, second = np.triu_indices(k, 1)
    else:
        second = np.delete(np.arange(k), control)
        first = np.full(k - 1, control)
    z = rank_z(ranks)[first, second]
    p = normal_p(z)
    adjusted = nemenyi_p(z, k) if used == NEMENYI.name else adjust(p, used, pairs_of=k if control is None else None)
    mean = ranks.mean(axis=0)
    wins, ties = wins_and_ties(ranks)
    reach = _critical(table, len(p), used, level)
    return tuple(
        RankPair(
            table.learners[i], table.learners[j], float(mean[i] - mean[j]), reach, float(z[at]), float(p[at]),
            float(adjusted[at]), bool(adjusted[at] <= 1 - level), int(wins[i, j]), int(ties[i, j]), int(wins[j, i]),
        )
        for at, (i, j) in enumerate(zip(first.tolist(), second.tolist(), strict=True))
    )  # fmt: skip


def _critical(table: ResultTable, comparisons: int, used: str, level: float) -> float:
    """How far two ranks must lie apart, where that is the same for all pairs."""
    n, k = table.n, len(table.learners)
    if used == NEMENYI.name:
        return nemenyi_difference(n, k, level)
    return dunn_difference(n, k, level, comparisons) if used == "bonferroni" else float("nan")


def _notes(table: ResultTable, ranks: Floats, used: str) -> tuple[str, ...]:
    notes = []
    if table.n < FEW:
        notes.append(f"With {table.n} data sets the tests of ranks are rough, and only large differences can be told.")
    whole = int((ranks == ranks[:, :1]).all(axis=1).sum())
    if whole:
        sets = "data set shows" if whole == 1 else "data sets show"
        notes.append(f"{whole} {sets} no difference between any of the learners.")
    if used == NEMENYI.name and NEMENYI.finding and len(table.learners) > 2:
        notes.append(f"Nemenyi: {NEMENYI.finding}.")
    return tuple(notes)
