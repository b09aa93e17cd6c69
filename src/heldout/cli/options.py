"""The options that several commands share: one name, one meaning, one sentence of help."""

from __future__ import annotations

import ast
import csv
from typing import Annotated, Any, Literal

import typer

from heldout.arguments import listing
from heldout.errors import OptionError
from heldout.files.formats import titles_in_batches, titles_of_formats
from heldout.learners.registry import SHORTCUTS

INPUT, LARGE, INTERVALS, OUTPUT = "Input", "Large data", "Intervals", "Output"

Truth = Annotated[str | None, typer.Option(metavar="COLUMN", help="Column of the true class.", rich_help_panel=INPUT)]
Predictions = Annotated[
    str,
    typer.Argument(
        metavar="PREDICTIONS",
        help="A file with one row per case, a folder or a pattern in quotes of "
        f"{titles_in_batches()} files, an address such as s3://…, or evidence that heldout count wrote; "
        "- is standard input.",
    ),
]
Predicted = Annotated[
    str | None, typer.Option(metavar="COLUMN", help="Column of the predicted class.", rich_help_panel=INPUT)
]
Scores = Annotated[
    list[str] | None,
    typer.Option(
        metavar="COLUMN",
        help="Column of scores or probabilities of the positive class; repeated, one per class.",
        rich_help_panel=INPUT,
    ),
]
Threshold = Annotated[
    float | None,
    typer.Option(
        metavar="T",
        help="Predict the positive class where the score is at least this, instead of a predicted column.",
        rich_help_panel=INPUT,
    ),
]
Fold = Annotated[
    str | None,
    typer.Option(
        metavar="COLUMN",
        help="Column that says which model of a cross-validation made each prediction.",
        rich_help_panel=INPUT,
    ),
]
Slices = Annotated[
    list[str] | None,
    typer.Option(
        metavar="COLUMN",
        help="Column that divides the cases, to see where it fails; may be repeated, all is every other column.",
        rich_help_panel=INPUT,
    ),
]
Weight = Annotated[str | None, typer.Option(metavar="COLUMN", help="Column of case weights.", rich_help_panel=INPUT)]
Group = Annotated[
    str | None,
    typer.Option(
        metavar="COLUMN",
        help="Column of groups whose rows are not independent, such as patients.",
        rich_help_panel=INPUT,
    ),
]
Missing = Annotated[
    str | None,
    typer.Option(
        metavar="refuse|drop",
        help="What to do with rows that lack a value: refuse them (the default), or drop them and say how many.",
        rich_help_panel=INPUT,
    ),
]
Costs = Annotated[
    str | None,
    typer.Option(
        metavar="COSTS",
        help="Costs of the errors: a CSV or TOML file, or truth,predicted:cost pairs as in 'yes,no:10; no,yes:1'.",
        rich_help_panel=INPUT,
    ),
]
CostRows = Annotated[
    str | None,
    typer.Option(metavar="truth|predicted", help="What the rows of a file of costs are.", rich_help_panel=INPUT),
]
Labels = Annotated[
    str | None,
    typer.Option(
        metavar="A,B,…",
        help="The classes in the order to show them, separated by commas; names the rows of a matrix.",
        rich_help_panel=INPUT,
    ),
]
Positive = Annotated[
    str | None,
    typer.Option(
        metavar="CLASS",
        help="The positive class; of usual pairs such as no and yes or 0 and 1 it is known.",
        rich_help_panel=INPUT,
    ),
]
Engine = Annotated[
    str | None,
    typer.Option(
        metavar="ENGINE",
        help="What reads and counts: memory, stream, polars, duckdb, dask or spark; chosen by the size without.",
        rich_help_panel=LARGE,
    ),
]
Master = Annotated[
    str | None,
    typer.Option(
        metavar="URL",
        help="The cluster that --engine spark or dask runs on: spark://host:7077, yarn, tcp://host:8786; "
        "without, this machine.",
        rich_help_panel=LARGE,
    ),
]
Tolerance = Annotated[
    float | None,
    typer.Option(
        metavar="WIDTH",
        help="How far areas under curves may be off where scores are counted in bins; 1e-6 by default.",
        rich_help_panel=LARGE,
    ),
]
Passes = Annotated[
    int | None,
    typer.Option(
        metavar="N",
        help="How often the scores may be read to get there; 3 by default.",
        rich_help_panel=LARGE,
    ),
]
Level = Annotated[
    float, typer.Option(metavar="LEVEL", help="Level of the intervals, between 0 and 1.", rich_help_panel=INTERVALS)
]
Method = Annotated[
    str | None,
    typer.Option(
        metavar="METHOD",
        help="Interval method wherever it applies, such as bootstrap; without, the best of each kind.",
        rich_help_panel=INTERVALS,
    ),
]
Replicates = Annotated[int, typer.Option(metavar="N", help="Bootstrap replicates.", rich_help_panel=INTERVALS)]
Seed = Annotated[int, typer.Option(metavar="N", help="Seed of everything random.", rich_help_panel=INTERVALS)]
Measures = Annotated[
    list[str] | None,
    typer.Option(
        "--measure",
        metavar="MEASURE",
        help="Only this measure, such as accuracy, 'macro f1' or 'recall\\[spam]'; may be repeated.",
        rich_help_panel=OUTPUT,
    ),
]
Mute = Annotated[
    list[str] | None,
    typer.Option(
        "--mute",
        metavar="CODE",
        help="Do not check this rule, such as H014; may be repeated. heldout explain lists them.",
        rich_help_panel=OUTPUT,
    ),
]
Limit = Annotated[
    list[str] | None,
    typer.Option(
        "--limit",
        metavar="CODE.NAME=VALUE",
        help="Another limit for a rule, such as H014.width=0.1; may be repeated. heldout explain CODE lists them.",
        rich_help_panel=OUTPUT,
    ),
]
Layout = Annotated[
    str | None,
    typer.Option(
        "--format", metavar="heldout|weka", help="Layout of the report on the terminal.", rich_help_panel=OUTPUT
    ),
]
Charts = Annotated[
    list[str] | None,
    typer.Option(
        metavar="KIND=FILE",
        help="Draw a curve into an svg, png or html file: roc, pr, det, gain, lift, cost, decision, reliability, "
        "or a measure, as in roc=roc.svg; may be repeated.",
        rich_help_panel=OUTPUT,
    ),
]
Full = Annotated[bool, typer.Option("--full", help="Show everything there is.", rich_help_panel=OUTPUT)]
Json = Annotated[
    str | None,
    typer.Option(
        metavar="FILE", help="Write JSON to this file; - is standard output here too.", rich_help_panel=OUTPUT
    ),
]
Html = Annotated[
    str | None,
    typer.Option(metavar="FILE", help="Write a page for the browser, with everything.", rich_help_panel=OUTPUT),
]
Markdown = Annotated[str | None, typer.Option(metavar="FILE", help="Write Markdown.", rich_help_panel=OUTPUT)]
Latex = Annotated[str | None, typer.Option(metavar="FILE", help="Write LaTeX tables.", rich_help_panel=OUTPUT)]


def one_or_all(columns: list[str] | None) -> str | list[str] | None:
    """One column of scores as itself, several as a list."""
    return columns[0] if columns and len(columns) == 1 else (columns or None)


def of_large(engine: str | None, master: str | None, tolerance: float | None, passes: int | None) -> dict[str, Any]:
    """What was said of large data; what was not has a usual value.

    >>> of_large("stream", None, None, 2)
    {'engine': 'stream', 'passes': 2}
    """
    said = {"engine": engine, "master": master, "tolerance": tolerance, "passes": passes}
    return {name: value for name, value in said.items() if value is not None}


def named_slices(columns: list[str] | None) -> str | list[str] | None:
    """The columns that --slice names; the word all alone is every column that has no other role."""
    return None if not columns else "all" if columns == ["all"] else columns


def split_limits(texts: list[str] | None) -> dict[str, dict[str, float]]:
    """The limits of rules that --limit names, by code and name.

    >>> split_limits(["H014.width=0.1", "H006.cases=5"])
    {'H014': {'width': 0.1}, 'H006': {'cases': 5.0}}
    """
    limits: dict[str, dict[str, float]] = {}
    for text in texts or []:
        place, _, value = text.partition("=")
        code, _, name = (part.strip() for part in place.partition("."))
        try:
            number = float(value)
        except ValueError:
            number = None
        if number is None or not code or not name:
            raise OptionError(
                f"--limit {text!r} does not say which limit is to be what.", hint="write --limit H014.width=0.1."
            )
        limits.setdefault(code, {})[name] = number
    return limits


def split_labels(text: str | None) -> list[str] | None:
    """The classes that --labels names; one that holds a comma stands in double quotes.

    >>> split_labels('no, "yes, surely"')
    ['no', 'yes, surely']
    """
    if text is None:
        return None
    labels = [label.strip() for row in csv.reader([text], skipinitialspace=True) for label in row]
    twice = sorted({label for label in labels if labels.count(label) > 1})
    if not labels or not all(labels) or twice:
        why = f"names {listing(map(repr, twice))} more than once" if all(labels) and twice else "has an empty name"
        raise OptionError(
            f"--labels {why}. Got {text!r}.",
            hint="name each class once, separated by commas: --labels no,yes.",
        )
    return labels


# The options of the commands that fit learners, and the reading of their values.


RUNNING = "Running"
SHORT_NAMES = ", ".join(shortcut.usage.replace("[", "\\[") for shortcut in SHORTCUTS.values())

Data = Annotated[
    str | None,
    typer.Argument(
        metavar="DATA",
        help=f"A file with one row per case: {titles_of_formats()}, also as .gz.",
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
