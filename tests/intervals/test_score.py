"""Score intervals for F-beta, ratios, odds ratios and costs, against searches from their definitions."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import brentq, minimize_scalar
from statsmodels.stats.proportion import confint_proportions_2indep

from heldout.errors import OptionError, ValuesError
from heldout.intervals.proportion import wilson
from heldout.intervals.quantiles import bracketed_root, single_root, z_value
from heldout.intervals.score_limits import f_score_limits, mean_cost_limits, odds_ratio_limits, ratio_limits

Z = z_value(0.95)
COUNT = st.integers(0, 60)


def restricted(scores: np.ndarray, counts: np.ndarray) -> float:
    """Mean of u² at the multinomial fit with mean of u = 0, from the dual problem: no formula of ours.

    The fit is n_j/(n(1 + λu_j)); λ lies where every 1 + λu_j >= 0, and if no root is inside, the mass that is
    missing sits on the extreme score at which the multiplier vanishes.
    """
    shares = counts / counts.sum()
    edges = -1 / scores.max(), -1 / scores.min()

    def slope(lam: float) -> float:
        seen = shares > 0
        return float(np.sum(shares[seen] * scores[seen] / (1 + lam * scores[seen])))

    inner = edges[0] * (1 - 1e-13), edges[1] * (1 - 1e-13)
    if slope(inner[0]) > 0 > slope(inner[1]):
        lam = brentq(slope, *inner, xtol=1e-15, rtol=1e-14)
        fit = np.where(shares > 0, shares / (1 + lam * scores), 0)
    else:
        top = slope(inner[0]) <= 0
        lam, extreme = (edges[0], scores.max()) if top else (edges[1], scores.min())
        at = scores == extreme
        fit = np.where(at, 0, shares / np.where(at, 1, 1 + lam * scores))
        fit[at] = (1 - fit.sum()) / at.sum()
    return float(np.sum(fit * scores**2))


def f_by_search(tp: float, fp: float, fn: float, beta: float) -> tuple[float, float]:
    w = beta**2 / (1 + beta**2)
    counts = np.array([tp, fn, fp], dtype=float)
    estimate = tp / (tp + w * fn + (1 - w) * fp)

    def excess(f: float) -> float:
        u = np.array([1 - f, -f * w, -f * (1 - w)])
        return float((counts @ u) ** 2 - Z**2 * counts.sum() * restricted(u, counts))

    low = 0.0 if tp == 0 else brentq(excess, 1e-9, estimate - 1e-9, xtol=1e-14)
    high = 1.0 if fp + fn == 0 else brentq(excess, estimate + 1e-9, 1 - 1e-9, xtol=1e-14)
    return low, high


@pytest.mark.parametrize("beta", [0.1, 0.5, 1.0, 2.0, 5.0])
@pytest.mark.parametrize("counts", [(20, 3, 7), (5, 10, 1), (40, 0, 2), (1, 1, 1), (0, 3, 4), (300, 20, 5), (9, 4, 0)])
def test_f_equals_a_search_from_its_definition(counts: tuple[int, int, int], beta: float) -> None:
    found = f_score_limits(*counts, beta=beta)
    assert np.array(found) == pytest.approx(f_by_search(*counts, beta), abs=1e-9)


def test_f_boundary_figures() -> None:
    for beta in (0.5, 2.0):
        assert np.round(f_score_limits(20, 0, 0, beta), 3) == pytest.approx([0.867, 1.0])
    assert np.round(f_score_limits(0, 0, 5, 2.0), 3) == pytest.approx([0.0, 0.490])
    for beta in (0.5, 1.0, 2.0):
        assert [float(limit) for limit in f_score_limits(0, 0, 0, beta)] == [0, 1]


@given(tp=COUNT, fp=COUNT, fn=COUNT, level=st.sampled_from([0.5, 0.95, 0.999]))
def test_f_one_is_wilson_on_jaccard(tp: int, fp: int, fn: int, level: float) -> None:
    jaccard = np.array(wilson(tp, tp + fp + fn, level))
    mapped = 2 * jaccard / (1 + jaccard)
    assert np.array(f_score_limits(tp, fp, fn, 1.0, level)) == pytest.approx(mapped, abs=1e-12)
    # The general path, as close to beta = 1 as it goes.
    assert np.array(f_score_limits(tp, fp, fn, 1 + 1e-13, level)) == pytest.approx(mapped, abs=1e-12)


@given(tp=COUNT, fp=st.integers(1, 60), fn=st.integers(1, 60))
def test_f_becomes_precision_and_recall(tp: int, fp: int, fn: int) -> None:
    precision, recall = np.array(wilson(tp, tp + fp)), np.array(wilson(tp, tp + fn))
    for beta, limits in ((1e-6, precision), (0.0, precision), (1e6, recall), (np.inf, recall)):
        assert np.array(f_score_limits(tp, fp, fn, beta)) == pytest.approx(limits, abs=1e-8)


@given(
    counts=st.tuples(*[st.floats(0, 1e9) | st.integers(0, 3)] * 3),
    beta=st.floats(0.01, 100),
    level=st.sampled_from([0.5, 0.95, 0.9999]),
)
def test_f_estimate_lies_inside(counts: tuple[float, ...], beta: float, level: float) -> None:
    tp, fp, fn = counts
    low, high = f_score_limits(tp, fp, fn, beta, level)
    assert 0 <= low <= high <= 1
    whole = tp + (beta**2 * fn + fp) / (1 + beta**2)
    if whole > 1e-300:
        assert low - 1e-12 <= tp / whole <= high + 1e-12


def test_f_keeps_its_digits_for_rare_hits() -> None:
    low, high = f_score_limits([0, 1], [1e12, 1e12], [1e12, 1e12], 2.0)
    assert low[0] == 0
    # Of 1e12 misses and false alarms each: F ~ tp/1e12, tp Poisson; score limits of a Poisson mean.
    assert high[0] * 1e12 == pytest.approx(Z**2, rel=1e-6)
    assert low[1] * 1e12 == pytest.approx(1 + Z**2 / 2 - Z * (1 + Z**2 / 4) ** 0.5, rel=1e-6)


def test_f_refuses_a_negative_beta() -> None:
    with pytest.raises(OptionError, match="beta"):
        f_score_limits(1, 1, 1, -1.0)


def test_ratio_boundary_figures() -> None:
    low, high = ratio_limits(20, 20, 0, 30)
    assert (round(float(low), 2), float(high)) == (8.81, np.inf)
    low, high = ratio_limits(0, 20, 30, 30)
    assert (float(low), round(float(high), 3)) == (0.0, 0.161)
    low, high = ratio_limits([0, 0, 3], [9, 0, 5], [0, 3, 0], [9, 5, 0])
    assert (low == 0).all()
    assert (high == np.inf).all()
    low, high = odds_ratio_limits([20, 0, 3], [0, 0, 2], [0, 4, 0], [30, 6, 0])
    assert low.round(3) == pytest.approx([162.678, 0, 0])
    assert (high == np.inf).all()


def statsmodels_limits(x1: int, n1: int, x2: int, n2: int, what: str) -> tuple[float, float]:
    with np.errstate(all="ignore"):  # its search divides by 0 on the way
        found: tuple[float, float] = confint_proportions_2indep(
            x1, n1, x2, n2, compare=what, method="score", correction=False
        )
    return found


@pytest.mark.parametrize(
    ("x1", "n1", "x2", "n2"),
    [(15, 20, 4, 30), (1, 20, 4, 30), (19, 20, 29, 30), (3, 8, 3, 200), (90, 100, 5, 400)],
)
def test_ratio_and_odds_equal_statsmodels(x1: int, n1: int, x2: int, n2: int) -> None:
    theirs = statsmodels_limits(x1, n1, x2, n2, "ratio")
    assert np.array(ratio_limits(x1, n1, x2, n2)) == pytest.approx(theirs, rel=1e-6)
    theirs = statsmodels_limits(x1, n1, x2, n2, "odds-ratio")
    assert np.array(odds_ratio_limits(x1, n1 - x1, x2, n2 - x2)) == pytest.approx(theirs, rel=1e-6)


@pytest.mark.parametrize(("x1", "n1", "x2", "n2"), [(20, 20, 3, 30), (5, 5, 30, 30), (2, 2, 29, 30), (3, 9, 30, 30)])
def test_ratio_at_certainty_equals_a_search(x1: int, n1: int, x2: int, n2: int) -> None:
    def statistic(ratio: float) -> float:
        top = min(1, 1 / ratio)

        def loss(p2: float) -> float:
            p = np.clip([ratio * p2, p2], 1e-300, 1)
            q = np.clip(1 - p, 1e-300, 1)
            return -float(x1 * np.log(p[0]) + x2 * np.log(p[1]) + (n1 - x1) * np.log(q[0]) + (n2 - x2) * np.log(q[1]))

        p2 = minimize_scalar(loss, bounds=(0, top), method="bounded", options={"xatol": 1e-12}).x
        p1 = ratio * p2
        return float((x1 - n1 * p1) ** 2 / (n1 * p1 * (1 - p1)) + (x2 - n2 * p2) ** 2 / (n2 * p2 * (1 - p2)))

    low, high = (float(limit) for limit in ratio_limits(x1, n1, x2, n2))
    for limit, outward in ((low, 0.999), (high, 1.001)):
        # At certainty the statistic jumps at most from one side; accepted within, rejected without.
        assert statistic(limit * outward) > Z**2
        assert statistic(limit / outward) < Z**2


@given(cells=st.tuples(*[st.floats(0, 1e6) | st.integers(0, 4)] * 4))
def test_ratio_and_odds_hold_their_estimates(cells: tuple[float, float, float, float]) -> None:
    tp, fn, fp, tn = (round(cell, 3) for cell in cells)
    low, high = ratio_limits(tp, tp + fn, fp, fp + tn)
    assert 0 <= low <= high
    if tp + fn > 0 and fp > 0:
        ratio = tp / (tp + fn) / (fp / (fp + tn))
        assert low <= ratio * (1 + 1e-9)
        assert high >= ratio * (1 - 1e-9)
    low, high = odds_ratio_limits(tp, fn, fp, tn)
    assert 0 <= low <= high
    if fp * fn > 0:
        assert low <= tp * tn / (fp * fn) * (1 + 1e-9)
        assert high >= tp * tn / (fp * fn) * (1 - 1e-9)


def test_cost_boundary_figures() -> None:
    assert np.round(mean_cost_limits([0, 1, 100], [200, 0, 0]), 3) == pytest.approx([0, 1.885])
    assert np.round(mean_cost_limits([0, 1, 100], [190, 10, 0]), 3) == pytest.approx([0.027, 1.934])
    assert np.round(mean_cost_limits([0, 1], [47, 3]), 3) == pytest.approx([0.021, 0.162])


@given(x=st.integers(0, 80), n=st.integers(1, 80), level=st.sampled_from([0.5, 0.95, 0.999]))
def test_cost_of_zero_and_one_is_wilson(x: int, n: int, level: float) -> None:
    x = min(x, n)
    assert mean_cost_limits([0, 1], [n - x, x], level) == pytest.approx(np.array(wilson(x, n, level)), abs=1e-10)
    scaled = mean_cost_limits([-3, 7], [n - x, x], level)
    assert scaled == pytest.approx(10 * np.array(wilson(x, n, level)) - 3, abs=1e-9)


@pytest.mark.parametrize(
    ("costs", "counts"),
    [
        ([0, 1, 5], [190, 10, 2]),
        ([0, 1, 100], [190, 10, 0]),
        ([-2, 0, 1, 4], [0, 30, 12, 3]),
        ([-5, -1, 0, 3, 3], [0, 7, 9, 2.5, 1.5]),
        ([1, 2, 3, 4, 50], [10, 20, 30, 40, 0]),
        ([0, 1, 1.5], [3, 40, 0]),
        ([0, 0.3, 1.7], [0, 25, 0]),
    ],
)
def test_cost_equals_a_search_from_its_definition(costs: list[float], counts: list[float]) -> None:
    values, inverse = np.unique(costs, return_inverse=True)
    seen = np.bincount(inverse, counts)
    n, mean = seen.sum(), float(values @ seen / seen.sum())

    def excess(mu: float) -> float:
        return float(n * (mean - mu) ** 2 - Z**2 * restricted(values - mu, seen))

    near = 1e-9 * (values[-1] - values[0])
    expected = [brentq(excess, values[0] + near, mean - near), brentq(excess, mean + near, values[-1] - near)]
    assert mean_cost_limits(costs, counts) == pytest.approx(expected, abs=1e-8)
    # The accepted means are one piece.
    grid = np.linspace(values[0] + near, values[-1] - near, 400)
    accepted = np.array([excess(mu) <= 0 for mu in grid])
    assert np.count_nonzero(np.diff(accepted.astype(int))) <= 2


@given(
    pairs=st.lists(st.tuples(st.floats(-100, 100), st.integers(0, 50) | st.floats(0, 5)), min_size=1, max_size=6),
    level=st.sampled_from([0.5, 0.95, 0.999]),
)
def test_cost_limits_lie_between_the_extremes(pairs: list[tuple[float, float]], level: float) -> None:
    costs, counts = np.array(pairs).T
    low, high = mean_cost_limits(costs, counts, level)
    assert costs.min() <= low <= high <= costs.max()
    if counts.sum() > 0:
        mean = costs @ counts / counts.sum()
        assert low - 1e-9 <= mean <= high + 1e-9


def test_cost_without_cases_without_choice_and_without_counts() -> None:
    assert mean_cost_limits([0, 3], [0, 0]) == (0, 3)
    assert mean_cost_limits([2, 2], [5, 1]) == (2, 2)
    assert mean_cost_limits([0.1, 0.3], [9, 0])[0] == 0.1
    with pytest.raises(ValuesError, match="one count for each cost"):
        mean_cost_limits([0, 1], [3])


@given(st.floats(0.01, 0.99), st.floats(0.2, 5.0), st.floats(-0.5, 0.5))
def test_both_searches_find_the_root_that_scipy_finds(root: float, steep: float, bent: float) -> None:
    def function(x: Any) -> Any:
        return steep * (x - root) + bent * steep * (x - root) ** 3

    expected = brentq(function, 0.0, 1.0, xtol=1e-15, rtol=1e-14)
    assert single_root(function, 0.0, 1.0) == pytest.approx(expected, rel=1e-12)
    assert single_root(lambda x: -function(x), 0.0, 1.0) == pytest.approx(expected, rel=1e-12)
    many = bracketed_root(function, np.zeros(2), np.ones(2))
    assert many == pytest.approx(expected, rel=1e-12)
