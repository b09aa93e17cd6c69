"""The evaluation of a run: the predictions of all splits of a plan, judged together."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from pathlib import Path

from heldout.evidence import Confusion
from heldout.intervals.dependence import count_cases
from heldout.intervals.fold_estimates import FoldEstimator
from heldout.learners.problem import Problem
from heldout.plans import Plan
from heldout.predictions.positive_class import choose_positive
from heldout.predictions.source import Source
from heldout.resampling.nested_cv import NESTED_MEASURES, NestedCV, NestedEstimator, replace_estimate
from heldout.resampling.outcome import Optimism, Run, collect_predictions, find_dependence
from heldout.results.evaluation import Evaluation
from heldout.results.evaluation_builder import Folded, Settings, judge

GROUPED = (
    "the rows come in groups, and no interval of this rule is known that takes whole groups as the cases; use 10-fold"
)


@dataclass(frozen=True)
class Judging:
    """What the measures of a run are made by, beside the run itself.

    `resubstituted` is the run of one model on the cases it was trained on, where the plan corrects by it, and `nested`
    what nested cross-validation found, where it gives the intervals.
    """

    settings: Settings
    resubstituted: Run | None = None
    nested: NestedCV | None = None


def evaluate_run(
    run: Run, problem: Problem, plan: Plan, judging: Judging, training: Confusion | None, optimism: Optimism | None
) -> Evaluation:
    """Every measure of a run, put together over its splits."""
    settings, again = judging.settings, judging.resubstituted
    positive = choose_positive(settings.positive, problem.labels)
    predictions = collect_predictions(run, problem, positive)
    refused = "" if optimism is None else optimism.refused
    if optimism is not None and problem.group is not None:
        refused = GROUPED
    if optimism is not None:
        confusion = optimism.table
    else:
        # Efron's leave-one-out bootstrap: every case has the same weight, however often it was left out.
        confusion = count_cases(predictions, once=plan.judging.kind == "bootstrap")
    folded = Folded(
        find_dependence(plan, run, refused),
        training,
        plan.correction or "pooled",
        None if again is None else collect_predictions(again, problem, positive),
        1.0 if optimism is None else optimism.weight,
    )
    source = Source(Path(problem.source).name)
    return with_nested(judge(confusion, predictions, settings, source=source, folded=folded), judging.nested)


def with_nested(evaluation: Evaluation, found: NestedCV | None) -> Evaluation:
    """The evaluation with the error and the accuracy of nested cross-validation; all else stays."""
    usual = evaluation.estimator
    if found is None or found.undefined or not isinstance(usual, FoldEstimator):
        return evaluation
    # Asked for later, by name or at another level, they are the same.
    estimator = NestedEstimator(**{part.name: getattr(usual, part.name) for part in fields(usual)}, found=found)
    estimates = tuple(
        replace_estimate(e, found, e.level)
        if e.measure in NESTED_MEASURES and e.class_ is None and e.average is None
        else e
        for e in evaluation.estimates
    )
    return replace(evaluation, estimates=estimates, estimator=estimator)
