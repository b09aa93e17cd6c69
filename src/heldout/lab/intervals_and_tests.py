"""Experiments with intervals and tests: how often an interval holds the truth, and how often a test rejects."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from functools import partial
from statistics import NormalDist
from typing import Any

import numpy as np

from heldout.api.compare import compare
from heldout.api.evaluate import evaluate
from heldout.api.plan_study import plan_study
from heldout.api.validate import validate
from heldout.arguments import closest, listing, method_key
from heldout.arrays import Floats
from heldout.comparisons.mcnemar import mcnemar
from heldout.comparisons.unpaired import two_shares
from heldout.errors import OptionError
from heldout.intervals.proportion import METHODS
from heldout.lab.demonstration import Figure, Observed, make_mean, make_share, pick_series
from heldout.lab.experiment import experiment, simulate
from heldout.lab.worlds import Gaussians
from heldout.measures.catalogue import find
from heldout.plans.parser import read_plan
from heldout.resampling.workers import Jobs, Progress
from heldout.show.numbers import number

# Measures of which the share that goes wrong is all there is to know: their coverage is a sum, and not simulated.
SHARES = ("error_rate", "accuracy")
USUAL_METHODS = ("normal", "wilson")


@experiment(
    title="Coverage of intervals",
    question="How often does a 95 % interval hold the true value?",
    claim="With approximately N % probability the true error lies within error ± z √(error (1 − error) / n).",
    source="Statistical Evaluation",
    see="The interval of the notes, called normal, covers far less than it says where cases or errors are few. "
    "Wilson's, which heldout gives by default, stays near the level at every size.",
    measured="coverage",
    series="method",
    at="n",
)
def coverage(
    n: int | Sequence[int] = (10, 20, 50, 100, 200, 500),
    p: float | Sequence[float] = (0.1,),
    methods: str | Sequence[str] | None = None,
    *,
    measure: str = "error_rate",
    prevalence: float = 0.5,
    level: float = 0.95,
    draws: int = 1000,
    seed: int = 0,
    jobs: Jobs = None,
    progress: Progress = None,
) -> Observed:
    """How often intervals hold the truth, for a classifier that errs with probability p on every case.

    For the error rate and accuracy nothing is simulated: of n cases there are n + 1 possible numbers of errors, each
    with its probability and its interval. Any other measure is drawn, and judged by the interval that `evaluate` gives.

    Examples
    --------
    >>> exact = coverage(20, 0.05, ["normal", "wilson"])
    >>> [round(exact[method].value, 2) for method in ("normal", "wilson")]
    [0.64, 0.92]

    """
    sizes, shares = tuple(n), tuple(p)  # type: ignore[arg-type]
    exact = measure in SHARES
    if exact:
        names = [_resolve_method(name) for name in methods or USUAL_METHODS]
        pairs = [
            _compute_coverage(name, size, share, level, several=len(shares) > 1)
            for name, share, size in itertools.product(dict.fromkeys(names), shares, sizes)
        ]
    else:
        pairs = _simulate_coverage(
            sizes, shares, tuple(methods or (None,)), measure, prevalence, level,
            draws=draws, seed=seed, jobs=jobs, progress=progress,
        )  # fmt: skip
    shares_covered, widths = ([pair[part] for pair in pairs] for part in (0, 1))
    unused = ("prevalence", "draws", "seed") if exact else ()
    return Observed(
        (*shares_covered, *widths), _say_coverage(shares_covered, level), (("asked for", level),), unused=unused
    )


def _say_coverage(figures: Sequence[Figure], level: float) -> str:
    worst = min(figures, key=lambda figure: figure.value)
    asked = f"{100 * level:g} %"
    if worst.value >= level or worst.high >= level > worst.low:
        return f"The level asked for is {asked}, and every method here keeps it."
    best = max(pick_series(figures, figures[-1].series), key=lambda figure: abs(figure.value - level))
    other = (
        f"; by {best.series} the share farthest from {asked} is {number(best.value)} (n = {best.n:,})"
        if best.series != worst.series
        else ""
    )
    return (
        f"With {worst.n:,} cases only {number(worst.value)} of the {asked} intervals by {worst.series} contain the "
        f"true value{other}."
    )


def _resolve_method(name: Any) -> str:
    key = method_key(name)
    if key not in METHODS:
        raise OptionError(
            f"There is no interval method {name!r} for a proportion. There are: {listing(METHODS)}.",
            hint=f"use {closest(key, METHODS) or 'wilson'!r}.",
        )
    return key


def _compute_coverage(name: str, n: int, p: float, level: float, *, several: bool) -> tuple[Figure, Figure]:
    """How often the interval holds p, and how wide it is on average."""
    from scipy.stats import binom

    counts = np.arange(n + 1)
    low, high = METHODS[name](counts, n, level)
    # A limit that equals p but for rounding holds it.
    holds = (low <= p + 1e-12) & (high >= p - 1e-12)
    chance = binom.pmf(counts, n, p)
    series = f"{name}, p = {p:g}" if several else name
    covered, width = float(np.clip(chance[holds].sum(), 0, 1)), float(chance @ (high - low))
    return (
        Figure(series, covered, covered, covered, float(n), n=n, measure="coverage"),
        Figure(series, width, width, width, float(n), n=n, measure="mean width"),
    )


def _simulate_coverage(
    sizes: tuple[int, ...],
    shares: tuple[float, ...],
    methods: tuple[str | None, ...],
    measure: str,
    prevalence: float,
    level: float,
    **running: Any,
) -> list[tuple[Figure, Figure]]:
    pairs = []
    # The name of a default method comes with its first interval.
    names: dict[str | None, str] = {name: name for name in methods if name is not None}
    for p, method, size in itertools.product(shares, methods, sizes):
        if method not in names:
            names[method] = f"{find(measure).title}, default"
        truth = find_true_value(measure, p, prevalence)
        draw = partial(_draw_intervals, n=size, p=p, prevalence=prevalence, measure=measure, method=method, level=level)
        limits = simulate(draw, running["draws"], **{key: running[key] for key in ("seed", "jobs", "progress")})
        defined = np.isfinite(limits).all(axis=1)
        holds = (limits[defined, 0] <= truth + 1e-12) & (limits[defined, 1] >= truth - 1e-12)
        series = f"{names[method]}, p = {p:g}" if len(shares) > 1 else names[method]
        covered = make_share(series, holds, at=float(size), n=size, measure="coverage")
        width = make_mean(series, limits[:, 1] - limits[:, 0], at=float(size), n=size, measure="mean width")
        pairs.append((covered, width))
    return pairs


def _draw_intervals(
    rng: np.random.Generator,
    count: int,
    *,
    n: int,
    p: float,
    prevalence: float,
    measure: str,
    method: Any,
    level: float,
) -> Floats:
    limits = np.empty((count, 2))
    for at in range(count):
        truth, score = draw_scores(rng, n, find_separation(p), prevalence)
        judged = evaluate(
            truth, score=score, threshold=0.0, positive=1, labels=[0, 1], measures=[measure], method=method, level=level
        )
        limits[at] = judged[measure].low, judged[measure].high
    return limits


def find_separation(p: float) -> float:
    """How far apart normal scores are of which the share p of each class lies on the wrong side of the middle.

    >>> round(find_separation(0.1587), 3)
    2.0
    """
    return 2 * NormalDist().inv_cdf(1 - min(max(p, 1e-9), 0.5))


def draw_scores(rng: np.random.Generator, n: int, separation: float, prevalence: float) -> tuple[Any, Floats]:
    """Cases of two classes, both of which occur, and normal scores around ± half the separation."""
    while True:
        truth = (rng.random(n) < prevalence).astype(np.int64)
        if 0 < truth.sum() < n:
            return truth, rng.normal(size=n) + separation * (truth - 0.5)


def find_true_value(measure: str, p: float, prevalence: float, threshold: float = 0.0) -> float:
    """What a measure comes to in all cases together, for normal scores and a threshold.

    >>> round(find_true_value("f1", 0.1, 0.5), 3), round(find_true_value("roc_auc", 0.1587, 0.2), 3)
    (0.9, 0.921)
    """
    separation = find_separation(p)
    below = NormalDist().cdf
    if find(measure).name == "roc_auc":
        return below(separation / math.sqrt(2))
    return measure_population(
        measure, prevalence, below(separation / 2 - threshold), below(-separation / 2 - threshold)
    )


def measure_population(measure: str, prevalence: float, recall: float, alarms: float) -> float:
    """A measure of counts in all cases together, of which a classifier finds a share and raises so many false alarms.

    >>> round(measure_population("precision", 0.5, 0.9, 0.1), 3)
    0.9
    """
    bound, others = find(measure), 1 - prevalence
    shares = (prevalence * recall, prevalence * (1 - recall), others * alarms, others * (1 - alarms))
    try:
        return float(bound.of_classes(np.array(shares)))
    except KeyError:
        raise OptionError(
            f"The true value of {bound.name} is not known here.", hint="use a measure of counts, such as f1 or kappa."
        ) from None


@experiment(
    title="Type-I error of tests over folds",
    question="How often is one of two equally good learners called better?",
    claim="The difference of two learners is the mean difference over k folds; where it is below zero, A is better.",
    source="Statistical Evaluation",
    see="Student's t over folds takes the folds for independent, which they are not: it rejects more often than it "
    "says, and over 10 × 10 folds more than half of the time. The corrected t is much nearer to "
    "5 %, and heldout's default, its variance taken for one pass over the cases (one-pass-t), keeps to it.",
    measured="rejected",
    series="test",
)
def type_one_error(
    n: int = 100,
    learner: Any = "knn:1",
    plans: Sequence[str] = ("10-fold", "10x10-fold"),
    methods: Sequence[str] | None = ("paired-t", "corrected-t"),
    *,
    separation: float = 2.0,
    level: float = 0.95,
    draws: int = 300,
    seed: int = 0,
    jobs: Jobs = None,
    progress: Progress = None,
) -> Observed:
    """How often tests over folds reject, for one learner on two halves of the features that tell equally much.

    Examples
    --------
    >>> shown = type_one_error(n=60, plans=["10x10-fold"], draws=16)
    >>> shown["paired-t, 10x10-fold"].value > 0.2
    True

    """
    texts = tuple(read_plan(plan).text for plan in plans)
    named = tuple(methods or ("corrected-t",))
    draw = partial(_draw_fold_tests, n=n, learner=learner, plans=texts, methods=named, separation=separation)
    values = simulate(draw, draws, seed=seed, jobs=jobs, progress=progress)
    figures = tuple(
        make_share(f"{method}, {plan}", values[:, i, j] <= 1 - level, n=n)
        for i, plan in enumerate(texts)
        for j, method in enumerate(named)
    )
    over = texts[-1]
    rates = " and ".join(
        f"{number(one.value)} by {method}" for method, one in zip(named, figures[-len(named) :], strict=True)
    )
    sentence = f"Of true nulls {number(1 - level)} should be rejected; over {over} they are, {rates}."
    return Observed(figures, sentence, (("asked for", 1 - level),))


def _draw_fold_tests(
    rng: np.random.Generator,
    count: int,
    *,
    n: int,
    learner: Any,
    plans: tuple[str, ...],
    methods: tuple[str, ...],
    separation: float,
) -> Floats:
    values = np.empty((count, len(plans), len(methods)))
    # Two features for each: what separates the classes is spread evenly over the four.
    world = Gaussians(separation, 4)
    for at in range(count):
        features, truth = world.draw(n, rng)
        while min(truth.sum(), n - truth.sum()) < 10:
            features, truth = world.draw(n, rng)
        division = int(rng.integers(2**31))
        for i, plan in enumerate(plans):
            halves = [
                validate(learner, half, truth, plan=plan, seed=division, measures=["accuracy"], progress=False)
                for half in (features[:, :2], features[:, 2:])
            ]
            for j, method in enumerate(methods):
                (row,) = compare(*halves, measures="accuracy", method=method).rows()
                values[at, i, j] = float(str(row["p"]))
    return values


@experiment(
    title="Power of a comparison",
    question="How many cases does it take to see that one classifier is better than another?",
    claim="The difference of two errors is estimated without bias only if the samples are independent of each other.",
    source="Statistical Evaluation",
    see="Both designs are unbiased, and the same cases for both are the better one: with as many cases, the paired "
    "test sees a true difference more often. Theory is what heldout plan promises.",
    measured="power",
    series="design",
    at="n",
)
def power(
    value: float = 0.85,
    against: float = 0.8,
    discordance: float = 0.15,
    n: int | Sequence[int] = (100, 200, 400, 800),
    *,
    level: float = 0.95,
    draws: int = 2000,
    seed: int = 0,
    jobs: Jobs = None,
    progress: Progress = None,
) -> Observed:
    """How often the default tests see a difference of two accuracies, on the same cases and on different ones.

    Examples
    --------
    >>> shown = power(n=400, draws=200)
    >>> shown["same cases"].value > shown["different cases"].value
    True

    """
    sizes = tuple(n)  # type: ignore[arg-type]
    if discordance < abs(value - against):
        raise OptionError(
            f"A difference of {abs(value - against):g} needs at least as many cases that only one gets right. Got a "
            f"discordance of {discordance:g}.",
            hint=f"give {abs(value - against):g} or more.",
        )
    draw = partial(_draw_p_values, sizes=sizes, value=value, against=against, discordance=discordance)
    values = simulate(draw, draws, seed=seed, jobs=jobs, progress=progress)
    figures = []
    for i, design in enumerate(("same cases", "different cases")):
        for j, size in enumerate(sizes):
            told: dict[str, Any] = {"discordance": discordance} if i == 0 else {"paired": False}
            planned = plan_study("accuracy", value=value, against=against, n=size, level=level, **told)
            rejected = values[:, i, j] <= 1 - level
            figures.append(make_share(design, rejected, at=float(size), expected=planned.reached, n=size))
    same, other = (pick_series(figures, design)[-1] for design in ("same cases", "different cases"))
    sentence = (
        f"With {sizes[-1]:,} cases a true difference of {number(abs(value - against))} is seen in {number(same.value)} "
        f"of all samples where both are judged on the same cases, and in {number(other.value)} on different ones."
    )
    return Observed(tuple(figures), sentence)


def _draw_p_values(
    rng: np.random.Generator, count: int, *, sizes: tuple[int, ...], value: float, against: float, discordance: float
) -> Floats:
    only_a, only_b = (discordance + value - against) / 2, (discordance - value + against) / 2
    values = np.empty((count, 2, len(sizes)))
    for j, n in enumerate(sizes):
        cells = rng.multinomial(n, [only_a, only_b, 1 - discordance], size=count)
        hits = rng.binomial(n, [value, against], size=(count, 2))
        for at in range(count):
            values[at, 0, j] = mcnemar(int(cells[at, 0]), int(cells[at, 1]), n).p
            values[at, 1, j] = two_shares(float(hits[at, 0]), n, float(hits[at, 1]), n).p
    return values
