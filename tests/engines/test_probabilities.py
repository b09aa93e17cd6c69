"""Tallying probabilities: the sums against plain loops, edges of bins, ties, blocks, and refusals."""

from __future__ import annotations

import math
import tracemalloc

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from heldout.engines import probability_sums as engine
from heldout.engines.probability_sums import check_probabilities, tally, tally_classes
from heldout.errors import ValuesError

CASES = st.lists(
    st.tuples(
        st.one_of(st.sampled_from([0.0, 0.1, 0.3, 0.30000000000000004, 0.5, 0.7, 1.0, 1e-300]), st.floats(0, 1)),
        st.booleans(),
        st.floats(0.1, 3),
    ),
    min_size=1,
    max_size=25,
)


@given(CASES)
def test_the_sums_are_those_of_a_plain_loop(cases):
    bins = 10
    p, truth, weight = (np.array(column) for column in zip(*cases, strict=True))
    seen = tally(p, truth.astype(bool), weight)
    edges = np.linspace(0, 1, bins + 1)
    wanted = {name: np.zeros(bins) for name in ("weight", "observed", "gap", "squares", "spread", "noise", "expected")}
    brier = logs = 0.0
    for value, y, w in cases:
        at = next(i for i in range(bins) if value <= edges[i + 1])
        for name, term in {
            "weight": w,
            "observed": w * y,
            "gap": w * (y - value),
            "squares": w * (y - value) ** 2,
            "spread": w * value * (1 - value),
            "noise": w**2 * (y - value) ** 2,
            "expected": w**2 * value * (1 - value),
        }.items():
            wanted[name][at] += term
        brier += w * (y - value) ** 2
        logs -= w * math.log(max(value if y else 1 - value, 2.0**-52))
    assert seen.losses["brier"].total == pytest.approx(brier, abs=1e-12)
    assert seen.losses["log_loss"].total == pytest.approx(logs, rel=1e-12, abs=1e-12)
    for at in (False, True):
        mine = [(value, w) for value, y, w in cases if y == at]
        right = [(value if at else 1 - value, w) for value, w in mine]
        assert seen.class_weight[int(at)] == pytest.approx(sum(w for _, w in mine), abs=1e-12)
        assert seen.class_losses["brier"][int(at)] == pytest.approx(sum(w * (1 - q) ** 2 for q, w in right), abs=1e-12)
        logs_here = -sum(w * math.log(max(q, 2.0**-52)) for q, w in right)
        assert seen.class_losses["log_loss"][int(at)] == pytest.approx(logs_here, rel=1e-12, abs=1e-11)
    for name, values in wanted.items():
        found = getattr(seen.reliability, "expected_noise" if name == "expected" else name)
        np.testing.assert_allclose(found, values, atol=1e-12, err_msg=name)
    assert seen.clipped == sum((value if y else 1 - value) < 2.0**-52 for value, y, _ in cases)


def test_blocks_do_not_show(monkeypatch):
    rng = np.random.default_rng(3)
    p, truth = rng.random(1000), rng.random(1000) < 0.3
    table, codes = rng.dirichlet(np.ones(5), 1000), rng.integers(0, 5, 1000)
    whole, whole_classes = tally(p, truth), tally_classes(table, codes)
    monkeypatch.setattr(engine, "BLOCK", 64)
    monkeypatch.setattr(engine, "CLASS_BLOCK", 1)
    parts, parts_classes = tally(p, truth), tally_classes(table, codes)
    for one, two in ((whole, parts), (whole_classes, parts_classes)):
        np.testing.assert_allclose(one.losses["log_loss"].about(1.0), two.losses["log_loss"].about(1.0), rtol=1e-12)
        np.testing.assert_allclose(one.reliability.gap, two.reliability.gap, atol=1e-12)
        np.testing.assert_allclose(one.class_losses["log_loss"], two.class_losses["log_loss"], rtol=1e-12)
    np.testing.assert_array_equal(np.asarray(whole_classes.ranks), np.asarray(parts_classes.ranks))


@given(st.integers(0, 10_000), st.integers(1, 20), st.integers(2, 6))
def test_the_sums_over_classes_are_those_of_a_plain_loop(seed, n, k):
    rng = np.random.default_rng(seed)
    table = rng.integers(0, 3, (n, k)) + rng.integers(0, 2, (n, 1)) + 1e-3
    table = table / table.sum(axis=1, keepdims=True)
    codes, weight = rng.integers(0, k, n), rng.random(n) + 0.5
    seen = tally_classes(table, codes, weight)
    brier = logs = hits = 0.0
    ranks = np.zeros(k)
    for row, code, w in zip(table, codes, weight, strict=True):
        brier += w * sum((p - (c == code)) ** 2 for c, p in enumerate(row)) / (2 if k == 2 else 1)
        logs -= w * math.log(row[code])
        order = sorted(range(k), key=lambda c: (row[c], c), reverse=True)
        ranks[order.index(code)] += w
        hits += w * (order[0] == code)
    assert seen.losses["brier"].total == pytest.approx(brier, rel=1e-12)
    assert seen.losses["log_loss"].total == pytest.approx(logs, rel=1e-12)
    np.testing.assert_allclose(np.asarray(seen.ranks), ranks, atol=1e-12)
    assert seen.reliability.observed.sum() == pytest.approx(hits, abs=1e-12)
    assert seen.reliability.predicted.sum() == pytest.approx((weight * table.max(axis=1)).sum(), rel=1e-12)
    np.testing.assert_allclose(seen.class_weight, np.bincount(codes, weight, k), atol=1e-12)


def test_many_classes_have_ranks_beyond_a_byte():
    k = 300
    table = np.full((2, k), 1 / k)
    ranks = np.asarray(tally_classes(table, np.array([0, k - 1])).ranks)
    assert np.flatnonzero(ranks).tolist() == [0, k - 1]


def test_groups_hold_the_sums_of_their_cases():
    rng = np.random.default_rng(5)
    p, truth, group = rng.random(200), rng.random(200) < 0.5, rng.integers(0, 7, 200)
    groups = tally(p, truth, group=(group, np.arange(7))).groups
    assert groups is not None
    for g in range(7):
        mine = group == g
        assert groups.weight[g] == mine.sum()
        assert groups.losses["brier"][g] == pytest.approx(((truth - p)[mine] ** 2).sum())
        for at in range(10):
            inside = mine & (np.ceil(p * 10) - 1 == at)
            entry = groups.gaps.total[(groups.gaps.group == g) & (groups.gaps.place == at)]
            assert entry.sum() == pytest.approx((truth - p)[inside].sum(), abs=1e-12)


@pytest.mark.parametrize("kind", [np.float32, np.float64, np.int64, np.bool_])
def test_any_numeric_type(kind):
    p = np.array([0, 1, 1, 0]).astype(kind)
    seen = tally(p, np.array([False, True, False, False]))
    assert seen.losses["brier"].mean == 0.25
    assert seen.clipped == 1
    eps = np.finfo(np.float32 if kind is np.float32 else np.float64).eps
    assert seen.losses["log_loss"].mean == pytest.approx(-math.log(eps) / 4)


def test_nearly_equal_losses_keep_their_spread():
    # 1 ± 1e-9 in a loss of log 2: raw sums of squares would lose all of it.
    p = np.array([0.5 - 1e-9, 0.5 + 1e-9] * 500)
    moments = tally(p, np.ones(1000, dtype=bool)).losses["log_loss"]
    assert moments.about(moments.mean)[0, 2] / 1000 == pytest.approx((2e-9) ** 2, rel=1e-6)


def test_memory_does_not_grow_with_the_rows():
    p, truth = np.random.default_rng(0).random(4_000_000), np.ones(4_000_000, dtype=bool)

    def measure_peak(rows: int) -> int:
        tracemalloc.start()
        tally(p[:rows], truth[:rows])
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return peak

    # What is imported and kept by the first call is not measured.
    tally(p[:500_000], truth[:500_000])
    assert measure_peak(4_000_000) < 1.5 * measure_peak(500_000)


@pytest.mark.parametrize(
    ("p", "says", "hint"),
    [
        ([0.1, np.nan, np.nan], "2 of 3 rows do not, the first with nan in row 2", "drop"),
        ([0.1, 0.2, np.inf], "1 of 3 rows do not, the first with inf in row 3", "decision values"),
        ([-0.5, 0.2, 2.0], "2 of 3 rows do not, the first with -0.5 in row 1", "decision values"),
        ([0.1, 1.5, 0.0], "1 of 3 rows do not, the first with 1.5 in row 2", "percentages"),
        ([0.1, 1.0 + 2**-52, 0.0], "1 of 3 rows", "percentages"),
    ],
)
def test_what_is_no_probability_is_refused(p, says, hint):
    with pytest.raises(ValuesError) as raised:
        tally(np.array(p), np.array([True, False, True]))
    assert says in raised.value.what
    assert hint in raised.value.hint


def test_rows_that_do_not_sum_to_1_are_refused():
    table = np.array([[0.3, 0.3, 0.4], [0.5, 0.5, 0.5], [0.4, 0.4, 0.4]])
    with pytest.raises(ValuesError, match=r"within 0.015; 2 of 3 rows do not, and row 2 is the worst with 1.5"):
        tally_classes(table, np.array([0, 1, 2]))
    # Three decimals, as they are printed.
    assert tally_classes(np.array([[0.333, 0.333, 0.333]]), np.array([0])).n == 1


@pytest.mark.parametrize("table", [[[0.5, np.nan]], [[0.5, 0.5], [0.2, 1.5]]])
def test_tables_that_hold_no_probabilities_are_refused(table):
    for refused in (tally_classes, lambda table, _: check_probabilities(table)):
        with pytest.raises(ValuesError, match=f"row {len(table)}, column 2"):
            refused(np.array(table), np.zeros(len(table), dtype=int))


def test_no_cases():
    seen = tally(np.array([]), np.array([], dtype=bool))
    assert seen.n == 0
    assert math.isnan(seen.losses["brier"].mean)
    assert tally_classes(np.empty((0, 3)), np.empty(0, dtype=int)).n == 0
