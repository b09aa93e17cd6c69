"""Fast paths: learners whose predictions in every split follow from one look at all rows (kNN, Gaussian naive Bayes).

A path is taken only for the exact type of a learner, and only for rows whose prediction cannot depend on how numbers
were rounded; the rest are predicted by fitting their split, so that the answer is the same. All of this is arrays and
bounds on their rounding, and so it stands apart from the run that calls it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from heldout.arrays import Codes, Flags, Floats, Integers
from heldout.plans.plan import Splits
from heldout.resampling.split_task import Classes, TrainingSample

# Below this a look at all rows costs as much as the fits do.
FEWEST_SPLITS = 3
# Where more than this share must be fitted anyway, the shortcut saves nothing worth a sentence.
MOST_FITTED = 0.5


@dataclass(frozen=True, eq=False)
class PredictionRequest:
    """What is to be predicted: rows, each by the model of its split; the test rows first, then the training rows.

    `codes` are the classes of all rows in the order of `classes_`, and `folds` holds for every repetition the split
    that tests each row. `rows` and `split` have one entry per prediction; `sample` are the training rows among them.
    """

    features: Floats
    codes: Codes
    classes: Classes
    splits: Splits
    folds: Codes
    sample: TrainingSample
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
class FastPredictions:
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


Path = Callable[[Any, PredictionRequest], FastPredictions | None]


def make_request(
    features: Any, truth: Codes, classes: Classes, splits: Splits, sample: TrainingSample
) -> PredictionRequest | None:
    """The question for a fast path; None where the data or the splits do not allow one."""
    if len(splits) < FEWEST_SPLITS or len(classes.known) < 2:
        return None
    if type(features) is not np.ndarray or features.ndim != 2 or features.dtype != np.float64 or not features.size:
        return None
    folds = find_partitions(splits)
    if folds is None or not np.isfinite(features).all():
        return None
    split = np.concatenate([splits.split_of, np.repeat(np.arange(len(splits)), np.diff(sample.bounds))])
    rows = np.concatenate([splits.test_rows, sample.rows])
    return PredictionRequest(features, classes.rank[truth], classes, splits, folds, sample, rows, split)


def find_path(estimator: Any) -> Path | None:
    """The fast path for the exact type of a learner, if there is one."""
    kind = type(estimator)
    known: dict[tuple[str, str], Path] = {
        ("sklearn.neighbors._classification", "KNeighborsClassifier"): predict_by_neighbours,
        ("sklearn.naive_bayes", "GaussianNB"): predict_by_moments,
    }
    return known.get((kind.__module__, kind.__qualname__))


def is_worthwhile(request: PredictionRequest, predictions: FastPredictions) -> bool:
    """Whether a fast path found enough to be worth it."""
    if predictions.alone:
        return bool(predictions.unsure.mean() <= MOST_FITTED)
    return len(np.unique(request.split[predictions.unsure])) <= MOST_FITTED * len(request.splits)


def is_complementary(splits: Splits) -> bool:
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


def find_partitions(splits: Splits) -> Codes | None:
    """For every repetition the split that tests each row; None unless each tests every row once."""
    n = splits.n
    if len(splits.test_rows) % n or not is_complementary(splits):
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
RELATIVE_TIE = 1e-9
# Probabilities are to agree to 1e-9; logarithms and exponentials have the rest.
PROBABILITY_TOLERANCE = 8e-10
# Numbers in one block of splits x classes x features.
MODEL_BLOCK = 1_000_000
# Numbers in one block of rows x features, which should stay in a processor's cache.
ROW_BLOCK = 100_000
# With at least this many rows in a split, splits are processed one by one: nothing need be repeated for each row.
ROWS_PER_SPLIT = 32


@dataclass(frozen=True, eq=False)
class SplitModels:
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
class ClassMoments:
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


def predict_by_moments(estimator: Any, request: PredictionRequest) -> FastPredictions | None:
    """The predictions of GaussianNB; None where its settings or the data do not allow it."""
    with np.errstate(all="ignore"):
        moments = _count_moments(estimator, request)
        if moments is None:
            return None
        total, size = len(request.rows), len(request.classes.known)
        predicted = np.zeros(total, dtype=np.int64)
        unsure = np.ones(total, dtype=bool)
        scores = np.zeros((request.n_test, size))
        bounds = request.splits.bounds, request.n_test + request.sample.bounds
        step = max(1, MODEL_BLOCK // (size * request.features.shape[1]))
        for start in range(0, len(request.splits), step):
            stop = min(start + step, len(request.splits))
            models = _fit_models(moments, request, start, stop)
            for tested, bound in zip((True, False), bounds, strict=True):
                for entries in _make_blocks(bound, start, stop, request.features.shape[1]):
                    logs, errors = _compute_log_likelihoods(request, models, entries, start)
                    best, doubtful, shares = _choose_classes(logs, errors, tested=tested)
                    predicted[entries] = best
                    unsure[entries] = doubtful | models.unfit[request.split[entries] - start]
                    if tested:
                        scores[entries] = shares
    return FastPredictions(
        predicted,
        scores,
        unsure,
        alone=False,
        sentence="Means and variances were counted once over all rows, and those of the rows that a split tests "
        "subtracted",
        because="rounding or few rows of a class",
    )


def _count_moments(estimator: Any, request: PredictionRequest) -> ClassMoments | None:
    smoothing, priors = estimator.var_smoothing, estimator.priors
    size = len(request.classes.known)
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
    X, codes, width = request.features, request.codes, request.features.shape[1]
    counts = np.bincount(codes, minlength=size)
    if counts.min() < 2:
        return None
    centres = _sum_groups(codes, np.arange(len(X)), size, X) / counts[:, None]
    powers = np.empty((len(X), 2 * width))
    np.subtract(X, centres[codes], out=powers[:, :width])
    np.square(powers[:, :width], out=powers[:, width:])
    grouped = None
    if len(request.folds) == 1 and len(request.splits) * size * width <= MODEL_BLOCK:
        grouped = _sum_tested(powers, request, 0, len(request.splits))
        sums = grouped.sum(axis=0)
    else:
        sums = _sum_groups(codes, np.arange(len(X)), size, powers)
    between = counts @ np.square(centres - counts @ centres / len(X))
    spread = float((sums[:, width:].sum(axis=0) + between).max())
    return ClassMoments(centres, powers, counts, sums, grouped, spread, float(smoothing), log_priors)


def _group_test_rows(request: PredictionRequest, start: int, stop: int) -> tuple[Integers, Codes]:
    """The test rows of the splits from `start` to `stop`, and the number of the split and class of each."""
    splits = request.splits
    tested = slice(splits.bounds[start], splits.bounds[stop])
    rows = splits.test_rows[tested]
    return rows, (splits.split_of[tested] - start) * len(request.classes.known) + request.codes[rows]


def _sum_tested(powers: Floats, request: PredictionRequest, start: int, stop: int) -> Floats:
    """The sums over the test rows of each split and class."""
    rows, group = _group_test_rows(request, start, stop)
    shape = stop - start, len(request.classes.known)
    return _sum_groups(group, rows, math.prod(shape), powers).reshape(*shape, -1)


def _sum_groups(group: Codes, rows: Integers, groups: int, values: Floats) -> Floats:
    """The sums of the rows of each group."""
    from scipy.sparse import csr_array

    # Two bytes are sorted by counting, in one pass.
    order = np.argsort(group.astype(np.uint16) if groups <= 65536 else group, kind="stable")
    edges = np.concatenate([[0], np.cumsum(np.bincount(group, minlength=groups))])
    members = csr_array((np.ones(len(rows)), rows[order], edges), shape=(groups, len(values)))
    sums: Floats = members @ values
    return sums


def _fit_models(moments: ClassMoments, request: PredictionRequest, start: int, stop: int) -> SplitModels:
    """The models of the splits from `start` to `stop`, each from all rows less those that it tests."""
    size = len(moments.counts)
    _, group = _group_test_rows(request, start, stop)
    tested_counts = np.bincount(group, minlength=(stop - start) * size).reshape(-1, size)
    tested_sums = moments.grouped
    if tested_sums is None:
        tested_sums = _sum_tested(moments.powers, request, start, stop)
    # Axes: split, class, feature.
    counts = (moments.counts - tested_counts).astype(np.float64)
    class_counts, n = counts[:, :, None], counts.sum(axis=1)[:, None]
    sums, square_sums = np.split(moments.sums - tested_sums, 2, axis=2)
    mean_shift = sums / class_counts
    means = moments.centres + mean_shift
    # Rounding may leave a sum of squares a little below 0.
    within = np.maximum(square_sums - sums * mean_shift, 0.0)
    class_variances = within / class_counts
    # scikit-learn adds to every variance a share of the largest variance of a feature over all training rows.
    grand_means = (class_counts * means).sum(axis=1) / n
    total_squares = (within + class_counts * np.square(means - grand_means[:, None, :])).sum(axis=1)
    largest_variance = (total_squares / n).max(axis=1)
    variances = class_variances + (moments.smoothing * largest_variance)[:, None, None]
    precisions = 1.0 / variances

    log_priors = np.log(counts / n) if moments.log_priors is None else moments.log_priors
    at_mean = log_priors - 0.5 * np.log(2 * np.pi * variances).sum(axis=2)
    # The mean of m numbers, added one by one, is off by at most m ε/4 of their mean size, their variance by m ε/4 of
    # itself (Higham 2002, section 4.2), once in scikit-learn and once here, where all rows count.
    rounding = 0.25 * EPS * (moments.counts.astype(np.float64)[:, None] + 8)
    shift = 2 * np.sqrt((np.square(rounding) * (np.square(means) + class_variances) * precisions).sum(axis=2))
    all_square_sums = np.split(moments.sums, 2, axis=1)[1]
    variance_error = rounding * (all_square_sums / class_counts + class_variances)
    smoothing_error = 0.5 * EPS * (len(request.features) + 8) * moments.smoothing * moments.spread / n
    # A variance that is off by a share moves the log-likelihood by half that share of q and of each feature.
    scale = 0.5 * ((variance_error + smoothing_error[:, :, None]) * precisions).max(axis=2) + 4 * EPS
    # A class with one training row has no variance; a variance of 0 has no logarithm.
    unfit = (counts < 2).any(axis=1) | ~np.isfinite(at_mean).all(axis=1)
    return SplitModels(means, precisions, at_mean, shift, scale, unfit)


def _make_blocks(bounds: Integers, start: int, stop: int, features: int) -> Iterator[slice]:
    """Runs of what was asked: one split at a time where they are large, otherwise as many rows as fit in a block."""
    first, last = int(bounds[start]), int(bounds[stop])
    edges = bounds[start : stop + 1].tolist() if last - first >= ROWS_PER_SPLIT * (stop - start) else [first, last]
    step = max(1, ROW_BLOCK // features)
    for low, high in pairwise(edges):
        for begin in range(low, high, step):
            yield slice(begin, min(begin + step, high))


def _compute_log_likelihoods(
    request: PredictionRequest, models: SplitModels, entries: slice, start: int
) -> tuple[Floats, Floats]:
    """The joint log-likelihood of each class (first axis) and row, and how far it may be off."""
    X = np.take(request.features, request.rows[entries], axis=0)
    split = request.split[entries] - start
    # Rows of one split share one model, whose arrays need not be repeated for each row.
    one_split = bool(len(split)) and split[0] == split[-1]
    size = models.at_mean.shape[1]
    q = np.empty((size, len(X)))
    squares = np.empty_like(X)
    for code in range(size):
        np.subtract(X, models.means[split[0] if one_split else split, code], out=squares)
        np.square(squares, out=squares)
        if one_split:
            np.dot(squares, models.precisions[split[0], code], out=q[code])
        else:
            np.einsum("ij,ij->i", squares, models.precisions[split, code], out=q[code])
    model = split[:1] if one_split else split
    logs = models.at_mean[model].T - 0.5 * q
    errors = np.sqrt(q) * models.shift[model].T + (q + X.shape[1]) * models.scale[model].T
    return logs, errors


def _choose_classes(logs: Floats, errors: Floats, *, tested: bool) -> tuple[Codes, Flags, Floats]:
    """The likeliest class, whether rounding may have decided, and the probability of each class."""
    best = logs.argmax(axis=0)
    is_other = np.arange(len(logs))[:, None] != best
    top = logs.max(axis=0)
    gap = top - logs
    # Both log-likelihoods of a gap may be off, that of the class and that of the best one.
    gap_error = errors + np.take_along_axis(errors, best[None], axis=0)
    near = gap <= np.maximum(2 * gap_error, RELATIVE_TIE * np.maximum(np.abs(top), np.abs(logs)))
    # Another class may be the likeliest, or the best log-likelihood is infinite or nan.
    doubtful: Flags = (near & is_other).any(axis=0) | ~np.isfinite(top)
    if not tested:
        return best, doubtful, logs.T
    probabilities = np.exp(-gap)
    probabilities /= probabilities.sum(axis=0)
    # A probability moves by itself times how far its logarithm is off beside that of the best. Not written as `>`,
    # which would let nan pass.
    probability_error = np.where(is_other, probabilities * gap_error, 0.0).sum(axis=0)
    doubtful |= ~(probability_error <= PROBABILITY_TOLERANCE)
    return best, doubtful, probabilities.T


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
class NeighbourSearch:
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


def predict_by_neighbours(estimator: Any, request: PredictionRequest) -> FastPredictions | None:
    """The predictions of KNeighborsClassifier; None where its settings do not allow it."""
    search = _make_search(estimator, request)
    if search is None:
        return None
    n, total = len(request.features), len(request.rows)
    size = len(request.classes.known)
    predicted = np.zeros(total, dtype=np.int64)
    scores = np.zeros((request.n_test, size))
    unsure = np.zeros(total, dtype=bool)
    with np.errstate(over="ignore"):
        norms = np.einsum("ij,ij->i", request.features, request.features)
    if not np.isfinite(norms).all():
        # Squares that do not fit a float leave nothing to compare.
        return None
    todo = np.arange(total)
    width = _choose_list_length(search.k, n, int(request.splits.sizes.max()))
    while len(todo):
        needed, list_of = np.unique(request.rows[todo], return_inverse=True)
        searched = request.features[needed] if len(needed) < n else request.features
        distances, neighbours = search.finder.kneighbors(searched, width)
        short = np.zeros(len(todo), dtype=bool)
        step = max(1, NEIGHBOUR_BLOCK // width)
        for start in range(0, len(todo), step):
            part = todo[start : start + step]
            at = list_of[start : start + step]
            votes, doubtful, lacking = _count_votes(search, request, part, distances[at], neighbours[at], norms)
            predicted[part] = votes.argmax(axis=1)
            tested = part < request.n_test
            with np.errstate(invalid="ignore"):
                # 0/0 where the list of neighbours is too short; such a row is searched again.
                scores[part[tested]] = votes[tested] / votes[tested].sum(axis=1, keepdims=True)
            unsure[part] = doubtful
            short[start : start + step] = lacking
        todo = todo[short]
        width = min(n, 2 * width)
    return FastPredictions(
        predicted,
        scores,
        unsure,
        alone=not search.by_products and search.metric not in QUOTIENTS,
        sentence="The nearest neighbours were searched once among all rows, and those that a split tests left out",
        because="near-equal distances",
    )


def _make_search(estimator: Any, request: PredictionRequest) -> NeighbourSearch | None:
    from sklearn.neighbors import NearestNeighbors

    k, metric, p = estimator.n_neighbors, estimator.metric, estimator.p
    smallest = int(request.splits.train_sizes.min())
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
        finder = NearestNeighbors(n_neighbors=int(k), **settings).fit(request.features)
    except (TypeError, ValueError):
        # The learner will say what is wrong with its settings when it is fitted.
        return None
    euclidean = metric in EUCLIDEAN or (metric == "minkowski" and p == 2)
    # scikit-learn may search a small training part by brute force where it searches all rows in a tree.
    brute = getattr(finder, "_fit_method", "brute") == "brute" or (estimator.algorithm == "auto" and k >= smallest // 2)
    return NeighbourSearch(int(k), estimator.weights == "distance", metric, finder, bool(euclidean and brute))


def _choose_list_length(k: int, n: int, left_out: int) -> int:
    """How many neighbours to ask for, so that few rows need a second search."""
    share = left_out / n
    likely = math.ceil((k + 2 + 3 * math.sqrt((k + 2) * share)) / (1 - share))
    return min(n, k + 1 + left_out, max(k + 2, likely))


def _count_votes(
    search: NeighbourSearch,
    request: PredictionRequest,
    part: Codes,
    distances: Floats,
    neighbours: Codes,
    norms: Floats,
) -> tuple[Floats, Flags, Flags]:
    """The votes for each class, whether the prediction is in doubt, and whether the lists are too short to say.

    `distances` and `neighbours` have one row per prediction and one column per neighbour, the nearest first.
    """
    split, size, k = request.split[part], len(request.classes.known), search.k
    folds = request.folds
    tested_by = folds[0][neighbours] if len(folds) == 1 else folds[request.repeat[split][:, None], neighbours]
    usable = tested_by != split[:, None]
    rank = np.cumsum(usable, axis=1)
    n_train = request.splits.train_sizes[split]
    # One more than k, so that it is known how far the next one is, unless there is no next one.
    lacking = rank[:, -1] < np.minimum(k + 1, n_train)

    compared = np.square(distances) if search.squared else distances
    kth = np.take_along_axis(compared, np.argmax(rank >= k, axis=1)[:, None], axis=1)
    error = search.error(norms[request.rows[part]][:, None], kth, request.features.shape[1])
    codes = request.codes[neighbours]
    # Everything this near to the k-th might take its place; that matters unless all of these are of one class.
    rivals = usable & (np.abs(compared - kth) <= error)
    n_within = (usable & (compared <= kth + error)).sum(axis=1)
    clear = (n_within == k) | _are_one_class(rivals, codes)
    # Rivals may stand beyond the end of the list, unless its end is farther or it holds all training rows.
    complete = (compared[:, -1:] > kth + error)[:, 0] | (rank[:, -1] >= n_train)
    doubtful = ~(clear & complete)

    voting = usable & (rank <= k)
    weights, vague = voting.astype(np.float64), None
    if search.weighted:
        weights, vague = _weigh_neighbours(search, part < request.n_test, compared, voting, error, codes)
    cell = np.arange(len(part))[:, None] * size + codes
    sums = np.bincount(cell.ravel(), weights=weights.ravel(), minlength=len(part) * size)
    votes = sums.astype(np.float64, copy=False).reshape(-1, size)
    if vague is not None:
        # Sums of weights that are equal but for rounding may come out in either order.
        second, first = np.partition(votes, size - 2, axis=1)[:, size - 2 :].T
        doubtful |= vague | (first - second <= RELATIVE_TIE * first)
    return votes, doubtful & ~lacking, lacking


def _are_one_class(chosen: Flags, codes: Codes) -> Flags:
    """Whether the chosen neighbours of each row, of which there is at least one, are all of one class."""
    first = np.take_along_axis(codes, np.argmax(chosen, axis=1)[:, None], axis=1)
    return np.asarray(~(chosen & (codes != first)).any(axis=1))


def _weigh_neighbours(
    search: NeighbourSearch, tested: Flags, compared: Floats, voting: Flags, error: Floats, codes: Codes
) -> tuple[Floats, Flags]:
    """One over the distance, or 1 for neighbours at distance 0 if there are any; and where that is not exact enough."""
    power = -0.5 if search.squared else -1.0
    with np.errstate(divide="ignore"):
        weights = np.where(voting, compared, np.inf) ** power
        least_near_weight = (3 * error[:, 0]) ** power
    at_zero = np.isinf(weights)
    has_zero = at_zero.any(axis=1)
    weights[has_zero] = at_zero[has_zero]
    if search.exact_zero:
        return weights, np.zeros(len(compared), dtype=bool)
    # A distance near 0 may be off by its own size, and its weight with it. For a class alone (of a training row, which
    # is its own neighbour) it is enough that all such neighbours are of one class and outweigh the others together.
    inexact = (voting & (compared * RELATIVE_TIE / 4 <= error)).any(axis=1)
    near = voting & (compared <= 2 * error)
    one_class = near.any(axis=1) & _are_one_class(near, codes)
    # Half the distance is twice the weight: the most that the others may have. EPS² keeps it finite.
    most_other_weight = np.where(voting & ~near, (np.maximum(compared, EPS * EPS) / 2) ** power, 0.0).sum(axis=1)
    decided = one_class & (least_near_weight > 1.01 * most_other_weight) & ~tested
    return weights, inexact & ~decided
