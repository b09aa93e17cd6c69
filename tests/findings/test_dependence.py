"""Rows that are not independent: what is alike by class, by sorting or by amount is no dependence."""

from __future__ import annotations

import numpy as np
import pytest
from tests.findings.evaluation_cases import in_order

import heldout
from heldout.findings.review import RULE_CATALOGUE
from heldout.findings.rules_dependence import compare_neighbours, compare_within


def answers(rng: np.random.Generator, wrong: np.ndarray, truth: np.ndarray | None = None) -> dict[str, np.ndarray]:
    truth = rng.integers(0, 2, len(wrong)) if truth is None else truth
    return {"truth": truth, "predicted": np.where(wrong, 1 - truth, truth)}


def outcome(code: str, columns: dict, **options) -> str:
    return RULE_CATALOGUE[code](heldout.evaluate(columns, measures=["accuracy"], **options)).outcome


@pytest.mark.parametrize("stay", [0.35, 0.8])
def test_the_correlation_of_neighbours_is_that_of_the_rows(stay):
    found = in_order(stay, n=4000).review["H029"]
    # Errors that stay as they were with a probability have that correlation from row to row.
    assert found.facts["correlation"] == pytest.approx(stay, abs=0.06)


def test_classes_that_stand_together_make_no_neighbours_alike():
    rng = np.random.default_rng(21)
    truth = np.repeat([0, 1], 300)
    columns = answers(rng, rng.random(600) < np.where(truth, 0.6, 0.02), truth)
    assert outcome("H029", columns) == "passed"
    # The errors themselves, without regard to the class, are clearly alike.
    wrong = (columns["truth"] != columns["predicted"]).astype(float)
    assert compare_neighbours(wrong - wrong.mean()).chance < 1e-6


def test_rows_that_were_sorted_by_what_was_predicted_tell_nothing():
    rng = np.random.default_rng(22)
    score = np.sort(rng.random(500))
    truth = (rng.random(500) < score).astype(int)
    for order in (slice(None), slice(None, None, -1)):
        seen = heldout.evaluate(truth[order], score=score[order], positive=1).review["H029"]
        assert (seen.outcome, seen.title) == ("not applicable", "the rows are sorted by what was predicted")
    columns = answers(rng, np.arange(500) < 80)
    assert outcome("H029", columns) == "not applicable"


def test_an_amount_that_errors_grow_with_is_no_group():
    rng = np.random.default_rng(23)
    age = rng.integers(20, 90, 1500)
    columns = {**answers(rng, rng.random(1500) < (age - 15) / 120), "v1": age}
    assert outcome("H065", columns) == "passed"
    # The same values under names that have no order.
    names = rng.permutation(100)
    assert outcome("H065", {**columns, "v1": [f"n{names[value]}" for value in age]}) == "fired"


def test_groups_are_seen_among_the_rows_that_were_kept():
    rng = np.random.default_rng(24)
    who = rng.integers(0, 60, 480)
    columns: dict = {**answers(rng, rng.random(480) < rng.choice([0.02, 0.7], 60)[who]), "v1": [f"a{x}" for x in who]}
    columns["predicted"] = [None if at % 9 == 0 else int(x) for at, x in enumerate(columns["predicted"])]
    assert outcome("H065", columns, missing="drop") == "fired"


def test_independent_rows_are_seldom_called_alike():
    rng = np.random.default_rng(25)
    alarms = np.zeros(2)
    for _ in range(1500):
        errors = (rng.random(180) < 0.3).astype(np.float64) - 0.3
        group = np.unique(rng.integers(0, 45, 180), return_inverse=True)[1]
        seen = compare_neighbours(errors), compare_within(errors, group)
        alarms += [seen[0].chance < 0.005, seen[1].chance < 0.001]
    # The levels that are named would give 7.5 and 1.5.
    assert alarms[0] <= 15
    assert alarms[1] <= 6


def test_scores_of_two_values_are_no_order_of_the_rows():
    rng = np.random.default_rng(3)
    truth = rng.integers(0, 2, 600)
    # Errors in blocks of ten rows.
    wrong = np.repeat(rng.random(60) < 0.3, 10)
    predicted = np.where(wrong, 1 - truth, truth)
    score = np.where(rng.random(600) < 0.04, 0.9, 0.1)
    alone = heldout.evaluate(truth, predicted, positive=1).review["H029"]
    beside = heldout.evaluate(truth, predicted, score=score, positive=1).review["H029"]
    assert (alone.outcome, beside.outcome) == ("fired", "fired")
