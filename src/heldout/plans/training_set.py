"""Resubstitution: the model is tested on the very rows that it was trained on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from heldout.errors import OptionError
from heldout.plans.plan import Cases, Plan
from heldout.plans.splits import Splits


@dataclass(frozen=True)
class Resubstitution(Plan):
    """All rows train and all rows test."""

    kind: ClassVar[str] = "resubstitution"
    factor: ClassVar[float] = 1.0
    target: ClassVar[str] = "the training error, which is optimistic: it says nothing of new cases"

    @property
    def text(self) -> str:
        """Always "resubstitution"."""
        return "resubstitution"

    def splits(self, cases: Cases, seed: int = 0) -> Splits:  # noqa: ARG002
        """The one split."""
        if not cases.n:
            raise OptionError("There are no rows to train on.", hint="give at least 2 rows.")
        rows = np.arange(cases.n)
        return Splits.of(cases.n, [rows], [rows])


def resubstitution() -> Resubstitution:
    """Train and test on all rows.

    >>> splits = resubstitution().splits(Cases(np.array([0, 1]), ("no", "yes")))
    >>> [(train.tolist(), test.tolist()) for train, test in splits]
    [([0, 1], [0, 1])]
    """
    return Resubstitution()
