"""Bounds of areas from bins: known cases worked by hand, and the oracle's value inside."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from sklearn.metrics import average_precision_score, roc_auc_score

from heldout.engines.bins import bins_of
from heldout.engines.score_sort import rank
from heldout.errors import OptionError
from heldout.evidence import Ranking
from heldout.evidence.score_bins import total
from heldout.measures.catalogue import find
from heldout.measures.certified import CERTIFIED, bounds, bounds_of
from heldout.measures.ranking import MEASURES


def one_bin(positives, negatives):
    return Ranking(np.array([0.0]), np.array([positives]), np.array([negatives]), joined=np.array([True]))


def test_nothing_is_known_of_the_order_in_one_bin():
    assert bounds(one_bin(1, 1), "roc_auc") == (0.0, 1.0)
    assert bounds(one_bin(1, 1), "gini") == (-1.0, 1.0)
    # The positive comes last at worst: precision 1/2.
    assert bounds(one_bin(1, 1), "average_precision") == pytest.approx((0.5, 1.0), abs=1e-12)
    assert bounds(one_bin(1, 3), "average_precision") == pytest.approx((0.25, 1.0), abs=1e-12)
    # Only positives: precision is 1 in any order.
    assert bounds(one_bin(3, 0), "average_precision") == pytest.approx((1.0, 1.0), abs=1e-12)


def test_the_lower_bound_of_average_precision_is_close_to_the_worst_order():
    # 40 positives after 60 negatives, each with a score of its own.
    worst = sum(i / (i + 60) for i in range(1, 41)) / 40
    low, high = bounds(one_bin(40, 60), "average_precision")
    # A term 1 / x is below its integral by at most a 24th of the second derivative.
    slack = 60 / 40 * sum(2 / (x - 0.5) ** 3 / 24 for x in range(61, 101))
    assert worst - slack - 1e-12 < low <= worst
    assert high == 1.0


def test_weights_may_be_split_as_finely_as_can_be():
    tenth = np.array([0.1])
    seen = Ranking(np.array([0.0]), tenth, tenth, tenth**2, tenth**2, joined=np.array([True]))
    low, high = bounds(seen, "average_precision")
    # The integral of x / (x + 0.1) from 0 to 0.1, over 0.1; one positive in one piece would have 1/2.
    assert low == pytest.approx(1 - math.log(2), abs=1e-9)
    assert high == 1.0


def test_the_bounds_are_reached_by_some_order_of_the_scores():
    # Above the bin: 2 positives, 1 negative; in it 2 and 2.
    seen = Ranking(np.array([0.5, 0.0]), np.array([2, 2]), np.array([1, 2]), joined=np.array([False, True]))
    best = (
        roc_auc_score([1, 1, 0, 1, 1, 0, 0], [9, 9, 9, 3, 3, 2, 2]),
        average_precision_score([1, 1, 0, 1, 1, 0, 0], [9, 9, 9, 3, 3, 2, 2]),
    )
    worst = roc_auc_score([1, 1, 0, 0, 0, 1, 1], [9, 9, 9, 3, 3, 2, 1])
    assert bounds(seen, "roc_auc") == pytest.approx((worst, best[0]), abs=1e-12)
    assert bounds(seen, "average_precision")[1] == pytest.approx(best[1], abs=1e-12)


@pytest.mark.parametrize("weighted", [False, True])
def test_scikit_learns_value_is_inside_and_the_bounds_close_in(weighted):
    rng = np.random.default_rng(0)
    scores, truth = rng.normal(0, 1, 20_000), rng.random(20_000) < 0.3
    scores[truth] += 0.7
    weight = rng.exponential(1, 20_000) if weighted else None
    expected = {
        "roc_auc": roc_auc_score(truth, scores, sample_weight=weight),
        "average_precision": average_precision_score(truth, scores, sample_weight=weight),
    }
    for name, value in expected.items():
        before = math.inf
        for most in (4, 32, 256, 2048, 16_384):
            low, high = bounds(bins_of(scores, truth, 2, weight=weight, most=most).ranking(1), name)
            assert low <= value <= high
            assert high - low < before
            before = high - low
        assert before < 1e-3


def test_exact_rankings_have_their_value_twice():
    scores, truth = np.array([0.9, 0.4, 0.4, 0.1]), np.array([True, False, True, False])
    for name, measure in CERTIFIED.items():
        top, bottom = measure.function(rank(scores, truth))
        assert bounds(rank(scores, truth), name) == (top / bottom, top / bottom)
    lone = Ranking(np.array([0.5, 0.0]), np.array([1, 0]), np.array([0, 1]), joined=np.array([False, False]))
    assert bounds(lone, "roc_auc") == (1.0, 1.0)


def test_undefined_areas_have_no_bounds():
    assert all(math.isnan(bound) for bound in bounds(one_bin(0, 3), "average_precision"))
    assert all(math.isnan(bound) for bound in bounds(one_bin(3, 0), "roc_auc"))


def test_other_measures_are_refused():
    with pytest.raises(OptionError, match="There are no bounds for 'roc_acu'") as caught:
        bounds(one_bin(1, 1), "roc_acu")
    assert "'roc_auc'" in caught.value.hint


def test_long_sums_keep_their_digits():
    terms = np.random.default_rng(1).random(100_001)
    assert total(terms) == pytest.approx(math.fsum(terms), rel=2**-46)
    assert total(np.zeros(0)) == 0.0


def exact_in_fractions(counts):
    """AUC and average precision of (positives, negatives) at each score, the highest first."""
    whole = [sum(side) for side in zip(*counts, strict=True)]
    auc = ap = Fraction(0)
    tp = fp = 0
    for positives, negatives in counts:
        auc += Fraction(negatives, whole[1]) * Fraction(2 * tp + positives, 2 * whole[0])
        tp, fp = tp + positives, fp + negatives
        ap += Fraction(positives, whole[0]) * Fraction(tp, tp + fp)
    return {"roc_auc": auc, "gini": 2 * auc - 1, "average_precision": ap}


@pytest.mark.parametrize("signs", [(1, -1, 1, -1), (-1, 1, -1, 1), (1, -1, -1, 1), (-1, 1, 1, -1)])
def test_the_bounds_allow_for_the_error_of_very_many_weights(signs):
    # 20 million rows of one weight; the sums are off by as many units in the last place as plain summation may be.
    rows = [(6_666_667, 3_333_333), (1, 1), (100_000, 9_900_000)]
    n = sum(map(sum, rows))
    off = np.array([[signs[0], signs[1]], [0, 0], [signs[2], signs[3]]]) * n * 2.0**-53
    positives, negatives = (np.array(rows, dtype=np.float64) * 0.1 * (1 + off)).T
    joined = np.array([False, True, False])
    seen = Ranking(np.array([1.0, 0.5, 0.0]), positives, negatives, positives, negatives, joined=joined, rows=n)
    exact = exact_in_fractions([rows[0], (1, 0), (0, 1), rows[2]])
    for name, value in exact.items():
        low, high = map(Fraction, bounds(seen, name))
        assert low <= value <= high
        assert high - low < Fraction(1, 10**6)


def test_bins_say_of_how_many_rows_their_sums_are():
    seen = bins_of(np.arange(9.0), np.arange(9) % 2, 2, weight=np.full(9, 0.1), most=4).ranking(1)
    assert (seen.rows, seen.swapped().rows, (seen + seen).rows) == (9, 9, 18)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("name", [measure.name for measure in MEASURES])
def test_every_measure_of_the_scores_lies_within_the_bounds_of_bins(name, weighted):
    draw = np.random.default_rng(4)
    for shift, most in ((0.0, 4), (0.5, 8), (-0.8, 8), (2.0, 16)):
        positive = draw.random(300) < 0.3
        # Ordered inside the bins, and some scores tied.
        score = np.round((draw.normal(0, 1, 300) + shift * positive) / 8 + 0.5 + 0.05 * positive, 3)
        weight = draw.integers(1, 5, 300) / 4 if weighted else None
        seen = bins_of(score, positive, 2, weight=weight, most=most).ranking(1)
        exact = float(find(name).value({"ranking": rank(score, positive, weight=weight)}))
        found = bounds_of(find(name), seen)
        assert found is not None
        assert found[0] <= exact <= found[1]
        assert found[0] <= float(find(name).value({"ranking": seen})) <= found[1]
        assert bounds_of(find(name), rank(score, positive, weight=weight)) is None
