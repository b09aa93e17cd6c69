"""Which interval a measure of scores or probabilities gets: its default, and the others by name."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from heldout.arguments import closest, listing
from heldout.errors import OptionError
from heldout.evidence import Ranking
from heldout.evidence.probabilities import Probabilities
from heldout.intervals.areas import (
    average_precision_limits,
    delong,
    delong_logit,
    delong_score,
    hanley_mcneil,
    newcombe,
)
from heldout.intervals.calibration import calibration_limits, recalibration_limits, smooth_limits
from heldout.intervals.estimate import NO_INTERVAL
from heldout.intervals.losses import loss_limits, part_limits, skill_limits, top_k_limits, uncertainty_limits
from heldout.intervals.methods import DERIVED, EFRON_TIBSHIRANI, METHODS
from heldout.intervals.one_sided import (
    guarded_area_limits,
    guarded_loss_limits,
    guarded_precision_limits,
    guarded_skill_limits,
)
from heldout.intervals.operating_points import profile_limits
from heldout.intervals.proportion import clopper_pearson
from heldout.intervals.ranking_bootstrap import Draw, Form, bootstrap_limits
from heldout.measures.declare import Measure
from heldout.measures.quantity import Bound

RankingForm = Callable[[Ranking, float], tuple[float, float]]
ComponentForm = Callable[[Any, Bound, float], tuple[float, float]]
Found = TypeVar("Found")


@dataclass(frozen=True, slots=True)
class ScoreMethod(Generic[Found]):
    """An interval method of scores: what finds its limits, what it does in a sentence, and where it comes from.

    An `independent` one takes rows as such, and is not made for cases that come in groups.
    """

    name: str
    find: Found
    summary: str
    reference: str
    independent: bool = False


def _by_name(*methods: ScoreMethod[Found]) -> dict[str, ScoreMethod[Found]]:
    return {method.name: method for method in methods}


DELONG = "DeLong, DeLong & Clarke-Pearson (1988), Biometrics 44"
NEWCOMBE = "Newcombe (2006), Statistics in Medicine 25"
HANLEY_MCNEIL = "Hanley & McNeil (1982), Radiology 143"
HAMPEL = "Hampel (1974), JASA 69"
HALL = "Hall (1992), Journal of the Royal Statistical Society B 54"
FERRO_FRICKER = "Ferro & Fricker (2012), Quarterly Journal of the Royal Meteorological Society 138"
LESS_BIAS = "Standard error from the influence of each case, around the value corrected for the bias of small bins."

# The methods without resampling, by the names that measures declare. Those of areas need the ranking and the level.
AREA_FORMS: Mapping[str, ScoreMethod[RankingForm]] = _by_name(
    ScoreMethod(
        "delong-score",
        delong_score,
        "Inverts a test with Newcombe's variance, scaled to DeLong's.",
        NEWCOMBE,
        independent=True,
    ),
    ScoreMethod("delong-logit", delong_logit, "DeLong's variance, limits on the logit scale.", DELONG),
    ScoreMethod("delong", delong, "DeLong's variance, estimate ± z standard errors.", DELONG),
    ScoreMethod(
        "hanley-mcneil",
        hanley_mcneil,
        "A variance from the area and the numbers of cases alone.",
        HANLEY_MCNEIL,
        independent=True,
    ),
    ScoreMethod("newcombe", newcombe, "Inverts a test with Hanley and McNeil's variance.", NEWCOMBE, independent=True),
    ScoreMethod(
        "influence-logit",
        average_precision_limits,
        "Standard error from the influence of each case, on the logit scale.",
        HAMPEL,
    ),
)
# The others also need to know which loss, distance or coefficient the measure is about.
COMPONENT_FORMS: Mapping[str, ScoreMethod[ComponentForm]] = _by_name(
    ScoreMethod(
        "profile",
        profile_limits,
        "Limits over all thresholds that the cases do not rule out.",
        DERIVED,
        independent=True,
    ),
    ScoreMethod(
        "hall",
        lambda tally, bound, level: loss_limits(tally, bound.measure.component, level),
        "Student's t with a correction for skewness.",
        HALL,
    ),
    ScoreMethod(
        "influence",
        lambda tally, bound, level: skill_limits(tally, bound.measure.component, level),
        "Standard error from the influence of each case.",
        HAMPEL,
    ),
    ScoreMethod(
        "bias-corrected", lambda tally, _, level: part_limits(tally, "refinement", level), LESS_BIAS, FERRO_FRICKER
    ),
    ScoreMethod(
        "bias-corrected-shares",
        lambda tally, _, level: part_limits(tally, "resolution", level),
        LESS_BIAS,
        FERRO_FRICKER,
        independent=True,
    ),
    ScoreMethod(
        "wilson-spread",
        lambda tally, _, level: uncertainty_limits(tally, level),
        "Wilson's limits of the share of positives, as a variance.",
        "Wilson (1927)",
        independent=True,
    ),
    ScoreMethod(
        "test-inversion",
        lambda tally, bound, level: calibration_limits(tally, bound.measure.component, level),
        "All values that a test of calibration does not reject.",
        DERIVED,
    ),
    ScoreMethod(
        "smooth-inversion",
        lambda ranking, bound, level: smooth_limits(ranking, bound.parameters.get("quantile"), level),
        "All values that a test of calibration along the smooth curve does not reject.",
        DERIVED,
    ),
    ScoreMethod(
        "wald",
        lambda ranking, bound, level: recalibration_limits(ranking, bound.measure.component, level),
        "Estimate ± z standard errors of the recalibration fit.",
        "Cox (1958), Biometrika 45",
    ),
    ScoreMethod(
        "wilson",
        lambda tally, bound, level: top_k_limits(tally, int(bound.parameters["k"]), level),
        "Inverts the score test of a proportion.",
        "Wilson (1927)",
    ),
)
# The methods that gates use where an end of the default interval does not keep the level by itself.
GUARDED_AREA: ScoreMethod[RankingForm] = ScoreMethod(
    "delong-newcombe",
    guarded_area_limits,
    "The farther ones of DeLong's limits on the logit scale and Newcombe's.",
    f"{DELONG}; {NEWCOMBE}",
)
ONE_SIDED_AREAS: Mapping[str, ScoreMethod[RankingForm]] = {
    "delong-score": GUARDED_AREA,
    "delong-logit": GUARDED_AREA,
    "influence-logit": ScoreMethod(
        "guarded-influence",
        guarded_precision_limits,
        "Standard error from the influence of each case, after one more positive was ranked last, or first.",
        DERIVED,
    ),
}
ONE_SIDED_COMPONENTS: Mapping[str, ScoreMethod[ComponentForm]] = {
    "hall": ScoreMethod(
        "guarded-hall",
        lambda tally, bound, level: guarded_loss_limits(tally, bound.measure.component, level),
        "Hall's limits, the upper one at least that after one more case of the worst loss.",
        DERIVED,
    ),
    "influence": ScoreMethod(
        "guarded-skill",
        lambda tally, bound, level: guarded_skill_limits(tally, bound.measure.component, level),
        "The farther ones of the limits by the influence of each case and of those that the loss gives.",
        DERIVED,
    ),
    # The limits go along one direction of miscalibration, the one that was seen; half of the error is left for others.
    "test-inversion": ScoreMethod(
        "test-inversion, half of the error",
        lambda tally, bound, level: calibration_limits(tally, bound.measure.component, (1 + level) / 2),
        COMPONENT_FORMS["test-inversion"].summary,
        DERIVED,
    ),
    "smooth-inversion": ScoreMethod(
        "smooth-inversion, half of the error",
        lambda ranking, bound, level: smooth_limits(ranking, bound.parameters.get("quantile"), (1 + level) / 2),
        COMPONENT_FORMS["smooth-inversion"].summary,
        DERIVED,
    ),
    "profile": ScoreMethod(
        "profile",
        lambda ranking, bound, level: profile_limits(ranking, bound, level, one_sided=True),
        COMPONENT_FORMS["profile"].summary,
        DERIVED,
    ),
    "wilson": ScoreMethod(
        "clopper-pearson",
        lambda tally, bound, level: top_k_limits(tally, int(bound.parameters["k"]), level, clopper_pearson),
        METHODS["clopper-pearson"].summary,
        METHODS["clopper-pearson"].reference,
    ),
}
# How a note begins that says why there is no interval.
NO_INTERVAL_BECAUSE = "no interval: "
# Why a measure whose methods all take rows as independent has none where they are not.
NOT_OF_GROUPS = (
    f"{NO_INTERVAL_BECAUSE}it depends on the class shares, whose sums by group are not kept with the probabilities"
)
# Why a measure has none at all.
NOT_OF_FEW = (
    f"{NO_INTERVAL_BECAUSE}the value is set by bins with few cases, and no method that was tried held its level"
)
BOOTSTRAPS: Mapping[str, ScoreMethod[tuple[Form, Draw | None]]] = _by_name(
    ScoreMethod(
        "bootstrap-logit",
        ("transformed", None),
        "Standard deviation of resampled values, limits on the logit scale.",
        EFRON_TIBSHIRANI,
    ),
    ScoreMethod("bootstrap", ("percentile", None), "Percentiles of resampled values.", EFRON_TIBSHIRANI),
    ScoreMethod(
        "stratified-bootstrap",
        ("percentile", "classes"),
        "Percentiles of values resampled within the classes.",
        EFRON_TIBSHIRANI,
        independent=True,
    ),
    ScoreMethod(
        "bca",
        ("bca", None),
        "Percentiles of resampled values, corrected for bias and skewness.",
        "Efron (1987), JASA 82",
    ),
    ScoreMethod(
        "cluster-bootstrap",
        ("percentile", "groups"),
        "Percentiles of values with whole groups resampled.",
        "Field & Welsh (2007), JRSS B 69",
    ),
)


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
    >>> from heldout.measures.catalogue import find
    >>> limits = ranking_limits(seen, find("roc_auc"))
    >>> print(f"{limits.low:.3f} {limits.high:.3f} {limits.method}")
    0.661 0.945 delong-score
    """
    closed = closed_methods(bound.measure)
    name = method or default_score_method(bound.measure, grouped=ranking.groups is not None)
    if name in closed:
        return _closed_limits(bound, ranking, level, name)
    if name not in BOOTSTRAPS:
        known = [*closed, *BOOTSTRAPS]
        near = closest(name, known)
        raise OptionError(
            f"{bound.name} has no interval method {name!r}. It has: {listing(known)}.",
            hint=f"did you mean {near!r}?" if near else "leave the method out for the default.",
        )
    form, draw = BOOTSTRAPS[name].find
    low, high = bootstrap_limits(ranking, bound, level, form=form, draw=draw, seed=seed, replicates=replicates)
    return RankingLimits(low, high, name)


def closed_methods(measure: Measure) -> tuple[str, ...]:
    """The methods without resampling that a measure has, its default first."""
    return measure.scaled.measure.intervals


def _closed_limits(bound: Bound, evidence: Any, level: float, name: str) -> RankingLimits:
    if name in AREA_FORMS:
        # Measures that are one area scaled have its limits.
        memo, key = evidence.memo, ("limits", name, level)
        if key not in memo:
            memo[key] = AREA_FORMS[name].find(evidence, level)
        low, high = memo[key]
    else:
        low, high = COMPONENT_FORMS[name].find(evidence, bound, level)
    low, high = bound.measure.scaled.scale((float(low), float(high)))
    return RankingLimits(low, high, name)


def one_sided_limits(bound: Bound, evidence: Ranking | Probabilities, level: float) -> RankingLimits | None:
    """Limits whose ends each keep the level by themselves; None where those of the default do."""
    default = default_score_method(bound.measure)
    if default in ONE_SIDED_AREAS:
        area = ONE_SIDED_AREAS[default]
        name, (low, high) = area.name, area.find(evidence, level)  # type: ignore[arg-type]
    elif default in ONE_SIDED_COMPONENTS:
        component = ONE_SIDED_COMPONENTS[default]
        name, (low, high) = component.name, component.find(evidence, bound, level)
    else:
        return None
    return RankingLimits(*bound.measure.scaled.scale((float(low), float(high))), name)


def score_method_names() -> tuple[str, ...]:
    """Every method that some measure of scores has.

    >>> "delong" in score_method_names()
    True
    """
    return (*AREA_FORMS, *BOOTSTRAPS, *COMPONENT_FORMS)


def explain_method(name: str) -> tuple[str, str]:
    """What a method does in a sentence, and where it comes from; empty of one that is no method of scores.

    >>> explain_method("newcombe")
    ("Inverts a test with Hanley and McNeil's variance.", 'Newcombe (2006), Statistics in Medicine 25')
    """
    registers: tuple[Mapping[str, ScoreMethod[Any]], ...] = (
        AREA_FORMS, COMPONENT_FORMS, BOOTSTRAPS, ONE_SIDED_AREAS, ONE_SIDED_COMPONENTS,
    )  # fmt: skip
    every = (found for register in registers for found in register.values())
    return next(((found.summary, found.reference) for found in every if found.name == name), ("", ""))


def assumes_independence(name: str) -> bool:
    """Whether a method takes rows as independent, so that it is not made for cases that come in groups.

    >>> assumes_independence("delong-score"), assumes_independence("delong-logit")
    (True, False)
    """
    registers: tuple[Mapping[str, ScoreMethod[Any]], ...] = AREA_FORMS, COMPONENT_FORMS, BOOTSTRAPS
    return any(name in register and register[name].independent for register in registers)


def default_score_method(measure: Measure, *, grouped: bool = False) -> str:
    """What the default interval of a measure of scores is called; with groups the first that is made for them.

    >>> from heldout.measures.catalogue import find
    >>> default_score_method(find("brier").measure), default_score_method(find("auc").measure)
    ('hall', 'delong-score')
    >>> default_score_method(find("auc").measure, grouped=True)
    'delong-logit'
    """
    resampled = measure.scope == "ranking" and measure.kind != "calibration"
    fitting = (name for name in closed_methods(measure) if not (grouped and assumes_independence(name)))
    return next(fitting, "bootstrap-logit" if resampled else NO_INTERVAL)


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
    default = default_score_method(bound.measure, grouped=evidence.groups is not None)
    if isinstance(evidence, Ranking) and bound.measure.kind != "calibration":
        known = method in closed_methods(bound.measure) or method in BOOTSTRAPS
        unfit = method is not None and evidence.groups is not None and assumes_independence(method)
        asked = method if strict or (known and not unfit) else None
        return ranking_limits(evidence, bound, level, method=asked, seed=seed, replicates=replicates)
    if strict and isinstance(evidence, Ranking) and method in BOOTSTRAPS:
        return ranking_limits(evidence, bound, level, method=method, seed=seed, replicates=replicates)
    if strict and method not in (None, default):
        raise OptionError(
            f"The method {method!r} does not apply to {bound.name}.",
            hint=("it has an interval only" if default == NO_INTERVAL else f"its interval is by {default!r}, or")
            + " by a bootstrap where the rows are at hand.",
        )
    if default == NO_INTERVAL:
        return RankingLimits(math.nan, math.nan, NO_INTERVAL)
    return _closed_limits(bound, evidence, level, default)
