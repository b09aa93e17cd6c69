"""What is above each threshold, in independent cases, and how far a count is from what a threshold would give."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from heldout.arrays import Floats
from heldout.evidence import Ranking
from heldout.intervals.areas import kish_sizes

TINY = 1e-300
# Critical values are at least this, so that nothing is divided by 0.
LEAST = 1e-9
# So many depths are tried at most; they are a small part of a standard deviation apart.
MOST_DEPTHS = 2001


@dataclass(frozen=True, slots=True)
class ThresholdStates:
    """TP and FP at every threshold, from the one above all scores down; weights are brought to independent cases."""

    tp: Floats
    fp: Floats

    @property
    def positives(self) -> float:
        """The number of positives."""
        return float(self.tp[-1])

    @property
    def negatives(self) -> float:
        """The number of negatives."""
        return float(self.fp[-1])

    @property
    def backwards(self) -> ThresholdStates:
        """The same with the lowest score first."""
        return ThresholdStates(self.positives - self.tp[::-1], self.negatives - self.fp[::-1])

    @property
    def mirrored(self) -> ThresholdStates:
        """The same with the classes exchanged and the lowest score first."""
        return ThresholdStates(self.negatives - self.fp[::-1], self.positives - self.tp[::-1])


def threshold_states(ranking: Ranking, *, together: bool = False) -> ThresholdStates:
    """The states of a ranking; with weights each class has Kish's size, or `together` both have that of all cases.

    Measures that depend on how frequent positives are need the second, which keeps the share of positives.

    >>> states = threshold_states(Ranking(np.array([0.9, 0.4]), np.array([1, 1]), np.array([0, 2])))
    >>> states.tp.tolist(), states.fp.tolist()
    ([0.0, 1.0, 2.0], [0.0, 0.0, 2.0])
    """
    up = down = 1.0
    squares = ranking.positive_squares, ranking.negative_squares
    if squares[0] is not None and squares[1] is not None:
        if together:
            up = down = float(ranking.n / max(squares[0].sum() + squares[1].sum(), TINY))
        else:
            sizes, totals = kish_sizes(ranking), (ranking.n_positive, ranking.n_negative)
            up, down = (float(size / max(total, TINY)) for size, total in zip(sizes, totals, strict=True))
    tp, fp = (np.concatenate([[0.0], column * scale]) for column, scale in ((ranking.tp, up), (ranking.fp, down)))
    return ThresholdStates(tp, fp)


def binomial_deviate(count: Any, trials: float, rate: float, critical: float) -> Floats:
    """The normal deviate of the mid-P binomial distribution at a count; far beyond `critical` it is infinite.

    >>> np.round(binomial_deviate([1.0, 2.0, 3.0, 99.0], 100.0, 0.02, 2.0), 2).tolist()
    [-0.62, 0.1, 0.73, inf]
    """
    from scipy.special import betainc, ndtri

    count = np.asarray(count, dtype=np.float64)
    expected = trials * rate
    if not 0 < rate < 1:
        return np.where(count > expected + LEAST, np.inf, np.where(count < expected - LEAST, -np.inf, 0.0))
    deviates = np.where(count > expected, np.inf, -np.inf)
    # The beta functions are slow: only counts that could be within the critical value are looked at.
    reach = (2 * critical + 4) * np.sqrt(expected * (1 - rate)) + (critical + 3) ** 2
    near = np.abs(count - expected) <= reach
    x = count[near]
    rest = np.maximum(trials - x, 0.0)
    # P(X > x) and P(X ≥ x); their mean is the upper tail, and each tail is taken as it is, so that neither cancels.
    over = np.where(rest > LEAST, betainc(x + 1, np.maximum(rest, LEAST), rate), 0.0)
    at_least = np.where(x > LEAST, betainc(np.maximum(x, LEAST), rest + 1, rate), 1.0)
    under = np.where(x > LEAST, betainc(rest + 1, np.maximum(x, LEAST), 1 - rate), 0.0)
    up_to = np.where(rest > LEAST, betainc(np.maximum(rest, LEAST), x + 1, 1 - rate), 1.0)
    upper, lower = (over + at_least) / 2, (under + up_to) / 2
    deviates[near] = np.where(lower < upper, ndtri(lower), -ndtri(upper))
    return np.asarray(deviates)


def list_depths(cut: float, total: float, critical: float) -> Floats:
    """How many cases may lie above a threshold that is meant to have `cut` of them above it, which is among them.

    >>> list_depths(2.5, 6.0, 1.0).tolist()
    [1.0, 2.0, 2.5, 3.0, 4.0, 5.0]
    """
    away = (2 * critical + 4) * np.sqrt(cut) + (critical + 3) ** 2
    first, last = max(np.ceil(cut - away), 1.0), min(np.floor(cut + away), np.ceil(total) - 1)
    many = last - first >= MOST_DEPTHS
    depths = np.linspace(first, last, MOST_DEPTHS) if many else np.arange(first, last + 0.5)
    return np.unique(np.append(depths, cut))


def remaining(critical: float, deviate: Floats) -> Floats:
    """What is left of a critical value for a second test, where the first has this deviate."""
    return np.sqrt(np.maximum(critical * critical - np.square(deviate), LEAST * LEAST))


def hull(low: Floats, high: Floats, value: float, ends: tuple[float, float] = (0.0, 1.0)) -> tuple[float, float]:
    """The interval from the lowest to the highest limit, inside the range; it holds the value."""
    least = min(value, float(np.min(low, initial=value)))
    most = max(value, float(np.max(high, initial=value)))
    return max(least, ends[0]), min(most, ends[1])
