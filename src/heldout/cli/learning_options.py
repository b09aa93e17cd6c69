"""The options of the commands that fit learners, and the reading of their values."""

from __future__ import annotations

import ast
from typing import Annotated, Any, Literal

import typer

from heldout.cli.options import INPUT
from heldout.errors import OptionError
from heldout.learners.shortcuts import SHORTCUTS

RUNNING = "Running"
SHORT_NAMES = ", ".join(shortcut.usage.replace("[", "\\[") for shortcut in SHORTCUTS.values())

Data = Annotated[
    str | None,
    typer.Argument(
        metavar="DATA",
        help="A file with one row per case: CSV, TSV, Parquet, JSON lines, NPZ or ARFF, also as .gz.",
    ),
]
Target = Annotated[
    str | None,
    typer.Option(
        metavar="COLUMN",
        help="Column of the class to predict; of ARFF files the last one, otherwise one with a usual name.",
        rich_help_panel=INPUT,
    ),
]
Learners = Annotated[
    list[str] | None,
    typer.Option(
        "--learner",
        metavar="LEARNER",
        help=f"What to fit: {SHORT_NAMES}, or package.module:Class(arguments); may be repeated.",
        rich_help_panel=INPUT,
    ),
]
OneLearner = Annotated[
    str | None,
    typer.Option(
        "--learner",
        metavar="LEARNER",
        help=f"What to fit: {SHORT_NAMES}, or package.module:Class(arguments).",
        rich_help_panel=INPUT,
    ),
]
Features = Annotated[
    list[str] | None,
    typer.Option(
        "--feature", metavar="COLUMN", help="Learn from these columns only; may be repeated.", rich_help_panel=INPUT
    ),
]
Drop = Annotated[
    list[str] | None,
    typer.Option(metavar="COLUMN", help="Leave out this column; may be repeated.", rich_help_panel=INPUT),
]
Jobs = Annotated[
    str,
    typer.Option(
        metavar="auto|N",
        help="Splits to fit at the same time; -1 is one per core, auto decides by how long the first takes.",
        rich_help_panel=RUNNING,
    ),
]
OnError = Annotated[
    str,
    typer.Option(
        metavar="raise|record",
        help="When the learner fails in a split: stop, or keep the others and say how many are missing.",
        rich_help_panel=RUNNING,
    ),
]


def read_jobs(text: str) -> int | Literal["auto"]:
    """The number of splits to fit at the same time.

    >>> read_jobs("auto"), read_jobs("4")
    ('auto', 4)
    """
    if text.strip().casefold() == "auto":
        return "auto"
    try:
        jobs = int(text)
    except ValueError:
        jobs = 0
    if jobs == 0:
        raise OptionError(f"--jobs must be auto or a whole number, not 0. Got {text!r}.", hint="for example --jobs 4.")
    return jobs


def read_grid(texts: list[str] | None) -> dict[str, list[Any]] | None:
    """The settings to search: each text names one and lists its values.

    >>> read_grid(["n_neighbors=1,3,5", "weights=uniform,distance"])
    {'n_neighbors': [1, 3, 5], 'weights': ['uniform', 'distance']}
    >>> read_grid(["hidden_layer_sizes=(10, 5), (20,)"])
    {'hidden_layer_sizes': [(10, 5), (20,)]}
    """
    if not texts:
        return None
    grid: dict[str, list[Any]] = {}
    for text in texts:
        name, equals, values = text.partition("=")
        if not equals or not name.strip() or not values.strip():
            raise OptionError(
                f"--grid {text!r} does not say which values a setting is to try.",
                hint="write --grid n_neighbors=1,3,5.",
            )
        grid[name.strip()] = _values(values)
    return grid


def _values(text: str) -> list[Any]:
    """The values of a setting, separated by commas; one in brackets, as (10, 5), stays whole."""
    try:
        return list(ast.literal_eval(f"({text},)"))
    except (ValueError, SyntaxError):
        return [_value(value.strip()) for value in text.split(",")]


def _value(text: str) -> Any:
    """A number, True, False or None as Python writes it; anything else is text."""
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return text


def check_data(data: str | None, learner: object, command: str) -> None:
    """Refuse a call without data or without a learner."""
    example = f"heldout {command} data.csv --target outcome --learner knn:5"
    if not data:
        raise OptionError("There is no file to learn from.", hint=f"{example}.")
    if not learner:
        raise OptionError("There is no learner: say what to fit.", hint=f"{example}.")
