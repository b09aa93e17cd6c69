"""The laboratory's experiments: what they show is what theory says, from a seed, by any number of processes."""

from __future__ import annotations

import json
import math
import subprocess
import sys
from typing import Any

import numpy as np
import pytest
from docs import lab_page
from scipy.stats import binom
from sklearn.neighbors import KNeighborsClassifier

from heldout import lab
from heldout.errors import HeldoutError, LabelError, OptionError, ValuesError
from heldout.intervals.proportion import wilson
from heldout.lab.parameters import PARAMETERS
from heldout.result import ROW_KEYS

EXPERIMENTS = lab.find_experiments()
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
# The examples of the page: in what they show, the claim cannot be missed by chance.
shown = lab_page.run_example


def test_the_page_of_the_laboratory_is_current():
    assert lab_page.PAGE.read_text(encoding="utf-8") == lab_page.page(), "run `make docs`"


def test_every_experiment_has_an_example_and_a_public_name():
    assert list(lab_page.EXAMPLES) == list(EXPERIMENTS)
    assert {name.replace("-", "_") for name in EXPERIMENTS} <= set(lab.__all__)
    for name, one in EXPERIMENTS.items():
        assert getattr(lab, name.replace("-", "_")) is one.function
        assert set(one.parameters) <= set(PARAMETERS)
        assert {"seed", "draws", "jobs", "progress"} <= set(one.parameters)
        assert one.question.endswith("?")
        assert all(text.endswith(".") for text in (one.claim, one.see))


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_every_experiment_is_a_result_that_says_what_it_shows(name, tmp_path):
    found = shown(name)
    rows = found.rows()
    assert len(rows) == len(found.figures) > 0
    for row in rows:
        assert tuple(row)[: len(ROW_KEYS)] == ROW_KEYS
        low, value, high = (float(str(row[key])) for key in ("low", "value", "high"))
        assert low <= value <= high
    assert json.loads(found.to_json(), parse_constant=pytest.fail) == found.to_dict()
    assert found.to_dict()["shown"] == found.verdict
    assert found.verdict.endswith(".")
    assert found.to_frame().height == len(rows)
    assert EXPERIMENTS[name].question in " ".join(str(found).split())
    page = found.write(tmp_path / "page.html").read_text(encoding="utf-8")
    assert "<svg" in page
    assert found.write(tmp_path / "chart.svg").read_text(encoding="utf-8").startswith("<svg")


def test_another_seed_gives_other_figures_and_the_same_seed_the_same():
    first, again, other = (lab.optimism(n=20, draws=4, seed=seed) for seed in (3, 3, 4))
    assert first.to_json() == again.to_json()
    assert first.figures != other.figures


# Where there is no other way to make an experiment small.
SMALLER: dict[str, dict[str, Any]] = {"type-one-error": {"plans": "5-fold"}, "bootstrap-632": {"plans": ".632 3"}}


def test_the_figures_do_not_depend_on_the_number_of_processes():
    # One start of the processes for all experiments, and two draws of each.
    for name, experiment in EXPERIMENTS.items():
        few = {"draws": 2, "progress": False, **SMALLER.get(name, {})}
        few |= {"n": 30} if isinstance(experiment.parameters["n"].default, tuple) else {}
        alone, shared = (experiment.function(**few, jobs=jobs) for jobs in (1, 2))
        assert alone.to_json() == shared.to_json(), name


def test_progress_counts_draws():
    seen: list[tuple[int, int]] = []
    lab.best_of_k([1, 5], draws=130, progress=lambda done, total: seen.append((done, total)))
    assert seen[-1] == (130, 130)
    assert [done for done, _ in seen] == sorted({done for done, _ in seen})
    assert len(seen) > 10


@pytest.mark.parametrize(("n", "p", "expected"), PUBLISHED)
def test_the_normal_interval_covers_as_published(n, p, expected):
    assert round(lab.coverage(n, p, "normal")["normal"].value, 3) == expected


def test_coverage_is_the_sum_of_binomial_chances():
    n, p = 23, 0.17
    low, high = wilson(np.arange(n + 1), n, 0.9)
    expected = sum(binom.pmf(k, n, p) for k in range(n + 1) if low[k] <= p <= high[k])
    found = lab.coverage(n, p, level=0.9)
    assert found["wilson"].value == pytest.approx(expected)
    width = sum(binom.pmf(k, n, p) * (high[k] - low[k]) for k in range(n + 1))
    assert found.figure("wilson", measure="mean width").value == pytest.approx(width)


def test_clopper_pearson_never_covers_less_than_it_says():
    found = lab.coverage([5, 20, 61], np.linspace(0.01, 0.99, 25).tolist(), "clopper_pearson")
    held = [figure.value for figure in found.figures if figure.measure == "coverage"]
    assert len(held) == 75
    assert min(held) >= 0.95
    assert "every method here keeps it" in str(found)
    assert "draws" not in found.parameters


def test_coverage_of_other_measures_is_that_of_the_intervals_that_evaluate_gives():
    found = lab.coverage(60, 0.2, measure="f1", prevalence=0.3, draws=200)
    figure, width = found.figures
    assert 0 < width.low < width.high < 1
    assert figure.series == "F1, default"
    assert 0.88 < figure.value <= 1
    # An interval that holds everything would do as well, one by the wrong method would not.
    narrow = lab.coverage(60, 0.2, measure="f1", prevalence=0.3, level=0.5, draws=200)["F1, default"]
    assert 0.35 < narrow.value < 0.65
    area = lab.coverage(40, 0.2, measure="roc_auc", draws=60)["ROC AUC, default"]
    assert area.value > 0.8


def test_the_t_test_over_folds_rejects_too_often_and_the_corrected_one_far_less():
    plain, corrected = (shown("type-one-error")[f"{test}, 10x10-fold"] for test in ("paired-t", "corrected-t"))
    assert plain.low > 0.2
    assert corrected.high < plain.low


def test_power_is_what_the_plan_promises():
    for figure in shown("power").figures:
        spread = math.sqrt(figure.expected * (1 - figure.expected) / 200)
        assert abs(figure.value - figure.expected) < 4 * spread + 0.03
    assert shown("power").figure("same cases", 400).value > shown("power").figure("different cases", 400).high


def test_training_error_is_optimistic_and_test_error_is_not():
    found = shown("optimism")
    assert found.figure("training set", 10, "bias").high < -0.02
    fresh = found.figure("test set", 10, "bias")
    # Three times as far as the limits reach.
    assert abs(fresh.value) < 3 * (fresh.high - fresh.value)
    (_, bayes), *_ = found.lines
    assert found.figure("true error", 40, "error rate").value > bayes == lab.Gaussians().bayes_error


def test_one_nearest_neighbour_on_noise_hides_everything():
    found = lab.optimism(lab.Noise(), KNeighborsClassifier(1), n=20, draws=10)
    biased = found.figure("training set", measure="bias")
    assert (biased.low, biased.value, biased.high) == (-0.5, -0.5, -0.5)
    assert found.parameters["learner"] == "KNeighborsClassifier"


def test_the_spread_over_test_sets_is_the_binomial_one():
    few, more, many = shown("sample-size").figures
    for figure in (few, more, many):
        assert figure.value == pytest.approx(figure.expected, rel=0.2)
    assert few.expected / more.expected == pytest.approx(2)


def test_averages_over_folds_are_biased_and_counts_of_all_folds_are_not():
    found = shown("fold-average")
    for way in ("mean, undefined as 0", "mean, undefined left out"):
        assert found.figure(way, 0.05).high < -0.03
    pooled = found.figure("counts of all folds", 0.05)
    assert abs(pooled.value) < 3 * (pooled.high - pooled.value) + 0.02
    # Accuracy over folds of one size is the same either way.
    same = lab.fold_average(prevalence=0.2, measure="accuracy", draws=20)
    assert same["mean, undefined as 0"].value == pytest.approx(same["counts of all folds"].value)


def test_632_lies_between_the_training_error_and_the_bootstrap():
    bias = {figure.series.partition(",")[0]: figure for figure in shown("bootstrap-632").figures[:3]}
    assert bias["resubstitution"].high < bias[".632 9"].value < bias["bootstrap 9"].value
    # One nearest neighbour makes no training error, and .632 of the other is too little.
    assert bias[".632 9"].high < 0


def test_data_sets_that_no_plan_can_split_are_refused():
    with pytest.raises(LabelError):
        lab.bootstrap_632(n=12, plans=["10-fold"], draws=2)
    with pytest.raises(ValuesError, match="one class never occurred"):
        lab.optimism(lab.Noise(prevalence=1e-9), n=2, draws=2)


def test_a_learning_curve_of_one_data_set_follows_the_true_error():
    found = shown("learning-curve")
    few, many = (found.figure("true error", size).value for size in (10, 60))
    assert few > many
    for size in (10, 60):
        true, seen = (found.figure(name, size) for name in ("true error", "test error"))
        assert abs(true.value - seen.value) < 3 * max(true.high - true.low, seen.high - seen.low)
        assert found.figure("training error", size).value < true.value + 0.03


def test_imbalance_moves_precision_and_leaves_the_roc_curve_alone():
    found = shown("imbalance")
    for name in ("ROC AUC", "recall", "false positive rate"):
        rare, common = (found.figure(name, share) for share in (0.05, 0.5))
        assert rare.expected == pytest.approx(common.expected)
        assert abs(rare.value - common.value) < 0.08
    assert found.figure("precision", 0.5).value > 2 * found.figure("precision", 0.05).value
    assert found.figure("average precision", 0.5).value > found.figure("average precision", 0.05).value + 0.2
    for figure in found.figures:
        assert abs(figure.value - figure.expected) < 4 * (figure.high - figure.value) + 0.02


def test_the_more_accurate_never_costs_more_where_costs_are_equal():
    equal, unequal = shown("cost-accuracy").figures
    assert equal.value == 0
    assert unequal.low > 0.2


def test_a_threshold_judged_on_its_own_cases_looks_too_good_and_cross_fitting_does_not():
    same, folded, new = shown("double-dipping").figures
    assert same.value > new.value + 0.05
    assert abs(folded.value - new.value) < same.value - new.value


def test_the_best_of_many_equal_models_looks_better_than_it_is():
    found = shown("best-of-k")
    alone, best = (found.figure("the test set", k, "accuracy") for k in (1, 50))
    assert alone.value == pytest.approx(0.8, abs=0.01)
    assert best.low > 0.85
    assert best.value == pytest.approx(best.expected, abs=0.005)
    assert found.figure("new cases", 50).value == pytest.approx(0.8, abs=0.01)
    assert found.figure("the test set", 50, "coverage of the winner's interval").high < 0.6


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: lab.optimism(lab.Noise), "world must be a world. Got Noise"),  # type: ignore[arg-type]
        (lambda: lab.sample_size("nose"), "no world 'nose'. There are: gaussians, noise, checkers"),
        (lambda: lab.sample_size("checkers:x"), "squares of checkers must be a number. Got 'x'"),
        (lambda: lab.sample_size(n=[]), "n is empty"),
        (lambda: lab.sample_size(n=[0]), "n must be a whole number from 2 up"),
        (lambda: lab.optimism(draws=1), "draws must be a whole number from 2 up"),
        (lambda: lab.optimism(jobs=0), "jobs is 0, not a number of workers"),
        (lambda: lab.optimism(learner=("tree", "lda")), "optimism takes one learner. Got tree, lda"),
        (lambda: lab.coverage(20, 1.5), "p must lie between 0 and 1"),
        (lambda: lab.coverage(20, 0.5, "wilsen"), "no interval method 'wilsen'"),
        (lambda: lab.coverage(20, 0.5, "wilson")["normal"], "no figure of 'normal' here"),
        (lambda: lab.coverage(20, 0.5, measure="log_loss"), "true value of log_loss is not known here"),
        (lambda: lab.power(discordance=0.01), "A difference of 0.05 needs at least as many cases"),
        (lambda: lab.fold_average(measure="roc_auc"), "true value of roc_auc is not known here"),
        (lambda: lab.fold_average(prevalence=0.9, precision=0.1), "No classifier has recall 0.6 and precision 0.1"),
        (lambda: lab.imbalance(separation=-1), "separation must be a number from 0 up"),
    ],
)
def test_wrong_calls_say_what_is_wrong(call, words):
    with pytest.raises(OptionError, match=words):
        call()


def test_an_unknown_learner_is_refused():
    with pytest.raises(HeldoutError, match="ldaa"):
        lab.optimism(learner="ldaa")


def test_the_names_are_sorted_and_cost_nothing_before_use():
    assert list(lab.__all__) == sorted(lab.__all__) == dir(lab)
    for name in lab.__all__:
        assert getattr(lab, name).__name__ == name
        assert getattr(lab, name).__doc__
    assert lab.worlds.Noise is lab.Noise
    with pytest.raises(AttributeError, match="no attribute 'world'"):
        lab.world  # noqa: B018
    code = "from heldout import lab; lab.best_of_k; print(*lab.find_experiments())"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == list(EXPERIMENTS), "whichever was used first"
    code = "import sys, heldout.lab.parameters; from heldout import lab; print(*sys.modules); lab.Gaussians().draw(5)"
    code += "; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    declared, drawn = (set(line.split()) for line in done.stdout.splitlines())
    assert "numpy" not in declared
    assert not {"sklearn", "joblib", "scipy.stats", "pandas", "polars", "altair"} & drawn
