"""Objects get the data as they were given, whatever checks the short names need: their answers are scikit-learn's."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.compose import make_column_transformer
from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold, cross_val_predict
from sklearn.naive_bayes import GaussianNB, MultinomialNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

import heldout

validate: Any = heldout.validate

CV = StratifiedKFold(3)
RANDOM = np.random.default_rng(0)
Y = np.array(["no", "yes"])[np.arange(60) % 2]
COLOURS = np.where(RANDOM.random(60) < 0.8, np.where(Y == "yes", "red", "blue"), "green")


class Seeing(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Notes what it is fitted on."""

    seen: tuple[Any, ...] = ()

    def fit(self, X, y):
        Seeing.seen = (type(X), getattr(X, "dtype", None))
        self.classes_ = np.unique(y)
        return self

    def predict(self, X):
        return np.full(len(X), self.classes_[0])


def predicted(validation):
    held = {row["row"]: row["predicted"] for row in validation.prediction_rows()}
    return [held[row] for row in range(len(held))]


def test_a_frame_of_texts_is_for_the_pipeline_to_read():
    # Every text is different, so a short name would find nothing to learn from.
    texts = [f"{'good fine' if y == 'yes' else 'bad poor'} number {i}" for i, y in enumerate(Y)]
    frame = pd.DataFrame({"text": texts})
    pipe = make_pipeline(make_column_transformer((TfidfVectorizer(), "text")), LogisticRegression())
    found = validate(pipe, frame, Y, plan=CV, group=np.arange(60))
    assert predicted(found) == cross_val_predict(pipe, frame, Y, cv=CV).tolist()
    with pytest.raises(heldout.errors.ColumnError, match="look like identifiers"):
        validate(["knn:3", pipe], frame, Y, plan=CV)


def test_infinite_or_empty_columns_of_a_form_that_nobody_needs_are_not_looked_at():
    frame = pd.DataFrame({"when": pd.date_range("2020-01-01", periods=60), "size": np.arange(60.0)})
    found = validate(Seeing(), frame, Y, plan=CV, features=["when", "size"])
    assert Seeing.seen[0] is pd.DataFrame
    assert found.problem.names == ("when", "size")


@pytest.mark.parametrize("form", [np.array, lambda X: np.array(X, dtype=object), list], ids=["text", "objects", "list"])
def test_text_in_arrays_reaches_the_object_as_text(form):
    X = form([[colour] for colour in COLOURS])
    pipe = make_pipeline(OneHotEncoder(categories=[["blue", "green", "red"]]), LogisticRegression())
    found = validate(pipe, X, Y, plan=CV)
    assert predicted(found) == cross_val_predict(pipe, np.array(X), Y, cv=CV).tolist()
    assert found["accuracy"].value > 0.7


@pytest.mark.parametrize("kind", [np.float32, np.float64, np.int16, np.int64, bool])
def test_numbers_keep_their_type(kind):
    X = (RANDOM.normal(size=(60, 2)) * 10).astype(kind)
    validate(Seeing(), X, Y, plan=CV)
    assert Seeing.seen == (np.ndarray, np.dtype(kind))


@pytest.mark.parametrize("kind", [np.float32, np.float64, np.int64])
@pytest.mark.parametrize("learner", [GaussianNB(), KNeighborsClassifier(3)], ids=str)
@pytest.mark.parametrize("shortcuts", [True, False])
def test_the_predictions_are_scikit_learn_s_for_every_type_of_number(learner, kind, shortcuts):
    X = (np.random.default_rng(3).normal(size=(60, 3)) * 5 + (Y == "yes")[:, None] * 3).astype(kind)
    found = validate(learner, X, Y, plan=CV, shortcuts=shortcuts)
    assert predicted(found) == cross_val_predict(learner, X, Y, cv=CV).tolist()
    assert bool(found.run.shortcut) == (shortcuts and kind is not np.float32)


def test_a_column_without_any_value_stays_where_the_object_expects_it():
    X = np.column_stack([np.full(60, np.nan), np.arange(60.0)])
    seen = validate(make_pipeline(Wide(), GaussianNB()), X, Y, plan=CV)
    assert seen.problem.names == ("x0", "x1")


class Wide(BaseEstimator):  # type: ignore[misc]
    """Takes the second column."""

    def fit(self, _X, _y=None):
        return self

    def transform(self, X):
        return X[:, [1]]


def test_objects_on_a_file_still_get_numbers_and_codes(tmp_path):
    path = tmp_path / "colours.csv"
    pd.DataFrame({"colour": COLOURS, "class": Y}).to_csv(path, index=False)
    found = validate(LogisticRegression(), path, plan="3-fold")
    assert found["accuracy"].value > 0.7


@pytest.mark.parametrize("container", [list, tuple, np.array, pd.Series, pl.Series])
def test_a_list_of_texts_is_what_a_pipeline_of_texts_takes(container):
    texts, classes = ["a b c", "c d e", "a c f"] * 30, list("pqp") * 30
    learner = make_pipeline(CountVectorizer(token_pattern=r"\w"), MultinomialNB())
    found = heldout.validate(learner, container(texts), classes, cv=3)  # type: ignore[call-arg]
    expected = cross_val_predict(learner, texts, classes, cv=3)
    assert found["accuracy"].value == np.mean(expected == np.array(classes))
    assert "Findings" in str(found)
    with pytest.raises(heldout.HeldoutError, match=r"^The features must have two sides"):
        heldout.validate(learner, container([1.0, 2.0, 3.0] * 30), classes, cv=3)  # type: ignore[call-arg]
