"""A learning curve as an Altair chart: both errors with their bands, and the fitted law beyond the largest size."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from heldout.curves.chart import COLOURS, QUIET, finished_chart, inline_data
from heldout.errors import ValuesError
from heldout.show.numbers import percent

if TYPE_CHECKING:
    from heldout.curves.chart import AnyChart
    from heldout.resampling.learning import LearningCurve

PARTS = ("test error", "training error")
LAW = "law, beyond what was seen"
# The law is drawn to this many times the rows there are: farther, it would be a guess.
AHEAD = 2


def learning_chart(curve: LearningCurve) -> AnyChart:
    """Draw both errors over the size of the training set."""
    if np.isnan(curve.mean("test")).all():
        raise ValuesError("There is no learning curve to draw: no model was trained.", hint="see its notes.")
    import altair as alt

    points = _points(curve)
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


def _points(curve: LearningCurve) -> list[dict[str, Any]]:
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
