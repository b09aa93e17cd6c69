"""The checking of arguments: levels, whole numbers, names of options, and what a person most likely meant."""

from __future__ import annotations

import difflib
import math
import numbers
from collections.abc import Iterable
from typing import Any, Literal, TypeVar, get_args

from heldout.errors import OptionError

# The name of a class, and what becomes of rows in which a value is missing.
Label = str | int | bool | float
Missing = Literal["refuse", "drop"]
MISSING: tuple[Missing, ...] = get_args(Missing)
# What the rows of a confusion matrix or of a table of costs are.
Rows = Literal["truth", "predicted"]
AXES: tuple[Rows, ...] = get_args(Rows)

Value = TypeVar("Value")

# From this similarity on, by difflib's ratio, a name is taken for a misspelling of another.
MISSPELLED = 0.7
KEYBOARD = ("qwertyuiop", "asdfghjkl", "zxcvbnm")


def listing(names: Iterable[object], most: int = 12) -> str:
    """Join names with commas, and count what does not fit.

    >>> listing(["id", "y", "p"], most=2)
    'id, y and 1 more'
    """
    items = list(names)
    shown = ", ".join(map(str, items[:most]))
    return shown if len(items) <= most else f"{shown} and {len(items) - most} more"


def capitalize(text: str) -> str:
    """The text with its first letter as a capital, and the others as they are.

    >>> capitalize("the ROC area")
    'The ROC area'
    """
    return f"{text[:1].upper()}{text[1:]}"


def write_sentence(text: str) -> str:
    """The text as a sentence: a capital at its beginning, a full stop at its end.

    >>> write_sentence("two rows were dropped")
    'Two rows were dropped.'
    """
    return f"{capitalize(text.rstrip('.'))}."


def method_key(name: object) -> str:
    """The name of a method, learner or experiment as registers spell it: in lower case and with hyphens.

    >>> method_key(" Corrected_T ")
    'corrected-t'
    """
    return str(name).strip().casefold().replace("_", "-").replace(" ", "-")


def closest(name: str, candidates: Iterable[str]) -> str | None:
    """The candidate that a person who typed `name` most likely meant, if any is near.

    >>> closest("Acuracy", ["accuracy", "recall"]), closest("nonexist", ["const"])
    ('accuracy', None)
    """
    by_fold = {candidate.casefold(): candidate for candidate in candidates}
    wanted = name.casefold()
    # At difflib's limit of 0.6 half of the matches are other words, so ours is higher; short names may have one slip.
    near = difflib.get_close_matches(wanted, by_fold, n=1, cutoff=MISSPELLED) or [
        candidate for candidate in by_fold if _one_slip(wanted, candidate)
    ]
    return by_fold[near[0]] if near else None


def _one_slip(name: str, other: str) -> bool:
    """Whether two names differ by one more, one less, one other (of two at least), or two swapped."""
    if abs(len(name) - len(other)) > 1:
        return False
    if min(len(name), len(other)) < 2:
        # A name of one letter can only be doubled: "yy" for "y".
        return len(name) != len(other) and (name[:1] in other) and (other[:1] in name)
    at = next((i for i, (a, b) in enumerate(zip(name, other, strict=False)) if a != b), min(len(name), len(other)))
    rest, wanted = name[at:], other[at:]
    if len(rest) != len(wanted):
        return rest[1:] == wanted if len(rest) > len(wanted) else rest == wanted[1:]
    # In three letters a different one makes another word, as in FOR and "foo", unless it is the next key.
    other_letter = rest[1:] == wanted[1:] and (len(name) > 3 or _next_keys(rest[:1], wanted[:1]))
    return other_letter or (rest[1::-1] == wanted[:2] and rest[2:] == wanted[2:])


def _next_keys(letter: str, other: str) -> bool:
    """Whether two letters lie side by side on a keyboard.

    >>> _next_keys("m", "n"), _next_keys("o", "r")
    (True, False)
    """
    return any(letter + other in row or other + letter in row for row in KEYBOARD)


def require(value: Value | None, reason: str) -> Value:
    """The value, where the caller has seen to it that there is one; a TypeError with the reason where there is none.

    >>> require(0, "there is no number")
    0
    """
    if value is None:
        raise TypeError(reason)
    return value


def suggest(name: object, known: Iterable[object], otherwise: str = "use one of these.") -> str:
    """The hint for a name that is not known: the one that was most likely meant, or what to do where none is near.

    >>> suggest("acuracy", ["accuracy", "recall"]), suggest("x", ["accuracy"])
    ("did you mean 'accuracy'?", 'use one of these.')
    """
    near = closest(str(name), map(str, known))
    return f"did you mean {near!r}?" if near else otherwise


# The hint where a name must be that of a thing outside, which has its own spelling.
SPELLED_EXACTLY = "use one of these, spelled exactly as it is."


# Numbers that an error may show as examples.
USUAL = {"replicates": 2000, "seed": 1, "most": 10}
# Squares of weights and of costs beyond these ends do not fit a float.
SMALLEST, LARGEST = 1e-150, 1e150
# How often something is drawn at the most: beyond it a run would not end, and nothing would be known better.
MOST_DRAWS = 10_000_000
DRAWN = ("replicates", "draws", "rounds", "shuffles", "repeats", "points", "passes")


def as_float(value: Any) -> float:
    """A number as a float; infinite where it is beyond all floats, which whole numbers and fractions may be.

    >>> as_float(2), as_float(-(10**400))
    (2.0, -inf)
    """
    try:
        return float(value)
    except OverflowError:
        return -math.inf if value < 0 else math.inf


def show_given(value: Any) -> str:
    """What was given, as an error shows it; whole numbers of more digits than Python writes as the float they are near.

    >>> show_given("x"), show_given(10**5000)
    ("'x'", 'inf')
    """
    try:
        return repr(value)
    except ValueError:
        return repr(as_float(value))


# Below, the ends of an interval are one number but for rounding; above, no number of draws shows where they are.
LEAST_LEVEL, MOST_LEVEL = 0.0001, 0.9999999


def check_level(level: Any, *, derived: bool = False) -> float:
    """A level that all methods can keep; one `derived` from it, for one side or many tests, may lie beyond.

    >>> check_level(0.9)
    0.9
    """
    is_number = isinstance(level, numbers.Real) and not isinstance(level, bool)
    hint = "write 95 % as 0.95." if is_number and as_float(level) >= 1 else "for example 0.95."
    number = check_share("The level", level, hint)
    if not derived and not LEAST_LEVEL <= number <= MOST_LEVEL:
        raise OptionError(f"The level must lie between {LEAST_LEVEL} and {MOST_LEVEL}. Got {level!r}.", hint=hint)
    return number


def check_share(name: str, value: Any, hint: str, *, ends: bool = False) -> float:
    """A number strictly between 0 and 1, or with `ends` also one of them.

    >>> check_share("p", 1, "write 90 % as 0.9.", ends=True)
    1.0
    """
    is_number = isinstance(value, numbers.Real) and not isinstance(value, bool)
    number = as_float(value) if is_number else math.nan
    if isinstance(value, str) and _reads_as_number(value):
        raise OptionError(
            f"{name} must be a number. Got the text {value!r}.", hint=f"write it without quotes: {value.strip()}."
        )
    if not (0 <= number <= 1 if ends else 0 < number < 1):
        # Python does not write out whole numbers of very many digits.
        shown = number if math.isinf(number) else value
        raise OptionError(f"{name} must lie between 0 and 1. Got {shown!r}.", hint=hint)
    return number


def _reads_as_number(text: str) -> bool:
    try:
        return math.isfinite(float(text))
    except ValueError:
        return False


def check_rows(name: str, value: Any) -> None:
    """Refuse what is neither of the two axes that the rows of a matrix may be; None says nothing of them.

    >>> check_rows("cost_rows", "truth")
    """
    if value is not None and value not in AXES:
        either = " or ".join(map(repr, AXES))
        hint = " or ".join(f"{name}={axis!r}" for axis in AXES)
        raise OptionError(f"{name} must be {either}. Got {value!r}.", hint=f"write {hint}.")


def check_prevalence(value: Any) -> float:
    """The share of the positive class where a classifier will be used."""
    return check_share("The prevalence", value, "write 2 % as prevalence=0.02.")


def check_whole(name: str, value: Any, least: int) -> int:
    """A whole number from the least that makes sense; of what is drawn so often, up to a limit.

    >>> check_whole("seed", 3, 0)
    3
    """
    if name in DRAWN and isinstance(value, numbers.Integral) and int(value) > MOST_DRAWS:
        raise OptionError(
            f"{name} must be at most {MOST_DRAWS:,}. Got {int(value):,}.",
            hint=f"give fewer, such as {name}={max(least, USUAL.get(name, least))}.",
        )
    if isinstance(value, bool) or not isinstance(value, numbers.Integral) or value < least:
        raise OptionError(
            f"{name} must be a whole number from {least} up. Got {value!r}.",
            hint=f"give {least} or more, such as {name}={max(least, USUAL.get(name, least))}.",
        )
    return int(value)


def check_replicates(replicates: int, level: float) -> None:
    """Refuse so few replicates that none is expected beyond a limit; those that are drawn unless said always pass.

    >>> check_replicates(39, 0.95)
    """
    least = math.ceil(2 / (1 - level) - 1 - 1e-6)
    if replicates < min(least, USUAL["replicates"]):
        raise OptionError(
            f"{counted(replicates, 'replicate')} cannot show the tails of a {100 * level:g} % interval; {least:,} can.",
            hint=f"leave replicates out for {USUAL['replicates']:,}.",
        )


def counted(number: int, thing: str, several: str = "") -> str:
    """A number with its noun: "1 case", "3 classes".

    >>> counted(1, "case"), counted(3, "class", "classes")
    ('1 case', '3 classes')
    """
    return f"{number:,} {thing if number == 1 else several or thing + 's'}"


def split_outside_quotes(text: str, separator: str) -> list[str]:
    """The text cut at a separator, except between quotes; a quote that is never closed is a letter like any other.

    One pass, so that a long text takes no longer than it is long.

    >>> split_outside_quotes("a,'b,c',d'e", ",")
    ['a', "'b,c'", "d'e"]
    """
    parts, start, at = [], 0, 0
    last = {mark: text.rfind(mark) for mark in "'\""}
    while at < len(text):
        letter = text[at]
        if letter in last and at < last[letter]:
            at = text.index(letter, at + 1)
        elif letter == separator:
            parts.append(text[start:at])
            start = at + 1
        at += 1
    return [*parts, text[start:]]
