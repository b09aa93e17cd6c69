"""The answers of several classifiers to the same cases, joined and counted where the rows are.

Two readings: the joint counts of truth and answers, and, where scores are compared, sums over the joined cases. One
more looks for ids that stand twice, unless that is known, and one for groups that differ. Only tables of distinct
labels, of groups and of bins travel.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from heldout.arguments import listing
from heldout.arrays import Codes
from heldout.engines.lazy.joint_sums import ScoredSide, joint_scores
from heldout.engines.lazy.matched_ids import (
    N,
    alike_ids,
    check_copies,
    check_groups,
    check_matched,
    check_truths,
    rows_counted,
)
from heldout.engines.lazy.pushed_tables import fetched
from heldout.engines.lazy.sides import CASE, LazySide, columns_of
from heldout.errors import OptionError
from heldout.evidence import Label
from heldout.evidence.joint_scores import JointScores
from heldout.evidence.pairs import PairCounts
from heldout.predictions.encode import encode
from heldout.predictions.match import renamed
from heldout.predictions.pairing import common_labels


@dataclass(frozen=True, eq=False)
class LazyCases:
    """The same cases as all classifiers judged them: places among `labels`, with how often each combination stands.

    `by` says how the cases were matched. `frame` is the joined frame, one row to a case.
    """

    sides: tuple[LazySide, ...]
    frame: Any
    labels: tuple[Label, ...]
    truth: Codes
    predicted: tuple[Codes, ...]
    counts: Codes
    positives: tuple[Any, ...]
    by: str
    notes: tuple[str, ...] = ()

    @property
    def n(self) -> int:
        """The number of cases."""
        return int(self.counts.sum())

    @property
    def engine(self) -> str:
        """The name of the engine that holds the rows."""
        return str(self.frame.implementation.value)

    def pairs(self, one: int, two: int) -> PairCounts:
        """The joint counts of two of them."""
        return PairCounts.of(self.truth, self.predicted[one], self.predicted[two], self.labels, self.counts)

    @cached_property
    def scores(self) -> JointScores:
        """What the scores of all of them tell together."""
        sides = [ScoredSide(side.bins, side.losses) for side in self.sides if side.bins is not None]
        return joint_scores(self.frame, sides, self.positives)


def lazy_cases(sides: Sequence[LazySide]) -> LazyCases:
    """Join the cases of several classifiers by id, or take them from the one frame that holds them all.

    >>> import narwhals.stable.v2 as nw
    >>> import polars as pl
    >>> one = nw.from_native(pl.LazyFrame({"id": [1, 2], "y": ["a", "b"], "p": ["a", "a"]}))
    >>> two = nw.from_native(pl.LazyFrame({"id": [2, 1], "y": ["b", "a"], "p": ["b", "b"]}))
    >>> held = [LazySide(name, frame, ("a", "b"), 2, "y", "p", id="id") for name, frame in (("A", one), ("B", two))]
    >>> seen = lazy_cases(held).pairs(0, 1)
    >>> seen.only_a, seen.only_b
    (1, 1)
    """
    alone = all(side.frame is sides[0].frame for side in sides)
    by = "id" if all(side.id is not None and not side.in_order for side in sides) else "order"
    frame = columns_of(sides[0], 0, *sides[1:]) if alone else _joined(sides)
    keys = [column for column in frame.collect_schema().names() if column[0] in "tp"]
    table = fetched(frame.group_by(keys).agg(rows_counted()))
    counts = table[N].cast(int).to_numpy().astype(np.int64)
    labels, moves, notes = common_labels([side.labels for side in sides], [side.name for side in sides])
    truths = [
        move[_places(table[f"t{0 if alone else at}"], side.labels)]
        for at, (side, move) in enumerate(zip(sides, moves, strict=True))
    ]
    if not alone:
        check_matched(sides, int(counts.sum()))
        check_truths(sides, frame, table, truths, counts, labels)
        check_groups(sides, frame)
    predicted = tuple(
        move[_answers(table[f"p{at}"], side)] for at, (side, move) in enumerate(zip(sides, moves, strict=True))
    )
    positive = sides[0].positive
    place = -1 if positive is None else labels.index(positive)
    raw = table["t0"].filter(truths[0] == place).unique(maintain_order=True).to_list()
    return LazyCases(tuple(sides), frame, labels, truths[0], predicted, counts, tuple(raw), by, notes)


def _joined(sides: Sequence[LazySide]) -> Any:
    lacking = [side.name for side in sides if side.id is None]
    if lacking:
        raise OptionError(
            f"Rows that are counted where they are have no order, and these do not name their cases: "
            f"{listing(lacking)}.",
            hint="name the column with the id of each case (id=, --id).",
        )
    kinds = {side.frame.implementation for side in sides}
    if len(kinds) > 1:
        raise OptionError(
            f"Frames of different engines cannot be joined: {listing(kind.value for kind in kinds)}.",
            hint="give all of them in one engine, or read their rows into memory.",
        )
    parts = alike_ids([columns_of(side, at) for at, side in enumerate(sides)], sides)
    for side, part in zip(sides, parts, strict=True):
        if not (side.distinct or side.in_order):
            check_copies(side, part)
    frame = parts[0]
    for part in parts[1:]:
        try:
            frame = frame.join(part, on=CASE, how="inner")
        except Exception as error:
            if "different connections" not in str(error):
                raise
            raise OptionError(
                f"Relations of different connections of DuckDB cannot be joined: {listing(s.name for s in sides)}.",
                hint="make all of them from one connection.",
            ) from None
    return frame


def _answers(column: Any, side: LazySide) -> Codes:
    """The places of the answers among the labels of their side."""
    if side.predicted is not None:
        return _places(column, side.labels)
    if side.each:
        return np.asarray(column.to_numpy(), dtype=np.int64)
    place = 1 if side.positive is None else side.labels.index(side.positive)
    return np.where(column.to_numpy() == 1, place, 1 - place)


def _places(column: Any, labels: tuple[Label, ...]) -> Codes:
    """The places of raw values among labels, which may write them in another type: 1 for "1"."""
    coded = encode(column, "label")
    rename = renamed(labels, coded.labels)[0]
    place = {label: position for position, label in enumerate(labels)}
    moved = np.array([place.get(rename.get(label, label), -1) for label in coded.labels], dtype=np.int64)
    return np.asarray(moved[coded.codes.astype(np.int64) - coded.offset])
