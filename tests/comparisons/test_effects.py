"""Effect sizes say how large a difference is, and do not grow with the number of cases."""

from __future__ import annotations

import math

import numpy as np
import pytest
from tests.comparisons.two_models import as_probabilities, drawn

from heldout import Confusion
from heldout.comparisons.delong import delong_unpaired
from heldout.comparisons.pair_test import PER_CASE
from heldout.comparisons.paired_counts import compare_counts
from heldout.comparisons.paired_losses import case_losses
from heldout.comparisons.paired_scores import compare_scores, compare_scores_unpaired
from heldout.comparisons.unpaired import compare_unpaired
from heldout.engines.score_sort import rank
from heldout.evidence.joint_counts import PairCounts
from heldout.measures.catalogue import find, read_quantity

LABELS = (0, 1, 2)
COUNTED = ["accuracy", "f1[1]", "precision[2]", "kappa", "macro f1", "matthews", "recall[0]"]
SCORED = ["roc_auc", "gini", "average_precision", "partial_auc", "brier", "log_loss"]


def pairs(times=1, seed=0):
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, 3, 300)
    answers = [np.where(rng.random(300) < share, truth, rng.integers(0, 3, 300)) for share in (0.8, 0.65)]
    seen = PairCounts.of(truth, answers[0], answers[1], LABELS)
    return PairCounts(LABELS, seen.truth, seen.a, seen.b, seen.counts * times)


@pytest.mark.parametrize("method", [None, "dirichlet", "normal", "permutation"])
@pytest.mark.parametrize("text", COUNTED)
def test_ten_times_the_cases_leave_the_effect_of_counts_as_it_is(text, method):
    one, ten = (compare_counts(pairs(times), read_quantity(text, LABELS), method=method) for times in (1, 10))
    assert one.effect_name
    assert ten.effect == pytest.approx(one.effect, rel=1e-9)
    assert ten.p < one.p or method == "permutation"


def test_the_effect_of_accuracy_is_the_mean_over_the_standard_deviation():
    seen = pairs()
    found = compare_counts(seen, read_quantity("accuracy", LABELS), method="dirichlet")
    apart = np.repeat((seen.a == seen.truth) * 1.0 - (seen.b == seen.truth), seen.counts)
    assert found.effect_name == PER_CASE
    assert found.effect == pytest.approx(apart.mean() / apart.std(), rel=1e-9)


@pytest.mark.parametrize("method", ["dirichlet", "normal", "bootstrap"])
def test_the_effect_turns_with_the_two(method):
    seen, quantity = pairs(), read_quantity("f1[1]", LABELS)
    one, two = (compare_counts(held, quantity, method=method) for held in (seen, seen.swapped()))
    assert one.effect == -two.effect
    assert math.copysign(1, one.effect) == math.copysign(1, one.difference)


@pytest.mark.parametrize("name", SCORED)
def test_ten_times_the_cases_leave_the_effect_of_scores_nearly_as_it_is(name):
    # The standard errors have n − 1 where the deviation of a case has n, and resampling has an error of its own.
    a, b, positive = drawn(n=200, distance=1.2, other=0.6)
    if name in ("brier", "log_loss"):
        a, b = as_probabilities(a), as_probabilities(b)
    one, ten = (
        compare_scores(np.repeat(a, times), np.repeat(b, times), np.repeat(positive, times), find(name))
        for times in (1, 10)
    )
    assert one.effect_name
    assert ten.effect == pytest.approx(one.effect, rel=0.1 if "bootstrap" in one.method else 0.01)


@pytest.mark.parametrize("name", SCORED)
def test_the_same_for_scores_of_different_cases(name):
    a, b, positive = drawn(n=200, distance=1.2, other=0.4)
    if name in ("brier", "log_loss"):
        a, b = as_probabilities(a), as_probabilities(b)
    one, ten = (
        compare_scores_unpaired(
            np.repeat(a, times), np.repeat(positive, times), np.repeat(b[50:], times), np.repeat(positive[50:], times),
            find(name),
        )
        for times in (1, 10)
    )  # fmt: skip
    assert one.effect_name == PER_CASE
    assert ten.effect == pytest.approx(one.effect, rel=0.1 if "bootstrap" in one.method else 0.01)


@pytest.mark.parametrize("text", COUNTED)
def test_the_same_for_counts_of_different_cases(text):
    first, second = [[70, 20, 10], [15, 80, 5], [10, 10, 30]], [[30, 10, 20], [15, 40, 5], [3, 12, 15]]
    one, ten = (
        compare_unpaired(
            Confusion.of(np.multiply(first, times), labels=LABELS),
            Confusion.of(np.multiply(second, times), labels=LABELS),
            read_quantity(text, LABELS),
        )
        for times in (1, 10)
    )  # fmt: skip
    assert one.effect_name
    assert ten.effect == pytest.approx(one.effect, rel=1e-9)


def test_of_two_sets_with_the_same_spread_it_is_cohens_d():
    rng = np.random.default_rng(2)
    held = rng.uniform(0.05, 0.95, size=2000)
    one, two = held[:500], held[500:]
    truth = rng.random(2000) < held
    found = compare_scores_unpaired(one, truth[:500], two, truth[500:], find("brier"))
    first = case_losses(one, truth[:500], find("brier"))
    second = case_losses(two, truth[500:], find("brier"))
    pooled = math.sqrt((499 * first.var(ddof=1) + 1499 * second.var(ddof=1)) / 1998)
    assert found.effect == pytest.approx((first.mean() - second.mean()) / pooled, rel=0.03)


def test_a_sample_without_spread_has_no_effect_size():
    perfect = rank(np.arange(10.0), np.arange(10) >= 5)
    found = delong_unpaired(perfect, perfect)
    assert math.isnan(found.effect)
