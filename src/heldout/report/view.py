"""What a report needs to know of an evaluation."""

from __future__ import annotations

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from heldout.evidence import Confusion, Label
from heldout.findings.review import Review
from heldout.intervals.estimate import Estimate
from heldout.measures.quantity import Average
from heldout.predictions.source import Source


class View(Protocol):
    """An evaluation as its reports see it."""

    @property
    def confusion(self) -> Confusion:
        """The counted evidence."""

    @property
    def positive(self) -> Label | None:
        """The positive class, if there is one."""

    @property
    def estimates(self) -> tuple[Estimate, ...]:
        """Every estimate that was asked for."""

    @property
    def notes(self) -> tuple[str, ...]:
        """Sentences that a reader must see."""

    @property
    def source(self) -> Source:
        """Where the predictions came from."""

    @property
    def costs(self) -> NDArray[np.float64] | None:
        """The cost matrix in the order of the labels, rows are the truth."""

    @property
    def level(self) -> float:
        """The level of the intervals."""

    @property
    def independent(self) -> float:
        """The share of the cases that counts as independent; 0 where there can be no interval."""

    @property
    def review(self) -> Review:
        """What the rules found."""

    def get(self, measure: str, *, class_: Label | None = None, average: Average | None = None) -> Estimate:
        """The estimate of a measure of one class, averaged, or of all cases."""
