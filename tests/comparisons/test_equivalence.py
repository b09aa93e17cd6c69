"""Margins: non-inferiority and equivalence, either way round, and what cannot be judged."""

from __future__ import annotations

import math

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from statsmodels.stats.weightstats import _zstat_generic2

from heldout.comparisons.margins import interval_level, judge_margin
from heldout.comparisons.mcnemar import mcnemar
from heldout.errors import OptionError
from heldout.intervals.estimate import PairTest

LEVEL = interval_level(0.95)


def seen(low, high, difference=None):
    middle = (low + high) / 2 if difference is None else difference
    return PairTest(middle, low, high, LEVEL, "tango", 0.5, 500)


@pytest.mark.parametrize(
    ("low", "high", "higher", "lower", "equivalence"),
    [
        (-0.01, 0.015, "shown", "shown", "shown"),
        (-0.03, 0.01, "not shown", "shown", "not shown"),
        (-0.01, 0.03, "shown", "not shown", "not shown"),
        (-0.05, -0.03, "refuted", "shown", "refuted"),
        (0.03, 0.05, "shown", "refuted", "refuted"),
        (-0.03, 0.03, "not shown", "not shown", "not shown"),
    ],
)
def test_where_the_interval_lies_decides(low, high, higher, lower, equivalence):
    found = seen(low, high)
    assert judge_margin(found, 0.02, "higher", "non-inferiority").outcome == higher
    assert judge_margin(found, 0.02, "lower", "non-inferiority").outcome == lower
    assert judge_margin(found, 0.02, "higher", "equivalence").outcome == equivalence


@given(st.floats(-0.2, 0.2), st.floats(1e-4, 0.2), st.floats(1e-4, 0.2), st.floats(1e-3, 0.2))
def test_p_is_below_five_percent_exactly_where_it_is_shown(difference, below, above, margin):
    low, high = difference - below, difference + above
    assume(abs(low + margin) > 1e-9 and abs(high - margin) > 1e-9)
    for direction in ("higher", "lower"):
        for kind in ("non-inferiority", "equivalence"):
            found = judge_margin(seen(low, high, difference), margin, direction, kind)
            assert (found.p < 0.05) == (found.outcome == "shown")
            assert 0 <= found.p <= 1


@given(st.floats(-0.2, 0.2), st.floats(1e-4, 0.2), st.floats(1e-3, 0.2))
def test_swapping_the_two_and_the_direction_changes_nothing(difference, half, margin):
    one = judge_margin(seen(difference - half, difference + half), margin, "higher")
    two = judge_margin(seen(-difference - half, -difference + half), margin, "lower")
    assert one.outcome == two.outcome
    assert one.p == pytest.approx(two.p, abs=1e-12)


def test_p_is_that_of_a_one_sided_z_test():
    found = judge_margin(seen(-0.01, 0.03), 0.02)
    error = 0.02 / 1.6448536269514722
    assert found.p == pytest.approx(_zstat_generic2(0.01 + 0.02, error, "larger")[1], rel=1e-9)


def test_a_real_comparison():
    found = judge_margin(mcnemar(30, 28, 1000, level=LEVEL), 0.02, names=("new", "old"))
    assert found.outcome == "shown"
    assert found.level == pytest.approx(0.9)
    assert found.verdict.startswith("new is not worse than old by more than .020 (90 % interval [-.0")
    assert "normal approximation" in found.verdict


@pytest.mark.parametrize("margin", [0, -0.02, math.nan, math.inf, "much"])
def test_a_margin_is_a_positive_number(margin):
    with pytest.raises(OptionError, match="positive") as caught:
        judge_margin(seen(-0.01, 0.01), margin)
    if margin == -0.02:
        assert "write 0.02" in caught.value.hint


def test_other_options_are_checked():
    with pytest.raises(OptionError, match="which way"):
        judge_margin(seen(-0.01, 0.01), 0.02, "zero")
    assert judge_margin(seen(-0.01, 0.01), 0.02, "zero", "equivalence").outcome == "shown"
    with pytest.raises(OptionError, match="non-inferiority, equivalence") as caught:
        judge_margin(seen(-0.01, 0.01), 0.02, kind="equivalent")
    assert "'equivalence'" in caught.value.hint
    assert judge_margin(seen(-0.01, 0.01), 0.02, kind="Non inferiority").kind == "non-inferiority"
    with pytest.raises(OptionError):
        interval_level(0.5)
    with pytest.raises(OptionError):
        interval_level(95)


def test_an_undefined_difference_is_not_judged():
    found = judge_margin(mcnemar(0, 0, 0), 0.02)
    assert found.outcome == "not shown"
    assert "there are no cases" in found.verdict
    assert math.isnan(found.p)


def test_an_interval_without_width():
    assert judge_margin(seen(0.0, 0.0), 0.02, kind="equivalence").p == 0
    assert judge_margin(seen(0.03, 0.03), 0.02, kind="equivalence").p == 1


def test_a_margin_that_no_difference_can_miss_is_refused():
    with pytest.raises(OptionError, match="A margin of 5 says nothing: two values differ by at most 1") as caught:
        judge_margin(seen(-0.01, 0.03), 5, reach=1.0)
    assert caught.value.hint == "did you mean 0.05, which is 5%?"
    assert judge_margin(seen(-0.01, 0.03), 5).outcome == "shown"
