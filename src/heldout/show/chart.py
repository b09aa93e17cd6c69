"""A chart as data: axes, lines, bands and dots, before it is known where it will be drawn."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from heldout.show.explorer import Expression

Tone: TypeAlias = Literal["accent", "second", "third", "fourth", "fifth", "sixth", "seventh", "quiet"]
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


@dataclass(frozen=True, slots=True)
class Ribbon:
    """The room between two lines, such as the band of a curve."""

    x: tuple[float, ...]
    low: tuple[float, ...]
    high: tuple[float, ...]
    tone: Tone = "accent"


@dataclass(frozen=True, slots=True)
class Dots:
    """Points, each with the limits of its y where they are known."""

    x: tuple[float, ...]
    y: tuple[float, ...]
    low: tuple[float, ...] = ()
    high: tuple[float, ...] = ()
    size: tuple[float, ...] = ()
    name: str = ""
    tone: Tone = "accent"


@dataclass(frozen=True, slots=True)
class Chart:
    """A chart with a title, a description for those who cannot see it, and a table of the points behind it.

    `moves` says where the mark of the page's `Explorer` stands on it: x and y in the explorer's names. Forms that
    cannot draw leave the chart out and keep nothing of it.
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
