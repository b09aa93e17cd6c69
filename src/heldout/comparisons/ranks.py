"""Learners ranked on every data set: average ranks, Friedman's tests, and tests of pairs of ranks."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from heldout.arrays import Floats, Integers
from heldout.comparisons.pair_test import procedure
from heldout.comparisons.result_table import ResultTable
from heldout.intervals.quantiles import z_value

# Values that differ by rounding alone are ties, though a computer may have put one above the other.
ROUNDING = 1e-12

FRIEDMAN = procedure(
    "friedman",
    "data sets",
    "Chi-square of the average ranks, without a correction for ties.",
    "Friedman (1937)",
    "conservative, the more so with ties and with few data sets",
)
FRIEDMAN_TIES = procedure(
    "friedman-ties",
    "data sets",
    "Friedman's chi-square divided by what ties take away from it.",
    "Conover (1999)",
    "conservative with few data sets",
)
IMAN_DAVENPORT = procedure(
    "iman-davenport",
    "data sets",
    "Friedman's chi-square, without a correction for ties, turned into an F.",
    "Iman & Davenport (1980)",
)
NEMENYI = procedure(
    "nemenyi",
    "data sets",
    "Every pair of average ranks against the studentized range.",
    "Nemenyi (1963)",
    "whether two learners differ depends on which others stand in the table (Benavoli, Corani & Mangili, 2016)",
)


@dataclass(frozen=True, slots=True)
class Omnibus:
    """A test of whether any learner differs from the others; `df` has one figure, or two for an F."""

    method: str
    statistic: float
    df: tuple[float, ...]
    p: float
    n: int
    note: str = ""


def tied_ranks(values: Any, scale: Any = None) -> Floats:
    """Ranks from the smallest up, ties getting their mean; what differs by rounding alone is a tie.

    `scale` is the size of the numbers that the values are differences of.

    >>> tied_ranks([0.3, 0.1, 0.1 + 0.2]).tolist()
    [2.5, 1.0, 2.5]
    """
    x = np.asarray(values, dtype=np.float64)
    size = np.abs(x) if scale is None else np.broadcast_to(np.asarray(scale, dtype=np.float64), x.shape)
    order = np.argsort(x, kind="stable")
    near = ROUNDING * np.maximum(size[order][1:], size[order][:-1])
    begins = np.concatenate([[True], np.diff(x[order]) > near])
    group = np.cumsum(begins) - 1
    count = np.bincount(group)
    last = np.cumsum(count)
    made = np.empty(len(x))
    made[order] = (last - (count - 1) / 2)[group]
    return made


def rank_table(table: ResultTable) -> Floats:
    """The rank of every learner on every data set, 1 for the best."""
    sign = -1.0 if table.higher_is_better else 1.0
    return np.array([tied_ranks(sign * row) for row in table.values])


def friedman(ranks: Floats, *, ties: bool = True) -> Omnibus:
    """Friedman's chi-square, with or without the correction for ties.

    >>> found = friedman(np.array([[1.0, 2.0, 3.0], [1.0, 3.0, 2.0], [1.0, 2.0, 3.0]]))
    >>> round(found.statistic, 3), round(found.p, 3)
    (4.667, 0.097)
    """
    from scipy.special import chdtrc

    n, k = ranks.shape
    used = FRIEDMAN_TIES if ties else FRIEDMAN
    chi = _chi_square(ranks)
    if ties:
        # The ranks of a row without ties have the sum of squares k(k + 1)(2k + 1)/6; each tie takes something away.
        kept = (float((ranks**2).sum()) - n * k * (k + 1) ** 2 / 4) / (n * k * (k * k - 1) / 12)
        if kept <= ROUNDING:
            return Omnibus(used.name, 0.0, (k - 1.0,), 1.0, n, "all learners are equal on every data set")
        chi /= kept
    return Omnibus(used.name, chi, (k - 1.0,), float(chdtrc(k - 1, chi)), n)


def _chi_square(ranks: Floats) -> float:
    n, k = ranks.shape
    return float(12 * n / (k * (k + 1)) * ((ranks.mean(axis=0) - (k + 1) / 2) ** 2).sum())


def iman_davenport(ranks: Floats) -> Omnibus:
    """Iman and Davenport's F, from Friedman's chi-square without the correction for ties, as Demšar (2006) has it.

    Where all data sets rank alike F is infinite, and p is that of so many equal orders by chance.

    >>> found = iman_davenport(np.array([[1.0, 2.0, 3.0], [1.0, 3.0, 2.0], [1.0, 2.0, 3.0]]))
    >>> round(found.statistic, 3), found.df
    (7.0, (2.0, 4.0))
    """
    from scipy.special import fdtrc

    n, k = ranks.shape
    chi, df = _chi_square(ranks), (k - 1.0, (k - 1.0) * (n - 1))
    left = n * (k - 1) - chi
    if left <= ROUNDING * n * k:
        p = math.exp(-(n - 1) * math.lgamma(k + 1))
        return Omnibus(IMAN_DAVENPORT.name, math.inf, df, p, n, "all data sets rank the learners alike; p is exact")
    statistic = (n - 1) * chi / left
    return Omnibus(IMAN_DAVENPORT.name, statistic, df, float(fdtrc(*df, statistic)), n)


def rank_error(n: int, k: int) -> float:
    """The standard error of the difference of two average ranks of k learners over n data sets.

    >>> round(rank_error(14, 4), 3)
    0.488
    """
    return math.sqrt(k * (k + 1) / (6 * n))


def rank_z(ranks: Floats) -> Floats:
    """The difference of every pair of average ranks in standard errors: row less column."""
    mean = ranks.mean(axis=0)
    return np.asarray((mean[:, None] - mean[None, :]) / rank_error(*ranks.shape))


def normal_p(z: Any) -> Floats:
    """The two-sided p of a standard normal figure.

    >>> normal_p([0.0, 1.959964]).round(4).tolist()
    [1.0, 0.05]
    """
    from scipy.special import ndtr

    return np.asarray(2 * ndtr(-np.abs(np.asarray(z, dtype=np.float64))))


def nemenyi_p(z: Any, k: int) -> Floats:
    """Nemenyi's p of differences of ranks in standard errors, among k learners.

    >>> nemenyi_p([0.0, 2.569032], 4).round(4).tolist()
    [1.0, 0.05]
    """
    from scipy.stats import studentized_range

    size = np.abs(np.asarray(z, dtype=np.float64))
    found, back = np.unique(size, return_inverse=True)
    # The integral is slow, so each figure is worked out once; its rounding may reach past 0.
    made = np.array([1.0 if not x else float(studentized_range.sf(x * math.sqrt(2), k, np.inf)) for x in found])
    return np.asarray(np.clip(made[back].reshape(size.shape), 0.0, 1.0))


def nemenyi_difference(n: int, k: int, level: float = 0.95) -> float:
    """The critical difference: how far two average ranks must lie apart, among all pairs.

    >>> round(nemenyi_difference(14, 4), 3)
    1.254
    """
    from scipy.stats import studentized_range

    return float(studentized_range.ppf(level, k, np.inf)) / math.sqrt(2) * rank_error(n, k)


def dunn_difference(n: int, k: int, level: float = 0.95, comparisons: int | None = None) -> float:
    """Bonferroni and Dunn's critical difference from one control, or among so many comparisons.

    >>> round(dunn_difference(14, 4), 3)
    1.168
    """
    return z_value(1 - (1 - level) / (comparisons or k - 1)) * rank_error(n, k)


def wins_and_ties(ranks: Floats) -> tuple[Integers, Integers]:
    """On how many data sets the learner of the row beats that of the column, and on how many they are equal.

    >>> wins, ties = wins_and_ties(np.array([[1.0, 2.0], [1.5, 1.5], [1.0, 2.0]]))
    >>> int(wins[0, 1]), int(ties[0, 1]), int(wins[1, 0])
    (2, 1, 0)
    """
    wins = (ranks[:, :, None] < ranks[:, None, :]).sum(axis=0)
    ties = (ranks[:, :, None] == ranks[:, None, :]).sum(axis=0)
    np.fill_diagonal(ties, 0)
    return wins.astype(np.int64), ties.astype(np.int64)
