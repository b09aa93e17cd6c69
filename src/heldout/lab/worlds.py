"""Worlds: distributions that data are drawn from, so that the Bayes error and a model's true error are known."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from statistics import NormalDist
from typing import Any

import numpy as np

from heldout.arguments import check_share, check_whole, closest, listing
from heldout.arrays import Codes, Floats
from heldout.errors import OptionError

# The number of places at which a score that should be linear is checked.
PROBES = 16


@dataclass(frozen=True, slots=True, eq=False)
class LinearRule:
    """Class 1 where weights · x + offset > 0, class 0 elsewhere; zero weights are a constant answer.

    >>> LinearRule(np.array([3.0, 4.0]), -5.0).distance(np.array([3.0, 4.0]))
    4.0
    """

    weights: Floats
    offset: float

    def distance(self, point: Floats) -> float:
        """How far a point lies on the side of class 1; infinite under a constant answer."""
        length = float(np.linalg.norm(self.weights))
        score = float(self.weights @ point + self.offset)
        return score / length if length > 0 else np.inf if score > 0 else -np.inf


def find_linear_rule(model: Any, features: int) -> LinearRule | None:
    """The rule that a fitted model of two classes 0 and 1 follows, or None where it is not known to be linear.

    Models with coefficients (also at the end of a pipeline that scales), nearest centroid, and constant answers are
    recognised; the score itself is probed, so that whatever stands before the coefficients is accounted for.

    >>> from sklearn.linear_model import LogisticRegression
    >>> model = LogisticRegression().fit([[0.0], [1.0], [2.0], [3.0]], [0, 0, 1, 1])
    >>> rule = find_linear_rule(model, 1)
    >>> bool(np.allclose(rule.weights, model.coef_)), bool(np.isclose(rule.offset, model.intercept_[0]))
    (True, True)
    """
    last = model[-1] if hasattr(model, "steps") else model
    classes = getattr(last, "classes_", None)
    if classes is None or not set(np.asarray(classes).tolist()) <= {0, 1}:
        return None
    if len(classes) == 1:
        return _make_constant(float(classes[0]), features)
    if type(last).__name__ == "DummyClassifier":
        # The other strategies answer by chance, case by case.
        steady = last.strategy in {"most_frequent", "prior", "constant"}
        return _make_constant(float(model.predict(np.zeros((1, features)))[0]), features) if steady else None
    if type(last).__name__ == "NearestCentroid" and last is model:
        return _make_centroid_rule(last)
    has_score = hasattr(last, "coef_") and hasattr(model, "decision_function")
    return _probe_rule(model, features) if has_score else None


def _make_constant(answer: float, features: int) -> LinearRule:
    return LinearRule(np.zeros(features), 2 * answer - 1)


def _make_centroid_rule(model: Any) -> LinearRule | None:
    """The plane midway between the centroids; priors other than equal ones would move and turn it."""
    if model.metric != "euclidean" or not np.allclose(model.class_prior_, 0.5):
        return None
    zero, other = model.centroids_
    return LinearRule(other - zero, float(zero @ zero - other @ other) / 2)


def _probe_rule(model: Any, features: int) -> LinearRule | None:
    unit = np.eye(features)
    ahead, behind, middle = (
        np.asarray(model.decision_function(points), dtype=np.float64)
        for points in (unit, -unit, np.zeros((1, features)))
    )
    if ahead.ndim != 1:
        return None
    rule = LinearRule((ahead - behind) / 2, float(middle[0]))
    rng = np.random.default_rng(0)
    where = rng.normal(size=(PROBES, features)) * np.geomspace(0.1, 30, PROBES)[:, None]
    expected = where @ rule.weights + rule.offset
    scale = np.abs(where) @ np.abs(rule.weights) + abs(rule.offset) + 1e-300
    straight = np.abs(np.asarray(model.decision_function(where)) - expected) <= 1e-8 * scale
    return rule if bool(straight.all()) else None


# Rows of a fresh sample, where a true error has no formula: its standard error is then at most 0.0016.
FRESH = 100_000
_below = NormalDist().cdf


@dataclass(frozen=True, slots=True)
class TrueError:
    """The true error of a model: exact, or estimated on a large fresh sample with its standard error.

    >>> print(TrueError(0.1587), TrueError(0.2, 0.001, 160_000), sep="; ")
    .159 (exact); .200 ± .001 (standard error, 160,000 fresh cases)
    """

    value: float
    standard_error: float = 0.0
    n: int = 0

    @property
    def exact(self) -> bool:
        """Whether the value comes from a formula."""
        return self.n == 0

    def __float__(self) -> float:
        return self.value

    def __str__(self) -> str:
        from heldout.show.numbers import share

        if self.exact:
            return f"{share(self.value)} (exact)"
        return f"{share(self.value)} ± {share(self.standard_error)} (standard error, {self.n:,} fresh cases)"


class World(ABC):
    """A distribution of cases with two classes, 0 and 1; a concrete world is a frozen dataclass.

    >>> import heldout
    >>> world = heldout.lab.Gaussians()
    >>> round(world.bayes_error, 3)
    0.159
    """

    @property
    @abstractmethod
    def dimension(self) -> int:
        """How many features a case has."""

    @property
    @abstractmethod
    def bayes_error(self) -> float:
        """The error of the best rule there is: no model has less."""

    @property
    @abstractmethod
    def text(self) -> str:
        """The world in a few words."""

    @abstractmethod
    def draw(self, n: int, seed: int | np.random.Generator = 0) -> tuple[Floats, Codes]:
        """Draw n independent cases: their features and their classes."""

    @abstractmethod
    def linear_error(self, rule: LinearRule) -> float:
        """The true error of a linear rule, exactly."""

    def true_error(self, model: Any, *, n: int = FRESH, seed: int = 0) -> TrueError:
        """The true error of a fitted model: exact where it is linear, otherwise on n fresh cases."""
        rule = find_linear_rule(model, self.dimension)
        if rule is not None:
            return TrueError(self.linear_error(rule))
        check_whole("n", n, 2)
        # A stream of its own: the same seed elsewhere must not hand the model its training cases again.
        features, truth = self.draw(n, np.random.default_rng([seed, FRESH]))
        value = float(np.mean(np.asarray(model.predict(features)) != truth))
        return TrueError(value, math.sqrt(value * (1 - value) / (n - 1)), n)


@dataclass(frozen=True, slots=True)
class Gaussians(World):
    """Two spherical normal distributions whose means lie `separation` apart; `prevalence` is the share of class 1.

    >>> round(Gaussians(separation=2.0).bayes_error, 4)
    0.1587
    """

    separation: float = 2.0
    features: int = 2
    prevalence: float = 0.5

    def __post_init__(self) -> None:
        check_whole("features", self.features, 1)
        check_share("The prevalence", self.prevalence, "0.5 is the default.")
        if not self.separation >= 0 or math.isinf(self.separation):
            raise OptionError(
                f"The separation must be a number from 0 up. Got {self.separation!r}.", hint="2.0 is the default."
            )

    @property
    def dimension(self) -> int:
        """How many features a case has."""
        return self.features

    @property
    def text(self) -> str:
        """The world in a few words."""
        return (
            f"two normal clouds {self.separation:g} apart in {self.features} features, {self.prevalence:g} of class 1"
        )

    @property
    def means(self) -> tuple[Floats, Floats]:
        """The middle of each class; every feature tells equally much."""
        step = np.full(self.features, self.separation / 2 / math.sqrt(self.features))
        return -step, step

    @property
    def bayes_error(self) -> float:
        """The error where both classes are equally likely given the case."""
        if self.separation == 0:
            return min(self.prevalence, 1 - self.prevalence)
        odds = math.log(self.prevalence / (1 - self.prevalence))
        weights = self.separation * np.full(self.features, 1 / math.sqrt(self.features))
        return self.linear_error(LinearRule(weights, odds))

    def draw(self, n: int, seed: int | np.random.Generator = 0) -> tuple[Floats, Codes]:
        """Draw n independent cases."""
        check_whole("n", n, 1)
        rng = np.random.default_rng(seed)
        truth = (rng.random(n) < self.prevalence).astype(np.int64)
        return np.stack(self.means)[truth] + rng.normal(size=(n, self.features)), truth

    def linear_error(self, rule: LinearRule) -> float:
        """Each class lies normally around its middle on both sides of the plane."""
        zero, other = (rule.distance(mean) for mean in self.means)
        return (1 - self.prevalence) * _below(zero) + self.prevalence * _below(-other)


@dataclass(frozen=True, slots=True)
class Noise(World):
    """Features that say nothing about the class: no rule errs less than the share of the rarer class.

    >>> Noise(prevalence=0.3).bayes_error
    0.3
    """

    features: int = 5
    prevalence: float = 0.5

    def __post_init__(self) -> None:
        check_whole("features", self.features, 1)
        check_share("The prevalence", self.prevalence, "0.5 is the default.")

    @property
    def dimension(self) -> int:
        """How many features a case has."""
        return self.features

    @property
    def text(self) -> str:
        """The world in a few words."""
        return f"{self.features} features that say nothing, {self.prevalence:g} of class 1"

    @property
    def bayes_error(self) -> float:
        """The error of always naming the commoner class."""
        return min(self.prevalence, 1 - self.prevalence)

    def draw(self, n: int, seed: int | np.random.Generator = 0) -> tuple[Floats, Codes]:
        """Draw n independent cases."""
        check_whole("n", n, 1)
        rng = np.random.default_rng(seed)
        truth = (rng.random(n) < self.prevalence).astype(np.int64)
        return rng.normal(size=(n, self.features)), truth

    def linear_error(self, rule: LinearRule) -> float:
        """The error of naming class 1 as often as the rule does."""
        named = _below(rule.distance(np.zeros(self.features)))
        return self.prevalence * (1 - named) + (1 - self.prevalence) * named

    def true_error(self, model: Any, *, n: int = FRESH, seed: int = 0) -> TrueError:
        """Exactly a half for every model where the classes are equally common."""
        if self.prevalence == 0.5:
            return TrueError(0.5)
        return World.true_error(self, model, n=n, seed=seed)


@dataclass(frozen=True, slots=True)
class Checkers(World):
    """A checkerboard of `squares` by `squares` on the unit square; `noise` is the share of labels turned round.

    >>> Checkers(noise=0.1).bayes_error
    0.1
    """

    squares: int = 4
    noise: float = 0.0

    def __post_init__(self) -> None:
        check_whole("squares", self.squares, 2)
        if not 0 <= self.noise <= 0.5:
            raise OptionError(
                f"The noise must be a share from 0 to a half. Got {self.noise!r}.", hint="use 0.1 for one label in ten."
            )

    @property
    def dimension(self) -> int:
        """How many features a case has."""
        return 2

    @property
    def text(self) -> str:
        """The world in a few words."""
        return f"a checkerboard of {self.squares} × {self.squares} squares, {self.noise:g} of labels turned round"

    @property
    def bayes_error(self) -> float:
        """The share of labels turned round, which nobody can foresee."""
        return self.noise

    def draw(self, n: int, seed: int | np.random.Generator = 0) -> tuple[Floats, Codes]:
        """Draw n independent cases."""
        check_whole("n", n, 1)
        rng = np.random.default_rng(seed)
        features = rng.random((n, 2))
        colour = (features * self.squares).astype(np.int64).sum(axis=1) % 2
        return features, np.where(rng.random(n) < self.noise, 1 - colour, colour)

    def linear_error(self, rule: LinearRule) -> float:
        """The area of the squares that lie on the wrong side of the line."""
        missed = 0.0
        side = 1 / self.squares
        for i in range(self.squares):
            for j in range(self.squares):
                named = _compute_area(rule, i * side, j * side, side)
                missed += named if (i + j) % 2 == 0 else side * side - named
        return missed * (1 - self.noise) + (1 - missed) * self.noise


def _compute_area(rule: LinearRule, x: float, y: float, side: float) -> float:
    """The part of a square that lies where the rule is positive: its corners, cut along the line."""
    corners = np.array([[x, y], [x + side, y], [x + side, y + side], [x, y + side]])
    scores = corners @ rule.weights + rule.offset
    kept: list[Floats] = []
    for at in range(4):
        after = (at + 1) % 4
        if scores[at] > 0:
            kept.append(corners[at])
        if (scores[at] > 0) != (scores[after] > 0):
            along = scores[at] / (scores[at] - scores[after])
            kept.append(corners[at] + along * (corners[after] - corners[at]))
    if len(kept) < 3:
        return 0.0
    a, b = np.array(kept).T
    # Half the sum of cross products of neighbouring corners.
    return abs(float(a @ np.roll(b, -1) - b @ np.roll(a, -1))) / 2


# How worlds are called on the command line: a name, and behind a colon the number that matters most.
WORLDS: dict[str, tuple[type[Any], str, type]] = {
    "gaussians": (Gaussians, "separation", float),
    "noise": (Noise, "features", int),
    "checkers": (Checkers, "squares", int),
}


def read_world(text: str) -> World:
    """The world that a text names, such as "gaussians:1.5", "noise" or "checkers:4".

    >>> read_world("gaussians:1.5").separation, read_world("noise")
    (1.5, Noise(features=5, prevalence=0.5))
    """
    name, colon, number = text.strip().casefold().partition(":")
    if name not in WORLDS:
        near = closest(name, WORLDS)
        raise OptionError(
            f"There is no world {text!r}. There are: {listing(WORLDS)}.",
            hint=f"did you mean {near!r}?" if near else "gaussians:2 is a usual one.",
        )
    kind, setting, of = WORLDS[name]
    try:
        world: World = kind(**({setting: of(number)} if colon else {}))
    except ValueError as error:
        if isinstance(error, OptionError):
            raise
        raise OptionError(
            f"The {setting} of {name} must be a number. Got {number!r}.",
            hint=f"write {name}:{2 if of is float else 4}.",
        ) from None
    return world
