"""Which interval a measure of scores or probabilities gets: its default, and the others by name."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

from heldout.errors import OptionError
from heldout.estimates.calibration import calibration_limits, recalibration_limits
from heldout.estimates.losses import loss_limits, skill_limits, top_k_limits
from heldout.estimates.ranking import (
    AREA_METHODS,
    BOOTSTRAPS,
    PRECISION_METHODS,
    RankingLimits,
    closed_methods,
    ranking_limits,
)
from heldout.evidence import Ranking
from heldout.evidence.probabilities import Probabilities
from heldout.measures.declare import Measure
from heldout.measures.quantity import Bound

Find = Callable[[Any, Bound, float], tuple[float, float]]
NO_INTERVAL = "none"

# Measures with one method each, by name: what it is called and how it is found.
SINGLE: Mapping[str, tuple[str, Find]] = {
    "log_loss": ("hall", lambda e, _, level: loss_limits(e, "log_loss", level)),
    "brier": ("hall", lambda e, _, level: loss_limits(e, "brier", level)),
    "log_loss_skill": ("influence", lambda e, _, level: skill_limits(e, "log_loss", level)),
    "brier_skill": ("influence", lambda e, _, level: skill_limits(e, "brier", level)),
    "brier_calibration": ("test-inversion", lambda e, _, level: calibration_limits(e, "squared", level)),
    "expected_calibration_error": ("test-inversion", lambda e, _, level: calibration_limits(e, "expected", level)),
    "maximum_calibration_error": ("test-inversion", lambda e, _, level: calibration_limits(e, "maximum", level)),
    "calibration_slope": ("wald", lambda e, _, level: recalibration_limits(e, "slope", level)),
    "calibration_intercept": ("wald", lambda e, _, level: recalibration_limits(e, "intercept", level)),
    "calibration_in_the_large": ("wald", lambda e, _, level: recalibration_limits(e, "in_the_large", level)),
    "top_k_accuracy": ("wilson", lambda e, bound, level: top_k_limits(e, int(bound.parameters["k"]), level)),
}


def score_method_names() -> tuple[str, ...]:
    """Every method that some measure of scores has.

    >>> "delong" in score_method_names()
    True
    """
    return tuple(
        dict.fromkeys([*AREA_METHODS, *PRECISION_METHODS, *BOOTSTRAPS, *(name for name, _ in SINGLE.values())])
    )


def default_score_method(measure: Measure) -> str:
    """What the default interval of a measure of scores is called.

    >>> from heldout.measures.catalogue import find
    >>> default_score_method(find("brier").measure), default_score_method(find("auc").measure)
    ('hall', 'delong-logit')
    """
    if measure.name in SINGLE:
        return SINGLE[measure.name][0]
    if measure.scope == "pairs":
        return "delong-logit"
    if measure.scope == "probability":
        return NO_INTERVAL
    return next(iter(closed_methods(Bound(measure))), "bootstrap-logit")


def score_limits(
    bound: Bound,
    evidence: Ranking | Probabilities,
    level: float,
    *,
    method: str | None = None,
    strict: bool = False,
    seed: int = 0,
    replicates: int = 1999,
) -> RankingLimits:
    """The interval of a measure of scores; a method that does not apply gives way to the default unless `strict`."""
    measure = bound.measure
    if isinstance(evidence, Ranking) and measure.name not in SINGLE:
        applies = method in closed_methods(bound) or method in BOOTSTRAPS
        asked = method if applies or strict else None
        return ranking_limits(evidence, bound, level, method=asked, seed=seed, replicates=replicates)
    name, find = SINGLE.get(measure.name, (NO_INTERVAL, None))
    if strict and method not in (None, name):
        raise OptionError(
            f"The method {method!r} does not apply to {bound.name}.",
            hint=f"its interval is by {name!r}." if find is not None else "it has no interval.",
        )
    if find is None:
        return RankingLimits(math.nan, math.nan, name)
    low, high = find(evidence, bound, level)
    return RankingLimits(float(low), float(high), name)
