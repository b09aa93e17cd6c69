"""Features that say nearly the same: pairs whose association is so close that they share their importance."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from heldout.arrays import Floats
from heldout.learners.problem import Problem

# Beyond this association two features count as closely related. What that does to permutation importance: Strobl et al.
# (2008), BMC Bioinformatics 9:307, and Molnar (2022), Interpretable Machine Learning. The line itself is a convention.
CLOSE = 0.8
MOST_FEATURES = 200
MOST_ROWS = 10_000
LEAST_ROWS = 10


@dataclass(frozen=True, slots=True)
class Related:
    """Two features and how closely they go together: by |r|, Cramér's V, or the correlation ratio eta."""

    first: str
    second: str
    strength: float
    how: str


def related_pairs(problem: Problem, seed: int = 0, close: float = CLOSE) -> tuple[Related, ...]:
    """The pairs of columns that go together beyond `close`, the closest first.

    >>> X = np.column_stack([np.arange(20.0), 2 * np.arange(20.0) + 1, np.tile([0.0, 1.0], 10)])
    >>> problem = Problem(X, np.tile([0, 1], 10), np.tile([0, 1], 10), (0, 1), names=("a", "b", "c"))
    >>> [(pair.first, pair.second, round(pair.strength, 2)) for pair in related_pairs(problem)]
    [('a', 'b', 1.0)]
    """
    matrix = problem.features
    if not isinstance(matrix, np.ndarray) or matrix.dtype.kind not in "fiub" or matrix.shape[1] < 2:
        return ()
    if matrix.shape[1] > MOST_FEATURES:
        return ()
    if len(matrix) > MOST_ROWS:
        rows = np.random.default_rng(seed).choice(len(matrix), MOST_ROWS, replace=False)
        matrix = matrix[rows]
    columns = np.asarray(matrix, dtype=np.float64)
    found: list[Related] = []
    names = problem.names or tuple(f"x{at}" for at in range(columns.shape[1]))
    for a in range(columns.shape[1]):
        for b in range(a + 1, columns.shape[1]):
            strength, how = _association(columns[:, a], columns[:, b], a in problem.nominal, b in problem.nominal)
            if strength > close:
                found.append(Related(names[a], names[b], strength, how))
    return tuple(sorted(found, key=lambda pair: -pair.strength))


def _association(a: Floats, b: Floats, first: bool, second: bool) -> tuple[float, str]:
    there = ~(np.isnan(a) | np.isnan(b))
    a, b = a[there], b[there]
    if len(a) < LEAST_ROWS or np.ptp(a) == 0 or np.ptp(b) == 0:
        return math.nan, ""
    if first and second:
        return cramers_v(a, b), "Cramér's V"
    if first or second:
        return (correlation_ratio(a, b) if first else correlation_ratio(b, a)), "eta"
    return abs(float(np.corrcoef(a, b)[0, 1])), "|r|"


def cramers_v(a: NDArray[Any], b: NDArray[Any]) -> float:
    """The association of two columns of categories, corrected for chance. Bergsma (2013).

    >>> cramers_v(np.array([0, 0, 1, 1] * 5), np.array([0, 0, 1, 1] * 5))
    1.0
    """
    _, x = np.unique(a, return_inverse=True)
    _, y = np.unique(b, return_inverse=True)
    r, k, n = int(x.max()) + 1, int(y.max()) + 1, len(x)
    counts = np.bincount(x * k + y, minlength=r * k).reshape(r, k)
    expected = counts.sum(axis=1, keepdims=True) * counts.sum(axis=0, keepdims=True) / n
    phi = float((np.square(counts - expected) / expected).sum()) / n
    corrected = max(0.0, phi - (r - 1) * (k - 1) / (n - 1))
    sides = min(r - (r - 1) ** 2 / (n - 1), k - (k - 1) ** 2 / (n - 1)) - 1
    return min(1.0, math.sqrt(corrected / sides)) if sides > 0 else math.nan


def correlation_ratio(category: NDArray[Any], amount: Floats) -> float:
    """How much of an amount's spread lies between categories: eta, the root of that share, corrected for chance.

    The share is epsilon squared (Kelley 1935), which many categories do not raise by themselves.

    >>> round(correlation_ratio(np.array([0, 0, 1, 1]), np.array([1.0, 1.2, 5.0, 5.2])), 3)
    0.998
    """
    _, x = np.unique(category, return_inverse=True)
    k, n = int(x.max()) + 1, len(x)
    if n <= k:
        return math.nan
    means = np.bincount(x, weights=amount) / np.bincount(x)
    within = float(np.square(amount - means[x]).sum()) / (n - k)
    whole = float(np.square(amount - amount.mean()).sum()) / (n - 1)
    return math.sqrt(max(0.0, 1 - within / whole)) if whole > 0 else math.nan
