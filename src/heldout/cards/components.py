"""A fitted model taken apart: single predictors, and the columns of the data behind each column that they see.

It knows the insides of scikit-learn's estimators, of which the sizes and speeds that are made from it know nothing.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

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


def make_identity(width: int) -> Sources:
    """Every column comes from itself.

    >>> make_identity(2) == (frozenset({0}), frozenset({1}))
    True
    """
    return tuple(frozenset({column}) for column in range(width))


def trace_columns(step: Any, sources: Sources | None) -> Sources | None:
    """The columns behind each column that a fitted step gives; None where its ways are not known.

    >>> from sklearn.preprocessing import OneHotEncoder
    >>> [sorted(one) for one in trace_columns(OneHotEncoder().fit([["a", 1], ["b", 1]]), make_identity(2))]
    [[0], [0], [1]]
    """
    if sources is None:
        return None
    if step is None or (isinstance(step, str) and step == "passthrough"):
        return sources
    known = _TRACERS.get(type(step).__name__)
    if known is not None:
        return known(step, sources)
    if type(step).__name__ in ELEMENTWISE:
        return sources
    return (
        _select_columns(sources, np.asarray(step.get_support(), dtype=bool)) if hasattr(step, "get_support") else None
    )


def _trace_pipeline(step: Any, sources: Sources) -> Sources | None:
    traced: Sources | None = sources
    for _, inner in step.steps:
        traced = trace_columns(inner, traced)
    return traced


def _trace_imputer(step: Any, sources: Sources) -> Sources | None:
    """A column without any value in the training rows is dropped, unless it was to be kept."""
    is_kept = np.ones(len(sources), dtype=bool) if step.keep_empty_features else ~_is_nan(step.statistics_)
    return None if step.add_indicator else _select_columns(sources, is_kept)


def _trace_one_hot(step: Any, sources: Sources) -> Sources | None:
    # Categories may have been dropped or put together; only the encoder knows how many columns that leaves.
    widths = getattr(step, "_n_features_outs", None) or [len(categories) for categories in step.categories_]
    return tuple(source for source, times in zip(sources, widths, strict=True) for _ in range(times))


def _trace_bins(step: Any, sources: Sources) -> Sources | None:
    widths = [len(edges) + 1 + gaps for edges, gaps in zip(step.edges_, step.gaps_, strict=True)]
    return tuple(source for source, times in zip(sources, widths, strict=True) for _ in range(times))


def _trace_function(step: Any, sources: Sources) -> Sources | None:
    # A ColumnTransformer's "passthrough" is a FunctionTransformer without a function.
    return sources if step.func is None else None


def _is_nan(values: Any) -> Any:
    plain = np.asarray(values).tolist()
    return np.array([value is None or (isinstance(value, float) and math.isnan(value)) for value in plain], dtype=bool)


def _select_columns(sources: Sources, kept: Any) -> Sources | None:
    if len(kept) != len(sources):
        return None
    return tuple(source for source, keep in zip(sources, kept, strict=True) if keep)


def _trace_column_transformer(step: Any, sources: Sources) -> Sources | None:
    traced: dict[int, frozenset[int]] = {}
    for name, inner, columns in step.transformers_:
        where = step.output_indices_.get(name, slice(0, 0))
        if isinstance(inner, str) and inner == "drop":
            continue
        numbers = _resolve_columns(columns, len(sources), getattr(step, "feature_names_in_", None))
        if numbers is None:
            return None
        outputs = trace_columns(inner, tuple(sources[column] for column in numbers)) if numbers else ()
        if outputs is None or len(outputs) != where.stop - where.start:
            return None
        traced |= dict(zip(range(where.start, where.stop), outputs, strict=True))
    return tuple(traced[at] for at in range(len(traced))) if set(traced) == set(range(len(traced))) else None


def _resolve_columns(columns: Any, width: int, names: Any) -> list[int] | None:
    """The numbers of columns that were given by number, by name, as a slice or as a mask."""
    if isinstance(columns, slice) and not isinstance(columns.start, str) and not isinstance(columns.stop, str):
        return list(range(width))[columns]
    if isinstance(columns, str | int):
        columns = [columns]
    if isinstance(columns, slice) or not isinstance(columns, Sequence | np.ndarray):
        return None
    given = list(columns)
    if given and all(isinstance(column, bool | np.bool_) for column in given):
        return np.flatnonzero(given).tolist()
    if all(isinstance(column, str) for column in given):
        known = [] if names is None else list(names)
        return [known.index(column) for column in given] if set(given) <= set(known) else None
    return [int(column) % width for column in given]


_TRACERS: dict[str, Callable[[Any, Sources], Sources | None]] = {
    "ColumnTransformer": _trace_column_transformer,
    "FunctionTransformer": _trace_function,
    "OneHotEncoder": _trace_one_hot,
    "Pipeline": _trace_pipeline,
    "QuantileBins": _trace_bins,
    "SimpleImputer": _trace_imputer,
}


Columns = frozenset[int]


@dataclass(frozen=True, slots=True)
class ModelPart:
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


def describe_part(model: Any) -> ModelPart:
    """The parts of a fitted predictor that is no wrapper; what is not known is said.

    >>> from sklearn.tree import DecisionTreeClassifier
    >>> found = describe_part(DecisionTreeClassifier().fit([[1], [2], [3]], [0, 1, 1]))
    >>> found.leaves, found.depth, found.parameters, sorted(found.used)
    (2, 1, 1, [0])
    """
    for rule in DESCRIBERS:
        try:
            part = rule(model)
        except (AttributeError, TypeError, ValueError, IndexError, KeyError, NotImplementedError):
            # The object has an attribute of that name with another meaning.
            continue
        if part is not None:
            return part
    name = type(model).__name__
    nan = math.nan
    return ModelPart(name, "", nan, nan, nan, unknown=f"a {name} says nothing of its parts in any way known here")


def _describe_tree(model: Any) -> ModelPart | None:
    tree: Any = getattr(model, "tree_", None)
    if not hasattr(tree, "children_left"):
        return None
    leaves, depth = int(tree.n_leaves), int(tree.max_depth)
    used = frozenset(tree.feature[tree.feature >= 0].tolist())
    questions = int(tree.node_count) - leaves
    return ModelPart(
        _name(model), "questions", questions, leaves, depth, trees=1, leaves=leaves, depth=depth, used=used
    )


def _describe_boosted(model: Any) -> ModelPart | None:
    """Trees of histogram gradient boosting, which are no estimators of their own."""
    rounds = getattr(model, "_predictors", None)
    if not isinstance(rounds, list):
        return None
    trees = [tree for round_ in rounds for tree in round_]
    leaves = sum(int(tree.get_n_leaf_nodes()) for tree in trees)
    depths = [int(tree.get_max_depth()) for tree in trees]
    questions_of = [tree.nodes["feature_idx"][tree.nodes["is_leaf"] == 0].tolist() for tree in trees]
    used = frozenset(column for columns in questions_of for column in columns)
    questions = sum(map(len, questions_of))
    most = max(depths, default=0)
    return ModelPart(
        _name(model),
        "questions",
        questions,
        leaves,
        sum(depths),
        trees=len(trees),
        leaves=leaves,
        depth=most,
        used=used,
    )


def _describe_linear(model: Any) -> ModelPart | None:
    if getattr(model, "coef_", None) is None:
        return None
    weights = model.coef_
    coefficients = np.atleast_2d(
        np.asarray(weights.toarray() if hasattr(weights, "toarray") else weights, dtype=np.float64)
    )
    terms = int(np.count_nonzero(coefficients))
    used = frozenset(np.flatnonzero(coefficients.any(axis=0)).tolist())
    size = coefficients.size + _count_numbers(getattr(model, "intercept_", None))
    return ModelPart(_name(model), "coefficients", size, terms, terms, used=used)


def _describe_support_vectors(model: Any) -> ModelPart | None:
    if getattr(model, "support_vectors_", None) is None or getattr(model, "kernel", "") == "linear":
        return None
    vectors = model.support_vectors_
    number, width = (int(side) for side in vectors.shape)
    if not width:
        # A kernel that was worked out beforehand, or is a function: the vectors are numbers of cases.
        number, width = len(model.support_), int(model.n_features_in_)
    size = number * width + _count_numbers(model.dual_coef_) + _count_numbers(model.intercept_)
    every = frozenset(range(width))
    return ModelPart(_name(model), "numbers in support vectors", size, number, number, vectors=number, used=every)


def _describe_neighbours(model: Any) -> ModelPart | None:
    if getattr(model, "n_samples_fit_", None) is None or not hasattr(model, "_fit_X"):
        return None
    cases, width = int(model.n_samples_fit_), int(model.n_features_in_)
    k = getattr(model, "n_neighbors", None)
    consulted = cases if k is None else min(int(k), cases)
    every = frozenset(range(width))
    return ModelPart(_name(model), "numbers in stored cases", cases * width, cases, consulted, cases=cases, used=every)


def _describe_gaussian_process(model: Any) -> ModelPart | None:
    """A Gaussian process keeps the cases that it was trained on."""
    if getattr(model, "X_train_", None) is None:
        return None
    cases, width = (int(side) for side in np.asarray(model.X_train_).shape)
    every = frozenset(range(width))
    return ModelPart(_name(model), "numbers in stored cases", cases * width, cases, cases, cases=cases, used=every)


def _describe_network(model: Any) -> ModelPart | None:
    layers = getattr(model, "coefs_", None)
    if not isinstance(layers, list):
        return None
    size = sum(map(_count_numbers, layers)) + sum(map(_count_numbers, model.intercepts_))
    used = frozenset(np.flatnonzero(np.asarray(layers[0]).any(axis=1)).tolist())
    return ModelPart(_name(model), "weights", size, size, size, used=used)


def _describe_naive_bayes(model: Any) -> ModelPart | None:
    """Naive Bayes: one factor for each feature and class."""
    factors = getattr(model, "theta_", None)
    if factors is None:
        factors = getattr(model, "feature_log_prob_", None)
    if factors is None:
        return None
    priors = getattr(model, "class_prior_", None)
    prior = _count_numbers(priors if priors is not None else model.class_log_prior_)
    size = _count_numbers(factors) + prior
    size += sum(_count_numbers(getattr(model, name, None)) for name in ("var_", "deviation_"))
    size += sum(map(_count_numbers, getattr(model, "shares_", {}).values()))
    every = frozenset(range(int(model.n_features_in_)))
    factors_met = int(model.n_features_in_) * prior
    return ModelPart(_name(model), "probabilities and moments", size, factors_met, factors_met, used=every)


def _describe_quadratic(model: Any) -> ModelPart | None:
    if getattr(model, "means_", None) is None or getattr(model, "rotations_", None) is None:
        return None
    size = sum(_count_numbers(getattr(model, name)) for name in ("means_", "rotations_", "scalings_", "priors_"))
    every = frozenset(range(int(model.n_features_in_)))
    return ModelPart(_name(model), "means and covariances", size, size, size, used=every)


def _describe_centroids(model: Any) -> ModelPart | None:
    centroids = getattr(model, "centroids_", None)
    if centroids is None:
        return None
    size = _count_numbers(centroids)
    every = frozenset(range(int(model.n_features_in_)))
    return ModelPart(_name(model), "numbers in centroids", size, size, size, used=every)


def _describe_constant(model: Any) -> ModelPart | None:
    """What looks at no feature: a dummy, or the stand-in of a class that has no counterpart."""
    if type(model).__name__ not in ("DummyClassifier", "_ConstantPredictor"):
        return None
    size = _count_numbers(getattr(model, "class_prior_", None)) or 1
    return ModelPart(_name(model), "shares of classes", size, 1, 0, used=frozenset())


def _describe_calibrator(model: Any) -> ModelPart | None:
    what = "numbers of the calibration"
    if hasattr(model, "a_") and hasattr(model, "b_"):
        return ModelPart(_name(model), what, 2, 2, 2)
    steps, beta = (_count_numbers(getattr(model, name, None)) for name in ("X_thresholds_", "beta_"))
    if not steps and not beta:
        return None
    return ModelPart(_name(model), what, 2 * steps, steps, 1) if steps else ModelPart(_name(model), what, beta, beta, 1)


def _describe_tensors(model: Any) -> ModelPart | None:
    """A network of PyTorch, or of whatever else lists its tensors so."""
    listed = getattr(getattr(model, "module_", model), "parameters", None)
    if not callable(listed):
        return None
    size = sum(int(tensor.numel()) for tensor in listed())
    return ModelPart(_name(model), "weights", size, size, size)


DESCRIBERS: tuple[Callable[[Any], ModelPart | None], ...] = (
    _describe_tree, _describe_boosted, _describe_support_vectors, _describe_linear, _describe_neighbours,
    _describe_network, _describe_naive_bayes, _describe_quadratic, _describe_centroids, _describe_gaussian_process,
    _describe_constant, _describe_calibrator, _describe_tensors,
)  # fmt: skip


def _name(model: Any) -> str:
    return type(model).__name__.lstrip("_")


def _count_numbers(values: Any) -> int:
    """How many numbers there are in an array, a sparse matrix, a list of arrays, or one number."""
    if values is None:
        return 0
    if isinstance(values, list | tuple):
        return sum(map(_count_numbers, values))
    if hasattr(values, "toarray"):
        return int(values.shape[0]) * int(values.shape[1])
    return int(np.asarray(values).size)


# The deepest nesting of wrappers that is followed, so that an object that holds itself ends.
DEEPEST = 20


@dataclass(frozen=True, slots=True)
class TracedPart:
    """A predictor, the columns of the data behind each of its own, and whether it sees answers of others instead."""

    part: ModelPart
    sources: Sources | None
    derived: bool = False


@dataclass(eq=False)
class Unwrapped:
    """The predictors of a model, and how many numbers its preparation learned."""

    found: list[TracedPart] = field(default_factory=list)
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
        unwrapped = cls()
        unwrapped._walk(model, make_identity(width), derived=False, depth=0)
        return unwrapped

    def _walk(self, model: Any, sources: Sources | None, *, derived: bool, depth: int) -> None:
        inner = [] if depth > DEEPEST else list(self._inside(model, sources, derived=derived))
        if not inner:
            self.found.append(TracedPart(describe_part(model), sources, derived))
        for part, behind, follows in inner:
            self._walk(part, behind, derived=follows, depth=depth + 1)

    def _inside(self, model: Any, sources: Sources | None, *, derived: bool) -> Iterator[tuple[Any, Any, bool]]:
        """What a wrapper holds: each predictor, with the columns that it sees."""
        ahead, last = _split_pipeline(model)
        if last is not None:
            for step in ahead:
                self.preparation += count_learned_numbers(step)
                sources = trace_columns(step, sources)
            yield last, sources, derived
        elif (best := _find_single(model)) is not None:
            support = getattr(model, "support_", None)
            chosen = support is not None and sources is not None and len(support) == len(sources)
            if chosen and hasattr(model, "get_support"):
                sources = trace_columns(model, sources)
            yield best, sources, derived
        elif isinstance(getattr(model, "calibrated_classifiers_", None), list):
            for pair in model.calibrated_classifiers_:
                yield pair.estimator, sources, derived
                for calibrator in pair.calibrators:
                    yield calibrator, None, True
        elif (members := _find_members(model)) is not None:
            columns = getattr(model, "estimators_features_", None)
            for at, member in enumerate(members):
                visible = sources
                if columns is not None and sources is not None:
                    visible = tuple(sources[int(column)] for column in columns[at])
                yield member, visible, derived
            if getattr(model, "final_estimator_", None) is not None:
                yield model.final_estimator_, None, True


def _split_pipeline(model: Any) -> tuple[list[Any], Any]:
    """The steps before the predictor, and the predictor; None where the model is no pipeline."""
    steps = getattr(model, "steps", None)
    if isinstance(steps, list) and steps and all(isinstance(step, tuple) for step in steps):
        return [step for _, step in steps[:-1]], steps[-1][1]
    if type(model).__name__ == "Chain" and hasattr(model, "encoder"):
        return [model.encoder], model.learner
    return [], None


def _find_single(model: Any) -> Any:
    """The one fitted predictor that a wrapper holds, if it holds one."""
    for name in ("best_estimator_", "estimator_", "base_estimator_"):
        inner = getattr(model, name, None)
        if hasattr(inner, "predict") and not hasattr(model, "estimators_"):
            return inner
    if type(model).__name__ == "FrozenEstimator":
        return model.estimator
    return None


def _find_members(model: Any) -> list[Any] | None:
    members = getattr(model, "estimators_", None)
    if isinstance(members, np.ndarray):
        members = members.ravel().tolist()
    if not isinstance(members, list | tuple) or not members:
        return None
    # Some voters may have been dropped.
    return [member for member in members if hasattr(member, "predict")] or None


def count_learned_numbers(step: Any) -> int:
    """How many numbers a step of the preparation keeps from its training cases.

    >>> from sklearn.preprocessing import StandardScaler
    >>> count_learned_numbers(StandardScaler().fit([[1.0, 2.0], [3.0, 5.0]]))
    4
    """
    if step is None or isinstance(step, str):
        return 0
    for name in ("transformers_", "steps", "transformer_list"):
        inner = getattr(step, name, None)
        if isinstance(inner, list):
            return sum(count_learned_numbers(entry[1]) for entry in inner)
    learned = {k: v for k, v in getattr(step, "__dict__", {}).items() if k.endswith("_") and not k.startswith("_")}
    if "scale_" in learned:
        # The variance is another parameter for the same thing, so it is not counted.
        learned.pop("var_", None)
    return sum(
        _count_array_numbers(value) for name, value in learned.items() if name not in ("feature_names_in_", "classes_")
    )


def _count_array_numbers(value: Any) -> int:
    if isinstance(value, np.ndarray):
        return int(value.size)
    if isinstance(value, list):
        return sum(_count_array_numbers(item) for item in value)
    return 0
