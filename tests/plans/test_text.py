"""Plans as people write them, and what is said of those that cannot be read or used."""

from __future__ import annotations

import math

import numpy as np
import pytest

from heldout import plans
from heldout.errors import ColumnError, HeldoutError, LabelError, OptionError
from heldout.plans import Cases, read_plan
from heldout.plans.parser import EXAMPLES


@pytest.mark.parametrize(
    ("text", "plan"),
    [
        ("10-fold", plans.kfold(10)),
        ("5", plans.kfold(5)),
        ("10 fold", plans.kfold(10)),
        ("10 folds", plans.kfold(10)),
        ("10-Fold Cross-Validation", plans.kfold(10)),
        ("10-fold CV", plans.kfold(10)),
        ("10‑fold", plans.kfold(10)),
        ("5x2-fold", plans.kfold(2, repeats=5)),
        ("5 x 2-fold", plans.kfold(2, repeats=5)),
        ("5×2-fold", plans.kfold(2, repeats=5)),
        ("10x10-fold", plans.kfold(10, repeats=10)),
        ("10-fold unstratified", plans.kfold(10, stratified=False)),
        ("10-fold, unstratified, seed 3", plans.kfold(10, stratified=False, seed=3)),
        ("10-fold seed 3 unstratified", plans.kfold(10, stratified=False, seed=3)),
        ("holdout", plans.holdout()),
        ("hold-out", plans.holdout()),
        ("holdout 2/3", plans.holdout(2 / 3)),
        ("holdout 0.7", plans.holdout(0.7)),
        ("holdout 70%", plans.holdout(0.7)),
        ("holdout 33.3%", plans.holdout(0.333)),
        ("30 x holdout 2/3", plans.subsampling(30)),
        ("30x holdout", plans.subsampling(30)),
        ("subsampling", plans.subsampling()),
        ("subsampling 20", plans.subsampling(20)),
        ("subsampling 3/4", plans.subsampling(30, 0.75)),
        ("subsampling 30 2/3", plans.subsampling(30)),
        ("subsampling 30 80% unstratified", plans.subsampling(30, 0.8, stratified=False)),
        ("loo", plans.leave_one_out()),
        ("Leave-One-Out", plans.leave_one_out()),
        ("leave one out", plans.leave_one_out()),
        ("leave-2-out", plans.leave_p_out(2)),
        ("bootstrap", plans.bootstrap()),
        ("bootstrap 100", plans.bootstrap(100)),
        ("bootstrap 632", plans.bootstrap(632)),
        ("bootstrap stratified", plans.bootstrap(stratified=True)),
        (".632 100", plans.bootstrap_632(100)),
        (".632+ 100", plans.bootstrap_632_plus(100)),
        ("632+", plans.bootstrap_632_plus()),
        ("0.632+ bootstrap", plans.bootstrap_632_plus()),
        ("bootstrap .632 50", plans.bootstrap_632(50)),
        ("resubstitution", plans.resubstitution()),
        ("training set", plans.resubstitution()),
        ("time-ordered", plans.time_ordered()),
        ("time-ordered 4", plans.time_ordered(4)),
        ("time-ordered 4 gap 2", plans.time_ordered(4, gap=2)),
        ("weka", plans.weka()),
        ("weka 10-fold", plans.weka()),
        ("weka 5-fold seed 7", plans.weka(5, 7)),
        ("leave-one-group-out", plans.leave_one_group_out()),
        ("nested 10-fold / 5-fold", plans.nested(plans.kfold(10), plans.kfold(5))),
        ("nested 10-fold/5-fold", plans.nested(plans.kfold(10), plans.kfold(5))),
        ("nested holdout 2/3 / 5-fold", plans.nested(plans.holdout(), plans.kfold(5))),
        ("nested 10-fold / 5-fold seed 3", plans.nested(plans.kfold(10, seed=3), plans.kfold(5, seed=3))),
        ("nested 10-fold seed 3 / 5-fold", plans.nested(plans.kfold(10, seed=3), plans.kfold(5))),
        ("nested 10-fold / (5-fold seed 3)", plans.nested(plans.kfold(10), plans.kfold(5, seed=3))),
        ("nested 10-fold / loo seed 3", plans.nested(plans.kfold(10, seed=3), plans.leave_one_out())),
        ("nested loo / 5-fold seed 3", plans.nested(plans.leave_one_out(), plans.kfold(5, seed=3))),
    ],
)
def test_texts_that_people_write(text, plan):
    assert read_plan(text) == plan
    assert type(read_plan(text)) is type(plan)


@pytest.mark.parametrize("text", EXAMPLES)
def test_every_example_in_an_error_reads(text):
    assert read_plan(text).text == text


def test_a_plan_passes_through():
    plan = plans.kfold(7)
    assert read_plan(plan) is plan


def test_a_seed_goes_to_plans_that_have_none():
    assert read_plan("10-fold", seed=4) == plans.kfold(10, seed=4)
    assert read_plan("10-fold seed 3", seed=4).seed == 3
    assert read_plan("weka 10-fold", seed=4) == plans.weka(10, 1)
    assert read_plan("loo", seed=4) == plans.leave_one_out()
    assert read_plan("nested 10-fold / 5-fold", seed=4).text == "nested 10-fold / 5-fold seed 4"
    with pytest.raises(OptionError, match=r"The seed must be at least 0. Got -1."):
        read_plan("10-fold", seed=-1)


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("10-flod", "'10-fold'"),
        ("leave-p-out", "'leave-2-out'"),
        ("bootstap 500", "'bootstrap 200'"),
        ("holdout x", "'holdout 2/3'"),
        ("632", "'.632 200'"),
        ("time orderd 5", "'time-ordered 5'"),
        ("nested 10-fold", "'nested 10-fold / 5-fold'"),
        ("", "'10-fold', '5x2-fold'"),
        ("what is this?", "'10-fold', '5x2-fold'"),
    ],
)
def test_a_wrong_text_is_told_the_nearest_forms(text, hint):
    with pytest.raises(OptionError) as caught:
        read_plan(text)
    assert caught.value.what == f"There is no plan {text!r}."
    assert hint in caught.value.hint


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("1-fold", "The number of folds must be at least 2. Got 1."),
        ("2.5-fold", "The number of folds must be a whole number. Got 2.5."),
        ("-3-fold", "The number of folds must be at least 2. Got -3."),
        ("0x10-fold", "The number of repeats must be at least 1. Got 0."),
        ("holdout 70/30", "The share of the rows that train must lie between 0 and 1. Got 2.33"),
        ("holdout 1/0", "'1/0' is not a share of the rows."),
        ("holdout 1.2.3", "'1.2.3' is not a share of the rows."),
        ("holdout 100%", "The share of the rows that train must lie between 0 and 1. Got 1.0."),
        ("0 x holdout", "The number of times must be at least 1. Got 0."),
        ("bootstrap 0", "The number of times must be at least 1. Got 0."),
        ("leave-0-out", "The number of rows left out must be at least 1. Got 0."),
        ("time-ordered 0", "The number of folds must be at least 1. Got 0."),
        ("time-ordered 5 gap -1", "The gap must be at least 0. Got -1."),
        ("weka 1-fold", "The number of folds must be at least 2. Got 1."),
        ("10-fold seed -1", "The seed must be at least 0. Got -1."),
        ("10-fold seed 1 seed 2", "says its seed twice"),
        ("10-fold stratified unstratified", "says whether to stratify twice"),
        ("loo seed 3", "leave-one-out takes no seed: it draws nothing."),
        ("weka 10-fold unstratified", "weka takes no stratification"),
        ("nested loo / resubstitution seed 3", "takes no seed"),
        ("nested 10-fold / nested 5-fold / 3-fold", "one of these is nested itself"),
        ("column fold", "The plan 'column fold' needs the column's values."),
    ],
)
def test_a_text_that_reads_but_cannot_be(text, says):
    with pytest.raises(OptionError) as caught:
        read_plan(text)
    assert says in caught.value.what
    assert caught.value.hint


@pytest.mark.parametrize(
    ("make", "options", "says"),
    [
        (plans.kfold, {"k": 10.0}, "The number of folds must be a whole number. Got 10.0."),
        (plans.kfold, {"k": True}, "The number of folds must be a whole number. Got True."),
        (plans.kfold, {"k": "10"}, "The number of folds must be a whole number. Got '10'."),
        (plans.kfold, {"repeats": 1.5}, "The number of repeats must be a whole number. Got 1.5."),
        (plans.kfold, {"seed": 1.5}, "The seed must be a whole number. Got 1.5."),
        (plans.holdout, {"train": 0}, "The share of the rows that train must lie between 0 and 1. Got 0."),
        (plans.holdout, {"train": 1}, "The share of the rows that train must lie between 0 and 1. Got 1."),
        (plans.holdout, {"train": math.nan}, "The share of the rows that train must lie between 0 and 1. Got nan."),
        (plans.holdout, {"train": "2/3"}, "The share of the rows that train must lie between 0 and 1. Got '2/3'."),
        (plans.subsampling, {"times": 0}, "The number of times must be at least 1. Got 0."),
        (plans.bootstrap, {"correction": ".5"}, "There is no correction '.5' of the bootstrap."),
        (plans.leave_p_out, {"p": 0.5}, "The number of rows left out must be a whole number. Got 0.5."),
        (plans.time_ordered, {"gap": 0.5}, "The gap must be a whole number. Got 0.5."),
        (plans.weka, {"seed": 1.5}, "The seed must be a whole number. Got 1.5."),
        (
            plans.nested,
            {"outer": "10-fold", "inner": "nested 5-fold / 3-fold"},
            "A nested plan has two plans, and one of these is nested itself: 'nested 5-fold / 3-fold'.",
        ),
    ],
)
def test_options_that_cannot_be(make, options, says):
    with pytest.raises(OptionError) as caught:
        make(**options)
    assert caught.value.what == says
    assert caught.value.hint.endswith(".")


def test_a_seed_given_for_the_splits_is_checked_too():
    with pytest.raises(OptionError, match=r"The seed must be at least 0. Got -1."):
        plans.kfold(3).splits(cases_of(3, 3), seed=-1)


def cases_of(*counts: int) -> Cases:
    return Cases(np.repeat(np.arange(len(counts)), counts), ("no", "yes", "maybe")[: len(counts)])


@pytest.mark.parametrize(
    ("plan", "counts", "kind", "says", "hint"),
    [
        (plans.kfold(10), (4, 3), OptionError, "There are 7 rows, too few for 10 folds.", "fewer folds"),
        (plans.kfold(2), (1,), OptionError, "There is 1 row, too few for 2 folds.", "at least 2 rows"),
        (plans.weka(10), (4, 3), OptionError, "There are 7 rows, too few for 10 folds.", "fewer folds"),
        (
            plans.kfold(10),
            (40, 3),
            LabelError,
            "Class 'yes' (3 cases) has too few cases: a stratified 10-fold needs at least 10 of every class.",
            "use at most 3 folds, or '10-fold unstratified'.",
        ),
        (
            plans.kfold(5, repeats=2),
            (1, 40, 2),
            LabelError,
            "Classes 'no' (1 case), 'maybe' (2 cases) have too few cases: a stratified 5-fold needs at least 5 of",
            "merge the class with another, or '2x5-fold unstratified'.",
        ),
        (
            plans.holdout(),
            (40, 1),
            LabelError,
            "Class 'yes' (1 case) has too few cases: a stratified holdout needs at least 2 of every class.",
            "merge the class with another, or 'holdout 2/3 unstratified'.",
        ),
        (
            plans.subsampling(5),
            (40, 1),
            LabelError,
            "Class 'yes' (1 case) has too few cases",
            "'5 x holdout 2/3 unstratified'",
        ),
        (plans.holdout(), (1,), OptionError, "There is 1 row, too few for a training and a test part.", "2 rows"),
        (plans.leave_one_out(), (1,), OptionError, "There is 1 row: with 1 left out, none is left", "2 rows"),
        (plans.leave_p_out(7), (4, 3), OptionError, "There are 7 rows: with 7 left out, none is left", "fewer"),
        (
            plans.leave_p_out(3),
            (50, 50),
            OptionError,
            "leave-3-out of 100 rows makes 161,700 splits, more than 100,000.",
            "'200 x holdout 97/100'",
        ),
        (plans.leave_p_out(500), (500, 500), OptionError, "makes about 10^299 splits", "draw some"),
        (
            plans.time_ordered(7),
            (4, 3),
            OptionError,
            "There are 7 rows, too few for 7 blocks to test, a gap of 0",
            "fewer folds",
        ),
        (plans.time_ordered(2, gap=3), (4, 3), OptionError, "a gap of 3 and rows before them", "a smaller gap"),
        (plans.resubstitution(), (), OptionError, "There are no rows to train on.", "2 rows"),
        (
            plans.by_column([1, 2, 1]),
            (4, 3),
            ColumnError,
            "The fold column 'fold' has 3 values, and there are 7 rows.",
            "one value per row",
        ),
    ],
    ids=str,
)
def test_rows_that_a_plan_cannot_split(plan, counts, kind, says, hint):
    with pytest.raises(kind) as caught:
        plan.splits(cases_of(*counts))
    assert says in caught.value.what
    assert hint in caught.value.hint


@pytest.mark.parametrize(
    ("values", "says"),
    [
        ([1, 1, 1], "The fold column 'fold' holds 1 value, and at least 2 folds are needed."),
        ([], "The fold column 'fold' holds 0 values"),
        (["a", None, "b", None], "The fold column 'fold' has 2 missing values"),
        ([1.0, float("nan"), 2.0], "The fold column 'fold' has 1 missing value, so the fold of that row is not known."),
        (np.array([[1, 2], [3, 4]]), "The fold column 'fold' must be one column."),
    ],
    ids=str,
)
def test_columns_that_are_no_folds(values, says):
    with pytest.raises(HeldoutError) as caught:
        plans.by_column(values)
    assert says in caught.value.what


def test_what_was_refused_proceeds_unstratified():
    rare = cases_of(40, 3)
    assert len(read_plan("10-fold unstratified").splits(rare)) == 10
    assert len(read_plan("holdout unstratified").splits(cases_of(40, 1))) == 1
    assert len(read_plan("3-fold").splits(rare)) == 3
