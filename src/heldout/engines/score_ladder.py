"""Scores of two classes counted on the ladder of bins between 0 and 1, batch by batch and by several threads.

While there are few distinct scores each is kept: a bin then counts one score only, its owner, and rows with another
score in the same bin are put aside and sorted. When they become too many all bins count whatever lies in them. Either
way the result depends on the rows alone, not on their order, the batches or the threads: the counters of a bin are the
same in both ways, and what was put aside finds its bin in the end.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from functools import reduce
from operator import add
from threading import Semaphore
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from heldout.arguments import require
from heldout.arrays import Flags, Floats, Integers
from heldout.engines.bins import BinCounter, bins_of
from heldout.evidence.bin_grid import Ladder
from heldout.evidence.score_bins import MOST, ScoreBins
from heldout.threads import cached_property, share_out

# Rows of a block, few enough for the temporary arrays to stay in the cache.
BLOCK = 1 << 17
# A counter of a bin holds 32 bits.
FULL = (1 << 32) - 1
# The size of the table of marks, which has many times as many places as scores are kept.
TABLE_BITS = 24
# No limit on the number of distinct scores.
UNLIMITED = 1 << 62
# The number of rows put aside that are sorted together.
ENOUGH = 1 << 18
# So many times the scores that can be kept are looked at to see whether they are more than that.
FIRST_ROWS = 1.5


class ScoredRows(NamedTuple):
    """Some rows: scores, which of them are positive, and between which ends the scores lie."""

    scores: NDArray[Any]
    positive: Flags
    low: float
    high: float

    @classmethod
    def of(cls, scores: NDArray[Any], positive: Flags) -> ScoredRows:
        """Rows, at least one, and their ends; these are nan where a score is."""
        return cls(scores, positive, float(np.minimum.reduce(scores)) + 0.0, float(np.maximum.reduce(scores)) + 0.0)


class LadderCells:
    """A counter for each bin of the ladder and each of two classes, negative and positive; one thread uses it.

    NumPy counts in `cells`. Compiled passes count in `small` ones, which stay in the cache, and in `carried` how often
    each of these ran over.
    """

    def __init__(self, size: int) -> None:
        self.size = size
        self._rows = 0
        self._before: Integers | None = None

    @cached_property
    def cells(self) -> NDArray[np.uint32]:
        """The counters of NumPy."""
        return np.zeros(2 * self.size, dtype=np.uint32)

    @cached_property
    def small(self) -> NDArray[np.uint8]:
        """The counters of compiled passes."""
        return np.zeros(2 * self.size, dtype=np.uint8)

    @cached_property
    def carried(self) -> NDArray[np.uint32]:
        """How often each of these ran over; what is not written to takes no memory."""
        return np.zeros(2 * self.size, dtype=np.uint32)

    def add(self, keys: Integers) -> None:
        """Count rows, each by twice the number of its bin and its class, in NumPy."""
        if self._rows + len(keys) > FULL:
            before = np.zeros(len(self.cells), dtype=np.int64) if self._before is None else self._before
            self._before, self._rows = before + self.cells, 0
            self.cells[:] = 0
        self._rows += len(keys)
        np.add.at(self.cells, keys, np.uint32(1))

    def add_to(self, total: Integers, here: slice = slice(None)) -> None:
        """Add what was counted here to a total."""
        used = vars(self)
        if "cells" in used:
            total += self.cells[here]
        if self._before is not None:
            total += self._before[here]
        if "small" in used:
            total += self.small[here]
            carried = self.carried[here]
            often = np.flatnonzero(carried)
            total[often] += carried[often].astype(np.int64) << 8


class ScoreLadder:
    """Counts scores of two classes; those that are not between 0 and 1 as `BinCounter` does.

    `count` may be called by several threads at once, each with counters of its own; what it gives back goes to `settle`
    in the order of the rows. `add` does both.

    >>> counter = ScoreLadder()
    >>> counter.add(np.array([0.9, 0.4]), np.array([True, False]))
    >>> counter.bins().counts.tolist()
    [[1, 0], [0, 1]]
    """

    def __init__(self, most: int = MOST, tables: int | None = None) -> None:
        self.most = most
        self.ladder = Ladder.of(most)
        # Whether there are more distinct scores than are kept.
        self.crowded = False
        # The score that each bin counts; nan, which equals no score, where it has none yet.
        self.owners: Floats | None = None
        self.outside = BinCounter(2, most)
        self.aside = ScoreBins.of(np.zeros(0), np.zeros(0), 2, most=UNLIMITED)
        self.every: list[LadderCells] = []
        self.ends = np.inf, -np.inf
        self._owned = 0
        self._waiting: list[ScoredRows] = []
        self._spare: list[LadderCells] = []
        # So many threads count at a time, each in a table of its own.
        self._free = None if tables is None else Semaphore(tables)

    @property
    def is_laid_out(self) -> bool:
        """Whether it is known what bins count; until then all rows are put aside."""
        return self.ladder is not None and (self.crowded or self.owners is not None)

    @property
    def laid_out(self) -> Ladder:
        """The bins."""
        return require(self.ladder, "there are too few bins for a ladder")

    def add(self, scores: NDArray[Any], positive: Flags) -> None:
        """Count one more batch."""
        if len(scores):
            rows = ScoredRows.of(scores, positive)
            self.reach(rows.low, rows.high)
            self.settle(self.count(rows))

    def count(self, rows: ScoredRows) -> ScoredRows | None:
        """Count some rows; gives back those that have to be put aside."""
        if self.ladder is None or not self.is_laid_out:
            # What the caller gave may change before it is looked at.
            return ScoredRows(rows.scores.copy(), rows.positive.copy(), rows.low, rows.high)
        ladder, left = self.ladder, []
        with self.counters() as counters:
            for start in range(0, len(rows.scores), BLOCK):
                scores, positive = rows.scores[start : start + BLOCK], rows.positive[start : start + BLOCK]
                values, here = scores.astype(np.float64, copy=False), None
                if not (rows.low >= 0 and rows.high <= 1):
                    within = (values >= 0) & (values <= 1)
                    here, missed = np.flatnonzero(within), np.flatnonzero(~within)
                    left.append(missed + start)
                    values = values[here]
                key = ladder.cells(values)
                owners = None if self.crowded else self.owners
                if owners is not None:
                    same = owners[key] == values
                    if not same.all():
                        others = np.flatnonzero(~same)
                        left.append((others if here is None else here[others]) + start)
                        kept = np.flatnonzero(same)
                        here, key = kept if here is None else here[kept], key[kept]
                np.left_shift(key, 1, out=key)
                key += positive.view(np.uint8) if here is None else positive.view(np.uint8)[here]
                counters.add(key)
        return self.leave(rows, np.concatenate(left)) if left else None

    @staticmethod
    def leave(rows: ScoredRows, missed: Integers) -> ScoredRows | None:
        """These of the rows, to be put aside."""
        return ScoredRows(rows.scores[missed], rows.positive[missed], rows.low, rows.high) if len(missed) else None

    @contextmanager
    def counters(self) -> Iterator[LadderCells]:
        """Counters that nobody else uses meanwhile."""
        with self._free or nullcontext():
            try:
                # Lists give and take one at a time, whichever thread asks.
                counters = self._spare.pop()
            except IndexError:
                counters = LadderCells(len(self))
                self.every.append(counters)
            try:
                yield counters
            finally:
                self._spare.append(counters)

    def settle(self, rows: ScoredRows | None) -> None:
        """Keep rows that were put aside; one thread does so at a time."""
        if rows is not None and self.is_laid_out:
            # Bins may have been laid out since, or have found owners.
            rows = self.count(rows)
        if rows is None:
            return
        inside = (rows.scores >= 0) & (rows.scores <= 1)
        if self.ladder is None or not inside.all():
            outside = slice(None) if self.ladder is None else ~inside
            self.outside.add(rows.scores[outside], rows.positive[outside])
        if self.ladder is not None and inside.any():
            self._waiting.append(ScoredRows(rows.scores[inside], rows.positive[inside], rows.low, rows.high))
        waiting = sum(len(part.scores) for part in self._waiting)
        if not self.is_laid_out and waiting >= FIRST_ROWS * self.most:
            self._lay_out()
        elif self.is_laid_out and waiting >= min(ENOUGH, self.most):
            self.sort()

    def _lay_out(self) -> None:
        """Tell from the first rows whether there are too many scores to keep each of them, and count these rows."""
        first, self._waiting = self._waiting, []
        # Adding 0 makes one score of -0.0 and 0.0.
        blocks = [
            np.add(part.scores[at : at + BLOCK], 0.0, dtype=np.float64)
            for part in first
            for at in range(0, len(part.scores), BLOCK)
        ]
        self.crowded = _count_at_least(blocks) > self.most
        if not self.crowded:
            self._own(blocks)
        self._waiting = [left for left in share_out(self.count, first) if left is not None]

    def sort(self) -> None:
        """Sort what waits; with more distinct scores than are kept from now on bins count all of theirs."""
        if not self._waiting:
            return
        scores, positive = (np.concatenate(column) for column in list(zip(*self._waiting, strict=True))[:2])
        self._waiting = []
        self.aside = self.aside + bins_of(scores, positive, 2, most=UNLIMITED)
        low = self.aside.low
        known = 0 if self.owners is None else int((self.owners[self.cells(low)] == low).sum())
        self.crowded = self.crowded or self._owned + len(low) - known > self.most
        if not self.crowded:
            self._own([low[np.argsort(self.aside.counts.sum(axis=1), kind="stable")]])

    def _own(self, blocks: Sequence[Floats]) -> None:
        """Let bins without an owner count one of these scores, the last of each bin; others may be counting now."""
        chosen = np.full(len(self), np.nan)
        for block in blocks:
            chosen[self.cells(block)] = block
        if self.owners is None:
            self.owners = chosen
        else:
            # Each is written once: who counts meanwhile must not meet two owners of one bin.
            places = np.flatnonzero(np.isnan(self.owners) & ~np.isnan(chosen))
            self.owners[places] = chosen[places]
        self._owned = len(self) - int(np.count_nonzero(np.isnan(self.owners)))

    def __len__(self) -> int:
        return 0 if self.ladder is None else len(self.ladder)

    def cells(self, scores: Floats) -> Integers:
        """The bin of each score."""
        return np.zeros(0, dtype=np.int64) if self.ladder is None else self.ladder.cells(scores)

    def reach(self, low: float, high: float) -> None:
        """Take note of the ends of some scores."""
        self.ends = min(self.ends[0], low), max(self.ends[1], high)

    def bins(self) -> ScoreBins:
        """Everything that was counted."""
        return merge_ladders([self])

    def points(self) -> ScoreBins:
        """Every distinct score, where bins count single ones."""
        if self.owners is None:
            return self.aside
        table = _add_up([self])
        kept = np.flatnonzero(table[::2] + table[1::2])
        # Bins are in the order of their scores, and so are the owners.
        return ScoreBins.of_distinct(self.owners[kept], table.reshape(-1, 2)[kept], most=UNLIMITED) + self.aside


def merge_ladders(ladders: Sequence[ScoreLadder]) -> ScoreBins:
    """What several have counted together: each distinct score, or where these are too many the bins of the ladder."""
    for part in ladders:
        part.sort()
    first = ladders[0]
    outside = reduce(add, (part.outside.bins() for part in ladders))
    if first.ladder is None or not any(part.every or len(part.aside) for part in ladders):
        return outside
    inside = None
    if not any(part.crowded for part in ladders):
        inside = reduce(add, (part.points() for part in ladders))
    if inside is None or len(inside) > first.most:
        table = _add_up(ladders).reshape(-1, 2)
        for part in ladders:
            np.add.at(table, part.cells(part.aside.low), part.aside.counts)
        kept = np.flatnonzero(table[:, 0] + table[:, 1])
        low, exponent = first.ladder.edges(kept)
        inside = ScoreBins(low, exponent, table[kept], -first.ladder.bits, low[0], low[-1])
    inside = replace(inside, most=first.most)
    ends = [part.ends for part in ladders]
    least, greatest = min(low for low, _ in ends), max(high for _, high in ends)
    return replace(inside + outside if len(outside) else inside, least=least, greatest=greatest)


def _add_up(ladders: Sequence[ScoreLadder]) -> Integers:
    """The counters of all threads added up, a block of bins to a thread."""
    table = np.zeros(2 * len(ladders[0]), dtype=np.int64)

    def add_block(start: int) -> None:
        here = slice(start, start + BLOCK)
        for part in ladders:
            for counters in part.every:
                counters.add_to(table[here], here)

    share_out(add_block, range(0, len(table), BLOCK))
    return table


def _count_at_least(blocks: Sequence[Floats]) -> int:
    """How many distinct scores there are at least: their bits, stirred, mostly leave marks of their own in a table."""
    marks = np.zeros(1 << TABLE_BITS, dtype=np.bool_)
    for block in blocks:
        stirred = block.view(np.uint64) * np.uint64(0x9E3779B97F4A7C15)
        marks[stirred >> np.uint64(64 - TABLE_BITS)] = True
    return int(np.count_nonzero(marks))
