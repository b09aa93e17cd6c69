"""Parquet, JSON lines and NPZ."""

from __future__ import annotations

import gzip
import io
import math
import zipfile
from typing import Any

import numpy as np
import polars as pl
import pytest

from heldout.files import column_names, read_table


def _parquet(frame: pl.DataFrame) -> bytes:
    file = io.BytesIO()
    frame.write_parquet(file)
    return file.getvalue()


def _npz(**arrays: Any) -> bytes:
    file = io.BytesIO()
    np.savez(file, **arrays)
    return file.getvalue()


@pytest.mark.parametrize("name", ["a.parquet", "a.pq", "a", "a.dat"])
def test_parquet_types_are_widened(write, name):
    frame = pl.DataFrame(
        {
            "i": [1, None],
            "f": [0.5, 0.25],
            "s": ["é", None],
            "c": ["x", "y"],
            "b": [True, None],
            "u": [1, 2**64 - 1],
        },
        schema={
            "i": pl.Int8,
            "f": pl.Float32,
            "s": pl.String,
            "c": pl.Categorical,
            "b": pl.Boolean,
            "u": pl.UInt64,
        },
    )
    path = write(name, _parquet(frame))
    read = read_table(path)
    assert read.dtypes == [pl.Int64, pl.Float64, pl.String, pl.String, pl.Boolean, pl.UInt64]
    assert read.rows() == [
        (1, 0.5, "é", "x", True, 1),
        (None, 0.25, None, "y", None, 2**64 - 1),
    ]
    assert column_names(path) == tuple(frame.columns)
    assert read_table(path, columns=["s", "i"]).rows() == [("é", 1), (None, None)]


def test_parquet_name_with_glob_marks(write):
    assert read_table(write("a[1]*.parquet", _parquet(pl.DataFrame({"a": [1]})))).rows() == [(1,)]


@pytest.mark.parametrize("cut", [4, 30, -1])
def test_broken_parquet(write, refusal, cut):
    data = _parquet(pl.DataFrame({"a": [1]}))
    assert "is not a whole Parquet table" in refusal(write("a.parquet", data[:cut])).what
    assert "is not a whole Parquet table" in refusal(write("a", data[:cut])).what


def test_parquet_without_rows_or_without_the_column(write, refusal):
    assert "no rows" in refusal(write("a.parquet", _parquet(pl.DataFrame({"a": pl.Series([], dtype=pl.Int64)})))).what
    path = write("b.parquet", _parquet(pl.DataFrame({"label": [1]})))
    assert "has no column 'lable'. It has: label." in refusal(path, columns=["lable"]).what


@pytest.mark.parametrize("name", ["a.jsonl", "a.ndjson", "a", "a.json"])
def test_json_lines(write, name):
    path = write(name, '{"y": "é", "p": 1, "b": true}\n\n{"p": 0.5, "y": null, "z": "007"}\r\n')
    frame = read_table(path)
    assert frame.schema == {"y": pl.String, "p": pl.Float64, "b": pl.Boolean, "z": pl.String}
    assert frame.rows() == [("é", 1.0, True, None), (None, 0.5, None, "007")]
    assert column_names(path) == ("y", "p", "b", "z")
    assert read_table(path, columns=["z"]).rows() == [(None,), ("007",)]


def test_json_lines_packed_and_with_mark(write):
    assert read_table(write("a.jsonl.gz", gzip.compress(b'\xef\xbb\xbf{"a": 1}'))).rows() == [(1,)]


def test_json_lines_that_python_writes_with_nan(write):
    frame = read_table(write("a.jsonl", '{"p": 0.5, "n": 1, "y": "a"}\n{"p": NaN, "n": 2, "y": null}\n'))
    assert frame.dtypes == [pl.Float64, pl.Int64, pl.String]
    assert math.isnan(frame["p"][1])
    assert frame["y"].to_list() == ["a", None]


def test_json_lines_of_mixed_types_become_text(write):
    frame = read_table(write("a.jsonl", '{"a": 1, "b": 1}\n{"a": "x", "b": true}\n'))
    assert frame.rows() == [("1", "1"), ("x", "true")]


def test_json_whole_numbers_beyond_64_bits_stay_apart(write):
    frame = read_table(write("a.jsonl", '{"a": 12345678901234567890}\n{"a": 12345678901234567891}\n'))
    assert frame["a"].to_list() == ["12345678901234567890", "12345678901234567891"]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ('{"a": 1', "line 3 is not JSON"),
        ("[1]", "line 3: expected a JSON object, found an array"),
        ("7", "found a number"),
    ],
)
def test_broken_json_line_is_named(write, refusal, line, message):
    assert message in refusal(write("a.jsonl", '{"a": 1}\n\n' + line + '\n{"a": 2}\n')).what


def test_a_key_that_the_first_line_holds_twice_is_refused(write, refusal):
    assert "the key 'a' stands twice" in refusal(write("a.jsonl", '{"a": 1, "b": 2, "a": 3}\n{"a": 1, "b": 2}\n')).what


def test_json_surrogates(write, refusal):
    assert read_table(write("a.jsonl", r'{"a": "\ud83d\ude42"}')).rows() == [("🙂",)]
    assert "line 2 holds half of a surrogate pair" in refusal(write("b.jsonl", '{"a": 1}\n{"a": "\\ud800"}')).what


def test_json_array_and_empty_objects(write, refusal):
    assert "one JSON array" in refusal(write("b.jsonl", '[{"a": 1}]')).what
    assert "no columns" in refusal(write("a.jsonl", "{}\n{}\n")).what


def test_npz(write):
    data = _npz(
        y=np.array(["a", "b"]),
        p=np.array([[0.5, 0.5], [0.25, 0.75]], dtype=np.float32),
        n=np.array([1, 2], dtype=">i2"),
        b=np.array([True, False]),
        s=np.array([b"x", b"\xc3\xa9"]),
        other=np.arange(5),
    )
    for name in ("a.npz", "a"):
        path = write(name, data)
        frame = read_table(path, columns=["y", "p_0", "p_1", "n", "b", "s"])
        assert frame.rows() == [("a", 0.5, 0.5, 1, True, "x"), ("b", 0.25, 0.75, 2, False, "é")]
        assert frame.dtypes == [pl.String, pl.Float64, pl.Float64, pl.Int64, pl.Boolean, pl.String]
        assert column_names(path) == ("y", "p_0", "p_1", "n", "b", "s", "other")


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ({"y": np.array(["a", 1], dtype=object)}, "holds Python objects"),
        ({"y": np.arange(3), "p": np.arange(2)}, "different lengths: y has 3, p has 2"),
        ({"y": np.zeros((2, 2, 2))}, "has the shape (2, 2, 2)"),
        ({"y": np.array(3)}, "has the shape ()"),
        ({"y": np.array([1j])}, "complex128"),
        ({"y": np.array([])}, "no rows"),
        ({"p": np.zeros((2, 2)), "p_0": np.zeros(2)}, "two columns named 'p_0'"),
        ({"s": np.array([b"\xff"])}, "not UTF-8"),
    ],
)
def test_npz_that_cannot_be_used(write, refusal, arrays, message):
    assert message in refusal(write("a.npz", _npz(**arrays))).what


def test_broken_npz_and_other_archives(write, refusal):
    assert "is not a whole NPZ file" in refusal(write("a.npz", _npz(y=np.arange(9))[:-20])).what
    assert "is not a whole NPZ file" in refusal(write("b.npz", b"text")).what
    not_an_array = io.BytesIO()
    with zipfile.ZipFile(not_an_array, "w") as archive:
        archive.writestr("y.npy", "text")
    assert "is not a whole NPZ file" in refusal(write("c.npz", not_an_array.getvalue())).what
    for member, hint in (("[Content_Types].xml", "as CSV"), ("a.txt", "numpy.savez")):
        file = io.BytesIO()
        with zipfile.ZipFile(file, "w") as archive:
            archive.writestr(member, "x")
        error = refusal(write("a.npz", file.getvalue()))
        assert "not an NPZ file" in error.what
        assert hint in error.hint
