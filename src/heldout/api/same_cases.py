"""Contestants that judged the same cases, compared case by case."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray

from heldout.api.design import Judged, Meeting, Rules, alike_in, fitting_scores, is_score, no_rope
from heldout.arguments import listing
from heldout.comparison import Alike
from heldout.comparisons.delong_tests import DELONG, DELONG_MOVER, delong_pairs, model_areas
from heldout.comparisons.omnibus import Together, areas_together, right_together
from heldout.comparisons.optimal_ranges import OptimalRanges, optimal_ranges
from heldout.comparisons.pair_test import Setting, Tested
from heldout.comparisons.paired_counts import compare_counts
from heldout.comparisons.paired_scores import AREAS, compare_scores
from heldout.comparisons.roc_pair import RocComparison, compare_roc
from heldout.errors import OptionError
from heldout.evidence import Label
from heldout.evidence.joint_counts import PairCounts
from heldout.measures.quantity import Quantity
from heldout.predictions.alignment import Paired
from heldout.predictions.table import Predictions


class Cases(Protocol):
    """The same cases, as all contestants judged them."""

    @property
    def n(self) -> int:
        """How many there are."""

    @property
    def by(self) -> str:
        """How they were matched."""

    @property
    def labels(self) -> tuple[Label, ...]:
        """The classes of all contestants."""

    @property
    def notes(self) -> tuple[str, ...]:
        """What is to be said of how they were matched."""


@dataclass(frozen=True, eq=False)
class Matched(Judged, ABC):
    """All of them judged the same cases, whether their rows are here or were counted where they are."""

    met: ClassVar[Setting] = "same cases"

    @property
    @abstractmethod
    def cases(self) -> Cases:
        """The cases that they have in common."""

    @property
    def words(self) -> str:
        """How many cases, and how they were matched."""
        return f"{self.cases.n:,} cases that each of them judged, matched by {self.cases.by}"

    @property
    def labels(self) -> tuple[Label, ...]:
        """The classes of all of them."""
        return self.cases.labels

    @property
    def shared(self) -> tuple[str, ...]:
        """What is said of how they meet, and of their labels."""
        return (*super().shared, *self.cases.notes)

    def why(self) -> str:
        """Why they are compared so."""
        return f"Each of them judged the same {self.cases.n:,} cases, so they are compared case by case"

    @cached_property
    def _counts(self) -> dict[tuple[int, int], PairCounts]:
        return {}

    def counts(self, one: int, two: int) -> PairCounts:
        """The joint counts of two of them."""
        if (one, two) not in self._counts:
            self._counts[one, two] = self._count(one, two)
        return self._counts[one, two]

    @abstractmethod
    def _count(self, one: int, two: int) -> PairCounts:
        """The joint counts of two of them, counted now."""

    def apart(self, one: int, two: int) -> tuple[int, int] | None:
        """How many cases the one alone gets right, and how many the other alone."""
        counts = self.counts(one, two)
        return counts.only_a, counts.only_b

    def test(self, one: int, two: int, quantity: Quantity, rules: Rules) -> Tested:
        """The difference of two contestants on their common cases."""
        no_rope(rules)
        if is_score(quantity):
            return self._scores(one, two, quantity, rules)
        if self._dependent:
            raise OptionError(
                "Cases that come in groups or have weights cannot be compared by their counts yet.",
                hint="leave out group= (--group) and weights, or compare by roc_auc or brier (measure=, --measure), "
                "which know of groups.",
            )
        costs = quantity.bound.costs
        if costs is not None and len(costs) != len(self.labels):
            raise OptionError(
                f"The costs are for {len(costs)} classes, and the predictions hold {listing(self.labels)}.",
                hint="name all classes with labels= (--labels), and give a cost for each.",
            )
        return compare_counts(
            self.counts(one, two), quantity, method=rules.method, level=rules.level, seed=rules.seed,
            replicates=rules.replicates,
        )  # fmt: skip

    @abstractmethod
    def _scores(self, one: int, two: int, quantity: Quantity, rules: Rules) -> Tested:
        """The difference of two by a measure of scores."""

    @property
    @abstractmethod
    def _dependent(self) -> bool:
        """Whether the cases come in groups or have weights."""

    @property
    def has_curves(self) -> bool:
        """Whether there is a ROC curve for each: scores of two classes, one of them positive."""
        return self.scored and self.evaluations[0].positive is not None and len(self.labels) == 2


@dataclass(frozen=True, eq=False)
class SameCases(Matched):
    """All of them judged the same cases, and the rows are here."""

    paired: Paired = field(kw_only=True)

    @property
    def cases(self) -> Paired:
        """The cases that they have in common."""
        return self.paired

    def _count(self, one: int, two: int) -> PairCounts:
        held = self.paired
        return PairCounts.of(held.truth, held.predicted[one], held.predicted[two], held.labels)

    def alike(self, one: int, two: int, quantity: Quantity) -> Alike:
        """What both give alike in every case, of what a quantity is made from."""
        held = self.paired
        if not is_score(quantity):
            return "answers" if np.array_equal(held.predicted[one], held.predicted[two]) else ""
        first, second = (self._predictions(place).part(held.rows[place]) for place in (one, two))
        return alike_in(first, second, quantity)

    def _predictions(self, place: int) -> Predictions:
        held = self.evaluations[place].predictions
        if held is None:
            message = "an evaluation without predictions cannot be paired"
            raise TypeError(message)
        return held

    @cached_property
    def _dependent(self) -> bool:
        """Whether the cases come in groups or have weights."""
        held = [self._predictions(place) for place in range(len(self.evaluations))]
        return any(one.group is not None or one.weight is not None for one in held)

    def positives(self) -> tuple[NDArray[np.bool_], Label | None]:
        """Which cases are positive, and the class that is."""
        label = self.evaluations[0].positive
        place = 1 if label is None else self.paired.labels.index(label)
        return self.paired.truth == place, label

    def scores_in_order(self, place: int) -> NDArray[Any]:
        """The scores of one of them, in the order of the cases."""
        scores = self._predictions(place).scores
        if scores is None:
            message = "there are no scores"
            raise TypeError(message)
        return np.asarray(scores.values)[self.paired.rows[place]]

    def groups(self) -> NDArray[np.int64] | None:
        """The groups of the cases, which are the same for all."""
        group = self._predictions(0).group
        return None if group is None else group.codes.astype(np.int64)[self.paired.rows[0]]

    def weights(self) -> NDArray[np.float64] | None:
        """The weights of the cases, which are the same for all."""
        weight = self._predictions(0).weight
        return None if weight is None else weight[self.paired.rows[0]]

    def _positive(self, quantity: Quantity) -> NDArray[np.bool_]:
        """Which cases are of the class that the scores of a quantity are of."""
        label = quantity.class_ if quantity.class_ is not None else self.evaluations[0].positive
        labels = self.paired.labels
        return np.asarray(self.paired.truth == labels.index(labels[-1] if label is None else label))

    @cached_property
    def _areas(self) -> dict[tuple[Label | None, str, float], dict[tuple[int, int], Tested]]:
        return {}

    def _all_areas(self, quantity: Quantity, rules: Rules) -> dict[tuple[int, int], Tested] | None:
        """DeLong's tests of all pairs from one sort of each; None where there are two only, or another method."""
        name = DELONG.name if rules.method is None else str(rules.method).strip().casefold().replace("_", "-")
        few = len(self.evaluations) < 3 or quantity.bound.measure.name not in AREAS
        if few or name not in (DELONG.name, DELONG_MOVER.name):
            return None
        key = quantity.class_, name, rules.level
        if key not in self._areas:
            values = [self._score_values(place, quantity) for place in range(len(self.evaluations))]
            if values[0].ndim != 1:
                return None
            self._areas[key] = delong_pairs(
                values, self._positive(quantity), level=rules.level, interval="t" if name == DELONG.name else "mover",
                weight=self.weights(), groups=self.groups(),
            )  # fmt: skip
        return self._areas[key]

    def _scores(self, one: int, two: int, quantity: Quantity, rules: Rules) -> Tested:
        together = self._all_areas(quantity, rules)
        if together is not None:
            found = together[min(one, two), max(one, two)]
            factor = AREAS[quantity.bound.measure.name]
            return times(found, factor if one < two else -factor)
        values = [self._score_values(place, quantity) for place in (one, two)]
        return compare_scores(
            values[0],
            values[1],
            self._positive(quantity) if values[0].ndim == 1 else self.paired.truth,
            quantity.bound,
            method=rules.method,
            level=rules.level,
            seed=rules.seed,
            replicates=rules.score_replicates,
            groups=self.groups(),
            weight=self.weights(),
        )

    def _score_values(self, place: int, quantity: Quantity) -> NDArray[Any]:
        """The scores that a measure needs, in the order of the cases and of the classes."""
        held = self._predictions(place)
        return fitting_scores(self.scores_in_order(place), held, quantity, self.labels)

    def omnibus(self, quantities: Sequence[Quantity], rules: Rules) -> tuple[Together, ...]:
        """Cochran's Q: whether all of them are right equally often; DeLong's test: whether all areas are the same."""
        made: list[Together] = []
        if not self._dependent and not all(is_score(quantity) for quantity in quantities):
            right = np.stack([predicted == self.paired.truth for predicted in self.paired.predicted], axis=1)
            made.append(right_together(right, level=rules.level))
        for quantity in quantities:
            if quantity.bound.measure.name not in AREAS:
                continue
            values = [self._score_values(place, quantity) for place in range(len(self.evaluations))]
            if values[0].ndim == 1:
                areas = model_areas(values, self._positive(quantity), weight=self.weights(), groups=self.groups())
                name = (
                    f"{quantity.bound.name}[{quantity.class_}]" if quantity.class_ is not None else quantity.bound.name
                )
                made.append(areas_together(areas, name, level=rules.level))
        return tuple(made)


def times(tested: Tested, factor: float) -> Tested:
    """A difference times a factor: 2 for Gini, which is twice the area less 1; negative for B − A."""
    if factor == 1:
        return tested
    ends = sorted((factor * tested.low, factor * tested.high))
    sign = math.copysign(1.0, factor)
    # Adding 0 leaves no −0 behind.
    return replace(
        tested, difference=factor * tested.difference + 0.0, low=ends[0] + 0.0, high=ends[1] + 0.0,
        statistic=sign * tested.statistic + 0.0,
    )  # fmt: skip


# The ROC curves of contestants that scored the same cases.


@dataclass(frozen=True, eq=False)
class MeetingCurves:
    """Curves of the positive class, made when asked for."""

    meeting: SameCases
    rules: Rules

    def pair(self, a: str, b: str) -> RocComparison:
        """Two curves on the same cases."""
        places = [self._place(name) for name in (a, b)]
        if self.meeting.weights() is not None:
            raise OptionError(
                "ROC curves are compared without weights, and the cases have some.",
                hint="leave out weight, or compare the areas (measure='roc_auc'), which know of weights.",
            )
        truth, label = self.meeting.positives()
        one, two = (self.meeting.scores_in_order(place) for place in places)
        return compare_roc(
            one,
            two,
            truth,
            names=(a, b),
            label=label,
            level=self.rules.level,
            seed=self.rules.seed,
            groups=self.meeting.groups(),
        )

    def ranges(self, prevalence: float | None) -> OptimalRanges:
        """All curves, and in which range of costs each is best."""
        rankings = {name: one.ranking() for name, one in self.meeting.held.items()}
        return optimal_ranges(rankings, prevalence=prevalence, positive=self.meeting.positives()[1])

    def _place(self, name: str) -> int:
        if name not in self.meeting.names:
            raise OptionError(
                f"There is no classifier {name!r}. There are: {listing(self.meeting.names)}.", hint="use one of these."
            )
        return self.meeting.names.index(name)


def curves_of(meeting: Meeting, rules: Rules) -> MeetingCurves | None:
    """The curves, where the same cases of two classes were scored by all."""
    if not isinstance(meeting, SameCases) or not meeting.has_curves:
        return None
    return MeetingCurves(meeting, rules)
