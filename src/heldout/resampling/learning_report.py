"""What a learning curve says of more data, and how it is drawn."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from heldout.arrays import Floats
from heldout.curves.chart import COLOURS, QUIET, finished_chart, inline_data
from heldout.errors import ValuesError
from heldout.resampling.power_law import Figure, PowerLaw
from heldout.show.chart import Axis, Chart, Dots, Ribbon, Stroke
from heldout.show.numbers import limits, number, percent

if TYPE_CHECKING:
    from heldout.curves.chart import AnyChart
    from heldout.resampling.learning_curve import LearningCurve


# The drawing of a learning curve: both errors as the training set grows, and the fitted law beyond what was seen.

# The law is drawn to this many times the rows there are: farther, it would be a guess.
AHEAD = 2


def learning_drawing(curve: LearningCurve) -> Chart:
    """Training and test error over the size of the training set, on a logarithmic axis where the sizes multiply."""
    steps = np.diff(curve.sizes)
    logarithmic = len(steps) > 1 and steps[-1] > 1.5 * steps[0]

    def place(sizes: Floats) -> tuple[float, ...]:
        return tuple((np.log10(sizes) if logarithmic else sizes).tolist())

    sizes = np.array(curve.sizes, dtype=np.float64)
    training, test = curve.mean("training"), curve.mean("test")
    strokes = [
        Stroke(place(sizes), tuple(test.tolist()), "test error", "accent"),
        Stroke(place(sizes), tuple(training.tolist()), "training error", "second"),
    ]
    last, top = float(sizes[-1]), float(np.nanmax([*curve.high.tolist(), *test.tolist(), *training.tolist()]))
    if curve.law.shape in {"falling", "flat"}:
        last = float(max(AHEAD * curve.n_rows, curve.sizes[-1] + 1))
        ahead = np.geomspace(sizes[-1], last, 40)
        law = curve.law.predict(ahead)
        strokes.append(
            Stroke(place(ahead), tuple(law.value.tolist()), "law, beyond what was seen", "quiet", dashed=True)
        )
    left, right = place(np.array([sizes[0], last]))
    ticks = tuple((at, f"{int(size):,}") for at, size in zip(place(sizes), sizes.tolist(), strict=True))
    ticks = ticks[:: max(1, len(ticks) // 6)]
    dots = Dots(place(sizes), tuple(test.tolist()), tuple(curve.low.tolist()), tuple(curve.high.tolist()))
    band = Ribbon(place(sizes), tuple(curve.low.tolist()), tuple(curve.high.tolist()))
    first, final = (percent(float(test[at]), 1) for at in (0, -1))
    described = (
        f"Learning curve of {curve.name}: error rate against the rows in the training set. The test error goes from "
        f"{first} at {curve.sizes[0]:,} rows to {final} at {curve.sizes[-1]:,}. {curve.verdict}"
    )
    columns = (sizes, training, test, curve.low, curve.high)
    return Chart(
        "Error rate", described, Axis("Rows in the training set", left, right, ticks),
        Axis("Error rate", 0.0, min(1.0, 1.08 * top) or 1.0), tuple(strokes), (band,), (dots,),
        f"Band: {100 * curve.level:g} % for the mean test error ({curve.method}).", "wide", None,
        ("rows", "training error", "test error", "low", "high"),
        tuple(zip(*(column.tolist() for column in columns), strict=True)),
    )  # fmt: skip


# A learning curve as an Altair chart: both errors with their bands, and the fitted law beyond the largest size.

PARTS = ("test error", "training error")
LAW = "law, beyond what was seen"


def learning_chart(curve: LearningCurve) -> AnyChart:
    """Draw both errors over the size of the training set."""
    if np.isnan(curve.mean("test")).all():
        raise ValuesError("There is no learning curve to draw: no model was trained.", hint="see its notes.")
    import altair as alt

    points = _chart_points(curve)
    ahead = _ahead(curve)
    top = max(record["high"] for record in [*points, *ahead])
    x, y = _axes(curve, top)
    colour = alt.Color("part:N", sort=list(PARTS), legend=alt.Legend(title=None, symbolOpacity=1)).scale(
        domain=list(PARTS), range=list(COLOURS[:2])
    )
    place = {"x": alt.X("size:Q", **x), "color": colour}
    tips = [
        alt.Tooltip("part:N", title="part"),
        alt.Tooltip("size:Q", title="training rows", format=","),
        alt.Tooltip("error:Q", title="error", format=".4~g"),
        alt.Tooltip("low:Q", title="low", format=".4~g"),
        alt.Tooltip("high:Q", title="high", format=".4~g"),
    ]
    chart = alt.Chart(inline_data(points))
    layers: list[Any] = [
        chart.mark_area(opacity=0.15, aria=False).encode(**place, y=alt.Y("low:Q", **y), y2="high:Q"),
        chart.mark_line(strokeWidth=2, aria=False).encode(**place, y=alt.Y("error:Q", **y)),
        chart.mark_circle(size=32, opacity=1, aria=False).encode(**place, y=alt.Y("error:Q", **y), tooltip=tips),
    ]
    if ahead:
        beyond = alt.Chart(inline_data(ahead))
        here = {"x": alt.X("size:Q", **x)}
        layers += [
            beyond.mark_area(color=QUIET, opacity=0.12, aria=False).encode(**here, y=alt.Y("low:Q", **y), y2="high:Q"),
            beyond.mark_line(color=COLOURS[0], strokeWidth=1.5, strokeDash=[5, 4], aria=False).encode(
                **here, y=alt.Y("error:Q", **y), tooltip=tips
            ),
        ]
    words = [curve.verdict.partition(":")[0], f"Bands: {100 * curve.level:g} % of the test error, spread of training"]
    if ahead:
        words.append("Dashed: the fitted law, beyond what was seen")
    return finished_chart(alt.layer(*layers), "learning", f"Learning curve of {curve.name}", words, _description(curve))


def _chart_points(curve: LearningCurve) -> list[dict[str, Any]]:
    records = []
    for row in curve.rows():
        figures = [row["value"], row["low"], row["high"]]
        if all(isinstance(figure, float) and np.isfinite(figure) for figure in figures):
            named = dict(zip(("error", "low", "high"), figures, strict=True))
            records.append({"part": f"{row['part']} error", "size": row["size"], **named})
        elif isinstance(row["value"], float) and np.isfinite(row["value"]):
            # One draw has no spread.
            records.append(
                {"part": f"{row['part']} error", "size": row["size"]}
                | dict.fromkeys(("error", "low", "high"), row["value"])
            )
    return records


def _ahead(curve: LearningCurve) -> list[dict[str, Any]]:
    if curve.law.shape not in {"falling", "flat"}:
        return []
    sizes = np.geomspace(curve.sizes[-1], max(AHEAD * curve.n_rows, curve.sizes[-1] + 1), 40)
    law = curve.law.predict(sizes)
    low, high = (np.where(np.isnan(ends), law.value, ends) for ends in (law.low, law.high))
    columns = (sizes.tolist(), law.value.tolist(), low.tolist(), high.tolist())
    return [
        {"part": LAW, "size": size, "error": error, "low": bottom, "high": peak}
        for size, error, bottom, peak in zip(*columns, strict=True)
    ]


def _axes(curve: LearningCurve, top: float) -> tuple[dict[str, Any], dict[str, Any]]:
    import altair as alt

    last = AHEAD * curve.n_rows if curve.law.shape in {"falling", "flat"} else curve.sizes[-1]
    # Steps that multiply are equal steps on a logarithmic axis; with few sizes or equal steps, a plain one.
    steps = np.diff(curve.sizes)
    grows = len(steps) > 1 and steps[-1] > 1.5 * steps[0]
    scale = alt.Scale(type="log" if grows else "linear", domain=[curve.sizes[0], last], nice=False, zero=False)
    x = {"title": "Rows in the training set", "axis": alt.Axis(tickCount=6, format=","), "scale": scale}
    height = alt.Scale(domain=[0, min(1.0, 1.08 * top) or 1.0], nice=False)
    return x, {"title": "Error rate", "axis": alt.Axis(tickCount=6), "scale": height}


def _description(curve: LearningCurve) -> str:
    first, last = (percent(float(curve.mean("test")[at]), 1) for at in (0, -1))
    return (
        f"Learning curve of {curve.name}: error rate against the rows in the training set. The test error goes from "
        f"{first} at {curve.sizes[0]:,} rows to {last} at {curve.sizes[-1]:,}. {curve.verdict}"
    )


# What a learning curve says about more data, in a sentence.

# More than this many times the rows there are is more than most people can collect.
WITHIN_REACH = 3
POINT = 0.01


def verdict(law: PowerLaw, sizes: tuple[int, ...]) -> str:
    """Whether more data would help, and how much of it.

    >>> from heldout.resampling.power_law import fit_power_law
    >>> print(verdict(fit_power_law([10, 20, 40, 80], [[0.6, 0.35, 0.225, 0.1625]]), (10, 20, 40, 80)))
    More data would help: about 15 more rows for one point less error, beside the 80 there are.
    """
    if law.shape == "unknown":
        return f"Whether more data would help cannot be told: {law.undefined}."
    between = f"from {sizes[0]:,} to {sizes[-1]:,} rows"
    if law.shape == "rising":
        return f"More data does not help here: {between} the test error rises by {_points(law.slope)} per doubling."
    return _flat(law, between) if law.shape == "flat" else _falling(law, between)


def _falling(law: PowerLaw, between: str) -> str:
    now = law.at(law.present).value
    drop, words = (POINT, "one point less error") if now >= 2 * POINT else (now / 2, "half the error")
    rows = law.rows_for(drop)
    if math.isinf(rows.high) and rows.low <= WITHIN_REACH * law.present:
        # Laws that level off at once fit the curve as well as laws that fall on.
        return (
            f"Whether more data would help cannot be told: {between} the test error falls by {_points(law.slope, -1)} "
            f"per doubling, but beyond that {words} may take {_rounded(rows.low)} more rows, or never come, beside the "
            f"{law.present:,.0f} rows there are."
        )
    if rows.value <= WITHIN_REACH * law.present:
        return (
            f"More data would help: about {_rounded(rows.value)} more rows{_between(rows)} for {words}, "
            f"beside the {law.present:,.0f} there are."
        )
    if math.isinf(rows.value):
        return (
            f"More data will hardly help: the curve levels off at {number(law.floor.value)}{_shares(law.floor)}, "
            f"and with the {law.present:,.0f} rows there are the error is about {number(now)} already."
        )
    times = (rows.value + law.present) / law.present
    return (
        f"More data will hardly help: {words} would take about {_rounded(rows.value)} more rows{_between(rows)}, "
        f"{number(times, 'plain', 2)} times as many as there are."
    )


def _flat(law: PowerLaw, between: str) -> str:
    best = law.slope.low
    if math.isnan(best) or best > -POINT:
        reach = "" if math.isnan(best) else f", and a doubling would bring {number(max(-100 * best, 0), 'plain', 2)} "
        return (
            f"More data will hardly help: {between} the test error has not fallen beyond its noise"
            f"{reach + 'points at best' if reach else ''}."
        )
    return (
        f"Whether more data would help cannot be told: {between} the test error changes by {_points(law.slope)} per "
        "doubling, which may be chance."
    )


def _points(slope: Figure, sign: int = 1) -> str:
    """A change of the error in points; with a sign of -1, how much it falls."""
    value = f"{number(100 * sign * slope.value, 'plain', 2)} points"
    low, high = sorted((100 * sign * slope.low, 100 * sign * slope.high))
    return value if math.isnan(slope.low) else f"{value} [{limits(low, high, 'plain', 2)}]"


def _between(rows: Figure) -> str:
    return "" if math.isnan(rows.low) else f" [{_rounded(rows.low)} – {_rounded(rows.high)}]"


def _shares(figure: Figure) -> str:
    return "" if math.isnan(figure.low) else f" [{limits(figure.low, figure.high)}]"


def _rounded(rows: float) -> str:
    """Two digits are all that an extrapolation is good for."""
    if not math.isfinite(rows):
        return number(rows, "plain")
    whole = max(round(rows), 1)
    return f"{round(whole, 2 - len(str(whole))):,}"
