"""Extras: what needs one says which, before anything is computed, and the packages are those that pip installs."""

from __future__ import annotations

import re
import sys
import tomllib
from pathlib import Path

import pytest

import heldout
from heldout.cli.app import main
from heldout.extras import EXTRAS, missing_extra

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
DIABETES = str(ROOT / "examples" / "diabetes.csv")


def name_package(requirement: str) -> str:
    return re.split(r"[^\w.-]", requirement)[0]


def test_the_table_is_what_the_project_declares():
    declared = {
        name: {name_package(one) for one in wanted} for name, wanted in PROJECT["optional-dependencies"].items()
    }
    assert declared.pop("all") == {"heldout"}
    assert declared == {name: set(extra.packages) for name, extra in EXTRAS.items()}
    (everything,) = PROJECT["optional-dependencies"]["all"]
    assert set(re.findall(r"\w+", everything)) == {"heldout", *EXTRAS}


def test_no_extra_is_needed_by_all():
    always = {name_package(one) for one in PROJECT["dependencies"]}
    assert always.isdisjoint({package for extra in EXTRAS.values() for package in extra.packages})


@pytest.mark.parametrize("extra", EXTRAS.values(), ids=lambda extra: extra.name)
def test_everything_is_here_where_it_is_developed(extra):
    assert extra.list_missing() == []


DOORS = {
    "png": (["evaluate", DIABETES, "--chart", "roc=roc.png"], "A PNG picture needs vl-convert-python"),
    "charts": (["evaluate", DIABETES, "--chart", "roc=roc.json"], "A Vega-Lite document needs altair"),
    "serve": (["serve", "--no-open"], "The local page needs starlette and uvicorn"),
}


@pytest.mark.parametrize("name", DOORS)
def test_a_command_names_the_extra_that_it_lacks(name, monkeypatch, capsys, tmp_path):
    monkeypatch.chdir(tmp_path)
    call, words = DOORS[name]
    for module in EXTRAS[name].packages.values():
        monkeypatch.setitem(sys.modules, module, None)
    monkeypatch.setattr(sys, "argv", ["heldout", *call])
    with pytest.raises(SystemExit) as ended:
        main()
    what, hint = capsys.readouterr().err.splitlines()
    assert ended.value.code == 2
    assert what.startswith(words)
    assert hint.startswith(f'Hint: pip install "heldout[{name}]", or ')
    assert list(tmp_path.iterdir()) == []


def test_a_chart_for_a_notebook_names_the_extra_that_it_lacks(monkeypatch):
    monkeypatch.setitem(sys.modules, "altair", None)
    with pytest.raises(heldout.HeldoutError, match="An Altair chart needs altair") as caught:
        heldout.evaluate([1, 0, 1, 0], score=[0.9, 0.2, 0.6, 0.4]).curve("roc").chart()
    assert caught.value.hint.startswith('pip install "heldout[charts]"')


def test_a_package_that_is_there_but_cannot_be_imported_is_named_too():
    assert missing_extra("dask", "This").what == "This needs dask and distributed, which are not installed."
