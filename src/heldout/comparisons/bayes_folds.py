"""Two learners over the same splits, as beliefs: how likely A is higher, B is higher, or neither matters."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from heldout.arguments import check_level
from heldout.comparisons.folds import EFFECT, TOO_FEW, FoldValues
from heldout.comparisons.procedure import procedure
from heldout.comparisons.tested import Tested
from heldout.errors import OptionError
from heldout.estimates.quantiles import t_value

BAYES_T = procedure(
    "bayes-correlated-t",
    "same splits",
    "The posterior of the mean difference, with a region of practical equivalence.",
    "Corani & Benavoli (2015)",
)
CERTAIN = "all splits differ by the same amount, so the posterior is a single point: do not take it for certainty"


@dataclass(frozen=True, slots=True)
class Posterior(Tested):
    """What to believe of the difference A − B, which is given between `low` and `high` with probability `level`.

    `a_higher`, `within` and `b_higher` are the probabilities that the difference is above `rope`, within ± `rope`, and
    below −`rope`; they sum to 1, and without a rope `within` is 0. There is no p.
    """

    rope: float = 0.0
    a_higher: float = math.nan
    within: float = math.nan
    b_higher: float = math.nan

    @property
    def odds(self) -> tuple[float, float, float]:
        """The three probabilities, A's first."""
        return self.a_higher, self.within, self.b_higher


def check_rope(rope: Any) -> float:
    """Half the width of the region of practical equivalence, in units of the measure.

    >>> check_rope(0.01)
    0.01
    """
    try:
        value = float(rope)
    except (TypeError, ValueError):
        value = math.nan
    if not 0 <= value < math.inf:
        raise OptionError(
            f"The rope, the largest difference that does not matter, must be 0 or more. Got {rope!r}.",
            hint="0.01 takes accuracies as equal that differ by less than one point.",
        )
    return value


def bayes_correlated_t(values: FoldValues, *, rope: float = 0.0, level: float = 0.95) -> Posterior:
    """The Bayesian correlated t: Student's t around the mean difference, with the variance of the corrected t.

    The correlation of the splits is the share of the rows that are tested, so that ρ/(1 − ρ) = test/train.

    >>> a, b = [0.91, 0.83, 0.94, 0.72, 0.88], [0.85, 0.80, 0.87, 0.73, 0.80]
    >>> [round(p, 2) for p in bayes_correlated_t(FoldValues.of(a, b), rope=0.01).odds]
    [0.89, 0.07, 0.04]
    """
    from scipy.special import stdtr

    rope, found = check_rope(rope), values.differences
    n, nan = len(found), math.nan
    check_level(level)
    if n < 2:
        return Posterior(nan, nan, nan, level, BAYES_T.name, nan, n, undefined=TOO_FEW, note=values.left_out, rope=rope)
    mean = float(found.mean())
    if values.constant:
        mean = 0.0 if abs(mean) <= values.rounding else mean
        note = "; ".join(filter(None, (CERTAIN, values.left_out)))
        above, within, below = _at_point(mean, rope)
        return Posterior(
            mean, mean, mean, level, BAYES_T.name, nan, n, df=n - 1, note=note, rope=rope,
            a_higher=above, within=within, b_higher=below,
        )  # fmt: skip
    deviation, df = float(found.std(ddof=1)), n - 1
    error = deviation * math.sqrt(1 / n + values.ratio)
    half = float(t_value(level, df)) * error
    above, below = float(stdtr(df, (mean - rope) / error)), float(stdtr(df, (-rope - mean) / error))
    return Posterior(
        mean, mean - half, mean + half, level, BAYES_T.name, math.nan, n, df=df, effect=mean / deviation,
        effect_name=EFFECT, note=values.left_out, interval_method="posterior", rope=rope,
        a_higher=above, within=max(1 - above - below, 0.0) if rope else 0.0, b_higher=below,
    )  # fmt: skip


def _at_point(mean: float, rope: float) -> tuple[float, float, float]:
    """All belief in one place; without a rope, no difference is shared between the two."""
    if mean == 0 and not rope:
        return 0.5, 0.0, 0.5
    above, below = float(mean > rope), float(mean < -rope)
    return above, 1 - above - below, below
