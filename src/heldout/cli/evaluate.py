"""`heldout evaluate`: measure a classifier from a file of predictions or a confusion matrix."""

from __future__ import annotations

import re
import sys
from typing import TYPE_CHECKING, Annotated, Any

import typer

from heldout.arguments import listing
from heldout.cli.options import (
    INPUT,
    Charts,
    CostRows,
    Costs,
    Engine,
    Fold,
    Full,
    Group,
    Html,
    Json,
    Labels,
    Latex,
    Layout,
    Level,
    Limit,
    Markdown,
    Master,
    Measures,
    Method,
    Missing,
    Mute,
    Passes,
    Positive,
    Predicted,
    Replicates,
    Scores,
    Seed,
    Slices,
    Threshold,
    Tolerance,
    Truth,
    Weight,
    named_slices,
    one_or_all,
    split_labels,
    split_limits,
)
from heldout.cli.output import Outputs, deliver, tell
from heldout.errors import OptionError
from heldout.files.formats import titles_in_batches, titles_of_formats

if TYPE_CHECKING:
    from heldout.results.evaluation import Evaluation

# Options that are about the rows of a file, of which a matrix has none.
OF_LARGE = ("engine", "master", "tolerance", "passes")
OF_ROWS = ("truth", "predicted", "score", "threshold", "weight", "group", "fold", "id", "slice", "missing", *OF_LARGE)


def evaluate(
    predictions: Annotated[
        str | None,
        typer.Argument(
            metavar="PREDICTIONS",
            help=f"A file with one row per case: {titles_of_formats()}, also as .gz; a folder or "
            f"a pattern in quotes of {titles_in_batches()} files; an address such as s3://…; evidence "
            "that heldout count wrote; - is standard input.",
        ),
    ] = None,
    truth: Truth = None,
    predicted: Predicted = None,
    score: Scores = None,
    threshold: Threshold = None,
    costs: Costs = None,
    cost_rows: CostRows = None,
    weight: Weight = None,
    group: Group = None,
    fold: Fold = None,
    id: Annotated[  # noqa: A002 - the word for it everywhere
        str | None,
        typer.Option(
            metavar="COLUMN",
            help="Column that names the case, where models of several repetitions predicted it.",
            rich_help_panel=INPUT,
        ),
    ] = None,
    slice: Slices = None,  # noqa: A002 - the word for it everywhere
    missing: Missing = None,
    matrix: Annotated[
        str | None,
        typer.Option(
            metavar="MATRIX",
            help="A confusion matrix instead of rows: a CSV file, or the counts themselves, as in '50 0; 2 48'.",
            rich_help_panel=INPUT,
        ),
    ] = None,
    rows: Annotated[
        str | None,
        typer.Option(
            metavar="truth|predicted", help="What the rows of --matrix are; truth by default.", rich_help_panel=INPUT
        ),
    ] = None,
    labels: Labels = None,
    positive: Positive = None,
    engine: Engine = None,
    master: Master = None,
    tolerance: Tolerance = None,
    passes: Passes = None,
    level: Level = 0.95,
    method: Method = None,
    replicates: Replicates = 2000,
    seed: Seed = 0,
    measure: Measures = None,
    mute: Mute = None,
    limit: Limit = None,
    full: Full = False,
    layout: Layout = None,
    json: Json = None,
    html: Html = None,
    markdown: Markdown = None,
    latex: Latex = None,
    chart: Charts = None,
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
    chosen = bool(measure)
    outputs = Outputs(json, html, markdown, latex, layout, full, chosen)
    outputs.check([predictions, matrix])
    roles = {
        "truth": truth,
        "predicted": predicted,
        "score": one_or_all(score),
        "threshold": threshold,
        "weight": weight,
        "group": group,
        "fold": fold,
        "id": id,
        "slice": named_slices(slice),
        "missing": missing,
        "engine": engine,
        "master": master,
        "tolerance": tolerance,
        "passes": passes,
    }
    settings = {
        "costs": costs,
        "cost_rows": cost_rows,
        "labels": split_labels(labels),
        "positive": positive,
        "measures": measure or "all",
        "level": level,
        "method": method,
        "replicates": replicates,
        "seed": seed,
        "mute": mute or (),
        "limits": split_limits(limit),
    }
    charts = [split_chart(text) for text in chart or []]
    result = _evaluation(predictions, matrix, rows, roles, settings)
    for kind, place in charts:
        result.curve(kind).save(place)
    deliver(result, outputs)
    for _, place in charts:
        tell(f"Wrote {place}")


def split_chart(text: str) -> tuple[str, str]:
    """The kind of curve and the file of a --chart.

    >>> split_chart("roc=roc.svg")
    ('roc', 'roc.svg')
    """
    kind, equals, place = text.partition("=")
    if not equals or not kind or not place:
        raise OptionError(f"--chart {text!r} does not say what to draw where.", hint="write --chart roc=roc.svg.")
    return kind, place


def _evaluation(
    predictions: str | None, matrix: str | None, rows: str | None, roles: dict[str, Any], settings: dict[str, Any]
) -> Evaluation:
    from heldout.api.evaluate import evaluate as run

    if matrix is not None:
        _refuse_beside_matrix(predictions, roles)
        table, settings["labels"] = _read(matrix, settings["labels"])
        return run(matrix=table, rows=rows or "truth", **settings)
    if not predictions:
        # An empty name is what a shell makes of a variable that is not set.
        raise OptionError(
            "There is nothing to evaluate: no file of predictions and no --matrix.",
            hint="heldout evaluate predictions.csv, or heldout evaluate --matrix '50 0; 2 48'.",
        )
    if rows is not None:
        raise OptionError("--rows says what the rows of a --matrix are, and there is none.", hint="leave out --rows.")
    if predictions == "-":
        _announce_standard_input()
    if roles["master"] is not None and roles["engine"] is None:
        raise OptionError(
            f"--master {roles['master']} says where to run, but not what.", hint="add --engine spark or --engine dask."
        )
    # What was not said is left to evaluate().
    roles = {name: value for name, value in roles.items() if value is not None or name not in OF_LARGE}
    roles["slices"] = roles.pop("slice")
    return run(predictions, **(roles | {"missing": roles["missing"] or "refuse"}), **settings)


def _announce_standard_input() -> None:
    if sys.stdin is None:
        raise OptionError("Standard input is closed, so - cannot be read.", hint="name a file instead.")
    if sys.stdin.isatty():
        tell("Reading predictions from the terminal; Ctrl-D ends them.")


def _refuse_beside_matrix(predictions: str | None, roles: dict[str, Any]) -> None:
    if predictions is not None:
        split = re.fullmatch(r"[\d.;]+", predictions)
        raise OptionError(
            f"A file of predictions ({predictions}) and --matrix were given together.",
            hint="put the whole matrix in quotes: --matrix '50 0; 2 48'." if split else "give one of the two.",
        )
    given = [role for role in OF_ROWS if roles[role] is not None]
    if given:
        raise OptionError(
            f"--{given[0]} is about the rows of a file, and a matrix has none.", hint=f"leave out --{given[0]}."
        )


def _read(matrix: str, labels: list[str] | None) -> tuple[Any, Any]:
    """The matrix and its labels; where the file names them, --labels may only put them in another order."""
    from heldout.files import read_matrix

    named, table = read_matrix(matrix)
    if named is None or labels is None:
        return table, labels or named
    if sorted(named) != sorted(labels):
        raise OptionError(
            f"--labels names {listing(labels)}, but {matrix} has the labels {listing(named)}.",
            hint="name the same classes in any order, or leave out --labels.",
        )
    order = [named.index(label) for label in labels]
    return table[order][:, order], labels
