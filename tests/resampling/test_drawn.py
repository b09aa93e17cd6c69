"""The training rows that are predicted too: distinct, outside the test rows, drawn fairly."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.resampling.making import leave_one_out

from heldout.plans.plan import Splits
from heldout.resampling.split_task import count_wanted, sample_listed_rows, sample_training_rows


@settings(max_examples=60, deadline=None)
@given(st.integers(2, 400), st.integers(2, 400), st.integers(0, 10**6))
def test_each_split_draws_as_many_distinct_training_rows_as_it_wants(n, k, seed):
    rng = np.random.default_rng(seed)
    numbers = rng.integers(0, k, size=n)
    numbers = np.unique(numbers, return_inverse=True)[1]
    if numbers.max() == 0:
        numbers[0] = 1
    splits = Splits.partition(numbers)
    drawn = sample_training_rows(splits, seed)
    for i, (train, test) in enumerate(splits):
        rows = drawn.of(i)
        assert len(rows) == len(np.unique(rows)) == count_wanted(len(train), len(test), len(splits))
        assert np.isin(rows, train).all()


def test_every_training_row_is_equally_likely():
    splits = Splits.of(40, [np.array([5, 30])] * 2000)
    drawn = sample_training_rows(splits, 1)
    counts = np.bincount(drawn.rows, minlength=40)
    assert counts[[5, 30]].tolist() == [0, 0]
    others = np.delete(counts, [5, 30])
    # Two of 38 in each of 2,000 splits: 105 expected, standard deviation 10.
    assert abs(others - 4000 / 38).max() < 5 * 10


def test_leave_one_out_of_many_draws_one_row_each():
    drawn = sample_training_rows(leave_one_out(3000), 0)
    assert np.diff(drawn.bounds).tolist() == [1] * 3000
    assert (drawn.rows != np.arange(3000)).all()


def test_listed_training_rows_are_drawn_once_each():
    train = np.array([3, 3, 5, 7, 7, 7])
    rows = sample_listed_rows(train, np.array([1, 2]), 0, 1, seed=0)
    assert rows is not None
    assert sorted(rows) == [3, 5, 7]
    assert sample_listed_rows(train, np.array([7, 5, 3]), 0, 1, seed=0) is None
