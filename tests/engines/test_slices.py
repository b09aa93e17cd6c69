"""Counting slice by slice gives what counting each slice by itself gives, and slices add up to the whole."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import heldout
from heldout import count
from heldout.engines import memory as engine
from heldout.engines.memory import count_slices
from heldout.errors import MatrixError
from heldout.evidence.partitions import left_of
from heldout.predictions.slice_plans import slice_column
from heldout.predictions.table import assemble

RNG = np.random.default_rng(12)
N = 700
LABELS = ("a", "b", "c")
TRUTH = RNG.choice(LABELS, N, p=[0.5, 0.3, 0.2])
PREDICTED = np.where(RNG.random(N) < 0.7, TRUTH, RNG.choice(LABELS, N))
WEIGHT = RNG.integers(1, 9, N) / 4
GROUP = RNG.integers(0, 40, N)
SEX = RNG.choice(["f", "m"], N)
AGE = RNG.integers(18, 90, N)
COLUMNS = slice_column(SEX, "sex"), slice_column(AGE, "age")


def same(one, two):
    np.testing.assert_array_equal(one.matrix, two.matrix)
    assert one.n_cases == two.n_cases
    assert (one.squares is None) == (two.squares is None)
    if one.squares is not None:
        np.testing.assert_allclose(one.squares, two.squares)
    assert (one.clusters is None) == (two.clusters is None)
    if one.clusters is not None:
        held = [
            sorted(
                zip(c.clusters.keys[c.clusters.group].tolist(), c.clusters.cell.tolist(), c.clusters.count, strict=True)
            )
            for c in (one, two)
        ]
        assert held[0] == held[1]


@pytest.mark.parametrize("direct", [True, False], ids=["in place", "sorted"])
@pytest.mark.parametrize("kind", ["plain", "weight", "group", "both"])
@pytest.mark.parametrize("number", [1, 2])
def test_every_slice_and_its_rest_are_counted_as_if_alone(number, kind, direct, monkeypatch):
    if not direct:
        monkeypatch.setattr(engine, "DIRECT_PART_CELLS", 0)
    given_: dict[str, Any] = {"weight": WEIGHT} if kind in ("weight", "both") else {}
    given_ |= {"group": GROUP} if kind in ("group", "both") else {}
    columns = COLUMNS[:number]
    seen = count_slices(assemble(TRUTH, PREDICTED, **given_), LABELS, columns)
    code = columns[0].codes.astype(int)
    for column in columns[1:]:
        code = code * len(column.labels) + column.codes
    assert seen.keys.tolist() == np.unique(code).tolist()
    for place, key in enumerate(seen.keys.tolist()):
        for rows, found in ((code == key, seen[place]), (code != key, seen.rest(place))):
            alone: dict[str, Any] = {name: values[rows] for name, values in given_.items()}
            same(found, count(TRUTH[rows], PREDICTED[rows], labels=LABELS, **alone).confusion)
    same(seen.whole, count(TRUTH, PREDICTED, labels=LABELS, **given_).confusion)


@given(st.lists(st.tuples(st.sampled_from("ab"), st.sampled_from("ab"), st.sampled_from("xyz")), min_size=1))
def test_slices_add_up_to_the_whole_in_any_order_of_the_rows(rows):
    truth, predicted, where = map(list, zip(*rows, strict=True))
    seen = count_slices(assemble(truth, predicted), ("a", "b"), [slice_column(where, "x")])
    whole = count(truth, predicted, labels=["a", "b"]).confusion
    np.testing.assert_array_equal(sum(seen[place].matrix for place in range(len(seen))), whole.matrix)
    for place in range(len(seen)):
        np.testing.assert_array_equal(seen[place].matrix + seen.rest(place).matrix, whole.matrix)
        np.testing.assert_array_equal(left_of(whole, seen.rest(place)).matrix, seen[place].matrix)
    backwards = count_slices(assemble(truth[::-1], predicted[::-1]), ("a", "b"), [slice_column(where[::-1], "x")])
    for place in range(len(seen)):
        np.testing.assert_array_equal(seen[place].matrix, backwards[place].matrix)


def test_parts_of_the_data_merge_to_the_counts_of_all():
    halves = [np.arange(N) < 300, np.arange(N) >= 300]
    for weight in (None, WEIGHT):
        seen = [
            count_slices(
                assemble(TRUTH[rows], PREDICTED[rows], weight=None if weight is None else weight[rows]),
                LABELS,
                [COLUMNS[1].taken(rows)],
            )
            for rows in halves
        ]
        whole = count_slices(assemble(TRUTH, PREDICTED, weight=weight), LABELS, [COLUMNS[1]])
        merged = seen[0] + seen[1]
        for place in range(len(whole)):
            same(merged[place], whole[place])
    with pytest.raises(MatrixError, match="weights"):
        seen[0] + count_slices(assemble(TRUTH, PREDICTED), LABELS, [COLUMNS[1]])


def test_all_predictions_of_one_case_count_as_one():
    truth, predicted = ["a", "a", "b", "b"], ["a", "b", "b", "b"]
    seen = assemble(truth, predicted, fold=[1, 2, 1, 2], id=[1, 1, 2, 2])
    counted = count_slices(seen, ("a", "b"), [slice_column(["x", "x", "y", "y"], "s")])
    assert counted[0].matrix.tolist() == [[0.5, 0.5], [0, 0]]
    assert counted[1].matrix.tolist() == [[0, 0], [0, 1]]
    assert counted.rest(0).matrix.tolist() == [[0, 0], [0, 1]]


def test_columns_of_lists_and_records_are_no_slices(tmp_path):
    import duckdb

    size = 200
    rows = pl.DataFrame({
        "truth": ["a", "b"] * (size // 2), "predicted": ["a"] * size, "sex": ["f", "f", "m", "m"] * (size // 4),
        "vector": [[1.0, 2.0]] * size, "record": [{"a": 1}] * size,
        "fixed": pl.Series([[1, 2]] * size, dtype=pl.Array(pl.Int64, 2)),
    })  # fmt: skip
    rows.write_parquet(tmp_path / "rows.parquet")
    rows.drop("record", "fixed").write_ndjson(tmp_path / "rows.jsonl")
    file = str(tmp_path / "rows.parquet")
    given = {
        "frame": rows, "lazy": rows.lazy(), "pandas": rows.to_pandas(), "arrow": rows.to_arrow(),
        "duckdb": duckdb.sql(f"SELECT * FROM '{file}'"), "file": file, "json": str(tmp_path / "rows.jsonl"),
    }  # fmt: skip
    for kind, data in given.items():
        found = heldout.evaluate(data, truth="truth", predicted="predicted", slices="all")
        assert [column.name for column in found.slice_columns] == ["sex"], kind
    for name in ("stream", "polars", "duckdb"):
        found = heldout.evaluate(file, truth="truth", predicted="predicted", slices="all", engine=name)
        assert [column.name for column in found.slice_columns] == ["sex"], name
    for data in (rows, rows.lazy()):
        with pytest.raises(heldout.HeldoutError, match="holds lists or records") as raised:
            heldout.evaluate(data, truth="truth", predicted="predicted", slices="vector")
        assert raised.value.hint


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_names_that_duckdb_takes_for_one_are_refused_there(tmp_path, ending):
    rows = pl.DataFrame({"truth": ["a", "b"], "Truth": ["b", "a"], "predicted": ["a", "b"]})
    file = tmp_path / f"rows.{ending}"
    rows.write_csv(file) if ending == "csv" else rows.write_parquet(file)
    with pytest.raises(heldout.HeldoutError, match="truth and Truth, and DuckDB cannot tell them apart") as raised:
        heldout.evaluate(str(file), engine="duckdb")
    assert "rename" in raised.value.hint
    assert heldout.evaluate(str(file), truth="truth", engine="polars")["accuracy"].value == 1
