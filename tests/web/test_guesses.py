"""The page fills in what the command would use of the same file, and suggests the rest."""

from __future__ import annotations

import polars as pl
import pytest

import heldout
from heldout.web.worker import guesses, look

VALUES = {
    "y_true": ["no", "yes", "no", "yes"],
    "label": ["no", "yes", "no", "yes"],
    "y_pred": ["no", "yes", "yes", "yes"],
    "p_yes": [0.2, 0.9, 0.6, 0.7],
    "score": [0.2, 0.9, 0.6, 0.7],
    "weight": [1.0, 2.0, 1.0, 2.0],
    "sample_weight": [1.0, 2.0, 1.0, 2.0],
    "group": ["a", "a", "b", "b"],
    "fold": [1, 1, 2, 2],
    "cv_fold": [1, 1, 2, 2],
    "id": [1, 2, 1, 2],
    "row": [1, 2, 3, 4],
    "row_id": [1, 2, 3, 4],
    "case": [1, 2, 3, 4],
    "age": [20, 30, 40, 50],
}
HEADERS = [
    "y_true y_pred", "label p_yes", "y_true y_pred score weight", "y_true y_pred sample_weight age",
    "id y_true y_pred", "row y_true y_pred fold", "id y_true y_pred cv_fold group", "row_id y_true p_yes fold",
    "case y_true y_pred fold", "y_true p_yes group", "id row y_true y_pred fold", "fold cv_fold y_true y_pred",
    "y_true y_pred p_yes fold id weight group",
]  # fmt: skip


@pytest.mark.parametrize("header", HEADERS)
def test_page_and_command_use_the_same_columns(header, tmp_path):
    frame = pl.DataFrame({name: VALUES[name] for name in header.split()})
    path = tmp_path / "file.csv"
    frame.write_csv(path)
    source = heldout.evaluate(str(path), measures=[]).source
    used = {role: column for role, column in source.columns if column in frame.columns}
    filled = guesses(frame)
    assert filled["score"] == ([used.pop("score")] if "score" in used else [])
    assert {role: filled[role] for role in filled.keys() & {"truth", "predicted", "weight", "group", "fold", "id"}} == {
        role: used.get(role) for role in ("truth", "predicted", "weight", "group", "fold", "id")
    }


@pytest.mark.parametrize("name", ["weight", "sample_weight"])
def test_weights_that_are_not_used_are_noted_and_suggested(name, tmp_path):
    path = tmp_path / "file.csv"
    pl.DataFrame({column: VALUES[column] for column in ("y_true", "y_pred", name, "group", "case")}).write_csv(path)
    said = str(heldout.evaluate(str(path)))
    assert f"'{name}' of file.csv was not used" in " ".join(said.split())
    assert look(path, 100)["suggested"] == {"weight": name, "group": "group", "id": "case"}


def test_what_names_no_single_case_is_not_suggested_as_id(tmp_path):
    path = tmp_path / "file.csv"
    pl.DataFrame({name: VALUES[name] for name in ("id", "y_true", "y_pred")}).write_csv(path)
    assert look(path, 100)["suggested"]["id"] is None
