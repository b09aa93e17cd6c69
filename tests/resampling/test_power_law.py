"""The power law of a learning curve: found again from its own points, with intervals that hold it."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy.optimize import nnls

from heldout.errors import ValuesError
from heldout.resampling.power_law import fit_power_law

SIZES = np.array([10, 20, 40, 80, 160, 320, 640])


def law_at(sizes, floor, scale, exponent):
    return floor + scale * np.asarray(sizes, dtype=float) ** -exponent


def drawn(rng, errors, draws=20, tested=300):
    return rng.binomial(tested, errors, size=(draws, len(errors))) / tested


@given(st.floats(0.0, 0.3), st.floats(0.05, 3.0), st.floats(0.1, 2.5))
@settings(max_examples=25)
def test_a_law_without_noise_is_found_again(floor, scale, exponent):
    law = fit_power_law(SIZES, [law_at(SIZES, floor, scale, exponent)])
    assert law.shape == "falling"
    expected = law_at([640, 5000], floor, scale, exponent)
    assert law.predict([640, 5000]).value == pytest.approx(expected, abs=1e-5)
    assert law.exponent.value == pytest.approx(exponent, rel=1e-3)


def root_weights(variance):
    """Each point weighs one over its variance, half of which is its own and half that of all points."""
    weight = 2 / (variance + variance.mean())
    return np.sqrt(weight / weight.mean())


@given(st.integers(0, 10_000))
@settings(max_examples=60)
def test_floor_and_scale_are_those_of_nonnegative_least_squares(seed):
    rng = np.random.default_rng(seed)
    errors, variance = rng.random(7) * rng.choice([0.1, 1.0], 7), rng.uniform(0.2, 3, 7)
    law = fit_power_law(SIZES, errors, variance=variance)
    assume(law.shape == "falling")
    exponent, root = law.exponent.value, root_weights(variance)
    x = (SIZES / 80.0) ** -exponent
    expected, _ = nnls(np.column_stack([root, root * x]), root * errors)
    assert (law.floor.value, law.scale.value * 80.0**-exponent) == pytest.approx(tuple(expected), abs=1e-9)


@given(st.integers(0, 10_000))
@settings(max_examples=25)
def test_no_exponent_fits_better_than_the_one_found(seed):
    rng = np.random.default_rng(seed)
    errors, variance = np.sort(rng.random(7))[::-1], rng.uniform(0.2, 3, 7)
    law, root = fit_power_law(SIZES, errors, variance=variance), root_weights(variance)
    left = errors - law_at(SIZES, law.floor.value, law.scale.value, law.exponent.value)
    missed = ((root * left) ** 2).sum()
    for other in np.linspace(0.01, 3, 600):
        column = (SIZES / 80.0) ** -other
        _, norm = nnls(np.column_stack([root, root * column]), root * errors)
        assert missed <= norm**2 + 1e-9


def test_intervals_hold_the_law_as_often_as_they_say():
    rng = np.random.default_rng(1)
    truth = (0.05, 1.0, 0.5)
    held = np.zeros(5)
    for at in range(50):
        law = fit_power_law(SIZES, drawn(rng, law_at(SIZES, *truth)), replicates=300, seed=at)
        figures = (law.floor, law.scale, law.exponent, law.at(1280), law.rows_for(0.01))
        rows = (1 / (640**-0.5 - 0.01)) ** 2 - 640
        expected = (*truth, float(law_at(1280, *truth)), rows)
        held += [f.low <= value <= f.high for f, value in zip(figures, expected, strict=True)]
    # Of 50 intervals at 0.95, fewer than 41 hold with probability below 0.001.
    assert (held >= 41).all()


def test_points_of_one_draw_are_resampled_together():
    rng = np.random.default_rng(0)
    shift = rng.normal(scale=0.05, size=(40, 1))
    # Every draw is the same curve, higher or lower: its height is uncertain, its fall is not.
    law = fit_power_law(SIZES, law_at(SIZES, 0.2, 1.0, 0.5) + shift)
    assert law.slope.high - law.slope.low < 1e-9
    assert law.at(640).high - law.at(640).low > 0.02


def test_a_larger_variance_widens_the_band_and_not_the_slope():
    rng = np.random.default_rng(0)
    errors = drawn(rng, law_at(SIZES, 0.1, 1.0, 0.5))
    narrow = fit_power_law(SIZES, errors)
    wide = fit_power_law(SIZES, errors, variance=16 * errors.var(axis=0, ddof=1) / len(errors))
    spans = [law.at(640).high - law.at(640).low for law in (narrow, wide)]
    assert 2 < spans[1] / spans[0] < 6
    assert wide.slope.low == pytest.approx(narrow.slope.low, rel=0.02)
    assert wide.slope.high == pytest.approx(narrow.slope.high, rel=0.02)


def test_small_sizes_that_follow_another_law_are_left_out():
    rng = np.random.default_rng(3)
    sizes = np.array([10, 20, 40, 80, 160, 320, 640, 1280, 2560])
    expected = law_at(sizes, 0.1, 2.0, 0.8)
    expected[:2] = 0.5  # nothing is learned at first
    law = fit_power_law(sizes, drawn(rng, expected, tested=3000))
    assert law.begins >= 40
    assert law.exponent.low <= 0.8 <= law.exponent.high


def test_a_flat_curve_has_a_height_and_no_exponent():
    rng = np.random.default_rng(0)
    law = fit_power_law(SIZES, drawn(rng, np.full(7, 0.3)))
    assert law.shape == "flat"
    assert law.floor.low <= 0.3 <= law.floor.high
    assert math.isnan(law.exponent.value)
    assert "flat within its noise" in law.undefined
    assert law.at(10_000).value == law.floor.value
    assert law.rows_for(0.01).value == law.rows_for(0.01).high == math.inf


def test_a_rising_curve_has_no_law():
    rng = np.random.default_rng(0)
    law = fit_power_law(SIZES, drawn(rng, np.linspace(0.1, 0.4, 7)))
    assert law.shape == "rising"
    assert law.slope.low > 0
    assert "rises" in law.undefined
    assert math.isnan(law.at(640).value)
    assert math.isnan(law.rows_for(0.01).value)


@pytest.mark.parametrize(("sizes", "words"), [([10, 20], "only 2 sizes"), ([10], "only 1 size")])
def test_three_parameters_need_three_sizes(sizes, words):
    law = fit_power_law(sizes, np.tile(np.linspace(0.4, 0.3, len(sizes)), (5, 1)))
    assert law.shape == "unknown"
    assert words in law.undefined
    assert math.isnan(law.floor.value)


def test_one_draw_has_values_and_no_intervals():
    law = fit_power_law(SIZES, [law_at(SIZES, 0.1, 1.0, 0.5)])
    assert law.exponent.value == pytest.approx(0.5)
    assert math.isnan(law.exponent.low)
    assert math.isnan(law.rows_for(0.001).high)


def test_the_floor_forbids_what_lies_below_it():
    law = fit_power_law(SIZES, [law_at(SIZES, 0.2, 1.0, 1.0)], present=640)
    assert law.rows_for(1 / 640 - 1 / 1000).value == pytest.approx(360, rel=1e-3)
    assert law.rows_for(1 / 640 + 1e-6).value == math.inf
    assert law.rows_for(1 / 100 - 1 / 300, size=100).value == pytest.approx(200, rel=1e-3)


def test_missing_draws_are_left_out_of_the_mean():
    rng = np.random.default_rng(0)
    errors = drawn(rng, law_at(SIZES, 0.1, 1.0, 0.5))
    errors[3, 0] = errors[5, 2] = np.nan
    law = fit_power_law(SIZES, errors)
    assert law.exponent.low <= 0.5 <= law.exponent.high
    errors[:, 0] = np.nan
    assert fit_power_law(SIZES, errors).begins == 20


def test_the_same_seed_gives_the_same_intervals():
    errors = drawn(np.random.default_rng(0), law_at(SIZES, 0.1, 1.0, 0.5))
    one, two, three = (fit_power_law(SIZES, errors, seed=seed).exponent for seed in (0, 0, 1))
    assert one == two != three


@pytest.mark.parametrize(
    ("sizes", "errors", "words"),
    [
        ([10, 20, 40], [[0.1, 0.2]], "one error per size"),
        ([10, 40, 20], [[0.1, 0.2, 0.3]], "grow from one to the next"),
        ([0, 40, 80], [[0.1, 0.2, 0.3]], "positive"),
        ([10, 20, 40], [[0.1, -0.2, 0.3]], "negative"),
    ],
)
def test_points_that_make_no_curve_are_refused(sizes, errors, words):
    with pytest.raises(ValuesError, match=words):
        fit_power_law(sizes, errors)


@pytest.mark.parametrize("drop", [0, -0.01, math.nan])
def test_a_drop_is_more_than_nothing(drop):
    law = fit_power_law(SIZES, [law_at(SIZES, 0.1, 1.0, 0.5)])
    with pytest.raises(ValuesError, match="more than 0"):
        law.rows_for(drop)
