"""An estimate: a value with its interval, how it was made, and a reason where it has no value."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, fields
from functools import partial
from typing import Any, ClassVar, NoReturn, overload

import numpy as np
from numpy.typing import NDArray

from heldout.arrays import Floats
from heldout.evidence import Label
from heldout.measures.quantity import name_quantity
from heldout.result import Result
from heldout.show.blocks import Block, Note, Prose, Style
from heldout.show.numbers import digits_between, limits, number

# The method of an estimate that has no interval.
NO_INTERVAL = "none"
# The beginning of a note which says that the value itself may be off.
CAUTION = "caution: "


ONE_GROUP = "there is one group only, so nothing is known of how groups differ"


@dataclass(frozen=True, slots=True, eq=False)
class Estimate(Result):
    """One number with its uncertainty.

    `n` is the number of cases behind it: of the denominator for a proportion, otherwise of all. `undefined` says
    why the value is nan where it is; `note` says what else a reader must know. `bounds` contain the value that the
    scores themselves would give, where they were counted in bins; None where the value is exact. `one_sided` makes
    limits that each keep a level by themselves; an estimate that was stored by itself has lost it.

    >>> import heldout
    >>> estimate = heldout.evaluate([0, 1] * 20, [0, 1, 1, 1] * 10)["accuracy"]
    >>> print(estimate)
    accuracy .750 [.598 – .858] (0.95 wilson, n = 40)
    >>> float(estimate), estimate.method
    (0.75, 'wilson')
    """

    schema: ClassVar[str] = "heldout/estimate@1"

    measure: str
    class_: Label | None
    average: str | None
    value: float
    low: float
    high: float
    level: float
    method: str
    n: int | float
    undefined: str = ""
    note: str = ""
    style: Style = "share"
    bounds: tuple[float, float] | None = None
    one_sided: Callable[[float], Estimate] | None = field(default=None, repr=False, compare=False)

    def __reduce__(self) -> tuple[Any, ...]:
        # The evaluation behind it holds all the cases, and is not stored with one number.
        kept = {part.name: getattr(self, part.name) for part in fields(self) if part.name != "one_sided"}
        return partial(type(self), **kept), ()

    def __post_init__(self) -> None:
        # What is no share of anything has no limits either. A ratio whose denominator is 0 because it has no upper end
        # keeps its lower limit, which is all that the cases say of it.
        if math.isnan(self.value) and self.style == "share":
            object.__setattr__(self, "low", math.nan)
            object.__setattr__(self, "high", math.nan)

    @property
    def name(self) -> str:
        """The quantity as a person would ask for it: "macro f1", "recall[spam]"."""
        return name_quantity(self.measure, self.class_, self.average)

    @property
    def width(self) -> float:
        """How wide the interval is."""
        return self.high - self.low

    @property
    def digits(self) -> int | None:
        """How many decimals are worth printing."""
        return digits_between(self.low, self.high) if self.style == "share" else None

    def __float__(self) -> float:
        return self.value

    def __format__(self, spec: str) -> str:
        return format(self.value, spec) if spec else str(self)

    def __round__(self, digits: int = 0) -> float:
        return round(self.value, digits)

    def __bool__(self) -> NoReturn:
        message = "an estimate is neither true nor false; compare its value or its limits"
        raise TypeError(message)

    def rows(self) -> list[dict[str, Any]]:
        """One flat row."""
        return [
            {
                "measure": self.measure,
                "class": self.class_,
                "average": self.average,
                "value": self.value,
                "low": self.low,
                "high": self.high,
                "level": self.level,
                "method": self.method,
                "n": self.n,
                "undefined": self.undefined,
                "note": self.note,
                **({} if self.bounds is None else {"bounds": list(self.bounds)}),
            }
        ]

    def blocks(self) -> list[Block]:
        """One line."""
        value = number(self.value, self.style, self.digits)
        ends = limits(self.low, self.high, self.style, self.digits)
        text = f"{self.name} {value} [{ends}] ({self.level:g} {self.method}, n = {self.n:,})"
        blocks: list[Block] = [Prose(text)]
        if math.isnan(self.value):
            blocks.append(Note(f"undefined: {self.undefined}"))
        if self.note:
            blocks.append(Note(self.note, "warning" if self.note.startswith(CAUTION) else "note"))
        return blocks


# One estimate per class, kept as columns: an object for each of a million classes would fill gigabytes.


@dataclass(frozen=True, eq=False)
class ClassEstimates(Sequence[Estimate]):
    """The estimates of one measure for every class, each made when it is asked for."""

    measure: str
    labels: tuple[Label, ...]
    values: Floats
    lows: Floats
    highs: Floats
    sizes: NDArray[Any]
    level: float
    method: str
    undefined: str
    note: str
    style: Style

    def __len__(self) -> int:
        return len(self.labels)

    @overload
    def __getitem__(self, place: int) -> Estimate: ...
    @overload
    def __getitem__(self, place: slice) -> list[Estimate]: ...
    def __getitem__(self, place: int | slice) -> Estimate | list[Estimate]:
        """The estimate of the class at a place."""
        if isinstance(place, slice):
            return self.taken(range(*place.indices(len(self))))
        value = float(self.values[place])
        return Estimate(
            self.measure, self.labels[place], None, value, float(self.lows[place]), float(self.highs[place]),
            self.level, self.method, round_cases(self.sizes[place]),
            self.undefined if value != value else "", self.note, self.style,  # noqa: PLR0124 - true of nan only
        )  # fmt: skip

    def __iter__(self) -> Iterator[Estimate]:
        return iter(self.taken(range(len(self))))

    def taken(self, places: Sequence[int] | NDArray[np.int64]) -> list[Estimate]:
        """The estimates of the classes at these places."""
        at = np.asarray(places, dtype=np.int64)
        columns = (self.values, self.lows, self.highs, self.sizes)
        values, lows, highs, sizes = (column[at].tolist() for column in columns)
        return [
            Estimate(
                self.measure, self.labels[place], None, value, low, high, self.level, self.method, round_cases(size),
                self.undefined if value != value else "", self.note, self.style,  # noqa: PLR0124 - true of nan only
            )
            for place, value, low, high, size in zip(at.tolist(), values, lows, highs, sizes, strict=True)
        ]  # fmt: skip


# Shares of cases add up to whole ones but for this much rounding.
TOLERANCE = 1e-9


def round_cases(size: Any) -> int | float:
    """A number of cases, whole where it is one.

    >>> round_cases(5.0000000001), round_cases(2.5)
    (5, 2.5)
    """
    number = float(size)
    return round(number) if abs(number - round(number)) < TOLERANCE else number


def join_notes(*notes: str) -> str:
    """The notes in one text; those that are empty are left out.

    >>> join_notes("two rows were dropped", "", "one class is rare")
    'two rows were dropped; one class is rare'
    """
    return "; ".join(filter(None, notes))


@dataclass(frozen=True, slots=True)
class PairTest:
    """The difference A − B of a measure, its interval and a test of no difference.

    `method` names the procedure, `statistic` its figure and `df` the degrees of freedom, nan where it has none. `n` is
    the number of cases, folds or data sets behind it. `effect` is a size of the difference that does not depend on n,
    and `effect_name` says which. `undefined` says why the difference is nan where it is; `note` what else a reader must
    know, such as how often the method rejects where it should not.
    """

    difference: float
    low: float
    high: float
    level: float
    method: str
    p: float
    n: int
    statistic: float = math.nan
    df: float = math.nan
    effect: float = math.nan
    effect_name: str = ""
    undefined: str = ""
    note: str = ""
    interval_method: str = ""


def undefined_test(why: str, level: float, method: str, n: int, *, reach: float = math.nan, note: str = "") -> PairTest:
    """The test of a difference that has no value; `reach` is the largest that there can be, where that is known."""
    return PairTest(math.nan, -reach, reach, level, method, math.nan, n, undefined=why, note=note)
