"""Runs lint, every test and every example, some runs beside each other: `make test` takes this way."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path

ROOT = Path(__file__).parent.parent
# One more than the usual two cores: many tests wait, for a browser, a virtual machine or a process that is to end.
PROCESSES = (os.cpu_count() or 1) + 1
# One core is enough for types, and a first failure of style is seen after a minute.
LINT = ["make", "lint"]
PYTEST = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--durations=10"]
# Each run would otherwise prepare the assertions of all modules anew: three seconds that bytecode saves.
SETTINGS = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
# Folders that take long, the longest first: each is a run of its own.
LONG = ("surface", "engines", "api", "resampling", "web", "promises", "laws", "golden", "findings")
# The others make up runs of so many folders: each run starts Python, and imports everything, once more.
TOGETHER = 5
# What is short comes last, one by one, so that all processes end at about the same time.
SHORT = ("lab", "studies")


def list_runs() -> list[list[str]]:
    """What each run of pytest is given, in the order in which they begin; together all that it would find by itself."""
    tests = ROOT / "tests"
    folders = sorted(path.name for path in tests.iterdir() if path.is_dir() and not path.name.startswith(("_", ".")))
    long, short = ([name for name in names if name in folders] for names in (LONG, SHORT))
    others = [name for name in folders if name not in LONG + SHORT]
    groups = [[name] for name in long] + [others[at : at + TOGETHER] for at in range(0, len(others), TOGETHER)]
    examples = ["src", "README.md", "docs", *sorted(f"tests/{path.name}" for path in tests.glob("test_*.py"))]
    return [
        *([f"tests/{name}" for name in group] for group in groups),
        examples,
        *([f"tests/{name}"] for name in short),
    ]


def run(command: list[str]) -> tuple[int, str, float]:
    """Run a command: its exit status, what it printed, and the seconds it took."""
    begun = time.monotonic()
    done = subprocess.run(
        command, cwd=ROOT, env=SETTINGS, check=False, capture_output=True, text=True, encoding="utf-8"
    )
    return done.returncode, done.stdout + done.stderr, time.monotonic() - begun


def main() -> int:
    """Run all, show each when it has ended; 0 where all passed."""
    failed = []
    commands = {" ".join(LINT): LINT} | {" ".join(what): [*PYTEST, *what] for what in list_runs()}
    with ThreadPoolExecutor(PROCESSES) as pool:
        try:
            runs = {pool.submit(run, command): name for name, command in commands.items()}
            for ended in as_completed(runs):
                status, printed, seconds = ended.result()
                print(f"{printed}{runs[ended]}: {seconds:.0f} s", flush=True)
                failed += [runs[ended]] if status else []
        except KeyboardInterrupt:
            pool.shutdown(cancel_futures=True)
            raise
    print("failed: " + ", ".join(failed) if failed else "all passed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
