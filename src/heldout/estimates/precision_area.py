"""The interval for average precision: influence of each case, on the logit scale.

Average precision is Σ pos · tp/(tp+fp) / P. One more positive at a score changes its own precision, P, and every
precision at and below that score by fp/(tp+fp)²; one more negative changes those by −tp/(tp+fp)². The sum of squares
of these influences is the variance, with a random number of positives, as in a sample of cases.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from heldout.arrays import Floats
from heldout.estimates.delong import HAIR, effective_sizes, logit_limits
from heldout.estimates.proportion import wilson_at
from heldout.estimates.quantiles import t_value, z_value
from heldout.evidence import Ranking
from heldout.measures.ranked import Span, inner, precision_sums, sweep
from heldout.measures.ranking import average_precision


def average_precision_influence(ranking: Ranking) -> tuple[Floats, Floats]:
    """How fast average precision grows with the positives and with the negatives at each distinct score.

    >>> up, down = average_precision_influence(Ranking(np.array([2.0, 1.0]), np.array([1, 1]), np.array([0, 2])))
    >>> up.tolist(), down.tolist()
    ([0.1875, -0.0625], [-0.5625, -0.0625])
    """
    total = float(ranking.n_positive)
    found = np.maximum(ranking.tp + ranking.fp, 1e-300)
    precision = ranking.tp / found
    value = float(ranking.positives @ precision) / total
    weight = ranking.positives / found / found
    up = precision - value + _at_and_below(weight * ranking.fp)
    return up / total, -_at_and_below(weight * ranking.tp) / total


def _at_and_below(entries: Floats) -> Any:
    return np.cumsum(entries[::-1])[::-1]


def average_precision_variance(ranking: Ranking) -> float:
    """The variance of average precision; weights enter by their squares, cases of one group together.

    >>> round(average_precision_variance(Ranking(np.array([2.0, 1.0]), np.array([1, 1]), np.array([0, 2]))), 6)
    0.046875
    """
    memo = ranking.memo
    if "precision variance" not in memo:
        memo["precision variance"] = _variance(ranking)
    found: float = memo["precision variance"]
    return found


def _variance(ranking: Ranking) -> float:
    groups = ranking.groups
    if groups is not None:
        up, down = average_precision_influence(ranking)
        each = groups.positives * up[groups.place] + groups.negatives * down[groups.place]
        sums = np.bincount(groups.group, weights=each)
        number = np.unique(groups.group).size
        return float(sums @ sums) * number / (number - 1) if number > 1 else math.nan
    return _swept_variance(ranking)


def _swept_variance(ranking: Ranking) -> float:
    """The same in passes over blocks, so that no array as long as the ranking is made."""
    sums = precision_sums(ranking)
    below = [float(sums.by_negatives), float(sums.by_positives)]
    top, bottom = average_precision.function(ranking)
    value, total, start = top / bottom, 0.0, 0
    for span in sweep(ranking):
        precision, weight = _precision(span)
        # What is at a score and below it is what is left of the sum after the scores above.
        rest = []
        for place, entries in enumerate((weight * span.fp, weight * span.tp)):
            gone = np.cumsum(entries)
            rest.append(below[place] - (gone - entries))
            below[place] -= float(gone[-1])
        up, down = precision - value + rest[0], rest[1]
        stop = start + len(up)
        squares = [
            side if held is None else held[start:stop]
            for side, held in ((span.positives, ranking.positive_squares), (span.negatives, ranking.negative_squares))
        ]
        total += inner(squares[0], up * up) + inner(squares[1], down * down)
        start = stop
    return float(total) / float(bottom) ** 2


def _precision(span: Span) -> tuple[Floats, Floats]:
    """The precision at each score of a stretch, and the weight of its positives in the change of it."""
    found = np.maximum(span.tp + span.fp, 1e-300)
    # Not by the square, which vanishes where nothing was found.
    return span.tp / found, span.positives / found / found


def average_precision_limits(ranking: Ranking, level: float = 0.95) -> tuple[float, float]:
    """Average precision ± t · standard error on the logit scale, t with one degree less than there are positives.

    At an average precision of 1, or with a single positive (or group of them), Wilson's interval with the number of
    positives stands in.

    >>> low, high = average_precision_limits(Ranking(np.array([2.0, 1.0]), np.array([10, 0]), np.array([0, 90])))
    >>> print(f"{low:.3f} {high:.3f}")
    0.722 1.000
    """
    top, bottom = average_precision.function(ranking)
    if not bottom:
        return 0.0, 1.0
    value, size = top / bottom, effective_sizes(ranking)[0]
    variance = average_precision_variance(ranking)
    if value >= 1 - HAIR or size <= 1 or not variance > 0:
        low, high = wilson_at(min(value, 1.0), size, z_value(level))
        return float(low), float(high)
    return logit_limits(value, math.sqrt(variance), float(t_value(level, size - 1)))
