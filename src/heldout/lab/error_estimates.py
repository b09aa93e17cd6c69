"""Experiments with estimates of the error: training error, test sets, folds, the bootstrap, and learning curves."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from heldout.api.evaluate import evaluate
from heldout.api.learning_curve import learning_curve as measure_curve
from heldout.arrays import Floats
from heldout.errors import LabelError, OptionError, ValuesError
from heldout.evidence import Confusion
from heldout.lab.demonstration import Observed, make_mean, make_spread, pick_series
from heldout.lab.experiment import experiment, simulate
from heldout.lab.intervals_and_tests import measure_population
from heldout.lab.worlds import World
from heldout.learners.encoding import prepare_learner
from heldout.learners.learner import clone_learner, read_learner
from heldout.learners.problem import Problem
from heldout.measures.catalogue import find
from heldout.plans import Cases
from heldout.plans.parser import read_plan
from heldout.plans.plan import Plan, Splits
from heldout.resampling.run import run
from heldout.resampling.run_evidence import count_every_case_once, count_pairs, mix_632
from heldout.resampling.workers import Jobs, Progress
from heldout.show.numbers import number

# How often a sample without both classes, or one that a plan cannot split, is drawn again before giving up.
TRIES = 100
# Fresh cases behind each of many true errors that have no formula: their noise averages out.
FRESH = 10_000


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
    """The share of cases that a model gets wrong, as `evaluate` counts it."""
    predicted = np.asarray(model.predict(features))
    return float(evaluate(truth, predicted, labels=[0, 1], measures=["error_rate"])["error_rate"].value)


TRAINING, TEST, TRUE = "training set", "test set", "true error"


@experiment(
    title="Optimism of the training error",
    question="How far below the true error is the error on the cases that a model was trained on?",
    claim="If S is the training set, its error is optimistically biased; for an unbiased one, S and h must be chosen "
    "independently.",
    source="Statistical Evaluation",
    see="The training error lies below the true error at every size, and most with few cases. The error on a test set "
    "lies on the line of the true error.",
    measured="error rate",
    series="judged on",
    at="n",
)
def optimism(
    world: World | str = "gaussians:2",
    learner: Any = "tree",
    n: int | Sequence[int] = (25, 50, 100, 200),
    *,
    draws: int = 200,
    seed: int = 0,
    jobs: Jobs = None,
    progress: Progress = None,
) -> Observed:
    """Train on n cases again and again, and compare the error on them and on n new ones with the true error.

    Examples
    --------
    >>> from heldout.lab.worlds import Noise
    >>> shown = optimism(Noise(), "knn:1", n=20, draws=20)
    >>> shown.figure("training set", measure="bias").value
    -0.5

    """
    assert isinstance(world, World)  # noqa: S101 - read by the declaration
    sizes = tuple(n)  # type: ignore[arg-type]
    _, estimator = prepare_for_world(learner, world, seed)
    draw = partial(_draw_errors, world=world, estimator=estimator, sizes=sizes)
    errors = simulate(draw, draws, seed=seed, jobs=jobs, progress=progress)
    figures = [
        make_mean(name, errors[:, i, part], at=float(size), n=size, measure="error rate")
        for part, name in enumerate((TRAINING, TEST, TRUE))
        for i, size in enumerate(sizes)
    ]
    figures += [
        make_mean(name, errors[:, i, part] - errors[:, i, 2], at=float(size), n=size, measure="bias")
        for part, name in enumerate((TRAINING, TEST))
        for i, size in enumerate(sizes)
    ]
    biased, honest = (
        next(figure for figure in pick_series(figures, name) if figure.measure == "bias") for name in (TRAINING, TEST)
    )
    sentence = (
        f"With {sizes[0]:,} cases the training error is {number(abs(biased.value))} "
        f"{'below' if biased.value < 0 else 'above'} the true error on average; that of a test set is off by "
        f"{number(abs(honest.value))}, which is within its Monte Carlo error of "
        f"{number((honest.high - honest.low) / 2)}."
        if honest.low <= 0 <= honest.high
        else f"With {sizes[0]:,} cases the training error is off by {number(biased.value)} on average, that of a test "
        f"set by {number(honest.value)}."
    )
    return Observed(tuple(figures), sentence, (("no rule errs less", world.bayes_error),))


def _draw_errors(
    rng: np.random.Generator, count: int, *, world: World, estimator: Any, sizes: tuple[int, ...]
) -> Floats:
    errors = np.empty((count, len(sizes), 3))
    for at in range(count):
        for i, n in enumerate(sizes):
            problem = draw_training_set(world, n, rng)
            model = fit_model(estimator, problem)
            errors[at, i] = (
                measure_error(model, problem.features, problem.truth),
                measure_error(model, *world.draw(n, rng)),
                world.true_error(model, n=FRESH, seed=int(rng.integers(2**31))).value,
            )
    return errors


@experiment(
    title="Size of a test set",
    question="How much does the measured error vary from one test set to the next?",
    claim="Even an unbiased error varies around the true error, and the smaller the set S, the greater its variance.",
    source="Statistical Evaluation",
    see="The spread falls with the square root of the number of cases, as the binomial distribution says: four times "
    "the cases halve it.",
    measured="standard deviation",
    series="errors of",
    at="n",
)
def sample_size(
    world: World | str = "gaussians:2",
    learner: Any = "lda",
    n: int | Sequence[int] = (10, 30, 100, 300, 1000),
    *,
    trained_on: int = 100,
    draws: int = 2000,
    seed: int = 0,
    jobs: Jobs = None,
    progress: Progress = None,
) -> Observed:
    """Train one model, and measure its error on many independent test sets of each size.

    Examples
    --------
    >>> shown = sample_size(n=[25, 100], draws=50)
    >>> few, many = shown.figures
    >>> round(few.expected / many.expected, 12)
    2.0

    """
    assert isinstance(world, World)  # noqa: S101 - read by the declaration
    sizes = tuple(n)  # type: ignore[arg-type]
    name, estimator = prepare_for_world(learner, world, seed)
    model = fit_model(estimator, draw_training_set(world, trained_on, np.random.default_rng([seed, trained_on])))
    true = world.true_error(model, seed=seed)
    draw = partial(_draw_test_sets, world=world, model=model, sizes=sizes)
    errors = simulate(draw, draws, seed=seed, jobs=jobs, progress=progress)
    p = true.value
    figures = tuple(
        make_spread(name, errors[:, i], seed, at=float(size), expected=math.sqrt(p * (1 - p) / size), n=size)
        for i, size in enumerate(sizes)
    )
    sentence = (
        f"One model, many test sets: with {sizes[0]:,} test cases the measured error varies by "
        f"{number(figures[0].value)}, with {sizes[-1]:,} by {number(figures[-1].value)}. Four times the cases halve it."
    )
    return Observed(figures, sentence, notes=(f"The true error p is {true}; theory is √(p (1 − p) / n).",))


def _draw_test_sets(
    rng: np.random.Generator, count: int, *, world: World, model: Any, sizes: tuple[int, ...]
) -> Floats:
    errors = np.empty((count, len(sizes)))
    for i, n in enumerate(sizes):
        # One call for all test sets: learners answer a thousand cases as fast as ten.
        features, truth = world.draw(n * count, rng)
        wrong = np.asarray(model.predict(features)) != truth
        errors[:, i] = wrong.reshape(count, n).mean(axis=1)
    return errors


POOLED = "counts of all folds"
AS_ZERO, LEFT_OUT = "mean, undefined as 0", "mean, undefined left out"


@experiment(
    title="Averages over folds",
    question="Is a measure averaged over folds the same as the measure of all folds together?",
    claim="The error of a learner is the mean of the errors over k folds; other metrics are averaged over the samples "
    "too, though care is needed.",
    source="Statistical Evaluation; Evaluation and Validation",
    see="Where the positive class is rare, the mean of F1 over folds is far too low, however folds without a defined "
    "value are treated. Counting all folds together, as heldout does, stays near zero.",
    measured="bias",
    series="computed from",
    at="prevalence",
)
def fold_average(
    n: int = 100,
    prevalence: float | Sequence[float] = (0.5, 0.2, 0.1, 0.05),
    *,
    measure: str = "f1",
    recall: float = 0.6,
    precision: float = 0.6,
    folds: int = 10,
    draws: int = 1000,
    seed: int = 0,
    jobs: Jobs = None,
    progress: Progress = None,
) -> Observed:
    """Compare the mean over stratified folds and the counts of all folds with the true value, for a known classifier.

    Examples
    --------
    >>> shown = fold_average(prevalence=0.05, draws=100)
    >>> shown["mean, undefined as 0"].value < -0.1 < shown["counts of all folds"].value
    True

    """
    shares = tuple(prevalence)  # type: ignore[arg-type]
    rates = {share: _find_alarm_rate(share, recall, precision) for share in shares}
    draw = partial(_draw_folded, n=n, rates=rates, recall=recall, folds=folds, measure=measure)
    truths = {share: measure_population(measure, share, recall, alarms) for share, alarms in rates.items()}
    values = simulate(draw, draws, seed=seed, jobs=jobs, progress=progress)
    figures = tuple(
        make_mean(way, values[:, i, j] - truths[share], at=share, n=n)
        for j, way in enumerate((POOLED, AS_ZERO, LEFT_OUT))
        for i, share in enumerate(shares)
    )
    rare = shares.index(min(shares))
    pooled, zero, out = (pick_series(figures, way)[rare] for way in (POOLED, AS_ZERO, LEFT_OUT))
    sentence = (
        f"The true {find(measure).title} is {number(truths[shares[rare]])}. With {number(shares[rare])} of {n:,} cases "
        f"positive its mean over {folds} folds is off by {number(zero.value)} where undefined folds count as 0 and by "
        f"{number(out.value)} where they are left out; counted over all folds it is off by {number(pooled.value)}."
    )
    return Observed(figures, sentence, (("unbiased", 0.0),))


def _find_alarm_rate(prevalence: float, recall: float, precision: float) -> float:
    rate = prevalence * recall * (1 - precision) / precision / (1 - prevalence)
    if rate > 1:
        raise OptionError(
            f"No classifier has recall {recall:g} and precision {precision:g} where {prevalence:g} are positive.",
            hint="raise the precision or lower the recall.",
        )
    return rate


def _draw_folded(
    rng: np.random.Generator, count: int, *, n: int, rates: dict[float, float], recall: float, folds: int, measure: str
) -> Floats:
    values = np.empty((count, len(rates), 3))
    bound = find(measure)
    for i, (share, alarms) in enumerate(rates.items()):
        positives = max(1, round(share * n))
        truth = np.repeat([1, 0], [positives, n - positives])
        for at in range(count):
            predicted = (rng.random(n) < np.where(truth == 1, recall, alarms)).astype(np.int64)
            # Stratified: the cases of a class are dealt out in turn, and all are independent and alike.
            fold = np.concatenate([np.arange(positives), np.arange(n - positives) + positives]) % folds
            whole = evaluate(truth, predicted, fold=fold, positive=1, labels=[0, 1], measures=[measure])
            counts = np.bincount(4 * fold + 2 * (1 - truth) + (1 - predicted), minlength=4 * folds).reshape(folds, 4)
            alone = np.asarray(bound.of_classes(counts.astype(np.float64)))
            defined = alone[np.isfinite(alone)]
            values[at, i] = (
                whole[measure].value,
                np.nan_to_num(alone).mean(),
                defined.mean() if len(defined) else np.nan,
            )
    return values


@experiment(
    title="The .632 bootstrap and other estimates of the error",
    question="Which plan estimates the error of a learner best from few cases?",
    claim="The accuracy is .632 times that out of the bootstrap sample plus .368 times that on all data.",
    source="Model Evaluation",
    see="The bootstrap alone is too high, the training error too low, and .632 lies between them. Of a learner that "
    "remembers its cases, such as one nearest neighbour, the training error is 0 and .632 is far too low; .632+ is "
    "much nearer.",
    measured="bias",
    series="plan",
    at="",
)
def bootstrap_632(
    world: World | str = "gaussians:1",
    learner: Any = ("naive-bayes", "knn:1"),
    n: int = 40,
    plans: Sequence[Any] = ("resubstitution", "10-fold", "bootstrap 25", ".632 25", ".632+ 25"),
    *,
    draws: int = 100,
    seed: int = 0,
    jobs: Jobs = None,
    progress: Progress = None,
) -> Observed:
    """Draw data sets of n cases, estimate the error by each plan, and compare with the true error.

    Examples
    --------
    >>> shown = bootstrap_632(learner="naive-bayes", n=30, plans=["resubstitution", "leave-one-out"], draws=20)
    >>> shown["resubstitution, naive-bayes"].value < shown["leave-one-out, naive-bayes"].value
    True

    """
    assert isinstance(world, World)  # noqa: S101 - read by the declaration
    read = [read_plan(plan) for plan in plans]
    prepared = [prepare_for_world(one, world, seed) for one in learner]
    draw = partial(_draw_estimates, world=world, estimators=[one for _, one in prepared], n=n, plans=read)
    values = simulate(draw, draws, seed=seed, jobs=jobs, progress=progress)
    missed = values[:, :, :-1] - values[:, :, -1:]
    names = [f"{plan.text}, {name}" for name, _ in prepared for plan in read]
    across = missed.reshape(len(missed), -1)
    figures = [make_mean(name, across[:, i], n=n, measure="bias") for i, name in enumerate(names)]
    figures += [make_mean(name, across[:, i] ** 2, n=n, measure="mean square error") for i, name in enumerate(names)]
    sentences = []
    for i, (name, _) in enumerate(prepared):
        squares = (missed[:, i] ** 2).mean(axis=0)
        best = int(squares.argmin())
        sentences.append(
            f"of {name} {read[best].text} (misses by {number(float(np.sqrt(squares[best])))}, root mean square)"
        )
    sentence = f"Nearest to the true error with {n:,} cases: {'; '.join(sentences)}."
    return Observed(tuple(figures), sentence, (("unbiased", 0.0),))


def _draw_estimates(
    rng: np.random.Generator, count: int, *, world: World, estimators: list[Any], n: int, plans: list[Plan]
) -> Floats:
    values = np.empty((count, len(estimators), len(plans) + 1))
    for at in range(count):
        problem, splits = _draw_divisible(world, n, plans, rng)
        for i, estimator in enumerate(estimators):
            model = fit_model(estimator, problem)
            true = world.true_error(model, n=FRESH, seed=int(rng.integers(2**31))).value
            tables: dict[bytes, Confusion] = {}
            told = []
            for plan, parts in zip(plans, splits, strict=True):
                # The three forms of the bootstrap have the same samples, which are fitted once.
                key = parts.test_rows.tobytes() + parts.bounds.tobytes()
                if key not in tables:
                    done = run(estimator, problem, parts, training=False, progress=False, plan_text=plan.text)
                    tables[key] = count_every_case_once(done, problem)
                told.append(_estimate_error(model, problem, plan, tables[key]))
            values[at, i] = [*told, true]
    return values


def _draw_divisible(world: World, n: int, plans: list[Plan], rng: np.random.Generator) -> tuple[Problem, list[Splits]]:
    """A data set that every plan can split, and its splits."""
    for left in range(TRIES, 0, -1):
        problem = draw_training_set(world, n, rng)
        cases, division = Cases(problem.truth, problem.labels), int(rng.integers(2**31))
        try:
            return problem, [plan.splits(cases, division) for plan in plans]
        except LabelError:
            if left == 1:
                raise
    raise AssertionError


def _estimate_error(model: Any, problem: Problem, plan: Plan, table: Confusion) -> float:
    """The error that a plan estimates; the corrected bootstrap also asks the model trained on all cases."""
    if plan.correction:
        answers = np.asarray(model.predict(problem.features), dtype=np.int64)
        return mix_632(count_pairs(problem.truth, answers, problem.labels, None), table, plan.correction).error
    return 1 - float(table.hits.sum()) / float(table.n)


@experiment(
    title="Learning curve",
    question="Does a learning curve measured on one data set show how the true error falls?",
    claim="Train on sets of different sizes chosen at random, and measure each on a test set: the result is the "
    "learning curve.",
    source="Evaluation and Validation",
    see="The curve that heldout measures on one data set lies on that of the true error, on average. The error on the "
    "training sets rises towards it from below; both end at what no rule can avoid.",
    measured="error rate",
    series="curve",
    at="n",
)
def learning_curve(
    world: World | str = "gaussians:2",
    learner: Any = "naive-bayes",
    n: int | Sequence[int] = (10, 20, 40, 80, 160),
    *,
    draws: int = 60,
    seed: int = 0,
    jobs: Jobs = None,
    progress: Progress = None,
) -> Observed:
    """Measure learning curves on drawn data sets, and compare them with the true errors of models of each size.

    Examples
    --------
    >>> shown = learning_curve(n=[10, 40], draws=10)
    >>> shown.figure("training error", 10).value < shown.figure("true error", 10).value
    True

    """
    assert isinstance(world, World)  # noqa: S101 - read by the declaration
    sizes = tuple(n)  # type: ignore[arg-type]
    _, estimator = prepare_for_world(learner, world, seed)
    draw = partial(_draw_curves, world=world, learner=learner, estimator=estimator, sizes=sizes)
    values = simulate(draw, draws, seed=seed, jobs=jobs, progress=progress)
    figures = tuple(
        make_mean(name, values[:, part, i], at=float(size), n=size)
        for part, name in enumerate(("test error", "true error", "training error"))
        for i, size in enumerate(sizes)
    )
    first, last = (pick_series(figures, "true error")[at] for at in (0, -1))
    gap = max(
        abs(one.value - other.value)
        for one, other in zip(pick_series(figures, "test error"), pick_series(figures, "true error"), strict=True)
    )
    sentence = (
        f"From {sizes[0]:,} to {sizes[-1]:,} training cases the true error falls from {number(first.value)} to "
        f"{number(last.value)}; the curve measured on one data set follows it within {number(gap)} on average."
    )
    return Observed(figures, sentence, (("no rule errs less", world.bayes_error),))


def _draw_curves(
    rng: np.random.Generator, count: int, *, world: World, learner: Any, estimator: Any, sizes: tuple[int, ...]
) -> Floats:
    values = np.empty((count, 3, len(sizes)))
    for at in range(count):
        problem = draw_training_set(world, math.ceil(1.6 * max(sizes)) + 20, rng)
        curve = measure_curve(
            learner, problem.features, problem.truth, sizes=list(sizes), draws=5, seed=int(rng.integers(2**31)),
            progress=False,
        )  # fmt: skip
        values[at, 0], values[at, 2] = np.mean(curve.test, axis=0), np.mean(curve.training, axis=0)
        values[at, 1] = [
            world.true_error(
                fit_model(estimator, _draw_stratified(world, n, rng)), n=FRESH, seed=int(rng.integers(2**31))
            ).value
            for n in sizes
        ]
    return values


def _draw_stratified(world: World, n: int, rng: np.random.Generator) -> Problem:
    """Cases with the classes in the world's own proportion, as the training sets of a learning curve have them."""
    pool = draw_training_set(world, 20 * n, rng)
    some = min(max(round(n * float(pool.truth.mean())), 1), n - 1)
    rows = np.concatenate([np.flatnonzero(pool.truth == 1)[:some], np.flatnonzero(pool.truth == 0)[: n - some]])
    return Problem(pool.features[rows], pool.truth[rows], pool.truth[rows], (0, 1))
