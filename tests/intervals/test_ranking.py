"""Intervals of ranking measures: variances against loops over cases, limits against what defines them."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import t as student

from heldout import evaluate
from heldout.engines.score_sort import rank
from heldout.errors import OptionError, ValuesError
from heldout.evidence import Ranking
from heldout.intervals.areas import (
    area,
    average_precision_influence,
    average_precision_limits,
    average_precision_variance,
    delong,
    delong_logit,
    delong_score,
    delong_variance,
    effective_sizes,
    hanley_mcneil,
    newcombe,
    placements,
)
from heldout.intervals.proportion import wilson
from heldout.intervals.quantiles import z_value
from heldout.intervals.ranking_bootstrap import bootstrap_limits, resampled_values, resamples
from heldout.intervals.score_methods import ranking_limits
from heldout.measures import catalogue
from heldout.measures.quantity import Bound
from heldout.measures.ranking import (
    MEASURES,
    average_precision,
    gini,
    kolmogorov_smirnov,
    partial_auc,
    roc_auc,
    value_range,
)

BOUNDS = {m.name: Bound(m, dict(m.parameters)) for m in MEASURES}
PERFECT = Ranking(np.array([2.0, 1.0]), np.array([20, 0]), np.array([0, 30]))


def made(n=120, seed=0, digits=1, distance=1.0):
    rng = np.random.default_rng(seed)
    positive = rng.random(n) < 0.35
    positive[:2], positive[2:4] = True, False
    return (rng.normal(size=n) + distance * positive).round(digits), positive


def kernel(scores, positive):
    """One row per positive, one column per negative: 1 in order, ½ tied."""
    up, down = scores[positive][:, None], scores[~positive][None]
    return (up > down) + 0.5 * (up == down)


@given(st.integers(0, 500), st.sampled_from([0, 1, 8]))
@settings(max_examples=40, deadline=None)
def test_delong_is_the_variance_of_the_row_and_column_means(seed, digits):
    scores, positive = made(40, seed, digits)
    table = kernel(scores, positive)
    rows, columns = table.mean(axis=1), table.mean(axis=0)
    expected = rows.var(ddof=1) / len(rows) + columns.var(ddof=1) / len(columns)
    seen = rank(scores, positive)
    assert delong_variance(seen) == pytest.approx(expected, rel=1e-10, abs=1e-16)
    above, below = placements(seen)
    where = np.searchsorted(-seen.scores, -scores)
    np.testing.assert_allclose(above[where[positive]], rows, atol=1e-14)
    np.testing.assert_allclose(below[where[~positive]], columns, atol=1e-14)


def test_a_long_ranking_is_swept_in_blocks():
    scores, positive = made(90_000, 3, 12)
    above, below = placements(rank(scores, positive))
    where = np.argsort(np.argsort(-scores))
    expected = (
        above[where[positive]].var(ddof=1) / positive.sum() + below[where[~positive]].var(ddof=1) / (~positive).sum()
    )
    assert delong_variance(rank(scores, positive)) == pytest.approx(expected, rel=1e-10)


def test_equal_weights_and_groups_of_one_change_nothing():
    scores, positive = made()
    plain = delong_variance(rank(scores, positive))
    n = len(scores)
    assert delong_variance(rank(scores, positive, weight=np.full(n, 2.5))) == pytest.approx(plain, rel=1e-12)
    alone = rank(scores, positive, group=(np.arange(n), np.arange(n)))
    assert delong_variance(alone) == pytest.approx(plain, rel=1e-12)
    assert delong_logit(alone) == pytest.approx(delong_logit(rank(scores, positive)), rel=1e-12)
    assert average_precision_limits(alone)[0] == pytest.approx(
        average_precision_limits(rank(scores, positive))[0], rel=0.02
    )


def test_unequal_weights_count_by_their_squares():
    scores, positive = made()
    weight = np.random.default_rng(1).lognormal(size=len(scores))
    table = kernel(scores, positive)
    up, down = weight[positive], weight[~positive]
    mean = up @ table @ down / up.sum() / down.sum()
    rows, columns = table @ down / down.sum(), up @ table / up.sum()
    expected = 0.0
    for w, means in ((up, rows), (down, columns)):
        size = w.sum() ** 2 / (w**2).sum()
        expected += (w**2 * (means - mean) ** 2).sum() / w.sum() ** 2 * size / (size - 1)
    seen = rank(scores, positive, weight=weight)
    assert area(seen) == pytest.approx(mean, rel=1e-12)
    assert delong_variance(seen) == pytest.approx(expected, rel=1e-10)


def test_groups_follow_obuchowski_with_leverage():
    scores, positive = made()
    codes = np.random.default_rng(2).integers(15, size=len(scores))
    table = kernel(scores, positive)
    value = table.mean()
    p, q = table.shape
    rows, columns = table.mean(axis=1) - value, table.mean(axis=0) - value
    up = np.bincount(codes[positive], weights=rows, minlength=15)
    down = np.bincount(codes[~positive], weights=columns, minlength=15)
    with_up, with_down = len(set(codes[positive])), len(set(codes[~positive]))
    # A group with a large share of a class moves the area by more than its sum when it is left out.
    up *= (1 - 1 / with_up) / (1 - np.bincount(codes[positive], minlength=15) / p)
    down *= (1 - 1 / with_down) / (1 - np.bincount(codes[~positive], minlength=15) / q)
    s10 = with_up / ((with_up - 1) * p) * (up**2).sum()
    s01 = with_down / ((with_down - 1) * q) * (down**2).sum()
    s11 = 15 / 14 * (up * down).sum()
    seen = rank(scores, positive, group=(codes, np.arange(15)))
    assert delong_variance(seen) == pytest.approx(s10 / p + s01 / q + 2 * s11 / (p * q), rel=1e-10)
    assert effective_sizes(seen) == (with_up, with_down)


def test_copies_in_groups_tell_nothing_new():
    scores, positive = made()
    n = len(scores)
    codes = np.tile(np.arange(n), 5)
    copied = rank(np.tile(scores, 5), np.tile(positive, 5), group=(codes, np.arange(n)))
    once = rank(scores, positive)
    assert delong_variance(copied) == pytest.approx(delong_variance(once), rel=1e-12)
    assert average_precision_variance(copied) == pytest.approx(average_precision_variance(once) * n / (n - 1), rel=0.02)


@pytest.mark.parametrize("level", [0.5, 0.9, 0.99])
def test_newcombe_limits_are_where_the_test_turns(level):
    scores, positive = made(60)
    seen = rank(scores, positive)
    p, q = positive.sum(), (~positive).sum()
    value = area(seen)
    for limit in newcombe(seen, level):
        half = (p + q) / 2 - 1
        spread = limit * (1 - limit) * (1 + half * ((1 - limit) / (2 - limit) + limit / (1 + limit))) / (p * q)
        assert abs(value - limit) == pytest.approx(z_value(level) * math.sqrt(spread), rel=1e-6)
    assert newcombe(seen, level)[0] < value < newcombe(seen, level)[1]


@pytest.mark.parametrize(
    ("sizes", "seed", "digits"), [((4, 4), 0, 8), ((5, 50), 1, 8), ((30, 9), 2, 0), ((80, 70), 3, 1)]
)
@pytest.mark.parametrize("level", [0.8, 0.99])
def test_the_default_of_the_area_is_where_its_test_turns(sizes, seed, digits, level):
    # Every step from the table of all pairs; the critical value from SciPy.
    p, q = sizes
    scores = np.random.default_rng(seed).normal(size=p + q).round(digits)
    positive = np.arange(p + q) < p
    scores[positive] += 1
    table = kernel(scores, positive)
    value, freedom, ratio = table.mean(), [], []

    def usual(theta):
        up, down = theta**2 * (1 - theta) / (1 + theta), theta * (1 - theta) ** 2 / (2 - theta)
        return (up + down) / 2

    for means in (table.mean(axis=1), table.mean(axis=0)):
        away = means - value
        freedom.append(2 * (away**2).sum() ** 2 / (away**4).sum())
        ratio.append((freedom[-1] * means.var(ddof=1) / usual(value) + 5) / (freedom[-1] + 5))
    parts = np.array(ratio) / [p, q]
    together = parts.sum() ** 2 / (parts**2 / (np.array(freedom) + 5)).sum()
    for limit in delong_score(rank(scores, positive), level):
        spread = (limit * (1 - limit) + usual(limit) * ((q - 1) * ratio[0] + (p - 1) * ratio[1])) / (p * q)
        assert abs(value - limit) == pytest.approx(student.ppf((1 + level) / 2, together) * math.sqrt(spread), rel=1e-6)


def test_the_default_of_the_area_nears_delong_with_many_cases():
    scores, positive = made(40_000, 4, 8)
    seen = rank(scores, positive)
    widths = [high - low for low, high in (delong_score(seen), delong(seen))]
    assert widths[0] == pytest.approx(widths[1], rel=1e-3)
    assert delong_score(seen) == pytest.approx(delong(seen), abs=1e-4)


def test_equal_weights_leave_the_default_of_the_area():
    scores, positive = made(60, 5)
    weighted = rank(scores, positive, weight=np.full(60, 0.3))
    assert delong_score(weighted) == pytest.approx(delong_score(rank(scores, positive)), rel=1e-9)


@pytest.mark.parametrize("seen", [PERFECT, PERFECT.swapped()])
def test_a_perfect_sample_still_has_a_width(seen):
    low, high = delong_logit(seen)
    assert 0.85 < low < 0.95
    assert high == 1.0
    assert delong(seen) == (1.0, 1.0)
    worst = Ranking(seen.scores, seen.positives[::-1], seen.negatives[::-1])
    assert delong_logit(worst) == pytest.approx((0.0, 1 - low), abs=1e-9)


@pytest.mark.parametrize("seed", range(12))
def test_areas_that_rounding_moves_off_their_bound_are_seen_there(seed):
    weight = np.random.default_rng(seed).uniform(0.1, 1, size=2000)
    positive = np.arange(2000) < 1000
    worst = rank(np.arange(2000.0), positive, weight=weight)
    assert 0.0 <= area(worst) < 1e-12
    assert delong_logit(worst)[0] == 0.0
    assert delong_logit(worst)[1] > 0.001
    best = rank(-np.arange(2000.0), positive, weight=weight)
    assert float(Bound(average_precision).value({"ranking": best})) <= 1.0
    low, high = wilson(effective_sizes(best)[0], effective_sizes(best)[0])
    assert average_precision_limits(best) == pytest.approx((float(low), float(high)), abs=1e-9)


@pytest.mark.parametrize(
    "find", [delong_logit, delong, hanley_mcneil, newcombe, delong_score, average_precision_limits]
)
def test_nothing_known_is_everything_possible(find):
    nobody = Ranking(np.array([1.0]), np.array([0]), np.array([9]))
    assert find(nobody, 0.95) == (0.0, 1.0)


def test_one_case_of_a_class():
    seen = Ranking(np.array([3.0, 2.0, 1.0]), np.array([0, 1, 0]), np.array([1, 0, 8]))
    assert math.isnan(delong_variance(seen))
    low, high = delong_logit(seen)
    assert 0.0 <= low < area(seen) < high <= 1.0
    low, high = average_precision_limits(seen)
    assert low < 0.5 < high


@given(st.integers(0, 300), st.sampled_from([0.5, 0.8, 0.95, 0.999]))
@settings(max_examples=30, deadline=None)
def test_closed_forms_hold_the_estimate_and_widen_with_the_level(seed, level):
    seen = rank(*made(30, seed))
    for find, value in (
        (delong_logit, area(seen)),
        (delong_score, area(seen)),
        (newcombe, area(seen)),
        (average_precision_limits, float(BOUNDS["average_precision"].value({"ranking": seen}))),
    ):
        low, high = find(seen, level)
        assert 0 <= low <= value <= high <= 1
        wider = find(seen, 1 - (1 - level) / 2)
        assert wider[0] <= low
        assert high <= wider[1]


@given(st.integers(0, 300))
@settings(max_examples=30, deadline=None)
def test_influence_is_the_derivative_of_average_precision(seed):
    seen = rank(*made(40, seed))
    up, down = average_precision_influence(seen)
    p, q = seen.positives * 1.0, seen.negatives * 1.0

    def value(positives, negatives):
        tp, fp = np.cumsum(positives), np.cumsum(negatives)
        return (positives * tp / np.maximum(tp + fp, 1e-300)).sum() / positives.sum()

    step = 1e-6
    # The highest score may hold no case of a class, and a derivative at the edge is one-sided.
    for k in range(1, len(seen)):
        e = np.eye(len(seen))[k] * step
        assert up[k] == pytest.approx((value(p + e, q) - value(p - e, q)) / (2 * step), abs=1e-6)
        assert down[k] == pytest.approx((value(p, q + e) - value(p, q - e)) / (2 * step), abs=1e-6)
    # More of everything changes nothing.
    assert p @ up + q @ down == pytest.approx(0.0, abs=1e-12)


def test_perfect_average_precision_is_wilson_on_the_positives():
    low, high = wilson(20, 20)
    assert average_precision_limits(PERFECT) == pytest.approx((float(low), float(high)), abs=1e-12)


def test_the_bootstrap_agrees_with_delong_and_the_influence():
    seen = rank(*made(400, 5))
    values = resampled_values(seen, [BOUNDS["roc_auc"]], replicates=4000)[0]
    assert values.std() == pytest.approx(math.sqrt(delong_variance(seen)), rel=0.05)
    assert values.mean() == pytest.approx(area(seen), abs=0.002)
    values = resampled_values(seen, [BOUNDS["average_precision"]], replicates=4000, draw="cases")[0]
    assert values.std() == pytest.approx(math.sqrt(average_precision_variance(seen)), rel=0.05)


@pytest.mark.parametrize("digits", [0, 1, 12])
@pytest.mark.parametrize("n", [60, 3000])
def test_resamples_keep_their_totals_and_their_means(digits, n):
    scores, positive = made(n, 1, digits)
    seen = rank(scores, positive)
    batches = list(resamples(seen, replicates=300, seed=1))
    positives, negatives = (np.concatenate([getattr(b, side) for b in batches]) for side in ("positives", "negatives"))
    assert positives.shape == (300, len(seen))
    assert set(positives.sum(axis=1)) == {positive.sum()}
    assert set(negatives.sum(axis=1)) == {(~positive).sum()}
    gap = (positives.mean(axis=0) - seen.positives) / np.sqrt(np.maximum(seen.positives, 0.5) / 300)
    assert np.abs(gap).max() < 5.5
    assert not positives[:, seen.positives == 0].any()
    together = np.concatenate([b.positives for b in resamples(seen, replicates=300, seed=1, draw="cases")]).sum(axis=1)
    assert together.std() == pytest.approx(math.sqrt(n * positive.mean() * (1 - positive.mean())), rel=0.15)


def test_groups_are_drawn_whole():
    scores, positive = made(60, 1, 12)
    codes = np.repeat(np.arange(20), 3)
    seen = rank(scores, positive, group=(codes, np.arange(20)))
    where = seen.groups.place if seen.groups is not None else np.empty(0)
    for batch in resamples(seen, replicates=50, seed=2, draw="groups"):
        times = (batch.positives + batch.negatives)[:, where].reshape(-1, 20, 3)
        assert (times == times[:, :, :1]).all()
        assert set(times.sum(axis=(1, 2))) == {60}
    with pytest.raises(ValuesError, match="Groups cannot be drawn"):
        list(resamples(rank(scores, positive), replicates=1, seed=0, draw="groups"))


def test_seeds_decide():
    seen = rank(*made())
    one = bootstrap_limits(seen, BOUNDS["pr_area"], seed=1, replicates=99)
    assert one == bootstrap_limits(seen, BOUNDS["pr_area"], seed=1, replicates=99)
    assert one != bootstrap_limits(seen, BOUNDS["pr_area"], seed=2, replicates=99)


@pytest.mark.parametrize("form", ["transformed", "percentile", "bca"])
@pytest.mark.parametrize("name", BOUNDS)
def test_bootstrap_limits_are_in_order_and_in_range(name, form):
    bound = BOUNDS[name]
    for seen in (rank(*made(50)), rank(*made(50, digits=0)), PERFECT, rank(*made(50), weight=np.linspace(0.1, 2, 50))):
        low, high = bootstrap_limits(seen, bound, form=form, replicates=199)
        assert bound.measure.low <= low <= high <= bound.measure.high
        if form == "transformed":
            assert low - 1e-12 <= float(bound.value({"ranking": seen})) <= high + 1e-12
            assert high > low or np.isinf(high)


def test_percentiles_are_order_statistics_of_the_replicates():
    seen = rank(*made())
    values = np.sort(resampled_values(seen, [BOUNDS["roc_auc"]], replicates=999, seed=3)[0])
    limits = bootstrap_limits(seen, BOUNDS["roc_auc"], form="percentile", replicates=999, seed=3)
    assert limits == (values[24], values[974])
    assert bootstrap_limits(seen, BOUNDS["roc_auc"], form="bca", replicates=999, seed=3) != limits


def test_bca_agrees_with_scipy():
    from scipy.stats import bootstrap

    scores, positive = made(150, 8, 12, 1.5)

    def statistic(up, down):
        return ((up[:, None] > down).sum() / len(up)) / len(down)

    theirs = bootstrap(
        (scores[positive], scores[~positive]),
        statistic,
        vectorized=False,
        n_resamples=1999,
        method="BCa",
        rng=np.random.default_rng(0),
    ).confidence_interval
    ours = bootstrap_limits(rank(scores, positive), BOUNDS["roc_auc"], form="bca", replicates=9999)
    # Two sets of replicates: the limits differ by chance by a few hundredths of their distance.
    assert ours == pytest.approx((theirs.low, theirs.high), abs=0.01)


def test_a_useless_score_may_have_no_gap():
    rng = np.random.default_rng(11)
    seen = rank(rng.normal(size=200), np.arange(200) < 60)
    low, high = bootstrap_limits(seen, Bound(kolmogorov_smirnov))
    assert low == 0.0
    assert high > float(Bound(kolmogorov_smirnov).value({"ranking": seen}))


@pytest.mark.parametrize(("up", "rejected"), [(31, False), (33, False), (35, True), (40, True)])
def test_the_gap_reaches_to_0_unless_the_test_rejects(up, rejected):
    # The critical value of the test at 50 and 50 cases is 1.358 · √(2/50) = .272: 14 cases.
    seen = Ranking(np.array([2.0, 1.0]), np.array([up, 50 - up]), np.array([20, 30]))
    low, high = bootstrap_limits(seen, Bound(kolmogorov_smirnov))
    assert (low > 0) == rejected
    assert high > (up - 20) / 50


def test_defaults_and_names():
    seen = rank(*made())
    auc = ranking_limits(seen, Bound(roc_auc))
    assert (auc.low, auc.high) == delong_score(seen)
    assert auc.method == "delong-score"
    scores, positive = made()
    grouped = rank(scores, positive, group=(np.arange(120) // 3, np.arange(40)))
    assert ranking_limits(grouped, Bound(roc_auc)).method == "delong-logit"
    doubled = ranking_limits(seen, Bound(gini), 0.9, method="delong")
    assert (doubled.low, doubled.high) == pytest.approx([2 * end - 1 for end in delong(seen, 0.9)])
    assert ranking_limits(seen, Bound(average_precision)).method == "influence-logit"
    partial = ranking_limits(seen, BOUNDS["partial_auc"])
    assert partial.method == "profile"
    assert 0 <= partial.low < partial.high <= 0.1
    area_beneath = ranking_limits(seen, BOUNDS["pr_area"], replicates=99)
    assert area_beneath.method == ranking_limits(grouped, BOUNDS["partial_auc"], replicates=99).method
    assert area_beneath.method == "bootstrap-logit"
    with pytest.raises(OptionError, match="partial_auc has no interval method 'delong'"):
        ranking_limits(seen, Bound(partial_auc, dict(partial_auc.parameters)), method="delong")


@pytest.mark.parametrize("name", ["partial_auc", "corrected_partial_auc"])
@pytest.mark.parametrize("part", ["(high=0.1)", "(high=0.3)", "_by_recall(low=0.9)", "_by_recall(low=0.7)"])
def test_sums_of_weights_carry_no_partial_area_past_its_ends(name, part):
    bound = catalogue.find(f"{name}{part}")
    least, most = value_range(bound.measure, bound.parameters)
    rng = np.random.default_rng(2)
    for n in range(2, 40):
        truth, score = np.arange(n) < rng.integers(1, n), np.linspace(0.1, 0.9, n)
        for given_score in (score, 1 - score):
            seen = evaluate(truth, score=given_score, weight=rng.random(n), measures=f"{name}{part}")
            found = seen[f"{name}{part}"]
            assert least <= found.low <= found.value <= found.high <= most
