"""The spherical score by its definition, in Gneiting & Raftery (2007), eq. 14 with exponent 2: p of the truth / ‖p‖."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import duckdb
import ibis  # type: ignore[import-untyped, unused-ignore]
import numpy as np
import polars as pl
import pytest

import heldout
from heldout.evidence.storage import load

RNG = np.random.default_rng(20)
N = 300
P = np.clip(np.round(RNG.random(N), 2), 0.0, 1.0)
TRUTH = np.where(RNG.random(N) < P, "yes", "no")
OTHER = np.round(RNG.random(N), 2)
WEIGHT = RNG.integers(1, 4, N) / 2
TABLE = RNG.dirichlet([1.0, 2.0, 0.5], size=N)
CODES = RNG.integers(0, 3, N)


def spherical(table: np.ndarray, codes: np.ndarray) -> np.ndarray:
    return np.array(
        [row[code] / math.sqrt(math.fsum(p * p for p in row)) for row, code in zip(table, codes, strict=True)]
    )


def of_two(p: np.ndarray) -> np.ndarray:
    return spherical(np.stack([1 - p, p], axis=1), (TRUTH == "yes").astype(int))


def frame() -> pl.DataFrame:
    columns = {"y": TRUTH, "s": P, "o": OTHER, "w": WEIGHT, "id": np.arange(N), "k": np.array(["a", "b", "c"])[CODES]}
    return pl.DataFrame(columns | {name: TABLE[:, at] for at, name in enumerate("abc")})


def forms(folder: Path) -> dict[str, Any]:
    rows = frame()
    rows.write_parquet(folder / "rows.parquet")
    table = rows.to_arrow()
    return {
        "memory": rows,
        "stream": folder / "rows.parquet",
        "Polars": rows.lazy(),
        "DuckDB": duckdb.from_arrow(table),
        "Ibis": ibis.memtable(table),
    }


def test_every_engine_gives_the_mean_of_the_definition(tmp_path):
    for name, data in forms(tmp_path).items():
        engine: dict[str, Any] = {"engine": "stream"} if name == "stream" else {}
        two = heldout.evaluate(data, truth="y", score="s", positive="yes", weight="w", **engine)
        assert two["spherical_score"].value == pytest.approx(np.average(of_two(P), weights=WEIGHT), rel=1e-12), name
        many = heldout.evaluate(data, truth="k", score=["a", "b", "c"], **engine)
        assert many["spherical_score"].value == pytest.approx(spherical(TABLE, CODES).mean(), rel=1e-12), name
        assert 0 < many["spherical_score"].low < many["spherical_score"].value < many["spherical_score"].high < 1


def test_comparisons_are_those_of_the_case_scores(tmp_path):
    from scipy.stats import ttest_rel

    scores = of_two(P), of_two(OTHER)
    joined = {name: data for name, data in forms(tmp_path).items() if name != "stream"}
    assert joined
    for name, data in joined.items():
        found = heldout.compare(
            data, truth="y", score=["s", "o"], positive="yes", id="id", measures="spherical_score"
        ).rows()[0]
        assert found["difference"] == pytest.approx((scores[0] - scores[1]).mean(), rel=1e-9), name
        assert found["p"] == pytest.approx(ttest_rel(*scores).pvalue, rel=1e-6), name
        # More is better, unlike for losses.
        assert str(found["verdict"]).startswith("s is better"), name


def test_it_is_proper_and_has_its_ends():
    grid = np.linspace(0.01, 0.99, 99)
    for share in (0.2, 0.5, 0.7):
        expected = [(share * q + (1 - share) * (1 - q)) / math.hypot(q, 1 - q) for q in grid]
        assert grid[int(np.argmax(expected))] == pytest.approx(share)
    assert heldout.evaluate(["yes", "no"], score=[1.0, 0.0], positive="yes")["spherical_score"].value == 1.0
    assert heldout.evaluate(["yes", "no"], score=[0.0, 1.0], positive="yes")["spherical_score"].value == 0.0
    half = heldout.evaluate(["yes", "no"], score=[0.5, 0.5], positive="yes")["spherical_score"]
    assert half.value == pytest.approx(math.sqrt(0.5))


def test_evidence_of_an_older_version_says_why_it_is_undefined():
    old = load(Path(__file__).parents[1] / "evidence" / "version_2.evidence")
    found = heldout.evaluate(old)["spherical_score"]
    assert math.isnan(found.value)
    assert "counted by a version that did not know this score" in found.undefined
