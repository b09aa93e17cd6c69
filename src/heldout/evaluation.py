"""The answer to "how good is it": counted evidence, every measure with its interval, and how it was made."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar

from heldout.errors import OptionError, listing
from heldout.estimates.estimate import Estimate
from heldout.estimates.interval import Estimator, check_level
from heldout.evidence import Confusion, Label
from heldout.measures.catalogue import find, read_quantity
from heldout.measures.quantity import AVERAGES, Average, Quantity
from heldout.predictions.source import Source
from heldout.predictions.table import Predictions
from heldout.report.screen import chosen_blocks, evaluation_blocks
from heldout.result import Result
from heldout.show.blocks import Block

# Squares of this many classes are written out in documents; larger ones list the cells that were met.
WRITTEN_CLASSES = 200


@dataclass(frozen=True)
class Evaluation(Result):
    """How good a classifier is, on these cases.

    Ask it for a number by name: `evaluation["accuracy"]`, `evaluation["macro f1"]`, `evaluation["recall[spam]"]`.
    """

    schema: ClassVar[str] = "heldout/evaluation@1"

    confusion: Confusion
    positive: Label | None
    estimates: tuple[Estimate, ...]
    estimator: Estimator = field(repr=False)
    notes: tuple[str, ...] = ()
    source: Source = field(default_factory=Source)
    predictions: Predictions | None = field(default=None, repr=False)
    costs: Any = field(default=None, repr=False)

    @property
    def n(self) -> int | float:
        """The number of cases, or their weight."""
        return self.confusion.n

    @property
    def level(self) -> float:
        """The level of the intervals."""
        return self.estimator.level

    @property
    def labels(self) -> tuple[Label, ...]:
        """The classes."""
        return self.confusion.labels

    @cached_property
    def fingerprint(self) -> str:
        """A short hash of the true labels in their order, empty where only counts are known."""
        return "" if self.predictions is None else self.predictions.fingerprint()

    @cached_property
    def _by_name(self) -> Mapping[tuple[str, Any, str | None], Estimate]:
        return {(e.measure, e.class_, e.average): e for e in self.estimates}

    def __getitem__(self, name: str) -> Estimate:
        """The estimate of that name, computed now if it is not among those reported."""
        return self._answer(read_quantity(name, self.labels, costs=self.costs))

    def get(self, measure: str, *, class_: Label | None = None, average: Average | None = None) -> Estimate:
        """The estimate of a measure of one class, averaged ("macro", "micro", "weighted"), or of all cases."""
        if average is not None and average not in AVERAGES:
            raise OptionError(f"There is no average {average!r}.", hint=f"use one of: {listing(AVERAGES)}.")
        return self._answer(Quantity(find(measure, costs=self.costs), class_, average))

    def _answer(self, quantity: Quantity) -> Estimate:
        quantity = quantity.check(self.positive)
        found = self._by_name.get((quantity.bound.name, quantity.class_, quantity.average))
        return found if found is not None else self.estimator.ask(self._with_costs(quantity))

    def _with_costs(self, quantity: Quantity) -> Quantity:
        if quantity.bound.measure.kind == "cost" and self.costs is None:
            raise OptionError(f"{quantity.bound.name} needs costs, and none were given.", hint="pass costs=.")
        return quantity

    def __iter__(self) -> Iterator[Estimate]:
        return iter(self.estimates)

    def interval(
        self,
        name: str,
        *,
        method: str | None = None,
        level: float | None = None,
        replicates: int | None = None,
        seed: int | None = None,
    ) -> Estimate:
        """The same quantity with another interval method, level or number of bootstrap replicates."""
        made = self.estimator
        quantity = self._with_costs(read_quantity(name, self.labels, costs=self.costs).check(self.positive))
        asked = Estimator(
            self.confusion,
            check_level(made.level if level is None else level),
            made.seed if seed is None else seed,
            made.replicates if replicates is None else replicates,
            made.method,
        )
        return asked.ask(quantity, method)

    def rows(self) -> list[dict[str, object]]:
        """One row per estimate."""
        return [row for estimate in self.estimates for row in estimate.rows()]

    def facts(self) -> dict[str, object]:
        """What stands beside the estimates in the document."""
        return {
            "n": self.n,
            "positive": self.positive,
            "confusion": self._confusion_document(),
            "level": self.level,
            "seed": self.estimator.seed,
            "groups": None if self.confusion.clusters is None else self.confusion.clusters.number,
            "weighted": self.confusion.weighted,
            "fingerprint": self.fingerprint,
            "source": {"name": self.source.name, "columns": dict(self.source.columns)},
            "notes": list(self.notes),
        }

    def _confusion_document(self) -> dict[str, object]:
        document: dict[str, object] = {"labels": list(self.labels), "rows": "truth"}
        if len(self.labels) <= WRITTEN_CLASSES:
            document["matrix"] = self.confusion.matrix.tolist()
            return document
        document["cells"] = {
            "truth": self.confusion.truth.tolist(),
            "predicted": self.confusion.predicted.tolist(),
            "count": self.confusion.counts.tolist(),
        }
        return document

    def blocks(self) -> list[Block]:
        """The report, short enough for one screen."""
        return evaluation_blocks(self)

    def full_blocks(self) -> list[Block]:
        """The report with every measure and every class."""
        return evaluation_blocks(self, full=True)

    def chosen_blocks(self) -> list[Block]:
        """Only the estimates that were asked for."""
        return chosen_blocks(self)

    def value(self, name: str) -> float:
        """The value alone; nan where it is undefined."""
        return self[name].value

    def defined(self, name: str) -> bool:
        """Whether the quantity has a value here."""
        return not math.isnan(self.value(name))
