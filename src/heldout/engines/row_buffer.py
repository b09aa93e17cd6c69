"""Counts that grow by sound predictions: small sets are kept until they are worth counting together.

It stands apart from the accumulator, which turns what is given into predictions: here these are joined and counted.
"""

from __future__ import annotations

import copy
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import reduce
from typing import Any

import numpy as np
from numpy.typing import NDArray

from heldout.arguments import listing, require
from heldout.engines.memory import check_once, left_out
from heldout.engines.memory import counted as counted_of
from heldout.errors import ColumnError, LabelError, ValuesError
from heldout.evidence import Label, join_labels
from heldout.evidence.counted import Counted, added_gaps, join_notes
from heldout.evidence.partitions import is_value, join_slices
from heldout.evidence.probabilities import check_alike
from heldout.evidence.probabilities import joined as joined_reasons
from heldout.predictions.case_values import ROUNDED, TAKEN_AS_SCORES, Confidences, Scores, refuse_confidences
from heldout.predictions.label_encoding import Coded
from heldout.predictions.number_bins import FEW_NUMBERS
from heldout.predictions.positive_class import quoted
from heldout.predictions.slice_plans import MOST_TEXTS, SliceColumn
from heldout.predictions.table import KEYS, NothingWholeError, Predictions


def compact(predictions: Predictions) -> Predictions:
    """The same predictions in arrays of their own, which nobody else can change, as narrow as they can be."""
    labels = predictions.labels
    kind = np.uint8 if len(labels) < 256 else np.int32
    places: dict[str, Any] = {}
    for name in ("truth", "predicted"):
        coded: Coded = getattr(predictions, name)
        class_places: NDArray[np.int64] = getattr(predictions, f"{name}_place")
        codes = class_places[coded.places()].astype(kind)
        places[name] = Coded(codes, 0, labels, coded.declared)
    keys: dict[str, Any] = {name: _compact_keys(getattr(predictions, name)) for name in KEYS}
    scores, weight, own = predictions.scores, predictions.weight, np.arange(len(labels))
    return replace(
        predictions,
        **places,
        **keys,
        truth_place=own,
        predicted_place=own,
        weight=None if weight is None else weight.copy(),
        scores=None if scores is None else replace(scores, values=scores.values.copy()),
        rows=None,
        notes=(),
        joined_types=(),
        of_labels=(),
        given=None,
        lost=0,
        missing={},
    )


def _compact_keys(coded: Coded | None) -> Coded | None:
    if coded is None:
        return None
    present, codes = np.unique(coded.places(), return_inverse=True)
    return Coded(codes.astype(np.int32), 0, tuple(coded.labels[code] for code in present.tolist()))


def joined(parts: Sequence[Predictions]) -> Predictions:
    """All the rows of compact predictions, which agree in what they hold, one after another.

    >>> from heldout.predictions.table import assemble
    >>> parts = [compact(assemble(["a", "b"], ["a", "a"])), compact(assemble(["c"], ["a"]))]
    >>> joined(parts).labels, joined(parts).truth.codes.tolist()
    (('a', 'b', 'c'), [0, 1, 2])
    """
    if len(parts) == 1:
        return parts[0]
    labels = _labels([part.labels for part in parts])
    own = np.arange(len(labels))
    first = parts[0]
    keys: dict[str, Any] = {name: _joined_keys([getattr(part, name) for part in parts]) for name in KEYS}
    return replace(
        first,
        truth=_joined_codes([part.truth for part in parts], labels),
        predicted=_joined_codes([part.predicted for part in parts], labels),
        labels=labels,
        truth_place=own,
        predicted_place=own,
        weight=None if first.weight is None else np.concatenate([_held(part.weight) for part in parts]),
        scores=None if first.scores is None else _joined_scores([part.scores for part in parts]),
        keep_labels=any(part.keep_labels for part in parts),
        slices=tuple(_concatenated_slices([part.slices[at] for part in parts]) for at in range(len(first.slices))),
        **keys,
    )


def _held(values: Any) -> Any:
    return require(values, "some of the predictions lack what the others have")


def _labels(each: Sequence[tuple[Label, ...]]) -> tuple[Label, ...]:
    return reduce(join_labels, dict.fromkeys(each))


def _joined_codes(columns: Sequence[Coded], labels: tuple[Label, ...]) -> Coded:
    index_of = {label: at for at, label in enumerate(labels)}
    kind = np.uint8 if len(labels) < 256 else np.int32
    codes = _recoded(columns, index_of.__getitem__, kind)
    return Coded(codes, 0, labels, any(column.declared for column in columns))


def _recoded(columns: Sequence[Coded | SliceColumn], code: Callable[[Any], int], kind: type) -> NDArray[Any]:
    """The codes of columns one after another, as `code` has them for all."""
    moves: dict[Any, NDArray[Any]] = {}
    for own in columns:
        if own.labels not in moves:
            moves[own.labels] = np.array(list(map(code, own.labels)), dtype=kind)
    return np.concatenate([moves[own.labels][own.codes] for own in columns])


def _joined_keys(columns: Sequence[Coded | None]) -> Coded | None:
    if columns[0] is None:
        return None
    index_of: dict[Any, int] = {}
    # 1 and "1" are two keys.
    codes = _recoded(
        [_held(own) for own in columns],
        lambda key: index_of.setdefault((type(key) is str, key), len(index_of)),
        np.int64,
    )
    names = tuple(key for _, key in index_of)
    try:
        order = sorted(range(len(names)), key=lambda at: (isinstance(names[at], str), names[at]))
    except TypeError:
        order = list(range(len(names)))
    back = np.empty(len(order), dtype=np.int64)
    back[order] = np.arange(len(order))
    return Coded(back[codes], 0, tuple(names[at] for at in order))


def _joined_scores(columns: Sequence[Scores | None]) -> Scores:
    parts = [_held(column) for column in columns]
    values = np.concatenate([column.values for column in parts])
    if values.ndim == 1:
        check_alike([column.unfit for column in parts])
    reasons = [column.unfit for column in parts if column.unfit is not None]
    return Scores(values, joined_reasons(reasons, float(values.min()), float(values.max())) if reasons else None)


def _concatenated_slices(columns: Sequence[SliceColumn]) -> SliceColumn:
    labels = reduce(join_slices, dict.fromkeys(column.labels for column in columns))
    index_of = {label: at for at, label in enumerate(labels)}
    return replace(columns[0], codes=_recoded(columns, index_of.__getitem__, np.uint8), labels=labels)


# Rows are collected and counted at once, because merging large tables after every small batch would be slow.
ROWS_AT_ONCE = 1 << 18
# With a score for each of many classes fewer rows are collected: at most this many scores.
SCORES_AT_ONCE = 1 << 24
# The number of rows by which scores of the positive class are told from confidences in the predictions.
LOOKED_AT = 1 << 16
# With this many slice columns or fewer, the combinations of each two are counted as well.
PAIRED_COLUMNS = 8
TEXT_LABELS = "labels of text"
NO_IDS = "every row was taken as a case of its own: ids are not kept from batch to batch"
_DATE = re.compile(r"\d{4}-\d\d-\d\d([T ].*)?")


@dataclass
class BufferedCounts:
    """What was counted (`total`), rows that wait to be, and numbers of those that were left out.

    `shape` says what every batch holds, and `sliced` which slices were met in each column. Without scores nothing is
    counted by the positive class, so `total` has none: it is chosen when all classes are known. `looked` holds scores
    that may be confidences in the predictions, and whether the positive class was predicted, of `looked_rows` rows.
    """

    total: Counted | None = None
    waiting: list[Predictions] = field(default_factory=list)
    waiting_rows: int = 0
    given: int = 0
    lost: int = 0
    gaps: dict[str, int] = field(default_factory=dict)
    notes: dict[str, None] = field(default_factory=dict)
    joined_types: dict[str, None] = field(default_factory=dict)
    declared: bool = False
    shape: dict[str, bool] = field(default_factory=dict)
    sliced: dict[str, tuple[str, ...]] = field(default_factory=dict)
    looked: list[tuple[NDArray[Any], NDArray[np.bool_]]] = field(default_factory=list)
    looked_rows: int = 0

    @classmethod
    def of(cls, counted: Counted) -> BufferedCounts:
        """What was counted already."""
        sliced = {column.name: column.labels for column in counted.slices}
        if counted.scores is None:
            counted = replace(counted, positive=None)
        return cls(counted, declared=counted.declared, shape=_shape(counted), sliced=sliced)

    def copied(self) -> BufferedCounts:
        """The same, to be changed without changing this."""
        return BufferedCounts(**{name: copy.copy(value) for name, value in vars(self).items()})

    @property
    def n(self) -> int:
        """The number of rows that were taken."""
        return self.waiting_rows + (0 if self.total is None else self.total.n)

    def add(self, predictions: Predictions, *, declared: bool, numbers: Collection[str] = ()) -> None:
        """Take predictions; `numbers` are the slice columns that hold numbers or dates.

        Everything that can be wrong with them is found before anything is changed.
        """
        self.shape, self.sliced = self._checked(predictions, predictions.labels, numbers)
        self.declared = self.declared or declared
        given, lost, gaps = left_out(predictions)
        self.given += given
        self.lost += lost
        self.gaps = added_gaps(self.gaps, gaps)
        self.notes = dict.fromkeys(join_notes(*self.notes, *predictions.notes))
        self.joined_types |= dict.fromkeys(predictions.joined_types)
        if predictions.id is not None:
            self.notes[NO_IDS] = None
            predictions = replace(predictions, id=None)
        if self.waiting and not _round_alike(self.waiting[0], predictions):
            self.flush()
        at_once = _at_once(predictions)
        if predictions.n >= at_once and not self.waiting:
            # What is counted at once need not be copied.
            self._count([predictions])
            return
        self.waiting.append(compact(predictions))
        self.waiting_rows += predictions.n
        if self.waiting_rows >= at_once:
            self.flush()

    def expect(self, predictions: Predictions, *, labels: Sequence[Label], numbers: Collection[str] = ()) -> None:
        """Check predictions that are counted later, when more classes than these `labels` are known.

        What is taken meanwhile must hold the same.
        """
        self.shape, self.sliced = self._checked(predictions, labels, numbers)

    def forget_expected(self) -> None:
        """Expect nothing of what comes, where nothing was counted yet."""
        if not self.n:
            self.shape, self.sliced = {}, {}

    def _checked(
        self, predictions: Predictions, labels: Sequence[Label], numbers: Collection[str]
    ) -> tuple[dict[str, bool], dict[str, tuple[str, ...]]]:
        """What predictions hold and the slices with theirs, refused where others before them hold something else."""
        shape = {**_shape(predictions), TEXT_LABELS: _are_texts(labels)}
        _check_shape(self.shape, shape)
        check_once(predictions)
        return shape, {
            column.name: _joined_slices(self.sliced.get(column.name, ()), column, numbers)
            for column in predictions.slices
        }

    def leave_out(self, lost: int, gaps: Mapping[str, int]) -> None:
        """Count rows of which every one lacks a value."""
        self.given += lost
        self.lost += lost
        self.gaps = added_gaps(self.gaps, gaps)

    def flush(self) -> None:
        """Count what waits."""
        if self.waiting:
            self._count(self.waiting)
            self.waiting, self.waiting_rows = [], 0

    def _look(self, part: Predictions) -> None:
        """Keep the scores of the first rows, where they may be confidences in the predictions."""
        room = LOOKED_AT - self.looked_rows
        if part.scores is None or not part.scores.unsure or room <= 0:
            return
        codes = part.predicted.places(slice(room))
        called = part.predicted_place[codes] == part.labels.index(require(part.positive, "scores of two classes"))
        self.looked.append((part.scores.values[:room].copy(), called))
        self.looked_rows += len(called)

    def _judge_scores(self, total: Counted) -> tuple[str, ...]:
        """Refuse scores of the predicted class, whichever it is; what is said where they may be such."""
        if not self.looked or total.scores is None or total.scores.bins[0].least < 0.5 - ROUNDED:
            return ()
        values, called = (np.concatenate(columns) for columns in zip(*self.looked, strict=True))
        if Confidences.of(values, called) is not None:
            raise refuse_confidences()
        return (
            (TAKEN_AS_SCORES,)
            if called.any() and not called.all() and total.scores.bins[0].greatest <= 1 + ROUNDED
            else ()
        )

    def _count(self, parts: Sequence[Predictions]) -> None:
        for part in parts:
            self._look(part)
        predictions = replace(joined(parts), keep_labels=self.declared)
        paired = 2 <= len(predictions.slices) <= PAIRED_COLUMNS
        counted = counted_of(predictions, pairs=paired)
        if counted.scores is None:
            counted = replace(counted, positive=None)
        # How many rows were given, and what is said of them, is kept of all batches together.
        counted = replace(counted, rows=0, lost=0, missing={}, notes=(), joined_types=())
        self.total = counted if self.total is None else self.total + counted

    def counted(self) -> Counted:
        """Everything that was taken so far, frozen."""
        self.flush()
        if self.total is None:
            raise _nothing(self.lost, self.gaps)
        total = self.total
        return replace(
            total,
            rows=total.rows + self.given,
            lost=total.lost + self.lost,
            missing=added_gaps(total.missing, self.gaps),
            declared=total.declared or self.declared,
            notes=join_notes(*total.notes, *self.notes, *self._judge_scores(total)),
            joined_types=tuple(dict.fromkeys([*total.joined_types, *self.joined_types])),
        )

    def merged(self, other: BufferedCounts) -> BufferedCounts:
        """Both together, as a new one."""
        for part in (self, other):
            part.flush()
        if self.total is None or other.total is None:
            merged, rest = (other.copied(), self) if self.total is None else (self.copied(), other)
            merged.leave_out(rest.lost, rest.gaps)
            return merged
        return BufferedCounts.of(self.counted() + other.counted())


def _nothing(lost: int, gaps: Mapping[str, int]) -> ValuesError:
    if lost:
        return NothingWholeError.of(lost, gaps)
    return ValuesError("There are no cases: no batch was counted.", hint="pass batches to update() first.")


def _at_once(predictions: Predictions) -> int:
    """How many rows of this kind are counted at once."""
    scores = predictions.scores
    columns = scores.values.shape[1] if scores is not None and scores.per_class else 1
    return min(ROWS_AT_ONCE, -(-SCORES_AT_ONCE // columns))


def _round_alike(first: Predictions, second: Predictions) -> bool:
    """Whether scores have one precision: what rounds differently is summed apart."""
    return first.scores is None or second.scores is None or first.scores.values.dtype == second.scores.values.dtype


def _shape(held: Predictions | Counted) -> dict[str, bool]:
    """What predictions or counts hold, in the words of errors."""
    if isinstance(held, Counted):
        parts: tuple[Any, ...] = (held.confusion.squares, held.confusion.clusters, held.folds)
    else:
        parts = (held.weight, held.group, held.fold)
    weighted, grouped, folded = (part is not None for part in parts)
    return {
        "scores": held.scores is not None,
        "a score for every class": held.scores is not None and held.scores.per_class,
        "weights": weighted,
        "groups": grouped,
        "folds": folded,
        "classes predicted from scores": held.threshold is not None and held.scores is not None,
        TEXT_LABELS: _are_texts(held.labels),
        **{f"the slice column {column.name!r}": True for column in held.slices},
    }


def _are_texts(labels: Sequence[Label]) -> bool:
    return any(isinstance(label, str) for label in labels)


def _check_shape(before: Mapping[str, bool], now: Mapping[str, bool]) -> None:
    """Refuse a batch that holds other things than those before it."""
    if not before:
        return
    for name in dict.fromkeys([*before, *now]):
        earlier, later = before.get(name, False), now.get(name, False)
        if earlier != later:
            kind = LabelError if name == TEXT_LABELS else ColumnError
            raise kind(
                f"Batches must hold the same. {_differs(name, new=later)}.", hint="give every batch the same columns."
            )


def _differs(name: str, *, new: bool) -> str:
    first, second = (
        ("This batch has", "those before it have not") if new else ("The batches before have", "this one has not")
    )
    return f"{first} {name}, {second}"


def _joined_slices(known: tuple[str, ...], column: SliceColumn, numbers: Collection[str]) -> tuple[str, ...]:
    """The slices of a column so far, refused where they are no longer few named ones."""
    labels = join_slices(known, column.labels) if known else column.labels
    values = [label for label in labels if is_value(label)]
    ordered = column.name in numbers or all(_DATE.fullmatch(label) for label in values)
    most = FEW_NUMBERS if ordered else MOST_TEXTS
    if column.kind != "values" or column.note or len(values) > most:
        what = "numbers or dates" if ordered or column.kind != "values" else "texts"
        raise ColumnError(
            f"The slice column {quoted(column.name)} has more than {most} different {what}: "
            f"{listing(map(quoted, values), most=4)}.",
            hint="cut it into a few named bins first; where they should be is not known before all cases are seen."
            if what != "texts"
            else "put the rare ones together first; which they are is not known before all cases are seen.",
        )
    return labels
