"""Sizes of models, against what scikit-learn says of them and what can be counted by hand."""

from __future__ import annotations

import math
import pickle

import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import ColumnTransformer
from sklearn.decomposition import PCA
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis
from sklearn.dummy import DummyClassifier
from sklearn.ensemble import (
    BaggingClassifier,
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
    StackingClassifier,
    VotingClassifier,
)
from sklearn.feature_selection import RFE, SelectKBest
from sklearn.frozen import FrozenEstimator
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.multiclass import OneVsRestClassifier
from sklearn.naive_bayes import BernoulliNB, GaussianNB
from sklearn.neighbors import KNeighborsClassifier, NearestCentroid
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.svm import SVC, LinearSVC
from sklearn.tree import DecisionTreeClassifier
from tests.cards.drawn_data import mixed_table

from heldout.cards.components import ModelPart
from heldout.cards.size_and_speed import ReadingLimits, judge_readability, measure_size
from heldout.learners.data import LearningData
from heldout.learners.encoding import make_estimator
from heldout.learners.learner import read_learner

RNG = np.random.default_rng(3)
X = RNG.normal(size=(90, 5))
# Three classes that the first two columns decide, so that trees stay small.
Y = (X[:, 0] > 0).astype(int) + (X[:, 1] > 0.5)


def sized(model, features=X, y=Y):
    return measure_size(model.fit(features, y), features.shape[1])


def test_a_tree_has_the_leaves_and_the_depth_that_scikit_learn_counts():
    tree = DecisionTreeClassifier(max_depth=4, random_state=0).fit(X, Y)
    found = measure_size(tree, 5)
    assert (found.trees, found.leaves, found.depth) == (1, tree.get_n_leaves(), tree.get_depth())
    assert found.parameters == tree.tree_.node_count - tree.get_n_leaves()
    assert found.used == len(set(tree.tree_.feature[tree.tree_.feature >= 0]))
    assert found.bytes == len(pickle.dumps(tree))


def test_a_forest_is_the_sum_of_its_trees():
    forest = RandomForestClassifier(7, random_state=0).fit(X, Y)
    found = measure_size(forest, 5)
    assert found.trees == 7
    assert found.leaves == sum(tree.get_n_leaves() for tree in forest.estimators_)
    assert found.depth == max(tree.get_depth() for tree in forest.estimators_)
    assert found.reading.verdict == "opaque"


def test_boosted_trees_are_counted_by_rounds_and_classes():
    boosted = GradientBoostingClassifier(n_estimators=4, max_depth=2, random_state=0).fit(X, Y)
    found = measure_size(boosted, 5)
    assert found.trees == 4 * 3
    assert found.leaves == sum(tree.get_n_leaves() for tree in boosted.estimators_.ravel())
    binned = HistGradientBoostingClassifier(max_iter=4, max_depth=2, min_samples_leaf=5).fit(X, Y)
    found = measure_size(binned, 5)
    assert found.trees == binned.n_iter_ * 3
    assert found.trees < found.leaves <= 4 * found.trees
    assert found.depth == 2
    assert found.parameters == found.leaves - found.trees


COUNTED = {
    "logistic regression": (LogisticRegression(), 5 * 3 + 3),
    "a linear support vector machine": (LinearSVC(), 5 * 3 + 3),
    "discriminant analysis": (LinearDiscriminantAnalysis(), 5 * 3 + 3),
    "neighbours": (KNeighborsClassifier(3), 90 * 5),
    "a network": (MLPClassifier((4,), max_iter=5, random_state=0), 5 * 4 + 4 + 4 * 3 + 3),
    "naive Bayes of amounts": (GaussianNB(), 5 * 3 * 2 + 3),
    "naive Bayes of bits": (BernoulliNB(), 5 * 3 + 3),
    "centroids": (NearestCentroid(), 5 * 3),
    "quadratic discriminant": (QuadraticDiscriminantAnalysis(), 5 * 3 + 3 * 25 + 5 * 3 + 3),
    "a constant": (DummyClassifier(), 3),
    "one against the rest": (OneVsRestClassifier(LogisticRegression()), 3 * 6),
    "behind a scaler": (make_pipeline(StandardScaler(), LogisticRegression()), 5 * 3 + 3),
    "a search": (GridSearchCV(LogisticRegression(), {"C": [1, 2]}, cv=2), 5 * 3 + 3),
    "a vote": (VotingClassifier([("a", LogisticRegression()), ("b", GaussianNB())]), 18 + 33),
    "a bag": (BaggingClassifier(LogisticRegression(), n_estimators=4, max_features=2, random_state=0), 4 * (2 * 3 + 3)),
    "calibrated": (CalibratedClassifierCV(LogisticRegression(), cv=2), 2 * (18 + 3 * 2)),
    "two columns chosen": (RFE(LogisticRegression(), n_features_to_select=2), 2 * 3 + 3),
    "frozen": (FrozenEstimator(LogisticRegression().fit(X, Y)), 18),
}


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("name", COUNTED)
def test_parameters_are_those_that_the_formula_counts(name):
    model, parameters = COUNTED[name]
    found = sized(model)
    assert found.parameters == parameters
    assert found.unknown == ""


def test_support_vectors_are_those_that_were_kept():
    machine = SVC().fit(X, Y)
    found = measure_size(machine, 5)
    assert found.vectors == machine.n_support_.sum()
    assert found.parameters == found.vectors * 5 + machine.dual_coef_.size + 3
    assert measure_size(SVC(kernel="linear").fit(X, Y), 5).what == "coefficients"


def test_a_stack_counts_all_levels_but_its_last_one_sees_no_column():
    stack = StackingClassifier([("tree", DecisionTreeClassifier(max_depth=1))], LogisticRegression(), cv=2).fit(X, Y)
    found = measure_size(stack, 5)
    assert found.parameters == 1 + 3 * 3 + 3
    assert found.used == 1


class Stranger(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    def fit(self, features, y):
        del features
        self.classes_ = np.unique(y)
        self.secret_ = lambda: 1
        return self

    def predict(self, features):
        return np.full(len(features), self.classes_[0])


def test_of_a_stranger_nothing_is_made_up():
    found = sized(Stranger())
    assert math.isnan(found.parameters)
    assert found.unknown == "unknown: a Stranger says nothing of its parts in any way known here"
    assert found.reading.verdict == "unknown"
    assert math.isnan(found.used)
    assert found.used_how == "the model does not tell which columns it looks at"
    assert math.isnan(found.bytes)
    assert found.bytes_why.startswith("it cannot be pickled: ")
    assert measure_size(Stranger().fit(X, Y), 5, moved=2).used == 2
    assert math.isnan(sized(make_pipeline(StandardScaler(), Stranger())).parameters)


class Tensor:
    def __init__(self, count):
        self.count = count

    def numel(self):
        return self.count


class Network(Stranger):
    def parameters(self):
        return iter([Tensor(20), Tensor(4)])


def test_a_network_that_lists_its_tensors_is_counted_by_them():
    assert sized(Network()).parameters == 24


def test_features_used_are_traced_through_what_stands_before_the_predictor():
    # Only the third column decides, and a tree of one question asks about nothing else.
    y = (X[:, 2] > 0).astype(int)
    stump = DecisionTreeClassifier(max_depth=1)
    kept = ColumnTransformer([("all", StandardScaler(), [4, 2])])
    for before in (StandardScaler(), SelectKBest(k=2), SimpleImputer(), kept):
        found = measure_size(make_pipeline(before, stump).fit(X, y), 5)
        assert (found.used, found.used_how) == (1, "by its structure")
    mixed = measure_size(make_pipeline(PCA(2), stump).fit(X, y), 5, moved=5)
    assert (mixed.used, mixed.used_how) == (5, "those whose permutation changed a prediction")


def test_one_hot_columns_count_as_the_one_column_they_came_from():
    table = np.array([["a", "u"], ["b", "u"], ["c", "v"], ["a", "v"]] * 6, dtype=object)
    y = (table[:, 0] == "b").astype(int)
    model = make_pipeline(OneHotEncoder(), DecisionTreeClassifier()).fit(table, y)
    assert measure_size(model, 2).used == 1


@pytest.mark.parametrize("learner", ["tree:1", "naive-bayes", "logistic", "forest:3"])
def test_features_used_are_known_behind_the_preparation_of_short_names(learner):
    data = LearningData(mixed_table(), None, "bought", None, None, (), None, "refuse")
    one = read_learner(learner)
    problem = data.form_for(one)
    model = make_estimator(one, problem).fit(problem.features, problem.target)
    found = measure_size(model, 2)
    assert found.used_how == "by its structure"
    assert found.used == (1 if learner == "tree:1" else 2)


def test_a_preparation_that_mixes_columns_must_be_read_too():
    plain = sized(make_pipeline(StandardScaler(), LogisticRegression()), y=(Y > 0).astype(int))
    mixed = sized(make_pipeline(PCA(2), LogisticRegression()), y=(Y > 0).astype(int))
    assert plain.reading.verdict == "can be read whole"
    assert plain.reading.pieces == 5
    assert mixed.reading.pieces == 2 + mixed.preparation
    assert mixed.reading.verdict != "can be read whole"


@pytest.mark.parametrize(
    ("pieces", "met", "verdict"),
    [
        (9, 9, "can be read whole"),
        (10, 9, "can be followed case by case"),
        (500, 30, "can be followed case by case"),
        (500, 31, "opaque"),
    ],
)
def test_the_reading_goes_by_the_limits_and_names_them(pieces, met, verdict):
    found = judge_readability([ModelPart("Any", "pieces", pieces, pieces, met)])
    assert found.verdict == verdict
    assert "Lipton (2018)" in found.limits.reference
    assert found.sentence.endswith("the limits are 9 and 30.")
    assert judge_readability([ModelPart("Any", "", 1, 3, 3)], ReadingLimits(2, 2, "mine")).verdict == "opaque"
