"""A threshold chosen on the cases that judge it: its interval, that of what was optimised, and the honest one.

Scores are normal, positives moved up. The interval of the threshold is to hold the best threshold of the world; those
of the criterion and of the honest estimate, the value that the chosen threshold has in the world. Everything goes to
`heldout.choose_threshold(honest=True)`, with 199 replicates in place of 999.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from scipy.special import ndtr
from tests.promises.cell import Cell, Tally, Truth

import heldout

PACKAGES = ("thresholds", "api/choose_threshold")
COSTS = {(1, 0): 10, (0, 1): 1}
GRID = np.linspace(-5, 8, 20_001)
REPLICATES = 199


@dataclass(frozen=True, kw_only=True)
class Choice(Cell):
    """A threshold by a criterion, on cases of which a share is positive, the classes `shift` apart."""

    family: ClassVar[str] = "threshold_choice"

    by: str
    share: float
    shift: float
    n: int

    def __str__(self) -> str:
        return f"by {self.by}, {self.share:g} positive, {self.shift:g} apart, n = {self.n}"

    def find_value(self, threshold: Any) -> Any:
        """The true value of the criterion at a threshold."""
        hits, alarms = ndtr(self.shift - threshold), ndtr(-threshold)
        if self.by == "youden":
            return hits - alarms
        if self.by == "f1":
            return 2 * self.share * hits / (self.share * hits + (1 - self.share) * alarms + self.share)
        return self.share * 10 * (1 - hits) + (1 - self.share) * alarms

    def find_truth(self) -> Truth:
        curve = self.find_value(GRID)
        return {"threshold": float(GRID[curve.argmin() if self.by == "cost" else curve.argmax()])}

    def draw(self, rng: np.random.Generator, truth: Truth, tally: Tally) -> None:
        positive = rng.random(self.n) < self.share
        scores = rng.standard_normal(self.n) + self.shift * positive
        seed = int(rng.integers(2**31))
        for level in self.levels:
            found: Any = heldout.choose_threshold(
                positive.astype(np.int64), scores, by=self.by, costs=COSTS if self.by == "cost" else None, honest=True,
                positive=1, level=level, replicates=REPLICATES, seed=seed,
            )  # fmt: skip
            true = float(self.find_value(min(max(found.threshold, GRID[0]), GRID[-1])))
            tally.add_interval("threshold", level, found.interval.low, found.interval.high, truth["threshold"])
            tally.add_interval("criterion", level, found.criterion.low, found.criterion.high, true)
            honest = None if found.honest is None else found.honest.estimate
            low, high = (math.nan, math.nan) if honest is None else (honest.low, honest.high)
            tally.add_interval("honest", level, low, high, true)
            if level == 0.95 and tally.reviewing:
                # A decision has no coded findings; it warns in words.
                tally.reviewed += 1
                tally.findings.update(["warning"] if found.warnings else [])


def _cells() -> list[Choice]:
    worlds = (
        ("youden", 0.3, 1.5), ("f1", 0.2, 1.5), ("cost", 0.1, 1.5), ("cost", 0.5, 2.5), ("youden", 0.5, 0.7),
        ("f1", 0.05, 2.5),
    )  # fmt: skip
    return [
        Choice(by=by, share=share, shift=shift, n=n, draws=500, chunk=25)
        for by, share, shift in worlds
        for n in ((400, 2000) if share < 0.1 else (100, 500))
    ]


CELLS = tuple(_cells())
