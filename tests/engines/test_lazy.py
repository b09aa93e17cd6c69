"""Lazy frames are counted where their rows are: the evidence is that of the rows in memory, and so are the errors."""

from __future__ import annotations

import datetime as dt
from dataclasses import replace
from itertools import count
from typing import Any

import duckdb
import narwhals.stable.v2 as nw
import numpy as np
import polars as pl
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import heldout
from heldout.engines.bins import bins_of
from heldout.engines.confusion_cells import ConfusionCells
from heldout.engines.lazy import engine as lazy_slices
from heldout.engines.lazy.engine import count_lazy
from heldout.engines.lazy.score_pass import finer, on_grid
from heldout.engines.memory import counted
from heldout.engines.refinement import refine
from heldout.errors import ColumnError, HeldoutError, LabelError, OptionError, ValuesError
from heldout.evidence.bin_grid import POINT, floor_to
from heldout.measures.certified import bounds
from heldout.predictions.source import ROLES, ReadOptions, gather

EDGES = np.linspace(0, 1, 11)
SCORES = st.one_of(
    st.floats(allow_nan=False, allow_infinity=False),
    st.sampled_from([0.0, -0.0, 1.0, 0.5, 5e-324, -5e-324, 1e308, -1.7e308, 0.1, 1e-300]),
    st.floats(0, 1),
    st.floats(0, 1e-6),
)


def table(n: int = 300, seed: int = 1) -> pl.DataFrame:
    rng = np.random.default_rng(seed)
    true = rng.random(n) < 0.4
    score = np.clip(np.round(rng.normal(0.3 + 0.4 * true, 0.25), 2), 0, 1)
    said = (score >= 0.5) ^ (rng.random(n) < 0.05)
    parts = rng.multinomial(16, [0.4, 0.3, 0.3], n) / 16
    code = rng.integers(0, 3, n)
    return pl.DataFrame(
        {
            "y": np.where(true, "yes", "no"),
            "said": np.where(said, "yes", "no"),
            "s": score,
            "w": rng.integers(1, 17, n) / 8,
            "part": rng.integers(1, 5, n),
            "clinic": [f"c{number}" for number in rng.integers(0, 12, n)],
            "k": np.array(["a", "b", "c"])[code],
            "guess": np.array(["a", "b", "c"])[rng.integers(0, 3, n)],
            "p_a": parts[:, 0],
            "p_b": parts[:, 1],
            "p_c": parts[:, 2],
        }
    )


def both(rows: pl.DataFrame, lazy: Any = None, **options: Any) -> tuple[Any, Any]:
    """What is counted of a lazy frame, and of the same rows in memory; for both where the columns were found."""
    roles = {role: options.pop(role, None) for role in ROLES}
    engine = {name: options.pop(name) for name in ("most", "passes", "tolerance") if name in options}
    names = ("labels", "score", "positive", "threshold", "slices")
    given_: dict[str, Any] = {"missing": "refuse"} | options
    options = {name: given_.get(name) for name in names}
    asked = ReadOptions(**options, missing=given_["missing"], against_rest=False)
    frame = nw.from_native(rows.lazy() if lazy is None else lazy)
    found = count_lazy(frame, "the data frame", roles, asked, **engine)
    predictions, source = gather(rows, roles, **given_)
    return found, (counted(predictions, pairs=True), source)


def assert_same(rows: pl.DataFrame, lazy: Any = None, **options: Any) -> None:
    (found, read), (wanted, told) = both(rows, lazy, **options)
    assert found.differing(wanted, relative=1e-12) == ()
    assert replace(read, name=told.name) == told


CASES: dict[str, dict[str, Any]] = {
    "counts": {"truth": "y", "predicted": "said"},
    "weights": {"truth": "y", "predicted": "said", "weight": "w"},
    "groups": {"truth": "y", "predicted": "said", "weight": "w", "group": "clinic"},
    "groups alone": {"truth": "y", "predicted": "said", "group": "clinic", "score": "s"},
    "folds": {"truth": "y", "predicted": "said", "fold": "part", "score": "s"},
    "threshold": {"truth": "y", "score": "s", "threshold": 0.3},
    "usual threshold": {"truth": "y", "score": "s", "weight": "w"},
    "declared labels": {"truth": "y", "predicted": "said", "labels": ["yes", "no", "maybe"]},
    "three classes": {"truth": "k", "predicted": "guess", "score": ["p_c", "p_a", "p_b"], "weight": "w"},
    "highest score": {"truth": "k", "score": ["p_a", "p_b", "p_c"], "fold": "part", "group": "clinic"},
    "guessed scores": {"truth": "k", "predicted": "guess"},
    "everything": {
        "truth": "y",
        "predicted": "said",
        "score": "s",
        "weight": "w",
        "group": "clinic",
        "fold": "part",
        "slices": ["clinic", "w", "k"],
    },
}


@pytest.mark.parametrize("case", CASES)
def test_a_lazy_frame_is_counted_as_its_rows_are(case):
    assert_same(table(), **CASES[case])


@pytest.mark.parametrize("case", ["everything", "three classes"])
def test_duckdb_counts_as_memory_does(case):
    rows = table(120)
    assert_same(rows, duckdb.from_arrow(rows.to_arrow()), **CASES[case])


def test_rows_with_missing_values_are_dropped_with_the_same_counts():
    rng = np.random.default_rng(3)
    rows = table()
    gaps = {
        name: pl.when(pl.Series(rng.random(len(rows)) < 0.03)).then(None).otherwise(pl.col(name)).alias(name)
        for name in ("y", "said", "s", "w", "part", "clinic")
    }
    rows = rows.with_columns(*gaps.values())
    rows = rows.with_columns(s=pl.when(pl.int_range(pl.len()) == 7).then(float("nan")).otherwise(pl.col("s")))
    assert_same(rows, missing="drop", **CASES["everything"])
    (found, _), (wanted, _) = both(rows, missing="drop", **CASES["everything"])
    assert (found.rows, found.lost, found.missing) == (wanted.rows, wanted.lost, wanted.missing)
    assert found.lost > 5


LABELS: dict[str, tuple[list[Any], list[Any]]] = {
    "whole numbers": ([3, 7, 7, 3, 7, 3], [3, 7, 3, 3, 7, 7]),
    "booleans": ([True, False, True, False, True, True], [True, True, True, False, False, True]),
    "floats that are whole": ([0.0, 1.0, 1.0, 0.0, -0.0, 1.0], [1.0, 1.0, 0.0, 0.0, 0.0, 1.0]),
    "numbers and texts": ([0, 1, 1, 0, 1, 0], ["0", "1", "1", "1", "1", "0"]),
    "nothing in common": (["a", "b", "a", "b", "a", "b"], ["c", "d", "d", "d", "c", "c"]),
    "one class": (["a"] * 6, ["a"] * 6),
    "look-alikes": (["Spam", "spam", "ham", "ham", "spam", "Spam"], ["spam", "spam", "ham", "Spam", "ham", "ham"]),
}


@pytest.mark.parametrize("case", LABELS)
def test_labels_of_any_kind_are_joined_as_in_memory(case):
    truth, predicted = LABELS[case]
    assert_same(pl.DataFrame({"y": truth, "p": predicted}), truth="y", predicted="p")


def test_declared_categories_keep_their_order_and_stay_classes():
    kind = pl.Enum(["low", "middle", "high"])
    rows = pl.DataFrame({"y": ["high", "low", "low"], "p": ["low", "low", "high"]}, schema={"y": kind, "p": kind})
    assert_same(rows, truth="y", predicted="p")
    (found, _), _ = both(rows, truth="y", predicted="p")
    assert found.labels == ("low", "middle", "high")
    assert_same(rows.cast(pl.Categorical), truth="y", predicted="p")


def test_keys_of_any_kind_tell_folds_and_groups_apart():
    rows = table(60).with_columns(
        day=pl.Series([dt.date(2026, 1, 1 + row % 3) for row in range(60)]),
        half=pl.Series([row % 4 / 2 for row in range(60)]),
    )
    assert_same(rows, truth="y", predicted="said", score="s", fold="day", group="half", weight="w")


@settings(max_examples=60)
@given(st.lists(st.tuples(SCORES, st.booleans()), min_size=2, max_size=40), st.integers(1, 8), st.integers(1, 3))
def test_bins_and_their_refinement_are_those_of_rows_in_memory(cases, most, passes):
    score = np.array([score for score, _ in cases])
    true = np.array([positive for _, positive in cases])
    true[0] = not true[1:].all() or true[0]
    true[-1] = false_needed(true)
    rows = pl.DataFrame({"y": true.astype(int), "p": true.astype(int), "s": score})
    asked = ReadOptions([0, 1], "refuse", "s", 1, None)
    frame = nw.from_native(rows.lazy())
    found, _ = count_lazy(frame, "x", {"truth": "y", "predicted": "p"}, asked, most=most, passes=passes)
    wanted = bins_of(score, true, 2, most=most)
    for _ in range(passes - 1):
        again = refine(wanted, 1e-6)
        if not len(again):
            break
        reading = again.recount()
        reading.add(score, true)
        wanted = reading.put(wanted)
    assert found.scores is not None
    assert found.scores.bins[0] == wanted


def false_needed(true: Any) -> bool:
    return bool(true[-1]) and not true[:-1].all()


@settings(max_examples=40)
@given(st.lists(SCORES, min_size=1, max_size=30), st.integers(-1074, 1024))
@example([-1.7e308, 1.7e308], 1000)
@example([-1.0, -0.0, 1.7e308], 1024)
def test_the_grid_is_the_one_of_numpy(scores, exponent):
    frame = nw.from_native(pl.LazyFrame({"s": scores}))
    found = frame.select(on_grid(nw.col("s"), exponent).alias("s")).collect().get_column("s").to_numpy()
    assert found.tolist() == floor_to(np.array(scores), exponent).tolist()
    assert finer(np.array([min(scores)]), np.array([max(scores)]), exponent + 1, 4) <= exponent


@pytest.mark.parametrize("options", [{"weight": "w"}, {"group": "clinic"}, {"fold": "part"}])
def test_with_more_scores_than_bins_losses_are_still_exact_and_areas_certain(options):
    rng = np.random.default_rng(5)
    rows = table(600).with_columns(s=pl.Series(rng.random(600) ** 3))
    (found, _), (wanted, _) = both(rows, truth="y", predicted="said", score="s", most=32, tolerance=1e-6, **options)
    tallies = zip((found.scores, *found.fold_scores), (wanted.scores, *wanted.fold_scores), strict=True)
    for tally, exact in tallies:
        assert tally.bins[0].base > POINT
        for name in ("roc_auc", "average_precision"):
            low, high = bounds(tally.bins[0].ranking(1), name)
            value = bounds(exact.bins[0].ranking(1), name)
            assert low <= value[0] <= value[1] <= high
            assert high - low <= 1e-6
    fields = found.differing(wanted, relative=1e-12)
    assert fields
    assert all(".bins[0]." in field for field in fields)


@pytest.mark.parametrize("kind", [pl.Float64, pl.Float32])
def test_probabilities_at_the_edges_of_bins_fall_where_they_do_in_memory(kind):
    near = np.concatenate([EDGES, np.nextafter(EDGES, 0), np.nextafter(EDGES[:-1], 1), [0.0, 1.0, 1e-17, 5e-324]])
    score = np.concatenate([near, near])
    true = np.repeat([0, 1], len(near))
    rows = pl.DataFrame({"y": true, "p": true, "s": pl.Series(score).cast(kind)})
    # Few bins, so that the losses are summed where the rows are; many, so that they are summed from bins.
    for most in (4, 1 << 20):
        (found, _), (wanted, _) = both(rows, truth="y", predicted="p", score="s", most=most, passes=1)
        fields = [f"scores.probabilities.{field}" for field in ("reliability", "clipped", "losses")]
        differ = found.differing(wanted, relative=1e-12)
        assert not [name for name in differ if name.startswith(tuple(fields))]
        assert found.scores.probabilities.clipped == wanted.scores.probabilities.clipped > 0


def test_a_threshold_meets_short_floats_as_it_does_in_a_frame_in_memory():
    rows = pl.DataFrame({"y": [0, 1, 0, 1], "s": pl.Series([0.7, 0.7, 0.1, 0.9], dtype=pl.Float32)})
    assert_same(rows, truth="y", score="s", threshold=0.7)


def test_in_arrays_scores_of_four_bytes_meet_a_threshold_as_they_do_in_frames():
    truth, score = np.array([0, 1, 0, 1]), np.array([0.7, 0.7, 0.1, 0.9], dtype=np.float32)
    wanted = heldout.evaluate(truth, score=score.astype(np.float64), threshold=0.7)
    assert wanted.confusion.matrix.tolist() == [[2, 0], [1, 1]]
    for data in (truth, {"y": truth, "s": score}):
        options: dict[str, Any] = {"score": score} if data is truth else {"truth": "y", "score": "s"}
        found = heldout.evaluate(data, threshold=0.7, **options)
        assert found.confusion == wanted.confusion
    turned = heldout.evaluate(truth, score=score, threshold=0.7, positive=0)
    assert turned.confusion.matrix.tolist() == [[0, 2], [1, 1]]


@pytest.mark.parametrize("kind", ["rows", "class"])
def test_rows_that_change_between_the_readings_are_refused(kind):
    calls = count()

    def changed(rows):
        reading = next(calls)
        new = rows.with_columns(said=pl.lit("new")) if reading else rows
        return new if kind == "class" else rows.head(len(rows) - 9 * reading)

    rows = table().select("y", "said", "s", "clinic", "k")
    frame = nw.from_native(rows.lazy().map_batches(changed, schema=rows.schema))
    asked = ReadOptions(None, "refuse", "s", "yes", None, ["k"])
    with pytest.raises(ValuesError, match="changed between one reading and the next") as raised:
        count_lazy(frame, "the data frame", {"truth": "y", "predicted": "said"}, asked)
    assert raised.value.hint


def test_columns_that_look_like_groups_are_found_as_in_memory():
    rows = table().with_columns(
        patient=pl.Series([None if row % 7 == 0 else row // 2 for row in range(300)]),
        user_id=pl.Series(range(300)),
        site=pl.lit("one"),
        family=pl.Series([[row % 3] for row in range(300)]),
    )
    (_, read), (_, told) = both(rows.drop("family"), truth="y", predicted="said")
    assert read.group_like == told.group_like
    assert [name for name, *_ in read.group_like] == ["clinic", "patient"]
    (_, read), _ = both(rows, truth="y", predicted="said", group="clinic")
    assert read.group_like == ()
    found = count_lazy(
        nw.from_native(rows.lazy()),
        "the data frame",
        {"truth": "y", "predicted": "said"},
        ReadOptions(None, "refuse", None, None, None),
    )[1]
    assert found.group_like == told.group_like


def test_slices_by_many_values_are_those_of_rows_in_memory(monkeypatch):
    monkeypatch.setattr(lazy_slices, "FEW_VALUES", 3)
    rng = np.random.default_rng(9)
    days = [dt.date(2026, 1, 1) + dt.timedelta(days=int(day)) for day in rng.integers(0, 90, 400)]
    rows = table(400).with_columns(
        age=pl.Series(rng.normal(50, 9, 400).round(1)),
        day=pl.Series(days),
        written=pl.Series([str(day) for day in days]),
        town=pl.Series([f"t{number}" for number in rng.zipf(1.5, 400) % 90]),
        sex=pl.Series([(None, "f", "m")[place] for place in rng.integers(0, 3, 400)]),
        old=pl.Series(rng.random(400) < 0.3),
        size=pl.Series([(1.0, 2.5, float("nan"), None)[place] for place in rng.integers(0, 4, 400)]),
    )
    slices = ["age", "day", "written", "town", "sex", "old", "size"]
    assert_same(rows, truth="y", predicted="said", weight="w", slices=slices)
    assert_same(rows, truth="y", predicted="said", group="clinic", slices=["age", "day"])


def test_every_column_without_a_role_may_be_a_slice():
    rows = table().drop("p_a", "p_b", "p_c").with_columns(code=pl.Series([f"x{row}" for row in range(300)]))
    assert_same(rows, truth="y", predicted="said", slices="all")


def test_numbers_of_which_there_are_too_many_are_cut_near_their_quantiles(monkeypatch):
    monkeypatch.setattr(lazy_slices, "MOST_VALUES", 100)
    rng = np.random.default_rng(2)
    rows = table(2000).with_columns(x=pl.Series(np.where(rng.random(2000) < 0.05, np.nan, rng.normal(size=2000))))
    (found, _), (wanted, _) = both(rows, truth="y", predicted="said", slices=["x"])
    column, exact = found.slices[0], wanted.slices[0]
    assert len(column.labels) == len(exact.labels) == 5
    assert "small bins" in column.note
    assert np.abs(column.counts.sizes - exact.counts.sizes).max() < 0.1 * 2000
    assert column.counts.sizes[-1] == exact.counts.sizes[-1]
    with pytest.raises(ColumnError, match="different texts"):
        both(
            rows.with_columns(x=pl.Series([f"{row}" for row in range(2000)])), truth="y", predicted="said", slices=["x"]
        )


BAD: dict[str, tuple[dict[str, Any], dict[str, Any], type[HeldoutError], str]] = {
    "missing": ({"y": ["a", None, "b"]}, {}, ValuesError, "1 of 3 rows has a missing value: truth in 1"),
    "all missing": ({"y": [None, None, None]}, {"missing": "drop"}, ValuesError, "Every one of the 3 rows"),
    "empty": ({"y": [], "p": [], "s": [], "w": [], "i": []}, {}, ValuesError, "no cases"),
    "negative weight": ({"w": [1.0, -2.0, 1.0]}, {"weight": "w"}, ValuesError, "1 of 3 are negative, the least is -2"),
    "infinite weight": ({"w": [1.0, float("inf"), 1.0]}, {"weight": "w"}, ValuesError, "1 of 3 are infinite"),
    "no weight": ({"w": [0.0, 0.0, 0.0]}, {"weight": "w"}, ValuesError, "All weights are zero"),
    "huge weights": ({"w": [1e200, 1.0, 1.0]}, {"weight": "w"}, ValuesError, "must lie between"),
    "text weights": ({"w": ["1", "2", "3"]}, {"weight": "w"}, ValuesError, "must be numbers. It holds String"),
    "infinite scores": ({"s": [1.0, float("inf"), 0.0]}, {"score": "s"}, ValuesError, "1 score is not finite"),
    "scores as labels": ({"p": [0.25, 0.5, 1.0]}, {}, LabelError, "not whole, such as 0.25"),
    "lists as labels": ({"p": [[1], [2], [3]]}, {}, LabelError, "Labels are numbers, text"),
    "an id twice": ({"i": [1, 2, 2]}, {"id": "i"}, ValuesError, "The id 2 stands in 2 rows; 1 id stands"),
    "a case twice": ({"i": [1, 2, 2]}, {"id": "i", "fold": "w"}, ValuesError, "counts do not tell"),
    "no threshold": ({"s": [-1.0, 2.0, 0.5]}, {"score": "s", "predicted": None}, OptionError, "no natural threshold"),
    "an array": ({}, {"weight": [1.0, 2.0, 3.0]}, ColumnError, "have no order"),
    "a slip": ({}, {"truth": "yy"}, ColumnError, "has no column 'yy'"),
    "a wrong word": ({}, {"missing": "keep"}, OptionError, "missing must be"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_data_are_refused_in_words(case):
    columns, options, kind, words = BAD[case]
    rows = pl.DataFrame(
        {"y": ["a", "b", "a"], "p": ["a", "b", "b"], "s": [0.1, 0.6, 0.3], "w": [1.0, 2.0, 3.0], "i": [1, 2, 3]}
        | columns
    )
    given_: dict[str, Any] = {"truth": "y", "predicted": "p", "positive": "b" if "score" in options else None} | options
    roles = {role: given_.get(role) for role in ROLES}
    asked = ReadOptions(None, given_.get("missing", "refuse"), given_.get("score"), given_["positive"], None)
    with pytest.raises(kind, match=words) as raised:
        count_lazy(nw.from_native(rows.lazy()), "the data frame", roles, asked)
    assert isinstance(raised.value, HeldoutError)
    assert raised.value.hint


def test_scores_that_were_guessed_and_cannot_be_used_are_left_out_with_a_note():
    rows = pl.DataFrame({"y": [0, 1, 1], "p": [0, 1, 0], "score": [0.5, None, float("inf")]})
    (found, _), _ = both(rows, truth="y", predicted="p")
    assert found.scores is None
    assert found.notes == ("the scores in score were not used, because 2 rows have some that is missing or not finite",)
    rows = rows.with_columns(score=pl.Series(["a", "b", "c"]))
    (found, read), (wanted, told) = both(rows, truth="y", predicted="p")
    start = "columns that look like scores were not used: score; 'score'"
    # Only rows that are held can be named.
    assert (found.notes, wanted.notes) == ((f"{start} is no column of numbers",), (f"{start} holds 'a' in row 1",))
    assert found.differing(replace(wanted, notes=found.notes)) == ()
    assert replace(read, name=told.name) == told


def test_scores_that_do_not_sum_to_one_are_no_probabilities():
    rows = table().with_columns(p_a=pl.col("p_a") * 0.5)
    (found, _), (wanted, _) = both(rows, truth="k", predicted="guess", score=["p_a", "p_b", "p_c"])
    assert found.scores.probabilities is None
    total = wanted.scores.not_probability.partition(" sum to ")[2]
    assert found.scores.not_probability == f"the scores of a row sum to {total}"


def test_slices_of_very_many_classes_and_groups_are_told_apart():
    # The number of a cell among 10**12, times 10**6 groups and 20 slices, does not fit 64 bits.
    classes = groups = 10**6
    rng = np.random.default_rng(3)
    truth, predicted, group = (rng.integers(0, classes, 60) for _ in range(3))
    part = np.arange(60) % 20
    found = ConfusionCells(
        tuple(range(classes)),
        truth,
        predicted,
        np.ones(60, dtype=np.int64),
        part=part,
        group=(group, np.arange(groups)),
    ).slices()
    held = found.groups
    assert held is not None
    listed = zip(held.place, held.keys[held.group], held.cell, held.count, strict=True)
    wanted = zip(part, group, truth * classes + predicted, np.ones(60), strict=True)
    assert sorted(map(tuple, listed)) == sorted(map(tuple, wanted))


def test_groups_are_listed_in_one_order_whatever_the_order_of_the_labels():
    rng = np.random.default_rng(4)
    labels = [f"x{number}" for number in range(12)]
    truth, predicted = (np.array(labels)[rng.integers(0, 12, 400)] for _ in range(2))
    rows = pl.DataFrame({"truth": truth, "predicted": predicted, "clinic": rng.integers(0, 9, 400)})
    made = [
        heldout.count(frame, truth="truth", predicted="predicted", group="clinic", labels=labels)
        for frame in (rows, rows.lazy())
    ]
    assert made[0] == made[1]
