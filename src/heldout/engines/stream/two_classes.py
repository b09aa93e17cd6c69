"""The quickest way through a table of two classes and one score: the reader makes the codes, which are added up."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from heldout.engines.compiled import CompiledTally
from heldout.engines.probability_sums import RunningTally, tally
from heldout.engines.score_ladder import ScoredRows, ScoreLadder
from heldout.engines.stream.batch_columns import StreamRoles, ValueFaults
from heldout.engines.stream.rows import LabelledScores
from heldout.evidence import Confusion
from heldout.evidence.losses import least_probability
from heldout.evidence.probabilities import Probabilities
from heldout.predictions.table import Predictions

if TYPE_CHECKING:
    import polars as pl


TRUTH, PREDICTED, SCORE, KNOWN = "truth", "predicted", "score", "known"


class SurpriseError(Exception):
    """A batch holds what the first one did not lead to expect: another label, a missing value, a score not finite."""


@dataclass(frozen=True, eq=False)
class BatchSums:
    """What one batch adds: the four cells (truth · 2 + predicted), the ends of the scores, and the sums of losses.

    `aside` are rows whose scores have no bin yet.
    """

    cells: NDArray[np.int64]
    low: float
    high: float
    probabilities: Probabilities | None
    aside: ScoredRows | None = None

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
    """Counts batches of two classes; `like` are the combinations in the first batch, `pairs` as they stand there.

    With `compiled` it does so in compiled passes.
    """

    def __init__(self, roles: StreamRoles, like: Predictions, pairs: pl.DataFrame, *, compiled: bool = False) -> None:
        self.like = like
        self.compiled = compiled
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

    def sums(self, frame: pl.DataFrame, counter: ScoreLadder) -> BatchSums:
        """Add up a batch, and count its scores in bins; several threads may do so at once."""
        _check(frame)
        # How a batch is stored depends on who read it, and sums on where a block of rows begins.
        whole = frame.rechunk()
        scores, positive = self._columns_of(whole)
        if not len(scores):
            raise SurpriseError
        rows = ScoredRows.of(scores, positive)
        # Written so that nan fails as well.
        if not -np.inf < rows.low <= rows.high < np.inf:
            raise SurpriseError
        predicted = self._predicted(whole, scores)
        probable = rows.low >= 0 and rows.high <= 1
        if self.compiled and probable and counter.is_laid_out:
            return _counted_compiled(rows, predicted, counter)
        aside = counter.count(rows)
        losses = _probabilities(rows) if probable else None
        return BatchSums(_cells(positive, predicted), rows.low, rows.high, losses, aside)

    def _columns_of(self, frame: pl.DataFrame) -> tuple[NDArray[Any], NDArray[np.bool_]]:
        scores = frame.get_column(SCORE).to_numpy()
        if scores.dtype.kind != "f":
            scores = scores.astype(np.float64)
        return scores, frame.get_column(TRUTH).to_numpy().view(np.bool_)

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


def _counted_compiled(rows: ScoredRows, predicted: NDArray[np.bool_], counter: ScoreLadder) -> BatchSums:
    """What a batch of probabilities adds, in compiled passes."""
    with counter.counters() as counters:
        tallied = CompiledTally(counter.laid_out, counters, None if counter.crowded else counter.owners)
        missed = tallied.add(rows.scores, rows.positive, least_probability(rows.scores))
    aside = counter.leave(rows, missed)
    return BatchSums(_cells(rows.positive, predicted), rows.low, rows.high, tallied.probabilities(), aside)


def _probabilities(rows: ScoredRows) -> Probabilities:
    """The sums of losses of a batch."""
    if rows.scores.dtype != np.float64:
        return tally(rows.scores, rows.positive)
    running = RunningTally()
    running.add(rows.scores, rows.positive)
    return running.probabilities()


def _cells(truth: NDArray[np.bool_], predicted: NDArray[np.bool_]) -> NDArray[np.int64]:
    both = np.count_nonzero(truth & predicted)
    true, predicted_positive = np.count_nonzero(truth), np.count_nonzero(predicted)
    return np.array(
        [len(truth) - true - predicted_positive + both, predicted_positive - both, true - both, both], dtype=np.int64
    )
