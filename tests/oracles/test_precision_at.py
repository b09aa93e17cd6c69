"""Precision among the k highest scores: by counting, and by every order of tied cases."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import heldout
from heldout.engines.bins import bins_of
from heldout.engines.score_sort import rank
from heldout.measures.catalogue import find
from heldout.measures.certified import bounds_of
from heldout.measures.ranking_batch import RankingBatch

CASES = st.lists(st.tuples(st.integers(0, 3), st.booleans()), min_size=1, max_size=7)


def mean_over_orders(scores: list[int], positive: list[bool], k: int) -> float:
    """The mean of the precision over every order of the cases that puts no lower score before a higher one."""
    found = [
        sum(positive[case] for case in order[:k]) / k
        for order in itertools.permutations(range(len(scores)))
        if all(scores[a] >= scores[b] for a, b in itertools.pairwise(order))
    ]
    return sum(found) / len(found)


@given(CASES, st.integers(1, 8))
def test_it_is_the_mean_over_all_orders_of_the_tied(cases, k):
    scores, positive = [score for score, _ in cases], [up for _, up in cases]
    value = float(find("precision_at", k=k).value({"ranking": rank(np.array(scores) * 1.0, np.array(positive))}))
    if k > len(cases):
        assert math.isnan(value)
    else:
        assert value == pytest.approx(mean_over_orders(scores, positive, k))


@given(CASES, st.integers(1, 7))
def test_of_distinct_scores_it_is_a_count(cases, k):
    positive = np.array([up for _, up in cases])
    scores = np.random.default_rng(len(cases)).permutation(len(cases)) * 1.0
    k = min(k, len(cases))
    top = positive[np.argsort(-scores)[:k]]
    assert float(find("precision_at", k=k).value({"ranking": rank(scores, positive)})) == pytest.approx(top.mean())


def test_many_rankings_at_once_give_what_each_gives():
    rng = np.random.default_rng(4)
    positives, negatives = rng.integers(0, 4, (2, 5, 6))
    bound = find("precision_at", k=9)
    together = bound.value({"ranking": RankingBatch(positives, negatives)})
    for at in range(5):
        one = bound.value({"ranking": RankingBatch(positives[at], negatives[at])})
        assert together[at] == pytest.approx(float(one), nan_ok=True)


def test_too_few_cases_say_so_and_others_have_an_interval():
    rng = np.random.default_rng(2)
    score = rng.random(200)
    truth = np.where(rng.random(200) < score, "yes", "no")
    evaluation = heldout.evaluate(truth, score=score, positive="yes")
    few = evaluation["precision_at(k=201)"]
    assert math.isnan(few.value)
    assert few.undefined == "there are fewer than k cases"
    top = evaluation["precision_at(k=50)"]
    assert top.method == "profile"
    assert top.low < top.value == (truth[np.argsort(-score)[:50]] == "yes").mean() < top.high


def test_bins_bound_it():
    rng = np.random.default_rng(3)
    score = rng.random(500)
    truth = rng.random(500) < score
    exact = (truth[np.argsort(-score)[:75]]).mean()
    found = bounds_of(find("precision_at", k=75), bins_of(score, truth, 2, most=16).ranking(1))
    assert found is not None
    assert found[0] <= exact <= found[1] < found[0] + 0.5


def test_the_interval_rests_on_k_cases():
    from heldout.intervals.proportion import clopper_pearson, wilson

    truth = np.repeat(["yes", "no"], 200)
    evaluation = heldout.evaluate(truth, score=np.linspace(1, 0, 400), positive="yes")
    for k in (1, 10, 50):
        found = evaluation[f"precision_at(k={k})"]
        assert found.value == 1
        # All k are positive: between the exact limit of k cases and Wilson's, a hair less for the place of the cut.
        assert 0.97 * float(clopper_pearson(k, k)[0]) <= found.low <= float(wilson(k, k)[0])
