"""Laws of values: each measure equals its formula on counts taken by loops, and is undefined exactly when 0 divides."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import chain

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.laws import brute_force
from tests.laws.catalogue_cases import BY_MEASURE, ORDERED, Case, cost_matrix, rows_of, tables

import heldout
from heldout.evidence import Confusion
from heldout.intervals.count_estimator import Estimator
from heldout.intervals.estimate import Estimate
from heldout.measures.catalogue import CATALOGUE, COUNTED, find
from heldout.measures.cells import TableBatch
from heldout.measures.quantity import averaged_tables

every_measure = pytest.mark.parametrize("cases", BY_MEASURE.values(), ids=BY_MEASURE)


def exact(case: Case, table: np.ndarray) -> list[float]:
    """The values by loops and fractions."""
    bound = case.bound(len(table))
    measure, parameters, counts = bound.measure, bound.parameters, table.tolist()
    if case.axis == "class":
        return brute_force.per_class(measure, counts, parameters)
    if measure.overall:
        values = brute_force.per_class(CATALOGUE[measure.overall], counts, {})
        return [float(np.mean(values))]  # nan as soon as one class is
    if case.axis == "table":
        return [brute_force.of_table(measure, counts, parameters, cost_matrix(len(table)))]
    return [brute_force.averaged(measure, counts, parameters, case.axis)]


def same(case: Case, found: object, wanted: object, digits: float = 1e-12) -> None:
    np.testing.assert_allclose(
        np.asarray(found, dtype=float),
        np.asarray(wanted, dtype=float),
        rtol=digits,
        atol=digits,
        equal_nan=True,
        err_msg=str(case),
    )


@every_measure
@settings(max_examples=25)
@given(table=tables())
def test_value_equals_the_formula_on_counts_taken_by_loops(cases: list[Case], table: np.ndarray) -> None:
    for case in cases:
        same(case, case.values(Confusion.of(table)), exact(case, table))


@settings(max_examples=25)
@given(table=tables())
def test_values_worked_out_together_equal_the_formula(table: np.ndarray) -> None:
    counted = [case for case in chain(*BY_MEASURE.values()) if case.axis in ("class", "macro", "weighted")]
    confusion = Confusion.of(table)
    Estimator(confusion).settle([case.bound(len(table)) for case in counted])
    for case in counted:
        same(case, case.values(confusion), exact(case, table))


@settings(max_examples=25)
@given(table=tables())
def test_a_measure_declared_a_straight_line_of_another_is_one(table: np.ndarray) -> None:
    lines = [measure for measure in COUNTED.values() if measure.scaling]
    assert len(lines) > 4
    for measure in lines:
        scaling = measure.scaled
        other = brute_force.per_class(scaling.measure, table.tolist(), {})
        wanted = [scaling.slope * value + scaling.offset for value in other]
        found = brute_force.per_class(measure, table.tolist(), {})
        np.testing.assert_allclose(found, wanted, rtol=1e-12, atol=1e-12, equal_nan=True, err_msg=measure.name)
        # A line that falls exchanges the limits.
        assert scaling.scale((0.25, 0.75))[0] < scaling.scale((0.25, 0.75))[1]


def check_limits(estimate: Estimate, where: str) -> None:
    """Limits lie in the range; a share without a value has none, a ratio without an upper end has a lower one."""
    measure = CATALOGUE["f_score" if estimate.measure[1:2].isdigit() else estimate.measure.partition("(")[0]]
    if math.isnan(estimate.value) and measure.bounded:
        assert math.isnan(estimate.low), where
        assert math.isnan(estimate.high), where
    else:
        assert measure.low <= estimate.low <= estimate.high <= measure.high, where


@every_measure
@settings(max_examples=12)
@given(table=tables())
def test_value_is_in_range_or_undefined_with_a_reason(cases: list[Case], table: np.ndarray) -> None:
    estimator = Estimator(Confusion.of(table), replicates=50)
    for case in cases:
        measure = CATALOGUE[case.name]
        for estimate, wanted in zip(case.estimates(estimator), exact(case, table), strict=True):
            assert math.isnan(estimate.value) == math.isnan(wanted)
            assert bool(estimate.undefined) == math.isnan(wanted)
            if not math.isnan(wanted):
                assert measure.low <= estimate.value <= measure.high
            check_limits(estimate, str(case))


@every_measure
def test_no_cases_at_all_leave_everything_undefined(cases: list[Case]) -> None:
    nothing = Confusion.of(np.zeros((3, 3), dtype=int), ["a", "b", "c"])
    for case in cases:
        if case.name == "total_cost":
            # The cost of no cases is 0: its denominator is never zero.
            assert case.values(nothing) == [0.0]
            continue
        assert np.isnan(case.values(nothing)).all()
        for estimate in case.estimates(Estimator(nothing, replicates=20)):
            check_limits(estimate, str(case))


@every_measure
@settings(max_examples=12)
@given(table=tables(smallest=2), order=st.permutations(range(4)))
def test_another_order_of_the_classes_moves_class_values_and_leaves_the_others(
    cases: list[Case], table: np.ndarray, order: list[int]
) -> None:
    k = len(table)
    moved = [place for place in order if place < k]
    here, there = Confusion.of(table), Confusion.of(table[np.ix_(moved, moved)])
    for case in cases:
        if CATALOGUE[case.name].kind == "cost":
            turned = find(case.name, costs=cost_matrix(k)[np.ix_(moved, moved)])
            same(case, turned.of_evidence(there), case.values(here)[0])
        elif case.axis == "class":
            same(case, case.values(there), case.values(here)[moved])
        elif case.name in ORDERED:
            # Distances between classes stay only when the whole order is turned round.
            same(case, case.values(Confusion.of(table[::-1, ::-1])), case.values(here))
        else:
            same(case, case.values(there), case.values(here))


@pytest.mark.parametrize("name", sorted(ORDERED))
def test_the_kappas_for_ordered_classes_do_depend_on_the_order(name: str) -> None:
    table = np.array([[10, 5, 0], [1, 8, 2], [0, 1, 9]])
    swapped = table[np.ix_([1, 0, 2], [1, 0, 2])]
    measure = find(name)
    assert abs(measure.of_evidence(Confusion.of(table)) - measure.of_evidence(Confusion.of(swapped))) > 0.01


@every_measure
@settings(max_examples=12)
@given(table=tables(), times=st.integers(2, 100_000))
def test_values_do_not_depend_on_the_size_of_the_sample(cases: list[Case], table: np.ndarray, times: int) -> None:
    for case in cases:
        factor = times if case.name == "total_cost" else 1
        same(case, case.values(Confusion.of(table * times)), case.values(Confusion.of(table)) * factor)


@every_measure
@settings(max_examples=12)
@given(cells=st.lists(st.tuples(st.integers(0, 2), st.integers(0, 2), st.integers(1, 6)), min_size=1, max_size=12))
def test_weights_are_repetition(cases: list[Case], cells: list[tuple[int, int, int]]) -> None:
    truth, predicted, weight = (list(column) for column in zip(*cells, strict=True))
    weighted = heldout.count(truth, predicted, weight=weight).confusion
    repeated = heldout.count(np.repeat(truth, weight).tolist(), np.repeat(predicted, weight).tolist()).confusion
    assert weighted.weighted
    assert weighted.labels == repeated.labels
    assert weighted.n_cases == len(cells)
    assert weighted.matrix.tolist() == repeated.matrix.tolist()
    for case in cases:
        same(case, case.values(weighted), case.values(repeated))


@every_measure
@pytest.mark.parametrize(
    "kind",
    ["one answer only", "one true class only", "the same class only", "no true negatives of class 1", "nothing right"],
)
def test_fractional_weights_leave_undefined_what_is_undefined(cases: list[Case], kind: str) -> None:
    # The same weights summed in another order differ in the last bit, which must not pass for a case.
    for seed in range(12):
        rng = np.random.default_rng(seed)
        many, size = rng.integers(0, 10, 40), 40
        pairs: dict[str, tuple[np.ndarray, np.ndarray]] = {
            "one answer only": (many, np.full(size, 3)),
            "one true class only": (np.full(size, 3), many),
            "the same class only": (np.full(size, 3), np.full(size, 3)),
            "no true negatives of class 1": (np.array([1, 0, 1] * 3), np.array([1, 1, 0] * 3)),
            "nothing right": (many, (many + rng.integers(1, 9, size)) % 10),
        }
        truth, predicted = pairs[kind]
        weight = rng.uniform(0.01, 10, len(truth))
        labels = list(range(10)) if len(truth) == size else [0, 1]
        bare = heldout.count(truth, predicted, labels=labels).confusion
        weighted = heldout.count(truth, predicted, labels=labels, weight=weight).confusion
        for case in cases:
            np.testing.assert_array_equal(
                np.isnan(case.values(weighted)), np.isnan(case.values(bare)), err_msg=f"{case}, seed {seed}"
            )


@every_measure
@settings(max_examples=12)
@given(first=tables(3, 3), second=tables(3, 3))
def test_many_tables_at_once_equal_one_at_a_time(cases: list[Case], first: np.ndarray, second: np.ndarray) -> None:
    batch = TableBatch(np.stack([first, second]).astype(float))
    for case in cases:
        bound = case.bound(3)
        wanted = np.array([exact(case, table) for table in (first, second)])
        average = case.quantities(Confusion.of(first))[0].average
        if case.axis == "class":
            same(case, bound.value(batch.classes), wanted)
        elif bound.measure.overall:
            known = ~np.isnan(wanted.ravel())
            means = averaged_tables(find(bound.measure.overall), "macro", batch)
            same(case, means[known], wanted.ravel()[known])
        elif average is None:
            same(case, bound.of_tables(batch), wanted.ravel())
        else:
            same(case, averaged_tables(bound, average, batch), wanted.ravel())


@every_measure
@settings(max_examples=10)
@given(rare=tables(2, 3, most=5, diagonal=1), common=st.integers(10**8, 10**9))
def test_a_billion_cases_keep_eight_digits(cases: list[Case], rare: np.ndarray, common: int) -> None:
    table = rare.copy()
    table[0, 0] += common
    for case in cases:
        same(case, case.values(Confusion.of(table)), exact(case, table), digits=1e-8)


@given(table=tables())
def test_the_four_counts_of_every_class_add_up_to_n(table: np.ndarray) -> None:
    seen = Confusion.of(table)
    by_loops = [brute_force.corners(table.tolist(), c) for c in range(len(table))]
    assert seen.corners.tolist() == [list(map(float, four)) for four in by_loops]
    assert {sum(four) for four in by_loops} == {seen.n} == {int(table.sum())}


@given(table=tables())
def test_rows_counted_one_by_one_give_the_table(table: np.ndarray) -> None:
    truth, predicted = rows_of(table)
    counted = heldout.count(truth, predicted, labels=list(range(len(table)))).confusion
    assert counted.matrix.tolist() == table.tolist()
    assert counted.matrix.dtype == np.int64


@pytest.mark.parametrize("name", COUNTED)
def test_the_loops_know_every_count_that_a_formula_names(name: str) -> None:
    assert set(COUNTED[name].cells) <= {*brute_force.sums([[1]], [[0]]), "tp", "fn", "fp", "tn"}


def test_the_loops_are_right_on_a_table_done_by_hand() -> None:
    table = [[10, 1], [2, 35]]
    assert brute_force.corners(table, 0) == (10, 1, 2, 35)
    hand = brute_force.sums(table, [[-1, 100], [1, 0]])
    assert hand["chance_errors"] == 48**2 - (11 * 12 + 37 * 36)
    assert hand["covariance"] == 48 * 45 - (11 * 12 + 37 * 36)
    assert hand["truth_spread"] == 48**2 - 11**2 - 37**2
    assert hand["linear_chance"] == 11 * 36 + 37 * 12
    assert hand["cost"] == Fraction(-10 + 100 + 2)
