"""Precision against recall, and the interpolation between its points that can be reached."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from heldout.curves.curve import ABSENT, Curve, Reference, Scale
from heldout.curves.declare import check_bands, curve, plot
from heldout.curves.roc import TPR, share
from heldout.curves.threshold_counts import count_band
from heldout.errors import OptionError
from heldout.evidence import Label
from heldout.evidence.ranking import Ranking
from heldout.measures.catalogue import find
from heldout.measures.counts import NO_POSITIVES
from heldout.measures.quantity import Bound
from heldout.measures.ranking import average_precision, pr_area

RECALL = Scale(TPR.name, "Recall (true positive rate)")
PRECISION = Scale("precision", "Precision (positive predictive value)")
# An interpolation with more points than this is coarser than one point per positive.
MOST_POINTS = 200_000
# A drawing needs no more points than its width has pixels.
DRAWN_POINTS = 4000


@curve(
    "precision_recall", "Precision-recall curve", RECALL, PRECISION, aliases=("pr",),
    variants=("precision_recall_interpolated",),
    references=lambda prevalence: (Reference("prevalence", (0.0, 1.0), (prevalence, prevalence)),),
    line=lambda curve: interpolated(curve, DRAWN_POINTS),
    slider=lambda at: (at.tpr, at.precision), page="shown", per_score=True, rank=2,
)  # fmt: skip
def precision_recall(
    ranking: Ranking, bands: str | None = "pointwise", *, level: float = 0.95, positive: Label | None = None
) -> Curve:
    """Precision against recall, one point per distinct score, from the highest score down.

    There is no point at recall 0: with nothing predicted positive precision is undefined, and none is invented. The
    area is the average precision, a sum over the points without interpolation. The limits are those of precision at the
    threshold of each point.

    >>> curve = precision_recall(Ranking(np.array([0.9, 0.5]), np.array([1, 1]), np.array([0, 2])), bands=None)
    >>> curve.x, curve.y, curve.area
    (array([0.5, 1. ]), array([1. , 0.5]), 0.75)
    """
    kind = check_bands("precision_recall", bands)
    undefined = "" if ranking.n_positive > 0 else NO_POSITIVES
    selected = ranking.tp + ranking.fp
    x = share(ranking.tp, ranking.n_positive)
    y = np.divide(ranking.tp, selected, out=np.full(len(ranking), np.nan), where=selected > 0)
    band = None
    if kind is not None and not undefined:
        band = replace(count_band(ranking, find("precision"), ranking.scores, level=level), x=x)
    area = float(Bound(average_precision).value({"ranking": ranking}))
    return plot(
        "precision_recall", ranking, x, y, threshold=ranking.scores, tp=ranking.tp, fp=ranking.fp, band=band,
        area=area, area_name="average precision", positive=positive, undefined=undefined,
    )  # fmt: skip


def interpolated(curve: Curve, most: int = MOST_POINTS) -> Curve:
    """The precision-recall curve with the points between its points, one for each further positive found.

    Between two thresholds TP and FP grow in proportion, which bends precision: a straight line would promise too much
    (Davis & Goadrich 2006). The area is that under the bent curve. Limits stay with the points that thresholds reach.

    >>> seen = Ranking(np.array([0.9, 0.5, 0.1]), np.array([5, 5, 10]), np.array([5, 25, 1970]))
    >>> interpolated(precision_recall(seen)).y[4:10].round(3)
    array([0.5  , 0.375, 0.318, 0.286, 0.265, 0.25 ])
    """
    if curve.kind != "precision_recall":
        raise OptionError(
            f"Only a precision-recall curve is interpolated in this way; this is a {curve.title}.",
            hint="pass precision_recall(ranking).",
        )
    if curve.undefined or not len(curve):
        return curve
    tp = np.concatenate([[0.0], curve.tp])
    fp = np.concatenate([[0.0], curve.fp])
    step = max(1.0, tp[-1] / most)
    # One more point for each step of TP, and always the end of the piece itself.
    pieces = np.maximum(np.ceil(np.diff(tp) / step - 1e-9), 1).astype(np.int64)
    piece = np.repeat(np.arange(len(pieces)), pieces)
    ends = np.cumsum(pieces)
    nth = np.arange(ends[-1]) - np.repeat(ends - pieces, pieces) + 1
    gained = np.diff(tp)[piece]
    part = np.ones(len(piece))
    np.divide(nth * step, gained, out=part, where=gained > 0)
    part[ends - 1] = 1.0
    true, false = tp[piece] + part * gained, fp[piece] + part * np.diff(fp)[piece]
    x, y = true / curve.n_positive, true / np.where(true + false > 0, true + false, np.nan)
    return replace(
        curve, kind="precision_recall_interpolated", title="Precision-recall curve, interpolated", x=x, y=y,
        threshold=np.where(part == 1, curve.threshold[piece], np.nan), tp=true, fp=false,
        band=None, low=ABSENT, high=ABSENT,
        area=float(Bound(pr_area).value({"ranking": _ranking(curve)})), area_name="area under the interpolated curve",
    )  # fmt: skip


def _ranking(curve: Curve) -> Ranking:
    """The evidence behind a curve."""
    positives, negatives = (np.diff(sums, prepend=sums.dtype.type(0)) for sums in (curve.tp, curve.fp))
    weighted = positives.dtype.kind == "f"
    squares = (positives**2, negatives**2) if weighted else (None, None)
    return Ranking(curve.threshold, positives, negatives, *squares)
