"""Cumulative gain and lift: how much is found by looking at the highest scores first."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from heldout.curves.curve import Curve, Reference, Scale
from heldout.curves.declare import check_bands, curve, plot
from heldout.curves.roc import CHANCE, share, started
from heldout.curves.threshold_counts import count_band
from heldout.evidence import Label
from heldout.evidence.ranking import Ranking
from heldout.measures.catalogue import find
from heldout.measures.counts import NO_POSITIVES

SELECTED = Scale("predicted_positive_rate", "Share of the cases selected, highest scores first")
GAIN = Scale("recall", "Share of the positives found")
LIFT = Scale("lift", "Lift (times as many positives as by chance)", 0.0, None, style="plain")


@curve(
    "gain", "Cumulative gains", SELECTED, GAIN,
    references=lambda prevalence: (CHANCE, Reference("perfect", (0.0, prevalence, 1.0), (0.0, 1.0, 1.0))),
    slider=lambda at: (at.selected / at.n, at.tpr), page="folded", per_score=True, rank=4,
)  # fmt: skip
def gain(
    ranking: Ranking, bands: str | None = "pointwise", *, level: float = 0.95, positive: Label | None = None
) -> Curve:
    """The cumulative gains chart: the share of the positives found in the highest-scored share of the cases.

    >>> curve = gain(Ranking(np.array([0.9, 0.5]), np.array([3, 1]), np.array([1, 5])), bands=None)
    >>> curve.x, curve.y
    (array([0. , 0.4, 1. ]), array([0.  , 0.75, 1.  ]))
    """
    kind = check_bands("gain", bands)
    undefined = "" if ranking.n_positive > 0 else NO_POSITIVES
    tp, fp = started(ranking.tp), started(ranking.fp)
    x, y = share(tp + fp, ranking.n), share(tp, ranking.n_positive)
    thresholds = started(ranking.scores, np.inf)
    band = None
    if kind is not None and not undefined:
        band = replace(count_band(ranking, find("recall"), thresholds, level=level), x=x)
    return plot(
        "gain", ranking, x, y, threshold=thresholds, tp=tp, fp=fp, band=band,
        area=float("nan") if undefined else float(np.trapezoid(y, x)), area_name="area under the curve",
        positive=positive, undefined=undefined,
    )  # fmt: skip


@curve(
    "lift", "Lift curve", SELECTED, LIFT, shape="wide",
    references=lambda _: (Reference("chance", (0.0, 1.0), (1.0, 1.0)),),
    slider=lambda at: (at.selected / at.n, at.precision / (at.positives / at.n)), page="folded", per_score=True, rank=5,
)  # fmt: skip
def lift(
    ranking: Ranking, bands: str | None = "pointwise", *, level: float = 0.95, positive: Label | None = None
) -> Curve:
    """Lift: how many times as many positives as by chance are among the highest-scored share of the cases.

    It is precision over prevalence; its limits are those of precision, the prevalence taken as known. Nothing selected
    has no lift, so there is no point at 0.

    >>> curve = lift(Ranking(np.array([0.9, 0.5]), np.array([3, 1]), np.array([1, 5])), bands=None)
    >>> curve.x, curve.y
    (array([0.4, 1. ]), array([1.875, 1.   ]))
    """
    kind = check_bands("lift", bands)
    undefined = "" if ranking.n_positive > 0 else NO_POSITIVES
    selected = ranking.tp + ranking.fp
    prevalence = ranking.n_positive / ranking.n if ranking.n > 0 and not undefined else float("nan")
    precision = np.divide(ranking.tp, selected, out=np.full(len(ranking), np.nan), where=selected > 0)
    x = share(selected, ranking.n)
    band = None
    if kind is not None and not undefined:
        limits = count_band(ranking, find("precision"), ranking.scores, level=level)
        band = replace(limits, x=x, low=limits.low / prevalence, high=limits.high / prevalence)
    return plot(
        "lift", ranking, x, precision / prevalence, threshold=ranking.scores, tp=ranking.tp, fp=ranking.fp, band=band,
        positive=positive, undefined=undefined,
    )  # fmt: skip
