"""Estimates side by side as dots with their intervals: learners, folds, or differences."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from heldout.arguments import capitalize
from heldout.errors import ValuesError
from heldout.intervals.estimate import Estimate
from heldout.result import Result
from heldout.results.slices import Slices, titled
from heldout.show.blocks import Number, Range, Span
from heldout.show.chart import Axis, Chart, Dots, Stroke, Tone
from heldout.show.escape import visible
from heldout.show.numbers import in_brackets, number
from heldout.show.text_width import shorten

# The number of letters that fit along the axis, all names together.
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
        f"{name} {number(mark.value)}" + (f" {in_brackets(mark.low, mark.high)}" if math.isfinite(mark.low) else "")
        for name, mark in zip(names[:20], drawn_marks, strict=False)
    )
    points = tuple(zip(places, *((dots.y, dots.low, dots.high) if known else (dots.y,)), strict=True))
    headers = ("place", axis, "low", "high") if known else ("place", axis)
    return Chart(
        title, f"{title}: {summary}.", Axis(along, 0.5, last, ticks), Axis(axis, low - room, high + room),
        strokes, (), (dots,), detail, "wide", None, headers, points,
    )  # fmt: skip


# The height of a line of a chart of names, and what its axes take.
LINE, AROUND = 24, 110
# The most names that are drawn.
MOST_NAMED = 40
NAME = 26


def forest_chart(
    marks: Sequence[Mark], title: str, axis: str, *, lines: Sequence[tuple[str, float]] = (), detail: str = ""
) -> Chart:
    """The marks from top to bottom, each beside its name, with their intervals lying; as many as can be read.

    >>> chart = forest_chart([Mark("a", 0.5, 0.4, 0.6), Mark("b", 0.7, 0.6, 0.8)], "Accuracy", "accuracy")
    >>> chart.y.ticks, chart.dots[0].x
    (((2.0, 'a'), (1.0, 'b')), (0.5, 0.7))
    """
    known = [mark for mark in marks if math.isfinite(mark.value)]
    if not known:
        raise ValuesError(f"There is nothing to draw of {title!r}: no value is defined.", hint=NOTHING)
    shown = known[:MOST_NAMED]
    ends = [end for mark in shown for end in (mark.value, mark.low, mark.high) if math.isfinite(end)]
    drawn = [(name, place) for name, place in lines if math.isfinite(place)]
    ends += [place for _, place in drawn]
    room = 0.06 * (max(ends) - min(ends)) or 0.05
    places = tuple(float(len(shown) - at) for at in range(len(shown)))
    limited = any(math.isfinite(mark.low) for mark in shown)
    dots = Dots(
        tuple(mark.value for mark in shown),
        places,
        tuple(mark.low for mark in shown) if limited else (),
        tuple(mark.high for mark in shown) if limited else (),
        sideways=True,
    )
    ticks = tuple((place, shorten(visible(mark.name), NAME)) for place, mark in zip(places, shown, strict=True))
    top = len(shown) + 0.5
    strokes = tuple(Stroke((at, at), (0.5, top), name, "quiet", dashed=True) for name, at in drawn)
    left = f" {len(known) - len(shown):,} more are not drawn." if len(known) > len(shown) else ""
    figures = "; ".join(
        f"{label} {number(mark.value)}" + (f" {in_brackets(mark.low, mark.high)}" if math.isfinite(mark.low) else "")
        for (_, label), mark in zip(ticks[:20], shown, strict=False)
    )
    return Chart(
        title, f"{title}: {figures}.", Axis(axis, min(ends) - room, max(ends) + room), Axis("", 0.5, top, ticks),
        strokes, (), (dots,), f"{detail}{left}".strip(), "wide", height=float(AROUND + LINE * len(shown)),
    )  # fmt: skip


def draw_slices(slices: Slices) -> Chart:
    """The measure in every slice with its interval, beside its value over all cases."""
    marks = [
        Mark(slice_.name, *(getattr(slice_.estimate, end) for end in ("value", "low", "high"))) for slice_ in slices
    ]
    title = titled(slices.whole)
    lines = [("all cases", slices.whole.value)]
    detail = f"Bars: {100 * slices.level:g} % intervals."
    return forest_chart(marks, f"{capitalize(title)} by slice", title, lines=lines, detail=detail)


NOTHING = "print the result to read why."
# Columns of a row by which two of the same measure may be told apart.
TOLD_BY = ("learner", "model", "feature", "name", "a", "b", "role", "truth", "predicted", "row")


def draw_rows(result: Result) -> Chart:
    """The values of a result's rows with their intervals, one to a line: the chart that every result has."""
    rows = [row for row in result.rows() if math.isfinite(_float(row.get("value")))]
    # Figures of several kinds share an axis only where they are shares: counts and ratios would leave these no room.
    rows = rows if len({row.get("measure") for row in rows}) == 1 else list(filter(_is_share, rows))
    repeated = len({_measured(row) for row in rows}) < len(rows)
    more = [column for column in TOLD_BY if repeated and len({str(row.get(column)) for row in rows}) > 1]
    marks = [
        Mark(
            ", ".join(filter(None, [*(str(row[key]) for key in more if row.get(key) is not None), _measured(row)])),
            *(_float(row.get(key)) for key in ("value", "low", "high")),
        )
        for row in rows
    ]
    levels = {_float(row.get("level")) for row in rows if math.isfinite(_float(row.get("low")))}
    level = f"Bars: {100 * levels.pop():g} % intervals." if len(levels) == 1 else ""
    return forest_chart(marks, "Values and their intervals", "value", detail=level)


def _measured(row: Mapping[str, object]) -> str:
    measure, class_, average = (row.get(key) for key in ("measure", "class", "average"))
    title = str(measure or "").replace("_", " ")
    title = f"{average} {title}" if average else title
    return title if class_ is None else f"{title} ({class_})"


def _is_share(row: Mapping[str, object]) -> bool:
    """Whether the value and its limits lie between −1 and 1."""
    figures = (_float(row.get(key)) for key in ("value", "low", "high"))
    return all(math.isnan(end) or abs(end) <= 1 for end in figures)


def _float(value: object) -> float:
    return float(value) if isinstance(value, int | float) else math.nan


def estimate_cells(e: Estimate, floor: float = 0.0, how: str = "") -> tuple[Number, Range, Span | None]:
    """The cells of an estimate: its value, its interval, and both drawn on a track where it is a share."""
    drawn = None if e.style != "share" or math.isnan(e.value) else Span(e.value, e.low, e.high, floor)
    return Number(e.value, e.style, e.digits, how), Range(e.low, e.high, e.style, e.digits), drawn


def track_floor(estimates: Iterable[Estimate]) -> float:
    """Where the one track of all lines begins: at 0, or at the fifth below the lowest limit of any of them.

    >>> track_floor([Estimate("kappa", None, None, 0.1, -0.25, 0.45, 0.95, "draws", 20)])
    -0.4
    """
    drawn = [e for e in estimates if e.style == "share" and not math.isnan(e.value)]
    lowest = min((end for e in drawn for end in (e.value, e.low) if math.isfinite(end)), default=0.0)
    return min(0.0, math.floor(5 * lowest) / 5)
