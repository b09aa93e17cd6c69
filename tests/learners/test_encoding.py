"""What happens to the columns before a learner sees them is learned from the training rows of each fold alone."""

from __future__ import annotations

import pickle
from pathlib import Path

import numpy as np
import polars as pl
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import BernoulliNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import KBinsDiscretizer, OneHotEncoder, StandardScaler
from sklearn.svm import SVC

from heldout.learners.data import read_problem
from heldout.learners.encoding import QuantileBins, prepare_learner
from heldout.learners.learner import clone_learner, read_learner
from heldout.learners.registry import SHORTCUTS

WEKA = Path(__file__).parents[1] / "oracles" / "data" / "weka"
FILES = ("iris", "labor", "vote", "breast-cancer", "weather.nominal")


class Remembers:
    """An object that knows nothing of scikit-learn, and keeps what it was shown."""

    def fit(self, X, y):
        self.fitted_on = np.asarray(X)
        self.classes_ = np.unique(y)
        return self

    def predict(self, X):
        self.asked = np.asarray(X)
        return np.full(len(X), self.classes_[0])

    def predict_proba(self, X):
        return np.tile(np.eye(len(self.classes_))[0], (len(X), 1))


def halves(problem):
    rows = np.random.default_rng(3).permutation(problem.n)
    return np.sort(rows[::2]), np.sort(rows[1::2])


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("text", SHORTCUTS)
def test_every_shortcut_learns_from_every_file(name, text):
    problem = read_problem(WEKA / f"{name}.arff")
    train, test = halves(problem)
    model = clone_learner(prepare_learner(read_learner("forest:10" if text == "forest" else text), problem))
    model.fit(problem.features[train], problem.target[train])
    predicted = model.predict(problem.features[test])
    assert set(predicted) <= set(problem.labels)
    assert hasattr(model, "predict_proba") or hasattr(model, "decision_function")


@pytest.mark.parametrize("text", ["knn:5", "naive-bayes", "tree", "forest", "boosting", "majority", "lda"])
def test_numbers_without_gaps_go_to_the_bare_estimator(text):
    learner = read_learner(text)
    assert prepare_learner(learner, read_problem(WEKA / "iris.arff")) is learner.estimator


def test_gaps_go_as_they_are_to_a_learner_that_takes_them():
    learner = read_learner("tree")
    assert prepare_learner(learner, read_problem([[1.0], [np.nan]], [0, 1])) is learner.estimator


def test_scaling_is_that_of_the_training_rows():
    problem = read_problem(WEKA / "iris.arff")
    train, test = halves(problem)
    ours = clone(prepare_learner(read_learner("svm"), problem)).fit(problem.features[train], problem.target[train])
    mean, spread = problem.features[train].mean(axis=0), problem.features[train].std(axis=0)
    theirs = SVC().fit((problem.features[train] - mean) / spread, problem.target[train])
    np.testing.assert_allclose(
        ours.decision_function(problem.features[test]),
        theirs.decision_function((problem.features[test] - mean) / spread),
        rtol=1e-9,
    )


def test_gaps_are_filled_with_the_median_of_the_training_rows_only():
    # The median of the training rows is 2, that of all rows 50: filled before splitting, the gap would be 50.
    X = np.array([[1.0], [2.0], [3.0], [np.nan], [50.0], [60.0], [70.0], [80.0], [np.nan]])
    y = np.array([0, 1, 0, 1, 0, 1, 0, 1, 0])
    problem = read_problem(X, y)
    assert np.nanmedian(X) == 50
    model = prepare_learner(read_learner(Remembers()), problem)
    model.fit(X[:4], y[:4])
    np.testing.assert_array_equal(model.learner.fitted_on.ravel(), [1, 2, 3, 2])
    model.predict(X[4:])
    np.testing.assert_array_equal(model.learner.asked.ravel(), [50, 60, 70, 80, 2])


def test_a_column_that_is_empty_in_the_training_rows_breaks_nothing():
    X = np.array([[1.0, np.nan], [2.0, np.nan], [3.0, np.nan], [4.0, 5.0]])
    problem = read_problem(X, [0, 1, 0, 1])
    model = prepare_learner(read_learner("logistic"), problem)
    assert len(model.fit(X[:3], problem.target[:3]).predict(X[3:])) == 1


def test_a_category_that_only_the_test_rows_have_breaks_nothing_and_is_no_known_one():
    frame = pl.DataFrame({"town": ["Ulm", "Bonn", "Ulm", "Bonn", "Jena"], "y": [0, 1, 0, 1, 0]})
    problem = read_problem(frame)
    model = prepare_learner(read_learner(Remembers()), problem)
    model.fit(problem.features[:4], problem.target[:4])
    # Bonn and Ulm have a column each; had Jena been known beforehand there would be three.
    np.testing.assert_array_equal(model.learner.fitted_on, [[0, 1], [1, 0], [0, 1], [1, 0]])
    model.predict(problem.features[4:])
    np.testing.assert_array_equal(model.learner.asked, [[0, 0]])


@pytest.mark.parametrize("text", sorted(set(SHORTCUTS) - {"forest", "lda"}))
def test_every_shortcut_stands_a_category_that_it_was_not_trained_on(text):
    frame = pl.DataFrame({"town": ["Ulm", "Bonn"] * 10 + ["Jena"], "x": range(21), "y": [0, 1] * 10 + [0]})
    problem = read_problem(frame)
    model = clone_learner(prepare_learner(read_learner(text), problem)).fit(problem.features[:20], problem.target[:20])
    assert len(model.predict(problem.features[20:])) == 1


def test_declared_categories_are_known_whether_met_or_not_and_a_gap_is_one_of_its_own():
    colours = pl.Series("colour", ["red", None, "blue"], dtype=pl.Enum(["green", "red", "blue"]))
    problem = read_problem(pl.DataFrame({"colour": colours, "y": [0, 1, 0]}))
    model = prepare_learner(read_learner(Remembers()), problem)
    model.fit(problem.features[:1], problem.target[:1])
    np.testing.assert_array_equal(model.learner.fitted_on, [[0, 1, 0, 0]])
    model.predict(problem.features)
    np.testing.assert_array_equal(model.learner.asked, [[0, 1, 0, 0], [0, 0, 0, 1], [0, 0, 1, 0]])


def test_mixed_columns_are_encoded_as_scikit_learn_does_on_names():
    """The same encoding written by hand for scikit-learn, from the texts instead of our codes."""
    frame = pl.read_csv(
        "\n".join(
            ["x,town,y", *(f"{(i * 7) % 11 or ''},{['Ulm', 'Bonn', ''][i % 3]},{i % 2}" for i in range(40))]
        ).encode()
    )
    problem = read_problem(frame)
    train, test = np.arange(0, 40, 2), np.arange(1, 40, 2)
    rows = frame.drop("y").to_pandas()
    rows["town"] = rows["town"].fillna("missing").astype(object)
    y = frame["y"].to_numpy()
    y = np.where(np.arange(40) % 5 == 0, 1 - y, y)
    by_hand = make_pipeline(
        ColumnTransformer(
            [
                ("numbers", make_pipeline(SimpleImputer(strategy="median"), StandardScaler()), ["x"]),
                ("texts", OneHotEncoder(handle_unknown="ignore"), ["town"]),
            ]
        ),
        LogisticRegression(max_iter=1000),
    )
    ours = clone(prepare_learner(read_learner("logistic"), problem)).fit(problem.features[train], y[train])
    theirs = by_hand.fit(rows.iloc[train], y[train])
    np.testing.assert_allclose(
        ours.predict_proba(problem.features[test]), theirs.predict_proba(rows.iloc[test]), rtol=1e-6
    )


def test_naive_bayes_with_categories_counts_zeros_and_ones():
    problem = read_problem(WEKA / "weather.nominal.arff")
    model = prepare_learner(read_learner("naive-bayes"), problem).fit(problem.features, problem.target)
    dense = np.hstack([problem.features[:, [i]] == np.arange(len(c.categories)) for i, c in problem.nominal.items()])
    theirs = BernoulliNB().fit(dense, problem.target)
    np.testing.assert_allclose(model.predict_proba(problem.features), theirs.predict_proba(dense), rtol=1e-9)


def test_naive_bayes_bins_numbers_beside_categories():
    problem = read_problem(WEKA / "labor.arff")
    model = prepare_learner(read_learner("naive-bayes"), problem)
    assert isinstance(model.steps[-1][1], BernoulliNB)
    seen = model[:-1].fit_transform(problem.features)
    assert set(np.unique(seen)) == {0.0, 1.0}
    # Every row has exactly one value in each of the 16 columns.
    np.testing.assert_array_equal(seen.sum(axis=1), np.full(57, 16))


def test_many_categories_are_kept_sparse_for_learners_that_take_it():
    town = [f"t{i % 300}" for i in range(900)]
    problem = read_problem({"town": town, "y": [i % 2 for i in range(900)]})
    for text, sparse in (("logistic", True), ("boosting", False)):
        encoder = prepare_learner(read_learner(text), problem).steps[0][1]
        assert sp.issparse(encoder.fit_transform(problem.features)) == sparse
    assert not sp.issparse(
        prepare_learner(read_learner("logistic"), read_problem(WEKA / "vote.arff"))
        .steps[0][1]
        .fit_transform(read_problem(WEKA / "vote.arff").features)
    )


def test_a_sparse_matrix_is_scaled_without_its_mean():
    X = sp.random(60, 5, density=0.3, random_state=0, format="csr")
    problem = read_problem(X, np.arange(60) % 2)
    model = prepare_learner(read_learner("logistic"), problem)
    assert model.fit(problem.features, problem.target).predict(problem.features[:3]).shape == (3,)
    bare = read_learner("knn:3")
    assert prepare_learner(bare, problem) is bare.estimator


def test_a_frame_as_given_goes_to_the_learner_as_it_is():
    frame = pl.DataFrame({"a": [1.0, 2.0], "b": ["u", "v"]})
    learner = read_learner(make_pipeline(ColumnTransformer([("b", OneHotEncoder(), ["b"])]), SVC()))
    problem = read_problem(frame, [0, 1], as_given=True)
    assert prepare_learner(learner, problem) is learner.estimator
    assert len(learner.estimator.fit(problem.features, problem.target).predict(problem.features)) == 2


class TestObjectsThatKnowNothingOfScikitLearn:
    def test_their_copies_share_nothing(self):
        problem = read_problem(WEKA / "labor.arff")
        first = prepare_learner(read_learner(Remembers()), problem)
        copy = clone_learner(first).fit(problem.features, problem.target)
        assert not hasattr(first.learner, "fitted_on")
        assert copy.classes_.tolist() == ["bad", "good"]

    def test_they_have_scores_where_the_object_has_them(self):
        problem = read_problem(WEKA / "labor.arff")
        model = prepare_learner(read_learner(Remembers()), problem).fit(problem.features, problem.target)
        assert model.predict_proba(problem.features).shape == (57, 2)
        assert not hasattr(model, "decision_function")

    def test_they_can_be_sent_to_another_process(self):
        problem = read_problem(WEKA / "labor.arff")
        model = pickle.loads(pickle.dumps(prepare_learner(read_learner(Remembers()), problem)))
        assert len(model.fit(problem.features, problem.target).predict(problem.features)) == 57


class TestQuantileBins:
    @given(hnp.arrays(float, st.tuples(st.integers(1, 40), st.integers(1, 3)), elements=st.integers(0, 9).map(float)))
    def test_every_value_lies_in_exactly_one_bin_and_no_bin_of_the_training_rows_is_empty(self, table):
        seen = QuantileBins(4).fit(table).transform(table)
        np.testing.assert_array_equal(seen.sum(axis=1), np.full(len(table), table.shape[1]))
        assert (seen.sum(axis=0) > 0).all()

    def test_distinct_values_are_binned_as_scikit_learn_does(self):
        table = np.random.default_rng(0).normal(size=(200, 2))
        theirs = KBinsDiscretizer(10, encode="onehot-dense", strategy="quantile", quantile_method="linear")
        np.testing.assert_array_equal(QuantileBins(10).fit(table).transform(table), theirs.fit_transform(table))

    def test_gaps_are_a_bin_of_their_own_where_the_training_rows_have_them(self):
        gap = np.array([[np.nan]])
        with_gaps = QuantileBins(2).fit(np.array([[1.0], [2.0], [3.0], [np.nan]]))
        np.testing.assert_array_equal(with_gaps.transform(gap), [[0, 0, 1]])
        without = QuantileBins(2).fit(np.array([[1.0], [2.0], [3.0]]))
        np.testing.assert_array_equal(without.transform(gap), [[0, 0]])

    def test_it_is_cloned_and_pickled_like_any_transformer(self):
        bins = QuantileBins(3)
        assert clone(bins).bins == 3
        fitted = pickle.loads(pickle.dumps(bins.fit(np.arange(9.0).reshape(9, 1))))
        np.testing.assert_array_equal(fitted.transform([[0.0], [8.0]]), [[1, 0, 0], [0, 0, 1]])
        assert fitted.get_feature_names_out().tolist() == ["x0_0", "x0_1", "x0_2"]
