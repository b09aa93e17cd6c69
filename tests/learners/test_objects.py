"""Objects as learners: what is taken as it is, what is refused, how they are named and copied."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.cluster import KMeans
from sklearn.ensemble import IsolationForest, RandomForestRegressor
from sklearn.feature_selection import SelectKBest
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier

from heldout.errors import OptionError
from heldout.learners.learner import clone_learner, read_learner, takes_missing


class Plain:
    def __init__(self):
        self.seen = []

    def fit(self, X, y):
        self.seen.append(len(X))
        self.most = max(set(y), key=list(y).count)
        return self

    def predict(self, X):
        return np.full(len(X), self.most)


class OnlyPredicts:
    def predict(self, X):
        return X


class OnlyFits:
    def fit(self, X, y):  # noqa: ARG002
        return self


class Changes(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """A constructor that changes its argument, which scikit-learn's clone refuses."""

    def __init__(self, names=()):
        self.names = list(names)

    def fit(self, X, y):  # noqa: ARG002
        return self

    def predict(self, X):
        return X


class Uncopyable(Plain):
    def __deepcopy__(self, memo):
        message = "holds a connection"
        raise TypeError(message)


@pytest.mark.parametrize(
    ("estimator", "name"),
    [
        (SVC(), "SVC"),
        (SVC(C=10, kernel="linear"), "SVC(C=10, kernel='linear')"),
        (make_pipeline(StandardScaler(), SVC(C=10)), "StandardScaler + SVC(C=10)"),
        (GridSearchCV(SVC(), {"C": [1, 10]}), "GridSearchCV(estimator=SVC, param_grid={'C': [1, 10]})"),
        (Plain(), "Plain"),
    ],
)
def test_an_object_is_taken_as_it_is_and_named_by_what_is_not_default(estimator, name):
    learner = read_learner(estimator, seed=5)
    assert learner.estimator is estimator
    assert learner.name == name
    assert not learner.shortcut
    assert not learner.scaled


def test_a_long_name_is_cut():
    name = read_learner(GridSearchCV(SVC(), {"C": list(range(200))})).name
    assert len(name) == 100
    assert name.endswith("…")


def test_a_learner_is_handed_through():
    learner = read_learner("knn:3")
    assert read_learner(learner) is learner


@pytest.mark.parametrize(
    ("candidate", "what", "hint"),
    [
        (SVC, "SVC is a class, not an object of it.", "add parentheses: SVC()."),
        (
            3,
            "int has no fit, so nothing can be learned with it.",
            "pass an object with fit and predict, or a name such as 'knn' or 'forest'.",
        ),
        (
            None,
            "NoneType has no fit, so nothing can be learned with it.",
            "pass an object with fit and predict, or a name such as 'knn' or 'forest'.",
        ),
        (
            [SVC(), SVC()],
            "list has no fit, so nothing can be learned with it.",
            "pass one learner; compare several by calling once for each.",
        ),
        (
            OnlyPredicts(),
            "OnlyPredicts has no fit, so nothing can be learned with it.",
            "a fitted model cannot be judged on new splits: pass a learner that can be fitted again.",
        ),
        (
            OnlyFits(),
            "OnlyFits has no predict, so it gives no classes.",
            "pass a classifier, an object with fit and predict.",
        ),
        (
            SelectKBest(k=3),
            "SelectKBest(k=3) has no predict, only transform, so it gives no classes.",
            "put it in a pipeline before a classifier: make_pipeline(it, LogisticRegression()).",
        ),
        (
            RandomForestRegressor(),
            "RandomForestRegressor predicts numbers, not classes: it is a regressor.",
            "use the classifier of that family (LogisticRegression for LinearRegression, SVC for SVR).",
        ),
        (
            make_pipeline(StandardScaler(), Ridge()),
            "StandardScaler + Ridge predicts numbers, not classes: it is a regressor.",
            "use the classifier of that family (LogisticRegression for LinearRegression, SVC for SVR).",
        ),
        (
            GridSearchCV(Ridge(), {}),
            "GridSearchCV(estimator=Ridge, param_grid={}) predicts numbers, not classes: it is a regressor.",
            "use the classifier of that family (LogisticRegression for LinearRegression, SVC for SVR).",
        ),
        (
            KMeans(3),
            "KMeans(n_clusters=3) groups cases without knowing their classes: it is a clusterer.",
            "use a classifier, such as 'knn' or 'forest'.",
        ),
        (
            IsolationForest(),
            "IsolationForest marks unusual cases without knowing their classes: it is an outlier detector.",
            "use a classifier, such as 'forest'.",
        ),
    ],
)
def test_what_cannot_classify_is_refused(candidate, what, hint):
    with pytest.raises(OptionError) as caught:
        read_learner(candidate)
    assert (caught.value.what, caught.value.hint) == (what, hint)


def test_a_clone_has_the_settings_and_nothing_learned():
    fitted = LogisticRegression(C=3).fit([[0.0], [1.0]], [0, 1])
    copied = clone_learner(fitted)
    assert copied.C == 3
    assert not hasattr(copied, "coef_")


def test_an_object_without_parameters_is_copied_deeply():
    plain = Plain()
    copied = clone_learner(plain)
    copied.fit([[1], [2]], ["a", "a"])
    assert plain.seen == []
    assert copied.seen == [2]


@pytest.mark.parametrize(
    ("estimator", "said"),
    [
        (Changes(["a"]), "A Changes cannot be copied, as every fold needs: RuntimeError: Cannot clone object"),
        (Uncopyable(), "A Uncopyable cannot be copied, as every fold needs: TypeError: holds a connection."),
    ],
)
def test_what_cannot_be_copied_says_why(estimator, said):
    with pytest.raises(OptionError) as caught:
        clone_learner(estimator)
    assert caught.value.what.startswith(said)
    assert caught.value.hint.startswith("its constructor must keep its arguments")
    assert caught.value.__cause__ is not None


@pytest.mark.parametrize(
    ("estimator", "takes"),
    [
        (SVC(), False),
        (DecisionTreeClassifier(), True),
        (make_pipeline(StandardScaler(), SVC()), False),
        (make_pipeline(StandardScaler(), DecisionTreeClassifier()), True),
        (make_pipeline(SimpleImputer(), SVC()), True),
        (GridSearchCV(make_pipeline(SimpleImputer(), SVC()), {}), True),
        (GridSearchCV(SVC(), {}), False),
        (Plain(), None),
    ],
)
def test_whether_gaps_are_taken_is_known_through_pipelines_and_searches(estimator, takes):
    assert takes_missing(estimator) is takes
    if takes is not None:
        # What scikit-learn does is the judge.
        X = np.array([[0.0, np.nan], [1.0, 2.0]] * 10)
        y = np.array([0, 1] * 10)
        try:
            estimator.fit(X, y)
        except ValueError:
            assert not takes
        else:
            assert takes
