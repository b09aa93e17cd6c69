"""Running a learner under splits: what is asked of it, what comes back, and what is said when it fails."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from scipy.sparse import coo_array
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.dummy import DummyClassifier
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression, Perceptron
from sklearn.model_selection import GridSearchCV, cross_val_predict
from sklearn.svm import SVC, LinearSVC
from sklearn.tree import DecisionTreeClassifier
from tests.resampling.making import folds, leave_one_out, problem_of, run, two_clouds

from heldout.errors import LearnerError, OptionError, ValuesError
from heldout.plans.plan import Splits
from heldout.resampling.split_task import ENOUGH


class Stub(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """A learner that predicts the first feature, and otherwise does as it is told."""

    def __init__(self, act=None, scores=None):
        self.act = act
        self.scores = scores

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        if self.act is not None:
            self.act(X, y)
        return self

    def predict(self, X):
        return np.asarray(X)[:, 0].astype(int)


class Scored(Stub):
    def predict_proba(self, X):
        return self.scores(X)


class Decided(Stub):
    def decision_function(self, X):
        return self.scores(X)


def numbered(n=12):
    """Rows whose first feature is their class and whose second is their number."""
    y = np.arange(n) % 2
    return problem_of(np.column_stack([y, np.arange(n)]).astype(float), y)


def test_predictions_and_probabilities_are_those_of_scikit_learn():
    problem = two_clouds(60, apart=0.5)
    numbers = np.arange(60) % 5
    result = run(LogisticRegression(), problem, Splits.partition(numbers))
    cv = [(np.flatnonzero(numbers != fold), np.flatnonzero(numbers == fold)) for fold in range(5)]
    expected = cross_val_predict(LogisticRegression(), problem.features, problem.target, cv=cv, method="predict_proba")
    np.testing.assert_array_equal(result.scores, expected[result.rows])
    np.testing.assert_array_equal(result.predicted, expected[result.rows].argmax(axis=1))
    assert result.score_kind == "probability"
    assert result.finished.tolist() == [0, 1, 2, 3, 4]
    assert (result.fit_seconds > 0).all()
    assert result.complete
    assert result.shortcut == ""


def test_the_learner_that_was_given_stays_unfitted():
    learner = DecisionTreeClassifier()
    run(learner, two_clouds(), folds(60, 3))
    assert not hasattr(learner, "tree_")


class Bare:
    """No get_params, no classes_: fit and predict, and probabilities in the order of the sorted labels."""

    def fit(self, _, y):
        self.seen = np.unique(y)
        return self

    def predict(self, X):
        return [str(self.seen[0])] * len(X)

    def predict_proba(self, X):
        return np.full((len(X), len(self.seen)), 1 / len(self.seen))


def test_an_object_without_parameters_is_copied():
    learner = Bare()
    problem = problem_of(np.zeros((6, 1)), ["b", "a", "b", "c", "a", "b"], labels=["c", "b", "a"])
    splits = Splits.of(6, [np.array([3]), np.array([0])], [np.array([0, 1, 2]), np.array([1, 3, 5])])
    result = run(learner, problem, splits)
    assert not hasattr(learner, "seen")
    assert result.predicted.tolist() == [2, 2]
    # Without c, then with all three: columns in the order of the problem's labels.
    np.testing.assert_allclose(result.scores, [[0, 0.5, 0.5], [1 / 3, 1 / 3, 1 / 3]])


@pytest.mark.parametrize("form", [coo_array, lambda X: X.tolist(), lambda X: X])
def test_rows_are_taken_from_features_of_any_form(form):
    problem = two_clouds(40)
    plain = run(LogisticRegression(), problem, folds(40, 4))
    other = run(LogisticRegression(), problem_of(form(problem.features), problem.target), folds(40, 4))
    np.testing.assert_array_equal(plain.predicted, other.predicted)
    np.testing.assert_allclose(plain.scores, other.scores, atol=1e-6)


def test_a_frame_reaches_the_learner_as_a_frame():
    import pandas as pd

    seen = []
    frame = pd.DataFrame({"class": [0, 1] * 6, "x": range(12)})
    learner = Stub(lambda X, _: seen.append(list(X.columns)))
    learner.__sklearn_clone__ = lambda: learner
    run(learner, problem_of(frame, [0, 1] * 6), folds(12, 3))
    assert seen == [["class", "x"]] * 3


# ---- scores


def test_predict_decides_where_probabilities_disagree():
    learner = Scored(scores=lambda X: np.tile([0.9, 0.1], (len(X), 1)))
    result = run(learner, numbered(), folds(12, 3))
    np.testing.assert_array_equal(result.predicted, result.rows % 2)


def test_a_class_absent_from_training_has_probability_nought():
    y = np.array(["a"] * 4 + ["b"] * 4 + ["c"] * 2)
    problem = problem_of(np.arange(10.0)[:, None], y)
    result = run(DecisionTreeClassifier(), problem, Splits.partition(np.array([0] * 4 + [1] * 4 + [2] * 2)))
    for place in range(3):
        np.testing.assert_array_equal(result.scores[result.fold == place][:, place], 0)
    np.testing.assert_allclose(result.scores.sum(axis=1), 1)


def test_a_binary_decision_is_of_the_second_label_in_whatever_order():
    problem = two_clouds(40)
    forward = run(LinearSVC(), problem, folds(40, 4))
    backward = run(LinearSVC(), problem_of(problem.features, problem.target, labels=[1, 0]), folds(40, 4))
    assert forward.score_kind == "decision"
    assert forward.scores.shape == (40,)
    np.testing.assert_array_equal(forward.scores, -backward.scores)
    np.testing.assert_array_equal(forward.scores > 0, forward.predicted == 1)
    np.testing.assert_array_equal(backward.scores > 0, backward.predicted == 1)


def test_decisions_between_more_classes_have_a_column_each_and_absent_ones_rank_last():
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1, 2], 12)
    X = rng.normal(size=(36, 2)) + y[:, None] * [[2.0, -1.0]]
    left_out = np.flatnonzero(y == 1)
    splits = Splits.of(36, [np.arange(0, 36, 3), left_out], [np.flatnonzero(np.arange(36) % 3), np.flatnonzero(y != 1)])
    result = run(Perceptron(), problem_of(X, y), splits)
    assert result.scores.shape == (24, 3)
    np.testing.assert_array_equal(result.scores.argmax(axis=1), result.predicted)
    absent = result.scores[result.fold == 1]
    assert np.isfinite(absent).all()
    assert (absent[:, 1] < absent[:, [0, 2]].min(axis=1)).all()


def test_decisions_between_pairs_of_classes_are_no_scores_of_classes():
    y = np.repeat([0, 1, 2], 10)
    X = np.random.default_rng(0).normal(size=(30, 2)) + y[:, None]
    result = run(SVC(decision_function_shape="ovo"), problem_of(X, y), folds(30, 3))
    assert result.scores is None
    assert result.score_kind is None


def test_a_learner_without_scores_has_none():
    assert run(Stub(), numbered(), folds(12, 3)).scores is None


# ---- training rows


def test_training_rows_are_predicted_by_the_model_that_trained_on_them():
    problem = two_clouds(50, apart=0.3)
    splits = folds(50, 5)
    result = run(DecisionTreeClassifier(random_state=0), problem, splits)
    np.testing.assert_array_equal(result.training_predicted, problem.truth[result.training_rows])
    for i in range(5):
        rows = result.training_rows[result.training_fold == i]
        assert set(rows) == set(splits.train(i))
        assert len(rows) == 40


def test_as_many_training_rows_as_test_rows_are_predicted_and_enough_over_all():
    n = 3000
    y = np.arange(n) % 2
    problem = problem_of(np.column_stack([y, np.arange(n)]).astype(float), y)
    splits = folds(n, 5)
    result = run(Stub(), problem, splits)
    assert np.bincount(result.training_fold).tolist() == [600] * 5
    few = run(Stub(), problem, Splits.of(n, [np.arange(10), np.arange(10, 20)]))
    assert np.bincount(few.training_fold).tolist() == [ENOUGH // 2] * 2
    for i in range(5):
        rows = result.training_rows[result.training_fold == i]
        assert len(np.unique(rows)) == len(rows)
        assert not set(rows) & set(splits.test(i))


def test_training_rows_follow_from_the_seed():
    first, again, other = (run(Stub(), numbered(3000), folds(3000, 5), seed=seed) for seed in (1, 1, 2))
    np.testing.assert_array_equal(first.training_rows, again.training_rows)
    assert (first.training_rows != other.training_rows).any()


def test_a_bootstrap_predicts_each_training_row_once():
    train = np.random.default_rng(0).integers(0, 12, size=12)
    test = np.setdiff1d(np.arange(12), train)
    result = run(Stub(), numbered(), Splits.of(12, [test], [train]))
    assert sorted(result.training_rows) == np.unique(train).tolist()


def test_training_and_testing_on_the_same_rows_predicts_them_once():
    calls = []

    class Counting(Stub):
        def predict(self, X):
            calls.append(len(X))
            return super().predict(X)

    everyone = np.arange(12)
    result = run(Counting(), numbered(), Splits.of(12, [everyone], [everyone]))
    assert calls == [12]
    np.testing.assert_array_equal(result.training_rows, everyone)
    np.testing.assert_array_equal(result.training_predicted, result.predicted)


def test_training_rows_can_be_left_out():
    result = run(Stub(), numbered(), folds(12, 3), training=False)
    assert len(result.training_rows) == len(result.training_predicted) == 0


# ---- tuning


def test_a_search_says_what_it_chose_in_each_split():
    search = GridSearchCV(DecisionTreeClassifier(random_state=0), {"max_depth": [1, 2]}, cv=2)
    result = run(search, two_clouds(), folds(60, 3))
    assert len(result.chosen) == 3
    assert all(set(chosen) == {"max_depth"} for chosen in result.chosen)


def test_a_search_is_tuned_on_the_inner_splits():
    seen = []

    def inner(train):
        half = len(train) // 2
        pairs = [(np.arange(half), np.arange(half, len(train)))]
        seen.append((train, pairs))
        return pairs

    trained = []

    class Noting(Stub):
        def __init__(self, depth=1):
            super().__init__()
            self.depth = depth

        def fit(self, X, y):
            trained.append(X[:, 1].astype(int))
            return super().fit(X, y)

    run(GridSearchCV(Noting(), {"depth": [1]}, error_score="raise"), numbered(30), folds(30, 3), inner=inner)
    assert len(seen) == 3
    for i, (train, pairs) in enumerate(seen):
        np.testing.assert_array_equal(trained[2 * i], train[pairs[0][0]])
        np.testing.assert_array_equal(trained[2 * i + 1], train)


def test_inner_splits_need_a_learner_that_tunes_itself():
    with pytest.raises(OptionError, match="has no parameter cv"):
        run(Stub(), numbered(), folds(12, 3), inner=lambda _: [])


# ---- failures


def explode_on(row):
    def act(X, _):
        if row not in X[:, 1]:
            raise ArithmeticError("the roof fell in.\nand more")

    return act


def test_an_error_names_fold_plan_learner_and_reason():
    splits = Splits.partition(np.arange(12) % 3)
    with pytest.raises(LearnerError) as caught:
        run(Stub(explode_on(4)), numbered(), splits, plan_text="3-fold")
    assert str(caught.value) == (
        "Stub failed in fold 2 of 3-fold: ArithmeticError: the roof fell in.\n"
        "Hint: on_error='record' (--on-error record) keeps the other folds."
    )
    assert isinstance(caught.value.__cause__, ArithmeticError)


def test_recorded_failures_keep_the_other_folds():
    splits = Splits.partition(np.arange(12) % 3)
    result = run(Stub(explode_on(4)), numbered(), splits, on_error="record")
    assert [(f.split, f.where, f.message) for f in result.failures] == [
        (1, "fold 2", "ArithmeticError: the roof fell in")
    ]
    assert result.finished.tolist() == [0, 2]
    assert result.complete
    np.testing.assert_array_equal(result.rows, [0, 3, 6, 9, 2, 5, 8, 11])
    np.testing.assert_array_equal(result.predicted, result.rows % 2)


def test_failing_everywhere_is_an_error_even_when_recorded():
    with pytest.raises(LearnerError, match="Stub failed in all 3 folds of 3-fold, first in fold 1: ArithmeticError"):
        run(Stub(explode_on(-1)), numbered(), folds(12, 3), on_error="record", plan_text="3-fold")


def test_one_class_in_the_training_rows_is_named_when_the_learner_fails():
    splits = Splits.of(12, [np.array([1, 3])], [np.arange(0, 12, 2)])
    with pytest.raises(LearnerError, match="training rows hold one class only, 0: ValueError: This solver needs"):
        run(LogisticRegression(), numbered(), splits)
    assert run(DummyClassifier(), numbered(), splits).predicted.tolist() == [0, 0]


class Odd(Stub):
    def predict(self, X):
        return self.scores(X)


@pytest.mark.parametrize(
    ("learner", "words"),
    [
        (Odd(scores=lambda X: np.full(len(X), 7)), "it predicted 7, not among the classes 0, 1"),
        (Odd(scores=lambda X: np.full(len(X), "no")), "it predicted 'no', not among the classes 0, 1"),
        (Odd(scores=lambda X: np.full(len(X), np.nan)), "it predicted nan, not among"),
        (Odd(scores=lambda X: np.zeros(len(X) - 1)), r"predictions of shape \(3,\) for 4 test rows"),
        (Scored(scores=lambda X: np.full((len(X), 2), np.nan)), "it gave NaN probabilities for 4 of 4 test rows"),
        (Scored(scores=lambda X: np.full((len(X), 2), 1.5)), "a probability of 1.5, outside 0 to 1"),
        (Scored(scores=lambda X: np.full((len(X), 2), -0.5)), "a probability of -0.5, outside 0 to 1"),
        (Scored(scores=lambda X: np.full((len(X), 3), 0.3)), r"probabilities of shape \(4, 3\) for 4 test rows"),
        (Decided(scores=lambda X: np.full(len(X), np.inf)), "infinite or NaN decision values for 4 of 4 test rows"),
        (Decided(scores=lambda X: np.zeros((len(X), 5))), r"decision values of shape \(4, 5\)"),
    ],
)
def test_answers_that_cannot_be_used_say_so(learner, words):
    with pytest.raises(LearnerError, match=words):
        run(learner, numbered(), folds(12, 3))


def test_an_error_on_training_rows_counts_too():
    class Forgetful(Stub):
        def predict(self, X):
            return super().predict(X) if len(X) == 4 else np.full(len(X), 9)

    with pytest.raises(LearnerError, match="it predicted 9"):
        run(Forgetful(), numbered(), folds(12, 3))


def test_options_and_sizes_are_checked():
    with pytest.raises(OptionError, match="on_error must be 'raise' or 'record'\\. Got 'ignore'"):
        run(Stub(), numbered(), folds(12, 3), on_error="ignore")
    with pytest.raises(OptionError, match="jobs is 0"):
        run(Stub(), numbered(), folds(12, 3), jobs=0)
    with pytest.raises(ValuesError, match="splits are of 10 rows, and the data has 12"):
        run(Stub(), numbered(), folds(10, 2))


# ---- warnings


def warn_unless(row):
    def act(X, _):
        if row in X[:, 1]:
            for _ in range(2):
                warnings.warn(f"stopped after {len(X)} rounds\nand so on", ConvergenceWarning, stacklevel=1)

    return act


def test_warnings_are_counted_over_the_folds():
    result = run(Stub(warn_unless(0)), numbered(), Splits.partition(np.arange(12) % 3))
    assert result.warnings == ("ConvergenceWarning in 2 of 3 folds: stopped after 8 rounds",)


def test_warnings_are_heard_again_in_a_second_run_and_let_through_afterwards():
    for _ in range(2):
        assert len(run(Stub(warn_unless(0)), numbered(), folds(12, 3)).warnings) == 1
    with pytest.warns(UserWarning, match="mine"):
        warnings.warn("mine", UserWarning, stacklevel=1)


# ---- stopping


def test_an_interrupt_keeps_what_is_finished():
    calls = []

    def act(*_):
        calls.append(1)
        if len(calls) == 3:
            raise KeyboardInterrupt

    learner = Stub(act)
    learner.__sklearn_clone__ = lambda: learner
    result = run(learner, numbered(), Splits.partition(np.arange(12) % 4))
    assert not result.complete
    assert result.finished.tolist() == [0, 1]
    np.testing.assert_array_equal(result.rows, [0, 4, 8, 1, 5, 9])


def test_an_interrupt_before_anything_is_finished_is_passed_on():
    def act(*_):
        raise KeyboardInterrupt

    learner = Stub(act)
    learner.__sklearn_clone__ = lambda: learner
    with pytest.raises(KeyboardInterrupt):
        run(learner, numbered(), folds(12, 4))


def test_progress_is_told_after_every_split():
    seen = []
    run(Stub(), numbered(), leave_one_out(12), progress=lambda done, total: seen.append((done, total)))
    assert seen == [(i + 1, 12) for i in range(12)]
