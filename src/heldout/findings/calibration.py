"""Whether predicted probabilities come true: the expected calibration error as the rules look at it."""

from __future__ import annotations

from dataclasses import dataclass

from heldout.estimates.score_methods import score_limits
from heldout.evidence.probabilities import Probabilities
from heldout.findings.subjects import Judged, probabilities_of, reported
from heldout.measures.catalogue import find

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


def calibration_of(subject: Judged) -> Calibration | str:
    """The calibration of the probabilities, or why it is not known."""
    found = probabilities_of(subject)
    if isinstance(found, str):
        return found
    made = reported(subject, "expected_calibration_error")
    if made:
        return Calibration(made[0].value, made[0].low, made[0].high, found)
    bound = find("expected_calibration_error")
    value = float(bound.value({bound.measure.cells[0]: found}))
    ends = score_limits(bound, found, subject.level)
    return Calibration(value, ends.low, ends.high, found)
