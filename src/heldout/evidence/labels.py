"""The order of class labels, and the union of two label sets."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

Label = str | int | bool | float


def sort_labels(labels: Iterable[Label]) -> tuple[Label, ...]:
    """Labels in their natural order: numbers by size, then text by code point.

    >>> sort_labels(["b", 10, "a", 9])
    (9, 10, 'a', 'b')
    """
    return tuple(sorted(set(labels), key=_key))


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
    if one == sort_labels(one) and two == sort_labels(two):
        return sort_labels(one + two)
    seen = set(one)
    return one + tuple(label for label in two if label not in seen)
