"""Logistic recalibration: the fit of the truth on the logit of its predicted probability.

With perfectly calibrated probabilities the fit is intercept 0 and slope 1. Cox (1958), Two further applications of
a model for binary regression, Biometrika 45, 562-565.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from heldout.arrays import Floats
from heldout.evidence.ranking import Ranking
from heldout.measures.binned_logistic import MANY, BinnedLogits, bin_logits

# Blocks keep the temporary arrays small: one entry per distinct probability can mean one per row.
BLOCK = 1 << 16
MOST_STEPS = 60
EPS = float(np.finfo(np.float64).eps)

NOT_PROBABILITIES = "the scores are no probabilities: some lie outside 0 to 1"
ONE_CLASS = "there are cases of one class only"
ONE_VALUE = "every case has the same probability"
SEPARATED = "some threshold separates the classes perfectly, and the slope has no limit"
NOT_REACHED = "the logistic fit was not reached"


@dataclass(frozen=True, slots=True)
class LogisticFit:
    """Intercept and slope (nan where `reason` says why there are none) and what their variance is made of.

    `information` is the matrix of second derivatives, (1, 1) where the slope is fixed.
    """

    intercept: float
    slope: float
    information: Floats
    reason: str = ""


def logit(p: Any) -> Floats:
    """The log odds of probabilities; those within rounding of 0 or 1 are moved to it."""
    inside = np.clip(p, EPS, 1 - EPS)
    return np.asarray(np.log(inside) - np.log1p(-inside))


def logits(ranking: Ranking) -> Floats:
    """The log odds of the distinct probabilities."""
    found: Floats | None = ranking.memo.get("logits")
    if found is None:
        found = ranking.memo["logits"] = logit(ranking.scores)
    return found


def recalibrate(ranking: Ranking, *, fixed_slope: bool = False) -> LogisticFit:
    """Fit the truth on the logit of its probability, with the slope free or fixed at 1.

    >>> p, hits, misses = np.array([0.8, 0.5, 0.2]), np.array([8, 5, 2]), np.array([2, 5, 8])
    >>> fit = recalibrate(Ranking(p, hits, misses))
    >>> abs(round(fit.intercept, 6)), round(fit.slope, 6)
    (0.0, 1.0)
    """
    key = ("recalibration", fixed_slope)
    fit: LogisticFit | None = ranking.memo.get(key)
    if fit is None:
        reason = _why_not(ranking, fixed_slope=fixed_slope)
        fit = _unfitted(reason) if reason else _newton(ranking, fixed_slope=fixed_slope)
        ranking.memo[key] = fit
    return fit


def fitted(ranking: Ranking, fit: LogisticFit, places: Any) -> Floats:
    """The fitted probabilities at some of the distinct scores."""
    return _expit(fit.intercept + fit.slope * logit(ranking.scores[places]))


def _unfitted(reason: str) -> LogisticFit:
    return LogisticFit(float("nan"), float("nan"), np.full((2, 2), np.nan), reason)


def _why_not(ranking: Ranking, *, fixed_slope: bool) -> str:
    if len(ranking) and not (ranking.scores[-1] >= 0 and ranking.scores[0] <= 1):
        return NOT_PROBABILITIES
    if not (ranking.n_positive > 0 and ranking.n_negative > 0):
        return ONE_CLASS
    if fixed_slope:
        return ""
    ends = [_ends(np.asarray(side)) for side in (ranking.positives, ranking.negatives)]
    # The logits fall from the first to the last.
    top, bottom = (tuple(logit(ranking.scores[[side[end] for side in ends]])) for end in (0, 1))
    if max(top) == min(bottom):
        return ONE_VALUE
    # The maximum exists only where the classes overlap by more than one value: Albert & Anderson (1984).
    if bottom[0] >= top[1] or bottom[1] >= top[0]:
        return SEPARATED
    return ""


def _ends(counts: NDArray[Any]) -> tuple[int, int]:
    """The first and the last place that holds a case; there is one."""
    held = counts > 0
    return int(held.argmax()), len(held) - 1 - int(held[::-1].argmax())


def _newton(ranking: Ranking, *, fixed_slope: bool) -> LogisticFit:
    size = 1 if fixed_slope else 2
    # The start is where calibrated probabilities end.
    beta = np.array([0.0, 1.0])
    loss, gradient, information = _derivatives(ranking, beta, size)
    trusted = True
    for _ in range(MOST_STEPS):
        step = np.linalg.solve(information, gradient)
        if not np.isfinite(step).all():
            break
        share = 1.0
        while True:
            moved = beta.copy()
            moved[:size] += share * step
            new_loss, new_gradient, new_information = _derivatives(ranking, moved, size)
            if new_loss <= loss + 1e-12 * abs(loss) or share < 1e-6:
                break
            share /= 2
        if share < 1 and trusted:
            # Far from calibrated, as where all probabilities crowd at one end, the rate of the class is a better start.
            trusted, other = False, _by_rate(ranking, size)
            found = _derivatives(ranking, other, size)
            if found[0] < new_loss:
                beta, (loss, gradient, information) = other, found
                continue
        beta, loss, gradient, information = moved, new_loss, new_gradient, new_information
        if np.abs(share * step).max() <= 1e-12 * (1 + np.abs(beta).max()):
            return LogisticFit(float(beta[0]), float(beta[1]), information)
        if np.linalg.cond(information) > 1e15:
            break
    return _unfitted(NOT_REACHED)


def _by_rate(ranking: Ranking, size: int) -> Floats:
    """The start that says the rate of the class whatever the probability; with a fixed slope, on average."""
    rate = float(np.log(ranking.n_positive / ranking.n_negative))
    if size == 2:
        return np.array([rate, 0.0])
    cases = np.asarray(ranking.positives, dtype=np.float64) + ranking.negatives
    return np.array([rate - float(np.average(logits(ranking), weights=cases)), 1.0])


def _binned(ranking: Ranking) -> BinnedLogits:
    found: BinnedLogits | None = ranking.memo.get("binned logits")
    if found is None:
        found = ranking.memo["binned logits"] = bin_logits(ranking, logit)
    return found


def _derivatives(ranking: Ranking, beta: Floats, size: int) -> tuple[float, Floats, Floats]:
    """Minus the log likelihood, its downhill slope and its second derivatives."""
    if len(ranking) > MANY and _binned(ranking).fine(beta[1]):
        loss, slopes, curved = _binned(ranking).derivatives(beta)
        return loss, slopes[:size], curved[:size, :size]
    x = logits(ranking)
    loss, gradient, information = 0.0, np.zeros(2), np.zeros((2, 2))
    for start in range(0, len(x), BLOCK):
        part = slice(start, start + BLOCK)
        here = x[part]
        # Products of whole numbers with floats would not go to BLAS.
        hits = np.asarray(ranking.positives[part], dtype=np.float64)
        misses = np.asarray(ranking.negatives[part], dtype=np.float64)
        eta = beta[0] + beta[1] * here
        small = np.exp(-np.abs(eta))
        bottom = 1.0 / (1.0 + small)
        # Both sides are made from the small one, so that no digits are lost where a probability is near 1.
        up, down = np.where(eta >= 0, bottom, small * bottom), np.where(eta >= 0, small * bottom, bottom)
        cases = hits + misses
        # log(1 + e^η) without overflow.
        loss += float(cases @ (np.maximum(eta, 0) + np.log1p(small)) - hits @ eta)
        gap = hits * down - misses * up
        spread = cases * up * down
        gradient += gap.sum(), gap @ here
        cross = spread @ here
        information += [[spread.sum(), cross], [cross, (spread * here) @ here]]
    return loss, gradient[:size], information[:size, :size]


def _expit(eta: Floats) -> Floats:
    small = np.exp(-np.abs(eta))
    return np.where(eta >= 0, 1.0, small) / (1.0 + small)
