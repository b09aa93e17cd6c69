"""Curves declared once: what a kind of curve is called, its axes, how it is drawn, and where a page shows it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from inspect import signature
from typing import Any, Literal, ParamSpec, TypeAlias

from heldout.arguments import closest, listing
from heldout.arrays import Floats
from heldout.curves.curve import BandKind, Curve, Reference, Scale
from heldout.curves.threshold_counts import between_points
from heldout.errors import OptionError
from heldout.evidence.ranking import Ranking
from heldout.measures.symbolic import (
    COST_ALARM,
    COST_MISS,
    PREVALENCE,
    RAW_FP,
    RAW_NEGATIVES,
    RAW_POSITIVES,
    RAW_TP,
    Symbol,
)
from heldout.show.chart import Shape
from heldout.show.explorer import POSITION, Expression

Arguments = ParamSpec("Arguments")
Range: TypeAlias = tuple[float, float]


class SliderPosition:
    """What formulas know of the page's threshold: symbols of the counts of the cases as they are, costs and rates."""

    def __init__(self) -> None:
        self.tp, self.fp = Symbol(RAW_TP), Symbol(RAW_FP)
        self.positives, self.negatives = Symbol(RAW_POSITIVES), Symbol(RAW_NEGATIVES)
        self.threshold = Symbol(POSITION)
        self.selected, self.n = self.tp + self.fp, self.positives + self.negatives
        self.tpr, self.fpr = self.tp / self.positives, self.fp / self.negatives
        self.precision = self.tp / self.selected
        prevalence, miss, alarm = map(Symbol, (PREVALENCE, COST_MISS, COST_ALARM))
        # A cost curve is drawn for every prevalence and every cost.
        self.probability_cost = prevalence * miss / (prevalence * miss + (1 - prevalence) * alarm)


@dataclass(frozen=True, slots=True)
class CurveKind:
    """A kind of curve: its names, axes and options, and all that a chart, a page and the help say of it.

    `references` are the lines to compare with, at a prevalence. `line` gives the line through the points where it is
    not straight between them. `y_range` chooses the part of the y axis that is shown. `slider` says where the page's
    threshold stands on the curve, in the names of the page's explorer. `page` is where the page of an evaluation shows
    the curve; lists of curves are in the order of `rank`. `per_score` says that there is a point for every distinct
    score. A kind that is not `listed` goes by other names; `variants` are the names of curves derived from this one.
    """

    name: str
    function: Callable[..., Curve]
    title: str
    x: Scale
    y: Scale
    aliases: tuple[str, ...] = ()
    variants: tuple[str, ...] = ()
    listed: bool = True
    bands: tuple[BandKind, ...] = ("pointwise",)
    references: Callable[[float], tuple[Reference, ...]] = lambda _: ()
    shape: Shape = "square"
    marks: Literal["line", "dots"] = "line"
    line: Callable[[Curve], Curve] | None = None
    line_name: str = ""
    y_range: Callable[[Sequence[Curve]], Range] | None = None
    slider: tuple[Expression, Expression] | None = None
    page: Literal["", "shown", "folded"] = ""
    rank: int = 99
    needs_probabilities: bool = False
    per_score: bool = False

    def compute(self, evidence: Any, settings: Mapping[str, Any], **options: Any) -> Curve:
        """The curve of this evidence; `settings` that this kind does not know are left out."""
        known = signature(self.function).parameters
        return self.function(evidence, **{name: value for name, value in settings.items() if name in known} | options)


CURVE_KINDS: dict[str, CurveKind] = {}


def curve(
    name: str,
    title: str,
    x: Scale,
    y: Scale,
    *,
    slider: Callable[[SliderPosition], tuple[Symbol, Symbol]] | None = None,
    **options: Any,
) -> Callable[[Callable[Arguments, Curve]], Callable[Arguments, Curve]]:
    """Declare the function below as a kind of curve; the options are the fields of `CurveKind`."""

    def declare(function: Callable[Arguments, Curve]) -> Callable[Arguments, Curve]:
        places = None if slider is None else slider(SliderPosition())
        formulas = None if places is None else (places[0].expression, places[1].expression)
        CURVE_KINDS[name] = CurveKind(name, function, title, x, y, slider=formulas, **options)
        return function

    return declare


def plot(name: str, ranking: Ranking, x: Floats, y: Floats, **fields: Any) -> Curve:
    """The curve of a declared kind through these points; `fields` are those of `Curve`."""
    kind = CURVE_KINDS[name]
    prevalence = ranking.n_positive / ranking.n if ranking.n > 0 else float("nan")
    fields = {"references": kind.references(prevalence), "between": between_points(ranking), **fields}
    return Curve(name, kind.title, kind.x, kind.y, x, y, ranking.n_positive, ranking.n_negative, **fields)


def find_curve(name: str) -> CurveKind | None:
    """The listed kind of this name or alias.

    >>> import heldout.curves
    >>> find_curve("pr").title, find_curve("rok")
    ('Precision-recall curve', None)
    """
    return next((kind for kind in list_kinds() if name in {kind.name, *kind.aliases}), None)


def find_kind(curve: Curve) -> CurveKind:
    """The declaration of a curve, or of the curve that it was derived from."""
    return next(kind for kind in CURVE_KINDS.values() if curve.kind in {kind.name, *kind.variants})


def list_kinds() -> list[CurveKind]:
    """The kinds that can be asked for by name, in their order."""
    return sorted((kind for kind in CURVE_KINDS.values() if kind.listed), key=lambda kind: kind.rank)


def check_bands(name: str, bands: str | None) -> BandKind | None:
    """The bands of that name, or none; refuses those that a kind of curve does not have.

    >>> import heldout.curves
    >>> check_bands("roc", "simultaneous")
    'simultaneous'
    """
    if bands is None:
        return None
    allowed = CURVE_KINDS[name].bands
    for kind in allowed:
        if bands == kind:
            return kind
    near = closest(str(bands), allowed)
    raise OptionError(
        f"There are no {bands!r} bands here; there are {listing(allowed)}.", hint=f"use {near or allowed[0]!r} or None."
    )
