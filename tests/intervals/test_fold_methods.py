"""Intervals from the values in the folds, against SciPy's t and the formulas written out from their papers."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from heldout.intervals.areas import PlacementSpread
from heldout.intervals.dependence import AGAIN, BY_CLASS, ONCE, UNMEASURED, Dependence
from heldout.intervals.fold_estimates import (
    FOLD_METHODS,
    FoldArea,
    corrected_t,
    mean_area_limits,
    naive_t,
    nothing_told,
    spread,
)
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


def fold_areas(area, positives, negatives, variance=None, number=10):
    """So many folds alike, whose placements vary as much as is usual at such an area, or so much."""
    usual = area * (1 - area) * ((1 - area) / (2 - area) + area / (1 + area)) / 2
    spread = PlacementSpread(usual if variance is None else variance, 20.0 if 0 < area < 1 else 0.0)
    return [FoldArea(area, (positives, negatives), (spread, spread))] * number


@given(st.floats(0.55, 0.95), st.integers(3, 20), st.integers(3, 20), levels)
def test_the_limits_of_a_mean_area_hold_it_and_are_nested(area, positives, negatives, level):
    folds = fold_areas(area, float(positives), float(negatives))
    plan = Dependence(10 * (positives + negatives), factor=AGAIN)
    low, high = mean_area_limits(folds, plan, level)
    assert 0 <= low < area < high <= 1
    wider = mean_area_limits(folds, plan, level + (1 - level) / 2)
    assert wider[0] <= low
    assert wider[1] >= high


def test_cases_that_are_placed_alike_have_a_narrower_mean_area():
    narrow, usual, wide = (
        np.ptp(mean_area_limits(fold_areas(0.9, 6.0, 54.0, variance), Dependence(600, factor=1.5), 0.95))
        for variance in (0.004, 0.01, 0.03)
    )
    assert narrow < 0.8 * usual < 0.8 * wide


def test_folds_with_one_case_of_a_class_show_nothing_of_it():
    """Then the variance is the usual one at such an area, as for one fold without any spread."""
    spreads = PlacementSpread(0.0, 0.0), PlacementSpread(0.0, 0.0)
    folds = [FoldArea(0.8, (1.0, 9.0), spreads)] * 10

    def rejected(theta):
        usual = theta * (1 - theta) * ((1 - theta) / (2 - theta) + theta / (1 + theta)) / 2
        return abs(0.8 - theta) > stats.norm.ppf(0.975) * math.sqrt((theta * (1 - theta) + 8 * usual) / 9 / 10 * ONCE)

    low, high = mean_area_limits(folds, Dependence(100, factor=AGAIN), 0.95)
    assert [rejected(x) for x in (low - 1e-6, low + 1e-6, high - 1e-6, high + 1e-6)] == [True, False, False, True]


def test_repetitions_leave_the_interval_of_an_area_as_it_is():
    folds, plan = fold_areas(0.8, 6.0, 6.0), Dependence(120, factor=1.5)
    assert mean_area_limits(folds * 5, plan, 0.95) == pytest.approx(mean_area_limits(folds, plan, 0.95))


@pytest.mark.parametrize("sizes", [(5, 8, 9), (10, 50, 50), (10, 10, 100)])
def test_at_the_edge_no_area_within_the_interval_is_rejected_and_the_next_outside_is(sizes):
    """(A − θ)² = z² V(θ), as Wilson's interval is made; on the logit scale a perfect learner would get [0, 1]."""
    k, p, q = sizes

    def rejected(seen, theta):
        usual = theta * (1 - theta) * ((1 - theta) / (2 - theta) + theta / (1 + theta)) / 2
        variance = (theta * (1 - theta) + (p + q - 2) * usual) / (p * q) / k * ONCE
        return abs(seen - theta) > stats.norm.ppf(0.975) * math.sqrt(variance)

    for seen in (1.0, 0.0):
        limits = mean_area_limits(fold_areas(seen, p, q, 0.0, k), Dependence(k * (p + q), AGAIN), 0.95)
        low, high = limits
        assert 0 <= low <= seen <= high <= 1
        assert 0 < high - low < 0.15
        for limit, step in ((low, -1e-6), (high, 1e-6)):
            if 1e-6 < limit < 1 - 1e-6:
                assert rejected(seen, limit + step)
                assert not rejected(seen, limit - step)


def test_the_interval_of_an_area_grows_smoothly_towards_the_edge():
    """A little less than perfect must not say something quite different from perfect."""
    plan = Dependence(500, 1.5)
    lows = [mean_area_limits(fold_areas(a, 20.0, 30.0), plan, 0.95)[0] for a in (0.98, 0.99, 0.995, 1.0)]
    assert lows == sorted(lows)


def test_repetitions_do_not_make_an_area_surer():
    """They average out the luck of one partition, and not what another training set would rank otherwise."""
    folds = fold_areas(0.8, 6.0, 6.0)
    once, again = (mean_area_limits(folds, Dependence(120, factor), 0.95) for factor in (ONCE, AGAIN))
    assert once == again
    assert Dependence(120).ranked == 1, "one model shares nothing"


@pytest.mark.parametrize(
    ("name", "axis", "least"),
    [
        ("f1", "class", BY_CLASS),
        ("f1", "macro", BY_CLASS),
        ("recall", "class", BY_CLASS),
        ("specificity", "class", BY_CLASS),
        ("recall", "macro", BY_CLASS),
        ("balanced_accuracy", "table", BY_CLASS),
        ("kappa", "table", BY_CLASS),
        ("matthews", "table", BY_CLASS),
        ("expected_cost", "table", UNMEASURED),
        ("positive_likelihood_ratio", "class", UNMEASURED),
    ],
)
def test_repetitions_do_not_make_what_is_asked_of_the_classes_surer(name, axis, least):
    costs = np.array([[0.0, 1.0], [5.0, 0.0]])
    asked = find(name, costs=costs).measure
    for factor in (AGAIN, ONCE):
        plan = Dependence(100, factor=factor)
        assert plan.scale(asked, axis) == pytest.approx(1 / least)
        for plain in ("accuracy", "error_rate", "precision"):
            assert plan.scale(find(plain).measure) == pytest.approx(1 / factor)
    assert Dependence(100, factor=3.0).scale(asked, axis) == pytest.approx(1 / 3)
    assert Dependence(100).scale(asked, axis) == 1, "one model shares nothing"
    assert Dependence(100, factor=AGAIN, alike=True).scale(asked, axis) == pytest.approx(1 / AGAIN)


def test_the_micro_average_of_f_has_the_interval_of_the_accuracy_that_it_is():
    plan = Dependence(100, factor=1.5)
    assert plan.scale(find("f1").measure, "micro") == plan.scale(find("accuracy").measure)


def test_every_method_says_what_it_is_and_where_it_comes_from():
    assert set(FOLD_METHODS) == {"corrected-t", "naive-t"}
    for method in FOLD_METHODS.values():
        assert method.summary.endswith(".")
        assert method.reference.endswith(")")
    assert "not" in FOLD_METHODS["naive-t"].finding
