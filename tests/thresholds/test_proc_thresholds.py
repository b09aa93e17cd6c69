"""The best thresholds of pROC on its own data set: Youden's and the closest to the corner."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import numpy as np
import pytest

from heldout.thresholds.selection import choose_rows

DATA = Path(__file__).parents[1] / "oracles" / "data" / "r"
FIGURES = json.loads((DATA / "proc_asah.json").read_text(encoding="utf-8"))["auc"]
with (DATA / "aSAH.csv").open(encoding="utf-8", newline="") as file:
    ROWS = list(csv.DictReader(file))
POOR = np.array([row["outcome"] == "Poor" for row in ROWS])


@pytest.mark.parametrize("score", ["s100b", "wfns"])
@pytest.mark.parametrize(("by", "named"), [("youden", "youden"), ("closest", "closest_topleft")])
def test_the_same_point_is_chosen(score, by, named):
    expected = FIGURES[score][named]
    scores = np.array([float(row[score]) for row in ROWS])
    chosen = choose_rows(scores, POOR, by=by, positive="Poor", negative="Good")
    assert chosen["recall"].value == pytest.approx(expected["sensitivity"], abs=1e-10)
    assert chosen["specificity"].value == pytest.approx(expected["specificity"], abs=1e-10)
    # pROC's thresholds are the middles between scores: ours is the score above, and the same cases are called.
    assert chosen.above < expected["threshold"] <= chosen.threshold
    assert np.array_equal(scores >= chosen.threshold, scores > expected["threshold"])
    for name, measure in (("accuracy", "accuracy"), ("ppv", "precision"), ("npv", "negative_predictive_value")):
        if name in expected:
            assert chosen[measure].value == pytest.approx(expected[name], abs=1e-10)
    if by == "youden":
        assert chosen.criterion.value == pytest.approx(expected["youden"] - 1, abs=1e-10)
