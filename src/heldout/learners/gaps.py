"""Missing values among the features, where nothing fills them before the learner sees them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from heldout.arguments import listing
from heldout.errors import ValuesError
from heldout.learners.acceptance import shortcut_like
from heldout.learners.learner import Learner, is_wrapper, takes_missing
from heldout.learners.problem import Problem
from heldout.predictions.encode import is_missing


def check_gaps(problem: Problem, learner: Learner) -> None:
    """Refuse features with gaps for a learner that says it cannot take them.

    Pipelines, searches and objects that say nothing of the kind are let pass: they may know what to do.

    >>> from heldout.learners.data import read_problem
    >>> from heldout.learners.spec import read_learner
    >>> check_gaps(read_problem([[1.0], [2.0]], ["no", "yes"]), read_learner("knn:1"))
    """
    estimator = learner.estimator
    if is_wrapper(estimator) or takes_missing(estimator) is not False:
        return
    rows, columns = _gaps(problem)
    if not rows:
        return
    names = problem.names or [f"x{i}" for i in range(len(columns))]
    counts = [f"{name} ({count:,})" for name, count in zip(names, columns, strict=True) if count]
    known = shortcut_like(estimator)
    raise ValuesError(
        f"{rows:,} of {problem.n:,} rows have missing values, in {listing(counts)}, and a "
        f"{type(estimator).__name__} cannot take them.",
        hint=f"put an imputer before it, make_pipeline(SimpleImputer(), {type(estimator).__name__}()), or name the "
        f"learner {known or 'logistic'!r}, which fills gaps inside the folds.",
    )


def _gaps(problem: Problem) -> tuple[int, list[int]]:
    """How many rows have a missing value, and how many values each column misses."""
    features: Any = problem.features
    if hasattr(features, "tocoo"):
        entries = features.tocoo()
        bad = np.isnan(entries.data)
        return len(np.unique(entries.row[bad])), np.bincount(entries.col[bad], minlength=features.shape[1]).tolist()
    if isinstance(features, np.ndarray) and features.dtype.kind == "f":
        with np.errstate(over="ignore", invalid="ignore"):
            # One missing value makes the sum missing, so a sum that is none needs no second look.
            if not np.isnan(features.sum()):
                return 0, [0] * features.shape[1]
    missing = _is_missing(features)
    return int(missing.any(axis=1).sum()), missing.sum(axis=0).tolist()


def _is_missing(features: Any) -> NDArray[np.bool_]:
    if isinstance(features, np.ndarray):
        if features.dtype.kind == "f":
            return np.isnan(features)
        if features.dtype.kind != "O":
            return np.zeros(features.shape, dtype=bool)
        return np.array([[is_missing(value) for value in row] for row in features.tolist()], dtype=bool)
    import narwhals.stable.v2 as nw

    columns = nw.from_native(features, eager_only=True).iter_columns()
    return np.column_stack(
        [(c.is_null() | c.is_nan() if c.dtype.is_float() else c.is_null()).to_numpy() for c in columns]
    )
