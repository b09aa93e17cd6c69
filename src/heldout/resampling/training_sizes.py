"""Growing training sets: for each draw a test part, and from the rest nested sets, each containing the one before."""

from __future__ import annotations

import math
import numbers
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from heldout.arguments import check_whole, closest, listing
from heldout.arrays import Integers
from heldout.errors import LabelError, OptionError, ValuesError
from heldout.learners.problem import Problem
from heldout.plans.splits import Splits

Sizes: TypeAlias = str | Sequence[float]

SPACINGS = ("geometric", "arithmetic")
# A curve that begins below this shows little but chance; it begins lower only where it must.
SMALLEST = 10
# So often whole groups are drawn anew before it is said that they cannot be divided.
TRIES = 100


@dataclass(frozen=True, slots=True)
class NestedTrainingSets:
    """One Splits for all draws and sizes: split number draw · len(sizes) + place trains on sizes[place] rows."""

    splits: Splits
    sizes: tuple[int, ...]
    draws: int
    tested: int


def draw_training_sets(
    problem: Problem,
    *,
    sizes: Sizes = "geometric",
    points: int = 8,
    draws: int = 10,
    test: float = 1 / 3,
    seed: int = 0,
) -> NestedTrainingSets:
    """Draw the test parts and the nested training sets.

    Both are stratified by class, and the smallest set holds every class. Where the rows come in groups, whole groups
    are tested, and training sets grow group by group, as new data would come.

    >>> truth = np.repeat([0, 1], 30)
    >>> made = draw_training_sets(Problem(np.zeros((60, 1)), truth, truth, (0, 1)), draws=2)
    >>> made.sizes
    (10, 12, 15, 18, 22, 27, 33, 40)
    """
    check_whole("points", points, 2)
    check_whole("draws", draws, 1)
    check_whole("seed", seed, 0)
    if not _is_number(test) or not 0 < test < 1:
        raise OptionError(
            f"The test part must be a share between 0 and 1. Got {test!r}.", hint="a third is test=1/3, the default."
        )
    _check_every_class_twice(problem)
    parts = [_divide_rows(problem, float(test), np.random.default_rng([seed, draw])) for draw in range(draws)]
    most = min(len(order) for _, order in parts)
    once, twice = (max(_count_until_covered(problem.truth[order], times) for _, order in parts) for times in (1, 2))
    chosen = _resolve_sizes(sizes, points, min(once, most), min(twice, most), most)
    splits = Splits.of(
        problem.n,
        [tested for tested, _ in parts for _ in chosen],
        [order[:size] for _, order in parts for size in chosen],
        repeat=[draw for draw in range(draws) for _ in chosen],
        fold=[position for _ in range(draws) for position in range(len(chosen))],
    )
    return NestedTrainingSets(splits, chosen, draws, round(float(np.mean([len(tested) for tested, _ in parts]))))


def _check_every_class_twice(problem: Problem) -> None:
    counts = np.bincount(problem.truth, minlength=len(problem.labels))
    alone = [f"{problem.labels[at]} ({counts[at]})" for at in np.flatnonzero(counts == 1)]
    if alone:
        raise LabelError(
            f"Every class needs a row to train and a row to test. These have only one row: {listing(alone)}.",
            hint="leave these rows out, or merge rare classes.",
        )
    if (counts > 0).sum() < 2:
        raise LabelError(
            "A learning curve needs rows of at least two classes, and here is only "
            f"{listing(problem.labels[at] for at in np.flatnonzero(counts)) or 'none'}.",
            hint="check which column is the target.",
        )


def _divide_rows(problem: Problem, test: float, rng: np.random.Generator) -> tuple[Integers, Integers]:
    """The test rows of one draw, and the other rows in the order in which training sets take them."""
    if problem.group is not None:
        return _divide_groups(problem.truth, np.unique(problem.group, return_inverse=True)[1], test, rng)
    shuffled = rng.permutation(problem.n)
    rank, counts = _rank_in_class(problem.truth[shuffled])
    wanted = np.clip(_apportion_test(counts, test), np.minimum(counts, 1), np.maximum(counts - 1, 0))
    tested = rank < wanted[problem.truth[shuffled]]
    rest = shuffled[~tested]
    rank, counts = _rank_in_class(problem.truth[rest])
    # Two rows of each class come first; then each class at its own pace, so that every set is stratified.
    turn = np.where(rank < 2, rank - 2.0, (rank + 0.5) / counts[problem.truth[rest]])
    return np.sort(shuffled[tested]), rest[np.argsort(turn, kind="stable")]


def _rank_in_class(classes: Integers) -> tuple[Integers, Integers]:
    """The place of every row among the rows of its class, and how many rows each class has."""
    counts = np.bincount(classes)
    by_class = np.argsort(classes, kind="stable")
    rank = np.empty(len(classes), dtype=np.int64)
    rank[by_class] = np.arange(len(classes)) - np.repeat(np.cumsum(counts) - counts, counts)
    return rank, counts


def _apportion_test(counts: Integers, test: float) -> Integers:
    """How many rows of each class are tested, by largest remainder."""
    exact = counts * test
    whole: Integers = np.floor(exact).astype(np.int64)
    missing = round(float(exact.sum())) - int(whole.sum())
    whole[np.argsort(whole - exact, kind="stable")[:missing]] += 1
    return whole


def _divide_groups(
    truth: Integers, group: Integers, test: float, rng: np.random.Generator
) -> tuple[Integers, Integers]:
    present = len(np.unique(truth))
    count = int(group.max()) + 1
    size = np.bincount(group)
    for _ in range(TRIES if count > 1 else 0):
        order = rng.permutation(count)
        # The prefix of groups nearest to the share asked for, with at least one group on each side.
        taken = int(np.abs(np.cumsum(size[order])[:-1] - test * len(truth)).argmin()) + 1
        tested = np.isin(group, order[:taken])
        if len(np.unique(truth[~tested])) == present:
            return np.flatnonzero(tested), _order_by_group(truth, group, order[taken:], rng)
    raise ValuesError(
        f"The {count} groups cannot be divided so that every class is in the training part.",
        hint="a class that is in one group only cannot be tested on other groups; leave it out, or leave out group.",
    )


def _order_by_group(truth: Integers, group: Integers, order: Integers, rng: np.random.Generator) -> Integers:
    """The rows of these groups, group by group; groups that bring a class not met before come first."""
    shuffled = rng.permutation(len(group))
    members = np.split(shuffled[np.argsort(group[shuffled], kind="stable")], np.cumsum(np.bincount(group))[:-1])
    covered: set[int] = set()
    first: list[int] = []
    later: list[int] = []
    for number in order.tolist():
        classes = set(np.unique(truth[members[number]]).tolist())
        (later if classes <= covered else first).append(number)
        covered |= classes
    return np.concatenate([members[number] for number in [*first, *later]])


def _count_until_covered(classes: Integers, times: int) -> int:
    """How many rows from the beginning hold each class so many times, or as often as it occurs."""
    rank, counts = _rank_in_class(classes)
    return int(np.flatnonzero(rank == np.minimum(counts, times)[classes] - 1).max()) + 1


def _resolve_sizes(sizes: Sizes, points: int, once: int, twice: int, most: int) -> tuple[int, ...]:
    if isinstance(sizes, str):
        if sizes not in SPACINGS:
            near = closest(sizes, SPACINGS)
            raise OptionError(
                f"There is no spacing {sizes!r}; there are {listing(SPACINGS)}.",
                hint=f"use {near or 'geometric'!r}, or give the sizes as a list.",
            )
        least = max(twice, min(SMALLEST, most // 2))
        if sizes == "geometric":
            # Doubling where there are rows for it, and smaller steps where not.
            places = np.geomspace(max(least, math.ceil(most / 2 ** (points - 1))), most, points)
        else:
            places = np.linspace(max(least, math.ceil(most / points)), most, points)
        return tuple(np.unique(places.round().astype(np.int64)).tolist())
    return _resolve_listed_sizes(sizes, once, most)


def _resolve_listed_sizes(sizes: Sequence[float], once: int, most: int) -> tuple[int, ...]:
    whole_sizes = {_resolve_size(size, most) for size in sizes}
    if not whole_sizes:
        raise OptionError("The list of sizes is empty.", hint="give sizes or shares, such as [0.25, 0.5, 1.0].")
    if max(whole_sizes) > most:
        raise ValuesError(
            f"The training part has {most:,} rows, and a training set of {max(whole_sizes):,} was asked for.",
            hint=f"give sizes up to {most}, shares up to 1.0, or a smaller test part.",
        )
    if min(whole_sizes) < once:
        raise ValuesError(
            f"A training set of {min(whole_sizes):,} rows was asked for, and it takes {once:,} to hold every class.",
            hint=f"begin with at least {once} rows.",
        )
    return tuple(sorted(whole_sizes))


def _is_number(value: Any) -> bool:
    return isinstance(value, numbers.Real) and not isinstance(value, bool | np.bool_)


def _resolve_size(size: Any, most: int) -> int:
    """Integers from a whole number, or from a share of the training part."""
    if not _is_number(size) or not size > 0 or not math.isfinite(size):
        raise OptionError(f"A size is a number of rows or a share. Got {size!r}.", hint="such as 100, or 0.5.")
    if not isinstance(size, numbers.Integral) and size <= 1:
        return max(round(float(size) * most), 1)
    if float(size) != int(size):
        raise OptionError(
            f"A size is a whole number of rows, or a share of at most 1. Got {size!r}.", hint=f"use {int(size)}."
        )
    return int(size)
