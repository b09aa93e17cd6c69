"""The default intervals of rankings hold the truth about as often as they say, on cells that no method was chosen on.

The Monte Carlo standard error is .009 with 600 test sets; the seed is fixed, so the outcome is the same every time.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from typing import Any, Literal

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.special import ndtri

from heldout.engines.score_sort import rank
from heldout.evidence import Ranking
from heldout.intervals.score_methods import ranking_limits
from heldout.measures.quantity import Bound
from heldout.measures.ranking import MEASURES

Floats = NDArray[np.float64]
Shape = Literal["binormal", "exponential", "beta", "five levels", "rounded"]
BOUNDS = {m.name: Bound(m, dict(m.parameters)) for m in MEASURES}
# Quantiles of each class that stand for the whole distribution.
GRID = 200_000


@dataclass(frozen=True, slots=True)
class World:
    """How scores are distributed; `area` is the area under the ROC curve before scores are cut or rounded."""

    shape: Shape
    area: float
    spread: float = 1.0

    def scores(self, share: Floats, *, positive: bool) -> Any:
        """The scores at these shares of the distribution of a class."""
        odds = self.area / (1 - self.area)
        if self.shape == "exponential":
            return -np.log1p(-share) * (odds if positive else 1.0)
        if self.shape == "beta":
            return share if positive else 1 - (1 - share) ** (1 / odds)
        distance = float(ndtri(self.area)) * np.sqrt(1 + self.spread**2)
        scores = ndtri(share) * (self.spread if positive else 1.0) + (distance if positive else 0.0)
        if self.shape == "five levels":
            return np.searchsorted(np.array([-0.6, 0.2, 0.9, 1.7]) * (1 + distance) / 2, scores) * 1.0
        return np.round(scores * 2) / 2 if self.shape == "rounded" else scores

    def __str__(self) -> str:
        return f"{self.shape} {self.area:g}" + (f", sd {self.spread:g}" if self.spread != 1 else "")


@dataclass(frozen=True, slots=True)
class Cell:
    """A world, the cases of a test set, and the share of positives, or the sizes of both classes."""

    world: World
    n: int
    prevalence: float
    stratified: bool = False

    def sample(self, rng: np.random.Generator) -> Ranking:
        """One test set."""
        if self.stratified:
            positive = np.arange(self.n) < round(self.n * self.prevalence)
        else:
            positive = rng.random(self.n) < self.prevalence
        share = rng.random(self.n)
        scores = np.where(positive, self.world.scores(share, positive=True), self.world.scores(share, positive=False))
        return rank(scores, positive)

    def truth(self, bound: Bound) -> float:
        """The value of a measure on the whole distribution; the best k of n cases are the share k/n."""
        if "k" in bound.parameters:
            share = bound.parameters["k"] / self.n
            gain = float(
                Bound(BOUNDS["gain_at"].measure, {"share": share}).value(
                    {"ranking": whole(self.world, self.prevalence)}
                )
            )
            return gain * self.prevalence / share
        return float(bound.value({"ranking": whole(self.world, self.prevalence)}))

    def __str__(self) -> str:
        return f"{self.world}, n {self.n}, {self.prevalence:.3g} positive"


@cache
def whole(world: World, prevalence: float) -> Ranking:
    """The whole distribution, as quantiles with weights."""
    share = (np.arange(GRID) + 0.5) / GRID
    scores = np.concatenate([world.scores(share, positive=True), world.scores(share, positive=False)])
    positive = np.arange(2 * GRID) < GRID
    return rank(scores, positive, weight=np.where(positive, prevalence, 1 - prevalence))


def of_sizes(world: World, positives: int, negatives: int) -> Cell:
    """A cell with fixed numbers of positives and negatives."""
    return Cell(world, positives + negatives, positives / (positives + negatives), stratified=True)


@dataclass(frozen=True, slots=True)
class Coverage:
    """How often intervals held the truth; `above` and `below` say on which side they missed it."""

    share: float
    above: float
    below: float
    width: float
    sets: int


def measure_cell(
    cell: Cell, bounds: Iterable[Bound], *, sets: int, level: float = 0.95, method: str | None = None, seed: int = 0
) -> dict[str, Coverage]:
    """The coverage of the default intervals (or of a method by name) of measures in a cell."""
    bounds = tuple(bounds)
    rng = np.random.default_rng([seed, zlib.crc32(repr(cell).encode())])
    truths = [cell.truth(bound) for bound in bounds]
    rows: list[list[tuple[bool, bool, float]]] = [[] for _ in bounds]
    for number in range(sets):
        seen = cell.sample(rng)
        if min(seen.n_positive, seen.n_negative) < 2:
            continue
        for bound, truth, row in zip(bounds, truths, rows, strict=True):
            limits = ranking_limits(seen, bound, level, method=method, seed=number, replicates=199)
            row.append((limits.low > truth + 1e-9, limits.high < truth - 1e-9, limits.high - limits.low))
    found = {}
    for bound, row in zip(bounds, rows, strict=True):
        above, below, width = np.mean(np.array(row, dtype=np.float64), axis=0)
        found[bound.name] = Coverage(1 - above - below, above, below, width, len(row))
    return found


# Few cases of a class, unequal classes near 1, and scores of which one class carries nearly all the variance.
AREAS = (
    (World("binormal", 0.8), 5, 7, (0.93, 0.99)),
    (World("binormal", 0.97), 22, 250, (0.93, 0.995)),
    (World("exponential", 0.9), 9, 130, (0.9, 0.98)),
    (World("five levels", 0.85), 40, 60, (0.925, 0.975)),
)


@pytest.mark.parametrize(("world", "positives", "negatives", "allowed"), AREAS, ids=str)
def test_the_two_class_area(world, positives, negatives, allowed):
    cell = of_sizes(world, positives, negatives)
    found = measure_cell(cell, [BOUNDS["roc_auc"]], sets=600)["roc_auc"]
    assert allowed[0] <= found.share <= allowed[1]


def test_few_cases_do_not_make_the_area_useless():
    cell = of_sizes(World("binormal", 0.86), 4, 4)
    found, logit = (
        measure_cell(cell, [BOUNDS["roc_auc"]], sets=600, method=method)["roc_auc"] for method in (None, "delong-logit")
    )
    assert found.share >= 0.93
    assert found.width < 0.8 * logit.width


# Settings on which nothing was chosen; maxima and points of curves with few positives, many, ties and a useless score.
POINTS = (
    Cell(World("binormal", 0.7), 120, 0.4),
    Cell(World("binormal", 0.85), 250, 0.08),
    Cell(World("rounded", 0.9), 350, 0.2),
    Cell(World("exponential", 0.75), 90, 0.25),
)
MEASURED = (
    "kolmogorov_smirnov",
    "recall_at_precision",
    "precision_at_recall",
    "tpr_at_fpr",
    "gain_at",
    "precision_at",
    "partial_auc",
    "partial_auc_by_recall",
)


@pytest.mark.parametrize("cell", POINTS, ids=str)
def test_points_of_curves_and_maxima(cell):
    # With 250 sets three standard errors are .04: a coverage of .90 or more cannot be told from .88.
    found = measure_cell(cell, [BOUNDS[name] for name in MEASURED], sets=250)
    assert {name: coverage.share for name, coverage in found.items() if coverage.share < 0.89} == {}


def test_a_useless_score_has_no_gap():
    cell = Cell(World("binormal", 0.5), 150, 0.2)
    found = measure_cell(cell, [BOUNDS["kolmogorov_smirnov"]], sets=400)["kolmogorov_smirnov"]
    assert found.share >= 0.92
