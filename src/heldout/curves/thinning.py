"""Fewer points for the same picture: points of a curve that nobody could see left out, neighbouring scores joined."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from heldout.arrays import Floats, Integers
from heldout.curves.curve import Curve, Scale
from heldout.curves.declare import find_kind
from heldout.errors import OptionError
from heldout.evidence.ranking import RankedGroups, Ranking


def as_lines(curve: Curve) -> Curve:
    """The curve with every corner of its drawing as a point, to be joined by straight lines.

    A stepped curve gains a corner beside each point: y holds its value from its own threshold down to the next.

    >>> from heldout.curves.threshold_table import measure_curve
    >>> from heldout.evidence.ranking import Ranking
    >>> seen = Ranking(np.array([0.9, 0.5]), np.array([1, 1]), np.array([0, 1]))
    >>> as_lines(measure_curve(seen, "recall")).x
    array([0.9, 0.5, 0.5])
    """
    if not curve.stepped or len(curve) < 2:
        return replace(curve, stepped=False)
    corners = np.repeat(np.arange(len(curve)), 2)[:-1]
    moved = replace(curve.taken(corners), stepped=False)
    x = moved.x.copy()
    x[1::2] = curve.x[1:]
    return replace(moved, x=x)


def placed(values: Floats, scale: Scale) -> Floats:
    """Where values stand along a drawn axis: as they are, or as normal deviates.

    >>> placed(np.array([0.5, 1.0]), Scale("x", "X", drawn="probit"))
    array([ 0., inf])
    """
    if scale.drawn == "linear":
        return values
    from scipy.special import ndtri

    return np.asarray(ndtri(values), dtype=np.float64)


def thinned(curve: Curve, pixels: int = 1000) -> Curve:
    """The curve with the points left out whose absence moves no drawn line by more than a pixel of a chart this large.

    `dropped` says how many were left out. Two passes share the pixel: columns half a pixel wide keep their first, last,
    lowest and highest point, which takes time in proportion to the points; of those, the ones within half a pixel of
    the line through the others go.

    >>> from heldout.curves.roc import roc
    >>> from heldout.evidence.ranking import Ranking
    >>> ones = np.ones(5000, dtype=np.int64)
    >>> short = thinned(roc(Ranking(np.arange(5000.0)[::-1], ones, ones), bands=None))
    >>> len(short), short.dropped
    (2, 4999)
    """
    if pixels < 10:
        raise OptionError(f"A chart has 10 pixels or more to a side. Got {pixels}.", hint="use 1000.")
    lines = as_lines(curve)
    if len(lines) <= 2 or find_kind(curve).marks == "dots":
        # Bins are dots, not corners of a line.
        return lines
    x = _pixels(placed(lines.x, lines.x_scale), lines.x_scale, pixels)
    kept = np.zeros(len(lines), dtype=bool)
    heights = [placed(values, lines.y_scale) for values in (lines.y, lines.low, lines.high)]
    reach = _reach(heights, lines.y_scale)
    for height in heights:
        y = (height - reach[0]) / (reach[1] - reach[0]) * pixels
        there = np.flatnonzero(np.isfinite(x) & np.isfinite(y))
        if not len(there):
            continue
        columns = there[_extremes(x[there], y[there], 0.5)]
        kept[columns[_corners(x[columns], y[columns], 0.5)]] = True
    # Points without a place, such as the start of a DET curve, are kept: they are few and carry the counts.
    kept |= ~(np.isfinite(x) & np.isfinite(heights[0])) & (np.arange(len(lines)) % max(len(lines) - 1, 1) == 0)
    places = np.flatnonzero(kept)
    left = len(np.unique(places // 2 if curve.stepped else places))
    return replace(lines.taken(places), dropped=curve.dropped + len(curve) - left)


def _pixels(values: Floats, scale: Scale, pixels: int) -> Floats:
    low, high = _reach([values], scale)
    return np.asarray((values - low) / (high - low) * pixels)


def _reach(values: list[Floats], scale: Scale) -> tuple[float, float]:
    """The part of an axis that will be drawn, or less of it: a smaller part asks for more points, never for too few."""
    if scale.drawn == "linear" and scale.low is not None and scale.high is not None:
        return scale.low, scale.high
    known = np.concatenate([v[np.isfinite(v)] for v in values])
    low, high = (float(known.min()), float(known.max())) if len(known) else (0.0, 1.0)
    return (low, high) if high > low else (low, low + 1.0)


def _extremes(x: Floats, y: Floats, width: float) -> NDArray[np.int64]:
    """The first, last, lowest and highest point of each column of pixels that the curve passes through."""
    column = np.floor(x / width)
    starts = np.flatnonzero(np.diff(column, prepend=np.nan))
    ends = np.append(starts[1:], len(x))
    order = np.lexsort((y, np.repeat(np.arange(len(starts)), ends - starts)))
    return np.unique(np.concatenate([starts, ends - 1, order[starts], order[ends - 1]]))


def _corners(x: Floats, y: Floats, distance: float) -> NDArray[Any]:
    """The points that a line through the others would miss by more than the distance (Douglas & Peucker 1973)."""
    kept = np.zeros(len(x), dtype=bool)
    kept[[0, -1]] = True
    waiting = [(0, len(x) - 1)]
    while waiting:
        first, last = waiting.pop()
        if last - first < 2:
            continue
        inner = slice(first + 1, last)
        away = _distance(x[inner], y[inner], (x[first], y[first]), (x[last], y[last]))
        worst = int(away.argmax())
        if away[worst] > distance:
            middle = first + 1 + worst
            kept[middle] = True
            waiting += [(first, middle), (middle, last)]
    return np.flatnonzero(kept)


def _distance(x: Floats, y: Floats, start: tuple[Any, Any], end: tuple[Any, Any]) -> Floats:
    """How far points lie from the line between two others, ends included."""
    across, up = end[0] - start[0], end[1] - start[1]
    square = across * across + up * up
    along = ((x - start[0]) * across + (y - start[1]) * up) / square if square > 0 else np.zeros(len(x))
    along = np.minimum(np.maximum(along, 0.0), 1.0)
    return np.asarray(np.hypot(x - start[0] - along * across, y - start[1] - along * up))


# Between two kept places each rate moves by at most one part in STEPS: a quarter of a pixel of a chart that is
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
    indices: list[Integers] = []
    steps = [(ranking.n_positive or 1) / STEPS, (ranking.n_negative or 1) / STEPS]
    # The sums only grow, so the places where they pass a step are looked up, not looked for at every place.
    passed = [0, 0]
    reached = -math.inf
    for start, tp, fp in _running(ranking):
        for side, sums in enumerate((tp, fp)):
            last = math.floor(float(sums[-1]) / steps[side])
            bounds = np.arange(passed[side] + 1, last + 1) * steps[side]
            indices.append(np.minimum(np.searchsorted(sums, bounds), len(sums) - 1) + start)
            passed[side] = last
        both = tp + fp
        if both[-1] > 0:
            last = math.floor(RATIO_STEPS * math.log(float(both[-1])))
            least = reached if math.isfinite(reached) else math.floor(RATIO_STEPS * math.log(float(both[both > 0][0])))
            bounds = np.exp(np.arange(least, last + 1) / RATIO_STEPS)
            indices.append(np.minimum(np.searchsorted(both, bounds), len(both) - 1) + start)
            reached = last + 1
    indices.append(np.zeros(1, dtype=np.int64))
    kept: Integers = np.unique(np.concatenate(indices))
    memo["kept places"] = kept
    return kept


def _running(ranking: Ranking) -> Iterator[tuple[int, NDArray[Any], NDArray[Any]]]:
    """TP and FP place by place, a block at a time."""
    kind: Any = np.float64 if ranking.weighted else np.int64
    before: list[Any] = [kind(0), kind(0)]
    for start in range(0, len(ranking), BLOCK):
        sums = []
        for side, entries in enumerate((ranking.positives, ranking.negatives)):
            # Converted first: np.cumsum from one type into another is many times as slow.
            total = entries[start : start + BLOCK].astype(kind)
            np.cumsum(total, out=total)
            total += before[side]
            before[side] = total[-1]
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
    index = np.searchsorted(kept, groups.place)
    return RankedGroups(groups.keys, groups.group, index, groups.positives, groups.negatives)
