"""Two classifiers on the same cases: every method against plain resampling, formulas and the laws of a difference."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

import heldout
from heldout.arguments import LEAST_LEVEL, MOST_LEVEL
from heldout.comparisons import joint_tables
from heldout.comparisons.joint_tables import make_paired_quantity
from heldout.comparisons.mcnemar import COCHRAN, mcnemar
from heldout.comparisons.paired_counts import OF_ANY, OF_SHARES, Shares, compare_counts, newcombe_limits
from heldout.errors import MatrixError, OptionError
from heldout.evidence.joint_counts import PairCounts
from heldout.intervals.count_estimator import Estimator
from heldout.measures.catalogue import COUNTED, find, read_quantity
from heldout.measures.quantity import Quantity

ALL = ("accuracy", "error_rate", "recall[1]", "precision[1]", "f1[1]", "macro f1", "micro f1", "weighted f1", "kappa",
       "matthews", "balanced_accuracy", "linear_kappa", "quadratic_kappa", "macro recall", "jaccard[2]",
       "no_information_rate", "weighted recall", "predicted_positive_rate[0]")  # fmt: skip
COSTS = np.array([[0.0, 1.0, 5.0], [2.0, 0.0, 1.0], [50.0, 3.0, 0.0]])


def world(n=300, k=3, seed=0, accuracy=(0.8, 0.75)) -> PairCounts:
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, k, n)
    answers = [np.where(rng.random(n) < share, truth, rng.integers(0, k, n)) for share in accuracy]
    return PairCounts.of(truth, answers[0], answers[1], tuple(range(k)))


def asked(text: str) -> Quantity:
    return read_quantity(text, (0, 1, 2))


def rows(seen: PairCounts):
    return [np.repeat(codes, seen.counts) for codes in (seen.truth, seen.a, seen.b)]


def macro_f1(truth, answer) -> float:
    right = np.bincount(truth[truth == answer], minlength=3)
    return float((2 * right / (np.bincount(truth, minlength=3) + np.bincount(answer, minlength=3))).mean())


def same(one, two) -> bool:
    """Equal in every field, nan equal to nan."""
    return repr(one) == repr(two)


@pytest.mark.parametrize("text", ALL)
def test_the_difference_is_that_of_two_evaluations(text):
    seen, quantity = world(), asked(text)
    a, b = (Estimator(seen.side(side)).ask(quantity).value for side in ("a", "b"))
    assert compare_counts(seen, quantity, method="normal").difference == pytest.approx(a - b, abs=1e-14)


@pytest.mark.parametrize("name", ["expected_cost", "total_cost"])
def test_costs_differ_as_two_evaluations_do(name):
    seen, quantity = world(), Quantity(find(name, costs=COSTS))
    a, b = (Estimator(seen.side(side)).ask(quantity).value for side in ("a", "b"))
    found = compare_counts(seen, quantity)
    assert found.difference == pytest.approx(a - b)
    assert found.low < found.difference < found.high


@pytest.mark.parametrize("name", COUNTED)
def test_every_measure_of_counts_can_be_compared(name):
    measure = COUNTED[name]
    costs = COSTS if measure.kind == "cost" else None
    quantity = Quantity(find(name, costs=costs), class_=1 if measure.scope == "class" and not measure.overall else None)
    found = compare_counts(world(), quantity)
    assert found.low <= found.difference <= found.high
    assert 0 < found.p <= 1


# Where the default method is asked for by its parts.
@pytest.mark.parametrize(
    ("text", "method", "interval"),
    [
        ("accuracy", "mcnemar", "tango"),
        ("error_rate", "mcnemar", "tango"),
        ("micro f1", "mcnemar", "tango"),
        ("weighted recall", "mcnemar", "tango"),
        ("predicted_positive_rate[0]", "mcnemar", "tango"),
        ("recall[1]", "dirichlet", "dirichlet"),
        ("precision[1]", "dirichlet", "dirichlet"),
        ("macro f1", "dirichlet", "dirichlet"),
        ("kappa", "dirichlet", "dirichlet"),
    ],
)
def test_the_default_of_each_kind(text, method, interval):
    found = compare_counts(world(), asked(text))
    assert (found.method, found.interval_method) == (method, interval)


def test_accuracy_is_mcnemars_test():
    seen = world()
    assert compare_counts(seen, asked("accuracy")) == mcnemar(seen.only_a, seen.only_b, seen.n)
    turned = compare_counts(seen, asked("error_rate"))
    assert turned.difference == -mcnemar(seen.only_a, seen.only_b, seen.n).difference


def test_recall_is_a_share_of_the_cases_of_its_class():
    seen = world()
    truth, a, b = rows(seen)
    of_class = truth == 1
    only_a, only_b = (int((of_class & (x == 1) & (y != 1)).sum()) for x, y in ((a, b), (b, a)))
    found = compare_counts(seen, asked("recall[1]"), method="mcnemar")
    assert found == mcnemar(only_a, only_b, int(of_class.sum()))


def test_the_normal_interval_of_accuracy_is_the_textbooks():
    seen = world()
    b, c, n = seen.only_a, seen.only_b, seen.n
    error = math.sqrt(b + c - (b - c) ** 2 / n) / n
    found = compare_counts(seen, asked("accuracy"), method="normal")
    assert found.statistic == pytest.approx((b - c) / n / error)
    assert found.p == pytest.approx(2 * stats.norm.sf(abs((b - c) / n / error)))
    assert found.high - found.difference == pytest.approx(stats.norm.ppf(0.975) * error)


@pytest.mark.parametrize("text", ["macro f1", "kappa", "matthews", "f1[1]", "weighted f1", "quadratic_kappa"])
def test_the_delta_method_agrees_with_the_jackknife(text):
    seen, quantity = world(400), asked(text)
    values = []
    for cell in range(len(seen.counts)):
        counts = seen.counts.copy()
        counts[cell] -= 1
        less = make_paired_quantity(PairCounts(seen.labels, seen.truth, seen.a, seen.b, counts), quantity).values
        values.append(less[0] - less[1])
    n = seen.n
    mean = np.average(values, weights=seen.counts)
    variance = (n - 1) / n * (seen.counts * (np.array(values) - mean) ** 2).sum()
    found = compare_counts(seen, quantity, method="normal")
    assert abs(found.difference / found.statistic) == pytest.approx(math.sqrt(variance), rel=0.02)


def test_the_bootstrap_is_that_of_the_cases():
    seen = world(200)
    truth, a, b = rows(seen)
    rng = np.random.default_rng(5)
    drawn = []
    for _ in range(1000):
        pick = rng.integers(0, len(truth), len(truth))
        drawn.append(macro_f1(truth[pick], a[pick]) - macro_f1(truth[pick], b[pick]))
    found = compare_counts(seen, asked("macro f1"), method="bootstrap", replicates=9999)
    error = float(np.std(drawn))
    assert (found.low, found.high) == pytest.approx(tuple(np.quantile(drawn, [0.025, 0.975])), abs=0.25 * error)


def test_the_permutation_is_that_of_the_cases():
    seen = world(120)
    truth, a, b = rows(seen)
    rng = np.random.default_rng(5)
    observed = abs(macro_f1(truth, a) - macro_f1(truth, b))
    hits, times = 0, 1500
    for _ in range(times):
        swap = rng.random(len(truth)) < 0.5
        one, two = np.where(swap, b, a), np.where(swap, a, b)
        gap = abs(macro_f1(truth, one) - macro_f1(truth, two))
        hits += gap >= observed - 1e-12
    found = compare_counts(seen, asked("macro f1"), method="permutation", replicates=9999)
    assert found.p == pytest.approx(hits / times, abs=4 * math.sqrt(0.25 / times))
    assert found.interval_method == "dirichlet"


def test_a_permutation_of_accuracy_is_the_exact_test():
    seen = world(150)
    exact = compare_counts(seen, asked("accuracy"), method="mcnemar-exact").p
    found = compare_counts(seen, asked("accuracy"), method="permutation", replicates=20_000)
    assert found.p == pytest.approx(exact, abs=0.02)


def test_the_posterior_of_two_classes_has_half_a_case_in_each_of_eight_cells():
    seen = PairCounts.of(np.array([0, 1, 1, 1]), np.array([0, 1, 1, 0]), np.array([0, 1, 0, 0]), (0, 1))
    rng = np.random.default_rng(3)
    shapes = np.full(8, 0.5)
    np.add.at(shapes, seen.truth * 4 + seen.a * 2 + seen.b, seen.counts)
    table = rng.dirichlet(shapes, 200_000).reshape(-1, 2, 2, 2)
    differences = (table[:, 1, 1, :].sum(axis=1) - table[:, 1, :, 1].sum(axis=1)) / table[:, 1].sum(axis=(1, 2))
    found = compare_counts(seen, asked("recall[1]"))
    assert (found.low, found.high) == pytest.approx(tuple(np.quantile(differences, [0.025, 0.975])), abs=0.02)
    below = (differences <= 0).mean()
    assert found.p == pytest.approx(2 * min(below, 1 - below), abs=0.03)


def test_the_posterior_of_more_classes_has_one_case_in_all():
    seen = world(40)
    rng = np.random.default_rng(3)
    shapes = np.full(27, 1 / 27)
    np.add.at(shapes, (seen.truth * 3 + seen.a) * 3 + seen.b, seen.counts)
    table = rng.dirichlet(shapes, 100_000).reshape(-1, 3, 3, 3)
    right = [table.sum(axis=axis)[:, range(3), range(3)].sum(axis=1) for axis in (3, 2)]
    limits = np.quantile(right[0] - right[1], [0.025, 0.975])
    found = compare_counts(seen, asked("accuracy"), method="dirichlet")
    assert (found.low, found.high) == pytest.approx(tuple(limits), abs=0.01)


@pytest.mark.parametrize("method", ["bootstrap", "permutation"])
def test_large_tables_are_drawn_as_small_ones_are(method, monkeypatch):
    # Ten classes: cells of every size, most of them small.
    seen, quantity = world(20_000, 10, accuracy=(0.9, 0.895)), read_quantity("macro f1")
    monkeypatch.setattr(joint_tables, "EXACT_NUMBERS", 0)
    fast = compare_counts(seen, quantity, method=method, replicates=4000)
    monkeypatch.setattr(joint_tables, "EXACT_NUMBERS", 10**12)
    exact = compare_counts(seen, quantity, method=method, replicates=4000)
    assert fast != exact
    width = exact.high - exact.low
    assert (fast.low, fast.high) == pytest.approx((exact.low, exact.high), abs=0.06 * width)
    assert fast.p == pytest.approx(exact.p, abs=0.03)


def test_tables_of_quantiles_have_the_moments_of_their_distributions():
    for table, spread in ((joint_tables.poisson_quantiles(), 1.0), (joint_tables.coin_quantiles(), 0.25)):
        for count in range(1, joint_tables.NORMAL_FROM):
            mean = count if spread == 1 else count / 2
            assert table[count].mean() == pytest.approx(mean, abs=0.002)
            assert table[count].astype(float).var() == pytest.approx(spread * count, rel=0.01)


def test_many_classes_take_no_cubic_array():
    # 1,000³ counts would be 8 GB; this ran out of memory or time if any such array were made.
    k = 1000
    rng = np.random.default_rng(0)
    truth = rng.integers(0, k, 4000)
    a, b = (np.where(rng.random(4000) < share, truth, rng.integers(0, k, 4000)) for share in (0.9, 0.8))
    seen = PairCounts.of(truth, a, b, tuple(range(k)))
    for method in ("dirichlet", "normal", "permutation"):
        found = compare_counts(seen, read_quantity("macro f1"), method=method, replicates=200)
        assert found.p < 0.05
        assert found.low < found.difference < found.high
    for text in ("linear_kappa", "kappa"):
        assert compare_counts(seen, read_quantity(text), method="bootstrap", replicates=50).low > 0


def test_more_cells_than_are_drawn_get_the_closed_form():
    rng = np.random.default_rng(0)
    truth, a, b = rng.integers(0, 2000, (3, 21_000))
    seen = PairCounts.of(truth, a, b, tuple(range(2000)))
    assert compare_counts(seen, read_quantity("macro f1")).method == "normal"


@settings(max_examples=15, deadline=None)
@given(
    st.lists(st.tuples(*[st.integers(0, 2)] * 3), min_size=1, max_size=40),
    st.sampled_from(ALL),
    st.sampled_from([None, *OF_ANY]),
)
def test_swapping_the_two_turns_the_signs_and_nothing_else(cases, text, method):
    truth, a, b = np.array(cases).T
    one = compare_counts(PairCounts.of(truth, a, b, (0, 1, 2)), asked(text), method=method, replicates=99)
    two = compare_counts(PairCounts.of(truth, b, a, (0, 1, 2)), asked(text), method=method, replicates=99)
    expected = (-two.difference, -two.high, -two.low, two.p)
    assert (one.difference, one.low, one.high, one.p) == pytest.approx(expected, abs=1e-12, nan_ok=True)


@pytest.mark.parametrize(
    ("text", "method"),
    [*(("accuracy", method) for method in (*OF_SHARES, *OF_ANY)), *(("macro f1", method) for method in OF_ANY)],
)
def test_identical_predictions(text, method):
    truth = np.repeat([0, 1, 2], 20)
    answer = np.where(np.arange(60) % 7 == 0, 0, truth)
    found = compare_counts(PairCounts.of(truth, answer, answer, (0, 1, 2)), asked(text), method=method)
    assert (found.difference, found.p) == (0, 1)
    assert found.low <= 0 <= found.high
    assert "same prediction" in found.note


def test_what_has_no_value_says_which_and_why():
    truth, a, b = np.array([0, 0, 1]), np.array([0, 1, 1]), np.array([0, 0, 0])
    found = compare_counts(PairCounts.of(truth, a, b, (0, 1)), asked("precision[1]"))
    assert np.isnan([found.difference, found.low, found.high, found.p]).all()
    assert found.undefined == "B: nothing was predicted positive"
    empty = np.array([], dtype=np.int64)
    for text in ("accuracy", "macro f1"):
        nothing = compare_counts(PairCounts.of(empty, empty, empty, (0, 1, 2)), asked(text))
        assert (nothing.n, nothing.undefined) == (0, "there are no cases")


def test_undefined_draws_are_set_aside():
    truth, a, b = np.array([0, 0, 0, 1]), np.array([0, 1, 0, 1]), np.array([0, 0, 1, 1])
    found = compare_counts(PairCounts.of(truth, a, b, (0, 1)), asked("recall[1]"), method="bootstrap")
    assert "set aside" in found.note
    assert not math.isnan(found.p)


def test_one_case_is_no_proof():
    seen = PairCounts.of(np.array([1]), np.array([1]), np.array([0]), (0, 1))
    assert compare_counts(seen, asked("accuracy")).p == 0.5
    assert "says nothing" in compare_counts(seen, asked("accuracy"), method="normal").note


def test_the_seed_decides_and_nothing_else():
    seen, quantity = world(100), asked("macro f1")
    for method in ("dirichlet", "bootstrap", "permutation"):
        one, two, other = (compare_counts(seen, quantity, method=method, seed=seed) for seed in (1, 1, 2))
        assert same(one, two)
        assert not same(one, other)


def test_a_class_that_is_never_met_changes_no_average():
    seen = world(100)
    wider = PairCounts((0, 1, 2, 3, 4), seen.truth, seen.a, seen.b, seen.counts)
    for method in OF_ANY:
        one, two = (compare_counts(pairs, asked("macro f1"), method=method, replicates=200) for pairs in (seen, wider))
        assert same(one, two)


def test_averages_over_small_classes_warn():
    assert "10 cases to a class" in compare_counts(world(29), asked("macro f1")).note
    for text, n, method in (("macro f1", 30, None), ("kappa", 29, None), ("macro f1", 29, "permutation")):
        assert "to a class" not in compare_counts(world(n), asked(text), method=method).note


def test_a_p_that_no_draw_reaches_says_so():
    seen = world(2000, accuracy=(0.95, 0.6))
    found = compare_counts(seen, asked("kappa"))
    assert "so p is that of a normal distribution" in found.note
    # Small enough to survive a correction for thousands of pairs, which the number of draws alone would not allow.
    assert found.p < 1e-6


def test_options_that_do_not_fit_are_refused():
    seen = world(50)
    with pytest.raises(OptionError, match="shares of the same cases") as caught:
        compare_counts(seen, asked("macro f1"), method="tango")
    assert "dirichlet" in caught.value.hint
    with pytest.raises(OptionError, match="does not work on counted"):
        compare_counts(seen, asked("accuracy"), method=COCHRAN.name)
    with pytest.raises(OptionError, match="bootstrap"):
        compare_counts(seen, asked("accuracy"), method="bootstrp")
    with pytest.raises(OptionError, match="measure of scores"):
        compare_counts(seen, asked("roc_auc"))
    with pytest.raises(OptionError, match="one class"):
        compare_counts(seen, asked("recall"))
    with pytest.raises(MatrixError, match="no class"):
        compare_counts(seen, Quantity(find("recall"), class_="cat"))
    wrongs: list[dict[str, Any]] = [{"level": 95}, {"seed": -1}, {"replicates": 0}]
    for wrong in wrongs:
        with pytest.raises(OptionError):
            compare_counts(seen, asked("accuracy"), **wrong)


def test_newcombes_interval_of_paired_shares():
    # Altman et al. (2000), Statistics with Confidence, table 6.2: .122, from .011 to .226.
    assert newcombe_limits(Shares(14, 5, 0, 41)) == pytest.approx((0.011, 0.226), abs=0.0006)
    # Without correlation, as where a margin is empty, it is the interval of two independent shares.
    low, high = newcombe_limits(Shares(0, 30, 0, 30))
    assert low == pytest.approx(1 - math.hypot(1 - 0.8865, 1 - 0.8865), abs=1e-4)
    assert high == 1
    assert newcombe_limits(Shares(0, 0, 0, 0)) == (-1, 1)
    big = newcombe_limits(Shares(10**9, 10**8, 10**8, 2 * 10**9))
    assert big == pytest.approx((-big[1], big[1]))


@given(st.integers(0, 30), st.integers(0, 30), st.integers(0, 30), st.integers(0, 30))
def test_newcombes_interval_holds_the_difference_and_turns(both, b, c, neither):
    n = both + b + c + neither
    low, high = newcombe_limits(Shares(both, b, c, n))
    other = newcombe_limits(Shares(both, c, b, n))
    if n:
        assert -1 <= low <= (b - c) / n <= high <= 1
    assert (low, high) == pytest.approx((-other[1], -other[0]), abs=1e-12)


def test_measures_of_different_positive_classes_are_refused():
    truth, a, b = [0, 1, 1, 0, 1, 0] * 5, [0, 1, 0, 0, 1, 1] * 5, [1, 1, 1, 0, 1, 0] * 5
    sides = {"a": heldout.evaluate(truth, a, positive=1), "b": heldout.evaluate(truth, b, positive=0)}
    for measures in ("f1", ["accuracy", "recall"], None):
        with pytest.raises(OptionError, match="The positive classes are not the same: a has 1, b has 0"):
            heldout.compare(sides, measures=measures)
    # What names its class, or has none, is the same for both.
    for measures, name in (("f1[0]", "f1[0]"), ("accuracy", "accuracy"), ("macro f1", "macro f1")):
        assert heldout.compare(sides, measures=measures).pairs[0].name == name  # type: ignore[attr-defined]


@pytest.mark.parametrize("method", [None, *OF_ANY])
def test_at_every_level_that_is_allowed_a_comparison_ends(method, monkeypatch):
    # Draws that grow with the level would be a hundred million.
    sizes: list[int] = []
    differences = joint_tables.PairedQuantity.differences

    def counting(self, draw, size, cells):
        sizes.append(size)
        return differences(self, draw, size, cells)

    monkeypatch.setattr(joint_tables.PairedQuantity, "differences", counting)
    found = [compare_counts(world(), asked("f1[1]"), method=method, level=at) for at in (LEAST_LEVEL, 0.95, MOST_LEVEL)]
    widths = [one.high - one.low for one in found]
    assert widths == sorted(widths)
    assert widths[2] > 1.5 * widths[1]
    assert max(sizes, default=0) <= 200_000
