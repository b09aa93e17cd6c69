"""An interval drawn in a line of text: a point, its whiskers and the axis above them."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from heldout.show.blocks import Span
from heldout.show.numbers import plain

if TYPE_CHECKING:
    from collections.abc import Iterable

TRACK = 27


def bar(span: Span, track: int = TRACK) -> str:
    """The interval as `├──●──┤`, with an arrow where it leaves the track.

    An interval narrower than a cell still gets its two ends, and an end that coincides with the value
    gets none: a value of exactly 1 has nothing to its right.

    >>> bar(Span(0.5, 0.3, 0.7), track=21)
    '      ├───●───┤      '
    """
    marks = [" "] * track
    zero = _zero(span, track)
    if zero is not None:
        marks[zero] = "┊"
    if not (math.isfinite(span.value) and span.ceiling > span.floor):
        return "".join(marks)
    point = _place(span.value, span, track)
    if not (math.isnan(span.low) or math.isnan(span.high)):
        low = _apart(_place(span.low, span, track), point, span.low - span.value)
        high = _apart(_place(span.high, span, track), point, span.high - span.value)
        for at in range(max(low, 0), min(high, track - 1) + 1):
            marks[at] = "─"
        _end(marks, low, "├", outside=span.low < span.floor)
        _end(marks, high, "┤", outside=span.high > span.ceiling)
    marks[point] = "←" if span.value < span.floor else "→" if span.value > span.ceiling else "●"
    return "".join(marks)


def axis(spans: Iterable[Span], track: int = TRACK) -> str:
    """The axis that all these intervals share, or nothing if they do not share one.

    >>> axis([Span(0.5, 0.4, 0.6)], track=11), axis([Span(0, 0, 0, -1, 1)], track=21)
    ('0 ─────── 1', '-1 ────── 0 ─────── 1')
    """
    ends = {(span.floor, span.ceiling) for span in spans}
    if len(ends) != 1:
        return ""
    floor, ceiling = ends.pop()
    left, right = _tick(floor), _tick(ceiling)
    room = track - len(left) - len(right) - 2
    if not (math.isfinite(floor) and math.isfinite(ceiling)) or room < 1:
        return ""
    marks = list(f"{left} {'─' * room} {right}")
    zero = _zero(Span(0, 0, 0, floor, ceiling), track)
    if zero is not None and len(left) + 2 < zero < track - len(right) - 3:
        marks[zero - 1 : zero + 2] = " 0 "
    return "".join(marks)


def fraction(value: float, span: Span) -> float:
    """Where on the track the value stands, from 0 to 1.

    >>> fraction(0.25, Span(0.5, 0.4, 0.6, floor=0.0, ceiling=0.5)), fraction(7, Span(0.5, 0.4, 0.6))
    (0.5, 1.0)
    """
    if value <= span.floor:
        return 0.0
    if value >= span.ceiling:
        return 1.0
    return (value - span.floor) / (span.ceiling - span.floor)


def _place(value: float, span: Span, track: int) -> int:
    at = fraction(value, span) * (track - 1)
    return math.floor(at + 0.5) if math.isfinite(at) else 0


def _zero(span: Span, track: int) -> int | None:
    return _place(0.0, span, track) if span.floor < 0 < span.ceiling else None


def _apart(end: int, point: int, side: float) -> int:
    """At least one cell away from the point on its side, unless the end is the value itself."""
    if side < 0:
        return min(end, point - 1)
    return max(end, point + 1) if side > 0 else point


def _end(marks: list[str], at: int, mark: str, *, outside: bool) -> None:
    if outside:
        marks[0 if mark == "├" else -1] = "←" if mark == "├" else "→"
    elif 0 <= at < len(marks):
        marks[at] = mark


def _tick(value: float) -> str:
    if float(value).is_integer() and abs(value) < 1e6:
        return str(int(value))
    text = f"{value:.3g}"
    return text.replace("0.", ".", 1) if abs(value) < 1 and "e" not in text else plain(value, 3)
