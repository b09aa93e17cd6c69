"""Cost curves: the expected cost of the best threshold, for every prevalence and ratio of costs."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from heldout.arrays import Floats
from heldout.curves.curve import Curve, Reference, Scale, hull_places
from heldout.curves.declare import curve, plot
from heldout.curves.roc import one_class, share, started
from heldout.evidence import Label
from heldout.evidence.ranking import Ranking

PC = Scale("probability_cost", "Probability cost PC(+): weight of the positives in the cost")
NE = Scale("normalized_expected_cost", "Normalized expected cost", 0.0, None)


def normalized_cost(tpr: ArrayLike, fpr: ArrayLike, probability_cost: ArrayLike) -> Floats:
    """Expected cost over the largest it could be: (1 − TPR − FPR) · PC(+) + FPR, a straight line for each threshold.

    PC(+) = p(+)C(−|+) / (p(+)C(−|+) + p(−)C(+|−)). Drummond & Holte (2006).

    >>> normalized_cost(np.array([0.8]), np.array([0.1]), np.array([0.0, 0.5, 1.0]))
    array([0.1 , 0.15, 0.2 ])
    """
    rates = np.asarray(tpr, dtype=np.float64), np.asarray(fpr, dtype=np.float64)
    return np.asarray(cost_formula(*rates, np.asarray(probability_cost)))


def cost_formula(tpr: Any, fpr: Any, probability_cost: Any) -> Any:
    """Normalized cost in plain arithmetic, of numbers, of arrays, or of symbols that write it down.

    >>> cost_formula(0.75, 0.25, 1.0)
    0.25
    """
    return (1 - tpr - fpr) * probability_cost + fpr


@curve(
    "cost", "Cost curve", PC, NE, shape="wide", bands=(),
    references=lambda _: (Reference("always no, always yes", (0.0, 0.5, 1.0), (0.0, 0.5, 0.0)),),
    line_name="the best threshold at each place",
    slider=lambda at: (at.probability_cost, cost_formula(at.tpr, at.fpr, at.probability_cost)), page="shown", rank=6,
)  # fmt: skip
def cost_curve(ranking: Ranking, *, positive: Label | None = None) -> Curve:
    """The cost curve: the lowest normalized expected cost of any threshold at every PC(+).

    Each vertex of the ROC hull is a line here, and the lower envelope of the lines is the curve; it has a point where
    the best threshold changes, with the threshold and the counts that are best to its right. The trivial classifiers,
    always no and always yes, make the triangle min(PC, 1 − PC).

    >>> curve = cost_curve(Ranking(np.array([0.9, 0.5]), np.array([3, 1]), np.array([1, 3])))
    >>> curve.x, curve.y
    (array([0.  , 0.25, 0.75, 1.  ]), array([0.  , 0.25, 0.25, 0.  ]))
    """
    undefined = one_class(ranking)
    tp, fp = started(ranking.tp), started(ranking.fp)
    thresholds = started(ranking.scores, np.inf)
    x = y = np.zeros(0)
    best = np.zeros(0, dtype=np.int64)
    if not undefined:
        best = hull_places(fp, tp)
        tpr, fpr = share(tp[best], ranking.n_positive), share(fp[best], ranking.n_negative)
        across, up = np.diff(fpr), np.diff(tpr)
        # Two lines cross where the slope of the hull between their points is (1 − PC) / PC.
        x = np.concatenate([[0.0], across / (across + up), [1.0]])
        # A line that is best at a single place only, at 0 or 1, makes no piece of the curve.
        pieces = np.flatnonzero(np.diff(x) > 0)
        x = np.append(x[pieces], 1.0)
        best = best[np.append(pieces, pieces[-1])]
        y = normalized_cost(share(tp[best], ranking.n_positive), share(fp[best], ranking.n_negative), x)
    return plot(
        "cost", ranking, x, y, threshold=thresholds[best], tp=tp[best], fp=fp[best],
        area=float("nan") if undefined else float(np.trapezoid(y, x)), area_name="mean normalized cost",
        positive=positive, undefined=undefined,
        notes=("The best threshold at each place is chosen on these cases, so the curve is optimistic for others.",),
    )  # fmt: skip
