"""Which training rows are predicted too, so that training error and test error can be set side by side."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from heldout.arrays import Integers
from heldout.plans.splits import Splits

# Training rows predicted over all splits, at least: enough for an error within a percentage point or two.
ENOUGH = 2000


@dataclass(frozen=True, eq=False)
class Drawn:
    """Training rows of all splits, one split after the other; `bounds` says where each begins."""

    rows: Integers
    bounds: Integers

    def of(self, i: int) -> Integers:
        """The rows of split i."""
        return self.rows[self.bounds[i] : self.bounds[i + 1]]


def wanted(train: int, test: int, splits: int) -> int:
    """How many distinct training rows a split predicts: as many as it tests, and enough over all splits.

    >>> wanted(train=135, test=15, splits=10)
    135
    """
    return min(train, max(test, math.ceil(ENOUGH / splits)))


def draw(splits: Splits, seed: int) -> Drawn:
    """Integers for every split that trains on what it does not test.

    One generator serves all splits: making one for each of thousands would take longer than the predictions do.
    """
    rng = np.random.default_rng(seed)
    sizes = splits.train_sizes
    counts = np.minimum(sizes, np.maximum(splits.sizes, math.ceil(ENOUGH / len(splits))))
    bounds = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
    rows = np.empty(bounds[-1], dtype=np.int64)
    # Few of many rarely collide: drawn with replacement for all splits at once, and again where two are equal.
    few = 2 * counts**2 <= sizes
    _draw_few(splits, np.flatnonzero(few), counts, bounds, rows, rng)
    for i in np.flatnonzero(~few):
        rows[bounds[i] : bounds[i + 1]] = _some(splits.train(int(i)), int(counts[i]), rng)
    return Drawn(rows, bounds)


def draw_listed(train: Integers, test: Integers, split: int, splits: int, seed: int) -> Integers | None:
    """Integers of one split whose training rows are listed; None where it tests exactly the rows it trains on."""
    distinct = np.flatnonzero(np.bincount(train))
    if len(test) == len(distinct) and np.array_equal(np.sort(test), distinct):
        return None
    return _some(distinct, wanted(len(distinct), len(test), splits), np.random.default_rng([seed, split]))


def _some(rows: Integers, count: int, rng: np.random.Generator) -> Integers:
    if count == len(rows):
        return rows
    chosen: Integers = rows[rng.choice(len(rows), count, replace=False, shuffle=False)]
    return chosen


def _draw_few(
    splits: Splits, which: Integers, counts: Integers, bounds: Integers, rows: Integers, rng: np.random.Generator
) -> None:
    """Fill `rows` for the splits of which few training rows are wanted."""
    if not len(which):
        return
    order = np.lexsort((splits.test_rows, splits.split_of))
    # Place q among the rows that are not tested is row q + (the tested rows t₀ < t₁ < … with t_j − j ≤ q).
    passed = splits.test_rows[order] - (np.arange(len(order)) - splits.bounds[splits.split_of])
    keys = splits.split_of * (splits.n + 1) + passed
    todo = which
    while len(todo):
        split = np.repeat(todo, counts[todo])
        places = rng.integers(0, splits.train_sizes[split])
        line = split * (splits.n + 1) + places
        skipped = np.searchsorted(keys, line, side="right") - splits.bounds[split]
        starts = np.cumsum(counts[todo]) - counts[todo]
        rows[bounds[split] + np.arange(len(split)) - np.repeat(starts, counts[todo])] = places + skipped
        in_order = np.sort(line)
        todo = np.unique(in_order[1:][in_order[1:] == in_order[:-1]] // (splits.n + 1))
