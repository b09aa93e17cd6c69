"""The counts at every threshold that could be chosen, and which of them is best."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from heldout.arrays import Floats
from heldout.evidence.ranking import Ranking
from heldout.measures.cells import Cells, class_cells

# Values nearer than this share of their scale are ties: they differ by rounding only.
SAME = 1e-12


@dataclass(frozen=True, eq=False)
class Points:
    """TP and FP at each threshold along the last axis; a leading axis may hold resampled cases.

    The first threshold is infinite: nobody is called positive. The last is the lowest score: everybody is.

    >>> points = Points.of(Ranking(np.array([0.9, 0.4]), np.array([1, 1]), np.array([0, 2])))
    >>> points.thresholds, points.tp, points.fp
    (array([inf, 0.9, 0.4]), array([0., 1., 2.]), array([0., 0., 2.]))
    """

    thresholds: Floats
    tp: Floats
    fp: Floats

    @classmethod
    def of(cls, ranking: Ranking) -> Points:
        """Every threshold of a ranking."""
        return cls(
            np.concatenate([[np.inf], ranking.scores]),
            np.concatenate([[0.0], ranking.tp]),
            np.concatenate([[0.0], ranking.fp]),
        )

    @property
    def positives(self) -> Any:
        """The positives of each sample."""
        return self.tp[..., -1:]

    @property
    def negatives(self) -> Any:
        """The negatives of each sample."""
        return self.fp[..., -1:]

    def cells(self, prevalence: float | None = None) -> Cells:
        """TP, FN, FP, TN at every threshold; with a prevalence, as if so large a share of the cases were positive."""
        tp, fp, positives, negatives = self.tp, self.fp, self.positives, self.negatives
        if prevalence is not None:
            n = positives + negatives
            with np.errstate(divide="ignore", invalid="ignore"):
                tp, fp = prevalence * n * (tp / positives), (1 - prevalence) * n * (fp / negatives)
            positives, negatives = prevalence * n, (1 - prevalence) * n
        # Below 0 by rounding only.
        return class_cells(tp, np.maximum(positives - tp, 0.0), fp, np.maximum(negatives - fp, 0.0))

    def place(self, threshold: float) -> int:
        """Which point the rule `score >= threshold` is."""
        return int(np.count_nonzero(self.thresholds[1:] >= threshold))

    @property
    def youden(self) -> Floats:
        """Recall + specificity - 1 at every threshold."""
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.asarray(self.tp / self.positives - self.fp / self.negatives)


def best_places(points: Points, values: Floats, allowed: NDArray[np.bool_] | None, *, lower: bool) -> Any:
    """The place of the best value along the last axis, -1 where no value is defined and allowed.

    Of equally good thresholds, the one with the larger Youden index; of those, the highest.

    >>> points = Points(np.array([np.inf, 2.0, 1.0]), np.array([0.0, 1.0, 1.0]), np.array([0.0, 0.0, 1.0]))
    >>> int(best_places(points, np.array([0.5, 0.7, 0.7]), None, lower=False))
    1
    """
    standing = -values if lower else values
    barred = np.isnan(standing) if allowed is None else np.isnan(standing) | ~allowed
    standing = np.where(barred, -np.inf, standing)
    top = standing.max(axis=-1, keepdims=True)
    scale = np.abs(np.where(np.isfinite(standing), standing, 0.0)).max(axis=-1, keepdims=True)
    tied = standing >= top - SAME * scale
    youden = np.where(tied, np.nan_to_num(points.youden), -np.inf)
    chosen = np.argmax(youden >= youden.max(axis=-1, keepdims=True) - SAME, axis=-1)
    return np.where(barred.all(axis=-1), -1, chosen)
