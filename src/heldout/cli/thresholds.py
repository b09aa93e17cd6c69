"""`heldout thresholds`: choose the threshold of a classifier that gives scores."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, Any

import typer

from heldout.cli.flags import CLASSES, ENGINE, FILES, OPTIONS, Predictions, takes_flags
from heldout.cli.output import Outputs, deliver
from heldout.cli.own_measures import import_all
from heldout.errors import OptionError

CHOICE = "Choice"


@takes_flags(
    "truth score weight group",
    CLASSES,
    "missing",
    ENGINE,
    "costs cost_rows maximize require then prevalence current grid honest level replicates seed",
    FILES,
    costs=replace(OPTIONS["costs"], panel=CHOICE),
    cost_rows=replace(OPTIONS["cost_rows"], panel=CHOICE),
    prevalence=replace(OPTIONS["prevalence"], panel=CHOICE),
    replicates=replace(OPTIONS["replicates"], default=999),
)
def thresholds(
    predictions: Predictions,
    maximize: Annotated[
        str | None,
        typer.Option(metavar="MEASURE", help="The best of a measure, such as f1 or youden.", rich_help_panel=CHOICE),
    ] = None,
    require: Annotated[
        list[str] | None,
        typer.Option(
            metavar="TEXT",
            help="What must hold, such as 'recall >= 0.9'; then the best precision. May be repeated.",
            rich_help_panel=CHOICE,
        ),
    ] = None,
    then: Annotated[
        str | None,
        typer.Option(metavar="MEASURE", help="The best of this among what --require allows.", rich_help_panel=CHOICE),
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
    *,
    outputs: Outputs,
    **options: Any,
) -> None:
    """Choose the threshold from which a case is called positive.

    Of several classes, --costs with a probability for each says what the class of least expected cost costs.

    \b
    Examples:
      heldout thresholds predictions.csv --score p_yes --costs 'yes,no:10; no,yes:1'
      heldout thresholds predictions.csv --score p_yes --maximize f1 --honest
      heldout thresholds predictions.csv --score p_yes --require 'recall >= 0.9'
      heldout thresholds predictions.csv --score p_yes --grid 11
      heldout thresholds kinds.csv --score p_a --score p_b --score p_c --costs costs.csv
      heldout thresholds 'predictions/*.parquet' --score p_yes --maximize youden --engine duckdb
    """  # noqa: D301 - click takes a backspace to mean: do not wrap what follows
    outputs.check([predictions], options)
    maximize, require, then = import_all(maximize), import_all(require), import_all(then)
    if grid is not None:
        from heldout.api.evaluate import evaluate
        from heldout.evidence.storage import is_evidence_file

        for unused in ("costs", "cost_rows", "prevalence"):
            options.pop(unused, None)
        # Any threshold will do to read the columns: the classes that it gives are not used.
        threshold = None if is_evidence_file(predictions) else 0.5
        evaluation = evaluate(predictions, threshold=threshold, measures=[], **options)
        deliver(evaluation.threshold_table(read_grid(grid)), outputs)
        return
    from heldout.api.choose_threshold import choose_threshold

    by = maximize if maximize is not None else ("cost" if "costs" in options and not require else None)
    decision = choose_threshold(
        predictions,
        by=by,
        require=", ".join(require) if require else None,
        then=then,
        current=current,
        honest=honest,
        **options,
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
