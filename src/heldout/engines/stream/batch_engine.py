"""The engine for tables that are read in batches; such a table may also be joined as a lazy frame of Polars."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import TYPE_CHECKING, Any

import numpy as np

from heldout.engines.bins import BinCounter
from heldout.engines.compiled import is_worth_it
from heldout.engines.memory import MOST_PAIRED, most_bins, refuse_copies, refuse_repeated
from heldout.engines.probability_sums import tally, tally_classes
from heldout.engines.refinement import Recount, refine
from heldout.engines.score_ladder import ScoreLadder
from heldout.engines.stream.batch_columns import (
    StreamRoles,
    ValueFaults,
    check_numbers,
    check_unchanged,
    classes_met,
    pairs_met,
    present,
    settled,
    slice_plans,
    stream_roles,
    with_scores,
)
from heldout.engines.stream.rows import LabelledScores, RowReader
from heldout.engines.stream.two_classes import SCORE, BatchSums, SurpriseError, TwoClasses
from heldout.errors import HeldoutError, OptionError, ValuesError
from heldout.evidence import Label
from heldout.evidence.counted import Counted, ScoreTally, class_columns, sided, weightless_note
from heldout.evidence.probabilities import Probabilities, Unfit
from heldout.evidence.score_bins import MOST, ScoreBins
from heldout.files.batches import Batches
from heldout.predictions.case_values import ROUNDED, TAKEN_AS_SCORES, Confidences, refuse_confidences, weights
from heldout.predictions.score_columns import class_of
from heldout.predictions.source import ReadOptions, Source, idle_columns, named_roles
from heldout.predictions.table import CHECK_COLUMNS, Predictions
from heldout.threads import share_in_turn

if TYPE_CHECKING:
    import polars as pl


# What the number of a row is called where cases have no name.
ROW = "row number"


def scan_batches(batches: Batches, columns: Sequence[str], *, numbered: bool = False) -> Any:
    r"""These columns as a lazy frame; where it is `numbered`, with the number of each row.

    >>> import pathlib, tempfile
    >>> from heldout.files.batches import batches_of
    >>> folder = tempfile.TemporaryDirectory()
    >>> _ = pathlib.Path(folder.name, "part.csv").write_text("truth,predicted\nyes,no\nno,no\n")
    >>> scan_batches(batches_of(folder.name), ["predicted"], numbered=True).collect().rows()
    [(0, 'no'), (1, 'no')]
    >>> folder.cleanup()
    """
    from polars.io.plugins import register_io_source

    wanted = list(dict.fromkeys(columns))

    def read(
        with_columns: list[str] | None, predicate: pl.Expr | None, n_rows: int | None, batch_size: int | None
    ) -> Iterator[pl.DataFrame]:
        del batch_size
        # A condition may look at columns that are not asked for; a source without columns would have no rows.
        read_columns = wanted if predicate is not None or not with_columns else with_columns
        for frame in batches.frames(read_columns):
            part = frame.select(read_columns)
            if predicate is not None:
                part = part.filter(predicate)
            if n_rows is not None:
                part, n_rows = part.head(n_rows), n_rows - min(n_rows, len(part))
            yield part if with_columns is None else part.select(with_columns)
            if n_rows == 0:
                break

    kinds = batches.kinds(wanted)
    frame = register_io_source(read, schema={column: kinds[column] for column in wanted})
    return frame.with_row_index(ROW) if numbered else frame


# Of every id eight bytes are kept, and twice that when they are put together at the end.
MOST_IDS = 250_000_000


def check_ids(batches: Batches, roles: StreamRoles) -> None:
    """Refuse ids that stand in several rows: counts do not tell which predictions are of one case."""
    import polars as pl

    column = roles.wanted["id"]
    hashes: list[np.ndarray[tuple[int], np.dtype[np.uint64]]] = []
    rows = 0
    for frame in batches.frames([column]):
        rows += len(frame)
        if rows > MOST_IDS:
            raise OptionError(
                f"There are more than {MOST_IDS:,} rows, too many to see whether an id stands twice.",
                hint="leave out id= (--id), if every row is a case.",
            )
        hashes.append(frame.get_column(column).drop_nulls().hash().to_numpy())
    all_hashes = np.concatenate(hashes) if hashes else np.empty(0, dtype=np.uint64)
    all_hashes.sort()
    again = np.unique(all_hashes[1:][all_hashes[1:] == all_hashes[:-1]])
    if not len(again):
        return
    suspects = pl.Series(again)
    repeated: pl.DataFrame | None = None
    for frame in batches.frames([column]):
        values = frame.get_column(column).drop_nulls()
        here = values.filter(values.hash().is_in(suspects)).alias("id").to_frame().group_by("id").len("times")
        repeated = here if repeated is None else pl.concat([repeated, here])
    if repeated is None:
        return
    # Different ids may share a hash; only those that stand twice themselves count.
    twice = repeated.group_by("id").agg(pl.col("times").sum()).filter(pl.col("times") > 1).sort("id")
    if not len(twice):
        return
    name, times = twice.row(0)
    if "fold" in roles.wanted:
        raise refuse_repeated(name, times, ": engine='memory' (--engine memory)")
    raise refuse_copies(name, times, len(twice))


@dataclass(frozen=True)
class ScoreKind:
    """What scores are: one for each of these labels, or one for the positive class where there are none."""

    labels: tuple[Label, ...]
    weighted: bool

    def counters(self) -> Sequence[BinCounter | ScoreLadder]:
        """What counts such scores, for every class or for one."""
        k = len(self.labels)
        if k:
            return [BinCounter(class_columns(k), most_bins(k), self.weighted) for _ in range(k)]
        return [BinCounter(2, MOST, weighted=True) if self.weighted else ScoreLadder(MOST)]


class Tallies:
    """Counts the scores of all rows, and those of each fold by itself.

    >>> import numpy as np
    >>> tallies = Tallies(ScoreKind((), weighted=False))
    >>> tallies.add(LabelledScores(np.array([0.5, 0.2]), np.array([True, False]), probable=True))
    >>> made, folds = tallies.made((), None)
    >>> made.bins[0].low, made.probabilities.n, folds
    (array([0.2, 0.5]), 2, ())
    """

    def __init__(self, kind: ScoreKind) -> None:
        self._kind = kind
        self._whole = _TallyCounter(kind)
        self._folds: dict[Any, _TallyCounter] = {}

    def add(self, scored: LabelledScores) -> None:
        """Count one more batch."""
        self._whole.add(scored)
        for key, rows in scored.folds().items():
            if key not in self._folds:
                self._folds[key] = _TallyCounter(self._kind)
            self._folds[key].add(rows)

    def made(self, folds: Sequence[Any], why: Unfit | None) -> tuple[ScoreTally, tuple[ScoreTally, ...]]:
        """The tally of all rows and those of the folds with these keys; `why` says why they are no probabilities."""
        return self._whole.tally(why), tuple(self._folds[key].tally(why) for key in folds)


class _TallyCounter:
    def __init__(self, kind: ScoreKind) -> None:
        self._kind = kind
        self._counters = kind.counters()
        self._losses: Probabilities | None = None

    def add(self, scored: LabelledScores) -> None:
        k = len(self._kind.labels)
        for index, counter in enumerate(self._counters):
            values = scored.scores[:, index] if k else scored.scores
            if isinstance(counter, ScoreLadder):
                counter.add(values, scored.codes)
            else:
                counter.add(values, sided(scored.codes, index, k) if k else scored.codes, scored.weight)
        if not scored.probable:
            return
        if k:
            losses = tally_classes(scored.scores, scored.codes, scored.weight, n_classes=k)
        else:
            losses = tally(scored.scores, scored.codes, scored.weight)
        self._losses = losses if self._losses is None else self._losses + losses

    def tally(self, why: Unfit | None) -> ScoreTally:
        return ScoreTally(self._bins(), self._losses if why is None else None, why, self._kind.labels)

    def _bins(self) -> tuple[ScoreBins, ...]:
        return tuple(counter.bins() for counter in self._counters)


def refined(
    tally: ScoreTally,
    scored: Callable[[pl.DataFrame], LabelledScores | None],
    frames: Callable[[], Iterable[pl.DataFrame]],
    *,
    tolerance: float | None,
    passes: int,
) -> ScoreTally:
    """The same scores in finer bins where that makes areas more certain, by further passes over the rows.

    The scores were read once; `passes` is how often they may be read in all. `frames` begins to read again, and
    `scored` tells of a batch which of its rows count.
    """
    (tally_refined,) = refined_parts([tally], (), scored, frames, tolerance=tolerance, passes=passes)
    return tally_refined


def refined_parts(
    tallies: Sequence[ScoreTally],
    folds: Sequence[Any],
    scored: Callable[[pl.DataFrame], LabelledScores | None],
    frames: Callable[[], Iterable[pl.DataFrame]],
    *,
    tolerance: float | None,
    passes: int,
) -> tuple[ScoreTally, ...]:
    """The tally of all rows and those of the folds with these keys, all by the same further passes over the rows."""
    refined_tallies = tuple(tallies)
    for _ in range(passes - 1):
        again = [_RefiningPass(tally, tolerance) for tally in refined_tallies]
        if not any(again):
            break
        for frame in frames():
            rows = scored(frame)
            if rows is None:
                continue
            parts = rows.folds() if any(again[1:]) else {}
            for refining, part in zip(again, (rows, *map(parts.get, folds)), strict=True):
                if refining:
                    refining.add(part)
        refined_tallies = tuple(refining.put() for refining in again)
    return refined_tallies


class _RefiningPass:
    """One more reading of the scores of a tally: true where some of its bins are to be looked into."""

    def __init__(self, tally: ScoreTally, tolerance: float | None) -> None:
        self._tally = tally
        places = [tally.place(at) for at in range(len(tally.bins))]
        asked = [refine(bins, tolerance, place=at) for bins, at in zip(tally.bins, places, strict=True)]
        self._recounts: list[Recount | None] = [
            refinement.recount() if len(refinement) else None for refinement in asked
        ]

    def __bool__(self) -> bool:
        return any(recount is not None for recount in self._recounts)

    def add(self, rows: LabelledScores | None) -> None:
        if rows is None:
            return
        for at, recount in enumerate(self._recounts):
            if recount is not None:
                values = rows.scores[:, at] if self._tally.per_class else rows.scores
                codes = sided(rows.codes, at, len(self._tally.bins)) if self._tally.per_class else rows.codes
                recount.add(values, codes, rows.weight, rows.group)

    def put(self) -> ScoreTally:
        recounted = zip(self._recounts, self._tally.bins, strict=True)
        return replace(self._tally, bins=tuple(bins if again is None else again.put(bins) for again, bins in recounted))


# The number of rows by which the classes are guessed.
FIRST = 1 << 16
# The first rows show whether distinct scores are too many to keep: this many times the number that can be kept.
FIRST_ROWS = 1.5


def count_stream(
    batches: Batches, roles: Mapping[str, Any], asked: ReadOptions, *, tolerance: float | None = None, passes: int = 3
) -> tuple[Counted, Source]:
    """Everything that is counted of a table, and which columns were read; only one batch at a time is held.

    Scores are read again, in at most so many `passes` in all, until areas under curves are certain to `tolerance`;
    without one, to a twentieth of their standard error.
    """
    chosen = stream_roles(batches, roles, asked)
    quick = _quickly(batches, chosen, asked, tolerance, passes)
    if quick is None:
        counted, source = _thoroughly(batches, chosen, asked, tolerance, passes)
        return _judge_confidences(batches, counted, source), source
    counted = _judge_confidences(batches, *quick)
    # Two classes are counted in one reading, so nothing but the number of rows can differ.
    check_unchanged(counted, batches, parts=False)
    return counted, quick[1]


def _judge_confidences(batches: Batches, counted: Counted, source: Source) -> Counted:
    """Refuse scores of the predicted class, whichever it is, told from the first rows where no score is below half.

    Where they may be such, that is said.
    """
    import polars as pl

    scores, columns = counted.scores, dict(source.columns)
    if scores is None or scores.per_class or counted.threshold is not None or "predicted" not in columns:
        return counted
    named = class_of(columns["score"], counted.labels) is not None
    if named or counted.positive is None or scores.bins[0].least < 0.5 - ROUNDED:
        return counted
    for frame in batches.first([columns["predicted"], columns["score"]], FIRST):
        rows = frame.drop_nulls()
        called = rows.get_column(columns["predicted"]).cast(pl.String) == str(counted.positive)
        if Confidences.of(weights(rows.get_column(columns["score"])), called.to_numpy()) is not None:
            raise refuse_confidences(columns["score"])
    both = all(counted.confusion.matrix.sum(axis=0) > 0) and scores.bins[0].greatest <= 1 + ROUNDED
    return replace(counted, notes=(*counted.notes, TAKEN_AS_SCORES)) if both else counted


def _quickly(
    batches: Batches, roles: StreamRoles, asked: ReadOptions, tolerance: float | None, passes: int
) -> tuple[Counted, Source] | None:
    """Two classes and one score, told from the first batch; None where that is not all there is to it."""
    if roles.slices or not set(roles.wanted) <= {"truth", "predicted"} or asked.against_rest:
        return None
    try:
        with batches.trusting():
            columns = list(dict.fromkeys([*roles.wanted.values(), *roles.scores, *roles.free]))
            first = batches.first(columns, FIRST)
            scored_roles = with_scores(batches, roles, asked, _classes(first, roles))
            check_numbers(batches, scored_roles)
            pairs = pairs_met(first, scored_roles, present(batches, scored_roles))
            notes = _first_notes(scored_roles, ())
            like = settled(pairs, scored_roles, asked, notes)
            if not TwoClasses.fits(scored_roles, like):
                return None
            counting = TwoClasses(scored_roles, like, pairs, compiled=is_worth_it(batches.rows))
            counter = ScoreLadder(MOST)
            sums = _summed(counting, counter, batches.frames(scored_roles.every(), counting.expressions()))
    except (HeldoutError, SurpriseError):
        # What is wrong is said of the whole, not of the first rows.
        return None
    if sums is None:
        return None
    seen = sums.seen()
    if seen.infinite and "score" in scored_roles.guessed and not scored_roles.makes_predicted:
        # A guess must not stop an evaluation that does not need it.
        return None
    seen.check_scores(batches, natural=scored_roles.makes_predicted and asked.threshold is None)
    why = seen.unfit(1)
    tally = ScoreTally((counter.bins(),), sums.probabilities if why is None else None, why)
    made_of = [scored_roles.wanted["truth"], scored_roles.scores[0]]
    again = [expression for expression in counting.expressions() if expression.meta.output_name() in ("truth", "score")]
    tally = refined(tally, counting.scored, lambda: batches.frames(made_of, again), tolerance=tolerance, passes=passes)
    counted = Counted(
        counting.confusion(sums),
        positive=like.positive,
        threshold=like.threshold,
        scores=tally,
        rows=seen.rows,
        declared=like.keep_labels,
        notes=(*batches.notes, *like.notes),
        joined_types=like.joined_types,
    )
    return counted, _source(batches, scored_roles, like, ())


def _thoroughly(
    batches: Batches, given: StreamRoles, asked: ReadOptions, tolerance: float | None, passes: int
) -> tuple[Counted, Source]:
    """Any table: its labels first, then how slices divide it, then the counts."""
    needs_classes = bool(given.free) and not asked.labels
    labels = _classes(batches.frames([given.wanted["truth"]]), given) if needs_classes else ()
    roles = with_scores(batches, given, asked, labels)
    check_numbers(batches, roles)
    plans, slice_notes = slice_plans(batches, roles.slices, asked.slices, roles.wanted.get("weight"))
    sliced = tuple(plan.name for plan in plans)
    roles = replace(roles, slices=sliced)
    if "id" in roles.wanted:
        check_ids(batches, roles)
    columns = list(dict.fromkeys([*roles.wanted.values(), *roles.scores]))
    pairs = pairs_met(batches.frames(columns), roles, present(batches, roles))
    if not len(pairs):
        _refuse_all(batches, roles, asked)
    notes = [*_first_notes(roles, sliced), *slice_notes]
    like = settled(pairs, roles, asked, notes)
    combined = len(plans) * (len(plans) - 1) // 2
    pairwise = combined * (batches.rows or 0) <= MOST_PAIRED
    reader = RowReader(roles, like, pairs, plans, pairwise=pairwise)
    guess = "score" in roles.guessed and not roles.makes_predicted and asked.missing != "drop"
    whole, seen = _pieces(batches, reader, guess=guess)
    if whole is None or (guess and seen.no_score):
        # A guess must not stop an evaluation that does not need it.
        without = replace(given, free=(), note=seen.unused(roles.scores, batches))
        return _thoroughly(batches, without, asked, tolerance, passes)
    seen.check_missing(batches, asked.missing)
    if "weight" in roles.wanted:
        seen.check_weight(batches)
    if roles.scores:
        seen.check_scores(batches, natural=roles.makes_predicted and asked.threshold is None and len(like.labels) == 2)
    if whole.scores is not None:
        keys = () if whole.folds is None else tuple(whole.folds.keys.tolist())
        scores, *folds = refined_parts(
            (whole.scores, *whole.fold_scores),
            keys,
            reader.scored,
            lambda: batches.frames(roles.every()),
            tolerance=tolerance,
            passes=passes,
        )
        whole = replace(whole, scores=scores, fold_scores=tuple(folds))
    counted = replace(
        whole,
        positive=like.positive,
        threshold=like.threshold if roles.scores else None,
        rows=seen.rows,
        lost=seen.lost,
        missing=seen.in_order(),
        declared=like.keep_labels,
        notes=(*batches.notes, *like.notes, *([weightless_note(seen.weightless)] if seen.weightless else [])),
        joined_types=like.joined_types,
    )
    check_unchanged(counted, batches, weightless=seen.weightless)
    return counted, _source(batches, roles, like, sliced)


def _pieces(batches: Batches, reader: RowReader, *, guess: bool) -> tuple[Counted | None, ValueFaults]:
    """The counts of all batches, and what was met; with a `guess` that is no score in some row there may be none."""
    roles, like = reader.roles, reader.like
    per_class = like.scores is not None and like.scores.per_class
    tallies = Tallies(ScoreKind(like.labels if per_class else (), weighted="weight" in roles.wanted))
    whole: Counted | None = None
    seen = ValueFaults()
    for start, frame in _numbered(batches.frames(roles.every())):
        piece = reader.piece(frame, start)
        seen += piece.seen
        if piece.scored is not None:
            tallies.add(piece.scored)
        if piece.counted is not None:
            whole = piece.counted if whole is None else whole + piece.counted
    if whole is None and guess and seen.no_score:
        return None, seen
    if whole is None:
        if "weight" in roles.wanted:
            seen.check_weight(batches)
        seen.check_scores(batches, natural=False)
        seen.check_missing(batches, "drop" if seen.lost == seen.rows else "refuse")
        raise ValuesError("There are no cases: no row could be counted.", hint=CHECK_COLUMNS)
    if not roles.scores:
        return whole, seen
    why = seen.unfit(max(1, len(roles.scores)))
    if not reader.apart:
        scores, folds = tallies.made(() if whole.folds is None else whole.folds.keys.tolist(), why)
        return replace(whole, scores=scores, fold_scores=folds), seen
    if why is not None and whole.scores is not None:
        folds = tuple(tally.without_probabilities(why) for tally in whole.fold_scores)
        whole = replace(whole, scores=whole.scores.without_probabilities(why), fold_scores=folds)
    return whole, seen


def _numbered(frames: Iterable[pl.DataFrame]) -> Iterator[tuple[int, pl.DataFrame]]:
    """Every batch with the place of its first row in the whole."""
    start = 0
    for frame in frames:
        yield start, frame
        start += len(frame)


def _summed(counting: TwoClasses, counter: ScoreLadder, frames: Iterator[pl.DataFrame]) -> BatchSums | None:
    """What all batches add up to, counted by all threads and added in the order of the batches."""
    first: list[pl.DataFrame] = []
    for frame in frames:
        first.append(frame.rechunk())
        if sum(map(len, first)) > FIRST_ROWS * MOST:
            break
    counter.look([part.get_column(SCORE).to_numpy() for part in first])
    whole: BatchSums | None = None
    for piece in share_in_turn(lambda frame: counting.sums(frame, counter), chain(first, frames)):
        counter.reach(piece.low, piece.high)
        counter.settle([piece.aside])
        whole = replace(piece, aside=None) if whole is None else whole + piece
    return whole


def _classes(frames: Iterable[pl.DataFrame], roles: StreamRoles) -> tuple[Any, ...]:
    return classes_met(frames, roles.wanted["truth"], roles.called["truth"])


def _first_notes(roles: StreamRoles, sliced: Sequence[str]) -> list[str]:
    """What is said of columns that were not used."""
    idle = idle_columns(roles.columns, list(roles.wanted), sliced)
    return [note for *_, note in idle] + ([roles.note] if roles.note else [])


def _source(batches: Batches, roles: StreamRoles, like: Predictions, sliced: Sequence[str]) -> Source:
    named = named_roles(dict(roles.wanted), roles.scores, like, made=roles.makes_predicted)
    idle = idle_columns(roles.columns, list(roles.wanted), sliced)
    return Source(batches.name, tuple(named), roles.guessed, (), tuple(idle))


def _refuse_all(batches: Batches, roles: StreamRoles, asked: ReadOptions) -> None:
    """Every row lacks something: say what."""
    import polars as pl

    kinds = batches.kinds(list(dict.fromkeys([*roles.wanted.values(), *roles.scores])))

    def absent(name: str) -> pl.Expr:
        column = pl.col(name)
        return column.is_null() | column.is_nan() if kinds[name].is_float() else column.is_null()

    parts = {role: absent(name) for role, name in roles.wanted.items()}
    if roles.scores:
        parts["score"] = pl.any_horizontal([absent(name) for name in roles.scores])
    seen = ValueFaults()
    weight = roles.wanted.get("weight")
    for whole in batches.frames(list(kinds)):
        frame = whole.filter(pl.col(weight).is_null() | (pl.col(weight) != 0)) if weight else whole
        gaps = frame.select(expression.sum().alias(role) for role, expression in parts.items()).row(0, named=True)
        seen += ValueFaults(
            rows=len(frame), lost=len(frame), missing={r: int(n) for r, n in gaps.items() if n}, first_lost=0
        )
    if not seen.rows and weight:
        # No row but those of weight 0.
        seen.check_weight(batches)
    seen.check_missing(batches, asked.missing)
