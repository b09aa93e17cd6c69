"""Matrices from text and from files, and what is refused."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pytest

from heldout import Confusion, Costs, evaluate
from heldout.errors import FileError, MatrixError, OptionError
from heldout.files import check_matrix, parse_matrix, read_matrix

EXPECTED = [[50, 0, 0], [0, 47, 3], [0, 2, 48]]


@pytest.mark.parametrize(
    "text",
    [
        "50 0 0; 0 47 3; 0 2 48",
        "50,0,0\n0,47,3\n0,2,48\n",
        " 50, 0, 0;0 47\t3;\n0 2 48;",
        "5e1 0 0.0; 0 47 3; 0 2 48",
    ],
)
def test_inline(text):
    labels, matrix = read_matrix(text)
    assert labels is None
    assert matrix.dtype == np.int64
    assert matrix.tolist() == EXPECTED


def test_weights_and_large_counts():
    assert parse_matrix("0.5 1; 2 3").tolist() == [[0.5, 1.0], [2.0, 3.0]]
    large = 2**53 + 1
    assert parse_matrix(f"{large} 1; 2 3")[0, 0] == large
    assert parse_matrix("7").tolist() == [[7]]


@pytest.mark.parametrize(
    "text",
    [
        "truth\\predicted,a,b,c\na,50,0,0\nb,0,47,3\nc,0,2,48\n",
        "\ufeff,a,b,c\r\na,50,0,0\r\nb,0,47,3\r\nc,0,2,48\r\n",
        ";a;b;c\na;50;0;0\nb;0;47;3\nc;0;2;48",
        "a,b,c\n50,0,0\n0,47,3\n0,2,48\n",
        "x,a,b,c\nc,0,2,48\na,50,0,0\nb,0,47,3\n",
        "a b c\n50 0 0\n0 47 3\n0 2 48\n",
        "a,b,c\na,50,0,0\nb,0,47,3\nc,0,2,48\n",
    ],
)
def test_file_with_labels(write, text):
    labels, matrix = read_matrix(write("m.csv", text))
    assert labels == ("a", "b", "c")
    assert matrix.dtype == np.int64
    assert matrix.tolist() == EXPECTED


def test_file_without_labels_and_with_numbers_as_labels(write):
    assert read_matrix(str(write("m.csv", "1,2\n3,4\n")))[0] is None
    labels, matrix = read_matrix(write("n.csv", "0,1\n1,2\n3,4\n"))
    assert labels == ("0", "1")
    assert matrix.tolist() == [[1, 2], [3, 4]]


def test_two_classes_with_labels(write):
    labels, matrix = read_matrix(write("m.csv", 't,"no, never",yes\n"no, never",5,1\nyes,2,7.5\n'))
    assert labels == ("no, never", "yes")
    assert matrix.tolist() == [[5.0, 1.0], [2.0, 7.5]]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("t,a,b\nc,1,2\nd,3,4\n", "no label in common"),
        ("t,a,b\na,1,2\na,3,4\n", "two rows labelled 'a'"),
        ("t,a,a\na,1,2\na,3,4\n", "two columns labelled 'a'"),
        ("a,b\n1,2\n", "no label in common"),
        ("a,b,c\n1,2,3\n", "not hold a square matrix"),
        ("t,a,b\na,1,2\nb,3\n", "different lengths"),
        ("t,a,b\na,1,x\nb,3,4\n", "row 1, column 2 of .* is 'x'"),
        ("t,a,b\na,1,\nb,3,4\n", "is ''"),
    ],
)
def test_file_that_is_refused(write, text, message):
    with pytest.raises(MatrixError, match=message):
        read_matrix(write("m.csv", text))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "is empty"),
        (" ; ", "is empty"),
        ("1 2; 3", "2 entries in row 1 but 1 in row 2"),
        ("1 2", "1 row and 2 columns"),
        ("1 2; x 4", "row 2, column 1 of the matrix is 'x'"),
        ("1 2; 3 99999999999999999999", "does not fit 64 bits"),
        ("1_0 2; 3 4", "'1_0'"),
    ],
)
def test_text_that_is_refused(text, message):
    with pytest.raises(MatrixError, match=message):
        read_matrix(text)


def test_a_name_that_is_no_file_is_reported_as_one(write, tmp_path):
    write("costs.csv", "1,2\n3,4\n")
    with pytest.raises(FileError, match="There is no file") as caught:
        read_matrix(str(tmp_path / "cost.csv"))
    assert "costs.csv" in caught.value.hint
    with pytest.raises(FileError, match="There is no file"):
        read_matrix("confusion.csv")


@pytest.mark.parametrize(
    ("matrix", "message"),
    [
        ([[1, -2], [3, 4]], "row 1, column 2 of the matrix is -2, which is negative"),
        ([[1, 2], [np.nan, 4]], "row 2, column 1 of the matrix is nan, which is not finite"),
        ([[1, np.inf], [3, 4]], "is inf"),
        ([[0, 0], [0, 0]], "Every entry of the matrix is 0"),
        ([1, 2], "1 dimensions"),
        ([[1, 2, 3], [4, 5, 6]], "2 rows and 3 columns"),
        ([[1, 2], [3]], "different lengths"),
        ([["a", "b"], ["c", "d"]], "such as a"),
        ([[True, False], [False, True]], "bool"),
        ([[1j, 0], [0, 1]], "complex"),
        (np.zeros((0, 0)), "is empty"),
        (np.array([[2**63, 1], [1, 1]], dtype=np.uint64), "9223372036854775808"),
    ],
)
def test_check_refuses(matrix, message):
    with pytest.raises(MatrixError, match=message):
        check_matrix(matrix)


def test_check_accepts():
    assert check_matrix([[1, 2], [3, 4]], ["a", "b"]).dtype == np.int64
    assert check_matrix(np.array([[1, 2], [3, 4]], dtype=np.uint8)).dtype == np.int64
    assert check_matrix(np.array([[1, 2], [3, 4]], dtype=np.float32)).dtype == np.float64
    assert check_matrix(np.array([[1, 2], [3, 2**60]], dtype=object))[1, 1] == 2**60
    with pytest.raises(MatrixError, match=r"2 rows but there are 3 labels \(a, b, c\)"):
        check_matrix([[1, 2], [3, 4]], ["a", "b", "c"])


@pytest.mark.parametrize(
    ("text", "labels", "matrix"),
    [
        ("t,a,b\na,1,2\nc,3,4\n", ("a", "b", "c"), [[1, 2, 0], [0, 0, 0], [3, 4, 0]]),
        ("t,a,b\na,1,2\n", ("a", "b"), [[1, 2], [0, 0]]),
        (",0,1\n0,5,1\n1,0,4\n2,1,1\n", ("0", "1", "2"), [[5, 1, 0], [0, 4, 0], [1, 1, 0]]),
        ("truth,0,1\n0,5,1\n1,0,4\n2,1,1\n", ("0", "1", "2"), [[5, 1, 0], [0, 4, 0], [1, 1, 0]]),
        ("truth,a,b,All\na,5,1,6\nb,0,4,4\nAll,5,5,10\n", ("a", "b"), [[5, 1], [0, 4]]),
        (",predicted a,predicted b\nactual b,0,4\nactual a,5,1\n", ("a", "b"), [[5, 1], [0, 4]]),
    ],
)
def test_a_file_is_read_by_the_labels_of_both_axes(write, text, labels, matrix):
    found, table = read_matrix(write("m.csv", text))
    assert found == labels
    assert table.tolist() == matrix


TRUTH, PREDICTED = list("ababba"), list("bcbbcb")
COUNTS = [[0, 3, 0], [0, 1, 2], [0, 0, 0]]


def crosstab(**options):
    return pd.crosstab(pd.Series(TRUTH, name="truth"), pd.Series(PREDICTED, name="predicted"), **options)


@pytest.mark.parametrize(
    "matrix",
    [
        crosstab(),
        crosstab()[["c", "b"]].loc[["b", "a"]],
        crosstab().T,
        crosstab(margins=True),
        crosstab().reset_index(),
        pl.DataFrame({"truth": ["b", "a"], "c": [2, 0], "b": [1, 3]}),
        pl.DataFrame({"y_pred": ["b", "c"], "a": [3, 0], "b": [1, 2]}),
        pl.DataFrame({"truth": ["b", "a"], "c": [2, 0], "b": [1, 3]}).to_arrow(),
        {"a": {"b": 3}, "b": {"c": 2, "b": 1}},
        crosstab().rename(index="actual {}".format, columns="predicted {}".format),
        crosstab().rename(index="actual {}".format, columns="predicted {}".format).T,
    ],
    ids=["crosstab", "permuted", "transposed", "margins", "reset", "polars", "polars transposed", "arrow", "dictionary",
         "axis words", "axis words transposed"],
)  # fmt: skip
def test_a_labelled_matrix_is_read_by_its_labels(matrix):
    result = evaluate(matrix=matrix, labels=["a", "b", "c"])
    assert result.confusion.matrix.tolist() == COUNTS
    assert result["accuracy"].value == pytest.approx(1 / 6)
    assert Confusion.of(matrix, ["a", "b", "c"]).matrix.tolist() == COUNTS
    own = evaluate(matrix=matrix)
    assert set(own.labels) == {"a", "b", "c"}
    assert own["recall[b]"].value == pytest.approx(1 / 3)
    assert any("no row for" in note for note in own.notes)


def test_the_rows_that_are_named_win_over_the_names_of_the_axes():
    named = evaluate(matrix=crosstab().T)
    assert any("rows of the matrix are the prediction" in note for note in named.notes)
    assert evaluate(matrix=crosstab().T, rows="truth").confusion.matrix.tolist() == np.transpose(COUNTS).tolist()


def test_labels_that_are_given_put_the_classes_in_order_or_name_codes():
    seen = pd.crosstab(pd.Series([0, 1, 1]), pd.Series([0, 1, 0]))
    assert evaluate(matrix=seen, labels=[1, 0]).confusion.matrix.tolist() == [[1, 1], [0, 1]]
    assert evaluate(matrix=seen, labels=["no", "yes"]).labels == ("no", "yes")
    assert evaluate(matrix=pd.DataFrame([[5, 1], [0, 4]]), labels=["b", "a"]).labels == ("b", "a")
    with pytest.raises(MatrixError, match="has the labels 0, 1, and 1, 2 were named"):
        evaluate(matrix=seen, labels=[1, 2])
    with pytest.raises(MatrixError, match="no label in common"):
        evaluate(matrix=pd.DataFrame([[5, 1], [0, 4]], index=["x", "y"], columns=["a", "b"]))


@pytest.mark.parametrize("normalize", ["all", "index", "columns"])
def test_shares_are_no_counts(normalize):
    with pytest.raises(OptionError, match="shares and not counts"):
        evaluate(matrix=crosstab(normalize=normalize))


def test_costs_in_a_frame_go_by_its_labels():
    frame = pd.DataFrame({"yes": [0, 1], "no": [100, 0]}, index=["yes", "no"])
    assert Costs.of(frame, ["no", "yes"], rows="truth").of_error("yes", "no") == 100
    with pytest.raises(MatrixError, match="expected each of"):
        Costs.of(frame, ["no", "maybe"], rows="truth")


def test_a_point_that_may_mark_thousands_is_asked_about():
    # A thousand or one: 1.000 beside 42 has been written for both.
    with pytest.raises(MatrixError, match=r"holds 1\.000 beside numbers without a point") as refused:
        evaluate(matrix="1.000 3; 5 42")
    assert "write 1000, or 1." in refused.value.hint
    for matrix, n in (("1.000 3.000; 5.000 42.000", 51), ("1.500 3; 5 42", 51.5), ("1.000 0; 0 2.000", 3)):
        assert evaluate(matrix=matrix).n == n
