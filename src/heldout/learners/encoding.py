"""What must happen to the columns before a learner sees them, as a pipeline that is fitted inside every fold.

Everything that is learned from the data (medians, means, edges of bins, which categories exist) is learned from the
training rows alone. The codes of categories say nothing but which rows have the same one.
"""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from heldout.arguments import listing
from heldout.arrays import Floats
from heldout.errors import ValuesError
from heldout.learners.learner import (
    Chain,
    Clonable,
    Learner,
    clone_learner,
    is_wrapper,
    knows_sklearn,
    takes_missing,
    takes_sparse,
)
from heldout.learners.problem import Problem
from heldout.learners.registry import find_shortcut
from heldout.predictions.label_encoding import is_missing

BINS = 10
# From this many categories on, most of a row would be zeros.
MANY_CATEGORIES = 200


def prepare_learner(learner: Learner, problem: Problem) -> Any:
    """The learner's estimator, behind whatever its columns need; the bare estimator where they need nothing.

    Numbers: gaps get the median where the learner cannot take them, and are scaled where it asks for that. Categories:
    one column of zeros and ones for each, a missing value being a category of its own.

    >>> from heldout.learners.data import read_problem
    >>> from heldout.learners.learner import read_learner
    >>> problem = read_problem([[1.0], [2.0]], ["no", "yes"])
    >>> prepare_learner(read_learner("knn:1"), problem)
    KNeighborsClassifier(n_neighbors=1)
    >>> [name for name, _ in prepare_learner(read_learner("svm"), problem).steps]
    ['standardscaler', 'svc']
    """
    features = problem.features
    # A dummy does not look at the features.
    if problem.as_given or type(learner.estimator).__name__ == "DummyClassifier":
        return learner.estimator
    if learner.nominal == "codes":
        return _give_header(learner.estimator, problem)
    if problem.nominal:
        return _chain(_make_column_steps(learner, problem), _choose_estimator(learner))
    steps = _make_number_steps(learner, features)
    if not steps:
        return learner.estimator
    from sklearn.pipeline import make_pipeline

    if knows_sklearn(learner.estimator):
        return make_pipeline(*steps, learner.estimator)
    return _chain(make_pipeline(*steps), learner.estimator)


def _give_header(estimator: Any, problem: Problem) -> Any:
    """A copy of a learner that takes codes, with what the header of an ARFF file says: all classes and categories.

    A file without a header has those that it holds, as when Weka reads it: their number is known beforehand, and how
    often each occurs is learned from the training rows.
    """
    counts = {at: len(column.categories) for at, column in problem.nominal.items()}
    return clone_learner(estimator).set_params(classes=problem.labels, categories=counts)


def _chain(encoder: Any, estimator: Any) -> Any:
    if not knows_sklearn(estimator):
        return Chain(encoder, estimator)
    from sklearn.pipeline import make_pipeline

    return make_pipeline(encoder, estimator)


def _choose_estimator(learner: Learner) -> Any:
    """With categories, naive Bayes counts zeros and ones instead of fitting normal distributions."""
    if learner.nominal != "binned":
        return learner.estimator
    from sklearn.naive_bayes import BernoulliNB

    return BernoulliNB(binarize=None)


def _make_number_steps(learner: Learner, features: Any) -> list[Any]:
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
    values = features.tocsr().data if hasattr(features, "tocsr") else features
    return bool(values.dtype.kind == "f" and np.isnan(values).any())


def _make_column_steps(learner: Learner, problem: Problem) -> Any:
    from sklearn.compose import ColumnTransformer
    from sklearn.pipeline import make_pipeline

    parts: list[tuple[str, Any, list[int]]] = []
    numeric = [i for i in range(problem.features.shape[1]) if i not in problem.nominal]
    if numeric and learner.nominal == "binned":
        parts.append(("numeric", QuantileBins(BINS), numeric))
    elif numeric:
        steps = _make_number_steps(learner, problem.features[:, numeric])
        parts.append(("numeric", make_pipeline(*steps) if steps else "passthrough", numeric))
    declared = sorted(i for i, column in problem.nominal.items() if column.declared)
    undeclared = sorted(i for i, column in problem.nominal.items() if not column.declared)
    wide = sum(len(column.categories) for column in problem.nominal.values()) > MANY_CATEGORIES
    sparse = wide and takes_sparse(_choose_estimator(learner))
    if declared:
        parts.append(("declared", _make_one_hot([_list_codes(problem, i) for i in declared], sparse=sparse), declared))
    if undeclared:
        parts.append(("met", _make_one_hot("auto", sparse=sparse), undeclared))
    return ColumnTransformer(parts, sparse_threshold=1.0 if sparse else 0.0)


def _make_one_hot(categories: Any, *, sparse: bool) -> Any:
    from sklearn.preprocessing import OneHotEncoder

    return OneHotEncoder(categories=categories, handle_unknown="ignore", sparse_output=sparse)


def _list_codes(problem: Problem, column: int) -> Any:
    """The codes of declared categories; a gap is one more where some row has one."""
    codes = np.arange(len(problem.nominal[column].categories), dtype=np.float64)
    return np.append(codes, np.nan) if np.isnan(problem.features[:, column]).any() else codes


# Numbers into bins that hold equally many training cases each, one column of zeros and ones for every bin.


class QuantileBins(Clonable):
    """A transformer for pipelines: the bins are those of the rows it was fitted on, and gaps are a bin of their own.

    scikit-learn's KBinsDiscretizer refuses gaps, and warns in every fold about columns of few distinct values, where
    having fewer bins is right.

    >>> QuantileBins(2).fit(np.array([[1.0], [2.0], [3.0], [4.0]])).transform(np.array([[1.5], [9.0]]))
    array([[1., 0.],
           [0., 1.]])
    """

    def __init__(self, bins: int = 10) -> None:
        self.bins = bins

    def __sklearn_tags__(self) -> Any:
        from sklearn.utils import InputTags, Tags, TargetTags, TransformerTags

        return Tags(
            estimator_type="transformer",
            target_tags=TargetTags(required=False),
            transformer_tags=TransformerTags(),
            input_tags=InputTags(allow_nan=True),
        )

    def fit(self, X: Any, y: Any = None) -> Self:  # noqa: ARG002 - pipelines pass the classes too
        """Find the inner edges of the bins of each column."""
        table = np.asarray(X, dtype=np.float64)
        inner = np.linspace(0, 1, self.bins + 1)[1:-1]
        self.edges_: list[Floats] = []
        self.gaps_: list[bool] = []
        for column in table.T:
            known = column[~np.isnan(column)]
            edges = np.unique(np.quantile(known, inner)) if len(known) else np.empty(0)
            # Of several edges between two values that follow each other one is enough: no bin stays empty.
            occupied = np.unique(np.searchsorted(edges, known, side="right"))
            self.edges_.append(edges[occupied[1:] - 1])
            self.gaps_.append(len(known) < len(column))
        return self

    def transform(self, X: Any) -> Floats:
        """One column for each bin, 1 in the rows whose value lies in it; a value on an edge belongs above it."""
        table = np.asarray(X, dtype=np.float64)
        parts: list[Floats] = []
        for column, edges, gaps in zip(table.T, self.edges_, self.gaps_, strict=True):
            missing = np.isnan(column)
            bins = np.where(missing, len(edges) + 1, np.searchsorted(edges, column, side="right"))
            width = len(edges) + 1 + gaps
            # Gaps that the training rows did not have lie in no bin.
            parts.append((bins[:, None] == np.arange(width)).astype(np.float64))
        return np.hstack(parts) if parts else np.empty((len(table), 0))

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[Any]:
        """The name of each column of zeros and ones, for those who look into a fitted pipeline."""
        given = input_features if input_features is not None else [f"x{i}" for i in range(len(self.edges_))]
        return np.array(
            [
                f"{name}_{i}"
                for name, edges, gaps in zip(given, self.edges_, self.gaps_, strict=True)
                for i in range(len(edges) + 1 + gaps)
            ],
            dtype=object,
        )


def check_gaps(problem: Problem, learner: Learner) -> None:
    """Refuse features with gaps for a learner that says it cannot take them.

    Pipelines, searches and objects that say nothing of the kind are let pass: they may know what to do.

    >>> from heldout.learners.data import read_problem
    >>> from heldout.learners.learner import read_learner
    >>> check_gaps(read_problem([[1.0], [2.0]], ["no", "yes"]), read_learner("knn:1"))
    """
    estimator = learner.estimator
    if is_wrapper(estimator) or takes_missing(estimator) is not False:
        return
    rows, columns = _count_missing(problem)
    if not rows:
        return
    counts = [f"{name} ({count:,})" for name, count in zip(problem.column_names, columns, strict=True) if count]
    known = find_shortcut(estimator)
    raise ValuesError(
        f"{rows:,} of {problem.n:,} rows have missing values, in {listing(counts)}, and a "
        f"{type(estimator).__name__} cannot take them.",
        hint=f"put an imputer before it, make_pipeline(SimpleImputer(), {type(estimator).__name__}()), or name the "
        f"learner {known or 'logistic'!r}, which fills gaps inside the folds.",
    )


def _count_missing(problem: Problem) -> tuple[int, list[int]]:
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


def make_estimator(learner: Learner, problem: Problem) -> Any:
    """The estimator to fit, behind what its columns need; gaps that it cannot take are refused here."""
    if not learner.shortcut:
        check_gaps(problem, learner)
    return prepare_learner(learner, problem)
