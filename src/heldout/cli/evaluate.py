"""`heldout evaluate`: measure a classifier from a file of predictions or a confusion matrix."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from heldout.cli.output import Outputs, deliver

if TYPE_CHECKING:
    from heldout.evaluation import Evaluation

INPUT, INTERVALS, OUTPUT = "Input", "Intervals", "Output"


def evaluate(
    predictions: Annotated[
        str | None,
        typer.Argument(
            help="A file of predictions: CSV, TSV, Parquet, JSON lines, NPZ, ARFF, gz; - is standard input."
        ),
    ] = None,
    truth: Annotated[str | None, typer.Option(help="Column of the true class.", rich_help_panel=INPUT)] = None,
    predicted: Annotated[str | None, typer.Option(help="Column of the predicted class.", rich_help_panel=INPUT)] = None,
    weight: Annotated[str | None, typer.Option(help="Column of case weights.", rich_help_panel=INPUT)] = None,
    group: Annotated[
        str | None,
        typer.Option(help="Column of groups whose rows are not independent, e.g. patients.", rich_help_panel=INPUT),
    ] = None,
    matrix: Annotated[
        str | None,
        typer.Option(help='A confusion matrix instead: a CSV file, or "50 0; 2 48".', rich_help_panel=INPUT),
    ] = None,
    rows: Annotated[
        str, typer.Option(help="What the rows of --matrix are: truth or predicted.", rich_help_panel=INPUT)
    ] = "truth",
    labels: Annotated[
        str | None, typer.Option(help="The classes in order, separated by commas.", rich_help_panel=INPUT)
    ] = None,
    positive: Annotated[str | None, typer.Option(help="The positive class.", rich_help_panel=INPUT)] = None,
    missing: Annotated[
        str, typer.Option(help="Rows with missing values: refuse, or drop and say so.", rich_help_panel=INPUT)
    ] = "refuse",
    measure: Annotated[
        list[str] | None,
        typer.Option(
            help='Only this, e.g. accuracy, "macro f1", "recall[spam]"; may be repeated.',
            rich_help_panel=OUTPUT,
        ),
    ] = None,
    level: Annotated[float, typer.Option(help="Level of the intervals.", rich_help_panel=INTERVALS)] = 0.95,
    method: Annotated[
        str | None,
        typer.Option(
            help="Interval method where it applies; the default is the best of each family.",
            rich_help_panel=INTERVALS,
        ),
    ] = None,
    replicates: Annotated[int, typer.Option(help="Bootstrap replicates.", rich_help_panel=INTERVALS)] = 2000,
    seed: Annotated[int, typer.Option(help="Seed of everything random.", rich_help_panel=INTERVALS)] = 0,
    full: Annotated[
        bool, typer.Option("--full", help="Every measure and every class.", rich_help_panel=OUTPUT)
    ] = False,
    layout: Annotated[
        str | None,
        typer.Option("--format", help="Terminal layout: heldout or weka.", rich_help_panel=OUTPUT),
    ] = None,
    json: Annotated[
        str | None, typer.Option(help="Write JSON here; - is standard output.", rich_help_panel=OUTPUT)
    ] = None,
    html: Annotated[str | None, typer.Option(help="Write an HTML page here.", rich_help_panel=OUTPUT)] = None,
    markdown: Annotated[str | None, typer.Option(help="Write Markdown here.", rich_help_panel=OUTPUT)] = None,
    latex: Annotated[str | None, typer.Option(help="Write LaTeX tables here.", rich_help_panel=OUTPUT)] = None,
) -> None:
    """Measure a classifier: every measure with an interval.

    Columns are guessed from usual names (y_true, truth, label, …; y_pred, predicted, …) and the guess is printed.
    """
    outputs = Outputs(json=json, html=html, markdown=markdown, latex=latex, layout=layout, full=full)
    outputs.check()
    result = _evaluation(
        predictions,
        matrix,
        {
            "truth": truth,
            "predicted": predicted,
            "weight": weight,
            "group": group,
            "rows": rows,
            "labels": _split(labels),
            "positive": positive,
            "missing": missing,
            "measures": measure or "all",
            "level": level,
            "method": method,
            "replicates": replicates,
            "seed": seed,
        },
    )
    deliver(result, outputs, chosen=measure is not None and bool(measure))


def _split(labels: str | None) -> list[str] | None:
    return None if labels is None else [label.strip() for label in labels.split(",")]


def _evaluation(predictions: str | None, matrix: str | None, options: dict[str, Any]) -> Evaluation:
    from heldout.errors import OptionError
    from heldout.front.evaluate import evaluate as run

    if matrix is None:
        if predictions is None:
            raise OptionError(
                "There is nothing to evaluate: no file of predictions and no --matrix.",
                hint="heldout evaluate predictions.csv, or heldout evaluate --matrix '50 0; 2 48'.",
            )
        options.pop("rows")
        return run(predictions, **options)
    if predictions is not None:
        raise OptionError("A file of predictions and --matrix were given together.", hint="give one of the two.")
    columns = [role for role in ("truth", "predicted", "weight", "group") if options[role] is not None]
    if columns:
        raise OptionError(f"--{columns[0]} names a column, and a matrix has none.", hint=f"leave out --{columns[0]}.")
    from heldout.files import read_matrix

    named, table = read_matrix(matrix)
    options["labels"] = options["labels"] or named
    return run(matrix=table, **options)
