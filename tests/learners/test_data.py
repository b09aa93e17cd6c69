"""Reading data to learn from: every container gives the same problem, and nothing is left out in silence."""

from __future__ import annotations

import datetime as dt
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa  # type: ignore[import-untyped, unused-ignore]
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_iris

from heldout.learners.data import read_problem

WEKA = Path(__file__).parents[1] / "oracles" / "data" / "weka"

ROWS = {
    "size": [1.0, 2.5, None, 4.0],
    "many": [3, 1, 4, 1],
    "colour": ["red", None, "blue", "red"],
    "round": [True, False, True, True],
    "kind": ["b", "a", "b", "a"],
}
MATRIX = [[1.0, 3, 1, 1], [2.5, 1, np.nan, 0], [np.nan, 4, 0, 1], [4.0, 1, 1, 1]]


@pytest.mark.parametrize(
    "make",
    [pl.DataFrame, pd.DataFrame, pa.table, dict, lambda rows: pd.DataFrame(rows).convert_dtypes()],
    ids=["polars", "pandas", "pyarrow", "dictionary", "pandas with its own types"],
)
def test_every_kind_of_table_gives_the_same_problem(make):
    problem = read_problem(make(ROWS), target="kind")
    np.testing.assert_array_equal(problem.features, np.array(MATRIX))
    assert problem.features.dtype == np.float64
    assert problem.names == ("size", "many", "colour", "round")
    assert {place: column.categories for place, column in problem.nominal.items()} == {
        2: ("blue", "red"),
        3: (False, True),
    }
    assert problem.labels == ("a", "b")
    assert problem.truth.tolist() == [1, 0, 1, 0]
    assert problem.target.tolist() == ["b", "a", "b", "a"]
    assert problem.target_name == "kind"
    assert problem.kept is None


def write_csv(frame, path):
    frame.write_csv(path)


def write_tsv(frame, path):
    frame.write_csv(path, separator="\t")


def write_parquet(frame, path):
    frame.write_parquet(path)


def write_lines(frame, path):
    frame.write_ndjson(path)


@pytest.mark.parametrize(
    ("name", "write"),
    [("t.csv", write_csv), ("t.tsv", write_tsv), ("t.parquet", write_parquet), ("t.jsonl", write_lines)],
)
def test_every_kind_of_file_gives_the_same_problem(tmp_path, name, write):
    write(pl.DataFrame(ROWS), tmp_path / name)
    problem = read_problem(tmp_path / name, target="kind")
    np.testing.assert_array_equal(problem.features, np.array(MATRIX))
    assert problem.truth.tolist() == [1, 0, 1, 0]
    assert problem.source == str(tmp_path / name)


def test_arrays_in_an_archive_are_columns(tmp_path):
    np.savez(tmp_path / "t.npz", X=np.arange(8.0).reshape(4, 2), y=np.array([0, 1, 0, 1]))
    problem = read_problem(tmp_path / "t.npz")
    assert problem.names == ("X_0", "X_1")
    assert problem.features.tolist() == np.arange(8.0).reshape(4, 2).tolist()
    assert problem.notes == ("the target is 'y', guessed from its name",)


@pytest.mark.parametrize(
    ("name", "n", "numeric", "nominal", "gaps", "labels"),
    [
        # Counted with grep and awk in the files themselves.
        ("iris", 150, 4, 0, 0, ("Iris-setosa", "Iris-versicolor", "Iris-virginica")),
        ("labor", 57, 8, 8, 326, ("bad", "good")),
        ("vote", 435, 0, 16, 392, ("democrat", "republican")),
        ("breast-cancer", 286, 0, 9, 9, ("no-recurrence-events", "recurrence-events")),
        ("weather.nominal", 14, 0, 4, 0, ("yes", "no")),
    ],
)
def test_weka_s_files_are_read_with_their_declared_classes(name, n, numeric, nominal, gaps, labels):
    problem = read_problem(WEKA / f"{name}.arff")
    assert problem.n == n
    assert problem.features.shape == (n, numeric + nominal)
    assert len(problem.nominal) == nominal
    assert all(column.declared for column in problem.nominal.values())
    assert int(np.isnan(problem.features).sum()) == gaps
    assert problem.labels == labels
    assert set(problem.target.tolist()) == set(labels)
    assert np.array_equal(np.array(problem.labels)[problem.truth], problem.target)
    assert problem.notes[0].startswith("the target is ")
    assert problem.notes[0].endswith(", guessed from its place")


def test_a_declared_class_without_a_case_stays_a_class(tmp_path):
    file = tmp_path / "three.arff"
    file.write_text(
        "@relation r\n@attribute x numeric\n@attribute c {w, v, u}\n@data\n1,u\n2,w\n3,u\n", encoding="utf-8"
    )
    problem = read_problem(file)
    assert problem.labels == ("w", "v", "u")
    assert problem.truth.tolist() == [2, 0, 2]


def test_weights_of_arff_rows_are_neither_class_nor_feature(tmp_path):
    file = tmp_path / "weighted.arff"
    header = "@relation r\n@attribute x numeric\n@attribute c {u, v}\n"
    file.write_text(f"{header}@data\n1,u,{{2}}\n2,v,{{3}}\n3,u\n", encoding="utf-8")
    problem = read_problem(file)
    assert (problem.names, problem.target_name) == (("x",), "c")
    assert any(note.startswith("the weights of the rows were not used") for note in problem.notes)


def test_an_arff_attribute_that_is_called_weight_is_a_feature(tmp_path):
    file = tmp_path / "heavy.arff"
    header = "@relation r\n@attribute c {u, v}\n@attribute weight numeric\n"
    file.write_text(f"{header}@data\nu,60.5\nv,71\nu,58\n", encoding="utf-8")
    assert read_problem(file, target="c").names == ("weight",)


@pytest.mark.parametrize("name", ["class", "Target", " LABEL", "y", "outcome"])
def test_a_target_with_a_usual_name_is_found_and_said(name):
    problem = read_problem(pl.DataFrame({"a": [1, 2], name: ["u", "v"]}))
    assert problem.target_name == name
    assert problem.notes[0] == f"the target is {name!r}, guessed from its name"


def test_features_and_classes_may_come_apart():
    iris = load_iris(as_frame=True)
    expected = load_iris()
    for X, y in (
        (iris.data, iris.target),
        (expected.data, expected.target),
        (expected.data.tolist(), expected.target.tolist()),
        (pl.from_pandas(iris.data), pl.from_pandas(iris.target)),
        (iris.frame, "target"),
    ):
        problem = read_problem(X, y)
        np.testing.assert_array_equal(problem.features, expected.data)
        assert problem.target.dtype.kind == "i"
        assert problem.target.tolist() == expected.target.tolist()
        assert problem.labels == (0, 1, 2)
    assert read_problem(iris.data, iris.target).names == tuple(iris.feature_names)
    assert read_problem(expected.data, expected.target).names == ("x0", "x1", "x2", "x3")


@pytest.mark.parametrize(
    ("y", "target", "labels"),
    [
        ([3, 1, 3], [3, 1, 3], (1, 3)),
        ([2.0, 1.0, 2.0], [2, 1, 2], (1, 2)),
        ([True, False, True], [True, False, True], (False, True)),
        (np.array(["v", "u", "v"]), ["v", "u", "v"], ("u", "v")),
        (pd.Series(["v", "u", "v"], dtype="category"), ["v", "u", "v"], ("u", "v")),
        (pd.Categorical(["v", "u", "v"], categories=["w", "v", "u"]), ["v", "u", "v"], ("w", "v", "u")),
        ([2**70, 5, 2**70], [2**70, 5, 2**70], (5, 2**70)),
        (np.array([[1], [0], [1]]), [1, 0, 1], (0, 1)),
    ],
)
def test_classes_keep_their_type(y, target, labels):
    problem = read_problem([[1.0], [2.0], [3.0]], y)
    assert problem.target.tolist() == target
    assert [type(value) for value in problem.target.tolist()] == [type(value) for value in target]
    assert problem.labels == labels


def test_labels_may_be_given_in_another_order_and_with_more():
    problem = read_problem([[1.0], [2.0]], ["u", "v"], labels=["w", "v", "u"])
    assert problem.labels == ("w", "v", "u")
    assert problem.truth.tolist() == [2, 1]


def test_a_group_is_a_column_or_one_value_per_row():
    frame = pl.DataFrame({"x": [1.0, 2.0, 3.0], "who": ["eve", "ann", "eve"], "y": [0, 1, 0]})
    by_name = read_problem(frame, target="y", group="who")
    by_value = read_problem([[1.0], [2.0], [3.0]], [0, 1, 0], group=["eve", "ann", "eve"])
    for problem in (by_name, by_value):
        assert problem.group is not None
        assert problem.group.tolist() == [1, 0, 1]
        assert problem.group_names == ("ann", "eve")
    assert by_name.names == ("x",)


def test_numbers_of_groups_are_counted_among_those_met():
    problem = read_problem([[1.0], [2.0], [3.0]], [0, 1, 0], group=[17, 3, 17])
    assert problem.group is not None
    assert (problem.group.tolist(), problem.group_names) == ([1, 0, 1], (3, 17))


def test_columns_can_be_chosen_and_dropped():
    frame = pl.DataFrame({"a": [1, 2], "b": [3, 5], "c": [5, 6], "y": [0, 1]})
    assert read_problem(frame, drop="a").names == ("b", "c")
    assert read_problem(frame, drop=["a", "c"]).names == ("b",)
    assert read_problem(frame, features=["c", "a"]).names == ("c", "a")
    matrix = np.array([[1.0, 2.0, 3.0], [4.0, 5.0, 7.0]])
    assert read_problem(matrix, [0, 1], drop=[1]).features.tolist() == [[1.0, 3.0], [4.0, 7.0]]
    assert read_problem(matrix, [0, 1], features=["x2"]).features.tolist() == [[3.0], [7.0]]


def test_what_a_learner_can_make_nothing_of_is_left_out_and_said():
    n = 12
    frame = pl.DataFrame(
        {
            "name": [f"person {i}" for i in range(n)],
            "born": [dt.date(1990, 1, i + 1) for i in range(n)],
            "tags": [["a"]] * n,
            "empty": [None] * n,
            "size": [float(i % 5) for i in range(n)],
            "town": ["Ulm", "Bonn"] * 6,
            "y": [0, 1, 1] * 4,
        }
    )
    problem = read_problem(frame, target="y")
    assert problem.names == ("size", "town")
    assert problem.notes == (
        "the column 'name' was left out: 12 different texts in 12 rows look like identifiers",
        "the column 'born' was left out: it holds dates or times",
        "the column 'tags' was left out: it holds values of type List(String)",
        "the column 'empty' was left out: it holds no value at all",
    )
    assert read_problem(frame, target="y", features=["name", "size"]).names == ("name", "size")


def test_a_column_of_a_matrix_without_any_value_is_left_out_and_said():
    X = np.array([[1.0, np.nan], [2.0, np.nan]])
    problem = read_problem(X, [0, 1])
    assert problem.names == ("x0",)
    assert problem.features.tolist() == [[1.0], [2.0]]
    assert problem.notes == ("the column 'x1' was left out: it holds no value at all",)


def test_constant_and_numbering_columns_are_noted_and_stay():
    frame = pl.DataFrame({"ID": [4, 5, 6], "one": [1, 1, 1], "x": [1.0, 2.0, 2.0], "y": [0, 1, 0]})
    problem = read_problem(frame, target="y")
    assert problem.names == ("ID", "one", "x")
    assert problem.notes == (
        "one column has the same value in every row, which tells nothing: one",
        (
            "the column 'ID' has a different whole number in every row and may only number them; leave it out with "
            "drop='ID' (--drop ID) unless it means something"
        ),
    )
    assert read_problem(frame, target="y", drop="ID").notes[1:] == ()


def test_an_index_that_was_written_without_a_name_is_noted(tmp_path):
    pd.DataFrame({"x": [0.3, 0.1, 0.2, 0.4], "class": ["a", "a", "b", "b"]}).to_csv(tmp_path / "data.csv")
    (note,) = [note for note in read_problem(tmp_path / "data.csv").notes if "number them" in note]
    assert note.startswith("the column 'column_1' has a different whole number in every row")
    assert read_problem(tmp_path / "data.csv", drop="column_1").names == ("x",)


@pytest.mark.parametrize(
    ("columns", "noted"),
    [
        (("predicted", "x"), ["predicted"]),
        (("x", "Y_Pred", "fold"), ["Y_Pred", "fold"]),
        (("x", "p_b"), ["p_b"]),
        (("x", "proba_a", "proba_b"), ["proba_a", "proba_b"]),
        (("p_a", "p_b", "p_c"), []),
        (("x", "score"), []),
        (("weight", "b"), []),
    ],
)
def test_columns_of_an_earlier_model_are_noted_where_nobody_named_them(columns, noted):
    data = {name: np.linspace(at, 2 * at + 1.3, 12) for at, name in enumerate(columns)} | {"class": ["a", "b"] * 6}
    notes = [note for note in read_problem(data).notes if "is called like" in note]
    assert [note.split("'")[1] for note in notes] == noted
    assert all(f"--drop {name}" in note for name, note in zip(noted, notes, strict=True))
    assert not any("is called like" in note for note in read_problem(data, target="class", features=columns).notes)
    assert not any("is called like" in note for note in read_problem(data, drop=noted).notes)


def test_a_column_that_gives_the_class_away_is_noted():
    y = ["u", "v", "w"] * 5
    frame = pl.DataFrame({"code": [{"u": 7, "v": 3, "w": 9}[value] for value in y], "x": range(15), "class": y})
    assert any(note.startswith("the column 'code' has one value for each class") for note in read_problem(frame).notes)
    frame[0, "code"] = 3
    assert not any("'code'" in note for note in read_problem(frame).notes)


def test_rows_without_a_class_or_group_are_dropped_only_when_asked():
    X = pd.DataFrame({"a": [1.0, np.inf, 3.0, 4.0]}, index=[9, 8, 7, 6])
    problem = read_problem(X, ["u", None, "v", "v"], group=[1, 1, None, 2], missing="drop")
    assert problem.features.tolist() == [[1.0], [4.0]]
    assert problem.target.tolist() == ["u", "v"]
    assert problem.group is not None
    assert problem.group.tolist() == [0, 1]
    assert problem.kept is not None
    assert problem.kept.tolist() == [0, 3]
    assert problem.notes == (
        ("2 of 4 rows were dropped: the target is missing in 1 of 4 rows and the group is missing in 1 of 4 rows"),
    )


def test_look_alike_classes_are_noted():
    problem = read_problem([[1.0], [2.0], [3.0]], ["Yes", "yes", "no"])
    assert problem.notes == ("the labels 'Yes' and 'yes' look alike but count as two classes",)


@pytest.mark.parametrize("make", [sp.csr_matrix, sp.csc_matrix, sp.coo_matrix, sp.csr_array])
def test_sparse_matrices_stay_sparse(make):
    problem = read_problem(make(np.eye(4)), [0, 1, 0, 1], missing="drop")
    np.testing.assert_array_equal(problem.features[[2, 0]].toarray(), np.eye(4)[[2, 0]])
    assert sp.issparse(problem.features)
    assert problem.names == ("x0", "x1", "x2", "x3")


def test_text_in_arrays_is_categories_and_numbers_written_as_text_are_numbers():
    for X in ([[1, "a"], [2, "b"], [3, "a"]], np.array([[1, "a"], [2, "b"], [3, "a"]])):
        problem = read_problem(X, [0, 1, 0])
        assert problem.features.tolist() == [[1.0, 0.0], [2.0, 1.0], [3.0, 0.0]]
        assert list(problem.nominal) == [1]


def test_gaps_in_lists_and_masked_arrays_are_gaps():
    expected = [[1.0, 2.0], [np.nan, 3.0]]
    np.testing.assert_array_equal(read_problem([[1, 2], [None, 3]], [0, 1]).features, expected)
    masked = np.ma.array([[1, 2], [5, 3]], mask=[[False, False], [True, False]])
    np.testing.assert_array_equal(read_problem(masked, [0, 1]).features, expected)


class TestAsGiven:
    def test_the_frame_as_it_is_goes_to_the_learner(self):
        frame = pd.DataFrame({"a": [1.0, np.nan], "b": ["x", "y"]})
        given = read_problem(frame, [0, 1], as_given=True).features
        pd.testing.assert_frame_equal(given, frame)
        # A copy: what the caller does with the frame afterwards changes nothing.
        assert given is not frame

    def test_columns_that_are_no_features_are_taken_off(self):
        frame = pl.DataFrame({"a": [1, 2], "b": ["x", "z"], "who": [1, 2], "y": [0, 1]})
        problem = read_problem(frame, target="y", group="who", drop=[], as_given=True)
        assert isinstance(problem.features, pl.DataFrame)
        assert problem.features.columns == ["a", "b"]
        assert problem.nominal == {}

    def test_rows_without_a_class_are_taken_off_too(self):
        frame = pd.DataFrame({"a": [1, 2, 3]}, index=["p", "q", "r"])
        problem = read_problem(frame, [0, None, 1], missing="drop", as_given=True)
        assert problem.features.index.tolist() == ["p", "r"]

    def test_a_file_is_given_as_a_polars_frame(self):
        problem = read_problem(WEKA / "labor.arff", as_given=True)
        assert isinstance(problem.features, pl.DataFrame)
        assert problem.features.shape == (57, 16)
