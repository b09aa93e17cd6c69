"""Published comparisons through the front door: pROC, R, Demšar's table, and Mitchell's two hypotheses."""

from __future__ import annotations

import csv

import numpy as np
import pytest
from tests.oracles.figures import DATA, read_json, worked_example

from heldout import Costs, evaluate
from heldout.api.compare import compare
from heldout.comparisons.comparison import PairwiseComparison
from heldout.comparisons.learner_ranks import LearnerRanks

ASAH = DATA / "r" / "aSAH.csv"
MCNEMAR = {case["name"]: case for case in read_json("r/mcnemar.json")}
METHODS = {
    "mcnemar": ("p_midp", None),
    "mcnemar-exact": ("p_exact", None),
    "mcnemar-chi-square": ("p_chi2", "chi2"),
    "mcnemar-chi-square-corrected": ("p_cc", "chi2_cc"),
}
DEMSAR = DATA / "r" / "demsar_table6_auc.csv"
RANKS = read_json("r/friedman_cochran.json")["demsar"]


def of_two(found) -> PairwiseComparison:
    assert isinstance(found, PairwiseComparison)
    return found


def of_table(found) -> LearnerRanks:
    assert isinstance(found, LearnerRanks)
    return found


def test_two_markers_of_asah_by_delong_as_in_proc():
    found = of_two(compare(ASAH, truth="outcome", score=["s100b", "wfns"], positive="Poor", measures="roc_auc"))
    pair = found["roc_auc"]
    theirs = read_json("r/proc_asah.json")["tests"]["s100b_vs_wfns"]["delong_paired"]
    assert pair.tested.method == "delong"
    assert (pair.a, pair.b) == ("s100b", "wfns")
    assert pair.tested.statistic == pytest.approx(-2.20898, abs=5e-6)
    assert pair.p == pytest.approx(0.0271758, abs=5e-8)
    assert (pair.tested.statistic, pair.p) == pytest.approx((theirs["statistic"], theirs["p"]), abs=1e-8)
    assert [pair.value_a, pair.value_b] == pytest.approx(theirs["estimate"], abs=1e-8)
    assert pair.better == "b"
    assert pair.verdict.startswith("wfns is better than s100b: ROC AUC (Poor) .824 against .731")
    assert "p = .027" in str(found)


def test_the_same_markers_on_different_patients_as_in_proc():
    with ASAH.open(encoding="utf-8") as file:
        patients = list(csv.DictReader(file))
    outcome = [row["outcome"] for row in patients]
    sides = [
        evaluate(outcome, score=[float(row[name]) for row in patients], threshold=cut, positive="Poor", measures=[])
        for name, cut in (("s100b", 0.2), ("wfns", 3))
    ]
    pair = of_two(compare(*sides, paired=False, measures="roc_auc"))["roc_auc"]
    theirs = read_json("r/proc_asah.json")["tests"]["s100b_vs_wfns"]["delong_unpaired"]
    assert (pair.tested.statistic, pair.p) == pytest.approx((theirs["statistic"], theirs["p"]), abs=1e-8)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("name", MCNEMAR)
def test_mcnemar_s_tables_as_in_r(name, method):
    case = MCNEMAR[name]
    both, only_a, only_b, neither = case["table_rowmajor"]
    # The classes of the cases do not matter to McNemar, so they take turns.
    truth = np.arange(both + only_a + only_b + neither) % 2
    right_a = np.repeat([1, 1, 0, 0], [both, only_a, only_b, neither])
    right_b = np.repeat([1, 0, 1, 0], [both, only_a, only_b, neither])
    sides = [evaluate(truth, np.where(right, truth, 1 - truth), measures=[]) for right in (right_a, right_b)]
    found = of_two(compare(*sides, measures="accuracy", method=method))["accuracy"]
    p, statistic = METHODS[method]
    assert found.p == pytest.approx(case[p], rel=1e-10)
    assert found.tested.difference == pytest.approx((case["b"] - case["c"]) / len(truth), abs=1e-12)
    if statistic is not None:
        assert found.tested.statistic == pytest.approx(case[statistic], rel=1e-10)


def test_demsar_s_table():
    found = of_table(compare(DEMSAR))
    by_name = {test.method: test for test in found.tests}
    assert by_name["iman-davenport"].statistic == pytest.approx(3.686, abs=5e-4)
    assert by_name["friedman"].statistic == pytest.approx(9.279, abs=5e-4)
    assert by_name["friedman-ties"].statistic == pytest.approx(10.228, abs=5e-4)
    assert found.critical_difference == pytest.approx(1.254, abs=5e-4)
    assert found.average_ranks == pytest.approx(RANKS["avg_ranks"], abs=1e-10)
    text = str(found)
    assert "Friedman chi-square, ties not corrected" in text
    assert "Friedman chi-square, corrected for ties" in text
    assert by_name["friedman-ties"].p == pytest.approx(RANKS["p_R"], abs=1e-10)


@pytest.mark.parametrize("correction", [None, "hochberg", "bonferroni"])
def test_demsar_s_table_against_c45(correction):
    found = of_table(compare(DEMSAR, control="C4.5", correction=correction))
    theirs = RANKS[{None: "p_holm", "hochberg": "p_hochberg", "bonferroni": "p_bonf"}[correction]]
    assert {pair.b: pair.p for pair in found.pairs} == pytest.approx(theirs, abs=1e-8)


def test_mitchell_s_two_hypotheses_on_one_hundred_cases_each():
    # .30 against .20 on 100 cases each: d = .10 and its standard deviation is .061.
    sides = [evaluate(matrix=[[100 - wrong, wrong], [0, 0]], labels=["right", "wrong"]) for wrong in (30, 20)]
    found = of_two(compare(*sides, measures="error_rate", method="normal"))["error_rate"]
    assert (found.value_a, found.value_b) == pytest.approx((0.30, 0.20))
    assert found.tested.difference == pytest.approx(0.10, abs=1e-12)
    sigma = (found.tested.high - found.tested.low) / (2 * 1.959964)
    assert sigma == pytest.approx(0.061, abs=5e-4)
    assert found.tested.statistic == pytest.approx(0.10 / sigma, abs=1e-6)


def test_newcombe_s_two_proportions_as_in_r():
    # 56 of 70 against 48 of 80.
    theirs = read_json("r/two_prop.json")
    sides = [evaluate(matrix=[[hits, n - hits], [0, 0]], measures=[]) for hits, n in ((56, 70), (48, 80))]
    found = of_two(compare(*sides, measures="accuracy"))["accuracy"]
    assert found.tested.method == "unpaired-newcombe"
    assert found.p == pytest.approx(theirs["p"], abs=1e-12)
    assert found.tested.statistic**2 == pytest.approx(theirs["score_test_chi2"], abs=1e-10)
    normal = of_two(compare(*sides, measures="accuracy", method="normal"))["accuracy"].tested
    assert [normal.low, normal.high] == pytest.approx(theirs["wald_ci"], abs=1e-10)


@pytest.mark.parametrize("order", [("m1", "m2"), ("m2", "m1")])
def test_the_more_accurate_of_the_note_s_two_models_costs_more(order):
    example = worked_example("cost-m1-m2")
    costs = Costs.of(example["cost"], example["labels"], rows="truth")
    sides = {
        name.upper(): evaluate(matrix=example[name]["matrix"], labels=example["labels"], positive="+", costs=costs)
        for name in order
    }
    found = of_two(compare(sides, measures=["accuracy", "total_cost"]))
    costly = found["total_cost"]
    assert {costly.a: costly.value_a, costly.b: costly.value_b} == {"M1": 3910, "M2": 4255}
    said = "M2 is more accurate than M1 (.900 against .800), but it costs more: 4,255 against 3,910."
    assert found.review["H053"].title == said
    assert said in " ".join(str(found).split())
    assert found["accuracy"].verdict.startswith("M2 is better than M1")
