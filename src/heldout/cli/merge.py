"""`heldout merge`: put evidence together that was counted apart, and judge it or write it."""

from __future__ import annotations

from typing import Annotated

import typer

from heldout.cli.count import EvidenceFile, checked_output, told
from heldout.cli.evaluate import split_chart
from heldout.cli.options import (
    INPUT,
    Charts,
    CostRows,
    Costs,
    Full,
    Html,
    Json,
    Latex,
    Layout,
    Level,
    Limit,
    Markdown,
    Measures,
    Method,
    Mute,
    Positive,
    Replicates,
    Seed,
    split_limits,
)
from heldout.cli.output import Outputs, deliver
from heldout.cli.writing import tell


def merge(
    files: Annotated[
        list[str] | None,
        typer.Argument(metavar="EVIDENCE…", help="Files that heldout count or Evidence.save wrote."),
    ] = None,
    output: EvidenceFile = None,
    same: Annotated[
        bool,
        typer.Option(
            "--same",
            help="Count files of the same content each for itself, instead of refusing them.",
            rich_help_panel=INPUT,
        ),
    ] = False,
    costs: Costs = None,
    cost_rows: CostRows = None,
    positive: Positive = None,
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
    """Judge all the cases that were counted apart, as if they had been in one file; or write them to one.

    Files must have been counted with the same options, and each case in one of them.

    \b
    Examples:
      heldout merge part-*.evidence
      heldout merge part-*.evidence --measure roc_auc --json -
      heldout merge monday.evidence tuesday.evidence -o week.evidence
      heldout evaluate week.evidence
    """  # noqa: D301 - click takes a backspace to mean: do not wrap what follows
    paths = list(files or [])
    outputs = Outputs(json, html, markdown, latex, layout, full, bool(measure))
    outputs.check(paths)
    place = None if output is None else checked_output(output, paths)
    charts = [split_chart(text) for text in chart or []]
    from heldout.front.merge import merge as run

    total = run(paths, same=same)
    if place is not None:
        total.save(place)
        told(place, total.n)
        if not outputs.forms() and not charts:
            return
    from heldout.front.evaluate import evaluate

    result = evaluate(
        total,
        positive=positive,
        measures=measure or "all",
        costs=costs,
        cost_rows=cost_rows,
        level=level,
        method=method,
        replicates=replicates,
        seed=seed,
        mute=mute or (),
        limits=split_limits(limit),
    )
    for kind, picture in charts:
        result.curve(kind).save(picture)
    deliver(result, outputs)
    for _, picture in charts:
        tell(f"Wrote {picture}")
