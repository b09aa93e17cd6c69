"""Measures of scores over folds: areas averaged, losses pooled, against scikit-learn in each fold."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from scipy import stats
from sklearn import metrics

import heldout
from heldout.errors import OptionError
from heldout.intervals import fold_scores
from heldout.intervals.dependence import ONCE

# Estimates over folds hold more than others do, which the type checker cannot know.
evaluate: Any = heldout.evaluate

RNG = np.random.default_rng(8)
N, K = 240, 8
TRUTH = RNG.integers(0, 2, N)
SCORE = 1 / (1 + np.exp(-RNG.normal(1.5 * TRUTH - 0.7, 1)))
FOLD = np.arange(N) // (N // K)
ROWS = [np.flatnonzero(np.equal(FOLD, number)) for number in range(K)]
FOLDED = evaluate(TRUTH, score=SCORE, fold=FOLD)
AREAS = np.array([metrics.roc_auc_score(TRUTH[rows], SCORE[rows]) for rows in ROWS])


def test_the_area_is_the_mean_over_folds_and_the_pooled_one_stands_beside():
    found = FOLDED["roc_auc"]
    assert found.value == pytest.approx(AREAS.mean())
    assert found.other == pytest.approx(metrics.roc_auc_score(TRUTH, SCORE))
    assert found.gap == pytest.approx(found.other - AREAS.mean())
    assert found.spread == pytest.approx(AREAS.std(ddof=1))
    assert (found.rule, found.folds, found.splits, found.n) == ("mean", K, K, N)
    assert "scores of different models are not comparable" in found.reason
    np.testing.assert_allclose(FOLDED.per_fold("roc_auc"), AREAS)


def place_cases(rows):
    """The share of the other class that every positive outranks, and that outranks every negative, in one fold."""
    truth, score = TRUTH[rows] == 1, SCORE[rows]
    above = (score[truth][:, None] > score[~truth]) + 0.5 * (score[truth][:, None] == score[~truth])
    return above.mean(axis=1), above.mean(axis=0)


def area_limits(rows, n, level=0.95):
    """The areas that are not rejected, by a search through all of them; written out from docs/statistics.md."""
    placed = [place_cases(fold) for fold in rows]
    area = np.mean([up.mean() for up, _ in placed])
    sizes = np.array([[len(up), len(down)] for up, down in placed], dtype=float)

    def usual(theta):
        return theta * (1 - theta) * ((1 - theta) / (2 - theta) + theta / (1 + theta)) / 2

    seen, luck, free = np.zeros(2), np.zeros(2), np.zeros(2)
    for side in (0, 1):
        own = sizes[:, side] - 1
        squares = np.concatenate([(fold[side] - fold[side].mean()) ** 2 for fold in placed])
        seen[side] = squares.sum() / own.sum()
        free[side] = 2 * squares.sum() ** 2 / (squares**2).sum()
        luck[side] = (own / sizes[:, 1 - side]).sum() / own.sum()
    # What placements show of a class is what its cases explain, and a share of what no case explains.
    system = np.eye(2) - np.array([[luck[0]], [luck[1]]]) @ np.ones((1, 2))
    explained = np.clip(np.linalg.solve(system, seen - luck * area * (1 - area)), 0, area * (1 - area))
    ratios = (free * explained / usual(area) + 5) / (free + 5)
    each = ratios / sizes.sum(axis=0)
    critical = stats.t.ppf((1 + level) / 2, each.sum() ** 2 / (each**2 / (free + 5)).sum())
    theta = np.linspace(1e-6, 1 - 1e-6, 400_001)
    variance = sum(
        (theta * (1 - theta) + ((q - 1) * ratios[0] + (p - 1) * ratios[1]) * usual(theta)) / (p * q) * (p + q) / n
        for p, q in sizes
    )
    kept = theta[(area - theta) ** 2 <= critical**2 * ONCE * variance / len(rows)]
    return kept[0], kept[-1]


def test_the_interval_of_an_area_goes_by_the_placements_within_the_folds():
    found = FOLDED["roc_auc"]
    assert (found.low, found.high) == pytest.approx(area_limits(ROWS, N), abs=5e-6)
    assert found.method == "delong-score over folds"
    gini = FOLDED["gini"]
    assert (gini.value, gini.low, gini.high) == pytest.approx([2 * x - 1 for x in (found.value, found.low, found.high)])


def test_the_interval_of_a_precision_area_is_that_of_the_cases_ranked_within_folds_stretched():
    found = FOLDED["average_precision"]
    assert (found.rule, found.method, found.n) == ("ranks", "influence-logit, n/1.5", N)
    assert found.low < found.value < found.high
    values = [metrics.average_precision_score(TRUTH[rows], SCORE[rows]) for rows in ROWS]
    assert found.other == pytest.approx(np.mean(values))


def test_a_share_of_the_highest_scores_has_the_corrected_t():
    values = [evaluate(TRUTH[rows], score=SCORE[rows], measures="lift_at")["lift_at"].value for rows in ROWS]
    found = evaluate(TRUTH, score=SCORE, fold=FOLD, measures="lift_at")["lift_at"]
    half = stats.t.ppf(0.975, K - 1) * math.sqrt((1 / K + 1 / (K - 1)) * np.var(values, ddof=1))
    assert found.value == pytest.approx(np.mean(values))
    assert (found.low, found.high) == pytest.approx((np.mean(values) - half, np.mean(values) + half))
    assert found.method == "corrected-t"


@pytest.mark.parametrize(
    ("name", "measure"),
    [("log_loss", metrics.log_loss), ("brier", metrics.brier_score_loss)],
)
def test_losses_are_pooled_and_their_interval_stretched(name, measure):
    found, alone = FOLDED[name], evaluate(TRUTH, score=SCORE)[name]
    assert found.value == pytest.approx(measure(TRUTH, SCORE))
    assert found.other == pytest.approx(np.mean([measure(TRUTH[rows], SCORE[rows]) for rows in ROWS]))
    assert found.rule == "pooled"
    assert "losses of cases add up" in found.reason
    # 1.5 times fewer cases make an interval √1.5 times as wide.
    assert found.high - found.value == pytest.approx(math.sqrt(1.5) * (alone.high - alone.value))
    assert found.value - found.low == pytest.approx(math.sqrt(1.5) * (alone.value - alone.low))
    assert found.method == f"{alone.method}, n/1.5"


def test_a_fold_without_positives_is_left_out_of_the_area_and_of_its_interval():
    truth = TRUTH.copy()
    truth[ROWS[0]] = 0
    found = evaluate(truth, score=SCORE, fold=FOLD)["roc_auc"]
    assert found.value == pytest.approx(AREAS[1:].mean())
    assert (found.folds, found.splits) == (K - 1, K)
    assert found.note == f"undefined in 1 of {K} folds, which are left out"
    # As if that fold had never been: its cases tell nothing of the area.
    left = np.concatenate(ROWS[1:])
    alone = evaluate(truth[left], score=SCORE[left], fold=FOLD[left])["roc_auc"]
    assert (found.low, found.high) == pytest.approx((alone.low, alone.high))
    assert (found.low, found.high) == pytest.approx(area_limits(ROWS[1:], len(left)), abs=5e-6)


def test_leave_one_out_has_no_area_and_says_what_the_pooled_one_is():
    found = evaluate(TRUTH, score=SCORE, fold=np.arange(N))["roc_auc"]
    pooled = metrics.roc_auc_score(TRUTH, SCORE)
    assert math.isnan(found.value)
    assert math.isnan(found.low)
    assert "in no fold is it defined" in found.undefined
    assert f"over all folds together it would be {pooled:.3f}".replace("0.", ".") in found.undefined
    assert "different models" in found.undefined
    assert found.other == pytest.approx(pooled)
    assert (found.folds, found.method) == (0, "none")


def test_one_fold_is_judged_as_predictions_without_folds():
    whole, alone = evaluate(TRUTH, score=SCORE, fold=np.ones(N)), evaluate(TRUTH, score=SCORE)
    for name in ("roc_auc", "log_loss", "accuracy"):
        assert (whole[name].value, whole[name].low, whole[name].high) == pytest.approx(
            (alone[name].value, alone[name].low, alone[name].high)
        )
        assert whole[name].method == alone[name].method
    with pytest.raises(OptionError, match="needs at least two folds, and there is one"):
        evaluate(TRUTH, score=SCORE, fold=np.ones(N), method="corrected-t", measures="roc_auc")


def test_one_fold_takes_the_methods_of_predictions_without_folds():
    one = evaluate(TRUTH, score=SCORE, fold=np.ones(N), method="hanley-mcneil")["roc_auc"]
    assert one.method == "hanley-mcneil"
    assert one.low == pytest.approx(evaluate(TRUTH, score=SCORE, method="hanley-mcneil")["roc_auc"].low)


def test_folds_that_all_agree_have_no_spread_to_make_an_interval_from():
    truth = np.tile([0, 1], 20)
    found = evaluate(truth, score=truth * 0.5 + 0.2, fold=np.arange(40) // 8, measures=["gain_at", "roc_auc"])
    gain, area = found["gain_at"], found["roc_auc"]
    assert (gain.value, gain.spread) == (pytest.approx(0.2), 0)
    assert math.isnan(gain.low)
    assert "same in every fold" in gain.note
    assert area.value == 1
    assert 0.7 < area.low < area.high == 1, "the sizes of the folds still tell something of an area"


def test_a_method_over_folds_is_used_for_losses_too():
    found = evaluate(TRUTH, score=SCORE, fold=FOLD, method="corrected-t")["log_loss"]
    values = np.array([metrics.log_loss(TRUTH[rows], SCORE[rows]) for rows in ROWS])
    half = stats.t.ppf(0.975, K - 1) * math.sqrt((1 / K + 1 / (K - 1)) * values.var(ddof=1))
    assert (found.low, found.high) == pytest.approx((values.mean() - half, values.mean() + half))
    assert (found.rule, found.method) == ("mean", "corrected-t")


def test_a_method_for_the_scores_of_one_model_is_refused():
    with pytest.raises(OptionError, match="takes all scores as those of one model") as caught:
        evaluate(TRUTH, score=SCORE, fold=FOLD, measures="roc_auc", method="delong")
    assert "corrected-t" in caught.value.hint


def test_with_many_folds_a_pooled_measure_is_not_made_in_each(monkeypatch):
    monkeypatch.setattr(fold_scores, "MANY_FOLDS", K - 1)
    found = evaluate(TRUTH, score=SCORE, fold=FOLD, measures=["log_loss", "roc_auc"])
    assert math.isnan(found["log_loss"].other)
    assert found["log_loss"].value == pytest.approx(metrics.log_loss(TRUTH, SCORE))
    assert found["roc_auc"].value == pytest.approx(AREAS.mean())


def test_several_classes_are_averaged_over_folds_too():
    truth = RNG.integers(0, 3, N)
    score = RNG.dirichlet([1, 1, 1], N) + 0.8 * np.eye(3)[truth]
    score /= score.sum(axis=1, keepdims=True)
    found = evaluate(truth, score=score, labels=[0, 1, 2], fold=FOLD)
    macro = [metrics.roc_auc_score(truth[r], score[r], multi_class="ovr") for r in ROWS]
    pairs = [metrics.roc_auc_score(truth[r], score[r], multi_class="ovo") for r in ROWS]
    one = [metrics.roc_auc_score(truth[r] == 1, score[r, 1]) for r in ROWS]
    for name, values in (("macro roc_auc", macro), ("hand_till_auc", pairs), ("roc_auc[1]", one)):
        assert found[name].value == pytest.approx(np.mean(values))
        np.testing.assert_allclose(found.per_fold(name), values)


@pytest.mark.parametrize(
    "name", ["brier", "spherical_score", "brier_skill_score", "log_loss", "log_loss_skill", "roc_auc", "ece"]
)
def test_intervals_of_few_cases_in_groups_and_folds_stay_in_the_range_of_the_measure(name):
    """The Brier score of two classes is at most 1; its range over any number of classes goes to 2."""
    rng = np.random.default_rng(4)
    for n in (6, 9, 12):
        for _ in range(6):
            truth, score = rng.integers(0, 2, n), np.round(rng.random(n), 1)
            given = {"group": rng.integers(0, 3, n), "fold": np.arange(n) % 2}
            found = evaluate(truth, score=score, labels=[0, 1], measures=name, **given)[name]
            ceiling = math.inf if name == "log_loss" else 1.0
            assert math.isnan(found.low) or -math.inf < found.low <= found.high <= ceiling
