"""Decision and cost curves: the net benefit of acting on the scores, and the expected cost of the best threshold."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from heldout.arguments import check_level
from heldout.arrays import Floats
from heldout.curves.curve import Band, Curve, Reference, Scale, hull_places
from heldout.curves.declare import check_bands, curve, plot
from heldout.curves.roc import one_class, share, started
from heldout.curves.threshold_counts import Thresholds, counts_at, places, settled_grid, threshold_grid
from heldout.errors import OptionError, ValuesError
from heldout.evidence import Label
from heldout.evidence.ranking import Ranking
from heldout.intervals.quantiles import t_value
from heldout.intervals.score_limits import many_cost_limits
from heldout.measures.declare import NO_CASES

THRESHOLD = Scale("threshold", "Threshold probability")
NET = Scale("net_benefit", "Net benefit (true positives per case)", None, None)
GRID = tuple((np.arange(1, 100) / 100).tolist())


def net_benefit(tp: ArrayLike, fp: ArrayLike, n: float, threshold: ArrayLike) -> Floats:
    """TP/n − FP/n · t/(1 − t): a false alarm weighs what the threshold says it weighs. Vickers & Elkin (2006).

    >>> round(float(net_benefit(30, 20, 100, 0.2)), 4)
    0.25
    """
    return np.asarray(net_formula(np.asarray(tp), np.asarray(fp), n, np.asarray(threshold, dtype=np.float64)))


def net_formula(tp: Any, fp: Any, n: Any, threshold: Any) -> Any:
    """Net benefit in plain arithmetic, of numbers, of arrays, or of symbols that write it down.

    >>> net_formula(30, 20, 100, 0.2)
    0.25
    """
    return (tp - fp * threshold / (1 - threshold)) / n


def refuse_scores(ranking: Ranking, what: str) -> None:
    """Refuse scores outside [0, 1] where probabilities are needed."""
    if len(ranking) and (ranking.scores[0] > 1 or ranking.scores[-1] < 0):
        worst = ranking.scores[0] if ranking.scores[0] > 1 else ranking.scores[-1]
        raise ValuesError(
            f"A {what} needs probabilities, and the scores leave [0, 1]: one is {worst:g}.",
            hint="give probabilities of the positive class, or calibrate the scores first.",
        )


def useful_range(curves: Sequence[Curve]) -> tuple[float, float]:
    """The net benefits worth drawing: treat-all falls without limit, and far below zero nobody looks."""
    top = max(float(np.fmax(curve.y, curve.high).max()) for curve in curves)
    top = max(top, *(max(line.y) for curve in curves for line in curve.references), 0.01)
    return -0.2 * top, 1.05 * top


@curve(
    "decision", "Decision curve", THRESHOLD, NET, shape="wide", y_range=useful_range,
    slider=lambda at: (at.threshold, net_formula(at.tp, at.fp, at.n, at.threshold)),
    page="shown", needs_probabilities=True, rank=7,
)  # fmt: skip
def decision_curve(
    ranking: Ranking,
    thresholds: Thresholds = GRID,
    bands: str | None = "pointwise",
    *,
    level: float = 0.95,
    positive: Label | None = None,
) -> Curve:
    """Net benefit against the threshold probability, with treat-all and treat-none beside it.

    The scores must be probabilities: the threshold is both the cut and the exchange rate of false alarms for hits. The
    limits are the score interval of a mean whose possible values are known: 1, 0 and −t/(1 − t). Thresholds inside a
    bin of scores that were counted together are moved to its nearest edge.

    >>> seen = Ranking(np.array([0.9, 0.3]), np.array([30, 10]), np.array([20, 40]))
    >>> decision_curve(seen, [0.2, 0.5], bands=None).y
    array([0.25, 0.1 ])
    """
    kind = check_bands("decision", bands)
    level = check_level(level)
    refuse_scores(ranking, "decision curve")
    grid = np.sort(threshold_grid(ranking, thresholds))
    if isinstance(thresholds, str | int):
        grid = grid[(grid > 0) & (grid < 1)]
    if ((grid < 0) | (grid >= 1)).any():
        raise OptionError(
            f"A threshold probability lies in [0, 1). Got {grid[-1] if grid[-1] >= 1 else grid[0]:g}.",
            hint="at 1 a false alarm would weigh infinitely much; end at 0.99.",
        )
    grid, moved = settled_grid(ranking, grid, (0.0, 1.0))
    undefined = "" if ranking.n > 0 else NO_CASES
    tp, fp = counts_at(ranking, grid)
    y = net_benefit(tp, fp, ranking.n, grid) if not undefined else np.full(len(grid), np.nan)
    band = None if undefined or kind is None else _band(ranking, tp, fp, grid, level)
    everyone = net_benefit(ranking.n_positive, ranking.n_negative, ranking.n or 1, grid)
    return plot(
        "decision", ranking, grid, y, threshold=grid, tp=tp, fp=fp, band=band, positive=positive, undefined=undefined,
        references=(
            Reference("treat all", tuple(grid.tolist()), tuple(everyone.tolist())),
            Reference("treat none", (0.0, 1.0), (0.0, 0.0)),
        ),
        notes=(moved,) if moved else (),
    )  # fmt: skip


def _band(ranking: Ranking, tp: NDArray[Any], fp: NDArray[Any], grid: Floats, level: float) -> Band:
    odds = grid / (1 - grid)
    values = np.stack([np.ones(len(grid)), np.zeros(len(grid)), -odds], axis=1)
    if ranking.groups is not None:
        each = [_group_limits(ranking, t, row, level) for t, row in zip(grid.tolist(), values, strict=True)]
        low, high = (np.array(side, dtype=np.float64) for side in zip(*each, strict=True))
    else:
        counts = np.stack([tp, ranking.n - tp - fp, fp], axis=1).astype(np.float64)
        scales = _scales(ranking, tp, fp, grid)
        low, high = many_cost_limits(values, np.maximum(counts, 0.0) * scales[:, None], level)
    name = "score"
    if ranking.groups is not None:
        name = "cluster-robust t"
    elif ranking.weighted:
        name = "score, effective n"
    return Band("pointwise", name, level, grid, low, high)


def _scales(ranking: Ranking, tp: NDArray[Any], fp: NDArray[Any], grid: Floats) -> Floats:
    """What to multiply weighted counts by: the smaller of Kish's effective number and the linearised one."""
    if ranking.positive_squares is None or ranking.negative_squares is None:
        return np.ones(len(grid))
    reached = places(ranking, grid)
    squares = [started_sum(values)[reached] for values in (ranking.positive_squares, ranking.negative_squares)]
    total = float(ranking.positive_squares.sum() + ranking.negative_squares.sum())
    n, odds = ranking.n, grid / (1 - grid)
    mean = net_benefit(tp, fp, n, grid)
    gaps = [(1 - mean) ** 2, (odds + mean) ** 2, mean**2]
    plain = (tp * gaps[0] + fp * gaps[1] + (n - tp - fp) * gaps[2]) / n
    spread = (squares[0] * gaps[0] + squares[1] * gaps[1] + (total - squares[0] - squares[1]) * gaps[2]) / n**2
    kish = n**2 / total
    linear = np.divide(plain, spread, out=np.full(len(grid), kish), where=spread > 0)
    return np.asarray(np.minimum(kish, linear) / n)


def started_sum(values: Floats) -> Floats:
    """Running sums that begin with nothing."""
    return np.concatenate([[0.0], np.cumsum(values)])


def _group_limits(ranking: Ranking, threshold: float, values: Floats, level: float) -> tuple[float, float]:
    """The mean net benefit ± t cluster-robust standard errors: groups of rows, not rows, are independent."""
    groups = ranking.groups
    if groups is None or len(groups.keys) < 2:
        return float(values.min()), float(values.max())
    number = len(groups.keys)
    selected = groups.place < int(places(ranking, [threshold])[0])
    worth = np.where(selected, groups.positives * values[0] + groups.negatives * values[2], 0.0)
    gained = np.bincount(groups.group, weights=worth, minlength=number)
    size = np.bincount(groups.group, weights=groups.positives + groups.negatives, minlength=number)
    mean = gained.sum() / size.sum()
    spread = ((gained - mean * size) ** 2).sum() * number / (number - 1) / size.sum() ** 2
    half = float(t_value(level, number - 1)) * float(np.sqrt(spread))
    return max(float(values.min()), mean - half), min(1.0, mean + half)


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
