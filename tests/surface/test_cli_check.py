"""`heldout check` as a CI server meets it: the exit status, what is printed, and the files it leaves."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest
from scipy.stats import beta

from heldout.api.check import check
from heldout.api.evaluate import evaluate
from heldout.cli.app import main
from heldout.errors import OptionError

HELDOUT = Path(sys.executable).with_name("heldout")
# 45 of 50 spam found, 190 of 200 ham left alone.
ROWS = "truth,predicted\n" + "spam,spam\n" * 45 + "spam,ham\n" * 5 + "ham,ham\n" * 190 + "ham,spam\n" * 10


@pytest.fixture
def here(tmp_path, monkeypatch):
    (tmp_path / "rows.csv").write_text(ROWS, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def run(here, capsys, monkeypatch):
    monkeypatch.chdir(here)

    def call(*words: str) -> tuple[int, str, str]:
        monkeypatch.setattr("sys.argv", ["heldout", "check", *words])
        with pytest.raises(SystemExit) as stopped:
            main()
        printed = capsys.readouterr()
        return int(stopped.value.code or 0), printed.out, printed.err

    return call


@pytest.mark.usefixtures("here")
@pytest.mark.parametrize(
    ("call", "status"),
    [
        (["rows.csv", "--require", "recall[spam] >= 0.5"], 0),
        (["rows.csv", "--require", "recall[spam] >= 0.81"], 1),
        (["rows.csv", "--require", "recall[spam] >= 0.99"], 1),
        (["rows.csv", "--require", "recall[spm] >= 0.5"], 2),
    ],
)
def test_the_exit_status(call, status):
    done = subprocess.run([HELDOUT, "check", *call], capture_output=True, check=False, timeout=60)
    assert done.returncode == status, done.stderr
    assert b"Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("require", "undecided", "status", "outcome"),
    [
        # The exact one-sided limits of 45 of 50 are .801 and .960.
        ("recall >= 0.80", (), 0, "passed"),
        ("recall >= 0.81", (), 1, "undecided"),
        ("recall >= 0.81", ("--undecided", "fail"), 1, "undecided"),
        ("recall >= 0.81", ("--undecided", "warn"), 0, "undecided"),
        ("recall >= 0.92", ("--undecided", "warn"), 1, "undecided"),
        ("recall >= 0.92", ("--undecided", "pass"), 0, "undecided"),
        ("recall >= 0.97", ("--undecided", "pass"), 1, "failed"),
    ],
)
def test_what_is_undecided_fails_unless_told_otherwise(run, require, undecided, status, outcome):
    found, out, _ = run("rows.csv", "--require", require, "--json", "-", *undecided)
    document = json.loads(out)
    assert found == status
    assert document["passed"] is (status == 0)
    (row,) = document["requirements"]
    assert (row["text"], row["outcome"], row["fails"]) == (require, outcome, status == 1)
    assert row["pass_limit"] == pytest.approx(beta.ppf(0.05, 45, 6))
    assert (row["pass_level"], row["pass_method"]) == (0.95, "clopper-pearson")


def test_a_failed_gate_still_delivers_everything(run, here):
    names = ["gate.json", "gate.md", "gate.html", "gate.tex", "gate.xml"]
    forms = ["--json", "--markdown", "--html", "--latex", "--junit"]
    pairs = [word for pair in zip(forms, names, strict=True) for word in pair]
    status, out, err = run("rows.csv", "--require", "recall >= 0.99", *pairs)
    assert status == 1
    assert "FAILED" in out
    for name in names:
        assert f"Wrote {name}" in err
        assert "recall" in (here / name).read_text(encoding="utf-8")
    assert ET.parse(here / "gate.xml").getroot().attrib["failures"] == "1"
    assert json.loads((here / "gate.json").read_text(encoding="utf-8"))["schema"] == "heldout/gate@1"


def test_requirements_from_a_file(run, here):
    (here / "gate.toml").write_text('[[require]]\ntext = "recall[spam] >= 0.7"\n\n[[require]]\ntext = "mcc > .5"\n')
    status, out, _ = run("rows.csv", "--requirements", "gate.toml", "--require", "accuracy >= 90%", "--json", "-")
    texts = [row["text"] for row in json.loads(out)["requirements"]]
    assert (status, texts) == (0, ["recall[spam] >= 0.7", "mcc > .5", "accuracy >= 90%"])
    (here / "gate.toml").write_text("require = ['accuracy >= 0.99']\n")
    assert run("rows.csv", "--requirements", "gate.toml")[0] == 1


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("", "gate.toml is empty"),
        (" \n\n", "gate.toml is empty"),
        ("# nothing\n", "holds no requirements"),
        ("require = []", "holds no requirements"),
        ("[[require]]\n", "Entry 1 of [[require]] in gate.toml has no text"),
        ("[[require]]\ntext = 3", "has no text"),
        ("[[require]]\ntxt = 'accuracy > 0'", "has a key 'txt'"),
        ("[[requires]]\ntext = 'accuracy > 0'", "only 'require' is known"),
        ("require = ", "is not TOML"),
    ],
)
def test_a_file_that_holds_none_is_refused(run, here, text, what):
    (here / "gate.toml").write_text(text, encoding="utf-8")
    status, out, err = run("rows.csv", "--requirements", "gate.toml")
    assert (status, out) == (2, "")
    assert what in err
    assert "Hint: " in err
    # TOML has neither.
    assert "header" not in err
    assert "row" not in err.replace("rows.csv", "")


def test_a_baseline_of_predictions_and_of_figures(run, here):
    (here / "old.csv").write_text(ROWS.replace("ham,ham\n", "ham,spam\n", 20), encoding="utf-8")
    status, out, _ = run("rows.csv", "--baseline", "old.csv", "--require", "accuracy >= baseline")
    assert status == 0
    assert "case by case" in " ".join(out.split())
    evaluate(here / "old.csv").write(here / "old.json")
    status, out, _ = run("rows.csv", "--baseline", "old.json", "--require", "accuracy >= baseline")
    assert status == 0
    assert "tested on other cases" in " ".join(out.split())


def test_a_limit_moves_what_is_found(run):
    assert run("rows.csv", "--forbid", "H014")[0] == 1
    assert run("rows.csv", "--forbid", "H014", "--limit", "H014.width=0.5")[0] == 0


def test_forbidden_findings_fail_the_gate(run, here):
    rare = "truth,predicted\n" + "no,no\n" * 990 + "yes,no\n" * 10
    (here / "rare.csv").write_text(rare, encoding="utf-8")
    status, out, _ = run("rare.csv", "--require", "accuracy >= 0.9", "--forbid", "act")
    assert status == 1
    assert re.search(r"× failed +no H0\d\d", out)
    assert run("rare.csv", "--require", "accuracy >= 0.9")[0] == 0


def test_nothing_happens_by_itself_on_a_ci_server(run, here, monkeypatch):
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(here / "summary.md"))
    before = sorted(here.iterdir())
    _, out, _ = run("rows.csv", "--require", "recall >= 0.5")
    assert sorted(here.iterdir()) == before
    assert "::error" not in out


@pytest.mark.parametrize(
    ("words", "what"),
    [
        (["rows.csv"], "nothing to check"),
        (["rows.csv", "--require", "recall => 0.5"], "no sign '=>'"),
        (["rows.csv", "--require", "recall >= 0.5", "--junit", "-"], "--junit writes a file"),
        (
            ["rows.csv", "--require", "recall >= 0.5", "--junit", "rows.csv"],
            "overwrite the input: both are rows.csv.",
        ),
        (["rows.csv", "--require", "recall >= 0.5", "--undecided", "wran"], "did you mean 'warn'?"),
        (["rows.csv", "--require", "recall >= 0.5", "--junit", "no/where.xml"], "there is no folder no"),
        (["rows.csv", "--require", "recall >= 0.5", "--junit", "a.md", "--markdown", "a.md"], "overwrite"),
        (["none.csv", "--require", "recall >= 0.5"], "There is no file none.csv"),
        (["empty.csv", "--require", "recall >= 0.5"], "empty.csv is empty"),
        (["rows.csv", "--requirements", "none.toml"], "There is no file none.toml"),
        (["rows.csv", "--forbid", "H999"], "no rule 'H999'"),
        (["rows.csv", "--require", "recall >= 0.5", "--limit", "H014.width=1"], "so nothing uses them"),
        (["rows.csv", "--forbid", "act", "--limit", "H014"], "--limit 'H014' is not CODE.NAME=VALUE."),
        (["rows.csv", "--forbid", "act", "--limit", "H014.widht=1"], "did you mean width?"),
        (
            ["rows.csv", "--forbid", "act", "--limit", "H014.width=x"],
            "width of H014 must be a number. Got 'x'",
        ),
        (["rows.csv", "--forbid", "act", "--limit", "H014.width=-1"], "The limit width of H014 cannot be negative."),
        (["rows.csv", "--forbid", "act", "--limit", "H014.width="], "is not CODE.NAME=VALUE."),
        (["rows.csv", "--require", "recall[sex=f] >= 0.5"], "or quote a class whose name holds an equals sign"),
        (["rows.csv", "--require", "recall[sex=] >= 0.5"], "names no value of the column"),
        (["rows.csv", "--require", "recall >= 0.5", "--level", "0.5"], "A gate needs a level above 0.5"),
        (["rows.csv", "--require", "accuracy >= baseline"], "needs a baseline"),
    ],
)
def test_a_wrong_call_is_two_sentences_and_status_2(run, here, words, what):
    (here / "empty.csv").write_text("", encoding="utf-8")
    before = {path: path.read_bytes() for path in here.iterdir()}
    status, out, err = run(*words)
    assert (status, out) == (2, "")
    assert what in err
    assert err.count("\nHint: ") == 1
    assert {path: path.read_bytes() for path in here.iterdir()} == before


def test_the_help_names_what_it_takes(run):
    status, out, _ = run("--help")
    assert status == 0
    for option in ("--require", "--baseline", "--undecided", "--forbid", "--junit"):
        assert option in out


@pytest.fixture
def parts(here):
    """The rows in a folder of three files, in the same order."""
    rows = ROWS.splitlines(keepends=True)[1:]
    (here / "parts").mkdir()
    for place in range(3):
        part = "".join(rows[100 * place : 100 * (place + 1)])
        (here / "parts" / f"part-{place}.csv").write_text(f"truth,predicted\n{part}", encoding="utf-8")
    return here / "parts"


def test_a_file_of_the_folder_that_is_read_is_never_overwritten(run, parts):
    before = {path: path.read_bytes() for path in parts.iterdir()}
    for name in (parts.name, f"{parts.name}/*.csv"):
        for form in ("--junit", "--json"):
            status, _, err = run(name, "--require", "accuracy > 0", form, f"{parts.name}/part-1.csv")
            assert (status, f"{form} would overwrite the input" in err) == (2, True)
    assert {path: path.read_bytes() for path in parts.iterdir()} == before
    # A report of an earlier run is no input.
    assert run(parts.name, "--require", "accuracy > 0", "--junit", "gate.xml")[0] == 0
    assert run(parts.name, "--require", "accuracy > 0", "--junit", "gate.xml")[0] == 0


def outcome_of(text: str) -> list[tuple[str, float]]:
    return [(one["outcome"], one["value"]) for one in json.loads(text)["requirements"]]


@pytest.mark.parametrize("engine", ["memory", "stream", "polars", "duckdb"])
def test_every_engine_decides_alike(engine, run, parts):
    call = ["--require", "recall[spam] >= 0.5", "--require", "accuracy >= 0.99", "--json", "-"]
    status, out, err = run(parts.name, *call, "--engine", engine)
    assert (status, err) == (1, "")
    assert outcome_of(out) == outcome_of(run("rows.csv", *call)[1])


def test_the_engine_reads_the_baseline_too(run, parts):
    call = [parts.name, "--baseline", "rows.csv", "--require", "accuracy >= baseline - 0.02", "--undecided", "warn"]
    status, out, _ = run(*call)
    assert (status, "Only counts are known of parts" in out) == (0, True)
    # Rows that are held are paired.
    status, out, _ = run(*call, "--engine", "memory")
    assert (status, "counts are known" in out) == (0, False)
    status, out, _ = run(*call, "--engine", "stream")
    assert (status, "Only counts are known of parts, rows.csv" in out) == (0, True)


def test_a_baseline_that_was_counted_before_needs_no_engine(run, parts):
    from heldout.api.count import count

    count("rows.csv").save("rows.evidence")
    call = ["--baseline", "rows.evidence", "--require", "accuracy >= baseline - 0.2"]
    assert run(parts.name, *call, "--engine", "stream")[0] == 0
    assert "The engine 'stream' reads rows" in run("rows.evidence", *call, "--engine", "stream")[2]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--engine", "sparkk"], "did you mean 'spark'?"),
        (["--master", "yarn"], "A master was named (yarn)"),
        (["--engine", "stream", "--passes", "0"], "passes must be a whole number"),
        (["--engine", "stream", "--tolerance", "-1"], "The tolerance is a width"),
    ],
)
def test_what_is_said_of_large_data_reaches_the_engine(words, said, run, parts):
    status, out, err = run(parts.name, "--require", "accuracy > 0", *words)
    assert (status, out) == (2, "")
    assert said in err


def test_engines_are_named_in_python_too(parts):
    with pytest.raises(OptionError, match="An evaluation was given together with engine, passes"):
        check(evaluate("rows.csv"), require="accuracy > 0", engine="stream", passes=2)
    assert check(parts, require="accuracy > 0.5", engine="stream", tolerance=1e-3, passes=1).passed


@pytest.mark.parametrize("form", ["--json", "--html", "--markdown"])
@pytest.mark.parametrize("kept", ["--ledger", "--costs"])
def test_no_report_overwrites_the_ledger_or_the_costs(run, here, kept, form):
    file = here / "kept.csv"
    file.write_text("" if kept == "--ledger" else "truth,predicted,cost\nno,yes,1\nyes,no,5\n", encoding="utf-8")
    before = file.read_bytes()
    status, _, error = run("rows.csv", "--require", "recall >= 0.5", kept, str(file), form, str(file))
    assert (status, file.read_bytes()) == (2, before)
    assert "would overwrite" in error
