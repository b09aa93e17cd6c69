"""Predictions that come in folds: Weka's own file, repetitions with ids, and what cannot be right."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from sklearn import metrics

import heldout
from heldout.errors import HeldoutError, OptionError, ValuesError
from heldout.intervals.fold_estimates import FoldEstimate
from heldout.show.text import render_text

# Estimates over folds hold more than others do, which the type checker cannot know.
evaluate: Any = heldout.evaluate

WEKA = Path(__file__).parents[1] / "oracles" / "data" / "weka"
FILE = WEKA / "diabetes__NaiveBayes_predictions.csv"
POSITIVE = "tested_positive"


@pytest.fixture(scope="module")
def rows():
    return pl.read_csv(FILE)


@pytest.fixture(scope="module")
def folded():
    return evaluate(FILE, truth="actual", predicted="predicted", fold="fold", id="row")


@pytest.fixture(scope="module")
def weka():
    return json.loads((WEKA / "diabetes__NaiveBayes.json").read_text(encoding="utf-8"))["cv10_seed1"]


def per_fold(rows, measure):
    """A measure of scikit-learn in each of Weka's folds."""
    values = []
    for number in sorted(set(rows["fold"])):
        here = rows.filter(pl.col("fold") == number)
        values.append(measure(here["actual"].to_numpy() == POSITIVE, here[f"p_{POSITIVE}"].to_numpy()))
    return np.array(values)


def test_the_pooled_counts_and_measures_are_weka_s(folded, weka):
    assert folded.confusion.matrix.tolist() == weka["confusion_matrix"]
    assert folded["accuracy"].value == pytest.approx(weka["accuracy"])
    assert folded["kappa"].value == pytest.approx(weka["kappa"])
    by_class = weka["per_class"][1]
    assert folded["f1"].value == pytest.approx(by_class["f_measure"])
    assert folded["matthews"].value == pytest.approx(by_class["mcc"])


def test_the_area_is_the_mean_over_folds_and_weka_s_pooled_one_stands_beside(folded, weka, rows):
    areas = per_fold(rows, metrics.roc_auc_score)
    found = folded["roc_auc"]
    assert found.value == pytest.approx(areas.mean())
    assert found.spread == pytest.approx(areas.std(ddof=1))
    assert found.other == pytest.approx(weka["per_class"][1]["roc_area"])
    assert found.gap == pytest.approx(weka["per_class"][1]["roc_area"] - areas.mean())
    assert (found.rule, found.folds, found.splits, found.n) == ("mean", 10, 10, 768)


def test_losses_are_pooled_and_the_mean_over_folds_stands_beside(folded, rows):
    found = folded["brier"]
    truth, score = rows["actual"].to_numpy() == POSITIVE, rows[f"p_{POSITIVE}"].to_numpy()
    assert found.value == pytest.approx(metrics.brier_score_loss(truth, score))
    assert found.other == pytest.approx(per_fold(rows, metrics.brier_score_loss).mean())


def test_every_estimate_knows_its_folds_and_the_report_shows_them(folded):
    assert all(isinstance(e, FoldEstimate) and e.splits == 10 for e in folded)
    text = str(folded)
    assert "difference" in render_text(folded.full_blocks())
    for said in ("mean of folds", " pooled", "The sd over folds", "not the standard error of the value"):
        assert said in " ".join(text.split())
    document = json.loads(folded.to_json())
    area = next(e for e in document["estimates"] if e["measure"] == "roc_auc")
    assert (area["rule"], area["folds"]) == ("mean", 10)
    assert {"other", "gap", "spread"} <= set(area)


def test_folds_widen_the_interval_of_the_same_predictions(folded):
    plain = evaluate(FILE, truth="actual", predicted="predicted", fold="none")
    for name in ("accuracy", "f1", "recall", "brier"):
        assert folded[name].value == pytest.approx(plain[name].value)
        assert folded[name].high - folded[name].low > plain[name].high - plain[name].low


def test_arrays_and_frames_give_what_the_file_gives(folded, rows):
    columns = rows["actual"].to_list(), rows["predicted"].to_numpy()
    score = rows[f"p_{POSITIVE}"].to_numpy()
    of_arrays = evaluate(*columns, score=score, positive=POSITIVE, fold=rows["fold"], id=rows["row"])
    named = {"truth": "actual", "predicted": "predicted", "fold": "fold", "id": "row"}
    for other in (of_arrays, evaluate(rows, **named), evaluate(rows.to_pandas(), **named)):
        for name in ("accuracy", "roc_auc", "log_loss"):
            assert other[name].rows() == folded[name].rows()


def repeated(times=3, n=60, k=5, seed=1):
    """Predictions of the same cases by several repetitions of a cross-validation."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, 2, n)
    made = []
    for repetition in range(times):
        fold = rng.permutation(n) % k
        score = np.clip(0.3 + 0.4 * truth + rng.normal(0, 0.25, n), 0.01, 0.99)
        made.append(
            pl.DataFrame({"id": np.arange(n), "fold": [f"{repetition}.{f}" for f in fold], "truth": truth, "p": score})
        )
    return pl.concat(made).with_columns(predicted=(pl.col("p") >= 0.5).cast(pl.Int64))


def test_repetitions_do_not_make_more_cases():
    rows = repeated()
    once = evaluate(rows, truth="truth", predicted="predicted", score="p", fold="fold", id="id")
    accuracy = once["accuracy"]
    assert accuracy.value == pytest.approx((rows["truth"] == rows["predicted"]).mean())
    assert (accuracy.n, once.n) == (60, 60)
    assert (accuracy.folds, accuracy.splits) == (15, 15)
    more = repeated(times=12)
    again = evaluate(more, truth="truth", predicted="predicted", score="p", fold="fold", id="id")
    for name in ("accuracy", "roc_auc", "brier"):
        widths = [e[name].high - e[name].low for e in (once, again)]
        assert widths[1] > 0.75 * widths[0], f"{name}: four times the repetitions, the same cases"


def test_the_area_of_repetitions_is_the_mean_over_all_folds():
    rows = repeated()
    found = evaluate(rows, truth="truth", predicted="predicted", score="p", fold="fold", id="id")["roc_auc"]
    areas = [metrics.roc_auc_score(part["truth"], part["p"]) for _, part in rows.group_by("fold")]
    assert found.value == pytest.approx(np.mean(areas))
    assert found.spread == pytest.approx(np.std(areas, ddof=1))


def test_weights_go_into_the_counts_of_every_fold():
    rows = repeated(times=1).with_columns(w=pl.Series(np.tile([1.0, 2.0, 0.5], 20)))
    seen = evaluate(rows, truth="truth", predicted="predicted", score="p", fold="fold", weight="w")
    right, w = (rows["truth"] == rows["predicted"]).to_numpy(), rows["w"].to_numpy()
    assert seen["accuracy"].value == pytest.approx(np.average(right, weights=w))
    means = [
        np.average((part["truth"] == part["predicted"]).to_numpy(), weights=part["w"].to_numpy())
        for _, part in rows.group_by("fold")
    ]
    assert seen["accuracy"].other == pytest.approx(np.mean(means))
    areas = [
        metrics.roc_auc_score(part["truth"], part["p"], sample_weight=part["w"]) for _, part in rows.group_by("fold")
    ]
    assert seen["roc_auc"].value == pytest.approx(np.mean(areas))
    assert seen["roc_auc"].method == "corrected-t"
    assert "effective n" in seen["accuracy"].method


def test_groups_go_with_folds():
    rows = repeated(times=1).with_columns(g=pl.Series(np.repeat(np.arange(12), 5)))
    seen = evaluate(rows, truth="truth", predicted="predicted", score="p", fold="fold", group="g")
    assert seen["accuracy"].method.startswith("cluster-logit")
    assert seen["accuracy"].low < seen["accuracy"].value < seen["accuracy"].high
    assert seen["accuracy"].other == pytest.approx(seen["accuracy"].value)
    assert seen["roc_auc"].method == "corrected-t"
    assert json.loads(seen.to_json())["groups"] == 12


def test_one_fold_is_no_plan():
    rows = repeated(times=1).with_columns(fold=pl.lit(1))
    one, plain = (evaluate(rows, truth="truth", predicted="predicted", score="p", fold=fold) for fold in ("fold", None))
    for name in ("accuracy", "roc_auc", "brier"):
        assert (one[name].value, one[name].low) == pytest.approx((plain[name].value, plain[name].low))
    assert "mean of folds" not in str(one)


@pytest.mark.parametrize(
    ("change", "call", "said", "hint"),
    [
        (
            lambda rows: rows.with_columns(truth=pl.Series(np.arange(180) % 7 % 2)),
            {"fold": "fold", "id": "id"},
            r"^The id \d+ has two different truths, and so have [\d,]+ others",
            "an id of its own",
        ),
        (
            lambda rows: rows,
            {"id": "id", "fold": "none"},
            r"^The id \d+ stands in 3 rows; 60 ids",
            "leave out the copies",
        ),
        (
            lambda rows: rows.with_columns(fold=pl.lit(1)),
            {"fold": "fold", "id": "id"},
            r"^The id 0 stands 3 times in the fold 1, and a model predicts a case once",
            "a fold of its own",
        ),
        (
            lambda rows: rows.with_columns(fold=pl.when(pl.col("id") < 2).then(None).otherwise(pl.col("fold"))),
            {"fold": "fold", "id": "id"},
            r"^6 of 180 rows have missing values: fold in 6",
            "drop",
        ),
        (lambda rows: rows, {"fold": "fodl"}, r"no column 'fodl'", "did you mean 'fold'"),
    ],
)
def test_what_cannot_be_right_is_refused(change, call, said, hint):
    with pytest.raises(HeldoutError, match=said) as caught:
        evaluate(change(repeated()), truth="truth", predicted="predicted", score="p", **call)
    assert caught.match(hint)


def test_rows_without_a_fold_are_dropped_when_asked():
    rows = repeated().with_columns(fold=pl.when(pl.col("id") < 2).then(None).otherwise(pl.col("fold")))
    call = {"truth": "truth", "predicted": "predicted", "score": "p", "fold": "fold", "id": "id"}
    seen = evaluate(rows, **call, missing="drop")
    assert seen.n == 58
    assert any("6 of 180 rows were dropped" in note for note in seen.notes)


def test_methods_over_folds_need_folds():
    with pytest.raises(OptionError, match="'corrected-t' needs folds, and there are none"):
        evaluate([0, 1], [0, 1], method="corrected-t")


def test_folds_need_rows():
    with pytest.raises(HeldoutError, match="matrix was given together with fold"):
        evaluate(matrix=[[1, 2], [3, 4]], fold=[1, 2])


def test_folds_of_another_length_are_refused():
    with pytest.raises(ValuesError, match="fold"):
        evaluate([0, 1, 1], [0, 1, 0], fold=[1, 2])


def test_values_in_folds_need_folds():
    with pytest.raises(OptionError, match="do not come in folds"):
        evaluate([0, 1], [0, 1]).per_fold("accuracy")


def test_a_column_called_fold_is_used_and_the_guess_is_said(rows):
    """As if it had been named; a column that lacks values, or that is a slice, is left alone."""
    frame = rows.rename({"fold": "CV fold"}) if "fold" in rows.columns else rows
    named, guessed = evaluate(frame, fold="CV fold"), evaluate(frame)
    assert (guessed["accuracy"].low, guessed["accuracy"].high) == (named["accuracy"].low, named["accuracy"].high)
    assert "fold" in guessed.source.guessed
    screen = " ".join(str(guessed).split())
    assert "fold = CV fold" in screen
    assert 'fold="none" takes all as predictions of one model' in screen


def test_fold_none_takes_all_as_predictions_of_one_model_and_the_review_says_what_that_does(rows):
    folded, one = evaluate(rows), evaluate(rows, fold="none")
    assert "fold" not in dict(one.source.columns)
    assert one["accuracy"].method == "wilson"
    assert one["accuracy"].low > folded["accuracy"].low
    finding = one.review["H034"]
    assert finding.outcome == "fired"
    assert "every interval is too narrow" in finding.title


def test_a_fold_column_with_gaps_with_a_method_of_one_model_or_as_a_slice_is_not_guessed(rows):
    gaps = rows.with_columns(fold=pl.when(pl.int_range(pl.len()) < 3).then(None).otherwise(pl.col("fold")))
    for found in (evaluate(gaps), evaluate(rows, method="hanley-mcneil"), evaluate(rows, slices=["fold"])):
        assert "fold" not in found.source.guessed
        assert any(role == "fold" for role, *_ in found.source.unused)
