"""The same cases in lazy frames and large files: joined and counted by a lazy engine, without reading the rows."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from heldout.arguments import listing, require
from heldout.arrays import Codes
from heldout.comparisons.comparison import Alike, Curves
from heldout.comparisons.delong import DELONG, DELONG_MOVER, Areas, counted_areas, delong_counted
from heldout.comparisons.optimal_ranges import OptimalRanges, optimal_ranges
from heldout.comparisons.pair_test import scale_test
from heldout.comparisons.paired_losses import PAIRED_HALL, PAIRED_LOSS_T, MeanMoments, paired_mean_test
from heldout.comparisons.paired_scores import AREAS, choose_score_method, translate_class
from heldout.comparisons.pairing_design import CompareOptions
from heldout.comparisons.roc_pair import RocComparison
from heldout.comparisons.same_cases import SharedCases
from heldout.engines.engine_errors import engine_errors
from heldout.errors import OptionError
from heldout.evidence import Ranking
from heldout.evidence.counted import Counted
from heldout.evidence.joint_counts import PairCounts
from heldout.evidence.losses import LOSSES
from heldout.files.batches import ROW
from heldout.intervals.estimate import PairTest
from heldout.measures.quantity import Quantity
from heldout.predictions.alignment import lost_order
from heldout.predictions.score_columns import class_of
from heldout.results.evaluation import Evaluation

if TYPE_CHECKING:
    from heldout.engines.lazy.pairs import LazyCases, LazySide


@dataclass(frozen=True, eq=False)
class LazyContestant:
    """A contestant that a lazy engine counted: its evaluation, and the narwhals lazy frame of the rows.

    `in_order` says that cases have no ids, and that the frame numbers its rows instead.
    """

    evaluation: Evaluation
    frame: Any
    in_order: bool = False

    @property
    def counted(self) -> Counted:
        """The counts behind the evaluation."""
        return require(self.evaluation.counted, "a lazy contestant has counts")

    @property
    def names(self) -> list[str]:
        """The columns of the frame."""
        return list(self.frame.collect_schema().names())


NO_ROWS = "read the rows into memory (engine='memory', --engine memory; a frame: collect it)"
# Engines give up on the expression for the highest of more columns than these.
MOST_COLUMNS = 50
# Ibis tables that belong to one connection; those in memory go with any.
OF_A_CONNECTION = ("DatabaseTable", "SQLQueryResult")
WITHOUT_ROWS = "compare by roc_auc, gini, brier or log_loss (measures=, --measure) by their usual methods"


@dataclass(frozen=True, eq=False)
class LazyPairedCases(SharedCases):
    """All contestants judged the same cases, which a lazy engine joined and counted."""

    in_memory: ClassVar[bool] = False

    joined: LazyCases = field(kw_only=True)

    @property
    def cases(self) -> LazyCases:
        """The matched cases."""
        return self.joined

    def _count(self, a: int, b: int) -> PairCounts:
        return self.joined.pairs(a, b)

    @property
    def _dependent(self) -> bool:
        return any(own.confusion.clusters is not None for own in self.evaluations)

    def _test_dependent(self, a: int, b: int, quantity: Quantity, options: CompareOptions) -> PairTest:  # noqa: ARG002 - one signature
        raise OptionError(
            f"{quantity.bound.name} of cases that come in groups is compared by their rows, and these were counted "
            "where they are.",
            hint=f"{WITHOUT_ROWS}, or {NO_ROWS}.",
        )

    def identical(self, a: int, b: int, quantity: Quantity) -> Alike:
        """Whether the joint counts show two contestants alike in every case."""
        if not quantity.is_score:
            return "" if self.counts(a, b).differ else "answers"
        return "" if self.joined.scores.apart[_ordered(a, b)] else "scores"

    def _test_scores(self, a: int, b: int, quantity: Quantity, options: CompareOptions) -> PairTest:
        bound = quantity.bound
        name = choose_score_method(bound, options.method, "same cases", options.score_replicates)
        self._check_method(quantity, name)
        pair = _ordered(a, b)
        sign = 1.0 if pair == (a, b) else -1.0
        with engine_errors(self.joined.engine):
            joint = self.joined.scores
        if bound.measure.name in AREAS:
            test = delong_counted(
                joint, pair, lambda index: self._ranking(index, quantity), level=options.level,
                interval="t" if name == DELONG.name else "mover",
            )  # fmt: skip
            return scale_test(test, sign * AREAS[bound.measure.name])
        sums = joint.losses[bound.measure.name][pair]
        groups = joint.groups
        by_group = None if groups is None else (sign * groups.gaps[bound.measure.name][pair], groups.n)
        moments = MeanMoments.from_sums(sums if sign > 0 else sums.turned(), by_group)
        largest = LOSSES[bound.measure.name].largest(2)
        return paired_mean_test(
            moments,
            joint.n,
            form="hall" if name == PAIRED_HALL.name else "t",
            level=options.level,
            largest=largest,
            grouped=groups is not None,
        )

    def _check_method(self, quantity: Quantity, name: str) -> None:
        """Refuse methods and scores that sums over the cases do not suffice for."""
        bound = quantity.bound
        if name not in (DELONG.name, DELONG_MOVER.name, PAIRED_LOSS_T.name, PAIRED_HALL.name):
            raise OptionError(
                f"{bound.name} is compared by {name}, which needs the rows, and these were counted where they are.",
                hint=f"{WITHOUT_ROWS}, or {NO_ROWS}.",
            )
        if any(own.scores is not None and own.scores.evidence.per_class for own in self.evaluations):
            raise OptionError(
                f"{bound.name} of scores with a column for each class needs the rows, and these were counted where "
                "they are.",
                hint=f"compare the scores of one class, or {NO_ROWS}.",
            )
        not_probabilities = [
            label
            for label, own in self.by_name.items()
            if own.scores is not None and own.scores.evidence.not_probability
        ]
        if not_probabilities and bound.measure.name not in AREAS:
            raise OptionError(
                f"{bound.name} needs probabilities, and the scores of {listing(not_probabilities)} are none.",
                hint="give probabilities as score (score=, --score), or compare by roc_auc (--measure roc_auc).",
            )

    def _ranking(self, index: int, quantity: Quantity) -> Ranking:
        own = self.evaluations[index]
        return own.ranking(translate_class(quantity, own.labels).class_)

    def _right(self) -> tuple[NDArray[np.bool_], Codes | None]:
        cases = self.joined
        return np.stack([predicted == cases.truth for predicted in cases.predicted], axis=1), cases.counts

    def _areas_by(self, quantity: Quantity) -> Areas | None:  # noqa: ARG002 - one signature
        return counted_areas(self.joined.scores)

    def curves(self, options: CompareOptions) -> LazyRocCurves | None:  # noqa: ARG002 - one signature
        """The ROC curves from counts, where all contestants scored two classes."""
        return LazyRocCurves(self) if self.has_curves else None


@dataclass(frozen=True, eq=False)
class LazyRocCurves(Curves):
    """The ROC curves of lazy contestants, made from their counts when asked for."""

    design: LazyPairedCases

    def pair(self, a: str, b: str) -> RocComparison:
        """Refused: how sure a crossing of two curves is takes resampled rows."""
        raise OptionError(
            f"How {a} and {b} cross is judged by resampling the rows, and these were counted where they are.",
            hint="compare the areas (measures='roc_auc', --measure roc_auc), draw the curve of each by evaluate(), or "
            f"{NO_ROWS}.",
        )

    def ranges(self, prevalence: float | None) -> OptimalRanges:
        """All counted curves, and in which range of costs each is best."""
        rankings = {name: evaluation.ranking() for name, evaluation in self.design.by_name.items()}
        return optimal_ranges(rankings, prevalence=prevalence, positive=self.design.evaluations[0].positive)


def join_lazy_cases(contestants: dict[str, LazyContestant]) -> LazyPairedCases:
    """Join the cases of all contestants by their engine."""
    folded = [name for name, own in contestants.items() if own.counted.folds is not None]
    if folded:
        raise OptionError(
            f"The predictions of {listing(folded)} come in folds, and comparing fold by fold needs their rows.",
            hint=f"leave out fold= (--fold), or {NO_ROWS}.",
        )
    weighted = [name for name, own in contestants.items() if own.evaluation.confusion.weighted]
    if weighted:
        raise OptionError(
            f"The cases of {listing(weighted)} have weights, and comparing weighted cases needs their rows.",
            hint=f"leave out weight= (--weight), or {NO_ROWS}.",
        )
    lost = [name for name, own in contestants.items() if own.in_order and own.counted.lost]
    if lost:
        raise lost_order(lost)
    from heldout.engines.lazy.pairs import lazy_cases

    _check_connections(contestants)
    sides = [_lazy_side(name, own) for name, own in contestants.items()]
    with engine_errors(str(sides[0].frame.implementation.value)):
        joined = lazy_cases(sides)
    return LazyPairedCases({name: own.evaluation for name, own in contestants.items()}, joined=joined)


def _check_connections(contestants: dict[str, LazyContestant]) -> None:
    """Refuse Ibis tables of several connections: one of them would look for the tables of all by their names."""
    connections: set[int] = set()
    for own in contestants.values():
        if str(own.frame.implementation.value) != "ibis":
            continue
        for table in own.frame.to_native().op().find(lambda node: type(node).__name__ in OF_A_CONNECTION):
            connections.add(id(table.source))
    if len(connections) > 1:
        raise OptionError(
            f"The Ibis tables of {listing(contestants)} belong to different connections and cannot be joined.",
            hint="read all of them with one connection, or read their rows into memory.",
        )


def _lazy_side(name: str, contestant: LazyContestant) -> LazySide:
    from heldout.engines.lazy.pairs import LazySide

    columns, counted = dict(contestant.evaluation.source.columns), contestant.counted
    tally, cut = counted.scores, counted.threshold
    score_columns: tuple[str, ...] = ()
    if tally is not None and tally.per_class:
        score_columns = (
            () if columns.get("predicted") in contestant.names else _score_columns(name, contestant, columns["score"])
        )
        tally = None
    probabilities = None if tally is None else tally.probabilities
    losses = None if probabilities is None else {name: own.mean for name, own in probabilities.losses.items()}
    return LazySide(
        name,
        contestant.frame,
        counted.labels,
        counted.n,
        columns["truth"],
        None if cut is not None or score_columns else columns["predicted"],
        None if tally is None else columns["score"],
        ROW if contestant.in_order else columns.get("id"),
        counted.positive,
        cut,
        None if tally is None else tally.bins[0],
        losses,
        contestant.in_order,
        columns.get("group"),
        each=score_columns,
    )


def _score_columns(name: str, contestant: LazyContestant, columns: str) -> tuple[str, ...]:
    """The columns of scores in the order of the labels."""
    labels = contestant.counted.labels
    owners = {class_of(column, labels): column for column in columns.split(", ") if column in contestant.names}
    if len(labels) > MOST_COLUMNS or not all(label in owners for label in labels):
        raise OptionError(
            f"The predictions of {name} are the classes with the highest score, and comparing them needs the rows.",
            hint=f"name a column with the predicted class (predicted=, --predicted), or {NO_ROWS}.",
        )
    return tuple(owners[label] for label in labels)


def _ordered(a: int, b: int) -> tuple[int, int]:
    return min(a, b), max(a, b)
