"""Experiments with known truth: the spread of errors, optimism, the bias of estimators, the coverage of intervals."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from heldout.arguments import check_level, check_share, check_whole, closest, listing, method_key
from heldout.arrays import Floats
from heldout.errors import LabelError, OptionError, ValuesError
from heldout.intervals.proportion import METHODS
from heldout.intervals.quantiles import t_value
from heldout.lab.worlds import Gaussians, TrueError, World
from heldout.learners.encoding import prepare_learner
from heldout.learners.learner import clone_learner, read_learner
from heldout.learners.problem import Problem
from heldout.plans.parser import read_plan
from heldout.plans.plan import Cases, Plan, Splits
from heldout.resampling.run import run
from heldout.resampling.run_evidence import count_every_case_once, count_pairs, mix_632
from heldout.result import Result, make_row
from heldout.show.blocks import Block, Column, Note, Number, Prose, Range, Table, Title
from heldout.show.numbers import limits, number

# A training set without both classes teaches nothing, and is drawn again so often before giving up.
TRIES = 100
REPLICATES = 1000
# Fresh cases behind each of many true errors that have no formula: their noise averages out.
FRESH = 10_000


def resolve_world(world: Any, *, n: int, least: int, repeats: int, seed: int, level: float) -> World:
    """The world of an experiment, by default two Gaussians; what all experiments take is checked.

    >>> resolve_world(None, n=10, least=2, repeats=5, seed=0, level=0.95).text
    'two normal clouds 2 apart in 2 features, 0.5 of class 1'
    """
    if world is None or isinstance(world, World):
        check_whole("n", n, least)
        check_whole("repeats", repeats, 2)
        check_whole("seed", seed, 0)
        check_level(level)
        return Gaussians() if world is None else world
    shown = world.__name__ if isinstance(world, type) else repr(world)
    raise OptionError(
        f"The first argument must be a world. Got {shown}.",
        hint="such as lab.Gaussians(separation=2.0) or lab.Noise().",
    )


def prepare_for_world(learner: Any, world: World, seed: int) -> tuple[str, Any]:
    """The name of a learner and its unfitted estimator, made for this world's features."""
    read = read_learner(learner, seed=seed)
    return read.name, prepare_learner(read, draw_training_set(world, 20, np.random.default_rng(seed)))


def draw_training_set(world: World, n: int, rng: np.random.Generator) -> Problem:
    """Cases of which both classes have some."""
    for _ in range(TRIES):
        features, truth = world.draw(n, rng)
        if 0 < truth.sum() < n:
            return Problem(features, truth, truth, (0, 1))
    raise ValuesError(
        f"In {TRIES} samples of {n} cases one class never occurred.", hint="draw more cases, or use another prevalence."
    )


def fit_model(estimator: Any, problem: Problem) -> Any:
    """A model trained on all of a problem's cases."""
    return clone_learner(estimator).fit(problem.features, problem.target)


def measure_error(model: Any, features: Floats, truth: NDArray[np.int64]) -> float:
    """The share of cases that a model gets wrong."""
    return float(np.mean(np.asarray(model.predict(features)) != truth))


def find_mean_limits(values: Floats, level: float) -> tuple[float, float, float]:
    """The mean of independent repetitions with Student's limits.

    >>> find_mean_limits(np.array([1.0, 1.0]), 0.95)
    (1.0, 1.0, 1.0)
    """
    mean = float(values.mean())
    half = float(t_value(level, len(values) - 1)) * float(values.std(ddof=1)) / len(values) ** 0.5
    return mean, mean - half, mean + half


def find_bootstrap_limits(
    function: Callable[[Floats], Floats], values: Floats, level: float, seed: int
) -> tuple[float, float, float]:
    """A figure of independent repetitions, taken along the last axis, with bootstrap limits."""
    value = float(function(values))
    taken = np.random.default_rng(seed).integers(len(values), size=(REPLICATES, len(values)))
    low, high = np.quantile(function(values[taken]), [(1 - level) / 2, (1 + level) / 2])
    return value, min(float(low), value), max(float(high), value)


METHOD = "bootstrap over test sets"


@dataclass(frozen=True, eq=False)
class SamplingSpread(Result):
    """The errors of one model on many test sets of each size.

    >>> import heldout
    >>> heldout.lab.spread(sizes=[10, 30], repeats=5).sizes
    (10, 30)
    """

    schema: ClassVar[str] = "heldout/lab-spread@1"

    world: str
    learner: str
    trained_on: int
    true_error: TrueError
    sizes: tuple[int, ...]
    errors: Floats = field(repr=False)
    level: float
    seed: int

    def measured(self, at: int) -> tuple[float, float, float]:
        """The standard deviation over test sets of the size at this place, with its limits."""
        return find_bootstrap_limits(lambda drawn: drawn.std(axis=-1, ddof=1), self.errors[at], self.level, self.seed)

    def expected(self, at: int) -> float:
        """What the binomial distribution says: sqrt(p(1 − p)/n)."""
        p = self.true_error.value
        return math.sqrt(p * (1 - p) / self.sizes[at])

    def rows(self) -> list[dict[str, object]]:
        """One row per size."""
        rows = []
        for at, size in enumerate(self.sizes):
            head = make_row("standard_deviation", *self.measured(at), level=self.level, method=METHOD, n=size)
            tail = {"expected": self.expected(at), "mean_error": float(self.errors[at].mean())}
            rows.append({**head, **tail, "repeats": self.errors.shape[1]})
        return rows

    def facts(self) -> dict[str, object]:
        """What stands beside the rows in the document."""
        true = self.true_error
        return {
            "world": self.world, "learner": self.learner, "trained_on": self.trained_on, "seed": self.seed,
            "true_error": true.value, "true_error_standard_error": true.standard_error, "true_error_exact": true.exact,
        }  # fmt: skip

    def blocks(self) -> list[Block]:
        """One line per size, from small test sets to large."""
        rows = []
        for at, size in enumerate(self.sizes):
            value, low, high = self.measured(at)
            mean = float(self.errors[at].mean())
            rows.append((size, Number(mean), Number(value), Range(low, high), Number(self.expected(at))))
        names = ("test cases", "mean error", "spread", "", "sqrt(p(1 − p)/n)")
        first, last = (number(self.measured(at)[0]) for at in (0, -1))
        verdict = (
            f"One model, many test sets: with {self.sizes[0]:,} test cases the measured error varies by {first}, with "
            f"{self.sizes[-1]:,} by {last}. Four times the cases halve the spread."
        )
        detail = (
            f"{self.learner} trained on {self.trained_on:,} cases; {self.errors.shape[1]} test sets of each size; "
            f"{self.world}; seed {self.seed}"
        )
        return [
            Title("Spread of the error over test sets", detail),
            Prose(verdict, "Verdict"),
            Table(tuple(Column(name, "right" if name else "left") for name in names), tuple(rows)),
            Prose(f"True error p = {self.true_error}. Limits: {self.level:g}, {METHOD}."),
        ]


def spread(
    world: World | None = None,
    learner: Any = "lda",
    sizes: Sequence[int] = (10, 30, 100, 300, 1000),
    *,
    n: int = 100,
    repeats: int = 200,
    seed: int = 0,
    level: float = 0.95,
) -> SamplingSpread:
    """Train one model on n cases, and test it on many independent test sets of each size.

    Parameters
    ----------
    world : World, optional
        Where the cases come from, with a known true error; a usual one unless said.
    learner : estimator or str
        Anything with fit and predict as in scikit-learn, or a short name such as "knn:5".
    sizes : sequence of int
        Sizes of test sets.
    n : int
        How many cases are trained on.
    repeats : int
        How many test sets of each size are drawn.
    seed : int
        Where everything random begins.
    level : float
        The level of the intervals.

    Examples
    --------
    >>> found = spread(sizes=[25, 100], repeats=50)
    >>> round(found.expected(0) / found.expected(1), 12)
    2.0

    """
    world = resolve_world(world, n=n, least=2, repeats=repeats, seed=seed, level=level)
    wanted = tuple(sorted({check_whole("every size", size, 1) for size in sizes}))
    if not wanted:
        raise OptionError("There are no sizes of test sets.", hint="for example sizes=[10, 100, 1000].")
    name, estimator = prepare_for_world(learner, world, seed)
    rng = np.random.default_rng(seed)
    model = fit_model(estimator, draw_training_set(world, n, rng))
    errors = np.empty((len(wanted), repeats))
    for at, size in enumerate(wanted):
        features, truth = world.draw(size * repeats, rng)
        wrong = np.asarray(model.predict(features)) != truth
        errors[at] = wrong.reshape(repeats, size).mean(axis=1)
    return SamplingSpread(world.text, name, n, world.true_error(model, seed=seed), wanted, errors, level, seed)


SAMPLES = ("training set", "test set")
OPTIMISM_METHOD = "monte-carlo"


@dataclass(frozen=True, eq=False)
class TrainingOptimism(Result):
    """Training, test and true error of each repetition, and the bias of the first two.

    >>> import heldout
    >>> heldout.lab.optimism(n=20, repeats=5).training.shape
    (5,)
    """

    schema: ClassVar[str] = "heldout/lab-optimism@1"

    world: str
    learner: str
    n: int
    level: float
    seed: int
    bayes_error: float
    exact: bool
    training: Floats = field(repr=False)
    test: Floats = field(repr=False)
    true: Floats = field(repr=False)

    def bias(self, sample: str) -> tuple[float, float, float]:
        """E[error_S] − error_D for S the "training set" or a "test set" of the same size, with its limits."""
        errors = self.training if sample == SAMPLES[0] else self.test
        return find_mean_limits(errors - self.true, self.level)

    def rows(self) -> list[dict[str, object]]:
        """The mean errors and the biases."""
        return [
            make_row(measure, *values, level=self.level, method=OPTIMISM_METHOD, n=self.n)
            | {"sample": sample, "learner": self.learner, "repeats": len(self.true)}
            for measure, sample, values in self._figures()
        ]  # fmt: skip

    def _figures(self) -> list[tuple[str, str, tuple[float, float, float]]]:
        errors_of = {"training set": self.training, "test set": self.test, "true": self.true}
        figures = [("error_rate", sample, find_mean_limits(errors, self.level)) for sample, errors in errors_of.items()]
        return figures + [("bias", sample, self.bias(sample)) for sample in SAMPLES]

    def facts(self) -> dict[str, object]:
        """What stands beside the rows in the document."""
        return {
            "world": self.world, "learner": self.learner, "n": self.n, "repeats": len(self.true), "seed": self.seed,
            "bayes_error": self.bayes_error, "true_error_exact": self.exact,
        }  # fmt: skip

    def blocks(self) -> list[Block]:
        """What the training error hides, and the figures."""
        train, *ends = self.bias(SAMPLES[0])
        # Written without signs where all have the same one.
        low, high = sorted(-end if train < 0 else end for end in ends)
        fresh = self.bias(SAMPLES[1])
        honest = "holds 0, as it should" if fresh[1] <= 0 <= fresh[2] else "misses 0 by chance"
        verdict = (
            f"The training error is {number(abs(train))} {'below' if train < 0 else 'above'} the true error on average "
            f"[{limits(low, high)}]. On an independent test set the bias is {number(fresh[0])}, and its "
            f"interval {honest}."
        )
        rows = [
            (f"{'bias' if measure == 'bias' else 'error'}, {sample}", Number(value), Range(bottom, top))
            for measure, sample, (value, bottom, top) in self._figures()
        ]
        how = "exact" if self.exact else f"on {FRESH:,} fresh cases each"
        detail = f"{self.learner} on {self.n:,} cases, {len(self.true)} times; {self.world}; seed {self.seed}"
        return [
            Title("Optimism of the training error", detail),
            Prose(verdict, "Verdict"),
            Table((Column("mean of"), Column("value", "right"), Column("")), tuple(rows)),
            Prose(
                f"True errors: {how}; no rule errs less than {number(self.bayes_error)}. "
                f"Limits: {self.level:g}, over repetitions."
            ),
        ]


def optimism(
    world: World | None = None,
    learner: Any = "tree",
    n: int = 50,
    repeats: int = 200,
    *,
    seed: int = 0,
    level: float = 0.95,
) -> TrainingOptimism:
    """Train on n cases again and again, and compare the error on them and on n new ones with the true error.

    Parameters
    ----------
    world : World, optional
        Where the cases come from, with a known true error; a usual one unless said.
    learner : estimator or str
        Anything with fit and predict as in scikit-learn, or a short name such as "knn:5".
    n : int
        How many cases are trained on.
    repeats : int
        How many data sets are drawn.
    seed : int
        Where everything random begins.
    level : float
        The level of the intervals.

    Examples
    --------
    >>> from heldout.lab.worlds import Noise
    >>> found = optimism(Noise(), "knn:1", n=20, repeats=30)
    >>> found.bias("training set")[0]
    -0.5

    """
    world = resolve_world(world, n=n, least=2, repeats=repeats, seed=seed, level=level)
    name, estimator = prepare_for_world(learner, world, seed)
    rng = np.random.default_rng(seed)
    errors = np.empty((3, repeats))
    exact = True
    for at in range(repeats):
        problem = draw_training_set(world, n, rng)
        model = fit_model(estimator, problem)
        true = world.true_error(model, n=FRESH, seed=at)
        exact = exact and true.exact
        errors[:, at] = (
            measure_error(model, problem.features, problem.truth),
            measure_error(model, *world.draw(n, rng)),
            true.value,
        )
    return TrainingOptimism(world.text, name, n, level, seed, world.bayes_error, exact, *errors)


PLANS = ("resubstitution", "holdout", "10-fold", "leave-one-out", "bootstrap 25", ".632 25")
FIGURE_METHODS = {
    "bias": "monte-carlo",
    "standard_deviation": "bootstrap over repetitions",
    "root_mean_square_error": "bootstrap over repetitions",
}


@dataclass(frozen=True, eq=False)
class EstimatorBias(Result):
    """The estimates of each plan over many data sets, against the true error of the model trained on all cases.

    >>> import heldout
    >>> seen = heldout.lab.estimators(n=20, plans=["resubstitution", "3-fold"], repeats=3)
    >>> [row["measure"] for row in seen.rows()][:2]
    ['bias', 'standard_deviation']
    """

    schema: ClassVar[str] = "heldout/lab-estimators@1"

    world: str
    learner: str
    n: int
    plans: tuple[str, ...]
    estimates: Floats = field(repr=False)
    true: Floats = field(repr=False)
    exact: bool
    level: float
    seed: int
    notes: tuple[str, ...] = ()

    @property
    def repeats(self) -> int:
        """How many data sets were drawn."""
        return len(self.true)

    def figure(self, plan: str, measure: str) -> tuple[float, float, float]:
        """The "bias", "standard_deviation" or "root_mean_square_error" of a plan, with its limits."""
        if plan not in self.plans or measure not in FIGURES:
            raise OptionError(
                f"There is no {measure!r} of {plan!r} here.",
                hint=f"plans are {', '.join(self.plans)}; figures are {', '.join(FIGURES)}.",
            )
        estimates = self.estimates[self.plans.index(plan)]
        if measure == "bias":
            return find_mean_limits(estimates - self.true, self.level)
        values = estimates if measure == "standard_deviation" else estimates - self.true
        return find_bootstrap_limits(FIGURES[measure], values, self.level, self.seed)

    def rows(self) -> list[dict[str, object]]:
        """Three rows per plan: bias, standard deviation, and root mean square error."""
        return [
            make_row(measure, *self.figure(plan, measure), level=self.level, method=FIGURE_METHODS[measure], n=self.n)
            | {"plan": plan, "learner": self.learner, "repeats": self.repeats}
            for plan in self.plans
            for measure in FIGURES
        ]  # fmt: skip

    def facts(self) -> dict[str, object]:
        """What stands beside the rows in the document."""
        return {
            "world": self.world, "learner": self.learner, "n": self.n, "repeats": self.repeats, "seed": self.seed,
            "true_error": float(self.true.mean()), "true_error_exact": self.exact, "notes": list(self.notes),
        }  # fmt: skip

    def blocks(self) -> list[Block]:
        """One line per plan."""
        rows, nearest = [], {}
        for at, plan in enumerate(self.plans):
            bias, low, high = self.figure(plan, "bias")
            deviation = self.figure(plan, "standard_deviation")[0]
            nearest[plan] = self.figure(plan, "root_mean_square_error")[0]
            mean = float(self.estimates[at].mean())
            rows.append((plan, Number(mean), Number(bias), Range(low, high), Number(deviation), Number(nearest[plan])))
        best = min(nearest, key=lambda plan: nearest[plan])
        verdict = (
            f"The model trained on all cases errs on {number(float(self.true.mean()))} of new ones on average."
            f" Nearest to it: {best}, which misses by {number(nearest[best])} (root mean square)."
        )
        names = ("plan", "mean estimate", "bias", "", "spread", "misses by")
        how = "exact" if self.exact else f"on {FRESH:,} fresh cases each"
        detail = f"{self.learner} on {self.n:,} cases, {self.repeats} times; {self.world}; seed {self.seed}"
        columns = tuple(Column(name, "left" if name in {"plan", ""} else "right") for name in names)
        return [
            Title("Estimators of the true error", detail),
            Prose(verdict, "Verdict"),
            Table(columns, tuple(rows)),
            Prose(f"True errors: {how}. Limits of the bias: {self.level:g}, over repetitions."),
            *(Note(note) for note in self.notes),
        ]


FIGURES: dict[str, Callable[[Floats], Floats]] = {
    "bias": lambda values: values.mean(axis=-1),
    "standard_deviation": lambda values: values.std(axis=-1, ddof=1),
    "root_mean_square_error": lambda values: np.sqrt((values**2).mean(axis=-1)),
}


def estimators(
    world: World | None = None,
    learner: Any = "naive-bayes",
    n: int = 40,
    plans: Sequence[Any] = PLANS,
    repeats: int = 50,
    *,
    seed: int = 0,
    level: float = 0.95,
) -> EstimatorBias:
    """Draw data sets of n cases, estimate the error by each plan, and compare with the true error.

    Parameters
    ----------
    world : World, optional
        Where the cases come from, with a known true error; a usual one unless said.
    learner : estimator or str
        Anything with fit and predict as in scikit-learn, or a short name such as "knn:5".
    n : int
        How many cases are trained on.
    plans : sequence of plans
        The plans to compare.
    repeats : int
        How many data sets are drawn.
    seed : int
        Where everything random begins.
    level : float
        The level of the intervals.

    Examples
    --------
    >>> found = estimators(n=30, plans=["resubstitution", "leave-one-out"], repeats=20)
    >>> found.figure("resubstitution", "bias")[0] < found.figure("leave-one-out", "bias")[0]
    True

    """
    world = resolve_world(world, n=n, least=4, repeats=repeats, seed=seed, level=level)
    read = [read_plan(plan) for plan in ([plans] if isinstance(plans, str) else plans)]
    if not read:
        raise OptionError("There are no plans to compare.", hint=f"for example plans={list(PLANS[:3])}.")
    name, estimator = prepare_for_world(learner, world, seed)
    rng = np.random.default_rng(seed)
    estimates, true = np.empty((len(read), repeats)), np.empty(repeats)
    exact, again = True, 0
    for at in range(repeats):
        problem, splits, tries = _draw_divisible(world, n, read, rng, at)
        again += tries
        model = fit_model(estimator, problem)
        error = world.true_error(model, n=FRESH, seed=at)
        exact, true[at] = exact and error.exact, error.value
        estimates[:, at] = [
            _estimate_error(estimator, model, problem, plan, parts) for plan, parts in zip(read, splits, strict=True)
        ]
    notes = (f"{again} data sets had too few cases of a class for a plan, and were drawn again.",) if again else ()
    texts = tuple(plan.text for plan in read)
    return EstimatorBias(world.text, name, n, texts, estimates, true, exact, level, seed, notes)


def _draw_divisible(
    world: World, n: int, plans: list[Plan], rng: np.random.Generator, seed: int
) -> tuple[Problem, list[Splits], int]:
    """A data set that every plan can split, its splits, and how many data sets had to be passed over."""
    tries = 0
    while True:
        problem = draw_training_set(world, n, rng)
        cases = Cases(problem.truth, problem.labels)
        try:
            return problem, [plan.splits(cases, seed) for plan in plans], tries
        except LabelError:
            tries += 1
            if tries == TRIES:
                raise


def _estimate_error(estimator: Any, model: Any, problem: Problem, plan: Plan, splits: Splits) -> float:
    """The error that a plan estimates; the corrected bootstrap also asks the model trained on all cases."""
    done = run(estimator, problem, splits, training=False, progress=False, plan_text=plan.text)
    table = count_every_case_once(done, problem)
    if plan.correction:
        answers = np.asarray(model.predict(problem.features), dtype=np.int64)
        return mix_632(count_pairs(problem.truth, answers, problem.labels, None), table, plan.correction).error
    return 1 - float(table.hits.sum()) / float(table.n)


@dataclass(frozen=True, slots=True)
class Covered:
    """How often one method holds one truth, and how wide its interval is on average."""

    method: str
    n: int
    p: float
    coverage: float
    width: float


@dataclass(frozen=True, slots=True, eq=False)
class IntervalCoverage(Result):
    """The coverage of interval methods for a proportion.

    >>> import heldout
    >>> seen = heldout.lab.coverage(n=[10, 50], p=0.2)
    >>> seen.rows()[0]["method"]
    'wilson'
    """

    schema: ClassVar[str] = "heldout/lab-coverage@1"

    level: float
    covered: tuple[Covered, ...]

    def __getitem__(self, method: str) -> Covered:
        """The first figure of a method."""
        key = _resolve_method(method)
        for figure in self.covered:
            if figure.method == key:
                return figure
        raise OptionError(
            f"The method {key!r} was not asked for.", hint=f"use one of: {listing({f.method for f in self.covered})}."
        )

    def rows(self) -> list[dict[str, object]]:
        """One row per method, number of cases and truth."""
        return [
            make_row(
                "coverage", f.coverage, f.coverage, f.coverage, level=self.level, method=f.method, n=f.n, p=f.p,
                width=f.width,
            )
            for f in self.covered
        ]  # fmt: skip

    def blocks(self) -> list[Block]:
        """One line per method, number of cases and truth."""
        worst = min(self.covered, key=lambda f: f.coverage)
        verdict = (
            f"The level asked for is {number(self.level)}. Farthest below it: {worst.method} at n = {worst.n:,} and "
            f"p = {worst.p:g}, which holds the truth with probability {number(worst.coverage)}."
        )
        if worst.coverage >= self.level:
            verdict = f"The level asked for is {number(self.level)}, and every method here keeps it."
        names = ("method", "n", "p", "coverage", "mean width")
        rows = tuple((f.method, f.n, f"{f.p:g}", Number(f.coverage), Number(f.width)) for f in self.covered)
        columns = tuple(Column(name, "left" if name == "method" else "right") for name in names)
        return [
            Title("Coverage of intervals for a proportion", "exact, from the binomial distribution"),
            Prose(verdict, "Verdict"),
            Table(columns, rows),
        ]


def coverage(
    n: int | Sequence[int] = 30,
    p: float | Sequence[float] = 0.2,
    methods: str | Sequence[str] | None = None,
    *,
    level: float = 0.95,
) -> IntervalCoverage:
    """The probability that each method's interval holds p, when n independent cases succeed with probability p.

    Nothing is simulated: for n cases there are n + 1 possible counts, each with its probability and its interval.
    Figures to compare with: Brown, Cai & DasGupta (2001), Statistical Science 16, 101-133.

    Parameters
    ----------
    n : int or sequence of int
        Numbers of cases.
    p : float or sequence of float
        True probabilities.
    methods : str or sequence of str, optional
        Interval methods; all for a proportion unless said.
    level : float
        The level of the intervals.

    Examples
    --------
    >>> round(coverage(18, 0.5, "normal")["normal"].coverage, 3)
    0.904

    """
    check_level(level)
    sizes = [check_whole("n", size, 1) for size in (n if isinstance(n, Sequence | np.ndarray) else [n])]
    shares = [
        check_share("p", value, "write 20 % as 0.2.", ends=True)
        for value in (p if isinstance(p, Sequence | np.ndarray) else [p])
    ]
    requested = list(METHODS) if methods is None else [methods] if isinstance(methods, str) else list(methods)
    names = list(dict.fromkeys(_resolve_method(name) for name in requested))
    if not (sizes and shares and names):
        raise OptionError("There is nothing to work out: n, p or methods is empty.", hint="try coverage(30, 0.2).")
    covered = [
        _compute_coverage(name, size, share, level) for size, share, name in itertools.product(sizes, shares, names)
    ]
    return IntervalCoverage(level, tuple(covered))


def _compute_coverage(name: str, n: int, p: float, level: float) -> Covered:
    counts = np.arange(n + 1)
    low, high = METHODS[name](counts, n, level)
    chance = _compute_binomial(n, p)
    # A limit that equals p but for rounding holds it.
    holds = (low <= p + 1e-12) & (high >= p - 1e-12)
    return Covered(name, n, p, float(chance[holds].sum()), float(chance @ (high - low)))


def _compute_binomial(n: int, p: float) -> Floats:
    from scipy.special import gammaln, xlog1py, xlogy

    counts = np.arange(n + 1)
    ways = gammaln(n + 1) - gammaln(counts + 1) - gammaln(n - counts + 1)
    chance = np.exp(ways + xlogy(counts, p) + xlog1py(n - counts, -p))
    return np.asarray(chance / chance.sum())


def _resolve_method(name: Any) -> str:
    key = method_key(name)
    if key not in METHODS:
        near = closest(key, METHODS)
        raise OptionError(
            f"There is no interval method {name!r} for a proportion. There are: {listing(METHODS)}.",
            hint=f"use {near or 'wilson'!r}.",
        )
    return key
