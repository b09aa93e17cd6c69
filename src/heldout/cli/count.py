"""`heldout count` and `heldout merge`: count files into evidence, put evidence together, judge it or write it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from heldout.api.options import INPUT, OUTPUT, make_switch
from heldout.cli.evaluate import deliver_evaluation
from heldout.cli.flags import CLASSES, ENGINE, FILES, INTERVAL, OPTIONS, REVIEW, takes_flags
from heldout.cli.output import OWN_NAME, Outputs, check_writable, tell
from heldout.errors import FileError, HeldoutError, OptionError

if TYPE_CHECKING:
    from heldout.predictions.source import Source


# The ending of a file of counts.
EVIDENCE = ".evidence"
EvidenceFile = Annotated[
    str | None,
    typer.Option("--output", "-o", metavar="FILE", help="The file of evidence to write.", rich_help_panel=OUTPUT),
]


@takes_flags("truth predicted score threshold weight group fold slices missing", CLASSES, ENGINE)
def count(
    files: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="PREDICTIONS…",
            help="Files with one row per case, as for heldout evaluate; several are counted together.",
        ),
    ] = None,
    output: EvidenceFile = None,
    **options: Any,
) -> None:
    """Count predictions where they are, into a small file that heldout merge puts together with others.

    Where not every part shows all classes, name them with --labels, and with scores the positive one.

    \b
    Examples:
      heldout count monday.csv -o monday.evidence
      heldout count part-7.parquet --score p_yes --labels no,yes --positive yes -o part-7.evidence
      heldout merge part-*.evidence
    """  # noqa: D301 - click takes a backspace to mean: do not wrap what follows
    if not files:
        raise OptionError(
            "There is nothing to count: no file of predictions.", hint="heldout count predictions.csv -o part.evidence"
        )
    target = check_output(output, files)
    from heldout.evidence.storage import is_evidence_file

    for path in files:
        if is_evidence_file(path):
            raise FileError(
                f"{path} is evidence: its cases were counted already.",
                hint=f"put it together with other evidence: heldout merge {path} … -o {target}.",
            )
    from heldout.api.count import count_with_source
    from heldout.show.escape import visible

    total = None
    for path in files:
        part, source = count_with_source(path, **options)
        tell_columns(path, source)
        for note in part.counted.notes:
            tell(visible(f"{path}: {note}"))
        try:
            total = part if total is None else total + part
        except HeldoutError as error:
            raise type(error)(f"{path} does not fit {files[0]}. {error.what}", hint=error.hint) from None
    if total is not None:
        total.save(target)
        tell_written(target, total.n)


def tell_columns(path: str, source: Source) -> None:
    """Say which columns were read, where some of them were guessed."""
    from heldout.show.escape import visible

    if source.guessed:
        tell(visible(f"Read {path}: {source.sentence()}"))


def check_output(output: str | None, inputs: list[str]) -> str:
    """The file to write, refused where it cannot be or is one of those that are read."""
    if output is None:
        raise OptionError("It is not said where to write the evidence.", hint="add -o part.evidence.")
    if output == "-":
        raise OptionError("Evidence is no text for a terminal.", hint="name a file: -o part.evidence.")
    check_writable("output", output)
    for path in inputs:
        if path != "-" and Path(path).exists() and Path(output).exists() and Path(path).samefile(output):
            raise FileError(f"--output would overwrite what is read: both are {output}.", hint=OWN_NAME)
    return output


def tell_written(path: str, rows: int) -> None:
    """Say what was written, and how small it is."""
    from heldout.show.escape import visible

    size = Path(path).stat().st_size if Path(path).is_file() else 0
    tell(f"Wrote {visible(path)}: {rows:,} {'row' if rows == 1 else 'rows'} counted, in {size:,} bytes")


@takes_flags(
    "same costs cost_rows positive", INTERVAL, "measures", REVIEW, "full layout", FILES, "charts",
    output=replace(OPTIONS["output"], help=f"{OPTIONS['output'].help.removesuffix('.')}. As {EVIDENCE}, the counts."),
    same=make_switch("Count files of the same content each for itself, instead of refusing them.", INPUT),
)  # fmt: skip
def merge(
    files: Annotated[
        list[str] | None,
        typer.Argument(metavar="EVIDENCE…", help="Files that heldout count or Evidence.save wrote."),
    ] = None,
    *,
    outputs: Outputs,
    **options: Any,
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
    outputs = replace(outputs, chosen="measures" in options)
    charts = options.pop("charts", [])
    outputs, counted = outputs.take(EVIDENCE)
    if len(counted) > 1:
        raise OptionError(f"Two files were named for the evidence: {', '.join(counted)}.", hint="name one of them.")
    outputs.check(paths, options, charts=[path for _, path in charts])
    target = check_output(counted[0], paths) if counted else None
    from heldout.api.count import merge as run

    total = run(paths, same=options.pop("same"))
    if target is not None:
        total.save(target)
        tell_written(target, total.n)
        if not outputs.forms() and not outputs.others and not charts:
            return
    from heldout.api.evaluate import evaluate

    deliver_evaluation(evaluate(total, **options), charts, outputs)
