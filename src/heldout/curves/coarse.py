"""A ranking made short: neighbouring scores joined where no curve can show the difference, counts kept exact."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from heldout.arrays import Integers
from heldout.evidence.ranking import RankedGroups, Ranking

# Between two places that are kept, each rate moves by no more than one part in so many: a quarter of a pixel of a chart
# a thousand pixels wide. Precision moves with the ratio of the counts, so their logarithm is stepped through as well.
STEPS = 4000
RATIO_STEPS = 2000
# Shorter rankings are kept as they are.
SHORT = 100_000
BLOCK = 1 << 16


def places_of(ranking: Ranking, thresholds: ArrayLike) -> Integers:
    """How many distinct scores reach each threshold; halves the ranking in place, so no copy of it is made.

    >>> places_of(Ranking(np.array([0.9, 0.4]), np.array([1, 1]), np.array([0, 2])), [1.0, 0.9, 0.5, 0.0])
    array([0, 1, 1, 2])
    """
    wanted = np.atleast_1d(np.asarray(thresholds, dtype=np.float64))
    low, high = np.zeros(len(wanted), dtype=np.int64), np.full(len(wanted), len(ranking), dtype=np.int64)
    while (low < high).any():
        middle = (low + high) // 2
        reached = ranking.scores[np.minimum(middle, max(len(ranking) - 1, 0))] >= wanted
        open_ = low < high
        low = np.where(open_ & reached, middle + 1, low)
        high = np.where(open_ & ~reached, middle, high)
    return low


def shortened(ranking: Ranking, thresholds: ArrayLike = ()) -> Ranking:
    """The ranking with runs of scores joined; at the scores it keeps, and at `thresholds`, its counts are exact.

    Takes one pass in blocks and memory for the places that are kept. Of a ranking from bins, a run begins where its
    first bin does and may hold several scores; a bin that a threshold falls into is kept by itself, with its edges.

    >>> whole = Ranking(np.arange(300_000.0)[::-1], np.ones(300_000, np.uint8), np.ones(300_000, np.uint8))
    >>> short = shortened(whole, [1234.0])
    >>> len(short) < 100_000, int(short.tp[-1]), 1234.0 in short.scores
    (True, 300000, True)
    """
    if len(ranking) <= SHORT:
        return ranking
    asked = places_of(ranking, thresholds) - 1
    if ranking.joined is not None:
        asked = np.concatenate([asked, np.minimum(asked + 1, len(ranking) - 1)])
    kept = np.unique(np.concatenate([_kept(ranking), asked[asked >= 0], [len(ranking) - 1]]))
    joined = ends = None
    if ranking.joined is not None and ranking.tops is not None:
        starts = np.concatenate([[0], kept[:-1] + 1])
        joined = np.logical_or.reduceat(ranking.joined, starts) | (starts < kept)
        ends = ranking.tops[starts]
    first, second = ranking.positive_squares, ranking.negative_squares
    return Ranking(
        ranking.scores[kept],
        _sums(ranking.positives, kept),
        _sums(ranking.negatives, kept),
        None if first is None else _sums(first, kept),
        None if second is None else _sums(second, kept),
        _groups(ranking.groups, kept),
        joined,
        ends,
        ranking.rows,
    )


def _kept(ranking: Ranking) -> Integers:
    """The first place of each step of the rates, and of the logarithm of the number found; looked for once."""
    memo = ranking.memo
    if "kept places" in memo:
        known: Integers = memo["kept places"]
        return known
    found: list[Integers] = []
    steps = [(ranking.n_positive or 1) / STEPS, (ranking.n_negative or 1) / STEPS]
    # The sums only grow, so the places where they pass a step are looked up, not looked for at every place.
    passed = [0, 0]
    reached = -math.inf
    for start, tp, fp in _running(ranking):
        for side, sums in enumerate((tp, fp)):
            last = math.floor(float(sums[-1]) / steps[side])
            bounds = np.arange(passed[side] + 1, last + 1) * steps[side]
            found.append(np.minimum(np.searchsorted(sums, bounds), len(sums) - 1) + start)
            passed[side] = last
        both = tp + fp
        if both[-1] > 0:
            last = math.floor(RATIO_STEPS * math.log(float(both[-1])))
            least = reached if math.isfinite(reached) else math.floor(RATIO_STEPS * math.log(float(both[both > 0][0])))
            bounds = np.exp(np.arange(least, last + 1) / RATIO_STEPS)
            found.append(np.minimum(np.searchsorted(both, bounds), len(both) - 1) + start)
            reached = last + 1
    found.append(np.zeros(1, dtype=np.int64))
    made: Integers = np.unique(np.concatenate(found))
    memo["kept places"] = made
    return made


def _running(ranking: Ranking) -> Iterator[tuple[int, NDArray[Any], NDArray[Any]]]:
    """TP and FP place by place, a block at a time."""
    kind: Any = np.float64 if ranking.weighted else np.int64
    held: list[Any] = [kind(0), kind(0)]
    for start in range(0, len(ranking), BLOCK):
        sums = []
        for side, entries in enumerate((ranking.positives, ranking.negatives)):
            # Converted first: np.cumsum from one type into another is many times as slow.
            total = entries[start : start + BLOCK].astype(kind)
            np.cumsum(total, out=total)
            total += held[side]
            held[side] = total[-1]
            sums.append(total)
        yield start, sums[0], sums[1]


def _sums(entries: NDArray[Any], kept: Integers) -> NDArray[Any]:
    """The sums of the entries after one kept place and up to the next."""
    kind: Any = np.float64 if entries.dtype.kind == "f" else np.int64
    starts = np.concatenate([[0], kept[:-1] + 1])
    total = np.zeros(len(kept), dtype=kind)
    # A run may cross several blocks.
    for start in range(0, int(kept[-1]) + 1, BLOCK):
        stop = min(start + BLOCK, int(kept[-1]) + 1)
        first, last = np.searchsorted(kept, [start, stop - 1])
        edges = np.maximum(starts[first : last + 1], start) - start
        total[first : last + 1] += np.add.reduceat(entries[start:stop].astype(kind), edges)
    return total


def _groups(groups: RankedGroups | None, kept: Integers) -> RankedGroups | None:
    if groups is None:
        return None
    place = np.searchsorted(kept, groups.place)
    return RankedGroups(groups.keys, groups.group, place, groups.positives, groups.negatives)
