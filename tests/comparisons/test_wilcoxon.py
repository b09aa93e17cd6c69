"""Signed ranks and signs over data sets agree with R, SciPy, Demšar and baycomp."""

from __future__ import annotations

import csv
import itertools
import json
import math
from pathlib import Path
from typing import Any, cast

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

import heldout
from heldout.comparisons.wilcoxon import (
    DATA_SET_TESTS,
    bayes_signed_rank,
    compare_over_data_sets,
    pseudomedian,
    sign_test,
    signed_ranks,
    wilcoxon,
)
from heldout.errors import OptionError, ValuesError

R = Path(__file__).parents[1] / "oracles" / "data" / "r"
DEMSAR = json.loads((R / "wilcoxon_demsar.json").read_text(encoding="utf-8"))
RESAMPLED = json.loads((R / "resampled_tests.json").read_text(encoding="utf-8"))
# Differences of these numbers are exact, so ties are ties to SciPy too.
GRID = st.integers(-40, 40).map(lambda whole: whole / 64)


def table():
    with (R / "demsar_table6_auc.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    return {name: np.array([float(row[name]) for row in rows]) for name in ("C4.5", "C4.5+m")}


A, B = table()["C4.5+m"], table()["C4.5"]


def test_demsar_splits_zeros():
    found = signed_ranks(A, B, zeros="split")
    assert (found.plus, found.minus, found.smaller) == (DEMSAR["Rplus"], DEMSAR["Rminus"], DEMSAR["T"])
    tested = wilcoxon(A, B, zeros="split", form="normal")
    assert tested.statistic == DEMSAR["T"]
    assert tested.p == pytest.approx(2 * stats.norm.cdf(DEMSAR["z_demsar"]), rel=1e-10)


def test_r_drops_zeros():
    assert signed_ranks(A, B).plus == DEMSAR["R_V"]
    assert wilcoxon(A, B, form="normal").p == pytest.approx(DEMSAR["R_p_correct"], rel=1e-10)
    assert wilcoxon(A, B, form="normal", continuity=False).p == pytest.approx(DEMSAR["R_p_nocorrect"], rel=1e-10)
    assert "2 data sets show no difference and are left out" in wilcoxon(A, B).note


def test_one_of_an_odd_number_of_zeros_goes():
    found = signed_ranks([1.0, 1.0, 1.0, 3.0], [1.0, 1.0, 1.0, 1.0], zeros="split")
    # Of three zeros two are left, which share the ranks 1 and 2.
    assert (found.plus, found.minus) == (3 + 1.5, 1.5)


def test_r_is_exact_without_ties():
    d = np.array(RESAMPLED["d10"])
    assert wilcoxon(d, np.zeros(10)).p == pytest.approx(RESAMPLED["wilcoxon_d10_p"], rel=1e-12)


@pytest.mark.parametrize("n", [2, 3, 7, 20, 50, 51, 80])
def test_scipy_gives_the_same(n):
    rng = np.random.default_rng(n)
    a, b = rng.normal(0.3, 1, n), rng.normal(0, 1, n)
    theirs = stats.wilcoxon(a, b, correction=n > 50, method="auto")
    found = wilcoxon(a, b)
    assert found.statistic == pytest.approx(theirs.statistic)
    assert found.p == pytest.approx(theirs.pvalue, rel=1e-9)


@given(st.lists(GRID, min_size=3, max_size=25).filter(any))
def test_scipy_gives_the_same_with_ties(differences):
    d = np.array(differences)
    theirs = stats.wilcoxon(d, correction=True, method=cast("Any", "asymptotic"))
    found = wilcoxon(d, np.zeros(len(d)), form="normal")
    assert found.statistic == theirs.statistic
    assert found.p == pytest.approx(theirs.pvalue, rel=1e-9)


@given(st.lists(GRID, min_size=2, max_size=9).filter(any), st.sampled_from(["exact", "auto"]))
def test_exact_counts_every_sign(differences, form):
    d = np.array([x for x in differences if x])
    found = wilcoxon(np.append(d, [0.0]), np.zeros(len(d) + 1), form=form).p
    ranks = stats.rankdata(np.abs(d))
    sums = np.array([np.dot(signs, ranks) for signs in itertools.product([0, 1], repeat=len(d))])
    seen = ranks[d > 0].sum()
    assert found == pytest.approx(min(1, 2 * min((sums <= seen).mean(), (sums >= seen).mean())))


@pytest.mark.parametrize("n", [3, 4, 5, 6, 12])
def test_ties_do_not_make_p_smaller_than_signs_can(n):
    # All differences are alike, so every rank is shared: scipy tosses every sign.
    ones, zeros = np.ones(n), np.zeros(n)
    theirs = stats.wilcoxon(ones, method=cast("Any", stats.PermutationMethod(n_resamples=2**13)))
    assert wilcoxon(ones, zeros).p == pytest.approx(theirs.pvalue, rel=1e-12)
    assert wilcoxon(ones, zeros).p == pytest.approx(2.0 ** (1 - n), rel=1e-12)
    assert wilcoxon(np.append(ones, 0.0), np.zeros(n + 1)).p == pytest.approx(2.0 ** (1 - n), rel=1e-12)


@pytest.mark.parametrize("n", [4, 5, 6])
def test_the_verdict_agrees_with_what_the_review_says_is_possible(n):
    results: dict[str, Any] = {"data": [f"d{i}" for i in range(n)], "A": [81.0 - 3 * i for i in range(n)]}
    compared = heldout.compare(pd.DataFrame(results | {"B": [value - 1 for value in results["A"]]}))
    possible = "so nothing can be shown at level 0.95" not in str(compared)
    assert (possible, "better" in compared.verdict) == (n == 6, n == 6)


@given(st.lists(GRID, min_size=6, max_size=30, unique_by=abs).filter(all), st.sampled_from([0.8, 0.9, 0.95, 0.96]))
def test_the_interval_holds_what_is_not_rejected(differences, level):
    d = np.array(differences)
    _, low, high, _ = pseudomedian(d, level)
    tiny = 1e-7
    # Just inside the interval nothing is rejected, just outside everything.
    for edge, way in ((low, 1), (high, -1)):
        assert wilcoxon(d, np.full(len(d), edge + way * tiny), form="exact").p >= 1 - level
        assert wilcoxon(d, np.full(len(d), edge - way * tiny), form="exact").p < 1 - level + 1e-12


def test_the_middle_is_the_median_of_averages():
    d = np.array([0.3, -0.1, 0.7, 0.2, 0.25, 0.9, -0.3])
    by_hand = np.median([(x + y) / 2 for i, x in enumerate(d) for y in d[i:]])
    assert wilcoxon(d, np.zeros(7)).difference == pytest.approx(by_hand)
    long = np.random.default_rng(0).normal(1, 1, 200)
    found = wilcoxon(long, np.zeros(200))
    assert found.low < found.difference < found.high
    assert found.high - found.low == pytest.approx(2 * 1.96 / math.sqrt(200) * math.sqrt(math.pi / 3), rel=0.15)


def test_few_data_sets_have_no_interval():
    found = wilcoxon([0.9, 0.8, 0.7, 0.9], [0.7, 0.75, 0.6, 0.6])
    assert math.isnan(found.low)
    assert "4 data sets are too few for a 95 % interval" in found.note
    assert found.p == 0.125


@pytest.mark.parametrize("test", [wilcoxon, sign_test])
def test_equal_learners_have_p_1(test):
    found = test(B, B)
    assert (found.difference, found.p, found.effect) == (0, 1, 0)
    assert "equal on every data set" in found.note


def test_rounding_is_no_difference():
    a, b = np.array([0.1 + 0.2, 0.8, 0.7, 0.9]), np.array([0.3, 0.7, 0.6, 0.7])
    # .1 + .2 is .3, and .8 − .7 equals .7 − .6, though not in binary.
    found = signed_ranks(a, b)
    assert found.zeros == 1
    assert sorted(found.signed.tolist()) == [1.5, 1.5, 3.0]


def test_the_effect_is_the_rank_biserial_correlation():
    found = wilcoxon(A, B)
    assert found.effect == pytest.approx((DEMSAR["R_V"] - (78 - DEMSAR["R_V"])) / 78)


def test_signs_are_demsars():
    found = sign_test(A, B)
    assert found.statistic == DEMSAR["sign_wins"] + DEMSAR["ties"] / 2
    assert found.p == pytest.approx(stats.binomtest(11, 14).pvalue)
    dropped = sign_test(A, B, ties="drop")
    assert dropped.statistic == DEMSAR["sign_wins"]
    assert dropped.p == pytest.approx(stats.binomtest(10, 12).pvalue)
    assert found.effect == pytest.approx((10 - 2) / 14)


@given(st.lists(GRID, min_size=2, max_size=30))
def test_the_interval_of_the_median_is_scipys(differences):
    d = np.array(differences)
    found = sign_test(d, np.zeros(len(d)), level=0.9)
    theirs: Any = stats.quantile_test(d, q=0, p=0.5).confidence_interval(0.9)
    assert (found.low, found.high) == pytest.approx((theirs.low, theirs.high), nan_ok=True)


@pytest.mark.parametrize("rope", [0.0, 0.01, 0.03])
def test_beliefs_agree_with_baycomp(rope):
    from baycomp.multiple import SignedRankTest

    rng = np.random.default_rng(3)
    a, b = rng.uniform(0.6, 0.9, 12), rng.uniform(0.58, 0.88, 12)
    draws = 20_000
    theirs = SignedRankTest.probs(a, b, rope=rope, nsamples=draws, random_state=1)
    found = bayes_signed_rank(a, b, rope=rope, draws=draws)
    mine = found.odds if rope else (found.a_higher, found.b_higher)
    for here, there in zip(mine, theirs, strict=True):
        # Five standard errors of the difference of two shares of draws.
        assert abs(here - there) <= 5 * math.sqrt(2 * max(there * (1 - there), 1e-4) / draws)


def test_beliefs_are_repeatable_and_sensible():
    found = bayes_signed_rank(A, B, rope=0.001, draws=4000, seed=4)
    assert found == bayes_signed_rank(A, B, rope=0.001, draws=4000, seed=4)
    assert found != bayes_signed_rank(A, B, rope=0.001, draws=4000, seed=5)
    assert sum(found.odds) == pytest.approx(1)
    assert found.low <= found.difference <= found.high
    other = bayes_signed_rank(B, A, rope=0.001, draws=4000, seed=4)
    assert other.odds == pytest.approx(found.odds[::-1], abs=0.03)


def test_the_interval_of_beliefs_is_that_of_medians_of_drawn_averages():
    d = np.array([0.4, -0.1, 0.3, 0.25, 0.05])
    found = bayes_signed_rank(d, np.zeros(5), level=0.8, draws=4000)
    rng = np.random.default_rng(9)
    places = np.concatenate([[0.0], d])
    medians = []
    for weights in rng.dirichlet([0.5, 1, 1, 1, 1, 1], 1500):
        # Averages of many pairs of data sets, drawn with these weights.
        pairs = rng.choice(places, size=(1001, 2), p=weights)
        medians.append(np.median(pairs.mean(axis=1)))
    assert (found.low, found.high) == pytest.approx(np.quantile(medians, [0.1, 0.9]), abs=0.02)


def test_beliefs_of_equal_learners():
    assert bayes_signed_rank(B, B, draws=100).odds == pytest.approx((0.5, 0, 0.5))
    same = bayes_signed_rank(B, B, rope=0.01, draws=100)
    assert list(same.odds) == [0, 1, 0]
    assert "equal on every data set" in same.note


def test_draws_in_pieces_are_as_many_draws(monkeypatch):
    whole = bayes_signed_rank(A, B, rope=0.001, draws=500)
    monkeypatch.setattr("heldout.comparisons.wilcoxon.AT_ONCE", 1000)
    parts = bayes_signed_rank(A, B, rope=0.001, draws=500)
    assert parts.odds == pytest.approx(whole.odds)
    assert (parts.low, parts.high) == pytest.approx((whole.low, whole.high))


@pytest.mark.parametrize(
    ("call", "error", "said"),
    [
        (lambda: wilcoxon([0.1], [0.2]), OptionError, "at least 2. Got 1"),
        (lambda: wilcoxon([0.1, 0.2], [0.2]), ValuesError, "2 of A and 1 of B"),
        (lambda: wilcoxon([0.1, math.nan], [0.2, 0.3]), ValuesError, "number 2"),
        (lambda: wilcoxon(["a", "b"], [0.2, 0.3]), ValuesError, "not numbers"),
        (lambda: wilcoxon([0.1, 0.2], [0.2, 0.3], zeros=cast("Any", "splt")), OptionError, "drop, split"),
        (lambda: wilcoxon([0.1, 0.2], [0.2, 0.3], form=cast("Any", "t")), OptionError, "auto, exact, normal"),
        (lambda: wilcoxon([0.1, 0.2], [0.2, 0.3], level=95), OptionError, "between 0 and 1"),
        (lambda: bayes_signed_rank([0.1, 0.2], [0.2, 0.3], prior=0), OptionError, "above 0"),
        (lambda: bayes_signed_rank([0.1, 0.2], [0.2, 0.3], rope=cast("Any", "x")), OptionError, "0 or more"),
        (lambda: compare_over_data_sets([0.1, 0.2], [0.2, 0.3], "friedman"), OptionError, "table of learners"),
        (lambda: compare_over_data_sets([0.1, 0.2], [0.2, 0.3], "wilcoxn"), OptionError, "wilcoxon"),
    ],
)
def test_what_cannot_be_compared_is_refused(call, error, said):
    with pytest.raises(error, match=said) as refused:
        call()
    assert refused.value.hint


def test_every_method_is_found_by_its_name():
    for name in DATA_SET_TESTS:
        assert compare_over_data_sets(A, B, name).method == name
    assert compare_over_data_sets(A, B, "wilcoxon", zeros="split").statistic == DEMSAR["T"]
