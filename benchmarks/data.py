"""Made-up labels to judge, right four times in five and otherwise any class; and scores of every usual shape."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

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


DISTINCT = 1000


def _logistic(positive: NDArray[np.bool_], generator: np.random.Generator) -> NDArray[np.float64]:
    """What real classifiers give."""
    return np.asarray(1 / (1 + np.exp(-(generator.normal(size=len(positive)) + 1.5 * positive - 1))))


# Every speed table runs over all of these: what is fast for one shape of scores alone is not fast.
SCORES: dict[str, Callable[[NDArray[np.bool_], np.random.Generator], NDArray[Any]]] = {
    "uniform": lambda positive, generator: generator.random(len(positive)),
    "logistic": _logistic,
    "very confident": lambda positive, generator: generator.beta(0.05, 0.05, len(positive)),
    "float32": lambda positive, generator: _logistic(positive, generator).astype(np.float32),
    f"{DISTINCT:,} distinct": lambda positive, generator: (
        np.round(_logistic(positive, generator) * DISTINCT) / DISTINCT
    ),
}


def scored(kind: str, n: int, *, seed: int = 1) -> tuple[NDArray[Any], NDArray[np.bool_]]:
    """Probabilities of one of the usual shapes, and which cases are positive: three in ten."""
    generator = np.random.default_rng(seed)
    positive = generator.random(n) < 0.3
    return SCORES[kind](positive, generator), positive
