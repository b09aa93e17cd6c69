"""The numbers in findings about counts, classes, costs and certainty are those that others compute."""

from __future__ import annotations

import math

import numpy as np
import pytest
from sklearn.metrics import accuracy_score, f1_score, recall_score
from statsmodels.stats.proportion import proportion_confint
from tests.findings.evaluation_cases import MISS, fired, of_matrix, ranked, visits, weighted

import heldout


def facts(code: str) -> dict:
    return dict(fired(code).review[code].facts)


def columns(*rows: list[int]) -> tuple[np.ndarray, np.ndarray]:
    """The cases of a matrix one by one."""
    table = np.array(rows)
    truth, called = np.nonzero(np.ones_like(table))
    return np.repeat(truth, table.ravel()), np.repeat(called, table.ravel())


def test_the_lecture_example_of_9990_and_10_cases():
    found = of_matrix([9990, 0], [10, 0]).review["H001"]
    assert found.facts["accuracy"] == found.facts["constant"] == 0.999
    assert found.facts["difference"] == 0
    # Without a case that tells the two apart, Tango's limits are ±z²/(n + z²).
    limit = 1.959964**2 / (10_000 + 1.959964**2)
    assert (found.facts["low"], found.facts["high"]) == pytest.approx((-limit, limit), rel=1e-4)
    assert 'Accuracy .999 is no better than always predicting "no" (.999): difference .000' in found.title


def test_the_gain_of_grouped_and_weighted_cases_has_the_interval_of_its_mean():
    rng = np.random.default_rng(0)
    truth = rng.integers(0, 2, 300)
    called = np.where(rng.random(300) < 0.7, truth, 1 - truth)
    group = np.arange(300) // 3
    common = np.bincount(truth).argmax()
    difference = (truth == called).astype(float) - (truth == common)
    found = heldout.evaluate(truth, called, group=group).review["H001"].facts
    assert found["difference"] == pytest.approx(difference.mean())
    sums = np.bincount(group, weights=difference - difference.mean())
    error = math.sqrt(100 / 99 * (sums**2).sum()) / 300
    from scipy.special import expit, logit
    from scipy.stats import t

    # On the logit scale of the range from −1 to 1, which the mean cannot leave.
    part = (difference.mean() + 1) / 2
    half = t.ppf(0.975, 99) * error / 2 / (part * (1 - part))
    expected = [2 * expit(logit(part) + sign * half) - 1 for sign in (-1, 1)]
    # A group is allowed for by its share of each class, which differs a little from one group to the next.
    assert [found["low"], found["high"]] == pytest.approx(expected, rel=1e-3)
    ones = heldout.evaluate(truth, called, weight=np.full(300, 2.0)).review["H001"].facts
    plain = heldout.evaluate(truth, called).review["H001"].facts
    # Weights that say nothing leave a score interval of the same mean, which is near Tango's.
    assert (ones["low"], ones["high"]) == pytest.approx((plain["low"], plain["high"]), abs=0.003)


def test_the_rare_class_that_accuracy_hides():
    truth, called = columns([9990, 10], [90, 10])
    found = facts("H002")
    assert found["class"] == "yes"
    assert found["share"] == pytest.approx(100 / 10_100)
    assert found["accuracy"] == pytest.approx(accuracy_score(truth, called))
    assert found["f1"] == pytest.approx(f1_score(truth, called))
    assert found["recall"] == pytest.approx(recall_score(truth, called))


def test_normal_intervals_are_counted_one_by_one():
    seen = of_matrix([18, 1], [0, 6], method="normal", measures=["accuracy", "recall[yes]", "specificity[yes]"])
    found = seen.review["H005"]
    # n·p·(1 − p) is 25·.96·.04 = .96, 6·1·0 = 0 and 19·18/19·1/19 = .947.
    assert found.facts["broken"] == 3
    wide = of_matrix([180, 1], [20, 60], method="normal", measures=["accuracy", "recall[yes]", "specificity[yes]"])
    found = wide.review["H005"]
    assert (found.facts["broken"], found.facts["measure"]) == (1, "specificity[yes]")
    assert found.facts["spread"] == pytest.approx(181 * (180 / 181) * (1 / 181))


def test_a_limit_can_be_replaced_by_name():
    from heldout.findings.review import find_rule

    seen = of_matrix([90, 1], [2, 7])
    assert find_rule("H006")(seen).outcome == "fired"
    assert find_rule("H006")(seen, cases=9).outcome == "passed"


@pytest.mark.parametrize(("cases", "outcome"), [(9, "fired"), (10, "passed")])
def test_ten_cases_of_a_class_are_enough(cases, outcome):
    assert of_matrix([90, 10], [cases - 5, 5]).review["H006"].outcome == outcome


def test_small_classes_are_named_with_their_cases():
    seen = heldout.evaluate(["a"] * 30 + ["b"] * 3 + ["c"] * 9, ["a"] * 42, labels=["a", "b", "c", "d"])
    found = seen.review["H006"].facts
    assert found["cases"] == {"d": 0.0, "b": 3.0, "c": 9.0}
    # Weights do not make cases.
    heavy = heldout.evaluate(["a"] * 30 + ["b"] * 3, ["a"] * 33, weight=[1.0] * 30 + [50.0] * 3).review["H006"]
    assert heavy.facts["cases"] == {"b": 3.0}


def test_classes_that_are_never_predicted_or_left_out_of_averages():
    truth, called = ["a", "b", "c", "d"] * 5, ["a", "b", "b", "b"] * 5
    seen = heldout.evaluate(truth, called)
    never = seen.review["H007"].facts
    assert (never["classes"], never["cases"]) == (["c", "d"], 10)
    left = seen.review["H008"].facts
    assert left["left_out"] == {"precision": 2, "recall": 0, "f1": 0}
    assert left["labels"] == ["c", "d"]
    assert "left out" in seen["macro precision"].note


def test_a_symmetric_cost_is_a_line_in_the_accuracy():
    found = facts("H010")
    q, p = found["error_low"], found["hit_low"]
    for rows in ([[90, 10], [20, 80]], [[50, 50], [1, 99]]):
        seen = of_matrix(*rows, costs={("yes", "no"): 3, ("no", "yes"): 3})
        assert seen["total_cost"].value == pytest.approx(200 * (q - (q - p) * seen["accuracy"].value))


def test_the_threshold_in_use_beside_the_one_that_the_costs_call_for():
    truth, score = ranked()
    found = facts("H011")

    def cost(threshold: float) -> float:
        called = score >= threshold
        return float((10 * ((truth == 1) & ~called) + ((truth == 0) & called)).mean())

    assert (found["threshold"], found["other"]) == (0.5, pytest.approx(1 / 11))
    assert found["cost"] == pytest.approx(cost(0.5))
    assert found["other_cost"] == pytest.approx(cost(1 / 11))
    times = cost(0.5) / cost(1 / 11)
    assert f"{times:.1f} times those at 0.0909" in fired("H011").review["H011"].title


def test_costs_that_a_column_of_predictions_ignores_and_scores_that_are_no_probabilities():
    truth, score = ranked()
    costs = {(1, 0): 10, (0, 1): 1}
    column = heldout.evaluate(truth, (score >= 0.5).astype(int), score=score, costs=costs).review["H011"]
    assert column.facts == fired("H011").review["H011"].facts
    odds = np.log(score / (1 - score))
    found = heldout.evaluate(truth, score=odds, threshold=0.0, costs=costs).review["H011"].facts
    best = min(((10 * ((truth == 1) & (odds < t)) + ((truth == 0) & (odds >= t))).mean(), -t) for t in odds)
    assert found["other_cost"] == pytest.approx(best[0])
    assert found["other"] == pytest.approx(-best[1])


def test_the_right_threshold_is_hardly_ever_blamed_for_the_costs():
    alarms = 0
    for seed in range(40):
        rng = np.random.default_rng(seed)
        truth = (rng.random(200) < 0.3).astype(int)
        odds = 2.5 * (rng.normal(size=200) + 2.5 * truth) - 2.5**2 / 2 + np.log(3 / 7)
        seen = heldout.evaluate(
            truth, score=1 / (1 + np.exp(-odds)), positive=1, threshold=1 / 6, costs=[[0, 1], [5, 0]],
            cost_rows="truth", measures=["accuracy", "roc_auc"],
        )  # fmt: skip
        alarms += seen.review["H011"].outcome == "fired"
    # Three of 40 or more have a probability of .32 at 5 %, six or more one of .01.
    assert alarms < 6


def test_how_many_cases_a_claim_takes():
    found = fired("H013").review["H013"].facts
    assert found["difference"] == pytest.approx(21 / 30 - 18 / 30)
    assert found["low"] <= 0 < found["high"]
    # The standard error shrinks with the root of n: of the largest gain that the interval allows it is z + z(.8) of
    # them, unless as many cases as there were are enough. The gain may be nothing, which no number of cases shows.
    error = (found["high"] - found["low"]) / (2 * 1.959964)
    least = 30 * ((1.959964 + 0.841621) * error / max(found["high"], -found["low"])) ** 2
    assert found["needed_low"] == pytest.approx(max(least, 30), abs=1)
    assert found["needed_high"] is None
    assert "more than a million" in fired("H013").review["H013"].title


def test_the_width_of_the_headline_and_the_cases_for_half_of_it():
    found = facts("H014")
    low, high = proportion_confint(12, 20, method="wilson")
    assert (found["low"], found["high"]) == pytest.approx((low, high))
    assert found["measure"] == "recall[yes]"

    def width(n: int) -> float:
        from scipy.stats import binom

        hits = np.arange(n + 1)
        ends = proportion_confint(hits, n, method="wilson")
        return float(binom.pmf(hits, n, 0.6) @ (ends[1] - ends[0]))

    assert width(found["needed"]) <= (high - low) / 2 < width(found["needed"] - 1)


def test_groups_that_were_not_used_are_counted():
    found = facts("H015")
    assert (found["column"], found["values"], found["rows"]) == ("patient", 60, 300)
    assert visits(60, 5).count("p7\n") == 5


def test_the_dearer_classifier():
    found = facts("H016")
    assert found["cost"] == 50 + 3000
    assert (found["answer"], found["constant_cost"]) == ("yes", 500)
    assert found["accuracy"] == pytest.approx(520 / 600)
    assert found["constant_accuracy"] == pytest.approx(100 / 600)
    assert MISS["yes", "no"] == 10


def test_weights_leave_as_many_cases_as_kish_says():
    rng = np.random.default_rng(4)
    rng.integers(0, 2, 200)
    rng.random(200)
    weight = np.exp(1.5 * rng.normal(size=200))
    found = weighted(1.5).review["H025"].facts
    assert found["effective"] == pytest.approx(weight.sum() ** 2 / (weight**2).sum())


def test_the_f1_of_always_answering_the_positive_class():
    truth, _ = columns([5, 15], [40, 140])
    assert facts("H027")["always"] == pytest.approx(f1_score(truth, np.ones_like(truth)))


def test_scores_the_wrong_way_round_are_not_called_too_extreme():
    rng = np.random.default_rng(2)
    truth = rng.random(400) < 0.4
    score = 1 / (1 + np.exp(3 * np.where(truth, 1.0, -1.0) + rng.normal(size=400)))
    found = heldout.evaluate(truth.astype(int), score=score, positive=1).review["H012"]
    assert found.title.startswith("Probabilities are the wrong way round")
    assert "H004" in found.advice


def test_more_rows_are_not_asked_for_where_groups_are_the_cases():
    truth = np.tile([1, 1, 0, 0], 30)
    groups = np.arange(120) // 40
    review = heldout.evaluate(truth, np.where(np.arange(120) % 7 == 0, 1 - truth, truth), group=groups).review
    assert review["H014"].outcome == "fired"
    assert "takes" not in review["H014"].title


def test_a_class_below_the_threshold_that_was_given_is_not_said_to_be_unlikely():
    truth, score = np.tile([1, 0], 60), np.tile([0.7, 0.2, 0.6, 0.3], 30)
    title_and_advice = heldout.evaluate(truth, score=score, threshold=0.9).review["H007"]
    assert "threshold" in title_and_advice.advice
    assert "never the highest" not in title_and_advice.advice


def test_bins_that_cross_in_the_middle_are_not_a_ranking_that_is_turned():
    """Two bins beside one half may cross by chance; the ROC area says that the ranking is right."""
    bins = [(0.05, 150, 0.2), (0.45, 400, 0.6), (0.85, 400, 0.56)]
    score = np.concatenate([np.full(n, share) for share, n, _ in bins])
    truth = np.concatenate([np.arange(n) < n * rate for _, n, rate in bins]).astype(int)
    evaluation = heldout.evaluate(truth, score=score)
    assert evaluation["roc_auc"].low > 0.5
    assert evaluation.review["H012"].title.startswith("Probabilities are too extreme at both ends: .450")
