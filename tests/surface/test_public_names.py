"""The public surface: few names, sorted, each documented, and none that costs anything before it is used."""

from __future__ import annotations

import inspect
import subprocess
import sys
import typing

import pytest

import heldout

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


@pytest.mark.parametrize("name", [name for name in heldout.__all__ if inspect.isfunction(getattr(heldout, name))])
def test_every_argument_of_a_front_door_has_a_type(name):
    door = getattr(heldout, name)
    hints = typing.get_type_hints(door)
    assert set(inspect.signature(door).parameters) | {"return"} == set(hints)


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
