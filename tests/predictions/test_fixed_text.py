"""The fast path for NumPy's fixed-width text is exact for any labels."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from heldout.predictions import label_encoding
from heldout.predictions.label_encoding import encode, encode_fixed


def fast(array):
    found = encode_fixed(array)
    assert found is not None
    return found


def assert_exact(array):
    codes, labels = fast(array)
    assert labels.tolist() == sorted(set(array.tolist()))
    assert labels[codes].tolist() == array.tolist()


@given(st.lists(st.text(max_size=6), min_size=1, max_size=60))
def test_any_text_comes_back(values):
    array = np.array(values)
    coded = encode(array, "truth")
    assert [coded.labels[code] for code in coded.codes.tolist()] == array.tolist()
    assert list(coded.labels) == sorted(set(array.tolist()))


@given(st.lists(st.binary(max_size=6), min_size=1, max_size=60))
def test_any_bytes_come_back(values):
    array = np.array(values)
    assume(array.dtype.itemsize > 1 or array.any())
    assert_exact(array)


@given(st.sets(st.text("ab", min_size=1, max_size=12), min_size=2, max_size=300), st.integers(0, 2**32 - 1))
def test_labels_of_two_letters_stay_apart(labels, seed):
    rng = np.random.default_rng(seed)
    assert_exact(np.array(sorted(labels))[rng.integers(len(labels), size=400)])


@pytest.mark.parametrize("kind", ["U", "S"])
@pytest.mark.parametrize("count", [2, 100, 1000])
def test_many_rows_in_many_blocks(kind, count):
    rng = np.random.default_rng(count)
    labels = np.array([f"a label {i:05d} of many" for i in range(count)]).astype(kind)
    assert_exact(labels[rng.integers(count, size=3 * label_encoding.TEXT_BLOCK + 7)])


def test_labels_too_rare_for_the_sample_are_found():
    # Every third row is looked at first.
    array = np.full(2 * label_encoding.SAMPLE, "common", dtype="U12")
    array[::4] = "usual"
    array[1], array[778], array[-1] = "rare", "a rare one", "rare"
    codes, labels = fast(array)
    assert labels.tolist() == ["a rare one", "common", "rare", "usual"]
    assert np.bincount(codes).tolist() == [1, 3 * label_encoding.SAMPLE // 2 - 3, 2, label_encoding.SAMPLE // 2]
    assert labels[codes].tolist() == array.tolist()


def test_a_rare_label_that_differs_in_one_letter_is_not_mistaken():
    # The sample's labels are told apart by their last letter alone; the rare one shares it.
    array = np.array(["xa", "xb"] * label_encoding.SAMPLE)
    array[2] = "ya"
    codes, labels = fast(array)
    assert labels.tolist() == ["xa", "xb", "ya"]
    assert np.bincount(codes).tolist() == [label_encoding.SAMPLE - 1, label_encoding.SAMPLE, 1]


def test_where_it_would_not_be_fast_it_steps_aside():
    labels = np.array([f"{i}" for i in range(label_encoding.MOST_LABELS + 1)])
    assert encode_fixed(labels) is None
    assert encode_fixed(np.array(["a", "b"]).astype(">U1")) is None
    assert encode_fixed(np.array([], dtype="U3")) is None
    # Two rows of three hold labels that the sample missed.
    hidden = np.array([f"{i}" for i in range(2 * label_encoding.SAMPLE)])
    hidden[::3] = "known"
    assert encode_fixed(hidden) is None
    for array in (labels, hidden):
        coded = encode(array, "truth")
        assert [coded.labels[code] for code in coded.codes.tolist()] == array.tolist()
