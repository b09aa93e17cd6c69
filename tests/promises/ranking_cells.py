"""The worlds that scores are drawn from and the cells in which the intervals of ranking measures are counted.

A world says how the scores of positives and negatives are distributed; a cell is a world with a number of cases and a
share of positives (or fixed sizes of the two classes) and a level. The true value is the measure on a fine grid of
quantiles of both distributions. The first grid of each kind was used to choose the methods, the second to confirm them.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any, Literal

import numpy as np
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
# What a default is allowed: below, and above, at each level.
RANGES = {0.8: (0.74, 0.92), 0.95: (0.92, 0.985), 0.99: (0.965, 1.0)}


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


def chosen_areas() -> Iterator[Cell]:
    """Where the interval of the two-class area was chosen."""
    shapes: tuple[tuple[Shape, float], ...] = (
        ("binormal", 1.0),
        ("binormal", 2.0),
        ("binormal", 0.6),
        ("exponential", 1.0),
        ("beta", 1.0),
        ("five levels", 1.0),
    )
    sizes = (
        (4, 4),
        (6, 6),
        (5, 50),
        (50, 5),
        (10, 10),
        (8, 200),
        (24, 276),
        (276, 24),
        (30, 30),
        (100, 100),
        (300, 300),
        (20, 500),
    )
    for shape, spread in shapes:
        for area in (0.5, 0.7, 0.86, 0.96, 0.99):
            yield from (of_sizes(World(shape, area, spread), *pair) for pair in sizes)


def confirmed_areas() -> Iterator[Cell]:
    """Other sizes, areas and shapes, looked at afterwards."""
    sizes = (
        (5, 5),
        (7, 12),
        (6, 120),
        (150, 9),
        (15, 60),
        (40, 25),
        (18, 400),
        (350, 30),
        (80, 80),
        (250, 250),
        (12, 500),
    )
    shapes: tuple[tuple[Shape, float], ...] = (
        ("binormal", 1.0),
        ("binormal", 1.5),
        ("binormal", 0.75),
        ("exponential", 1.0),
        ("beta", 1.0),
        ("rounded", 1.0),
    )
    for shape, spread in shapes:
        for area in (0.55, 0.8, 0.92, 0.98, 0.995):
            yield from (of_sizes(World(shape, area, spread), *pair) for pair in sizes)


def chosen_points() -> Iterator[Cell]:
    """Where the intervals of operating points, partial areas and the largest gap were chosen."""
    worlds = (
        *(World("binormal", area) for area in (0.6, 0.75, 0.9, 0.98)),
        World("binormal", 0.8, 1.6),
        World("exponential", 0.8),
        World("beta", 0.9),
        World("five levels", 0.8),
    )
    for n, prevalence in ((60, 0.3), (200, 0.08), (300, 0.4), (600, 0.05), (1000, 0.2)):
        yield from (Cell(world, n, prevalence) for world in worlds)


def confirmed_points() -> Iterator[Cell]:
    """Other numbers of cases, shares of positives, areas and shapes, looked at afterwards."""
    worlds = (
        *(World("binormal", area) for area in (0.65, 0.82, 0.95)),
        World("binormal", 0.85, 0.7),
        World("exponential", 0.9),
        World("beta", 0.7),
        World("rounded", 0.85),
    )
    for n, prevalence in ((80, 0.5), (150, 0.15), (400, 0.1), (500, 0.3), (2000, 0.05)):
        yield from (Cell(world, n, prevalence) for world in worlds)
