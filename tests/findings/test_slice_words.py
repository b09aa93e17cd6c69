"""What is said of slices: how many and which were looked at, and where there are none to compare."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from heldout.api.evaluate import evaluate
from heldout.results.evaluation import Evaluation


def sliced(**columns: Any) -> Evaluation:
    """400 cases of which a tenth is wrong, sliced by columns."""
    truth = np.arange(400) % 2
    answers = np.where(np.random.default_rng(0).random(400) < 0.1, 1 - truth, truth)
    return evaluate(truth, answers, slices=columns)


@pytest.mark.parametrize("values", [["x"] * 400, [None] * 400], ids=["one value", "none"])
def test_a_column_that_does_not_divide_the_cases_is_said_to(values):
    seen = sliced(void=values)
    expected = "void has one value or none, so it does not divide the cases: there are no slices to compare."
    assert seen.slices().sentence() == expected
    assert seen.worst_slices().summary() == expected
    assert "of 0 slices" not in str(seen)
    assert expected[:-1] in seen.review["H021"].title
    both = sliced(void=values, side=["a", "b"] * 200)
    assert "the column 'void' has one value or none, which makes no slices" in both.worst_slices().notes
    assert both.slices().facts()["one_value"] == ["void"]


def test_slices_that_are_too_small_are_said_to_be():
    rare = ["a"] * 390 + ["b"] * 10
    assert sliced(rare=rare).worst_slices().sentence() == (
        "No slice has at least 30 cases inside and outside, so none is compared."
    )


def test_one_slice_is_not_one_slices():
    # Of three parts only the last has so many cases inside and outside.
    parts = [*("abcdefghijklmnopqrstuvwxyz" * 8)[:200], *["z"] * 200]
    found = sliced(part=parts).worst_slices(depth=1)
    assert found.searched == 1
    assert found.summary() in (
        found.sentence(),
        "The 1 slice of one column with at least 30 cases is not clearly worse than the rest.",
        "The 1 slice of one column with at least 30 cases is clearly worse than the rest.",
    )
    assert "1 slices" not in str(found)
    assert "None of 1" not in str(found)


def test_each_count_says_which_slices_it_counts():
    seen = sliced(one=["a", "b"] * 200, two=["c"] * 200 + ["d"] * 200)
    every, worst = seen.slices(), seen.worst_slices()
    assert (every.searched, worst.searched) == (4, 8)
    assert seen.review["H021"].title.startswith("None of 4 slices of one column has ")
    assert "8 slices of one or two columns with at least 30 cases" in worst.summary()


def test_it_is_said_that_intervals_are_not_adjusted_for_the_search():
    seen = sliced(one=["a", "b"] * 200, two=["c"] * 200 + ["d"] * 200)
    assert "intervals are not adjusted for this choice" in seen.worst_slices().notes[0]
    assert any("intervals are of each slice alone" in note for note in seen.slices().notes)


def test_why_nothing_was_tested_is_a_field():
    truth = np.tile([0, 1], 100)
    cases = {"truth": truth, "predicted": truth, "fold": np.repeat([1, 2], 100), "side": ["a", "b"] * 100}
    seen = evaluate(cases, fold="fold", slices=["side"])
    assert seen.slices().untested.startswith("the models of one plan share training cases")
    assert seen.slices().untested in seen.review["H021"].title
    assert not sliced(side=["a", "b"] * 200).slices().untested
