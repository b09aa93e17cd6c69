"""Corrections agree with statsmodels, or with figures worked out by hand, and keep order."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from statsmodels.stats.multitest import multipletests

from heldout.comparisons.corrections import (
    CORRECTIONS,
    adjust_p_values,
    describe_left_out,
    find_correction,
    possible_equalities,
)
from heldout.errors import OptionError, ValuesError

THEIRS = {
    "bonferroni": "bonferroni",
    "sidak": "sidak",
    "holm": "holm",
    "hochberg": "simes-hochberg",
    "hommel": "hommel",
    "benjamini-hochberg": "fdr_bh",
    "benjamini-yekutieli": "fdr_by",
}
P_VALUES = st.lists(st.floats(0, 1), min_size=1, max_size=15)
# Those that hold the chance of any false claim, each at most as bold as the next.
BOLDER = [
    ("bonferroni", "holm"),
    ("holm", "hochberg"),
    ("hochberg", "hommel"),
    ("sidak", "finner"),
    ("holm", "shaffer"),
]


@pytest.mark.parametrize("name", THEIRS)
@settings(max_examples=20)  # its Holm takes a tenth of a second
@given(p=P_VALUES)
def test_statsmodels_gives_the_same(name, p):
    with np.errstate(divide="ignore"):
        theirs = multipletests(p, method=THEIRS[name])[1]
    assert adjust_p_values(p, name) == pytest.approx(theirs, abs=1e-12)


def test_finner_by_hand():
    # 1 − (1 − p)^(m/i) with m = 3: of .01, .02 and .5 in this order.
    expected = [1 - 0.99**3, max(1 - 0.99**3, 1 - 0.98**1.5), 0.5]
    assert adjust_p_values([0.02, 0.5, 0.01], "finner") == pytest.approx([expected[1], expected[2], expected[0]])


def test_shaffer_by_hand():
    # Four learners, six pairs: at most 6, then 3, 3, 3, 2 and 1 equalities can be true (Shaffer, 1986, table 2).
    p = [0.001, 0.01, 0.012, 0.02, 0.03, 0.6]
    assert adjust_p_values(p, "shaffer") == pytest.approx([0.006, 0.03, 0.036, 0.06, 0.06, 0.6])
    # Three learners: 3, 1, 1.
    assert adjust_p_values([0.04, 0.01, 0.03], "shaffer") == pytest.approx([0.04, 0.03, 0.03])


@pytest.mark.parametrize("learners", range(1, 7))
def test_possible_numbers_of_equalities_are_those_of_all_partitions(learners):
    seen = {
        sum(one == other for one, other in itertools.combinations(kinds, 2))
        for kinds in itertools.product(range(learners), repeat=learners)
    }
    assert set(possible_equalities(learners)) == seen


@pytest.mark.parametrize("name", CORRECTIONS)
@given(p=P_VALUES, data=st.data())
def test_order_is_kept_and_nothing_gets_smaller(name, p, data):
    if name == "shaffer":
        p = data.draw(
            st.sampled_from([1, 3, 6, 10]).flatmap(lambda n: st.lists(st.floats(0, 1), min_size=n, max_size=n))
        )
    found = adjust_p_values(p, name)
    assert len(found) == len(p)
    assert (found >= np.array(p) - 1e-15).all()
    assert (found <= 1).all()
    order = np.argsort(p, kind="stable")
    assert (np.diff(found[order]) >= -1e-15).all()
    mixed = data.draw(st.permutations(range(len(p))))
    assert adjust_p_values(np.array(p)[mixed], name) == pytest.approx(found[mixed])


@pytest.mark.parametrize(("shy", "bold"), BOLDER)
@given(p=st.lists(st.floats(0, 1), min_size=6, max_size=6))
def test_some_are_never_less_powerful_than_others(shy, bold, p):
    assert (adjust_p_values(p, bold) <= adjust_p_values(p, shy) + 1e-12).all()


@pytest.mark.parametrize("name", CORRECTIONS)
def test_missing_p_values_count_for_nothing(name):
    nan = math.nan
    found = adjust_p_values([0.01, nan, 0.03, nan, 0.02, nan], name)
    assert np.isnan(found).tolist() == [False, True, False, True, False, True]
    if name != "shaffer":
        assert found[[0, 2, 4]] == pytest.approx(adjust_p_values([0.01, 0.03, 0.02], name))
    assert (
        describe_left_out([0.01, nan, 0.03, nan])
        == "2 of 4 comparisons have no p-value and are left out of the correction"
    )
    assert describe_left_out([0.01]) == ""
    assert np.isnan(adjust_p_values([nan], name)).all()


def test_shaffer_with_missing_pairs_counts_those_that_are_left():
    # Of four learners' six pairs three were tested: at most 3, then 2, then 1 of them can be equal.
    assert adjust_p_values([0.01, math.nan, 0.02, math.nan, 0.03, math.nan], "shaffer")[[0, 2, 4]] == pytest.approx(
        [0.03, 0.04, 0.04]
    )


def test_names_are_forgiving():
    assert find_correction("Benjamini Hochberg").name == "benjamini-hochberg"
    assert find_correction("Šidák").name == "sidak"
    with pytest.raises(OptionError, match="There is no correction 'homel'") as refused:
        find_correction("homel")
    assert "hommel" in refused.value.hint
    for held in CORRECTIONS.values():
        assert held.summary.endswith(".")
        assert held.reference or held.name == "none"


@pytest.mark.parametrize(
    ("p", "options", "error", "said"),
    [
        ([0.1, 1.2], {}, ValuesError, "between 0 and 1. Got 1.2"),
        ([0.1, -0.2], {}, ValuesError, "between 0 and 1"),
        (["a"], {}, ValuesError, "not numbers"),
        ([[0.1]], {}, ValuesError, "one list"),
        ([0.1, 0.2], {"method": "shaffer"}, OptionError, "no number of learners has so many"),
        ([0.1, 0.2, 0.3], {"method": "shaffer", "pairs_of": 4}, OptionError, "4 learners have 6"),
    ],
)
def test_what_cannot_be_corrected_is_refused(p, options, error, said):
    with pytest.raises(error, match=said):
        adjust_p_values(p, **{"method": "holm", **options})


def test_no_p_values_are_no_p_values():
    assert adjust_p_values([], "holm").tolist() == []
