"""`-o FILE`: the ending says what is written, on every command that writes, and nothing is overwritten."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from heldout.cli.app import COMMANDS

ROOT = Path(__file__).parents[2]
DIABETES = str(ROOT / "examples" / "diabetes.csv")
# By what a file of each ending is known.
MARKS = {
    "html": "<!doctype html>", "json": '{\n  "schema": "heldout/', "md": "**Verdict**", "tex": "\\begin{tabular}",
    "csv": "measure,class,", "txt": "Verdict   ", "svg": "<svg",
}  # fmt: skip


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_every_ending_is_written(run, here):
    wanted = [f"out.{ending}" for ending in MARKS]
    status, out, err = run("evaluate", DIABETES, *(word for name in wanted for word in ("-o", name)))
    assert status == 0
    assert "Verdict" in out
    assert sorted(err.split()) == sorted(f"Wrote {' Wrote '.join(wanted)}".split())
    for ending, mark in MARKS.items():
        assert mark in (here / f"out.{ending}").read_text(encoding="utf-8"), ending


def test_it_is_the_same_as_the_form(run, here):
    run("evaluate", DIABETES, "-o", "a.json", "--output", "a.md")
    run("evaluate", DIABETES, "--json", "b.json", "--markdown", "b.md")
    for ending in ("json", "md"):
        assert (here / f"a.{ending}").read_bytes() == (here / f"b.{ending}").read_bytes()


# A command that writes, with what makes it quick.
WRITING = {
    "evaluate": [DIABETES],
    "thresholds": [DIABETES, "--maximize", "f1", "--replicates", "20"],
    "recalibrate": [DIABETES, "--score", "p_tested_positive", "--fold", "none"],
    "compare": [DIABETES, DIABETES, "--id", "row"],
    "check": [DIABETES, "--require", "accuracy >= 0.7"],
    "plan": ["accuracy", "--value", "0.9", "--width", "0.1"],
    "lab": ["coverage", "--n", "20"],
}


@pytest.mark.parametrize("name", WRITING)
def test_every_command_that_writes_takes_it(run, here, name):
    assert run(name, *WRITING[name], "-o", "out.json")[0] == 0
    assert json.loads((here / "out.json").read_text(encoding="utf-8"))["schema"].startswith("heldout/")


@pytest.mark.parametrize("name", [name for name in COMMANDS if name not in ("measures", "explain", "serve", "doctor")])
def test_every_command_with_a_result_lists_it(run, name):
    assert "\n  -o, --output FILE" in run(name, "--help")[1]


def test_a_gate_is_written_as_junit_and_counts_as_evidence(run, here):
    assert run("check", DIABETES, "--require", "accuracy >= 0.7", "-o", "gate.xml")[0] == 0
    assert (here / "gate.xml").read_text(encoding="utf-8").startswith("<?xml")
    run("count", DIABETES, "-o", "a.evidence")
    status, out, _ = run("merge", "a.evidence", "-o", "b.evidence")
    assert (status, out) == (0, "")
    status, out, _ = run("merge", "a.evidence", "-o", "c.evidence", "-o", "report.html")
    assert (status, "Verdict" in out) == (0, True)
    assert (here / "b.evidence").read_bytes() == (here / "c.evidence").read_bytes()
    assert (here / "report.html").is_file()


WRONG = {
    "an ending that says nothing": (
        ["-o", "report.htlm"],
        "-o report.htlm ends in '.htlm', but a result",
        "report.html",
    ),
    "no ending": (["-o", "report"], "-o report has no ending, but a result", "report.html"),
    "an ending alone": (["-o", ".html"], "-o .html has no ending, but", "report.html"),
    "two endings": (["-o", "a.html.gz"], "-o a.html.gz ends in '.gz', but", "name the file a.html."),
    "standard output": (["-o", "-"], "-o names a file", "--json -"),
    "one form twice": (["-o", "a.json", "--json", "b.json"], "b.json and a.json", "name one"),
    "one file twice": (["-o", "a.csv", "-o", "a.csv"], "would overwrite", "its own name"),
    "no folder": (["-o", "nowhere/a.csv"], "there is no folder nowhere", "a folder that exists"),
    "two gates": (["-o", "a.xml", "--junit", "b.xml"], "Two files were named for the JUnit XML", "name one"),
}


@pytest.mark.parametrize("case", WRONG)
def test_what_cannot_be_written_is_refused_before_anything_is_read(run, here, case):
    words, what, hint = WRONG[case]
    status, out, err = run("check", "no-such.csv", "--require", "accuracy > 0.5", *words)
    assert (status, out) == (2, "")
    said, advice = err.splitlines()
    assert what in said
    assert hint in advice
    assert list(here.iterdir()) == []


def test_the_input_is_never_overwritten(run, here):
    (here / "rows.csv").write_text("truth,predicted\n1,1\n0,0\n1,0\n", encoding="utf-8")
    status, _, err = run("evaluate", "rows.csv", "-o", "rows.csv")
    assert (status, "--output would overwrite the input" in err) == (2, True)
    assert (here / "rows.csv").read_text(encoding="utf-8").startswith("truth")
