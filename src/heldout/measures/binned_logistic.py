"""The log likelihood of a logistic fit from the moments of narrow bins: one pass over the cases serves every step."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from heldout.arrays import Floats
from heldout.evidence.ranking import Ranking
from heldout.measures.ranked import inner

# Rankings of more distinct scores than this are binned; of fewer, every score is worked with.
MANY = 1 << 17
BINS = 1 << 15
BLOCK = 1 << 16
# Taylor's series of a logistic curve about the middle of a bin is cut after the fifth power. What is left out is less
# than (slope · half a bin)^6 / 100 of a case: 1e-14 at this limit.
WIDEST = 0.01


@dataclass(frozen=True, slots=True)
class BinnedLogits:
    """Cases by narrow bins of their logit x: Σ(x − middle)^k of each bin for k = 0 … 5, and the exact sums of the hits.

    The curve of the loss and its derivatives in a bin follow from these sums by Taylor's series.
    """

    middle: Floats
    moments: Floats
    half: float
    hits: float
    hits_x: float

    def fine(self, slope: float) -> bool:
        """Whether the bins are narrow enough for a fit with this slope."""
        return abs(slope) * self.half <= WIDEST

    def derivatives(self, beta: Floats) -> tuple[float, Floats, Floats]:
        """Minus the log likelihood, its downhill slope and its second derivatives, by intercept and slope."""
        eta = beta[0] + beta[1] * self.middle
        small = np.exp(-np.abs(eta))
        # log(1 + e^η) and its derivatives, the first of which is the probability.
        softplus = np.maximum(eta, 0) + np.log1p(small)
        bottom = 1.0 / (1.0 + small)
        up, down = np.where(eta >= 0, bottom, small * bottom), np.where(eta >= 0, small * bottom, bottom)
        curves = [softplus, up, *_logistic_derivatives(up, down)]
        powers = beta[1] ** np.arange(6) / _FACTORIALS
        loss, first, second = (self._sum(curves, order, powers) for order in range(3))
        first_x, second_x = (self._sum(curves, order, powers, times_x=1) for order in (1, 2))
        second_xx = self._sum(curves, 2, powers, times_x=2)
        gradient = np.array([self.hits - first, self.hits_x - first_x])
        return (
            loss - beta[0] * self.hits - beta[1] * self.hits_x,
            gradient,
            np.array([[second, second_x], [second_x, second_xx]]),
        )

    def _sum(self, curves: list[Floats], order: int, powers: Floats, times_x: int = 0) -> float:
        """Σ f(η)·x^times over all cases, f being the derivative of that order of log(1 + e^η)."""
        total = 0.0
        for k in range(6 - times_x):
            held = curves[order + k] * powers[k]
            # x = middle + d, so that x·d^k is middle·d^k + d^(k+1).
            moment = self.moments[k]
            if times_x == 1:
                moment = self.middle * self.moments[k] + self.moments[k + 1]
            elif times_x == 2:
                moment = self.middle * (self.middle * self.moments[k] + 2 * self.moments[k + 1]) + self.moments[k + 2]
            total += float(inner(held, moment))
        return total


_FACTORIALS = np.array([1.0, 1.0, 2.0, 6.0, 24.0, 120.0])


def _logistic_derivatives(p: Floats, q: Floats) -> list[Floats]:
    """The derivatives of order 1 … 6 of the logistic curve, at points with the values p and 1 − p = q."""
    v, t = p * q, q - p
    # Each follows from the one before by dv/dη = v·t and dt/dη = −2v.
    return [
        v,
        v * t,
        v * (1 - 6 * v),
        v * t * (1 - 12 * v),
        v * (1 - 30 * v + 120 * v * v),
        v * t * (1 - 60 * v + 360 * v * v),
    ]


def bin_logits(ranking: Ranking, logit: Callable[[Any], Floats]) -> BinnedLogits:
    """Sort the cases of a long ranking into bins of equal width on the scale of the logit, in one pass.

    >>> p = np.array([0.8, 0.5, 0.2])
    >>> seen = bin_logits(Ranking(p, np.array([8, 5, 2]), np.array([2, 5, 8])), lambda p: np.log(p / (1 - p)))
    >>> loss, gradient, _ = seen.derivatives(np.array([0.0, 1.0]))
    >>> bool(np.abs(gradient).max() < 1e-12)
    True
    """
    top, bottom = (float(x) for x in logit(ranking.scores[[0, -1]]))
    width = max((top - bottom) / BINS, 1e-300)
    moments = np.zeros((6, BINS))
    hits = hits_x = 0.0
    for start in range(0, len(ranking), BLOCK):
        part = slice(start, start + BLOCK)
        x = logit(ranking.scores[part])
        positives = ranking.positives[part].astype(np.float64)
        held = positives + ranking.negatives[part]
        place = np.minimum(((x - bottom) / width).astype(np.int64), BINS - 1)
        # The scores fall, so the cases of a bin stand together.
        begins = np.flatnonzero(np.r_[True, place[1:] != place[:-1]])
        rest = x - (bottom + (place + 0.5) * width)
        for k in range(6):
            moments[k, place[begins]] += np.add.reduceat(held, begins)
            held *= rest
        hits += float(positives.sum())
        hits_x += float(inner(positives, x))
    met = np.flatnonzero(moments[0])
    middle = np.asarray(bottom + (met + 0.5) * width, dtype=np.float64)
    return BinnedLogits(middle, moments[:, met], width / 2, hits, hits_x)
