"""The best of several: limits that hold for all pairs at once, which may be the best, and what its value is worth.

All limits are those of the pair's own method, at a level so high that they hold together. How high follows from the
joint covariance of the values: the largest of all standardised differences is drawn from a normal distribution with
that covariance (single-step "max-t": Hothorn, Bretz & Westfall, 2008, Biometrical Journal 50, 346-363). Where there is
no joint covariance the level is Bonferroni's. Which may be the best follows from the constrained intervals of multiple
comparisons with the best: Hsu (1984), Annals of Statistics 12, 1136-1144.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations
from statistics import NormalDist
from typing import ClassVar

import numpy as np

from heldout.arguments import listing
from heldout.arrays import Floats
from heldout.comparisons.pair_test import ROUNDING, cut_limits, find_reach
from heldout.errors import OptionError
from heldout.evidence import Label
from heldout.intervals.estimate import PairTest
from heldout.intervals.proportion import wilson_at
from heldout.intervals.quantiles import t_value, z_value
from heldout.measures.quantity import Quantity, name_quantity
from heldout.result import RenderedResult, make_row

# With this many draws the error of a tail of .05 is .0015, and drawing takes some hundredths of a second.
DRAWS = 20_000
MAX_T, BONFERRONI = "max-t", "bonferroni"
NORMAL = NormalDist()
# Draws hold at most this many standardised differences at a time.
AT_ONCE = 1 << 22

Limits = tuple[float, float]
TestAt = Callable[[int, int, float], PairTest]


@dataclass(frozen=True, slots=True, eq=False)
class JointValues:
    """The values of several classifiers by one measure, their covariance matrix and its degrees of freedom.

    `units` is the number of independent cases, groups or splits behind them.
    """

    values: Floats
    covariance: Floats
    df: float
    units: float

    @property
    def errors(self) -> Floats:
        """The standard errors of the values; 0 where they are rounding alone."""
        variances = np.diag(self.covariance)
        return np.sqrt(np.where(variances > self._nothing, variances, 0.0))

    def error_of(self, a: int, b: int) -> float:
        """The standard error of the difference of two values; 0 where it is rounding alone."""
        sigma = self.covariance
        variance = float(sigma[a, a] + sigma[b, b] - 2 * sigma[a, b])
        return math.sqrt(variance) if variance > self._nothing else 0.0

    @property
    def _nothing(self) -> float:
        """The largest variance that rounding alone may give."""
        return float(ROUNDING * max(float(np.abs(self.values).max(initial=0.0)), 1.0)) ** 2


@lru_cache(maxsize=1)
def draw_errors(joint: JointValues, seed: int) -> Floats:
    """Errors of all values together, draws × classifiers: normal, with the joint covariance and mean 0."""
    sizes, directions = np.linalg.eigh(joint.covariance)
    root = directions * np.sqrt(np.maximum(sizes, 0.0))
    return np.asarray(np.random.default_rng([seed, 70]).standard_normal((DRAWS, len(root))) @ root.T)


def title_of(quantity: Quantity) -> str:
    """The quantity as a sentence names it.

    >>> from heldout.measures.catalogue import read_quantity
    >>> title_of(read_quantity("macro f1")), title_of(read_quantity("recall[1]", (0, 1)))
    ('macro F1', 'recall (1)')
    """
    title = quantity.bound.title
    title = f"{quantity.average} {title}" if quantity.average else title
    return f"{title} ({quantity.class_})" if quantity.class_ is not None else title


@dataclass(frozen=True, slots=True)
class Contender:
    """One of several: its value, and the interval of its value less that of the best of the others.

    An interval that ends at 0 on its bad side says that no other is better, one that ends there on its good side that
    another one is. For measures of which less is better the signs are turned, so that above 0 is better.
    """

    name: str
    value: float
    low: float
    high: float
    may_be_best: bool


@dataclass(frozen=True, slots=True)
class Winner:
    """The one with the best value, and what its value is worth: being chosen makes it look better than it is.

    `excess` is by how much the value of whichever wins is expected to exceed its truth, `corrected` the value without
    it. `limit` holds for whichever wins: with the chance of the level the truth is no worse.
    """

    name: str
    value: float
    error: float
    excess: float
    corrected: float
    limit: float


@dataclass(frozen=True, slots=True)
class BestBy:
    """Which of several may be the best by one measure.

    `method` says how the limits were made to hold together, and `pair_level` is the level of one pair that this takes.
    `pairs` are the limits of all differences at once, by the names of the pair.
    """

    measure: str
    title: str
    class_: Label | None
    average: str | None
    level: float
    method: str
    pair_level: float
    pairs: dict[tuple[str, str], Limits]
    contenders: tuple[Contender, ...]
    winner: Winner | None = None

    @property
    def name(self) -> str:
        """The measure as a person would ask for it."""
        return name_quantity(self.measure, self.class_, self.average)

    @property
    def may_be_best(self) -> tuple[str, ...]:
        """The names of those that may be the best, at the level."""
        return tuple(contender.name for contender in self.contenders if contender.may_be_best)

    @property
    def not_best(self) -> tuple[str, ...]:
        """The names of those that are not the best: another one is better."""
        return tuple(contender.name for contender in self.contenders if not contender.may_be_best)

    @property
    def verdict(self) -> str:
        """Which may be the best, in a sentence; empty where the measure has no better and worse."""
        if not self.contenders:
            return ""
        may, rest = self.may_be_best, self.not_best
        if not rest:
            return f"Any of the {len(may)} may be the best by {self.title}: none can be ruled out."
        others = f"not the best: {listing(rest, most=10)}"
        if len(may) == 1:
            return f"{may[0]} is the best by {self.title}; {others}."
        return f"May be the best by {self.title}: {listing(may, most=10)}; {others}."


@dataclass(frozen=True, eq=False)
class Best(RenderedResult):
    """Which of three or more may be the best, by every measure: `comparison.best["accuracy"].may_be_best`.

    >>> one, two = (Contender(name, value, -0.02, 0.03, True) for name, value in (("a", 0.91), ("b", 0.9)))
    >>> three = Contender("c", 0.7, -0.3, 0.0, False)
    >>> by = BestBy("accuracy", "accuracy", None, None, 0.95, "max-t", 0.98, {}, (one, two, three))
    >>> Best((by,), 0.95).verdict
    'May be the best by accuracy: a, b; not the best: c.'
    """

    schema: ClassVar[str] = "heldout/best@1"
    _rendered_by: ClassVar[str] = "heldout.report.comparison:render_best"

    measures: tuple[BestBy, ...]
    level: float
    seed: int = 0

    def __getitem__(self, measure: str) -> BestBy:
        """What is known by one measure."""
        for by in self.measures:
            if measure in (by.name, by.measure):
                return by
        raise OptionError(
            f"There is no best by {measure!r}. There are: {listing(by.name for by in self.measures)}.",
            hint="use one of these.",
        )

    @property
    def verdict(self) -> str:
        """Which may be the best by the first measure."""
        return self.measures[0].verdict

    @property
    def may_be_best(self) -> tuple[str, ...]:
        """Those that may be the best by the first measure."""
        return self.measures[0].may_be_best

    def rows(self) -> list[dict[str, object]]:
        """One row per measure and classifier; low and high are of its value less that of the best of the others."""
        return [
            make_row(
                by.measure, one.value, one.low, one.high, class_=by.class_, average=by.average, level=by.level,
                method=by.method, name=one.name, may_be_best=one.may_be_best, pair_level=by.pair_level,
                **_winner_columns(by.winner if by.winner is not None and by.winner.name == one.name else None),
            )
            for by in self.measures
            for one in by.contenders
        ]  # fmt: skip

    def facts(self) -> dict[str, object]:
        """What stands beside the rows: the sets by measure."""
        return {
            "level": self.level,
            "seed": self.seed,
            "sets": [
                {"measure": by.name, "may_be_best": list(by.may_be_best), "not_the_best": list(by.not_best)}
                for by in self.measures
            ],
        }


def _winner_columns(winner: Winner | None) -> dict[str, object]:
    nan = math.nan
    excess, corrected, limit = (nan, nan, nan) if winner is None else (winner.excess, winner.corrected, winner.limit)
    return {"expected_excess": excess, "corrected": corrected, "corrected_limit": limit}


# The levels at which limits of single pairs hold together.


def level_of_all_pairs(joint: JointValues | None, models: int, level: float, seed: int) -> float:
    """The level of one pair at which the limits of all pairs of so many models hold together.

    >>> joint = JointValues(np.zeros(3), np.eye(3), math.inf, 100)
    >>> round(level_of_all_pairs(joint, 3, 0.95, 0), 2), round(level_of_all_pairs(None, 3, 0.95, 0), 4)
    (0.98, 0.9833)
    """
    pairs = list(combinations(range(models), 2))
    bonferroni = 1 - (1 - level) / len(pairs)
    if joint is None:
        return bonferroni
    largest = _largest(joint, pairs, seed, two_sided=True)
    if largest is None:
        return level
    return min(max(2 * NORMAL.cdf(float(np.quantile(largest, level))) - 1, level), bonferroni)


def level_of_the_best(joint: JointValues | None, models: int, level: float, seed: int) -> float:
    """The two-sided level of one pair whose upper limits hold for any one model against all others together.

    Hsu's intervals need no more than that the best one, whichever it is, keeps below its limits.

    >>> joint = JointValues(np.zeros(3), np.eye(3), math.inf, 100)
    >>> 0.94 < level_of_the_best(joint, 3, 0.95, 0) < 0.95, round(level_of_the_best(None, 3, 0.95, 0), 4)
    (True, 0.95)
    """
    bonferroni = 1 - 2 * (1 - level) / (models - 1)
    if joint is None:
        return max(bonferroni, 0.01)
    reach = 0.0
    for control in range(models):
        pairs = [(other, control) for other in range(models) if other != control]
        largest = _largest(joint, pairs, seed, two_sided=False)
        if largest is not None:
            reach = max(reach, float(np.quantile(largest, level)))
    return max(min(2 * NORMAL.cdf(reach) - 1, bonferroni), 0.01)


def _largest(joint: JointValues, pairs: Sequence[tuple[int, int]], seed: int, *, two_sided: bool) -> Floats | None:
    """The largest standardised difference of each draw; None where no pair has any spread."""
    known = [(a, b, error) for a, b in pairs if (error := joint.error_of(a, b)) > 0]
    if not known:
        return None
    first, second, errors = (np.array(column) for column in zip(*known, strict=True))
    drawn = draw_errors(joint, seed)
    largest = np.empty(len(drawn))
    step = max(AT_ONCE // len(known), 1)
    for begin in range(0, len(drawn), step):
        part = drawn[begin : begin + step]
        apart = (part[:, first.astype(np.int64)] - part[:, second.astype(np.int64)]) / errors
        largest[begin : begin + step] = (np.abs(apart) if two_sided else apart).max(axis=1)
    return largest


def widen(tested: PairTest, level: float, reach: float) -> Limits:
    """The limits of a test at another level, each as far from the difference as the normal distribution has it.

    For limits that are made of random draws, of which the outermost tell little.

    >>> low, high = widen(PairTest(0.1, 0.0, 0.2, 0.95, "dirichlet", 0.05, 100), 0.99, 1.0)
    >>> f"{low:.3f} {high:.3f}"
    '-0.031 0.231'
    """
    factor = z_value(level) / z_value(tested.level)
    low = tested.difference - factor * (tested.difference - tested.low)
    high = tested.difference + factor * (tested.high - tested.difference)
    return max(low, -reach), min(high, reach)


# Which may be the best.


def find_best_by(
    names: Sequence[str],
    quantity: Quantity,
    values: Sequence[float],
    tests: dict[tuple[int, int], PairTest],
    test_at: TestAt | None,
    joint: JointValues | None,
    *,
    level: float,
    seed: int,
) -> BestBy | None:
    """Which of the models may be the best by a quantity; None where a pair cannot be compared.

    `tests` has all pairs a < b at the level asked for, and `test_at` makes them at another one; without it they are
    widened.
    """
    if any(math.isnan(test.difference) or math.isnan(test.low) or math.isnan(test.high) for test in tests.values()):
        return None
    measure, models = quantity.bound.measure, len(names)
    reach = find_reach(measure, values)

    def limits_at(pair_level: float) -> dict[tuple[int, int], Limits]:
        if test_at is None:
            return {pair: widen(test, pair_level, reach) for pair, test in tests.items()}
        retested = {pair: cut_limits(test_at(*pair, pair_level), reach) for pair in tests}
        return {pair: (test.low, test.high) for pair, test in retested.items()}

    pair_level = level_of_all_pairs(joint, models, level, seed)
    together = limits_at(pair_level)
    directed = measure.direction in ("higher", "lower")
    sign = -1.0 if measure.direction == "lower" else 1.0
    contenders = (
        _constrain(names, values, limits_at(level_of_the_best(joint, models, level, seed)), sign) if directed else ()
    )
    return BestBy(
        quantity.bound.name, title_of(quantity), quantity.class_, quantity.average, level,
        BONFERRONI if joint is None else MAX_T, pair_level,
        {(names[a], names[b]): limits for (a, b), limits in together.items()}, contenders,
        find_winner(names, values, joint, quantity, level=level, seed=seed) if directed else None,
    )  # fmt: skip


def _constrain(
    names: Sequence[str], values: Sequence[float], limits: dict[tuple[int, int], Limits], sign: float
) -> tuple[Contender, ...]:
    """Hsu's constrained intervals, from the limits of all pairs."""
    models = range(len(names))

    def ahead(a: int, b: int) -> Limits:
        """The limits of how much better A is than B."""
        low, high = limits[min(a, b), max(a, b)]
        return (low, high) if (a < b) == (sign > 0) else (-high, -low)

    highest = [min(ahead(a, b)[1] for b in models if b != a) for a in models]
    best = [a for a in models if highest[a] >= 0]
    contenders = []
    for a in models:
        rivals = [b for b in best if b != a]
        low = min([0.0, *(ahead(a, b)[0] for b in rivals)])
        contenders.append(Contender(names[a], values[a], low, max(highest[a], 0.0), a in best))
    return tuple(contenders)


# How much better the winner looks than it is.


def find_winner(
    names: Sequence[str],
    values: Sequence[float],
    joint: JointValues | None,
    quantity: Quantity,
    *,
    level: float,
    seed: int,
) -> Winner | None:
    """The one with the best value, and by how much whichever wins is expected to exceed its truth.

    The values are drawn around the truth as far as it can be told: the values seen, shrunk towards their mean by the
    share of their spread that is noise. The mean of the winner's error over the draws is the excess. None where there
    is no joint covariance.

    >>> from heldout.measures.catalogue import read_quantity
    >>> joint = JointValues(np.full(10, 0.8), np.eye(10) * 0.02**2, math.inf, 400)
    >>> winner = find_winner("abcdefghij", joint.values, joint, read_quantity("accuracy"), level=0.95, seed=0)
    >>> f"{winner.excess:.3f} {winner.corrected:.3f}"
    '0.031 0.769'
    """
    if joint is None:
        return None
    sign = -1.0 if quantity.bound.measure.direction == "lower" else 1.0
    seen = sign * np.asarray(values, dtype=np.float64)
    at, models = int(seen.argmax()), len(names)
    noise = float(np.mean([joint.error_of(a, b) ** 2 / 2 for a, b in combinations(range(models), 2)]))
    spread = float(seen.var(ddof=1))
    shrinkage = max(1 - noise / spread, 0.0) if spread > 0 else 0.0
    truth = seen.mean() + shrinkage * (seen - seen.mean())
    drawn = draw_errors(joint, seed)
    chosen = (truth + drawn).argmax(axis=1)
    excess = max(float(drawn[np.arange(len(drawn)), chosen].mean()), 0.0)
    limit = _limit_of_winner(float(values[at]), at, joint, drawn, quantity, level=level)
    error = float(joint.errors[at])
    return Winner(names[at], float(values[at]), error, excess, float(values[at]) - sign * excess, limit)


def _limit_of_winner(
    value: float, at: int, joint: JointValues, drawn: Floats, quantity: Quantity, *, level: float
) -> float:
    """The limit on the bad side that holds, at the level, for whichever is chosen: on the logit scale where bounded."""
    measure, errors = quantity.bound.measure, joint.errors
    sign = -1.0 if measure.direction == "lower" else 1.0
    moved = errors > 0
    reach = float(np.quantile((drawn[:, moved] / errors[moved]).max(axis=1), level)) if moved.any() else 0.0
    reach = max(reach, z_value(max(2 * level - 1, 0.01)))
    width = find_reach(measure)
    if errors[at] <= 0:
        # No variation was observed: Wilson's interval says how large an unseen one could be.
        half = width * float(wilson_at(0.0, joint.units, reach)[1]) if math.isfinite(width) else math.nan
        return value - sign * half
    if math.isfinite(joint.df):
        reach = float(t_value(2 * NORMAL.cdf(reach) - 1, joint.df))
    share = (value - measure.low) / width if math.isfinite(width) else math.nan
    if not 0 < share < 1:
        return value - sign * reach * float(errors[at])
    logit = math.log(share / (1 - share)) - sign * reach * float(errors[at]) / width / (share * (1 - share))
    return measure.low + width / (1 + math.exp(-logit))
