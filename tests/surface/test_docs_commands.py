"""The commands in the documentation print what stands below them."""

from __future__ import annotations

import re

import numpy as np
import pytest
import typer
from sklearn.datasets import load_iris
from sklearn.naive_bayes import GaussianNB
from tests.surface.shell_examples import ROOT, Command, NamedFile, holds, read_page, run_page

from heldout.cli.app import app
from heldout.measures.catalogue import read_quantity

ALL = {path: path.read_text(encoding="utf-8") for path in [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]}
PAGES = {path.relative_to(ROOT).as_posix(): text for path, text in ALL.items() if "```console" in text}
EQUIVALENTS = (ROOT / "docs" / "coming-from.md").read_text(encoding="utf-8")


def test_dots_stand_for_lines_that_are_left_out():
    printed = ["first", "second", "third"]
    assert holds(printed, ("first", "...", "third"))
    assert holds(printed, ("...", "second", "..."))
    assert not holds(printed, ("first", "third"))
    assert not holds(printed, ("...", "fourth", "..."))
    assert not holds(printed, ("second", "..."))


def test_a_page_has_files_and_commands():
    text = "```toml\n# gate.toml\n[a]\n```\n\n```console\n$ heldout check \\\n    x.csv\nout\n$ echo $?\n1\n```\n"
    named, check, status = read_page(text)
    assert named == NamedFile("gate.toml", "# gate.toml\n[a]\n")
    assert check == Command("heldout check \\\n    x.csv", ("out",))
    assert status == Command("echo $?", ("1",))


@pytest.mark.parametrize("page", PAGES)
def test_the_commands_of_a_page_print_what_it_shows(page: str):
    ran = 0
    for command, printed in run_page(PAGES[page]):
        ran += 1
        assert holds(printed, command.printed), "\n".join([f"$ {command.text}", *printed])
    assert ran


def test_pages_that_show_commands_are_found():
    assert {"docs/start.md", "docs/errata.md"} <= set(PAGES)


def test_no_page_shows_a_command_that_is_not_run():
    shown = [
        f"{path.relative_to(ROOT)}: {line}"
        for path, text in ALL.items()
        for line in text.splitlines()
        if path.name != "README.md" and line.startswith("    $ heldout ")
    ]
    assert not shown, "put it into a block that is fenced as console"


def test_the_table_of_commands_names_every_command():
    named = re.findall(
        r"`heldout ([a-z-]+)`", re.sub(r"(?m)^(?!\|).*$", "", (ROOT / "docs/shell.md").read_text("utf-8"))
    )
    assert sorted(named) == sorted(typer.main.get_command(app).commands)  # type: ignore[attr-defined]


def read_equivalents() -> list[str]:
    """Every call in the second column of the tables that tell what other libraries' functions are called here."""
    rows = [line.split(" | ") for line in EQUIVALENTS.splitlines() if line.startswith("| ") and "---" not in line]
    return [call for row in rows for call in re.findall(r"`([^`]+)`", row[1])]


def test_every_call_in_the_tables_of_equivalents_runs(monkeypatch, tmp_path):
    X, y = load_iris(return_X_y=True)
    names: dict[str, object] = {
        "X": X, "y": y, "learner": GaussianNB(), "fitted": GaussianNB().fit(X, y), "folds": [0, 1, 2] * 100,
    }  # fmt: skip
    monkeypatch.chdir(tmp_path)
    weka = ROOT / "tests" / "oracles" / "data" / "weka"
    (tmp_path / "iris.arff").symlink_to(weka / "iris.arff")
    (tmp_path / "experiment.csv").symlink_to(weka / "experiment" / "split66x30_raw.csv")
    # The other names are those that the page makes.
    first = re.search(r"^```python\n(.*?)^```", EQUIVALENTS, re.MULTILINE | re.DOTALL)
    assert first
    exec("".join(line.removeprefix(">>> ") + "\n" for line in first[1].splitlines()), names)
    calls = [call for call in dict.fromkeys(read_equivalents()) if call.startswith(("two", "many", "heldout"))]
    results = [eval(call, names) for call in calls]
    assert len(results) > 75


def read_named_commands(text: str) -> list[tuple[str, str]]:
    """Every command that a page names in its text or shows without its output: its name, and what follows."""
    code = re.findall(r"`(heldout [a-z][^`]*)`", text) + re.findall(r"^ {4}(heldout [a-z].*)$", text, re.MULTILINE)
    return [(words[1], words[2] if len(words) > 2 else "") for words in (line.split(maxsplit=2) for line in code)]


def test_no_page_names_a_command_an_option_or_a_measure_that_is_not_there():
    commands = typer.main.get_command(app).commands  # type: ignore[attr-defined]
    options = {name: {flag for one in each.params for flag in one.opts + one.secondary_opts}
               for name, each in commands.items()}  # fmt: skip
    wrong = []
    named = [(path.name, *one) for path, text in ALL.items() for one in read_named_commands(text)]
    for page, name, rest in named:
        bare = re.sub(r'"[^"]*"|\'[^\']*\'', "", rest.partition("  #")[0])
        flags = set(re.findall(r"(?<![\w-])--[a-z][\w-]*", bare)) - {"--help"}
        if name not in options or flags - options[name]:
            wrong.append((page, name, sorted(flags - options.get(name, set()))))
        for quoted, plain in re.findall(r"--(?:measure|maximize) (?:\"([^\"]+)\"|([\w:.]+))", rest):
            measure = re.sub(r"\[.*\]", "", quoted or plain)
            if ":" not in measure and measure not in {"youden", "MEASURE", "M"}:
                read_quantity(measure, costs=1 - np.eye(2))
    assert not wrong
    assert len(named) > 150
