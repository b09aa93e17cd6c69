"""What the bins of the scores of very many classes tell of each class against the rest: areas, and how sure they are.

A report of a thousand classes reads a thousand rankings, each of a few thousand bins: too few for a call of NumPy to be
worth its while. So some columns at a time are worked on as the rows of a table.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from heldout.arguments import require
from heldout.arrays import Floats
from heldout.evidence.bin_grid import above, ends_of
from heldout.evidence.counted import ScoreTally
from heldout.evidence.score_bins import SUMMED, Entries, ScoreBins, contribute, row_sums
from heldout.measures.certified import allowance_of
from heldout.measures.ranking_batch import inner
from heldout.threads import share_out

# So many columns a thread takes at a time: what is made of them stays in its cache.
COLUMNS = 32
# So many widths from 0 bins still hold several floats, unless they are so narrow that floats have fewer digits.
FLOATS, SUBNORMAL = 2.0**51, -1000
WEIGHTLESS = "there are no weights"


@dataclass(frozen=True, slots=True, eq=False)
class RestColumns:
    """Of every class against the rest: its cases, its areas, and how sure these are; an entry for each class.

    `totals` are the weights of the cases, `squares` the sums of their squared weights and `cases` their numbers.
    `deviations` are the standard errors of the ROC areas by the cases of the class and of the rest, and `open` how far
    these areas can be off for the bins, 0 where no bin may hold several scores. `areas` and `precisions` are bounds:
    the least and the greatest ROC area and average precision, nan where there is none.
    """

    totals: Floats
    cases: NDArray[np.int64]
    squares: Floats
    middles: Floats
    deviations: Floats
    open: Floats
    allowances: Floats
    areas: Floats
    precisions: Floats


def find_rest_columns(tally: ScoreTally) -> RestColumns:
    """What every column of a tally tells of its class against the rest, found once.

    >>> bins = ScoreBins.of([0.9, 0.4, 0.4], [1, 1, 0], 2)
    >>> find_rest_columns(ScoreTally((bins, bins))).middles
    array([0.75, 0.75])
    """
    if "rest columns" not in tally.memo:
        parts = [tally.bins[start : start + COLUMNS] for start in range(0, len(tally.bins), COLUMNS)]
        summed = share_out(_sum_columns, parts)
        columns = [np.concatenate([getattr(part, own.name) for part in summed], axis=-1) for own in fields(RestColumns)]
        tally.memo["rest columns"] = RestColumns(*columns)
    rest: RestColumns = tally.memo["rest columns"]
    return rest


def _sum_columns(bins: Sequence[ScoreBins]) -> RestColumns:
    """The same of a few columns: rows of tables, each from the highest score down and then filled up with nothing."""
    weighted = bins[0].weighted
    counts = [own.counts[::-1] for own in bins]
    rest_cases, cases = (_table([part[:, side] for part in counts], np.int64) for side in (0, 1))
    numbers = rest_cases.sum(axis=1), cases.sum(axis=1)
    n, p = rest_cases.astype(np.float64), cases.astype(np.float64)
    squares = n, p
    if weighted:
        n, p, *heavy = (_table([part[::-1, side] for part in parts]) for parts in _weights(bins) for side in (0, 1))
        squares = heavy[0], heavy[1]
        fp, tp = np.cumsum(n, axis=1), np.cumsum(p, axis=1)
    else:
        # Whole numbers are summed as such: a running sum of floats takes several times as long.
        fp, tp = (np.cumsum(side, axis=1).astype(np.float64) for side in (rest_cases, cases))
    entries = Entries(p, n, tp, fp, _before(tp), _before(fp))
    own, rest = totals = tp[:, -1:], fp[:, -1:]
    joined = _find_joined(bins, rest_cases + cases)
    terms = contribute(entries, totals, joined, whole=not weighted)
    lost, open_, low, high = (row_sums(part) for part in terms)
    area = 1.0 - lost
    deviation = _deviations(entries, totals, area[:, None], squares, numbers)
    both, certain = ((own > 0) & (rest > 0))[:, 0], ~joined.any(axis=1)
    tolerance = np.array([allowance_of(len(part) if not weighted else part.n, weighted=weighted) for part in bins])
    off = np.where(certain, 0.0, tolerance)
    ends = [(np.maximum(least - off, 0.0), np.minimum(most + off, 1.0))
            for least, most in ((area - open_, area + open_), (low, high))]  # fmt: skip
    areas, precisions = (
        np.where(known, pair, np.nan) for known, pair in zip((both, own[:, 0] > 0), map(np.array, ends), strict=True)
    )
    return RestColumns(
        own[:, 0], numbers[1], squares[1].sum(axis=1), np.where(both, area, np.nan), np.where(both, deviation, 0.0),
        np.where(both, open_, 0.0), tolerance, areas, precisions,
    )  # fmt: skip


def _table(columns: Sequence[NDArray[Any]], kind: Any = np.float64) -> NDArray[Any]:
    """Columns of several lengths as the rows of a table, filled up with nothing to whole stretches."""
    lengths = np.array([len(column) for column in columns])
    there = np.arange(-(-max(int(lengths.max()), 1) // SUMMED) * SUMMED) < lengths[:, None]
    table = np.zeros(there.shape, dtype=kind)
    table[there] = np.concatenate(columns)
    return table


def _weights(bins: Sequence[ScoreBins]) -> tuple[list[Floats], list[Floats]]:
    """The weights of every column, and their squares."""
    return [require(own.weights, WEIGHTLESS) for own in bins], [require(own.squares, WEIGHTLESS) for own in bins]


def _before(sums: Floats) -> Floats:
    """The running sums without the entry that they end at; not a difference, which of weights would be rounding."""
    moved = np.zeros_like(sums)
    moved[:, 1:] = sums[:, :-1]
    return moved


def _find_joined(bins: Sequence[ScoreBins], rows: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Which bins may hold several distinct scores, as `ScoreBins.joined` has it."""
    low, exponent = (
        np.concatenate([own.low[::-1] for own in bins]),
        np.concatenate([own.exponent[::-1] for own in bins]),
    )
    # Most are, and then this costs a fraction of it.
    wide = (np.abs(low) < np.ldexp(FLOATS, exponent)) & (exponent > SUBNORMAL)
    if not wide.all():
        wide = ends_of(low, exponent) > above(low)
    stops = np.cumsum([len(own) for own in bins])[:-1]
    return np.asarray((rows > 1) & _table(np.split(wide, stops), np.bool_))


def _deviations(
    entries: Entries, totals: tuple[Floats, Floats], area: Floats, squares: Sequence[Floats], numbers: Sequence[Any]
) -> Floats:
    """The standard error of every area, cases within a class about their mean."""
    own, rest = (np.where(total > 0, total, 1.0) for total in totals)
    # What a case of the rest, and what one of the class adds: those in its bin are half below it and half above.
    moves = (
        ((entries.tp - entries.p / 2) / own - area) / rest,
        ((totals[1] - entries.fp + entries.n / 2) / rest - area) / own,
    )
    variance = np.zeros(len(area))
    for side, move, heavy, number in zip((entries.n, entries.p), moves, squares, numbers, strict=True):
        total = inner(side, move)
        mean = total / np.maximum(number, 1)
        away = inner(heavy, move * move) - total * mean
        variance += np.maximum(away, 0.0) * number / np.maximum(number - 1, 1) + number * mean * mean
    return np.asarray(np.sqrt(variance))
