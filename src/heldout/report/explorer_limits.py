"""The limits of every figure at every threshold of a page: those that an evaluation at that threshold would give."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from heldout.arrays import Floats
from heldout.curves.count_intervals import ThresholdTables
from heldout.estimates.draws import CELL_PRIOR, DRAWN_LEVEL, Draws, order_limits, posterior_draws
from heldout.estimates.interval import DEFAULTS, PLENTY, Estimator
from heldout.estimates.methods import METHODS
from heldout.estimates.proportion import wilson
from heldout.estimates.score_cost import many_cost_limits
from heldout.estimates.subject import Subject
from heldout.evidence import Confusion, Label
from heldout.measures.cells import class_cells
from heldout.measures.quantity import Bound, Quantity

CLOSED = "effective-wilson"


@dataclass(frozen=True, slots=True, eq=False)
class Limits:
    """The limits of one figure at every threshold, and the method that made them: one for all, or one for each."""

    low: Floats
    high: Floats
    method: str | tuple[str, ...]


def quick(estimator: Estimator) -> bool:
    """Whether the limits of all thresholds can be made together: independent cases, default methods."""
    confusion = estimator.confusion
    return (
        estimator.method is None
        and estimator.plan is None
        and estimator.level <= DRAWN_LEVEL
        and not confusion.weighted
        and confusion.clusters is None
    )


def drawn_places(corners: Floats) -> NDArray[np.int64]:
    """The thresholds at which measures of agreement need random draws, because an outcome is rare."""
    return np.flatnonzero(corners.min(axis=1) < PLENTY)


def together(estimator: Estimator, positive: int, bounds: Sequence[Bound], corners: Floats) -> list[Limits]:
    """The limits of each measure for independent cases, all thresholds at once; `corners` are TP, FN, FP, TN."""
    drawn = [bound for bound in bounds if bound.measure.kind == "agreement"]
    agreed = dict(zip((b.name for b in drawn), _agreement(estimator, positive, drawn, corners), strict=True))
    made = []
    for bound in bounds:
        if bound.measure.kind == "agreement":
            made.append(agreed[bound.name])
        elif bound.measure.kind == "cost":
            made.append(_costs(bound, positive, corners, estimator.level))
        else:
            made.append(_closed(bound, corners, DEFAULTS[bound.measure.kind], estimator))
    return made


def one_by_one(
    estimator: Estimator, positive: Label, bounds: Sequence[Bound], seen: Sequence[Confusion]
) -> list[Limits]:
    """The limits of each measure from the evidence at each threshold, for weights, groups and methods asked for."""
    asked = [Quantity(bound).check(positive) for bound in bounds]
    rows = [[replace(estimator, confusion=confusion).ask(quantity) for quantity in asked] for confusion in seen]
    return [
        Limits(
            np.array([row[at].low for row in rows]),
            np.array([row[at].high for row in rows]),
            tuple(row[at].method for row in rows),
        )
        for at in range(len(asked))
    ]


def _closed(bound: Bound, corners: Floats, name: str, estimator: Estimator) -> Limits:
    none = np.zeros(0, dtype=np.int64)
    tables = ThresholdTables(tuple(range(len(corners))), none, none, none, tables=corners)
    subject = Subject(bound, tables, "class")
    found = METHODS[name].find(subject, estimator.level, Draws(tables, estimator.seed))
    # What is undefined has no limits, as in every estimate.
    low, high = (np.where(np.isnan(subject.value), np.nan, ends) for ends in found)
    return Limits(low, high, name)


def _costs(bound: Bound, positive: int, corners: Floats, level: float) -> Limits:
    costs = bound.costs
    if costs is None:
        message = "a cost needs a cost matrix"
        raise TypeError(message)
    other = 1 - positive
    order = [(positive, positive), (positive, other), (other, positive), (other, other)]
    values, where = np.unique([costs[cell] for cell in order], return_inverse=True)
    if values.tolist() == [0.0, 1.0]:
        # A cost of 0 or 1 is a proportion, and the score interval of its mean is Wilson's.
        return Limits(*wilson(corners[:, where == 1].sum(axis=1), corners.sum(axis=1), level), "score")
    held = np.stack([corners[:, where == at].sum(axis=1) for at in range(len(values))], axis=1)
    return Limits(*many_cost_limits(np.broadcast_to(values, held.shape), held, level), "score")


def _agreement(estimator: Estimator, positive: int, bounds: Sequence[Bound], corners: Floats) -> list[Limits]:
    """In closed form where every outcome has plenty of cases, elsewhere from draws that all measures share."""
    few = drawn_places(corners)
    many = np.setdiff1d(np.arange(len(corners)), few)
    ends = np.full((2, len(bounds), len(corners)), np.nan)
    for at, bound in enumerate(bounds):
        if len(many):
            made = _closed(bound, corners[many], CLOSED, estimator)
            ends[0, at, many], ends[1, at, many] = made.low, made.high
    for place in few.tolist():
        cells = _posterior(corners[place], positive, estimator)
        for at, bound in enumerate(bounds):
            ends[:, at, place] = _held(bound, corners[place], cells, estimator.level)
    used = tuple(np.where(np.isin(np.arange(len(corners)), few), DEFAULTS["agreement"], CLOSED).tolist())
    return [Limits(ends[0, at], ends[1, at], used) for at in range(len(bounds))]


def _posterior(corners: Floats, positive: int, estimator: Estimator) -> dict[str, Any]:
    """The very draws that an evaluation of this table would make, in the order of its classes."""
    tp, fn, fp, tn = corners.tolist()
    square = np.array([[tp, fn], [fp, tn]] if positive == 0 else [[tn, fp], [fn, tp]]) + CELL_PRIOR
    rng = np.random.default_rng([estimator.seed, 2])
    drawn = rng.standard_gamma(square, size=(posterior_draws(4, estimator.level), 2, 2))
    first, second, third, fourth = (np.ascontiguousarray(drawn[:, i, j]) for i in (0, 1) for j in (0, 1))
    return class_cells(first, second, third, fourth) if positive == 0 else class_cells(fourth, third, second, first)


def _held(bound: Bound, corners: Floats, cells: dict[str, Any], level: float) -> tuple[float, float]:
    """Quantiles of the draws, within the range of the measure and with the estimate inside."""
    low, high = order_limits(np.asarray(bound.value(cells)), level)
    floor, ceiling = bound.measure.range
    value = float(bound.value(class_cells(*corners)))
    if np.isnan(value):
        return np.nan, np.nan
    return float(np.fmin(np.fmax(low, floor), value)), float(np.fmax(np.fmin(high, ceiling), value))
