"""How large a fitted model is, whether a person can read it, how long it takes to predict and in how much memory."""

from __future__ import annotations

import gc
import math
import os
import pickle
import platform
import tracemalloc
from collections.abc import Sequence
from dataclasses import dataclass
from time import perf_counter
from typing import Any, Literal

import numpy as np

from heldout.arguments import listing
from heldout.cards.components import ModelPart, Unwrapped
from heldout.errors import first_line
from heldout.resampling.split_task import take_rows

Readable = Literal["can be read whole", "can be followed case by case", "opaque", "unknown"]


@dataclass(frozen=True, slots=True)
class ReadingLimits:
    """Up to how many pieces a model is read whole, and up to how many one case may meet to be followed."""

    whole: int
    followed: int
    reference: str


# Lipton's point is that no kind of model is readable by nature, only by its size: deep trees and long sums are not. He
# names no number. Nine is Miller's: people hold about that many things in mind at once. Thirty steps, with paper, is
# our own convention; no experiment that we know fixes it.
LIMITS = ReadingLimits(
    9,
    30,
    "Lipton (2018), ACM Queue 16(3): readable is what is small enough to be stepped through; Miller (1956), "
    "Psychological Review 63: 7 ± 2 things at once; 30 steps for one case is a convention of heldout",
)


@dataclass(frozen=True, slots=True)
class Readability:
    """The verdict, and the figures behind it: the pieces of the whole, and those that one case meets."""

    verdict: Readable
    pieces: float
    met: float
    limits: ReadingLimits = LIMITS

    @property
    def sentence(self) -> str:
        """Why, in words."""
        if self.verdict == "unknown":
            return "What it is made of is not known."
        read = f"{self.pieces:,.0f} parameter{'s' * (self.pieces != 1)} to read in all"
        met = f"at most {self.met:,.0f} for one case"
        return f"{read}, {met}; the limits are {self.limits.whole} and {self.limits.followed}."

    def document(self) -> dict[str, object]:
        """The verdict as it stands in a JSON document."""
        return {
            "verdict": self.verdict,
            "pieces": self.pieces,
            "met": self.met,
            "limits": {"whole": self.limits.whole, "followed": self.limits.followed},
            "reference": self.limits.reference,
        }


def judge_readability(parts: Sequence[ModelPart], limits: ReadingLimits = LIMITS, *, mixing: int = 0) -> Readability:
    """Whether a person can read it: pieces are leaves, terms, stored cases, weights.

    `mixing` is the number of figures in a preparation that mixes columns, as principal components do: who reads the
    model must read these too.

    >>> judge_readability([ModelPart("DecisionTreeClassifier", "questions", 7, pieces=8, met=3)]).verdict
    'can be read whole'
    >>> judge_readability([ModelPart("KNeighborsClassifier", "numbers", 600, pieces=150, met=5)]).verdict
    'can be followed case by case'
    """
    if not parts or any(part.unknown for part in parts):
        return Readability("unknown", math.nan, math.nan, limits)
    pieces = sum(part.pieces for part in parts) + mixing
    per_case = sum(part.met for part in parts) + mixing
    verdict: Readable = "opaque"
    if pieces <= limits.whole:
        verdict = "can be read whole"
    elif per_case <= limits.followed:
        verdict = "can be followed case by case"
    return Readability(verdict, float(pieces), float(per_case), limits)


BY_STRUCTURE = "by its structure"


@dataclass(frozen=True, slots=True)
class Size:
    """The size of a model, summed over all predictors in it.

    `kind` names them. `parameters` are the numbers that the predictors learned, `what` what these are; `preparation`
    counts those of the steps before. `trees`, `leaves`, `depth` (of the deepest), `vectors` (support vectors) and
    `cases` (training cases that are kept) are 0 where there are none. `used` of `features` columns are looked at;
    `used_how` says how that is known. `unknown` says why there are no figures, where there are none, and `bytes_why`
    why it could not be pickled.
    """

    kind: str
    parameters: float
    what: str
    preparation: int
    trees: int
    leaves: int
    depth: int
    vectors: int
    cases: int
    used: float
    features: int
    used_how: str
    bytes: float
    reading: Readability
    unknown: str = ""
    bytes_why: str = ""

    def figures(self) -> list[tuple[str, float, str]]:
        """Every figure with its name, and why it is undefined where it is; trees and the like only where there are any.

        The counts of parts that this kind of model does not have are left out.
        """
        there = [("trees", self.trees), ("leaves", self.leaves), ("support_vectors", self.vectors)]
        counted = [(name, float(count), "") for name, count in [*there, ("stored_cases", self.cases)] if count]
        deep = [("depth", float(self.depth), "")] if self.trees else []
        return [
            ("parameters", self.parameters, self.unknown),
            *counted,
            *deep,
            ("preparation_numbers", float(self.preparation), ""),
            ("features_used", self.used, "" if self.used == self.used else self.used_how),
            ("features", float(self.features), ""),
            ("model_bytes", self.bytes, self.bytes_why),
        ]

    def document(self) -> dict[str, object]:
        """The size as it stands in a JSON document."""
        names = ("kind", "parameters", "what", "preparation", "trees", "leaves", "depth", "vectors", "cases", "used")
        more = ("features", "used_how", "bytes", "unknown", "bytes_why")
        return {name: getattr(self, name) for name in (*names, *more)} | {"reading": self.reading.document()}


def measure_size(model: Any, width: int, *, moved: int | None = None) -> Size:
    """The size of a fitted model that takes so many columns.

    `moved` is the number of columns whose permutation changed a prediction; it stands in where the structure does not
    tell which columns are used.

    >>> from sklearn.linear_model import LogisticRegression
    >>> found = measure_size(LogisticRegression().fit([[0, 0], [1, 0], [2, 0]], [0, 0, 1]), 2)
    >>> found.parameters, found.what, found.used, found.features
    (3.0, 'coefficients', 1.0, 2)
    """
    whole = Unwrapped.of(model, width)
    parts = [traced.part for traced in whole.found]
    unknown = next((part.unknown for part in parts if part.unknown), "")
    used, how = _count_used(whole, moved)
    size, why = _measure_pickle(model)
    return Size(
        _list_kinds(parts),
        math.nan if unknown else float(sum(part.parameters for part in parts)),
        listing(dict.fromkeys(part.what for part in parts if part.what), most=4),
        whole.preparation,
        sum(part.trees for part in parts),
        sum(part.leaves for part in parts),
        max((part.depth for part in parts), default=0),
        sum(part.vectors for part in parts),
        sum(part.cases for part in parts),
        used,
        width,
        how,
        size,
        judge_readability(parts, LIMITS, mixing=whole.preparation if _mixes_columns(whole) else 0),
        f"unknown: {unknown}" if unknown else "",
        why,
    )


def _list_kinds(parts: list[ModelPart]) -> str:
    """The kinds of predictor, with how many of each."""
    counts: dict[str, int] = {}
    for part in parts:
        counts[part.kind] = counts.get(part.kind, 0) + 1
    return listing((kind if number == 1 else f"{number:,} × {kind}" for kind, number in counts.items()), most=4)


def _count_used(whole: Unwrapped, moved: int | None) -> tuple[float, str]:
    """How many columns are looked at: by the structure where it tells, else by what permuting them did."""
    used: set[int] = set()
    for traced in whole.found:
        if traced.derived:
            continue
        if (
            traced.part.used is None
            or traced.sources is None
            or max(traced.part.used, default=-1) >= len(traced.sources)
        ):
            if moved is not None:
                return float(moved), "those whose permutation changed a prediction"
            return math.nan, "the model does not tell which columns it looks at"
        used.update(column for at in traced.part.used for column in traced.sources[at])
    return float(len(used)), BY_STRUCTURE


def _mixes_columns(whole: Unwrapped) -> bool:
    """Whether the preparation makes columns that come from no single column of the data, as far as is known."""
    return any(traced.sources is None and not traced.derived for traced in whole.found)


def _measure_pickle(model: Any) -> tuple[float, str]:
    try:
        return float(len(pickle.dumps(model))), ""
    except Exception as error:  # noqa: BLE001 - foreign objects may refuse in any way
        return math.nan, f"it cannot be pickled: {first_line(error)}"


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
    return Speed(
        Timing(1, math.nan, math.nan, 0), Timing(BATCH, math.nan, math.nan, 0), math.nan, *_describe_machine(), why
    )


def measure_speed(model: Any, features: Any, n: int) -> Speed:
    """Time the predictions of a fitted model on rows of its data; a batch of 1,000 repeats rows where there are fewer.

    >>> from sklearn.dummy import DummyClassifier
    >>> X = np.zeros((4, 2))
    >>> found = measure_speed(DummyClassifier().fit(X, [0, 0, 1, 1]), X, 4)
    >>> found.batch.rows, found.single.median > 0
    (1000, True)
    """
    single_row, batch_rows = (take_rows(features, np.arange(size) % n) for size in (1, BATCH))
    single, batch = _time_predictions(model, single_row, 1), _time_predictions(model, batch_rows, BATCH)
    return Speed(single, batch, _measure_peak(model, batch_rows), *_describe_machine())


def _describe_machine() -> tuple[int, str]:
    return os.cpu_count() or 1, platform.python_version()


def _time_predictions(model: Any, features: Any, rows: int) -> Timing:
    # The first call is not timed: it loads libraries.
    model.predict(features)
    taken: list[float] = []
    began = perf_counter()
    while len(taken) < LEAST_REPEATS or (len(taken) < MOST_REPEATS and perf_counter() - began < MOST_SECONDS):
        start = perf_counter()
        model.predict(features)
        taken.append(perf_counter() - start)
    return Timing(rows, float(np.median(taken)), float(np.quantile(taken, 0.9)), len(taken))


def _measure_peak(model: Any, features: Any) -> float:
    if tracemalloc.is_tracing():
        # tracemalloc is already in use by the caller, and must not be reset.
        return math.nan
    gc.collect()
    tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0]
        model.predict(features)
        return float(tracemalloc.get_traced_memory()[1] - before)
    finally:
        tracemalloc.stop()
