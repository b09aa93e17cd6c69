"""`heldout check`: a gate for CI, with an exit status of its own: 0 passed, 1 failed; and what GitHub is told of it."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from heldout.api.options import OUTPUT, Option, make_switch
from heldout.atomic_write import write_whole
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
    import_all,
    takes_flags,
)
from heldout.cli.output import STANDARD_OUTPUT, SUMMARY, Outputs, as_bytes, cut_markdown, deliver, tell, write_files
from heldout.errors import FileError, OptionError

if TYPE_CHECKING:
    from heldout.gates.gate import Gate, Requirement

GATE = "Gate"
# The files that a step of a workflow appends to: what its page shows, and what later steps read.
SUMMARY_FILE, OUTPUT_FILE = "GITHUB_STEP_SUMMARY", "GITHUB_OUTPUT"
# GitHub shows at most this many annotations of each kind for a step.
MOST_SHOWN = 10


@takes_flags(
    "require requirements baseline forbid undecided",
    ROLES,
    CLASSES,
    ENGINE,
    INTERVAL,
    CALIBRATION,
    REVIEW,
    "ledger",
    FILES,
    "junit github",
    require=Option(
        None,
        "TEXT",
        "What must hold, such as 'recall[spam] >= 0.8', 'recall[spam, sex=f] >= 0.8', 'error_rate <= 5%' or 'accuracy "
        ">= baseline - 0.02'; may be repeated.",
        GATE,
        repeated=True,
    ),
    requirements=Option(None, "FILE", "A TOML file of requirements: [[require]] text = '…'.", GATE),
    baseline=Option(
        None,
        "FILE",
        "What 'baseline' means: predictions of the same cases, or the JSON document of an evaluation.",
        GATE,
    ),
    forbid=Option(
        None,
        "CODE|act|know",
        "Fail where this finding is made, such as H001, or any to act on, or any at all; may be repeated.",
        GATE,
        repeated=True,
    ),
    undecided=Option(
        "fail",
        "fail|warn|pass",
        "Undecided requirements: fail; warn, which lets them through where the value itself meets the bound; or pass.",
        GATE,
        shown=True,
    ),
    id=replace(
        OPTIONS["id"], help="Column that names the case; by default rows are matched with the baseline by order."
    ),
    slices=replace(
        OPTIONS["slices"],
        help="Column that divides the cases, for --forbid H021; may be repeated, all is every other column.",
    ),
    method=replace(OPTIONS["method"], help="Interval method wherever it applies."),
    junit=Option(None, "FILE", "Write JUnit XML, which GitLab and Jenkins read.", OUTPUT),
    github=make_switch(
        "In a workflow on GitHub: write the step summary, annotate what failed, and set the output passed.", OUTPUT
    ),
)
def check(predictions: Predictions, *, outputs: Outputs, **options: Any) -> None:
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
    junit, github = options.pop("junit", None), options.pop("github")
    outputs, xml = outputs.take(".xml")
    if xml and (junit is not None or len(xml) > 1):
        raise OptionError("Two files were named for the JUnit XML.", hint="name one of them.")
    junit = xml[0] if xml else junit
    if junit == STANDARD_OUTPUT:
        raise FileError("--junit writes a file, which CI servers look for.", hint="name it, as in --junit gate.xml.")
    if github:
        check_workflow()
    requirements = options.pop("requirements", None)
    outputs.check([predictions, options.get("baseline"), requirements], options, more={"junit": junit})
    from heldout.api.check import check as run
    from heldout.gates.requirements import read_requirement_file

    wanted = [*(read_requirement_file(requirements) if requirements is not None else []), *options.pop("require", [])]
    gate = run(predictions, require=import_all(wanted), **options)
    if junit is not None:
        write_files({"junit": (junit, gate.to_junit())})
    deliver(gate, outputs)
    if junit is not None:
        tell(f"Wrote {junit}")
    if github:
        tell_workflow(gate, predictions)
    if not gate.passed:
        raise typer.Exit(1)


def check_workflow() -> None:
    """Refuse --github where no workflow runs."""
    if not os.environ.get(SUMMARY_FILE):
        raise OptionError(
            f"--github writes the summary of a step on GitHub, and {SUMMARY_FILE} is not set.",
            hint="leave it out here; --markdown gate.md writes the same text to a file.",
        )


def tell_workflow(gate: Gate, predictions: str) -> None:
    """Append the summary and the outputs, and annotate what failed and what was let through undecided."""
    _append(SUMMARY_FILE, gate.to_markdown() + "\n")
    if os.environ.get(OUTPUT_FILE):
        _append(OUTPUT_FILE, f"passed={str(gate.passed).lower()}\nsummary={gate.summary()}\n")
    # Standard output may hold a document; GitHub reads annotations from standard error too.
    for line in (*annotate("error", gate.failing, predictions), *annotate("warning", gate.cautions, predictions)):
        tell(line)


def annotate(kind: str, requirements: tuple[Requirement, ...], predictions: str) -> list[str]:
    """A line for each requirement, as GitHub reads it; the last of many counts the others."""
    from heldout.show.escape import visible

    properties = f"file={_escape_property(predictions)},title={_escape_property('heldout check')}"
    texts = [visible(f"{requirement.text} {requirement.outcome}: {requirement.why}") for requirement in requirements]
    if len(texts) > MOST_SHOWN:
        shown = texts[: MOST_SHOWN - 1]
        texts = [*shown, f"and {len(texts) - len(shown)} more requirements; the summary of the step has all of them"]
    return [f"::{kind} {properties}::{_escape(text)}" for text in texts]


def _escape(text: str) -> str:
    """Text in one line, as GitHub spells line ends."""
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _escape_property(text: str) -> str:
    return _escape(text).replace(":", "%3A").replace(",", "%2C")


def _append(variable: str, text: str) -> None:
    """Add to a file of the step; of a summary as much as still fits."""
    path = Path(os.environ[variable])
    try:
        # A device may never end.
        before = path.read_bytes() if path.is_file() else b""
        shown = cut_markdown(text, SUMMARY - len(before)) if variable == SUMMARY_FILE else text
        write_whole(path, before + as_bytes(shown))
    except OSError as error:
        raise FileError(
            f"{variable} cannot be written: {path}: {error.strerror or error}.", hint="leave out --github here."
        ) from None
