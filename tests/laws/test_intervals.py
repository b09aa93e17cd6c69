"""Laws of intervals: every method on every quantity to which it applies, with and without weights and groups."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cache
from itertools import combinations, pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.laws.catalogue_cases import CASES, FULL_TABLES, TABLES, Case, cost_matrix, rows_of, tables

import heldout
from heldout.evidence import Confusion
from heldout.intervals.count_estimator import Estimator
from heldout.intervals.estimate import Estimate
from heldout.intervals.methods import METHODS, Method
from heldout.intervals.proportion import wilson
from heldout.measures.catalogue import COUNTED, read_quantity

KINDS = ("plain", "weighted", "grouped", "grouped and weighted")
every_method = pytest.mark.parametrize("method", METHODS.values(), ids=METHODS)
every_table = pytest.mark.parametrize("table", TABLES)
every_full_table = pytest.mark.parametrize("table", FULL_TABLES.values(), ids=FULL_TABLES)
# Enough for order statistics, few enough for a law over everything.
REPLICATES = 199


def evidence(table: object, kind: str, times: int = 1) -> Confusion:
    """A table as evidence of one kind; the weights and groups are arbitrary but always the same.

    Repeated, it is as many times the cases, and as many times the groups.
    """
    truth, predicted = rows_of(table)
    place, copy = (part.ravel() for part in np.indices((len(truth), times)))
    weight = 0.5 + (place * 7 % 5) / 4 if "weighted" in kind else None
    group = place * 11 % 13 + 13 * copy if "grouped" in kind else None
    labels = list(range(len(np.asarray(table))))
    columns = np.array(truth)[place], np.array(predicted)[place]
    return heldout.count(*columns, weight=weight, group=group, labels=labels).confusion


def applies(method: Method, estimator: Estimator, case: Case) -> bool:
    grouped = estimator.confusion.clusters is not None
    subject = estimator.subject(case.quantities(estimator.confusion)[0])
    return method.applies(subject) and (method.groups or not grouped)


def intervals(estimator: Estimator, method: Method) -> dict[Case, Sequence[Estimate]]:
    """Every quantity to which the method applies, with its estimates."""
    found = {}
    for case in CASES:
        if applies(method, estimator, case):
            bound = case.bound(estimator.confusion.n_classes)
            subject = estimator.subject(case.quantities(estimator.confusion)[0])
            found[case] = estimator.estimates(subject, method, bound)
    return found


@cache
def small_intervals(method: str, table: str, kind: str) -> dict[Case, Sequence[Estimate]]:
    """The same for one of the tables; four laws look at them."""
    return intervals(Estimator(evidence(TABLES[table], kind), replicates=REPLICATES), METHODS[method])


def kinds_for(method: Method) -> tuple[str, ...]:
    return tuple(kind for kind in KINDS if method.groups == ("grouped" in kind))


def check(estimate: Estimate) -> bool:
    measure = COUNTED["f_score" if estimate.measure[1:2].isdigit() else estimate.measure.partition("(")[0]]
    where = f"{estimate.name} by {estimate.method}: {estimate.value} in {estimate.low}, {estimate.high}"
    if math.isnan(estimate.value) and measure.bounded:
        # A share of nothing has no limits; a ratio without an upper end has a lower one.
        assert math.isnan(estimate.low), where
        assert math.isnan(estimate.high), where
    else:
        assert measure.low <= estimate.low <= estimate.high <= measure.high, where
    assert bool(estimate.undefined) == math.isnan(estimate.value), where
    return True


def holds(estimate: Estimate) -> bool:
    return math.isnan(estimate.value) or estimate.low <= estimate.value <= estimate.high


@every_method
@every_table
def test_limits_are_in_order_and_in_range(method: Method, table: str) -> None:
    checked = [
        check(estimate)
        for kind in kinds_for(method)
        for estimates in small_intervals(method.name, table, kind).values()
        for estimate in estimates
    ]
    assert checked


@pytest.mark.parametrize("level", [0.3, 0.95])
@pytest.mark.parametrize("method", METHODS)
def test_every_method_holds_the_estimate(method: str, level: float) -> None:
    for table in TABLES:
        for kind in kinds_for(METHODS[method]):
            if level == 0.95:
                by_case = small_intervals(method, table, kind)
            else:
                by_case = intervals(Estimator(evidence(TABLES[table], kind), level, replicates=99), METHODS[method])
            estimates = [one for several in by_case.values() for one in several]
            assert estimates, f"{table}, {kind}"
            assert [str(estimate) for estimate in estimates if not holds(estimate)] == [], f"{table}, {kind}"


@settings(max_examples=25)
@given(table=tables(), kind=st.sampled_from(KINDS))
def test_defaults_hold_the_estimate_and_are_in_range(table: np.ndarray, kind: str) -> None:
    seen = evidence(table, kind)
    costs = heldout.Costs.of(cost_matrix(len(table)), seen.labels, rows="truth")
    for estimate in heldout.evaluate(seen, costs=costs):
        check(estimate)
        assert holds(estimate), str(estimate)


@every_method
@every_full_table
def test_a_higher_level_is_never_narrower(method: Method, table: object) -> None:
    for kind in kinds_for(method):
        seen = evidence(table, kind)
        levels = (0.1, 0.3, 0.5, 0.95, 0.99)
        by_level = [intervals(Estimator(seen, level, replicates=REPLICATES), method) for level in levels]
        for narrow, wide in pairwise(by_level):
            for case, estimates in narrow.items():
                for inner, outer in zip(estimates, wide[case], strict=True):
                    assert outer.low <= inner.low + 1e-12, f"{case} by {method.name}, {kind}"
                    assert outer.high >= inner.high - 1e-12, f"{case} by {method.name}, {kind}"


@every_method
@every_full_table
def test_a_hundred_times_the_cases_shrink_the_interval_about_tenfold(method: Method, table: object) -> None:
    kind = kinds_for(method)[0]
    few, many = (intervals(Estimator(evidence(table, kind, times), replicates=199), method) for times in (1, 100))
    for case, estimates in few.items():
        scale = 100 if case.name == "total_cost" else 1
        for wide, narrow in zip(estimates, many[case], strict=True):
            assert 0 < narrow.width / scale < 0.3 * wide.width, f"{case} by {method.name}"


@cache
def complements() -> list[tuple[str, str]]:
    """Pairs of measures that add up to 1 on every table, found by trying them all."""
    trial = [Confusion.of(table) for table in FULL_TABLES.values()]
    shares = [case for case in CASES if not case.parameters and COUNTED[case.name].range == (0.0, 1.0)]

    def complementary(one: Case, other: Case) -> bool:
        sums = (one.values(seen) + other.values(seen) for seen in trial)
        return one.axis == other.axis in ("class", "table") and all(np.allclose(s, 1, rtol=0, atol=1e-12) for s in sums)

    return [(one.name, other.name) for one, other in combinations(shares, 2) if complementary(one, other)]


def test_the_complements_are_those_of_the_text_books() -> None:
    assert {frozenset(pair) for pair in complements()} == {
        frozenset({"accuracy", "error_rate"}),
        frozenset({"recall", "false_negative_rate"}),
        frozenset({"specificity", "false_positive_rate"}),
        frozenset({"negative_predictive_value", "false_omission_rate"}),
        frozenset({"precision", "false_discovery_rate"}),
    }


def methods_on(*measures: str) -> list[str]:
    """The methods that apply to one of the measures at least, whatever its axis."""
    estimators = {kind: Estimator(evidence(TABLES["two classes"], kind)) for kind in KINDS}
    cases = [case for case in CASES if case.name in measures]
    return [
        name
        for name, method in METHODS.items()
        if any(applies(method, estimators[kind], case) for kind in kinds_for(method) for case in cases)
    ]


@pytest.mark.parametrize("method", methods_on("accuracy", "recall"))
def test_complements_have_mirrored_intervals(method: str) -> None:
    for table in TABLES:
        for kind in kinds_for(METHODS[method]):
            estimates = {(case.name, case.axis): e for case, e in small_intervals(method, table, kind).items()}
            pairs = [
                (first, second, f"{one}, {axis}, {table}, {kind}")
                for one, other in complements()
                for axis in ("class", "table", "macro", "micro", "weighted")
                for first, second in zip(estimates.get((one, axis), []), estimates.get((other, axis), []), strict=True)
            ]
            assert pairs, f"{table}, {kind}"
            for first, second, where in pairs:
                assert first.low == pytest.approx(1 - second.high, abs=1e-9, nan_ok=True), where
                assert first.high == pytest.approx(1 - second.low, abs=1e-9, nan_ok=True), where


@pytest.mark.parametrize("method", methods_on("total_cost"))
def test_a_total_is_n_times_the_mean(method: str) -> None:
    # The number of cases is known: all the doubt about a total is doubt about the mean.
    for table in TABLES:
        for kind in kinds_for(METHODS[method]):
            estimates = {case.name: e for case, e in small_intervals(method, table, kind).items()}
            (total,), (mean,) = estimates["total_cost"], estimates["expected_cost"]
            n = evidence(TABLES[table], kind).n
            assert total.value == pytest.approx(n * mean.value, abs=1e-9), f"{table}, {kind}"
            assert (total.low, total.high) == pytest.approx((n * mean.low, n * mean.high), rel=1e-9), f"{table}, {kind}"


@every_full_table
def test_the_largest_share_does_not_know_the_names_of_the_classes(table: list[list[int]]) -> None:
    rows = np.asarray(table)
    turned = rows[::-1, ::-1]
    one, two = (Estimator(Confusion.of(counts)).ask(read_quantity("no_information_rate")) for counts in (rows, turned))
    assert (one.low, one.high) == pytest.approx((two.low, two.high), abs=1e-12)
    # A maximum of shares is at least 1/k; its lower limit is no higher than that of one share, its upper one the same.
    low, high = (float(limit) for limit in wilson(one.value * rows.sum(), rows.sum(), 0.95))
    assert one.low <= max(low, 1 / len(rows)) + 1e-12
    assert one.high == pytest.approx(high, abs=1e-12)


def test_every_method_has_a_law_beside_its_range() -> None:
    shares = "largest-share", "exact-largest-share"
    assert {*methods_on("accuracy", "recall"), *methods_on("total_cost"), *shares} == set(METHODS)


@every_table
def test_averages_that_are_accuracy_have_its_interval(table: str) -> None:
    for kind in ("plain", "weighted"):
        result = heldout.evaluate(evidence(TABLES[table], kind), measures="accuracy")
        wanted = result["accuracy"]
        for name in ("micro precision", "micro recall", "micro f1", "weighted recall"):
            found = result[name]
            assert found.value == pytest.approx(wanted.value, abs=1e-12)
            assert (found.low, found.high) == pytest.approx((wanted.low, wanted.high), abs=1e-9), f"{name}, {kind}"


@pytest.mark.parametrize("case", CASES, ids=str)
def test_at_least_two_methods_apply_to_everything(case: Case) -> None:
    plain, grouped = (Estimator(evidence(FULL_TABLES["two classes"], kind)) for kind in ("plain", "grouped"))
    assert sum(applies(method, plain, case) for method in METHODS.values()) >= 2
    of_groups = {method.name for method in METHODS.values() if applies(method, grouped, case)}
    assert of_groups - {"guarded-groups"} == {"cluster-logit", "cluster-bootstrap"}
