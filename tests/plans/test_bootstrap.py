"""The bootstrap: what is drawn, what is left out, and training rows that need no memory."""

from __future__ import annotations

import math
import pickle
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.plans.drawn_cases import cases, pairs

from heldout import plans
from heldout.errors import OptionError
from heldout.plans import Cases, Splits


def test_about_632_of_1000_rows_are_drawn():
    n = 1000
    splits = plans.bootstrap(200).splits(Cases(np.arange(n) % 2, ("a", "b")))
    share = np.array([len(np.unique(train)) for train, _ in splits]) / n
    expected = 1 - (1 - 1 / n) ** n
    # The variance of the share of filled boxes is (1/e − 2/e²)/n; five standard errors of the mean of 200.
    assert share.mean() == pytest.approx(expected, abs=5 * math.sqrt((1 / math.e - 2 / math.e**2) / n / 200))
    assert share.std() == pytest.approx(math.sqrt((1 / math.e - 2 / math.e**2) / n), rel=0.3)


@given(cases(), st.booleans(), st.integers(0, 99))
def test_test_rows_are_exactly_those_left_out(drawn, stratified, seed):
    splits = plans.bootstrap(5, stratified=stratified).splits(drawn, seed)
    for train, test in splits:
        assert len(train) == drawn.n
        assert sorted({*train.tolist(), *test.tolist()}) == list(range(drawn.n))
        assert len(np.unique(drawn.truth[train])) > 1
        if stratified:
            assert (np.bincount(drawn.truth[train]) == np.bincount(drawn.truth)).all()


def test_a_draw_of_one_class_or_of_everything_is_drawn_again():
    # Of 4 rows with one of the rare class, about a third of all draws would train on one class alone.
    tiny = Cases(np.array([0, 0, 0, 1]), ("a", "b"))
    for train, test in plans.bootstrap(500).splits(tiny):
        assert 3 in train
        assert len(test)
    alone = plans.bootstrap(20).splits(Cases(np.zeros(3, dtype=np.int64), ("a",)))
    assert (alone.sizes > 0).all()


@pytest.mark.parametrize("truth", [[0, 1], [0], []], ids=str)
def test_rows_that_no_bootstrap_can_split(truth):
    with pytest.raises(OptionError, match=r"No bootstrap of .* trains on two classes and leaves a row out"):
        plans.bootstrap(2).splits(Cases(np.array(truth, dtype=np.int64), ("a", "b")))


def test_training_rows_are_drawn_when_asked_for():
    drawn = Cases(np.arange(2000) % 2, ("a", "b"))
    splits = plans.bootstrap(50).splits(drawn, 3)
    rows = splits.train_rows
    assert rows is not None
    assert len(rows) == 50
    assert len(pickle.dumps(rows)) < 3 * sys.getsizeof(drawn.truth), "what is kept does not grow with the draws"
    assert rows[4].tolist() == rows[4].tolist() == splits.train(4).tolist() == list(rows)[4].tolist()
    assert rows[-1].tolist() == rows[49].tolist()
    assert [part.tolist() for part in rows[1:3]] == [rows[1].tolist(), rows[2].tolist()]
    with pytest.raises(IndexError):
        rows[50]
    assert splits.train_sizes.tolist() == [2000] * 50
    stored = Splits.of(splits.n, [test for _, test in splits], [train for train, _ in splits])
    assert stored.fingerprint == splits.fingerprint
    assert pairs(pickle.loads(pickle.dumps(splits))) == pairs(splits)


def test_corrections_draw_the_same_rows():
    drawn = Cases(np.arange(50) % 2, ("a", "b"))
    fingerprints = {
        plan.splits(drawn, 1).fingerprint
        for plan in (plans.bootstrap(9), plans.bootstrap_632(9), plans.bootstrap_632_plus(9))
    }
    assert len(fingerprints) == 1
    assert plans.bootstrap_632(9).correction == ".632"
    assert plans.bootstrap(9, correction=".632+") == plans.bootstrap_632_plus(9)
