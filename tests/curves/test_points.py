"""Every curve point by point: against scikit-learn, against pROC, and by identities from the papers."""

from __future__ import annotations

import itertools
import json
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.calibration import calibration_curve
from sklearn.metrics import average_precision_score, det_curve, precision_recall_curve, roc_auc_score, roc_curve
from tests.curves.scored_cases import DATA, diabetes, read, scored

from heldout.curves import (
    cost_curve,
    decision_curve,
    det,
    gain,
    interpolated,
    lift,
    measure_curve,
    normalized_cost,
    precision_recall,
    reliability,
    roc,
)
from heldout.curves.curve import hull_places
from heldout.engines.probability_sums import tally
from heldout.engines.score_sort import rank
from heldout.errors import OptionError, ValuesError
from heldout.evidence.ranking import Ranking

CLOSE: dict[str, Any] = {"rtol": 1e-12, "atol": 1e-12}


@given(scored())
def test_roc_is_scikit_learns(case):
    truth, scores, weight = case
    curve = roc(rank(scores, truth, weight=weight), bands=None)
    fpr, tpr, thresholds = roc_curve(truth, scores, sample_weight=weight, drop_intermediate=False)
    np.testing.assert_allclose(curve.x, fpr, **CLOSE)
    np.testing.assert_allclose(curve.y, tpr, **CLOSE)
    np.testing.assert_array_equal(curve.threshold, thresholds)
    assert curve.area == pytest.approx(roc_auc_score(truth, scores, sample_weight=weight), abs=1e-12)


@given(scored())
def test_precision_recall_is_scikit_learns_without_its_last_point(case):
    truth, scores, weight = case
    curve = precision_recall(rank(scores, truth, weight=weight), bands=None)
    precision, recall, thresholds = precision_recall_curve(truth, scores, sample_weight=weight)
    np.testing.assert_allclose(curve.y[::-1], precision[:-1], **CLOSE)
    np.testing.assert_allclose(curve.x[::-1], recall[:-1], **CLOSE)
    np.testing.assert_array_equal(curve.threshold[::-1], thresholds)
    assert curve.area == pytest.approx(average_precision_score(truth, scores, sample_weight=weight), abs=1e-12)


@given(scored(weights=False))
def test_det_holds_scikit_learns_points(case):
    truth, scores, _ = case
    curve = det(rank(scores, truth), bands=None)
    ours = {(round(x, 12), round(y, 12)) for x, y in zip(curve.x, curve.y, strict=True)}
    fpr, fnr, _ = det_curve(truth, scores)
    assert {(round(x, 12), round(y, 12)) for x, y in zip(fpr, fnr, strict=True)} <= ours


@pytest.mark.parametrize("strategy", ["uniform", "quantile"])
@given(case=scored(weights=False))
def test_reliability_is_scikit_learns(strategy, case):
    truth, scores, _ = case
    for bins in (1, 4, 10):
        curve = reliability(rank(scores, truth), bins, strategy)
        observed, predicted = calibration_curve(truth, scores, n_bins=bins, strategy=strategy)
        np.testing.assert_allclose(curve.x, predicted, **CLOSE)
        np.testing.assert_allclose(curve.y, observed, **CLOSE)
        assert curve.extra["n"].sum() == len(truth)


@given(scored())
def test_tallied_probabilities_give_the_same_diagram(case):
    truth, scores, weight = case
    one = reliability(rank(scores, truth, weight=weight))
    two = reliability(tally(scores, truth, weight))
    np.testing.assert_allclose(one.x, two.x, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(one.y, two.y, rtol=1e-9, atol=1e-12)
    if weight is None:
        np.testing.assert_allclose(one.low, two.low, rtol=1e-9, atol=1e-12)


@given(scored())
def test_gain_and_lift_by_hand(case):
    truth, scores, weight = case
    held = np.ones(len(truth)) if weight is None else weight
    ranking = rank(scores, truth, weight=weight)
    gains, lifts = gain(ranking, bands=None), lift(ranking, bands=None)
    for at, threshold in enumerate(np.unique(scores)[::-1]):
        chosen = scores >= threshold
        share = held[chosen].sum() / held.sum()
        found = held[chosen & truth].sum() / held[truth].sum()
        assert (gains.x[at + 1], gains.y[at + 1]) == (pytest.approx(share), pytest.approx(found))
        assert (lifts.x[at], lifts.y[at]) == (pytest.approx(share), pytest.approx(found / share))
    assert (gains.x[0], gains.y[0]) == (0, 0)


@pytest.mark.parametrize("marker", ["s100b", "wfns"])
def test_the_whole_curve_of_proc(marker):
    rows = read("r/aSAH.csv")
    truth = np.array([row["outcome"] == "Poor" for row in rows])
    curve = roc(rank(np.array([float(row[marker]) for row in rows]), truth))
    figures = json.loads((DATA / "r" / "proc_asah.json").read_text(encoding="utf-8"))["auc"][marker]
    points = figures["curve"][::-1]
    np.testing.assert_allclose(curve.y, [point["sensitivity"] for point in points], atol=1e-10)
    np.testing.assert_allclose(1 - curve.x, [point["specificity"] for point in points], atol=1e-10)
    assert curve.area == pytest.approx(figures["auc"], abs=1e-10)
    assert (curve.low <= curve.y).all()
    assert (curve.y <= curve.high).all()


def brute_hull(points):
    """The ends, and every point that lies above each line from a point before it to a point after it."""
    kept = []
    for at, (x, y) in enumerate(points):
        chords = ((one, two) for one in points[:at] for two in points[at + 1 :])
        under = any((c - a) * (y - b) <= (d - b) * (x - a) for (a, b), (c, d) in chords)
        if not under:
            kept.append((x, y))
    return kept


@given(scored(weights=False))
def test_the_hull_is_the_brute_force_hull(case):
    truth, scores, _ = case
    curve = roc(rank(scores, truth), bands=None)
    points = sorted({(int(a), int(b)) for a, b in zip(curve.fp, curve.tp, strict=True)})
    hull = curve.hull()
    assert list(zip(hull.fp.tolist(), hull.tp.tolist(), strict=True)) == brute_hull(points)
    assert float(hull.area or 0) >= float(curve.area or 0) - 1e-12


def walk(steps):
    return np.cumsum([(0, 0), *(step for step in steps if step != (0, 0))], axis=0)


def check_hull(walked):
    kept = hull_places(walked[:, 0], walked[:, 1])
    assert [tuple(point) for point in walked[kept].tolist()] == brute_hull([tuple(point) for point in walked.tolist()])


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), min_size=1, max_size=12))
def test_the_hull_leaves_out_points_on_a_line(steps):
    check_hull(walk(steps))


def test_the_hull_of_many_vertices_leaves_out_points_on_a_line():
    # Behind so many vertices the few points that are none are left to the last pass, one after the other.
    vertices = [(1, 68 - at) for at in range(65)]
    for steps in itertools.product([(0, 1), (1, 0), (1, 1), (1, 2), (2, 1)], repeat=3):
        check_hull(walk([*vertices, *steps]))


def test_a_long_hull_has_nothing_above_it():
    rng = np.random.default_rng(3)
    truth = rng.random(20_000) < 0.3
    curve = roc(rank(rng.normal(size=20_000) + truth, truth), bands=None)
    hull = curve.hull()
    assert (np.interp(curve.x, hull.x, hull.y) >= curve.y - 1e-12).all()
    slopes = np.diff(hull.tp) / np.maximum(np.diff(hull.fp), 1e-9)
    assert (np.diff(slopes) < 0).all()
    assert len(hull) < 200


@given(scored())
def test_the_cost_curve_is_the_lower_envelope_of_all_lines(case):
    truth, scores, weight = case
    ranking = rank(scores, truth, weight=weight)
    curve, points = cost_curve(ranking), roc(ranking, bands=None)
    places = np.linspace(0, 1, 41)
    lines = (1 - points.y - points.x)[:, None] * places + points.x[:, None]
    np.testing.assert_allclose(np.interp(places, curve.x, curve.y), lines.min(axis=0), atol=1e-12)
    assert (curve.y <= np.minimum(curve.x, 1 - curve.x) + 1e-12).all()
    assert (np.diff(curve.x) >= 0).all()


@given(scored(weights=False))
def test_drummond_and_holtes_cost_is_the_expected_cost_over_its_largest_value(case):
    truth, scores, _ = case
    curve = roc(rank(scores, truth), bands=None)
    for prevalence, miss, alarm in ((0.1, 50.0, 1.0), (0.5, 1.0, 1.0), (0.7, 1.0, 9.0)):
        weight = prevalence * miss / (prevalence * miss + (1 - prevalence) * alarm)
        cost = prevalence * miss * (1 - curve.y) + (1 - prevalence) * alarm * curve.x
        largest = prevalence * miss + (1 - prevalence) * alarm
        np.testing.assert_allclose(normalized_cost(curve.y, curve.x, weight), cost / largest, atol=1e-12)


def test_the_best_threshold_stands_at_each_vertex_of_the_cost_curve():
    ranking = diabetes()
    curve, points = cost_curve(ranking), roc(ranking, bands=None)
    assert len(curve) > 10
    for at in range(len(curve) - 1):
        place = (curve.x[at] + curve.x[at + 1]) / 2
        best = np.argmin((1 - points.y - points.x) * place + points.x)
        assert (curve.threshold[at], curve.tp[at], curve.fp[at]) == (
            points.threshold[best], points.tp[best], points.fp[best],
        )  # fmt: skip


@given(scored())
def test_net_benefit_by_hand_and_treat_all_is_zero_at_the_prevalence(case):
    truth, scores, weight = case
    held = np.ones(len(truth)) if weight is None else weight
    prevalence = held[truth].sum() / held.sum()
    curve = decision_curve(rank(scores, truth, weight=weight), [0.05, 0.3, prevalence, 0.9], bands=None)
    for t, y in zip(curve.x, curve.y, strict=True):
        chosen = scores >= t
        worth = (held[chosen & truth].sum() - held[chosen & ~truth].sum() * t / (1 - t)) / held.sum()
        assert y == pytest.approx(worth, abs=1e-12)
    everyone = next(line for line in curve.references if line.name == "treat all")
    assert everyone.y[everyone.x.index(prevalence)] == pytest.approx(0, abs=1e-12)


def test_davis_and_goadrichs_example():
    seen = Ranking(np.array([0.9, 0.5, 0.1]), np.array([5, 5, 10]), np.array([5, 25, 1970]))
    curve = interpolated(precision_recall(seen))
    between = (curve.x >= 0.25) & (curve.x <= 0.5)
    np.testing.assert_allclose(curve.x[between], [0.25, 0.30, 0.35, 0.40, 0.45, 0.50], atol=1e-12)
    np.testing.assert_array_equal(curve.y[between].round(3), [0.5, 0.375, 0.318, 0.286, 0.265, 0.25])


@given(scored())
def test_interpolation_keeps_the_points_and_never_promises_more_than_a_straight_line(case):
    truth, scores, weight = case
    curve = precision_recall(rank(scores, truth, weight=weight), bands=None)
    bent = interpolated(curve)
    ours = {(round(x, 9), round(y, 9)) for x, y in zip(bent.x, bent.y, strict=True)}
    assert {(round(x, 9), round(y, 9)) for x, y in zip(curve.x, curve.y, strict=True)} <= ours
    assert (np.diff(bent.x) >= -1e-12).all()
    # The area in closed form against the trapezoids of a curve a hundred times as fine.
    many = Ranking(curve.threshold, np.diff(curve.tp, prepend=0) * 100.0, np.diff(curve.fp, prepend=0) * 100.0,
                   np.ones(len(curve)), np.ones(len(curve)))  # fmt: skip
    fine = interpolated(precision_recall(many, bands=None))
    x, y = np.concatenate([[0], fine.x]), np.concatenate([fine.y[:1], fine.y])
    assert bent.area == pytest.approx(np.trapezoid(y, x), abs=2e-3)


@given(scored())
def test_a_measure_against_the_threshold_by_hand(case):
    truth, scores, weight = case
    held = np.ones(len(truth)) if weight is None else weight
    curve = measure_curve(rank(scores, truth, weight=weight), "f1", bands=None)
    for t, y in zip(curve.x, curve.y, strict=True):
        chosen = scores >= t
        tp, fp, fn = (held[part].sum() for part in (chosen & truth, chosen & ~truth, ~chosen & truth))
        assert y == pytest.approx(2 * tp / (2 * tp + fp + fn), abs=1e-12)


def test_swapping_the_classes_reflects_the_roc_curve():
    ranking = diabetes()
    one, two = roc(ranking, bands=None), roc(ranking.swapped(), bands=None)
    np.testing.assert_allclose(two.x, (1 - one.y)[::-1], atol=1e-12)
    np.testing.assert_allclose(two.y, (1 - one.x)[::-1], atol=1e-12)


def test_monotone_transforms_change_no_point():
    ranking = diabetes()
    moved = Ranking(np.log(ranking.scores) * 7 - 3, ranking.positives, ranking.negatives)
    for made in (roc, precision_recall, gain, cost_curve):
        np.testing.assert_array_equal(made(ranking).y, made(moved).y)


@pytest.mark.parametrize("made", [roc, det, cost_curve])
def test_one_class_only_has_no_curve_and_says_why(made):
    for positives, negatives, reason in (
        ([0, 0], [1, 2], "no actual positives"),
        ([1, 2], [0, 0], "no actual negatives"),
    ):
        curve = made(Ranking(np.array([0.9, 0.1]), np.array(positives), np.array(negatives)))
        assert reason in curve.undefined
        assert reason in str(curve)
        with pytest.raises(ValuesError, match=reason):
            curve.chart()


@pytest.mark.parametrize("made", [precision_recall, gain, lift])
def test_no_positives_has_no_curve_and_says_why(made):
    curve = made(Ranking(np.array([0.9, 0.1]), np.array([0, 0]), np.array([1, 2])))
    assert curve.undefined == "there are no actual positives"


def test_no_cases_at_all():
    nothing = Ranking(np.zeros(0), np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64))
    for made in (roc, det, precision_recall, gain, lift, cost_curve, decision_curve, reliability):
        assert made(nothing).undefined
    assert measure_curve(nothing, "f1").undefined


@pytest.mark.parametrize("made", [decision_curve, reliability])
def test_probabilities_are_asked_for(made):
    with pytest.raises(ValuesError, match=r"leave \[0, 1\]: one is 1.5"):
        made(Ranking(np.array([1.5, 0.1]), np.array([1, 2]), np.array([1, 2])))


def test_options_that_do_not_exist_are_named():
    ranking = diabetes()
    with pytest.raises(OptionError, match="'pointwize' bands"):
        roc(ranking, "pointwize")
    with pytest.raises(OptionError, match="'simultaneous' bands"):
        precision_recall(ranking, "simultaneous")
    with pytest.raises(OptionError, match="'quantiles' bins"):
        reliability(ranking, strategy="quantiles")
    with pytest.raises(OptionError, match="from 1 to 10,000"):
        reliability(ranking, 0)
    with pytest.raises(OptionError, match=r"lies in \[0, 1\)"):
        decision_curve(ranking, [0.5, 1.0])
    with pytest.raises(OptionError, match="not determined by TP, FP, FN and TN"):
        measure_curve(ranking, "no_information_rate")
    with pytest.raises(OptionError, match="no convex hull"):
        gain(ranking).hull()
    with pytest.raises(OptionError, match="Only a precision-recall curve"):
        interpolated(roc(ranking))
    with pytest.raises(OptionError, match="cannot be changed any more"):
        reliability(tally(np.array([0.2, 0.9]), np.array([False, True])), 7)
