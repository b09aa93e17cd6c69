"""The commands on the page of errata print the figures that stand below them."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def _read_commands() -> list[tuple[str, list[str]]]:
    """Every command of the page with the lines that it must print."""
    commands: list[tuple[str, list[str]]] = []
    for line in (ROOT / "docs" / "errata.md").read_text(encoding="utf-8").splitlines():
        if line.startswith("    $ "):
            commands.append((line.removeprefix("    $ "), []))
        elif commands and line.startswith("    ") and not line.startswith("    >>>"):
            commands[-1][1].append(line.strip())
        elif line.startswith("#"):
            commands.append(("", []))
    return [(command, expected) for command, expected in commands if command]


COMMANDS = _read_commands()


def test_the_page_has_commands():
    assert len(COMMANDS) >= 8
    assert all(expected for _, expected in COMMANDS)


@pytest.mark.parametrize(("command", "expected"), COMMANDS, ids=[command for command, _ in COMMANDS])
def test_what_the_page_shows_is_printed(run, command: str, expected: list[str]):
    program, *words = shlex.split(command)
    assert program == "heldout"
    status, printed, _ = run(*words)
    assert status == 0
    in_one_line = " ".join(printed.split())
    missing = [line for line in expected if " ".join(line.split()) not in in_one_line]
    assert not missing, printed
