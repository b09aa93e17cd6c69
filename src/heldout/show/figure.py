"""A chart as a picture of its own, for a file or a paper: title, plot, names beside lines, legend, dark on white."""

from __future__ import annotations

import itertools
import json
import math
import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path

from heldout.arguments import closest, listing
from heldout.atomic_write import write_whole
from heldout.errors import OptionError
from heldout.extras import require_extra
from heldout.show.chart import Axis, Caption, Chart, Dots, Stroke, Tips, Tone
from heldout.show.escape import escape_html, hash_source, visible
from heldout.show.numbers import count, plain
from heldout.show.svg import chart_svg, frame_chart, measure_chart, swatch_svg

# Colours of Okabe and Ito (2008), which people who see fewer colours tell apart; each line also has its own dash.
COLOURS: dict[Tone, str] = {
    "accent": "#0072B2",
    "second": "#D55E00",
    "third": "#009E73",
    "fourth": "#CC79A7",
    "fifth": "#E69F00",
    "sixth": "#56B4E9",
    "seventh": "#000000",
    "quiet": "#767676",
    "fine": "#555555",
    "ink": "#333333",
}
# Plain classes and colours by name: what draws pictures outside a browser knows no more.
_STYLE = """text{font:12px sans-serif;fill:#222}.heldout-title{font:bold 15px sans-serif}
.heldout-detail{font-size:11px;fill:#666}.heldout-ticks text{font-size:11px;fill:#444}
.heldout-grid path{stroke:#ececec}.heldout-axis{stroke:#999;fill:none}
.heldout-stroke{fill:none;stroke-width:2;stroke-linejoin:round;stroke-linecap:round}
.heldout-tone-quiet.heldout-stroke,.heldout-tone-fine.heldout-stroke{stroke-width:1}.heldout-tone-ink.heldout-stroke{stroke-width:1.2}
.heldout-thick.heldout-stroke{stroke-width:5;stroke-linecap:butt}.heldout-thin.heldout-stroke{stroke-width:1;stroke-opacity:.6}.heldout-reach{stroke-width:1.5;fill:none}
.heldout-cell{font-size:12px}.heldout-ribbon{fill-opacity:.15}.heldout-bars{fill-opacity:.45}.heldout-tip{fill-opacity:0}"""
_MARGIN, _LINE, _TITLE_LINE, _LETTER = 12, 15, 20, 5.7


def figure_svg(chart: Chart, *, tips: bool = False) -> str:
    """The chart as a whole SVG document; with `tips`, what a browser tells of the points that a reader points at.

    >>> figure_svg(Chart("ROC curve", "What it shows.", Axis("x"), Axis("y"))).count("<svg")
    3
    """
    chart = label_references(chart)
    width, height = measure_chart(chart)
    title = textwrap.wrap(visible(chart.title), int(width / 8.5)) or [""]
    detail = wrap_detail(chart, int(width / _LETTER))
    top = _MARGIN + _TITLE_LINE * len(title) + _LINE * len(detail) + 6
    legend, rows = _legend(chart, width)
    whole_width, whole_height = width + 2 * _MARGIN, top + height + 20 * rows + _MARGIN
    plot = chart_svg(chart, letter=6.5, tips="".join(_draw_tips(chart)) if tips else "")
    size = f'width="{whole_width:g}" height="{whole_height:g}" viewBox="0 0 {whole_width:g} {whole_height:g}"'
    parts = [
        f'<svg role="img" aria-label="{escape_html(chart.description)}" xmlns="http://www.w3.org/2000/svg" {size}>',
        f"<style>{_style_sheet()}</style>",
        '<rect width="100%" height="100%" fill="#fff"/>',
    ]
    lines = [("heldout-title", _TITLE_LINE, line) for line in title]
    lines += [("heldout-detail", _LINE, line) for line in detail]
    y = _MARGIN - 4
    for name, step, line in lines:
        y += step
        parts.append(f'<text class="{name}" x="{_MARGIN + 2}" y="{y}">{escape_html(line)}</text>')
    parts.append(plot.replace("<svg ", f'<svg x="{_MARGIN}" y="{top}" width="{width:g}" height="{height:g}" ', 1))
    if legend:
        parts.append(f'<g transform="translate({_MARGIN + 2} {top + height + 4:g})">{legend}</g>')
    return "".join([*parts, "</svg>"])


def wrap_detail(chart: Chart, letters: int) -> list[str]:
    """What stands below the title, in lines; sentences begin new lines while there is room."""
    return [line for line in textwrap.wrap(visible(chart.detail), max(letters, 20)) if line]


def label_references(chart: Chart) -> Chart:
    """The chart with the names of its quiet lines beside them, where there is room, and not in the legend.

    >>> chart = Chart("", "", Axis("x"), Axis("y"), (Stroke((0, 1), (0, 1), "chance", "quiet"),))
    >>> label_references(chart).texts[0].text, label_references(chart).strokes[0].name
    ('chance', '')
    """
    strokes, texts = [], []
    for stroke in chart.strokes:
        caption = None
        if stroke.tone == "quiet" and stroke.name:
            others = [point for other in chart.strokes if other is not stroke for point in _walk(other, chart)]
            caption = _find_room(stroke, chart, others)
        if caption is not None:
            texts.append(caption)
        strokes.append(replace(stroke, name="") if caption is not None else stroke)
    return replace(chart, strokes=tuple(strokes), texts=(*chart.texts, *texts))


def list_tips(tips: Tips, chart: Chart) -> Iterator[tuple[float, float, list[tuple[str, str]]]]:
    """The points within the axes, each with what is told of it: names and values in words."""
    names = [name for name, _ in tips.columns]
    for x, y, *row in zip(tips.x, tips.y, *(values for _, values in tips.columns), strict=True):
        if 0 <= _share(x, chart.x) <= 1 and 0 <= _share(y, chart.y) <= 1:
            words = [value if isinstance(value, str) else _write(value) for value in row]
            yield x, y, list(zip(names, words, strict=True))


def _write(value: float) -> str:
    return count(value) if isinstance(value, int) else plain(value, 4)


def _walk(stroke: Stroke, chart: Chart) -> Iterator[tuple[float, float]]:
    """Places along a line, near each other, as shares of the width and the height."""
    before: tuple[float, float] | None = None
    for x, y in zip(stroke.x, stroke.y, strict=True):
        here = (_share(x, chart.x), _share(y, chart.y))
        if not all(map(math.isfinite, here)):
            before = None
            continue
        steps = 1 if before is None else min(max(math.ceil(math.dist(before, here) / 0.02), 1), 100)
        start = before or here
        for step in range(1, steps + 1):
            yield tuple(a + (b - a) * step / steps for a, b in zip(start, here, strict=True))  # type: ignore[misc]
        before = here


def _share(value: float, axis: Axis) -> float:
    return (value - axis.low) / (axis.high - axis.low) if axis.high != axis.low else math.nan


def _find_room(stroke: Stroke, chart: Chart, others: list[tuple[float, float]]) -> Caption | None:
    """Where along a line its name is farthest from the others, and whether it hangs below the line or stands on it."""
    wide = len(stroke.name) * 6.2 / frame_chart(chart).width
    ends = list(zip(stroke.x, stroke.y, strict=True))
    best, room = None, 0.0
    for step in range(24):
        share = 0.03 + step / 23 * max(0.87 - wide, 0.0)
        x = chart.x.low + share * (chart.x.high - chart.x.low)
        here, there = (_height(ends, at) for at in (x, x + 0.02 * (chart.x.high - chart.x.low)))
        falls = there < here - 1e-12
        middle = _share(here, chart.y) + (0.04 if falls else -0.04)
        if not 0.04 < middle < 0.96:
            continue
        away = min(
            (math.dist(place, (share + part * wide, middle)) for place in others for part in (0.0, 0.5, 1.0)),
            default=1.0,
        )
        if away > room + 1e-9:
            best, room = Caption(x, here, stroke.name, side="above" if falls else "below"), away
    return best


def _height(ends: list[tuple[float, float]], x: float) -> float:
    """The height of a line at a place, nan beyond its ends."""
    for (x1, y1), (x2, y2) in itertools.pairwise(ends):
        if x1 <= x <= x2:
            return y2 if x1 == x2 else y1 + (y2 - y1) * (x - x1) / (x2 - x1)
    return math.nan


def _legend(chart: Chart, width: float) -> tuple[str, int]:
    """A sample and the name of every line and kind of dot that has one, and how many rows they take."""
    every: list[Stroke | Dots] = [*chart.strokes, *chart.dots]
    named = [series for series in every if series.name]
    parts, x, row = [], 0.0, 0
    for series in named:
        name = textwrap.shorten(visible(series.name), int((width - 40) / 6.2), placeholder="…")
        room = 50 + 6.2 * len(name)
        if x and x + room > width:
            x, row = 0.0, row + 1
        swatch = swatch_svg(series).replace("<svg ", f'<svg x="{x:g}" y="{20 * row}" ', 1)
        parts.append(f'{swatch}<text x="{x + 34:g}" y="{20 * row + 10}">{escape_html(name)}</text>')
        x += room
    return "".join(parts), row + 1 if named else 0


def _draw_tips(chart: Chart) -> Iterator[str]:
    frame = frame_chart(chart)
    for tips in chart.tips:
        for x, y, lines in list_tips(tips, chart):
            words = "\n".join(escape_html(f"{name}: {value}") for name, value in lines)
            position = f'cx="{frame.across(x):.1f}" cy="{frame.down(y):.1f}"'
            yield f'<circle class="heldout-tip" {position} r="5"><title>{words}</title></circle>'


@cache
def _style_sheet() -> str:
    return _STYLE + _tone_styles()


def _tone_styles() -> str:
    return "".join(
        f".heldout-tone-{tone}{{color:{colour}}}"
        f".heldout-tone-{tone}.heldout-stroke,.heldout-tone-{tone} .heldout-reach{{stroke:{colour}}}"
        f".heldout-tone-{tone}.heldout-ribbon,.heldout-tone-{tone}.heldout-bars,.heldout-tone-{tone}.heldout-text,"
        f".heldout-dots.heldout-tone-{tone}{{fill:{colour}}}"
        for tone, colour in COLOURS.items()
    )


ENDINGS = (".svg", ".png", ".html", ".json")
# Pixels of a PNG per unit of the chart: sharp on today's screens and on paper.
DENSITY = 2.0


def save_chart(chart: Chart, path: str | Path) -> Path:
    """Write a chart as its file's ending says: svg, png, html (everything inside, works offline) or json (Vega-Lite).

    >>> save_chart(None, "roc.pgn")
    Traceback (most recent call last):
    heldout.errors.OptionError: roc.pgn ends in '.pgn', but a chart is written as one of .svg, .png, .html, .json.
    Hint: name the file roc.png.
    """
    return write_whole(path, _content(chart, check_ending(path)))


def check_ending(path: str | Path, called: str = "", endings: Sequence[str] = ENDINGS) -> str:
    """The ending of a file that a chart is to be written to, in lower case."""
    target = Path(path)
    ending = target.suffix.lower()
    if ending not in endings:
        near = closest(ending, endings)
        raise OptionError(
            f"{called or target.name} ends in {target.suffix!r}, but a chart is written as one of {listing(endings)}.",
            hint=f"name the file {target.stem}{near or '.svg'}.",
        )
    if ending == ".png":
        require_extra("png", "A PNG picture", instead=f"name the file {target.stem}.svg")
    if ending == ".json":
        require_extra("charts", "A Vega-Lite document", instead=f"name the file {target.stem}.svg")
    return ending


def _content(chart: Chart, ending: str) -> bytes:
    if ending == ".json":
        from heldout.show.altair import altair_chart

        document = json.dumps(altair_chart(chart).to_dict(), indent=2, ensure_ascii=False, allow_nan=False)
        return f"{document}\n".encode("utf-8", "backslashreplace")
    if ending == ".png":
        import vl_convert

        return vl_convert.svg_to_png(figure_svg(chart), scale=DENSITY)
    drawing = figure_svg(chart, tips=ending == ".html")
    if ending == ".html":
        drawing = _make_page(chart.title, drawing)
    return drawing.encode("utf-8", "backslashreplace")


def _make_page(title: str, drawing: str) -> str:
    """A page with nothing but the drawing; its policy allows the style of the drawing and no script at all."""
    policy = f"default-src 'none'; style-src {hash_source(_style_sheet())}; base-uri 'none'; form-action 'none'"
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}"><title>{escape_html(title)}</title></head>\n'
        f"<body>{drawing}</body>\n</html>\n"
    )
