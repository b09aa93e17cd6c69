"""Leaving one row, every set of p rows, or one group out at a time: nothing is drawn."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import chain, combinations
from typing import ClassVar

import numpy as np

from heldout.errors import OptionError
from heldout.plans.folds import FOLD_TARGET
from heldout.plans.groups import group_codes, refuse_groups
from heldout.plans.options import counted, whole
from heldout.plans.plan import ONCE, Cases, Plan
from heldout.plans.splits import Splits

MOST_SPLITS = 100_000
TEARS = "would leave the rest of a row's group in training"


@dataclass(frozen=True)
class LeaveOneOut(Plan):
    """Every row is tested by the model trained on all the others."""

    kind: ClassVar[str] = "leave-one-out"
    factor: ClassVar[float] = ONCE
    target: ClassVar[str] = FOLD_TARGET.replace("n − n/k", "n − 1")

    @property
    def text(self) -> str:
        """Always "leave-one-out"."""
        return "leave-one-out"

    def splits(self, cases: Cases, seed: int = 0) -> Splits:  # noqa: ARG002
        """One split for every row."""
        refuse_groups(cases, "leave-one-out", TEARS, "'leave-one-group-out'")
        _refuse_all(cases.n, 1)
        rows = np.arange(cases.n + 1)
        return Splits(cases.n, rows[:-1], rows, np.zeros(cases.n, dtype=np.int64), rows[:-1])


@dataclass(frozen=True)
class LeavePOut(Plan):
    """Every set of p rows is tested by the model trained on all the others."""

    kind: ClassVar[str] = "leave-p-out"
    factor: ClassVar[float] = ONCE
    target: ClassVar[str] = FOLD_TARGET.replace("n − n/k", "n − p")
    p: int

    def __post_init__(self) -> None:
        object.__setattr__(self, "p", whole(self.p, "The number of rows left out", 1, 2))

    @property
    def text(self) -> str:
        """Such as "leave-2-out"."""
        return f"leave-{self.p}-out"

    def splits(self, cases: Cases, seed: int = 0) -> Splits:  # noqa: ARG002
        """One split for every set of p rows, in the order of `itertools.combinations`."""
        n = cases.n
        refuse_groups(cases, self.text, TEARS, "'leave-one-group-out'")
        _refuse_all(n, self.p)
        number = math.comb(n, self.p)
        if number > MOST_SPLITS:
            raise OptionError(
                f"{self.text} of {counted(n, 'row')} makes {_large(number)} splits, more than {MOST_SPLITS:,}.",
                hint=f"draw some of them: '200 x holdout {n - self.p}/{n}'; or use 'leave-one-out' or '10-fold'.",
            )
        rows = np.fromiter(chain.from_iterable(combinations(range(n), self.p)), dtype=np.int64, count=number * self.p)
        splits, alone = np.arange(number), np.zeros(number, dtype=np.int64)
        # One row at a time is a partition. More overlap, and each split is then a repetition of its own.
        repeat, fold = (alone, splits) if self.p == 1 else (splits, alone)
        return Splits(n, rows, np.arange(0, number * self.p + 1, self.p), repeat, fold)


@dataclass(frozen=True)
class LeaveOneGroupOut(Plan):
    """Every group is tested by the model trained on all the others."""

    kind: ClassVar[str] = "leave-one-group-out"
    factor: ClassVar[float] = ONCE
    target: ClassVar[str] = "the error on cases of a new group, judged by models trained on all groups but one"

    @property
    def text(self) -> str:
        """Always "leave-one-group-out"."""
        return "leave-one-group-out"

    def splits(self, cases: Cases, seed: int = 0) -> Splits:  # noqa: ARG002
        """One split for every group."""
        if cases.group is None:
            raise OptionError(
                "leave-one-group-out needs groups, and the rows have none.",
                hint="name the column of the groups with group=, or use 'leave-one-out'.",
            )
        codes, _ = group_codes(cases.group, 2, "leave-one-group-out")
        return Splits.partition(codes)


def _large(number: int) -> str:
    return f"{number:,}" if number < 10**15 else f"about 10^{round(math.log10(number))}"


def _refuse_all(n: int, p: int) -> None:
    if p >= n:
        raise OptionError(
            f"There {'is' if n == 1 else 'are'} {counted(n, 'row')}: with {p:,} left out, none is left to train on.",
            hint="leave out fewer rows." if p > 1 and n > 1 else "give at least 2 rows.",
        )


def leave_one_out() -> LeaveOneOut:
    """Test every row with the model trained on all the others.

    >>> splits = leave_one_out().splits(Cases(np.array([0, 1, 1]), ("no", "yes")))
    >>> [(train.tolist(), test.tolist()) for train, test in splits]
    [([1, 2], [0]), ([0, 2], [1]), ([0, 1], [2])]
    """
    return LeaveOneOut()


def leave_p_out(p: int) -> LeavePOut:
    """Test every set of p rows with the model trained on all the others.

    >>> len(leave_p_out(2).splits(Cases(np.array([0, 1, 1, 0]), ("no", "yes"))))
    6
    """
    return LeavePOut(p)


def leave_one_group_out() -> LeaveOneGroupOut:
    """Test every group with the model trained on all the others.

    >>> cases = Cases(np.array([0, 1, 1]), ("no", "yes"), group=np.array([5, 5, 8]))
    >>> [test.tolist() for _, test in leave_one_group_out().splits(cases)]
    [[0, 1], [2]]
    """
    return LeaveOneGroupOut()
