"""One batch of a table after the other: its rows as predictions in the labels of the whole, counted."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from heldout.arrays import Integers
from heldout.engines import memory
from heldout.engines.memory import counted
from heldout.engines.refinement import FILES_AT_REST
from heldout.engines.score_tallies import LabelledScores
from heldout.engines.stream.batch_columns import StreamRoles, ValueFaults, bad_weight
from heldout.errors import ValuesError
from heldout.evidence.counted import Counted
from heldout.evidence.labels import key_array
from heldout.files.batches import Batches
from heldout.predictions.case_values import RawScores, Scores, groups, refuse_two_columns, settle_scores, weights
from heldout.predictions.label_encoding import DIRECT_RANGE, Coded, refuse_labels
from heldout.predictions.score_columns import class_of
from heldout.predictions.slice_plans import SliceColumn, SlicePlan
from heldout.predictions.table import Predictions

if TYPE_CHECKING:
    import polars as pl


# Up to this many values are compared one by one, by the reader.
FEW = 8
# What is missing among them, and what the columns are called that tell which each is.
MISSING = 255
MARKS = "marks of "


class LabelCodes:
    """The code of every value that a column of labels holds anywhere, looked up batch by batch.

    >>> import polars as pl
    >>> seen = Coded(np.array([1, 0]), 0, ("a", "b"))
    >>> LabelCodes(pl.Series(["b", "a"]), seen).coded(pl.Series(["a", None, "b"])).codes.tolist()
    [0, -1, 1]
    """

    def __init__(self, values: pl.Series, coded: Coded) -> None:
        import polars as pl

        if values.dtype == pl.Binary:
            raise refuse_labels(f"The column {values.name!r} holds values of type {values.dtype}")
        first = values.is_first_distinct().to_numpy()
        known = values.filter(pl.Series(first))
        codes = coded.codes[: len(first)][first].astype(np.int64) - coded.offset
        # Whole numbers that numpy does not hold, or not beside others, are looked up by their digits.
        self._long = known.dtype in (pl.UInt64, pl.Int128, pl.UInt128)
        known = known.cast(pl.String) if self._long else known
        order = known.arg_sort().to_numpy()
        self._like = coded
        self._values = known.gather(order)
        # Missing is the last.
        self._move = np.append(codes[order], -1)
        self._enum = pl.Enum(self._values) if self._values.dtype == pl.String else None
        comparable = self._values.dtype in (pl.String, pl.Boolean) or self._values.dtype.is_integer()
        self.few = comparable and len(self._values) <= FEW and max(self._move) < FEW

    def coded(self, column: pl.Series) -> Coded:
        """A batch of the column; a value that is none of those that were met has some code."""
        return self.read(column)[0]

    def marks(self, name: str) -> pl.Expr:
        """One more than the code of every value of a column where they are `few`, 0 for one that was not met."""
        import polars as pl

        named, kind = pl.col(name).cast(pl.String) if self._long else pl.col(name), self._values.dtype
        codes = zip(self._values.to_list(), self._move.tolist(), strict=False)
        equal = [(named == pl.lit(value, dtype=kind)).cast(pl.UInt8) * (code + 1) for value, code in codes]
        return pl.sum_horizontal(equal, ignore_nulls=False).fill_null(MISSING)

    def read_marks(self, column: pl.Series) -> tuple[Coded, NDArray[np.bool_] | None]:
        """A batch of such marks, and which of its values are none of those that were met; None where all are."""
        marks = column.to_numpy()
        if not len(marks) or (marks.min() and marks.max() < MISSING):
            return Coded(marks - np.uint8(1), 0, self._like.labels, self._like.declared), None
        codes = np.where(marks == MISSING, -1, marks.astype(np.int64) - 1)
        strange = marks == 0
        codes[strange] = 0
        missing = int(np.count_nonzero(codes < 0))
        return Coded(codes, 0, self._like.labels, self._like.declared, missing), strange if strange.any() else None

    def read(self, column: pl.Series) -> tuple[Coded, NDArray[np.bool_] | None]:
        """A batch of the column, and which of its values are none of those that were met; None where all are."""
        import polars as pl

        places, strange = self._places(column.cast(pl.String) if self._long else column)
        codes = self._move[places]
        missing = int(np.count_nonzero(codes < 0))
        return Coded(codes, 0, self._like.labels, self._like.declared, missing), strange if strange.any() else None

    def _places(self, column: pl.Series) -> tuple[NDArray[Any], NDArray[np.bool_]]:
        """The place of every value among those that were met, the last for what is missing, and which are not there."""
        import polars as pl

        absent = len(self._values)
        if self._enum is not None:
            codes = column.cast(self._enum, strict=False).to_physical().cast(pl.Int64)
            gone = column.is_null().to_numpy()
            strange = codes.is_null().to_numpy() & ~gone
            return np.where(gone, absent, codes.fill_null(0).to_numpy()), strange
        physical = self._values.to_physical() if self._values.dtype == pl.Enum else self._values
        known = physical.cast(pl.Float64 if physical.dtype.is_float() else pl.Int64).to_numpy()
        plain = (column.to_physical() if column.dtype == pl.Enum else column).cast(
            pl.Float64 if physical.dtype.is_float() else pl.Int64
        )
        if physical.dtype.is_float():
            numbers = plain.fill_null(np.nan).to_numpy()
            gaps = np.isnan(numbers)
        else:
            gaps = plain.is_null().to_numpy()
            numbers = (plain.fill_null(known[0]) if plain.null_count() else plain).to_numpy()
        # The difference of two whole numbers of 64 bits may be longer.
        if not physical.dtype.is_float() and int(known[-1]) - int(known[0]) < DIRECT_RANGE:
            table = np.zeros(known[-1] - known[0] + 1, dtype=np.int64)
            table[known - known[0]] = np.arange(len(known))
            places = table[np.clip(numbers, known[0], known[-1]) - known[0]]
        else:
            places = np.minimum(np.searchsorted(known, numbers), absent - 1)
        return np.where(gaps, absent, places), (known[places] != numbers) & ~gaps


@dataclass(frozen=True, eq=False)
class CountedBatch:
    """What was counted of one batch; nothing but what was seen, where none of its rows can be counted.

    `scored` are its rows, where whoever counts scores in bins still has to see them.
    """

    seen: ValueFaults
    counted: Counted | None = None
    scored: LabelledScores | None = None


@dataclass(frozen=True, eq=False)
class RowPlaces:
    """Where the rows that are left of a batch stand in the whole: all of them in a row, or at some places after it."""

    start: int
    kept: Integers | None = None

    def __getitem__(self, row: int) -> int:
        return self.start + int(row if self.kept is None else self.kept[row])

    def taken(self, keep: NDArray[np.bool_]) -> RowPlaces:
        """Those of the rows to keep."""
        return RowPlaces(self.start, np.flatnonzero(keep) if self.kept is None else self.kept[keep])


class RowReader:
    """Reads batches as predictions whose labels, positive class and slices are those of the whole.

    `like` are the combinations of classes that are met anywhere, `pairs` the same as they stand in the files. Several
    threads may read at once.
    """

    def __init__(
        self,
        roles: StreamRoles,
        like: Predictions,
        pairs: pl.DataFrame,
        plans: Sequence[SlicePlan] = (),
        *,
        pairwise: bool = False,
    ) -> None:
        self.roles = roles
        self.like = like
        self.plans = tuple(plans)
        self.pairwise = pairwise
        self._codes = {
            role: LabelCodes(pairs.get_column(roles.wanted[role]), coded)
            for role, coded in (("truth", like.truth), ("predicted", like.predicted))
            if role in roles.wanted
        }
        # Of the two classes that a score tells apart only one may be met: as in memory, the other is then no class.
        self._keep_labels = memory.count(like).labels == like.labels
        # With groups every batch has a table of scores of its own; otherwise all batches share one.
        self.apart = "group" in roles.wanted
        # The columns of scores in the order of the classes.
        self._scores = roles.scores
        if like.scores is not None and like.scores.per_class:
            named = {class_of(name, like.labels): name for name in roles.scores}
            self._scores = tuple(named[label] for label in like.labels)

    def frames(self, batches: Batches) -> Iterator[pl.DataFrame]:
        """Read a table anew; where a column has few labels, the reader tells which each of them is."""
        import polars as pl

        marks = {role: codes for role, codes in self._codes.items() if codes.few}
        wanted = [name for role, name in self.roles.wanted.items() if role not in marks]
        made = [pl.col(name) for name in dict.fromkeys([*wanted, *self.roles.scores, *self.roles.slices])]
        made += [codes.marks(self.roles.wanted[role]).alias(MARKS + role) for role, codes in marks.items()]
        return batches.frames(self.roles.every(), made)

    def piece(self, frame: pl.DataFrame, start: int) -> CountedBatch:
        """Count a batch, whose first row is that place in the whole; rows of weight 0 are only told."""
        found = self._read(frame, start)
        if isinstance(found, ValueFaults):
            return CountedBatch(found)
        seen, predictions = found
        scored = None if self.apart else self._scored(predictions)
        plain = replace(predictions, scores=None) if scored is not None else predictions
        missing: dict[str, int] = {}
        return CountedBatch(
            seen, counted(plain, rows=seen.rows, missing=missing, lost=seen.lost, pairs=self.pairwise), scored
        )

    def scored(self, frame: pl.DataFrame) -> LabelledScores | None:
        """The scores of the rows that lack nothing; None where there is no such row."""
        found = self._read(frame)
        return None if isinstance(found, ValueFaults) else self._scored(found[1])

    def _read(self, frame: pl.DataFrame, start: int = 0) -> ValueFaults | tuple[ValueFaults, Predictions]:
        """What was seen in a batch, and its rows that lack nothing, if there are any and their values are sound."""
        given, places = len(frame), RowPlaces(start)
        if "weight" in self.roles.wanted:
            keep = weights(frame.get_column(self.roles.wanted["weight"]), self.roles.called["weight"]) != 0
            frame, places = (frame, places) if keep.all() else (frame.filter(keep), places.taken(keep))
        if not len(frame):
            return ValueFaults(weightless=given)
        columns = self._columns(frame)
        gaps = _gaps(columns)
        lost = np.logical_or.reduce(list(gaps.values())) if gaps else None
        seen = ValueFaults(
            rows=len(frame),
            weightless=given - len(frame),
            lost=0 if lost is None else int(np.count_nonzero(lost)),
            missing={role: int(np.count_nonzero(gap)) for role, gap in gaps.items()},
            first_lost=-1 if lost is None else places[int(lost.argmax())],
        )
        keep = None if lost is None else ~lost
        if "score" in columns:
            seen += _without_score(columns["score"], places)
        if keep is not None:
            columns = {role: _taken(column, keep) for role, column in columns.items()}
            places = places.taken(keep)
        if not len(columns["truth"]):
            return seen
        if "weight" in columns:
            seen += bad_weight(columns["weight"], places)
        if "score" in columns:
            seen += _classes_by_score(columns["score"], places)
        if seen.infinite or seen.has_bad_weight:
            return seen
        return seen, self._predictions(frame, columns, keep, seen)

    def _columns(self, frame: pl.DataFrame) -> dict[str, Any]:
        wanted, called = self.roles.wanted, self.roles.called
        columns: dict[str, Any] = {}
        unknown: dict[str, NDArray[np.bool_]] = {}
        for role, codes in self._codes.items():
            if codes.few:
                columns[role], strange = codes.read_marks(frame.get_column(MARKS + role))
            else:
                columns[role], strange = codes.read(frame.get_column(wanted[role]))
            if strange is not None:
                unknown[role] = strange
        if "weight" in wanted:
            columns["weight"] = weights(frame.get_column(wanted["weight"]), called["weight"])
        for role in ("group", "fold"):
            if role in wanted:
                columns[role] = groups(frame.get_column(wanted[role]), called[role])
        if "id" in wanted:
            absent = frame.get_column(wanted["id"]).is_null().to_numpy()
            columns["id"] = Coded(-absent.astype(np.int8), 0, (), missing=int(absent.sum()))
        if len(self._scores) == 1:
            columns["score"] = weights(frame.get_column(self._scores[0]), called[self._scores[0]])
        elif self._scores:
            # One column after the other, because that is how they are counted.
            columns["score"] = np.stack([weights(frame.get_column(name), called[name]) for name in self._scores]).T
        if unknown:
            self._refuse_unknown(unknown, columns)
        return columns

    def _refuse_unknown(self, unknown: dict[str, NDArray[np.bool_]], columns: dict[str, Any]) -> None:
        """Refuse labels that were not met before; in a row that lacks something they were not looked at."""
        gaps = list(_gaps(columns).values())
        for role, strange in unknown.items():
            if (strange & ~np.logical_or.reduce(gaps) if gaps else strange).any():
                raise ValuesError(
                    f"{self.roles.called[role]} has labels that it did not have when it was read before, so the files "
                    "changed.",
                    hint=FILES_AT_REST,
                )

    def _predictions(self, frame: pl.DataFrame, columns: dict[str, Any], keep: Any, seen: ValueFaults) -> Predictions:
        like = self.like
        scores = self._settled_scores(columns.get("score"), seen)
        predicted: Any = columns.get("predicted")
        predicted_place = like.predicted_place
        if predicted is None and scores is not None:
            # Whether half is a natural threshold is known when all scores have been read.
            cut = None if scores.per_class else like.threshold
            predicted = replace(scores, unfit=None).predicted(like.labels, like.positive, cut)
            predicted_place = np.arange(len(like.labels))
        slices = []
        for plan in self.plans:
            codes = plan.codes(frame.get_column(plan.name))
            slices.append(
                SliceColumn(plan.name, codes if keep is None else codes[keep], plan.labels, plan.kind, plan.note)
            )
        return replace(
            like,
            truth=columns["truth"],
            predicted=predicted,
            predicted_place=predicted_place,
            weight=columns.get("weight"),
            group=columns.get("group"),
            fold=columns.get("fold"),
            scores=scores,
            slices=tuple(slices),
            keep_labels=self._keep_labels,
            notes=(),
            joined_types=(),
            of_labels=(),
            rows=None,
        )

    def _settled_scores(self, values: Any, seen: ValueFaults) -> Scores | None:
        """The scores of some rows, of which it was seen whether they are probabilities."""
        if values is None or self.like.scores is None:
            return None
        if self.like.scores.per_class or values.ndim == 1:
            return Scores(values, seen.unfit(len(self._scores)))
        scores = settle_scores(RawScores(values, self._scores), self.like.labels, self.like.positive)
        if scores.unfit is not None and scores.unfit.decision:
            raise refuse_two_columns(self.roles.scores, scores.unfit)
        return scores

    def _scored(self, predictions: Predictions) -> LabelledScores | None:
        if predictions.scores is None:
            return None
        truth, group = predictions.truth, predictions.group
        places = predictions.truth_place
        if not predictions.scores.per_class:
            labels = predictions.labels
            places = places == (labels.index(predictions.positive) if predictions.positive is not None else 1)
        elif len(predictions.labels) < 1 << 8:
            places = places.astype(np.uint8)
        keyed = None
        if group is not None:
            groups_present, group_index = np.unique(group.codes.astype(np.int64) - group.offset, return_inverse=True)
            keyed = group_index, key_array([group.labels[code] for code in groups_present.tolist()])
        probable = predictions.scores.is_probability
        codes = places[truth.codes if not truth.offset else truth.codes.astype(np.int64) - truth.offset]
        return LabelledScores(predictions.scores.values, codes, predictions.weight, keyed, predictions.fold, probable)


def _gaps(columns: dict[str, Any]) -> dict[str, NDArray[np.bool_]]:
    """Where each role lacks a value, of the roles that do somewhere."""
    gaps: dict[str, NDArray[np.bool_]] = {}
    for role, column in columns.items():
        if isinstance(column, Coded):
            if column.missing:
                gaps[role] = column.is_missing
        elif np.isnan(_total(column)) and np.isnan(column).any():
            absent = np.isnan(column)
            gaps[role] = absent.any(axis=1) if absent.ndim == 2 else absent
    return gaps


def _total(values: NDArray[Any]) -> float:
    """A sum that is finite, as a rule, where all numbers are, and never where one is not."""
    with np.errstate(over="ignore", invalid="ignore"):
        return float(np.add.reduce(values, axis=None))


def _without_score(values: NDArray[Any], places: RowPlaces) -> ValueFaults:
    """In how many rows a score is missing or not finite."""
    if np.isfinite(_total(values)):
        return ValueFaults()
    bad = ~np.isfinite(values).reshape(len(values), -1).all(axis=1)
    number = int(np.count_nonzero(bad))
    return ValueFaults(no_score=number, first_no_score=places[int(bad.argmax())] if number else -1)


def _taken(column: Any, keep: NDArray[np.bool_]) -> Any:
    return column.taken(keep) if isinstance(column, Coded) else column[keep]


def _classes_by_score(values: NDArray[Any], places: RowPlaces) -> ValueFaults:
    """What the scores of some rows are."""
    low, high = float(values.min()), float(values.max())
    if not (np.isfinite(low) and np.isfinite(high)):
        bad = ~np.isfinite(values)
        row = int((bad.any(axis=1) if bad.ndim == 2 else bad).argmax())
        return ValueFaults(infinite=int(np.count_nonzero(bad)), first_infinite=places[row])
    if values.ndim == 1:
        return ValueFaults(low=low, high=high)
    off = np.abs(values.sum(axis=1, dtype=np.float64) - 1)
    worst = int(off.argmax())
    return ValueFaults(low=low, high=high, off=float(off[worst]), total=float(values[worst].sum()), worst=places[worst])
