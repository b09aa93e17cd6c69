"""The engine for tables that are read in batches; such a table may also be joined as a lazy frame of Polars."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain, islice
from typing import Any

import numpy as np
import polars as pl

from heldout.engines.compiled import is_worth_it
from heldout.engines.memory import MOST_PAIRED, refuse_copies, refuse_repeated
from heldout.engines.score_tallies import Jobs, ScoreKind, Tallies, refine_tallies
from heldout.engines.stream.batch_columns import (
    StreamRoles,
    ValueFaults,
    absent,
    check_numbers,
    check_unchanged,
    combinations_met,
    present,
    settled,
    slice_plans,
    stream_roles,
    with_scores,
)
from heldout.engines.stream.rows import RowReader
from heldout.errors import HeldoutError, OptionError, ValuesError
from heldout.evidence.counted import Counted, weightless_note
from heldout.files.batches import Batches
from heldout.predictions.case_values import ROUNDED, TAKEN_AS_SCORES, Confidences, refuse_confidences, weights
from heldout.predictions.label_encoding import encode
from heldout.predictions.score_columns import class_of
from heldout.predictions.source import ReadOptions, Source
from heldout.predictions.table import CHECK_COLUMNS
from heldout.threads import share_in_turn

# Of every id eight bytes are kept, and twice that when they are put together at the end.
MOST_IDS = 250_000_000


def check_ids(batches: Batches, roles: StreamRoles) -> None:
    """Refuse ids that stand in several rows that are counted: counts do not tell which predictions are of one case."""
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
    # Which rows are counted the other columns tell, and these are read only where an id may stand twice.
    suspects, repeated, there = pl.Series(again), [], present(batches, roles)
    for frame in batches.frames(roles.taken):
        values = frame.filter(there).get_column(column)
        repeated.append(values.filter(values.hash().is_in(suspects)).alias("id").to_frame().group_by("id").len("times"))
    # Different ids may share a hash; only those that stand twice themselves count.
    twice = pl.concat(repeated).group_by("id").agg(pl.col("times").sum()).filter(pl.col("times") > 1).sort("id")
    if not len(twice):
        return
    name, times = twice.row(0)
    if "fold" in roles.wanted:
        raise refuse_repeated(name, times, ": engine='memory' (--engine memory)")
    raise refuse_copies(name, times, len(twice))


# The number of rows by which the classes are guessed.
FIRST = 1 << 16
# The number of batches whose rows tell where scores lie.
FIRST_BATCHES = 2
# The most scores of a batch: with many columns of them it has fewer rows.
SCORES_AT_ONCE = 1 << 22


def count_stream(
    batches: Batches, roles: Mapping[str, Any], asked: ReadOptions, *, tolerance: float | None = None, passes: int = 3
) -> tuple[Counted, Source]:
    """Everything that is counted of a table, and which columns were read; only a few batches at a time are held.

    Labels are taken from the first rows, and where these do not show all of them the table is read once more. Scores
    are read again, in at most so many `passes` in all, until areas under curves are certain to `tolerance`; without
    one, to a twentieth of their standard error.
    """
    given = stream_roles(batches, roles, asked)
    try:
        with batches.trusting():
            first = batches.first(list(dict.fromkeys([*given.wanted.values(), *given.scores, *given.free])), FIRST)
            counted, reader = _count_table(batches, given, asked, first)
    except HeldoutError:
        # Other labels than those of the first rows, or something is wrong, which is said of the whole.
        counted, reader = _count_table(batches, given, asked)
    if counted.scores is not None:
        keys = () if counted.folds is None else tuple(counted.folds.keys.tolist())
        scores, *folds = refine_tallies(
            (counted.scores, *counted.fold_scores),
            keys,
            reader.scored,
            lambda: reader.frames(batches),
            tolerance=tolerance,
            passes=passes,
        )
        counted = replace(counted, scores=scores, fold_scores=tuple(folds))
    source = reader.roles.source(reader.like)
    return _judge_confidences(batches, counted, source), source


def _judge_confidences(batches: Batches, counted: Counted, source: Source) -> Counted:
    """Refuse scores of the predicted class, whichever it is, told from the first rows where no score is below half.

    Where they may be such, that is said.
    """
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


def _count_table(
    batches: Batches, given: StreamRoles, asked: ReadOptions, first: Sequence[pl.DataFrame] = ()
) -> tuple[Counted, RowReader]:
    """What is counted in one reading, after others that find the slices and, unless the `first` rows tell, the labels.

    An error where these rows do not tell may be of them alone.
    """
    truth = given.wanted["truth"]
    labels: tuple[Any, ...] = ()
    if given.free and not asked.labels:
        met = combinations_met(first or batches.frames([truth]), [truth])
        labels = encode(met.get_column(truth), given.called["truth"]).classes() if met.width else ()
    roles = with_scores(batches, given, asked, labels)
    check_numbers(batches, roles)
    plans, slice_notes = slice_plans(batches, roles, asked.slices)
    roles = replace(roles, slices=tuple(plan.name for plan in plans))
    if "id" in roles.wanted:
        check_ids(batches, roles)
    there, classes = present(batches, roles), list(batches.labels.values())
    pairs = combinations_met((frame.filter(there) for frame in first or batches.frames(roles.taken)), classes)
    if not len(pairs):
        _refuse_all(batches, roles, asked, first)
    notes = [*(note for *_, note in roles.idle), *([roles.note] if roles.note else []), *slice_notes]
    pairs = pairs.sort(classes)
    like = settled(pairs, roles, asked, notes)
    combined = len(plans) * (len(plans) - 1) // 2
    pairwise = combined * (batches.rows or 0) <= MOST_PAIRED
    reader = RowReader(roles, like, pairs, plans, pairwise=pairwise)
    guess = "score" in roles.guessed and not roles.makes_predicted and asked.missing != "drop"
    whole, seen = _count_rows(batches, reader, guess=guess)
    if whole is None or (guess and seen.no_score):
        # A guess must not stop an evaluation that does not need it.
        without = replace(given, free=(), note=seen.unused(roles.scores, batches))
        return _count_table(batches, without, asked, first)
    seen.check_missing(batches, asked.missing)
    if "weight" in roles.wanted:
        seen.check_weight(batches)
    if roles.scores:
        seen.check_scores(batches, natural=roles.makes_predicted and asked.threshold is None and len(like.labels) == 2)
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
    # Of one reading nothing but the number of rows can differ.
    check_unchanged(counted, batches, parts=not first or bool(plans), weightless=seen.weightless)
    return counted, reader


def _count_rows(batches: Batches, reader: RowReader, *, guess: bool) -> tuple[Counted | None, ValueFaults]:
    """The counts of all batches, and what was met; with a `guess` that is no score in some row there may be none."""
    roles, like = reader.roles, reader.like
    per_class = like.scores is not None and like.scores.per_class
    kind = ScoreKind(like.labels if per_class else (), weighted="weight" in roles.wanted)
    tallies = Tallies(kind, compiled=is_worth_it(batches.rows))
    whole: Counted | None = None
    seen = ValueFaults()

    def read(numbered: tuple[int, pl.DataFrame]) -> tuple[ValueFaults, Counted | None, list[Callable[[], Jobs]]]:
        found, counted, scored = reader.piece(numbered[1], numbered[0])
        return found, counted, [] if scored is None else tallies.take(scored)

    batches.batch = min(batches.batch, SCORES_AT_ONCE // max(len(roles.scores), 1))
    frames = _numbered(reader.frames(batches))
    # The first batches show where scores lie, so that the others need not be put aside.
    pieces = chain(share_in_turn(read, islice(frames, FIRST_BATCHES)), share_in_turn(read, frames))
    while some := list(islice(pieces, tallies.at_once)):
        tallies.settle([left for *_, left in some])
        for found, counted, _ in some:
            seen += found
            if counted is not None:
                whole = counted if whole is None else whole + counted
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


def _refuse_all(batches: Batches, roles: StreamRoles, asked: ReadOptions, first: Sequence[pl.DataFrame]) -> None:
    """Every row lacks something, or every one of the `first`: say what."""
    kinds = batches.kinds(roles.taken)
    parts = {role: absent(name, kinds[name]) for role, name in roles.wanted.items()}
    if roles.scores:
        parts["score"] = pl.any_horizontal([absent(name, kinds[name]) for name in roles.scores])
    seen = ValueFaults()
    weight = roles.wanted.get("weight")
    for whole in first or batches.frames(list(kinds)):
        frame = whole.filter(pl.col(weight).is_null() | (pl.col(weight) != 0)) if weight else whole
        gaps = frame.select(expression.sum().alias(role) for role, expression in parts.items()).row(0, named=True)
        seen += ValueFaults(
            rows=len(frame), lost=len(frame), missing={r: int(n) for r, n in gaps.items() if n}, first_lost=0
        )
    if not seen.rows and weight:
        # No row but those of weight 0.
        seen.check_weight(batches)
    seen.check_missing(batches, asked.missing)
