"""Scores that repeat to the last digit, and whether their truth repeats with them, as that of copied rows does."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from heldout.evidence.ranking import Ranking

# From so many significant digits on a score was not rounded: doubles have 15 to 17 of them, single precision 6 to 9.
DIGITS = {8: 10, 4: 7}
BLOCK = 1 << 16


@dataclass(frozen=True, slots=True)
class Copies:
    """Distinct scores of full precision that stand in several rows, and those of them that hold both classes.

    `chance` is the probability of so few mixed ones if the rows of a score were different cases.
    """

    repeated: int
    mixed: int
    chance: float


def copies_of(ranking: Ranking) -> Copies:
    """The repeated scores of a ranking of cases that carry no weights.

    Different cases with one score differ in their truth as often as those with neighbouring scores do, copies never.

    >>> scores = np.arange(60, 0, -1) / 61
    >>> truth = np.arange(60) % 2
    >>> copies_of(Ranking(scores, 2 * truth, 2 - 2 * truth)).mixed
    0
    """
    repeated = mixed = pairs = 0
    differ = 0.0
    # In blocks, and one score further for the neighbour of the last: no array as long as the data is made.
    for start in range(0, len(ranking), BLOCK):
        part = slice(start, start + BLOCK + 1)
        positives, negatives = ranking.positives[part].astype(np.int64), ranking.negatives[part].astype(np.int64)
        again = np.flatnonzero(positives[:BLOCK] + negatives[:BLOCK] > 1)
        again = again[is_full(ranking.scores[part][again])]
        repeated += len(again)
        mixed += int(np.count_nonzero((positives[again] > 0) & (negatives[again] > 0)))
        # One row of each score beside one of the next score: how often their truths differ.
        here = again[again + 1 < len(positives)]
        share, beside = (positives[at] / (positives[at] + negatives[at]) for at in (here, here + 1))
        differ += float((share * (1 - beside) + beside * (1 - share)).sum())
        pairs += len(here)
    return Copies(repeated, mixed, _at_most(mixed, repeated, differ / pairs if pairs else 0.0))


def is_full(scores: NDArray[Any]) -> NDArray[np.bool_]:
    """Whether each score has more digits than a rounded one.

    >>> is_full(np.array([0.25, 0.123456, 1 / 3, 0.0]))
    array([False, False,  True, False])
    """
    digits = DIGITS.get(scores.dtype.itemsize, 10)
    held = scores.astype(np.float64)
    size = np.floor(np.log10(np.abs(held), out=np.zeros_like(held), where=held != 0))
    scale = 10.0 ** (digits - 2 - size)
    apart = np.abs(np.round(held * scale) / scale - held)
    return np.asarray(apart > 8 * np.finfo(scores.dtype).eps * np.abs(held))


def _at_most(successes: int, trials: int, share: float) -> float:
    """The probability of at most so many successes (binomial)."""
    if not 0 < share < 1:
        return 1.0
    terms = (
        math.lgamma(trials + 1) - math.lgamma(k + 1) - math.lgamma(trials - k + 1)
        + k * math.log(share) + (trials - k) * math.log1p(-share)
        for k in range(successes + 1)
    )  # fmt: skip
    return min(1.0, math.fsum(math.exp(term) for term in terms))
