"""How far a measured error is from the true one: on small test sets, and on the training set itself."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from heldout.arguments import check_level, check_whole
from heldout.arrays import Floats
from heldout.errors import OptionError
from heldout.lab.experiment import (
    FRESH,
    check_world,
    error_on,
    fitted,
    mean_limits,
    ready,
    resampled_limits,
    training_set,
)
from heldout.lab.worlds import Gaussians, TrueError, World
from heldout.result import ROW_KEYS, Result
from heldout.show.blocks import Block, Column, Number, Prose, Range, Table, Title
from heldout.show.numbers import limits, number

# Spread: the smaller the test set, the more the error measured on it varies around the true error.

METHOD = "bootstrap over test sets"


@dataclass(frozen=True, eq=False)
class SamplingSpread(Result):
    """The errors of one model on many test sets of each size."""

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
        return resampled_limits(lambda drawn: drawn.std(axis=-1, ddof=1), self.errors[at], self.level, self.seed)

    def expected(self, at: int) -> float:
        """What the binomial distribution says: sqrt(p(1 − p)/n)."""
        p = self.true_error.value
        return math.sqrt(p * (1 - p) / self.sizes[at])

    def rows(self) -> list[dict[str, object]]:
        """One row per size."""
        made = []
        for at, size in enumerate(self.sizes):
            values = (*self.measured(at), self.level, METHOD, size)
            head = dict(zip(ROW_KEYS, ("standard_deviation", None, None, *values), strict=True))
            tail = {"expected": self.expected(at), "mean_error": float(self.errors[at].mean())}
            made.append({**head, **tail, "repeats": self.errors.shape[1]})
        return made

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
        said = (
            f"One model, many test sets: with {self.sizes[0]:,} test cases the measured error varies by {first}, with "
            f"{self.sizes[-1]:,} by {last}. Four times the cases halve the spread."
        )
        detail = (
            f"{self.learner} trained on {self.trained_on:,} cases; {self.errors.shape[1]} test sets of each size; "
            f"{self.world}; seed {self.seed}"
        )
        return [
            Title("Spread of the error over test sets", detail),
            Prose(said, "Verdict"),
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

    >>> found = spread(sizes=[25, 100], repeats=50)
    >>> round(found.expected(0) / found.expected(1), 12)
    2.0
    """
    place = check_world(world if world is not None else Gaussians())
    check_whole("n", n, 2)
    check_whole("repeats", repeats, 2)
    check_whole("seed", seed, 0)
    check_level(level)
    wanted = tuple(sorted({check_whole("every size", size, 1) for size in sizes}))
    if not wanted:
        raise OptionError("There are no sizes of test sets.", hint="for example sizes=[10, 100, 1000].")
    name, estimator = ready(learner, place, seed)
    rng = np.random.default_rng(seed)
    model = fitted(estimator, training_set(place, n, rng))
    errors = np.empty((len(wanted), repeats))
    for at, size in enumerate(wanted):
        features, truth = place.draw(size * repeats, rng)
        wrong = np.asarray(model.predict(features)) != truth
        errors[at] = wrong.reshape(repeats, size).mean(axis=1)
    return SamplingSpread(place.text, name, n, place.true_error(model, seed=seed), wanted, errors, level, seed)


# Optimism: the error on the training set against the true error, over many training sets.

SAMPLES = ("training set", "test set")
OPTIMISM_METHOD = "monte-carlo"


@dataclass(frozen=True, eq=False)
class TrainingOptimism(Result):
    """Training, test and true error of each repetition, and the bias of the first two."""

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
        return mean_limits(errors - self.true, self.level)

    def rows(self) -> list[dict[str, object]]:
        """The mean errors and the biases."""
        return [
            {
                **dict(zip(ROW_KEYS, (measure, None, None, *values, self.level, OPTIMISM_METHOD, self.n), strict=True)),
                "sample": sample, "learner": self.learner, "repeats": len(self.true),
            }
            for measure, sample, values in self._figures()
        ]  # fmt: skip

    def _figures(self) -> list[tuple[str, str, tuple[float, float, float]]]:
        held = {"training set": self.training, "test set": self.test, "true": self.true}
        figures = [("error_rate", sample, mean_limits(errors, self.level)) for sample, errors in held.items()]
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
        said = (
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
            Prose(said, "Verdict"),
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

    >>> from heldout.lab.worlds import Noise
    >>> found = optimism(Noise(), "knn:1", n=20, repeats=30)
    >>> found.bias("training set")[0]
    -0.5
    """
    place = check_world(world if world is not None else Gaussians())
    check_whole("n", n, 2)
    check_whole("repeats", repeats, 2)
    check_whole("seed", seed, 0)
    check_level(level)
    name, estimator = ready(learner, place, seed)
    rng = np.random.default_rng(seed)
    errors = np.empty((3, repeats))
    exact = True
    for at in range(repeats):
        problem = training_set(place, n, rng)
        model = fitted(estimator, problem)
        true = place.true_error(model, n=FRESH, seed=at)
        exact = exact and true.exact
        errors[:, at] = (
            error_on(model, problem.features, problem.truth),
            error_on(model, *place.draw(n, rng)),
            true.value,
        )
    return TrainingOptimism(place.text, name, n, level, seed, place.bayes_error, exact, *errors)
