"""Honest splits and what is made of them: groups and copies kept apart, inner plans, fold columns, one dependence."""

from __future__ import annotations

import datetime as dt
import io
import math
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.datasets import load_iris
from sklearn.model_selection import GridSearchCV, KFold, LeaveOneGroupOut
from sklearn.neighbors import KNeighborsClassifier
from sklearn.tree import DecisionTreeClassifier

import heldout
from heldout.errors import LearnerError, OptionError

validate: Any = heldout.validate
evaluate: Any = heldout.evaluate

IRIS, SPECIES = load_iris(return_X_y=True)
# Two classes that are not told apart perfectly.
X, Y = IRIS[50:, :2], np.array(["no", "yes"])[SPECIES[50:] - 1]
GROUPS = np.arange(100) // 4
RNG = np.random.default_rng(8)
GRID = {"n_neighbors": [1, 9]}


def limits(estimate):
    return estimate.value, estimate.low, estimate.high


# ---- rows and groups on both sides


def test_groups_that_a_splitter_or_a_column_tears_are_refused():
    for options in ({"plan": KFold(5, shuffle=True, random_state=0)}, {"fold": np.arange(100) % 5}):
        with pytest.raises(OptionError, match=r"In 5 of 5 splits of .* a group has rows both in training"):
            validate("knn:3", X, Y, group=GROUPS, **options)
        assert validate("knn:3", X, Y, measures="accuracy", **options).complete
    assert validate("knn:3", X, Y, group=GROUPS, plan=LeaveOneGroupOut(), measures="accuracy").complete
    assert validate("knn:3", X, Y, group=GROUPS, fold=GROUPS % 5, measures="accuracy").complete


def test_given_splits_that_test_their_training_rows_are_refused():
    rows = np.arange(100)
    with pytest.raises(OptionError, match="In 1 of 2 splits of 2 given splits rows that are tested also train"):
        validate("knn:1", X, Y, plan=[(rows[::2], rows[1::2]), (rows, rows[::2])])


def test_inner_splits_that_tear_groups_are_refused():
    plan = heldout.plans.nested("5-fold", KFold(3, shuffle=True, random_state=1))
    with pytest.raises(LearnerError, match=r"the inner KFold\(.*\) cannot tune .*: in 3 of 3 splits") as caught:
        validate("knn:3", X, Y, group=GROUPS, plan=plan, grid=GRID)
    assert "keeps groups whole" in caught.value.hint


# ---- copies that a bootstrap draws


class Twins(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Counts the rows it is asked about that it was fitted on."""

    met = 0

    def __init__(self, width=1):
        self.width = width

    def fit(self, X, y):
        self.known = {row.tobytes() for row in np.asarray(X)}
        self.classes_ = np.unique(y)
        return self

    def predict(self, X):
        Twins.met += sum(row.tobytes() in self.known for row in np.asarray(X))
        return np.full(len(X), self.classes_[0])


@pytest.mark.parametrize("plan", ["bootstrap 3", "nested bootstrap 3 / 4-fold unstratified"])
@pytest.mark.parametrize("group", [None, np.arange(40) // 2], ids=["rows", "groups"])
def test_tuning_under_a_bootstrap_never_tests_a_copy_of_a_training_row(plan, group):
    Twins.met = 0
    different = np.arange(40.0)[:, None]
    found = validate(Twins(), different, Y[30:70], plan=plan, grid={"width": [1, 2]}, group=group, training=False)
    assert Twins.met == 0
    assert found.complete


def test_an_inner_plan_that_cannot_keep_copies_together_says_so():
    with pytest.raises(LearnerError, match=r"the inner leave-one-out cannot tune.*drawn more than once were kept"):
        validate("knn:3", X, Y, plan="nested bootstrap 3 / leave-one-out", grid=GRID)


# ---- groups and the bootstrap


def test_the_bootstrap_counts_groups_in_its_intervals():
    # All rows of a group are alike, so that there are 25 cases and not 100.
    alike, classes = np.repeat(RNG.normal(size=(25, 2)), 4, axis=0), np.repeat(RNG.choice(["no", "yes"], 25), 4)
    grouped = validate("knn:3", alike, classes, plan="bootstrap 40", group=GROUPS)
    found = grouped["accuracy"]
    assert found.method.startswith("cluster-logit")
    assert grouped.evaluation.confusion.clusters.number == 25
    assert grouped.evaluation.confusion.n == 100
    counts = grouped.evaluation.confusion.clusters.count
    assert counts.sum() == pytest.approx(100)
    right = grouped.run.predicted == grouped.problem.truth[grouped.run.rows]
    of_case = np.bincount(grouped.run.rows, right) / np.bincount(grouped.run.rows)
    assert found.value == pytest.approx(of_case.mean())
    # As if every group were one case, by the t of 24 degrees of freedom: about twice as wide as 100 rows would be.
    of_group = of_case.reshape(25, 4).mean(axis=1)
    half = 2.06 * of_group.std(ddof=1) / math.sqrt(25) * math.sqrt(1.2)
    assert (found.high - found.low) / 2 == pytest.approx(half, rel=0.15)


@pytest.mark.parametrize("plan", [".632 20", ".632+ 20", "nested .632+ 20 / 3-fold"])
def test_the_corrected_bootstrap_has_no_interval_for_groups(plan):
    options = {"grid": GRID} if "nested" in plan else {}
    found = validate("knn:9", X, Y, plan=plan, group=GROUPS, measures=["accuracy", "f1", "brier"], **options)
    for name in ("accuracy", "f1", "brier"):
        assert math.isfinite(found[name].value)
        assert math.isnan(found[name].low)
        assert math.isnan(found[name].high)
    assert "come in groups" in found["accuracy"].note
    assert math.isfinite(validate("knn:9", X, Y, plan=plan, **options)["accuracy"].low)


# ---- tuning


def test_a_grid_makes_a_nested_plan_and_says_so():
    found = validate("knn:3", X, Y, plan="4-fold", grid=GRID)
    assert found.plan.text == "nested 4-fold / 5-fold"
    assert found.document()["plan"] == "nested 4-fold / 5-fold"
    assert found.fingerprint == validate("knn:3", X, Y, plan="4-fold").fingerprint
    assert found["accuracy"].method == "wilson, n/1.5"
    same = validate("knn:3", X, Y, plan="nested 4-fold / 5-fold", grid=GRID)
    assert same.prediction_rows() == found.prediction_rows()


def test_a_tuned_bootstrap_weighs_every_case_alike():
    found = validate("knn:3", X, Y, plan="bootstrap 10", grid=GRID)
    right = found.run.predicted == found.problem.truth[found.run.rows]
    of_case = np.bincount(found.run.rows, right, 100)[found.run.splits.times_tested > 0]
    times = found.run.splits.times_tested
    assert found["accuracy"].value == pytest.approx((of_case / times[times > 0]).mean())


def test_tuning_under_resubstitution_has_no_interval_either():
    found = validate("knn:3", X, Y, plan="resubstitution", grid=GRID)
    assert math.isnan(found["accuracy"].low)
    assert "trained on" in found["accuracy"].note


@pytest.mark.parametrize("jobs", [1, 2])
def test_inner_splits_that_cannot_be_made_are_a_failure_of_their_split(jobs):
    # Without fold 1 there are too few of the rare class for five inner folds.
    classes = np.where(np.isin(np.arange(100), [0, 1, 2, 3, 10, 11, 12]), "rare", "usual")
    where = np.where(np.arange(100) < 5, 1, np.arange(100) % 2 + 2)
    with pytest.raises(LearnerError, match=r"failed in fold 1 of nested column fold / 5-fold: the inner 5-fold cannot"):
        validate("knn:3", X, classes, fold=where, grid=GRID, jobs=jobs)
    found = validate("knn:3", X, classes, fold=where, grid=GRID, on_error="record", jobs=jobs)
    assert [failure.where for failure in found.run.failures] == ["fold 1"]
    assert "the inner 5-fold" in found.run.failures[0].message
    assert len(found.run.finished) == 2


def test_a_search_that_was_given_keeps_its_own_splits():
    search = GridSearchCV(KNeighborsClassifier(), GRID, cv=7)
    validate(search, X, Y, plan="nested 3-fold / 2-fold", measures="accuracy")
    assert search.cv == 7
    assert validate(search, X, Y, plan="3-fold", measures="accuracy").plan.text == "3-fold"


# ---- the fold column


FOLDS = {
    "dates": [dt.date(2024, 1, 1 + i % 3) for i in range(100)],
    "moments": [dt.datetime(2024, 1, 1 + i % 3, 12, 30) for i in range(100)],
    "fractions": [0.5 + i % 3 for i in range(100)],
    "texts": ["abc"[i % 3] for i in range(100)],
    "numbers": [i % 3 for i in range(100)],
}


@pytest.mark.parametrize("form", [pl.DataFrame, pd.DataFrame], ids=["polars", "pandas"])
@pytest.mark.parametrize("kind", FOLDS)
def test_folds_of_every_kind_work_beside_rows_that_are_dropped(kind, form):
    classes = [None, *Y[1:]]
    frame = form({"a": X[:, 0], "b": X[:, 1], "class": classes, "part": FOLDS[kind]})
    if form is pd.DataFrame and kind == "dates":
        frame["part"] = pd.to_datetime(frame["part"])
    found = validate("knn:3", frame, target="class", fold="part", missing="drop", measures="accuracy")
    assert {(row["fold"], row["row"] % 3) for row in found.prediction_rows()} == {(1, 0), (2, 1), (3, 2)}
    beside = validate("knn:3", X, classes, fold=frame["part"], missing="drop", measures="accuracy")
    assert beside.prediction_rows() == found.prediction_rows()


def test_a_list_of_folds_of_the_wrong_length_is_refused_though_rows_are_dropped():
    with pytest.raises(heldout.errors.ColumnError, match="2 values"):
        validate("knn:3", X, [None, *Y[1:]], fold=[1, 2], missing="drop")


def test_a_fold_column_from_standard_input_is_read_once(tmp_path):
    table = pl.DataFrame({"a": X[:, 0], "b": X[:, 1], "class": Y, "part": np.arange(100) % 3})
    out = io.BytesIO()
    table.write_csv(out)
    command = [str(Path(sys.executable).with_name("heldout")), "validate", "-", "--learner", "knn:3", "--fold", "part"]
    done = subprocess.run(
        [*command, "--measure", "accuracy"], input=out.getvalue(), capture_output=True, cwd=tmp_path, check=False
    )
    assert done.returncode == 0, done.stderr.decode()
    assert "column part" in done.stdout.decode()


# ---- the same predictions, judged again


@pytest.mark.parametrize(
    "plan",
    ["10-fold", "3x4-fold", "5x2-fold", "leave-one-out", "30 x holdout 2/3", "40 x holdout 0.8", "bootstrap 40"],
)
def test_a_file_of_predictions_gives_the_intervals_of_the_validation(plan):
    found = validate(DecisionTreeClassifier(max_depth=3, random_state=0), X, Y, plan=plan)
    rows = pl.DataFrame(found.prediction_rows())
    again = evaluate(rows, truth="truth", predicted="predicted", score="p_yes", fold="fold", id="row", positive="yes")
    for name in ("accuracy", "f1", "kappa", "macro f1", "roc_auc", "log_loss", "brier"):
        one, two = found[name], again[name]
        assert limits(one) == pytest.approx(limits(two), nan_ok=True), name
        assert (one.method, one.rule, one.n) == (two.method, two.rule, two.n)
    if plan != "leave-one-out":
        for name in ("accuracy", "roc_auc"):
            one, two = (judged.interval(name, method="corrected-t") for judged in (found, again))
            assert limits(one) == pytest.approx(limits(two)), name


def test_a_file_with_its_groups_gives_the_intervals_of_grouped_draws():
    for plan in ("bootstrap 40", "20 x holdout 2/3", "3x4-fold"):
        found = validate("knn:9", X, Y, plan=plan, group=GROUPS)
        rows = pl.DataFrame(found.prediction_rows())
        group = GROUPS[rows["row"].to_numpy()]
        again = evaluate(rows, truth="truth", predicted="predicted", fold="fold", id="row", group=group, positive="yes")
        for name in ("accuracy", "f1", "macro f1"):
            assert limits(found[name]) == pytest.approx(limits(again[name])), (plan, name)
            assert found[name].method == again[name].method


def test_a_file_of_every_pair_left_out_gives_them_too():
    found = validate("naive-bayes", X[40:60], Y[40:60], plan="leave-2-out")
    again = evaluate(pl.DataFrame(found.prediction_rows()), truth="truth", predicted="predicted", fold="fold", id="row")
    assert limits(found["accuracy"]) == pytest.approx(limits(again["accuracy"]))
    assert found["accuracy"].method == again["accuracy"].method == "wilson, n/1.5"


def test_draws_of_different_sizes_weigh_every_case_alike_in_a_file():
    fold = [1, 1, 1, 2, 2, 3]
    case = ["a", "b", "c", "a", "b", "a"]
    found = evaluate([1, 0, 1, 1, 0, 1], [1, 1, 1, 0, 0, 0], fold=fold, id=case, positive=1)
    assert found["accuracy"].value == pytest.approx((1 / 3 + 1 / 2 + 1) / 3)
    assert found.confusion.n == 3
    weighted = evaluate(
        [1, 0, 1, 1, 0, 1], [1, 1, 1, 0, 0, 0], fold=fold, id=case, positive=1, weight=[2, 1, 1, 2, 1, 2]
    )
    assert weighted["accuracy"].value == pytest.approx((2 / 3 + 1 / 2 + 1) / 4)


# ---- nested cross-validation as an interval


def test_nested_cv_is_found_by_every_name_and_at_every_level():
    options = {"plan": "5-fold", "method": "nested-cv", "seed": 2}
    found = validate("naive-bayes", X, Y, measures="error_rate", **options)
    error, accuracy = found["error_rate"], found["accuracy"]
    assert accuracy.method == error.method == "nested-cv"
    assert limits(accuracy) == pytest.approx((1 - error.value, 1 - error.high, 1 - error.low))
    assert limits(found.get("accuracy")) == limits(accuracy)
    assert [e.measure for e in found.evaluation] == ["error_rate"]
    narrow = found.interval("error_rate", level=0.5)
    assert narrow.method == "nested-cv"
    assert narrow.value == error.value
    assert narrow.level == 0.5
    straight = validate("naive-bayes", X, Y, measures="error_rate", level=0.5, **options)["error_rate"]
    assert limits(narrow) == pytest.approx(limits(straight))
    assert found.interval("accuracy", method="nested-cv").low == accuracy.low
    assert found.interval("accuracy", method="wilson").method.startswith("wilson")
    assert found["kappa"].method != "nested-cv"
