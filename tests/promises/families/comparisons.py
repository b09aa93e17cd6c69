"""Two classifiers: how often their test rejects where they are equally good, and the interval of the difference.

Answers, scores and probabilities are drawn from worlds whose difference is known, on the same cases or on different
ones, with groups and weights; learners are compared on the same splits of one data set, trained on two halves of the
features that tell equally much; several equal classifiers are compared at once, and equal learners over data sets.
Everything goes to `heldout.compare`. Where the difference is 0, the test is counted too.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
import polars as pl
from scipy.special import ndtr
from tests.promises.cell import Cell, Tally, Truth
from tests.promises.learner_worlds import FASTEST, draw_halves
from tests.promises.pair_worlds import COSTS, TRUTH_GROUPS, GroupCell, ScorePair, UnlikeErrors, World

import heldout

PACKAGES = ("comparisons", "plans", "learners", "resampling", "api/compare", "api/contestants", "api/validate")
REPLICATES = 399
TWO_CLASSES = ("accuracy", "recall[1]", "precision[1]", "f1[1]", "matthews", "kappa")
SEVERAL_CLASSES = ("accuracy", "macro f1", "macro recall", "kappa")
SCORED = ("roc_auc[1]", "average_precision[1]", "brier", "log_loss")
GROUPED = ("accuracy", "f1[1]", "matthews", "expected_cost", "roc_auc[1]", "average_precision[1]", "brier", "log_loss")
# The truth on so many cases has an error of at most a tenth of that of any interval here.
FRESH = 1_000_000


def tally_pairs(tally: Tally, sides: tuple[Any, ...], truth: Truth, levels: tuple[float, ...], **options: Any) -> None:
    """Compare two at every level: intervals of all differences, and tests of those that are 0."""
    for level in levels:
        compared: Any = heldout.compare(*sides, measures=list(truth), level=level, replicates=REPLICATES, **options)
        for name, difference in truth.items():
            tested = compared[name].tested
            tally.add_interval(f"{name} difference", level, tested.low, tested.high, difference)
            if difference == 0:
                tally.add_test(f"{name}: {tested.method}", level, tested.p)
        if level == 0.95:
            tally.review(compared)


@dataclass(frozen=True, kw_only=True)
class Answers(Cell):
    """Answers of two classifiers, on the same cases or each on cases of its own."""

    family: ClassVar[str] = "comparisons"

    world: World
    same: bool = True

    def __str__(self) -> str:
        return f"answers on {'the same' if self.same else 'different'} cases, {self.world}"

    def find_truth(self) -> Truth:
        names = TWO_CLASSES if len(self.world.shares) == 2 else SEVERAL_CLASSES
        differences = {name: self.world.difference(name) for name in names}
        return {name: 0.0 if abs(value) < 1e-9 else value for name, value in differences.items()}

    def draw(self, rng: np.random.Generator, truth: Truth, tally: Tally) -> None:
        labels = list(range(len(self.world.shares)))
        options: dict[str, Any] = {"labels": labels, "positive": 1 if len(labels) == 2 else None, "measures": []}
        first, a, b = self.world.draw_rows(rng)
        second = first
        if not self.same:
            second, _, b = self.world.draw_rows(rng)
        sides = heldout.evaluate(first, a, **options), heldout.evaluate(second, b, **options)
        tally_pairs(tally, sides, truth, self.levels, paired=self.same)


@dataclass(frozen=True, kw_only=True)
class Scores(Cell):
    """Probabilities of two models; the log odds of the second are too large by a factor."""

    family: ClassVar[str] = "comparisons"

    world: ScorePair
    same: bool = True
    factor: float = 1.0

    def __str__(self) -> str:
        wrong = f", log odds × {self.factor:g}" if self.factor != 1 else ""
        return f"scores on {'the same' if self.same else 'different'} cases, {self.world}{wrong}"

    def find_truth(self) -> Truth:
        world = self.world
        equal = world.distance == world.other
        if equal and self.factor == 1:
            return dict.fromkeys(SCORED, 0.0)
        a, b, positive = replace(world, n=FRESH).draw_probabilities(np.random.default_rng(577), self.factor)
        values = [
            heldout.evaluate(positive.astype(np.int64), score=side, positive=1, labels=[0, 1], measures=[])
            for side in (a, b)
        ]
        found = {name: values[0].value(name) - values[1].value(name) for name in SCORED}
        found["roc_auc[1]"] = float(ndtr(world.distance / np.sqrt(2)) - ndtr(world.other / np.sqrt(2)))
        return found | ({"average_precision[1]": 0.0} if equal else {})

    def draw(self, rng: np.random.Generator, truth: Truth, tally: Tally) -> None:
        a, b, first = self.world.draw_probabilities(rng, self.factor)
        second = first
        if not self.same:
            _, b, second = self.world.draw_probabilities(rng, self.factor)
        sides = tuple(
            heldout.evaluate(classes.astype(np.int64), score=scores, positive=1, labels=[0, 1], measures=[])
            for classes, scores in ((first, a), (second, b))
        )
        tally_pairs(tally, sides, truth, self.levels, paired=self.same)


@dataclass(frozen=True, kw_only=True)
class Grouped(Cell):
    """Two models that fail in different groups; `other` is the distance of the classes for the second."""

    family: ClassVar[str] = "comparisons"

    world: GroupCell
    other: float
    groups: bool = True
    weighted: bool = False

    def __str__(self) -> str:
        world = self.world
        kind = "equal" if world.spread == 0 else f"unequal ({world.spread:g})"
        rows = f"{world.groups} {kind} groups of {world.size:g}" if self.groups else f"{world.groups} cases"
        weights = ", weights" if self.weighted else ""
        return f"{rows}{weights}, d = {world.distance:g} and {self.other:g}, alike {world.shared:g}"

    def find_truth(self) -> Truth:
        if self.other == self.world.distance:
            return dict.fromkeys(GROUPED, 0.0)
        whole = replace(self.world, groups=TRUTH_GROUPS if self.groups else FRESH)
        truth, _, first, second = whole.draw_two(np.random.default_rng(1618), self.other)
        values = [
            heldout.evaluate(truth, score=p, positive=1, labels=[0, 1], costs=COSTS, measures=[])
            for p in (first, second)
        ]
        return {name: values[0].value(name) - values[1].value(name) for name in GROUPED}

    def draw(self, rng: np.random.Generator, truth: Truth, tally: Tally) -> None:
        classes, group, first, second = self.world.draw_two(rng, self.other)
        weight = rng.lognormal(0, 0.7, len(classes)) if self.weighted else None
        sides = tuple(
            heldout.evaluate(
                classes, score=p, positive=1, labels=[0, 1], group=group if self.groups else None, weight=weight,
                costs=COSTS, measures=[],
            )
            for p in (first, second)
        )  # fmt: skip
        tally_pairs(tally, sides, truth, self.levels)


@dataclass(frozen=True, kw_only=True)
class Splits(Cell):
    """One learner on two halves of the features, on the same splits of one data set."""

    family: ClassVar[str] = "comparisons"

    learner: str
    plan: str
    n: int
    each: int
    apart: float

    def __str__(self) -> str:
        return f"{self.plan}, {self.learner}, {self.each} features {self.apart:g} apart, n = {self.n}"

    def draw(self, rng: np.random.Generator, truth: Truth, tally: Tally) -> None:
        del truth
        halves, classes = draw_halves(self.n, self.each, self.apart, rng)
        seed = int(rng.integers(2**31))
        sides = tuple(
            heldout.validate(
                FASTEST[self.learner](), half, classes, plan=self.plan, seed=seed, measures="accuracy",
                training=False, positive=1, progress=False,
            )
            for half in halves
        )  # fmt: skip
        tally_pairs(tally, sides, {"accuracy": 0.0}, self.levels)


@dataclass(frozen=True, kw_only=True)
class SeveralModels(Cell):
    """Equally good classifiers on the same cases, of which some are hard for all: whether any two are told apart."""

    family: ClassVar[str] = "comparisons"

    n: int
    models: int
    wrong: float

    def __str__(self) -> str:
        return f"{self.models} equal classifiers, {self.wrong:g} wrong, n = {self.n}"

    def draw(self, rng: np.random.Generator, truth: Truth, tally: Tally) -> None:
        del truth
        # A beta distribution of the chance to be wrong: most cases are easy for all, some are hard for all.
        hard = rng.beta(self.wrong, 1 - self.wrong, size=(self.n, 1))
        wrong = rng.random((self.n, self.models)) < hard
        classes = rng.integers(0, 2, self.n)
        sides = [
            heldout.evaluate(classes, np.where(row, 1 - classes, classes), labels=[0, 1], positive=1, measures=[])
            for row in wrong.T
        ]
        compared: Any = heldout.compare(*sides, measures="accuracy")
        for level in self.levels:
            for test in compared.omnibus:
                tally.add_test(test.method, level, test.p)
            tally.add_test("any pair, corrected", level, min(pair.p for pair in compared.pairs))
        tally.review(compared)


@dataclass(frozen=True, kw_only=True)
class DataSets(Cell):
    """Equally good learners over data sets that differ much more in how hard they are."""

    family: ClassVar[str] = "comparisons"

    data_sets: int
    learners: int

    def __str__(self) -> str:
        return f"{self.learners} equal learners over {self.data_sets} data sets"

    def draw(self, rng: np.random.Generator, truth: Truth, tally: Tally) -> None:
        del truth
        values = (
            0.7 + 0.1 * rng.normal(size=(self.data_sets, 1)) + 0.01 * rng.normal(size=(self.data_sets, self.learners))
        )
        names = [f"learner {number}" for number in range(self.learners)]
        frame = pl.DataFrame(
            {"data set": [f"set {at}" for at in range(self.data_sets)]} | dict(zip(names, values.T, strict=True))
        )
        ranks: Any = heldout.compare(frame, measures="accuracy")
        for level in self.levels:
            for test in ranks.tests:
                tally.add_test(test.method, level, test.p)
            tally.add_test("any pair, corrected", level, min(pair.p for pair in ranks.pairs))


def _cells() -> list[Cell]:
    null = (
        World(50, (0.5, 0.5), 0.1, 0.2), World(100, (0.5, 0.5), 0.15, 0.3), World(200, (0.7, 0.3), 0.05, 0.1),
        World(500, (0.9, 0.1), 0.02, 0.06), World(100, (0.9, 0.1), 0.02, 0.05), World(5000, (0.6, 0.4), 0.1, 0.05),
    )  # fmt: skip
    unlike = tuple(
        UnlikeErrors(n, (1 - share, share), 0.0, 0.0, recalls=recalls)
        for n, share, recalls in ((100, 0.4, (0.9, 0.7)), (300, 0.2, (0.85, 0.75)))
    )
    different = (
        World(60, (0.5, 0.5), 0.1, 0.2, 0.1), World(200, (0.8, 0.2), 0.05, 0.1, 0.06),
        World(500, (0.95, 0.05), 0.02, 0.05, 0.03),
    )  # fmt: skip
    several = (
        World(150, (1 / 3, 1 / 3, 1 / 3), 0.1, 0.2), World(150, (0.5, 0.45, 0.05), 0.1, 0.2, 0.1),
        World(300, (0.2,) * 5, 0.1, 0.2, 0.1), World(500, (0.1,) * 10, 0.1, 0.2),
        World(500, (0.05,) * 20, 0.1, 0.2, 0.08),
    )  # fmt: skip
    scored = (
        ScorePair(100, 0.3, 1.0, 1.0), ScorePair(200, 0.5, 1.5, 1.5), ScorePair(400, 0.1, 1.5, 1.5),
        ScorePair(400, 0.3, 0.5, 0.5, 0.8), ScorePair(100, 0.3, 3.0, 3.0), ScorePair(100, 0.3, 1.0, 1.5),
        ScorePair(400, 0.1, 1.5, 2.0), ScorePair(80, 0.5, 2.5, 3.5), ScorePair(60, 0.3, 2.0, 3.0),
    )  # fmt: skip
    overconfident = ((ScorePair(100, 0.3, 1.0, 1.0), 3.0), (ScorePair(400, 0.1, 1.5, 1.5), 2.0))
    grouped = (
        (GroupCell(15, 10, 0.0, 0.0, 0.1, 0.3, 0.4, 1.5), 1.5), (GroupCell(40, 8, 0.0, 0.0, 0.2, 0.3, 0.4, 1.7), 2.2),
        (GroupCell(32, 11, 0.95, 0.0, 0.15, 0.3, 0.4, 1.7), 1.7),
        (GroupCell(60, 9, 1.1, 0.0, 0.05, 0.2, 0.25, 1.4), 1.9), (GroupCell(200, 5, 0.8, 0.0, 0.1, 0.4, 0.3, 1.8), 1.8),
    )  # fmt: skip
    single = GroupCell(150, 1, 0.0, 0.0, 0.0, 0.0, 0.4, 1.7)
    splits = [
        Splits(learner=learner, plan=plan, n=n, each=each, apart=apart)
        for learner, n, each, apart in (
            ("naive Bayes", 100, 3, 0.4),
            ("naive Bayes", 250, 3, 1.0),
            ("1-NN", 250, 3, 0.4),
        )
        for plan in ("10-fold", "30 x holdout 2/3", "10x10-fold")
    ]
    return [
        *(Answers(world=world, draws=600, chunk=30) for world in (*null, *unlike, *different, *several)),
        *(Answers(world=world, same=False, draws=600, chunk=30)
          for world in (null[0], null[2], null[4], *different[1:])),
        *(Scores(world=world, draws=1000, chunk=50) for world in scored),
        *(Scores(world=world, factor=factor, draws=1000, chunk=50) for world, factor in overconfident),
        *(Scores(world=world, same=False, draws=1000, chunk=50) for world in (scored[0], scored[2], scored[7])),
        *(Grouped(world=world, other=other, draws=600, chunk=30) for world, other in grouped),
        *(Grouped(world=world, other=other, weighted=True, draws=500, chunk=25) for world, other in grouped[2:4]),
        *(Grouped(world=replace(single, groups=n), other=other, groups=False, weighted=True, draws=1000, chunk=50)
          for n, other in ((150, 1.7), (400, 2.2))),
        *splits,
        *(SeveralModels(n=n, models=k, wrong=wrong) for n, k, wrong in ((50, 3, 0.2), (100, 4, 0.3), (200, 6, 0.1))),
        *(DataSets(data_sets=n, learners=k) for n, k in ((6, 3), (15, 4), (50, 10))),
    ]  # fmt: skip


CELLS = tuple(_cells())
