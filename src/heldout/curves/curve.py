"""A curve: what happens at every threshold, with its band, its reference lines and how it was made."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, ClassVar, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from heldout.arrays import Floats
from heldout.errors import OptionError
from heldout.evidence import Label
from heldout.result import Result, bound_late
from heldout.show.blocks import Block, Cell, Column, Note, Number, Prose, Range, Style, Table, Title
from heldout.show.numbers import count, number

if TYPE_CHECKING:
    from heldout.show.chart import Chart


BandKind: TypeAlias = Literal["pointwise", "simultaneous"]
# The number of points that are printed; `rows` has all of them.
SHOWN = 11


# Default of a column that was not given; it is filled with nan, or from the band.
ABSENT: Any = object()
POINTS = ("threshold", "tp", "fp", "low", "high")


@dataclass(frozen=True, slots=True)
class Scale:
    """One axis: the name of what runs along it, its title in words, and its range where that is known.

    A "probit" scale is drawn in normal deviates; the values stay rates.
    """

    name: str
    title: str
    low: float | None = 0.0
    high: float | None = 1.0
    drawn: Literal["linear", "probit"] = "linear"
    style: Style = "share"


@dataclass(frozen=True, slots=True)
class Reference:
    """A line to compare with, such as the chance diagonal: its name and its corners."""

    name: str
    x: tuple[float, ...]
    y: tuple[float, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Band:
    """The uncertainty of a curve: limits of y at places along x.

    A pointwise band holds the truth at any one place, a simultaneous band all along, each with the level's probability.
    """

    kind: BandKind
    method: str
    level: float
    x: Floats
    low: Floats
    high: Floats
    seed: int | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Curve(Result):
    """A curve over the thresholds: one point per distinct score, or per threshold or bin asked for.

    `low` and `high` are the band's limits at the points; `band` has the places at which it is drawn. `stepped` says
    that y holds its value down to the next lower x, as a measure does between two scores. `undefined` says why there is
    nothing to draw, where that is so. `between` says what lies between the points where scores were counted in bins.
    `outcomes` are the two kinds of cases in words: of a confidence, "right" and "wrong".
    """

    schema: ClassVar[str] = "heldout/curve@1"
    rows_name: ClassVar[str] = "points"
    _drawn_by: ClassVar[str] = "heldout.curves.curve_chart:draw_alone"

    kind: str
    title: str
    x_scale: Scale
    y_scale: Scale
    x: Floats
    y: Floats
    n_positive: int | float
    n_negative: int | float
    threshold: Floats = ABSENT
    tp: NDArray[Any] = ABSENT
    fp: NDArray[Any] = ABSENT
    low: Floats = ABSENT
    high: Floats = ABSENT
    extra: Mapping[str, NDArray[Any]] = field(default_factory=dict)
    band: Band | None = None
    area: float | None = None
    area_name: str = ""
    references: tuple[Reference, ...] = ()
    positive: Label | None = None
    notes: tuple[str, ...] = ()
    undefined: str = ""
    stepped: bool = False
    dropped: int = 0
    between: str = ""
    outcomes: tuple[str, str] = ("positive", "negative")

    def __post_init__(self) -> None:
        unknown = np.full(len(self.x), np.nan)
        for name in POINTS:
            if getattr(self, name) is ABSENT:
                column = getattr(self.band, name, unknown) if name in ("low", "high") else unknown
                object.__setattr__(self, name, column)

    def __len__(self) -> int:
        return len(self.x)

    @property
    def n(self) -> int | float:
        """The number of positives and negatives, or their weight."""
        return self.n_positive + self.n_negative

    def columns(self) -> dict[str, NDArray[Any]]:
        """Every column of the points by its name, in the order of the rows."""
        named = {"threshold": self.threshold, "tp": self.tp, "fp": self.fp, "x": self.x, "y": self.y}
        # Bins stand at no threshold.
        named = named if not self.extra else {"x": self.x, "y": self.y}
        limits = {"low": self.low, "high": self.high} if self.band is not None else {}
        return {**named, **limits, **self.extra}

    def taken(self, kept: NDArray[Any]) -> Curve:
        """The same curve with only the points at these places."""
        arrays: dict[str, Any] = {name: getattr(self, name)[kept] for name in ("x", "y", *POINTS)}
        return replace(self, **arrays, extra={name: values[kept] for name, values in self.extra.items()})

    def rows(self) -> list[dict[str, object]]:
        """One row per point; a curve has no single value, so `curve`, x and y stand in place of measure and value."""
        columns = {name: values.tolist() for name, values in self.columns().items()}
        head = {"curve": self.kind, "class": self.positive}
        tail = {"level": self.band.level, "method": self.band.method} if self.band else {}
        return [
            {**head, **dict(zip(columns, point, strict=True)), **tail} for point in zip(*columns.values(), strict=True)
        ]

    def facts(self) -> dict[str, object]:
        """What kind of curve it is, of which class, and where its band comes from."""
        band = self.band
        return {
            "kind": self.kind,
            "x": {"name": self.x_scale.name, "title": self.x_scale.title},
            "y": {"name": self.y_scale.name, "title": self.y_scale.title},
            "n_positive": self.n_positive,
            "n_negative": self.n_negative,
            "positive": self.positive,
            "area": self.area,
            "area_name": self.area_name,
            "band": None if band is None else {
                "kind": band.kind, "method": band.method, "level": band.level, "seed": band.seed,
                "x": band.x, "low": band.low, "high": band.high,
            },
            "references": [{"name": line.name, "x": line.x, "y": line.y} for line in self.references],
            "dropped": self.dropped,
            "undefined": self.undefined,
            "notes": list(self.notes),
            **({"between": self.between} if self.between else {}),
        }  # fmt: skip

    def summary(self) -> str:
        """The size of the evidence, and the area where there is one, in a few words."""
        words = f"{count(self.n_positive)} {self.outcomes[0]}, {count(self.n_negative)} {self.outcomes[1]}"
        if self.positive is not None:
            words += f"; positive is {self.positive}"
        if self.area is not None and not math.isnan(self.area):
            words = f"{self.area_name} {number(self.area)}; {words}"
        return words

    def blocks(self) -> list[Block]:
        """The area and a selection of the points."""
        blocks: list[Block] = [Title(self.title, self.summary())]
        if self.undefined:
            return [*blocks, Note(f"undefined: {self.undefined}")]
        blocks.append(self._table())
        if len(self) > SHOWN:
            blocks.append(Prose(f"{SHOWN} of {len(self):,} points."))
        if self.band is not None:
            blocks.append(Prose(f"Limits: {self.band.kind}, {self.band.level:g}, {self.band.method}."))
        return [*blocks, *(Note(note) for note in (*self.notes, self.between) if note)]

    def _table(self) -> Table:
        styles: dict[str, tuple[str, Style]] = {
            "threshold": ("threshold", "plain"),
            "tp": ("TP", "count"),
            "fp": ("FP", "count"),
            "x": (self.x_scale.name.replace("_", " "), self.x_scale.style),
            "y": (self.y_scale.name.replace("_", " "), self.y_scale.style),
            **{name: (name.replace("_", " "), "count" if name in COUNTED else "share") for name in self.extra},
        }
        if self.x_scale.name == "threshold":
            del styles["threshold"]
        columns = self.columns()
        kept = np.unique(np.linspace(0, len(self) - 1, min(len(self), SHOWN)).round().astype(np.int64))
        shown = [name for name in styles if name in columns]
        rows: list[tuple[Cell, ...]] = []
        for at in kept:
            cells: list[Cell] = [Number(columns[name][at].item(), styles[name][1]) for name in shown]
            if self.band is not None:
                cells.append(Range(self.low[at].item(), self.high[at].item(), self.y_scale.style))
            rows.append(tuple(cells))
        heads = [Column(styles[name][0], "right") for name in shown]
        if self.band is not None:
            heads.append(Column(f"{100 * self.band.level:g} % limits"))
        return Table(tuple(heads), tuple(rows))

    def hull(self) -> Curve:
        """The vertices of the convex hull of a ROC curve: the points that are best at some cost and prevalence."""
        if self.kind != "roc":
            raise OptionError(
                f"A {self.title} has no convex hull.", hint="take the hull of roc(ranking), or use cost_curve(ranking)."
            )

        return roc_hull(self)

    @property
    def chart_kinds(self) -> tuple[str, ...]:
        """Its own kind: a curve is drawn as what it is."""
        return (self.kind,)

    def _draw(self, kind: str | None = None, **options: Any) -> Chart:
        """The chart of the curve; with `hull=True`, a ROC curve with its convex hull."""
        if kind not in (None, self.kind):
            super(Curve, self)._draw(kind)
        chart: Chart = bound_late(self._drawn_by)(self, **options)
        return chart


# The hint where a curve cannot be drawn.
CHECK_CLASSES = "check the labels and which class is positive."
COUNTED = frozenset({"positives", "n"})


# The convex hull of a ROC curve: the operating points that are best for some costs and prevalence.


def hull_places(fp: NDArray[Any], tp: NDArray[Any]) -> NDArray[np.int64]:
    """The places of the vertices of the upper hull of points in order of fp and tp; exact for whole counts.

    >>> hull_places(np.array([0, 0, 1, 2, 4]), np.array([0, 2, 2, 4, 4]))
    array([0, 1, 3, 4])
    """
    kept = np.arange(len(fp))
    while len(kept) > 2:
        below = _below(fp[kept], tp[kept])
        # A point on or under a chord is no vertex, so all of them may go at once.
        kept = kept[~below]
        if below.sum() * 20 < len(kept):
            break
    return _chain(fp, tp, kept)


def _below(fp: NDArray[Any], tp: NDArray[Any]) -> NDArray[np.bool_]:
    across, up = np.diff(fp), np.diff(tp)
    inner = across[:-1] * up[1:] - up[:-1] * across[1:] >= 0
    return np.concatenate([[False], inner, [False]])


def _chain(fp: NDArray[Any], tp: NDArray[Any], kept: NDArray[np.int64]) -> NDArray[np.int64]:
    """Andrew's monotone chain, in Python's numbers: whole counts have no rounding and no overflow."""
    xs, ys = fp[kept].tolist(), tp[kept].tolist()
    stack: list[int] = []
    for at in range(len(xs)):
        while len(stack) > 1:
            before, last = stack[-2], stack[-1]
            if (xs[last] - xs[before]) * (ys[at] - ys[before]) - (ys[last] - ys[before]) * (xs[at] - xs[before]) < 0:
                break
            stack.pop()
        stack.append(at)
    return kept[np.array(stack, dtype=np.int64)]


def roc_hull(curve: Curve) -> Curve:
    """The hull of a ROC curve, with its own area."""
    if curve.undefined:
        return curve
    hull = curve.taken(hull_places(curve.fp, curve.tp))
    return replace(
        hull,
        kind="roc_hull",
        title="Convex hull of the ROC curve",
        band=None,
        low=ABSENT,
        high=ABSENT,
        area=float(np.trapezoid(hull.y, hull.x)),
        area_name="area under the hull",
        notes=("The hull is chosen on these cases, and its area is optimistic for others.",),
    )
