"""scikit-learn in and out: scorers in its searches, fitted estimators, and what its searches gave."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest
import sklearn
from sklearn import metrics
from sklearn.base import clone
from sklearn.datasets import load_iris, make_classification
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, ShuffleSplit, cross_validate
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

import heldout
from heldout.errors import OptionError

# What ours gives, and scikit-learn's own scorer of the same.
SAME = {
    "recall": metrics.make_scorer(metrics.recall_score, pos_label="spam"),
    "precision[ham]": metrics.make_scorer(metrics.precision_score, pos_label="ham"),
    "macro f1": metrics.make_scorer(metrics.f1_score, average="macro"),
    "matthews": metrics.make_scorer(metrics.matthews_corrcoef),
    "roc_auc": "roc_auc",
    "average_precision": metrics.make_scorer(
        metrics.average_precision_score, response_method="predict_proba", pos_label="spam"
    ),
    "log_loss": "neg_log_loss",
    "brier": metrics.make_scorer(
        metrics.brier_score_loss, response_method="predict_proba", pos_label="spam", greater_is_better=False
    ),
}


@pytest.fixture(scope="module")
def mail():
    X, y = make_classification(300, weights=[0.7], flip_y=0.2, random_state=1)
    return X, np.array(["ham", "spam"])[y]


def test_scorers_agree_with_those_of_scikit_learn(mail):
    ours = {name: heldout.scorer(name, positive="spam") for name in SAME}
    found = cross_validate(GaussianNB(), *mail, cv=3, scoring=ours)
    theirs = cross_validate(GaussianNB(), *mail, cv=3, scoring=SAME)
    for name in SAME:
        np.testing.assert_allclose(found[f"test_{name}"], theirs[f"test_{name}"], rtol=1e-9, err_msg=name)
    assert (found["test_brier"] < 0).all()


@pytest.mark.parametrize("positive", ["ham", "spam"])
def test_a_threshold_is_one_of_the_decision_values(mail, positive):
    """Two classes have one decision value, and not the difference of two."""
    X, y = mail
    model = SVC().fit(X, y)
    values = model.decision_function(X) * (1 if positive == "spam" else -1)
    found = heldout.from_estimator(model, X, y, positive=positive, threshold=0.5)
    assert found["recall"].value == metrics.recall_score(y == positive, values >= 0.5)
    assert heldout.scorer("recall", positive=positive, threshold=0.5)(model, X, y) == found["recall"].value


def test_the_truth_may_be_the_text_of_the_classes(mail):
    X, y = mail
    model = GaussianNB().fit(X, (y == "spam") * 1)
    expected = heldout.from_estimator(model, X, (y == "spam") * 1)
    found = heldout.from_estimator(model, X, np.where(y == "spam", "1", "0"))
    assert found["roc_auc"].value == expected["roc_auc"].value
    assert found["accuracy"] == expected["accuracy"]


def test_a_search_chooses_by_a_scorer_in_two_processes(mail):
    search = GridSearchCV(
        LogisticRegression(max_iter=500), {"C": [1e-4, 1.0]}, scoring=heldout.scorer("recall", positive="spam"), cv=3,
        n_jobs=2,
    )  # fmt: skip
    chosen = clone(search).fit(*mail)
    assert chosen.best_params_ == {"C": 1.0}
    assert chosen.best_score_ > 0.5
    again = pickle.loads(pickle.dumps(search.scoring))
    assert again(chosen, *mail) == search.scoring(chosen, *mail) == metrics.recall_score(
        mail[1], chosen.predict(mail[0]), pos_label="spam"
    )  # fmt: skip
    assert repr(again) == "heldout.scorer('recall', positive='spam')"


def test_weights_are_routed_where_they_are_requested(mail):
    X, y = mail
    weight = np.linspace(0.1, 2.0, len(y))
    model = GaussianNB().fit(X, y)
    plain = heldout.scorer("recall", positive="spam")
    expected = metrics.recall_score(y, model.predict(X), pos_label="spam", sample_weight=weight)
    assert plain(model, X, y, sample_weight=weight) == pytest.approx(expected)
    with pytest.raises(OptionError, match="enable_metadata_routing"):
        plain.set_score_request(sample_weight=True)
    with sklearn.config_context(enable_metadata_routing=True):
        asked = heldout.scorer("recall", positive="spam").set_score_request(sample_weight=True)
        fit = GaussianNB().set_fit_request(sample_weight=False)
        found = cross_validate(fit, X, y, cv=3, scoring=asked, params={"sample_weight": weight})
        theirs = metrics.make_scorer(metrics.recall_score, pos_label="spam").set_score_request(sample_weight=True)
        same = cross_validate(fit, X, y, cv=3, scoring=theirs, params={"sample_weight": weight})
    np.testing.assert_allclose(found["test_score"], same["test_score"])


def test_a_threshold_takes_the_place_of_predict(mail):
    X, y = mail
    model = GaussianNB().fit(X, y)
    answers = np.where(model.predict_proba(X)[:, 1] >= 0.2, "spam", "ham")
    scored = heldout.scorer("recall", positive="spam", threshold=0.2)(model, X, y)
    assert scored == metrics.recall_score(y, answers, pos_label="spam")
    assert scored == heldout.from_estimator(model, X, y, positive="spam", threshold=0.2).value("recall")


def test_a_measure_without_a_direction_cannot_choose():
    with pytest.raises(OptionError, match="Neither more nor less"):
        heldout.scorer("no_information_rate")


def test_decision_values_rank_the_class_that_is_positive(mail):
    X, y = mail
    model = SVC().fit(X, y)
    area = metrics.roc_auc_score(y, model.decision_function(X))
    for positive in ("ham", "spam"):
        evaluation = heldout.from_estimator(model, X, y, positive=positive)
        assert evaluation.value("roc_auc") == pytest.approx(area)
        assert evaluation.positive == positive


def test_classes_that_the_model_never_saw_have_no_probability():
    X, y = load_iris(return_X_y=True)
    evaluation = heldout.from_estimator(GaussianNB().fit(X[:100], y[:100]), X, y)
    assert evaluation.labels == (0, 1, 2)
    assert evaluation.value("recall[2]") == 0.0
    assert evaluation.scores is not None


def test_what_cannot_predict_is_refused():
    with pytest.raises(OptionError, match="has no predict"):
        heldout.from_estimator(object(), [[1.0]], [0])


def test_what_a_search_gave_is_compared_split_by_split(mail):
    cv = ShuffleSplit(8, test_size=0.2, random_state=0)
    search = GridSearchCV(
        LogisticRegression(max_iter=500), {"C": [1e-4, 1.0, 10.0], "tol": [1e-3]}, cv=cv,
        scoring={"recall": heldout.scorer("recall", positive="spam"), "accuracy": "accuracy"}, refit=False,
    ).fit(*mail)  # fmt: skip
    found = heldout.from_cv_results(search.cv_results_)
    assert list(found) == ["C=0.0001", "C=1.0", "C=10.0"]
    np.testing.assert_array_equal(
        found["C=1.0"]["test_recall"], [search.cv_results_[f"split{split}_test_recall"][1] for split in range(8)]
    )
    assert list(heldout.from_cv_results(search, top=1)) != ["C=0.0001"]
    comparison: Any = heldout.compare(found, test_share=0.2, measures="recall", control="C=0.0001")
    assert [pair.tested.method for pair in comparison.pairs] == ["one-pass-t", "one-pass-t"]
    assert comparison.get("C=1.0", "C=0.0001", "recall").tested.difference > 0


def test_cross_validations_are_compared_as_they_are(mail):
    models = {"bayes": GaussianNB(), "linear": LogisticRegression(max_iter=500)}
    found = {name: cross_validate(model, *mail, cv=4, return_indices=True) for name, model in models.items()}
    comparison: Any = heldout.compare(heldout.from_cv_results(found))
    assert comparison.names == ("bayes", "linear")
    assert list(heldout.from_cv_results(found["bayes"])) == ["learner"]
    with pytest.raises(OptionError, match="no results of scikit-learn's searches"):
        heldout.from_cv_results({"accuracy": [0.5]})


SEARCH: dict[str, Any] = {
    "params": [{"C": 1}, {"C": 9}],
    "split0_test_score": [0.8, 0.9],
    "split1_test_score": [0.7, 0.6],
    "split2_test_score": [0.7, 0.8],
}


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"split1_test_score": None}, "split1_test_score is not there"),
        ({"split1_test_score": [0.7]}, "split1_test_score has 1 results of 2 candidates"),
        ({"params": [{"C": 1}]}, "split0_test_score has 2 results of 1 candidates"),
        ({"split0_test_recall": [0.7, 0.8]}, "split1_test_recall is not there"),
        ({"split1_test_score": ["good", "bad"]}, "split1_test_score does not hold numbers"),
        ({"params": None}, "These are no results of scikit-learn's searches"),
    ],
)
def test_parts_of_the_results_of_a_search_are_refused(change, said):
    """Splits that are left out would be taken for fewer splits, in silence."""
    given = {name: values for name, values in {**SEARCH, **change}.items() if values is not None}
    with pytest.raises(heldout.HeldoutError, match=said):
        heldout.from_cv_results(given)


def test_how_many_are_kept_is_a_number_above_zero():
    given: tuple[Any, ...] = (0, -1, "x", 1.5)
    for wrong in given:
        with pytest.raises(OptionError, match="top must be"):
            heldout.from_cv_results(SEARCH, top=wrong)


def test_candidates_of_the_last_round_of_halving_are_compared_and_those_of_a_file_go_by_their_text():
    rounds = {"iter": [0, 0, 1], "params": [{"C": 1}, {"C": 9}, {"C": 9}]}
    found = heldout.from_cv_results(
        {**rounds, "split0_test_score": [0.1, 0.2, 0.3], "split1_test_score": [0.4, 0.5, 0.6]}
    )
    assert {name: scores["test_score"].tolist() for name, scores in found.items()} == {"C=9": [0.3, 0.6]}
    written = {**SEARCH, "params": ["{'C': 1}", "{'C': 9}"]}
    assert list(heldout.from_cv_results(written)) == ["{'C': 1}", "{'C': 9}"]


def test_gates_and_thresholds_take_a_fitted_model(mail):
    X, y = mail
    model = GaussianNB().fit(X, y)
    evaluation = heldout.evaluate(model, X, y, positive="spam")
    gate = heldout.check(model, X, y, require="recall >= 0.1, roc_auc >= 0.99", positive="spam")
    assert gate.rows() == heldout.check(evaluation, require="recall >= 0.1, roc_auc >= 0.99").rows()
    scores = model.predict_proba(X)[:, list(model.classes_).index("spam")]
    ours = heldout.choose_threshold(model, X, y, by="f1", positive="spam")
    assert ours.rows() == heldout.choose_threshold(y, scores, by="f1", positive="spam").rows()
    with pytest.raises(OptionError, match="there is no model"):
        heldout.choose_threshold(y, scores, y)
    with pytest.raises(OptionError, match="gives no scores"):
        heldout.choose_threshold(RidgeClassifierLike(), X, y, by="f1")


class RidgeClassifierLike:
    """A model without scores."""

    classes_ = np.array(["ham", "spam"])

    def predict(self, X):
        return np.full(len(X), "ham")


def test_batches_are_counted_as_they_come(mail):
    X, y = mail
    model = GaussianNB().fit(X, y)
    parts = [slice(0, 40), slice(40, 41), slice(41, None)]
    whole = heldout.evaluate(y, model.predict_proba(X)[:, 1], positive="spam")
    batches = ((y[part], model.predict_proba(X[part])[:, 1]) for part in parts)
    assert heldout.evaluate(batches, positive="spam")["roc_auc"].value == pytest.approx(whole["roc_auc"].value)
    cut = heldout.evaluate(((y[part], model.predict_proba(X[part])[:, 1]) for part in parts), threshold=0.2)
    assert (cut.threshold, cut.n) == (0.2, len(y))
    answers = heldout.evaluate((y[part], model.predict(X[part])) for part in parts)
    assert answers["accuracy"].value == pytest.approx((model.predict(X) == y).mean())
    # Scores of a later batch may all be whole numbers.
    scored = heldout.evaluate(iter([([0, 1], [0.2, 0.9]), ([0, 1], [0.0, 1.0])]))
    assert scored["brier"].value == pytest.approx((0.04 + 0.01) / 4)
    for odd in (iter([([0, 1],)]), iter([(0, 0.3)]), iter(["ab"])):
        with pytest.raises(OptionError, match="Batch 1 is no pair"):
            heldout.evaluate(odd)


def test_fitted_models_and_arrays_are_compared_like_their_evaluations(mail):
    X, y = mail
    models = {"bayes": GaussianNB().fit(X, y), "logistic": LogisticRegression(C=0.01).fit(X, y)}
    scores = {name: model.predict_proba(X)[:, 1] for name, model in models.items()}
    rows = heldout.compare({name: heldout.evaluate(y, score=score) for name, score in scores.items()}).rows()
    assert heldout.compare(models, X=X, y=y).rows() == rows
    assert heldout.compare(scores, truth=y).rows() == rows
    assert heldout.compare([*scores.values()], truth=y, names=list(scores)).rows() == rows
    first, second = (score.tolist() for score in scores.values())
    pair = heldout.compare(first, second, y=y.tolist(), measures="brier", names=list(scores))
    assert pair.rows()[0]["difference"] == next(row["difference"] for row in rows if row["measure"] == "brier")
    # A model has the name of its class, a pipeline that of its last step.
    piped = make_pipeline(StandardScaler(), LogisticRegression()).fit(X, y)
    assert heldout.compare(models["bayes"], piped, X=X, y=y).names == ("GaussianNB", "LogisticRegression")


def test_models_and_arrays_without_truth_or_features_are_not_compared(mail):
    X, y = mail
    models = [GaussianNB().fit(X, y), LogisticRegression().fit(X, y)]
    lacks: list[tuple[dict[str, Any], str]] = [({}, "true classes"), ({"X": X}, "true classes"), ({"y": y}, "features")]
    for given, lacking in lacks:
        with pytest.raises(OptionError, match=f"cannot be compared without the {lacking}"):
            heldout.compare(*models, **given)
    with pytest.raises(OptionError, match="Predictions alone"):
        heldout.compare(y, y)
    with pytest.raises(OptionError, match="predicted or score by name"):
        heldout.compare(*models, X=X, y=y, score=y)
    with pytest.raises(OptionError, match="given twice"):
        heldout.compare(*models, X=X, y=y, truth=y)
    with pytest.raises(OptionError, match="none to read: X"):
        heldout.compare(heldout.evaluate(y, y), heldout.evaluate(y, y), X=X)
