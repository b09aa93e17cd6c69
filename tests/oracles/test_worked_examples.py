"""The worked examples of the lecture notes: their figures where they are right, and not those that are wrong."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import pytest
from tests.oracles.figures import read_json, worked_example

from heldout import Costs, Evaluation, evaluate
from heldout.intervals.proportion import normal
from heldout.intervals.quantiles import z_value

COUNTED = [example["id"] for example in read_json("worked-examples.json")["examples"] if "matrix" in example]


def evaluated(name: str) -> Evaluation:
    example = worked_example(name)
    return evaluate(matrix=example["matrix"], labels=example["labels"])


def exact(value: Any) -> float:
    return float(Fraction(value)) if isinstance(value, str) else float(value)


def agrees(ours: float, figure: float) -> bool:
    """Whether a figure printed to three digits is ours."""
    return abs(ours - figure) <= 0.0005 + 1e-12


def test_every_example_about_counts_is_here() -> None:
    assert COUNTED == [
        "iris-knn5",
        "imbalanced-10100",
        "binary-48",
        "iris-naive-bayes-weka",
        "limitation-of-accuracy",
    ]


def test_iris_by_five_neighbours() -> None:
    example, ours = worked_example("iris-knn5"), evaluated("iris-knn5")
    printed, right = example["printed"], example["right"]
    for place, label in enumerate(example["labels"]):
        assert ours[f"precision[{label}]"].value == pytest.approx(exact(printed["precision"][place]), abs=1e-12)
        assert ours[f"recall[{label}]"].value == pytest.approx(exact(printed["recall"][place]), abs=1e-12)
        assert ours[f"f1[{label}]"].value == pytest.approx(right["f"][place], abs=1e-12)
        # The note cuts .9495 to .949 and .9505 to .95 instead of rounding.
        assert ours[f"f1[{label}]"].value == pytest.approx(printed["f"][place], abs=0.001)
    assert ours["accuracy"].value == pytest.approx(right["accuracy"], abs=1e-12)
    assert ours["macro f1"].value == pytest.approx(right["f_macro"], abs=1e-12)
    assert not agrees(ours["macro f1"].value, printed["f_macro"])


def test_ten_thousand_to_one_hundred() -> None:
    example, ours = worked_example("imbalanced-10100"), evaluated("imbalanced-10100")
    printed = example["printed"]
    assert ours["accuracy"].value == pytest.approx(example["right"]["accuracy"], abs=1e-12)
    # The note prints .998; always predicting c1 would be right just as often.
    assert not agrees(ours["accuracy"].value, printed["accuracy"])
    assert ours["no information rate"].value == ours["accuracy"].value
    for measure, figures in (("precision", "precision"), ("recall", "recall"), ("f1", "f")):
        for label, figure in zip(example["labels"], printed[figures], strict=True):
            assert agrees(ours.get(measure, class_=label).value, figure)
    assert agrees(ours["macro f1"].value, printed["f_macro"])


def test_the_misprinted_f_formula_is_not_ours() -> None:
    # Printed: 2 n_ii / (n_ii + m_i). Right: 2 n_ii / (n_i + m_i), the class's cases and its predictions.
    ours = evaluated("iris-knn5")
    hits, cases, predicted = 47, 50, 49
    assert ours["f1[c2]"].value == pytest.approx(2 * hits / (cases + predicted), abs=1e-12)
    assert ours["f1[c2]"].value != pytest.approx(2 * hits / (hits + predicted), abs=0.01)


def test_forty_eight_cases() -> None:
    example = worked_example("binary-48")
    right = example["right"]
    ours = evaluate(matrix=example["matrix"], labels=example["labels"], positive="+")
    tp, fn, fp, tn = ours.confusion.corners[0].tolist()
    assert (ours.n, tp + fn, fp + tn) == (right["n"], right["positives"], right["negatives"])
    assert (tp + fp, fn + tn) == (right["predicted_positive"], right["predicted_negative"])
    for name in ("accuracy", "precision", "recall", "specificity"):
        assert ours[name].value == pytest.approx(right[name], abs=1e-12)


def test_iris_by_naive_bayes() -> None:
    ours = evaluated("iris-naive-bayes-weka")
    assert ours["accuracy"].value == pytest.approx(0.96, abs=1e-12)


def test_accuracy_is_not_everything() -> None:
    ours, right = evaluated("limitation-of-accuracy"), worked_example("limitation-of-accuracy")["right"]
    assert ours["accuracy"].value == pytest.approx(right["accuracy"], abs=1e-12)
    assert ours["recall[1]"].value == right["recall_1"]
    assert math.isnan(ours["precision[1]"].value)
    assert ours["precision[1]"].undefined == "nothing was predicted positive"


@pytest.mark.parametrize("model", ["m1", "m2"])
def test_costs(model: str) -> None:
    example = worked_example("cost-m1-m2")
    wanted = example[model]
    costs = Costs.of(example["cost"], example["labels"], rows="truth")
    ours = evaluate(matrix=wanted["matrix"], labels=example["labels"], costs=costs)
    assert ours["accuracy"].value == pytest.approx(wanted["accuracy"], abs=1e-12)
    assert ours["total cost"].value == wanted["cost"]
    # Read the other way round, as C(i|j) invites, the same table costs something else.
    turned = Costs.of(example["cost"], example["labels"], rows="predicted")
    other = evaluate(matrix=wanted["matrix"], labels=example["labels"], costs=turned)
    assert other["total cost"].value != wanted["cost"]


def test_rows_may_be_predictions_as_in_one_of_the_notes() -> None:
    example = worked_example("iris-knn5")
    turned = [list(column) for column in zip(*example["matrix"], strict=True)]
    ours = evaluate(matrix=turned, labels=example["labels"], rows="predicted")
    assert ours.confusion.matrix.tolist() == example["matrix"]


def test_the_table_of_critical_values_and_the_interval_it_is_for() -> None:
    table = worked_example("z-table")["right"]
    # The note has 1.00 for .994 at 68 % and 1.64 for 1.645 at 90 %.
    for level, z in table.items():
        assert z_value(float(level)) == pytest.approx(z, abs=0.0056)
    ours = evaluate(matrix=[[8, 2], [10, 20]], measures="error_rate").interval("error rate", method="normal")
    half = 1.96 * math.sqrt(0.3 * 0.7 / 40)
    assert (ours.value, ours.low, ours.high) == pytest.approx((0.3, 0.3 - half, 0.3 + half), abs=1e-5)
    assert [float(limit) for limit in normal(12, 40)] == pytest.approx([ours.low, ours.high], abs=1e-12)
