"""Long readings show on a terminal that they go on, and the line is gone before anything else is printed."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time

import pytest

from heldout.cli import progress
from heldout.cli.output import tell
from heldout.cli.progress import ReadingLine, keep_to_readings
from heldout.files.batches import tell_reading

ROWS = "truth,predicted\n" + "yes,yes\nno,no\nyes,no\n" * 20


def read_all(terminal: int) -> str:
    said = b""
    try:
        while piece := os.read(terminal, 10_000):
            said += piece
    except OSError:
        # So a terminal ends, and so does one that nothing more was written to.
        pass
    return said.decode("utf-8")


def test_a_reading_that_takes_long_is_shown_and_goes_before_the_report(tmp_path):
    ours, theirs = os.openpty()
    call = [sys.executable, "-m", "heldout", "evaluate", "-", "--json", str(tmp_path / "out.json")]
    with subprocess.Popen(call, stdin=subprocess.PIPE, stdout=theirs, stderr=theirs) as process:
        os.close(theirs)
        shown = ""
        while "Reading standard input: " not in shown:
            shown += os.read(ours, 1000).decode("utf-8")
        assert process.stdin is not None
        process.stdin.write(ROWS.encode())
        process.stdin.close()
        shown += read_all(ours)
    assert process.returncode == 0
    assert re.match(r"Reading standard input: [1-9]\d* s\r +\r", shown)
    # Between the line and the report there is nothing but the line's end.
    *lines, rest = re.split(r"(?:Reading standard input|Computing): \d+ s\r +\r", shown)
    assert lines
    assert not "".join(lines)
    assert "60 cases" in rest
    assert "Reading" not in rest
    assert "Computing" not in rest


@pytest.fixture
def show(monkeypatch):
    """Do something with a terminal for standard error, and patience for a tenth of a second only; what was shown."""

    def run(act) -> str:
        ours, theirs = os.openpty()
        os.set_blocking(ours, False)
        with monkeypatch.context() as patched, os.fdopen(theirs, "w", buffering=1, encoding="utf-8") as stream:
            patched.setattr(progress, "PATIENCE", 0.1)
            patched.setattr(sys, "stderr", stream)
            with ReadingLine():
                act()
            shown = read_all(ours)
        os.close(ours)
        return shown

    return run


def test_what_is_computed_is_shown_until_something_is_said(show):
    def act() -> None:
        with tell_reading("folder/rows.csv"):
            time.sleep(0.5)
        time.sleep(0.5)
        tell("Said.")
        time.sleep(0.3)
        tell("Again.")

    shown = show(act)
    assert re.match(r"(Reading rows.csv: \d s\r +\r)+(Computing: \d s\r +\r)+Said.\r\nAgain.\r\n$", shown), shown


def test_learners_show_themselves_how_far_they_are(show):
    def act() -> None:
        with keep_to_readings():
            with tell_reading("rows.csv"):
                time.sleep(0.5)
            time.sleep(0.4)
            tell("Said.")

    shown = show(act)
    assert re.match(r"(Reading rows.csv: \d s\r +\r)+Said.\r\n$", shown), shown


def test_a_hostile_name_cannot_write_on_the_terminal(show):
    def act() -> None:
        with tell_reading("a\x1b[2Jb\n.csv"):
            time.sleep(0.4)

    shown = show(act)
    assert "Reading a" in shown
    assert not set("\x1b\n") & set(shown)


def test_where_nobody_watches_nothing_is_shown(capsys):
    with ReadingLine(), tell_reading("rows.csv"):
        assert progress._shown is None
    assert capsys.readouterr().err == ""
