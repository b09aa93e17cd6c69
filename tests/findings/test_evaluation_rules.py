"""Every rule about evaluations: it fires where it should, passes where it should, and says why it cannot look."""

from __future__ import annotations

import re

import pytest
from tests.findings.evaluation_cases import CASES, fired, passed

from heldout.findings.review import RULE_CATALOGUE

# Those from H030 on, and that of slices, have their cases beside the tests of what they are about.
ELSEWHERE = {code for code in RULE_CATALOGUE if code >= "H030" or code == "H021"}


def test_every_rule_has_a_case_that_fires_and_one_that_passes():
    assert set(CASES) == set(RULE_CATALOGUE) - ELSEWHERE


@pytest.mark.parametrize("code", CASES)
def test_it_fires(code):
    seen = fired(code)
    found = seen.review[code]
    assert found.outcome == "fired", found.title
    assert found in seen.findings
    assert re.search(r"\d", found.title), "a finding comes with its numbers"
    assert found.facts
    assert found.advice.endswith(".")
    assert found.reference == RULE_CATALOGUE[code].reference
    assert f"{code}  " in str(seen.review)


@pytest.mark.parametrize("code", CASES)
def test_it_passes(code):
    found = passed(code).review[code]
    assert found.outcome == "passed", found.title
    assert not found.advice
    assert found.title.endswith(".")


@pytest.mark.parametrize("code", [code for code, case in CASES.items() if case.reason])
def test_it_says_why_it_cannot_look(code):
    case = CASES[code]
    assert case.silent is not None
    found = case.silent().review[code]
    assert (found.outcome, found.title) == ("not applicable", case.reason)


@pytest.mark.parametrize("code", CASES)
def test_titles_are_one_sentence_of_readable_length(code):
    for seen in (fired(code), passed(code)):
        found = seen.review[code]
        assert re.search(r"[.?]$", found.title)
        assert len(found.title) <= 150
