"""A table of results: two learners by Wilcoxon, many by ranks, and any pair by a test that is named."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest
from scipy import stats
from statsmodels.stats.multitest import multipletests

import heldout
from heldout.comparisons.comparison import PairwiseComparison
from heldout.comparisons.learner_ranks import LearnerRanks
from heldout.errors import OptionError

# A comparison or ranks: which of the two comes is not for the type checker here.
compare: Any = heldout.compare

RNG = np.random.default_rng(4)
BASE = RNG.uniform(0.6, 0.95, 14)
VALUES = {
    "a": (BASE + RNG.normal(0.02, 0.02, 14)).tolist(),
    "b": BASE.tolist(),
    "c": (BASE - RNG.normal(0.03, 0.02, 14)).tolist(),
}
TABLE = {name: {f"data set {at}": value for at, value in enumerate(own)} for name, own in VALUES.items()}
TWO = {name: TABLE[name] for name in ("a", "b")}


def test_two_learners_are_compared_by_wilcoxon_without_being_asked():
    found = compare(TWO)
    assert isinstance(found, PairwiseComparison)
    expected = stats.wilcoxon(VALUES["a"], VALUES["b"], method="exact")
    assert found.pairs[0].tested.method == "wilcoxon"
    assert found.p == pytest.approx(expected.pvalue, abs=1e-12)
    assert "14 data sets" in str(found)


def test_three_learners_are_ranked():
    assert isinstance(compare(TABLE), LearnerRanks)


def test_a_test_for_two_compares_all_pairs_with_a_correction():
    found = compare(TABLE, method="wilcoxon")
    assert isinstance(found, PairwiseComparison)
    raw = [stats.wilcoxon(VALUES[x], VALUES[y], method="exact").pvalue for x, y in ("ab", "ac", "bc")]
    expected = multipletests(raw, method="holm")[1]
    assert [pair.p for pair in found] == pytest.approx(list(expected), abs=1e-12)
    assert "corrected by holm" in str(found)


def test_with_a_control_only_the_others_are_compared_with_it():
    found = compare(TABLE, method="sign", control="b")
    assert [(pair.a, pair.b) for pair in found] == [("a", "b"), ("c", "b")]


def test_lower_is_better_where_the_measure_says_so():
    higher, lower = compare(TWO), compare(TWO, measures="error_rate")
    assert (higher.pairs[0].better, lower.pairs[0].better) == ("a", "b")
    assert lower.verdict.startswith("b is better than a")
    assert lower.pairs[0].measure == "error_rate"


def test_the_bayesian_signed_rank_knows_a_rope():
    found = compare(TWO, method="bayes-signed-rank", rope=0.01, seed=1)
    assert "that it is within 0.01" in found.verdict
    assert np.isnan(found.p)
    assert found.to_dict()["comparisons"][0]["p"] is None


@pytest.mark.parametrize(("table", "options"), [(TWO, {}), (TABLE, {})])
def test_a_rope_without_a_bayesian_test_is_refused(table, options):
    with pytest.raises(OptionError) as caught:
        compare(table, rope=0.01, **options)
    assert "bayes-signed-rank" in str(caught.value)


SPLITS = {"run": [1, 1, 2, 2], "fold": [1, 2, 1, 2], "a": [0.8, 0.7, 0.9, 0.8], "b": [0.7, 0.7, 0.8, 0.7]}


@pytest.mark.parametrize("table", [TWO, TABLE, SPLITS], ids=["two", "three", "splits"])
def test_replicates_are_refused_where_nothing_is_resampled(table):
    compare(pl.DataFrame(table) if table is SPLITS else table)
    with pytest.raises(OptionError, match=r"these options have no meaning: replicates\."):
        compare(pl.DataFrame(table) if table is SPLITS else table, replicates=50)


def test_the_document_and_every_form_can_be_made():
    found = compare(TWO)
    assert found.to_dict()["comparisons"][0]["measure"] == "result"
    assert all((found.to_json(), found.to_markdown(), found.to_latex(), found.to_html()))
    assert found.to_frame().height == 1
