"""A small table in three files, and what an aggregation of it must give."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import narwhals.stable.v2 as nw
import polars as pl

ROWS = 240
# Sums of these are exact in any order.
TABLE = pl.DataFrame(
    {
        "truth": ["ja" if i % 3 == 0 else "nein" for i in range(ROWS)],
        "predicted": ["ja" if i % 5 < 2 else "nein" for i in range(ROWS)],
        "score": [(i * 37 % 64) / 64 for i in range(ROWS)],
    }
)


def parts(folder: Path, form: str, table: pl.DataFrame = TABLE, n: int = 3) -> Path:
    """The table in `n` files of a folder, Parquet or CSV."""
    folder.mkdir(exist_ok=True, parents=True)
    for i in range(n):
        part = table[i * len(table) // n : (i + 1) * len(table) // n]
        if form == "parquet":
            part.write_parquet(folder / f"part-{i}.parquet")
        else:
            part.write_csv(folder / f"part-{i}.csv")
    return folder


def summed(frame: Any) -> dict[Any, tuple[int, float]]:
    """How many rows each pair of classes has and the sum of their scores, counted where the table is."""
    found = frame.group_by("truth", "predicted").agg(n=nw.len(), score=nw.col("score").sum()).collect(backend="polars")
    return {(truth, predicted): (n, float(score)) for truth, predicted, n, score in found.rows()}


FOUND = summed(nw.from_native(TABLE.lazy()))
