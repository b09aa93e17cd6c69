"""Cochran's Q: R's figures, statsmodels', McNemar's test for two, and nothing to tell apart."""

from __future__ import annotations

import csv
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from statsmodels.stats.contingency_tables import cochrans_q
from tests.oracles.figures import DATA, read_json

from heldout.comparisons.mcnemar import cochran_q, mcnemar_p
from heldout.errors import ValuesError

tables = st.tuples(st.integers(1, 40), st.integers(2, 5)).flatmap(lambda shape: arrays(np.bool_, shape))


def test_agrees_with_r():
    with (DATA / "r" / "cochran_input.csv").open(encoding="utf-8", newline="") as file:
        table = np.array([[int(cell) for cell in row] for row in list(csv.reader(file))[1:]])
    expected = read_json("r/friedman_cochran.json")["cochran"]
    found = cochran_q(table)
    assert found.statistic == pytest.approx(expected["Q"], rel=1e-10)
    assert (found.df, found.n) == (expected["df"], len(table))
    assert found.p == pytest.approx(expected["p"], rel=1e-10)


@given(tables)
def test_agrees_with_statsmodels(table):
    found = cochran_q(table)
    told_apart = (table.any(axis=1) & ~table.all(axis=1)).any()
    if not told_apart:
        assert math.isnan(found.statistic)
        assert (found.p, found.difference) == (1, 0)
        assert "nothing tells" in found.note
        return
    expected = cochrans_q(table.astype(float))
    assert found.statistic == pytest.approx(expected.statistic, rel=1e-9, abs=1e-12)
    assert found.p == pytest.approx(expected.pvalue, rel=1e-9)
    assert 0 <= found.effect <= 1 + 1e-12
    rates = table.mean(axis=0)
    assert found.difference == pytest.approx(rates.max() - rates.min())


@given(arrays(np.bool_, st.tuples(st.integers(1, 60), st.just(2))))
def test_of_two_it_is_mcnemars_test(table):
    only = [int((table[:, i] & ~table[:, 1 - i]).sum()) for i in (0, 1)]
    p, statistic, _ = mcnemar_p(only[0], only[1], "mcnemar-chi-square")
    found = cochran_q(table)
    assert found.p == pytest.approx(p)
    if sum(only):
        assert found.statistic == pytest.approx(statistic)


def test_patterns_with_counts_are_cases():
    patterns, counts = [[1, 1, 0], [1, 0, 0], [0, 1, 1], [1, 1, 1]], [20, 10, 5, 100]
    whole = np.repeat(patterns, counts, axis=0)
    assert cochran_q(patterns, counts) == cochran_q(whole)
    many = cochran_q(patterns, [count * 10**7 for count in counts])
    assert many.statistic == pytest.approx(cochran_q(whole).statistic * 10**7)


def test_few_cases_are_said():
    assert "few" in cochran_q([[1, 0, 0], [0, 1, 1]]).note
    assert cochran_q([[1, 0, 0], [0, 1, 1]] * 10).note == ""


@pytest.mark.parametrize(
    ("table", "counts"),
    [([1, 0, 1], None), ([[1], [0]], None), ([[1, 2], [0, 1]], None), ([[1, 0]], [1.5]), ([[1, 0]], [1, 2])],
)
def test_what_is_no_table_of_right_and_wrong_is_refused(table, counts):
    with pytest.raises(ValuesError):
        cochran_q(table, counts)


def test_no_cases_is_undefined():
    found = cochran_q(np.zeros((0, 3)))
    assert math.isnan(found.p)
    assert found.undefined
