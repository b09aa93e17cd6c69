"""Curves as charts: the thinned line, its band, its reference lines, words and a table behind it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from heldout.arguments import listing, write_sentence
from heldout.arrays import Floats
from heldout.curves.curve import CHECK_CLASSES, Curve, Scale
from heldout.curves.declare import Range, find_kind
from heldout.curves.thinning import placed, thinned
from heldout.curves.threshold_table import ThresholdTable
from heldout.errors import OptionError, ValuesError
from heldout.show.chart import TONES, Axis, Bars, Chart, Dots, Panel, Ribbon, Stroke, Tips, Tone
from heldout.show.numbers import count, number

PIXELS = 1000
# Rows of the table behind a chart.
SHOWN = 50
# Rates that axes of normal deviates mark, and how far out a deviate is still drawn.
PROBIT_TICKS = (0.0001, 0.001, 0.01, 0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 0.9, 0.95, 0.99, 0.999, 0.9999)
FARTHEST = 8.0
# Columns of the points that tooltips tell, by what they are called there.
TOLD = {
    "threshold": "threshold",
    "bin_low": "bin from",
    "bin_high": "bin to",
    "tp": "true positives",
    "fp": "false positives",
    "positives": "positives",
    "n": "cases",
}


def chart_of(curve: Curve, *, whole: int | None = None, moves: bool = False) -> Chart:
    """A curve as a chart; `whole` is the number of its points, if it is to be told; `moves` marks a threshold on it.

    >>> from heldout.curves.roc import roc
    >>> from heldout.evidence.ranking import Ranking
    >>> chart = chart_of(roc(Ranking(np.array([0.9, 0.1]), np.array([3, 1]), np.array([1, 4]))))
    >>> chart.strokes[-1].x, chart.strokes[-1].y
    ((0.0, 0.2, 1.0), (0.0, 0.75, 1.0))
    """
    kind = find_kind(curve)
    short = thinned(curve, PIXELS)
    x, y = _axes([curve])
    strokes = _references(curve, x)
    ribbons: tuple[Ribbon, ...] = ()
    dots: tuple[Dots, ...] = ()
    below = None
    if kind.marks == "dots":
        dots, below = (_dots(curve),), _histogram(curve)
    elif not curve.undefined:
        strokes = (*strokes, _line(curve, kind.line_name))
        ribbons = _ribbon(curve, short)
    headers, points = _table(short)
    return Chart(
        curve.title, _describe(curve), x, y, strokes, ribbons, dots, _detail(curve, short, whole), kind.shape,
        kind.slider if moves else None, headers, points, tips=(_tips(short),), below=below,
    )  # fmt: skip


def draw_alone(curve: Curve, *, hull: bool = False) -> Chart:
    """The chart of one curve by itself; with `hull`, a ROC curve with its convex hull."""
    check_drawable([curve])
    chart = chart_of(curve)
    if not hull:
        return chart
    return replace(chart, strokes=(*chart.strokes, replace(_line(curve.hull(), "convex hull", "second"), dashed=True)))


def overlay(curves: Sequence[Curve], names: Sequence[str]) -> Chart:
    """Several curves of one kind in one chart, told apart by colour and by dashes.

    >>> from heldout.curves.roc import roc
    >>> from heldout.evidence.ranking import Ranking
    >>> scored = roc(Ranking(np.array([0.9, 0.1]), np.array([3, 1]), np.array([1, 4])))
    >>> [stroke.name for stroke in overlay([scored, scored], ["a", "b"]).strokes]
    ['chance', 'a (.775)', 'b (.775)']
    """
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
    check_drawable(curves)
    return draw_together(curves, names)


def draw_together(curves: Sequence[Curve], names: Sequence[str], title: str = "") -> Chart:
    """Curves of one kind in one chart, told apart by tone; no more than there are tones."""
    if not curves or len(curves) > len(TONES):
        raise OptionError(
            f"{len(curves)} curves in one chart cannot be told apart; {len(TONES)} can.",
            hint="draw fewer, or several charts.",
        )
    first = curves[0]
    x, y = _axes(curves)
    shared = tuple(line for line in first.references if all(line in other.references for other in curves))
    strokes = list(_references(replace(first, references=shared), x))
    keys, tips = [], []
    for curve, name, tone in zip(curves, names, TONES, strict=False):
        key = name if curve.area is None or math.isnan(curve.area) else f"{name} ({number(curve.area)})"
        keys.append(key)
        strokes.append(_line(curve, key, tone))
        tips.append(_tips(thinned(curve, PIXELS), name))
    about = f" Beside each name: {first.area_name}." if first.area is not None else ""
    places = np.linspace(0, 1, 11)
    points = tuple((float(at), *(float(_height(curve, at)) for curve in curves)) for at in places)
    description = f"{first.title} of {listing(keys)}. {first.y_scale.title} against {first.x_scale.title}.{about}"
    return Chart(
        title or first.title, description, x, y, tuple(strokes), detail=about.strip(), shape=find_kind(first).shape,
        headers=(_name(first.x_scale), *names), points=points, tips=tuple(tips),
    )  # fmt: skip


def draw_alike(curves: Sequence[Curve], title: str, name: str, detail: str = "") -> Chart:
    """Curves of one kind that need not be told apart, such as those of the folds; `name` stands for all of them.

    >>> from heldout.curves.roc import roc
    >>> from heldout.evidence.ranking import Ranking
    >>> fold = roc(Ranking(np.array([0.9, 0.1]), np.array([3, 1]), np.array([1, 4])), bands=None)
    >>> [stroke.name for stroke in draw_alike([fold, fold], "ROC curves", "one fold").strokes]
    ['chance', 'one fold', '']
    """
    first = curves[0]
    x, y = _axes(curves)
    # Thin, so that ten lines do not become one broad one.
    lines = [replace(_line(curve, "" if at else name), thin=len(curves) > 1) for at, curve in enumerate(curves)]
    places = np.linspace(0, 1, 11)
    heights = np.array([[_height(curve, at) for curve in curves] for at in places])
    points = tuple(
        (float(at), *(float(figure) for figure in (row.min(), row.mean(), row.max())))
        for at, row in zip(places, heights, strict=True)
    )
    description = f"{title}: {first.y_scale.title} against {first.x_scale.title}, {len(curves)} curves. {detail}"
    headers = (_name(first.x_scale), *(f"{word} {_name(first.y_scale)}" for word in ("lowest", "mean", "highest")))
    return Chart(
        title, description, x, y, (*_references(first, x), *lines), detail=detail, shape=find_kind(first).shape,
        headers=headers, points=points,
    )  # fmt: skip


def draw_thresholds(table: ThresholdTable) -> Chart:
    """Every measure of a table of thresholds against the threshold, told apart by tone."""
    measured = list(zip(table.bounds, table.values, TONES, strict=False))
    there = np.flatnonzero(np.isfinite(table.threshold))
    if not measured or not len(there):
        raise ValuesError("There is nothing to draw: no measure at a finite threshold.", hint=CHECK_CLASSES)
    there = there[np.unique(np.linspace(0, len(there) - 1, PIXELS).round().astype(np.int64))]
    x = table.threshold[there]
    strokes = tuple(
        Stroke(tuple(x.tolist()), tuple(values[there].tolist()), bound.title, tone) for bound, values, tone in measured
    )
    known = np.concatenate([values[there] for _, values, _ in measured])
    known = known[np.isfinite(known)]
    low, high = (min(0.0, known.min()), max(1.0, known.max())) if len(known) else (0.0, 1.0)
    names = listing(bound.title for bound, _, _ in measured)
    return Chart(
        "Measures at each threshold", f"{names} against the threshold, from {x.min():.3g} to {x.max():.3g}.",
        Axis("threshold", float(x.min()), float(x.max())), Axis("value", float(low), float(high)), strokes,
        shape="wide",
    )  # fmt: skip


def check_drawable(curves: Sequence[Curve]) -> None:
    """Refuse curves without a point to draw."""
    for curve in curves:
        if curve.undefined or not np.isfinite(curve.y).any():
            raise ValuesError(
                f"There is no {curve.title} to draw: {curve.undefined or 'no point of it is defined'}.",
                hint=CHECK_CLASSES,
            )


def _axes(curves: Sequence[Curve]) -> tuple[Axis, Axis]:
    """Both axes, each as far as the curves need."""
    first = curves[0]
    defined = [curve for curve in curves if len(curve) and not curve.undefined] or [first]
    x = [_extent(first.x_scale, curve.x) for curve in defined]
    values = [curve.y for curve in defined]
    if first.y_scale.high is None or first.y_scale.low is None:
        values += [np.asarray(line.y) for curve in defined for line in curve.references]
    y_range = find_kind(first).y_range
    y = [_extent(first.y_scale, heights) for heights in values] if y_range is None else [y_range(defined)]
    return _axis(first.x_scale, x), _axis(first.y_scale, y)


def _axis(scale: Scale, extents: Sequence[Range]) -> Axis:
    low, high = float(min(low for low, _ in extents)), float(max(high for _, high in extents))
    ticks: tuple[tuple[float, str], ...] = ()
    if scale.drawn == "probit":
        places = placed(np.array(PROBIT_TICKS), scale).tolist()
        ticks = tuple((deviate, f"{100 * rate:g}") for deviate, rate in zip(places, PROBIT_TICKS, strict=True))
    return Axis(f"{scale.title}, in %" if ticks else scale.title, low, high, ticks)


def _extent(scale: Scale, values: Floats) -> Range:
    """The part of an axis that these values need."""
    places = placed(np.asarray(values, dtype=np.float64), scale)
    places = places[np.isfinite(places)]
    low, high = (float(places.min()), float(places.max())) if len(places) else (0.0, 1.0)
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


def _line(curve: Curve, name: str = "", tone: Tone = "accent") -> Stroke:
    """The line that is drawn: between the points of some curves, such as precision-recall, it is bent."""
    kind = find_kind(curve)
    line = thinned(curve if kind.line is None or curve.kind != kind.name else kind.line(curve), PIXELS)
    x, y = placed(line.x, curve.x_scale), placed(line.y, curve.y_scale)
    there = np.isfinite(x) & np.isfinite(y)
    return Stroke(tuple(x[there].tolist()), tuple(y[there].tolist()), name, tone)


def _references(curve: Curve, along: Axis) -> tuple[Stroke, ...]:
    if curve.x_scale.drawn == "linear":
        return tuple(
            Stroke(line.x, line.y, line.name, "quiet", dashed=True, dash_dot=at % 2 == 1)
            for at, line in enumerate(curve.references)
        )
    from scipy.special import ndtr

    # A straight line between rates bends on axes of normal deviates.
    x = np.linspace(along.low, along.high, 101)
    heights = [placed(np.interp(ndtr(x), line.x, line.y), curve.y_scale) for line in curve.references]
    return tuple(
        Stroke(tuple(x.tolist()), tuple(y.tolist()), line.name, "quiet", dashed=True, dash_dot=at % 2 == 1)
        for at, (line, y) in enumerate(zip(curve.references, heights, strict=True))
    )


def _ribbon(curve: Curve, short: Curve) -> tuple[Ribbon, ...]:
    band = curve.band
    if band is None:
        return ()
    # A band that was worked out on a grid of its own is drawn there.
    x, low, high = (band.x, band.low, band.high) if len(band.x) != len(curve) else (short.x, short.low, short.high)
    x = placed(x, curve.x_scale)
    if curve.y_scale.drawn == "probit":
        low, high = (np.clip(placed(limits, curve.y_scale), -FARTHEST, FARTHEST) for limits in (low, high))
    there = np.isfinite(np.stack([x, low, high])).all(axis=0)
    columns = [tuple(values[there].tolist()) for values in (x, low, high)]
    return (Ribbon(columns[0], columns[1], columns[2]),) if there.any() else ()


def _dots(curve: Curve) -> Dots:
    columns = (curve.x, curve.y, curve.low, curve.high, curve.extra["n"].astype(np.float64))
    x, y, low, high, size = (tuple(values.tolist()) for values in columns)
    return Dots(x, y, low, high, size)


def _histogram(curve: Curve) -> Panel | None:
    """How many cases each bin holds."""
    start, end, cases = (curve.extra[name].astype(np.float64) for name in ("bin_low", "bin_high", "n"))
    if not len(cases):
        return None
    bars = Bars(tuple(start.tolist()), tuple(end.tolist()), tuple(cases.tolist()))
    return Panel(Axis("Cases", 0.0, 1.05 * float(cases.max())), bars=(bars,))


def _tips(short: Curve, name: str = "") -> Tips:
    """What is told of each point: the threshold, the counts, both values and the limits."""
    columns = short.columns()
    told = {word: columns[column] for column, word in TOLD.items() if column in columns}
    if _name(short.x_scale) in told:
        del told[_name(short.x_scale)]
    told |= {_name(short.x_scale): short.x, _name(short.y_scale): short.y}
    told |= {column: columns[column] for column in ("low", "high") if column in columns}
    listed: list[tuple[str, tuple[float | str, ...]]] = [
        (word, tuple(values.tolist())) for word, values in told.items()
    ]
    if name:
        listed.insert(0, ("curve", (name,) * len(short)))
    x, y = placed(short.x, short.x_scale), placed(short.y, short.y_scale)
    return Tips(tuple(x.tolist()), tuple(y.tolist()), tuple(listed))


def _name(scale: Scale) -> str:
    return scale.name.replace("_", " ")


def _table(short: Curve) -> tuple[tuple[str, ...], tuple[tuple[float, ...], ...]]:
    """An even selection of the points, the first and the last among them."""
    kept = np.unique(np.linspace(0, len(short) - 1, min(len(short), SHOWN)).round().astype(np.int64))
    columns: dict[str, NDArray[np.float64]] = {}
    if not short.extra and _name(short.x_scale) != "threshold":
        columns["threshold"] = short.threshold
    columns |= {_name(short.x_scale): short.x, _name(short.y_scale): short.y}
    if short.band is not None:
        columns |= {"low": short.low, "high": short.high}
    columns |= {_name(Scale(name, "")): values.astype(np.float64) for name, values in short.extra.items()}
    rows = [values[kept].tolist() if len(kept) else [] for values in columns.values()]
    return tuple(columns), tuple(zip(*rows, strict=True))


def _detail(curve: Curve, short: Curve, whole: int | None) -> str:
    summary = curve.summary()
    sentences = [write_sentence(summary)]
    if curve.band is not None:
        shape = "Bars" if find_kind(curve).marks == "dots" else "Band"
        reach = "at each place" if curve.band.kind == "pointwise" else "everywhere at once"
        sentences.append(f"{shape}: {100 * curve.band.level:g} % {reach} ({curve.band.method}).")
    if find_kind(curve).marks == "dots" and "n" in curve.extra and len(curve.extra["n"]):
        largest = count(curve.extra["n"].max().item())
        sentences.append(f"Area of a dot: the cases of its bin, {largest} in the largest.")
    if whole is not None and len(short) < whole:
        sentences.append(f"{len(short):,} of {whole:,} points are drawn; the others would move no line by a pixel.")
    if curve.undefined:
        sentences.append(f"Undefined: {curve.undefined}.")
    return " ".join([*sentences, *curve.notes])


def _describe(curve: Curve) -> str:
    """What the chart shows, for those who cannot see it."""
    words = f"{curve.title}: {curve.y_scale.title} against {curve.x_scale.title}. {curve.summary()}."
    if curve.undefined or not np.isfinite(curve.y).any():
        return f"{words} Undefined: {curve.undefined or 'no point has a value'}."
    known = curve.x[np.isfinite(curve.x) & np.isfinite(curve.y)]
    places = np.quantile([known.min(), known.max()], [0.0, 0.25, 0.5, 0.75, 1.0])
    heights = "; ".join(f"{number(float(at), 'plain')}: {number(_height(curve, at), 'plain')}" for at in places)
    return f"{words} Height at places along the axis: {heights}."


def _height(curve: Curve, at: float) -> float:
    """The height of the curve at a place, between two points on the line between them; nan beyond its ends."""
    there = np.isfinite(curve.x) & np.isfinite(curve.y)
    x, y = curve.x[there], curve.y[there]
    if not len(x):
        return math.nan
    order = np.argsort(x, kind="stable")
    return float(np.interp(at, x[order], y[order], left=np.nan, right=np.nan))
