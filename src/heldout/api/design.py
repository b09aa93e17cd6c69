"""How contestants are paired: what every pairing design answers, and the design of shared cases."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray

from heldout.arguments import listing
from heldout.comparisons.comparison import Alike, Side
from heldout.comparisons.delong import DELONG, DELONG_MOVER, compare_all_areas, delong_pairs, model_areas
from heldout.comparisons.mcnemar import compare_all_accuracies
from heldout.comparisons.optimal_ranges import OptimalRanges, optimal_ranges
from heldout.comparisons.pair_test import OmnibusTest, Setting
from heldout.comparisons.paired_counts import compare_counts
from heldout.comparisons.paired_scores import AREAS, compare_scores
from heldout.comparisons.roc_pair import RocComparison, compare_roc
from heldout.errors import OptionError
from heldout.evidence import Confusion, Label, join_labels
from heldout.evidence.joint_counts import PairCounts
from heldout.intervals.count_estimator import Estimator
from heldout.intervals.score_estimator import SCORE_SCOPES
from heldout.measures.catalogue import find, headline, read_quantity
from heldout.measures.quantity import Quantity
from heldout.predictions.alignment import Paired
from heldout.predictions.positive_class import fitted
from heldout.predictions.table import Predictions
from heldout.results.difference import PairTest
from heldout.results.evaluation import Evaluation

# How contestants meet: what is asked of any meeting, and what all that were evaluated share.

# Replicates that are drawn unless a number is given; scores take longer than counts.
COUNT_REPLICATES, SCORE_REPLICATES = 2000, 999


@dataclass(frozen=True)
class CompareOptions:
    """What was asked for, apart from who and by which measure."""

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


class PairingDesign(Protocol):
    """What the contestants have in common, and how two of them are compared there."""

    met: ClassVar[Setting]

    @property
    def words(self) -> str:
        """What they have in common, in words."""

    @property
    def notes(self) -> tuple[str, ...]:
        """Sentences that a reader must see."""

    @property
    def own(self) -> tuple[tuple[str, str], ...]:
        """Those of them that are about one of them: its name, and the sentence."""

    @property
    def shared(self) -> tuple[str, ...]:
        """Those of them that are about how they meet, and not about one of them."""

    def quantities(self, wanted: Sequence[str] | None) -> list[Quantity]:
        """What they are compared by."""

    def value(self, place: int, quantity: Quantity) -> float:
        """The value of one contestant."""

    def test(self, one: int, two: int, quantity: Quantity, rules: CompareOptions) -> PairTest:
        """The difference of two contestants, and its test."""

    def why(self) -> str:
        """Why they are compared so, as the beginning of a sentence."""

    def omnibus(self, quantities: Sequence[Quantity], rules: CompareOptions) -> tuple[OmnibusTest, ...]:
        """Tests of all contestants together, where these quantities are compared."""

    def apart(self, one: int, two: int) -> tuple[int, int] | None:
        """How many cases the one alone and the other alone gets right, where both judged the same ones."""

    def alike(self, one: int, two: int, quantity: Quantity) -> Alike:
        """What both give alike in every case, of what a quantity is made from; empty where they do not."""

    def pooled(self, place: int, quantity: Quantity) -> float | None:
        """The value of one from all splits together, nan for a measure of scores; None where there are no splits."""

    def sides(self) -> tuple[Side, ...]:
        """Each of them by itself."""


def is_score(quantity: Quantity) -> bool:
    """Whether a quantity is made from scores."""
    return quantity.bound.measure.scope in SCORE_SCOPES


def compute_value(confusion: Confusion, quantity: Quantity) -> float:
    """The value of a quantity of counts, without an interval."""
    value = Estimator(confusion).subject(quantity).value
    held = float(value[confusion.index(quantity.class_)]) if quantity.class_ is not None else float(value)
    return held * confusion.n if quantity.bound.measure.name == "total_cost" else held


def translate_class(quantity: Quantity, labels: Sequence[Label]) -> Quantity:
    """The same quantity with its class as these labels write it: 1 in one file may be "1" in the other."""
    if quantity.class_ is None or quantity.class_ in labels:
        return quantity
    return replace(quantity, class_=fitted([quantity.class_], labels)[0])


def select_scores(
    values: NDArray[Any], held: Predictions, quantity: Quantity, labels: tuple[Label, ...]
) -> NDArray[Any]:
    """The scores as a measure needs them: of one class, or with a column for each of these labels."""
    wanted, own = translate_class(quantity, held.labels).class_, fitted(held.labels, labels)
    if values.ndim == 1:
        # As in a ranking of the class that the scores are not of: the lowest come first.
        turned = wanted is not None and held.positive is not None and wanted != held.positive
        return -values if turned else values
    if quantity.bound.measure.scope == "ranking" and wanted is not None:
        if wanted not in held.labels:
            raise OptionError(
                f"There are no scores of the class {wanted!r}. There are those of: {listing(held.labels)}.",
                hint="use a class that all of them score.",
            )
        return np.asarray(values[:, held.labels.index(wanted)])
    if own == labels:
        return values
    # A class that a classifier does not know has no share of its probability.
    made = np.zeros((len(values), len(labels)), dtype=values.dtype)
    made[:, [labels.index(label) for label in own]] = values
    return made


def refuse_rope(rules: CompareOptions) -> None:
    """Refuse a region of practical equivalence where no method knows of one."""
    if rules.rope is not None:
        raise OptionError(
            "A rope is for the Bayesian comparison of learners over the same splits, and these are predictions.",
            hint="judge the difference against a margin (margin=, --margin), or leave out rope.",
        )


def find_identical(one: Predictions | None, two: Predictions | None, quantity: Quantity) -> Alike:
    """What two predictions, with their cases in the same order, give alike in every case."""
    if one is None or two is None or one.n != two.n:
        return ""
    if is_score(quantity):
        if one.scores is None or two.scores is None or (one.positive, one.labels) != (two.positive, two.labels):
            return ""
        return "scores" if np.array_equal(np.asarray(one.scores.values), np.asarray(two.scores.values)) else ""
    place = {label: at for at, label in enumerate(one.labels)}
    answers = []
    for own in (one, two):
        names = fitted(own.labels, one.labels)
        codes = np.array([place.get(name, -1) for name in names])
        answers.append(codes[own.predicted_place[own.predicted.codes.astype(np.int64) - own.predicted.offset]])
    return "answers" if np.array_equal(answers[0], answers[1]) and (answers[0] >= 0).all() else ""


@dataclass(frozen=True, eq=False)
class EvaluatedDesign:
    """Contestants that are evaluations."""

    by_split: ClassVar[bool] = False
    met: ClassVar[Setting]

    held: Mapping[str, Evaluation]

    @cached_property
    def names(self) -> list[str]:
        """Their names."""
        return list(self.held)

    @cached_property
    def evaluations(self) -> list[Evaluation]:
        """The evaluations, in order."""
        return list(self.held.values())

    @cached_property
    def scored(self) -> bool:
        """Whether all of them have scores of one shape."""
        shapes = {None if e.scores is None else e.scores.evidence.per_class for e in self.evaluations}
        return len(shapes) == 1 and None not in shapes

    @property
    def notes(self) -> tuple[str, ...]:
        """What was said of the predictions of each, and of how they meet."""
        return (*(f"{name}: {note}" for name, note in self.own), *self.shared)

    @property
    def own(self) -> tuple[tuple[str, str], ...]:
        """What is said of each: its name, and the sentence."""
        return tuple((name, note) for name, one in self.held.items() for note in one.notes)

    @property
    def shared(self) -> tuple[str, ...]:
        """What is said of how they meet."""
        shapes = {None if e.costs is None else (e.costs.shape, e.costs.tobytes()) for e in self.evaluations}
        if len(shapes) > 1:
            what = "no costs are" if self.evaluations[0].costs is None else f"the costs of {self.names[0]} are"
            return (f"not all were judged by the same costs: {what} used for all",)
        return ()

    @property
    def labels(self) -> tuple[Label, ...]:
        """The classes of all of them, as the first writes them."""
        found = self.evaluations[0].labels
        for one in self.evaluations[1:]:
            found = join_labels(found, tuple(dict.fromkeys(fitted(one.labels, found))))
        return found

    def quantities(self, wanted: Sequence[str] | None) -> list[Quantity]:
        """What they are compared by: accuracy, F, and, with scores, the ROC area and the Brier score."""
        first = self.evaluations[0]
        names = list(wanted) if wanted is not None else self._usual(first)
        made = [read_quantity(name, self.labels, costs=first.costs).check(first.positive) for name in names]
        for quantity in made:
            if is_score(quantity):
                self._check_positive()
            if is_score(quantity) and not self.scored:
                lacking = [name for name, one in self.held.items() if one.scores is None]
                raise OptionError(
                    f"{quantity.bound.name} is a measure of scores, which {listing(lacking or self.names)} have not.",
                    hint="give scores of the same kind for every classifier (--score).",
                )
            if quantity.bound.measure.kind == "cost" and first.costs is None:
                raise OptionError(
                    f"{quantity.bound.name} needs costs, and none were given.", hint="pass costs= (--costs)."
                )
        return made

    def _check_positive(self) -> None:
        """Scores of one class each must be scores of the same class."""
        positives = {
            name: one.positive
            for name, one in self.held.items()
            if one.positive is not None and one.scores is not None and not one.scores.evidence.per_class
        }
        if len(set(fitted(list(positives.values()), self.labels))) > 1:
            shown = ", ".join(f"{name} of {label!r}" for name, label in positives.items())
            raise OptionError(
                f"The scores are not of the same class: {shown}.",
                hint="name one positive class for all, with its scores (positive=, --positive).",
            )

    def _usual(self, first: Evaluation) -> list[str]:
        names = []
        one_score = self.scored and first.scores is not None and not first.scores.evidence.per_class
        likely = all(e.scores is not None and e.scores.evidence.probabilities is not None for e in self.evaluations)
        for bound in headline("comparison"):
            measure = bound.measure
            if measure.scope == "class":
                names.append(f"{bound.name}[{first.positive}]" if first.positive is not None else f"macro {bound.name}")
            elif measure.scope == "table":
                names += [bound.name] if measure.kind != "cost" or first.costs is not None else []
            elif one_score and (likely or measure.scope == "ranking"):
                names.append(bound.name)
        return names

    def value(self, place: int, quantity: Quantity) -> float:
        """The value of one contestant."""
        one = self.evaluations[place]
        if is_score(quantity):
            return float("nan") if one.scores is None else one.scores.value(translate_class(quantity, one.labels))
        return compute_value(self.confusion(place), quantity)

    def confusion(self, place: int) -> Confusion:
        """What one of them counted, in the labels of all."""
        own = self.evaluations[place].confusion
        if own.labels == self.labels:
            return own
        return replace(own, labels=tuple(fitted(own.labels, self.labels))).with_labels(self.labels)

    def apart(self, one: int, two: int) -> tuple[int, int] | None:  # noqa: ARG002 - one signature
        """How many cases the one alone and the other alone gets right; nobody knows unless they are the same cases."""
        return None

    def alike(self, one: int, two: int, quantity: Quantity) -> Alike:  # noqa: ARG002 - one signature
        """What both give alike in every case; nobody knows unless they are the same cases."""
        return ""

    def pooled(self, place: int, quantity: Quantity) -> float | None:  # noqa: ARG002 - one signature
        """Nothing: there are no splits."""
        return None

    def sides(self) -> tuple[Side, ...]:
        """Each of them by itself."""
        first = self.evaluations[0]
        costs = first.costs if first.costs is not None and len(first.costs) == len(self.labels) else None
        # Sums can be compared where all judged as many cases; otherwise the cost of a case.
        alike = len({e.confusion.n for e in self.evaluations}) == 1 and not self.by_split
        name = "total_cost" if alike else "expected_cost"
        cost = None if costs is None else Quantity(find(name, costs=costs))
        accuracy = Quantity(find("accuracy"))
        return tuple(
            Side(
                own,
                tuple(zip(self.labels, self.confusion(at).truth_totals.tolist(), strict=True)),
                self.value(at, accuracy),
                math.nan if cost is None else self._cost(at, cost),
            )
            for at, own in enumerate(self.names)
        )

    def _cost(self, place: int, cost: Quantity) -> float:
        try:
            return self.value(place, cost)
        except OptionError:
            # The costs are for other classes, or in another order; nobody asked to compare by them.
            return math.nan


# Contestants that judged the same cases, compared case by case.


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
class SharedCases(EvaluatedDesign, ABC):
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

    def test(self, one: int, two: int, quantity: Quantity, rules: CompareOptions) -> PairTest:
        """The difference of two contestants on their common cases."""
        refuse_rope(rules)
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
            replicates=rules.count_replicates,
        )  # fmt: skip

    @abstractmethod
    def _scores(self, one: int, two: int, quantity: Quantity, rules: CompareOptions) -> PairTest:
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
class PairedCases(SharedCases):
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
        return find_identical(first, second, quantity)

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
    def _areas(self) -> dict[tuple[Label | None, str, float], dict[tuple[int, int], PairTest]]:
        return {}

    def _all_areas(self, quantity: Quantity, rules: CompareOptions) -> dict[tuple[int, int], PairTest] | None:
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

    def _scores(self, one: int, two: int, quantity: Quantity, rules: CompareOptions) -> PairTest:
        together = self._all_areas(quantity, rules)
        if together is not None:
            found = together[min(one, two), max(one, two)]
            factor = AREAS[quantity.bound.measure.name]
            return scale_test(found, factor if one < two else -factor)
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
        return select_scores(self.scores_in_order(place), held, quantity, self.labels)

    def omnibus(self, quantities: Sequence[Quantity], rules: CompareOptions) -> tuple[OmnibusTest, ...]:
        """Cochran's Q: whether all of them are right equally often; DeLong's test: whether all areas are the same."""
        made: list[OmnibusTest] = []
        if not self._dependent and not all(is_score(quantity) for quantity in quantities):
            right = np.stack([predicted == self.paired.truth for predicted in self.paired.predicted], axis=1)
            made.append(compare_all_accuracies(right, level=rules.level))
        for quantity in quantities:
            if quantity.bound.measure.name not in AREAS:
                continue
            values = [self._score_values(place, quantity) for place in range(len(self.evaluations))]
            if values[0].ndim == 1:
                areas = model_areas(values, self._positive(quantity), weight=self.weights(), groups=self.groups())
                name = (
                    f"{quantity.bound.name}[{quantity.class_}]" if quantity.class_ is not None else quantity.bound.name
                )
                made.append(compare_all_areas(areas, name, level=rules.level))
        return tuple(made)


def scale_test(tested: PairTest, factor: float) -> PairTest:
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
class PairedRocCurves:
    """Curves of the positive class, made when asked for."""

    meeting: PairedCases
    rules: CompareOptions

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


def paired_curves(meeting: PairingDesign, rules: CompareOptions) -> PairedRocCurves | None:
    """The curves, where the same cases of two classes were scored by all."""
    if not isinstance(meeting, PairedCases) or not meeting.has_curves:
        return None
    return PairedRocCurves(meeting, rules)
