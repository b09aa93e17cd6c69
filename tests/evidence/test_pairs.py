"""Joint counts of truth and two answers: both sides, merging, and many classes."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from heldout import count
from heldout.errors import MatrixError
from heldout.evidence import joint_counts as module
from heldout.evidence.joint_counts import PairCounts

LABELS = ("ant", "bee", "cat", "dog")
cases = st.lists(st.tuples(*[st.integers(0, 3)] * 3), max_size=30)


def counted(rows, labels=LABELS) -> PairCounts:
    truth, a, b = np.array(rows, dtype=np.int64).reshape(-1, 3).T
    return PairCounts.of(truth, a, b, labels)


@given(cases)
def test_each_side_is_the_confusion_matrix_of_its_classifier(rows):
    seen = counted(rows)
    assert seen.n == len(rows)
    for side, place in ((seen.side("a"), 1), (seen.side("b"), 2)):
        matrix = np.zeros((4, 4), dtype=int)
        for row in rows:
            matrix[row[0], row[place]] += 1
        assert np.array_equal(side.matrix, matrix)


def test_a_side_equals_what_counting_one_classifier_gives():
    rows = [(0, 1, 0), (1, 1, 1), (2, 0, 2), (3, 3, 0)]
    names = [[LABELS[code] for code in column] for column in zip(*rows, strict=True)]
    assert counted(rows).side("a") == count(names[0], names[1], labels=LABELS).confusion


@given(cases)
def test_the_cases_that_only_one_gets_right(rows):
    seen = counted(rows)
    assert seen.only_a == sum(t == a != b for t, a, b in rows)
    assert seen.only_b == sum(t == b != a for t, a, b in rows)
    assert seen.differ == sum(a != b for _, a, b in rows)


@given(cases, cases, cases)
def test_merging_in_any_grouping_is_counting_together(first, second, third):
    whole = counted(first + second + third)
    one, two, three = counted(first), counted(second), counted(third)
    assert (one + two) + three == whole
    assert one + (two + three) == whole
    assert sum([three, one, two]) == whole


def test_merging_joins_the_classes():
    one = counted([(0, 1, 0)], ("ant", "cat"))
    two = counted([(0, 0, 1)], ("bee", "cat"))
    both = one + two
    assert both.labels == ("ant", "bee", "cat")
    assert both == counted([(0, 2, 0), (1, 1, 2)], ("ant", "bee", "cat"))


def test_text_and_numbers_do_not_merge():
    with pytest.raises(MatrixError, match="labels of text"):
        counted([(0, 1, 0)], ("1", "2")) + counted([(0, 1, 0)], (1, 2))


@given(cases)
def test_swapping_twice_changes_nothing(rows):
    seen = counted(rows)
    assert seen.swapped() == counted([(t, b, a) for t, a, b in rows])
    again = seen.swapped().swapped()
    for column in ("truth", "a", "b", "counts"):
        assert np.array_equal(getattr(again, column), getattr(seen, column))


@given(cases)
def test_the_way_for_many_classes_counts_the_same(rows):
    dense = counted(rows)
    most, module.DENSE_CELLS = module.DENSE_CELLS, 0
    try:
        sparse = counted(rows)
    finally:
        module.DENSE_CELLS = most
    for column in ("truth", "a", "b", "counts"):
        assert np.array_equal(getattr(dense, column), getattr(sparse, column))


def test_three_million_classes_do_not_overflow():
    k = 3_000_000
    codes = np.array([k - 1, k - 1, 5])
    seen = PairCounts.of(codes, codes, codes[::-1].copy(), tuple(range(k)))
    assert seen.truth.tolist() == [5, k - 1, k - 1]
    assert seen.a.tolist() == [5, k - 1, k - 1]
    assert seen.b.tolist() == [k - 1, 5, k - 1]
    assert seen.only_a == 2
