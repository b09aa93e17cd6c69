"""Contestants whose rows are not held: lazy frames and large files, compared case by case where the rows are."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from heldout.api.design import CompareOptions, PairingDesign, SharedCases, is_score, scale_test, translate_class
from heldout.api.engine_choice import FromFiles, from_files, lazy_frame
from heldout.arguments import listing
from heldout.comparisons.comparison import Alike
from heldout.comparisons.delong import DELONG, DELONG_MOVER, compare_all_areas, counted_areas, delong_counted
from heldout.comparisons.mcnemar import compare_all_accuracies
from heldout.comparisons.optimal_ranges import OptimalRanges, optimal_ranges
from heldout.comparisons.pair_test import OmnibusTest
from heldout.comparisons.paired_losses import PAIRED_HALL, PAIRED_LOSS_T, MeanMoments, paired_mean_test
from heldout.comparisons.paired_scores import AREAS, choose_score_method
from heldout.comparisons.roc_pair import RocComparison
from heldout.engines.clusters.backends import ELSEWHERE
from heldout.engines.clusters.engine_errors import engine_errors
from heldout.engines.lazy.pairs import LazyCases, LazySide, lazy_cases
from heldout.engines.stream.pairs import ROW
from heldout.errors import OptionError
from heldout.evidence import Ranking
from heldout.evidence.counted import Counted
from heldout.evidence.joint_counts import PairCounts
from heldout.evidence.losses import LOSSES
from heldout.files.batches import Batches, batches_of
from heldout.measures.quantity import Quantity
from heldout.predictions.alignment import lost_order
from heldout.predictions.scores import class_of
from heldout.predictions.source import Named
from heldout.results.difference import PairTest
from heldout.results.evaluation import Evaluation

# Contestants whose rows are not held: lazy frames, and files that are too large for memory.


class OpenConnections(ExitStack):
    """What engines have opened for a comparison, to be closed when all is counted."""

    def __init__(self) -> None:
        super().__init__()
        self._first: Any = None

    def lazy(self, path: str | Path, engine: str, master: str | None) -> FromFiles:
        """The lazy frame of a path, in one database with those before where the engine has databases."""
        from heldout.engines.clusters.backends import open_table

        opened = open_table(path, engine, master)
        self.callback(opened.close)
        found = from_files(path, opened)
        if engine != "duckdb":
            return found
        if self._first is None:
            self._first = found.frame
            return found
        # Relations of two connections cannot be joined; this one reads files only, which the first can too.
        return replace(found, frame=self._first.query("heldout_beside", found.frame.sql_query()))


@dataclass(frozen=True, eq=False)
class LazyContestant:
    """A contestant that was counted where its rows are: what it comes to, and the narwhals lazy frame of the rows.

    `in_order` says that cases have no names, and that the frame numbers its rows instead.
    """

    evaluation: Evaluation
    frame: Any
    in_order: bool = False

    @property
    def counted(self) -> Counted:
        """What was counted."""
        if self.evaluation.counted is None:
            message = "a contestant that is elsewhere was counted"
            raise TypeError(message)
        return self.evaluation.counted

    @property
    def names(self) -> list[str]:
        """The columns of the frame."""
        return list(self.frame.collect_schema().names())


@dataclass(frozen=True, eq=False)
class LazySource:
    """Data whose rows are not to be held: what an evaluation of them is given, and how their rows become a frame."""

    given: Any
    frame: Any = None
    batches: Batches | None = None

    def part(self, frame: Any, name: str) -> Any:
        """What an evaluation is given of some of the rows, which are in this narwhals frame."""
        native = frame.to_native()
        if isinstance(self.given, FromFiles):
            return replace(self.given, frame=native)
        # Batches give only the columns that are used, so the files agree in all of them.
        return Named(native, name) if self.batches is None else FromFiles(native, name, notes=self.batches.notes)

    def rows(self, columns: Sequence[str], *, numbered: bool = False) -> Any:
        """The rows as a narwhals lazy frame with at least these columns, and their numbers where they are wanted."""
        import narwhals.stable.v2 as nw

        if self.batches is None:
            return self.frame
        from heldout.engines.stream.pairs import scanned

        return nw.from_native(scanned(self.batches, columns, numbered=numbered))


def find_lazy_source(data: Any, engine: str | None, master: str | None, opened: OpenConnections) -> LazySource | None:
    """The data, where their rows are not to be held; None where they fit in memory."""
    if not isinstance(data, str | Path):
        frame = lazy_frame(data)
        if frame is not None and engine is not None:
            raise OptionError(
                f"A lazy data frame ({type(data).__name__}) brings its own engine, and {engine!r} was named.",
                hint="leave out engine=.",
            )
        return None if frame is None else LazySource(data, frame)
    if _is_evidence(data):
        # Whoever reads it says that no engine is needed.
        return None
    if engine in ELSEWHERE:
        import narwhals.stable.v2 as nw

        found = opened.lazy(data, engine, master)
        return LazySource(found, nw.from_native(found.frame))
    if str(data) == "-":
        return None
    batches = batches_of(data, engine=engine)
    return None if batches is None else LazySource(data, batches=batches)


def _is_evidence(path: str | Path) -> bool:
    from heldout.evidence.storage import is_evidence_file

    return is_evidence_file(path)


def count_lazy(
    found: LazySource, read: Callable[..., Evaluation], columns: dict[str, Any] | None = None
) -> LazyContestant:
    """One contestant with data of its own; without ids the rows of files have an order, those of frames none."""
    evaluation = read(found.given, **(columns or {}))
    used = dict(evaluation.source.columns)
    numbered = "id" not in used and found.batches is not None
    return LazyContestant(evaluation, found.rows(_named(evaluation, found), numbered=numbered), numbered)


def count_lazy_columns(
    found: LazySource, read: Callable[..., Evaluation], columns: Sequence[dict[str, Any]]
) -> list[LazyContestant]:
    """Several contestants in one frame, each with columns of its own; a row that one lacks is left out of all."""
    made = [read(found.given, **own) for own in columns]
    used = list(dict.fromkeys(name for one in made for name in _named(one, found)))
    frame = found.rows(used)
    lost = [0 if one.counted is None else one.counted.lost for one in made]
    if not any(lost):
        return [LazyContestant(one, frame) for one in made]
    from heldout.api.contestants import note_dropped_rows
    from heldout.engines.lazy.pairs import without_gaps

    whole = without_gaps(frame, used)
    again = [
        _with_unused(read(found.part(whole, one.source.name), **own), one)
        for one, own in zip(made, columns, strict=True)
    ]
    n = 0 if made[0].counted is None else made[0].counted.rows
    return [
        LazyContestant(note_dropped_rows(one, n - int(one.confusion.n_cases), n, own), whole)
        for one, own in zip(again, lost, strict=True)
    ]


def _with_unused(evaluation: Evaluation, first: Evaluation) -> Evaluation:
    """An evaluation of columns that are used alone, with what the first one said of those that are not."""
    said = [note for *_, note in first.source.unused if note not in evaluation.notes]
    return replace(evaluation, notes=(*evaluation.notes, *said))


def _named(evaluation: Evaluation, found: LazySource) -> list[str]:
    """The columns that an evaluation read; "score >= 0.5" is none."""
    every = found.frame.collect_schema().names() if found.batches is None else found.batches.names
    return [column for _, column in evaluation.source.columns if column in every]


# Contestants that judged the same cases, compared case by case without holding the rows.


NO_ROWS = "read the rows into memory (engine='memory', --engine memory; a frame: collect it)"
# Of more columns than these the highest is not found by an expression: engines give up on long ones.
MOST_COLUMNS = 50
# What Ibis calls the tables that one connection knows; those in memory go with any.
OF_A_CONNECTION = ("DatabaseTable", "SQLQueryResult")
WITHOUT_ROWS = "compare by roc_auc, gini, brier or log_loss (measure=, --measure) by their usual methods"


@dataclass(frozen=True, eq=False)
class LazyPairedCases(SharedCases):
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

    def _scores(self, one: int, two: int, quantity: Quantity, rules: CompareOptions) -> PairTest:
        bound = quantity.bound
        name = choose_score_method(bound, rules.method, "same cases", rules.score_replicates)
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
            return scale_test(found, sign * AREAS[bound.measure.name])
        sums = joint.losses[bound.measure.name][duel]
        groups = joint.groups
        by_group = None if groups is None else (sign * groups.gaps[bound.measure.name][duel], groups.n)
        moments = MeanMoments.of_sums(sums if sign > 0 else sums.turned(), by_group)
        largest = LOSSES[bound.measure.name].largest(2)
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
        return one.ranking(translate_class(quantity, one.labels).class_)

    def omnibus(self, quantities: Sequence[Quantity], rules: CompareOptions) -> tuple[OmnibusTest, ...]:
        """Cochran's Q: whether all of them are right equally often; DeLong's test: whether all areas are the same."""
        made: list[OmnibusTest] = []
        held = self.joined
        if not self._dependent and not all(is_score(quantity) for quantity in quantities):
            right = np.stack([predicted == held.truth for predicted in held.predicted], axis=1)
            made.append(compare_all_accuracies(right, held.counts, level=rules.level))
        for quantity in quantities:
            if quantity.bound.measure.name not in AREAS:
                continue
            name = f"{quantity.bound.name}[{quantity.class_}]" if quantity.class_ is not None else quantity.bound.name
            made.append(compare_all_areas(counted_areas(held.scores), name, level=rules.level))
        return tuple(made)


@dataclass(frozen=True, eq=False)
class LazyRocCurves:
    """The ROC curves of contestants of which only counts are known, made when asked for."""

    meeting: LazyPairedCases

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


def lazy_curves(meeting: PairingDesign) -> LazyRocCurves | None:
    """The curves, where rows that are not held were scored by all; None for every other meeting."""
    return LazyRocCurves(meeting) if isinstance(meeting, LazyPairedCases) and meeting.has_curves else None


def join_lazy_cases(held: dict[str, LazyContestant]) -> LazyPairedCases:
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
    return LazyPairedCases({name: one.evaluation for name, one in held.items()}, joined=joined)


def _check_connections(held: dict[str, LazyContestant]) -> None:
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


def _side(name: str, one: LazyContestant) -> LazySide:
    columns, counted = dict(one.evaluation.source.columns), one.counted
    tally, cut = counted.scores, counted.threshold
    each: tuple[str, ...] = ()
    if tally is not None and tally.per_class:
        each = () if columns.get("predicted") in one.names else _each(name, one, columns["score"])
        tally = None
    probabilities = None if tally is None else tally.probabilities
    losses = None if probabilities is None else {name: own.mean for name, own in probabilities.losses.items()}
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


def _each(name: str, one: LazyContestant, columns: str) -> tuple[str, ...]:
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
