"""Intervals for mean losses: Hall's formula another way, boundary figures, weights and groups."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy.optimize import brentq
from scipy.stats import binomtest, norm, skew, t

from heldout.engines.probability_sums import tally, tally_classes
from heldout.evidence.probabilities import Moments
from heldout.intervals.calibration import calibration_limits
from heldout.intervals.losses import hall, loss_limits, mean_limits, part_limits, skill_limits, top_k_limits
from heldout.intervals.proportion import wilson
from heldout.measures import probability


def hall_by_roots(losses: np.ndarray, level: float) -> tuple[float, float]:
    """Where Hall's cubic of the t statistic, written out as he has it, meets ± z."""
    n, gamma = len(losses), skew(losses)
    error = losses.std(ddof=1) / math.sqrt(n)
    gamma = gamma * ((n - 1) / n) ** 1.5  # the skewness that goes with the same standard error

    def transformed(mu: float) -> float:
        s = (losses.mean() - mu) / error
        return s + gamma / math.sqrt(n) * s**2 / 3 + gamma**2 / n * s**3 / 27 + gamma / math.sqrt(n) / 6

    z = norm.ppf((1 + level) / 2)
    span = 1e3 * error
    ends = losses.mean() - span, losses.mean() + span
    low = brentq(lambda mu: transformed(mu) - z, *ends, xtol=1e-14)
    high = brentq(lambda mu: transformed(mu) + z, *ends, xtol=1e-14)
    return float(low), float(high)


@given(st.lists(st.floats(0, 5), min_size=5, max_size=40), st.sampled_from([0.8, 0.95, 0.99]))
def test_hall_is_hall(losses, level):
    loss = np.array(losses)
    assume(loss.std() > 1e-3)
    found = mean_limits(Moments.of(loss), len(loss), level, bounds=(-math.inf, math.inf))
    low, high = hall_by_roots(loss, level)
    assert found == pytest.approx((min(low, loss.mean()), max(high, loss.mean())), rel=1e-6, abs=1e-6)


def test_boundary_figures():
    assert mean_limits(Moments.of(np.full(20, 0.1)), 20) == pytest.approx((0.1, 0.1), abs=1e-15)
    assert mean_limits(Moments.of(np.array([0.1])), 1) == (0.0, math.inf)
    coin = tally(np.full(1000, 0.5), np.arange(1000) % 2 == 0)
    assert loss_limits(coin, "log_loss") == pytest.approx((math.log(2), math.log(2)), abs=1e-14)
    assert loss_limits(tally(np.array([]), np.array([], dtype=bool)), "brier") == (0.0, 1.0)
    assert hall(1.0, 0.04, 0.0, 2.0) == pytest.approx((0.6, 1.4))


def test_little_skewness_is_the_normal_interval():
    assert hall(1.0, 0.04, 1e-8, 2.0) == pytest.approx(hall(1.0, 0.04, 0.0, 2.0), abs=1e-5)


@given(st.integers(0, 1000), st.integers(3, 200))
def test_the_estimate_lies_inside(seed, n):
    rng = np.random.default_rng(seed)
    seen = tally(rng.random(n), rng.random(n) < 0.3, rng.random(n) + 0.01 if seed % 2 else None)
    for loss in ("brier", "log_loss"):
        for level in (0.1, 0.95):
            low, high = loss_limits(seen, loss, level)
            assert 0 <= low <= seen.losses[loss].mean <= high


def test_equal_weights_change_nothing():
    rng = np.random.default_rng(2)
    p, truth = rng.random(80), rng.random(80) < 0.5
    plain = loss_limits(tally(p, truth), "log_loss")
    assert loss_limits(tally(p, truth, np.full(80, 3.0)), "log_loss") == pytest.approx(plain)


def test_weights_never_claim_more_than_kish_or_the_linearised_number():
    rng = np.random.default_rng(3)
    p, truth, weight = rng.random(300), rng.random(300) < 0.5, rng.lognormal(0, 1, 300)
    loss = (truth - p) ** 2
    mean = np.average(loss, weights=weight)
    variance = 300 / 299 * (weight**2 @ (loss - mean) ** 2) / weight.sum() ** 2
    kish = 300 / 299 * np.average((loss - mean) ** 2, weights=weight) * (weight @ weight) / weight.sum() ** 2
    third = weight**3 @ (loss - mean) ** 3 / weight.sum() ** 3
    wanted = hall(mean, max(variance, kish), third, norm.ppf(0.975))
    assert loss_limits(tally(p, truth, weight), "brier") == pytest.approx(wanted, rel=1e-9)


def test_groups_are_the_cases():
    rng = np.random.default_rng(4)
    group = np.repeat(np.arange(25), 8)
    p = np.repeat(rng.random(25), 8)
    truth = np.repeat(rng.random(25) < 0.5, 8)
    # All rows of a group alike: the interval of the 25 groups, t in place of z.
    seen = tally(p, truth, group=(group, np.arange(25)))
    loss = ((truth - p) ** 2)[::8]
    error = loss.std(ddof=1) / 5
    third = ((loss - loss.mean()) ** 3).sum() / 25**3
    assert loss_limits(seen, "brier") == pytest.approx(hall(loss.mean(), error**2, third, t.ppf(0.975, 24)), rel=1e-9)
    low, high = loss_limits(tally(p, truth), "brier")
    assert high - low < 0.5 * (loss_limits(seen, "brier")[1] - loss_limits(seen, "brier")[0])
    alone = tally(p, truth, group=(np.zeros(200, dtype=int), np.array([0])))
    assert loss_limits(alone, "brier") == (0.0, 1.0)


@pytest.mark.parametrize("loss", ["brier", "log_loss"])
@pytest.mark.parametrize("classes", [2, 3])
def test_the_error_of_the_skill_is_that_of_the_jackknife(loss, classes):
    rng = np.random.default_rng(6)
    table = rng.dirichlet(np.ones(classes), 150)
    codes = np.array([rng.choice(classes, p=row) for row in table])

    def skill(rows: np.ndarray) -> float:
        right = table[rows, codes[rows]]
        shares = np.bincount(codes[rows], minlength=classes) / len(rows)
        if loss == "log_loss":
            return 1 + np.log(right).mean() / -(shares * np.log(shares)).sum()
        mean = ((table[rows] - np.eye(classes)[codes[rows]]) ** 2).sum(axis=1).mean()
        return 1 - mean / (shares * (1 - shares)).sum()

    left = np.array([skill(np.delete(np.arange(150), i)) for i in range(150)])
    error = math.sqrt(149 / 150 * ((left - left.mean()) ** 2).sum())
    seen = tally_classes(table, codes) if classes > 2 else tally(table[:, 1], codes == 1)
    low, high = skill_limits(seen, loss)
    assert (low + high) / 2 == pytest.approx(skill(np.arange(150)), rel=1e-9)
    assert high - low == pytest.approx(2 * norm.ppf(0.975) * error, rel=0.03)


def test_top_k_is_a_proportion():
    rng = np.random.default_rng(7)
    table, codes = rng.dirichlet(np.ones(5), 90), rng.integers(0, 5, 90)
    hits = sum(code in np.argsort(row)[-2:] for row, code in zip(table, codes, strict=True))
    assert top_k_limits(tally_classes(table, codes)) == pytest.approx(tuple(map(float, wilson(hits, 90))))
    equal = tally_classes(table, codes, np.full(90, 2.0))
    low, high = top_k_limits(equal)
    # The linearised number has n - 1 for n.
    assert (low, high) == pytest.approx(tuple(map(float, wilson(hits * 89 / 90, 89))))
    assert top_k_limits(tally_classes(table, codes), k=5)[1] == 1.0


def test_top_k_with_groups():
    table = np.tile([0.5, 0.3, 0.2], (80, 1))
    group = (np.repeat(np.arange(10), 8), np.arange(10))
    always = tally_classes(table, np.zeros(80, dtype=int), group=group)
    assert top_k_limits(always) == pytest.approx((0.722, 1.0), abs=5e-4)
    codes = np.repeat([0, 0, 0, 0, 0, 0, 0, 2, 2, 2], 8)
    low, high = top_k_limits(tally_classes(table, codes, group=group))
    # Ten groups, seven right: p ± t(9) · s.e. on the logit scale.
    half = t.ppf(0.975, 9) * math.sqrt(10 / 9 * 0.7 * 0.3 / 10) / (0.7 * 0.3)
    centre = math.log(7 / 3)
    assert (low, high) == pytest.approx((1 / (1 + math.exp(half - centre)), 1 / (1 + math.exp(-half - centre))))


@pytest.mark.parametrize("groups", [None, 10])
def test_no_error_seen_is_not_certainty(groups):
    truth = np.arange(20) % 2 == 0
    group = None if groups is None else (np.repeat(np.arange(groups), 20 // groups), np.arange(groups))
    seen = tally(truth.astype(float), truth, group=group)
    # The Brier score of hard forecasts is the error rate, of 20 cases or of 10 groups.
    high = float(wilson(0, 20 if groups is None else groups)[1])
    assert loss_limits(seen, "brier") == pytest.approx((0.0, high))
    assert loss_limits(seen, "spherical_score") == pytest.approx((1 - high, 1.0))
    assert loss_limits(seen, "log_loss") == pytest.approx((0.0, -math.log(np.finfo(float).eps) * high))
    assert skill_limits(seen, "brier") == pytest.approx((1 - high / 0.25, 1.0))
    assert part_limits(seen, "refinement") == pytest.approx((0.0, high))
    assert part_limits(seen, "resolution")[0] < 0.2


@pytest.mark.parametrize("n", [2, 3, 20, 200])
@pytest.mark.parametrize("classes", [2, 3])
def test_no_right_answer_seen_is_not_certainty(n, classes):
    # Certain forecasts that are all wrong: the Brier score is the error rate, twice it for several classes.
    wilson_of_scipy = binomtest(n, n).proportion_ci(method="wilson").low
    truth = np.arange(n) % classes
    seen = (
        tally(1.0 - truth, truth == 1) if classes == 2 else tally_classes(np.eye(classes)[(truth + 1) % classes], truth)
    )
    most = 1.0 if classes == 2 else 2.0
    assert loss_limits(seen, "brier") == pytest.approx((wilson_of_scipy * most, most))
    assert loss_limits(seen, "spherical_score") == pytest.approx((0, 1 - wilson_of_scipy))
    largest = -math.log(np.finfo(float).eps)
    assert loss_limits(seen, "log_loss")[0] == pytest.approx(wilson_of_scipy * largest)
    assert calibration_limits(seen)[0] <= wilson_of_scipy + 1e-9
    shares = np.bincount(truth) / n
    reference = most / 2 * float(shares @ (1 - shares))
    low, high = skill_limits(seen, "brier")
    # The class shares may vary as well, which even ones do not show.
    assert low <= 1 - most / reference + 1e-9
    assert high >= 1 - wilson_of_scipy * most / reference - 1e-9


def test_no_right_answer_seen_with_weights_and_groups_is_less_certain():
    truth = np.tile([0, 1], 10)
    kinds: tuple[dict[str, Any], ...] = (
        {},
        {"weight": np.arange(1.0, 21.0)},
        {"group": (np.arange(20) // 2, np.arange(10))},
    )
    plain, weighted, grouped = (tally(1.0 - truth, truth == 1, **more) for more in kinds)
    for loss in ("brier", "log_loss"):
        lows = [loss_limits(seen, loss)[0] for seen in (plain, weighted, grouped)]
        assert lows[0] > lows[1] > 0
        assert lows[0] > lows[2] > 0
    assert np.ptp(part_limits(weighted, "resolution")) > 0.1


def test_the_class_share_as_forecast_has_a_skill_that_is_not_certain():
    low, high = skill_limits(tally(np.full(20, 0.05), np.arange(20) == 3), "brier")
    assert low < -0.5
    assert high > 0.5


@pytest.mark.parametrize("loss", ["brier", "log_loss"])
def test_classes_that_happen_to_be_even_leave_the_skill_of_even_forecasts_uncertain(loss):
    # The loss of the class shares is at its largest there, and the limits were 0 and 0, though shares are a sample's.
    two = skill_limits(tally(np.full(20, 0.5), np.arange(20) < 10), loss)
    three = skill_limits(tally_classes(np.full((30, 3), 1 / 3), np.arange(30) % 3), loss)
    for low, high in (two, three):
        assert low < -0.05
        assert high == pytest.approx(0, abs=1e-12)


@pytest.mark.parametrize("part", ["refinement", "resolution"])
def test_the_error_of_the_parts_is_that_of_the_jackknife_where_one_bin_holds_nearly_all(part):
    # One positive of a hundred: what differs within the first bin is nearly all there is.
    rng = np.random.default_rng(6)
    p = rng.beta(0.4, 40, 3000)
    positive = rng.random(3000) < p
    measure = {"refinement": probability.brier_refinement, "resolution": probability.brier_resolution}[part]

    def value(kept):
        top, bottom = measure.function(tally(p[kept], positive[kept]))
        return top / bottom

    blocks = rng.permutation(3000).reshape(300, 10)
    left_out = [value(np.setdiff1d(np.arange(3000), block)) for block in blocks]
    error = math.sqrt(299 / 300 * float(((left_out - np.mean(left_out)) ** 2).sum()))
    low, high = part_limits(tally(p, positive), part)
    assert (high - low) / 2 / 1.96 == pytest.approx(error, rel=0.15)
