"""`--ignore CODE` of the commands that fit and compare: such a rule is neither put nor shown, and a slip is refused."""

from __future__ import annotations

import json

import pytest
from tests.surface.learning_files import OK, table

CALLS = {
    "validate": (["validate", "ok.csv", "--learner", "knn:1", "--plan", "resubstitution"], "H030"),
    "learning-curve": (["learning-curve", "ok.csv", "--learner", "knn:1", "--points", "3", "--draws", "2"], "H047"),
    "compare": (["compare", "a.csv", "b.csv"], "H055"),
    "compare learners": (["compare", "ok.csv", "--learner", "knn:1", "--learner", "tree", "--plan", "4-fold"], "H060"),
    "compare in a table": (["compare", "results.csv"], "H059"),
}


@pytest.fixture
def run(run, monkeypatch, tmp_path):
    (tmp_path / "ok.csv").write_text(OK, encoding="utf-8")
    (tmp_path / "a.csv").write_text(table("truth,predicted", "ababab", "ababab"), encoding="utf-8")
    (tmp_path / "b.csv").write_text(table("truth,predicted", "ababab", "ababaa"), encoding="utf-8")
    results = table("data set,tree,knn", "wxyz", [0.7, 0.8, 0.6, 0.9], [0.8, 0.9, 0.7, 0.8])
    (tmp_path / "results.csv").write_text(results, encoding="utf-8")
    monkeypatch.chdir(tmp_path)

    return run


@pytest.mark.parametrize("name", CALLS)
def test_a_rule_can_be_ignored(run, name):
    words, code = CALLS[name]
    status, out, _ = run(*words)
    assert (status, code in out) == (0, True)
    status, out, _ = run(*words, "--ignore", code.lower(), "--ignore", "H033")
    assert (status, code in out) == (0, False)
    _, out, _ = run(*words, "--ignore", code, "--json", "-")
    document = json.loads(out)
    assert (document["validations"][0] if name == "validate" else document)["ignored"] == [code]


@pytest.mark.parametrize("name", CALLS)
def test_a_slip_in_a_code_is_refused(run, name):
    words, _ = CALLS[name]
    status, out, err = run(*words, "--ignore", "H03o")
    assert (status, out) == (2, "")
    assert "There is no rule 'H03o'." in err
    assert "Hint: did you mean H0" in err
