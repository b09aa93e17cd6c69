"""The interval of the largest gap between the true and the false positive rate, the Kolmogorov-Smirnov statistic.

A maximum over thresholds is too large in a sample: noise decides which threshold is best. The lower limit is the
lowest over all thresholds that the cases do not rule out as the best. From the limits of the best threshold itself a
part is taken off of what leaving out one case at a time shows the maximum to be too large by.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from heldout.arrays import Floats
from heldout.evidence import Ranking
from heldout.intervals.proportion import wilson_at
from heldout.intervals.quantiles import z_value
from heldout.intervals.threshold_states import TINY, ThresholdStates, remaining, threshold_states
from heldout.measures.ranking import HAIR

# What of the optimism is taken off the limits, chosen by coverage: of the lower, and of the upper at most and over z².
FROM_LOW, FROM_HIGH, FROM_HIGH_BY_SQUARE = 0.75, 0.3, 0.6


def largest_gap_limits(ranking: Ranking, level: float = 0.95) -> tuple[float, float]:
    """The interval; it reaches down to 0 unless the Kolmogorov-Smirnov test rejects that both classes score alike.

    >>> low, high = largest_gap_limits(Ranking(np.arange(4.0)[::-1], np.array([9, 4, 2, 1]), np.array([1, 3, 5, 9])))
    >>> print(f"{low:.3f} {high:.3f}")
    0.194 0.770
    """
    states = threshold_states(ranking)
    if not (states.positives and states.negatives):
        return 0.0, 1.0
    gaps = find_gaps(states)
    if -gaps.min() > gaps.max():
        states = states.backwards
        gaps = find_gaps(states)
    best = int(gaps.argmax())
    value, critical = float(gaps[best]), z_value(level)
    moved = [np.abs(column - column[best]) / column[-1] for column in (states.tp, states.fp)]
    spread = moved[0] * (1 - moved[0]) / states.positives + moved[1] * (1 - moved[1]) / states.negatives
    behind = (value - gaps) / np.sqrt(np.maximum(spread, TINY))
    behind[best] = 0.0
    likely = behind <= critical
    low, _ = _difference_limits(states, likely, remaining(critical, behind[likely]))
    least, high = _difference_limits(states, np.arange(len(gaps)) == best, np.array([critical]))
    # The distance at which the test rejects; Smirnov's two-sided limit.
    chance = math.sqrt(-math.log((1 - level) / 2) / 2 * (1 / states.positives + 1 / states.negatives))
    excess = optimism(states)
    lowest = max(min(float(low.min()), float(least[0]) - FROM_LOW * excess), 0.0) if value > chance else 0.0
    taken = min(FROM_HIGH, FROM_HIGH_BY_SQUARE / critical**2)
    return min(lowest, value), min(max(float(high[0]) - taken * excess, value), 1.0)


def find_gaps(states: ThresholdStates) -> Floats:
    """TPR − FPR at every threshold."""
    return np.asarray(states.tp / states.positives - states.fp / states.negatives)


def optimism(states: ThresholdStates) -> float:
    """How much larger the maximum is than the gap of cases that had no part in the choice of the threshold.

    Each case is left out, the best threshold of the others is found, and the case is judged by it. Without one case the
    gap changes by a constant from that case on, so the maxima before and after every place tell all of it.

    >>> seen = threshold_states(Ranking(np.arange(4.0)[::-1], np.array([9, 4, 2, 1]), np.array([1, 3, 5, 9])))
    >>> round(optimism(seen), 4)
    0.0
    """
    p, q = states.positives, states.negatives
    if min(p, q) <= 1:
        return 0.0
    left_out = 0.0
    for column, size, fewer, change in (
        (states.tp, p, (p - 1, q), -1 / (p - 1)),
        (states.fp, q, (p, q - 1), 1 / (q - 1)),
    ):
        gaps = states.tp / fewer[0] - states.fp / fewer[1]
        before = np.maximum.accumulate(gaps)[:-1]
        after = np.maximum.accumulate(gaps[::-1])[::-1][1:] + change
        # The case is called positive where the best threshold is at it or below; half where two are equally good.
        called = np.where(after > before + HAIR, 1.0, np.where(after < before - HAIR, 0.0, 0.5))
        left_out += float(np.diff(column) @ called) / size * (1 if change < 0 else -1)
    value = float(find_gaps(states).max())
    return min(max(value - left_out, 0.0), value)


def _difference_limits(states: ThresholdStates, at: Any, critical: Floats) -> tuple[Floats, Floats]:
    """Newcombe's limits of TPR − FPR at some thresholds, from Wilson's of both rates."""
    up, down = states.tp[at] / states.positives, states.fp[at] / states.negatives
    low, high = wilson_at(up, states.positives, critical)
    least, most = wilson_at(down, states.negatives, critical)
    gap = up - down
    return gap - np.hypot(up - low, most - down), gap + np.hypot(high - up, down - least)
