"""P-values of draws: counted, continued by the normal distribution, and what is said where counting ends."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import norm
from tests.comparisons.two_models import drawn

from heldout.comparisons.corrections import adjust_p_values
from heldout.comparisons.pair_test import permutation_note, permutation_p, tail_note, tail_p
from heldout.comparisons.paired_counts import compare_counts
from heldout.comparisons.paired_scores import compare_scores, compare_scores_unpaired
from heldout.comparisons.score_resampling import resampled_score_differences
from heldout.evidence.joint_counts import PairCounts
from heldout.measures.catalogue import find, read_quantity


def test_draws_are_counted_where_some_lie_on_either_side():
    assert tail_p(np.array([-1.0, 1.0, 2.0, 3.0])) == 2 * 2 / 5
    assert tail_p(np.array([-1.0, 1.0])) == 1
    assert tail_p(np.zeros(5)) == 1
    assert tail_note(np.array([-1.0, 1.0, 2.0, 3.0])) == ""


def test_all_on_one_side_continues_with_the_normal_distribution():
    # Of the same mean and spread, never more than by their number.
    near, far = np.array([0.1, 2.0, 4.0]), np.array([1.0, 2.0, 3.0])
    assert tail_p(near) == pytest.approx(2 * norm.sf(near.mean() / near.std()))
    assert tail_p(far) == pytest.approx(2 * norm.sf(far.mean() / far.std()))
    assert "normal distribution" in tail_note(far)
    # Without spread there is no such distribution, and nothing is said of one.
    assert tail_p(np.full(9, 0.1)) == 2 * 1 / 10
    assert tail_note(np.full(9, 0.1)) == ""


def test_no_note_where_the_normal_distribution_is_not_used():
    # All above zero, but so skewed that counting gives less: 2/1000.
    drawn_values = np.concatenate([np.full(994, 0.01), np.full(5, 50.0)])
    assert tail_p(drawn_values) == pytest.approx(2 / 1000)
    assert tail_note(drawn_values) == ""


@given(st.lists(st.floats(-5, 5), min_size=2, max_size=60))
def test_turning_the_signs_changes_nothing(values):
    held = np.array(values)
    assert tail_p(held) == pytest.approx(tail_p(-held))
    assert 0 <= tail_p(held) <= 1


@pytest.mark.parametrize("name", ["average_precision", "partial_auc"])
def test_a_clear_difference_of_scores_survives_holm_among_eight_models(name):
    a, b, positive = drawn(n=1500, distance=2.5, other=0.5)
    for found in (
        compare_scores(a, b, positive, find(name)),
        compare_scores_unpaired(a, positive, b, positive, find(name)),
    ):
        # 28 pairs: the smallest p that 999 draws can count, 2/1000, would become .056.
        assert adjust_p_values([found.p] * 28, "holm")[0] < 0.001
        assert "normal distribution" in found.note


def test_the_continued_p_is_near_that_of_many_more_draws():
    a, b, positive = drawn(n=250, distance=1.4, other=0.5, seed=2)
    bound = find("average_precision")
    many, few = (
        resampled_score_differences((a, b), positive, bound, replicates=size, seed=seed)
        for size, seed in ((20_000, 9), (199, 0))
    )
    assert (few > 0).all()
    assert not (many > 0).all()
    # As distances in standard errors: 3.3 by counting 20,000.
    assert norm.isf(tail_p(few) / 2) == pytest.approx(norm.isf(tail_p(many) / 2), abs=0.3)


def test_a_permutation_says_where_its_p_can_be_no_smaller():
    assert permutation_p(0.3, np.array([0.1, -0.1, 0.2])) == 1 / 4
    assert "1/4" in permutation_note(0.3, np.array([0.1, -0.1, 0.2]))
    assert permutation_note(0.2, np.array([0.1, -0.2, 0.1])) == ""
    a, b, positive = drawn(n=800, distance=2.5, other=0.5)
    found = compare_scores(a, b, positive, find("roc_auc"), method="permutation", replicates=199)
    assert found.p == 1 / 200
    assert "1/200" in found.note
    a, b, positive = drawn(n=200)
    alike = compare_scores(a, b, positive, find("roc_auc"), method="permutation", replicates=199)
    assert "exchanges" not in alike.note


def test_a_permutation_of_counts_says_so_too():
    truth = np.repeat([0, 1], 100)
    seen = PairCounts.of(truth, truth, np.where(np.arange(200) % 3 == 0, 1 - truth, truth), (0, 1))
    found = compare_counts(seen, read_quantity("f1[1]", (0, 1)), method="permutation", replicates=99)
    assert found.p == 1 / 100
    assert "1/100" in found.note


@pytest.mark.parametrize("method", ["dirichlet", "bootstrap"])
def test_the_note_is_true_of_posterior_and_bootstrap_alike(method):
    truth = np.repeat([0, 1], 100)
    seen = PairCounts.of(truth, truth, np.where(np.arange(200) % 3 == 0, 1 - truth, truth), (0, 1))
    found = compare_counts(seen, read_quantity("f1[1]", (0, 1)), method=method)
    assert found.p < 1e-4
    assert "so p is that of a normal distribution with their mean and spread" in found.note
