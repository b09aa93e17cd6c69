"""`heldout thresholds`: choose the threshold of a classifier that gives scores."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from heldout.cli.options import (
    INPUT,
    Engine,
    Group,
    Html,
    Json,
    Labels,
    Latex,
    Level,
    Markdown,
    Master,
    Missing,
    Passes,
    Positive,
    Predictions,
    Replicates,
    Seed,
    Tolerance,
    Truth,
    Weight,
    of_large,
    split_labels,
)
from heldout.cli.output import Outputs, deliver
from heldout.errors import OptionError

CHOICE = "Choice"


def thresholds(
    predictions: Predictions,
    truth: Truth = None,
    score: Annotated[
        str | None, typer.Option(metavar="COLUMN", help="Column of the positive class's score.", rich_help_panel=INPUT)
    ] = None,
    weight: Weight = None,
    group: Group = None,
    labels: Labels = None,
    positive: Positive = None,
    missing: Missing = None,
    engine: Engine = None,
    master: Master = None,
    tolerance: Tolerance = None,
    passes: Passes = None,
    costs: Annotated[
        str | None,
        typer.Option(
            metavar="COSTS",
            help="Least expected cost: a CSV or TOML file, or truth,predicted:cost pairs as in 'yes,no:10; no,yes:1'.",
            rich_help_panel=CHOICE,
        ),
    ] = None,
    cost_rows: Annotated[
        str | None,
        typer.Option(metavar="truth|predicted", help="What the rows of a file of costs are.", rich_help_panel=CHOICE),
    ] = None,
    maximize: Annotated[
        str | None,
        typer.Option(metavar="MEASURE", help="The best of a measure, such as f1 or youden.", rich_help_panel=CHOICE),
    ] = None,
    require: Annotated[
        str | None,
        typer.Option(
            metavar="TEXT",
            help="What must hold, such as 'recall >= 0.9'; then the best precision.",
            rich_help_panel=CHOICE,
        ),
    ] = None,
    then: Annotated[
        str | None,
        typer.Option(metavar="MEASURE", help="The best of this among what --require allows.", rich_help_panel=CHOICE),
    ] = None,
    prevalence: Annotated[
        float | None,
        typer.Option(
            metavar="SHARE", help="Share of positives where it will be used, if it differs.", rich_help_panel=CHOICE
        ),
    ] = None,
    current: Annotated[
        float | None,
        typer.Option(metavar="T", help="The threshold in use now, to compare with.", rich_help_panel=CHOICE),
    ] = None,
    grid: Annotated[
        str | None,
        typer.Option(
            metavar="distinct|N|A,B,…",
            help="Choose nothing; list the counts at the distinct scores, at N even steps, or at these thresholds.",
            rich_help_panel=CHOICE,
        ),
    ] = None,
    honest: Annotated[
        bool,
        typer.Option("--honest", help="Judge the choice on cases that had no part in it.", rich_help_panel=CHOICE),
    ] = False,
    level: Level = 0.95,
    replicates: Replicates = 999,
    seed: Seed = 0,
    json: Json = None,
    html: Html = None,
    markdown: Markdown = None,
    latex: Latex = None,
) -> None:
    """Choose the threshold from which a case is called positive.

    \b
    Examples:
      heldout thresholds predictions.csv --score p_yes --costs 'yes,no:10; no,yes:1'
      heldout thresholds predictions.csv --score p_yes --maximize f1 --honest
      heldout thresholds predictions.csv --score p_yes --require 'recall >= 0.9'
      heldout thresholds predictions.csv --score p_yes --grid 11
      heldout thresholds 'predictions/*.parquet' --score p_yes --maximize youden --engine duckdb
    """  # noqa: D301 - click takes a backspace to mean: do not wrap what follows
    from heldout.api.choose_threshold import choose_threshold

    outputs = Outputs(json, html, markdown, latex)
    outputs.check([predictions])
    large = of_large(engine, master, tolerance, passes)
    if grid is not None:
        from heldout.api.evaluate import evaluate
        from heldout.evidence.storage import is_evidence_file

        # Any threshold will do to read the columns: the classes that it gives are not used.
        options: dict[str, Any] = {
            "truth": truth,
            "score": score,
            "weight": weight,
            "group": group,
            "positive": positive,
            "labels": split_labels(labels),
            "missing": missing or "refuse",
            "threshold": None if is_evidence_file(predictions) else 0.5,
            "measures": [],
            "level": level,
            **large,
        }
        seen = evaluate(predictions, **options)
        deliver(seen.threshold_table(read_grid(grid)), outputs)
        return
    by = maximize if maximize is not None else ("cost" if costs is not None and require is None else None)
    decision = choose_threshold(
        predictions,
        score,
        truth=truth,
        by=by,
        require=require,
        then=then,
        costs=costs,
        cost_rows=cost_rows,
        prevalence=prevalence,
        current=current,
        honest=honest,
        weight=weight,
        group=group,
        positive=positive,
        labels=split_labels(labels),
        missing=missing or "refuse",  # type: ignore[arg-type]
        level=level,
        seed=seed,
        replicates=replicates,
        **large,
    )
    deliver(decision, outputs)


def read_grid(text: str) -> str | int | list[float]:
    """What --grid asks for.

    >>> read_grid("distinct"), read_grid("11"), read_grid("0.1, 0.5")
    ('distinct', 11, [0.1, 0.5])
    """
    if text.strip() == "distinct":
        return "distinct"
    try:
        return int(text) if text.strip().isdigit() else [float(part) for part in text.split(",")]
    except ValueError:
        raise OptionError(
            f"--grid {text!r} is neither 'distinct', a number of steps, nor a list of thresholds.",
            hint="write --grid distinct, --grid 11 or --grid 0.1,0.5,0.9.",
        ) from None
