"""Which interval a measure of a ranking gets: the default of each, and the others by name."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from heldout.arguments import closest, listing
from heldout.errors import OptionError
from heldout.estimates.delong import delong, delong_logit, hanley_mcneil, newcombe
from heldout.estimates.precision_area import average_precision_limits
from heldout.estimates.ranking_bootstrap import Draw, Form, bootstrap_limits
from heldout.evidence import Ranking
from heldout.measures.quantity import Bound
from heldout.measures.ranking import average_precision, gini, roc_auc

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
