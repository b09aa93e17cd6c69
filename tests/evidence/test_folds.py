"""Counts of every fold: merged in any order and any parts they are those of all rows at once, and pool by adding."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from heldout import evaluate
from heldout.engines.memory import count_folds
from heldout.evidence import partitions as module
from heldout.evidence.partitions import FoldCounts
from heldout.predictions.table import assemble

CLASSES = ("ant", "bee", "cat")
# Quarters add up exactly, so that equal means equal to the last bit.
rows = st.tuples(
    st.integers(0, 2), st.integers(0, 2), st.integers(0, 4), st.integers(1, 40).map(lambda quarters: quarters / 4)
)
parts = st.lists(rows, min_size=1, max_size=15)
kinds = st.sampled_from(["numbers", "text"])


def counted(part: list[tuple[int, int, int, float]], kind: str, *, weighted: bool) -> FoldCounts:
    """The counts of some rows: truth, prediction, fold, weight; classes are those that the rows hold."""
    truth, predicted, fold, weight = zip(*part, strict=True)
    names = [f"fold {number}" if kind == "text" else number for number in fold]
    predictions = assemble(
        [CLASSES[code] for code in truth],
        [CLASSES[code] for code in predicted],
        fold=names,
        weight=list(weight) if weighted else None,
    )
    return count_folds(predictions, predictions.labels)


def cells(seen: FoldCounts) -> dict[tuple[Any, str, str], float]:
    """Each cell that was met by the names of its fold and its classes."""
    keys, held = seen.keys.tolist(), (seen.fold, seen.truth, seen.predicted, seen.counts)
    found = {
        (keys[f], seen.labels[t], seen.labels[p]): c for f, t, p, c in zip(*map(np.ndarray.tolist, held), strict=True)
    }
    assert len(found) == len(seen.counts), "a cell stands once"
    return found


def tallied(part: list[tuple[int, int, int, float]], kind: str, *, weighted: bool) -> dict[tuple[Any, str, str], float]:
    """The same by plain addition."""
    total = Counter[tuple[Any, str, str]]()
    for truth, predicted, fold, weight in part:
        name = f"fold {fold}" if kind == "text" else fold
        total[name, CLASSES[truth], CLASSES[predicted]] += weight if weighted else 1  # type: ignore[assignment]
    return dict(total)


@given(parts, kinds, st.booleans())
def test_counting_is_plain_addition(part, kind, weighted):
    assert cells(counted(part, kind, weighted=weighted)) == tallied(part, kind, weighted=weighted)


@given(st.lists(parts, min_size=1, max_size=4), kinds, st.booleans())
def test_parts_merge_to_the_counts_of_all_rows(held, kind, weighted):
    every = [row for part in held for row in part]
    merged = sum(counted(part, kind, weighted=weighted) for part in held)
    assert isinstance(merged, FoldCounts)
    assert cells(merged) == tallied(every, kind, weighted=weighted)


@given(parts, parts, parts, kinds, st.booleans())
def test_merging_is_associative_and_commutative(a, b, c, kind, weighted):
    one, two, three = (counted(part, kind, weighted=weighted) for part in (a, b, c))
    left, right = (one + two) + three, one + (two + three)
    assert cells(left) == cells(right)
    assert cells(one + two) == cells(two + one)
    assert left.keys.tolist() == right.keys.tolist()
    assert set(left.labels) == set((three + two + one).labels)


def test_folds_numbered_and_named_are_different_folds():
    merged = counted([(0, 0, 1, 1.0)], "numbers", weighted=False) + counted([(0, 1, 1, 1.0)], "text", weighted=False)
    assert len(merged) == 2
    assert set(merged.keys.tolist()) == {1, "fold 1"}


@given(parts, st.booleans())
def test_the_folds_pool_to_the_counts_of_all_rows(part, weighted):
    seen = counted(part, "numbers", weighted=weighted)
    pooled = sum((one.matrix for one in seen), np.zeros((seen.n_classes, seen.n_classes)))
    truth, predicted, _, weight = zip(*part, strict=True)
    whole = evaluate(
        [CLASSES[code] for code in truth],
        [CLASSES[code] for code in predicted],
        weight=list(weight) if weighted else None,
        measures="accuracy",
    ).confusion
    assert seen.labels == whole.labels
    np.testing.assert_array_equal(pooled, whole.matrix)
    np.testing.assert_array_equal(seen.sizes, [float(one.counts.sum()) for one in seen])


@given(parts, st.integers(1, 30))
def test_tables_are_the_same_in_batches_of_any_size(part, cells_at_once):
    seen = counted(part, "numbers", weighted=True)
    before = module.BATCH_CELLS
    module.BATCH_CELLS = cells_at_once
    try:
        tables = np.concatenate(list(seen.tables()))
    finally:
        module.BATCH_CELLS = before
    np.testing.assert_array_equal(tables, [one.matrix for one in seen])


def test_there_is_no_fold_beyond_the_last():
    seen = counted([(0, 0, 1, 1.0), (1, 0, 2, 1.0)], "numbers", weighted=False)
    for place in (2, -1):
        with pytest.raises(IndexError, match=f"no fold at place {place} of 2"):
            seen[place]


def test_other_things_cannot_be_added():
    seen = counted([(0, 0, 1, 1.0)], "numbers", weighted=False)
    with pytest.raises(TypeError):
        seen + 1
    with pytest.raises(TypeError):
        1 + seen
