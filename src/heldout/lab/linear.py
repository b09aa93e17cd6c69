"""The linear rule inside a fitted model, where there is one: class 1 where weights · x + offset is positive."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from heldout.arrays import Floats

# Places at which a score that should be linear is looked at; an odd number of them is far out.
PROBES = 16


@dataclass(frozen=True, slots=True, eq=False)
class LinearRule:
    """Class 1 where weights · x + offset > 0, class 0 elsewhere; zero weights are a constant answer.

    >>> LinearRule(np.array([3.0, 4.0]), -5.0).distance(np.array([3.0, 4.0]))
    4.0
    """

    weights: Floats
    offset: float

    def distance(self, point: Floats) -> float:
        """How far a point lies on the side of class 1; infinite under a constant answer."""
        length = float(np.linalg.norm(self.weights))
        score = float(self.weights @ point + self.offset)
        return score / length if length > 0 else np.inf if score > 0 else -np.inf


def linear_rule(model: Any, features: int) -> LinearRule | None:
    """The rule that a fitted model of two classes 0 and 1 follows, or None where it is not known to be linear.

    Models with coefficients (also at the end of a pipeline that scales), nearest centroid, and constant answers are
    recognised; the score itself is probed, so that whatever stands before the coefficients is accounted for.

    >>> from sklearn.linear_model import LogisticRegression
    >>> model = LogisticRegression().fit([[0.0], [1.0], [2.0], [3.0]], [0, 0, 1, 1])
    >>> rule = linear_rule(model, 1)
    >>> bool(np.allclose(rule.weights, model.coef_)), bool(np.isclose(rule.offset, model.intercept_[0]))
    (True, True)
    """
    last = model[-1] if hasattr(model, "steps") else model
    classes = getattr(last, "classes_", None)
    if classes is None or not set(np.asarray(classes).tolist()) <= {0, 1}:
        return None
    if len(classes) == 1:
        return _constant(float(classes[0]), features)
    if type(last).__name__ == "DummyClassifier":
        # The other strategies answer by chance, case by case.
        steady = last.strategy in {"most_frequent", "prior", "constant"}
        return _constant(float(model.predict(np.zeros((1, features)))[0]), features) if steady else None
    if type(last).__name__ == "NearestCentroid" and last is model:
        return _between_centroids(last)
    has_score = hasattr(last, "coef_") and hasattr(model, "decision_function")
    return _probed(model, features) if has_score else None


def _constant(answer: float, features: int) -> LinearRule:
    return LinearRule(np.zeros(features), 2 * answer - 1)


def _between_centroids(model: Any) -> LinearRule | None:
    """The plane midway between the centroids; priors other than equal ones would move and turn it."""
    if model.metric != "euclidean" or not np.allclose(model.class_prior_, 0.5):
        return None
    zero, one = model.centroids_
    return LinearRule(one - zero, float(zero @ zero - one @ one) / 2)


def _probed(model: Any, features: int) -> LinearRule | None:
    unit = np.eye(features)
    ahead, behind, middle = (
        np.asarray(model.decision_function(points), dtype=np.float64)
        for points in (unit, -unit, np.zeros((1, features)))
    )
    if ahead.ndim != 1:
        return None
    rule = LinearRule((ahead - behind) / 2, float(middle[0]))
    rng = np.random.default_rng(0)
    where = rng.normal(size=(PROBES, features)) * np.geomspace(0.1, 30, PROBES)[:, None]
    expected = where @ rule.weights + rule.offset
    scale = np.abs(where) @ np.abs(rule.weights) + abs(rule.offset) + 1e-300
    straight = np.abs(np.asarray(model.decision_function(where)) - expected) <= 1e-8 * scale
    return rule if bool(straight.all()) else None
