"""The interval of a partial area under the ROC curve: the mean recall over a range of false positive rates.

The range ends where a given share of the negatives scores higher, and the sample may have more or fewer of them there:
all ends that the binomial test does not rule out are tried. At each, the mean recall varies with the positives, and
with where inside the range the negatives fall; Wilson's interval with the effective number of cases has the variance of
both. A range of recalls is a range of the classes exchanged.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from heldout.arrays import Floats
from heldout.evidence import Ranking
from heldout.intervals.proportion import wilson_at
from heldout.intervals.quantiles import z_value
from heldout.intervals.threshold_states import (
    LEAST,
    ThresholdStates,
    binomial_deviate,
    hull,
    list_depths,
    remaining,
    threshold_states,
)
from heldout.measures.quantity import Bound
from heldout.measures.ranking import BY_RECALL

# The largest variance is kept beside what is seen: as of one positive, and of two negatives inside the range.
KEPT_POSITIVES, KEPT_NEGATIVES = 1.0, 2.0


def partial_area_limits(ranking: Ranking, bound: Bound, level: float = 0.95) -> tuple[float, float]:
    """The interval of a partial area, as an area or on McClish's scale.

    >>> from heldout.measures.catalogue import find
    >>> seen = Ranking(np.arange(4.0)[::-1], np.array([9, 4, 2, 1]), np.array([1, 3, 5, 9]))
    >>> low, high = partial_area_limits(seen, find("partial_auc"))
    >>> print(f"{low:.3f} {high:.3f}")
    0.000 0.078
    """
    by_recall = bound.measure.name in BY_RECALL
    low, high = float(bound.parameters["low"]), float(bound.parameters["high"])
    states = threshold_states(ranking)
    inner = (1 - high, 1 - low) if by_recall else (low, high)
    shares = mean_recall_limits(states.mirrored if by_recall else states, *inner, level)
    width, part = high - low, (high * high - low * low) / 2
    areas = shares[0] * width, shares[1] * width
    if not bound.measure.component.startswith("corrected"):
        return areas
    guessing = width - part if by_recall else part
    least, most = ((area - guessing) / (width - guessing) for area in areas)
    return (1 + least) / 2, (1 + most) / 2


def mean_recall_limits(states: ThresholdStates, low: float, high: float, level: float = 0.95) -> tuple[float, float]:
    """The interval of the mean recall over false positive rates from `low` to `high`."""
    p, q, critical = states.positives, states.negatives, z_value(level)
    x, y = states.fp / q, states.tp / p
    depths = list_depths(high * q, q, critical)
    deviate = np.abs(binomial_deviate(depths, q, high, critical))
    deviate[depths == high * q] = 0.0
    likely = deviate <= critical
    ends, left, begin = depths[likely] / q, remaining(critical, deviate[likely]), low / high
    seen = _Curve.of(x, y).range_to(ends, begin)
    # Before the first negative the sample knows the recall at the end only: for the lower limit it grows along a line.
    least = _Curve.of(x, np.where(x > 0, y, 0.0)).range_to(ends, begin)
    lows, highs = (_wilson_limits(ranges, p, q, left) for ranges in (least, seen))
    low_ends, high_ends = lows[0], highs[1]
    none = float(np.abs(binomial_deviate(np.zeros(1), q, high, critical))[0])
    if none <= critical:
        # With no negative in the range, all of it lies before the first.
        first = float(y[x <= 0].max())
        left = remaining(critical, np.array([none]))
        low_ends = np.append(low_ends, wilson_at(first / 2, p, left)[0])
        high_ends = np.append(high_ends, wilson_at(first, p, left)[1])
    return hull(low_ends, high_ends, float(np.clip(seen.mean[depths[likely] == high * q], 0.0, 1.0)[0]))


def _wilson_limits(ranges: _Ranges, positives: float, negatives: float, critical: Floats) -> tuple[Floats, Floats]:
    """Wilson's limits of the mean recall over each range, with the number of cases that has the same variance."""
    mean = np.clip(ranges.mean, 0.0, 1.0)
    most = mean * (1 - mean)
    seen = np.clip(ranges.square - mean * mean, 0.0, most)
    by_positives = (positives * seen + KEPT_POSITIVES * most) / (positives + KEPT_POSITIVES)
    inside = ranges.ends * negatives
    steps = mean * np.maximum(ranges.top - mean, 0.0)
    by_negatives = (inside * ranges.spread + KEPT_NEGATIVES * steps) / (inside + KEPT_NEGATIVES)
    variance = by_positives / positives + by_negatives / np.maximum(inside, 1.0)
    size = np.where(variance > 0, most / np.maximum(variance, LEAST**2), positives)
    return wilson_at(mean, size, critical)


@dataclass(frozen=True, slots=True)
class _Ranges:
    """The recall over ranges: where they end, mean, spread and last value, and the mean square over positives."""

    ends: Floats
    mean: Floats
    spread: Floats
    top: Floats
    square: Floats


@dataclass(frozen=True, slots=True)
class _Curve:
    """A line through points, and the integrals of y, x·y and y² along it."""

    x: Floats
    y: Floats
    sums: tuple[Floats, Floats, Floats]

    @classmethod
    def of(cls, x: Floats, y: Floats) -> _Curve:
        pieces = _pieces(x[:-1], x[1:], y[:-1], y[1:])
        first, second, third = (np.concatenate([[0.0], np.cumsum(piece)]) for piece in pieces)
        return cls(x, y, (first, second, third))

    def up_to(self, end: Floats) -> tuple[Floats, Floats, Floats, Floats]:
        """The integrals from 0 to each end, and the y there."""
        at = np.clip(np.searchsorted(self.x, end, side="right") - 1, 0, len(self.x) - 2)
        rise, run = self.y[at + 1] - self.y[at], self.x[at + 1] - self.x[at]
        y = self.y[at] + np.where(run > 0, rise * (end - self.x[at]) / np.where(run > 0, run, 1.0), 0.0)
        pieces = _pieces(self.x[at], end, self.y[at], y)
        first, second, third = (total[at] + piece for total, piece in zip(self.sums, pieces, strict=True))
        return first, second, third, y

    def range_to(self, ends: Floats, start: float) -> _Ranges:
        """What ranges hold that begin at a share `start` of their ends."""
        begun, done = self.up_to(ends * start), self.up_to(ends)
        width = ends * (1 - start)
        area, moment, squares = (after - before for before, after in zip(begun[:3], done[:3], strict=True))
        mean = area / width
        # A negative above the range counts as one at its beginning, where the recall is `first`.
        first = begun[3]
        all_mean, all_squares = start * first + area / ends, start * first * first + squares / ends
        spread = np.maximum(all_squares - all_mean * all_mean, 0.0) / (1 - start) ** 2
        return _Ranges(ends, mean, spread, done[3], 2 * (ends * area - moment) / width**2)


def _pieces(x0: Floats, x1: Floats, y0: Floats, y1: Floats) -> tuple[Floats, Floats, Floats]:
    """The integrals of y, x·y and y² along straight lines."""
    run = x1 - x0
    moment = x0 * (2 * y0 + y1) + x1 * (y0 + 2 * y1)
    return run * (y0 + y1) / 2, run * moment / 6, run * (y0 * y0 + y0 * y1 + y1 * y1) / 3
