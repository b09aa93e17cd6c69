"""Columns whose names say that rows belong together are found where they were not used."""

from __future__ import annotations

import polars as pl
import pytest

from heldout.predictions.column_roles import KEYS, WORDS, is_unit, may_be_group
from heldout.predictions.source import gather

COLUMNS = {
    "y": [0, 1, 0, 1, 0, 1],
    "p": [0, 1, 1, 1, 0, 0],
    "Patient-ID": ["a", "a", "b", "b", "c", None],
    "site": ["x"] * 6,
    "user_id": [1, 2, 3, 4, 5, 6],
    "age": [1, 1, 2, 2, 3, 3],
}


@pytest.mark.parametrize(
    "name",
    ["patient", "PatientID", "subject_no", "Speaker", "users", "group", "session id", "study.site", "customer_id"],
)
def test_usual_names_of_groups_are_known(name):
    assert may_be_group(name)


@pytest.mark.parametrize("name", ["age", "valid", "grouping", "impatient", "score", "sitemap", ""])
def test_other_names_are_not(name):
    assert not may_be_group(name)


def test_a_column_of_groups_is_reported_with_its_values_and_rows(tmp_path):
    pl.DataFrame(COLUMNS).write_csv(tmp_path / "cases.csv")
    expected = (("Patient-ID", 3, 5),)
    for data in (COLUMNS, pl.DataFrame(COLUMNS), pl.DataFrame(COLUMNS).to_pandas(), tmp_path / "cases.csv"):
        assert gather(data, {"truth": "y", "predicted": "p"})[1].group_like == expected


def test_a_group_that_is_used_is_not_reported():
    frame = pl.DataFrame(COLUMNS).drop_nulls()
    seen, source = gather(frame, {"truth": "y", "predicted": "p", "group": "Patient-ID"})
    assert source.group_like == ()
    assert seen.group is not None


@pytest.mark.parametrize("word", WORDS)
def test_one_list_serves_predictions_and_data(word):
    for name in (word, f"{word}s", *(f"{word}_{key}" for key in KEYS)):
        assert may_be_group(name)
        assert is_unit(name)
    assert not is_unit(f"{word} size")
