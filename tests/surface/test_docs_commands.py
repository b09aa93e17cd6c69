"""The commands in the documentation print what stands below them."""

from __future__ import annotations

import re

import pytest
from sklearn.datasets import load_iris
from sklearn.naive_bayes import GaussianNB
from tests.surface.shell_examples import ROOT, Command, NamedFile, holds, read_page, run_page

PAGES = {
    path.relative_to(ROOT).as_posix(): path.read_text(encoding="utf-8")
    for path in sorted((ROOT / "docs").rglob("*.md"))
    if "```console" in path.read_text(encoding="utf-8")
}
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
        for path in sorted((ROOT / "docs").rglob("*.md"))
        for line in path.read_text(encoding="utf-8").splitlines()
        if line.startswith("    $ heldout ")
    ]
    assert not shown, "put it into a block that is fenced as console"


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
