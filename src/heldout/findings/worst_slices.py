"""The search for the slices of one column, and of two, in which most goes wrong."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from heldout.arguments import check_whole
from heldout.comparisons.corrections import adjust
from heldout.errors import OptionError
from heldout.estimates.estimate import Estimate
from heldout.evidence import Confusion
from heldout.evidence.slices import SliceCounts, left_of
from heldout.findings.slice_basis import (
    CORRECTION,
    LEAST_CASES,
    Basis,
    Divided,
    excess_of,
    notes_of_columns,
    notes_of_tests,
    of_scores,
)
from heldout.findings.slice_tests import Side, against_rest, effective_trials, quick_test, shares_of
from heldout.findings.slices import Slice, Slices, verdict
from heldout.findings.wording import number_of
from heldout.measures.quantity import Quantity

NOT_COUNTED = "slices of two columns were not counted, because there are many rows"


@dataclass(frozen=True, slots=True)
class _Candidate:
    """A slice that the search looked at, with the largest of the p-values that must all be small."""

    columns: tuple[Divided, ...]
    place: int
    key: int
    cases: int
    p: float
    excess: float
    beyond: bool = True


def worst_of(
    basis: Basis, quantity: Quantity, columns: Sequence[Divided], whole: Estimate, *,
    depth: int = 2, most: int = 10, least: int = LEAST_CASES,
) -> Slices:  # fmt: skip
    """The slices of one column, and of two, in which most goes wrong beyond what goes wrong elsewhere.

    Candidates have at least `least` cases inside and outside. They are ranked by excess: how much worse than the rest,
    times how many cases. A slice of two columns must be worse than the rest and than what is left of each of its two
    parents; its p-value is the largest of those three (Berger 1982, Technometrics 24, 295-300), and it is listed only
    where that is at most 1 − level. All candidates count in the correction, whether listed or not.
    """
    direction = quantity.bound.measure.direction
    if of_scores(quantity) or direction not in ("higher", "lower"):
        what = "is a measure of scores" if of_scores(quantity) else "has no better and worse"
        raise OptionError(
            f"{quantity.bound.name} {what}, so there is no search for the slices where it is worst.",
            hint="use a measure of counts such as error_rate, recall or 'macro f1'; slices() takes any.",
        )
    depth, most, least = check_whole("depth", depth, 1), check_whole("most", most, 1), check_whole("least", least, 1)
    if depth > 2:
        raise OptionError(f"Slices are searched to depth 2. Got {depth}.", hint="leave depth out.")
    single = [found for column in columns for found in _singles(basis, quantity, column, least)]
    # Without tests there is no telling whether a slice of two columns is worse beyond its parents.
    known = basis.paired(columns) if depth == 2 else []
    paired = [] if basis.untested else known
    uncounted = [NOT_COUNTED] if depth == 2 and len(columns) > 1 and not known else []
    depth = 1 if uncounted else depth
    pairs = [found for both in paired for found in _pairs(basis, quantity, both, least)]
    candidates = [*single, *pairs]
    p_values = [math.nan if basis.untested else found.p for found in candidates]
    corrected = adjust(p_values, CORRECTION).tolist() if candidates else []
    order = sorted(
        (at for at, found in enumerate(candidates) if found.excess > 0 and found.beyond),
        key=lambda at: (-candidates[at].excess, at),
    )
    made = tuple(_listed(basis, quantity, candidates[at], p_values[at], corrected[at]) for at in order[:most])
    level = basis.estimator.level
    worse = sum(corrected[at] <= 1 - level for at in order)
    alone = basis.undivided(columns)
    said = _search_notes(basis, len(single), len(pairs), len(order), most, least)
    return Slices(
        whole, made, len(candidates), level, worse, worst=True, depth=depth, least=least,
        notes=(*said, *uncounted, *notes_of_columns(alone)),
        untested=basis.untested, single=alone,
    )  # fmt: skip


def _search_notes(basis: Basis, single: int, pairs: int, worse: int, most: int, least: int) -> tuple[str, ...]:
    said = [f"searched {number_of(single, 'slice')} of one column" + (f" and {pairs:,} of two" if pairs else "")]
    said[0] += f" with at least {least} cases; ranked by how much worse than the rest, times the number of cases"
    # Of many that chance moves, those that it moves furthest are picked: Efron (2011), JASA 106, 1602-1614.
    said[0] += "; intervals are not adjusted for this choice, so the worst look worse than they are"
    if pairs:
        said.append(
            "a slice of two columns is listed only where it is worse than the rest and than what is left of each of "
            "the two it lies in, each test at the level; its p is the largest of the three"
        )
    if worse > most:
        said.append(f"{worse - most:,} more are worse than the rest, most of them by chance")
    return (*said, *notes_of_tests(basis, single + pairs))


class _Sides:
    """The slices of some columns as a test sees them: shares of all at once where it can be, otherwise counts."""

    def __init__(self, counted: SliceCounts, quantity: Quantity) -> None:
        self.counted = counted
        self.quantity = quantity
        self.shares = shares_of(counted, quantity)
        self.total = int(counted.sizes.sum())

    def inside(self, place: int) -> Side:
        if self.shares is None:
            return self.counted[place]
        return float(self.shares[0][place]), float(self.shares[1][place])

    def outside(self, place: int) -> Side:
        if self.shares is None:
            return self.counted.rest(place)
        hits, n = self.shares
        return float(hits.sum() - hits[place]), float(n.sum() - n[place])

    def beside(self, place: int, child: Side) -> Side:
        """What is left of a slice without one that lies in it."""
        own = self.inside(place)
        if isinstance(own, Confusion) or isinstance(child, Confusion):
            return left_of(self.counted[place], child) if isinstance(child, Confusion) else own
        return own[0] - child[0], own[1] - child[1]

    def cases(self, place: int) -> float:
        """The number of cases behind the quantity."""
        return effective_trials(self.counted[place], self.quantity) if self.shares is None else self.shares[1][place]


def _singles(basis: Basis, quantity: Quantity, column: Divided, least: int) -> Iterator[_Candidate]:
    sides = _Sides(basis.counts([column]), quantity)
    for place, size in enumerate(sides.counted.sizes.tolist()):
        if min(size, sides.total - size) >= least:
            difference, p = quick_test(sides.inside(place), sides.outside(place), quantity)
            excess = excess_of(difference, sides.cases(place), quantity.bound.measure.direction)
            yield _Candidate((column,), place, int(sides.counted.keys[place]), size, p, excess)


def _pairs(basis: Basis, quantity: Quantity, columns: tuple[Divided, Divided], least: int) -> Iterator[_Candidate]:
    sides = _Sides(basis.counts(columns), quantity)
    parents = [_Sides(basis.counts([column]), quantity) for column in columns]
    direction, level, counted = quantity.bound.measure.direction, basis.estimator.level, sides.counted
    for place, (key, size) in enumerate(zip(counted.keys.tolist(), counted.sizes.tolist(), strict=True)):
        codes = divmod(key, len(columns[1].labels))
        above = [int(np.searchsorted(one.counted.keys, code)) for one, code in zip(parents, codes, strict=True)]
        sizes = [int(one.counted.sizes[at]) for one, at in zip(parents, above, strict=True)]
        # A slice that is all of its parent is that parent; too little beside it says nothing of the difference.
        if min(size, sides.total - size, *(parent - size for parent in sizes)) < least:
            continue
        inside = sides.inside(place)
        first, p = quick_test(inside, sides.outside(place), quantity)
        excess = excess_of(first, sides.cases(place), direction)
        beyond = excess > 0 and p <= 1 - level
        for parent, at in zip(parents, above, strict=True):
            # Where one of the three tests fails there is no claim, and the others need not be made.
            if beyond:
                difference, found = quick_test(inside, parent.beside(at, inside), quantity)
                worse = excess_of(difference, 1.0, direction) > 0
                p = max(p, found) if worse and not math.isnan(found) else 1.0
                beyond = p <= 1 - level
        yield _Candidate(columns, place, key, size, p if excess > 0 or math.isnan(p) else 1.0, excess, beyond)


def _listed(basis: Basis, quantity: Quantity, found: _Candidate, p: float, corrected: float) -> Slice:
    level = basis.estimator.level
    counted = basis.counts(found.columns)
    inside, outside = counted[found.place], counted.rest(found.place)
    tested = against_rest(inside, outside, quantity, level, basis.estimator.seed, quick=True)
    if basis.untested:
        tested = replace(tested, low=math.nan, high=math.nan, method="none")
    codes = divmod(found.key, len(found.columns[-1].labels)) if len(found.columns) == 2 else (found.key,)
    values = tuple(column.labels[code] for column, code in zip(found.columns, codes, strict=True))
    return Slice(
        tuple(column.name for column in found.columns), values, found.cases, found.cases / basis.n,
        basis.estimate(inside, quantity), replace(tested, p=p), corrected,
        verdict(tested.difference, corrected, quantity.bound.measure.direction, level), found.excess,
    )  # fmt: skip
