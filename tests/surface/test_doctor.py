"""`heldout doctor`: what is installed, what is not and how to get it, for a person and as a document."""

from __future__ import annotations

import json
import platform
import sys
from importlib.metadata import version

import heldout
from heldout.cli.doctor import find_gpus
from heldout.extras import EXTRAS


def test_the_document_says_what_is_installed(run):
    status, out, err = run("doctor", "--json", "-")
    found = json.loads(out)
    assert (status, err) == (0, "")
    assert found["schema"] == "heldout/doctor@1"
    assert (found["heldout"], found["python"]) == (heldout.__version__, platform.python_version())
    assert found["packages"]["numpy"] == version("numpy")
    assert found["cores"] >= 1
    assert found["memory"] > 1e8
    assert [extra["name"] for extra in found["extras"]] == list(EXTRAS)
    assert all(extra["installed"] for extra in found["extras"])


def test_a_missing_extra_is_listed_with_the_command_that_installs_it(run, monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "vl_convert", None)
    status, out, _ = run("doctor")
    (line,) = [line for line in out.splitlines() if line.startswith("png")]
    assert status == 0
    assert 'pip install "heldout[png]"' in line
    assert f"heldout {heldout.__version__}" in out
    target = tmp_path / "doctor.json"
    assert run("doctor", "--json", str(target))[0] == 0
    extras = {extra["name"]: extra for extra in json.loads(target.read_text(encoding="utf-8"))["extras"]}
    assert (extras["png"]["installed"], extras["serve"]["installed"]) == (False, True)


def test_without_pytorch_no_gpu_is_looked_for(monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)
    assert find_gpus() is None


def test_a_file_that_cannot_be_written_is_refused(run):
    status, _, err = run("doctor", "--json", "nowhere/doctor.json")
    assert status == 2
    assert "--json cannot write nowhere/doctor.json" in err
