"""What must happen to the columns before a learner sees them, as a pipeline that is fitted inside every fold.

Everything that is learned from the data (medians, means, edges of bins, which categories exist) is learned from the
training rows alone. The codes of categories say nothing but which rows have the same one.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from heldout.learners.chain import Chain
from heldout.learners.learner import Learner, knows_sklearn, takes_sparse
from heldout.learners.problem import Problem

BINS = 10
# From this many categories on, most of a row would be zeros.
MANY_CATEGORIES = 200


def prepared(learner: Learner, problem: Problem) -> Any:
    """The learner's estimator, behind whatever its columns need; the bare estimator where they need nothing.

    Numbers: gaps get the median where the learner cannot take them, and are scaled where it asks for that. Categories:
    one column of zeros and ones for each, a missing value being a category of its own.

    >>> from heldout.learners.data import read_problem
    >>> from heldout.learners.spec import read_learner
    >>> problem = read_problem([[1.0], [2.0]], ["no", "yes"])
    >>> prepared(read_learner("knn:1"), problem)
    KNeighborsClassifier(n_neighbors=1)
    >>> [name for name, _ in prepared(read_learner("svm"), problem).steps]
    ['standardscaler', 'svc']
    """
    features = problem.features
    # A dummy does not look at the features.
    if problem.as_given or type(learner.estimator).__name__ == "DummyClassifier":
        return learner.estimator
    if problem.nominal:
        return _behind(_columnwise(learner, problem), _estimator(learner))
    steps = _for_numbers(learner, features)
    if not steps:
        return learner.estimator
    from sklearn.pipeline import make_pipeline

    if knows_sklearn(learner.estimator):
        return make_pipeline(*steps, learner.estimator)
    return _behind(make_pipeline(*steps), learner.estimator)


def _behind(encoder: Any, estimator: Any) -> Any:
    if not knows_sklearn(estimator):
        return Chain(encoder, estimator)
    from sklearn.pipeline import make_pipeline

    return make_pipeline(encoder, estimator)


def _estimator(learner: Learner) -> Any:
    """With categories, naive Bayes counts zeros and ones instead of fitting normal distributions."""
    if learner.nominal != "binned":
        return learner.estimator
    from sklearn.naive_bayes import BernoulliNB

    return BernoulliNB(binarize=None)


def _for_numbers(learner: Learner, features: Any) -> list[Any]:
    """The steps that a matrix of numbers needs, dense or sparse."""
    sparse = hasattr(features, "tocsr")
    steps: list[Any] = []
    if not learner.takes_missing and has_gaps(features):
        from sklearn.impute import SimpleImputer

        # A column without any value in the training rows becomes 0 instead of vanishing with a warning.
        steps.append(SimpleImputer(strategy="median", keep_empty_features=True))
    if learner.scaled:
        from sklearn.preprocessing import StandardScaler

        # Taking off the mean would make every zero of a sparse matrix a number to be stored.
        steps.append(StandardScaler(with_mean=not sparse))
    return steps


def has_gaps(features: Any) -> bool:
    """Whether a matrix of numbers, dense or sparse, has a missing value.

    >>> has_gaps(np.array([[1.0, np.nan]])), has_gaps(np.array([[1, 2]]))
    (True, False)
    """
    held = features.tocsr().data if hasattr(features, "tocsr") else features
    return bool(held.dtype.kind == "f" and np.isnan(held).any())


def _columnwise(learner: Learner, problem: Problem) -> Any:
    from sklearn.compose import ColumnTransformer
    from sklearn.pipeline import make_pipeline

    parts: list[tuple[str, Any, list[int]]] = []
    numeric = [i for i in range(problem.features.shape[1]) if i not in problem.nominal]
    if numeric and learner.nominal == "binned":
        from heldout.learners.quantile_bins import QuantileBins

        parts.append(("numeric", QuantileBins(BINS), numeric))
    elif numeric:
        steps = _for_numbers(learner, problem.features[:, numeric])
        parts.append(("numeric", make_pipeline(*steps) if steps else "passthrough", numeric))
    declared = sorted(i for i, column in problem.nominal.items() if column.declared)
    met = sorted(i for i, column in problem.nominal.items() if not column.declared)
    wide = sum(len(column.categories) for column in problem.nominal.values()) > MANY_CATEGORIES
    sparse = wide and takes_sparse(_estimator(learner))
    if declared:
        parts.append(("declared", _one_hot([_codes(problem, i) for i in declared], sparse=sparse), declared))
    if met:
        parts.append(("met", _one_hot("auto", sparse=sparse), met))
    return ColumnTransformer(parts, sparse_threshold=1.0 if sparse else 0.0)


def _one_hot(categories: Any, *, sparse: bool) -> Any:
    from sklearn.preprocessing import OneHotEncoder

    return OneHotEncoder(categories=categories, handle_unknown="ignore", sparse_output=sparse)


def _codes(problem: Problem, column: int) -> Any:
    """The codes of declared categories; a gap is one more where some row has one."""
    codes = np.arange(len(problem.nominal[column].categories), dtype=np.float64)
    return np.append(codes, np.nan) if np.isnan(problem.features[:, column]).any() else codes
