"""Reads batches of a table as predictions with the labels of the whole, and counts them.

It stands apart from the engine, which decides what is read and how often: this works on one batch, on any thread.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from heldout.arrays import Integers
from heldout.engines import memory
from heldout.engines.labelled_scores import LabelledScores
from heldout.engines.memory import counted
from heldout.engines.refinement import FILES_AT_REST
from heldout.engines.stream.batch_columns import NEVER, StreamRoles, ValueFaults, absent, bad_weight
from heldout.errors import ValuesError
from heldout.evidence.counted import Counted
from heldout.files.batches import Batches
from heldout.predictions.case_values import RawScores, Scores, groups, refuse_two_columns, settle_scores, weights
from heldout.predictions.label_encoding import Coded, refuse_labels
from heldout.predictions.score_columns import class_of
from heldout.predictions.slice_plans import SliceColumn, SlicePlan
from heldout.predictions.table import Predictions

# Up to this many values are compared one by one, which is faster than to look them up.
FEW = 8
# What the columns are called that tell which label each row has.
MARKS = "marks of "


class LabelCodes:
    """The code of every value that a column of labels holds anywhere, looked up by Polars as it reads.

    >>> import polars as pl
    >>> seen = LabelCodes(pl.Series(["b", "a"]), Coded(np.array([1, 0]), 0, ("a", "b")))
    >>> seen.read(pl.DataFrame({"y": ["a", None, "b"]}).select(seen.marks("y")).to_series())[0].codes.tolist()
    [0, -1, 1]
    """

    def __init__(self, values: pl.Series, coded: Coded) -> None:
        if values.dtype == pl.Binary:
            raise refuse_labels(f"The column {values.name!r} holds values of type {values.dtype}")
        first = values.is_first_distinct()
        codes = coded.codes[: len(first)][first.to_numpy()].astype(np.int32) - coded.offset
        self._like, self._values, self._marks = coded, values.filter(first), codes + 1
        self._few = max(len(codes), int(self._marks.max())) <= FEW
        self._missing = int(np.iinfo(np.uint8 if self._few else np.int32).max)

    def marks(self, name: str) -> pl.Expr:
        """One more than the code of every value of a column, 0 for one that was not met."""
        column, kind = pl.col(name), self._values.dtype
        column = column.fill_nan(None) if kind.is_float() else column
        if self._few:
            known = zip(self._values.to_list(), self._marks.tolist(), strict=True)
            equal = [(column == pl.lit(value, dtype=kind)).cast(pl.UInt8) * mark for value, mark in known]
            return pl.sum_horizontal(equal, ignore_nulls=False).fill_null(self._missing)
        marks = column.replace_strict(self._values, pl.Series(self._marks), default=0, return_dtype=pl.Int32)
        return pl.when(column.is_null()).then(pl.lit(self._missing, dtype=pl.Int32)).otherwise(marks)

    def read(self, column: pl.Series) -> tuple[Coded, NDArray[np.bool_] | None]:
        """A batch of such marks, and which of its values are none of those that were met; None where all are."""
        marks, like = column.to_numpy(), self._like
        if not len(marks) or (marks.min() and marks.max() < self._missing):
            return Coded(marks - marks.dtype.type(1), 0, like.labels, like.declared), None
        codes, strange = marks.astype(np.int64) - 1, marks == 0
        codes[marks == self._missing] = -1
        codes[strange] = 0
        missing = int(np.count_nonzero(codes < 0))
        return Coded(codes, 0, like.labels, like.declared, missing), strange if strange.any() else None


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
        """Read a table anew; the reader tells which label each row has."""
        wanted = [name for role, name in self.roles.wanted.items() if role not in self._codes]
        made = [pl.col(name) for name in dict.fromkeys([*wanted, *self.roles.scores, *self.roles.slices])]
        made += [codes.marks(self.roles.wanted[role]).alias(MARKS + role) for role, codes in self._codes.items()]
        return batches.frames(self.roles.every(), made)

    def piece(self, frame: pl.DataFrame, start: int) -> tuple[ValueFaults, Counted | None, LabelledScores | None]:
        """What was seen in a batch whose first row has that place, its counts, and scores not counted yet.

        Rows of weight 0 are only told; there are no counts where no row can be counted.
        """
        found = self._read(frame, start)
        if isinstance(found, ValueFaults):
            return found, None, None
        seen, predictions = found
        scored = None if self.apart or predictions.scores is None else LabelledScores.of(predictions)
        plain = replace(predictions, scores=None) if scored is not None else predictions
        return seen, counted(plain, pairs=self.pairwise), scored

    def scored(self, frame: pl.DataFrame) -> LabelledScores | None:
        """The scores of the rows that lack nothing; None where there is no such row."""
        found = self._read(frame)
        return None if isinstance(found, ValueFaults) else LabelledScores.of(found[1])

    def _read(self, frame: pl.DataFrame, start: int = 0) -> ValueFaults | tuple[ValueFaults, Predictions]:
        """What was seen in a batch, and its rows that lack nothing, if there are any and their values are sound."""
        given = len(frame)
        # Where the rows that are left of the batch stand in the whole.
        places: Sequence[int] | Integers = range(start, start + given)
        if "weight" in self.roles.wanted:
            keep = weights(frame.get_column(self.roles.wanted["weight"]), self.roles.called["weight"]) != 0
            frame, places = (frame, places) if keep.all() else (frame.filter(keep), _places(places, keep))
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
            first_lost=NEVER if lost is None else int(places[int(lost.argmax())]),
        )
        keep = None if lost is None else ~lost
        if "score" in columns:
            seen += _without_score(columns["score"], places)
        if keep is not None:
            columns = {role: _taken(column, keep) for role, column in columns.items()}
            places = _places(places, keep)
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
            columns[role], strange = codes.read(frame.get_column(MARKS + role))
            if strange is not None:
                unknown[role] = strange
        if "weight" in wanted:
            columns["weight"] = weights(frame.get_column(wanted["weight"]), called["weight"])
        for role in ("group", "fold"):
            if role in wanted:
                columns[role] = groups(frame.get_column(wanted[role]), called[role])
        if "id" in wanted:
            name = wanted["id"]
            gap = frame.select(absent(name, frame.schema[name])).to_series().to_numpy()
            columns["id"] = Coded(-gap.astype(np.int8), 0, (), missing=int(gap.sum()))
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


def _without_score(values: NDArray[Any], places: Sequence[int] | Integers) -> ValueFaults:
    """In how many rows a score is missing or not finite."""
    if np.isfinite(_total(values)):
        return ValueFaults()
    bad = ~np.isfinite(values).reshape(len(values), -1).all(axis=1)
    number = int(np.count_nonzero(bad))
    return ValueFaults(no_score=number, first_no_score=int(places[int(bad.argmax())]) if number else NEVER)


def _places(places: Any, keep: NDArray[np.bool_]) -> Integers:
    """Those of the places whose rows are kept."""
    return places[keep] if isinstance(places, np.ndarray) else places.start + np.flatnonzero(keep)


def _taken(column: Any, keep: NDArray[np.bool_]) -> Any:
    return column.taken(keep) if isinstance(column, Coded) else column[keep]


def _classes_by_score(values: NDArray[Any], places: Sequence[int] | Integers) -> ValueFaults:
    """What the scores of some rows are."""
    low, high = float(values.min()), float(values.max())
    if not (np.isfinite(low) and np.isfinite(high)):
        bad = ~np.isfinite(values)
        row = int((bad.any(axis=1) if bad.ndim == 2 else bad).argmax())
        return ValueFaults(infinite=int(np.count_nonzero(bad)), first_infinite=int(places[row]))
    if values.ndim == 1:
        return ValueFaults(low=low, high=high)
    off = np.abs(values.sum(axis=1, dtype=np.float64) - 1)
    worst = int(off.argmax())
    return ValueFaults(low=low, high=high, furthest=(float(off[worst]), float(values[worst].sum()), int(places[worst])))
