"""Thresholds chosen from counts: what needs the rows is said to need them, with a way to get them that works."""

from __future__ import annotations

from typing import Any

import duckdb
import numpy as np
import polars as pl
import pytest

import heldout
from heldout.errors import OptionError

# A threshold or, of several classes, a cost: which of the two comes is not for the type checker here.
choose_threshold: Any = heldout.choose_threshold

RNG = np.random.default_rng(4)
TRUTH = RNG.random(300) < 0.4
FRAME = pl.DataFrame({"truth": TRUTH.astype(int), "score": np.round(RNG.random(300) * 0.7 + 0.3 * TRUTH, 2)})
NEEDS = "The honest figure (honest=True, --honest) needs the rows, and these were counted"
WAY = "engine='memory' (--engine memory), or collect the frame"


def choose(data: Any, **options: Any) -> Any:
    return choose_threshold(data, "score", truth="truth", by="f1", replicates=50, **options)


@pytest.fixture(params=["folder", "duckdb", "polars", "relation", "evidence", "file"])
def counted(request, tmp_path) -> Any:
    """The same rows where only counts of them are known, and the options with which they are read."""
    for place in range(2):
        FRAME[150 * place : 150 * place + 150].write_parquet(tmp_path / f"{place}.parquet")
    if request.param == "polars":
        return FRAME.lazy(), {}
    if request.param == "relation":
        return duckdb.connect().register("frame", FRAME.to_arrow()).table("frame"), {}
    if request.param in ("evidence", "file"):
        evidence = heldout.count(FRAME, truth="truth", score="score")
        if request.param == "evidence":
            return evidence, {}
        evidence.save(tmp_path / "counts.evidence")
        return tmp_path / "counts.evidence", {}
    return tmp_path, {"engine": "duckdb"} if request.param == "duckdb" else {}


def test_counts_are_not_sent_to_what_only_rows_can_do(counted):
    data, options = counted
    if isinstance(data, heldout.Evidence) or str(data).endswith(".evidence"):
        chosen = choose_threshold(data, by="f1", replicates=50)
    else:
        chosen = choose(data, **options)
    assert chosen.threshold == choose(FRAME).threshold
    assert NEEDS in chosen.warnings[0]
    assert WAY in chosen.warnings[0]
    assert "or ask for the honest figure" not in str(chosen)


def test_rows_are_still_sent_there():
    for chosen in (choose(FRAME), choose_threshold(FRAME["truth"], FRAME["score"], by="f1", replicates=50)):
        assert "or ask for the honest figure (honest=True, --honest)" in chosen.warnings[0]
        assert NEEDS not in chosen.warnings[0]


def test_what_is_refused_of_counts_is_had_as_the_hint_says(tmp_path):
    for place in range(2):
        FRAME[150 * place : 150 * place + 150].write_csv(tmp_path / f"{place}.csv")
    for data in (tmp_path, FRAME.lazy()):
        with pytest.raises(OptionError, match="counted and not kept") as refused:
            choose(data, honest=True)
        assert WAY in refused.value.hint
    wanted = choose(FRAME, honest=True).honest
    for found in (choose(tmp_path, honest=True, engine="memory"), choose(FRAME.lazy().collect(), honest=True)):
        assert found.honest.thresholds == wanted.thresholds
        assert found.honest.estimate == wanted.estimate


def test_what_was_said_of_the_rows_stands_with_the_choice(tmp_path):
    gaps = FRAME.with_columns(score=pl.when(pl.int_range(300) > 9).then("score"), weight=1.0, fold=1)
    gaps.write_csv(tmp_path / "0.csv")
    for engine in ("memory", "stream", "duckdb"):
        notes = choose(tmp_path / "0.csv", missing="drop", engine=engine).notes
        assert notes == (
            "the column 'weight' of 0.csv was not used; --weight weight would use it",
            "10 of 300 rows were dropped because of missing values: score in 10",
        )
