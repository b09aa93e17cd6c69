"""A chart as data: axes, lines, bands, dots, bars and texts, before it is known where it will be drawn."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from heldout.show.explorer import Expression

Tone: TypeAlias = Literal["accent", "second", "third", "fourth", "fifth", "sixth", "seventh", "quiet", "fine", "ink"]
# The tones of things that stand beside each other, in the order in which they are taken.
TONES: tuple[Tone, ...] = ("accent", "second", "third", "fourth", "fifth", "sixth", "seventh")
Shape: TypeAlias = Literal["square", "wide"]


@dataclass(frozen=True, slots=True)
class Axis:
    """What runs along an axis, from where to where, and the places that are marked; without ticks, even ones."""

    title: str
    low: float = 0.0
    high: float = 1.0
    ticks: tuple[tuple[float, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Stroke:
    """A line through points; nan breaks it. Its name stands in the legend, unless it is empty."""

    x: tuple[float, ...]
    y: tuple[float, ...]
    name: str = ""
    tone: Tone = "accent"
    dashed: bool = False
    thick: bool = False
    thin: bool = False
    dash_dot: bool = False


@dataclass(frozen=True, slots=True)
class Ribbon:
    """The room between two lines, such as the band of a curve."""

    x: tuple[float, ...]
    low: tuple[float, ...]
    high: tuple[float, ...]
    tone: Tone = "accent"


@dataclass(frozen=True, slots=True)
class Dots:
    """Points, each with the limits of its y, or `sideways` of its x, where they are known; areas are as sizes."""

    x: tuple[float, ...]
    y: tuple[float, ...]
    low: tuple[float, ...] = ()
    high: tuple[float, ...] = ()
    size: tuple[float, ...] = ()
    name: str = ""
    tone: Tone = "accent"
    sideways: bool = False


@dataclass(frozen=True, slots=True)
class Bars:
    """Upright bars from zero, each between two places along x."""

    start: tuple[float, ...]
    end: tuple[float, ...]
    height: tuple[float, ...]
    tone: Tone = "accent"


@dataclass(frozen=True, slots=True)
class Tiles:
    """Squares of side 1 around places, each on a shade from 0 to 1, with a text in it: the cells of a matrix."""

    x: tuple[float, ...]
    y: tuple[float, ...]
    shade: tuple[float, ...]
    texts: tuple[str, ...] = ()
    tone: Tone = "accent"


@dataclass(frozen=True, slots=True)
class Caption:
    """A text in the plot, beside a place: to its right or left or over its middle, above, below or at its height."""

    x: float
    y: float
    text: str
    align: Literal["left", "middle", "right"] = "left"
    side: Literal["above", "at", "below"] = "at"
    tone: Tone = "quiet"


@dataclass(frozen=True, slots=True)
class Tips:
    """What is told of points that a reader points at: named columns of numbers or texts."""

    x: tuple[float, ...]
    y: tuple[float, ...]
    columns: tuple[tuple[str, tuple[float | str, ...]], ...]


@dataclass(frozen=True, slots=True)
class Panel:
    """A lower plot that shares the x axis of the chart above it."""

    y: Axis
    strokes: tuple[Stroke, ...] = ()
    ribbons: tuple[Ribbon, ...] = ()
    dots: tuple[Dots, ...] = ()
    bars: tuple[Bars, ...] = ()
    texts: tuple[Caption, ...] = ()


@dataclass(frozen=True, slots=True)
class Chart:
    """A chart with a title, a description for those who cannot see it, and a table of the points behind it.

    `moves` says where the mark of the page's `Explorer` stands on it: x and y in the explorer's names. `height` is that
    of the whole drawing where the shape does not set it; `axes` says whether they are drawn. Forms that cannot draw
    leave the chart out and keep nothing of it.
    """

    title: str
    description: str
    x: Axis
    y: Axis
    strokes: tuple[Stroke, ...] = ()
    ribbons: tuple[Ribbon, ...] = ()
    dots: tuple[Dots, ...] = ()
    detail: str = ""
    shape: Shape = "square"
    moves: tuple[Expression, Expression] | None = None
    headers: tuple[str, ...] = ()
    points: tuple[tuple[float, ...], ...] = ()
    bars: tuple[Bars, ...] = ()
    texts: tuple[Caption, ...] = ()
    tips: tuple[Tips, ...] = field(default=(), repr=False)
    below: Panel | None = None
    height: float | None = None
    axes: bool = True
    tiles: tuple[Tiles, ...] = ()

    def _repr_html_(self) -> str:
        from heldout.show.figure import figure_svg

        return figure_svg(self, tips=True)
