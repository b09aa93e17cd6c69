"""Intervals for calibration errors and recalibration coefficients: another computation, boundary figures, groups."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest
import statsmodels.api as sm
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import brentq
from scipy.stats import norm, t
from tests.intervals.group_oracle import spread

import heldout
from heldout.engines.probability_sums import tally, tally_classes
from heldout.engines.score_sort import rank
from heldout.intervals.calibration import STATISTICS, calibration_limits, null_expectation, recalibration_limits
from heldout.intervals.proportion import wilson
from heldout.measures import probability as measures

MEASURES = {
    "expected": measures.expected_calibration_error,
    "maximum": measures.maximum_calibration_error,
    "squared": measures.brier_calibration,
}


@pytest.mark.parametrize(("n", "expected"), [(80, 0.10), (400, 0.044), (4000, 0.014)])
def test_what_a_calibrated_model_shows(n, expected):
    # Ten bins, probabilities spread as Beta(½, ½): many near 0 and 1, as of a confident model.
    rng = np.random.default_rng(n)
    shown, foretold = [], []
    for _ in range(300):
        p = rng.beta(0.5, 0.5, n)
        seen = tally(p, rng.random(n) < p)
        shown.append(np.abs(seen.reliability.gap).sum() / n)
        foretold.append(null_expectation(seen))
    assert np.mean(shown) == pytest.approx(expected, rel=0.06)
    assert np.mean(foretold) == pytest.approx(np.mean(shown), rel=0.03)


def test_the_null_expectation_of_the_others_is_that_of_simulation():
    rng = np.random.default_rng(1)
    p = rng.random(600)
    truths = rng.random((2000, 600)) < p
    seen = [tally(p, truth) for truth in truths]
    for error in ("maximum", "squared"):
        top_bottom = [MEASURES[error].function(one) for one in seen]
        shown = np.mean([top / bottom for top, bottom in top_bottom])
        assert null_expectation(seen[0], error) == pytest.approx(shown, rel=0.05)


@pytest.mark.parametrize("right", [70, 85, 99])
def test_one_bin_is_the_interval_of_a_folded_normal(right):
    # One bin only: the error is |d + noise|, whose distribution is known in closed form.
    n, p = 100, 0.62
    seen = tally(np.full(n, p), np.arange(n) < right)
    gap = abs(right / n - p)
    square = (right * (1 - p) ** 2 + (n - right) * p**2) / n**2
    sd = math.sqrt(max(square, p * (1 - p) / n) - gap**2 / n)

    def below(mean: float, share: float) -> float:
        return float(norm.cdf((gap - mean) / sd) - norm.cdf((-gap - mean) / sd)) - share

    low = brentq(lambda m: below(m, 0.975), 0, 1) if below(0, 0.975) > 0 else 0.0
    high = brentq(lambda m: below(m, 0.025), 0, 2)
    assert calibration_limits(seen) == pytest.approx((low, high), abs=0.06 * sd)


def test_many_bins_against_many_fresh_draws():
    rng = np.random.default_rng(2)
    p = rng.random(500)
    seen = tally(p, rng.random(500) < p**1.6)
    gap, shares = seen.reliability.gap / 500, seen.reliability.weight / 500
    variance = np.maximum(seen.reliability.squares, seen.reliability.spread) / 500**2
    noise = np.random.default_rng(99).multivariate_normal(
        np.zeros(10), np.diag(variance) - np.outer(gap, gap) / 500, 200_000
    )
    plain: dict[str, Callable[[np.ndarray], np.ndarray]] = {
        "expected": lambda d: np.abs(d).sum(axis=1),
        "squared": lambda d: (d**2 / shares).sum(axis=1),
    }
    for error, of in plain.items():
        shown = of(gap[None])[0]
        low, high = calibration_limits(seen, error)
        power = 0.5 if error == "squared" else 1.0
        # Had the gaps been stretched to either limit, 2.5 % of the samples would show more (less) than was shown.
        assert (of((low / shown) ** power * gap + noise) >= shown).mean() == pytest.approx(0.025, abs=0.006)
        assert (of((high / shown) ** power * gap + noise) <= shown).mean() == pytest.approx(0.025, abs=0.006)


@given(st.integers(0, 10_000), st.integers(2, 80), st.booleans(), st.sampled_from([2, 3]))
def test_the_estimate_lies_inside(seed, n, weighted, classes):
    rng = np.random.default_rng(seed)
    weight = rng.random(n) + 0.1 if weighted else None
    table = rng.dirichlet(np.full(classes, 0.4), n)
    codes = rng.integers(0, classes, n)
    seen = tally(table[:, 0], codes == 0, weight) if classes == 2 else tally_classes(table, codes, weight)
    for error in STATISTICS:
        low, high = calibration_limits(seen, error)
        bins = seen.reliability
        met = bins.weight > 0
        top, bottom = (
            MEASURES[error].function(seen)
            if error != "squared"
            else ((bins.gap[met] ** 2 / bins.weight[met]).sum(), seen.weight)
        )
        assert 0 <= low <= top / bottom + 1e-12
        assert top / bottom <= high + 1e-12
        assert high <= 1


def test_boundary_figures():
    # Always 1 and always right: as for any error that was not met in 20 cases.
    certain = tally(np.ones(20), np.ones(20, dtype=bool))
    assert calibration_limits(certain) == pytest.approx((0, float(wilson(0, 20)[1])))
    assert calibration_limits(certain, "squared")[1] == pytest.approx(float(wilson(0, 20)[1]) ** 2)
    assert calibration_limits(tally(np.array([]), np.array([], dtype=bool))) == (0.0, 1.0)
    # No gap at all, by luck: the upper limit is that of a case or so off.
    even = calibration_limits(tally(np.full(100, 0.5), np.arange(100) < 50))
    odd = calibration_limits(tally(np.full(100, 0.5), np.arange(100) < 51))
    assert even[0] == odd[0] == 0
    assert even[1] == pytest.approx(odd[1], abs=0.005)
    assert 0.09 < even[1] < 0.15


def test_the_limits_do_not_depend_on_the_order_of_the_cases():
    rng = np.random.default_rng(3)
    p, truth = rng.random(100), rng.random(100) < 0.5
    order = rng.permutation(100)
    assert calibration_limits(tally(p, truth)) == pytest.approx(
        calibration_limits(tally(p[order], truth[order])), abs=1e-9
    )


def test_repeated_rows_in_groups_are_one_case_each():
    rng = np.random.default_rng(4)
    p = rng.random(200)
    truth = rng.random(200) < p**2
    single = calibration_limits(tally(p, truth))
    eight = np.repeat(p, 8), np.repeat(truth, 8)
    grouped = calibration_limits(tally(*eight, group=(np.repeat(np.arange(200), 8), np.arange(200))))
    naive = calibration_limits(tally(*eight))
    assert grouped == pytest.approx(single, abs=0.015)
    assert naive[1] - naive[0] < 0.6 * (single[1] - single[0])
    alone = tally(p, truth, group=(np.zeros(200, dtype=int), np.array([0])))
    assert calibration_limits(alone) == (0.0, 1.0)


@pytest.mark.parametrize(("coefficient", "at"), [("slope", 1), ("intercept", 0), ("in_the_large", None)])
def test_recalibration_is_statsmodels(coefficient, at):
    rng = np.random.default_rng(5)
    p = np.round(rng.beta(1, 2, 400), 2).clip(0.01, 0.99)
    truth = rng.random(400) < p**1.4
    x = np.log(p / (1 - p))
    model = (
        sm.Logit(truth.astype(float), sm.add_constant(x))
        if at is not None
        else sm.GLM(truth.astype(float), np.ones((400, 1)), family=sm.families.Binomial(), offset=x)
    )
    fit = model.fit(tol=1e-12, **({"disp": 0, "method": "newton"} if at is not None else {}))
    centre, error = fit.params[at or 0], fit.bse[at or 0]
    low, high = recalibration_limits(rank(p, truth), coefficient)
    assert (low + high) / 2 == pytest.approx(centre, rel=1e-6)
    assert high - low == pytest.approx(2 * norm.ppf(0.975) * error, rel=1e-5)


@pytest.mark.parametrize(("coefficient", "at"), [("slope", 1), ("intercept", 0)])
def test_recalibration_leaves_out_one_group_after_the_other(coefficient, at):
    rng = np.random.default_rng(5)
    # Three groups hold a third of the cases.
    group = np.concatenate([np.repeat(np.arange(3), 50), 3 + np.arange(250) % 30])
    p = rng.beta(1, 2, 400).clip(0.01, 0.99)
    x = np.log(p / (1 - p))
    truth = rng.random(400) < 1 / (1 + np.exp(-(x + 0.8 * rng.normal(size=33)[group])))
    design = sm.add_constant(x)

    def fitted(rows):
        return sm.Logit(truth[rows].astype(float), design[rows]).fit(disp=0, method="newton")

    every = fitted(np.ones(400, dtype=bool))
    row, mean = every.cov_params()[at], every.predict()
    refitted, stepped = [], []
    for g in range(33):
        rest = group != g
        refitted.append(fitted(rest).params[at] - every.params[at])
        # Newton's step from the fit to all cases towards that to the rest.
        information = (design[rest].T * (mean * (1 - mean))[rest]) @ design[rest]
        stepped.append(np.linalg.solve(information, design[rest].T @ (truth - mean)[rest])[at])
    errors = [math.sqrt(32 / 33 * (np.array(moves) ** 2).sum()) for moves in (stepped, refitted)]
    pull = design @ row
    parts = np.bincount(group, weights=mean * (1 - mean) * pull**2)
    deviation = np.sqrt(mean * (1 - mean) / parts.sum()) * np.abs(pull)
    _, df = spread((truth - mean) * pull, group, parts / parts.sum(), deviation)
    low, high = recalibration_limits(rank(p, truth, group=(group, np.arange(33))), coefficient)
    assert (low + high) / 2 == pytest.approx(every.params[at], rel=1e-6)
    error = (high - low) / 2 / t.ppf(0.975, df)
    assert error == pytest.approx(errors[0], rel=1e-3)
    # The information changes a little with the fit.
    assert error == pytest.approx(errors[1], rel=0.1)
    assert df < 25


def test_weights_have_a_sandwich_error():
    rng = np.random.default_rng(6)
    p = rng.beta(1, 2, 300).clip(0.01, 0.99)
    truth, weight = rng.random(300) < p, rng.lognormal(0, 1, 300)
    seen = rank(p, truth, weight=weight)
    low, high = recalibration_limits(seen, "slope")
    x = sm.add_constant(np.log(p / (1 - p)))
    fit = sm.GLM(truth.astype(float), x, family=sm.families.Binomial(), freq_weights=weight).fit(tol=1e-12)
    mean = fit.mu
    bread = np.linalg.inv((x * (weight * mean * (1 - mean))[:, None]).T @ x)
    scores = x * (weight * (truth - mean))[:, None]
    error = math.sqrt((bread @ (scores.T @ scores) @ bread)[1, 1])
    assert (low, high) == pytest.approx((fit.params[1] - 1.959964 * error, fit.params[1] + 1.959964 * error), rel=1e-5)


def test_no_fit_has_no_limits():
    assert recalibration_limits(rank(np.array([0.1, 0.9]), np.array([False, True])), "slope") == (-math.inf, math.inf)


@pytest.mark.parametrize("coefficient", ["slope", "intercept"])
def test_weights_that_leave_one_probability_have_no_limits(coefficient):
    # Nearly all of the weight lies on one probability, and the variance came out negative by rounding.
    p = np.array([1e-12, 1, 1e-12, 0.5, 1e-12, 1e-12, 1e-12, 0.5, 0.5, 1, 0.5, 0.5])
    truth = np.array([0, 0, 0, 1, 1, 0, 0, 1, 1, 1, 1, 1], dtype=bool)
    weight = np.array([0, 1e-6, 1e6, 1e-6, 1e6, 0, 1, 1, 1e-6, 1e6, 0, 2])
    evaluation = heldout.evaluate(truth, score=p, weight=weight, positive=True)
    found = evaluation.interval(f"calibration_{coefficient}")
    assert (found.low, found.high) == (-math.inf, math.inf)


@pytest.mark.parametrize(("positives", "n"), [(1, 20), (3, 10), (3, 30), (30, 100), (7, 70)])
def test_a_gap_of_rounding_is_no_gap(positives, n):
    # Sums of these shares differ from the number of positives by 1e-17, which is no direction to stretch.
    low, high = calibration_limits(tally(np.full(n, positives / n), np.arange(n) < positives))
    rate = positives / n
    assert low == 0
    assert high > 1.5 * math.sqrt(rate * (1 - rate) / n)


def test_a_slope_that_is_not_one_has_the_sandwich_error_in_the_large():
    # Overconfident: the logits are twice what they should be, so the model with the slope 1 is not true.
    rng = np.random.default_rng(8)
    p = rng.beta(0.6, 0.6, 4000).clip(1e-6, 1 - 1e-6)
    logit = np.log(p / (1 - p))
    positive = rng.random(4000) < 1 / (1 + np.exp(-logit / 2))
    fit = sm.GLM(positive.astype(float), np.ones((4000, 1)), family=sm.families.Binomial(), offset=logit)
    centre, error = float(fit.fit().params[0]), float(fit.fit(cov_type="HC0").bse[0])
    low, high = recalibration_limits(rank(p, positive), "in_the_large")
    assert (low, high) == pytest.approx((centre - 1.959964 * error, centre + 1.959964 * error), abs=1e-4)
    assert error > 1.1 * float(fit.fit().bse[0])


def test_the_largest_gap_has_no_interval_and_says_why():
    rng = np.random.default_rng(9)
    p = rng.random(300)
    evaluation = heldout.evaluate((rng.random(300) < p).astype(int), score=p, positive=1)
    largest = evaluation["maximum_calibration_error"]
    assert math.isnan(largest.low)
    assert math.isnan(largest.high)
    assert largest.note.startswith("a perfectly calibrated model would show")
    assert "no interval: the value is set by bins with few cases" in largest.note


def test_the_smoother_takes_weights_of_any_unit_and_says_that_they_are_not_repeated_rows():
    rng = np.random.default_rng(5)
    p = rng.uniform(0.05, 0.95, 60)
    truth, weight = (rng.random(60) < p).astype(int), rng.integers(1, 6, 60)
    name = "integrated_calibration_index"
    weighted, scaled, plain = (
        heldout.evaluate(truth, score=p, weight=by, measures=[name])[name] for by in (weight, 10.0 * weight, None)
    )
    assert weighted.value == pytest.approx(scaled.value, rel=1e-9)
    assert "weights are not repeated rows here" in weighted.note
    assert "repeated" not in plain.note


def test_an_intercept_of_very_many_probabilities_has_the_error_of_each_of_them():
    draw = np.random.default_rng(11)
    p = 1 / (1 + np.exp(-3 * draw.normal(size=200_000)))
    hits = draw.random(len(p)) < 1 / (1 + np.exp(-0.6 * np.log(p / (1 - p))))
    low, high = recalibration_limits(rank(p, hits), "in_the_large")

    def gap(shift):
        return float((hits - 1 / (1 + np.exp(-np.log(p / (1 - p)) - shift))).sum())

    intercept = brentq(gap, -2, 2, xtol=1e-14)
    fitted = 1 / (1 + np.exp(-np.log(p / (1 - p)) - intercept))
    # With the slope held at 1, and .6 in truth, cases spread more than the model says.
    error = math.sqrt(((hits - fitted) ** 2).sum()) / (fitted * (1 - fitted)).sum()
    assert error > 1.1 / math.sqrt((fitted * (1 - fitted)).sum())
    assert (low, high) == pytest.approx((intercept - 1.959964 * error, intercept + 1.959964 * error), rel=1e-6)
