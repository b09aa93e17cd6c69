"""Intervals of a count measure at many thresholds at once, each by the measure's default method."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from heldout.arguments import check_level
from heldout.arrays import Floats
from heldout.curves.curve import Band
from heldout.curves.thresholds import confusion_at, counts_at
from heldout.errors import OptionError
from heldout.estimates.draws import Draws
from heldout.estimates.interval import DEFAULTS, Estimator
from heldout.estimates.methods import METHODS
from heldout.estimates.subject import Subject
from heldout.evidence import Confusion
from heldout.evidence.ranking import Ranking
from heldout.measures.cells import CORNERS, SUMS, class_cells
from heldout.measures.quantity import Bound, Quantity

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
    return np.stack([tp, ranking.n_positive - tp, fp, ranking.n_negative - fp], axis=1).astype(np.float64)


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
            made = Estimator(seen, level, seed).ask(Quantity(bound, class_=True))
            low[at], high[at], name = made.low, made.high, made.method
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
