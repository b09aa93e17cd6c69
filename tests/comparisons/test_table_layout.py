"""What a table of results is taken for: predictions, summaries, rows without names and mixed scales are no results."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

import heldout
from heldout.comparisons.fold_tests import FoldValues, corrected_t
from heldout.errors import ColumnError, OptionError, ValuesError

# A comparison or ranks: which of the two comes is not for the type checker here.
compare: Any = heldout.compare

RNG = np.random.default_rng(8)
TRUTH = np.tile([0, 1], 30)
FIRST = np.where(np.arange(60) % 7 == 0, 1 - TRUTH, TRUTH)
SECOND = np.where(np.arange(60) % 4 == 0, 1 - TRUTH, TRUTH)
SCORE_1, SCORE_2 = (
    np.clip(TRUTH * 0.5 + RNG.uniform(0, 0.5, 60) - wide, 0, 1).round(4) for wide in (0.0, RNG.uniform(0, 0.4, 60))
)
A, B = [0.80, 0.82, 0.79, 0.81, 0.83], [0.85, 0.84, 0.86, 0.83, 0.80]
FOLDS = pd.DataFrame({"fold": range(1, 6), "A": A, "B": B})
SETS = pd.DataFrame({"dataset": ["iris", "wine", "glass", "sonar", "vote", "zoo"], "A": [*A, 0.7], "B": [*B, 0.9]})


# Predictions given alone


@pytest.mark.parametrize(
    ("columns", "by"),
    [
        ({"y_true": TRUTH, "model_a": FIRST, "model_b": SECOND}, "predicted"),
        ({"id": range(60), "label": TRUTH, "one": FIRST.astype(float), "two": SECOND, "weight": 1.5}, "predicted"),
        ({"truth": np.array(["no", "yes"])[TRUTH], "one": np.array(["no", "yes"])[FIRST],
          "two": np.array(["no", "yes"])[SECOND], "fold": np.arange(60) % 5}, "predicted"),
        ({"y_true": TRUTH, "model_a": SCORE_1, "model_b": SCORE_2, "patient": np.arange(60) // 2}, "score"),
    ],
    ids=["answers", "id and weight", "texts and folds", "scores"],
)  # fmt: skip
def test_a_file_of_predictions_of_several_classifiers_is_compared_as_such(columns, by, tmp_path):
    frame = pd.DataFrame(columns)
    truth, *names = [name for name in frame if name not in ("id", "weight", "fold", "patient")]
    expected = compare(frame, truth=truth, **{by: names}, measure="accuracy")
    frame.to_csv(tmp_path / "both.csv", index=False)
    for form in (frame, pl.from_pandas(frame), {name: list(frame[name]) for name in frame}, tmp_path / "both.csv"):
        found = compare(form, measure="accuracy")
        assert (found.names, found.p) == (tuple(names), expected.p)
        assert found.pairs[0].tested.n == 60
        assert f"{truth} is taken as the truth" in str(found)


@pytest.mark.parametrize(
    "columns",
    [
        {"id": range(60), "truth": TRUTH, "predicted": FIRST, "score": SCORE_1, "w": 1, "g": np.arange(60) // 3},
        {"id": range(60), "prediction": FIRST, "probability": SCORE_1},
        {"y_true": TRUTH, "y_pred": FIRST},
        {"truth": TRUTH, "label": FIRST, "other": SECOND},
        {"y_true": TRUTH, "a_pred": FIRST, "a_score": SCORE_1, "b_pred": SECOND, "b_score": SCORE_2},
        {"y_true": TRUTH, "prob_0": 1 - SCORE_1, "prob_1": SCORE_1},
        {"y_true": TRUTH, "left": 1 - SCORE_1, "right": SCORE_1},
        {"y_true": TRUTH, "a": FIRST, "age": np.arange(60)},
        {"fold": np.arange(60) % 5, "truth": TRUTH, "predicted": FIRST},
    ],
)
def test_predictions_that_may_mean_several_things_are_refused_with_the_flags(columns):
    with pytest.raises(ColumnError, match=r"predictions of cases and no results") as refused:
        compare(pd.DataFrame(columns))
    assert all(flag in refused.value.hint for flag in ("--predicted A --predicted B", "--score A", "predicted=["))


@pytest.mark.parametrize(
    ("column", "values"),
    [("weight", [10.0, 20.5, 10, 10, 10, 20]), ("y_true", [0, 1, 1, 0, 1, 0]), ("patient_id", [3, 3, 4, 4, 5, 5]),
     ("std", [0.1, 0.2, 0.1, 0.1, 0.2, 0.1]), ("mean", ((SETS.A + SETS.B) / 2).round(3))],
)  # fmt: skip
def test_columns_that_are_no_learners_by_their_names_are_refused(column, values):
    with pytest.raises(ColumnError, match=rf"no results of a learner: {column}|predictions of cases"):
        compare(SETS.assign(**{column: values}))


def test_learners_may_be_called_like_a_truth_or_a_mean():
    held = compare(SETS.rename(columns={"A": "reference", "B": "mean"}))
    assert held.names == ("reference", "mean")
    by_class = pd.DataFrame({"class": ["a", "b", "c", "d", "e"], "nb": A, "tree": B})
    assert compare(by_class).names == ("nb", "tree")
    long = pd.DataFrame({"fold": [*range(5)] * 2, "label": ["nb"] * 5 + ["tree"] * 5, "accuracy": A + B, "f1": B + A})
    assert compare(long.drop(columns="f1")).names == ("nb", "tree")


# Rows that sum up the others


@pytest.mark.parametrize(
    "called", ["mean", "Mean", "std", "AVG", "Average", "total", "sd", "median", "mean ± sd", "std. dev.", "50%"]
)
def test_rows_that_sum_up_the_others_are_left_out_aloud(called, tmp_path):
    values = {"A": [0.5], "B": [0.9]}
    splits = pd.concat([FOLDS, pd.DataFrame({"fold": [called], **values})])
    found = compare(splits, measure="accuracy")
    assert found.p == compare(FOLDS, measure="accuracy").p
    assert called in str(found)
    assert "sum up the others" in str(found)
    sets = pd.concat([SETS, pd.DataFrame({"dataset": [called], **values})])
    sets.to_csv(tmp_path / "sets.csv", index=False)
    for form in (sets, sets.set_index("dataset"), sets.set_index("dataset").to_dict(), tmp_path / "sets.csv"):
        found = compare(form, method="sign")
        assert (found.pairs[0].tested.n, found.p) == (6, compare(SETS, method="sign").p)
        assert f"neither data sets nor splits: {called}" in str(found).replace("\n  ", " ")


def test_long_tables_and_ranks_have_no_summaries_either():
    long = FOLDS.melt(id_vars="fold", var_name="learner", value_name="accuracy")
    means = pd.DataFrame({"fold": ["mean", "mean"], "learner": ["A", "B"], "accuracy": [0.5, 0.9]})
    assert compare(pd.concat([long, means])).p == compare(long).p
    ranks = compare(pd.concat([SETS, pd.DataFrame({"dataset": ["avg"], "A": [0.5], "B": [0.9]})]).assign(C=0.5))
    assert ranks.table.n == 6
    assert ranks.notes[0].startswith("Left out, ")
    # A mean that is written with its deviation is a text among numbers.
    texts = {
        "fold": [1, 2, 3, "mean"],
        "A": ["0.8", "0.9", "0.7", "0.8 ± 0.1"],
        "B": ["0.7", "0.7", "0.6", "0.67 ± 0.1"],
    }
    assert compare(texts).pairs[0].value_a == pytest.approx(0.8)


# Rows without names


def test_rows_without_names_are_neither_data_sets_nor_splits_until_that_is_said(tmp_path):
    table = {"nb": np.array(A), "tree": np.array(B)}
    frame = pd.DataFrame(table)
    frame.to_csv(tmp_path / "indexed.csv")
    frame.to_csv(tmp_path / "plain.csv", index=False)
    counted = frame.set_index(pd.Index([0, 1, 3, 4, 6]))
    forms = [
        table, frame, counted, frame.to_dict(), np.column_stack([A, B]), tmp_path / "indexed.csv",
        tmp_path / "plain.csv", frame.reset_index(), {name: pd.Series(own) for name, own in table.items()},
    ]  # fmt: skip
    expected = corrected_t(FoldValues.of(A, B, folds=5))
    for form in forms:
        with pytest.raises(OptionError, match="rows of the table have no names") as refused:
            compare(form, measure="accuracy")
        assert all(word in refused.value.hint for word in ("--splits", "splits=False", "--no-splits"))
        assert compare(form, measure="accuracy", splits=False).met == "data sets"
        assert compare(form, measure="accuracy", splits=True, test_share=0.2).p == pytest.approx(expected.p)


def test_names_of_rows_may_say_that_they_are_splits():
    expected = compare(FOLDS, measure="accuracy").p
    names = [f"fold {at}" for at in range(5)]
    for form in (
        pd.DataFrame({"A": A, "B": B}, index=names),
        pd.DataFrame({"name": names, "A": A, "B": B}),
        {"A": dict(zip(names, A, strict=True)), "B": dict(zip(names[::-1], B[::-1], strict=True))},
        {"A": pd.Series(A, names), "B": pd.Series(B, names)[::-1]},
    ):
        found = compare(form, measure="accuracy")
        assert found.met == "same splits"
        assert found.p == pytest.approx(expected)
    with pytest.raises(OptionError, match="said that rows are data sets, and the column fold"):
        compare(FOLDS, splits=False)


def test_series_are_matched_by_the_names_of_their_rows():
    table = SETS.set_index("dataset")
    shuffled = {"A": table["A"], "B": table["B"].iloc[::-1]}
    assert compare(shuffled).p == compare(SETS).p
    with pytest.raises(ValuesError, match="same labels in another order"):
        compare({"A": pd.Series(A), "B": pd.Series(B).iloc[::-1]}, splits=False)
    with pytest.raises(OptionError, match="no name in the rows 6"):
        compare(SETS.assign(dataset=[*SETS.dataset[:5], None]))


# Per cent and shares


@pytest.mark.parametrize("measure", [None, "accuracy"])
def test_per_cent_beside_shares_is_refused(measure):
    for table in (FOLDS, SETS):
        with pytest.raises(ValuesError, match="A in per cent and B as shares"):
            compare(table.assign(A=100 * table.A), measure=measure)
        both = compare(table.assign(A=100 * table.A, B=100 * table.B), measure=measure)
        assert both.p == pytest.approx(compare(table, measure=measure).p)
    with pytest.raises(ValuesError, match="some of A in per cent and some as shares"):
        compare(FOLDS.assign(A=[80, 0.82, 79, 0.81, 83]), measure=measure)


def test_costs_and_small_percentages_are_no_mix_of_scales():
    assert compare(FOLDS.assign(A=[30.0, 41, 35, 38, 44]), measure="expected_cost").pairs[0].better == "b"
    small = FOLDS.assign(A=[0.5, 0.9, 0.3, 0.8, 0.4], B=[2.1, 1.8, 1.2, 1.6, 2.5])
    assert compare(small, measure="error_rate").pairs[0].value_a == pytest.approx(0.0058)


# Splits that one of them lacks


def test_both_values_are_over_the_splits_that_are_compared():
    gap = FOLDS.assign(B=[0.85, 0.84, math.nan, 0.83, 0.80], C=[0.7, 0.71, 0.74, math.nan, 0.7])
    pair = compare(gap[["fold", "A", "B"]]).pairs[0]
    assert pair.value_a - pair.value_b == pytest.approx(pair.tested.difference, abs=1e-12)
    assert pair.value_a == pytest.approx(np.mean([0.80, 0.82, 0.81, 0.83]))
    found = compare(gap)
    for pair in found:
        assert pair.value_a - pair.value_b == pytest.approx(pair.tested.difference, abs=1e-12)
        assert pair.tested.n == (4 if "A" in (pair.a, pair.b) else 3)
    assert "1 of 5 splits (number 3), which are left out" in str(found)
    assert found.best["result"].contenders[0].value == pytest.approx(np.mean([0.80, 0.82, 0.83]))


def test_means_of_data_sets_are_over_the_splits_that_all_learners_have():
    both = pd.concat([FOLDS.assign(dataset="iris"), FOLDS.assign(dataset="wine", A=FOLDS.A - 0.1)])
    both.iloc[2, 2] = math.nan
    found = compare(both, measure="accuracy", method="sign")
    assert found.pairs[0].value_a == pytest.approx((np.mean([0.80, 0.82, 0.81, 0.83]) + np.mean(A) - 0.1) / 2)
    assert "left out of all of them: iris 1" in str(found)


# Learners by an unnamed measure, and frames of cross_validate


def test_three_learners_need_no_measure():
    found = compare(FOLDS.assign(C=[0.6, 0.62, 0.61, 0.65, 0.6]))
    assert [pair.measure for pair in found] == ["result"] * 3
    assert "C" not in found.best["result"].may_be_best
    assert all((str(found), found.to_json(), found.to_html(), found.to_latex(), found.to_markdown()))
    assert found.review["H070"].outcome == "fired"


def test_frames_of_cross_validate_are_compared_as_what_it_gave():
    given = {name: {"fit_time": [0.1] * 5, "test_score": own} for name, own in (("nb", A), ("tree", B))}
    expected = compare(given, test_share=0.2, measure="accuracy")
    for make in (pd.DataFrame, pl.DataFrame):
        frames = {name: make(own) for name, own in given.items()}
        assert compare(frames, test_share=0.2, measure="accuracy").p == expected.p
        found = compare(*frames.values(), names=["nb", "tree"], test_share=0.2, measure="accuracy")
        assert (found.p, found.names) == (expected.p, ("nb", "tree"))
    with pytest.raises(OptionError, match="return_indices"):
        compare({name: pd.DataFrame(own) for name, own in given.items()})
    described = {name: pd.concat([frame, frame.mean().to_frame("mean").T]) for name, frame in
                 ((name, pd.DataFrame(own)) for name, own in given.items())}  # fmt: skip
    assert compare(described, test_share=0.2, measure="accuracy").p == expected.p
