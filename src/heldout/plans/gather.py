"""Gathering rows by a small number that each carries, such as its class or its fold."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray


def gathered(codes: NDArray[np.integer[Any]]) -> NDArray[np.int64]:
    """The rows sorted by their number, which is not negative; rows of the same number keep their order.

    >>> gathered(np.array([2, 0, 2, 1])).tolist()
    [1, 3, 0, 2]
    """
    # NumPy sorts numbers of one or two bytes by radix, in time that grows with the rows alone.
    return np.argsort(codes.astype(smallest(int(codes.max(initial=0)))), kind="stable").astype(np.int64, copy=False)


def smallest(largest: int) -> np.dtype[Any]:
    """The type with the fewest bytes that holds the numbers from 0 to `largest`."""
    return np.min_scalar_type(largest)


def edges(sizes: NDArray[np.integer[Any]]) -> NDArray[np.int64]:
    """Where each of several blocks begins, and at last where they end, from their sizes."""
    return np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
