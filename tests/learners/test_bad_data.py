"""Data that cannot be learned from is refused, with the numbers and what to do."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp

import heldout
from heldout.errors import ColumnError, FileError, HeldoutError, LabelError, OptionError, ValuesError
from heldout.learners.data import read_problem

X2 = [[1.0], [2.0]]
FRAME = pl.DataFrame({"a": [1, 2], "b": [3.0, 4.5], "y": ["u", "v"]})
TWO_SIDES = "pass one row per case and one column per feature."
NONE_LEFT = "check which column is the target, and which columns were left out."
REGRESSION = (
    "predicting a number is regression, which is not judged here; put the numbers into a few classes first "
    "(numpy.digitize), or choose another column."
)
RESHAPE = "a single feature is a column: X.reshape(-1, 1), or [[value] for value in X]."

CASES = {
    "X and y differ in length": (
        lambda: read_problem(X2, [0, 1, 0]),
        ValuesError,
        "The features have 2 rows, but y has 3 values.",
        "pass one value per row, in the same order.",
    ),
    "a group of another length": (
        lambda: read_problem(X2, [0, 1], group=[1]),
        ValuesError,
        "The features have 2 rows, but group has 1 value.",
        "pass one value per row, in the same order.",
    ),
    "classes missing": (
        lambda: read_problem([[1.0]] * 4, ["u", "v", None, None]),
        ValuesError,
        "The target is missing in 2 of 4 rows; the first is row 3.",
        "missing='drop' (--missing drop) leaves these rows out and says so; better is to find out why.",
    ),
    "all classes missing": (
        lambda: read_problem(X2, [None, None], missing="drop"),
        ValuesError,
        "The target is missing in 2 of 2 rows, so no row is left.",
        "check which columns were chosen.",
    ),
    "a group missing": (
        lambda: read_problem(X2, [0, 1], group=["a", None]),
        ValuesError,
        "The group is missing in 1 of 2 rows; the first is row 2.",
        "missing='drop' (--missing drop) leaves these rows out and says so; better is to find out why.",
    ),
    "one class": (
        lambda: read_problem(X2, ["u", "u"]),
        LabelError,
        "The target has one class only: all 2 rows are 'u'.",
        "a classifier needs cases of at least two classes to learn from; check which column was chosen.",
    ),
    "a continuous target": (
        lambda: read_problem(FRAME, target="b"),
        LabelError,
        "The target 'b' looks continuous: it has 2 different numbers in 2 rows, such as 4.5.",
        REGRESSION,
    ),
    "a continuous target among objects": (
        lambda: read_problem(X2, [None, 2.5]),
        LabelError,
        "The target looks continuous: it has 1 different numbers in 2 rows, such as 2.5.",
        REGRESSION,
    ),
    "an infinite target": (
        lambda: read_problem(X2, [1.0, np.inf]),
        LabelError,
        "The target looks continuous: it has 2 different numbers in 2 rows, such as inf.",
        REGRESSION,
    ),
    "too many whole numbers": (
        lambda: read_problem(np.zeros((30, 1)), np.arange(30)),
        LabelError,
        "The target looks continuous: it has 30 different numbers in 30 rows.",
        REGRESSION,
    ),
    "too many texts": (
        lambda: read_problem(np.zeros((30, 1)), [f"n{i:02}" for i in range(30)]),
        LabelError,
        (
            "The target has 30 different values in 30 rows, such as 'n00', 'n01', 'n02' and 27 more: those are names "
            "of cases, not classes."
        ),
        "choose the column that holds the classes.",
    ),
    "no such target": (
        lambda: read_problem(FRAME, target="yy"),
        ColumnError,
        "The data frame has no column 'yy'. It has: a, b, y.",
        "did you mean 'y'?",
    ),
    "no usual target": (
        lambda: read_problem(FRAME.drop("y")),
        ColumnError,
        "The data frame has no column named class, target, label, y or outcome. It has: a, b.",
        "say which column holds the classes with target=.",
    ),
    "several usual targets": (
        lambda: read_problem(FRAME.with_columns(Class=pl.lit("u"))),
        ColumnError,
        "The data frame has several columns that may be the target: y, Class.",
        "choose one with target=.",
    ),
    "the target among the features": (
        lambda: read_problem(FRAME, target="y", features=["a", "y"]),
        ColumnError,
        "The target 'y' is also among the features, so every class would be known beforehand.",
        "leave it out of the features.",
    ),
    "the target left in X": (
        lambda: read_problem(FRAME, FRAME["y"]),
        ColumnError,
        "The target 'y' is also among the features, so every class would be known beforehand.",
        "leave it out of the features: drop='y'.",
    ),
    "target and group the same": (
        lambda: read_problem(FRAME, target="y", group="y"),
        ColumnError,
        "The target and the group are the same column: 'y'.",
        "choose another column for one of them.",
    ),
    "no features": (
        lambda: read_problem(FRAME, target="y", drop=["a", "b"]),
        ColumnError,
        "The data frame has no features left to learn from. It has: a, b, y.",
        "name fewer columns to drop, or more features.",
    ),
    "no features that are of use": (
        lambda: read_problem({"a": [None, None], "y": [0, 1]}),
        ColumnError,
        (
            "The data frame has no features to learn from besides the class. The column 'a' was left out: it holds no "
            "value at all."
        ),
        NONE_LEFT,
    ),
    "a matrix without columns": (
        lambda: read_problem(np.empty((2, 0)), [0, 1]),
        ColumnError,
        "The array has no features left to learn from. It has: no columns.",
        "name fewer columns to drop, or more features.",
    ),
    "a date asked for": (
        lambda: read_problem(
            {"t": pl.date_range(pl.date(2020, 1, 1), pl.date(2020, 1, 2), eager=True), "y": [0, 1]}, features=["t"]
        ),
        ColumnError,
        "The column 't' of the data frame cannot be a feature: it holds dates or times.",
        "leave it out of the features, or make numbers or categories of it first.",
    ),
    "a column to drop that is not there": (
        lambda: read_problem(FRAME, target="y", drop="aa"),
        ColumnError,
        "The data frame has no column 'aa'. It has: a, b, y.",
        "did you mean 'a'?",
    ),
    "duplicate names": (
        lambda: read_problem(pd.DataFrame([[1, 2, 0], [3, 4, 1]], columns=["a", "a", "y"])),
        ColumnError,
        "The data frame has two columns of the same name (a).",
        "rename one of them, so that each can be asked for.",
    ),
    "infinite values": (
        lambda: read_problem({"a": [1.0, np.inf], "b": [-np.inf, np.inf], "y": [0, 1]}),
        ValuesError,
        "The data frame holds infinite values in a (1), b (2).",
        "mend them, or make them missing (NaN) and let them be filled.",
    ),
    "infinite values in a frame as given": (
        lambda: read_problem(pd.DataFrame({"a": [1.0, np.inf]}), [0, 1], as_given=True),
        ValuesError,
        "The data frame holds infinite values in a (1).",
        "mend them, or make them missing (NaN) and let them be filled.",
    ),
    "infinite values in a sparse matrix": (
        lambda: read_problem(sp.csr_matrix(np.array([[1.0, 0.0], [0.0, np.inf]])), [0, 1]),
        ValuesError,
        "The sparse matrix holds 1 infinite values.",
        "mend them, or make them missing (NaN) and let them be filled.",
    ),
    "one side": (
        lambda: read_problem(np.array([1.0, 2.0]), [0, 1]),
        ValuesError,
        "The features must have two sides, rows and columns. Got one row of 2 values.",
        RESHAPE,
    ),
    "a list of numbers": (
        lambda: read_problem([1.0, 2.0, 3.0], [0, 1, 0]),
        ValuesError,
        "The features must have two sides, rows and columns. Got one row of 3 values.",
        RESHAPE,
    ),
    "a single column of a frame": (
        lambda: read_problem(FRAME["a"], [0, 1]),
        ValuesError,
        "The features must have two sides, rows and columns. Got one row of 2 values.",
        RESHAPE,
    ),
    "three sides": (
        lambda: read_problem(np.zeros((2, 28, 28)), [0, 1]),
        ValuesError,
        "The features must have two sides, rows and columns. Got 3 sides (2 × 28 × 28).",
        "flatten each case into one row: X.reshape(len(X), -1).",
    ),
    "records": (
        lambda: read_problem(np.zeros(2, dtype=[("a", float), ("b", int)]), [0, 1]),
        ValuesError,
        "The features must have two sides, rows and columns. Got records with 2 fields.",
        "make a data frame of them first, for example polars.DataFrame(X).",
    ),
    "ragged rows": (
        lambda: read_problem([[1, 2], [3]], [0, 1]),
        ValuesError,
        "The rows differ in length: row 1 has 2 values, row 2 has 1.",
        TWO_SIDES,
    ),
    "dictionaries as rows": (
        lambda: read_problem([{"a": 1}, {"a": 2}], [0, 1]),
        ValuesError,
        "The features are a list of dictionaries.",
        "make a data frame of them first, for example polars.DataFrame(rows).",
    ),
    "a single number": (
        lambda: read_problem(5, [0, 1]),
        ValuesError,
        "The features must be a table: an array, a data frame or a file. Got int.",
        TWO_SIDES,
    ),
    "complex numbers": (
        lambda: read_problem(np.array([[1j], [2j]]), [0, 1]),
        ValuesError,
        "The features hold values of type complex128, which no learner takes.",
        "turn them into plain numbers first.",
    ),
    "no rows": (
        lambda: read_problem(FRAME.clear(), target="y"),
        ValuesError,
        "The data frame has no rows.",
        "pass at least two cases of each class.",
    ),
    "an empty list": (
        lambda: read_problem([], []),
        ValuesError,
        "The features have no rows.",
        "pass at least two cases of each class.",
    ),
    "a lazy frame": (
        lambda: read_problem(FRAME.lazy(), target="y"),
        ColumnError,
        "The data frame is lazy, so it holds no rows yet.",
        "call .collect() on it first.",
    ),
    "labels that leave one out": (
        lambda: read_problem(X2, ["yes", "no"], labels=["yess", "no"]),
        LabelError,
        "The labels given leave out classes of the target: 'yes'. Given were: 'yess', 'no'.",
        "did you mean 'yes' by 'yess'?",
    ),
    "labels that have nothing in common": (
        lambda: read_problem(X2, ["yes", "no"], labels=[7]),
        LabelError,
        "The labels given leave out classes of the target: 'no', 'yes'. Given were: 7.",
        "name every class that occurs.",
    ),
    "labels named twice": (
        lambda: read_problem(X2, ["yes", "no"], labels=["no", "yes", "no"]),
        LabelError,
        "Labels are named twice: no.",
        "name each class once.",
    ),
    "labels that are one text": (
        lambda: read_problem(X2, ["yes", "no"], labels="yes"),
        LabelError,
        "labels must be a list of the classes. Got 'yes'.",
        "say labels=['no', 'yes'].",
    ),
    "classes given twice": (
        lambda: read_problem(FRAME, ["u", "v"], target="y"),
        OptionError,
        "The classes were given twice: as the second argument and as target=.",
        "leave out one of them.",
    ),
    "values as the target": (
        lambda: read_problem(FRAME, target=["u", "v"]),
        OptionError,
        "target is the name of a column. Got a list.",
        "pass the classes themselves as the second argument.",
    ),
    "no classes": (
        lambda: read_problem(np.zeros((2, 2))),
        OptionError,
        "The array holds features but no classes.",
        "pass the classes as the second argument, one per row.",
    ),
    "another word for missing": (
        lambda: read_problem(X2, [0, 1], missing="ignore"),  # type: ignore[arg-type]
        OptionError,
        "missing must be 'refuse' or 'drop'. Got 'ignore'.",
        "missing='drop' leaves out rows without a class, and says how many.",
    ),
}


@pytest.mark.parametrize(("call", "kind", "what", "hint"), CASES.values(), ids=CASES.keys())
def test_what_cannot_be_learned_from_is_refused_in_two_sentences(call, kind, what, hint):
    with pytest.raises(HeldoutError) as caught:
        call()
    assert (type(caught.value), caught.value.what, caught.value.hint) == (kind, what, hint)


def test_a_dictionary_whose_columns_differ_in_length_is_refused():
    with pytest.raises(ColumnError, match="The dictionary is no table: ShapeError"):
        read_problem({"a": [1, 2, 3], "y": [0, 1]})


@pytest.mark.parametrize(
    ("content", "said"),
    [("", "is empty"), ("a,y\n", "has a header but no rows"), ("a,a,y\n1,2,0\n", "has two columns named 'a'")],
)
def test_files_that_hold_no_table_are_refused_by_name(tmp_path, content, said):
    file = tmp_path / "t.csv"
    file.write_text(content, encoding="utf-8")
    with pytest.raises(FileError, match=f"t.csv {said}"):
        read_problem(file)


def test_a_file_without_a_usual_target_is_refused_with_the_flag(tmp_path):
    file = tmp_path / "t.csv"
    file.write_text("a,b\n1,2\n", encoding="utf-8")
    with pytest.raises(ColumnError) as caught:
        read_problem(file)
    assert caught.value.what == f"{file} has no column named class, target, label, y or outcome. It has: a, b."
    assert caught.value.hint == "say which column holds the classes with --target COLUMN."


def test_a_target_with_few_distinct_whole_numbers_is_classes():
    assert read_problem(np.arange(40.0).reshape(40, 1), np.arange(40) % 20).labels == tuple(range(20))


FEATURES = pd.DataFrame({"a": np.arange(24.0) % 5, "b": np.arange(24.0) % 7})
CLASSES = pd.Series(np.arange(24) % 2)


@pytest.mark.parametrize(
    ("call", "named"),
    [
        (lambda: heldout.validate("naive-bayes", FEATURES, CLASSES.iloc[::-1]), "X and y"),
        (lambda: heldout.validate("naive-bayes", FEATURES, CLASSES, group=CLASSES.iloc[::-1]), "X and group"),
        (lambda: heldout.validate("naive-bayes", FEATURES, CLASSES, fold=CLASSES.iloc[::-1]), "X and fold"),
        (lambda: heldout.validate("naive-bayes", dict(FEATURES), CLASSES.iloc[::-1]), "a and y"),
        (lambda: heldout.validate("naive-bayes", {**FEATURES, "b": CLASSES.iloc[::-1]}, CLASSES), "a and b"),
        (lambda: heldout.learning_curve("naive-bayes", FEATURES, CLASSES.iloc[::-1]), "X and y"),
        (lambda: heldout.bias_variance("naive-bayes", FEATURES, CLASSES.iloc[::-1]), "X and y"),
        (lambda: heldout.card("naive-bayes", FEATURES, CLASSES.iloc[::-1]), "X and y"),
    ],
)
def test_features_classes_and_groups_stand_in_one_order(call, named):
    with pytest.raises(ValuesError, match=f"indexes of {named} hold the same labels in another order"):
        call()


def test_other_indexes_are_matched_by_position_and_that_is_said():
    validate: Any = heldout.validate
    found = validate("naive-bayes", FEATURES.set_index(FEATURES.index + 100), CLASSES, plan="2-fold")
    assert any("matched by position" in note for note in found.problem.notes)
    assert validate("naive-bayes", FEATURES, CLASSES, plan="2-fold").problem.notes == ()


@pytest.mark.parametrize(
    "call",
    [
        lambda X, y: heldout.learning_curve("naive-bayes", X, y, points=2, draws=2),
        lambda X, y: heldout.bias_variance("naive-bayes", X, y, rounds=3),
    ],
    ids=["learning curve", "bias and variance"],
)
def test_what_is_said_of_the_data_stands_in_curves_and_in_bias_and_variance(call):
    found = call(FEATURES.set_index(FEATURES.index + 100), CLASSES)
    said = "The columns have different pandas indexes; their rows were matched by position."
    assert said in found.notes
    assert said in json.loads(found.to_json())["notes"]
    assert "matched by position" in " ".join(str(found).split())
    assert said not in call(FEATURES, CLASSES).notes
