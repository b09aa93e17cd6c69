"""Naive Bayes as Weka makes it, by hand: the precision, the moments, the counts, gaps, and classes without a case."""

from __future__ import annotations

import math
import pickle
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.utils import get_tags

from heldout import bias_variance, card, learning_curve, validate
from heldout.errors import LearnerError
from heldout.learners.data import read_problem
from heldout.learners.encoding import prepare_learner
from heldout.learners.learner import clone_learner, read_learner
from heldout.learners.weka_naive_bayes import SMALLEST, WekaNaiveBayes, find_precision

GLASS = """@relation panes
@attribute thickness numeric
@attribute colour {red, green, blue}
@attribute class {float, tableware, lamp}
@data
1, red, float
2, red, float
3, ?, float
?, green, float
7, green, lamp
8, blue, lamp
9, green, lamp
9, blue, lamp
"""


def normal(z: float) -> float:
    return math.erfc(-z / math.sqrt(2)) / 2


def density(value: float, values: list[float], precision: float) -> float:
    """The factor of one value, from rounded values of a class, one step after the other."""
    rounded = [round(one / precision) * precision for one in values]
    mean = sum(rounded) / len(rounded) if rounded else 0.0
    variance = sum((one - mean) ** 2 for one in rounded) / len(rounded) if rounded else 0.0
    deviation = max(math.sqrt(variance), precision / 6)
    at = round(value / precision) * precision
    inside = normal((at + precision / 2 - mean) / deviation) - normal((at - precision / 2 - mean) / deviation)
    return max(inside / precision, SMALLEST)


def shares(factors: list[float]) -> list[float]:
    return [factor / sum(factors) for factor in factors]


def made(text: str, tmp_path):
    path = tmp_path / "panes.arff"
    path.write_text(text, encoding="utf-8")
    problem = read_problem(path)
    return path, problem, prepare_learner(read_learner("weka-naive-bayes"), problem)


def test_the_precision_is_the_mean_step_between_distinct_values():
    assert find_precision(np.array([3.0, 1.0, 1.0, 9.0])) == 4
    assert find_precision(np.array([2.5])) == find_precision(np.array([])) == 0.01


def test_the_probability_of_a_number_is_that_of_its_rounded_interval():
    values = {"a": [1.0, 2.0, 2.3], "b": [7.0, 8.0, 9.5]}
    X = np.array([[value] for part in values.values() for value in part])
    model = WekaNaiveBayes().fit(X, np.repeat(["a", "b"], 3))
    precision = (9.5 - 1) / 5
    for asked in (0.4, 4.1, 6.0):
        wanted = shares([density(asked, part, precision) for part in values.values()])
        assert model.predict_proba(np.array([[asked]]))[0] == pytest.approx(wanted, rel=1e-12)


def test_a_column_that_is_constant_within_a_class_has_a_sixth_of_the_precision_as_deviation():
    X = np.array([[5.0], [5.0], [5.0], [9.0], [11.0]])
    model = WekaNaiveBayes().fit(X, np.array([0, 0, 0, 1, 1]))
    assert model.precision_.tolist() == [3]
    # 5 is rounded to 6, and 9 and 11 to 9 and 12.
    assert model.theta_.tolist() == [[6], [10.5]]
    assert model.deviation_.tolist() == [[0.5], [1.5]]


def test_a_column_that_is_constant_everywhere_has_a_precision_of_a_hundredth():
    model = WekaNaiveBayes().fit(np.full((4, 1), 5.0), np.array([0, 0, 0, 1]))
    assert model.precision_.tolist() == [0.01]
    assert model.deviation_.ravel() == pytest.approx([0.01 / 6] * 2)
    assert model.predict_proba(np.full((1, 1), 5.0))[0] == pytest.approx([4 / 6, 2 / 6])


def test_categories_and_classes_are_counted_from_one_and_gaps_are_skipped(tmp_path):
    _, problem, model = made(GLASS, tmp_path)
    model.fit(problem.features, problem.target)
    # Of the class that has no case nothing is known but that it may come.
    assert model.classes_.tolist() == ["float", "tableware", "lamp"]
    assert model.class_prior_ == pytest.approx(np.array([5, 1, 5]) / 11)
    assert model.shares_[1] == pytest.approx(np.array([[3 / 6, 2 / 6, 1 / 6], [1 / 3] * 3, [1 / 7, 3 / 7, 3 / 7]]))
    precision = (9 - 1) / 5
    numbers = {"float": [1.0, 2.0, 3.0], "tableware": [], "lamp": [7.0, 8.0, 9.0, 9.0]}
    factors = [density(2.0, values, precision) for values in numbers.values()]
    asked = np.array([[2.0, 0.0], [np.nan, 2.0], [2.0, np.nan], [np.nan, np.nan]])
    prior, red, blue = (5, 1, 5), (3 / 6, 1 / 3, 1 / 7), (1 / 6, 1 / 3, 3 / 7)
    wanted = [
        shares([p * c * f for p, c, f in zip(prior, red, factors, strict=True)]),
        shares([p * c for p, c in zip(prior, blue, strict=True)]),
        shares([p * f for p, f in zip(prior, factors, strict=True)]),
        shares(list(prior)),
    ]
    assert model.predict_proba(asked) == pytest.approx(np.array(wanted), rel=1e-12)


def test_a_class_that_no_row_has_keeps_its_place_in_a_validation(tmp_path):
    path, _, _ = made(GLASS, tmp_path)
    found: Any = validate("weka-naive-bayes", path, plan="2-fold")
    assert found.confusion.labels == ("float", "tableware", "lamp")
    rows = found.prediction_rows()
    assert all(row["p_tableware"] > 0 for row in rows)
    assert all(sum(row[f"p_{label}"] for label in found.confusion.labels) == pytest.approx(1) for row in rows)


def test_a_class_that_a_training_part_lacks_has_the_probability_that_weka_gives_it():
    # Leaving out the only case of "c" leaves (0 + 1) / (6 + 3) of the prior, and a normal distribution around 0.
    X, y = [[1.0], [2.0], [3.0], [7.0], [8.0], [9.0], [0.0]], list("aaabbbc")
    found: Any = validate("weka-naive-bayes", X, y, plan="loo")
    last = found.prediction_rows()[-1]
    precision = (9 - 1) / 5
    factors = [density(0.0, values, precision) for values in ([1.0, 2, 3], [7.0, 8, 9], [])]
    wanted = shares([p * f for p, f in zip((4, 4, 1), factors, strict=True)])
    assert [last[f"p_{label}"] for label in "abc"] == pytest.approx(wanted, rel=1e-9)
    assert last["predicted"] == "c"


def test_of_equally_probable_classes_the_first_in_the_order_of_the_file_is_predicted(tmp_path):
    text = GLASS.replace("{float, tableware, lamp}", "{lamp, tableware, float}")
    for order, first in ((GLASS, "float"), (text, "lamp")):
        _, problem, model = made(order, tmp_path)
        model.fit(problem.features, problem.target)
        assert model.predict(np.full((1, 2), np.nan)).tolist() == [first]


def test_factors_that_vanish_leave_probabilities_and_no_zeros():
    # Each of 40 columns is far from both classes: the product of the factors alone would be 1e-3000.
    X = np.repeat([[0.0], [0.1], [1.0], [1.1]], 40, axis=1)
    model = WekaNaiveBayes().fit(X, np.array([0, 0, 1, 1]))
    found = model.predict_proba(np.full((1, 40), 1e6))
    assert found[0] == pytest.approx([0.5, 0.5])
    near = model.predict_proba(np.array([[1e6] * 39 + [1.05]]))
    assert near[0, 1] > 0.99


@pytest.mark.parametrize("column", [[-1.7e308, 1.7e308, 1e308, 0.0], [0.0, 5e-324, 0.0, 5e-324]])
def test_numbers_whose_steps_are_beyond_floating_point_are_refused_in_words(column):
    # Weka stops there too.
    X, y = np.array(column * 3).reshape(-1, 1), ["a", "b", "a", "b"] * 3
    with pytest.raises(LearnerError, match="it gave NaN probabilities for 4 of 4 test rows"):
        validate("weka-naive-bayes", X, y, plan="3-fold")


def test_squares_beyond_floating_point_leave_the_least_deviation():
    model = WekaNaiveBayes().fit(np.array([[1e200], [3e200], [0.0], [0.0]]), np.array([0, 0, 1, 1]))
    assert model.deviation_.ravel() == pytest.approx([1.5e200 / 6] * 2)
    # A density of 1e-200 is below the smallest factor, in either class.
    assert model.predict_proba(np.array([[2.5e200], [0.0]])).tolist() == [[0.5, 0.5]] * 2


def test_it_is_what_scikit_learn_calls_a_classifier_that_takes_gaps():
    tags = get_tags(WekaNaiveBayes())
    assert (tags.estimator_type, tags.input_tags.allow_nan) == ("classifier", True)
    model = WekaNaiveBayes(classes=("b", "a"), categories={0: 2})
    for copied in (clone(model), clone_learner(model), pickle.loads(pickle.dumps(model))):
        assert copied.get_params() == {"classes": ("b", "a"), "categories": {0: 2}}


def test_a_sparse_matrix_is_taken_as_the_numbers_it_stands_for():
    X, y = np.array([[0.0, 1], [0, 2], [3, 0], [4, 0]]), np.array([0, 0, 1, 1])
    dense, sparse = WekaNaiveBayes().fit(X, y), WekaNaiveBayes().fit(sp.csr_matrix(X), y)
    assert sparse.predict_proba(sp.csr_matrix(X)) == pytest.approx(dense.predict_proba(X))


def test_every_door_that_takes_a_learner_takes_this_one(tmp_path):
    path = tmp_path / "rows.arff"
    body = GLASS.partition("@data\n")
    path.write_text(body[0] + body[1] + body[2] * 8, encoding="utf-8")
    assert learning_curve("weka-naive-bayes", path, points=3, draws=3).sizes
    assert bias_variance("weka-naive-bayes", path, rounds=10)["error_rate"] < 0.2
    assert "WekaNaiveBayes" in str(card("weka-naive-bayes", path, plan="2-fold", timing=False).to_json())
