"""Refusing splits that test what they trained on: the same rows, or rows of the same group."""

from __future__ import annotations

from heldout.errors import OptionError
from heldout.plans.drawn import Drawn
from heldout.plans.options import counted
from heldout.plans.plan import Cases, Plan
from heldout.plans.splits import Splits


def check_apart(plan: Plan, splits: Splits, cases: Cases) -> None:
    """Refuse splits with a row, or a group, on both sides; resubstitution means to do that.

    >>> import numpy as np
    >>> from heldout.plans.column import by_column
    >>> cases, plan = Cases(np.array([0, 1, 0]), ("no", "yes"), np.array([0, 0, 1])), by_column([1, 2, 2])
    >>> check_apart(plan, plan.splits(cases), cases)
    Traceback (most recent call last):
    heldout.errors.OptionError: In 2 of 2 splits of column fold a group has rows both in training and in the test.
    Hint: use a plan that keeps groups whole, such as '10-fold' with group, or leave out group.
    """
    # A bootstrap tests what it did not draw, and draws whole groups; looking would mean drawing all of it again.
    if plan.judging.kind == "resubstitution" or isinstance(splits.train_rows, Drawn):
        return
    both = splits.shared_rows
    if both:
        raise OptionError(
            f"In {both:,} of {counted(len(splits), 'split')} of {plan.judging.text} rows that are tested also train, "
            "which makes the error too low.",
            hint="test only rows that do not train, or use 'resubstitution' to see the training error.",
        )
    torn = 0 if cases.group is None else splits.shared_groups(cases.group)
    if torn:
        raise OptionError(
            f"In {torn:,} of {counted(len(splits), 'split')} of {plan.judging.text} a group has rows both in training "
            "and in the test.",
            hint="use a plan that keeps groups whole, such as '10-fold' with group, or leave out group.",
        )
