"""A measure in every slice of some columns, of counts or of scores."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from heldout.comparisons.corrections import adjust, left_out
from heldout.comparisons.tested import Tested
from heldout.engines.scores import RowScores
from heldout.errors import OptionError
from heldout.estimates.estimate import Estimate
from heldout.estimates.score_interval import ScoreEstimator
from heldout.evidence import Confusion
from heldout.findings.slice_basis import (
    CORRECTION,
    LEAST_CASES,
    Basis,
    Divided,
    RowBasis,
    excess_of,
    notes_of_columns,
    notes_of_tests,
    of_scores,
)
from heldout.findings.slice_tests import against_rest, of_estimates, share_of
from heldout.findings.slices import Slice, Slices, verdict
from heldout.measures.quantity import Quantity
from heldout.predictions.table import Predictions

SHARED_GROUPS = "groups have rows inside and outside a slice, so the two are not independent: there is no test"
TOO_FEW = f"fewer than {LEAST_CASES} cases, for which there is no exact test"
ALL_INSIDE = "all cases are in this slice"

Found = tuple[Divided, str, int, Estimate, Tested]


def slices_of(basis: Basis, quantity: Quantity, columns: Sequence[Divided], whole: Estimate) -> Slices:
    """A quantity in every slice of some columns, each against all other cases, corrected for their number."""
    found = list(_scored(basis, quantity, columns) if of_scores(quantity) else _counted(basis, quantity, columns))
    p_values = [found_tested.p for *_, found_tested in found]
    corrected = adjust(p_values, CORRECTION).tolist() if found else []
    level, direction = basis.estimator.level, quantity.bound.measure.direction
    total = basis.n
    made = tuple(
        Slice(
            (column.name,), (label,), cases, cases / total, estimate, tested, p,
            verdict(tested.difference, p, direction, level), excess_of(tested.difference, estimate.n, direction),
        )
        for (column, label, cases, estimate, tested), p in zip(found, corrected, strict=True)
    )  # fmt: skip
    tested_number = sum(not math.isnan(p) for p in p_values)
    notes = [*notes_of_tests(basis, tested_number), left_out(p_values) if 0 < tested_number < len(p_values) else ""]
    alone = basis.undivided(columns)
    notes += notes_of_columns(alone)
    worse = sum(one.worse for one in made)
    return Slices(
        whole, made, tested_number or len(made), level, worse, notes=tuple(filter(None, notes)),
        untested=basis.untested, single=alone,
    )  # fmt: skip


def _counted(basis: Basis, quantity: Quantity, columns: Sequence[Divided]) -> Iterator[Found]:
    level, seed = basis.estimator.level, basis.estimator.seed
    for column in columns:
        counted = basis.counts([column])
        for place, (key, size) in enumerate(zip(counted.keys.tolist(), counted.sizes.tolist(), strict=True)):
            inside, outside = counted[place], counted.rest(place)
            estimate = basis.estimate(inside, quantity)
            yield column, column.labels[key], size, estimate, _tested(basis, inside, outside, quantity, level, seed)


def _tested(basis: Basis, inside: Confusion, outside: Confusion, quantity: Quantity, level: float, seed: int) -> Tested:
    if not outside.n_cases:
        return _undefined(level, inside.n_cases)
    small = inside.clusters is None and _is_small(inside, outside, quantity)
    found = against_rest(inside, outside, quantity, level, seed, quick=bool(small or basis.untested))
    if basis.untested:
        return replace(found, low=math.nan, high=math.nan, p=math.nan, method="none")
    return replace(found, p=math.nan, note=TOO_FEW) if small else found


def _undefined(level: float, cases: int) -> Tested:
    nan = math.nan
    return Tested(nan, nan, nan, level, "none", nan, cases, undefined=ALL_INSIDE)


def _is_small(inside: Confusion, outside: Confusion, quantity: Quantity) -> bool:
    """Whether there are too few cases for a test that is not exact."""
    return share_of(inside, quantity) is None and min(inside.n_cases, outside.n_cases) < LEAST_CASES


def _scored(basis: Basis, quantity: Quantity, columns: Sequence[Divided]) -> Iterator[Found]:
    """A measure of scores in every slice, from the scores of the cases inside and of those outside."""
    if basis.scores is None:
        raise OptionError(
            f"{quantity.bound.name} is a measure of scores, and none were given.",
            hint="pass score= (--score COLUMN), one score per case or one per class.",
        )
    if not isinstance(basis, RowBasis):
        raise OptionError(
            f"{quantity.bound.name} is a measure of scores, and of scores in single slices nothing was kept.",
            hint="evaluate the slice by itself: filter the data to its rows first.",
        )
    level = basis.estimator.level
    for asked in columns:
        column = basis.column(asked.name)
        sizes = np.bincount(column.codes, minlength=len(column.labels))
        for code in np.flatnonzero(sizes).tolist():
            inside = column.codes == code
            parts = [basis.predictions.part(np.flatnonzero(rows)) for rows in (inside, ~inside)]
            one, size = _score_estimate(basis.scores, parts[0], quantity), int(sizes[code])
            if not parts[1].n:
                yield column, column.labels[code], size, one, _undefined(level, size)
                continue
            tested = of_estimates(one, _score_estimate(basis.scores, parts[1], quantity), level, basis.predictions.n)
            why = basis.untested or (SHARED_GROUPS if _groups_shared(parts) else "")
            if why:
                tested = replace(tested, low=math.nan, high=math.nan, p=math.nan, method="none", note=why)
            elif min(part.n for part in parts) < LEAST_CASES:
                tested = replace(tested, p=math.nan, note=TOO_FEW)
            yield column, column.labels[code], size, one, tested


def _score_estimate(scores: ScoreEstimator, part: Predictions, quantity: Quantity) -> Estimate:
    return replace(scores, evidence=RowScores(part, scores.evidence.labels)).ask(quantity)


def _groups_shared(parts: Sequence[Predictions]) -> bool:
    groups = [part.group for part in parts]
    if groups[0] is None or groups[1] is None:
        return False
    return bool(np.intersect1d(groups[0].codes, groups[1].codes).size)
