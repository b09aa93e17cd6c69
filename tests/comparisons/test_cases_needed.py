"""How many cases would decide what was left open: from the limits of an interval, or for a margin."""

from __future__ import annotations

import math

import pytest
from scipy import stats

from heldout.comparisons.cases_needed import cases_needed
from heldout.errors import OptionError
from heldout.intervals.estimate import PairTest


def test_the_range_of_cases_that_an_interval_implies():
    seen = PairTest(0.02, 0.01, 0.03, 0.95, "tango", 0.0001, 500)
    error = 0.01 / 1.959963985
    strict = 4.0  # z of a corrected level
    level = 1 - 2 * stats.norm.sf(strict)
    ends = [500 * ((strict + 0.841621234) * error / end) ** 2 for end in (0.03, 0.01)]
    found = cases_needed(seen, level=level)
    assert found is not None
    # The far end would take fewer cases than there were.
    assert ends[0] < 500 == found.low
    assert ends[1] <= (found.high or 0) <= 1.1 * ends[1]
    assert cases_needed(PairTest(-0.02, -0.03, -0.01, 0.95, "tango", 0.0001, 500), level=level) == found
    # At its own level there are cases enough.
    assert cases_needed(PairTest(0.02, 0.015, 0.025, 0.95, "tango", 0.0001, 500)) is None


def test_cases_for_a_margin():
    seen = PairTest(0.02, -0.01, 0.05, 0.95, "tango", 0.19, 500)
    error = 0.03 / 1.959963985
    for power, z in ((0.8, 0.841621234), (0.9, 1.281551566), (0.5, 0.0)):
        exact = 500 * ((1.959963985 + z) * error / 0.01) ** 2
        found = cases_needed(seen, power, margin=0.01)
        assert found is not None
        assert found.low == found.high
        assert exact <= found.low <= 1.1 * exact
    tiny = cases_needed(seen, margin=1e-6)
    assert tiny is not None
    assert (tiny.high, tiny.describe()) == (None, "more than a million cases")


@pytest.mark.parametrize(
    ("difference", "low", "high", "n"),
    [(math.nan, math.nan, math.nan, 50), (0.1, 0.1, 0.1, 50), (0.1, 0, math.inf, 50), (0.1, 0, 0.2, 0)],
)
def test_where_no_number_of_cases_can_be_said(difference, low, high, n):
    assert cases_needed(PairTest(difference, low, high, 0.95, "tango", 1.0, n)) is None


def test_a_power_that_cannot_be_is_refused():
    with pytest.raises(OptionError):
        cases_needed(PairTest(0.1, 0, 0.2, 0.95, "tango", 0.05, 10), power=1.0)
