"""Worlds: exact errors against large samples, and no rule better than Bayes'."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import norm
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis
from sklearn.dummy import DummyClassifier
from sklearn.linear_model import LogisticRegression, Perceptron, RidgeClassifier
from sklearn.neighbors import KNeighborsClassifier, NearestCentroid
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PolynomialFeatures, StandardScaler
from sklearn.svm import SVC, LinearSVC
from sklearn.tree import DecisionTreeClassifier

from heldout.errors import OptionError
from heldout.lab.worlds import Checkers, Gaussians, LinearRule, Noise, find_linear_rule

WORLDS = [Gaussians(1.5, 3, 0.3), Gaussians(0.0), Noise(4, 0.3), Checkers(4, 0.1), Checkers(3)]
LINEAR = [
    LogisticRegression(),
    Perceptron(),
    RidgeClassifier(),
    LinearDiscriminantAnalysis(),
    LinearSVC(),
    SVC(kernel="linear", C=0.1),
    NearestCentroid(),
    DummyClassifier(),
    DummyClassifier(strategy="constant", constant=1),
    make_pipeline(StandardScaler(), LogisticRegression()),
]
BENT = [
    KNeighborsClassifier(3),
    DecisionTreeClassifier(max_depth=3, random_state=0),
    QuadraticDiscriminantAnalysis(),
    SVC(),
    DummyClassifier(strategy="stratified"),
    NearestCentroid(priors=[0.2, 0.8]),
    make_pipeline(PolynomialFeatures(2), LogisticRegression()),
]
every_world = pytest.mark.parametrize("world", WORLDS, ids=lambda world: world.text)


@every_world
def test_exact_errors_of_linear_models_are_those_of_a_large_sample(world):
    features, truth = world.draw(40, 1)
    fresh, labels = world.draw(200_000, 2)
    for model in LINEAR:
        model.fit(features, truth)
        found = world.true_error(model)
        assert found.exact
        assert found.standard_error == 0
        # Predicting with a support vector machine is slow.
        some = slice(20_000 if isinstance(model, SVC) else None)
        seen = (model.predict(fresh[some]) != labels[some]).mean()
        error = math.sqrt(max(found.value * (1 - found.value), 1e-4) / len(labels[some]))
        assert abs(seen - found.value) < 4 * error


@pytest.mark.parametrize("model", BENT, ids=str)
def test_other_models_are_judged_on_fresh_cases(model):
    world = Gaussians(1.5, 2, 0.3)
    model.fit(*world.draw(40, 1))
    assert find_linear_rule(model, 2) is None
    one, two = (world.true_error(model, n=5_000, seed=seed) for seed in (0, 1))
    assert not one.exact
    assert one.n == 5_000
    assert one.standard_error == pytest.approx(math.sqrt(one.value * (1 - one.value) / 5_000), rel=1e-3)
    assert abs(one.value - two.value) < 4 * math.hypot(one.standard_error, two.standard_error)


@given(st.floats(0, 4), st.integers(1, 5), st.floats(0.05, 0.95), st.integers(0, 999))
@settings(max_examples=60)
def test_no_linear_rule_beats_bayes(separation, features, prevalence, seed):
    rng = np.random.default_rng(seed)
    for world in (Gaussians(separation, features, prevalence), Noise(features, prevalence)):
        for _ in range(5):
            rule = LinearRule(rng.normal(size=features), rng.normal())
            assert world.linear_error(rule) >= world.bayes_error - 1e-12


@pytest.mark.parametrize("separation", [0.5, 1.0, 2.0, 3.0])
def test_the_bayes_error_of_equal_normal_clouds_is_the_tail_of_half_their_distance(separation):
    assert Gaussians(separation, 3).bayes_error == pytest.approx(norm.sf(separation / 2), abs=1e-12)


def test_the_bayes_error_is_that_of_the_likelier_class():
    world = Gaussians(1.2, 2, 0.2)
    features, truth = world.draw(200_000, 3)
    zero, one = ((0.8, 0.2)[at] * norm.pdf(features - mean).prod(axis=1) for at, mean in enumerate(world.means))
    seen = ((one > zero) != truth).mean()
    assert seen == pytest.approx(world.bayes_error, abs=4 * math.sqrt(0.16 / 200_000))


def test_every_model_errs_on_half_of_balanced_noise():
    world = Noise()
    model = KNeighborsClassifier(1).fit(*world.draw(30, 0))
    assert world.true_error(model).value == 0.5
    assert world.true_error(model).exact
    fresh, truth = world.draw(50_000, 1)
    assert (model.predict(fresh) != truth).mean() == pytest.approx(0.5, abs=0.01)


def test_a_line_along_the_grid_of_a_checkerboard_misses_half():
    for squares in (2, 4):
        assert Checkers(squares).linear_error(LinearRule(np.array([1.0, 0.0]), -0.5)) == pytest.approx(0.5)
    # Nine squares, five of them of class 0.
    assert Checkers(3).linear_error(LinearRule(np.zeros(2), -1.0)) == pytest.approx(4 / 9)
    assert Checkers(3).linear_error(LinearRule(np.zeros(2), 1.0)) == pytest.approx(5 / 9)


def test_a_nonlinear_learner_learns_the_checkerboard():
    world = Checkers(noise=0.1)
    near = KNeighborsClassifier(5).fit(*world.draw(3000, 0))
    straight = LogisticRegression().fit(*world.draw(3000, 0))
    assert world.true_error(near, n=10_000).value < 0.2
    assert world.true_error(straight).value > 0.4


@every_world
def test_draws_come_from_the_seed(world):
    one, two, three = (world.draw(50, seed) for seed in (1, 1, 2))
    assert np.array_equal(one[0], two[0])
    assert np.array_equal(one[1], two[1])
    assert not np.array_equal(one[0], three[0])
    assert one[0].shape == (50, world.dimension)
    assert set(one[1]) <= {0, 1}


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: Gaussians(-1.0), "separation must be a number from 0 up"),
        (lambda: Gaussians(math.nan), "separation must be a number from 0 up"),
        (lambda: Gaussians(features=0), "features must be a whole number"),
        (lambda: Gaussians(prevalence=1.0), "prevalence must lie between 0 and 1"),
        (lambda: Noise(prevalence=0), "prevalence must lie between 0 and 1"),
        (lambda: Checkers(1), "squares must be a whole number"),
        (lambda: Checkers(noise=0.6), "noise must be a share"),
        (lambda: Noise().draw(0), "n must be a whole number"),
    ],
)
def test_worlds_that_cannot_be_are_refused(make, words):
    with pytest.raises(OptionError, match=words):
        make()
