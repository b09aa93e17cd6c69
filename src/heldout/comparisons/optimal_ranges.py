"""Which of several models is best for which costs and prevalence: the convex hull of all their ROC curves together.

Every vertex of the joint hull is the cheapest operating point for a range of slopes, and a slope stands for costs and
prevalence together: (p(−) · C(+|−)) / (p(+) · C(−|+)), which is (1 − PC(+)) / PC(+). A model that touches the hull
nowhere is best for no costs at all. Provost & Fawcett (2001), Robust classification for imprecise environments,
Machine Learning 42, 203-231; Drummond & Holte (2006) for the probability cost PC(+).
"""

from __future__ import annotations

import math
import numbers
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from heldout.arguments import check_prevalence, listing
from heldout.curves.curve import CHECK_CLASSES, Curve, hull_places
from heldout.curves.decision import normalized_cost
from heldout.curves.roc import roc
from heldout.errors import OptionError, ValuesError
from heldout.evidence import Label
from heldout.evidence.ranking import Ranking
from heldout.result import Result, make_row
from heldout.show.blocks import Block, Cell, Note, Prose, Range, Table, Title, head_columns
from heldout.show.numbers import limits, percent

ALWAYS_NO = "always no"
ALWAYS_YES = "always yes"
OPTIMISTIC = "The hull is chosen on these cases, so it is optimistic for others, and narrow ranges are chance."
# Points of one place and of the same range, but for rounding.
TOLERANCE = 1e-12


@dataclass(frozen=True, slots=True)
class HullPoint:
    """A vertex of the joint hull: its rates, and the models that have it with their thresholds there."""

    fpr: float
    tpr: float
    thresholds: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class OptimalRange:
    """A range of probability costs PC(+), and the model that is cheapest there.

    `model` is "always no" or "always yes" where no model is worth asking; `shared` are other models that are as cheap
    all along. Slopes fall as PC(+) rises. The cost ratio is C(−|+) / C(+|−), of a miss to a false alarm, at the
    prevalence of the result.
    """

    model: str
    shared: tuple[str, ...]
    pc_low: float
    pc_high: float
    cost_ratio_low: float
    cost_ratio_high: float
    points: tuple[HullPoint, ...]

    @property
    def slope_low(self) -> float:
        """The smallest slope of the lines of equal cost in this range."""
        return _slope(self.pc_high)

    @property
    def slope_high(self) -> float:
        """The largest slope of the lines of equal cost in this range."""
        return _slope(self.pc_low)


@dataclass(frozen=True, slots=True, eq=False)
class OptimalRanges(Result):
    """Which model is best where: the ranges of PC(+) from 0 to 1, and the hull of all ROC curves."""

    schema: ClassVar[str] = "heldout/optimal-ranges@1"
    rows_name: ClassVar[str] = "ranges"
    _charts: ClassVar[Mapping[str, str]] = {"cost_ranges": "heldout.report.comparison:draw_ranges"}

    names: tuple[str, ...]
    curves: tuple[Curve, ...]
    ranges: tuple[OptimalRange, ...]
    hull: tuple[HullPoint, ...]
    prevalence: float
    n: int
    positive: Label | None = None

    @property
    def never(self) -> tuple[str, ...]:
        """The models that are best nowhere."""
        used = {name for part in self.ranges for name in (part.model, *part.shared)}
        return tuple(name for name in self.names if name not in used)

    @property
    def verdict(self) -> str:
        """Who is best where, in a sentence."""
        words = [
            f"{part.model} for PC(+) {limits(part.pc_low, part.pc_high)}"
            for part in self.ranges
            if part.model in self.names
        ]
        if not words:
            return "No model beats always giving the same prediction, whatever the costs."
        never = f" Nowhere: {listing(self.never)}." if self.never else ""
        return f"Cheapest is {', '.join(words)}.{never}"

    def best_at(self, cost_ratio: float, prevalence: float | None = None) -> OptimalRange:
        """The range for a miss that costs so many times as much as a false alarm, at this prevalence or another."""
        pc = self._probability_cost(cost_ratio, prevalence)
        return next(part for part in self.ranges if pc <= part.pc_high or part is self.ranges[-1])

    def cost_at(self, cost_ratio: float, prevalence: float | None = None) -> float:
        """The normalized expected cost of the best operating point there."""
        pc = self._probability_cost(cost_ratio, prevalence)
        return float(normalized_cost([p.tpr for p in self.hull], [p.fpr for p in self.hull], pc).min())

    def _probability_cost(self, cost_ratio: Any, prevalence: Any) -> float:
        """PC(+) of the arguments of the questions above."""
        number = isinstance(cost_ratio, numbers.Real) and not isinstance(cost_ratio, bool)
        if not number or not float(cost_ratio) > 0:
            raise OptionError(f"A cost ratio is a positive number. Got {cost_ratio!r}.", hint="1 is equal costs.")
        return probability_cost(
            float(cost_ratio), self.prevalence if prevalence is None else check_prevalence(prevalence)
        )

    def rows(self) -> list[dict[str, object]]:
        """One row to each range of PC(+)."""
        return [
            make_row(
                "probability_cost", math.nan, part.pc_low, part.pc_high, class_=self.positive, method="joint hull",
                n=self.n, model=part.model, shared=", ".join(part.shared), slope_low=part.slope_low,
                slope_high=part.slope_high, cost_ratio_low=part.cost_ratio_low,
                cost_ratio_high=part.cost_ratio_high, prevalence=self.prevalence,
            )
            for part in self.ranges
        ]  # fmt: skip

    def facts(self) -> dict[str, object]:
        """The models, the hull and the prevalence."""
        return {
            "models": self.names, "never": self.never, "prevalence": self.prevalence, "positive": self.positive,
            "verdict": self.verdict, "notes": [OPTIMISTIC],
            "hull": [
                {"false_positive_rate": point.fpr, "recall": point.tpr, "thresholds": dict(point.thresholds)}
                for point in self.hull
            ],
        }  # fmt: skip

    def blocks(self) -> list[Block]:
        """The verdict and the table of ranges."""
        words = f"positive is {self.positive}" if self.positive is not None else f"{len(self.names)} models"
        heads = head_columns(
            "cheapest", "PC(+)", f"cost ratio at {percent(self.prevalence, 1)} positive", ">points", "as cheap"
        )
        rows: list[tuple[Cell, ...]] = [
            (
                part.model,
                Range(part.pc_low, part.pc_high),
                Range(part.cost_ratio_low, part.cost_ratio_high, "plain"),
                len(part.points),
                ", ".join(part.shared),
            )
            for part in self.ranges
        ]
        return [
            Title("Best model by costs and prevalence", words),
            Prose(self.verdict, "Verdict"),
            Table(heads, tuple(rows), "PC(+) is the weight of the positives in the cost"),
            Note("The cost ratio is what a miss costs, in false alarms."),
            Note(OPTIMISTIC),
        ]


def probability_cost(cost_ratio: float, prevalence: float) -> float:
    """PC(+) for a ratio of the costs of a miss and a false alarm, and a prevalence.

    >>> round(probability_cost(5.0, 0.1), 4)
    0.3571
    """
    return 1 / (1 + (1 - prevalence) / (prevalence * cost_ratio))


def optimal_ranges(
    rankings: Mapping[str, Ranking], *, prevalence: float | None = None, positive: Label | None = None
) -> OptimalRanges:
    """Which model is cheapest in which range of costs, from the ranking of each by name.

    The cost ratios are for `prevalence`; left out, it is that of all the cases.

    >>> m1 = Ranking(np.array([3.0, 2.0, 1.0]), np.array([6, 2, 2]), np.array([0, 5, 5]))
    >>> m2 = Ranking(np.array([2.0, 1.0]), np.array([9, 1]), np.array([2, 8]))
    >>> result = optimal_ranges({"M1": m1, "M2": m2})
    >>> [(part.model, round(part.pc_low, 3), round(part.pc_high, 3)) for part in result.ranges]
    [('M1', 0.0, 0.4), ('M2', 0.4, 0.889), ('always yes', 0.889, 1.0)]
    """
    if not rankings:
        raise OptionError("There are no models to compare.", hint="give at least one ranking by name.")
    curves = {str(name): roc(ranking, None, positive=positive) for name, ranking in rankings.items()}
    for name, curve in curves.items():
        if curve.undefined:
            raise ValuesError(f"{name} has no ROC curve: {curve.undefined}.", hint=CHECK_CLASSES)
        if name in {ALWAYS_NO, ALWAYS_YES}:
            raise OptionError(f"A model cannot be called {name!r}: no model is.", hint="give it another name.")
    n = round(max(float(ranking.n) for ranking in rankings.values()))
    if prevalence is None:
        totals = [(float(ranking.n_positive), float(ranking.n)) for ranking in rankings.values()]
        prevalence = sum(up for up, _ in totals) / sum(every for _, every in totals)
    share = check_prevalence(prevalence)
    hull = joint_hull(curves)
    return OptimalRanges(
        tuple(curves), tuple(curves.values()), _ranges(hull, tuple(curves), share), hull, share, n, positive
    )


def joint_hull(curves: Mapping[str, Curve]) -> tuple[HullPoint, ...]:
    """The vertices of the convex hull of several ROC curves together, from (0, 0) to (1, 1)."""
    sizes = {(curve.n_positive, curve.n_negative) for curve in curves.values()}
    # On the same cases counts will do, which have no rounding.
    paths = {name: (each.fp, each.tp) if len(sizes) == 1 else (each.x, each.y) for name, each in curves.items()}
    across, up = (np.concatenate([path[side] for path in paths.values()]) for side in (0, 1))
    last, top = across.max(), up.max()
    order = np.lexsort((-up, across))
    across, up = across[order], up[order]
    # A point that is not above all points to its left is no vertex. hull_places takes two points at one place for
    # points on a chord, so each place comes once; the ends are vertices in any case.
    fresh = np.flatnonzero(up > np.maximum.accumulate(np.concatenate([[0 * top], up[:-1]])))
    inner = fresh[(across[fresh] < last) | (up[fresh] < top)]
    x, y = (np.concatenate([[0 * end], values[inner], [end]]) for values, end in ((across, last), (up, top)))
    return tuple(
        HullPoint(float(x[at] / last), float(y[at] / top), _owners(x[at], y[at], paths, curves))
        for at in hull_places(x, y)
    )


def _owners(
    across: Any, up: Any, paths: Mapping[str, tuple[NDArray[Any], NDArray[Any]]], curves: Mapping[str, Curve]
) -> dict[str, float]:
    thresholds = {}
    for name, (x, y) in paths.items():
        near = np.flatnonzero((np.abs(x - across) <= TOLERANCE) & (np.abs(y - up) <= TOLERANCE))
        if len(near):
            thresholds[name] = float(curves[name].threshold[near[0]])
    return thresholds


def _ranges(hull: tuple[HullPoint, ...], names: tuple[str, ...], prevalence: float) -> tuple[OptimalRange, ...]:
    """Neighbouring vertices of one model are one range."""
    across, up = (np.diff([getattr(point, side) for point in hull]) for side in ("fpr", "tpr"))
    borders = np.concatenate([[0.0], across / (across + up), [1.0]])
    groups: list[tuple[set[str], float, float, list[HullPoint]]] = []
    for point, low, high in zip(hull, borders[:-1].tolist(), borders[1:].tolist(), strict=True):
        if high - low <= TOLERANCE:
            continue
        owners = _vertex_models(point)
        if groups and groups[-1][0] & owners:
            before = groups.pop()
            groups.append((before[0] & owners, before[1], high, [*before[3], point]))
        else:
            groups.append((owners, low, high, [point]))
    ranges = []
    for owners, low, high, points in groups:
        first, *others = sorted(owners, key=(*names, ALWAYS_NO, ALWAYS_YES).index)
        ratios = (_ratio(pc, prevalence) for pc in (low, high))
        ranges.append(OptimalRange(first, tuple(others), low, high, next(ratios), next(ratios), tuple(points)))
    return tuple(ranges)


def _vertex_models(point: HullPoint) -> set[str]:
    """At either end of the hull no model is needed: all of them end there."""
    if point.fpr <= TOLERANCE and point.tpr <= TOLERANCE:
        return {ALWAYS_NO}
    if point.fpr >= 1 - TOLERANCE and point.tpr >= 1 - TOLERANCE:
        return {ALWAYS_YES}
    return set(point.thresholds)


def _slope(pc: float) -> float:
    return (1 - pc) / pc if pc > 0 else math.inf


def _ratio(pc: float, prevalence: float) -> float:
    """The cost ratio at which PC(+) has this value."""
    return pc * (1 - prevalence) / ((1 - pc) * prevalence) if pc < 1 else math.inf
