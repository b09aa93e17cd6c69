"""Scores in lazy frames that crowd at 0 or at 1, or are as small or as large as floats can be, lose no digits."""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import product
from typing import Any

import duckdb
import numpy as np
import polars as pl
import pytest
from tests.engines.test_lazy import both, table

from heldout.evidence.bin_grid import POINT
from heldout.evidence.consistency import impossible
from heldout.evidence.losses import LOSSES
from heldout.measures.certified import bounds


def crowded(kind: str, n: int = 400) -> pl.DataFrame:
    rng = np.random.default_rng(2)
    part, true = rng.random(n), rng.random(n) < 0.3
    score = {
        "near 0": part * 1e-20,
        "about the rounding error": part * 1e-15,
        "smallest": part * 1e-300,
        "near 1": 1 - part * 1e-9,
        "near the truth": np.where(true, 1 - part * 1e-9, part * 1e-9),
        "of all sizes": 10.0 ** (-320 * part),
    }[kind]
    return pl.DataFrame({"y": true.astype(int), "s": score, "g": rng.integers(0, 9, n), "w": rng.integers(1, 9, n) / 4})


def engines(rows: pl.DataFrame) -> list[Any]:
    return [rows.lazy(), duckdb.from_arrow(rows.to_arrow())]


def by_code(codes: Any, values: Any) -> list[float]:
    """Sums without rounding but of the last."""
    return [math.fsum(values[codes == code].tolist()) for code in np.unique(codes)]


@pytest.mark.parametrize("weight", [None, "w"])
@pytest.mark.parametrize(
    "kind", ["near 0", "about the rounding error", "smallest", "near 1", "near the truth", "of all sizes"]
)
def test_losses_of_scores_that_crowd_at_an_end_are_those_of_rows_in_memory(kind, weight):
    rows = crowded(kind)
    true, score, group = (rows[name].to_numpy() for name in ("y", "s", "g"))
    held = rows["w"].to_numpy() if weight else np.ones(len(rows))
    right = np.maximum(np.where(true, score, 1 - score), np.finfo(float).eps)
    brier, logs = held * np.where(true, 1 - score, score) ** 2, -held * np.log(right)
    # Many bins, so that losses are summed from bins; few, so that they are summed where the rows are.
    for most, lazy in product((1 << 20, 32), engines(rows)):
        roles = {"truth": "y", "score": "s", "positive": 1, "threshold": 0.5, "group": "g", "weight": weight}
        (found, _), (wanted, _) = both(rows, lazy, most=most, **roles)
        assert [name for name in found.differing(wanted, relative=1e-12) if ".bins[0]." not in name] == []
        sums = found.scores.probabilities
        for name, losses in (("brier", brier), ("log_loss", logs)):
            # Of the least sums too, which stand beside others that are larger by far.
            assert sums.class_losses[name].tolist() == pytest.approx(by_code(true, losses), rel=1e-12, abs=0)
            assert sums.groups.losses[name].tolist() == pytest.approx(by_code(group, losses), rel=1e-12, abs=0)
            assert sums.losses[name].mean == pytest.approx(math.fsum(losses) / held.sum(), rel=1e-12, abs=0)


def test_losses_of_each_class_are_exact_where_one_has_all_of_them():
    part = np.random.default_rng(3).random((2, 60)) * 1e-12
    true = np.arange(60) % 3
    rows = pl.DataFrame({"k": np.array(["a", "b", "c"])[true], "a": part[0], "b": part[1], "c": 1 - part.sum(axis=0)})
    away = rows.select("a", "b", "c").to_numpy() - np.eye(3)[true]
    for lazy in engines(rows):
        (found, _), (wanted, _) = both(rows, lazy, truth="k", score=["a", "b", "c"])
        assert found.differing(wanted, relative=1e-12) == ()
        made = found.scores.probabilities.class_losses["brier"].tolist()
        assert made == pytest.approx(by_code(true, (away**2).sum(axis=1)), rel=1e-12, abs=0)


@pytest.mark.parametrize("name", LOSSES)
def test_losses_of_a_class_may_be_below_nothing_by_rounding_only(name):
    (found, _), _ = both(table(), truth="y", score="s")
    sums = found.scores.probabilities
    total = sums.class_losses[name].sum()
    for least, fits in ((-1e-13 * total, True), (-1e-6 * total, False), (np.nan, False)):
        held = replace(sums, class_losses={**sums.class_losses, name: np.array([least, total])})
        assert (impossible(replace(found, scores=replace(found.scores, probabilities=held))) == "") is fits


@pytest.mark.parametrize(
    "ends", [(0.0, 1e-300), (-1e-318, 1e-318), (1e299, 1e300), (-1.7e308, -1e308), (-1.7e308, 1.7e308)]
)
def test_areas_of_scores_of_any_size_are_certain(ends):
    rng = np.random.default_rng(6)
    true = rng.random(500) < 0.4
    share = ((rng.random(500) + 0.3 * true) / 1.3) ** 3
    rows = pl.DataFrame({"y": true.astype(int), "s": ends[0] * (1 - share) + ends[1] * share})
    for lazy in engines(rows):
        (found, _), (wanted, _) = both(
            rows, lazy, truth="y", score="s", positive=1, threshold=0.0, most=32, tolerance=1e-6
        )
        assert found.scores.bins[0].base > POINT
        low, high = bounds(found.scores.bins[0].ranking(1), "roc_auc")
        value = bounds(wanted.scores.bins[0].ranking(1), "roc_auc")
        assert low <= value[0] <= value[1] <= high
        assert high - low <= 1e-6
