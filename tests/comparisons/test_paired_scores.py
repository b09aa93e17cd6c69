"""Two models by any measure of scores: figures of SciPy and pROC, loops in place of batches, and laws."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from tests.comparisons.two_models import as_probabilities, asah, drawn, two_models
from tests.oracles.figures import read_json

import heldout
from heldout.comparisons.delong import delong_paired
from heldout.comparisons.pair_test import PROCEDURES
from heldout.comparisons.paired_losses import case_losses, paired_loss_test, unpaired_loss_test
from heldout.comparisons.paired_scores import compare_scores, compare_scores_unpaired, list_score_methods
from heldout.comparisons.score_resampling import (
    draw_cases,
    make_scorer,
    mid_ranks,
    resampled_score_differences,
    score_value,
    swapped_score_differences,
)
from heldout.engines.probability_sums import tally, tally_classes
from heldout.engines.score_sort import rank
from heldout.errors import HeldoutError
from heldout.measures.catalogue import CATALOGUE, find
from heldout.measures.quantity import Bound

SCORED = sorted(name for name, m in CATALOGUE.items() if m.scope in ("ranking", "probability") and m.name == name)
BINARY = [name for name in SCORED if name != "top_k_accuracy"]
FAST = [name for name in BINARY if not name.startswith("calibration")]


def probabilities(**options):
    a, b, positive = drawn(**options)
    return as_probabilities(a), as_probabilities(b), positive


def bound_of(name):
    return Bound(CATALOGUE[name], dict(CATALOGUE[name].parameters))


# Mean losses.


@pytest.mark.parametrize("name", ["brier", "log_loss"])
def test_student_is_scipys(name):
    a, b, positive = probabilities()
    first, second = (case_losses(side, positive, find(name)) for side in (a, b))
    found = compare_scores(a, b, positive, find(name), method="paired-loss-t", level=0.9)
    theirs = stats.ttest_rel(first, second)
    assert (found.statistic, found.p) == pytest.approx((theirs.statistic, theirs.pvalue))
    assert (found.low, found.high) == pytest.approx(tuple(theirs.confidence_interval(0.9)))
    assert found.df == len(a) - 1
    assert found.effect == pytest.approx((first - second).mean() / (first - second).std())


@pytest.mark.parametrize("name", ["brier", "log_loss"])
def test_the_mean_of_the_case_losses_is_the_measure(name):
    a, _, positive = probabilities()
    a[:2] = 0.0, 1.0
    losses = case_losses(a, positive, find(name))
    assert losses.mean() == pytest.approx(tally(a, positive).losses[name].mean)
    rng = np.random.default_rng(0)
    for k in (2, 3, 5):
        table, codes = rng.dirichlet(np.ones(k), size=60), rng.integers(k, size=60)
        expected = tally_classes(table, codes).losses[name].mean
        assert case_losses(table, codes, find(name)).mean() == pytest.approx(expected)


def test_hall_rejects_where_its_interval_leaves_zero_out():
    a, b, positive = probabilities(n=40, seed=3, other=1.6)
    # So far that p stays above 1e-6: next to a level of 1 a float does not hold p.
    for shift in np.linspace(-0.05, 0.12, 13):
        first = case_losses(a, positive, find("brier"))
        second = case_losses(b, positive, find("brier")) - shift
        found = paired_loss_test(first, second, form="hall")
        assert found.p > 1e-6
        at_p = paired_loss_test(first, second, form="hall", level=1 - found.p)
        assert min(abs(at_p.low), abs(at_p.high)) == pytest.approx(0.0, abs=1e-9)
        assert (found.p < 0.05) == (found.low > 0 or found.high < 0)


def test_hall_without_skewness_is_the_normal_test():
    rng = np.random.default_rng(0)
    gaps = rng.normal(size=50) + 0.2
    # Each difference with its mirror about the mean: no skewness at all.
    gaps = np.concatenate([gaps, 2 * gaps.mean() - gaps])
    found = paired_loss_test(gaps, np.zeros(100), form="hall")
    z = gaps.mean() / (gaps.std(ddof=1) / 10)
    assert found.p == pytest.approx(2 * stats.norm.sf(abs(z)))


def test_groups_are_the_units_of_losses():
    a, b, positive = probabilities()
    n = len(a)
    plain = compare_scores(a, b, positive, find("brier"), method="paired-loss-t")
    alone = compare_scores(a, b, positive, find("brier"), method="paired-loss-t", groups=np.arange(n))
    assert alone.p == pytest.approx(plain.p)
    copied = compare_scores(
        np.tile(a, 4), np.tile(b, 4), np.tile(positive, 4), find("brier"), groups=np.tile(np.arange(n), 4)
    )  # fmt: skip
    once = compare_scores(a, b, positive, find("brier"), groups=np.arange(n))
    assert (copied.p, copied.low, copied.high) == pytest.approx((once.p, once.low, once.high))


def test_unpaired_losses_are_welchs():
    rng = np.random.default_rng(1)
    one, two = rng.normal(size=40) + 0.3, rng.normal(size=30) * 2
    found, theirs = unpaired_loss_test(one, two), stats.ttest_ind(one, two, equal_var=False)
    assert (found.statistic, found.p, found.df) == pytest.approx((theirs.statistic, theirs.pvalue, theirs.df))
    assert (found.low, found.high) == pytest.approx(tuple(theirs.confidence_interval()))
    # Each number with its mirror about the mean has no skewness to take out.
    one, two = (np.concatenate([side, 2 * side.mean() - side]) for side in (one, two))
    bent, theirs = unpaired_loss_test(one, two, form="hall"), stats.ttest_ind(one, two, equal_var=False)
    assert bent.p == pytest.approx(theirs.pvalue)
    assert (bent.low, bent.high) == pytest.approx(tuple(theirs.confidence_interval()))


def test_constant_differences_are_named():
    losses = np.linspace(0.1, 0.5, 9)
    same = paired_loss_test(losses, losses)
    assert (same.difference, same.low, same.high, same.p) == (0.0, 0.0, 0.0, 1.0)
    shifted = paired_loss_test(losses + 0.25, losses)
    assert shifted.p == 2.0**-8
    assert "All 9 differences are the same" in shifted.note
    # Splits have another convention (test_folds.py), and either note says which one it is.
    assert "sign test" in shifted.note
    assert "Weka" in shifted.note
    apart = unpaired_loss_test(np.full(6, 0.5), np.full(9, 0.25))
    assert apart.p == 2.0**-5
    assert "sign test" in apart.note
    assert "differences" not in apart.note
    alone = paired_loss_test(losses[:1], losses[1:2])
    assert math.isnan(alone.p)
    assert alone.note


# Resampling.


@pytest.mark.parametrize("name", BINARY)
def test_batches_say_what_single_samples_say(name):
    a, _, positive = probabilities(n=60, digits=1)
    bound = bound_of(name)
    (counts,) = draw_cases(positive, None, 6, np.random.default_rng(0))
    found = make_scorer(a, positive, bound)(counts)
    for value, row in zip(found, counts, strict=True):
        taken = np.repeat(np.arange(60), row)
        cells = (
            {"ranking": rank(a[taken], positive[taken])}
            if bound.measure.scope == "ranking"
            else {"probabilities": tally(a[taken], positive[taken])}
        )
        expected = float(bound.value(cells))
        assert value == pytest.approx(expected, rel=1e-9, abs=1e-12, nan_ok=True)


@pytest.mark.parametrize("name", BINARY)
def test_exchanges_say_what_a_loop_says(name):
    a, b, positive = probabilities(n=40, digits=1)
    bound = bound_of(name)
    found = swapped_score_differences((a, b), positive, bound, replicates=5, seed=3)
    bits = np.random.default_rng([3, 23]).integers(0, 2, size=(5, 40), dtype=np.uint8) == 1
    ranked = bound.measure.scope == "ranking" and bound.measure.kind != "calibration"
    first, second = (mid_ranks(a), mid_ranks(b)) if ranked else (a, b)
    for value, row in zip(found, bits, strict=True):
        one, two = np.where(row, second, first), np.where(row, first, second)
        expected = score_value(one, positive, bound) - score_value(two, positive, bound)
        assert value == pytest.approx(expected, abs=1e-12, nan_ok=True)


@pytest.mark.parametrize("name", ["brier", "log_loss", "brier_skill", "log_loss_skill"])
@pytest.mark.parametrize("k", [2, 4])
def test_batches_of_class_probabilities_too(name, k):
    rng = np.random.default_rng(2)
    table, codes = rng.dirichlet(np.ones(k), size=50), rng.integers(k, size=50)
    (counts,) = draw_cases(np.ones(50, bool), None, 4, rng)
    for value, row in zip(make_scorer(table, codes, find(name))(counts), counts, strict=True):
        taken = np.repeat(np.arange(50), row)
        assert value == pytest.approx(score_value(table[taken], codes[taken], find(name)))


def test_mid_ranks_are_scipys():
    a, _, _ = drawn(digits=1)
    np.testing.assert_array_equal(mid_ranks(a), stats.rankdata(a))


def test_the_bootstrap_of_an_area_is_near_procs():
    scores, poor = asah()
    theirs = read_json("r/proc_asah.json")["tests"]["s100b_vs_wfns"]["bootstrap_paired_2000_seed42"]
    values = resampled_score_differences((scores["s100b"], scores["wfns"]), poor, find("roc_auc"), replicates=4000)
    # pROC's statistic is the difference over the replicates' standard deviation, which has 2 % of Monte Carlo error.
    difference = theirs["estimate"][0] - theirs["estimate"][1]
    assert difference / values.std(ddof=1) == pytest.approx(theirs["statistic"], rel=0.06)
    found = compare_scores(scores["s100b"], scores["wfns"], poor, find("roc_auc"), method="bootstrap", replicates=3999)
    assert found.p == pytest.approx(theirs["p"], abs=0.015)


def test_few_cases_have_the_exact_permutation_p():
    a, b, positive = drawn(n=8, seed=5, other=0.0)
    bits = (np.arange(256)[:, None] >> np.arange(8)) & 1 == 1
    bound = find("roc_auc")
    first, second = mid_ranks(a), mid_ranks(b)
    every = np.array(
        [
            score_value(np.where(row, second, first), positive, bound)
            - score_value(np.where(row, first, second), positive, bound)
            for row in bits
        ]
    )
    observed = score_value(a, positive, bound) - score_value(b, positive, bound)
    exact = (np.abs(every) >= abs(observed) - 1e-12).mean()
    found = compare_scores(a, b, positive, bound, method="permutation", replicates=9999)
    assert found.p == pytest.approx(exact, abs=4 * math.sqrt(exact * (1 - exact) / 9999) + 1e-4)
    assert found.interval_method == delong_paired(a, b, positive).interval_method


def test_no_permutation_p_is_smaller_than_the_replicates_can_show():
    a, b, positive = drawn(n=200, distance=4.0, other=-1.0)
    for name in ("roc_auc", "average_precision"):
        found = compare_scores(a, b, positive, find(name), method="permutation", replicates=199)
        assert found.p == pytest.approx(1 / 200)


@pytest.mark.parametrize("stratified", [True, False])
def test_draws_are_resamples(stratified):
    mask = np.arange(30) < 10
    (counts,) = draw_cases(mask if stratified else np.ones(30, bool), None, 4000, np.random.default_rng(1))
    assert (counts.sum(axis=1) == 30).all()
    assert (counts[:, :10].sum(axis=1) == 10).all() == stratified
    assert counts.mean(axis=0) == pytest.approx(np.ones(30), abs=0.08)
    assert counts.var(axis=0).mean() == pytest.approx(1 - (1 / 15 if stratified else 1 / 30), abs=0.04)


def test_groups_are_drawn_and_exchanged_whole():
    a, b, positive = drawn(n=60)
    groups = np.repeat(np.arange(20), 3)
    (counts,) = draw_cases(positive, groups, 50, np.random.default_rng(1))
    assert (counts.reshape(50, 20, 3) == counts.reshape(50, 20, 3)[:, :, :1]).all()
    single, trebled = (
        swapped_score_differences(
            (np.repeat(a, times), np.repeat(b, times)), np.repeat(positive, times), find("auc"),
            groups=np.repeat(np.arange(60), times), replicates=20,
        )
        for times in (1, 3)
    )  # fmt: skip
    np.testing.assert_allclose(single, trebled, atol=1e-12)


@pytest.mark.parametrize("name", FAST)
def test_every_measure_has_its_methods(name):
    a, b, positive = probabilities(n=80, other=0.2)
    bound = bound_of(name)
    values = [
        heldout.evaluate(positive, score=side, positive=True, measures=[bound.name]).value(bound.name)
        for side in (a, b)
    ]
    expected = values[0] - values[1]
    for method in (None, *list_score_methods(bound)):
        found = compare_scores(a, b, positive, bound, method=method, replicates=79)
        assert found.difference == pytest.approx(expected, abs=1e-12)
        assert found.low <= found.difference <= found.high
        assert 0 <= found.p <= 1
        assert PROCEDURES[found.method].setting == "same cases"
        assert found.method == (method or list_score_methods(bound)[0])
        again = compare_scores(a, b, positive, bound, method=method, replicates=79)
        assert replace(again, df=0.0, statistic=0.0, effect=0.0) == replace(found, df=0.0, statistic=0.0, effect=0.0)
    for method in (None, *list_score_methods(bound, "different cases")):
        found = compare_scores_unpaired(a, positive, b[5:], positive[5:], bound, method=method, replicates=79)
        assert found.low <= found.difference <= found.high
        assert PROCEDURES[found.method].setting == "different cases"
        assert found.n == 155


@pytest.mark.parametrize("name", FAST)
def test_the_same_scores_have_no_difference(name):
    a, _, positive = probabilities(n=50)
    for method in list_score_methods(bound_of(name)):
        found = compare_scores(a, a, positive, bound_of(name), method=method, replicates=79)
        assert (found.difference, found.p) == (0.0, 1.0), method
        assert (found.low, found.high) == (0.0, 0.0)


@given(two_models(), st.sampled_from(["roc_auc", "gini", "average_precision", "brier", "partial_auc", "brier_skill"]))
@settings(max_examples=60)
def test_the_other_way_round_is_the_negative(held, name):
    a, b, positive = held
    a, b = a / 15, b / 15
    for method in list_score_methods(find(name)):
        one, two = (
            compare_scores(*pair, positive, find(name), method=method, replicates=59) for pair in ((a, b), (b, a))
        )
        assert (one.difference, one.low, one.high) == pytest.approx((-two.difference, -two.high, -two.low), abs=1e-9)
        assert one.p == pytest.approx(two.p, abs=1e-9)


@given(two_models(), st.sampled_from(["roc_auc", "average_precision", "tpr_at_fpr"]))
@settings(max_examples=40)
def test_the_scale_of_the_scores_does_not_matter_to_a_ranking(held, name):
    a, b, positive = held
    for method in list_score_methods(find(name)):
        one, two = (
            compare_scores(*pair, positive, find(name), method=method, replicates=59)
            for pair in ((a, b), (np.exp(a / 5), b**3 - 7))
        )
        assert (one.difference, one.low, one.high) == pytest.approx((two.difference, two.low, two.high), abs=1e-9)
        assert one.p == pytest.approx(two.p, abs=1e-9)


def test_the_gini_is_twice_the_area():
    a, b, positive = drawn(other=0.5)
    area, twice = (compare_scores(a, b, positive, find(name)) for name in ("roc_auc", "gini"))
    assert twice == replace(area, difference=2 * area.difference, low=2 * area.low, high=2 * area.high, df=twice.df)


def test_one_probability_to_each_class():
    rng = np.random.default_rng(4)
    codes = rng.integers(3, size=90)
    good, poor = (
        np.stack([rng.dirichlet(np.ones(3) + strength * np.eye(3)[code]) for code in codes]) for strength in (6, 1)
    )
    for name in ("brier", "log_loss", "log_loss_skill", "top_k_accuracy"):
        bound = find(name)
        found = compare_scores(good, poor, codes, bound, replicates=199)
        assert found.p < 0.05
        assert (found.difference < 0) == (bound.measure.direction == "lower")
        apart = compare_scores_unpaired(good[:50], codes[:50], poor[50:], codes[50:], bound, replicates=199)
        assert apart.low <= apart.difference <= apart.high


@pytest.mark.parametrize("name", ["roc_auc", "average_precision", "brier_skill"])
def test_one_class_is_undefined_and_says_why(name):
    for method in list_score_methods(find(name)):
        found = compare_scores([0.1, 0.2, 0.4], [0.3, 0.2, 0.1], np.zeros(3, bool), find(name), method=method)
        assert math.isnan(found.difference)
        assert math.isnan(found.p)
        assert found.undefined
        assert found.low < found.high
    found = compare_scores_unpaired([0.1], [False], [0.2, 0.3], [True, False], find(name))
    assert found.undefined


def test_resamples_without_a_value_are_set_aside_and_counted():
    a, b, positive = drawn(n=30)
    positive[:] = False
    positive[:3] = True
    found = compare_scores(a, b, positive, find("average_precision"), replicates=999)
    assert "undefined and were set aside" in found.note


def weights(**options):
    return {"weight": np.ones(len(drawn()[0])), **options}


@pytest.mark.parametrize(
    ("changed", "options", "words"),
    [
        ({}, {"method": "delongg"}, "did you mean 'delong'"),
        ({"bound": find("brier")}, {"method": "delong"}, "does not compare by brier"),
        ({}, {"method": "delong_unpaired"}, "is for different cases"),
        ({"bound": find("accuracy")}, {}, "not a measure of scores"),
        ({}, weights(method="bootstrap"), "use delong"),
        ({}, {"groups": np.arange(3)}, "3 groups"),
        ({}, {"method": "bootstrap", "replicates": 9}, "9 replicates"),
        ({"truth": np.arange(120)}, {}, "whether a case is positive"),
        ({"b": np.zeros(5)}, {}, "match the cases"),
        ({"b": np.full(120, np.nan)}, {}, "finite"),
        ({"bound": find("brier"), "a": np.full(120, 7.0)}, {}, "7"),
        ({"a": np.zeros((120, 2)), "b": np.zeros((120, 2))}, {}, "one for each class"),
    ],
)
def test_what_does_not_fit_is_refused(changed, options, words):
    a, b, positive = probabilities()
    held = {"a": a, "b": b, "truth": positive, "bound": find("roc_auc"), **changed}
    with pytest.raises(HeldoutError, match=words):
        compare_scores(held["a"], held["b"], held["truth"], held["bound"], **options)
