"""Ranking scores that are in memory: one sort of keys that carry the label, then ties collapsed.

The bits of a float that is not negative, read as a whole number, are in the order of the floats, and the sign bit is
free. So (bits << 1) | label holds the score and the label exactly, and sorting these keys by value sorts the cases: no
argsort, no gathering. Everything else is done in blocks that stay in the cache.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from heldout.arrays import Floats, Integers
from heldout.errors import ValuesError
from heldout.evidence.probabilities import sums_by
from heldout.evidence.ranking import RankedGroups, Ranking, smallest
from heldout.threads import count_threads, share_out

BLOCK = 1 << 15
# Polars' sort is up to four times as fast as NumPy's, but calling it takes microseconds and importing it a tenth of a
# second: docs/decisions/0006-one-packed-sort.md.
FEW = 2_000
MANY = 1_000_000
# Several threads make keys in stretches of this many, and from PARTED keys on several threads sort them.
STRETCH = 1 << 18
PARTED = 300_000
# The number of keys that are sampled to divide the scores into ranges, one for each thread.
SAMPLE = 4096
# With at least this many scores in a column, every column gets a thread.
TOGETHER = 5_000

Made = TypeVar("Made")


@dataclass(frozen=True, slots=True)
class _KeyLayout:
    """How the keys of one kind of float are made."""

    floats: type[np.floating[Any]]
    keys: type[np.unsignedinteger[Any]]
    bits: int

    @property
    def ones(self) -> Any:
        """Every bit but the label's."""
        return self.keys((1 << self.bits) - 2)

    @property
    def sign(self) -> Any:
        """The sign bit."""
        return self.keys(1 << (self.bits - 1))

    @property
    def endless(self) -> int:
        """The first shifted bits that are infinite; nan comes after."""
        unsigned = np.array(np.inf, dtype=self.floats).view(self.keys)
        return int(unsigned) << 1


_SINGLE = _KeyLayout(np.float32, np.uint32, 32)
_DOUBLE = _KeyLayout(np.float64, np.uint64, 64)


def rank(
    scores: NDArray[Any],
    positive: NDArray[np.bool_],
    *,
    weight: NDArray[np.float64] | None = None,
    group: tuple[NDArray[np.int64], NDArray[Any]] | None = None,
) -> Ranking:
    """Rank cases by score; `group` is the group's code of every case and the keys of the codes.

    Scores must be finite. Counts come in the smallest whole numbers that hold them (`Ranking.tp` and `fp` are int64).

    >>> rank(np.array([0.9, 0.4, 0.4]), np.array([True, True, False])).negatives
    array([0, 1], dtype=uint8)
    """
    scores = np.asarray(scores)
    positive = np.asarray(positive, dtype=np.bool_)
    if weight is None and group is None:
        return _packed(scores, positive)
    return _indexed(scores, positive, weight, group)


def _packed(scores: NDArray[Any], positive: NDArray[np.bool_]) -> Ranking:
    narrow = scores.dtype.kind == "f" and scores.dtype.itemsize <= 4
    layout = _SINGLE if narrow else _DOUBLE
    keys, front = _pack(scores, positive.view(np.uint8), layout)
    sides = [(side, negative) for side, negative in ((keys[:front], False), (keys[front:], True)) if len(side)]
    del keys
    parts = [(part, negative) for side, negative in sides for part in _part(side, layout)]
    del sides
    return _collapse(parts, len(scores), layout)


def _pack(scores: NDArray[Any], labels: NDArray[np.uint8], layout: _KeyLayout) -> tuple[NDArray[Any], int]:
    """The keys: scores from 0 up in front, so many of them, negative scores behind; each sorts from high to low."""
    n = len(scores)
    keys, starts = np.empty(n, dtype=layout.keys), range(0, n, STRETCH)

    def fill(start: int, size: int = STRETCH) -> int:
        return _fill_keys(keys, scores, labels, layout, start, min(start + size, n))

    plain = len(starts) > 1 and all(share_out(fill, starts))
    return keys, n if plain else fill(0, n)


def _fill_keys(
    keys: NDArray[Any], scores: NDArray[Any], labels: NDArray[np.uint8], layout: _KeyLayout, start: int, stop: int
) -> int:
    """Write the keys of rows `start` to `stop`, and give the place to which those of scores from 0 up stand in front.

    Of a stretch that is not all of them 0 is given as soon as a score is negative: only all have a front and a back.
    """
    front, back = start, stop
    buffer = np.empty(min(stop - start, BLOCK), dtype=layout.floats)
    shifted = np.empty(len(buffer), dtype=layout.keys)
    for begin in range(start, stop, BLOCK):
        where = slice(begin, min(begin + BLOCK, stop))
        block, key = buffer[: where.stop - begin], shifted[: where.stop - begin]
        block[:] = scores[where]
        # The shift drops the sign, and with it the difference between -0.0 and 0.0: they are one score.
        np.left_shift(block.view(layout.keys), 1, out=key)
        if int(key.max()) >= layout.endless:
            raise refuse_scores(scores)
        if block.min() >= 0:
            np.bitwise_xor(key, layout.ones, out=key)
            np.bitwise_or(key, labels[where], out=keys[front : front + len(key)])
            front += len(key)
            continue
        if stop - start < len(keys):
            return 0
        # Without their sign, negative scores from high to low are from small to large.
        np.bitwise_or(key, labels[where], out=key)
        below = block < 0
        under, over = np.compress(below, key), np.compress(~below, key)
        back -= len(under)
        keys[back : back + len(under)] = under
        np.bitwise_xor(over, layout.ones, out=keys[front : front + len(over)])
        front += len(over)
    return front


def refuse_scores(scores: NDArray[Any], of: str = "", *, rows_known: bool = True) -> ValuesError:
    """The error of scores that are not finite; `rows_known` where the first of them is the first row."""
    bad = np.flatnonzero(~np.isfinite(scores))
    row = f" in row {int(bad[0]) + 1:,}" if rows_known else ""
    return ValuesError(
        f"Scores must be finite numbers. {len(bad):,} of {len(scores):,}{of} are not; the first is "
        f"{scores[bad[0]]}{row}.",
        hint="find out where nan or infinite scores come from; a large number can stand for an infinite one.",
    )


def _uses_polars(n: int) -> bool:
    return n >= MANY or (n >= FEW and "polars" in sys.modules)


def _part(keys: NDArray[Any], layout: _KeyLayout) -> list[NDArray[Any]]:
    """The keys divided into ranges, one for each thread, which can be sorted by themselves; ties stay together."""
    threads = count_threads()
    if threads < 2 or len(keys) < PARTED or not _uses_polars(len(keys)):
        return [keys]
    import polars as pl

    sample = np.sort(keys[:: len(keys) // SAMPLE])
    ends = np.unique(sample[[len(sample) * at // threads for at in range(1, threads)]] & layout.ones)
    column = pl.Series(keys)

    def take(at: int) -> NDArray[Any]:
        # Polars' filter is fifteen times as fast as an index of booleans.
        inside = keys < ends[at] if at < len(ends) else np.ones(len(keys), dtype=np.bool_)
        if at:
            inside &= keys >= ends[at - 1]
        return column.filter(pl.Series(inside)).to_numpy()

    return share_out(take, range(len(ends) + 1))


def _sorted(keys: NDArray[Any]) -> NDArray[Any]:
    if _uses_polars(len(keys)):
        import polars as pl

        return pl.Series(keys).sort(multithreaded=False).to_numpy()
    keys.sort()
    return keys


def _collapse(parts: list[tuple[NDArray[Any], bool]], n: int, layout: _KeyLayout) -> Ranking:
    """The ranking of keys in ranges from high to low scores, each sorted here; with each whether it is of negatives."""
    # Room for n distinct scores; memory is only taken for what is written.
    room = np.empty(n, dtype=np.float64), np.empty(n, dtype=np.uint8), np.empty(n, dtype=np.uint8)
    starts = np.cumsum([0, *(len(keys) for keys, _ in parts)]).tolist()

    def work(at: int) -> _Collapsed:
        keys, negative = parts[at]
        # Not needed by anyone else.
        parts[at] = (keys[:0], negative)
        here = slice(starts[at], starts[at + 1])
        collapsed = _Collapsed(room[0][here], room[1][here], room[2][here])
        collapsed.take(_sorted(keys), layout, negative=negative)
        return collapsed

    done = share_out(work, range(len(parts)))
    wide = any(part.positives.dtype != np.uint8 for part in done)
    if not wide and sum(part.number for part in done) == n:
        return Ranking(*room)
    counts: Any = np.int64 if wide else np.uint8
    # A copy gives back the room that was not needed.
    scores, up, down = (
        np.concatenate([np.empty(0, dtype=kind), *columns], dtype=kind)
        for kind, columns in (
            (np.float64, [part.scores[: part.number] for part in done]),
            (counts, [part.positives[: part.number] for part in done]),
            (counts, [part.negatives[: part.number] for part in done]),
        )
    )
    return Ranking(scores, up, down)


class _Collapsed:
    """Sorted keys turned into one entry per distinct score, block by block, into the room that is given."""

    def __init__(self, scores: Floats, positives: NDArray[Any], negatives: NDArray[Any]) -> None:
        self.scores, self.positives, self.negatives = scores, positives, negatives
        self.number = 0

    def take(self, keys: NDArray[Any], layout: _KeyLayout, *, negative: bool) -> None:
        """Add the entries of these keys."""
        n = len(keys)
        change = np.empty(min(n, BLOCK), dtype=keys.dtype)
        last = np.empty(len(change), dtype=np.bool_)
        running = np.empty(len(change), dtype=np.int64)
        # Cases and positives since the last finished entry.
        open_cases = open_positives = 0
        for start in range(0, n, BLOCK):
            size = min(BLOCK, n - start)
            key, flag = keys[start : start + size], last[:size]
            ahead = min(size, n - start - 1)
            np.bitwise_xor(key[:ahead], keys[start + 1 : start + 1 + ahead], out=change[:ahead])
            np.greater(change[:ahead], 1, out=flag[:ahead])
            flag[ahead:] = True
            label = change[:size]
            np.bitwise_and(key, 1, out=label)
            if open_cases == 0 and flag.all():
                self._add(key, label, label ^ label.dtype.type(1), layout, negative=negative)
                continue
            at = np.flatnonzero(flag)
            # Converted first: np.cumsum from one type into another is twenty times as slow.
            up_to = running[:size]
            up_to[:] = label
            np.cumsum(up_to, out=up_to)
            if not len(at):
                open_cases += size
                open_positives += int(up_to[-1])
                continue
            positives = np.diff(up_to[at], prepend=-open_positives)
            cases = np.diff(at, prepend=-1 - open_cases)
            self._add(key[at], positives, cases - positives, layout, negative=negative)
            open_cases = size - 1 - int(at[-1])
            open_positives = int(up_to[-1] - up_to[at[-1]])

    def _add(
        self, key: NDArray[Any], positives: NDArray[Any], negatives: NDArray[Any], layout: _KeyLayout, *, negative: bool
    ) -> None:
        where = slice(self.number, self.number + len(key))
        self.number = where.stop
        bits = (key >> key.dtype.type(1)) | layout.sign if negative else ~key >> key.dtype.type(1)
        self.scores[where] = bits.view(layout.floats)
        if self.positives.dtype == np.uint8 and int((positives + negatives).max()) > 255:
            self.positives, self.negatives = (
                _widened(counts, where.start) for counts in (self.positives, self.negatives)
            )
        self.positives[where] = positives
        self.negatives[where] = negatives


def _widened(counts: NDArray[Any], number: int) -> NDArray[np.int64]:
    wide = np.empty(len(counts), dtype=np.int64)
    # Not astype: it would write, and so take, the room behind the entries that there are.
    wide[:number] = counts[:number]
    return wide


def _indexed(
    scores: NDArray[Any],
    positive: NDArray[np.bool_],
    weight: NDArray[np.float64] | None,
    group: tuple[NDArray[np.int64], NDArray[Any]] | None,
) -> Ranking:
    """The same where every case must be followed to its place, for its weight or its group."""
    if not np.isfinite(scores).all():
        raise refuse_scores(scores)
    order, ordered = order_scores(scores)
    new = np.empty(len(order), dtype=np.bool_)
    new[:1] = True
    np.not_equal(ordered[1:], ordered[:-1], out=new[1:])
    size = int(np.count_nonzero(new))
    distinct = (ordered if size == len(new) else np.compress(new, ordered))[::-1]
    groups = None
    if group is not None:
        row_weight = np.ones(len(scores)) if weight is None else weight
        where = np.empty(len(order), dtype=np.int64)
        where[order] = size - np.cumsum(new)
        groups = RankedGroups(group[1], group[0], where, row_weight * positive, row_weight * ~positive)
        if weight is None:
            up, down = (np.bincount(where[which], minlength=size) for which in (positive, ~positive))
            return Ranking(distinct, *smallest(up, down), groups=groups)
    held = np.zeros(0) if weight is None else weight
    if size == len(new):
        columns = _weigh(order[::-1], positive, held)
    else:
        # Each sum adds up its rows in their order, whatever the number of threads.
        place = np.cumsum(new) - 1
        sums = share_out(lambda column: sums_by(place, column, size), _weigh(order, positive, held))
        columns = [np.ascontiguousarray(column[::-1]) for column in sums]
    return Ranking(distinct, columns[0], columns[1], columns[2], columns[3], groups)


def _weigh(order: Integers, positive: NDArray[np.bool_], weight: Floats) -> list[Floats]:
    """The weights of positives and negatives in an order of the rows, and their squares."""
    sums = [np.empty(len(order)) for _ in range(4)]

    def fill(start: int) -> None:
        rows = slice(start, start + STRETCH)
        held, up = weight[order[rows]], positive[order[rows]]
        for column, which in ((0, up), (1, ~up)):
            np.multiply(held, which, out=sums[column][rows])
        held *= held
        for column, which in ((2, up), (3, ~up)):
            np.multiply(held, which, out=sums[column][rows])

    share_out(fill, range(0, len(order), STRETCH))
    return sums


class Ordered:
    """A column of scores in order, with its ties."""

    def __init__(self, column: NDArray[Any]) -> None:
        self.order, ordered = order_scores(column)
        new = ordered[1:] != ordered[:-1]
        # Without ties every place is one by itself.
        self.starts, self.sizes = None, None
        if not new.all():
            self.starts = np.flatnonzero(np.concatenate([[True], new]))
            self.sizes = np.diff(np.append(self.starts, len(column)))

    def middles(self, values: Floats) -> Floats:
        """Of values in the order of the scores, for each the sum of those below, and half of those with its score.

        The values are written over: fresh memory takes longer than the sums.
        """
        if self.starts is None or self.sizes is None:
            up_to = np.cumsum(values)
            return np.subtract(up_to, np.multiply(values, 0.5, out=values), out=up_to)
        at_each = np.add.reduceat(values, self.starts)
        return np.repeat(np.cumsum(at_each) - at_each / 2, self.sizes)

    def below(self, values: Floats) -> Floats:
        """For each case the sum of the values with a lower score, and half of those with the same.

        >>> Ordered(np.array([0.3, 0.1, 0.3])).below(np.ones(3))
        array([2. , 0.5, 2. ])
        """
        weights_below = np.empty(len(values))
        weights_below[self.order] = self.middles(values[self.order])
        return weights_below


def order_scores(column: NDArray[Any]) -> tuple[Integers, NDArray[Any]]:
    """The rows from the lowest score up, ties in the order of the rows, and the scores in that order.

    The row stands in the last bits of a key, so that sorting the keys by value orders the rows; scores that differ in
    those bits alone are put in order afterwards.

    >>> order_scores(np.array([0.3, 0.1, 0.3]))[0]
    array([1, 0, 2])
    """
    n = len(column)
    # Adding 0 makes -0.0 and 0.0 one score.
    floats = column.astype(np.float64)
    floats += 0.0
    if n < FEW:
        order = np.argsort(floats, kind="stable")
        return order, floats[order]
    keys, low = floats.view(np.uint64), np.uint64((1 << (n - 1).bit_length()) - 1)
    if floats.min() < 0:
        keys = np.where(keys & _DOUBLE.sign, ~keys, keys | _DOUBLE.sign)
    keys = keys & ~low
    keys |= np.arange(n, dtype=np.uint64)

    def sort(part: NDArray[Any]) -> tuple[NDArray[Any], Integers, Floats]:
        part = _sorted(part)
        rows = (part & low).view(np.int64)
        return part, rows, floats[rows]

    parts = share_out(sort, _part(keys, _DOUBLE))
    keys, order, ordered = parts[0] if len(parts) == 1 else map(np.concatenate, zip(*parts, strict=True))
    if (ordered[1:] < ordered[:-1]).any():
        # Runs of keys that differ in the row alone, and among them those whose scores differ.
        run = np.empty(n, dtype=np.int64)
        run[0] = 0
        np.cumsum((keys[1:] ^ keys[:-1]) > low, out=run[1:])
        mixed = np.zeros(int(run[-1]) + 1, dtype=np.bool_)
        mixed[run[:-1][ordered[1:] < ordered[:-1]]] = True
        at = np.flatnonzero(mixed[run])
        # A run lies above or below every other: one sort serves all of them, and keeps the rows of a tie in order.
        inside = at[np.argsort(ordered[at], kind="stable")]
        order[at], ordered[at] = order[inside], ordered[inside]
    return order, ordered


@dataclass(frozen=True, slots=True)
class ClassPlacements:
    """The cases in the order of the scores of one class.

    `above` is, for each case, the share of the class that has a higher score (ties count half); `areas` its mean over
    each other class: the area of this class against that one by this class's score, nan where there is none. `codes`
    are the classes in the order of the scores, and `mine` the places of this class there.
    """

    class_: int
    ordered: Ordered
    above: Floats
    areas: Floats
    codes: Integers
    mine: Integers


def with_placements(
    scores: NDArray[Any], codes: Integers, k: int, weight: Floats | None, work: Callable[[ClassPlacements], Made]
) -> Iterator[Made]:
    """What `work` makes of the placements of each class, in their order; as many as there are threads at a time.

    >>> scores = np.array([[0.8, 0.2], [0.4, 0.6], [0.5, 0.5]])
    >>> list(with_placements(scores, np.array([0, 0, 1]), 2, None, lambda placed: placed.areas))
    [array([nan, 0.5]), array([0.5, nan])]
    """
    totals = np.bincount(codes, minlength=k).astype(np.float64) if weight is None else sums_by(codes, weight, k)
    occurring = totals > 0

    def place(class_: int) -> Made:
        ordered = Ordered(scores[:, class_])
        of_place = codes[ordered.order]
        is_mine = of_place == class_
        mine = np.where(is_mine, 1.0 if weight is None else weight[ordered.order], 0.0)
        above, outranking = np.empty(len(codes)), ordered.middles(mine)
        np.subtract(totals[class_], outranking, out=outranking)
        outranking /= totals[class_]
        above[ordered.order] = outranking
        areas = np.full(k, np.nan)
        sums = sums_by(codes, above if weight is None else weight * above, k)
        areas[occurring] = sums[occurring] / totals[occurring]
        areas[class_] = np.nan
        return work(ClassPlacements(class_, ordered, above, areas, of_place, np.flatnonzero(is_mine)))

    classes = np.flatnonzero(occurring).tolist()
    together = count_threads() if len(codes) >= TOGETHER else 1
    for start in range(0, len(classes), together):
        yield from share_out(place, classes[start : start + together])
