"""Folds and parts in which every class has its share, repetitions, time order and leaving out."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from tests.plans.drawn_cases import cases, is_partition, pairs

from heldout import plans
from heldout.plans import Cases
from heldout.plans.strata_and_groups import apportion


@given(cases(fewest=7, most=40), st.integers(2, 7), st.integers(0, 99))
def test_every_class_is_spread_evenly_over_the_folds(drawn, k, seed):
    splits = plans.kfold(k).splits(drawn, seed)
    table = np.array([np.bincount(drawn.truth[test], minlength=len(drawn.labels)) for _, test in splits])
    assert (np.ptp(table, axis=0) <= 1).all()
    assert np.ptp(table.sum(axis=1)) <= 1


def test_a_declared_class_that_never_occurs_is_not_missed():
    truth = np.array([0, 2] * 10)
    assert len(plans.kfold(10).splits(Cases(truth, ("a", "never", "c")))) == 10
    assert len(plans.holdout().splits(Cases(truth, ("a", "never", "c")))) == 1


def test_more_than_256_folds_and_classes():
    truth = np.repeat(np.arange(300), 300)
    splits = plans.kfold(300).splits(Cases(truth, tuple(range(300))))
    assert len(splits) == 300
    assert all((np.bincount(truth[test], minlength=300) == 1).all() for _, test in splits)


@given(cases(fewest=10), st.integers(0, 99))
def test_the_first_repetition_is_the_plan_without_repetitions(drawn, seed):
    repeated = plans.kfold(10, repeats=3).splits(drawn, seed)
    once = plans.kfold(10).splits(drawn, seed)
    assert pairs(repeated)[:10] == pairs(once)
    assert pairs(plans.subsampling(4).splits(drawn, seed))[:1] == pairs(plans.holdout().splits(drawn, seed))
    assert len({str(pairs(repeated)[i : i + 10]) for i in (0, 10, 20)}) == 3
    assert repeated.repeat.tolist() == [0] * 10 + [1] * 10 + [2] * 10
    assert repeated.fold.tolist() == list(range(10)) * 3


def test_every_row_lands_in_every_fold_sooner_or_later():
    # With 3 rows of each class and 3 folds, all 6 places of a class's rows are equally likely.
    drawn = Cases(np.array([0, 0, 0, 1, 1, 1]), ("a", "b"))
    met: dict[tuple[int, ...], int] = {}
    for seed in range(1200):
        splits = plans.kfold(3).splits(drawn, seed)
        key = tuple(int(splits.split_of[splits.test_rows == row][0]) for row in range(3))
        met[key] = met.get(key, 0) + 1
    assert len(met) == 6
    # Binomial(1200, 1/6): five standard deviations around 200.
    assert all(abs(count - 200) < 5 * math.sqrt(1200 * 5 / 36) for count in met.values())


@given(cases(fewest=2, most=40), st.floats(0, 1, exclude_min=True, exclude_max=True), st.booleans(), st.integers(0, 99))
def test_the_training_part_has_the_size_asked_for(drawn, share, stratified, seed):
    splits = plans.subsampling(3, share, stratified=stratified).splits(drawn, seed)
    assert set(splits.train_sizes.tolist()) == {min(max(round(share * drawn.n), 1), drawn.n - 1)}
    assert splits.repeat.tolist() == [0, 1, 2]


@given(st.lists(st.integers(2, 60), min_size=1, max_size=6), st.data())
def test_shares_of_a_total(counts, data):
    counts = np.array(counts)
    n, classes = int(counts.sum()), len(counts)
    total = data.draw(st.integers(1, n - 1))
    part, quota = apportion(counts, total), counts * total / n
    assert part.sum() == total
    assert (part >= 0).all()
    assert (part <= counts).all()
    if classes <= total <= n - classes:
        assert (part >= 1).all()
        assert (part < counts).all()
    if (quota >= 1).all() and (quota <= counts - 1).all():
        # Largest remainder, written out: whole parts first, then one each by the size of what was cut off.
        whole = np.floor(quota).astype(int)
        rest = sorted(range(classes), key=lambda i: -(quota[i] - whole[i]))[: total - whole.sum()]
        assert (np.abs(part - quota) < 1).all()
        remainders = np.sort((quota - whole)[part > whole])
        assert remainders == pytest.approx(np.sort((quota - whole)[rest]))


def test_leave_one_out_keeps_no_training_rows():
    splits = plans.leave_one_out().splits(Cases(np.arange(100_000) % 2, (0, 1)))
    assert splits.train_rows is None
    assert len(splits) == 100_000
    assert is_partition(splits)
    assert splits.train(7).tolist()[:9] == [0, 1, 2, 3, 4, 5, 6, 8, 9]
    assert splits.label(2) == "fold 3"


def test_leaving_p_out():
    drawn = Cases(np.array([0, 1, 0, 1, 1]), ("a", "b"))
    splits = plans.leave_p_out(2).splits(drawn)
    assert len(splits) == 10
    assert (splits.times_tested == 4).all()
    assert splits.label(6) == "split 7"
    assert pairs(plans.leave_p_out(1).splits(drawn)) == pairs(plans.leave_one_out().splits(drawn))
    assert is_partition(plans.leave_p_out(1).splits(drawn))


@given(st.integers(1, 6), st.integers(0, 4), st.integers(20, 60))
def test_time_goes_one_way(folds, gap, n):
    assume(n - folds * (n // (folds + 1)) > gap)
    splits = plans.time_ordered(folds, gap=gap).splits(Cases(np.zeros(n, dtype=np.int64), ("a",)))
    assert len(splits) == folds
    assert splits.test(folds - 1)[-1] == n - 1
    assert np.diff(splits.test_rows).tolist() == [1] * (len(splits.test_rows) - 1)
    for train, test in splits:
        assert train.tolist() == list(range(test[0] - gap))
    assert set(splits.repeat.tolist()) == {0}


def test_a_fold_column():
    drawn = Cases(np.array([0, 1, 0, 1, 1]), ("a", "b"))
    plan = plans.by_column([10, 9, 10, 9, 11], name="site")
    splits = plan.splits(drawn)
    assert plan.text == "column site"
    assert plan.names == (9, 10, 11)
    assert [test.tolist() for _, test in splits] == [[1, 3], [0, 2], [4]]
    assert is_partition(splits)


@pytest.mark.parametrize(
    "values",
    [
        ["x", "y", "x"],
        np.array([True, False, True]),
        [1.5, 0.5, 1.5],
        np.array(["2024-01-02", "2023-05-01", "2024-01-02"], dtype="datetime64[D]"),
    ],
    ids=lambda values: str(np.asarray(values).dtype),
)
def test_fold_columns_hold_labels_of_any_kind(values):
    splits = plans.by_column(values).splits(Cases(np.array([0, 1, 0]), ("a", "b")))
    tests = [test.tolist() for _, test in splits]
    assert tests == ([[0, 2], [1]] if values[0] == "x" else [[1], [0, 2]])


def test_a_fold_column_of_a_frame_brings_its_name():
    import pandas as pd
    import polars as pl

    column = pd.Categorical(["b", "a", "b"], categories=["b", "never", "a"])
    assert plans.by_column(pd.Series(column, name="part")).names == ("a", "b")
    assert plans.by_column(pd.Series(column, name="part")).text == "column part"
    assert plans.by_column(pl.Series("part", [3, 1, 3])).text == "column part"
    dates = pd.Series(pd.to_datetime(["2024-01-02", "2023-05-01"]), name="day")
    assert plans.by_column(dates).folds.tolist() == [1, 0]
