"""Evidence that grows batch by batch: the same as counting all rows at once, whatever the batches are."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa  # type: ignore[import-untyped, unused-ignore]
import pytest

import heldout
from heldout.engines import accumulator, row_buffer
from heldout.engines.accumulator import Evidence
from heldout.engines.memory import counted
from heldout.errors import ColumnError, HeldoutError, LabelError, MatrixError, OptionError, ValuesError
from heldout.predictions.source import gather

RNG = np.random.default_rng(5)
N = 300
TRUTH = RNG.choice(["no", "yes"], N)
SCORE = np.round(np.where(TRUTH == "yes", RNG.beta(4, 2, N), RNG.beta(2, 4, N)), 2)
PREDICTED = np.where(SCORE > 0.4, "yes", "no")
COLUMNS = {
    "weight": RNG.integers(1, 9, N) / 8,
    "group": RNG.integers(0, 20, N),
    "fold": RNG.integers(1, 4, N),
}
SLICES = {"sex": RNG.choice(["f", "m"], N), "age": RNG.choice([20, 30, 100], N)}
ROLES = ("predicted", "weight", "group", "fold")


def at_once(truth, *, score=None, slices=None, missing="refuse", labels=None, positive=None, threshold=None, **roles):
    options = {"missing": missing, "labels": labels, "positive": positive, "threshold": threshold}
    predictions = gather(truth, roles, score=score, slices=slices, **options)[0]
    return counted(predictions, pairs=slices is not None and len(slices) > 1)


def cut(values, rows):
    return {name: column[rows] for name, column in values.items()}


def batches(size):
    return [slice(start, start + size) for start in range(0, N, size)]


@pytest.mark.parametrize("size", [1, 7, 100, N])
@pytest.mark.parametrize("with_predicted", [False, True])
def test_batches_of_any_size_are_the_whole(size, with_predicted):
    seen = Evidence()
    for rows in batches(size):
        predicted = PREDICTED[rows] if with_predicted else None
        found = seen.update(TRUTH[rows], predicted, score=SCORE[rows], slices=cut(SLICES, rows), **cut(COLUMNS, rows))
        assert found is seen
    roles = {**COLUMNS, "predicted": PREDICTED} if with_predicted else COLUMNS
    whole = at_once(TRUTH, score=SCORE, slices=SLICES, **roles)
    assert whole.differing(seen.counted, relative=1e-12) == ()
    assert (seen.n, seen.labels) == (N, ("no", "yes"))
    assert seen.matrix.tolist() == seen.confusion.matrix.tolist() == whole.confusion.matrix.tolist()


def test_rows_are_counted_together_and_not_batch_by_batch(monkeypatch):
    times: list[int] = []
    count = row_buffer.BufferedCounts._count

    def counting(self, parts):
        times.append(len(parts))
        count(self, parts)

    monkeypatch.setattr(row_buffer.BufferedCounts, "_count", counting)
    monkeypatch.setattr(row_buffer, "ROWS_AT_ONCE", 100)
    seen = Evidence()
    for rows in batches(5):
        seen.update(TRUTH[rows], score=SCORE[rows])
        # What waits does not grow with the cases.
        assert seen._grown.waiting_rows < 100
    assert times == [20, 20, 20]
    assert at_once(TRUTH, score=SCORE).differing(seen.counted, relative=1e-12) == ()


TABLES = {
    "dictionary": lambda columns: columns,
    "dictionary of lists": lambda columns: {name: list(column) for name, column in columns.items()},
    "pandas": pd.DataFrame,
    "polars": pl.DataFrame,
    "arrow": pa.table,
}


@pytest.mark.parametrize("make", TABLES.values(), ids=TABLES)
def test_batches_may_be_tables_whose_columns_are_named_or_guessed(make):
    named, guessed = Evidence(), Evidence()
    for rows in batches(50):
        frame = make({"y": TRUTH[rows], "p": SCORE[rows], **cut(SLICES, rows), **cut(COLUMNS, rows)})
        named.update(frame, truth="y", score="p", weight="weight", group="group", fold="fold", slices=["sex", "age"])
        guessed.update(make({"label": TRUTH[rows], "score": SCORE[rows]}))
    assert at_once(TRUTH, score=SCORE, slices=SLICES, **COLUMNS).differing(named.counted, relative=1e-12) == ()
    assert at_once(TRUTH, score=SCORE).differing(guessed.counted, relative=1e-12) == ()


@pytest.mark.parametrize("score", [None, SCORE])
def test_arrays_that_are_filled_anew_do_no_harm(score):
    truth, other, seen = np.empty(10, dtype=object), np.empty(10), Evidence()
    for rows in batches(10):
        truth[:], other[:] = TRUTH[rows], SCORE[rows]
        seen.update(truth, truth if score is None else None, score=None if score is None else other)
    truth[:], other[:] = "no", 0.0
    whole = at_once(TRUTH, predicted=TRUTH) if score is None else at_once(TRUTH, score=SCORE)
    assert whole.differing(seen.counted, relative=1e-12) == ()


def test_a_batch_of_one_class_waits_for_the_other():
    order = np.argsort(TRUTH, kind="stable")
    seen = Evidence()
    buffer = np.empty(10)
    for rows in np.array_split(order, 30):
        buffer[: len(rows)] = SCORE[rows]
        seen.update(TRUTH[rows], score=buffer[: len(rows)])
    assert at_once(TRUTH[order], score=SCORE[order]).differing(seen.counted, relative=1e-12) == ()


def test_asking_in_between_settles_nothing():
    seen = Evidence().update(["no", "no"], ["no", "no"], score=[0.1, 0.2])
    assert seen.counted.positive == "yes"
    assert seen.n == 2
    with pytest.raises(OptionError, match="which of maybe, no"):
        seen.update(["maybe", "no"], ["maybe", "no"], score=[0.8, 0.2])
    assert seen.update(["yes"], ["yes"], score=[0.9]).counted.positive == "yes"
    assert seen.n == 3


def test_where_the_other_class_cannot_be_known_it_must_be_named():
    seen = Evidence().update(["cat"] * 2, ["cat"] * 2, score=[0.1, 0.2])
    with pytest.raises(LabelError, match="All 2 cases so far are of class 'cat'") as caught:
        _ = seen.counted
    assert "labels=" in caught.value.hint
    assert "positive=" in caught.value.hint
    named = [
        Evidence(labels=["cat", "dog"], positive="dog").update(["cat"], score=[0.1]),
        Evidence(positive="dog").update(["cat"], score=[0.1]),
        Evidence(positive="dog").update(["cat"], score=[0.1]).update(["dog"], score=[0.7]),
        Evidence(positive="dog").update(["dog"], score=[0.7]).update(["cat"], score=[0.1]),
    ]
    assert [one.counted.positive for one in named] == ["dog"] * 4
    assert named[2].counted.differing(named[3].counted, relative=1e-12) == ()
    with pytest.raises(OptionError, match="which of cat, dog"):
        seen.update(["dog"], ["dog"], score=[0.7])
    assert repr(seen) == "<heldout.Evidence of 2 rows>"


def test_what_waits_has_an_end(monkeypatch):
    monkeypatch.setattr(accumulator, "MOST_WAITING", 10)
    seen = Evidence()
    for _ in range(2):
        seen.update(["cat"] * 4, ["cat"] * 4, score=[0.5] * 4)
    with pytest.raises(LabelError, match="All 12 cases so far are of class 'cat'"):
        seen.update(["cat"] * 4, ["cat"] * 4, score=[0.5] * 4)
    assert repr(seen) == "<heldout.Evidence of 8 rows>"
    usual = Evidence()
    for _ in range(5):
        usual.update([0] * 4, [0] * 4, score=[0.5] * 4)
    assert usual.n == 20
    assert usual.counted.positive == 1
    assert not usual._unsettled


NAN = float("nan")
# Batches of one class: good ones that wait for the other classes, and then one that nothing can make good.
FAULTS: dict[str, tuple[list[dict[str, Any]], dict[str, Any], str]] = {
    "lengths": ([], {"data": ["yes"], "score": [0.9, 0.1]}, "truth has 1, score has 2"),
    "a missing score": ([], {"data": ["yes", "yes"], "score": [0.9, NAN]}, "score in 1; it is row 2"),
    "a missing score of three": ([], {"data": ["a"], "score": [[0.5, 0.5, NAN]]}, "score in 1; it is row 1"),
    "an infinite score": ([], {"data": ["yes"], "score": [np.inf]}, "1 score is not finite"),
    "no threshold": ([], {"data": ["yes"], "score": [5.0]}, "no natural threshold"),
    "a weight below 0": ([], {"data": ["yes"], "score": [0.9], "weight": [-1]}, "Row 1 has -1"),
    "slices too long": ([], {"data": ["yes"], "score": [0.9], "slices": {"s": ["x", "y"]}}, "column 's' has 2"),
    "no such column": ([], {"data": {"truth": ["yes"], "score": [0.9]}, "slices": "s"}, "no column 's'"),
    "no scores": (
        [{"data": ["yes"], "score": [0.9]}],
        {"data": ["no"], "predicted": ["no"]},
        "have scores, this one has not",
    ),
    "no scores in a table": (
        [{"data": {"truth": ["yes"], "score": [0.9]}}],
        {"data": {"truth": ["no"], "predicted": ["no"]}},
        "have scores, this one has not",
    ),
    "weights": (
        [{"data": ["yes"], "score": [0.9]}],
        {"data": ["yes"], "score": [0.9], "weight": [1]},
        "This batch has weights",
    ),
    "another slice": (
        [{"data": ["yes"], "score": [0.9], "slices": {"s": ["x"]}}],
        {"data": ["yes"], "score": [0.9]},
        "have the slice column 's'",
    ),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_faulty_batch_of_one_class_is_refused_when_it_comes(fault):
    before, wrong, said = FAULTS[fault]
    seen, sound = Evidence(), Evidence()
    for given in before:
        seen.update(**given)
        sound.update(**given)
    with pytest.raises(HeldoutError) as caught:
        seen.update(**wrong)
    assert said in caught.value.what
    assert repr(seen) == repr(sound)
    # What comes then is counted as if the faulty batch had never been there.
    slices = [given["slices"] for given in before if "slices" in given]
    good: dict[str, Any] = {"data": ["no", "yes"], "score": [0.2, 0.7]}
    if slices:
        good["slices"] = {"s": ["x", "y"]}
    if "of three" in fault:
        good = {"data": ["a", "b", "c"], "score": [[0.5, 0.3, 0.2]] * 3}
    assert seen.update(**good) == sound.update(**good)
    assert heldout.evaluate(seen).n == heldout.evaluate(sound).n


@pytest.mark.parametrize(
    ("first", "second", "options"),
    [
        ({"data": {"t": [0], "p_0": [0.5], "p_1": [0.4], "p_2": [0.1]}, "truth": "t"}, [0, 1, 2], {}),
        ({"data": {"t": ["cat"], "predicted": ["cat"], "p_dog": [0.1]}, "truth": "t"}, ["dog"], {}),
        ({"data": {"t": ["cat"], "p_dog": [0.1]}, "truth": "t", "score": "p_dog"}, ["dog"], {"positive": "dog"}),
        ({"data": {"t": ["no"], "predicted": ["no"], "p_no": [0.1]}, "truth": "t"}, ["yes"], {}),
        ({"data": {"t": ["was_negative"], "score": [0.1]}, "truth": "t"}, ["was_positive"], {}),
        ({"data": {"t": [None], "score": [0.1]}, "truth": "t"}, ["yes", "no"], {"positive": "yes", "missing": "drop"}),
    ],
    ids=["a column for each class", "of another class", "of the one named", "of the first", "by its end", "no class"],
)
def test_a_sound_batch_may_wait_for_any_classes(first, second, options):
    data = {name: [column[0]] * len(second) for name, column in first["data"].items()} | {"t": second}
    data |= {"predicted": second} if "predicted" in data else {}
    seen = Evidence(**options).update(**first).update(**{**first, "data": data})
    assert seen.counted.rows == 1 + len(second)


def test_batches_that_wait_are_looked_at_once(monkeypatch):
    sizes = []
    size = accumulator.Batch.size

    def record_size(batch: accumulator.Batch) -> int:
        sizes.append(size(batch))
        return sizes[-1]

    monkeypatch.setattr(accumulator.Batch, "size", record_size)
    seen = Evidence()
    for _ in range(100):
        seen.update([1], score=[0.3])
    assert repr(seen) == "<heldout.Evidence of 100 rows>"
    assert len(sizes) <= 200


def test_a_third_class_beside_one_score_is_refused_and_named():
    seen = Evidence().update([0, 1], score=[0.1, 0.7])
    with pytest.raises(
        LabelError, match="The scores speak for 1, one of the classes 0, 1, and this batch has others: -1"
    ):
        seen.update([-1, 1], score=[0.1, 0.7])
    assert seen.update([1], score=[0.6]).n == 3


def test_without_scores_labels_that_come_later_join():
    seen = Evidence().update(["no", "yes"], ["no", "no"])
    two, three = seen.counted, seen.update(["maybe"], ["no"]).counted
    assert (two.labels, two.positive) == (("no", "yes"), "yes")
    assert (three.labels, three.positive) == (("maybe", "no", "yes"), None)
    with pytest.raises(LabelError, match="leave out classes that occur"):
        Evidence(labels=["no", "yes"]).update(["maybe"], ["no"])


def test_scores_of_every_class_wait_until_all_classes_were_met():
    truth = np.array(["a", "a", "b", "b", "c", "a"])
    table = RNG.dirichlet(np.ones(3), 6)
    seen, named = Evidence(), Evidence(labels=["a", "b", "c"])
    for at in range(6):
        seen.update(truth[at : at + 1], score=table[at : at + 1])
        named.update(truth[at : at + 1], score=table[at : at + 1])
        if at == 3:
            with pytest.raises(
                LabelError, match="3 columns of scores, and the 4 cases so far show 2 classes: 'a', 'b'"
            ):
                _ = seen.counted
    whole = at_once(truth, score=table)
    assert whole.differing(seen.counted, relative=1e-12) == ()
    assert whole.differing(named.counted, relative=1e-12) == ()
    with pytest.raises(HeldoutError, match="3 columns of scores and 4 classes"):
        seen.update(["d"], score=table[:1])


def test_scores_that_stop_being_probabilities_lose_their_losses():
    seen = Evidence().update(["no", "yes"], ["no", "yes"], score=[0.1, 0.7])
    scores = seen.counted.scores
    assert scores is not None
    assert scores.probabilities is not None
    seen.update(["no", "yes"], ["no", "yes"], score=[-3.0, 0.5])
    whole = at_once(["no", "yes"] * 2, predicted=["no", "yes"] * 2, score=[0.1, 0.7, -3.0, 0.5])
    assert seen.counted == whole
    assert whole.scores is not None
    assert whole.scores.not_probability == "the scores run from -3 to 0.7"
    with pytest.raises(OptionError, match="no natural threshold"):
        Evidence().update(["no", "yes"], score=[0.1, 0.7]).update(["no", "yes"], score=[-3.0, 0.5])


@pytest.mark.parametrize("size", [1, 4, 30])
def test_rows_without_a_value_are_counted_as_in_one_piece(size):
    n = min(30 * size, N)
    truth = [None if at % 7 == 0 else str(value) for at, value in enumerate(TRUTH[:n].tolist())]
    score = np.where(np.arange(N) % 5 == 0, np.nan, SCORE)[:n]
    seen = Evidence(missing="drop")
    for rows in [slice(start, start + size) for start in range(0, n, size)]:
        seen.update(truth[rows], PREDICTED[:n][rows], score=score[rows])
    whole = at_once(truth, predicted=PREDICTED[:n], score=score, missing="drop")
    assert whole.lost > 0
    assert whole.differing(seen.counted, relative=1e-12) == ()
    notes = [heldout.evaluate(given).notes for given in (seen, whole)]
    assert notes[0] == notes[1]
    with pytest.raises(ValuesError, match="has a missing value"):
        Evidence().update(truth[:7], PREDICTED[:7])


def test_nothing_but_rows_that_were_left_out_is_nothing():
    seen = Evidence(missing="drop").update([None, None], [1, 0])
    with pytest.raises(ValuesError, match="Every one of the 2 rows has a missing value: truth in 2"):
        _ = seen.counted
    with pytest.raises(ValuesError, match="no batch was counted"):
        _ = Evidence().counted
    assert seen.update([1, 0], [1, 0]).counted.rows == 4


def test_after_an_error_everything_is_as_before():
    seen = Evidence().update(TRUTH, score=SCORE, slices=SLICES)
    before = seen.counted
    wrong: list[dict[str, Any]] = [
        {"score": SCORE},
        {"predicted": PREDICTED, "slices": SLICES},
        {"score": SCORE, "slices": SLICES, "weight": COLUMNS["weight"]},
        {"score": SCORE, "slices": SLICES, "group": COLUMNS["group"]},
        {"score": SCORE, "slices": SLICES, "fold": COLUMNS["fold"]},
        {"score": SCORE, "slices": {"sex": SLICES["sex"]}},
        {"score": SCORE, "slices": {**SLICES, "city": SLICES["sex"]}},
        {"score": np.full(N, np.inf), "slices": SLICES},
        {"score": SCORE[1:], "slices": SLICES},
        {"score": SCORE, "slices": SLICES, "predicted": PREDICTED},
    ]
    for given in wrong:
        with pytest.raises(HeldoutError) as caught:
            seen.update(TRUTH, **given)
        assert caught.value.hint
        assert seen.counted == before
    with pytest.raises(LabelError, match="labels of text"):
        Evidence().update(["a", "b"], ["a", "b"]).update([0, 1], [0, 1])


def test_numbers_are_slices_while_they_are_few():
    seen = Evidence()
    for low in (0, 4, 5):
        seen.update([0, 1] * 2, [0, 1] * 2, slices={"age": np.arange(low, low + 4)})
    assert seen.counted.slices[0].labels == tuple(map(str, range(9)))
    for ages in ([9, 10, 11, 12], range(100, 140)):
        with pytest.raises(ColumnError, match="'age' has more than 10 different numbers or dates") as caught:
            seen.update([0, 1] * (len(ages) // 2), [0, 1] * (len(ages) // 2), slices={"age": np.array(ages)})
        assert "bins first" in caught.value.hint
    days = [f"2026-01-{day:02}" for day in range(1, 13)]
    with pytest.raises(ColumnError, match="numbers or dates"):
        Evidence().update([0, 1] * 3, [0, 1] * 3, slices={"day": days[:6]}).update(
            [0, 1] * 3, [0, 1] * 3, slices={"day": days[6:]}
        )
    # Texts of digits are texts.
    months = Evidence().update([0, 1] * 6, [0, 1] * 6, slices={"month": [f"{month:02}" for month in range(1, 13)]})
    assert len(months.counted.slices[0].labels) == 12


def test_texts_are_slices_while_they_are_few():
    seen = Evidence()
    for start in range(0, 50, 10):
        seen.update([0, 1] * 5, [0, 1] * 5, slices={"city": [f"city {at}" for at in range(start, start + 10)]})
    with pytest.raises(ColumnError, match="more than 50 different texts"):
        seen.update([0, 1], [0, 1], slices={"city": ["city 7", "city 50"]})
    assert len(seen.counted.slices[0].labels) == 50
    with pytest.raises(OptionError, match="cannot be told from one batch"):
        Evidence().update({"y": [0, 1], "pred": [0, 1], "sex": ["f", "m"]}, slices="all")


def test_single_and_double_precision_are_not_mixed():
    parts = [SCORE[:150].astype(np.float32), SCORE[150:]]
    seen = Evidence().update(TRUTH[:150], score=parts[0]).update(TRUTH[150:], score=parts[1])
    whole = at_once(TRUTH[:150], score=parts[0]) + at_once(TRUTH[150:], score=parts[1])
    assert whole.differing(seen.counted, relative=1e-12) == ()


def test_evidence_adds_up():
    parts = [Evidence().update(TRUTH[rows], score=SCORE[rows]) for rows in batches(100)]
    before = parts[0].counted
    whole = at_once(TRUTH, score=SCORE)
    for added in (
        sum(parts, Evidence()),
        parts[0] + (parts[1] + parts[2]),
        Evidence() + parts[2] + parts[1] + parts[0],
    ):
        assert whole.differing(added.counted, relative=1e-12) == ()
    assert parts[0].counted == before
    both = parts[0] + parts[1]
    both.update(TRUTH[200:], score=SCORE[200:])
    assert whole.differing(both.counted, relative=1e-12) == ()
    assert parts[1].n == 100
    with pytest.raises(TypeError):
        parts[0] + 1
    assert parts[0] != 1


def test_what_waits_is_settled_by_the_other_side():
    waiting = Evidence(positive=None).update(["no"], ["no"], score=[0.1])
    settled = Evidence(positive="no").update(["no", "sure"], ["no", "sure"], score=[0.7, 0.2])
    for both in (waiting + settled, settled + waiting):
        assert both.counted.positive == "no"
        assert both.n == 3
    with pytest.raises(MatrixError, match="'no' on one side and 'sure' on the other"):
        settled + Evidence(positive="sure").update(["no", "sure"], ["no", "sure"], score=[0.7, 0.2])


def test_evidence_is_saved_loaded_and_goes_on(tmp_path):
    place = tmp_path / "half.evidence"
    Evidence(threshold=0.3).update(TRUTH[:100], score=SCORE[:100], slices=cut(SLICES, slice(100))).save(place)
    seen = Evidence.load(place)
    seen.update(TRUTH[100:], score=SCORE[100:], slices=cut(SLICES, slice(100, None)))
    whole = at_once(TRUTH, score=SCORE, slices=SLICES, threshold=0.3)
    assert whole.differing(seen.counted, relative=1e-12) == ()


def test_evidence_is_evaluated_as_rows_are():
    seen = Evidence()
    for rows in batches(64):
        seen.update(TRUTH[rows], score=SCORE[rows])
    rows = heldout.evaluate(TRUTH, score=SCORE)
    found = heldout.evaluate(seen)
    for name in ("accuracy", "roc_auc", "average_precision", "brier", "log_loss"):
        one, two = rows[name], found[name]
        assert (one.value, one.low, one.high) == pytest.approx((two.value, two.low, two.high), rel=1e-12)


@pytest.mark.parametrize(
    ("make", "error"),
    [
        (lambda: Evidence(missing="ignore"), OptionError),  # type: ignore[arg-type]
        (lambda: Evidence(labels="yes"), LabelError),
        (lambda: Evidence(threshold=float("nan")), OptionError),
        (lambda: Evidence(threshold=0.5).update([0, 1], [0, 1]), OptionError),
        (lambda: Evidence().update(), HeldoutError),
        (lambda: Evidence().update([0, 1]), OptionError),
        (lambda: Evidence().update("y", "p"), HeldoutError),
        (lambda: Evidence().update({"y": [0, 1]}, truth="x", predicted="y"), ColumnError),
    ],
)
def test_calls_that_make_no_sense_are_refused(make, error):
    with pytest.raises(error) as caught:
        make()
    assert caught.value.hint


def test_ids_beside_folds_are_not_kept_and_that_is_said():
    seen = Evidence()
    for at in (1, 2):
        seen.update({"y": [0, 1], "pred": [0, 1], "id": [1, 2], "part": [at, at]}, fold="part")
    assert any("ids are not kept" in note for note in seen.counted.notes)
    with pytest.raises(ValuesError, match="stands in 2 rows"):
        Evidence().update({"y": [0, 1], "pred": [0, 1], "id": [1, 1], "part": [1, 2]}, fold="part")


@pytest.mark.parametrize("scored", [False, True])
@pytest.mark.parametrize("order", [(1, 0), (0, 1)])
def test_two_positive_classes_are_refused_with_scores_and_without(scored, order):
    truth, predicted, score = [0, 1, 1, 0, 1], [0, 1, 0, 0, 1], [0.1, 0.9, 0.4, 0.2, 0.8]
    rows: dict[str, Any] = {"score": score} if scored else {"predicted": predicted}
    first, second = (heldout.count(truth, positive=label, **rows) for label in order)
    with pytest.raises(
        HeldoutError, match=f"The positive class is {order[0]} on one side and {order[1]} on the other."
    ):
        first + second
    # A part that shows one class, or others, does not say which is positive.
    assert (heldout.count(truth, predicted, positive=0) + heldout.count([0, 0], [0, 0])).counted.positive == 0
