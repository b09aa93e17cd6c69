"""Which cases are compared: rows with missing values, weights and groups that differ, all areas from one sort."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import stats

import heldout
from heldout import files
from heldout.api import compare as front
from heldout.comparisons import delong
from heldout.comparisons.delong import delong_paired
from heldout.errors import ColumnError, FileError, OptionError, ValuesError

compare: Any = front.compare
evaluate: Any = heldout.evaluate

N = 120
RNG = np.random.default_rng(11)
TRUTH = RNG.integers(0, 2, N)
SCORES = {name: 1 / (1 + np.exp(-(2 * TRUTH - 1 + RNG.normal(0, spread, N)))) for name, spread in
          (("sharp", 1.0), ("plain", 1.5), ("blunt", 2.5))}  # fmt: skip
ANSWERS = {name: (score >= 0.5).astype(int) for name, score in SCORES.items()}
GAPS = {"sharp": (0, 7), "plain": (90, 91)}
WHOLE = np.delete(np.arange(N), [row for rows in GAPS.values() for row in rows])


def with_gaps(name, values):
    return [None if row in GAPS[name] else value for row, value in enumerate(values.tolist())]


FRAME = pl.DataFrame({
    "truth": TRUTH, "case": np.arange(N) + 7, "part": np.arange(N) % 6,
    **{name: with_gaps(name, ANSWERS[name]) for name in GAPS},
    **{f"p_{name}": with_gaps(name, SCORES[name]) for name in GAPS},
})  # fmt: skip
WANTED = compare(*(evaluate(TRUTH[WHOLE], ANSWERS[name][WHOLE], measures=[]) for name in GAPS), measures="accuracy")


def same(found, wanted=WANTED):
    pairs = found["accuracy"], wanted["accuracy"]
    assert pairs[0].tested.n == pairs[1].tested.n
    assert pairs[0].tested.difference == pytest.approx(pairs[1].tested.difference)
    assert pairs[0].p == pytest.approx(pairs[1].p)
    assert (pairs[0].value_a, pairs[0].value_b) == pytest.approx((pairs[1].value_a, pairs[1].value_b))


# Missing values


@pytest.mark.parametrize("kind", ["polars", "pandas", "dictionary", "file", "ids"])
def test_a_row_that_one_column_lacks_is_dropped_for_all_columns(kind, tmp_path):
    options: dict[str, Any] = {"truth": "truth", "predicted": ["sharp", "plain"], "missing": "drop"}
    data: Any = FRAME
    if kind == "pandas":
        data = FRAME.to_pandas()
    elif kind == "dictionary":
        data = {name: FRAME[name].to_list() for name in FRAME.columns}
    elif kind == "file":
        data = tmp_path / "both.csv"
        FRAME.write_csv(data)
    elif kind == "ids":
        options["id"] = "case"
    found = compare(data, measures="accuracy", **options)
    same(found)
    assert "4 of 120 rows were dropped from all classifiers" in " ".join(found.notes)
    assert "this one in 2" in " ".join(found.notes)


def test_columns_of_scores_lose_the_same_rows():
    found = compare(FRAME, truth="truth", score=["p_sharp", "p_plain"], missing="drop", measures="roc_auc")
    wanted = delong_paired(SCORES["sharp"][WHOLE], SCORES["plain"][WHOLE], TRUTH[WHOLE] == 1)
    pair = found["roc_auc"]
    assert (pair.tested.difference, pair.p, pair.tested.n) == pytest.approx((wanted.difference, wanted.p, N - 4))


def test_folds_keep_their_cases_when_rows_are_dropped():
    found = compare(
        FRAME, truth="truth", predicted=["sharp", "plain"], fold="part", missing="drop", measures="accuracy"
    )
    parts = np.arange(N)[WHOLE] % 6
    wanted = [
        np.mean([(ANSWERS[name] == TRUTH)[WHOLE][parts == k].mean() for k in range(6)]) for name in ("sharp", "plain")
    ]
    assert (found["accuracy"].value_a, found["accuracy"].value_b) == pytest.approx(tuple(wanted))


@pytest.mark.parametrize("kind", ["frames", "files"])
def test_files_of_as_many_rows_lose_the_same_rows(kind, tmp_path):
    sides: list[Any] = [FRAME.select("truth", predicted=name) for name in GAPS]
    if kind == "files":
        for name, side in zip(GAPS, sides, strict=True):
            side.write_csv(tmp_path / f"{name}.csv")
        sides = [tmp_path / f"{name}.csv" for name in GAPS]
    found = compare(*sides, missing="drop", measures="accuracy")
    same(found)
    assert "4 of 120 rows were dropped from all classifiers" in " ".join(found.notes)


def test_without_ids_nothing_says_which_rows_of_other_files_were_dropped():
    # As many rows are left of both, and they are not the same ones.
    longer = FRAME.select("truth", predicted="plain")
    shorter = FRAME.select("truth", predicted="sharp")[:-1]
    left = pl.concat([longer, pl.DataFrame({"truth": [None], "predicted": [1]})])
    with pytest.raises(ValuesError, match="Rows with missing values were dropped from A, B") as refused:
        compare(shorter, left, missing="drop")
    assert "--id" in refused.value.hint
    sides = [evaluate(TRUTH, with_gaps(name, ANSWERS[name]), missing="drop", measures=[]) for name in GAPS]
    with pytest.raises(ValuesError, match="Rows with missing values were dropped from A, B"):
        compare(*sides)
    assert compare(*sides, paired=False, measures="accuracy")["accuracy"].tested.n == 2 * (N - 2)


def test_different_test_sets_lose_their_own_rows_only():
    sides = [FRAME.select("truth", predicted=name) for name in GAPS]
    found = compare(*sides, missing="drop", measures="accuracy", paired=False)
    assert found.setting == "different test sets of 118, 118 cases"


def test_one_file_is_read_once(tmp_path, monkeypatch):
    path = tmp_path / "both.csv"
    FRAME.drop_nulls().write_csv(path)
    read = files.read_table
    seen = []

    def counted(place, **options):
        seen.append(place)
        return read(place, **options)

    monkeypatch.setattr("heldout.api.contestants.read_table", counted)
    monkeypatch.setattr("heldout.predictions.source.read_table", counted)
    assert len(compare(path, truth="truth", predicted=["sharp", "plain"], measures="accuracy")) == 1
    assert seen == [path]
    with pytest.raises(ColumnError, match=r"both\.csv"):
        compare(path, truth="truth", predicted=["sharp", "plan"])
    with pytest.raises(ColumnError, match=r"both\.csv"):
        compare(path, predicted=["sharp", "plain"], truth="y")
    with pytest.raises(FileError, match="nowhere"):
        compare(tmp_path / "nowhere.csv", predicted=["sharp", "plain"])


def test_columns_that_nobody_named_are_told_of_as_for_one_classifier(tmp_path):
    path = tmp_path / "both.csv"
    FRAME.drop_nulls().rename({"part": "fold", "truth": "actual"}).write_csv(path)
    found = compare(path, predicted=["sharp", "plain"], measures="accuracy")
    assert any("the column 'fold' of" in note and "was not used" in note for note in found.notes)


# Weights and groups

WEIGHT = RNG.uniform(0.5, 2, N)
TEAMS = np.arange(N) // 4


def scored(name, **options):
    return evaluate(TRUTH, score=SCORES[name], measures=[], **options)


@pytest.mark.parametrize(
    ("one", "two", "text"),
    [
        ({"weight": WEIGHT}, {"weight": WEIGHT[::-1].copy()}, "do not agree on the weights"),
        ({"weight": WEIGHT}, {}, "The cases of A have weights, and those of B do not"),
        ({}, {"group": TEAMS}, "The cases of B come in groups, and those of A do not"),
        ({"group": TEAMS}, {"group": np.arange(N) % 30}, "do not agree on the groups"),
        ({"group": TEAMS}, {"group": TEAMS // 2}, "do not agree on the groups"),
    ],
)
def test_weights_and_groups_must_be_those_of_both(one, two, text):
    for sides in (("sharp", "blunt"), ("blunt", "sharp")):
        with pytest.raises((OptionError, ValuesError), match=text):
            compare(scored(sides[0], **one), scored(sides[1], **two), measures="roc_auc")


def test_the_same_weights_and_groups_in_another_order_are_the_same():
    order = RNG.permutation(N)
    one = scored("sharp", weight=WEIGHT, group=TEAMS, id=np.arange(N))
    two = evaluate(
        TRUTH[order], score=SCORES["blunt"][order], weight=WEIGHT[order], group=[f"team {x}" for x in TEAMS[order]],
        id=order, measures=[],
    )  # fmt: skip
    pair = compare(one, two, measures="roc_auc")["roc_auc"]
    wanted = delong_paired(SCORES["sharp"], SCORES["blunt"], TRUTH == 1, weight=WEIGHT, groups=TEAMS)
    assert (pair.tested.difference, pair.p) == pytest.approx((wanted.difference, wanted.p))


def test_weights_are_refused_where_no_test_knows_of_them():
    sides = [scored(name, weight=WEIGHT) for name in ("sharp", "blunt")]
    with pytest.raises(OptionError, match="compared without weights, and these have some: A, B") as refused:
        compare(*sides, paired=False, measures="roc_auc")
    assert "accuracy" in refused.value.hint
    assert len(compare(*sides, paired=False, measures="accuracy")) == 1
    with pytest.raises(OptionError, match="ROC curves are compared without weights") as refused:
        compare(*sides, measures="roc_auc").roc()
    assert "roc_auc" in refused.value.hint


# All areas at once


@pytest.mark.parametrize("method", [None, "delong-mover"])
@pytest.mark.parametrize("options", [{}, {"weight": WEIGHT}, {"group": TEAMS}])
def test_three_areas_have_the_figures_of_every_two(method, options):
    three = compare({name: scored(name, **options) for name in SCORES}, measures=["roc_auc", "gini"], method=method)
    turned = compare(
        {name: scored(name, **options) for name in SCORES}, measures="roc_auc", control="sharp", method=method
    )
    for pair in (*three, *turned):
        two = compare(scored(pair.a, **options), scored(pair.b, **options), measures=pair.measure, method=method)
        ours, theirs = pair.tested, two[pair.measure].tested
        assert (ours.method, ours.n, ours.note, ours.interval_method) == (
            theirs.method, theirs.n, theirs.note, theirs.interval_method
        )  # fmt: skip
        for figure in ("difference", "low", "high", "p", "statistic"):
            assert getattr(ours, figure) == pytest.approx(getattr(theirs, figure), rel=1e-9, abs=1e-12), figure
    assert [(pair.a, pair.b) for pair in turned] == [("plain", "sharp"), ("blunt", "sharp")]


@pytest.mark.parametrize("method", [None, "DeLong_mover", "delong mover"])
def test_every_model_is_sorted_once_for_all_pairs(monkeypatch, method):
    sorts = []
    placed = delong.case_placements

    def counted(*given):
        sorts.append(len(given))
        return placed(*given)

    monkeypatch.setattr(delong, "case_placements", counted)
    many = {str(place): scored(name) for place, name in enumerate([*SCORES] * 2)}
    assert len(compare(many, measures="roc_auc", method=method)) == 15
    # Once for the pairs, and once for all together.
    assert len(sorts) <= 2 * len(many)


def test_all_areas_together_by_the_published_formula():
    found = compare({name: scored(name) for name in SCORES}, measures="roc_auc")
    above, below = TRUTH == 1, TRUTH == 0
    heads = [
        (s[above][:, None] > s[below][None, :]) + 0.5 * (s[above][:, None] == s[below][None, :])
        for s in SCORES.values()
    ]
    areas = np.array([won.mean() for won in heads])
    spread = np.cov([won.mean(axis=1) for won in heads]) / above.sum() + np.cov(
        [won.mean(axis=0) for won in heads]
    ) / below.sum()  # fmt: skip
    contrast = np.array([[1, -1, 0], [0, 1, -1]])
    gap = contrast @ areas
    statistic = gap @ np.linalg.solve(contrast @ spread @ contrast.T, gap)
    (test,) = found.omnibus
    assert (test.method, test.df, test.n) == ("delong", 2, N)
    assert test.statistic == pytest.approx(statistic)
    assert test.p == pytest.approx(stats.chi2.sf(statistic, 2))
    assert "The areas under the ROC curves (roc_auc[1]), by delong" in " ".join(str(found).split())
    assert found.to_dict()["omnibus"][0]["about"] == "the areas under the ROC curves (roc_auc[1])"


def test_what_the_tests_of_all_are_about_is_said():
    found = compare({name: scored(name) for name in SCORES}, measures=["macro f1", "roc_auc"])
    assert [test.method for test in found.omnibus] == ["cochran", "delong"]
    assert "Right and wrong predictions (accuracy), by cochran" in " ".join(str(found).split())
    assert compare(scored("sharp"), scored("blunt")).omnibus == ()


def test_areas_of_one_class_only_say_why_there_is_no_test():
    truth = np.ones(30, dtype=int)
    sides = [evaluate(truth, score=RNG.uniform(size=30), labels=[0, 1], measures=[]) for _ in range(3)]
    found = compare(*sides, measures="roc_auc")
    assert math.isnan(found.omnibus[0].p)
    assert "cannot be compared together" in " ".join(str(found).split())


def test_pandas_columns_of_other_indexes_are_matched_by_their_rows():
    frame = pd.DataFrame(FRAME.to_dict(as_series=False), index=np.arange(N)[::-1])
    same(compare(frame, truth="truth", predicted=["sharp", "plain"], missing="drop", measures="accuracy"))
