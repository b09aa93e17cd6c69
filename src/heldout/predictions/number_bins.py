"""Where numbers are cut into bins of about equally many cases, from rows or from distinct numbers with their counts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from heldout.predictions.label_encoding import BLOCK

# Numbers with at most this many distinct values are taken as they are; others are cut into bins at quantiles.
FEW_NUMBERS = 10
SAMPLE = 20_000


class NumberColumn(Protocol):
    """A column of numbers without gaps, as far as cutting it needs it."""

    @property
    def n(self) -> int:
        """How many there are."""

    def few(self) -> NDArray[Any] | None:
        """The distinct numbers in order, if there are few."""

    def at(self, places: NDArray[np.int64]) -> NDArray[Any]:
        """The numbers that stand at these places when all are in order."""

    def times(self, number: Any) -> int:
        """How often a number stands."""

    def inside(self, low: Any, high: Any) -> tuple[int, Any]:
        """How many lie between two numbers, neither included, and the greatest of those; no `low` is no limit."""

    def spans(self, ends: NDArray[Any]) -> list[tuple[Any, Any]]:
        """The lowest and the highest number of each bin that ends at `ends`."""


@dataclass(frozen=True, eq=False)
class NumberRows:
    """Numbers as they stand, row by row."""

    held: NDArray[Any]

    @property
    def n(self) -> int:
        """How many there are."""
        return len(self.held)

    def few(self) -> NDArray[Any] | None:
        """The distinct numbers, if there are few; a sample tells in most cases that there are not."""
        numbers = self.held
        known = np.unique(numbers[:: max(1, len(numbers) // SAMPLE)])
        while len(known) <= FEW_NUMBERS:
            fresh = [
                np.setdiff1d(numbers[start : start + BLOCK], known, assume_unique=False)[: FEW_NUMBERS + 1]
                for start in range(0, len(numbers), BLOCK)
            ]
            more = np.unique(np.concatenate([*fresh, known]))
            if len(more) == len(known):
                return known
            known = more
        return None

    def at(self, places: NDArray[np.int64]) -> NDArray[Any]:
        """The numbers at these places, without putting all in order."""
        return np.asarray(np.partition(self.held, places)[places])

    def times(self, number: Any) -> int:
        """How often a number stands."""
        return int((self.held == number).sum())

    def inside(self, low: Any, high: Any) -> tuple[int, Any]:
        """How many lie between, and the greatest."""
        below = self.held < high
        numbers = self.held[below if low is None else below & (self.held > low)]
        return len(numbers), numbers.max() if len(numbers) else None

    def spans(self, ends: NDArray[Any]) -> list[tuple[Any, Any]]:
        """The lowest and the highest of each bin."""
        spans, left = [], self.held
        for end in ends:
            spans.append((left.min().item(), end.item()))
            left = left[left > end]
        return spans


@dataclass(frozen=True, eq=False)
class NumberCounts:
    """Distinct numbers in order, with how often each stands."""

    numbers: NDArray[Any]
    counts: NDArray[np.int64]

    @classmethod
    def of(cls, numbers: NDArray[Any], counts: NDArray[np.int64]) -> NumberCounts:
        """From numbers in any order, some of them perhaps several times or never."""
        numbers, counts = numbers[counts > 0], counts[counts > 0]
        distinct, where = np.unique(numbers, return_inverse=True)
        total = np.zeros(len(distinct), dtype=np.int64)
        np.add.at(total, where, counts)
        return cls(distinct, total)

    @property
    def n(self) -> int:
        """How many there are."""
        return int(self.counts.sum())

    def few(self) -> NDArray[Any] | None:
        """The distinct numbers, if there are few."""
        return self.numbers if len(self.numbers) <= FEW_NUMBERS else None

    def at(self, places: NDArray[np.int64]) -> NDArray[Any]:
        """The numbers at these places."""
        return np.asarray(self.numbers[np.searchsorted(np.cumsum(self.counts), places, side="right")])

    def times(self, number: Any) -> int:
        """How often a number stands."""
        index = int(np.searchsorted(self.numbers, number))
        return int(self.counts[index]) if self.numbers[index] == number else 0

    def inside(self, low: Any, high: Any) -> tuple[int, Any]:
        """How many lie between, and the greatest."""
        first = 0 if low is None else int(np.searchsorted(self.numbers, low, side="right"))
        last = int(np.searchsorted(self.numbers, high))
        return int(self.counts[first:last].sum()), self.numbers[last - 1] if last > first else None

    def spans(self, ends: NDArray[Any]) -> list[tuple[Any, Any]]:
        """The lowest and the highest of each bin."""
        last = np.searchsorted(self.numbers, ends)
        lowest = self.numbers[np.concatenate([[0], last[:-1] + 1])]
        return list(zip(lowest.tolist(), ends.tolist(), strict=True))


def quantile_ends(numbers: NumberColumn, bins: int) -> NDArray[Any]:
    """The last number of each bin, each one that occurs; fewer where many numbers are equal.

    >>> quantile_ends(NumberCounts(np.array([1, 2, 3]), np.array([5, 1, 6])), 2).tolist()
    [2, 3]
    """
    n = numbers.n
    ends = np.unique(numbers.at(np.array([-(-n * part // bins) - 1 for part in range(1, bins + 1)])))
    for end in ends.tolist():
        # A number that would fill a bin alone gets one, if those before it are enough for another.
        if len(ends) < bins and numbers.times(end) >= n / bins:
            before = ends[ends < end]
            between, greatest = numbers.inside(before[-1] if len(before) else None, end)
            if between >= n / (4 * bins):
                ends = np.unique(np.append(ends, greatest))
    return np.asarray(ends)
