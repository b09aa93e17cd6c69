"""How predictions of one data set by many models depend on each other, and what that does to an interval.

Models of one plan share training rows, so their errors go together and the usual intervals are too narrow. The number
of distinct cases is divided by a factor, which was measured for some plans and taken over from the nearest of them for
the others (docs/statistics.md).
"""

from __future__ import annotations

from dataclasses import dataclass

from heldout.measures.declare import Measure

# F and its relatives need less widening than proportions; the areas under curves the same.
LEAST = 1.2


@dataclass(frozen=True, slots=True)
class Dependence:
    """What intervals must know of a plan.

    `n` is the number of distinct cases that were tested. `factor` divides it. `ratio` is the size of a test part over
    that of its training part, and `independent` the number of splits of one repetition. `target` says which error is
    estimated; `refused` says why there is no interval, where there is none.
    """

    n: int
    factor: float = 1.0
    ratio: float = 0.0
    independent: int = 1
    target: str = ""
    refused: str = ""

    def scale(self, measure: Measure) -> float:
        """What to multiply the counts by, so that they count independent cases.

        >>> from heldout.measures.catalogue import find
        >>> plan = Dependence(150, factor=1.5)
        >>> round(plan.scale(find("accuracy").measure), 3), round(plan.scale(find("f1").measure), 3)
        (0.667, 0.833)
        """
        return 1 / (min(self.factor, LEAST) if measure.kind == "f" else self.factor)
