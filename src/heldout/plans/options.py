"""Checking the options of a plan: whole numbers, shares and seeds."""

from __future__ import annotations

import math
import numbers
from fractions import Fraction
from typing import Any

from heldout.errors import OptionError

# More splits than anybody could wait for.
MOST = 1_000_000


def whole(value: Any, name: str, least: int | None, example: int, most: int | None = MOST) -> int:
    """A whole number, of at least `least` if there is such a limit, as Python's own.

    >>> whole(10, "The number of folds", 2, 10)
    10
    """
    hint = f"give a whole number{'' if least is None else f' of at least {least}'}, such as {example}."
    if isinstance(value, bool) or not isinstance(value, numbers.Integral):
        raise OptionError(f"{name} must be a whole number. Got {value!r}.", hint=hint)
    if least is not None and value < least:
        raise OptionError(f"{name} must be at least {least}. Got {value}.", hint=hint)
    if most is not None and int(value) > most:
        raise OptionError(f"{name} must be at most {most:,}. Got {int(value):,}.", hint=hint)
    return int(value)


def checked_seed(value: Any) -> int | None:
    """A seed, or None where the plan is to have none of its own."""
    return None if value is None else whole(value, "The seed", 0, 1, most=None)


def training_share(value: Any) -> float:
    """The share of the rows that train, between 0 and 1."""
    given = isinstance(value, numbers.Real) and not isinstance(value, bool)
    if not given or not 0 < float(value) < 1:
        raise OptionError(
            f"The share of the rows that train must lie between 0 and 1. Got {value!r}.",
            hint="give it as 2/3 or 0.7, for example.",
        )
    return float(value)


def share_text(share: float) -> str:
    """A share as a person would write it, that reads back exactly.

    >>> share_text(2 / 3), share_text(0.7)
    ('2/3', '0.7')
    """
    decimal = repr(share)
    if len(decimal) <= len("0.1234"):
        return decimal
    near = Fraction(share).limit_denominator(1000)
    return str(near) if math.isclose(float(near), share, rel_tol=0, abs_tol=0) else decimal


def option_text(*, stratified: bool, usual: bool, seed: int | None) -> str:
    """What follows a plan's name where it is not the usual: stratification and the seed."""
    text = "" if stratified == usual else " stratified" if stratified else " unstratified"
    return text if seed is None else f"{text} seed {seed}"


def counted(number: int, thing: str, several: str = "") -> str:
    """A number with its noun: "1 case", "3 classes".

    >>> counted(1, "case"), counted(3, "class", "classes")
    ('1 case', '3 classes')
    """
    return f"{number:,} {thing if number == 1 else several or thing + 's'}"
