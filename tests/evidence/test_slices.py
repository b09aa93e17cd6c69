"""Slices merge: in any order and grouping they are what counting all rows at once gives, groups included."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from heldout.engines.memory import count_slices
from heldout.errors import MatrixError
from heldout.evidence import Confusion
from heldout.evidence.partitions import SliceCounts
from heldout.predictions.slice_plans import SliceColumn
from heldout.predictions.table import assemble

CLASSES: dict[str, list[Any]] = {"numbers": [9, 10, -1], "text": ["bee", "ant", "cat"]}
SLICES = ("f", "m", "(missing)")

rows = st.tuples(
    st.integers(0, 2), st.integers(0, 2), st.integers(0, 2), st.integers(1, 40).map(lambda w: w / 4), st.integers(0, 5)
)
parts = st.lists(rows, min_size=1, max_size=12)
kinds = st.sampled_from(["bare", "weighted", "grouped", "both"])


def counted(part: list[tuple[Any, ...]], kind: str, names: str) -> SliceCounts:
    truth, predicted, slices, weight, group = zip(*part, strict=True)
    classes = CLASSES[names]
    given_: dict[str, Any] = {"weight": weight} if kind in ("weighted", "both") else {}
    given_ |= {"group": [f"g{one}" for one in group]} if kind in ("grouped", "both") else {}
    held = assemble([classes[i] for i in truth], [classes[i] for i in predicted], **given_)
    met = tuple(label for label in held.labels if label in {classes[i] for i in truth + predicted})
    return count_slices(held, met, [SliceColumn("sex", np.array(slices, dtype=np.uint8), SLICES)])


def content(seen: SliceCounts) -> dict[int, Confusion]:
    return {int(key): seen[place] for place, key in enumerate(seen.keys)}


def same(one: SliceCounts, two: SliceCounts) -> bool:
    return content(one) == content(two) and one.whole == two.whole


@settings(max_examples=60)
@given(first=parts, second=parts, third=parts, kind=kinds, names=st.sampled_from(sorted(CLASSES)))
def test_slices_merge_in_any_order_to_what_counting_at_once_gives(
    first: list[tuple[Any, ...]], second: list[tuple[Any, ...]], third: list[tuple[Any, ...]], kind: str, names: str
) -> None:
    a, b, c = (counted(part, kind, names) for part in (first, second, third))
    at_once = counted(first + second + third, kind, names)
    assert (at_once.groups is not None) == (kind in ("grouped", "both"))
    for merged in ((a + b) + c, a + (b + c), c + b + a, sum([b, a, c])):
        assert isinstance(merged, SliceCounts)
        assert same(merged, at_once)
        assert merged.sizes.tolist() == at_once.sizes.tolist()
        for place in range(len(merged)):
            assert merged.rest(place) == at_once.rest(place)


def test_groups_keep_their_slices_when_a_part_knows_fewer_slices_and_classes():
    one = counted([(0, 0, 2, 1.0, 3)], "grouped", "text")
    two = counted([(1, 2, 0, 1.0, 3), (1, 1, 2, 1.0, 4)], "grouped", "text")
    merged = one + two
    assert merged.keys.tolist() == [0, 2]
    last = merged[1]
    assert last.clusters is not None
    assert sorted(last.clusters.keys.tolist()) == ["g3", "g4"]
    assert {(last.labels[t], last.labels[p]) for t, p in zip(last.truth, last.predicted, strict=True)} == {
        ("bee", "bee"),
        ("ant", "ant"),
    }


@pytest.mark.parametrize(("one", "two"), [("bare", "grouped"), ("bare", "weighted"), ("both", "weighted")])
def test_slices_with_weights_or_groups_do_not_merge_with_slices_without(one, two):
    row = [(0, 1, 0, 1.0, 0)]
    with pytest.raises(MatrixError, match="Only one side has them"):
        counted(row, one, "text") + counted(row, two, "text")


def test_cells_of_very_many_classes_and_groups_are_not_taken_for_each_other():
    # A slice, two classes and a group of these numbers do not fit together into one 64-bit number.
    k, many, n = 1_200_000, 250, 30_000
    labels = tuple(range(k))
    rng = np.random.default_rng(3)
    truth, predicted = rng.integers(k - 50, k, n), rng.integers(k - 50, k, n)
    group = rng.permutation(10**6)[:n]
    sex = rng.integers(0, many, n).astype(np.uint8)
    column = SliceColumn("sex", sex, tuple(map(str, range(many))))
    halves = [slice(0, 9000), slice(9000, n)]
    pieces = [assemble(truth[h], predicted[h], group=group[h]) for h in halves]
    columns = [SliceColumn("sex", sex[h], column.labels) for h in halves]
    merged = sum(count_slices(p, labels, [c]) for p, c in zip(pieces, columns, strict=True))
    assert isinstance(merged, SliceCounts)
    at_once = count_slices(assemble(truth, predicted, group=group), labels, [column])
    for place in (0, many // 2, many - 1):
        here = sex == merged.keys[place]
        for seen, held in ((merged[place], here), (merged.rest(place), ~here), (at_once.rest(place), ~here)):
            assert seen.clusters is not None
            told = zip(seen.clusters.keys[seen.clusters.group].tolist(), seen.clusters.cell.tolist(), strict=True)
            found = sorted((g, int(seen.truth[c]), int(seen.predicted[c])) for g, c in told)
            expected = zip(group[held].tolist(), truth[held].tolist(), predicted[held].tolist(), strict=True)
            assert found == sorted(set(expected))
