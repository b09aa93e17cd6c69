"""The difference between a slice and the rest agrees with SciPy and statsmodels, and keeps its level with groups."""

from __future__ import annotations

import math
import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from statsmodels.stats.proportion import confint_proportions_2indep, proportion_confint

from heldout import count, evaluate
from heldout.evidence import Confusion
from heldout.evidence.partitions import left_of
from heldout.findings.slice_search import against_rest, clustered, compare_estimates, exact_p, quick_test
from heldout.intervals.estimate import Estimate
from heldout.measures.catalogue import find, read_quantity
from heldout.measures.quantity import Quantity

ERROR = Quantity(find("error_rate"))


@given(st.integers(0, 60), st.integers(1, 60), st.integers(0, 60), st.integers(1, 60))
def test_the_exact_test_is_twice_the_smaller_tail_of_the_hypergeometric(hits, n, other_hits, other_n):
    hits, other_hits = min(hits, n), min(other_hits, other_n)
    known = stats.hypergeom(n + other_n, hits + other_hits, n)
    tails = known.cdf(hits), known.sf(hits - 1)
    found = exact_p(hits, n, other_hits, other_n)
    if min(tails) < 0.45:
        assert found == pytest.approx(2 * min(tails), rel=1e-9)
    else:
        assert found > 0.85


@pytest.mark.parametrize("table", [(300, 2000, 900, 9000), (5200, 100_000, 49_000, 1_000_000), (3, 10_000, 0, 20_000)])
def test_the_exact_test_holds_for_large_tables(table):
    hits, n, other_hits, other_n = table
    known = stats.hypergeom(n + other_n, hits + other_hits, n)
    expected = 2 * min(float(known.cdf(hits)), float(known.sf(hits - 1)))
    assert exact_p(*table) == pytest.approx(expected, rel=1e-6)


def test_no_rest_has_no_test():
    assert math.isnan(exact_p(3, 10, 0, 0))


@pytest.mark.parametrize(("errors", "n", "other", "other_n"), [(30, 100, 60, 400), (0, 40, 20, 300), (5, 31, 1, 50)])
def test_the_interval_of_a_share_is_newcombes(errors, n, other, other_n):
    inside = Confusion.of([[n - errors, errors], [0, 0]])
    outside = Confusion.of([[other_n - other, other], [0, 0]])
    found = against_rest(inside, outside, ERROR, 0.9, 0)
    low, high = confint_proportions_2indep(errors, n, other, other_n, method="newcomb", alpha=0.1)
    assert (found.low, found.high) == pytest.approx((low, high), abs=1e-12)
    assert found.difference == pytest.approx(errors / n - other / other_n)
    assert quick_test(inside, outside, ERROR) == pytest.approx((found.difference, found.p))


def test_the_interval_of_a_slice_is_that_of_its_cases_alone():
    rng = np.random.default_rng(3)
    truth = rng.integers(0, 2, 400)
    predicted = np.where(rng.random(400) < 0.2, 1 - truth, truth)
    where = rng.choice(["x", "y", "z"], 400)
    for one in evaluate(truth, predicted, slices={"s": where}).slices():
        rows = where == one.values[0]
        wrong = int((truth != predicted)[rows].sum())
        low, high = proportion_confint(wrong, rows.sum(), method="wilson")
        assert (one.estimate.low, one.estimate.high) == pytest.approx((low, high), abs=1e-12)
        alone = evaluate(truth[rows], predicted[rows])
        for name in ("recall", "macro f1", "matthews"):
            found = evaluate(truth, predicted, slices={"s": where}).slices(name)
            mine = next(other for other in found if other.values == one.values)
            assert mine.estimate.value == pytest.approx(alone[name].value)
            assert (mine.estimate.low, mine.estimate.high) == pytest.approx((alone[name].low, alone[name].high))


def test_a_difference_from_two_intervals_is_newcombes_when_they_are_wilsons():
    shares = [(30, 100), (60, 400)]
    made = []
    for hits, n in shares:
        low, high = proportion_confint(hits, n, method="wilson")
        made.append(Estimate("x", None, None, hits / n, low, high, 0.95, "wilson", n))
    found = compare_estimates(made[0], made[1], 0.95, 500)
    low, high = confint_proportions_2indep(30, 100, 60, 400, method="newcomb")
    assert (found.low, found.high) == pytest.approx((low, high), abs=1e-12)
    # The p-value and the interval say the same: at the level where p falls on it, the interval ends at zero.
    assert (found.p < 0.05) == (found.low > 0)


@pytest.mark.parametrize("level", [0.8, 0.95, 0.999])
def test_p_from_an_interval_is_that_of_a_normal_difference(level):
    z = stats.norm.ppf((1 + level) / 2)
    one, two = (Estimate("x", None, None, v, v - z * s, v + z * s, level, "", 9) for v, s in ((0.8, 0.03), (0.7, 0.04)))
    assert compare_estimates(one, two, level, 18).p == pytest.approx(2 * stats.norm.sf(0.1 / 0.05))


def grouped(truth, predicted, group, rows):
    return count(truth[rows], predicted[rows], group=group[rows], labels=[0, 1]).confusion


def test_the_two_sides_go_together_as_in_a_regression_with_errors_over_groups():
    import statsmodels.api as sm

    rng = np.random.default_rng(8)
    group, inside = np.repeat(np.arange(25), 12), rng.random(300) < 0.4
    truth = rng.integers(0, 2, 300)
    predicted = np.where(rng.random(300) < 0.2 + 0.1 * (group % 3), 1 - truth, truth)
    found = clustered(grouped(truth, predicted, group, inside), grouped(truth, predicted, group, ~inside), ERROR, 0.95)
    sides = np.column_stack([inside, ~inside]).astype(float)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fitted = sm.OLS((truth != predicted).astype(float), sides).fit(cov_type="cluster", cov_kwds={"groups": group})
    covariance = fitted.cov_params()
    together = covariance[0, 1] / math.sqrt(covariance[0, 0] * covariance[1, 1])
    one, two = (
        evaluate(truth[rows], predicted[rows], group=group[rows], measures="error_rate").estimates[0]
        for rows in (inside, ~inside)
    )
    # The law of cosines: of the lengths to two limits, at the angle whose cosine is the correlation.
    lengths = (one.value - one.low, two.high - two.value), (one.high - one.value, two.value - two.low)
    down, up = (math.sqrt(a * a + b * b - 2 * together * a * b) for a, b in lengths)
    assert found.difference == pytest.approx(fitted.params[0] - fitted.params[1])
    assert (found.low, found.high) == pytest.approx((found.difference - down, found.difference + up), rel=1e-9)
    assert found.p == pytest.approx(2 * stats.t.sf(abs(found.statistic), found.df))


@pytest.mark.parametrize("right", [True, False])
def test_a_small_slice_in_which_all_or_none_are_right_is_not_sure_of_it(right):
    # Four positives of four groups in the slice, and half of a hundred right outside it.
    truth = np.ones(104, dtype=int)
    predicted = np.r_[np.full(4, int(right)), np.tile([0, 1], 50)]
    group, inside = np.arange(104) % 26, np.arange(104) < 4
    quantity = read_quantity("recall[1]", [0, 1])
    found = clustered(
        grouped(truth, predicted, group, inside), grouped(truth, predicted, group, ~inside), quantity, 0.95
    )
    assert found.low < 0 < found.high
    assert found.p > 0.05
    assert found.df <= 3


@pytest.mark.parametrize("measure", ["recall[1]", "precision[0]", "macro f1", "matthews"])
def test_any_measure_over_groups_follows_from_what_each_group_pulls(measure):
    # Leaving out one group at a time moves the difference by what the group pulls, to first order. Of the groups a
    # fifth is left out in turn: the standard error of their spread is sqrt(1/120), 9 %, of which three are allowed.
    rng = np.random.default_rng(4)
    n = 6000
    group, inside = rng.integers(0, 300, n), rng.random(n) < 0.5
    truth = rng.integers(0, 2, n)
    predicted = np.where(rng.random(n) < 0.25, 1 - truth, truth)
    quantity = read_quantity(measure, [0, 1])

    def difference(rows):
        sides = [evaluate(truth[rows & side], predicted[rows & side], measures=measure) for side in (inside, ~inside)]
        return sides[0][measure].value - sides[1][measure].value

    left = [difference(group != one) for one in range(60)]
    jackknife = 300 / 60 * sum((value - np.mean(left)) ** 2 for value in left) * 59 / 60
    one, two = (grouped(truth, predicted, group, side) for side in (inside, ~inside))
    found = clustered(one, two, quantity, 0.95)
    assert abs(found.difference / found.statistic) == pytest.approx(math.sqrt(jackknife), rel=0.28)


def test_with_groups_on_both_sides_the_test_keeps_its_level():
    # Every group has its own error rate and rows inside and outside the slice, which has no effect of its own.
    rng = np.random.default_rng(2)
    rejected = 0
    for _ in range(400):
        group = np.repeat(np.arange(30), 20)
        wrong = rng.random(600) < rng.beta(1, 4, 30)[group]
        inside = rng.random(600) < 0.4
        truth = np.zeros(600, dtype=int)
        one, two = (grouped(truth, wrong.astype(int), group, side) for side in (inside, ~inside))
        rejected += clustered(one, two, ERROR, 0.95).p < 0.05
    # At most 5 %, give or take three standard errors of 400 trials.
    assert rejected / 400 <= 0.05 + 3 * math.sqrt(0.05 * 0.95 / 400)
    assert rejected / 400 >= 0.01


def test_one_group_on_a_side_gives_no_test():
    truth, predicted, group = np.array([0, 1, 0, 1]), np.array([0, 0, 0, 1]), np.array([1, 1, 2, 3])
    rows = group == 1
    found = clustered(grouped(truth, predicted, group, rows), grouped(truth, predicted, group, ~rows), ERROR, 0.95)
    assert math.isnan(found.p)
    assert "fewer than two" in found.note


def test_what_is_left_of_a_parent_keeps_its_groups():
    rng = np.random.default_rng(1)
    truth, predicted, group = rng.integers(0, 2, 200), rng.integers(0, 2, 200), rng.integers(0, 9, 200)
    parent, child = np.arange(200) < 120, np.arange(200) < 50
    left = left_of(grouped(truth, predicted, group, parent), grouped(truth, predicted, group, child))
    alone = grouped(truth, predicted, group, parent & ~child)
    np.testing.assert_array_equal(left.matrix, alone.matrix)
    held = []
    for clusters in (left.clusters, alone.clusters):
        assert clusters is not None
        held.append(sorted(zip(clusters.keys[clusters.group].tolist(), clusters.cell, clusters.count, strict=True)))
    assert held[0] == held[1]
