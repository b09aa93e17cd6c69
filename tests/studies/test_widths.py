"""Planned widths: enough and not one case too many, against published sizes, brute force and our own intervals."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from scipy.special import expit
from statsmodels.stats.proportion import proportion_confint

import heldout
from heldout.engines.probability_sums import tally
from heldout.evidence import Ranking
from heldout.intervals.areas import delong_logit
from heldout.intervals.calibration import recalibration_limits
from heldout.intervals.losses import loss_limits
from heldout.intervals.score_limits import f_score_limits
from heldout.studies.assumptions import binormal_area_variance, model_probabilities, normal_logits
from heldout.studies.sampling import Groups, likely_sizes, midpoints

plan: Any = heldout.plan_study


def mean_width(n: int, p: float) -> float:
    hits = np.arange(n + 1)
    low, high = proportion_confint(hits, n, method="wilson")
    return float(stats.binom.pmf(hits, n, p) @ (high - low))


@settings(max_examples=20, deadline=None)
@given(st.floats(0.02, 0.98), st.floats(0.05, 0.5))
def test_a_width_takes_so_many_cases_and_not_one_less(p, width):
    found = plan("accuracy", value=p, width=width)
    assert mean_width(found.n, p) == pytest.approx(found.reached, rel=1e-9)
    assert found.reached <= width
    assert found.n == 2 or mean_width(found.n - 1, p) > width


def test_the_textbook_size():
    # z² p (1 − p) / d²: 385 cases for ± 5 points at p = .5; Wilson's interval takes a few less.
    assert 375 <= plan("accuracy", value=0.5, width=0.1).n <= 385
    assert plan("accuracy", value=0.5, width=1e-3).n == pytest.approx(1.959964**2 / 1e-6, rel=1e-3)


def test_a_share_of_the_positives_takes_that_many_more_cases():
    among = plan("accuracy", value=0.8, width=0.1).n
    rare = plan("recall", value=0.8, prevalence=0.05, width=0.1)
    # How many positives there are is chance, which takes a case or two more of them.
    assert among <= rare.n * 0.05 <= among + 3
    assert rare.positives == round(rare.n * 0.05)
    assert plan("specificity", value=0.8, prevalence=0.95, width=0.1).n == rare.n
    # Of 1,000 cases 50 are positive and 40 of them found; precision .5 makes 80 calls.
    assert plan("precision", value=0.5, recall=0.8, prevalence=0.05, width=0.1).n * 0.08 == pytest.approx(
        plan("accuracy", value=0.5, width=0.1).n, abs=3
    )


def test_the_number_of_positives_is_binomial():
    for n, share in ((100, 0.1), (7, 0.4), (5000, 0.03)):
        assert likely_sizes(n, share).tolist() == stats.binom.ppf(midpoints(15), n, share).tolist()


@pytest.mark.parametrize(("f1", "recall", "prevalence", "width"), [(0.7, 0.7, 0.1, 0.1), (0.5, 0.8, 0.05, 0.2)])
def test_the_interval_of_f1_is_as_wide_as_planned(f1, recall, prevalence, width):
    found = plan("f1", value=f1, recall=recall, prevalence=prevalence, width=width)
    precision = f1 * recall / (2 * recall - f1)
    assert plan("f1", value=f1, precision=precision, prevalence=prevalence, width=width).n == found.n
    cells = prevalence * np.array([recall, 1 - recall, recall * (1 - precision) / precision])
    tables = np.random.default_rng(0).multinomial(found.n, [*cells, 1 - cells.sum()], 60)
    widths = [
        heldout.evaluate(matrix=[[tn, fp], [fn, tp]], labels=["no", "yes"], measures="f1[yes]")["f1[yes]"].width
        for tp, fn, fp, tn in tables.tolist()
    ]
    assert np.mean(widths) == pytest.approx(width, rel=0.02)


@pytest.mark.parametrize(
    ("beta", "value", "recall", "prevalence", "width"),
    [(2, 0.8, 0.8, 0.2, 0.1), (2, 0.7, 0.9, 0.05, 0.2), (0.5, 0.7, 0.5, 0.1, 0.15), (10, 0.8, 0.8, 0.2, 0.1)],
)
def test_the_interval_of_other_f_scores_is_as_wide_as_planned(beta, value, recall, prevalence, width):
    name = f"f_score(beta={beta})"
    found = plan(name, value=value, recall=recall, prevalence=prevalence, width=width)
    precision = value * recall / ((1 + beta**2) * recall - beta**2 * value)
    assert plan(name, value=value, precision=precision, prevalence=prevalence, width=width).n == found.n
    cells = prevalence * np.array([recall, 1 - recall, recall * (1 - precision) / precision])
    tables = np.random.default_rng(0).multinomial(found.n, [*cells, 1 - cells.sum()], 500)
    low, high = f_score_limits(tables[:, 0], tables[:, 2], tables[:, 1], beta)
    assert np.mean(high - low) == pytest.approx(width, rel=0.02)


def test_f_scores_near_f1_take_about_as_many_cases():
    given = {"value": 0.8, "recall": 0.8, "prevalence": 0.2}
    for more in ({"width": 0.1}, {"width": 0.1, "group_size": 5, "icc": 0.2}, {"against": 0.75, "paired": False}):
        assert plan("f_score(beta=1.001)", **given, **more).n == pytest.approx(plan("f1", **given, **more).n, rel=0.02)
    assert plan("f_score(beta=1.001) >= 0.7", **given).n == pytest.approx(plan("f1 >= 0.7", **given).n, rel=0.1)


def ranking(positives, negatives):
    scores = np.concatenate([positives, negatives])
    order = np.argsort(-scores)
    positive = (np.arange(len(scores)) < len(positives))[order]
    return Ranking(scores[order], positive.astype(int), 1 - positive.astype(int))


def simulate_rankings(rng, area, prevalence, n, draws):
    for _ in range(draws):
        positives = max(rng.binomial(n, prevalence), 2)
        shift = math.sqrt(2) * stats.norm.ppf(area)
        yield ranking(rng.normal(shift, 1, positives), rng.normal(0, 1, n - positives))


@pytest.mark.parametrize(("area", "prevalence", "width"), [(0.8, 0.5, 0.1), (0.9, 0.1, 0.1), (0.85, 0.2, 0.25)])
def test_the_interval_of_an_area_is_as_wide_as_planned(area, prevalence, width):
    rng = np.random.default_rng(3)
    found = plan("auc", value=area, prevalence=prevalence, width=width)
    limits = np.array([delong_logit(seen) for seen in simulate_rankings(rng, area, prevalence, found.n, 200)])
    assert (limits[:, 1] - limits[:, 0]).mean() == pytest.approx(width, rel=0.05)
    sure = plan("auc", value=area, prevalence=prevalence, width=width, assurance=0.8)
    limits = np.array([delong_logit(seen) for seen in simulate_rankings(rng, area, prevalence, sure.n, 200)])
    # The standard error of a share of 200 is .03.
    assert 0.69 <= (limits[:, 1] - limits[:, 0] <= width).mean() <= 0.9


def test_the_variance_of_an_area_is_that_of_binormal_scores():
    # Hanley & McNeil's exponential formula, and Riley et al. (2021) by Newcombe's: 302 cases for C = .8, half of them
    # positive, 1,154 for C = .7 and a tenth, both for a Wald interval .1 wide. The models differ, by little.
    rng = np.random.default_rng(5)
    shift = math.sqrt(2) * stats.norm.ppf(0.8)
    areas = [(rng.normal(shift, 1, 12)[:, None] > rng.normal(0, 1, 30)).mean() for _ in range(4000)]
    assert np.var(areas) == pytest.approx(float(binormal_area_variance(0.8, 12, 30)), rel=0.1)
    for prevalence, area, published in ((0.5, 0.8, 302), (0.1, 0.7, 1154)):
        sizes = published * prevalence, published * (1 - prevalence)
        wide = 2 * 1.96 * math.sqrt(float(binormal_area_variance(area, *sizes)))
        assert wide == pytest.approx(0.1, rel=0.06)


def test_calibration_agrees_with_published_sizes():
    # pmvalsampsize, with 1,000 simulated logits: 4,501 cases for a slope within ± .1 where logits are N(−5, 2.5²).
    model = normal_logits(-5, 2.5)
    assert model.recalibration_variance("slope") / 0.051**2 == pytest.approx(4501, rel=0.02)
    # sampsizeval (Pavlou et al. 2021): 1,536 cases for a standard error of .1 of the slope, prevalence .1 and C = .75.
    found = plan("calibration_slope", prevalence=0.1, auc=0.75, width=2 * 1.959964 * 0.1)
    assert found.n == pytest.approx(1536, rel=0.02)


@pytest.mark.parametrize(
    ("measure", "width"),
    [("calibration_slope", 0.5), ("calibration_in_the_large", 0.5), ("brier", 0.03), ("log_loss", 0.1)],
)
def test_intervals_of_probabilities_are_as_wide_as_planned(measure, width):
    found = plan(measure, prevalence=0.3, auc=0.8, width=width)
    model = model_probabilities(0.3, 0.8)
    middle, deviation = model.logits.mean(), np.ptp(model.logits) / 18
    rng = np.random.default_rng(1)
    widths = []
    for _ in range(60):
        p = np.sort(expit(rng.normal(middle, deviation, found.n)))[::-1]
        truth = rng.random(found.n) < p
        if measure in ("brier", "log_loss"):
            low, high = loss_limits(tally(p, truth), measure)
        else:
            seen = Ranking(p, truth.astype(int), 1 - truth.astype(int))
            low, high = recalibration_limits(seen, measure.removeprefix("calibration_"))
        widths.append(high - low)
    assert np.mean(widths) == pytest.approx(width, rel=0.03)


def test_the_model_of_probabilities_is_calibrated_and_ranks_as_asked():
    rng = np.random.default_rng(2)
    model = model_probabilities(0.2, 0.75)
    logits = rng.normal(model.logits.mean(), np.ptp(model.logits) / 18, 200_000)
    truth = rng.random(len(logits)) < expit(logits)
    assert truth.mean() == pytest.approx(0.2, abs=0.005)
    ranks = stats.rankdata(logits)
    area = (ranks[truth].sum() - truth.sum() * (truth.sum() + 1) / 2) / truth.sum() / (~truth).sum()
    assert area == pytest.approx(0.75, abs=0.005)


def test_groups_take_more_cases():
    alone = plan("accuracy", value=0.9, width=0.05)
    eight = plan("accuracy", value=0.9, width=0.05, group_size=8, icc=0.2)
    assert eight.n / alone.n == pytest.approx(1 + 7 * 0.2, rel=0.05)
    assert eight.groups == math.ceil(eight.n / 8)
    unequal = plan("accuracy", value=0.9, width=0.05, group_size=8, icc=0.2, group_variation=0.6)
    assert unequal.n / alone.n == pytest.approx(1 + (1.36 * 8 - 1) * 0.2, rel=0.05)
    # A tenth of the cases are positive, so that few of them meet another of their group.
    assert Groups(8, 0.2).inflation(0.1) == pytest.approx(1 + 7 * 0.1 * 0.2)


@pytest.mark.parametrize(("size", "icc", "variation", "width"), [(8, 0.2, 0.0, 0.08), (5, 0.4, 0.7, 0.12)])
def test_the_interval_over_groups_is_as_wide_as_planned(size, icc, variation, width):
    found = plan("accuracy", value=0.85, width=width, group_size=size, icc=icc, group_variation=variation)
    rng = np.random.default_rng(4)
    widths = []
    for _ in range(60):
        sizes = np.full(found.groups, size)
        if variation:
            sizes = np.maximum(np.rint(rng.gamma(1 / variation**2, size * variation**2, found.groups)), 1).astype(int)
        group = np.repeat(np.arange(found.groups), sizes)
        right = rng.random(len(group)) < rng.beta(0.85 * (1 / icc - 1), 0.15 * (1 / icc - 1), found.groups)[group]
        predicted = 1 - right.astype(int)
        seen = heldout.evaluate(np.zeros(len(group), int), predicted, labels=[0, 1], group=group, measures="accuracy")
        widths.append(seen["accuracy"].width)
    assert np.mean(widths) == pytest.approx(width, rel=0.1)


def test_assurance_is_the_chance_of_a_narrow_interval():
    found = plan("accuracy", value=0.9, width=0.06, assurance=0.9)
    hits = np.arange(found.n + 1)
    low, high = proportion_confint(hits, found.n, method="wilson")
    chance = stats.binom.pmf(hits, found.n, 0.9)[high - low <= 0.06].sum()
    assert found.reached == pytest.approx(chance, abs=1e-6)
    assert found.reached >= 0.9
    assert found.n > plan("accuracy", value=0.9, width=0.06).n


def test_a_pilot_stands_for_what_is_not_known_of_the_value():
    found = plan("accuracy", pilot="45/50", width=0.08, assurance=0.8)
    rng = np.random.default_rng(0)
    hits = rng.binomial(found.n, rng.beta(45.5, 5.5, 20_000))
    low, high = proportion_confint(hits, found.n, method="wilson")
    assert (high - low <= 0.08).mean() == pytest.approx(0.8, abs=0.03)
    assert plan("accuracy", pilot=(45, 50), width=0.08).n == found.n
    assert found.n > plan("accuracy", pilot="450/500", width=0.08).n
    area = plan("auc", value=0.85, pilot="20+40", prevalence=0.3, width=0.1)
    assert area.n > plan("auc", value=0.85, pilot="200+400", prevalence=0.3, width=0.1).n
