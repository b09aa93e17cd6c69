"""Worlds of scores whose truth is known: how cases with a score are drawn, and the whole world as a fine weighted grid.

A world says how often positives occur and how scores are distributed, either given the class (binormal and other
scores) or the other way round, the chance of a positive given its probability (forecasts).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from scipy import stats
from scipy.special import expit, logit

Floats = NDArray[np.float64]
Truths = NDArray[np.bool_]
# Quantiles of each distribution in the grid; the error of a measure on it is a small part of 1 / GRID.
GRID = 100_000


@dataclass(frozen=True)
class Population:
    """The whole world: scores, whether each is positive, and weights that add up to 1."""

    scores: Floats
    positive: Truths
    weight: Floats


class ScoreWorld(ABC):
    """How cases with one score each are drawn."""

    @abstractmethod
    def draw(self, n: int, rng: np.random.Generator) -> tuple[Floats, Truths]:
        """So many independent cases: scores, and which are positive."""

    @abstractmethod
    def population(self) -> Population:
        """The whole world."""


@dataclass(frozen=True)
class ClassScores(ScoreWorld):
    """Scores by class, from a distribution of SciPy for each; `step` rounds them, 0 leaves them."""

    prevalence: float
    positives: tuple[str, tuple[float, ...]]
    negatives: tuple[str, tuple[float, ...]] = ("norm", (0.0, 1.0))
    step: float = 0.0
    text: str = ""

    def __str__(self) -> str:
        return f"{self.text}, {self.prevalence:.3g} positive"

    def _scores(self, uniform: Floats, which: tuple[str, tuple[float, ...]]) -> Floats:
        name, parameters = which
        scores = np.asarray(getattr(stats, name)(*parameters).ppf(uniform))
        return np.round(scores / self.step) * self.step if self.step else scores

    def draw(self, n: int, rng: np.random.Generator) -> tuple[Floats, Truths]:
        positive = rng.random(n) < self.prevalence
        uniform = rng.random(n)
        scores = np.empty(n)
        scores[positive] = self._scores(uniform[positive], self.positives)
        scores[~positive] = self._scores(uniform[~positive], self.negatives)
        return scores, positive

    def population(self) -> Population:
        grid = (np.arange(GRID) + 0.5) / GRID
        scores = np.concatenate([self._scores(grid, self.positives), self._scores(grid, self.negatives)])
        positive = np.arange(2 * GRID) < GRID
        return Population(scores, positive, np.where(positive, self.prevalence, 1 - self.prevalence) / GRID)


@dataclass(frozen=True)
class Forecasts(ScoreWorld):
    """Beta-distributed probabilities; the true ones are a straight line away on the logit scale."""

    a: float
    b: float
    intercept: float = 0.0
    slope: float = 1.0
    text: str = ""

    def __str__(self) -> str:
        return f"{self.text}, beta({self.a:g}, {self.b:g})"

    def _true(self, p: Floats) -> Floats:
        if self.intercept == 0 and self.slope == 1:
            return p
        return np.asarray(expit(self.intercept + self.slope * logit(p)))

    def draw(self, n: int, rng: np.random.Generator) -> tuple[Floats, Truths]:
        p = rng.beta(self.a, self.b, n).clip(1e-9, 1 - 1e-9)
        return p, rng.random(n) < self._true(p)

    def population(self) -> Population:
        p = np.asarray(stats.beta(self.a, self.b).ppf((np.arange(GRID) + 0.5) / GRID)).clip(1e-9, 1 - 1e-9)
        true = self._true(p)
        weight = np.concatenate([true, 1 - true]) / GRID
        return Population(np.concatenate([p, p]), np.arange(2 * GRID) < GRID, weight)


Draw = Literal["even", "zipf", "rare"]


def share_classes(k: int, how: Draw) -> tuple[float, ...]:
    """The shares of k classes: equal, falling like 1 / rank, or equal but for one that is a fifth of its share."""
    raw = np.ones(k) if how != "zipf" else 1 / np.arange(1, k + 1)
    if how == "rare":
        raw[-1] = 0.2
    return tuple((raw / raw.sum()).tolist())


@dataclass(frozen=True)
class ClassProbabilities:
    """k classes with a probability each: normal evidence for the true one, turned into probabilities.

    With `sharpness` 1 the probabilities are those of the evidence and so calibrated; more makes them overconfident.
    """

    k: int
    shares: Draw
    distance: float
    sharpness: float = 1.0

    def __str__(self) -> str:
        sharp = "" if self.sharpness == 1 else f", log odds × {self.sharpness:g}"
        return f"{self.k} classes {self.shares}, d = {self.distance:g}{sharp}"

    def draw(self, n: int, rng: np.random.Generator) -> tuple[NDArray[np.int64], Floats]:
        """So many cases: the true classes, and the probability of each class."""
        shares = np.array(share_classes(self.k, self.shares))
        codes = rng.choice(self.k, n, p=shares)
        evidence = rng.normal(size=(n, self.k))
        evidence[np.arange(n), codes] += self.distance
        # The log odds of class c: d · evidence of c, plus the log of its share.
        logs = self.sharpness * (self.distance * evidence + np.log(shares))
        odds = np.exp(logs - logs.max(axis=1, keepdims=True))
        return codes, odds / odds.sum(axis=1, keepdims=True)
