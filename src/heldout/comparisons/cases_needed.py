"""How many cases would decide what was left open: a range, or the number for the smallest difference that matters."""

from __future__ import annotations

import math
from dataclasses import dataclass

from heldout.arguments import check_share
from heldout.intervals.estimate import PairTest
from heldout.intervals.quantiles import z_value
from heldout.show.numbers import count

# Larger numbers are written as "more than a million": nobody can plan for them.
MILLION = 1_000_000


@dataclass(frozen=True, slots=True)
class CasesNeeded:
    """Between how many cases a decision takes, rounded up to two digits.

    `high` is None where it is more than a million or no number is enough, and `low` is a million at most. `margin` is
    the difference that both stand for, where one was named.
    """

    low: int
    high: int | None
    margin: float | None = None

    def describe(self, unit: str = "cases") -> str:
        """The range in words.

        >>> CasesNeeded(120, None).describe(), CasesNeeded(2300, 2300, 0.02).describe()
        ('between about 120 and more than a million cases', 'about 2,300 cases')
        """
        if self.low >= MILLION:
            return f"more than a million {unit}"
        high = "more than a million" if self.high is None else count(self.high)
        return f"about {high} {unit}" if self.low == self.high else f"between about {count(self.low)} and {high} {unit}"

    def describe_ends(self) -> tuple[str, str]:
        """How many cases the largest difference takes, and the smallest; nothing for that where it is as many.

        >>> CasesNeeded(120, None).describe_ends(), CasesNeeded(1_000_000, None).describe_ends()
        (('about 120 cases', 'more than a million'), ('more than a million cases', ''))
        """
        if self.low >= MILLION or self.low == self.high:
            return self.describe(), ""
        return (
            f"about {count(self.low)} cases",
            "more than a million" if self.high is None else f"about {count(self.high)}",
        )


def cases_needed(
    tested: PairTest, power: float = 0.8, *, level: float | None = None, margin: float | None = None
) -> CasesNeeded | None:
    """How many cases in all would show a difference as large, or as small, as the interval of what was seen allows.

    The difference that was seen is no guide to its own size: power at the observed effect only says the p-value again,
    Hoenig & Heisey (2001), The American Statistician 55. The standard error is half the width of the interval over z,
    and shrinks with the root of the number of cases. `level` is that of the test, where it is corrected; with a
    `margin`, the answer is for a difference of that size. None where as many cases as there were are enough, or where
    no number can be said. Fewer cases than there were are never asked for.

    >>> seen = PairTest(difference=0.02, low=-0.01, high=0.05, level=0.95, method="tango", p=0.19, n=500)
    >>> cases_needed(seen).describe(), cases_needed(seen, margin=0.02).describe()
    ('between about 500 and more than a million cases', 'about 2,300 cases')
    """
    check_share("The power", power, "for example 0.8.")
    error = (tested.high - tested.low) / (2 * z_value(tested.level))
    if not (error > 0 and math.isfinite(error) and math.isfinite(tested.difference) and tested.n):
        return None
    # The one-sided quantile at the power is the two-sided one at 2·power − 1, with its sign.
    beyond = math.copysign(z_value(abs(2 * power - 1)), power - 0.5) if power != 0.5 else 0.0
    reach = (z_value(tested.level if level is None else level) + beyond) * error
    if reach <= 0:
        return None
    largest = max(abs(tested.low), abs(tested.high)) if margin is None else margin
    smallest = min(abs(tested.low), abs(tested.high)) if tested.low > 0 or tested.high < 0 else 0.0
    low = tested.n * (reach / largest) ** 2
    high = low if margin is not None else tested.n * (reach / smallest) ** 2 if smallest else math.inf
    if high <= tested.n:
        return None
    return CasesNeeded(round_up(max(low, tested.n)), None if high > MILLION else round_up(high), margin)


def round_up(cases: float) -> int:
    """The number of cases rounded up to two digits, a million at most.

    >>> round_up(7.2), round_up(121.3), round_up(2299), round_up(8_678_480_805)
    (8, 130, 2300, 1000000)
    """
    if cases >= MILLION:
        return MILLION
    whole = math.ceil(cases - 1e-9)
    step = int(10 ** max(len(str(whole)) - 2, 0))
    return -(-whole // step) * step
