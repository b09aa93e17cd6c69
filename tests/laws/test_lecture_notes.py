"""Laws that the lecture notes state: which measures are the same, or the same with other weights."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.laws.catalogue_cases import tables

from heldout import Costs, evaluate
from heldout.evidence import Confusion
from heldout.measures.catalogue import find
from heldout.measures.quantity import averaged, per_class


def accuracy(seen: Confusion) -> float:
    return float(np.trace(seen.matrix) / seen.matrix.sum())


@given(table=tables())
def test_overall_precision_weighted_by_what_was_predicted_is_accuracy(table: np.ndarray) -> None:
    seen = Confusion.of(table)
    shares = table.sum(axis=0) / table.sum()
    precision = per_class(find("precision"), seen)
    assert np.nansum(precision * shares) == pytest.approx(accuracy(seen), abs=1e-12)
    assert find("overall_precision").of_evidence(seen) == pytest.approx(accuracy(seen), abs=1e-12)


@given(table=tables())
def test_recall_weighted_by_the_classes_is_accuracy(table: np.ndarray) -> None:
    seen = Confusion.of(table)
    assert averaged(find("recall"), "weighted", seen) == pytest.approx(accuracy(seen), abs=1e-12)


@pytest.mark.parametrize("name", ["precision", "recall", "f1", "f2"])
@given(table=tables(smallest=2))
def test_micro_averages_are_accuracy(name: str, table: np.ndarray) -> None:
    seen = Confusion.of(table)
    assert averaged(find(name), "micro", seen) == pytest.approx(accuracy(seen), abs=1e-12)


@pytest.mark.parametrize(
    ("name", "weights"),
    [
        ("precision", (1, 0, 1, 0)),
        ("recall", (1, 1, 0, 0)),
        ("f1", (2, 1, 1, 0)),
        ("f2", (5, 4, 1, 0)),
        ("specificity", (0, 0, 1, 1)),
        ("jaccard", (1, 1, 1, 0)),
    ],
)
@given(table=tables())
def test_measures_that_are_weighted_accuracies(name: str, weights: tuple[float, ...], table: np.ndarray) -> None:
    given_weights: dict[str, Any] = {f"w{place}": weight for place, weight in enumerate(weights, start=1)}
    seen = Confusion.of(table)
    found, wanted = per_class(find("weighted_accuracy", **given_weights), seen), per_class(find(name), seen)
    assert found == pytest.approx(wanted, abs=1e-12, nan_ok=True)


@given(table=tables(2, 2))
def test_weighted_accuracy_with_equal_weights_is_accuracy(table: np.ndarray) -> None:
    seen = Confusion.of(table)
    assert per_class(find("weighted_accuracy"), seen) == pytest.approx([accuracy(seen)] * 2, abs=1e-12)


# Smaller ones than 1e-150 are refused.
COST = st.floats(-50, 50).map(lambda cost: round(cost, 9))


@given(table=tables(smallest=2), right=COST, wrong=COST)
def test_with_one_cost_for_every_error_cost_is_a_function_of_accuracy(
    table: np.ndarray, right: float, wrong: float
) -> None:
    k, n = len(table), int(table.sum())
    labels = list(range(k))
    costs = Costs.of(np.where(np.eye(k), right, wrong), labels, rows="truth")
    found = evaluate(matrix=table, costs=costs, measures=["total_cost", "expected_cost"])
    acc = accuracy(found.confusion)
    cost = n * (wrong - (wrong - right) * acc)
    assert found["total_cost"].value == pytest.approx(cost, abs=1e-9 * n)
    assert found["expected_cost"].value == pytest.approx(cost / n, abs=1e-9)


@given(table=tables(2, 3))
def test_f_measure_is_between_precision_and_recall_and_leans_with_beta(table: np.ndarray) -> None:
    seen = Confusion.of(table)
    precision, recall = per_class(find("precision"), seen), per_class(find("recall"), seen)
    for beta in (0.25, 1.0, 4.0):
        both = per_class(find("f_score", beta=beta), seen)
        for p, r, f in zip(precision, recall, both, strict=True):
            if not np.isnan(p + r):
                assert min(p, r) - 1e-12 <= f <= max(p, r) + 1e-12
    nearly = per_class(find("f_score", beta=1e-6), seen), per_class(find("f_score", beta=1e6), seen)
    for f, wanted in zip(nearly, (precision, recall), strict=True):
        there = ~np.isnan(precision + recall)
        np.testing.assert_allclose(f[there], wanted[there], atol=1e-9)
