"""`heldout validate`: estimate how good a learner will be, by resampling."""

from __future__ import annotations

import ast
from dataclasses import replace
from typing import Annotated, Any

import typer

from heldout.api.options import OUTPUT, RUNNING
from heldout.cli.flags import CLASSES, FILES, FITTED, INTERVAL, OPTIONS, Data, check_data, takes_flags
from heldout.cli.output import Outputs, deliver, learners_may_print
from heldout.errors import OptionError

FOLD = replace(OPTIONS["fold"], help="Column that says which fold each row is in, instead of a plan.", panel=RUNNING)


@takes_flags(
    "target learners plan fold grid jobs on_error shortcuts",
    FITTED,
    CLASSES,
    "costs cost_rows",
    INTERVAL,
    "measures full predictions",
    FILES,
    "mute",
    fold=FOLD,
    method=replace(
        OPTIONS["method"],
        help="Interval method, such as corrected-t, naive-t or nested-cv; without, the best of each kind.",
    ),
)
def validate(
    data: Data = None,
    plan: Annotated[
        str,
        typer.Option(
            metavar="PLAN",
            help="How to split: 10-fold, 5x2-fold, 'holdout 2/3', '30 x holdout 2/3', loo, 'bootstrap 200', "
            "'.632+ 200', resubstitution, 'time-ordered 5', 'weka 10-fold seed 1', 'nested 10-fold / 5-fold'.",
            rich_help_panel=RUNNING,
        ),
    ] = "10-fold",
    grid: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=A,B,…",
            help="A setting and the values to try within every training part; may be repeated.",
            rich_help_panel=RUNNING,
        ),
    ] = None,
    shortcuts: Annotated[
        bool,
        typer.Option(
            "--shortcuts/--no-shortcuts",
            help="Use faster ways for k-nearest neighbours and naive Bayes where the predictions are the same.",
            rich_help_panel=RUNNING,
        ),
    ] = True,
    predictions: Annotated[
        str | None,
        typer.Option(
            metavar="FILE", help="Write every prediction with its row and fold to a CSV file.", rich_help_panel=OUTPUT
        ),
    ] = None,
    *,
    outputs: Outputs,
    **options: Any,
) -> None:
    """Estimate how good a learner will be on new cases, by a plan that trains and tests it.

    Columns of categories and gaps are dealt with inside every fold.

    \b
    Examples:
      heldout validate iris.arff --learner knn:5 --learner naive-bayes
      heldout validate churn.csv --target churned --learner forest --plan '5x2-fold'
      heldout validate churn.csv --target churned --learner logistic --plan '.632+ 200'
      heldout validate churn.csv --target churned --learner knn:5 --grid n_neighbors=1,3,5,9
      heldout validate churn.csv --target churned --learner 'my_learners:Mine(depth=3)'
    """  # noqa: D301 - click takes a backspace to mean: do not wrap what follows
    learners = options.pop("learners", [])
    check_data(data, learners, "validate")
    outputs = replace(outputs, chosen="measures" in options, predictions=predictions)
    outputs.check([data])
    if predictions is not None and len(learners) > 1:
        raise OptionError(
            "--predictions writes the predictions of one learner, and there are several.",
            hint="run each learner by itself; with the same seed the splits are the same.",
        )
    settings = read_grid(grid) if grid else None
    from heldout.api.validate import validate as run

    with learners_may_print():
        learner = learners[0] if len(learners) == 1 else learners
        result = run(learner, data, plan=plan, grid=settings, shortcuts=shortcuts, **options)
    deliver(result, outputs)
    if not result.finished:
        # The command's end says "Interrupted."; what was finished stands above.
        raise typer.Exit(130)


def read_grid(texts: list[str]) -> dict[str, list[Any]]:
    """The settings to search: each text names one and lists its values.

    >>> read_grid(["n_neighbors=1,3,5", "weights=uniform,distance"])
    {'n_neighbors': [1, 3, 5], 'weights': ['uniform', 'distance']}
    >>> read_grid(["hidden_layer_sizes=(10, 5), (20,)"])
    {'hidden_layer_sizes': [(10, 5), (20,)]}
    """
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
