"""`heldout evaluate`: measure a classifier from a file of predictions or a confusion matrix."""

from __future__ import annotations

import re
import sys
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any

import typer

from heldout.cli.flags import (
    CALIBRATION,
    CLASSES,
    ENGINE,
    FILES,
    INTERVAL,
    OPTIONS,
    REVIEW,
    ROLES,
    ROW_PER_CASE,
    takes_flags,
)
from heldout.cli.output import STANDARD_OUTPUT, Outputs, deliver, tell
from heldout.errors import FileError, OptionError
from heldout.files.formats import titles_in_batches

if TYPE_CHECKING:
    from heldout.results.evaluation import Evaluation

# Options that are about the rows of a file, of which a matrix has none.
OF_ROWS = tuple(name for name in f"{ROLES} {ENGINE}".split() if name not in ("costs", "cost_rows"))


@takes_flags(
    ROLES, "matrix rows", CLASSES, "prevalence", ENGINE, INTERVAL, "measures", CALIBRATION, REVIEW,
    "ledger full layout", FILES, "metrics charts",
)  # fmt: skip
def evaluate(
    predictions: Annotated[
        str | None,
        typer.Argument(
            metavar="PREDICTIONS",
            help=f"{ROW_PER_CASE}; a folder or a pattern in quotes of {titles_in_batches()} files; an "
            "address such as s3://…; evidence that heldout count wrote; - is standard input.",
        ),
    ] = None,
    *,
    outputs: Outputs,
    **options: Any,
) -> None:
    """Measure a classifier: every measure with an interval.

    Columns are guessed from usual names (y_true, label, …; y_pred, predicted, …), and the guess is printed.

    \b
    Examples:
      heldout evaluate predictions.csv
      heldout evaluate predictions.csv --truth outcome --predicted answer
      heldout evaluate predictions.csv --score p_yes --threshold 0.3 --costs 'yes,no:10; no,yes:1'
      heldout evaluate predictions.parquet --measure 'macro f1' --json -
      heldout evaluate predictions.csv --slice sex --slice age
      heldout evaluate --matrix '50 0; 2 48' --labels no,yes --positive yes
      heldout evaluate 'predictions/*.parquet'
      heldout evaluate hdfs://name/predictions --engine spark --master spark://host:7077
    """  # noqa: D301 - click takes a backspace to mean: do not wrap what follows
    outputs = replace(outputs, chosen="measures" in options)
    charts, metrics = options.pop("charts", []), options.pop("metrics", None)
    if metrics == STANDARD_OUTPUT:
        raise FileError("--metrics writes a file, which trackers look for.", hint="name it: --metrics metrics.json.")
    if metrics is not None and not metrics.lower().endswith(".json"):
        raise FileError(
            f"--metrics writes a JSON file. Got {metrics!r}.",
            hint="name it: --metrics metrics.json. Measures are chosen with --measure, one at a time.",
        )
    outputs.check([predictions], options, charts=[path for _, path in charts], more={"metrics": metrics})
    evaluation = _evaluate(predictions, options)
    if metrics is not None:
        evaluation.write_metrics(metrics)
    deliver_evaluation(evaluation, charts, outputs)
    if metrics is not None:
        tell(f"Wrote {metrics}")


def deliver_evaluation(result: Evaluation, charts: list[tuple[str, str]], outputs: Outputs) -> None:
    """Draw the curves of an evaluation, and write every form that was asked for."""
    for kind, path in charts:
        curve = result.curve(kind)
        curve.write(path, curve.kind)
    deliver(result, outputs)
    for _, path in charts:
        tell(f"Wrote {path}")


def _evaluate(predictions: str | None, options: dict[str, Any]) -> Evaluation:
    from heldout.api.evaluate import evaluate as run

    matrix = options.pop("matrix", None)
    if matrix is not None:
        _refuse_beside_matrix(predictions, options)
        return run(**options, matrix=matrix)
    if not predictions:
        # An empty name is what a shell makes of a variable that is not set.
        raise OptionError(
            "There is nothing to evaluate: no file of predictions and no --matrix.",
            hint="heldout evaluate predictions.csv, or heldout evaluate --matrix '50 0; 2 48'.",
        )
    refuse_rows(options)
    if predictions == "-":
        _announce_standard_input()
    if "master" in options and "engine" not in options:
        raise OptionError(
            f"--master {options['master']} says where to run, but not what.",
            hint="add --engine spark or --engine dask.",
        )
    return run(predictions, **options)


def refuse_rows(options: dict[str, Any]) -> None:
    """Refuse to say what the rows of a matrix are where there is none."""
    if "rows" in options:
        raise OptionError("--rows says what the rows of a --matrix are, and there is none.", hint="leave out --rows.")


def _announce_standard_input() -> None:
    if sys.stdin is None:
        raise OptionError("Standard input is closed, so - cannot be read.", hint="name a file instead.")
    if sys.stdin.isatty():
        tell("Reading predictions from the terminal; Ctrl-D ends them.")


def _refuse_beside_matrix(predictions: str | None, options: dict[str, Any]) -> None:
    if predictions is not None:
        split = re.fullmatch(r"[\d.;]+", predictions)
        raise OptionError(
            f"A file of predictions ({predictions}) and --matrix were given together.",
            hint="put the whole matrix in quotes: --matrix '50 0; 2 48'." if split else "give one of the two.",
        )
    given = next((name for name in OF_ROWS if name in options), None)
    if given is not None:
        flag = f"--{OPTIONS[given].flag or given}"
        raise OptionError(f"{flag} is about the rows of a file, and a matrix has none.", hint=f"leave out {flag}.")
