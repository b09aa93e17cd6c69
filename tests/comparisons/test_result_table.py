"""Tables of results are read from anything that holds one, and refused with the names of what is wrong."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa  # type: ignore[import-untyped, unused-ignore]
import pytest

from heldout.comparisons.ranks import read_results
from heldout.errors import ColumnError, HeldoutError, OptionError, ValuesError

VALUES = [[0.9, 0.8], [0.7, 0.6], [0.5, 0.4]]
NAMED: dict[str, Any] = {"data": ["iris", "wine", "glass"], "tree": [0.9, 0.7, 0.5], "bayes": [0.8, 0.6, 0.4]}
LEARNERS = {name: values for name, values in NAMED.items() if name != "data"}


@pytest.mark.parametrize(
    "source",
    [
        pl.DataFrame(NAMED),
        pd.DataFrame(NAMED),
        pd.DataFrame(LEARNERS, index=NAMED["data"]),
        pa.table(NAMED),
        {name: dict(zip(NAMED["data"], values, strict=True)) for name, values in LEARNERS.items()},
    ],
    ids=["polars", "pandas", "pandas index", "pyarrow", "mapping of mappings"],
)
def test_every_form_with_names_gives_the_same(source):
    table = read_results(source)
    assert np.array_equal(table.values, VALUES)
    assert table.data_sets == ("iris", "wine", "glass")
    assert table.learners == ("tree", "bayes")
    assert table.n == 3
    assert table.of("bayes").tolist() == [0.8, 0.6, 0.4]


@pytest.mark.parametrize(
    "source", [VALUES, np.array(VALUES), {"learner 1": [0.9, 0.7, 0.5], "learner 2": [0.8, 0.6, 0.4]}]
)
def test_names_are_made_where_there_are_none(source):
    table = read_results(source)
    assert table.learners == ("learner 1", "learner 2")
    assert table.data_sets == ("data set 1", "data set 2", "data set 3")
    assert np.array_equal(table.values, VALUES)


def test_a_file_is_read(tmp_path):
    file = tmp_path / "results.csv"
    file.write_text('"","C4.5","C4.5+m"\n"adult",0.763,0.768\n"iris",1,1\n', encoding="utf-8")
    table = read_results(file)
    assert table.learners == ("C4.5", "C4.5+m")
    assert table.data_sets == ("adult", "iris")
    assert np.array_equal(table.of("C4.5"), [0.763, 1])
    file.write_text("dataset,a,b\n31,0.5,0.6\n37,0.7,0.8\n", encoding="utf-8")
    assert read_results(str(file)).data_sets == ("31", "37")


def test_a_table_is_a_table():
    table = read_results(VALUES)
    assert read_results(table) is table
    assert table.higher_is_better
    assert not read_results(table, higher_is_better=False).higher_is_better


@pytest.mark.parametrize(
    ("source", "options", "error", "said"),
    [
        ([[0.9, math.nan], [0.7, 0.6]], {}, ValuesError, r"learner 2 on data set 1 \(nan\)"),
        ({"a": {"x": 1.0, "y": math.inf}, "b": {"x": 1, "y": 2}}, {}, ValuesError, r"a on y \(inf\)"),
        ({"a": {"x": 1.0}, "b": {"x": 1, "y": 2}}, {}, ValuesError, "missing: a on y"),
        ({"a": {"x": 1.0}, "b": [1.0]}, {}, ValuesError, "Some learners"),
        ({"a": [1.0, None], "b": [1.0, 2.0]}, {}, ValuesError, r"a on data set 2 \(nan\)"),
        ({"a": [1.0, 2.0], "b": [1.0]}, {}, ValuesError, "a 2, b 1"),
        ({"a": ["x", "y"], "b": [1.0, 2.0]}, {}, ValuesError, "results of a are not a list of numbers"),
        ({}, {}, OptionError, "no results"),
        ([[0.9, 0.8]], {}, OptionError, "at least 2 data sets. Got 1"),
        ([[0.9], [0.8]], {}, OptionError, "at least 2 learners. Got 1"),
        ([0.9, 0.8], {}, ValuesError, "Got list"),
        (np.zeros(3), {}, ValuesError, "1 dimensions"),
        (5, {}, ValuesError, "Got int"),
        (pl.DataFrame({"d": ["x", "y"], "a": ["?", "1"], "b": [1.0, 2.0]}), {}, ColumnError, "text in d, a"),
        (pl.DataFrame({"a": [1.0, None], "b": [1.0, 2.0]}), {}, ValuesError, "a on data set 2"),
    ],
)
def test_what_is_no_table_is_refused(source, options, error, said):
    with pytest.raises(error, match=said) as refused:
        read_results(source, **options)
    assert isinstance(refused.value, HeldoutError)
    assert refused.value.hint


def test_an_unknown_learner_is_refused():
    with pytest.raises(OptionError, match="no learner 'baye'") as refused:
        read_results(LEARNERS).of("baye")
    assert "bayes" in refused.value.hint
