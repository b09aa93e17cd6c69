"""Arrow IPC, also called Feather, as a file and as a stream: whole, in folders and through the command line."""

from __future__ import annotations

import gzip
import io
import json
from pathlib import Path

import polars as pl
import pyarrow as pa  # type: ignore[import-untyped, unused-ignore]
import pytest
from pyarrow import feather
from typer.testing import CliRunner

import heldout
from heldout.cli.app import app
from heldout.errors import FileError, HeldoutError, LabelError
from heldout.files import batches as batches_module
from heldout.files import column_names, read_table
from heldout.files.batches import batches_of
from heldout.files.formats import format_by_magic

ROWS = pl.DataFrame({"truth": ["yes", "no", "no"] * 10, "n": range(30), "x": [0.5, None, 1.0] * 10})
FORMS = ["file", "stream", "packed file", "packed stream"]


def arrow(frame: pl.DataFrame, form: str = "file") -> bytes:
    file = io.BytesIO()
    write = frame.write_ipc_stream if "stream" in form else frame.write_ipc
    write(file, compression="zstd" if "packed" in form else "uncompressed")
    return file.getvalue()


def folder_of_parts(folder: Path, form: str = "file") -> Path:
    folder.mkdir()
    for index in range(3):
        (folder / f"part-{index}.arrow").write_bytes(arrow(ROWS.slice(10 * index, 10), form))
    return folder


def read_in_batches(path: Path, columns: list[str] | None = None) -> pl.DataFrame:
    batches = batches_of(path, engine="stream")
    assert batches is not None
    batches.batch = 7
    return pl.concat(batches.frames(columns))


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("name", ["a.arrow", "a.feather", "a.ipc", "a", "a.dat", "a[1]*.arrow"])
def test_types_are_widened(write, name, form):
    frame = pl.DataFrame(
        {"i": [1, None], "f": [0.5, 0.25], "s": ["é", None], "c": ["x", None], "b": [True, None], "u": [1, 2**64 - 1]},
        schema={
            "i": pl.Int8,
            "f": pl.Float32,
            "s": pl.String,
            "c": pl.Categorical,
            "b": pl.Boolean,
            "u": pl.UInt64,
        },
    )
    path = write(name, arrow(frame, form))
    table = read_table(path)
    assert table.dtypes == [pl.Int64, pl.Float64, pl.String, pl.String, pl.Boolean, pl.UInt64]
    assert table.rows() == [
        (1, 0.5, "é", "x", True, 1),
        (None, 0.25, None, None, None, 2**64 - 1),
    ]
    assert column_names(path) == tuple(frame.columns)
    assert read_table(path, columns=["s", "i"]).rows() == [("é", 1), (None, None)]


@pytest.mark.parametrize("form", FORMS)
def test_compressed_with_gzip(write, form):
    path = write("a.feather.gz", gzip.compress(arrow(ROWS, form)))
    assert read_table(path).equals(ROWS)
    assert column_names(path) == ("truth", "n", "x")


def test_what_pyarrow_writes(tmp_path):
    table = pa.table(
        {
            "truth": pa.array(["a", "b", None]).dictionary_encode(),
            "code": pa.DictionaryArray.from_arrays(pa.array([0, 1, 0]), pa.array([10, 20])),
        }
    )
    feather.write_feather(table, tmp_path / "a.feather")
    assert read_table(tmp_path / "a.feather").rows() == [("a", 10), ("b", 20), (None, 10)]
    with pa.OSFile(str(tmp_path / "a.arrow"), "wb") as file, pa.ipc.new_stream(file, table.schema) as writer:
        writer.write_table(table)
        writer.write_table(table)
    assert len(read_table(tmp_path / "a.arrow")) == 6


@pytest.mark.parametrize("form", ["file", "stream"])
@pytest.mark.parametrize("cut", [4, 7, 30, 500, -1, -8, -20])
def test_a_truncated_table_is_refused(write, refusal, form, cut):
    data = arrow(ROWS, form)[:cut]
    error = refusal(write("a.arrow", data))
    assert "a.arrow is not a whole Arrow table" in error.what
    assert "Arrow IPC" in error.hint


def test_a_stream_cut_between_two_batches_is_refused(write, refusal):
    # Without its end it would be read as a table with fewer rows.
    data = arrow(ROWS, "stream").removesuffix(b"\xff\xff\xff\xff\0\0\0\0")
    assert "rows may be lost" in refusal(write("a.arrow", data)).what


def test_the_first_version_of_feather_is_named(write, refusal):
    assert "Feather of version 1" in refusal(write("a.feather", b"FEA1" + bytes(100) + b"FEA1")).what


@pytest.mark.parametrize("form", ["file", "stream"])
def test_a_name_that_stands_twice_is_said(write, refusal, form):
    table = pa.table([[1, 0], [1, 1], [0, 0]], names=["truth", "naïve", "naïve"])
    data = io.BytesIO()
    with (pa.ipc.new_stream if form == "stream" else pa.ipc.new_file)(data, table.schema) as writer:
        writer.write_table(table)
    path = write("a.arrow", data.getvalue())
    for error in (refusal(path), refusal(path, columns=["truth"])):
        assert error.what.endswith("a.arrow has two columns named 'naïve'.")
    with pytest.raises(FileError, match="two columns named"):
        read_in_batches(path)


@pytest.mark.parametrize("form", ["file", "stream"])
def test_without_bytes_rows_or_the_column(write, refusal, form):
    assert "is empty" in refusal(write("a.arrow", b"")).what
    assert "no rows" in refusal(write("b.arrow", arrow(ROWS.head(0), form))).what
    path = write("c.arrow", arrow(pl.DataFrame({"label": [1]}), form))
    assert "has no column 'lable'. It has: label." in refusal(path, columns=["lable"]).what


@pytest.mark.parametrize("form", ["file", "stream"])
def test_a_text_ending_on_it_is_refused(write, refusal, form):
    error = refusal(write("a.csv", arrow(ROWS, form)))
    assert "named like a text file (.csv) but holds an Arrow table" in error.what
    assert ".parquet, .arrow or .npz" in error.hint


def test_another_binary_format_with_its_ending_is_refused(write, refusal):
    file = io.BytesIO()
    ROWS.write_parquet(file)
    assert "not a whole Arrow table" in refusal(write("a.arrow", file.getvalue())).what
    assert "not a whole Parquet table" in refusal(write("a.parquet", arrow(ROWS))).what


def test_nested_columns_are_refused_where_they_are_used(write):
    path = write("a.arrow", arrow(pl.DataFrame({"truth": ["a", "b"], "predicted": [["a"], ["b"]], "x": [[1], [2]]})))
    with pytest.raises(LabelError, match="Labels are numbers, text, booleans or categories"):
        heldout.evaluate(path)
    # What is not used may be nested.
    assert read_table(path, columns=["truth"]).rows() == [("a",), ("b",)]


@pytest.mark.parametrize("form", FORMS)
def test_a_folder_of_part_files_is_one_table(tmp_path, form):
    folder = folder_of_parts(tmp_path / "rows", form)
    # The files need agree only in the columns that are used.
    (folder / "part-3.arrow").write_bytes(arrow(ROWS.head(2).with_columns(extra=1, x=pl.lit("?")), form))
    assert read_in_batches(folder, ["truth", "n"]).equals(pl.concat([ROWS, ROWS.head(2)]).select("truth", "n"))
    with pytest.raises(HeldoutError, match=r"'x' holds numbers in .* and text in .*part-3\.arrow"):
        read_in_batches(folder)


def test_folders_named_key_and_value_are_columns_and_whole_numbers_widen(tmp_path):
    for year, values in ((2025, [1, 2]), (2026, [0.5, None])):
        part = tmp_path / f"year={year}"
        part.mkdir()
        (part / "a.feather").write_bytes(arrow(pl.DataFrame({"x": values})))
    assert read_in_batches(tmp_path).rows() == [(1.0, 2025), (2.0, 2025), (0.5, 2026), (None, 2026)]


def test_part_files_without_rows_are_named_and_those_without_bytes_refused(tmp_path):
    folder = folder_of_parts(tmp_path / "rows")
    (folder / "part-8.arrow").write_bytes(arrow(ROWS.head(0)))
    batches = batches_of(folder)
    assert batches is not None
    assert batches.rows == 30
    assert batches.notes == ("1 file has no rows and was left out: part-8.arrow",)
    (folder / "part-9.arrow").touch()
    with pytest.raises(FileError, match="no Arrow file is that was written to its end"):
        batches_of(folder)


def test_a_truncated_part_file_is_named(tmp_path):
    folder = folder_of_parts(tmp_path / "rows")
    bad = folder / "part-1.arrow"
    bad.write_bytes(bad.read_bytes()[:-20])
    with pytest.raises(FileError, match=r"part-1\.arrow is not a whole Arrow table"):
        batches_of(folder)


def test_a_long_file_comes_in_batches(write, monkeypatch):
    path = write("a.arrow", arrow(ROWS))
    assert batches_of(path) is None
    monkeypatch.setattr(batches_module, "LONG_ROWS", 29)
    assert batches_of(path) is not None


def test_what_it_unpacks_to_is_known_before_it_is_read(write):
    path = write("a.arrow", arrow(pl.DataFrame({"x": [0.0] * 10_000}), "packed file"))
    fmt = format_by_magic(path.read_bytes()[:16])
    assert fmt is not None
    assert fmt.unpacked_bytes is not None
    assert path.stat().st_size < 10_000 < fmt.unpacked_bytes(path) == 80_000


@pytest.mark.parametrize("form", FORMS)
def test_the_command_line_says_the_same_as_of_csv(tmp_path, form):
    table = pl.DataFrame({"truth": ["yes", "no"] * 20, "predicted": ["yes", "no", "no", "no"] * 10})
    table.write_csv(tmp_path / "a.csv")
    (tmp_path / "a.feather").write_bytes(arrow(table.cast(pl.Categorical), form))
    (tmp_path / "parts").mkdir()
    for index in range(4):
        (tmp_path / "parts" / f"{index}.arrow").write_bytes(arrow(table.slice(10 * index, 10), form))
    documents = []
    for name in ("a.csv", "a.feather", "parts"):
        outcome = CliRunner().invoke(app, ["evaluate", str(tmp_path / name), "--positive", "yes", "--json", "-"])
        assert outcome.exit_code == 0, outcome.output
        documents.append(json.loads(outcome.stdout)["estimates"])
    assert documents[0] == documents[1] == documents[2]


def test_engines_that_do_not_read_it_say_so(tmp_path):
    folder = folder_of_parts(tmp_path / "rows")
    with pytest.raises(FileError, match="holds Arrow, which the engines that can be named do not read"):
        heldout.evaluate(folder, truth="truth", predicted="truth", engine="duckdb")
