"""Contestants that judged the same cases, compared case by case without holding the rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from heldout.arguments import listing
from heldout.comparison import Alike
from heldout.comparisons.counted_areas import counted_areas, delong_counted
from heldout.comparisons.delong_tests import DELONG, DELONG_MOVER
from heldout.comparisons.optimal_ranges import OptimalRanges, optimal_ranges
from heldout.comparisons.paired_losses import PAIRED_HALL, PAIRED_LOSS_T, MeanMoments, paired_mean_test
from heldout.comparisons.paired_scores import AREAS, score_method
from heldout.comparisons.roc_pair import RocComparison
from heldout.comparisons.tested import Tested
from heldout.comparisons.together import Together, areas_together, right_together
from heldout.engines.clusters.engine_errors import engine_errors
from heldout.engines.lazy.pairs import LazyCases, lazy_cases
from heldout.engines.lazy.sides import LazySide
from heldout.engines.stream.pairs import ROW
from heldout.errors import OptionError
from heldout.evidence import Ranking
from heldout.evidence.pairs import PairCounts
from heldout.front.elsewhere import Elsewhere
from heldout.front.meeting import Meeting, Rules, is_score, of_own
from heldout.front.same_cases import Matched, times
from heldout.measures.probability import brier
from heldout.measures.quantity import Quantity
from heldout.predictions.pairing import lost_order
from heldout.predictions.scores import class_of

NO_ROWS = "read the rows into memory (engine='memory', --engine memory; a frame: collect it)"
# Of more columns than these the highest is not found by an expression: engines give up on long ones.
MOST_COLUMNS = 50
# What Ibis calls the tables that one connection knows; those in memory go with any.
OF_A_CONNECTION = ("DatabaseTable", "SQLQueryResult")
WITHOUT_ROWS = "compare by roc_auc, gini, brier or log_loss (measure=, --measure) by their usual methods"


@dataclass(frozen=True, eq=False)
class CountedCases(Matched):
    """All of them judged the same cases, which were joined and counted where they are."""

    joined: LazyCases = field(kw_only=True)

    @property
    def cases(self) -> LazyCases:
        """The cases that they have in common."""
        return self.joined

    def _count(self, one: int, two: int) -> PairCounts:
        return self.joined.pairs(one, two)

    @property
    def _dependent(self) -> bool:
        """Whether the cases come in groups or have weights."""
        return any(one.confusion.clusters is not None or one.confusion.weighted for one in self.evaluations)

    def alike(self, one: int, two: int, quantity: Quantity) -> Alike:
        """What both give alike in every case, of what a quantity is made from."""
        if not is_score(quantity):
            return "" if self.counts(one, two).differ else "answers"
        return "" if self.joined.scores.apart[_ordered(one, two)] else "scores"

    def _scores(self, one: int, two: int, quantity: Quantity, rules: Rules) -> Tested:
        bound = quantity.bound
        name = score_method(bound, rules.method, "same cases", rules.score_replicates)
        self._check(quantity, name)
        duel = _ordered(one, two)
        sign = 1.0 if duel == (one, two) else -1.0
        with engine_errors(self.joined.engine):
            joint = self.joined.scores
        if bound.measure.name in AREAS:
            found = delong_counted(
                joint, duel, lambda place: self._ranking(place, quantity), level=rules.level,
                interval="t" if name == DELONG.name else "mover",
            )  # fmt: skip
            return times(found, sign * AREAS[bound.measure.name])
        sums = joint.losses[bound.measure.name][duel]
        groups = joint.groups
        by_group = None if groups is None else (sign * groups.gaps[bound.measure.name][duel], groups.n)
        moments = MeanMoments.of_sums(sums if sign > 0 else sums.turned(), by_group)
        largest = 1.0 if bound.measure.name == brier.name else np.inf
        hall = name == PAIRED_HALL.name
        return paired_mean_test(
            moments,
            joint.n,
            form="hall" if hall else "t",
            level=rules.level,
            largest=largest,
            grouped=groups is not None,
        )

    def _check(self, quantity: Quantity, name: str) -> None:
        """Refuse what sums over the cases cannot tell."""
        bound = quantity.bound
        if name not in (DELONG.name, DELONG_MOVER.name, PAIRED_LOSS_T.name, PAIRED_HALL.name):
            raise OptionError(
                f"{bound.name} is compared by {name}, which needs the rows, and these were counted where they are.",
                hint=f"{WITHOUT_ROWS}, or {NO_ROWS}.",
            )
        if any(one.scores is not None and one.scores.evidence.per_class for one in self.evaluations):
            raise OptionError(
                f"{bound.name} of scores with a column for each class needs the rows, and these were counted where "
                "they are.",
                hint=f"compare the scores of one class, or {NO_ROWS}.",
            )
        unlikely = [
            own for own, one in self.held.items() if one.scores is not None and one.scores.evidence.not_probability
        ]
        if unlikely and bound.measure.name not in AREAS:
            raise OptionError(
                f"{bound.name} needs probabilities, and the scores of {listing(unlikely)} are none.",
                hint="give probabilities as score (score=, --score), or compare by roc_auc (--measure roc_auc).",
            )

    def _ranking(self, place: int, quantity: Quantity) -> Ranking:
        one = self.evaluations[place]
        return one.ranking(of_own(quantity, one.labels).class_)

    def omnibus(self, quantities: Sequence[Quantity], rules: Rules) -> tuple[Together, ...]:
        """Cochran's Q: whether all of them are right equally often; DeLong's test: whether all areas are the same."""
        made: list[Together] = []
        held = self.joined
        if not self._dependent and not all(is_score(quantity) for quantity in quantities):
            right = np.stack([predicted == held.truth for predicted in held.predicted], axis=1)
            made.append(right_together(right, held.counts, level=rules.level))
        for quantity in quantities:
            if quantity.bound.measure.name not in AREAS:
                continue
            name = f"{quantity.bound.name}[{quantity.class_}]" if quantity.class_ is not None else quantity.bound.name
            made.append(areas_together(counted_areas(held.scores), name, level=rules.level))
        return tuple(made)


@dataclass(frozen=True, eq=False)
class CountedCurves:
    """The ROC curves of contestants of which only counts are known, made when asked for."""

    meeting: CountedCases

    def pair(self, a: str, b: str) -> RocComparison:
        """Two curves on the same cases: refused, since how sure a crossing is comes from resampled rows."""
        raise OptionError(
            f"How {a} and {b} cross is judged by resampling the rows, and these were counted where they are.",
            hint="compare the areas (measure='roc_auc', --measure roc_auc), draw the curve of each by evaluate(), or "
            f"{NO_ROWS}.",
        )

    def ranges(self, prevalence: float | None) -> OptimalRanges:
        """All curves, and in which range of costs each is best."""
        rankings = {name: one.ranking() for name, one in self.meeting.held.items()}
        return optimal_ranges(rankings, prevalence=prevalence, positive=self.meeting.evaluations[0].positive)


def counted_curves(meeting: Meeting) -> CountedCurves | None:
    """The curves, where rows that are not held were scored by all; None for every other meeting."""
    return CountedCurves(meeting) if isinstance(meeting, CountedCases) and meeting.has_curves else None


def counted_meeting(held: dict[str, Elsewhere]) -> CountedCases:
    """Join the cases of all of them where they are."""
    folded = [name for name, one in held.items() if one.counted.folds is not None]
    if folded:
        raise OptionError(
            f"The predictions of {listing(folded)} come in folds, and comparing fold by fold needs their rows.",
            hint=f"leave out fold= (--fold), or {NO_ROWS}.",
        )
    lost = [name for name, one in held.items() if one.in_order and one.counted.lost]
    if lost:
        raise lost_order(lost)
    _check_connections(held)
    sides = [_side(name, one) for name, one in held.items()]
    with engine_errors(_engine(sides)):
        joined = lazy_cases(sides)
    return CountedCases({name: one.evaluation for name, one in held.items()}, joined=joined)


def _check_connections(held: dict[str, Elsewhere]) -> None:
    """Refuse Ibis tables of several connections: one of them would look for the tables of all by their names."""
    met: set[int] = set()
    for one in held.values():
        if str(one.frame.implementation.value) != "ibis":
            continue
        for table in one.frame.to_native().op().find(lambda node: type(node).__name__ in OF_A_CONNECTION):
            met.add(id(table.source))
    if len(met) > 1:
        raise OptionError(
            f"The Ibis tables of {listing(held)} belong to different connections and cannot be joined.",
            hint="read all of them with one connection, or read their rows into memory.",
        )


def _engine(sides: Sequence[LazySide]) -> str:
    return str(sides[0].frame.implementation.value)


def _side(name: str, one: Elsewhere) -> LazySide:
    columns, counted = dict(one.evaluation.source.columns), one.counted
    tally, cut = counted.scores, counted.threshold
    each: tuple[str, ...] = ()
    if tally is not None and tally.per_class:
        each = () if columns.get("predicted") in one.names else _each(name, one, columns["score"])
        tally = None
    probabilities = None if tally is None else tally.probabilities
    losses = None if probabilities is None else (probabilities.brier.mean, probabilities.log_loss.mean)
    return LazySide(
        name,
        one.frame,
        counted.labels,
        counted.n,
        columns["truth"],
        None if cut is not None or each else columns["predicted"],
        None if tally is None else columns["score"],
        ROW if one.in_order else columns.get("id"),
        counted.positive,
        cut,
        None if tally is None else tally.bins[0],
        losses,
        one.in_order,
        columns.get("group"),
        # The evaluation of each has refused ids that stand twice.
        distinct=True,
        each=each,
    )


def _each(name: str, one: Elsewhere, columns: str) -> tuple[str, ...]:
    """The columns of scores in the order of the labels."""
    labels = one.counted.labels
    owners = {class_of(column, labels): column for column in columns.split(", ") if column in one.names}
    if len(labels) > MOST_COLUMNS or not all(label in owners for label in labels):
        raise OptionError(
            f"The answers of {name} are the classes with the highest score, and comparing them needs the rows.",
            hint=f"name a column with the predicted class (predicted=, --predicted), or {NO_ROWS}.",
        )
    return tuple(owners[label] for label in labels)


def _ordered(one: int, two: int) -> tuple[int, int]:
    return min(one, two), max(one, two)
