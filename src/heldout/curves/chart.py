"""Curves as Altair charts: one calm style, drawn from the thinned points."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from heldout.arguments import listing
from heldout.arrays import Floats
from heldout.curves.curve import Curve, Reference, Scale
from heldout.curves.precision_recall import interpolated
from heldout.curves.thinning import placed, thinned
from heldout.errors import OptionError, ValuesError
from heldout.show.numbers import number

if TYPE_CHECKING:
    import altair as alt

    AnyChart: TypeAlias = alt.LayerChart

Domain: TypeAlias = tuple[float, float]

PIXELS = 1000
# Colours that people with any of the common colour blindnesses tell apart: Okabe & Ito (2008).
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
DASHES = ([1, 0], [7, 3], [2, 2], [9, 3, 2, 3], [4, 4], [12, 3], [1, 3])
ACCENT, QUIET = COLOURS[0], "#767676"
SQUARE = frozenset(
    {"roc", "roc_hull", "det", "precision_recall", "precision_recall_interpolated", "gain", "reliability"}
)
# Charts whose axes show only a part: elsewhere cutting at the frame would halve the line that runs along it.
CUT = frozenset({"decision", "lift"})
# Curves of no more points than this show them.
DOTS = 40
# Rates that a DET chart marks.
PROBIT_TICKS = (0.0001, 0.001, 0.01, 0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 0.9, 0.95, 0.99, 0.999, 0.9999)


def curve_chart(curve: Curve, *, hull: bool = False) -> AnyChart:
    """One curve with its band, its reference lines, and a tooltip at each point."""
    _must_draw([curve])
    import altair as alt

    short = thinned(curve, PIXELS)
    line = thinned(interpolated(curve), PIXELS) if curve.kind == "precision_recall" else short
    domains = domains_of([curve])
    x, y = (_axis(scale, domain) for scale, domain in zip((curve.x_scale, curve.y_scale), domains, strict=True))
    layers: list[Any] = [_references(curve.references, [short], domains, x, y)]
    if curve.band is not None:
        layers.append(_band(curve, short, x, y))
    if hull:
        layers.append(_hull(curve, x, y))
    if curve.kind != "reliability":
        layers.append(
            alt.Chart(inline_data(_path(line)))
            .mark_line(color=ACCENT, strokeWidth=2, strokeJoin="round", clip=curve.kind in CUT, aria=False)
            .encode(x=alt.X("x:Q", **x), y=alt.Y("y:Q", **y), order="order:O")
        )
    layers.append(_dots(short, x, y))
    return finished_chart(alt.layer(*layers), curve.kind, curve.title, _subtitle(curve), _description(curve))


def overlay(curves: Sequence[Curve], names: Sequence[str]) -> AnyChart:
    """Several curves of one kind in one chart, told apart by colour and by dashes.

    >>> from heldout.curves.roc import roc
    >>> from heldout.evidence.ranking import Ranking
    >>> one = roc(Ranking(np.array([0.9, 0.1]), np.array([3, 1]), np.array([1, 4])))
    >>> type(overlay([one, one], ["a", "b"])).__name__
    'LayerChart'
    """
    _check_overlay(curves, names)
    _must_draw(curves)
    import altair as alt

    first = curves[0]
    domains = domains_of(curves)
    x, y = (_axis(scale, domain) for scale, domain in zip((first.x_scale, first.y_scale), domains, strict=True))
    keys = [
        str(name) if curve.area is None else f"{name} ({number(curve.area)})"
        for name, curve in zip(names, curves, strict=True)
    ]
    records, drawn = [], []
    for key, curve in zip(keys, curves, strict=True):
        line = thinned(interpolated(curve) if curve.kind == "precision_recall" else curve, PIXELS)
        drawn.append(line)
        records += [{**record, "curve": key} for record in _path(line)]
    title = first.area_name.capitalize() if first.area is not None else None
    legend = alt.Legend(title=title, orient="right", labelLimit=280, symbolStrokeWidth=2, symbolSize=400)
    colour = alt.Color("curve:N", sort=keys, legend=legend).scale(domain=keys, range=list(COLOURS[: len(keys)]))
    dash = alt.StrokeDash("curve:N", sort=keys, legend=legend).scale(domain=keys, range=list(DASHES[: len(keys)]))
    lines = (
        alt.Chart(inline_data(records))
        .mark_line(strokeWidth=2, strokeJoin="round", clip=first.kind in CUT, aria=False)
        .encode(
            x=alt.X("x:Q", **x), y=alt.Y("y:Q", **y), order="order:O", color=colour, strokeDash=dash,
            tooltip=[alt.Tooltip("curve:N", title="curve"), *_tooltips(first)],
        )
    )  # fmt: skip
    shared = tuple(line for line in first.references if all(line in other.references for other in curves))
    layers = [_references(shared, drawn, domains, x, y), lines]
    description = f"{first.title} of {listing(keys)}. {first.y_scale.title} against {first.x_scale.title}."
    return finished_chart(alt.layer(*layers), first.kind, first.title, [], description)


def _check_overlay(curves: Sequence[Curve], names: Sequence[str]) -> None:
    if not curves or len(curves) != len(names) or len(set(names)) != len(names):
        raise OptionError(
            "An overlay takes curves and a different name for each. "
            f"Got {len(curves)} curves and {len(set(names))} different names.",
            hint="write overlay([a, b], ['A', 'B']).",
        )
    kinds = dict.fromkeys((curve.kind, curve.y_scale.name) for curve in curves)
    if len(kinds) > 1:
        raise OptionError(
            f"Curves of different kinds share no axes. Got {listing(' '.join(kind) for kind in kinds)}.",
            hint="draw each kind in a chart of its own.",
        )
    if len(curves) > len(COLOURS):
        raise OptionError(
            f"{len(curves)} curves in one chart cannot be told apart; {len(COLOURS)} can.",
            hint="draw fewer, or several charts.",
        )


def _must_draw(curves: Sequence[Curve]) -> None:
    for curve in curves:
        if curve.undefined or not np.isfinite(curve.y).any():
            raise ValuesError(
                f"There is no {curve.title} to draw: {curve.undefined or 'no point of it is defined'}.",
                hint="check the labels and which class is positive.",
            )


def domains_of(curves: Sequence[Curve]) -> tuple[Domain, Domain]:
    """What part of the two axes is drawn."""
    first = curves[0]
    x = [_extent(first.x_scale, curve.x) for curve in curves]
    values = [curve.y for curve in curves]
    if first.kind == "decision":
        # Treat-all falls without limit: what lies far below zero benefit is of no use to anybody.
        top = max(float(np.fmax(curve.y, curve.high).max()) for curve in curves)
        top = max(top, *(max(line.y) for curve in curves for line in curve.references), 0.01)
        return (min(low for low, _ in x), max(high for _, high in x)), (-0.2 * top, 1.05 * top)
    if first.y_scale.high is None or first.y_scale.low is None:
        values += [np.asarray(line.y) for curve in curves for line in curve.references]
    y = [_extent(first.y_scale, held) for held in values]
    return tuple((min(low for low, _ in ends), max(high for _, high in ends)) for ends in (x, y))  # type: ignore[return-value]


def _extent(scale: Scale, values: Floats) -> Domain:
    held = placed(np.asarray(values, dtype=np.float64), scale)
    held = held[np.isfinite(held)]
    low, high = (float(held.min()), float(held.max())) if len(held) else (0.0, 1.0)
    if scale.drawn == "probit":
        # At least from 1 % to 50 %, and a little room.
        return min(low, -2.33) - 0.1, max(high, 0.0) + 0.1
    room = (high - low) * 0.05 or 0.5
    if scale.low is not None and scale.low < 0:
        # Half of an axis from −1 to 1 is idle where nothing is much worse than chance.
        floor = max(scale.low, min(0.0, float(np.floor(5 * low)) / 5))
        return floor, scale.high if scale.high is not None else high + room
    return (
        scale.low if scale.low is not None else low - room,
        scale.high if scale.high is not None else high + room,
    )


def _axis(scale: Scale, domain: Domain) -> dict[str, Any]:
    import altair as alt

    if scale.drawn == "linear":
        axis = alt.Axis(tickCount=6, labelFlush=False)
    else:
        ticks = placed(np.array(PROBIT_TICKS), scale)
        inside = ticks[(ticks >= domain[0]) & (ticks <= domain[1])].tolist()
        axis = alt.Axis(values=inside, labelExpr="format(cumulativeNormal(datum.value), '.2~%')", labelFlush=False)
    return {
        "title": scale.title,
        "axis": axis,
        "scale": alt.Scale(domain=list(domain), nice=False, zero=False),
    }


def _plain(values: NDArray[Any]) -> list[Any]:
    """Python's numbers, with None for what JSON cannot hold."""
    held = values.astype(np.float64)
    return [value if fine else None for value, fine in zip(values.tolist(), np.isfinite(held).tolist(), strict=True)]


def _records(curve: Curve) -> list[dict[str, Any]]:
    columns = {name: _plain(values) for name, values in curve.columns().items()}
    columns["rate_x"], columns["rate_y"] = columns["x"], columns["y"]
    columns["x"] = _plain(placed(curve.x, curve.x_scale))
    for name, values in (("y", curve.y), ("low", curve.low), ("high", curve.high)):
        if name in columns:
            columns[name] = _plain(placed(values, curve.y_scale))
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


def _path(curve: Curve) -> list[dict[str, Any]]:
    """The corners of the line in their order: without one, Vega would sort a rise by chance."""
    records = [record for record in _records(curve) if record["x"] is not None and record["y"] is not None]
    return [{**record, "order": at} for at, record in enumerate(records)]


def inline_data(records: list[dict[str, Any]]) -> alt.InlineData:
    """Records as data that stand in the chart itself."""
    import altair as alt

    return alt.InlineData(values=records)


def _band(curve: Curve, short: Curve, x: dict[str, Any], y: dict[str, Any]) -> Any:
    import altair as alt

    band = curve.band
    if band is None or curve.kind == "reliability":
        places, lows, highs = short.x, short.low, short.high
    elif len(band.x) != len(curve.x):
        # Worked out on a grid of its own.
        places, lows, highs = band.x, band.low, band.high
    else:
        places, lows, highs = short.x, short.low, short.high
    along = placed(places, curve.x_scale)
    low, high = (
        np.clip(placed(ends, curve.y_scale), -8, 8) if curve.y_scale.drawn == "probit" else ends
        for ends in (lows, highs)
    )
    records = [
        {"x": at, "low": bottom, "high": top}
        for at, bottom, top in zip(_plain(along), _plain(low), _plain(high), strict=True)
        if at is not None and bottom is not None and top is not None
    ]
    chart = alt.Chart(inline_data(records))
    if curve.kind == "reliability":
        return chart.mark_rule(color=ACCENT, strokeWidth=1.5, opacity=0.55, aria=False).encode(
            x=alt.X("x:Q", **x), y=alt.Y("low:Q", **y), y2="high:Q"
        )
    return chart.mark_area(color=ACCENT, opacity=0.15, clip=True, aria=False).encode(
        x=alt.X("x:Q", **x), y=alt.Y("low:Q", **y), y2="high:Q"
    )


def _dots(curve: Curve, x: dict[str, Any], y: dict[str, Any]) -> Any:
    import altair as alt

    chart = alt.Chart(inline_data(_path(curve)))
    where = {"x": alt.X("x:Q", **x), "y": alt.Y("y:Q", **y), "tooltip": _tooltips(curve)}
    if curve.kind == "reliability":
        most = float(curve.extra["n"].max())
        values = sorted({float(f"{most * part:.1g}") for part in (0.1, 0.5, 1.0)})
        size = alt.Size("n:Q", title="Cases in the bin").scale(range=[30, 350], domain=[0, most]).legend(values=values)
        return chart.mark_circle(color=ACCENT, opacity=1).encode(**where, size=size)
    shown = len(curve) <= DOTS and curve.kind != "decision" and curve.dropped == 0
    # Hundreds of unseen dots would only keep a screen reader busy: the description and the rows say it better.
    return chart.mark_circle(
        aria=False, color=ACCENT, size=28 if shown else 90, opacity=1 if shown else 0, clip=curve.kind in CUT
    ).encode(**where)


def _tooltips(curve: Curve) -> list[Any]:
    import altair as alt

    held = curve.columns()
    fields = [
        ("threshold", "threshold", ".4~g"), ("bin_low", "bin from", ".3~f"), ("bin_high", "bin to", ".3~f"),
        ("tp", "true positives", ",.6~g"), ("fp", "false positives", ",.6~g"),
        ("positives", "positives", ",.6~g"), ("n", "cases", ",.6~g"),
    ]  # fmt: skip
    if curve.x_scale.name == "threshold":
        del fields[0]
    tips = [alt.Tooltip(f"{name}:Q", title=title, format=form) for name, title, form in fields if name in held]
    tips.append(alt.Tooltip("rate_x:Q", title=curve.x_scale.name.replace("_", " "), format=".4~g"))
    tips.append(alt.Tooltip("rate_y:Q", title=curve.y_scale.name.replace("_", " "), format=".4~g"))
    if curve.band is not None and curve.y_scale.drawn == "linear":
        tips += [alt.Tooltip(f"{name}:Q", title=name, format=".4~g") for name in ("low", "high")]
    return tips


def _hull(curve: Curve, x: dict[str, Any], y: dict[str, Any]) -> Any:
    import altair as alt

    return (
        alt.Chart(inline_data(_path(curve.hull())))
        .mark_line(color=COLOURS[1], strokeWidth=1.2, strokeDash=[6, 3], aria=False)
        .encode(x=alt.X("x:Q", **x), y=alt.Y("y:Q", **y), order="order:O")
    )


def _references(
    lines: Sequence[Reference], curves: Sequence[Curve], domains: tuple[Domain, Domain], x: Any, y: Any
) -> Any:
    """The reference lines, each with its name where there is room for it."""
    import altair as alt

    first = curves[0]
    busy = np.concatenate([_unit(placed(c.x, c.x_scale), placed(c.y, c.y_scale), domains) for c in curves])
    records: list[dict[str, Any]] = []
    labels: dict[str, list[dict[str, Any]]] = {"top": [], "bottom": []}
    for line in lines:
        across, up = _corners(line, first, domains)
        ends = enumerate(zip(across.tolist(), up.tolist(), strict=True))
        records += [{"x": a, "y": b, "line": line.name, "order": at} for at, (a, b) in ends]
        spot = _spot(across, up, domains, busy, len(line.name))
        if spot is not None:
            side, at, height = spot
            labels[side].append({"x": at, "y": height, "line": line.name})
    where = {"x": alt.X("x:Q", **x), "y": alt.Y("y:Q", **y)}
    layers: list[Any] = [
        alt.Chart(inline_data(records))
        .mark_line(color=QUIET, strokeWidth=1, strokeDash=[4, 4], clip=True, aria=False)
        .encode(**where, detail="line:N", order="order:O")
    ]
    for side, dy in (("top", 4), ("bottom", -4)):
        words = alt.Chart(inline_data(labels[side])).mark_text(
            color=QUIET, aria=False, align="left", baseline=side, dx=5, dy=dy, fontSize=11
        )
        layers.append(words.encode(**where, text="line:N"))
    return alt.layer(*layers)


def _corners(line: Reference, curve: Curve, domains: tuple[Domain, Domain]) -> tuple[Floats, Floats]:
    if curve.x_scale.drawn == "linear":
        return np.asarray(line.x), np.asarray(line.y)
    from scipy.special import ndtr

    # A straight line between rates bends on axes of normal deviates.
    across = np.linspace(*domains[0], 101)
    return across, placed(np.interp(ndtr(across), line.x, line.y), curve.y_scale)


def _unit(x: Floats, y: Floats, domains: tuple[Domain, Domain]) -> Floats:
    """Places as shares of the width and the height, those outside left out."""
    (left, right), (bottom, top) = domains
    there = np.stack([(x - left) / (right - left), (y - bottom) / (top - bottom)], axis=1)
    return there[np.isfinite(there).all(axis=1)]


def _spot(
    x: Floats, y: Floats, domains: tuple[Domain, Domain], busy: Floats, letters: int
) -> tuple[Literal["top", "bottom"], float, float] | None:
    """Where along a line its name is farthest from the curves, and whether it hangs below the line or stands on it."""
    (left, right), (bottom, top) = domains
    wide, best, found = 0.018 * letters, 0.0, None
    for share in np.linspace(0.03, 0.9 - wide, 24):
        at = left + share * (right - left)
        if len(x) < 2 or not min(x) <= at <= max(x):
            continue
        here, there = np.interp([at, at + 0.02 * (right - left)], x, y)
        side: Literal["top", "bottom"] = "bottom" if there < here - 1e-12 else "top"
        height = (here - bottom) / (top - bottom) + (0.04 if side == "bottom" else -0.04)
        if not 0.04 < height < 0.96:
            continue
        away = min(
            float(np.hypot(*(busy - (share + part * wide, height)).T).min()) if len(busy) else 1.0
            for part in (0.0, 0.5, 1.0)
        )
        if away > best + 1e-9:
            best, found = away, (side, float(at), float(here))
    return found


def _subtitle(curve: Curve) -> list[str]:
    lines = [curve.summary[0].upper() + curve.summary[1:]]
    if curve.band is not None:
        shape = "Bars" if curve.kind == "reliability" else "Band"
        reach = "at each place" if curve.band.kind == "pointwise" else "everywhere at once"
        lines.append(f"{shape}: {100 * curve.band.level:g} % {reach} ({curve.band.method})")
    return lines


def _description(curve: Curve) -> str:
    return (
        f"{curve.title}: {curve.y_scale.title} against {curve.x_scale.title}. {curve.summary}. {len(curve):,} points."
    )


def finished_chart(chart: Any, kind: str, title: str, subtitle: list[str], description: str) -> AnyChart:
    """The chart with its size, its titles, what a screen reader says of it, and the house style."""
    import altair as alt

    side = (360, 360) if kind in SQUARE else (480, 300)
    heading = alt.TitleParams(
        text=title, subtitle=subtitle or alt.Undefined, anchor="start", offset=12, fontSize=15, subtitleColor=QUIET
    )
    # The editor of the menu that vega-embed adds would need the network.
    actions = {"export": True, "source": False, "compiled": False, "editor": False}
    made: AnyChart = (
        chart.properties(
            width=side[0], height=side[1], title=heading, description=description,
            usermeta={"embedOptions": {"actions": actions}},
        )
        .configure(font="sans-serif", padding=12, background="white")
        .configure_view(stroke=None)
        .configure_axis(gridColor="#ececec", domainColor="#999999", tickColor="#999999", labelColor="#444444",
                        titleColor="#222222", titleFontWeight="normal", titlePadding=8)
        .configure_legend(titleFontWeight="normal", labelFontSize=11)
    )  # fmt: skip
    return made
