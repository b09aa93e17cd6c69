"""What a ranking says at given thresholds: counts, and the whole confusion matrix for count intervals."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from heldout.arrays import Floats
from heldout.errors import OptionError, ValuesError
from heldout.evidence import Confusion, Label
from heldout.evidence.cut import cut_at
from heldout.evidence.ranking import Ranking

Thresholds: TypeAlias = str | int | Iterable[float]

MOST = 10_000_000  # thresholds in one grid
REACH = (-np.inf, np.inf)


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


def more_at(ranking: Ranking, thresholds: ArrayLike) -> tuple[NDArray[Any], NDArray[Any]] | None:
    """How many more positives and negatives may reach each threshold, where it falls inside a bin; None if none does.

    >>> seen = Ranking(np.array([0.5]), np.array([2]), np.array([1]), joined=np.array([True]), ends=np.array([0.75]))
    >>> more_at(seen, [0.5, 0.6])
    (array([0, 2]), array([0, 1]))
    """
    tops = ranking.tops
    if tops is None or not len(ranking):
        return None
    given = np.asarray(thresholds, dtype=np.float64)
    reached = places(ranking, given)
    below = np.minimum(reached, len(ranking) - 1)
    inside = (reached < len(ranking)) & (given < tops[below])
    if not inside.any():
        return None
    kind: Any = np.float64 if ranking.weighted else np.int64
    return tuple(np.where(inside, held[below].astype(kind), 0) for held in (ranking.positives, ranking.negatives))  # type: ignore[return-value]


def settled_grid(ranking: Ranking, thresholds: ArrayLike, ends: tuple[float, float] = REACH) -> tuple[Floats, str]:
    """The thresholds with those inside a bin moved to its nearest edge, where the counts are exact, and what was done.

    Edges outside `ends`, the first of which is allowed, are left out; so is a threshold with no other edge.

    >>> seen = Ranking(np.array([0.5]), np.array([2]), np.array([1]), joined=np.array([True]), ends=np.array([0.75]))
    >>> settled_grid(seen, [0.25, 0.52, 0.7])[0]
    array([0.25, 0.5 , 0.75])
    """
    given = np.asarray(thresholds, dtype=np.float64)
    if (more := more_at(ranking, given)) is None or ranking.tops is None:
        return given, ""
    at = np.flatnonzero((more[0] > 0) | (more[1] > 0))
    place = places(ranking, given[at])
    edges = np.stack([ranking.scores[place], ranking.tops[place]])
    away = np.abs(edges - given[at])
    away[~((edges >= ends[0]) & (edges < ends[1]) & np.isfinite(edges))] = np.inf
    nearest = away.argmin(axis=0)
    made = given.copy()
    made[at] = edges[nearest, np.arange(len(at))]
    made = np.delete(made, at[~np.isfinite(away.min(axis=0))])
    # Of several that were moved to one edge, the first stays.
    kept = np.sort(np.unique(made, return_index=True)[1])
    least = away.min(axis=0)
    furthest = float(least[np.isfinite(least)].max(initial=0.0))
    said = f"{len(at):,} of {len(given):,} thresholds fell inside a bin of scores that were counted together"
    return made[kept], f"{said}, and were moved to its nearest edge, by {furthest:.1g} at most."


def between_points(ranking: Ranking) -> str:
    """What is known between the points of a curve from bins of scores; nothing to say where every score is a point.

    >>> between_points(Ranking(np.array([0.5]), np.array([2]), np.array([1])))
    ''
    """
    if ranking.joined is None or not ranking.joined.any():
        return ""
    bins = int(np.count_nonzero(ranking.joined))
    return (
        f"The counts at the points are exact. Between them lie {bins:,} bins of scores that were counted together: "
        "there TP and FP lie between those of the neighbouring points, and the line is what random order would give."
    )


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
