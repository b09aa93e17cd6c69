"""Writing a file whole or not at all, whatever ends the process meanwhile."""

from __future__ import annotations

import os
import shutil
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

from heldout.errors import FileError

# What ends a process that does not handle it, and can be handled; SIGINT comes as KeyboardInterrupt.
ENDING = tuple(getattr(signal, name) for name in ("SIGTERM", "SIGHUP", "SIGBREAK") if hasattr(signal, name))


def write_whole(path: str | Path, data: bytes) -> None:
    """Write a file of bytes: beside its place first, then in it, so that no reader ever finds half of it.

    >>> import pathlib, tempfile
    >>> folder = tempfile.TemporaryDirectory()
    >>> place = pathlib.Path(folder.name, "some.bytes")
    >>> write_whole(place, b"all")
    >>> place.read_bytes(), len(list(place.parent.iterdir()))
    (b'all', 1)
    >>> folder.cleanup()
    """
    target = Path(os.path.realpath(path))
    beside = target.parent / f".{target.name[:100]}-{os.getpid()}-{threading.get_ident()}.tmp"
    try:
        if target.exists() and not target.is_file():
            # /dev/null, or a pipe: to be written to, not replaced.
            target.write_bytes(data)
            return
        with _gone_at_the_end(beside):
            with beside.open("xb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            if target.exists():
                shutil.copymode(target, beside)
            beside.replace(target)
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise FileError(
            f"{path} cannot be written: {why}.",
            hint="choose another place, or check that you may write there and that the disk is not full.",
        ) from None


@contextmanager
def _gone_at_the_end(beside: Path) -> Iterator[None]:
    """Leave no such file behind: not when the block ends, by whatever exception, and not when a signal ends all."""

    def end(number: int, frame: FrameType | None) -> None:  # noqa: ARG001 - Python's protocol
        beside.unlink(missing_ok=True)
        signal.signal(number, signal.SIG_DFL)
        os.kill(os.getpid(), number)

    held: dict[Any, Any] = {}
    # Only the main thread may handle signals, and a program that handles one itself goes on doing so.
    if threading.current_thread() is threading.main_thread():
        held = {number: signal.SIG_DFL for number in ENDING if signal.getsignal(number) is signal.SIG_DFL}
    try:
        for number in held:
            signal.signal(number, end)
        yield
    finally:
        beside.unlink(missing_ok=True)
        for number, handler in held.items():
            signal.signal(number, handler)
