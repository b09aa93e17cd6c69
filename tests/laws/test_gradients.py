"""Laws of gradients: the exact derivatives that standard errors are made of equal central differences."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import assume, given, settings
from tests.laws.catalogue_cases import CASES, Case, tables

from heldout.evidence import Confusion
from heldout.measures.cells import TableBatch
from heldout.measures.quantity import averaged_gradient, averaged_tables

Floats = np.ndarray


def differences(function: Callable[[Floats], Floats], at: Floats) -> Floats:
    """Central differences by each entry of a vector; the function takes many vectors at once."""
    step = 1e-5 * np.maximum(np.abs(at), 1.0)
    moves = np.diag(step)
    return (function(at + moves) - function(at - moves)) / (2 * step)


def one_commonest(table: Floats) -> bool:
    """Whether one class is commoner than the others: on a tie the share of the commonest class has a kink."""
    totals = np.sort(table.sum(axis=1))
    return bool(totals[-1] > totals[-2])


def of_cells(case: Case, seen: Confusion, counts: Floats) -> Floats:
    """The values on tables with other counts in the cells that were met, one row of counts per table."""
    k = seen.n_classes
    squares = np.zeros((len(counts), k, k))
    squares[:, seen.truth, seen.predicted] = counts
    batch, bound = TableBatch(squares), case.bound(k)
    average = case.quantities(seen)[0].average
    return np.asarray(bound.of_tables(batch) if average is None else averaged_tables(bound, average, batch))


# What its `overall` names is tried as a macro average.
WHOLE = [case for case in CASES if case.axis != "class" and not case.bound(2).measure.overall]


@pytest.mark.parametrize("case", [case for case in CASES if case.axis == "class"], ids=str)
@settings(max_examples=12)
@given(table=tables(2, 3, diagonal=1))
def test_class_gradient(case: Case, table: Floats) -> None:
    bound = case.bound(len(table))
    corners = Confusion.of(table).corners
    values, gradient = bound.of_classes(corners), bound.class_gradient(corners)
    # Next to an empty cell a difference would have to leave the range of counts.
    full = (corners > 0).all(axis=1) & ~np.isnan(values)
    assume(full.any())
    for four, derivatives in zip(corners[full], gradient[full], strict=True):
        wanted = differences(bound.of_classes, four)
        np.testing.assert_allclose(derivatives, wanted, rtol=2e-6, atol=1e-8)


@pytest.mark.parametrize("case", WHOLE, ids=str)
@settings(max_examples=12)
@given(table=tables(2, 4, diagonal=1).filter(one_commonest))
def test_gradient_of_the_whole_table(case: Case, table: Floats) -> None:
    seen = Confusion.of(table)
    bound, average = case.bound(len(table)), case.quantities(seen)[0].average
    found = bound.table_gradient(seen) if average is None else averaged_gradient(bound, average, seen)
    assert found.shape == seen.counts.shape
    wanted = differences(lambda counts: of_cells(case, seen, counts), seen.counts.astype(float))
    np.testing.assert_allclose(found, wanted, rtol=2e-6, atol=1e-8)
    # Euler: the variance of a standard error, Σ count · derivative², needs Σ count · derivative to be 0.
    total = bound.of_evidence(seen) if case.name == "total_cost" else 0.0
    np.testing.assert_allclose(seen.counts @ found, total, atol=1e-9)
