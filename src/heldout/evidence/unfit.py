"""Why scores are no probabilities: the facts, the sentence that is made of them, and the facts of parts together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Unfit:
    """Why scores are no probabilities; one of three reasons holds.

    Their `ends` lie beyond 0 … 1; or they are `decision` values, whatever their ends; or the scores of a row, one for
    each class, do not sum to 1, and `total` is the sum that is furthest off. `row` is the number of that row, from 1,
    where rows are known.

    >>> Unfit(total=1.3, row=4000).sentence()
    'the scores of row 4,000 sum to 1.3 instead of 1'
    """

    ends: tuple[float, float] | None = None
    decision: bool = False
    total: float | None = None
    row: int | None = None

    @classmethod
    def of_ends(cls, low: float, high: float) -> Unfit | None:
        """The reason where scores that run so far are no probabilities for it, else None.

        >>> Unfit.of_ends(0.0, 1.0), Unfit.of_ends(-2.0, 3.5).sentence()
        (None, 'the scores run from -2 to 3.5')
        """
        return cls(ends=(low, high)) if low < 0 or high > 1 else None

    def sentence(self) -> str:
        """The reason in words."""
        if self.ends is not None:
            return f"the scores run from {self.ends[0]:g} to {self.ends[1]:g}"
        if self.total is not None:
            where = "a row" if self.row is None else f"row {self.row:,}"
            return f"the scores of {where} sum to {self.total:g} instead of 1"
        return "the scores are decision values"


def joined(reasons: Sequence[Unfit], least: float, greatest: float) -> Unfit:
    """Why the scores of several parts, which run from `least` to `greatest`, are no probabilities.

    >>> joined([Unfit(ends=(-2.0, 0.5)), Unfit(total=0.2, row=3)], -2.0, 3.0).sentence()
    'the scores run from -2 to 3'
    """
    ends = [reason.ends for reason in reasons if reason.ends is not None]
    if ends:
        # Of two classes one column is kept, and the other may have gone further.
        return Unfit(ends=(min(least, *(low for low, _ in ends)), max(greatest, *(high for _, high in ends))))
    totals = [reason.total for reason in reasons if reason.total is not None]
    if len(totals) < len(reasons):
        return Unfit(decision=True)
    # Which row it was depends on the order of the parts; the sum that is furthest off does not.
    return Unfit(total=max(totals, key=lambda total: (abs(total - 1), total)))
