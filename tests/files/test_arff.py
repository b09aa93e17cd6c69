"""ARFF: Weka's own files, every form of header and row, and the errors with their lines."""

from __future__ import annotations

from collections import Counter
from datetime import datetime
from pathlib import Path

import polars as pl
import pytest

from heldout.errors import FileError
from heldout.files import column_names, read_arff, read_table

WEKA = Path(__file__).parent.parent / "oracles" / "data" / "weka"


# Counted in the files with grep, apart from this reader.
@pytest.mark.parametrize(
    ("name", "shape", "missing", "last"),
    [
        ("iris", (150, 5), 0, {"Iris-setosa": 50, "Iris-versicolor": 50, "Iris-virginica": 50}),
        ("labor", (57, 17), 326, {"bad": 20, "good": 37}),
        ("vote", (435, 17), 392, {"democrat": 267, "republican": 168}),
        ("weather.nominal", (14, 5), 0, {"yes": 9, "no": 5}),
        ("breast-cancer", (286, 10), 9, {"no-recurrence-events": 201, "recurrence-events": 85}),
        ("diabetes", (768, 9), 0, {"tested_negative": 500, "tested_positive": 268}),
    ],
)
def test_weka_files(name, shape, missing, last):
    frame = read_table(WEKA / f"{name}.arff")
    assert frame.shape == shape
    assert sum(frame.null_count().row(0)) == missing
    classes = frame.to_series(-1)
    assert isinstance(classes.dtype, pl.Enum)
    assert classes.dtype.categories.to_list() == list(last)
    assert Counter(classes.to_list()) == last
    assert column_names(WEKA / f"{name}.arff") == tuple(frame.columns)


def test_first_row_of_iris():
    frame = read_arff(WEKA / "iris.arff")
    assert frame.row(0) == (5.1, 3.5, 1.4, 0.2, "Iris-setosa")
    assert frame.dtypes[:4] == [pl.Float64] * 4


HEADER = """% a remark
@RELATION 'any name'

@Attribute n NUMERIC  % remark
@attribute "i j" integer
@attribute y {a, 'b c',"d",?}
@attribute 's' string
@data
"""


def test_all_kinds_of_tokens():
    frame = read_arff(
        HEADER
        + "1, 2 , a , word\n"
        + "% remark\n\n"
        + "?\t-3\t'b c'\t'it\\'s \\\"x\\\" \\\\ \\n \\t \\u00e9 \\%'  % remark\n"
        + '1e3 4 "d" "%,{}"\n'
        + ".5,+5,?,''\n"
        + "1,2,'?','?'\r\n"
    )
    assert frame.columns == ["n", "i j", "y", "s"]
    assert frame.dtypes == [pl.Float64, pl.Int64, pl.Enum(["a", "b c", "d", "?"]), pl.String]
    assert frame.rows() == [
        (1.0, 2, "a", "word"),
        (None, -3, "b c", 'it\'s "x" \\ \n \t é %'),
        (1000.0, 4, "d", "%,{}"),
        (0.5, 5, None, ""),
        (1.0, 2, "?", "?"),
    ]


PLAIN = "@relation r\n@attribute n real\n@attribute i integer\n@attribute y {a,b}\n@attribute s string\n@data\n"


@pytest.mark.parametrize("quoted", [False, True])
@pytest.mark.parametrize("ends", ["\n", "\r\n", "\r"])
def test_separators_comments_and_blank_lines(quoted, ends):
    text = (
        PLAIN + "%x\n\n1,2,a,é\n 3\t4  b , 🙂 ,% note\n?,?,?,?\n5 6 a x\n%\n" + ("7,8,'b',y" if quoted else "7,8,b,y")
    )
    rows = [(1.0, 2, "a", "é"), (3.0, 4, "b", "🙂"), (None,) * 4, (5.0, 6, "a", "x"), (7.0, 8, "b", "y")]
    assert read_arff(text.replace("\n", ends) if ends != "\r" else text).rows() == rows
    assert read_arff(text.split("\n")).rows() == rows


def test_integer_column_with_a_fraction_is_real():
    assert read_arff(PLAIN + "1,2.5,a,x\n").dtypes[1] == pl.Float64
    assert read_arff(PLAIN + "1,2,a,'x'\n").dtypes[1] == pl.Int64


def test_one_row_and_choice_of_columns(write):
    path = write("a.arff", PLAIN + "1,2,a,x")
    assert read_table(path).rows() == [(1.0, 2, "a", "x")]
    assert read_table(path, columns=["y", "n"]).rows() == [("a", 1.0)]
    assert read_table(write("noending", "% remark\n" + PLAIN + "1,2,a,x")).columns == ["n", "i", "y", "s"]


SPARSE = "@relation r\n@attribute n real\n@attribute y {a,b}\n@attribute z {p,q}\n@data\n"


def test_sparse_rows():
    frame = read_arff(SPARSE + "{0 1.5, 2 q}\n{ }\n{1 b}\n{1 ?}\n3,b,q\n{2 'q',0 7}\n")
    assert frame.rows() == [
        (1.5, "a", "q"),
        (0.0, "a", "p"),
        (0.0, "b", "p"),
        (0.0, None, "p"),
        (3.0, "b", "q"),
        (7.0, "a", "q"),
    ]


def test_weights_of_rows(write):
    frame = read_arff(SPARSE + "1,a,p,{5}\n2,a,q\n{0 3}, {0.5}\n")
    assert frame["weight"].to_list() == [5.0, 1.0, 0.5]
    named = SPARSE.replace(" n ", " weight ")
    assert read_arff(named + "1,a,p,{5}\n").rows() == [(1.0, "a", "p")]
    assert "weight" not in read_arff(SPARSE + "1,a,'p'\n").columns
    assert column_names(write("a.arff", SPARSE + "1,a,p,{5}\n")) == ("n", "y", "z", "weight")


def test_dates():
    head = (
        "@relation r\n@attribute t date\n"
        "@attribute u DATE \"dd.MM.yyyy 'at' HH:mm:ss.SSS\"\n"
        "@attribute v date yyyyMMdd\n@data\n"
    )
    frame = read_arff(head + "2001-04-03T12:13:14,'24.12.2003 at 01:02:03.045',19991231\n?,?,?\n")
    assert frame.row(0) == (
        datetime(2001, 4, 3, 12, 13, 14),
        datetime(2003, 12, 24, 1, 2, 3, 45000),
        datetime(1999, 12, 31),
    )
    assert frame.row(1) == (None, None, None)
    assert frame.dtypes == [pl.Datetime("ms")] * 3


@pytest.mark.parametrize(
    ("header", "message"),
    [
        ("@attribute a real\n@data\n1\n", "line 1: expected @relation, found @attribute a real"),
        ("@relation r\n@data\n1\n", "line 2: expected at least one @attribute"),
        ("@relation r\n@attribute a real\n1\n", "line 3: expected @attribute or @data, found 1"),
        ("@relation r\n@attribute a real\n", "ends after line 2 without a line @data"),
        ("% only a remark\n", "without a line @relation"),
        ("@relation r\n@attribute\n@data\n", "line 2: expected the name of an attribute"),
        ("@relation r\n@attribute a\n@data\n", "line 2: expected a type for attribute 'a'"),
        ("@relation r\n@attribute a b real\n@data\n", "line 2: expected a type for attribute 'a' .* found b"),
        (
            "@relation r\n@attribute a real real\n@data\n",
            "expected nothing more after the type of 'a', found real",
        ),
        ("@relation r\n@attribute a {x,y\n@data\n", "line 2: expected a closing brace"),
        ("@relation r\n@attribute a {x,y,x}\n@data\n", "found x twice"),
        (
            "@relation r\n@attribute 'a real\n@data\n",
            "line 2: expected the end of a quoted text, found 'a real",
        ),
        ("@relation r\n@attribute a relational\n@data\n", "attribute 'a' is relational"),
        ("@relation r\n@attribute a date 'EEE yyyy'\n@data\n", "found EEE in 'EEE yyyy'"),
        ("@relation r\n@attribute a real\n@attribute a real\n@data\n1,1\n", "two columns named 'a'"),
        ("@relation r\n@attribute a real\n@data\n%\n\n", "has a header but no rows"),
    ],
)
def test_broken_headers(write, header, message):
    with pytest.raises(FileError, match=message) as caught:
        read_table(write("a.arff", header))
    assert "a.arff" in caught.value.what


@pytest.mark.parametrize("before", ["1,2,a,x", "1,2,a,'x'"])
@pytest.mark.parametrize(
    ("row", "message"),
    [
        ("1,2,a", "line 9: expected 4 values, one for each attribute, found 3"),
        ("1,2,,a", "line 9: expected 4 values, one for each attribute, found 3"),
        ("1,2,a,x,y", "line 9: expected 4 values, one for each attribute, found 5"),
        ("x,2,a,y", "line 9: expected a number for attribute 'n', found 'x'"),
        ("1,1_0,a,y", "line 9: expected a number for attribute 'i', found '1_0'"),
        ("1,2,A,y", r"line 9: expected one of the declared values of 'y' \(a, b\), found 'A'"),
        ("1,2,a,'y", "line 9: expected the end of a quoted text, found 'y"),
        ("{0 1,2 b}", "line 9: the sparse row omits string attribute 's' .number 3."),
        ("{0 1,3 x,4 y}", "line 9: expected an attribute number below 4, found 4"),
        ("{0 1,3 x,3 y}", "line 9: expected each attribute number once, found 3 twice"),
        ("{0 1,3}", "line 9: expected pairs of number and value"),
        ("{0 1", "line 9: expected a closing brace"),
        ("1,2,a,x,{y}", "line 9: expected a weight in braces after the values"),
        ("1,2,a,}", "line 9: expected values, found }"),
    ],
)
def test_broken_rows(write, before, row, message):
    with pytest.raises(FileError, match=message) as caught:
        read_table(write("a.arff", f"{PLAIN}{before}\n\n{row}\nlater,fault,x\n"))
    assert caught.value.hint


def test_short_row_of_text_is_not_filled_up():
    with pytest.raises(FileError, match="line 6: expected 2 values, one for each attribute, found 1"):
        read_arff("@relation r\n@attribute s string\n@attribute t string\n@data\na,b\na\nc,d\n")


def test_missing_text():
    text = "@relation r\n@attribute s string\n@attribute t string\n@data\na,?\n?,b\n"
    assert read_arff(text).rows() == [("a", None), (None, "b")]


def test_plain_rows_are_not_read_one_by_one(monkeypatch):
    # A million rows take a second by the fast way and many by the other.
    monkeypatch.setattr("heldout.files.arff.read_rows", None)
    frame = read_arff(PLAIN + "% note\n1, 2 ,a,x  \n\n\t?\t3 b,y,%z\n")
    assert frame.rows() == [(1.0, 2, "a", "x"), (None, 3, "b", "y")]


def test_first_fault_is_reported_whatever_its_column():
    with pytest.raises(FileError, match="line 7: expected one of"):
        read_arff(PLAIN + "1,2,c,x\nz,2,a,x\n")


def test_broken_dates():
    head = "@relation r\n@attribute t date\n@data\n"
    for text in ("2001-13-03T12:13:14", "2001-04-03", "'soon'"):
        with pytest.raises(FileError, match="line 4: expected a date written"):
            read_arff(head + text + "\n")
