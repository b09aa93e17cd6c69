"""Which name a person most likely meant, and that far ones are not offered."""

from __future__ import annotations

import pytest

from heldout.arguments import closest


@pytest.mark.parametrize(
    ("typed", "meant"),
    [("acuracy", "accuracy"), ("knm", "knn"), ("yse", "yes"), ("sx", "sex"), ("fodl", "fold"), ("RECALL", "recall")],
)
def test_a_slip_finds_the_name(typed, meant):
    assert closest(typed, ["const", "inf", meant, "rows"]) == meant


@pytest.mark.parametrize(
    ("typed", "far"),
    [("nonexist", "const"), ("bogus", "rows"), ("missing.csv", "inf.csv"), ("x", "y"), ("", "a"), ("foo", "for")],
)
def test_a_name_that_is_merely_a_bit_alike_is_not_offered(typed, far):
    assert closest(typed, [far]) is None
