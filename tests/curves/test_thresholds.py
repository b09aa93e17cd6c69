"""The threshold table: the lecture notes' examples, Weka's figures, grids, and count intervals."""

from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given
from tests.curves.scored_cases import DATA, band_of, diabetes, read, scored

from heldout.curves import confusion_at, measure_curve, threshold_table
from heldout.curves.threshold_counts import threshold_grid
from heldout.engines.score_sort import rank
from heldout.errors import OptionError, ValuesError
from heldout.evidence.ranking import Ranking
from heldout.intervals.count_estimator import Estimator
from heldout.measures.catalogue import find
from heldout.measures.quantity import Quantity

EXAMPLES = {
    example["id"]: example
    for example in json.loads((DATA / "worked-examples.json").read_text(encoding="utf-8"))["examples"]
}


def test_the_notes_grid_of_thresholds():
    example = EXAMPLES["roc-thresholds-8"]
    truth = np.array([label == "P" for label in example["expected"]])
    ranking = rank(np.array(example["predicted"]), truth)
    for grid in (example["printed"]["threshold"], 11):
        table = threshold_table(ranking, grid)
        assert table.threshold.tolist() == example["printed"]["threshold"]
        assert table.tp.tolist() == example["right"]["tp"]
        assert table.fp.tolist() == example["right"]["fp"]


def test_the_notes_construction_has_one_point_at_the_tied_score():
    example = EXAMPLES["roc-construction-10"]
    table = threshold_table(rank(np.array(example["scores"]), np.array([label == "+" for label in example["truth"]])))
    assert table.threshold.tolist() == example["right"]["thresholds"]
    assert table.tp.tolist() == example["right"]["tp"]
    assert table.fp.tolist() == example["right"]["fp"]


def test_wekas_threshold_curve():
    rows = read("weka/diabetes__NaiveBayes_threshold_curve_class1.csv")
    table = threshold_table(diabetes(), [float(row["Threshold"]) for row in rows], ["f1", "predicted_positive_rate"])
    columns = {
        "True Positives": table.tp,
        "False Positives": table.fp,
        "False Negatives": table.fn,
        "True Negatives": table.tn,
        "True Positive Rate": table["recall"],
        "False Positive Rate": table["fpr"],
        "Precision": table["precision"],
        "FMeasure": table["f1"],
        "Sample Size": table["predicted_positive_rate"],
        "Lift": table["precision"] / (268 / 768),
    }
    for name, ours in columns.items():
        wekas = np.array([float(row[name]) for row in rows])
        defined = ~np.isnan(wekas)
        assert defined.sum() >= len(rows) - 3
        np.testing.assert_allclose(ours[defined], wekas[defined], rtol=1e-12, atol=1e-12)
    # Weka has no F where TP is 0; ours is 0 there. Precision has no value in either where nothing is predicted.
    assert np.isnan(table["precision"]).sum() == 1


@given(scored())
def test_counts_follow_the_rule_at_any_threshold(case):
    truth, scores, weight = case
    held = np.ones(len(truth)) if weight is None else weight
    table = threshold_table(rank(scores, truth, weight=weight), [-1.0, 0.0, 1 / 3, 0.5, 1.0, 2.0])
    for at, threshold in enumerate(table.threshold):
        chosen = scores >= threshold
        parts = (chosen & truth, chosen & ~truth, ~chosen & truth, ~chosen & ~truth)
        ours = [column[at] for column in (table.tp, table.fp, table.fn, table.tn)]
        assert ours == pytest.approx([held[part].sum() for part in parts])


def test_grids():
    shares = Ranking(np.array([0.9, 0.2]), np.array([1, 1]), np.array([1, 1]))
    assert threshold_grid(shares, 11).tolist() == [0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0]
    wide = Ranking(np.array([3.0, -1.0]), np.array([1, 1]), np.array([1, 1]))
    assert threshold_grid(wide, 3).tolist() == [-1.0, 1.0, 3.0]
    assert threshold_grid(wide, "distinct").tolist() == [3.0, -1.0]
    with pytest.raises(OptionError, match="'all'"):
        threshold_grid(wide, "all")
    with pytest.raises(OptionError, match="2 thresholds or more"):
        threshold_grid(wide, 1)
    with pytest.raises(ValuesError, match="NaN"):
        threshold_grid(wide, [0.5, float("nan")])


@pytest.mark.parametrize("measure", ["recall", "accuracy", "f1", "f2", "lr+", "dor", "jaccard"])
def test_intervals_at_a_threshold_are_those_of_its_confusion_matrix(measure):
    ranking = diabetes()
    curve = measure_curve(ranking, measure)
    bound = find(measure)
    for at in (3, 200, 500, 760):
        made = Estimator(confusion_at(ranking, float(curve.x[at]))).ask(Quantity(bound, class_=True))
        assert (curve.y[at], curve.low[at], curve.high[at]) == pytest.approx(
            (made.value, made.low, made.high), nan_ok=True
        )
        assert band_of(curve).method == made.method


def test_drawn_intervals_agree_up_to_the_draws_and_stand_at_a_selection():
    ranking = diabetes()
    curve = measure_curve(ranking, "mcc")
    there = np.flatnonzero(~np.isnan(curve.low))
    assert len(there) == 200
    assert "200 of 768" in curve.notes[0]
    for at in there[::40]:
        made = Estimator(confusion_at(ranking, float(curve.x[at])), seed=4).ask(Quantity(find("mcc"), class_=True))
        # 999 draws here and 9,999 there: a limit of each is off by .085 and .027 standard errors, of about .035.
        assert (curve.low[at], curve.high[at]) == pytest.approx((made.low, made.high), abs=4 * 0.09 * 0.035)


def test_weights_and_groups_reach_the_intervals():
    rng = np.random.default_rng(1)
    truth, scores = rng.random(300) < 0.4, rng.random(300).round(1)
    plain = threshold_table(rank(scores, truth), [0.5], ["f1"], intervals=True)
    heavy = threshold_table(rank(scores, truth, weight=rng.exponential(size=300)), [0.5], ["f1"], intervals=True)
    group = (np.repeat(np.arange(30), 10), np.arange(30))
    grouped = threshold_table(rank(scores, truth, group=group), [0.5], ["f1"], intervals=True)
    assert [table.methods[0] for table in (plain, heavy, grouped)] == ["wilson", "wilson, effective n", "cluster-logit"]
    assert (heavy.highs[0] - heavy.lows[0])[0] > (plain.highs[0] - plain.lows[0])[0]
    assert grouped.tp[0] == plain.tp[0]


def test_the_table_reads_and_stores():
    table = threshold_table(diabetes(), 11, ["f1"], intervals=True, positive="tested_positive")
    row = table.rows()[5]
    assert list(row)[:8] == ["threshold", "tp", "fp", "fn", "tn", "recall", "recall_low", "recall_high"]
    document = table.to_dict()
    assert (document["schema"], document["rule"]) == ("heldout/thresholds@1", "score >= threshold")
    assert len(document["thresholds"]) == 11
    assert table.to_frame().shape == (11, 5 + 3 * 4)
    assert "threshold" in str(table)
    assert "The first 50 of 768 thresholds." in str(threshold_table(diabetes()))
    with pytest.raises(KeyError):
        table["mcc"]
