"""A quantity that a reader moves, the figures that move with it, and both as the data that a page's script reads."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

from heldout.show.escape import visible

if TYPE_CHECKING:
    from heldout.show.chart import Chart

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


T = TypeVar("T")

# Whole numbers up to here are the same as floats, and shorter to write without a point.
_EXACT = 2**53
# What could end the element or begin a comment in it, what old scripts read as line ends, and what has no UTF-8 form.
_UNFIT = re.compile("[<\u2028\u2029\ud800-\udfff]")


@dataclass(frozen=True, slots=True)
class FigureAtPosition:
    """A moving figure where the explorer stands."""

    moving: Moving
    value: float
    low: float
    high: float
    method: str


def ascending(explorer: Explorer) -> Explorer:
    """The same explorer with its positions from low to high, so that a slider grows to the right.

    >>> ascending(Explorer("t", (0.9, 0.1), 0, (("tp", (1, 2)),), ())).columns
    (('tp', (2, 1)),)
    """
    if list(explorer.positions) == sorted(explorer.positions):
        return explorer
    order = sorted(range(len(explorer.positions)), key=explorer.positions.__getitem__)
    where = {old: new for new, old in enumerate(order)}

    def moved(values: Sequence[T]) -> tuple[T, ...]:
        return tuple(values[at] for at in order) if values else ()

    def figure(part: Moving) -> Moving:
        method = part.method if isinstance(part.method, str) else moved(part.method)
        return replace(part, low=moved(part.low), high=moved(part.high), method=method)

    return replace(
        explorer,
        positions=moved(explorer.positions),
        start=where[explorer.start],
        columns=tuple((name, moved(values)) for name, values in explorer.columns),
        figures=tuple(figure(part) for part in explorer.figures),
        marks=tuple((name, where[at]) for name, at in explorer.marks),
    )


def names_at(explorer: Explorer, at: int, knobs: Mapping[str, float] | None = None) -> dict[str, float]:
    """Every name that formulas may use at one position, with knobs where they are said to stand or where they start.

    >>> names_at(Explorer("t", (0.5,), 0, (("tp", (3,)),), (("n", 4),), (("fn", ("-", "n", "tp")),)), 0)
    {'position': 0.5, 'n': 4, 'tp': 3, 'fn': 1.0}
    """
    names: dict[str, float] = {POSITION: explorer.positions[at], **dict(explorer.constants)}
    names.update((name, values[at]) for name, values in explorer.columns)
    names.update((knob.name, (knobs or {}).get(knob.name, knob.value)) for knob in explorer.knobs)
    for name, formula in explorer.derived:
        names[name] = evaluated(formula, names)
    return names


def figures_at(explorer: Explorer, at: int) -> tuple[FigureAtPosition, ...]:
    """The figures at one position with knobs as they start.

    >>> figures_at(Explorer("t", (0.5,), 0, (), (), figures=(Moving("a", "A", 2, (1.0,), (3.0,)),)), 0)[0].low
    1.0
    """
    names = names_at(explorer, at)
    return tuple(
        FigureAtPosition(
            figure,
            evaluated(figure.formula, names),
            figure.low[at] if figure.low else math.nan,
            figure.high[at] if figure.high else math.nan,
            figure.method if isinstance(figure.method, str) else figure.method[at],
        )
        for figure in explorer.figures
    )


def matrix_at(explorer: Explorer, at: int) -> tuple[tuple[float, ...], ...]:
    """The counts of the matrix at one position with knobs as they start.

    >>> matrix_at(Explorer("t", (0.5,), 0, (("tp", (3,)),), (), matrix=(("tp", 2),)), 0)
    ((3, 2.0),)
    """
    names = names_at(explorer, at)
    return tuple(tuple(evaluated(formula, names) for formula in row) for row in explorer.matrix)


def mark_at(chart: Chart, explorer: Explorer | None) -> tuple[float, float] | None:
    """Where the explorer's mark stands on a chart at the start, or nothing where it has none."""
    if chart.moves is None or explorer is None:
        return None
    names = names_at(explorer, explorer.start)
    x, y = (evaluated(formula, names) for formula in chart.moves)
    return x, y


def payload(explorer: Explorer) -> dict[str, Any]:
    """What the page's script needs to move every number, in what JSON has.

    >>> payload(Explorer("t", (0.5, float("inf")), 0, (), (("n", 4.0),)))["positions"]
    [0.5, 'Infinity']
    """
    return {
        "positions": numeric(explorer.positions),
        "start": explorer.start,
        "columns": [[name, numeric(values)] for name, values in explorer.columns],
        "constants": [[name, numeric(value)] for name, value in explorer.constants],
        "derived": [[name, numeric(formula)] for name, formula in explorer.derived],
        "knobs": [[knob.name, *numeric((knob.value, knob.low, knob.high))] for knob in explorer.knobs],
        "figures": [_figure(figure) for figure in explorer.figures],
        "matrix": numeric(explorer.matrix),
        "alters": list(explorer.alters),
        "leftOut": explorer.left_out,
    }


def _figure(one: Moving) -> dict[str, Any]:
    # A method's words are long, and few methods make the limits of all positions: each is written once.
    given = (one.method,) if isinstance(one.method, str) else one.method
    methods = list(dict.fromkeys(given))
    return {
        "name": one.name,
        "formula": numeric(one.formula),
        "style": one.style,
        "low": numeric(one.low),
        "high": numeric(one.high),
        "methods": [visible(method) for method in methods],
        "used": [methods.index(method) for method in given] if len(methods) > 1 else [],
    }


def numeric(value: Any) -> Any:
    """Numbers and formulas in what JSON has: undefined is None, infinity a string, and whole numbers have no point.

    >>> numeric(("+", 1.0, (2.5, float("nan"))))
    ['+', 1, [2.5, None]]
    """
    if isinstance(value, str):
        return value
    if isinstance(value, tuple | list):
        # Long columns of ordinary numbers need no second look.
        plain = len(value) > 20 and all(type(part) is float and math.isfinite(part) for part in value)
        return list(value) if plain and not any(map(float.is_integer, value)) else [numeric(part) for part in value]
    if isinstance(value, int) and abs(value) < _EXACT:
        return int(value)
    number = float(value)
    if math.isnan(number):
        return None
    if math.isinf(number):
        return "Infinity" if number > 0 else "-Infinity"
    whole = number.is_integer() and abs(number) < _EXACT and not (number == 0 and math.copysign(1, number) < 0)
    return int(number) if whole else number


def script_json(value: object) -> str:
    r"""JSON that can stand inside a `script` element, whatever text is in it.

    >>> print(script_json("</script><!--"))
    "\u003c/script>\u003c!--"
    """
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    # Only in strings can these stand, and there JSON has its own way to write them.
    return _UNFIT.sub(lambda match: f"\\u{ord(match.group()):04x}", text)
