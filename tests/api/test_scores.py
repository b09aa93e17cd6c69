"""Evaluations of scores, from arrays, frames and files: which class a column speaks for, and what comes out."""

from __future__ import annotations

import json
import math
import pickle
from typing import Any

import numpy as np
import polars as pl
import pytest
from sklearn.metrics import (
    average_precision_score,
    brier_score_loss,
    log_loss,
    roc_auc_score,
    top_k_accuracy_score,
)

import heldout
from heldout.errors import ColumnError, HeldoutError, LabelError, OptionError, ValuesError

# A threshold or, of several classes, a cost: which of the two comes is not for the type checker here.
choose_threshold: Any = heldout.choose_threshold

TRUTH = ["yes", "no", "yes", "no", "no", "yes", "no", "yes", "no", "no"]
SCORE = [0.9, 0.4, 0.65, 0.35, 0.7, 0.55, 0.1, 0.8, 0.2, 0.3]
ONES = np.array(TRUTH) == "yes"


def test_binary_scores_agree_with_scikit_learn():
    seen = heldout.evaluate(TRUTH, score=SCORE)
    assert seen.positive == "yes"
    assert seen.threshold == 0.5
    assert seen["roc_auc"].value == pytest.approx(roc_auc_score(ONES, SCORE), abs=1e-12)
    assert seen["average_precision"].value == pytest.approx(average_precision_score(ONES, SCORE), abs=1e-12)
    assert seen["brier"].value == pytest.approx(brier_score_loss(ONES, SCORE), abs=1e-12)
    assert seen["log_loss"].value == pytest.approx(log_loss(ONES, SCORE), abs=1e-12)
    assert seen.confusion.matrix.tolist() == [[5, 1], [0, 4]]


@pytest.mark.parametrize("form", ["two columns", "one column", "data frame", "class names as columns"])
def test_a_table_of_two_columns_is_the_positive_one(form):
    both = np.column_stack([1 - np.array(SCORE), SCORE])
    given = {
        "two columns": both,
        "one column": np.array(SCORE).reshape(-1, 1),
        "data frame": pl.DataFrame({"p_no": both[:, 0], "p_yes": both[:, 1]}),
        "class names as columns": both.tolist(),
    }[form]
    seen = heldout.evaluate(TRUTH, score=given)
    assert seen["roc_auc"].value == pytest.approx(roc_auc_score(ONES, SCORE), abs=1e-12)


def test_a_threshold_decides_the_class():
    seen = heldout.evaluate(TRUTH, score=SCORE, threshold=0.65)
    assert seen.confusion.matrix.tolist() == [[5, 1], [1, 3]]
    assert seen.threshold == 0.65


def test_predicted_classes_stand_beside_scores():
    seen = heldout.evaluate(TRUTH, ["no"] * 10, score=SCORE)
    assert seen["recall"].value == 0
    assert seen["roc_auc"].value == pytest.approx(roc_auc_score(ONES, SCORE), abs=1e-12)
    assert seen.threshold is None


def test_scores_of_three_classes():
    rng = np.random.default_rng(0)
    truth = rng.integers(0, 3, 200)
    table = rng.dirichlet([1, 1, 1], 200) * 0.5
    table[np.arange(200), truth] += 0.5
    names = np.array(["a", "b", "c"])[truth]
    seen = heldout.evaluate(names, score=table)
    assert seen["macro roc_auc"].value == pytest.approx(roc_auc_score(names, table, multi_class="ovr"), abs=1e-12)
    assert seen["hand_till_auc"].value == pytest.approx(roc_auc_score(names, table, multi_class="ovo"), abs=1e-12)
    assert seen["log_loss"].value == pytest.approx(log_loss(names, table), abs=1e-12)
    assert (seen.confusion.hits.sum() / 200) == (table.argmax(axis=1) == truth).mean()
    assert seen["roc_auc[b]"].value == pytest.approx(roc_auc_score(names == "b", table[:, 1]), abs=1e-12)


def test_columns_are_guessed_and_the_guess_is_said(tmp_path):
    path = tmp_path / "churn.csv"
    pl.DataFrame({"label": TRUTH, "p_no": [1 - s for s in SCORE], "p_yes": SCORE}).write_csv(path)
    seen = heldout.evaluate(path)
    assert dict(seen.source.columns) == {"truth": "label", "predicted": "score >= 0.5", "score": "p_yes"}
    assert "score" in seen.source.guessed
    assert seen["roc_auc"].value == pytest.approx(roc_auc_score(ONES, SCORE), abs=1e-12)
    assert "--score" in str(seen)


def test_a_guess_does_not_stop_an_evaluation_that_does_not_need_it(tmp_path):
    path = tmp_path / "churn.csv"
    holes = pl.Series([None, *SCORE[1:]])
    pl.DataFrame({"label": TRUTH, "predicted": TRUTH, "score": holes}).write_csv(path)
    seen = heldout.evaluate(path)
    assert seen["accuracy"].value == 1
    assert any("score" in note for note in seen.notes)
    with pytest.raises(ValuesError, match="missing value: score in 1"):
        heldout.evaluate(path, score="score")
    assert heldout.evaluate(path, score="score", missing="drop").n == 9


def test_weights_and_groups_reach_the_scores():
    weight = np.arange(1.0, 11.0)
    seen = heldout.evaluate(TRUTH, score=SCORE, weight=weight)
    assert seen["roc_auc"].value == pytest.approx(roc_auc_score(ONES, SCORE, sample_weight=weight), abs=1e-12)
    grouped = heldout.evaluate(TRUTH, score=SCORE, group=[1, 1, 2, 2, 3, 3, 4, 4, 5, 5])
    assert grouped["roc_auc"].value == pytest.approx(roc_auc_score(ONES, SCORE), abs=1e-12)
    assert (grouped["roc_auc"].low, grouped["roc_auc"].high) != (seen["roc_auc"].low, seen["roc_auc"].high)


def test_one_class_only_leaves_the_area_undefined_with_a_reason():
    seen = heldout.evaluate(["yes"] * 4, score=[0.9, 0.8, 0.3, 0.6])
    assert math.isnan(seen["roc_auc"].value)
    assert seen["roc_auc"].undefined
    assert seen["recall"].value == 0.75


def test_scores_that_run_the_wrong_way_are_said_and_not_turned():
    rng = np.random.default_rng(1)
    truth = rng.random(400) < 0.4
    score = np.where(truth, 0.3, 0.7) + rng.normal(0, 0.1, 400)
    seen = heldout.evaluate(truth, score=np.clip(score, 0, 1))
    assert seen["roc_auc"].value < 0.1
    assert [found.code for found in seen.findings if "below one half" in found.title] == ["H004"]


def test_other_intervals_by_name():
    seen = heldout.evaluate(TRUTH, score=SCORE)
    assert seen.interval("roc_auc", method="delong").method == "delong"
    assert seen.interval("roc_auc", method="bootstrap", replicates=99).method == "bootstrap"
    with pytest.raises(OptionError, match="wilson"):
        seen.interval("roc_auc", method="wilson")
    with pytest.raises(OptionError, match="does not apply to brier"):
        seen.interval("brier", method="delong")


def test_the_document_holds_the_curves_and_is_json():
    document = json.loads(heldout.evaluate(TRUTH, score=SCORE).to_json())
    points = document["curves"]["roc"]["points"]
    assert {"threshold", "tp", "fp", "x", "y"} <= set(points[0])
    assert points[-1]["x"] == points[-1]["y"] == 1
    assert document["threshold"] == 0.5


@pytest.mark.parametrize(
    ("options", "error", "text"),
    [
        ({"score": ["a"] * 10}, ValuesError, "must be numbers"),
        ({"score": [math.inf, *SCORE[1:]]}, ValuesError, "not finite"),
        ({"score": SCORE[:5]}, ValuesError, "differ in length"),
        ({"score": np.ones((10, 3)) / 3}, ColumnError, "3 columns of scores and 2 classes"),
        ({"score": [s * 10 - 3 for s in SCORE]}, OptionError, "no natural threshold"),
        ({"score": SCORE, "threshold": math.nan}, OptionError, "must be a number"),
        ({"score": SCORE, "predicted": TRUTH, "threshold": 0.5}, OptionError, "together with the predicted"),
        ({"predicted": TRUTH, "measures": ["roc_auc"]}, OptionError, "none were given"),
        (
            {"score": [s * 10 for s in SCORE], "threshold": 5.0, "measures": ["brier"]},
            OptionError,
            "needs probabilities",
        ),
    ],
)
def test_wrong_scores_are_refused_in_words(options, error, text):
    with pytest.raises(error, match=text) as caught:
        heldout.evaluate(TRUTH, **options)
    assert caught.value.hint


def test_scores_need_to_know_their_class():
    with pytest.raises(OptionError, match="not known which"):
        heldout.evaluate(["cat", "dog"], score=[0.1, 0.9])
    with pytest.raises(LabelError, match="what the other class is"):
        heldout.evaluate(["cat", "cat"], score=[0.1, 0.9])
    with pytest.raises(ColumnError, match="One column of scores was given for 3"):
        heldout.evaluate(["a", "b", "c"], score=[0.1, 0.9, 0.5])


def test_a_column_of_the_other_class_is_refused(tmp_path):
    path = tmp_path / "churn.csv"
    pl.DataFrame({"label": TRUTH, "p_no": SCORE}).write_csv(path)
    with pytest.raises(ColumnError, match="looks like the score of class 'no'"):
        heldout.evaluate(path, score="p_no")


def test_rows_that_do_not_sum_to_one_are_scores_and_not_probabilities():
    table = np.array([[0.5, 0.4, 0.4], [0.1, 0.8, 0.1], [0.2, 0.2, 0.6]])
    seen = heldout.evaluate(["a", "b", "c"], score=table)
    assert seen["macro roc_auc"].value == 1
    with pytest.raises(OptionError, match=r"row 1 sum to 1\.3"):
        seen["log_loss"]


def test_curves_of_every_kind():
    seen = heldout.evaluate(TRUTH, score=SCORE)
    for kind in ("roc", "pr", "det", "gain", "lift", "cost", "decision", "reliability", "f1"):
        assert len(seen.curve(kind).rows()) > 1
    with pytest.raises(HeldoutError, match="no scores"):
        heldout.evaluate(TRUTH, TRUTH).curve("roc")


def test_a_threshold_is_chosen_from_the_front_door():
    chosen = choose_threshold(TRUTH, SCORE, costs={("yes", "no"): 10, ("no", "yes"): 1})
    brute = {
        t: sum(10 for s, y in zip(SCORE, ONES, strict=True) if y and s < t)
        + sum(1 for s, y in zip(SCORE, ONES, strict=True) if not y and s >= t)
        for t in SCORE
    }
    assert brute[chosen.threshold] == min(brute.values())
    with pytest.raises(OptionError):
        choose_threshold(TRUTH, SCORE, require="recall >= 0.9, precision >= 0.99")
    with pytest.raises(OptionError, match="two classes"):
        choose_threshold(["a", "b", "c"], np.eye(3))


def test_maximize_is_another_word_for_by():
    named = choose_threshold(TRUTH, SCORE, maximize="f1")
    assert named.threshold == choose_threshold(TRUTH, SCORE, by="f1").threshold
    with pytest.raises(OptionError, match="two names of 'by'"):
        choose_threshold(TRUTH, SCORE, by="f1", maximize="youden")


def test_of_several_classes_one_is_told_from_the_others():
    rng = np.random.default_rng(5)
    truth = rng.choice(["a", "b", "c"], 200)
    scores = rng.random((200, 3)) + (truth[:, None] == np.array(["a", "b", "c"]))
    frame = pl.DataFrame({"truth": truth, **{f"p_{name}": scores[:, i] for i, name in enumerate("abc")}})
    alone = choose_threshold(truth == "b", scores[:, 1], by="youden")
    for score in (None, "p_b"):
        found = choose_threshold(frame, score, positive="b", by="youden")
        assert found.threshold == alone.threshold
        assert found.confusion.matrix.tolist() == alone.confusion.matrix.tolist()
        assert (found.negative, found.positive) == ("not b", "b")
        assert "score = p_b" in found.columns
        assert "p_a" not in found.columns
    assert choose_threshold(truth, scores, positive="b", by="youden").threshold == alone.threshold
    with pytest.raises(OptionError, match="there are 3: a, b, c") as caught:
        choose_threshold(frame, by="youden")
    assert "--positive CLASS" in caught.value.hint
    with pytest.raises(ColumnError, match="looks like the score of class 'a'"):
        choose_threshold(frame, positive="b", score="p_a", by="youden")


@pytest.mark.parametrize(
    ("bad", "said"),
    [
        (["nan"], "1 of 10 rows has a missing value: score in 1; it is row 4"),
        (["inf"], "1 score is not finite, in row 4"),
        (["high"], "1 of 10 values is not: 'high'; it is in row 4"),
        (["inf", "-inf"], "2 scores are not finite; the first is in row 4"),
        (["", ""], "2 of 10 rows have missing values: score in 2; the first is row 4"),
    ],
)
def test_what_is_wrong_with_a_guessed_score_is_said_at_once_where_it_is_needed(bad, said, tmp_path):
    path = tmp_path / "churn.csv"
    written = [*map(str, SCORE[:3]), *bad, *map(str, SCORE[3 + len(bad) :])]
    path.write_text("\n".join(["label,score", *map(",".join, zip(TRUTH, written, strict=True))]), encoding="utf-8")
    for ask in (heldout.evaluate, lambda place: choose_threshold(place, by="f1")):
        with pytest.raises(ValuesError) as caught:
            ask(path)
        assert said in caught.value.what


def test_the_row_of_a_score_is_counted_before_rows_are_dropped():
    truth: list[str | None] = [None, None, "no", "yes", "no", "yes"]
    with pytest.raises(ValuesError, match="in row 5"):
        heldout.evaluate(truth, score=[0.1, 0.2, 0.3, 0.4, math.inf, 0.6], missing="drop")


def test_columns_that_share_no_class_are_told_also_where_their_numbers_overlap():
    seen = heldout.evaluate([0, 5] * 20, [1, 2] * 20)
    assert any("no label in common" in note and "truth has 0, 5; prediction has 1, 2" in note for note in seen.notes)
    ages = pl.DataFrame({"y_true": [0, 1] * 37, "age": range(21, 95)})
    seen = heldout.evaluate(ages, truth="y_true", predicted="age")
    assert any("no label in common" in note and "and 70 more" in note for note in seen.notes)
    late = heldout.evaluate([0, 5] * 200, [1, 2] * 199 + [0, 1])
    assert not any("no label in common" in note for note in late.notes)


def three_classes(n=150, seed=4):
    rng = np.random.default_rng(seed)
    truth, logits = rng.integers(0, 3, n), rng.normal(size=(n, 3))
    logits[np.arange(n), truth] += 1
    return truth, logits, np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)


def test_the_classes_of_logits_can_be_put_in_order():
    truth, logits, _ = three_classes()
    seen = heldout.evaluate(truth, score=logits, measures=["accuracy"])
    for k in (1, 2):
        found = seen[f"top_k_accuracy(k={k})"]
        assert found.value == pytest.approx(top_k_accuracy_score(truth, logits, k=k), abs=1e-12)
        assert found.low < found.value < found.high
    with pytest.raises(OptionError, match="log_loss needs probabilities"):
        seen["log_loss"]


def test_ties_among_logits_go_to_the_later_label():
    score = np.array([[5, 5, 7, 0], [1, 5, 5, 5], [0, 0, 3, 3], [1, 1, 1, 1]])
    seen = heldout.evaluate([0, 1, 2, 3], score=score, measures=["accuracy"])
    assert seen["top_k_accuracy(k=2)"].value == 0.5
    assert seen["top_k_accuracy(k=3)"].value == 1.0
    # The true class is always one of all classes, and that is no merit.
    assert seen["top_k_accuracy(k=3)"].note == ""
    assert "with 4 classes any answer" in seen["top_k_accuracy(k=4)"].note


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("average", ["macro", "weighted", "micro"])
def test_averages_of_areas_agree_with_scikit_learn(average, weighted):
    truth, _, table = three_classes()
    weight = np.random.default_rng(0).uniform(0.1, 2, len(truth)) if weighted else None
    seen = heldout.evaluate(truth, score=table, weight=weight, measures=["accuracy"])
    one_of_three = np.eye(3)[truth]
    for name, theirs in (("average_precision", average_precision_score), ("roc_auc", roc_auc_score)):
        found = seen.get(name, average=average)
        assert found.value == pytest.approx(
            theirs(one_of_three, table, average=average, sample_weight=weight), abs=1e-12
        )
        assert found.low < found.value < found.high


def test_averages_of_areas_that_cannot_be_made_are_refused():
    truth, _, table = three_classes()
    folds = heldout.evaluate(truth, score=table, fold=np.arange(len(truth)) % 5, measures=["accuracy"])
    with pytest.raises(OptionError, match="no micro average of roc_auc over folds"):
        folds["micro roc_auc"]
    counted = heldout.evaluate(heldout.count(truth, score=table), measures=["accuracy"])
    assert counted["macro average_precision"].value == pytest.approx(
        heldout.evaluate(truth, score=table)["macro average_precision"].value, abs=1e-6
    )
    with pytest.raises(OptionError, match="counted and not kept"):
        counted["micro roc_auc"]
    with pytest.raises(OptionError, match="does not apply to log_loss"):
        counted.interval("log_loss", method="bootstrap")


LOSSES = ("log_loss", "brier", "brier_skill", "expected_calibration_error", "spherical_score")
FITTED = ("calibration_slope", "calibration_intercept", "calibration_in_the_large")


@pytest.mark.parametrize("method", ["bootstrap", "bca", "bootstrap-logit", "stratified-bootstrap"])
@pytest.mark.parametrize("name", [*LOSSES, *FITTED])
def test_every_measure_of_probabilities_has_the_bootstraps_by_name(name, method):
    rng = np.random.default_rng(2)
    p = rng.beta(1.2, 2, 120)
    seen = heldout.evaluate((rng.random(120) < p).astype(int), score=p, measures=["accuracy"])
    wide, narrow = (seen.interval(name, method=method, level=level, replicates=99) for level in (0.9, 0.3))
    assert wide.method == method
    assert wide.low <= narrow.low <= narrow.value <= narrow.high <= wide.high
    usual = seen.interval(name, level=0.9)
    if name != "expected_calibration_error" and method != "stratified-bootstrap":
        # Of a distance a bootstrap sees chance twice, and with as many cases of each class the shares are no chance at
        # all; otherwise it says about what the usual interval says.
        assert 0.6 < wide.width / usual.width < 1.6


def test_a_bootstrap_of_losses_draws_whole_groups():
    truth, _, table = three_classes(60)
    apart, together = (
        heldout.evaluate(np.repeat(truth, 5), score=np.repeat(table, 5, axis=0), group=group, measures=["accuracy"])
        for group in (np.arange(300), np.repeat(np.arange(60), 5))
    )
    widths = [e.interval("log_loss", method="cluster-bootstrap", replicates=199).width for e in (apart, together)]
    assert 1.7 < widths[1] / widths[0] < 2.8


def test_one_number_does_not_wait_for_the_others_and_is_the_same_among_them():
    asked, whole = (heldout.evaluate(TRUTH, score=SCORE, weight=range(1, 11)) for _ in range(2))
    names = [estimate.name for estimate in whole.estimates]
    one_by_one = [asked[name] for name in names]
    assert "estimates" not in vars(asked)
    assert one_by_one == list(whole.estimates) == list(asked.estimates)
    assert pickle.loads(pickle.dumps(heldout.evaluate(TRUTH, score=SCORE))) == heldout.evaluate(TRUTH, score=SCORE)


def test_what_is_done_to_the_arrays_later_changes_no_number():
    truth, score, weight = np.array(ONES, dtype=int), np.array(SCORE), np.arange(1.0, 11.0)
    seen, before = (heldout.evaluate(truth, score=score, weight=weight) for _ in range(2))
    kept = repr(before.rows())
    truth[:], score[:], weight[:] = 0, 0.5, 1.0
    assert repr(seen.rows()) == kept


@pytest.mark.parametrize("name", ["roc_auc_ovo_weighted", "weighted hand_till_auc", "micro hand_till_auc"])
def test_pairs_of_classes_have_no_weights(name):
    """scikit-learn weights each pair by its cases there, which is another number."""
    truth, scores = [0, 1, 2, 0, 1, 2], np.eye(3)[[0, 1, 2, 1, 1, 0]]
    with pytest.raises(heldout.HeldoutError, match="average: every pair of classes counts alike"):
        _ = heldout.evaluate(truth, score=scores, measures=name).estimates
    plain = heldout.evaluate(truth, score=scores, measures="hand_till_auc").estimates
    assert heldout.evaluate(truth, score=scores, measures="macro hand_till_auc").estimates == plain
