"""One batch of a table after the other: its rows as predictions in the labels of the whole, counted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from heldout.engines import memory
from heldout.engines.memory import counted
from heldout.engines.refinement import FILES_AT_REST
from heldout.engines.stream.batch_columns import StreamRoles, ValueFaults, bad_weight
from heldout.errors import ValuesError
from heldout.evidence.counted import Counted
from heldout.evidence.labels import key_array
from heldout.predictions.case_values import (
    RawScores,
    Scores,
    groups,
    raw_scores,
    refuse_two_columns,
    settle_scores,
    weights,
)
from heldout.predictions.label_encoding import DIRECT_RANGE, Coded, refuse_labels
from heldout.predictions.slice_plans import SliceColumn, SlicePlan
from heldout.predictions.table import Predictions

if TYPE_CHECKING:
    import polars as pl


# Up to this many texts are compared one by one.
FEW = 8


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
        self._name = f"The column {values.name!r}"
        self._values = known.gather(order)
        # Missing is the last.
        self._move = np.append(codes[order], -1)
        self._enum = pl.Enum(self._values) if self._values.dtype == pl.String else None

    def coded(self, column: pl.Series) -> Coded:
        """A batch of the column; a value that is none of those that were met has some code."""
        return self.read(column)[0]

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
        if self._enum is not None and absent <= FEW:
            return self._compared(column)
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

    def _compared(self, column: pl.Series) -> tuple[NDArray[Any], NDArray[np.bool_]]:
        """The same where texts are few: comparing with each is quicker than looking each up."""
        import polars as pl

        named = pl.col(column.name)
        # From 1 on; 0 is no text that was met.
        equal = [(named == value).cast(pl.UInt8) * index for index, value in enumerate(self._values.to_list(), start=1)]
        places = column.to_frame().select(pl.sum_horizontal(equal).fill_null(0)).to_series().to_numpy()
        indices = np.append(0, np.arange(len(self._values)))[places]
        strange = places == 0
        if column.null_count():
            gone = column.is_null().to_numpy()
            indices[gone] = len(self._values)
            strange &= ~gone
        return indices, strange


@dataclass(frozen=True, eq=False)
class LabelledScores:
    """The scores of some rows with what they are counted by: the true class, or whether it is the positive one.

    `probable` says that all of them are probabilities.
    """

    scores: NDArray[Any]
    codes: NDArray[Any]
    weight: NDArray[np.float64] | None = None
    group: tuple[NDArray[Any], NDArray[Any]] | None = None
    fold: Coded | None = None
    probable: bool = False

    def folds(self) -> dict[Any, LabelledScores]:
        """The rows of each fold that is met, by its key; nothing where there are no folds."""
        fold = self.fold
        if fold is None:
            return {}
        codes = fold.codes.astype(np.int64) - fold.offset
        # Short whole numbers are sorted without comparing them.
        order = np.argsort(codes.astype(np.uint16) if len(fold.labels) < 1 << 16 else codes, kind="stable")
        starts = np.flatnonzero(np.diff(codes[order], prepend=-1))
        parts = np.split(order, starts[1:])
        return {fold.labels[code]: self._taken(rows) for code, rows in zip(codes[order[starts]], parts, strict=True)}

    def _taken(self, rows: NDArray[np.int64]) -> LabelledScores:
        group = None
        if self.group is not None:
            groups_present, group_index = np.unique(self.group[0][rows], return_inverse=True)
            group = group_index, self.group[1][groups_present]
        weight = None if self.weight is None else self.weight[rows]
        return LabelledScores(self.scores[rows], self.codes[rows], weight, group, probable=self.probable)


@dataclass(frozen=True, eq=False)
class CountedBatch:
    """What was counted of one batch; nothing but what was seen, where none of its rows can be counted.

    `scored` are its rows, where whoever counts scores in bins still has to see them.
    """

    seen: ValueFaults
    counted: Counted | None = None
    scored: LabelledScores | None = None


class RowReader:
    """Reads batches as predictions whose labels, positive class and slices are those of the whole.

    `like` are the combinations of classes that are met anywhere, `pairs` the same as they stand in the files.
    """

    def __init__(
        self, roles: StreamRoles, like: Predictions, pairs: pl.DataFrame, plans: Sequence[SlicePlan], *, pairwise: bool
    ) -> None:
        self.roles = roles
        self.like = like
        self.plans = tuple(plans)
        self.pairwise = pairwise
        self._truth = LabelCodes(pairs.get_column(roles.wanted["truth"]), like.truth)
        self._predicted = None
        if not roles.makes_predicted:
            self._predicted = LabelCodes(pairs.get_column(roles.wanted["predicted"]), like.predicted)
        # Of the two classes that a score tells apart only one may be met: as in memory, the other is then no class.
        self._keep_labels = memory.count(like).labels == like.labels
        # With groups every batch has a table of scores of its own; otherwise all batches share one.
        self.apart = "group" in roles.wanted

    def piece(self, frame: pl.DataFrame, start: int) -> CountedBatch:
        """Count a batch, whose first row is that place in the whole; rows of weight 0 are only told."""
        given = len(frame)
        frame, places = self._weighted(frame, start)
        if not len(places):
            return CountedBatch(ValueFaults(weightless=given))
        columns = self._columns(frame)
        gaps = _gaps(columns)
        lost = np.logical_or.reduce(list(gaps.values())) if gaps else None
        seen = replace(self._seen(columns, gaps, lost, places), weightless=given - len(frame))
        keep = None if lost is None else ~lost
        if keep is not None:
            columns = {role: _taken(column, keep) for role, column in columns.items()}
            places = places[keep]
        if not len(places):
            return CountedBatch(seen)
        if "weight" in columns:
            seen += bad_weight(columns["weight"], places)
        if "score" in columns:
            seen += _classes_by_score(columns["score"], places)
        if seen.infinite or seen.has_bad_weight:
            return CountedBatch(seen)
        predictions = self._predictions(frame, columns, keep)
        return self._counted(predictions, seen)

    def _weighted(self, frame: pl.DataFrame, start: int = 0) -> tuple[pl.DataFrame, NDArray[np.int64]]:
        """The rows whose weight is not 0, and their places in the whole."""
        places = start + np.arange(len(frame))
        if "weight" not in self.roles.wanted:
            return frame, places
        keep = weights(frame.get_column(self.roles.wanted["weight"]), self.roles.called["weight"]) != 0
        return (frame, places) if keep.all() else (frame.filter(keep), places[keep])

    def _columns(self, frame: pl.DataFrame) -> dict[str, Any]:
        wanted, called = self.roles.wanted, self.roles.called
        columns: dict[str, Any] = {}
        unknown: dict[str, NDArray[np.bool_]] = {}
        for role, codes in (("truth", self._truth), ("predicted", self._predicted)):
            if codes is not None:
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
        if self.roles.scores:
            columns["score"] = raw_scores({name: frame.get_column(name) for name in self.roles.scores}).values
        if unknown:
            _refuse_unknown(unknown, columns, called)
        return columns

    def _seen(
        self, columns: dict[str, Any], gaps: dict[str, NDArray[np.bool_]], lost: Any, places: NDArray[np.int64]
    ) -> ValueFaults:
        rows, no_score, first = len(places), 0, -1
        if "score" in columns:
            bad = ~np.isfinite(columns["score"]).reshape(rows, -1).all(axis=1)
            no_score = int(np.count_nonzero(bad))
            first = int(places[bad.argmax()]) if no_score else -1
        return ValueFaults(
            rows=rows,
            lost=0 if lost is None else int(np.count_nonzero(lost)),
            missing={role: int(np.count_nonzero(gap)) for role, gap in gaps.items()},
            first_lost=-1 if lost is None else int(places[lost.argmax()]),
            no_score=no_score,
            first_no_score=first,
        )

    def _predictions(self, frame: pl.DataFrame, columns: dict[str, Any], keep: Any) -> Predictions:
        like = self.like
        scores: Scores | None = None
        if "score" in columns:
            scores = settle_scores(RawScores(columns["score"], tuple(self.roles.scores)), like.labels, like.positive)
            if scores.unfit is not None and scores.unfit.decision:
                raise refuse_two_columns(self.roles.scores, scores.unfit)
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

    def scored(self, frame: pl.DataFrame) -> LabelledScores | None:
        """The scores of the rows that lack nothing; None where there is no such row."""
        frame, places = self._weighted(frame)
        if not len(places):
            return None
        columns = self._columns(frame)
        gaps = _gaps(columns)
        keep = ~np.logical_or.reduce(list(gaps.values())) if gaps else None
        if keep is not None:
            columns = {role: _taken(column, keep) for role, column in columns.items()}
        return self._scored(self._predictions(frame, columns, keep)) if len(columns["truth"]) else None

    def _scored(self, predictions: Predictions) -> LabelledScores | None:
        if predictions.scores is None:
            return None
        truth, group = predictions.truth, predictions.group
        codes = predictions.truth_place[truth.codes.astype(np.int64) - truth.offset]
        if not predictions.scores.per_class:
            labels = predictions.labels
            codes = codes == (labels.index(predictions.positive) if predictions.positive is not None else 1)
        keyed = None
        if group is not None:
            groups_present, group_index = np.unique(group.codes.astype(np.int64) - group.offset, return_inverse=True)
            keyed = group_index, key_array([group.labels[code] for code in groups_present.tolist()])
        probable = predictions.scores.is_probability
        return LabelledScores(predictions.scores.values, codes, predictions.weight, keyed, predictions.fold, probable)

    def _counted(self, predictions: Predictions, seen: ValueFaults) -> CountedBatch:
        scored = None if self.apart else self._scored(predictions)
        plain = replace(predictions, scores=None) if scored is not None else predictions
        return CountedBatch(
            seen, counted(plain, rows=seen.rows, missing={}, lost=seen.lost, pairs=self.pairwise), scored
        )


def _gaps(columns: dict[str, Any]) -> dict[str, NDArray[np.bool_]]:
    """Where each role lacks a value, of the roles that do somewhere."""
    gaps: dict[str, NDArray[np.bool_]] = {}
    for role, column in columns.items():
        if isinstance(column, Coded):
            if column.missing:
                gaps[role] = column.is_missing
            continue
        absent = np.isnan(column)
        if absent.any():
            gaps[role] = absent.any(axis=1) if absent.ndim == 2 else absent
    return gaps


def _refuse_unknown(unknown: dict[str, NDArray[np.bool_]], columns: dict[str, Any], called: Mapping[str, str]) -> None:
    """Refuse labels that were not met before; in a row that lacks something they were not looked at."""
    gaps = list(_gaps(columns).values())
    for role, strange in unknown.items():
        if (strange & ~np.logical_or.reduce(gaps) if gaps else strange).any():
            raise ValuesError(
                f"{called[role]} has labels that it did not have when it was read before, so the files changed.",
                hint=FILES_AT_REST,
            )


def _taken(column: Any, keep: NDArray[np.bool_]) -> Any:
    return column.taken(keep) if isinstance(column, Coded) else column[keep]


def _classes_by_score(values: NDArray[Any], places: NDArray[np.int64]) -> ValueFaults:
    """What the scores of some rows are."""
    bad = ~np.isfinite(values)
    if bad.any():
        rows = np.flatnonzero(bad.any(axis=1) if bad.ndim == 2 else bad)
        return ValueFaults(infinite=int(np.count_nonzero(bad)), first_infinite=int(places[rows[0]]))
    low, high = float(values.min()), float(values.max())
    if values.ndim == 1:
        return ValueFaults(low=low, high=high)
    off = np.abs(values.sum(axis=1, dtype=np.float64) - 1)
    worst = int(off.argmax())
    return ValueFaults(
        low=low, high=high, off=float(off[worst]), total=float(values[worst].sum()), worst=int(places[worst])
    )
