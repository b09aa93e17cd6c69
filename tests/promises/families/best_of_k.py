"""The best of several models on one test set: limits for all pairs at once, Hsu's sets, and Holm's p-values.

Scores of every class are normal, with a part that all models share, and become probabilities by a logistic function;
accuracy and area are then known in closed form, and the Brier score by quadrature. Counted as tests of something true
are: that all limits of all pairs hold their differences, that the best model (the first of several) is among those that
may be, that Hsu's intervals hold, and that no pair of equal models is told apart. All at the level .95 alone.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy import stats
from tests.promises.cell import Cell, Tally, Truth

import heldout

PACKAGES = ("comparisons", "api/compare", "api/contestants")
MEASURES = ("accuracy", "roc_auc", "brier")
LEVEL = 0.95
SHARED, OWN, STEEP, POSITIVE = 0.9, 0.6, 1.8, 0.35
SPREAD = math.hypot(SHARED, OWN)


@dataclass(frozen=True, kw_only=True)
class Models(Cell):
    """Models of which each tells the classes apart by so many standard deviations of its noise."""

    family: ClassVar[str] = "best_of_k"

    distances: tuple[float, ...]
    n: int
    text: str

    def __str__(self) -> str:
        return f"{len(self.distances)} models, {self.text}, n = {self.n}"

    def find_truth(self) -> Truth:
        at, weight = np.polynomial.hermite_e.hermegauss(80)
        weight = weight / weight.sum()
        truth = {}
        for place, distance in enumerate(self.distances):
            gap = distance / 2
            truth[f"accuracy {place}"] = float(stats.norm.cdf(gap / SPREAD))
            truth[f"roc_auc {place}"] = float(stats.norm.cdf(distance / (SPREAD * math.sqrt(2))))
            likely = [1 / (1 + np.exp(-STEEP * (sign * gap + SPREAD * at))) for sign in (1, -1)]
            losses = float(weight @ (likely[0] - 1) ** 2), float(weight @ likely[1] ** 2)
            truth[f"brier {place}"] = POSITIVE * losses[0] + (1 - POSITIVE) * losses[1]
        return truth

    def draw(self, rng: np.random.Generator, truth: Truth, tally: Tally) -> None:
        positive = rng.random(self.n) < POSITIVE
        shared = SHARED * rng.normal(size=self.n)
        sides = {}
        for place, distance in enumerate(self.distances):
            score = distance / 2 * (2 * positive - 1) + shared + OWN * rng.normal(size=self.n)
            sides[str(place)] = heldout.evaluate(
                positive.astype(np.int64), score=1 / (1 + np.exp(-STEEP * score)), positive=1, labels=[0, 1],
                threshold=0.5, measures=[],
            )  # fmt: skip
        found = heldout.compare(sides, measures=list(MEASURES), level=LEVEL, seed=int(rng.integers(1 << 30)))
        assert isinstance(found, heldout.PairwiseComparison)
        tally.review(found)
        for measure in MEASURES:
            sign = -1.0 if measure == "brier" else 1.0
            good = [sign * truth[f"{measure} {place}"] for place in range(len(self.distances))]
            self._tally(found, measure, good, sign, tally)

    def _tally(
        self, found: heldout.PairwiseComparison, measure: str, good: list[float], sign: float, tally: Tally
    ) -> None:
        assert found.best is not None
        by = found.best[measure]
        held = [
            low <= sign * (good[int(a)] - good[int(b)]) <= high for (a, b), (low, high) in by.pairs.items()
        ]  # fmt: skip
        tally.add_test(f"{measure}: limits of all pairs", LEVEL, float(all(held)))
        best = str(int(np.argmax(good)))
        tally.add_test(f"{measure}: the best may be the best", LEVEL, float(best in by.may_be_best))
        ahead = [own - max(good[:place] + good[place + 1 :]) for place, own in enumerate(good)]
        inside = [one.low - 1e-12 <= gap <= one.high + 1e-12 for one, gap in zip(by.contenders, ahead, strict=True)]
        tally.add_test(f"{measure}: intervals of the best", LEVEL, float(all(inside)))
        alike = [p.p for p in found.pairs if p.measure == measure and good[int(p.a)] == good[int(p.b)]]
        if alike:
            tally.add_test(f"{measure}: Holm, equal models", LEVEL, min(alike))


CELLS = (
    Models(distances=(1.7,) * 3, n=100, text="equal", draws=600, chunk=50),
    Models(distances=(1.2, 1.7, 1.7), n=300, text="two best", draws=400, chunk=50),
    Models(distances=(1.5,) * 5, n=300, text="equal", draws=300, chunk=25),
    Models(distances=(1.0, 1.2, 1.4, 1.6, 1.8), n=1000, text="in steps", draws=200, chunk=25),
    Models(distances=(1.6,) * 10, n=200, text="equal", draws=120, chunk=10),
)
