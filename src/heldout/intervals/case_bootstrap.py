"""Estimates of one's own functions of the cases: the bootstrap over cases, or over whole groups of them."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from heldout.arguments import check_replicates, method_key
from heldout.arrays import Codes, Floats
from heldout.errors import HeldoutError, OptionError
from heldout.evidence import Label
from heldout.intervals.dependence import Dependence
from heldout.intervals.draws import order_limits
from heldout.intervals.estimate import NO_INTERVAL, ONE_GROUP, Estimate
from heldout.measures.catalogue import CATALOGUE, find
from heldout.measures.quantity import Bound, Quantity
from heldout.predictions.table import Predictions
from heldout.threads import cached_property
from heldout.values import state_of

BOOTSTRAP, BY_GROUPS = "bootstrap", "cluster-bootstrap"
# Draws beyond each limit without which an interval says nothing.
LEAST_DRAWS = 20


@dataclass(frozen=True, eq=False)
class CaseValues:
    """What functions of the cases take: the true classes, the predicted ones or scores, weights and groups.

    Of two classes, `positive` is the one that scores are of.
    """

    truth: NDArray[Any]
    predicted: NDArray[Any]
    score: NDArray[Any] | None = None
    weight: Floats | None = None
    group: Codes | None = None
    positive: Label | None = None

    @classmethod
    def of(cls, predictions: Predictions) -> CaseValues:
        """The values of rows in memory, with labels as they are."""
        labels = _label_array(predictions.labels)
        scores, group = predictions.scores, predictions.group
        if group is None and predictions.fold is not None:
            # A case that was predicted several times is one case.
            group = predictions.id
        return cls(
            labels[_places(predictions.truth, predictions.truth_place)],
            labels[_places(predictions.predicted, predictions.predicted_place)],
            None if scores is None else np.asarray(scores.values),
            predictions.weight,
            None if group is None else group.codes.astype(np.int64) - group.offset,
            predictions.positive if len(predictions.labels) == 2 else None,
        )

    def value(self, bound: Bound, rows: Any = slice(None)) -> float:
        """The value of a function on some of the rows, by default all."""
        given = {"truth": self.truth, "predicted": self.predicted, "score": self.score}
        lacking = [role for role in bound.measure.cells if given[role] is None]
        if lacking:
            raise OptionError(
                f"{bound.name} is a function of scores, and none were given.",
                hint="pass score= (--score COLUMN), one score per case or one per class.",
            )
        # A copy each time: a function may write into what it is given.
        columns = [np.array(given[role][rows]) for role in bound.measure.cells]  # type: ignore[index]
        weight = None if self.weight is None else self.weight[rows]
        known = {"weight": weight, "positive": self.positive}
        given_too = {name: value for name, value in known.items() if value is not None}
        top, _ = bound.measure.function(*columns, **bound.parameters, **given_too)
        value = float(top)
        return value if math.isfinite(value) else math.nan

    def draw(self, seed: int, replicates: int, share: float = 1.0) -> Iterator[NDArray[np.int64]]:
        """Rows drawn with replacement, whole groups where there are groups; only a share of them where said."""
        rng = np.random.default_rng([seed, 61])
        if self.group is None:
            size = max(1, round(len(self.truth) * share))
            for _ in range(replicates):
                yield rng.integers(len(self.truth), size=size)
            return
        order = np.argsort(self.group, kind="stable")
        numbers, starts = np.unique(self.group[order], return_index=True)
        members = np.split(order, starts[1:])
        size = max(1, round(len(numbers) * share))
        for _ in range(replicates):
            yield np.concatenate([members[at] for at in rng.integers(len(numbers), size=size)])

    @property
    def units(self) -> int:
        """How many cases, or groups of them, can be drawn."""
        return len(self.truth) if self.group is None else len(np.unique(self.group))


def redraw(values: CaseValues, bound: Bound, seed: int, replicates: int, share: float = 1.0) -> Floats:
    """The value on each draw, nan where the function fails or has no value there, as without a class it asks of."""
    return np.array([_value_or_nan(values, bound, rows) for rows in values.draw(seed, replicates, share)])


def _value_or_nan(values: CaseValues, bound: Bound, rows: Any) -> float:
    try:
        return values.value(bound, rows)
    except HeldoutError:
        return math.nan


def limits_of_draws(drawn: Floats, level: float) -> tuple[float, float]:
    """The percentiles of the draws that have a value; unknown where there are too few of them."""
    known = drawn[~np.isnan(drawn)]
    if len(known) < LEAST_DRAWS:
        return math.nan, math.nan
    low, high = order_limits(known, level)
    return float(low), float(high)


def describe_lost(drawn: Floats) -> str:
    """A sentence where the function had no value on some of the draws."""
    lost = int(np.isnan(drawn).sum())
    return f"{lost:,} of {len(drawn):,} draws had no value and are left out" if lost else ""


@dataclass(frozen=True)
class CaseEstimator:
    """Makes estimates of functions of the cases; `plan` as in `Estimator`."""

    predictions: Predictions | None
    level: float = 0.95
    seed: int = 0
    replicates: int = 2000
    plan: Dependence | None = None

    __getstate__ = state_of

    @cached_property
    def values(self) -> CaseValues:
        """The rows; refused where they were counted and not kept."""
        if self.predictions is None:
            raise OptionError(
                "A function of the cases needs the rows, and here are only counts of them.",
                hint="give the predictions themselves, or declare a formula of the counts with heldout.measure.",
            )
        return CaseValues.of(self.predictions)

    @property
    def _method(self) -> str:
        grouped = self.predictions is not None and self.predictions.group is not None
        return BY_GROUPS if grouped else BOOTSTRAP

    @cached_property
    def _drawn(self) -> dict[str, Floats]:
        return {}

    def ask(self, quantity: Quantity, method: str | None = None) -> Estimate:
        """One estimate; a method named here must be the bootstrap."""
        bound, values = quantity.bound, self.values
        self._check(quantity, method)
        value, share, name = values.value(bound), 1.0, self._method
        if self.plan is not None and self.plan.factor != 1:
            share = self.plan.scale(bound.measure)
            name = f"{name}, n/{1 / share:g}"
        notes = [ONE_GROUP] if values.units < 2 else []
        low = high = math.nan
        if self.plan is not None and self.plan.refused:
            notes, name = [self.plan.refused], NO_INTERVAL
        elif not math.isnan(value) and values.units > 1:
            if bound.name not in self._drawn:
                check_replicates(self.replicates, self.level)
                self._drawn[bound.name] = redraw(values, bound, self.seed, self.replicates, share)
            drawn = self._drawn[bound.name]
            low, high = limits_of_draws(drawn, self.level)
            notes += filter(None, [describe_lost(drawn)])
            # Percentiles of draws may lie on one side of the value.
            low, high = (min(low, value), max(high, value)) if not math.isnan(low) else (low, high)
        return Estimate(
            bound.name, None, None, value, low, high, self.level, name, len(values.truth),
            bound.undefined if math.isnan(value) else "", "; ".join(notes),
            "share" if bound.measure.bounded else "plain",
        )  # fmt: skip

    def value(self, quantity: Quantity) -> float:
        """The value alone."""
        self._check(quantity, None)
        return self.values.value(quantity.bound)

    def at_level(self, level: float) -> CaseEstimator:
        """The same at another level, with the same draws."""
        other = replace(self, level=level)
        vars(other)["_drawn"] = self._drawn
        return other

    def _check(self, quantity: Quantity, method: str | None) -> None:
        bound = quantity.bound
        if quantity.class_ is not None or quantity.average is not None:
            raise OptionError(
                f"{bound.name} is a function of all cases, without classes or averages.",
                hint=f"ask for {bound.name} alone.",
            )
        fitting = self._method
        if method is not None and method_key(method) != fitting:
            raise OptionError(f"The method {method!r} does not apply to {bound.name}.", hint=f"use {fitting!r}.")

    def every(self) -> list[Estimate]:
        """Each function that was declared and whose columns are there."""
        if self.predictions is None:
            return []
        has = {"truth", "predicted", *(() if self.predictions.scores is None else ("score",))}
        own = [m.name for m in CATALOGUE.values() if m.scope == "cases" and set(m.cells) <= has]
        return [self._ask_unnamed(Quantity(find(name))) for name in own]

    def _ask_unnamed(self, quantity: Quantity) -> Estimate:
        """One estimate that nobody asked for by its name: where the function fails on these cases, that is said."""
        try:
            return self.ask(quantity)
        except OptionError as error:
            return Estimate(
                quantity.bound.name, None, None, math.nan, math.nan, math.nan, self.level, NO_INTERVAL,
                len(self.values.truth), error.what[:1].lower() + error.what[1:].rstrip("."), "",
            )  # fmt: skip


def _places(codes: Any, place: NDArray[np.int64]) -> NDArray[np.int64]:
    return np.asarray(place[codes.codes.astype(np.int64) - codes.offset])


def _label_array(labels: tuple[Label, ...]) -> NDArray[Any]:
    array = np.array(labels)
    return array if array.dtype.kind in "iubU" else np.array(labels, dtype=object)
