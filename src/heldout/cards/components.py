"""A fitted model taken apart: single predictors, and the columns of the data behind each column that they see."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

# Which columns of the data stand behind each column that a predictor sees, through the steps before it.

Sources = tuple[frozenset[int], ...]

# Steps whose every output column comes from the input column at the same place.
ELEMENTWISE = frozenset(
    {
        "Binarizer",
        "MaxAbsScaler",
        "MinMaxScaler",
        "OrdinalEncoder",
        "PowerTransformer",
        "QuantileTransformer",
        "RobustScaler",
        "StandardScaler",
    }
)


def identity(width: int) -> Sources:
    """Every column comes from itself.

    >>> identity(2) == (frozenset({0}), frozenset({1}))
    True
    """
    return tuple(frozenset({column}) for column in range(width))


def through(step: Any, sources: Sources | None) -> Sources | None:
    """The columns behind each column that a fitted step gives; None where its ways are not known.

    >>> from sklearn.preprocessing import OneHotEncoder
    >>> [sorted(one) for one in through(OneHotEncoder().fit([["a", 1], ["b", 1]]), identity(2))]
    [[0], [0], [1]]
    """
    if sources is None:
        return None
    if step is None or (isinstance(step, str) and step == "passthrough"):
        return sources
    known = _KNOWN.get(type(step).__name__)
    if known is not None:
        return known(step, sources)
    if type(step).__name__ in ELEMENTWISE:
        return sources
    return _taken(sources, np.asarray(step.get_support(), dtype=bool)) if hasattr(step, "get_support") else None


def _pipeline(step: Any, sources: Sources) -> Sources | None:
    found: Sources | None = sources
    for _, inner in step.steps:
        found = through(inner, found)
    return found


def _imputed(step: Any, sources: Sources) -> Sources | None:
    """A column without any value in the training rows is dropped, unless it was to be kept."""
    kept = np.ones(len(sources), dtype=bool) if step.keep_empty_features else ~_is_nan(step.statistics_)
    return None if step.add_indicator else _taken(sources, kept)


def _one_hot(step: Any, sources: Sources) -> Sources | None:
    # Categories may have been dropped or put together; only the encoder knows how many columns that leaves.
    widths = getattr(step, "_n_features_outs", None) or [len(one) for one in step.categories_]
    return tuple(source for source, times in zip(sources, widths, strict=True) for _ in range(times))


def _binned(step: Any, sources: Sources) -> Sources | None:
    widths = [len(edges) + 1 + gaps for edges, gaps in zip(step.edges_, step.gaps_, strict=True)]
    return tuple(source for source, times in zip(sources, widths, strict=True) for _ in range(times))


def _function(step: Any, sources: Sources) -> Sources | None:
    # What passes through a ColumnTransformer is a function of nothing.
    return sources if step.func is None else None


def _is_nan(values: Any) -> Any:
    held = np.asarray(values).tolist()
    return np.array([value is None or (isinstance(value, float) and math.isnan(value)) for value in held], dtype=bool)


def _taken(sources: Sources, kept: Any) -> Sources | None:
    if len(kept) != len(sources):
        return None
    return tuple(source for source, keep in zip(sources, kept, strict=True) if keep)


def _columnwise(step: Any, sources: Sources) -> Sources | None:
    made: dict[int, frozenset[int]] = {}
    for name, inner, columns in step.transformers_:
        where = step.output_indices_.get(name, slice(0, 0))
        if isinstance(inner, str) and inner == "drop":
            continue
        places = _places(columns, len(sources), getattr(step, "feature_names_in_", None))
        if places is None:
            return None
        found = through(inner, tuple(sources[place] for place in places)) if places else ()
        if found is None or len(found) != where.stop - where.start:
            return None
        made |= dict(zip(range(where.start, where.stop), found, strict=True))
    return tuple(made[at] for at in range(len(made))) if set(made) == set(range(len(made))) else None


def _places(columns: Any, width: int, names: Any) -> list[int] | None:
    """The numbers of columns that were given by number, by name, as a slice or as a mask."""
    if isinstance(columns, slice) and not isinstance(columns.start, str) and not isinstance(columns.stop, str):
        return list(range(width))[columns]
    if isinstance(columns, str | int):
        columns = [columns]
    if isinstance(columns, slice) or not isinstance(columns, Sequence | np.ndarray):
        return None
    given = list(columns)
    if given and all(isinstance(one, bool | np.bool_) for one in given):
        return np.flatnonzero(given).tolist()
    if all(isinstance(one, str) for one in given):
        known = [] if names is None else list(names)
        return [known.index(one) for one in given] if set(given) <= set(known) else None
    return [int(one) % width for one in given]


_KNOWN: dict[str, Callable[[Any, Sources], Sources | None]] = {
    "ColumnTransformer": _columnwise,
    "FunctionTransformer": _function,
    "OneHotEncoder": _one_hot,
    "Pipeline": _pipeline,
    "QuantileBins": _binned,
    "SimpleImputer": _imputed,
}


# What one fitted predictor is made of: coefficients, questions, stored cases, weights, as its kind has them.

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


# A fitted model taken apart: pipelines, searches, committees and calibrations down to single predictors.


# Wrappers inside wrappers, deeper than anybody builds them; an object that holds itself must end somewhere.
DEEPEST = 20


@dataclass(frozen=True, slots=True)
class Found:
    """A predictor, the columns of the data behind each of its own, and whether it sees answers of others instead."""

    part: Part
    sources: Sources | None
    derived: bool = False


@dataclass(eq=False)
class Unwrapped:
    """The predictors of a model, and how many numbers its preparation learned."""

    found: list[Found] = field(default_factory=list)
    preparation: int = 0

    @classmethod
    def of(cls, model: Any, width: int) -> Unwrapped:
        """Take a model apart that was fitted on so many columns.

        >>> from sklearn.ensemble import BaggingClassifier
        >>> from sklearn.tree import DecisionTreeClassifier
        >>> bag = BaggingClassifier(DecisionTreeClassifier(), n_estimators=3, random_state=0)
        >>> len(Unwrapped.of(bag.fit([[1], [2], [3], [4]], [0, 0, 1, 1]), 1).found)
        3
        """
        made = cls()
        made._walk(model, identity(width), derived=False, depth=0)
        return made

    def _walk(self, model: Any, sources: Sources | None, *, derived: bool, depth: int) -> None:
        inner = [] if depth > DEEPEST else list(self._inside(model, sources, derived=derived))
        if not inner:
            self.found.append(Found(part_of(model), sources, derived))
        for one, behind, follows in inner:
            self._walk(one, behind, derived=follows, depth=depth + 1)

    def _inside(self, model: Any, sources: Sources | None, *, derived: bool) -> Iterator[tuple[Any, Any, bool]]:
        """What a wrapper holds: each predictor, with the columns that it sees."""
        ahead, last = _steps(model)
        if last is not None:
            for step in ahead:
                self.preparation += learned_numbers(step)
                sources = through(step, sources)
            yield last, sources, derived
        elif (best := _single(model)) is not None:
            support = getattr(model, "support_", None)
            chosen = support is not None and sources is not None and len(support) == len(sources)
            if chosen and hasattr(model, "get_support"):
                sources = through(model, sources)
            yield best, sources, derived
        elif isinstance(getattr(model, "calibrated_classifiers_", None), list):
            for pair in model.calibrated_classifiers_:
                yield pair.estimator, sources, derived
                for calibrator in pair.calibrators:
                    yield calibrator, None, True
        elif (members := _members(model)) is not None:
            columns = getattr(model, "estimators_features_", None)
            for at, member in enumerate(members):
                seen = sources
                if columns is not None and sources is not None:
                    seen = tuple(sources[int(column)] for column in columns[at])
                yield member, seen, derived
            if getattr(model, "final_estimator_", None) is not None:
                yield model.final_estimator_, None, True


def _steps(model: Any) -> tuple[list[Any], Any]:
    """The steps before the predictor, and the predictor; None where the model is no pipeline."""
    steps = getattr(model, "steps", None)
    if isinstance(steps, list) and steps and all(isinstance(step, tuple) for step in steps):
        return [step for _, step in steps[:-1]], steps[-1][1]
    if type(model).__name__ == "Chain" and hasattr(model, "encoder"):
        return [model.encoder], model.learner
    return [], None


def _single(model: Any) -> Any:
    """The one fitted predictor that a wrapper holds, if it holds one."""
    for name in ("best_estimator_", "estimator_", "base_estimator_"):
        inner = getattr(model, name, None)
        if hasattr(inner, "predict") and not hasattr(model, "estimators_"):
            return inner
    if type(model).__name__ == "FrozenEstimator":
        return model.estimator
    return None


def _members(model: Any) -> list[Any] | None:
    held = getattr(model, "estimators_", None)
    if isinstance(held, np.ndarray):
        held = held.ravel().tolist()
    if not isinstance(held, list | tuple) or not held:
        return None
    # Some voters may have been dropped.
    return [member for member in held if hasattr(member, "predict")] or None


def learned_numbers(step: Any) -> int:
    """How many numbers a step of the preparation keeps from its training cases.

    >>> from sklearn.preprocessing import StandardScaler
    >>> learned_numbers(StandardScaler().fit([[1.0, 2.0], [3.0, 5.0]]))
    4
    """
    if step is None or isinstance(step, str):
        return 0
    for name in ("transformers_", "steps", "transformer_list"):
        inner = getattr(step, name, None)
        if isinstance(inner, list):
            return sum(learned_numbers(one[1]) for one in inner)
    held = {k: v for k, v in getattr(step, "__dict__", {}).items() if k.endswith("_") and not k.startswith("_")}
    if "scale_" in held:
        # The variance says the same again.
        held.pop("var_", None)
    return sum(_numbers(value) for name, value in held.items() if name not in ("feature_names_in_", "classes_"))


def _numbers(value: Any) -> int:
    if isinstance(value, np.ndarray):
        return int(value.size)
    if isinstance(value, list):
        return sum(_numbers(one) for one in value)
    return 0
