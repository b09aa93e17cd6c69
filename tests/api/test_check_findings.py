"""Gates that forbid findings: by code, or by how severe they are."""

from __future__ import annotations

import pytest

from heldout.api.check import check
from heldout.api.evaluate import evaluate
from heldout.errors import OptionError

# Of 10,100 cases 100 are of the second class, and none of them is found.
RARE = evaluate(matrix=[[9990, 10], [100, 0]], labels=["c1", "c2"])
FAIR = evaluate(matrix=[[450, 60], [70, 420]], labels=["c1", "c2"])


def test_the_cases_are_what_the_tests_need():
    fired = {one.code: one.severity for one in RARE.findings}
    assert fired["H001"] == "act"
    assert not [one for one in FAIR.findings if one.severity == "act"]


def test_a_forbidden_finding_fails_with_its_numbers():
    gate = check(RARE, forbid="H001")
    (found,) = gate
    assert (found.text, found.outcome, found.fails, found.kind) == ("no H001", "failed", True, "finding")
    assert not gate.passed
    assert RARE.review["H001"].title in found.why
    assert gate.rows()[0]["code"] == "H001"


def test_a_rule_that_found_nothing_passes():
    (found,) = check(FAIR, forbid="h001")
    assert (found.outcome, found.fails) == ("passed", False)


def test_a_rule_that_had_nothing_to_look_at_is_no_assurance():
    gate = check(FAIR, forbid=["H001", "H012"], undecided="warn")
    idle = gate.requirements[1]
    assert (idle.outcome, idle.fails) == ("undecided", False)
    assert idle.why.startswith("Not checked: ")
    said = " ".join(str(gate).split())
    assert "PASSED: of 2 forbidden findings 1 not found, 1 not checked." in said
    assert "? not checked no H012" in said
    strict = check(FAIR, forbid="H012")
    assert not strict.passed
    assert "FAILED: the forbidden finding was not checked." in " ".join(str(strict).split())


def test_requirements_and_findings_are_counted_apart():
    gate = check(RARE, require="accuracy >= 0.9", forbid="H001")
    said = " ".join(str(gate).split())
    assert "FAILED: the requirement passed; the forbidden finding was found." in said
    open_ = check(FAIR, require="accuracy >= 0.88")
    assert "PASSED" not in str(open_)
    assert "FAILED: the requirement is undecided." in str(open_)


def test_the_track_says_what_it_shows():
    assert "-.1 distance from the bound .1" in str(check(FAIR, require="accuracy >= 0.8"))
    other = evaluate(matrix=[[400, 110], [70, 420]], labels=["c1", "c2"])
    against = check(FAIR, require="accuracy >= baseline", baseline=other)
    # A table this wide is drawn on the page only.
    assert "distance from the bound" in against.to_html()


def test_a_severity_is_a_line_for_each_finding():
    gate = check(RARE, forbid="act")
    assert {row["code"] for row in gate.rows()} == {one.code for one in RARE.findings if one.severity == "act"}
    every = check(RARE, forbid="know")
    assert {row["code"] for row in every.rows()} == {one.code for one in RARE.findings}
    twice = check(RARE, forbid=["act", "know", "H001"])
    assert sorted(one.text for one in twice) == sorted(one.text for one in every)
    nothing = check(FAIR, forbid="act")
    assert [one.text for one in nothing] == ["no finding to act on"]
    assert nothing.passed


def test_a_forbidden_finding_goes_by_the_limits_that_were_given():
    matrix = [[450, 60], [70, 420]]
    assert check(matrix=matrix, forbid="H014").passed
    (narrow,) = check(matrix=matrix, forbid="H014", limits={"h014": {"width": 0.001}})
    assert (narrow.outcome, narrow.fails) == ("failed", True)


@pytest.mark.parametrize(
    ("limits", "what", "hint"),
    [
        ({"H014": {"widht": 0.1}}, "The rule H014 has no limit 'widht'. It has: width.", "did you mean width?"),
        ({"H0I4": {"width": 0.1}}, "There is no rule 'H0I4'.", "did you mean H0"),
        ({"H014": {"width": "wide"}}, "The limit width of H014 must be a number. Got 'wide'.", "H014"),
        ({"H014": 0.1}, "Limits are given by the code of a rule and by name. Got {'H014': 0.1}.", "H014"),
    ],
)
def test_limits_that_no_rule_has_are_refused(limits, what, hint):
    with pytest.raises(OptionError) as refused:
        check([0, 1], [0, 1], forbid="act", limits=limits)
    assert what in refused.value.what
    assert hint in refused.value.hint


def test_the_limits_of_an_evaluation_are_its_own():
    with pytest.raises(OptionError, match="An evaluation was given together with limits"):
        check(FAIR, forbid="H014", limits={"H014": {"width": 0.1}})


def test_ignored_rules_are_left_out():
    codes = [one.code for one in RARE.findings]
    assert check(RARE, forbid="know", ignore=codes).passed
    assert "H001" not in {row["code"] for row in check(RARE, forbid="act", ignore="H001").rows()}
    with pytest.raises(OptionError, match="ignored and forbidden"):
        check(RARE, forbid="H001", ignore="H001")


def test_findings_stand_beside_requirements():
    gate = check(RARE, require="accuracy >= 0.9", forbid="H001")
    assert [one.outcome for one in gate] == ["passed", "failed"]
    assert not gate.passed


def test_the_rules_see_what_an_evaluation_sees():
    cases = {"truth": ["no", "yes"] * 200, "predicted": ["no", "yes"] * 150 + ["no", "no"] * 50}
    fired = {one.code for one in evaluate(cases).findings}
    assert {row["code"] for row in check(cases, forbid="know").rows()} == fired


def test_a_slice_that_is_worse_is_found_only_where_slices_are_named():
    truth = ["no", "yes"] * 300
    side = ["a"] * 400 + ["b"] * 200
    predicted = [label if where == "a" else "no" for label, where in zip(truth, side, strict=True)]
    cases = {"truth": truth, "predicted": predicted, "side": side}
    assert not check(cases, forbid="H021", slices=["side"]).passed
    assert check(cases, forbid="H021").requirements[0].why.startswith("Not checked")
    with pytest.raises(OptionError, match="neither a requirement nor a forbidden finding looks at them"):
        check(cases, require="accuracy >= 0.1", slices=["side"])


@pytest.mark.parametrize(
    ("forbid", "what", "hint"),
    [
        ("H0O1", "no rule 'H0O1'", "did you mean H0"),
        ("acts", "no findings 'acts'", "'act'"),
        ("H050", "about a comparison", "H001"),
        ("", "no rule ''", "explain"),
    ],
)
def test_what_cannot_be_forbidden(forbid, what, hint):
    with pytest.raises(OptionError, match=what) as raised:
        check(FAIR, forbid=forbid)
    assert hint in raised.value.hint
