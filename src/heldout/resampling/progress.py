"""The progress bar of a long run, on standard error, and only for somebody who watches."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from types import TracebackType
from typing import Any, Literal, Self

Progress = Callable[[int, int], object] | Literal[False] | None

# Nobody needs a bar for less.
PATIENCE = 1.0


class Ticker:
    """Counts finished splits, and shows them: to a function, or in a bar once a second has passed.

    >>> seen = []
    >>> with Ticker(2, lambda done, total: seen.append((done, total))) as ticker:
    ...     ticker.tick()
    ...     ticker.tick()
    >>> seen
    [(1, 2), (2, 2)]
    """

    def __init__(self, total: int, progress: Progress = None) -> None:
        self.total = total
        self.done = 0
        self._call = progress if callable(progress) else None
        self._watched = progress is None and sys.stderr is not None and sys.stderr.isatty()
        self._lock = threading.Lock()
        self._timer: threading.Timer | None = None
        self._bar: Any = None
        self._row: Any = None
        self._closed = False

    def __enter__(self) -> Self:
        if self._watched:
            # A timer, and not the first tick: the first split alone may take minutes.
            self._timer = threading.Timer(PATIENCE, self._show)
            self._timer.daemon = True
            self._timer.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._timer is not None:
            self._timer.cancel()
        with self._lock:
            self._closed = True
            if self._bar is not None:
                self._bar.stop()

    def tick(self, count: int = 1) -> None:
        """So many more splits are finished."""
        self.done += count
        if self._call is not None:
            self._call(self.done, self.total)
        elif self._watched:
            with self._lock:
                if self._bar is not None:
                    self._bar.update(self._row, completed=self.done)

    def _show(self) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

        with self._lock:
            if self._closed:
                return
            self._bar = Progress(
                TextColumn("{task.description}"),
                BarColumn(),
                MofNCompleteColumn(),
                TimeRemainingColumn(),
                console=Console(stderr=True),
                transient=True,
                # Printing is the caller's business; we only draw our own line.
                redirect_stdout=False,
                redirect_stderr=False,
            )
            self._row = self._bar.add_task("Fitting", total=self.total, completed=self.done)
            self._bar.start()
