"""`heldout check`: a gate for CI, with an exit status of its own: 0 passed, 1 failed."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, Any

import typer

from heldout.api.options import OUTPUT
from heldout.cli.flags import CLASSES, ENGINE, FILES, INTERVAL, OPTIONS, REVIEW, ROLES, Predictions, takes_flags
from heldout.cli.output import STANDARD_OUTPUT, Outputs, check_own_file, check_writable, deliver, tell, write_files
from heldout.errors import FileError

GATE = "Gate"


@takes_flags(
    ROLES,
    CLASSES,
    ENGINE,
    INTERVAL,
    REVIEW,
    FILES,
    "junit",
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
    junit: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="Write JUnit XML, which GitLab and Jenkins read.", rich_help_panel=OUTPUT),
    ] = None,
    *,
    outputs: Outputs,
    **options: Any,
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
    inputs = [predictions, baseline, requirements]
    outputs.check(inputs)
    _check_junit(junit, [*inputs, *outputs.forms().values()])
    from heldout.api.check import check as run
    from heldout.api.check import read_requirement_file

    wanted = [*(read_requirement_file(requirements) if requirements is not None else []), *(require or [])]
    gate = run(predictions, require=wanted, baseline=baseline, forbid=forbid or [], strict=strict, **options)
    if junit is not None:
        write_files({"junit": (junit, gate.to_junit())})
    deliver(gate, outputs)
    if junit is not None:
        tell(f"Wrote {junit}")
    if not gate.passed:
        raise typer.Exit(1)


def _check_junit(path: str | None, taken: list[str | None]) -> None:
    """Refuse a place that could not be written, or that is another file of this call."""
    if path is None:
        return
    if path == STANDARD_OUTPUT:
        raise FileError("--junit writes a file, which CI servers look for.", hint="name it, as in --junit gate.xml.")
    check_writable("junit", path)
    check_own_file("junit", path, taken)
