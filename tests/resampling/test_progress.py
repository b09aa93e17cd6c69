"""The progress bar: only after a second, only on a terminal, never left behind."""

from __future__ import annotations

import os
import pty
import sys
import threading
import time
from contextlib import contextmanager, suppress

from heldout.resampling import workers
from heldout.resampling.workers import Ticker


@contextmanager
def terminal(monkeypatch):
    """A real terminal in the place of standard error, and a list of what is written there."""
    master, slave = pty.openpty()
    monkeypatch.setenv("TERM", "xterm")
    written = []

    def read():
        # Linux reports a closed terminal as an error.
        with suppress(OSError):
            while part := os.read(master, 4096):
                written.append(part.decode(errors="replace"))

    reader = threading.Thread(target=read)
    reader.start()
    with os.fdopen(slave, "w") as stream, monkeypatch.context() as patch:
        patch.setattr(sys, "stderr", stream)
        yield written
    reader.join(timeout=10)
    os.close(master)


def test_a_long_run_shows_a_bar_and_removes_it(monkeypatch):
    monkeypatch.setattr(workers, "PATIENCE", 0.05)
    with terminal(monkeypatch) as written, Ticker(8) as ticker:
        ticker.tick(3)
        time.sleep(0.5)
        ticker.tick()
        time.sleep(0.3)
    text = "".join(written)
    assert "3/8" in text
    assert "4/8" in text
    # Transient: the line is erased at the end.
    assert text.rstrip().endswith("\x1b[2K")


def test_a_short_run_shows_nothing(monkeypatch):
    with terminal(monkeypatch) as written, Ticker(3) as ticker:
        ticker.tick(3)
    assert written == []


def test_false_shows_nothing_however_long(monkeypatch):
    monkeypatch.setattr(workers, "PATIENCE", 0.01)
    with terminal(monkeypatch) as written, Ticker(3, progress=False) as ticker:
        time.sleep(0.2)
        ticker.tick()
    assert written == []


def test_without_a_terminal_there_is_no_bar(capfd, monkeypatch):
    monkeypatch.setattr(workers, "PATIENCE", 0.01)
    with Ticker(3) as ticker:
        time.sleep(0.2)
        ticker.tick()
    assert capfd.readouterr().err == ""
