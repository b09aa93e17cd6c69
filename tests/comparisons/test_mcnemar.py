"""McNemar's test: R's figures, statsmodels', counts in the billions, and the odds ratio."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy import stats
from statsmodels.stats.contingency_tables import mcnemar as statsmodels_mcnemar
from tests.oracles.figures import read_json

import heldout
from heldout.comparisons.mcnemar import COCHRAN, TESTS, mcnemar, mcnemar_p
from heldout.errors import OptionError

MID_P, EXACT, CHI_SQUARE, CORRECTED = TESTS
EXAMPLES = read_json("r/mcnemar.json")
counts = st.integers(0, 300)


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: example["name"])
def test_agrees_with_r(example):
    b, c, n = example["b"], example["c"], sum(example["table_rowmajor"])
    for method, key in ((MID_P, "p_midp"), (EXACT, "p_exact"), (CHI_SQUARE, "p_chi2"), (CORRECTED, "p_cc")):
        assert mcnemar(b, c, n, method=method).p == pytest.approx(example[key], rel=1e-10)
    for method, key in ((CHI_SQUARE, "chi2"), (CORRECTED, "chi2_cc")):
        found = mcnemar(b, c, n, method=method)
        assert found.statistic == pytest.approx(example[key], rel=1e-10)
        assert found.df == 1
    assert mcnemar(b, c, n).difference == pytest.approx((b - c) / n)


@given(counts, counts)
def test_agrees_with_statsmodels(b, c):
    # statsmodels divides by zero where both are 0, and counts the middle twice where the two are equal.
    assume(b + c > 0)
    table = [[5, b], [c, 7]]
    plain = statsmodels_mcnemar(table, exact=False, correction=False)
    assert mcnemar_p(b, c, CHI_SQUARE)[:2] == pytest.approx((plain.pvalue, plain.statistic), rel=1e-9)
    if b != c:
        assert mcnemar_p(b, c, EXACT)[0] == pytest.approx(statsmodels_mcnemar(table, exact=True).pvalue, rel=1e-9)


@given(counts, counts)
def test_mid_p_is_the_exact_p_less_the_probability_of_what_was_seen(b, c):
    seen = stats.binom.pmf(min(b, c), b + c, 0.5)
    doubled = 2 * stats.binom.cdf(min(b, c), b + c, 0.5)
    expected = 1.0 if b == c else doubled - seen
    assert mcnemar_p(b, c)[0] == pytest.approx(expected, rel=1e-9)
    assert mcnemar_p(b, c)[0] <= mcnemar_p(b, c, EXACT)[0]


@given(counts, counts, st.sampled_from(TESTS))
def test_swapping_the_two_turns_the_sign_and_nothing_else(b, c, method):
    one, two = mcnemar(b, c, 700, method=method), mcnemar(c, b, 700, method=method)
    assert one.difference == -two.difference
    assert one.p == two.p
    assert (one.low, one.high) == pytest.approx((-two.high, -two.low), abs=1e-12)


def test_billions_of_cases_are_no_sum():
    # The exact tail of so many tosses is normal to many digits, with a continuity correction.
    b, c = 10**9, 10**9 - 10**5
    normal = math.erfc((b - c - 1) / math.sqrt(b + c) / math.sqrt(2))
    assert mcnemar_p(b, c, EXACT)[0] == pytest.approx(normal, rel=1e-6)
    assert mcnemar_p(b, c)[0] == pytest.approx(mcnemar_p(b, c, CHI_SQUARE)[0], rel=1e-6)
    assert mcnemar_p(10**9, 1)[:2] == (0.0, 1.0)
    assert mcnemar(b, c, 3 * 10**9).low < (b - c) / (3 * 10**9)


@pytest.mark.parametrize("method", TESTS)
def test_identical_predictions(method):
    found = mcnemar(0, 0, 50, method=method)
    assert (found.difference, found.p) == (0, 1)
    assert (found.low, found.high) == pytest.approx((-0.0713, 0.0713), abs=1e-4)
    assert "no case" in found.note
    assert math.isnan(found.effect)


def test_no_cases_is_undefined():
    found = mcnemar(0, 0, 0)
    assert np.isnan([found.difference, found.low, found.high, found.p]).all()
    assert found.undefined == "there are no cases"


@given(counts, counts)
def test_the_effect_is_the_odds_ratio(b, c):
    assert mcnemar(b, c, 600).effect == pytest.approx(b / c if c else math.inf if b else math.nan, nan_ok=True)


def test_impossible_counts_and_unknown_methods_are_refused():
    with pytest.raises(OptionError, match="Of 10 cases"):
        mcnemar(6, 5, 10)
    with pytest.raises(OptionError, match="Of 10 cases"):
        mcnemar(-1, 5, 10)
    with pytest.raises(OptionError, match="mcnemar-exact"):
        mcnemar(1, 5, 10, method="mcnemar-exakt")
    with pytest.raises(OptionError, match="not a form of McNemar"):
        mcnemar(1, 5, 10, method=COCHRAN.name)


def test_where_the_test_and_the_interval_disagree_about_zero_that_is_said():
    # A alone is right on 8 of 200 cases, B alone on 18: mid-p by scipy's binomial distribution, Tango's limit below 0.
    mid_p = 2 * stats.binom.cdf(8, 26, 0.5) - stats.binom.pmf(8, 26, 0.5)
    assert mid_p == pytest.approx(0.0522, abs=1e-4)
    truth = np.arange(200) % 2
    a, b = truth.copy(), truth.copy()
    b[:8], a[8:26] = 1 - b[:8], 1 - a[8:26]
    compared = heldout.compare({"A": heldout.evaluate(truth, a), "B": heldout.evaluate(truth, b)}, measures="accuracy")
    (pair,) = compared.pairs
    assert pair.tested.p == pytest.approx(mid_p)  # type: ignore[attr-defined]
    assert pair.tested.high < 0  # type: ignore[attr-defined]
    assert pair.tested.note == (  # type: ignore[attr-defined]
        "the interval (tango) leaves out 0, and the test (mcnemar, p = .052) does not reject: the verdict is the test's"
    )
    assert "leaves out 0 although the test (p = .052) does not reject" in compared.review["H054"].title  # type: ignore[attr-defined]
    b[26:40] = 1 - b[26:40]
    agreeing = heldout.compare({"A": heldout.evaluate(truth, a), "B": heldout.evaluate(truth, b)}, measures="accuracy")
    assert agreeing.pairs[0].tested.note == ""  # type: ignore[attr-defined]
