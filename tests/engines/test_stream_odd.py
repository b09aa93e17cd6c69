"""Batches whose first rows mislead, and values that are at the ends of what their types hold."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from tests.engines.streaming import at_once, differing, parts, streamed, table

from heldout.engines.memory import counted
from heldout.errors import ColumnError, FileError, HeldoutError, ValuesError
from heldout.predictions.source import gather

LATER = [
    ["0,1,0.25"],
    ["0,1,1e3"],
    ["0,1, 1"],
    ["0,1,x"],
    ["0,1,007"],
    ["01,1,1"],
    ["1.0,1,1"],
    ["yes,no,1"],
    ["0,1,99999999999999999999"],
    ["99999999999999999999,1,1"],
    [",1,1"],
    ["true,false,1"],
]


@pytest.mark.parametrize("later", LATER, ids=str)
@pytest.mark.parametrize(
    "first", [["0,0,0", "1,1,1"], ["0,0,0.5", "1,1,0.75"], ["true,true,0.5", "false,false,0"]], ids=str
)
def test_text_whose_first_rows_mislead_is_read_as_one_file_is(tmp_path, first, later):
    # Each file is a piece of its own, and columns are what all of their rows make them.
    folder, header = tmp_path / "preds", "truth,predicted,score"
    folder.mkdir()
    (folder / "part-0.csv").write_text("\n".join([header, *first * 30]) + "\n")
    (folder / "part-1.csv").write_text("\n".join([header, *later, *first]) + "\n")
    whole = tmp_path / "whole.csv"
    whole.write_text("\n".join([header, *first * 30, *later, *first]) + "\n")
    found = []
    for count in (lambda: streamed(folder, missing="drop")[0], lambda: counted(gather(whole, {}, missing="drop")[0])):
        try:
            found.append(count())
        except HeldoutError as error:
            found.append(type(error))
    if isinstance(found[1], type):
        assert found[0] is found[1]
    else:
        assert differing(*found) == ()


def test_an_infinite_score_is_named_also_where_every_batch_has_one(tmp_path):
    frame = table(200).with_columns(score=pl.when(pl.int_range(pl.len()) == 19).then(np.inf).otherwise("score"))
    with pytest.raises(ValuesError, match="1 score is not finite, in row 20"):
        streamed(parts(frame, tmp_path / "preds", 1), batch=1000, score="score", truth="truth", predicted="predicted")


def test_whole_numbers_far_apart_are_labels(tmp_path):
    labels = np.array([-(2**62), 2**63 - 1, 5])
    truth = labels[np.arange(300) % 3]
    frame = pl.DataFrame({"truth": truth, "predicted": np.roll(truth, 1)})
    made, _ = streamed(parts(frame, tmp_path / "preds"))
    expected, *_ = at_once(frame, tmp_path)
    assert made.labels == (-(2**62), 5, 2**63 - 1)
    assert differing(made, expected) == ()


@pytest.mark.parametrize("name", ["*", "^t.*$"])
def test_a_column_whose_name_is_a_pattern_is_refused(tmp_path, name):
    folder = parts(table().rename({"truth": name}), tmp_path / "preds")
    with pytest.raises(ColumnError, match="is a pattern"):
        streamed(folder, truth=name, predicted="predicted")


HEADER = "truth,predicted,score\n"


@pytest.mark.parametrize(
    ("written", "said"),
    [
        ({"a.csv": HEADER}, "preds has a header but no rows."),
        ({"a.csv": HEADER + "\n\n", "b.csv": HEADER}, "preds has 2 files, and none of them has a row."),
        ({"a.json": "[]", "b.json": "[]"}, "preds has 2 files, and none of them has a row."),
    ],
    ids=["one file", "two files", "JSON"],
)
@pytest.mark.parametrize(
    "roles", [{}, {"truth": "truth", "score": "score", "positive": "yes"}], ids=["guessed", "named"]
)
def test_a_folder_without_a_row_is_refused_with_its_name(tmp_path, written, said, roles):
    folder = tmp_path / "preds"
    folder.mkdir()
    for name, text in written.items():
        (folder / name).write_text(text)
    with pytest.raises(FileError) as caught:
        streamed(folder, **roles)
    assert caught.value.what == said


def test_a_file_without_rows_beside_others_is_left_out_with_a_note(tmp_path):
    folder = parts(table(), tmp_path / "preds", kind="csv")
    (folder / "part-9.csv").write_text(HEADER)
    made, _ = streamed(folder, truth="truth", predicted="predicted", score="score")
    assert made.n == 600
    assert "1 file has no rows and was left out: part-9.csv" in made.notes
