"""What workers of a cluster count: the same however the rows are cut into parts, and few or many of them."""

from __future__ import annotations

from functools import reduce
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from tests.engines.parts import parts

import heldout
from heldout.engines.backends import open_table
from heldout.engines.lazy import worker_counts
from heldout.engines.lazy.worker_counts import ScoreTask, add_tallies, merge_packed, pack
from heldout.engines.memory import counted
from heldout.engines.score_ladder import ScoreLadder
from heldout.evidence.bin_grid import POINT
from heldout.evidence.counted import ScoreTally


@pytest.mark.parametrize("pieces", [2, 7, 60])
@pytest.mark.parametrize("distinct", [300, 5000])
def test_parts_of_crowded_scores_are_merged_into_the_bins_of_one_reader(pieces, distinct):
    rng = np.random.default_rng(31)
    scores = rng.choice(rng.beta(0.05, 0.05, distinct), 6000)
    true = rng.random(6000) < scores

    def read(rows: np.ndarray) -> ScoreTally:
        reader = ScoreLadder(1025)
        reader.add(scores[rows], true[rows])
        return ScoreTally((reader.bins(),))

    every = np.arange(6000)
    merged = reduce(add_tallies, map(read, np.array_split(every, pieces)))
    assert merged.bins == read(every).bins
    assert (merged.bins[0].base == POINT) == (distinct == 300)


@pytest.mark.parametrize("folded", [False, True])
def test_few_rows_are_counted_as_many_are(folded, monkeypatch):
    rng = np.random.default_rng(32)
    rows = pd.DataFrame({"truth": rng.choice(["no", "yes"], 900), "score_0": rng.random(900).round(2)})
    rows["fold"] = rng.integers(0, 3, 900)
    task = ScoreTask(
        ("no", "yes"),
        ("score_0",),
        1,
        weighted=False,
        grouped=False,
        folded=folded,
        unfit=None,
        called={"fold": "fold"},
    )
    few = task.count([rows[:500], rows[500:500], rows[500:]])
    monkeypatch.setattr(worker_counts, "FEW_ROWS", 450)
    part = task.count([rows[:500], rows[500:]])
    assert few is not None
    assert few.whole.probabilities is not None
    assert part is not None
    mixed = merge_packed([pack(part)])
    assert mixed is not None
    assert few.whole.bins == mixed.whole.bins
    assert few.folds.keys() == mixed.folds.keys()
    assert len(few.folds) == 3 * folded
    assert few.whole.probabilities.losses["brier"].mean == pytest.approx(
        ((rows["truth"] == "yes") - rows["score_0"]).pow(2).mean(), rel=1e-12
    )
    assert task.count([rows[:0]]) is None


def test_thousands_of_small_files_are_few_parts_of_a_dask_table(tmp_path):
    rng = np.random.default_rng(33)
    score = rng.random(3000).round(3)
    table = pl.DataFrame({"truth": np.where(rng.random(3000) < score, "yes", "no"), "score": score})
    folder = parts(tmp_path, "parquet", table, n=300)
    opened = open_table(folder, "dask")
    assert opened.frame.npartitions == 1
    opened.close()
    options: dict[str, Any] = {"truth": "truth", "score": "score", "positive": "yes"}
    found = heldout.evaluate(folder, engine="dask", **options).counted
    held = heldout.evaluate(table, **options).predictions
    assert found is not None
    assert held is not None
    assert not found.differing(counted(held), relative=1e-12)
