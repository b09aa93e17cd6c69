"""Assertions for tests: an estimate is at least, or at most, so much beyond chance."""

from __future__ import annotations

import math
import numbers
from typing import Any

from heldout.errors import OptionError
from heldout.gates.gate import Requirement, Undecided, assert_met, check_undecided
from heldout.gates.judging import judge_estimate
from heldout.intervals.estimate import Estimate
from heldout.synonyms import takes_synonyms


@takes_synonyms
def assert_at_least(estimate: Estimate, bound: float, *, undecided: Undecided = "fail") -> Requirement:
    """Assert that a value is at least a bound, judged as a gate does: by the one-sided limit of its level.

    Parameters
    ----------
    estimate : Estimate
        An estimate of an evaluation or a validation, such as `evaluation["recall"]`.
    bound : float
        The least that the value may be.
    undecided : {'fail', 'warn', 'pass'}
        What becomes of a value whose limits lie on both sides of the bound: "fail", "warn" (let through where the value
        itself meets it), or "pass".

    >>> from heldout import evaluate
    >>> evaluation = evaluate(["yes"] * 90 + ["no"] * 90, ["yes"] * 85 + ["no"] * 95)
    >>> assert_at_least(evaluation["recall"], 0.85).outcome
    'passed'
    >>> assert_at_least(evaluation["recall"], 0.93)
    Traceback (most recent call last):
    heldout.errors.GateError: recall[yes] >= 0.93 is not shown. recall[yes] .944 meets it, but not beyond chance: ...

    """
    __tracebackhide__ = True
    return assert_met(judge_estimate(_check_estimate(estimate), ">=", _check_number(bound), check_undecided(undecided)))


@takes_synonyms
def assert_at_most(estimate: Estimate, bound: float, *, undecided: Undecided = "fail") -> Requirement:
    """Assert that a value, such as a loss or a rate of errors, is at most a bound; judged as `assert_at_least` does.

    Parameters
    ----------
    estimate : Estimate
        An estimate of an evaluation or a validation, such as `evaluation["error_rate"]`.
    bound : float
        The most that the value may be.
    undecided : {'fail', 'warn', 'pass'}
        What becomes of a value whose limits lie on both sides of the bound.

    >>> from heldout import evaluate
    >>> evaluation = evaluate(["yes"] * 90 + ["no"] * 90, ["yes"] * 85 + ["no"] * 95)
    >>> assert_at_most(evaluation["error_rate"], 0.1).why[:40]
    'error_rate .028 meets it: with 95 % conf'

    """
    __tracebackhide__ = True
    return assert_met(judge_estimate(_check_estimate(estimate), "<=", _check_number(bound), check_undecided(undecided)))


def _check_estimate(given: Any) -> Estimate:
    if not isinstance(given, Estimate):
        raise OptionError(
            f"An assertion is about an estimate, which has an interval. Got {type(given).__name__}.",
            hint='pass evaluation["recall"], not its value.',
        )
    return given


def _check_number(bound: Any) -> float:
    if isinstance(bound, bool) or not isinstance(bound, numbers.Real) or not math.isfinite(bound):
        raise OptionError(f"The bound must be a number. Got {bound!r}.", hint="for example 0.8.")
    return float(bound)
