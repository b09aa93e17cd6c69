"""Formulas as a person would write them, with words or numbers for their names; page/formulas.js writes the same."""

from __future__ import annotations

from collections.abc import Mapping

from heldout.show.explorer import Expression
from heldout.show.numbers import count

# How tightly an operator binds, and how it is written between its operands.
BINDING: Mapping[str, tuple[int, str]] = {"+": (1, " + "), "-": (1, " − "), "*": (2, " · "), "/": (3, " / ")}
ATOM = 9


def put_in(expression: Expression, numbers: Mapping[str, float]) -> str:
    """The expression with its numbers put in, as a person would write it.

    >>> put_in(("/", "tp", ("+", "tp", "fn")), {"tp": 165, "fn": 119})
    '165 / (165 + 119)'
    """
    return worded(
        expression, {name: f"({count(value)})" if value < 0 else count(value) for name, value in numbers.items()}
    )


def worded(expression: Expression, words: Mapping[str, str]) -> str:
    """The expression with these words for its names.

    >>> worded(("/", "tp", ("+", "tp", "fn")), {"tp": "TP", "fn": "FN"})
    'TP / (TP + FN)'
    """
    return _written(expression, words)[0]


def _written(expression: Expression, words: Mapping[str, str]) -> tuple[str, int]:
    """The text, and how tightly its outermost operator binds."""
    if isinstance(expression, str):
        return words[expression], ATOM
    if not isinstance(expression, tuple | list):
        return f"{float(expression):g}", ATOM
    operator, *operands = expression
    if operator not in BINDING:
        inside = ", ".join(_written(part, words)[0] for part in operands)
        return (f"−{_bracketed(operands[0], words, ATOM)}", 2) if operator == "neg" else (f"{operator}({inside})", ATOM)
    strength, sign = BINDING[operator]
    left, right = operands
    # What is divided is bracketed unless it is a single number, on both sides: a slash on one line misleads easily.
    first = _bracketed(left, words, ATOM if operator == "/" else strength)
    second = _bracketed(right, words, {"/": ATOM, "-": strength + 1}.get(operator, strength))
    return f"{first}{sign}{second}", strength


def _bracketed(expression: Expression, words: Mapping[str, str], least: int) -> str:
    text, strength = _written(expression, words)
    return text if strength >= least else f"({text})"
