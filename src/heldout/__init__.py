"""heldout judges classifiers: every measure with an honest interval."""

from __future__ import annotations

import sys
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from heldout import errors, lab, mlflow, plans
    from heldout.api.check import assert_at_least, assert_at_most, check
    from heldout.api.choose_threshold import choose_threshold
    from heldout.api.compare import compare
    from heldout.api.count import count
    from heldout.api.estimators import from_cv_results, from_estimator, scorer
    from heldout.api.evaluate import evaluate
    from heldout.api.learning_curve import bias_variance, learning_curve
    from heldout.api.plan_study import plan_study
    from heldout.api.recalibrate import recalibrate
    from heldout.api.training import compute_metrics
    from heldout.api.validate import validate
    from heldout.cards.api import card
    from heldout.cards.card import Card
    from heldout.comparisons.comparison import Comparison, PairwiseComparison
    from heldout.comparisons.learner_ranks import LearnerRanks
    from heldout.comparisons.recalibration import Recalibration
    from heldout.costs import Costs
    from heldout.engines.accumulator import Evidence
    from heldout.errors import HeldoutError
    from heldout.evidence import Confusion, Ranking
    from heldout.gates.gate import Gate
    from heldout.intervals.estimate import Estimate
    from heldout.measures.own import measure, metric
    from heldout.report.report import Report
    from heldout.resampling.bias_variance import BiasVariance
    from heldout.resampling.learning_curve import LearningCurve
    from heldout.results.evaluation import Evaluation
    from heldout.results.validation import Validation, Validations
    from heldout.review import Review
    from heldout.studies.study_plan import StudyPlan
    from heldout.thresholds.decision import Decision, ThresholdDecision

__version__ = "0.1.0"

_HOMES = {
    "BiasVariance": "heldout.resampling.bias_variance",
    "Card": "heldout.cards.card",
    "Comparison": "heldout.comparisons.comparison",
    "Confusion": "heldout.evidence",
    "Costs": "heldout.costs",
    "Decision": "heldout.thresholds.decision",
    "Estimate": "heldout.intervals.estimate",
    "Evaluation": "heldout.results.evaluation",
    "Evidence": "heldout.engines.accumulator",
    "Gate": "heldout.gates.gate",
    "HeldoutError": "heldout.errors",
    "LearnerRanks": "heldout.comparisons.learner_ranks",
    "LearningCurve": "heldout.resampling.learning_curve",
    "PairwiseComparison": "heldout.comparisons.comparison",
    "Ranking": "heldout.evidence",
    "Recalibration": "heldout.comparisons.recalibration",
    "Report": "heldout.report.report",
    "Review": "heldout.review",
    "StudyPlan": "heldout.studies.study_plan",
    "ThresholdDecision": "heldout.thresholds.decision",
    "Validation": "heldout.results.validation",
    "Validations": "heldout.results.validation",
    "assert_at_least": "heldout.api.check",
    "assert_at_most": "heldout.api.check",
    "bias_variance": "heldout.api.learning_curve",
    "card": "heldout.cards.api",
    "check": "heldout.api.check",
    "choose_threshold": "heldout.api.choose_threshold",
    "compare": "heldout.api.compare",
    "compute_metrics": "heldout.api.training",
    "count": "heldout.api.count",
    "evaluate": "heldout.api.evaluate",
    "from_cv_results": "heldout.api.estimators",
    "from_estimator": "heldout.api.estimators",
    "learning_curve": "heldout.api.learning_curve",
    "measure": "heldout.measures.own",
    "metric": "heldout.measures.own",
    "plan_study": "heldout.api.plan_study",
    "recalibrate": "heldout.api.recalibrate",
    "scorer": "heldout.api.estimators",
    "validate": "heldout.api.validate",
}
# Packages that are used by name: heldout.plans.kfold(10), heldout.lab.coverage(…), heldout.mlflow.log(…) and
# heldout.errors.GateError.
_PACKAGES = ("errors", "lab", "mlflow", "plans")

__all__ = [
    "BiasVariance",
    "Card",
    "Comparison",
    "Confusion",
    "Costs",
    "Decision",
    "Estimate",
    "Evaluation",
    "Evidence",
    "Gate",
    "HeldoutError",
    "LearnerRanks",
    "LearningCurve",
    "PairwiseComparison",
    "Ranking",
    "Recalibration",
    "Report",
    "Review",
    "StudyPlan",
    "ThresholdDecision",
    "Validation",
    "Validations",
    "assert_at_least",
    "assert_at_most",
    "bias_variance",
    "card",
    "check",
    "choose_threshold",
    "compare",
    "compute_metrics",
    "count",
    "errors",
    "evaluate",
    "from_cv_results",
    "from_estimator",
    "lab",
    "learning_curve",
    "measure",
    "metric",
    "mlflow",
    "plan_study",
    "plans",
    "recalibrate",
    "scorer",
    "validate",
]


def __getattr__(name: str) -> Any:
    """Import a public name when it is first used, so that `import heldout` costs nothing."""
    if name in _PACKAGES:
        return import_module(f"heldout.{name}")
    # Not in `__all__`: what `from heldout import *` brings must not need PyTorch.
    if name == "torch":
        try:
            return import_module("heldout.torch")
        except ModuleNotFoundError as error:
            raise AttributeError(str(error)) from error
    if name not in _HOMES:
        answer = "" if name.startswith("_") else import_module("heldout.synonyms").answer_name(name)
        message = f"module 'heldout' has no attribute {name!r}" + f": {answer}." * bool(answer)
        if answer:
            raise AttributeError(message)
        # With both, Python says which name is near: "Did you mean: 'evaluate'?".
        raise AttributeError(message, name=name, obj=sys.modules[__name__])
    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return sorted([*__all__, "__version__"])
