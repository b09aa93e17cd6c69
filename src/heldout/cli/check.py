"""`heldout check`: a gate for CI, with an exit status of its own: 0 passed, 1 failed."""

from __future__ import annotations

import os
from typing import Annotated, Any

import typer

from heldout.cli.options import (
    INPUT,
    INTERVALS,
    OUTPUT,
    CostRows,
    Costs,
    Engine,
    Fold,
    Group,
    Html,
    Json,
    Labels,
    Latex,
    Level,
    Markdown,
    Master,
    Missing,
    Mute,
    Passes,
    Positive,
    Predicted,
    Predictions,
    Replicates,
    Scores,
    Seed,
    Threshold,
    Tolerance,
    Truth,
    Weight,
    named_slices,
    of_large,
    one_or_all,
    split_labels,
)
from heldout.cli.output import STANDARD_OUTPUT, Outputs, check_place, deliver, tell, write_files
from heldout.errors import FileError

GATE = "Gate"


def check(
    predictions: Predictions,
    require: Annotated[
        list[str] | None,
        typer.Option(
            metavar="TEXT",
            help="What must hold, such as 'recall\\[spam] >= 0.8', 'error_rate <= 5%' or "
            "'accuracy >= baseline - 0.02'; may be repeated.",
            rich_help_panel=GATE,
        ),
    ] = None,
    requirements: Annotated[
        str | None,
        typer.Option(
            metavar="FILE", help="A TOML file of requirements: \\[\\[require]] text = '…'.", rich_help_panel=GATE
        ),
    ] = None,
    baseline: Annotated[
        str | None,
        typer.Option(
            metavar="FILE",
            help="What 'baseline' means: predictions of the same cases, or the JSON document of an evaluation.",
            rich_help_panel=GATE,
        ),
    ] = None,
    forbid: Annotated[
        list[str] | None,
        typer.Option(
            metavar="CODE|act|know",
            help="Fail where this finding is made, such as H001, or any to act on, or any at all; may be repeated.",
            rich_help_panel=GATE,
        ),
    ] = None,
    strict: Annotated[
        bool, typer.Option("--strict", help="Fail also where a requirement is undecided.", rich_help_panel=GATE)
    ] = False,
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
            help="Column that names the case; without, rows are matched with the baseline by order.",
            rich_help_panel=INPUT,
        ),
    ] = None,
    slice: Annotated[  # noqa: A002 - the word for it everywhere
        list[str] | None,
        typer.Option(
            metavar="COLUMN",
            help="Column that divides the cases, for --forbid H021; may be repeated, all is every other column.",
            rich_help_panel=INPUT,
        ),
    ] = None,
    missing: Missing = None,
    labels: Labels = None,
    positive: Positive = None,
    engine: Engine = None,
    master: Master = None,
    tolerance: Tolerance = None,
    passes: Passes = None,
    level: Level = 0.95,
    method: Annotated[
        str | None,
        typer.Option(metavar="METHOD", help="Interval method wherever it applies.", rich_help_panel=INTERVALS),
    ] = None,
    replicates: Replicates = 2000,
    seed: Seed = 0,
    mute: Mute = None,
    json: Json = None,
    html: Html = None,
    markdown: Markdown = None,
    latex: Latex = None,
    junit: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="Write JUnit XML, which GitLab and Jenkins read.", rich_help_panel=OUTPUT),
    ] = None,
) -> None:
    """Is it good enough? Exit status 0 where the gate passes, 1 where it fails, 2 where the call is wrong.

    A requirement has passed when its whole interval meets it, failed when its whole interval misses it, and is
    undecided between; undecided fails where the value itself misses it, or with --strict.

    \b
    Examples:
      heldout check predictions.csv --require 'recall[spam] >= 0.80' --require 'macro f1 > .7'
      heldout check new.csv --baseline old.csv --require 'accuracy >= baseline - 0.02' --id case
      heldout check predictions.csv --requirements gate.toml --forbid act --junit gate.xml
      heldout check 'predictions/*.parquet' --require 'roc_auc >= 0.9' --engine duckdb
    """  # noqa: D301 - click takes a backspace to mean: do not wrap what follows
    outputs = Outputs(json, html, markdown, latex)
    outputs.check([predictions, baseline, requirements])
    _check_junit(junit, [predictions, baseline, requirements, *outputs.forms().values()])
    options: dict[str, Any] = {
        "truth": truth, "predicted": predicted, "score": one_or_all(score), "threshold": threshold, "costs": costs,
        "cost_rows": cost_rows, "weight": weight, "group": group, "fold": fold, "id": id,
        "missing": missing or "refuse", "labels": split_labels(labels), "positive": positive, "level": level,
        "method": method, "replicates": replicates, "seed": seed, "mute": mute or (),
        "slices": named_slices(slice), **of_large(engine, master, tolerance, passes),
    }  # fmt: skip
    gate = _gate(predictions, require or [], requirements, baseline, forbid or [], strict=strict, options=options)
    if junit is not None:
        write_files({"junit": (junit, gate.to_junit())})
    deliver(gate, outputs)
    if junit is not None:
        tell(f"Wrote {junit}")
    if not gate.passed:
        raise typer.Exit(1)


def _gate(
    predictions: str, require: list[str], requirements: str | None, baseline: str | None, forbid: list[str], *,
    strict: bool, options: dict[str, Any],
) -> Any:  # fmt: skip
    from heldout.api.check import check as run
    from heldout.api.check import read_requirement_file

    wanted = [*(read_requirement_file(requirements) if requirements is not None else []), *require]
    return run(predictions, require=wanted, baseline=baseline, forbid=forbid, strict=strict, **options)


def _check_junit(place: str | None, taken: list[str | None]) -> None:
    """Refuse a place that could not be written, or that is another file of this call."""
    if place is None:
        return
    if place == STANDARD_OUTPUT:
        raise FileError("--junit writes a file, which CI servers look for.", hint="name it, as in --junit gate.xml.")
    check_place("junit", place)
    others = [other for other in taken if other not in (None, STANDARD_OUTPUT)]
    if any(os.path.realpath(other) == os.path.realpath(place) for other in others if other):
        raise FileError(f"--junit would overwrite another file: {place}.", hint="give each file its own name.")
