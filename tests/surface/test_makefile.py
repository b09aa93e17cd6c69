"""What `make` runs beside the tests: the browser is found or its lack is said, and the long simulations start."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from docs.page_pictures import PICTURES
from tests import all_runs
from tests.all_runs import list_runs

ROOT = Path(__file__).parents[2]
MAKEFILE = (ROOT / "Makefile").read_text(encoding="utf-8")


@pytest.fixture
def bare(tmp_path) -> Path:
    """The only folder on the path; nothing is in it yet."""
    (tmp_path / "bin").mkdir()
    return tmp_path / "bin"


def program(path: Path, text: str = "") -> Path:
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return path


def sought(path: Path, *, chromium: str | None = None) -> subprocess.CompletedProcess[str]:
    """What `make chromium` runs, with this folder as the whole PATH."""
    told = {"PATH": str(path)} | ({} if chromium is None else {"CHROMIUM": chromium})
    command = [sys.executable, "-m", "tests.programs", "chromium"]
    return subprocess.run(command, cwd=ROOT, env=told, capture_output=True, text=True, check=False)


@pytest.mark.parametrize("name", ["chromium", "chromium-browser", "google-chrome"])
def test_a_browser_on_the_path_is_found(bare, name):
    there = program(bare / name)
    assert (sought(bare).returncode, sought(bare).stdout.strip()) == (0, str(there))


def test_a_browser_that_is_named_is_taken_and_one_that_is_not_there_refused(bare):
    program(bare / "chromium")
    # Were it tried, this would leave a trace.
    program(bare / "apt-get", f"echo called > {bare}/called")
    named = program(bare / "other")
    assert sought(bare, chromium=str(named)).stdout.strip() == str(named)
    refused = sought(bare, chromium="/nope")
    assert refused.returncode == 1
    assert "CHROMIUM is /nope, and there is no such program." in refused.stderr
    assert not (bare / "called").exists()


def test_without_pdflatex_it_is_said_what_to_run_and_one_that_is_named_is_taken(bare):
    command = [sys.executable, "-m", "tests.programs", "latex"]

    def asked(**told: str) -> subprocess.CompletedProcess[str]:
        told = {"PATH": str(bare), **told}
        return subprocess.run(command, cwd=ROOT, env=told, capture_output=True, text=True, check=False)

    said = asked()
    assert said.returncode == 1
    assert "sudo apt-get install texlive-latex-base texlive-latex-recommended" in said.stderr
    assert "PDFLATEX is /nope" in asked(PDFLATEX="/nope").stderr
    there = program(bare / "pdflatex")
    assert asked().stdout.strip() == str(there)
    assert re.search(r"^test:.* latex ", MAKEFILE, re.MULTILINE)


def test_without_a_browser_it_is_installed_or_it_is_said_what_to_run(bare):
    said = sought(bare)
    assert said.returncode == 1
    assert "sudo apt-get install chromium" in said.stderr
    installed = "#!/bin/sh\\nexit 0\\n"
    program(
        bare / "apt-get",
        f'echo "$DEBIAN_FRONTEND $*" >> {bare}/called\n'
        f'[ "$1" = install ] && printf "{installed}" > {bare}/chromium && {shutil.which("chmod")} 755 {bare}/chromium\n'
        "exit 0",
    )
    found = sought(bare)
    if os.geteuid():
        assert "sudo apt-get install chromium" in found.stderr
        return
    assert found.stdout.strip() == str(bare / "chromium")
    assert (bare / "called").read_text() == "noninteractive update\nnoninteractive install --yes chromium\n"


def test_an_installation_that_fails_ends_with_what_to_run(bare):
    program(bare / "apt-get", "exit 100")
    failed = sought(bare)
    assert failed.returncode == 1
    assert failed.stderr.splitlines()[-1].startswith("Hint: run 'sudo apt-get install chromium'")


def test_the_browser_is_looked_for_before_the_long_part():
    asked = re.search(r"^test: (.*?) ##", MAKEFILE, re.MULTILINE)
    assert asked is not None
    assert asked.group(1).split()[0] == "chromium"


def test_the_long_simulations_are_one_program_that_starts():
    """Outside pytest another project's `tests` package could be found first."""
    assert re.findall(r"^promises:.*\n((?:\t.*\n)+)", MAKEFILE, re.MULTILINE) == ["\t$(PYTHON) -m tests.promises\n"]
    started = subprocess.run(
        [sys.executable, "-m", "tests.promises", "--help"], cwd=ROOT, check=True, capture_output=True, text=True
    )
    assert "--family" in started.stdout


def test_the_pictures_of_the_page_are_there_and_shown():
    shown = "".join((ROOT / page).read_text(encoding="utf-8") for page in ("README.md", "docs/page.md"))
    for name in PICTURES:
        assert name in shown
    for page in (ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))):
        text = page.read_text(encoding="utf-8")
        for target in re.findall(r"!\[[^\]]*\]\(([^)\s]+)|<img[^>]*\ssrc=\"([^\"]+)", text):
            picture = page.parent / "".join(target)
            assert picture.read_bytes().startswith(b"\x89PNG"), f"{picture} is missing: run `make pictures`"


def test_the_runs_together_are_all_tests_and_each_once():
    with (ROOT / "pyproject.toml").open("rb") as file:
        asked = tomllib.load(file)["tool"]["pytest"]["ini_options"]["testpaths"]
    places = [place for run in list_runs() for place in run]
    assert all(list_runs())
    assert len(places) == len(set(places))
    files = {path for place in places for path in files_of(ROOT / place)}
    assert files == {path for place in asked for path in files_of(ROOT / place)} - {
        path for path in ROOT.glob("tests/*.py") if not path.name.startswith("test_")
    }
    assert "tests/all_runs.py" in MAKEFILE


def test_lint_is_one_of_the_runs_and_fails_all_where_it_fails(monkeypatch, capsys):
    monkeypatch.setattr(all_runs, "run", lambda command: (int(command == ["make", "lint"]), "", 0.0))
    assert all_runs.main() == 1
    assert capsys.readouterr().out.splitlines()[-1] == "failed: make lint"
    assert re.search(r"^lint:", MAKEFILE, re.MULTILINE)


def files_of(place: Path) -> set[Path]:
    """The files that pytest would look into."""
    held = [place] if place.is_file() else [*place.rglob("*.py"), *place.rglob("*.md")]
    return {path for path in held if "__pycache__" not in path.parts}
