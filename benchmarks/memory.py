"""Peak memory of one whole evaluation, measured in a process of its own.

Run as a program it makes the labels, evaluates them and prints what it used as JSON.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path


def many_classes(n: int, classes: int) -> dict[str, object]:
    """Peak memory and time of evaluating `n` rows of `classes` classes in a fresh process."""
    command = [sys.executable, "-m", "benchmarks.memory", str(n), str(classes)]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    measured: dict[str, object] = json.loads(done.stdout)
    return measured


def peak_mib() -> float:
    """The most memory that this process has held so far."""
    status = Path("/proc/self/status")
    if status.exists():
        # Not getrusage's ru_maxrss where this can be had: on Linux a new process starts with its parent's.
        line = next(line for line in status.read_text().splitlines() if line.startswith("VmHWM:"))
        return int(line.split()[1]) / 1024
    import resource

    # Without /proc this is macOS, which counts in bytes.
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20


def peak_of_children_mib() -> float:
    """The most memory that the largest of the processes held that this one started and that have ended."""
    import resource

    held = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
    return held / 2**10 if Path("/proc").exists() else held / 2**20


def _main(n: int, classes: int) -> None:
    import heldout
    from benchmarks.data import integers

    truth, predicted = integers(n, classes)
    before = peak_mib()
    begin = time.perf_counter()
    heldout.evaluate(truth, predicted)
    seconds = time.perf_counter() - begin
    after = peak_mib()
    labels = (truth.nbytes + predicted.nbytes) / 2**20
    print(
        json.dumps(
            {
                "rows": n,
                "classes": classes,
                "labels_mib": round(labels, 1),
                "peak_before_mib": round(before, 1),
                "peak_mib": round(after, 1),
                "seconds": round(seconds, 3),
            }
        )
    )


if __name__ == "__main__":
    _main(int(sys.argv[1]), int(sys.argv[2]))
