"""Columns that are numbers in one text file and text in another: what was made of them is said, with the files."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from typer.testing import CliRunner

import heldout
from heldout.cli.app import app
from heldout.engines.stream import batch_engine
from heldout.files.delimited import DelimitedBatches
from heldout.files.paths import list_files

CLASSES = {"numbers": ("0", "1"), "text": ("no", "yes"), "booleans": ("false", "true")}


def folder_of(folder, **columns: list[str]):
    """One file for each name, of a column `truth` with these values; what is predicted is the same."""
    folder.mkdir(exist_ok=True)
    for name, values in columns.items():
        rows = "".join(f"{value},{value}\n" for value in values)
        (folder / f"{name}.csv").write_text(f"truth,predicted\n{rows}", encoding="utf-8")
    return folder


def with_scores(folder, scores: dict[str, list[str]]):
    for name, values in scores.items():
        rows = "".join(f"{('no', 'yes')[row % 2]},yes,{value}\n" for row, value in enumerate(values))
        (folder / f"{name}.csv").write_text(f"truth,predicted,score\n{rows}", encoding="utf-8")
    return folder


SCORES = {"a": ["0.5", "0.25", "0.75"], "b": ["0.5", "n/a", "0.1"]}


def test_scores_that_are_text_in_one_file_are_left_out_with_the_file_and_the_text(tmp_path):
    (note,) = heldout.evaluate(with_scores(tmp_path, SCORES)).notes
    assert note.startswith("columns that look like scores were not used: score; ")
    assert note.endswith(f"'score' holds 'n/a' in {tmp_path / 'b.csv'}")


@pytest.mark.parametrize("order", [1, -1])
def test_the_text_is_named_whichever_file_comes_first(order, tmp_path):
    names = ["a", "b"][::order]
    (note,) = heldout.evaluate(
        with_scores(tmp_path, dict(zip(names, SCORES.values(), strict=True))), engine="stream"
    ).notes
    assert f"'n/a' in {tmp_path / names[1]}.csv" in note


def test_scores_of_one_file_in_memory_are_left_out_with_the_row_and_the_text(tmp_path):
    with_scores(tmp_path, SCORES)
    (note,) = heldout.evaluate(tmp_path / "b.csv").notes
    assert note.endswith("'score' holds 'n/a' in row 2")
    (note,) = heldout.evaluate(tmp_path, engine="memory").notes
    assert note.endswith(f"'score' holds 'n/a' in row 5 (row 2 of {tmp_path / 'b.csv'})")


@pytest.mark.parametrize("values", [["high", "low"], ["x" * 5000, "y"], [None, "n/a"]])
def test_the_text_is_shown_in_a_few_letters(values):
    (note,) = heldout.evaluate({"truth": [0, 1], "predicted": [0, 1], "score": values}).notes
    shown = next(value for value in values if value is not None)
    assert f"'score' holds '{shown[:5]}"[:22] in note
    assert len(note) < 130


def test_a_column_of_another_type_is_no_column_of_numbers(tmp_path):
    table = pl.DataFrame({"truth": [0, 1], "predicted": [0, 1], "score": ["1", "2"]})
    (note,) = heldout.evaluate(table).notes
    assert note.endswith("'score' is no column of numbers")
    table.write_parquet(tmp_path / "part.parquet")
    assert heldout.evaluate(tmp_path).notes == (note,)
    assert heldout.evaluate(table.lazy()).notes == (note,)


def test_a_column_that_is_no_score_of_several_classes_is_still_to_be_named():
    table = {"truth": [0, 1, 2], "predicted": [0, 1, 2], "score": ["n/a", "1", "2"]}
    (note,) = heldout.evaluate(table).notes
    assert note.endswith("name them with --score")


@pytest.mark.parametrize("engine", [None, "memory"])
@pytest.mark.parametrize("other", ["text", "booleans"])
@pytest.mark.parametrize("order", [1, -1])
def test_files_that_differ_in_their_classes_are_named(order, other, engine, tmp_path):
    kinds = ["numbers", other][::order]
    files = dict(zip(("a", "b"), kinds, strict=True))
    folder = folder_of(tmp_path / "rows", **{name: [*CLASSES[kind]] * 3 for name, kind in files.items()})
    numbers, rest = (next(name for name, held in files.items() if held == kind) for kind in ("numbers", other))
    evaluation = heldout.evaluate(folder, engine=engine)
    assert len(evaluation.labels) == 4
    assert [note for note in evaluation.notes if "count as text" in note] == [
        f"{role} (column {role!r}) holds numbers in {numbers}.csv and {other} in {rest}.csv, "
        "so its numbers count as text"
        for role in ("truth", "predicted")
    ]


@pytest.mark.parametrize(
    "files",
    [
        {"a": ["1", "2"], "b": ["1", "2", "x"]},
        {"a": ["1", "x"], "b": ["no", "yes"]},
        {"a": ["no", "yes"], "b": ["true", "false"]},
        {"a": ["0", "1"], "b": ["0.0", "1.0"]},
        {"a": ["0", "1"], "b": ["1", ""]},
        {"a": ["0", "1", "no", "yes"]},
    ],
)
def test_nothing_is_said_where_no_whole_files_differ(files, tmp_path):
    folder = folder_of(tmp_path / "rows", **files)
    assert not [note for note in heldout.evaluate(folder, missing="drop").notes if "count as text" in note]


def test_a_file_whose_pieces_differ_is_neither_numbers_nor_text(tmp_path):
    folder = folder_of(tmp_path, a=["yes"] * 9, b=["1"] * 9 + ["yes"] * 9)
    batches = DelimitedBatches(list_files(folder), size=30)
    batches.labels = {"truth": "truth"}
    assert {len(frame) for frame in batches.frames(["truth"])}
    assert batches.notes == ()


def test_only_columns_of_classes_are_looked_at(tmp_path):
    folder = folder_of(tmp_path, a=["0", "1"], b=["no", "yes"])
    batches = DelimitedBatches(list_files(folder))
    batches.labels = {"truth": "truth"}
    batches.kinds(["predicted"])
    assert batches.notes == ()
    batches.kinds(["truth"])
    assert len(batches.notes) == 1


def test_the_note_comes_out_where_all_is_read_once(tmp_path, monkeypatch):
    for name, positive in (("a", "yes"), ("b", "1")):
        rows = "".join(f"{positive},{positive},0.{digit}\n" for digit in range(1, 9))
        (tmp_path / f"{name}.csv").write_text(f"truth,predicted,p_yes\n{rows}", encoding="utf-8")
    thorough = [f"{role} (column {role!r}) holds numbers in b.csv and text in a.csv, so its numbers count as text"
                for role in ("truth", "predicted")]  # fmt: skip
    slow = heldout.evaluate(tmp_path, positive="yes", slices=["p_yes"])
    assert [note for note in slow.notes if "count as text" in note] == thorough

    count_table = batch_engine._count_table

    def once(*given):
        assert len(given) == 4, "the table was read more than once"
        return count_table(*given)

    monkeypatch.setattr(batch_engine, "_count_table", once)
    quick = heldout.evaluate(tmp_path, positive="yes")
    assert quick.labels == ("1", "yes")
    assert [note for note in quick.notes if "count as text" in note] == thorough


def test_the_note_reaches_the_screen_and_the_document(tmp_path):
    folder = folder_of(tmp_path / "rows", a=["0", "1"] * 3, b=["no", "yes"] * 3)
    note = "(column 'truth') holds numbers in a.csv and text in b.csv, so its numbers count as text"
    run = CliRunner()
    shown = run.invoke(app, ["evaluate", str(folder)])
    assert f"! Truth {note}." in " ".join(shown.output.split())
    made = run.invoke(app, ["evaluate", str(folder), "--json", "-"])
    assert f"truth {note}" in json.loads(made.stdout)["notes"]


# Texts of digits beyond 64 bits stay texts, as a text file holds them; a type of whole numbers stays one.
FILES: dict[str, Callable[[pl.DataFrame, Path], Any]] = {
    "parquet": pl.DataFrame.write_parquet,
    "arrow": pl.DataFrame.write_ipc,
    "npz": lambda table, path: np.savez(path, truth=table["truth"].to_numpy(), predicted=table["predicted"].to_numpy()),
}


@pytest.mark.parametrize(
    ("kind", "engine"),
    [
        ("parquet", None),
        ("parquet", "stream"),
        ("parquet", "polars"),
        ("parquet", "duckdb"),
        ("arrow", None),
        ("npz", None),
    ],
)
def test_labels_beyond_64_bits_are_the_same_numbers_from_every_file_and_engine(tmp_path, kind, engine):
    truth, predicted = [2**63, 2**63 + 1, 3, 2**64 - 1, 3], [2**63, 2**63 + 1, 3, 3, 2**64 - 1]
    columns = {"truth": truth, "predicted": predicted}
    table = pl.DataFrame({name: pl.Series(values, dtype=pl.UInt64) for name, values in columns.items()})
    FILES[kind](table, tmp_path / f"a.{kind}")
    found = heldout.evaluate(tmp_path / f"a.{kind}", **({"engine": engine} if engine else {}))
    assert found.labels == heldout.evaluate(truth, predicted).labels == (3, 2**63, 2**63 + 1, 2**64 - 1)
    assert found["accuracy"].value == 0.6


@pytest.mark.parametrize("engine", [None, "stream", "polars"])
def test_ids_beyond_64_bits_are_matched_between_numbers_and_their_digits(tmp_path, engine):
    rows = {"id": [2**63 + at for at in range(40)], "truth": [0, 1] * 20, "predicted": [0, 1, 1, 1] * 10}
    kinds = {"id": pl.UInt64, "truth": pl.Int64, "predicted": pl.Int64}
    pl.DataFrame(rows, schema=kinds).write_parquet(tmp_path / "a.parquet")
    pl.DataFrame(rows, schema=kinds).reverse().write_csv(tmp_path / "b.csv")
    options = {"engine": engine} if engine else {}
    found: Any = heldout.compare(tmp_path / "a.parquet", tmp_path / "b.csv", id="id", measures="accuracy", **options)
    assert found["accuracy"].tested.difference == 0
