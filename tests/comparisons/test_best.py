"""The best of several: limits for all pairs, Hsu's sets, and what the value of the winner is worth, against SciPy."""

from __future__ import annotations

import math
from itertools import combinations
from typing import Any

import numpy as np
import pytest
from scipy import stats

import heldout
from heldout.comparisons.best import (
    JointValues,
    find_winner,
    level_of_all_pairs,
    level_of_the_best,
)
from heldout.comparisons.comparison import PairwiseComparison
from heldout.errors import OptionError
from heldout.measures.catalogue import read_quantity

RNG = np.random.default_rng(11)
N = 300
TRUTH = RNG.random(N) < 0.45


def compare(*models: Any, **options: Any) -> Any:
    comparison = heldout.compare(*models, **options)
    assert isinstance(comparison, PairwiseComparison)
    return comparison


def scored(gains, seed=3):
    rng = np.random.default_rng(seed)
    easy = rng.normal(size=N)
    return {
        name: heldout.evaluate(
            TRUTH.astype(int), score=1 / (1 + np.exp(-(gain * (2 * TRUTH - 1) + 0.6 * easy + rng.normal(size=N)))),
            threshold=0.5, positive=1, measures=[],
        )
        for name, gain in gains.items()
    }  # fmt: skip


EQUAL = scored({f"m{place}": 0.9 for place in range(6)})
APART = scored({"poor": 0.1, "good": 1.6, "fair": 0.3})


@pytest.mark.parametrize("models", [3, 5, 10])
def test_independent_models_have_tukeys_and_dunnetts_levels(models):
    joint = JointValues(np.zeros(models), np.eye(models), math.inf, 100)
    # Tukey's studentized range over √2 is the largest difference of all pairs in standard errors.
    tukey = stats.studentized_range.ppf(0.95, models, math.inf) / math.sqrt(2)
    assert level_of_all_pairs(joint, models, 0.95, 0) == pytest.approx(2 * stats.norm.cdf(tukey) - 1, abs=0.001)
    # Dunnett's one-sided quantile: against one control, differences of independent means correlate by a half.
    others = models - 1
    cover = stats.multivariate_normal(np.zeros(others), np.full((others, others), 0.5) + 0.5 * np.eye(others))
    reach = stats.norm.ppf((1 + level_of_the_best(joint, models, 0.95, 0)) / 2)
    assert cover.cdf(np.full(others, reach)) == pytest.approx(0.95, abs=0.005)


@pytest.mark.parametrize("models", [3, 8])
def test_without_a_covariance_the_levels_are_bonferronis(models):
    assert level_of_all_pairs(None, models, 0.95, 0) == pytest.approx(1 - 0.05 / math.comb(models, 2))
    assert level_of_the_best(None, models, 0.95, 0) == pytest.approx(1 - 0.1 / (models - 1))


@pytest.mark.parametrize("models", [3, 10])
def test_the_best_of_equal_models_exceeds_its_truth_by_the_expected_maximum(models):
    joint = JointValues(np.full(models, 0.8), np.eye(models) * 0.01**2, math.inf, 1000)
    winner = find_winner(
        [str(i) for i in range(models)], joint.values.tolist(), joint, read_quantity("accuracy"), level=0.95, seed=4
    )
    maximum = stats.norm.expect(lambda x: x * models * stats.norm.cdf(x) ** (models - 1))
    assert winner is not None
    assert winner.excess == pytest.approx(0.01 * maximum, rel=0.03)
    assert winner.corrected == pytest.approx(0.8 - winner.excess)
    assert winner.limit < winner.corrected


def test_a_winner_far_ahead_needs_no_correction():
    values = np.array([0.9, 0.6, 0.5])
    joint = JointValues(values, np.eye(3) * 0.01**2, math.inf, 1000)
    winner = find_winner("abc", values.tolist(), joint, read_quantity("accuracy"), level=0.95, seed=0)
    assert winner is not None
    assert winner.excess < 1e-4


def test_the_covariance_of_areas_losses_and_shares_is_that_of_resampled_cases():
    names = list(EQUAL)[:3]
    design_scores = [np.asarray(EQUAL[name].predictions.scores.values) for name in names]
    rng = np.random.default_rng(8)
    drawn: dict[str, list[Any]] = {"accuracy": [], "brier": []}
    for _ in range(1500):
        rows = rng.integers(0, N, N)
        drawn["accuracy"].append([((own >= 0.5) == TRUTH)[rows].mean() for own in design_scores])
        drawn["brier"].append([((own - TRUTH) ** 2)[rows].mean() for own in design_scores])
    from heldout.comparisons.design_choice import choose_design

    design = choose_design({name: EQUAL[name] for name in names}, paired=None)
    for measure, values in drawn.items():
        joint = design.joint(read_quantity(measure))
        assert joint is not None
        assert np.allclose(joint.covariance, np.cov(np.array(values).T), rtol=0.15, atol=0)


def test_equal_models_may_all_be_the_best_and_one_far_ahead_is_it():
    equal = compare(EQUAL, measures=["accuracy", "roc_auc", "brier"])
    assert equal.verdict == "Any of the 6 may be the best by accuracy: none can be ruled out."
    assert str(equal).index("Any of the 6") < str(equal).index("cannot be told apart")
    apart = compare(APART, measures=["accuracy", "roc_auc", "brier", "macro f1"])
    for by in apart.best.measures:
        assert by.may_be_best == ("good",)
        assert by.method == "max-t"
        assert by.verdict.startswith("good is the best by ")
        low = {one.name: one.low for one in by.contenders}
        assert low["good"] == 0 > max(low["poor"], low["fair"])


def test_limits_for_all_pairs_are_wider_than_those_of_one_and_stand_in_the_rows():
    found = compare(EQUAL, measures=["accuracy", "roc_auc", "brier", "f1"])
    for pair, row in zip(found.pairs, found.rows(), strict=True):
        low, high = pair.together
        assert low < pair.tested.low
        assert high > pair.tested.high
        assert (row["low_of_all_pairs"], row["high_of_all_pairs"]) == (low, high)
    document = found.to_dict()["best"]
    assert document["sets"][0]["may_be_best"] == list(EQUAL)
    assert len(document["estimates"]) == 4 * len(EQUAL)
    assert found.best["brier"].winner.corrected > found.best["brier"].winner.value


def test_splits_and_test_sets_of_their_own_have_a_best_too():
    truth = np.arange(240) % 2
    features = np.random.default_rng(2).normal(size=(240, 2)) + truth[:, None]
    learners = ("naive-bayes", "knn:5", "majority")
    validated = heldout.validate(learners, features, truth, plan="5-fold", measures=[])
    over = compare(validated, measures="accuracy").best
    assert over.measures[0].method == "max-t"
    assert "majority" not in str(over.may_be_best)
    alone = compare(APART, measures=["accuracy", "roc_auc", "brier"], paired=False).best
    assert {by.method for by in alone.measures} == {"max-t"}
    assert alone.may_be_best == ("good",)


def test_two_and_a_control_have_no_best():
    assert compare(APART["good"], APART["poor"]).best is None
    assert compare(APART, control="poor", measures="accuracy").best is None
    with pytest.raises(OptionError, match="no best by 'recal'"):
        compare(APART, measures="accuracy").best["recal"]


def test_verdict_and_findings_of_a_comparison_do_not_contradict_each_other():
    """Over models from equal to far apart: whoever is ruled out is never called equal without a word on it."""
    seen = set()
    for gain in np.linspace(0.0, 0.5, 6):
        sides = scored({"a": 0.8, "b": 0.8 + gain, "c": 0.7}, seed=int(100 * gain))
        found = compare(sides, measures="accuracy")
        by, review = found.best.measures[0], found.review
        seen.add(len(by.may_be_best))
        told = {frozenset((p.a, p.b)): p.better for p in found.pairs}
        for one, two in combinations(by.may_be_best, 2):
            assert told[frozenset((one, two))] in ("undecided", "same")
        assert (review["H070"].outcome == "fired") <= (len(by.may_be_best) > 1)
        crossing = [p for p in found.pairs if p.better == "undecided" and (p.a in by.not_best) != (p.b in by.not_best)]
        assert any("rule one out" in note for note in found.notes) == bool(crossing)
        wide = review["H054"]
        if wide.outcome == "fired" and len(crossing) == sum(p.better == "undecided" for p in found.pairs):
            assert "ruled out as the best" in wide.title
    assert len(seen) > 1


def test_costs_that_are_not_told_apart_are_no_reason_to_choose():
    truth = np.repeat([1, 0], [60, 240])
    first, second = truth.copy(), truth.copy()
    first[:6], second[60:73] = 0, 1
    costs = {(1, 0): 3.0, (0, 1): 1.0}
    sides = [heldout.evaluate(truth, answers, positive=1, costs=costs, measures=[]) for answers in (first, second)]
    by_cost = compare(*sides, measures=["accuracy", "expected_cost"])
    assert by_cost["expected_cost"].better == "undecided"
    found = by_cost.review["H053"]
    assert (found.outcome, found.severity) == ("fired", "know")
    assert "cannot be told apart by cost" in found.advice
    assert "Choose" not in found.advice
    untested = compare(*sides, measures="accuracy").review["H053"]
    assert untested.advice.startswith("Compare them by cost")


def test_one_group_says_nothing_of_the_best_and_the_order_of_the_models_does_not_matter():
    shares = {"a": 0.7, "b": 0.75, "c": 0.9}
    answers = {name: np.where(RNG.random(N) < right, TRUTH, ~TRUTH) for name, right in shares.items()}
    one = {name: heldout.evaluate(TRUTH, answer, group=np.zeros(N)) for name, answer in answers.items()}
    assert compare(one, measures="accuracy").best["accuracy"].winner is None
    group = np.sort(RNG.integers(0, 40, N) ** 2 // 40)
    sides = {name: heldout.evaluate(TRUTH, answer, group=group) for name, answer in answers.items()}
    limits = {
        compare({name: sides[name] for name in names}, measures="accuracy").best["accuracy"].winner.limit
        for names in ("abc", "bca", "cab")
    }
    assert max(limits) - min(limits) < 2e-3
    assert min(limits) < compare(sides, measures="accuracy").best["accuracy"].winner.value
