"""Weights, groups and missing values, of whatever kind."""

from __future__ import annotations

import datetime as dt
import decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa  # type: ignore[import-untyped, unused-ignore]
import pytest
from sklearn.metrics import roc_auc_score

import heldout
from heldout.errors import HeldoutError

WEIGHTS = {
    "ints": [1, 2, 0],
    "floats": [1.0, 2.0, 0.0],
    "uint8": np.array([1, 2, 0], dtype=np.uint8),
    "one column": np.array([[1], [2], [0]]),
    "Decimal": [decimal.Decimal(1), decimal.Decimal(2), decimal.Decimal(0)],
    "pandas": pd.Series([1, 2, 0]),
    "pandas, Int64": pd.Series([1, 2, 0], dtype="Int64"),
    "Polars": pl.Series([1, 2, 0]),
    "Polars, Decimal": pl.Series([1, 2, 0], dtype=pl.Decimal(10, 2)),
    "PyArrow": pa.array([1, 2, 0]),
    "generator": (w for w in (1, 2, 0)),
    "masked": np.ma.masked_array([1, 2, 0], mask=[False] * 3),
}


@pytest.mark.parametrize("kind", WEIGHTS)
def test_weights_of_any_kind_are_numbers(kind):
    seen = heldout.count(["a", "a", "b"], ["a", "b", "b"], weight=WEIGHTS[kind]).confusion
    assert seen.matrix.tolist() == [[1, 2], [0, 0]]
    assert seen.cases.tolist() == [1, 1]


@pytest.mark.parametrize(
    ("weight", "said"),
    [
        ([1, -1], "Row 2 has -1"),
        ([1, np.inf], "Row 2 has inf"),
        ([0, 0], "All weights are zero"),
        ([1], "truth has 2, predicted has 2, weight has 1"),
        (["1", "2"], "must be numbers. It holds '1', '2'"),
        (np.array(["1", "2"]), "must be numbers. It holds '1', '2'"),
        (["x", 1], "must be numbers. 1 of 2 values is not: 'x'; it is in row 1"),
        ([1j, 1], "must be numbers"),
        (np.array(["2020", "2021"], dtype="M8[D]"), "must be numbers"),
        (pd.Series(pd.to_datetime(["2020", "2021"])), "must be numbers"),
        ([1e200, 1], "between 1e-150 and 1e+150"),
        ([1e-200, 1], "between 1e-150 and 1e+150"),
        (np.ones((2, 2)), "one column"),
        (3, "weight must be a list"),
        ([np.nan, 1], "weight in 1; it is row 1"),
        ([1, None], "weight in 1; it is row 2"),
    ],
    ids=lambda x: str(x)[:30],
)
def test_weights_that_cannot_be_used_are_refused(weight, said):
    with pytest.raises(heldout.HeldoutError) as refused:
        heldout.count([0, 1], [0, 1], weight=weight)
    assert said in refused.value.what


def test_a_case_of_weight_zero_does_not_count():
    seen = heldout.evaluate(["a", "b", "b"], ["a", "a", "b"], weight=[1, 0, 1])
    assert seen["accuracy"].value == 1
    assert "1 row of weight 0 was left out" in seen.notes


def weightless_rows() -> tuple[pl.DataFrame, pl.DataFrame]:
    """Rows that count, and the same with others of weight 0, some of which lack a value or are of another class."""
    rng, n = np.random.default_rng(5), 300
    counting = pl.DataFrame(
        {
            "truth": rng.choice(["a", "b"], n),
            "score": rng.random(n).round(3),
            "weight": rng.integers(1, 4, n) / 2,
            "group": rng.integers(0, 20, n),
            "fold": rng.integers(0, 3, n),
            "age": rng.normal(40, 10, n),
            "sex": rng.choice(["f", "m"], n),
        }
    )
    empty = pl.DataFrame(
        {
            "truth": ["a", "b", "c", "b"] * 10,
            "score": [None, 0.2, 0.9, 0.4] * 10,
            "weight": [0.0] * 40,
            "group": range(100, 140),
            "fold": [9] * 40,
            "age": [500.0] * 40,
            "sex": ["x"] * 40,
        },
        schema_overrides={"group": pl.Int64, "fold": pl.Int64},
    )
    return counting, pl.concat([counting[:150], empty, counting[150:]])


@pytest.mark.parametrize("engine", ["memory", "stream", "lazy"])
def test_rows_of_weight_zero_change_nothing_but_a_note(tmp_path, engine):
    seen = []
    for name, frame in zip(("counting", "all"), weightless_rows(), strict=True):
        frame.write_parquet(tmp_path / f"{name}.parquet")
        source: Any = {"memory": frame, "lazy": frame.lazy(), "stream": tmp_path / f"{name}.parquet"}[engine]
        options: dict[str, Any] = {"engine": "stream"} if engine == "stream" else {}
        seen.append(
            heldout.evaluate(
                source, truth="truth", score="score", weight="weight", group="group", fold="fold",
                slices=["age", "sex"], positive="b", **options,
            )
        )  # fmt: skip
    first, second = seen
    assert [x.name for x in first] == [x.name for x in second]
    # A lazy frame adds up its groups in any order.
    numbers = [np.array([(x.value, x.low, x.high, x.n) for x in evaluation], dtype=float) for evaluation in seen]
    np.testing.assert_allclose(numbers[0], numbers[1], rtol=1e-9)
    assert str(first.slices()) == str(second.slices())
    assert set(seen[1].notes) - set(seen[0].notes) == {"40 rows of weight 0 were left out"}


def test_rows_of_weight_zero_in_batches_are_added_up():
    evidence = heldout.Evidence(labels=["a", "b"])
    for weight in ([1, 0, 1], [0, 2, 1], [1, 1, 1]):
        evidence.update(["a", "b", "b"], ["a", "a", "b"], weight=weight)
    seen = heldout.evaluate(evidence)
    assert seen.confusion.n_cases == 7
    assert "2 rows of weight 0 were left out" in seen.notes


def test_a_group_of_weight_zero_says_nothing_of_how_groups_differ():
    truth, predicted = [1, 1, 0, 1, 0, 1], [1, 0, 0, 1, 0, 1]
    alone = heldout.evaluate(truth, predicted, group=["a"] * 6, weight=[1] * 6)["accuracy"]
    both = heldout.evaluate(truth * 2, predicted * 2, group=["a"] * 6 + ["b"] * 6, weight=[1] * 6 + [0] * 6)["accuracy"]
    assert (both.low, both.high) == (alone.low, alone.high) == (0, 1)


def test_recalibration_leaves_out_rows_of_weight_zero():
    rng = np.random.default_rng(3)
    score = rng.random(120)
    truth = (rng.random(120) < score).astype(int)
    empty = np.r_[truth, 1 - truth[:30]], np.r_[score, score[:30]], np.r_[np.ones(120), np.zeros(30)]
    one, two = (heldout.recalibrate(t, score=s, weight=w, seed=1) for t, s, w in ((truth, score, np.ones(120)), empty))
    assert repr(one.changes) == repr(two.changes)


def test_a_bad_weight_is_named_by_its_row_behind_rows_of_weight_zero():
    with pytest.raises(heldout.HeldoutError, match="Row 3 has -1"):
        heldout.count([0, 1, 1], [0, 1, 1], weight=[0, 1, -1])


DATES = [dt.date(2020, 1, 1), dt.date(2021, 1, 1), dt.date(2020, 1, 1)]
GROUPS = {
    "ints": [7, 9, 7],
    "far ints": [7, 10**12, 7],
    "text": ["x", "y", "x"],
    "U": np.array(["x", "y", "x"]),
    "floats": [0.5, 1.5, 0.5],
    "booleans": [True, False, True],
    "dates": DATES,
    "datetime64": np.array(DATES, dtype="M8[D]"),
    "pairs": [(1, "x"), (1, "y"), (1, "x")],
    "numbers and text": [1, "a", 1],
    "pandas, category": pd.Series(["x", "y", "x"], dtype="category"),
    "pandas, dates": pd.Series(pd.to_datetime(DATES)),
    "pandas, UUIDs as objects": pd.Series([DATES, (2,), DATES], dtype=object),
    "Polars, floats": pl.Series([0.5, 1.5, 0.5]),
    "Polars, dates": pl.Series(DATES),
    "PyArrow": pa.array(["x", "y", "x"]),
}


@pytest.mark.parametrize("kind", GROUPS)
def test_groups_of_any_kind_are_told_apart(kind):
    clusters = heldout.count(["a", "a", "b"], ["a", "b", "b"], group=GROUPS[kind]).confusion.clusters
    assert clusters is not None
    assert clusters.number == 2
    sizes = np.bincount(clusters.group, weights=clusters.count)
    assert sorted(sizes.tolist()) == [1, 2]


@pytest.mark.parametrize(
    "group",
    [
        [1, np.nan, 2],
        ["x", None, "y"],
        pl.Series([0.5, None, 1.5]),
        pd.Series(["x", None, "y"]),
        pd.Series([1, None, 2], dtype="Int64"),
        pd.Series(pd.to_datetime(["2020", "NaT", "2021"])),
        np.array(["2020", "NaT", "2021"], dtype="M8[D]"),
        [(1, 2), None, (3, 4)],
    ],
    ids=lambda x: str(x)[:25],
)
def test_a_missing_group_is_missing(group):
    with pytest.raises(heldout.HeldoutError, match="1 of 3 rows has a missing value: group in 1; it is row 2"):
        heldout.count([0, 1, 0], [0, 1, 0], group=group)
    seen = heldout.count([0, 1, 0], [0, 1, 0], group=group, missing="drop").confusion
    assert seen.clusters is not None
    assert (seen.n, seen.clusters.number) == (2, 2)


GAPS = {
    "list, None": ["a", None, "b"],
    "list, NaN": ["a", float("nan"), "b"],
    "objects, None": np.array(["a", None, "b"], dtype=object),
    "StringDType": np.array(["a", None, "b"], dtype=np.dtypes.StringDType(na_object=None)),
    "many objects": [f"{v} "[:-1] if v else None for v in ["a", None, "b"] * 2000],
    "pandas": pd.Series(["a", None, "b"]),
    "pandas, object and NA": pd.Series(["a", pd.NA, "b"], dtype=object),
    "pandas, object and NaT": pd.Series(["a", pd.NaT, "b"], dtype=object),
    "pandas, string[python]": pd.Series(["a", None, "b"], dtype="string[python]"),
    "pandas, string[pyarrow]": pd.Series(["a", None, "b"], dtype="string[pyarrow]"),
    "pandas, category": pd.Series(["a", None, "b"], dtype="category"),
    "Polars": pl.Series(["a", None, "b"]),
    "Polars, Categorical": pl.Series(["a", None, "b"], dtype=pl.Categorical),
    "Polars, Enum": pl.Series(["a", None, "b"], dtype=pl.Enum(["a", "b"])),
    "PyArrow": pa.array(["a", None, "b"]),
    "PyArrow, dictionary": pa.array(["a", None, "b"]).dictionary_encode(),
    "PyArrow, null in the dictionary": pa.DictionaryArray.from_arrays([0, 1, 2], ["a", None, "b"], ordered=True),
}
NUMBER_GAPS = {
    "list": [1, None, 2],
    "NumPy": np.array([1, np.nan, 2]),
    "masked": np.ma.masked_array([1, 5, 2], mask=[False, True, False]),
    "pandas, Int64": pd.Series([1, None, 2], dtype="Int64"),
    "Polars, Int8": pl.Series([1, None, 2], dtype=pl.Int8),
    "Polars, NaN": pl.Series([1.0, float("nan"), 2.0]),
    "PyArrow": pa.array([1, None, 2]),
}


@pytest.mark.parametrize("kind", GAPS)
def test_missing_labels_are_refused_or_dropped(kind):
    values = GAPS[kind]
    third = len(values) // 3
    predicted = ["a", "a", "b"] * third
    with pytest.raises(heldout.HeldoutError) as refused:
        heldout.count(values, predicted)
    have = "has a missing value" if third == 1 else "have missing values"
    assert f"{third:,} of {3 * third:,} rows {have}: truth in {third:,}" in refused.value.what
    assert f"; {'it' if third == 1 else 'the first'} is row 2" in refused.value.what
    seen = heldout.evaluate(values, predicted, missing="drop")
    assert (seen.labels, seen.confusion.matrix.tolist()) == (("a", "b"), [[third, 0], [0, third]])
    dropped = "was dropped because of a missing value" if third == 1 else "were dropped because of missing values"
    assert any(f"{third:,} of {3 * third:,} rows {dropped}" in note for note in seen.notes)


@pytest.mark.parametrize("kind", NUMBER_GAPS)
def test_missing_numbers_are_refused_or_dropped(kind):
    with pytest.raises(heldout.HeldoutError, match="predicted in 1; it is row 2"):
        heldout.count([1, 1, 2], NUMBER_GAPS[kind])
    seen = heldout.count([1, 1, 2], NUMBER_GAPS[kind], missing="drop").confusion
    assert (seen.labels, seen.matrix.tolist()) == ((1, 2), [[1, 0], [0, 1]])


@pytest.mark.parametrize("make", [lambda x: pd.Series(x, dtype="boolean"), pl.Series, pa.array], ids="abc")
def test_missing_booleans_are_dropped(make):
    seen = heldout.count(make([True, None, False]), [True, True, True], missing="drop").confusion
    assert (seen.labels, seen.matrix.tolist()) == ((False, True), [[0, 1], [0, 1]])


def test_a_row_with_several_gaps_is_dropped_once():
    seen = heldout.evaluate([None, "a", "b"], [None, "a", None], weight=[None, 1, 1], missing="drop")
    assert seen.n == 1
    assert "2 of 3 rows were dropped because of missing values: truth in 1, predicted in 2, weight in 1" in seen.notes


def test_a_column_without_a_value_is_refused_even_where_rows_may_be_dropped():
    for nothing in ([None, None], pl.Series([None, None]), pa.nulls(2), np.array([np.nan, np.nan])):
        with pytest.raises(heldout.HeldoutError, match="Every one of the 2 rows has a missing value"):
            heldout.count(nothing, [1, 1], missing="drop")


def test_what_to_do_with_missing_values_is_one_of_two_words():
    with pytest.raises(heldout.HeldoutError, match=r"'refuse' or 'drop'\. Got 'ignore'"):
        heldout.count([1], [1], missing="ignore")  # type: ignore[arg-type]


def test_two_logits_are_ranked_by_their_difference_and_the_higher_one_is_predicted():
    rng = np.random.default_rng(1)
    truth = rng.integers(0, 2, 300)
    logits = rng.normal(size=(300, 2)) + 4 * rng.normal(size=(300, 1))
    logits[np.arange(300), truth] += 1.0
    for positive in (0, 1):
        evaluation = heldout.evaluate(truth, score=logits, positive=positive)
        assert evaluation["roc_auc"].value == pytest.approx(
            roc_auc_score(truth, logits[:, 1] - logits[:, 0]), abs=1e-12
        )
        assert evaluation["accuracy"].value == pytest.approx((logits.argmax(axis=1) == truth).mean())


def test_parts_with_probabilities_and_parts_with_logits_are_not_merged():
    evidence = heldout.Evidence(labels=[0, 1], positive=1)
    evidence.update([0, 1], score=[[0.4, 0.6], [0.7, 0.3]])
    evidence.update([0, 1], score=[[3.0, 1.0], [-2.0, 4.0]])
    with pytest.raises(HeldoutError, match="some parts hold probabilities and others do not"):
        heldout.evaluate(evidence)


def test_the_one_text_that_files_do_not_mean_as_a_number_is_named(tmp_path):
    for text in ("1_000", "\u0661"):
        (tmp_path / "rows.csv").write_text(f"truth,score\n0,0.1\n1,0.9\n0,{text}\n", encoding="utf-8")
        with pytest.raises(HeldoutError, match=r"1 of 3 values is not: '.*; it is in row 3\."):
            heldout.evaluate(tmp_path / "rows.csv")


HUGE = 10**5000


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"score": [HUGE, 1]}, "not finite"),
        ({"score": [-HUGE, 1]}, "not finite"),
        ({"predicted": [0, 1], "weight": [HUGE, 1]}, "Row 1 has inf"),
        ({"predicted": [0, 1], "weight": [Fraction(HUGE), 1]}, "Row 1 has inf"),
        ({"score": [0.1, 0.2], "threshold": HUGE}, "Got inf"),
        ({"score": [0.1, 0.2], "level": HUGE}, "Got inf"),
        ({"score": [0.1, 0.2], "prevalence": -HUGE}, "Got -inf"),
        ({"predicted": [0, 1], "costs": {(0, 1): HUGE, (1, 0): 1}}, "is inf, expected a finite number"),
    ],
)
def test_whole_numbers_beyond_all_floats_are_infinite(options, said):
    with pytest.raises(HeldoutError, match=said):
        heldout.evaluate([0, 1], **options)


@pytest.mark.parametrize(
    "ask",
    [
        lambda: heldout.assert_at_least(heldout.evaluate([0, 1], [0, 1])["accuracy"], HUGE),
        lambda: heldout.compare([0, 1, 0], [1, 1, 0], truth=[0, 1, 1], margin=HUGE),
        lambda: heldout.evaluate([0, 1], score=[0.1, 0.2], tolerance=HUGE),
        lambda: heldout.evaluate([0, 1], [0, 1], limits={"H006": {"cases": HUGE}}),
        lambda: heldout.evaluate([0, 1], [0, 1], measures=f"f_score(beta={'9' * 400})"),
        lambda: heldout.compare({"A": [1, 2, 3], "B": [1, 2, 3], "delta": [HUGE, 1, 2]}, splits=False),
        lambda: heldout.compare({"A": [1, 2, 3], "B": [1, 2, 3], "mean": [HUGE, 1, 2]}, splits=False),
    ],
)
def test_no_number_beyond_all_floats_ends_in_an_overflow(ask):
    with pytest.raises(HeldoutError):
        ask()


@pytest.mark.parametrize(
    "ask",
    [
        heldout.evaluate,
        lambda value: heldout.evaluate([0, 1], score=value),
        lambda value: heldout.Evidence().update([0, 1], score=value),
    ],
)
def test_arrays_of_no_dimension_are_no_columns(ask):
    with pytest.raises(HeldoutError):
        ask(np.array(0.5))


def test_results_and_features_beyond_all_floats_are_refused():
    with pytest.raises(HeldoutError, match="finite"):
        heldout.compare({"A": [HUGE, 1, 2], "B": [1, 2, 3]}, splits=False)
    with pytest.raises(HeldoutError, match="infinite"):
        heldout.validate("tree", [[HUGE], [1], [2], [3]], [0, 1, 0, 1], plan="2-fold")
