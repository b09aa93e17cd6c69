"""Limits of areas and losses with groups of unequal size, against groups left out and influences by hand."""

import math
from typing import Any

import numpy as np
import pytest
from scipy.stats import t
from sklearn.metrics import average_precision_score, roc_auc_score
from tests.intervals.group_oracle import class_parts, deviations, spread

import heldout
from heldout import evaluate
from heldout.engines.probability_sums import tally
from heldout.engines.score_sort import rank
from heldout.evidence.probabilities import sums_by
from heldout.intervals.areas import average_precision_limits, delong_variance
from heldout.intervals.group_leverage import class_shares, effective_number, even_pulls, group_spread
from heldout.intervals.losses import hall, loss_limits
from heldout.intervals.multiclass_areas import multiclass_areas


def unequal(groups: int = 30, seed: int = 1) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Scores, truth and groups of 1 to about 60 rows, which differ in how hard they are."""
    rng = np.random.default_rng(seed)
    sizes = np.maximum(1, rng.lognormal(2, 0.9, groups)).astype(int)
    group = np.repeat(np.arange(groups), sizes)
    truth = rng.random(len(group)) < 0.4
    shift = rng.normal(1.2, 0.8, groups)[group]
    return 1 / (1 + np.exp(-np.where(truth, shift, -shift) - rng.normal(size=len(group)))), truth, group


def test_the_brier_score_leaves_out_one_group_after_the_other():
    p, truth, group = unequal()
    losses, n = (truth - p) ** 2, len(p)
    deleted = np.array([losses[group != g].mean() for g in range(30)])
    variance = 29 / 30 * ((deleted - losses.mean()) ** 2).sum()
    influence = (losses - losses.mean()) / n
    same, df = spread(influence, group, np.bincount(group) / n, n**-0.5)
    assert same == pytest.approx(variance, rel=1e-9)
    sums = np.bincount(group, weights=influence)
    wanted = hall(losses.mean(), variance, (sums**3).sum(), t.ppf(0.975, df))
    assert loss_limits(tally(p, truth, group=(group, np.arange(30))), "brier") == pytest.approx(wanted, rel=1e-9)
    # Degrees of freedom that come from the sizes: far fewer than groups.
    assert df < effective_number(np.bincount(group)) < 25


def test_the_roc_area_moves_as_when_a_group_is_left_out():
    p, truth, group = unequal()
    value = roc_auc_score(truth, p)
    deleted = np.array([roc_auc_score(truth[group != g], p[group != g]) for g in range(30)])
    jackknife = 29 / 30 * ((deleted - value) ** 2).sum()
    assert delong_variance(rank(p, truth, group=(group, np.arange(30)))) == pytest.approx(jackknife, rel=0.05)


def test_average_precision_by_the_influence_of_single_rows():
    p, truth, group = unequal()
    n, step = len(p), 1e-4
    value = average_precision_score(truth, p)
    influence = np.zeros(n)
    for row in range(n):
        weight = np.ones(n)
        values = []
        for sign in (1, -1):
            weight[row] = 1 + sign * step
            values.append(average_precision_score(truth, p, sample_weight=weight))
        influence[row] = (values[0] - values[1]) / (2 * step)
    ones = np.ones(n)
    shares = class_parts(influence, truth, ones, group)
    variance, df = spread(influence, group, shares, deviations(influence, truth, ones))
    half = t.ppf(0.975, df) * math.sqrt(variance) / (value * (1 - value))
    middle = math.log(value / (1 - value))
    wanted = [1 / (1 + math.exp(-(middle + sign * half))) for sign in (-1, 1)]
    found = average_precision_limits(rank(p, truth, group=(group, np.arange(30))))
    assert found == pytest.approx(wanted, abs=1e-5)


def test_averaged_areas_move_as_when_a_group_is_left_out():
    rng = np.random.default_rng(5)
    group = np.repeat(np.arange(24), rng.integers(4, 40, 24))
    codes = rng.integers(0, 3, len(group))
    scores = rng.normal(size=(len(group), 3))
    scores[np.arange(len(group)), codes] += rng.normal(1.2, 0.6, 24)[group]
    (found,) = multiclass_areas(scores, codes, 3, ("macro",), group=group)
    deleted = []
    for g in range(24):
        rows = group != g
        areas = [roc_auc_score(codes[rows] == c, scores[rows, c]) for c in range(3)]
        deleted.append(np.mean(areas))
    jackknife = math.sqrt(23 / 24 * ((np.array(deleted) - found.value) ** 2).sum())
    assert found.standard_error == pytest.approx(jackknife, rel=0.04)
    half = math.log(found.high / (1 - found.high)) - math.log(found.value / (1 - found.value))
    critical = half * found.value * (1 - found.value) / found.standard_error
    assert t.ppf(0.975, 23) < critical < t.ppf(0.975, 8)


@pytest.mark.parametrize("effect", [0.5, 1.0, 3.0, 1000.0])
def test_equal_groups_leave_one_degree_less_than_their_number(effect):
    shares = np.full(17, 1 / 17)
    sums = np.sqrt(effect / 17) * np.where(np.arange(17) % 2, 1.0, -1.0)
    found = group_spread(sums, shares, even_pulls(shares, 170), independent=1.0)
    assert found.df == pytest.approx(16)


def test_groups_of_one_class_count_by_their_variance_not_by_its_square():
    # Every group is of one class, and the cases of one class vary four times as much. With groups of one size that are
    # all alike inside, the variances of the sums are 4 and 1.
    group = np.repeat(np.arange(20), 5)
    classes = (group >= 10).astype(int)
    influence = np.where(classes == 1, 2.0, 1.0) * np.where(group % 2, 1.0, -1.0) / 100
    squares = np.array([(influence[classes == c] ** 2).sum() for c in (0, 1)])
    shares, pulls = class_shares(group, classes, np.ones(100), squares, np.array([50.0, 50.0]), 20)
    found = group_spread(sums_by(group, influence, 20), shares, pulls, independent=squares.sum())
    assert found.df == pytest.approx((10 + 40) ** 2 / (10 + 160) - 1)


def test_one_large_group_leaves_hardly_a_degree():
    shares = np.array([0.9, *[0.01] * 10])
    sums = np.array([0.02, *[-0.002] * 10])
    found = group_spread(sums, shares, even_pulls(shares, 200), independent=1e-5)
    assert found.df == 1.0
    # Leaving the large group out moves the estimate by ten times its sum.
    assert found.variance > 0.9 * 10 / 11 * (0.02 / 0.1) ** 2


def test_more_unequal_groups_have_wider_limits():
    rng = np.random.default_rng(3)
    right = rng.random(600) < np.repeat(rng.beta(6, 2, 60), 10)
    truth = np.zeros(600, dtype=int)
    widths = []
    for group in (np.repeat(np.arange(30), 20), np.repeat(np.arange(30), [310, *[10] * 29])):
        found = evaluate(truth, np.where(right, 0, 1), labels=[0, 1], group=group)["accuracy"]
        widths.append(found.width)
    assert widths[1] > 1.5 * widths[0]


# Seven cases, five of which are answered rightly at one half: their truth, scores and weights.
TRUTH, SCORES, WEIGHTS = [1, 1, 0, 1, 0, 0, 1], [0.9, 0.4, 0.2, 0.8, 0.6, 0.1, 0.7], [1, 2, 0.5, 1.3, 0.7, 1.1, 0.9]
COUNTS = (
    "accuracy",
    "f1",
    "mcc",
    "precision",
    "positive_likelihood_ratio",
    "diagnostic_odds_ratio",
    "balanced_accuracy",
)
SCORED = ("roc_auc", "average_precision", "brier", "log_loss", "calibration_slope", "brier_skill")


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("groups", [3, 10, 30])
def test_equal_groups_are_worth_no_more_cases_than_there_are_groups(groups, weighted):
    rows = np.tile(np.arange(7), groups)
    columns: dict[str, Any] = {"score": np.array(SCORES)[rows], "weight": np.array(WEIGHTS)[rows] if weighted else None}
    options: dict[str, Any] = {"positive": 1, "measures": [*COUNTS, *SCORED]}
    grouped = evaluate(np.array(TRUTH)[rows], **columns, **options, group=np.repeat(np.arange(groups), 7))
    single = evaluate(np.array(TRUTH)[rows], **columns, **options)
    for name in options["measures"]:
        assert grouped[name].width >= single[name].width > 0, name
    # Copies of one row are worth one row: a share has the interval of as many cases as there are groups.
    share, z2 = grouped["accuracy"].value, 1.959963984540054**2
    half = math.sqrt(z2 * share * (1 - share) / groups + z2**2 / (4 * groups**2)) / (1 + z2 / groups)
    assert grouped["accuracy"].width >= 2 * half * (1 - 1e-9)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("classes", [2, 4])
def test_a_constant_answer_is_no_surer_with_groups(classes, weighted):
    rng = np.random.default_rng(3)
    truth, group, weight = rng.integers(0, classes, 200), rng.integers(0, 66, 200), rng.uniform(0.5, 2, 200)
    options: dict[str, Any] = {"weight": weight if weighted else None, "labels": list(range(classes)), "positive": 1}
    kinds: tuple[dict[str, Any], ...] = ({"group": group}, {})
    grouped, single = (evaluate(truth, np.zeros(200, dtype=int), **options, **more) for more in kinds)
    # No case that was met moves any of these.
    still = ("kappa", "linear_kappa", "quadratic_kappa", "positive_likelihood_ratio", "negative_likelihood_ratio")
    for mine, other in zip(grouped.estimates, single.estimates, strict=True):
        if mine.measure in still and not math.isnan(mine.value):
            assert mine.width >= other.width > 0, mine
        assert math.isnan(mine.value) or mine.width > 1e-3, mine
    assert grouped["negative_likelihood_ratio"].low < 0.9


def test_the_skill_of_a_constant_forecast_knows_that_the_class_shares_vary():
    # The Brier score of .3 everywhere depends on the share of the positives alone, as the score of that share does.
    truth = np.arange(100) < 40
    found = evaluate(truth.astype(int), score=np.full(100, 0.5), positive=1, measures=["brier_skill"])["brier_skill"]
    skills = [1 - 0.25 / (share * (1 - share)) for share in (0.4, 0.4 - 0.096)]
    assert found.value == pytest.approx(skills[0])
    assert found.low == pytest.approx(skills[1], abs=0.1)


def test_equal_groups_do_not_pass_a_gate_by_their_equality():
    right = np.tile(np.arange(7) < 5, 3)
    truth, group = np.tile([0, 1, 0, 1, 0, 1, 0], 3), np.repeat(np.arange(3), 7)
    predicted = np.where(right, truth, 1 - truth)
    for required, passes in (("accuracy >= 0.71", False), ("accuracy >= 0.05", True)):
        assert heldout.check(truth, predicted, group=group, require=required).passed is passes


def test_a_variance_over_groups_is_nothing_only_where_it_is_rounding():
    shares = np.full(4, 0.25)
    for size, zero in ((1e-16, True), (1e-6, False)):
        sums = np.array([1.0, -1.0, 1.0, -1.0]) * size
        assert (group_spread(sums, shares, even_pulls(shares, 40), independent=1e-3).variance == 0) is zero


def test_groups_that_differ_in_one_case_of_a_hundred_thousand_keep_their_variance():
    group = np.repeat(np.arange(10), 10_000)
    right = np.tile(np.arange(10_000) % 5 > 0, 10)
    right[0] = True
    truth = np.zeros(len(group), dtype=int)
    found = evaluate(truth, np.where(right, 0, 1), labels=[0, 1], group=group, measures=["accuracy"])["accuracy"]
    assert 0 < found.width < 1e-4


@pytest.mark.parametrize(
    "measure", ["roc_auc", "average_precision", "accuracy", "brier", "integrated_calibration_index"]
)
def test_one_group_tells_nothing_of_others(measure):
    p, truth, _ = unequal()
    found = heldout.evaluate(
        truth.astype(int), score=p, positive=1, group=np.zeros(len(p), dtype=int), measures=measure
    )
    estimate = found.estimates[0]
    assert (estimate.low, estimate.high) == (0.0, 1.0)
    assert "there is one group only" in estimate.note


@pytest.mark.parametrize("unit", [1e-6, 1000.0])
def test_intervals_with_weights_do_not_depend_on_their_unit_or_on_the_order_of_rows(unit):
    rng = np.random.default_rng(0)
    for _ in range(8):
        truth = np.append([0, 1], rng.integers(0, 2, 10))
        predicted = np.where(rng.random(12) < 0.85, truth, 1 - truth)
        weight = 10 ** rng.uniform(-3, 3, 12)
        given: dict[str, Any] = {"labels": [0, 1], "positive": 1}
        order = rng.permutation(12)
        once = evaluate(truth, predicted, weight=weight, **given)
        others = [
            evaluate(truth, predicted, weight=weight * unit, **given),
            evaluate(truth[order], predicted[order], weight=weight[order], **given),
        ]
        for other in others:
            for first, second in zip(once.estimates, other.estimates, strict=True):
                same = pytest.approx((first.low, first.high), rel=1e-6, abs=1e-9, nan_ok=True)
                assert first.measure == "total_cost" or (second.low, second.high) == same, first.name
