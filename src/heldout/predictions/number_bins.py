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

    def fill(self, ends: NDArray[Any]) -> NDArray[np.int64]:
        """How many numbers each bin holds that ends at `ends`; none is beyond the last."""


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

    def fill(self, ends: NDArray[Any]) -> NDArray[np.int64]:
        """How many numbers each bin holds."""
        counts = np.zeros(len(ends), dtype=np.int64)
        for start in range(0, len(self.held), BLOCK):
            counts += np.bincount(np.searchsorted(ends, self.held[start : start + BLOCK]), minlength=len(ends))
        return counts


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

    def fill(self, ends: NDArray[Any]) -> NDArray[np.int64]:
        """How many numbers each bin holds."""
        counts = np.zeros(len(ends), dtype=np.int64)
        np.add.at(counts, np.searchsorted(ends, self.numbers), self.counts)
        return counts


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


# For each span in days, at most, the periods that it is divided into: their unit and how many of it.
CALENDAR = ((31, "D", 1), (183, "W", 1), (3 * 366, "M", 1), (12 * 366, "M", 3), (60 * 366, "M", 12))
# Finer periods than this many cases for each tell little.
CASES_IN_PERIOD = 10
SHORTEST_DAYS = 3


def calendar_ends(numbers: NumberColumn, kind: np.dtype[Any]) -> tuple[NDArray[np.int64], list[str]] | None:
    """The last moment of each day, week, month, quarter or year that has cases, and its name; None where none fits.

    Moments come as whole numbers of the unit that `kind` has. The span chooses the period, and with few cases a longer
    one.

    >>> days = np.arange("2024-01-15", "2024-06-01", 2, dtype="datetime64[D]")
    >>> calendar_ends(NumberRows(np.repeat(days.view(np.int64), 9)), days.dtype)[1][:2]
    ['week of 2024-01-15', 'week of 2024-01-22']
    >>> calendar_ends(NumberRows(days.view(np.int64)), days.dtype)[1][:2]
    ['2024-01', '2024-02']
    """
    first, last = np.asarray(numbers.at(np.array([0, numbers.n - 1]))).astype(np.int64).view(kind)
    days = int((last.astype("datetime64[D]") - first.astype("datetime64[D]")).astype(np.int64)) + 1
    if days < SHORTEST_DAYS:
        return None
    for most, unit, length in CALENDAR:
        if days > most:
            continue
        starts, following = _periods(first, last, unit, length)
        ends = following.astype(kind).astype(np.int64) - 1
        counts = numbers.fill(ends)
        filled = np.flatnonzero(counts)
        enough = numbers.n >= CASES_IN_PERIOD * len(filled) or (unit, length) == CALENDAR[-1][1:]
        if len(filled) > 1 and enough:
            return ends[filled], [_period_name(starts[at], unit, length) for at in filled.tolist()]
    return None


def _periods(first: Any, last: Any, unit: str, length: int) -> tuple[NDArray[Any], NDArray[Any]]:
    """The beginnings of the periods from the first to the last moment, and of those that follow each."""
    if unit == "W":
        # The calendar's weeks begin on Monday, and the first of January 1970 was a Thursday.
        numbers = [(int(moment.astype("datetime64[D]").astype(np.int64)) + 3) // 7 for moment in (first, last)]
        starts = (7 * np.arange(numbers[0], numbers[1] + 1) - 3).astype("datetime64[D]")
        return starts, starts + 7
    begin, end = (int(moment.astype(f"datetime64[{unit}]").astype(np.int64)) // length for moment in (first, last))
    starts = (length * np.arange(begin, end + 1)).astype(f"datetime64[{unit}]")
    return starts, starts + length


def _period_name(start: Any, unit: str, length: int) -> str:
    text = str(start)
    if unit == "W":
        return f"week of {text}"
    if length == 12:
        return text[:4]
    return f"{text[:4]}-Q{int(text[5:7]) // 3 + 1}" if length == 3 else text
