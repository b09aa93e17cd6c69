"""Measures of a ranking by one score: areas, gains, and recalls and precisions at a given other rate.

Scores are drawn from known distributions for each class, some of them rounded so that they tie, and given to
`heldout.evaluate(score=)`; the true value is the measure of 100,000 quantiles of either distribution. Precision among
k cases is compared with that among the k / n highest of the world. Measures whose interval is made by resampling are
asked for with 399 replicates in place of 2,000.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from tests.promises.cell import Cell, Tally, Truth
from tests.promises.score_worlds import ClassScores

import heldout
from heldout.engines.score_sort import rank
from heldout.measures.catalogue import CATALOGUE, find

RANKED = tuple(m for m in CATALOGUE.values() if m.scope == "ranking" and m.kind != "calibration")
REPORTED = tuple(m.name for m in RANKED if m.reported)
ASKED = tuple(m.name for m in RANKED if not m.reported)
REPLICATES = 399


@dataclass(frozen=True, kw_only=True)
class Scores(Cell):
    """Cases with a score, and some measures of their ranking."""

    family: ClassVar[str] = "rankings"

    world: ClassScores
    n: int
    measures: tuple[str, ...] = REPORTED

    def __str__(self) -> str:
        by_name = "" if self.measures == REPORTED else ", asked by name"
        return f"{self.world}, n = {self.n}{by_name}"

    def find_truth(self) -> Truth:
        whole = self.world.population()
        ranking = rank(whole.scores, whole.positive, weight=whole.weight * self.n)
        return {f"{name}[positive]": float(find(name).value({"ranking": ranking})) for name in self.measures}

    def draw(self, rng: np.random.Generator, truth: Truth, tally: Tally) -> None:
        scores, positive = self.world.draw(self.n, rng)
        evaluation = heldout.evaluate(
            positive.astype(np.int64), score=scores, positive=1, labels=[0, 1], threshold=0.0,
            measures=list(self.measures), replicates=REPLICATES,
        )  # fmt: skip
        tally.add_evaluation(evaluation, self.levels, truth, {1: "positive"})


def _binormal(distance: float, prevalence: float, spread: float = 1.0, step: float = 0.0) -> ClassScores:
    unequal = f", spread {spread:g}" if spread != 1 else ""
    rounded = f", rounded to {step:g}" if step else ""
    text = f"binormal d = {distance:g}{unequal}{rounded}"
    return ClassScores(prevalence, ("norm", (distance, spread)), step=step, text=text)


MIDDLING, CHANCE, SHARP = _binormal(1.2, 0.4), _binormal(0.0, 0.3), _binormal(3.2, 0.5)
UNEQUAL, TIED = _binormal(1.6, 0.25, spread=2.0), _binormal(1.4, 0.35, step=1.0)
RARE, RAREST, BEST = _binormal(1.8, 0.08), _binormal(2.0, 0.01), _binormal(4.5, 0.12)
BETA = ClassScores(0.3, ("beta", (3.0, 1.5)), ("beta", (1.5, 3.0)), text="beta scores")
SKEWED = ClassScores(0.2, ("gamma", (2.0, 0.0, 1.5)), ("gamma", (1.0, 0.0, 1.0)), text="skewed scores")


def _cells() -> list[Scores]:
    closed = (
        (MIDDLING, (10, 25, 100, 1000, 100_000)), (CHANCE, (20, 150, 1000)), (SHARP, (16, 60, 400)),
        (UNEQUAL, (40, 200, 2000)), (TIED, (30, 150, 1000)), (RARE, (60, 250, 2000)), (RAREST, (500, 5000, 100_000)),
        (BEST, (50, 300)), (BETA, (30, 300)), (SKEWED, (50, 500)),
    )  # fmt: skip
    resampled = (
        (MIDDLING, (80, 800)), (SHARP, (120,)), (UNEQUAL, (250,)), (TIED, (150,)), (RARE, (250, 1000)),
        (BETA, (400,)), (SKEWED, (120,)), (CHANCE, (200,)),
    )  # fmt: skip
    return [
        *(Scores(world=world, n=n) for world, sizes in closed for n in sizes),
        *(Scores(world=world, n=n, measures=ASKED, draws=500, chunk=25) for world, sizes in resampled for n in sizes),
    ]


CELLS = tuple(_cells())
