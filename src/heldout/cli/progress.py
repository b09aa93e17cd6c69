"""The line on a terminal that says how far a long reading is, or for how long something is being computed from it."""

from __future__ import annotations

import shutil
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import Token
from types import TracebackType
from typing import Any, Self

# Seconds before progress is shown, and between two updates: nobody reads more than ten lines a second.
PATIENCE = 1.0
PAUSE = 0.1
COMPUTING = "Computing"


class ReadingLine:
    """While it is entered, long readings are shown on standard error if that is a terminal; the line goes when done.

    What is read in batches says how many rows it has; of a file that is read at once only the seconds are known, and so
    of what is computed when it has been read, until something else is printed (`hush`) or learners draw their own bar.
    """

    def __init__(self) -> None:
        self._start = self._last = 0.0
        self._width = 0
        self._token: Token[Any] | None = None
        self._lock = threading.Lock()
        self._doing = ""
        self._ended = threading.Event()
        self._clock: threading.Thread | None = None
        self._readings_only = False

    def __enter__(self) -> Self:
        if sys.stderr is not None and sys.stderr.isatty():
            from heldout.files.batches import watching

            global _shown  # noqa: PLW0603 - a process has one terminal
            _shown = self
            self._start = time.monotonic()
            self._token = watching.set(self.tell)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._token is not None:
            from heldout.files.batches import watching

            global _shown  # noqa: PLW0603 - as above
            _shown = None
            watching.reset(self._token)
            self._ended.set()
            self.hush()

    def tell(self, name: str, done: int | None, rows: int | None) -> None:
        """So many rows of a table have been read, of so many where that is known; None: it has been read."""
        from heldout.show.escape import visible

        with self._lock:
            self._doing = f"Reading {visible(name)}" if done is not None else "" if self._readings_only else COMPUTING
            if self._clock is None:
                self._clock = threading.Thread(target=self._watch_clock, daemon=True)
                self._clock.start()
            if done:
                self._draw(f"{done:,} of {rows:,} rows ({done / rows:.0%})" if rows else f"{done:,} rows")
            elif done is None:
                self._clear()

    def hush(self) -> None:
        """Take the line away, until the next reading begins: something else is about to be printed."""
        with self._lock:
            self._doing = ""
            self._clear()

    @contextmanager
    def keep_to_readings(self) -> Iterator[None]:
        """Leave what comes after a reading to others, who say themselves how far they are."""
        before, self._readings_only = self._readings_only, True
        try:
            yield
        finally:
            self._readings_only = before

    def _watch_clock(self) -> None:
        """Show the seconds while nothing else says how far it is."""
        while not self._ended.wait(PAUSE):
            with self._lock:
                now = time.monotonic()
                if self._doing and now - self._last >= PATIENCE and not self._ended.is_set():
                    self._draw(f"{now - self._start:.0f} s")

    def _draw(self, how_far: str) -> None:
        now = time.monotonic()
        if now - self._start >= PATIENCE and now - self._last >= PAUSE:
            self._last = now
            self._clear()
            line = f"{self._doing}: {how_far}"[: shutil.get_terminal_size().columns - 1]
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


# The line of this process, while a command runs on a terminal.
_shown: ReadingLine | None = None


def hush() -> None:
    """Take the line away before something else is printed."""
    if _shown is not None:
        _shown.hush()


@contextmanager
def keep_to_readings() -> Iterator[None]:
    """Show readings only, while learners are fitted that draw a bar of their own."""
    if _shown is None:
        yield
        return
    with _shown.keep_to_readings():
        yield
