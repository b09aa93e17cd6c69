"""Nearest neighbours under a partition, from one search over all rows.

The neighbours of a row among the training rows of a split are its neighbours among all rows, less those that the split
tests. Distances carry rounding errors that depend on how they were computed, so wherever the k nearest are not clear
beyond these errors, the row is left to a model that is really fitted.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from heldout.arrays import Codes, Flags, Floats
from heldout.resampling.fast import Asked, Found

EPS = float(np.finfo(np.float64).eps)
# Distances of one pair of rows that depend on nothing but the two rows. Others (Mahalanobis, standardised) look at
# all rows, and a function given by the user may do anything.
EUCLIDEAN = frozenset({"euclidean", "l2", "sqeuclidean"})
# These are one minus a quotient, so that their error is one of the number 1.
QUOTIENTS = frozenset({"cosine", "correlation"})
SUMS = frozenset({"braycurtis", "canberra", "chebyshev", "cityblock", "hamming", "l1", "manhattan", "minkowski"})
METRICS = EUCLIDEAN | QUOTIENTS | SUMS
# Votes that are nearer to each other than this may be summed to either order; scores are to agree this far.
CLOSE = 1e-9
# Numbers in one block of neighbour lists.
BLOCK = 2_000_000


@dataclass(frozen=True, eq=False)
class Search:
    """How the distances of one learner are found, and how far they may be off."""

    k: int
    weighted: bool
    metric: str
    finder: Any
    by_products: bool

    @property
    def squared(self) -> bool:
        """Whether comparisons are made between squares, as scikit-learn makes them."""
        return self.by_products and self.metric != "sqeuclidean"

    @property
    def exact_zero(self) -> bool:
        """Whether equal rows are surely at distance 0."""
        return not self.by_products and self.metric not in QUOTIENTS

    def error(self, norms: Floats, reach: Floats, features: int) -> Floats:
        """A bound on the rounding error of distances up to `reach` (or of their squares) from rows of these norms.

        By |x|² − 2xy + |y|² the error is in proportion to |x|² + |y|², at most 3|x|² + 2d²; each sum of as many terms
        as features adds half a unit in the last place per term (Higham 2002, Accuracy and Stability, section 3.1).
        """
        if self.by_products:
            return 4 * (features + 4) * EPS * (3 * norms + 2 * reach)
        unit = 1.0 if self.metric in QUOTIENTS else 0.0
        return 8 * (features + 8) * EPS * (reach + unit)


def from_neighbours(estimator: Any, asked: Asked) -> Found | None:
    """The predictions of KNeighborsClassifier; None where its settings do not allow it."""
    search = _search(estimator, asked)
    if search is None:
        return None
    n, total = len(asked.features), len(asked.rows)
    size = len(asked.classes.known)
    predicted = np.zeros(total, dtype=np.int64)
    scores = np.zeros((asked.n_test, size))
    unsure = np.zeros(total, dtype=bool)
    with np.errstate(over="ignore"):
        norms = np.einsum("ij,ij->i", asked.features, asked.features)
    if not np.isfinite(norms).all():
        # Squares that do not fit a float leave nothing to compare.
        return None
    todo = np.arange(total)
    width = _width(search.k, n, int(asked.splits.sizes.max()))
    while len(todo):
        needed, place = np.unique(asked.rows[todo], return_inverse=True)
        lists = search.finder.kneighbors(asked.features[needed] if len(needed) < n else asked.features, width)
        short = np.zeros(len(todo), dtype=bool)
        step = max(1, BLOCK // width)
        for start in range(0, len(todo), step):
            part = todo[start : start + step]
            at = place[start : start + step]
            votes, doubtful, lacking = _votes(search, asked, part, lists[0][at], lists[1][at], norms)
            predicted[part] = votes.argmax(axis=1)
            tested = part < asked.n_test
            with np.errstate(invalid="ignore"):
                # Nothing over nothing where a list is too short; it is searched again.
                scores[part[tested]] = votes[tested] / votes[tested].sum(axis=1, keepdims=True)
            unsure[part] = doubtful
            short[start : start + step] = lacking
        todo = todo[short]
        width = min(n, 2 * width)
    return Found(
        predicted,
        scores,
        unsure,
        alone=not search.by_products and search.metric not in QUOTIENTS,
        sentence="The nearest neighbours were searched once among all rows, and those that a split tests left out",
        because="near-equal distances",
    )


def _search(estimator: Any, asked: Asked) -> Search | None:
    from sklearn.neighbors import NearestNeighbors

    k, metric, p = estimator.n_neighbors, estimator.metric, estimator.p
    smallest = int(asked.splits.train_sizes.min())
    if isinstance(k, bool) or not isinstance(k, int | np.integer) or not 1 <= k <= smallest:
        return None
    if not isinstance(metric, str) or metric not in METRICS or estimator.metric_params is not None:
        return None
    if metric == "minkowski" and not (isinstance(p, int | float) and p >= 1):
        return None
    if estimator.weights not in ("uniform", "distance"):
        return None
    settings = {name: getattr(estimator, name) for name in ("algorithm", "leaf_size", "metric", "p", "n_jobs")}
    try:
        finder = NearestNeighbors(n_neighbors=int(k), **settings).fit(asked.features)
    except (TypeError, ValueError):
        # The learner will say what is wrong with its settings when it is fitted.
        return None
    euclidean = metric in EUCLIDEAN or (metric == "minkowski" and p == 2)
    # scikit-learn may search a small training part by brute force where it searches all rows in a tree.
    brute = getattr(finder, "_fit_method", "brute") == "brute" or (estimator.algorithm == "auto" and k >= smallest // 2)
    return Search(int(k), estimator.weights == "distance", metric, finder, bool(euclidean and brute))


def _width(k: int, n: int, left_out: int) -> int:
    """How many neighbours to ask for, so that few rows need a second search."""
    share = left_out / n
    likely = math.ceil((k + 2 + 3 * math.sqrt((k + 2) * share)) / (1 - share))
    return min(n, k + 1 + left_out, max(k + 2, likely))


def _votes(
    search: Search, asked: Asked, part: Codes, distances: Floats, neighbours: Codes, norms: Floats
) -> tuple[Floats, Flags, Flags]:
    """The votes for each class, whether the prediction is in doubt, and whether the lists are too short to say."""
    split, size, k = asked.split[part], len(asked.classes.known), search.k
    tests = asked.folds[0][neighbours] if len(asked.folds) == 1 else _tests(asked, split, neighbours)
    usable = tests != split[:, None]
    rank = np.cumsum(usable, axis=1)
    trained = asked.splits.train_sizes[split]
    lacking = rank[:, -1] < np.minimum(k + 1, trained)

    far = np.square(distances) if search.squared else distances
    last = np.take_along_axis(far, np.argmax(rank >= k, axis=1)[:, None], axis=1)
    error = search.error(norms[asked.rows[part]][:, None], last, asked.features.shape[1])
    # Everything this near to the k-th might take its place.
    rivals = usable & (np.abs(far - last) <= error)
    within = (usable & (far <= last + error)).sum(axis=1)
    codes = asked.codes[neighbours]
    first = np.take_along_axis(codes, np.argmax(rivals, axis=1)[:, None], axis=1)
    one_class = ~(rivals & (codes != first)).any(axis=1)
    seen_all = (far[:, -1:] > last + error)[:, 0] | (rank[:, -1] >= trained)
    clear = (within == k) | one_class
    doubtful = ~(clear & seen_all)

    taken = usable & (rank <= k)
    if search.weighted:
        weights, vague = _weights(search, part < asked.n_test, far, taken, error, codes)
    else:
        weights, vague = taken.astype(np.float64), None
    cell = np.arange(len(part))[:, None] * size + codes
    sums = np.bincount(cell.ravel(), weights=weights.ravel(), minlength=len(part) * size)
    votes = sums.astype(np.float64, copy=False).reshape(-1, size)
    if vague is not None:
        top = np.partition(votes, size - 2, axis=1)[:, size - 2 :]
        doubtful |= vague | (top[:, 1] - top[:, 0] <= CLOSE * top[:, 1])
    return votes, doubtful & ~lacking, lacking


def _tests(asked: Asked, split: Codes, neighbours: Codes) -> Codes:
    return asked.folds[asked.repeat[split][:, None], neighbours]


def _weights(
    search: Search, tested: Flags, far: Floats, taken: Flags, error: Floats, codes: Codes
) -> tuple[Floats, Flags]:
    """One over the distance, or 1 for neighbours at distance 0 if there are any; and where that is not exact enough."""
    power = -0.5 if search.squared else -1.0
    with np.errstate(divide="ignore"):
        weights = np.where(taken, far, np.inf) ** power
        least = (3 * error[:, 0]) ** power
    endless = np.isinf(weights)
    rows = endless.any(axis=1)
    weights[rows] = endless[rows]
    if search.exact_zero:
        return weights, np.zeros(len(far), dtype=bool)
    # A distance near 0 may be off by its own size, and its weight with it. For a class alone (of a training row, which
    # is its own neighbour) it is enough that all such neighbours are of one class and outweigh the others together.
    vague = (taken & (far * CLOSE / 4 <= error)).any(axis=1)
    near = taken & (far <= 2 * error)
    first = np.take_along_axis(codes, np.argmax(near, axis=1)[:, None], axis=1)
    agreed = near.any(axis=1) & ~(near & (codes != first)).any(axis=1)
    others = np.where(taken & ~near, (np.maximum(far, EPS * EPS) / 2) ** power, 0.0).sum(axis=1)
    sure = agreed & (least > 1.01 * others) & ~tested
    return weights, vague & ~sure
