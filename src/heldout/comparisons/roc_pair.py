"""ROC curve against ROC curve: which is better where, where they cross, and how sure that is at each rate.

The area sums a curve up in one number, and two curves that cross can have the same. So beside the difference of the
areas this has the difference of the true positive rates at every false positive rate, with a pointwise band from a
bootstrap that draws the same cases for both.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from heldout.arrays import Floats
from heldout.comparisons.delong import delong_paired, resolve_scores
from heldout.comparisons.score_resampling import draw_cases, score_starts, sum_ties
from heldout.curves.curve import Curve
from heldout.curves.roc import roc
from heldout.engines.score_sort import rank
from heldout.errors import OptionError
from heldout.evidence import Label
from heldout.intervals.draws import order_limits
from heldout.intervals.estimate import PairTest
from heldout.result import Result, make_row
from heldout.show.blocks import Block, Cell, Note, Number, Prose, Range, Table, Title, head_columns
from heldout.show.numbers import count, in_brackets, share

# Where one ROC curve lies above another, and where the two cross.
#
# A curve may rise straight up, so it is no function of the false positive rate. Along u = FPR + TPR it is: every line
# of equal u meets a rising curve once, and the curve whose TPR − FPR is larger there is the better one. So the
# crossings of two curves are the changes of sign of a difference that is linear between the points of both, found
# exactly.

RocPath = tuple[Floats, Floats]
Side = Literal["a", "b", ""]

# Rates are counts over counts: what differs by less than this is the same.
CROSSING_HAIR = 1e-12


@dataclass(frozen=True, slots=True)
class CurvePart:
    """A part of two curves on which one is above the other; `better` is empty where they are one.

    It runs from the point (`fpr_low`, `tpr_low`) to (`fpr_high`, `tpr_high`), which both curves pass through.
    """

    better: Side
    fpr_low: float
    tpr_low: float
    fpr_high: float
    tpr_high: float


@dataclass(frozen=True, slots=True)
class Crossing:
    """A point at which the better curve changes: `before` is the better at smaller rates, `after` at larger ones."""

    fpr: float
    tpr: float
    before: Side
    after: Side


def find_parts(a: RocPath, b: RocPath) -> tuple[CurvePart, ...]:
    """The parts on which A or B is above, or both are one, from (0, 0) to (1, 1).

    A path is the false and the true positive rates of a curve's corners.

    >>> a = np.array([0.0, 0.0, 0.5, 1.0]), np.array([0.0, 0.5, 0.75, 1.0])
    >>> b = np.array([0.0, 0.25, 1.0]), np.array([0.0, 1.0, 1.0])
    >>> [(part.better, round(part.fpr_high, 3)) for part in find_parts(a, b)]
    [('a', 0.143), ('b', 1.0)]
    """
    along, height, gap = _differences(a, b)
    signs = np.where(np.abs(gap) <= CROSSING_HAIR, 0, np.sign(gap)).astype(np.int64)
    # Between two corners the sign is that of whichever end is not 0.
    parts = np.where(signs[:-1] != 0, signs[:-1], signs[1:])
    starts = np.flatnonzero(np.diff(parts, prepend=2))
    ends = np.append(starts[1:], len(parts))
    names: dict[int, Side] = {1: "a", -1: "b", 0: ""}
    fpr, tpr = (along - height) / 2, (along + height) / 2
    return tuple(
        CurvePart(names[int(parts[first])], *(float(at[index]) for index in (first, last) for at in (fpr, tpr)))
        for first, last in zip(starts, ends, strict=True)
    )


def find_crossings(parts: tuple[CurvePart, ...]) -> tuple[Crossing, ...]:
    """The points at which the better curve changes; where they first meet, if they then run along each other.

    >>> parts = CurvePart("a", 0, 0, 0.2, 0.6), CurvePart("", 0.2, 0.6, 0.3, 0.7), CurvePart("b", 0.3, 0.7, 1, 1)
    >>> find_crossings(parts)
    (Crossing(fpr=0.2, tpr=0.6, before='a', after='b'),)
    """
    apart = [part for part in parts if part.better]
    return tuple(
        Crossing(before.fpr_high, before.tpr_high, before.better, after.better)
        for before, after in pairwise(apart)
        if before.better != after.better
    )


def _differences(a: RocPath, b: RocPath) -> tuple[Floats, Floats, Floats]:
    """At every corner of either curve, and where they cross between corners: u, A's TPR − FPR, and A's less B's."""
    (u_a, v_a), (u_b, v_b) = ((fpr + tpr, tpr - fpr) for fpr, tpr in (a, b))
    along = np.union1d(u_a, u_b)
    height = np.interp(along, u_a, v_a)
    gap = height - np.interp(along, u_b, v_b)
    before, after = gap[:-1], gap[1:]
    turns = np.flatnonzero((before * after < 0) & (np.minimum(np.abs(before), np.abs(after)) > CROSSING_HAIR))
    share = before[turns] / (before[turns] - after[turns])
    between = along[turns] + share * (along[turns + 1] - along[turns])
    middle = height[turns] + share * (height[turns + 1] - height[turns])
    return (
        np.insert(along, turns + 1, between),
        np.insert(height, turns + 1, middle),
        np.insert(gap, turns + 1, 0.0),
    )


GRID = 101
REPLICATES = 500
# Rates at which the difference is printed; `rows` has all of them.
SHOWN = (0.0, 0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.5, 0.8)
# The number of crossings that are printed at most.
MOST = 10
TOLERANCE = 1e-9


@dataclass(frozen=True, slots=True)
class CurveOrder:
    """Which of two ROC curves is above where: `parts` of the curves themselves, `hull_parts` of their convex hulls."""

    names: tuple[str, str]
    parts: tuple[CurvePart, ...]
    hull_parts: tuple[CurvePart, ...]

    @classmethod
    def of(cls, names: tuple[str, str], curves: tuple[Curve, Curve]) -> CurveOrder:
        """Find the parts of two curves."""
        paths = [(curve.x, curve.y) for curve in curves]
        hulls = [(hull.x, hull.y) for hull in (curve.hull() for curve in curves)]
        return cls(names, find_parts(paths[0], paths[1]), find_parts(hulls[0], hulls[1]))

    @property
    def crossings(self) -> tuple[Crossing, ...]:
        """Where the curves cross."""
        return find_crossings(self.parts)

    @property
    def hull_crossings(self) -> tuple[Crossing, ...]:
        """Where their convex hulls cross."""
        return find_crossings(self.hull_parts)

    @property
    def dominant(self) -> str:
        """The name of the curve that is nowhere below the other and somewhere above it, or nothing."""
        better = {part.better for part in self.parts if part.better}
        return self.name_of(better.pop()) if len(better) == 1 else ""

    @property
    def verdict(self) -> str:
        """Who is better where, in a sentence or two."""
        apart = [part for part in self.parts if part.better]
        if not apart:
            return f"{self.names[0]} and {self.names[1]} have the same ROC curve."
        if self.dominant:
            other = self.names[1] if self.dominant == self.names[0] else self.names[0]
            return f"{self.dominant} dominates: its ROC curve is nowhere below that of {other}."
        crossed = len(self.crossings)
        return f"{self._along_hulls()} The curves themselves cross {_times(crossed)}."

    def _along_hulls(self) -> str:
        apart = [part for part in self.hull_parts if part.better]
        turns = self.hull_crossings
        if not apart:
            return "The convex hulls of the curves are the same."
        if not turns:
            winner = apart[0].better
            return f"The convex hull of {self.name_of(winner)} is nowhere below that of {self.name_of(_other(winner))}."
        first = self.name_of(turns[0].before)
        words = [f"{first} is better at false positive rates up to {share(turns[0].fpr)}"]
        for turn, following in zip(turns[:MOST], (*turns[1:MOST], None), strict=False):
            reach = f"from there to {share(following.fpr)}" if following else "at larger ones"
            words.append(f"{self.name_of(turn.after)} {reach}")
        return f"{', '.join(words)} (by their convex hulls)."

    def name_of(self, side: Side) -> str:
        """The name of one of the two, or nothing."""
        return {"a": self.names[0], "b": self.names[1], "": ""}[side]


@dataclass(frozen=True, slots=True, eq=False)
class RocComparison(Result):
    """Two ROC curves on the same cases: A's true positive rate less B's at each false positive rate, and more.

    `parts` says on which stretches which curve is above, `hull_parts` the same for the convex hulls; `area` is DeLong's
    test of the two areas. `low` and `high` are limits of `difference` at any one rate, not at all of them together.
    """

    schema: ClassVar[str] = "heldout/roc-comparison@1"
    rows_name: ClassVar[str] = "differences"
    _charts: ClassVar[Mapping[str, str]] = {
        "roc": "heldout.report.comparison:draw_pair",
        "difference": "heldout.report.comparison:draw_difference",
    }

    names: tuple[str, str]
    curves: tuple[Curve, Curve]
    area: PairTest
    fpr: Floats
    tpr: tuple[Floats, Floats]
    low: Floats
    high: Floats
    level: float
    replicates: int
    seed: int
    parts: tuple[CurvePart, ...] = ()
    hull_parts: tuple[CurvePart, ...] = ()
    positive: Label | None = None
    undefined: str = ""

    @property
    def difference(self) -> Floats:
        """A's true positive rate less B's at each of the false positive rates."""
        return self.tpr[0] - self.tpr[1]

    @property
    def along(self) -> CurveOrder:
        """Which curve is above where."""
        return CurveOrder(self.names, self.parts, self.hull_parts)

    @property
    def crossings(self) -> tuple[Crossing, ...]:
        """Where the curves cross."""
        return self.along.crossings

    @property
    def hull_crossings(self) -> tuple[Crossing, ...]:
        """Where their convex hulls cross."""
        return self.along.hull_crossings

    @property
    def dominant(self) -> str:
        """The name of the curve that is nowhere below the other and somewhere above it, or nothing."""
        return self.along.dominant

    @property
    def verdict(self) -> str:
        """Who is better where, in a sentence or two."""
        return f"There is nothing to compare: {self.undefined}." if self.undefined else self.along.verdict

    def name_of(self, side: Side) -> str:
        """The name of one of the two, or nothing."""
        return self.along.name_of(side)

    def rows(self) -> list[dict[str, object]]:
        """One row to each false positive rate."""
        columns = (self.fpr, *self.tpr, self.difference, self.low, self.high)
        method = f"paired bootstrap, {self.replicates}"
        return [
            make_row(
                "recall_difference", gap, low, high, class_=self.positive, level=self.level, method=method,
                n=self.area.n, a=self.names[0], b=self.names[1], false_positive_rate=at, recall_a=a, recall_b=b,
            )
            for at, a, b, gap, low, high in zip(*(column.tolist() for column in columns), strict=True)
        ]  # fmt: skip

    def facts(self) -> dict[str, object]:
        """The crossings, the stretches and the areas."""
        tested = self.area
        return {
            "a": self.names[0], "b": self.names[1], "positive": self.positive,
            "n_positive": self.curves[0].n_positive, "n_negative": self.curves[0].n_negative,
            "areas": {
                "a": self.curves[0].area, "b": self.curves[1].area, "difference": tested.difference,
                "low": tested.low, "high": tested.high, "level": tested.level, "method": tested.method,
                "statistic": tested.statistic, "p": tested.p,
            },
            "dominant": self.dominant, "verdict": self.verdict, "undefined": self.undefined,
            "crossings": [self._crossing(point) for point in self.crossings],
            "hull_crossings": [self._crossing(point) for point in self.hull_crossings],
            "stretches": [self._stretch(part) for part in self.parts],
            "hull_stretches": [self._stretch(part) for part in self.hull_parts],
            "replicates": self.replicates, "seed": self.seed,
        }  # fmt: skip

    def _crossing(self, point: Crossing) -> dict[str, object]:
        before, after = self.name_of(point.before), self.name_of(point.after)
        return {"false_positive_rate": point.fpr, "recall": point.tpr, "before": before, "after": after}

    def _stretch(self, part: CurvePart) -> dict[str, object]:
        ends = {"from": (part.fpr_low, part.tpr_low), "to": (part.fpr_high, part.tpr_high)}
        return {"better": self.name_of(part.better) or None, **ends}

    def blocks(self) -> list[Block]:
        """The verdict, the areas, the crossings and the difference at some rates."""
        a, b = self.names
        first = self.curves[0]
        words = f"{count(first.n_positive)} positive, {count(first.n_negative)} negative"
        if self.positive is not None:
            words += f"; positive is {self.positive}"
        blocks: list[Block] = [Title(f"ROC curve of {a} against {b}", words), Prose(self.verdict, "Verdict")]
        if self.undefined:
            return blocks
        tested = self.area
        blocks.append(
            Prose(
                f"{a} {share(self.curves[0].area or 0.0)}, {b} {share(self.curves[1].area or 0.0)}: difference "
                f"{share(tested.difference)}, {100 * tested.level:g} % interval "
                f"{in_brackets(tested.low, tested.high)}, p = {share(tested.p)} (DeLong).",
                "Areas",
            )
        )
        if self.hull_crossings:
            blocks.append(self._crossing_table())
        blocks.append(self._difference_table())
        note = f"Limits of the differences: {self.replicates:,} paired bootstraps, at one false positive rate each."
        return [*blocks, Note(note)]

    def _crossing_table(self) -> Table:
        heads = head_columns(">FPR", ">TPR", "better before", "after")
        rows: list[tuple[Cell, ...]] = [
            (Number(at.fpr), Number(at.tpr), self.name_of(at.before), self.name_of(at.after))
            for at in self.hull_crossings[:MOST]
        ]
        return Table(heads, tuple(rows), "Where the convex hulls cross")

    def _difference_table(self) -> Table:
        heads = head_columns(">FPR", f">TPR of {self.names[0]}", f">TPR of {self.names[1]}", ">difference", "")
        places = np.unique([int(np.abs(self.fpr - rate).argmin()) for rate in SHOWN])
        rows: list[tuple[Cell, ...]] = []
        for at in places:
            cells: list[Cell] = [Number(float(column[at])) for column in (self.fpr, *self.tpr, self.difference)]
            rows.append((*cells, Range(float(self.low[at]), float(self.high[at]))))
        return Table(heads, tuple(rows), "Difference of the true positive rates")


def compare_roc(
    scores_a: ArrayLike,
    scores_b: ArrayLike,
    positive: ArrayLike,
    *,
    names: tuple[str, str] = ("A", "B"),
    label: Label | None = None,
    level: float = 0.95,
    seed: int = 0,
    replicates: int = REPLICATES,
    groups: NDArray[Any] | None = None,
) -> RocComparison:
    """Compare two ROC curves on the same cases; `label` names the positive class in what is printed.

    >>> truth = [True, True, True, False, True, False, False, False]
    >>> result = compare_roc([8, 7, 6, 5, 1, 4, 3, 2], [8, 4, 5, 7, 6, 3, 2, 1], truth, names=("M1", "M2"))
    >>> print(result.verdict)
    M1 is better at false positive rates up to .182, M2 at larger ones (by their convex hulls). The curves \
themselves cross once.
    """
    rows, mask = resolve_scores([np.asarray(scores_a), np.asarray(scores_b)], positive)
    if names[0] == names[1]:
        raise OptionError(f"Both models are called {names[0]!r}.", hint="give each a name of its own.")
    curves = roc(rank(rows[0], mask), None, positive=label), roc(rank(rows[1], mask), None, positive=label)
    area = delong_paired(rows[0], rows[1], mask, level=level, groups=groups)
    if curves[0].undefined:
        none = np.zeros(0)
        return RocComparison(
            names, curves, area, none, (none, none), none, none, level, replicates, seed, positive=label,
            undefined=curves[0].undefined,
        )  # fmt: skip
    grid = np.linspace(0.0, 1.0, GRID)
    tpr = _rates(curves[0].fp, curves[0].tp, grid), _rates(curves[1].fp, curves[1].tp, grid)
    drawn = _resampled(rows, mask, grid, groups, replicates, np.random.default_rng([seed, 26]))
    # A resample of groups can lack a class.
    drawn = drawn[~np.isnan(drawn).any(axis=1)]
    if len(drawn) < 2:
        raise OptionError(
            f"{len(drawn)} resamples of {replicates} have both classes, and a band needs more.",
            hint="use more replicates, or groups that hold both classes.",
        )
    low, high = order_limits(drawn.T, level)
    gap = tpr[0] - tpr[1]
    order = CurveOrder.of(names, curves)
    return RocComparison(
        names, curves, area, grid, tpr, np.minimum(low, gap), np.maximum(high, gap), level, replicates, seed,
        order.parts, order.hull_parts, label,
    )  # fmt: skip


def _rates(fp: NDArray[Any], tp: NDArray[Any], grid: Floats) -> Floats:
    """The highest true positive rate of a curve at each false positive rate, from its counts."""
    # Of several points at one place np.interp takes the last, the top of a rise. The tolerance is for .29 · 100 < 29.
    return np.asarray(np.interp(grid * fp[-1] + TOLERANCE, fp, tp) / tp[-1])


def _resampled(
    scores: Floats,
    mask: NDArray[np.bool_],
    grid: Floats,
    groups: NDArray[Any] | None,
    replicates: int,
    rng: np.random.Generator,
) -> Floats:
    """A's rates less B's on resampled cases, the same for both: an array (replicates, places)."""
    orders = [np.argsort(-row, kind="stable") for row in scores]
    starts = [score_starts(row[order]) for row, order in zip(scores, orders, strict=True)]
    parts = []
    for counts in draw_cases(mask, groups, replicates, rng):
        rates = np.empty((2, len(counts), len(grid)))
        for side, (order, begin) in enumerate(zip(orders, starts, strict=True)):
            ordered, up = counts[:, order], mask[order]
            tp, fp = (
                np.pad(np.cumsum(sum_ties(part, begin), axis=1), ((0, 0), (1, 0)))
                for part in (ordered * up, ordered * ~up)
            )
            for at in range(len(counts)):
                both = tp[at, -1] > 0 and fp[at, -1] > 0
                rates[side, at] = _rates(fp[at], tp[at], grid) if both else np.nan
        parts.append(rates[0] - rates[1])
    return np.concatenate(parts)


def _other(side: Side) -> Side:
    return "b" if side == "a" else "a"


def _times(number: int) -> str:
    return {0: "nowhere", 1: "once", 2: "twice"}.get(number, f"{number:,} times")
