"""Kills processes in the middle of writing each kind of file, and looks whether the old file is there or the new one.

`python -m tests.killed_writers --times 50` is the long form; a short one is in tests/test_atomic_write.py.
"""

from __future__ import annotations

import argparse
import os
import random
import signal
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

import heldout
from heldout.cli.output import write_files
from heldout.files.ledger import LedgerEntry, append_entry, read_ledger
from heldout.show.chart import Axis, Chart
from heldout.show.figure import save_chart

# A ledger grows: what matters is that every line is whole, and that none is lost.
LEDGER = "ledger.jsonl"
# The second file of those that are written together is beside the first.
DOCUMENTS, BESIDE = "documents.md", ".html"
# The longest that a writer is left alone, in seconds, or in writes where one takes longer.
LONGEST, WRITES = 0.06, 3
# Of so many writers some are killed after either content.
MANY = 50


def kinds_of_writes(turn: int) -> dict[str, Callable[[Path], Any]]:
    """Every kind of file that users have written, by its name; the contents of the two turns differ."""
    chart = Chart(f"turn {turn}", "d" * (1_000_000 + turn), Axis("x"), Axis("y"))
    drawn = Chart(f"turn {turn}", "d", Axis("x"), Axis("y"))
    counted = heldout.count(list(range(400 + turn)), list(range(400 + turn)))
    evaluation = heldout.evaluate([0, 1, 1] + [turn] * 5, [0, 1, 0] + [0] * 5, measures=["accuracy"])
    gate = heldout.check([0, 1, 1] + [turn] * 5, [0, 1, 0] + [0] * 5, require=["accuracy >= 0.1"])
    rows = np.random.default_rng(1 + turn).normal(size=(60 + turn, 2))
    card = heldout.card("majority", rows, (rows[:, 0] > 0).astype(int), plan="2-fold", timing=False)
    entry = LedgerEntry("2026-01-01T00:00:00+00:00", "evaluate", ("c0ffee",), (), str(turn))
    text = "xy"[turn] * 1_000_000

    def write_documents(path: Path) -> None:
        write_files({"markdown": (str(path), text), "html": (f"{path}{BESIDE}", text)})

    return {
        "report.json": evaluation.write,
        "report.html": evaluation.write,
        "report.md": evaluation.write,
        "report.tex": evaluation.write,
        "result.csv": evaluation.write,
        "chart.svg": lambda path: save_chart(chart, path),
        "chart.png": lambda path: save_chart(drawn, path),
        "chart.html": lambda path: save_chart(chart, path),
        "gate.xml": gate.write_junit,
        "counts.evidence": counted.save,
        "card.html": card.write,
        DOCUMENTS: write_documents,
        LEDGER: lambda path: append_entry(path, entry),
    }


def kill_while_writing(path: Path, writes: list[Callable[[Path], Any]], times: int, moment: random.Random) -> Counter:
    """Kill a process that writes two contents in turn, so often, and look each time which of them is there, whole."""
    names = [path, Path(f"{path}{BESIDE}")] if path.name == DOCUMENTS else [path]
    whole: list[list[bytes]] = []
    began = time.monotonic()
    for write in writes:
        write(path)
        whole.append([name.read_bytes() for name in names])
    assert all(len(set(contents)) == len(writes) for contents in zip(*whole, strict=True)), path.name
    longest = max(LONGEST, WRITES * (time.monotonic() - began) / len(writes))
    found: Counter[int] = Counter()
    lines = len(writes)
    for _ in range(times):
        child = os.fork()
        if not child:
            for write in _in_turn(writes):
                write(path)
        time.sleep(moment.uniform(0.0, longest))
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        if path.name == LEDGER:
            entries = len(read_ledger(path))
            assert entries >= lines, path.name
            found[int(entries > lines)] += 1
            lines = entries
            continue
        for at, name in enumerate(names):
            contents = [turn[at] for turn in whole]
            assert name.read_bytes() in contents, name.name
            found[contents.index(name.read_bytes())] += 1
    # Nothing can clear up after SIGKILL but whoever writes the file next.
    writes[0](path)
    return found


def _in_turn(writes: list[Callable[[Path], Any]]) -> Iterator[Callable[[Path], Any]]:
    """Without end, and not first what stands there already."""
    while True:
        yield from writes


def main() -> None:
    """Kill writers of every kind."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--times", type=int, default=50)
    parser.add_argument("--folder", type=Path)
    asked = parser.parse_args()
    moment = random.Random(1)
    turns = [kinds_of_writes(turn) for turn in range(2)]
    with tempfile.TemporaryDirectory() as other:
        for name in turns[0]:
            path = (asked.folder or Path(other)) / name
            found = kill_while_writing(path, [turn[name] for turn in turns], asked.times, moment)
            either = "the same, {} times longer" if name == LEDGER else "one content, {} times the other"
            print(f"{name}: {asked.times} writers killed, every file whole; {found[0]} times {either.format(found[1])}")
            if asked.times >= MANY:
                assert found[1], name
                assert found[0] or name == LEDGER, name


if __name__ == "__main__":
    main()
