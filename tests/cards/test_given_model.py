"""The card of a model that is fitted already: nothing is fitted again, and what cannot be known is said."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder
from sklearn.tree import DecisionTreeClassifier
from tests.cards.drawn_data import mixed_table, one_that_matters

import heldout
from heldout.cards.api import card
from heldout.errors import HeldoutError

X, Y = one_that_matters(160)
TRAIN, TEST = slice(0, 80), slice(80, 160)


class NeverAgain(DecisionTreeClassifier):  # type: ignore[misc]
    """A tree that can be fitted once."""

    def fit(self, *arguments, **options):
        if hasattr(self, "tree_"):
            raise AssertionError("it was fitted again")
        return super().fit(*arguments, **options)


def test_nothing_is_fitted_again_and_the_numbers_are_those_of_the_model():
    tree = NeverAgain(max_depth=2, random_state=0).fit(X[TRAIN], Y[TRAIN])
    found = card(model=tree, data=X[TEST], y=Y[TEST], timing=False)  # type: ignore[call-arg]
    assert (found.plan, found.n) == ("a model fitted before", 80)
    plain = heldout.evaluate(Y[TEST], tree.predict(X[TEST]))
    accuracy = found.performance.estimates[0]
    assert accuracy.value == pytest.approx(plain["accuracy"].value)
    assert (accuracy.low, accuracy.high) == pytest.approx((plain["accuracy"].low, plain["accuracy"].high))
    assert found.size.leaves == tree.get_n_leaves()
    assert found.importance.method == "U-statistic t over cases"
    assert found.importance["x0"].sure
    assert found.importance.stability.undefined.startswith("there is one model only")
    assert "Stability over folds does not apply: there is one model only" in " ".join(str(found).split())
    assert found.fidelity.agreement.value > 0.9
    assert found.usefulness.best is not None
    assert any("whether it has seen these cases" in note for note in found.notes)


def test_it_is_the_same_by_the_same_seed():
    model = LogisticRegression().fit(X[TRAIN], Y[TRAIN])
    one, other = (card(model=model, data=X[TEST], y=Y[TEST], timing=False, seed=3).to_json() for _ in range(2))  # type: ignore[call-arg]
    assert one == other


def test_a_class_that_no_case_has_is_known_from_the_model():
    y = np.where(X[:, 1] > 1, "c", np.where(Y == 1, "b", "a"))
    model = LogisticRegression().fit(X, y)
    some = np.flatnonzero(y != "c")[:60]
    found = card(model=model, data=X[some], y=y[some], timing=False, shuffles=1)  # type: ignore[call-arg]
    assert found.labels == ("a", "b", "c")
    assert found.importance.measure == "brier"


def test_a_pipeline_takes_the_frame_that_it_was_fitted_on():
    frame = pd.DataFrame(mixed_table(120)).dropna(ignore_index=True)
    before = make_column_transformer((OneHotEncoder(), ["colour"]), remainder="passthrough")
    features, y = frame[["colour", "size"]], frame["bought"]
    model = make_pipeline(before, DecisionTreeClassifier(max_depth=1)).fit(features[:60], y[:60])
    rest = frame[60:].set_index(np.arange(len(frame) - 60) * 7)
    found = card(model=model, data=rest, target="bought", timing=False)  # type: ignore[call-arg]
    assert found.importance.features[0].feature == "colour"
    assert found.importance["size"].value == 0
    assert found.size.used == 1
    assert found.fidelity.text.startswith("if colour is red: yes")
    assert found.fidelity.agreement.value == 1


def test_groups_are_the_cases_where_there_are_groups():
    model = LogisticRegression().fit(X[TRAIN], Y[TRAIN])
    found = card(model=model, data=X[TEST], y=Y[TEST], group=np.arange(80) // 4, timing=False, shuffles=1)  # type: ignore[call-arg]
    assert found.importance.method == "U-statistic t over groups"
    assert found.usefulness.method == "cluster-robust t"


def test_few_cases_give_no_tree_but_a_reason():
    model = KNeighborsClassifier(1).fit(X[TRAIN], Y[TRAIN])
    found = card(model=model, data=X[80:86], y=Y[80:86], timing=False, shuffles=1)  # type: ignore[call-arg]
    assert found.fidelity.tree is None
    assert found.fidelity.undefined == "there were no cases to fit it to"


FITTED = LogisticRegression().fit(X[TRAIN], Y[TRAIN])
WRONG: dict[str, Any] = {
    "a model that is not fitted": ({"model": LogisticRegression()}, "could not predict these cases", "fit it first"),
    "other columns": ({"data": X[TEST][:, :2]}, "could not predict these cases", "columns that it was fitted on"),
    "a class, not a model": ({"model": LogisticRegression}, "A fitted model has a method predict", "pass it first"),
    "a name": ({"model": "tree"}, "A fitted model has a method predict", "pass it first"),
    "a plan": ({"plan": "5-fold"}, "has no plan", "leave out plan"),
    "no data": ({"data": None, "y": None}, "There are no cases to look at", "X="),
    "categories": (
        {"data": {**mixed_table(20)}, "y": None, "target": "bought"},
        "has columns of categories, colour",
        "that the model's predict takes",
    ),
}


@pytest.mark.parametrize("wrong", WRONG)
def test_what_cannot_work_is_refused_in_two_sentences(wrong):
    options, what, hint = WRONG[wrong]
    with pytest.raises(HeldoutError) as caught:
        card(**{"model": FITTED, "data": X[TEST], "y": Y[TEST], **options})
    assert what in caught.value.what
    assert hint in caught.value.hint
