"""The order of class labels and the keys of groups and folds, and their unions when evidence merges."""

from __future__ import annotations

import operator
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from heldout.arguments import Label, listing
from heldout.arrays import make_objects
from heldout.errors import MatrixError


def sort_labels(labels: Iterable[Label]) -> tuple[Label, ...]:
    """Labels in their natural order: numbers by size, then text by code point.

    >>> sort_labels(["b", 10, "a", 9])
    (9, 10, 'a', 'b')
    """
    distinct = set(labels)
    # Of one kind they compare as they are, which is several times as fast: it shows where there are a million.
    return tuple(sorted(distinct) if _one_kind(distinct) else sorted(distinct, key=_key))


def _one_kind(labels: Iterable[Label]) -> bool:
    """Whether all are text, or none is."""
    kinds = set(map(type, labels))
    return all(issubclass(kind, str) for kind in kinds) or not any(issubclass(kind, str) for kind in kinds)


def check_same_kind(first: Sequence[Label], second: Sequence[Label]) -> None:
    """Refuse labels of text beside numbers, which would become classes of their own."""
    kinds = [{issubclass(kind, str) for kind in set(map(type, labels))} for labels in (first, second)]
    if len(kinds[0] | kinds[1]) > 1 and kinds[0] != kinds[1]:
        raise MatrixError(
            f"One side has labels of text, the other numbers: {listing(map(repr, first), most=4)}; "
            f"{listing(map(repr, second), most=4)}.",
            hint="count both with the same labels, so that 1 and '1' are one class.",
        )


def _in_order(labels: tuple[Label, ...]) -> bool:
    """Whether labels are sorted, each of them once."""
    ordered = labels if _one_kind(labels) else tuple(map(_key, labels))
    return all(map(operator.lt, ordered, ordered[1:]))


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
    left, right = tuple(first), tuple(second)
    if left == right:
        return left
    if _in_order(left) and _in_order(right):
        # Two sequences in order are merged in one pass.
        both = left + right
        return tuple(dict.fromkeys(sorted(both) if _one_kind(both) else sorted(both, key=_key)))
    seen = set(left)
    return left + tuple(label for label in right if label not in seen)


def places(labels: Sequence[Label], among: Sequence[Label]) -> NDArray[np.int64]:
    """The place of each label among others; -1 for one that is not there.

    >>> places(("b", "z", "a"), ("a", "b")).tolist()
    [1, -1, 0]
    """
    if labels is among or (len(labels) == len(among) and tuple(labels) == tuple(among)):
        return np.arange(len(labels))
    index_of = {label: position for position, label in enumerate(among)}
    return np.fromiter((index_of.get(label, -1) for label in labels), dtype=np.int64, count=len(labels))


# In an array of texts each takes the memory of the longest. Where that is more than LETTERS letters in all, and more
# than WASTE times as many as there are, the texts are kept as objects.
LETTERS = 1 << 20
WASTE = 8


def key_array(values: Sequence[Any]) -> NDArray[Any]:
    """Keys as an array: texts in one width, but as objects where a few are much longer than the others.

    >>> key_array(["a", "bc"]).dtype.kind, key_array(["a"] * 20_000 + ["b" * 200_000]).dtype.kind
    ('U', 'O')
    """
    if values and all(isinstance(value, str) for value in values):
        lengths = [len(value) for value in values]
        return np.array(values, dtype=object if _wasteful(max(lengths), len(values), sum(lengths)) else np.str_)
    kinds = {isinstance(value, str) for value in values}
    return np.array(values) if len(kinds) < 2 else make_objects(values)


def join_keys(parts: Sequence[NDArray[Any]]) -> tuple[NDArray[Any], NDArray[np.int64]]:
    """The distinct keys of all parts, and the place of every key among them; 1 and "1" are two keys."""
    kinds = {"n" if part.dtype.kind in "iuf" else part.dtype.kind for part in parts}
    if len(kinds) == 1 and "O" not in kinds and not _too_wide(parts):
        keys, code = np.unique(np.concatenate(parts), return_inverse=True)
        return keys, code
    values = [key for part in parts for key in part.tolist()]
    if all(type(key) is str for key in values):
        # In their order, as they are where all have one width, so that it does not matter which part comes first.
        keys, code = np.unique(make_objects(values), return_inverse=True)
        return key_array(keys.tolist()), code
    index_of: dict[Any, int] = {}
    typed_keys = [(type(key) is str, key) for key in values]
    code = np.array([index_of.setdefault(key, len(index_of)) for key in typed_keys], dtype=np.int64)
    return make_objects([key for _, key in index_of]), code


def _wasteful(longest: int, number: int, letters: int) -> bool:
    return longest * number > max(LETTERS, WASTE * letters)


def _too_wide(parts: Sequence[NDArray[Any]]) -> bool:
    """Whether texts of all parts in one width would take much more room than they do apart."""
    if parts[0].dtype.kind != "U":
        return False
    widths = [part.dtype.itemsize // 4 for part in parts]
    apart = sum(width * len(part) for width, part in zip(widths, parts, strict=True))
    return _wasteful(max(widths), sum(map(len, parts)), apart)
