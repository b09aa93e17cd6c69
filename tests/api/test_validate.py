"""From a learner and data to a validation: every form of both, plans and folds, seeds, and what is checked first."""

from __future__ import annotations

import csv
import inspect
import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse
from sklearn import metrics
from sklearn.base import BaseEstimator
from sklearn.datasets import load_iris
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, StratifiedKFold, cross_val_predict
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import heldout
from heldout import Validation, Validations, plans
from heldout.errors import HeldoutError, OptionError
from heldout.learners.learner import read_learner

# One learner or several: which of the two answers comes is not for the type checker here.
validate: Any = heldout.validate
evaluate: Any = heldout.evaluate

WEKA = Path(__file__).parents[1] / "oracles" / "data" / "weka"
X, Y = load_iris(return_X_y=True)
NAMES = ["sepal length", "sepal width", "petal length", "petal width"]
SPECIES = np.array(["setosa", "versicolor", "virginica"])[Y]
# Two classes that are not told apart perfectly.
X2, Y2 = X[50:, :2], np.array(["no", "yes"])[Y[50:] - 1]
SPLITTER = StratifiedKFold(5, shuffle=True, random_state=3)


class Counting:
    """Counts how often it is fitted, and predicts the commonest class."""

    fits = 0

    def fit(self, _, y):
        Counting.fits += 1
        names, counts = np.unique(y, return_counts=True)
        self.answer = names[counts.argmax()]
        return self

    def predict(self, X):
        return np.full(len(X), self.answer)


class CountingAgain(Counting, BaseEstimator):  # type: ignore[misc]
    """The same with a setting: shifted, it predicts the rarest class instead."""

    def __init__(self, shift=0):
        self.shift = shift

    def fit(self, X, y):
        super().fit(X, y)
        names, counts = np.unique(y, return_counts=True)
        self.answer = names[counts.argmin()] if self.shift else self.answer
        return self


@pytest.fixture
def counting():
    Counting.fits = 0
    return Counting()


def predicted(validation):
    """What was said of each row, in the order of the rows."""
    held = {row["row"]: row["predicted"] for row in validation.prediction_rows()}
    return [held[row] for row in range(len(held))]


@pytest.mark.parametrize("plan", ["resubstitution", "leave-one-out"])
@pytest.mark.parametrize("shortcuts", [True, False])
def test_five_neighbours_on_iris_give_the_matrix_of_the_lecture_notes(plan, shortcuts):
    found = validate("knn:5", X, Y, plan=plan, shortcuts=shortcuts)
    assert found.confusion.matrix.tolist() == [[50, 0, 0], [0, 47, 3], [0, 2, 48]]


def test_resubstitution_is_flagged_and_has_no_interval():
    found = validate("knn:5", X, Y, plan="resubstitution")
    text = " ".join(str(found).split())
    assert "Tested on the cases it was trained on: the error is optimistic" in text
    assert "Overfitting" not in text
    assert all(math.isnan(e.low) and math.isnan(e.high) for e in found.evaluation)
    assert "no interval" in found["accuracy"].note
    assert "training error, which is optimistic" in found["accuracy"].target


def test_weka_s_folds_are_weka_s_row_by_row():
    found = validate("naive-bayes", WEKA / "iris.arff", plan="weka 10-fold seed 1")
    with (WEKA / "iris__NaiveBayes_predictions.csv").open(encoding="utf-8") as file:
        right = [(int(row["fold"]) + 1, int(row["row"]), row["actual"]) for row in csv.DictReader(file)]
    assert [(row["fold"], row["row"], row["truth"]) for row in found.prediction_rows()] == right
    assert found.problem.target_name == "class"


@pytest.mark.parametrize(
    "learner", [GaussianNB(), KNeighborsClassifier(4), make_pipeline(StandardScaler(), LogisticRegression())], ids=str
)
@pytest.mark.parametrize("shortcuts", [True, False])
def test_the_predictions_are_scikit_learn_s_own(learner, shortcuts):
    found = validate(learner, X2, Y2, plan=SPLITTER, shortcuts=shortcuts)
    assert predicted(found) == cross_val_predict(learner, X2, Y2, cv=SPLITTER).tolist()
    scores = cross_val_predict(learner, X2, Y2, cv=SPLITTER, method="predict_proba")[:, 1]
    areas = [metrics.roc_auc_score(Y2[test], scores[test]) for _, test in SPLITTER.split(X2, Y2)]
    assert found["roc_auc[yes]"].value == pytest.approx(np.mean(areas))
    assert found["log_loss"].value == pytest.approx(metrics.log_loss(Y2, scores))


def of_file(tmp_path, ending):
    frame = pl.DataFrame(X, schema=NAMES).with_columns(species=pl.Series(SPECIES))
    path = tmp_path / f"iris{ending}"
    writers: dict[str, Any] = {".csv": frame.write_csv, ".parquet": frame.write_parquet, ".jsonl": frame.write_ndjson}
    writers[ending](path)
    return {"X": path, "target": "species"}


FORMS = {
    "arrays": lambda _: {"X": X, "y": SPECIES},
    "lists": lambda _: {"X": X.tolist(), "y": SPECIES.tolist()},
    "single precision": lambda _: {"X": X.astype(np.float32), "y": SPECIES},
    "pandas": lambda _: {"X": pd.DataFrame(X, columns=NAMES), "y": pd.Series(SPECIES)},
    "pandas, one frame": lambda _: {"X": pd.DataFrame(X, columns=NAMES).assign(species=SPECIES), "target": "species"},
    "polars": lambda _: {"X": pl.DataFrame(X, schema=NAMES), "y": pl.Series(SPECIES)},
    "polars, one frame": lambda _: {
        "X": pl.DataFrame(X, schema=NAMES).with_columns(species=pl.Series(SPECIES)),
        "y": "species",
    },
    "sparse": lambda _: {"X": sparse.csr_matrix(X), "y": SPECIES},
    "sparse, by columns": lambda _: {"X": sparse.coo_array(X), "y": SPECIES},
    "csv": lambda folder: of_file(folder, ".csv"),
    "text of a path": lambda folder: of_file(folder, ".csv") | {"X": str(folder / "iris.csv")},
    "parquet": lambda folder: of_file(folder, ".parquet"),
    "json lines": lambda folder: of_file(folder, ".jsonl"),
}


@pytest.mark.parametrize("learner", ["knn:5", KNeighborsClassifier()], ids=["short name", "object"])
@pytest.mark.parametrize("form", FORMS)
def test_every_form_of_data_gives_the_same(form, learner, tmp_path):
    found = validate(learner, plan="5-fold", **FORMS[form](tmp_path))
    plain = validate(KNeighborsClassifier(), X, SPECIES, plan="5-fold", shortcuts=False)
    if form == "single precision":
        # Rounded distances may break ties the other way.
        assert found["accuracy"].value == pytest.approx(plain["accuracy"].value, abs=0.02)
        return
    assert found.fingerprint == plain.fingerprint
    assert predicted(found) == predicted(plain)


@pytest.mark.parametrize(
    ("learner", "name"),
    [
        ("knn:3", "knn:3"),
        ("tree", "tree"),
        ("sklearn.tree:DecisionTreeClassifier(max_depth=2)", "sklearn.tree:DecisionTreeClassifier(max_depth=2)"),
        (GaussianNB(), "GaussianNB"),
        (KNeighborsClassifier(3), "KNeighborsClassifier(n_neighbors=3)"),
        (make_pipeline(StandardScaler(), GaussianNB()), "StandardScaler + GaussianNB"),
        (Counting(), "Counting"),
        (read_learner("knn:1"), "knn:1"),
    ],
    ids=str,
)
def test_every_form_of_learner(learner, name):
    found = validate(learner, X, SPECIES, plan="3-fold")
    assert isinstance(found, Validation)
    assert found.learner == name
    assert found.evaluation.n == 150
    assert found.complete


def test_several_learners_are_asked_for_by_name():
    several = validate(["knn:5", "knn:5", GaussianNB()], X, Y, plan="3-fold")
    assert isinstance(several, Validations)
    assert [one.learner for one in several] == ["knn:5", "knn:5 (2)", "GaussianNB"]
    assert {one.fingerprint for one in several} == {several["knn:5"].fingerprint}
    named = validate({"near": "knn:5", "bayes": "naive-bayes"}, X, Y, plan="3-fold")
    assert [one.learner for one in named] == ["near", "bayes"]
    assert named["near"]["accuracy"].value == several["knn:5"]["accuracy"].value
    assert len(named) == 2
    assert named.complete
    text = str(named)
    assert "2 learners" in text
    assert "bayes" in text
    with pytest.raises(OptionError, match=r"no learner 'bays' here. There are: near, bayes") as caught:
        named["bays"]
    assert caught.value.hint == "did you mean 'bayes'?"


def test_one_learner_and_several_are_asked_in_the_same_way():
    one, listed = (validate(learner, X, Y, plan="3-fold") for learner in ("knn:5", ["knn:5"]))
    for found in (one, listed):
        assert isinstance(found, Validations)
        assert (found.learners, len(found), [each.learner for each in found]) == (("knn:5",), 1, ["knn:5"])
        assert found["accuracy"] == found["knn:5"]["accuracy"] == found.only.get("accuracy")
        assert found.evaluation.confusion == found.confusion
        assert found.verdict == found.only.verdict
    both = validate(["knn:5", "naive-bayes"], X, Y, plan="3-fold")
    assert both.verdict.startswith("knn:5: Better than always predicting")
    with pytest.raises(OptionError, match="no learner 'accuracy' here") as refused:
        both["accuracy"]
    assert refused.value.hint == "say of which learner: validations['knn:5']['accuracy']."
    with pytest.raises(OptionError, match=r"There are 2 learners: knn:5, naive-bayes\."):
        both.evaluation  # noqa: B018


def test_learners_with_and_without_scores_stand_side_by_side():
    for learners in (["knn:5", Counting()], [Counting(), "knn:5"]):
        text = str(validate(learners, X2, Y2, plan="3-fold"))
        assert "ROC AUC" in text
        assert next(line for line in text.splitlines() if line.startswith("Counting")).count("–") == 4


def test_settings_are_searched_within_the_training_parts():
    grid = {"n_neighbors": [1, 5, 25], "weights": "uniform"}
    found = validate("knn:5", X2, Y2, plan="nested 4-fold / 3-fold", grid=grid)
    assert len(found.run.chosen) == 4
    assert all(set(chosen) == {"n_neighbors", "weights"} for chosen in found.run.chosen)
    assert {chosen["n_neighbors"] for chosen in found.run.chosen} <= {1, 5, 25}
    assert "Chosen in the splits: n_neighbors = " in str(found)
    document = json.loads(found.to_json())["validations"][0]
    assert document["chosen"] == [dict(chosen) for chosen in found.run.chosen]
    assert document["plan"] == "nested 4-fold / 3-fold"


def test_a_search_gives_what_scikit_learn_s_nested_search_gives():
    search = GridSearchCV(KNeighborsClassifier(), {"n_neighbors": [1, 5, 25]}, cv=StratifiedKFold(3))
    found = validate(search, X2, Y2, plan=SPLITTER)
    assert predicted(found) == cross_val_predict(search, X2, Y2, cv=SPLITTER).tolist()
    assert len(found.run.chosen) == 5


def test_settings_of_a_pipeline_are_those_of_its_last_step():
    pipe = make_pipeline(StandardScaler(), KNeighborsClassifier())
    found = validate(pipe, X2, Y2, plan="3-fold", grid={"n_neighbors": [1, 9]})
    assert set(found.run.chosen[0]) == {"kneighborsclassifier__n_neighbors"}
    full = validate(pipe, X2, Y2, plan="3-fold", grid={"kneighborsclassifier__n_neighbors": [1, 9]})
    assert full.run.chosen == found.run.chosen


def test_a_fold_column_is_a_plan_and_no_feature():
    frame = pl.DataFrame(X2, schema=["a", "b"]).with_columns(
        outcome=pl.Series(Y2), site=pl.Series(np.array(["x", "y", "z"])[np.arange(100) % 3])
    )
    found = validate("knn:3", frame, target="outcome", fold="site")
    assert found.problem.names == ("a", "b")
    assert [(row["row"] % 3) + 1 for row in found.prediction_rows()] == [row["fold"] for row in found.prediction_rows()]
    assert found.plan.text == "column site"
    apart = validate("knn:3", X2, Y2, fold=np.arange(100) % 3)
    assert predicted(apart) == predicted(found)
    with pytest.raises(OptionError, match="by a column and by the plan '5-fold'"):
        validate("knn:3", X2, Y2, fold=np.arange(100) % 3, plan="5-fold")


def test_rows_without_a_class_are_dropped_and_the_others_keep_their_numbers():
    classes = [None, *Y2[1:50], None, *Y2[51:]]
    found = validate("knn:3", X2, classes, plan="3-fold", missing="drop")
    assert sorted(row["row"] for row in found.prediction_rows()) == [row for row in range(100) if row not in (0, 50)]
    assert all(row["truth"] == classes[row["row"]] for row in found.prediction_rows())
    assert "2 of 100 rows were dropped" in str(found)
    folds = np.arange(100) % 3
    by_fold = validate("knn:3", X2, classes, fold=folds, missing="drop")
    assert all(row["fold"] == folds[row["row"]] + 1 for row in by_fold.prediction_rows())


def test_groups_are_never_on_both_sides():
    groups = np.arange(100) // 4
    found = validate("knn:3", X2, Y2, plan="5-fold", group=groups)
    for train, test in found.run.splits:
        assert not set(groups[train]) & set(groups[test])
    assert found["accuracy"].method.startswith("cluster-logit")
    assert "25 groups" in str(found)


def test_labels_and_the_positive_class_are_as_asked():
    found = validate("knn:3", X2, Y2, fold=np.arange(100) % 3, labels=["yes", "no"], positive="no")
    assert found.confusion.labels == ("yes", "no")
    assert found.evaluation.positive == "no"
    usual = validate("knn:3", X2, Y2, fold=np.arange(100) % 3)
    assert usual.evaluation.positive == "yes"
    assert found.confusion.matrix.tolist() == usual.confusion.matrix[::-1, ::-1].tolist()


def test_costs_are_counted_in_the_folds():
    costs = {("yes", "no"): 10, ("no", "yes"): 1}
    found = validate("knn:3", X2, Y2, plan="3-fold", costs=costs)
    (_, false_alarms), (misses, _) = found.confusion.matrix.tolist()
    assert found["expected_cost"].value == pytest.approx((10 * misses + false_alarms) / 100)
    assert validate("knn:3", X2, Y2, plan="3-fold", costs="yes,no:10; no,yes:1")["total_cost"].value == pytest.approx(
        10 * misses + false_alarms
    )


def test_only_the_measures_that_were_asked_for():
    asked = (name for name in ["accuracy", "recall[yes]", "roc_auc"])
    found = validate("knn:3", X2, Y2, plan="3-fold", measures=asked)
    assert [(e.measure, e.class_) for e in found.evaluation] == [
        ("accuracy", None),
        ("recall", "yes"),
        ("roc_auc", "yes"),
    ]
    assert validate("knn:3", X2, Y2, plan="3-fold", measures="kappa").evaluation.estimates[0].measure == "kappa"


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"measures": "acuracy"}, "no measure 'acuracy'"),
        ({"measures": ["accuracy", "recall[maybe]"]}, "no class 'maybe'"),
        ({"measures": [3]}, "asked for by its name"),
        ({"measures": "total_cost"}, "needs costs"),
        ({"measures": "macro f1", "method": "wilson"}, "does not apply to macro f1"),
        ({"method": "wilsn"}, "no interval method 'wilsn'"),
        ({"costs": "nothing.csv"}, "no file nothing.csv"),
        ({"costs": {("yes", "perhaps"): 3}}, "perhaps"),
        ({"positive": "maybe"}, "positive class 'maybe'"),
        ({"level": 95}, "between 0 and 1"),
        ({"seed": -1}, "seed"),
        ({"on_error": "ignore"}, "'raise' or 'record'"),
        ({"jobs": "many"}, "jobs"),
        ({"plan": "10-fodl"}, "no plan '10-fodl'"),
        ({"missing": "ignore"}, "'refuse' or 'drop'"),
        ({"grid": {"n": [1]}}, "A Counting lacks what a search needs"),
        ({"fold": [1, 2]}, "2 values"),
    ],
)
def test_what_is_wrong_with_the_call_costs_no_fit(options, said, counting):
    with pytest.raises(HeldoutError, match=said) as caught:
        validate(counting, X2, Y2, **options)
    assert caught.value.hint
    assert Counting.fits == 0


def test_what_is_wrong_with_the_last_learner_costs_no_fit_of_the_first(counting):
    gaps = X2.copy()
    gaps[3, 0] = np.nan
    with pytest.raises(HeldoutError, match="1 of 100 rows have missing values, in x0"):
        validate([counting, KNeighborsClassifier()], gaps, Y2)
    with pytest.raises(HeldoutError, match="The learner has no setting 'shift'"):
        validate([CountingAgain(), "tree"], X2, Y2, grid={"shift": [0, 1]})
    assert Counting.fits == 0


@pytest.mark.usefixtures("counting")
def test_a_search_over_a_learner_without_a_score_goes_by_accuracy():
    found = validate(CountingAgain(), X2[:80], Y2[:80], plan="3-fold", grid={"shift": [1, 0]})
    assert [chosen["shift"] for chosen in found.run.chosen] == [0, 0, 0]
    assert Counting.fits > 3


def test_a_fit_is_counted(counting):
    validate(counting, X2, Y2, plan="4-fold", measures="accuracy")
    assert Counting.fits == 4


def test_a_seed_makes_everything_again():
    forest = RandomForestClassifier(5, random_state=0)
    one, two, other = (validate(forest, X2, Y2, plan="3-fold", seed=seed) for seed in (4, 4, 5))
    assert one.to_json() == two.to_json()
    assert one.fingerprint == two.fingerprint != other.fingerprint
    named = [validate("forest:5", X2, Y2, plan="holdout 0.5", seed=9).prediction_rows() for _ in range(2)]
    assert named[0] == named[1]


class Brittle(GaussianNB):  # type: ignore[misc]
    """Fails where it is trained without row 0."""

    def fit(self, X, y):
        if not (np.asarray(X) == X2[0]).all(axis=1).any():
            message = "it needs the first row"
            raise RuntimeError(message)
        return super().fit(X, y)


def test_splits_that_fail_are_recorded_when_asked():
    where = np.arange(100) % 5
    # Equal rows would stand in for the first.
    where[np.equal(X2, X2[0]).all(axis=1)] = 0
    with pytest.raises(HeldoutError, match=r"Brittle failed in fold 1 of column fold: RuntimeError: it needs"):
        validate(Brittle(), X2, Y2, fold=where)
    found = validate(Brittle(), X2, Y2, fold=where, on_error="record")
    assert found.finished
    assert not found.complete
    text = " ".join(str(found).split())
    assert "failed in 1 of 5 splits, which are missing here; the first was fold 1: RuntimeError: it needs" in text
    document = json.loads(found.to_json())["validations"][0]
    assert (document["splits"], document["finished"], document["complete"]) == (5, 4, False)
    assert [failure["where"] for failure in document["failures"]] == ["fold 1"]
    assert found["accuracy"].splits == 4
    assert {row["fold"] for row in found.prediction_rows()} == {2, 3, 4, 5}


def test_a_plan_object_is_a_plan():
    assert (
        validate("knn:3", X2, Y2, plan=plans.kfold(3)).fingerprint
        == validate("knn:3", X2, Y2, plan="3-fold").fingerprint
    )


def test_the_gap_between_training_and_test_is_measured():
    found = validate("knn:1", X2, Y2, plan="5-fold")
    # One neighbour remembers its cases, but for equal rows of two classes.
    assert found.gap.value > 0.2
    assert found.gap.low > 0
    assert "so its training error is optimistic" in " ".join(str(found).split())
    without = validate("knn:1", X2, Y2, plan="5-fold", training=False)
    assert math.isnan(without.gap.value)
    assert without.gap.undefined


def test_evaluating_the_predictions_gives_the_same_figures():
    found = validate("naive-bayes", X2, Y2, plan="5-fold")
    rows = pl.DataFrame(found.prediction_rows())
    again = evaluate(rows, truth="truth", predicted="predicted", score="p_yes", fold="fold", id="row", positive="yes")
    for name in ("accuracy", "f1", "roc_auc", "log_loss", "kappa", "average_precision"):
        one, two = found[name], again[name]
        assert (one.value, one.low, one.high) == pytest.approx((two.value, two.low, two.high))
        assert (one.method, one.rule, one.folds, one.n) == (two.method, two.rule, two.folds, two.n)


def test_an_interval_of_a_validation_takes_what_that_of_an_evaluation_takes():
    assert inspect.signature(heldout.Validation.interval) == inspect.signature(heldout.Evaluation.interval)
    validation = heldout.validate(
        "naive-bayes", [[0.1], [0.4], [0.3], [0.2], [0.6], [0.8]] * 10, [0, 0, 0, 1, 1, 1] * 10
    )
    given: Any = {"method": "bootstrap", "replicates": 100, "seed": 3}
    assert validation.interval("macro f1", **given) == validation.evaluation.interval("macro f1", **given)
