"""Logistic recalibration: the fit of the truth on the logit of its predicted probability.

With perfectly calibrated probabilities the fit is intercept 0 and slope 1. Cox (1958), Two further applications of
a model for binary regression, Biometrika 45, 562-565.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from heldout.arrays import Floats
from heldout.evidence.ranking import Ranking
from heldout.measures.ranking_batch import inner
from heldout.threads import cached_property, share_out

# Rankings of more distinct scores than this are binned; of fewer, every score is worked with.
MANY = 1 << 17
BINS = 1 << 14
# Taylor's series of a logistic curve about the middle of a bin is cut after the fifth power. What is left out is less
# than (slope · half a bin)^6 / 100 of a case: 1e-14 at this limit.
WIDEST = 0.01


@dataclass(frozen=True, eq=False)
class BinnedLogits:
    """Cases by narrow bins of their logit x: Σ(x − middle)^k of each bin for k = 0 … 5, and the exact sums of the hits.

    The curve of the loss and its derivatives in a bin follow from these sums by Taylor's series. `hit_moments` are the
    same sums of the hits alone, for k = 0 … 3: enough for a spread.
    """

    middle: Floats
    moments: Floats
    hit_moments: Floats
    half: float
    hits: float
    hits_x: float

    def fine(self, slope: float) -> bool:
        """Whether the bins are narrow enough for a fit with this slope."""
        return abs(slope) * self.half <= WIDEST

    @cached_property
    def _moments_of_x(self) -> tuple[list[Floats], list[Floats], list[Floats]]:
        """Σ(x − middle)^k of each bin, then Σx·(x − middle)^k and Σx²·(x − middle)^k."""
        plain, middle = list(self.moments), self.middle
        # x = middle + d, so that x·d^k is middle·d^k + d^(k+1).
        once = [middle * plain[k] + plain[k + 1] for k in range(5)]
        twice = [middle * (middle * plain[k] + 2 * plain[k + 1]) + plain[k + 2] for k in range(4)]
        return plain, once, twice

    def derivatives(self, beta: Floats, size: int = 2) -> tuple[float, Floats, Floats]:
        """Minus the log likelihood, its downhill slope and its second derivatives, by intercept and slope.

        A `size` of 1 is that of a fixed slope: only the intercept is differentiated by.
        """
        eta = beta[0] + beta[1] * self.middle
        small = np.exp(-np.abs(eta))
        # log(1 + e^η) and its derivatives, the first of which is the probability.
        softplus = np.maximum(eta, 0) + np.log1p(small)
        bottom = 1.0 / (1.0 + small)
        up, down = np.where(eta >= 0, bottom, small * bottom), np.where(eta >= 0, small * bottom, bottom)
        curves = [softplus, up, *_logistic_derivatives(up, down)]
        powers = beta[1] ** np.arange(6) / _FACTORIALS
        # Σ f(η)·x^times over all cases, f being a derivative of log(1 + e^η), for times = 0 … as many as are needed.
        (loss,), first, second = (self._sums(curves[order:], powers, order * (size - 1)) for order in range(3))
        gradient = np.array([self.hits, self.hits_x])[:size] - first
        information = np.array([second[at : at + size] for at in range(size)])
        return loss - beta[0] * self.hits - beta[1] * self.hits_x, gradient, information

    def spread(self, beta: Floats) -> float:
        """The sum over all cases of the squared distance between the truth and the fitted probability."""
        eta = beta[0] + beta[1] * self.middle
        total = 0.0
        # Of a miss that is the squared probability, of a hit the squared one of the other class: its mirror image.
        for sign, moments in ((1, self.moments[:4] - self.hit_moments), (-1, self.hit_moments)):
            p, q = expit(sign * eta), expit(-sign * eta)
            v, t = p * q, q - p
            # The derivatives of p², by dp/dη = v, dq/dη = −v.
            curves = [p * p, 2 * p * v, 2 * v * (v + p * t), v * (6 * v * t + 2 * p * t * t - 4 * p * v)]
            for k, curve in enumerate(curves):
                total += float(inner(curve, moments[k])) * (sign * beta[1]) ** k / _FACTORIALS[k]
        return total

    def _sums(self, curves: list[Floats], powers: Floats, most: int) -> list[float]:
        totals = [0.0] * (most + 1)
        for k in range(6):
            product = curves[k] * powers[k]
            for times in range(min(most, 5 - k) + 1):
                totals[times] += float(inner(product, self._moments_of_x[times][k]))
        return totals


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
    # Those of all cases, then those of the hits.
    moments = np.zeros((10, BINS))
    hits = hits_x = 0.0

    def sum_block(start: int) -> tuple[NDArray[np.int64], list[Floats], float, float]:
        part = slice(start, start + BLOCK)
        x = logit(ranking.scores[part])
        positives = ranking.positives[part].astype(np.float64)
        weights = positives + ranking.negatives[part]
        bin_index = np.minimum(((x - bottom) / width).astype(np.int64), BINS - 1)
        # The scores fall, so the cases of a bin stand together.
        begins = np.flatnonzero(np.r_[True, bin_index[1:] != bin_index[:-1]])
        rest = x - (bottom + (bin_index + 0.5) * width)
        hits, hits_x, sums = float(positives.sum()), float(inner(positives, x)), []
        for column, powers in ((weights, 6), (positives, 4)):
            for _ in range(powers):
                sums.append(np.add.reduceat(column, begins))
                np.multiply(column, rest, out=column)
        return bin_index[begins], sums, hits, hits_x

    # Added in the order of the blocks, by whichever threads: a bin may lie in two of them.
    for places, sums, block_hits, block_hits_x in share_out(sum_block, range(0, len(ranking), BLOCK)):
        for k, total in enumerate(sums):
            moments[k, places] += total
        hits += block_hits
        hits_x += block_hits_x
    filled = np.flatnonzero(moments[0])
    middle = np.asarray(bottom + (filled + 0.5) * width, dtype=np.float64)
    return BinnedLogits(middle, moments[:6, filled], moments[6:, filled], width / 2, hits, hits_x)


# Blocks keep the temporary arrays small: one entry per distinct probability can mean one per row.
BLOCK = 1 << 17
# OpenBLAS divides products of more than 10,000 numbers among threads, and waits for these while other programs run.
ALONE = 1 << 13
MOST_STEPS = 60
EPS = float(np.finfo(np.float64).eps)

NOT_PROBABILITIES = "the scores are no probabilities: some lie outside 0 to 1"
ONE_CLASS = "there are cases of one class only"
ONE_VALUE = "every case has the same probability"
SEPARATED = "some threshold separates the classes perfectly, and the slope has no limit"
ALL_CERTAIN = "every probability is 0 or 1, and no intercept moves these"
ONE_SIDED = "the cases whose probability is neither 0 nor 1 are of one class, and the intercept has no limit"
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
    values: Floats | None = ranking.memo.get("logits")
    if values is None:
        values = ranking.memo["logits"] = logit(ranking.scores)
    return values


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
    return expit(fit.intercept + fit.slope * logit(ranking.scores[places]))


def _unfitted(reason: str) -> LogisticFit:
    return LogisticFit(float("nan"), float("nan"), np.full((2, 2), np.nan), reason)


def _why_not(ranking: Ranking, *, fixed_slope: bool) -> str:
    if len(ranking) and not (ranking.scores[-1] >= 0 and ranking.scores[0] <= 1):
        return NOT_PROBABILITIES
    if not (ranking.n_positive > 0 and ranking.n_negative > 0):
        return ONE_CLASS
    if fixed_slope:
        return _why_no_shift(ranking)
    ends = [_ends(np.asarray(side)) for side in (ranking.positives, ranking.negatives)]
    # The logits fall from the first to the last.
    top, bottom = (tuple(logit(ranking.scores[[side[end] for side in ends]])) for end in (0, 1))
    if max(top) == min(bottom):
        return ONE_VALUE
    # The maximum exists only where the classes overlap by more than one value: Albert & Anderson (1984).
    if bottom[0] >= top[1] or bottom[1] >= top[0]:
        return SEPARATED
    return ""


def _why_no_shift(ranking: Ranking) -> str:
    """Why no intercept is the best one with the slope fixed; "" where one is."""
    # The scores fall: those at `begin` to `end` are neither 0 nor 1.
    rising, rows = ranking.scores[::-1], len(ranking)
    begin = rows - int(np.searchsorted(rising, 1 - EPS, side="left"))
    end = rows - int(np.searchsorted(rising, EPS, side="right"))
    if begin >= end:
        return ALL_CERTAIN
    return "" if ranking.positives[begin:].any() and ranking.negatives[:end].any() else ONE_SIDED


def _ends(counts: NDArray[Any]) -> tuple[int, int]:
    """The first and the last place that holds a case; there is one."""
    filled = counts > 0
    return int(filled.argmax()), len(filled) - 1 - int(filled[::-1].argmax())


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
            derivatives = _derivatives(ranking, other, size)
            if derivatives[0] < new_loss:
                beta, (loss, gradient, information) = other, derivatives
                continue
        beta, loss, gradient, information = moved, new_loss, new_gradient, new_information
        if np.abs(share * step).max() <= 1e-12 * (1 + np.abs(beta).max()):
            return LogisticFit(float(beta[0]), float(beta[1]), information)
        if _is_singular(information):
            break
    return _unfitted(NOT_REACHED)


def _is_singular(information: Floats) -> bool:
    """Whether the condition of the matrix is beyond what floats can solve."""
    if len(information) == 1:
        return not information[0, 0]
    # The condition c of a matrix of two rows has c + 1/c = the sum of its squares over its determinant, which takes a
    # fiftieth of the time of the singular values and tells enough unless it comes near the limit.
    (a, b), (c, d) = information.tolist()
    if a * a + b * b + c * c + d * d < 1e12 * abs(a * d - b * c):
        return False
    return bool(np.linalg.cond(information) > 1e15)


def _by_rate(ranking: Ranking, size: int) -> Floats:
    """The start that says the rate of the class whatever the probability; with a fixed slope, on average."""
    rate = float(np.log(ranking.n_positive / ranking.n_negative))
    if size == 2:
        return np.array([rate, 0.0])
    cases = np.asarray(ranking.positives, dtype=np.float64) + ranking.negatives
    return np.array([rate - float(np.average(logits(ranking), weights=cases)), 1.0])


def bin_long(ranking: Ranking) -> None:
    """Bin the logits of a long ranking ahead of its fits, with all threads."""
    if len(ranking) > MANY and not _why_not(ranking, fixed_slope=False):
        _binned(ranking)


def _binned(ranking: Ranking) -> BinnedLogits:
    binned: BinnedLogits | None = ranking.memo.get("binned logits")
    if binned is None:
        binned = ranking.memo["binned logits"] = bin_logits(ranking, logit)
    return binned


def spread_of_shift(ranking: Ranking, intercept: float) -> float | None:
    """The spread of the score of an intercept, the slope held at 1, from narrow bins; None where there are none."""
    if len(ranking) <= MANY or ranking.weighted or not _binned(ranking).fine(1.0):
        return None
    return _binned(ranking).spread(np.array([intercept, 1.0]))


def _derivatives(ranking: Ranking, beta: Floats, size: int) -> tuple[float, Floats, Floats]:
    """Minus the log likelihood, its downhill slope and its second derivatives."""
    if len(ranking) > MANY and _binned(ranking).fine(beta[1]):
        return _binned(ranking).derivatives(beta, size)
    x = logits(ranking)
    loss, gradient, information = 0.0, np.zeros(2), np.zeros((2, 2))
    for start in range(0, len(x), ALONE):
        part = slice(start, start + ALONE)
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


def expit(eta: Floats) -> Floats:
    """The probability of log odds."""
    small = np.exp(-np.abs(eta))
    return np.where(eta >= 0, 1.0, small) / (1.0 + small)
