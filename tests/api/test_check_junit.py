"""JUnit XML of gates: what CI servers read, whatever the labels and the file are called."""

from __future__ import annotations

import xml.etree.ElementTree as ET

import pytest
from hypothesis import given
from hypothesis import strategies as st

from heldout.api.check import check
from heldout.errors import FileError
from heldout.gates.gate import Gate, Requirement, Undecided
from heldout.report.gate import allowed

HOSTILE = [
    "<script>alert(1)</script>",
    '"; DROP TABLE cases; --',
    "a & b ]]> <!-- c",
    "=cmd()",
    "\x00\x01\x0b\x1b[31m\x7f",
    "\ufffe\uffff",
    "\ud800 half",
    "\u202eevil",
    "\u0645\u0631\u062d\u0628\u0627 \U0001f469\u200d\U0001f467",
    "x" * 10_000,
    "line\nend\ttab",
]


def suite_of(gate: Gate) -> ET.Element:
    root = ET.fromstring(gate.to_junit().encode())
    assert root.tag == "testsuites"
    (suite,) = root
    assert suite.tag == "testsuite"
    for element in (root, suite):
        assert int(element.attrib["tests"]) == len(suite) == len(gate)
        assert int(element.attrib["failures"]) == len(suite.findall("testcase/failure")) == len(gate.failing)
        assert element.attrib["errors"] == element.attrib["skipped"] == "0"
    return suite


@pytest.mark.parametrize("label", HOSTILE)
def test_labels_are_escaped_or_spelled_out(label):
    truth, predicted = ["ham", label] * 20, ["ham", label] * 15 + ["ham", "ham"] * 5
    seen = check(truth, predicted, require=["accuracy >= 0.99", "accuracy >= 0.1"], labels=["ham", label])
    recall = check(truth, predicted, require="macro recall >= 0.99", labels=["ham", label])
    named = [Requirement(f"recall[{label}] >= 0.99", "failed", fails=True, why=f"recall[{label}] is low.")]
    gate = Gate((*seen, *recall, *named), 0.95, 40, name=label)
    suite = suite_of(gate)
    assert suite.attrib["name"] == allowed(label)
    if label.isprintable():
        assert allowed(label) == label
    last = suite[-1]
    assert last.attrib["name"] == allowed(f"recall[{label}] >= 0.99")
    assert last[0].tag == "failure"
    assert last[0].attrib["message"] == f"failed: {last[0].text}"


@given(st.text())
def test_any_text_survives(text):
    made = Requirement(text, "undecided", fails=False, why=text)
    gate = Gate((made,), 0.95, 1, name=text)
    (case,) = suite_of(gate)
    # A reader of XML turns line ends and tabs in attributes into spaces; none is left to turn.
    assert case.attrib["name"] == allowed(text)
    assert case.findtext("system-out") == f"undecided: {allowed(text)}"


def test_undecided_is_a_failure_only_where_the_gate_fails_by_it():
    truth = ["no", "yes"] * 50
    predicted = truth[:85] + [{"no": "yes", "yes": "no"}[label] for label in truth[85:]]
    ways: tuple[tuple[Undecided, str], ...] = (("warn", "system-out"), ("fail", "failure"))
    for undecided, tag in ways:
        (case,) = suite_of(check(truth, predicted, require="accuracy >= 0.8", undecided=undecided))
        assert [child.tag for child in case] == [tag]
        assert "which does not clear 0.8 (one-sided limit, clopper-pearson)" in (case[0].text or "")
    assert case[0].attrib["type"] == "undecided"


def test_it_can_be_written(tmp_path):
    gate = check([0, 1] * 20, [0, 1] * 20, require="accuracy >= 0.5")
    assert ET.parse(gate.write_junit(tmp_path / "gate.xml")).getroot().attrib["failures"] == "0"
    with pytest.raises(FileError, match="cannot be written"):
        gate.write_junit(tmp_path / "nowhere" / "gate.xml")
