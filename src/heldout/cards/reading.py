"""Whether a person can read a model whole, follow it case by case, or neither: by its size, against stated limits."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from heldout.cards.parts import Part

Readable = Literal["can be read whole", "can be followed case by case", "opaque", "unknown"]


@dataclass(frozen=True, slots=True)
class ReadingLimits:
    """Up to how many pieces a model is read whole, and up to how many one case may meet to be followed."""

    whole: int
    followed: int
    reference: str


# Lipton's point is that no kind of model is readable by nature, only by its size: deep trees and long sums are not. He
# names no number. Nine is Miller's: so many things are held in mind at once. Thirty steps, with paper, is our own
# convention; no experiment that we know fixes it.
LIMITS = ReadingLimits(
    9,
    30,
    "Lipton (2018), ACM Queue 16(3): readable is what is small enough to be stepped through; Miller (1956), "
    "Psychological Review 63: 7 ± 2 things at once; 30 steps for one case is a convention of heldout",
)


@dataclass(frozen=True, slots=True)
class Reading:
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
        figures = f"{self.pieces:,.0f} piece{'s' * (self.pieces != 1)} in all, at most {self.met:,.0f} for one case"
        return f"{figures}; the limits are {self.limits.whole} and {self.limits.followed}."

    def document(self) -> dict[str, object]:
        """The verdict as it stands in a JSON document."""
        return {
            "verdict": self.verdict,
            "pieces": self.pieces,
            "met": self.met,
            "limits": {"whole": self.limits.whole, "followed": self.limits.followed},
            "reference": self.limits.reference,
        }


def reading(parts: Sequence[Part], limits: ReadingLimits = LIMITS, *, mixing: int = 0) -> Reading:
    """Whether a person can read it: pieces are leaves, terms, stored cases, weights.

    `mixing` is the number of figures in a preparation that mixes columns, as principal components do: who reads the
    model must read these too.

    >>> reading([Part("DecisionTreeClassifier", "questions", 7, pieces=8, met=3)]).verdict
    'can be read whole'
    >>> reading([Part("KNeighborsClassifier", "numbers", 600, pieces=150, met=5)]).verdict
    'can be followed case by case'
    """
    if not parts or any(part.unknown for part in parts):
        return Reading("unknown", math.nan, math.nan, limits)
    pieces = sum(part.pieces for part in parts) + mixing
    met = sum(part.met for part in parts) + mixing
    verdict: Readable = "opaque"
    if pieces <= limits.whole:
        verdict = "can be read whole"
    elif met <= limits.followed:
        verdict = "can be followed case by case"
    return Reading(verdict, float(pieces), float(met), limits)
