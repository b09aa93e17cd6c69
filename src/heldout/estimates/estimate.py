"""An estimate: a value with its interval, how it was made, and a reason where it has no value."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar, NoReturn

from heldout.evidence import Label
from heldout.result import Result
from heldout.show.blocks import Block, Note, Prose, Style
from heldout.show.numbers import digits_between, limits, number

# How a note begins that says that the value itself may be off.
CAUTION = "caution: "


@dataclass(frozen=True, slots=True)
class Estimate(Result):
    """One number with its uncertainty.

    `n` is the number of cases behind it: of the denominator for a proportion, otherwise of all. `undefined` says
    why the value is nan where it is; `note` says what else a reader must know. `bounds` contain the value that the
    scores themselves would give, where they were counted in bins; None where the value is exact.
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

    def __post_init__(self) -> None:
        # What is no share of anything has no limits either. A ratio whose denominator is 0 because it has no upper end
        # keeps its lower limit, which is all that the cases say of it.
        if math.isnan(self.value) and self.style == "share":
            object.__setattr__(self, "low", math.nan)
            object.__setattr__(self, "high", math.nan)

    @property
    def name(self) -> str:
        """The quantity as a person would ask for it: "macro f1", "recall[spam]"."""
        if self.class_ is not None:
            return f"{self.measure}[{self.class_}]"
        return f"{self.average} {self.measure}" if self.average else self.measure

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
