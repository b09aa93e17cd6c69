"""Rows that are read in batches beside the same rows at once, for tests of the stream engine."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl

from heldout.engines.memory import counted
from heldout.engines.stream.batch_engine import count_stream
from heldout.files.batches import batches_of
from heldout.predictions.source import ReadOptions, gather


def table(n: int = 600, seed: int = 0) -> pl.DataFrame:
    rng = np.random.default_rng(seed)
    score = np.round(rng.random(n), 2)
    truth = rng.random(n) < score
    predicted = (score >= 0.5) ^ (rng.random(n) < 0.02)
    return pl.DataFrame(
        {
            "truth": np.where(truth, "yes", "no"),
            "predicted": np.where(predicted, "yes", "no"),
            "score": score,
            "weight": rng.integers(1, 9, n) / 8,
            "fold": rng.integers(1, 4, n),
            "clinic": rng.integers(0, 20, n),
            "sex": rng.choice(["f", "m", "é"], n),
            "age": rng.integers(18, 90, n),
        }
    )


def parts(frame: pl.DataFrame, folder: Path, number: int = 4, kind: str = "parquet") -> Path:
    """The rows in several files of a folder."""
    folder.mkdir(exist_ok=True)
    size = -(-len(frame) // number)
    for place in range(number):
        part = frame.slice(place * size, size)
        if kind == "parquet":
            part.write_parquet(folder / f"part-{place}.parquet")
        elif kind == "csv":
            part.write_csv(folder / f"part-{place}.csv")
        else:
            part.write_ndjson(folder / f"part-{place}.jsonl")
    return folder


def streamed(path, batch=100, *, tolerance=1e-6, passes=3, **options):
    asked = asked_for(options)
    batches = batches_of(path, engine="stream")
    assert batches is not None
    batches.batch = batch
    return count_stream(batches, options, asked, tolerance=tolerance, passes=passes)


def differing(made, expected):
    """What differs between evidence beside its notes, which name different files."""
    return replace(made, notes=()).differing(replace(expected, notes=()), relative=1e-12)


def asked_for(options):
    names = ("labels", "missing", "score", "positive", "threshold", "slices")
    held = {name: options.pop(name, None) for name in names}
    return ReadOptions(**{**held, "missing": held["missing"] or "refuse"})


def at_once(frame: pl.DataFrame, folder: Path, **options):
    """What is counted of the same rows in one file, in memory."""
    file = folder / "whole.parquet"
    frame.write_parquet(file)
    asked = asked_for(options)
    predictions, source = gather(
        file, options, labels=asked.labels, missing=asked.missing, score=asked.score, positive=asked.positive,
        threshold=asked.threshold, slices=asked.slices,
    )  # fmt: skip
    return counted(predictions, pairs=True), source, predictions.said
