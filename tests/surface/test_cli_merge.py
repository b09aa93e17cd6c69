"""`heldout count` and `heldout merge` as workers use them: count anywhere, merge later, and trust no file."""

from __future__ import annotations

import json
import random
import subprocess
import sys
from pathlib import Path

import pytest

from heldout import Evidence, evaluate

HELDOUT = Path(sys.executable).with_name("heldout")


def rows(seed, n=200):
    draw = random.Random(seed)
    made = []
    for _ in range(n):
        truth = draw.random() < 0.4
        score = min(1.0, max(0.0, draw.gauss(0.65 if truth else 0.4, 0.2)))
        made.append(f"{'yes' if truth else 'no'},{score:.3f},{draw.choice('fm')}")
    return made


@pytest.fixture
def here(tmp_path, monkeypatch):
    for name, seed in (("a", 1), ("b", 2)):
        (tmp_path / f"{name}.csv").write_text("\n".join(["label,score,sex", *rows(seed)]), encoding="utf-8")
    (tmp_path / "both.csv").write_text("\n".join(["label,score,sex", *rows(1), *rows(2)]), encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def run(here, run):
    assert here

    return run


@pytest.fixture
def parts(run):
    for name in "ab":
        status, out, err = run("count", f"{name}.csv", "--slice", "sex", "-o", f"{name}.evidence")
        assert (status, out) == (0, "")
        assert f"Read {name}.csv: truth = label, predicted = score >= 0.5, score" in err
        assert f"Wrote {name}.evidence: 200 rows counted" in err
    return ["a.evidence", "b.evidence"]


def figures(text):
    """The report without the line that names its source."""
    return [line for line in text.splitlines() if line.strip() and "both.csv" not in line]


def test_the_report_is_that_of_one_file(run):
    parts = [f"{name}.evidence" for name in "ab"]
    for name in "ab":
        run("count", f"{name}.csv", "-o", f"{name}.evidence")
    status, merged, _ = run("merge", *parts, "--measure", "accuracy", "--measure", "roc_auc", "--measure", "brier")
    assert status == 0
    _, whole, _ = run("evaluate", "both.csv", "--measure", "accuracy", "--measure", "roc_auc", "--measure", "brier")
    numbers = [line.split() for line in figures(whole) if line.lstrip().startswith(("accuracy", "ROC", "roc", "Brier"))]
    assert len(numbers) == 3
    assert [line for line in map(str.split, figures(merged)) if line in numbers] == numbers


def test_forms_and_levels_of_evaluate_work(run, parts, here):
    forms = ["--json", "-", "--html", "page.html", "--markdown", "r.md", "--chart", "roc=roc.svg"]
    status, out, _ = run("merge", *parts, "--level", "0.9", *forms)
    assert status == 0
    whole = evaluate("both.csv", level=0.9, slices=["sex"])
    found = {one["measure"] if "measure" in one else one["name"]: one for one in json.loads(out)["estimates"]}
    assert found["accuracy"]["value"] == pytest.approx(whole["accuracy"].value, rel=1e-12)
    assert (here / "page.html").read_text(encoding="utf-8").startswith("<!")
    assert (here / "r.md").stat().st_size > 100
    assert (here / "roc.svg").exists()


def test_merged_evidence_is_written_and_evaluated(run, parts, here):
    status, out, err = run("merge", *parts, "-o", "all.evidence")
    assert (status, out) == (0, "")
    assert "Wrote all.evidence: 400 rows counted" in err
    _, merged, _ = run("merge", *parts)
    status, evaluated, _ = run("evaluate", "all.evidence")
    assert status == 0
    assert [line for line in figures(merged) if line not in evaluated] == []
    assert Evidence.load(here / "all.evidence") == Evidence.load(parts[0]) + Evidence.load(parts[1])
    run("count", "a.csv", "b.csv", "--slice", "sex", "-o", "at-once.evidence")
    assert Evidence.load("at-once.evidence") == Evidence.load("all.evidence")


def test_evidence_is_not_mistaken_for_its_own_output(run, parts, here):
    before = (here / "a.evidence").read_bytes()
    status, _, err = run("merge", *parts, "-o", "a.evidence")
    assert status == 2
    assert "would overwrite what is read" in err
    assert (here / "a.evidence").read_bytes() == before


@pytest.mark.parametrize("same", ["the file", "a copy"])
def test_the_same_file_twice_is_refused(run, parts, here, same):
    other = "a.evidence"
    if same == "a copy":
        other = "c.evidence"
        (here / other).write_bytes((here / "a.evidence").read_bytes())
    status, out, err = run("merge", *parts, other)
    assert (status, out) == (2, "")
    assert ("is there twice" if same == "the file" else "has the same content as a.evidence") in err
    assert "count twice" in err
    assert "--same counts both" in err
    assert "same=True" not in err
    status, out, _ = run("merge", *parts, other, "--same", "-o", "twice.evidence")
    assert status == 0
    assert Evidence.load("twice.evidence").n == 600


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--threshold", "0.3"], "from scores of at least 0.5 on one side, from scores of at least 0.3 on the other"),
        (["--positive", "no"], "'yes' on one side and 'no' on the other"),
        (["--slice", "sex"], "One side has none, the other 'sex'"),
        (["--weight", "score", "--score", "score"], "Weighted and unweighted"),
        (["--group", "sex"], "with groups and evidence without"),
        (["--fold", "sex"], "with folds and evidence without"),
    ],
)
def test_files_that_were_counted_in_different_ways_are_named(run, options, said):
    run("count", "a.csv", "-o", "a.evidence")
    assert run("count", "b.csv", *options, "-o", "odd.evidence")[0] == 0
    status, out, err = run("merge", "a.evidence", "odd.evidence")
    assert (status, out) == (2, "")
    assert "odd.evidence does not fit a.evidence" in err
    assert said in err


def test_files_that_cannot_be_trusted_are_named(run, parts, here):
    data = (here / "a.evidence").read_bytes()
    (here / "cut.evidence").write_bytes(data[:-5])
    (here / "flipped.evidence").write_bytes(data[:200] + bytes([data[200] ^ 1]) + data[201:])
    (here / "old.evidence").write_bytes(data[:16] + b"\x00" + data[17:])
    for name, said in (
        ("cut.evidence", "cut.evidence is cut short"),
        ("flipped.evidence", "flipped.evidence is damaged"),
        ("old.evidence", "old.evidence has version 0 of the format, which is older"),
        ("a.csv", "a.csv is not a file of evidence"),
        ("nothing.evidence", "nothing.evidence"),
    ):
        # A file of predictions may be evaluated.
        for call in (["merge", parts[1], name], *([["evaluate", name]] if name != "a.csv" else [])):
            status, out, err = run(*call)
            assert (status, out) == (2, ""), call
            assert said in err


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (["merge"], "nothing to merge"),
        (["count"], "nothing to count"),
        (["count", "a.csv"], "where to write the evidence"),
        (["count", "a.csv", "-o", "-"], "no text for a terminal"),
        (["count", "a.csv", "-o", "nowhere/a.evidence"], "there is no folder nowhere"),
        (["count", "a.csv", "-o", "a.csv"], "would overwrite what is read"),
        (["count", "a.csv", "--truth", "lable", "-o", "x.evidence"], "did you mean 'label'"),
        (["count", "a.csv", "--predicted", "label", "--threshold", "0.5", "-o", "x.evidence"], "together"),
        (["count", "nothing.csv", "-o", "x.evidence"], "nothing.csv"),
    ],
)
def test_wrong_calls_end_in_two_sentences(run, here, call, said):
    status, out, err = run(*call)
    assert (status, out) == (2, "")
    assert said in err
    assert "Hint: " in err
    assert not list(here.glob("*.evidence"))


def test_a_shell_finds_the_parts(run, parts, here):
    assert run("count", "a.csv", "b.csv", "--slice", "sex", "-o", "whole.bin")[0] == 0
    done = subprocess.run(
        f"{HELDOUT} merge *.evidence -o all.evidence", shell=True, check=True, capture_output=True, timeout=60
    )
    assert b"400 rows counted" in done.stderr
    assert done.stdout == b""
    assert (here / "all.evidence").read_bytes() == (here / "whole.bin").read_bytes()
    assert {path.name for path in here.glob("*.evidence")} == {*parts, "all.evidence"}


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--slice", "region"], "heldout count … --slice region"),
        (["--threshold", "0.3"], "heldout count … --threshold 0.3"),
        (["--truth", "x", "--weight", "w"], "heldout count … --truth x --weight w"),
        (["--id", "case"], "leave out id (--id)"),
        (["--engine", "duckdb"], "leave out engine= (--engine)"),
        (["--engine", "memory"], "leave out engine= (--engine)"),
    ],
)
def test_what_is_said_of_rows_beside_evidence_is_refused_with_a_hint_that_fits(run, parts, options, said):
    status, out, err = run("evaluate", parts[0], *options)
    assert (status, out) == (2, "")
    assert said in err
    assert "weights and groups" not in err


def test_an_engine_for_evidence_is_refused_by_every_command(run, parts):
    for call in (
        ["compare", *parts, "--engine", "duckdb"],
        ["thresholds", parts[0], "--maximize", "youden", "--engine", "stream"],
    ):
        status, out, err = run(*call)
        assert (status, out) == (2, ""), call
        assert "reads rows, and counted evidence has none" in err


def test_evidence_is_not_counted_again(run, parts, here):
    status, out, err = run("count", parts[0], "-o", "again.bin")
    assert (status, out) == (2, "")
    assert "a.evidence is evidence: its cases were counted already" in err
    assert "heldout merge a.evidence" in err
    assert not (here / "again.bin").exists()


@pytest.mark.parametrize("engine", ["memory", "stream", "duckdb", "polars"])
def test_a_threshold_is_the_same_from_every_engine_and_from_evidence(run, parts, engine):
    ask = ["--maximize", "youden", "--replicates", "20", "--json", "-"]
    _, wanted, _ = run("thresholds", parts[0], *ask)
    status, out, _ = run("thresholds", "a.csv", "--score", "score", *ask, "--engine", engine)
    assert status == 0
    one, two = json.loads(out), json.loads(wanted)
    assert (one["threshold"], one["above"], one["confusion"]) == (two["threshold"], two["above"], two["confusion"])


def test_the_counts_at_thresholds_are_listed_from_evidence(run, parts):
    status, out, _ = run("thresholds", parts[0], "--grid", "0.2,0.7")
    assert status == 0
    assert out == run("thresholds", "a.csv", "--score", "score", "--grid", "0.2,0.7")[1]


def test_the_help_of_thresholds_says_what_it_reads(run):
    _, out, _ = run("thresholds", "--help")
    words = " ".join(out.replace("│", " ").split())
    for said in ("a folder or a pattern", "evidence that heldout count wrote", "--engine", "--master", "--passes"):
        assert said in words
