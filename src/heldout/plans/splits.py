"""Which rows train and which rows test, in every split of a plan: counted once, with a fingerprint."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

from heldout.arrays import Integers

__all__ = ["Splits"]


# Training rows that are drawn again whenever they are asked for, so that many draws need no memory.


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


# Gathering rows by a small number that each carries, such as its class or its fold.


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
    def is_partition(self) -> bool:
        """Whether every row is tested exactly once, by a model that was trained on all the others."""
        return self.train_rows is None and bool((self.times_tested == 1).all())

    @property
    def overlapping(self) -> bool:
        """Whether some split tests rows that it trained on."""
        return self.shared_rows > 0

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
