"""Ranks over data sets agree with R on Demšar's example, with SciPy and with scikit-posthocs."""

from __future__ import annotations

import csv
import itertools
import json
import math
from pathlib import Path

import numpy as np
import pytest
import scikit_posthocs
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from heldout.comparisons.ranks import (
    dunn_difference,
    friedman,
    iman_davenport,
    nemenyi_difference,
    nemenyi_p,
    normal_p,
    rank_table,
    rank_z,
    read_results,
    tied_ranks,
    wins_and_ties,
)

R = Path(__file__).parents[1] / "oracles" / "data" / "r"
FIGURES = json.loads((R / "friedman_cochran.json").read_text(encoding="utf-8"))
DEMSAR = FIGURES["demsar"]
TABLE = read_results(R / "demsar_table6_auc.csv")
RANKS = rank_table(TABLE)
GRIDS = st.tuples(st.integers(2, 12), st.integers(2, 6), st.integers(0, 10_000))


def random_ranks(shape, *, ties=False):
    n, k, seed = shape
    rng = np.random.default_rng(seed)
    values = rng.integers(0, 4, (n, k)) if ties else rng.normal(size=(n, k))
    return np.asarray(stats.rankdata(values, axis=1)), values


def test_average_ranks_are_demsars():
    assert dict(zip(TABLE.learners, RANKS.mean(axis=0), strict=True)) == pytest.approx(DEMSAR["avg_ranks"])


def test_lower_may_be_better():
    turned = read_results(-TABLE.values, higher_is_better=False)
    assert rank_table(turned).tolist() == RANKS.tolist()


def test_friedman_is_demsars_and_rs():
    plain, corrected = friedman(RANKS, ties=False), friedman(RANKS)
    assert plain.statistic == pytest.approx(DEMSAR["chi2_friedman_no_tie_correction"], rel=1e-10)
    assert plain.statistic == pytest.approx(9.279, abs=5e-4)
    assert corrected.statistic == pytest.approx(DEMSAR["chi2_R_tie_corrected"], rel=1e-10)
    assert corrected.p == pytest.approx(DEMSAR["p_R"], rel=1e-10)
    assert (corrected.df, corrected.n) == ((3,), 14)


def test_friedman_of_a_table_with_many_ties_is_rs():
    with (R / "friedman_ties_input.csv").open(encoding="utf-8") as file:
        values = [[float(cell) for cell in row] for row in list(csv.reader(file))[1:]]
    found = friedman(rank_table(read_results(values)))
    assert found.statistic == pytest.approx(FIGURES["friedman_ties"]["chi2"], rel=1e-10)
    assert found.p == pytest.approx(FIGURES["friedman_ties"]["p"], rel=1e-10)


def test_iman_and_davenport_is_demsars():
    found = iman_davenport(RANKS)
    assert found.statistic == pytest.approx(DEMSAR["FF_iman_davenport"], rel=1e-10)
    assert found.p == pytest.approx(DEMSAR["p_FF"], rel=1e-10)
    assert found.df == (3, 39)


@given(GRIDS, st.booleans())
def test_friedman_is_scipys(shape, ties):
    ranks, values = random_ranks((max(shape[0], 3), max(shape[1], 3), shape[2]), ties=ties)
    found = friedman(ranks)
    if "equal on every data set" in found.note:
        assert (values == values[:, :1]).all()
        return
    theirs = stats.friedmanchisquare(*values.T)
    assert found.statistic == pytest.approx(theirs.statistic, abs=1e-9)
    assert found.p == pytest.approx(theirs.pvalue, abs=1e-9)


def test_equal_learners_and_equal_orders():
    same = np.full((5, 3), 2.0)
    assert (friedman(same).p, friedman(same, ties=False).p, iman_davenport(same).p) == (1, 1, 1)
    agreed = np.tile([1.0, 2.0, 3.0], (4, 1))
    found = iman_davenport(agreed)
    assert found.statistic == math.inf
    # Three further data sets repeat the order of the first: one chance in 3! each.
    assert found.p == pytest.approx(6.0**-3)
    assert "exact" in found.note


@pytest.mark.parametrize("row", FIGURES["nemenyi_q"], ids=lambda row: f"k={row['k']}")
def test_critical_values_are_rs(row):
    k = row["k"]
    error = math.sqrt(k * (k + 1) / (6 * 20))
    assert nemenyi_difference(20, k, 0.95) == pytest.approx(row["q05"] * error, rel=1e-7)
    assert nemenyi_difference(20, k, 0.9) == pytest.approx(row["q10"] * error, rel=1e-7)
    assert dunn_difference(20, k, 0.95) == pytest.approx(row["bd05"] * error, rel=1e-9)
    assert dunn_difference(20, k, 0.9) == pytest.approx(row["bd10"] * error, rel=1e-9)


def test_critical_differences_are_demsars():
    assert nemenyi_difference(14, 4) == pytest.approx(DEMSAR["CD_nemenyi_05"], rel=1e-7)
    assert nemenyi_difference(14, 4, 0.9) == pytest.approx(DEMSAR["CD_nemenyi_10"], rel=1e-7)
    assert dunn_difference(14, 4) == pytest.approx(DEMSAR["CD_bonferroni_dunn_05"], rel=1e-9)


def test_pairs_are_rs():
    z = rank_z(RANKS)
    for name, expected in DEMSAR["z_vs_C45"].items():
        at = TABLE.place(name)
        assert z[0, at] == pytest.approx(expected, rel=1e-10)
        assert normal_p(z[0, at]) == pytest.approx(DEMSAR["p_vs_C45"][name], rel=1e-10)
    assert nemenyi_p(z, 4) == pytest.approx(np.array(DEMSAR["p_nemenyi"]), abs=1e-8)


def test_nemenyi_is_that_of_scikit_posthocs():
    _, values = random_ranks((9, 5, 3), ties=True)
    theirs = scikit_posthocs.posthoc_nemenyi_friedman(values.astype(float)).to_numpy()
    ranks = np.asarray(stats.rankdata(values, axis=1))
    assert nemenyi_p(rank_z(ranks), 5) == pytest.approx(theirs, abs=1e-8)


@given(st.lists(st.integers(-9, 9).map(lambda whole: whole / 8), min_size=1, max_size=20))
def test_ranks_are_scipys(values):
    assert tied_ranks(values).tolist() == stats.rankdata(values).tolist()


def test_what_differs_by_rounding_is_a_tie():
    assert tied_ranks([0.1 * 3, 0.3, 0.2]).tolist() == [2.5, 2.5, 1]
    assert tied_ranks([1e-20, 2e-20, 1.0]).tolist() == [1, 2, 3], "small values are no rounding of a large one"


@given(GRIDS)
def test_wins_ties_and_losses_fill_the_data_sets(shape):
    ranks, values = random_ranks(shape, ties=True)
    wins, ties = wins_and_ties(ranks)
    k = ranks.shape[1]
    total = wins + wins.T + ties
    assert (total[~np.eye(k, dtype=bool)] == len(ranks)).all()
    assert (total.diagonal() == 0).all()
    assert wins[0, 1] == sum(row[0] < row[1] for row in values.tolist())
    # The average rank is 1 and a share of the comparisons that were not won.
    assert ranks.mean(axis=0) == pytest.approx(1 + (wins.sum(axis=0) + ties.sum(axis=0) / 2) / len(ranks))


@pytest.mark.parametrize("ranks", [[[1, 2, 3], [1, 3, 2], [1, 2, 3]], [[1.5, 1.5, 3], [1, 2, 3], [2, 1, 3], [1, 2, 3]]])
def test_few_data_sets_have_the_chance_of_all_orders(ranks):
    rows = np.array(ranks, dtype=float)
    seen = ((rows.sum(axis=0) - rows.sum() / 3) ** 2).sum()
    orders = [list(itertools.permutations(row)) for row in rows]
    every = [((np.sum(table, axis=0) - rows.sum() / 3) ** 2).sum() for table in itertools.product(*orders)]
    found = iman_davenport(rows)
    assert found.p == pytest.approx(np.mean(np.array(every) >= seen - 1e-9))
    assert "exact" in found.note


def test_many_learners_over_few_data_sets_take_no_time():
    rows = np.array([np.random.default_rng(at).permutation(9) + 1.0 for at in range(8)])
    assert "exact" not in iman_davenport(rows).note
