"""The public surface: few names, sorted, each documented, and none that costs anything before it is used."""

from __future__ import annotations

import difflib
import inspect
import itertools
import re
import subprocess
import sys
import typing
from typing import Any

import pytest

import heldout
from heldout.cli.flags import OPTIONS

IMPORT = "import sys, heldout; heldout.__version__; dir(heldout); print(*sys.modules)"


def test_names_are_few_and_sorted():
    assert list(heldout.__all__) == sorted(heldout.__all__)
    assert len(set(heldout.__all__)) == len(heldout.__all__) <= 48


def test_the_list_is_what_there_is():
    assert dir(heldout) == sorted([*heldout.__all__, "__version__"])
    assert sorted([*heldout._HOMES, *heldout._PACKAGES]) == list(heldout.__all__)
    # Nothing else is public by accident; submodules are reached by their own names.
    others = {
        name
        for name, value in vars(heldout).items()
        if not name.startswith("_") and not inspect.ismodule(value) and name not in heldout.__all__
    }
    assert others <= {"Any", "TYPE_CHECKING", "annotations", "import_module"}


@pytest.mark.parametrize("name", heldout.__all__)
def test_every_name_says_what_it_is(name):
    thing = getattr(heldout, name)
    assert thing is getattr(heldout, name)
    documented = inspect.getdoc(thing)
    assert documented
    assert documented.splitlines()[0].endswith(".")
    if inspect.ismodule(thing):
        assert thing.__name__ == f"heldout.{name}"
        return
    assert thing.__module__.startswith("heldout.")
    assert thing.__name__ == name


@pytest.mark.parametrize("name", heldout._PACKAGES)
def test_a_package_of_names_lists_and_explains_them(name):
    package = getattr(heldout, name)
    assert list(package.__all__) == sorted(package.__all__)
    for inside in package.__all__:
        assert inspect.getdoc(getattr(package, inside)), f"{name}.{inside}"


@pytest.mark.parametrize("block", ["", "sys.modules['torch'] = None; "])
def test_training_loops_are_found_without_an_import_of_their_own(block):
    code = f"import sys; {block}import heldout; print(hasattr(heldout, 'torch'))"
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert done.stdout.strip() == ("False" if block else "True")
    assert "torch" not in heldout.__all__


@pytest.mark.parametrize("name", [name for name in heldout.__all__ if inspect.isfunction(getattr(heldout, name))])
def test_every_argument_of_a_front_door_has_a_type(name):
    door = getattr(heldout, name)
    hints = typing.get_type_hints(door)
    assert set(inspect.signature(door).parameters) | {"return"} == set(hints)


PACKAGES = [getattr(heldout, name) for name in heldout._PACKAGES]
DOORS = {
    **{name: getattr(heldout, name) for name in heldout.__all__},
    **{f"{package.__name__}.{name}": getattr(package, name) for package in PACKAGES for name in package.__all__},
}
# Besides functions, what people make themselves; results are made for them.
DESCRIBED: dict[str, Any] = {name: door for name, door in DOORS.items() if inspect.isfunction(door)}
DESCRIBED |= {"Evidence": heldout.Evidence, "Evidence.update": heldout.Evidence.update, "Report": heldout.Report}


# Texts that are more alike than this say the same; "the least" and "the most that the value may be" do not.
ALIKE = 0.93
# What means something else there: probabilities alone, the cases of a study that is planned, what is compared and by
# which tests, folds that stand in the place of a plan, a scorer of one measure, counts of no model, and what a training
# loop knows.
OTHERWISE = {
    "recalibrate": {"score"},
    "plan_study": {"prevalence"},
    "compare": {"fold", "id", "margin", "measures", "method", "predicted", "replicates", "score", "truth"},
    "choose_threshold": {"require", "score"},
    "validate": {"fold", "method"},
    "card": {"fold", "measure"},
    "scorer": {"costs", "measure", "threshold"},
    "compute_metrics": {"labels", "measures", "positive"},
    "count": {"predicted"},
    "Evidence": {"labels", "missing", "positive", "threshold"},
}


def described(documentation: str) -> list[str]:
    """The names under "Parameters" of a docstring in numpydoc's form, each with a type and a description."""
    section = documentation.partition("Parameters\n----------\n")[2].partition("\n\n")[0]
    return re.findall(r"^\*{0,2}(\w+) : \S.*(?:\n    \S.*)+[.…]$", section, re.MULTILINE)


def describe(door: Any) -> dict[str, str]:
    """What is said of each parameter, without line breaks."""
    section = (inspect.getdoc(door) or "").partition("Parameters\n----------\n")[2].partition("\n\n")[0]
    found = re.findall(r"^\*{0,2}(\w+) : \S.*((?:\n    \S.*)+)$", section, re.MULTILINE)
    return {name: " ".join(text.split()) for name, text in found}


def list_shared(door: Any) -> set[str]:
    """The options that a function takes as a group that is declared for several, and not by itself."""
    own = inspect.signature(inspect.unwrap(door, stop=lambda each: not hasattr(each, "__wrapped__"))).parameters
    has_group = any(one.kind is inspect.Parameter.VAR_KEYWORD for one in own.values())
    return set(inspect.signature(door).parameters) - set(own) if has_group else set()


def test_the_same_parameter_says_the_same_everywhere():
    # Docstrings stay static, since editors read them without running anything; so they are held together here.
    groups: dict[str, dict[str, list[str]]] = {}
    parts: dict[str, set[str]] = {}
    for name, door in DESCRIBED.items():
        shared = list_shared(door)
        for parameter, text in describe(door).items():
            option = parameter in shared or (name in heldout.__all__ and parameter in OPTIONS)
            if option and parameter not in OTHERWISE.get(name, set()):
                groups.setdefault(parameter, {}).setdefault(text, []).append(name)
            parts.setdefault(parameter, set()).update(re.split(r"[.;] ", text.rstrip(".")))
    assert len(groups) > 20
    assert {parameter: ways for parameter, ways in groups.items() if len(ways) > 1} == {}
    # Each exception is one still: by itself it would be a second text.
    texts = {(name, parameter): text for name in OTHERWISE for parameter, text in describe(DESCRIBED[name]).items()}
    alike = [
        (name, parameter)
        for name, own in OTHERWISE.items()
        for parameter in own
        if texts[name, parameter] in groups.get(parameter, {})
    ]
    assert alike == []
    # What differs in a word or two was meant to be the same.
    drifted = [
        (parameter, one, other)
        for parameter, said in parts.items()
        for one, other in itertools.combinations(sorted(said), 2)
        if difflib.SequenceMatcher(None, one, other).ratio() > ALIKE
    ]
    assert drifted == []


@pytest.mark.parametrize("name", DESCRIBED)
def test_every_parameter_of_a_front_door_is_described(name):
    door = DESCRIBED[name]
    taken = [one for one in inspect.signature(door).parameters if one != "self"]
    assert described(inspect.getdoc(door) or "") == taken


def test_a_parameter_without_a_description_is_noticed():
    head = "What it does.\n\nParameters\n----------\n"
    assert described(f"{head}n : int\n    The number.\nseed : int\n    Where it\n    begins.\n\nReturns") == [
        "n",
        "seed",
    ]
    assert described(f"{head}n : int\nseed : int\n    Where it begins.\n") == ["seed"]


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="module 'heldout' has no attribute 'evalute'"):
        heldout.evalute  # noqa: B018


def test_star_import_gives_exactly_the_names():
    names: dict[str, object] = {}
    exec("from heldout import *", names)
    assert set(names) - {"__builtins__"} == set(heldout.__all__)


def test_importing_costs_nothing():
    done = subprocess.run([sys.executable, "-c", IMPORT], capture_output=True, text=True, check=True)
    loaded = {module.partition(".")[0] for module in done.stdout.split()}
    assert "heldout" in loaded
    heavy = {
        "altair",
        "joblib",
        "narwhals",
        "numpy",
        "pandas",
        "polars",
        "pyarrow",
        "rich",
        "scipy",
        "sklearn",
        "typer",
    }
    assert loaded & heavy == set()
