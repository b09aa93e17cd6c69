"""Matching the cases of several classifiers: by id, by order, and what is refused with its figures."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from heldout.errors import LabelError, ValuesError
from heldout.predictions.alignment import key_texts, lost_rows, pair
from heldout.predictions.table import assemble

NAMES = ["one", "two"]


def told(paired, place):
    """What one classifier said of each case, as labels."""
    return [paired.labels[code] for code in paired.predicted[place].tolist()]


@given(st.permutations(range(12)), st.sampled_from([int, str, float]))
def test_ids_are_matched_in_any_order_and_of_any_kind(order, kind):
    truth, first = np.array(list("aabbab" * 2)), np.array(list("ababab" * 2))
    second = np.array(list("bbabaa" * 2))
    one = assemble(truth, first, id=list(range(12)))
    two = assemble(truth[order], second[order], id=[kind(case) for case in order])
    paired = pair([one, two], NAMES)
    assert paired.by == "id"
    assert told(paired, 0) == first.tolist()
    assert told(paired, 1) == second.tolist()
    assert [paired.labels[code] for code in paired.truth.tolist()] == truth.tolist()


def test_without_ids_rows_are_matched_by_their_order():
    paired = pair([assemble(list("ab"), list("aa")), assemble(list("ab"), list("bb"))], NAMES)
    assert (paired.by, paired.n) == ("order", 2)
    assert (told(paired, 0), told(paired, 1)) == (["a", "a"], ["b", "b"])


def test_ids_of_some_only_are_refused_by_name():
    with pytest.raises(ValuesError, match="these do not: two") as refused:
        pair([assemble([0, 1], [0, 1], id=[1, 2]), assemble([0, 1], [0, 1])], NAMES)
    assert "the id of each case" in refused.value.hint


def test_ids_that_stand_twice_are_named_and_counted():
    one = assemble([0, 1, 0], [0, 1, 1], id=["x", "y", "z"])
    two = assemble([0, 1, 0, 1, 0], [0, 1, 1, 1, 0], id=["x", "y", "x", "y", "z"])
    with pytest.raises(ValuesError, match=r"two has 2 ids that stand in more than one row: x, y\."):
        pair([one, two], NAMES)


def test_an_id_may_stand_once_for_each_fold():
    fold, ids = [1, 1, 2, 2], ["x", "y", "x", "y"]
    one = assemble([0, 1, 0, 1], [0, 1, 1, 1], fold=fold, id=ids)
    turned = assemble([1, 0, 1, 0], [0, 0, 1, 1], fold=fold[::-1], id=ids[::-1])
    paired = pair([one, turned], NAMES)
    assert told(paired, 0) == [0, 1, 1, 1]
    assert told(paired, 1) == [1, 1, 0, 0]


def test_missing_ids_are_named_and_counted_on_both_sides():
    one = assemble([0] * 6, [0] * 6, id=list("abcdef"))
    two = assemble([0] * 3, [0] * 3, id=list("afz"))
    with pytest.raises(ValuesError, match="not tested on the same cases") as refused:
        pair([one, two], NAMES)
    assert "4 ids of one are missing from two (b, c, d and 1 more)" in refused.value.what
    assert "1 ids of two are missing from one (z)" in refused.value.what
    assert "the test sets differ" in refused.value.hint


def test_different_lengths_are_told_with_both_sizes():
    with pytest.raises(ValuesError, match="one has 3, two has 2 cases") as refused:
        pair([assemble([0, 1, 1], [0, 1, 1]), assemble([0, 1], [0, 1])], NAMES)
    assert "--id" in refused.value.hint
    assert "--different-cases" in refused.value.hint


@pytest.mark.parametrize("ids", [None, [1, 2, 3]])
def test_truths_that_differ_are_counted_with_the_first_case(ids):
    one, two = assemble(list("abb"), list("aaa"), id=ids), assemble(list("aab"), list("aaa"), id=ids)
    with pytest.raises(LabelError, match="on the truth in 1 of 3 cases: in case 2 it is 'b' for the one and 'a'") as no:
        pair([one, two], NAMES)
    assert ("--id" in no.value.hint) == (ids is None)


def test_labels_of_other_types_are_joined_with_a_note():
    paired = pair([assemble([0, 1], [0, 0]), assemble(["0", "1"], ["1", "1"])], NAMES)
    assert paired.labels == (0, 1)
    assert told(paired, 1) == [1, 1]
    assert len(paired.notes) == 1
    assert paired.notes[0].startswith("two: labels of different types were joined")


def test_labels_that_cannot_be_joined_are_refused():
    with pytest.raises(LabelError, match="different types"):
        pair([assemble([0, 1], [0, 0]), assemble(["no", "yes"], ["no", "no"])], NAMES)


def test_a_class_that_one_alone_predicts_is_a_class_of_both():
    truth = ["b", "c", "b"]
    paired = pair([assemble(truth, truth), assemble(truth, ["a", "c", "b"])], NAMES)
    assert paired.labels == ("a", "b", "c")
    assert told(paired, 0) == truth
    assert told(paired, 1) == ["a", "c", "b"]
    assert paired.notes == ()


def test_declared_orders_are_brought_together():
    one = assemble(["low", "high"], ["low", "low"], labels=["low", "high"])
    two = assemble(["low", "high"], ["high", "high"], labels=["high", "low"])
    paired = pair([one, two], NAMES)
    assert paired.labels == ("low", "high")
    assert told(paired, 1) == ["high", "high"]


def test_three_are_matched_with_the_first():
    ids = [[1, 2, 3], [3, 1, 2], [2, 3, 1]]
    held = [assemble([0, 0, 0], [case % 2 for case in own], id=own, labels=[0, 1]) for own in ids]
    paired = pair(held, ["x", "y", "z"])
    assert [told(paired, place) for place in range(3)] == [[1, 0, 1]] * 3


def test_truths_that_differ_are_told_with_the_id_of_the_case():
    one = assemble(list("abb"), list("aaa"), id=["x7", "x8", "x9"])
    two = assemble(list("bab"), list("aaa"), id=["x9", "x7", "x8"])
    assert pair([one, two], NAMES).n == 3
    wrong = assemble(list("bab"), list("aaa"), id=["x9", "x8", "x7"])
    with pytest.raises(LabelError, match="in 2 of 3 cases: in case x7 it is 'a' for the one and 'b' for the other"):
        pair([one, wrong], NAMES)
    numbers = assemble(list("abb"), list("aaa"), id=[900, 1000, 70])
    with pytest.raises(LabelError, match="in case 1000 it is 'b'"):
        pair([numbers, assemble(list("aab"), list("aaa"), id=[900, 1000, 70])], NAMES)


def test_a_case_in_a_fold_is_named_with_both():
    fold, ids = [1, 1, 2, 2], ["x", "y", "x", "y"]
    one = assemble([0, 1, 0, 1], [0, 1, 1, 1], fold=fold, id=ids)
    with pytest.raises(LabelError, match="in case y in fold 2 it is 1 for the one and 0 for the other"):
        pair([one, assemble([0, 1, 0, 0], [0, 1, 1, 1], fold=fold, id=ids)], NAMES)
    with pytest.raises(ValuesError, match=r"1 ids of one are missing from two \(y in fold 2\)"):
        pair([one, assemble([0, 1, 0], [0, 1, 1], fold=fold[:3], id=ids[:3])], NAMES)


KEYS = st.one_of(
    st.integers(-(2**70), 2**70),
    st.integers(-5, 5),
    st.text("ab0", max_size=3),
    st.floats(-9, 9).map(lambda x: x + 0.5),
)


@given(st.lists(KEYS, min_size=1, max_size=20, unique_by=str), st.randoms(use_true_random=False))
def test_any_ids_find_their_own_row(keys, random):
    # Python's own look-up is the judge.
    turned = random.sample(keys, len(keys))
    texts = all(isinstance(key, str) for key in keys)
    first, second = ((list(map(str, own)) if not texts else own) for own in (keys, turned))
    rows = pair(
        [assemble([0] * len(keys), [0] * len(keys), id=own) for own in (first, second)], NAMES
    ).rows  # fmt: skip
    assert [turned[row] for row in rows[1].tolist()] == keys
    assert rows[0].tolist() == list(range(len(keys)))


@given(st.lists(st.integers(-(2**63) + 1, 2**63 - 1), min_size=1, max_size=20, unique=True), st.integers(0, 99))
def test_large_whole_numbers_are_matched_exactly(keys, seed):
    order = np.random.default_rng(seed).permutation(len(keys)).tolist()
    turned = [keys[place] for place in order]
    for kind in (int, str):
        held = [assemble([0] * len(keys), [0] * len(keys), id=own) for own in (keys, list(map(kind, turned)))]
        rows = pair(held, NAMES).rows[1]
        assert [turned[row] for row in rows.tolist()] == keys
        assert key_texts(held[0].id) == list(map(str, keys))


def test_rows_that_were_dropped_leave_no_order_to_match_by():
    whole = assemble([0, 1, 0], [0, 1, 1])
    parts = [assemble([0, 1, 0, 1], answers, missing="drop") for answers in ([0, None, 1, 1], [0, 1, None, 1])]
    assert not lost_rows(whole)
    assert all(map(lost_rows, parts))
    with pytest.raises(ValuesError, match="Rows with missing values were dropped from one, two") as refused:
        pair(parts, NAMES)
    assert "--id" in refused.value.hint
    with pytest.raises(ValuesError, match="were dropped from two"):
        pair([whole, parts[1]], NAMES)
    named = [assemble([0, 1, 0], [0, 1, None], id=[1, 2, 3], missing="drop") for _ in range(2)]
    assert pair(named, NAMES).n == 2
