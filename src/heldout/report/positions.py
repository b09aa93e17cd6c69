"""The thresholds that a page lets its reader choose from, and the named ones among them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from heldout.arrays import Floats
from heldout.curves.coarse import places_of, shortened
from heldout.curves.thresholds import counts_at
from heldout.evidence import Ranking

Worth = Callable[[Any, Any], Floats]

ROUND = np.arange(1, 20) / 20
CURRENT, CHEAPEST, HIGHEST_F, HIGHEST_J = "current threshold", "cheapest", "highest F1", "highest Youden's J"


@dataclass(frozen=True, slots=True, eq=False)
class Positions:
    """Thresholds from low to high with the exact counts at each; `marks` are the named ones."""

    thresholds: Floats
    tp: NDArray[Any]
    fp: NDArray[Any]
    start: int
    marks: tuple[tuple[str, int], ...]
    left_out: int


def positions(
    ranking: Ranking, most: int, *, current: float | None, near: tuple[float, float], costs: tuple[float, float]
) -> Positions:
    """At most about `most` thresholds: every distinct score if there are that few, else even in rank and in score.

    `near` are the TP and FP to start from where no threshold is current; `costs` are those of a miss and of a false
    alarm, each beyond what the right answer costs.

    >>> seen = Ranking(np.array([0.9, 0.4, 0.2]), np.array([3, 1, 1]), np.array([0, 2, 3]))
    >>> found = positions(seen, 10, current=0.5, near=(0, 0), costs=(1.0, 1.0))
    >>> found.thresholds, found.marks[:2]
    (array([0.2, 0.4, 0.5, 0.9, 0.9]), (('current threshold', 2), ('cheapest', 3)))
    """
    short = shortened(ranking)
    miss, alarm = costs
    positives, negatives = ranking.n_positive, ranking.n_negative
    named: dict[str, float] = {} if current is None else {CURRENT: current}
    cheap, cost = _best(ranking, short, lambda tp, fp: -(miss * (positives - tp) + alarm * fp))
    # Calling nothing positive has no score of its own: it begins just above the highest, or above the highest bin.
    none = float(np.nextafter(ranking.scores[0], np.inf) if ranking.ends is None else ranking.ends[0])
    named[CHEAPEST] = none if -miss * positives > cost else cheap
    named[HIGHEST_F], _ = _best(ranking, short, lambda tp, fp: 2 * tp / (tp + positives + fp))
    named[HIGHEST_J], _ = _best(ranking, short, lambda tp, fp: tp / positives - fp / negatives)
    chosen = _chosen(ranking, most)
    thresholds = np.unique(np.concatenate([chosen, list(named.values()), [none]]))
    tp, fp = counts_at(shortened(ranking, thresholds), thresholds)
    marks = tuple((name, int(np.searchsorted(thresholds, at))) for name, at in named.items())
    at = dict(marks).get(CURRENT)
    start = int((np.abs(tp - near[0]) + np.abs(fp - near[1])).argmin()) if at is None else at
    kept = len(np.unique(places_of(ranking, thresholds)))
    return Positions(thresholds, tp, fp, start, marks, max(len(ranking) - kept, 0))


def _chosen(ranking: Ranking, most: int) -> Floats:
    if len(ranking) <= most:
        return ranking.scores
    # People think of round thresholds of probabilities, so these are kept although no case may score them.
    rounds = ROUND if ranking.scores[-1] >= 0 and ranking.scores[0] <= 1 else ROUND[:0]
    if ranking.joined is not None:
        rounds = np.array([at for at in rounds.tolist() if _is_exact(ranking, at)])
    half = most // 2
    by_rank = np.linspace(0, len(ranking) - 1, half).round().astype(np.int64)
    even = np.linspace(float(ranking.scores[-1]), float(ranking.scores[0]), most - half)
    by_score = np.maximum(places_of(ranking, even) - 1, 0)
    return np.concatenate([ranking.scores[np.union1d(by_rank, by_score)], rounds])


def _is_exact(ranking: Ranking, threshold: float) -> bool:
    """Whether the counts at a threshold are known: not so inside a bin of scores."""
    tp_low, tp_high, fp_low, fp_high = ranking.between(threshold)
    return bool(tp_low == tp_high and fp_low == fp_high)


def _best(ranking: Ranking, short: Ranking, worth: Worth) -> tuple[float, float]:
    """The highest threshold at which something is worth most, of all distinct scores, and how much that is.

    What is worth more grows with TP and falls with FP. So within a run of joined scores it is at most what TP at its
    end and FP at its start would be worth, and only runs that could beat the best end are looked into.
    """
    tp, fp = short.tp.astype(np.float64), short.fp.astype(np.float64)
    at_ends = worth(tp, fp)
    best = int(np.argmax(at_ends))
    found = float(short.scores[best]), float(at_ends[best])
    if short is ranking:
        return found
    ends = places_of(ranking, short.scores)
    starts = np.concatenate([[0], ends[:-1]])
    before = [np.concatenate([[0.0], held[:-1]]) for held in (tp, fp)]
    for run in np.flatnonzero((worth(tp, before[1]) > found[1]) & (ends - starts > 1)).tolist():
        inside = slice(int(starts[run]), int(ends[run]))
        held = [
            first[run] + np.cumsum(side[inside], dtype=np.float64)
            for first, side in zip(before, (ranking.positives, ranking.negatives), strict=True)
        ]
        values = worth(held[0], held[1])
        top = int(np.argmax(values))
        if values[top] > found[1]:
            found = float(ranking.scores[inside][top]), float(values[top])
    return found
