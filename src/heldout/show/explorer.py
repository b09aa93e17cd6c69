"""A quantity that a reader moves, and the figures that move with it, as data."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

# A name, a number, or an operator with its operands: ("/", "tp", ("+", "tp", "fn")). A page can evaluate it without
# being given code to run, which a strict security policy forbids.
Expression: TypeAlias = Any

POSITION = "position"
"""The name under which formulas find the value of the position itself."""


def _power(base: float, exponent: float) -> float:
    """A power where it is a real number that a float can hold, otherwise nan."""
    try:
        power = base**exponent
    except (OverflowError, ZeroDivisionError):
        return math.nan
    return math.nan if isinstance(power, complex) else power


OPERATORS: Mapping[str, Any] = {
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
    "/": lambda a, b: math.nan if b == 0 else a / b,
    "neg": lambda a: -a,
    "sqrt": lambda a: math.sqrt(a) if a >= 0 else math.nan,
    "log": lambda a: math.log(a) if a > 0 else math.nan,
    "pow": _power,
    "abs": abs,
    "min": min,
    "max": max,
}


def evaluated(expression: Expression, names: Mapping[str, float]) -> float:
    """The value of an expression; what is divided by zero is nan.

    >>> evaluated(("/", "tp", ("+", "tp", "fn")), {"tp": 3, "fn": 1})
    0.75
    """
    if isinstance(expression, str):
        return names[expression]
    if isinstance(expression, tuple | list):
        operator, *operands = expression
        return float(OPERATORS[operator](*(evaluated(part, names) for part in operands)))
    return float(expression)


@dataclass(frozen=True, slots=True)
class Knob:
    """A number that the reader may change, such as the cost of a miss."""

    name: str
    title: str
    value: float
    low: float = 0.0
    high: float = math.inf
    detail: str = ""


@dataclass(frozen=True, slots=True)
class Moving:
    """A figure that moves: its formula in the explorer's names, and its limits at every position.

    The limits hold for the data as they are: where a knob that the formula leans on has been moved, they are not shown.
    `method` says how the limits are made, once for all positions or for each. `how` names the section that says how the
    number is made; `undefined` says why there is no value where it is nan.
    """

    name: str
    title: str
    formula: Expression
    low: tuple[float, ...] = ()
    high: tuple[float, ...] = ()
    method: str | tuple[str, ...] = ""
    style: str = "share"
    how: str = ""
    undefined: str = ""


@dataclass(frozen=True, slots=True)
class Explorer:
    """One slider over `positions`; `columns` and `constants` are the names that stand in formulas, with their values.

    `title` is what is moved, such as "Threshold"; formulas know its value as `position`. `derived` adds names made from
    all those and from the knobs, in this order, so that later ones may use earlier ones. `matrix` is a table of counts,
    row by row, in formulas; `changed` says what is told when a knob that alters the data (one of `alters`) differs from
    its first value. `left_out` is the number of positions that are not kept; `limits` stands over the limits.
    """

    title: str
    positions: tuple[float, ...]
    start: int
    columns: tuple[tuple[str, tuple[float, ...]], ...]
    constants: tuple[tuple[str, float], ...]
    derived: tuple[tuple[str, Expression], ...] = ()
    knobs: tuple[Knob, ...] = ()
    figures: tuple[Moving, ...] = ()
    rows: tuple[str, ...] = ()
    headers: tuple[str, ...] = ()
    matrix: tuple[tuple[Expression, ...], ...] = ()
    alters: tuple[str, ...] = ()
    changed: str = ""
    marks: tuple[tuple[str, int], ...] = ()
    left_out: int = 0
    detail: str = ""
    limits: str = "interval"
