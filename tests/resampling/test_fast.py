"""The fast paths against fitting every split: the same predictions, whatever ties and rare classes there are."""

from __future__ import annotations

import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import load_iris
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import confusion_matrix
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from tests.resampling.making import folds, leave_one_out, problem_of, run, two_clouds
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from heldout.errors import LearnerError
from heldout.plans.plan import Splits
from heldout.resampling.fast_paths import METRICS


@pytest.fixture(autouse=True)
def one_thread():
    """Thousands of searches among a few rows: threads would only wait for each other."""
    with threadpool_limits(1):
        yield


def assert_same(estimator, problem, splits, *, taken=None, training=True):
    try:
        plain = run(estimator, problem, splits, on_error="record", training=training, shortcuts=False)
    except LearnerError as error:
        with pytest.raises(LearnerError, match=re.escape(str(error))):
            run(estimator, problem, splits, on_error="record")
        return None
    quick = run(estimator, problem, splits, on_error="record", training=training)
    assert plain.shortcut == ""
    if taken is not None:
        assert bool(quick.shortcut) == taken, quick.shortcut
    for name in ("finished", "rows", "fold", "predicted", "training_rows", "training_fold", "training_predicted"):
        np.testing.assert_array_equal(getattr(quick, name), getattr(plain, name), err_msg=name)
    np.testing.assert_allclose(quick.scores, plain.scores, rtol=0, atol=1e-9)
    assert quick.score_kind == plain.score_kind
    assert quick.failures == plain.failures
    assert quick.complete
    return quick


@st.composite
def data(draw):
    """Rows with many ties: grids, copies, tiny spreads, large means, rare classes, labels in any order."""
    seed = draw(st.integers(0, 2**32 - 1))
    rng = np.random.default_rng(seed)
    n, features = draw(st.integers(8, 40)), draw(st.sampled_from([1, 2, 3, 17]))
    kind = draw(st.sampled_from(["normal", "grid", "tenths", "copies", "tiny", "far", "mixed", "steps"]))
    X = rng.normal(size=(n, features))
    if kind == "grid":
        X = rng.integers(0, 4, size=(n, features)).astype(float)
    elif kind == "tenths":
        X = np.round(X, 1)
    elif kind == "copies":
        X = X[rng.integers(0, max(2, n // 3), size=n)]
    elif kind == "tiny":
        X *= 10.0 ** rng.integers(-9, 1, size=features)
    elif kind == "far":
        X += 10.0 ** rng.integers(0, 8)
    elif kind == "mixed":
        X[:, 0] = 3.3
        X[: n // 2, -1] = 0.1
    elif kind == "steps":
        X = np.arange(n, dtype=float)[:, None] * np.ones(features)
    classes = draw(st.integers(2, 4))
    shares = rng.dirichlet(np.full(classes, draw(st.sampled_from([0.5, 5.0]))))
    y = rng.choice(classes, size=n, p=shares)
    y[:classes] = np.arange(classes)
    names = np.array(["d", "a", "c", "b"])[:classes]
    order = rng.permutation(names)
    return problem_of(X, names[y], labels=order.tolist())


@st.composite
def plans(draw, n):
    kind = draw(st.sampled_from(["one", "few", "repeated", "uneven", "listed"]))
    seed = draw(st.integers(0, 1000))
    if kind == "one":
        return leave_one_out(n)
    if kind == "few":
        return folds(n, draw(st.integers(3, min(8, n))), seed)
    if kind == "repeated":
        return folds(n, draw(st.integers(3, 5)), seed, seed + 1, seed + 2)
    rng = np.random.default_rng(seed)
    numbers = np.sort(rng.integers(0, 4, size=n))
    numbers[:4] = np.arange(4)
    uneven = Splits.partition(numbers)
    if kind == "uneven":
        return uneven
    return Splits.of(n, [test for _, test in uneven], [train for train, _ in uneven])


@settings(max_examples=40, deadline=None)
@given(st.data())
def test_neighbours_found_once_predict_as_every_fit_would(draws):
    problem = draws.draw(data())
    splits = draws.draw(plans(problem.n))
    estimator = KNeighborsClassifier(
        draws.draw(st.integers(1, 7)),
        weights=draws.draw(st.sampled_from(["uniform", "distance"])),
        algorithm=draws.draw(st.sampled_from(["auto", "auto", "brute", "kd_tree", "ball_tree"])),
        p=draws.draw(st.sampled_from([2, 2, 1, 1.5])),
    )
    assert_same(estimator, problem, splits)


@settings(max_examples=40, deadline=None)
@given(st.data())
def test_moments_less_those_of_a_fold_predict_as_every_fit_would(draws):
    problem = draws.draw(data())
    splits = draws.draw(plans(problem.n))
    size = len(problem.labels)
    priors = draws.draw(st.sampled_from([None, np.arange(1, size + 1) / np.arange(1, size + 1).sum()]))
    smoothing = draws.draw(st.sampled_from([1e-9, 1e-9, 1e-3, 0.0]))
    assert_same(GaussianNB(priors=priors, var_smoothing=smoothing), problem, splits)


@pytest.mark.parametrize("weights", ["uniform", "distance"])
@pytest.mark.parametrize(
    "metric",
    sorted(METRICS),
)
def test_every_metric_gives_the_same_neighbours(metric, weights):
    rng = np.random.default_rng(3)
    X = np.abs(rng.normal(size=(80, 4))) + 0.1
    X[:30] = np.round(X[:30], 1)
    problem = problem_of(X, rng.integers(0, 3, size=80))
    assert_same(KNeighborsClassifier(4, metric=metric, weights=weights), problem, leave_one_out(80))
    assert_same(KNeighborsClassifier(4, metric=metric, weights=weights, algorithm="brute"), problem, folds(80, 5))


def test_a_metric_that_looks_at_all_rows_is_left_to_the_learner():
    problem = two_clouds()
    spread = {"V": problem.features.var(axis=0)}
    assert_same(
        KNeighborsClassifier(metric="seuclidean", metric_params=spread), problem, leave_one_out(60), taken=False
    )


@pytest.mark.parametrize("estimator", [KNeighborsClassifier(5), GaussianNB()], ids=["knn", "bayes"])
@pytest.mark.parametrize("features", [4, 20])
def test_ordinary_data_takes_the_fast_path(estimator, features):
    problem = two_clouds(150, features=features, apart=0.5)
    for splits in (leave_one_out(150), folds(150, 10), folds(150, 5, 1, 2, 3)):
        assert_same(estimator, problem, splits, taken=True)


@pytest.mark.parametrize("weights", ["uniform", "distance"])
def test_brute_force_with_weights_takes_the_fast_path(weights):
    problem = two_clouds(150, features=20, apart=0.5)
    assert_same(KNeighborsClassifier(5, weights=weights), problem, leave_one_out(150), taken=True)


def test_neighbours_far_down_the_list_are_found():
    # Every fold is a tight cluster, so that the nearest rows of all are those that may not be used.
    rng = np.random.default_rng(0)
    centre = np.repeat(np.arange(6), 20)
    X = rng.normal(size=(120, 2)) * 0.01 + centre[:, None] * np.array([1.0, 0.3])
    problem = problem_of(X, rng.integers(0, 2, size=120))
    assert_same(KNeighborsClassifier(3), problem, Splits.partition(centre), taken=True)


def test_iris_by_five_neighbours_leave_one_out_is_the_published_table():
    X, y = load_iris(return_X_y=True)
    result = run(KNeighborsClassifier(5), problem_of(X, y), leave_one_out(150))
    table = confusion_matrix(y[result.rows], result.predicted)
    assert table.tolist() == [[50, 0, 0], [0, 47, 3], [0, 2, 48]]
    assert "searched once" in result.shortcut
    assert result.fit_seconds is None


def test_iris_by_naive_bayes_is_the_same_with_and_without_the_shortcut():
    X, y = load_iris(return_X_y=True)
    for splits in (leave_one_out(150), folds(150, 10)):
        assert "subtracted" in assert_same(GaussianNB(), problem_of(X, y), splits, taken=True).shortcut


@pytest.mark.parametrize("size", [1e2, 1e5, 1e7])
def test_probabilities_hold_where_the_mean_is_large_beside_the_spread(size):
    # scikit-learn's own means then carry an error that shows in the probabilities.
    rng = np.random.default_rng(5)
    y = rng.integers(0, 2, size=2000)
    X = rng.normal(size=(2000, 5)) + 0.3 * y[:, None] + size / 3
    assert_same(GaussianNB(), problem_of(X, y), folds(2000, 10))


def mirrored(seed, offset, copies=0):
    """40 rows: one in the middle, with 19 pairs at equal distances on either side, the classes; and some near-copies.

    Among 40 rows scikit-learn looks for 19 neighbours in a tree, among 39 by |x|² − 2xy + |y|², which rounds otherwise.
    """
    rng = np.random.default_rng(seed)
    direction = rng.normal(size=10)
    steps = np.concatenate([[0.0], np.cumsum(rng.uniform(0.4, 1, size=19))])
    places = np.concatenate([steps, -steps[1:], [2 * steps[-1]]])
    X = places[:, None] * direction / np.linalg.norm(direction) + offset
    y = (places > 0).astype(int)
    X[1 : 1 + copies] = X[20 : 20 + copies] + 1e-7
    return problem_of(X, y)


@pytest.mark.parametrize("seed", range(12))
def test_a_tie_that_rounding_breaks_is_broken_as_the_learner_breaks_it(seed):
    assert_same(KNeighborsClassifier(19), mirrored(seed, 1000.1), leave_one_out(40), taken=True, training=False)


@pytest.mark.parametrize("seed", range(5))
def test_weights_of_near_copies_are_those_that_the_learner_finds(seed):
    learner = KNeighborsClassifier(19, weights="distance")
    assert_same(learner, mirrored(seed, 0.7, copies=3), leave_one_out(40), taken=True, training=False)


def test_a_constant_feature_does_not_cost_the_fast_path():
    problem = two_clouds(150, features=5)
    problem.features[:, 2] = 0.0
    problem.features[problem.truth == 0, 3] = 7.0
    assert_same(GaussianNB(), problem, leave_one_out(150), taken=True)


def test_a_rare_class_is_fitted_where_it_matters():
    problem = two_clouds(60)
    target = problem.target.copy()
    target[:2] = 2
    rare = problem_of(problem.features, target)
    shortcut = assert_same(GaussianNB(), rare, leave_one_out(60), taken=True).shortcut
    assert "2 of 60 folds were fitted" in shortcut


def test_priors_that_no_longer_fit_fail_in_the_same_folds():
    problem = two_clouds(30)
    target = problem.target.copy()
    target[0] = 2
    rare = problem_of(problem.features, target)
    result = assert_same(GaussianNB(priors=[0.4, 0.4, 0.2]), rare, folds(30, 5))
    assert len(result.failures) == 1


@pytest.mark.parametrize(
    "change",
    [
        lambda X: X.astype(np.float32),
        lambda X: X.tolist(),
        np.asfortranarray,
        lambda X: np.round(X).astype(int),
    ],
    ids=["float32", "list", "fortran", "int"],
)
@pytest.mark.parametrize("estimator", [KNeighborsClassifier(3), GaussianNB()], ids=["knn", "bayes"])
def test_features_in_any_form_give_the_same(change, estimator):
    problem = two_clouds(40)
    assert_same(estimator, problem_of(change(problem.features), problem.target), leave_one_out(40))


class OwnNeighbours(KNeighborsClassifier):  # type: ignore[misc]
    """Somebody's variant, which may do anything."""

    def predict(self, X):
        return np.full(len(X), self.classes_[0])


def test_only_the_exact_type_is_shortened():
    result = assert_same(OwnNeighbours(), two_clouds(), leave_one_out(60), taken=False)
    assert set(result.predicted) == {0}
    assert_same(LogisticRegression(), two_clouds(30), folds(30, 3), taken=False)


def test_more_neighbours_than_rows_fails_as_the_learner_does():
    with pytest.raises(ValueError, match="KNeighborsClassifier failed in fold 1: ValueError: Expected n_neighbors"):
        run(KNeighborsClassifier(60), two_clouds(60), leave_one_out(60))


def test_without_training_rows_the_fast_path_gives_none():
    result = run(GaussianNB(), two_clouds(), folds(60, 5), training=False)
    assert result.shortcut
    assert len(result.training_rows) == 0
