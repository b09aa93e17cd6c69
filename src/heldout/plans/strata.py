"""Every class in its share: rows dealt to folds, or drawn for a test part, class by class."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from heldout.arguments import listing
from heldout.arrays import Codes
from heldout.errors import LabelError
from heldout.plans.gather import edges, gathered, smallest
from heldout.plans.options import counted
from heldout.plans.plan import Cases


def refuse_rare(cases: Cases, least: int, need: str, instead: str) -> None:
    """Refuse to stratify where a class that occurs has fewer than `least` cases; `need` says what needs them."""
    counts = np.bincount(cases.truth, minlength=len(cases.labels))
    rare = np.flatnonzero((counts > 0) & (counts < least))
    if not len(rare):
        return
    found = listing((f"{cases.labels[i]!r} ({counted(int(counts[i]), 'case')})" for i in rare), most=6)
    subject = f"Class {found} has" if len(rare) == 1 else f"Classes {found} have"
    fewest = int(counts[rare].min())
    raise LabelError(
        f"{subject} too few cases: {need} needs at least {least} of every class.",
        hint=f"{f'use at most {fewest} folds' if fewest > 1 else 'merge the class with another'}, or {instead!r}.",
    )


def deal(n: int, k: int, random: np.random.Generator, strata: Codes | None = None) -> NDArray[np.integer[Any]]:
    """The fold of each of n rows: folds of equal size, give or take one row, and so the rows of each stratum.

    Rows gathered by stratum are dealt out in turn, like cards; within a stratum it is chance who gets which.

    >>> fold = deal(10, 3, np.random.default_rng(1), np.array([0] * 4 + [1] * 6))
    >>> np.bincount(fold).tolist(), np.bincount(fold[4:]).tolist()
    ([4, 3, 3], [2, 2, 2])
    """
    dealt = np.tile(np.arange(k, dtype=smallest(k)), n // k + 1)[:n]
    if strata is None:
        random.shuffle(dealt)
        return dealt
    starts = edges(np.bincount(strata))
    for start, stop in pairwise(starts):
        random.shuffle(dealt[start:stop])
    fold = np.empty_like(dealt)
    fold[gathered(strata)] = dealt
    return fold


def draw(sizes: Codes, random: np.random.Generator, strata: Codes) -> Codes:
    """So many rows of each stratum, drawn at random without repetition and in order.

    >>> len(draw(np.array([2]), np.random.default_rng(1), np.zeros(5, dtype=np.int64)))
    2
    """
    starts = edges(np.bincount(strata, minlength=len(sizes)))
    chosen = np.zeros(len(strata), dtype=bool)
    for start, stop, size in zip(starts[:-1], starts[1:], sizes, strict=True):
        chosen[start : start + size] = True
        random.shuffle(chosen[start:stop])
    return np.sort(gathered(strata)[chosen])


def shares(counts: Codes, total: int) -> Codes:
    """How many of each class make `total` in the proportions of `counts`: by largest remainder.

    A class has at least one case in and one out, where `total` leaves room for that.

    >>> shares(np.array([50, 30, 20]), 67).tolist()
    [34, 20, 13]
    >>> shares(np.array([96, 2, 2]), 10).tolist()
    [8, 1, 1]
    """
    quota = counts * total / counts.sum()
    classes = np.count_nonzero(counts)
    kept = int(classes <= total <= counts.sum() - classes)
    low, high = np.minimum(kept, counts), np.maximum(counts - kept, 0)
    part = np.clip(np.floor(quota).astype(np.int64), low, high)
    while step := int(np.sign(total - part.sum())):
        # The class that is furthest from its share takes, or gives, one case.
        distance = np.where((part + step >= low) & (part + step <= high), (quota - part) * step, -np.inf)
        part[np.argmax(distance)] += step
    return np.asarray(part, dtype=np.int64)
