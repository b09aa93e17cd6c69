"""The nested cross-validation interval: against a plain second writing of the published algorithm, and its wiring."""

from __future__ import annotations

import math
from itertools import combinations
from statistics import NormalDist
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.tree import DecisionTreeClassifier

from heldout.api.evaluate import evaluate
from heldout.api.validate import validate
from heldout.errors import LearnerError, OptionError
from heldout.learners.problem import Problem
from heldout.plans import Cases, kfold
from heldout.resampling.nested_cv import RepetitionErrors, make_interval, nested_cv, pair_folds


def problem_of(n=53, classes=2, apart=1.2, seed=3):
    rng = np.random.default_rng(seed)
    y = np.arange(n) % classes
    return Problem(rng.normal(size=(n, 2)) + apart * np.eye(classes, 2)[y], y, y, tuple(range(classes)))


def written_out(estimator, problem, k, repeats, *, stratified=True, level=0.95, seed=0):
    """Algorithm 1 of Bates, Hastie & Tibshirani, fit by fit: (error, low, high, mse)."""
    X, y = problem.features, problem.truth
    a_list, b_list, inner, outer = [], [], [], []
    splits = list(kfold(k, repeats=repeats, stratified=stratified).splits(Cases(y, problem.labels), seed))
    for repeat in range(repeats):
        folds = [test for _, test in splits[repeat * k : (repeat + 1) * k]]
        for place, fold in enumerate(folds):
            rest = np.setdiff1d(np.arange(len(y)), fold)
            e_in = []
            for other in folds[:place] + folds[place + 1 :]:
                train = np.setdiff1d(rest, other)
                e_in += (clone(estimator).fit(X[train], y[train]).predict(X[other]) != y[other]).tolist()
            e_out = clone(estimator).fit(X[rest], y[rest]).predict(X[fold]) != y[fold]
            a_list.append((np.mean(e_in) - np.mean(e_out)) ** 2)
            b_list.append(np.var(e_out, ddof=1) / len(fold))
            inner += e_in
            outer += e_out.tolist()
    mse = (k - 1) / k * (np.mean(a_list) - np.mean(b_list))
    se = np.std(inner, ddof=1) / math.sqrt(len(y))
    width = float(np.clip(math.sqrt(max(mse, 0)), se, math.sqrt(k) * se))
    error = np.mean(inner) - (1 + (k - 2) / k) * (np.mean(inner) - np.mean(outer))
    half = NormalDist().inv_cdf((1 + level) / 2) * width
    return error, max(error - half, 0), min(error + half, 1), width**2


@pytest.mark.parametrize(
    ("estimator", "k", "repeats", "options"),
    [
        (GaussianNB(), 4, 3, {}),
        (KNeighborsClassifier(3), 5, 2, {"level": 0.9}),
        (LinearDiscriminantAnalysis(), 3, 3, {"stratified": False, "seed": 8}),
        (DecisionTreeClassifier(max_depth=2, random_state=0), 6, 2, {"seed": 1}),
    ],
    ids=lambda value: type(value).__name__ if hasattr(value, "fit") else None,
)
def test_it_is_the_published_algorithm(estimator, k, repeats, options):
    problem = problem_of(classes=3 if k == 5 else 2)
    found = nested_cv(estimator, problem, k=k, repeats=repeats, **options)
    expected = written_out(estimator, problem, k, repeats, **options)
    assert (found.error, found.low, found.high, found.mse) == pytest.approx(expected, abs=1e-12)
    assert found.fits == repeats * k * (k + 1) // 2


def test_shortcuts_and_fits_give_the_same():
    problem = problem_of()
    assert nested_cv(GaussianNB(), problem, repeats=3) == nested_cv(GaussianNB(), problem, repeats=3, shortcuts=False)


class Watched(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Predicts class 0, and notes which rows it was trained on."""

    seen: list[frozenset] = []  # noqa: RUF012 - shared by all clones on purpose

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        self.seen.append(frozenset(X[:, 0].tolist()))
        return self

    def predict(self, X):
        return np.zeros(len(X), dtype=int)


def test_25_repetitions_of_10_folds_are_1375_fits_and_each_pair_is_left_out_once():
    Watched.seen.clear()
    y = np.arange(40) % 2
    problem = Problem(np.arange(40.0)[:, None], y, y, (0, 1))
    assert nested_cv(Watched(), problem).fits == len(Watched.seen) == 1375
    rows = frozenset(range(40))
    first = [rows - seen for seen in Watched.seen[:55]]
    single = {out for out in first if len(out) == 4}
    assert frozenset.union(*single) == rows
    assert len(single) == 10
    assert {out for out in first if len(out) == 8} == {a | b for a, b in combinations(single, 2)}


@given(st.integers(3, 25))
def test_rounds_are_partitions_with_every_fold_and_every_pair_once(k):
    held = list(pair_folds(k))
    assert all(sorted(place for out in one for place in out) == list(range(k)) for one in held)
    everything = [out for one in held for out in one]
    assert sorted(everything) == sorted([*((a,) for a in range(k)), *combinations(range(k), 2)])


@given(st.floats(0, 0.3), st.floats(0, 5), st.integers(3, 20), st.integers(50, 500))
def test_an_error_that_falls_like_one_over_n_is_corrected_exactly(limit, slope, k, n):
    inner, outer = (limit + slope / (n * (k - left) / k) for left in (2, 1))
    sums = RepetitionErrors([np.zeros(k)], [np.zeros(k)], [inner], [outer])
    assert make_interval(sums, n, k, 0.95, complete=True).error == pytest.approx(limit + slope / n, abs=1e-9)


def test_the_mean_squared_error_keeps_between_independent_and_equal_folds():
    for seed in range(20):
        found = nested_cv(GaussianNB(), problem_of(seed=seed), k=5, repeats=2)
        inner = found.error + found.bias
        errors = 2 * 53 * 4
        naive = inner * (1 - inner) * errors / (errors - 1) / 53
        assert naive * (1 - 1e-12) <= found.mse <= 5 * naive * (1 + 1e-12)


def test_without_a_single_error_there_are_no_limits():
    found = nested_cv(GaussianNB(), problem_of(apart=60), k=5, repeats=2)
    assert found.error == 0
    assert math.isnan(found.low)
    assert math.isnan(found.high)
    assert "no variance" in found.undefined


@pytest.mark.parametrize(
    ("options", "message"), [({"k": 2}, "two folds"), ({"k": 30}, "two cases"), ({"repeats": 0}, "repeats")]
)
def test_what_cannot_be_nested_is_refused(options, message):
    with pytest.raises(OptionError, match=message):
        nested_cv(GaussianNB(), problem_of(), **options)


def test_grouped_rows_are_refused():
    plain = problem_of()
    grouped = Problem(plain.features, plain.target, plain.truth, plain.labels, np.arange(53) // 2, tuple(range(27)))
    with pytest.raises(OptionError, match="groups"):
        nested_cv(GaussianNB(), grouped)


class Touchy(GaussianNB):  # type: ignore[misc]
    """Cannot be trained where all of three rows are left out."""

    def __init__(self, needed=()):
        super().__init__()
        self.needed = needed

    def fit(self, X, y):
        if not np.isin(self.needed, X[:, 0]).any():
            raise ValueError("rows are missing")
        return super().fit(X, y)


def test_repetitions_with_a_failure_do_not_count():
    problem, rows = problem_of(), [7, 8, 9]
    splits = kfold(5, repeats=8).splits(Cases(problem.truth, problem.labels))
    apart = [len({i for i in range(5) if np.isin(rows, splits.test(r * 5 + i)).any()}) == 3 for r in range(8)]
    touchy = Touchy(tuple(problem.features[rows, 0]))
    found = nested_cv(touchy, problem, k=5, repeats=8, on_error="record")
    assert 0 < found.repeats == sum(apart) < 8
    assert found.fits == 15 * found.repeats
    with pytest.raises(LearnerError, match="rows are missing"):
        nested_cv(touchy, problem, k=5, repeats=8)


def test_progress_counts_every_fit():
    seen = []
    nested_cv(Watched(), problem_of(), k=4, repeats=2, progress=lambda done, total: seen.append((done, total)))
    assert seen == [(done, 20) for done in range(1, 21)]


def data(n=60):
    held = problem_of(n)
    return held.features, held.truth


def judged(*given, **options) -> Any:
    return validate(*given, **options)


def test_validate_takes_error_and_accuracy_from_it_and_nothing_else():
    X, y = data()
    usual, nested = judged("naive-bayes", X, y, seed=4), judged("naive-bayes", X, y, seed=4, method="Nested CV")
    found = nested_cv(GaussianNB(), problem_of(60), seed=4)
    error, accuracy = nested["error_rate"], nested["accuracy"]
    assert (error.value, error.low, error.high, error.method) == (found.error, found.low, found.high, "nested-cv")
    assert (accuracy.value, accuracy.low, accuracy.high) == (1 - found.error, 1 - found.high, 1 - found.low)
    assert (error.rule, error.other) == ("mean", usual["error_rate"].value)
    assert "1,375 more models" in " ".join(nested.notes)
    rest = [[e for e in held.evaluation if e.measure not in {"error_rate", "accuracy"}] for held in (usual, nested)]
    assert str(rest[0]) == str(rest[1])


def test_validate_keeps_the_plan_of_the_folds():
    X, y = data()
    held = judged("naive-bayes", X, y, plan="5-fold unstratified seed 9", method="nested-cv", measures="accuracy")
    found = nested_cv(GaussianNB(), problem_of(60), k=5, stratified=False, seed=9)
    assert held["accuracy"].value == 1 - found.error


@pytest.mark.parametrize("plan", ["leave-one-out", ".632+ 50", "holdout 2/3", "30 x holdout 2/3", "weka 10-fold"])
def test_validate_refuses_it_for_other_plans(plan):
    with pytest.raises(OptionError, match="plain k-fold plan") as caught:
        judged("naive-bayes", *data(), plan=plan, method="nested-cv")
    assert "10-fold" in caught.value.hint


def test_validate_refuses_it_where_settings_are_tuned_and_for_other_measures():
    with pytest.raises(OptionError, match="tuned"):
        judged("knn", *data(), grid={"n_neighbors": [1, 3]}, method="nested-cv")
    with pytest.raises(OptionError, match="error_rate and accuracy"):
        judged("knn", *data(), measures=["f1", "recall"], method="nested-cv")


def test_evaluate_refuses_it():
    with pytest.raises(OptionError, match="only predictions"):
        evaluate([0, 1, 1, 0], [0, 1, 0, 0], method="nested-cv")


def test_validate_keeps_the_usual_interval_where_nothing_was_wrong():
    held = problem_of(60, apart=60)
    found = judged("naive-bayes", held.features, held.truth, method="nested-cv")
    assert found["accuracy"].value == 1
    assert 0.8 < found["accuracy"].low < 1
    assert "no variance" in " ".join(found.notes)


def test_a_learner_that_always_fails_is_reported():
    with pytest.raises(LearnerError, match="failed in all"):
        nested_cv(Touchy((math.inf,)), problem_of(), on_error="record")
