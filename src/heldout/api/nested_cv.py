"""The interval method "nested-cv": where it may be used, and how its error takes the place of the usual one."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import Any

from heldout.api.evaluation_builder import Settings
from heldout.arguments import method_key
from heldout.errors import OptionError
from heldout.intervals.estimate import Estimate
from heldout.intervals.fold_estimates import FoldEstimate, FoldEstimator
from heldout.intervals.quantiles import z_value
from heldout.learners.problem import Problem
from heldout.measures.catalogue import read_quantity
from heldout.measures.quantity import Quantity
from heldout.plans import Plan
from heldout.plans.folds import KFold
from heldout.resampling.nested_cv import METHOD, REPEATS, NestedCV, check_folds, nested_cv
from heldout.results.evaluation import Evaluation

MEASURES = ("error_rate", "accuracy")
PASSED_ON = ("jobs", "on_error", "shortcuts", "progress")


def check_nested(settings: Settings, plan: Plan, problem: Problem, *, tuned: bool) -> None:
    """Refuse the method before anything is fitted, where it does not go with the plan or the measures."""
    if not isinstance(plan, KFold) or tuned:
        what = "settings are tuned in every training part" if tuned else f"the plan is {plan.text!r}"
        raise OptionError(
            f"The method {METHOD!r} is for a plain k-fold plan, and {what}.",
            hint="use the plan '10-fold', without a grid, or leave out the method.",
        )
    asked = settings.measures
    if asked != "all":
        names = [asked] if isinstance(asked, str) else list(asked)
        if not any(read_quantity(name, problem.labels).bound.measure.name in MEASURES for name in names):
            raise OptionError(
                f"The method {METHOD!r} is for error_rate and accuracy, and neither was asked for.",
                hint="ask for one of them, or leave out the method.",
            )
    check_folds(problem, plan.k)


def fit_nested(
    estimator: Any, problem: Problem, plan: Plan, settings: Settings, options: Mapping[str, Any]
) -> NestedCV | None:
    """Nested cross-validation with the folds of the plan; None where it was interrupted too early."""
    if not isinstance(plan, KFold):
        return None
    try:
        return nested_cv(
            estimator,
            problem,
            k=plan.k,
            stratified=plan.stratified,
            level=settings.level,
            seed=settings.seed if plan.seed is None else plan.seed,
            **{name: options[name] for name in PASSED_ON},
        )
    except KeyboardInterrupt:
        return None


def nested_note(found: NestedCV | None) -> str:
    """What a reader must know of it."""
    if found is None:
        return f"{METHOD} was interrupted before its first repetition was finished, so the usual intervals stand"
    said = f"{METHOD} judged {found.fits:,} more models, in {found.repeats} repetitions"
    if found.repeats < REPEATS:
        why = "it was interrupted" if not found.complete else "a fit failed in the others"
        said = f"{said} of {REPEATS}: {why}"
    return f"{said}; {found.undefined}: the usual intervals stand" if found.undefined else said


@dataclass(frozen=True)
class NestedEstimator(FoldEstimator):
    """Gives the error and the accuracy that nested cross-validation found, at any level; all else as over folds."""

    found: NestedCV | None = None

    def ask(self, quantity: Quantity, method: str | None = None) -> Estimate:
        """One estimate; another method may be named for the error and the accuracy too."""
        asked = method is not None and method_key(method) == METHOD
        alone = quantity.class_ is None and quantity.average is None
        known = alone and quantity.bound.measure.name in MEASURES
        if self.found is None or not known or not (asked or method is None):
            return super().ask(quantity, method)
        return _replaced(super().ask(quantity), self.found, self.level)


def with_nested(evaluation: Evaluation, found: NestedCV | None) -> Evaluation:
    """The evaluation with the error and the accuracy of nested cross-validation; all else stays."""
    usual = evaluation.estimator
    if found is None or found.undefined or not isinstance(usual, FoldEstimator):
        return evaluation
    # Asked for later, by name or at another level, they are the same.
    estimator = NestedEstimator(**{part.name: getattr(usual, part.name) for part in fields(usual)}, found=found)
    estimates = tuple(
        _replaced(e, found, e.level) if e.measure in MEASURES and e.class_ is None and e.average is None else e
        for e in evaluation.estimates
    )
    return replace(evaluation, estimates=estimates, estimator=estimator)


def _replaced(estimate: Estimate, found: NestedCV, level: float) -> Estimate:
    if not isinstance(estimate, FoldEstimate):
        return estimate
    low, high = limits_at(found, level)
    ends = low, found.error, high
    low, value, high = ends if estimate.measure == "error_rate" else (1 - end for end in reversed(ends))
    direction = "less" if found.bias > 0 else "more"
    note = (
        f"mean over {found.repeats} repetitions; {abs(found.bias):.2g} {direction} error than without two folds, "
        "for training on all cases (Bates, Hastie & Tibshirani, 2024)"
    )
    return replace(
        estimate, value=value, low=low, high=high, method=METHOD, note=note, rule="mean", other=estimate.value
    )


def limits_at(found: NestedCV, level: float) -> tuple[float, float]:
    """The limits of the error at a level, from its mean squared error."""
    half = z_value(level) * math.sqrt(found.mse)
    return max(found.error - half, 0.0), min(found.error + half, 1.0)
