"""Importance by shuffling: against scikit-learn with the same shuffles, and by laws that any importance keeps."""

from __future__ import annotations

import dataclasses
import math
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse, stats
from scipy.stats.contingency import association
from sklearn.inspection import permutation_importance
from sklearn.linear_model import LogisticRegression
from sklearn.tree import DecisionTreeClassifier
from tests.cards.drawn_data import mixed_table, one_that_matters

from heldout.cards.api import card
from heldout.cards.importance import (
    MEASURES,
    FeatureImportance,
    FoldChanges,
    Importance,
    ModelLosses,
    correlation_ratio,
    cramers_v,
    find_related,
    kuncheva_index,
    measure_importance,
    measure_stability,
    shuffle_columns,
)
from heldout.errors import HeldoutError
from heldout.intervals.dependence import Dependence
from heldout.learners.data import read_problem
from heldout.learners.problem import Problem
from heldout.resampling.split_task import Classes


def orders_of_sklearn(seed, columns, times, n):
    """scikit-learn shuffles the column that it has shuffled before, from one seed for every column."""
    column_seed = np.random.RandomState(seed).randint(np.iinfo(np.int32).max + 1)
    made = np.empty((columns, times, n), dtype=np.int64)
    for column in range(columns):
        rng = np.random.RandomState(column_seed)
        index, whole = np.arange(n), np.arange(n)
        for at in range(times):
            rng.shuffle(index)
            whole = whole[index]
            made[column, at] = whole
    return made


def scorer_of(model, y, measure):
    problem = Problem(np.zeros((len(y), 1)), y, np.searchsorted(np.unique(y), y), tuple(np.unique(y).tolist()))
    return ModelLosses(model, Classes.of(problem), MEASURES[measure], problem.truth), problem.truth


SCORING = {"accuracy": "accuracy", "log_loss": "neg_log_loss", "brier": "neg_brier_score"}


@pytest.mark.parametrize("measure", SCORING)
def test_it_is_what_scikit_learn_gives_for_the_same_shuffles(measure):
    X, y = one_that_matters(60)
    model = LogisticRegression().fit(X[:30], y[:30])
    scorer, truth = scorer_of(model, y[30:], measure)
    ours = shuffle_columns(scorer, X[30:], truth, [0, 1, 2], orders_of_sklearn(7, 3, 4, 30))
    theirs = permutation_importance(
        model, X[30:], y[30:], scoring=SCORING[measure], n_repeats=4, random_state=7, n_jobs=1
    )
    np.testing.assert_allclose(ours.shuffles, theirs.importances, atol=1e-12)
    np.testing.assert_allclose(ours.cases.mean(axis=1), theirs.importances_mean, atol=1e-12)


def test_with_three_classes_the_brier_score_is_the_sum_over_them():
    rng = np.random.default_rng(1)
    X, y = rng.normal(size=(50, 3)), rng.integers(0, 3, 50)
    model = LogisticRegression().fit(X, y)
    scorer, truth = scorer_of(model, y, "brier")
    answers = scorer.answers(X, 50)
    by_hand = np.square(model.predict_proba(X) - np.eye(3)[y]).sum(axis=1)
    np.testing.assert_allclose(scorer.losses(answers, truth), by_hand)


def test_every_form_of_the_same_features_gives_the_same():
    X, y = one_that_matters(40)
    names = ["a", "b", "c"]
    orders = orders_of_sklearn(3, 3, 2, 40)
    found = []
    frame = pd.DataFrame(X, columns=names, index=np.arange(40)[::-1])
    for table in (X, sparse.csr_matrix(X), frame, pl.DataFrame(X, schema=names)):
        model = LogisticRegression().fit(table, y)
        scorer, truth = scorer_of(model, y, "brier")
        found.append(shuffle_columns(scorer, table, truth, [0, 1, 2], orders).shuffles)
    for other in found[1:]:
        np.testing.assert_allclose(other, found[0], atol=1e-5)


@given(st.integers(0, 2**31), st.integers(1, 3))
def test_a_feature_that_a_tree_never_asks_about_has_importance_exactly_zero(seed, depth):
    X, y = one_that_matters(40, seed, noise=4)
    tree = DecisionTreeClassifier(max_depth=depth, random_state=0).fit(X, y)
    asked = set(tree.tree_.feature[tree.tree_.feature >= 0].tolist())
    scorer, truth = scorer_of(tree, y, "brier")
    orders = np.random.default_rng(seed).permuted(np.broadcast_to(np.arange(40), (5, 3, 40)), axis=2)
    found = shuffle_columns(scorer, X, truth, [0, 1, 2, 3, 4], orders)
    for column in set(range(5)) - asked:
        assert not found.shuffles[column].any()
        assert not found.moved[column]


@pytest.fixture(scope="module")
def over_five_folds() -> Importance:
    X, y = one_that_matters(200, noise=3)
    return card("logistic", X, y, timing=False, plan="5-fold", seed=5).importance


def test_what_matters_comes_first_and_noise_cannot_be_told_from_nothing(over_five_folds):
    found = over_five_folds
    first, *rest = found.features
    assert first.feature == "x0"
    assert first.sure
    assert all(one.low < 0 < one.high for one in rest)
    assert all(abs(one.value) < 0.05 * first.value for one in rest)
    assert (found.measure, found.method, found.folds, found.cases) == ("brier", "corrected-t", 5, 200)


def test_the_document_has_every_field_of_every_feature(over_five_folds):
    document = over_five_folds.document()["features"]
    names = tuple(field.name for field in dataclasses.fields(FeatureImportance))
    assert [tuple(one) for one in document] == [names] * 4
    assert [one["value"] for one in document] == [one.value for one in over_five_folds.features]


def test_the_interval_is_the_corrected_t_of_the_values_in_the_folds(over_five_folds):
    one = over_five_folds["x0"]
    values = np.array(one.folds)
    half = stats.t.ppf(0.975, 4) * math.sqrt((1 / 5 + 1 / 4) * values.var(ddof=1))
    assert one.value == pytest.approx(values.mean())
    assert one.low == pytest.approx(values.mean() - half)
    assert one.high == pytest.approx(values.mean() + half)


def test_two_copies_of_a_feature_share_its_importance_and_that_is_said():
    X, y = one_that_matters(150, noise=1)
    quick: dict[str, Any] = {"plan": "2-fold", "timing": False, "shuffles": 3}
    alone = card("forest:10", X, y, **quick).importance
    twice = card("forest:10", np.column_stack([X, X[:, 0]]), y, **quick).importance
    assert twice["x0"].value < 0.8 * alone["x0"].value
    assert alone.related == ()
    assert [(pair.first, pair.second, pair.how) for pair in twice.related] == [("x0", "x2", "|r|")]


def test_a_feature_no_fold_uses_says_why_it_has_no_interval():
    X, y = one_that_matters(60, wrong=0)
    for plan in ("2-fold", "holdout 1/2"):
        found = card("tree:1", X, y, plan=plan, timing=False, shuffles=1).importance["x2"]
        assert found.value == 0
        assert math.isnan(found.low)
        assert not found.moved
        assert found.undefined == "no prediction changed in any fold, so there is no spread to judge by"


def test_log_loss_is_undefined_with_a_reason_where_a_shuffle_makes_it_infinite():
    X, y = one_that_matters(60)
    found = card("tree", X, y, plan="2-fold", timing=False, measure="log_loss").importance["x0"]
    assert math.isnan(found.value)
    assert found.undefined.endswith("its log loss is infinite")
    assert card("logistic", X, y, plan="holdout 1/2", timing=False, measure="log-loss").importance["x0"].value > 0


def test_only_the_columns_that_were_named_are_shuffled():
    X, y = one_that_matters(60)
    found = card("tree:1", X, y, plan="holdout 1/2", timing=False, permute=["x1"])
    assert [one.feature for one in found.importance.features] == ["x1"]
    with pytest.raises(HeldoutError, match="There is no feature 'X1 ' to shuffle") as caught:
        card("tree:1", X, y, plan="holdout 1/2", timing=False, permute=["X1 "])
    assert caught.value.hint == "did you mean 'x1'?"


def test_far_too_many_columns_are_not_shuffled_unless_they_are_named():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(40, 201)), np.arange(40) % 3
    found = card("tree:1", X, y, plan="holdout 1/2", timing=False)
    assert found.importance.undefined.startswith("there are 201 features; name up to 200")
    assert found.importance.features == ()
    assert "Not measured: there are 201 features" in str(found)
    named = card("tree:1", X, y, plan="holdout 1/2", timing=False, permute=["x200"])
    assert len(named.importance.features) == 1


def test_tests_of_one_case_have_nothing_to_shuffle():
    X, y = one_that_matters(12)
    found = card("knn:1", X, y, plan="loo", timing=False)
    assert found.importance.undefined == "no test part has two cases whose values could be exchanged"
    assert found.fidelity.n == 12


def test_of_many_models_thirty_are_looked_into_and_that_is_said():
    X, y = one_that_matters(40, noise=0)
    found = card("tree:1", X, y, plan="bootstrap 31", timing=False, shuffles=1)
    assert found.importance.folds == 30
    assert "30 of 31 models were looked into, at even distances" in found.notes


def test_wrong_measures_are_refused_with_the_nearest_name():
    X, y = one_that_matters(30)
    with pytest.raises(HeldoutError, match="There is no importance by 'acuracy'") as caught:
        card("tree", X, y, measure="acuracy")
    assert caught.value.hint == "did you mean 'accuracy'?"
    with pytest.raises(HeldoutError, match="needs probabilities"):
        card("svm", X, y, measure="brier")


def test_asking_for_a_feature_that_is_not_there_names_the_nearest():
    X, y = one_that_matters(30)
    with pytest.raises(HeldoutError, match="There is no importance of 'x00'"):
        card("tree:1", X, y, plan="holdout 2/3", timing=False).importance["x00"]


def test_stability_is_the_mean_over_pairs_of_folds():
    values = np.random.default_rng(2).normal(size=(4, 8))
    found = measure_stability(values)
    pairs = [(a, b) for a in range(4) for b in range(a)]
    assert found.kendall == pytest.approx(np.mean([stats.kendalltau(values[a], values[b])[0] for a, b in pairs]))
    assert found.spearman == pytest.approx(np.mean([stats.spearmanr(values[a], values[b])[0] for a, b in pairs]))
    tops = [set(np.argsort(-row)[:4]) for row in values]
    by_hand = np.mean([(len(tops[a] & tops[b]) * 8 - 16) / (4 * 4) for a, b in pairs])
    assert (found.top, found.pairs) == (4, 6)
    assert found.kuncheva == pytest.approx(by_hand)


def test_folds_that_agree_have_stability_one_and_features_that_tie_have_none():
    same = np.tile([0.3, 0.2, 0.1, 0.0], (5, 1))
    found = measure_stability(same)
    assert (found.kendall, found.spearman, found.kuncheva) == pytest.approx((1, 1, 1))
    flat = measure_stability(np.zeros((5, 4)))
    assert math.isnan(flat.kendall)
    assert flat.undefined == "no fold ranks the features: all of them matter alike"
    assert measure_stability(np.ones((3, 1))).undefined == "there is one feature only, and so nothing to rank"


@given(st.integers(2, 30), st.integers(0, 2**31))
def test_choices_that_were_drawn_overlap_by_nothing_on_the_average(features, seed):
    rng = np.random.default_rng(seed)
    top = int(rng.integers(1, features))
    expected = sum(
        stats.hypergeom.pmf(shared, features, top, top) * kuncheva_index(shared, top, features)
        for shared in range(top + 1)
    )
    assert expected == pytest.approx(0, abs=1e-9)
    assert kuncheva_index(top, top, features) == pytest.approx(1)


def test_associations_are_those_of_the_text_books():
    rng = np.random.default_rng(0)
    a = rng.integers(0, 3, 20_000)
    b = np.where(rng.random(20_000) < 0.7, a, rng.integers(0, 4, 20_000))
    plain = association(np.array([[np.sum((a == i) & (b == j)) for j in range(4)] for i in range(3)]), method="cramer")
    assert cramers_v(a, b) == pytest.approx(plain, abs=2e-3)
    assert cramers_v(a, rng.integers(0, 3, 20_000)) < 0.02
    amount = a + rng.normal(size=20_000)
    explained = 1 - np.mean([amount[a == i].var() for i in range(3)]) / amount.var()
    assert correlation_ratio(a, amount) == pytest.approx(math.sqrt(explained), abs=5e-3)


def test_pairs_of_categories_and_amounts_are_found_too():
    table = mixed_table(200)
    table["hue"] = [{"red": "warm", "green": "cool", "blue": "cold"}[colour] for colour in table["colour"]]
    table["wavelength"] = [{"red": 650.0, "green": 530.0, "blue": 470.0}[colour] for colour in table["colour"]]
    found = find_related(read_problem(table, target="bought"))
    assert {(pair.first, pair.second, pair.how) for pair in found} == {
        ("colour", "hue", "Cramér's V"),
        ("colour", "wavelength", "eta"),
        ("hue", "wavelength", "eta"),
    }


def test_a_plan_that_allows_no_interval_gives_none():
    folds = [FoldChanges(np.array([0.2]), np.array([True]), 3) for _ in range(3)]
    found = measure_importance(
        ["a"], folds, MEASURES["brier"], Dependence(9, refused="they are training cases"), shuffles=1, level=0.9
    )
    assert math.isnan(found["a"].low)
    assert found["a"].undefined == "they are training cases"
