"""`heldout evaluate`: measure a classifier from a file of predictions or a confusion matrix."""

from __future__ import annotations

import csv
import re
import sys
from typing import TYPE_CHECKING, Annotated, Any

import typer

from heldout.cli.output import Outputs, deliver
from heldout.cli.writing import tell
from heldout.errors import OptionError, listing

if TYPE_CHECKING:
    from heldout.evaluation import Evaluation

INPUT, INTERVALS, OUTPUT = "Input", "Intervals", "Output"
# Options that are about the rows of a file, of which a matrix has none.
OF_ROWS = ("truth", "predicted", "score", "threshold", "weight", "group", "missing")


def evaluate(
    predictions: Annotated[
        str | None,
        typer.Argument(
            metavar="PREDICTIONS",
            help="A file with one row per case: CSV, TSV, Parquet, JSON lines, NPZ or ARFF, also as .gz; "
            "- is standard input.",
        ),
    ] = None,
    truth: Annotated[
        str | None, typer.Option(metavar="COLUMN", help="Column of the true class.", rich_help_panel=INPUT)
    ] = None,
    predicted: Annotated[
        str | None, typer.Option(metavar="COLUMN", help="Column of the predicted class.", rich_help_panel=INPUT)
    ] = None,
    score: Annotated[
        list[str] | None,
        typer.Option(
            metavar="COLUMN",
            help="Column of scores or probabilities of the positive class; repeated, one per class.",
            rich_help_panel=INPUT,
        ),
    ] = None,
    threshold: Annotated[
        float | None,
        typer.Option(
            metavar="T",
            help="Predict the positive class where the score is at least this, instead of a predicted column.",
            rich_help_panel=INPUT,
        ),
    ] = None,
    costs: Annotated[
        str | None,
        typer.Option(
            metavar="COSTS",
            help="Costs of the errors: a CSV or TOML file, or truth,predicted:cost pairs as in 'yes,no:10; no,yes:1'.",
            rich_help_panel=INPUT,
        ),
    ] = None,
    cost_rows: Annotated[
        str | None,
        typer.Option(metavar="truth|predicted", help="What the rows of a file of costs are.", rich_help_panel=INPUT),
    ] = None,
    weight: Annotated[
        str | None, typer.Option(metavar="COLUMN", help="Column of case weights.", rich_help_panel=INPUT)
    ] = None,
    group: Annotated[
        str | None,
        typer.Option(
            metavar="COLUMN",
            help="Column of groups whose rows are not independent, such as patients.",
            rich_help_panel=INPUT,
        ),
    ] = None,
    missing: Annotated[
        str | None,
        typer.Option(
            metavar="refuse|drop",
            help="What to do with rows that lack a value: refuse them (the default), or drop them and say how many.",
            rich_help_panel=INPUT,
        ),
    ] = None,
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
    labels: Annotated[
        str | None,
        typer.Option(
            metavar="A,B,…",
            help="The classes in the order to show them, separated by commas; names the rows of --matrix.",
            rich_help_panel=INPUT,
        ),
    ] = None,
    positive: Annotated[
        str | None,
        typer.Option(
            metavar="CLASS",
            help="The positive class; of usual pairs such as no and yes or 0 and 1 it is known.",
            rich_help_panel=INPUT,
        ),
    ] = None,
    level: Annotated[
        float, typer.Option(metavar="LEVEL", help="Level of the intervals, between 0 and 1.", rich_help_panel=INTERVALS)
    ] = 0.95,
    method: Annotated[
        str | None,
        typer.Option(
            metavar="METHOD",
            help="Interval method wherever it applies, such as bootstrap; without, the best of each kind.",
            rich_help_panel=INTERVALS,
        ),
    ] = None,
    replicates: Annotated[
        int, typer.Option(metavar="N", help="Bootstrap replicates.", rich_help_panel=INTERVALS)
    ] = 2000,
    seed: Annotated[int, typer.Option(metavar="N", help="Seed of everything random.", rich_help_panel=INTERVALS)] = 0,
    measure: Annotated[
        list[str] | None,
        typer.Option(
            metavar="MEASURE",
            help="Only this measure, such as accuracy, 'macro f1' or 'recall\\[spam]'; may be repeated.",
            rich_help_panel=OUTPUT,
        ),
    ] = None,
    full: Annotated[
        bool, typer.Option("--full", help="Show every measure and every class.", rich_help_panel=OUTPUT)
    ] = False,
    layout: Annotated[
        str | None,
        typer.Option(
            "--format", metavar="heldout|weka", help="Layout of the report on the terminal.", rich_help_panel=OUTPUT
        ),
    ] = None,
    json: Annotated[
        str | None,
        typer.Option(
            metavar="FILE", help="Write JSON to this file; - is standard output here too.", rich_help_panel=OUTPUT
        ),
    ] = None,
    html: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="Write a page for the browser, with everything.", rich_help_panel=OUTPUT),
    ] = None,
    markdown: Annotated[
        str | None, typer.Option(metavar="FILE", help="Write Markdown.", rich_help_panel=OUTPUT)
    ] = None,
    latex: Annotated[
        str | None, typer.Option(metavar="FILE", help="Write LaTeX tables.", rich_help_panel=OUTPUT)
    ] = None,
    chart: Annotated[
        list[str] | None,
        typer.Option(
            metavar="KIND=FILE",
            help="Draw a curve into an svg, png or html file: roc, pr, det, gain, lift, cost, decision, reliability, "
            "or a measure, as in roc=roc.svg; may be repeated.",
            rich_help_panel=OUTPUT,
        ),
    ] = None,
) -> None:
    """Measure a classifier: every measure with an interval.

    Columns are guessed from usual names (y_true, label, …; y_pred, predicted, …), and the guess is printed.

    \b
    Examples:
      heldout evaluate predictions.csv
      heldout evaluate predictions.csv --truth outcome --predicted answer
      heldout evaluate predictions.csv --score p_yes --threshold 0.3 --costs 'yes,no:10; no,yes:1'
      heldout evaluate predictions.parquet --measure 'macro f1' --json -
      heldout evaluate --matrix '50 0; 2 48' --labels no,yes --positive yes
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
        "missing": missing,
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


def one_or_all(columns: list[str] | None) -> str | list[str] | None:
    """One column of scores as itself, several as a list."""
    return columns[0] if columns and len(columns) == 1 else (columns or None)


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


def _evaluation(
    predictions: str | None, matrix: str | None, rows: str | None, roles: dict[str, Any], settings: dict[str, Any]
) -> Evaluation:
    from heldout.front.evaluate import evaluate as run

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
