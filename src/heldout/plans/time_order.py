"""Rows in the order of time: each block is tested by a model trained on what came before it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from heldout.errors import OptionError
from heldout.plans.groups import refuse_groups
from heldout.plans.options import counted, whole
from heldout.plans.plan import ONCE, Cases, Plan
from heldout.plans.splits import Splits


@dataclass(frozen=True)
class TimeOrdered(Plan):
    """Blocks of equal size at the end of the rows; `gap` rows before each block do not train."""

    kind: ClassVar[str] = "time-ordered"
    factor: ClassVar[float] = ONCE
    target: ClassVar[str] = (
        "the error on cases that come later than those trained on, judged by models trained on fewer"
    )
    folds: int = 5
    gap: int = 0

    def __post_init__(self) -> None:
        object.__setattr__(self, "folds", whole(self.folds, "The number of folds", 1, 5))
        object.__setattr__(self, "gap", whole(self.gap, "The gap", 0, 1))

    @property
    def text(self) -> str:
        """Such as "time-ordered 5", "time-ordered 5 gap 2"."""
        return f"time-ordered {self.folds}" + (f" gap {self.gap}" if self.gap else "")

    def splits(self, cases: Cases, seed: int = 0) -> Splits:  # noqa: ARG002
        """The blocks, in order; what does not divide evenly goes to the first training part."""
        refuse_groups(
            cases, self.text, "would split them by their place in the file", "'leave-one-group-out' or '10-fold'"
        )
        n, size = cases.n, cases.n // (self.folds + 1)
        starts = n - size * np.arange(self.folds, 0, -1)
        if not size or starts[0] <= self.gap:
            raise OptionError(
                f"There {'is' if n == 1 else 'are'} {counted(n, 'row')}, too few for {counted(self.folds, 'block')} to "
                f"test, a gap of {self.gap:,} and rows before them to train on.",
                hint="use fewer folds or a smaller gap.",
            )
        # Slices of one array, so that the training parts take no memory of their own.
        rows = np.arange(n)
        tests = [rows[start : start + size] for start in starts]
        trains = [rows[: start - self.gap] for start in starts]
        return Splits.of(n, tests, trains, repeat=[0] * self.folds, fold=range(self.folds))


def time_ordered(folds: int = 5, *, gap: int = 0) -> TimeOrdered:
    """Test each of several blocks with the model trained on the rows before it, in the order given.

    >>> splits = time_ordered(2, gap=1).splits(Cases(np.array([0, 1, 0, 1, 0, 1]), ("no", "yes")))
    >>> [(train.tolist(), test.tolist()) for train, test in splits]
    [([0], [2, 3]), ([0, 1, 2], [4, 5])]
    """
    return TimeOrdered(folds, gap)
