"""How long a prediction takes and how much memory it needs, on the machine at hand."""

from __future__ import annotations

import gc
import math
import os
import platform
import tracemalloc
from dataclasses import dataclass
from time import perf_counter
from typing import Any

import numpy as np

from heldout.resampling.split_task import rows_of

BATCH = 1000
# No more repeats and no more seconds than these for either size; the median needs a few in any case.
MOST_REPEATS = 50
MOST_SECONDS = 1.0
LEAST_REPEATS = 5
VARIES = "timings vary with the machine and with what else it does; compare only those of one machine and one run"


@dataclass(frozen=True, slots=True)
class Timing:
    """How long predicting so many rows takes, in seconds: the median and the 90th percentile over the repeats."""

    rows: int
    median: float
    slow: float
    repeats: int

    @property
    def rows_per_second(self) -> float:
        """How many rows a second, at the median."""
        return self.rows / self.median if self.median > 0 else math.nan

    def document(self) -> dict[str, object]:
        """The timing as it stands in a JSON document."""
        return {
            "rows": self.rows,
            "median_seconds": self.median,
            "p90_seconds": self.slow,
            "repeats": self.repeats,
            "rows_per_second": self.rows_per_second,
        }


@dataclass(frozen=True, slots=True)
class Speed:
    """The latency of one row and of a batch, and the most memory that predicting the batch asked for.

    The memory is what Python and NumPy asked for, as tracemalloc sees it; what a library takes by other ways is not in
    it. `undefined` says why there are no figures.
    """

    single: Timing
    batch: Timing
    peak_bytes: float
    cores: int
    python: str
    undefined: str = ""

    def document(self) -> dict[str, object]:
        """The speed as it stands in a JSON document."""
        return {
            "single": self.single.document(),
            "batch": self.batch.document(),
            "peak_bytes": self.peak_bytes,
            "cores": self.cores,
            "python": self.python,
            "undefined": self.undefined,
            "note": VARIES,
        }


def not_timed(why: str) -> Speed:
    """No figures, and why.

    >>> not_timed("it was not asked for").undefined
    'it was not asked for'
    """
    return Speed(Timing(1, math.nan, math.nan, 0), Timing(BATCH, math.nan, math.nan, 0), math.nan, *_machine(), why)


def speed_of(model: Any, features: Any, n: int) -> Speed:
    """Time the predictions of a fitted model on rows of its data; a batch of 1,000 repeats rows where there are fewer.

    >>> from sklearn.dummy import DummyClassifier
    >>> X = np.zeros((4, 2))
    >>> found = speed_of(DummyClassifier().fit(X, [0, 0, 1, 1]), X, 4)
    >>> found.batch.rows, found.single.median > 0
    (1000, True)
    """
    one, many = (rows_of(features, np.arange(size) % n) for size in (1, BATCH))
    single, batch = _timed(model, one, 1), _timed(model, many, BATCH)
    return Speed(single, batch, _peak(model, many), *_machine())


def _machine() -> tuple[int, str]:
    return os.cpu_count() or 1, platform.python_version()


def _timed(model: Any, features: Any, rows: int) -> Timing:
    # The first call loads what later ones find loaded.
    model.predict(features)
    taken: list[float] = []
    began = perf_counter()
    while len(taken) < LEAST_REPEATS or (len(taken) < MOST_REPEATS and perf_counter() - began < MOST_SECONDS):
        start = perf_counter()
        model.predict(features)
        taken.append(perf_counter() - start)
    return Timing(rows, float(np.median(taken)), float(np.quantile(taken, 0.9)), len(taken))


def _peak(model: Any, features: Any) -> float:
    if tracemalloc.is_tracing():
        # Somebody else is counting, and must not be disturbed.
        return math.nan
    gc.collect()
    tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0]
        model.predict(features)
        return float(tracemalloc.get_traced_memory()[1] - before)
    finally:
        tracemalloc.stop()
