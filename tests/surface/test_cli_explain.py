"""`heldout explain`: the table of rules, and one of them in full."""

from __future__ import annotations

import pytest
import typer
from typer.testing import CliRunner

from heldout.cli.app import explain
from heldout.errors import OptionError
from heldout.findings.review import RULE_CATALOGUE

app = typer.Typer()
app.command()(explain)


def shown(*call: str) -> str:
    done = CliRunner().invoke(app, list(call), catch_exceptions=False)
    assert done.exit_code == 0
    return done.stdout


def test_all_rules_are_listed():
    text = shown()
    for code in RULE_CATALOGUE:
        assert code in text


@pytest.mark.parametrize("code", RULE_CATALOGUE)
def test_one_rule_is_explained(code):
    rule = RULE_CATALOGUE[code]
    text = " ".join(shown(code).split())
    for part in (rule.title, rule.summary, rule.advice, rule.reference, f"--ignore {code}"):
        assert " ".join(part.split()) in text
    for limit in rule.limits:
        assert f"limit {limit.name} {limit.default:g}" in text


def test_a_code_may_be_in_small_letters_and_the_answer_in_markdown():
    assert shown("h001", "--markdown", "-").startswith("#")


def test_a_code_that_does_not_exist_is_refused_with_the_nearest():
    with pytest.raises(OptionError, match="did you mean H012"):
        shown("H0112")


def test_an_ignored_rule_is_silent_on_the_screen_and_named_in_the_document():
    from heldout.cli.app import app as heldout

    call = ["evaluate", "--matrix", "9990 0; 10 0", "--labels", "no,yes"]
    assert "H001" in CliRunner().invoke(heldout, call, catch_exceptions=False).stdout
    done = CliRunner().invoke(heldout, [*call, "--ignore", "H001", "--ignore", "h007"], catch_exceptions=False)
    assert "H001" not in done.stdout
    assert "· 2 ignored" in done.stdout
    with pytest.raises(OptionError, match="There is no rule 'H999'"):
        CliRunner().invoke(heldout, [*call, "--ignore", "H999"], catch_exceptions=False)
