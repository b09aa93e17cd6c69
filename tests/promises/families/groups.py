"""Cases that come in groups: 15 to 200 groups of equal and of unequal size, every measure that is reported.

A case has normal evidence for its class, to which its group adds a part of its own, and so do the groups differ in how
many positives they have; the truth is that of all rows of 60,000 groups. Unequal sizes are lognormal; in some worlds
large groups are also the harder ones, and in those with an ICC the size of a group goes with how easy it is. Everything
goes to `heldout.evaluate(score=, group=)`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit
from tests.promises.cell import Cell, Tally, Truth, name_quantity
from tests.promises.pair_worlds import COSTS, GroupCell

import heldout

Floats = NDArray[np.float64]
Codes = NDArray[np.int64]
NAMES = {0: "negative", 1: "positive"}
# The truth on so many groups has an error of at most a twentieth of that of any interval here.
FRESH = 60_000
Sizes = Literal["equal", "unequal", "harder if large"]


@dataclass(frozen=True)
class GroupWorld:
    """Groups of about `rows` cases; `alike` is the correlation of the evidence inside a group."""

    sizes: Sizes
    rows: int
    alike: float
    distance: float = 1.5
    prevalence: float = 0.4
    spread: float = 0.9

    def __str__(self) -> str:
        return (
            f"{self.sizes} groups of {self.rows}, alike {self.alike:g}, d = {self.distance:g}, {self.prevalence:g} "
            f"positive"
        )

    def draw(self, number: int, rng: np.random.Generator) -> tuple[Codes, Floats, Codes]:
        """So many groups: classes, probabilities of the second class, and the group of each case."""
        if self.sizes == "equal":
            sizes = np.full(number, self.rows)
            large = np.zeros(number)
        else:
            large = rng.normal(size=number)
            sizes = np.maximum(1, np.rint(self.rows * np.exp(self.spread * large - self.spread**2 / 2))).astype(int)
        own = np.sqrt(self.alike / (1 - self.alike)) * rng.normal(size=number)
        share = expit(np.log(self.prevalence / (1 - self.prevalence)) + np.sqrt(self.alike) * rng.normal(size=number))
        # Where large groups are harder, their classes are nearer to each other.
        apart = self.distance * (1 - 0.3 * np.tanh(large) * (self.sizes == "harder if large"))
        group = np.repeat(np.arange(number), sizes)
        truth = (rng.random(len(group)) < share[group]).astype(np.int64)
        evidence = rng.normal(size=len(group)) + own[group] + apart[group] * (truth - 0.5)
        odds = self.distance * evidence + np.log(self.prevalence / (1 - self.prevalence))
        return truth, np.asarray(expit(odds)), group


@dataclass(frozen=True, kw_only=True)
class Groups(Cell):
    """So many groups of a world."""

    family: ClassVar[str] = "groups"

    world: GroupWorld
    groups: int

    def __str__(self) -> str:
        return f"{self.groups} {self.world}"

    def find_truth(self) -> Truth:
        truth, scores, _ = self.world.draw(FRESH, np.random.default_rng(314159))
        whole = heldout.evaluate(truth, score=scores, positive=1, labels=[0, 1])
        return {name_quantity(e, NAMES): e.value for e in whole.estimates}

    def draw(self, rng: np.random.Generator, truth: Truth, tally: Tally) -> None:
        classes, scores, group = self.world.draw(self.groups, rng)
        evaluation = heldout.evaluate(classes, score=scores, group=group, positive=1, labels=[0, 1])
        tally.add_evaluation(evaluation, self.levels, truth, NAMES)


@dataclass(frozen=True, kw_only=True)
class LatentGroups(Cell):
    """Groups whose truth and scores have a part in common, and whose size goes with how easy they are."""

    family: ClassVar[str] = "groups"

    world: GroupCell

    def __str__(self) -> str:
        world = self.world
        return (
            f"{world.groups} groups of {world.size:g}, sizes {world.spread:g}, r {world.informative:g}, ICC "
            f"{world.share:g} and {world.shared:g}, {world.prevalence:g} positive"
        )

    def find_truth(self) -> Truth:
        truth, scores, _ = replace(self.world, groups=FRESH).draw(np.random.default_rng(141421))
        whole = heldout.evaluate(truth, score=scores, positive=1, labels=[0, 1], costs=COSTS)
        return {name_quantity(e, NAMES): e.value for e in whole.estimates if e.measure != "total_cost"}

    def draw(self, rng: np.random.Generator, truth: Truth, tally: Tally) -> None:
        classes, scores, group = self.world.draw(rng)
        evaluation = heldout.evaluate(classes, score=scores, group=group, positive=1, labels=[0, 1], costs=COSTS)
        tally.add_evaluation(evaluation, self.levels, truth, NAMES)


LATENT = (
    GroupCell(25, 14, 0.9, 0.3, 0.15, 0.25, 0.35, 1.6),
    GroupCell(45, 9, 1.1, -0.3, 0.05, 0.15, 0.25, 1.4),
    GroupCell(60, 20, 0.6, 0.5, 0.3, 0.4, 0.5, 2.0),
    GroupCell(18, 10, 0.0, 0.0, 0.1, 0.3, 0.4, 1.5),
    GroupCell(120, 6, 1.0, 0.4, 0.2, 0.05, 0.15, 2.2),
    GroupCell(35, 12, 1.0, -0.5, 0.2, 0.5, 0.3, 1.8),
)


def _cells() -> list[Cell]:
    worlds = (
        (GroupWorld("equal", 8, 0.2), (15, 40, 200)),
        (GroupWorld("equal", 20, 0.05, distance=2.5, prevalence=0.25), (15, 60)),
        (GroupWorld("equal", 5, 0.4, prevalence=0.15), (30, 100)),
        (GroupWorld("unequal", 10, 0.2), (15, 40, 120, 200)),
        (GroupWorld("unequal", 25, 0.1, prevalence=0.2, spread=1.2), (20, 60)),
        (GroupWorld("unequal", 6, 0.5, distance=2.5), (30, 80)),
        (GroupWorld("harder if large", 12, 0.15), (30, 100)),
    )
    return [
        *(Groups(world=world, groups=number, draws=600, chunk=50) for world, numbers in worlds for number in numbers),
        *(LatentGroups(world=world, draws=500, chunk=25) for world in LATENT),
    ]


CELLS = tuple(_cells())
