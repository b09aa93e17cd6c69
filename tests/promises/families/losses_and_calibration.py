"""Losses and calibration of probabilities, for one class or for each of 3 to 20, and areas of several classes.

Probabilities are beta-distributed, the true ones equal or a straight line away on the logit scale; the true value is
the measure of 100,000 quantiles, each counted as positive with its true probability. With several classes every case
has normal evidence for its class; the true value is that of 400,000 cases. All go to `heldout.evaluate(score=)`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray
from tests.promises.cell import Cell, Tally, Truth, name_quantity
from tests.promises.score_worlds import ClassProbabilities, Forecasts, share_classes

import heldout
from heldout.engines.probability_sums import tally as sum_probabilities
from heldout.engines.score_sort import rank
from heldout.measures.catalogue import CATALOGUE, find
from heldout.results.evaluation import Evaluation

OF_PROBABILITIES = tuple(m for m in CATALOGUE.values() if m.scope == "probability")
# Among the two most probable of two classes are all.
BINARY = (
    *(m for m in OF_PROBABILITIES if "k" not in m.parameters),
    *(m for m in CATALOGUE.values() if m.scope == "ranking" and m.kind == "calibration"),
)
AVERAGED = ("macro roc_auc", "weighted roc_auc", *(m.name for m in CATALOGUE.values() if m.scope == "pairs"))
# The truth on so many cases has an error of at most a tenth of that of any interval here.
FRESH = 400_000


@dataclass(frozen=True, kw_only=True)
class Binary(Cell):
    """Cases with the probability of one class."""

    family: ClassVar[str] = "losses_and_calibration"

    world: Forecasts
    n: int

    def __str__(self) -> str:
        return f"{self.world}, n = {self.n}"

    def find_truth(self) -> Truth:
        whole = self.world.population()
        weight = whole.weight * self.n
        evidence = {
            "probabilities": sum_probabilities(whole.scores, whole.positive, weight + 1e-300),
            "ranking": rank(whole.scores, whole.positive, weight=weight + 1e-300),
        }
        names = [m.name if m.scope == "probability" else f"{m.name}[positive]" for m in BINARY]
        values = [float(find(m.name).value({m.cells[0]: evidence[m.cells[0]]})) for m in BINARY]
        return dict(zip(names, values, strict=True))

    def draw(self, rng: np.random.Generator, truth: Truth, tally: Tally) -> None:
        scores, positive = self.world.draw(self.n, rng)
        evaluation = heldout.evaluate(
            positive.astype(np.int64), score=scores, positive=1, labels=[0, 1], measures=[m.name for m in BINARY]
        )  # fmt: skip
        tally.add_evaluation(evaluation, self.levels, truth, {1: "positive"})


@dataclass(frozen=True, kw_only=True)
class Several(Cell):
    """Cases with a probability of each class."""

    family: ClassVar[str] = "losses_and_calibration"

    world: ClassProbabilities
    n: int

    def __str__(self) -> str:
        return f"{self.world}, n = {self.n}"

    @property
    def names(self) -> dict[int, str]:
        """The two classes that are tallied."""
        order = np.argsort(share_classes(self.world.k, self.world.shares), kind="stable")
        return {int(order[-1]): "commonest", int(order[0]): "rarest"}

    def evaluate(self, codes: NDArray[np.int64], scores: NDArray[np.float64]) -> Evaluation:
        """The default path."""
        areas = [f"{name}[{code}]" for name in ("roc_auc", "average_precision") for code in self.names]
        measures = [*AVERAGED, *(m.name for m in OF_PROBABILITIES), *areas]
        return heldout.evaluate(codes, score=scores, labels=list(range(self.world.k)), measures=measures)

    def find_truth(self) -> Truth:
        codes, scores = self.world.draw(FRESH, np.random.default_rng(271828))
        whole, names = self.evaluate(codes, scores), self.names
        return {name_quantity(e, names): e.value for e in whole.estimates}

    def draw(self, rng: np.random.Generator, truth: Truth, tally: Tally) -> None:
        codes, scores = self.world.draw(self.n, rng)
        tally.add_evaluation(self.evaluate(codes, scores), self.levels, truth, self.names)


# The limits of calibration errors are made of draws themselves, which takes long.
DRAWS = 1000
CALIBRATED = Forecasts(1.2, 1.8, text="calibrated")
SHARP = Forecasts(0.15, 0.15, text="calibrated, very sharp")
RARE = Forecasts(0.4, 6.0, text="calibrated, rare positives")
RAREST = Forecasts(0.3, 30.0, text="calibrated, .01 positive")
NEAR_HALF = Forecasts(30.0, 35.0, text="calibrated, near .5")
OVERCONFIDENT = Forecasts(0.6, 0.6, 0.0, 0.55, text="overconfident")
TIMID = Forecasts(3.0, 4.0, 0.0, 1.8, text="underconfident")
TOO_HIGH = Forecasts(2.0, 1.5, -0.8, 1.0, text="too high")
BINARY_SIZES = (
    (CALIBRATED, (30, 120, 1000, 100_000)), (SHARP, (60, 300, 2000)), (RARE, (80, 400)), (RAREST, (1000, 10_000)),
    (NEAR_HALF, (70, 500)), (OVERCONFIDENT, (50, 250, 2000)), (TIMID, (100, 800)), (TOO_HIGH, (40, 200, 2000)),
)  # fmt: skip
SEVERAL_SIZES = (
    (ClassProbabilities(3, "even", 1.3), (45, 300)), (ClassProbabilities(3, "rare", 2.5), (100, 600)),
    (ClassProbabilities(5, "zipf", 1.8, 1.5), (150, 1000)), (ClassProbabilities(10, "even", 2.2), (300,)),
    (ClassProbabilities(20, "zipf", 2.0), (500, 3000)),
)  # fmt: skip
CELLS: tuple[Cell, ...] = (
    *(Binary(world=world, n=n, draws=DRAWS) for world, sizes in BINARY_SIZES for n in sizes),
    *(Several(world=several, n=n, draws=DRAWS) for several, sizes in SEVERAL_SIZES for n in sizes),
)
