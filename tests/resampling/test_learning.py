"""Learning curves: sets that grow as promised, a learner whose law is known, and what the curve says."""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.datasets import load_iris
from sklearn.dummy import DummyClassifier
from sklearn.linear_model import RidgeClassifier
from sklearn.metrics import accuracy_score, f1_score, log_loss, matthews_corrcoef, recall_score, roc_auc_score
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier

from heldout import learning_curve
from heldout.errors import HeldoutError, LabelError, OptionError, ValuesError
from heldout.intervals.proportion import wilson_at
from heldout.intervals.quantiles import z_value
from heldout.learners.problem import Problem
from heldout.report.learning_curve import draw_learning_curve
from heldout.resampling.learning_curve import draw_training_sets, learn, verdict
from heldout.resampling.power_law import fit_power_law
from heldout.result import ROW_KEYS

FLOOR, SCALE, EXPONENT = 0.05, 1.0, 0.5
FLOWERS = load_iris()
IRIS = Problem(FLOWERS.data, FLOWERS.target, FLOWERS.target.astype(np.int64), (0, 1, 2))


class KnownLaw(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Knows the truth (its first feature), and errs with probability floor + scale · m^−exponent after m rows."""

    def __init__(self, floor=FLOOR, scale=SCALE, exponent=EXPONENT):
        self.floor = floor
        self.scale = scale
        self.exponent = exponent

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        self.error_ = self.floor + self.scale * len(X) ** -self.exponent
        self.seed_ = [len(X), int(X[:, 1].sum())]
        return self

    def predict(self, X):
        truth = X[:, 0].astype(np.int64)
        wrong = np.random.default_rng([*self.seed_, int(X[:, 1].sum())]).random(len(X)) < self.error_
        return np.where(wrong, 1 - truth, truth)


def known(n=3000):
    truth = np.arange(n) % 2
    return Problem(np.column_stack([truth, np.arange(n)]).astype(float), truth, truth, (0, 1))


def problem_of(truth, group=None):
    truth = np.asarray(truth)
    return Problem(np.zeros((len(truth), 1)), truth, truth, tuple(range(truth.max() + 1)), group=group)


@given(st.lists(st.integers(2, 40), min_size=2, max_size=5), st.floats(0.1, 0.6), st.integers(0, 99))
@settings(max_examples=60)
def test_sets_grow_nested_and_stratified(held, test, seed):
    truth = np.repeat(np.arange(len(held)), held)
    made = draw_training_sets(problem_of(truth), draws=2, test=test, seed=seed)
    assert list(made.sizes) == sorted(set(made.sizes))
    for draw in range(2):
        before: set[int] = set()
        for place, size in enumerate(made.sizes):
            at = draw * len(made.sizes) + place
            train, tested = made.splits.train(at), made.splits.test(at)
            assert len(train) == len(set(train)) == size
            assert before <= set(train)
            assert not set(train) & set(tested)
            assert np.array_equal(tested, made.splits.test(draw * len(made.sizes)))
            assert set(truth[train]) == set(truth[tested]) == set(range(len(held)))
            before = set(train)
        # The largest set is all that is not tested, and the test part has its share of every class.
        assert len(before) + len(tested) == len(truth)
        share = np.bincount(truth[tested]) - np.array(held) * test
        assert (np.abs(share) <= 1).all()


def test_every_set_has_the_classes_in_proportion():
    truth = np.repeat([0, 1, 2], [600, 250, 50])
    made = draw_training_sets(problem_of(truth), draws=3)
    for train, _ in made.splits:
        expected = np.array([600, 250, 50]) / 900 * len(train)
        # Two rows of each class come first, so a rare class may be a little early.
        assert (np.abs(np.bincount(truth[train]) - expected) <= 2.5).all()


def test_a_rare_class_is_in_the_smallest_set_twice():
    truth = np.repeat([0, 1], [300, 6])
    made = draw_training_sets(problem_of(truth), draws=3)
    assert made.sizes[0] == 10
    assert all((np.bincount(truth[train]) >= 2).all() for train, _ in made.splits)


@given(st.integers(4, 20), st.integers(0, 99))
@settings(max_examples=40)
def test_whole_groups_are_tested_and_sets_grow_group_by_group(groups, seed):
    rng = np.random.default_rng(seed)
    group = rng.permutation(np.repeat(np.arange(groups), rng.integers(2, 12, groups)))
    truth = rng.integers(0, 2, len(group))
    for number in range(groups):  # every group has both classes
        truth[np.flatnonzero(group == number)[:2]] = 0, 1
    made = draw_training_sets(problem_of(truth, group), draws=3, seed=seed)
    for train, test in made.splits:
        assert not set(group[train]) & set(group[test])
        assert set(truth[train]) == {0, 1}
        _, times = np.unique(group[train], return_counts=True)
        cut = sum(count < (group == number).sum() for number, count in zip(np.unique(group[train]), times, strict=True))
        assert cut <= 1


@pytest.mark.parametrize(
    ("sizes", "points", "expected"),
    [
        ("geometric", 4, (25, 50, 100, 200)),
        ("arithmetic", 4, (50, 100, 150, 200)),
        ([0.1, 0.5, 1.0], 8, (20, 100, 200)),
        ([200, 50], 8, (50, 200)),
        ([50, 0.5], 8, (50, 100)),
    ],
)
def test_sizes_are_those_asked_for(sizes, points, expected):
    assert draw_training_sets(problem_of(np.arange(300) % 2), sizes=sizes, points=points).sizes == expected


def test_a_learner_that_follows_a_law_is_seen_to_follow_it():
    curve = learn(KnownLaw(), known(), name="known")
    law = curve.law
    assert curve.sizes[-1] == 2000
    for figure, truth in ((law.floor, FLOOR), (law.scale, SCALE), (law.exponent, EXPONENT)):
        assert figure.low <= truth <= figure.high
    assert law.exponent.high - law.exponent.low < 0.5
    rows = (SCALE / (SCALE * 3000**-EXPONENT - 0.005)) ** (1 / EXPONENT) - 3000
    found = law.rows_for(0.005)
    assert found.low <= rows <= found.high
    expected = FLOOR + SCALE * np.array(curve.sizes, dtype=float) ** -EXPONENT
    assert curve.mean("test") == pytest.approx(expected, abs=0.02)
    assert ((curve.low <= expected) & (expected <= curve.high)).all()


def test_a_learner_that_learns_nothing_has_a_flat_curve():
    curve = learn(KnownLaw(scale=0.0, floor=0.3), known(1500), name="flat")
    assert curve.law.shape == "flat"
    assert curve.verdict.startswith("More data will hardly help: from")
    assert any("flat within its noise" in note for note in curve.notes)


def test_the_interval_is_wilsons_for_fewer_cases_than_were_tested():
    curve = learn(GaussianNB(), IRIS, name="naive-bayes", points=4, draws=5)
    for at, value in enumerate(curve.mean("test")):
        low, high = wilson_at(value, curve.n[at] / 1.2, z_value(0.95))
        assert (curve.low[at], curve.high[at]) == (pytest.approx(low), pytest.approx(high))
    tested = {row for _, test in draw_training_sets(IRIS, points=4, draws=5).splits for row in test.tolist()}
    assert set(curve.n) == {len(tested)}


def test_rows_wrong_together_widen_the_interval():
    group = np.arange(150) // 5
    grouped = Problem(IRIS.features, IRIS.target, IRIS.truth, (0, 1, 2), group=group)
    curve = learn(GaussianNB(), grouped, name="naive-bayes", points=4)
    assert curve.method == "wilson over groups"
    for at, value in enumerate(curve.mean("test")):
        low, high = wilson_at(value, curve.n[at] / 1.2, z_value(0.95))
        assert curve.low[at] <= low <= high <= curve.high[at]


def test_training_error_is_that_of_the_training_rows():
    curve = learn(KNeighborsClassifier(1), IRIS, name="knn:1", points=4)
    # No two rows of iris with the same features have different classes.
    assert (curve.mean("training") == 0).all()
    assert (curve.spread("training") == 0).all()


def test_rows_bind_with_those_of_other_results():
    curve = learn(GaussianNB(), IRIS, name="naive-bayes", points=3, draws=4)
    rows = curve.rows()
    assert len(rows) == 2 * len(curve.sizes)
    assert all(tuple(row)[: len(ROW_KEYS)] == ROW_KEYS for row in rows)
    last = rows[-1]
    assert (last["measure"], last["part"], last["size"], last["draws"]) == ("error_rate", "test", 100, 4)
    assert last["above_largest"] == 0
    assert last["spread"] == pytest.approx(curve.test[:, -1].std(ddof=1))
    assert {row["method"] for row in rows if row["part"] == "training"} == {"spread over draws"}
    assert json.loads(curve.to_json(), parse_constant=pytest.fail) == curve.to_dict()
    assert curve.to_dict()["schema"] == "heldout/learning-curve@1"
    assert curve.to_frame().height == len(rows)


def test_the_page_says_what_the_figures_mean():
    text = str(learn(KnownLaw(), known(600), name="known"))
    for words in ("Learning curve of known", "data would help", "exponent", "gap", "no standard error"):
        assert words in text


def test_the_chart_has_both_bands_and_the_law_ahead(tmp_path):
    curve = learn(KnownLaw(), known(900), name="known")
    spec = curve.chart().to_dict()
    marks = [layer["mark"]["type"] for layer in spec["layer"]]
    assert marks.count("area") == 3
    law = next(stroke for stroke in draw_learning_curve(curve).strokes if stroke.dashed)
    # The sizes multiply, so they stand on a logarithmic axis.
    assert 10 ** min(law.x) == pytest.approx(curve.sizes[-1])
    assert 10 ** max(law.x) == pytest.approx(1800)
    svg = curve.save(tmp_path / "curve.svg").read_text(encoding="utf-8")
    assert "Rows in the training set" in svg
    assert "training error" in svg
    assert curve.save(tmp_path / "curve.png").read_bytes().startswith(b"\x89PNG")


def test_a_flat_or_short_curve_is_drawn_all_the_same(tmp_path):
    for curve in (
        learn(DummyClassifier(), IRIS, name="majority", draws=2),
        learn(GaussianNB(), IRIS, name="naive-bayes", sizes=[20, 100], draws=1),
    ):
        assert "<svg" in curve.save(tmp_path / "curve.svg").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("errors", "words"),
    [
        ([0.6, 0.35, 0.225, 0.1625], "More data would help: about 15 more rows for one point less error"),
        ([0.105, 0.1025, 0.10125, 0.100625], "More data will hardly help: the curve levels off at .100"),
        (
            [0.35, 0.30, 0.275, 0.2625],
            "More data will hardly help: one point less error would take about 320 more rows",
        ),
        ([0.10, 0.05, 0.025, 0.0125], "More data would help: about 80 more rows for half the error"),
        ([0.1, 0.2, 0.3, 0.4], "More data does not help here"),
        ([0.1, 0.1, 0.1, 0.1], "More data will hardly help: from 10 to 80 rows"),
    ],
)
def test_the_verdict_says_what_the_law_says(errors, words):
    assert verdict(fit_power_law([10, 20, 40, 80], [errors]), (10, 20, 40, 80)).startswith(words)


def test_too_few_sizes_are_said_so():
    curve = learn(GaussianNB(), IRIS, name="naive-bayes", sizes=[50, 100], draws=3)
    assert curve.verdict == (
        "Whether more data would help cannot be told: the law has three parameters, and there are only 2 sizes."
    )
    assert math.isnan(curve.law.exponent.value)


def test_the_same_seed_gives_the_same_curve():
    one, two, three = (learn(GaussianNB(), IRIS, name="nb", draws=3, seed=seed).to_json() for seed in (1, 1, 2))
    assert one == two != three


def test_sizes_at_which_a_learner_fails_can_be_recorded():
    with pytest.raises(HeldoutError):
        learn(KNeighborsClassifier(15), IRIS, name="knn:15", draws=2)
    curve = learn(KNeighborsClassifier(15), IRIS, name="knn:15", draws=2, on_error="record")
    assert np.isnan(curve.mean("test")[0])
    assert np.isfinite(curve.mean("test")[-1])
    assert curve.law.begins >= 15 or math.isnan(curve.law.begins)
    assert any("models failed" in note for note in curve.notes)
    assert "–" in str(curve)
    assert json.loads(curve.to_json(), parse_constant=pytest.fail) == curve.to_dict()


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"sizes": "geometrical"}, "no spacing 'geometrical'"),
        ({"sizes": []}, "list of sizes is empty"),
        ({"sizes": [50, 101]}, "training part has 100 rows, and a training set of 101"),
        ({"sizes": [2, 100]}, "it takes 3 to hold every class"),
        ({"sizes": [10.5]}, "whole number of rows"),
        ({"sizes": [-3]}, "number of rows or a share"),
        ({"sizes": [True]}, "number of rows or a share"),
        ({"test": 1.0}, "share between 0 and 1"),
        ({"test": "third"}, "share between 0 and 1"),
        ({"points": 1}, "points must be a whole number from 2 up"),
        ({"draws": 0}, "draws must be a whole number from 1 up"),
        ({"level": 95}, "level must lie between 0 and 1"),
    ],
)
def test_wrong_options_are_named(options, words):
    with pytest.raises((OptionError, ValuesError), match=words):
        learn(GaussianNB(), IRIS, name="naive-bayes", **options)


def test_classes_that_cannot_be_trained_and_tested_are_named():
    with pytest.raises(LabelError, match=r"only one row: 2 \(1\)"):
        learn(GaussianNB(), problem_of([0] * 10 + [1] * 10 + [2]), name="nb")
    with pytest.raises(LabelError, match="at least two classes, and here is only 0"):
        learn(GaussianNB(), problem_of([0] * 10), name="nb")
    # One class fills the only other group.
    with pytest.raises(ValuesError, match="2 groups cannot be divided"):
        learn(GaussianNB(), problem_of([0] * 10 + [1] * 10, np.repeat([0, 1], 10)), name="nb")


def test_a_law_that_may_fall_on_or_level_off_at_once_cannot_tell():
    sizes = (10, 14, 20, 28, 40)
    rng = np.random.default_rng(3)
    # Error .1 + .5 / size^.5, with the noise of a few dozen test rows.
    errors = 0.1 + 0.5 / np.sqrt(sizes) + rng.normal(0, 0.05, (10, len(sizes)))
    law = fit_power_law(sizes, errors, present=60)
    rows = law.rows_for(0.01)
    assert law.shape == "falling"
    assert rows.low < 3 * 60
    assert math.isinf(rows.high)
    said = verdict(law, sizes)
    assert said.startswith("Whether more data would help cannot be told: ")
    assert "∞" not in said
    assert "levels off" not in said


def test_a_law_that_is_known_still_says_how_many_rows():
    sizes = (10, 20, 40, 80, 160, 320)
    errors = 0.02 + 1.2 / np.sqrt(sizes) + np.random.default_rng(3).normal(0, 0.002, (10, len(sizes)))
    law = fit_power_law(sizes, errors, present=320)
    assert math.isfinite(law.rows_for(0.01).high)
    assert verdict(law, sizes).startswith("More data would help: about")


# What a curve shows may be any measure; scikit-learn makes it here from models that are fitted once more.


SETTINGS: dict[str, Any] = {"points": 3, "draws": 4, "seed": 5}
EITHER = FLOWERS.target != 0
SCIKIT_LEARN: dict[str, Any] = {
    "macro f1": lambda truth, model, X: f1_score(truth, model.predict(X), average="macro"),
    "recall[2]": lambda truth, model, X: recall_score(truth, model.predict(X), labels=[2], average="macro"),
    "matthews": lambda truth, model, X: matthews_corrcoef(truth, model.predict(X)),
    "accuracy": lambda truth, model, X: accuracy_score(truth, model.predict(X)),
    "roc_auc": lambda truth, model, X: roc_auc_score(truth == 2, model.predict_proba(X)[:, 1]),
    "log_loss": lambda truth, model, X: log_loss(truth, model.predict_proba(X)),
}


@pytest.mark.parametrize("measure", SCIKIT_LEARN)
def test_every_draw_has_the_value_that_scikit_learn_finds(measure):
    X, y = FLOWERS.data[EITHER], FLOWERS.target[EITHER]
    curve = learning_curve(GaussianNB(), X, y, measure=measure, positive=2, **SETTINGS)
    sets = draw_training_sets(Problem(X, y, y - 1, (1, 2)), **SETTINGS)
    assert curve.sizes == sets.sizes
    shown = curve.shown
    for at in range(len(sets.splits)):
        place = divmod(at, len(sets.sizes))
        train, test = sets.splits.train(at), sets.splits.test(at)
        model = GaussianNB().fit(X[train], y[train])
        found = SCIKIT_LEARN[measure](y[test], model, X[test])
        assert shown.test[place] == pytest.approx(found)
        if measure in ("roc_auc", "log_loss"):
            assert np.isnan(shown.training[place])
        else:
            assert shown.training[place] == pytest.approx(SCIKIT_LEARN[measure](y[train], model, X[train]))
    rows: list[Any] = [row for row in curve.rows() if row["part"] == "test"]
    assert [row["value"] for row in rows] == [estimate.value for estimate in shown.estimates]
    assert all(row["low"] <= row["value"] <= row["high"] for row in rows)
    assert all(shown.test[:, at].min() <= row["value"] <= shown.test[:, at].max() for at, row in enumerate(rows))


def test_accuracy_is_one_less_the_error_and_leaves_the_verdict_alone():
    error, accuracy = (learning_curve(KnownLaw(), *as_given(), measure=name, **SETTINGS) for name in ("error", "ACC"))
    pairs: list[Any] = list(zip(error.rows(), accuracy.rows(), strict=True))
    for one, other in pairs:
        assert (one["measure"], other["measure"]) == ("error_rate", "accuracy")
        assert other["value"] == pytest.approx(1 - one["value"])
        if one["part"] == "test":
            assert (other["low"], other["high"]) == (pytest.approx(1 - one["high"]), pytest.approx(1 - one["low"]))
    assert accuracy.verdict == error.verdict
    assert accuracy.review.findings == error.review.findings
    assert accuracy.law.floor.value == error.law.floor.value
    assert "test accuracy" in str(accuracy)
    assert "below" in str(accuracy)
    assert "The verdict and the law are of the error." in " ".join(str(accuracy).split())
    assert "test error" in str(error)


def as_given():
    problem = known()
    return problem.features, problem.truth


def test_the_law_is_drawn_turned_for_accuracy_and_not_at_all_for_others():
    error, accuracy, other = (
        draw_learning_curve(learning_curve(KnownLaw(), *as_given(), measure=name, draws=6))
        for name in ("error_rate", "accuracy", "macro f1")
    )
    laws = [[stroke for stroke in chart.strokes if stroke.dashed] for chart in (error, accuracy, other)]
    assert [len(law) for law in laws] == [1, 1, 0]
    assert laws[1][0].y == pytest.approx([1 - y for y in laws[0][0].y])
    assert [chart.y.title for chart in (error, accuracy, other)] == ["Error rate", "Accuracy", "Macro F1"]
    assert all(accuracy.y.low <= y <= accuracy.y.high for stroke in accuracy.strokes for y in stroke.y)


@pytest.mark.parametrize(
    ("learner", "measure", "what"),
    [
        (KNeighborsClassifier(), "acuracy", "There is no measure 'acuracy'"),
        (KNeighborsClassifier(), "f1", "f1 is a measure of one class, and none was named"),
        (KNeighborsClassifier(), "recall[9]", "9"),
        (KNeighborsClassifier(), ["accuracy"], "A measure is asked for by its name"),
        (KNeighborsClassifier(), "expected_cost", "needs costs, which a learning curve does not take"),
        (RidgeClassifier(), "brier", "brier is a measure of probabilities, and RidgeClassifier gives none"),
        (KnownLaw(), "roc_auc", "roc_auc is a measure of scores, and KnownLaw gives none"),
    ],
)
def test_a_measure_that_cannot_be_shown_is_refused_in_two_sentences(learner, measure, what):
    data = as_given() if isinstance(learner, KnownLaw) else (FLOWERS.data, FLOWERS.target)
    with pytest.raises(OptionError) as caught:
        learning_curve(learner, *data, measure=measure, points=2, draws=2)
    assert what in caught.value.what
    assert caught.value.hint


def test_sizes_without_a_model_have_no_value_of_any_measure():
    # Every model of the smallest size fails.
    curve = learning_curve(
        FailsWhenSmall(), FLOWERS.data, FLOWERS.target, sizes=[12, 60], draws=3, measure="macro f1", on_error="record"
    )
    rows: list[Any] = curve.rows()
    assert [math.isnan(row["value"]) for row in rows] == [True, False, True, False]
    assert "macro f1 has no value at 12 rows: no model of this size was trained." in curve.notes
    assert json.loads(curve.to_json())["points"][0]["value"] is None
    assert "Learning curve" in str(curve)


class FailsWhenSmall(GaussianNB):  # type: ignore[misc]
    """Refuses to learn from fewer than twenty rows."""

    def fit(self, X, y):
        if len(X) < 20:
            raise ValueError("too few rows")
        return super().fit(X, y)
