"""Bias and variance: both identities hold exactly, case by case, and learners whose parts are known show them."""

from __future__ import annotations

import json
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.datasets import load_iris
from sklearn.dummy import DummyClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.tree import DecisionTreeClassifier

from heldout.errors import LabelError, OptionError
from heldout.learners.problem import Problem
from heldout.resampling.bias_variance import bootstrap_splits, decompose, divide_error
from heldout.result import ROW_KEYS

FLOWERS = load_iris()
IRIS = Problem(FLOWERS.data, FLOWERS.target, FLOWERS.target.astype(np.int64), (0, 1, 2))
tables = st.integers(2, 5).flatmap(
    lambda k: st.tuples(
        arrays(np.int64, (6, k), elements=st.integers(0, 20)), arrays(np.int64, 6, elements=st.integers(0, k - 1))
    )
)


class Coin(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Says 1 for every case in half of its trainings, 0 in the others; features are not looked at."""

    def fit(self, X, y):  # noqa: ARG002 - what scikit-learn passes
        self.classes_ = np.array([0, 1])
        self.says_ = int(X[:, 0].sum() * 1000) % 2
        return self

    def predict(self, X):
        return np.full(len(X), self.says_)


@given(tables)
def test_domingos_identity_holds_exactly_in_counts(case):
    counts, truth = case
    counts = counts + np.eye(counts.shape[1], dtype=np.int64)[truth * 0]  # every case was predicted at least once
    parts = divide_error(counts, truth)
    for at, (row, label) in enumerate(zip(counts.tolist(), truth.tolist(), strict=True)):
        times, main = sum(row), row.index(max(row))
        error = Fraction(times - row[label], times)
        bias = int(main != label)
        adds = Fraction(times - row[main], times) if not bias else Fraction(0)
        helps = Fraction(row[label], times) if bias else Fraction(0)
        assert error == bias + adds - helps
        found = (parts.error_rate[at], parts.bias[at], parts.unbiased_variance[at], parts.helpful_variance[at])
        assert found == (float(error), bias, float(adds), float(helps))
        assert parts.variance[at] == (times - row[main]) / times


@given(tables)
def test_kohavi_and_wolperts_identity_holds(case):
    counts, truth = case
    counts = counts + 1
    parts = divide_error(counts, truth)
    assert parts.bias_squared + parts.squared_variance == pytest.approx(parts.error_rate, abs=1e-12)


def test_the_correction_makes_bias_squared_unbiased():
    rng = np.random.default_rng(0)
    chances = np.array([0.6, 0.3, 0.1])
    counts = rng.multinomial(5, chances, size=200_000)
    truth = np.zeros(len(counts), dtype=np.int64)
    expected = ((1 - 0.6) ** 2 + 0.3**2 + 0.1**2) / 2
    # What it would be without the correction is far off.
    plain = ((np.eye(3)[truth] - counts / 5) ** 2).sum(axis=1) / 2
    for values, near in ((divide_error(counts, truth).bias_squared, True), (plain, False)):
        error = values.std() / len(values) ** 0.5
        assert bool(abs(values.mean() - expected) < 4 * error) is near


def test_a_constant_answer_is_all_bias():
    truth = np.array([0] * 70 + [1] * 30)
    found = decompose(DummyClassifier(), Problem(np.zeros((100, 1)), truth, truth, (0, 1)), rounds=30)
    assert found["bias"] == found["error_rate"] == 0.3
    assert found["variance"] == found["squared_variance"] == 0
    low, high, method = found.limits["variance"]
    assert (low, method) == (0, "wilson")
    assert 0 < high < 0.05
    assert found.limits["bias"][0] < 0.3 < found.limits["bias"][1]


def test_a_coin_is_all_variance():
    truth = np.array([0, 1] * 50)
    features = np.random.default_rng(0).random((100, 1))
    found = decompose(Coin(), Problem(features, truth, truth, (0, 1)), rounds=300)
    assert found["squared_variance"] == pytest.approx(0.25, abs=0.01)
    assert found["bias_squared"] == pytest.approx(0.25, abs=0.02)
    assert found["error_rate"] == pytest.approx(0.5, abs=0.06)


def test_a_deep_tree_varies_more_than_naive_bayes():
    deep, simple = (
        decompose(model, IRIS, rounds=40) for model in (DecisionTreeClassifier(random_state=0), GaussianNB())
    )
    assert deep["squared_variance"] > simple["squared_variance"]
    for found in (deep, simple):
        mean = found["bias"] + found["unbiased_variance"] - found["helpful_variance"]
        assert mean == pytest.approx(found["error_rate"], abs=1e-12)
        assert found["bias_squared"] + found["squared_variance"] == pytest.approx(found["error_rate"], abs=1e-12)


def test_the_intervals_hold_the_values_and_narrow_with_the_level():
    wide, narrow = (decompose(GaussianNB(), IRIS, rounds=30, level=level) for level in (0.99, 0.8))
    for part, (low, high, _) in wide.limits.items():
        assert low <= wide[part] <= high
        assert high - low >= narrow.limits[part][1] - narrow.limits[part][0]


def test_rows_and_sentences_say_the_same():
    found = decompose(GaussianNB(), IRIS, name="naive-bayes", rounds=30, seed=3)
    rows = found.rows()
    assert all(tuple(row)[: len(ROW_KEYS)] == ROW_KEYS for row in rows)
    assert {row["measure"]: row["value"] for row in rows}["bias"] == found["bias"]
    text = str(found)
    assert "Bias and variance of naive-bayes" in text
    assert "wrong for most training sets" in text
    assert json.loads(found.to_json(), parse_constant=pytest.fail) == found.to_dict()
    assert found.to_dict()["schema"] == "heldout/bias-variance@1"
    assert decompose(GaussianNB(), IRIS, name="naive-bayes", rounds=30, seed=3).to_json() == found.to_json()


def test_luck_that_helps_is_said_so():
    counts = np.array([[4, 6], [4, 6], [10, 0]])
    truth = np.zeros(3, dtype=np.int64)
    parts = divide_error(counts, truth)
    assert parts.helpful_variance.tolist() == [0.4, 0.4, 0.0]
    assert parts.error_rate.mean() < parts.bias.mean()


def test_whole_groups_are_drawn():
    group = np.arange(150) % 15
    problem = Problem(IRIS.features, IRIS.target, IRIS.truth, (0, 1, 2), group=group)
    for train, test in bootstrap_splits(problem, rounds=20):
        assert not set(group[train]) & set(group[test])
        assert len(set(group[train])) + len(set(group[test])) == 15


def test_what_cannot_be_divided_is_refused():
    with pytest.raises(LabelError, match="one class only"):
        decompose(GaussianNB(), Problem(IRIS.features[:50], IRIS.target[:50], IRIS.truth[:50], (0, 1, 2)))
    with pytest.raises(OptionError, match="rounds must be a whole number from 2 up"):
        decompose(GaussianNB(), IRIS, rounds=1)
    with pytest.raises(OptionError, match="no part 'bais'"):
        decompose(GaussianNB(), IRIS, rounds=5)["bais"]
