"""What every demonstration needs: a learner made ready, training sets with both classes, and Monte-Carlo limits."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from heldout.arrays import Floats
from heldout.errors import OptionError, ValuesError
from heldout.intervals.quantiles import t_value
from heldout.lab.worlds import World
from heldout.learners.encoding import prepared
from heldout.learners.learner import clone_learner, read_learner
from heldout.learners.problem import Problem

# A training set without both classes teaches nothing, and is drawn again so often before giving up.
TRIES = 100
REPLICATES = 1000
# Fresh cases behind each of many true errors that have no formula: their noise averages out.
FRESH = 10_000


def check_world(world: Any) -> World:
    """A world, and not its class.

    >>> from heldout.lab.worlds import Noise
    >>> check_world(Noise()).bayes_error
    0.5
    """
    if isinstance(world, World):
        return world
    shown = world.__name__ if isinstance(world, type) else repr(world)
    raise OptionError(
        f"The first argument must be a world. Got {shown}.",
        hint="such as lab.Gaussians(separation=2.0) or lab.Noise().",
    )


def ready(learner: Any, world: World, seed: int) -> tuple[str, Any]:
    """The name of a learner and its unfitted estimator, made for this world's features."""
    read = read_learner(learner, seed=seed)
    return read.name, prepared(read, training_set(world, 20, np.random.default_rng(seed)))


def training_set(world: World, n: int, rng: np.random.Generator) -> Problem:
    """Cases of which both classes have some."""
    for _ in range(TRIES):
        features, truth = world.draw(n, rng)
        if 0 < truth.sum() < n:
            return Problem(features, truth, truth, (0, 1))
    raise ValuesError(
        f"In {TRIES} samples of {n} cases one class never occurred.", hint="draw more cases, or use another prevalence."
    )


def fitted(estimator: Any, problem: Problem) -> Any:
    """A model trained on all of a problem's cases."""
    return clone_learner(estimator).fit(problem.features, problem.target)


def error_on(model: Any, features: Floats, truth: NDArray[np.int64]) -> float:
    """The share of cases that a model gets wrong."""
    return float(np.mean(np.asarray(model.predict(features)) != truth))


def mean_limits(values: Floats, level: float) -> tuple[float, float, float]:
    """The mean of independent repetitions with Student's limits.

    >>> mean_limits(np.array([1.0, 1.0]), 0.95)
    (1.0, 1.0, 1.0)
    """
    mean = float(values.mean())
    half = float(t_value(level, len(values) - 1)) * float(values.std(ddof=1)) / len(values) ** 0.5
    return mean, mean - half, mean + half


def resampled_limits(
    function: Callable[[Floats], Floats], values: Floats, level: float, seed: int
) -> tuple[float, float, float]:
    """A figure of independent repetitions, taken along the last axis, with bootstrap limits."""
    value = float(function(values))
    taken = np.random.default_rng(seed).integers(len(values), size=(REPLICATES, len(values)))
    low, high = np.quantile(function(values[taken]), [(1 - level) / 2, (1 + level) / 2])
    return value, min(float(low), value), max(float(high), value)
