"""A validation in every form: the JSON document, rows that bind with others, frames, pages, and the predictions."""

from __future__ import annotations

import csv
import io
import json
import math
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.datasets import load_iris
from sklearn.metrics import roc_auc_score
from sklearn.svm import SVC

import heldout
from heldout.result import ROW_KEYS

validate: Any = heldout.validate

X, Y = load_iris(return_X_y=True)
X2, Y2 = X[50:, :2], np.array(["no", "yes"])[Y[50:] - 1]
OF_FOLDS = {"rule", "other", "gap", "spread", "folds", "training"}


@pytest.fixture(scope="module")
def one():
    return validate("naive-bayes", X2, Y2, plan="5-fold", seed=2)


@pytest.fixture(scope="module")
def several():
    return validate({"near": "knn:5", "bayes": "naive-bayes"}, X2, Y2, plan="5-fold", seed=2)


@pytest.fixture(params=["one", "several"])
def either(request):
    return request.getfixturevalue(request.param)


def test_the_document_has_one_evaluation_for_each_learner(one, several):
    for result, names in ((one, ["naive-bayes"]), (several, ["near", "bayes"])):
        document = json.loads(result.to_json())
        assert list(document) == ["schema", "validations"]
        assert document["schema"] == "heldout/validation@1"
        assert [held["learner"] for held in document["validations"]] == names


def test_each_holds_its_plan_its_counts_and_its_estimates(one):
    (held,) = json.loads(one.to_json())["validations"]
    assert (held["plan"], held["n"], held["positive"], held["seed"], held["level"]) == ("5-fold", 100, "yes", 2, 0.95)
    assert held["confusion"]["labels"] == ["no", "yes"]
    assert held["confusion"]["matrix"] == one.confusion.matrix.tolist()
    assert np.sum(held["confusion"]["matrix"]) == 100
    assert (held["splits"], held["finished"], held["complete"], held["failures"]) == (5, 5, True, [])
    assert held["fingerprint"] == one.fingerprint
    assert held["target"] == one.plan.target
    by_name = {(e["measure"], e["class"], e["average"]): e for e in held["estimates"]}
    accuracy = by_name["accuracy", None, None]
    assert accuracy["value"] == pytest.approx(one["accuracy"].value)
    assert set(accuracy) >= OF_FOLDS
    assert by_name["overfitting_gap", None, None]["value"] == pytest.approx(one.gap.value)
    assert len(by_name) == len(held["estimates"]), "each estimate stands once"


def test_the_document_survives_a_round_trip(either):
    text = either.to_json()
    assert json.loads(text) == either.to_dict()
    assert "NaN" not in text
    assert json.dumps(json.loads(text), indent=2, ensure_ascii=False) == text


def test_the_document_of_a_corrected_bootstrap_says_what_was_mixed():
    found = validate("naive-bayes", X2, Y2, plan=".632+ 20")
    optimism = json.loads(found.to_json())["validations"][0]["optimism"]
    assert optimism["rule"] == ".632+"
    mixed = (1 - optimism["weight"]) * optimism["training"] + optimism["weight"] * optimism["out_of_bag"]
    assert found["error_rate"].value == pytest.approx(mixed)
    assert found["error_rate"].rule == ".632+"


def test_what_the_learner_and_the_plan_are_stands_in_every_row(either):
    rows = either.rows()
    assert all(tuple(row)[: len(ROW_KEYS)] == ROW_KEYS for row in rows)
    assert {row["plan"] for row in rows} == {"5-fold"}
    assert {row["learner"] for row in rows} == {v.learner for v in (either if hasattr(either, "held") else [either])}
    assert sum(row["measure"] == "overfitting_gap" for row in rows) == len({row["learner"] for row in rows})


def test_frames_bind_with_those_of_evaluations_and_of_other_plans(one, several):
    plain = heldout.evaluate(Y2, Y2)
    trained = validate("knn:5", X2, Y2, plan="resubstitution")
    results: list[Any] = [one, several, trained, plain]
    bound = pl.concat([result.to_frame() for result in results], how="diagonal")
    assert len(bound) == sum(len(result.rows()) for result in results)
    assert bound.columns[: len(ROW_KEYS)] == list(ROW_KEYS)
    for name in OF_FOLDS - {"rule", "folds"}:
        assert bound.schema[name] == pl.Float64
    frames = pd.concat([result.to_frame("pandas") for result in results])
    assert len(frames) == len(bound)
    accuracy = one.to_frame().filter(pl.col("measure") == "accuracy")
    assert accuracy["value"][0] == pytest.approx(one["accuracy"].value)


def test_every_form_renders(either):
    for text in (str(either), either.to_markdown(), either.to_latex(), either.to_html(), either._repr_html_()):
        assert "5-fold" in text
        assert "100 cases" in text
        assert "accuracy" in text
    assert "tabular" in either.to_latex()
    assert "<table" in either.to_html()
    assert "Validation" in repr(either)
    assert len(repr(either)) < 120


def test_the_report_says_what_is_estimated_and_what_the_columns_mean(one):
    text = " ".join(str(one).split())
    assert text.startswith("naive-bayes · ")
    assert one.fingerprint not in text
    assert "Estimates The error that the learner has on average over training sets like this one" in text
    assert "it is not the standard error of the value" in text
    assert "Overfitting Error " in text


def test_the_full_report_has_every_fold_and_why(one, several):
    from heldout.show.text import render_text

    text = " ".join(render_text(one.full_blocks()).split())
    assert "Every split" in text
    assert f"splits {one.fingerprint}" in text
    assert all(f"fold {number} 80 20" in text for number in range(1, 6))
    assert "scores of different models are not comparable" in text
    both = render_text(several.full_blocks())
    assert both.count("Every split") == 2
    assert [line.name for line in one.folds] == [f"fold {number}" for number in range(1, 6)]
    assert [dict(line.values)["accuracy"] for line in one.folds] == one.per_fold("accuracy").tolist()


def test_only_what_was_asked_for_is_shown(several):
    from heldout.show.text import render_text

    asked = validate("knn:5", X2, Y2, plan="5-fold", measures=["accuracy", "recall[yes]"])
    text = render_text(asked.chosen_blocks())
    assert "accuracy" in text
    assert "kappa" not in text
    both = validate(["knn:5", "tree"], X2, Y2, plan="5-fold", measures=["recall[yes]"])
    assert "recall" in render_text(both.chosen_blocks())
    assert "train–test gap" not in render_text(both.chosen_blocks())
    assert "train–test gap" in str(several)


def test_a_bootstrap_says_how_many_of_the_cases_it_trains_on():
    found = validate("naive-bayes", X2, Y2, plan="bootstrap 60")
    assert found.distinct_share == pytest.approx(1 - (1 - 1 / 100) ** 100, abs=0.02)
    assert "of the distinct cases on average" in " ".join(str(found).split())


@pytest.mark.parametrize("plan", ["20 x holdout 2/3", "bootstrap 20", ".632+ 20", "3x4-fold"])
def test_cases_that_were_predicted_several_times_are_whole_cases(plan):
    found = validate("naive-bayes", X2, Y2, plan=plan)
    (held,) = json.loads(found.to_json())["validations"]
    assert held["n"] == 100
    sizes = {e["measure"]: e["n"] for e in held["estimates"]}
    assert (sizes["accuracy"], sizes["kappa"], sizes["matthews"]) == (100, 100, 100)
    assert "100 cases" in str(found)
    assert len(found.to_frame()) == len(found.rows())


def test_the_predictions_are_a_csv_file_with_scores_for_every_class():
    odd = np.array(['say "no"', "a,b\nc", "déjà"])[Y]
    found = validate("naive-bayes", X, odd, plan="3-fold")
    rows = list(csv.DictReader(io.StringIO(found.predictions_csv())))
    assert len(rows) == 150
    assert list(rows[0]) == ["row", "fold", "truth", "predicted", *(f"p_{label}" for label in sorted(set(odd)))]
    assert all(row["truth"] == odd[int(row["row"])] for row in rows)
    assert all(math.isclose(sum(float(row[f"p_{label}"]) for label in set(odd)), 1) for row in rows)
    assert {int(row["fold"]) for row in rows} == {1, 2, 3}


def test_decision_values_are_called_scores():
    found = validate(SVC(), X2, Y2, plan="3-fold")
    assert list(found.prediction_rows()[0]) == ["row", "fold", "truth", "predicted", "score_yes"]
    assert "they need probabilities" in " ".join(str(found).split())
    rows = pl.DataFrame(found.prediction_rows())
    areas = [roc_auc_score(part["truth"] == "yes", part["score_yes"]) for _, part in rows.group_by("fold")]
    assert found["roc_auc"].value == pytest.approx(np.mean(areas))
    assert np.mean(areas) > 0.5


@pytest.mark.parametrize("plan", ["5-fold", "3x4-fold", "leave-one-out", "20 x holdout 2/3"])
def test_the_file_of_predictions_evaluates_to_the_same_figures(plan, tmp_path):
    found = validate("naive-bayes", X2, Y2, plan=plan)
    path = tmp_path / "predictions.csv"
    path.write_text(found.predictions_csv(), encoding="utf-8")
    again: Any = heldout.evaluate(path, fold="fold", id="row", positive="yes")
    names = ["accuracy", "recall", "kappa", "log_loss"] + (["roc_auc"] if plan != "leave-one-out" else [])
    for name in names:
        assert again[name].value == pytest.approx(found[name].value, rel=1e-9, abs=1e-9), name
        assert again[name].folds == found[name].folds
        assert again[name].n == found[name].n
