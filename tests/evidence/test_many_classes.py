"""Evidence of very many classes: merged in any order it is the same, and no pair of labels is looked at."""

from __future__ import annotations

import random
import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from heldout import Confusion
from heldout.engines.memory import count
from heldout.errors import MatrixError
from heldout.evidence.labels import join_labels, places, sort_labels
from heldout.predictions.table import assemble

K = 100_000


def part(seed: int, *, text: bool, weighted: bool = False, k: int = K, n: int = 30_000) -> Confusion:
    """Some rows of very many classes, of which each part meets others."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, k, n)
    predicted = np.where(rng.random(n) < 0.7, truth, rng.integers(0, k, n))
    weight = rng.integers(1, 9, n) / 4 if weighted else None
    if text:
        return count(assemble([f"c{i}" for i in truth], [f"c{i}" for i in predicted], weight=weight))
    return count(assemble(truth, predicted, weight=weight))


@settings(max_examples=4, deadline=None)
@given(seeds=st.lists(st.integers(0, 99), min_size=3, max_size=3), text=st.booleans(), weighted=st.booleans())
def test_parts_of_very_many_classes_merge_in_any_order(seeds: list[int], text: bool, weighted: bool) -> None:
    a, b, c = (part(seed, text=text, weighted=weighted) for seed in seeds)
    merged = (a + b) + c
    assert merged == a + (b + c) == (c + a) + b
    assert merged.labels == sort_labels({*a.labels, *b.labels, *c.labels})
    assert merged.n == a.n + b.n + c.n
    assert merged != a + b
    flat = merged.truth * merged.n_classes + merged.predicted
    assert (np.diff(flat) > 0).all()


@settings(max_examples=6, deadline=None)
@given(seed=st.integers(0, 99), order=st.integers(0, 2**32))
def test_another_order_of_the_labels_is_the_same_evidence(seed: int, order: int) -> None:
    seen = part(seed, text=False)
    labels = [*seen.labels, K + 1, K + 2]
    random.Random(order).shuffle(labels)
    moved = seen.with_labels(labels)
    assert moved.with_labels(sort_labels(labels)).with_labels(labels) == moved
    assert moved.labels == tuple(labels)
    wide = seen.with_labels(sort_labels(labels))
    np.testing.assert_array_equal(moved.truth_totals[places(wide.labels, labels)], wide.truth_totals)
    for label in labels[:: len(labels) // 7]:
        assert moved.labels[moved.index(label)] == label
        assert wide.labels[wide.index(label)] == label


def test_evidence_that_differs_in_one_cell_of_very_many_is_not_equal():
    seen = part(3, text=True)
    counts = seen.counts.copy()
    counts[len(counts) // 2] += 1
    assert seen != Confusion(seen.labels, seen.truth, seen.predicted, counts)
    assert seen == Confusion(seen.labels, seen.truth, seen.predicted, seen.counts.copy())
    named = ("another", *seen.labels[1:])
    assert seen != Confusion(named, seen.truth, seen.predicted, seen.counts)


def test_a_label_that_is_not_there_is_named_and_only_a_few_others_are():
    seen = part(4, text=True)
    with pytest.raises(MatrixError, match="no class 'nobody'") as found:
        seen.index("nobody")
    assert len(str(found.value)) < 500
    with pytest.raises(MatrixError, match="leave out classes") as found:
        seen.with_labels(seen.labels[:10])
    assert len(str(found.value)) < 500


@given(
    first=st.lists(st.one_of(st.integers(-5, 15), st.sampled_from("abcAB")), unique=True),
    second=st.lists(st.one_of(st.integers(-5, 15), st.sampled_from("abcAB")), unique=True),
)
def test_places_and_unions_are_those_of_plain_python(first: list[int | str], second: list[int | str]) -> None:
    assert places(first, second).tolist() == [second.index(x) if x in second else -1 for x in first]
    union = join_labels(sort_labels(first), sort_labels(second))
    assert union == sort_labels([*first, *second])


def test_merging_costs_what_the_labels_cost_and_not_their_square():
    def seconds(k: int) -> float:
        one, two = (part(seed, text=True, k=k, n=k) for seed in (1, 2))
        spent = []
        for _ in range(2):
            start = time.process_time()
            assert (one + two) == (two + one)
            spent.append(time.process_time() - start)
        return min(spent)

    # Sixteen times as many classes: 256 times the time where every label is looked for among all.
    assert seconds(64_000) < 80 * seconds(4000)


@pytest.mark.parametrize("most", [1, 3, 20, 10**6])
def test_the_largest_classes_come_first_and_of_equal_ones_the_first(most):
    seen = part(5, text=False, k=50, n=400)
    totals = seen.truth_totals.tolist()
    expected = sorted(range(len(totals)), key=lambda place: -totals[place])[:most]
    assert seen.largest(most).tolist() == expected


def test_classes_with_the_same_counts_are_found_and_told_apart_from_others():
    seen = part(6, text=False, n=60_000)
    assert seen.alike is not None
    kinds, place = seen.alike
    np.testing.assert_array_equal(kinds[place], seen.corners)
    assert len(np.unique(kinds, axis=0)) == len(kinds)
    assert part(6, text=False, k=100, n=500).alike is None
    assert part(6, text=False, weighted=True).alike is None
