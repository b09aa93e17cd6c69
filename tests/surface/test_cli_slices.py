"""Slices on the command line: named columns, all of them, what cannot be used, and rules that are ignored."""

from __future__ import annotations

import json

import numpy as np
import polars as pl
import pytest
from typer.testing import CliRunner

from heldout.cli.app import app

RNG = np.random.default_rng(2)


@pytest.fixture
def file(tmp_path):
    n = 1500
    sex, age = RNG.choice(["f", "m"], n), RNG.integers(18, 90, n)
    truth = RNG.integers(0, 2, n)
    wrong = RNG.random(n) < np.where((sex == "f") & (age < 40), 0.4, 0.1)
    place = tmp_path / "cases.csv"
    pl.DataFrame({"y_true": truth, "y_pred": np.where(wrong, 1 - truth, truth), "sex": sex, "age": age}).write_csv(
        place
    )
    return str(place)


def run(*arguments):
    return CliRunner().invoke(app, ["evaluate", *arguments])


def test_a_short_table_of_the_worst_slices_is_shown(file):
    result = run(file, "--slice", "sex", "--slice", "age")
    assert result.exit_code == 0
    assert "sex = f and age" in result.output
    assert "clearly worse" in result.output
    assert "H021" in result.output
    assert "worst slices" not in run(file).output


def test_the_measures_asked_for_are_shown_by_slice(file):
    result = run(file, "--slice", "sex", "--measure", "recall", "--measure", "macro f1")
    assert result.exit_code == 0
    assert result.output.count("sex = f") == 2
    many = run(
        file,
        "--slice",
        "sex",
        *(part for name in ("recall", "f1", "kappa", "accuracy") for part in ("--measure", name)),
    )
    assert many.output.count("sex = f") == 3
    assert "1 more" in many.output


def test_all_is_every_column_without_a_role(file):
    found = json.loads(run(file, "--slice", "all", "--json", "-").output)
    assert {row["column"] for row in found["slices"]} == {"sex", "age"}


def test_a_rule_can_be_ignored(file):
    result = run(file, "--slice", "sex", "--ignore", "H021")
    assert result.exit_code == 0
    assert "! H021" not in result.output
    wrong = run(file, "--ignore", "H99999")
    assert wrong.exit_code != 0


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--slice", "sexx"], "no column 'sexx'"),
        (["--slice", "sex", "--slice", "all"], "no column 'all'"),
    ],
)
def test_a_slice_that_is_no_column_is_refused(file, arguments, said):
    result = run(file, *arguments)
    assert result.exit_code != 0
    assert said in str(result.exception) + result.output


def test_a_matrix_has_no_slices():
    result = run("--matrix", "5 1; 2 4", "--slice", "sex")
    assert result.exit_code != 0
    assert "--slice" in str(result.exception) + result.output
