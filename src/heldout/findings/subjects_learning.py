"""What the rules about learning curves need to see of one."""

from __future__ import annotations

from typing import Protocol

from heldout.arrays import Floats


class FigureSubject(Protocol):
    """A value and the interval around it."""

    @property
    def value(self) -> float:
        """The value."""

    @property
    def low(self) -> float:
        """The lower limit."""

    @property
    def high(self) -> float:
        """The upper limit."""


class LawSubject(Protocol):
    """The law that was fitted to a curve."""

    @property
    def shape(self) -> str:
        """Whether the curve is falling, flat, rising, or not known."""

    @property
    def slope(self) -> FigureSubject:
        """The change of the error when the size doubles."""

    @property
    def present(self) -> float:
        """The number of rows that there are."""

    @property
    def undefined(self) -> str:
        """Why there is no law, where there is none."""

    def at(self, size: float) -> FigureSubject:
        """The error that the law expects at a size."""


class CurveSubject(Protocol):
    """A learning curve, as its rules see it."""

    @property
    def sizes(self) -> tuple[int, ...]:
        """The sizes of the training sets."""

    @property
    def draws(self) -> int:
        """How many training sets of each size there are."""

    @property
    def law(self) -> LawSubject:
        """The law."""

    @property
    def low(self) -> Floats:
        """The lower limit of the test error at each size."""

    def mean(self, part: str) -> Floats:
        """The mean error at each size, of the "training" or the "test" part."""
