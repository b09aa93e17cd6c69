"""A small tree in place of a model: how like it is, and how it reads."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.linear_model import LogisticRegression
from sklearn.tree import DecisionTreeClassifier
from statsmodels.stats.proportion import proportion_confint
from tests.cards.drawn_data import mixed_table, one_that_matters

import heldout
from heldout.cards.api import card
from heldout.cards.card_report import rules
from heldout.cards.surrogate import (
    FoldLikeness,
    Fork,
    Leaf,
    Share,
    TreeColumn,
    TreeTable,
    beyond_commonest,
    fit_surrogate,
    format_tree,
    measure_fidelity,
    read_tree,
)
from heldout.intervals.dependence import Dependence
from heldout.learners.data import read_problem
from heldout.show.text import render_text


def test_a_tree_of_three_questions_is_its_own_likeness():
    X, y = one_that_matters(300, noise=3)
    found = card("tree:3", X, y, plan="2-fold", timing=False, shuffles=1).fidelity
    assert found.agreement.value > 0.97
    assert found.beyond.value > 0.94
    exact = card("tree:1", X, y, plan="2-fold", timing=False, shuffles=1).fidelity
    assert exact.agreement.value == 1
    assert exact.tree is not None
    assert exact.tree.leaves == 2


def test_the_agreement_is_that_of_a_tree_fitted_by_hand():
    X, y = one_that_matters(90)
    found = card(LogisticRegression(), X, y, plan="holdout 2/3", timing=False, seed=4)
    folds = found.fidelity
    validation: Any = heldout.validate(LogisticRegression(), X, y, plan="holdout 2/3", seed=4)
    run = validation.run
    train, test = run.splits.train(0), run.splits.test(0)
    model = LogisticRegression().fit(X[train], y[train])
    tree = DecisionTreeClassifier(max_depth=3, random_state=4).fit(X[train], model.predict(X[train]))
    same = tree.predict(X[test]) == model.predict(X[test])
    assert folds.agreement.value == pytest.approx(same.mean())
    assert folds.accuracy.value == pytest.approx((tree.predict(X[test]) == y[test]).mean())
    shares = np.bincount(model.predict(X[test])) / len(test)
    assert folds.commonest == pytest.approx(shares.max())
    assert folds.beyond.value == pytest.approx((same.mean() - shares.max()) / (1 - shares.max()))


def likeness(rows, model, tree, truth=None):
    model = np.asarray(model)
    return FoldLikeness(np.asarray(rows), model, np.asarray(tree), model if truth is None else np.asarray(truth))


def test_the_interval_is_wilsons_with_fewer_cases():
    fold = likeness(np.arange(60), [0] * 30 + [1] * 30, [0] * 30 + [1] * 24 + [0] * 6)
    found = measure_fidelity([fold], ["a", "b"], Dependence(60, factor=1.5), level=0.9, tree=None)
    low, high = proportion_confint(54 / 1.5, 60 / 1.5, 0.1, method="wilson")
    assert (found.agreement.low, found.agreement.high) == pytest.approx((low, high))
    assert found.method == "wilson, n/1.5"
    assert found.beyond.low == pytest.approx((low - 0.5) / 0.5)


def test_a_case_that_was_tested_twice_counts_once():
    once = likeness([0, 1, 2], [0, 1, 1], [0, 1, 0])
    again = likeness([2], [1], [1])
    found = measure_fidelity([once, again], ["a", "b"], Dependence(3), level=0.95, tree=None)
    assert found.n == 3
    assert found.agreement.value == pytest.approx((1 + 1 + 0.5) / 3)


def test_of_a_model_with_one_answer_nothing_lies_beyond_it():
    X, y = one_that_matters(40)
    found = card("majority", X, y, plan="2-fold", timing=False, shuffles=1)
    assert found.fidelity.agreement.value == 1
    assert math.isnan(found.fidelity.beyond.value)
    assert found.fidelity.beyond.undefined.startswith("the model gives one prediction only")
    assert found.fidelity.text.startswith("always ")


@given(st.floats(0, 1), st.floats(0, 0.99))
def test_beyond_is_one_for_a_perfect_likeness_and_zero_for_the_constant(agreement, commonest):
    found = beyond_commonest(Share(agreement, agreement, agreement), commonest)
    assert found.value <= 1 + 1e-9
    assert (found.value >= -1e-9) == (agreement >= commonest - 1e-9) or abs(agreement - commonest) < 1e-6
    assert beyond_commonest(Share(1.0), commonest).value == pytest.approx(1)


def test_categories_and_gaps_are_questions_in_words():
    table = mixed_table(150)
    found = card("tree", table, target="bought", plan="3-fold", timing=False)
    assert found.fidelity.text.startswith("if colour is red:\n")
    assert found.fidelity.agreement.value > 0.85
    assert {one.feature for one in found.importance.features} == {"colour", "size"}


@given(st.integers(0, 2**31))
def test_the_words_lead_every_case_to_the_answer_of_the_tree(seed):
    rng = np.random.default_rng(seed)
    n = 60
    amounts = rng.integers(0, 6, n).astype(float)
    amounts[rng.random(n) < 0.2] = np.nan
    table: dict[str, Any] = {
        "amount": amounts,
        "kind": [None if rng.random() < 0.2 else kind for kind in rng.choice(["u", "v", "w"], n).tolist()],
    }
    answers = rng.integers(0, 2, n)
    problem = read_problem(table, np.where(answers == 1, "yes", "no"))
    seen = TreeTable.of(problem)
    tree = fit_surrogate(seen.matrix, answers, seed % 1000)
    node = read_tree(tree, seen, ["no", "yes"])
    said = [walk(node, table["amount"][at], table["kind"][at]) for at in range(n)]
    assert said == [["no", "yes"][code] for code in tree.predict(seen.matrix)]
    assert sum(leaf.cases for _, leaf in rules(node)) == n


def walk(node, amount, kind):
    """Follow the words alone, as a reader would."""
    while isinstance(node, Fork):
        node = node.yes if holds(node.holds, amount, kind) else node.no
    assert isinstance(node, Leaf)
    return node.answer


def holds(words, amount, kind):
    if words.startswith("kind is "):
        return (kind or "missing") == words.removeprefix("kind is ")
    gap = words.endswith(" or missing")
    limit = float(words.removesuffix(" or missing").removeprefix("amount ≤ "))
    return gap if np.isnan(amount) else amount <= limit


def test_questions_with_one_answer_on_both_sides_are_left_out():
    matrix = np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]] * 3)
    answers = np.array([0, 0, 0, 1] * 2 + [0, 0, 0, 0])
    table = TreeTable(matrix, (TreeColumn("a"), TreeColumn("b")))
    node = read_tree(fit_surrogate(matrix, answers, 0), table, ["no", "yes"])
    both = [leaf.answer for _, leaf in rules(node)]
    assert sorted(both) == ["no", "no", "yes"]
    assert format_tree(node).count("if ") == 2
    assert "67 % as the model" in format_tree(node)


def test_of_very_many_cases_some_are_drawn_and_that_is_said():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(20_002, 1))
    y = (X[:, 0] > 0).astype(int)
    options: dict[str, Any] = {"timing": False, "shuffles": 1}
    found = card("tree:1", X, y, plan="holdout 1/20000", **options)
    said = "of larger training and test parts, 20,000 cases drawn at random were used for the agreement"
    assert (found.n, found.fidelity.n) == (20_002, 20_000)
    assert found.fidelity.notes == (said,)
    assert found.fidelity.document()["notes"] == [said]
    assert "Of larger training and test parts, 20,000 cases" in " ".join(str(found).split())
    assert "Of larger training and test parts, 20,000 cases" in " ".join(render_text(found.page_blocks()).split())
    fewer = card("tree:1", X, y, plan="holdout 1/2", **options)
    assert fewer.fidelity.notes == ()
    assert fewer.importance.notes == ("of larger test parts, 2,000 cases were shuffled",)


def test_with_groups_the_interval_is_over_folds():
    X, y = one_that_matters(120)
    found = card("logistic", X, y, plan="3-fold", timing=False, shuffles=1, group=np.arange(120) // 4).fidelity
    assert found.method == "corrected-t"
    assert found.agreement.low < found.agreement.value < 1
