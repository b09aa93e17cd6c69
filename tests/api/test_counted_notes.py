"""What is said of counted parts is what is said of their rows: no sentence of a part that is none of the whole."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import polars as pl
import pytest

from heldout.api.evaluate import evaluate
from heldout.engines.accumulator import Evidence
from heldout.engines.memory import counted
from heldout.evidence.storage import as_bytes, from_bytes
from heldout.predictions.source import gather
from heldout.results.evaluation_builder import counted_notes

# Truth and prediction of two parts, and what is said of all the rows.
SAID: dict[str, tuple[Any, Any, list[str]]] = {
    "nothing": ((["a", "b"], ["a", "a"]), (["b", "b"], ["b", "a"]), []),
    "strangers": ((["a", "a"], ["b", "b"]), (["a", "a"], ["c", "b"]), ["no label in common"]),
    "strangers in a part": ((["a", "a"], ["b", "b"]), (["b", "a"], ["b", "a"]), []),
    "look-alikes": ((["a", "b"], ["a", "a"]), (["A", "b"], ["b", "b"]), ["'A' and 'a' look alike"]),
    "a word for missing": ((["a", "b"], ["a", "a"]), (["nan", "b"], ["b", "b"]), ["'nan' looks like a missing value"]),
    "types": (([0, 1], ["0", "1"]), ([1, 0], ["0", "1"]), ["labels of different types were joined: '0'"]),
    "left out": (([0, None, 1], [0, 1, 1]), ([1, 0, 1], [0, None, 1]), ["2 of 6 rows were dropped because of"]),
    "all": (
        ([0, None, 0], ["1", "1", "2"]),
        ([0, 0, 0], [None, "1", "2"]),
        ["2 of 6 rows were dropped", "labels of different types were joined: '1'", "no label in common"],
    ),
}


@pytest.mark.parametrize("kind", SAID)
def test_parts_say_what_their_rows_say_in_the_same_order(kind, tmp_path):
    *parts, expected = SAID[kind]
    truth, predicted = ([value for part in parts for value in part[side]] for side in (0, 1))
    whole = evaluate(truth, predicted, missing="drop").notes
    assert [said in note for said, note in zip(expected, whole, strict=True)] == [True] * len(expected)
    made = [counted(gather(one, {"predicted": two}, missing="drop")[0]) for one, two in parts]
    grown = Evidence(missing="drop")
    for one, two in parts:
        grown.update(one, two)
    folder = tmp_path / "rows"
    folder.mkdir()
    for at, (one, two) in enumerate(parts):
        pl.DataFrame({"truth": one, "predicted": two}).write_parquet(folder / f"{at}.parquet")
    frame = pl.LazyFrame({"truth": truth, "predicted": predicted})
    for found in (
        evaluate(made[0] + made[1]),
        evaluate(made[1] + made[0]),
        evaluate(from_bytes(as_bytes(made[0] + made[1]), "both")),
        evaluate(grown),
        evaluate(folder, missing="drop", engine="stream"),
        evaluate(frame, truth="truth", predicted="predicted", missing="drop"),
    ):
        assert found.notes == whole


def test_a_note_that_only_looks_like_one_that_is_made_anew_stays():
    made = counted(gather([0, None, 1], {"predicted": [0, 1, 1]}, missing="drop")[0])
    said = (
        "the column 'dropped because of' was left out",
        "truth and prediction have no label in common, says a column",
        "the column 'look alike but count as two classes' was left out",
        "labels of different types were joined, says a column",
    )
    assert counted_notes(replace(made, notes=said)) == [*said, *counted_notes(made)]
    assert len(counted_notes(made)) == 1


def test_what_is_said_twice_is_shown_once():
    made = counted(gather([0, 1], {"predicted": ["0", "1"]})[0])
    twice = replace(made, notes=("the same",)) + replace(made, notes=("the same",))
    assert evaluate(twice).notes == ("the same", *made.joined_types)
