"""The keys of groups and folds as an array, and the union of them when evidence merges."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

# Texts of one width take the memory of the longest, each; beyond so many letters in all, and so many times as many as
# there are, they are kept as objects.
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
    return np.array(values) if len(kinds) < 2 else _objects(values)


def join_keys(parts: Sequence[NDArray[Any]]) -> tuple[NDArray[Any], NDArray[np.int64]]:
    """The distinct keys of all parts, and the place of every key among them; 1 and "1" are two keys."""
    kinds = {"n" if part.dtype.kind in "iuf" else part.dtype.kind for part in parts}
    if len(kinds) == 1 and "O" not in kinds and not _too_wide(parts):
        keys, code = np.unique(np.concatenate(parts), return_inverse=True)
        return keys, code
    values = [key for part in parts for key in part.tolist()]
    if all(type(key) is str for key in values):
        # In their order, as they are where all have one width, so that it does not matter which part comes first.
        keys, code = np.unique(_objects(values), return_inverse=True)
        return key_array(keys.tolist()), code
    place: dict[Any, int] = {}
    held = [(type(key) is str, key) for key in values]
    code = np.array([place.setdefault(key, len(place)) for key in held], dtype=np.int64)
    return _objects([key for _, key in place]), code


def _wasteful(longest: int, number: int, letters: int) -> bool:
    return longest * number > max(LETTERS, WASTE * letters)


def _too_wide(parts: Sequence[NDArray[Any]]) -> bool:
    """Whether texts of all parts in one width would take much more room than they do apart."""
    if parts[0].dtype.kind != "U":
        return False
    widths = [part.dtype.itemsize // 4 for part in parts]
    apart = sum(width * len(part) for width, part in zip(widths, parts, strict=True))
    return _wasteful(max(widths), sum(map(len, parts)), apart)


def _objects(values: Sequence[Any]) -> NDArray[Any]:
    made = np.empty(len(values), dtype=object)
    made[:] = values
    return made
