"""Deciding between several classes by expected cost."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import heldout
from heldout.api.evaluate import evaluate
from heldout.costs import Costs
from heldout.errors import MatrixError, OptionError, ValuesError
from heldout.thresholds import classes
from heldout.thresholds.classes import choose_cheapest, cost_of_decision

COSTS = Costs.of([[0, 1, 5], [2, 0, 1], [20, 4, 0]], ["a", "b", "c"], rows="truth")


@given(
    eighths=st.lists(st.tuples(st.integers(0, 8), st.integers(0, 8)), min_size=1, max_size=30),
    costs=st.lists(st.integers(-3, 9), min_size=9, max_size=9),
)
def test_it_is_the_least_expected_cost_and_the_first_of_equals(eighths, costs):
    whole = [(a, min(b, 8 - a), 8 - a - min(b, 8 - a)) for a, b in eighths]
    matrix = np.array(costs).reshape(3, 3)
    chosen = choose_cheapest(np.array(whole) / 8, Costs.of(matrix, range(3), rows="truth"))
    for row, code in zip(whole, chosen.tolist(), strict=True):
        expected = [sum(int(p) * int(matrix[i, j]) for i, p in enumerate(row)) for j in range(3)]
        assert code == expected.index(min(expected))


def test_symmetric_costs_answer_the_likeliest_class():
    p = np.random.default_rng(0).dirichlet(np.ones(4), 500)
    assert np.array_equal(choose_cheapest(p, Costs.of(1 - np.eye(4), range(4), rows="truth")), p.argmax(axis=1))


def test_ties_that_only_rounding_breaks_go_to_the_first():
    # 0.1 + 0.2 is not 0.3 in floats.
    p = np.array([[0.1 + 0.2, 0.3, 0.4], [0.3, 0.1 + 0.2, 0.4]])
    costs = Costs.of([[0, 1, 9], [1, 0, 9], [1, 1, 0]], range(3), rows="truth")
    assert choose_cheapest(p, costs).tolist() == [0, 0]


def test_blocks_change_nothing(monkeypatch):
    rng = np.random.default_rng(1)
    p = rng.dirichlet(np.ones(3), 200).astype(np.float32)
    truth = rng.integers(0, 3, 200)
    whole, judged = choose_cheapest(p, COSTS), cost_of_decision(p, truth, COSTS)
    monkeypatch.setattr(classes, "BLOCK", 20)
    assert np.array_equal(choose_cheapest(p, COSTS), whole)
    again = cost_of_decision(p, truth, COSTS)
    assert again.expected == pytest.approx(judged.expected)
    assert again.rows()[2]["low"] == judged.rows()[2]["low"]


def test_the_costs_of_both_ways_of_deciding():
    rng = np.random.default_rng(2)
    p = rng.dirichlet(np.ones(3), 2000)
    truth = (rng.random(2000)[:, None] > p.cumsum(axis=1)).sum(axis=1)
    answer = cost_of_decision(p, truth, COSTS)
    chosen, likeliest = choose_cheapest(p, COSTS), p.argmax(axis=1)
    matrix = COSTS.matrix
    assert [e.value for e in answer.realised] == pytest.approx(
        [matrix[truth, chosen].mean(), matrix[truth, likeliest].mean()]
    )
    assert answer.expected == pytest.approx(
        [np.einsum("ni,ni->n", p, matrix[:, codes].T).mean() for codes in (chosen, likeliest)]
    )
    assert answer.saved.value == pytest.approx(answer.realised[1].value - answer.realised[0].value)
    assert answer.changed == np.mean(chosen != likeliest)
    # The probabilities are right here, so what they promise comes true, and the interval of the saving holds it.
    assert all(e.low <= promised <= e.high for e, promised in zip(answer.realised, answer.expected, strict=True))
    assert answer.saved.low <= answer.expected[1] - answer.expected[0] <= answer.saved.high
    labels = np.array(["a", "b", "c"])
    outside = evaluate(labels[truth].tolist(), labels[chosen].tolist(), costs=COSTS)["expected_cost"]
    assert (answer.realised[0].low, answer.realised[0].high) == pytest.approx((outside.low, outside.high))
    said = " ".join(str(answer).split())
    assert "save" in said
    assert "not calibrated" not in said


def test_probabilities_that_are_wrong_are_pointed_out():
    p = np.tile([0.9, 0.05, 0.05], (300, 1))
    found = cost_of_decision(p, np.full(300, 2), COSTS)
    (note,) = found.to_dict()["notes"]
    assert note.startswith(
        "the probabilities promise 1.10 a case, and the truth made it 20.00: they are not calibrated"
    )
    assert "not calibrated" in " ".join(str(found).split())
    assert found.expected[0] == pytest.approx((p[0] @ COSTS.matrix).min())


def test_nothing_changed_is_said():
    p = np.eye(3)[[0, 1, 2, 0]]
    answer = cost_of_decision(p, [0, 1, 2, 0], COSTS)
    assert answer.changed == 0
    # Four cases say little of what a case could save or lose, which is 20 at most.
    assert answer.saved.value == 0
    assert -answer.saved.low == pytest.approx(answer.saved.high)
    assert 1 < answer.saved.high < 20
    assert "the likeliest class is the cheapest one everywhere" in " ".join(str(answer).split())


@pytest.mark.parametrize(
    ("p", "says"),
    [
        ([0.5, 0.5, 0.0], "one column per class"),
        ([["a", "b", "c"]], "one column per class"),
        ([[0.5, 0.5, 0.0], [0.7, 0.7, -0.4]], "Row 2 holds -0.4"),
        ([[0.5, np.nan, 0.5]], "Row 1 holds nan"),
        ([[0.5, 0.5, 0.0], [0.5, 0.2, 0.2]], "row 2 add up to 0.9"),
        ([[0.5, 0.5]], "2 columns of probabilities but 3 classes"),
    ],
)
def test_probabilities_that_are_refused(p, says):
    with pytest.raises(ValuesError, match=says):
        choose_cheapest(p, COSTS)


def test_other_input_that_is_refused():
    with pytest.raises(MatrixError, match="bare table"):
        choose_cheapest([[0.5, 0.5]], [[0, 1], [1, 0]])
    with pytest.raises(ValuesError, match="one code per case"):
        cost_of_decision([[0.2, 0.3, 0.5]], [0, 1], COSTS)
    with pytest.raises(OptionError, match="from 0 to 2"):
        cost_of_decision([[0.2, 0.3, 0.5]], [3], COSTS)


FLOWERS = Path(__file__).parent.parent.parent / "examples" / "iris.csv"
KINDS = ("Iris-setosa", "Iris-versicolor", "Iris-virginica")
# Taking a virginica for a versicolor is dear.
DEAR = "; ".join(f"{a},{b}:{20 if (a, b) == KINDS[:0:-1] else 1}" for a in KINDS for b in KINDS if a != b)


def test_choose_threshold_answers_the_class_of_least_expected_cost():
    flowers = pl.read_csv(FLOWERS)
    kinds = sorted(flowers["truth"].unique())
    p = flowers.select(f"p_{kind}" for kind in kinds).to_numpy()
    truth = flowers["truth"].replace_strict(kinds, range(3)).to_numpy()
    wanted = cost_of_decision(p, truth, DEAR, kinds, level=0.9)
    columns = [f"p_{kind}" for kind in reversed(kinds)]
    for found in (
        heldout.choose_threshold(FLOWERS, costs=DEAR, level=0.9),
        heldout.choose_threshold(flowers, columns, costs=DEAR, by="cost", level=0.9),
        heldout.choose_threshold(flowers["truth"], p, costs=DEAR, level=0.9),
    ):
        # One type for either answer; several classes have no threshold.
        assert isinstance(found, heldout.Decision)
        assert math.isnan(float(found))
        assert found.confusion == wanted.confusions[0]
        assert found.rows() == wanted.rows()
    assert "guessed" in str(heldout.choose_threshold(FLOWERS, costs=DEAR))


def test_a_positive_class_is_still_told_from_the_others():
    costs = {("Iris-virginica", "not Iris-virginica"): 20, ("not Iris-virginica", "Iris-virginica"): 1}
    found = heldout.choose_threshold(FLOWERS, costs=costs, positive="Iris-virginica")
    assert isinstance(found, heldout.ThresholdDecision)
    assert found.positive == "Iris-virginica"


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"costs": DEAR, "honest": True}, "honest"),
        ({"costs": DEAR, "require": "recall >= 0.9"}, "require"),
        ({"costs": DEAR, "by": "f1"}, "and there are 3"),
        ({"by": "youden"}, "and there are 3"),
        ({"costs": DEAR.replace("setosa", "sertosa")}, "sertosa"),
    ],
)
def test_what_needs_a_threshold_is_refused(options, says):
    with pytest.raises((OptionError, MatrixError), match=says):
        heldout.choose_threshold(FLOWERS, **options)


def test_missing_rows_are_told():
    flowers = pl.read_csv(FLOWERS).with_columns(
        pl.when(pl.int_range(pl.len()) == 3).then(None).otherwise(pl.col("truth")).alias("truth")
    )
    found = heldout.choose_threshold(flowers, costs=DEAR, missing="drop")
    assert isinstance(found, classes.CostOfDecision)
    assert found.n == 149
    assert any("1 of 150" in note for note in found.notes), found.notes
