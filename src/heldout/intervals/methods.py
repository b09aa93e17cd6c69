"""Every interval method by name: one function each, what it applies to, and where it comes from."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from heldout.arguments import check_replicates, listing, method_key, require, suggest
from heldout.errors import OptionError
from heldout.evidence import Confusion
from heldout.intervals import proportion
from heldout.intervals.cluster_errors import (
    cluster_spread,
    effective_scale,
    equal_groups_size,
    equal_groups_variance,
    groups_behind,
    rounding_variance,
)
from heldout.intervals.draws import MOST_CELLS, Draws, bca_shares, order_limits, posterior_limits, share_limits
from heldout.intervals.macro import (
    TableCells,
    macro_f_limits,
    macro_jaccard_limits,
    macro_proportion_limits,
    weighted_precision_limits,
)
from heldout.intervals.one_sided import (
    effective_clopper_pearson,
    guarded_class_limits,
    guarded_group_limits,
    guarded_mean_limits,
    guarded_table_limits,
)
from heldout.intervals.quantiles import t_value, z_value
from heldout.intervals.score_limits import f_score_limits, mean_cost_limits, odds_ratio_limits, ratio_limits
from heldout.intervals.target import Subject
from heldout.measures.declare import Measure
from heldout.measures.quantity import Bound, class_pair, for_each_class

Limits = tuple[Any, Any]
Applies = Callable[[Subject], bool]
Find = Callable[[Subject, float, Draws], Limits]


@dataclass(frozen=True, slots=True)
class Method:
    """An interval method; `one_sided` names the one whose ends each keep the level by themselves, as gates need."""

    name: str
    summary: str
    reference: str
    applies: Applies
    find: Find
    groups: bool = False
    one_sided: str = ""


DERIVED = "derivations in docs/statistics.md"
EFRON_TIBSHIRANI = "Efron & Tibshirani (1993), ch. 13"
METHODS: dict[str, Method] = {}


def method(
    name: str, *, reference: str, applies: Applies, groups: bool = False, one_sided: str = ""
) -> Callable[[Find], Find]:
    """Enter a function into the register of methods; `groups` says that it is about grouped rows."""

    def enter(function: Find) -> Find:
        summary = (function.__doc__ or "").strip().splitlines()[0]
        METHODS[name] = Method(name, summary, reference, applies, function, groups, one_sided)
        return function

    return enter


def find_method(name: str) -> Method:
    """The method of that name.

    >>> find_method("Wilson").summary
    'Inverts the score test of a proportion.'
    """
    key = method_key(name)
    if key not in METHODS:
        raise unknown_method(name, METHODS)
    return METHODS[key]


def unknown_method(name: str, known: Iterable[str]) -> OptionError:
    """The error of a name that is none of the interval methods that are known."""
    names = list(dict.fromkeys(known))
    return OptionError(
        f"There is no interval method {name!r}. There are: {listing(names, most=40)}.",
        hint=suggest(method_key(name), names, "leave method out for the default of each measure."),
    )


def _is_proportion(subject: Subject) -> bool:
    return subject.trials is not None or (subject.axis == "micro" and subject.bound.measure.averages)


def _always(subject: Subject) -> bool:  # noqa: ARG001 - a predicate over subjects
    return True


def _on_proportion(formula: Callable[..., Limits], subject: Subject, level: float) -> Limits:
    if subject.axis == "micro":
        # With one label per case every micro average is a function of the accuracy alone.
        hits, n = float(subject.confusion.right * subject.scale), float(subject.confusion.n * subject.scale)
        memo, key = subject.confusion.memo, ("accuracy", formula.__name__, hits, n, level)
        if key not in memo:
            memo[key] = tuple(float(limit) for limit in formula(hits, n, level))
        ends = [float(subject.micro_image(end)) for end in memo[key]]
        return _within(subject, min(ends), max(ends))
    return formula(*require(subject.trials, f"{subject.bound.name} is not a proportion"), level)


@method("wilson", reference="Wilson (1927)", applies=_is_proportion, one_sided="clopper-pearson")
def wilson(subject: Subject, level: float, draws: Draws) -> Limits:  # noqa: ARG001
    """Inverts the score test of a proportion."""
    if subject.axis == "class" and subject.unscaled:
        settle_wilson([subject.bound], subject.confusion, level)
        limits: Limits = subject.confusion.memo["class wilson", subject.bound.key, level]
        return limits
    return _on_proportion(proportion.wilson, subject, level)


def settle_wilson(bounds: Iterable[Bound], confusion: Confusion, level: float) -> None:
    """Find these limits of every class by several proportions, and keep them as `settle_classes` keeps the values."""
    memo = confusion.memo
    wanted = [bound for bound in bounds if ("class wilson", bound.key, level) not in memo]
    if not wanted:
        return
    tops, bottoms = zip(*(class_pair(bound, confusion) for bound in wanted), strict=True)
    for bound, *limits in zip(wanted, *proportion.wilson(tops, bottoms, level), strict=True):
        memo["class wilson", bound.key, level] = tuple(limits)


@method("wilson-cc", reference="Newcombe (1998)", applies=_is_proportion)
def wilson_cc(subject: Subject, level: float, draws: Draws) -> Limits:  # noqa: ARG001
    """Wilson's interval with continuity correction."""
    return _on_proportion(proportion.wilson_cc, subject, level)


@method("clopper-pearson", reference="Clopper & Pearson (1934)", applies=_is_proportion)
def clopper_pearson(subject: Subject, level: float, draws: Draws) -> Limits:  # noqa: ARG001
    """Inverts the exact binomial test: never covers less than it says, often more."""
    return _on_proportion(proportion.clopper_pearson, subject, level)


@method("jeffreys", reference="Brown, Cai & DasGupta (2001)", applies=_is_proportion)
def jeffreys(subject: Subject, level: float, draws: Draws) -> Limits:  # noqa: ARG001
    """Quantiles of the posterior of a proportion under Jeffreys' prior."""
    return _on_proportion(proportion.jeffreys, subject, level)


@method("agresti-coull", reference="Agresti & Coull (1998)", applies=_is_proportion)
def agresti_coull(subject: Subject, level: float, draws: Draws) -> Limits:  # noqa: ARG001
    """The normal interval after adding z² pseudo-cases, half of them right."""
    return _on_proportion(proportion.agresti_coull, subject, level)


@method("mid-p", reference="Lancaster (1961)", applies=_is_proportion)
def mid_p(subject: Subject, level: float, draws: Draws) -> Limits:  # noqa: ARG001
    """Inverts the exact binomial test with half the probability of the outcome seen."""
    return _on_proportion(proportion.mid_p, subject, level)


def _is_largest_share(subject: Subject) -> bool:
    return subject.bound.measure.of_commonest


@method(
    "largest-share",
    reference=DERIVED,
    applies=_is_largest_share,
    one_sided="exact-largest-share",
)
def largest_share(subject: Subject, level: float, draws: Draws) -> Limits:  # noqa: ARG001
    """Wilson's limits; the lower one corrected for continuity and for the classes that may be the commonest."""
    return proportion.largest_share_limits(subject.confusion.truth_totals * subject.scale, level)


@method("exact-largest-share", reference=DERIVED, applies=_is_largest_share)
def exact_largest_share(subject: Subject, level: float, draws: Draws) -> Limits:  # noqa: ARG001
    """Clopper and Pearson's limits of the commonest class, the lower one with its error divided among all classes."""
    return proportion.exact_largest_share_limits(subject.confusion.truth_totals * subject.scale, level)


@method("normal", reference="Mitchell (1997), Machine Learning, ch. 5", applies=_always)
def normal(subject: Subject, level: float, draws: Draws) -> Limits:  # noqa: ARG001
    """The textbook z interval: estimate ± z standard errors; unreliable near 0 and 1 and for few cases."""
    if _is_proportion(subject):
        return _on_proportion(proportion.normal, subject, level)
    half = z_value(level) * np.sqrt(subject.variance)
    return _within(subject, subject.value - half, subject.value + half)


def _score_applies(subject: Subject) -> bool:
    return subject.axis in ("class", "table") and subject.bound.measure.kind in ("f", "ratio", "odds", "cost")


@method("score", reference=DERIVED, applies=_score_applies, one_sided="guarded-dirichlet")
def score(subject: Subject, level: float, draws: Draws) -> Limits:  # noqa: ARG001
    """Inverts a score test with the fit restricted to the value on trial: Wilson's relatives."""
    if subject.bound.measure.kind == "cost":
        return _cost(subject, level)
    if subject.bound.measure.kind == "f":
        return _class_f_limits(subject, level)
    if subject.bound.measure.kind == "odds":
        tp, fn, fp, tn = subject.corners.T
        return odds_ratio_limits(tp, fn, fp, tn, level)
    return _likelihood_limits(subject, level)


def _class_f_limits(subject: Subject, level: float) -> Limits:
    """The limits of the F of every class, which the interval of their mean needs again."""
    beta = subject.bound.parameters["beta"]

    def find(corners: Any) -> Any:
        # With FN and FP exchanged F-beta is that of 1/beta, for which others will ask.
        tp, fn, fp, _ = corners.T
        both = f_score_limits([tp, tp], [fp, fn], [fn, fp], beta, level)
        return np.stack([*both[0], *both[1]], axis=1)

    if np.ndim(subject.scale):
        low, _, high, _ = find(subject.corners).T
        return low, high
    scale = float(subject.scale)
    memo, key = subject.confusion.memo, ("class f limits", beta, level, scale)
    if key not in memo:
        both_limits = for_each_class(subject.confusion, lambda corners: find(corners * scale))
        low, other_low, high, other_high = np.ascontiguousarray(both_limits.T)
        if beta:
            memo["class f limits", 1 / beta, level, scale] = other_low, other_high
        memo[key] = low, high
    limits: Limits = memo[key]
    return limits


def _likelihood_limits(subject: Subject, level: float) -> Limits:
    """The limits of a likelihood ratio of every class; those of the other one are found in the same steps."""
    memo, key = subject.confusion.memo, ("likelihood limits", level, np.asarray(subject.scale).tobytes())
    if key not in memo:
        tp, fn, fp, tn = subject.corners.T
        memo[key] = ratio_limits([tp, fn], tp + fn, [fp, tn], fp + tn, level)
    low, high = memo[key]
    which = 0 if subject.bound.measure.name == "positive_likelihood_ratio" else 1
    return low[which], high[which]


def _cost(subject: Subject, level: float) -> Limits:
    return mean_cost_limits(*_cost_values(subject), level)


def _cost_values(subject: Subject) -> tuple[Any, Any]:
    """What a case can cost, and how many cost so much."""
    costs = require(subject.bound.costs, "a cost needs a cost matrix")
    # Every entry of the matrix is a value that a case could have cost, seen or not: leaving out the expensive error
    # that did not happen to occur is what makes the usual intervals fail.
    values, where = np.unique(costs, return_inverse=True)
    value_index = where.reshape(costs.shape)[subject.confusion.truth, subject.confusion.predicted]
    return values, np.bincount(value_index, weights=subject.counts, minlength=len(values))


def _dirichlet_applies(subject: Subject) -> bool:
    if subject.axis == "class":
        return True
    return (
        subject.axis != "micro"
        and subject.confusion.n_classes**2 <= MOST_CELLS
        and subject.bound.measure.kind != "cost"
    )


@method(
    "dirichlet",
    reference="Gelman et al. (2013), Bayesian Data Analysis, ch. 3",
    applies=_dirichlet_applies,
    one_sided="guarded-dirichlet",
)
def dirichlet(subject: Subject, level: float, draws: Draws) -> Limits:
    """Quantiles of the posterior of the cells: half a case added per cell of a 2 × 2 table, one in all to more."""
    return _within(subject, *_shared_limits(_posterior_limits, subject, level, draws))


def _shared_limits(find: Find, subject: Subject, level: float, draws: Draws) -> Limits:
    """The limits, found once for all that share them.

    What is a straight line of another measure has its limits, and what is one number of two classes is that of each.
    """
    scaling = subject.bound.measure.scaling
    bound = subject.bound if scaling is None else _bind(scaling.measure)
    axis = "table" if draws.of_two and bound.measure.scope == "table" else subject.axis
    key = find.__name__, bound.name, axis, level
    limits = draws.limits.get(key)
    if limits is None:
        limits = draws.limits[key] = find(replace(subject, bound=bound, axis=axis), level, draws)
    return limits if scaling is None else scaling.scale(limits)


@lru_cache(maxsize=16)
def _bind(measure: Measure) -> Bound:
    return Bound(measure)


def _posterior_limits(subject: Subject, level: float, draws: Draws) -> Limits:
    if subject.axis == "class":
        return posterior_limits(subject.of_classes(draws.posterior_classes), level)
    low, high = posterior_limits(np.asarray(subject.of_tables(draws.posterior_tables)), level)
    # Drawn shares and rates go together once more, so the draws lie above the truth by twice the bias.
    move = -2 * subject.share_bias
    if subject.confusion.n_classes == 2:
        # The half case in every cell moves the draws the other way: with few cases the moved limit lies below the
        # estimate itself, and 15 to 100 cases held it in .73 to .96 of the draws.
        return low + min(move, 0.0), high + max(move, 0.0)
    return low + move, high + move


def _guarded_applies(subject: Subject) -> bool:
    # Of a plain proportion the same limits are Clopper and Pearson's, without drawing.
    drawn = _dirichlet_applies(subject) and not _is_proportion(subject)
    return drawn or subject.bound.measure.kind == "cost"


@method(
    "guarded-dirichlet",
    reference=f"Fay, Proschan & Brittain (2015); {DERIVED}",
    applies=_guarded_applies,
)
def guarded_dirichlet(subject: Subject, level: float, draws: Draws) -> Limits:
    """Quantiles of the cells after one more case was added where it does most harm: each end keeps the level."""
    if subject.bound.measure.kind == "cost":
        return guarded_mean_limits(*_cost_values(subject), level, draws)
    if subject.axis == "class":
        return _within(subject, *guarded_class_limits(subject, level, draws))
    low, high = guarded_table_limits(subject, level, draws)
    if _stratified_applies(subject):
        # A class of two cases that are both right says little, and its own interval knows it.
        other_low, other_high = stratified_wilson(subject, level, draws)
        low, high = min(low, other_low), max(high, other_high)
    return _within(subject, low, high)


def _stratified_applies(subject: Subject) -> bool:
    measure = subject.bound.measure
    # Averaged by support, recall is a plain proportion.
    strata = bool(measure.strata) if subject.axis == "macro" else measure.strata == "predicted"
    return subject.axis in ("macro", "weighted") and (strata or measure.overlap)


@method(
    "stratified-wilson",
    reference=DERIVED,
    applies=_stratified_applies,
    one_sided="guarded-dirichlet",
)
def stratified_wilson(subject: Subject, level: float, draws: Draws) -> Limits:
    """Wilson's interval for an average over classes, with the effective number of cases of the classes together."""
    return _shared_limits(_average_limits, subject, level, draws)


def _average_limits(subject: Subject, level: float, draws: Draws) -> Limits:  # noqa: ARG001
    tp, fn, fp, _ = subject.corners.T
    by_support = subject.axis == "weighted"
    if subject.bound.measure.strata and not by_support:
        cells = {"tp": tp, "fn": fn, "fp": fp}
        top, bottom = subject.bound.pair(cells)
        return macro_proportion_limits(top, bottom, level)
    wrong, truth, predicted = _wrong_cells(subject.confusion)
    sparse = TableCells(truth, predicted, subject.counts[wrong])
    if subject.bound.measure.strata:
        return weighted_precision_limits(tp, fp, fn, sparse, level=level)
    if subject.bound.measure.kind == "f":
        limits, beta = _class_f_limits(subject, level), subject.bound.parameters["beta"]
        return macro_f_limits(tp, fp, fn, sparse, beta, level=level, class_limits=limits, by_support=by_support)
    return macro_jaccard_limits(tp, fp, fn, sparse, level=level, by_support=by_support)


def _wrong_cells(confusion: Confusion) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """The places of the cells off the diagonal, their true and their predicted classes, found once."""
    if "wrong cells" not in confusion.memo:
        wrong = np.flatnonzero(confusion.truth != confusion.predicted)
        confusion.memo["wrong cells"] = wrong, confusion.truth[wrong], confusion.predicted[wrong]
    cells: tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]] = confusion.memo["wrong cells"]
    return cells


def _bounded(subject: Subject) -> bool:
    return subject.bound.measure.bounded


@method(
    "effective-wilson",
    reference=DERIVED,
    applies=_bounded,
    one_sided="effective-clopper-pearson",
)
def effective_wilson(subject: Subject, level: float, draws: Draws) -> Limits:  # noqa: ARG001
    """Wilson's interval with the number of cases that gives a proportion the same standard error."""
    low, high = subject.bound.measure.range
    share = np.clip((subject.value - subject.share_bias - low) / (high - low), 0.0, 1.0)
    spread = subject.variance / (high - low) ** 2
    total = subject.confusion.n * subject.scale
    with np.errstate(divide="ignore", invalid="ignore"):
        # A kappa that no case moves, as of a constant answer, has a variance of rounding size.
        size = np.where(subject.variance > rounding_variance(subject), share * (1 - share) / spread, total)
    ends = proportion.wilson_at(share, size, z_value(level))
    return _within(subject, *(low + (high - low) * end for end in ends))


@method("effective-clopper-pearson", reference="Korn & Graubard (1998)", applies=_bounded)
def effective_exact(subject: Subject, level: float, draws: Draws) -> Limits:  # noqa: ARG001
    """Clopper and Pearson's interval with the number of cases that gives a proportion the same standard error."""
    return _within(subject, *effective_clopper_pearson(subject, level))


@method("logit", reference="Agresti (2013), Categorical Data Analysis, ch. 3", applies=_always)
def logit(subject: Subject, level: float, draws: Draws) -> Limits:  # noqa: ARG001
    """Delta-method standard error on the logit scale (log scale for ratios, none for costs)."""
    n = np.maximum(subject.confusion.n * subject.scale, 1.0)
    return _transformed(subject, subject.variance, z_value(level), level, n)


def _grouped(subject: Subject) -> bool:
    return subject.confusion.clusters is not None


@method(
    "cluster-logit",
    reference="Liang & Zeger (1986); MacKinnon, Nielsen & Webb (2023); Imbens & Kolesár (2016)",
    applies=_grouped,
    groups=True,
    one_sided="guarded-groups",
)
def cluster_logit(subject: Subject, level: float, draws: Draws) -> Limits:
    """Jackknife standard error over groups on the logit scale, t with as many degrees of freedom as groups leave."""
    clusters = subject.confusion.clusters
    groups = 0 if clusters is None else clusters.number
    if groups < 2:
        unknown = np.full(np.shape(subject.value), np.nan)
        if subject.bound.costs is not None:
            return float(subject.bound.costs.min()), float(subject.bound.costs.max())
        return _within(subject, unknown, unknown)
    behind = groups_behind(subject)
    variance, df = cluster_spread(subject)
    critical = t_value(level, np.maximum(np.minimum(df, behind - 1), 1))
    size = behind
    if (variance == 0).any():
        variance, size = _equal_groups(subject, variance, np.minimum(behind, df + 1))
    low, high = _transformed(subject, variance / subject.scale, critical, level, size, bounds=_entries(subject))
    still = (variance <= rounding_variance(subject)) & (np.asarray(subject.value) > 0)
    if subject.bound.measure.kind == "ratio" and still.any():
        # A ratio that no case moves, as of a constant answer, has the score interval of as many cases as groups.
        few = np.minimum(size / subject.confusion.n, effective_scale(subject))
        ends = score(subject.scaled(few), level, draws)
        low, high = (np.where(still, end, limit) for end, limit in zip(ends, (low, high), strict=True))
    # One group with such cases says nothing of how groups differ.
    floor, ceiling = subject.bound.measure.range
    return np.where(behind < 2, floor, low), np.where(behind < 2, ceiling, high)


def _guarded_groups_applies(subject: Subject) -> bool:
    return _grouped(subject) and subject.bound.measure.kind != "odds"


@method(
    "guarded-groups",
    reference="Phan, Thomas & Learned-Miller (2021), Towards practical mean bounds for small samples",
    applies=_guarded_groups_applies,
    groups=True,
)
def guarded_groups(subject: Subject, level: float, draws: Draws) -> Limits:
    """Groups drawn after one more was added that does most harm, or the jackknife's limit where that is farther."""
    usual = cluster_logit(subject, level, draws)
    guarded = guarded_group_limits(subject, level, draws)
    if guarded is None:
        return usual
    # Of groups that differ much in size the jackknife knows more: it takes their leverage out.
    return _within(subject, np.fmin(guarded[0], usual[0]), np.fmax(guarded[1], usual[1]))


def _equal_groups(subject: Subject, variance: Any, groups: Any) -> tuple[Any, Any]:
    """The variance and the number of cases to go by where all groups show the same, which leaves no variance.

    A measure without an upper bound has the variance of independent cases, as if there were no more than groups.
    """
    if np.isfinite(subject.bound.measure.range).all():
        behind = groups_behind(subject)
        return variance, np.where(variance == 0, equal_groups_size(subject, groups), behind)
    if subject.bound.costs is not None:
        return variance, groups
    return np.where(variance == 0, equal_groups_variance(subject, groups), variance), groups


def _entries(subject: Subject) -> tuple[float, float] | None:
    """The least and the largest entry of the cost matrix, between which a mean cost lies."""
    costs = subject.bound.costs
    return None if costs is None or not np.ptp(costs) > 0 else (float(costs.min()), float(costs.max()))


def _transformed(
    subject: Subject, variance: Any, critical: Any, level: float, size: Any, bounds: tuple[float, float] | None = None
) -> Limits:
    value, error = np.asarray(subject.value), np.sqrt(variance)
    low, high = subject.bound.measure.range
    if bounds is not None and error > 0 and bounds[0] < value < bounds[1]:
        low, high = bounds
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        if np.isfinite(low) and np.isfinite(high):
            share = (value - low) / (high - low)
            middle = np.log(share / (1 - share))
            half = critical * error / (high - low) / (share * (1 - share))
            ends = [1 / (1 + np.exp(-(middle + sign * half))) for sign in (-1, 1)]
            # At 0 and 1 the logit has no limit; Wilson with the number of independent units does.
            edge = proportion.wilson(np.nan_to_num(share) * size, size, level)
            at_edge = ((share <= 0) | (share >= 1) | (error == 0)) & ~np.isnan(share)
            ends = [np.where(at_edge, e, end) for e, end in zip(edge, ends, strict=True)]
            return _within(subject, *(low + (high - low) * end for end in ends))
        if np.isfinite(low):
            half = critical * error / value
            return _within(subject, value * np.exp(-half), value * np.exp(half))
        return _mean_cost(subject, value, critical * error, level, size)


def _mean_cost(subject: Subject, value: Any, half: Any, level: float, size: Any) -> Limits:
    """A cost has no scale to stretch, but it lies between the least and the largest entry of the matrix."""
    costs = subject.bound.costs
    floor, ceiling = (-np.inf, np.inf) if costs is None else (float(costs.min()), float(costs.max()))
    if costs is not None and not half > 0:
        # Where no group differs from the others, the score interval with as many cases as there are groups.
        return _cost(subject.scaled(subject.scale * size / subject.confusion.n), level)
    return np.fmax(value - half, floor), np.fmin(value + half, ceiling)


def _bootstrap_applies(subject: Subject) -> bool:
    return subject.axis == "class" or subject.confusion.is_dense


@method("bootstrap", reference=EFRON_TIBSHIRANI, applies=_bootstrap_applies)
def bootstrap(subject: Subject, level: float, draws: Draws) -> Limits:
    """Percentiles of resampled tables of counts; too narrow near a bound and with few cases."""
    return _within(subject, *order_limits(_resampled(subject, level, draws), level))


@method("bca", reference="Efron (1987)", applies=_bootstrap_applies)
def bca(subject: Subject, level: float, draws: Draws) -> Limits:
    """The bootstrap, corrected for bias and for a standard error that moves with the value."""
    values = _resampled(subject, level, draws)
    from scipy.special import ndtri

    value = np.asarray(subject.value)[..., None]
    # Ties count half: SciPy does so too, and tables of counts are full of ties.
    # The estimate and a redrawn table add up in another order, so equal means equal up to rounding.
    slack = 1e-12 * np.maximum(np.abs(value), 1.0)
    defined = np.maximum((~np.isnan(values)).sum(axis=-1), 1)
    below = ((values < value - slack).sum(axis=-1) + (values <= value + slack).sum(axis=-1)) / (2 * defined)
    shift = ndtri(np.clip(below, 1e-9, 1 - 1e-9))
    if subject.axis == "class":
        weights, axis = subject.corners, 1
    else:
        weights, axis = subject.counts, 0
    influence = subject.gradient
    with np.errstate(divide="ignore", invalid="ignore"):
        skew = (weights * influence**3).sum(axis=axis) / (6 * (weights * influence**2).sum(axis=axis) ** 1.5)
    skew = np.nan_to_num(skew)
    return _within(subject, *share_limits(values, *bca_shares(shift, skew, level)))


@method("cluster-bootstrap", reference="Field & Welsh (2007)", applies=_grouped, groups=True)
def cluster_bootstrap(subject: Subject, level: float, draws: Draws) -> Limits:
    """Percentiles over groups drawn with replacement; too narrow with rare errors or few groups."""
    check_replicates(draws.replicates, level)
    return _within(subject, *order_limits(draws.bootstrap_groups(subject), level))


def _resampled(subject: Subject, level: float, draws: Draws) -> Any:
    check_replicates(draws.replicates, level)
    if subject.axis == "class":
        return subject.of_classes(draws.bootstrap_classes)
    return draws.bootstrap_values(subject)


def _within(subject: Subject, low: Any, high: Any) -> Limits:
    """Limits inside the range of the measure, which know nothing where nothing is known, and hold the estimate."""
    floor, ceiling = subject.bound.measure.range
    if subject.axis != "class":
        low, high = float(low), float(high)
        # Of two numbers max and min take the first where the second is nan: an unknown limit is the end of the range.
        low, high = max(floor, low), min(ceiling, high)
        return hold(float(subject.value), min(low, ceiling), max(high, floor))
    # fmax and fmin pass over nan: unknown limits become the ends of the range, an undefined estimate is ignored.
    low, high = np.fmax(low, floor), np.fmin(high, ceiling)
    # A posterior leaves out an estimate of exactly 1: its upper quantile is .999. Percentiles of few draws, or at a low
    # level, lie on one side of a biased estimate.
    low, high = np.fmin(low, ceiling), np.fmax(high, floor)
    return np.fmin(low, subject.value), np.fmax(high, subject.value)


def hold(value: float, low: float, high: float) -> tuple[float, float]:
    """The limits, moved to hold the value; an unknown limit is the value, and an undefined value moves nothing.

    >>> hold(0.5, 0.6, float("nan")), hold(float("nan"), 0.2, 0.3)
    ((0.5, 0.5), (0.2, 0.3))
    """
    if math.isnan(value):
        return low, high
    return min(value, low), max(value, high)
