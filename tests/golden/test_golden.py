"""What users see is what it was: the recording made now against tests/golden/expected, group by group."""

from __future__ import annotations

import difflib
import itertools
import json
import subprocess
import sys
from pathlib import Path

import pytest
from tests.golden.record import normalise

HERE = Path(__file__).parent
EXPECTED = HERE / "expected"
GROUPS = sorted(path.stem for path in EXPECTED.glob("*.txt"))
SHOWN = 40


@pytest.fixture(scope="module")
def recorded(tmp_path_factory) -> Path:
    """The recording of this moment, made once in a process of its own."""
    folder = tmp_path_factory.mktemp("golden")
    command = [sys.executable, str(HERE / "record.py"), str(folder)]
    ended = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stderr
    return folder


def test_every_group_is_recorded(recorded):
    assert sorted(path.stem for path in recorded.glob("*.txt")) == GROUPS


@pytest.mark.parametrize("group", GROUPS)
def test_what_users_see_has_not_changed(recorded, group):
    before, now = (
        (folder / f"{group}.txt").read_text(encoding="utf-8").splitlines() for folder in (EXPECTED, recorded)
    )
    difference = difflib.unified_diff(before, now, "expected", "now", lineterm="", n=2)
    shown = [line[:200] for line in itertools.islice(difference, SHOWN)]
    lines = "\n".join(shown)
    assert not shown, f"{group} has changed; if that is meant, run python tests/golden/record.py\n{lines}"


def test_datasets_of_charts_are_named_by_their_order():
    charts = [json.dumps([f"data-{digit * 32}", f"data-{'0' * 32}", f"data-{digit * 32}"]) for digit in "ab"]
    assert {normalise(chart) for chart in charts} == {'["data-1", "data-2", "data-1"]'}
