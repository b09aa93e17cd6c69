"""What was named wins over a guess, what is given is read whole, and confidences are not taken for scores."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import roc_auc_score

import heldout
from heldout.errors import ColumnError, LabelError, OptionError, ValuesError

TRUTH = ["P", "N", "N", "P", "N", "P"]
SCORE = [0.9, 0.2, 0.6, 0.7, 0.1, 0.4]


@pytest.fixture
def write(tmp_path):
    def write_columns(name, **columns):
        path = tmp_path / name
        pd.DataFrame(columns).to_csv(path, index=False)
        return path

    return write_columns


@pytest.mark.parametrize("engine", ["memory", "stream", "polars"])
@pytest.mark.parametrize(("truth", "score"), [("expected", "predicted"), ("target", "prediction"), ("class", "label")])
def test_a_column_that_was_named_is_guessed_for_no_other_role(write, truth, score, engine):
    path = write("roc.csv", **{truth: TRUTH, score: SCORE})
    result = heldout.evaluate(path, score=score, positive="P", engine=engine)
    assert result["roc_auc"].value == pytest.approx(8 / 9)
    assert dict(result.source.columns)["score"] == score
    frame = pd.DataFrame({truth: TRUTH, score: SCORE})
    assert heldout.evaluate(frame, score=score, positive="P")["roc_auc"].value == pytest.approx(8 / 9)


def test_models_in_one_file_leave_the_truth_to_be_guessed(write):
    path = write("two.csv", label=TRUTH, target=TRUTH[::-1], truth=TRUTH)
    row = heldout.compare(path, predicted=["label", "target"]).rows()[0]
    assert (row["a"], row["b"], row["difference"]) == ("label", "target", pytest.approx(1 / 3))


@pytest.mark.parametrize("engine", ["memory", "stream", "polars"])
@pytest.mark.parametrize("labels", [(-1, 1), ("A", "a"), ("a b", "a_b"), ("-", "+"), (-1, 0, 1), (0.0, 1.0)], ids=str)
def test_a_score_is_of_the_class_that_its_name_has_to_the_letter(write, labels, engine):
    truth = [0, 1, 1, 0, 1, 0, 0, 1] * 2
    shares = np.random.default_rng(3).dirichlet(np.ones(len(labels)), len(truth))
    given = {f"p_{label}": column for label, column in zip(labels, shares.T, strict=True)}
    path = write("named.csv", truth=[labels[place] for place in truth], **given)
    classes = labels[:2]
    for at, label in enumerate(classes):
        area = roc_auc_score(np.array(truth) == at, shares[:, at])
        for scores in (None, list(given)):
            every = heldout.evaluate(path, score=scores, labels=labels, positive=label, engine=engine)
            assert every.get("roc_auc", class_=label).value == pytest.approx(area)
        if len(labels) == 2:
            with pytest.raises(ColumnError):
                heldout.evaluate(path, score=f"p_{label}", positive=classes[1 - at], engine=engine)


@pytest.mark.parametrize("engine", ["memory", "stream", "polars", "duckdb"])
def test_a_marker_ranks_without_a_threshold(write, engine):
    path = write("marker.csv", outcome=TRUTH, ndka=[90.0, 2, 60, 70, 1, 40])
    asked: dict[str, Any] = {"truth": "outcome", "score": "ndka", "positive": "P"}
    result = heldout.evaluate(path, **asked, measures=["roc_auc", "average_precision"], engine=engine)
    assert result["roc_auc"].value == pytest.approx(8 / 9)
    assert any("no threshold was given" in note for note in result.notes)
    with pytest.raises(OptionError, match="no natural threshold") as refused:
        heldout.evaluate(path, **asked, engine=engine)
    assert "roc_auc" in refused.value.hint
    with pytest.raises(OptionError, match="no natural threshold"):
        heldout.evaluate(path, **asked, measures=["roc_auc", "accuracy"], engine=engine)


@pytest.mark.parametrize("engine", ["memory", "stream", "polars"])
def test_a_shard_without_a_positive_case_is_counted(write, engine):
    path = write("n.csv", truth=["no", "no", "no"], score=[0.2, 0.3, 0.6])
    part = heldout.count(path, truth="truth", score="score", positive="yes", engine=engine)
    assert part.matrix.tolist() == [[2, 1], [0, 0]]
    assert heldout.count(path, positive="yes", engine=engine).matrix.tolist() == [[2, 1], [0, 0]]
    other = heldout.count(["yes", "no"], score=[0.8, 0.1], positive="yes")
    assert heldout.evaluate(part + other)["roc_auc"].value == 1.0


def test_a_positive_class_that_was_not_met_is_known_by_the_other():
    assert heldout.count(["cat", "cat"], score=[0.2, 0.6], positive="dog").matrix.tolist() == [[1, 1], [0, 0]]
    alone = heldout.evaluate(["no", "no"], score=[0.2, 0.6], positive="yes")["roc_auc"]
    assert np.isnan(alone.value)
    assert "no positives" in alone.undefined
    with pytest.raises(LabelError, match="'yse' is not among the labels"):
        heldout.count(["no", "no"], score=[0.2, 0.6], positive="yse")


def test_the_mask_of_scores_is_seen():
    values = np.array([[0.2, 0.3, 0.5], [0.6, 0.2, 0.2], [0.1, 0.8, 0.1], [0.3, 0.3, 0.4]])
    masked = np.ma.masked_array(values, mask=values == 0.4)
    with pytest.raises(ValuesError, match="score in 1; it is row 4"):
        heldout.evaluate([2, 0, 1, 2], score=masked)
    assert heldout.evaluate([2, 0, 1, 2], score=masked, missing="drop").n == 3
    narrow = np.ma.masked_array(np.array([0.2, 0.3, 0.5, 0.6], dtype=np.float32), mask=[False, False, True, False])
    assert heldout.evaluate([1, 0, 1, 0], score=narrow, missing="drop").n == 3


@pytest.mark.parametrize("role", ["predicted", "score", "weight", "group", "site"])
def test_series_with_the_same_labels_in_another_order_are_refused(role):
    truth = pd.Series([0, 1, 1, 0, 1, 0], index=list("abcdef"))
    column = truth.astype(float) / 2 + 0.25 if role == "score" else truth + (role == "weight")
    given: dict[str, Any] = {"predicted": truth, role: column.loc[list("bafedc")]}
    if role == "site":
        given["slices"] = {"site": given.pop("site")}
    with pytest.raises(ValuesError, match=f"indexes of truth and {role} hold the same labels in another order"):
        heldout.evaluate(truth, **given)
    other = pd.Series([0, 1, 1, 0, 1, 1])
    assert any("matched by position" in note for note in heldout.evaluate(truth, other).notes)
    frame = pd.DataFrame({"y": truth})
    with pytest.raises(ValuesError, match=r"the data frame and predicted hold"):
        heldout.evaluate(frame, truth="y", predicted=truth.loc[list("bafedc")])


FRAME = pd.DataFrame(
    {"truth": [0, 1, 1, 0, 1, 0], "predicted": [0, 1, 0, 0, 1, 1], "score": [0.2, 0.9, 0.4, 0.1, 0.8, 0.6]}
)
OTHER_ORDER = pd.Series([1, 2, 3, 1, 2, 3]).iloc[::-1]


@pytest.mark.parametrize(
    "call",
    [
        lambda: heldout.evaluate(FRAME, weight=OTHER_ORDER),
        lambda: heldout.evaluate(FRAME, slices={"site": OTHER_ORDER}),
        lambda: heldout.evaluate(FRAME, slices=pd.DataFrame({"site": OTHER_ORDER})),
        lambda: heldout.evaluate({**FRAME, "predicted": FRAME["predicted"].iloc[::-1]}),
        lambda: heldout.count(FRAME, weight=OTHER_ORDER),
        lambda: heldout.check(FRAME, require="accuracy > 0.1", weight=OTHER_ORDER),
        lambda: heldout.check(FRAME, require="accuracy[site=1] > 0.1", slices={"site": OTHER_ORDER}),
        lambda: heldout.compare(FRAME, FRAME, weight=OTHER_ORDER),
        lambda: heldout.choose_threshold(FRAME, score="score", weight=OTHER_ORDER, by="f1"),
        lambda: heldout.Evidence().update(FRAME, weight=OTHER_ORDER),
    ],
)
def test_what_stands_beside_a_frame_has_its_order(call):
    with pytest.raises(ValuesError, match="hold the same labels in another order"):
        call()


def test_slices_may_be_a_frame_and_no_bare_values():
    sites = pd.DataFrame({"site": [1, 2, 1, 2, 1, 2]})
    by_name = heldout.evaluate(FRAME, slices={"site": sites["site"]}).slices()
    assert heldout.evaluate(FRAME, slices=sites).slices().to_json() == by_name.to_json()
    assert heldout.evaluate(FRAME, slices=sites["site"]).slices().to_json() == by_name.to_json()
    with pytest.raises(OptionError, match="values without a name: a ndarray"):
        heldout.evaluate(FRAME, slices=sites["site"].to_numpy())


def test_iterators_and_matrices_are_columns():
    result = heldout.evaluate(iter([1, 0, 1, 0]), score=iter([0.8, 0.3, 0.5, 0.6]), weight=iter([1.0, 2, 1, 1]))
    assert result["roc_auc"].value == pytest.approx((3 + 2) / 6)
    rows = iter([[0.2, 0.3, 0.5], [0.6, 0.2, 0.2], [0.1, 0.8, 0.1]])
    assert heldout.evaluate([2, 0, 1], score=rows)["accuracy"].value == 1.0
    assert heldout.Evidence().update(iter([1, 0]), score=iter([0.6, 0.3])).matrix.tolist() == [[1, 0], [0, 1]]
    with warnings.catch_warnings():
        # NumPy says of every np.matrix that it is not recommended.
        warnings.simplefilter("ignore", PendingDeprecationWarning)
        one, other, weight = (np.matrix(row) for row in ([1, 0, 1], [1, 0, 0], [1, 1, 2]))
        pairs = np.matrix([[0.1, 0.9], [0.6, 0.4], [0.7, 0.3]])
        assert heldout.evaluate(one, other.T, weight=weight)["accuracy"].value == 0.5
        assert heldout.evaluate(one, score=pairs)["roc_auc"].value == 0.5


def pipeline(n=200):
    """What text-classification pipelines write: the answer, and how sure it is of that answer."""
    rng = np.random.default_rng(3)
    truth = rng.random(n) < 0.5
    score = np.clip(truth * 0.6 + 0.2 + rng.normal(0, 0.15, n), 0.01, 0.99)
    called = score >= 0.5
    names = np.array(["NEGATIVE", "POSITIVE"])
    sure = np.where(called, score, 1 - score)
    return {"label": names[truth * 1], "prediction": names[called * 1], "score": sure}, score


def test_confidences_in_the_answer_are_turned_into_scores(write):
    columns, score = pipeline()
    path = write("pipe.csv", **columns)
    right = heldout.evaluate(columns["label"], score=score, positive="POSITIVE")
    made = [
        heldout.evaluate(path),
        heldout.evaluate(columns["label"], columns["prediction"], score=columns["score"]),
        heldout.evaluate(heldout.count(path)),
    ]
    for result in made:
        for measure in ("roc_auc", "brier", "log_loss", "average_precision"):
            assert result[measure].value == pytest.approx(right[measure].value)
        assert any("confidence in the predicted class" in note for note in result.notes)
    assert "H067" in {finding.code for finding in made[0].review.fired}
    assert "H004" not in {finding.code for finding in made[0].review.fired}


@pytest.mark.parametrize("engine", ["stream", "polars", "duckdb"])
def test_confidences_that_cannot_be_turned_are_refused(write, engine):
    columns, _ = pipeline()
    path = write("pipe.csv", **columns)
    with pytest.raises(ValuesError, match="confidence in the predicted class"):
        heldout.evaluate(path, engine=engine)


@pytest.mark.parametrize("size", [20, 200])
def test_confidences_in_batches_are_refused(size):
    columns, score = pipeline()
    seen, right = heldout.Evidence(), heldout.Evidence()
    for at in range(0, 200, size):
        batch = {name: values[at : at + size] for name, values in columns.items()}
        seen.update(batch["label"], batch["prediction"], score=batch["score"])
        right.update(batch["label"], batch["prediction"], score=score[at : at + size])
    for ask in (lambda: heldout.evaluate(seen), lambda: seen + right):
        with pytest.raises(ValuesError, match="The scores are the confidence in the predicted class"):
            ask()
    assert not heldout.evaluate(right).notes
    # Named after a class, it is of that class.
    named = heldout.Evidence().update({**columns, "p_POSITIVE": columns["score"]}, score="p_POSITIVE")
    assert not any("confidence" in note for note in heldout.evaluate(named).notes)


def test_every_engine_says_that_no_score_is_below_one_half(write):
    """Of combinations of rows no area is made: that of the cases would be another."""
    rng = np.random.default_rng(3)
    truth, called = (rng.random((2, 400)) < 0.97).astype(int)
    columns = {"label": truth, "prediction": called, "score": 0.5 + rng.random(400) / 2}
    path = write("high.csv", **columns)
    said = {engine: heldout.evaluate(path, engine=engine).notes for engine in ("memory", "stream", "polars", "duckdb")}
    area = heldout.evaluate(path)["roc_auc"].value
    assert (
        f"no score is below one half: as scores of the positive class their ROC area is {area:.3f}" in said["memory"][0]
    )
    said["batches"] = heldout.evaluate(heldout.Evidence().update(truth, called, score=columns["score"])).notes
    for engine in ("stream", "polars", "duckdb", "batches"):
        assert len(said[engine]) == 1
        assert said[engine][0].startswith("no score is below one half: they were taken as scores of the positive class")


def test_a_threshold_on_confidences_is_refused(write):
    columns, _ = pipeline()
    path = write("pipe.csv", **columns)
    for ask in (lambda: heldout.evaluate(path, threshold=0.5), lambda: heldout.choose_threshold(path, by="f1")):
        with pytest.raises(ValuesError, match="confidence in the prediction of 'prediction'"):
            ask()


def test_scores_of_the_positive_class_stay_as_they_are(write):
    columns, score = pipeline()
    columns["score"] = score
    plain = heldout.evaluate(write("plain.csv", **columns))
    assert plain["roc_auc"].value == heldout.evaluate(columns["label"], score=score)["roc_auc"].value
    # All of them high, and the answers follow a threshold: of the positive class, however it was cut.
    columns["score"] = score / 2 + 0.5
    columns["prediction"] = np.where(columns["score"] > 0.8, "POSITIVE", "NEGATIVE")
    high = heldout.evaluate(write("high.csv", **columns))
    assert high["roc_auc"].value == plain["roc_auc"].value
    # Named after a class, it is of that class.
    columns, _ = pipeline()
    columns["p_POSITIVE"] = columns.pop("score")
    named = heldout.evaluate(write("named.csv", **columns))
    assert not any("confidence" in note for note in named.notes)


def test_one_confidence_for_three_classes_is_no_score(write):
    path = write("three.csv", label=list("abcabc"), prediction=list("abcacb"), score=[0.9, 0.8, 0.7, 0.9, 0.4, 0.5])
    assert any("were not used: score" in note for note in heldout.evaluate(path).notes)
    with pytest.raises(ColumnError, match="One column of scores was given for 3 classes"):
        heldout.evaluate(path, score="score")
