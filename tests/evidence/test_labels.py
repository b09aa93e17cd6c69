"""Classes in order: numbers by size, text by letters, and what was declared stays as declared."""

from __future__ import annotations

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from heldout import Confusion, count
from heldout.errors import MatrixError
from heldout.evidence import join_labels, sort_labels

labels = st.lists(st.one_of(st.integers(-5, 15), st.sampled_from(["a", "b", "B", "10", "9"])), unique=True)


@given(first=labels, second=labels)
def test_the_union_holds_each_label_once(first: list[int | str], second: list[int | str]) -> None:
    joined = join_labels(first, second)
    assert len(set(joined)) == len(joined)
    assert set(joined) == set(first) | set(second)


@given(first=labels, second=labels)
def test_sorted_labels_stay_sorted(first: list[int | str], second: list[int | str]) -> None:
    one, two = sort_labels(first), sort_labels(second)
    assert join_labels(one, two) == join_labels(two, one) == sort_labels(one + two)


@given(first=labels, second=labels)
def test_a_declared_order_is_kept(first: list[int | str], second: list[int | str]) -> None:
    assume(tuple(first) != sort_labels(first))
    assert join_labels(first, second)[: len(first)] == tuple(first)


def test_numbers_by_size_and_text_by_letters() -> None:
    assert count([10, 9, 2], [9, 9, 2]).labels == (2, 9, 10)
    assert count(["10", "9"], ["9", "9"]).labels == ("10", "9")
    assert sort_labels(["b", "B", 2.5, 2]) == (2, 2.5, "B", "b")


def test_declared_classes_are_kept_though_not_met() -> None:
    seen = count(["b", "a"], ["b", "b"], labels=["c", "b", "a"])
    assert seen.labels == ("c", "b", "a")
    assert seen.matrix.tolist() == [[0, 0, 0], [0, 1, 0], [0, 1, 0]]


def test_rows_may_be_the_prediction() -> None:
    table = [[3, 1], [0, 2]]
    turned = Confusion.of(table, ["a", "b"], rows="predicted")
    assert turned == Confusion.of([[3, 0], [1, 2]], ["a", "b"])
    assert turned != Confusion.of(table, ["a", "b"])


def test_leaving_out_a_class_that_was_met_is_refused() -> None:
    with pytest.raises(MatrixError, match="leave out classes that were met: b"):
        Confusion.of([[3, 1], [0, 2]], ["a", "b"]).with_labels(["a", "c"])


def test_an_unknown_class_is_named() -> None:
    with pytest.raises(MatrixError, match=r"no class 'z'\. The classes are: a, b"):
        Confusion.of([[3, 1], [0, 2]], ["a", "b"]).index("z")


def test_very_many_classes_make_no_square() -> None:
    seen = Confusion.of([[1]], [0]).with_labels(range(5000))
    assert seen.corners.shape == (5000, 4)
    with pytest.raises(MatrixError, match=r"5,000 × 5,000 classes is not made"):
        _ = seen.matrix
