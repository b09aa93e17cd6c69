"""A margin: what a comparison says of non-inferiority or equivalence."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

Kind = Literal["non-inferiority", "equivalence"]
MarginOutcome = Literal["shown", "not shown", "refuted"]


@dataclass(frozen=True, slots=True)
class Margin:
    """Whether A is shown to be no worse than B by more than a margin, or to differ by no more than it.

    `low` and `high` are the limits that decide, at a level whose one-sided error is that of the level asked for.
    """

    kind: Kind
    margin: float
    low: float
    high: float
    level: float
    outcome: MarginOutcome
    verdict: str
    p: float = math.nan
