"""Two classifiers on different test sets: the difference of two independent estimates."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from heldout.arguments import check_level, check_whole, listing, method_key
from heldout.arrays import Floats
from heldout.comparisons.delong import DELONG_UNPAIRED, delong_unpaired, widen_by_slack
from heldout.comparisons.pair_test import (
    PER_CASE,
    find_procedure,
    mover_limits,
    per_case_of_two,
    register_procedure,
    scale_test,
    tail_note,
    tail_p,
    two_sided,
)
from heldout.comparisons.paired_counts import note_undefined_draws
from heldout.comparisons.paired_losses import UNPAIRED_HALL, UNPAIRED_LOSS_T, MeanMoments, unpaired_mean_test
from heldout.comparisons.paired_scores import AREAS, choose_score_method
from heldout.errors import OptionError
from heldout.evidence import Confusion, Ranking
from heldout.evidence.joint_counts import GapSums
from heldout.evidence.labels import join_labels
from heldout.evidence.losses import LOSSES
from heldout.evidence.probabilities import Probabilities
from heldout.intervals.cluster_errors import cluster_spread, effective_scale, equal_groups_variance
from heldout.intervals.count_estimator import Estimator
from heldout.intervals.dependence import refuse_independent_rows
from heldout.intervals.draws import CELL_PRIOR, MOST_CELLS, Draws, posterior_draws, posterior_limits
from heldout.intervals.estimate import PairTest, join_notes, undefined_test
from heldout.intervals.methods import METHODS
from heldout.intervals.proportion import wilson
from heldout.intervals.quantiles import t_value, z_value
from heldout.intervals.target import Subject
from heldout.measures.cells import class_cells
from heldout.measures.certified import bounds
from heldout.measures.quantity import Bound, Quantity, micro_cells
from heldout.threads import cached_property

NEWCOMBE = register_procedure(
    "unpaired-newcombe",
    "different cases",
    "Wilson's intervals of two shares, joined by Pythagoras; pooled z test. Default for shares.",
    "Newcombe (1998), Statistics in Medicine 17, 873-890, method 10",
)
NORMAL = register_procedure(
    "unpaired-normal",
    "different cases",
    "Difference ± z standard errors, with the variances of the two added (Wald).",
    "Mitchell (1997), Machine Learning, section 5.5",
    "too short near 0 and 1 and with few cases",
)
FISHER = register_procedure(
    "fisher",
    "different cases",
    "Fisher's exact test of two shares; interval of Newcombe.",
    "Fisher (1935); Agresti (2013), Categorical Data Analysis, ch. 3",
    "rejects true nulls well below the rate it says: cautious",
)
DIRICHLET = register_procedure(
    "unpaired-dirichlet",
    "different cases",
    "Quantiles of the difference of two posteriors, drawn independently. Default for measures that are not shares.",
    METHODS["dirichlet"].reference,
)
OVER_GROUPS = "standard error over groups"
# A procedure's name says its setting; a person who has said "different cases" need not say it twice.
SHORT = {
    "newcombe": NEWCOMBE.name,
    "normal": NORMAL.name,
    "z": NORMAL.name,
    "dirichlet": DIRICHLET.name,
}
OF_SHARES = (NEWCOMBE.name, NORMAL.name, FISHER.name)
NO_CASES = "there are no such cases in one of the two test sets"
NO_SPREAD = "both shares are 0 or 1, so the standard error is zero and says nothing"
EFFECT = "Cohen's h"
# Posterior draws of the two sides come from streams that no seed of a single evaluation shares.
OTHER_SIDE = 1 << 40


def two_shares(
    hits_a: float, n_a: float, hits_b: float, n_b: float, *, method: str = "newcombe", level: float = 0.95
) -> PairTest:
    """Compare a share of n_a cases with a share of n_b other cases.

    >>> errors = two_shares(30, 100, 20, 100, method="normal")
    >>> print(f"d = {errors.difference:.2f}, sigma = {(errors.high - errors.difference) / 1.96:.3f}")
    d = 0.10, sigma = 0.061
    """
    name = _procedure(method)
    level = check_level(level, derived=True)
    if name not in OF_SHARES:
        raise OptionError(f"{name!r} compares tables, not shares.", hint=f"use one of: {listing(OF_SHARES)}.")
    for hits, n in ((hits_a, n_a), (hits_b, n_b)):
        if not 0 <= hits <= n:
            raise OptionError(f"{hits:g} of {n:g} is not a share.", hint="give counts with 0 ≤ hits ≤ n.")
    cases = int(n_a + n_b)
    if not n_a or not n_b:
        return undefined_test(NO_CASES, level, name, cases)
    p_a, p_b = hits_a / n_a, hits_b / n_b
    difference = p_a - p_b
    spread = p_a * (1 - p_a) / n_a + p_b * (1 - p_b) / n_b
    if name == NORMAL.name:
        half = z_value(level) * math.sqrt(spread)
        low, high = max(difference - half, -1.0), min(difference + half, 1.0)
        z = _ratio(difference, spread)
    else:
        low, high = newcombe_unpaired_limits(hits_a, n_a, hits_b, n_b, level)
        both = (hits_a + hits_b) / (n_a + n_b)
        z = _ratio(difference, both * (1 - both) * (1 / n_a + 1 / n_b))
    p = _fisher(hits_a, n_a, hits_b, n_b) if name == FISHER.name else math.erfc(abs(z) / math.sqrt(2))
    return PairTest(
        difference, low, high, level, name, p, cases,
        statistic=math.nan if name == FISHER.name else z,
        effect=2 * (math.asin(math.sqrt(p_a)) - math.asin(math.sqrt(p_b))), effect_name=EFFECT,
        note=NO_SPREAD if name == NORMAL.name and not spread else "",
        interval_method=NORMAL.name if name == NORMAL.name else NEWCOMBE.name,
    )  # fmt: skip


def newcombe_unpaired_limits(
    hits_a: float, n_a: float, hits_b: float, n_b: float, level: float = 0.95
) -> tuple[float, float]:
    """Newcombe's method 10 for two independent shares.

    >>> low, high = newcombe_unpaired_limits(56, 70, 48, 80)
    >>> print(f"{low:.4f} {high:.4f}")
    0.0524 0.3339
    """
    rates = hits_a / n_a, hits_b / n_b
    low, high = wilson([hits_a, hits_b], [n_a, n_b], level)
    own, other = zip(low.tolist(), high.tolist(), strict=True)
    return mover_limits((rates[0], rates[1]), (own, other))


def compare_unpaired(
    a: Confusion, b: Confusion, quantity: Quantity, *, method: str | None = None, level: float = 0.95, seed: int = 0
) -> PairTest:
    """The difference of a quantity between A on its test set and B on another.

    Shares get Newcombe's interval, everything else the Dirichlet posteriors of the two tables. Rows that come in groups
    get the normal interval with a standard error over groups.

    >>> from heldout.measures.catalogue import find
    >>> result = compare_unpaired(Confusion.of([[70, 30], [30, 70]]), Confusion.of([[80, 20], [20, 80]]),
    ...                          Quantity(find("accuracy")))
    >>> print(f"{result.difference:.2f} [{result.low:.3f}, {result.high:.3f}] p = {result.p:.3f}")
    -0.10 [-0.183, -0.015] p = 0.021
    """
    level = check_level(level, derived=True)
    check_whole("seed", seed, 0)
    asked = quantity.resolve(None)
    if asked.class_ is not None or asked.bound.costs is not None:
        labels = join_labels(a.labels, b.labels)
        if asked.bound.costs is not None and asked.bound.costs.shape[0] != len(labels):
            raise OptionError(
                f"The costs are for {asked.bound.costs.shape[0]} classes, and the two test sets have {len(labels)}.",
                hint="give a cost for every class that either test set holds.",
            )
        a, b = a.with_labels(labels), b.with_labels(labels)
    sides = [_Side(confusion, asked) for confusion in (a, b)]
    shares = [side.share for side in sides]
    name = _default(sides) if method is None else _procedure(method)
    _must_fit(name, sides, asked)
    difference = sides[0].value - sides[1].value
    if math.isnan(difference):
        without = " and ".join(side for side, own in zip("AB", sides, strict=True) if math.isnan(own.value))
        reason = f"{without}: {asked.bound.undefined}"
        return undefined_test(reason, level, name, a.n_cases + b.n_cases)
    if (
        name in OF_SHARES
        and shares[0] is not None
        and shares[1] is not None
        and not sides[0].grouped | sides[1].grouped
    ):
        test = two_shares(*shares[0], *shares[1], method=name, level=level)
        # Fractional hits of weighted cases are the share of an effective number of cases.
        return replace(test, difference=difference, n=a.n_cases + b.n_cases)
    if name == NORMAL.name:
        return _normal(sides, level)
    drawn = sides[0].drawn(level, seed) - sides[1].drawn(level, seed + OTHER_SIDE)
    defined = drawn[~np.isnan(drawn)]
    low, high = (float(limit) for limit in posterior_limits(defined, level))
    notes = note_undefined_draws(len(drawn) - len(defined), len(drawn)), tail_note(defined)
    return PairTest(
        difference, min(low, difference), max(high, difference), level, name, tail_p(defined), a.n_cases + b.n_cases,
        effect=_effect(sides), effect_name=PER_CASE, note=join_notes(*notes), interval_method=name,
    )  # fmt: skip


class _Side:
    """One of the two: its value, its share if it is one, and its random values."""

    def __init__(self, confusion: Confusion, quantity: Quantity) -> None:
        self.confusion = confusion
        self.grouped = confusion.clusters is not None
        subject = Estimator(confusion).subject(quantity)
        weighted = confusion.weighted and not self.grouped
        self.subject: Subject = subject.scaled(effective_scale(subject)) if weighted else subject
        self.place = 0 if quantity.class_ is None else confusion.index(quantity.class_)
        self.factor = quantity.times(confusion.n)

    def _one(self, values: Any) -> float:
        return float(np.asarray(values)[self.place] if self.subject.axis == "class" else values)

    @property
    def value(self) -> float:
        return self._one(self.subject.value) * self.factor

    @cached_property
    def _grouped_spread(self) -> tuple[Any, Any]:
        variance, df = cluster_spread(self.subject)
        if (variance == 0).any():
            # Groups that all show the same say nothing of how much groups differ.
            variance = np.where(variance == 0, equal_groups_variance(self.subject, df + 1), variance)
        return variance, df

    @property
    def variance(self) -> float:
        variance = self._grouped_spread[0] if self.grouped else self.subject.variance
        return self._one(variance) * self.factor**2

    @property
    def df(self) -> float:
        """The degrees of freedom that groups leave; infinite without groups."""
        return self._one(self._grouped_spread[1]) if self.grouped else math.inf

    @property
    def share(self) -> tuple[float, float] | None:
        """How many of how many, for a plain share."""
        trials = self.subject.trials
        if trials is not None and not self.subject.bound.measure.of_commonest:
            return self._one(trials[0]), self._one(trials[1])
        if self.subject.axis == "micro":
            at = np.array([0.25, 0.875])
            n = float(self.confusion.n * self.subject.scale)
            if np.allclose(
                self.subject.bound.value(micro_cells(at, 1.0 - at, max(self.subject.confusion.n_classes, 2))), at
            ):
                return self.value * n, n
        return None

    def drawn(self, level: float, seed: int) -> Floats:
        """The value on draws from the posterior of the table."""
        subject = self.subject
        if subject.axis == "class":
            shapes = subject.corners[self.place] + CELL_PRIOR
            rng = np.random.default_rng([seed, 24])
            size = posterior_draws(len(shapes), level)
            return np.asarray(subject.of_classes(class_cells(*rng.standard_gamma(shapes[:, None], size=(4, size)))))
        draws = Draws(self.confusion, seed, scale=subject.scale, level=level)
        return np.asarray(subject.of_tables(draws.posterior_tables)) * self.factor


def value_and_variance(confusion: Confusion, quantity: Quantity) -> tuple[float, float]:
    """The value of a quantity of counts, and its variance by the delta method.

    >>> from heldout.measures.catalogue import read_quantity
    >>> value, variance = value_and_variance(Confusion.of([[40, 10], [10, 40]]), read_quantity("accuracy"))
    >>> value, round(variance, 6)
    (0.8, 0.0016)
    """
    side = _Side(confusion, quantity)
    return side.value, side.variance


def _default(sides: list[_Side]) -> str:
    if any(side.grouped for side in sides):
        return NORMAL.name
    if all(side.share is not None for side in sides):
        return NEWCOMBE.name
    small = all(side.subject.axis == "class" or side.subject.confusion.n_classes**2 <= MOST_CELLS for side in sides)
    return DIRICHLET.name if small else NORMAL.name


def _must_fit(name: str, sides: list[_Side], quantity: Quantity) -> None:
    if any(side.grouped for side in sides) and name != NORMAL.name:
        raise refuse_independent_rows(
            name, "use 'normal', whose standard error is over groups, or count without group."
        )
    if name in (NEWCOMBE.name, FISHER.name) and any(side.share is None for side in sides):
        raise OptionError(
            f"The method {name!r} is for shares of cases, and {quantity.bound.name} is none.",
            hint=f"use {DIRICHLET.name!r} or {NORMAL.name!r}.",
        )
    if name not in (*OF_SHARES, DIRICHLET.name):
        raise OptionError(
            f"The method {name!r} does not work on counted predictions.",
            hint=f"use one of: {listing([*OF_SHARES, DIRICHLET.name])}.",
        )
    if name == FISHER.name and any(side.confusion.weighted for side in sides):
        raise OptionError("Fisher's test takes whole cases, and these have weights.", hint="use 'newcombe'.")


def _normal(sides: list[_Side], level: float) -> PairTest:
    difference = sides[0].value - sides[1].value
    spread = sides[0].variance + sides[1].variance
    grouped = any(side.grouped for side in sides)
    df = _welch(sides) if grouped else math.inf
    shown = math.nan if math.isinf(df) else df
    half = float(z_value(level) if math.isinf(df) else t_value(level, df)) * math.sqrt(spread)
    z = _ratio(difference, spread)
    return PairTest(
        difference, difference - half, difference + half, level, NORMAL.name, two_sided(z, df),
        sum(side.confusion.n_cases for side in sides), statistic=z, df=shown,
        effect=_effect(sides), effect_name=PER_CASE,
        note=OVER_GROUPS if grouped else "", interval_method=NORMAL.name,
    )  # fmt: skip


def _welch(sides: list[_Side]) -> float:
    """Welch's degrees of freedom, each variance with those that its groups leave."""
    total = sum(side.variance for side in sides)
    parts = sum(side.variance**2 / side.df for side in sides)
    return total**2 / parts if parts > 0 and math.isfinite(total) else math.inf


def _effect(sides: list[_Side]) -> float:
    a, b = sides
    error = math.sqrt(a.variance + b.variance)
    return per_case_of_two(a.value - b.value, error, a.confusion.n_cases, b.confusion.n_cases)


def _ratio(difference: float, variance: float) -> float:
    """Difference over standard error; equal and without spread is no difference."""
    if variance > 0:
        return difference / math.sqrt(variance)
    return math.copysign(math.inf, difference) if difference else 0.0


def _fisher(hits_a: float, n_a: float, hits_b: float, n_b: float) -> float:
    from scipy.stats import fisher_exact

    table = np.rint([[hits_a, n_a - hits_a], [hits_b, n_b - hits_b]]).astype(np.int64)
    return min(1.0, float(fisher_exact(table).pvalue))


def _procedure(method: str) -> str:
    key = method_key(method)
    return find_procedure(SHORT.get(key, key), "different cases").name


MOVER = "mover"
Limits = tuple[float, float, float]


def mover_difference(first: Limits, second: Limits, *, correlation: float = 0.0) -> Limits:
    """The first less the second, with limits by `mover_limits`; each is a value, a lower and an upper limit.

    >>> print(*(f"{end:.3f}" for end in mover_difference((0.9, 0.82, 0.95), (0.8, 0.71, 0.87))))
    0.100 -0.006 0.203
    """
    (value, *own), (other, *others) = first, second
    return value - other, *mover_limits((value, other), ((own[0], own[1]), (others[0], others[1])), correlation)


# Two classifiers by their scores, each with cases of its own, from rankings and sums of losses without the rows.


@dataclass(frozen=True, eq=False)
class CountedSide:
    """What is known of the scores of one classifier."""

    ranking: Ranking
    probabilities: Probabilities | None = None


def compare_counted_unpaired(
    a: CountedSide, b: CountedSide, bound: Bound, *, method: str | None, level: float
) -> PairTest:
    """A − B of the ROC area, the Gini coefficient or a mean loss; everything else needs the rows."""
    name = choose_score_method(bound, method, "different cases")
    if name == DELONG_UNPAIRED.name:
        test = delong_unpaired(a.ranking, b.ranking, level=level)
        widths = [high - low for low, high in (bounds(side.ranking, "roc_auc") for side in (a, b))]
        joined = any(side.ranking.joined is not None for side in (a, b))
        test = widen_by_slack(test, sum(widths) / 2) if joined else test
        return scale_test(test, AREAS[bound.measure.name])
    sides = a.probabilities, b.probabilities
    if name not in (UNPAIRED_LOSS_T.name, UNPAIRED_HALL.name) or sides[0] is None or sides[1] is None:
        raise OptionError(
            f"{bound.name} of different cases is compared by {name}, which needs the rows, and these were not kept.",
            hint=f"compare by {', '.join(AREAS)}, brier or log_loss by their usual methods, or give the rows.",
        )
    if sides[0].groups is not None or sides[1].groups is not None:
        raise OptionError(
            f"{bound.name} of different cases that come in groups needs the rows, and these were not kept.",
            hint="leave out group, or give the rows.",
        )
    losses = [side.losses[bound.measure.name].centred() for side in (sides[0], sides[1])]
    moments = [
        MeanMoments.from_sums(GapSums(side.n, own.centre, *map(float, own.sums[0, 1:])))
        for side, own in zip((sides[0], sides[1]), losses, strict=True)
    ]
    largest = LOSSES[bound.measure.name].largest(max(side.n_classes for side in (sides[0], sides[1])))
    sizes = sides[0].n, sides[1].n
    return unpaired_mean_test(
        moments[0], moments[1], sizes, form="hall" if name == UNPAIRED_HALL.name else "t", level=level, largest=largest
    )  # fmt: skip
