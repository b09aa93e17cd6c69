"""What a build reads of this project: the GitHub Action, the pre-commit hook and the release, run as written."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
import yaml

from heldout.cli.check import MOST_SHOWN
from heldout.cli.output import SUMMARY

ROOT = Path(__file__).parents[2]
DIABETES = str(ROOT / "examples" / "diabetes.csv")
ACTION = yaml.safe_load((ROOT / "action.yml").read_text(encoding="utf-8"))
RELEASE = yaml.safe_load((ROOT / ".github" / "workflows" / "release.yml").read_text(encoding="utf-8"))
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
GATE = """[[require]]
text = "accuracy >= 0.7"
"""


@pytest.fixture
def workflow(tmp_path, monkeypatch) -> Path:
    """A folder with the files of a step; heldout is on the path."""
    monkeypatch.chdir(tmp_path)
    for variable in ("GITHUB_STEP_SUMMARY", "GITHUB_OUTPUT"):
        (tmp_path / variable).touch()
        monkeypatch.setenv(variable, str(tmp_path / variable))
    (tmp_path / "gate.toml").write_text(GATE, encoding="utf-8")
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
    return tmp_path


def run_step(name: str, **given: str) -> subprocess.CompletedProcess[str]:
    """A step of the action in bash, as a runner would run it, with the inputs that a workflow gives."""
    (step,) = [step for step in ACTION["runs"]["steps"] if step["name"] == name]
    inputs = {name: str(about.get("default", "")) for name, about in ACTION["inputs"].items()} | given
    told = {
        name: re.sub(r"\$\{\{ inputs\.(\w+) \}\}", lambda found: inputs[found[1]], text)
        for name, text in step["env"].items()
    }
    # How a runner starts `shell: bash`.
    call = ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step["run"]]
    return subprocess.run(call, env={**os.environ, **told}, capture_output=True, text=True, check=False)


def test_the_action_writes_summary_annotations_outputs_and_junit(workflow):
    require = "recall[tested_positive] >= 0.5\naccuracy >= 0.9\n"
    done = run_step(
        "Check", predictions=DIABETES, requirements="gate.toml", require=require,
        options="--score p_tested_positive --fold 'fold'", junit="gate.xml",
    )  # fmt: skip
    assert done.returncode == 1, done.stderr
    assert "Gate      FAILED: of 3 requirements 2 passed, 1 failed" in done.stdout
    (annotation,) = [line for line in done.stderr.splitlines() if line.startswith("::")]
    assert annotation.startswith(f"::error file={DIABETES},title=heldout check::accuracy >= 0.9 failed: ")
    assert "%25 confidence" in annotation
    assert (workflow / "GITHUB_OUTPUT").read_text().splitlines() == ["passed=false", "summary=2 passed, 1 failed"]
    assert (workflow / "GITHUB_STEP_SUMMARY").read_text(encoding="utf-8").startswith("## diabetes.csv")
    assert (workflow / "gate.xml").read_text(encoding="utf-8").startswith("<?xml")


def test_the_action_passes_where_the_gate_does_and_runs_nothing_that_it_is_given(workflow):
    done = run_step("Check", predictions=DIABETES, requirements="gate.toml", options="--level $(touch made) --seed 1")
    assert done.returncode == 2
    done = run_step("Check", predictions=DIABETES, requirements="gate.toml", require="$(touch made)")
    assert done.returncode == 2
    assert not (workflow / "made").exists()
    done = run_step("Check", predictions=DIABETES, requirements="gate.toml")
    assert (done.returncode, "::" in done.stderr) == (0, False)
    assert "passed=true" in (workflow / "GITHUB_OUTPUT").read_text()
    assert (workflow / "heldout-gate.xml").is_file()


def test_inputs_reach_the_shell_by_the_environment_only():
    for step in ACTION["runs"]["steps"]:
        assert "${{" not in step["run"]
        assert step["shell"] == "bash"
    used = set(re.findall(r"inputs\.(\w+)", (ROOT / "action.yml").read_text(encoding="utf-8")))
    assert used == set(ACTION["inputs"])
    assert set(ACTION["outputs"]) == {"passed", "summary", "junit"}


def test_a_summary_that_is_nearly_full_stays_under_the_limit(run, workflow):
    summary = workflow / "GITHUB_STEP_SUMMARY"
    summary.write_text("x" * (SUMMARY - 400), encoding="utf-8")
    assert run("check", DIABETES, "--require", "accuracy >= 0.7", "--github")[0] == 0
    assert SUMMARY - 400 < summary.stat().st_size <= SUMMARY
    assert "Cut here" in summary.read_text(encoding="utf-8")


def test_a_summary_that_is_a_device_is_not_read(run, monkeypatch):
    """It would never end, and take all memory there is."""
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", "/dev/full")
    status, _, err = run("check", DIABETES, "--require", "accuracy >= 0.7", "--github")
    assert status == 2
    assert err.startswith("/dev/full cannot be written: No space left on device.")


@pytest.mark.usefixtures("workflow")
def test_more_annotations_than_are_shown_are_counted(run):
    many = [word for tenths in range(12) for word in ("--require", f"accuracy >= 0.9{tenths:02d}")]
    status, _, err = run("check", DIABETES, *many, "--github", "--undecided", "pass")
    lines = [line for line in err.splitlines() if line.startswith("::error")]
    assert (status, len(lines)) == (1, MOST_SHOWN)
    assert lines[-1].endswith("::and 3 more requirements; the summary of the step has all of them")


@pytest.mark.usefixtures("workflow")
def test_what_is_let_through_undecided_is_a_warning(run):
    status, out, err = run("check", DIABETES, "--require", "accuracy >= 0.75", "--github", "--undecided", "warn")
    assert (status, err.startswith("::warning file=")) == (0, True)
    assert "::warning" not in out


def test_outside_a_workflow_it_is_refused(run, monkeypatch):
    monkeypatch.delenv("GITHUB_STEP_SUMMARY", raising=False)
    status, out, err = run("check", DIABETES, "--require", "accuracy >= 0.7", "--github")
    assert (status, out) == (2, "")
    assert "GITHUB_STEP_SUMMARY is not set" in err
    assert "--markdown gate.md" in err


def test_the_hook_is_a_command_that_fails_where_the_gate_does(workflow):
    (hook,) = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text(encoding="utf-8"))
    assert (hook["language"], hook["pass_filenames"]) == ("python", False)
    program, *words = shlex.split(hook["entry"])
    assert program in PROJECT["scripts"]
    for bound, status in (("0.7", 0), ("0.9", 1)):
        (workflow / "gate.toml").write_text(GATE.replace("0.7", bound), encoding="utf-8")
        call = [program, *words, DIABETES, "--requirements", "gate.toml"]
        assert subprocess.run(call, capture_output=True, check=False).returncode == status


def test_the_release_tests_every_python_that_the_project_names():
    named = [text.rpartition(" ")[2] for text in PROJECT["classifiers"] if re.search(r":: 3\.\d+$", text)]
    assert named == ["3.11", "3.12", "3.13", "3.14"]
    for job in ("test", "wheel"):
        assert RELEASE["jobs"][job]["strategy"]["matrix"]["python"] == named


def test_the_release_publishes_only_what_was_tested_and_only_when_switched_on():
    publish = RELEASE["jobs"]["publish"]
    assert publish["needs"] == ["build", "test", "wheel"]
    assert "vars.PUBLISH == 'yes'" in publish["if"]
    assert publish["permissions"] == {"id-token": "write"}
    assert RELEASE["permissions"] == {"contents": "read"}
    # No password or token: the index trusts the workflow.
    assert "secrets." not in (ROOT / ".github" / "workflows" / "release.yml").read_text(encoding="utf-8")


def test_the_release_runs_what_there_is():
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    runs = [step["run"] for job in RELEASE["jobs"].values() for step in job["steps"] if "run" in step]
    targets = re.findall(r"make (\w+)", "\n".join(runs))
    assert targets == ["dist", "test"]
    assert all(re.search(rf"^{target}:", makefile, re.MULTILINE) for target in targets)
    assert re.search(r"^PYTHON_RANGE :=", makefile, re.MULTILINE)
    assert any("python tests/clean_install.py dist" in one for one in runs)
    assert (ROOT / "tests" / "clean_install.py").is_file()
