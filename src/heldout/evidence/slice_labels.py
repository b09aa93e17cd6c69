"""The names of slices when evidence merges: their union, and the codes of each slice in it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from heldout.evidence.folds import FoldCounts
from heldout.evidence.slices import SliceCounts

# What stands in brackets is no value of the column, and stands last: (other), (missing).
_NO_VALUE = re.compile(r"\(+(missing|other)\)+")


def is_value(label: str) -> bool:
    """Whether the name of a slice is a value of its column.

    >>> is_value("f"), is_value("(missing)")
    (True, False)
    """
    return _NO_VALUE.fullmatch(label) is None


def natural(labels: Sequence[str]) -> tuple[str, ...]:
    """Numbers by their size where all are numbers, otherwise texts by code point; what is no value last.

    >>> natural(["10", "(missing)", "9"])
    ('9', '10', '(missing)')
    """
    held = [label for label in labels if is_value(label)]
    last = sorted((label for label in labels if not is_value(label)), reverse=True)
    try:
        return (*sorted(held, key=lambda label: (float(label), label)), *last)
    except ValueError:
        return (*sorted(held), *last)


def join_slices(one: Sequence[str], two: Sequence[str]) -> tuple[str, ...]:
    """The names of both: in their natural order if both are, otherwise in the order of the first.

    >>> join_slices(("9", "11"), ("10",))
    ('9', '10', '11')
    >>> join_slices(("low", "high"), ("high", "(missing)"))
    ('low', 'high', '(missing)')
    """
    first, second = tuple(one), tuple(two)
    if first == second:
        return first
    union = tuple(dict.fromkeys([*first, *second]))
    if first == natural(first) and second == natural(second):
        return natural(union)
    values = [label for label in union if is_value(label)]
    return (*values, *natural([label for label in union if not is_value(label)]))


def moved(
    counts: SliceCounts,
    before: Sequence[str],
    after: Sequence[str],
    before_two: Sequence[str] = ("",),
    after_two: Sequence[str] = ("",),
) -> SliceCounts:
    """The same counts under the codes that the slices have among other names; of two columns, those of both."""
    if tuple(before) == tuple(after) and tuple(before_two) == tuple(after_two):
        return counts
    first, second = (
        np.array([place[label] for label in names], dtype=np.int64)
        for names, place in (
            (before, {label: at for at, label in enumerate(after)}),
            (before_two, {label: at for at, label in enumerate(after_two)}),
        )
    )
    keys = counts.keys
    codes = first[keys // len(before_two)] * len(after_two) + second[keys % len(before_two)]
    order = np.argsort(codes)
    back = np.empty(len(order), dtype=np.int64)
    back[order] = np.arange(len(order))
    rows = np.argsort(back[counts.cases.fold], kind="stable")

    def again(part: FoldCounts) -> FoldCounts:
        taken = part.truth[rows], part.predicted[rows], part.counts[rows]
        return FoldCounts(part.labels, codes[order], back[part.fold][rows], *taken)

    groups = counts.groups
    if groups is not None:
        entries = np.argsort(back[groups.place], kind="stable")
        columns = groups.group[entries], groups.cell[entries], groups.count[entries]
        groups = replace(groups, place=back[groups.place][entries], group=columns[0], cell=columns[1], count=columns[2])
    return SliceCounts(
        again(counts.cases),
        None if counts.weights is None else again(counts.weights),
        None if counts.squares is None else again(counts.squares),
        groups,
    )
