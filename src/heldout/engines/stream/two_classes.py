"""The quickest way through a table of two classes and one score: the reader makes the codes, which are added up."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from heldout.engines.probability_sums import RunningTally, tally
from heldout.engines.stream.batch_columns import StreamRoles, ValueFaults
from heldout.engines.stream.rows import LabelledScores
from heldout.engines.stream.two_class_bins import ScoredRows, StreamBins
from heldout.evidence import Confusion
from heldout.evidence.probabilities import Probabilities
from heldout.predictions.table import Predictions

if TYPE_CHECKING:
    import polars as pl

TRUTH, PREDICTED, SCORE, KNOWN = "truth", "predicted", "score", "known"


class SurpriseError(Exception):
    """A batch holds what the first one did not lead to expect: another label, a missing value, a score not finite."""


@dataclass(frozen=True, eq=False)
class BatchSums:
    """What one batch adds: the four cells (truth · 2 + predicted), the ends of the scores, and the sums of losses."""

    cells: NDArray[np.int64]
    low: float
    high: float
    probabilities: Probabilities | None

    @property
    def rows(self) -> int:
        """The number of rows."""
        return int(self.cells.sum())

    def __add__(self, other: BatchSums) -> BatchSums:
        both = self.probabilities, other.probabilities
        added = None if both[0] is None or both[1] is None else both[0] + both[1]
        return BatchSums(self.cells + other.cells, min(self.low, other.low), max(self.high, other.high), added)

    def seen(self) -> ValueFaults:
        """What was met, in the words that any batch is described in."""
        return ValueFaults(rows=self.rows, low=self.low, high=self.high)


class TwoClasses:
    """Counts batches of two classes; `like` are the combinations in the first batch, `pairs` as they stand there."""

    def __init__(self, roles: StreamRoles, like: Predictions, pairs: pl.DataFrame) -> None:
        self.like = like
        self.makes_predicted = roles.makes_predicted
        self._place = like.labels.index(like.positive) if like.positive is not None else 1
        self._raw = {
            role: _raw_values(pairs.get_column(roles.wanted[role]), like, role)
            for role in (TRUTH, PREDICTED)
            if role in roles.wanted
        }
        self._columns = {**roles.wanted, SCORE: roles.scores[0]}

    @staticmethod
    def fits(roles: StreamRoles, like: Predictions) -> bool:
        """Whether there is nothing but two classes and one score."""
        plain = not roles.slices and set(roles.wanted) <= {TRUTH, PREDICTED} and len(roles.scores) == 1
        if not plain or len(like.labels) != 2 or like.scores is None or like.scores.per_class:
            return False
        both = [like.truth] if roles.makes_predicted else [like.truth, like.predicted]
        return all(len(coded.met()) == 2 for coded in both)

    def expressions(self) -> list[pl.Expr]:
        """What the reader makes of the columns: whether each class is the positive one, whether both are known."""
        import polars as pl

        expressions, known = [], pl.lit(value=True)
        for role, (negative, positive) in self._raw.items():
            column = pl.col(self._columns[role])
            yes = column == pl.lit(positive)
            expressions.append(yes.cast(pl.UInt8).alias(role))
            known = known & (yes | (column == pl.lit(negative)))
        return [*expressions, known.fill_null(value=False).alias(KNOWN), pl.col(self._columns[SCORE]).alias(SCORE)]

    def sums(self, frame: pl.DataFrame, counter: StreamBins) -> BatchSums:
        """Add up a batch, and count its scores in bins."""
        _check(frame)
        parts = [part for part in _chunks(frame) if len(part)]
        pieces = [ScoredRows.of(*self._columns_of(part)) for part in parts]
        # Written so that nan fails as well.
        if not pieces or not all(-np.inf < rows.low <= rows.high < np.inf for rows in pieces):
            raise SurpriseError
        counter.add_rows(pieces)
        cells = np.zeros(4, dtype=np.int64)
        for rows, part in zip(pieces, parts, strict=True):
            cells += _cells(rows.positive, self._predicted(part, rows.scores))
        low, high = min(rows.low for rows in pieces), max(rows.high for rows in pieces)
        return BatchSums(cells, low, high, _probabilities(pieces) if low >= 0 and high <= 1 else None)

    def _columns_of(self, frame: pl.DataFrame) -> tuple[NDArray[Any], NDArray[np.bool_]]:
        return frame.get_column(SCORE).to_numpy(), frame.get_column(TRUTH).to_numpy().view(np.bool_)

    def _predicted(self, frame: pl.DataFrame, scores: NDArray[Any]) -> NDArray[np.bool_]:
        if self.makes_predicted:
            return np.asarray(scores >= self.like.threshold)
        return frame.get_column(PREDICTED).to_numpy().view(np.bool_)

    def scored(self, frame: pl.DataFrame) -> LabelledScores:
        """The scores of a batch that was met before, and which of its rows are positive."""
        return LabelledScores(*self._columns_of(frame))

    def confusion(self, sums: BatchSums) -> Confusion:
        """The counts in the order of the labels."""
        table = sums.cells.reshape(2, 2)
        return Confusion.of(table if self._place else table[::-1, ::-1], self.like.labels)


def _check(frame: pl.DataFrame) -> None:
    """Refuse a batch with other labels than those of the first, or with a score that is missing."""
    if not frame.get_column(KNOWN).all() or frame.get_column(SCORE).null_count():
        raise SurpriseError


def _raw_values(column: pl.Series, like: Predictions, role: str) -> tuple[Any, Any]:
    """The values of a column that stand for the negative and for the positive class."""
    coded, places = (like.truth, like.truth_place) if role == TRUTH else (like.predicted, like.predicted_place)
    where = places[coded.codes[: len(column)].astype(np.int64) - coded.offset]
    positive = like.labels.index(like.positive) if like.positive is not None else 1
    values_by_class = [column.filter(where == at).unique().to_list() for at in (1 - positive, positive)]
    if [len(values) for values in values_by_class] != [1, 1]:
        raise SurpriseError
    return values_by_class[0][0], values_by_class[1][0]


def _probabilities(pieces: Sequence[ScoredRows]) -> Probabilities:
    """The sums of losses of a batch."""
    if pieces[0].scores.dtype != np.float64:
        return tally(np.concatenate([rows.scores for rows in pieces]), np.concatenate([r.positive for r in pieces]))
    running = RunningTally()
    for rows in pieces:
        running.add(rows.scores, rows.positive)
    return running.probabilities()


def _cells(truth: NDArray[np.bool_], predicted: NDArray[np.bool_]) -> NDArray[np.int64]:
    both = np.count_nonzero(truth & predicted)
    true, predicted_positive = np.count_nonzero(truth), np.count_nonzero(predicted)
    return np.array(
        [len(truth) - true - predicted_positive + both, predicted_positive - both, true - both, both], dtype=np.int64
    )


def _chunks(frame: pl.DataFrame) -> list[pl.DataFrame]:
    """The pieces that a batch is stored in, each of which NumPy reads where it stands."""
    import polars as pl

    sizes = [len(chunk) for chunk in frame.get_column(SCORE).get_chunks()]
    same = all([len(chunk) for chunk in column.get_chunks()] == sizes for column in frame.get_columns())
    if not same:
        return [frame.rechunk()]
    parts = zip(*(column.get_chunks() for column in frame.get_columns()), strict=True)
    return [pl.DataFrame(list(part)) for part in parts]
