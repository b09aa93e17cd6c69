"""Folders, patterns and long files come in batches that are, put together, the table itself."""

from __future__ import annotations

import gzip
import http.server
import re
import threading
from decimal import Decimal
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from heldout.errors import ColumnError, FileError, HeldoutError
from heldout.files import batches as batches_module
from heldout.files import read_table
from heldout.files.batches import Batches, batches_of
from heldout.files.column_types import typed
from heldout.files.delimited import DelimitedBatches, as_kind, joined_kind, kind_of_piece
from heldout.files.paths import list_files


def opened(path, batch: int = 7) -> Batches:
    found = batches_of(path, engine="stream")
    assert found is not None
    found.batch = batch
    return found


def whole(path, columns=None, batch: int = 7) -> pl.DataFrame:
    return pl.concat(opened(path, batch).frames(columns))


def refusal(path, columns=None) -> HeldoutError:
    with pytest.raises(HeldoutError) as caught:
        whole(path, columns)
    assert caught.value.what.endswith(".")
    assert caught.value.hint.endswith((".", "?"))
    assert caught.value.__cause__ is None
    return caught.value


FRAME = pl.DataFrame({"truth": ["yes", "no", "no"] * 10, "n": range(30), "x": [0.5, None, 1.0] * 10})


def written(folder: Path, kind: str = "parquet") -> Path:
    """Three files of ten rows each."""
    folder.mkdir(parents=True, exist_ok=True)
    for place in range(3):
        part = FRAME.slice(10 * place, 10)
        if kind == "parquet":
            part.write_parquet(folder / f"part-{place}.parquet")
        elif kind == "csv":
            part.write_csv(folder / f"part-{place}.csv")
        elif kind == "csv.gz":
            (folder / f"part-{place}.csv.gz").write_bytes(gzip.compress(part.write_csv().encode()))
        else:
            part.write_ndjson(folder / f"part-{place}.{kind}")
    return folder


@pytest.mark.parametrize("kind", ["parquet", "csv", "csv.gz", "jsonl", "json"])
def test_the_batches_of_a_folder_are_its_rows_in_order_and_can_be_read_again(tmp_path, kind):
    folder = written(tmp_path / "preds", kind)
    (folder / "_SUCCESS").touch()
    (folder / ".part-0.parquet.crc").write_bytes(b"x")
    (folder / "_metadata").write_bytes(b"x")
    found = opened(folder)
    assert found.names == ("truth", "n", "x")
    for _ in range(2):
        frames = list(found.frames())
        assert len(frames) > 1
        assert pl.concat(frames).equals(FRAME)
    assert found.rows == 30
    assert found.notes == ()
    assert whole(folder, ["x", "truth"]).equals(FRAME.select("x", "truth"))


def test_rows_of_parquet_are_known_before_they_are_read(tmp_path):
    assert opened(written(tmp_path / "preds")).rows == 30
    assert opened(written(tmp_path / "text", "csv")).rows is None


def test_a_pattern_takes_the_files_that_it_matches(tmp_path):
    written(tmp_path / "preds")
    assert len(whole(str(tmp_path / "preds" / "part-[01].parquet"))) == 20
    assert whole(str(tmp_path / "**" / "*.parquet")).equals(FRAME)
    error = refusal(str(tmp_path / "preds" / "*.csv"))
    assert "No file matches" in error.what
    # A file whose name looks like a pattern is a file.
    odd = tmp_path / "odd[1].parquet"
    FRAME.write_parquet(odd)
    assert whole(odd).equals(FRAME)


@pytest.mark.parametrize("kind", ["parquet", "csv"])
def test_folders_named_key_and_value_are_columns(tmp_path, kind):
    for year in (2025, 2026):
        for place in ("north", "s%C3%BCd", "__HIVE_DEFAULT_PARTITION__"):
            folder = tmp_path / "run=7" / "preds" / f"year={year}" / f"region={place}"
            folder.mkdir(parents=True)
            part = FRAME.head(2)
            part.write_parquet(folder / "a.parquet") if kind == "parquet" else part.write_csv(folder / "a.csv")
    found = whole(tmp_path / "run=7" / "preds")
    # What stands above the folder that was named is no column.
    assert found.columns == ["truth", "n", "x", "year", "region"]
    assert found["year"].to_list() == [2025] * 6 + [2026] * 6
    assert sorted(set(found["region"].to_list()), key=str) == [None, "north", "süd"]
    assert whole(tmp_path / "run=7" / "preds", ["region"])["region"].null_count() == 4
    again = whole(str(tmp_path / "run=7" / "preds" / "year=2025" / "*" / f"*.{kind}"), batch=100)
    assert again.columns == ["truth", "n", "x", "region"]


def test_a_folder_in_which_only_some_files_have_a_key_is_refused(tmp_path):
    written(tmp_path / "preds")
    written(tmp_path / "preds" / "year=2026")
    error = refusal(tmp_path / "preds")
    assert "has no folder year=… in its path" in error.what
    assert "part-0.parquet" in error.what


def test_whole_numbers_and_others_widen(tmp_path):
    pl.DataFrame({"x": pl.Series([1, 2], dtype=pl.Int8)}).write_parquet(tmp_path / "a.parquet")
    pl.DataFrame({"x": pl.Series([1, 2], dtype=pl.UInt32)}).write_parquet(tmp_path / "b.parquet")
    assert whole(tmp_path).schema == {"x": pl.Int64}
    pl.DataFrame({"x": pl.Series([0.5, None], dtype=pl.Float32)}).write_parquet(tmp_path / "c.parquet")
    pl.DataFrame({"x": pl.Series([None], dtype=pl.Null)}).write_parquet(tmp_path / "d.parquet")
    assert whole(tmp_path)["x"].to_list() == [1.0, 2.0, 1.0, 2.0, 0.5, None, None]


def test_whole_numbers_beyond_64_bits_stay_numbers_in_every_batch(tmp_path):
    pl.DataFrame({"x": pl.Series([1, 2], dtype=pl.UInt64)}).write_parquet(tmp_path / "a.parquet")
    assert whole(tmp_path).schema == {"x": pl.Int64}
    pl.DataFrame({"x": pl.Series([2**63], dtype=pl.UInt64)}).write_parquet(tmp_path / "b.parquet")
    assert whole(tmp_path, batch=1)["x"].to_list() == [1, 2, 2**63]
    pl.DataFrame({"x": pl.Series([-(2**63), None], dtype=pl.Int64)}).write_parquet(tmp_path / "c.parquet")
    assert whole(tmp_path, batch=1)["x"].to_list() == [1, 2, 2**63, -(2**63), None]


KEYS = [2**53 + place for place in range(4)]


@pytest.mark.parametrize("engine", ["stream", "memory"])
def test_decimals_without_a_fraction_are_whole_numbers_also_beyond_64_bits(tmp_path, engine):
    def keys(number: int) -> list[object]:
        exact = pl.Series("x", [Decimal(number + key) for key in KEYS], dtype=pl.Decimal(25, 0))
        exact.to_frame().write_parquet(tmp_path / "a.parquet")
        held = whole(tmp_path) if engine == "stream" else read_table(tmp_path / "a.parquet")
        return held["x"].to_list()

    assert keys(0) == KEYS
    assert keys(2**63) == [2**63 + key for key in KEYS]


def test_decimals_and_integers_are_one_column_of_whole_numbers(tmp_path):
    pl.DataFrame({"x": pl.Series(KEYS[:2], dtype=pl.Int64)}).write_parquet(tmp_path / "a.parquet")
    exact = pl.Series("x", [Decimal(key) for key in KEYS[2:]], dtype=pl.Decimal(20, 0))
    exact.to_frame().write_parquet(tmp_path / "b.parquet")
    assert whole(tmp_path)["x"].to_list() == KEYS


def test_decimals_with_a_fraction_are_floats_unless_they_are_keys_that_would_fall_together(tmp_path):
    texts = [f"{key}.25" for key in KEYS]
    for place, scale in enumerate((2, 4)):
        made = pl.Series("x", [Decimal(text) for text in texts], dtype=pl.Decimal(30, scale))
        made.to_frame().write_parquet(tmp_path / f"{place}.parquet")
    assert whole(tmp_path)["x"].to_list() == [float(text) for text in texts] * 2
    batches = opened(tmp_path)
    batches.keys = frozenset({"x"})
    assert pl.concat(batches.frames())["x"].to_list() == texts * 2
    short = pl.Series("x", [Decimal("1.25")], dtype=pl.Decimal(30, 2))
    short.to_frame().write_parquet(tmp_path / "short" / "a.parquet", mkdir=True)
    batches = opened(tmp_path / "short")
    batches.keys = frozenset({"x"})
    assert pl.concat(batches.frames())["x"].to_list() == [1.25]


@pytest.mark.parametrize("kind", ["parquet", "jsonl"])
def test_whole_numbers_that_floats_of_another_file_would_join_are_refused_with_both_files(tmp_path, kind):
    for name, values in {"a": [1, 2], "b": KEYS, "c": [0.5, 1.0]}.items():
        made = pl.DataFrame({"x": values})
        made.write_parquet(tmp_path / f"{name}.parquet") if kind == "parquet" else made.write_ndjson(
            tmp_path / f"{name}.jsonl"
        )
    error = refusal(tmp_path, ["x"])
    assert "'x' holds whole numbers beyond 2**53" in error.what
    assert f"b.{kind}" in error.what
    assert f"c.{kind}" in error.what
    (tmp_path / f"b.{kind}").unlink()
    assert whole(tmp_path)["x"].to_list() == [1.0, 2.0, 0.5, 1.0]


@pytest.mark.parametrize("pattern", ["", "/**/*.parquet"])
def test_a_file_and_a_link_to_it_are_refused_with_both_names(tmp_path, pattern):
    folder = written(tmp_path / "preds")
    (folder / "latest.parquet").symlink_to("part-2.parquet")
    error = refusal(f"{folder}{pattern}")
    assert "are the same file, so its rows would count twice" in error.what
    assert "latest.parquet" in error.what
    assert "part-2.parquet" in error.what
    # A link to a file elsewhere is a file like others.
    (folder / "part-2.parquet").rename(tmp_path / "part-2.parquet")
    (folder / "latest.parquet").unlink()
    (folder / "latest.parquet").symlink_to(tmp_path / "part-2.parquet")
    assert len(whole(f"{folder}{pattern}")) == 30


def test_two_links_to_one_folder_of_tables_are_refused_with_both_names(tmp_path):
    written(tmp_path / "preds" / "b")
    (tmp_path / "preds" / "a").mkdir()
    (tmp_path / "preds" / "a" / "link").symlink_to(tmp_path / "preds" / "b")
    error = refusal(tmp_path / "preds")
    assert "are the same folder" in error.what
    assert str(Path("a") / "link") in error.what


@pytest.mark.parametrize("pattern", ["", "/**/*.parquet"])
def test_a_link_to_the_folder_that_it_is_in_adds_no_rows(tmp_path, pattern):
    folder = written(tmp_path / "preds" / "day=1").parent
    (folder / "loop").symlink_to(".")
    (folder / "day=1" / "up").symlink_to("..")
    assert len(whole(f"{folder}{pattern}")) == 30


@pytest.mark.parametrize("other", [pl.Series("truth", [1, 2]), pl.Series("truth", [True, False])])
def test_a_column_of_two_types_is_refused_with_both_files(tmp_path, other):
    folder = written(tmp_path / "preds")
    other.to_frame().write_parquet(folder / "part-9.parquet")
    error = refusal(folder, ["truth"])
    assert "'truth' holds text in" in error.what
    assert "part-0.parquet" in error.what
    assert "part-9.parquet" in error.what


@pytest.mark.parametrize("kind", ["parquet", "csv"])
def test_a_file_that_lacks_a_wanted_column_is_named(tmp_path, kind):
    folder = written(tmp_path / "preds", kind)
    lacking = FRAME.drop("x").head(3)
    lacking.write_parquet(folder / "a.parquet") if kind == "parquet" else lacking.write_csv(folder / "a.csv")
    error = refusal(folder, ["x"])
    assert isinstance(error, FileError)
    assert f"a.{kind} has no column 'x'" in error.what
    # What is not wanted may be missing.
    assert len(whole(folder, ["truth", "n"])) == 33


@pytest.mark.parametrize("cut", [3, 100, -10])
def test_a_truncated_parquet_file_is_named(tmp_path, cut):
    folder = written(tmp_path / "preds")
    bad = folder / "part-1.parquet"
    bad.write_bytes(bad.read_bytes()[:cut])
    error = refusal(folder)
    assert str(bad) in error.what
    assert "not a whole Parquet table" in error.what


def test_a_parquet_file_with_a_broken_page_is_named(tmp_path):
    folder = written(tmp_path / "preds")
    bad = folder / "part-1.parquet"
    held = bytearray(bad.read_bytes())
    held[4:40] = b"\xff" * 36
    bad.write_bytes(held)
    error = refusal(folder)
    assert str(bad) in error.what


def test_a_truncated_gzip_file_is_named(tmp_path):
    folder = written(tmp_path / "preds", "csv.gz")
    bad = folder / "part-2.csv.gz"
    bad.write_bytes(bad.read_bytes()[:-12])
    error = refusal(folder)
    assert str(bad) in error.what
    assert "ends too early" in error.what


@pytest.mark.parametrize("kind", ["parquet", "csv"])
def test_files_without_rows_are_left_out_with_a_note(tmp_path, kind):
    folder = written(tmp_path / "preds" / "late", kind).parent
    bare = FRAME.head(0)
    (folder / "first").mkdir()
    file = folder / "first" / f"bare.{kind}"
    bare.write_parquet(file) if kind == "parquet" else bare.write_csv(file)
    found = opened(folder)
    assert pl.concat(found.frames()).equals(FRAME)
    assert found.notes == (f"1 file has no rows and was left out: first/bare.{kind}",)


@pytest.mark.parametrize("kind", ["csv", "jsonl", "json"])
def test_text_of_no_bytes_is_a_part_without_rows(tmp_path, kind):
    folder = written(tmp_path / "preds", kind)
    for place in (7, 8):
        (folder / f"part-{place}.{kind}").touch()
    found = opened(folder)
    assert pl.concat(found.frames()).equals(FRAME)
    assert found.notes == (f"2 files have no bytes and were left out: part-7.{kind}, part-8.{kind}",)


@pytest.mark.parametrize("name", ["part-9.parquet", "part-9"])
def test_parquet_of_no_bytes_is_refused_with_its_name(tmp_path, name):
    # A writer that has finished leaves a footer, also where there are no rows.
    folder = written(tmp_path / "preds")
    (folder / name).touch()
    error = refusal(str(folder / "part-*"))
    assert str(folder / name) in error.what
    assert "0 bytes" in error.what


def test_a_folder_without_a_table_says_what_it_holds(tmp_path):
    (tmp_path / "notes.txt").write_text("x", encoding="utf-8")
    assert "it holds notes.txt" in refusal(tmp_path).what
    (tmp_path / "notes.txt").unlink()
    assert "it holds nothing" in refusal(tmp_path).what
    (tmp_path / "a.csv").touch()
    assert "are empty" in refusal(tmp_path).what
    (tmp_path / "a.csv").write_text("truth,predicted\n", encoding="utf-8")
    assert "no rows" in refusal(tmp_path).what


def test_other_files_beside_the_tables_are_left_out_with_a_note(tmp_path):
    folder = written(tmp_path / "preds")
    (folder / "notes.txt").write_text("x", encoding="utf-8")
    assert opened(folder).notes == ("left out of preds, because they are no tables: notes.txt",)


def test_tables_of_different_kinds_are_refused(tmp_path):
    written(tmp_path / "preds")
    written(tmp_path / "preds", "csv")
    assert "of different kinds" in refusal(tmp_path / "preds").what


def test_addresses_that_cannot_be_read_here_are_refused_with_a_hint():
    assert "engine='spark'" in refusal("hdfs://host/preds").hint
    assert "Only Parquet" in refusal("s3://bucket/preds.csv").what
    assert list_files("s3://bucket/preds/").parts[0].path == "s3://bucket/preds/"


class Shelf(http.server.BaseHTTPRequestHandler):
    """Gives parts of one file, as stores do."""

    data = b""

    def do_HEAD(self) -> None:
        self.do_GET()

    def do_GET(self) -> None:
        first, last = 0, len(self.data) - 1
        asked = re.match(r"bytes=(\d*)-(\d*)", self.headers.get("Range", ""))
        if asked and asked[1]:
            first, last = int(asked[1]), min(int(asked[2] or last), last)
        elif asked:
            first = max(0, len(self.data) - int(asked[2]))
        self.send_response(206 if asked else 200)
        self.send_header("Content-Length", str(last - first + 1))
        self.send_header("Accept-Ranges", "bytes")
        if asked:
            self.send_header("Content-Range", f"bytes {first}-{last}/{len(self.data)}")
        self.end_headers()
        if self.command == "GET":
            self.wfile.write(self.data[first : last + 1])

    def log_message(self, *_: object) -> None:
        """Nobody listens."""


def test_parquet_at_an_address_is_read_from_there(tmp_path):
    file = tmp_path / "a.parquet"
    FRAME.write_parquet(file)
    Shelf.data = file.read_bytes()
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Shelf) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        address = f"http://127.0.0.1:{server.server_port}/a.parquet"
        found = opened(address)
        assert found.name == "a.parquet"
        assert found.rows == 30
        assert pl.concat(found.frames(["n", "truth"])).equals(FRAME.select("n", "truth"))
        Shelf.data = b"no table"
        assert address in refusal(address).what
        server.shutdown()


def test_a_short_file_is_held_in_memory_unless_told_otherwise(tmp_path, monkeypatch):
    file = tmp_path / "a.parquet"
    FRAME.write_parquet(file)
    assert batches_of(file) is None
    assert batches_of(file, engine="memory") is None
    assert batches_of("-", engine="stream") is None
    assert batches_of(tmp_path) is not None
    assert batches_of(tmp_path, engine="memory") is None
    monkeypatch.setattr(batches_module, "LONG_ROWS", 29)
    assert batches_of(file) is not None
    text = tmp_path / "a.csv"
    FRAME.write_csv(text)
    assert batches_of(text) is None
    monkeypatch.setattr(batches_module, "LONG_BYTES", 50)
    assert batches_of(text) is not None


def test_a_row_is_found_in_its_file(tmp_path):
    folder = written(tmp_path / "preds")
    found = opened(folder)
    assert found.place(10) == (str(folder / "part-1.parquet"), 0)
    assert found.where(29) == f"row 30 (row 10 of {folder / 'part-2.parquet'})"
    assert opened(folder / "part-0.parquet").where(3) == "row 4"


CELLS = st.sampled_from(
    ["0", "1", "-3", "007", "1.5", "1e3", "", " 2", "true", "false", "True", "x", "9" * 20, "0,5", "+4", "nan"]
)


@given(st.lists(CELLS, min_size=1, max_size=8), st.integers(1, 3), st.booleans())
def test_a_column_of_text_is_in_pieces_what_it_is_as_a_whole(values, size, comma):
    column = pl.Series("a", values, dtype=pl.String)
    pieces = [column.slice(at, size) for at in range(0, len(values), size)]
    kind = joined_kind({kind_of_piece(piece, decimal_comma=comma) for piece in pieces})
    made = pl.concat([as_kind(piece, kind) for piece in pieces])
    assert made.to_list() == pytest.approx(typed(column, decimal_comma=comma).to_list(), nan_ok=True)


@given(
    st.lists(st.tuples(st.sampled_from(["a", 'say "x"', "two\nlines", "é", "1"]), CELLS), min_size=1, max_size=20),
    st.integers(30, 80),
    st.sampled_from(["\n", "\r\n"]),
)
def test_text_cut_anywhere_is_the_table_that_is_read_at_once(tmp_path_factory, rows, size, newline):
    folder = tmp_path_factory.mktemp("cut")
    file = folder / "a.csv"
    quoted = ['"' + text.replace('"', '""') + '",' + f'"{cell}"' for text, cell in rows]
    file.write_bytes(newline.join(["name,value", *quoted, ""]).encode())
    found = DelimitedBatches(list_files(file), size=size)
    found.batch = 3
    assert pl.concat(found.frames()).equals(read_table(file))


def test_a_ragged_line_is_named_by_its_number_in_the_file(tmp_path):
    file = tmp_path / "a.csv"
    file.write_text("truth,predicted\n" + "yes,no\n" * 50 + "yes\n", encoding="utf-8")
    with pytest.raises(FileError, match=r"a\.csv, line 52: expected 2 fields"):
        list(DelimitedBatches(list_files(file), size=40).frames())


def test_text_that_is_not_utf8_is_named(tmp_path):
    folder = written(tmp_path / "preds", "csv")
    (folder / "part-1.csv").write_bytes(b"truth,n,x\ny\xffs,1,2\n")
    error = refusal(folder)
    assert "part-1.csv" in error.what
    assert "not UTF-8" in error.what


def test_numbers_as_text_in_one_file_of_json_lines_are_refused_with_both_files(tmp_path):
    (tmp_path / "a.jsonl").write_text('{"truth": 1}\n', encoding="utf-8")
    (tmp_path / "b.jsonl").write_text('{"truth": "1"}\n', encoding="utf-8")
    error = refusal(tmp_path)
    assert isinstance(error, ColumnError)
    assert "a.jsonl" in error.what
    assert "b.jsonl" in error.what


def test_what_is_broken_in_json_lines_is_named(tmp_path):
    (tmp_path / "a.jsonl").write_text('{"truth": 1}\n', encoding="utf-8")
    (tmp_path / "b.jsonl").write_text('{"truth": 1}\n{"truth"\n', encoding="utf-8")
    assert "b.jsonl, line 2" in refusal(tmp_path).what


@pytest.mark.parametrize("kind", ["parquet", "csv", "jsonl"])
def test_whoever_watches_is_told_how_far_a_reading_is(tmp_path, kind):
    batches, told = opened(written(tmp_path / "preds", kind), 10), []
    token = batches_module.watching.set(lambda *far: told.append(far))
    try:
        list(batches.frames(["n"]))
        first, told = told, []
        list(batches.frames(["n"]))
    finally:
        batches_module.watching.reset(token)
    assert told == [*(("preds", done, 30) for done in (10, 20, 30)), ("preds", None, None)]
    if kind == "parquet":
        assert first == told
    else:
        # What the columns are is found out before, and how many rows there are is not known then.
        assert first[:4] == [*(("preds", done, None) for done in (10, 20, 30)), ("preds", None, None)]
