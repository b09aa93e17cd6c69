"""Charts of ROC curves against each other: two with their crossings, their difference, many with their joint hull."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from heldout.curves.chart import TONES, overlay
from heldout.curves.roc import FPR
from heldout.errors import ValuesError
from heldout.show.chart import Axis, Chart, Dots, Ribbon, Stroke, Tips
from heldout.show.numbers import share

if TYPE_CHECKING:
    from heldout.comparisons.optimal_ranges import OptimalRanges
    from heldout.comparisons.roc_pair import RocComparison


def draw_pair(pair: RocComparison, *, difference: bool = False) -> Chart:
    """Both ROC curves, with dots where their convex hulls cross; or their difference."""
    if pair.undefined:
        raise ValuesError(
            f"There are no ROC curves to draw: {pair.undefined}.",
            hint="check the labels and which class is positive.",
        )
    if difference:
        return draw_difference(pair)
    crossings = pair.hull_crossings
    x, y = tuple(at.fpr for at in crossings), tuple(at.tpr for at in crossings)
    tips = Tips(x, y, (
        ("better below", tuple(pair.name_of(at.before) for at in crossings)),
        ("better above", tuple(pair.name_of(at.after) for at in crossings)),
        ("false positive rate", x), ("recall", y),
    ))  # fmt: skip
    words = pair.verdict.partition(" The curves themselves")[0]
    return _add_dots(overlay(pair.curves, pair.names), Dots(x, y, name="hulls cross", tone="ink"), tips, words)


def draw_difference(pair: RocComparison) -> Chart:
    """A's true positive rate less B's over the false positive rates, with its band."""
    columns = (pair.fpr, pair.difference, pair.low, pair.high)
    x, y, low, high = (tuple(column.tolist()) for column in columns)
    reach = max(0.05, float(np.abs([pair.low, pair.high]).max()) * 1.05)
    title = f"{pair.names[0]} against {pair.names[1]}"
    named = (("false positive rate", x), ("difference", y), ("low", low), ("high", high))
    return Chart(
        title,
        f"{title}: difference of the true positive rates against the false positive rate. It lies between "
        f"{share(float(pair.difference.min()))} and {share(float(pair.difference.max()))}. {pair.verdict}",
        Axis(FPR.title), Axis(f"TPR of {pair.names[0]} − TPR of {pair.names[1]}", -reach, reach),
        (Stroke((0.0, 1.0), (0.0, 0.0), "", "quiet", dashed=True), Stroke(x, y)), (Ribbon(x, low, high),),
        detail=f"Above 0 {pair.names[0]} finds more positives at the same false positive rate. "
        f"Band: {100 * pair.level:g} % at each place ({pair.replicates:,} paired bootstraps).",
        shape="wide", tips=(Tips(x, y, named),),
    )  # fmt: skip


def draw_ranges(ranges: OptimalRanges) -> Chart:
    """The ROC curves of all models, and the convex hull of them together."""
    best = [(point, part) for part in ranges.ranges for point in part.points]
    x, y = tuple(point.fpr for point, _ in best), tuple(point.tpr for point, _ in best)
    tips = Tips(x, y, (
        ("cheapest", tuple(part.model for _, part in best)),
        ("for PC(+)", tuple(f"{share(part.pc_low)} to {share(part.pc_high)}" for _, part in best)),
        ("false positive rate", x), ("recall", y),
    ))  # fmt: skip
    shown = len(TONES)
    more = len(ranges.curves) - shown
    name = f"convex hull of all models{f'; {more} more are not drawn' if more > 0 else ''}"
    corners = tuple(at.fpr for at in ranges.hull), tuple(at.tpr for at in ranges.hull)
    hull = Stroke(corners[0], corners[1], name, "ink", dashed=True)
    chart = _add_dots(
        overlay(ranges.curves[:shown], ranges.names[:shown]), Dots(x, y, tone="ink"), tips, ranges.verdict
    )
    return replace(chart, strokes=(*chart.strokes, hull))


def _add_dots(chart: Chart, dots: Dots, tips: Tips, words: str) -> Chart:
    """Dots on a chart of several curves, with words below its title and in its description."""
    return replace(
        chart, title=f"{chart.title}s", description=f"{chart.description} {words}", detail=f"{words} {chart.detail}",
        dots=(dots,) if dots.x else (), tips=(*chart.tips, tips) if dots.x else chart.tips,
    )  # fmt: skip
