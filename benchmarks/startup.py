"""Start-up: how long a person waits for `heldout --help`, beside the bare import of what it prints with."""

from __future__ import annotations

import compileall
import subprocess
import sys
from pathlib import Path

import heldout
from benchmarks.timing import Contender, Race, race


def startup(rounds: int) -> Race:
    """Whole processes, from start to exit; all is compiled, as it is where a package was installed."""
    compileall.compile_dir(str(Path(heldout.__file__).parent), quiet=2)
    command = str(Path(sys.executable).parent / "heldout")
    return race(
        "start-up, whole process",
        [
            Contender("heldout --help", lambda: _run([command, "--help"])),
            Contender("python -c 'import typer, rich'", lambda: _run_python("import typer, rich")),
            Contender("python -c 'pass'", lambda: _run_python("pass")),
        ],
        rounds=rounds,
    )


def _run_python(code: str) -> None:
    _run([sys.executable, "-c", code])


def _run(command: list[str]) -> None:
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
