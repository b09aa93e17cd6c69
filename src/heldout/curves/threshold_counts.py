"""What a ranking says at given thresholds: counts, and the whole confusion matrix for count intervals."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from heldout.arguments import check_level
from heldout.arrays import Floats
from heldout.curves.curve import Band
from heldout.errors import OptionError, ValuesError
from heldout.evidence import Confusion, Label
from heldout.evidence.ranking import Ranking, cut_at, running
from heldout.intervals.count_estimator import DEFAULTS, Estimator
from heldout.intervals.draws import Draws
from heldout.intervals.methods import METHODS
from heldout.intervals.target import Subject
from heldout.measures.cells import CORNERS, SUMS, class_cells
from heldout.measures.quantity import Bound, Quantity
from heldout.threads import cached_property

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
    return tuple(np.concatenate([np.zeros(1, dtype=sums.dtype), sums])[reached] for sums in (ranking.tp, ranking.fp))  # type: ignore[return-value]


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
    indices = places(ranking, given[at])
    edges = np.stack([ranking.scores[indices], ranking.tops[indices]])
    away = np.abs(edges - given[at])
    away[~((edges >= ends[0]) & (edges < ends[1]) & np.isfinite(edges))] = np.inf
    nearest = away.argmin(axis=0)
    settled = given.copy()
    settled[at] = edges[nearest, np.arange(len(at))]
    settled = np.delete(settled, at[~np.isfinite(away.min(axis=0))])
    # Of several that were moved to one edge, the first stays.
    kept = np.sort(np.unique(settled, return_index=True)[1])
    least = away.min(axis=0)
    furthest = float(least[np.isfinite(least)].max(initial=0.0))
    note = f"{len(at):,} of {len(given):,} thresholds fell inside a bin of scores that were counted together"
    return settled[kept], f"{note}, and were moved to its nearest edge, by {furthest:.1g} at most."


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


# Intervals of a count measure at many thresholds at once, each by the measure's default method.


# Methods that draw, and evidence with weights or groups, are worked out at no more thresholds than this.
MOST_DRAWN = 200
# Two thresholds to a batch leave room for 9,999 draws each.
BATCH = 2


@dataclass(frozen=True, eq=False)
class ThresholdTables(Confusion):
    """One 2 × 2 table per threshold, where interval methods expect one per class."""

    tables: Floats | None = None

    @cached_property
    def corners(self) -> Floats:
        """TP, FN, FP, TN at every threshold."""
        return np.zeros((0, 4)) if self.tables is None else self.tables


def check_counted(bound: Bound) -> Bound:
    """A measure that TP, FP, FN and TN alone determine.

    >>> from heldout.measures.catalogue import find
    >>> check_counted(find("f1")).name
    'f1'
    """
    measure = bound.measure
    if measure.scope not in ("class", "table") or not set(measure.cells) <= {*CORNERS, *SUMS}:
        raise OptionError(
            f"{bound.name} is not determined by TP, FP, FN and TN, so it has no value at a threshold.",
            hint="ask for a count measure such as f1, accuracy, kappa or mcc.",
        )
    return bound


def corners_at(ranking: Ranking, thresholds: Floats) -> Floats:
    """TP, FN, FP, TN at every threshold: an array (T, 4).

    >>> corners_at(Ranking(np.array([0.9, 0.4]), np.array([1, 1]), np.array([0, 2])), np.array([0.5]))
    array([[1., 1., 0., 2.]])
    """
    tp, fp = counts_at(ranking, thresholds)
    fn, tn = ranking.n_positive - tp, ranking.n_negative - fp
    if ranking.weighted:
        # Summed from below: a small difference of large weights is rounding.
        reached = places(ranking, thresholds)
        fn, tn = (np.append(running(side[::-1])[::-1], 0.0)[reached] for side in (ranking.positives, ranking.negatives))
    return np.stack([tp, fn, fp, tn], axis=1).astype(np.float64)


def values_at(bound: Bound, corners: Floats) -> Floats:
    """The declared formula at every threshold at once."""
    return np.asarray(bound.value(class_cells(*corners.T)), dtype=np.float64)


def count_band(ranking: Ranking, bound: Bound, thresholds: Floats, *, level: float = 0.95, seed: int = 0) -> Band:
    """Limits of the measure at each threshold, as if that threshold had been fixed beforehand.

    Where a method draws or the cases carry weights or groups, an even selection of the thresholds is worked out and the
    others are nan.

    >>> from heldout.measures.catalogue import find
    >>> seen = Ranking(np.array([0.9, 0.4]), np.array([12, 28]), np.array([0, 2]))
    >>> band = count_band(seen, find("recall"), np.array([0.5]))
    >>> print(f"{band.method} {band.low[0]:.3f} {band.high[0]:.3f}")
    wilson 0.181 0.454
    """
    level = check_level(level)
    low, high = np.full(len(thresholds), np.nan), np.full(len(thresholds), np.nan)
    if ranking.weighted or ranking.groups is not None:
        name = ""
        for at in _selection(len(thresholds)):
            seen = confusion_at(ranking, float(thresholds[at]))
            band = Estimator(seen, level, seed).ask(Quantity(bound, class_=True))
            low[at], high[at], name = band.low, band.high, band.method
        return Band("pointwise", name, level, thresholds, low, high, seed)
    name = DEFAULTS[bound.measure.kind]
    corners = corners_at(ranking, thresholds)
    if name != "dirichlet":
        low, high = _limits(bound, corners, name, level, seed)
        return Band("pointwise", name, level, thresholds, low, high)
    kept = _selection(len(thresholds))
    for start in range(0, len(kept), BATCH):
        some = kept[start : start + BATCH]
        low[some], high[some] = _limits(bound, corners[some], name, level, seed)
    return Band("pointwise", name, level, thresholds, low, high, seed)


def _limits(bound: Bound, corners: Floats, name: str, level: float, seed: int) -> tuple[Floats, Floats]:
    none = np.zeros(0, dtype=np.int64)
    tables = ThresholdTables(tuple(range(len(corners))), none, none, none, tables=corners)
    low, high = METHODS[name].find(Subject(bound, tables, "class"), level, Draws(tables, seed))
    return np.asarray(low, dtype=np.float64), np.asarray(high, dtype=np.float64)


def _selection(size: int) -> NDArray[np.int64]:
    return np.unique(np.linspace(0, max(size - 1, 0), min(size, MOST_DRAWN)).round().astype(np.int64))
