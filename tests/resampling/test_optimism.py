"""The .632 and .632+ rules: the published formulas, written a second time and fit by fit, and the no-signal example."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from sklearn.base import clone
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.metrics import f1_score
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.tree import DecisionTreeClassifier

from heldout.api.validate import validate
from heldout.evidence import Confusion
from heldout.resampling.run_evidence import mix_632

tables = st.integers(2, 4).flatmap(
    lambda k: st.tuples(*[arrays(np.int64, (k, k), elements=st.integers(0, 30)) for _ in range(2)])
)


def judged(*given, **options) -> Any:
    return validate(*given, **options)


def error_of(table):
    return 1 - np.trace(table) / table.sum()


def expanded(table):
    """The truth and the prediction of every case in a table."""
    truth, predicted = np.indices(table.shape)
    return np.repeat(truth.ravel(), table.ravel()), np.repeat(predicted.ravel(), table.ravel())


def no_information(truth, predicted):
    """The error over all n² pairs of a case and a prediction, one by one."""
    return sum(float(t != p) for t in truth for p in predicted) / (len(truth) * len(predicted))


def plus(apparent, tested, nothing):
    """Efron & Tibshirani's .632+ as a step beyond .632; in the step, an error above the no-information rate is that."""
    limited = min(tested, nothing)
    overfitting = (limited - apparent) / (nothing - apparent) if limited > apparent and nothing > apparent else 0.0
    step = (limited - apparent) * 0.368 * 0.632 * overfitting / (1 - 0.368 * overfitting)
    return 0.368 * apparent + 0.632 * tested + step


@given(tables)
def test_the_no_information_rate_from_class_counts_is_that_of_all_pairs(pair):
    train, out = pair
    assume(0 < train.sum() <= 60 and out.sum() > 0)
    found = mix_632(Confusion.of(train), Confusion.of(out), ".632+")
    assert found.no_information == pytest.approx(no_information(*expanded(train)), abs=1e-12)


@given(tables)
def test_mixed_tables_have_exactly_the_error_of_the_formulas(pair):
    train, out = pair
    assume(train.sum() > 0 and out.sum() > 0)
    apparent, tested = error_of(train), error_of(out)
    plain = mix_632(Confusion.of(train), Confusion.of(out), ".632")
    assert plain.error == pytest.approx(0.368 * apparent + 0.632 * tested, abs=1e-12)
    shares = train.sum(axis=1) / train.sum(), train.sum(axis=0) / train.sum()
    nothing = float(shares[0] @ (1 - shares[1]))
    found = mix_632(Confusion.of(train), Confusion.of(out), ".632+")
    assert found.error == pytest.approx(plus(apparent, tested, nothing), abs=1e-12)
    if tested <= nothing:
        # The same with a weight.
        assert found.error == pytest.approx((1 - found.weight) * apparent + found.weight * tested, abs=1e-12)
    assert found.table.n == pytest.approx(train.sum())


@given(tables)
def test_more_overfitting_never_gives_a_lower_error_than_632(pair):
    train, out = pair
    assume(train.sum() > 0 and out.sum() > 0)
    plain, found = (mix_632(Confusion.of(train), Confusion.of(out), rule) for rule in (".632", ".632+"))
    assert 0 <= found.overfitting <= 1
    assert 0.632 <= found.weight <= 1
    if found.out_of_bag <= found.no_information:
        assert found.error >= plain.error - 1e-12


def test_no_signal_and_a_learner_that_remembers_exactly():
    # Efron & Tibshirani's example: 1-nearest-neighbour, two balanced classes that have nothing to do with x.
    train, out = Confusion.of([[40, 0], [0, 40]]), Confusion.of([[20, 20], [20, 20]])
    assert mix_632(train, out, ".632").error == pytest.approx(0.316, abs=1e-12)
    assert mix_632(train, out, ".632+").error == pytest.approx(0.5, abs=1e-12)


def test_no_signal_and_a_learner_that_remembers_in_a_simulation():
    found: dict[str, list[float]] = {".632": [], ".632+": []}
    for number in range(12):
        rng = np.random.default_rng(number)
        X, y = rng.normal(size=(60, 4)), np.repeat([0, 1], 30)
        for rule, values in found.items():
            held = judged("knn:1", X, y, plan=f"{rule} 40", seed=number, measures="error_rate", training=False)
            values.append(held["error_rate"].value)
    means = {rule: np.mean(values) for rule, values in found.items()}
    # The standard errors of these means are about .01.
    assert means[".632"] == pytest.approx(0.316, abs=0.03)
    assert means[".632+"] == pytest.approx(0.5, abs=0.04)


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize(
    "estimator",
    [
        LinearDiscriminantAnalysis(),
        GaussianNB(),
        KNeighborsClassifier(1),
        DecisionTreeClassifier(max_depth=3, random_state=0),
    ],
    ids=lambda e: type(e).__name__,
)
def test_validate_gives_what_the_paper_says_fit_by_fit(estimator, classes):
    rng = np.random.default_rng(classes)
    y = np.arange(50) % classes
    X = rng.normal(size=(50, 3)) + np.eye(classes, 3)[y]
    trained = clone(estimator).fit(X, y).predict(X)
    for rule in (".632", ".632+"):
        held = judged(estimator, X, y, plan=f"{rule} 30", seed=3)
        wrong, times = np.zeros(50), np.zeros(50)
        for train, test in held.run.splits:
            assert set(train) | set(test) == set(range(50))
            assert not set(train) & set(test)
            said = clone(estimator).fit(X[train], y[train]).predict(X[test])
            np.add.at(wrong, test, said != y[test])
            np.add.at(times, test, 1)
        # The leave-one-out bootstrap: the mean over cases of the mean over the samples without them.
        tested = float(np.mean(wrong[times > 0] / times[times > 0]))
        apparent = float(np.mean(trained != y))
        nothing = no_information(y, trained)
        expected = 0.368 * apparent + 0.632 * tested if rule == ".632" else plus(apparent, tested, nothing)
        assert held["error_rate"].value == pytest.approx(expected, abs=1e-12)
        assert held["accuracy"].value == pytest.approx(1 - expected, abs=1e-12)
        assert held["error_rate"].rule == rule
        assert held.optimism.no_information == pytest.approx(nothing, abs=1e-12)


def test_other_measures_come_from_the_mixed_table():
    rng = np.random.default_rng(9)
    y = np.arange(60) % 3
    X = rng.normal(size=(60, 2)) + np.eye(3, 2)[y]
    held = judged("naive-bayes", X, y, plan=".632+ 25", seed=1)
    truth, predicted = np.indices((3, 3)).reshape(2, -1)
    weight = held.optimism.table.matrix.ravel()
    for average in ("macro", "weighted"):
        expected = f1_score(truth, predicted, sample_weight=weight, average=average)
        assert held[f"{average} f1"].value == pytest.approx(expected, abs=1e-12)


def test_there_is_no_interval_where_the_learner_remembers_its_cases():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 2)), np.repeat([0, 1], 30)
    found = judged("knn:1", X, y, plan=".632+ 20")["error_rate"]
    assert np.isnan(found.low)
    assert "remembers" in found.note
