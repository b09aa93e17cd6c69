"""Sample sizes: enough and not one too many, against statsmodels, published figures and simulation."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from statsmodels.stats.proportion import samplesize_proportions_2indep_onetail
from tests.oracles.figures import read_json

from heldout.comparisons.cases_needed import cases_needed
from heldout.comparisons.mcnemar import mcnemar_p
from heldout.comparisons.sample_size import (
    METHODS,
    SampleSize,
    cases_for_auc_difference,
    cases_for_difference,
    cases_for_two,
    cases_for_width,
    expected_width,
    mcnemar_power,
)
from heldout.errors import OptionError
from heldout.intervals.areas import hanley_mcneil_variance
from heldout.intervals.proportion import wilson
from heldout.results.difference import PairTest


@settings(max_examples=25, deadline=None)
@given(st.floats(0, 1), st.floats(0.02, 0.5), st.sampled_from(["wilson", "jeffreys", "clopper-pearson"]))
def test_a_width_takes_so_many_cases_and_not_one_less(p, width, method):
    found = cases_for_width(p, width, method=method)
    assert expected_width(p, found.n, method=method) <= width
    if found.n > 1:
        assert expected_width(p, found.n - 1, method=method) > width
    assert found.reached == expected_width(p, found.n, method=method)


def test_the_expected_width_is_a_mean_over_samples():
    hits = np.arange(41)
    low, high = wilson(hits, 40)
    assert expected_width(0.3, 40) == pytest.approx((stats.binom.pmf(hits, 40, 0.3) * (high - low)).sum(), rel=1e-12)


def test_widths_beyond_a_million_cases_join_smoothly():
    near = expected_width(0.3, 1_000_000)
    beyond = expected_width(0.3, 1_000_001)
    assert beyond == pytest.approx(near * math.sqrt(1_000_000 / 1_000_001), rel=1e-6)
    assert cases_for_width(0.5, 1e-4).n == pytest.approx(1.959964**2 / 1e-8, rel=1e-4)


def test_the_textbook_sample_size():
    # z² p (1 − p) / d²: 385 cases for ± 5 points at p = .5.
    assert cases_for_width(0.5, 0.1, method="normal").n == 385
    assert {cases_for_width(0.5, 0.1, method=method).n for method in METHODS} <= set(range(375, 405))


@pytest.mark.parametrize(("p1", "p2", "power"), [(0.9, 0.85, 0.8), (0.6, 0.4, 0.9), (0.05, 0.01, 0.8)])
def test_two_test_sets_agree_with_statsmodels(p1, p2, power):
    found = cases_for_two(p1, p2, power)
    expected = samplesize_proportions_2indep_onetail(p1 - p2, p2, power, alpha=0.05)
    assert found.n == math.ceil(expected)
    assert found.reached >= power
    assert "each" in found.sentence


def test_connors_formula():
    # (1.96·√.2 + 0.8416·√(.2 − .01²))² / .01² = 15,694.4
    root = 1.959963985 * math.sqrt(0.2) + 0.841621234 * math.sqrt(0.2 - 1e-4)
    assert cases_for_difference(0.2, 0.01).n == math.ceil((root / 0.01) ** 2)
    assert cases_for_difference(0.2, 0.01).method == "Connor's formula"


@pytest.mark.parametrize(("n", "discordant", "gap"), [(40, 0.5, 0.3), (60, 0.15, 0.1), (30, 0.2, 0.2), (80, 0.1, 0)])
def test_the_exact_power_is_a_sum_over_all_that_can_happen(n, discordant, gap):
    to_a, to_b = (discordant + gap) / 2, (discordant - gap) / 2
    power = 0.0
    for b in range(n + 1):
        for c in range(n - b + 1):
            if mcnemar_p(b, c)[0] <= 0.05:
                power += math.exp(stats.multinomial.logpmf([b, c, n - b - c], n, [to_a, to_b, 1 - to_a - to_b]))
    assert mcnemar_power(n, discordant, gap) == pytest.approx(power, abs=1e-9)


def test_a_difference_takes_so_many_cases_and_not_one_less():
    for discordant, gap, power in ((0.1, 0.04, 0.8), (0.3, 0.1, 0.9), (0.05, 0.05, 0.8)):
        found = cases_for_difference(discordant, gap, power)
        assert mcnemar_power(found.n, discordant, gap) >= power > mcnemar_power(found.n - 1, discordant, gap)
        assert found.method.startswith("exact")
        assert cases_for_difference(discordant, -gap, power) == found


def test_exact_and_approximate_agree_where_they_meet():
    approximate = (1.959963985 * math.sqrt(0.1) + 0.841621234 * math.sqrt(0.1 - 0.02**2)) ** 2 / 0.02**2
    assert cases_for_difference(0.1, 0.02).n == pytest.approx(approximate, rel=0.02)


def test_hanley_and_mcneils_standard_error():
    images = read_json("r/hanley_mcneil_ct.json")
    sizes = sum(images["abnormal_counts"]), sum(images["normal_counts"])
    found = math.sqrt(hanley_mcneil_variance(images["auc"], *sizes))
    assert found == pytest.approx(images["hanley_mcneil_se"], rel=1e-10)


def test_areas_take_so_many_cases_and_not_one_less():
    found = cases_for_auc_difference(0.85, 0.8, 0.5, 0.3)
    assert found.reached >= 0.8
    # Half as large a difference takes about four times the cases, a correlation of .9 about a fifth.
    assert cases_for_auc_difference(0.825, 0.8, 0.5, 0.3).n == pytest.approx(4 * found.n, rel=0.1)
    assert cases_for_auc_difference(0.85, 0.8, 0.9, 0.3).n == pytest.approx(found.n / 5, rel=0.1)
    assert cases_for_auc_difference(0.8, 0.85, 0.5, 0.3).n == found.n


def test_the_power_for_areas_is_that_of_simulated_scores():
    # Independent test sets, so that the correlation is 0: binormal scores, z test by Hanley & McNeil.
    n = cases_for_auc_difference(0.85, 0.72, correlation=0.0).n
    rng = np.random.default_rng(0)
    rejected = 0
    for _ in range(400):
        areas, variances = [], []
        for area in (0.85, 0.72):
            positives = rng.normal(math.sqrt(2) * stats.norm.ppf(area), 1, n // 2)
            negatives = rng.normal(0, 1, n - n // 2)
            areas.append((positives[:, None] > negatives).mean())
            variances.append(hanley_mcneil_variance(areas[-1], n // 2, n - n // 2))
        rejected += abs(areas[0] - areas[1]) > 1.96 * math.sqrt(sum(variances))
    assert 0.72 <= rejected / 400 <= 0.88


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


def test_an_answer_reads_and_is_stored():
    found = cases_for_width(0.9, 0.05)
    assert isinstance(found, SampleSize)
    assert int(found) == found.n
    assert str(found).startswith(f"{found.n} cases are needed for a 95 % interval (wilson)")
    document = found.to_dict()
    assert document["schema"] == "heldout/sample-size@1"
    assert document["n"] == found.n
    assert document["estimates"][0]["p"] == 0.9
    assert found.to_frame()["n"].to_list() == [found.n]
    assert "needed" in found.to_markdown()


@pytest.mark.parametrize(
    "call",
    [
        lambda: cases_for_width(1.2, 0.1),
        lambda: cases_for_width(0.5, 0),
        lambda: cases_for_width(0.5, 0.1, 95),
        lambda: cases_for_width(0.5, 0.1, method="wlison"),
        lambda: cases_for_difference(0.1, 0.2),
        lambda: cases_for_difference(0.1, 0),
        lambda: cases_for_difference(0.1, 0.05, power=80),
        lambda: cases_for_two(0.5, 0.5),
        lambda: cases_for_two(0.5, 1.5),
        lambda: cases_for_auc_difference(0.8, 0.8),
        lambda: cases_for_auc_difference(0.8, 1.0),
        lambda: cases_for_auc_difference(0.8, 0.7, 1.0),
        lambda: cases_for_auc_difference(0.8, 0.7, 0.5, 0.0),
        lambda: cases_needed(PairTest(0.1, 0, 0.2, 0.95, "tango", 0.05, 10), power=1.0),
    ],
)
def test_questions_without_an_answer_are_refused(call):
    with pytest.raises(OptionError) as caught:
        call()
    assert caught.value.hint
