"""Requirements that are ready to be judged, and the judgement: what each one-sided limit says of its bound."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

from heldout.gates.gate import Against, Outcome, Reached, Undecided, decide
from heldout.intervals.estimate import Estimate
from heldout.thresholds.requirement import Written

# Both ends at a level, with the method: of a value, or of a difference from a baseline.
FindEnds = Callable[[float], tuple[float, float, str]]


@dataclass(frozen=True)
class Claim:
    """A requirement with the value it is about, and its one-sided limits at any level."""

    written: Written
    name: str
    estimate: Estimate
    find: FindEnds
    against: Against | None = None
    slice: str = ""

    @property
    def value(self) -> float:
        """The value that is held against the bound: the estimate, or the difference from the baseline."""
        return self.estimate.value if self.against is None else self.against.tested.difference

    @cached_property
    def _known(self) -> dict[float, tuple[float, float, str]]:
        return {}

    def ends(self, level: float) -> tuple[float, float, str]:
        """The lower and the upper one-sided limit of a level, and their method."""
        if level not in self._known:
            self._known[level] = self.find(level)
        return self._known[level]

    def is_missed(self, level: float) -> bool:
        """Whether the limit on the far side of the bound misses it, at a level."""
        if math.isnan(self.value) or self.written.is_met(self.value):
            return False
        low, high, _ = self.ends(level)
        far = high if self.written.sign[0] == ">" else low
        return not math.isnan(far) and not self.written.is_met(far)


@dataclass(frozen=True, slots=True)
class Ends:
    """The limits by which one requirement was judged; `corrected` is how many were corrected together."""

    low: float
    high: float
    low_level: float
    high_level: float
    method: str
    corrected: int = 1


def judge(claims: Sequence[Claim], level: float) -> list[tuple[Outcome, Ends]]:
    """The outcome of each, and the limits that decided it.

    To pass, each must clear its bound at the level: all of them have to, so the gate as a whole passes falsely no more
    often than one of them would. To have failed, each must miss it at a level that Holm's method corrects for their
    number, because "this one failed" is read of each by itself: Holm (1979), Scandinavian Journal of Statistics 6.
    """
    levels = holm_levels([claim.is_missed for claim in claims], level)
    judged: list[tuple[Outcome, Ends]] = []
    for claim, corrected in zip(claims, levels, strict=True):
        low, high, method = claim.ends(level)
        if claim.written.is_met(claim.value) or math.isnan(claim.value):
            ends = Ends(low, high, level, level, method)
        elif claim.written.sign[0] == ">":
            ends = Ends(low, claim.ends(corrected)[1], level, corrected, method, len(claims))
        else:
            ends = Ends(claim.ends(corrected)[0], high, corrected, level, method, len(claims))
        judged.append((decide(claim.written, claim.value, ends.low, ends.high), ends))
    return judged


def holm_levels(rejects: Sequence[Callable[[float], bool]], level: float) -> list[float]:
    """The level at which each of several tests was last looked at, by Holm's method from the strictest down.

    >>> holm_levels([lambda level: level < 0.99, lambda level: level < 0.96], 0.95)
    [0.975, 0.95]
    """
    at = [level] * len(rejects)
    left = set(range(len(rejects)))
    while left:
        strict = 1 - (1 - level) / len(left)
        for index in left:
            at[index] = strict
        rejected = {index for index in left if rejects[index](strict)}
        if not rejected:
            break
        left -= rejected
    return at


def reached(claim: Claim, ends: Ends) -> tuple[Reached, Reached]:
    """The limit that must clear the bound for a requirement to pass, and the one that must miss it for it to fail."""
    low = Reached("lower", ends.low, ends.low_level, ends.method)
    high = Reached("upper", ends.high, ends.high_level, ends.method)
    return (low, high) if claim.written.sign[0] == ">" else (high, low)


def gate_fails(claim: Claim, outcome: Outcome, undecided: Undecided) -> bool:
    """Whether the gate fails by a requirement."""
    if outcome != "undecided":
        return outcome == "failed"
    return undecided == "fail" or (undecided == "warn" and not claim.written.is_met(claim.value))
