"""Whole groups: dealt to folds, drawn for a test part, or drawn with replacement, never torn apart."""

from __future__ import annotations

import heapq
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from heldout.arrays import Codes
from heldout.errors import OptionError
from heldout.plans.gather import edges, gathered
from heldout.plans.options import counted
from heldout.plans.plan import Cases


def group_codes(group: NDArray[np.integer[Any]], least: int, need: str) -> tuple[Codes, int]:
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


def refuse_groups(cases: Cases, plan: str, why: str, instead: str) -> None:
    """Refuse a plan that cannot keep groups together."""
    if cases.group is not None:
        raise OptionError(f"The rows have groups, and {plan} {why}.", hint=f"use {instead}, or leave the groups out.")


def deal_groups(cases: Cases, group: Codes, k: int, random: np.random.Generator, *, stratified: bool) -> Codes:
    """The fold of every row: each group as a whole, the largest first, to the fold that needs it most.

    That is the fold in which the group's classes are rarest so far, and so (as in scikit-learn's StratifiedGroupKFold)
    the one that leaves the classes' shares most alike; without stratification, the one with the fewest rows. Groups of
    the same size come in an order drawn at random.
    """
    codes, number = group_codes(group, k, f"a plan of {k} folds")
    sizes = np.bincount(codes)
    shuffled = random.permutation(number)
    order = shuffled[np.argsort(-sizes[shuffled], kind="stable")]
    place = _balance_classes(cases, codes, order, k) if stratified else _balance_rows(sizes, order, k)
    fold_of_group = random.permutation(k)[place]
    return np.asarray(fold_of_group[codes], dtype=np.int64)


def _balance_rows(sizes: Codes, order: Codes, k: int) -> Codes:
    place = np.empty(len(sizes), dtype=np.int64)
    folds = [(0, fold) for fold in range(k)]
    for group, size in zip(order.tolist(), sizes[order].tolist(), strict=True):
        rows, fold = folds[0]
        place[group] = fold
        heapq.heapreplace(folds, (rows + size, fold))
    return place


def _balance_classes(cases: Cases, codes: Codes, order: Codes, k: int) -> Codes:
    _, truth = np.unique(cases.truth, return_inverse=True)
    classes, number = int(truth.max()) + 1, len(order)
    table = np.bincount(codes * classes + truth, minlength=number * classes).reshape(number, classes)
    # Of Σ share² over folds and classes, which is least when all are alike, only this product depends on the fold.
    share = table / table.sum(axis=0)
    place = np.empty(number, dtype=np.int64)
    load, rows = np.zeros((k, classes)), np.zeros(k)
    sizes = table.sum(axis=1)
    for group in order.tolist():
        # An empty fold costs nothing and has the fewest rows, so that none stays empty.
        fold = int(np.lexsort((rows, load @ share[group]))[0])
        place[group] = fold
        load[fold] += share[group]
        rows[fold] += sizes[group]
    return place


def draw_groups(cases: Cases, group: Codes, tested: int, random: np.random.Generator, *, stratified: bool) -> Codes:
    """The rows of groups drawn at random until about `tested` rows are reached; at least one group is left.

    Stratified, the groups of each most frequent class are drawn in their share.
    """
    codes, number = group_codes(group, 2, "a training and a test part")
    sizes = np.bincount(codes)
    kind = _main_class(cases.truth, codes, number) if stratified else np.zeros(number, dtype=np.int64)
    order = random.permutation(number)
    order = order[gathered(kind[order])]
    chosen = np.zeros(number, dtype=bool)
    starts = edges(np.bincount(kind))
    owed = 0.0
    for start, stop in pairwise(starts):
        block = order[start:stop]
        reached = edges(sizes[block])
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


def _main_class(truth: Codes, codes: Codes, number: int) -> Codes:
    """The most frequent class of each group."""
    classes = int(truth.max()) + 1
    table = np.bincount(codes * classes + truth, minlength=number * classes)
    return np.asarray(table.reshape(number, classes).argmax(axis=1), dtype=np.int64)


def members(order: Codes, starts: Codes, drawn: Codes) -> Codes:
    """The rows of the drawn groups, a group that was drawn twice with all its rows twice.

    `order` lists the rows gathered by group, and `starts` says where each group begins in it.

    >>> members(np.array([0, 2, 1, 3]), np.array([0, 2, 3, 4]), np.array([2, 0, 0])).tolist()
    [3, 0, 2, 0, 2]
    """
    lengths = np.diff(starts)[drawn]
    places = np.repeat(starts[drawn] - edges(lengths)[:-1], lengths) + np.arange(lengths.sum())
    return np.asarray(order[places], dtype=np.int64)
