"""What a library in Rust says when it meets a file that its authors did not think of, kept off the terminal.

Polars raises an exception then, and writes its own lines, often with a backtrace, to the file of errors of the process.
The exception becomes one of ours; its lines are for those who wrote the library.
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import IO

PANIC = b" panicked at "
STANDARD_ERROR = 2

_lock = threading.Lock()


class _ErrorCapture:
    """What is written to standard error meanwhile, by however many threads that read at once."""

    def __init__(self) -> None:
        self.readers = 0
        self.original: int | None = None
        self.file: IO[bytes] | None = None

    def begin(self) -> None:
        import tempfile

        with suppress(OSError, ValueError):
            self.file = tempfile.TemporaryFile(buffering=0)  # noqa: SIM115 - closed where the last reader ends
            self.original = os.dup(STANDARD_ERROR)
            if sys.stderr is not None:
                sys.stderr.flush()
            os.dup2(self.file.fileno(), STANDARD_ERROR)

    def end(self) -> None:
        if self.file is not None and self.original is not None:
            if sys.stderr is not None:
                with suppress(OSError, ValueError):
                    sys.stderr.flush()
            os.dup2(self.original, STANDARD_ERROR)
            os.close(self.original)
            self.file.seek(0)
            written = self.file.read()
            if written and PANIC not in written:
                with suppress(OSError):
                    os.write(STANDARD_ERROR, written)
        if self.file is not None:
            self.file.close()
        self.file = self.original = None


_capture = _ErrorCapture()


@contextmanager
def without_panics() -> Iterator[None]:
    """Hold back what is written to standard error, and write it in the end unless it tells of a panic.

    >>> with without_panics():
    ...     _ = os.write(2, b"thread 'main' panicked at lib.rs:1: index out of bounds")
    """
    if os.environ.get("HELDOUT_DEBUG"):
        yield
        return
    with _lock:
        _capture.readers += 1
        if _capture.readers == 1:
            _capture.begin()
    try:
        yield
    finally:
        with _lock:
            _capture.readers -= 1
            if not _capture.readers:
                _capture.end()


def is_panic(error: BaseException) -> bool:
    """Whether an error is a panic, which is no Exception to Python."""
    return type(error).__name__ == "PanicException"
