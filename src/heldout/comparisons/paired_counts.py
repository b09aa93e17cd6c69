"""Two classifiers on the same cases: the difference of any measure of counted predictions, with interval and test."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from heldout.arguments import check_level, check_replicates, check_whole, listing, require
from heldout.arrays import Floats
from heldout.comparisons.joint_tables import (
    PairedQuantity,
    bootstrap_differences,
    find_successes,
    make_paired_quantity,
    permuted_differences,
    posterior_differences,
)
from heldout.comparisons.mcnemar import EFFECT, MID_P, TESTS, mcnemar, mcnemar_p, odds_ratio
from heldout.comparisons.pair_test import (
    PER_CASE,
    ROUNDING,
    SAME_ANSWERS,
    find_procedure,
    find_reach,
    per_case,
    permutation_note,
    permutation_p,
    register_procedure,
    tail_note,
    tail_p,
)
from heldout.errors import OptionError
from heldout.evidence.joint_counts import PairCounts
from heldout.intervals.draws import MOST_CELLS, order_limits, posterior_limits
from heldout.intervals.estimate import PairTest, join_notes, undefined_test
from heldout.intervals.methods import METHODS
from heldout.intervals.proportion import wilson
from heldout.intervals.quantiles import z_value
from heldout.intervals.score_limits import paired_difference_limits
from heldout.measures.quantity import Quantity

ALIKE = "every case that counts differs in the same way, so the standard error is zero and says nothing"
# With 4 cases to a class the macro F1 of two equal classifiers was told apart .10 to .17 of the time, with 10 cases to
# a class .06 to .08; a permutation keeps its level whatever the sizes.
CLASS_SIZE = 10
SMALL_CLASSES = "fewer than 10 cases to a class on average: p and the interval claim too much then; see 'permutation'"

TANGO = register_procedure(
    "tango",
    "same cases",
    "Tango's score interval, and the score test that it inverts.",
    "Tango (1998), Statistics in Medicine 17, 891-908",
    "cautious, never short, with fewer than 5 cases that tell the two apart",
)
NEWCOMBE = register_procedure(
    "newcombe",
    "same cases",
    "Wilson's intervals of the two shares, joined with regard to their correlation (paired).",
    "Newcombe (1998), Statistics in Medicine 17, 2635-2650, method 10",
)
NORMAL = register_procedure(
    "normal",
    "same cases",
    "Difference ± z standard errors, by the delta method for measures that are not shares (Wald).",
    "Agresti (2013), Categorical Data Analysis, ch. 11",
    "holds the difference .45 to .6 of the time with 30 cases of which one or two tell the classifiers apart",
)
DIRICHLET = register_procedure(
    "dirichlet",
    "same cases",
    "Quantiles of the posterior of the joint table of truth, A and B; default for all but shares of all cases.",
    METHODS["dirichlet"].reference,
    "cautious with few cases of one class; an average over classes with 4 cases each rejects .10 to .17 of true nulls",
)
BOOTSTRAP = register_procedure(
    "bootstrap",
    "same cases",
    "Percentiles of tables of cases drawn with replacement, each case with both of its predictions.",
    "Efron & Tibshirani (1993), An Introduction to the Bootstrap, ch. 13",
    "holds the difference .5 to .8 of the time near a bound or with few cases that tell the two apart",
)
PERMUTATION = register_procedure(
    "permutation",
    "same cases",
    "Swaps the two predictions of each case by a coin: how often is the difference as large? Interval of the default.",
    "Edgington & Onghena (2007), Randomization Tests; Yeh (2000), Coling, 947-953",
)
OF_SHARES = (*TESTS, TANGO.name, NEWCOMBE.name)
OF_ANY = (DIRICHLET.name, BOOTSTRAP.name, PERMUTATION.name, NORMAL.name)


@dataclass(frozen=True, slots=True)
class Shares:
    """Two shares of the same n cases: successes of both, of A alone and of B alone."""

    both: int
    only_a: int
    only_b: int
    n: int
    whole: bool = True

    @property
    def difference(self) -> float:
        """A's share less B's."""
        return (self.only_a - self.only_b) / self.n if self.n else math.nan


@dataclass(frozen=True, slots=True)
class _Task:
    seen: PairedQuantity
    shares: Shares | None
    level: float
    seed: int
    replicates: int


def compare_counts(
    pairs: PairCounts,
    quantity: Quantity,
    *,
    method: str | None = None,
    level: float = 0.95,
    seed: int = 0,
    replicates: int = 2000,
) -> PairTest:
    """The difference of a quantity between A and B, by the default for its kind or by the method named.

    Shares of all cases (accuracy, error rate) get McNemar's mid-p test and Tango's interval, everything else the
    Dirichlet posterior. Swapping A and B changes the signs and nothing else.

    >>> from heldout.measures.catalogue import read_quantity
    >>> truth, a, b = np.repeat([0, 1], 50), np.repeat([0, 1, 1], [45, 5, 50]), np.repeat([0, 1, 0], [40, 50, 10])
    >>> seen = PairCounts.of(truth, a, b, ("no", "yes"))
    >>> result = compare_counts(seen, read_quantity("f1[yes]", seen.labels))
    >>> print(f"{result.difference:.3f} [{result.low:.2f}, {result.high:.2f}] {result.method}")
    0.152 [0.08, 0.24] dirichlet
    """
    level = check_level(level, derived=True)
    check_whole("seed", seed, 0)
    check_whole("replicates", replicates, 1)
    # Random draws are made for one and the same order of the two, whichever way round they were given.
    order = _order(pairs.swapped(), pairs)
    seen = make_paired_quantity(pairs.swapped() if order < 0 else pairs, quantity)
    task = _Task(seen, find_shares(seen), level, seed, replicates)
    name = _default(task) if method is None else _fitting(method, task)
    reason = seen.undefined("BA" if order < 0 else "AB")
    if reason:
        return undefined_test(reason, level, name, seen.n)
    test = _METHODS[name](task)
    if not pairs.differ:
        test = replace(test, note=SAME_ANSWERS)
    elif seen.axis == "macro" and name != PERMUTATION.name and seen.n < CLASS_SIZE * seen.cells.k:
        test = replace(test, note=join_notes(test.note, SMALL_CLASSES))
    if order == 0:
        # Neither can be told from the other, so only the draws could make a difference between them.
        half = (test.high - test.low) / 2
        effect = 0.0 if test.effect_name == PER_CASE else test.effect
        return replace(test, difference=0.0, low=-half, high=half, p=1.0, effect=effect)
    return _swap_sides(test) if order < 0 else test


def find_shares(seen: PairedQuantity) -> Shares | None:
    """The counts behind a quantity that is a share of the same cases for both, None for any other."""
    successes = find_successes(seen)
    if successes is None:
        return None
    a, b, counted, whole = successes

    def held(chosen: NDArray[np.bool_]) -> int:
        return int(seen.counts[chosen & counted].sum())

    return Shares(held(a & b), held(a & ~b), held(b & ~a), held(counted), whole)


def newcombe_limits(shares: Shares, level: float = 0.95) -> tuple[float, float]:
    """Newcombe's method 10 for paired shares: the distances to Wilson's limits, joined by Pythagoras and correlation.

    >>> low, high = newcombe_limits(Shares(14, 5, 0, 41))
    >>> print(f"{low:.3f} {high:.3f}")
    0.011 0.226
    """
    n, both, only_a, only_b = shares.n, shares.both, shares.only_a, shares.only_b
    if not n:
        return -1.0, 1.0
    sums = np.array([both + only_a, both + only_b])
    (p1, p2), (low, high) = sums / n, wilson(sums, n, level)
    neither = n - both - only_a - only_b
    odds = both * neither - only_a * only_b
    # A positive correlation is taken for less than it looks, by a continuity correction.
    cross = max(odds - n / 2, 0.0) if odds > 0 else float(odds)
    size = math.prod(float(part) for part in (*sums, *(n - sums)))
    phi = cross / math.sqrt(size) if size > 0 else 0.0
    below, above = (p1 - low[0], high[1] - p2), (high[0] - p1, p2 - low[1])
    reach = [math.sqrt(max(x * x - 2 * phi * x * y + y * y, 0.0)) for x, y in (below, above)]
    return max(shares.difference - reach[0], -1.0), min(shares.difference + reach[1], 1.0)


def _default(task: _Task) -> str:
    if task.shares is not None and task.shares.whole:
        return MID_P.name
    return DIRICHLET.name if len(task.seen.cells) <= MOST_CELLS else NORMAL.name


def _fitting(method: str, task: _Task) -> str:
    name = find_procedure(method, "same cases").name
    fitting = [*(OF_SHARES if task.shares is not None else ()), *OF_ANY]
    if name not in fitting:
        why = "is for shares of the same cases" if name in OF_SHARES else "does not work on counted predictions"
        raise OptionError(
            f"The method {name!r} {why}, and {task.seen.name} was asked for.",
            hint=f"use one of: {listing(fitting, most=20)}.",
        )
    return name


def _make_mcnemar(name: str) -> Callable[[_Task], PairTest]:
    def run(task: _Task) -> PairTest:
        shares = _shares(task)
        return mcnemar(shares.only_a, shares.only_b, shares.n, method=name, level=task.level)

    return run


def _score(name: str) -> Callable[[_Task], PairTest]:
    """Tango's or Newcombe's interval, with the score test of no difference."""

    def run(task: _Task) -> PairTest:
        shares = _shares(task)
        b, c = shares.only_a, shares.only_b
        p, square, _ = mcnemar_p(b, c, "mcnemar-chi-square")
        limits = (
            paired_difference_limits(b, c, shares.n, task.level)
            if name == TANGO.name
            else newcombe_limits(shares, task.level)
        )
        return PairTest(
            shares.difference, *limits, task.level, name, p, shares.n,
            statistic=math.copysign(math.sqrt(square), b - c), effect=odds_ratio(b, c),
            effect_name=EFFECT, interval_method=name,
        )  # fmt: skip

    return run


def _normal(task: _Task) -> PairTest:
    seen = task.seen
    a, b = seen.values
    difference = a - b
    error = _error(seen)
    flat = not error
    z = (math.copysign(math.inf, difference) if difference else 0.0) if flat else difference / error
    half = 0.0 if flat else z_value(task.level) * error
    low, high = _inside(seen, difference - half, difference + half)
    return PairTest(
        difference, low, high, task.level, NORMAL.name, math.erfc(abs(z) / math.sqrt(2)), seen.n,
        statistic=z, effect=per_case(difference, error, seen.n), effect_name=PER_CASE, note=ALIKE if flat else "",
        interval_method=NORMAL.name,
    )  # fmt: skip


def _error(seen: PairedQuantity) -> float:
    """The standard error of the difference by the delta method."""
    error = math.sqrt(float((seen.counts * seen.influence() ** 2).sum()))
    # At a bound the influence is zero up to rounding.
    return 0.0 if error <= ROUNDING * max(*map(abs, seen.values), 1.0) else error


def _dirichlet(task: _Task) -> PairTest:
    return _from_draws(task, posterior_differences(task.seen, task.level, task.seed), DIRICHLET.name)


def _bootstrap(task: _Task) -> PairTest:
    check_replicates(task.replicates, task.level)
    return _from_draws(task, bootstrap_differences(task.seen, task.replicates, task.seed), BOOTSTRAP.name)


def _from_draws(task: _Task, drawn: Floats, name: str) -> PairTest:
    """Order statistics as limits; p is twice the share of draws beyond zero on the side that has fewer."""
    a, b = task.seen.values
    difference = a - b
    defined = drawn[~np.isnan(drawn)]
    note = note_undefined_draws(len(drawn) - len(defined), len(drawn))
    if not len(defined):
        return PairTest(difference, math.nan, math.nan, task.level, name, math.nan, task.seen.n, note=note)
    find = posterior_limits if name == DIRICHLET.name else order_limits
    low, high = (float(limit) for limit in find(defined, task.level))
    # A posterior leaves out an estimate at the bound of what can be: the interval is made to hold it.
    low, high = _inside(task.seen, min(low, difference), max(high, difference))
    return PairTest(
        difference, low, high, task.level, name, tail_p(defined), task.seen.n,
        effect=per_case(difference, _error(task.seen), task.seen.n), effect_name=PER_CASE,
        note=join_notes(note, tail_note(defined)), interval_method=name,
    )  # fmt: skip


def _permutation(task: _Task) -> PairTest:
    drawn = permuted_differences(task.seen, task.replicates, task.seed)
    defined = drawn[~np.isnan(drawn)]
    a, b = task.seen.values
    tolerance = ROUNDING * max(1.0, abs(a), abs(b))
    interval = _METHODS[_default(task)](task)
    notes = [
        note_undefined_draws(len(drawn) - len(defined), len(drawn)),
        permutation_note(a - b, defined, tolerance),
        "a permutation has no interval of its own",
    ]
    return replace(
        interval, method=PERMUTATION.name, p=permutation_p(a - b, defined, tolerance), statistic=math.nan, df=math.nan,
        note=join_notes(*notes), interval_method=interval.interval_method,
    )  # fmt: skip


def note_undefined_draws(undefined: int, size: int) -> str:
    """A sentence about draws on which the measure has no value."""
    return f"undefined on {undefined:,} of {size:,} random tables, which were set aside" if undefined else ""


def _inside(seen: PairedQuantity, low: float, high: float) -> tuple[float, float]:
    reach = find_reach(seen.bound.measure)
    return max(low, -reach), min(high, reach)


def _shares(task: _Task) -> Shares:
    return require(task.shares, f"{task.seen.name} is not a share of the same cases")


def _order(first_pairs: PairCounts, second_pairs: PairCounts) -> int:
    """Which of two tables of pairs comes first in a fixed order: below 0 the one, above 0 the other, 0 if equal."""
    for name in ("truth", "a", "b", "counts"):
        first, second = getattr(first_pairs, name), getattr(second_pairs, name)
        apart = np.flatnonzero(first != second)
        if len(apart):
            return -1 if first[apart[0]] < second[apart[0]] else 1
    return 0


def _swap_sides(test: PairTest) -> PairTest:
    """The same comparison as B sees it."""
    changed: dict[str, Any] = {
        "difference": -test.difference + 0.0,
        "low": -test.high + 0.0,
        "high": -test.low + 0.0,
    }
    if test.method in (TANGO.name, NEWCOMBE.name, NORMAL.name):
        changed["statistic"] = -test.statistic + 0.0
    if test.effect_name == PER_CASE:
        changed["effect"] = -test.effect + 0.0
    elif not math.isnan(test.effect):
        changed["effect"] = math.inf if test.effect == 0 else 1 / test.effect
    return replace(test, **changed)


_METHODS: dict[str, Callable[[_Task], PairTest]] = {
    **{name: _make_mcnemar(name) for name in TESTS},
    TANGO.name: _score(TANGO.name),
    NEWCOMBE.name: _score(NEWCOMBE.name),
    NORMAL.name: _normal,
    DIRICHLET.name: _dirichlet,
    BOOTSTRAP.name: _bootstrap,
    PERMUTATION.name: _permutation,
}
