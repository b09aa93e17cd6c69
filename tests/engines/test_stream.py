"""Rows met in batches give what the same rows give at once: counts, labels, notes, slices, and errors."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl
import pytest
from tests.engines.streaming import asked_for, at_once, differing, parts, streamed, table

import heldout
from heldout.engines.bins import bins_of
from heldout.engines.stream.batch_columns import check_unchanged
from heldout.engines.stream.batch_engine import count_stream
from heldout.errors import ColumnError, HeldoutError, LabelError, OptionError, ValuesError
from heldout.files.batches import batches_of
from heldout.measures.certified import bounds
from heldout.results.evaluation_builder import counted_notes

# Where the number of bins is looked up: small files then need more than there may be.
MOST_BINS = "heldout.evidence.counted.MOST"


@pytest.mark.parametrize("kind", ["parquet", "csv", "jsonl"])
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"predicted": None, "threshold": 0.3},
        {"weight": "weight"},
        {"group": "clinic"},
        {"fold": "fold"},
        {"slices": ["sex", "age"]},
        {"weight": "weight", "group": "clinic", "fold": "fold", "slices": "sex"},
        {"positive": "no", "score": None, "truth": "truth"},
        {"slices": "all"},
    ],
    ids=str,
)
def test_batches_give_the_evidence_and_the_notes_of_rows_at_once(tmp_path, options, kind):
    frame = table()
    if kind != "parquet":
        frame = frame.with_columns(pl.col("age").cast(pl.Float64) + 0.5)
    made, source = streamed(parts(frame, tmp_path / "preds", kind=kind), **dict(options))
    expected, known, notes = at_once(frame, tmp_path, **dict(options))
    assert differing(made, expected) == ()
    assert source.columns == known.columns
    assert source.guessed == known.guessed
    assert [note.replace("preds", "whole.parquet") for note in counted_notes(made)] == list(notes)


@pytest.mark.parametrize("options", [{}, {"weight": "weight", "fold": "fold"}, {"slices": "sex"}], ids=str)
def test_labels_that_the_first_rows_do_not_show_are_found_by_another_reading(tmp_path, monkeypatch, options):
    frame = table()
    folder = parts(frame.sort("truth"), tmp_path / "preds")
    batches = batches_of(folder, engine="stream")
    assert batches is not None
    frames, readings = type(batches).frames, []

    def counting(self, *given, **options):
        readings.append(1)
        return frames(self, *given, **options)

    monkeypatch.setattr(type(batches), "frames", counting)
    quick, _ = streamed(folder, **dict(options))
    once = len(readings)
    assert once == (2 if "slices" in options else 1)
    monkeypatch.setattr("heldout.engines.stream.batch_engine.FIRST", 10)
    thorough, _ = streamed(folder, **dict(options))
    # What the first rows said is counted in vain; classes are found to tell which columns are scores, then all labels.
    assert len(readings) == 3 * once + 2
    expected, *_ = at_once(frame.sort("truth"), tmp_path, **dict(options))
    assert differing(quick, expected) == ()
    assert not quick.differing(thorough)


def test_a_label_that_turns_up_in_the_last_file_is_a_class_of_all(tmp_path):
    frame = table().with_columns(
        truth=pl.when(pl.int_range(pl.len()) == 599).then(pl.lit("maybe")).otherwise("truth"),
    )
    made, _ = streamed(parts(frame.drop("score"), tmp_path / "preds"))
    assert made.labels == ("maybe", "no", "yes")
    assert made.n == 600
    expected, _, notes = at_once(frame.drop("score"), tmp_path)
    assert made.confusion == expected.confusion
    assert [note.replace("preds", "whole.parquet") for note in counted_notes(made)] == list(notes)


def test_files_of_one_class_each_are_one_table(tmp_path):
    frame = table().sort("truth")
    made, _ = streamed(parts(frame, tmp_path / "preds"))
    expected, *_ = at_once(frame, tmp_path)
    assert differing(made, expected) == ()


def test_numbers_in_one_file_and_text_in_another_are_one_class_column_of_text_files(tmp_path):
    folder = tmp_path / "preds"
    folder.mkdir()
    (folder / "a.csv").write_text("truth,predicted\n0,0\n1,1\n", encoding="utf-8")
    (folder / "b.csv").write_text("truth,predicted\n1,x\nx,0\n", encoding="utf-8")
    made, _ = streamed(folder)
    assert made.labels == ("0", "1", "x")
    assert made.confusion.matrix.tolist() == [[1, 0, 0], [0, 1, 1], [1, 0, 0]]


def test_a_column_of_scores_for_each_class(tmp_path):
    rng = np.random.default_rng(3)
    p = rng.dirichlet([1, 1, 1], 300)
    truth = np.array(["a", "b", "c"])[(p.cumsum(axis=1) > rng.random((300, 1))).argmax(axis=1)]
    frame = pl.DataFrame({"truth": truth, **{f"p_{c}": p[:, i] for i, c in enumerate("abc")}})
    made, source = streamed(parts(frame, tmp_path / "preds"))
    expected, known, _ = at_once(frame, tmp_path)
    assert differing(made, expected) == ()
    assert source.columns == known.columns


@pytest.mark.parametrize("role", ["truth", "predicted", "weight", "score"])
def test_missing_values_are_counted_over_all_files(tmp_path, role):
    frame = table().with_columns(pl.when(pl.int_range(pl.len()) % 97 == 50).then(None).otherwise(role).alias(role))
    options = {"weight": "weight", "score": "score"}
    folder = parts(frame, tmp_path / "preds")
    with pytest.raises(ValuesError) as found:
        streamed(folder, **dict(options))
    with pytest.raises(ValuesError) as known:
        at_once(frame, tmp_path, **dict(options))
    assert found.value.what == f"{known.value.what[:-1]} (row 51 of {folder / 'part-0.parquet'})."
    made, _ = streamed(folder, missing="drop", **dict(options))
    expected, _, notes = at_once(frame, tmp_path, missing="drop", **dict(options))
    assert differing(made, expected) == ()
    assert [note.replace("preds", "whole.parquet") for note in counted_notes(made)] == list(notes)
    assert made.lost > 0


def test_guessed_scores_that_are_missing_somewhere_are_not_used(tmp_path):
    frame = table().with_columns(score=pl.when(pl.int_range(pl.len()) == 400).then(None).otherwise("score"))
    made, _ = streamed(parts(frame, tmp_path / "preds", number=1))
    expected, _, notes = at_once(frame, tmp_path)
    assert made.scores is None
    assert made.confusion == expected.confusion
    assert [note.replace("preds", "whole.parquet") for note in counted_notes(made)] == list(notes)


@pytest.mark.parametrize(
    ("column", "value", "options"),
    [
        ("score", float("inf"), {"score": "score"}),
        ("score", 1.5, {"predicted": None, "score": "score"}),
        ("weight", -1.0, {"weight": "weight"}),
        ("weight", 1e200, {"weight": "weight"}),
    ],
)
def test_values_that_cannot_be_used_are_refused_in_the_same_words(tmp_path, column, value, options):
    frame = table().with_columns(pl.when(pl.int_range(pl.len()) == 399).then(value).otherwise(column).alias(column))
    if "predicted" in options:
        frame = frame.drop("predicted")
        options = {"score": "score"}
    with pytest.raises(HeldoutError) as known:
        at_once(frame, tmp_path, **dict(options))
    with pytest.raises(HeldoutError) as found:
        streamed(parts(frame, tmp_path / "preds", number=1), **dict(options))
    assert found.value.what == known.value.what
    assert type(found.value) is type(known.value)


def test_scores_that_are_no_probabilities_in_the_last_file_have_no_losses(tmp_path):
    frame = table().with_columns(score=pl.when(pl.int_range(pl.len()) == 590).then(2.5).otherwise("score"))
    made, _ = streamed(parts(frame, tmp_path / "preds"))
    expected, *_ = at_once(frame, tmp_path)
    assert made.scores.not_probability == "the scores run from 0 to 2.5"
    assert differing(made, expected) == ()


def test_values_in_place_of_a_column_are_refused(tmp_path):
    folder = parts(table(), tmp_path / "preds")
    with pytest.raises(OptionError, match="weight= holds values"):
        streamed(folder, weight=np.ones(600))
    with pytest.raises(OptionError, match="slices= holds values"):
        streamed(folder, slices={"sex": ["f"] * 600})


def test_an_id_may_stand_once(tmp_path):
    frame = table().with_columns(case=pl.int_range(pl.len()))
    made, _ = streamed(parts(frame, tmp_path / "once"), id="case")
    assert made.n == 600
    again = frame.with_columns(case=pl.col("case") % 590)
    with pytest.raises(ValuesError, match="The id 0 stands in 2 rows; 10 ids stand in more than one"):
        streamed(parts(again, tmp_path / "again"), id="case")


# Of six rows the third has the id of the second, and is not counted; or it lacks an id.
NOT_COUNTED: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "no prediction": ({"said": ["a", "b", None, "b", "b", "b"]}, {"missing": "drop"}),
    "weight 0": ({"w": [1.0, 1.0, 0.0, 1.0, 1.0, 1.0]}, {"weight": "w"}),
    "no id": ({"case": [1.0, 2.0, float("nan"), 3.0, 4.0, 5.0]}, {"missing": "drop"}),
}


@pytest.mark.parametrize("case", NOT_COUNTED)
def test_the_id_of_a_row_that_is_not_counted_may_stand_twice(tmp_path, case):
    columns, options = NOT_COUNTED[case]
    plain: dict[str, Any] = {"y": list("ababab"), "said": list("abbbbb"), "case": [1, 2, 2, 3, 4, 5]}
    frame = pl.DataFrame(plain | columns)
    file = tmp_path / "rows.parquet"
    frame.write_parquet(file)
    asked: dict[str, Any] = {"truth": "y", "predicted": "said", "id": "case"}
    given: list[tuple[Any, dict[str, Any]]] = [(frame, {}), (frame.lazy(), {}), (file, {"engine": "stream"})]
    made = [heldout.evaluate(rows, **asked | options | engine) for rows, engine in given]
    assert [own.n for own in made] == [5, 5, 5]
    assert [own.notes for own in made[1:]] == [made[0].notes] * 2
    if case == "no id":
        return
    # The same rows, each of them counted, are refused by every engine.
    whole = frame.with_columns(said=pl.lit("a"))
    whole.write_parquet(file)
    given = [(whole, {}), (whole.lazy(), {}), (file, {"engine": "stream"})]
    for rows, engine in given:
        with pytest.raises(ValuesError, match="The id 2 stands in 2 rows; 1 id stands in more than one"):
            heldout.evaluate(rows, **asked | engine)


def test_unknown_columns_and_classes_are_named(tmp_path):
    folder = parts(table(), tmp_path / "preds")
    with pytest.raises(ColumnError, match="preds has no column 'truht'"):
        streamed(folder, truth="truht")
    with pytest.raises(LabelError, match="leave out classes"):
        streamed(folder, labels=["yes"])


@pytest.mark.parametrize("options", [{}, {"group": "clinic"}, {"weight": "weight"}], ids=str)
def test_more_distinct_scores_than_bins_are_certain_to_the_tolerance(tmp_path, monkeypatch, options):
    from sklearn.metrics import roc_auc_score

    monkeypatch.setattr(MOST_BINS, 64)
    rng = np.random.default_rng(5)
    # Half of the scores crowd below one bin.
    score = np.where(rng.random(4000) < 0.5, rng.random(4000) * 1e-6, rng.random(4000))
    truth = rng.random(4000) < 0.3 + 0.4 * score
    weight = rng.integers(1, 9, 4000) / 8
    frame = pl.DataFrame(
        {
            "truth": truth.astype(int),
            "predicted": (score > 0.5).astype(int),
            "score": score,
            "clinic": rng.integers(0, 9, 4000),
            "weight": weight,
        }
    )
    folder = parts(frame, tmp_path / "preds")
    exact = roc_auc_score(truth, score, sample_weight=weight if "weight" in options else None)
    widths = []
    for passes in (1, 3):
        made, _ = streamed(folder, passes=passes, tolerance=1e-6, **options)
        low, high = bounds(made.scores.bins[0].ranking(1), "roc_auc")
        assert low <= exact <= high
        assert made.scores.bins[0].n == 4000
        widths.append(high - low)
    assert widths[0] > 1e-3
    assert widths[1] <= 1e-6


def test_batches_of_any_size_give_the_same_grid(tmp_path, monkeypatch):
    monkeypatch.setattr(MOST_BINS, 300)
    rng = np.random.default_rng(9)
    score = rng.random(4000)
    frame = pl.DataFrame({"truth": (rng.random(4000) < score).astype(int), "score": score})
    folder = parts(frame, tmp_path / "preds")
    made = [streamed(folder, batch, passes=1)[0] for batch in (100, 333, 5000)]
    (expected,) = made[0].scores.bins
    assert expected.exponent.min() < expected.base == bins_of(score, frame["truth"].to_numpy(), 2, most=300).base
    assert all(counted_so.scores.bins == (expected,) for counted_so in made)


@pytest.mark.parametrize("options", [{}, {"group": "clinic", "weight": "weight"}], ids=str)
def test_folds_are_read_again_too_where_their_scores_crowd(tmp_path, monkeypatch, options):
    from sklearn.metrics import roc_auc_score

    rng = np.random.default_rng(11)
    n = 3000
    crowd = rng.random(n) < 0.4
    inner = rng.random(n)
    score = np.where(crowd, 0.5 + 1e-8 * inner, rng.random(n))
    frame = pl.DataFrame(
        {
            "truth": np.where(crowd, inner > 0.5, rng.random(n) < 0.5).astype(int),
            "predicted": (score > 0.5).astype(int),
            "score": score,
            # The second fold is in the last files only.
            "fold": np.repeat(["a", "b"], [1700, 1300]),
            "clinic": rng.integers(0, 9, n),
            "weight": rng.integers(1, 9, n) / 8,
        }
    )
    folder = parts(frame, tmp_path / "preds")
    expected, *_ = at_once(frame, tmp_path, fold="fold", **options)
    monkeypatch.setattr(MOST_BINS, 64)
    widths = []
    for passes in (1, 3):
        made, _ = streamed(folder, passes=passes, fold="fold", **options)
        assert made.folds.keys.tolist() == expected.folds.keys.tolist() == ["a", "b"]
        assert made.folds.counts.tolist() == expected.folds.counts.tolist()
        for tally, rows in zip(made.fold_scores, frame.partition_by("fold"), strict=True):
            weight = rows["weight"] if "weight" in options else None
            exact = roc_auc_score(rows["truth"], rows["score"], sample_weight=weight)
            low, high = bounds(tally.bins[0].ranking(1), "roc_auc")
            # Where every score has its own bin both are the value, which the oracle rounds in another way.
            assert low - 1e-12 <= exact <= high + 1e-12
            assert tally.bins[0].n == len(rows)
            widths.append(high - low)
    assert min(widths[:2]) > 0.05
    assert max(widths[2:]) <= 1e-6


@pytest.mark.parametrize("kind", ["text", "number", "far"])
def test_a_true_class_that_is_met_only_where_another_value_is_missing_is_none(tmp_path, kind):
    frame = table().with_columns(weight=pl.when(pl.int_range(pl.len()) == 300).then(None).otherwise("weight"))
    rare = pl.when(pl.int_range(pl.len()) == 300).then(pl.lit("zebra")).otherwise("truth")
    frame = frame.with_columns(truth=rare)
    if kind != "text":
        number = {"no": 0, "yes": 1 if kind == "number" else 10**9, "zebra": 7}
        frame = frame.with_columns(pl.col("truth", "predicted").replace_strict(number))
    options = {"weight": "weight", "missing": "drop"}
    made, _ = streamed(parts(frame, tmp_path / "preds"), **dict(options))
    expected, *_ = at_once(frame, tmp_path, **dict(options))
    assert made.missing == {"weight": 1}
    assert differing(made, expected) == ()


@pytest.mark.parametrize("changed", ["fewer", "label", "number"])
@pytest.mark.parametrize("reading", [3, 5, 6])
def test_files_that_change_between_readings_are_refused(tmp_path, monkeypatch, changed, reading):
    monkeypatch.setattr(MOST_BINS, 32)
    frame = table()
    if reading > 3:
        # The first rows do not show all labels.
        monkeypatch.setattr("heldout.engines.stream.batch_engine.FIRST", 10)
        frame = frame.sort("truth")
    if changed == "number":
        frame = frame.with_columns(pl.col("truth", "predicted") == "yes").with_columns(
            pl.col("truth", "predicted").cast(pl.Int64)
        )
    batches = batches_of(parts(frame, tmp_path / "preds"), engine="stream")
    assert batches is not None
    batches.batch = 100
    frames, readings = batches.frames, []

    def changing(columns, made=()):
        readings.append(1)
        number = len(readings)
        for place, read in enumerate(frames(columns)):
            held = read
            if number == reading and place == 3 and "truth" in held.columns:
                if changed == "fewer":
                    held = held.head(50)
                else:
                    other = pl.lit("maybe" if changed == "label" else -5)
                    held = held.with_columns(truth=pl.when(pl.int_range(pl.len()) == 7).then(other).otherwise("truth"))
            yield held.select(made) if made else held

    monkeypatch.setattr(batches, "frames", changing)
    options = {"slices": "sex", "weight": "weight", "score": "score"}
    asked = asked_for(options)
    # The first reading finds slices, the second counts, and the third looks into bins; or the second meets a label that
    # the first rows do not have, and the third finds slices, the fourth labels, the fifth counts, the sixth looks.
    with pytest.raises(ValuesError, match="changed") as found:
        count_stream(batches, options, asked)
    assert found.value.hint


def test_counts_that_cannot_be_of_one_table_are_refused(tmp_path):
    (tmp_path / "a.csv").write_text("truth,predicted\n0,1\n", encoding="utf-8")
    batches = batches_of(tmp_path)
    assert batches is not None
    made, _ = count_stream(batches, {}, asked_for({}))
    check_unchanged(made, batches)
    for wrong in (replace(made, rows=2, lost=1), replace(made, lost=1), replace(made, rows=3)):
        with pytest.raises(ValuesError, match=f"{tmp_path.name} changed while it was read"):
            check_unchanged(wrong, batches)


def test_a_file_that_is_shorter_when_two_classes_are_counted_is_refused(tmp_path, monkeypatch):
    batches = batches_of(parts(table(), tmp_path / "preds"), engine="stream")
    assert batches is not None
    frames = batches.frames

    # The number of rows is known from the footers before.
    def shrinking(*given, **options):
        for held in frames(*given, **options):
            yield held.head(len(held) - 1)

    monkeypatch.setattr(batches, "frames", shrinking)
    with pytest.raises(ValuesError, match="preds changed while it was read: it had 600 rows and then 599"):
        count_stream(batches, {}, asked_for({"score": "score"}))
