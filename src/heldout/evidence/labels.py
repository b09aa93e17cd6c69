"""The order of class labels, and the union of two label sets."""

from __future__ import annotations

import operator
from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

Label = str | int | bool | float


def sort_labels(labels: Iterable[Label]) -> tuple[Label, ...]:
    """Labels in their natural order: numbers by size, then text by code point.

    >>> sort_labels(["b", 10, "a", 9])
    (9, 10, 'a', 'b')
    """
    held = set(labels)
    # Of one kind they compare as they are, which is several times as fast: it shows where there are a million.
    return tuple(sorted(held) if _one_kind(held) else sorted(held, key=_key))


def _one_kind(labels: Iterable[Label]) -> bool:
    """Whether all are text, or none is."""
    kinds = set(map(type, labels))
    return all(issubclass(kind, str) for kind in kinds) or not any(issubclass(kind, str) for kind in kinds)


def _in_order(labels: tuple[Label, ...]) -> bool:
    """Whether labels are sorted, each of them once."""
    held = labels if _one_kind(labels) else tuple(map(_key, labels))
    return all(map(operator.lt, held, held[1:]))


def _key(label: Label) -> tuple[int, float, str]:
    if isinstance(label, str):
        return 1, 0.0, label
    return 0, label, ""


def join_labels(first: Sequence[Label], second: Sequence[Label]) -> tuple[Label, ...]:
    """Every label of both: sorted if both are, otherwise in the order declared by the first.

    >>> join_labels((0, 2), (1, 2))
    (0, 1, 2)
    >>> join_labels(("low", "high"), ("high", "middle"))
    ('low', 'high', 'middle')
    """
    one, two = tuple(first), tuple(second)
    if one == two:
        return one
    if _in_order(one) and _in_order(two):
        # Two sequences in order are merged in one pass.
        both = one + two
        return tuple(dict.fromkeys(sorted(both) if _one_kind(both) else sorted(both, key=_key)))
    seen = set(one)
    return one + tuple(label for label in two if label not in seen)


def places(labels: Sequence[Label], among: Sequence[Label]) -> NDArray[np.int64]:
    """The place of each label among others; -1 for one that is not there.

    >>> places(("b", "z", "a"), ("a", "b")).tolist()
    [1, -1, 0]
    """
    if labels is among or (len(labels) == len(among) and tuple(labels) == tuple(among)):
        return np.arange(len(labels))
    place = {label: position for position, label in enumerate(among)}
    return np.fromiter((place.get(label, -1) for label in labels), dtype=np.int64, count=len(labels))
