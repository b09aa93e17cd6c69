"""How far a standard error from groups can be trusted: leverage of unequal groups, and degrees of freedom.

A measure is linearised: each case has an influence, and the influences of a group are summed to u. A group that holds
the share h of what the measure rests on pulls the estimate towards itself, so its u is too small; leaving the group
out moves the measure by about u / (1 − h). The sum of those squares, times (G − 1) / G, is the jackknife variance over
groups: Efron & Stein (1981), Annals of Statistics 9, 586-596; for groups of unequal size MacKinnon, Nielsen & Webb
(2023), Journal of Applied Econometrics 38, 671-694.

The variance rests on few groups where few are large, so its t has Satterthwaite's degrees of freedom under a working
model of equally correlated cases within groups, whose correlation is estimated: Bell & McCaffrey (2002), Survey
Methodology 28, 169-181; Imbens & Kolesár (2016), Review of Economics and Statistics 98, 701-712. With the variances σ²
of single cases, which add up to 1, and the correlation ρ, the sum of a group has the variance (1 − ρ)h + ρa²: h is the
sum of its σ², and a, its pull, that of its σ.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from heldout.arguments import require
from heldout.arrays import Floats
from heldout.evidence.probabilities import sums_by
from heldout.evidence.ranking import Ranking
from heldout.measures.ranking_batch import inner

# A group with a larger share counts as one with this: a variance a million times as large says that nothing is known.
MOST_SHARE = 0.999
# Groups whose Σa² is within this of 1 are single cases but for rounding.
SINGLE_CASES = 1e-6
# A variance over groups below this part of that of independent cases is rounding: every group shows the same. One case
# that differs among n makes it about 1/n; rounding makes it about n times the square of 1e-16.
EQUAL_GROUPS = 1e-12


@dataclass(frozen=True, slots=True)
class GroupSpread:
    """The variance of an estimate, the degrees of freedom of its t, and the effective number of groups.

    The variance is exactly 0 where every group shows the same: that says nothing of how much groups differ. `factors`
    are what the sum of each group was multiplied by to allow for its leverage.
    """

    variance: float
    df: float
    effective: float
    factors: Floats


def effective_number(sizes: Any) -> float:
    """How many groups of equal size tell as much: (Σm)² / Σm²; 0 where there are none.

    >>> effective_number([10, 10, 10]), round(effective_number([28, 1, 1]), 2)
    (3.0, 1.15)
    """
    weights = np.asarray(sizes, dtype=np.float64)
    squares = float((weights**2).sum())
    return float(weights.sum()) ** 2 / squares if squares > 0 else 0.0


def leverage_factors(shares: Any, number: int | None = None) -> Any:
    """What to multiply group sums by before squaring them: (1 − 1/G) / (1 − h), which is 1 for equal groups.

    >>> leverage_factors(np.array([0.5, 0.25, 0.25])).round(3)
    array([1.333, 0.889, 0.889])
    """
    capped = np.minimum(np.asarray(shares, dtype=np.float64), MOST_SHARE)
    return (1 - 1 / (len(capped) if number is None else number)) / (1 - capped)


def group_freedom(powers: tuple[Any, Any, Any], pulls: Any, design_effect: Any) -> Any:
    """Satterthwaite's degrees of freedom from Σh², Σha² and Σa⁴ of the groups' shares h and pulls a, and from Σa².

    `design_effect` is how many times the variance of independent cases was seen: it gives the correlation ρ of cases of
    one group, because it is (1 − ρ) + ρΣa².

    >>> h = np.full(30, 1 / 30)
    >>> a = h * math.sqrt(300)
    >>> powers = (h**2).sum(), (h * a**2).sum(), (a**4).sum()
    >>> round(float(group_freedom(powers, (a**2).sum(), 2.0)), 6)
    29.0
    """
    second, mixed, fourth = powers
    with np.errstate(divide="ignore", invalid="ignore"):
        # Single cases as groups have no correlation, and a quotient of rounding errors would be one.
        beyond = np.asarray(pulls) - 1
        rho = np.where(beyond > SINGLE_CASES, (design_effect - 1) / np.maximum(beyond, SINGLE_CASES), 0.0)
        rho = np.clip(np.nan_to_num(rho, nan=0.0, posinf=1.0), 0.0, 1.0)
        total = (1 - rho) + rho * pulls
        spread = (1 - rho) ** 2 * second + 2 * (1 - rho) * rho * mixed + rho**2 * fourth
        return np.maximum(np.nan_to_num(total**2 / spread, nan=1.0, posinf=1.0) - 1, 1.0)


def group_spread(sums: Floats, shares: Floats, pulls: Floats, *, independent: float) -> GroupSpread:
    """The variance that group sums of influence give, with its degrees of freedom.

    `shares` are each group's part of what the measure rests on, `pulls` the sums of its cases' standard deviations, and
    `independent` is the variance that independent cases would have.

    >>> sums, shares = np.array([0.02, -0.01, 0.01, -0.02]), np.full(4, 0.25)
    >>> spread = group_spread(sums, shares, even_pulls(shares, 40), independent=0.001)
    >>> round(spread.variance, 6), round(spread.df, 3)
    (0.001333, 3.0)
    """
    number = len(sums)
    factors = leverage_factors(shares)
    moved = sums * factors
    variance = number / (number - 1) * float(moved @ moved) if number > 1 else np.inf
    variance = 0.0 if variance <= EQUAL_GROUPS * independent else variance
    squares = pulls**2
    powers = float(shares @ shares), float(shares @ squares), float(squares @ squares)
    effect = float(sums @ sums) / independent if independent > 0 else 1.0
    df = float(group_freedom(powers, float(squares.sum()), effect))
    return GroupSpread(variance, df, effective_number(shares), factors)


def even_pulls(shares: Any, cases: float) -> Any:
    """The pulls of groups whose cases all have the same variance; `cases` is their number, with weights Kish's.

    >>> even_pulls(np.array([0.25, 0.75]), 16)
    array([1., 3.])
    """
    return np.asarray(shares) * math.sqrt(cases)


def class_shares(
    group: Any, class_: Any, weight: Any, spread: Floats, squares: Floats, number: int
) -> tuple[Floats, Floats]:
    """The shares and pulls of every group in a measure whose classes have different parts in the variance.

    `group`, `class_` and `weight` list the cases, or sums of them; `spread` is the variance that the cases of each
    class add, and `squares` the sums of their squared weights. Within a class a group's share is that of its cases.

    >>> shares, pulls = class_shares(
    ...     np.array([0, 0, 1]), np.array([0, 1, 1]), np.ones(3), np.array([1.0, 3.0]), np.array([1.0, 2.0]), 2)
    >>> shares, pulls.round(3)
    (array([0.625, 0.375]), array([1.112, 0.612]))
    """
    total = sums_by(class_, weight, len(spread))
    parts = spread if float(spread.sum()) > 0 else total
    whole, present = float(parts.sum()), total > 0
    per_case = np.divide(parts, total * whole, out=np.zeros_like(total), where=present)
    deviation = np.sqrt(np.divide(parts, squares * whole, out=np.zeros_like(total), where=present))
    weights = np.asarray(weight)
    return sums_by(group, weights * per_case[class_], number), sums_by(group, weights * deviation[class_], number)


def ranked_spread(ranking: Ranking, up: Floats, down: Floats, *, by_class: bool = False) -> GroupSpread:
    """The variance of a measure of a ranking, from the influence of a positive and of a negative at each score.

    With `by_class` the positives and the negatives are two samples of groups, each with its own number and leverage
    (Obuchowski 1997, Biometrics 53, 567-578). Where every case is its own group that is DeLong's variance.

    >>> from heldout.evidence.ranking import RankedGroups
    >>> groups = RankedGroups(np.arange(3), np.array([0, 1, 2]), np.array([0, 1, 1]), np.ones(3), np.zeros(3))
    >>> seen = Ranking(np.array([0.9, 0.4]), np.array([1, 2]), np.array([0, 0]), groups=groups)
    >>> round(ranked_spread(seen, np.array([0.2, -0.1]), np.zeros(2)).variance, 6)
    0.09
    """
    groups = require(ranking.groups, "there are no groups")
    code, number = groups.group, len(groups.keys)
    columns = groups.positives, groups.negatives
    sizes = [sums_by(code, column, number) for column in columns]
    shares_of_class = [size / max(float(size.sum()), 1e-300) for size in sizes]
    sums = [
        sums_by(code, column * part[groups.place], number) for column, part in zip(columns, (up, down), strict=True)
    ]
    squares = [
        entries if own is None else own
        for entries, own in (
            (ranking.positives, ranking.positive_squares),
            (ranking.negatives, ranking.negative_squares),
        )
    ]
    spread = [inner(square, part**2) for square, part in zip(squares, (up, down), strict=True)]
    independent = float(sum(spread))
    total = np.array([float(square.sum(dtype=np.float64)) for square in squares])
    # The positives and then the negatives of every group.
    both, classes = np.tile(np.arange(number), 2), np.repeat([0, 1], number)
    shares, pulls = class_shares(both, classes, np.concatenate(sizes), np.array(spread), total, number)
    grouped = group_spread(sums[0] + sums[1], shares, pulls, independent=independent)
    if not by_class or number < 2:
        return grouped
    group_counts = [int((size > 0).sum()) for size in sizes]
    moved = [
        part * leverage_factors(own, many) for part, own, many in zip(sums, shares_of_class, group_counts, strict=True)
    ]
    within = sum(many / max(many - 1, 1) * float(part @ part) for many, part in zip(group_counts, moved, strict=True))
    across = 2 * number / (number - 1) * float(moved[0] @ moved[1])
    variance = within + across
    variance = 0.0 if variance <= EQUAL_GROUPS * max(independent, within) else variance
    return replace(grouped, variance=variance, df=min(grouped.df, max(min(group_counts) - 1.0, 1.0)))
