"""Net benefit on a card: against the decision curve, the definition, and what anybody would expect."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from tests.cards.drawn_data import one_that_matters

import heldout
from heldout.cards.api import card
from heldout.cards.usefulness import ProbabilityPredictions, compute_usefulness
from heldout.curves.decision import GRID, decision_curve
from heldout.evidence import Ranking


def judged(seed=0, n=150, **more):
    rng = np.random.default_rng(seed)
    p = np.round(rng.beta(1, 2, n), 2)
    return ProbabilityPredictions(p, rng.random(n) < p, np.ones(n), **more)


def ranking(cases):
    scores = np.unique(cases.probability)[::-1]
    counts = [
        np.array([np.sum((cases.probability == score) & (cases.positive == kind)) for score in scores])
        for kind in (True, False)
    ]
    return Ranking(scores, counts[0], counts[1])


def test_the_benefit_and_its_limits_are_those_of_the_decision_curve():
    cases = judged()
    found, curve = compute_usefulness(cases, "yes", 0.95), decision_curve(ranking(cases))
    np.testing.assert_allclose([point.benefit for point in found.points], curve.y, atol=1e-12)
    np.testing.assert_allclose([point.everyone for point in found.points], curve.references[0].y, atol=1e-12)
    np.testing.assert_allclose([point.low for point in found.points], curve.low, atol=1e-9)
    np.testing.assert_allclose([point.high for point in found.points], curve.high, atol=1e-9)


@settings(max_examples=3, deadline=None)
@given(st.integers(0, 2**31))
def test_the_gain_is_over_the_better_of_all_and_none_and_lies_within_its_limits(seed):
    found = compute_usefulness(judged(seed, 40), "yes", 0.9)
    for point in found.points:
        assert point.gain == pytest.approx(point.benefit - max(0.0, point.everyone), abs=1e-12)
        assert point.gain_low - 1e-9 <= point.gain <= point.gain_high + 1e-9
    better = {t for t, point in zip(GRID, found.points, strict=True) if point.gain > 1e-12}
    inside = {t for t in GRID if any(low <= t <= high for low, high in found.better)}
    assert better == inside
    assert {t for t in GRID if any(low <= t <= high for low, high in found.surely)} <= better


def test_a_model_that_knows_nothing_is_nowhere_surely_better():
    rng = np.random.default_rng(0)
    found = compute_usefulness(
        ProbabilityPredictions(np.full(200, 0.3), rng.random(200) < 0.3, np.ones(200)), "yes", 0.95
    )
    assert found.surely == ()


def test_limits_widen_with_what_is_not_independent():
    cases = judged()
    whole = compute_usefulness(cases, "yes", 0.95).points[29]
    part = compute_usefulness(judged(independent=1 / 1.5), "yes", 0.95).points[29]
    assert part.gain == whole.gain
    assert part.gain_low < whole.gain_low
    assert part.gain_high > whole.gain_high
    twice = ProbabilityPredictions(np.tile(cases.probability, 2), np.tile(cases.positive, 2), np.full(300, 0.5))
    assert compute_usefulness(twice, "yes", 0.95).points[29].gain_low == pytest.approx(whole.gain_low)
    # Rows of one group that are copies of each other are one case.
    copies = ProbabilityPredictions(
        np.tile(cases.probability, 2), np.tile(cases.positive, 2), np.ones(300), group=np.tile(np.arange(150), 2)
    )
    single = ProbabilityPredictions(cases.probability, cases.positive, np.ones(150), group=np.arange(150))
    assert compute_usefulness(copies, "y", 0.9).points[29].low == pytest.approx(
        compute_usefulness(single, "y", 0.9).points[29].low
    )


def test_a_card_judges_the_predictions_of_the_folds():
    X, y = one_that_matters(80)
    found = card("logistic", X, y, plan="2-fold", timing=False, seed=2).usefulness
    validation: Any = heldout.validate("logistic", X, y, plan="2-fold", seed=2)
    curve = validation.evaluation.curve("decision", bands=None)
    np.testing.assert_allclose([point.benefit for point in found.points], curve.y, atol=1e-12)
    assert (found.n, found.positive, found.method) == (80, 1, "score, n/1.5")


def test_of_several_classes_the_positive_one_stands_against_the_rest():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(90, 2))
    y = np.array(["a", "b", "c"])[(X[:, 0] > 0).astype(int) + (X[:, 0] > 1)]
    options: dict[str, Any] = {"plan": "2-fold", "timing": False, "shuffles": 1}
    none = card("logistic", X, y, **options).usefulness
    assert (
        none.undefined
        == "there are several classes, and none was named as positive; name one with positive= (--positive)"
    )
    named = card("logistic", X, y, positive="b", **options)
    assert named.usefulness.positive == "b"
    assert named.usefulness.points[0].everyone == pytest.approx(np.mean(y == "b") - np.mean(y != "b") / 99, abs=1e-9)


def test_without_probabilities_it_does_not_apply():
    X, y = one_that_matters(40)
    found = card("linear-svm", X, y, plan="2-fold", timing=False, shuffles=1)
    assert found.usefulness.undefined == "the model gives no probabilities"
    assert found.importance.measure == "accuracy"
    row = next(row for row in found.rows() if row["measure"] == "largest_net_benefit_gain")
    assert math.isnan(row["value"])  # type: ignore[arg-type]
    assert row["undefined"] == "the model gives no probabilities"


def test_over_groups_of_one_case_the_limits_are_those_of_a_mean():
    cases = judged(n=200)
    points = compute_usefulness(
        ProbabilityPredictions(cases.probability, cases.positive, np.ones(200), group=np.arange(200)), "y", 0.95
    ).points
    for at in (19, 49, 69):
        odds = GRID[at] / (1 - GRID[at])
        acted = cases.probability >= GRID[at]
        over_none = np.where(acted, np.where(cases.positive, 1.0, -odds), 0.0)
        over_all = over_none - np.where(cases.positive, 1.0, -odds)
        lows = [stats.ttest_1samp(worth, 0).confidence_interval(0.95).low for worth in (over_none, over_all)]
        assert points[at].low == pytest.approx(lows[0])
        assert points[at].gain_low == pytest.approx(min(lows))
