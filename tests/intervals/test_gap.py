"""The overfitting gap and its interval, against the formula written out."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from statsmodels.stats.proportion import proportion_confint

from heldout.intervals.estimate import Estimate
from heldout.results.validation import overfitting_gap


def error(value, low, high):
    return Estimate("error_rate", None, None, value, low, high, 0.9, "wilson", 200)


@given(st.integers(0, 40), st.integers(0, 200))
def test_the_limits_are_recovered_from_those_of_the_two_errors(wrong, trained_wrong):
    """Zou & Donner (2008): each limit lies as far from the difference as the two distances that matter together."""
    low, high = proportion_confint(wrong, 40, 0.1, method="wilson")
    best, worst = proportion_confint(trained_wrong, 200, 0.1, method="wilson")
    test, training = wrong / 40, trained_wrong / 200
    found = overfitting_gap(error(test, low, high), training, 200, 0.9)
    assert found.value == pytest.approx(test - training)
    assert found.low == pytest.approx(test - training - math.hypot(test - low, worst - training), abs=1e-9)
    assert found.high == pytest.approx(test - training + math.hypot(high - test, training - best), abs=1e-9)
    assert (found.method, found.level, found.n, found.undefined) == ("mover", 0.9, 200, "")


def test_without_training_cases_it_is_undefined_with_a_reason():
    found = overfitting_gap(error(0.2, 0.15, 0.26), math.nan, 0, 0.9)
    assert math.isnan(found.value)
    assert math.isnan(found.low)
    assert found.undefined == "there are no predictions of training cases"


def test_without_an_interval_of_the_error_there_is_none_of_the_gap():
    found = overfitting_gap(error(0.2, math.nan, math.nan), 0.1, 100, 0.9)
    assert found.value == pytest.approx(0.1)
    assert math.isnan(found.low)
    assert math.isnan(found.high)
    assert found.undefined == ""
