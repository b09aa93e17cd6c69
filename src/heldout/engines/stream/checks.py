"""What is wrong with the values of a table that is read in batches: counted batch by batch, said of the whole."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from heldout.arguments import listing
from heldout.errors import ValuesError
from heldout.evidence.consistency import impossible
from heldout.evidence.counted import ROLES, Counted
from heldout.evidence.probabilities import Unfit
from heldout.files.batches import Batches
from heldout.predictions.scores import Scores, sum_tolerance
from heldout.predictions.table import Missing, NothingWholeError
from heldout.predictions.weights import LARGEST, SMALLEST


@dataclass(frozen=True, eq=False)
class Seen:
    """What was met in some rows; places of rows are those in the whole, and -1 where there is none.

    `missing` is how often each role lacked a value, `lost` in how many rows one did, and `no_score` in how many a score
    was missing or not finite. `infinite` counts scores of whole rows that are not finite. `light` and `heavy` are the
    ends of the weights above 0. `low` and `high` are the ends of the scores, `off` how far the scores of a row are from
    a sum of 1 at the most, and `total` that sum.
    """

    rows: int = 0
    lost: int = 0
    missing: Mapping[str, int] = field(default_factory=dict)
    first_lost: int = -1
    no_score: int = 0
    first_no_score: int = -1
    infinite: int = 0
    first_infinite: int = -1
    bad_weight: tuple[int, float] = (-1, 0.0)
    light: float = np.inf
    heavy: float = 0.0
    low: float = np.inf
    high: float = -np.inf
    off: float = 0.0
    total: float = 1.0
    worst: int = -1

    def __add__(self, other: Seen) -> Seen:
        further = other if other.off > self.off else self
        return Seen(
            rows=self.rows + other.rows,
            lost=self.lost + other.lost,
            missing={
                role: self.missing.get(role, 0) + other.missing.get(role, 0)
                for role in dict.fromkeys([*self.missing, *other.missing])
            },
            first_lost=_first(self.first_lost, other.first_lost),
            no_score=self.no_score + other.no_score,
            first_no_score=_first(self.first_no_score, other.first_no_score),
            infinite=self.infinite + other.infinite,
            first_infinite=_first(self.first_infinite, other.first_infinite),
            bad_weight=self.bad_weight if self.bad_weight[0] >= 0 else other.bad_weight,
            light=min(self.light, other.light),
            heavy=max(self.heavy, other.heavy),
            low=min(self.low, other.low),
            high=max(self.high, other.high),
            off=further.off,
            total=further.total,
            worst=further.worst,
        )

    @property
    def has_bad_weight(self) -> bool:
        """Whether some weight is negative, not finite, or beyond what can be squared."""
        return self.bad_weight[0] >= 0 or self.light < SMALLEST or self.heavy > LARGEST

    def unfit(self, k: int) -> Unfit | None:
        """Why the scores of the whole, of k columns, are no probabilities; None where they are."""
        beyond = Unfit.of_ends(self.low, self.high)
        if beyond is None and k > 1 and self.off > sum_tolerance(k):
            return Unfit(total=self.total, row=self.worst + 1)
        return beyond

    def check_missing(self, batches: Batches, missing: Missing) -> None:
        """Refuse missing values, unless their rows are to be left out and others remain."""
        if not self.lost:
            return
        counts = ", ".join(f"{role} in {held:,}" for role, held in self.in_order().items())
        if missing == "refuse":
            what = "rows has a missing value" if self.lost == 1 else "rows have missing values"
            where = f"{'it' if self.lost == 1 else 'the first'} is {batches.where(self.first_lost)}"
            raise ValuesError(
                f"{self.lost:,} of {self.rows:,} {what}: {counts}; {where}.",
                hint="missing='drop' (--missing drop) leaves them out and says so; better is to find out why.",
            )
        if self.lost == self.rows:
            raise NothingWholeError.of(self.rows, self.in_order())

    def in_order(self) -> dict[str, int]:
        """How often each role lacked a value, in the order in which they are named."""
        return {role: self.missing[role] for role in ROLES if self.missing.get(role)}

    def check_weight(self, batches: Batches) -> None:
        """Refuse weights that are negative, not finite, all zero, or beyond what can be squared."""
        row, value = self.bad_weight
        if row >= 0:
            where = batches.where(row)
            raise ValuesError(
                f"Weights must be finite and not negative. {where[0].upper()}{where[1:]} has {value:g}.",
                hint="give weight 0 to a case that should not count.",
            )
        if not self.heavy:
            raise ValuesError("All weights are zero, so no case counts.", hint="give at least one case a weight.")
        if self.light < SMALLEST or self.heavy > LARGEST:
            raise ValuesError(
                f"Weights must lie between {SMALLEST:g} and {LARGEST:g}, or be 0. "
                f"They run from {self.light:g} to {self.heavy:g}.",
                hint="divide all of them by their mean: only their ratios count.",
            )

    def check_scores(self, batches: Batches, *, natural: bool) -> None:
        """Refuse scores that are not finite, and with `natural` such as have no natural threshold."""
        if self.infinite:
            where = batches.where(self.first_infinite)
            raise ValuesError(
                f"1 score is not finite, in {where}."
                if self.infinite == 1
                else f"{self.infinite:,} scores are not finite; the first is in {where}.",
                hint="replace infinities by the largest finite score, or leave those rows out.",
            )
        if natural and self.rows > self.lost:
            Scores(np.array([self.low, self.high]), self.unfit(1)).default_threshold()

    def unused(self, names: tuple[str, ...], batches: Batches) -> str:
        """Why guessed scores were not used: some are missing or not finite. Empty where none is."""
        if not self.no_score:
            return ""
        what = "1 row has one" if self.no_score == 1 else f"{self.no_score:,} rows have some"
        where = batches.where(self.first_no_score)
        return (
            f"the scores in {listing(names)} were not used, because {what} that is missing or not finite: "
            f"{'' if self.no_score == 1 else 'first '}{where}"
        )


def check_unchanged(counted: Counted, batches: Batches, *, parts: bool = True) -> None:
    """Refuse counts of several readings that do not fit together, because files changed in between.

    Without `parts` only the numbers of rows are looked at, which takes no time.
    """
    why = impossible(counted) if parts else ""
    if batches.rows is not None and counted.rows != batches.rows:
        why = f"it had {batches.rows:,} rows and then {counted.rows:,}"
    if why:
        raise ValuesError(
            f"{batches.name} changed while it was read: {why}.",
            hint="evaluate it when nothing writes to it, or a copy.",
        )


def of_weight(weight: NDArray[np.float64], places: NDArray[np.int64]) -> Seen:
    """What the weights of some rows are."""
    wrong = np.flatnonzero(~np.isfinite(weight) | (weight < 0))
    bad = (int(places[wrong[0]]), float(weight[wrong[0]])) if len(wrong) else (-1, 0.0)
    above = weight[weight > 0]
    return Seen(bad_weight=bad, light=float(above.min(initial=np.inf)), heavy=float(above.max(initial=0.0)))


def _first(one: int, two: int) -> int:
    return two if one < 0 else one if two < 0 else min(one, two)
