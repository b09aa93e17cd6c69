"""The folds that Weka makes: its shuffling, its stratification and its order, row by row."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from heldout.arguments import whole
from heldout.plans.folds import FOLD_TARGET, refuse_few_rows
from heldout.plans.plan import ONCE, Cases, Plan
from heldout.plans.splits import Splits
from heldout.plans.strata_and_groups import refuse_groups

# The random numbers of java.util.Random, which other programs' splits were drawn with.

MULTIPLIER = 0x5DEECE66D
ADDEND = 0xB
MASK = (1 << 48) - 1
LARGEST = (1 << 31) - 1


class JavaRandom:
    """A linear congruential generator with 48 bits of state, as Java's documentation specifies it.

    >>> random = JavaRandom(42)
    >>> [random.below(10) for _ in range(5)]
    [0, 3, 8, 4, 0]
    """

    def __init__(self, seed: int) -> None:
        self._state = (seed ^ MULTIPLIER) & MASK

    def _bits(self) -> int:
        """The next 31 bits."""
        self._state = (self._state * MULTIPLIER + ADDEND) & MASK
        return self._state >> 17

    def below(self, bound: int) -> int:
        """A number from 0 to bound − 1, as `nextInt(bound)` gives it."""
        if bound & -bound == bound:
            return (bound * self._bits()) >> 31
        while True:
            bits = self._bits()
            value = bits % bound
            # The last, incomplete stretch of `bound` numbers would favour small ones; in Java it overflows.
            if bits - value + (bound - 1) <= LARGEST:
                return value


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
