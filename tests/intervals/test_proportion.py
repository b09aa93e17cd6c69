"""Intervals for a proportion against R, against published figures and at their ends."""

from __future__ import annotations

import csv
from math import comb
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from scipy.stats import binom

from heldout.errors import OptionError
from heldout.intervals import proportion
from heldout.intervals.proportion import (
    Limits,
    exact_largest_share_limits,
    largest_share_limits,
    normal,
    wilson,
    wilson_at,
    wilson_cc,
)
from heldout.intervals.quantiles import t_value, z_value

R_FILE = Path(__file__).parents[1] / "oracles" / "data" / "r" / "binom_intervals.csv"
COLUMNS = {
    "wilson": "wilson",
    "wilson_cc": "wilson_cc",
    "clopper_pearson": "clopper_pearson",
    "jeffreys": "jeffreys_mod",
    "agresti_coull": "agresti_coull",
    "mid_p": "midp",
    "normal": "wald",
}


def r_table() -> dict[str, np.ndarray]:
    with R_FILE.open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    return {name: np.array([float(row[name]) for row in rows]) for name in rows[0]}


def limits(name: str, x: object, n: object, level: float = 0.95) -> Limits:
    found: Limits = getattr(proportion, name)(x, n, level)
    return found


@pytest.mark.parametrize("name", COLUMNS)
@pytest.mark.parametrize("level", [0.90, 0.95, 0.99])
def test_equals_r(name: str, level: float) -> None:
    table = r_table()
    here = table["conf"] == level
    if name == "wilson_cc":
        # prop.test drops the correction at exactly x = n/2; see the next test.
        here &= table["x"] * 2 != table["n"]
    assert here.sum() > 60
    low, high = limits(name, table["x"][here], table["n"][here], level)
    # R does not cut the normal and Agresti-Coull limits to [0, 1].
    np.testing.assert_allclose(low, np.maximum(table[f"{COLUMNS[name]}_lo"][here], 0), rtol=0, atol=1e-10)
    np.testing.assert_allclose(high, np.minimum(table[f"{COLUMNS[name]}_hi"][here], 1), rtol=0, atol=1e-10)


def test_continuity_correction_stays_at_one_half() -> None:
    # Newcombe's method 4 written out, where R falls back to the plain interval.
    x, n, z = 10.0, 20.0, z_value(0.95)
    p = x / n
    low = (2 * n * p + z * z - 1 - z * (z * z - 2 - 1 / n + 4 * p * (n * (1 - p) + 1)) ** 0.5) / (2 * (n + z * z))
    found = wilson_cc(x, n)
    assert float(found[0]) == pytest.approx(low, abs=1e-14)
    assert float(found[1]) == pytest.approx(1 - low, abs=1e-14)


def test_z_table_of_the_textbook() -> None:
    table = {0.50: 0.67, 0.68: 1.00, 0.80: 1.28, 0.90: 1.64, 0.95: 1.96, 0.98: 2.33, 0.99: 2.58}
    # The book rounds 0.994 at 68 % up to 1.00 (68.27 % is one standard deviation) and 1.645 down to 1.64.
    assert {level: z_value(level) for level in table} == pytest.approx(table, abs=0.0056)


def test_t_table() -> None:
    assert t_value(0.95, [1, 2, 5, 30, 1e9]) == pytest.approx([12.706, 4.303, 2.571, 2.042, 1.960], abs=5e-4)


def test_quantiles_up_to_the_last_level_below_one() -> None:
    for level in (0.9999999, 1 - 1e-12, 1 - 2**-53):
        tail = (1 - level) / 2
        assert z_value(level) == pytest.approx(stats.norm.isf(tail), rel=1e-9)
        assert float(t_value(level, 7)) == pytest.approx(stats.t.isf(tail, 7), rel=1e-6)


@pytest.mark.parametrize("level", [0.0, 1.0, 95, -0.5, float("nan")])
def test_a_level_outside_is_refused(level: float) -> None:
    with pytest.raises(OptionError, match="between 0 and 1"):
        z_value(level)


def test_mitchell() -> None:
    low, high = normal(12, 40)
    assert (low + high) / 2 == pytest.approx(0.30)
    assert (high - low) / 2 == pytest.approx(0.14, abs=0.005)
    # The textbook takes z = 1.64, here it is 1.645.
    assert np.array(normal(10, 65, 0.90)) == pytest.approx([0.0802, 0.2275], abs=1e-4)


@pytest.mark.parametrize(
    ("n", "p", "covered"),
    [
        (17, 0.5, 0.951),
        (18, 0.5, 0.904),
        (40, 0.5, 0.919),
        (30, 0.2, 0.946),
        (98, 0.2, 0.928),
        (591, 0.005, 0.945),
        (592, 0.005, 0.792),
        (20, 0.01, 0.18),
    ],
)
def test_exact_coverage_of_the_normal_interval(n: int, p: float, covered: float) -> None:
    assert exact_coverage("normal", n, p) == pytest.approx(covered, abs=0.005 if n == 20 else 0.0005)


def test_exact_coverage_of_the_others() -> None:
    # Brown, Cai and DasGupta: Wilson and Jeffreys near the level on average, Clopper-Pearson above it always.
    p = np.linspace(0.005, 0.995, 199)
    mean = {name: np.mean([exact_coverage(name, 40, at) for at in p]) for name in COLUMNS}
    assert mean["wilson"] == pytest.approx(0.952, abs=0.004)
    assert mean["jeffreys"] == pytest.approx(0.95, abs=0.006)
    assert mean["normal"] < 0.90
    assert min(exact_coverage("clopper_pearson", 40, at) for at in p) >= 0.95
    assert mean["mid_p"] < mean["clopper_pearson"]
    assert mean["wilson"] < mean["wilson_cc"]


def exact_coverage(name: str, n: int, p: float) -> float:
    low, high = limits(name, np.arange(n + 1), n)
    chance = np.array([comb(n, k) * p**k * (1 - p) ** (n - k) for k in range(n + 1)])
    return float(chance[(low <= p) & (p <= high)].sum())


@pytest.mark.parametrize("name", COLUMNS)
def test_ends_and_nothing(name: str) -> None:
    low, high = limits(name, [0, 7, 0, 0], [7, 7, 0, 1e12])
    assert low[0] == 0.0
    assert high[1] == 1.0
    assert (low[2], high[2]) == (0.0, 1.0)
    assert low[3] == 0.0


def test_wilson_keeps_its_digits_at_any_size() -> None:
    z2 = z_value(0.95) ** 2
    n = 1e12
    low, high = wilson([0, n, 1, n / 2], n)
    assert (low[0], high[1]) == (0.0, 1.0)
    assert high[0] == pytest.approx(z2 / (n + z2), rel=1e-13)
    # One of 1e12: n p is Poisson, with the score limits 1 + z2/2 ± z·sqrt(1 + z2/4) for a count of 1.
    half = (z2 * (1 + z2 / 4)) ** 0.5
    assert low[2] * n == pytest.approx(1 + z2 / 2 - half, rel=1e-9)
    assert high[2] * n == pytest.approx(1 + z2 / 2 + half, rel=1e-9)
    assert high[3] - low[3] == pytest.approx(2 * (z2 / 4 / n) ** 0.5, rel=1e-9)


@given(
    share=st.floats(0, 1),
    trials=st.floats(1e-3, 1e7),
    level=st.sampled_from([0.5, 0.8, 0.95, 0.999]),
    name=st.sampled_from(sorted(COLUMNS)),
)
def test_the_estimate_lies_inside(share: float, trials: float, level: float, name: str) -> None:
    successes = share * trials
    low, high = limits(name, successes, trials, level)
    assert 0 <= low <= high <= 1
    assert low <= successes / trials + 1e-15
    assert high >= successes / trials - 1e-15


def test_broadcasting_and_many_critical_values() -> None:
    low, high = wilson_at([[0.3], [0.9]], [10, 20, 40], [1.0, 2.0, 3.0])
    assert low.shape == high.shape == (2, 3)
    again = wilson_at(0.9, 40, 3.0)
    assert (low[1, 2], high[1, 2]) == (again[0], again[1])
    # Each limit solves the score equation it is defined by.
    for limit in (low, high):
        z = abs(limit - [[0.3], [0.9]]) / np.sqrt(limit * (1 - limit) / np.array([10, 20, 40]))
        np.testing.assert_allclose(z, [[1, 2, 3]] * 2, rtol=1e-12)


@pytest.mark.parametrize(("classes", "n"), [(3, 45), (8, 60), (15, 400)])
def test_the_largest_of_equal_shares_is_not_taken_for_larger(classes: int, n: int) -> None:
    # Wilson's interval at the largest count held the share in .95, .78 and .60 of these draws.
    tables = np.random.default_rng(classes).multinomial(n, np.full(classes, 1 / classes), size=300)
    limits = np.array([largest_share_limits(counts) for counts in tables])
    assert np.mean((limits[:, 0] <= 1 / classes + 1e-12) & (limits[:, 1] >= 1 / classes)) >= 0.94


def test_a_clear_majority_has_the_interval_of_its_share() -> None:
    assert largest_share_limits([90, 10]) == pytest.approx([float(limit) for limit in wilson(90, 100)])
    assert largest_share_limits([0, 0]) == (0, 1)


@pytest.mark.parametrize(("n", "share"), [(20, 0.99), (50, 0.98), (100, 0.95), (20, 0.55)])
def test_each_end_of_the_exact_largest_share_keeps_its_level(n, share):
    counts = np.arange(n + 1)
    limits = np.array([exact_largest_share_limits([k, n - k], 0.9) for k in counts])
    chance = binom.pmf(counts, n, share)
    truth = max(share, 1 - share)
    assert chance[limits[:, 1] < truth].sum() <= 0.05 + 1e-12
    assert chance[limits[:, 0] > truth].sum() <= 0.05 + 1e-12
