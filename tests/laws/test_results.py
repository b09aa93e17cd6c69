"""Laws of answers: rows, documents, numbers and seeds are alike for every estimate of every evaluation."""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.laws.catalogue_cases import BY_MEASURE, TABLES, cost_matrix, rows_of, tables

import heldout
from heldout.intervals.estimate import Estimate
from heldout.result import ROW_KEYS

every_table = pytest.mark.parametrize("table", TABLES.values(), ids=TABLES)


def evaluated(table: object, **options: Any) -> heldout.Evaluation:
    matrix = np.asarray(table)
    labels = list(range(len(matrix)))
    costs = heldout.Costs.of(cost_matrix(len(matrix)), labels, rows="truth")
    return heldout.evaluate(matrix=matrix, labels=labels, costs=costs, **options)


@every_table
def test_every_measure_of_the_catalogue_is_reported(table: object) -> None:
    reported = {estimate.measure for estimate in evaluated(table)}
    asked_for = {"weighted_accuracy"}  # has parameters, and no setting of them is the usual one
    if len(np.asarray(table)) <= 2:
        asked_for |= {"linear_kappa", "quadratic_kappa"}  # two classes have no order worth weighing
    assert reported == set(BY_MEASURE) - asked_for - {"f_score"} | {"f1", "f2", "f0.5"}


@every_table
def test_rows_begin_alike_and_say_how_they_were_made(table: object) -> None:
    result = evaluated(table)
    rows = result.rows()
    assert len(rows) == len(result.estimates)
    for row, estimate in zip(rows, result.estimates, strict=True):
        assert tuple(row)[: len(ROW_KEYS)] == ROW_KEYS
        assert row["level"] == 0.95
        assert row["method"]
        assert estimate.rows() == [row] or math.isnan(estimate.value)


@pytest.mark.parametrize("indent", [None, 0, 1, 2, 4])
def test_a_document_is_laid_out_as_json_lays_it_out(indent: int | None) -> None:
    truth, scores = ["a", "\u00e9\u2028", "a", "\u00e9\u2028", '"q"\\'] * 4, np.linspace(0, 1, 20)
    for seen in (heldout.evaluate(truth, truth[::-1]), heldout.evaluate(truth[:2] * 10, score=scores, positive="a")):
        expected = json.dumps(seen.to_dict(), indent=indent, ensure_ascii=False, allow_nan=False)
        assert seen.to_json(indent=indent) == expected


@settings(max_examples=15)
@given(table=tables())
def test_documents_survive_json(table: np.ndarray) -> None:
    result = evaluated(table)
    assert json.loads(result.to_json(), parse_constant=pytest.fail) == result.to_dict()
    for estimate in result.estimates[::7]:
        assert json.loads(estimate.to_json(), parse_constant=pytest.fail) == estimate.to_dict()


@every_table
def test_every_estimate_is_a_number_and_not_a_truth(table: object) -> None:
    for estimate in evaluated(table):
        assert isinstance(estimate, Estimate)
        assert float(estimate) == estimate.value or math.isnan(estimate.value)
        with pytest.raises(TypeError, match="neither true nor false"):
            bool(estimate)


@every_table
def test_every_estimate_is_found_again_by_its_name(table: object) -> None:
    result = evaluated(table)
    for estimate in result.estimates:
        assert result[estimate.name] == estimate
        again = result.get(estimate.measure, class_=estimate.class_, average=estimate.average)  # type: ignore[arg-type]
        assert again == estimate
        assert json.loads(result.interval(estimate.name).to_json()) == json.loads(estimate.to_json())


@every_table
def test_the_same_seed_gives_the_same_numbers(table: object) -> None:
    for method in (None, "bootstrap"):
        first, second = (evaluated(table, seed=7, method=method, replicates=99).to_json() for _ in range(2))
        assert first == second


def test_another_seed_gives_other_draws() -> None:
    low = {seed: evaluated([[40, 10], [20, 130]], seed=seed)["kappa"].low for seed in (0, 1)}
    assert low[0] != low[1]
    assert low[0] == pytest.approx(low[1], abs=0.02)


def test_what_is_asked_first_does_not_change_the_draws() -> None:
    one, other = (evaluated([[40, 10], [20, 130]], measures="accuracy") for _ in range(2))
    names = ["kappa", "matthews", "markedness[1]", "balanced accuracy"]
    assert [one[name].low for name in names] == [other[name].low for name in reversed(names)][::-1]


LABEL_KINDS = {
    "numbers": [0, 1],
    "numbers of numpy": list(np.array([0, 1], dtype=np.uint8)),
    "floats": [0.0, 1.0],
    "text": ["0", "1"],
    "booleans": [False, True],
}


@settings(max_examples=25)
@given(cells=st.lists(st.tuples(st.integers(0, 1), st.integers(0, 1)), min_size=1, max_size=20))
def test_the_kind_of_label_does_not_matter(cells: list[tuple[int, int]]) -> None:
    wanted = [[[*cells, (0, 1)].count((i, j)) for j in (0, 1)] for i in (0, 1)]
    for names in LABEL_KINDS.values():
        truth, predicted = ([names[code] for code in column] for column in zip(*cells, (0, 1), strict=True))
        counted = heldout.count(truth, predicted).confusion
        assert counted.matrix.tolist() == wanted
        assert list(counted.labels) == names


def test_booleans_are_two_classes_even_where_one_of_them_is_all_there_is() -> None:
    assert heldout.count([True], [True]).labels == (False, True)
    assert heldout.count([1], [1]).labels == (1,)


@settings(max_examples=15)
@given(table=tables(2, 2))
def test_rows_and_matrix_give_the_same_evaluation(table: np.ndarray) -> None:
    truth, predicted = rows_of(table)
    by_rows = heldout.evaluate(truth, predicted, labels=[0, 1])
    by_matrix = heldout.evaluate(matrix=table, labels=[0, 1])
    turned = heldout.evaluate(matrix=table.T, labels=[0, 1], rows="predicted")
    assert by_rows.confusion == by_matrix.confusion == turned.confusion
    assert json.dumps(by_rows.to_dict()["estimates"]) == json.dumps(turned.to_dict()["estimates"])
