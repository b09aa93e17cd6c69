"""Scores and weights that are no numbers, infinite or negative: every engine says of them what rows in memory say."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import dask.dataframe as dd
import duckdb
import ibis  # type: ignore[import-untyped]
import numpy as np
import polars as pl
import pytest

import heldout
from heldout.errors import FileError, ValuesError

COLUMNS: dict[str, Any] = {"truth": "truth", "predicted": "predicted", "score": "score", "weight": "weight"}
BAD = {
    "nan score": ("score", math.nan),
    "infinite score": ("score", math.inf),
    "nan weight": ("weight", math.nan),
    "negative weight": ("weight", -1.0),
}
READERS: dict[str, Callable[[Path], Any]] = {
    "polars": pl.scan_parquet,
    "duckdb": lambda path: duckdb.read_parquet(str(path)),
    "ibis": lambda path: ibis.memtable(pl.read_parquet(path)),
    "dask": dd.read_parquet,
    "stream": lambda path: path.parent,
}


def written(folder, bad):
    column, value = BAD[bad]
    draw = np.random.default_rng(0)
    truth = draw.integers(0, 2, 300)
    frame = pl.DataFrame(
        {"truth": truth, "predicted": truth[::-1], "score": draw.random(300).round(2), "weight": np.ones(300)}
    )
    # Parquet notes the least and the greatest value of a column without nan, of the weights 1 and 1.
    frame = frame.with_columns(pl.when(pl.int_range(300) == 5).then(value).otherwise(column).alias(column))
    frame.write_parquet(folder / "part.parquet")
    return frame


@pytest.mark.parametrize("engine", READERS)
@pytest.mark.parametrize("bad", BAD)
def test_a_bad_number_is_met_by_every_engine_as_in_memory(tmp_path, bad, engine):
    frame = written(tmp_path, bad)
    data = READERS[engine](tmp_path / "part.parquet")
    with pytest.raises(ValuesError) as known:
        heldout.evaluate(frame, **COLUMNS)
    with pytest.raises(ValuesError) as found:
        heldout.evaluate(data, **COLUMNS)
    assert found.value.hint == known.value.hint
    assert found.value.what.split(".")[0].split(";")[0].split(",")[0] in known.value.what
    if bad.startswith("nan"):
        assert heldout.evaluate(data, missing="drop", **COLUMNS).confusion.n_cases == 299


def test_a_link_to_nothing_is_named(tmp_path):
    written(tmp_path, "nan score")
    (tmp_path / "gone.parquet").symlink_to(tmp_path / "nowhere.parquet")
    with pytest.raises(FileError, match=r"gone\.parquet is a link to .*nowhere\.parquet, which is not there"):
        heldout.evaluate(tmp_path, truth="truth", predicted="predicted")


def test_losses_that_round_to_less_than_nothing_are_saved_and_read(tmp_path):
    truth = np.arange(300_000) % 2
    heldout.count(truth, truth, score=truth * 0.5).save(tmp_path / "all.evidence")
    assert heldout.Evidence.load(tmp_path / "all.evidence").n == 300_000
