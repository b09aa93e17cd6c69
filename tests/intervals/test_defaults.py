"""The default interval of every family at its boundary: nothing wrong, nothing right, nothing there.

The figures were computed once by other code than ours (plain loops and root finders). Those with a closed form
must agree in every digit printed. Those of the Dirichlet posterior are order statistics of 9,999 or 3,999 random
draws, here and there with different random numbers: a limit then has a Monte Carlo standard error of about
.03 posterior standard deviations, which near a bound is .001 to .003, hence the tolerance of .006.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from heldout import Confusion, Costs, Estimate, Evaluation, evaluate
from heldout.intervals.count_estimator import Estimator
from heldout.intervals.methods import METHODS
from heldout.intervals.score_limits import paired_difference_limits
from heldout.measures.catalogue import CATALOGUE, find, read_quantity
from heldout.measures.quantity import Quantity

INF = math.inf
# The published figures come from draws too: over six seeds the lower limit of markedness with 9,999 draws had a
# standard deviation of .003, and three of those are allowed.
MONTE_CARLO = 0.009

# Tables with the positive class "+" first; rows are the truth.
PERFECT = [[20, 0], [0, 30]]
NEVER_POSITIVE = [[0, 5], [0, 45]]
NO_POSITIVES = [[0, 0], [3, 47]]
THREE_RIGHT = [[20, 0, 0], [0, 20, 0], [0, 0, 20]]
ONE_SMALL = [[30, 0, 0], [0, 28, 0], [0, 0, 2]]
ONE_ABSENT = [[28, 2, 0], [3, 27, 0], [0, 0, 0]]

CLOSED = [
    (PERFECT, "f0.5[+]", 0.867, 1.0),
    (PERFECT, "f2[+]", 0.867, 1.0),
    (PERFECT, "lr+[+]", 8.81, INF),
    (PERFECT, "lr-[+]", 0.0, 0.161),
    (PERFECT, "diagnostic odds ratio[+]", 162.678, INF),
    (NEVER_POSITIVE, "f2[+]", 0.0, 0.49),
    (THREE_RIGHT, "macro recall", 0.935, 1.0),
    (THREE_RIGHT, "macro f1", 0.938, 1.0),
    (THREE_RIGHT, "weighted f1", 0.938, 1.0),
    (ONE_SMALL, "macro recall", 0.703, 1.0),
    (ONE_SMALL, "macro f1", 0.795, 1.0),
    (ONE_ABSENT, "macro recall", 0.51, 0.982),
    (ONE_ABSENT, "macro f1", 0.543, 0.977),
]
DRAWN = [
    (PERFECT, "kappa", 0.856, 1.0),
    (PERFECT, "mcc", 0.861, 1.0),
    (PERFECT, "balanced accuracy", 0.928, 1.0),
    (PERFECT, "informedness[+]", 0.855, 1.0),
    (PERFECT, "markedness[+]", 0.86, 1.0),
    (PERFECT, "g mean[+]", 0.926, 1.0),
    (PERFECT, "fowlkes mallows[+]", 0.914, 1.0),
    (NEVER_POSITIVE, "mcc", -0.056, 0.549),
    (NEVER_POSITIVE, "markedness[+]", -0.135, 0.919),
    (NO_POSITIVES, "balanced accuracy", 0.458, 0.976),
    (THREE_RIGHT, "kappa", 0.928, 1.0),
    (THREE_RIGHT, "mcc", 0.93, 1.0),
]


def labelled(table: list[list[int]]) -> Evaluation:
    return evaluate(matrix=table, labels=["+", "-", "?"][: len(table)], measures="accuracy")


def decimals(figure: float) -> int:
    return len(str(figure).partition(".")[2])


@pytest.mark.parametrize(("table", "name", "low", "high"), CLOSED)
def test_closed_forms_to_every_digit_printed(table: Any, name: str, low: float, high: float) -> None:
    found = labelled(table)[name]
    assert round(found.low, max(decimals(low), 2)) == low
    assert found.high == high if math.isinf(high) else round(found.high, max(decimals(high), 2)) == high
    assert found.method in ("score", "stratified-wilson")


@pytest.mark.parametrize(("table", "name", "low", "high"), DRAWN)
def test_posterior_draws_to_their_monte_carlo_error(
    table: Any, name: str, low: float, high: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Many draws, so that only the error of the published figures is left.
    monkeypatch.setattr("heldout.intervals.draws.LADDER", (199_999,))
    seen = labelled(table)
    found = seen[name]
    assert found.method == "dirichlet"
    # The method itself, because an estimate without a value keeps no limits.
    quantity = read_quantity(name, seen.labels)
    subject = seen.estimator.subject(quantity)
    limits = seen.estimator.default(subject).find(subject, seen.level, seen.estimator.drawn())
    place = () if quantity.class_ is None else seen.confusion.index(quantity.class_)
    ends = [float(end[place]) for end in map(np.asarray, limits)]
    assert ends == pytest.approx([low, high], abs=MONTE_CARLO)
    if not math.isnan(found.value):
        assert [found.low, found.high] == ends


def test_balanced_accuracy_without_positives_is_undefined_and_has_no_limits() -> None:
    found = labelled(NO_POSITIVES)["balanced accuracy"]
    assert math.isnan(found.value)
    assert "no cases" in found.undefined
    assert math.isnan(found.low)
    assert math.isnan(found.high)


@pytest.mark.parametrize(
    ("dearest", "counts", "low", "high"),
    [
        (100, (200, 0, 0), 0.0, 1.885),
        (100, (190, 10, 0), 0.027, 1.934),
        (1, (47, 3, 0), 0.021, 0.162),
    ],
)
def test_mean_cost(dearest: Any, counts: tuple[int, int, int], low: float, high: float) -> None:
    right, cheap, dear = counts
    costs = Costs.of([[0, 1], [dearest, 0]], ["a", "b"], rows="truth")
    result = evaluate(matrix=[[right, cheap], [dear, 0]], labels=["a", "b"], costs=costs)
    found, total = result["expected cost"], result["total cost"]
    assert (round(found.low, 3), round(found.high, 3)) == (low, high)
    assert (total.low, total.high) == pytest.approx((result.n * found.low, result.n * found.high), abs=1e-9)
    if dearest == 1:
        wilson = result["error rate"]
        assert (found.low, found.high) == pytest.approx((wilson.low, wilson.high), abs=1e-9)


def test_groups_without_an_error() -> None:
    truth = np.tile([0, 1], 40)
    found = evaluate(truth, truth, group=np.repeat(np.arange(10), 8))["accuracy"]
    assert (round(found.low, 3), found.high) == (0.722, 1.0)
    assert found.method == "cluster-logit"


def test_weights_without_an_error() -> None:
    weight = np.random.default_rng(0).lognormal(size=100)
    truth = np.tile([0, 1], 50)
    found = evaluate(truth, truth, weight=weight)["accuracy"]
    kish = weight.sum() ** 2 / (weight**2).sum()
    # All right, so that Wilson's lower limit is n/(n + z²), with Kish's effective number for n.
    assert found.low == pytest.approx(kish / (kish + 1.959963984540054**2), abs=1e-9)
    assert found.high == 1.0
    assert found.method == "wilson, effective n"
    # The draws behind .917 are not known; weights of this kind leave about 42 of 100 cases, and so do these.
    assert found.low == pytest.approx(0.917, abs=0.02)


def test_paired_accuracies_that_never_differ() -> None:
    assert [round(limit, 3) for limit in paired_difference_limits(0, 0, 50)] == [-0.071, 0.071]


DEFAULTS = {
    "accuracy": "wilson",
    "recall[+]": "wilson",
    "prevalence[+]": "wilson",
    "jaccard[+]": "wilson",
    "micro f1": "wilson",
    "micro specificity": "wilson",
    "weighted recall": "wilson",
    "f1[+]": "score",
    "f2[+]": "score",
    "lr+[+]": "score",
    "odds ratio[+]": "score",
    "expected cost": "score",
    "total cost": "score",
    "kappa": "dirichlet",
    "mcc[+]": "dirichlet",
    "weighted f1": "stratified-wilson",
    "weighted precision": "stratified-wilson",
    "weighted npv": "dirichlet",
    "macro specificity": "dirichlet",
    "informedness[+]": "dirichlet",
    "macro recall": "stratified-wilson",
    "macro precision": "stratified-wilson",
    "macro f2": "stratified-wilson",
    "macro jaccard": "stratified-wilson",
    "balanced accuracy": "stratified-wilson",
}


def ask(name: str, seen: Confusion) -> Estimate:
    costs = 1.0 - np.eye(seen.n_classes)
    return Estimator(seen).ask(read_quantity(name, seen.labels, costs=costs))


@pytest.mark.parametrize(("name", "method"), DEFAULTS.items())
def test_the_default_of_each_family(name: str, method: str) -> None:
    assert ask(name, Confusion.of(THREE_RIGHT, ["+", "-", "?"])).method == method
    # Two classes have no room for Satterthwaite's degrees of freedom, and the posterior serves.
    in_two = "dirichlet" if method == "stratified-wilson" else method
    assert ask(name, Confusion.of(PERFECT, ["+", "-"])).method == in_two


def test_very_many_classes_are_not_drawn() -> None:
    many = Confusion.of(np.eye(200, dtype=int) * 3)
    for name in ("kappa", "mcc", "weighted npv", "macro specificity"):
        assert ask(name, many).method == "effective-wilson"
    assert ask("macro f1", many).method == "stratified-wilson"
    assert ask("mcc[7]", many).method == "dirichlet"
    # Nor for the one-sided limits of gates.
    guarded = Estimator(many, one_sided=True).ask(read_quantity("macro f1", many.labels))
    assert guarded.method == "effective-clopper-pearson"


def test_every_kind_of_measure_has_a_default() -> None:
    counted = [measure for measure in CATALOGUE.values() if measure.scope in ("class", "table")]
    assert {measure.scope for measure in counted} == {"class", "table"}
    for measure in counted:
        bound = find(measure.name, costs=1.0 - np.eye(2))
        class_ = 0 if measure.scope == "class" else None
        assert Estimator(Confusion.of(PERFECT)).ask(Quantity(bound, class_=class_)).method in METHODS


def test_a_method_that_does_not_apply_leaves_the_default() -> None:
    # For a whole evaluation; asked for by name it is refused.
    result = evaluate(matrix=PERFECT, labels=["+", "-"], method="clopper-pearson")
    assert result["accuracy"].method == "clopper-pearson"
    assert result["kappa"].method == "dirichlet"
    assert result["f1[+]"].method == "score"


def test_with_plenty_of_cases_the_closed_form_stands_for_the_draws() -> None:
    rng = np.random.default_rng(1)
    for k in (2, 3, 5):
        table = rng.integers(410, 900, (k, k)) + np.diag(rng.integers(500, 60_000, k))
        seen = evaluate(matrix=table, measures="accuracy")
        for name in ("kappa", "matthews", "weighted npv", "informedness[0]", "markedness[1]", "geometric_mean[0]"):
            closed, drawn = seen[name], seen.interval(name, method="dirichlet")
            assert closed.method == "effective-wilson"
            # 999 draws at least: their limits are off by .085 of a standard error, a quarter of a width being one.
            assert abs(closed.low - drawn.low) < 4 * 0.085 / 4 * drawn.width
            assert abs(closed.high - drawn.high) < 4 * 0.085 / 4 * drawn.width
    fewer = evaluate(matrix=[[4000, 399], [400, 4000]], measures="accuracy")
    assert fewer["kappa"].method == "dirichlet"
