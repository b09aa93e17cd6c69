"""What a comparison says must agree with itself, and with what an evaluation of the same predictions says."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import binomtest

from heldout.api.compare import compare
from heldout.api.evaluate import evaluate
from heldout.comparisons.comparison import PairwiseComparison
from heldout.results.evaluation import Evaluation
from heldout.show.numbers import number


def wrong_in(*rows: int, n: int = 200) -> object:
    """An evaluation of n cases that is wrong in these rows only."""
    truth = np.arange(n) % 2
    answers = truth.copy()
    answers[list(rows)] = 1 - answers[list(rows)]
    return evaluate(truth, answers, measures=[])


def in_folds(seed: int, share: float = 0.2, n: int = 120) -> dict[str, np.ndarray]:
    """Predictions in ten folds, with scores that do not depend on the seed."""
    rng = np.random.default_rng(seed)
    truth = np.arange(n) % 3 == 0
    answers = np.where(rng.random(n) < share, ~truth, truth)
    scores = np.clip(0.3 * truth + np.random.default_rng(5).random(n) * 0.7, 0, 1)
    fold = np.repeat(np.arange(10), n // 10)
    return {"truth": truth.astype(int), "predicted": answers.astype(int), "p_1": scores, "fold": fold}


def found(*classifiers: object, **options: object) -> PairwiseComparison:
    made = compare(*classifiers, **options)  # type: ignore[arg-type]
    assert isinstance(made, PairwiseComparison)
    return made


def test_means_over_folds_stand_beside_what_an_evaluation_gives():
    sides = [evaluate(in_folds(seed), fold="fold") for seed in (1, 2)]
    seen = found(*sides, names=["x", "y"], measure=["f1", "accuracy", "brier"])
    row = next(row for row in seen.rows() if row["measure"] == "f1")
    pooled = [side["f1"].value for side in sides]
    assert [row["pooled_a"], row["pooled_b"]] == pytest.approx(pooled)
    assert row["value_a"] != pytest.approx(pooled[0], abs=5e-4)
    (said,) = [note for note in seen.notes if "means over the splits" in note]
    assert all(f"{value:.3f}"[1:] in said for value in pooled)
    # All folds have as many cases, so the accuracies are the same either way, and nothing is said of them.
    assert "accuracy" not in said
    assert [math.isnan(pair.pooled[0]) for pair in seen.pairs if pair.pooled] == [False, False, True]


def test_an_interval_that_leaves_out_zero_is_of_its_pair_alone():
    # 13 cases against 4 tell the first two apart: p is below .05, and three times as much after the correction.
    sides = {"a": wrong_in(*range(4)), "b": wrong_in(*range(10, 23)), "c": wrong_in(*range(30, 42))}
    seen = found(sides, measure="accuracy")
    pair = seen.get("a", "b")
    assert pair.tested.low > 0
    assert pair.tested.p == pytest.approx(binomtest(4, 17).pvalue, abs=0.02)
    assert pair.better == "undecided"
    assert "] for this pair alone, p = " in pair.verdict
    finding = seen.review["H054"]
    # Of b and c neither is ruled out as the best, as one of the others is.
    assert finding.title.startswith("b and c are not told apart by accuracy: ")
    assert {(row["a"], row["b"]) for row in finding.facts["pairs"]} == {("a", "b"), ("a", "c"), ("b", "c")}
    alone = found(sides["a"], sides["b"], measure="accuracy")
    assert "for this pair alone" not in str(alone)


def test_the_same_scores_are_called_so_whatever_the_measure_and_the_setting():
    for fold in (None, "fold"):
        one, two = (evaluate(in_folds(seed), fold=fold) for seed in (1, 2))
        seen = found(one, two, names=["x", "y"], measure=["accuracy", "roc_auc", "brier"])
        verdicts = [pair.verdict for pair in seen.pairs]
        assert all(text.startswith("x and y give the same scores: ") for text in verdicts[1:])
        assert "same" not in verdicts[0]
        said = " ".join(str(seen).split())
        for other in ("rank the cases alike", "same loss", "same value", "same answers", "A and B"):
            assert other not in said
        assert seen.review["H061"].facts["alike"] == "scores"
    assert seen.reason.count("Nadeau") == 1


def test_predictions_against_themselves_are_a_finding():
    one = evaluate(in_folds(1))
    seen = found(one, one, names=["x", "y"])
    assert seen.review["H061"].title == "x and y give the same answers and scores in all 120 cases."
    assert seen.pairs[0].verdict.startswith("x and y give the same answers: ")
    # As many errors, in other cases.
    other = found(wrong_in(1, 2), wrong_in(3, 4), measure="accuracy")
    assert other.pairs[0].better == "same"
    assert "give the same" not in other.verdict
    assert other.review["H061"].outcome == "passed"


def test_labels_of_other_kinds_are_the_same_answers():
    words = evaluate(["0", "1"] * 30, ["0", "1"] * 25 + ["1", "0"] * 5)
    numbers = evaluate([0, 1] * 30, [0, 1] * 25 + [1, 0] * 5)
    assert found(words, numbers, measure="accuracy").pairs[0].alike == "answers"


CROSSED = [True, True, True, False, True, False, False, False]
FIRST, SECOND = [8, 7, 6, 5, 1, 4, 3, 2], [8, 4, 5, 7, 6, 3, 2, 1]


def scored(values):
    return evaluate(CROSSED, score=np.array(values) / 10, positive=True, threshold=0.5)


def test_the_screen_says_that_two_roc_curves_cross():
    found = compare({"M1": scored(FIRST), "M2": scored(SECOND)})
    assert isinstance(found, PairwiseComparison)
    said = " ".join(str(found).split())
    assert found.roc().verdict in said
    assert "Curves M1 is better at false positive rates up to .182" in said
    assert "cross once" in said
    page = found.to_html()
    assert page.count("M1 is better at false positive rates up to .182") <= 2, "in the section of curves and its chart"


@pytest.mark.parametrize(
    ("sides", "measure"),
    [
        ({"M1": FIRST, "M2": SECOND}, "accuracy"),
        ({"M1": FIRST, "M2": [8, 7, 3, 5, 1, 6, 4, 2]}, None),
        ({"M1": FIRST, "M2": FIRST}, None),
        ({"M1": FIRST, "M2": SECOND, "M3": FIRST}, None),
    ],
    ids=["areas are not compared", "one dominates", "the same curve", "three of them"],
)
def test_nothing_is_said_of_curves_that_do_not_cross(sides, measure):
    found = compare({name: scored(values) for name, values in sides.items()}, measures=measure)
    assert "convex hull" not in str(found)


def rare(seed: int, spread: float, n: int = 400) -> Evaluation:
    """An evaluation with one positive in ten cases."""
    truth = np.arange(n) % 10 == 0
    score = 1 / (1 + np.exp(-np.random.default_rng(seed).normal(np.where(truth, 1.5, -2.5), spread)))
    return evaluate(truth, score=score, positive=True)


def test_with_rare_positives_average_precision_leads_and_accuracy_ends():
    names = [pair.measure for pair in found(rare(0, 1), rare(1, 2), replicates=99)]
    assert (names[0], names[-1]) == ("average_precision", "accuracy")
    even = [evaluate(np.arange(90) % 2 == 0, score=np.random.default_rng(s).random(90), positive=True) for s in (0, 1)]
    usual = [pair.measure for pair in found(*even)]
    assert usual[0] == "accuracy"
    assert "average_precision" not in usual


def test_of_many_cases_average_precision_is_compared_without_resampling():
    made = found(rare(0, 1, 12_000), rare(1, 1.5, 12_000))
    assert {pair.measure: pair.tested.method for pair in made}["average_precision"] == "influence-t"
    # So few positives among so many cases would have to be resampled.
    truth = np.arange(12_000) % 100 == 0
    few = [evaluate(truth, score=np.random.default_rng(s).random(12_000), positive=True) for s in (0, 1)]
    assert "average_precision" not in {pair.measure for pair in found(*few)}


def test_models_by_measures_are_what_each_evaluation_gives_and_what_the_comparison_marks():
    models = [rare(0, 0.6), rare(1, 3), rare(2, 3)]
    made = found(*models, names=["good", "x", "y"], measure=["roc_auc", "accuracy"])
    table = made.models()
    for evaluation, line in zip(models, table.estimates, strict=True):
        assert line == (evaluation["roc_auc"], evaluation["accuracy"])
    assert made.best is not None
    assert table.marked[0] == frozenset(made.best["roc_auc"].may_be_best) == {"good"}
    text = str(made)
    assert text.index("good") < text.index("pair")
    assert f"{number(table.estimates[0][0].value, digits=table.estimates[0][0].digits)}*" in text
    two = found(*models[:2], names=["good", "x"], measure=["roc_auc"]).models()
    assert two.marked == (frozenset({"good"}),)
    same = found(models[1], models[2], names=["x", "y"], measure=["roc_auc"]).models()
    assert same.marked == (frozenset(),)
