"""Data frames: what comes in as one of pandas, Polars or PyArrow comes back as one, and a frame may hold the slices."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa  # type: ignore[import-untyped, unused-ignore]
import pytest

import heldout

KINDS: dict[str, Any] = {"polars": pl.DataFrame, "pandas": pd.DataFrame, "pyarrow": pa.Table}
MADE: dict[str, Any] = {"polars": pl.DataFrame, "pandas": pd.DataFrame, "pyarrow": pa.table}
N = 90


def columns() -> dict[str, list[Any]]:
    rng = np.random.default_rng(0)
    truth = rng.integers(0, 2, N)
    return {
        "truth": truth.tolist(),
        "score": np.clip(0.3 * truth + 0.7 * rng.random(N), 0, 1).tolist(),
        "other": rng.random(N).tolist(),
        "sex": rng.choice(["f", "m"], N).tolist(),
        "x": (rng.normal(size=N) + truth).tolist(),
    }


every_library = pytest.mark.parametrize("library", KINDS)


@every_library
def test_frames_come_back_in_the_library_that_they_came_from(library: str) -> None:
    frame, kind = MADE[library](columns()), KINDS[library]
    seen = heldout.evaluate(frame, truth="truth", score="score", slices=["sex"])
    answers = [
        seen,
        seen["accuracy"],
        seen["macro f1"],
        seen.curve("roc"),
        seen.threshold_table(5),
        seen.slices(),
        seen.worst_slices(),
        seen.hardest(),
        seen.confused(),
        seen.interval("accuracy", level=0.9),
        seen.review,
    ]
    assert {type(answer.to_frame()) for answer in answers} == {kind}
    # Whatever it came from, another library may be asked for.
    assert all(isinstance(seen.to_frame(other), KINDS[other]) for other in KINDS)  # type: ignore[call-overload]
    assert [type(made(seen).to_frame()) for made in (copy.copy, _pickled)] == [kind, kind]


def _pickled(result: Any) -> Any:
    return pickle.loads(pickle.dumps(result))


@every_library
def test_every_front_door_remembers(library: str) -> None:
    frame, kind = MADE[library](columns()), KINDS[library]
    first = heldout.evaluate(frame, truth="truth", score="score")
    second = heldout.evaluate(frame, truth="truth", score="other")
    compared = heldout.compare(first, second)
    given: dict[str, Any] = {"target": "truth", "plan": "3-fold"}
    features = MADE[library]({name: columns()[name] for name in ("truth", "x")})
    several: Any = heldout.validate(["naive-bayes", "majority"], features, **given)
    answers = [
        compared,
        compared.roc(),
        heldout.check(first, require="accuracy >= 0.5"),
        heldout.check(frame, truth="truth", score="score", require="accuracy >= 0.5"),
        heldout.choose_threshold(frame, truth="truth", score="score", by="f1"),
        several,
        several["majority"],
        several["majority"].evaluation,
        heldout.learning_curve("naive-bayes", features, target="truth", draws=2, points=3),
        heldout.Report([first, compared]),
    ]
    assert {type(answer.to_frame()) for answer in answers} == {kind}


def test_columns_by_themselves_say_it_too_and_arrays_give_polars() -> None:
    held = columns()
    series = pd.Series(held["truth"], index=range(N))
    assert isinstance(heldout.evaluate(series, score=held["score"]).to_frame(), pd.DataFrame)
    assert isinstance(heldout.evaluate(held["truth"], score=pl.Series(held["score"])).to_frame(), pl.DataFrame)
    for truth in (held["truth"], np.array(held["truth"])):
        assert isinstance(heldout.evaluate(truth, score=held["score"]).to_frame(), pl.DataFrame)


@every_library
def test_slices_may_be_a_frame(library: str) -> None:
    held = columns()
    beside = MADE[library]({"sex": held["sex"], "x": held["x"]})
    wanted = heldout.evaluate(held["truth"], score=held["score"], slices={"sex": held["sex"], "x": held["x"]})
    seen = heldout.evaluate(held["truth"], score=held["score"], slices=beside)
    assert seen.slices().rows() == wanted.slices().rows()
    counted = heldout.Evidence()
    counted.update(held["truth"], score=held["score"], slices=MADE[library]({"sex": held["sex"]}))
    assert [column.name for column in heldout.evaluate(counted).slice_columns] == ["sex"]
    gate = heldout.check(held["truth"], score=held["score"], slices=beside, require="recall[sex=f] >= 0.1")
    assert gate.passed


def test_a_named_column_is_a_slice() -> None:
    held = columns()
    seen = heldout.evaluate(held["truth"], score=held["score"], slices=pd.Series(held["sex"], name="sex"))
    assert [column.name for column in seen.slice_columns] == ["sex"]
