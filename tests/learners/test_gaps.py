"""Gaps among the features are refused before a learner that cannot take them sees them."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from sklearn.ensemble import BaggingClassifier
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.tree import DecisionTreeClassifier

from heldout.errors import ValuesError
from heldout.learners.data import read_problem
from heldout.learners.encoding import check_gaps
from heldout.learners.learner import read_learner

ROWS = {"a": [1.0, None, 3.0, None], "b": [1.0, 2.0, 3.0, 5.0], "c": [None, None, 3.0, 2.0]}
Y = [0, 1, 0, 1]
GAPS = [[1.0, 1.0, np.nan], [np.nan, 2.0, np.nan], [3.0, 3.0, 3.0], [np.nan, 5.0, 2.0]]


class Foreign:
    def fit(self, X, y):  # noqa: ARG002
        return self

    def predict(self, X):
        return X


@pytest.mark.parametrize("as_given", [True, False])
@pytest.mark.parametrize("make", [pl.DataFrame, pd.DataFrame, lambda rows: pd.DataFrame(rows).convert_dtypes()])
def test_gaps_in_frames_are_counted_by_column(make, as_given):
    problem = read_problem(make(ROWS), Y, as_given=as_given)
    with pytest.raises(ValuesError) as caught:
        check_gaps(problem, read_learner(LogisticRegression(C=2)))
    assert caught.value.what == (
        "3 of 4 rows have missing values, in a (2), c (2), and a LogisticRegression cannot take them."
    )
    assert caught.value.hint == (
        "put an imputer before it, make_pipeline(SimpleImputer(), LogisticRegression()), or name the learner "
        "'logistic', which fills gaps inside the folds."
    )


@pytest.mark.parametrize(
    "X",
    [np.array(GAPS), np.array(GAPS, dtype=object), sp.csr_matrix(np.array(GAPS))],
    ids=["floats", "objects", "sparse"],
)
def test_gaps_in_arrays_are_counted_by_column(X):
    with pytest.raises(ValuesError, match=r"3 of 4 rows have missing values, in x0 \(2\), x2 \(2\), and a MLPClass"):
        check_gaps(read_problem(X, Y, as_given=True), read_learner(MLPClassifier()))


@pytest.mark.parametrize(
    "estimator",
    [
        DecisionTreeClassifier(),
        make_pipeline(SimpleImputer(), LogisticRegression()),
        make_pipeline(LogisticRegression()),
        GridSearchCV(LogisticRegression(), {}),
        BaggingClassifier(LogisticRegression()),
        Foreign(),
    ],
)
def test_learners_that_may_know_what_to_do_are_let_pass(estimator):
    check_gaps(read_problem(GAPS, Y), read_learner(estimator))


@pytest.mark.parametrize("X", [[[1.0], [2.0]], np.array([[1], [2]]), sp.csr_matrix([[1.0], [2.0]]), [["u"], ["v"]]])
def test_without_gaps_there_is_nothing_to_say(X):
    check_gaps(read_problem(X, [0, 1], as_given=True), read_learner(LogisticRegression()))
