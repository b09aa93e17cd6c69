"""Readings of lazy frames are told to whoever watches: which it is, of how many, and what it may take here."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import polars as pl
import pytest

import heldout
from heldout.engines.lazy import passes
from heldout.files.batches import watching

NAMED = {"truth": "y", "score": "p", "positive": 1}


def rows() -> pl.DataFrame:
    rng = np.random.default_rng(41)
    score = rng.random(200).round(2)
    columns = {"y": (rng.random(200) < score).astype(int), "p": score, "w": 1 + rng.integers(0, 2, 200)}
    return pl.DataFrame({**columns, "day": rng.integers(0, 5, 200), "sex": rng.choice(["f", "m"], 200)})


def told_of(options: dict[str, Any]) -> list[tuple[str, int | None, int | None]]:
    told: list[tuple[str, int | None, int | None]] = []
    token = watching.set(lambda *what: told.append(what))
    try:
        heldout.evaluate(rows().lazy(), **options)
    finally:
        watching.reset(token)
    return told


@pytest.mark.parametrize(
    ("options", "planned"),
    [
        (NAMED, 2),
        (NAMED | {"weight": "w"}, 3),
        # Each column, and both together.
        (NAMED | {"slices": ["day", "sex"]}, 5),
    ],
)
def test_every_pass_is_told_with_how_many_there_are(options, planned):
    told = told_of(options)
    assert told[:-1] == [(f"the data frame, pass {at} of {planned}", 0, None) for at in range(1, planned + 1)]
    assert told[-1] == ("the data frame", None, None)


def test_memory_that_groups_may_take_here_is_said_before_they_are_counted(monkeypatch):
    monkeypatch.setattr(passes, "LARGE", 200 * 200)
    told = told_of(NAMED | {"group": "day"})
    said = [name for name, *_ in told if "of memory here" in name]
    assert len(said) == 1
    assert re.fullmatch(r"the data frame, pass 2 of \d, with up to 0\.0 GB of memory here", said[0])
    monkeypatch.setattr(passes, "LARGE", 200 * 200 + 1)
    assert not any("memory" in name for name, *_ in told_of(NAMED | {"group": "day"}))
