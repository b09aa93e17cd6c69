"""`heldout check`: a gate for CI, with an exit status of its own: 0 passed, 1 failed."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, Any

import typer

from heldout.api.options import OUTPUT
from heldout.cli.flags import (
    CALIBRATION,
    CLASSES,
    ENGINE,
    FILES,
    INTERVAL,
    OPTIONS,
    REVIEW,
    ROLES,
    Predictions,
    takes_flags,
)
from heldout.cli.github import check_workflow, tell_workflow
from heldout.cli.output import STANDARD_OUTPUT, Outputs, deliver, tell, write_files
from heldout.cli.own_measures import import_all
from heldout.errors import FileError, OptionError

GATE = "Gate"


@takes_flags(
    ROLES,
    CLASSES,
    ENGINE,
    INTERVAL,
    CALIBRATION,
    REVIEW,
    "ledger",
    FILES,
    "junit github",
    id=replace(OPTIONS["id"], help="Column that names the case; without, rows are matched with the baseline by order."),
    slices=replace(
        OPTIONS["slices"],
        help="Column that divides the cases, for --forbid H021; may be repeated, all is every other column.",
    ),
    method=replace(OPTIONS["method"], help="Interval method wherever it applies."),
)
def check(
    predictions: Predictions,
    require: Annotated[
        list[str] | None,
        typer.Option(
            metavar="TEXT",
            help="What must hold, such as 'recall[spam] >= 0.8', 'recall[spam, sex=f] >= 0.8', 'error_rate <= 5%' "
            "or 'accuracy >= baseline - 0.02'; may be repeated.",
            rich_help_panel=GATE,
        ),
    ] = None,
    requirements: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="A TOML file of requirements: [[require]] text = '…'.", rich_help_panel=GATE),
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
    undecided: Annotated[
        str,
        typer.Option(
            metavar="fail|warn|pass",
            help="What is undecided: fail; warn, which lets it through where the value itself meets it; or pass.",
            rich_help_panel=GATE,
        ),
    ] = "fail",
    junit: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="Write JUnit XML, which GitLab and Jenkins read.", rich_help_panel=OUTPUT),
    ] = None,
    github: Annotated[
        bool,
        typer.Option(
            "--github",
            help="In a workflow on GitHub: write the step summary, annotate what failed, and set the output passed.",
            rich_help_panel=OUTPUT,
        ),
    ] = False,
    *,
    outputs: Outputs,
    **options: Any,
) -> None:
    """Is it good enough? Exit status 0 where the gate passes, 1 where it fails, 2 where the call is wrong.

    A requirement has passed when a one-sided limit of --level clears its bound, failed when the limit on the other
    side misses it, and is undecided between. All must pass; what is undecided fails too, unless --undecided says
    otherwise.

    \b
    Examples:
      heldout check predictions.csv --require 'recall[spam] >= 0.80' --require 'macro f1 > .7'
      heldout check predictions.csv --require 'recall[spam, sex=f] >= 0.75' --require 'error_rate[region=north] <= 5%'
      heldout check new.csv --baseline old.csv --require 'accuracy >= baseline - 0.02' --id case
      heldout check predictions.csv --requirements gate.toml --forbid act --junit gate.xml
      heldout check predictions.csv --requirements gate.toml --github
      heldout check 'predictions/*.parquet' --require 'roc_auc >= 0.9' --engine duckdb
    """  # noqa: D301 - click takes a backspace to mean: do not wrap what follows
    outputs, xml = outputs.take(".xml")
    if xml and (junit is not None or len(xml) > 1):
        raise OptionError("Two files were named for the JUnit XML.", hint="name one of them.")
    junit = xml[0] if xml else junit
    if junit == STANDARD_OUTPUT:
        raise FileError("--junit writes a file, which CI servers look for.", hint="name it, as in --junit gate.xml.")
    if github:
        check_workflow()
    outputs.check([predictions, baseline, requirements], options, more={"junit": junit})
    from heldout.api.check import check as run
    from heldout.gates.requirements import read_requirement_file

    wanted = [*(read_requirement_file(requirements) if requirements is not None else []), *(require or [])]
    wanted = import_all(wanted)
    gate = run(predictions, require=wanted, baseline=baseline, forbid=forbid or [], undecided=undecided, **options)  # type: ignore[arg-type]
    if junit is not None:
        write_files({"junit": (junit, gate.to_junit())})
    deliver(gate, outputs)
    if junit is not None:
        tell(f"Wrote {junit}")
    if github:
        tell_workflow(gate, predictions)
    if not gate.passed:
        raise typer.Exit(1)
