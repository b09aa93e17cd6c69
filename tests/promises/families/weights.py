"""Cases with weights: every measure that is reported, n 40 to 2,000.

Weights are lognormal or of two kinds, and do or do not go with how hard a case is; the truth is the weighted measure of
400,000 cases. Everything goes to `heldout.evaluate(score=, weight=)`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit
from tests.promises.cell import Cell, Tally, Truth, name_quantity

import heldout

Floats = NDArray[np.float64]
NAMES = {0: "negative", 1: "positive"}
FRESH = 400_000


@dataclass(frozen=True)
class WeightWorld:
    """Cases of two classes with a probability and a weight; `harder` heavy cases have classes nearer to each other."""

    kind: Literal["lognormal", "two kinds"]
    spread: float
    harder: bool = False
    distance: float = 1.6
    prevalence: float = 0.4

    def __str__(self) -> str:
        heavy = ", heavy ones harder" if self.harder else ""
        return f"{self.kind} weights {self.spread:g}{heavy}, d = {self.distance:g}, {self.prevalence:g} positive"

    def draw(self, n: int, rng: np.random.Generator) -> tuple[NDArray[np.int64], Floats, Floats]:
        """So many cases: classes, probabilities of the second class, and weights."""
        heavy = rng.normal(size=n) if self.kind == "lognormal" else 2.0 * (rng.random(n) < 0.15)
        truth = (rng.random(n) < self.prevalence).astype(np.int64)
        apart = self.distance * (1 - 0.4 * np.tanh(heavy) * self.harder)
        evidence = rng.normal(size=n) + apart * (truth - 0.5)
        odds = self.distance * evidence + np.log(self.prevalence / (1 - self.prevalence))
        return truth, np.asarray(expit(odds)), np.exp(self.spread * heavy)


@dataclass(frozen=True, kw_only=True)
class Weights(Cell):
    """So many weighted cases of a world."""

    family: ClassVar[str] = "weights"

    world: WeightWorld
    n: int

    def __str__(self) -> str:
        return f"{self.world}, n = {self.n}"

    def find_truth(self) -> Truth:
        truth, scores, weight = self.world.draw(FRESH, np.random.default_rng(161803))
        whole = heldout.evaluate(truth, score=scores, weight=weight, positive=1, labels=[0, 1])
        return {name_quantity(e, NAMES): e.value for e in whole.estimates}

    def draw(self, rng: np.random.Generator, truth: Truth, tally: Tally) -> None:
        classes, scores, weight = self.world.draw(self.n, rng)
        evaluation = heldout.evaluate(classes, score=scores, weight=weight, positive=1, labels=[0, 1])
        tally.add_evaluation(evaluation, self.levels, truth, NAMES)


WORLDS = (
    (WeightWorld("lognormal", 0.5), (40, 150, 1000)),
    (WeightWorld("lognormal", 1.0, distance=2.4, prevalence=0.3), (80, 400)),
    (WeightWorld("lognormal", 0.8, harder=True), (100, 500)),
    (WeightWorld("two kinds", 1.0, harder=True, prevalence=0.2), (100, 400)),
    (WeightWorld("two kinds", 0.7, distance=3.2), (150, 2000)),
)
CELLS = tuple(Weights(world=world, n=n, draws=600, chunk=30) for world, sizes in WORLDS for n in sizes)
