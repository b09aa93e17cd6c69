"""Splits made elsewhere: those of every scikit-learn splitter, row by row, and pairs of rows."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from sklearn import model_selection as ms
from tests.plans.drawn_cases import is_partition, pairs

from heldout import plans
from heldout.errors import OptionError
from heldout.plans import Cases

N = 30
RANDOM = np.random.default_rng(5)
TRUTH = RANDOM.permutation(np.repeat([0, 1, 2], [12, 10, 8]))
# Neither in the order of their codes, so that a splitter which sorts them sees the difference.
LABELS = ("beta", "gamma", "alpha")
GROUP = RANDOM.integers(0, 6, N)
GROUP_NAMES = ("u", "z", "v", "y", "w", "x")
CASES = Cases(TRUTH, LABELS, GROUP, GROUP_NAMES)
SPLITTERS = [
    ms.KFold(4),
    ms.KFold(4, shuffle=True, random_state=1),
    ms.StratifiedKFold(4),
    ms.StratifiedKFold(4, shuffle=True, random_state=1),
    ms.GroupKFold(3),
    ms.StratifiedGroupKFold(3),
    ms.ShuffleSplit(5, random_state=2),
    ms.StratifiedShuffleSplit(5, random_state=2),
    ms.GroupShuffleSplit(5, random_state=2),
    ms.LeaveOneOut(),
    ms.LeavePOut(2),
    ms.LeaveOneGroupOut(),
    ms.LeavePGroupsOut(2),
    ms.TimeSeriesSplit(4),
    ms.TimeSeriesSplit(4, gap=2),
    ms.RepeatedKFold(n_splits=3, n_repeats=2, random_state=3),
    ms.RepeatedStratifiedKFold(n_splits=3, n_repeats=2, random_state=3),
    ms.PredefinedSplit(np.arange(N) % 3 - 1),
]


def own(splitter):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        return pairs(splitter.split(np.zeros((N, 1)), np.array(LABELS)[TRUTH], np.array(GROUP_NAMES)[GROUP]))


@pytest.mark.parametrize("splitter", SPLITTERS, ids=repr)
def test_the_rows_are_the_splitters_own(splitter):
    assert pairs(plans.given(splitter).splits(CASES)) == own(splitter)
    assert pairs(plans.read_plan(splitter).splits(CASES)) == own(splitter)
    assert pairs(plans.given(own(splitter)).splits(CASES)) == own(splitter)


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        (plans.leave_one_out(), ms.LeaveOneOut()),
        (plans.leave_p_out(3), ms.LeavePOut(3)),
        (plans.time_ordered(4), ms.TimeSeriesSplit(4)),
        (plans.time_ordered(3, gap=2), ms.TimeSeriesSplit(3, gap=2)),
        (plans.by_column(np.arange(N) % 4), ms.PredefinedSplit(np.arange(N) % 4)),
    ],
    ids=str,
)
def test_plans_that_draw_nothing_agree_with_the_splitters(ours, theirs):
    alone = Cases(TRUTH, LABELS)
    assert pairs(ours.splits(alone)) == pairs(theirs.split(np.zeros((N, 1)), TRUTH))
    assert ours.splits(alone).fingerprint == plans.given(theirs).splits(alone).fingerprint


def test_leaving_out_groups_agrees():
    # Groups come in the order of their numbers here, and of their names there.
    numbered = Cases(TRUTH, LABELS, GROUP)
    splitter = ms.LeaveOneGroupOut().split(np.zeros((N, 1)), TRUTH, GROUP)
    assert pairs(plans.leave_one_group_out().splits(numbered)) == pairs(splitter)


@pytest.mark.parametrize(
    ("splitter", "factor"),
    [
        (ms.ShuffleSplit(1, random_state=0), 1.0),
        (ms.KFold(5), 1.5),
        (ms.TimeSeriesSplit(4), 1.5),
        (ms.RepeatedKFold(n_splits=3, n_repeats=2, random_state=0), 1.2),
        (ms.ShuffleSplit(5, test_size=0.5, random_state=0), 1.2),
    ],
    ids=str,
)
def test_the_factor_is_told_from_the_splits(splitter, factor):
    plan = plans.given(splitter)
    assert plan.factor_of(plan.splits(CASES)) == factor
    assert plans.nested(plan, "3-fold").factor_of(plan.splits(CASES)) == factor


def test_repetitions_are_recognised():
    repeated = plans.given(ms.RepeatedKFold(n_splits=3, n_repeats=2, random_state=0)).splits(CASES)
    assert repeated.repeat.tolist() == [0, 0, 0, 1, 1, 1]
    assert repeated.fold.tolist() == [0, 1, 2, 0, 1, 2]
    assert plans.given(ms.TimeSeriesSplit(3)).splits(CASES).repeat.tolist() == [0, 0, 0]
    assert plans.given(ms.ShuffleSplit(4, test_size=0.5, random_state=0)).splits(CASES).repeat.tolist() == [0, 1, 2, 3]
    assert is_partition(plans.given(ms.KFold(5)).splits(CASES))
    # The last two test every row once, but the first does not.
    uneven = plans.given([([1], [0]), ([1], [0]), ([0], [1])]).splits(Cases(np.array([0, 1]), ("a", "b")))
    assert uneven.repeat.tolist() == [0, 1, 2]


@pytest.mark.parametrize(
    "splitter",
    [
        ms.KFold(4, shuffle=True),
        ms.ShuffleSplit(3),
        ms.KFold(4, shuffle=True, random_state=np.random.RandomState(1)),
        ms.RepeatedStratifiedKFold(n_splits=2, n_repeats=2),
    ],
    ids=lambda splitter: type(splitter).__name__,
)
def test_a_splitter_without_a_seed_uses_ours(splitter):
    plan = plans.given(splitter)
    assert plan.splits(CASES, 1).fingerprint == plan.splits(CASES, 1).fingerprint
    if splitter.random_state is None:
        assert plan.splits(CASES, 1).fingerprint != plan.splits(CASES, 2).fingerprint
        assert plans.read_plan(splitter, seed=1).splits(CASES, 2).fingerprint == plan.splits(CASES, 1).fingerprint
        assert splitter.random_state is None, "the caller's object is left alone"


def test_splitters_that_ignore_groups_are_found_out():
    assert plans.given(ms.KFold(3)).splits(CASES).shared_groups(GROUP) == 3
    assert plans.given(ms.GroupKFold(3)).splits(CASES).shared_groups(GROUP) == 0


def test_rows_may_be_masks_generators_or_lists():
    mask = np.arange(4) < 2
    for given in ([(mask, ~mask)], (pair for pair in [([0, 1], [2, 3])]), np.array([[[0, 1], [2, 3]]])):
        assert pairs(plans.given(given).splits(Cases(np.array([0, 1, 0, 1]), ("a", "b")))) == [([0, 1], [2, 3])]


def test_training_rows_keep_their_order_and_repetitions():
    four = Cases(np.array([0, 1, 0, 1]), ("a", "b"))
    assert pairs(plans.given([([1, 0], [3, 2]), ([2, 2, 3], [0, 1])]).splits(four)) == [
        ([1, 0], [3, 2]),
        ([2, 2, 3], [0, 1]),
    ]


def test_texts():
    assert plans.given(ms.KFold(5)).text == "KFold(n_splits=5, random_state=None, shuffle=False)"
    assert plans.given([([0], [1])]).text == "1 given split"
    assert plans.given(7) == plans.kfold(7) == plans.read_plan(7) == plans.read_plan(np.int64(7))

    class Mine:
        def split(self, X, _truth, _groups):
            yield np.arange(1, len(X)), np.array([0])

    assert plans.given(Mine()).text == "Mine"
    assert pairs(plans.given(Mine()).splits(CASES)) == [(list(range(1, N)), [0])]


@pytest.mark.parametrize(
    ("given", "says"),
    [
        (ms.KFold, "KFold is a class, not a splitter"),
        (None, "A plan cannot be made of None"),
        (True, "A plan cannot be made of True"),
        (2.5, "A plan cannot be made of 2.5"),
        ([], "There are no splits"),
        ([1, 2], "Split 1 is of type int"),
        ([([0], [1]), ([0], [1], [2])], "Split 2 is 3 things"),
        ({"a": 1}, "Split 1 is of type str"),
        (1, "The number of folds must be at least 2"),
    ],
    ids=str,
)
def test_what_is_no_splitter(given, says):
    with pytest.raises(OptionError) as caught:
        plans.given(given)
    assert says in caught.value.what
    assert caught.value.hint.endswith(".")


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ([([0], [4])], "The test rows of split 1 hold 4, and there are 4 rows: 0 to 3."),
        ([([0], [1]), ([-1], [1])], "The training rows of split 2 hold -1, and there are 4 rows: 0 to 3."),
        ([([], [1])], "The training rows of split 1 are none."),
        ([([0], [])], "The test rows of split 1 are none."),
        ([(["a"], [1])], "The training rows of split 1 must be row numbers counted from 0."),
        ([([0.5], [1])], "The training rows of split 1 must be row numbers counted from 0."),
        ([([[0]], [1])], "Got int64 of 2 dimensions."),
        (ms.KFold(5), "cannot split 4 rows: Cannot have number of splits n_splits=5 greater"),
        (ms.GroupKFold(2), "cannot split 4 rows: The 'groups' parameter should not be None."),
        (ms.PredefinedSplit([-1, -1, -1, -1]), "makes no splits of 4 rows."),
    ],
    ids=str,
)
def test_splits_that_cannot_be(given, says):
    with pytest.raises(OptionError) as caught:
        plans.given(given).splits(Cases(np.array([0, 1, 0, 1]), ("a", "b")))
    assert says in caught.value.what
    assert caught.value.hint.endswith(".")
    if isinstance(given, ms.GroupKFold):
        assert "group=" in caught.value.hint


def test_labels_that_do_not_sort_are_passed_as_numbers():
    mixed = Cases(np.array([0, 1, 0, 1]), ("a", 1))
    assert len(plans.given(ms.StratifiedKFold(2)).splits(mixed)) == 2
