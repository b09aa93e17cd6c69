"""Charts and intervals drawn as SVG, with nothing but lines, shapes and words."""

from __future__ import annotations

import html
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from heldout.show.blocks import Span
from heldout.show.chart import Axis, Bars, Caption, Chart, Dots, Panel, Ribbon, Shape, Stroke, Tiles, Tone
from heldout.show.escape import escape_html, visible
from heldout.show.numbers import plain, words
from heldout.show.text_width import shorten


def find_ticks(axis: Axis, about: int = 5) -> tuple[tuple[float, str], ...]:
    """The places that are marked on an axis, each with what is written there.

    >>> find_ticks(Axis("x"))
    ((0.0, '0'), (0.2, '.2'), (0.4, '.4'), (0.6, '.6'), (0.8, '.8'), (1.0, '1'))
    >>> find_ticks(Axis("x", 0, 2400))
    ((0, '0'), (500, '500'), (1000, '1,000'), (1500, '1,500'), (2000, '2,000'))
    """
    low, high = sorted((axis.low, axis.high))
    if axis.ticks:
        return tuple(tick for tick in axis.ticks if low <= tick[0] <= high)
    # Between numbers that a float can hardly tell apart there are no round ones.
    if not (math.isfinite(high - low) and high - low > max(1e-9 * max(-low, high), 1e-290)):
        return ()
    step, decimals = _step((high - low) / about)
    shares = low >= -1 and high <= 1
    # Counted in whole steps, because sums of a step such as 0.1 drift away from the numbers that are written.
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    places = [round(at * step, decimals) if decimals else at * int(step) for at in range(first, last + 1)]
    return tuple((mark, _written(mark, decimals, shares=shares)) for mark in places)


def _step(wanted: float) -> tuple[float, int]:
    """The nearest of 1, 2 and 5 times a power of ten, and the decimals that it needs."""
    exponent = math.floor(math.log10(wanted))
    size = wanted / 10.0**exponent
    # Bounds halfway between the factors, as proportions are seen.
    factor = 1 if size < math.sqrt(2) else 2 if size < math.sqrt(10) else 5 if size < math.sqrt(50) else 10
    decimals = max(-exponent - (factor == 10), 0)
    return factor * 10.0**exponent, decimals


def _written(mark: float, decimals: int, *, shares: bool) -> str:
    if not mark:
        return "0"
    if decimals > 5 or abs(mark) >= 1e6:
        return plain(mark, 3)
    text = f"{mark:,.{decimals}f}"
    if "." in text:
        text = text.rstrip("0").rstrip(".") if shares else text
    return text.replace("0.", ".", 1) if shares and abs(mark) < 1 else text


# Every tone has a dash and a shape of its own, so that colour is never all that tells two lines apart.
DASHES: dict[Tone, str] = {
    "accent": "",
    "second": "8 4",
    "third": "2 3",
    "fourth": "10 3 2 3",
    "fifth": "5 2",
    "sixth": "1 4",
    "seventh": "12 5",
    "quiet": "4 4",
    "fine": "",
    "ink": "",
}
_SHAPES: dict[Tone, str] = {
    "accent": "M0-4A4 4 0 1 1 0 4A4 4 0 1 1 0-4Z",
    "second": "M-3.6-3.6H3.6V3.6H-3.6Z",
    "third": "M0-4.8L4.6 3.4H-4.6Z",
    "fourth": "M0-5L5 0L0 5L-5 0Z",
    "fifth": "M0 4.8L4.6-3.4H-4.6Z",
    "sixth": "M-4-1.4H-1.4V-4H1.4V-1.4H4V1.4H1.4V4H-1.4V1.4H-4Z",
    "seventh": "M-4.6-2.4H4.6V2.4H-4.6Z",
    "quiet": "M0-3A3 3 0 1 1 0 3A3 3 0 1 1 0-3Z",
    "fine": "M0-3A3 3 0 1 1 0 3A3 3 0 1 1 0-3Z",
    "ink": "M0-5L5 0L0 5L-5 0Z",
}
_SIZES: dict[Shape, tuple[float, float]] = {"square": (400, 390), "wide": (600, 340)}
# Letters are sized by the stylesheet: about 12 units, and more in wide charts, which a phone shows smaller.
_LETTER = {"square": 8.0, "wide": 9.5}
# A drawing that lies on the edge of the plot keeps its whole width.
_EDGE = 4
# The largest dots reach so far beyond the axes that they stand on.
_DOT_EDGE = 8
# The room above a lower plot, for the title of its axis, and its height.
_GAP, _LOWER = 44, 74
_FAR = 20.0
_BAR_WIDTH, _BAR_HEIGHT, _BAR_INSET = 150, 16, 5


@dataclass(frozen=True, slots=True)
class Frame:
    """Where the plot stands in the drawing, and how its axes run."""

    left: float
    top: float
    width: float
    height: float
    x: Axis
    y: Axis

    def across(self, value: float) -> float:
        """How far to the right a value of x stands."""
        return self.left + _along(value, self.x) * self.width

    def down(self, value: float) -> float:
        """How far down a value of y stands."""
        return self.top + (1 - _along(value, self.y)) * self.height


def frame_chart(chart: Chart) -> Frame:
    """The room that a chart's plot has beside what is written on its axes.

    >>> frame = frame_chart(Chart("ROC", "", Axis("x"), Axis("y")))
    >>> frame.across(0.0) == frame.left, frame.down(1.0) == frame.top
    (True, True)
    """
    width, height = _SIZES[chart.shape]
    height = height if chart.height is None else chart.height
    if not chart.axes:
        return Frame(_EDGE, _EDGE, width - 2 * _EDGE, height - 2 * _EDGE, chart.x, chart.y)
    letter = _LETTER[chart.shape]
    labels = [label for y in (chart.y, chart.below and chart.below.y) if y for _, label in find_ticks(y)]
    longest = max(map(len, labels), default=0)
    left = min(max(longest * letter, 2 * letter) + 14, width * 0.32)
    top, bottom, right = 34, 52, 18
    return Frame(left, top, width - left - right, height - top - bottom, chart.x, chart.y)


def measure_chart(chart: Chart) -> tuple[float, float]:
    """The width and the height of the whole drawing."""
    width, height = _SIZES[chart.shape]
    height = height if chart.height is None else chart.height
    return width, height + (0 if chart.below is None else _GAP + _LOWER)


def chart_svg(
    chart: Chart, mark: tuple[float, float] | None = None, *, letter: float | None = None, tips: str = ""
) -> str:
    """The chart as one `svg` element, marked where an explorer stands.

    `letter` is the width that a letter of the axes takes at most; `tips` are drawn over all else.
    """
    letter = _LETTER[chart.shape] if letter is None else letter
    frame = frame_chart(chart)
    width, height = measure_chart(chart)
    named = f'class="heldout-chart heldout-{chart.shape}" role="img" aria-label="{escape_html(chart.title)}"'
    parts = [
        f'<svg {named} viewBox="0 0 {_n(width)} {_n(height)}"{_moving(chart, frame, mark)}>',
        f"<desc>{escape_html(chart.description)}</desc>",
        *(_axes(frame, letter, last=chart.below is None) if chart.axes else ()),
        *_marks(chart, frame),
    ]
    if chart.below is not None:
        lower = replace(frame, top=frame.top + frame.height + _GAP, height=_LOWER, y=chart.below.y)
        parts += [*_axes(lower, letter, last=True), *_marks(chart.below, lower)]
    if mark is not None:
        parts.append(_mark(frame, mark))
    return "".join([*parts, tips, "</svg>"])


def _marks(panel: Chart | Panel, frame: Frame) -> list[str]:
    return [
        _window(frame, _DOT_EDGE if panel.dots else _EDGE),
        *(_tiles(tiles, frame) for tiles in (panel.tiles if isinstance(panel, Chart) else ())),
        *(_bars(bars, frame) for bars in panel.bars),
        *(_ribbon(ribbon, frame) for ribbon in panel.ribbons),
        *(_stroke(stroke, frame) for stroke in panel.strokes),
        *(_dots(dots, frame) for dots in panel.dots),
        *(_caption(text, frame) for text in panel.texts),
        "</svg>",
    ]


def swatch_svg(series: Stroke | Dots) -> str:
    """How a series is drawn, as a sample for the legend."""
    if isinstance(series, Dots):
        drawn = f'<path d="{_SHAPES[series.tone]}" transform="translate(14 6)" fill="currentColor"/>'
    else:
        drawn = f'<path d="M0 6H28" {_dashed(series)}stroke="currentColor" stroke-width="2" fill="none"/>'
    return _swatch(drawn, f" heldout-tone-{series.tone}")


def mark_swatch_svg() -> str:
    """How the mark is drawn that an explorer moves, as a sample for the legend."""
    ring = '<circle cx="14" cy="6" r="5" fill="none" stroke="currentColor" stroke-width="2"/>'
    return _swatch(f'{ring}<circle cx="14" cy="6" r="2" fill="currentColor"/>')


def _swatch(drawn: str, tone: str = "") -> str:
    return (
        f'<svg class="heldout-swatch{tone}" aria-hidden="true" width="28" height="12" viewBox="0 0 28 12">{drawn}</svg>'
    )


def bar_svg(span: Span) -> str:
    """The interval as a line with ends and a point, in the colour of the text."""
    middle = _BAR_HEIGHT / 2
    marks = [_line(0, middle, _BAR_WIDTH, middle, "track")]
    if span.floor < 0 < span.ceiling:
        zero = _on_track(0.0, span)
        marks.append(_line(zero, 0, zero, _BAR_HEIGHT, "zero"))
    if not math.isnan(span.value):
        if not (math.isnan(span.low) or math.isnan(span.high)):
            low, high = _on_track(span.low, span), _on_track(span.high, span)
            marks.append(_line(low, middle, high, middle, "reach"))
            ends = [low] * (span.low >= span.floor) + [high] * (span.high <= span.ceiling)
            marks += [_line(end, middle - 4, end, middle + 4, "reach") for end in ends]
        if span.floor <= span.value <= span.ceiling:
            marks.append(f'<circle cx="{_on_track(span.value, span):.1f}" cy="{middle:g}" r="3"/>')
    return (
        f'<svg class="heldout-bar" role="img" aria-label="{escape_html(words(span))}" width="{_BAR_WIDTH}" '
        f'height="{_BAR_HEIGHT}" viewBox="0 0 {_BAR_WIDTH} {_BAR_HEIGHT}">{"".join(marks)}</svg>'
    )


def _along(value: float, axis: Axis) -> float:
    """The share of the axis that lies before a value; far outside, no further than a drawing can say."""
    length = axis.high - axis.low
    if not math.isfinite(length) or length == 0:
        return 0.5
    return min(max((value - axis.low) / length, -_FAR), _FAR)


def _fitted(text: str, room: float, letter: float) -> str:
    return escape_html(shorten(visible(text), max(int(room / letter), 4)))


def _axes(frame: Frame, letter: float, *, last: bool) -> list[str]:
    """Grid, axes and what is written on them; only the `last` of several plots names the places along x."""
    right, bottom = frame.left + frame.width, frame.top + frame.height
    parts = ['<g class="heldout-grid">']
    across = [(frame.across(at), label) for at, label in find_ticks(frame.x)]
    down = [(frame.down(at), label) for at, label in find_ticks(frame.y, 5 if frame.height > _LOWER else 2)]
    parts += [f'<path d="M{_n(x)} {_n(frame.top)}V{_n(bottom)}"/>' for x, _ in across]
    parts += [f'<path d="M{_n(frame.left)} {_n(y)}H{_n(right)}"/>' for y, _ in down]
    parts.append(f'</g><path class="heldout-axis" d="M{_n(frame.left)} {_n(bottom)}H{_n(right)}"/>')
    parts.append('<g class="heldout-ticks">')
    room = frame.width / max(len(across), 1)
    for x, label in across if last else ():
        # The last label of an axis must not leave the drawing.
        anchor = "end" if x > right - 1 and len(label) > 4 else "middle"
        parts.append(f'<text x="{_n(x)}" y="{_n(bottom + 18)}" text-anchor="{anchor}">')
        parts.append(f"{_fitted(label, room, letter)}</text>")
    for y, label in down:
        parts.append(f'<text x="{_n(frame.left - 8)}" y="{_n(y + 4)}" text-anchor="end">')
        parts.append(f"{_fitted(label, frame.left - 8, letter)}</text>")
    parts.append('</g><g class="heldout-axes">')
    parts.append(f'<text x="2" y="{_n(frame.top - 18)}">{_fitted(frame.y.title, right, letter)}</text>')
    if last:
        parts.append(f'<text x="{_n(right)}" y="{_n(bottom + 40)}" text-anchor="end">')
        parts.append(f"{_fitted(frame.x.title, right, letter)}</text>")
    return [*parts, "</g>"]


def _window(frame: Frame, edge: float) -> str:
    """A drawing within the drawing, which cuts off what lies farther beyond the axes, and needs no name to do so."""
    left, top = frame.left - edge, frame.top - edge
    wide, high = frame.width + 2 * edge, frame.height + 2 * edge
    return (
        f'<svg x="{_n(left)}" y="{_n(top)}" width="{_n(wide)}" height="{_n(high)}" '
        f'viewBox="{_n(left)} {_n(top)} {_n(wide)} {_n(high)}">'
    )


def _bars(bars: Bars, frame: Frame) -> str:
    floor = frame.down(0.0)
    parts = []
    for start, end, height in zip(bars.start, bars.end, bars.height, strict=True):
        left, right, top = frame.across(start), frame.across(end), frame.down(height)
        parts.append(f"M{_n(left + 0.5)} {_n(floor)}V{_n(top)}H{_n(right - 0.5)}V{_n(floor)}Z")
    drawn = "".join(parts)
    # Not in the style of the page, which all pages carry.
    return f'<path class="heldout-bars heldout-tone-{bars.tone}" fill="currentColor" fill-opacity=".45" d="{drawn}"/>'


def _tiles(tiles: Tiles, frame: Frame) -> str:
    wide, high = abs(frame.across(1) - frame.across(0)), abs(frame.down(1) - frame.down(0))
    parts = [f'<g class="heldout-tiles heldout-tone-{tiles.tone}" fill="currentColor">']
    for x, y, shade in zip(tiles.x, tiles.y, tiles.shade, strict=True):
        if shade > 0:
            corner = f'x="{_n(frame.across(x) - wide / 2)}" y="{_n(frame.down(y) - high / 2)}"'
            # Half-strength at most, so that text of either colour stays readable on it.
            size = f'width="{_n(wide)}" height="{_n(high)}" fill-opacity="{0.5 * min(shade, 1.0):.3g}"'
            parts.append(f"<rect {corner} {size}/>")
    parts.append("</g>")
    for x, y, text in zip(tiles.x, tiles.y, tiles.texts, strict=False):
        position = f'x="{_n(frame.across(x))}" y="{_n(frame.down(y) + 4)}"'
        parts.append(f'<text class="heldout-cell" {position} text-anchor="middle">{escape_html(text)}</text>')
    return "".join(parts)


_ANCHORS = {"left": ("start", 5), "middle": ("middle", 0), "right": ("end", -5)}
_LIFTS = {"above": -6, "at": 4, "below": 15}


def _caption(caption: Caption, frame: Frame) -> str:
    anchor, aside = _ANCHORS[caption.align]
    x, y = frame.across(caption.x) + aside, frame.down(caption.y) + _LIFTS[caption.side]
    return (
        f'<text class="heldout-text heldout-tone-{caption.tone}" x="{_n(x)}" y="{_n(y)}" text-anchor="{anchor}">'
        f"{escape_html(caption.text)}</text>"
    )


def _ribbon(ribbon: Ribbon, frame: Frame) -> str:
    places = list(zip(ribbon.x, ribbon.low, ribbon.high, strict=True))
    parts = []
    for run in _runs([(x, low, high) for x, low, high in places]):
        there = [(frame.across(x), frame.down(high)) for x, _, high in run]
        back = [(frame.across(x), frame.down(low)) for x, low, _ in reversed(run)]
        parts.append(_path([*there, *back]) + "Z")
    return f'<path class="heldout-ribbon heldout-tone-{ribbon.tone}" d="{"".join(parts)}"/>'


def _stroke(stroke: Stroke, frame: Frame) -> str:
    runs = _runs(list(zip(stroke.x, stroke.y, strict=True)))
    drawn = "".join(_path([(frame.across(x), frame.down(y)) for x, y in run]) for run in runs)
    thick = " heldout-thick" if stroke.thick else " heldout-thin" if stroke.thin else ""
    return f'<path class="heldout-stroke heldout-tone-{stroke.tone}{thick}" {_dashed(stroke)}d="{drawn}"/>'


def find_dash(stroke: Stroke) -> str:
    """The lengths of the dashes and gaps of a line, empty where it is drawn through.

    >>> find_dash(Stroke((), (), tone="second")), find_dash(Stroke((), (), tone="quiet", dash_dot=True))
    ('8 4', '9 3 2 3')
    """
    if stroke.dash_dot:
        return "9 3 2 3"
    return DASHES[stroke.tone] or ("6 4" if stroke.dashed else "")


def _dashed(stroke: Stroke) -> str:
    dash = find_dash(stroke)
    return f'stroke-dasharray="{dash}" ' if dash else ""


def _dots(dots: Dots, frame: Frame) -> str:
    sizes = [size if math.isfinite(size) and size > 0 else 0.0 for size in dots.size]
    largest = max(sizes, default=0.0)
    parts = [f'<g class="heldout-dots heldout-tone-{dots.tone}">']
    for at, (x, y) in enumerate(zip(dots.x, dots.y, strict=True)):
        if not (math.isfinite(x) and math.isfinite(y)):
            continue
        if dots.low and dots.high and math.isfinite(dots.low[at]) and math.isfinite(dots.high[at]):
            parts.append(_reach(dots, at, frame))
        scale = scale_dot(sizes[at], largest) if largest > 0 else 1
        moved = f"translate({_n(frame.across(x))} {_n(frame.down(y))})"
        grown = "" if scale == 1 else f" scale({scale:.2f})"
        parts.append(f'<path d="{_SHAPES[dots.tone]}" transform="{moved}{grown}"/>')
    return "".join([*parts, "</g>"])


# The diameter of the largest dot, in those of a dot without a size.
_LARGEST_DOT = 1.8


def scale_dot(size: float, largest: float) -> float:
    """The diameter of a dot in those of one without a size: areas are in proportion to sizes, as an eye compares.

    The smallest stay large enough to be seen.

    >>> scale_dot(25, 100), scale_dot(0, 100)
    (0.9, 0.6)
    """
    return max(_LARGEST_DOT * math.sqrt(size / largest), 0.6)


def _reach(dots: Dots, at: int, frame: Frame) -> str:
    """The limits of one dot as a line with ends."""
    if dots.sideways:
        low, high, where = frame.across(dots.low[at]), frame.across(dots.high[at]), frame.down(dots.y[at])
        ends = "".join(f"M{_n(end)} {_n(where - 4)}V{_n(where + 4)}" for end in (low, high))
        return f'<path class="heldout-reach" d="M{_n(low)} {_n(where)}H{_n(high)}{ends}"/>'
    low, high, where = frame.down(dots.low[at]), frame.down(dots.high[at]), frame.across(dots.x[at])
    ends = "".join(f"M{_n(where - 4)} {_n(end)}H{_n(where + 4)}" for end in (low, high))
    return f'<path class="heldout-reach" d="M{_n(where)} {_n(low)}V{_n(high)}{ends}"/>'


def _mark(frame: Frame, mark: tuple[float, float]) -> str:
    x, y = mark
    seen = math.isfinite(x) and math.isfinite(y)
    moved = f"translate({_n(frame.across(x))} {_n(frame.down(y))})" if seen else "translate(0 0)"
    hidden = "" if seen else ' visibility="hidden"'
    return (
        f'<g class="heldout-mark" transform="{moved}"{hidden} data-x="{x!r}" data-y="{y!r}">'
        '<circle r="7.5"/><circle r="3"/></g>'
    )


def _moving(chart: Chart, frame: Frame, mark: tuple[float, float] | None) -> str:
    """What a script needs to move the mark."""
    if chart.moves is None or mark is None:
        return ""
    from heldout.show.explorer import numeric, script_json

    plot = [frame.left, frame.top, frame.width, frame.height, chart.x.low, chart.x.high, chart.y.low, chart.y.high]
    plot_data = html.escape(script_json({"plot": numeric(plot), "moves": numeric(chart.moves)}), quote=True)
    return f' data-moves="{plot_data}"'


def _runs(points: Sequence[tuple[float, ...]]) -> Iterable[list[tuple[float, ...]]]:
    """Points in a row without a gap; one that is not finite makes a gap."""
    run: list[tuple[float, ...]] = []
    for point in points:
        if all(map(math.isfinite, point)):
            run.append(point)
        elif run:
            yield run
            run = []
    if run:
        yield run


def _path(points: Sequence[tuple[float, ...]]) -> str:
    """A line through places, in steps of a tenth, each from the one before, which is shorter to write."""
    tenths = [(round(x * 10), round(y * 10)) for x, y in points]
    parts = [f"M{_n(tenths[0][0] / 10)} {_n(tenths[0][1] / 10)}"]
    before = tenths[0]
    for here in tenths[1:]:
        if here != before:
            parts.append(f"l{_n((here[0] - before[0]) / 10)} {_n((here[1] - before[1]) / 10)}")
            before = here
    # A point by itself would leave no trace: a line of no length has round ends.
    return "".join(parts) if len(parts) > 1 else f"{parts[0]}h0"


def _n(value: float) -> str:
    text = f"{value:.1f}"
    return text.removesuffix(".0") if text != "-0.0" else "0"


def _on_track(value: float, span: Span) -> float:
    return _BAR_INSET + span.find_fraction(value) * (_BAR_WIDTH - 2 * _BAR_INSET)


def _line(x1: float, y1: float, x2: float, y2: float, name: str) -> str:
    return f'<line class="heldout-{name}" x1="{x1:.1f}" y1="{y1:g}" x2="{x2:.1f}" y2="{y2:g}"/>'
