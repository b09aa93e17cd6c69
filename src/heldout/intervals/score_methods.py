"""Which interval a measure of scores or probabilities gets: its default, and the others by name."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from heldout.arguments import closest, listing
from heldout.errors import OptionError
from heldout.evidence import Ranking
from heldout.evidence.probabilities import Probabilities
from heldout.intervals.areas import average_precision_limits, delong, delong_logit, hanley_mcneil, newcombe
from heldout.intervals.calibration import calibration_limits, recalibration_limits
from heldout.intervals.losses import loss_limits, skill_limits, top_k_limits
from heldout.intervals.ranking_bootstrap import Draw, Form, bootstrap_limits
from heldout.measures.declare import Measure
from heldout.measures.quantity import Bound
from heldout.measures.ranking import average_precision, gini, roc_auc

# Which interval a measure of a ranking gets: the default of each, and the others by name.

Closed = Callable[[Ranking, float], tuple[float, float]]

AREA_METHODS: Mapping[str, Closed] = {
    "delong-logit": delong_logit,
    "delong": delong,
    "hanley-mcneil": hanley_mcneil,
    "newcombe": newcombe,
}
PRECISION_METHODS: Mapping[str, Closed] = {"influence-logit": average_precision_limits}
BOOTSTRAPS: Mapping[str, tuple[Form, Draw | None]] = {
    "bootstrap-logit": ("transformed", None),
    "bootstrap": ("percentile", None),
    "stratified-bootstrap": ("percentile", "classes"),
    "bca": ("bca", None),
    "cluster-bootstrap": ("percentile", "groups"),
}


@dataclass(frozen=True, slots=True)
class RankingLimits:
    """An interval and the method that made it."""

    low: float
    high: float
    method: str


def ranking_limits(
    ranking: Ranking,
    bound: Bound,
    level: float = 0.95,
    *,
    method: str | None = None,
    seed: int = 0,
    replicates: int = 1999,
) -> RankingLimits:
    """The interval of a measure of a ranking, by its default method or by the one that is named.

    >>> import numpy as np
    >>> seen = Ranking(np.arange(4.0)[::-1], np.array([9, 4, 2, 1]), np.array([1, 3, 5, 9]))
    >>> found = ranking_limits(seen, Bound(roc_auc))
    >>> print(f"{found.low:.3f} {found.high:.3f} {found.method}")
    0.661 0.949 delong-logit
    """
    closed = closed_methods(bound)
    # The first of the closed forms is the default.
    name = method or next(iter(closed), "bootstrap-logit")
    if name in closed:
        low, high = closed[name](ranking, level)
        return RankingLimits(low, high, name)
    if name not in BOOTSTRAPS:
        known = [*closed, *BOOTSTRAPS]
        near = closest(name, known)
        raise OptionError(
            f"{bound.name} has no interval method {name!r}. It has: {listing(known)}.",
            hint=f"did you mean {near!r}?" if near else "leave the method out for the default.",
        )
    form, draw = BOOTSTRAPS[name]
    low, high = bootstrap_limits(ranking, bound, level, form=form, draw=draw, seed=seed, replicates=replicates)
    return RankingLimits(low, high, name)


def closed_methods(bound: Bound) -> Mapping[str, Closed]:
    """The methods without resampling that a measure has, its default first."""
    if bound.measure.name == roc_auc.name:
        return AREA_METHODS
    if bound.measure.name == gini.name:
        return {name: _doubled(find) for name, find in AREA_METHODS.items()}
    return PRECISION_METHODS if bound.measure.name == average_precision.name else {}


def _doubled(find: Closed) -> Closed:
    def limits(ranking: Ranking, level: float) -> tuple[float, float]:
        low, high = find(ranking, level)
        return 2 * low - 1, 2 * high - 1

    return limits


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
