"""pROC's figures: areas, DeLong variances and intervals, partial areas and whole curves."""

from __future__ import annotations

import csv
import math

import numpy as np
import pytest
from tests.oracles.figures import DATA, WEKA, WEKA_RUNS, read_json, weka_figures, worked_example

from heldout.engines.score_sort import rank
from heldout.evidence import Ranking
from heldout.intervals.areas import area, delong, delong_variance, hanley_mcneil_variance
from heldout.measures.quantity import Bound
from heldout.measures.ranking import MEASURES

BY_NAME = {m.name: m for m in MEASURES}
NEAR = 1e-10


def value(name, seen, **parameters):
    measure = BY_NAME[name]
    return float(Bound(measure, {**measure.parameters, **parameters}).value({"ranking": seen}))


def columns(path):
    with path.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    return {name: [row[name] for row in rows] for name in rows[0]}


@pytest.fixture(params=["s100b", "wfns"])
def asah(request):
    held = columns(DATA / "r" / "aSAH.csv")
    positive = np.array([outcome == "Poor" for outcome in held["outcome"]])
    seen = rank(np.array(held[request.param], dtype=np.float64), positive)
    return seen, read_json("r/proc_asah.json")["auc"][request.param]


def test_area_variance_and_interval(asah):
    seen, figures = asah
    assert area(seen) == pytest.approx(figures["auc"], rel=0, abs=NEAR)
    assert delong_variance(seen) == pytest.approx(figures["delong_var"], rel=0, abs=NEAR)
    low, middle, high = figures["delong_ci"]
    assert delong(seen) == pytest.approx((low, high), rel=0, abs=NEAR)
    assert middle == figures["auc"]


@pytest.mark.parametrize(
    ("figure", "measure", "low", "high"),
    [
        ("pauc_spec_1_0.9", "partial_auc", 0.0, 0.1),
        ("pauc_spec_1_0.8", "partial_auc", 0.0, 0.2),
        ("pauc_sens_1_0.9", "partial_auc_by_recall", 0.9, 1.0),
    ],
)
def test_partial_areas(asah, figure, measure, low, high):
    seen, figures = asah
    assert value(measure, seen, low=low, high=high) == pytest.approx(figures[figure], rel=0, abs=NEAR)
    corrected = value(f"corrected_{measure}", seen, low=low, high=high)
    assert corrected == pytest.approx(figures[f"{figure}_corrected"], rel=0, abs=NEAR)


def test_whole_curve(asah):
    seen, figures = asah
    # pROC runs from the lowest threshold up and puts thresholds half-way between scores; the last finds nothing.
    theirs = figures["curve"][::-1]
    assert len(theirs) == len(seen) + 1
    tpr = np.concatenate([[0], seen.tp / seen.n_positive])
    fpr = np.concatenate([[0], seen.fp / seen.n_negative])
    assert tpr == pytest.approx([point["sensitivity"] for point in theirs], rel=0, abs=NEAR)
    assert 1 - fpr == pytest.approx([point["specificity"] for point in theirs], rel=0, abs=NEAR)
    middles = (seen.scores[:-1] + seen.scores[1:]) / 2
    # The threshold that calls all down to score i positive lies between scores i and i + 1.
    assert middles == pytest.approx([float(point["threshold"]) for point in theirs[1:-1]], rel=0, abs=NEAR)


def test_hanley_and_mcneil():
    figures = read_json("r/hanley_mcneil_ct.json")
    up, down = (np.array(figures[key])[::-1] for key in ("abnormal_counts", "normal_counts"))
    seen = Ranking(np.arange(5.0)[::-1], up, down)
    assert area(seen) == pytest.approx(figures["auc"], rel=0, abs=NEAR)
    error = math.sqrt(hanley_mcneil_variance(area(seen), up.sum(), down.sum()))
    assert error == pytest.approx(figures["hanley_mcneil_se"], rel=0, abs=NEAR)
    assert math.sqrt(delong_variance(seen)) == pytest.approx(figures["delong_se"], rel=0, abs=NEAR)
    assert delong(seen) == pytest.approx((figures["delong_ci"][0], figures["delong_ci"][2]), rel=0, abs=NEAR)


@pytest.mark.parametrize("place", range(3))
def test_ovarian_cancer(place):
    figures = read_json("r/delong_ovarian.json")
    held = columns(DATA / "r" / "delong_ovarian_sas.csv")
    name = figures["order"][place]
    seen = rank(np.array(held[name], dtype=np.float64), np.array(held["popind"]) == "1")
    assert area(seen) == pytest.approx(figures["auc"][place], rel=0, abs=NEAR)
    assert delong_variance(seen) == pytest.approx(figures["cov"][place][place], rel=0, abs=NEAR)
    assert delong(seen) == pytest.approx((figures["ci"][name][0], figures["ci"][name][2]), rel=0, abs=NEAR)


@pytest.mark.parametrize("run", WEKA_RUNS)
def test_weka_areas(run):
    held = columns(WEKA / f"{run}_predictions.csv")
    for figures in weka_figures(run)["per_class"]:
        label = figures["class"]
        seen = rank(np.array(held[f"p_{label}"], dtype=np.float64), np.array(held["actual"]) == label)
        assert value("roc_auc", seen) == pytest.approx(figures["roc_area"], rel=0, abs=1e-12)
        # Weka's is a sum of steps and no trapezoid.
        assert value("average_precision", seen) == pytest.approx(figures["prc_area"], rel=0, abs=1e-12)


def test_worked_thresholds():
    example = worked_example("roc-thresholds-8")
    scores, positive = np.array(example["predicted"]), np.array(example["expected"]) == "P"
    seen = rank(scores, positive)
    right = example["right"]
    assert value("roc_auc", seen) == right["auc"]
    for threshold, tp, fp in zip(example["printed"]["threshold"], right["tp"], right["fp"], strict=True):
        called = int((seen.scores >= threshold).sum())
        assert (np.append(0, seen.tp)[called], np.append(0, seen.fp)[called]) == (tp, fp)


def test_worked_construction_has_one_point_at_the_tie():
    example = worked_example("roc-construction-10")
    seen = rank(np.array(example["scores"]), np.array(example["truth"]) == "+")
    right = example["right"]
    assert seen.scores.tolist() == right["thresholds"]
    assert seen.tp.tolist() == right["tp"]
    assert seen.fp.tolist() == right["fp"]
    assert value("roc_auc", seen) == pytest.approx(right["auc"], abs=1e-15)
