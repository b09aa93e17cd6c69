"""Planned powers: against brute force over everything that can happen, statsmodels, published formulas, simulation."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from scipy import stats
from statsmodels.stats.proportion import proportion_confint, samplesize_proportions_2indep_onetail
from tests.oracles.figures import read_json
from tests.studies.test_widths import ranking, simulate_rankings

import heldout
from heldout.comparisons.delong import delong_unpaired
from heldout.comparisons.mcnemar import mcnemar_p
from heldout.comparisons.unpaired import newcombe_unpaired_limits
from heldout.intervals.areas import hanley_mcneil_variance
from heldout.intervals.one_sided import guarded_area_limits
from heldout.intervals.score_limits import paired_difference_limits
from heldout.studies.sampling import mcnemar_power

plan: Any = heldout.plan_study


@pytest.mark.parametrize(("n", "discordant", "gap"), [(40, 0.5, 0.3), (60, 0.15, 0.1), (30, 0.2, 0.2), (80, 0.1, 0)])
def test_the_exact_power_is_a_sum_over_all_that_can_happen(n, discordant, gap):
    to_a, to_b = (discordant + gap) / 2, (discordant - gap) / 2
    power = 0.0
    for b in range(n + 1):
        for c in range(n - b + 1):
            if mcnemar_p(b, c)[0] <= 0.05:
                power += math.exp(stats.multinomial.logpmf([b, c, n - b - c], n, [to_a, to_b, 1 - to_a - to_b]))
    assert mcnemar_power(n, discordant, gap) == pytest.approx(power, abs=1e-9)


def test_a_difference_takes_so_many_cases_and_not_one_less():
    for discordance, gap, power in ((0.1, 0.04, 0.8), (0.3, 0.1, 0.9), (0.05, 0.05, 0.8)):
        found = plan("accuracy", value=0.9, against=0.9 - gap, discordance=discordance, power=power)
        assert mcnemar_power(found.n, discordance, gap) >= power > mcnemar_power(found.n - 1, discordance, gap)
        turned = plan("accuracy", value=0.9 - gap, against=0.9, discordance=discordance, power=power)
        assert turned.n == found.n
        wrong = plan("error_rate", value=0.1, against=0.1 + gap, discordance=discordance, power=power)
        assert wrong.n == found.n


def test_connors_formula():
    # (1.96·√.2 + 0.8416·√(.2 − .01²))² / .01² = 15,694.4
    root = 1.959963985 * math.sqrt(0.2) + 0.841621234 * math.sqrt(0.2 - 1e-4)
    assert plan("accuracy", value=0.8, against=0.79, discordance=0.2).n == math.ceil((root / 0.01) ** 2)


def test_a_correlation_stands_for_the_discordance():
    spread = math.sqrt(0.9 * 0.1 * 0.8 * 0.2)
    discordance = 0.9 * 0.2 + 0.8 * 0.1 - 2 * 0.5 * spread
    by_correlation = plan("accuracy", value=0.9, against=0.8, correlation=0.5)
    assert by_correlation.n == plan("accuracy", value=0.9, against=0.8, discordance=discordance).n


@pytest.mark.parametrize(("p1", "p2", "power"), [(0.9, 0.85, 0.8), (0.6, 0.4, 0.9)])
def test_two_test_sets_agree_with_statsmodels(p1, p2, power):
    found = plan("accuracy", value=p1, against=p2, power=power, paired=False)
    expected = samplesize_proportions_2indep_onetail(p1 - p2, p2, power, alpha=0.05)
    # The sum over all that can happen, against the formula of large samples.
    assert found.n == pytest.approx(expected, rel=0.03, abs=4)
    assert found.sets == 2
    assert "each of two test sets" in found.sentence


@pytest.mark.parametrize(("n", "p1", "p2"), [(30, 0.9, 0.6), (90, 0.05, 0.01)])
def test_the_power_on_different_cases_is_a_sum_over_all_that_can_happen(n, p1, p2):
    power = 0.0
    for a in range(n + 1):
        for b in range(n + 1):
            both = (a + b) / (2 * n)
            z = (a - b) / n / math.sqrt(2 * both * (1 - both) / n) if 0 < both < 1 else 0.0
            power += stats.binom.pmf(a, n, p1) * stats.binom.pmf(b, n, p2) * (abs(z) > 1.959964)
    assert plan("accuracy", value=p1, against=p2, paired=False, n=n).reached == pytest.approx(power, abs=1e-6)


def test_the_power_of_very_many_cases_is_that_of_the_formula():
    far = plan("accuracy", value=0.52, against=0.5, paired=False)
    assert far.n == math.ceil(samplesize_proportions_2indep_onetail(0.02, 0.5, 0.8, alpha=0.05))


@pytest.mark.parametrize(
    ("value", "against", "discordance", "margin", "equivalence"),
    [(0.9, 0.9, 0.08, 0.03, False), (0.85, 0.83, 0.15, 0.05, False), (0.9, 0.9, 0.05, 0.03, True)],
)
def test_margins_are_kept_as_often_as_planned(value, against, discordance, margin, equivalence):
    kind = "equivalence" if equivalence else "non-inferiority"
    found = plan("accuracy", value=value, against=against, discordance=discordance, margin=margin, margin_kind=kind)
    gap = value - against
    shares = [(discordance + gap) / 2, (discordance - gap) / 2, 1 - discordance]
    tables, times = np.unique(np.random.default_rng(1).multinomial(found.n, shares, 1500), axis=0, return_counts=True)
    shown = 0
    for (b, c, _), number in zip(tables.tolist(), times.tolist(), strict=True):
        low, high = paired_difference_limits(b, c, found.n, 0.9)
        shown += number * (low > -margin and (high < margin or not equivalence))
    # The standard error of a share of 1,500 is .01; the formula is for large samples.
    assert shown / 1500 == pytest.approx(0.8, abs=0.04)


def test_margins_on_different_cases():
    found = plan("accuracy", value=0.9, against=0.9, margin=0.05, paired=False)
    rng = np.random.default_rng(2)
    hits = rng.binomial(found.n, 0.9, (600, 2)).tolist()
    shown = [newcombe_unpaired_limits(a, found.n, b, found.n, 0.9)[0] > -0.05 for a, b in hits]
    assert np.mean(shown) == pytest.approx(found.reached, abs=0.05)
    wrong = plan("error_rate", value=0.1, against=0.1, margin=0.05, paired=False)
    assert wrong.n == found.n


def test_the_chance_to_pass_a_gate_is_a_sum_over_all_that_can_happen():
    found = plan("accuracy >= 0.8", value=0.87, power=0.9)
    for n in (found.n, found.n - 1):
        hits = np.arange(n + 1)
        # Clopper and Pearson's lower limit with an error of 5 % by itself.
        low, _ = proportion_confint(hits, n, alpha=0.1, method="beta")
        chance = stats.binom.pmf(hits, n, 0.87)[low >= 0.8].sum()
        assert plan("accuracy >= 0.8", value=0.87, n=n).reached == pytest.approx(chance, abs=1e-9)
    assert found.reached >= 0.9
    assert plan("error_rate <= 0.2", value=0.13, power=0.9).n == found.n


def test_a_planned_gate_passes_as_often_as_planned():
    found = plan("recall >= 0.8", value=0.87, prevalence=0.2)
    rng = np.random.default_rng(0)
    passed = 0
    for _ in range(150):
        positives = rng.binomial(found.n, 0.2)
        hits = rng.binomial(positives, 0.87)
        table = [[found.n - positives, 0], [positives - hits, hits]]
        gate = heldout.check(matrix=table, labels=["no", "yes"], positive="yes", require="recall >= 0.8")
        passed += gate.requirements[0].outcome == "passed"
    assert 0.7 <= passed / 150 <= 0.9


def test_a_gate_of_an_area_passes_as_often_as_planned():
    found = plan("auc >= 0.8", value=0.86, prevalence=0.3)
    rankings = simulate_rankings(np.random.default_rng(6), 0.86, 0.3, found.n, 250)
    lows = [guarded_area_limits(seen, 0.9)[0] for seen in rankings]
    assert np.mean(np.array(lows) >= 0.8) == pytest.approx(0.8, abs=0.08)


def test_a_pilot_averages_the_power():
    found = plan("accuracy >= 0.8", pilot="45/50", n=200)
    rng = np.random.default_rng(3)
    hits = rng.binomial(200, rng.beta(45.5, 5.5, 40_000))
    low, _ = proportion_confint(hits, 200, alpha=0.1, method="beta")
    assert found.reached == pytest.approx((low >= 0.8).mean(), abs=0.01)
    known = plan("accuracy >= 0.8", value=0.9, n=200)
    assert found.reached < known.reached
    sure = plan("accuracy >= 0.8", pilot="45/50", assurance=0.7)
    assert sure.goal == "assurance"
    pairs = plan("accuracy", value=0.9, against=0.86, pilot="12,5/200")
    assert pairs.n > plan("accuracy", value=0.9, against=0.9 - 7 / 200, discordance=17 / 200).n


def test_hanley_and_mcneils_standard_error():
    images = read_json("r/hanley_mcneil_ct.json")
    sizes = sum(images["abnormal_counts"]), sum(images["normal_counts"])
    found = math.sqrt(hanley_mcneil_variance(images["auc"], *sizes))
    assert found == pytest.approx(images["hanley_mcneil_se"], rel=1e-10)


def test_areas_are_told_apart_as_often_as_planned():
    found = plan("auc", value=0.85, against=0.72, prevalence=0.4, paired=False)
    rng = np.random.default_rng(0)
    shown = 0
    for _ in range(200):
        sides = []
        for area in (0.85, 0.72):
            shift, positives = math.sqrt(2) * stats.norm.ppf(area), round(0.4 * found.n)
            sides.append(ranking(rng.normal(shift, 1, positives), rng.normal(0, 1, found.n - positives)))
        shown += delong_unpaired(*sides).p <= 0.05
    assert shown / 200 == pytest.approx(0.8, abs=0.09)
    # Half as large a difference takes about four times the cases, a correlation of .9 a fifth of those at .5.
    half = plan("auc", value=0.785, against=0.72, prevalence=0.4, paired=False)
    assert half.n == pytest.approx(4 * found.n, rel=0.2)
    at = [plan("auc", value=0.85, against=0.8, prevalence=0.3, correlation=r).n for r in (0.5, 0.9)]
    assert at[1] == pytest.approx(at[0] / 5, rel=0.15)


def test_f1_and_calibration_have_powers_too():
    apart = plan("f1", value=0.7, against=0.6, recall=0.7, prevalence=0.2, correlation=0.5)
    assert apart.reached >= 0.8
    wider = plan("f1", value=0.7, against=0.6, recall=0.7, prevalence=0.2, paired=False)
    assert wider.n == pytest.approx(2 * apart.n, rel=0.02)
    slope = plan("calibration_slope >= 0.8", prevalence=0.2, auc=0.8)
    error = plan("calibration_slope", prevalence=0.2, auc=0.8, n=slope.n).reached / (2 * 1.959964)
    assert stats.norm.cdf(0.2 / error - 1.644854) == pytest.approx(slope.reached, abs=0.01)
