"""Estimates side by side as dots with their intervals: learners, folds, or differences."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from heldout.intervals.estimate import Estimate
from heldout.show.chart import Axis, Chart, Dots, Stroke, Tone
from heldout.show.escape import visible
from heldout.show.numbers import limits, number
from heldout.show.text_width import shorten

# So many letters have room along the axis, over all names together.
LETTERS = 96


@dataclass(frozen=True, slots=True)
class Mark:
    """One dot: what it is called, its value and its limits, nan where there are none."""

    name: str
    value: float
    low: float = math.nan
    high: float = math.nan


def interval_chart(
    marks: Sequence[Mark],
    title: str,
    axis: str,
    *,
    lines: Sequence[tuple[str, float]] = (),
    along: str = "",
    detail: str = "",
) -> Chart | None:
    """The marks from left to right; `lines` are heights to compare with and their names. None if no mark has a value.

    >>> chart = interval_chart([Mark("a", 0.5, 0.4, 0.6), Mark("b", 0.7, 0.6, 0.8)], "Accuracy", "accuracy")
    >>> chart.x.ticks, chart.dots[0].y
    (((1.0, 'a'), (2.0, 'b')), (0.5, 0.7))
    """
    drawn_marks = [mark for mark in marks if math.isfinite(mark.value)]
    if not drawn_marks:
        return None
    heights = [v for mark in drawn_marks for v in (mark.value, mark.low, mark.high) if math.isfinite(v)]
    drawn = [(name, height) for name, height in lines if math.isfinite(height)]
    heights += [height for _, height in drawn]
    low, high = min(heights), max(heights)
    room = 0.08 * (high - low) or 0.05
    places = [float(at + 1) for at in range(len(drawn_marks))]
    names = [shorten(visible(mark.name), 60) for mark in drawn_marks]
    # With many marks only some are named; the table behind the chart names all.
    step = math.ceil(len(drawn_marks) / 12)
    room_for_names = max(6, LETTERS * step // len(drawn_marks))
    ticks = tuple((places[at], shorten(names[at], room_for_names)) for at in range(0, len(drawn_marks), step))
    known = any(math.isfinite(mark.low) for mark in drawn_marks)
    dots = Dots(
        tuple(places),
        tuple(mark.value for mark in drawn_marks),
        tuple(mark.low for mark in drawn_marks) if known else (),
        tuple(mark.high for mark in drawn_marks) if known else (),
    )
    last = len(drawn_marks) + 0.5
    tones: tuple[Tone, ...] = ("quiet", "second")
    strokes = tuple(
        Stroke((0.5, last), (height, height), name, tone, dashed=True)
        for (name, height), tone in zip(drawn, tones, strict=False)
    )
    summary = "; ".join(
        f"{name} {number(mark.value)}" + (f" [{limits(mark.low, mark.high)}]" if math.isfinite(mark.low) else "")
        for name, mark in zip(names[:20], drawn_marks, strict=False)
    )
    points = tuple(zip(places, *((dots.y, dots.low, dots.high) if known else (dots.y,)), strict=True))
    headers = ("place", axis, "low", "high") if known else ("place", axis)
    return Chart(
        title, f"{title}: {summary}.", Axis(along, 0.5, last, ticks), Axis(axis, low - room, high + room),
        strokes, (), (dots,), detail, "wide", None, headers, points,
    )  # fmt: skip


def track_floor(estimates: Iterable[Estimate]) -> float:
    """Where the one track of all lines begins: at 0, or at the fifth below the lowest limit of any of them.

    >>> track_floor([Estimate("kappa", None, None, 0.1, -0.25, 0.45, 0.95, "draws", 20)])
    -0.4
    """
    drawn = [e for e in estimates if e.style == "share" and not math.isnan(e.value)]
    lowest = min((end for e in drawn for end in (e.value, e.low) if math.isfinite(end)), default=0.0)
    return min(0.0, math.floor(5 * lowest) / 5)
