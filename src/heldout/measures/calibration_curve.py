"""The smooth calibration curve: the share of positives as a smooth function of the predicted probability.

The logistic recalibration of Cox is the first guess, and a local linear fit of what is left over corrects it. Both are
linear in the gaps y − p up to small terms, so that the noise of the curve is known: see docs/statistics.md. The mean
distance of the curve from the diagonal is the integrated calibration index of Austin & Steyerberg (2019).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from heldout.arrays import Floats
from heldout.evidence.probability_bins import RankedBins, bin_edges, bin_ranking
from heldout.evidence.ranking import Ranking
from heldout.measures.declare import NO_CASES
from heldout.measures.recalibration import NOT_PROBABILITIES, logit, recalibrate

# Edges of the cells that cases are put into before smoothing: quantiles, and even ones for where few cases are.
QUANTILE_CELLS, EVEN_CELLS = 40, 20
# A local fit reaches over this share of the information, WIDEST at most, and less the more cases there are.
REACH, WIDEST = 1.3, 0.9
# Probabilities nearer to 0 or 1 are told apart by their order only: their logits would be far out.
NEAREST = 1e-4


@dataclass(frozen=True, slots=True, eq=False)
class CalibrationCurve:
    """The curve at the cells that hold cases, from the lowest probability up.

    `gap` is the curve minus the mean probability of the cell, and `operator` the matrix that makes it of the cells'
    mean gaps y − p, up to small terms.
    """

    bins: RankedBins
    predicted: Floats
    shares: Floats
    gap: Floats
    operator: Floats
    reason: str = ""

    @property
    def rate(self) -> Floats:
        """The smooth share of positives."""
        return self.predicted + self.gap


def smooth_calibration(ranking: Ranking) -> CalibrationCurve:
    """The calibration curve of a ranking of probabilities.

    >>> seen = Ranking(np.array([0.8, 0.5, 0.2]), np.array([9, 5, 1]), np.array([1, 5, 9]))
    >>> smooth_calibration(seen).rate.round(2)
    array([0.1, 0.5, 0.9])
    """
    curve: CalibrationCurve | None = ranking.memo.get("calibration curve")
    if curve is None:
        curve = ranking.memo["calibration curve"] = _fit(ranking)
    return curve


def _fit(ranking: Ranking) -> CalibrationCurve:
    nothing = np.zeros(0)
    probable = not len(ranking) or (ranking.scores[-1] >= 0 and ranking.scores[0] <= 1)
    if not probable or not ranking.n > 0:
        reason = NO_CASES if probable else NOT_PROBABILITIES
        empty = bin_ranking(Ranking(nothing, nothing, nothing), np.array([0.0, 1.0]))
        return CalibrationCurve(empty, nothing, nothing, nothing, np.zeros((0, 0)), reason)
    bins = bin_ranking(ranking, _cell_edges(ranking))
    cells = bins.reliability
    filled = cells.weight > 0
    predicted, mean_gap = cells.predicted[filled] / cells.weight[filled], cells.gap[filled] / cells.weight[filled]
    weight = cells.weight[filled]
    x = logit(np.clip(predicted, NEAREST, 1 - NEAREST))
    smoother = _local_lines(x, weight, predicted, bins)
    fit = recalibrate(ranking)
    if fit.reason:
        first, operator = np.zeros_like(predicted), smoother
    else:
        at = logit(predicted)
        rate = 1 / (1 + np.exp(-np.clip(fit.intercept + fit.slope * at, -700, 700)))
        first = rate - predicted
        hat = _hat_matrix(at, weight, rate)
        operator = smoother + hat - smoother @ hat
    gap = first + smoother @ (mean_gap - first)
    return CalibrationCurve(bins, predicted, weight / bins.weight, np.clip(gap, -predicted, 1 - predicted), operator)


def _cell_edges(ranking: Ranking) -> Floats:
    """Edges with a cell for each probability where they are few."""
    if len(ranking) <= QUANTILE_CELLS + EVEN_CELLS:
        scores = ranking.scores[::-1]
        return np.concatenate([[0.0], (scores[1:] + scores[:-1]) / 2, [1.0]])
    even, quantiles = (
        bin_edges(ranking, number, strategy)
        for number, strategy in ((EVEN_CELLS, "uniform"), (QUANTILE_CELLS, "quantile"))
    )
    return np.unique(np.concatenate([even, quantiles[1:-1]]))


def _local_lines(x: Floats, weight: Floats, predicted: Floats, bins: RankedBins) -> Floats:
    """The matrix that fits a line to the cells around each one, weighted by Cleveland's tricube of their distance.

    Cells are as far away as the information p(1 − p) between them.
    """
    information = weight * np.maximum(predicted * (1 - predicted), NEAREST)
    effective = 4 * float(information.sum()) / bins.weight * bins.n_kish
    reach = min(REACH * max(effective, 1.0) ** -0.2, WIDEST)
    share = information / information.sum()
    distance = np.abs(x[:, None] - x[None, :])
    order = np.argsort(distance, axis=1, kind="stable")
    within = np.cumsum(share[order], axis=1)
    last = np.minimum((within < reach).sum(axis=1), len(x) - 1)
    width = np.take_along_axis(distance, np.take_along_axis(order, last[:, None], axis=1), axis=1)
    # The farthest cell of those within reach would have no weight.
    width = np.maximum(width * 1.05, 1e-9)
    near = np.clip(1 - (distance / width) ** 3, 0.0, 1.0) ** 3 * weight
    away = x[None, :] - x[:, None]
    total, first, second = near.sum(axis=1), (near * away).sum(axis=1), (near * away**2).sum(axis=1)
    bottom = total * second - first**2
    line = bottom > 1e-9 * total * second
    slope_part = np.where(line, first, 0.0)[:, None] * away
    top = np.where(line, second, 1.0)[:, None] - slope_part
    return np.asarray(near * top / np.where(line, bottom, total)[:, None])


def _hat_matrix(x: Floats, weight: Floats, rate: Floats) -> Floats:
    """How the fitted shares of the logistic recalibration follow the mean gap of each cell."""
    columns = np.stack([np.ones_like(x), x], axis=1)
    curved = rate * (1 - rate)
    information = columns.T @ (columns * (weight * curved)[:, None])
    inverse: Any = np.linalg.pinv(information, hermitian=True)
    return np.asarray((curved[:, None] * columns) @ inverse @ (columns * weight[:, None]).T)


def weighted_quantile(values: Floats, weight: Floats, share: float) -> Floats:
    """The value of each column that so large a share of the weight, a column beside it, does not exceed.

    >>> weighted_quantile(np.array([[3.0], [1.0], [2.0]]), np.array([[0.2], [0.5], [0.3]]), 0.7)
    array([2.])
    """
    order = np.argsort(values, axis=0)
    below = np.cumsum(weight[order, 0], axis=0)
    # Shares that add up to a little less than the sum would move the quantile by a place.
    at = (below < share * float(weight.sum()) * (1 - 1e-12)).sum(axis=0)
    position = np.take_along_axis(order, np.minimum(at, len(values) - 1)[None, :], axis=0)
    return np.asarray(np.take_along_axis(values, position, axis=0)[0])
