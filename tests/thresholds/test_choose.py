"""Choosing a threshold: equal to trying all of them, for every rule there is."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from tests.thresholds.enumerated import SCORES, choose_by_trying, counts_at

from heldout.api.evaluate import evaluate
from heldout.engines.score_sort import rank
from heldout.errors import LabelError, MatrixError, OptionError, ValuesError
from heldout.thresholds.selection import choose, choose_rows

CASES = st.lists(st.tuples(st.integers(-4, 8), st.booleans()), min_size=2, max_size=40).filter(
    lambda cases: len({positive for _, positive in cases}) == 2
)
COST = st.integers(-3, 12)


def ranked(cases):
    scores, positive = zip(*cases, strict=True)
    return rank(np.array(scores, dtype=float), np.array(positive))


@pytest.mark.parametrize("by", sorted(SCORES))
@given(cases=CASES)
def test_the_best_of_a_measure(by, cases):
    best = choose_by_trying(cases, SCORES[by])
    if best is None:
        with pytest.raises(ValuesError, match="undefined at all"):
            choose(ranked(cases), by=by, replicates=1)
        return
    chosen = choose(ranked(cases), by=by, replicates=1)
    assert chosen.threshold == best
    tp, fn, fp, tn = counts_at(cases, best)
    assert chosen.confusion.matrix.tolist() == [[tn, fp], [fn, tp]]
    if by not in ("closest", "matthews", "error_rate"):
        assert chosen.criterion.value == pytest.approx(float(SCORES[by](tp, fn, fp, tn)), abs=1e-12)


@given(cases=CASES, costs=st.tuples(COST, COST, COST, COST))
def test_least_cost(cases, costs):
    assume(costs[0] != costs[1] or costs[2] != costs[3])
    hit, miss, alarm, alone = costs

    def standing(tp, fn, fp, tn):
        return -Fraction(hit * tp + miss * fn + alarm * fp + alone * tn, tp + fn + fp + tn)

    named = {(1, 1): hit, (1, 0): miss, (0, 1): alarm, (0, 0): alone}
    chosen = choose(ranked(cases), by="cost", costs=named, replicates=1)
    best = choose_by_trying(cases, standing)
    assert chosen.threshold == best
    assert chosen.criterion.value == pytest.approx(-float(standing(*counts_at(cases, best))), abs=1e-12)


@given(cases=CASES, recall=st.integers(0, 10), specificity=st.integers(0, 10))
def test_requirements_then_the_best_precision(cases, recall, specificity):
    def allowed(tp, fn, fp, tn):
        return 10 * tp >= recall * (tp + fn) and 10 * tn >= specificity * (tn + fp)

    require = f"recall >= {recall / 10}, specificity >= {specificity / 10}"
    best = choose_by_trying(cases, SCORES["precision"], allowed)
    if best is None:
        with pytest.raises((OptionError, ValuesError)):
            choose(ranked(cases), require=require, replicates=1)
    else:
        assert choose(ranked(cases), require=require, replicates=1).threshold == best


@given(cases=CASES, ratio=st.integers(1, 9), share=st.integers(1, 9))
def test_another_prevalence_is_reweighting_the_cases(cases, ratio, share):
    # Whole numbers of copies of the positives and the negatives that make the positives share/10 of all.
    positives = sum(positive for _, positive in cases)
    negatives = len(cases) - positives
    copied = [case for case in cases for _ in range(share * negatives if case[1] else (10 - share) * positives)]
    costs = {(1, 0): ratio, (0, 1): 1}
    shifted = choose(ranked(cases), by="cost", costs=costs, prevalence=share / 10, replicates=1)
    repeated = choose(ranked(copied), by="cost", costs=costs, replicates=1)
    assert shifted.threshold == repeated.threshold
    assert shifted.criterion.value == pytest.approx(repeated.criterion.value, abs=1e-12)
    for name in ("precision", "f1", "accuracy", "recall", "matthews", "macro f1"):
        assert shifted[name].value == pytest.approx(repeated[name].value, abs=1e-9, nan_ok=True), name


@given(cases=CASES, ratio=st.integers(1, 9), share=st.integers(1, 9))
def test_the_iso_performance_line_touches_the_hull_at_the_least_cost(cases, ratio, share):
    costs = {(1, 0): ratio, (0, 1): 1}
    options = {"costs": costs, "prevalence": share / 10, "replicates": 1}
    cheapest = choose(ranked(cases), by="cost", **options)
    touched = choose(ranked(cases), by="iso", **options)
    assert touched.threshold == cheapest.threshold
    # By geometry: the vertex of the hull that a line of this slope meets first, coming from the corner (0, 1).
    points = [(math.inf, Fraction(0), Fraction(0))]
    for threshold in sorted({score for score, _ in cases}, reverse=True):
        tp, fn, fp, tn = counts_at(cases, threshold)
        points.append((threshold, Fraction(fp, fp + tn), Fraction(tp, tp + fn)))
    hull: list = []
    for point in points:
        while len(hull) >= 2 and _turns_left(hull[-2], hull[-1], point):
            hull.pop()
        hull.append(point)
    slope = Fraction(10 - share, share * ratio)
    reached = max(tpr - slope * fpr for _, fpr, tpr in hull)
    tp, fn, fp, tn = counts_at(cases, touched.threshold)
    assert Fraction(tp, tp + fn) - slope * Fraction(fp, fp + tn) == reached


def _turns_left(a, b, c):
    return (b[1] - a[1]) * (c[2] - a[2]) >= (b[2] - a[2]) * (c[1] - a[1])


@given(cases=CASES)
def test_any_threshold_in_between_gives_the_same_answers(cases):
    chosen = choose(ranked(cases), by="f1", replicates=1)
    assume(math.isfinite(chosen.above))
    middle = (chosen.above + chosen.threshold) / 2
    assert counts_at(cases, middle) == counts_at(cases, chosen.threshold)
    assert counts_at(cases, chosen.above) != counts_at(cases, chosen.threshold)


SEEN = rank(
    np.array([0.9, 0.8, 0.7, 0.6, 0.55, 0.4, 0.3, 0.2, 0.1, 0.05]), np.array([1, 1, 0, 1, 0, 1, 0, 0, 0, 0]) > 0
)


def test_a_requirement_that_nothing_meets_says_what_is_reachable():
    with pytest.raises(OptionError) as error:
        choose(SEEN, require="precision >= 0.9, recall >= 0.9")
    assert "The closest is 0.4, with precision .667 and recall 1.000." in str(error.value)
    assert "ask for precision >= 0.666 or less" in str(error.value)
    with pytest.raises(OptionError, match=r"The closest is 0.4, with informedness \.667"):
        choose(SEEN, require="informedness > 0.8", then="recall")


def test_a_strict_requirement_is_not_met_at_its_limit():
    assert choose(SEEN, require="recall >= 0.75").threshold == 0.6
    assert choose(SEEN, require="recall > 0.75").threshold == 0.4
    assert choose(SEEN, require="recall >= 75 %").threshold == 0.6
    assert choose(SEEN, require="FPR <= 0.2 and recall >= 0.5", then="recall").threshold == 0.6


def test_after_a_required_precision_comes_recall():
    chosen = choose(SEEN, require="precision >= 0.6")
    assert chosen.threshold == 0.4
    assert "then the highest recall" in chosen.rule


def test_requirements_with_an_objective():
    costs = {(1, 0): 1, (0, 1): 100}
    assert choose(SEEN, by="cost", costs=costs).threshold == 0.8
    assert choose(SEEN, by="cost", costs=costs, require="recall >= 0.7").threshold == 0.6


def test_the_alternatives():
    chosen = choose(SEEN, by="cost", costs={(1, 0): 5, (0, 1): 1}, current=0.7)
    assert {other.name: other.threshold for other in chosen.alternatives} == pytest.approx(
        {
            "always yes": 0.05,
            "always no": math.inf,
            "threshold 0.5": 0.5,
            "if the scores are true probabilities": 1 / 6,
            "the current threshold": 0.7,
        }
    )
    assert [other.estimate.value for other in chosen.alternatives] == pytest.approx([0.6, 2.0, 0.7, 0.4, 1.1])
    assert chosen.criterion.value == pytest.approx(0.2)


def test_always_the_same_answer_depends_on_the_prevalence_alone():
    by_name = {other.name: other.estimate for other in choose(SEEN, by="accuracy").alternatives}
    share = choose(SEEN, by="accuracy")["prevalence"]
    assert (by_name["always yes"].low, by_name["always yes"].high) == pytest.approx((share.low, share.high))
    assert (by_name["always no"].low, by_name["always no"].high) == pytest.approx((1 - share.high, 1 - share.low))
    known = choose(SEEN, by="cost", costs={(1, 0): 5, (0, 1): 1}, prevalence=0.1).alternatives
    assert [(e.estimate.low, e.estimate.high) for e in known[:2]] == [(0.9, 0.9), (0.5, 0.5)]


def test_scores_that_are_no_probabilities_have_no_half():
    seen = rank(np.array([3.0, 1.0, 0.0]), np.array([True, False, False]))
    assert [other.name for other in choose(seen, by="f1").alternatives] == ["always yes", "always no"]


def test_weights_are_repetition():
    rng = np.random.default_rng(3)
    scores, positive, weight = rng.integers(0, 9, 60) / 9, rng.random(60) < 0.4, rng.integers(1, 4, 60)
    weighed = choose_rows(scores, positive, by="f1", weight=weight)
    repeated = choose_rows(np.repeat(scores, weight), np.repeat(positive, weight), by="f1")
    assert weighed.threshold == repeated.threshold
    assert weighed.criterion.value == pytest.approx(repeated.criterion.value)
    assert weighed.n == 60
    assert weighed["recall"].low < repeated["recall"].low


@pytest.mark.parametrize("column", ["group", "weight"])
def test_the_estimates_are_those_of_an_evaluation_of_the_answers(column):
    rng = np.random.default_rng(4)
    positive = rng.random(300) < 0.4
    scores = rng.standard_normal(300) + positive
    held: dict[str, Any] = {column: {"group": rng.integers(0, 40, 300), "weight": rng.exponential(size=300)}[column]}
    chosen = choose_rows(scores, positive, by="f1", **held)
    called = (scores >= chosen.threshold).astype(int)
    outside = evaluate(positive.astype(int), called, **held, positive=1)
    for name in ("recall", "precision", "accuracy", "f1"):
        ours, theirs = chosen[name], outside[name]
        assert (ours.value, ours.low, ours.high) == pytest.approx((theirs.value, theirs.low, theirs.high)), name


@pytest.mark.parametrize("column", ["group", "weight"])
def test_another_prevalence_with_groups_or_weights(column):
    rng = np.random.default_rng(4)
    positive = rng.random(300) < 0.4
    scores = rng.standard_normal(300) + positive
    held: dict[str, Any] = {column: {"group": np.arange(300), "weight": np.ones(300)}[column]}
    bare = choose_rows(scores, positive, by="f1", prevalence=0.1)
    found = choose_rows(scores, positive, by="f1", prevalence=0.1, **held)
    assert found.threshold == bare.threshold
    for name in ("recall", "precision", "accuracy", "f1"):
        assert found[name].value == pytest.approx(bare[name].value)
        assert found[name].width == pytest.approx(bare[name].width, rel=0.05 if column == "weight" else 0.6)


def test_labels_name_the_classes():
    chosen = choose(SEEN, by="cost", costs={("ill", "well"): 5, ("well", "ill"): 1}, positive="ill")
    assert (chosen.negative, chosen.positive) == ("well", "ill")
    assert chosen["recall"].name == "recall[ill]"
    assert 'a missed "ill" costs 5' in chosen.rule


@pytest.mark.parametrize(
    ("options", "error", "says"),
    [
        ({}, OptionError, "Nothing says which threshold is best"),
        ({"by": "f_one"}, OptionError, "no measure 'f_one'"),
        ({"by": "cost"}, OptionError, "needs costs"),
        ({"by": "expected_cost"}, OptionError, "needs costs"),
        ({"by": "prevalence"}, OptionError, "no better or worse"),
        ({"by": "f1", "then": "recall"}, OptionError, "goes with 'require'"),
        ({"require": "recall"}, OptionError, "'recall' is not a requirement"),
        ({"require": "recall = 0.9"}, OptionError, "is not a requirement"),
        ({"require": "recall >= e"}, OptionError, "not a number"),
        ({"require": "recal >= 0.9"}, OptionError, "did you mean 'recall'"),
        ({"by": "f1", "current": float("nan")}, OptionError, "current threshold"),
        ({"by": "f1", "positive": 1, "negative": "1"}, LabelError, "both 1"),
        ({"by": "cost", "costs": [[0, 1], [1, 0]]}, MatrixError, "bare table"),
        ({"by": "iso", "costs": {(1, 0): -5, (0, 1): 1}}, MatrixError, "cost more than right predictions"),
        ({"by": "cost", "costs": {(1, 0): 5}}, MatrixError, "leave out 1 kind"),
        ({"by": "cost", "costs": {(1, 0): 0, (0, 1): 0}}, MatrixError, "every threshold is as good"),
    ],
)
def test_what_is_refused(options, error, says):
    with pytest.raises(error, match=says):
        choose(SEEN, **options)


def test_one_class_only_is_refused():
    with pytest.raises(ValuesError, match="no negative case"):
        choose(rank(np.array([0.1, 0.2]), np.array([True, True])), by="f1")


@pytest.mark.parametrize(
    ("scores", "positive", "options", "says"),
    [
        (["a", "b"], [True, False], {}, "one column of numbers"),
        ([[0.1, 0.2]], [True, False], {}, "one column of numbers"),
        ([0.1, np.nan], [True, False], {}, "finite"),
        ([0.1, np.inf], [True, False], {"weight": [1, 1]}, "finite"),
        ([0.1, 0.2], [2, 1], {}, "true and false"),
        ([0.1, 0.2], ["yes", "no"], {}, "true and false"),
        ([0.1, 0.2], [True, False, True], {}, "positive_mask has 3 entries"),
        ([0.1, 0.2], [True, False], {"weight": [1]}, "weight has 1 entry"),
        ([0.1, 0.2], [True, False], {"weight": [1, -1]}, "not negative"),
    ],
)
def test_columns_that_are_refused(scores, positive, options, says):
    with pytest.raises(ValuesError, match=says):
        choose_rows(scores, positive, by="f1", **options)


def test_ties_that_only_rounding_breaks_are_ties():
    # One miss at 0.3 costs what three false alarms at 0.1 cost, but 3 · 0.1 > 0.3 in floats.
    scores = np.array([9.0, *np.full(4, 5.0), *np.full(17, 1.0)])
    positive = np.array([True, True, *np.full(20, fill_value=False)])
    chosen = choose_rows(scores, positive, by="cost", costs={(1, 0): 0.3, (0, 1): 0.1})
    assert chosen.threshold == 5.0
