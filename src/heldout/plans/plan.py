"""A plan and its splits: which rows train and which test, from a seed, with a fingerprint; what is estimated."""

from __future__ import annotations

import hashlib
import math
import numbers
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, fields, replace
from fractions import Fraction
from functools import cached_property
from itertools import chain
from typing import Any, ClassVar, Literal, cast, overload

import numpy as np
from numpy.typing import NDArray

from heldout.arguments import check_share, counted
from heldout.arrays import Codes, Integers
from heldout.errors import OptionError

__all__ = ["Splits"]


@dataclass(frozen=True, eq=False)
class LazyDraws(Sequence[Integers]):
    """The rows of each draw: `draw(i)` makes those of draw i, the same on every call, and `sizes` counts them.

    >>> rows = LazyDraws(lambda i: np.random.default_rng(i).integers(0, 3, 4), np.array([4, 4]))
    >>> len(rows), bool((rows[1] == rows[-1]).all())
    (2, True)
    """

    draw: Callable[[int], Integers] = field(repr=False)
    sizes: Integers = field(repr=False)

    def __len__(self) -> int:
        return len(self.sizes)

    @overload
    def __getitem__(self, index: int) -> Integers: ...

    @overload
    def __getitem__(self, index: slice) -> Sequence[Integers]: ...

    def __getitem__(self, index: int | slice) -> Integers | Sequence[Integers]:
        # A range knows slices, negative places and where it ends.
        chosen = range(len(self))[index]
        return self.draw(chosen) if isinstance(chosen, int) else tuple(self.draw(i) for i in chosen)


def sort_by_code(codes: NDArray[np.integer[Any]]) -> NDArray[np.int64]:
    """The rows sorted by their number, which is not negative; rows of the same number keep their order.

    >>> sort_by_code(np.array([2, 0, 2, 1])).tolist()
    [1, 3, 0, 2]
    """
    # NumPy sorts numbers of one or two bytes by radix, in time that grows with the rows alone.
    return np.argsort(codes.astype(find_smallest_type(int(codes.max(initial=0)))), kind="stable").astype(
        np.int64, copy=False
    )


def find_smallest_type(largest: int) -> np.dtype[Any]:
    """The type with the fewest bytes that holds the numbers from 0 to `largest`."""
    return np.min_scalar_type(largest)


def find_edges(sizes: NDArray[np.integer[Any]]) -> NDArray[np.int64]:
    """Where each of several blocks begins, and at last where they end, from their sizes."""
    return np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)


@dataclass(frozen=True, eq=False)
class Splits:
    """The splits of n rows that a plan made.

    `test_rows` lists the test rows of all splits one after the other, and `bounds` says where each split begins.
    `train_rows` is None where every split trains on exactly the rows it does not test; otherwise it lists the training
    rows of each split, with repetitions where a bootstrap drew a row more than once (and may draw them anew whenever it
    is asked, which keeps none of them in memory). `repeat` and `fold` number each
    split: the repetition it belongs to, and its place in it.

    >>> splits = Splits.partition(np.array([0, 1, 0, 1, 1]))
    >>> [(train.tolist(), test.tolist()) for train, test in splits]
    [([1, 3, 4], [0, 2]), ([0, 2], [1, 3, 4])]
    """

    n: int
    test_rows: Integers = field(repr=False)
    bounds: Integers = field(repr=False)
    repeat: Integers = field(repr=False)
    fold: Integers = field(repr=False)
    train_rows: Sequence[Integers] | None = field(default=None, repr=False)

    @classmethod
    def partition(cls, *assignments: NDArray[np.integer[Any]]) -> Splits:
        """Folds from the number of the fold of every row; several assignments are repetitions."""
        rows = np.concatenate([sort_by_code(assignment) for assignment in assignments])
        sizes = [np.bincount(assignment) for assignment in assignments]
        repeat = np.repeat(np.arange(len(sizes)), [len(counts) for counts in sizes])
        fold = np.concatenate([np.arange(len(counts)) for counts in sizes])
        return cls(len(assignments[0]), rows, find_edges(np.concatenate(sizes)), repeat, fold)

    @classmethod
    def of(
        cls,
        n: int,
        tests: Sequence[Integers],
        trains: Sequence[Integers] | None = None,
        *,
        repeat: Sequence[int] | None = None,
        fold: Sequence[int] | None = None,
    ) -> Splits:
        """From the rows of each split; without `repeat` each split is a repetition of its own."""
        if trains is not None and not isinstance(trains, LazyDraws):
            trains = tuple(np.asarray(train, dtype=np.int64) for train in trains)
        numbers = np.arange(len(tests), dtype=np.int64)
        return cls(
            n,
            np.concatenate([np.asarray(test, dtype=np.int64) for test in tests]),
            find_edges(np.array([len(test) for test in tests])),
            numbers if repeat is None else np.asarray(repeat, dtype=np.int64),
            np.zeros_like(numbers) if fold is None else np.asarray(fold, dtype=np.int64),
            trains,
        )

    def __len__(self) -> int:
        return len(self.bounds) - 1

    def __iter__(self) -> Iterator[tuple[Integers, Integers]]:
        return ((self.train(i), self.test(i)) for i in range(len(self)))

    def test(self, i: int) -> Integers:
        """The rows that split i tests."""
        return self.test_rows[self.bounds[i] : self.bounds[i + 1]]

    def train(self, i: int) -> Integers:
        """The rows that split i trains on."""
        if self.train_rows is not None:
            return self.train_rows[i]
        keep = np.ones(self.n, dtype=bool)
        keep[self.test(i)] = False
        return np.flatnonzero(keep)

    @cached_property
    def sizes(self) -> Integers:
        """How many rows each split tests."""
        return np.diff(self.bounds)

    @cached_property
    def train_sizes(self) -> Integers:
        """How many rows each split trains on."""
        if self.train_rows is None:
            return self.n - self.sizes
        if isinstance(self.train_rows, LazyDraws):
            return self.train_rows.sizes
        return np.array([len(rows) for rows in self.train_rows], dtype=np.int64)

    @cached_property
    def times_tested(self) -> Integers:
        """How many times each row is tested."""
        return np.bincount(self.test_rows, minlength=self.n)

    @cached_property
    def split_of(self) -> Integers:
        """The number of the split that each entry of `test_rows` belongs to."""
        return np.repeat(np.arange(len(self), dtype=np.int64), self.sizes)

    @property
    def shared_rows(self) -> int:
        """How many splits test rows that they trained on.

        >>> Splits.of(3, [np.array([0]), np.array([1])], [np.array([1, 2]), np.array([0, 1])]).shared_rows
        1
        """
        if self.train_rows is None:
            return 0
        overlaps, tested = 0, np.zeros(self.n, dtype=bool)
        for train, test in self:
            tested[test] = True
            overlaps += bool(tested[train].any())
            tested[test] = False
        return overlaps

    def shared_groups(self, group: NDArray[np.integer[Any]]) -> int:
        """In how many splits a group has rows on both sides, from the number of the group of every row.

        >>> Splits.partition(np.array([0, 0, 1, 1, 2])).shared_groups(np.array([7, 7, 7, 8, 9]))
        2
        """
        _, codes = np.unique(group, return_inverse=True)
        number = int(codes.max(initial=-1)) + 1
        if self.train_rows is None:
            # A group is shared where a split tests some of its rows and not all. A row counts once in a split.
            places = np.unique(self.split_of * self.n + self.test_rows)
            keys, tested = np.unique(places // self.n * number + codes[places % self.n], return_counts=True)
            partial = tested < np.bincount(codes)[keys % number]
            return len(np.unique(keys[partial] // number))
        shared = 0
        for train, test in self:
            is_tested = np.zeros(number, dtype=bool)
            is_tested[codes[test]] = True
            shared += bool(is_tested[codes[train]].any())
        return shared

    def label(self, i: int) -> str:
        """What a message calls split i, counted from one: "fold 3", "fold 3 of repeat 2", "split 7"."""
        repeats = int(self.repeat.max(initial=0)) + 1
        if repeats == 1:
            return f"fold {int(self.fold[i]) + 1}"
        if repeats == len(self):
            return f"split {i + 1}"
        return f"fold {int(self.fold[i]) + 1} of repeat {int(self.repeat[i]) + 1}"

    @cached_property
    def fingerprint(self) -> str:
        """A short hash of who trains and who tests: equal for results that may be paired."""
        digest = hashlib.blake2b(digest_size=8)
        parts = [np.array([self.n], dtype=np.int64), self.bounds, self.test_rows]
        for part in chain(parts, self.train_rows or ()):
            digest.update(np.ascontiguousarray(part, dtype="<i8").tobytes())
            digest.update(b"|")
        return digest.hexdigest()


Correction = Literal["", ".632", ".632+"]


@dataclass(frozen=True)
class Cases:
    """What a plan may know of the rows: the class of each as a place among the labels, and its group, if any.

    >>> import numpy as np
    >>> cases = Cases(np.array([0, 1, 1]), ("no", "yes"))
    >>> cases.n
    3
    """

    truth: Codes
    labels: tuple[object, ...]
    group: Codes | None = None
    group_names: Sequence[object] = ()

    @property
    def n(self) -> int:
        """How many rows there are."""
        return len(self.truth)


class Plan(ABC):
    """A way to split rows into those that train and those that test.

    A concrete plan is a frozen dataclass whose `text` reads back to an equal plan. `factor` divides the number of
    distinct cases for the interval: predictions of one data set by models that share training rows are not
    independent. It was measured for k-fold, leave-one-out, repeated k-fold, random splits and .632+, and taken over
    from the nearest of these for the others (docs/statistics.md). `target` says which error is estimated. Both stand on
    the class, or are properties where they depend on the plan's own figures.

    >>> from heldout.plans import read_plan
    >>> plan = read_plan("10-fold")
    >>> plan.text, plan.factor
    ('10-fold', 1.5)
    """

    kind: ClassVar[str]
    correction: Correction = ""
    inner: Plan | None = None
    seed: int | None = None

    @property
    @abstractmethod
    def text(self) -> str:
        """The plan as a person would write it, such as "10-fold"."""

    @property
    @abstractmethod
    def factor(self) -> float:
        """What the number of distinct cases is divided by."""

    @property
    @abstractmethod
    def target(self) -> str:
        """Which error is estimated, as the end of a sentence."""

    @property
    def judging(self) -> Plan:
        """The plan whose splits judge: itself, or the outer one of two."""
        return self

    @abstractmethod
    def splits(self, cases: Cases, seed: int = 0) -> Splits:
        """The splits; `seed` is used where the plan has none of its own."""

    def factor_of(self, splits: Splits) -> float:  # noqa: ARG002
        """The factor, where it can only be told from the splits that were made."""
        return self.factor

    def takes(self, option: str) -> bool:
        """Whether the plan has such an option: "seed", "stratified"."""
        return option in {field.name for field in fields(cast("Any", self)) if field.init}

    def seeded(self, seed: int) -> Plan:
        """The same plan with this seed, where it draws and has no seed of its own."""
        if self.seed is not None or not self.takes("seed"):
            return self
        return cast("Plan", replace(cast("Any", self), seed=seed))

    def __str__(self) -> str:
        return self.text


def make_generator(seed: int, number: int) -> np.random.Generator:
    """The generator of repetition `number`, counted from 0: the stream that `SeedSequence.spawn` gives it.

    Repetition 0 is the same however many follow it, so "10-fold" is the first repetition of "10x10-fold".

    >>> int(make_generator(7, 0).integers(100)) == int(make_generator(7, 0).integers(100))
    True
    """
    return np.random.default_rng(
        np.random.SeedSequence(check_number(seed, "The seed", 0, 1, most=None), spawn_key=(number,))
    )


def check_apart(plan: Plan, splits: Splits, cases: Cases) -> None:
    """Refuse splits with a row, or a group, on both sides; resubstitution means to do that.

    >>> import numpy as np
    >>> from heldout.plans.folds import by_column
    >>> cases, plan = Cases(np.array([0, 1, 0]), ("no", "yes"), np.array([0, 0, 1])), by_column([1, 2, 2])
    >>> check_apart(plan, plan.splits(cases), cases)
    Traceback (most recent call last):
    heldout.errors.OptionError: In 2 of 2 splits of column fold a group has rows both in training and in the test.
    Hint: use a plan that keeps groups whole, such as '10-fold' with group, or leave out group.
    """
    # A bootstrap tests what it did not draw, and draws whole groups; looking would mean drawing all of it again.
    if plan.judging.kind == "resubstitution" or isinstance(splits.train_rows, LazyDraws):
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


# A limit on the number of splits; more would not finish.
MOST = 1_000_000


def check_number(value: Any, name: str, least: int | None, example: int, most: int | None = MOST) -> int:
    """A whole number, of at least `least` if there is such a limit, as Python's own.

    >>> check_number(10, "The number of folds", 2, 10)
    10
    """
    hint = f"give a whole number{'' if least is None else f' of at least {least}'}, such as {example}."
    if isinstance(value, bool) or not isinstance(value, numbers.Integral):
        raise OptionError(f"{name} must be a whole number. Got {value!r}.", hint=hint)
    if least is not None and value < least:
        raise OptionError(f"{name} must be at least {least}. Got {value}.", hint=hint)
    if most is not None and int(value) > most:
        raise OptionError(f"{name} must be at most {most:,}. Got {int(value):,}.", hint=hint)
    return int(value)


def check_seed(value: Any) -> int | None:
    """A seed, or None where the plan is to have none of its own."""
    return None if value is None else check_number(value, "The seed", 0, 1, most=None)


def check_training_share(value: Any) -> float:
    """The share of the rows that train, between 0 and 1."""
    return check_share("The share of the rows that train", value, "give it as 2/3 or 0.7, for example.")


def share_text(share: float) -> str:
    """A share as a person would write it, that reads back exactly.

    >>> share_text(2 / 3), share_text(0.7)
    ('2/3', '0.7')
    """
    decimal = repr(share)
    if len(decimal) <= len("0.1234"):
        return decimal
    near = Fraction(share).limit_denominator(1000)
    return str(near) if math.isclose(float(near), share, rel_tol=0, abs_tol=0) else decimal


def option_text(*, stratified: bool, usual: bool, seed: int | None) -> str:
    """What follows a plan's name where it is not the usual: stratification and the seed."""
    text = "" if stratified == usual else " stratified" if stratified else " unstratified"
    return text if seed is None else f"{text} seed {seed}"
