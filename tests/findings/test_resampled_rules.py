"""Every rule from H030 on: it fires where it should, passes where it should, and says why it cannot look."""

from __future__ import annotations

import re

import numpy as np
import pytest
from tests.findings.resampled_cases import CASES, cases, folds_of_file, validate, validated

import heldout
from heldout.errors import OptionError
from heldout.findings.review import RULE_CATALOGUE
from heldout.results.validation import Validation

# What was measured of a method is quoted whole.
QUOTED = {"H052"}


def test_every_rule_has_a_case_that_fires_and_one_that_passes():
    assert set(CASES) == {code for code in RULE_CATALOGUE if code >= "H030"}


@pytest.mark.parametrize("code", CASES)
def test_it_fires(code):
    seen = CASES[code].fires()
    found = seen.review[code]
    assert found.outcome == "fired", found.title
    assert found in seen.findings
    assert found.facts
    assert re.search(r"[.?]$", found.title)
    assert found.advice.endswith(".")
    assert found.reference == RULE_CATALOGUE[code].reference
    assert code in [getattr(block, "code", "") for block in seen.review.full_blocks()]
    assert code == "H058" or re.search(r"\d", found.title), "a finding comes with its numbers"
    assert code in QUOTED or len(found.title) <= 150


@pytest.mark.parametrize("code", CASES)
def test_it_passes(code):
    found = CASES[code].passes().review[code]
    assert found.outcome == "passed", found.title
    assert not found.advice
    assert found.title.endswith(".")
    assert len(found.title) <= 150


@pytest.mark.parametrize("code", [code for code, case in CASES.items() if case.silent])
def test_it_says_why_it_cannot_look(code):
    case = CASES[code]
    assert case.silent is not None
    found = case.silent().review[code]
    assert (found.outcome, found.title) == ("not applicable", case.reason)


@pytest.mark.parametrize("code", [code for code in CASES if RULE_CATALOGUE[code].limits])
def test_what_fires_fires_no_more_at_a_limit_that_nothing_passes(code):
    rule = RULE_CATALOGUE[code]
    # Shares and cases that are asked for at least are turned down to 0, what is allowed at most up to anything.
    allowed = {"apart", "astray", "drop", "errors", "excess", "gap", "share", "test", "times", "rows", "tried"}
    limits = {limit.name: 1e9 if limit.name in allowed else 0 for limit in rule.limits}
    seen = CASES[code].fires()
    subject = seen.evaluation if rule.about == "evaluation" and isinstance(seen, Validation) else seen
    assert rule(subject, **limits).outcome == "passed"


def test_the_area_over_folds_that_were_not_named_is_pooled():
    found = folds_of_file().review["H034"]
    assert found.outcome == "fired"
    assert found.facts == {"column": "fold"}
    assert "--fold fold" in found.advice
    assert "every interval is too narrow" in found.title
    assert folds_of_file(named=True).review["H034"].outcome == "passed"


@pytest.mark.parametrize("name", ["f1", "kolmogorov_smirnov"])
def test_a_mean_over_folds_of_what_must_be_made_once_is_said(name):
    truth, fold = np.arange(200) % 3 % 2, np.arange(200) // 40
    score = np.clip(np.random.default_rng(1).normal(0.4 + 0.2 * truth, 0.2), 0, 1)
    found = heldout.evaluate(truth, score=score, fold=fold, measures=[name], method="corrected-t").review["H034"]
    assert found.outcome == "fired"
    assert found.facts["measures"] == [f"{name}[1]"]


# Ignoring


def test_an_ignored_rule_is_not_put():
    features, truth = [[float(i), float(i % 7)] for i in range(60)], [i % 2 for i in range(60)]
    loud = heldout.validate("knn:1", features, truth, plan="resubstitution")
    still = heldout.validate("knn:1", features, truth, plan="resubstitution", ignore=["h030", "H033", "H050"])
    assert "H030" in str(loud)
    assert "Tested on the cases it was trained on" not in str(still)
    assert [f.code for f in still.review.findings] == [
        f.code for f in loud.review.findings if f.code not in ("H030", "H033")
    ]
    # One that is not about validations is not ignored: there is nothing to ignore.
    assert still.review.ignored == ("H030", "H033")
    assert set(still.to_dict()["validations"][0]["ignored"]) == {"H030", "H033"}
    curve = heldout.learning_curve("knn:1", features, truth, points=3, draws=2, ignore="H047")
    assert curve.to_dict()["ignored"] == ["H047"]
    with pytest.raises(OptionError, match="ignored"):
        curve.review["H047"]
    both = heldout.evaluate([0, 1], [0, 1]), heldout.evaluate([0, 1], [0, 0])
    assert "H055" not in str(heldout.compare(*both, ignore=("H055",)))
    assert heldout.compare(*both, ignore=("H055",)).to_dict()["ignored"] == ["H055"]
    assert "H055" in str(heldout.compare(*both))


@pytest.mark.parametrize("front", [heldout.validate, heldout.learning_curve])
def test_a_code_that_does_not_exist_is_refused_before_anything_is_fitted(front):
    with pytest.raises(OptionError, match="There is no rule 'H999'"):
        front(None, [[1.0]], [0], ignore="H999")
    with pytest.raises(OptionError, match="There is no rule 'H999'"):
        heldout.compare(None, None, ignore="H999")


# Where findings stand


def test_findings_stand_at_the_end_of_every_screen_and_in_every_document():
    seen = validated(plan="10-fold")
    for text in (str(seen), "\n".join(map(str, seen.chosen_blocks())), "\n".join(map(str, seen.full_blocks()))):
        assert "H033" in text
    (document,) = seen.to_dict()["validations"]
    assert {found["code"] for found in document["findings"]} == {found.code for found in seen.findings}
    assert "H040" in document["passed"]
    assert "H030" in document["passed"]
    assert document["not_applicable"]["H043"] == "the plan is no single holdout"
    found = CASES["H053"].fires()
    assert "H053" in str(found)
    assert {one["code"] for one in found.to_dict()["findings"]} >= {"H053", "H057"}
    assert set(found.to_dict()["findings"][0]) == {"code", "severity", "title", "facts", "advice", "reference"}
    curve = CASES["H046"].fires()
    assert "H046" in str(curve)
    assert "H046" in [one["code"] for one in curve.to_dict()["findings"]]


def test_what_is_found_of_all_learners_is_said_once_and_of_one_by_its_name():
    both = validate(["knn:1", "naive-bayes"], *cases(60, 0.7), plan="10-fold")
    titles = [found.title for found in both.review.fired if found.code == "H033"]
    assert titles == ["The smallest of 10 folds has 6 cases, fewer than 30."]
    own = [found.title for found in both.findings if found.code == "H039"]
    assert [title.split(": ")[0] for title in own] == ["knn:1"]
    assert both["naive-bayes"].review["H039"].outcome == "passed"
    codes = [found.code for found in both.review.findings]
    assert set(codes) == {found.code for found in both["knn:1"].review.findings}
    assert [getattr(block, "code", "") for block in both.review.full_blocks()].count("H033") == 1
