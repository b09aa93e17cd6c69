"""What every pairing design answers: who the contestants are, their values, and how two of them are tested."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from heldout.arguments import listing
from heldout.comparisons.best import JointValues
from heldout.comparisons.comparison import Alike, Curves, Side
from heldout.comparisons.pair_test import OmnibusTest, Setting
from heldout.comparisons.paired_scores import (
    translate_class,
)
from heldout.errors import OptionError
from heldout.evidence import Confusion, Label, join_labels
from heldout.intervals.count_estimator import Estimator
from heldout.intervals.estimate import PairTest
from heldout.measures.catalogue import find, headline, is_imbalanced, read_quantity
from heldout.measures.quantity import Bound, Quantity
from heldout.measures.ranking import average_precision
from heldout.measures.tables import accuracy
from heldout.predictions.positive_class import fitted
from heldout.predictions.table import Predictions
from heldout.results.evaluation import Evaluation
from heldout.threads import cached_property

# Replicates that are drawn unless a number is given; scores take longer than counts.
COUNT_REPLICATES, SCORE_REPLICATES = 2000, 999


@dataclass(frozen=True)
class CompareOptions:
    """The options of a test: its level, seed, number of replicates, method and region of practical equivalence."""

    level: float = 0.95
    seed: int = 0
    replicates: int | None = None
    method: str | None = None
    rope: float | None = None

    @property
    def count_replicates(self) -> int:
        """How often counts are drawn."""
        return COUNT_REPLICATES if self.replicates is None else self.replicates

    @property
    def score_replicates(self) -> int:
        """How often scores are drawn."""
        return SCORE_REPLICATES if self.replicates is None else self.replicates


def compute_value(confusion: Confusion, quantity: Quantity) -> float:
    """The value of a quantity of counts, without an interval."""
    values = Estimator(confusion).subject(quantity).value
    value = float(values[confusion.index(quantity.class_)]) if quantity.class_ is not None else float(values)
    return value * quantity.times(confusion.n)


def refuse_rope(options: CompareOptions) -> None:
    """Refuse a region of practical equivalence, which only the Bayesian methods use."""
    if options.rope is not None:
        raise OptionError(
            "A rope is for the Bayesian comparison of learners over the same splits, and these are predictions.",
            hint="judge the difference against a margin (margin=, --margin), or leave out rope.",
        )


def find_identical(a: Predictions | None, b: Predictions | None, quantity: Quantity) -> Alike:
    """Whether two predictions, with their cases in the same order, are identical: in their answers or their scores."""
    if a is None or b is None or a.n != b.n:
        return ""
    if quantity.is_score:
        if a.scores is None or b.scores is None or (a.positive, a.labels) != (b.positive, b.labels):
            return ""
        return "scores" if np.array_equal(np.asarray(a.scores.values), np.asarray(b.scores.values)) else ""
    code_of = {label: code for code, label in enumerate(a.labels)}
    answers = []
    for side in (a, b):
        codes = np.array([code_of.get(label, -1) for label in fitted(side.labels, a.labels)])
        answers.append(codes[side.predicted_place[side.predicted.codes.astype(np.int64) - side.predicted.offset]])
    return "answers" if np.array_equal(answers[0], answers[1]) and (answers[0] >= 0).all() else ""


@dataclass(frozen=True, eq=False)
class PairingDesign(ABC):
    """How the contestants are paired: what they have in common, and how two of them are tested there."""

    by_split: ClassVar[bool] = False
    setting: ClassVar[Setting]
    # Whether another level is tested without reading the data once more.
    in_memory: ClassVar[bool] = True
    # Whether the rows of the same cases are at hand, which functions of the cases need.
    has_rows: ClassVar[bool] = False

    by_name: Mapping[str, Evaluation]

    @property
    @abstractmethod
    def description(self) -> str:
        """What they have in common, in words."""

    @property
    @abstractmethod
    def reason(self) -> str:
        """Why they are tested so, as the beginning of a sentence."""

    @abstractmethod
    def test(self, a: int, b: int, quantity: Quantity, options: CompareOptions) -> PairTest:
        """The difference of two contestants, and its test."""

    def joint(self, quantity: Quantity) -> JointValues | None:  # noqa: ARG002 - one signature
        """The values of all contestants with their covariance; None where it is not known."""
        return None

    def omnibus(self, quantities: Sequence[Quantity], options: CompareOptions) -> tuple[OmnibusTest, ...]:  # noqa: ARG002 - one signature
        """Tests of all contestants at once; none unless a design has one."""
        return ()

    def curves(self, options: CompareOptions) -> Curves | None:  # noqa: ARG002 - one signature
        """The ROC curves, where all contestants scored the same cases of two classes."""
        return None

    @cached_property
    def names(self) -> list[str]:
        """The names of the contestants."""
        return list(self.by_name)

    @cached_property
    def evaluations(self) -> list[Evaluation]:
        """The evaluations, in order."""
        return list(self.by_name.values())

    @cached_property
    def scored(self) -> bool:
        """Whether all of them have scores of one shape."""
        shapes = {None if e.scores is None else e.scores.evidence.per_class for e in self.evaluations}
        return len(shapes) == 1 and None not in shapes

    @property
    def notes(self) -> tuple[str, ...]:
        """The notes on each contestant, then those on the pairing."""
        return (*(f"{name}: {note}" for name, note in self.own_notes), *self.shared_notes)

    @property
    def own_notes(self) -> tuple[tuple[str, str], ...]:
        """The notes on single contestants, each with the name of the contestant."""
        return tuple((name, note) for name, evaluation in self.by_name.items() for note in evaluation.notes)

    @property
    def shared_notes(self) -> tuple[str, ...]:
        """The notes on the pairing."""
        shapes = {None if e.costs is None else (e.costs.shape, e.costs.tobytes()) for e in self.evaluations}
        if len(shapes) > 1:
            what = "no costs are" if self.evaluations[0].costs is None else f"the costs of {self.names[0]} are"
            return (f"not all were judged by the same costs: {what} used for all",)
        return ()

    @property
    def labels(self) -> tuple[Label, ...]:
        """The classes of all contestants, spelled as the first spells them."""
        labels = self.evaluations[0].labels
        for evaluation in self.evaluations[1:]:
            labels = join_labels(labels, tuple(dict.fromkeys(fitted(evaluation.labels, labels))))
        return labels

    def quantities(self, wanted: Sequence[str] | None) -> list[Quantity]:
        """What is compared unless named: accuracy, F1, and with scores the ROC area and the Brier score.

        With rare positives average precision leads, and accuracy, which is high whatever a classifier does, ends.
        """
        first = self.evaluations[0]
        names = list(wanted) if wanted is not None else self._default_measures(first)
        written = [read_quantity(name, self.labels, costs=first.costs) for name in names]
        quantities = [quantity.resolve(first.positive) for quantity in written]
        if any(
            q.class_ is not None and (wanted is None or own.class_ is None)
            for q, own in zip(quantities, written, strict=True)
        ):
            self._check_positive(scores=False)
        for quantity in quantities:
            if quantity.is_of_cases and not self.has_rows:
                raise OptionError(
                    f"{quantity.bound.name} is a function of the cases, and is compared on the same cases in memory.",
                    hint="give the predictions of the same cases, or declare a formula with heldout.measure.",
                )
            if quantity.is_score:
                self._check_positive(scores=True)
            if quantity.is_score and not self.scored:
                lacking = [name for name, evaluation in self.by_name.items() if evaluation.scores is None]
                raise OptionError(
                    f"{quantity.bound.name} is a measure of scores, which {listing(lacking or self.names)} have not.",
                    hint="give scores of the same kind for every classifier (--score).",
                )
            quantity.check_costs(first.costs)
        return quantities

    def _check_positive(self, *, scores: bool) -> None:
        """Refuse scores of one class each that are not of the same class, or positive classes that differ."""
        sides = [(name, own, own.positive) for name, own in self.by_name.items() if own.positive is not None]
        if scores:
            sides = [side for side in sides if (held := side[1].scores) is not None and not held.evidence.per_class]
        if len(set(fitted([label for *_, label in sides], self.labels))) > 1:
            what = "scores are not of the same class" if scores else "positive classes are not the same"
            shown = ", ".join(f"{name} {'of' if scores else 'has'} {label!r}" for name, _, label in sides)
            hint = "name one positive class for all, with its scores (positive=, --positive)."
            raise OptionError(f"The {what}: {shown}.", hint=hint)

    def _default_measures(self, first: Evaluation) -> list[str]:
        names = []
        one_score = self.scored and first.scores is not None and not first.scores.evidence.per_class
        likely = all(e.scores is not None and e.scores.evidence.probabilities is not None for e in self.evaluations)
        for bound in headline("comparison"):
            measure = bound.measure
            if measure.scope == "class":
                names.append(f"{bound.name}[{first.positive}]" if first.positive is not None else f"macro {bound.name}")
            elif measure.scope == "table":
                names += [bound.name] if measure.kind != "cost" or first.costs is not None else []
            elif measure.scope == "cases":
                usable = self.has_rows and ("score" not in measure.cells or self.scored)
                names += [bound.name] if usable and self._runs(bound) else []
            elif one_score and (likely or measure.scope == "ranking"):
                names.append(bound.name)
        if not self._has_rare_positives(first):
            return names
        leading = [average_precision.name] if one_score and self.compares_precision else []
        return [*leading, *(name for name in names if name != accuracy.name), accuracy.name]

    def _runs(self, bound: Bound) -> bool:
        """Whether a function that nobody named has a value for each of them: it may be for other data."""
        try:
            return all(not math.isnan(own.value(Quantity(bound))) for own in self.evaluations)
        except OptionError:
            return False

    @property
    def compares_precision(self) -> bool:
        """Whether average precisions can be compared here without much ado."""
        return False

    def _has_rare_positives(self, evaluation: Evaluation) -> bool:
        confusion, positive = evaluation.confusion, evaluation.positive
        if positive is None or confusion.n_classes != 2:
            return False
        cases = float(confusion.truth_totals[confusion.index(positive)])
        return is_imbalanced(cases, float(confusion.n))

    def value(self, index: int, quantity: Quantity) -> float:
        """The value of one contestant."""
        own = self.evaluations[index]
        if quantity.is_of_cases:
            return own.value(quantity)
        if quantity.is_score:
            return float("nan") if own.scores is None else own.scores.value(translate_class(quantity, own.labels))
        return compute_value(self.confusion(index), quantity)

    def values_together(self, indices: Sequence[int], quantity: Quantity) -> list[float]:
        """The values of some contestants, each on what all of them have; over splits, those where all are defined."""
        return [self.value(index, quantity) for index in indices]

    def confusion(self, index: int) -> Confusion:
        """The confusion matrix of one contestant, in the labels of all."""
        own = self.evaluations[index].confusion
        if own.labels == self.labels:
            return own
        return replace(own, labels=tuple(fitted(own.labels, self.labels))).with_labels(self.labels)

    def discordant(self, a: int, b: int) -> tuple[int, int] | None:  # noqa: ARG002 - one signature
        """How many cases only A and only B gets right; None unless both judged the same cases."""
        return None

    def identical(self, a: int, b: int, quantity: Quantity) -> Alike:  # noqa: ARG002 - one signature
        """Whether the answers or the scores behind a quantity are the same in every case; empty unless they are."""
        return ""

    def pooled(self, index: int, quantity: Quantity) -> float | None:  # noqa: ARG002 - one signature
        """The value from all splits together, nan for a measure of scores; None where there are no splits."""
        return None

    def sides(self) -> tuple[Side, ...]:
        """The classes, the accuracy and the cost of each contestant by itself."""
        first = self.evaluations[0]
        costs = first.costs if first.costs is not None and len(first.costs) == len(self.labels) else None
        # Total costs can be compared where all judged equally many cases, otherwise costs per case.
        same_n = len({e.confusion.n for e in self.evaluations}) == 1 and not self.by_split
        measure = "total_cost" if same_n else "expected_cost"
        cost = None if costs is None else Quantity(find(measure, costs=costs))
        share_right = Quantity(find(accuracy.name))
        return tuple(
            Side(
                name,
                tuple(zip(self.labels, self.confusion(index).truth_totals.tolist(), strict=True)),
                self.value(index, share_right),
                math.nan if cost is None else self._cost(index, cost),
            )
            for index, name in enumerate(self.names)
        )

    def _cost(self, index: int, cost: Quantity) -> float:
        try:
            return self.value(index, cost)
        except OptionError:
            # The costs are for other classes, and the user did not ask to compare by costs.
            return math.nan
