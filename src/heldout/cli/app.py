"""The command `heldout`: its subcommands, and how errors leave it."""

from __future__ import annotations

import os
import sys
from typing import Annotated

import typer

from heldout import __version__
from heldout.cli.evaluate import evaluate
from heldout.cli.measures import measures
from heldout.errors import HeldoutError

app = typer.Typer(
    name="heldout",
    help="Judge classifiers: every measure with an honest interval.",
    no_args_is_help=True,
    add_completion=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command("evaluate")(evaluate)
app.command("measures")(measures)


def _version(asked: bool) -> None:
    if asked:
        typer.echo(f"heldout {__version__}")
        raise typer.Exit


@app.callback()
def root(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Judge classifiers: every measure with an honest interval."""


def main() -> None:
    """Run the command; a wrong input ends in two sentences and exit status 2."""
    for stream in (sys.stdout, sys.stderr):
        # A terminal that cannot show ● or é gets a question mark, not a traceback.
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")
    try:
        app()
    except HeldoutError as error:
        sys.stderr.write(f"{_printable(str(error))}\n")
        sys.exit(2)
    except BrokenPipeError:
        # The reader (head, less) has gone: that is no error, and Python must not complain on closing.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(0)
    except KeyboardInterrupt:
        sys.stderr.write("Interrupted.\n")
        sys.exit(130)


def _printable(text: str) -> str:
    from heldout.show.printable import visible

    return "\n".join(visible(line) for line in text.split("\n"))
