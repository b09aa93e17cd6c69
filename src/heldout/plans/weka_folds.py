"""The folds that Weka makes: its shuffling, its stratification and its order, row by row."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from heldout.plans.folds import FOLD_TARGET, refuse_few_rows
from heldout.plans.groups import refuse_groups
from heldout.plans.java_random import JavaRandom
from heldout.plans.options import whole
from heldout.plans.plan import ONCE, Cases, Plan
from heldout.plans.splits import Splits


@dataclass(frozen=True)
class Weka(Plan):
    """The folds of Weka's Evaluation.crossValidateModel with a seed; its default seed is 1.

    Test rows stand in Weka's order. Weka also shuffles the training rows of a fold; here they are in the order given.
    """

    kind: ClassVar[str] = "weka"
    factor: ClassVar[float] = ONCE
    target: ClassVar[str] = FOLD_TARGET
    k: int = 10
    seed: int = 1

    def __post_init__(self) -> None:
        object.__setattr__(self, "k", whole(self.k, "The number of folds", 2, 10))
        object.__setattr__(self, "seed", whole(self.seed, "The seed", None, 1, most=None))

    @property
    def text(self) -> str:
        """Such as "weka 10-fold seed 1"."""
        return f"weka {self.k}-fold seed {self.seed}"

    def splits(self, cases: Cases, seed: int = 0) -> Splits:  # noqa: ARG002
        """The folds; the plan always has a seed of its own."""
        refuse_groups(cases, "Weka's folds", "would tear them apart", f"'{self.k}-fold'")
        refuse_few_rows(cases.n, self.k)
        order = _shuffled(cases.n, JavaRandom(self.seed))
        if len(cases.labels) > 1:
            order = _dealt(_by_class(order, cases.truth), self.k)
        tests = np.array_split(np.array(order, dtype=np.int64), self.k)
        return Splits.of(cases.n, tests, repeat=[0] * self.k, fold=range(self.k))


def _shuffled(n: int, random: JavaRandom) -> list[int]:
    """Instances.randomize."""
    rows = list(range(n))
    for j in range(n - 1, 0, -1):
        other = random.below(j + 1)
        rows[j], rows[other] = rows[other], rows[j]
    return rows


def _by_class(rows: list[int], truth: NDArray[np.int64]) -> list[int]:
    """The first half of Instances.stratify: rows of one class are swapped to the front, then those of the next."""
    classes = truth[rows]
    done, n = 0, len(rows)
    while done < n:
        # Rows that a swap moves back have been passed already, so the places to look at are known beforehand.
        for j in (np.flatnonzero(classes[done:] == classes[done]) + done).tolist():
            rows[done], rows[j] = rows[j], rows[done]
            classes[done], classes[j] = classes[j], classes[done]
            done += 1
    return rows


def _dealt(rows: list[int], k: int) -> list[int]:
    """The second half, Instances.stratStep: every k-th row from the first, then from the second, and so on."""
    return [row for start in range(k) for row in rows[start::k]]


def weka(k: int = 10, seed: int = 1) -> Weka:
    """Weka's folds, so that its figures can be had to the last digit.

    >>> weka().text
    'weka 10-fold seed 1'
    >>> cases = Cases(np.array([0, 0, 0, 1, 1, 1]), ("no", "yes"))
    >>> [test.tolist() for _, test in weka(3).splits(cases)]
    [[4, 1], [5, 2], [3, 0]]
    """
    return Weka(k, seed)
