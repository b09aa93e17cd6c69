"""What `heldout check --github` hands to a workflow on GitHub: a step summary, annotations and outputs."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from heldout.atomic_write import write_whole
from heldout.cli.output import SUMMARY, as_bytes, cut_markdown, tell
from heldout.errors import FileError, OptionError

if TYPE_CHECKING:
    from heldout.gates.gate import Gate, Requirement

# The files that a step of a workflow appends to: what its page shows, and what later steps read.
SUMMARY_FILE, OUTPUT_FILE = "GITHUB_STEP_SUMMARY", "GITHUB_OUTPUT"
# GitHub shows at most this many annotations of each kind for a step.
MOST_SHOWN = 10


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

    place = f"file={_escape_property(predictions)},title={_escape_property('heldout check')}"
    texts = [visible(f"{one.text} {one.outcome}: {one.why}") for one in requirements]
    if len(texts) > MOST_SHOWN:
        shown = texts[: MOST_SHOWN - 1]
        texts = [*shown, f"and {len(texts) - len(shown)} more requirements; the summary of the step has all of them"]
    return [f"::{kind} {place}::{_escape(text)}" for text in texts]


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
        held = path.read_bytes() if path.is_file() else b""
        kept = cut_markdown(text, SUMMARY - len(held)) if variable == SUMMARY_FILE else text
        write_whole(path, held + as_bytes(kept))
    except OSError as error:
        raise FileError(
            f"{variable} cannot be written: {path}: {error.strerror or error}.", hint="leave out --github here."
        ) from None
