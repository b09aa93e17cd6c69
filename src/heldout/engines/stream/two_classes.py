"""The quickest way through a table of two classes and one score: the reader makes the codes, which are added up."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from heldout.arrays import Floats, Integers
from heldout.engines.bins import LIMIT, BinCounter
from heldout.engines.probability_sums import RunningTally, tally
from heldout.engines.stream.batch_columns import StreamRoles, ValueFaults
from heldout.engines.stream.rows import LabelledScores
from heldout.evidence import Confusion
from heldout.evidence.probabilities import Probabilities
from heldout.evidence.score_bins import MOST, POINT, ScoreBins
from heldout.predictions.table import Predictions

if TYPE_CHECKING:
    import polars as pl


# Scores of two classes, counted batch by batch, with finer bins from the start where the ranking begins.
#
# Average precision hangs on the cases with the highest scores, so those are the bins that a second reading would look
# into. Where the first rows show how scores are spread, these bins are counted finely at once, which mostly saves
# that second reading.

# Counters of two classes in bins that were laid out beforehand: small ones, so that they stay in the cache.
#
# A counter of 16 bits may run over. That is found out after each batch, by adding all of them up, and then what the
# batch added is taken back, which arithmetic modulo 2**16 does exactly, and counted in wider ones. Adding all up
# takes as long as counting some hundred thousand rows; where a batch brings fewer, counters of 32 bits are emptied in
# time instead.

BLOCK = 1 << 17
# Indices of bins stay below this, so that with the class they are whole numbers of 32 bits.
FAR = 1 << 29
# The grid may be finer by so many powers of two than the one for which all bins, met or not, find room.
DEEP = 2
FULL = (1 << 16) - 1


class ScoredRows(NamedTuple):
    """Some rows: scores, which of them are positive, and between which ends the scores lie."""

    scores: NDArray[Any]
    positive: NDArray[np.bool_]
    low: float
    high: float

    @classmethod
    def of(cls, scores: NDArray[Any], positive: NDArray[np.bool_]) -> Self:
        """Rows, at least one, and their ends; these are nan where a score is."""
        return cls(scores, positive, float(np.minimum.reduce(scores)) + 0.0, float(np.maximum.reduce(scores)) + 0.0)


@dataclass(frozen=True)
class BinLayout:
    """The bins `first` to `first + size` of the grid 2**exponent; `depth` is by how much it is finer than another."""

    exponent: int
    first: int
    size: int
    depth: int = 0

    @classmethod
    def of(cls, batch: Sequence[ScoredRows], most: int) -> Self | None:
        """The finest grid on which such rows meet at most so many bins; None where no counters should be laid out.

        That is where scores are few, or so unevenly spread that most of the bins between their ends are not met.
        """
        least, greatest = min(rows.low for rows in batch), max(rows.high for rows in batch)
        width = greatest - least
        if not 0 < width < np.inf:
            return None
        exponent = int(np.frexp(width / most)[1]) - 1
        while (ends := _ends(least, greatest, exponent))[1] - ends[0] >= most:
            exponent += 1
        finest = exponent - DEEP - 1
        # Of a score below 0 times a power of two below 1 nothing may be left.
        if abs(finest) > LIMIT or (least < 0 and exponent > 0):
            return None
        first, last = _ends(least, greatest, finest)
        if max(abs(first), abs(last)) >= FAR // 2:
            return None
        occurring = _met(batch, finest, first, last)
        for base in range(finest, exponent):
            if np.count_nonzero(occurring) <= most:
                # Every grid that is finer meets more, so the first, which is too fine, must.
                return None
            # Two cells that are neighbours, each a byte, as one whole number.
            occurring = occurring.view(np.uint16) != 0
            if np.count_nonzero(occurring) <= most:
                first, last = _ends(least, greatest, base + 1)
                # A margin for scores that are still to come.
                margin = (last - first) // 16 + 8
                first = max(first - margin, 0) if first >= 0 else first - margin
                return cls(base + 1, first, last + margin + 1 - first)
        return None

    @property
    def coarse(self) -> int:
        """The exponent of the grid than which this is finer."""
        return self.exponent + self.depth

    @property
    def low(self) -> float:
        """The lowest score that has a bin."""
        return float(np.ldexp(self.first, self.exponent))

    @property
    def end(self) -> float:
        """The lowest score that is too high."""
        return float(np.ldexp(self.first + self.size, self.exponent))


def _ends(least: float, greatest: float, exponent: int) -> tuple[int, int]:
    first, last = (int(np.floor(np.ldexp(end, -exponent))) for end in (least, greatest))
    return first, last


def _met(batch: Sequence[ScoredRows], exponent: int, first: int, last: int) -> NDArray[np.bool_]:
    """Which bins of a grid, from the first to the last, some row is in."""
    # Cells that will be joined begin at a multiple of their number.
    joined = 1 << (DEEP + 1)
    first, stop = first // joined * joined, (last // joined + 1) * joined
    occurring = np.zeros(stop - first, dtype=np.bool_)
    for rows in batch:
        for start in range(0, len(rows.scores), BLOCK):
            scaled = np.multiply(rows.scores[start : start + BLOCK], 2.0**-exponent, dtype=np.float64)
            occurring[np.floor(scaled, out=scaled).astype(np.int32) - first] = True
    return occurring


class BinCells:
    """A counter for each bin of a layout and each of two classes, negative and positive; `few` rows come at a time."""

    def __init__(self, layout: BinLayout, *, few: bool = False) -> None:
        self.layout = layout
        self._cells: NDArray[Any] = np.zeros(2 * layout.size, dtype=np.uint32 if few else np.uint16)
        self._one = self._cells.dtype.type(1)
        self._full = int(np.iinfo(self._cells.dtype).max)
        self._wide: Integers | None = None
        # Rows that the small counters hold, and how many the fullest of them holds at the most.
        self._rows = self._fullest = 0
        self._scaled = np.empty(BLOCK)
        self._index, self._class = np.empty((2, BLOCK), dtype=np.int32)
        self._key = np.empty(BLOCK, dtype=np.int64)

    def add(self, batch: Sequence[ScoredRows]) -> list[ScoredRows]:
        """Count a batch in the pieces that it comes in; gives back the rows that have no bin."""
        inside, outside = [], []
        for rows in batch:
            here, elsewhere = self._split(rows)
            inside += here
            outside += elsewhere
        added = sum(len(rows.scores) for rows in inside)
        if self._fullest + added > self._full:
            self._fullest = int(self._cells.max())
            if self._full > FULL and self._fullest + added > self._full:
                self._empty()
        for rows in inside:
            for key in self._keys(rows):
                np.add.at(self._cells, key, self._one)
        self._rows += added
        self._fullest += added
        # One batch has fewer rows than 2**32, so what is lost from a sum of 32 bits shows.
        if self._fullest > self._full and int(np.add.reduce(self._cells, dtype=np.uint32)) != self._rows % (1 << 32):
            self._take_back(inside)
        return outside

    def table(self) -> tuple[Floats, Integers]:
        """The lower edges of the bins that were met, and the counts in them, a column for each class."""
        cells = self._cells if self._wide is None else self._wide + self._cells
        # Both classes at once, as one whole number, where there is one so long.
        pairs = {2: np.uint32, 4: np.uint64}.get(cells.itemsize)
        filled = np.flatnonzero(cells[::2] + cells[1::2] if pairs is None else cells.view(pairs))
        low: Floats = (filled + self.layout.first).astype(np.float64) * 2.0**self.layout.exponent
        return low, cells.reshape(-1, 2)[filled].astype(np.int64)

    def _split(self, rows: ScoredRows) -> tuple[list[ScoredRows], list[ScoredRows]]:
        low, end = self.layout.low, self.layout.end
        if not len(rows.scores):
            return [], []
        if rows.low >= low and rows.high < end:
            return [rows], []
        # As floats of 64 bits, beside which narrow scores are widened.
        within = (rows.scores >= np.float64(low)) & (rows.scores < np.float64(end))
        parts = [ScoredRows.of(rows.scores[some], rows.positive[some]) for some in (within, ~within) if some.any()]
        return ([parts[0]], [parts[1]]) if len(parts) == 2 else (parts, []) if within.any() else ([], parts)

    def _keys(self, rows: ScoredRows) -> Iterator[Integers]:
        """The counters of rows that lie here, block by block; a block is gone when the next is asked for."""
        scale, first = 2.0**-self.layout.exponent, self.layout.first
        classes = rows.positive.view(np.uint8)
        for start in range(0, len(rows.scores), BLOCK):
            scores = rows.scores[start : start + BLOCK]
            size = len(scores)
            scaled, key = self._scaled[:size], self._key[:size]
            index, class_ = self._index[:size], self._class[:size]
            np.multiply(scores, scale, out=scaled, dtype=np.float64)
            if first < 0:
                np.floor(scaled, out=scaled)
            # Whole numbers of 32 bits, because processors turn floats into these many at a time.
            np.copyto(index, scaled, casting="unsafe")
            if first:
                np.subtract(index, first, out=index)
            np.left_shift(index, 1, out=index)
            np.copyto(class_, classes[start : start + BLOCK])
            np.bitwise_or(index, class_, out=index)
            np.copyto(key, index)
            yield key

    def _take_back(self, batch: Sequence[ScoredRows]) -> None:
        """Count a batch that ran over, and all that came before, in wide counters."""
        for rows in batch:
            for key in self._keys(rows):
                np.subtract.at(self._cells, key, self._one)
        wide = self._empty()
        for rows in batch:
            for key in self._keys(rows):
                np.add.at(wide, key, 1)

    def _empty(self) -> Integers:
        """Move what was counted to wide counters."""
        if self._wide is None:
            self._wide = np.zeros(len(self._cells), dtype=np.int64)
        self._wide += self._cells
        self._cells[:] = 0
        self._rows = self._fullest = 0
        return self._wide


# This share of the rows, those with the highest scores, is counted finely.
TOP = 1 / 16


class StreamBins:
    """Counts scores; the first rows are kept until there are enough of them to learn where scores lie.

    >>> counter = StreamBins(most=2)
    >>> counter.add(np.array([0.9, 0.4]), np.array([True, False]))
    >>> counter.bins().counts.tolist()
    [[1, 0], [0, 1]]
    """

    def __init__(self, most: int = MOST) -> None:
        self.most = most
        # Counts what lies elsewhere than the first rows did; all there is where those were too few or too alike.
        self.elsewhere = BinCounter(2, most)
        self.grid: BinCells | None = None
        self.ahead: BinCells | None = None
        self._first: list[ScoredRows] | None = []
        # So many rows tell how fine the grid will be, and where the highest scores lie.
        self._missing = 2 * most
        # Whether a score was too high to be counted finely.
        self._beyond = False
        self._least, self._greatest = np.inf, -np.inf

    def add(self, scores: NDArray[Any], positive: NDArray[np.bool_]) -> None:
        """Count one more batch."""
        if len(scores):
            # The first rows are kept, and whoever gives them may write others to the same place.
            kept = (scores, positive) if self._first is None else (scores.copy(), positive.copy())
            self.add_rows([ScoredRows.of(*kept)])

    def add_rows(self, batch: Sequence[ScoredRows]) -> None:
        """Count one more batch, in the pieces that it comes in."""
        if self._first is not None:
            self._first += batch
            self._missing -= sum(len(rows.scores) for rows in batch)
            if self._missing <= 0:
                self._begin(self._first)
            return
        for rows in batch if self.grid is None else self.grid.add(batch):
            self.elsewhere.add(rows.scores, rows.positive)
        for rows in batch:
            self._least, self._greatest = min(self._least, rows.low), max(self._greatest, rows.high)
        if self.ahead is not None:
            self._add_ahead(batch, self.ahead)

    def _begin(self, first: Sequence[ScoredRows]) -> None:
        """Count the first rows: enough of them, or all there are."""
        self._first = None
        if self._missing <= 0 and (layout := BinLayout.of(first, self.most)) is not None:
            self.grid = BinCells(layout)
        self.add_rows(first)
        if self._missing <= 0 and (layout := _highest(self._coarse())) is not None:
            self.ahead = BinCells(layout, few=True)
            self._add_ahead(first, self.ahead)

    def bins(self) -> ScoreBins:
        """Everything that was counted, finely where that was done."""
        if self._first is not None:
            self._begin(self._first)
        bins = self._coarse()
        # As they are where scores turned out to be spread otherwise.
        if self.ahead is None or self._beyond or bins.base != self.ahead.layout.coarse:
            return bins
        return _put(bins, self.ahead)

    def _coarse(self) -> ScoreBins:
        bins = self.elsewhere.bins()
        if self.grid is None:
            return bins
        low, counts = self.grid.table()
        base = self.grid.layout.exponent
        exponent = np.full(len(low), base, dtype=np.int16)
        dense = ScoreBins(low, exponent, counts, base, self._least, self._greatest, most=self.most)
        return dense.settled() if not len(bins) else bins + dense

    def _add_ahead(self, batch: Sequence[ScoredRows], cells: BinCells) -> None:
        """Count finely those of the rows that are high enough, as long as none is too high."""
        # As floats of 64 bits, beside which narrow scores are widened.
        low, end = np.float64(cells.layout.low), cells.layout.end
        self._beyond = self._beyond or any(rows.high >= end for rows in batch)
        if self._beyond:
            return
        high = [np.flatnonzero(rows.scores >= low) for rows in batch]
        taken = zip(batch, high, strict=True)
        cells.add([ScoredRows(rows.scores[some], rows.positive[some], low, rows.high) for rows, some in taken])


def _highest(bins: ScoreBins) -> BinLayout | None:
    """Fine bins for the highest of the scores that are spread like these; None where that is of no use."""
    if bins.base == POINT or abs(bins.base) > 500 or not len(bins):
        return None
    rows = np.cumsum((bins.counts[:, 0] + bins.counts[:, 1])[::-1])
    cut = len(bins) - 1 - int(np.searchsorted(rows, TOP * rows[-1]))
    with np.errstate(over="ignore"):
        ends = np.floor(np.ldexp([bins.low[cut], bins.greatest], -bins.base))
    if not (np.abs(ends) < FAR).all():
        return None
    first, last = map(int, ends)
    # A margin for scores that are still to come.
    size = last - first + 1 + (last - first) // 16 + 8
    depth = (2 * bins.most // size).bit_length() - 1
    if depth < 1 or max(abs(first), abs(first + size)) << depth >= FAR or (first < 0 and bins.base - depth > 0):
        return None
    return BinLayout(bins.base - depth, first << depth, size << depth, depth)


def _put(bins: ScoreBins, ahead: BinCells) -> ScoreBins:
    """The bins with fine ones in the place of the highest."""
    kept = int(np.searchsorted(bins.low, ahead.layout.low))
    low, fine = ahead.table()
    if not all(int(fine[:, at].sum()) == int(bins.counts[kept:, at].sum()) for at in (0, 1)):
        raise RuntimeError("the same rows were counted differently in coarse and in fine bins")
    return replace(
        bins,
        low=np.concatenate([bins.low[:kept], low]),
        exponent=np.append(bins.exponent[:kept], np.full(len(low), ahead.layout.exponent, dtype=np.int16)),
        counts=np.concatenate([bins.counts[:kept], fine]),
        refined=bins.refined + len(low),
    )


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
