"""Rows dealt to folds or drawn for a test part: every class in its share, and groups never torn apart."""

from __future__ import annotations

import heapq
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from heldout.arguments import counted, listing
from heldout.arrays import Codes
from heldout.errors import LabelError, OptionError
from heldout.plans.plan import Cases, find_edges, find_smallest_type, sort_by_code


def check_rare_classes(cases: Cases, least: int, need: str, instead: str) -> None:
    """Refuse to stratify where a class that occurs has fewer than `least` cases; `need` says what needs them."""
    counts = np.bincount(cases.truth, minlength=len(cases.labels))
    rare = np.flatnonzero((counts > 0) & (counts < least))
    if not len(rare):
        return
    names = listing((f"{cases.labels[i]!r} ({counted(int(counts[i]), 'case')})" for i in rare), most=6)
    subject = f"Class {names} has" if len(rare) == 1 else f"Classes {names} have"
    fewest = int(counts[rare].min())
    raise LabelError(
        f"{subject} too few cases: {need} needs at least {least} of every class.",
        hint=f"{f'use at most {fewest} folds' if fewest > 1 else 'merge the class with another'}, or {instead!r}.",
    )


def deal_rows(n: int, k: int, random: np.random.Generator, strata: Codes | None = None) -> NDArray[np.integer[Any]]:
    """The fold of each of n rows: folds of equal size, give or take one row, and so the rows of each stratum.

    Rows gathered by stratum are dealt out in turn, like cards; within a stratum it is chance who gets which.

    >>> fold = deal_rows(10, 3, np.random.default_rng(1), np.array([0] * 4 + [1] * 6))
    >>> np.bincount(fold).tolist(), np.bincount(fold[4:]).tolist()
    ([4, 3, 3], [2, 2, 2])
    """
    dealt = np.tile(np.arange(k, dtype=find_smallest_type(k)), n // k + 1)[:n]
    if strata is None:
        random.shuffle(dealt)
        return dealt
    starts = find_edges(np.bincount(strata))
    for start, stop in pairwise(starts):
        random.shuffle(dealt[start:stop])
    fold = np.empty_like(dealt)
    fold[sort_by_code(strata)] = dealt
    return fold


def draw_rows(sizes: Codes, random: np.random.Generator, strata: Codes) -> Codes:
    """So many rows of each stratum, drawn at random without repetition and in order.

    >>> len(draw_rows(np.array([2]), np.random.default_rng(1), np.zeros(5, dtype=np.int64)))
    2
    """
    starts = find_edges(np.bincount(strata, minlength=len(sizes)))
    chosen = np.zeros(len(strata), dtype=bool)
    for start, stop, size in zip(starts[:-1], starts[1:], sizes, strict=True):
        chosen[start : start + size] = True
        random.shuffle(chosen[start:stop])
    return np.sort(sort_by_code(strata)[chosen])


def apportion(counts: Codes, total: int) -> Codes:
    """How many of each class make `total` in the proportions of `counts`: by largest remainder.

    A class has at least one case in and one out, where `total` leaves room for that.

    >>> apportion(np.array([50, 30, 20]), 67).tolist()
    [34, 20, 13]
    >>> apportion(np.array([96, 2, 2]), 10).tolist()
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


def number_groups(group: NDArray[np.integer[Any]], least: int, need: str) -> tuple[Codes, int]:
    """The groups numbered without gaps, and how many there are; refused where there are fewer than `least`."""
    names, codes = np.unique(group, return_inverse=True)
    if len(names) < least:
        raise OptionError(
            f"There {'is' if len(names) == 1 else 'are'} {counted(len(names), 'group')}, and {need} needs at least "
            f"{least}: a group is never on both sides of a split.",
            hint="use fewer folds, or group the rows more finely."
            if len(names) > 1
            else "group the rows more finely, or leave the groups out.",
        )
    return codes.astype(np.int64, copy=False), len(names)


def check_no_groups(cases: Cases, plan: str, why: str, instead: str) -> None:
    """Refuse a plan that cannot keep groups together."""
    if cases.group is not None:
        raise OptionError(f"The rows have groups, and {plan} {why}.", hint=f"use {instead}, or leave the groups out.")


def deal_groups(cases: Cases, group: Codes, k: int, random: np.random.Generator, *, stratified: bool) -> Codes:
    """The fold of every row: each group as a whole, the largest first, to the fold that needs it most.

    That is the fold in which the group's classes are rarest so far, and so (as in scikit-learn's StratifiedGroupKFold)
    the one that leaves the classes' shares most alike; without stratification, the one with the fewest rows. Groups of
    the same size come in an order drawn at random.
    """
    codes, number = number_groups(group, k, f"a plan of {k} folds")
    sizes = np.bincount(codes)
    shuffled = random.permutation(number)
    order = shuffled[np.argsort(-sizes[shuffled], kind="stable")]
    part_of_group = _balance_classes(cases, codes, order, k) if stratified else _balance_rows(sizes, order, k)
    fold_of_group = random.permutation(k)[part_of_group]
    return np.asarray(fold_of_group[codes], dtype=np.int64)


def _balance_rows(sizes: Codes, order: Codes, k: int) -> Codes:
    part = np.empty(len(sizes), dtype=np.int64)
    folds = [(0, fold) for fold in range(k)]
    for group, size in zip(order.tolist(), sizes[order].tolist(), strict=True):
        rows, fold = folds[0]
        part[group] = fold
        heapq.heapreplace(folds, (rows + size, fold))
    return part


def _balance_classes(cases: Cases, codes: Codes, order: Codes, k: int) -> Codes:
    _, truth = np.unique(cases.truth, return_inverse=True)
    classes, number = int(truth.max()) + 1, len(order)
    table = np.bincount(codes * classes + truth, minlength=number * classes).reshape(number, classes)
    # Of Σ share² over folds and classes, which is least when all are alike, only this product depends on the fold.
    share = table / table.sum(axis=0)
    part = np.empty(number, dtype=np.int64)
    load, rows = np.zeros((k, classes)), np.zeros(k)
    sizes = table.sum(axis=1)
    for group in order.tolist():
        # An empty fold costs nothing and has the fewest rows, so that none stays empty.
        fold = int(np.lexsort((rows, load @ share[group]))[0])
        part[group] = fold
        load[fold] += share[group]
        rows[fold] += sizes[group]
    return part


def draw_groups(cases: Cases, group: Codes, tested: int, random: np.random.Generator, *, stratified: bool) -> Codes:
    """The rows of groups drawn at random until about `tested` rows are reached; at least one group is left.

    Stratified, the groups of each most frequent class are drawn in their share.
    """
    codes, number = number_groups(group, 2, "a training and a test part")
    sizes = np.bincount(codes)
    kind = _find_main_class(cases.truth, codes, number) if stratified else np.zeros(number, dtype=np.int64)
    order = random.permutation(number)
    order = order[sort_by_code(kind[order])]
    chosen = np.zeros(number, dtype=bool)
    starts = find_edges(np.bincount(kind))
    owed = 0.0
    for start, stop in pairwise(starts):
        block = order[start:stop]
        reached = find_edges(sizes[block])
        # What one class could not take because its groups are large, the next one takes.
        owed += tested * reached[-1] / len(codes)
        taken = int(np.argmin(np.abs(reached - owed)))
        chosen[block[:taken]] = True
        owed -= reached[taken]
    if not chosen.any():
        chosen[order[np.argmin(sizes[order])]] = True
    if chosen.all():
        chosen[order[np.argmin(sizes[order])]] = False
    return np.flatnonzero(chosen[codes])


def _find_main_class(truth: Codes, codes: Codes, number: int) -> Codes:
    """The most frequent class of each group."""
    classes = int(truth.max()) + 1
    table = np.bincount(codes * classes + truth, minlength=number * classes)
    return np.asarray(table.reshape(number, classes).argmax(axis=1), dtype=np.int64)


def expand_groups(order: Codes, starts: Codes, drawn: Codes) -> Codes:
    """The rows of the drawn groups, a group that was drawn twice with all its rows twice.

    `order` lists the rows gathered by group, and `starts` says where each group begins in it.

    >>> expand_groups(np.array([0, 2, 1, 3]), np.array([0, 2, 3, 4]), np.array([2, 0, 0])).tolist()
    [3, 0, 2, 0, 2]
    """
    lengths = np.diff(starts)[drawn]
    places = np.repeat(starts[drawn] - find_edges(lengths)[:-1], lengths) + np.arange(lengths.sum())
    return np.asarray(order[places], dtype=np.int64)
