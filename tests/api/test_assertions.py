"""Assertions on estimates, and gates that raise: judged like gates, with the interval and what is missing in words."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from scipy import stats

import heldout
from heldout import evaluate
from heldout.errors import GateError, OptionError
from heldout.gates.outcomes import judge_estimate

TRUTH = ["yes"] * 100 + ["no"] * 100


@pytest.fixture(scope="module")
def judged():
    return heldout.evaluate(TRUTH, ["yes"] * 88 + ["no"] * 112, score=[0.9] * 88 + [0.3] * 12 + [0.2] * 100)


@pytest.mark.parametrize("bound", [0.7, 0.81, 0.82, 0.85, 0.88, 0.92, 0.95])
@pytest.mark.parametrize("measure", ["recall", "f1", "roc_auc"])
def test_an_assertion_holds_where_a_gate_passes(judged, measure, bound):
    gate = heldout.check(judged, require=f"{measure} >= {bound}")
    if gate.passed:
        assert heldout.assert_at_least(judged[measure], bound).why == gate.requirements[0].why
        return
    with pytest.raises(GateError) as failed:
        heldout.assert_at_least(judged[measure], bound)
    assert gate.requirements[0].why in str(failed.value)
    with pytest.raises(GateError):
        gate.raise_if_failed()


def test_the_message_shows_the_limit_and_how_many_cases_would_decide(judged):
    with pytest.raises(AssertionError) as failed:
        heldout.assert_at_least(judged["recall"], 0.85)
    said = str(failed.value)
    assert said.startswith("recall[yes] >= 0.85 is not shown. recall[yes] .880 meets it, but not beyond chance")
    assert "with 95 % confidence it is at least .813" in said
    assert "would decide it (now 100)" in said
    assert said.endswith("Hint: test on more cases, or let through what is undecided (undecided='pass').")


def test_what_is_undecided_is_let_through_when_asked(judged):
    assert heldout.assert_at_least(judged["recall"], 0.85, undecided="warn").outcome == "undecided"
    with pytest.raises(GateError):
        heldout.assert_at_least(judged["recall"], 0.9, undecided="warn")
    assert heldout.assert_at_least(judged["recall"], 0.9, undecided="pass").outcome == "undecided"


@pytest.mark.parametrize("word", ["Fail", "fial", "", None, True])
def test_a_slip_in_what_becomes_of_undecided_lets_nothing_through(judged, word):
    for assertion in (heldout.assert_at_least, heldout.assert_at_most):
        with pytest.raises(OptionError, match="undecided must be one of 'fail', 'warn', 'pass'"):
            assertion(judged["recall"], 0.93, undecided=word)


def test_at_most_is_about_the_upper_limit(judged):
    assert heldout.assert_at_most(judged["error_rate"], 0.1).outcome == "passed"
    with pytest.raises(GateError, match="at most"):
        heldout.assert_at_most(judged["error_rate"], 0.07)


def test_a_stored_estimate_has_its_own_interval_only_and_asks_for_more(judged):
    stored = pickle.loads(pickle.dumps(judged["recall"]))
    assert stored == judged["recall"]
    assert stored.one_sided is None
    # One-sided, the limit is .813, and the lower end of the two-sided interval .802.
    assert heldout.assert_at_least(judged["recall"], 0.805).outcome == "passed"
    with pytest.raises(GateError, match="two-sided 95 % interval"):
        heldout.assert_at_least(stored, 0.805)
    assert heldout.assert_at_least(stored, 0.8).outcome == "passed"


def test_a_value_without_an_interval_or_a_bound_out_of_range_is_refused(judged):
    with pytest.raises(OptionError, match="not its value"):
        heldout.assert_at_least(judged["recall"].value, 0.8)
    with pytest.raises(OptionError, match=r"did you mean 0\.8"):
        heldout.assert_at_least(judged["recall"], 80)
    with pytest.raises(OptionError, match="must be a number"):
        heldout.assert_at_least(judged["recall"], "0.8")  # type: ignore[arg-type]


def test_an_undefined_value_is_not_met():
    nothing = heldout.evaluate(["no"] * 5, ["no"] * 5, labels=["no", "yes"])
    with pytest.raises(GateError, match="has no value, because there are no actual positives"):
        heldout.assert_at_least(nothing["recall"], 0.8)


def test_a_gate_that_passes_is_given_back(judged):
    gate = heldout.check(judged, require="recall >= 0.8")
    assert gate.raise_if_failed() is gate
    failed = heldout.check(judged, require="recall >= 0.95, specificity >= 0.9")
    with pytest.raises(GateError, match=r"The gate failed: 1 passed, 1 failed\.\nrecall >= 0\.95: recall\[yes\] \.880"):
        failed.raise_if_failed()


def ways_to(evaluation, name):
    """The estimate of that name, by every way that leads to it."""
    copied = pickle.loads(pickle.dumps(evaluation))
    yield evaluation[name]
    yield copied[name]
    for one in (evaluation, copied):
        yield next(e for e in one if e.name == evaluation[name].name)
        yield next(e for e in one.estimates if e.name == evaluation[name].name)
        yield one.interval(name)


@pytest.mark.parametrize("name", ["recall", "accuracy", "macro f1", "roc_auc", "brier", "recall[0]", "cost"])
def test_every_way_to_an_estimate_is_judged_alike(name):
    rng = np.random.default_rng(1)
    score = rng.random(300)
    truth = (rng.random(300) < score).astype(int)
    evaluation = evaluate(truth, score=score, costs=[[0, 1], [5, 0]], cost_rows="truth")
    found = [judge_estimate(estimate, ">=", 0.3) for estimate in ways_to(evaluation, name)]
    assert len(found) == 8
    assert {one.why for one in found} == {found[0].why}
    assert {one.pass_limit for one in found} == {found[0].pass_limit}
    assert "with 95 % confidence" in found[0].why


def test_the_interval_that_was_asked_for_is_judged_by_its_method_and_level():
    evaluation = evaluate(["yes"] * 90 + ["no"] * 90, ["yes"] * 85 + ["no"] * 95)
    judged = judge_estimate(evaluation.interval("recall", method="jeffreys", level=0.9), ">=", 0.85)
    # Jeffreys' lower limit at 90 %: the tenth percentile of Beta(85.5, 5.5).
    assert judged.pass_limit.value == pytest.approx(stats.beta.ppf(0.1, 85.5, 5.5), abs=1e-12)  # type: ignore[union-attr]
    assert "with 90 % confidence" in judged.why
    assert "one-sided limit, jeffreys" in judged.why


def test_a_stored_estimate_says_that_its_two_sided_interval_decided():
    evaluation = evaluate(["yes"] * 90 + ["no"] * 90, ["yes"] * 85 + ["no"] * 95)
    stored = pickle.loads(pickle.dumps(evaluation["recall"]))
    judged = judge_estimate(stored, ">=", 0.85)
    assert "by the lower end of its two-sided 95 % interval it is at least .876" in judged.why
    assert "one-sided" not in judged.why
    assert "upper end of its two-sided 95 % interval" in judge_estimate(stored, "<=", 0.99).why


@pytest.mark.parametrize("level", [0.4, 0.5, 0, 1, 1.5])
def test_a_level_that_no_one_sided_limit_has_is_refused_as_it_was_given(level):
    with pytest.raises(OptionError, match=rf"Got {level:g}\b"):
        evaluate([0, 1] * 20, [0, 1, 1, 1] * 10).one_sided("accuracy", level=level)
