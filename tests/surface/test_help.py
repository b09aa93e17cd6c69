"""The help fits a terminal of 80 columns: nothing is cut, flags show no type, and examples can be pasted."""

from __future__ import annotations

import inspect
import re
import shlex

import pytest

from heldout.cli.app import COMMANDS
from heldout.cli.help import summarise


@pytest.fixture
def helped(run, monkeypatch):
    """The help of a command on a terminal that has so many columns."""

    def ask(*command: str, columns: int = 80) -> str:
        monkeypatch.setenv("COLUMNS", str(columns))
        status, out, _ = run(*command, "--help")
        assert status == 0
        return str(out)

    return ask


def list_commands(text: str) -> list[list[str]]:
    """The words of every example, put together over the lines that end in a backslash."""
    lines = re.sub(r" \\\n\s+", " ", text).splitlines()
    return [shlex.split(line) for line in lines if line.startswith("  heldout ")]


@pytest.mark.parametrize("columns", [60, 80, 100])
@pytest.mark.parametrize("name", COMMANDS)
def test_no_line_is_too_long_and_nothing_is_cut(helped, name, columns):
    text = helped(name, columns=columns)
    whole = " ".join(text.split())
    assert max(map(len, text.splitlines())) <= columns
    assert summarise(COMMANDS[name]) in whole
    assert "..." not in text
    assert not re.search(r"<(bool|str|int|float)>", text)
    for option in inspect.signature(COMMANDS[name]).parameters.values():
        (declared,) = getattr(option.annotation, "__metadata__", [None])
        if declared is not None:
            assert " ".join((declared.help or "").split()) in whole, option.name


@pytest.mark.parametrize("name", COMMANDS)
def test_examples_are_whole_commands(helped, name):
    written = list_commands(inspect.cleandoc(COMMANDS[name].__doc__ or ""))
    assert written
    assert list_commands(helped(name)) == written
    assert list_commands(helped(name, columns=60)) == written


def test_the_first_help_lists_every_command_by_its_first_sentence(helped):
    whole = " ".join(helped().split())
    for name, function in COMMANDS.items():
        assert f" {name} {summarise(function)}" in whole


def test_flags_usage_and_defaults_are_spelled_plainly(helped):
    text = helped("check")
    assert text.startswith("Usage: ")
    assert text.splitlines()[0].endswith("check [OPTIONS] PREDICTIONS")
    assert "'recall[spam] >= 0.80' \\\n" in text
    assert re.search(r"between 0 and 1\. \[default: 0\.95\]", text)
    assert re.search(r"^  --honest  ", helped("thresholds"), re.MULTILINE)
    assert helped("evaluate").splitlines()[0].endswith("evaluate [OPTIONS] [PREDICTIONS]")
