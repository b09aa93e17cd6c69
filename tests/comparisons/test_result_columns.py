"""Columns of tables of results that are no learners by their names, and errors of which nobody said so."""

from __future__ import annotations

from typing import Any

import pandas as pd
import pytest

import heldout
from heldout.errors import ColumnError, OptionError

# A comparison or ranks: which of the two comes is not for the type checker here.
compare: Any = heldout.compare

A, B = [0.80, 0.82, 0.79, 0.81, 0.83, 0.70], [0.85, 0.84, 0.86, 0.83, 0.80, 0.90]
SMALL = [0.1, 0.2, 0.15, 0.1, 0.12, 0.3]
NAMES = ["iris", "wine", "glass", "sonar", "vote", "zoo"]
# Rows that are data sets, and rows that are splits of one.
ROWS = [{"dataset": NAMES}, {"fold": range(6)}]


@pytest.mark.parametrize("rows", ROWS, ids=["data sets", "splits"])
@pytest.mark.parametrize(
    ("columns", "wrong"),
    [
        ({"A": A, "A_std": SMALL, "B": B, "B_std": SMALL}, "A_std, B_std"),
        ({"rank_A": [1.0, 2, 1, 2, 1, 2], "A": A, "rank B": [2.0, 1, 2, 1, 2, 1], "B": B}, "rank_A, rank B"),
        ({"A low": SMALL, "A high": A, "B": B}, "A low, A high"),
        ({"A": A, "B": B, "n_features": [4, 13, 9, 60, 16, 17]}, "n_features"),
        ({"instances": [150, 178, 214, 208, 435, 101], "classes": [3, 3, 6, 2, 2, 7], "A": A, "B": B},
         "instances, classes"),
        ({"A": A, "B": B, "imbalance": SMALL}, "imbalance"),
        ({"A": A, "B": B, "p_value": SMALL}, "p_value"),
        ({"A": A, "B": B, "delta": [b - a for a, b in zip(A, B, strict=True)]}, "delta"),
        ({"A": A, "training_time": SMALL, "B": B}, "training_time"),
        ({"A": A, "A_time": SMALL, "B": B, "B_time": SMALL}, "A_time, B_time"),
    ],
)  # fmt: skip
def test_columns_beside_learners_are_not_ranked_among_them(rows, columns, wrong, tmp_path):
    frame = pd.DataFrame(rows | columns)
    frame.to_csv(tmp_path / "results.csv", index=False)
    for form in (frame, tmp_path / "results.csv"):
        with pytest.raises(ColumnError, match=rf"no results of a learner: {wrong}\.\n"):
            compare(form, measure="accuracy")


@pytest.mark.parametrize("rows", ROWS, ids=["data sets", "splits"])
@pytest.mark.parametrize(
    "columns",
    [("accuracy", "f1"), ("train", "test"), ("train_score_time_A", "A"), ("A_acc", "A_f1"), ("A_train", "A_test"),
     ("test_accuracy", "train_accuracy"), ("Percent_correct", "Kappa_statistic")],
)  # fmt: skip
def test_measures_and_parts_of_the_data_are_no_learners(rows, columns):
    table = pd.DataFrame(rows | dict(zip(columns, (A, B), strict=True)))
    if columns[1] == "A":
        assert compare(table, measure="accuracy").names == columns
        return
    with pytest.raises(ColumnError, match="several measures, or parts of the data, of one learner: " + columns[0]):
        compare(table)


@pytest.mark.parametrize("rows", ROWS, ids=["data sets", "splits"])
@pytest.mark.parametrize(
    "columns", [("A_error", "B_error"), ("Loss tree", "Loss bayes"), ("A log loss", "B log loss"), ("a.err", "b.err")]
)
def test_errors_are_compared_as_errors_or_not_at_all(rows, columns):
    table = pd.DataFrame(rows | {columns[0]: SMALL, columns[1]: A})
    with pytest.raises(OptionError, match="hold errors or losses, and where no measure is named higher") as refused:
        compare(table)
    assert "--measure error_rate" in refused.value.hint
    assert f"{columns[0]} is better than {columns[1]}" in compare(table, measure="error_rate").verdict
    assert f"{columns[1]} is better than {columns[0]}" in compare(table, measure="accuracy").verdict


@pytest.mark.parametrize("named", ["model", "Learner", "Key_Scheme"])
def test_a_table_whose_rows_are_learners_is_turned_by_its_owner(named):
    turned = pd.DataFrame({named: ["tree", "bayes"], "iris": A[:2], "wine": B[:2], "glass": A[2:4]})
    for form in (turned, turned.set_index(named)):
        with pytest.raises(ColumnError, match=f"The rows of this table are learners, by the column {named}:"):
            compare(form)
    long = pd.DataFrame({"dataset": NAMES * 2, named: ["tree"] * 6 + ["bayes"] * 6, "accuracy": A + B})
    with pytest.raises(ColumnError, match="The rows of this table are learners"):
        compare(long)
    assert compare(turned.set_index(named).T.rename_axis("dataset")).names == ("tree", "bayes")


@pytest.mark.parametrize(
    "columns",
    [("alpha", "delta"), ("gini", "entropy"), ("svm", "svm_rbf"), ("mean", "reference"), ("bert_mean", "bert_max"),
     ("error correction", "boosting"), ("focal_loss", "hinge"), ("features", "embeddings"), ("A_mean", "B_mean")],
)  # fmt: skip
def test_learners_may_have_such_words_in_their_names(columns):
    table = pd.DataFrame({"dataset": NAMES} | dict(zip(columns, (A, B), strict=True)))
    assert compare(table).names == columns
