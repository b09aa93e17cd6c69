"""The numbers in findings about scores, probabilities and thresholds are those that scikit-learn and counting give."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.metrics import accuracy_score, average_precision_score, f1_score, roc_auc_score
from tests.findings.evaluation_cases import best_threshold, certain, fired, mixed_up, needle, overconfident, ranked

import heldout


def facts(code: str) -> dict:
    return dict(fired(code).review[code].facts)


def given(seen: heldout.Evaluation) -> np.ndarray:
    """The scores that an evaluation was given."""
    assert seen.predictions is not None
    assert seen.predictions.scores is not None
    return seen.predictions.scores.values


def test_the_roc_area_that_hides_poor_precision():
    truth, score = needle()
    found = facts("H003")
    assert found["roc_auc"] == pytest.approx(roc_auc_score(truth, score))
    assert found["average_precision"] == pytest.approx(average_precision_score(truth, score))
    assert found["share"] == 0.01


def test_of_many_classes_the_one_with_the_poorest_precision_is_named():
    rng = np.random.default_rng(5)
    truth = np.repeat([0, 1, 2], [1000, 960, 40])
    score = rng.normal(size=(2000, 3))
    score[np.arange(2000), truth] += [3.0, 3.0, 1.5][0]
    score[:, 2] -= 0.2
    score[truth == 2, 2] -= 1.2
    seen = heldout.evaluate(truth, score=score)
    found = seen.review["H003"]
    assert found.facts["class"] == 2
    assert found.facts["average_precision"] == pytest.approx(average_precision_score(truth == 2, score[:, 2]))


def test_reversed_scores_and_the_area_the_other_way_round():
    truth, score = ranked()
    found = facts("H004")
    assert found["roc_auc"] == pytest.approx(roc_auc_score(truth, 1 - score))
    assert found["reversed"] == pytest.approx(roc_auc_score(truth, score))


@pytest.mark.parametrize("aim", ["accuracy", "F1", "Youden's J", "cost"])
def test_a_threshold_is_caught_whatever_it_is_the_best_for(aim):
    truth, score = ranked()
    costs = {(1, 0): 7, (0, 1): 2} if aim == "cost" else None
    measured = {
        "accuracy": accuracy_score,
        "F1": f1_score,
        "Youden's J": lambda t, p: p[t == 1].mean() - p[t == 0].mean(),
        "cost": lambda t, p: -(7 * ((t == 1) & (p == 0)) + 2 * ((t == 0) & (p == 1))).mean(),
    }[aim]
    values = np.array([measured(truth, (score >= t).astype(int)) for t in score])
    chosen = float(score[values.argmax()])
    found = heldout.evaluate(truth, score=score, threshold=chosen, costs=costs).review["H009"]
    assert found.outcome == "fired"
    assert aim in found.facts["best_for"]
    assert abs(found.facts["values"][aim]) == pytest.approx(abs(values.max()))
    below = np.sort(score)[np.searchsorted(np.sort(score), chosen) - 1]
    between = heldout.evaluate(truth, score=score, threshold=float((chosen + below) / 2), costs=costs).review["H009"]
    assert aim in between.facts["best_for"]


def test_a_score_that_is_best_for_nothing_passes_and_so_does_a_round_number():
    truth, score = ranked()
    other = float(np.sort(score)[40])
    found = heldout.evaluate(truth, score=score, threshold=other).review["H009"]
    assert (found.outcome, found.facts["best_for"]) == ("passed", [])
    near = round(best_threshold(), 2)
    assert heldout.evaluate(truth, score=score, threshold=near).review["H009"].outcome == "passed"


def test_where_probabilities_are_off():
    truth, _ = ranked()
    seen = overconfident()
    said = given(seen)
    found = seen.review["H012"].facts
    inside = (said > found["from"]) & (said <= found["to"]) | ((found["from"] == 0) & (said == 0))
    assert found["n"] == inside.sum()
    assert found["predicted"] == pytest.approx(said[inside].mean())
    assert found["observed"] == pytest.approx(truth[inside].mean())
    assert not found["observed_low"] <= found["predicted"] <= found["observed_high"]
    bins = np.clip(np.ceil(said * 10) - 1, 0, 9)
    parts = [abs((said - truth)[bins == b].sum()) for b in range(10)]
    assert found["error"] == pytest.approx(sum(parts) / len(truth))


def test_tied_pairs_are_counted():
    truth, score = ranked()
    rounded = np.round(score * 4) / 4
    found = facts("H017")
    positive, negative = rounded[truth == 1], rounded[truth == 0]
    assert found["distinct"] == len(np.unique(rounded))
    assert found["tied"] == pytest.approx((positive[:, None] == negative[None, :]).mean())


def test_nearly_perfect_areas_are_doubted_and_few_cases_are_not():
    rng = np.random.default_rng(6)
    truth = np.repeat([0, 1], 500)
    score = truth + rng.normal(0, 0.12, 1000)
    found = heldout.evaluate(truth, score=score, threshold=0.2).review["H018"].facts
    assert found["measure"] == "ROC area"
    assert found["value"] == pytest.approx(roc_auc_score(truth, score))


def test_copies_are_seen_by_their_scores():
    truth, score = ranked()
    found = heldout.evaluate(np.tile(truth, 3), score=np.tile(score, 3)).review["H020"].facts
    assert (found["times"], found["distinct"]) == (3, len(np.unique(score)))


def test_rounded_scores_are_not_taken_for_copied_rows():
    rng = np.random.default_rng(3)
    score = np.repeat(np.arange(101) / 100, 20)
    found = heldout.evaluate((rng.random(len(score)) < score).astype(int), score=score, positive=1).review["H020"]
    assert (found.outcome, "more than 5 rows" in found.title) == ("not applicable", True)


def test_certainties_that_failed_are_counted():
    assert certain(3).review["H022"].facts["cases"] == 3
    assert "H022" not in [found.code for found in certain(0).findings]


def test_predictions_of_another_model_are_counted_at_the_threshold_that_explains_most():
    seen = mixed_up()
    score = given(seen)
    called = ranked.__wrapped__(seed=7)[1] >= 0.5
    least = min(np.mean((score >= t) != called) for t in [*score, np.inf])
    assert seen.review["H023"].facts["share"] == pytest.approx(least)


def test_predictions_beside_the_highest_score_of_many_classes():
    rng = np.random.default_rng(8)
    truth = rng.integers(0, 3, 300)
    score = rng.dirichlet(np.ones(3), 300)
    called = score.argmax(axis=1)
    assert heldout.evaluate(truth, called, score=score).review["H023"].outcome == "passed"
    called[:30] = (called[:30] + 1) % 3
    found = heldout.evaluate(truth, called, score=score).review["H023"]
    assert (found.outcome, found.facts["cases"]) == ("fired", 30)


def test_an_area_a_little_below_one_half_may_be_chance():
    truth = np.tile([0, 1], 50)
    score = np.arange(100.0) - 1.2 * (truth * np.arange(100) % 5)
    area = roc_auc_score(truth, score)
    found = heldout.evaluate(truth, score=score, threshold=50.0).review["H004"]
    assert 0.4 < area < 0.5 < found.facts["high"]
    assert found.outcome == "passed"


@pytest.mark.parametrize("size", [1, 7, 400])
def test_the_best_threshold_is_the_same_in_blocks_of_any_size(size, monkeypatch):
    from heldout.findings import rules_threshold

    truth, score = ranked()
    ranking = heldout.evaluate(truth, score=score).ranking()
    monkeypatch.setattr(rules_threshold, "BLOCK", size)
    found = rules_threshold.best_of(ranking, rules_threshold.AIMS)
    values = [f1_score(truth, (score >= t).astype(int)) for t in ranking.scores]
    assert found["F1"].value == pytest.approx(max(values))
    assert found["F1"].threshold == ranking.scores[int(np.argmax(values))]
    called = (score >= 0.4).astype(int)
    predictions = heldout.evaluate(truth, called, score=score).predictions
    assert predictions is not None
    order = rules_threshold.order_of(predictions, 1)
    assert order is not None
    assert (order.astray, (score >= order.threshold).tolist()) == (0.0, (called == 1).tolist())
