"""Rows to split, drawn by hypothesis: two or three classes, each of a few cases or more, with groups or without."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import strategies as st

from heldout.plans import Cases, Splits

LABELS = ("a", "b", "c")


@st.composite
def cases(draw: Any, *, fewest: int = 5, most: int = 25, grouped: bool = False) -> Cases:
    """Every class has at least `fewest` cases; groups, if there are any, number 6 or more."""
    counts = draw(st.lists(st.integers(fewest, most), min_size=2, max_size=3))
    seed = draw(st.integers(0, 1000))
    random = np.random.default_rng(seed)
    truth = random.permutation(np.repeat(np.arange(len(counts)), counts))
    if not grouped:
        return Cases(truth, LABELS[: len(counts)])
    number = draw(st.integers(6, len(truth)))
    # Every group has a row, and some have many; the numbers have gaps.
    group = np.concatenate([np.arange(number), (number * random.random(len(truth) - number) ** 3).astype(np.int64)])
    return Cases(truth, LABELS[: len(counts)], random.permutation(group) * 3 + 1)


def pairs(splits: Any) -> list[tuple[list[int], list[int]]]:
    """The training and test rows of every split, as lists."""
    return [(train.tolist(), test.tolist()) for train, test in splits]


def is_partition(splits: Splits) -> bool:
    """Whether every row is tested exactly once, by a model that was trained on all the others."""
    return splits.train_rows is None and bool((splits.times_tested == 1).all())
