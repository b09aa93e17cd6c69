"""The ledger of uses of test sets: what is entered, what is said of it, and that nothing is lost or hidden."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

import numpy as np
import pytest
from scipy import stats

import heldout
from heldout.errors import FileError, OptionError
from heldout.files.ledger import read_ledger
from heldout.findings.rules_reuse import expected_maximum

TRUTH = np.arange(150) % 2
WRITER = """
import sys
from heldout.files.ledger import enter_use
for turn in range(25):
    enter_use(sys.argv[1], "evaluate", ["cafe"], {(f"{sys.argv[2]}-{turn}", "accuracy"): turn / 100})
"""


def wrong_in(first, count):
    answers = TRUTH.copy()
    answers[first : first + count] = 1 - answers[first : first + count]
    return answers


def test_uses_are_counted_by_the_cases_and_models_by_their_values(tmp_path):
    path = tmp_path / "ledger.jsonl"
    first = heldout.evaluate(TRUTH, wrong_in(0, 15), ledger=path)
    assert first.review["H073"].outcome == "passed"
    again = heldout.evaluate(TRUTH, wrong_in(0, 15), ledger=path)
    assert again.earlier is not None
    assert (again.earlier.uses, again.earlier.others) == (1, 0)
    assert again.review["H073"].outcome == "passed"
    other = heldout.evaluate(TRUTH, wrong_in(3, 22), ledger=path)
    found = other.review["H073"]
    assert found.outcome == "fired"
    assert found.title.startswith("This test set was used 2 times before, for 1 other model: the best of 2 equal ones")
    estimate = other["accuracy"]
    # The mean of the larger of two normal numbers is 1 / √π.
    error = (estimate.high - estimate.low) / (2 * 1.959964)
    assert found.facts["expected_excess"] == pytest.approx(error / np.sqrt(np.pi), rel=1e-4)
    elsewhere = heldout.evaluate(TRUTH[:100], wrong_in(3, 22)[:100], ledger=path)
    assert elsewhere.earlier is not None
    assert elsewhere.earlier.uses == 0
    assert [entry.asked for entry in read_ledger(path)] == ["evaluate"] * 4


def test_a_comparison_and_a_gate_enter_what_they_saw(tmp_path):
    path = tmp_path / "ledger.jsonl"
    sides = {name: heldout.evaluate(TRUTH, wrong_in(*at)) for name, at in (("a", (0, 9)), ("b", (40, 20)))}
    comparison: Any = heldout.compare(sides, measures="accuracy", ledger=path)
    assert comparison.review["H072"].outcome == "passed"
    gate = heldout.check(TRUTH, wrong_in(90, 12), require="accuracy >= 0.5", forbid="H073", ledger=path)
    assert not gate.passed
    assert "used 1 time before, for 2 other models" in str(gate)
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    assert [line["asked"] for line in lines] == ["compare", "check"]
    assert lines[0]["cases"] == [sides["a"].fingerprint] == lines[1]["cases"]
    assert [(one["name"], one["value"]) for one in lines[0]["values"]] == [("a", 0.94), ("b", pytest.approx(130 / 150))]
    assert all(line["version"] == heldout.__version__ and line["time"].endswith("+00:00") for line in lines)


def test_counts_without_rows_have_no_fingerprint_and_it_is_said(tmp_path):
    path = tmp_path / "ledger.jsonl"
    found = heldout.evaluate(matrix=[[40, 10], [5, 45]], labels=["no", "yes"], ledger=path).review["H073"]
    assert found.outcome == "not applicable"
    assert found.title == "the cases have no fingerprint, because their rows were not kept"
    assert read_ledger(path)[0].cases == ()


def test_without_a_ledger_nothing_is_read_or_written(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert heldout.evaluate(TRUTH, wrong_in(0, 5)).review["H073"].title == "no ledger was named"
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "content",
    [b"{}\n", b"not json\n", b'{"schema": "heldout/other@1"}\n', b"\xff\n", b'{"schema', b"[" * 100_000 + b"\n"],
)
def test_a_file_that_is_no_ledger_is_refused_and_left_as_it_is(tmp_path, content):
    path = tmp_path / "notes.txt"
    path.write_bytes(content)
    with pytest.raises(FileError) as refused:
        heldout.evaluate(TRUTH, wrong_in(0, 5), ledger=path)
    assert "nothing was written" in refused.value.hint
    assert path.read_bytes() == content
    with pytest.raises(OptionError, match="A ledger is a file"):
        heldout.evaluate(TRUTH, wrong_in(0, 5), ledger=3)
    with pytest.raises(FileError, match="cannot be written"):
        heldout.evaluate(TRUTH, wrong_in(0, 5), ledger=tmp_path / "no" / "ledger.jsonl")


def test_writers_at_the_same_time_lose_no_entry(tmp_path):
    path = tmp_path / "ledger.jsonl"
    writers = [subprocess.Popen([sys.executable, "-c", WRITER, str(path), name]) for name in "abc"]
    assert [writer.wait() for writer in writers] == [0, 0, 0]
    names = [entry.values[0].name for entry in read_ledger(path)]
    assert sorted(names) == sorted(f"{name}-{turn}" for name in "abc" for turn in range(25))


@pytest.mark.parametrize("models", [3, 7, 40])
def test_the_expected_maximum_is_that_of_order_statistics(models):
    wanted = stats.norm.expect(lambda x: x * models * stats.norm.cdf(x) ** (models - 1))
    assert expected_maximum(models) == pytest.approx(wanted, abs=1e-5)
