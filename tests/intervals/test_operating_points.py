"""Intervals over all thresholds that the cases do not rule out: against loops over thresholds, and laws."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binom, norm

from heldout.engines.score_sort import rank
from heldout.evidence import Ranking
from heldout.intervals.areas import area, delong
from heldout.intervals.operating_points import (
    DOUBTED,
    binomial_deviate,
    largest_gap_limits,
    mean_recall_limits,
    optimism,
    profile_limits,
    threshold_states,
)
from heldout.intervals.proportion import clopper_pearson, wilson
from heldout.measures.catalogue import find
from heldout.measures.ranking import MEASURES, value_range

BOUNDS = [find(m.name) for m in MEASURES if m.intervals == ("profile",)]
EXTREMES = [
    find("partial_auc", low=0.2, high=1.0),
    find("tpr_at_fpr", fpr=0.0),
    find("recall_at_precision", precision=1.0),
    find("recall_at_precision", precision=0.05),
    find("precision_at_recall", recall=1.0),
    find("gain_at", share=1.0),
    find("lift_at", share=0.01),
    find("precision_at", k=1),
]
every_bound = pytest.mark.parametrize("bound", [*BOUNDS, *EXTREMES], ids=lambda bound: bound.name)


def made(n=120, seed=0, digits=1, distance=1.0, prevalence=0.35):
    rng = np.random.default_rng(seed)
    positive = rng.random(n) < prevalence
    positive[:2], positive[2:4] = True, False
    return (rng.normal(size=n) + distance * positive).round(digits), positive


def states_of(scores, positive):
    """TP and FP at every threshold, counted one by one."""
    thresholds = [math.inf, *sorted(set(scores), reverse=True)]
    return [(int((positive & (scores >= t)).sum()), int((~positive & (scores >= t)).sum())) for t in thresholds]


def wilson_limits(hits, n, z):
    centre, half = hits + z * z / 2, z * math.sqrt(z * z / 4 + hits * (n - hits) / n)
    return (centre - half) / (n + z * z), (centre + half) / (n + z * z)


def deviate(count, n, rate):
    half = binom.pmf(count, n, rate) / 2
    if count > n * rate:
        return -norm.ppf(binom.sf(count, n, rate) + half)
    return norm.ppf(binom.cdf(count, n, rate) - half)


@pytest.mark.parametrize("count", [0, 1, 3, 17, 40])
def test_deviates_are_those_of_the_mid_p_binomial(count):
    assert binomial_deviate(np.array([float(count)]), 40.0, 0.2, 6.0)[0] == pytest.approx(
        deviate(count, 40, 0.2), rel=1e-6
    )


SIDES = pytest.mark.parametrize(("one_sided", "weight"), [(False, DOUBTED), (True, 1.0)])


@SIDES
@pytest.mark.parametrize(("seed", "level", "fpr"), [(0, 0.95, 0.1), (1, 0.8, 0.25), (2, 0.99, 0.02)])
def test_recall_at_a_false_positive_rate_is_a_loop_over_thresholds(seed, level, fpr, one_sided, weight):
    scores, positive = made(70, seed, 6)
    states, z = states_of(scores, positive), norm.ppf((1 + level) / 2)
    p, q = states[-1]
    lows, highs = [], []
    for at, (tp, fp) in enumerate(states):
        following = states[at + 1][1] if at + 1 < len(states) else math.inf
        if fp <= fpr * q < following:
            doubt = 0.0
        elif fp > fpr * q and deviate(fp, q, fpr) > 0:
            doubt = deviate(fp, q, fpr)
        else:
            doubt = max(-deviate(following, q, fpr), 0.0) if following < math.inf else 0.0
        doubt *= weight
        if doubt <= z:
            low, high = wilson_limits(tp, p, math.sqrt(z * z - doubt * doubt))
            lows.append(low)
            highs.append(high)
    found = profile_limits(rank(scores, positive), find("tpr_at_fpr", fpr=fpr), level, one_sided=one_sided)
    assert found == pytest.approx((min(lows), max(highs)), abs=1e-6)


@SIDES
@pytest.mark.parametrize(("seed", "level", "precision"), [(0, 0.95, 0.6), (1, 0.8, 0.5), (3, 0.99, 0.9)])
def test_recall_at_a_precision_is_a_loop_over_thresholds(seed, level, precision, one_sided, weight):
    scores, positive = made(70, seed, 6, 1.5)
    states, z = states_of(scores, positive), norm.ppf((1 + level) / 2)
    p = states[-1][0]

    def away(tp, fp):
        n = tp + fp
        return (tp - precision * n) / math.sqrt(n * precision * (1 - precision)) if n else 0.0

    lows, highs = [], []
    for at, (tp, fp) in enumerate(states):
        later = max([0.0, *(away(*state) for state in states[at + 1 :])])
        doubt = max(-weight * away(tp, fp), later, 0.0)
        last = tp >= precision * (tp + fp) and all(t < precision * (t + f) for t, f in states[at + 1 :])
        doubt = 0.0 if last else doubt
        if doubt <= z:
            limits = wilson_limits(tp + fp, p + fp, math.sqrt(z * z - doubt * doubt))
            # TP : FP : FN = 1 : (1 − precision)/precision : (1 − recall)/recall.
            low, high = (1 / (1 + (1 - share) / (share * precision)) if share > 1e-15 else 0.0 for share in limits)
            lows.append(low)
            highs.append(high)
    bound = find("recall_at_precision", precision=precision)
    found = profile_limits(rank(scores, positive), bound, level, one_sided=one_sided)
    assert found == pytest.approx((min(lows), max(highs)), abs=1e-6)


def test_scores_in_ties_have_the_limits_of_one_side():
    # Between thresholds that are many cases apart there is no noise to be counted twice.
    scores, positive = made(200, 4, 0, 1.5)
    for measure in ("tpr_at_fpr", "precision_at_recall", "recall_at_precision"):
        both = [profile_limits(rank(scores, positive), find(measure), one_sided=side) for side in (False, True)]
        assert both[0] == both[1]
    scores, positive = made(200, 4, 6, 1.5)
    both = [profile_limits(rank(scores, positive), find("tpr_at_fpr"), one_sided=side) for side in (False, True)]
    assert both[1][0] <= both[0][0] < both[0][1] <= both[1][1]
    assert both[0] != both[1]


@pytest.mark.parametrize("seed", range(6))
def test_optimism_is_what_leaving_out_each_case_shows(seed):
    scores, positive = made(25, seed, 1 if seed % 2 else 6)

    def called(without):
        """The share of the best thresholds of the others, the one above the case and the one below, that call it."""
        others = np.arange(25) != without
        p, q = (positive & others).sum(), (~positive & others).sum()
        gaps = {
            t: (positive & others & (scores >= t)).sum() / p - (~positive & others & (scores >= t)).sum() / q
            for t in [math.inf, *scores]
        }
        above = max(gap for t, gap in gaps.items() if t > scores[without])
        below = max(gap for t, gap in gaps.items() if t <= scores[without])
        return 0.5 if abs(above - below) < 1e-9 else float(below > above)

    judged = np.array([called(case) for case in range(25)])
    states = threshold_states(rank(scores, positive))
    largest = max(states.tp / states.positives - states.fp / states.negatives)
    left_out = judged[positive].mean() - judged[~positive].mean()
    assert optimism(states) == pytest.approx(min(max(largest - left_out, 0.0), largest), abs=1e-12)


def test_a_gap_at_a_single_threshold_is_newcombes_difference():
    # Two scores: one threshold between them, and nothing to choose.
    seen = Ranking(np.array([2.0, 1.0]), np.array([56, 14]), np.array([48, 32]))
    far = Ranking(np.array([2.0, 1.0]), np.array([60, 10]), np.array([8, 72]))
    low, high = largest_gap_limits(far)
    (l1, u1), (l2, u2) = wilson_limits(60, 70, norm.ppf(0.975)), wilson_limits(8, 80, norm.ppf(0.975))
    gap = 60 / 70 - 8 / 80
    assert high == pytest.approx(gap + math.hypot(u1 - 60 / 70, 8 / 80 - l2), abs=1e-9)
    assert low == pytest.approx(gap - math.hypot(60 / 70 - l1, u2 - 8 / 80), abs=1e-9)
    # Newcombe (1998), Statistics in Medicine 17, 873-890, table II, method 10: 56/70 − 48/80 is .0524 to .3339.
    assert largest_gap_limits(seen)[1] == pytest.approx(0.3339, abs=5e-5)


def test_the_mean_recall_over_everything_is_the_area():
    scores, positive = made(3000, 2, 6)
    seen = rank(scores, positive)
    found = mean_recall_limits(threshold_states(seen), 0.0, 1.0)
    assert found == pytest.approx(delong(seen), abs=0.002)
    assert found[0] < area(seen) < found[1]


def test_scaled_measures_have_scaled_intervals():
    seen = rank(*made(200, 3))
    low, high = profile_limits(seen, find("gain_at", share=0.2))
    assert profile_limits(seen, find("lift_at", share=0.2)) == pytest.approx((low / 0.2, high / 0.2))
    for name, guessing in (("auc", 0.005), ("auc_by_recall", 0.005)):
        ends = profile_limits(seen, find(f"partial_{name}"))
        corrected = profile_limits(seen, find(f"corrected_partial_{name}"))
        assert corrected == pytest.approx([0.5 * (1 + (end - guessing) / (0.1 - guessing)) for end in ends])


def test_precision_among_tied_cases_rests_on_all_of_them():
    seen = Ranking(np.array([2.0, 1.0]), np.array([40, 20]), np.array([20, 120]))
    low, high = profile_limits(seen, find("precision_at", k=10))
    assert low >= clopper_pearson(40, 60)[0]
    assert high <= clopper_pearson(40, 60)[1]
    assert high - low < 0.6 * float(np.diff(wilson(10 * 2 / 3, 10))[0])


@every_bound
@given(
    st.integers(0, 400),
    st.sampled_from([0, 1, 8]),
    st.sampled_from([6, 30, 90]),
    st.sampled_from([-1.0, 0.0, 1.5, 6.0]),
    st.booleans(),
)
@settings(max_examples=25, deadline=None)
def test_intervals_hold_the_value_lie_in_range_and_widen_with_the_level(bound, seed, digits, n, distance, weighted):
    scores, positive = made(n, seed, digits, distance)
    weight = np.random.default_rng(seed).lognormal(size=n) if weighted else None
    seen = rank(scores, positive, weight=weight)
    value = float(bound.value({"ranking": seen}))
    floor, ceiling = value_range(bound.measure, bound.parameters)
    inner = (value, value)
    for level in (0.5, 0.8, 0.95, 0.99, 0.999):
        low, high = profile_limits(seen, bound, level)
        assert floor - 1e-9 <= low <= high <= ceiling + 1e-9
        if not math.isnan(value):
            assert low <= inner[0] + 1e-9, level
            assert high >= inner[1] - 1e-9, level
            inner = low, high


@every_bound
def test_equal_weights_change_nothing(bound):
    scores, positive = made(90, 4)
    weighted = rank(scores, positive, weight=np.full(90, 1.0))
    assert profile_limits(weighted, bound) == pytest.approx(profile_limits(rank(scores, positive), bound), rel=1e-9)


@pytest.mark.parametrize("bound", BOUNDS, ids=lambda bound: bound.name)
def test_unequal_weights_widen(bound):
    scores, positive = made(400, 5, 6)
    heavy = rank(scores, positive, weight=np.where(np.arange(400) % 8, 0.2, 6.0))
    plain = profile_limits(rank(scores, positive), bound)
    low, high = profile_limits(heavy, bound)
    assert high - low > plain[1] - plain[0]


@pytest.mark.parametrize("bound", [b for b in BOUNDS if "k" not in b.parameters], ids=lambda bound: bound.name)
def test_nine_times_the_cases_make_it_much_narrower(bound):
    few, many = (profile_limits(rank(*made(n, 6, 8)), bound) for n in (1500, 13_500))
    assert 0 < many[1] - many[0] < 0.55 * (few[1] - few[0])
