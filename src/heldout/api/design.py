"""How contestants meet: what is asked of any meeting, and what all that were evaluated share."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray

from heldout.arguments import listing
from heldout.comparison import Alike, Side
from heldout.comparisons.omnibus import Together
from heldout.comparisons.pair_test import Setting, Tested
from heldout.errors import OptionError
from heldout.evaluation import Evaluation
from heldout.evidence import Confusion, Label, join_labels
from heldout.intervals.count_estimator import Estimator
from heldout.intervals.score_estimator import SCORE_SCOPES
from heldout.measures.catalogue import find, headline, read_quantity
from heldout.measures.quantity import Quantity
from heldout.predictions.positive_class import fitted
from heldout.predictions.table import Predictions

# What is drawn unless somebody says otherwise; of scores, which take longer, fewer.
USUAL_REPLICATES, SCORE_REPLICATES = 2000, 999


@dataclass(frozen=True)
class Rules:
    """What was asked for, apart from who and by which measure."""

    level: float = 0.95
    seed: int = 0
    replicates: int = USUAL_REPLICATES
    method: str | None = None
    rope: float | None = None

    @property
    def score_replicates(self) -> int:
        """How often scores are drawn."""
        return SCORE_REPLICATES if self.replicates == USUAL_REPLICATES else self.replicates


class Meeting(Protocol):
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

    def test(self, one: int, two: int, quantity: Quantity, rules: Rules) -> Tested:
        """The difference of two contestants, and its test."""

    def why(self) -> str:
        """Why they are compared so, as the beginning of a sentence."""

    def omnibus(self, quantities: Sequence[Quantity], rules: Rules) -> tuple[Together, ...]:
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


def value_of(confusion: Confusion, quantity: Quantity) -> float:
    """The value of a quantity of counts, without an interval."""
    value = Estimator(confusion).subject(quantity).value
    held = float(value[confusion.index(quantity.class_)]) if quantity.class_ is not None else float(value)
    return held * confusion.n if quantity.bound.measure.name == "total_cost" else held


def of_own(quantity: Quantity, labels: Sequence[Label]) -> Quantity:
    """The same quantity with its class as these labels write it: 1 in one file may be "1" in the other."""
    if quantity.class_ is None or quantity.class_ in labels:
        return quantity
    return replace(quantity, class_=fitted([quantity.class_], labels)[0])


def fitting_scores(
    values: NDArray[Any], held: Predictions, quantity: Quantity, labels: tuple[Label, ...]
) -> NDArray[Any]:
    """The scores as a measure needs them: of one class, or with a column for each of these labels."""
    wanted, own = of_own(quantity, held.labels).class_, fitted(held.labels, labels)
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


def no_rope(rules: Rules) -> None:
    """Refuse a region of practical equivalence where no method knows of one."""
    if rules.rope is not None:
        raise OptionError(
            "A rope is for the Bayesian comparison of learners over the same splits, and these are predictions.",
            hint="judge the difference against a margin (margin=, --margin), or leave out rope.",
        )


def alike_in(one: Predictions | None, two: Predictions | None, quantity: Quantity) -> Alike:
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
class Judged:
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
            return float("nan") if one.scores is None else one.scores.value(of_own(quantity, one.labels))
        return value_of(self.confusion(place), quantity)

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
