"""Thinning: leaving out points of a long curve that nobody could see."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from heldout.arrays import Floats
from heldout.curves.curve import Curve, Scale
from heldout.errors import OptionError


def as_lines(curve: Curve) -> Curve:
    """The curve with every corner of its drawing as a point, to be joined by straight lines.

    A stepped curve gains a corner beside each point: y holds its value from its own threshold down to the next.

    >>> from heldout.curves.measure import measure_curve
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
    if len(lines) <= 2 or curve.kind == "reliability":
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
    held = np.concatenate([v[np.isfinite(v)] for v in values])
    low, high = (float(held.min()), float(held.max())) if len(held) else (0.0, 1.0)
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
    along = np.clip(along, 0, 1)
    return np.asarray(np.hypot(x - start[0] - along * across, y - start[1] - along * up))
