"""`heldout plan` as a person meets it: what it prints and writes, and what it refuses."""

from __future__ import annotations

import json
from typing import Any

import pytest

import heldout
from heldout.errors import OptionError

plan: Any = heldout.plan_study

# Words of the command, arguments of the function, and what the answer counts.
ASKED: dict[str, tuple[str, dict[str, Any]]] = {
    "width": ("accuracy --value 0.9 --width 0.05", {"value": 0.9, "width": 0.05}),
    "assurance": (
        "recall --value 0.8 --prevalence 0.1 --width 0.1 --assurance 0.9",
        {"value": 0.8, "prevalence": 0.1, "width": 0.1, "assurance": 0.9},
    ),
    "difference": (
        "accuracy --value 0.9 --against 0.86 --discordance 0.1 --power 0.9",
        {"value": 0.9, "against": 0.86, "discordance": 0.1, "power": 0.9},
    ),
    "two test sets": (
        "accuracy --value 0.9 --margin 0.1 --equivalence --different-cases",
        {"value": 0.9, "margin": 0.1, "margin_kind": "equivalence", "paired": False},
    ),
    "groups": (
        "auc --value 0.8 --prevalence 0.3 --width 0.1 --group-size 5 --icc 0.1 --group-variation 0.5",
        {"value": 0.8, "prevalence": 0.3, "width": 0.1, "group_size": 5, "icc": 0.1, "group_variation": 0.5},
    ),
    "pilot": ("accuracy --pilot 45/50 --width 0.08", {"pilot": (45, 50), "width": 0.08}),
    "cases": (
        "calibration_slope --prevalence 0.2 --auc 0.8 --n 500 --level 0.9",
        {"prevalence": 0.2, "auc": 0.8, "n": 500, "level": 0.9},
    ),
}


@pytest.mark.parametrize("name", ASKED)
def test_the_command_answers_as_the_function_does(name, run):
    words, arguments = ASKED[name]
    expected = plan(words.split()[0], **arguments)
    status, out, err = run("plan", *words.split())
    assert (status, err) == (0, "")
    assert " ".join(out.split()) == " ".join(str(expected).split())
    assert f"{expected.n:,} cases" in out


def test_a_requirement_in_place_of_the_measure(run, tmp_path):
    files = {form: str(tmp_path / f"plan.{form}") for form in ("json", "html", "markdown", "latex")}
    flags = [word for form, path in files.items() for word in (f"--{form}", path)]
    status, out, _ = run("plan", "recall >= 0.8", "--value", "0.87", "--prevalence", "0.1", *flags)
    assert status == 0
    document = json.loads((tmp_path / "plan.json").read_text())
    assert document["schema"] == "heldout/study-plan@1"
    row = document["estimates"][0]
    assert row["reached"] >= row["target"] == 0.8
    assert row["positives"] == round(0.1 * document["n"])
    assert {point["n"] for point in document["curve"]} >= {document["n"]}
    for form in ("html", "markdown", "latex"):
        assert f"{document['n']:,}" in (tmp_path / f"plan.{form}").read_text()
    assert "Power over the number of cases" in (tmp_path / "plan.html").read_text()
    assert f"{document['n']:,} cases" in out


def test_more_cases_come_to_more():
    for arguments in ({"width": 0.1}, {"against": 0.8, "discordance": 0.2}):
        reached = [value for _, value in plan("accuracy", value=0.9, **arguments).curve]
        assert reached == sorted(reached, reverse="width" in arguments)


def test_given_cases_are_judged():
    few, many = (plan("accuracy", value=0.9, width=0.05, n=n).sentence for n in (100, 1000))
    assert "100 cases are not enough" in few
    assert "1,000 cases are enough" in many


# What is refused, with a word of the error and of the hint.
WRONG: dict[str, tuple[str | list[str], str, str]] = {
    "a percentage": ("accuracy --value 90 --width 0.05", "Got 90", "0.9"),
    "a value of 1": ("accuracy --value 1 --width 0.05", "between 0 and 1", ""),
    "no value": ("accuracy --width 0.05", "value that is expected is not given", "--value"),
    "a width of 1": ("accuracy --value 0.9 --width 1", "width must lie between 0 and 1", "0.05"),
    "a width of 0": ("accuracy --value 0.9 --width 0", "width must lie between 0 and 1", "0.05"),
    "no question": ("accuracy --value 0.9", "not said", "width="),
    "two questions": ("accuracy --value 0.9 --width 0.1 --against 0.8", "more than one", "one at a time"),
    "no prevalence": ("recall --value 0.9 --width 0.1", "The prevalence is not given", "--prevalence"),
    "no recall": ("precision --value 0.9 --width 0.1 --prevalence 0.2", "The recall is not given", "--recall"),
    "cells that cannot be": (
        "precision --value 0.1 --width 0.1 --prevalence 0.5 --recall 0.9",
        "do not go with",
        "no table of counts",
    ),
    "no discordance": ("accuracy --value 0.9 --against 0.8", "disagree is not given", "between 0.1 and 0.3"),
    "too little discordance": (
        "accuracy --value 0.9 --against 0.8 --discordance 0.05",
        "cannot differ in 0.05",
        "between 0.1 and 0.3",
    ),
    "discordance alone": ("accuracy --value 0.9 --width 0.1 --discordance 0.1", "two classifiers", "--against"),
    "no difference": ("accuracy --value 0.9 --against 0.9 --discordance 0.1", "no number of cases", "margin="),
    "a margin of 0": ("accuracy --value 0.9 --margin 0 --discordance 0.1", "margin must be a positive", "0.02"),
    "beyond the margin": (
        "accuracy --value 0.8 --against 0.9 --margin 0.05 --discordance 0.2",
        "not within the margin",
        "larger margin",
    ),
    "no margin": ("accuracy --value 0.9 --against 0.8 --equivalence", "no margin", "--margin"),
    "a truth that misses": (["recall >= 0.9", "--value", "0.85", "--prevalence", "0.2"], "does not meet", "beyond"),
    "a power below the level": ("accuracy --value 0.9 --against 0.8 --power 0.04", "false alarms", "0.8"),
    "a power of 80": ("accuracy --value 0.9 --against 0.8 --power 80", "power must lie", "0.8"),
    "a measure without a plan": ("kappa --value 0.5 --width 0.1", "no plan for kappa", ""),
    "a measure of no name": ("acuracy --value 0.5 --width 0.1", "acuracy", "accuracy"),
    "half of groups": ("accuracy --value 0.9 --width 0.1 --group-size 5", "icc is not given", "--icc"),
    "an icc of 2": ("accuracy --value 0.9 --width 0.1 --group-size 5 --icc 2", "from 0 to 1", "0.1"),
    "a group of none": ("accuracy --value 0.9 --width 0.1 --group-size 0.5 --icc 0.1", "at least one case", "5"),
    "a pilot of words": ("accuracy --pilot many --width 0.1", "Got 'many'", "45/50"),
    "a pilot of too many hits": ("accuracy --value 0.9 --pilot 60/50 --width 0.1", "no 60 hits of 50", "45/50"),
    "a pilot of a loss": (
        "brier --prevalence 0.2 --auc 0.8 --pilot 4/50 --width 0.1",
        "no plan for brier from a pilot",
        "leave out",
    ),
    "assurance of power alone": (
        ["recall >= 0.8", "--value", "0.9", "--prevalence", "0.2", "--assurance", "0.9"],
        "Without a pilot",
        "--pilot",
    ),
    "an area of chance": ("brier --prevalence 0.2 --auc 0.5 --width 0.1", "between 0.5 and 1", "0.75"),
    "a value that follows": ("brier --value 0.1 --prevalence 0.2 --auc 0.8 --width 0.1", "follows from", "leave out"),
    "paired precision": (
        "precision --value 0.9 --against 0.8 --recall 0.8 --prevalence 0.3 --correlation 0.5",
        "do not call the same cases",
        "--different-cases",
    ),
    "too much": ("accuracy --value 0.9 --width 0.000001", "No number of cases", "ask for less"),
    "one case": ("accuracy --value 0.9 --n 1", "n must be", ""),
    "a baseline": (["accuracy >= baseline", "--value", "0.9"], "baseline", "--against"),
}


@pytest.mark.parametrize("name", WRONG)
def test_nonsense_is_refused_in_two_sentences(name, run):
    words, what, hint = WRONG[name]
    status, out, err = run("plan", *(words.split() if isinstance(words, str) else words))
    assert (status, out) == (2, "")
    assert what in err.partition("Hint: ")[0]
    assert hint in err.partition("Hint: ")[2]
    assert err.count("\n") == 2


def test_what_only_the_function_can_get_wrong():
    with pytest.raises(OptionError, match="A margin is judged for"):
        plan("accuracy", value=0.9, margin=0.1, margin_kind="sameness", paired=False)
    with pytest.raises(TypeError, match="did you mean 'value'"):
        plan("accuracy", valeu=0.9)


def test_the_help_has_examples(run):
    status, out, _ = run("plan", "--help")
    assert status == 0
    assert "heldout plan accuracy --value 0.9 --width 0.05" in out


def test_a_measure_may_have_parameters(run):
    more = ["--value", "0.8", "--prevalence", "0.2", "--recall", "0.8", "--width", "0.1"]
    status, found, _ = run("plan", "f_score(beta=1)", *more)
    assert status == 0
    assert "734 cases (147 positives)" in found
    status, found, _ = run("plan", "f_score(beta=2)", *more)
    assert status == 0
    assert "916 cases (183 positives)" in found
    status, found, said = run("plan", "mcc", *more)
    assert (status, found) == (2, "")
    assert said.startswith("There is no plan for matthews. There are plans for accuracy, ")
    status, found, _ = run("plan", "f_score(beta=1) >= 0.7", *more[:-2])
    assert status == 0
