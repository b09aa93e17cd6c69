"""Scores counted in bins: rows in memory at once, or many batches one after another in bounded memory."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from heldout.engines.dense_bins import Stretch, stretches
from heldout.engines.ranking import rank
from heldout.errors import ValuesError
from heldout.evidence.grid import POINT
from heldout.evidence.score_bins import MOST, ScoreBins

# Rows that no stretch takes are sorted so many at a time.
CHUNK = 1 << 20
# A counter of a bin holds 32 bits.
FULL = (1 << 32) - 1


def bins_of(
    scores: ArrayLike,
    codes: ArrayLike,
    k: int,
    *,
    weight: NDArray[np.float64] | None = None,
    group: tuple[NDArray[Any], NDArray[Any]] | None = None,
    most: int = MOST,
) -> ScoreBins:
    """Count rows by score and class; `codes` are places among `k` classes, or whether each row is positive.

    `group` is the group's code of every row and the keys of the codes. Scores must be finite.

    >>> bins_of(np.array([0.9, 0.4, 0.4]), np.array([True, True, False]), 2).counts.tolist()
    [[1, 1], [0, 1]]
    """
    values, places = np.asarray(scores), np.asarray(codes)
    _ends(values)
    if k == 2 and weight is None and group is None:
        # One sort of keys that carry the class, where no row need be followed to its place.
        seen = rank(values, places != 0)
        counts = np.stack([seen.negatives[::-1], seen.positives[::-1]], axis=1).astype(np.int64)
        return ScoreBins.of_distinct(seen.scores[::-1] + 0.0, counts, most=most)
    return ScoreBins.of(values, places, k, weight=weight, group=group, most=most)


def _ends(scores: NDArray[Any]) -> tuple[float, float]:
    """The least and the greatest score; refused if one is not finite."""
    if not len(scores):
        return np.inf, -np.inf
    least, greatest = float(scores.min()) + 0.0, float(scores.max()) + 0.0
    if np.isfinite(least) and np.isfinite(greatest):
        return least, greatest
    bad = np.flatnonzero(~np.isfinite(scores))
    raise ValuesError(
        f"Scores must be finite numbers. {len(bad):,} of {len(scores):,} are not; the first is {scores[bad[0]]}.",
        hint="find out where nan or infinite scores come from; a large number can stand for an infinite one.",
    )


class BinCounter:
    """Scores of many batches, counted one after another: the sum of what bins_of makes of each.

    The first rows are sorted, to learn where scores lie. Then bins that hold most of them get a counter each, and only
    rows elsewhere are put aside and sorted. When many are, the counters are laid out anew.

    >>> counter = BinCounter(2)
    >>> counter.add(np.array([0.9, 0.4]), np.array([True, False]))
    >>> counter.bins().counts.tolist()
    [[1, 0], [0, 1]]
    """

    def __init__(self, k: int, most: int = MOST, weighted: bool = False, *, chunk: int = CHUNK) -> None:
        self.k = k
        self.most = most
        self.weighted = weighted
        self.chunk = chunk
        self.n = 0
        self._least, self._greatest = np.inf, -np.inf
        none = np.zeros(0)
        self._held = bins_of(none, none, k, weight=none if weighted else None, most=most)
        self._stretches: list[Stretch] = []
        self._aside: list[tuple[NDArray[Any], ...]] = []
        self._waiting = 0
        # Rows before the counters were laid out, and rows put aside since.
        self._before = self._missed = 0

    def add(self, scores: ArrayLike, codes: ArrayLike, weight: NDArray[np.float64] | None = None) -> None:
        """Count one more batch; `codes` are places among the classes, or whether each row is positive."""
        values, places = np.asarray(scores), np.asarray(codes)
        least, greatest = _ends(values)
        if values.dtype.kind != "f":
            values = values.astype(np.float64)
        places = places.view(np.uint8) if places.dtype == np.bool_ else places
        if places.dtype.kind not in "iu" or places.dtype == np.uint64:
            places = places.astype(np.int64)
        self._least, self._greatest = min(self._least, least), max(self._greatest, greatest)
        self.n += len(values)
        rest: tuple[NDArray[Any], ...] = (values, places) if weight is None else (values, places, np.asarray(weight))
        copied = False
        for stretch in self._stretches:
            if stretch.rows + len(rest[0]) > FULL:
                self._lay_out()
                break
        for stretch in self._stretches:
            missed = stretch.add(rest[0], rest[1], rest[2] if weight is not None else None)
            if missed is None:
                rest = ()
                break
            rest, copied = tuple(column[missed] for column in rest), True
        if rest:
            # What the caller gave may change before it is looked at.
            self._aside.append(rest if copied else tuple(column.copy() for column in rest))
            self._waiting += len(rest[0])
            self._missed += len(rest[0])
        if self._waiting >= self.chunk:
            self._sort()
        if self.n >= 2 * self._before and self._stretches:
            self._look_again()

    def bins(self) -> ScoreBins:
        """Everything that was counted so far."""
        self._held = self._sorted()
        total = self._held
        for stretch in self._stretches:
            total = total + stretch.bins(self.most)
        return replace(total, least=self._least, greatest=self._greatest)

    def _sorted(self) -> ScoreBins:
        """What was held and put aside."""
        if not self._waiting:
            return self._held
        columns = [np.concatenate(parts) for parts in zip(*self._aside, strict=True)]
        self._aside, self._waiting = [], 0
        weight = columns[2] if self.weighted else None
        return self._held + bins_of(columns[0], columns[1], self.k, weight=weight, most=self.most)

    def _sort(self) -> None:
        self._held = self._sorted()
        distinct = self._held.base == POINT
        if not self._stretches:
            # Counters of single scores pay where scores come again.
            if not distinct or self.n >= 2 * len(self._held):
                self._lay_out()
        elif distinct != (self._stretches[0].owners is not None):
            self._lay_out()

    def _look_again(self) -> None:
        """Lay the counters out anew if many rows passed them by, or if there are more than needed."""
        crowded = len(self._held) + sum(stretch.met for stretch in self._stretches) > self.most
        if 4 * self._missed > self.n - self._before or crowded:
            self._lay_out()
        else:
            self._before, self._missed = self.n, 0

    def _lay_out(self) -> None:
        self._held = self._sorted()
        for stretch in self._stretches:
            self._held = self._held + stretch.bins(self.most)
        self._stretches = []
        self._before, self._missed = self.n, 0
        self._stretches = stretches(self._held, 2 * self.most, weighted=self.weighted)
        if self.n < FULL // 2:
            for stretch in self._stretches:
                self._held = stretch.take(self._held)
