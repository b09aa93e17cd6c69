"""Tests over the same splits agree with R and with Weka's Experimenter, and answer where nothing varies."""

from __future__ import annotations

import csv
import json
import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from heldout.comparisons.fold_tests import (
    FOLD_TESTS,
    FoldValues,
    Posterior,
    bayes_correlated_t,
    compare_folds,
    corrected_repeated_t,
    corrected_t,
    five_by_two_f,
    five_by_two_t,
    paired_t,
)
from heldout.comparisons.pair_test import PROCEDURES
from heldout.errors import HeldoutError, OptionError, ValuesError

DATA = Path(__file__).parents[1] / "oracles" / "data"
R = json.loads((DATA / "r" / "resampled_tests.json").read_text(encoding="utf-8"))
WEKA = json.loads((DATA / "weka" / "experiment" / "weka_ttests.json").read_text(encoding="utf-8"))["split66x30"]
FOLDS = st.lists(st.tuples(st.floats(0, 1), st.floats(0, 1)), min_size=4, max_size=20)


def against_zero(differences, **options):
    return FoldValues.of(differences, np.zeros(len(differences)), **options)


def test_random_splits_agree_with_r():
    values = against_zero(R["d30"], folds=1, repeats=30, ratio=R["test_train_ratio"])
    naive, corrected = paired_t(values), corrected_t(values)
    assert naive.statistic == pytest.approx(R["naive_t"], rel=1e-10)
    assert naive.p == pytest.approx(R["naive_p"], rel=1e-10)
    assert corrected.statistic == pytest.approx(R["corrected_t"], rel=1e-10)
    assert corrected.p == pytest.approx(R["corrected_p"], rel=1e-10)
    assert [corrected.low, corrected.high] == pytest.approx(R["corrected_ci95"], rel=1e-10)
    assert (corrected.n, corrected.df) == (30, 29)


def test_ten_folds_agree_with_r():
    values = against_zero(R["d10"], folds=10)
    naive = paired_t(values)
    assert (naive.statistic, naive.p) == pytest.approx((R["cv10_naive_t"], R["cv10_naive_p"]), rel=1e-10)
    for test in (corrected_t, corrected_repeated_t):
        found = test(values)
        assert found.statistic == pytest.approx(R["cv10_corrected_t"], rel=1e-10)
        assert found.p == pytest.approx(R["cv10_corrected_p"], rel=1e-10)


def test_five_by_two_agrees_with_r():
    values = against_zero(np.ravel(R["five_by_two"]), folds=2, repeats=5)
    t, f = five_by_two_t(values), five_by_two_f(values)
    assert (t.statistic, t.p) == pytest.approx((R["t_5x2"], R["p_t_5x2"]), rel=1e-10)
    assert (f.statistic, f.p) == pytest.approx((R["F_5x2"], R["p_F_5x2"]), rel=1e-10)
    assert t.difference == pytest.approx(np.mean(R["five_by_two"]))
    assert t.interval_method == "corrected-t"


def experiment():
    """The values of every scheme by data set and run, and the rows that it trained and tested."""
    with (DATA / "weka" / "experiment" / "split66x30_raw.csv").open(encoding="utf-8") as file:
        held: dict[tuple[str, str], list[dict[str, str]]] = {}
        for row in csv.DictReader(file):
            held.setdefault((row["Key_Dataset"], row["Key_Scheme"].rpartition(".")[2]), []).append(row)
    return held


RAW = experiment()


@pytest.mark.parametrize(
    "row", WEKA, ids=lambda row: "-".join(row[k] for k in ("tester", "metric", "dataset", "a", "b"))
)
def test_weka_experimenter_gives_the_same_p(row):
    sides = [RAW[row["dataset"], row[side]] for side in "ab"]
    tested, trained = (
        sum(float(run[f"Number_of_{part}_instances"]) for run in sides[0]) for part in ("testing", "training")
    )
    a, b = ([float(run[row["metric"]]) for run in side] for side in sides)
    values = FoldValues.of(a, b, folds=1, repeats=row["n"], ratio=tested / trained)
    found = (corrected_t if row["tester"] == "PairedCorrectedTTester" else paired_t)(values)
    assert found.p == pytest.approx(row["p_weka"], abs=1e-8)
    assert found.difference == pytest.approx(row["diff_mean"], abs=1e-9)


def test_weka_was_asked_everything():
    assert len(WEKA) == 54
    assert any(row["p_weka"] == 1 for row in WEKA), "somewhere all differences are zero"


@pytest.mark.parametrize("runs", [1, 2, 5])
@pytest.mark.parametrize("rope", [0.0, 0.01, 0.1])
def test_beliefs_agree_with_baycomp(runs, rope):
    from baycomp.single import CorrelatedTTest

    rng = np.random.default_rng(runs)
    a, b = rng.uniform(0.6, 0.9, 10 * runs), rng.uniform(0.6, 0.88, 10 * runs)
    found = bayes_correlated_t(FoldValues.of(a, b, folds=10, repeats=runs), rope=rope)
    # Its differences are the second less the first, so its left is where the first is higher.
    theirs = CorrelatedTTest(a, b, rope=rope, runs=runs).probs()
    mine = found.odds if rope else (found.a_higher, found.b_higher)
    assert mine == pytest.approx(theirs, abs=1e-10)
    assert sum(found.odds) == pytest.approx(1)
    assert math.isnan(found.p)


@pytest.mark.parametrize(("shift", "rope"), [(0.0, 0.0), (0.0, 0.01), (0.25, 0.0), (0.25, 0.5), (-0.25, 0.01)])
def test_beliefs_of_constant_differences_agree_with_baycomp(shift, rope):
    from baycomp.single import CorrelatedTTest

    b = np.array([0.5, 0.25, 0.75, 0.5])
    found = bayes_correlated_t(FoldValues.of(b + shift, b), rope=rope)
    theirs = CorrelatedTTest(b + shift, b, rope=rope).probs()
    assert (found.odds if rope else (found.a_higher, found.b_higher)) == pytest.approx(theirs)
    assert "same amount" in found.note


def test_the_interval_of_beliefs_is_the_corrected_one():
    values = against_zero(R["d10"], folds=10)
    found = bayes_correlated_t(values, level=0.9)
    same = corrected_t(values, 0.9)
    assert (found.low, found.high) == pytest.approx((same.low, same.high))


@pytest.mark.parametrize("test", [paired_t, corrected_t, corrected_repeated_t])
def test_equal_values_have_p_1_and_constant_differences_p_0(test):
    b = [0.8, 0.9, 0.7]
    same = test(FoldValues.of(b, b))
    assert (same.difference, same.p, same.statistic) == (0, 1, 0)
    assert "same value in every split" in same.note
    # 0.9 + 0.1 is not quite 1 to a computer.
    shifted = test(FoldValues.of(b, [0.7, 0.8, 0.6]))
    assert (shifted.p, shifted.statistic) == (0, math.inf)
    assert shifted.difference == pytest.approx(0.1)
    assert "same amount" in shifted.note
    assert "by Weka's convention" in shifted.note
    assert math.isnan(shifted.low)
    assert math.isnan(shifted.high)
    assert test(FoldValues.of([0.7, 0.8, 0.6], b)).statistic == -math.inf


def test_five_by_two_without_spread():
    same = FoldValues.of([0.5] * 10, [0.5] * 10, folds=2, repeats=5)
    shifted = against_zero(np.repeat([0.1, 0.2, 0.3, 0.1, 0.2], 2), folds=2, repeats=5)
    first_equal = against_zero(np.repeat([0.0, 0.2, 0.3, 0.1, 0.2], 2), folds=2, repeats=5)
    for test in (five_by_two_t, five_by_two_f):
        assert (test(same).difference, test(same).p) == (0, 1)
        found = test(shifted)
        assert (found.statistic, found.p) == (math.inf, 0)
        assert "agree in every repetition" in found.note
    assert (five_by_two_t(first_equal).p, five_by_two_f(first_equal).p) == (1, 0)


def test_undefined_folds_are_left_out_and_said():
    nan = math.nan
    found = corrected_t(FoldValues.of([0.9, nan, 0.8, 0.9], [0.8, 0.7, nan, 0.6], ratio=0.5))
    assert found.n == 2
    assert "undefined in 2 of 4 splits (number 2, 3)" in found.note
    assert found.difference == pytest.approx(0.2)
    nothing = corrected_t(FoldValues.of([0.9, nan], [0.8, 0.7]))
    assert math.isnan(nothing.difference)
    assert nothing.undefined
    assert bayes_correlated_t(FoldValues.of([0.9, nan], [0.8, 0.7])).undefined
    holed = FoldValues.of([nan, *[0.5] * 9], [0.4] * 10, folds=2, repeats=5)
    assert "needs all ten folds" in five_by_two_f(holed).undefined


@pytest.mark.parametrize(
    ("call", "error", "said"),
    [
        (lambda: FoldValues.of([0.9], [0.8]), OptionError, "There is one split"),
        (lambda: FoldValues.of([], []), OptionError, "There are no splits"),
        (lambda: FoldValues.of([0.9, 0.8], [0.8]), ValuesError, "2 splits and B in 1"),
        (lambda: FoldValues.of([[0.9, 0.8]], [[0.8, 0.7]]), ValuesError, "2 dimensions"),
        (lambda: FoldValues.of([0.9, math.inf], [0.8, 0.7]), ValuesError, "infinite"),
        (lambda: FoldValues.of(["a", "b"], [0.8, 0.7]), ValuesError, "not numbers"),
        (lambda: FoldValues.of([0.9] * 10, [0.8] * 10, folds=3, repeats=3), OptionError, "would make 9"),
        (lambda: FoldValues.of([0.9] * 3, [0.8] * 3, folds=1, repeats=3), OptionError, "Random splits do not say"),
        (lambda: FoldValues.of([0.9] * 3, [0.8] * 3, ratio=0), OptionError, "must be above 0"),
        (lambda: five_by_two_t(FoldValues.of([0.9] * 10, [0.8] * 10)), OptionError, "needs 2 folds repeated 5 times"),
        (lambda: compare_folds(FoldValues.of([0.9, 0.8], [0.8, 0.7]), "corected-t"), OptionError, "corrected-t"),
        (lambda: compare_folds(FoldValues.of([0.9, 0.8], [0.8, 0.7]), "paired-t", rope=0.1), OptionError, "region"),
        (lambda: bayes_correlated_t(FoldValues.of([0.9, 0.8], [0.8, 0.7]), rope=-1), OptionError, "0 or more"),
        (
            lambda: corrected_repeated_t(FoldValues.of([0.9] * 3, [0.8] * 3, folds=1, repeats=3, ratio=0.5)),
            OptionError,
            "random splits",
        ),
    ],
)
def test_what_cannot_be_compared_is_refused(call, error, said):
    with pytest.raises(error, match=said) as refused:
        call()
    assert isinstance(refused.value, HeldoutError)
    assert refused.value.hint


def test_every_method_is_found_by_its_name():
    values = against_zero(np.ravel(R["five_by_two"]), folds=2, repeats=5)
    for name in [*FOLD_TESTS, "5x2cv-t", "5x2cv-f"]:
        assert compare_folds(values, name).method == name
        assert PROCEDURES[name].reference
    assert isinstance(compare_folds(values, "Bayes correlated t", rope=0.01), Posterior)


@pytest.mark.parametrize(
    ("shape", "usual"),
    [({"folds": 10}, "corrected-t"), ({"folds": 5, "repeats": 2}, "one-pass-t"),
     ({"folds": 1, "repeats": 10, "ratio": 0.25}, "one-pass-t"),
     ({"folds": 1, "repeats": 10, "ratio": 1 / 9}, "corrected-t")],
)  # fmt: skip
def test_more_splits_than_one_pass_are_tested_as_one_pass(shape, usual):
    values = against_zero(R["d10"], **shape)
    found = compare_folds(values)
    assert found.method == usual
    differences = np.asarray(R["d10"])
    # So many splits test every case once: by Nadeau and Bengio their mean varies by this.
    error = math.sqrt(differences.var(ddof=1) * (values.ratio / (1 + values.ratio) + values.ratio))
    assert found.statistic == pytest.approx(differences.mean() / error)
    assert found.p == pytest.approx(2 * stats.t.sf(abs(found.statistic), 9))
    assert found.low == pytest.approx(found.difference - stats.t.ppf(0.975, 9) * error)


def test_the_corrected_t_of_repeated_folds_is_the_same_formula():
    values = against_zero(np.ravel(R["five_by_two"]), folds=2, repeats=5)
    one, two = compare_folds(values, "corrected-t"), compare_folds(values, "corrected-repeated-t")
    assert (one.p, one.low, one.high, one.df) == (two.p, two.low, two.high, two.df)
    assert "corrected-t" in PROCEDURES["corrected-repeated-t"].summary
    for name in ("corrected-t", "corrected-repeated-t"):
        assert "10 × 10 folds" in PROCEDURES[name].finding
        assert "1-NN" in PROCEDURES[name].finding


def test_methods_that_reject_too_often_say_so():
    values = against_zero(R["d10"])
    assert ".12–.14 with 1-NN" in paired_t(values).note
    assert corrected_t(values).note == ""


@given(FOLDS, st.floats(0.5, 0.99))
def test_the_interval_holds_zero_exactly_when_the_test_does_not_reject(pairs, level):
    values = FoldValues.of(*zip(*pairs, strict=True))
    for test in (paired_t, corrected_t):
        found = test(values, level)
        if math.isnan(found.low):
            assert found.p in (0, 1)
        else:
            # Where p is next to the level, rounding decides.
            on_edge = abs(found.p - (1 - level)) <= 1e-9
            assert on_edge or (found.low <= 0 <= found.high) == (found.p > 1 - level)


@given(FOLDS)
def test_exchanging_the_two_changes_the_sign_alone(pairs):
    a, b = zip(*pairs, strict=True)
    here, there = corrected_t(FoldValues.of(a, b)), corrected_t(FoldValues.of(b, a))
    assert here.p == there.p
    assert here.difference == -there.difference
    assert (here.low, here.high) == pytest.approx((-there.high, -there.low), nan_ok=True)
    assert here.p >= paired_t(FoldValues.of(a, b)).p, "the correction never makes a test bolder"
