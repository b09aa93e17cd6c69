"""The flags of the command line: made from the options that functions declare, and the reading of their texts."""

from __future__ import annotations

import csv
import inspect
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from functools import wraps
from typing import Annotated, Any, Literal, get_type_hints

import typer

from heldout.api.options import (
    INPUT,
    OUTPUT,
    PLANNED,
    RUNNING,
    CalibrationArguments,
    DataArguments,
    EngineArguments,
    EvaluateArguments,
    Option,
    StudyArguments,
    make_switch,
    options_of,
)
from heldout.arguments import listing
from heldout.cli.output import FORMS, Outputs
from heldout.errors import OptionError
from heldout.files.formats import titles_in_batches, titles_of_formats
from heldout.learners.registry import SHORTCUTS
from heldout.synonyms import find_own_word

SHORT_NAMES = ", ".join(shortcut.usage for shortcut in SHORTCUTS.values())
WHAT_TO_FIT = f"What to fit: {SHORT_NAMES}, or package.module:Class(arguments)"
ROW_PER_CASE = f"A file with one row per case: {titles_of_formats()}, also as .gz"

Predictions = Annotated[
    str,
    typer.Argument(
        metavar="PREDICTIONS",
        help=f"A file with one row per case, a folder or a pattern in quotes of {titles_in_batches()} files, an "
        "address such as s3://…, or evidence that heldout count wrote; - is standard input.",
    ),
]
Data = Annotated[
    str | None,
    typer.Argument(
        metavar="DATA",
        help=f"{ROW_PER_CASE}.",
    ),
]

# Every option that more than one command takes: those of functions, and those of the command line alone.
OPTIONS: dict[str, Option] = {
    **options_of(StudyArguments),
    **options_of(DataArguments),
    **options_of(EvaluateArguments),
    "predicted": Option(None, "COLUMN", "Column of the predicted class.", INPUT),
    "learner": Option(None, "LEARNER", f"{WHAT_TO_FIT}.", INPUT),
    "learners": Option(None, "LEARNER", f"{WHAT_TO_FIT}; may be repeated.", INPUT, flag="learner", repeated=True),
    "plan": Option(
        "10-fold",
        "PLAN",
        "How to split: 10-fold, 5x2-fold, 'holdout 2/3', '30 x holdout 2/3', loo, 'bootstrap 200', '.632+ 200', "
        "resubstitution, 'time-ordered 5', 'weka 10-fold seed 1', 'nested 10-fold / 5-fold', or a number of folds.",
        RUNNING,
        shown=True,
    ),
    "different_cases": make_switch("Each classifier has a test set of its own.", INPUT),
    "equivalence": make_switch("With --margin: that they differ by no more than it, in either direction.", PLANNED),
    "jobs": Option(
        "auto",
        "auto|N",
        "Splits to fit at the same time; -1 is one per core, auto decides by how long the first takes.",
        RUNNING,
        shown=True,
    ),
    "on_error": Option(
        "raise",
        "raise|record",
        "When the learner fails in a split: stop, or keep the others and say how many are missing.",
        RUNNING,
        shown=True,
    ),
    "memory_limit": Option(
        None,
        "SIZE",
        "The most memory that may be taken beyond what the program needs for itself (Linux), such as 2GB; what needs "
        "more is refused. Processes that fit learners have each as much.",
        RUNNING,
    ),
    "layout": Option(None, "heldout|weka", "Layout of the report on the terminal.", OUTPUT, flag="format"),
    "charts": Option(
        None,
        "KIND=FILE",
        "Draw a curve into an svg, png or html file: roc, pr, det, gain, lift, cost, decision, reliability, "
        "calibration, or a measure, as in roc=roc.svg; may be repeated.",
        OUTPUT,
        flag="chart",
        repeated=True,
    ),
    "metrics": Option(
        None, "FILE", "Write a flat JSON file of the figures and their limits, which DVC and others read.", OUTPUT
    ),
    "full": make_switch("Show everything there is.", OUTPUT),
    "output": Option(
        None,
        "FILE",
        "Write to this file what its ending says: .html, .json, .md, .tex, .csv, .txt, or a chart as .svg or .png; "
        "may be repeated.",
        OUTPUT,
        repeated=True,
    ),
    "json": Option(None, "FILE", "Write JSON to this file; - is standard output here too.", OUTPUT),
    "html": Option(None, "FILE", "Write a page for the browser, with everything.", OUTPUT),
    "markdown": Option(None, "FILE", "Write Markdown.", OUTPUT),
    "latex": Option(None, "FILE", "Write LaTeX tables.", OUTPUT),
}

# The name of an option by that of its flag, where they differ.
OF_FLAG = {option.flag: name for name, option in OPTIONS.items() if option.flag}

# Options that go together, in the order of the help.
ROLES = "truth predicted score threshold costs cost_rows weight group fold id slices missing"
CLASSES = "labels positive"
ENGINE = " ".join(options_of(EngineArguments))
FITTED = "group features drop missing"
INTERVAL = "level method replicates seed"
CALIBRATION = " ".join(options_of(CalibrationArguments))
REVIEW = "ignore limits"
FILES = " ".join(("output", *FORMS))
# What is gathered into the outputs of a command.
OUTPUTS = ("output", *FORMS, "layout", "full")
# Options that have a letter too.
LETTERS = {"output": "-o"}


def translate_flags(known: Mapping[str, str], words: Sequence[str], called: str) -> list[str]:
    """The words of a command line with other libraries' flags in ours; `known` are the flags by the options' names.

    >>> translate_flags({"truth": "--truth"}, ["a.csv", "--y-true=outcome"], "heldout evaluate")
    ['a.csv', '--truth=outcome']
    """
    names = {**known, **{OF_FLAG[name]: flag for name, flag in known.items() if name in OF_FLAG}}
    flags, written_flags = set(known.values()), {word.partition("=")[0] for word in words if word.startswith("--")}
    translated: list[str] = []
    for at, word in enumerate(words):
        if word == "--":
            return [*translated, *words[at:]]
        flag, equals, value = word.partition("=")
        own = find_own_word(flag[2:].replace("-", "_"), names) if flag.startswith("--") and flag not in flags else None
        if own is not None and names[own] in written_flags:
            raise OptionError(
                f"{called} got {names[own]} and {flag}, which are two names of one option.", hint="give one of them."
            )
        translated.append(word if own is None else f"{names[own]}{equals}{value}")
    return translated


def takes_flags(*names: str, **changed: Option) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Give a command the flags of these options, in this order, beside the parameters of its own.

    A parameter of its own stands where it is named, or before all flags. What was given reaches the command as
    `**options`, read and by the names of the function behind it; what was not is left to that function. A command with
    a parameter `outputs` gets there what was said of the forms. `changed` are options that this command alone takes, or
    explains differently. Every command can be told to keep to a limit of memory.
    """
    order = [*" ".join(names).split(), "memory_limit"]

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        own = _own_parameters(command)
        options = {name: changed.get(name) or OPTIONS[name] for name in order if name not in own}
        flags = {name: _parameter(name, option) for name, option in options.items()}
        parameters = [*(one for name, one in own.items() if name not in order)]
        parameters += [own[name] if name in own else flags[name] for name in order]

        @wraps(command)
        def run(**given: Any) -> None:
            if given["memory_limit"] is not None:
                keep_memory_limit(given.pop("memory_limit"))
            values = {name: given[name] for name in own}
            for name, flag in flags.items():
                value = given.get(flag.name)
                # An option that may be repeated is an empty list where it was not given.
                if value is not None and value != []:
                    values[name] = READERS[name](value) if name in READERS else value
            if "outputs" in inspect.signature(command).parameters:
                values["outputs"] = Outputs.gather(**{name: values.pop(name) for name in OUTPUTS if name in values})
            command(**values)

        vars(run).update(__signature__=inspect.Signature(parameters), __annotations__={})
        return run

    return decorate


# What a file of a few rows takes, with room for the stacks of the threads that read it.
LEAST_MEMORY = 100_000_000


def keep_memory_limit(text: str) -> None:
    """Run the command within so much memory: this process is there to say what became of it."""
    from heldout.cli import start
    from heldout.web.limits import limit_memory, read_size, size_words

    size = read_size(text)
    if sys.platform != "linux":
        raise OptionError("--memory-limit needs Linux.", hint="leave it out, or run heldout in a container.")
    if size < LEAST_MEMORY:
        raise OptionError(
            f"--memory-limit is {size_words(size)}, and even the smallest file takes {size_words(LEAST_MEMORY)}.",
            hint=f"give at least {size_words(LEAST_MEMORY).replace(' ', '')}.",
        )
    if not start.watched:
        raise typer.Exit(start.run_watched(f"{size_words(size)} of memory", "raise --memory-limit"))
    _start_libraries()
    limit_memory(size)


def _start_libraries() -> None:
    """Start the threads of Polars and of linear algebra: they are not the file's, and without memory they may hang."""
    import numpy as np
    import polars as pl
    import scipy.stats  # noqa: F401 - brings SciPy's own linear algebra
    from scipy.linalg import solve_triangular

    pl.DataFrame({"a": [1, 1, 2], "b": [1.0, 2.0, 3.0]}).lazy().group_by("a").sum().collect()
    # Large enough that every thread takes its working memory, which it keeps.
    square = np.eye(256)
    solve_triangular(square, square @ square)


def _own_parameters(command: Callable[..., None]) -> dict[str, inspect.Parameter]:
    """The parameters that a command declares itself, with their types."""
    types = get_type_hints(command, include_extras=True)
    return {
        name: parameter.replace(annotation=types[name], kind=inspect.Parameter.KEYWORD_ONLY)
        for name, parameter in inspect.signature(command).parameters.items()
        if name != "outputs" and parameter.kind is not inspect.Parameter.VAR_KEYWORD
    }


def _parameter(name: str, option: Option) -> inspect.Parameter:
    """The flag of an option as Typer takes it."""
    flag = option.flag or name
    kind: Any = list[option.kind] | None if option.repeated else option.kind if option.shown else option.kind | None  # type: ignore[name-defined]
    spelled = typer.Option(
        f"--{flag.replace('_', '-')}",
        *([LETTERS[name]] if name in LETTERS else []),
        metavar=option.metavar or None,
        help=option.help,
        rich_help_panel=option.panel,
    )
    default = option.default if option.shown else None
    return inspect.Parameter(flag, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=Annotated[kind, spelled])


def one_or_all(columns: list[str]) -> str | list[str]:
    """One column of scores as itself, several as a list."""
    return columns[0] if len(columns) == 1 else columns


def name_slices(columns: list[str]) -> str | list[str]:
    """The columns that --slice names; the word all alone is every column that has no other role."""
    return "all" if columns == ["all"] else columns


def split_charts(texts: list[str]) -> list[tuple[str, str]]:
    """The kind of curve and the file of every --chart.

    >>> split_charts(["roc=roc.svg"])
    [('roc', 'roc.svg')]
    """
    charts = []
    for text in texts:
        kind, equals, path = text.partition("=")
        if not equals or not kind or not path:
            raise OptionError(f"--chart {text!r} is not KIND=FILE.", hint="write --chart roc=roc.svg.")
        charts.append((kind, path))
    return charts


def split_limits(texts: list[str]) -> dict[str, dict[str, float]]:
    """The limits of rules that --limit names, by code and name.

    >>> split_limits(["H014.width=0.1", "H006.cases=5"])
    {'H014': {'width': 0.1}, 'H006': {'cases': 5.0}}
    """
    limits: dict[str, dict[str, float]] = {}
    for text in texts:
        limit, _, value = text.partition("=")
        code, _, name = (part.strip() for part in limit.partition("."))
        try:
            number = float(value)
        except ValueError:
            number = None
        if not value.strip() or not code or not name:
            raise OptionError(f"--limit {text!r} is not CODE.NAME=VALUE.", hint="write --limit H014.width=0.1.")
        if number is None:
            raise OptionError(
                f"The limit {name} of {code} must be a number. Got {value.strip()!r}.",
                hint="write --limit H014.width=0.1.",
            )
        limits.setdefault(code, {})[name] = number
    return limits


def split_labels(text: str) -> list[str]:
    """The classes that --labels names; one that holds a comma stands in double quotes.

    >>> split_labels('no, "yes, surely"')
    ['no', 'yes, surely']
    """
    try:
        labels = [label.strip() for row in csv.reader([text], skipinitialspace=True) for label in row]
    except csv.Error as error:
        raise OptionError(f"--labels cannot be read: {error}.", hint="separate the classes by commas only.") from None
    twice = sorted({label for label in labels if labels.count(label) > 1})
    if not labels or not all(labels) or twice:
        why = f"names {listing(map(repr, twice))} more than once" if all(labels) and twice else "has an empty name"
        raise OptionError(
            f"--labels {why}. Got {text!r}.",
            hint="name each class once, separated by commas: --labels no,yes.",
        )
    return labels


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


def check_data(data: str | None, learner: object, command: str) -> None:
    """Refuse a call without data or without a learner."""
    example = f"heldout {command} data.csv --target outcome --learner knn:5"
    if not data:
        raise OptionError("There is no file to learn from.", hint=f"{example}.")
    if not learner:
        raise OptionError("There is no learner: say what to fit.", hint=f"{example}.")


# Text in brackets, where a colon belongs to the name of a class, or module:name.
NAMED = re.compile(r"\[[^\[\]]*\]|(?<![\w.:/\[])(?P<module>[A-Za-z_][\w.]*):(?P<name>[A-Za-z_]\w*)")


def import_measures(text: str) -> str:
    """The text with each module:name replaced by the name of the measure, which is imported and declared.

    Only what a person typed and files of requirements are read so: a column of a table never imports anything.

    >>> import_measures("sklearn.metrics:adjusted_rand_score >= 0.5")
    'adjusted_rand_score >= 0.5'
    >>> import_measures("recall[a:b] >= 0.5")
    'recall[a:b] >= 0.5'
    >>> from heldout.measures.catalogue import unregister
    >>> unregister("adjusted_rand_score")
    """
    return NAMED.sub(_import_one, text)


def _import_one(match: re.Match[str]) -> str:
    if match["module"] is None:
        return match[0]
    from heldout.imports import import_name
    from heldout.measures.own import declare_any

    return declare_any(import_name(match["module"], match["name"], f"the measure {match[0]!r}"), match[0]).name


def import_all(given: Any) -> Any:
    """The same for one text or several; whatever else was given is left as it is."""
    if isinstance(given, str):
        return import_measures(given)
    return [import_measures(text) for text in given] if isinstance(given, list) else given


# How the text of a flag becomes the argument of a function, where it is not the text itself.
READERS: dict[str, Callable[[Any], Any]] = {
    "score": one_or_all,
    "slices": name_slices,
    "labels": split_labels,
    "limits": split_limits,
    "charts": split_charts,
    "jobs": read_jobs,
    "measures": import_all,
}
