"""Splits that test what they trained on: rows or groups on both sides are refused, with how often."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn import model_selection as ms

from heldout import plans
from heldout.errors import OptionError
from heldout.plans import Cases
from heldout.plans.plan import check_apart

TRUTH = np.array([0, 1] * 6)
GROUP = np.repeat(np.arange(4), 3)
PLAIN = Cases(TRUTH, ("no", "yes"))
GROUPED = Cases(TRUTH, ("no", "yes"), GROUP, ("a", "b", "c", "d"))


def check(plan, cases):
    check_apart(plan, plan.splits(cases), cases)


@pytest.mark.parametrize(
    ("plan", "said"),
    [
        (plans.given(ms.KFold(4, shuffle=True, random_state=0)), r"In 4 of 4 splits of KFold\(.*\) a group has rows"),
        (plans.by_column(np.arange(12) // 6), None),
        (plans.by_column(np.arange(12) // 4, name="site"), "In 3 of 3 splits of column site a group has rows both"),
        (plans.given([(np.arange(3, 12), [0, 1, 2]), (np.arange(5), np.arange(5, 12))]), "In 1 of 2 splits of 2 given"),
        (plans.nested(plans.by_column(np.arange(12) // 4), "2-fold"), "In 3 of 3 splits of column fold a group"),
        (plans.given(ms.GroupKFold(4)), None),
        (plans.kfold(3), None),
        (plans.bootstrap(5), None),
        (plans.resubstitution(), None),
    ],
    ids=str,
)
def test_a_torn_group_is_refused_and_whole_ones_are_not(plan, said):
    if said is None:
        check(plan, GROUPED)
        return
    with pytest.raises(OptionError, match=said) as caught:
        check(plan, GROUPED)
    assert "keeps groups whole" in caught.value.hint


def test_rows_that_train_and_are_tested_are_refused_with_the_number_of_such_splits():
    rows = np.arange(12)
    plan = plans.given([(rows[3:], rows[:3]), (rows[3:], rows[3:6]), (rows, rows[6:])])
    with pytest.raises(
        OptionError, match="In 2 of 3 splits of 3 given splits rows that are tested also train"
    ) as caught:
        check(plan, PLAIN)
    assert "resubstitution" in caught.value.hint
    check(plans.given([(rows[3:], rows[:3])]), PLAIN)


def test_the_plan_that_means_to_test_its_training_rows_may():
    check(plans.resubstitution(), PLAIN)
    check(plans.nested("resubstitution", "2-fold"), PLAIN)


def test_a_test_row_that_stands_twice_is_refused():
    plan = plans.given([([2, 3, 4], [0, 1]), ([0, 1], [5, 7, 5, 7, 5])])
    with pytest.raises(OptionError, match="The test rows of split 2 hold row 5 3 times, and 2 rows more than once"):
        plan.splits(PLAIN)
    # A training row may: that is what a bootstrap is.
    assert len(plans.given([([2, 2, 3], [0, 1])]).splits(PLAIN)) == 1
