"""What rules look at in an evaluation: its ranking, probabilities and sizes of classes, or why there are none."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from heldout.evidence import Confusion, Ranking
from heldout.evidence.probabilities import Probabilities
from heldout.findings.rule import between
from heldout.intervals.estimate import Estimate
from heldout.intervals.score_estimator import SCORE_SCOPES
from heldout.intervals.score_methods import score_limits
from heldout.measures.catalogue import find
from heldout.results.evaluation import Evaluation
from heldout.show.numbers import share


def why_no_scores(subject: Evaluation) -> str:
    """Why there are no scores to look at; empty where there are.

    Scores are ranked when a measure of them is first asked for, and a rule must not cost more than the evaluation:
    where nobody asked for such a measure, the rules leave the scores alone too.
    """
    if subject.scores is None:
        return "there are no scores"
    measures = {estimate.measure for estimate in subject.estimates}
    if not any(find(measure).measure.scope in SCORE_SCOPES for measure in measures):
        return "no measure of the scores was asked for"
    return ""


def ranking_of(subject: Evaluation) -> Ranking | str:
    """The ranking of the positive class, or why there is none."""
    reason = why_no_scores(subject)
    if reason or subject.scores is None:
        return reason
    if subject.scores.evidence.per_class:
        return "there is a score for each class, not one for the positive class"
    if subject.positive is None:
        return NO_POSITIVE_CLASS
    return subject.scores.evidence.ranking(subject.positive)


# Why a rule that looks at single scores, or at single rows, has nothing to look at.
IN_BINS = "the scores were counted in bins, so that scores that are near cannot be told from scores that are equal"
NO_POSITIVE_CLASS = "no class is the positive one"
ONE_CLASS = "all cases are of one class"
NOT_KEPT = "the rows were counted and not kept"
ANSWERS_NOT_KEPT = f"{NOT_KEPT}, so it is not known which class was predicted at which score"
MADE_FROM_SCORES = "The predicted classes were made from the scores."
FOLLOW_SCORES = "The predicted classes follow the scores."


def needs_rows(subject: Evaluation) -> str:
    """What ends advice that only rows can follow: how to have them, where they were counted and not kept."""
    return "" if subject.counted is None else ", which needs the rows (--engine memory)"


def is_exact(ranking: Ranking) -> bool:
    """Whether every place of a ranking is one score, and none a bin of several.

    >>> is_exact(Ranking(np.array([0.9, 0.4]), np.array([1, 1]), np.array([0, 2])))
    True
    """
    return ranking.joined is None or not ranking.joined.any()


def probabilities_of(subject: Evaluation) -> Probabilities | str:
    """The sums of the predicted probabilities, or why there are none."""
    reason = why_no_scores(subject)
    if reason or subject.scores is None:
        return reason
    probabilities = subject.scores.evidence.probabilities
    return "the scores are no probabilities" if probabilities is None else probabilities


def reported(subject: Evaluation, measure: str) -> tuple[Estimate, ...]:
    """The estimates of a measure that were asked for and have a value."""
    return tuple(e for e in subject.estimates if e.measure == measure and e.value == e.value)


def class_sizes(confusion: Confusion) -> NDArray[np.float64]:
    """The number of cases of each true class, whatever their weight.

    >>> class_sizes(Confusion.of([[5, 1], [0, 2]]))
    array([6., 2.])
    """
    sizes = confusion.cases if confusion.weighted else confusion.counts
    return np.bincount(confusion.truth, weights=sizes, minlength=confusion.n_classes).astype(np.float64)


# Where more of the predictions name classes without a case, the rules about single classes leave it to H028.
MOSTLY_ABSENT = 0.5
OTHER_CLASSES = "the predicted classes are not those of the truth (H028)"


def share_of_absent(confusion: Confusion) -> float:
    """The share of the predictions that name a class which has no case at all.

    >>> share_of_absent(Confusion.of([[5, 0, 3], [0, 2, 0], [0, 0, 0]]))
    0.3
    """
    if not confusion.n:
        return 0.0
    return float(confusion.predicted_totals[confusion.truth_totals == 0].sum()) / float(confusion.n)


def case_number(subject: Evaluation) -> int:
    """The number of distinct cases, however often each was predicted."""
    plan = subject.estimator.plan
    return subject.confusion.n_cases if plan is None else min(plan.n, subject.confusion.n_cases)


@dataclass(frozen=True, slots=True)
class Skill:
    """Whether it tells the classes apart at all: the ROC area, or Matthews correlation, beside what chance reaches."""

    title: str
    estimate: Estimate
    chance: float

    @property
    def shown(self) -> bool:
        """Whether it is above chance beyond doubt."""
        return self.estimate.low > self.chance

    @property
    def likely(self) -> bool:
        """Whether it is above chance on these cases, beyond doubt or not."""
        return self.estimate.value > self.chance

    def describe(self) -> str:
        """The measure, its value and its interval."""
        return f"{self.title} {share(self.estimate.value)}{between(self.estimate.low, self.estimate.high)}"


def skill_of(subject: Evaluation) -> Skill | None:
    """The ROC area where one is reported, else Matthews correlation; None where neither has a value.

    Accuracy and F lean on how common the classes are and on the threshold. These two are the same for any constant
    answer and for any guess, so they say whether there is skill where accuracy and F cannot.
    """
    areas = {e.average or e.class_: e for e in reported(subject, "roc_auc")}
    area = areas.get("macro", areas.get(subject.positive))
    if area is not None:
        return Skill("ROC area", area, 0.5)
    correlation = subject.get("matthews")
    return None if correlation.value != correlation.value else Skill("Matthews correlation", correlation, 0.0)


# Probabilities that are off by less than this on average seldom change a decision: a convention.
MATTERS = 0.02


@dataclass(frozen=True, slots=True)
class Calibration:
    """The expected calibration error with its interval, and the probabilities that it is of."""

    value: float
    low: float
    high: float
    probabilities: Probabilities

    def is_off(self, error: float = MATTERS) -> bool:
        """Whether the error is above what matters beyond doubt."""
        return self.low > error


def calibration_of(subject: Evaluation) -> Calibration | str:
    """The calibration of the probabilities, or why it is not known."""
    probabilities = probabilities_of(subject)
    if isinstance(probabilities, str):
        return probabilities
    estimates = reported(subject, "expected_calibration_error")
    if estimates:
        return Calibration(estimates[0].value, estimates[0].low, estimates[0].high, probabilities)
    bound = find("expected_calibration_error")
    value = float(bound.value({bound.measure.cells[0]: probabilities}))
    ends = score_limits(bound, probabilities, subject.level)
    return Calibration(value, ends.low, ends.high, probabilities)
