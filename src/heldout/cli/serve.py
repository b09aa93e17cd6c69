"""`heldout serve`: the report of a file in the browser, with a page to drop files on."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from heldout.cli.output import tell
from heldout.errors import OptionError
from heldout.extras import require_extra

SERVER, LIMITS = "Server", "Limits"
LOOPBACK = "127.0.0.1"


def serve(
    file: Annotated[
        str | None,
        typer.Argument(metavar="FILE", help="A file of predictions to begin with; others are dropped on the page."),
    ] = None,
    port: Annotated[
        int | None,
        typer.Option(
            metavar="PORT",
            help="Port to listen on; without, 8000 or the next that is free; 0 is any free one.",
            rich_help_panel=SERVER,
        ),
    ] = None,
    host: Annotated[
        str,
        typer.Option(
            metavar="ADDRESS",
            help="Address to listen on; the default is reached from this machine only.",
            rich_help_panel=SERVER,
        ),
    ] = LOOPBACK,
    name: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME",
            help="Another name that the server answers to, such as that of a proxy in front of it; may be repeated.",
            rich_help_panel=SERVER,
        ),
    ] = None,
    browser: Annotated[
        bool, typer.Option("--open/--no-open", help="Open the page in the browser.", rich_help_panel=SERVER)
    ] = True,
    max_upload: Annotated[
        str, typer.Option(metavar="SIZE", help="The largest file that is taken.", rich_help_panel=LIMITS)
    ] = "200MB",
    max_kept: Annotated[
        str | None,
        typer.Option(
            metavar="SIZE",
            help="The most that is kept for all users together, files and reports; without, ten times --max-upload, "
            "and 100MB at least.",
            rich_help_panel=LIMITS,
        ),
    ] = None,
    timeout: Annotated[
        float,
        typer.Option(metavar="SECONDS", help="The longest that one report may take.", rich_help_panel=LIMITS),
    ] = 600.0,
    memory_limit: Annotated[
        str | None,
        typer.Option(
            metavar="SIZE",
            help="The most memory that reports may take together (Linux); without, three quarters of the machine's.",
            rich_help_panel=LIMITS,
        ),
    ] = None,
    workers: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            help="Reports computed at the same time; without, as many as there are cores, 2 to 8.",
            rich_help_panel=LIMITS,
        ),
    ] = None,
) -> None:
    """Show reports in the browser: drop a file, choose columns, compare, download.

    Ctrl-C ends it; everything that was sent is then removed.

    \b
    Examples:
      heldout serve
      heldout serve predictions.csv
      heldout serve --host 0.0.0.0 --port 8080 --max-upload 1GB
    """  # noqa: D301 - click takes a backspace to mean: do not wrap what follows
    _check(port, timeout, workers)
    require_extra("serve", "The local page", instead="heldout evaluate FILE --html report.html")
    from heldout.files.input_stream import existing_file
    from heldout.web.guard import is_loopback
    from heldout.web.limits import Limits, read_size, usual_memory, usual_workers
    from heldout.web.server import run

    limits = Limits(
        upload=read_size(max_upload), total=0 if max_kept is None else read_size(max_kept), timeout=timeout,
        workers=workers or usual_workers(), memory=usual_memory() if memory_limit is None else read_size(memory_limit),
    )  # fmt: skip
    named = None if file is None else existing_file(file)
    if not is_loopback(host):
        tell(
            f"Warning: on {host} everyone who can reach this machine may send files and have reports made, and what "
            "they send is not encrypted. Leave out --host to keep it to this machine."
        )

    def started(address: str, door: Path | None) -> None:
        print(f"heldout is at {address}\nCtrl-C ends it, and removes what was sent.", flush=True)
        if browser:
            # The token in the address is a secret, and the list of processes shows arguments.
            _open(address if door is None else door.as_uri())

    run(limits, host=host, port=port, file=named, started=started, names=name or ())
    tell("Ended; what was sent is removed.")


def _check(port: int | None, timeout: float, workers: int | None) -> None:
    if port is not None and not 0 <= port <= 65535:
        raise OptionError(f"--port must lie between 0 and 65535. Got {port}.", hint="leave it out for a free one.")
    if not timeout > 0:
        raise OptionError(f"--timeout must be more than 0 seconds. Got {timeout:g}.", hint="the default is 600.")
    if workers is not None and workers < 1:
        raise OptionError(f"--workers must be at least 1. Got {workers}.", hint="leave it out for one per core.")


def _open(address: str) -> None:
    """Open the browser without waiting for it: some stay in the foreground."""
    import threading
    import webbrowser

    threading.Thread(target=webbrowser.open, args=(address,), daemon=True).start()
