"""Writes predictions to Parquet piece by piece: the class as text, what was predicted, and scores of a distribution.

Run as a program with a path, a number of rows and one of SCORES: `python -m benchmarks.big_parquet PATH ROWS uniform`.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

# Rows of a group in the file, and of the pieces that are written one after the other.
PIECE = 1 << 20
# One prediction in so many is not what the score says, so that the column cannot be made from the score.
SLIP = 1000
# Multiplying by an odd number and folding the high bits into the low ones are one-to-one: no score is met twice.
_BITS = 53
_STEPS = (0x1CE4E5B9BF5847, 0x11EB94D049BB13)


def _logistic(rng: np.random.Generator, size: int) -> tuple[NDArray[Any], NDArray[np.bool_]]:
    truth = rng.random(size) < 0.3
    return 1 / (1 + np.exp(-(rng.normal(size=size) + 1.5 * truth - 1))), truth


def _confident(rng: np.random.Generator, size: int) -> tuple[NDArray[Any], NDArray[np.bool_]]:
    score = rng.beta(0.05, 0.05, size)
    return score, rng.random(size) < 0.02 + 0.96 * score


def _thousand(rng: np.random.Generator, size: int) -> tuple[NDArray[Any], NDArray[np.bool_]]:
    score = rng.integers(0, 1000, size) / 999
    return score, rng.random(size) < score


def _short(rng: np.random.Generator, size: int) -> tuple[NDArray[Any], NDArray[np.bool_]]:
    score, truth = _logistic(rng, size)
    return score.astype(np.float32), truth


# Scores as classifiers give them, and the classes; uniform ones are made apart, so that none comes twice.
SCORES: dict[str, Callable[[np.random.Generator, int], tuple[NDArray[Any], NDArray[np.bool_]]] | None] = {
    "uniform": None,
    "logistic": _logistic,
    "confident": _confident,
    "float32": _short,
    "thousand": _thousand,
}


def write_big(path: Path, rows: int, *, seed: int = 0, scores: str = "uniform") -> None:
    """A file of so many cases, written in pieces: truth, predicted and score; uniform scores are all distinct."""
    import pyarrow as pa  # type: ignore[import-untyped, unused-ignore]
    import pyarrow.parquet as pq  # type: ignore[import-untyped, unused-ignore]

    names = pa.array(["no", "yes"])
    schema = pa.schema(
        [
            ("truth", pa.string()),
            ("predicted", pa.string()),
            ("score", pa.float32() if scores == "float32" else pa.float64()),
        ]
    )
    rng = np.random.default_rng(seed)
    with pq.ParquetWriter(path, schema) as writer:
        for start in range(0, rows, PIECE):
            if (draw := SCORES[scores]) is not None:
                score, truth = draw(rng, min(PIECE, rows - start))
            else:
                score = distinct_scores(start, min(start + PIECE, rows))
                # Sharper than the score says, so that calibration is worth a sentence.
                truth = rng.random(len(score)) < 1 / (1 + np.exp(-6 * (score - 0.5)))
            predicted = (score >= 0.5) ^ (rng.integers(SLIP, size=len(score)) == 0)
            texts = [names.take(pa.array(column.view(np.int8))) for column in (truth, predicted)]
            writer.write_table(pa.table([*texts, pa.array(score)], schema=schema), row_group_size=PIECE)


def distinct_scores(start: int, stop: int) -> NDArray[np.float64]:
    """Scores between 0 and 1 that look drawn at random, a different one for every place.

    >>> len(np.unique(distinct_scores(0, 1000)))
    1000
    """
    mask = np.uint64((1 << _BITS) - 1)
    held = np.arange(start, stop, dtype=np.uint64)
    for step in _STEPS:
        held = held * np.uint64(step) & mask
        held ^= held >> np.uint64(27)
    return np.asarray(held.astype(np.float64) / 2.0**_BITS)


if __name__ == "__main__":
    write_big(Path(sys.argv[1]), int(sys.argv[2]), scores=sys.argv[3] if len(sys.argv) > 3 else "uniform")
