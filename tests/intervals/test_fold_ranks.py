"""Cases ranked within their folds: against a loop over cases, monotone changes of a fold's scores, and known truths."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pytest
from scipy import stats
from sklearn import metrics

import heldout
from heldout.engines.bins import bins_of
from heldout.engines.score_sort import rank
from heldout.intervals.fold_scores import LEAST_CASES, LEAST_SCORES, rank_within_folds
from heldout.measures.catalogue import CATALOGUE, find

# Estimates over folds hold more than others do, which the type checker cannot know.
evaluate: Any = partial(heldout.evaluate, threshold=0)

WITHIN = sorted(name for name, measure in CATALOGUE.items() if measure.over_folds == "ranks")
CHANGES: tuple[Callable[[Any], Any], ...] = (
    np.exp,
    lambda s: s - 40,
    lambda s: s**3 + s,
    np.arctan,
    lambda s: 7 * s + 2,
)


def drawn(seed, n, share, shift, folds):
    """Scores of one normal scorer, a fold for every case, and the truth; classes are dealt out evenly."""
    random = np.random.default_rng(seed)
    truth = (np.arange(n) < round(share * n)).astype(int)
    fold = np.empty(n, dtype=int)
    for at, rows in enumerate((truth == 0, truth == 1)):
        fold[rows] = (random.permutation(rows.sum()) + at) % folds
    return truth, random.normal(size=n) + shift * truth, fold


def test_the_measures_that_are_ranked_within_folds_are_searches_and_those_that_follow_the_prevalence():
    assert {"kolmogorov_smirnov", "average_precision", "recall_at_precision", "precision_at_recall"} <= set(WITHIN)
    assert not {"roc_auc", "gini", "lift_at", "gain_at", "accuracy", "log_loss", "hand_till_auc"} & set(WITHIN)


@pytest.mark.parametrize("name", WITHIN)
def test_no_monotone_change_of_the_scores_of_a_fold_moves_a_value_or_its_interval(name):
    truth, score, fold = drawn(3, 200, 0.3, 1.2, 5)
    changed = np.empty(200)
    for number, change in enumerate(CHANGES):
        rows = fold == number
        changed[rows] = change(score[rows])
    options = {"fold": fold, "measures": name, "positive": 1}
    one, other = (evaluate(truth, score=s, **options).estimates[0] for s in (score, changed))
    assert (one.value, one.low, one.high) == pytest.approx((other.value, other.low, other.high))
    assert one.rule == "ranks"
    if name != "precision_at":
        # The scores as they are would not do.
        apart = evaluate(truth, score=changed, measures=name, positive=1).estimates[0].value
        assert apart != pytest.approx(one.value, abs=0.01)


def test_the_place_of_a_case_is_the_share_below_it_with_both_classes_as_frequent_as_over_all_folds():
    random = np.random.default_rng(5)
    n = 90
    truth, fold, score = random.integers(0, 2, n), np.sort(random.integers(0, 4, n)), random.normal(size=n).round(1)
    share = truth.mean()
    places = []
    for at in range(n):
        rows = np.flatnonzero(fold == fold[at])
        below = 0.0
        for other in rows:
            weight = share / truth[rows].sum() if truth[other] else (1 - share) / (1 - truth[rows]).sum()
            below += weight * (1.0 if score[other] < score[at] else 0.5 if score[other] == score[at] else 0.0)
        places.append(below + ((fold[at] + 0.5) / 4 - 0.5) / len(rows))
    ranking = rank_within_folds([rank(score[fold == k], truth[fold == k] == 1) for k in range(4)])
    np.testing.assert_allclose(ranking.scores, np.unique(np.round(places, 12))[::-1], rtol=1e-9)
    area = metrics.average_precision_score(truth, np.round(places, 12))
    assert find("average_precision").value({"ranking": ranking}) == pytest.approx(area)


def test_a_fold_without_positives_is_placed_as_negatives_are_elsewhere():
    truth, score, fold = drawn(9, 400, 0.25, 1.5, 4)
    rows = (fold != 0) | (truth == 0)
    ranking = rank_within_folds([rank(score[rows & (fold == k)], truth[rows & (fold == k)] == 1) for k in range(4)])
    assert (ranking.n_positive, ranking.n_negative) == (truth[rows].sum(), (1 - truth[rows]).sum())
    alone = rank_within_folds([rank(score[fold == k], truth[fold == k] == 1) for k in range(1, 4)])
    # The negatives of the fold of one class are neither pushed up nor down: the area stays.
    auc = find("roc_auc")
    assert auc.value({"ranking": ranking}) == pytest.approx(auc.value({"ranking": alone}), abs=0.005)


@pytest.mark.parametrize(("n", "share", "shift", "folds"), [(300, 0.1, 1.5, 10), (150, 0.4, 1.0, 5)])
def test_a_fixed_scorer_in_folds_has_the_value_that_it_has_without(n, share, shift, folds):
    """The mean over folds of the same scorer is too high, by .03 to .3."""
    names = ("kolmogorov_smirnov", "average_precision", "recall_at_precision", "precision_at_recall")
    gaps, means = [], []
    for seed in range(40):
        truth, score, fold = drawn(seed, n, share, shift, folds)
        whole = rank(score, truth == 1)
        parts = [rank(score[fold == k] * (1 + k) - 5 * k, truth[fold == k] == 1) for k in range(folds)]
        within = rank_within_folds(parts)
        gaps.append([find(name).value({"ranking": within}) - find(name).value({"ranking": whole}) for name in names])
        means.append(
            [
                np.mean([find(name).value({"ranking": part}) for part in parts]) - find(name).value({"ranking": whole})
                for name in names
            ]
        )
    error = np.std(gaps, axis=0) / math.sqrt(40)
    assert (np.abs(np.mean(gaps, axis=0)) < 0.03 + 3 * error).all(), np.mean(gaps, axis=0)
    assert (np.mean(means, axis=0)[:3] > [0.06, 0.02, 0.08]).all(), "kolmogorov_smirnov, average_precision, recall"


def test_the_interval_over_folds_holds_the_true_average_precision():
    """One normal scorer, so that the truth is known; the interval of the mean over folds was centred .1 above it."""
    n, share, shift = 300, 0.1, 1.5
    cut = np.linspace(9, -8, 20001)
    recall, false = stats.norm.sf(cut - shift), stats.norm.sf(cut)
    truth_is = np.trapezoid(share * recall / (share * recall + (1 - share) * false), recall)
    held, values = 0, []
    for seed in range(100):
        truth, score, fold = drawn(seed, n, share, shift, 10)
        found = evaluate(truth, score=score, fold=fold, positive=1, measures="average_precision").estimates[0]
        held += found.low <= truth_is <= found.high
        values.append(found.value)
    assert abs(np.mean(values) - truth_is) < 0.04
    assert held >= 91


@pytest.mark.parametrize("measure", ["average_precision", "kolmogorov_smirnov", "roc_auc"])
@pytest.mark.parametrize("folds", ["a case each", "a class each"])
def test_folds_that_rank_nothing_leave_measures_of_rankings_undefined(measure, folds):
    truth, score, _ = drawn(2, 60, 0.3, 1.0, 5)
    fold = np.arange(60) if folds == "a case each" else truth
    found = evaluate(truth, score=score, fold=fold, measures=measure, positive=1).estimates[0]
    assert math.isnan(found.value)
    assert "ranks scores of different models against each other" in found.undefined


@pytest.mark.parametrize(
    ("score", "folds", "why"),
    [
        (lambda s: s, 25, "1.2 cases of the rarer class"),
        (lambda s: np.clip(np.round(s), -1, 2), 5, "distinct scores"),
    ],
    ids=["few cases", "few scores"],
)
def test_folds_too_coarse_to_rank_within_are_pooled_as_they_are(score, folds, why):
    truth, raw, fold = drawn(2, 100, 0.3, 1.0, folds)
    scores = score(raw)
    found = evaluate(truth, score=scores, fold=fold, measures="average_precision", positive=1).estimates[0]
    assert found.value == pytest.approx(metrics.average_precision_score(truth, scores))
    assert why in found.note
    assert LEAST_CASES > 100 * 0.3 / 25
    assert LEAST_SCORES > 4


def test_weights_that_are_all_alike_change_nothing():
    truth, score, fold = drawn(4, 150, 0.4, 1.0, 5)
    plain, heavy = (
        evaluate(truth, score=score, fold=fold, weight=weight, measures="average_precision", positive=1).estimates[0]
        for weight in (None, np.full(150, 3.0))
    )
    assert plain.value == pytest.approx(heavy.value)


@pytest.mark.parametrize("name", ["average_precision", "kolmogorov_smirnov", "precision_at_recall"])
def test_scores_in_bins_have_bounds_that_hold_the_value_of_the_scores_themselves(name):
    truth, score, fold = drawn(8, 2000, 0.3, 1.2, 5)
    counted: Any = heldout.count(truth, score=score, fold=fold, positive=1, threshold=0).counted
    options: dict[str, Any] = {"measures": name, "positive": 1}
    judge: Any = heldout.evaluate
    exact = judge(counted, **options).estimates[0]
    assert exact.value == pytest.approx(evaluate(truth, score=score, fold=fold, **options).estimates[0].value)

    def coarse(tally, rows):
        return replace(tally, bins=(bins_of(score[rows], truth[rows], 2, most=60),))

    parts = tuple(coarse(tally, fold == k) for k, tally in enumerate(counted.fold_scores))
    few = replace(counted, scores=coarse(counted.scores, fold >= 0), fold_scores=parts)
    found = judge(few, **options).estimates[0]
    assert found.rule == "ranks"
    assert found.bounds[0] <= exact.value <= found.bounds[1]
    assert 0 < found.bounds[1] - found.bounds[0] < 0.1
    assert found.method.endswith(", bins")
