"""ROC curves against each other: crossings by hand and by brute force, differences, and the joint hull."""

from __future__ import annotations

import json
import math
import re
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.comparisons.two_models import asah, drawn, two_models

from heldout.comparisons.delong import delong_paired
from heldout.comparisons.optimal_ranges import optimal_ranges, probability_cost
from heldout.comparisons.roc_pair import compare_roc, find_crossings, find_parts
from heldout.curves import cost_curve, normalized_cost, roc
from heldout.engines.score_sort import rank
from heldout.errors import OptionError, ValuesError
from heldout.evidence import Ranking
from heldout.measures.quantity import Bound
from heldout.measures.ranking import tpr_at_fpr
from heldout.result import ROW_KEYS

# M1 finds six of ten positives without a false alarm, M2 nine at a false positive rate of .2.
M1 = Ranking(np.array([3.0, 2.0, 1.0]), np.array([6, 2, 2]), np.array([0, 5, 5]))
M2 = Ranking(np.array([2.0, 1.0]), np.array([9, 1]), np.array([2, 8]))


def path(scores, positive):
    curve = roc(rank(scores, positive), None)
    return curve.x, curve.y


def test_a_crossing_worked_by_hand():
    one, two = (roc(seen, None) for seen in (M1, M2))
    parts = find_parts((one.x, one.y), (two.x, two.y))
    assert [part.better for part in parts] == ["a", "b"]
    (point,) = find_crossings(parts)
    # M1 rises from (0, .6) with slope .4, M2 from (0, 0) with slope 4.5.
    assert (point.fpr, point.tpr) == pytest.approx((0.6 / 4.1, 4.5 * 0.6 / 4.1))
    assert (point.before, point.after) == ("a", "b")


def test_a_touch_is_no_crossing():
    over = np.array([0.0, 0.0, 0.5, 1.0]), np.array([0.0, 0.5, 0.5, 1.0])
    under = np.array([0.0, 0.5, 0.5, 1.0]), np.array([0.0, 0.0, 0.5, 1.0])
    assert [part.better for part in find_parts(over, under)] == ["a", ""]
    assert find_crossings(find_parts(over, under)) == ()
    diagonal = np.array([0.0, 1.0]), np.array([0.0, 1.0])
    stepped = np.array([0.0, 0.0, 0.5, 0.5, 1.0]), np.array([0.0, 0.5, 0.5, 1.0, 1.0])
    (part,) = find_parts(stepped, diagonal)
    assert part.better == "a"


def area_between(a, b, better):
    """The area by which one curve is above the other, in the turned coordinates, from a fine grid."""
    along = np.linspace(0, 2, 20_001)
    (fa, ta), (fb, tb) = a, b
    gap = np.interp(along, fa + ta, ta - fa) - np.interp(along, fb + tb, tb - fb)
    return along[np.sign(np.where(np.abs(gap) < 1e-9, 0, gap)) == {"a": 1, "b": -1, "": 0}[better]]


@given(two_models())
def test_stretches_are_where_a_fine_grid_finds_them(held):
    a, b, positive = held
    one, two = path(a, positive), path(b, positive)
    parts = find_parts(one, two)
    ends = [(part.fpr_low + part.tpr_low, part.fpr_high + part.tpr_high) for part in parts]
    assert ends[0][0] == 0
    assert ends[-1][1] == pytest.approx(2)
    for (_, stop), (start, _) in pairwise(ends):
        assert start == stop
    for better in ("a", "b"):
        inside = [e for e, part in zip(ends, parts, strict=True) if part.better == better]
        for place in area_between(one, two, better):
            assert any(low - 1e-9 <= place <= high + 1e-9 for low, high in inside)
    other = find_parts(two, one)
    assert [part.better for part in other] == [{"a": "b", "b": "a", "": ""}[part.better] for part in parts]


@given(two_models())
def test_nobody_dominates_with_a_smaller_area(held):
    a, b, positive = held
    found = compare_roc(a, b, positive, replicates=40)
    areas = [curve.area or 0.0 for curve in found.curves]
    if found.dominant:
        assert (areas[0] > areas[1]) == (found.dominant == "A")
        assert not found.crossings
    elif not found.crossings:
        assert areas[0] == pytest.approx(areas[1])
    assert found.area.difference == pytest.approx(areas[0] - areas[1])


def test_the_difference_is_that_of_the_rates():
    a, b, positive = drawn(n=150, other=0.3)
    found = compare_roc(a, b, positive, replicates=60)
    for at in (0, 7, 29, 50, 100):
        rates = [
            float(Bound(tpr_at_fpr, {"fpr": found.fpr[at]}).value({"ranking": rank(side, positive)})) for side in (a, b)
        ]
        assert (found.tpr[0][at], found.tpr[1][at]) == pytest.approx(tuple(rates))
    assert (found.low <= found.difference).all()
    assert (found.difference <= found.high).all()
    assert found.difference[-1] == found.low[-1] == found.high[-1] == 0
    tested = delong_paired(a, b, positive)
    assert (found.area.p, found.area.low) == (tested.p, tested.low)


def test_a_rate_is_reached_where_a_product_of_floats_falls_short():
    # After 29 of 100 negatives A finds its only positives; .29 · 100 is 28.999999999999996.
    positive = np.arange(102) >= 100
    early = np.concatenate([np.arange(100.0)[::-1], [70.5, 70.5]])
    found = compare_roc(early, -early, positive, replicates=40)
    assert (found.tpr[0][28], found.tpr[0][29]) == (0.0, 1.0)


def test_the_other_way_round_is_the_negative():
    a, b, positive = drawn(n=90, other=0.3, digits=1)
    one, two = compare_roc(a, b, positive, replicates=99), compare_roc(b, a, positive, replicates=99)
    np.testing.assert_allclose(one.low, -two.high)
    np.testing.assert_allclose(one.difference, -two.difference)
    same = compare_roc(a, np.exp(a), positive, replicates=99)
    assert not same.high.any()
    assert same.verdict == "A and B have the same ROC curve."


def test_groups_widen_the_band():
    a, b, positive = drawn(n=60, other=0.3)
    groups = np.tile(np.arange(60), 8)
    scores = np.tile(a, 8), np.tile(b, 8), np.tile(positive, 8)
    plain, grouped = compare_roc(*scores), compare_roc(*scores, groups=groups)
    inside = slice(5, 80)
    assert (grouped.high - grouped.low)[inside].mean() > 2 * (plain.high - plain.low)[inside].mean()


def test_the_result_reads_and_writes(tmp_path):
    scores, poor = asah()
    found = compare_roc(scores["s100b"], scores["ndka"], poor, names=("s100b", "ndka"), label="Poor", replicates=99)
    document = json.loads(found.to_json())
    assert document["schema"] == "heldout/roc-comparison@1"
    assert len(document["differences"]) == 101
    assert document["hull_crossings"][0]["after"] == "ndka"
    assert tuple(found.rows()[0])[: len(ROW_KEYS)] == ROW_KEYS
    text = str(found)
    assert "s100b is better at false positive rates up to" in text
    assert "p = .164" in text
    for difference in (False, True):
        svg = found.write(tmp_path / "pair.svg", "difference" if difference else "roc").read_text(encoding="utf-8")
        assert "False positive rate" in svg
        assert re.search(r'<svg role="img" aria-label="[^"]{40,}"', svg)
    marks = json.dumps(found.chart().to_dict())
    assert '"diamond"' in marks


def test_one_class_is_undefined():
    found = compare_roc([1.0, 2.0], [2.0, 1.0], [True, True])
    assert "no actual negatives" in found.verdict
    assert found.rows() == []
    assert str(found)
    with pytest.raises(ValuesError, match="no ROC curves to draw"):
        found.chart()
    with pytest.raises(OptionError, match="Both models"):
        compare_roc([1.0, 2.0], [2.0, 1.0], [True, False], names=("x", "x"))


# Ranges of costs.


def test_ranges_worked_by_hand():
    found = optimal_ranges({"M1": M1, "M2": M2}, prevalence=0.2)
    # The hull is (0, 0), (0, .6), (.2, .9), (1, 1): slopes without end, 1.5 and .125.
    assert [(point.fpr, point.tpr) for point in found.hull] == [(0, 0), (0, 0.6), (0.2, 0.9), (1, 1)]
    assert [part.model for part in found.ranges] == ["M1", "M2", "always yes"]
    borders = [part.pc_high for part in found.ranges]
    assert borders == pytest.approx([1 / 2.5, 1 / 1.125, 1.0])
    assert [part.slope_low for part in found.ranges] == pytest.approx([1.5, 0.125, 0.0])
    # slope = (1 − π) / (π · ratio).
    assert [part.cost_ratio_high for part in found.ranges] == pytest.approx([4 / 1.5, 4 / 0.125, math.inf])
    assert found.ranges[1].points[0].thresholds == {"M2": 2.0}
    assert found.never == ()
    assert found.best_at(1.0).model == "M1"
    assert found.best_at(10.0).model == "M2"
    assert found.best_at(1.0, prevalence=0.8).model == "M2"


@pytest.mark.parametrize("question", ["best_at", "cost_at"])
@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("x",), "A cost ratio is a positive number. Got 'x'"),
        ((0,), "A cost ratio is a positive number. Got 0"),
        ((True,), "A cost ratio is a positive number. Got True"),
        ((1, "x"), "The prevalence must lie between 0 and 1. Got 'x'"),
        ((1, 2), "The prevalence must lie between 0 and 1. Got 2"),
    ],
)
def test_questions_to_the_ranges_that_are_refused(question, arguments, says):
    with pytest.raises(OptionError, match=says):
        getattr(optimal_ranges({"M1": M1, "M2": M2}), question)(*arguments)


@given(two_models(), st.floats(0.01, 0.99))
def test_the_model_named_is_the_cheapest(held, pc):
    a, b, positive = held
    rankings = {"A": rank(a, positive), "B": rank(b, positive)}
    found = optimal_ranges(rankings)
    prevalence = found.prevalence
    ratio = pc * (1 - prevalence) / ((1 - pc) * prevalence)
    assert probability_cost(ratio, prevalence) == pytest.approx(pc)
    costs = {
        name: normalized_cost(curve.y, curve.x, pc).min()
        for name, curve in ((name, roc(seen, None)) for name, seen in rankings.items())
    }
    least = min(costs.values())
    assert found.cost_at(ratio) == pytest.approx(least, abs=1e-12)
    part = found.best_at(ratio)
    for name in (part.model, *part.shared):
        trivial = {"always no": pc, "always yes": 1 - pc}
        assert costs.get(name, trivial.get(name)) == pytest.approx(least, abs=1e-9)
    assert found.ranges[0].pc_low == 0
    assert found.ranges[-1].pc_high == 1
    for one, two in pairwise(found.ranges):
        assert one.pc_high == two.pc_low
        assert one.model != two.model


def test_of_one_model_the_ranges_are_those_of_its_cost_curve():
    scores, poor = asah()
    seen = rank(scores["wfns"], poor)
    curve = cost_curve(seen)
    found = optimal_ranges({"wfns": seen})
    for part in found.ranges:
        for border in (part.pc_low, part.pc_high):
            assert np.abs(curve.x - border).min() < 1e-12


def test_a_dominated_model_is_best_nowhere():
    worse = Ranking(np.array([2.0, 1.0]), np.array([5, 5]), np.array([4, 6]))
    found = optimal_ranges({"M1": M1, "bad": worse, "M2": M2})
    assert found.never == ("bad",)
    assert "Nowhere: bad." in found.verdict
    useless = optimal_ranges({"bad": worse.swapped()})
    assert [part.model for part in useless.ranges] in (["always no", "bad", "always yes"], ["always no", "always yes"])


def test_equal_models_share_their_range():
    found = optimal_ranges({"one": M2, "two": M2})
    assert [(part.model, part.shared) for part in found.ranges if part.model != "always yes"][-1] == ("one", ("two",))
    assert found.never == ()


def test_models_of_different_cases_share_a_hull():
    tenfold = Ranking(M2.scores, M2.positives * 10, M2.negatives * 10)
    one, two = (optimal_ranges({"M1": M1, "M2": seen}, prevalence=0.3) for seen in (M2, tenfold))
    assert [part.pc_high for part in one.ranges] == pytest.approx([part.pc_high for part in two.ranges])


def test_the_ranges_read_and_are_drawn(tmp_path):
    scores, poor = asah()
    found = optimal_ranges({name: rank(side, poor) for name, side in scores.items()}, positive="Poor")
    document = json.loads(found.to_json())
    assert document["schema"] == "heldout/optimal-ranges@1"
    assert [row["model"] for row in document["ranges"]] == ["s100b", "wfns", "ndka"]
    assert "Cheapest is s100b for PC(+)" in str(found)
    svg = found.save(tmp_path / "hull.svg").read_text(encoding="utf-8")
    assert "convex hull of all models" in svg
    assert tuple(found.rows()[0])[: len(ROW_KEYS)] == ROW_KEYS


@pytest.mark.parametrize(
    ("rankings", "options", "words"),
    [
        ({}, {}, "no models"),
        ({"x": Ranking(np.array([1.0]), np.array([1]), np.array([0]))}, {}, "x has no ROC curve"),
        ({"M1": M1}, {"prevalence": 1.0}, "between 0 and 1"),
        ({"always no": M1}, {}, "cannot be called"),
    ],
)
def test_what_has_no_ranges_is_refused(rankings, options, words):
    with pytest.raises((OptionError, ValuesError), match=words):
        optimal_ranges(rankings, **options)
