"""Charts of ROC curves against each other: two with their crossings, their difference, many with their joint hull."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from heldout.curves.chart import ACCENT, COLOURS, QUIET, finished_chart, inline_data, overlay
from heldout.curves.roc import FPR, TPR
from heldout.errors import ValuesError
from heldout.show.numbers import share

if TYPE_CHECKING:
    from heldout.comparisons.optimal_ranges import OptimalRanges
    from heldout.comparisons.roc_pair import RocComparison
    from heldout.curves.chart import AnyChart

HULL = "#444444"


def pair_chart(found: RocComparison) -> AnyChart:
    """Both ROC curves, with dots where their convex hulls cross."""
    _must_draw(found)
    points = [
        {"x": at.fpr, "y": at.tpr, "before": found.name_of(at.before), "after": found.name_of(at.after)}
        for at in found.hull_crossings
    ]
    words = found.verdict.partition(" The curves themselves")[0]
    return _laid_over(overlay(found.curves, found.names), [_crossing_dots(points)] if points else [], words)


def difference_chart(found: RocComparison) -> AnyChart:
    """A's true positive rate less B's over the false positive rates, with its band."""
    _must_draw(found)
    import altair as alt

    columns = (found.fpr, found.difference, found.low, found.high)
    records = [
        dict(zip(("x", "y", "low", "high"), row, strict=True))
        for row in zip(*(column.tolist() for column in columns), strict=True)
    ]
    reach = max(0.05, float(np.abs([found.low, found.high]).max()) * 1.05)
    x = alt.X("x:Q", title=FPR.title, axis=alt.Axis(tickCount=6), scale=alt.Scale(domain=[0, 1], nice=False))
    up: dict[str, Any] = {
        "title": f"TPR of {found.names[0]} − TPR of {found.names[1]}",
        "axis": alt.Axis(tickCount=6),
        "scale": alt.Scale(domain=[-reach, reach], nice=False),
    }
    chart = alt.Chart(inline_data(records))
    tips = [
        alt.Tooltip("x:Q", title="false positive rate", format=".4~g"),
        alt.Tooltip("y:Q", title="difference", format=".4~g"),
        alt.Tooltip("low:Q", title="low", format=".4~g"),
        alt.Tooltip("high:Q", title="high", format=".4~g"),
    ]
    none = alt.Chart(inline_data([{"x": 0.0, "y": 0.0}, {"x": 1.0, "y": 0.0}]))
    layers: list[Any] = [
        none.mark_line(color=QUIET, strokeWidth=1, strokeDash=[4, 4], aria=False).encode(x=x, y=alt.Y("y:Q", **up)),
        chart.mark_area(color=ACCENT, opacity=0.15, aria=False).encode(x=x, y=alt.Y("low:Q", **up), y2="high:Q"),
        chart.mark_line(color=ACCENT, strokeWidth=2, aria=False).encode(x=x, y=alt.Y("y:Q", **up)),
        chart.mark_circle(color=ACCENT, size=90, opacity=0, aria=False).encode(x=x, y=alt.Y("y:Q", **up), tooltip=tips),
    ]
    title = f"{found.names[0]} against {found.names[1]}"
    words = [
        f"Above 0 {found.names[0]} finds more positives at the same false positive rate",
        f"Band: {100 * found.level:g} % at each place ({found.replicates:,} paired bootstraps)",
    ]
    description = (
        f"{title}: difference of the true positive rates against the false positive rate. It lies between "
        f"{share(float(found.difference.min()))} and {share(float(found.difference.max()))}. {found.verdict}"
    )
    return finished_chart(alt.layer(*layers), "difference", title, words, description)


def ranges_chart(found: OptimalRanges) -> AnyChart:
    """The ROC curves of all models, and the convex hull of them together."""
    import altair as alt

    records = [{"x": point.fpr, "y": point.tpr, "order": at} for at, point in enumerate(found.hull)]
    place = {"x": alt.X("x:Q", title=FPR.title), "y": alt.Y("y:Q", title=TPR.title)}
    hull = (
        alt.Chart(inline_data(records))
        .mark_line(color=HULL, strokeWidth=1.5, strokeDash=[6, 3], aria=False)
        .encode(**place, order="order:O")
    )
    best = [
        {"x": point.fpr, "y": point.tpr, "model": part.model, "pc": f"{share(part.pc_low)} to {share(part.pc_high)}"}
        for part in found.ranges
        for point in part.points
    ]
    tips = [
        alt.Tooltip("model:N", title="cheapest"),
        alt.Tooltip("pc:N", title="for PC(+)"),
        alt.Tooltip("x:Q", title="false positive rate", format=".4~g"),
        alt.Tooltip("y:Q", title="recall", format=".4~g"),
    ]
    dots = (
        alt.Chart(inline_data(best))
        .mark_circle(color=HULL, size=36, opacity=1, aria=False)
        .encode(**place, tooltip=tips)
    )
    shown, names = found.curves[: len(COLOURS)], found.names[: len(COLOURS)]
    more = len(found.curves) - len(shown)
    words = f"Dashed: the convex hull of all models{f'; {more} more are not drawn' if more else ''}"
    return _laid_over(overlay(shown, names), [hull, dots], words, found.verdict)


def _crossing_dots(points: list[dict[str, Any]]) -> Any:
    import altair as alt

    tips = [
        alt.Tooltip("before:N", title="better below"),
        alt.Tooltip("after:N", title="better above"),
        alt.Tooltip("x:Q", title="false positive rate", format=".4~g"),
        alt.Tooltip("y:Q", title="recall", format=".4~g"),
    ]
    return (
        alt.Chart(inline_data(points))
        .mark_point(color=HULL, filled=True, size=60, opacity=1, shape="diamond", aria=False)
        .encode(x=alt.X("x:Q", title=FPR.title), y=alt.Y("y:Q", title=TPR.title), tooltip=tips)
    )


def _laid_over(chart: AnyChart, layers: list[Any], words: str, description: str = "") -> AnyChart:
    """More layers on a finished chart, with a line below its title and more in its description."""
    import altair as alt

    made: AnyChart = chart.copy(deep=True)
    made.layer = [*made.layer, *layers]
    made.title = alt.TitleParams(
        text=f"{made.title.text}s", subtitle=_broken(words), anchor="start", offset=12, fontSize=15, subtitleColor=QUIET
    )
    made.description = f"{made.description} {description or words}"
    return made


def _broken(words: str, most: int = 70) -> list[str]:
    """A sentence in lines that fit above a square chart and its legend."""
    lines = [""]
    for word in words.split():
        if lines[-1] and len(lines[-1]) + len(word) >= most:
            lines.append("")
        lines[-1] = f"{lines[-1]} {word}".strip()
    return lines


def _must_draw(found: RocComparison) -> None:
    if found.undefined:
        raise ValuesError(
            f"There are no ROC curves to draw: {found.undefined}.",
            hint="check the labels and which class is positive.",
        )
