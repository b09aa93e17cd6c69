"""Intervals for areas of many classes: influence by brute force, boundary figures, absent classes, groups."""

from __future__ import annotations

import math
from itertools import permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import expit, logit
from scipy.stats import t
from tests.intervals.averaged_areas import multiclass_auc, multiclass_auc_limits, ovr_auc

from heldout.engines.score_sort import rank
from heldout.errors import OptionError
from heldout.intervals.areas import delong_variance, newcombe
from heldout.intervals.multiclass_areas import (
    AREA_AVERAGES,
    AreaAverage,
    multiclass_areas,
)


def cases(seed: int, n: int, k: int, decimals: int = 1):
    rng = np.random.default_rng(seed)
    codes = rng.integers(0, k, n)
    codes[: 2 * k] = np.tile(np.arange(k), 2)
    scores = rng.normal(size=(n, k))
    scores[np.arange(n), codes] += 1
    # Rounded last: 0.1 + 0.2 and 0.3 would be a tie to some transforms and none to others.
    return np.round(scores, decimals), codes


def chance(high: np.ndarray, low: np.ndarray) -> float:
    return float(((high[:, None] > low) + 0.5 * (high[:, None] == low)).mean())


@given(st.integers(0, 10_000), st.integers(10, 30), st.integers(3, 5))
def test_values_by_all_pairs(seed, n, k):
    scores, codes = cases(seed, n, k)
    of = [scores[codes == c] for c in range(k)]
    rest = [scores[codes != c] for c in range(k)]
    against_rest = [chance(of[c][:, c], rest[c][:, c]) for c in range(k)]
    assert ovr_auc(scores, codes, k) == pytest.approx(against_rest, abs=1e-12)
    assert multiclass_auc(scores, codes, k) == pytest.approx(np.mean(against_rest), abs=1e-12)
    shares = np.bincount(codes) / n
    assert multiclass_auc(scores, codes, k, "weighted") == pytest.approx(shares @ against_rest, abs=1e-12)
    pairs = [chance(of[c][:, c], of[d][:, c]) for c, d in permutations(range(k), 2)]
    assert multiclass_auc(scores, codes, k, "hand_till") == pytest.approx(np.mean(pairs), abs=1e-12)


@pytest.mark.parametrize("average", AREA_AVERAGES)
def test_the_error_is_that_of_the_jackknife(average):
    # Unequal classes, one of which is hard to tell from the first only: the pairs differ, and so do their expectations.
    rng = np.random.default_rng(3)
    codes = np.repeat([0, 1, 2], [200, 150, 50])
    means = np.array([[1.0, -1.0, 0.8], [-1.0, 1.5, -2.0], [0.9, -1.0, 1.0]])
    scores = np.round(rng.normal(size=(400, 3)) + means[codes], 1)
    (found,) = multiclass_areas(scores, codes, 3, (average,))
    left = np.array([multiclass_auc(np.delete(scores, i, 0), np.delete(codes, i), 3, average) for i in range(400)])
    jackknife = math.sqrt(399 / 400 * ((left - left.mean()) ** 2).sum())
    assert found.standard_error == pytest.approx(jackknife, rel=0.02)
    df = np.bincount(codes).min() - 1
    half = t.ppf(0.975, df) * found.standard_error / (found.value * (1 - found.value))
    wanted = tuple(expit([logit(found.value) - half, logit(found.value) + half]))
    assert (found.low, found.high) == pytest.approx(wanted)


def test_two_mirrored_classes_have_delongs_error():
    rng = np.random.default_rng(4)
    codes = np.repeat([0, 1], [40, 60])
    score = rng.normal(size=100) + codes
    (found,) = multiclass_areas(np.stack([-score, score], axis=1), codes, 2, ("hand_till",))
    assert found.standard_error == pytest.approx(math.sqrt(delong_variance(rank(score, codes == 1))), rel=1e-9)


@pytest.mark.parametrize("average", AREA_AVERAGES)
def test_all_areas_1_give_the_mean_of_newcombes_limits(average):
    # 7, 11 and 13 cases: thirds of ones that do not add up to exactly 1.
    codes = np.repeat([0, 1, 2], [7, 11, 13])
    (found,) = multiclass_areas(np.eye(3)[codes], codes, 3, (average,))
    assert found.value == pytest.approx(1)
    assert found.high == 1
    sizes = np.array([7, 11, 13])

    def low(p: int, q: int) -> float:
        separated = rank(np.repeat([1.0, 0.0], [p, q]), np.repeat([True, False], [p, q]))
        return newcombe(separated)[0]

    rest = np.array([low(p, 31 - p) for p in sizes])
    pairs = {(c, d): low(sizes[c], sizes[d]) for c, d in permutations(range(3), 2)}
    weights = {pair: sizes[list(pair)].sum() for pair in pairs}
    wanted = {
        "macro": rest.mean(),
        "weighted": sizes @ rest / 31,
        "hand_till": np.mean(list(pairs.values())),
        "weighted_hand_till": sum(weights[p] * pairs[p] for p in pairs) / sum(weights.values()),
    }
    assert found.low == pytest.approx(wanted[average], abs=1e-9)
    assert 0.6 < found.low < 0.95


def test_a_constant_score_says_nothing():
    codes = np.repeat([0, 1, 2], 20)
    low, high = multiclass_auc_limits(np.ones((60, 3)), codes, 3)
    assert multiclass_auc(np.ones((60, 3)), codes, 3) == 0.5
    assert 0.3 < low < 0.5 < high < 0.7


def test_an_absent_class_is_left_out_and_widens_the_interval():
    scores, codes = cases(5, 120, 3)
    more = np.concatenate([scores, np.zeros((120, 1))], axis=1)
    shares: dict[AreaAverage, float] = {"macro": 3 / 4, "hand_till": 6 / 12, "weighted": 1.0}
    for average, share in shares.items():
        (found,) = multiclass_areas(more, codes, 4, (average,))
        (without,) = multiclass_areas(scores, codes, 3, (average,))
        assert found.value == pytest.approx(without.value, abs=1e-12)
        assert (found.low, found.high) == pytest.approx((without.low * share, without.high * share + 1 - share))
        assert found.absent == 1
    assert math.isnan(ovr_auc(more, codes, 4)[3])


def test_one_class_has_no_area():
    (found,) = multiclass_areas(np.zeros((5, 3)), np.zeros(5, dtype=int), 3, ("macro",))
    assert math.isnan(found.value)
    assert (found.low, found.high) == (0.0, 1.0)


def test_weights_are_repetitions_for_the_value():
    scores, codes = cases(6, 60, 3)
    times = np.random.default_rng(6).integers(1, 4, 60)
    for average in AREA_AVERAGES:
        one = multiclass_auc(scores, codes, 3, average, weight=times.astype(float))
        many = multiclass_auc(np.repeat(scores, times, axis=0), np.repeat(codes, times), 3, average)
        assert one == pytest.approx(many, abs=1e-12)


def test_repeated_rows_in_groups_are_one_case_each():
    scores, codes = cases(7, 300, 3, decimals=9)
    (single,) = multiclass_areas(scores, codes, 3, ("macro",))
    eight, eight_codes = np.repeat(scores, 8, axis=0), np.repeat(codes, 8)
    (grouped,) = multiclass_areas(eight, eight_codes, 3, ("macro",), group=np.repeat(np.arange(300), 8))
    (naive,) = multiclass_areas(eight, eight_codes, 3, ("macro",))
    assert grouped.standard_error == pytest.approx(single.standard_error, rel=0.03)
    assert naive.standard_error == pytest.approx(single.standard_error / math.sqrt(8), rel=0.03)


def test_a_monotone_transform_changes_nothing():
    scores, codes = cases(8, 90, 4)
    for average in AREA_AVERAGES:
        assert multiclass_auc_limits(np.exp(scores), codes, 4, average) == pytest.approx(
            multiclass_auc_limits(scores, codes, 4, average), abs=1e-12
        )


def test_an_unknown_average():
    with pytest.raises(OptionError, match="no average 'micro'"):
        multiclass_auc(np.zeros((3, 3)), np.arange(3), 3, "micro")  # type: ignore[arg-type]
