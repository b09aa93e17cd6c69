"""What a ranking says at given thresholds: counts, and the whole confusion matrix for count intervals."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from heldout.errors import OptionError, ValuesError
from heldout.evidence import Confusion, Label
from heldout.evidence.cut import cut_at
from heldout.evidence.ranking import Ranking

Floats = NDArray[np.float64]
Thresholds: TypeAlias = str | int | Iterable[float]

MOST = 10_000_000  # thresholds in one grid


def places(ranking: Ranking, thresholds: ArrayLike) -> NDArray[np.int64]:
    """How many distinct scores reach each threshold, by the rule score >= threshold.

    >>> places(Ranking(np.array([0.9, 0.4]), np.array([1, 1]), np.array([0, 2])), [1.0, 0.9, 0.5, 0.0])
    array([0, 1, 1, 2])
    """
    return np.searchsorted(-ranking.scores, -np.asarray(thresholds, dtype=np.float64), side="right")


def counts_at(ranking: Ranking, thresholds: ArrayLike) -> tuple[NDArray[Any], NDArray[Any]]:
    """TP and FP at each threshold.

    >>> counts_at(Ranking(np.array([0.9, 0.4]), np.array([1, 1]), np.array([0, 2])), [1.0, 0.4])
    (array([0, 2]), array([0, 2]))
    """
    reached = places(ranking, thresholds)
    return tuple(np.concatenate([np.zeros(1, dtype=held.dtype), held])[reached] for held in (ranking.tp, ranking.fp))  # type: ignore[return-value]


def threshold_grid(ranking: Ranking, thresholds: Thresholds) -> Floats:
    """The thresholds asked for: every distinct score, a list of them, or so many at even distances.

    A number of thresholds runs from 0 to 1 where all scores do, otherwise from the lowest to the highest score.

    >>> threshold_grid(Ranking(np.array([0.9, 0.4]), np.array([1, 1]), np.array([0, 2])), 3)
    array([0. , 0.5, 1. ])
    """
    if isinstance(thresholds, str):
        if thresholds != "distinct":
            raise OptionError(
                f"Thresholds are 'distinct', a number of them, or a list. Got {thresholds!r}.",
                hint="use 'distinct' for one threshold per distinct score.",
            )
        return ranking.scores
    if isinstance(thresholds, int | np.integer):
        return _even(ranking, int(thresholds))
    given = np.atleast_1d(np.asarray(list(thresholds), dtype=np.float64))
    if np.isnan(given).any():
        raise ValuesError("A threshold is NaN; thresholds are numbers.", hint="leave it out.")
    return given


def _even(ranking: Ranking, number: int) -> Floats:
    if not 1 < number <= MOST:
        raise OptionError(
            f"A grid has 2 thresholds or more. Got {number}.", hint="use 11 for 0.0, 0.1, … 1.0, or give a list."
        )
    low, high = 0.0, 1.0
    if len(ranking) and (ranking.scores[0] > 1 or ranking.scores[-1] < 0):
        low, high = float(ranking.scores[-1]), float(ranking.scores[0])
    even = np.linspace(low, high, number)
    if (low, high) == (0.0, 1.0):
        # linspace makes 0.6000000000000001 of 6/10, which a score of 0.6 would not reach.
        return np.round(even, 12)
    return even


def confusion_at(ranking: Ranking, threshold: float, labels: tuple[Label, Label] = (False, True)) -> Confusion:
    """The confusion matrix at one threshold, weights and groups kept; `labels` are the negative and the positive class.

    >>> confusion_at(Ranking(np.array([0.9, 0.4]), np.array([1, 1]), np.array([0, 2])), 0.5).matrix
    array([[2, 0],
           [1, 1]])
    """
    return cut_at(ranking, int(places(ranking, [threshold])[0]), labels)
