"""One set of predictions through every engine: the evidence is the same, and so is the report.

The data have ties, missing values, weights that are multiples of 1/8 (so that sums of them are exact in any order),
folds, slices, and labels beyond ASCII; whole numbers that are no floats, floats of four bytes, and decimals.
"""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal
from functools import cache, lru_cache
from pathlib import Path
from typing import Any
from weakref import WeakKeyDictionary

import narwhals.stable.v2 as nw
import numpy as np
import pandas as pd
import polars as pl
import pytest
from tests.engines.parts import parts

import heldout
from heldout.engines.bins import bins_of
from heldout.engines.lazy import score_pass, worker_counts
from heldout.engines.lazy.engine import count_lazy
from heldout.engines.memory import counted
from heldout.errors import ColumnError, LabelError, ValuesError
from heldout.evidence.counted import Counted
from heldout.measures.certified import bounds
from heldout.predictions.source import ReadOptions, gather

YES, NO = "größer 🙂", "größer nicht"
CLASSES = ["alpha", "βήτα", "γ ray"]
IN_MEMORY = ("NumPy", "pandas", "Polars", "PyArrow")
LAZY = ("Polars lazy", "DuckDB", "Ibis", "Dask", "Spark")
STREAMED = "a folder of files"
# What looks at single rows says of counts that it does not apply; it is not asked here. Files that are read in batches
# are read without the columns that nobody asked for.
NEEDS_ROWS = ("H023", "H029", "H065", "H067", "H075")
NEEDS_COLUMNS = (*NEEDS_ROWS, "H015")
# Beside this number a float has room for none of the next 255.
LARGE = 1 << 60
BINARY: dict[str, Any] = {
    "truth": "wahr",
    "predicted": "gesagt",
    "score": "score",
    "positive": YES,
    "weight": "gewicht",
    "fold": "teil",
    "slices": ["sex", "age"],
}
SEVERAL: dict[str, Any] = {
    "truth": "wahr",
    "score": [f"p_{name}" for name in CLASSES],
    "group": "clinic",
    "fold": "teil",
}
LARGE_NUMBERS: dict[str, Any] = {"truth": "wahr", "predicted": "gesagt", "group": "clinic", "weight": "gewicht"}
SHORT_FLOATS: dict[str, Any] = {"truth": "wahr", "score": "score", "threshold": 0.7}
DECIMALS: dict[str, Any] = {"truth": "wahr", "predicted": "gesagt", "score": "score", "weight": "gewicht"}


@lru_cache(maxsize=1)
def two_classes() -> pl.DataFrame:
    rng = np.random.default_rng(7)
    n = 160
    true = rng.random(n) < 0.4
    score = np.clip(np.round(rng.normal(0.35 + 0.3 * true, 0.2), 2), 0, 1)
    said = (score >= 0.5) ^ (rng.random(n) < 0.05)
    return pl.DataFrame(
        {
            "wahr": _with_gaps(np.where(true, YES, NO), rng),
            "gesagt": _with_gaps(np.where(said, YES, NO), rng),
            "score": _with_gaps(score, rng),
            "gewicht": rng.integers(1, 17, n) / 8,
            "teil": rng.integers(1, 4, n),
            "sex": _with_gaps(rng.choice(["f", "m"], n), rng),
            "age": rng.integers(20, 80, n),
            "patient": LARGE + rng.integers(0, 70, n),
        }
    )


@lru_cache(maxsize=1)
def large_numbers() -> pl.DataFrame:
    """Labels and groups that are the same number once they are floats, and a row that is left out."""
    rng = np.random.default_rng(9)
    code = rng.integers(0, 3, 90)
    said = np.where(rng.random(90) < 0.7, code, rng.integers(0, 3, 90))
    weight = [None if row == 4 else 1.0 for row in range(90)]
    return pl.DataFrame(
        {"wahr": LARGE + code, "gesagt": LARGE + said, "clinic": LARGE + np.arange(90) // 3, "gewicht": weight}
    )


@lru_cache(maxsize=1)
def short_floats() -> pl.DataFrame:
    """Scores of four bytes: .7 as such is less than .7, and 0 and 1 are wrong now and then."""
    rng = np.random.default_rng(10)
    true = rng.random(120) < 0.5
    score = np.clip(np.round(0.4 * true + 0.8 * rng.random(120) - 0.1, 1), 0, 1)
    score[:3], true[:3] = (0.7, 0.0, 1.0), (True, True, False)
    columns = {"wahr": true.astype(int), "score": score.astype(np.float32), "patient": rng.integers(0, 40, 120)}
    return pl.DataFrame(columns)


@lru_cache(maxsize=1)
def decimals() -> pl.DataFrame:
    rng = np.random.default_rng(11)
    true = rng.integers(0, 2, 120)
    said = np.where(rng.random(120) < 0.8, true, 1 - true)
    hundredths = (30 * true + rng.integers(5, 60, 120)).tolist()
    score = [None if row == 7 else Decimal(number) / 100 for row, number in enumerate(hundredths)]
    kind = pl.Decimal(10, 2)
    return pl.DataFrame(
        {
            "wahr": pl.Series(list(map(Decimal, true.tolist())), dtype=kind),
            "gesagt": pl.Series(list(map(Decimal, said.tolist())), dtype=kind),
            "score": pl.Series(score, dtype=kind),
            "gewicht": pl.Series(
                [Decimal(number) / 8 for number in rng.integers(1, 17, 120).tolist()], dtype=pl.Decimal(10, 3)
            ),
            "patient": rng.integers(0, 40, 120),
        }
    )


@lru_cache(maxsize=1)
def three_classes() -> pl.DataFrame:
    rng = np.random.default_rng(8)
    n = 120
    code = rng.integers(0, 3, n)
    parts = rng.multinomial(20, [0.4, 0.3, 0.3], n) + 6 * np.eye(3, dtype=int)[code]
    table = parts / 26
    columns = {f"p_{name}": table[:, place] for place, name in enumerate(CLASSES)}
    clinic = [f"№ {number}" for number in rng.integers(0, 9, n)]
    return pl.DataFrame(
        {"wahr": [CLASSES[place] for place in code], **columns, "clinic": clinic, "teil": rng.integers(1, 3, n)}
    )


def _with_gaps(values: Any, rng: np.random.Generator) -> list[Any]:
    held = values.tolist()
    for row in rng.integers(0, len(held), 3):
        held[row] = None
    return held


@pytest.fixture(params=LAZY)
def lazy(request: pytest.FixtureRequest, tmp_path: Any) -> Any:
    """A function that gives a table to one lazy engine."""
    return _given_to(request, tmp_path)


@pytest.fixture(params=[*IN_MEMORY, *LAZY, STREAMED])
def engine(request: pytest.FixtureRequest, tmp_path: Any) -> Any:
    """A function that gives a table to one engine."""
    return _given_to(request, tmp_path)


def _given_to(request: pytest.FixtureRequest, tmp_path: Any) -> Any:
    name = request.param
    if name == "Spark":
        session = request.getfixturevalue("spark_session")

        def to_spark(table: pl.DataFrame) -> Any:
            path = tmp_path / "rows.parquet"
            table.write_parquet(path)
            return session.read.parquet(str(path)).repartition(3)

        return to_spark
    if name == STREAMED:
        return lambda table: parts(tmp_path / "rows", "parquet", table)
    if name == "Dask":
        request.getfixturevalue("dask_client")
    return {
        "NumPy": lambda table: {column: _array(table.get_column(column)) for column in table.columns},
        "pandas": lambda table: table.to_pandas(),
        "Polars": lambda table: table,
        "PyArrow": lambda table: table.to_arrow(),
        "Polars lazy": lambda table: table.lazy(),
        "DuckDB": _duckdb,
        "Ibis": _ibis,
        "Dask": _dask,
    }[name]


def _array(column: pl.Series) -> Any:
    return (
        np.array(column.to_list(), dtype=object)
        if column.null_count() or column.dtype == pl.String
        else column.to_numpy()
    )


def _duckdb(table: pl.DataFrame) -> Any:
    import duckdb

    return duckdb.from_arrow(table.to_arrow())


def _ibis(table: pl.DataFrame) -> Any:
    import ibis  # type: ignore[import-untyped]

    return ibis.memtable(table)


def _dask(table: pl.DataFrame) -> Any:
    import dask.dataframe as dd

    # Of the objects that pandas has for decimals Dask would make text.
    exact = any(isinstance(kind, pl.Decimal) for kind in table.dtypes)
    return dd.from_pandas(table.to_pandas(use_pyarrow_extension_array=exact), npartitions=2)


def evaluated(data: Any, options: dict[str, Any]) -> heldout.Evaluation:
    return heldout.evaluate(data, missing="drop", ignore=unasked(data), **options)


def unasked(data: Any) -> tuple[str, ...]:
    return NEEDS_COLUMNS if isinstance(data, Path) else NEEDS_ROWS


def evidence(evaluation: heldout.Evaluation) -> Counted:
    if evaluation.counted is not None:
        return evaluation.counted
    assert evaluation.predictions is not None
    return counted(evaluation.predictions, pairs=True)


@cache
def expected(case: str, ignore: tuple[str, ...]) -> heldout.Evaluation:
    table, options = CASES[case]
    return heldout.evaluate(table(), missing="drop", ignore=ignore, **options)


CASES = {
    "two classes": (two_classes, BINARY),
    "three classes": (three_classes, SEVERAL),
    "large numbers": (large_numbers, LARGE_NUMBERS),
    "short floats": (short_floats, SHORT_FLOATS),
    "decimals": (decimals, DECIMALS),
}


@pytest.mark.parametrize("case", CASES)
def test_every_engine_finds_the_same_evidence_and_says_the_same(engine, case):
    table, options = CASES[case]
    data = engine(table())
    found, wanted = evaluated(data, options), expected(case, unasked(data))
    differ = evidence(found).differing(evidence(wanted), relative=1e-12)
    assert not differ
    if case == "three classes" and found.counted is not None:
        # The covariance of areas of several classes needs the rows: what is said without them is said of counts.
        wanted = heldout.evaluate(evidence(wanted), ignore=unasked(data))
    # What the data are called is all that may differ.
    wanted = replace(wanted, source=found.source)
    assert str(found) == str(wanted)
    assert list(_differences(_document(found), _document(wanted))) == []


@pytest.fixture(params=["Dask", "Spark"])
def cluster(request: pytest.FixtureRequest, tmp_path: Any) -> Any:
    """A function that gives a table to an engine whose workers may have heldout."""
    return _given_to(request, tmp_path)


@pytest.mark.parametrize("version", [heldout.__version__, "another"])
@pytest.mark.parametrize("case", ["two classes", "three classes"])
def test_workers_with_and_without_heldout_give_the_same_evidence(cluster, case, version, monkeypatch):
    counted_there = []

    def count(*given: Any) -> Any:
        counted_there.append(worker_counts.count_on_workers(*given) is not None)
        return worker_counts.count_on_workers(*given)

    monkeypatch.setattr(score_pass, "count_on_workers", count)
    monkeypatch.setattr(worker_counts, "_our_version", lambda: version)
    monkeypatch.setattr(worker_counts, "_ASKED", WeakKeyDictionary())
    table, options = CASES[case]
    data = cluster(table())
    found, wanted = evaluated(data, options), expected(case, unasked(data))
    assert counted_there == [version == heldout.__version__]
    assert not evidence(found).differing(evidence(wanted), relative=1e-12)


def _document(evaluation: heldout.Evaluation) -> dict[str, Any]:
    return {key: value for key, value in evaluation.to_dict().items() if key != "fingerprint"}


def _differences(one: Any, two: Any, where: str = "") -> Any:
    if isinstance(one, dict) and isinstance(two, dict):
        for key in dict.fromkeys([*one, *two]):
            yield from _differences(one.get(key), two.get(key), f"{where}.{key}")
    elif isinstance(one, list) and isinstance(two, list) and len(one) == len(two):
        for at, (first, second) in enumerate(zip(one, two, strict=True)):
            yield from _differences(first, second, f"{where}[{at}]")
    elif isinstance(one, float) and isinstance(two, float):
        if abs(one - two) > 1e-12 * max(1.0, abs(two)):
            yield where, one, two
    elif one != two:
        yield where, one, two


def test_every_lazy_engine_bins_more_scores_than_there_is_room_for_alike(lazy):
    table = two_classes().drop_nulls()
    most = 8
    roles = {role: BINARY[role] for role in ("truth", "predicted", "weight")}
    asked = ReadOptions(None, "refuse", "score", YES, None)
    frame = nw.from_native(lazy(table))
    once, _ = count_lazy(frame, "the data", roles, asked, most=most, passes=1)
    rows, _ = gather(table, roles, score="score", positive=YES)
    true = table.get_column("wahr").to_numpy() == YES
    score, weight = (table.get_column(name).to_numpy() for name in ("score", "gewicht"))
    assert once.scores is not None
    assert once.scores.bins[0] == bins_of(score, true, 2, weight=weight, most=most)
    differ = counted(rows).differing(once, relative=1e-12)
    assert differ
    assert all(name.startswith("scores.bins[0].") for name in differ)
    again, _ = count_lazy(frame, "the data", roles, asked, most=most, tolerance=1e-6, passes=3)
    exact = bounds(bins_of(score, true, 2, weight=weight).ranking(1), "roc_auc")
    assert again.scores is not None
    low, high = bounds(again.scores.bins[0].ranking(1), "roc_auc")
    assert low <= exact[0] <= exact[1] <= high
    assert high - low <= 1e-6


@pytest.mark.usefixtures("dask_client")
def test_dask_refuses_decimals_that_it_made_text_of():
    import dask.dataframe as dd

    held = dd.from_pandas(decimals().to_pandas(), npartitions=2)
    with pytest.raises(LabelError, match=r"'wahr'.*whole numbers as text with a point: 0\.00, 1\.00"):
        heldout.evaluate(held, truth="wahr", predicted="gesagt")
    with pytest.raises(ValuesError, match="must be numbers") as raised:
        heldout.evaluate(held, truth="patient", score="score", positive=1)
    assert "Decimal" in raised.value.hint
    text = dd.from_pandas(
        pl.DataFrame({"y": ["3.10", "3.11"] * 9, "p": ["3.11", "3.10"] * 9}).to_pandas(), npartitions=1
    )
    assert heldout.evaluate(text, truth="y", predicted="p").confusion.labels == ("3.10", "3.11")


def test_spark_is_not_asked_for_names_that_it_cannot_read(spark_session):
    table = pl.DataFrame({"y": [0, 1] * 9, "p": [1, 0] * 9, "q`r": [0, 1] * 9, "s.t": [0, 1] * 9})
    frame = spark_session.createDataFrame(table.to_arrow())
    for name in ("q`r", "s.t"):
        with pytest.raises(ColumnError, match=f"dots and backticks .* these have some: '{name}'"):
            heldout.evaluate(frame, truth="y", predicted=name)
    assert heldout.evaluate(frame, truth="y", predicted="p").n == 18
    twice = frame.toDF("y", "p", "Y", "q")
    with pytest.raises(ColumnError, match=r"differ only in case\. In the data frame these do: 'y', 'Y'"):
        heldout.evaluate(twice, truth="y", predicted="p")
    assert heldout.evaluate(twice, truth="p", predicted="q").n == 18


@pytest.mark.usefixtures("dask_client")
def test_a_categorized_frame_of_dask_is_counted():
    import dask.dataframe as dd

    rows = pd.DataFrame({"truth": list("abba") * 5, "predicted": list("abaa") * 5, "site": list("xy") * 10})
    frame = dd.from_pandas(rows, npartitions=3)
    for given in (frame.categorize(), frame.categorize(columns=["truth"]), frame.astype({"truth": "category"})):
        found = heldout.evaluate(given, slices=["site"])
        assert found.labels == ("a", "b")
        assert found["accuracy"].value == 0.75
