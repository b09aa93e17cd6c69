"""Counting a table that is read in batches: the rows are met, added up, and let go."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import islice
from typing import TYPE_CHECKING, Any

from heldout.engines.slices import MOST_PAIRED
from heldout.engines.stream.bins import StreamBins
from heldout.engines.stream.checks import Seen, check_unchanged
from heldout.engines.stream.ids import check_ids
from heldout.engines.stream.refine import refined, refined_parts
from heldout.engines.stream.roles import (
    StreamRoles,
    check_numbers,
    classes_met,
    pairs_met,
    present,
    settled,
    stream_roles,
    with_scores,
)
from heldout.engines.stream.rows import RowReader
from heldout.engines.stream.slices import slice_plans
from heldout.engines.stream.tallies import Kind, Tallies
from heldout.engines.stream.two_classes import Sums, SurpriseError, TwoClasses
from heldout.errors import HeldoutError, ValuesError
from heldout.evidence.counted import Counted, ScoreTally
from heldout.evidence.score_bins import MOST
from heldout.files.batches import Batches
from heldout.predictions.source import Asked, Source, idle_columns, named_roles
from heldout.predictions.table import Predictions

if TYPE_CHECKING:
    import polars as pl

# So many rows are looked at to guess which classes there are.
FIRST = 1 << 16


def count_stream(
    batches: Batches, roles: Mapping[str, Any], asked: Asked, *, tolerance: float = 1e-6, passes: int = 3
) -> tuple[Counted, Source]:
    """Everything that is counted of a table, and which columns were read; only one batch at a time is held.

    Scores are read again, in at most so many `passes` in all, until areas under curves are certain to `tolerance`.
    """
    chosen = stream_roles(batches, roles, asked)
    quick = _quickly(batches, chosen, asked, tolerance, passes)
    made = quick if quick is not None else _thoroughly(batches, chosen, asked, tolerance, passes)
    # Two classes are counted in one reading, so nothing but the number of rows can differ.
    check_unchanged(made[0], batches, parts=quick is None)
    return made


def _quickly(
    batches: Batches, roles: StreamRoles, asked: Asked, tolerance: float, passes: int
) -> tuple[Counted, Source] | None:
    """Two classes and one score, told from the first batch; None where that is not all there is to it."""
    if roles.slices or not set(roles.wanted) <= {"truth", "predicted"} or asked.against_rest:
        return None
    try:
        with batches.trusting():
            columns = list(dict.fromkeys([*roles.wanted.values(), *roles.scores, *roles.free]))
            first = [frame.head(FIRST) for frame in islice(batches.frames(columns), 1)]
            found = with_scores(batches, roles, asked, _classes(first, roles))
            check_numbers(batches, found)
            pairs = pairs_met(first, found, present(batches, found))
            notes = _first_notes(found, ())
            like = settled(pairs, found, asked, notes)
            if not TwoClasses.fits(found, like):
                return None
            counting = TwoClasses(found, like, pairs)
            counter = StreamBins(MOST)
            frames = batches.frames(found.every(), counting.expressions())
            # One thread counts while Polars reads ahead: a second would wait for the interpreter most of the time.
            sums = _summed(counting.sums(frame, counter) for frame in frames)
    except (HeldoutError, SurpriseError):
        # What is wrong is said of the whole, not of the first rows.
        return None
    if sums is None:
        return None
    seen = sums.seen()
    seen.check_scores(batches, natural=found.makes_predicted and asked.threshold is None)
    why = seen.unfit(1)
    tally = ScoreTally((counter.bins(),), sums.probabilities if why is None else None, why)
    made_of = [found.wanted["truth"], found.scores[0]]
    again = [expression for expression in counting.expressions() if expression.meta.output_name() in ("truth", "score")]
    tally = refined(tally, counting.scored, lambda: batches.frames(made_of, again), tolerance=tolerance, passes=passes)
    made = Counted(
        counting.confusion(sums),
        positive=like.positive,
        threshold=like.threshold,
        scores=tally,
        rows=seen.rows,
        declared=like.keep_labels,
        notes=(*batches.notes, *like.notes),
        joined_types=like.joined_types,
    )
    return made, _source(batches, found, like, ())


def _thoroughly(
    batches: Batches, given: StreamRoles, asked: Asked, tolerance: float, passes: int
) -> tuple[Counted, Source]:
    """Any table: its labels first, then how slices divide it, then the counts."""
    needs_classes = bool(given.free) and not asked.labels
    labels = _classes(batches.frames([given.wanted["truth"]]), given) if needs_classes else ()
    roles = with_scores(batches, given, asked, labels)
    check_numbers(batches, roles)
    plans, said = slice_plans(batches, roles.slices, asked.slices)
    sliced = tuple(plan.name for plan in plans)
    roles = replace(roles, slices=sliced)
    if "id" in roles.wanted:
        check_ids(batches, roles)
    columns = list(dict.fromkeys([*roles.wanted.values(), *roles.scores]))
    pairs = pairs_met(batches.frames(columns), roles, present(batches, roles))
    if not len(pairs):
        _refuse_all(batches, roles, asked)
    notes = [*_first_notes(roles, sliced), *said]
    like = settled(pairs, roles, asked, notes)
    combined = len(plans) * (len(plans) - 1) // 2
    pairwise = combined * (batches.rows or 0) <= MOST_PAIRED
    reader = RowReader(roles, like, pairs, plans, pairwise=pairwise)
    whole, seen = _pieces(batches, reader)
    guess = "score" in roles.guessed and not roles.makes_predicted and asked.missing != "drop"
    if guess and seen.no_score:
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
    made = replace(
        whole,
        positive=like.positive,
        threshold=like.threshold if roles.scores else None,
        rows=seen.rows,
        lost=seen.lost,
        missing=seen.in_order(),
        declared=like.keep_labels,
        notes=(*batches.notes, *like.notes),
        joined_types=like.joined_types,
    )
    return made, _source(batches, roles, like, sliced)


def _pieces(batches: Batches, reader: RowReader) -> tuple[Counted, Seen]:
    """The counts of all batches, and what was met."""
    roles, like = reader.roles, reader.like
    per_class = like.scores is not None and like.scores.per_class
    tallies = Tallies(Kind(like.labels if per_class else (), weighted="weight" in roles.wanted))
    whole: Counted | None = None
    seen = Seen()
    for start, frame in _numbered(batches.frames(roles.every())):
        piece = reader.piece(frame, start)
        seen += piece.seen
        if piece.scored is not None:
            tallies.add(piece.scored)
        if piece.counted is not None:
            whole = piece.counted if whole is None else whole + piece.counted
    if whole is None:
        if "weight" in roles.wanted:
            seen.check_weight(batches)
        seen.check_scores(batches, natural=False)
        seen.check_missing(batches, "drop" if seen.lost == seen.rows else "refuse")
        raise ValuesError("There are no cases: no row could be counted.", hint="check which columns were chosen.")
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


def _summed(pieces: Iterable[Sums]) -> Sums | None:
    whole: Sums | None = None
    for piece in pieces:
        whole = piece if whole is None else whole + piece
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


def _refuse_all(batches: Batches, roles: StreamRoles, asked: Asked) -> None:
    """Every row lacks something: say what."""
    import polars as pl

    kinds = batches.kinds(list(dict.fromkeys([*roles.wanted.values(), *roles.scores])))

    def absent(name: str) -> pl.Expr:
        column = pl.col(name)
        return column.is_null() | column.is_nan() if kinds[name].is_float() else column.is_null()

    parts = {role: absent(name) for role, name in roles.wanted.items()}
    if roles.scores:
        parts["score"] = pl.any_horizontal([absent(name) for name in roles.scores])
    seen = Seen()
    for frame in batches.frames(list(kinds)):
        held = frame.select(expression.sum().alias(role) for role, expression in parts.items()).row(0, named=True)
        seen += Seen(rows=len(frame), lost=len(frame), missing={r: int(n) for r, n in held.items() if n}, first_lost=0)
    seen.check_missing(batches, asked.missing)
