"""Demonstrations: what they show is what theory says, and published figures are met."""

from __future__ import annotations

import json
import math
import subprocess
import sys

import numpy as np
import pytest
from scipy.stats import binom
from sklearn.neighbors import KNeighborsClassifier

from heldout import lab
from heldout.errors import HeldoutError, LabelError, OptionError, ValuesError
from heldout.intervals.proportion import wilson
from heldout.result import ROW_KEYS

# Brown, Cai & DasGupta (2001), Statistical Science 16, 101-133, on the erratic coverage of the standard interval.
PUBLISHED = [
    (17, 0.5, 0.951),
    (18, 0.5, 0.904),
    (40, 0.5, 0.919),
    (30, 0.2, 0.946),
    (98, 0.2, 0.928),
    (591, 0.005, 0.945),
    (592, 0.005, 0.792),
]
MADE = {
    "optimism": lambda: lab.optimism(learner="lda", n=20, repeats=20),
    "spread": lambda: lab.spread(sizes=[10, 40], repeats=30),
    "coverage": lambda: lab.coverage([10, 20], [0.1, 0.5]),
    "estimators": lambda: lab.estimators(n=30, plans=["resubstitution", "5-fold", ".632 10"], repeats=15),
}


@pytest.mark.parametrize(("n", "p", "expected"), PUBLISHED)
def test_the_normal_interval_covers_as_published(n, p, expected):
    assert round(lab.coverage(n, p, "normal")["normal"].coverage, 3) == expected


def test_coverage_is_the_sum_of_binomial_chances():
    n, p = 23, 0.17
    low, high = wilson(np.arange(n + 1), n, 0.9)
    expected = sum(binom.pmf(k, n, p) for k in range(n + 1) if low[k] <= p <= high[k])
    width = sum(binom.pmf(k, n, p) * (high[k] - low[k]) for k in range(n + 1))
    found = lab.coverage(n, p, level=0.9)["wilson"]
    assert found.coverage == pytest.approx(expected)
    assert found.width == pytest.approx(width)


def test_clopper_pearson_never_covers_less_than_it_says():
    found = lab.coverage([5, 20, 61], np.linspace(0.01, 0.99, 25).tolist(), "clopper_pearson")
    assert len(found.covered) == 75
    assert min(figure.coverage for figure in found.covered) >= 0.95
    assert "every method here keeps it" in str(found)


def test_training_error_is_optimistic_and_test_error_is_not():
    found = lab.optimism(lab.Gaussians(1.0, 5), "lda", n=30, repeats=300, level=0.999)
    value, low, high = found.bias("training set")
    assert found.exact
    assert low < value < high < -0.05
    _, low, high = found.bias("test set")
    assert low <= 0 <= high
    assert (found.true >= found.bayes_error).all()


def test_one_nearest_neighbour_on_noise_hides_everything():
    found = lab.optimism(lab.Noise(), KNeighborsClassifier(1), n=20, repeats=20)
    assert found.bias("training set") == (-0.5, -0.5, -0.5)


def test_the_spread_over_test_sets_is_the_binomial_one():
    found = lab.spread(lab.Gaussians(), "lda", [20, 80, 320], repeats=1000, level=0.999)
    for at in range(3):
        _, low, high = found.measured(at)
        assert low <= found.expected(at) <= high
        assert (high - low) / found.expected(at) < 0.3
    assert found.expected(0) == pytest.approx(math.sqrt(found.true_error.value * (1 - found.true_error.value) / 20))


def test_estimators_miss_as_text_books_say():
    plans = ["resubstitution", "leave-one-out", "bootstrap 10", ".632 10", "holdout"]
    # At 0.95 one run in twenty would miss by chance alone; leave-one-out itself is about 0.003 too high here.
    found = lab.estimators(lab.Gaussians(1.5, 5), "naive-bayes", 24, plans, repeats=40, level=0.999)
    bias = {plan: found.figure(plan, "bias") for plan in found.plans}
    assert bias["resubstitution"][2] < 0
    assert bias["bootstrap 10"][0] > bias[".632 10"][0] > bias["resubstitution"][0]
    assert bias["leave-one-out"][1] <= 0 <= bias["leave-one-out"][2]
    # A third of the cases tests alone: no plan varies more.
    spread = {plan: found.figure(plan, "standard_deviation")[0] for plan in found.plans}
    assert max(spread, key=lambda plan: spread[plan]) == found.plans[-1]
    for at, plan in enumerate(found.plans):
        missed = found.estimates[at] - found.true
        value, low, high = found.figure(plan, "root_mean_square_error")
        assert value == pytest.approx(math.sqrt((missed**2).mean()))
        assert low <= value <= high


def test_data_sets_that_a_plan_cannot_split_are_drawn_again_and_counted():
    found = lab.estimators(n=12, plans=["5-fold"], repeats=30)
    (note,) = found.notes
    assert "drawn again" in note
    with pytest.raises(LabelError):
        lab.estimators(n=12, plans=["10-fold"], repeats=2)


@pytest.mark.parametrize("name", MADE)
def test_every_demonstration_is_a_result(name):
    found = MADE[name]()
    rows = found.rows()
    assert rows
    for row in rows:
        assert tuple(row)[: len(ROW_KEYS)] == ROW_KEYS
        low, value, high = (float(str(row[key])) for key in ("low", "value", "high"))
        assert low <= value <= high
    assert found.schema == f"heldout/lab-{name}@1"
    assert json.loads(found.to_json(), parse_constant=pytest.fail) == found.to_dict()
    assert "Verdict" in str(found)
    assert found.to_frame().height == len(rows)
    assert MADE[name]().to_json() == found.to_json()


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: lab.optimism(lab.Noise), "must be a world. Got Noise"),  # type: ignore[arg-type]
        (lambda: lab.spread("noise"), "must be a world. Got 'noise'"),  # type: ignore[arg-type]
        (lambda: lab.spread(sizes=[]), "no sizes"),
        (lambda: lab.spread(sizes=[0]), "every size must be a whole number from 1 up"),
        (lambda: lab.optimism(repeats=1), "repeats must be a whole number from 2 up"),
        (lambda: lab.coverage(20, 1.5), "p must lie between 0 and 1"),
        (lambda: lab.coverage(20, 0.5, "wilsen"), "no interval method 'wilsen'"),
        (lambda: lab.coverage(20, 0.5, "wilson")["normal"], "'normal' was not asked for"),
        (lambda: lab.coverage([], 0.5), "nothing to work out"),
        (lambda: lab.estimators(plans=[]), "no plans"),
        (lambda: lab.estimators(n=20, plans="5-fold", repeats=2).figure("5-fold", "bais"), "no 'bais' of '5-fold'"),
    ],
)
def test_wrong_calls_say_what_is_wrong(call, words):
    with pytest.raises(OptionError, match=words):
        call()


def test_an_unknown_learner_and_a_hopeless_world_are_refused():
    with pytest.raises(HeldoutError, match="ldaa"):
        lab.optimism(learner="ldaa")
    with pytest.raises(ValuesError, match="one class never occurred"):
        lab.optimism(lab.Noise(prevalence=1e-9), n=5)


def test_the_names_are_sorted_and_cost_nothing_before_use():
    assert list(lab.__all__) == sorted(lab.__all__) == dir(lab)
    for name in lab.__all__:
        assert getattr(lab, name).__name__ == name
        assert getattr(lab, name).__doc__
    assert lab.worlds.Noise is lab.Noise
    with pytest.raises(AttributeError, match="no attribute 'world'"):
        lab.world  # noqa: B018
    code = "import sys; from heldout import lab; lab.Gaussians().draw(5); print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert not {"sklearn", "joblib", "scipy.stats", "pandas", "polars", "altair"} & set(loaded)
