"""Where the command begins: Ctrl-C ends it quietly from the first moment on, before anything large is imported."""

from __future__ import annotations

import os
import signal
import sys
from types import FrameType


def main() -> None:
    """Run the command; an interrupt that comes before it runs is answered as one that comes later."""
    # Processes that are started from here are Pythons with -m, which would put the current folder first on the path.
    os.environ.setdefault("PYTHONSAFEPATH", "1")
    handler = signal.getsignal(signal.SIGINT)
    # Where interrupts are ignored, as under nohup, they stay so.
    if handler is signal.default_int_handler:
        # An exception would come out of whichever library is being imported, or be taken there for a fault of its own.
        signal.signal(signal.SIGINT, _end)
    from heldout.cli.app import main as run

    if handler is signal.default_int_handler:
        signal.signal(signal.SIGINT, handler)
    run()


def _end(number: int, frame: FrameType | None) -> None:  # noqa: ARG001 - Python's protocol
    if sys.stderr is not None:
        sys.stderr.write("Interrupted.\n")
        sys.stderr.flush()
    # Nothing was begun that would have to be put away.
    os._exit(130)
