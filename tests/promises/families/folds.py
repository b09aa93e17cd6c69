"""Predictions in folds: cross-validation, leave-one-out, repeated folds, random splits and .632+ with fast learners.

Classes are normal clouds, so that the value of every model is known. The result names what it estimates: the value of
the learner (Err), the mean over training sets of the size at hand, for random splits of two thirds that of models
trained on so many. The promise is about Err; the value of the one model trained on all cases at hand (Err_XY) is
counted beside it. Everything goes to `heldout.validate`. One fixed scorer whose cases are numbered by folds has one
value, and goes to `heldout.evaluate(fold=)`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from sklearn.base import clone
from tests.promises.cell import Cell, Tally, Truth, list_estimates_at
from tests.promises.learner_worlds import (
    LEARNERS,
    SEVERAL_CLASSES,
    TWO_CLASSES,
    Triangle,
    World,
    draw_training,
    find_learner_values,
    find_true_values,
)
from tests.promises.score_worlds import Forecasts

import heldout
from heldout.lab.worlds import Gaussians

PACKAGES = ("plans", "learners", "resampling", "api/validate", "lab/worlds")
NAMES = {1: "positive"}
# The mean of so many models is off by at most a twentieth of any interval here.
MODELS = 600
# Ten stratified folds need so many cases of each class.
LEAST = 10
RANDOM = "30 x holdout 2/3"
REPLICATES = 399


@dataclass(frozen=True, kw_only=True)
class Learner(Cell):
    """A learner on so many cases of a world, by a plan."""

    family: ClassVar[str] = "folds"

    plan: str
    learner: str
    world: World
    n: int

    def __str__(self) -> str:
        return f"{self.plan}, {self.learner}, {self.world.text}, n = {self.n}"

    @property
    def measures(self) -> tuple[str, ...]:
        """What is asked."""
        return SEVERAL_CLASSES if isinstance(self.world, Triangle) else TWO_CLASSES

    def find_truth(self) -> Truth:
        trained, least = (round(self.n * 2 / 3), 2) if self.plan == RANDOM else (self.n, LEAST)
        return find_learner_values(self.world, self.learner, trained, least, MODELS)

    def draw(self, rng: np.random.Generator, truth: Truth, tally: Tally) -> None:
        features, classes = draw_training(self.world, self.n, LEAST, rng)
        learner = LEARNERS[self.learner]
        validation: Any = heldout.validate(
            learner, features, classes, plan=self.plan, seed=int(rng.integers(2**31)), measures=self.measures,
            training=False, positive=None if isinstance(self.world, Triangle) else 1, progress=False,
            replicates=REPLICATES,
        )  # fmt: skip
        own = find_true_values(self.world, clone(learner).fit(features, classes))
        for level in self.levels:
            estimates = list(list_estimates_at(validation.evaluation, level))
            tally.add_estimates(estimates, truth, NAMES)
            tally.add_estimates(estimates, own, NAMES, kind="beside")
        tally.review(validation)


@dataclass(frozen=True, kw_only=True)
class FixedScorer(Cell):
    """Probabilities of one model, whose cases are numbered by folds; stratified as plans are."""

    family: ClassVar[str] = "folds"

    world: Forecasts
    n: int
    folds: int

    def __str__(self) -> str:
        return f"{self.folds} folds of a fixed scorer, {self.world}, n = {self.n}"

    def find_truth(self) -> Truth:
        whole = self.world.population()
        found = heldout.evaluate(
            whole.positive.astype(np.int64), score=whole.scores, weight=whole.weight * len(whole.weight), positive=1,
            measures=[],
        )  # fmt: skip
        by_class = ("f1", "recall", "roc_auc", "average_precision", "kolmogorov_smirnov")
        return {f"{name}[positive]" if name in by_class else name: found.value(name) for name in TWO_CLASSES}

    def draw(self, rng: np.random.Generator, truth: Truth, tally: Tally) -> None:
        scores, positive = self.world.draw(self.n, rng)
        fold = np.empty(self.n, dtype=np.int64)
        for label in (True, False):
            rows = rng.permutation(np.flatnonzero(positive == label))
            fold[rows] = (np.arange(len(rows)) + label * self.folds // 2) % self.folds
        evaluation = heldout.evaluate(
            positive.astype(np.int64), score=scores, fold=fold, positive=1, labels=[0, 1], measures=TWO_CLASSES,
            replicates=REPLICATES,
        )  # fmt: skip
        tally.add_evaluation(evaluation, self.levels, truth, NAMES)


EVEN, RARE, COMMON = Gaussians(2.0, 3), Gaussians(2.5, 3, 0.1), Gaussians(1.4, 8, 0.3)
EASY, THREE = Gaussians(3.5, 4, 0.4), Triangle()


def _cells() -> list[Cell]:
    often = (
        ("10-fold", EVEN, ("naive Bayes", "LDA", "nearest centroid", "5-NN"), (60, 200)),
        ("10-fold", COMMON, ("naive Bayes", "LDA", "5-NN"), (100, 400)),
        ("10-fold", RARE, ("naive Bayes", "LDA"), (200, 600)),
        ("10-fold", EASY, ("LDA", "nearest centroid"), (100,)),
        ("10-fold", THREE, ("naive Bayes", "LDA"), (60, 200)),
    )
    others = (
        ("naive Bayes", EVEN, 60), ("5-NN", COMMON, 100), ("LDA", RARE, 200), ("naive Bayes", THREE, 60),
    )  # fmt: skip
    plans = ("5-fold", "5x10-fold", "10x10-fold", "leave-one-out", RANDOM)
    more = (("leave-one-out", "nearest centroid", EASY, 100), ("leave-one-out", "naive Bayes", EVEN, 200),
            ("10x10-fold", "naive Bayes", EVEN, 200), (".632+ 200", "naive Bayes", EVEN, 60),
            (".632+ 200", "nearest centroid", COMMON, 100), (".632+ 200", "naive Bayes", THREE, 60))  # fmt: skip
    chosen = [(plan, learner, world, n) for plan, world, some, sizes in often for learner in some for n in sizes]
    chosen += [(plan, *other) for plan in plans for other in others]
    chosen += more
    scorers = (
        (Forecasts(1.2, 1.8, text="calibrated"), ((100, 10), (400, 5), (1000, 20))),
        (Forecasts(0.4, 2.5, text="calibrated, rare positives"), ((150, 5), (300, 10), (1000, 10))),
        (Forecasts(0.6, 0.6, 0.0, 0.55, text="overconfident"), ((100, 5), (500, 10))),
    )
    return [
        *(Learner(plan=plan, learner=name, world=world, n=n, draws=500, chunk=25) for plan, name, world, n in chosen),
        *(FixedScorer(world=world, n=n, folds=k, draws=1000, chunk=50) for world, some in scorers for n, k in some),
    ]


CELLS = tuple(_cells())
