"""A chart as an Altair chart, for notebooks and as a Vega-Lite document."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable
from dataclasses import fields, is_dataclass, replace
from typing import TYPE_CHECKING, Any, TypeAlias

from heldout.extras import require_extra
from heldout.show.chart import Axis, Caption, Chart, Dots, Panel, Stroke, Tiles, Tips, Tone
from heldout.show.escape import break_tags
from heldout.show.figure import COLOURS, label_references, list_tips, wrap_detail
from heldout.show.svg import find_dash, find_ticks, scale_dot

if TYPE_CHECKING:
    import altair as alt

    AnyChart: TypeAlias = alt.LayerChart | alt.VConcatChart

_SIZES = {"square": (360, 360), "wide": (480, 300)}
_SHAPES: dict[Tone, str] = {
    "accent": "circle",
    "second": "square",
    "third": "triangle-up",
    "fourth": "diamond",
    "fifth": "triangle-down",
    "sixth": "cross",
    "seventh": "stroke",
    "quiet": "circle",
    "fine": "circle",
    "ink": "diamond",
}
# The editor of the menu that vega-embed adds would need the network.
_ACTIONS = {"export": True, "source": False, "compiled": False, "editor": False}


def altair_chart(chart: Chart) -> AnyChart:
    """Draw a chart with Altair; its data stand in it, and nothing is fetched to show it."""
    require_extra("charts", "An Altair chart", instead="save it as an .svg file")
    import altair as alt

    chart = _break_markup(label_references(chart))
    width, height = _SIZES[chart.shape]
    height = height if chart.height is None else round(chart.height)
    x, y = (_channel(axis, shown=chart.axes) for axis in (chart.x, chart.y))
    # Of two plots, the lower one names the places along x.
    upper = x if chart.below is None else {**x, "title": None, "axis": alt.Axis(labels=False, ticks=False)}
    layers = [*_layers(chart, chart.x, upper, y), *(_tips(tips, chart, upper, y) for tips in chart.tips)]
    drawn: Any = alt.layer(*layers).properties(width=width, height=height)
    if chart.below is not None:
        lower = alt.layer(*_layers(chart.below, chart.x, x, _channel(chart.below.y, about=2)))
        drawn = alt.vconcat(drawn, lower.properties(width=width, height=75), spacing=8)
    detail = wrap_detail(chart, width // 5)
    title = alt.TitleParams(
        text=chart.title, subtitle=detail or alt.Undefined, anchor="start", offset=12, fontSize=15,
        subtitleColor=COLOURS["quiet"],
    )  # fmt: skip
    finished: AnyChart = (
        drawn.properties(title=title, description=chart.description, usermeta={"embedOptions": {"actions": _ACTIONS}})
        .configure(font="sans-serif", padding=12, background="white")
        .configure_view(stroke=None)
        .configure_axis(gridColor="#ececec", domainColor="#999999", tickColor="#999999", labelColor="#444444",
                        titleColor="#222222", titleFontWeight="normal", titlePadding=8)
        .configure_legend(titleFontWeight="normal", labelFontSize=11, labelLimit=280)
    )  # fmt: skip
    return finished


def _break_markup(part: Any) -> Any:
    """The chart with no tag in any of its texts: Altair writes them into a script element as they are."""
    if isinstance(part, str):
        return break_tags(part)
    if isinstance(part, tuple):
        return tuple(map(_break_markup, part))
    if is_dataclass(part) and not isinstance(part, type):
        return replace(part, **{field.name: _break_markup(getattr(part, field.name)) for field in fields(part)})
    return part


def _channel(axis: Axis, *, shown: bool = True, about: int = 6) -> dict[str, Any]:
    """The keywords of an encoding of x or y: title, scale and ticks."""
    import altair as alt

    scale = alt.Scale(domain=[axis.low, axis.high], nice=False, zero=False)
    if not shown:
        return {"axis": None, "scale": scale}
    marked = find_ticks(axis, about)
    places, labels = [at for at, _ in marked], [label for _, label in marked]
    words = f"{json.dumps(labels, ensure_ascii=False)}[indexof({json.dumps(places)}, datum.value)]"
    drawn = alt.Axis(values=places, labelExpr=words, labelFlush=False) if marked else alt.Axis()
    return {"title": axis.title, "axis": drawn, "scale": scale}


def _layers(panel: Chart | Panel, along: Axis, x: dict[str, Any], y: dict[str, Any]) -> list[Any]:
    import altair as alt

    layers: list[Any] = []
    for tiles in panel.tiles if isinstance(panel, Chart) else ():
        layers += _tiles(tiles, x, y)
    for bars in panel.bars:
        records = _records({"x": bars.start, "x2": bars.end, "y": bars.height, "floor": [0.0] * len(bars.start)})
        chart = alt.Chart(records).mark_rect(color=COLOURS[bars.tone], opacity=0.45, stroke="white", aria=False)
        layers.append(chart.encode(x=alt.X("x:Q", **x), x2="x2:Q", y=alt.Y("y:Q", **y), y2="floor:Q"))
    for ribbon in panel.ribbons:
        records = _records({"x": ribbon.x, "low": ribbon.low, "high": ribbon.high})
        chart = alt.Chart(records).mark_area(color=COLOURS[ribbon.tone], opacity=0.15, clip=True, aria=False)
        layers.append(chart.encode(x=alt.X("x:Q", **x), y=alt.Y("low:Q", **y), y2="high:Q"))
    layers += _lines(panel.strokes, (along, panel.y), x, y)
    for dots in panel.dots:
        layers += _dots(dots, x, y)
    return [*layers, *_captions(panel.texts, x, y)]


def _lines(strokes: tuple[Stroke, ...], axes: tuple[Axis, Axis], x: dict[str, Any], y: dict[str, Any]) -> list[Any]:
    """Lines of one width in one layer; those that have a name stand in the legend."""
    import altair as alt

    keys = [stroke.name or f"line {at}" for at, stroke in enumerate(strokes)]
    named = [stroke.name for stroke in strokes if stroke.name]
    legend = alt.Legend(title=None, values=named, symbolStrokeWidth=2, symbolSize=400) if named else None
    colours = [COLOURS[stroke.tone] for stroke in strokes]
    dashes = [[float(part) for part in (find_dash(stroke) or "1 0").split()] for stroke in strokes]
    colour = alt.Color("line:N", sort=keys, legend=legend).scale(domain=keys, range=colours)
    dash = alt.StrokeDash("line:N", sort=keys, legend=legend).scale(domain=keys, range=dashes)
    groups: dict[tuple[float, bool], list[dict[str, Any]]] = {}
    for key, stroke in zip(keys, strokes, strict=True):
        width = 5 if stroke.thick else 1 if stroke.thin else {"quiet": 1, "fine": 1, "ink": 1.2}.get(stroke.tone, 2)
        # Cutting every line at the frame would halve those that run along it.
        group = groups.setdefault((width, _leaves(stroke, axes)), [])
        order = range(len(stroke.x))
        group += _rows({"x": stroke.x, "y": stroke.y, "line": [key] * len(stroke.x), "order": order})
    return [
        alt.Chart(alt.InlineData(values=records))
        .mark_line(strokeWidth=width, strokeJoin="round", clip=clip, aria=False)
        .encode(x=alt.X("x:Q", **x), y=alt.Y("y:Q", **y), order="order:O", color=colour, strokeDash=dash)
        for (width, clip), records in groups.items()
    ]


def _tiles(tiles: Tiles, x: dict[str, Any], y: dict[str, Any]) -> list[Any]:
    import altair as alt

    edges = {"x": tiles.x, "y": tiles.y, "shade": [0.5 * min(shade, 1.0) for shade in tiles.shade]}
    columns: dict[str, Iterable[Any]] = {
        **edges, "left": [at - 0.5 for at in tiles.x], "right": [at + 0.5 for at in tiles.x],
        "top": [at + 0.5 for at in tiles.y], "bottom": [at - 0.5 for at in tiles.y],
        "text": tiles.texts or [""] * len(tiles.x),
    }  # fmt: skip
    chart = alt.Chart(_records(columns))
    shade = alt.FillOpacity("shade:Q", scale=None, legend=None)
    squares = chart.mark_rect(color=COLOURS[tiles.tone], aria=False).encode(
        x=alt.X("left:Q", **x), x2="right:Q", y=alt.Y("bottom:Q", **y), y2="top:Q", fillOpacity=shade
    )
    words = chart.mark_text(fontSize=12, color="#222222", aria=False)
    return [squares, words.encode(x=alt.X("x:Q", **x), y=alt.Y("y:Q", **y), text="text:N")]


def _leaves(stroke: Stroke, axes: tuple[Axis, Axis]) -> bool:
    """Whether a line goes beyond the axes."""
    for values, axis in zip((stroke.x, stroke.y), axes, strict=True):
        low, high = sorted((axis.low, axis.high))
        room = 1e-9 * (high - low)
        if any(value < low - room or value > high + room for value in values):
            return True
    return False


def _dots(dots: Dots, x: dict[str, Any], y: dict[str, Any]) -> list[Any]:
    import altair as alt

    colour = COLOURS[dots.tone]
    layers: list[Any] = []
    if dots.low and dots.high:
        records = _records({"x": dots.x, "y": dots.y, "low": dots.low, "high": dots.high})
        chart = alt.Chart(records).mark_rule(color=colour, strokeWidth=1.5, opacity=0.6, aria=False)
        along, over = ("low", "y") if dots.sideways else ("x", "low")
        ends = {"x2": "high:Q"} if dots.sideways else {"y2": "high:Q"}
        layers.append(chart.encode(x=alt.X(f"{along}:Q", **x), y=alt.Y(f"{over}:Q", **y), **ends))
    largest = max((size for size in dots.size if math.isfinite(size)), default=0.0)
    areas = [50 * scale_dot(size, largest) ** 2 if largest else 50 for size in dots.size] or [50] * len(dots.x)
    records = _records({"x": dots.x, "y": dots.y, "area": areas, "dots": [dots.name] * len(dots.x)})
    chart = alt.Chart(records).mark_point(filled=True, opacity=1, color=colour, aria=False)
    legend = alt.Legend(title=None, symbolFillColor=colour, symbolStrokeColor=colour) if dots.name else None
    shape = alt.Shape("dots:N", legend=legend).scale(domain=[dots.name], range=[_SHAPES[dots.tone]])
    where = {"x": alt.X("x:Q", **x), "y": alt.Y("y:Q", **y)}
    return [*layers, chart.encode(**where, shape=shape, size=alt.Size("area:Q", scale=None, legend=None))]


def _captions(captions: tuple[Caption, ...], x: dict[str, Any], y: dict[str, Any]) -> list[Any]:
    """Texts that stand alike in one layer."""
    import altair as alt

    groups: dict[tuple[str, str, Tone], list[Caption]] = {}
    for caption in captions:
        groups.setdefault((caption.align, caption.side, caption.tone), []).append(caption)
    layers = []
    for (aligned, side, tone), group in groups.items():
        align, dx = {"left": ("left", 5), "middle": ("center", 0), "right": ("right", -5)}[aligned]
        baseline, dy = {"above": ("bottom", -4), "at": ("middle", 0), "below": ("top", 4)}[side]
        style: dict[str, Any] = {"align": align, "baseline": baseline, "dx": dx, "dy": dy, "color": COLOURS[tone]}
        records = _records({"x": [c.x for c in group], "y": [c.y for c in group], "text": [c.text for c in group]})
        chart = alt.Chart(records).mark_text(fontSize=11, aria=False, **style)
        layers.append(chart.encode(x=alt.X("x:Q", **x), y=alt.Y("y:Q", **y), text="text:N"))
    return layers


def _tips(tips: Tips, chart: Chart, x: dict[str, Any], y: dict[str, Any]) -> Any:
    """Dots that are not seen, each with what is told when a reader points at it."""
    import altair as alt

    columns = [f"t{at}" for at in range(len(tips.columns))]
    records = [
        {"x": across, "y": up, **dict(zip(columns, (value for _, value in lines), strict=True))}
        for across, up, lines in list_tips(tips, chart)
    ]
    named = zip(columns, (name for name, _ in tips.columns), strict=True)
    tooltips = [alt.Tooltip(f"{column}:N", title=name) for column, name in named]
    dots = alt.Chart(alt.InlineData(values=records)).mark_circle(size=90, opacity=0, aria=False)
    return dots.encode(x=alt.X("x:Q", **x), y=alt.Y("y:Q", **y), tooltip=tooltips)


def _records(columns: dict[str, Iterable[Any]]) -> Any:
    import altair as alt

    return alt.InlineData(values=_rows(columns))


def _rows(columns: dict[str, Iterable[Any]]) -> list[dict[str, Any]]:
    """Columns as records, with None for what JSON cannot hold."""
    values_of = [[_known(value) for value in values] for values in columns.values()]
    return [dict(zip(columns, row, strict=True)) for row in zip(*values_of, strict=True)]


def _known(value: Any) -> Any:
    return None if isinstance(value, float) and not math.isfinite(value) else value
