"""Naive Bayes as Weka 3.9 makes it, for those who must find Weka's own predictions and probabilities again.

It differs from scikit-learn's in that numbers are rounded to the precision that the training rows seem to have been
measured with, in that nominal and numeric columns stand side by side, and in that a missing value says nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from heldout.arrays import Codes, Floats
from heldout.learners.learner import Clonable
from heldout.learners.problem import make_label_array

# The precision of a column that has a single value, or none.
ONE_VALUE = 0.01
# At most three standard deviations lie between a value and the end of its interval.
DEVIATIONS = 3
# Below this a standard deviation is taken for rounding, and nothing is known of the scale.
LEAST_SPREAD = 1e-10
# The smallest factor; where all products become smaller than this, they are multiplied by its inverse.
SMALLEST = 1e-75


class WekaNaiveBayes(Clonable):
    """A classifier for columns of numbers and of codes of categories; NaN is a missing value.

    `classes` lists the classes in their order, also those that a training part lacks, which Weka counts too.
    `categories` has the number of categories of each column that holds codes; the others hold numbers.

    >>> X, y = np.array([[1.0], [2.0], [7.0], [9.0]]), np.array(["a", "a", "b", "b"])
    >>> WekaNaiveBayes().fit(X, y).predict(np.array([[1.5], [np.nan]])).tolist()
    ['a', 'a']
    """

    def __init__(self, classes: Sequence[Any] | None = None, categories: Mapping[int, int] | None = None) -> None:
        self.classes = classes
        self.categories = categories

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"

    def __sklearn_tags__(self) -> Any:
        from sklearn.utils import ClassifierTags, InputTags, Tags, TargetTags

        return Tags(
            estimator_type="classifier",
            target_tags=TargetTags(required=True),
            classifier_tags=ClassifierTags(),
            input_tags=InputTags(allow_nan=True, sparse=True),
        )

    def fit(self, X: Any, y: Any) -> Self:
        """Count the classes and the categories, and find mean and deviation of the rounded numbers of each class."""
        table, codes = _as_matrix(X), self._encode(y)
        size, width = len(self.classes_), table.shape[1]
        counts = np.bincount(codes, minlength=size) + 1.0
        self.n_features_in_ = width
        self.class_prior_: Floats = counts / counts.sum()
        self.precision_: Floats = np.full(width, np.nan)
        self.theta_: Floats = np.full((size, width), np.nan)
        self.deviation_: Floats = np.full((size, width), np.nan)
        self.shares_: dict[int, Floats] = {}
        nominal = self.categories or {}
        for at, column in enumerate(table.T):
            known = ~np.isnan(column)
            values, of = column[known], codes[known]
            if at in nominal:
                self.shares_[at] = _share_out(values.astype(np.int64), of, size, nominal[at])
                continue
            self.precision_[at] = find_precision(values)
            self.theta_[:, at], self.deviation_[:, at] = _find_moments(values, of, size, self.precision_[at])
        return self

    def _encode(self, y: Any) -> Codes:
        """The place of the class of every row."""
        labels = np.asarray(y)
        self.classes_: NDArray[Any] = np.unique(labels) if self.classes is None else make_label_array(self.classes)
        index_of = {label: at for at, label in enumerate(self.classes_.tolist())}
        return np.array([index_of[label] for label in labels.tolist()], dtype=np.int64)

    def predict_proba(self, X: Any) -> Floats:
        """The probability of each class, in the order of `classes_`."""
        table = _as_matrix(X)
        products = np.tile(self.class_prior_, (len(table), 1))
        for at, column in enumerate(table.T):
            known = np.flatnonzero(~np.isnan(column))
            factors = np.maximum(self._find_factors(at, column[known]), SMALLEST)
            here = products[known] * factors
            largest = here.max(axis=1, initial=0)
            here[(largest > 0) & (largest < SMALLEST)] *= 1 / SMALLEST
            products[known] = here
        return np.asarray(products / products.sum(axis=1, keepdims=True))

    def predict(self, X: Any) -> NDArray[Any]:
        """The most probable class; of several the first."""
        return np.asarray(self.classes_[self.predict_proba(X).argmax(axis=1)])

    def _find_factors(self, at: int, values: Floats) -> Floats:
        """How likely each value of a column is in each class."""
        if at in self.shares_:
            return self.shares_[at][:, values.astype(np.int64)].T
        from scipy.special import ndtr

        # Weka 3.9 divides the probability of the interval by its length; up to 3.8.0 it did not. The length is common
        # to all classes, so it shows only where a factor is raised to the smallest.
        precision = self.precision_[at]
        with np.errstate(over="ignore", invalid="ignore"):
            distance = (np.rint(values / precision) * precision)[:, None] - self.theta_[:, at]
            low, high = ((distance + half) / self.deviation_[:, at] for half in (-precision / 2, precision / 2))
            return np.asarray((ndtr(high) - ndtr(low)) / precision)


def find_precision(values: Floats) -> float:
    """How finely a column was measured: the mean difference between its distinct values, one after the other.

    >>> find_precision(np.array([1.0, 2.0, 2.0, 4.0])), find_precision(np.array([5.0, 5.0]))
    (1.5, 0.01)
    """
    with np.errstate(over="ignore"):
        steps = np.diff(np.unique(values))
        # Added up one by one, as Weka does: the last bit decides how a value half way between two is rounded.
        return float(np.cumsum(steps)[-1] / len(steps)) if len(steps) else ONE_VALUE


def _as_matrix(X: Any) -> Floats:
    return np.asarray(X.toarray() if hasattr(X, "toarray") else X, dtype=np.float64)


def _share_out(codes: Codes, of: Codes, size: int, categories: int) -> Floats:
    """The share of each category within each class, every category being counted once beforehand."""
    counts = np.bincount(of * categories + codes, minlength=size * categories).reshape(size, categories) + 1.0
    return np.asarray(counts / counts.sum(axis=1, keepdims=True))


def _find_moments(values: Floats, of: Codes, size: int, precision: float) -> tuple[Floats, Floats]:
    """Mean and standard deviation of the rounded values of each class; 0 and the least one where it has no value."""
    least = precision / (2 * DEVIATIONS)
    with np.errstate(over="ignore", invalid="ignore"):
        rounded = np.rint(values / precision) * precision
        n = np.bincount(of, minlength=size)
        sums = np.bincount(of, weights=rounded, minlength=size)
        squares = np.bincount(of, weights=rounded * rounded, minlength=size)
        mean = sums / np.maximum(n, 1)
        spread = np.sqrt(np.abs(squares - mean * sums) / np.maximum(n, 1))
    return mean, np.where(spread > LEAST_SPREAD, np.maximum(spread, least), least)
