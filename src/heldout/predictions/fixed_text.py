"""Encoding NumPy's fixed-width text without making a Python string of every row.

The few columns of characters that tell the labels of a sample apart are hashed into a table without
collisions; each row is then compared, character by character, with the label that its place in the table
names. Rows that differ from it hold labels that the sample missed, and are encoded by themselves.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

# Rows looked at first: enough to meet nearly every label that is not rare.
SAMPLE = 20_000
# With more labels than this the table leaves the processor's cache, and sorting is as fast.
MOST_LABELS = 2000
# Rows are worked on in blocks that stay in the cache.
BLOCK = 1 << 14
# An odd number without pattern (2**64 over the golden ratio): its powers spread the bits of their factors.
ODD = 0x9E3779B97F4A7C15
TRIES = 8


def encode_fixed(array: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]] | None:
    """The code of each row and the labels in order, or None where this is not the fast way.

    >>> codes, labels = encode_fixed(np.array(["no", "yes", "no"]))
    >>> codes.tolist(), labels.tolist()
    ([0, 1, 0], ['no', 'yes'])
    """
    if not len(array) or not array.dtype.isnative or not array.dtype.itemsize:
        return None
    array = np.ascontiguousarray(array)
    # An odd step, so that labels which take turns are all met.
    known = np.unique(array[:: len(array) // SAMPLE | 1])
    if len(known) > MOST_LABELS:
        return None
    unit: Any = np.uint32 if array.dtype.kind == "U" else np.uint8
    marks = known.view(unit).reshape(len(known), -1)
    table = _table(marks)
    if table is None:
        return None
    codes, odd = _lookup(array.view(unit).reshape(len(array), -1), marks, *table)
    if len(odd) > len(array) // 20:
        return None
    if len(odd):
        return _with_rare(array, codes, odd, known)
    return codes, known


def _table(marks: NDArray[Any]) -> tuple[list[int], NDArray[np.uint64], int, NDArray[np.int16]] | None:
    """Columns to hash, their multipliers, the shift that leaves a place, and the label at each place."""
    columns = _telling(marks)
    bits = max(8, 2 * len(marks).bit_length())
    for attempt in range(TRIES):
        powers = [pow(ODD, 1 + position + attempt * len(columns), 1 << 64) for position in range(len(columns))]
        multipliers = np.array(powers, dtype=np.uint64)
        places = (marks[:, columns].astype(np.uint64) * multipliers).sum(axis=1, dtype=np.uint64) >> np.uint64(
            64 - bits
        )
        if len(np.unique(places)) == len(marks):
            table = np.zeros(1 << bits, dtype=np.int16)
            table[places.astype(np.int64)] = np.arange(len(marks))
            return columns, multipliers, 64 - bits, table
    return None


def _telling(marks: NDArray[Any]) -> list[int]:
    """Columns of characters in which no two labels agree throughout: few, so that little is hashed."""
    groups = np.zeros(len(marks), dtype=np.int64)
    chosen: list[int] = []
    number = 1
    # The ends of labels tell them apart more often than their beginnings.
    for column in reversed(range(marks.shape[1])):
        if number == len(marks):
            break
        _, split = np.unique(groups * (1 << 32) + marks[:, column], return_inverse=True)
        parts = int(split.max()) + 1
        if parts > number:
            groups, number = split, parts
            chosen.append(column)
    return chosen


def _lookup(
    rows: NDArray[Any],
    marks: NDArray[Any],
    columns: list[int],
    multipliers: NDArray[np.uint64],
    shift: int,
    table: NDArray[np.int16],
) -> tuple[NDArray[Any], NDArray[np.int64]]:
    """The code of each row, and which rows are not the label of their code."""
    codes = np.empty(len(rows), dtype=np.uint8 if len(marks) <= 256 else np.int16)
    odd = [np.empty(0, dtype=np.int64)]
    places, part = np.empty(BLOCK, dtype=np.uint64), np.empty(BLOCK, dtype=np.uint64)
    named = np.empty((BLOCK, marks.shape[1]), dtype=marks.dtype)
    for start in range(0, len(rows), BLOCK):
        block = rows[start : start + BLOCK]
        place, product, label = places[: len(block)], part[: len(block)], named[: len(block)]
        place.fill(0)
        for column, multiplier in zip(columns, multipliers, strict=True):
            np.multiply(block[:, column], multiplier, out=product)
            place += product
        place >>= np.uint64(shift)
        code = table[place.view(np.int64)]
        # mode="clip" only spares a copy: every code is the place of a label.
        np.take(marks, code, axis=0, out=label, mode="clip")
        if not np.array_equal(label, block):
            odd.append(np.flatnonzero((label != block).any(axis=1)) + start)
        codes[start : start + BLOCK] = code
    return codes, np.concatenate(odd)


def _with_rare(
    array: NDArray[Any], codes: NDArray[Any], odd: NDArray[np.int64], known: NDArray[Any]
) -> tuple[NDArray[Any], NDArray[Any]]:
    """Add the labels that the sample missed, and bring all labels into order."""
    rare, place = np.unique(array[odd], return_inverse=True)
    every = np.concatenate([known, rare])
    order = np.argsort(every)
    move = np.empty(len(every), dtype=np.uint8 if len(every) <= 256 else np.int64)
    move[order] = np.arange(len(every))
    moved = move[codes]
    moved[odd] = move[place + len(known)]
    return moved, every[order]
