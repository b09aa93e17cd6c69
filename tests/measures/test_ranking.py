"""Measures of a ranking against their definitions, written out as loops over cases, pairs and thresholds."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from heldout.engines.score_sort import rank
from heldout.evidence import Ranking
from heldout.evidence.ranking import BLOCK
from heldout.measures.quantity import Bound
from heldout.measures.ranking import MEASURES, value_range
from heldout.measures.ranking_batch import RankingBatch, sweep

BY_NAME = {m.name: m for m in MEASURES}
NEEDS_BOTH = {m.name for m in MEASURES} - {
    "average_precision",
    "pr_area",
    "gain_at",
    "lift_at",
    "recall_at_precision",
    "precision_at_recall",
}

cases = st.lists(st.tuples(st.integers(0, 7), st.booleans()), min_size=2, max_size=30)


def bound(name, **parameters):
    return Bound(BY_NAME[name], {**BY_NAME[name].parameters, **parameters})


def value(name, seen, **parameters):
    return float(bound(name, **parameters).value({"ranking": seen}))


def split(rows):
    positive = np.array([label for _, label in rows], dtype=np.bool_)
    assume(positive.any() and not positive.all())
    return np.array([score for score, _ in rows], dtype=np.float64), positive


def points(scores, positive):
    """(TP, FP) at every threshold from none to all, by counting."""
    found = [(0, 0)]
    for threshold in sorted(set(scores.tolist()), reverse=True):
        called = scores >= threshold
        found.append((int((called & positive).sum()), int((called & ~positive).sum())))
    return found


def integral(height, start, stop, steps=4000):
    """The midpoint rule."""
    x = start + (np.arange(steps) + 0.5) / steps * (stop - start)
    return float(np.mean(height(x)) * (stop - start))


@settings(max_examples=40, deadline=None)
@given(cases)
def test_auc_is_the_share_of_pairs_in_order(rows):
    scores, positive = split(rows)
    pairs = [(p > q) + 0.5 * (p == q) for p in scores[positive] for q in scores[~positive]]
    seen = rank(scores, positive)
    assert value("roc_auc", seen) == pytest.approx(np.mean(pairs), abs=1e-15)
    assert value("gini", seen) == pytest.approx(2 * np.mean(pairs) - 1, abs=1e-15)


@settings(max_examples=40, deadline=None)
@given(cases)
def test_the_largest_gap_is_over_all_thresholds(rows):
    scores, positive = split(rows)
    p, q = positive.sum(), (~positive).sum()
    expected = max(abs(tp / p - fp / q) for tp, fp in points(scores, positive))
    assert value("kolmogorov_smirnov", rank(scores, positive)) == pytest.approx(expected, abs=1e-15)


@settings(max_examples=40, deadline=None)
@given(cases, st.floats(0, 0.9), st.floats(0.05, 1))
def test_partial_areas_are_integrals_of_the_straight_curve(rows, low, width):
    scores, positive = split(rows)
    high = min(low + width, 1.0)
    tp, fp = np.array(points(scores, positive)).T
    tpr, fpr = tp / tp[-1], fp / fp[-1]
    seen = rank(scores, positive)

    # A vertical step is no area: among points with the same x the interpolation may take any.
    by_fpr = integral(lambda x: np.interp(x, fpr, tpr), low, high)
    by_tpr = integral(lambda x: 1 - np.interp(x, tpr, fpr), low, high)
    assert value("partial_auc", seen, low=low, high=high) == pytest.approx(by_fpr, abs=2e-3)
    assert value("partial_auc_by_recall", seen, low=low, high=high) == pytest.approx(by_tpr, abs=2e-3)


@settings(max_examples=40, deadline=None)
@given(cases)
def test_the_whole_range_is_the_whole_area(rows):
    seen = rank(*split(rows))
    whole = value("roc_auc", seen)
    for name in ("partial_auc", "corrected_partial_auc", "partial_auc_by_recall", "corrected_partial_auc_by_recall"):
        assert value(name, seen, low=0.0, high=1.0) == pytest.approx(whole, abs=1e-12)


@settings(max_examples=40, deadline=None)
@given(cases)
def test_average_precision_is_the_mean_precision_at_the_positives(rows):
    scores, positive = split(rows)
    precisions = [positive[scores >= s].mean() for s in scores[positive]]
    assert value("average_precision", rank(scores, positive)) == pytest.approx(np.mean(precisions), abs=1e-14)


@settings(max_examples=40, deadline=None)
@given(cases)
def test_the_precision_recall_area_is_the_integral_of_the_interpolated_curve(rows):
    scores, positive = split(rows)
    area = 0.0
    found = points(scores, positive)
    for (tp0, fp0), (tp1, fp1) in pairwise(found):
        if tp1 > tp0:
            slope = (fp1 - fp0) / (tp1 - tp0)
            area += integral(lambda t, a=tp0, b=fp0, s=slope: t / (t + b + s * (t - a)), tp0, tp1)
    assert value("pr_area", rank(scores, positive)) == pytest.approx(area / positive.sum(), abs=1e-4)


def test_the_interpolation_of_davis_and_goadrich():
    """20 positives, 2,000 negatives, from (TP 5, FP 5) to (TP 10, FP 30): their table of the curve between."""
    table = {0.25: 0.5, 0.3: 0.375, 0.35: 0.318, 0.4: 0.286, 0.45: 0.265, 0.5: 0.25}
    head = Ranking(np.array([3.0]), np.array([5]), np.array([5]))
    both = Ranking(np.array([3.0, 2.0]), np.array([5, 5]), np.array([5, 25]))
    between = value("pr_area", both) * 10 - value("pr_area", head) * 5
    curve = np.interp(np.linspace(5, 10, 10_001), np.array(list(table)) * 20, list(table.values()))
    # Their figures are points of a convex curve, rounded; straight lines between them lie a little above it.
    assert between == pytest.approx(np.mean(curve) * 5, abs=0.04)
    exact = [t / (t + 5 + 5 * (t - 5)) for t in (5, 6, 7, 8, 9, 10)]
    assert exact == pytest.approx(list(table.values()), abs=5e-4)
    assert between == pytest.approx(integral(lambda t: t / (6 * t - 20), 5, 10), abs=1e-7)


def test_small_steps_of_a_long_ranking_keep_their_digits():
    # With distinct scores a step is one positive: precision runs from tp/n to (tp + 1)/(n + 1) along (tp + u)/(n + u).
    rng = np.random.default_rng(0)
    seen = rank(rng.random(200_000), rng.random(200_000) < 0.01)
    here = np.flatnonzero(seen.positives)
    tp, found = seen.tp[here, None] - 1, (seen.tp + seen.fp)[here, None] - 1
    u = (np.arange(200) + 0.5) / 200
    expected = ((tp + u) / (found + u)).mean(axis=1).sum() / len(here)
    assert value("pr_area", seen) == pytest.approx(expected, rel=1e-9)
    # One step of many cases: the closed form against the midpoint rule.
    one = Ranking(np.array([2.0, 1.0]), np.array([1000, 1]), np.array([1000, 1]))
    extra = (
        value("pr_area", one) * 1001
        - value("pr_area", Ranking(one.scores[:1], one.positives[:1], one.negatives[:1])) * 1000
    )
    assert extra == pytest.approx(0.5, abs=1e-9)


@settings(max_examples=40, deadline=None)
@given(cases)
def test_the_gain_area_is_the_integral_between_the_gains(rows):
    scores, positive = split(rows)
    p, q = int(positive.sum()), int((~positive).sum())
    found = np.array(points(scores, positive), dtype=float)
    # The curve on a fine path through the (TP, FP) plane, each point turned into its gains.
    share = np.linspace(0, 1, 4001)[1:]
    path = np.concatenate([a + share[:, None] * (b - a) for a, b in pairwise(found)])
    path = path[path[:, 0] > 0]
    recall_gain = 1 - p * (p - path[:, 0]) / (q * path[:, 0])
    precision_gain = 1 - p * path[:, 1] / (q * path[:, 0])
    keep = recall_gain >= 0
    widths = np.diff(recall_gain[keep])
    heights = (precision_gain[keep][1:] + precision_gain[keep][:-1]) / 2
    seen = value("precision_recall_gain_area", rank(scores, positive))
    scale = 1 + q / p
    assert seen == pytest.approx(float(widths @ heights), abs=0.01 * scale)


@settings(max_examples=40, deadline=None)
@given(cases, st.sampled_from([0.1, 0.25, 0.5, 0.73, 1.0]))
def test_gain_and_lift_expect_a_tie_in_random_order(rows, share):
    scores, positive = split(rows)
    # In place of a random order inside a tie, each of its cases holds the tie's share of positives.
    order = np.argsort(-scores, kind="stable")
    smooth = np.array([positive[scores == s].mean() for s in scores[order]])
    depth = share * len(scores)
    whole = math.floor(depth + 1e-9)
    found = smooth[:whole].sum() + (smooth[whole] * (depth - whole) if whole < len(smooth) else 0.0)
    seen = rank(scores, positive)
    assert value("gain_at", seen, share=share) == pytest.approx(found / positive.sum(), abs=1e-9)
    assert value("lift_at", seen, share=share) == pytest.approx(found / depth / positive.mean(), abs=1e-9)


@settings(max_examples=40, deadline=None)
@given(cases, st.sampled_from([0.0, 0.2, 0.3, 0.5, 2 / 3, 0.9, 1.0]))
def test_points_of_the_curve_that_keep_a_limit(rows, limit):
    scores, positive = split(rows)
    p, q = int(positive.sum()), int((~positive).sum())
    curve = points(scores, positive)
    seen = rank(scores, positive)
    near = 1e-12
    best_recall = max((tp / p for tp, fp in curve[1:] if tp / (tp + fp) >= limit - near), default=0.0)
    best_precision = max(tp / (tp + fp) for tp, fp in curve[1:] if tp / p >= limit - near)
    best_tpr = max(tp / p for tp, fp in curve if fp / q <= limit + near)
    assert value("recall_at_precision", seen, precision=limit) == pytest.approx(best_recall, abs=1e-15)
    assert value("precision_at_recall", seen, recall=limit) == pytest.approx(best_precision, abs=1e-15)
    assert value("tpr_at_fpr", seen, fpr=limit) == pytest.approx(best_tpr, abs=1e-15)


def test_a_limit_that_floats_miss_by_a_hair_is_kept():
    # 29 of 100 is a rate of .29, and .29 · 100 is less than 29 in floats; .55 · 100 is more than 55.
    assert 0.29 * 100 < 29
    assert 0.55 * 100 > 55
    by_fpr = Ranking(np.array([2.0, 1.0]), np.array([4, 6]), np.array([29, 71]))
    assert value("tpr_at_fpr", by_fpr, fpr=0.29) == 0.4
    by_precision = Ranking(np.array([2.0, 1.0]), np.array([55, 45]), np.array([45, 900]))
    assert value("recall_at_precision", by_precision, precision=0.55) == 0.55
    assert value("precision_at_recall", by_precision, recall=0.55) == 0.55


@pytest.mark.parametrize("name", BY_NAME)
def test_undefined_exactly_without_a_class_it_needs(name):
    only_negatives = Ranking(np.array([1.0, 0.0]), np.array([0, 0]), np.array([3, 4]))
    only_positives = Ranking(np.array([1.0, 0.0]), np.array([3, 4]), np.array([0, 0]))
    nothing = rank(np.empty(0), np.empty(0, dtype=bool))
    assert math.isnan(value(name, only_negatives))
    assert math.isnan(value(name, nothing))
    assert math.isnan(value(name, only_positives)) == (name in NEEDS_BOTH)
    assert BY_NAME[name].undefined


def test_an_empty_range_is_undefined():
    seen = Ranking(np.array([2.0, 1.0]), np.array([4, 6]), np.array([3, 27]))
    assert math.isnan(value("partial_auc", seen, low=0.3, high=0.3))
    assert math.isnan(value("corrected_partial_auc_by_recall", seen, low=0.5, high=0.2))
    assert math.isnan(value("lift_at", seen, share=0.0))


@settings(max_examples=40, deadline=None)
@given(rows=cases)
def test_strictly_increasing_transforms_change_nothing(rows):
    scores, positive = split(rows)
    seen, moved = rank(scores, positive), rank(np.exp(scores) - 3, positive)
    np.testing.assert_array_equal([value(name, moved) for name in BY_NAME], [value(name, seen) for name in BY_NAME])


@settings(max_examples=40, deadline=None)
@given(cases)
def test_negated_scores_and_swapped_classes(rows):
    scores, positive = split(rows)
    one = value("roc_auc", rank(scores, positive))
    assert value("roc_auc", rank(-scores, positive)) == pytest.approx(1 - one, abs=1e-15)
    assert value("roc_auc", rank(-scores, ~positive)) == pytest.approx(one, abs=1e-15)
    # The reflected curve has its ranges of recall where the other has its ranges of specificity.
    seen, reflected = rank(scores, positive), rank(-scores, ~positive)
    assert value("partial_auc_by_recall", reflected, low=0.7, high=1.0) == pytest.approx(
        value("partial_auc", seen, low=0.0, high=0.3), abs=1e-12
    )


@settings(max_examples=40, deadline=None)
@given(rows=cases, seed=st.integers(0, 100))
def test_weights_are_repetition(rows, seed):
    scores, positive = split(rows)
    times = np.random.default_rng(seed).integers(1, 4, size=len(scores))
    weighted = rank(scores, positive, weight=times.astype(np.float64))
    repeated = rank(np.repeat(scores, times), np.repeat(positive, times))
    for name, declared in BY_NAME.items():
        # Of fewer than k cases there is no precision at k.
        assert value(name, weighted) == pytest.approx(
            value(name, repeated), abs=1e-12, nan_ok="k" in declared.parameters
        ), name


@pytest.mark.parametrize("name", BY_NAME)
def test_a_batch_is_its_rankings_one_by_one(name):
    rng = np.random.default_rng(4)
    positives, negatives = rng.integers(0, 4, size=(2, 25, 9))
    positives[3] = 0
    together = bound(name).value({"ranking": RankingBatch(positives, negatives)})
    assert together.shape == (25,)
    for row, p, q in zip(together, positives, negatives, strict=True):
        alone = value(name, Ranking(np.arange(9.0)[::-1], p, q))
        assert row == pytest.approx(alone, abs=1e-14, nan_ok=True)


@settings(max_examples=40, deadline=None)
@given(rows=cases)
def test_values_lie_in_their_range(rows):
    seen = rank(*split(rows))
    for name, declared in BY_NAME.items():
        low, high = value_range(declared, declared.parameters)
        found = value(name, seen)
        # Among fewer than k cases there are no k highest.
        too_few = len(rows) < declared.parameters.get("k", 0)
        assert np.isnan(found) if too_few else low - 1e-12 <= found <= high + 1e-12, name


@pytest.mark.parametrize("name", [name for name in BY_NAME if "partial" in name])
def test_partial_areas_reach_both_ends_of_their_range(name):
    low, high = value_range(BY_NAME[name], BY_NAME[name].parameters)
    perfect = Ranking(np.array([1.0, 0.0]), np.array([5, 0]), np.array([0, 5]))
    worst = Ranking(np.array([1.0, 0.0]), np.array([0, 5]), np.array([5, 0]))
    assert value(name, perfect) == pytest.approx(high, abs=1e-12)
    assert value(name, worst) == pytest.approx(low, abs=1e-12)


@pytest.mark.parametrize("dtype", [np.uint8, np.int64, np.float64])
def test_a_sweep_goes_through_every_block(dtype):
    rng = np.random.default_rng(6)
    m = 2 * BLOCK + 77
    seen = Ranking(np.arange(float(m))[::-1], *rng.integers(0, 200, size=(2, m)).astype(dtype))
    spans = [np.stack([s.positives, s.negatives, s.tp, s.fp]) for s in sweep(seen)]
    joined = np.concatenate(spans, axis=1)
    assert len(spans) == 3
    columns = seen.positives.astype(np.int64), seen.negatives.astype(np.int64)
    np.testing.assert_array_equal(joined, np.stack([*columns, *(np.cumsum(c) for c in columns)]))
