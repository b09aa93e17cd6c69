"""Learning curves: nested training sets that grow, how good their models are, and whether more data would help."""

from __future__ import annotations

import math
import numbers
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, TypeAlias

import numpy as np
from numpy.typing import NDArray

from heldout.arguments import check_level, check_whole, closest, listing, write_sentence
from heldout.arrays import Floats, Integers
from heldout.errors import LabelError, OptionError, ValuesError
from heldout.intervals.dependence import AGAIN
from heldout.intervals.estimate import Estimate
from heldout.intervals.proportion import wilson_at
from heldout.intervals.quantiles import t_value, z_value
from heldout.learners.problem import Problem
from heldout.measures.catalogue import find
from heldout.plans.plan import Splits
from heldout.resampling.outcome import Run
from heldout.resampling.power_law import Figure, PowerLaw, fit_power_law
from heldout.resampling.run import OnError, run
from heldout.resampling.workers import Jobs, Progress
from heldout.result import make_row
from heldout.review import QUESTIONS, Reviewed
from heldout.show.numbers import in_brackets, number

Sizes: TypeAlias = str | Sequence[float]

SPACINGS = ("geometric", "arithmetic")
# A curve that begins below this shows little but chance; it begins lower only where it must.
SMALLEST = 10
# How often whole groups are drawn again before the error that they cannot be divided.
TRIES = 100


@dataclass(frozen=True, slots=True)
class NestedTrainingSets:
    """One Splits for all draws and sizes: split number draw · len(sizes) + place trains on sizes[place] rows."""

    splits: Splits
    sizes: tuple[int, ...]
    draws: int
    tested: int


def draw_training_sets(
    problem: Problem,
    *,
    sizes: Sizes = "geometric",
    points: int = 8,
    draws: int = 10,
    test: float = 1 / 3,
    seed: int = 0,
) -> NestedTrainingSets:
    """Draw the test parts and the nested training sets.

    Both are stratified by class, and the smallest set holds every class. Where the rows come in groups, whole groups
    are tested, and training sets grow group by group, as new data would come.

    >>> truth = np.repeat([0, 1], 30)
    >>> made = draw_training_sets(Problem(np.zeros((60, 1)), truth, truth, (0, 1)), draws=2)
    >>> made.sizes
    (10, 12, 15, 18, 22, 27, 33, 40)
    """
    check_whole("points", points, 2)
    check_whole("draws", draws, 1)
    check_whole("seed", seed, 0)
    if not _is_number(test) or not 0 < test < 1:
        raise OptionError(
            f"The test part must be a share between 0 and 1. Got {test!r}.", hint="a third is test=1/3, the default."
        )
    _check_every_class_twice(problem)
    parts = [_divide_rows(problem, float(test), np.random.default_rng([seed, draw])) for draw in range(draws)]
    most = min(len(order) for _, order in parts)
    once, twice = (max(_count_until_covered(problem.truth[order], times) for _, order in parts) for times in (1, 2))
    chosen = _resolve_sizes(sizes, points, min(once, most), min(twice, most), most)
    splits = Splits.of(
        problem.n,
        [tested for tested, _ in parts for _ in chosen],
        [order[:size] for _, order in parts for size in chosen],
        repeat=[draw for draw in range(draws) for _ in chosen],
        fold=[position for _ in range(draws) for position in range(len(chosen))],
    )
    return NestedTrainingSets(splits, chosen, draws, round(float(np.mean([len(tested) for tested, _ in parts]))))


def _check_every_class_twice(problem: Problem) -> None:
    counts = np.bincount(problem.truth, minlength=len(problem.labels))
    alone = [f"{problem.labels[at]} ({counts[at]})" for at in np.flatnonzero(counts == 1)]
    if alone:
        raise LabelError(
            f"Every class needs a row to train and a row to test. These have only one row: {listing(alone)}.",
            hint="leave these rows out, or merge rare classes.",
        )
    if (counts > 0).sum() < 2:
        raise LabelError(
            "A learning curve needs rows of at least two classes, and here is only "
            f"{listing(problem.labels[at] for at in np.flatnonzero(counts)) or 'none'}.",
            hint="check which column is the target.",
        )


def _divide_rows(problem: Problem, test: float, rng: np.random.Generator) -> tuple[Integers, Integers]:
    """The test rows of one draw, and the other rows in the order in which training sets take them."""
    if problem.group is not None:
        return _divide_groups(problem.truth, np.unique(problem.group, return_inverse=True)[1], test, rng)
    shuffled = rng.permutation(problem.n)
    rank, counts = _rank_in_class(problem.truth[shuffled])
    wanted = np.clip(_apportion_test(counts, test), np.minimum(counts, 1), np.maximum(counts - 1, 0))
    tested = rank < wanted[problem.truth[shuffled]]
    rest = shuffled[~tested]
    rank, counts = _rank_in_class(problem.truth[rest])
    # Two rows of each class come first; then each class at its own pace, so that every set is stratified.
    turn = np.where(rank < 2, rank - 2.0, (rank + 0.5) / counts[problem.truth[rest]])
    return np.sort(shuffled[tested]), rest[np.argsort(turn, kind="stable")]


def _rank_in_class(classes: Integers) -> tuple[Integers, Integers]:
    """The place of every row among the rows of its class, and how many rows each class has."""
    counts = np.bincount(classes)
    by_class = np.argsort(classes, kind="stable")
    rank = np.empty(len(classes), dtype=np.int64)
    rank[by_class] = np.arange(len(classes)) - np.repeat(np.cumsum(counts) - counts, counts)
    return rank, counts


def _apportion_test(counts: Integers, test: float) -> Integers:
    """How many rows of each class are tested, by largest remainder."""
    exact = counts * test
    whole: Integers = np.floor(exact).astype(np.int64)
    missing = round(float(exact.sum())) - int(whole.sum())
    whole[np.argsort(whole - exact, kind="stable")[:missing]] += 1
    return whole


def _divide_groups(
    truth: Integers, group: Integers, test: float, rng: np.random.Generator
) -> tuple[Integers, Integers]:
    present = len(np.unique(truth))
    count = int(group.max()) + 1
    size = np.bincount(group)
    for _ in range(TRIES if count > 1 else 0):
        order = rng.permutation(count)
        # The prefix of groups nearest to the share asked for, with at least one group on each side.
        taken = int(np.abs(np.cumsum(size[order])[:-1] - test * len(truth)).argmin()) + 1
        tested = np.isin(group, order[:taken])
        if len(np.unique(truth[~tested])) == present:
            return np.flatnonzero(tested), _order_by_group(truth, group, order[taken:], rng)
    raise ValuesError(
        f"The {count} groups cannot be divided so that every class is in the training part.",
        hint="a class that is in one group only cannot be tested on other groups; leave it out, or leave out group.",
    )


def _order_by_group(truth: Integers, group: Integers, order: Integers, rng: np.random.Generator) -> Integers:
    """The rows of these groups, group by group; groups that bring a class not met before come first."""
    shuffled = rng.permutation(len(group))
    members = np.split(shuffled[np.argsort(group[shuffled], kind="stable")], np.cumsum(np.bincount(group))[:-1])
    covered: set[int] = set()
    first: list[int] = []
    later: list[int] = []
    for code in order.tolist():
        classes = set(np.unique(truth[members[code]]).tolist())
        (later if classes <= covered else first).append(code)
        covered |= classes
    return np.concatenate([members[code] for code in [*first, *later]])


def _count_until_covered(classes: Integers, times: int) -> int:
    """How many rows from the beginning hold each class so many times, or as often as it occurs."""
    rank, counts = _rank_in_class(classes)
    return int(np.flatnonzero(rank == np.minimum(counts, times)[classes] - 1).max()) + 1


def _resolve_sizes(sizes: Sizes, points: int, once: int, twice: int, most: int) -> tuple[int, ...]:
    if isinstance(sizes, str):
        if sizes not in SPACINGS:
            near = closest(sizes, SPACINGS)
            raise OptionError(
                f"There is no spacing {sizes!r}; there are {listing(SPACINGS)}.",
                hint=f"use {near or 'geometric'!r}, or give the sizes as a list.",
            )
        least = max(twice, min(SMALLEST, most // 2))
        if sizes == "geometric":
            # Doubling where there are rows for it, and smaller steps where not.
            places = np.geomspace(max(least, math.ceil(most / 2 ** (points - 1))), most, points)
        else:
            places = np.linspace(max(least, math.ceil(most / points)), most, points)
        return tuple(np.unique(places.round().astype(np.int64)).tolist())
    return _resolve_listed_sizes(sizes, once, most)


def _resolve_listed_sizes(sizes: Sequence[float], once: int, most: int) -> tuple[int, ...]:
    whole_sizes = {_resolve_size(size, most) for size in sizes}
    if not whole_sizes:
        raise OptionError("The list of sizes is empty.", hint="give sizes or shares, such as [0.25, 0.5, 1.0].")
    if max(whole_sizes) > most:
        raise ValuesError(
            f"The training part has {most:,} rows, and a training set of {max(whole_sizes):,} was asked for.",
            hint=f"give sizes up to {most}, shares up to 1.0, or a smaller test part.",
        )
    if min(whole_sizes) < once:
        raise ValuesError(
            f"A training set of {min(whole_sizes):,} rows was asked for, and it takes {once:,} to hold every class.",
            hint=f"begin with at least {once} rows.",
        )
    return tuple(sorted(whole_sizes))


def _is_number(value: Any) -> bool:
    return isinstance(value, numbers.Real) and not isinstance(value, bool | np.bool_)


def _resolve_size(size: Any, most: int) -> int:
    """Integers from a whole number, or from a share of the training part."""
    if not _is_number(size) or not size > 0 or not math.isfinite(size):
        raise OptionError(f"A size is a number of rows or a share. Got {size!r}.", hint="such as 100, or 0.5.")
    if not isinstance(size, numbers.Integral) and size <= 1:
        return max(round(float(size) * most), 1)
    if float(size) != int(size):
        raise OptionError(
            f"A size is a whole number of rows, or a share of at most 1. Got {size!r}.", hint=f"use {int(size)}."
        )
    return int(size)


# More than this many times the rows there are is more than most people can collect.
WITHIN_REACH = 3
POINT = 0.01
# A larger number of rows is not reported: nobody could plan for it.
MOST_SAID = 1_000_000


HELPS, HARDLY, UNKNOWN = QUESTIONS["more data"]


def claim_of(law: PowerLaw) -> str:
    """Whether more data would help: one of the answers to that question.

    >>> from heldout.resampling.power_law import fit_power_law
    >>> claim_of(fit_power_law([10, 20, 40, 80], [[0.6, 0.35, 0.225, 0.1625]]))
    'more data helps'
    """
    if law.shape == "unknown":
        return UNKNOWN
    if law.shape == "rising":
        return HARDLY
    if law.shape == "flat":
        best = law.slope.low
        return HARDLY if math.isnan(best) or best > -POINT else UNKNOWN
    rows = law.rows_for(_drop(law)[0])
    if math.isinf(rows.high) and rows.low <= WITHIN_REACH * law.present:
        # Laws that level off at once fit the curve as well as laws that fall on.
        return UNKNOWN
    return HELPS if rows.value <= WITHIN_REACH * law.present else HARDLY


def verdict(law: PowerLaw, sizes: tuple[int, ...]) -> str:
    """Whether more data would help, and how much of it.

    >>> from heldout.resampling.power_law import fit_power_law
    >>> print(verdict(fit_power_law([10, 20, 40, 80], [[0.6, 0.35, 0.225, 0.1625]]), (10, 20, 40, 80)))
    More data would help: about 15 more rows for one point less error, beside the 80 there are.
    """
    if law.shape == "unknown":
        return f"Whether more data would help cannot be told: {law.undefined}."
    between = f"from {sizes[0]:,} to {sizes[-1]:,} rows"
    if law.shape == "rising":
        return f"More data does not help here: {between} the test error rises by {_points(law.slope)} per doubling."
    return _flat(law, between) if law.shape == "flat" else _falling(law, between)


def _drop(law: PowerLaw) -> tuple[float, str]:
    """How much less error is asked for, in numbers and in words."""
    now = law.at(law.present).value
    return (POINT, "one point less error") if now >= 2 * POINT else (now / 2, "half the error")


def _falling(law: PowerLaw, between: str) -> str:
    now = law.at(law.present).value
    drop, words = _drop(law)
    rows, claim = law.rows_for(drop), claim_of(law)
    if claim == UNKNOWN:
        return (
            f"Whether more data would help cannot be told: {between} the test error falls by {_points(law.slope, -1)} "
            f"per doubling, but beyond that {words} may take {_rounded(rows.low)} more rows, or never come, beside the "
            f"{law.present:,.0f} rows there are."
        )
    if claim == HELPS:
        return (
            f"More data would help: {_about(rows.value)} more rows{_between(rows)} for {words}, "
            f"beside the {law.present:,.0f} there are."
        )
    if math.isinf(rows.value):
        return (
            f"More data will hardly help: the curve levels off at {number(law.floor.value)}{_shares(law.floor)}, "
            f"and with the {law.present:,.0f} rows there are the error is about {number(now)} already."
        )
    times = (rows.value + law.present) / law.present
    return (
        f"More data will hardly help: {words} would take {_about(rows.value)} more rows{_between(rows)}, "
        f"{number(times, 'plain', 2)} times as many as there are."
    )


def _flat(law: PowerLaw, between: str) -> str:
    best = law.slope.low
    if claim_of(law) == HARDLY:
        reach = "" if math.isnan(best) else f", and a doubling would bring {number(max(-100 * best, 0), 'plain', 2)} "
        return (
            f"More data will hardly help: {between} the test error has not fallen beyond its noise"
            f"{reach + 'points at best' if reach else ''}."
        )
    return (
        f"Whether more data would help cannot be told: {between} the test error changes by {_points(law.slope)} per "
        "doubling, which may be chance."
    )


def _points(slope: Figure, sign: int = 1) -> str:
    """A change of the error in points; with a sign of -1, how much it falls."""
    value = f"{number(100 * sign * slope.value, 'plain', 2)} points"
    low, high = sorted((100 * sign * slope.low, 100 * sign * slope.high))
    return value if math.isnan(slope.low) else f"{value} {in_brackets(low, high, 'plain', 2)}"


def _between(rows: Figure) -> str:
    return "" if math.isnan(rows.low) else f" [{_rounded(rows.low)}, {_rounded(rows.high)}]"


def _shares(figure: Figure) -> str:
    return "" if math.isnan(figure.low) else f" {in_brackets(figure.low, figure.high)}"


def _rounded(rows: float) -> str:
    """Two digits are all that an extrapolation is good for."""
    if not math.isfinite(rows):
        return number(rows, "plain")
    whole = max(round(rows), 1)
    if whole > MOST_SAID:
        return "more than a million"
    return f"{round(whole, 2 - len(str(whole))):,}"


def _about(rows: float) -> str:
    return f"{'' if rows > MOST_SAID else 'about '}{_rounded(rows)}"


# Predictions of one row by several models are not independent cases: repeated random splits of one data set tell about
# as much as this many times fewer of its rows, each tested once.
FACTOR = AGAIN
SPREAD = "spread over draws"
ERROR = "error_rate"
NOT_TRAINED = "no model of this size was trained"
# With fewer draws the noise of the curve cannot be told from its course.
FEW_DRAWS = 3


@dataclass(frozen=True, slots=True, eq=False)
class MeasureAtSizes:
    """One measure as the training set grows: what the test rows tell at each size, and the value of every draw.

    `training` and `test` have one row per draw and one column per size.
    """

    estimates: tuple[Estimate, ...]
    training: Floats = field(repr=False)
    test: Floats = field(repr=False)

    @property
    def quantity(self) -> tuple[str, Any, str | None]:
        """The measure, its class and its average."""
        return self.estimates[0].measure, self.estimates[0].class_, self.estimates[0].average

    def values(self, part: str) -> Floats:
        """The value at each size: of the "training" part the mean over the draws, of the "test" part the estimate."""
        if part == "training":
            return _over_draws(np.nanmean, self.training)
        return np.array([estimate.value for estimate in self.estimates])

    def spread(self, part: str) -> Floats:
        """The standard deviation over the draws at each size."""
        return _over_draws(_deviation, self.training if part == "training" else self.test)

    def limits(self, part: str) -> tuple[Floats, Floats]:
        """The limits of the estimates; of the "training" part one spread to each side, within the measure's range."""
        if part == "test":
            low, high = ([getattr(estimate, end) for estimate in self.estimates] for end in ("low", "high"))
            return np.array(low), np.array(high)
        ends, mean, spread = find(self.estimates[0].measure).measure.range, self.values(part), self.spread(part)
        return np.clip(mean - spread, *ends), np.clip(mean + spread, *ends)

    def opposite(self, measure: str) -> MeasureAtSizes:
        """The measure that is 1 less this one, under its name."""
        turned = tuple(
            replace(e, measure=measure, value=1 - e.value, low=1 - e.high, high=1 - e.low) for e in self.estimates
        )
        return MeasureAtSizes(turned, 1 - self.training, 1 - self.test)


@dataclass(frozen=True, eq=False)
class LearningCurve(Reviewed):
    """The errors of a learner as its training set grows; the verdict and the fitted law are about these errors.

    `training` and `test` have one row per draw and one column per size; `low` and `high` are the limits of the mean
    test error, `n` the number of distinct rows that were tested at each size. `measured` is another measure to show.

    >>> import heldout
    >>> features, truth = [[0.1], [0.4], [0.3], [0.2], [0.6], [0.8]] * 10, [0, 0, 0, 1, 1, 1] * 10
    >>> curve = heldout.learning_curve("naive-bayes", features, truth, sizes=[20, 40], draws=3)
    >>> curve.sizes, curve.test.shape
    ((20, 40), (3, 2))
    """

    schema: ClassVar[str] = "heldout/learning-curve@1"
    rows_name: ClassVar[str] = "points"
    _rendered_by: ClassVar[str] = "heldout.report.learning_curve:render_learning_curve"
    _charts: ClassVar[Mapping[str, str]] = {"learning_curve": "heldout.report.learning_curve:draw_learning_curve"}
    _reviewed_by: ClassVar[str] = "heldout.findings.review:review_learning_curve"

    name: str
    sizes: tuple[int, ...]
    training: Floats = field(repr=False)
    test: Floats = field(repr=False)
    low: Floats = field(repr=False)
    high: Floats = field(repr=False)
    n: tuple[int, ...]
    level: float
    method: str
    law: PowerLaw
    n_rows: int
    n_tested: int
    seed: int = 0
    fingerprint: str = ""
    notes: tuple[str, ...] = ()
    finished: bool = True
    ignore: tuple[str, ...] = ()
    measured: MeasureAtSizes | None = field(default=None, repr=False)

    @property
    def shown(self) -> MeasureAtSizes:
        """What the curve shows: the measure that was asked for, or else the error."""
        return self.errors if self.measured is None else self.measured

    @property
    def errors(self) -> MeasureAtSizes:
        """The error rate at each size."""
        figures = zip(self.mean("test").tolist(), self.low.tolist(), self.high.tolist(), self.n, strict=True)
        estimates = tuple(
            Estimate(
                ERROR, None, None, value, low, high, self.level, self.method, n,
                NOT_TRAINED if math.isnan(value) else "",
            )
            for value, low, high, n in figures
        )  # fmt: skip
        return MeasureAtSizes(estimates, self.training, self.test)

    @property
    def draws(self) -> int:
        """How many times a test part was drawn and training sets grown from the rest."""
        return len(self.test)

    @property
    def claim(self) -> str:
        """What the verdict claims: one of the answers to whether more data would help."""
        return UNKNOWN if self.draws < FEW_DRAWS else claim_of(self.law)

    @property
    def verdict(self) -> str:
        """Whether more data would help, in a sentence."""
        if self.draws < FEW_DRAWS:
            return (
                f"Whether more data would help cannot be told from {self.draws} training set"
                f"{'s' * (self.draws > 1)} of each size: at least {FEW_DRAWS} draws are needed."
            )
        return verdict(self.law, self.sizes)

    def mean(self, part: str) -> Floats:
        """The mean error over the draws at each size, of the "training" or the "test" part."""
        return _over_draws(np.nanmean, self.training if part == "training" else self.test)

    def spread(self, part: str) -> Floats:
        """The standard deviation over the draws at each size; draws share rows, so it is no standard error."""
        return _over_draws(_deviation, self.training if part == "training" else self.test)

    def rows(self) -> list[dict[str, object]]:
        """One row per size and part, of the measure that is shown."""
        rows: list[dict[str, object]] = []
        finished, shown = (~np.isnan(self.test)).sum(axis=0).tolist(), self.shown
        for part in ("training", "test"):
            value, spread, (low, high) = shown.values(part), shown.spread(part), shown.limits(part)
            for at, (size, e) in enumerate(zip(self.sizes, shown.estimates, strict=True)):
                how = (e.level, e.method, e.n) if part == "test" else (None, SPREAD, size)
                head = make_row(
                    e.measure, value[at].item(), low[at].item(), high[at].item(), class_=e.class_, average=e.average,
                    level=how[0], method=how[1], n=how[2],
                )  # fmt: skip
                above = (value[at] - value[-1]).item()
                tail = {"spread": spread[at].item(), "draws": finished[at], "above_largest": above}
                rows.append({**head, "learner": self.name, "size": size, "part": part, **tail})
        return rows

    def facts(self) -> dict[str, object]:
        """How the curve was drawn, the power law that was fitted to it, and the verdict."""
        law = self.law
        figures = {"floor": law.floor, "scale": law.scale, "exponent": law.exponent, "per_doubling": law.slope}
        return {
            "learner": self.name,
            "n": self.n_rows,
            "tested": self.n_tested,
            "draws": self.draws,
            "sizes": list(self.sizes),
            "seed": self.seed,
            "level": self.level,
            "fingerprint": self.fingerprint,
            "verdict": self.verdict,
            "law": {
                "shape": law.shape, "undefined": law.undefined, "method": law.method, "present": law.present,
                **{key: {"value": f.value, "low": f.low, "high": f.high} for key, f in figures.items()},
            },
            "notes": list(self.notes),
            **self.review.document(),
        }  # fmt: skip


def learn(
    estimator: Any,
    problem: Problem,
    *,
    name: str,
    sizes: Sizes = "geometric",
    points: int = 8,
    draws: int = 10,
    test: float = 1 / 3,
    level: float = 0.95,
    seed: int = 0,
    jobs: Jobs = None,
    on_error: OnError = "raise",
    progress: Progress = None,
    ignore: tuple[str, ...] = (),
    measure: Callable[[Run, NestedTrainingSets], MeasureAtSizes] | None = None,
) -> LearningCurve:
    """Train on growing sets, test each on the same rows, and say whether more data would help.

    `measure` makes what the curve shows instead of the error, from all that was predicted.

    >>> from sklearn.naive_bayes import GaussianNB
    >>> rng = np.random.default_rng(0)
    >>> truth = np.repeat([0, 1], 60)
    >>> problem = Problem(rng.normal(size=(120, 2)) + truth[:, None], truth, truth, (0, 1))
    >>> curve = learn(GaussianNB(), problem, name="naive-bayes", points=4, draws=5)
    >>> curve.sizes, curve.test.shape
    ((10, 20, 40, 80), (5, 4))
    """
    check_level(level)
    sets = draw_training_sets(problem, sizes=sizes, points=points, draws=draws, test=test, seed=seed)
    done = run(
        estimator, problem, sets.splits, jobs=jobs, on_error=on_error, seed=seed, progress=progress,
        plan_text=f"learning curve of {len(sets.sizes)} sizes and {sets.draws} draws",
    )  # fmt: skip
    wrong = done.predicted != problem.truth[done.rows]
    tested = _errors(sets, done.fold, wrong)
    trained = _errors(sets, done.training_fold, done.training_predicted != problem.truth[done.training_rows])
    low, high, n, effective = _limits(problem, sets, done, wrong, tested, level)
    variance = _variance(tested, sets.tested, effective)
    law = fit_power_law(sets.sizes, tested, variance=variance, present=problem.n, level=level, seed=seed)
    method = "wilson" if problem.group is None else "wilson over groups"
    measured = None if measure is None else measure(done, sets)
    notes = (*map(write_sentence, problem.notes), *_notes(sets, done, law))
    notes += () if measured is None else tuple(_undefined_notes(measured, sets.sizes))
    return LearningCurve(
        name, sets.sizes, trained, tested, low, high, n, level, method, law, problem.n, sets.tested, seed,
        sets.splits.fingerprint, notes, done.complete, ignore, measured,
    )  # fmt: skip


def _undefined_notes(measured: MeasureAtSizes, sizes: tuple[int, ...]) -> list[str]:
    """At which sizes a measure has no value, and why."""
    missing: dict[str, list[str]] = {}
    for size, estimate in zip(sizes, measured.estimates, strict=True):
        if estimate.undefined:
            missing.setdefault(estimate.undefined, []).append(f"{size:,}")
    name = measured.estimates[0].name
    notes = [f"{name} has no value at {listing(where)} rows: {reason}." for reason, where in missing.items()]
    if np.isnan(measured.training).all():
        notes.append(f"{name} has no value on training rows: of these the predicted classes are kept, and no scores.")
    return notes


def _errors(sets: NestedTrainingSets, split: NDArray[np.int64], wrong: NDArray[np.bool_]) -> Floats:
    """The error of every split, one row per draw and one column per size; nan where a split did not finish."""
    splits = sets.draws * len(sets.sizes)
    counts = np.bincount(split, minlength=splits)
    with np.errstate(invalid="ignore"):
        rate = np.bincount(split, weights=wrong, minlength=splits) / counts
    return rate.reshape(sets.draws, len(sets.sizes))


def _limits(
    problem: Problem, sets: NestedTrainingSets, done: Run, wrong: NDArray[np.bool_], errors: Floats, level: float
) -> tuple[Floats, Floats, tuple[int, ...], Floats]:
    """Wilson's limits of the mean test error at each size, how many distinct rows were tested, and what they tell."""
    mean = _over_draws(np.nanmean, errors)
    size_of = done.fold % len(sets.sizes)
    lows, highs, sizes, told = [], [], [], []
    for at in range(len(sets.sizes)):
        here = size_of == at
        times = np.bincount(done.rows[here], minlength=problem.n)
        missed = np.bincount(done.rows[here], weights=wrong[here], minlength=problem.n)
        kept = times > 0
        n = int(kept.sum())
        effective, critical = n / FACTOR, z_value(level)
        if problem.group is not None and n:
            rate = missed[kept] / times[kept]
            effective, critical = _grouped(rate, problem.group[kept], effective, level)
        low, high = wilson_at(mean[at], effective, critical) if n else (np.nan, np.nan)
        lows.append(float(low))
        highs.append(float(high))
        sizes.append(n)
        told.append(effective)
    return np.array(lows), np.array(highs), tuple(sizes), np.array(told)


def _variance(errors: Floats, tested: int, effective: Floats) -> Floats:
    """The variance of the mean test error at each size, over new data.

    The draws share their test rows, whose part of the variance does not shrink with more draws; what is left is the
    luck of the training sets, and shrinks.
    """
    mean, spread = _over_draws(np.nanmean, errors), _over_draws(_deviation, errors)
    rows = mean * (1 - mean)
    luck = np.maximum(np.nan_to_num(spread) ** 2 - rows / tested, 0) / len(errors)
    return np.asarray(rows / np.maximum(effective, 1) + luck)


def _grouped(rate: Floats, group: NDArray[np.int64], effective: float, level: float) -> tuple[float, float]:
    """Fewer cases where the rows of a group are wrong together, and Student's t for few groups."""
    inside = np.unique(group, return_inverse=True)[1]
    groups = int(inside.max()) + 1
    mean = float(rate.mean())
    if groups < 2:
        return 0.0, z_value(level)
    alone = mean * (1 - mean) / len(rate)
    together = groups / (groups - 1) * (np.bincount(inside, weights=rate - mean) ** 2).sum() / len(rate) ** 2
    return effective / max(together / alone if alone > 0 else 1.0, 1.0), float(t_value(level, groups - 1))


def _over_draws(function: Callable[..., Any], table: Floats) -> Floats:
    """A figure of each column from the draws that finished; nan where none did."""
    known = [column[~np.isnan(column)] for column in table.T]
    return np.array([function(column) if len(column) else np.nan for column in known])


def _deviation(values: Floats) -> float:
    return float(values.std(ddof=1)) if len(values) > 1 else np.nan


def _notes(sets: NestedTrainingSets, done: Run, law: PowerLaw) -> tuple[str, ...]:
    notes = []
    if law.undefined:
        notes.append(f"No power law was fitted: {law.undefined}.")
    elif sets.draws < 2:
        notes.append("There is one draw only, so nothing is known of how sure the law is.")
    elif law.exponent.high / max(law.exponent.low, 1e-9) > 5:
        notes.append("The exponent is hardly known: more draws, or a wider range of sizes, would tell more.")
    if done.failures:
        first = done.failures[0]
        notes.append(
            f"{len(done.failures)} of {len(sets.splits)} models failed; the first ({first.where}): {first.message}"
        )
    if not done.complete:
        notes.append(f"Interrupted: {len(done.finished)} of {len(sets.splits)} models were trained.")
    return (*notes, *done.warnings)
