"""Choosing a fast path: learners whose predictions in every split follow from one look at all rows.

A fast path is taken only for the exact type of a learner, and only for rows whose prediction cannot depend on how
numbers were rounded; the rest are predicted by fitting their split, so that the answer is the same.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from heldout.arrays import Codes, Flags, Floats, Integers
from heldout.plans.splits import Splits
from heldout.resampling.split_task import Classes, Drawn

# Below this a look at all rows costs as much as the fits do.
FEWEST = 3
# Where more than this share must be fitted anyway, the shortcut saves nothing worth a sentence.
MOST_PLAIN = 0.5


@dataclass(frozen=True, eq=False)
class Asked:
    """What is to be predicted: rows, each by the model of its split; the test rows first, then the training rows.

    `folds` holds for every repetition the split that tests each row.
    """

    features: Floats
    codes: Codes
    classes: Classes
    splits: Splits
    folds: Codes
    drawn: Drawn
    rows: Integers
    split: Integers

    @property
    def n_test(self) -> int:
        """How many of the rows are test rows."""
        return len(self.splits.test_rows)

    @property
    def repeat(self) -> Integers:
        """The row of `folds` that each split belongs to."""
        if len(self.folds) == 1:
            return np.zeros(len(self.splits), dtype=np.int64)
        return self.splits.repeat


@dataclass(frozen=True, eq=False)
class Found:
    """Predictions for all that was asked, as places in the order of `classes_`, and probabilities of the test rows.

    `unsure` marks what must be predicted by fitting. `alone` says that a row's prediction does not depend on which
    other rows are predicted with it, down to the last bit, so that only these need be.
    """

    predicted: Codes
    scores: Floats
    unsure: Flags
    alone: bool
    sentence: str
    because: str


Path = Callable[[Any, Asked], Found | None]


def ask(features: Any, truth: Codes, classes: Classes, splits: Splits, drawn: Drawn) -> Asked | None:
    """The question for a fast path; None where the data or the splits do not allow one."""
    if len(splits) < FEWEST or len(classes.known) < 2:
        return None
    if type(features) is not np.ndarray or features.ndim != 2 or features.dtype != np.float64 or not features.size:
        return None
    folds = partitions(splits)
    if folds is None or not np.isfinite(features).all():
        return None
    split = np.concatenate([splits.split_of, np.repeat(np.arange(len(splits)), np.diff(drawn.bounds))])
    rows = np.concatenate([splits.test_rows, drawn.rows])
    return Asked(features, classes.rank[truth], classes, splits, folds, drawn, rows, split)


def path_for(estimator: Any) -> Path | None:
    """The fast path for the exact type of a learner, if there is one."""
    kind = type(estimator)
    known: dict[tuple[str, str], Path] = {
        ("sklearn.neighbors._classification", "KNeighborsClassifier"): from_neighbours,
        ("sklearn.naive_bayes", "GaussianNB"): from_moments,
    }
    return known.get((kind.__module__, kind.__qualname__))


def pays(asked: Asked, found: Found) -> bool:
    """Whether a fast path found enough to be worth it."""
    if found.alone:
        return bool(found.unsure.mean() <= MOST_PLAIN)
    return len(np.unique(asked.split[found.unsure])) <= MOST_PLAIN * len(asked.splits)


def complementary(splits: Splits) -> bool:
    """Whether every split trains on exactly the rows it does not test, in their order, also where they are listed."""
    if splits.train_rows is None:
        return True
    if len(splits) * splits.n > 10**7:
        return False
    for train, test in splits:
        if len(train) + len(test) != splits.n or bool((np.diff(train) <= 0).any()):
            return False
        free = np.zeros(splits.n, dtype=bool)
        free[train] = True
        free[test] = False
        if int(free.sum()) != len(train):
            return False
    return True


def partitions(splits: Splits) -> Codes | None:
    """For every repetition the split that tests each row; None unless each tests every row once."""
    n = splits.n
    if len(splits.test_rows) % n or not complementary(splits):
        return None
    times = len(splits.test_rows) // n
    if times == 1:
        repeat = np.zeros(len(splits), dtype=np.int64)
    elif int(splits.repeat.min()) == 0 and int(splits.repeat.max()) == times - 1:
        repeat = splits.repeat
    else:
        return None
    cell = repeat[splits.split_of] * n + splits.test_rows
    if not bool((np.bincount(cell, minlength=times * n) == 1).all()):
        return None
    folds = np.empty(times * n, dtype=np.int64)
    folds[cell] = splits.split_of
    return folds.reshape(times, n)


# Gaussian naive Bayes under a partition: the counts, means and variances of all rows, less those of the test rows.
#
# Sums are taken of rows less the mean of their class, so that removing a few rows loses no digits (Chan, Golub &
# LeVeque 1983, The American Statistician 37, 242-247). Each log-likelihood comes with a bound on how far it and
# scikit-learn's may be apart, and where that could show, the split is left to a model that is really fitted.


EPS = float(np.finfo(np.float64).eps)
# Log-likelihoods that are nearer than this, relative to their size, may come out in either order.
CLOSE = 1e-9
# Probabilities are to agree to 1e-9; logarithms and exponentials have the rest.
AGREED = 8e-10
# Numbers in one block of splits x classes x features.
BLOCK = 1_000_000
# Numbers in one block of rows x features, which should stay in a processor's cache.
NEAR = 100_000
# With at least so many rows to a split, splits are taken one by one: nothing need be repeated for each row.
MANY = 32


@dataclass(frozen=True, eq=False)
class Models:
    """The fitted models of some splits: arrays over splits, classes and (means, precisions) features.

    `at_mean` is the log-likelihood of a row at the class mean. A log-likelihood whose squared distances sum to q is off
    by at most √q · `shift` + (q + features) · `scale`. `unfit` marks splits that subtraction cannot make.
    """

    means: Floats
    precisions: Floats
    at_mean: Floats
    shift: Floats
    scale: Floats
    unfit: Flags


@dataclass(frozen=True, eq=False)
class Moments:
    """All rows, counted once.

    `powers` has for each row what it is less its class's centre, and the squares of that, side by side. `sums` has
    their sums for each class, and `grouped` for the test rows of each split and class, where that is not too much.
    """

    centres: Floats
    powers: Floats
    counts: Codes
    sums: Floats
    grouped: Floats | None
    spread: float
    smoothing: float
    log_priors: Floats | None


def from_moments(estimator: Any, asked: Asked) -> Found | None:
    """The predictions of GaussianNB; None where its settings or the data do not allow it."""
    with np.errstate(all="ignore"):
        moments = _moments(estimator, asked)
        if moments is None:
            return None
        total, size = len(asked.rows), len(asked.classes.known)
        predicted = np.zeros(total, dtype=np.int64)
        unsure = np.ones(total, dtype=bool)
        scores = np.zeros((asked.n_test, size))
        bounds = asked.splits.bounds, asked.n_test + asked.drawn.bounds
        step = max(1, BLOCK // (size * asked.features.shape[1]))
        for start in range(0, len(asked.splits), step):
            stop = min(start + step, len(asked.splits))
            models = _models(moments, asked, start, stop)
            for tested, bound in zip((True, False), bounds, strict=True):
                for entries in _blocks(bound, start, stop, asked.features.shape[1]):
                    logs, errors = _joint(asked, models, entries, start)
                    best, doubtful, shares = _verdict(logs, errors, tested=tested)
                    predicted[entries] = best
                    unsure[entries] = doubtful | models.unfit[asked.split[entries] - start]
                    if tested:
                        scores[entries] = shares
    return Found(
        predicted,
        scores,
        unsure,
        alone=False,
        sentence="Means and variances were counted once over all rows, and those of the rows that a split tests "
        "subtracted",
        because="rounding or few rows of a class",
    )


def _moments(estimator: Any, asked: Asked) -> Moments | None:
    smoothing, priors = estimator.var_smoothing, estimator.priors
    size = len(asked.classes.known)
    if isinstance(smoothing, bool) or not isinstance(smoothing, int | float) or not smoothing >= 0:
        return None
    log_priors = None
    if priors is not None:
        given = np.asarray(priors)
        if given.shape != (size,) or given.dtype.kind not in "fiu" or not (given > 0).all():
            return None
        if not np.isclose(given.sum(), 1.0):
            return None
        log_priors = np.log(given.astype(np.float64))
    X, codes, width = asked.features, asked.codes, asked.features.shape[1]
    counts = np.bincount(codes, minlength=size)
    if counts.min() < 2:
        return None
    centres = _group_sums(codes, np.arange(len(X)), size, X) / counts[:, None]
    powers = np.empty((len(X), 2 * width))
    np.subtract(X, centres[codes], out=powers[:, :width])
    np.square(powers[:, :width], out=powers[:, width:])
    grouped = None
    if len(asked.folds) == 1 and len(asked.splits) * size * width <= BLOCK:
        grouped = _tested(powers, asked, 0, len(asked.splits))
        sums = grouped.sum(axis=0)
    else:
        sums = _group_sums(codes, np.arange(len(X)), size, powers)
    between = counts @ np.square(centres - counts @ centres / len(X))
    spread = float((sums[:, width:].sum(axis=0) + between).max())
    return Moments(centres, powers, counts, sums, grouped, spread, float(smoothing), log_priors)


def _tested(powers: Floats, asked: Asked, start: int, stop: int) -> Floats:
    """The sums over the test rows of each split and class."""
    splits, size = asked.splits, len(asked.classes.known)
    tested = slice(splits.bounds[start], splits.bounds[stop])
    rows = splits.test_rows[tested]
    group = (splits.split_of[tested] - start) * size + asked.codes[rows]
    return _group_sums(group, rows, (stop - start) * size, powers).reshape(stop - start, size, -1)


def _group_sums(group: Codes, rows: Integers, groups: int, values: Floats) -> Floats:
    """The sums of the rows of each group."""
    from scipy.sparse import csr_array

    # Two bytes are sorted by counting, in one pass.
    order = np.argsort(group.astype(np.uint16) if groups <= 65536 else group, kind="stable")
    edges = np.concatenate([[0], np.cumsum(np.bincount(group, minlength=groups))])
    members = csr_array((np.ones(len(rows)), rows[order], edges), shape=(groups, len(values)))
    sums: Floats = members @ values
    return sums


def _models(moments: Moments, asked: Asked, start: int, stop: int) -> Models:
    """The models of the splits from `start` to `stop`, each from all rows less those that it tests."""
    splits, size = asked.splits, len(moments.counts)
    tested = slice(splits.bounds[start], splits.bounds[stop])
    rows = splits.test_rows[tested]
    group = (splits.split_of[tested] - start) * size + asked.codes[rows]
    gone = np.bincount(group, minlength=(stop - start) * size).reshape(-1, size)
    counts = (moments.counts - gone).astype(np.float64)
    sums = moments.grouped if moments.grouped is not None else _tested(moments.powers, asked, start, stop)
    left, squares = np.split(moments.sums - sums, 2, axis=2)

    number = counts[:, :, None]
    drift = left / number
    within = np.maximum(squares - left * drift, 0.0)
    means = moments.centres + drift
    n = counts.sum(axis=1)[:, None]
    grand = (number * means).sum(axis=1) / n
    whole = (within + number * np.square(means - grand[:, None, :])).sum(axis=1)
    widest = (whole / n).max(axis=1)
    own = within / number
    variances = own + (moments.smoothing * widest)[:, None, None]
    precisions = 1.0 / variances

    priors = np.log(counts / n) if moments.log_priors is None else moments.log_priors
    at_mean = priors - 0.5 * np.log(2 * np.pi * variances).sum(axis=2)
    # The mean of m numbers, added one by one, is off by at most m ε/4 of their mean size, their variance by m ε/4 of
    # itself (Higham 2002, section 4.2), once in scikit-learn and once here, where all rows count.
    rounding = 0.25 * EPS * (moments.counts.astype(np.float64)[:, None] + 8)
    shift = 2 * np.sqrt((np.square(rounding) * (np.square(means) + own) * precisions).sum(axis=2))
    lost = rounding * (np.split(moments.sums, 2, axis=1)[1] / number + own)
    of_smoothing = 0.5 * EPS * (len(asked.features) + 8) * moments.smoothing * moments.spread / n
    # A variance that is off by a share moves the log-likelihood by half that share of q and of each feature.
    scale = 0.5 * ((lost + of_smoothing[:, :, None]) * precisions).max(axis=2) + 4 * EPS
    unfit = (counts < 2).any(axis=1) | ~np.isfinite(at_mean).all(axis=1)
    return Models(means, precisions, at_mean, shift, scale, unfit)


def _blocks(bounds: Integers, start: int, stop: int, features: int) -> Iterator[slice]:
    """Runs of what was asked: one split at a time where they are large, otherwise as many rows as fit in a block."""
    first, last = int(bounds[start]), int(bounds[stop])
    edges = bounds[start : stop + 1].tolist() if last - first >= MANY * (stop - start) else [first, last]
    step = max(1, NEAR // features)
    for low, high in pairwise(edges):
        for begin in range(low, high, step):
            yield slice(begin, min(begin + step, high))


def _joint(asked: Asked, models: Models, entries: slice, start: int) -> tuple[Floats, Floats]:
    """The joint log-likelihood of each class (first axis) and row, and how far it may be off."""
    X = np.take(asked.features, asked.rows[entries], axis=0)
    split = asked.split[entries] - start
    alone = bool(len(split)) and split[0] == split[-1]
    size = models.at_mean.shape[1]
    q = np.empty((size, len(X)))
    apart = np.empty_like(X)
    for code in range(size):
        if alone:
            np.subtract(X, models.means[split[0], code], out=apart)
            np.square(apart, out=apart)
            np.dot(apart, models.precisions[split[0], code], out=q[code])
        else:
            np.subtract(X, models.means[split, code], out=apart)
            np.square(apart, out=apart)
            np.einsum("ij,ij->i", apart, models.precisions[split, code], out=q[code])
    at = split[:1] if alone else split
    logs = models.at_mean[at].T - 0.5 * q
    errors = np.sqrt(q) * models.shift[at].T + (q + X.shape[1]) * models.scale[at].T
    return logs, errors


def _verdict(logs: Floats, errors: Floats, *, tested: bool) -> tuple[Codes, Flags, Floats]:
    """The likeliest class, whether rounding may have decided, and the probability of each class."""
    best = logs.argmax(axis=0)
    others = np.arange(len(logs))[:, None] != best
    top = logs.max(axis=0)
    bound = errors + np.take_along_axis(errors, best[None], axis=0)
    gap = top - logs
    near = gap <= np.maximum(2 * bound, CLOSE * np.maximum(np.abs(top), np.abs(logs)))
    doubtful: Flags = (near & others).any(axis=0) | ~np.isfinite(top)
    if not tested:
        return best, doubtful, logs.T
    shares = np.exp(-gap)
    shares /= shares.sum(axis=0)
    # A share moves by itself times how far its logarithm is off beside that of the best.
    off = np.where(others, shares * bound, 0.0).sum(axis=0)
    doubtful |= ~(off <= AGREED)
    return best, doubtful, shares.T


# Nearest neighbours under a partition, from one search over all rows.
#
# The neighbours of a row among the training rows of a split are its neighbours among all rows, less those that the
# split tests. Distances carry rounding errors that depend on how they were computed, so wherever the k nearest are
# not clear beyond these errors, the row is left to a model that is really fitted.


# Distances of one pair of rows that depend on nothing but the two rows. Others (Mahalanobis, standardised) look at
# all rows, and a function given by the user may do anything.
EUCLIDEAN = frozenset({"euclidean", "l2", "sqeuclidean"})
# These are one minus a quotient, so that their error is one of the number 1.
QUOTIENTS = frozenset({"cosine", "correlation"})
SUMS = frozenset({"braycurtis", "canberra", "chebyshev", "cityblock", "hamming", "l1", "manhattan", "minkowski"})
METRICS = EUCLIDEAN | QUOTIENTS | SUMS
# Numbers in one block of neighbour lists.
NEIGHBOUR_BLOCK = 2_000_000


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
        step = max(1, NEIGHBOUR_BLOCK // width)
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
