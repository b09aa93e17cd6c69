"""An option is declared once: functions show it by name, and the flags of commands are arguments of functions."""

from __future__ import annotations

import inspect
from typing import Any

import pytest

import heldout
from heldout.api import options
from heldout.cli import check, compare, count, evaluate, learners, plan, scores
from heldout.cli.flags import OPTIONS

GROUPS = [kind for name, kind in vars(options).items() if name.endswith("Arguments")]
# Flags that are about where a result goes, or that a command reads for itself.
OUTPUT = {
    "json", "html", "markdown", "latex", "full", "format", "chart", "junit", "github", "predictions", "output",
    "metrics",
}  # fmt: skip
OWN = {
    "learner", "grid", "requirements", "files", "data", "same", "different_cases", "no_splits", "equivalence",
    "questions", "feature", "plan", "memory_limit", "maximize",
}  # fmt: skip
COMMANDS: dict[Any, Any] = {
    evaluate.evaluate: heldout.evaluate,
    check.check: heldout.check,
    count.count: heldout.count,
    count.merge: heldout.evaluate,
    compare.compare: heldout.compare,
    scores.thresholds: heldout.choose_threshold,
    learners.validate: heldout.validate,
    learners.learning_curve: heldout.learning_curve,
    learners.bias_variance: heldout.bias_variance,
    learners.card: heldout.card,
    plan.plan: heldout.plan_study,
}


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command.__name__)
def test_a_flag_is_an_argument_of_the_function(command):
    known = inspect.signature(COMMANDS[command]).parameters
    named = {option.flag: name for name, option in OPTIONS.items() if option.flag}
    # What learners are compared by is an argument of validate.
    # Matrices are arguments of evaluate, whose results are compared.
    elsewhere = {"target", "drop", "jobs", "matrix", "rows"} if command is compare.compare else set()
    flags = inspect.signature(command).parameters.keys() - OUTPUT - OWN - elsewhere
    assert flags
    assert not [flag for flag in flags if flag not in known and named.get(flag) not in known]


@pytest.mark.parametrize("group", GROUPS, ids=lambda group: group.__name__)
def test_every_option_is_explained_once(group):
    declared = options.options_of(group)
    assert declared
    for name, option in declared.items():
        assert option.help.endswith("."), name
        assert option.metavar, name
        assert OPTIONS[name] == option


@pytest.mark.parametrize("function", [heldout.evaluate, heldout.check, heldout.count, heldout.choose_threshold])
def test_a_signature_shows_every_option_with_its_usual_value(function):
    shown = inspect.signature(function).parameters
    for name, value in options.defaults_of(options.EngineArguments).items():
        assert shown[name].default == value
        assert shown[name].kind is inspect.Parameter.KEYWORD_ONLY
    assert not any(one.kind is inspect.Parameter.VAR_KEYWORD for one in shown.values())


def test_an_unknown_option_is_refused_with_the_one_that_was_meant():
    with pytest.raises(TypeError, match=r"^evaluate\(\) has no argument 'tresh'\.\nHint: did you mean 'threshold'\?$"):
        heldout.evaluate([0, 1], [0, 1], tresh=0.5)  # type: ignore[call-arg]
    with pytest.raises(heldout.HeldoutError, match=r"^evaluate\(\) takes data, predicted, y by their place, and 4 "):
        heldout.evaluate([0, 1], [0, 1], [0, 1], [0, 1])  # type: ignore[arg-type, call-arg]


heldout.lab.find_experiments()  # in their own order, which is that of their modules
DOORS = [
    getattr(home, name)
    for home in (heldout, heldout.plans, heldout.lab)
    for name in home.__all__
    if inspect.isfunction(getattr(home, name)) and name != "from_estimator"  # which hands its options to evaluate
]


@pytest.mark.parametrize("door", DOORS, ids=lambda door: f"{door.__module__}.{door.__name__}")
def test_every_door_answers_an_unknown_word_in_two_sentences(door):
    needed = [one for one in inspect.signature(door).parameters.values() if one.default is inspect.Parameter.empty]
    places = [None for one in needed if one.kind is inspect.Parameter.POSITIONAL_OR_KEYWORD]
    with pytest.raises(heldout.HeldoutError, match=r"has no argument 'nonsense_word'\.\nHint: "):
        door(*places, nonsense_word=1)


def test_words_of_others_at_the_small_doors():
    assert repr(heldout.scorer("f1", pos_label=1)) == "heldout.scorer('f1', positive=1)"  # type: ignore[call-arg]
    assert heldout.plans.kfold(5, random_state=3) == heldout.plans.kfold(5, seed=3)  # type: ignore[call-arg]
    with pytest.raises(heldout.HeldoutError, match=r"no argument 'average'\.\nHint: name the average with the measure"):
        heldout.scorer("f1", average="macro")  # type: ignore[call-arg]
    estimate = heldout.evaluate([0, 1] * 50, [0, 1] * 50)["accuracy"]
    with pytest.raises(heldout.HeldoutError, match=r"no argument 'level'\.\nHint: .* evaluate\(…, level=0\.9\)"):
        heldout.assert_at_least(estimate, 0.5, level=0.9)  # type: ignore[call-arg]
    with pytest.raises(heldout.HeldoutError, match=r"validate\(\) has no argument 'sample_weight'\.\nHint: every case"):
        heldout.validate("knn", [[1], [2]], [0, 1], sample_weight=[1, 1])  # type: ignore[call-arg]


def test_types_of_options_are_those_of_the_declaration():
    shown = inspect.signature(heldout.evaluate).parameters
    assert shown["threshold"].annotation == "float | None"
    assert shown["labels"].annotation == "Sequence[Label] | None"
