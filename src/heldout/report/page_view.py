"""What the page of an evaluation needs to know of it, beyond what its screen does."""

from __future__ import annotations

from typing import Protocol

from heldout.evidence import Label, Ranking
from heldout.findings.review import Review
from heldout.findings.slice_basis import Divided
from heldout.intervals.count_estimator import Estimator
from heldout.intervals.score_estimator import ScoreEstimator
from heldout.report.view import View


class PageView(View, Protocol):
    """An evaluation as its page sees it."""

    @property
    def estimator(self) -> Estimator:
        """What made the estimates of counts."""

    @property
    def scores(self) -> ScoreEstimator | None:
        """What made the estimates of scores, where there are scores."""

    @property
    def slice_columns(self) -> tuple[Divided, ...]:
        """The columns that divide the cases."""

    @property
    def threshold(self) -> float | None:
        """The threshold at which the scores became predictions, if they did."""

    @property
    def fingerprint(self) -> str:
        """A short hash of the true labels in their order."""

    @property
    def review(self) -> Review:
        """What the rules found."""

    def ranking(self, class_: Label | None = None) -> Ranking:
        """The cases ranked by their score for a class."""
