"""Measures of probabilities: figures by hand, how the parts of the Brier score add up, and when there is no value."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from heldout.engines.probability_sums import tally, tally_classes
from heldout.engines.score_sort import rank
from heldout.evidence.probabilities import Reliability
from heldout.evidence.probability_bins import BinChoice, with_bins
from heldout.evidence.ranking import Ranking
from heldout.measures import probability as measures
from heldout.measures import recalibration
from heldout.measures.quantity import Bound
from heldout.measures.recalibration import recalibrate

P = np.array([0.15, 0.15, 0.35, 0.35, 0.85, 0.85])
TRUTH = np.array([False, True, False, False, True, True])


def value(measure, seen, **parameters):
    scope = "ranking" if isinstance(seen, Ranking) else "probabilities"
    return float(Bound(measure, parameters).value({scope: seen}))


def test_figures_by_hand():
    seen = tally(P, TRUTH)
    squares = [0.15**2, 0.85**2, 0.35**2, 0.35**2, 0.15**2, 0.15**2]
    assert value(measures.brier, seen) == pytest.approx(sum(squares) / 6)
    logs = [0.85, 0.15, 0.65, 0.65, 0.85, 0.85]
    assert value(measures.log_loss, seen) == pytest.approx(-sum(map(math.log, logs)) / 6)
    # Bins .1-.2, .3-.4 and .8-.9 hold two cases each, with shares ½, 0 and 1.
    assert value(measures.expected_calibration_error, seen) == pytest.approx((0.35 + 0.35 + 0.15) / 3)
    assert value(measures.maximum_calibration_error, seen) == pytest.approx(0.35)
    calibration = (0.35**2 + 0.35**2 + 0.15**2) / 3
    assert value(measures.brier_calibration, seen) == pytest.approx(calibration)
    # All cases of a bin have one p, so this is Murphy's: ½ · ½ in one bin of three, 0 in the others.
    assert value(measures.brier_refinement, seen) == pytest.approx(0.25 / 3)
    assert value(measures.brier_uncertainty, seen) == pytest.approx(0.25)
    assert value(measures.brier_resolution, seen) == pytest.approx(2 / 3 * 0.25)
    assert value(measures.brier_skill, seen) == pytest.approx(1 - sum(squares) / 6 / 0.25)
    assert value(measures.log_loss_skill, seen) == pytest.approx(1 + sum(map(math.log, logs)) / 6 / math.log(2))


@given(st.integers(0, 10_000), st.integers(1, 60), st.integers(1, 12), st.booleans())
def test_the_parts_add_up_whatever_the_bins(seed, n, bins, weighted):
    rng = np.random.default_rng(seed)
    p, truth = rng.random(n), rng.random(n) < 0.5
    weight = rng.random(n) + 0.1 if weighted else np.ones(n)
    given_weight = weight if weighted else None
    binned = rank(p, truth, weight=given_weight)
    seen = with_bins(tally(p, truth, given_weight), binned, BinChoice(bins, "uniform"))
    rel, ref, res, unc = (
        value(getattr(measures, f"brier_{part}"), seen)
        for part in ("calibration", "refinement", "resolution", "uncertainty")
    )
    assert rel + ref == pytest.approx(np.average((p - truth) ** 2, weights=weight), abs=1e-12)
    assert rel - res + unc == pytest.approx(rel + ref, abs=1e-12)
    # Stephenson, Coelho & Jolliffe: the classical resolution, less the variance of p within the bins, plus twice its
    # covariance with the truth there.
    at = np.minimum(np.ceil(p * bins) - 1, bins - 1).astype(int)
    whole, share, wanted = weight.sum(), np.average(truth, weights=weight), 0.0
    for b in range(bins):
        mine = at == b
        if not mine.any():
            continue
        w, y, q = weight[mine], truth[mine].astype(float), p[mine]
        y_mean, q_mean = np.average(y, weights=w), np.average(q, weights=w)
        wanted += w.sum() * (y_mean - share) ** 2 - w @ (q - q_mean) ** 2 + 2 * w @ ((y - y_mean) * (q - q_mean))
    assert res == pytest.approx(wanted / whole, abs=1e-12)


def test_top_k_and_the_skill_of_many_classes():
    table = np.array([[0.5, 0.3, 0.2], [0.1, 0.6, 0.3], [0.4, 0.4, 0.2], [0.2, 0.3, 0.5]])
    seen = tally_classes(table, np.array([0, 2, 0, 0]))
    # The third case ties: the later label comes first, so its true class has rank 2.
    assert [value(measures.top_k_accuracy, seen, k=float(k)) for k in (1, 2, 3)] == [0.25, 0.75, 1.0]
    assert value(measures.brier_skill, seen) == pytest.approx(1 - value(measures.brier, seen) / (1 - 0.75**2 - 0.25**2))
    assert math.isnan(value(measures.brier_calibration, seen))
    assert math.isnan(value(measures.top_k_accuracy, tally(P, TRUTH)))


def test_without_cases_or_with_one_class_there_is_no_value():
    nothing = tally(np.array([]), np.array([], dtype=bool))
    one = tally(P, np.ones(6, dtype=bool))
    for measure in measures.MEASURES:
        if measure.scope == "probability":
            assert math.isnan(value(measure, nothing)), measure.name
    assert math.isnan(value(measures.brier_skill, one))
    assert math.isnan(value(measures.log_loss_skill, one))
    assert value(measures.brier_uncertainty, one) == 0
    for measure in (measures.calibration_slope, measures.calibration_intercept, measures.calibration_in_the_large):
        assert math.isnan(value(measure, rank(P, np.ones(6, dtype=bool))))


@pytest.mark.parametrize(
    ("p", "truth", "reason"),
    [
        ([0.1, 0.2, 0.8, 0.9], [0, 0, 1, 1], recalibration.SEPARATED),
        ([0.1, 0.2, 0.8, 0.9], [1, 1, 0, 0], recalibration.SEPARATED),
        ([0.1, 0.5, 0.5, 0.9], [0, 0, 1, 1], recalibration.SEPARATED),
        ([0.5, 0.5, 0.5, 0.5], [0, 0, 1, 1], recalibration.ONE_VALUE),
        ([0.1, 0.5, 0.5, 0.9], [1, 1, 1, 1], recalibration.ONE_CLASS),
        ([-0.1, 0.5, 0.5, 0.9], [0, 1, 0, 1], recalibration.NOT_PROBABILITIES),
        ([0.1, 0.5, 0.5, 7], [0, 1, 0, 1], recalibration.NOT_PROBABILITIES),
    ],
)
def test_why_there_is_no_slope(p, truth, reason):
    seen = rank(np.array(p), np.array(truth, dtype=bool))
    assert recalibrate(seen).reason == reason
    assert math.isnan(value(measures.calibration_slope, seen))


@pytest.mark.parametrize(
    ("p", "truth", "reason"),
    [
        ([0, 1, 1, 0], [0, 1, 1, 0], recalibration.ALL_CERTAIN),
        ([0, 1, 1, 0], [1, 0, 0, 1], recalibration.ALL_CERTAIN),
        ([0, 1, 0.5, 0], [0, 1, 1, 0], recalibration.ONE_SIDED),
        ([0, 1, 0.5, 0], [0, 1, 0, 0], recalibration.ONE_SIDED),
        ([0, 1, 0.5, 0.5], [0, 1, 0, 1], ""),
    ],
)
def test_why_there_is_no_intercept_with_the_slope_fixed(p, truth, reason):
    # The likelihood of the intercept a is Σ log P(y | a + logit p): it rises without end, or a changes nothing.
    seen = rank(np.array(p, dtype=float), np.array(truth, dtype=bool))
    assert recalibrate(seen, fixed_slope=True).reason == reason
    assert math.isnan(value(measures.calibration_in_the_large, seen)) == bool(reason)


def test_slope_and_intercepts_find_what_was_put_in():
    # 10,000 imagined cases at each of nine probabilities, true at the rate expit(0.3 + 0.7 logit p).
    x = np.linspace(2, -2, 9)
    rate = 1 / (1 + np.exp(-0.3 - 0.7 * x))
    seen = Ranking(1 / (1 + np.exp(-x)), 1e4 * rate, 1e4 * (1 - rate))
    assert value(measures.calibration_slope, seen) == pytest.approx(0.7, abs=1e-9)
    assert value(measures.calibration_intercept, seen) == pytest.approx(0.3, abs=1e-9)
    # With the slope fixed at 1, the mean of the shifted probabilities is the share of positives.
    large = value(measures.calibration_in_the_large, seen)
    assert (1 / (1 + np.exp(-large - x))).mean() == pytest.approx(rate.mean(), abs=1e-9)


def test_a_probability_of_exactly_0_or_1_has_a_finite_logit():
    p = np.array([0.0, 0.2, 0.4, 0.6, 0.8, 1.0] * 20)
    truth = np.random.default_rng(1).random(120) < 0.5
    assert math.isfinite(value(measures.calibration_slope, rank(p, truth)))


def test_directions():
    directions = {measure.name: measure.direction for measure in measures.MEASURES}
    assert directions["log_loss"] == directions["brier"] == directions["expected_calibration_error"] == "lower"
    assert directions["calibration_intercept"] == directions["calibration_in_the_large"] == "zero"
    assert directions["calibration_slope"] == "none"
    assert directions["top_k_accuracy"] == "higher"


def test_without_bins_there_is_no_calibration():
    seen = replace(tally(P, TRUTH), reliability=Reliability(np.zeros(0, dtype=np.int64), *[np.zeros(0)] * 7))
    for name in ("expected_calibration_error", "maximum_calibration_error", "brier_calibration", "brier_resolution"):
        assert math.isnan(value(getattr(measures, name), seen)), name
    assert value(measures.brier_uncertainty, seen) == pytest.approx(0.25)
    assert value(measures.brier, seen) == pytest.approx(value(measures.brier, tally(P, TRUTH)))


@pytest.mark.parametrize("fixed", [False, True])
@pytest.mark.parametrize("end", ["near 1", "near 0", "calibrated", "sharp"])
def test_the_fit_is_reached_wherever_probabilities_crowd(end, fixed):
    rng = np.random.default_rng(5)
    size = rng.random(4000)
    p = {
        "near 1": 1 - 1e-9 * size,
        "near 0": 1e-9 * size,
        "calibrated": size,
        "sharp": 1 / (1 + np.exp(-30 * rng.normal(size=4000))),
    }[end]
    truth = rng.random(4000) < 0.3 + 0.4 * size
    fit = recalibrate(rank(p, truth), fixed_slope=fixed)
    assert fit.reason == ""
    # At the maximum of the likelihood the fitted probabilities add up to the positives, and so do their logits.
    x = recalibration.logit(p)
    gap = truth - 1 / (1 + np.exp(-(fit.intercept + fit.slope * x)))
    assert abs(gap.sum()) < 1e-6
    assert fixed or abs(gap @ x) < 1e-5
