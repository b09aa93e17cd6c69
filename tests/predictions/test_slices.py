"""Columns of any kind become slices; rows stay with their values, and row numbers are those of the data."""

from __future__ import annotations

import datetime as dt
import itertools
from decimal import Decimal
from zoneinfo import ZoneInfo

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa  # type: ignore[import-untyped, unused-ignore]
import pytest
from hypothesis import given
from hypothesis import strategies as st

from heldout import evaluate
from heldout.errors import ColumnError, OptionError, ValuesError
from heldout.predictions.slice_plans import MOST_TEXTS, slice_column
from heldout.predictions.source import gather
from heldout.predictions.table import assemble

RNG = np.random.default_rng(5)
ROLES = {"truth": "y", "predicted": "p"}


def table(**columns):
    n = len(next(iter(columns.values())))
    return {"y": [0, 1] * (n // 2) + [0] * (n % 2), "p": [0] * n, **columns}


def sliced(asked, **columns):
    return gather(table(**columns), ROLES, slices=asked)[0].slices


def per_row(column):
    return [column.labels[code] for code in column.codes.tolist()]


KINDS = {
    "a list": lambda x: x,
    "an array": np.array,
    "Polars": pl.Series,
    "pandas": pd.Series,
    "PyArrow": pa.array,
}


@pytest.mark.parametrize("container", KINDS)
@pytest.mark.parametrize(
    ("values", "expected"),
    [
        (["b", "a", "b"], ["b", "a", "b"]),
        ([True, False, True], ["true", "false", "true"]),
        ([3, 1, 3], ["3", "1", "3"]),
        ([0.5, 1.0, 0.5], ["0.5", "1", "0.5"]),
    ],
)
def test_every_container_gives_the_same_slices(container, values, expected):
    assert per_row(slice_column(KINDS[container](values), "x")) == expected


@pytest.mark.parametrize(
    "values",
    [
        ["a", None, "b"],
        [1, None, 2],
        [1.5, float("nan"), 2.5],
        [True, None, False],
        [dt.date(2020, 1, 1), None, dt.date(2020, 1, 2)],
        [Decimal("1.5"), None, Decimal(2)],
        pl.Series(["a", None, "b"], dtype=pl.Categorical),
        pl.Series([1, None, 2]),
        pl.Series([True, None, False]),
        pl.Series([dt.datetime(2020, 1, 1), None, dt.datetime(2020, 1, 2, 3)]),
        pd.Series([1, None, 2], dtype="Int64"),
        pd.Categorical(["a", None, "b"]),
        np.ma.array([1, 2, 3], mask=[False, True, False]),
    ],
    ids=str,
)
def test_a_missing_value_is_a_slice_of_its_own(values):
    column = slice_column(values, "x")
    assert per_row(column)[1] == "(missing)"
    assert per_row(column).count("(missing)") == 1
    assert len(column.labels) == 3


def test_a_text_that_reads_like_a_mark_is_another_slice_than_the_mark():
    column = slice_column(["(missing)", None, "", "(empty)"], "x")
    assert len(set(per_row(column))) == 4


@pytest.mark.parametrize("values", [RNG.integers(18, 90, 997), RNG.normal(size=997), RNG.lognormal(0, 3, 997)])
def test_bins_hold_about_equally_many_rows_and_their_labels_say_what_is_inside(values):
    column = slice_column(values, "x")
    sizes = np.bincount(column.codes)
    assert column.kind == "bins"
    assert len(sizes) == 4
    assert sizes.min() > 200
    # Bins follow each other: every value of one lies below every value of the next.
    edges = [(values[column.codes == code].min(), values[column.codes == code].max()) for code in range(4)]
    assert all(one[1] < two[0] for one, two in itertools.pairwise(edges))
    for (low, high), label in zip(edges, column.labels, strict=True):
        written = [float(part) for part in label.split(" to ")]
        np.testing.assert_allclose(written, [low, high], rtol=5e-3)


@given(st.lists(st.one_of(st.integers(-50, 50), st.floats(allow_nan=False)), min_size=1, max_size=80))
def test_equal_numbers_are_always_in_one_slice_and_order_is_kept(values):
    column = slice_column([float(value) for value in values], "x")
    by_value: dict[float, set[int]] = {}
    for value, code in zip(values, column.codes.tolist(), strict=True):
        by_value.setdefault(float(value), set()).add(code)
    assert all(len(codes) == 1 for codes in by_value.values())
    ordered = [min(by_value[value]) for value in sorted(by_value)]
    assert ordered == sorted(ordered)
    assert set(column.codes.tolist()) == set(range(len(column.labels)))
    assert len(set(column.labels)) == len(column.labels)


def test_a_number_that_most_rows_have_gets_a_bin_of_its_own():
    values = np.where(RNG.random(2000) < 0.6, 0.0, RNG.random(2000))
    column = slice_column(values, "x")
    assert column.labels[0] == "0"
    assert int((column.codes == 0).sum()) == int((values == 0).sum())


def test_dates_are_cut_by_months():
    days = [dt.date(2021, 1, 1) + dt.timedelta(days=i) for i in range(400)]
    column = slice_column(days, "day")
    assert column.kind == "periods"
    assert per_row(column) == [day.isoformat()[:7] for day in days]
    assert column.labels[:2] == ("2021-01", "2021-02")
    assert per_row(slice_column(pl.Series(days), "day")) == per_row(column)
    # A month without cases is no slice.
    summer = [day for day in days if day.month not in (7, 8)]
    assert "2021-07" not in slice_column(summer, "day").labels
    assert per_row(slice_column(summer, "day")) == [day.isoformat()[:7] for day in summer]


@pytest.mark.parametrize(
    ("days", "each", "label"),
    [
        (20, 10, "2021-01-02"),
        (100, 10, "week of 2021-01-04"),
        (100, 1, "2021-02"),
        (3000, 1, "2021-Q2"),
        (9000, 1, "2022"),
    ],
)
def test_the_span_and_the_number_of_cases_choose_the_period(days, each, label):
    moments = [dt.datetime(2021, 1, 1, 23, 59) + dt.timedelta(days=i) for i in range(days) for _ in range(each)]
    column = slice_column(moments, "day")
    assert (column.kind, column.labels[1]) == ("periods", label)
    if label.startswith("week"):
        first = next(m for m, name in zip(moments, per_row(column), strict=True) if name == label)
        assert (first.date(), first.weekday()) == (dt.date(2021, 1, 4), 0)


def test_moments_within_a_day_or_two_are_cut_at_quartiles():
    hours = [dt.datetime(2021, 1, 1) + dt.timedelta(minutes=20 * i) for i in range(100)]
    assert slice_column(hours, "hour").labels[1] == "2021-01-01 08:20:00 to 2021-01-01 16:20:00"


def test_of_very_many_texts_the_commonest_stay_and_the_note_says_so():
    counts = np.arange(1, 81) + 5
    values = [f"city {i}" for i, times in enumerate(counts) for _ in range(times)]
    column = slice_column(values, "city")
    assert len(column.labels) == MOST_TEXTS + 1
    rare = {f"city {i}" for i in range(80 - MOST_TEXTS)}
    other = [value for value, label in zip(values, per_row(column), strict=True) if label == "(other)"]
    assert set(other) == rare
    assert f"{len(other)} rows" in column.note
    assert all(value == label for value, label in zip(values, per_row(column), strict=True) if value not in rare)


def test_a_column_that_names_the_cases_is_refused_by_name_and_left_out_of_all():
    names = [f"case {i}" for i in range(200)]
    with pytest.raises(ColumnError, match="200 different texts in 200 rows") as raised:
        sliced("name", name=names)
    assert "repeat" in raised.value.hint
    seen, _ = gather(table(name=names, sex=["f", "m"] * 100, id=list(range(200))), ROLES, slices="all")
    assert [column.name for column in seen.slices] == ["sex"]
    assert any("left out" in note and "name" in note and "id" in note for note in seen.notes)


def test_all_takes_every_column_without_a_role(tmp_path):
    frame = pl.DataFrame(
        table(age=[20, 30, 40, 50], w=[1.0, 2.0, 1.0, 1.0], score=[0.1, 0.2, 0.3, 0.4], sex=list("fmfm"))
    )
    frame.write_parquet(tmp_path / "cases.parquet")
    for data in (frame, tmp_path / "cases.parquet"):
        seen, _ = gather(data, {**ROLES, "weight": "w"}, slices="all")
        assert [column.name for column in seen.slices] == ["age", "sex"]


def test_nothing_left_to_slice_by_is_an_error():
    with pytest.raises(ColumnError, match="No column"):
        sliced("all", name=[f"case {i}" for i in range(100)])


@pytest.mark.parametrize(
    ("asked", "error", "said"),
    [
        ("sexx", ColumnError, "did you mean 'sex'"),
        (["sex", "height"], ColumnError, "no column 'height'"),
        (3.5, OptionError, "names of columns"),
        ([["sex"]], OptionError, "names of columns"),
        (True, OptionError, "names of columns"),
    ],
)
def test_a_slice_that_is_no_column_is_refused(asked, error, said):
    with pytest.raises(error) as raised:
        sliced(asked, sex=["f", "m"])
    assert said in str(raised.value)


def test_arrays_take_slices_by_name_and_nothing_else():
    seen = assemble([0, 1], [0, 1])
    assert seen.slices == ()
    found = evaluate([0, 1, 1], [0, 1, 0], slices={"sex": ["f", "m", "m"]})
    assert found.predictions is not None
    assert found.predictions.slices[0].labels == ("f", "m")
    with pytest.raises(ColumnError, match="no data frame"):
        evaluate([0, 1], [0, 1], slices="sex")
    with pytest.raises(ValuesError, match="slice column 'sex' has 3"):
        evaluate([0, 1], [0, 1], slices={"sex": ["f", "m", "m"]})
    with pytest.raises(OptionError, match="slices"):
        evaluate(matrix=[[1, 0], [0, 1]], slices={"sex": ["f"]})


def test_slices_and_row_numbers_follow_the_rows_that_are_kept():
    truth, predicted = [0, None, 1, 1, 0, 1], [0, 1, None, 1, 1, 0]
    seen = assemble(truth, predicted, missing="drop", slices=[slice_column(list("abcdef"), "x")])
    assert per_row(seen.slices[0]) == ["a", "d", "e", "f"]
    assert seen.row_numbers(np.arange(4)).tolist() == [1, 4, 5, 6]
    part = seen.part(np.array([False, True, False, True]))
    assert per_row(part.slices[0]) == ["d", "f"]
    assert part.row_numbers(np.arange(2)).tolist() == [4, 6]
    again = part.part(np.array([1]))
    assert again.row_numbers(np.arange(1)).tolist() == [6]
    assert assemble([0, 1], [0, 1]).row_numbers(np.arange(2)).tolist() == [1, 2]


@pytest.mark.parametrize(
    "name", ["<script>alert(1)</script>", '"; DROP TABLE', "x" * 10_000, "\u202etxt", "😀", "=cmd()", ""]
)
def test_any_column_name_and_value_can_be_a_slice(name, tmp_path):
    frame = pl.DataFrame({"y": [0, 1] * 40, "p": [0, 1, 1, 1] * 20, name: [name, "b"] * 40})
    found = evaluate(frame, truth="y", predicted="p", slices=[name])
    assert [one.columns for one in found.slices()] == [(name,)] * 2
    for ending in ("html", "md", "tex", "json", "txt"):
        written = found.slices().write(tmp_path / f"slices.{ending}").read_text(encoding="utf-8")
        if ending in ("html", "md"):
            assert "<script>alert" not in written
    assert len(str(found.worst_slices())) < 5_000


def test_codes_take_one_byte_a_row():
    assert slice_column(RNG.random(1000), "x").codes.dtype == np.uint8
    assert slice_column([f"{i % 300}" for i in range(3000)], "x").codes.dtype == np.uint8


def test_dates_in_text_are_dates(tmp_path):
    days = [dt.date(2021, 1, 1) + dt.timedelta(days=i) for i in range(100)]
    texts = [day.isoformat() for day in days]
    found = slice_column(texts, "day")
    assert (found.kind, per_row(found)) == ("periods", per_row(slice_column(days, "day")))
    moments = [dt.datetime(2021, 1, 1, tzinfo=dt.UTC) + dt.timedelta(hours=i) for i in range(100)]
    assert per_row(slice_column([m.isoformat() for m in moments], "m")) == per_row(slice_column(moments, "m"))
    frame = pl.DataFrame(table(day=texts))
    frame.write_csv(tmp_path / "days.csv")
    seen, _ = gather(tmp_path / "days.csv", ROLES, slices="day")
    assert per_row(seen.slices[0]) == per_row(found)
    with_gap = slice_column([None, *texts], "day")
    assert (with_gap.labels[-1], per_row(with_gap)[0]) == ("(missing)", "(missing)")


MINUTES = [dt.datetime(2024, month, 1) + dt.timedelta(minutes=i) for month in (2, 3) for i in range(48)]
BERLIN = ZoneInfo("Europe/Berlin")
ZONED = {
    "pandas": lambda: pd.Series(MINUTES).dt.tz_localize("Europe/Berlin"),
    "Polars": lambda: pl.Series(MINUTES).dt.replace_time_zone("Europe/Berlin"),
    "PyArrow": lambda: pl.Series(MINUTES).dt.replace_time_zone("Europe/Berlin").to_arrow(),
    "a list": lambda: [moment.replace(tzinfo=BERLIN) for moment in MINUTES],
    "texts": lambda: [moment.replace(tzinfo=BERLIN).isoformat() for moment in MINUTES],
    "texts of two zones": lambda: [
        f"{moment.isoformat()}{('+01:00', '-08:00')[moment.minute % 2]}" for moment in MINUTES
    ],
}


@pytest.mark.parametrize("container", ZONED)
def test_dates_are_those_of_the_column_s_own_clocks(container):
    found = slice_column(ZONED[container](), "month")
    assert per_row(found) == [f"{moment:%Y-%m-%d}" for moment in MINUTES]


@pytest.mark.parametrize("way", ["in memory", "a CSV file", "a folder", "batches", "lazy", "DuckDB"])
def test_every_engine_slices_by_local_dates(way, tmp_path):
    frame = pl.DataFrame(table(month=ZONED["Polars"]()))
    text = frame.with_columns(pl.Series("month", ZONED["texts"]()))
    given = frame if way == "in memory" else frame.lazy()
    if way in ("a CSV file", "a folder"):
        given = tmp_path / "month.csv" if way == "a CSV file" else tmp_path
        text.write_csv(tmp_path / "month.csv")
    if way == "batches":
        frame.write_parquet(tmp_path / "month.parquet")
        given = tmp_path
    if way == "DuckDB":
        connection = duckdb.connect()
        connection.execute("SET TimeZone = 'Europe/Berlin'")
        connection.register("cases", frame.to_arrow())
        given = connection.sql("SELECT * FROM cases")  # type: ignore[assignment]
    found = evaluate(given, truth="y", predicted="p", slices="month").slices().rows()
    assert [row["slice"] for row in found] == ["2024-02-01", "2024-03-01"]


@pytest.mark.parametrize("other", ["soon", "2021-02-30", "2021", "2021-02", "20210203", "2021-02-03x"])
def test_texts_of_which_one_is_no_date_stay_texts(other):
    texts = [f"2021-01-{day:02d}" for day in range(1, 31)] * 2 + [other]
    found = slice_column(texts, "day")
    assert found.kind == "values"
    assert other in found.labels


def test_all_names_every_column_that_it_leaves_out_and_does_not_deny_what_it_uses():
    constants: dict[str, list[int]] = {f"always_{i}": [1] * 4 for i in range(20)}
    seen, _ = gather(table(fold=[0, 1, 0, 1], **constants), ROLES, slices="all")
    (out,) = [note for note in seen.notes if "left out" in note]
    assert all(name in out for name in constants)
    assert [column.name for column in seen.slices] == ["fold"]
    (said,) = [note for note in seen.notes if "'fold'" in note]
    assert "was not used as fold; fold='fold' would use it so" in said
    unsliced, _ = gather(table(fold=[0, 1, 0, 1]), ROLES)
    assert any("was not used; fold='fold' would use it" in note for note in unsliced.notes)


def test_an_index_that_was_written_without_a_name_divides_nothing(tmp_path):
    frame = pd.DataFrame({"truth": [0, 1] * 100, "predicted": [0, 1, 1, 1] * 50, "sex": ["f", "m", "m", "f"] * 50})
    frame.to_csv(tmp_path / "rows.csv")
    seen = evaluate(tmp_path / "rows.csv", slices="all")
    assert [column.name for column in seen.slice_columns] == ["sex"]
