"""Gaussian naive Bayes under a partition: the counts, means and variances of all rows, less those of the test rows.

Sums are taken of rows less the mean of their class, so that removing a few rows loses no digits (Chan, Golub & LeVeque
1983, The American Statistician 37, 242-247). Each log-likelihood comes with a bound on how far it and scikit-learn's
may be apart, and where that could show, the split is left to a model that is really fitted.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from heldout.arrays import Codes, Flags, Floats, Integers
from heldout.resampling.fast import Asked, Found

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
