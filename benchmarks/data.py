"""Made-up labels to judge: right four times in five, otherwise any class."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray


def integers(n: int, classes: int, *, seed: int = 1) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Truth and predicted as whole numbers."""
    generator = np.random.default_rng(seed)
    truth = generator.integers(classes, size=n)
    predicted = np.where(generator.random(n) < 0.8, truth, generator.integers(classes, size=n))
    return truth, predicted


def shared_strings(codes: NDArray[np.int64], classes: int) -> NDArray[np.object_]:
    """Class names whose rows all point at the same few str objects, as after a join or a categorical."""
    names = np.array([f"class {code}" for code in range(classes)], dtype=object)
    return names[codes]


def separate_strings(codes: NDArray[np.int64]) -> NDArray[np.object_]:
    """Class names where every row is a str object of its own, as after reading a file line by line."""
    rows = np.empty(len(codes), dtype=object)
    rows[:] = [f"class {code}" for code in codes]
    return rows
