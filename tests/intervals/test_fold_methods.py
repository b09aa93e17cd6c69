"""Intervals from the values in the folds, against SciPy's t and the formulas written out from their papers."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from heldout.intervals.dependence import AGAIN, BY_CLASS, Dependence
from heldout.intervals.fold_estimates import FOLD_METHODS, corrected_t, mean_area_limits, naive_t, nothing_told, spread
from heldout.measures.catalogue import find

values = st.lists(st.floats(0, 1), min_size=2, max_size=40).map(np.array)
levels = st.floats(0.5, 0.999)


@given(values, levels)
def test_the_naive_t_is_student_s(seen, level):
    found = naive_t(seen, Dependence(100, ratio=1 / 9, independent=10), level)
    if spread(seen) < 1e-12:
        assert found == pytest.approx((seen.mean(), seen.mean()))
        return
    right = stats.t.interval(level, len(seen) - 1, loc=seen.mean(), scale=stats.sem(seen))
    assert found == pytest.approx(right, rel=1e-9, abs=1e-12)


@given(values, st.floats(0, 2), levels)
def test_the_corrected_t_is_nadeau_and_bengio_s(seen, ratio, level):
    """(1/J + n_test/n_train) s² instead of s²/J, with J − 1 degrees of freedom where every split is independent."""
    j = len(seen)
    half = stats.t.ppf((1 + level) / 2, j - 1) * math.sqrt((1 / j + ratio) * seen.var(ddof=1))
    found = corrected_t(seen, Dependence(100, ratio=ratio, independent=j), level)
    assert found == pytest.approx((seen.mean() - half, seen.mean() + half), rel=1e-9, abs=1e-12)


def test_repetitions_add_no_degrees_of_freedom():
    seen = np.random.default_rng(3).normal(0.8, 0.05, 100)
    plan = Dependence(200, ratio=1 / 9, independent=10)
    half = stats.t.ppf(0.975, 9) * math.sqrt((1 / 100 + 1 / 9) * seen.var(ddof=1))
    assert corrected_t(seen, plan, 0.95) == pytest.approx((seen.mean() - half, seen.mean() + half))
    assert np.diff(corrected_t(seen, plan, 0.95)) > np.diff(naive_t(seen, plan, 0.95))


@pytest.mark.parametrize("method", FOLD_METHODS.values(), ids=FOLD_METHODS)
def test_one_fold_gives_no_interval(method):
    assert np.isnan(method.find(np.array([0.8]), Dependence(10), 0.95)).all()


def test_folds_that_agree_say_nothing_of_how_sure_they_are():
    assert nothing_told(np.array([0.7, 0.8])) == ""
    assert "same in every fold" in nothing_told(np.full(10, 0.1) + np.array([0, 1e-17] * 5))
    assert "one fold only" in nothing_told(np.array([0.7]))


def test_the_spread_leaves_out_folds_without_a_value():
    assert spread([0.5, math.nan, 0.7]) == pytest.approx(np.std([0.5, 0.7], ddof=1))
    assert math.isnan(spread([0.5, math.nan]))


def hanley_mcneil(areas, positives, negatives, n, factor, level):
    """The mean area and its limits on the logit scale, written out: Hanley & McNeil (1982), at each fold's sizes."""
    area = np.mean(areas)
    q1, q2 = area / (2 - area), 2 * area**2 / (1 + area)
    variances = [
        (area * (1 - area) + (p - 1) * (q1 - area**2) + (q - 1) * (q2 - area**2)) / (p * q)
        for p, q in zip(positives, negatives, strict=True)
    ]
    # The folds of a partition are independent parts of n cases: the mean of K has the variance of one over K.
    shares = (np.asarray(positives) + np.asarray(negatives)) / n
    error = math.sqrt(np.mean(np.array(variances) * shares) * factor)
    half = stats.norm.ppf((1 + level) / 2) * error / (area * (1 - area))
    middle = math.log(area / (1 - area))
    return 1 / (1 + math.exp(half - middle)), 1 / (1 + math.exp(-half - middle))


@given(
    st.lists(st.tuples(st.floats(0.55, 0.93), st.integers(3, 20), st.integers(3, 20)), min_size=2, max_size=12), levels
)
def test_the_mean_of_areas_has_hanley_and_mcneil_s_interval(folds, level):
    areas, positives, negatives = (np.array(column, dtype=float) for column in zip(*folds, strict=True))
    n = int(positives.sum() + negatives.sum())
    found = mean_area_limits(areas, positives, negatives, Dependence(n, factor=AGAIN), level)
    assert found == pytest.approx(hanley_mcneil(areas, positives, negatives, n, AGAIN, level), rel=1e-9)


def test_repetitions_leave_the_interval_of_an_area_as_it_is():
    areas, sizes = np.full(10, 0.8), np.full(10, 6.0)
    once = mean_area_limits(areas, sizes, sizes, Dependence(120, factor=1.5), 0.95)
    again = mean_area_limits(np.tile(areas, 5), np.tile(sizes, 5), np.tile(sizes, 5), Dependence(120, factor=1.5), 0.95)
    assert again == pytest.approx(once)


@pytest.mark.parametrize("sizes", [(5, 8, 9), (10, 50, 50), (10, 10, 100)])
def test_next_to_the_edge_no_area_within_the_interval_is_rejected_and_the_next_outside_is(sizes):
    """(A − θ)² = z² V(θ), as Wilson's interval is made; on the logit scale a perfect learner would get [0, 1]."""
    k, p, q = sizes

    def rejected(seen, theta):
        q1, q2 = theta / (2 - theta), 2 * theta**2 / (1 + theta)
        variance = (theta * (1 - theta) + (p - 1) * (q1 - theta**2) + (q - 1) * (q2 - theta**2)) / (p * q) / k * AGAIN
        return abs(seen - theta) > stats.norm.ppf(0.975) * math.sqrt(variance)

    for seen in (1.0, 1 - 0.5 / (k * p * q), 0.5 / (k * p * q), 0.0):
        limits = mean_area_limits(np.full(k, seen), np.full(k, p), np.full(k, q), Dependence(k * (p + q), AGAIN), 0.95)
        low, high = limits
        assert 0 <= low <= seen <= high <= 1
        assert 0 < high - low < 0.15
        for limit, step in ((low, -1e-6), (high, 1e-6)):
            if 1e-6 < limit < 1 - 1e-6:
                assert rejected(seen, limit + step)
                assert not rejected(seen, limit - step)


def test_the_interval_of_an_area_grows_smoothly_towards_the_edge():
    """A little less than perfect must not say something quite different from perfect."""
    sizes = np.full(10, 20.0), np.full(10, 30.0)
    lows = [mean_area_limits(np.full(10, a), *sizes, Dependence(500, 1.5), 0.95)[0] for a in (0.98, 0.99, 0.995, 1.0)]
    assert lows == sorted(lows)


@pytest.mark.parametrize(
    "name", ["f1", "recall", "specificity", "balanced_accuracy", "kappa", "matthews", "expected_cost"]
)
def test_what_is_asked_of_the_classes_is_divided_by_more_than_the_share_of_errors(name):
    costs = np.array([[0.0, 1.0], [5.0, 0.0]])
    for factor in (1.2, 1.5):
        plan = Dependence(100, factor=factor)
        assert plan.scale(find(name, costs=costs).measure) == pytest.approx(1 / BY_CLASS)
        for plain in ("accuracy", "error_rate", "precision"):
            assert plan.scale(find(plain).measure) == pytest.approx(1 / factor)
    assert Dependence(100, factor=2.5).scale(find(name, costs=costs).measure) == pytest.approx(1 / 2.5)
    assert Dependence(100).scale(find(name, costs=costs).measure) == 1, "one model shares nothing"


def test_the_micro_average_of_f_has_the_interval_of_the_accuracy_that_it_is():
    plan = Dependence(100, factor=1.5)
    assert plan.scale(find("f1").measure, "micro") == plan.scale(find("accuracy").measure)
    assert plan.scale(find("f1").measure, "macro") == pytest.approx(1 / BY_CLASS)


def test_every_method_says_what_it_is_and_where_it_comes_from():
    assert set(FOLD_METHODS) == {"corrected-t", "naive-t"}
    for method in FOLD_METHODS.values():
        assert method.summary.endswith(".")
        assert method.reference.endswith(")")
    assert "not" in FOLD_METHODS["naive-t"].finding
