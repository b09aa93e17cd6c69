"""Delimited text: separators, types, missing values, quotes and ragged rows."""

from __future__ import annotations

import csv
import gzip
import io
import math
import sys
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from heldout import evaluate
from heldout.errors import ColumnError, FileError
from heldout.files import column_names, read_table
from heldout.files.column_types import typed
from heldout.files.delimited import as_kind, kind_of_piece, read_delimited
from heldout.files.input_stream import Content


def test_types_come_from_the_whole_file(write):
    rows = "\n".join(f"{n},{n}.5,true,x{n}" for n in range(3000))
    frame = read_table(write("a.csv", f"i,f,b,s\n{rows}\nlate,1,false,y\n"))
    assert frame.dtypes == [pl.String, pl.Float64, pl.Boolean, pl.String]
    assert frame.height == 3001
    assert frame["i"][0] == "0"
    assert frame["i"][-1] == "late"


def test_integers_and_booleans(write):
    frame = read_table(write("a.csv", "i,b,c\n1,True,TRUE\n-2,False,False\n,,\n"))
    assert frame.dtypes == [pl.Int64, pl.Boolean, pl.String]
    assert frame.rows() == [(1, True, "TRUE"), (-2, False, "False"), (None, None, None)]


@pytest.mark.parametrize(
    "values", [["007", "7"], ["7", "-012", "3"], ["007", "1.5"], ["12345678901234567890", "1"], ["1e3", "1000"]]
)
def test_codes_stay_text(write, values):
    frame = read_table(write("a.csv", "code,x\n" + "".join(f"{value},1\n" for value in values)))
    assert frame["code"].to_list() == values


@pytest.mark.parametrize("values", [["0", "0.5", "00.5"], ["0", "-0", "10"]])
def test_zeros_that_are_no_codes_are_numbers(write, values):
    frame = read_table(write("a.csv", "n,x\n" + "".join(f"{value},1\n" for value in values)))
    assert frame["n"].to_list() == [float(value) for value in values]


def test_nan_stays_nan_and_empty_is_null(write):
    frame = read_table(write("a.csv", 'p,y\n0.5,a\nNaN,""\nnan,c\n,d\n'))
    assert frame["p"][0] == 0.5
    assert math.isnan(frame["p"][1])
    assert math.isnan(frame["p"][2])
    assert frame["p"][3] is None
    assert frame["y"].to_list() == ["a", None, "c", "d"]


def test_numbers_after_a_blank_are_numbers(write):
    frame = read_table(write("a.csv", "y, p\na, 0.25\n b, 1\n"))
    assert frame.rows() == [("a", 0.25), (" b", 1.0)]
    assert frame.columns == ["y", "p"]


@pytest.mark.parametrize(
    ("name", "mark"),
    [("a.csv", ";"), ("a.csv", "\t"), ("a.csv", "|"), ("a.tsv", "\t"), ("a", ";"), ("a.tab", ",")],
)
def test_separator_is_found(write, name, mark):
    path = write(name, f"id{mark}label\n1{mark}yes\n2{mark}no\n")
    assert read_table(path).rows() == [(1, "yes"), (2, "no")]
    assert column_names(path) == ("id", "label")


def test_separator_that_fits_the_rows_wins(write):
    frame = read_table(write("a.csv", "id;p, of a, b, c\n1;0,5\n2;0,25\n"))
    assert frame.rows() == [(1, 0.5), (2, 0.25)]


def test_declared_separator_line_is_not_the_header(write):
    assert read_table(write("a.csv", "sep=;\na;b\n1;2\n")).rows() == [(1, 2)]


@pytest.mark.parametrize("ends", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("bom", [b"", b"\xef\xbb\xbf"])
def test_line_ends_and_byte_order_mark(write, ends, bom):
    path = write("a.csv", bom + ends.join(["a,b", "1,x", "", "2,y", ""]).encode())
    assert read_table(path).rows() == [(1, "x"), (2, "y")]
    assert column_names(path) == ("a", "b")


def test_odd_text_comes_back_as_it_is(write):
    texts = ["שלום", "🙂👩‍👩‍👧", "e\u0301", "a\nb", 'say "hi"', "x,y", "a\r\nb", "\u2028", "5'"]
    file = io.StringIO()
    csv.writer(file).writerows([["מילה", "n"], *([text, index] for index, text in enumerate(texts))])
    frame = read_table(write("a.csv", file.getvalue()))
    assert frame.columns == ["מילה", "n"]
    assert frame["מילה"].to_list() == texts
    assert frame["n"].to_list() == list(range(len(texts)))


_CELL = st.text(st.sampled_from('ab0,;"\n\r é🙂|\t'), min_size=1, max_size=6)


@given(st.lists(st.tuples(_CELL, _CELL), min_size=1, max_size=8))
def test_any_text_survives_a_round_trip(rows):
    file = io.StringIO()
    # Every field is quoted, and a letter before it keeps the column text.
    csv.writer(file, quoting=csv.QUOTE_ALL).writerows([["u", "v"], *(("x" + u, "y" + v) for u, v in rows)])
    frame = read_delimited(Content("f", ".csv", file.getvalue().encode()))
    assert frame.rows() == [("x" + u, "y" + v) for u, v in rows]


def test_stray_quotes_are_text(write):
    frame = read_table(write("a.csv", 'size,n\n5" disk,1\n3" disk,2\n8" disk,3\n'))
    assert frame.rows() == [('5" disk', 1), ('3" disk', 2), ('8" disk', 3)]


def test_quoted_fields_with_blank_lines_and_missing_ends(write):
    frame = read_table(write("a.csv", 'a,b\n"x",1\n\n"y",\n'))
    assert frame.rows() == [("x", 1), ("y", None)]


def test_one_row_and_one_column(write):
    assert read_table(write("a.csv", "a,b\n1,x")).rows() == [(1, "x")]
    assert read_table(write("b.csv", "a\nx\n\ny\n")).rows() == [("x",), (None,), ("y",)]


def test_all_empty_column_is_text(write):
    frame = read_table(write("a.csv", "a,b\n1,\n2,\n"))
    assert frame.schema["b"] == pl.String
    assert frame["b"].null_count() == 2


def test_unnamed_column_gets_a_name(write):
    assert column_names(write("a.csv", ",a\n0,x\n")) == ("column_1", "a")


def test_columns_are_chosen_in_the_order_asked_for(write):
    path = write("a.csv", "a,b,c\n1,2,3\n")
    assert read_table(path, columns=["c", "a"]).rows(named=True) == [{"c": 3, "a": 1}]


def test_unknown_column_is_named_with_those_there_are(write, refusal):
    error = refusal(write("churn.csv", "id,churned,p_yes\n1,no,0.2\n"), columns=["id", "churn"])
    assert isinstance(error, ColumnError)
    assert "churn.csv has no column 'churn'. It has: id, churned, p_yes." in error.what
    assert error.hint == "use 'churned'."


@pytest.mark.parametrize("engine", ["memory", "stream", "polars", "duckdb"])
def test_a_quote_that_is_never_closed_does_not_swallow_the_rest(engine, tmp_path):
    rows = ["yes,yes,fine"] * 30
    (tmp_path / "rows.csv").write_text("\n".join(["truth,predicted,note", *rows, 'no,no,"12 inch', *rows]) + "\n")
    with pytest.raises(FileError, match=r"line 32: a quote is opened and never closed"):
        evaluate(tmp_path / "rows.csv", engine=engine)
    # A quote inside a field that does not begin with one is text.
    (tmp_path / "rows.csv").write_text("\n".join(["truth,predicted,note", *rows, 'no,no,12" wide', *rows]) + "\n")
    assert evaluate(tmp_path / "rows.csv", engine=engine).n == 61


@pytest.mark.parametrize("quote", ["", '"'])
@pytest.mark.parametrize(("row", "found"), [("3,4", 2), ("3,4,5,6", 4), ("3", 1)])
@pytest.mark.parametrize("columns", [None, ["a"]])
def test_ragged_row_is_named(write, refusal, quote, row, found, columns):
    path = write("a.csv", f"a,b,c\n\n{quote}0{quote},1,2\n{row}\n6,7,8,9\n6,7\n")
    assert f"a.csv, line 4: expected 3 fields as in the header, found {found}." in refusal(path, columns).what


def test_first_row_may_be_the_ragged_one(write, refusal):
    assert "line 2: expected 2 fields" in refusal(write("a.csv", "a,b\n1\n2,3\n")).what


def test_ragged_row_after_a_quoted_newline_has_the_right_line(write, refusal):
    assert "line 4: expected 2 fields" in refusal(write("a.csv", 'a,b\n"x\ny",1\n2\n')).what


def test_unclosed_quote_is_suspected(write, refusal):
    error = refusal(write("a.csv", 'a,b\n1,x\n"2,y\n3,z\n'))
    assert "line 3" in error.what
    assert "close the quote" in error.hint


def test_header_only_and_duplicate_names(write, refusal):
    assert "no rows" in refusal(write("a.csv", "a,b\n\n")).what
    assert "two columns named 'a': columns 1 and 3" in refusal(write("b.csv", "a,b,a\n1,2,3\n")).what


def test_bytes_that_are_not_utf8_are_located(write, refusal):
    error = refusal(write("a.csv", b"a,b\n1,x\n2,caf\xe9\n"))
    assert "byte 0xe9 at offset 13 (line 3)" in error.what
    assert "iconv" in error.hint
    assert "UTF-16" in refusal(write("b.csv", "a,b\n1,2\n".encode("utf-16-le"))).what


@pytest.mark.parametrize("packed", [False, True])
def test_text_that_says_it_is_utf16_is_read(write, packed):
    # As Excel's "Unicode text" is: UTF-16 with its mark, and tabs.
    name = "größe" * 20_000
    text = f"truth\tpredicted\t{name}\nä\tä\t1\nö\tä\t2\nä\tö\t3\n".encode("utf-16")
    path = write("unicode.tsv", gzip.compress(text) if packed else text)
    assert column_names(path) == ("truth", "predicted", name)
    seen = evaluate(path)
    assert (seen.labels, seen.confusion.matrix.tolist()) == (("ä", "ö"), [[1, 1], [1, 0]])
    for engine in ("stream", "polars", "duckdb"):
        # What is read in pieces is not recoded.
        with pytest.raises(FileError, match="UTF-16"):
            evaluate(path, engine=engine)


def test_gzip_is_unpacked_whatever_the_name(write):
    packed = gzip.compress(b"a;b\n1;x\n")
    for name in ("a.csv.gz", "a.csv", "a.gz"):
        path = write(name, packed)
        assert read_table(path).rows() == [(1, "x")]
        assert column_names(path) == ("a", "b")


def test_ending_before_gz_decides(write):
    path = write("a.tsv.gz", gzip.compress(b"a,b,c\td\n1,2,3\tx\n"))
    assert read_table(path).columns == ["a,b,c", "d"]


def test_standard_input(monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"a\tb\n1\tx\n")))
    assert read_table("-").rows() == [(1, "x")]
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b'{"a": 1}\n')))
    assert read_table("-").rows() == [(1,)]
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"")))
    with pytest.raises(FileError, match="Standard input is empty"):
        read_table("-")
    with pytest.raises(FileError, match="only once"):
        column_names("-")


def test_names_need_the_header_only(write):
    # The bytes after the header would be refused, and are far behind it.
    path: Path = write("a.csv", b"a,b\n" + b"1,2\n" * 300_000 + b"\xff,\n")
    assert column_names(path) == ("a", "b")
    with pytest.raises(FileError):
        read_table(path)


@pytest.mark.parametrize("word", ["NA", "N/A", "NULL", "null", "None"])
@pytest.mark.parametrize("rows", [range(3), range(1500, 1503), range(1, 2500), range(4999, 5000)])
def test_a_word_for_a_missing_number_is_an_empty_field(word, rows):
    numbers = [str(i / 4) for i in range(5000)]
    texts = [word if i in rows else number for i, number in enumerate(numbers)]
    empty = ["" if i in rows else number for i, number in enumerate(numbers)]
    assert typed(pl.Series(texts)).equals(typed(pl.Series(empty)))
    assert kind_of_piece(pl.Series([word, word])) == ""
    assert as_kind(pl.Series([word, "2"]), "real").to_list() == [None, 2.0]


def test_a_class_called_na_stays_a_class():
    assert typed(pl.Series(["NA", "EU", "NA"])).to_list() == ["NA", "EU", "NA"]
    assert typed(pl.Series(["NA", "NA", ""])).to_list() == ["NA", "NA", None]
    assert as_kind(pl.Series(["NA", "2"]), "text").to_list() == ["NA", "2"]


@pytest.mark.parametrize("engine", ["memory", "stream", "polars", "duckdb", "dask"])
def test_every_engine_takes_na_for_a_missing_number(engine, tmp_path):
    rows = "".join(f"{i % 2},{'NA' if i == 5 else i * 7 % 10 / 10}\n" for i in range(40))
    (tmp_path / "scores.csv").write_text(f"y_true,y_score\n{rows}")
    assert evaluate(tmp_path, engine=engine, missing="drop").n == 39
