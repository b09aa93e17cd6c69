"""Kills processes in the middle of writing each kind of file, and looks whether the file is whole.

`python -m tests.killed_writers --times 50` is the long form; a short one is in tests/test_atomic_write.py.
"""

from __future__ import annotations

import argparse
import os
import random
import signal
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import heldout
from heldout.cli.output import write_files
from heldout.files.ledger import LedgerEntry, append_entry, read_ledger
from heldout.show.chart import Axis, Chart
from heldout.show.figure import save_chart

LONG = "x" * 1_000_000
# A ledger grows: what matters is that every line is whole, and that none is lost.
LEDGER = "ledger.jsonl"


def kinds_of_writes() -> dict[str, Callable[[Path], Any]]:
    """Every kind of file that users have written, by its name."""
    chart = Chart("t", "d" * 1_000_000, Axis("x"), Axis("y"))
    counted = heldout.count(list(range(400)), list(range(400)))
    evaluation = heldout.evaluate([0, 1, 1], [0, 1, 0], measures=["accuracy"])
    gate = heldout.check([0, 1, 1], [0, 1, 0], require=["accuracy >= 0.1"])
    rows = np.random.default_rng(1).normal(size=(60, 2))
    card = heldout.card("majority", rows, (rows[:, 0] > 0).astype(int), plan="2-fold", timing=False)
    entry = LedgerEntry("2026-01-01T00:00:00+00:00", "evaluate", ("c0ffee",), (), "0")

    def write_documents(path: Path) -> None:
        write_files({"markdown": (str(path), LONG), "html": (f"{path}.html", LONG)})

    return {
        "report.json": evaluation.write,
        "report.html": evaluation.write,
        "report.md": evaluation.write,
        "result.csv": evaluation.write,
        "chart.svg": lambda path: save_chart(chart, path),
        "chart.html": lambda path: save_chart(chart, path),
        "gate.xml": gate.write_junit,
        "counts.evidence": counted.save,
        "card.html": card.write,
        "documents.md": write_documents,
        LEDGER: lambda path: append_entry(path, entry),
    }


def kill_while_writing(path: Path, write: Callable[[Path], Any], times: int, moment: random.Random) -> None:
    """Kill a process that writes the file again and again, so often, and look at the file each time."""
    write(path)
    whole, lines = path.read_bytes(), 1
    for _ in range(times):
        child = os.fork()
        if not child:
            while True:
                write(path)
        time.sleep(moment.uniform(0.0, 0.06))
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        if path.name == LEDGER:
            found = len(read_ledger(path))
            assert found >= lines, path.name
            lines = found
        else:
            assert path.read_bytes() == whole, path.name
    # Nothing can clear up after SIGKILL but whoever writes the file next.
    write(path)


def main() -> None:
    """Kill writers of every kind."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--times", type=int, default=50)
    parser.add_argument("--folder", type=Path)
    asked = parser.parse_args()
    moment = random.Random(1)
    with tempfile.TemporaryDirectory() as other:
        for name, write in kinds_of_writes().items():
            kill_while_writing((asked.folder or Path(other)) / name, write, asked.times, moment)
            print(f"{name}: {asked.times} writers killed, and every file was whole")


if __name__ == "__main__":
    main()
