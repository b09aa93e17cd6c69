"""The difference of two by a measure: its interval, the test of no difference, and what it rests on."""

from __future__ import annotations

import math
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class PairTest:
    """The difference A − B of a measure, its interval and a test of no difference.

    `method` names the procedure, `statistic` its figure and `df` the degrees of freedom, nan where it has none. `n` is
    the number of cases, folds or data sets behind it. `effect` is a size of the difference that does not depend on n,
    and `effect_name` says which. `undefined` says why the difference is nan where it is; `note` what else a reader must
    know, such as how often the method rejects where it should not.
    """

    difference: float
    low: float
    high: float
    level: float
    method: str
    p: float
    n: int
    statistic: float = math.nan
    df: float = math.nan
    effect: float = math.nan
    effect_name: str = ""
    undefined: str = ""
    note: str = ""
    interval_method: str = ""
