"""What one fitted predictor is made of: coefficients, questions, stored cases, weights, as its kind has them."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

Columns = frozenset[int]


@dataclass(frozen=True, slots=True)
class Part:
    """One predictor inside a model.

    `parameters` is how many numbers it learned, and `what` what they are. `pieces` is what a reader of the whole would
    have to read, `met` what one case meets of it: leaves and the questions on a path, terms of a sum, stored cases and
    neighbours. `used` are the columns of its own input that it looks at, None where that is not known. `unknown` says
    why nothing could be counted, where that is so.
    """

    kind: str
    what: str
    parameters: float
    pieces: float
    met: float
    trees: int = 0
    leaves: int = 0
    depth: int = 0
    vectors: int = 0
    cases: int = 0
    used: Columns | None = None
    unknown: str = ""


def part_of(model: Any) -> Part:
    """The parts of a fitted predictor that is no wrapper; what is not known is said.

    >>> from sklearn.tree import DecisionTreeClassifier
    >>> found = part_of(DecisionTreeClassifier().fit([[1], [2], [3]], [0, 1, 1]))
    >>> found.leaves, found.depth, found.parameters, sorted(found.used)
    (2, 1, 1, [0])
    """
    for rule in RULES:
        try:
            found = rule(model)
        except (AttributeError, TypeError, ValueError, IndexError, KeyError, NotImplementedError):
            # An object that has the name of such an attribute but means something else by it.
            continue
        if found is not None:
            return found
    name = type(model).__name__
    nan = math.nan
    return Part(name, "", nan, nan, nan, unknown=f"a {name} says nothing of its parts in any way known here")


def _tree(model: Any) -> Part | None:
    tree: Any = getattr(model, "tree_", None)
    if not hasattr(tree, "children_left"):
        return None
    leaves, depth = int(tree.n_leaves), int(tree.max_depth)
    used = frozenset(tree.feature[tree.feature >= 0].tolist())
    questions = int(tree.node_count) - leaves
    return Part(_name(model), "questions", questions, leaves, depth, trees=1, leaves=leaves, depth=depth, used=used)


def _boosted(model: Any) -> Part | None:
    """Trees of histogram gradient boosting, which are no estimators of their own."""
    rounds = getattr(model, "_predictors", None)
    if not isinstance(rounds, list):
        return None
    trees = [tree for one in rounds for tree in one]
    leaves = sum(int(tree.get_n_leaf_nodes()) for tree in trees)
    depths = [int(tree.get_max_depth()) for tree in trees]
    asked = [tree.nodes["feature_idx"][tree.nodes["is_leaf"] == 0].tolist() for tree in trees]
    used = frozenset(column for columns in asked for column in columns)
    questions = sum(map(len, asked))
    most = max(depths, default=0)
    return Part(
        _name(model), "questions", questions, leaves, sum(depths),
        trees=len(trees), leaves=leaves, depth=most, used=used,
    )  # fmt: skip


def _linear(model: Any) -> Part | None:
    if getattr(model, "coef_", None) is None:
        return None
    held = model.coef_
    coefficients = np.atleast_2d(np.asarray(held.toarray() if hasattr(held, "toarray") else held, dtype=np.float64))
    terms = int(np.count_nonzero(coefficients))
    used = frozenset(np.flatnonzero(coefficients.any(axis=0)).tolist())
    size = coefficients.size + _size(getattr(model, "intercept_", None))
    return Part(_name(model), "coefficients", size, terms, terms, used=used)


def _vectors(model: Any) -> Part | None:
    if getattr(model, "support_vectors_", None) is None or getattr(model, "kernel", "") == "linear":
        return None
    held = model.support_vectors_
    number, width = (int(side) for side in held.shape)
    if not width:
        # A kernel that was worked out beforehand, or is a function: the vectors are numbers of cases.
        number, width = len(model.support_), int(model.n_features_in_)
    size = number * width + _size(model.dual_coef_) + _size(model.intercept_)
    every = frozenset(range(width))
    return Part(_name(model), "numbers in support vectors", size, number, number, vectors=number, used=every)


def _neighbours(model: Any) -> Part | None:
    if getattr(model, "n_samples_fit_", None) is None or not hasattr(model, "_fit_X"):
        return None
    cases, width = int(model.n_samples_fit_), int(model.n_features_in_)
    asked = getattr(model, "n_neighbors", None)
    met = cases if asked is None else min(int(asked), cases)
    every = frozenset(range(width))
    return Part(_name(model), "numbers in stored cases", cases * width, cases, met, cases=cases, used=every)


def _process(model: Any) -> Part | None:
    """A Gaussian process keeps the cases that it was trained on."""
    if getattr(model, "X_train_", None) is None:
        return None
    cases, width = (int(side) for side in np.asarray(model.X_train_).shape)
    every = frozenset(range(width))
    return Part(_name(model), "numbers in stored cases", cases * width, cases, cases, cases=cases, used=every)


def _network(model: Any) -> Part | None:
    layers = getattr(model, "coefs_", None)
    if not isinstance(layers, list):
        return None
    size = sum(map(_size, layers)) + sum(map(_size, model.intercepts_))
    used = frozenset(np.flatnonzero(np.asarray(layers[0]).any(axis=1)).tolist())
    return Part(_name(model), "weights", size, size, size, used=used)


def _bayes(model: Any) -> Part | None:
    """Naive Bayes: one factor for each feature and class."""
    factors = getattr(model, "theta_", None)
    if factors is None:
        factors = getattr(model, "feature_log_prob_", None)
    if factors is None:
        return None
    priors = getattr(model, "class_prior_", None)
    prior = _size(priors if priors is not None else model.class_log_prior_)
    size = _size(factors) + _size(getattr(model, "var_", None)) + prior
    every = frozenset(range(int(model.n_features_in_)))
    factors_met = int(model.n_features_in_) * prior
    return Part(_name(model), "probabilities and moments", size, factors_met, factors_met, used=every)


def _quadratic(model: Any) -> Part | None:
    if getattr(model, "means_", None) is None or getattr(model, "rotations_", None) is None:
        return None
    size = sum(_size(getattr(model, name)) for name in ("means_", "rotations_", "scalings_", "priors_"))
    every = frozenset(range(int(model.n_features_in_)))
    return Part(_name(model), "means and covariances", size, size, size, used=every)


def _centroids(model: Any) -> Part | None:
    held = getattr(model, "centroids_", None)
    if held is None:
        return None
    size = _size(held)
    every = frozenset(range(int(model.n_features_in_)))
    return Part(_name(model), "numbers in centroids", size, size, size, used=every)


def _constant(model: Any) -> Part | None:
    """What looks at no feature: a dummy, or the stand-in of a class that has no counterpart."""
    if type(model).__name__ not in ("DummyClassifier", "_ConstantPredictor"):
        return None
    size = _size(getattr(model, "class_prior_", None)) or 1
    return Part(_name(model), "shares of classes", size, 1, 0, used=frozenset())


def _calibrator(model: Any) -> Part | None:
    if hasattr(model, "a_") and hasattr(model, "b_"):
        return Part(_name(model), "numbers of the calibration", 2, 2, 2)
    steps = getattr(model, "X_thresholds_", None)
    if steps is not None:
        return Part(_name(model), "numbers of the calibration", 2 * _size(steps), _size(steps), 1)
    beta = getattr(model, "beta_", None)
    return None if beta is None else Part(_name(model), "numbers of the calibration", _size(beta), _size(beta), 1)


def _tensors(model: Any) -> Part | None:
    """A network of PyTorch, or of whatever else lists its tensors so."""
    listed = getattr(getattr(model, "module_", model), "parameters", None)
    if not callable(listed):
        return None
    size = sum(int(tensor.numel()) for tensor in listed())
    return Part(_name(model), "weights", size, size, size)


RULES: tuple[Callable[[Any], Part | None], ...] = (
    _tree, _boosted, _vectors, _linear, _neighbours, _network, _bayes, _quadratic, _centroids, _process, _constant,
    _calibrator, _tensors,
)  # fmt: skip


def _name(model: Any) -> str:
    return type(model).__name__.lstrip("_")


def _size(held: Any) -> int:
    """How many numbers there are in an array, a sparse matrix, a list of arrays, or one number."""
    if held is None:
        return 0
    if isinstance(held, list | tuple):
        return sum(map(_size, held))
    if hasattr(held, "toarray"):
        return int(held.shape[0]) * int(held.shape[1])
    return int(np.asarray(held).size)
