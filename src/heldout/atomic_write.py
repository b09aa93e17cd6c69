"""Writing files whole or not at all: beside their places first, flushed to the disk, then renamed into them.

Every file that a caller names and that takes the place of another is written here; only a ledger, to which a line is
added, is not (`files/ledger.py`). A reader, a second writer, a full disk, a signal or a loss of power finds the old
file or the new one, never half of one. What cannot be replaced is written in its place: a device, a file that is
mounted by itself, or one in a folder that is closed.
"""

from __future__ import annotations

import errno
import os
import shutil
import signal
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import FrameType
from typing import Any

from heldout.errors import FileError

# One message for a fault that several functions can find.
OTHER_LOCATION = "check that the folder exists, that you may write there, and that the disk is not full."
# Signals that end a process unless it handles them; SIGINT comes as KeyboardInterrupt.
ENDING = tuple(getattr(signal, name) for name in ("SIGTERM", "SIGHUP", "SIGBREAK") if hasattr(signal, name))
_BESIDE = ".tmp"


def write_whole(path: str | Path, data: bytes) -> Path:
    """Write one file; an error says what is wrong, and leaves the old file as it was.

    >>> import pathlib, tempfile
    >>> folder = tempfile.TemporaryDirectory()
    >>> written = write_whole(pathlib.Path(folder.name, "some.bytes"), b"all")
    >>> written.read_bytes(), len(list(written.parent.iterdir()))
    (b'all', 1)
    >>> folder.cleanup()
    """
    write_together([(f"{path} cannot be written", path, data)])
    return Path(path)


def write_together(files: Iterable[tuple[str, str | Path, bytes]]) -> None:
    """Write several files, each with how an error about it begins: none takes its place before all are on the disk."""
    pending: list[Path] = []
    with _remove_at_the_end(pending):
        staged: list[tuple[str, Path, Path | None, bytes]] = []
        for message, path, data in files:
            with _explain_failure(message):
                # A link stays one: what it leads to is replaced.
                target = Path(os.path.realpath(path))
                if target.is_symlink():
                    raise OSError(errno.ELOOP, "it is a link that leads back to itself")
                staged.append((message, target, _stage(target, data, pending), data))
        for message, target, beside, data in staged:
            with _explain_failure(message):
                _put_in_place(target, beside, data)


@contextmanager
def _explain_failure(message: str) -> Iterator[None]:
    try:
        yield
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise FileError(f"{message}: {why}.", hint=OTHER_LOCATION) from None


def _stage(target: Path, data: bytes, pending: list[Path]) -> Path | None:
    """The data in a new file beside its target, on the disk; None where the target must be written in place."""
    if target.exists() and not target.is_file():
        return None  # /dev/null, or a pipe: to be written to, not replaced
    _remove_leftovers(target)
    unique = f"{os.getpid()}-{threading.get_ident()}-{len(pending)}"
    beside = target.parent / f".{_stem(target)}-{unique}{_BESIDE}"
    try:
        pending.append(beside)
        with beside.open("xb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        if target.exists():
            shutil.copymode(target, beside)
    except PermissionError:
        if target.exists() and os.access(target, os.W_OK):
            return None  # a folder that is closed, with a file in it that is not
        raise
    return beside


def _put_in_place(target: Path, beside: Path | None, data: bytes) -> None:
    if beside is not None:
        try:
            beside.replace(target)
        except OSError:
            # A file that is mounted by itself, as containers do, can be written but not replaced.
            if not target.is_file():
                raise
        else:
            _flush_folder(target.parent)
            return
    _write_in_place(target, data)


def _write_in_place(target: Path, data: bytes) -> None:
    """Write over a file that cannot be replaced; where that fails, what was in it is put back."""
    before = target.read_bytes() if target.is_file() else None
    try:
        target.write_bytes(data)
    except OSError:
        if before is not None:
            with suppress(OSError):
                target.write_bytes(before)
        raise


def _flush_folder(folder: Path) -> None:
    """Have the new name on the disk as well, where the system lets a folder be opened."""
    with suppress(OSError):
        number = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(number)
        finally:
            os.close(number)


def _stem(target: Path) -> str:
    # Short enough for every file system with the part that is added, also in letters of four bytes.
    return target.name[:40]


def _remove_leftovers(target: Path) -> None:
    """Remove what writers of the same file left behind that were killed, which nothing else can clear away."""
    start = f".{_stem(target)}-"
    with suppress(OSError):
        for entry in os.scandir(target.parent):
            process = entry.name.removeprefix(start).partition("-")[0]
            if not (entry.name.startswith(start) and entry.name.endswith(_BESIDE) and process.isdecimal()):
                continue
            if int(process) != os.getpid() and _has_ended(int(process)):
                with suppress(OSError):
                    Path(entry.path).unlink()


def _has_ended(process: int) -> bool:
    if os.name != "posix":
        return False
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return True
    except (OSError, OverflowError):
        return False
    return False


@contextmanager
def _remove_at_the_end(pending: list[Path]) -> Iterator[None]:
    """Leave no such file behind: not when the block ends, by whatever exception, and not when a signal ends all."""

    def remove() -> None:
        for beside in pending:
            with suppress(OSError):
                beside.unlink(missing_ok=True)

    def end(number: int, frame: FrameType | None) -> None:  # noqa: ARG001 - Python's protocol
        remove()
        signal.signal(number, signal.SIG_DFL)
        os.kill(os.getpid(), number)

    handlers: dict[Any, Any] = {}
    # Only the main thread may handle signals, and a program that handles one itself goes on doing so.
    if threading.current_thread() is threading.main_thread():
        handlers = {number: signal.SIG_DFL for number in ENDING if signal.getsignal(number) is signal.SIG_DFL}
    try:
        for number in handlers:
            signal.signal(number, end)
        yield
    finally:
        remove()
        for number, handler in handlers.items():
            signal.signal(number, handler)
