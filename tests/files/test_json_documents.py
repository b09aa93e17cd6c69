"""JSON documents, an array of objects or an object of columns: whole, in folders and through the command line."""

from __future__ import annotations

import gzip
import json
import math
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from typer.testing import CliRunner

import heldout
from heldout.cli.app import app
from heldout.errors import ColumnError, FileError, LabelError
from heldout.files import column_names, read_table
from heldout.files.batches import Batches, batches_of

ROWS = [{"y": "é", "p": 1, "b": True}, {"p": 0.5, "y": None, "z": "007"}]
COLUMNS: dict[str, list[Any]] = {"y": ["é", None], "p": [1, 0.5], "b": [True, None], "z": [None, "007"]}
BY_ROW = {name: {"0": values[0], "1": values[1]} for name, values in COLUMNS.items()}
FORMS = {"rows": ROWS, "columns": COLUMNS, "pandas": BY_ROW}


def in_batches(path: Path) -> Batches:
    batches = batches_of(path, engine="stream")
    assert batches is not None
    return batches


@pytest.mark.parametrize("indent", [None, 2])
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("name", ["a.json", "a", "a.txt"])
def test_types_and_missing_values(write, name, form, indent):
    path = write(name, json.dumps(FORMS[form], ensure_ascii=False, indent=indent))
    table = read_table(path)
    assert table.schema == {"y": pl.String, "p": pl.Float64, "b": pl.Boolean, "z": pl.String}
    assert table.rows() == [("é", 1.0, True, None), (None, 0.5, None, "007")]
    assert column_names(path) == ("y", "p", "b", "z")
    assert read_table(path, columns=["z"]).rows() == [(None,), ("007",)]


def test_packed_with_a_mark_and_with_the_nan_that_python_writes(write):
    table = read_table(write("a.json.gz", gzip.compress(b'\xef\xbb\xbf[{"a": NaN}, {"a": 1}]')))
    assert math.isnan(table["a"][0])


def test_whole_numbers_beyond_64_bits_stay_apart(write):
    table = read_table(write("a.json", '[{"a": 12345678901234567890}, {"a": 12345678901234567891}]'))
    assert table["a"].to_list() == ["12345678901234567890", "12345678901234567891"]


def test_json_lines_may_have_the_same_ending(write):
    lines = ['{"a": 1}\n{"a": 2}\n', '{"x": [1], "a": 1}\n{"x": [2], "a": 2}\n', '{"a": 1}']
    tables = [read_table(write(f"{index}.json", text), columns=["a"]) for index, text in enumerate(lines)]
    assert [table["a"].to_list() for table in tables] == [[1, 2], [1, 2], [1]]


def test_a_header_in_brackets_is_no_array(write):
    assert read_table(write("a", "[id],[y]\n1,2\n")).columns == ["[id]", "[y]"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('[{"a": 1}, {"a": 2}', "is not JSON: Expecting ',' delimiter at character 20"),
        ('[\n{"a": 1},\n{"a": tru}\n]', "is not JSON: Expecting value at line 3, character 7"),
        ('{\n"a": [1, 2]', "is not JSON"),
        ('[{"a": 1}, 7]', "row 2: expected a JSON object, found a number"),
        ("[1, 2]", "row 1: expected a JSON object, found a number"),
        ("7", "expected an array of objects, found a number"),
        ("[{}, {}]", "has no columns"),
        ("[]", "is a JSON document without rows"),
        ('{"a": []}', "is a JSON document without rows"),
        ('[{"a": 1}, {"a": 2, "b": 3, "a": 4}]', "the key 'a' stands twice in one object"),
        ('{\n"a": 1}', "its key 'a' holds a number, not a column"),
        ('{"a": [1, 2], "b": [1]}', "different lengths: a has 2, b has 1"),
        ('{"a": {"0": 1}, "b": {"1": 1}}', "'a' and 'b' in"),
        ('[{"a": "\\ud800"}]', "half of a surrogate pair"),
        ("", "is empty"),
        ('[{"a": ' + "[" * 100_000, "is nested too deeply"),
    ],
)
def test_what_is_wrong_is_said_with_the_place(write, refusal, text, message):
    error = refusal(write("a.json", text))
    assert message in error.what
    assert "a.json" in error.what


def test_an_empty_array_has_no_columns_to_choose_from(write):
    with pytest.raises(FileError, match="without rows"):
        column_names(write("a.json", "[]"))


def test_text_beside_numbers_is_refused(write, refusal):
    error = refusal(write("a.json", '[{"a": "1"}, {"a": null}, {"a": 1}]'))
    assert isinstance(error, ColumnError)
    assert "mixes text with numbers or booleans in 'a': row 3 holds 1" in error.what


def test_binary_data_with_its_ending_is_refused(write, refusal):
    assert "named like a text file (.json) but holds a Parquet table" in refusal(write("a.json", b"PAR1....")).what
    assert "one JSON array" in refusal(write("a.jsonl", '[{"a": 1}]')).what


@pytest.mark.parametrize("value", [["a"], {"a": 1}])
def test_nested_columns_are_refused_where_they_are_used(write, value):
    path = write("a.json", json.dumps([{"truth": "a", "predicted": value}, {"truth": "b", "predicted": None}]))
    with pytest.raises(LabelError, match="Labels are numbers, text, booleans or categories"):
        heldout.evaluate(path, missing="drop")
    # What is not used may be nested.
    assert read_table(path, columns=["truth"]).rows() == [("a",), ("b",)]


def test_a_folder_of_part_files_is_one_table(tmp_path):
    (tmp_path / "0.json").write_text("[]", encoding="utf-8")
    (tmp_path / "1.json").write_text('[{"a": 1, "b": "x"}, {"a": 2}]', encoding="utf-8")
    (tmp_path / "2.json").write_text('{"a": [0.5]}', encoding="utf-8")
    batches = in_batches(tmp_path)
    for _ in range(2):
        assert pl.concat(batches.frames()).rows() == [(1.0, "x"), (2.0, None), (0.5, None)]
    assert batches.rows == 3
    assert batches.notes == ("1 file has no rows and was left out: 0.json",)


def test_part_files_that_differ_are_cut_or_have_no_bytes_are_refused(tmp_path):
    (tmp_path / "1.json").write_text('[{"a": 1}]', encoding="utf-8")
    other = tmp_path / "2.json"
    other.write_text('[{"a": "x"}]', encoding="utf-8")
    with pytest.raises(ColumnError, match=r"'a' holds numbers in .*1\.json and text in .*2\.json"):
        list(in_batches(tmp_path).frames())
    other.write_text('[{"a": 1}', encoding="utf-8")
    with pytest.raises(FileError, match=r"2\.json is not JSON"):
        in_batches(tmp_path)
    other.write_text("", encoding="utf-8")
    with pytest.raises(FileError, match="no JSON file is that was written to its end"):
        in_batches(tmp_path)
    other.write_text('{"a": 1}\n{"a": 2}\n', encoding="utf-8")
    with pytest.raises(FileError, match=r"1\.json is json; 2\.json is json lines"):
        in_batches(tmp_path)


@pytest.mark.parametrize("form", ["rows", "columns", "pandas"])
def test_the_command_line_says_the_same_as_of_csv(tmp_path, form):
    table = pl.DataFrame({"truth": ["yes", "no"] * 20, "predicted": ["yes", "no", "no", "no"] * 10})
    table.write_csv(tmp_path / "a.csv")
    (tmp_path / "parts").mkdir()
    for index, part in [("a.json", table), *((f"parts/{at}.json", table.slice(10 * at, 10)) for at in range(4))]:
        columns = part.to_dict(as_series=False)
        by_row = {name: dict(enumerate(values)) for name, values in columns.items()}
        document = {"rows": part.to_dicts(), "columns": columns, "pandas": by_row}[form]
        (tmp_path / index).write_text(json.dumps(document), encoding="utf-8")
    documents = []
    for name in ("a.csv", "a.json", "parts"):
        outcome = CliRunner().invoke(app, ["evaluate", str(tmp_path / name), "--positive", "yes", "--json", "-"])
        assert outcome.exit_code == 0, outcome.output
        documents.append(json.loads(outcome.stdout)["estimates"])
    assert documents[0] == documents[1] == documents[2]
