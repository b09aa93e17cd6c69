"""How much a comparison may claim: corrections, many measures, named methods, splits that differ alike."""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np
import pytest
from scipy import stats
from sklearn.datasets import load_iris

import heldout
from heldout.api import compare as front
from heldout.comparisons.fold_tests import Posterior
from heldout.comparisons.pair_test import PROCEDURES
from heldout.comparisons.pairwise import count_cases_needed, decide_winner
from heldout.errors import OptionError
from heldout.intervals.estimate import PairTest

compare: Any = front.compare
evaluate: Any = heldout.evaluate
validate: Any = heldout.validate

N = 200
TRUTH = np.arange(N) % 2


def wrong_in(*rows):
    """Answers that are wrong in these rows."""
    answers = TRUTH.copy()
    answers[list(rows)] = 1 - answers[list(rows)]
    return evaluate(TRUTH, answers, measures=[])


# 6 cases tell the first two apart: p is .016 alone, and more among three.
THREE = {"best": wrong_in(), "good": wrong_in(*range(6)), "fair": wrong_in(*range(3), *range(10, 14))}
WORDS = " ".join


def text_of(found):
    return WORDS(str(found).split())


# Many pairs, many measures


def test_the_cases_needed_are_those_of_the_corrected_level():
    found = compare(THREE, measures="accuracy", correction="bonferroni")
    undecided = [pair for pair in found if pair.better == "undecided" and pair.tested.difference]
    assert undecided
    for pair in undecided:
        error = (pair.tested.high - pair.tested.low) / 2 / stats.norm.ppf(0.975)
        strict = stats.norm.isf(0.05 * pair.tested.p / pair.p / 2)
        ends = sorted((abs(pair.tested.low), abs(pair.tested.high)))
        for got, end in ((pair.needed.low, ends[1]), (pair.needed.high, ends[0])):
            cases = N * ((strict + stats.norm.ppf(0.8)) * error / end) ** 2
            if end == ends[0] and (pair.tested.low <= 0 <= pair.tested.high or cases > 1_000_000):
                assert got is None
            else:
                # Two digits, rounded up; never fewer than there were.
                assert max(cases, N) <= got <= 1.1 * max(cases, N)


def test_a_number_of_cases_that_there_are_already_is_not_asked_for():
    rng = np.random.default_rng(0)
    for seed in range(40):
        rows = np.random.default_rng(seed).permutation(N)[: rng.integers(5, 12)]
        found = compare({**THREE, "more": wrong_in(*rows)}, measures="accuracy", correction="bonferroni")
        for pair in found:
            assert pair.needed is None or N <= pair.needed.low <= (pair.needed.high or math.inf)
            asked = "would be needed" in pair.verdict or "would take about" in pair.verdict
            assert asked == (pair.needed is not None)
    # Where test and interval are of two minds, the interval may say that there are cases enough.
    assert count_cases_needed(PairTest(0.05, 0.03, 0.07, 0.95, "tango", 0.06, 500), 0.06) is None
    open_ = count_cases_needed(PairTest(0.05, -0.01, 0.11, 0.95, "tango", 0.11, 500), 0.11)
    assert open_ is not None
    assert (open_.low, open_.high) == (500, None)


def test_a_margin_says_for_which_difference_cases_are_counted():
    sides = wrong_in(*range(20)), wrong_in(*range(10, 34))
    pair = compare(*sides, measures="accuracy", margin=0.02)["accuracy"]
    error = (pair.tested.high - pair.tested.low) / 2 / stats.norm.ppf(0.975)
    cases = N * ((stats.norm.ppf(0.975) + stats.norm.ppf(0.8)) * error / 0.02) ** 2
    assert cases <= pair.needed.low == pair.needed.high <= 1.1 * cases
    assert f"About {pair.needed.low:,} cases would be needed to show a difference of .020, the margin." in pair.verdict


def test_under_no_difference_the_number_of_cases_is_never_told_as_a_fact():
    rng = np.random.default_rng(7)
    sides = [[wrong_in(*rng.permutation(N)[: rng.integers(15, 26)]) for _ in range(2)] for _ in range(30)]
    pairs = [compare(*two, measures="accuracy")["accuracy"] for two in sides]
    undecided = [pair for pair in pairs if pair.better == "undecided"]
    assert undecided
    for pair in undecided:
        assert pair.needed.high is None
        assert pair.needed.low < 5 * N
        assert "one as small as it allows, more than a million." in pair.verdict


def test_what_the_correction_changed_is_said_in_the_verdict():
    found = compare(THREE, measures="accuracy", correction="bonferroni")
    pair = found.get("best", "good")
    assert pair.tested.p < 0.05
    assert pair.tested.low > 0
    tripled = compare({**THREE, "other": wrong_in(50)}, measures="accuracy", correction="bonferroni")
    pair = tripled.get("best", "good")
    assert pair.p > 0.05
    assert pair.better == "undecided"
    assert "(before correction p = .0" in pair.verdict
    alone = compare(THREE["best"], THREE["good"], measures="accuracy")
    assert "before correction" not in alone.verdict


def test_measures_and_margins_that_no_correction_covers_are_said():
    two = compare(THREE["best"], THREE["good"], measures=["accuracy", "macro f1"])
    (said,) = two.notes
    assert said.startswith("2 measures were compared, and their p-values are not corrected for that")
    # One in twenty each: 1 − .95² of both.
    assert "up to 10 % of such studies" in said
    assert not any("each pair alone" in note for note in two.notes)
    three = compare(THREE, measures="accuracy")
    # Beside them stand limits that hold for all pairs at once.
    assert not any("each pair alone" in note for note in three.notes)
    assert all(pair.together is not None for pair in three)
    assert not any("measures were compared" in note for note in three.notes)
    assert "margins are for each pair alone" in compare(THREE, measures="accuracy", margin=0.02).notes
    held = {"measure": "accuracy", "margin": 0.02, "control": "best"}
    assert "margins and intervals are for each pair alone" in compare(THREE, **held).notes
    assert compare(THREE["best"], THREE["good"], measures="accuracy").notes == ()


@pytest.mark.parametrize("name", ["shaffer", "Shaffer "])
def test_shaffers_correction_is_for_all_pairs(name):
    table = {"x": [0.7, 0.8, 0.6, 0.9], "y": [0.8, 0.9, 0.7, 0.8], "z": [0.6, 0.7, 0.5, 0.7], "w": [0.5, 0.9, 0.8, 0.7]}
    # Three comparisons with a control are as many as those of three learners, and were taken for them.
    four = {**THREE, "other": wrong_in(1)}
    for given, options in (
        (four, {"measure": "accuracy"}),
        (table, {"splits": False, "method": "wilcoxon"}),
        (table, {"splits": False}),
    ):
        with pytest.raises(OptionError, match=r"Shaffer's .* is for all pairs") as refused:
            compare(given, control=next(iter(given)), correction=name, **options)
        assert "'holm'" in refused.value.hint
        assert len(compare(given, correction=name, **options).rows())


def test_a_p_value_at_the_level_decides():
    seen = PairTest(difference=0.1, low=0.0, high=0.2, level=0.95, method="tango", p=0.05, n=10)
    assert decide_winner(seen, 0.05) == "a"
    # 1 − .9 is below .1 to a computer.
    assert 1 - 0.9 < 0.1
    assert decide_winner(PairTest(0.1, 0.0, 0.2, 0.9, "tango", 0.1, 10), 0.1) == "a"
    assert decide_winner(seen, 0.0500001) == "undecided"
    assert decide_winner(seen, math.nan) == "undecided"


# Named methods


FOLDS = np.arange(N) % 10


def folded(rows):
    answers = TRUTH.copy()
    answers[rows] = 1 - answers[rows]
    return evaluate(TRUTH, answers, fold=FOLDS, measures=[])


SIDES = folded(np.arange(3)), folded(np.arange(5, 25))


def promises(found):
    """What the document says of named methods."""
    return [one for one in json.loads(found.to_json())["findings"] if one["code"] == "H052"]


def test_what_was_measured_of_a_named_method_is_a_finding():
    measured = PROCEDURES["delong"].finding
    assert measured
    rng = np.random.default_rng(3)
    scored = [evaluate(TRUTH, score=rng.uniform(size=N) * 0.5 + TRUTH * 0.2, measures=[]) for _ in range(2)]
    named = compare(*scored, measures="roc_auc", method="delong")
    (one,) = promises(named)
    assert (one["severity"], one["title"]) == ("know", f"delong: {measured.rstrip('.')}.")
    assert one["facts"] == {"method": "delong", "finding": measured.rstrip(".")}
    assert one["advice"]
    assert named.notes == ()
    usual = compare(*scored, measures="roc_auc")
    assert usual["roc_auc"].tested.method == "delong"
    assert (usual.notes, promises(usual)) == ((), [])


def test_what_a_test_says_of_itself_is_not_said_twice():
    named = compare(*SIDES, measures="accuracy", method="paired-t")
    measured = PROCEDURES["paired-t"].finding
    assert text_of(named).count(measured[1:60]) == 1
    assert [one["facts"]["method"] for one in promises(named)] == ["paired-t"]
    # Nor is it lost where nobody wants to hear the finding.
    ignored = compare(*SIDES, measures="accuracy", method="paired-t", ignore="H052")
    assert text_of(ignored).count(measured[1:60]) == 1
    assert promises(ignored) == []


def test_tables_tell_what_was_measured_too():
    table = {"x": [0.7, 0.8, 0.6, 0.9, 0.8], "y": [0.8, 0.9, 0.7, 0.85, 0.9]}
    for method in ("wilcoxon", "sign"):
        measured = PROCEDURES[method].finding.rstrip(".")
        titles = [one["title"] for one in promises(compare(table, splits=False, method=method))]
        assert titles == ([f"{method}: {measured}."] if measured else [])


# Splits that differ by the same amount


@pytest.mark.parametrize("method", [None, "paired-t", "bayes-correlated-t"])
def test_the_same_difference_in_every_split_is_no_certainty(method):
    # One of the 20 cases of every fold is wrong by the one, and two by the other.
    sides = folded(np.arange(10)), folded(np.arange(20, 40))
    for given in (sides, sides[::-1]):
        pair = compare(*given, measures="accuracy", method=method)["accuracy"]
        assert abs(pair.tested.difference) == pytest.approx(0.05)
        assert pair.better == "undecided"
        assert "all splits differ by the same amount" in pair.verdict
        assert "cannot be told apart" in pair.verdict
        if not isinstance(pair.tested, Posterior):
            assert math.isinf(pair.tested.statistic)
            assert pair.row()["p"] == 0
    same = compare(sides[0], sides[0], measures="accuracy", method=method)["accuracy"]
    assert same.better == "same"
    assert "same amount" not in same.verdict


# Tables


def test_identical_learners_of_a_table_are_the_same():
    table = {"x": [0.7, 0.8, 0.6, 0.9], "y": [0.7, 0.8, 0.6, 0.9]}
    for method in (None, "sign", "bayes-signed-rank"):
        pair = compare(table, splits=False, method=method).pairs[0]
        assert pair.better == "same"
        assert "do not differ" in pair.verdict


def test_a_kind_of_claim_without_a_margin_is_refused_for_tables_as_well():
    table = {"x": [0.7, 0.8, 0.6, 0.9], "y": [0.8, 0.9, 0.7, 0.8]}
    with pytest.raises(OptionError, match="no margin for equivalence"):
        compare(table, margin_kind="equivalence")


def test_pairs_of_a_table_say_that_their_intervals_stand_alone():
    table = {"x": [0.7, 0.8, 0.6, 0.9], "y": [0.8, 0.9, 0.7, 0.8], "z": [0.6, 0.7, 0.5, 0.7]}
    assert "intervals are for each pair alone" in compare(table, splits=False, method="wilcoxon").notes


# Random splits and folds


X, Y = load_iris(return_X_y=True)


@pytest.mark.parametrize("plan", ["10 x holdout 2/3", "bootstrap 10"])
def test_the_test_for_folds_refuses_random_splits(plan):
    held = validate(["naive-bayes", "knn:1"], X[50:, :2], Y[50:], plan=plan, measures=[])
    with pytest.raises(OptionError, match="is for folds, and these are random splits"):
        compare(held, measures="accuracy", method="corrected-repeated-t")
    assert compare(held, measures="accuracy", method="corrected-t")["accuracy"].tested.n == 10


def test_the_test_for_folds_takes_folds():
    held = validate(["naive-bayes", "knn:1"], X[50:, :2], Y[50:], plan="2x5-fold", measures=[])
    assert compare(held, measures="accuracy", method="corrected-repeated-t")["accuracy"].tested.n == 10
    assert compare(*SIDES, measures="accuracy", method="corrected-repeated-t")["accuracy"].tested.n == 10


def test_random_draws_in_a_column_of_folds_are_seen_by_their_ids():
    rng = np.random.default_rng(4)
    drawn = np.concatenate([rng.permutation(N)[:60] for _ in range(8)])
    fold = np.repeat(np.arange(8), 60)
    sides = [
        evaluate(TRUTH[drawn], np.where(rng.uniform(size=480) < 0.8, TRUTH[drawn], 0), id=drawn, fold=fold, measures=[])
        for _ in range(2)
    ]
    with pytest.raises(OptionError, match="these are random splits"):
        compare(*sides, measures="accuracy", method="corrected-repeated-t")
    assert compare(*sides, measures="accuracy")["accuracy"].tested.n == 8
