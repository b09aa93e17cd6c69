"""What holds for every plan: who may test whom, seeds, fingerprints, and texts that read back."""

from __future__ import annotations

import dataclasses
import pickle
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.plans.drawn_cases import cases, is_partition, pairs

from heldout import plans
from heldout.intervals.dependence import FOLD_TARGET
from heldout.plans import Plan, read_plan

DRAWING = [
    plans.kfold(5),
    plans.kfold(5, stratified=False),
    plans.kfold(2, repeats=5),
    plans.holdout(),
    plans.holdout(0.5, stratified=False),
    plans.subsampling(7),
    plans.subsampling(7, 0.8, stratified=False),
    plans.bootstrap(6),
    plans.bootstrap(6, stratified=True),
    plans.bootstrap_632(6),
    plans.bootstrap_632_plus(6),
    plans.nested(plans.kfold(3), plans.kfold(2)),
]
FIXED = [
    plans.leave_one_out(),
    plans.leave_p_out(2),
    plans.resubstitution(),
    plans.time_ordered(3, gap=1),
    plans.weka(4),
]
PARTITIONS = [
    plans.kfold(5),
    plans.kfold(5, stratified=False),
    plans.kfold(5, repeats=3),
    plans.leave_one_out(),
    plans.weka(4),
]
named = pytest.mark.parametrize


def by_text(plan: Plan) -> str:
    return plan.text


@named("plan", [*DRAWING, *FIXED], ids=by_text)
@settings(max_examples=30)
@given(drawn=cases(), seed=st.integers(0, 99))
def test_rows_are_tested_by_models_that_never_saw_them(plan, drawn, seed):
    splits = plan.splits(drawn, seed)
    assert splits.n == drawn.n
    assert len(splits) == len(splits.repeat) == len(splits.fold) == len(splits.sizes)
    for i, (train, test) in enumerate(splits):
        assert train.dtype == test.dtype == np.int64
        assert len(train) == splits.train_sizes[i] > 0
        assert len(test) == splits.sizes[i] > 0
        assert 0 <= min(train.min(), test.min()) <= max(train.max(), test.max()) < drawn.n
        assert len(set(test.tolist())) == len(test)
        shared = set(train.tolist()) & set(test.tolist())
        assert (len(shared) == drawn.n) if plan.kind == "resubstitution" else not shared
    assert (splits.shared_rows > 0) == (plan.kind == "resubstitution")
    assert len({(int(r), int(f)) for r, f in zip(splits.repeat, splits.fold, strict=True)}) == len(splits)


@named("plan", PARTITIONS, ids=by_text)
@settings(max_examples=30)
@given(drawn=cases(), seed=st.integers(0, 99))
def test_every_repetition_of_a_partition_tests_every_row_once(plan, drawn, seed):
    splits = plan.splits(drawn, seed)
    for repeat in set(splits.repeat.tolist()):
        tested = np.concatenate([splits.test(i) for i in np.flatnonzero(splits.repeat == repeat)])
        assert sorted(tested.tolist()) == list(range(drawn.n))
    assert is_partition(splits) == (getattr(plan, "repeats", 1) == 1)
    # Folds differ in size by one row at most.
    if plan.kind != "leave-one-out":
        assert np.ptp(splits.sizes) <= 1


@named("plan", DRAWING, ids=by_text)
@settings(max_examples=30)
@given(drawn=cases(fewest=12), seed=st.integers(0, 99))
def test_the_seed_alone_decides(plan, drawn, seed):
    first, again, other = (plan.splits(drawn, s) for s in (seed, seed, seed + 1))
    assert pairs(first) == pairs(again)
    assert first.fingerprint == again.fingerprint != other.fingerprint
    # A seed of the plan's own goes before the one it is given.
    assert plan.seeded(seed).splits(drawn, seed + 1).fingerprint == first.fingerprint
    assert plan.seeded(seed).seed == seed
    assert plan.seeded(seed).seeded(seed + 1) == plan.seeded(seed)


@named("plan", FIXED, ids=by_text)
@settings(max_examples=30)
@given(drawn=cases())
def test_plans_that_draw_nothing_need_no_seed(plan, drawn):
    assert plan.splits(drawn, 1).fingerprint == plan.splits(drawn, 2).fingerprint
    assert plan.seeded(3) is plan


@named("plan", [*DRAWING, *FIXED], ids=by_text)
def test_every_plan_declares_itself(plan):
    assert plan.kind
    assert 1 <= plan.factor <= 1.5
    assert "error" in plan.target
    assert str(plan) == plan.text
    with pytest.raises(dataclasses.FrozenInstanceError):
        setattr(plan, dataclasses.fields(plan)[0].name if dataclasses.fields(plan) else "kind", 3)
    assert pickle.loads(pickle.dumps(plan)) == plan


seeds = st.none() | st.integers(0, 2**40)
shares = st.fractions(0, 1, max_denominator=2000).filter(lambda f: 0 < f < 1).map(float) | st.floats(
    0, 1, exclude_min=True, exclude_max=True
)
simple = st.one_of(
    st.builds(plans.kfold, st.integers(2, 99), repeats=st.integers(1, 20), stratified=st.booleans(), seed=seeds),
    st.builds(plans.holdout, shares, stratified=st.booleans(), seed=seeds),
    st.builds(plans.subsampling, st.integers(1, 999), shares, stratified=st.booleans(), seed=seeds),
    st.builds(
        plans.bootstrap,
        st.integers(1, 9999),
        stratified=st.booleans(),
        correction=st.sampled_from(["", ".632", ".632+"]),
        seed=seeds,
    ),
    st.builds(plans.leave_p_out, st.integers(1, 9)),
    st.builds(plans.time_ordered, st.integers(1, 30), gap=st.integers(0, 9)),
    st.builds(plans.weka, st.integers(2, 20), st.integers(-9, 2**40)),
    st.sampled_from([plans.leave_one_out(), plans.leave_one_group_out(), plans.resubstitution()]),
)


@named("written", [simple, st.builds(plans.nested, simple, simple)], ids=["simple", "nested"])
@settings(max_examples=200)
@given(data=st.data())
def test_a_text_reads_back_to_an_equal_plan(written, data):
    plan = data.draw(written)
    for text in (plan.text, plan.text.upper(), f"  {plan.text} ", plan.text.replace(" x ", " × ")):
        assert read_plan(text) == plan
        assert type(read_plan(text)) is type(plan)


@given(st.fractions(Fraction(1, 50), Fraction(49, 50), max_denominator=50))
def test_shares_read_as_they_are_written(share):
    text = f"{share.numerator}/{share.denominator}"
    assert read_plan(f"holdout {text}") == plans.holdout(share.numerator / share.denominator)


@named(
    ("plan", "factor"),
    [
        (plans.kfold(10), 1.5),
        (plans.kfold(10, repeats=2), 1.2),
        (plans.leave_one_out(), 1.5),
        (plans.leave_p_out(2), 1.5),
        (plans.time_ordered(), 1.5),
        (plans.leave_one_group_out(), 1.5),
        (plans.by_column([1, 2]), 1.5),
        (plans.weka(), 1.5),
        (plans.subsampling(), 1.2),
        (plans.bootstrap(), 1.2),
        (plans.bootstrap_632(), 1.2),
        (plans.bootstrap_632_plus(), 1.2),
        (plans.holdout(), 1.0),
        (plans.nested("holdout", "10-fold"), 1.0),
    ],
    ids=str,
)
def test_factors(plan, factor):
    assert plan.factor == factor
    drawn = plans.Cases(np.array([0, 1] * 20), ("a", "b"), None)
    if plan.kind not in {"column", "leave-one-group-out"}:
        assert plan.factor_of(plan.splits(drawn)) == factor


def test_which_error_is_estimated():
    for plan in (plans.kfold(10), plans.kfold(5, repeats=3), plans.leave_one_out(), plans.by_column([1, 2, 1, 2])):
        assert plan.target == FOLD_TARGET, "one sentence, whoever made the folds"
    assert "on average over training sets" in FOLD_TARGET
    assert "model trained on all" not in FOLD_TARGET, "Bates, Hastie & Tibshirani (2023)"
    assert "one model trained on the training part" in plans.holdout().target
    assert "biased upward" in plans.subsampling().target
    assert "biased upward" in plans.bootstrap().target
    assert "biased" not in plans.bootstrap_632_plus().target
    assert "optimistic" in plans.resubstitution().target
    assert plans.nested("10-fold", "5-fold").target == plans.kfold(10).target


def test_nested_plans_keep_the_outer_splits_and_the_inner_plan():
    drawn = plans.Cases(np.array([0, 1] * 20), ("a", "b"))
    plan = plans.nested(".632+ 5 seed 3", "5-fold")
    assert plan.inner == plans.kfold(5)
    assert plan.correction == ".632+"
    assert plan.seed == 3
    assert plan.splits(drawn).fingerprint == plan.outer.splits(drawn).fingerprint
    assert plan.seeded(8) == plans.nested(".632+ 5 seed 3", "5-fold seed 8")


def test_names_are_sorted_and_all_there():
    assert plans.__all__ == sorted(plans.__all__)
    for name in plans.__all__:
        assert getattr(plans, name).__doc__
