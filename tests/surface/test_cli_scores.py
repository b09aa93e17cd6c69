"""The command line with scores: evaluate, thresholds, costs and charts."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

DIABETES = str(Path(__file__).parents[2] / "examples" / "diabetes.csv")
COSTS = "tested_positive,tested_negative:5; tested_negative,tested_positive:1"


def test_scores_are_in_the_report(run):
    status, out, _ = run("evaluate", DIABETES)
    assert status == 0
    assert "score = p_tested_positive" in out
    for name in ("ROC AUC", "average precision", "Brier score", "log loss"):
        assert name in out


def test_costs_and_a_threshold(run):
    status, out, _ = run("evaluate", DIABETES, "--threshold", "0.1", "--costs", COSTS, "--json", "-")
    assert status == 0
    document = json.loads(out)
    assert document["threshold"] == 0.1
    cells = document["confusion"]["matrix"]
    missed, false = cells[1][0], cells[0][1]
    total = next(row for row in document["estimates"] if row["measure"] == "total_cost")
    assert total["value"] == pytest.approx(5 * missed + false)


def test_charts_are_written(run, tmp_path):
    place = tmp_path / "roc.svg"
    status, _, err = run("evaluate", DIABETES, "--chart", f"roc={place}")
    assert status == 0
    assert str(place) in err
    assert "False positive rate" in place.read_text(encoding="utf-8")


@pytest.mark.parametrize("link", [None, "symlink_to", "hardlink_to"])
def test_a_chart_never_overwrites_the_input(run, tmp_path, link):
    predictions = tmp_path / "predictions.json"
    predictions.write_text('[{"truth": "a", "score": 0.1}, {"truth": "b", "score": 0.9}]', encoding="utf-8")
    chart = predictions
    if link:
        chart = tmp_path / "roc.svg"
        getattr(chart, link)(predictions)
    before = predictions.read_bytes()
    status, _, err = run("evaluate", str(predictions), "--chart", f"roc={chart}")
    assert status == 2
    assert "--chart would overwrite the input" in err
    assert predictions.read_bytes() == before


def test_measures_with_parameters_are_reported(run):
    asked = ("precision_at(k=20)", "tpr_at_fpr(fpr=0.2)", "f_score(beta=0.5)")
    status, out, _ = run("evaluate", DIABETES, *(part for name in asked for part in ("--measure", name)), "--json", "-")
    assert status == 0
    named = [row["measure"] for row in json.loads(out)["estimates"]]
    assert named == ["precision_at(k=20)", "tpr_at_fpr(fpr=0.2)", "f0.5"]


def test_thresholds_by_cost_measure_and_requirement(run):
    status, out, _ = run("thresholds", DIABETES, "--costs", COSTS)
    assert status == 0
    assert "least expected cost" in out
    assert run("thresholds", DIABETES, "--maximize", "f1")[0] == 0
    status, out, _ = run("thresholds", DIABETES, "--require", "recall >= 0.95", "--json", "-")
    assert status == 0
    assert json.loads(out)["schema"] == "heldout/decision@1"


def test_thresholds_of_several_classes_are_costs(run):
    iris = DIABETES.replace("diabetes", "iris")
    kinds = ("setosa", "versicolor", "virginica")
    costs = "; ".join(f"Iris-{a},Iris-{b}:{20 if a == 'virginica' else 1}" for a in kinds for b in kinds if a != b)
    columns = [word for kind in kinds for word in ("--score", f"p_Iris-{kind}")]
    status, out, _ = run("thresholds", iris, *columns, "--costs", costs, "--json", "-")
    assert status == 0
    found = json.loads(out)
    assert found["schema"] == "heldout/cost-of-decision@1"
    assert [row["role"] for row in found["estimates"]] == ["least expected cost", "likeliest class", "saved"]
    status, out, err = run("thresholds", iris, "--maximize", "f1")
    assert (status, out) == (2, "")
    assert "--positive CLASS" in err
    assert "--costs" in err


def test_a_grid_of_thresholds(run):
    status, out, _ = run("thresholds", DIABETES, "--grid", "0.5,0.9")
    assert status == 0
    assert "164   78   104   422" in out
    status, out, _ = run("thresholds", DIABETES, "--grid", "distinct", "--json", "-")
    rows = next(value for value in json.loads(out).values() if isinstance(value, list) and len(value) > 100)
    assert status == 0
    assert rows[-1]["tp"] == 268


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (("thresholds", DIABETES, "--require", "recall >= 0.99, precision >= 0.99"), "Hint:"),
        (("thresholds", DIABETES, "--require", "recal >= 0.9"), "recall"),
        (("thresholds", DIABETES, "--maximize", "nonsense"), "Hint:"),
        (("thresholds", DIABETES), "Hint:"),
        (("thresholds", DIABETES, "--grid", "many"), "--grid 11"),
        (("evaluate", DIABETES, "--costs", "tested_positive:1"), "Hint:"),
        (("evaluate", DIABETES, "--score", "p_tested_negative"), "looks like the score of class"),
        (("evaluate", DIABETES, "--score", "truth"), "must be numbers"),
        (("evaluate", DIABETES, "--chart", "roc"), "--chart roc=roc.svg"),
        (("evaluate", DIABETES, "--chart", "roc=roc.bmp"), "Hint:"),
        (("evaluate", DIABETES, "--threshold", "half"), "Hint:"),
    ],
)
def test_what_is_wrong_is_said_in_two_sentences(run, words, text):
    status, out, err = run(*words)
    assert (status, out) == (2, "")
    assert text in err
    assert "Traceback" not in err


def test_a_prevalence_needs_a_positive_class(run, tmp_path):
    (tmp_path / "three.csv").write_text("truth,predicted\na,a\nb,b\nc,c\n", encoding="utf-8")
    status, _, err = run("evaluate", str(tmp_path / "three.csv"), "--prevalence", "0.1")
    assert status == 2
    assert "no class is the positive one" in err


def test_a_threshold_for_another_prevalence_is_not_judged_on_these_cases(run):
    status, out, _ = run(
        "thresholds", DIABETES, "--score", "p_tested_positive", "--maximize", "f1", "--prevalence", ".1"
    )
    assert status == 0
    assert "where 10 % are positive" in " ".join(out.split())
    assert "] on these cases" not in " ".join(out.split())


def test_test_sets_without_a_class_in_common_are_not_compared(run, tmp_path):
    (tmp_path / "one.csv").write_text("truth,predicted\na,a\nb,b\n", encoding="utf-8")
    (tmp_path / "two.csv").write_text("truth,predicted\nx,x\ny,x\n", encoding="utf-8")
    status, _, err = run("compare", str(tmp_path / "one.csv"), str(tmp_path / "two.csv"), "--different-cases")
    assert status == 2
    assert "have no class in common" in err
