"""Formulas read off the measures give the library's values, bit for bit."""

from __future__ import annotations

import math

import numpy as np
import pytest

from heldout.errors import OptionError
from heldout.evidence import Confusion
from heldout.intervals.count_estimator import Estimator
from heldout.measures.catalogue import COUNTED, find
from heldout.measures.declare import measure
from heldout.measures.quantity import Bound, Quantity
from heldout.measures.symbolic import cost_per_case, trace_two_classes
from heldout.report.explanations import put_in
from heldout.show.explorer import evaluated

COSTED = {"expected_cost", "total_cost"}
FOLLOWED = [name for name in COUNTED if name not in COSTED]


def tables():
    """Counts of any size; at least one case in each."""
    rng = np.random.default_rng(7)
    for size in (2, 30, 5_000, 10**7):
        for counts in rng.integers(0, size, (40, 4)).tolist():
            if any(counts):
                yield dict(zip(("tp", "fn", "fp", "tn"), counts, strict=True))


@pytest.mark.parametrize("name", FOLLOWED)
@pytest.mark.parametrize("positive", [0, 1])
def test_a_traced_formula_gives_the_library_s_value_to_the_last_bit(name, positive):
    bound = find(name)
    expression = trace_two_classes(bound)
    labels = ("a", "b")
    for counts in tables():
        square = np.zeros((2, 2), dtype=np.int64)
        other = 1 - positive
        square[positive, positive], square[positive, other] = counts["tp"], counts["fn"]
        square[other, positive], square[other, other] = counts["fp"], counts["tn"]
        subject = Estimator(Confusion.of(square, labels)).subject(Quantity(bound).resolve(labels[positive]))
        expected = subject.value[positive] if subject.axis == "class" else float(subject.value)
        found = evaluated(expression, counts)
        assert found == expected or (math.isnan(found) and math.isnan(expected)), counts


@pytest.mark.parametrize("positive", [0, 1])
def test_the_cost_of_a_case_is_the_library_s(positive):
    rng = np.random.default_rng(3)
    for counts in tables():
        costs = rng.integers(0, 9, (2, 2)).astype(float) / 4
        square = np.zeros((2, 2), dtype=np.int64)
        other = 1 - positive
        square[positive, positive], square[positive, other] = counts["tp"], counts["fn"]
        square[other, positive], square[other, other] = counts["fp"], counts["tn"]
        named = {**counts, "cost_miss": costs[positive, other], "cost_alarm": costs[other, positive]}
        found = evaluated(cost_per_case(positive, costs), named)
        assert found == find("expected_cost", costs=costs).of_evidence(Confusion.of(square, ("a", "b")))


def test_a_formula_that_cannot_be_followed_says_so():
    @measure(symbol="LR", undefined="there are no actual positives", reference="none")
    def logarithm_of_recall(tp, fn):
        """A function of the library takes numbers, not symbols."""
        return math.log1p(tp), math.log1p(tp + fn)

    with pytest.raises(OptionError, match="cannot be followed"):
        trace_two_classes(Bound(logarithm_of_recall))


def test_the_numbers_are_put_in_with_the_brackets_they_need():
    assert put_in(("-", 1.0, ("-", "a", "b")), {"a": 5, "b": 2}) == "1 − (5 − 2)"
    assert put_in(("*", ("+", "a", "b"), "a"), {"a": 5, "b": 2}) == "(5 + 2) · 5"
    assert put_in(("/", ("*", "a", "b"), ("sqrt", ("*", "a", "b"))), {"a": 1200, "b": 2}) == (
        "(1,200 · 2) / sqrt(1,200 · 2)"
    )
