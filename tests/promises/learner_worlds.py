"""Worlds to learn in: how cases with features are drawn, fast learners, and the true values of a fitted model.

True values are those on quasi-random points of each class, which stand for its whole normal distribution, by formulas
written out here.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri
from scipy.stats import qmc
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier

from heldout.lab.worlds import Gaussians

Floats = NDArray[np.float64]
Codes = NDArray[np.int64]
# Two to this power points for each class: shares on them are off by some .0005.
POINTS = 13
TWO_CLASSES = (
    "accuracy", "f1", "macro f1", "matthews", "recall", "roc_auc", "average_precision", "kolmogorov_smirnov", "brier",
    "log_loss",
)  # fmt: skip
SEVERAL_CLASSES = ("accuracy", "macro f1", "matthews")


@dataclass(frozen=True, slots=True)
class Triangle:
    """Three equally common normal classes in the corners of a triangle."""

    side: float = 2.0

    @property
    def text(self) -> str:
        """The world in a few words."""
        return f"three normal clouds {self.side:g} apart"

    @property
    def features(self) -> int:
        """How many features a case has."""
        return 2

    @property
    def means(self) -> tuple[Floats, ...]:
        """The middle of each class."""
        corners = self.side * np.array([[0.0, 0.0], [1.0, 0.0], [0.5, math.sqrt(0.75)]])
        return tuple(corners)

    def draw(self, n: int, seed: int | np.random.Generator = 0) -> tuple[Floats, Codes]:
        """So many independent cases."""
        rng = np.random.default_rng(seed)
        truth = rng.integers(0, 3, n)
        return np.stack(self.means)[truth] + rng.normal(size=(n, 2)), truth


World = Gaussians | Triangle


class Centroids(ClassifierMixin, BaseEstimator):  # type: ignore[misc, unused-ignore]
    """The class of the nearest mean, with the probabilities of spherical normal classes that are equally common."""

    def fit(self, X: Floats, y: NDArray[Any]) -> Centroids:
        self.classes_ = np.unique(y)
        self.means_ = np.array([X[y == label].mean(axis=0) for label in self.classes_])
        return self

    def predict_proba(self, X: Floats) -> Floats:
        away = ((X[:, None, :] - self.means_) ** 2).sum(axis=2)
        odds = np.exp(-(away - away.min(axis=1, keepdims=True)) / 2)
        return np.asarray(odds / odds.sum(axis=1, keepdims=True))

    def predict(self, X: Floats) -> NDArray[Any]:
        return np.asarray(self.classes_[self.predict_proba(X).argmax(axis=1)])


LEARNERS: dict[str, Any] = {
    "naive Bayes": GaussianNB(),
    "LDA": LinearDiscriminantAnalysis(),
    "nearest centroid": Centroids(),
    "5-NN": KNeighborsClassifier(5),
}


def share_world(world: World) -> Floats:
    """The share of every class."""
    return np.full(3, 1 / 3) if isinstance(world, Triangle) else np.array([1 - world.prevalence, world.prevalence])


@lru_cache(maxsize=8)
def list_points(world: World) -> tuple[Floats, ...]:
    """Points of each class that lie like its distribution."""
    unit = qmc.Sobol(world.features, seed=2023).random_base2(POINTS)
    normal = ndtri(unit.clip(1e-9, 1 - 1e-9))
    return tuple(mean + normal for mean in world.means)


def find_true_values(world: World, model: Any) -> dict[str, float]:
    """The measures of a fitted model over the whole world, by their names."""
    points, shares = list_points(world), share_world(world)
    k = len(points)
    probabilities = [np.asarray(model.predict_proba(part)) for part in points]
    calls = [part.argmax(axis=1) for part in probabilities]
    table = np.stack([share * np.bincount(called, minlength=k) for share, called in zip(shares, calls, strict=True)])
    table /= len(points[0])
    hits, rows, columns = np.diag(table), table.sum(axis=1), table.sum(axis=0)
    f1 = 2 * hits / (rows + columns)
    spread = math.sqrt((1 - (rows**2).sum()) * (1 - (columns**2).sum()))
    values = {
        "accuracy": float(hits.sum()),
        "macro f1": float(f1.mean()),
        "matthews": float((hits.sum() - rows @ columns) / spread) if spread > 0 else math.nan,
    }
    if k > 2:
        return values
    negatives, positives = (part[:, 1] for part in probabilities)
    return (
        values
        | {"f1[positive]": float(f1[1]), "recall[positive]": float(hits[1] / rows[1])}
        | _find_ranked(positives, negatives, shares[1])
        | _find_losses(positives, negatives, shares[1])
    )


def _find_ranked(positives: Floats, negatives: Floats, share: float) -> dict[str, float]:
    """Areas and the largest gap, over all distinct scores from the highest down."""
    scores = np.concatenate([positives, negatives])
    order = np.argsort(-scores, kind="stable")
    ends = np.append(np.flatnonzero(np.diff(scores[order])), len(order) - 1)
    hits = np.cumsum(order < len(positives))[ends] / len(positives)
    alarms = np.cumsum(order >= len(positives))[ends] / len(negatives)
    gained = np.diff(hits, prepend=0.0)
    precision = share * hits / (share * hits + (1 - share) * alarms)
    middle = (hits + np.concatenate([[0.0], hits[:-1]])) / 2
    return {
        "roc_auc[positive]": float((np.diff(alarms, prepend=0.0) * middle).sum()),
        "average_precision[positive]": float((gained * precision).sum()),
        "kolmogorov_smirnov[positive]": float((hits - alarms).max()),
    }


def _find_losses(positives: Floats, negatives: Floats, share: float) -> dict[str, float]:
    brier = share * ((1 - positives) ** 2).mean() + (1 - share) * (negatives**2).mean()
    certain = positives.min() <= 0 or negatives.max() >= 1
    loss = math.nan
    if not certain:
        loss = float(-share * np.log(positives).mean() - (1 - share) * np.log1p(-negatives).mean())
    # A probability of 0 for what comes true has no finite loss.
    return {"brier": float(brier), "log_loss": loss}


def draw_training(world: World, n: int, least: int, rng: np.random.Generator) -> tuple[Floats, Codes]:
    """So many cases of which every class has at least so many, as stratified folds need; few are drawn again."""
    while True:
        features, truth = world.draw(n, rng)
        if np.bincount(truth, minlength=len(share_world(world))).min() >= least:
            return features, truth


@lru_cache(maxsize=64)
def find_learner_values(world: World, learner: str, n: int, least: int, models: int) -> dict[str, float]:
    """The measures of a learner: the means over so many models, each trained on n new cases."""
    rng = np.random.default_rng([n, models, 1997])
    found = [
        find_true_values(world, clone(LEARNERS[learner]).fit(*draw_training(world, n, least, rng)))
        for _ in range(models)
    ]
    return {name: float(np.mean([values[name] for values in found])) for name in found[0]}


class NormalBayes(ClassifierMixin, BaseEstimator):  # type: ignore[misc, unused-ignore]
    """Naive Bayes with normal features, for two equally common classes: so little that thousands fit in a second."""

    def fit(self, X: Floats, y: NDArray[Any]) -> NormalBayes:
        self.classes_ = np.array([0, 1])
        parts = [X[y == label] for label in (0, 1)]
        self.means_ = np.array([part.mean(axis=0) for part in parts])
        self.variances_ = np.array([part.var(axis=0) for part in parts]) + 1e-9
        return self

    def predict(self, X: Floats) -> NDArray[Any]:
        away = [
            ((X - mean) ** 2 / variance).sum(axis=1) + np.log(variance).sum()
            for mean, variance in zip(self.means_, self.variances_, strict=True)
        ]
        return (away[1] < away[0]).astype(np.int64)


class OneNeighbour(ClassifierMixin, BaseEstimator):  # type: ignore[misc, unused-ignore]
    """The class of the nearest training row."""

    def fit(self, X: Floats, y: NDArray[Any]) -> OneNeighbour:
        self.classes_ = np.array([0, 1])
        self.rows_, self.labels_ = X, y
        return self

    def predict(self, X: Floats) -> NDArray[Any]:
        # The squared distances, less what is the same for all training rows.
        away = (self.rows_**2).sum(axis=1) - 2 * X @ self.rows_.T
        return np.asarray(self.labels_[away.argmin(axis=1)])


# Learners that are so fast that thousands of data sets can be split again and again.
FASTEST = {"naive Bayes": NormalBayes, "1-NN": OneNeighbour}


def draw_halves(n: int, each: int, apart: float, rng: np.random.Generator) -> tuple[tuple[Floats, Floats], Codes]:
    """Two halves of the features that tell equally much by construction, and two equally common classes."""
    truth = (np.arange(n) % 2).astype(np.int64)
    features = rng.normal(size=(n, 2 * each)) + apart * truth[:, None]
    return (np.ascontiguousarray(features[:, :each]), np.ascontiguousarray(features[:, each:])), truth
