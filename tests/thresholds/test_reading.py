"""How a decision reads and is stored."""

from __future__ import annotations

import json
import math
import re

import numpy as np
import pytest

from heldout.engines.score_sort import rank
from heldout.errors import OptionError
from heldout.result import ROW_KEYS
from heldout.thresholds.requirement import read_all
from heldout.thresholds.selection import choose, choose_rows

RNG = np.random.default_rng(7)
POSITIVE = RNG.random(400) < 0.25
SCORES = 1 / (1 + np.exp(-(RNG.standard_normal(400) + 2 * POSITIVE - 1.5)))
COSTS = {("yes", "no"): 10, ("no", "yes"): 1}


@pytest.fixture(scope="module")
def decision():
    return choose_rows(SCORES, POSITIVE, by="cost", costs=COSTS, positive="yes", honest=True, current=0.4)


def test_the_answer_stands_first(decision):
    assert str(decision).startswith(f'Answer "yes" when score >= {decision.threshold:.6g}\n400 cases · "yes": ')
    said = " ".join(str(decision).split())
    assert 'Chosen for the least expected cost (a missed "yes" costs 10, a false alarm 1).' in said
    assert "Judged on cases that had no part in the choice it is" in said
    for name in ("always yes", "always no", "threshold 0.5", "the current threshold"):
        assert name in said


def test_the_optimism_is_always_warned_of(decision):
    assert "figures judged by cross-fitting (10 folds) are not" in decision.warnings[0]
    plain = choose_rows(SCORES, POSITIVE, by="f1")
    assert plain.warnings[0].startswith("The threshold was chosen on these cases")
    assert "honest=True" in plain.warnings[0]
    assert plain.optimism > 0
    assert plain.corrected == pytest.approx(plain.criterion.value - plain.optimism)


def test_the_rows_bind_and_the_document_is_json(decision):
    rows = decision.rows()
    assert all(tuple(row)[: len(ROW_KEYS)] == ROW_KEYS for row in rows)
    assert [row["role"] for row in rows[:3]] == ["threshold", "criterion", "honest"]
    document = json.loads(decision.to_json())
    assert document["schema"] == "heldout/decision@1"
    assert document["threshold"] == decision.threshold
    assert document["confusion"]["matrix"] == decision.confusion.matrix.tolist()
    assert document["honest"]["folds"] == 10
    roles = {row["role"]: row for row in document["estimates"]}
    assert roles["always no"]["threshold"] == "Infinity"
    frame = decision.to_frame()
    assert frame.height == len(rows)
    assert decision.to_markdown()
    assert decision.to_latex()
    assert decision.to_html()


def test_every_measure_stands_at_the_threshold(decision):
    seen = {estimate.measure: estimate for estimate in decision.estimates}
    called = decision.threshold <= SCORES
    assert seen["recall"].value == pytest.approx(called[POSITIVE].mean())
    assert seen["precision"].value == pytest.approx(POSITIVE[called].mean())
    assert seen["total_cost"].value == (10 * (POSITIVE & ~called) + (~POSITIVE & called)).sum()
    assert seen["recall"].method == "wilson"
    assert decision["recall"].low == seen["recall"].low
    assert float(decision) == decision.threshold


def test_at_another_prevalence_the_costs_have_no_total():
    shifted = choose_rows(SCORES, POSITIVE, by="cost", costs=COSTS, positive="yes", prevalence=0.02)
    names = [estimate.measure for estimate in shifted.estimates]
    assert "expected_cost" in names
    assert "total_cost" not in names
    assert "where 2 % of the cases are positive" in shifted.rule
    assert shifted["precision"].low < shifted["precision"].value < shifted["precision"].high
    assert shifted["recall"].method == "wilson"


def test_scores_of_no_use_are_said_to_be():
    seen = rank(np.array([0.9, 0.5, 0.1]), np.array([False, True, False]))
    never = choose(seen, by="cost", costs={(1, 0): 1, (0, 1): 100})
    assert math.isinf(never.threshold)
    assert str(never).startswith('Never predict "1"')
    assert any("predict no for every case" in warning for warning in never.warnings)
    always = choose(seen, by="cost", costs={(1, 0): 100, (0, 1): 1})
    assert always.threshold == 0.5
    both = choose(seen, by="recall", require="false_negative_rate <= 0, specificity <= 0")
    assert any("predict yes for every case" in warning for warning in both.warnings)


def test_few_errors_are_warned_of_where_the_interval_is_a_bootstrap():
    seen = choose_rows(np.arange(40.0), np.arange(40) > 19, by="accuracy", require="recall >= 0.5")
    assert any("0 missed positives and 0 false alarms" in warning for warning in seen.warnings)
    for decision in (
        choose_rows(SCORES, POSITIVE, by="f1", require="recall >= 0.5"),
        choose_rows(np.arange(40.0), np.arange(40) > 19, by="accuracy"),
    ):
        assert not any("missed positive" in warning for warning in decision.warnings)


def row_of(text: str, name: str) -> tuple[float, float, float]:
    """Value and limits in the line of a table."""
    (line,) = [line for line in text.splitlines() if line.startswith(name)]
    value, low, high = re.findall(r"\d+\.\d+", line)
    return float(value), float(low), float(high)


def test_the_total_cost_is_so_many_times_the_expected_cost_limits_included(decision):
    expected, total = row_of(str(decision), "expected cost"), row_of(str(decision), "total cost")
    assert expected[2] == pytest.approx(decision.criterion.high, rel=1e-2)
    assert total == pytest.approx([400 * figure for figure in expected], rel=1e-2)


def test_what_was_optimised_has_a_second_interval_and_it_says_which_it_is(decision):
    rows = [row for row in decision.rows() if row["measure"] == "expected_cost"]
    chosen, given = (next(row for row in rows if row["role"] == role) for role in ("criterion", "at threshold"))
    assert given["high"] < chosen["high"]
    assert "as if the threshold had been given" in given["note"]
    assert not decision["recall"].note


def test_an_alternative_that_misses_a_requirement_may_be_better_and_that_is_said_in_words():
    text = str(choose_rows(SCORES, POSITIVE, by="accuracy", require="recall >= 0.95"))
    assert re.search(r"always no .* better by \.\d+ +not met", text)
    assert re.search(r"always yes .* worse by \.\d+ +met", text)


@pytest.mark.parametrize(
    ("text", "where"),
    [("accuracy >= 0.5,", "at the end of"), (", recall >= 0.5", "at the beginning of"), ("a > 0,, b > 0", "in")],
)
def test_a_requirement_that_is_missing_is_told_by_the_whole_text(text, where):
    with pytest.raises(OptionError) as caught:
        read_all(text)
    assert f"A requirement is missing {where} {text!r}" in caught.value.what
