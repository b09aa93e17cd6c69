"""The nested cross-validation interval of the error: its width is measured with models that leave out two folds.

Bates, Hastie & Tibshirani, "Cross-validation: what does it estimate and how well does it do it?", JASA 119 (2024),
1434-1445, Algorithm 1. With one fold set aside, cross-validation over the others estimates an error which the fold
then measures on cases that nobody touched; the squared differences, less what the fold's own size explains, are the
mean squared error of cross-validation.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from heldout.arguments import check_level, check_whole, method_key
from heldout.arrays import Codes, Floats
from heldout.errors import LearnerError, OptionError
from heldout.intervals.estimate import Estimate
from heldout.intervals.fold_estimates import FoldEstimate, FoldEstimator
from heldout.intervals.quantiles import z_value
from heldout.learners.problem import Problem
from heldout.measures.catalogue import read_quantity
from heldout.measures.quantity import Quantity
from heldout.plans import Plan
from heldout.plans.folds import KFold, kfold
from heldout.plans.plan import Cases, Splits
from heldout.resampling.outcome import Run
from heldout.resampling.run import OnError, run
from heldout.resampling.workers import Jobs, Progress, Ticker

METHOD = "nested-cv"
REPEATS = 25
NO_VARIANCE = "every model was right about every case, or wrong about every case, so the errors have no variance"


@dataclass(frozen=True, slots=True)
class NestedCV:
    """What nested cross-validation found: the error, corrected for `bias`, its limits, and its mean squared error.

    `repeats` is the number of repetitions that count, those in which every fit gave predictions, and `fits` the number
    of models in them. `undefined` says why there are no limits, where there are none. `complete` is whether
    nobody interrupted it.
    """

    error: float
    low: float
    high: float
    mse: float
    bias: float
    fits: int
    k: int
    repeats: int
    level: float = 0.95
    method: str = METHOD
    undefined: str = ""
    complete: bool = True


@dataclass
class RepetitionErrors:
    """The errors of the repetitions so far; each list has one entry per set-aside fold."""

    between: list[Floats] = field(default_factory=list)
    within: list[Floats] = field(default_factory=list)
    inner: list[float] = field(default_factory=list)
    outer: list[float] = field(default_factory=list)

    def add(self, fold: Codes, alone: Floats, paired: Floats) -> None:
        """One repetition: errors in each fold without it, and in fold b without folds a and b, at row a."""
        sizes = np.bincount(fold).astype(np.float64)
        n = float(sizes.sum())
        out = alone / sizes
        self.between.append(np.square(paired.sum(axis=1) / (n - sizes) - out))
        # The variance of zeros and ones within a fold, divided by its size.
        self.within.append(out * (1 - out) / (sizes - 1))
        self.inner.append(float(paired.sum()) / (n * (len(sizes) - 1)))
        self.outer.append(float(alone.sum()) / n)


def nested_cv(
    estimator: Any,
    problem: Problem,
    *,
    k: int = 10,
    repeats: int = REPEATS,
    stratified: bool = True,
    level: float = 0.95,
    seed: int = 0,
    jobs: Jobs = None,
    on_error: OnError = "raise",
    shortcuts: bool = True,
    progress: Progress = None,
) -> NestedCV:
    """The error of a learner and its interval by nested cross-validation, k (k + 1) / 2 fits a repetition.

    >>> from sklearn.naive_bayes import GaussianNB
    >>> rng = np.random.default_rng(1)
    >>> y = np.repeat([0, 1], 30)
    >>> found = nested_cv(GaussianNB(), Problem(rng.normal(y[:, None], 1, (60, 2)), y, y, (0, 1)), k=5, repeats=4)
    >>> found.fits, found.low < found.error < found.high
    (60, True)
    """
    check_level(level)
    check_whole("repeats", repeats, 1)
    check_folds(problem, k)
    cases = Cases(problem.truth, problem.labels)
    plan = kfold(k, repeats=repeats, stratified=stratified, seed=seed)
    folds = plan.splits(cases)
    sums, complete = RepetitionErrors(), True
    with Ticker(repeats * k * (k + 1) // 2, progress) as ticker:
        for number in range(repeats):
            fold = np.empty(problem.n, dtype=np.int64)
            for position in range(k):
                fold[folds.test(number * k + position)] = position
            try:
                done = run(
                    estimator, problem, _make_splits(fold), jobs=jobs, on_error=on_error, shortcuts=shortcuts,
                    training=False, seed=seed, plan_text=f"repetition {number + 1} of nested {plan.text}",
                    progress=_forward_ticks(ticker),
                )  # fmt: skip
            except KeyboardInterrupt:
                complete = False
                break
            if done.complete and not done.failures:
                sums.add(fold, *_count_errors(done, problem.truth, fold))
            elif not done.complete:
                complete = False
                break
    if not sums.inner:
        if not complete:
            raise KeyboardInterrupt
        raise LearnerError(
            f"{type(estimator).__name__} failed in every repetition of nested {plan.text}.",
            hint="without on_error='record' (--on-error record) you see the first failure.",
        )
    return make_interval(sums, problem.n, k, level, complete=complete)


def _forward_ticks(ticker: Ticker) -> Callable[[int, int], None]:
    """Counts the fits of one repetition among those of all."""
    before = ticker.done

    def tick(so_far: int, _total: int) -> None:
        ticker.tick(before + so_far - ticker.done)

    return tick


def check_folds(problem: Problem, k: int) -> None:
    """Refuse folds that cannot be left out two at a time, or whose errors have no variance, and grouped rows."""
    if check_whole("k", k, 2) < 3:
        raise OptionError(
            f"Nested cross-validation leaves out two folds at a time, and there are {k}.", hint="use 3 folds or more."
        )
    if problem.n < 2 * k:
        raise OptionError(
            f"Nested cross-validation needs two cases in every fold, and {problem.n} cases make {k} folds.",
            hint=f"use at most {problem.n // 2} folds, or leave out the method.",
        )
    if problem.group is not None:
        raise OptionError(
            "Nested cross-validation takes the cases as independent, and these come in groups.",
            hint="leave out the method: the default intervals count groups.",
        )


def pair_folds(k: int) -> Iterator[list[tuple[int, ...]]]:
    """Every fold alone and every pair of folds once, in rounds in which each fold takes part once.

    As in a tournament: the last fold stays and the others turn; among an odd number one has a bye. Each round is thus a
    partition of the rows, which is what lets a learner with a fast path take it.

    >>> list(pair_folds(3))
    [[(0,), (1, 2)], [(1,), (0, 2)], [(2,), (0, 1)]]
    >>> list(pair_folds(4))
    [[(0, 3), (1, 2)], [(1, 3), (0, 2)], [(2, 3), (0, 1)], [(0,), (1,), (2,), (3,)]]
    """
    turning = k if k % 2 else k - 1
    for first in range(turning):
        pairs = [sorted(((first + step) % turning, (first - step) % turning)) for step in range(1, (turning + 1) // 2)]
        yield [(first,) if k % 2 else (first, k - 1), *((low, high) for low, high in pairs)]
    if not k % 2:
        yield [(fold,) for fold in range(k)]


def _make_splits(fold: Codes) -> Splits:
    """A split for every fold and every pair of folds: it tests their rows, and trains on all others."""
    k = int(fold.max()) + 1
    entries = [
        (number, position, out) for number, group in enumerate(pair_folds(k)) for position, out in enumerate(group)
    ]
    tests = [np.flatnonzero(np.isin(fold, out)) for _, _, out in entries]
    return Splits.of(len(fold), tests, repeat=[e[0] for e in entries], fold=[e[1] for e in entries])


def _count_errors(done: Run, truth: Codes, fold: Codes) -> tuple[Floats, Floats]:
    """How many cases of each fold were wrong: without that fold, and without folds a and b, of b at [a, b]."""
    k = int(fold.max()) + 1
    wrong = (done.predicted != truth[done.rows]).astype(np.float64)
    counts = np.bincount(done.fold * k + fold[done.rows], weights=wrong, minlength=len(done.splits) * k).reshape(-1, k)
    alone, paired = np.zeros(k), np.zeros((k, k))
    for split, out in enumerate(out for group in pair_folds(k) for out in group):
        if len(out) == 1:
            alone[out[0]] = counts[split, out[0]]
        else:
            a, b = out
            paired[a, b], paired[b, a] = counts[split, b], counts[split, a]
    return alone, paired


def make_interval(sums: RepetitionErrors, n: int, k: int, level: float, *, complete: bool) -> NestedCV:
    """The error of models trained on all n cases, with limits from the errors of the folds within the k folds."""
    inner, outer = float(np.mean(sums.inner)), float(np.mean(sums.outer))
    # If the error falls like 1 / (training cases), the models of n − 2n/k cases are this many times as far from those
    # of n cases as from those of n − n/k.
    bias = (1 + (k - 2) / k) * (inner - outer)
    # (k − 1) / k, because the folds other than the one set aside are so much fewer cases.
    measured = (k - 1) / k * float(np.mean(sums.between) - np.mean(sums.within))
    errors = len(sums.inner) * n * (k - 1)
    naive = inner * (1 - inner) * errors / (errors - 1) / n
    # Folds that tell nothing of each other, or all the same, are the ends between which it must lie.
    mse = min(max(measured, naive), k * naive)
    error = min(max(inner - bias, 0.0), 1.0)
    half = z_value(level) * math.sqrt(mse) if mse > 0 else math.nan
    return NestedCV(
        error, max(error - half, 0.0) if mse > 0 else half, min(error + half, 1.0) if mse > 0 else half, mse, bias,
        len(sums.inner) * k * (k + 1) // 2, k, len(sums.inner), level,
        undefined="" if mse > 0 else NO_VARIANCE, complete=complete,
    )  # fmt: skip


NESTED_MEASURES = ("error_rate", "accuracy")


PASSED_ON = ("jobs", "on_error", "shortcuts", "progress")


def check_nested(measures: str | Iterable[str], plan: Plan, problem: Problem, *, tuned: bool) -> None:
    """Refuse the method before anything is fitted, where it does not go with the plan or the measures."""
    if not isinstance(plan, KFold) or tuned:
        what = "settings are tuned in every training part" if tuned else f"the plan is {plan.text!r}"
        raise OptionError(
            f"The method {METHOD!r} is for a plain k-fold plan, and {what}.",
            hint="use the plan '10-fold', without a grid, or leave out the method.",
        )
    if measures != "all":
        names = [measures] if isinstance(measures, str) else list(measures)
        if not any(read_quantity(name, problem.labels).bound.measure.name in NESTED_MEASURES for name in names):
            raise OptionError(
                f"The method {METHOD!r} is for error_rate and accuracy, and neither was asked for.",
                hint="ask for one of them, or leave out the method.",
            )
    check_folds(problem, plan.k)


def fit_nested(
    estimator: Any, problem: Problem, plan: Plan, level: float, options: Mapping[str, Any]
) -> NestedCV | None:
    """Nested cross-validation with the folds of the plan; None where it was interrupted too early."""
    if not isinstance(plan, KFold):
        return None
    try:
        return nested_cv(
            estimator,
            problem,
            k=plan.k,
            stratified=plan.stratified,
            level=level,
            seed=options["seed"] if plan.seed is None else plan.seed,
            **{name: options[name] for name in PASSED_ON},
        )
    except KeyboardInterrupt:
        return None


def nested_note(nested: NestedCV | None) -> str:
    """What a reader must know of it."""
    if nested is None:
        return f"{METHOD} was interrupted before its first repetition was finished, so the usual intervals stand"
    sentence = f"{METHOD} judged {nested.fits:,} more models, in {nested.repeats} repetitions"
    if nested.repeats < REPEATS:
        why = "it was interrupted" if not nested.complete else "a fit failed in the others"
        sentence = f"{sentence} of {REPEATS}: {why}"
    return f"{sentence}; {nested.undefined}: the usual intervals stand" if nested.undefined else sentence


@dataclass(frozen=True)
class NestedEstimator(FoldEstimator):
    """Gives the error and the accuracy that nested cross-validation found, at any level; all else as over folds."""

    found: NestedCV | None = None

    def ask(self, quantity: Quantity, method: str | None = None) -> Estimate:
        """One estimate; another method may be named for the error and the accuracy too."""
        asked = method is not None and method_key(method) == METHOD
        alone = quantity.class_ is None and quantity.average is None
        known = alone and quantity.bound.measure.name in NESTED_MEASURES
        if self.found is None or not known or not (asked or method is None):
            return super().ask(quantity, method)
        return replace_estimate(super().ask(quantity), self.found, self.level)


def replace_estimate(estimate: Estimate, nested: NestedCV, level: float) -> Estimate:
    """The estimate of the error or the accuracy by nested cross-validation, with the usual one beside it."""
    if not isinstance(estimate, FoldEstimate):
        return estimate
    low, high = limits_at(nested, level)
    ends = low, nested.error, high
    low, value, high = ends if estimate.measure == "error_rate" else (1 - end for end in reversed(ends))
    direction = "less" if nested.bias > 0 else "more"
    note = (
        f"mean over {nested.repeats} repetitions; {abs(nested.bias):.2g} {direction} error than without two folds, "
        "for training on all cases (Bates, Hastie & Tibshirani, 2024)"
    )
    return replace(
        estimate, value=value, low=low, high=high, method=METHOD, note=note, rule="mean", other=estimate.value
    )


def limits_at(nested: NestedCV, level: float) -> tuple[float, float]:
    """The limits of the error at a level, from its mean squared error."""
    half = z_value(level) * math.sqrt(nested.mse)
    return max(nested.error - half, 0.0), min(nested.error + half, 1.0)
