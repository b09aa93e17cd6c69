"""Runs lint, every test and every example, two processes beside each other: `make test` takes this way on two cores."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path

ROOT = Path(__file__).parent.parent
PROCESSES = 2
# One core is enough for types, and a first failure of style is seen after a minute.
LINT = ["make", "lint"]
PYTEST = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--durations=10"]
# Each run would otherwise prepare the assertions of all modules anew: three seconds that bytecode saves.
SETTINGS = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
# Folders that take long, the longest first: each is a run of its own. What is short comes last and fills up the end.
LONG = (
    "promises", "surface", "engines", "laws", "api", "findings", "golden", "web", "resampling", "curves", "evidence",
)  # fmt: skip
# So many of the other folders make up one run: each run starts Python, and imports everything, once more.
TOGETHER = 4


def list_runs() -> list[list[str]]:
    """What each run of pytest is given, in the order in which they begin; together all that it would find by itself."""
    tests = ROOT / "tests"
    folders = sorted(path.name for path in tests.iterdir() if path.is_dir() and not path.name.startswith(("_", ".")))
    single = sorted(path.name for path in tests.glob("test_*.py"))
    long = [name for name in LONG if name in folders]
    short = [name for name in folders if name not in long]
    groups = [[name] for name in long] + [short[at : at + TOGETHER] for at in range(0, len(short), TOGETHER)]
    last = ["src", "README.md", "docs", *(f"tests/{name}" for name in single)]
    return [*([f"tests/{name}" for name in group] for group in groups), last]


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
