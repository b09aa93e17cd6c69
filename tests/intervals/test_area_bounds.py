"""Areas from bins: between which bounds they lie, and how it is said."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from heldout.api.evaluate import evaluate
from heldout.engines.memory import counted
from heldout.engines.score_evidence import CountedScores
from heldout.evidence.counted import Counted, ScoreTally
from heldout.evidence.ranking import BLOCK
from heldout.evidence.score_bins import ScoreBins
from heldout.intervals.area_bounds import area_bounds, bounds_note
from heldout.intervals.score_estimator import FEW, MANY
from heldout.predictions.case_values import raw_scores
from heldout.predictions.table import assemble
from heldout.report.evaluation_page import evaluation_facts
from heldout.report.slider import threshold_explorer
from heldout.results.evaluation import Evaluation
from heldout.threads import use_threads

N = 3000
DRAW = np.random.default_rng(11)
TRUTH = DRAW.integers(0, 2, N)
SCORE = 1 / (1 + np.exp(-(2 * TRUTH - 1 + DRAW.normal(0, 1.2, N))))
GROUP = DRAW.integers(0, 200, N)
FOLD = np.arange(N) % 3


def coarse(tally: ScoreTally, most: int) -> ScoreTally:
    """The same scores in at most so many bins."""
    return replace(tally, bins=tuple(replace(bins, most=most).settled() for bins in tally.bins))


def in_bins(most: int, **columns: Any) -> Counted:
    """Counts of the scores in at most so many bins."""
    columns = {"threshold": 0.3, "score": SCORE, "truth": TRUTH, **columns}
    truth, score = columns.pop("truth"), raw_scores(columns.pop("score"))
    made = counted(assemble(truth, score=score, **columns))
    assert made.scores is not None
    parts = tuple(coarse(part, most) for part in made.fold_scores)
    return replace(made, scores=coarse(made.scores, most), fold_scores=parts)


def of_rows(**columns: Any) -> Evaluation:
    return evaluate(TRUTH, score=SCORE, threshold=0.3, **columns)


def test_every_distinct_score_kept_means_nothing_to_say() -> None:
    seen = evaluate(in_bins(1 << 20))
    assert seen.bounds == {}
    assert "bounds" not in seen.to_dict()
    assert seen.notes == ()


@pytest.mark.parametrize("columns", [{}, {"weight": DRAW.integers(1, 9, N) / 8}, {"group": GROUP}, {"fold": FOLD}])
@pytest.mark.parametrize("most", [8, 64, 512])
def test_areas_of_rows_lie_within_the_bounds_of_bins(most: int, columns: dict[str, Any]) -> None:
    rows, bins = of_rows(**columns), evaluate(in_bins(most, **columns))
    assert bins.to_dict()["bounds"].keys() == {"roc_auc", "average_precision"}
    for name, (low, high) in bins.bounds.items():
        assert low <= rows[name].value <= high
        assert low <= bins[name].value <= high
        assert high - low < 60 / most


@pytest.mark.parametrize("most", [64, 512, 2900])
def test_the_screen_says_in_one_line_to_what_areas_are_certain(most: int) -> None:
    seen = evaluate(in_bins(most))
    (note,) = seen.notes
    line = next(line for line in str(seen).splitlines() if "certain to" in line)
    assert line.strip("!· .") == f"{note[:1].upper()}{note[1:]}"
    said = note.split("ROC AUC certain to ")[1].split(", average precision to ")
    for text, (low, high) in zip(said, seen.bounds.values(), strict=True):
        assert high - low <= float(text) * (1 + 1e-9) <= 2 * (high - low)
    wide = seen.bounds["roc_auc"][1] - seen.bounds["roc_auc"][0] > 1e-4
    assert (line.startswith("!"), " only " in note) == (wide, wide)


def test_the_page_gives_the_bounds_with_digits_that_tell_them_apart() -> None:
    seen = evaluate(in_bins(512))
    facts = dict(evaluation_facts(seen))
    said = facts["ranking"].split("ROC AUC within [")[1].split("]")[0].split(", ")
    low, high = seen.bounds["roc_auc"]
    assert float(said[0]) <= low < high <= float(said[1])
    assert float(said[1]) - float(said[0]) < 1.5 * (high - low)
    assert dict(evaluation_facts(of_rows()))["ranking"] == "exact: 3,000 distinct scores"


def test_counts_at_the_threshold_are_exact_whatever_the_bins() -> None:
    seen = evaluate(in_bins(16))
    assert seen.confusion.matrix.tolist() == of_rows().confusion.matrix.tolist()


@pytest.mark.parametrize("columns", [{}, {"group": GROUP}])
def test_the_counts_at_every_position_of_the_slider_are_those_of_rows(columns: dict[str, Any]) -> None:
    explorer = threshold_explorer(evaluate(in_bins(16, **columns)))
    assert explorer is not None
    tp, fp = (values for _, values in explorer.columns)
    for threshold, hits, alarms in zip(explorer.positions, tp, fp, strict=True):
        called = threshold <= SCORE
        assert (hits, alarms) == (int((called & (TRUTH == 1)).sum()), int((called & (TRUTH == 0)).sum()))


def test_the_slider_starts_at_the_threshold_of_the_predictions() -> None:
    explorer = threshold_explorer(evaluate(in_bins(16)))
    assert explorer is not None
    assert explorer.positions[explorer.start] == 0.3


def test_rules_that_need_single_scores_say_that_there_are_bins() -> None:
    seen = evaluate(in_bins(16))
    for code in ("H009", "H020"):
        assert "counted in bins" in seen.review[code].title
    assert "at least" in seen.review["H017"].title
    assert "counted in bins" in evaluate(in_bins(4)).review["H017"].title


def test_costs_at_a_threshold_inside_a_bin_are_those_of_rows() -> None:
    costs = {(1, 0): 10, (0, 1): 1}
    rows, bins = of_rows(costs=costs), evaluate(in_bins(16), costs=costs)
    assert bins.review["H011"].facts["cost"] == pytest.approx(rows.review["H011"].facts["cost"])


def test_calibration_takes_the_middle_of_each_bin() -> None:
    rows, bins = of_rows(), evaluate(in_bins(512))
    for name in ("calibration_slope", "calibration_intercept", "calibration_in_the_large"):
        assert bins[name].value == pytest.approx(rows[name].value, abs=2e-3)


def test_scores_of_every_class_have_bounds_for_each() -> None:
    truth = DRAW.integers(0, 3, N)
    score = DRAW.dirichlet([1, 1, 1], N)
    score[np.arange(N), truth] += 0.3
    score /= score.sum(axis=1, keepdims=True)
    rows = evaluate(truth, score=score)
    bins = evaluate(in_bins(64, truth=truth, score=score, threshold=None))
    for label in (0, 1, 2):
        low, high = bins.bounds["roc_auc"][label]
        assert low <= rows.get("roc_auc", class_=label).value <= high
    assert "ROC AUC certain to " in bins.notes[-1]


def test_a_ranking_of_one_class_has_no_area_to_bound() -> None:
    made = ScoreBins.of([0.1, 0.2, 0.3, 0.4, 0.9], [1] * 5, 2, most=2)
    evidence = CountedScores(ScoreTally((made,)), ("no", "yes"), "yes")
    low, high = area_bounds(evidence)["roc_auc"]
    assert np.isnan(low)
    assert np.isnan(high)
    assert "ROC AUC" not in bounds_note(evidence)


# In order inside every bin of an eighth, which bins cannot see.
HIDDEN = (SCORE * 16 % 1 > 0.5).astype(np.int64)


@pytest.mark.parametrize("columns", [{}, {"weight": DRAW.integers(1, 9, N) / 8}, {"group": GROUP}, {"fold": FOLD}])
def test_the_limits_from_bins_hold_whatever_the_order_inside_them(columns: dict[str, Any]) -> None:
    rows = evaluate(HIDDEN, score=SCORE, threshold=0.3, **columns)
    # With fewer than 10 distinct scores the cases of a fold are not ranked within it.
    bins = evaluate(in_bins(16, truth=HIDDEN, **columns))
    for name in ("roc_auc", "gini", "average_precision", "kolmogorov_smirnov", "partial_auc"):
        seen, exact = bins[name], rows[name]
        assert seen.bounds is not None
        lower, upper = seen.bounds
        assert lower <= exact.value <= upper
        assert seen.low <= exact.value <= seen.high
        assert set(seen.method.split(", ")) == {*exact.method.split(", "), "bins"}
        assert seen.rows()[0]["bounds"] == [lower, upper]
        assert exact.bounds is None
        assert "bounds" not in exact.rows()[0]
    # As wide as without the bins, and what the bins leave open on each side.
    area = bins["roc_auc"]
    assert area.bounds is not None
    assert area.width > area.bounds[1] - area.bounds[0] > 0.05


def test_limits_of_averages_of_classes_hold_whatever_the_order_inside_bins() -> None:
    score = DRAW.dirichlet([1, 1, 1], N)
    # The class with the largest place inside the bins of its own score.
    truth = (score * 8 % 1).argmax(axis=1)
    for columns in ({}, {"group": GROUP}, {"fold": FOLD}, {"weight": DRAW.integers(1, 9, N) / 8}):
        rows = evaluate(truth, score=score, **columns)
        bins = evaluate(in_bins(8, truth=truth, score=score, threshold=None, **columns))
        for name in ("macro roc_auc", "weighted roc_auc", "hand_till_auc"):
            seen, exact = bins[name], rows[name].value
            assert seen.bounds is not None
            assert seen.bounds[0] <= exact <= seen.bounds[1]
            assert seen.low <= exact <= seen.high
            assert seen.method.endswith(", bins")
            assert abs(exact - seen.value) > 0.03


def test_calibration_from_bins_says_how_wide_they_are() -> None:
    wide, narrow = (evaluate(in_bins(most))["calibration_slope"] for most in (16, 2900))
    assert wide.note == "caution: scores were taken at the middle of bins up to 0.062 wide"
    assert "! caution" in str(wide)
    assert narrow.note.startswith("scores were taken at the middle of bins up to ")
    assert not of_rows()["calibration_slope"].note


def test_curve_documents_say_what_lies_between_points_of_bins() -> None:
    for curve in evaluate(in_bins(16)).to_dict()["curves"].values():
        assert "bins of scores that were counted together" in curve["between"]
    for curve in of_rows().to_dict()["curves"].values():
        assert "between" not in curve


@pytest.mark.parametrize("columns", [{}, {"group": GROUP}])
def test_curves_at_fixed_thresholds_have_points_only_where_counts_are_known(columns: dict[str, Any]) -> None:
    bins = evaluate(in_bins(16, **columns))
    for curve in (
        bins.curve("decision"),
        bins.curve("f1", thresholds=11),
        bins.curve("recall", thresholds=[0.3, 0.31]),
    ):
        for threshold, tp, fp in zip(curve.threshold.tolist(), curve.tp, curve.fp, strict=True):
            called = threshold <= SCORE
            assert (tp, fp) == (int((called & (TRUTH == 1)).sum()), int((called & (TRUTH == 0)).sum()))
        assert any("moved to its nearest edge" in note for note in curve.to_dict()["notes"])
        assert "counted together" in curve.to_dict()["between"]


@pytest.mark.parametrize("binned", [False, True])
def test_any_number_of_threads_gives_the_same_report_of_many_scores(*, binned: bool) -> None:
    draw = np.random.default_rng(5)
    truth = draw.integers(0, 2, MANY + 99)
    score = (1 / (1 + np.exp(-(truth - 0.5 + draw.logistic(size=len(truth)))))).round(6)
    assert len(np.unique(score)) > 2 * BLOCK > FEW
    seen = []
    for threads in (1, 3):
        with use_threads(threads):
            made = in_bins(2 * BLOCK, truth=truth, score=score) if binned else None
            judged = evaluate(truth, score=score, threshold=0.3) if made is None else evaluate(made)
            seen.append(repr(judged.rows()))
            assert len(judged.ranking()) > BLOCK
    assert seen[0] == seen[1]
    assert ("delong-score, bins" in seen[0]) == binned
