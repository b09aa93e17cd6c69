"""The search finds what going through all slices by hand finds, and seldom finds what is not there."""

from __future__ import annotations

import itertools
import math

import numpy as np
import polars as pl
import pytest
from scipy import stats
from statsmodels.stats.multitest import multipletests

from heldout import evaluate
from heldout.errors import ColumnError, OptionError
from heldout.results.slices import verdict

RNG = np.random.default_rng(21)


def cases(n=3000, seed=0, effect=0.25, **more):
    rng = np.random.default_rng(seed)
    columns = {
        "sex": rng.choice(["f", "m"], n),
        "region": rng.choice(["north", "south", "east"], n, p=[0.5, 0.3, 0.2]),
        "device": rng.choice(["old", "new", "beta"], n, p=[0.3, 0.6, 0.1]),
    }
    bad = (columns["sex"] == "f") & (columns["device"] == "old")
    truth = rng.integers(0, 2, n)
    wrong = rng.random(n) < np.where(bad, 0.1 + effect, 0.1)
    return truth, np.where(wrong, 1 - truth, truth), columns, more


def tail(inside, outside):
    """Twice the smaller tail of Fisher's exact test, by SciPy; `inside` and `outside` are where it is wrong."""
    known = stats.hypergeom(len(inside) + len(outside), inside.sum() + outside.sum(), len(inside))
    return min(1.0, 2 * min(known.cdf(inside.sum()), known.sf(inside.sum() - 1)))


def by_hand(wrong, columns, least=30, level=0.95):
    """Every candidate as (names, values) → (excess, p, beyond its parents)."""
    found: dict[tuple[tuple[str, ...], tuple[str, ...]], tuple[float, float, bool]] = {}
    for name, held in columns.items():
        for value in np.unique(held):
            rows = held == value
            if min(rows.sum(), (~rows).sum()) >= least:
                excess = wrong[rows].sum() - rows.sum() * wrong[~rows].mean()
                found[(name,), (value,)] = excess, tail(wrong[rows], wrong[~rows]), True
    for one, two in itertools.combinations(columns, 2):
        for pair in itertools.product(np.unique(columns[one]), np.unique(columns[two])):
            parents = columns[one] == pair[0], columns[two] == pair[1]
            rows = parents[0] & parents[1]
            others = [~rows, *(parent & ~rows for parent in parents)]
            if min(rows.sum(), *(other.sum() for other in others)) < least:
                continue
            excess = wrong[rows].sum() - rows.sum() * wrong[~rows].mean()
            worse = all(wrong[rows].mean() > wrong[other].mean() for other in others)
            p = max(tail(wrong[rows], wrong[other]) for other in others) if worse else 1.0
            found[(one, two), pair] = excess, p, worse and p <= 1 - level
    return found


@pytest.mark.parametrize("effect", [0.0, 0.08, 0.25])
@pytest.mark.parametrize("seed", range(4))
def test_the_search_agrees_with_going_through_all_slices_by_hand(seed, effect):
    truth, predicted, columns, _ = cases(seed=seed, effect=effect)
    found = evaluate(truth, predicted, slices=columns).worst_slices(most=1000)
    expected = by_hand(truth != predicted, columns)
    assert found.searched == len(expected)
    listed = {key: value for key, value in expected.items() if value[0] > 0 and value[2]}
    order = sorted(listed, key=lambda key: -listed[key][0])
    assert [(one.columns, tuple(one.values)) for one in found] == order
    p_values = [value[1] for value in expected.values()]
    corrected = dict(zip(expected, multipletests(p_values, method="holm")[1], strict=True))
    for one in found:
        excess, p, _ = expected[one.columns, one.values]
        assert one.excess == pytest.approx(excess)
        assert one.tested.p == pytest.approx(p, rel=1e-6)
        # Slices whose p is above 1 − level may be left at a bound; none of those can become clear.
        assert one.clear == (corrected[one.columns, one.values] <= 0.05)
    assert found.n_worse == sum(one.worse for one in found)


def test_a_slice_of_two_columns_is_found_beyond_its_parents():
    truth, predicted, columns, _ = cases(effect=0.3)
    found = evaluate(truth, predicted, slices=columns).worst_slices()
    pairs = [one for one in found if len(one.columns) == 2 and one.worse]
    assert [(one.columns, one.values) for one in pairs] == [(("sex", "device"), ("f", "old"))]


def test_where_one_column_explains_it_no_pair_is_called_worse():
    # Errors depend on sex alone: each pair with it is worse than the rest, and none worse than its parent.
    false = 0
    for seed in range(60):
        rng = np.random.default_rng(seed)
        sex, other = rng.choice(["f", "m"], 1500), rng.choice(list("abcd"), 1500)
        wrong = (rng.random(1500) < np.where(sex == "f", 0.4, 0.1)).astype(int)
        found = evaluate(np.zeros(1500, dtype=int), wrong, labels=[0, 1], measures="accuracy",
                         slices={"sex": sex, "other": other}).worst_slices()  # fmt: skip
        assert found.slices[0].values == ("f",)
        false += any(len(one.columns) == 2 and one.worse for one in found)
    assert false / 60 <= 0.05 + 3 * math.sqrt(0.05 * 0.95 / 60)


@pytest.mark.parametrize("rate", [0.02, 0.3])
def test_where_nothing_differs_any_claim_is_rare(rate):
    claims = {"every slice": 0, "search": 0}
    trials = 150
    rng = np.random.default_rng(99)
    for _ in range(trials):
        n = 1200
        columns = {name: rng.choice(list("abcdef"), n) for name in ("one", "two", "three")}
        wrong = (rng.random(n) < rate).astype(int)
        found = evaluate(np.zeros(n, dtype=int), wrong, labels=[0, 1], measures="accuracy", slices=columns)
        claims["every slice"] += bool(found.slices().clear)
        claims["search"] += bool(found.worst_slices().clear)
    for number in claims.values():
        assert number / trials <= 0.05 + 3 * math.sqrt(0.05 * 0.95 / trials)


def test_small_slices_are_not_searched_but_are_in_the_table():
    truth, predicted, *_ = cases(n=400)
    for few, searched in ((29, 0), (30, 2)):
        rare = np.where(np.arange(400) < few, "few", "many")
        evaluation = evaluate(truth, np.where(rare == "few", 1 - truth, predicted), slices={"rare": rare})
        assert evaluation.worst_slices().searched == searched
        assert any(one.values == ("few",) and one.cases == few and one.worse for one in evaluation.slices())
        assert any("few" in one.values for one in evaluation.worst_slices()) == (searched > 0)


def test_the_order_of_the_rows_does_not_matter():
    truth, predicted, columns, _ = cases()
    order = RNG.permutation(len(truth))
    one = evaluate(truth, predicted, slices=columns)
    two = evaluate(truth[order], predicted[order], slices={name: held[order] for name, held in columns.items()})
    for name in ("slices", "worst_slices"):
        assert getattr(one, name)().rows() == getattr(two, name)().rows()


@pytest.mark.parametrize("measure", ["recall", "macro f1", "precision[0]", "matthews", "kappa", "expected_cost"])
def test_any_measure_of_counts_can_be_searched(measure):
    truth, predicted, columns, _ = cases(effect=0.35)
    evaluation = evaluate(truth, predicted, slices=columns, costs={(1, 0): 5, (0, 1): 1})
    found = evaluation.worst_slices(measure)
    assert {"f", "old"} & set(found.slices[0].values)
    assert found.slices[0].worse
    every = evaluation.slices(measure)
    assert len(every) == 8
    assert all(one.tested.low <= one.tested.difference <= one.tested.high for one in every)


def test_scores_are_measured_by_slice_and_compared_with_the_rest():
    rng = np.random.default_rng(6)
    truth, sex = rng.integers(0, 2, 2000), rng.choice(["f", "m"], 2000)
    score = rng.random(2000) * 0.5 + 0.4 * truth * (sex == "m")
    evaluation = evaluate(truth, score=score, slices={"sex": sex})
    women, men = evaluation.slices("roc_auc")
    for one, value in ((women, "f"), (men, "m")):
        alone = evaluate(truth[sex == value], score=score[sex == value])["roc_auc"]
        assert (one.estimate.value, one.estimate.low, one.estimate.high) == pytest.approx(
            (alone.value, alone.low, alone.high)
        )
    assert women.tested.difference == pytest.approx(-men.tested.difference)
    assert (women.verdict, men.verdict) == ("clearly worse than the rest", "clearly better than the rest")
    with pytest.raises(OptionError, match="measure of scores"):
        evaluation.worst_slices("roc_auc")
    assert len(evaluation.slices("brier")) == 2


def test_predictions_of_several_models_have_intervals_and_no_p():
    truth, predicted, columns, _ = cases(n=600)
    evaluation = evaluate(truth, predicted, slices=columns, fold=np.arange(600) % 5)
    for found in (evaluation.slices(), evaluation.worst_slices()):
        assert all(math.isnan(one.p_corrected) and one.verdict == "not tested" for one in found)
        assert all(one.estimate.low < one.estimate.high for one in found)
        assert any("share training cases" in note for note in found.notes)
    assert evaluation.review["H021"].outcome == "not applicable"


def test_weights_and_groups_say_what_is_done():
    truth, predicted, columns, _ = cases(effect=0.4)
    weighted = evaluate(truth, predicted, slices=columns, weight=RNG.integers(1, 5, len(truth)))
    assert any("effective number" in note for note in weighted.slices().notes)
    assert {"f", "old"} & set(weighted.worst_slices().slices[0].values)
    grouped = evaluate(truth, predicted, slices=columns, group=np.arange(len(truth)) // 10)
    assert any("over groups" in note for note in grouped.slices().notes)
    assert {"f", "old"} & set(grouped.worst_slices().slices[0].values)


def test_equal_weights_change_no_difference():
    truth, predicted, columns, _ = cases(n=500)
    plain = evaluate(truth, predicted, slices=columns).slices()
    doubled = evaluate(truth, predicted, slices=columns, weight=np.full(500, 2.0)).slices()
    for one, two in zip(plain, doubled, strict=True):
        assert one.estimate.value == pytest.approx(two.estimate.value)
        assert one.tested.difference == pytest.approx(two.tested.difference)
        assert (one.tested.low, one.tested.high) == pytest.approx((two.tested.low, two.tested.high), abs=0.01)


def test_columns_can_be_chosen_and_must_exist():
    truth, predicted, columns, _ = cases(n=200)
    evaluation = evaluate(truth, predicted, slices=columns)
    assert {one.columns for one in evaluation.slices(columns="sex")} == {("sex",)}
    assert evaluation.slices(columns=["sex"]).searched == 2
    with pytest.raises(ColumnError, match="did you mean 'region'"):
        evaluation.slices(columns="regin")
    with pytest.raises(OptionError, match="no slices"):
        evaluate(truth, predicted).slices()
    with pytest.raises(OptionError, match="no slices"):
        evaluate(matrix=[[5, 1], [1, 5]]).worst_slices()
    with pytest.raises(OptionError, match="depth 2"):
        evaluation.worst_slices(depth=3)
    with pytest.raises(OptionError, match="no better and worse"):
        evaluation.worst_slices("prevalence")


def test_a_column_of_one_value_has_no_rest():
    found = evaluate([0, 1, 1], [0, 1, 0], slices={"x": ["same"] * 3}).slices()
    assert found.slices[0].verdict == "undefined"
    assert "all cases" in found.slices[0].tested.undefined


def test_rows_are_flat_and_bind(tmp_path):
    truth, predicted, columns, _ = cases(n=300)
    evaluation = evaluate(truth, predicted, slices=columns)
    rows = evaluation.slices().rows()
    assert list(rows[0])[:9] == ["measure", "class", "average", "value", "low", "high", "level", "method", "n"]
    frame = evaluation.slices().to_frame()
    assert frame["share"].sum() == pytest.approx(3.0)
    assert isinstance(evaluation.worst_slices().to_frame(), pl.DataFrame)
    assert evaluation.to_dict()["slices"][0]["column"] == "sex"
    assert "slices" not in evaluate(truth, predicted).to_dict()
    assert evaluation.slices().write(tmp_path / "slices.html").exists()


@pytest.mark.parametrize(
    ("difference", "p", "direction", "said"),
    [
        (0.1, 0.01, "higher", "clearly better than the rest"),
        (-0.1, 0.01, "higher", "clearly worse than the rest"),
        (0.1, 0.01, "none", "clearly higher than the rest"),
        (0.1, 0.06, "higher", "no clear difference"),
        (0.1, math.nan, "higher", "not tested"),
        (math.nan, math.nan, "higher", "undefined"),
    ],
)
def test_the_verdict_follows_the_corrected_p_and_the_direction(difference, p, direction, said):
    assert verdict(difference, p, direction, 0.95) == said
