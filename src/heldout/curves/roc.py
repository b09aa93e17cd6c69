"""ROC and DET curves: the two rates of error against each other."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from heldout.arrays import Floats
from heldout.curves.bands import roc_band
from heldout.curves.curve import ABSENT, BandKind, Curve, Reference, Scale
from heldout.curves.declare import check_bands, curve, plot
from heldout.evidence import Label
from heldout.evidence.ranking import Ranking
from heldout.measures.counts import NO_NEGATIVES, NO_POSITIVES
from heldout.measures.quantity import Bound
from heldout.measures.ranking import roc_auc

FPR = Scale("false_positive_rate", "False positive rate (1 − specificity)")
TPR = Scale("recall", "True positive rate (recall)")
DEVIATES = Scale(FPR.name, "False alarms: share of the negatives", drawn="probit")
MISSES = Scale("false_negative_rate", "Misses: share of the positives", drawn="probit")
CHANCE = Reference("chance", (0.0, 1.0), (0.0, 1.0))
BANDS: tuple[BandKind, ...] = ("pointwise", "simultaneous")


def one_class(ranking: Ranking) -> str:
    """Why rates of both classes do not exist, or nothing.

    >>> one_class(Ranking(np.array([0.5]), np.array([2]), np.array([0])))
    'there are no actual negatives'
    """
    if ranking.n_positive <= 0:
        return NO_POSITIVES
    return NO_NEGATIVES if ranking.n_negative <= 0 else ""


def share(counts: NDArray[Any], total: float) -> Floats:
    """Counts over their total, nan where there is none."""
    return np.asarray(counts / total if total > 0 else np.full(len(counts), np.nan), dtype=np.float64)


def started(values: NDArray[Any], first: float = 0) -> NDArray[Any]:
    """The values with the start of a curve before them: nothing is predicted positive yet."""
    return np.concatenate([np.array([first], dtype=values.dtype), values])


@curve(
    "roc", "ROC curve", FPR, TPR, variants=("roc_hull",), bands=BANDS, references=lambda _: (CHANCE,),
    slider=lambda at: (at.fpr, at.tpr), page="shown", per_score=True, rank=1,
)  # fmt: skip
def roc(
    ranking: Ranking,
    bands: str | None = "pointwise",
    *,
    level: float = 0.95,
    seed: int = 0,
    positive: Label | None = None,
) -> Curve:
    """The ROC curve: TPR against FPR, from (0, 0) through one point per distinct score to (1, 1).

    Cases with equal scores make one slanted step, which is what breaking ties at random gives on average. "pointwise"
    bands hold at any one false positive rate, "simultaneous" bands everywhere at once.

    >>> curve = roc(Ranking(np.array([0.9, 0.5, 0.1]), np.array([2, 1, 1]), np.array([0, 2, 2])))
    >>> curve.y, curve.x, curve.area
    (array([0.  , 0.5 , 0.75, 1.  ]), array([0. , 0. , 0.5, 1. ]), 0.75)
    """
    kind = check_bands("roc", bands)
    undefined = one_class(ranking)
    tp, fp = started(ranking.tp), started(ranking.fp)
    x, y = share(fp, ranking.n_negative), share(tp, ranking.n_positive)
    band, low, high = None, ABSENT, ABSENT
    if kind is not None and not undefined:
        band, low, high = roc_band(ranking, kind, level, seed)
    return plot(
        "roc", ranking, x, y, threshold=started(ranking.scores, np.inf), tp=tp, fp=fp, low=low, high=high, band=band,
        area=float(Bound(roc_auc).value({"ranking": ranking})), area_name="area under the curve",
        positive=positive, undefined=undefined,
    )  # fmt: skip


@curve(
    "det", "DET curve", DEVIATES, MISSES, bands=BANDS,
    references=lambda _: (Reference("chance", (0.0, 1.0), (1.0, 0.0)),), rank=3,
)  # fmt: skip
def det(
    ranking: Ranking,
    bands: str | None = "pointwise",
    *,
    level: float = 0.95,
    seed: int = 0,
    positive: Label | None = None,
) -> Curve:
    """The detection error trade-off: misses against false alarms, drawn on axes of normal deviates.

    Normal scores give a straight line there (Martin et al. 1997). Rates of exactly 0 and 1 have no place on such axes:
    they are among the points and not in the chart.

    >>> curve = det(Ranking(np.array([0.9, 0.1]), np.array([3, 1]), np.array([1, 4])), bands=None)
    >>> curve.x, curve.y
    (array([0. , 0.2, 1. ]), array([1.  , 0.25, 0.  ]))
    """
    rates = roc(ranking, bands, level=level, seed=seed, positive=positive)
    band = rates.band
    if band is not None:
        band = replace(band, low=1 - band.high, high=1 - band.low)
    return plot(
        "det", ranking, rates.x, 1 - rates.y, threshold=rates.threshold, tp=rates.tp, fp=rates.fp,
        low=1 - rates.high, high=1 - rates.low, band=band, positive=positive, undefined=rates.undefined,
    )  # fmt: skip
