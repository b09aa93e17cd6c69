"""What the rules about folds and validations need to see of a result."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from heldout.arrays import Codes
from heldout.evidence import Confusion
from heldout.evidence.counted import Counted
from heldout.intervals.count_estimator import Estimator
from heldout.intervals.estimate import Estimate
from heldout.intervals.score_estimator import ScoreEstimator
from heldout.learners.problem import Problem
from heldout.plans.plan import Plan
from heldout.plans.splits import Splits
from heldout.predictions.source import Source
from heldout.predictions.table import Predictions


class FoldedSubject(Protocol):
    """An evaluation, as the rules about its folds see it."""

    @property
    def confusion(self) -> Confusion:
        """The counted evidence."""

    @property
    def estimates(self) -> tuple[Estimate, ...]:
        """Every estimate that was asked for."""

    @property
    def estimator(self) -> Estimator:
        """What made the estimates of counts; it knows the folds, where there are some."""

    @property
    def scores(self) -> ScoreEstimator | None:
        """What made the estimates of scores, where there are scores."""

    @property
    def predictions(self) -> Predictions | None:
        """The predictions, where they are known."""

    @property
    def counted(self) -> Counted | None:
        """What was counted, where the rows were not kept."""

    @property
    def source(self) -> Source:
        """Where the predictions came from, and which columns were not used."""


class FailureSubject(Protocol):
    """A split in which the learner failed."""

    @property
    def where(self) -> str:
        """Which split."""

    @property
    def message(self) -> str:
        """What the learner said."""


class RunSubject(Protocol):
    """What came out of the splits of a plan."""

    @property
    def splits(self) -> Splits:
        """Which rows train and which test."""

    @property
    def finished(self) -> Codes:
        """The splits that gave predictions."""

    @property
    def failures(self) -> Sequence[FailureSubject]:
        """The splits in which the learner failed."""

    @property
    def complete(self) -> bool:
        """Whether it ran to the end."""

    @property
    def rows(self) -> Codes:
        """The row behind each prediction."""

    @property
    def predicted(self) -> Codes:
        """The class that was predicted, as a place among the labels."""

    @property
    def training_rows(self) -> Codes:
        """The rows of which there are predictions by models that were trained on them."""

    @property
    def training_predicted(self) -> Codes:
        """What those models say of them."""


class ValidationSubject(Protocol):
    """A validation, as its rules see it."""

    @property
    def plan(self) -> Plan:
        """The plan."""

    @property
    def run(self) -> RunSubject:
        """What was run."""

    @property
    def problem(self) -> Problem:
        """The data."""

    @property
    def confusion(self) -> Confusion:
        """The counts of test cases, every case once."""

    @property
    def gap(self) -> Estimate:
        """The overfitting gap: the error on test cases less that on training cases."""

    @property
    def optimism(self) -> object | None:
        """What the .632 rule found, where it was asked for."""
