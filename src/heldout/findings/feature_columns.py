"""The features of a problem column by column, whatever they were given in, and which of their rows are the same."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from heldout.arrays import Bits, Codes
from heldout.learners.problem import Problem
from heldout.predictions.case_values import groups

# The mixing steps of SplitMix64 (Steele, Lea & Flood, 2014): every bit of what goes in moves half of what comes out.
STEP, ALL_BITS = 0x9E3779B97F4A7C15, 2**64 - 1
FIRST, SECOND = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)


def feature_column(problem: Problem, place: int) -> NDArray[Any]:
    """One feature of every row: numbers as they are, anything else as codes of its values.

    >>> problem = Problem(np.array([[1.0, 5.0], [2.0, 6.0]]), np.array([0, 1]), np.array([0, 1]), names=("a", "b"))
    >>> feature_column(problem, 1).tolist()
    [5.0, 6.0]
    """
    features = problem.features
    if hasattr(features, "tocsr"):
        return np.asarray(features.tocsc()[:, [place]].toarray()).ravel()
    if isinstance(features, np.ndarray):
        column: Any = features[:, place]
    else:
        import narwhals.stable.v2 as nw

        frame = nw.from_native(features, eager_only=True)
        series = frame.get_column(frame.columns[place])
        column = series.to_numpy() if series.dtype.is_numeric() or series.dtype.is_temporal() else series.to_native()
    if isinstance(column, np.ndarray) and column.dtype.kind in "iufbmM":
        return column
    coded = groups(column, problem.names[place] if place < len(problem.names) else "feature")
    return np.asarray(coded.codes.astype(np.int64) - coded.offset)


def is_temporal(problem: Problem, place: int) -> bool:
    """Whether a feature holds dates or times.

    >>> days = np.array([["2024-01-01"], ["2024-01-02"]], dtype="datetime64[D]")
    >>> is_temporal(Problem(days, np.array([0, 1]), np.array([0, 1]), names=("day",)), 0)
    True
    """
    features = problem.features
    if isinstance(features, np.ndarray) or hasattr(features, "tocsr"):
        return bool(features.dtype.kind in "mM")
    import narwhals.stable.v2 as nw

    frame = nw.from_native(features, eager_only=True)
    return bool(frame.get_column(frame.columns[place]).dtype.is_temporal())


def same_rows(problem: Problem) -> Codes:
    """A number for every row, the same for rows whose features and class are all the same.

    Rows are told apart by a hash of 64 bits: that two of a million different rows get the same number has a probability
    of about one in forty million.

    >>> problem = Problem(np.array([[1.0], [2.0], [1.0]]), np.array([0, 1, 0]), np.array([0, 1, 0]), names=("a",))
    >>> same_rows(problem).tolist()
    [0, 1, 0]
    """
    hashed = _mixed(_bits(problem.truth), 0)
    if hasattr(problem.features, "tocsr"):
        hashed = hashed + _sparse(problem.features.tocsr())
    else:
        for place in range(problem.features.shape[1]):
            hashed = hashed * np.uint64(31) + _mixed(_bits(feature_column(problem, place)), place + 1)
    _, first, codes = np.unique(hashed, return_index=True, return_inverse=True)
    # Numbered as they are met, so that nothing depends on the hash.
    rank = np.empty(len(first), dtype=np.int64)
    rank[np.argsort(first)] = np.arange(len(first))
    return np.asarray(rank[codes.reshape(-1)])


def chance_of_same(problem: Problem) -> NDArray[np.float64]:
    """For each class, the probability that two of its rows agree in every feature if the features were independent.

    >>> classes = np.zeros(4, dtype=int)
    >>> problem = Problem(np.array([[0.0], [1.0], [0.0], [1.0]]), classes, classes, ("a",), names=("x",))
    >>> chance_of_same(problem).round(3).tolist()
    [0.333]
    """
    k = max(len(problem.labels), 1)
    held = np.bincount(problem.truth, minlength=k).astype(np.float64)
    pairs = held * (held - 1)
    chance = np.where(pairs > 0, 1.0, 0.0)
    if hasattr(problem.features, "tocsr"):
        # Of thousands of columns nearly all of which are 0, none is worth a look by itself.
        return np.zeros(k)
    for place in range(problem.features.shape[1]):
        values = np.unique(_bits(feature_column(problem, place)), return_inverse=True)[1].reshape(-1)
        keys, counts = np.unique(values.astype(np.int64) * k + problem.truth, return_counts=True)
        agree = np.bincount(keys % k, weights=counts * (counts - 1.0), minlength=k)
        chance *= np.divide(agree, pairs, out=np.zeros(k), where=pairs > 0)
    return chance


def _bits(column: NDArray[Any]) -> Bits:
    """Equal values as equal bits: 0 and −0 are one value, and so are all gaps."""
    if column.dtype.kind == "f":
        plain = column.astype(np.float64) + 0.0
        plain[np.isnan(plain)] = np.nan
        return plain.view(np.uint64)
    if column.dtype.kind in "mM":
        return np.ascontiguousarray(column).view(np.int64).view(np.uint64)
    return np.ascontiguousarray(column).astype(np.int64).view(np.uint64)


def _mixed(bits: Bits, place: int) -> Bits:
    x = bits + np.uint64(STEP * (place + 1) & ALL_BITS)
    x = (x ^ (x >> np.uint64(30))) * FIRST
    x = (x ^ (x >> np.uint64(27))) * SECOND
    return np.asarray(x ^ (x >> np.uint64(31)))


def _sparse(matrix: Any) -> Bits:
    """A sum over the entries of each row, whatever their order; zeros that are stored count as those that are not."""
    values = _bits(np.asarray(matrix.data, dtype=np.float64))
    row = np.repeat(np.arange(matrix.shape[0]), np.diff(matrix.indptr))
    entries = _mixed(values ^ _mixed(matrix.indices.astype(np.uint64), 1), 2)
    entries[matrix.data == 0] = 0
    total = np.zeros(matrix.shape[0], dtype=np.uint64)
    np.add.at(total, row, entries)
    return total
