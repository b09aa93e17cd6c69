"""DeLong's tests: pROC's figures, kernels over all pairs, and what must hold of any two models."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from tests.comparisons.two_models import asah, columns, drawn, model_areas, two_models
from tests.oracles.figures import read_json

from heldout.comparisons.delong import (
    NO_SPREAD,
    all_areas_equal,
    case_placements,
    delong_paired,
    delong_pairs,
    delong_unpaired,
)
from heldout.comparisons.pair_test import mover_limits
from heldout.engines.score_sort import rank
from heldout.errors import ValuesError
from heldout.intervals.areas import area, delong_logit, delong_variance

FIGURES = read_json("r/proc_asah.json")["tests"]["s100b_vs_wfns"]
NEAR = 1e-8


def kernel(scores, positive):
    up, down = scores[positive][:, None], scores[~positive][None]
    return (up > down) + 0.5 * (up == down)


def test_paired_is_what_proc_says():
    scores, poor = asah()
    found, theirs = delong_paired(scores["s100b"], scores["wfns"], poor), FIGURES["delong_paired"]
    assert found.statistic == pytest.approx(theirs["statistic"], abs=NEAR)
    assert found.p == pytest.approx(theirs["p"], abs=NEAR)
    assert found.difference == pytest.approx(theirs["estimate"][0] - theirs["estimate"][1], abs=NEAR)
    # pROC's interval has z; ours is as much wider as t of the 41 poor outcomes is.
    low, high = theirs["conf_int"]
    wider = stats.t.ppf(0.975, 40) / stats.norm.ppf(0.975)
    assert found.high - found.low == pytest.approx(wider * (high - low), abs=NEAR)
    assert found.high + found.low == pytest.approx(high + low, abs=NEAR)
    covariance = model_areas([scores["s100b"], scores["wfns"]], poor).covariance
    assert covariance[0, 1] == pytest.approx(FIGURES["cov_delong"], abs=NEAR)


def test_unpaired_is_what_proc_says():
    scores, poor = asah()
    found = delong_unpaired(rank(scores["s100b"], poor), rank(scores["wfns"], poor))
    theirs = FIGURES["delong_unpaired"]
    assert found.statistic == pytest.approx(theirs["statistic"], abs=NEAR)
    assert found.p == pytest.approx(theirs["p"], abs=NEAR)
    assert found.df == pytest.approx(theirs["parameter"]["df"], abs=NEAR)


def test_three_models_are_what_delong_published():
    figures = read_json("r/delong_ovarian.json")
    held = columns("delong_ovarian_sas.csv")
    scores = np.array([held[name] for name in figures["order"]], dtype=np.float64)
    positive = np.array(held["popind"]) == "1"
    areas = model_areas(scores, positive)
    np.testing.assert_allclose(areas.values, figures["auc"], atol=NEAR)
    np.testing.assert_allclose(areas.covariance, figures["cov"], atol=NEAR)
    overall = all_areas_equal(areas)
    assert overall.statistic == pytest.approx(figures["chi2_all_equal_df2"], abs=NEAR)
    assert overall.df == 2
    assert overall.p == pytest.approx(figures["p"], abs=NEAR)
    pairs = delong_pairs(scores, positive)
    for name, theirs in figures["pairs"].items():
        one, two = (figures["order"].index(part) for part in name.split("_"))
        assert pairs[one, two].statistic == pytest.approx(theirs["z"], abs=NEAR)
        assert pairs[one, two].p == pytest.approx(theirs["p"], abs=NEAR)


@given(two_models())
def test_the_covariance_is_that_of_the_row_and_column_means(held):
    a, b, positive = held
    tables = [kernel(side, positive) for side in (a, b)]
    rows, cols = (np.cov([table.mean(axis=axis) for table in tables]) for axis in (1, 0))
    expected = rows / positive.sum() + cols / (~positive).sum()
    found = model_areas([a, b], positive)
    np.testing.assert_allclose(found.covariance, expected, atol=1e-14)
    np.testing.assert_allclose(found.values, [table.mean() for table in tables], atol=1e-14)
    placed = case_placements(a, positive)
    np.testing.assert_allclose(placed[positive], tables[0].mean(axis=1), atol=1e-14)
    np.testing.assert_allclose(placed[~positive], tables[0].mean(axis=0), atol=1e-14)


def same(one, two, near=1e-9):
    fields = ("difference", "low", "high", "p", "statistic", "n")
    for name in fields:
        assert getattr(one, name) == pytest.approx(getattr(two, name), abs=near), name


@given(two_models())
def test_the_other_way_round_is_the_negative(held):
    a, b, positive = held
    one, two = delong_paired(a, b, positive), delong_paired(b, a, positive)
    flipped = replace(
        two, difference=-two.difference, low=-two.high, high=-two.low, statistic=-two.statistic
    )  # fmt: skip
    same(one, flipped)
    assert one.low <= one.difference <= one.high
    assert 0 <= one.p <= 1


@given(two_models(), st.integers(0, 99))
def test_neither_the_scale_of_the_scores_nor_the_order_of_the_cases_matters(held, seed):
    a, b, positive = held
    found = delong_paired(a, b, positive)
    same(found, delong_paired(np.exp(a / 3), -1 / (b + 1), positive))
    order = np.random.default_rng(seed).permutation(len(a))
    same(found, delong_paired(a[order], b[order], positive[order]))


@given(two_models())
def test_swapping_the_classes_turns_both_areas_over(held):
    a, b, positive = held
    found, other = delong_paired(a, b, positive), delong_paired(-a, -b, ~positive)
    same(found, other)


@pytest.mark.parametrize("distance", [1.0, 50.0])
def test_the_same_ranking_has_no_difference(distance):
    a, _, positive = drawn(distance=distance)
    for other in (a, 3 * a - 1):
        found = delong_paired(a, other, positive)
        assert (found.difference, found.low, found.high, found.p) == (0.0, 0.0, 0.0, 1.0)
        assert "alike" in found.note


def test_two_perfect_models_may_still_differ():
    a, b, positive = drawn(distance=50.0, other=50.0)
    found = delong_paired(a, b, positive)
    assert (found.difference, found.p) == (0.0, 1.0)
    low, _ = delong_logit(rank(a, positive))
    assert (found.low, found.high) == pytest.approx((low - 1, 1 - low))


def test_a_perfect_model_gets_the_interval_made_of_two():
    a, b, positive = drawn(distance=50.0)
    found = delong_paired(a, b, positive)
    rankings = rank(a, positive), rank(b, positive)
    limits = delong_logit(rankings[0]), delong_logit(rankings[1])
    assert found.interval_method.startswith("mover")
    assert (found.low, found.high) == pytest.approx(mover_limits((1.0, area(rankings[1])), limits))
    assert found.statistic == pytest.approx(found.difference / math.sqrt(delong_variance(rankings[1])))


@given(two_models())
def test_the_interval_made_of_two_has_the_same_test(held):
    a, b, positive = held
    found, other = (delong_paired(a, b, positive, interval=interval) for interval in ("t", "mover"))
    assert (other.difference, other.low <= other.difference <= other.high) == (found.difference, True)
    if not found.note:
        assert other.p == found.p
    if found.low < found.high and "mover" not in found.interval_method:
        rankings = rank(a, positive), rank(b, positive)
        covariance = model_areas([a, b], positive).covariance
        rho = covariance[0, 1] / math.sqrt(covariance[0, 0] * covariance[1, 1])
        limits = mover_limits(
            (area(rankings[0]), area(rankings[1])), (delong_logit(rankings[0]), delong_logit(rankings[1])), rho
        )  # fmt: skip
        assert (other.low, other.high) == pytest.approx((max(limits[0], -1), min(limits[1], 1)))


@pytest.mark.parametrize("correlation", [0.0, 0.6, -0.3])
def test_of_symmetric_intervals_is_made_the_textbook_one(correlation):
    half = math.sqrt(0.1**2 + 0.04**2 - 2 * correlation * 0.1 * 0.04)
    found = mover_limits((0.8, 0.7), ((0.7, 0.9), (0.66, 0.74)), correlation)
    assert found == pytest.approx((0.1 - half, 0.1 + half))
    # Each limit is made of the sides that face it: A's lower and B's upper one below.
    low, high = mover_limits((0.8, 0.7), ((0.7, 0.8), (0.7, 0.74)), correlation)
    assert (low, high) == pytest.approx((0.1 - half, 0.1))
    # A side without an upper end leaves one open limit of the difference.
    low, high = mover_limits((0.8, 0.7), ((0.7, math.inf), (0.66, 0.74)), correlation)
    assert low == pytest.approx(0.1 - half)
    assert high == math.inf


def test_perfect_against_perfectly_wrong_has_a_p_value():
    truth = np.array([True, True, True, False, False, False])
    score = np.arange(6.0)[::-1]
    found = delong_paired(score, -score, truth)
    assert found.difference == 1.0
    assert 0 < found.p < 0.1
    assert "No variance" in found.note
    apart = delong_unpaired(rank(score, truth), rank(-score, truth))
    assert 0 < apart.p < 0.1


def test_without_a_class_there_is_no_area_and_with_one_case_no_test():
    none = delong_paired([1.0, 2.0], [2.0, 1.0], [True, True])
    assert math.isnan(none.difference)
    assert none.undefined
    assert math.isnan(delong_unpaired(rank(np.arange(2.0), np.ones(2, bool)), rank(*drawn()[::2])).difference)
    few = delong_paired([1.0, 2.0, 3.0], [2.0, 1.0, 3.0], [True, False, False])
    assert (few.low, few.high) == (-1.0, 1.0)
    assert math.isnan(few.p)
    assert few.note


def test_groups_of_one_change_nothing_and_copies_in_groups_tell_nothing_new():
    a, b, positive = drawn()
    n = len(a)
    plain = delong_paired(a, b, positive)
    single = delong_paired(a, b, positive, groups=np.arange(n))
    copied = delong_paired(
        np.tile(a, 3), np.tile(b, 3), np.tile(positive, 3), groups=np.tile(np.arange(n), 3)
    )  # fmt: skip
    for found in (single, copied):
        assert (found.difference, found.statistic) == pytest.approx((plain.difference, plain.statistic))
        assert (found.low, found.high) == pytest.approx((plain.low, plain.high))
        # The test is that of the interval: t of as many units as the smaller class has.
        assert found.df == min(positive.sum(), n - positive.sum()) - 1
        assert found.p == pytest.approx(2 * stats.t.sf(abs(found.statistic), found.df))


def test_with_unequal_groups_the_test_and_the_interval_agree():
    a, b, positive = drawn()
    groups = np.minimum(np.random.default_rng(8).integers(60, size=len(a)), 30)
    seen = delong_paired(a, b, positive, groups=groups)
    assert seen.df < 29
    for level in (1 - seen.p - 1e-6, 1 - seen.p + 1e-6):
        at = delong_paired(a, b, positive, groups=groups, level=level)
        assert (at.low > 0 or at.high < 0) == (level < 1 - seen.p)


def test_groups_and_weights_give_the_variances_of_one_area():
    a, b, positive = drawn()
    rng = np.random.default_rng(3)
    weight, groups = rng.lognormal(size=len(a)), rng.integers(20, size=len(a))
    for options, how in (
        ({"weight": weight}, {"weight": weight}),
        ({"groups": groups}, {"group": (groups, np.arange(20))}),
        ({"groups": groups, "weight": weight}, {"group": (groups, np.arange(20)), "weight": weight}),
    ):
        found = model_areas([a, b], positive, **options)
        for at, side in enumerate((a, b)):
            seen = rank(side, positive, **how)
            assert found.values[at] == pytest.approx(area(seen))
            assert found.covariance[at, at] == pytest.approx(delong_variance(seen))


def test_all_pairs_are_the_pairs():
    scores = np.stack([*drawn(seed=1)[:2], *drawn(seed=2)[:2]])
    positive = drawn(seed=1)[2]
    found = delong_pairs(scores, positive)
    assert list(found) == [(i, j) for i in range(4) for j in range(i + 1, 4)]
    for (one, two), tested in found.items():
        same(tested, delong_paired(scores[one], scores[two], positive))


def test_nearly_the_same_ranking_keeps_its_digits():
    a, _, positive = drawn(4000, digits=12)
    b = a.copy()
    order = np.argsort(a)
    at = next(i for i in range(2000, 3999) if positive[order[i]] != positive[order[i + 1]])
    b[order[[at, at + 1]]] = a[order[[at + 1, at]]]
    found = delong_pairs([a, b], positive)[0, 1]
    p, q = positive.sum(), (~positive).sum()
    # One pair is turned over: one placement of each class differs, by 1 / q and 1 / p.
    variance = (1 / q**2 - 1 / (q**2 * p)) / (p * (p - 1)) + (1 / p**2 - 1 / (p**2 * q)) / (q * (q - 1))
    assert abs(found.difference) == pytest.approx(1 / (p * q))
    assert found.difference / found.statistic == pytest.approx(math.sqrt(variance))


def test_models_that_rank_alike_count_once():
    a, b, positive = drawn()
    two, three = (all_areas_equal(model_areas(rows, positive)) for rows in ([a, b], [a, b, 2 * b]))
    assert three.df == 1
    assert three.statistic == pytest.approx(two.statistic)
    assert two.statistic == pytest.approx(delong_paired(a, b, positive).statistic ** 2)


@pytest.mark.parametrize(
    ("scores", "words"),
    [
        ([[1.0, 2.0], [1.0, math.nan]], "model 2"),
        ([[1.0, 2.0, 3.0]], "2 cases"),
        ([np.zeros(2), np.zeros(3)], "2, 3 scores"),
    ],
)
def test_what_cannot_be_compared_is_refused(scores, words):
    with pytest.raises(ValuesError, match=words):
        delong_pairs(scores, [True, False])


def test_it_is_said_where_p_and_the_interval_do_not_agree():
    apart = 0
    for seed in range(300):
        rng = np.random.default_rng(seed)
        positive = np.arange(40) < 10
        easy = rng.normal(size=40)
        a, b = (0.7 * easy + 0.7 * rng.normal(size=40) + gap * positive for gap in (1.5, 0.5))
        found = delong_paired(a, b, positive)
        holds = found.low <= 0 <= found.high
        said = "p is by the normal distribution, as in pROC; the interval, by t of the 10 cases of the smaller class"
        assert (f"{said}, holds 0" in found.note) == (found.p <= 0.05 and holds)
        assert bool(found.note) == ((found.p <= 0.05) == holds)
        apart += bool(found.note)
        grouped = delong_paired(a, b, positive, groups=np.arange(40) % 20)
        assert grouped.p > 0.05 or grouped.low > 0 or grouped.high < 0 or "groups of the smaller class" in grouped.note
        for other in (
            delong_paired(a, b, positive, interval="mover"),
            delong_unpaired(rank(a, positive), rank(b[5:], positive[5:])),
        ):
            outside = other.low > 0 or other.high < 0
            assert ("made of those of both areas" in other.note) == ((other.p <= 0.05) != outside)
            assert (f"{'leaves out' if outside else 'holds'} 0" in other.note) == ((other.p <= 0.05) != outside)
    # About one sample in eight with so few positives.
    assert apart > 15


def test_areas_that_differ_by_the_same_in_every_case_are_not_taken_for_the_same():
    # In each of four blocks the one puts all positives above the negatives, and the other below them.
    place = np.tile(np.arange(20), 4)
    block = np.repeat(np.arange(4), 20)
    found = delong_paired(block * 20 + place, block * 20 + 19 - place, place >= 10)
    assert found.difference == pytest.approx(0.25)
    assert found.low < 0.25 < found.high
    assert found.note.startswith(NO_SPREAD)
    assert 0 < found.p < 1
