"""Interval methods against SciPy's bootstrap and against formulas written out here: groups, weights, resampling."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy import stats
from tests.intervals.group_oracle import class_parts, deviations, spread

from heldout import Confusion, count, evaluate
from heldout.arguments import LEAST_LEVEL, MOST_LEVEL
from heldout.errors import OptionError
from heldout.intervals.count_estimator import Estimator
from heldout.intervals.draws import order_limits, posterior_draws, posterior_limits
from heldout.intervals.methods import METHODS
from heldout.measures.catalogue import find, read_quantity

Z = float(stats.norm.ppf(0.975))


def sample(n: int, classes: int, right: float, seed: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    truth = rng.choice(classes, n, p=np.arange(classes, 0, -1) / np.arange(classes, 0, -1).sum())
    return truth, np.where(rng.random(n) < right, truth, rng.integers(0, classes, n))


def macro_f1(truth: np.ndarray, predicted: np.ndarray, axis: int = -1) -> np.ndarray:
    """Macro F1 over the classes 0, 1, 2, straight from the rows."""
    scores = []
    for c in range(3):
        hits = ((truth == c) & (predicted == c)).sum(axis=axis)
        scores.append(2 * hits / ((truth == c).sum(axis=axis) + (predicted == c).sum(axis=axis)))
    return np.asarray(np.mean(scores, axis=0))


@pytest.mark.parametrize(("ours", "theirs"), [("bootstrap", "percentile"), ("bca", "BCa")])
@pytest.mark.parametrize("level", [0.95, 0.8])
@pytest.mark.parametrize(("n", "right", "seed"), [(200, 0.7, 1), (80, 0.93, 4)])
def test_bootstrap_agrees_with_scipy_over_rows(
    ours: str, theirs: Any, level: float, n: int, right: float, seed: int
) -> None:
    truth, predicted = sample(n, 3, right, seed)
    # Two runs of 9,999 resamples: the 2.5 % point of each has a standard error of about .027 standard errors of
    # macro F1 (.035), so the two differ by .0013 or so; .005 is four times that. The second sample is so near to 1
    # that the bias and the acceleration move the lower limit by .03.
    found = evaluate(truth, predicted, measures="accuracy", replicates=9999).interval(
        "macro f1", method=ours, level=level
    )
    wanted = stats.bootstrap(
        (truth, predicted),
        macro_f1,
        paired=True,
        n_resamples=9999,
        batch=2000,
        confidence_level=level,
        method=theirs,
        rng=np.random.default_rng(5),
    ).confidence_interval
    assert found.value == pytest.approx(float(macro_f1(truth, predicted)), abs=1e-12)
    assert (found.low, found.high) == pytest.approx((wanted.low, wanted.high), abs=0.005)


def test_bca_is_not_the_percentile_interval() -> None:
    # A skewed statistic, so that the test above can tell the two apart.
    result = evaluate(matrix=[[4, 1], [2, 43]], measures="accuracy", replicates=9999)
    plain, corrected = (result.interval("accuracy", method=method) for method in ("bootstrap", "bca"))
    assert corrected.low < plain.low - 0.01


def test_bootstrap_of_accuracy_has_binomial_quantiles() -> None:
    found = evaluate(matrix=[[60, 10], [15, 115]], replicates=9999).interval("accuracy", method="bootstrap")
    exact = stats.binom.ppf([0.025, 0.975], 200, 0.875) / 200
    assert (found.low, found.high) == pytest.approx(exact, abs=0.0051)  # one case more or less


@pytest.mark.parametrize("name", ["recall[1]", "matthews[1]", "accuracy", "macro f1"])
def test_weighted_bootstrap_is_centred_on_the_estimate(name: str) -> None:
    # Seven rows whose weights leave a fractional number of cases in every cell.
    truth, predicted = np.tile([1, 1, 1, 0, 0, 0, 0], 3), np.tile([1, 1, 0, 0, 0, 0, 1], 3)
    weight = np.tile([1.0, 1.3, 0.7, 1.1, 0.9, 1.2, 0.8], 3)
    estimator = Estimator(count(truth, predicted, weight=weight).confusion, replicates=9999, level=0.02)
    found = estimator.ask(read_quantity(name, [0, 1]), "bootstrap")
    # At a level of 2 % both limits are next to the median.
    assert (found.low + found.high) / 2 == pytest.approx(found.value, abs=0.035)


def grouped(seed: int = 3) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """25 groups of 1 to 12 rows, some good and some bad."""
    rng = np.random.default_rng(seed)
    sizes = rng.integers(1, 13, 25)
    group = np.repeat(np.arange(25), sizes)
    skill = rng.beta(4, 1.5, 25)[group]
    truth = rng.integers(0, 3, len(group))
    return truth, np.where(rng.random(len(group)) < skill, truth, rng.integers(0, 3, len(group))), group


def logit_limits(value: float, variance: float, critical: float) -> tuple[float, float]:
    middle, half = math.log(value / (1 - value)), critical * math.sqrt(variance) / (value * (1 - value))
    low, high = (1 / (1 + math.exp(-(middle + sign * half))) for sign in (-1, 1))
    return low, high


@pytest.mark.parametrize("level", [0.95, 0.9])
def test_cluster_logit_of_accuracy_leaves_out_one_group_after_the_other(level: float) -> None:
    truth, predicted, group = grouped()
    right = (truth == predicted).astype(float)
    p, n, groups = right.mean(), len(truth), 25
    influence = (right - p) / n
    ones = np.ones(n)
    _, df = spread(influence, group, class_parts(influence, truth, ones, group), deviations(influence, truth, ones))
    found = evaluate(truth, predicted, group=group, level=level)["accuracy"]
    assert found.n == n
    half = math.log(found.high / (1 - found.high)) - math.log(p / (1 - p))
    error = half * p * (1 - p) / float(stats.t.ppf((1 + level) / 2, df))
    # A mean rests on groups by their sizes, and by classes here only because these have different errors.
    deleted = np.array([right[group != g].mean() for g in range(groups)])
    jackknife = math.sqrt((groups - 1) / groups * ((deleted - p) ** 2).sum())
    assert error == pytest.approx(jackknife, rel=0.005)
    plain = math.sqrt(groups / (groups - 1) * sum(influence[group == g].sum() ** 2 for g in range(groups)))
    assert abs(error - plain) > 2 * abs(error - jackknife)


def test_groups_of_one_size_have_the_usual_sandwich() -> None:
    rng = np.random.default_rng(4)
    group = np.repeat(np.arange(12), 6)
    right = rng.random(72) < rng.beta(4, 2, 12)[group]
    # One class, so that the shares of the groups are those of the rows.
    truth, p = np.zeros(72, dtype=int), right.mean()
    found = evaluate(truth, np.where(right, 0, 1), group=group, labels=[0, 1])["accuracy"]
    variance = 12 / 11 * sum((right[group == g].sum() - 6 * p) ** 2 for g in range(12)) / 72**2
    wanted = logit_limits(p, variance, float(stats.t.ppf(0.975, 11)))
    assert (found.low, found.high) == pytest.approx(wanted, abs=1e-10)


def test_cluster_logit_without_an_error_counts_groups() -> None:
    truth = np.tile([0, 1], 40)
    found = evaluate(truth, truth, group=np.repeat(np.arange(10), 8))["accuracy"]
    assert (round(found.low, 3), found.high) == (0.722, 1.0)
    assert found.low == pytest.approx(10 / (10 + Z**2), abs=1e-12)


def class_value(name: str, truth: np.ndarray, predicted: np.ndarray, weight: np.ndarray, c: int) -> float:
    """A measure of one class from weighted rows."""
    tp, fn, fp, tn = (
        weight[(truth == c) == is_true][((predicted == c) == is_found)[(truth == c) == is_true]].sum()
        for is_true, is_found in ((True, True), (True, False), (False, True), (False, False))
    )
    formulas: dict[str, Callable[[], float]] = {
        "precision": lambda: tp / (tp + fp),
        "specificity": lambda: tn / (tn + fp),
        "f1": lambda: 2 * tp / (2 * tp + fp + fn),
        "matthews": lambda: (tp * tn - fp * fn) / math.sqrt((tp + fp) * (tp + fn) * (tn + fp) * (tn + fn)),
        "prevalence": lambda: (tp + fn) / (tp + fn + fp + tn),
    }
    return float(formulas[name]())


@pytest.mark.parametrize("name", ["precision", "specificity", "f1", "matthews", "prevalence"])
@pytest.mark.parametrize("weighted", [False, True])
def test_cluster_logit_of_every_class_by_loops_over_rows_and_groups(name: str, *, weighted: bool) -> None:
    truth, predicted, group = grouped()
    base = np.random.default_rng(9).uniform(0.5, 2, len(truth)) if weighted else np.ones(len(truth))
    step = 1e-4
    result = evaluate(truth, predicted, group=group, weight=base if weighted else None)
    for c in range(3):
        value = class_value(name, truth, predicted, base, c)
        influence = np.zeros(len(truth))
        for row in range(len(truth)):
            # How the value moves as a row weighs a little more, by its own weight.
            rows = np.arange(len(truth)) == row
            moves = [np.where(rows, base * (1 + sign * step), base) for sign in (1, -1)]
            up, down = (class_value(name, truth, predicted, weight, c) for weight in moves)
            influence[row] = (up - down) / (2 * step)
        shares = class_parts(influence, truth == c, base, group)
        variance, df = spread(influence, group, shares, deviations(influence, truth == c, base))
        low, high = (-1.0, 1.0) if name == "matthews" else (0.0, 1.0)
        # Only groups with a case in the denominator know how such groups differ.
        behind = {"precision": predicted == c, "f1": (truth == c) | (predicted == c)}.get(name, truth >= 0)
        critical = float(stats.t.ppf(0.975, min(df, len(set(group[behind])) - 1)))
        ends = logit_limits((value - low) / (high - low), variance / (high - low) ** 2, critical)
        found = result.get(name, class_=c)
        assert found.value == pytest.approx(value, abs=1e-12)
        assert (found.low, found.high) == pytest.approx([low + (high - low) * end for end in ends], abs=1e-6)


def test_cluster_bootstrap_draws_whole_groups() -> None:
    truth, predicted, group = grouped()
    right = (truth == predicted).astype(float)
    sums, sizes = (np.bincount(group, weights=v) for v in (right, np.ones(len(group))))
    picks = np.random.default_rng(2).integers(0, 25, (9999, 25))
    wanted = np.quantile(sums[picks].sum(axis=1) / sizes[picks].sum(axis=1), [0.025, 0.975])
    result = evaluate(truth, predicted, group=group, measures="accuracy", replicates=9999)
    found = result.interval("accuracy", method="cluster-bootstrap")
    # Standard error .04, the 2.5 % points of two runs differ by about .0015.
    assert (found.low, found.high) == pytest.approx(wanted, abs=0.006)


def test_one_group_says_nothing() -> None:
    found = evaluate([0, 1, 1], [0, 1, 0], group=["g"] * 3)["accuracy"]
    assert (found.low, found.high) == (0.0, 1.0)


def wilson(p: float, n: float) -> tuple[float, float]:
    centre, half = p + Z**2 / (2 * n), Z * math.sqrt(p * (1 - p) / n + Z**2 / (4 * n**2))
    return (centre - half) / (1 + Z**2 / n), (centre + half) / (1 + Z**2 / n)


def effective(right: np.ndarray, weight: np.ndarray) -> tuple[float, float]:
    """The rate, and the smaller of Kish's and the linearised effective number."""
    p = float((weight * right).sum() / weight.sum())
    kish = weight.sum() ** 2 / (weight**2).sum()
    n = len(weight)
    variance = (weight**2 * (right - p) ** 2).sum() / weight.sum() ** 2 * n / (n - 1)
    return p, float(min(kish, p * (1 - p) / variance))


@pytest.mark.parametrize("errors", ["anywhere", "on heavy cases", "on light cases"])
def test_weighted_accuracy_is_wilson_with_the_effective_number(errors: str) -> None:
    rng = np.random.default_rng(4)
    weight = rng.lognormal(size=150)
    truth = rng.integers(0, 2, 150)
    order = np.argsort({"anywhere": rng.random(150), "on heavy cases": -weight, "on light cases": weight}[errors])
    predicted = truth.copy()
    predicted[order[:20]] = 1 - truth[order[:20]]
    p, n = effective((truth == predicted).astype(float), weight)
    found = evaluate(truth, predicted, weight=weight)["accuracy"]
    assert found.value == pytest.approx(p, abs=1e-12)
    assert (found.low, found.high) == pytest.approx(wilson(p, n), abs=1e-10)
    # Which of the two numbers is the smaller depends on where the errors sit.
    kish = weight.sum() ** 2 / (weight**2).sum()
    assert (n == kish) == (errors == "on light cases")


def test_weighted_recall_counts_the_positives_only() -> None:
    rng = np.random.default_rng(6)
    weight, truth = rng.lognormal(size=200), rng.integers(0, 2, 200)
    predicted = np.where(rng.random(200) < 0.8, truth, 1 - truth)
    here = truth == 1
    p, n = effective((predicted[here] == 1).astype(float), weight[here])
    found = evaluate(truth, predicted, weight=weight)["recall[1]"]
    assert (found.value, found.low, found.high) == pytest.approx((p, *wilson(p, n)), abs=1e-10)


def test_weights_of_one_cost_one_case() -> None:
    # The linearised number has the sample variance's n/(n - 1), so that weights of 1 leave n - 1 of n cases:
    # the interval is wider than the unweighted one by a factor of about 1 + 1/(2n). Kish's number is n.
    truth, predicted = sample(200, 3, 0.7, seed=1)
    bare = evaluate(truth, predicted)["accuracy"]
    ones, threes = (evaluate(truth, predicted, weight=np.full(200, w))["accuracy"] for w in (1.0, 3.0))
    assert (ones.low, ones.high) == pytest.approx(wilson(bare.value, 199), abs=1e-10)
    assert (threes.low, threes.high) == pytest.approx((ones.low, ones.high), abs=1e-12)
    assert bare.width < ones.width < bare.width * (1 + 1 / 200)
    # Without an error nothing can be linearised, and all n cases count.
    perfect = evaluate(truth, truth, weight=np.ones(200))["accuracy"]
    assert (perfect.low, perfect.high) == pytest.approx((200 / (200 + Z**2), 1.0), abs=1e-12)


@pytest.mark.parametrize("method", [name for name, method in METHODS.items() if not method.groups])
def test_weights_of_one_change_no_method_by_much(method: str) -> None:
    truth, predicted = sample(400, 3, 0.7, seed=8)
    bare, ones = count(truth, predicted).confusion, count(truth, predicted, weight=np.ones(400)).confusion
    names = ("accuracy", "recall[1]", "macro f1", "kappa", "lr+[1]", "expected cost", "no_information_rate")
    quantities = [read_quantity(name, bare.labels, costs=1.0 - np.eye(3)) for name in names]
    applicable = [each for each in quantities if METHODS[method].applies(Estimator(bare).subject(each))]
    assert applicable
    for quantity in applicable:
        one, other = (Estimator(seen, replicates=999).ask(quantity, method) for seen in (bare, ones))
        # 399 of 400 cases, or other draws: the standard error of a limit from 999 draws is .085 half-widths.
        assert other.low == pytest.approx(one.low, abs=0.25 * one.width / 2)
        assert other.high == pytest.approx(one.high, abs=0.25 * one.width / 2)
        assert other.method == f"{method}, effective n"


def test_normal_is_the_delta_method() -> None:
    # Of Youden's J of class 0: the variances of two independent rates add up.
    result = evaluate(matrix=[[40, 10], [20, 130]])
    error = math.sqrt(0.8 * 0.2 / 50 + (130 / 150) * (20 / 150) / 150)
    j = 0.8 + 130 / 150 - 1
    found = result.interval("informedness[0]", method="normal")
    assert (found.low, found.high) == pytest.approx((j - Z * error, j + Z * error), abs=1e-10)
    # And of the odds ratio on the log scale: Woolf's formula.
    log, woolf = math.log(40 * 130 / (10 * 20)), math.sqrt(1 / 40 + 1 / 10 + 1 / 20 + 1 / 130)
    found = result.interval("odds ratio[0]", method="logit")
    assert (math.log(found.low), math.log(found.high)) == pytest.approx((log - Z * woolf, log + Z * woolf), abs=1e-9)


def test_dirichlet_of_a_rate_is_its_beta_posterior() -> None:
    # Half a case in each cell of class 0 against the rest: recall ~ Beta(40.5, 10.5).
    found = evaluate(matrix=[[40, 10], [20, 130]]).interval("recall[0]", method="dirichlet")
    wanted = stats.beta.ppf([0.025, 0.975], 40.5, 10.5)
    assert (found.low, found.high) == pytest.approx(wanted, abs=0.006)
    # One case in all over the nine cells of three classes: accuracy ~ Beta(right + 1/3, wrong + 2/3).
    table = [[50, 0, 0], [0, 48, 2], [0, 4, 46]]
    found = evaluate(matrix=table).interval("accuracy", method="dirichlet")
    wanted = stats.beta.ppf([0.025, 0.975], 144 + 3 / 9, 6 + 6 / 9)
    assert (found.low, found.high) == pytest.approx(wanted, abs=0.004)


def test_a_method_that_does_not_apply_is_refused_with_those_that_do() -> None:
    result = evaluate(matrix=[[40, 10], [20, 130]])
    with pytest.raises(OptionError, match=r"'wilson' does not apply to kappa") as caught:
        result.interval("kappa", method="wilson")
    assert "dirichlet" in caught.value.hint
    assert "agresti-coull" not in caught.value.hint
    with pytest.raises(OptionError, match="did you mean 'wilson'"):
        result.interval("accuracy", method="wilsom")
    in_groups = evaluate([0, 1, 1, 0], [0, 1, 0, 0], group=[1, 1, 2, 2])
    with pytest.raises(OptionError, match="takes rows as independent"):
        in_groups.interval("accuracy", method="wilson")
    with pytest.raises(OptionError, match="does not apply"):
        result.interval("accuracy", method="cluster-logit")


@pytest.mark.parametrize(
    ("level", "said"),
    [
        *((level, "The level must lie between 0 and 1. Got ") for level in (0, 1, 95, -0.1, True, "high", math.nan)),
        ("0.95", "The level must be a number. Got the text '0.95'."),
        *((x, "must lie between 0.0001 and 0.9999999. Got ") for x in (1e-17, 0.00009, 0.99999999, 1 - 2**-53)),
    ],
)
def test_a_level_that_is_none_is_refused(level: Any, said: str) -> None:
    judged = evaluate(matrix=[[4, 1], [2, 3]])
    for call in (
        lambda: evaluate(matrix=[[4, 1], [2, 3]], level=level),
        lambda: judged.interval("accuracy", level=level),
    ):
        with pytest.raises(OptionError, match=re.escape(said)) as caught:
            call()
        assert "0.95" in caught.value.hint


@pytest.mark.parametrize("name", METHODS)
def test_every_method_says_what_it_is_and_where_it_comes_from(name: str) -> None:
    assert METHODS[name].summary.endswith(".")
    assert METHODS[name].reference
    assert METHODS[name].name == name


def test_billions_of_cases_and_very_small_shares() -> None:
    seen = Confusion.of([[10**9, 3], [5, 40]])
    for name in ("accuracy", "recall[1]", "f1[1]", "kappa", "mcc", "macro f1", "balanced accuracy"):
        found = Estimator(seen).ask(read_quantity(name, [0, 1]))
        assert found.low < found.value < found.high
    rate = Estimator(seen).ask(read_quantity("fpr[1]", [0, 1]))
    poisson = stats.chi2.ppf([0.025, 0.975], [6, 8]) / 2 / 10**9  # 3 of a billion, by Garwood's interval
    assert (rate.low, rate.high) == pytest.approx(poisson, rel=0.7)
    assert find("accuracy").of_evidence(seen) == pytest.approx(1 - 8 / (10**9 + 48), abs=1e-15)


@pytest.mark.parametrize(("level", "least"), [(0.8, 9), (0.95, 39), (0.99, 199)])
@pytest.mark.parametrize("method", ["bootstrap", "bca"])
def test_replicates_too_few_for_the_tails_are_refused(method: str, level: float, least: int) -> None:
    # One replicate of (B + 1)(1 − level)/2 lies beyond each limit from B = 2/(1 − level) − 1 on.
    judged = evaluate([0, 1, 1, 0, 1] * 10, [0, 1, 0, 0, 1] * 10, score=[0.1, 0.9, 0.4, 0.5, 0.8] * 10)
    for name in ("accuracy", "roc_auc"):
        with pytest.raises(OptionError, match=f"cannot show the tails of a {100 * level:g} % interval; {least} can"):
            judged.interval(name, method=method, level=level, replicates=least - 1)
        assert judged.interval(name, method=method, level=level, replicates=least).width > 0


@pytest.mark.parametrize(("size", "level", "place"), [(9999, 0.95, 250), (3999, 0.8, 400), (99_999, 0.999, 50)])
def test_limits_of_many_draws_are_the_order_statistics_whatever_their_order(size: int, level: float, place: int):
    # The limits stand at the share (1 - level) / 2 of the draws and one: 2.5 % of 10,000, 10 % of 4,000, .05 % of 10⁵.
    random = np.random.default_rng(3)
    drawn = random.beta(40, 4, (7, size))
    drawn[1] = np.sort(drawn[1])
    drawn[2] = np.round(drawn[2], 2)
    drawn[3] = 0.5
    # Many of the least and of the largest stand beside each other.
    drawn[4, ::16] = 0.0
    drawn[5, : size // 3] = 1.0
    drawn[6, -2 * place :] = -np.inf
    low, high = order_limits(drawn, level)
    ordered = np.sort(drawn, axis=-1)
    assert np.array_equal(low, ordered[:, place - 1])
    assert np.array_equal(high, ordered[:, -place])
    # Two rows that are alike, and two that differ in one draw of the tail.
    pair = np.stack([drawn[0], drawn[0]])
    pair[1, drawn[0].argmin()] = 1.0
    for two in (np.stack([drawn[0], drawn[0]]), pair):
        low, high = order_limits(two, level)
        assert np.array_equal(low, np.sort(two, axis=-1)[:, place - 1])
        assert np.array_equal(high, np.sort(two, axis=-1)[:, -place])


@pytest.mark.parametrize("name", ["f1[1]", "kappa", "macro f1", "balanced accuracy", "diagnostic_odds_ratio[1]"])
@pytest.mark.parametrize("method", ["dirichlet", "guarded-dirichlet"])
def test_at_every_level_that_is_allowed_draws_tell_limits_and_a_higher_one_is_wider(name: str, method: str) -> None:
    seen, last = Confusion.of([[30, 4], [3, 20]]), (math.inf, -math.inf)
    # Those corrected for many tests lie beyond.
    for level in (LEAST_LEVEL, 0.95, 0.9999, 0.99999, MOST_LEVEL, 1 - 2**-53):
        found = Estimator(seen, level).ask(read_quantity(name, [0, 1]), method)
        assert found.low <= found.value <= found.high
        assert found.low <= last[0]
        assert found.high >= last[1]
        last = found.low, found.high


@pytest.mark.parametrize("name", ["accuracy", "f1[1]", "kappa", "macro f1", "positive_likelihood_ratio[1]"])
@pytest.mark.parametrize("one_sided", [False, True])
def test_every_default_has_limits_at_every_level(name: str, one_sided: bool) -> None:
    for level in (LEAST_LEVEL, MOST_LEVEL, 1 - 2**-53):
        found = Estimator(Confusion.of([[30, 4], [3, 20]]), level, one_sided=one_sided).ask(read_quantity(name, [0, 1]))
        assert found.low <= found.value <= found.high


@pytest.mark.parametrize("numbers", [4, 100, 20_000])
def test_there_are_never_more_draws_than_take_seconds(numbers: int) -> None:
    for level in (0.95, 0.999, 0.9999, 0.99999, MOST_LEVEL, 1 - 2**-53):
        draws = posterior_draws(numbers, level)
        assert 999 <= draws <= 200_000
        assert numbers * draws <= 25_000_000


@pytest.mark.parametrize("level", [0.999, 0.9999, 0.999999])
def test_limits_beyond_the_draws_are_continued(level: float) -> None:
    # Of a normal and of a log-normal distribution the continuation is exact but for the luck of the outermost draw.
    drawn = np.random.default_rng(8).standard_normal((400, 199))
    low, high = posterior_limits(drawn, level)
    assert np.mean(high) == pytest.approx(stats.norm.isf((1 - level) / 2), rel=0.06)
    assert np.mean(low) == pytest.approx(-np.mean(high), rel=0.03)
    of_ratios = posterior_limits(np.exp(drawn), level)
    assert [np.log(ends).mean() for ends in of_ratios] == pytest.approx([low.mean(), high.mean()], rel=1e-6)
    # Undefined draws are set aside, and what is infinite stays so.
    drawn[0, :3], drawn[1, :50] = np.nan, np.inf
    low, high = posterior_limits(drawn, level)
    assert np.isfinite(low).all()
    assert np.isinf(high[1])
    assert np.isfinite(high[[0, 2]]).all()
    assert np.array_equal(posterior_limits(drawn[2:], 0.95), order_limits(drawn[2:], 0.95))


@pytest.mark.parametrize("measure", ["linear_kappa", "quadratic_kappa"])
def test_a_constant_answer_leaves_kappa_uncertain(measure):
    # Its variance is 0 but for rounding, and the limits were 0 and 0.
    seen = evaluate(list("bcccccc"), list("aaaaaaa"), labels=list("abc"))
    found = seen.interval(measure, method="effective-wilson")
    assert found.low < -0.3
    assert found.high > 0.3


@pytest.mark.parametrize("grouped", [False, True])
def test_weighted_shares_say_how_many_rows_stand_behind_their_denominators(*, grouped: bool) -> None:
    truth, predicted = sample(400, 3, 0.7, 4)
    weight = np.random.default_rng(1).uniform(0.2, 30, 400)
    options: dict[str, Any] = {"group": np.arange(400) // 4} if grouped else {}
    plain, weighted = evaluate(truth, predicted, **options), evaluate(truth, predicted, weight=weight, **options)
    named: list[tuple[str, Any, Any]] = [
        ("accuracy", None, None),
        ("f1", 1, None),
        ("recall", None, "weighted"),
        ("precision", None, "macro"),
    ]
    named += [(name, 1, None) for name in ("precision", "recall", "specificity", "negative_predictive_value")]
    sizes = [weighted.get(name, class_=class_, average=average).n for name, class_, average in named]
    assert sizes == [plain.get(name, class_=class_, average=average).n for name, class_, average in named]
    # By rows: 400 cases, those called 1, those that are 1, and those that are not.
    called, held = int((predicted == 1).sum()), int((truth == 1).sum())
    wanted = [400] * 4 + [called, held, 400 - held, 400 - called]
    assert sizes == wanted
