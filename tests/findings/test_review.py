"""The review: its counts, its lines, its document, what is ignored, and what is refused."""

from __future__ import annotations

import json
from typing import Any

import pytest
from tests.findings.evaluation_cases import of_matrix

import heldout
from heldout.errors import OptionError
from heldout.findings.review import RULE_CATALOGUE, check_codes, find_rule, review
from heldout.findings.rule import RULES, Fired, NotApplicable, Passed, rule
from heldout.report.review import SHOWN
from heldout.result import ROW_KEYS
from heldout.review import Finding, Review


def finding(code: str, outcome="fired", severity="act") -> Finding:
    return Finding(code, outcome, severity, f"Title of {code}.", {"n": 3}, "Do this.", "Anon (1900)")


MIXED = Review(
    (
        finding("H201", severity="know"),
        finding("H202"),
        finding("H203", "passed"),
        finding("H204", "not applicable"),
        finding("H205"),
    ),
    ("H206",),
)


def test_the_summary_counts_every_outcome():
    assert MIXED.summary() == "2 to act on · 1 to know · 1 passed · 1 not applicable · 1 ignored"
    assert Review((finding("H203", "passed"),)).summary() == "nothing found · 1 passed"
    assert Review(()).summary() == "nothing found"


def test_what_to_act_on_stands_first():
    assert [found.code for found in MIXED.fired] == ["H202", "H205", "H201"]
    lines = str(MIXED).splitlines()
    assert lines[0].startswith("Findings  2 to act on · 1 to know")
    assert lines[1] == "! H202  Title of H202. Do this."
    assert lines[3] == "· H201  Title of H201. Do this."


def test_the_screen_shows_a_few_and_says_how_many_are_left():
    many = Review(tuple(finding(f"H{number}") for number in range(201, 201 + SHOWN + 3)))
    assert str(many).splitlines()[-1] == "· … and 3 more; --full shows them."
    assert str(many).count("Title of") == SHOWN
    from heldout.show.text import render_text

    assert render_text(many.full_blocks()).count("Title of") == SHOWN + 3


def test_the_full_review_shows_every_rule():
    from heldout.show.text import render_text

    text = render_text(MIXED.full_blocks())
    for found in MIXED.findings:
        assert found.code in text
    assert "Anon (1900)" in text
    assert "Ignored: H206." in text


def test_rows_begin_with_the_keys_of_all_rows():
    for row in MIXED.rows():
        assert tuple(row)[: len(ROW_KEYS)] == ROW_KEYS
    assert MIXED.to_frame()["code"].to_list() == ["H201", "H202", "H203", "H204", "H205"]


def test_the_document_holds_what_was_found_and_the_outcome_of_the_others():
    document = MIXED.document()
    assert [set(found) for found in document["findings"]] == [
        {"code", "severity", "title", "facts", "advice", "reference"}
    ] * 3
    assert (document["passed"], document["ignored"]) == (["H203"], ["H206"])
    assert document["not_applicable"] == {"H204": "Title of H204."}


def test_an_evaluation_has_its_review_in_its_document():
    seen = of_matrix([9990, 0], [10, 0])
    document = json.loads(seen.to_json())
    assert "H001" in [found["code"] for found in document["findings"]]
    assert document["not_applicable"]["H010"] == "no costs were given"
    assert not set(document["passed"]) & set(document["not_applicable"])
    assert "H001" in str(seen)


def test_a_finding_is_looked_up_by_its_code():
    assert MIXED["h202"].code == "H202"
    with pytest.raises(OptionError, match="did you mean H20"):
        MIXED["H20"]
    with pytest.raises(OptionError, match="was ignored"):
        MIXED["H206"]


def test_two_reviews_add_up():
    both = MIXED + Review((finding("H207"),), ("H206", "H208"))
    assert (len(both.findings), both.ignored) == (6, ("H206", "H208"))


def test_an_ignored_rule_is_not_asked():
    seen = of_matrix([9990, 0], [10, 0])
    found = review("evaluation", seen, ("H001", "H050"))
    assert "H001" not in [one.code for one in found.findings]
    # Only rules that are about evaluations count as ignored here.
    assert found.ignored == ("H001",)
    assert found.summary().endswith("· 1 ignored")


def test_an_evaluation_is_ignored_by_code_in_any_case():
    seen = of_matrix([9990, 0], [10, 0], ignore=["h001"])
    assert "H001" not in [found.code for found in seen.findings]
    assert seen.review.document()["ignored"] == ["H001"]
    assert "H001" not in str(seen)


def test_codes_that_do_not_exist_are_refused_with_the_nearest():
    assert check_codes(None) == check_codes(()) == ()
    assert check_codes([" h001", "H001"]) == ("H001",)
    with pytest.raises(OptionError, match="did you mean H001"):
        check_codes("H01")
    with pytest.raises(OptionError, match="heldout explain lists"):
        find_rule("accuracy")


def test_codes_are_in_order_and_each_rule_says_what_it_must():
    assert list(RULE_CATALOGUE) == sorted(RULE_CATALOGUE)
    for code, one in RULE_CATALOGUE.items():
        assert code == one.code
        assert one.title
        assert one.summary.endswith(".")
        assert one.advice.endswith(".")
        assert one.reference
        assert one.severity in {"act", "know"}
        for limit in one.limits:
            assert limit.source, "a default is cited, or called a convention"


def test_a_code_is_used_once_and_every_limit_has_a_source():
    declared: dict[str, Any] = {
        "about": "evaluation",
        "title": "T",
        "severity": "know",
        "advice": "A.",
        "reference": "R",
    }
    with pytest.raises(ValueError, match="taken"):
        rule("H001", **declared)(lambda _: NotApplicable("no"))
    with pytest.raises(ValueError, match="sources"):
        rule("H299", **declared)(lambda _, *, least=3: Passed(f"{least}."))
    assert "H299" not in RULES


def test_a_rule_answers_with_its_own_advice_unless_the_answer_has_better():
    declared: dict[str, Any] = {
        "about": "evaluation",
        "title": "T",
        "severity": "know",
        "advice": "General.",
        "reference": "R",
    }
    try:
        made = rule("H298", **declared, limits={"least": "convention"})(
            lambda n, *, least=3: (
                Fired(f"{n} is few.", {"n": n}, "Special." if n < 0 else "") if n < least else Passed("ok.")
            )
        )
        assert made(2).advice == "General."
        assert made(-1).advice == "Special."
        assert made(2, least=2).outcome == "passed"
        assert made.limits[0].default == 3
    finally:
        RULES.pop("H298", None)


def test_an_answer_may_be_less_severe_than_its_rule_and_never_more():
    declared: dict[str, Any] = {"about": "evaluation", "title": "T", "advice": "A.", "reference": "R"}
    try:
        severe = rule("H298", **declared, severity="act")(lambda one: Fired("1.", severity=one))
        assert [severe(one).severity for one in (None, "know", "act")] == ["act", "know", "act"]
        mild = rule("H297", **declared, severity="know")(lambda one: Fired("1.", severity=one))
        with pytest.raises(ValueError, match="may not be more"):
            mild("act")
    finally:
        RULES.pop("H298", None)
        RULES.pop("H297", None)


def test_a_limit_is_changed_shown_and_written_down():
    rows = [90, 10], [8, 12]
    assert of_matrix(*rows).review["H014"].outcome == "fired"
    seen = of_matrix(*rows, limits={"h014": {"width": 0.5}})
    assert seen.review["H014"].outcome == "passed"
    assert json.loads(seen.to_json())["limits"] == {"H014": {"width": 0.5}}
    assert json.loads(of_matrix(*rows).to_json())["limits"] == {}
    assert "Limits changed: H014.width = 0.5 instead of 0.2." in str(seen.review)
    assert "Limits changed" not in str(of_matrix(*rows).review)
    assert (seen.review + MIXED).limits == {"H014": {"width": 0.5}}


@pytest.mark.parametrize(
    ("limits", "said"),
    [
        ({"H14": {"width": 0.5}}, "did you mean H014"),
        ({"H014": {"widht": 0.5}}, "did you mean width"),
        ({"H014": {"width": "wide"}}, "must be a number"),
        ({"H014": {"width": float("nan")}}, "must be a number"),
        ({"H014": 0.5}, "by the code of a rule and by name"),
        ({"H050": {}}, "about a comparison"),
    ],
)
def test_limits_that_do_not_exist_are_refused(limits, said):
    with pytest.raises(OptionError, match=said):
        of_matrix([90, 10], [8, 12], limits=limits)


def test_the_command_line_takes_limits():
    from typer.testing import CliRunner

    from heldout.cli.app import app

    call = ["evaluate", "--matrix", "90 10; 8 12", "--limit", "H014.width=0.5", "--limit", "H006.cases=25"]
    done = CliRunner().invoke(app, call, catch_exceptions=False)
    assert "H006.cases = 25 instead of 10, H014.width = 0.5 instead of 0.2" in " ".join(done.stdout.split())
    with pytest.raises(OptionError, match=r"is not CODE\.NAME=VALUE"):
        CliRunner().invoke(app, [*call[:3], "--limit", "H014=0.5"], catch_exceptions=False)


def test_notes_that_rules_say_better_are_gone():
    seen = heldout.evaluate(["a", "b", "c"] * 4, ["a", "b", "b"] * 4)
    assert "Macro precision runs over 2 of 3 classes" in " ".join(str(seen).split())
    assert "left out" not in str(seen)
