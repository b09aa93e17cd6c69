"""The parameters of the laboratory's experiments, each declared once: flag, words, and how it is read and checked.

Nothing heavy is imported here: the command line makes its flags of these declarations before it knows what is asked.
"""

from __future__ import annotations

import math
import numbers
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from heldout.api.options import RUNNING, Option
from heldout.arguments import check_level, check_share, check_whole
from heldout.errors import OptionError

EXPERIMENT = "Experiment"


def read_numbers(flag: str, text: str, kind: type = float) -> tuple[Any, ...]:
    """The numbers that a flag names, separated by commas.

    >>> read_numbers("n", "20, 50", int), read_numbers("p", "0.1")
    ((20, 50), (0.1,))
    """
    try:
        return tuple(kind(part) for part in text.split(","))
    except ValueError:
        what = "whole numbers" if kind is int else "numbers"
        raise OptionError(
            f"--{flag} must be {what}, several of them separated by commas. Got {text!r}.",
            hint=f"for example --{flag} {'20,50,100' if kind is int else '0.1,0.2'}.",
        ) from None


def read_words(text: str) -> tuple[str, ...]:
    """The names that a flag lists, separated by commas that stand outside brackets.

    >>> read_words("normal, wilson"), read_words("package:Forest(depth=3, seed=1)")
    (('normal', 'wilson'), ('package:Forest(depth=3, seed=1)',))
    """
    words, depth = [""], 0
    for sign in text:
        depth += (sign == "(") - (sign == ")")
        if sign == "," and depth <= 0:
            words.append("")
        else:
            words[-1] += sign
    return tuple(word.strip() for word in words if word.strip())


def list_all(name: str, value: Any) -> tuple[Any, ...]:
    """One value or several, as several.

    >>> list_all("n", 20), list_all("n", [20, 50])
    ((20,), (20, 50))
    """
    several = isinstance(value, Sequence) or type(value).__module__ == "numpy"
    values = tuple(value) if several and not isinstance(value, str) else (value,)
    if not values:
        raise OptionError(f"{name} is empty: there is nothing to try.", hint=f"give at least one value of {name}.")
    return values


def check_whole_numbers(name: str, value: Any, least: int) -> tuple[int, ...]:
    """Whole numbers in growing order, each once.

    >>> check_whole_numbers("n", [50, 20, 50], 2)
    (20, 50)
    """
    return tuple(sorted({check_whole(name, number, least) for number in list_all(name, value)}))


def check_shares(name: str, value: Any) -> tuple[float, ...]:
    """Shares strictly between 0 and 1, in the order given."""
    return tuple(check_share(name, share, "write 20 % as 0.2.") for share in list_all(name, value))


def check_number(name: str, value: Any, least: float = 0.0) -> float:
    """A finite number from the least that makes sense.

    >>> check_number("separation", 2)
    2.0
    """
    is_number = isinstance(value, numbers.Real) and not isinstance(value, bool)
    if not is_number or not math.isfinite(value) or value < least:
        raise OptionError(f"{name} must be a number from {least:g} up. Got {value!r}.", hint="2.0 is a usual one.")
    return float(value)


def check_world(name: str, value: Any) -> Any:
    """Where the cases come from: a world, or its name."""
    from heldout.lab.worlds import World, read_world

    if isinstance(value, World):
        return value
    if isinstance(value, str):
        return read_world(value)
    shown = value.__name__ if isinstance(value, type) else repr(value)
    raise OptionError(
        f"{name} must be a world. Got {shown}.", hint="such as lab.Gaussians(separation=2.0), lab.Noise() or 'noise'."
    )


def keep(name: str, value: Any) -> Any:  # noqa: ARG001 - every check takes the name
    """What is checked by whoever uses it."""
    return value


def whole(least: int) -> Callable[[str, Any], int]:
    """A check of one whole number."""
    return lambda name, value: check_whole(name, value, least)


def whole_numbers(least: int) -> Callable[[str, Any], tuple[int, ...]]:
    """A check of several whole numbers."""
    return lambda name, value: check_whole_numbers(name, value, least)


@dataclass(frozen=True, slots=True)
class Parameter:
    """One parameter of experiments: its flag, how the text of that becomes a value, and how any value is checked."""

    kind: str
    metavar: str
    help: str
    check: Callable[[str, Any], Any]
    read: Callable[[str, str], Any] = lambda flag, text: text  # noqa: ARG005 - most texts are their own values
    panel: str = EXPERIMENT
    flag: str = ""

    def option(self) -> Option:
        """The flag on the command line; what was not given is left to the experiment."""
        return Option(None, self.metavar, self.help, self.panel, self.flag)


def _one(kind: type) -> Callable[[str, str], Any]:
    return lambda flag, text: read_numbers(flag, text, kind)[0]


def _several(kind: type) -> Callable[[str, str], Any]:
    return lambda flag, text: read_numbers(flag, text, kind)


def _words(flag: str, text: str) -> tuple[str, ...]:  # noqa: ARG001 - every reader takes the flag
    return read_words(text)


PARAMETERS: dict[str, Parameter] = {
    "world": Parameter(
        "World or str", "WORLD",
        "Where cases come from: gaussians:2 (two normal clouds so far apart), noise, or checkers:4 (squares a side).",
        check_world,
    ),
    "learner": Parameter(
        "estimator, str or sequence of these", "LEARNER,…",
        "What is fitted, by a short name such as tree, knn:5, naive-bayes or lda.", list_all, _words,
    ),
    "n": Parameter(
        "int or sequence of int", "N,N,…", "Numbers of cases.", whole_numbers(2), _several(int)
    ),
    "trained_on": Parameter("int", "N", "How many cases the model is trained on.", whole(4), _one(int)),
    "p": Parameter(
        "float or sequence of float", "P,P,…", "True error rates.",
        lambda name, value: tuple(
            check_share(name, one, "write 20 % as 0.2.", ends=True) for one in list_all(name, value)
        ),
        _several(float),
    ),
    "prevalence": Parameter(
        "float or sequence of float", "P,P,…", "Shares of the positive class.",
        check_shares, _several(float),
    ),
    "separation": Parameter(
        "float", "D", "How far apart the scores of the two classes are, in standard deviations.",
        check_number, _one(float),
    ),
    "measure": Parameter("str", "MEASURE", "What is measured, such as f1, recall or roc_auc.", keep),
    "methods": Parameter(
        "str or sequence of str, optional", "METHOD,…", "Interval methods or tests.",
        lambda name, value: None if value is None else list_all(name, value), _words, flag="method",
    ),
    "plans": Parameter(
        "sequence of plans", "PLAN,…", "Plans of resampling.", list_all, _words, flag="plan"
    ),
    "folds": Parameter("int", "K", "How many folds the cases are divided into.", whole(2), _one(int)),
    "models": Parameter(
        "int or sequence of int", "K,K,…", "Numbers of models to choose the best from.",
        whole_numbers(1), _several(int),
    ),
    "ratio": Parameter(
        "float or sequence of float", "R,R,…",
        "How many times a missed positive costs as much as a false alarm.",
        lambda name, value: tuple(check_number(name, one) for one in list_all(name, value)), _several(float),
    ),
    "value": Parameter(
        "float", "VALUE", "The true accuracy of the first classifier.",
        lambda name, value: check_share(name, value, "write 85 % as 0.85."), _one(float),
    ),
    "against": Parameter(
        "float", "VALUE", "The true accuracy of the second classifier.",
        lambda name, value: check_share(name, value, "write 80 % as 0.8."), _one(float),
    ),
    "discordance": Parameter(
        "float", "SHARE", "The share of cases that exactly one of the two gets right.",
        lambda name, value: check_share(name, value, "for example 0.15."), _one(float),
    ),
    "recall": Parameter(
        "float", "SHARE", "The true recall of the classifier.",
        lambda name, value: check_share(name, value, "for example 0.6."), _one(float),
    ),
    "precision": Parameter(
        "float", "SHARE", "The true precision of the classifier.",
        lambda name, value: check_share(name, value, "for example 0.6."), _one(float),
    ),
    "level": Parameter(
        "float", "LEVEL", "Level of the intervals or tests that are tried, between 0 and 1.",
        lambda name, value: check_level(value), _one(float),  # noqa: ARG005
    ),
    "draws": Parameter(
        "int", "N", "How often the experiment is repeated on new data.", whole(2), _one(int), RUNNING
    ),
    "seed": Parameter("int", "N", "Seed of the random number generator.", whole(0), _one(int), RUNNING),
    "jobs": Parameter(
        'int or "auto", optional', "auto|N",
        "Processes at the same time; -1 is one per core, auto takes all cores where it would take long. The figures "
        "are the same whatever the number.",
        keep, panel=RUNNING,
    ),
    "progress": Parameter(
        "callable or False, optional", "", "Called with (done, total); a bar on a terminal by default.", keep
    ),
}  # fmt: skip
"""Every parameter by its name; an experiment takes some of them, with usual values of its own."""
FLAGS = tuple(name for name in PARAMETERS if name != "progress")
"""Those that the command line takes, in the order of its help."""


def spell_flag(name: str) -> str:
    """How a parameter is spelled on the command line.

    >>> spell_flag("trained_on"), spell_flag("methods")
    ('--trained-on', '--method')
    """
    return f"--{(PARAMETERS[name].flag or name).replace('_', '-')}"
