"""Figures of R: caret's confusionMatrix, kappa with psych and vcd, and Takahashi's intervals of F1."""

from __future__ import annotations

from typing import Any

import pytest
from tests.oracles.figures import number, read_json

from heldout import Evaluation, evaluate
from heldout.intervals.quantiles import z_value

TABLES = {table["name"]: table for table in read_json("r/caret_confusion.json")["tables"]}
TAKAHASHI = read_json("r/takahashi_f1.json")
every_table = pytest.mark.parametrize("figures", TABLES.values(), ids=TABLES)

BY_CLASS = {
    "Sensitivity": "sensitivity",
    "Specificity": "specificity",
    "Pos Pred Value": "ppv",
    "Neg Pred Value": "npv",
    "Precision": "precision",
    "Recall": "recall",
    "F1": "f1",
    "Prevalence": "prevalence",
    "Detection Prevalence": "detection prevalence",
    "Balanced Accuracy": "balanced accuracy",
}


def evaluated(figures: Any, level: float = 0.95) -> Evaluation:
    matrix = figures["matrix_rows_true_cols_pred"]
    return evaluate(matrix=matrix, labels=list("abcd")[: len(matrix)], level=level)


@every_table
def test_caret_overall(figures: Any) -> None:
    ours, theirs = evaluated(figures), figures["overall"]
    assert ours["accuracy"].value == pytest.approx(theirs["Accuracy"], abs=1e-12)
    assert ours["kappa"].value == pytest.approx(theirs["Kappa"], abs=1e-12)
    assert ours["no information rate"].value == pytest.approx(theirs["AccuracyNull"], abs=1e-12)


@every_table
def test_caret_accuracy_interval(figures: Any) -> None:
    theirs = figures["overall"]
    found = evaluated(figures).interval("accuracy", method="clopper-pearson")
    assert (found.low, found.high) == pytest.approx((theirs["AccuracyLower"], theirs["AccuracyUpper"]), abs=1e-10)


@every_table
def test_caret_by_class(figures: Any) -> None:
    ours = evaluated(figures)
    for label, theirs in figures["byClass"].items():
        name = label.removeprefix("Class: ")
        for figure, measure in BY_CLASS.items():
            found = ours.get(measure, class_=name).value
            assert found == pytest.approx(number(theirs[figure]), abs=1e-12), (name, figure)
        # TP/n, which has no name of its own here.
        recall, prevalence = (ours.get(measure, class_=name).value for measure in ("recall", "prevalence"))
        assert recall * prevalence == pytest.approx(theirs["Detection Rate"], abs=1e-12)


@every_table
def test_kappas(figures: Any) -> None:
    ours, psych, vcd = evaluated(figures), figures["psych_cohen_kappa"], figures["vcd_Kappa"]
    assert ours["kappa"].value == pytest.approx(psych["kappa"], abs=1e-12)
    assert ours["kappa"].value == pytest.approx(vcd["unweighted"]["value"], abs=1e-12)
    assert ours["linear kappa"].value == pytest.approx(vcd["weighted_equal_spacing"]["value"], abs=1e-12)
    assert ours["quadratic kappa"].value == pytest.approx(psych["weighted_quadratic"], abs=1e-12)
    assert ours["quadratic kappa"].value == pytest.approx(vcd["weighted_fleiss_cohen"]["value"], abs=1e-12)


@every_table
@pytest.mark.parametrize(
    ("name", "weights"),
    [
        ("kappa", "unweighted"),
        ("linear kappa", "weighted_equal_spacing"),
        ("quadratic kappa", "weighted_fleiss_cohen"),
    ],
)
def test_standard_errors_of_kappa(figures: Any, name: str, weights: str) -> None:
    # vcd has the large-sample formula of Fleiss, Cohen & Everitt (1969): the delta method, as here.
    found = evaluated(figures).interval(name, method="normal", level=0.5)
    error = (found.high - found.low) / 2 / z_value(0.5)
    assert error == pytest.approx(figures["vcd_Kappa"][weights]["ASE"], abs=1e-10)


@every_table
def test_intervals_of_kappa(figures: Any) -> None:
    ours, vcd, psych = evaluated(figures), figures["vcd_Kappa"], figures["psych_cohen_kappa"]
    for name, limits in zip(("kappa", "linear kappa"), vcd["ci95"], strict=True):
        found = ours.interval(name, method="normal")
        assert (found.low, found.high) == pytest.approx(limits, abs=1e-10)
    for name, (low, _, high), variance in zip(
        ("kappa", "quadratic kappa"), psych["ci"], (psych["var_kappa"], psych["var_weighted"]), strict=True
    ):
        if variance:  # psych says 0 for the variance of one weighted kappa, where vcd has a standard error of .044
            found = ours.interval(name, method="normal")
            assert (found.low, found.high) == pytest.approx((low, high), abs=1e-10)


@pytest.mark.parametrize("name", TAKAHASHI)
@pytest.mark.parametrize("average", ["micro", "macro"])
def test_takahashi_intervals_of_f1(name: str, average: str) -> None:
    theirs = TAKAHASHI[name]
    ours = evaluate(matrix=theirs["matrix"])
    found = ours.interval(f"{average} f1", method="normal")
    assert found.value == pytest.approx(theirs[average], abs=1e-12)
    assert (found.low, found.high) == pytest.approx(theirs[f"{average}_ci"], abs=1e-10)
    assert (found.high - found.low) / 2 / z_value() == pytest.approx(theirs[f"{average}_se"], abs=1e-10)
