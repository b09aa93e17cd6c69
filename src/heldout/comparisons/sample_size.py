"""How many cases a question takes, as an answer that can be read and stored."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar

from heldout.result import Result
from heldout.show.blocks import Block, Note, Prose


@dataclass(frozen=True, slots=True)
class SampleSize(Result):
    """The number of cases that a question takes.

    `n` is the number of what `unit` says, such as "cases" or "cases in each of the two test sets". `assumed` holds what
    was taken as given, `reached` the width or the power that n cases come to. `int(size)` is n.
    """

    schema: ClassVar[str] = "heldout/sample-size@1"

    n: int
    question: str
    method: str
    level: float
    reached: float
    unit: str = "cases"
    power: float = math.nan
    assumed: Mapping[str, float] = field(default_factory=dict)
    note: str = ""

    @property
    def sentence(self) -> str:
        """The answer in one sentence."""
        return f"{self.n:,} {self.unit} are needed {self.question}."

    def __int__(self) -> int:
        return self.n

    def rows(self) -> list[dict[str, object]]:
        """One row."""
        return [
            {
                "measure": "cases_needed",
                "class": None,
                "average": None,
                "value": float(self.n),
                "low": math.nan,
                "high": math.nan,
                "level": self.level,
                "method": self.method,
                "n": self.n,
                "unit": self.unit,
                "power": self.power,
                "reached": self.reached,
                **self.assumed,
            }
        ]

    def facts(self) -> dict[str, object]:
        """The question beside its answer."""
        return {"n": self.n, "unit": self.unit, "question": self.question, "sentence": self.sentence, "note": self.note}

    def blocks(self) -> list[Block]:
        """The sentence, and what it rests on."""
        return [Prose(self.sentence), *([Note(self.note)] if self.note else [])]
