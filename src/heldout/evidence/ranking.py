"""The ranking of the cases by their score: how many positives and negatives have each distinct score."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from heldout.arguments import Label
from heldout.arrays import Floats
from heldout.errors import ValuesError
from heldout.evidence.bin_grid import above, mirrored
from heldout.evidence.confusion import Clusters, Confusion
from heldout.evidence.labels import join_keys
from heldout.threads import cached_property, share_out

# One message for a fault that several functions can find.
COUNT_ALIKE = "count both in the same way."


# Entries that are worked on at a time: they stay in the cache, and a long ranking has a block for each of many threads.
BLOCK = 1 << 17


@dataclass(frozen=True, eq=False)
class RankedGroups:
    """Which group the cases at each score belong to: one entry per group and score that was met."""

    keys: NDArray[Any]
    group: NDArray[np.int64]
    place: NDArray[np.int64]
    positives: NDArray[Any]
    negatives: NDArray[Any]


@dataclass(frozen=True, eq=False)
class Ranking:
    """Positives and negatives at every distinct score, from the highest score down.

    Cases with equal scores cannot be told apart by a threshold, so they are one entry. A case is predicted positive
    when its score is at least the threshold. With weights the entries are sums of weights, and `positive_squares` and
    `negative_squares` hold the sums of squared weights. Counts may be in bytes, to keep large rankings small: both
    counts of a score can be added to each other, but convert `positives` and `negatives` before other arithmetic.

    Where there were too many distinct scores to keep, an entry is a bin of scores: `scores` are the lower edges, so the
    counts at those thresholds are exact all the same, `ends` are the first floats above the bins, and `joined` says
    which bins may hold several distinct scores. Without `joined` every entry is one score. `rows` is how many rows the
    sums of weights are of, where that is known: the error of a sum grows with them.

    >>> seen = Ranking(np.array([0.9, 0.4]), np.array([1, 1]), np.array([0, 2]))
    >>> seen.tp, seen.fp
    (array([1, 2]), array([0, 2]))
    """

    scores: Floats
    positives: NDArray[Any]
    negatives: NDArray[Any]
    positive_squares: Floats | None = None
    negative_squares: Floats | None = None
    groups: RankedGroups | None = None
    joined: NDArray[np.bool_] | None = None
    ends: Floats | None = None
    rows: int | None = None

    def __len__(self) -> int:
        return len(self.scores)

    @property
    def weighted(self) -> bool:
        """Whether the ranked cases carry weights."""
        return self.positive_squares is not None

    @cached_property
    def tp(self) -> NDArray[Any]:
        """Positives whose score is at least each distinct score: TP at that threshold."""
        return running(self.positives)

    @cached_property
    def fp(self) -> NDArray[Any]:
        """Negatives whose score is at least each distinct score: FP at that threshold."""
        return running(self.negatives)

    @cached_property
    def n_positive(self) -> int | float:
        """The number of positives, or their weight."""
        return self._total(self.positives)

    @cached_property
    def n_negative(self) -> int | float:
        """The number of negatives, or their weight."""
        return self._total(self.negatives)

    def _total(self, entries: NDArray[Any]) -> int | float:
        total: int | float = entries.sum(dtype=np.float64 if self.weighted else np.int64).item()
        return total

    @property
    def n(self) -> int | float:
        """The number of cases that were ranked, or their weight."""
        return self.n_positive + self.n_negative

    @property
    def columns(self) -> tuple[Any, ...]:
        """The entries: scores, positives, negatives, the sums of squared weights, and what is known of bins."""
        squares = self.positive_squares, self.negative_squares
        return self.scores, self.positives, self.negatives, *squares, self.joined, self.tops

    @cached_property
    def tops(self) -> Floats | None:
        """The first float above each bin, at most the next entry's score; None where every entry is one score."""
        if self.joined is None or self.ends is not None:
            return self.ends
        return np.concatenate([[np.inf], self.scores[:-1]])

    def between(self, threshold: float) -> tuple[Any, Any, Any, Any]:
        """The least and the most that TP can be at a threshold, then FP: equal unless it falls inside a bin.

        >>> Ranking(np.array([0.5]), np.array([2]), np.array([1]), None, None, None, np.array([True])).between(0.7)
        (0, 2, 0, 1)
        """
        reached = int(np.searchsorted(-self.scores, -threshold, side="right"))
        tp, fp = ((cumulative[reached - 1].item() if reached else 0) for cumulative in (self.tp, self.fp))
        tops = self.tops
        if tops is None or reached == len(self) or not threshold < tops[reached]:
            return tp, tp, fp, fp
        return tp, self.tp[reached].item(), fp, self.fp[reached].item()

    @cached_property
    def memo(self) -> dict[Any, Any]:
        """What was derived from this ranking and will be asked for again."""
        return {}

    @cached_property
    def blocks(self) -> list[tuple[slice, list[int]]]:
        """The entries of a ranking of counts in blocks, each with the positives and the negatives above it."""
        return divide_up((self.positives, self.negatives), BLOCK)

    def swapped(self) -> Ranking:
        """The same cases with the classes exchanged, so that a low score speaks for the positive class."""
        groups = self.groups
        if groups is not None:
            last = len(self) - 1
            groups = RankedGroups(groups.keys, groups.group, last - groups.place, groups.negatives, groups.positives)
        scores, ends = -self.scores[::-1], None
        if self.tops is not None:
            # The highest float of a bin becomes the lowest.
            scores = mirrored(self.tops[::-1])
            ends = mirrored(self.scores[::-1])
        return Ranking(
            scores,
            self.negatives[::-1],
            self.positives[::-1],
            None if self.negative_squares is None else self.negative_squares[::-1],
            None if self.positive_squares is None else self.positive_squares[::-1],
            groups,
            None if self.joined is None else self.joined[::-1],
            ends,
            self.rows,
        )

    def __add__(self, other: object) -> Ranking:
        if not isinstance(other, Ranking):
            return NotImplemented
        if self.weighted != other.weighted or (self.groups is None) != (other.groups is None):
            raise ValuesError(
                "Rankings with and without weights, or with and without groups, cannot be merged.",
                hint=COUNT_ALIKE,
            )
        joined = ends = None
        if self.joined is None and other.joined is None:
            scores, where = np.unique(np.concatenate([self.scores, other.scores]), return_inverse=True)
            scores, where = scores[::-1], len(scores) - 1 - where
        else:
            scores, where, joined, ends = _merged_bins(self, other)

        def summed(first: Any, second: Any) -> Any:
            entries = np.concatenate([first, second])
            total = np.zeros(len(scores), dtype=np.int64 if entries.dtype.kind in "iu" else np.float64)
            np.add.at(total, where, entries)
            return total

        positives, negatives = (
            summed(self.positives, other.positives),
            summed(self.negatives, other.negatives),
        )
        if not self.weighted:
            positives, negatives = smallest(positives, negatives)

        return Ranking(
            scores,
            positives,
            negatives,
            None if self.positive_squares is None else summed(self.positive_squares, other.positive_squares),
            None if self.negative_squares is None else summed(self.negative_squares, other.negative_squares),
            _merged_groups(self, other, where),
            joined,
            ends,
            None if self.rows is None or other.rows is None else self.rows + other.rows,
        )

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Ranking):
            return NotImplemented
        pairs = zip(self.columns, other.columns, strict=True)
        if _count_by_group(self.groups) != _count_by_group(other.groups):
            return False
        return all((a is None) == (b is None) and (a is None or np.array_equal(a, b)) for a, b in pairs)

    __hash__ = None  # type: ignore[assignment]


def _count_by_group(groups: RankedGroups | None) -> dict[Any, tuple[float, float]] | None:
    """How many positives and negatives each group has at each place."""
    if groups is None:
        return None
    total: dict[Any, tuple[float, float]] = {}
    columns = (groups.group.tolist(), groups.place.tolist(), groups.positives.tolist(), groups.negatives.tolist())
    for code, index, positives, negatives in zip(*columns, strict=True):
        key = groups.keys[code], index
        before = total.get(key, (0.0, 0.0))
        total[key] = (before[0] + positives, before[1] + negatives)
    return total


def _merged_bins(left: Ranking, right: Ranking) -> tuple[Floats, NDArray[np.int64], NDArray[np.bool_], Floats]:
    """Bins that share scores become one: their lower edges, the place of every entry, which are joined, their ends."""
    low = np.concatenate([left.scores, right.scores])
    sides = [above(side.scores) if side.tops is None else side.tops for side in (left, right)]
    flags = [np.zeros(len(side), dtype=np.bool_) if side.joined is None else side.joined for side in (left, right)]
    order = np.argsort(low, kind="stable")
    low, high, mixed = low[order], np.concatenate(sides)[order], np.concatenate(flags)[order]
    reached = np.maximum.accumulate(high)
    first = np.concatenate([[True], low[1:] >= reached[:-1]])[: len(low)]
    starts = np.flatnonzero(first)
    bin_index = np.cumsum(first) - 1
    ends = high
    if len(starts):
        low, ends = low[starts], np.maximum.reduceat(high, starts)
        number = np.diff(np.append(starts, len(bin_index)))
        # Two entries in one place are two scores, unless there is room for one only.
        mixed = np.logical_or.reduceat(mixed, starts) | ((number > 1) & (ends > above(low)))
    where = np.empty(len(bin_index), dtype=np.int64)
    where[order] = len(starts) - 1 - bin_index
    return low[::-1], where, mixed[::-1], ends[::-1]


def running(counts: NDArray[Any]) -> NDArray[Any]:
    """The sums of the counts up to each place; whole ones in blocks, so that no converted copy of them is made.

    >>> running(np.array([1, 0, 2], dtype=np.uint8))
    array([1, 1, 3])
    """
    if counts.dtype.kind == "f":
        return np.cumsum(counts)
    total = np.empty(len(counts), dtype=np.int64)
    carry = 0
    for start in range(0, len(counts), BLOCK):
        part = total[start : start + BLOCK]
        np.cumsum(counts[start : start + BLOCK].astype(np.int64), out=part)
        part += carry
        carry = int(part[-1])
    return total


def divide_up(columns: Sequence[NDArray[Any]], size: int) -> list[tuple[slice, list[int]]]:
    """Stretches of columns of whole counts, each with the sums of what stands before it.

    >>> divide_up([np.array([1, 0, 2]), np.array([0, 3, 1])], 2)
    [(slice(0, 2, None), [0, 0]), (slice(2, 3, None), [1, 3])]
    """
    length = len(columns[0])
    if length <= size:
        return [(slice(0, length), [0] * len(columns))]
    parts = [slice(start, min(start + size, length)) for start in range(0, length, size)]
    inside = share_out(lambda part: [int(column[part].sum(dtype=np.int64)) for column in columns], parts)
    before = np.cumsum([[0] * len(columns), *inside[:-1]], axis=0).tolist()
    return list(zip(parts, before, strict=True))


def smallest(positives: NDArray[Any], negatives: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
    """Whole counts in bytes if at every score both together fit into one, otherwise as they are.

    >>> [side.dtype.name for side in smallest(np.array([3, 100]), np.array([9, 155]))]
    ['uint8', 'uint8']
    >>> [side.dtype.name for side in smallest(np.array([3, 100]), np.array([9, 156]))]
    ['int64', 'int64']
    """
    # Side by side, as each is read many times.
    if positives.size and (positives + negatives).max() > 255:
        return np.ascontiguousarray(positives), np.ascontiguousarray(negatives)
    return positives.astype(np.uint8), negatives.astype(np.uint8)


def _merged_groups(left: Ranking, right: Ranking, where: NDArray[np.int64]) -> RankedGroups | None:
    if left.groups is None or right.groups is None:
        return None
    keys, code = join_keys([left.groups.keys, right.groups.keys])
    first = len(left.groups.keys)
    return RankedGroups(
        keys,
        np.concatenate([code[left.groups.group], code[right.groups.group + first]]),
        np.concatenate([where[left.groups.place], where[right.groups.place + len(left)]]),
        np.concatenate([left.groups.positives, right.groups.positives]),
        np.concatenate([left.groups.negatives, right.groups.negatives]),
    )


def cut_at(ranking: Ranking, place: int, labels: tuple[Label, Label], rows: Ranking | None = None) -> Confusion:
    """The counts when the scores before `place` are called positive; `labels` are the negative and the positive class.

    `rows` is the same ranking without its weights, where it is known.

    >>> seen = Ranking(np.array([0.9, 0.4]), np.array([1, 1]), np.array([0, 2]))
    >>> cut_at(seen, 1, ("no", "yes")).matrix
    array([[2, 0],
           [1, 1]])
    """
    kind: Any = np.float64 if ranking.weighted else np.int64
    counts: Any = np.array(_split(ranking.negatives, place) + _split(ranking.positives, place), dtype=kind)
    filled = np.flatnonzero(counts)
    squares = cases = None
    if ranking.positive_squares is not None and ranking.negative_squares is not None:
        squares = np.array(_split(ranking.negative_squares, place) + _split(ranking.positive_squares, place))[filled]
        if rows is not None:
            cases = np.array(_split(rows.negatives, place) + _split(rows.positives, place), dtype=np.int64)[filled]
        else:
            # How many rows are behind a sum of weights is not kept in a ranking; Kish's (Σw)² / Σw² never exceeds it.
            cases = np.maximum(np.rint(counts[filled] ** 2 / squares), 1).astype(np.int64)
    clusters = None if ranking.groups is None else _clusters(ranking.groups, place, filled, kind)
    return Confusion(labels, filled // 2, filled % 2, counts[filled], squares=squares, rows=cases, clusters=clusters)


def _split(values: Any, place: int) -> list[Any]:
    """What is called negative, and what is called positive."""
    return [values[place:].sum(), values[:place].sum()]


def _clusters(groups: RankedGroups, place: int, met: Any, kind: Any) -> Clusters:
    called = (groups.place < place).astype(np.int64)
    key = np.concatenate([groups.group * 4 + called, groups.group * 4 + 2 + called])
    counts = np.concatenate([groups.negatives, groups.positives]).astype(np.float64)
    pairs, where = np.unique(key, return_inverse=True)
    total = np.bincount(where, weights=counts)
    kept = total > 0
    return Clusters(groups.keys, pairs[kept] // 4, np.searchsorted(met, pairs[kept] % 4), total[kept].astype(kind))


def split_at(ranking: Ranking, threshold: float, tp: float, fp: float) -> Ranking | None:
    """The ranking with exact counts at a threshold at which TP and FP were counted.

    It is the ranking itself where the threshold lies inside no bin, and None where weights or groups keep the bin
    from being divided.

    >>> seen = Ranking(np.array([0.5]), np.array([9]), np.array([5]), joined=np.array([True]), ends=np.array([1.0]))
    >>> split_at(seen, 0.7, 6, 1).positives
    array([6, 3])
    """
    least, most, fewest, all_ = ranking.between(threshold)
    if (least, fewest) == (most, all_):
        return ranking
    if ranking.weighted or ranking.groups is not None or ranking.joined is None:
        return None
    at = int(np.searchsorted(-ranking.scores, -threshold, side="right"))
    above = round(tp) - least, round(fp) - fewest
    positives, negatives = ranking.positives.astype(np.int64), ranking.negatives.astype(np.int64)
    inside = positives[at] - above[0], negatives[at] - above[1]
    sides = [np.insert(side, at, part) for side, part in zip((positives, negatives), above, strict=True)]
    for side, part in zip(sides, inside, strict=True):
        side[at + 1] = part
    ends = ranking.ends
    if ends is not None:
        ends = np.insert(ends, at, ends[at])
        ends[at + 1] = threshold
    joined = np.insert(ranking.joined, at, ranking.joined[at])
    return replace(
        ranking,
        scores=np.insert(ranking.scores, at, threshold),
        positives=sides[0],
        negatives=sides[1],
        joined=joined,
        ends=ends,
    )
