"""The hardest cases are those that sorting all of them by hand puts first, under the row numbers of the data."""

from __future__ import annotations

import math

import numpy as np
import polars as pl
import pytest

from heldout import evaluate
from heldout.errors import OptionError
from heldout.results import cases
from heldout.show.blocks import Number, Table


def binary(n=500, seed=0):
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, 2, n)
    return truth, np.clip(0.3 + 0.4 * truth + rng.normal(0, 0.3, n), 0.01, 0.99).round(2)


@pytest.mark.parametrize("block", [1 << 16, 7])
@pytest.mark.parametrize("threshold", [0.5, 0.3])
def test_binary_cases_are_ranked_as_by_sorting(threshold, block, monkeypatch):
    monkeypatch.setattr(cases, "BLOCK", block)
    truth, score = binary()
    found = evaluate(truth, score=score, threshold=threshold).hardest(15)
    predicted = (score >= threshold).astype(int)
    for_truth, for_predicted = (np.where(side == 1, score, 1 - score) for side in (truth, predicted))
    wrong = np.flatnonzero(truth != predicted)
    sure = wrong[np.argsort(-for_predicted[wrong], kind="stable")[:15]]
    hard = np.argsort(for_truth, kind="stable")[:15]
    assert [case.row for case in found.of("confidently wrong")] == (sure + 1).tolist()
    assert [case.row for case in found.of("hardest")] == (hard + 1).tolist()
    assert [case.loss for case in found.of("hardest")] == pytest.approx((-np.log(for_truth[hard])).tolist())
    assert [case.score for case in found.of("hardest")] == pytest.approx(score[hard].tolist())
    assert (found.wrong, found.n) == (len(wrong), 500)
    assert all(case.truth != case.predicted for case in found.of("confidently wrong"))


@pytest.mark.parametrize(("classes", "lists"), [(2, 1), (3, 2)])
def test_no_case_is_listed_twice(classes, lists):
    rng = np.random.default_rng(1)
    truth = rng.integers(0, classes, 300)
    score = rng.dirichlet([1.0] * classes, 300) + 0.2 * np.eye(classes)[truth]
    score /= score.sum(axis=1, keepdims=True)
    blocks = evaluate(truth, score=score if classes > 2 else score[:, 1]).hardest(15).blocks()
    tables = [block for block in blocks if isinstance(block, Table)]
    rows = [row[0].value for table in tables for row in table.rows if isinstance(row[0], Number)]
    assert len(rows) == len(set(rows)) >= 15
    # Of two classes the two lists are one.
    assert len(tables) == lists


@pytest.mark.parametrize("logits", [False, True])
def test_cases_of_several_classes_are_ranked_as_by_sorting(logits):
    rng = np.random.default_rng(1)
    truth = rng.integers(0, 3, 300)
    values = rng.normal(size=(300, 3)) + 1.5 * np.eye(3)[truth]
    score = values if logits else np.exp(values) / np.exp(values).sum(axis=1, keepdims=True)
    found = evaluate(truth, score=score).hardest(10)
    predicted = score.argmax(axis=1)
    at = np.arange(300)

    def support(side):
        own = score[at, side]
        others = score.copy()
        others[at, side] = -np.inf
        return own - others.max(axis=1) if logits else own

    wrong = np.flatnonzero(truth != predicted)
    sure = wrong[np.argsort(-support(predicted)[wrong], kind="stable")[:10]]
    hard = np.argsort(support(truth), kind="stable")[:10]
    assert [case.row for case in found.of("confidently wrong")] == (sure + 1).tolist()
    assert [case.row for case in found.of("hardest")] == (hard + 1).tolist()
    assert [case.score for case in found.of("hardest")] == pytest.approx(score[hard, predicted[hard]].tolist())


def test_decision_values_are_measured_from_the_threshold():
    found = evaluate([0, 1, 1, 0], score=[3.0, -5.0, 2.0, -1.0], threshold=1.0).hardest()
    assert [(case.row, case.loss) for case in found.of("hardest")][:2] == [(2, 6.0), (1, 2.0)]


def test_row_numbers_are_those_of_the_file_when_rows_were_dropped(tmp_path):
    truth, score = binary(60)
    held = pl.DataFrame(
        {"y_true": truth, "score": score, "id": [f"case {i}" for i in range(60)], "sex": ["f", "m"] * 30}
    )
    gaps = pl.DataFrame({"i": range(60)}).select((pl.col("i") % 7 == 3).alias("gap"))["gap"]
    lost = held.with_columns(pl.when(gaps).then(None).otherwise(pl.col("y_true")).alias("y_true"))
    lost.write_csv(tmp_path / "cases.csv")
    found = evaluate(tmp_path / "cases.csv", id="id", slices="sex", missing="drop").hardest()
    assert found.cases
    for case in found.cases:
        at = case.row - 1
        assert (case.id, case.truth, case.slices) == (f"case {at}", truth[at], (("sex", "fm"[at % 2]),))
        assert case.score == pytest.approx(score[at])


def test_without_scores_the_reason_is_given():
    for found in (evaluate([0, 1], [0, 0]).hardest(), evaluate(matrix=[[3, 1], [0, 2]]).hardest()):
        assert found.cases == ()
        assert found.unavailable
        assert found.unavailable in str(found).replace("\n  ", " ")
        assert found.rows() == []


def test_a_probability_of_zero_for_what_came_true_is_an_infinite_loss():
    found = evaluate([1, 0, 1], score=[0.0, 0.2, 0.9]).hardest()
    assert found.of("hardest")[0].loss == math.inf
    assert found.to_dict()["cases"][0]["value"] == "Infinity"


def test_nothing_wrong_is_said_so():
    found = evaluate([0, 1], score=[0.1, 0.9]).hardest()
    assert found.of("confidently wrong") == ()
    assert "0 of 2 cases are wrong" in str(found)
    with pytest.raises(OptionError, match="most"):
        evaluate([0, 1], score=[0.1, 0.9]).hardest(0)


def test_any_label_can_be_shown(tmp_path):
    hostile = "<script>alert(1)</script>"
    found = evaluate([hostile, "b"], score=[0.9, 0.1], positive="b", slices={hostile: [hostile, "=cmd()"]}).hardest()
    for ending in ("html", "md", "tex", "csv", "json"):
        text = found.write(tmp_path / f"cases.{ending}").read_text(encoding="utf-8")
        assert "<script>alert" not in text or ending in ("csv", "json", "tex")
