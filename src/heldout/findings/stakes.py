"""The four costs of two classes: what is at stake in each case, and the threshold that follows from it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class Stakes:
    """The four costs of two classes, and the mean cost of a case at any threshold."""

    miss: float
    hit: float
    alarm: float
    quiet: float

    @classmethod
    def of(cls, costs: NDArray[np.float64], positive: int) -> Stakes:
        """The costs of a 2 × 2 matrix whose rows are the truth.

        >>> round(Stakes.of(np.array([[0.0, 1.0], [10.0, 0.0]]), positive=1).threshold, 3)
        0.091
        """
        negative = 1 - positive
        return cls(
            float(costs[positive, negative]), float(costs[positive, positive]),
            float(costs[negative, positive]), float(costs[negative, negative]),
        )  # fmt: skip

    @property
    def saved(self) -> tuple[float, float]:
        """What calling a positive positive saves, and what calling a negative negative does."""
        return self.miss - self.hit, self.alarm - self.quiet

    @property
    def threshold(self) -> float:
        """The probability from which on calling a case positive is the cheaper (Elkan 2001)."""
        found, spared = self.saved
        return spared / (spared + found)

    def less(self, tp: Any, fp: Any, positives: float, negatives: float) -> Any:
        """The mean cost with its sign turned, so that more is better."""
        n = positives + negatives
        return -((positives - tp) * self.miss + tp * self.hit + fp * self.alarm + (negatives - fp) * self.quiet) / n
