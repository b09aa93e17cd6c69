"""The threshold that a reader moves shows what an evaluation at that threshold gives."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from tests.report.moved import COSTS, churn, names_at, spread

import heldout
from heldout.report.slider import FIGURES, threshold_explorer, why_none
from heldout.show.explorer import Explorer, evaluated


def judged(truth: Any, score: Any, **asked: Any) -> heldout.Evaluation:
    """An evaluation that works out only what it is asked for."""
    return heldout.evaluate(truth, score=score, measures=["accuracy"], **({"positive": "yes"} | asked))


def explored(evaluation: Any) -> Explorer:
    found = threshold_explorer(evaluation)
    assert found is not None
    return found


def same(found: float, expected: float) -> bool:
    return found == expected or (math.isnan(found) and math.isnan(expected))


def check(explorer: Explorer, at: int, evaluation: Any, *, value: float = 0.0, limit: float = 1e-12) -> None:
    """Compare every figure and the matrix with an evaluation at that position."""
    names = names_at(explorer, at)
    for figure in explorer.figures:
        if figure.name == "net_benefit" or (figure.name == "expected_cost" and evaluation.costs is None):
            continue
        estimate = evaluation[figure.name]
        found = evaluated(figure.formula, names)
        told = figure.method if isinstance(figure.method, str) else figure.method[at]
        assert told.split(":")[0] == estimate.method, figure.name
        assert same(found, estimate.value) or abs(found - estimate.value) <= value, figure.name
        assert figure.low[at] == pytest.approx(estimate.low, abs=limit, nan_ok=True), figure.name
        assert figure.high[at] == pytest.approx(estimate.high, abs=limit, nan_ok=True), figure.name
    order = [evaluation.positive, next(label for label in evaluation.labels if label != evaluation.positive)]
    places = [evaluation.confusion.index(label) for label in order]
    matrix = evaluation.confusion.matrix[np.ix_(places, places)]
    cells = [[evaluated(cell, names) for cell in row] for row in explorer.matrix]
    assert np.allclose(cells, matrix, rtol=0, atol=value)


@pytest.mark.parametrize("positive", ["yes", "no"])
def test_fifty_thresholds_give_the_library_s_values_and_limits(positive):
    truth, score = churn(240)
    score = score if positive == "yes" else 1 - score
    explorer = explored(judged(truth, score, positive=positive, costs=COSTS))
    assert {*FIGURES, "expected_cost", "net_benefit"} == {figure.name for figure in explorer.figures}
    for at in spread(len(explorer.positions), 50):
        threshold = explorer.positions[at]
        check(explorer, at, judged(truth, score, positive=positive, threshold=threshold, costs=COSTS))


def test_with_many_cases_closed_forms_and_draws_stand_beside_each_other():
    truth, score = churn(30_000, seed=3)
    score = np.random.default_rng(0).uniform(-1e-4, 1e-4, len(score)) + score
    explorer = explored(judged(truth, score, threshold=0.4))
    assert explorer.left_out > 0
    methods = set()
    for at in spread(len(explorer.positions), 9):
        there = judged(truth, score, threshold=explorer.positions[at])
        check(explorer, at, there)
        methods |= {there[figure.name].method for figure in explorer.figures if figure.name == "matthews"}
    assert methods == {"dirichlet", "effective-wilson"}


def test_another_level_seed_and_method_are_kept():
    truth, score = churn(80)
    asked: dict[str, Any] = {"level": 0.8, "seed": 5}
    for method in (None, "normal"):
        explorer = explored(judged(truth, score, method=method, **asked))
        for at in spread(len(explorer.positions), 5):
            threshold = explorer.positions[at]
            check(explorer, at, judged(truth, score, threshold=threshold, method=method, **asked))


def test_weights_and_groups_are_kept():
    truth, score = churn(40)
    rng = np.random.default_rng(2)
    for beside in ({"weight": rng.integers(1, 9, 40) / 4}, {"group": rng.integers(0, 12, 40)}):
        explorer = explored(judged(truth, score, **beside))
        for at in spread(len(explorer.positions), 6):
            threshold = explorer.positions[at]
            check(explorer, at, judged(truth, score, threshold=threshold, **beside), value=1e-9, limit=1e-9)


def test_another_prevalence_gives_what_weights_give():
    truth, score = churn(120)
    explorer = explored(judged(truth, score, costs=COSTS))
    figures = [figure for figure in explorer.figures if figure.name != "net_benefit"]
    assert len(figures) == len(explorer.figures) - 1
    share = float((truth == "yes").mean())
    for wanted in (0.01, 0.5, 0.9):
        weight = np.where(truth == "yes", wanted / share, (1 - wanted) / (1 - share))
        for at in spread(len(explorer.positions), 4):
            there = judged(truth, score, weight=weight, threshold=explorer.positions[at], costs=COSTS)
            names = names_at(explorer, at, prevalence=wanted)
            for figure in figures:
                value, expected = evaluated(figure.formula, names), there[figure.name].value
                assert value == pytest.approx(expected, rel=1e-9, abs=1e-12, nan_ok=True), figure.name


def test_other_costs_give_what_the_library_gives_for_them():
    truth, score = churn(120)
    explorer = explored(judged(truth, score))
    cost = next(figure for figure in explorer.figures if figure.name == "expected_cost")
    for at in spread(len(explorer.positions), 4):
        there = judged(truth, score, threshold=explorer.positions[at], costs=COSTS)
        found = evaluated(cost.formula, names_at(explorer, at, cost_miss=10.0, cost_alarm=1.0))
        assert found == there["expected_cost"].value


def test_marks_are_the_best_of_all_thresholds_whether_kept_or_not():
    rng = np.random.default_rng(11)
    n = 150_000
    positive = rng.random(n) < 0.2
    score = 1 / (1 + np.exp(1.5 - 2 * positive - rng.normal(size=n)))
    evaluation = judged(positive, score, positive=True, costs={(False, True): 1, (True, False): 4})
    explorer = explored(evaluation)
    order = np.argsort(-score)
    tp, fp = np.cumsum(positive[order]), np.cumsum(~positive[order])
    worth = {
        "highest F1": 2 * tp / (tp + positive.sum() + fp),
        "highest Youden's J": tp / positive.sum() - fp / (~positive).sum(),
        "cheapest": -(4.0 * (positive.sum() - tp) + fp),
    }
    marks = dict(explorer.marks)
    for name, values in worth.items():
        found = np.count_nonzero(score >= explorer.positions[marks[name]]) - 1
        assert values[found] == pytest.approx(values.max(), rel=1e-12), name
    assert explorer.positions[marks["current threshold"]] == 0.5
    assert explorer.start == marks["current threshold"]


def test_calling_nothing_positive_may_be_cheapest():
    truth, score = churn(60)
    costs = {("no", "yes"): 100.0, ("yes", "no"): 1.0}
    explorer = explored(judged(truth, 1 - score, costs=costs))
    at = dict(explorer.marks)["cheapest"]
    names = names_at(explorer, at)
    assert (names["tp"], names["fp"]) == (0, 0)


def test_given_classes_start_the_slider_where_they_fit():
    truth, score = churn(80)
    fits = judged(truth, score, predicted=np.where(score >= 0.37, "yes", "no"))
    explorer = explored(fits)
    names = names_at(explorer, explorer.start)
    corners = fits.confusion.corners[fits.confusion.index("yes")]
    assert [names[name] for name in ("tp", "fn", "fp", "tn")] == corners.tolist()
    assert "are those of the threshold" in explorer.detail
    other = np.where(np.random.default_rng(0).random(80) < 0.5, "yes", "no")
    assert "not those of one threshold" in explored(judged(truth, score, predicted=other)).detail


def test_where_there_is_no_threshold_to_move_it_says_why():
    truth, score = churn(100)
    fold = np.arange(100) % 5
    several = heldout.evaluate(truth, score=score, positive="yes", fold=fold)
    assert threshold_explorer(several) is None
    assert "several models" in why_none(several)
    counted = heldout.evaluate(truth, truth)
    assert threshold_explorer(counted) is None
    assert "no scores" in why_none(counted)
    three = heldout.evaluate([0, 1, 2, 0], score=[[0.8, 0.1, 0.1], [0.1, 0.8, 0.1], [0.1, 0.1, 0.8], [0.5, 0.3, 0.2]])
    assert "two classes" in why_none(three)
    alone = heldout.evaluate(["yes", "yes"], score=[0.2, 0.7], positive="yes", labels=["no", "yes"])
    assert "one of the two classes" in why_none(alone)


def test_scores_of_half_length_are_cut_where_the_library_cuts_them():
    truth, score = churn(60)
    short = score.astype(np.float32)
    short[:5] = 0.7
    evaluation = judged(truth, short, threshold=0.7)
    explorer = explored(evaluation)
    check(explorer, explorer.start, evaluation)


def test_scores_that_are_no_probabilities_have_a_slider_but_no_net_benefit():
    truth, score = churn(60)
    logit = np.round(np.log(score / (1 - score)), 2)
    evaluation = judged(truth, logit, threshold=0.0)
    explorer = explored(evaluation)
    assert "net_benefit" not in {figure.name for figure in explorer.figures}
    check(explorer, explorer.start, evaluation)
    titles = {
        chart.title
        for section in heldout.evaluate(truth, score=logit, threshold=0.0, positive="yes").page_blocks()
        for chart in getattr(section, "blocks", ())
        if hasattr(chart, "strokes")
    }
    assert "Decision curve" not in titles
    assert "ROC curve" in titles
