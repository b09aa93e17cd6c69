"""Cumulative gain and lift: how much is found by looking at the highest scores first."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from heldout.curves.bands import check_bands
from heldout.curves.curve import Curve, Reference, Scale
from heldout.curves.roc import share, started
from heldout.curves.thresholds import between_points, count_band
from heldout.evidence import Label
from heldout.evidence.ranking import Ranking
from heldout.measures.catalogue import find
from heldout.measures.counts import NO_POSITIVES

SELECTED = Scale("predicted_positive_rate", "Share of the cases selected, highest scores first")
GAIN = Scale("recall", "Share of the positives found")
LIFT = Scale("lift", "Lift (times as many positives as by chance)", 0.0, None, style="plain")


def gain(
    ranking: Ranking, bands: str | None = "pointwise", *, level: float = 0.95, positive: Label | None = None
) -> Curve:
    """The cumulative gains chart: the share of the positives found in the highest-scored share of the cases.

    >>> curve = gain(Ranking(np.array([0.9, 0.5]), np.array([3, 1]), np.array([1, 5])), bands=None)
    >>> curve.x, curve.y
    (array([0. , 0.4, 1. ]), array([0.  , 0.75, 1.  ]))
    """
    kind = check_bands(bands, ("pointwise",))
    undefined = "" if ranking.n_positive > 0 else NO_POSITIVES
    tp, fp = started(ranking.tp), started(ranking.fp)
    x, y = share(tp + fp, ranking.n), share(tp, ranking.n_positive)
    thresholds = started(ranking.scores, np.inf)
    band = None
    if kind is not None and not undefined:
        band = replace(count_band(ranking, find("recall"), thresholds, level=level), x=x)
    prevalence = ranking.n_positive / ranking.n if ranking.n > 0 else float("nan")
    references = (
        Reference("chance", (0.0, 1.0), (0.0, 1.0)),
        Reference("perfect", (0.0, prevalence, 1.0), (0.0, 1.0, 1.0)),
    )
    return Curve(
        "gain", "Cumulative gains", SELECTED, GAIN, x, y, ranking.n_positive, ranking.n_negative,
        threshold=thresholds, tp=tp, fp=fp, band=band,
        area=float("nan") if undefined else float(np.trapezoid(y, x)), area_name="area under the curve",
        references=references, positive=positive, undefined=undefined,
        between=between_points(ranking),
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
    kind = check_bands(bands, ("pointwise",))
    undefined = "" if ranking.n_positive > 0 else NO_POSITIVES
    found = ranking.tp + ranking.fp
    prevalence = ranking.n_positive / ranking.n if ranking.n > 0 and not undefined else float("nan")
    precision = np.divide(ranking.tp, found, out=np.full(len(ranking), np.nan), where=found > 0)
    x = share(found, ranking.n)
    band = None
    if kind is not None and not undefined:
        made = count_band(ranking, find("precision"), ranking.scores, level=level)
        band = replace(made, x=x, low=made.low / prevalence, high=made.high / prevalence)
    return Curve(
        "lift", "Lift curve", SELECTED, LIFT, x, precision / prevalence, ranking.n_positive, ranking.n_negative,
        threshold=ranking.scores, tp=ranking.tp, fp=ranking.fp, band=band,
        references=(Reference("chance", (0.0, 1.0), (1.0, 1.0)),), positive=positive, undefined=undefined,
        between=between_points(ranking),
    )  # fmt: skip
