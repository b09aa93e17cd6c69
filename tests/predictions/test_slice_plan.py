"""A plan made from distinct values and their counts divides the cases as the rows themselves do."""

from __future__ import annotations

import datetime as dt
import re
from collections import Counter
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from heldout.errors import ColumnError, ValuesError
from heldout.predictions.slice_plans import MOST_TEXTS, plan_of, planned, slice_column

RNG = np.random.default_rng(9)

numbers = st.one_of(st.integers(-6, 6), st.integers(-(2**62), 2**62))
fractions = st.one_of(st.sampled_from([0.0, -0.0, 0.5, 1e300, float("inf")]), st.floats(allow_nan=False, width=32))
days = st.dates(dt.date(1990, 1, 1), dt.date(2030, 1, 1))
moments = st.datetimes(dt.datetime(1990, 1, 1), dt.datetime(2030, 1, 1))
texts = st.sampled_from(["a", "b", "", "(missing)", "(empty)", "Zürich", "(other)", "10", "9"])
KINDS: dict[str, st.SearchStrategy[Any]] = {
    "whole numbers": numbers,
    "fractions": fractions,
    "days": days,
    "moments": moments,
    "texts": texts,
    "dates as text": days.map(str),
    "booleans": st.booleans(),
    "several kinds": st.one_of(texts, st.integers(0, 3), st.booleans(), st.just(2.5)),
    "decimals": st.decimals(-5, 5, places=1),
}


def listed(rows: list[Any]) -> tuple[list[Any], list[int]]:
    """The distinct values of rows, with how often each stands; True and 1 are two."""
    counts = Counter((type(value), value) for value in rows)
    return [value for _, value in counts], list(counts.values())


@pytest.mark.parametrize("kind", KINDS)
@given(data=st.data())
def test_a_plan_says_of_every_row_what_the_rows_themselves_say(kind: str, data: st.DataObject) -> None:
    few = st.lists(KINDS[kind], min_size=1, max_size=4)
    pool = data.draw(st.one_of(few, st.lists(KINDS[kind], min_size=1, max_size=40)))
    gap = [None] if data.draw(st.booleans()) else []
    # The pool itself is among the rows: a plan is made from every value that a batch can hold.
    rows = [*pool, *gap, *data.draw(st.lists(st.sampled_from(pool + gap), max_size=120))]
    bins = data.draw(st.integers(2, 6))
    whole = slice_column(rows, "x", bins=bins)
    values, counts = listed(rows)
    order = data.draw(st.permutations(range(len(values))))
    plan = plan_of([values[i] for i in order], [counts[i] for i in order], "x", bins=bins)
    assert (plan.labels, plan.kind, plan.note) == (whole.labels, whole.kind, whole.note)
    cut = data.draw(st.integers(0, len(rows)))
    codes = [code for part in (rows[:cut], rows[cut:]) if part for code in plan.codes(part).tolist()]
    assert codes == whole.codes.tolist()


N = 3000
DAY = np.datetime64("2021-03-01")
COLUMNS = {
    "float": pl.Series(RNG.normal(size=N)),
    "float32": pl.Series(RNG.normal(size=N).astype(np.float32)),
    "skewed": pl.Series(np.where(RNG.random(N) < 0.6, 0.0, RNG.random(N))),
    "integer": pl.Series(RNG.integers(2**60, 2**60 + 500, N)),
    "unsigned": pl.Series(RNG.integers(2**63, 2**63 + 300, N, dtype=np.uint64)),
    "date": pl.Series(DAY + RNG.integers(0, 400, N)),
    "datetime": pl.Series(DAY.astype("datetime64[ns]") + RNG.integers(0, 10**15, N)),
    "duration": pl.Series(RNG.integers(0, 10**9, N)).cast(pl.Duration("us")),
    "text": pl.Series(RNG.choice([f"city {i}" for i in range(70)], N)),
    "categorical": pl.Series(RNG.choice(["m", "f"], N), dtype=pl.Categorical),
    "enum": pl.Series(RNG.choice(["low", "high"], N), dtype=pl.Enum(["low", "middle", "high"])),
    "boolean": pl.Series(RNG.random(N) < 0.3),
    "decimal": pl.Series(RNG.integers(0, 4000, N)).cast(pl.Decimal(10, 2)),
}
GAPS = pl.Series(RNG.random(N) < 0.1)


@pytest.mark.parametrize("kind", COLUMNS)
@pytest.mark.parametrize("gaps", [True, False], ids=["with gaps", "without"])
def test_batches_of_a_data_frame_are_divided_as_the_whole_is(kind: str, gaps: bool) -> None:
    rows = COLUMNS[kind].set(GAPS, None) if gaps else COLUMNS[kind]
    whole = slice_column(rows, kind)
    held = rows.value_counts(name="times")
    plan = plan_of(held[:, 0], held["times"], kind)
    assert (plan.labels, plan.kind, plan.note) == (whole.labels, whole.kind, whole.note)
    parts = [rows[:700], rows[700:710], rows[710:]]
    assert np.concatenate([plan.codes(part) for part in parts]).tolist() == whole.codes.tolist()
    nothing = [plan.codes(rows.filter(rows.is_null())).tolist()] if gaps else [[]]
    assert nothing == [[len(whole.labels) - 1] * rows.null_count()]


def test_a_batch_without_any_value_is_missing_whatever_its_type():
    for rows in ([1.5, 2.5, None], ["a", "b", None], [dt.date(2020, 1, 1), dt.date(2020, 1, 2), None]):
        plan = plan_of(rows, [4, 3, 2], "x")
        for batch in ([None, None], pl.Series([None, None]), np.array([None, None], dtype=object)):
            assert [plan.labels[code] for code in plan.codes(batch)] == ["(missing)"] * 2


def test_edges_and_values_tell_an_engine_which_slice_a_value_belongs_to():
    ages = plan_of([*range(20, 60), None], [1] * 41, "age")
    assert ages.edges is not None
    assert ages.edges.tolist() == [29, 39, 49, 59]
    assert ages.missing == 4
    days = plan_of(pl.Series([dt.date(2020, 1, 1 + i) for i in range(20)]), [1] * 20, "day")
    assert days.edges is not None
    assert days.edges.tolist() == [dt.date(2020, 1, day) for day in (5, 10, 15, 20)]
    many = {f"city {i:02}": 100 - i for i in range(80)}
    cities = plan_of(list(many), list(many.values()), "city")
    assert cities.values == {f"city {i:02}": i for i in range(MOST_TEXTS)}  # noqa: PD011 - no data frame
    assert cities.other == MOST_TEXTS
    assert cities.labels[MOST_TEXTS] == "(other)"
    written = plan_of([str(dt.date(2020, 1, 1 + i)) for i in range(20)], [1] * 20, "day")
    assert written.labels == days.labels
    assert (written.values or {})["2020-01-06"] == 1  # noqa: PD011 - no data frame


def test_counts_decide_and_values_that_never_stand_are_left_out():
    plan = plan_of([1, 2, 3, None], [5, 0, 5, 0], "x")
    assert plan.labels == ("1", "3")
    assert plan_of(["a", "b", None], [5, 0, 0], "x").labels == ("a",)


def test_a_value_that_the_plan_does_not_know_is_refused_and_named():
    plan = plan_of(["a", "b"], [3, 4], "x")
    with pytest.raises(ValuesError, match=r"'x' holds 'c', which was not there"):
        plan.codes(["a", "c"])
    with pytest.raises(ValuesError, match="a missing value"):
        plan.codes(["a", None])
    with pytest.raises(ValuesError, match="holds '1'"):
        plan.codes([1, 2])
    with pytest.raises(ValuesError, match="a missing value"):
        plan_of([1, 2], [3, 4], "x").codes([1.0, None])
    with pytest.raises(ValuesError, match="'b'"):
        plan_of([1, 2], [3, 4], "x").codes(["b"])
    with pytest.raises(ValuesError, match="2 distinct values, but 1 counts"):
        plan_of([1, 2], [3], "x")


def test_a_column_that_names_the_cases_or_is_empty_is_refused_from_counts_too():
    with pytest.raises(ColumnError, match="names the cases"):
        plan_of([f"case {i}" for i in range(80)], [1] * 80, "case")
    with pytest.raises(ColumnError, match="is empty"):
        plan_of(np.empty(0), [], "x")


@pytest.mark.parametrize("end", ["lowest", "greatest", "middle"])
@pytest.mark.parametrize("draw", [RNG.normal, RNG.standard_cauchy, lambda size: np.round(RNG.normal(size=size), 2)])
def test_bins_instead_of_numbers_miss_the_quantiles_by_no_more_than_the_note_says(end, draw):
    rows = draw(size=20_000)
    place = np.floor(rows * 64)
    order, where, counts = np.unique(place, return_inverse=True, return_counts=True)
    stand = {
        "lowest": np.array([rows[where == i].min() for i in range(len(order))]),
        "greatest": np.array([rows[where == i].max() for i in range(len(order))]),
        "middle": (order + 0.5) / 64,
    }[end]
    plan = plan_of(stand, counts, "x", exact=False)
    found = re.search(r"within ([0-9.e-]+)% of the rows", plan.note)
    assert found is not None
    off = float(found[1]) / 100
    sizes = np.bincount(plan.codes(rows), minlength=4) / len(rows)
    # Rounding of the note aside, the share of rows up to each edge is that far from the quantile at most.
    assert np.abs(np.cumsum(sizes) - [0.25, 0.5, 0.75, 1]).max() <= off * 1.06
    assert off < 0.02


def test_a_plan_makes_the_same_slice_column_as_the_rows():
    rows = pd.Series([Decimal("1.5"), None, Decimal(2), Decimal(2)])
    plan = plan_of([Decimal("1.5"), Decimal(2), None], [1, 2, 1], "dose")
    made, whole = planned(plan, plan.codes(rows)), slice_column(rows, "dose")
    assert (made.name, made.labels, made.kind) == (whole.name, whole.labels, whole.kind)
    assert made.codes.tolist() == whole.codes.tolist()
