"""Merging evidence: in any order and any grouping of parts, with weights, groups and different classes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from heldout import Confusion, count
from heldout.errors import MatrixError

LABELS: dict[str, list[Any]] = {"numbers": [9, 10, 0, -1], "text": ["ant", "bee", "10", "9"]}


@dataclass(frozen=True)
class Row:
    """One case: codes of truth and prediction, a weight and a group."""

    truth: int
    predicted: int
    weight: float
    group: int


# Quarters add up exactly, so that equal means equal to the last bit.
rows = st.builds(Row, st.integers(0, 3), st.integers(0, 3), st.integers(1, 40).map(lambda w: w / 4), st.integers(0, 5))
parts = st.lists(rows, min_size=1, max_size=12)
kinds = st.sampled_from(["bare", "weighted", "grouped", "both"])
names = st.sampled_from(sorted(LABELS))


def counted(part: list[Row], kind: str, names: str) -> Confusion:
    labels = LABELS[names]
    return count(
        [labels[row.truth] for row in part],
        [labels[row.predicted] for row in part],
        weight=[row.weight for row in part] if kind in ("weighted", "both") else None,
        group=[f"patient {row.group}" for row in part] if kind in ("grouped", "both") else None,
    ).confusion


def tallied(part: list[Row], value: Callable[[Row], float], names: str) -> dict[tuple[Any, Any], float]:
    """What each cell should hold, by plain addition."""
    labels, total = LABELS[names], Counter[tuple[Any, Any]]()
    for row in part:
        total[labels[row.truth], labels[row.predicted]] += value(row)  # type: ignore[assignment]
    return dict(total)


def cells(seen: Confusion, values: Any) -> dict[tuple[Any, Any], float]:
    pairs = zip(seen.truth.tolist(), seen.predicted.tolist(), values.tolist(), strict=True)
    return {(seen.labels[i], seen.labels[j]): value for i, j, value in pairs}


@settings(max_examples=60)
@given(first=parts, second=parts, third=parts, kind=kinds, names=names)
def test_merging_is_associative_and_commutative(
    first: list[Row], second: list[Row], third: list[Row], kind: str, names: str
) -> None:
    a, b, c = (counted(part, kind, names) for part in (first, second, third))
    assert (a + b) + c == a + (b + c) == (c + a) + b
    assert a + b == b + a


@settings(max_examples=60)
@given(first=parts, second=parts, kind=kinds, names=names)
def test_merging_is_counting_everything_at_once(first: list[Row], second: list[Row], kind: str, names: str) -> None:
    merged = counted(first, kind, names) + counted(second, kind, names)
    everything = first + second
    at_once = counted(everything, kind, names)
    assert merged == at_once
    assert set(merged.labels) == set(at_once.labels)
    weight: Callable[[Row], float] = (lambda row: row.weight) if kind in ("weighted", "both") else (lambda _: 1)
    assert cells(merged, merged.counts) == tallied(everything, weight, names)
    assert cells(merged, merged.cases) == tallied(everything, lambda _: 1, names)
    assert merged.n_cases == len(everything)
    if merged.squares is not None:
        assert cells(merged, merged.squares) == tallied(everything, lambda row: row.weight**2, names)


@settings(max_examples=40)
@given(first=parts, second=parts, kind=st.sampled_from(["grouped", "both"]), names=names)
def test_every_group_keeps_its_own_cases(first: list[Row], second: list[Row], kind: str, names: str) -> None:
    merged = counted(first, kind, names) + counted(second, kind, names)
    clusters = merged.clusters
    assert clusters is not None
    weight: Callable[[Row], float] = (lambda row: row.weight) if kind == "both" else (lambda _: 1)
    assert clusters.number == len({row.group for row in first + second})
    for place, key in enumerate(clusters.keys.tolist()):
        held = [row for row in first + second if f"patient {row.group}" == key]
        inside = clusters.group == place
        cell = clusters.cell[inside]
        found = Confusion(merged.labels, merged.truth[cell], merged.predicted[cell], clusters.count[inside])
        assert cells(found, found.counts) == tallied(held, weight, names)


@settings(max_examples=40)
@given(part=parts, kind=kinds, names=names, order=st.permutations(range(4)))
def test_another_order_of_labels_is_the_same_evidence(part: list[Row], kind: str, names: str, order: list[int]) -> None:
    seen = counted(part, kind, names)
    moved = seen.with_labels([LABELS[names][place] for place in order])
    assert cells(moved, moved.counts) == cells(seen, seen.counts)
    assert moved.n_cases == seen.n_cases
    again = moved + moved
    assert cells(again, again.counts) == {cell: 2 * value for cell, value in cells(seen, seen.counts).items()}
    if set(moved.labels) == set(seen.labels):
        assert moved == seen


@given(part=parts, kind=kinds)
def test_more_evidence_is_not_the_same_evidence(part: list[Row], kind: str) -> None:
    seen = counted(part, kind, "text")
    assert seen + seen != seen
    other = [Row(row.truth, (row.predicted + 1) % 4, row.weight, row.group) for row in part]
    assert counted(other, kind, "text") != seen


def test_parts_without_cases_change_nothing() -> None:
    seen = Confusion.of([[5, 1], [2, 7]], ["a", "b"])
    nothing = Confusion.of(np.zeros((2, 2), dtype=int), ["a", "b"])
    assert seen + nothing == nothing + seen == seen
    # A class that was only declared stays declared.
    assert (seen + Confusion.of([[0]], ["c"])).labels == ("a", "b", "c")


def test_counts_stay_exact_beyond_the_digits_of_a_float() -> None:
    large = 2**53
    seen = Confusion.of([[large, 0], [1, 1]]) + Confusion.of([[1, 0], [0, 0]])
    assert seen.matrix[0, 0] == large + 1
    assert seen.truth_totals.tolist() == [large + 1, 2]
    assert seen.predicted_totals.tolist() == [large + 2, 1]
    assert seen.n == large + 3


def test_a_fractional_matrix_keeps_its_number_of_cases() -> None:
    seen = Confusion.of([[0.5, 0.0], [0.25, 1.5]])
    assert seen.n_cases == 4
    assert seen.with_labels(seen.labels) == seen
    assert (seen + seen).n_cases == 8


@pytest.mark.parametrize(
    ("other", "text"),
    [
        ({"weight": [1.0]}, "Weighted and unweighted evidence cannot be merged"),
        ({"group": ["g"]}, "Evidence with groups and evidence without cannot be merged"),
    ],
)
def test_unlike_evidence_is_refused(other: dict[str, Any], text: str) -> None:
    bare, special = count(["a"], ["b"]).confusion, count(["a"], ["b"], **other).confusion
    for one, two in ((bare, special), (special, bare)):
        with pytest.raises(MatrixError, match=text):
            one + two


def test_something_else_cannot_be_added() -> None:
    with pytest.raises(TypeError):
        count(["a"], ["b"]).confusion + 1
    assert count(["a"], ["b"]).confusion != "a"


def test_groups_with_keys_of_two_kinds_stay_apart() -> None:
    # As with labels: 1 and "1" are two names.
    first, second = count([0, 1], [0, 1], group=[1, 2]).confusion, count([0, 1], [0, 1], group=["1", "2"]).confusion
    merged = first + second
    assert merged.clusters is not None
    assert merged.clusters.number == 4
