"""The line on a terminal that says how far the reading of a long table is."""

from __future__ import annotations

import shutil
import sys
import time
from contextvars import Token
from types import TracebackType
from typing import Any, Self

# Nobody needs to be told of less, in seconds; and nobody reads more than ten lines a second.
PATIENCE = 1.0
PAUSE = 0.1


class ReadingLine:
    """While it is entered, long readings are shown on standard error if that is a terminal; the line goes when done."""

    def __init__(self) -> None:
        self._start = self._last = 0.0
        self._width = 0
        self._token: Token[Any] | None = None

    def __enter__(self) -> Self:
        if sys.stderr is not None and sys.stderr.isatty():
            from heldout.files.batches import watching

            self._start = time.monotonic()
            self._token = watching.set(self.tell)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._token is not None:
            from heldout.files.batches import watching

            watching.reset(self._token)
            self._clear()

    def tell(self, name: str, done: int | None, rows: int | None) -> None:
        """So many rows of a table have been read, of so many where that is known; None: it has been read."""
        now = time.monotonic()
        if done is None:
            self._clear()
        elif now - self._start >= PATIENCE and now - self._last >= PAUSE:
            from heldout.show.printable import visible

            self._last = now
            self._clear()
            far = f"{done:,} of {rows:,} rows ({done / rows:.0%})" if rows else f"{done:,} rows"
            line = f"Reading {visible(name)}: {far}"[: shutil.get_terminal_size().columns - 1]
            self._width = len(line)
            self._write(line)

    def _clear(self) -> None:
        if self._width:
            self._write(f"\r{' ' * self._width}\r")
            self._width = 0

    def _write(self, text: str) -> None:
        try:
            sys.stderr.write(text)
            sys.stderr.flush()
        except (OSError, UnicodeError):
            # The terminal has gone, or cannot show the name; the answer does not depend on it.
            self._width = 0
