"""Curves as charts of a page: the thinned line, its band, its reference lines, words and a table behind it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from heldout.arguments import listing
from heldout.curves.chart import domains_of
from heldout.curves.curve import Curve, Scale
from heldout.curves.declare import kind_of
from heldout.curves.thinning import placed, thinned
from heldout.errors import OptionError
from heldout.show.chart import Axis, Chart, Dots, Ribbon, Shape, Stroke, Tone
from heldout.show.numbers import number

PIXELS = 1000
# Rows of the table behind a chart.
SHOWN = 50
TONES: tuple[Tone, ...] = ("accent", "second", "third", "fourth", "fifth", "sixth", "seventh")


def drawn(curve: Curve, *, whole: int | None = None, moves: bool = False) -> Chart:
    """A curve as a chart; `whole` is the number of its points before they were joined, `moves` marks a threshold on it.

    >>> from heldout.curves.roc import roc
    >>> from heldout.evidence.ranking import Ranking
    >>> chart = drawn(roc(Ranking(np.array([0.9, 0.1]), np.array([3, 1]), np.array([1, 4]))))
    >>> chart.strokes[-1].x, chart.strokes[-1].y
    ((0.0, 0.2, 1.0), (0.0, 0.75, 1.0))
    """
    kind = kind_of(curve)
    short = thinned(curve, PIXELS)
    x, y = _axes(curve, [curve])
    strokes = _references(curve)
    ribbons: tuple[Ribbon, ...] = ()
    dots: tuple[Dots, ...] = ()
    if kind.marks == "dots":
        dots = (_dots(curve),)
    elif not curve.undefined:
        strokes = (*strokes, _stroke(_line(curve, short), curve, kind.line_name, "accent"))
        ribbons = _ribbon(curve, short)
    headers, points = _table(short)
    return Chart(
        curve.title, _description(curve), x, y, strokes, ribbons, dots, _detail(curve, short, whole),
        _shape(curve), kind.slider if moves else None, headers, points,
    )  # fmt: skip


def drawn_together(curves: Sequence[Curve], names: Sequence[str], title: str = "") -> Chart:
    """Curves of one kind in one chart, told apart by tone; no more than there are tones.

    >>> from heldout.curves.roc import roc
    >>> from heldout.evidence.ranking import Ranking
    >>> one = roc(Ranking(np.array([0.9, 0.1]), np.array([3, 1]), np.array([1, 4])), bands=None)
    >>> [stroke.name for stroke in drawn_together([one, one], ["a", "b"]).strokes]
    ['chance', 'a (.775)', 'b (.775)']
    """
    if not curves or len(curves) > len(TONES):
        raise OptionError(
            f"{len(curves)} curves in one chart cannot be told apart; {len(TONES)} can.", hint="draw fewer."
        )
    first = curves[0]
    x, y = _axes(first, curves)
    shared = tuple(line for line in first.references if all(line in other.references for other in curves))
    strokes = list(_references(replace(first, references=shared)))
    keys = []
    for curve, name, tone in zip(curves, names, TONES, strict=False):
        key = name if curve.area is None or math.isnan(curve.area) else f"{name} ({number(curve.area)})"
        keys.append(key)
        strokes.append(_stroke(_line(curve, thinned(curve, PIXELS)), curve, key, tone))
    about = f" Beside each name: {first.area_name}." if first.area is not None else ""
    places = np.linspace(0, 1, 11)
    points = tuple((float(at), *(float(_height(curve, at)) for curve in curves)) for at in places)
    described = f"{first.title} of {listing(keys)}. {first.y_scale.title} against {first.x_scale.title}.{about}"
    return Chart(
        title or first.title, described, x, y, tuple(strokes), (), (), about.strip(), _shape(first), None,
        (_name(first.x_scale), *names), points,
    )  # fmt: skip


def drawn_alike(curves: Sequence[Curve], title: str, name: str, detail: str = "") -> Chart:
    """Curves of one kind that need not be told apart, such as those of the folds; `name` stands for all of them.

    >>> from heldout.curves.roc import roc
    >>> from heldout.evidence.ranking import Ranking
    >>> one = roc(Ranking(np.array([0.9, 0.1]), np.array([3, 1]), np.array([1, 4])), bands=None)
    >>> [stroke.name for stroke in drawn_alike([one, one], "ROC curves", "one fold").strokes]
    ['chance', 'one fold', '']
    """
    first = curves[0]
    x, y = _axes(first, curves)
    lines = [
        _stroke(_line(curve, thinned(curve, PIXELS)), curve, "" if at else name, "accent")
        for at, curve in enumerate(curves)
    ]
    places = np.linspace(0, 1, 11)
    heights = np.array([[_height(curve, at) for curve in curves] for at in places])
    points = tuple(
        (float(at), *(float(figure) for figure in (row.min(), row.mean(), row.max())))
        for at, row in zip(places, heights, strict=True)
    )
    described = f"{title}: {first.y_scale.title} against {first.x_scale.title}, {len(curves)} curves. {detail}"
    headers = (_name(first.x_scale), *(f"{word} {_name(first.y_scale)}" for word in ("lowest", "mean", "highest")))
    return Chart(
        title, described, x, y, (*_references(first), *lines), (), (), detail, _shape(first), None, headers, points
    )


def _shape(curve: Curve) -> Shape:
    return kind_of(curve).shape


def _axes(first: Curve, curves: Sequence[Curve]) -> tuple[Axis, Axis]:
    ends = domains_of([curve for curve in curves if len(curve) and not curve.undefined] or [first])
    return tuple(  # type: ignore[return-value]
        Axis(scale.title, float(low), float(high))
        for scale, (low, high) in zip((first.x_scale, first.y_scale), ends, strict=True)
    )


def _line(curve: Curve, short: Curve) -> Curve:
    """What is drawn: between the points of a precision-recall curve, the bent line that can be reached."""
    kind = kind_of(curve)
    if kind.line is None or curve.kind != kind.name:
        return short
    return thinned(kind.line(curve), PIXELS)


def _stroke(line: Curve, curve: Curve, name: str, tone: Tone) -> Stroke:
    x, y = placed(line.x, curve.x_scale), placed(line.y, curve.y_scale)
    there = np.isfinite(x) & np.isfinite(y)
    return Stroke(tuple(x[there].tolist()), tuple(y[there].tolist()), name, tone)


def _references(curve: Curve) -> tuple[Stroke, ...]:
    return tuple(Stroke(line.x, line.y, line.name, "quiet", dashed=True) for line in curve.references)


def _ribbon(curve: Curve, short: Curve) -> tuple[Ribbon, ...]:
    band = curve.band
    if band is None:
        return ()
    # A band that was worked out on a grid of its own is drawn there.
    held = (band.x, band.low, band.high) if len(band.x) != len(curve) else (short.x, short.low, short.high)
    there = np.isfinite(np.stack(held)).all(axis=0)
    x, low, high = (tuple(values[there].tolist()) for values in held)
    return (Ribbon(x, low, high),) if x else ()


def _dots(curve: Curve) -> Dots:
    held = (curve.x, curve.y, curve.low, curve.high, curve.extra["n"].astype(np.float64))
    x, y, low, high, size = (tuple(values.tolist()) for values in held)
    return Dots(x, y, low, high, size)


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
    held = [values[kept].tolist() if len(kept) else [] for values in columns.values()]
    return tuple(columns), tuple(zip(*held, strict=True))


def _detail(curve: Curve, short: Curve, whole: int | None) -> str:
    said = [f"{curve.summary[:1].upper()}{curve.summary[1:]}."]
    if curve.band is not None:
        shape = "Bars" if kind_of(curve).marks == "dots" else "Band"
        reach = "at each place" if curve.band.kind == "pointwise" else "everywhere at once"
        said.append(f"{shape}: {100 * curve.band.level:g} % {reach} ({curve.band.method}).")
    total = len(curve) if whole is None else whole
    if len(short) < total:
        said.append(f"{len(short):,} of {total:,} points are drawn; the others would move no line by a pixel.")
    if curve.undefined:
        said.append(f"Undefined: {curve.undefined}.")
    return " ".join([*said, *curve.notes])


def _description(curve: Curve) -> str:
    said = f"{curve.title}: {curve.y_scale.title} against {curve.x_scale.title}. {curve.summary}."
    if curve.undefined or not np.isfinite(curve.y).any():
        return f"{said} Undefined: {curve.undefined or 'no point has a value'}."
    known = curve.x[np.isfinite(curve.x) & np.isfinite(curve.y)]
    places = np.quantile([known.min(), known.max()], [0.0, 0.25, 0.5, 0.75, 1.0])
    at = "; ".join(f"{number(float(place), 'plain')}: {number(_height(curve, place), 'plain')}" for place in places)
    return f"{said} Height at places along the axis: {at}."


def _height(curve: Curve, at: float) -> float:
    """The height of the curve at a place, between two points on the line between them; nan beyond its ends."""
    there = np.isfinite(curve.x) & np.isfinite(curve.y)
    x, y = curve.x[there], curve.y[there]
    if not len(x):
        return math.nan
    order = np.argsort(x, kind="stable")
    return float(np.interp(at, x[order], y[order], left=np.nan, right=np.nan))
