"""The honest figure: judged on cases that had no part in the choice."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import ndtr
from tests.thresholds.enumerated import SCORES, choose_by_trying

from heldout.errors import OptionError
from heldout.thresholds.selection import choose_rows
from heldout.thresholds.uncertainty import make_folds

SHIFT = 1.5


def drawn(rng, n, share):
    positive = rng.random(n) < share
    return rng.standard_normal(n) + SHIFT * positive, positive


@pytest.mark.parametrize("seed", range(3))
def test_it_is_what_choosing_without_each_fold_gives(seed):
    rng = np.random.default_rng(seed)
    scores, positive = rng.integers(0, 12, 60).astype(float), rng.random(60) < 0.4
    found = choose_rows(scores, positive, by="f1", honest=True, folds=5, seed=seed).honest
    assert found is not None
    fold = make_folds(positive, None, 5, seed)
    table, thresholds = np.zeros((2, 2), dtype=int), []
    for out in range(5):
        others = list(zip(scores[fold != out].tolist(), positive[fold != out].tolist(), strict=True))
        threshold = choose_by_trying(others, SCORES["f1"])
        assert threshold is not None
        thresholds.append(threshold)
        for score, truth in zip(scores[fold == out], positive[fold == out], strict=True):
            table[int(truth), int(score >= threshold)] += 1
    assert found.thresholds == tuple(thresholds)
    assert found.confusion.matrix.tolist() == table.tolist()
    assert found.estimate.value == pytest.approx(2 * table[1, 1] / (2 * table[1, 1] + table[0, 1] + table[1, 0]))


def test_it_is_nearer_the_truth_on_average():
    rng = np.random.default_rng(8)
    apparent, honest = [], []
    for i in range(80):
        scores, positive = drawn(rng, 100, 0.3)
        found = choose_rows(scores, positive, by="youden", honest=True, replicates=1, seed=i)
        assert found.honest is not None
        truth = ndtr(found.threshold) - ndtr(found.threshold - SHIFT)
        apparent.append(found.criterion.value - truth)
        honest.append(found.honest.estimate.value - truth)
    assert np.mean(apparent) > 0.05
    assert abs(np.mean(honest)) < 0.03


def test_its_interval_knows_that_the_folds_share_what_they_chose_on():
    # Taken as independent cases, the same counts held what the choice gives in .87 of these draws.
    rng = np.random.default_rng(31)
    hits = 0
    for i in range(150):
        positive = rng.random(90) < 0.4
        scores = rng.standard_normal(90) + 1.2 * positive
        found = choose_rows(scores, positive, by="youden", honest=True, replicates=1, seed=i)
        assert found.honest is not None
        truth = ndtr(found.threshold) - ndtr(found.threshold - 1.2)
        hits += bool(found.honest.estimate.low <= truth <= found.honest.estimate.high)
    # 95 % of 150 is 142.5, with a standard deviation of 2.7.
    assert hits >= 135


@given(
    positives=st.integers(2, 30),
    negatives=st.integers(2, 30),
    folds=st.integers(2, 12),
    seed=st.integers(0, 5),
)
def test_the_classes_are_spread_evenly(positives, negatives, folds, seed):
    positive = np.arange(positives + negatives) < positives
    fold = make_folds(positive, None, folds, seed)
    number = min(folds, positives, negatives)
    for held in (np.bincount(fold), np.bincount(fold[positive]), np.bincount(fold[~positive])):
        assert len(held) == number
        assert held.max() - held.min() <= 1


def test_groups_stay_together_and_positives_are_spread():
    rng = np.random.default_rng(0)
    group = rng.integers(0, 40, 400)
    positive = rng.random(400) < 0.3
    fold = make_folds(positive, group, 5, 0)
    assert all(len(set(fold[group == g].tolist())) == 1 for g in range(40))
    held = np.bincount(fold[positive], minlength=5)
    assert held.min() >= 0.6 * positive.sum() / 5
    found = choose_rows(rng.random(400), positive, by="f1", group=group, honest=True, folds=5)
    assert found.honest is not None
    assert found.honest.confusion.clusters is not None
    assert found.honest.estimate.method == "cluster-logit, n/1.5"


def test_a_requirement_is_judged_honestly_too():
    rng = np.random.default_rng(1)
    scores, positive = drawn(rng, 300, 0.3)
    found = choose_rows(scores, positive, require="recall >= 0.9", honest=True)
    assert found.honest is not None
    assert found["recall"].value >= 0.9
    assert [e.measure for e in found.honest.required] == ["recall"]
    assert any("on new cases it may not hold" in warning for warning in found.warnings)


def test_a_fold_without_a_threshold_takes_the_nearest_and_says_so():
    # Only the case with score 3 lets precision reach 1; without its fold nothing does.
    scores = np.array([3.0, 2, 2, 2, 2, 1, 1, 1, 1, 1])
    positive = np.array([1, 1, 0, 1, 0, 0, 0, 1, 0, 0]) > 0
    found = choose_rows(scores, positive, require="precision >= 0.9", honest=True, folds=4)
    assert found.honest is not None
    assert found.honest.unmet == 1
    assert any("In 1 of 4 folds no threshold met" in warning for warning in found.warnings)


@pytest.mark.parametrize(
    ("positive", "options", "says"),
    [
        ([1, 0, 0, 0], {}, "at least 2 cases of the rarer class"),
        ([1, 1, 0, 0], {"folds": 1}, "from 2 up"),
        ([1, 1, 0, 0], {"group": [0, 0, 1, 1]}, "at least 2 groups"),
    ],
)
def test_what_is_refused(positive, options, says):
    with pytest.raises(OptionError, match=says):
        choose_rows([0.4, 0.3, 0.2, 0.1], positive, by="f1", honest=True, **options)
