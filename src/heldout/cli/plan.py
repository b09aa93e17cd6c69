"""`heldout plan`: how many cases a test set takes."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, Any

import typer

from heldout.api.options import ASSUMED
from heldout.cli.flags import FILES, OPTIONS, takes_flags
from heldout.cli.output import Outputs, deliver


@takes_flags(
    "value width against margin equivalence n power prevalence recall precision auc different_cases discordance",
    "correlation group_size icc group_variation pilot assurance level",
    FILES,
    prevalence=replace(OPTIONS["prevalence"], help="Share of positives among the cases.", panel=ASSUMED),
    different_cases=replace(OPTIONS["different_cases"], panel=ASSUMED),
)
def plan(
    what: Annotated[
        str,
        typer.Argument(
            metavar="MEASURE|REQUIREMENT",
            help="What is to be known: a measure such as accuracy, recall, f1, auc or calibration_slope, or a "
            "requirement such as 'recall >= 0.8'.",
        ),
    ],
    *,
    outputs: Outputs,
    **options: Any,
) -> None:
    """Plan a test set: how many cases, and of which class, before they are collected.

    For an interval that is narrow enough (--width), a gate that is passed, a difference that is shown (--against), or a
    margin that is kept (--margin); with --n, what so many cases come to. Widths and powers are those of the default
    intervals and tests.

    \b
    Examples:
      heldout plan accuracy --value 0.9 --width 0.05
      heldout plan recall --value 0.8 --prevalence 0.1 --width 0.1 --assurance 0.9
      heldout plan 'recall >= 0.8' --value 0.87 --prevalence 0.1
      heldout plan accuracy --value 0.9 --against 0.87 --discordance 0.08
      heldout plan auc --value 0.85 --against 0.85 --margin 0.03 --prevalence 0.3 --correlation 0.6
      heldout plan calibration_slope --prevalence 0.1 --auc 0.75 --width 0.4
      heldout plan accuracy --value 0.9 --width 0.05 --group-size 8 --icc 0.2
      heldout plan 'accuracy >= 0.8' --pilot 45/50 --power 0.7
      heldout plan accuracy --value 0.9 --n 300
    """  # noqa: D301 - click takes a backspace to mean: do not wrap what follows
    outputs.check([], options)
    from heldout.api.plan_study import plan_study

    options |= {"paired": False} if options.pop("different_cases") else {}
    options |= {"margin_kind": "equivalence"} if options.pop("equivalence") else {}
    deliver(plan_study(what, **options), outputs)
