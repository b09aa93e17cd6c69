"""Groups: never on both sides of a split, and as well balanced as whole groups allow."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.model_selection import StratifiedGroupKFold
from tests.plans.drawn_cases import cases, is_partition

from heldout import plans
from heldout.errors import OptionError
from heldout.plans import Cases, Splits

KEEPING = [
    plans.kfold(5),
    plans.kfold(5, stratified=False),
    plans.kfold(2, repeats=3),
    plans.holdout(),
    plans.holdout(0.5, stratified=False),
    plans.subsampling(5, 0.9),
    plans.subsampling(5, 0.01),
    plans.bootstrap(5),
    plans.bootstrap_632_plus(5),
    plans.leave_one_group_out(),
    plans.nested("3-fold", "2-fold"),
]


@pytest.mark.parametrize("plan", KEEPING, ids=str)
@settings(max_examples=30)
@given(drawn=cases(grouped=True), seed=st.integers(0, 99))
def test_no_group_is_on_both_sides(plan, drawn, seed):
    splits = plan.splits(drawn, seed)
    for train, test in splits:
        assert len(train)
        assert len(test)
        assert not set(drawn.group[train].tolist()) & set(drawn.group[test].tolist())
    assert splits.shared_groups(drawn.group) == 0
    assert plan.splits(drawn, seed).fingerprint == splits.fingerprint


@given(cases(grouped=True), st.integers(2, 6), st.booleans(), st.integers(0, 99))
def test_grouped_folds_are_a_partition_without_empty_folds(drawn, k, stratified, seed):
    # Every class has 5 cases, which is too few to stratify 6 folds.
    splits = plans.kfold(k, stratified=stratified and k < 6).splits(drawn, seed)
    assert len(splits) == k
    assert (splits.sizes > 0).all()
    assert is_partition(splits)


def test_another_seed_makes_other_folds_of_groups():
    drawn = Cases(np.tile([0, 1], 60), ("a", "b"), np.repeat(np.arange(30), 4))
    for plan in (plans.kfold(5), plans.kfold(5, stratified=False), plans.holdout(), plans.bootstrap(5)):
        assert len({plan.splits(drawn, seed).fingerprint for seed in range(10)}) == 10
        together = {frozenset(plan.splits(drawn, seed).test(0).tolist()) for seed in range(10)}
        assert len(together) > 5, "not only the numbers of the folds change"


def unevenness(splits: Splits, truth: np.ndarray) -> float:
    table = np.array([np.bincount(truth[test], minlength=truth.max() + 1) for _, test in splits])
    return float(np.mean(np.std(table / table.sum(axis=0), axis=0)))


def test_classes_are_as_even_as_with_the_other_library():
    # Groups of one class each, few and of very different sizes: the hard case.
    ours, theirs = [], []
    for seed in range(20):
        random = np.random.default_rng(seed)
        size = random.integers(1, 40, 40)
        group = np.repeat(np.arange(40), size)
        truth = np.repeat(random.integers(0, 3, 40), size)
        drawn = Cases(truth, ("a", "b", "c"), group)
        ours.append(unevenness(plans.kfold(5).splits(drawn, seed), truth))
        splitter = StratifiedGroupKFold(5, shuffle=True, random_state=seed)
        theirs.append(unevenness(plans.given(splitter).splits(drawn), truth))
    assert np.mean(ours) <= 1.05 * np.mean(theirs)


def test_unstratified_folds_have_even_sizes():
    group = np.repeat(np.arange(20), np.arange(1, 21))
    splits = plans.kfold(5, stratified=False).splits(Cases(np.zeros(210, dtype=np.int64), ("a",), group))
    assert splits.sizes.tolist() == pytest.approx([42] * 5, abs=2)


def test_a_holdout_of_groups_is_near_the_share_and_stratified():
    random = np.random.default_rng(0)
    size = random.integers(1, 9, 400)
    kind = random.integers(0, 4, 400) == 0
    group, truth = np.repeat(np.arange(400), size), np.repeat(kind.astype(np.int64), size)
    drawn = Cases(truth, ("a", "b"), group)
    for seed in range(10):
        splits = plans.holdout(0.7).splits(drawn, seed)
        for label in (0, 1):
            rows = np.flatnonzero(truth == label)
            held = np.isin(rows, splits.test(0)).sum()
            assert abs(held - 0.3 * len(rows)) <= 10


def test_a_bootstrap_draws_whole_groups():
    group = np.repeat(np.arange(50), 3)
    splits = plans.bootstrap(20).splits(Cases(np.arange(150) % 2, ("a", "b"), group))
    for train, test in splits:
        times = np.bincount(train, minlength=150).reshape(50, 3)
        assert (np.ptp(times, axis=1) == 0).all()
        assert times[:, 0].sum() == 50
        assert sorted(set(group[test].tolist())) == np.flatnonzero(times[:, 0] == 0).tolist()
    uneven = plans.bootstrap(5).splits(Cases(np.arange(10) % 2, ("a", "b"), np.repeat(np.arange(4), [1, 2, 3, 4])))
    assert uneven.train_sizes.tolist() == [len(train) for train, _ in uneven]


@pytest.mark.parametrize(
    ("plan", "hint"),
    [
        (plans.leave_one_out(), "leave-one-group-out"),
        (plans.leave_p_out(2), "leave-one-group-out"),
        (plans.weka(2), "'2-fold'"),
        (plans.time_ordered(2), "leave-one-group-out"),
        (plans.bootstrap(5, stratified=True), "'bootstrap'"),
    ],
    ids=str,
)
def test_plans_that_would_tear_groups_apart_refuse(plan, hint):
    drawn = Cases(np.array([0, 1, 0, 1]), ("a", "b"), np.array([0, 0, 1, 1]))
    with pytest.raises(OptionError, match="The rows have groups, and") as caught:
        plan.splits(drawn)
    assert hint in caught.value.hint
    assert "leave the groups out" in caught.value.hint


def test_too_few_groups():
    drawn = Cases(np.arange(40) % 2, ("a", "b"), np.arange(40) % 3)
    with pytest.raises(OptionError, match="There are 3 groups, and a plan of 10 folds needs at least 10"):
        plans.kfold(10).splits(drawn)
    alone = Cases(np.arange(40) % 2, ("a", "b"), np.zeros(40, dtype=np.int64))
    for plan in (plans.holdout(), plans.bootstrap(3), plans.leave_one_group_out()):
        with pytest.raises(OptionError, match=r"There is 1 group, and .* needs at least 2"):
            plan.splits(alone)


def test_leaving_out_groups_needs_groups():
    with pytest.raises(OptionError, match="needs groups, and the rows have none"):
        plans.leave_one_group_out().splits(Cases(np.array([0, 1]), ("a", "b")))


@given(cases(grouped=True), st.integers(0, 99), st.booleans())
def test_shared_groups_are_counted(drawn, seed, explicit):
    splits = plans.kfold(3, stratified=False).splits(Cases(drawn.truth, drawn.labels), seed)
    if explicit:
        splits = Splits.of(drawn.n, [test for _, test in splits], [train for train, _ in splits])
    expected = sum(bool(set(drawn.group[train].tolist()) & set(drawn.group[test].tolist())) for train, test in splits)
    assert splits.shared_groups(drawn.group) == expected
