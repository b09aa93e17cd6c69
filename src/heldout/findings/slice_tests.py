"""A slice against the rest of the cases: the difference of a measure, its interval, and a test that keeps its level."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from heldout.arrays import Floats
from heldout.comparisons.independent import MOVER, of_limits
from heldout.comparisons.tested import Tested
from heldout.comparisons.unpaired import NEWCOMBE, NORMAL, compare_unpaired
from heldout.estimates.estimate import Estimate
from heldout.estimates.interval import Estimator
from heldout.estimates.quantiles import z_value
from heldout.estimates.spread import effective_scale
from heldout.estimates.subject import Subject
from heldout.evidence import Confusion
from heldout.evidence.keys import join_keys
from heldout.evidence.slices import SliceCounts
from heldout.measures.cells import class_cells
from heldout.measures.quantity import Quantity

# One side of a difference: how many of how many cases, or counts where the quantity is no share.
Side = tuple[float, float] | Confusion

EXACT = "fisher, twice the smaller tail"
CLUSTERED = "t over groups"
ONE_SIDE = "a group is the unit of chance, and one of the two sides has fewer than two"
NO_SPREAD = "no group differs from another, so the standard error is zero and says nothing"
LOST_IN_SUMS = 60


def exact_p(hits: float, n: float, other_hits: float, other_n: float) -> float:
    """Twice the smaller tail of Fisher's exact test of two shares: never rejects a true null more often than it says.

    The pooled z test does in the far tails that a correction for many slices looks at, where errors are rare.
    Fisher (1935); Agresti (2013), Categorical Data Analysis, section 3.5.

    >>> print(f"{exact_p(9, 10, 4, 10):.4f}")
    0.0573
    """
    x, drawn, marked, total = (round(value) for value in (hits, n, hits + other_hits, n + other_n))
    if not drawn or drawn == total:
        return math.nan
    mean = drawn * marked / total
    if x < mean:
        # The lower tail of the hits is the upper tail of the misses.
        x, marked, mean = drawn - x, total - marked, drawn - mean

    def ways(a: int, b: int) -> float:
        return math.lgamma(a + 1) - math.lgamma(b + 1) - math.lgamma(a - b + 1)

    first = math.exp(ways(marked, x) + ways(total - marked, drawn - x) - ways(total, drawn))
    spread = math.sqrt(mean * (1 - marked / total) * (total - drawn) / max(total - 1, 1))
    # Terms beyond ten standard deviations past the first are less than its rounding.
    terms = min(min(marked, drawn) - x, int(10 * spread) + LOST_IN_SUMS)
    at = x + np.arange(terms, dtype=np.float64)
    ratios = (marked - at) * (drawn - at) / ((at + 1) * (total - marked - drawn + at + 1))
    return min(1.0, 2 * first * (1 + float(np.cumprod(ratios).sum())))


def share_of(confusion: Confusion, quantity: Quantity) -> tuple[float, float] | None:
    """How many of how many cases, where the quantity is a plain share of cases that count alike; otherwise None."""
    if confusion.weighted or confusion.clusters is not None:
        return None
    trials = Estimator(confusion).subject(quantity).trials
    if trials is None or quantity.bound.measure.name == "no_information_rate":
        return None
    place = 0 if quantity.class_ is None else confusion.index(quantity.class_)
    top, bottom = (float(np.asarray(part).reshape(-1)[place]) for part in trials)
    # Parts of cases that were predicted several times are no whole ones.
    whole = confusion.counts.dtype.kind == "i"
    return (top, bottom) if whole else None


def shares_of(counted: SliceCounts, quantity: Quantity) -> tuple[Floats, Floats] | None:
    """How many of how many cases in every slice at once, as `share_of` finds for one; otherwise None."""
    measure, cases = quantity.bound.measure, counted.cases
    plain = counted.weights is None and counted.groups is None and measure.kind == "proportion"
    if not plain or quantity.average is not None or measure.name == "no_information_rate":
        return None

    def summed(rows: NDArray[np.bool_]) -> Floats:
        found = np.bincount(cases.fold[rows], weights=cases.counts[rows], minlength=len(cases))
        return np.asarray(found, dtype=np.float64)

    if quantity.class_ is None:
        if not set(measure.cells) <= {"n", "correct"}:
            return None
        top, bottom = quantity.bound.pair({"n": cases.sizes, "correct": summed(cases.truth == cases.predicted)})
    else:
        place = cases.labels.index(quantity.class_)
        of_class, called = cases.truth == place, cases.predicted == place
        corners = (of_class & called, of_class & ~called, ~of_class & called, ~of_class & ~called)
        top, bottom = quantity.bound.pair(class_cells(*map(summed, corners)))
    return np.asarray(top, dtype=np.float64), np.asarray(bottom, dtype=np.float64)


def quick_test(inside: Side, outside: Side, quantity: Quantity) -> tuple[float, float]:
    """The difference and its p-value alone, for a search through many slices."""
    if isinstance(inside, Confusion) or isinstance(outside, Confusion):
        return _quick_counts(inside, outside, quantity)
    (hits, n), (other_hits, other_n) = inside, outside
    if not n or not other_n:
        return math.nan, math.nan
    return hits / n - other_hits / other_n, exact_p(hits, n, other_hits, other_n)


def _quick_counts(inside: Side, outside: Side, quantity: Quantity) -> tuple[float, float]:
    if not isinstance(inside, Confusion) or not isinstance(outside, Confusion):
        message = "a share and a table cannot be compared"
        raise TypeError(message)
    one, two = share_of(inside, quantity), share_of(outside, quantity)
    if one is not None and two is not None:
        return quick_test(one, two, quantity)
    if inside.clusters is not None:
        found = clustered(inside, outside, quantity, 0.95)
    else:
        found = compare_unpaired(inside, outside, quantity, method=_quick_method(inside, quantity))
    return found.difference, found.p


def _quick_method(confusion: Confusion, quantity: Quantity) -> str:
    """Shares of weighted cases by their effective numbers; everything else by the delta method, without draws."""
    return NEWCOMBE.name if Estimator(confusion).subject(quantity).trials is not None else NORMAL.name


def against_rest(
    inside: Confusion, outside: Confusion, quantity: Quantity, level: float, seed: int, *, quick: bool = False
) -> Tested:
    """The difference of a quantity between a slice and the rest, two samples that share no case.

    >>> from heldout.measures.catalogue import find
    >>> found = against_rest(Confusion.of([[20, 10], [10, 20]]), Confusion.of([[90, 10], [10, 90]]),
    ...                      Quantity(find("error_rate")), 0.95, 0)
    >>> print(f"{found.difference:.3f} [{found.low:.3f}, {found.high:.3f}]")
    0.233 [0.116, 0.364]
    """
    if inside.clusters is not None:
        return clustered(inside, outside, quantity, level)
    method = _quick_method(inside, quantity) if quick else None
    found = compare_unpaired(inside, outside, quantity, method=method, level=level, seed=seed)
    shares = share_of(inside, quantity), share_of(outside, quantity)
    if found.undefined or shares[0] is None or shares[1] is None:
        return found
    return replace(found, p=exact_p(*shares[0], *shares[1]), method=EXACT, statistic=math.nan)


def clustered(inside: Confusion, outside: Confusion, quantity: Quantity, level: float) -> Tested:
    """The difference where rows come in groups, which may have rows on both sides.

    The influences of a group on the two sides are subtracted before they are squared, so that a group which is hard in
    the slice and outside it does not count as two. Liang & Zeger (1986); t with one less than the groups of the smaller
    side, because z is too sure with few.
    """
    nan, cases = math.nan, inside.n_cases + outside.n_cases
    sides = [Estimator(confusion).subject(quantity) for confusion in (inside, outside)]
    place = 0 if quantity.class_ is None else inside.index(quantity.class_)
    values = [float(np.asarray(subject.value).reshape(-1)[place]) for subject in sides]
    difference = values[0] - values[1]
    if math.isnan(difference):
        return Tested(nan, nan, nan, level, CLUSTERED, nan, cases, undefined=quantity.bound.undefined)
    influences = [_influence(subject, place) for subject in sides]
    fewest = min(len(keys) for keys, _ in influences)
    if fewest < 2:
        return Tested(difference, nan, nan, level, CLUSTERED, nan, cases, note=ONE_SIDE)
    keys, code = join_keys([keys for keys, _ in influences])
    signed = np.concatenate([influences[0][1], -influences[1][1]])
    together = np.bincount(code, weights=signed, minlength=len(keys))
    error = math.sqrt(len(keys) / (len(keys) - 1) * float((together**2).sum()))
    if not error:
        note = NO_SPREAD if difference else ""
        return Tested(difference, nan, nan, level, CLUSTERED, nan if difference else 1.0, cases, note=note)
    from scipy.special import stdtr, stdtrit

    df = fewest - 1
    half = float(stdtrit(df, (1 + level) / 2)) * error
    low, high = difference - half, difference + half
    if quantity.bound.measure.bounded:
        reach = quantity.bound.measure.high - quantity.bound.measure.low
        low, high = max(low, -reach), min(high, reach)
    p = 2 * float(stdtr(df, -abs(difference) / error))
    return Tested(
        difference, low, high, level, CLUSTERED, p, cases, statistic=difference / error, df=float(df),
        note="standard error over groups", interval_method=CLUSTERED,
    )  # fmt: skip


def _influence(subject: Subject, place: int) -> tuple[NDArray[Any], NDArray[np.float64]]:
    """The keys of the groups on one side, and how far each of them pulls the value."""
    confusion = subject.confusion
    clusters = confusion.clusters
    if clusters is None:
        message = "there are no groups"
        raise TypeError(message)
    slope = subject.gradient
    if subject.axis == "class":
        of_class = confusion.truth == place, confusion.predicted == place
        corner = np.where(of_class[0], np.where(of_class[1], 0, 1), np.where(of_class[1], 2, 3))
        slope = slope[place][corner]
    pull = np.bincount(clusters.group, weights=clusters.count * slope[clusters.cell], minlength=clusters.number)
    return clusters.keys, np.asarray(pull, dtype=np.float64)


def effective_trials(confusion: Confusion, quantity: Quantity) -> float:
    """The number of cases behind a quantity, that of the denominator where it is a share."""
    subject = Estimator(confusion).subject(quantity)
    if confusion.weighted and confusion.clusters is None:
        subject = subject.scaled(effective_scale(subject))
    if subject.trials is None:
        return float(confusion.n)
    place = 0 if quantity.class_ is None else confusion.index(quantity.class_)
    return float(np.asarray(subject.trials[1]).reshape(-1)[place])


def of_estimates(inside: Estimate, outside: Estimate, level: float, cases: int) -> Tested:
    """The difference of two independent estimates from their intervals alone.

    The p-value is that of a normal distribution whose standard error is told by the limit nearer to zero: Altman &
    Bland (2011), BMJ 343, d2304.
    """
    nan = math.nan
    difference, low, high = of_limits(*((one.value, one.low, one.high) for one in (inside, outside)))
    if math.isnan(difference):
        return Tested(nan, nan, nan, level, MOVER, nan, cases, undefined=inside.undefined or outside.undefined)
    error = (difference - low if difference > 0 else high - difference) / z_value(level)
    p = math.erfc(abs(difference) / error / math.sqrt(2)) if error > 0 else (nan if difference else 1.0)
    return Tested(difference, low, high, level, MOVER, p, cases, interval_method=MOVER)
