"""Columns of scores on a device, in the bins that the engine in memory makes of them: on a grid, or by a sort."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch

from heldout.engines.tensors.kernels import LONGEST, count_grid, sum_positive
from heldout.engines.tensors.ladder_cells import bins_of_counters, find_cells
from heldout.engines.tensors.transfers import fetch
from heldout.evidence.bin_grid import POINT, WHOLE, WIDEST, Ladder
from heldout.evidence.score_bins import MOST, ScoreBins

# A grid is tried first that is up to so many times, as a power of two, finer than there may be bins: few bins spread
# unevenly over the range of their scores, and many would take more room than the cache of the device has.
FINER, FINER_OF_MANY = 3, 2
MANY = 1 << 17
# Rows from which it is told whether very many scores are distinct, and marks that they leave, as a power of two.
LOOKED_AT, MARKS = 1 << 22, 24
# An odd number whose multiples spread over all numbers of 64 bits: 2**64 over the golden ratio, as a signed one.
SPREAD = 0x9E3779B97F4A7C15 - (1 << 64)
# A grid so much finer is tried next: of very many classes most probabilities are tiny, and a few are large.
FINEST = 7
# Bins of several columns are counted at once, as long as the counters are at most this many; on the finest grids more.
COUNTERS, MOST_COUNTERS = 1 << 24, 1 << 26
# Exponents of powers of two with which floats of 32 bits are multiplied without rounding.
SAFE = 100
SIGN = -(1 << 31)


def positive_bins(
    p: Any, positive: Any, eps: float, *, weight: Any = None, most: int = MOST
) -> tuple[ScoreBins, dict[str, Any]]:
    """Bins of probabilities of the positive class, as files are counted, and the sums of their losses.

    Where more than `most` are distinct they are counted on the ladder while losses are summed, and not sorted.
    """
    ladder = Ladder.of(most) if weight is None else None
    if ladder is None or not _is_crowded(p, most):
        state, _ = sum_positive(p, positive, eps, weight)
        return sorted_bins(p, positive, 2, weight=weight, most=most, ladder=ladder), state
    state, table = sum_positive(p, positive, eps, None, ladder)
    ends = fetch(_ends(p[:, None])).T
    return bins_of_counters(ladder, [table.reshape(1, -1, 2)], ends, most)[0], state


def _is_crowded(scores: Any, most: int) -> bool:
    """Whether more than so many distinct scores are certain: their bits, stirred, mostly leave marks of their own."""
    if len(scores) <= most:
        return False
    some = scores[:: max(len(scores) // LOOKED_AT, 1)].double() + 0.0
    stirred = (some.view(torch.int64) * SPREAD) >> (64 - MARKS) & ((1 << MARKS) - 1)
    marks = torch.zeros(1 << MARKS, dtype=torch.bool, device=scores.device)
    return int(marks.index_fill_(0, stirred, value=True).sum()) > most


def _ends(values: Any) -> Any:
    """The least and the greatest of every column, as floats of 64 bits."""
    return torch.stack(torch.aminmax(values, dim=0)).double() + 0.0


def columns_bins(
    values: Any, codes: Any, k: int, *, weight: Any = None, most: int = MOST, sided: bool = False
) -> tuple[ScoreBins, ...]:
    """Bins for every column of a table of finite scores.

    `codes` are places among `k` classes; where the columns are `sided`, each tells its own class (1) from the rest (0).
    """
    columns = values.shape[1]
    found: list[ScoreBins | None] = [None] * columns
    tables = 2 if sided else k
    if weight is None and most < len(values) <= LONGEST:
        for finer, counters in _grids(most, tables):
            at_once = max(counters // ((most << finer) * tables), 1)
            for start in range(0, columns, at_once):
                some = slice(start, min(start + at_once, columns))
                if None in found[some]:
                    made = _on_grid(values[:, some], codes, tables, most, start if sided else None, finer)
                    found[some] = [
                        own if known is None else known for known, own in zip(found[some], made, strict=True)
                    ]
    for at, bins in enumerate(found):
        if bins is None:
            own = (codes == at).long() if sided else codes
            found[at] = sorted_bins(values[:, at].contiguous(), own, tables, weight=weight, most=most)
    return tuple(bins for bins in found if bins is not None)


def _on_grid(values: Any, codes: Any, k: int, most: int, own: int | None, finer: int) -> list[ScoreBins | None]:
    """Bins of columns whose scores lie so densely that the grid is coarse; None for the others.

    The grid has up to `most` times 2**finer cells. They are counted, and joined in pairs until at most `most` are met.
    """
    low, high = fetch(_ends(values))
    exponent = _exponents(low, high, most << finer)
    scale = np.exp2(-exponent.astype(np.float64))
    # Whole pairs of pairs at every level.
    step = 2 << finer
    first = np.floor(low * scale) // step * step
    sizes = np.floor(high * scale) - first + 1
    usable = (np.abs(exponent) < SAFE) & (np.maximum(np.abs(low), np.abs(high)) * scale < WHOLE / 2) & (high > low)
    if not usable.any():
        return [None] * values.shape[1]
    size = int(-(-sizes[usable].max() // step) * step)
    table = count_grid(values, codes, k, scale * usable, first * usable, size, own)
    met = table.any(dim=2)
    levels, numbers = [met], [met.sum(dim=1)]
    for _ in range(finer + 1):
        levels.append(levels[-1].reshape(len(met), -1, 2).any(dim=2))
        numbers.append(levels[-1].sum(dim=1))
    counted = fetch(torch.stack(numbers))
    level = np.argmax(counted <= most, axis=0)
    # Where the finest grid has room to spare, a finer one may have room as well.
    usable &= (counted <= most).any(axis=0) & (level > 0)
    found: list[ScoreBins | None] = [None] * values.shape[1]
    for up in sorted(set(level[usable].tolist())):
        chosen = np.flatnonzero(usable & (level == up))
        there = torch.as_tensor(chosen, device=table.device)
        column, cell = levels[up][there].nonzero().unbind(dim=1)
        joined = table[there].reshape(len(chosen), -1, 1 << up, k).sum(dim=2)
        # As they are kept: four bytes travel faster, but widening them here takes longer than that saves.
        counts = fetch(joined[column, cell])
        bases = exponent[chosen] + up
        starts = torch.as_tensor(np.stack([first[chosen] / (1 << up), np.ldexp(1.0, bases)]), device=table.device)
        lower = fetch((cell + starts[0][column]) * starts[1][column] + 0.0)
        sizes = counted[up][chosen]
        widths, stops = np.repeat(bases.astype(np.int16), sizes), np.cumsum(sizes).tolist()
        for at, base, start, stop in zip(chosen.tolist(), bases.tolist(), [0, *stops], stops, strict=False):
            here = slice(start, stop)
            ends = float(low[at]), float(high[at])
            found[at] = ScoreBins(lower[here], widths[here], counts[here], base, *ends, most=most)
    return found


def _grids(most: int, tables: int) -> list[tuple[int, int]]:
    """The grids that are tried: by which power of two they are finer than so many bins, and the room for counters."""
    first = FINER if most < MANY else FINER_OF_MANY
    room = (most << FINEST) * tables <= MOST_COUNTERS
    return [(first, COUNTERS), *([(FINEST, MOST_COUNTERS)] if room else [])]


def _exponents(low: Any, high: Any, cells: int) -> Any:
    """For each column the exponent with which its range takes about so many bins."""
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        part, power = np.frexp((high / 2 - low / 2) / (cells // 2))
    return power + (part > 0.5)


def sorted_bins(
    scores: Any, codes: Any, k: int, *, weight: Any = None, most: int = MOST, ladder: Ladder | None = None
) -> ScoreBins:
    """Bins of one column by a sort: one for each distinct score, or of the ladder, or of the finest grid with room."""
    if weight is None and scores.dtype == torch.float32:
        distinct, place, code, rows = _packed(scores, codes, k)
        sums: Sequence[Any] = ()
    else:
        ordered, order = torch.sort(scores.double() + 0.0)
        place, distinct = _runs(ordered)
        code, rows = codes[order].long(), torch.ones_like(place)
        sums = () if weight is None else (weight[order], weight[order] ** 2)
    ends = float(distinct[0]), float(distinct[-1])
    if len(distinct) <= most:
        base, low = POINT, fetch(distinct)
        exponent = np.full(len(low), base, dtype=np.int16)
    elif ladder is not None:
        joined, cells = _runs(find_cells(ladder, distinct))
        base, place = -ladder.bits, joined[place]
        low, exponent = ladder.edges(fetch(cells))
    else:
        base = _base(distinct, most)
        joined, edges = _runs(_floored(distinct, base))
        low, place = fetch(edges), joined[place]
        exponent = np.full(len(low), base, dtype=np.int16)
    cell, size = place * k + code, len(low) * k
    counts = torch.zeros(size, dtype=torch.int64, device=cell.device).scatter_add_(0, cell, rows)
    heavy = [torch.zeros(size, dtype=torch.float64, device=cell.device).scatter_add_(0, cell, part) for part in sums]
    tables = [fetch(table).reshape(-1, k) for table in (counts, *heavy)]
    weights, squares = tables[1:] or (None, None)
    return ScoreBins(low, exponent, tables[0], base, *ends, weights, squares, None, most)


def _runs(ordered: Any) -> tuple[Any, Any]:
    """For each of some numbers in order the place of its value among the distinct ones, and these."""
    new = torch.cat([torch.zeros(1, dtype=torch.bool, device=ordered.device), ordered[1:] != ordered[:-1]])
    place = new.cumsum(0)
    new[0] = True
    return place, ordered[new]


def _packed(scores: Any, codes: Any, k: int) -> tuple[Any, Any, Any, Any]:
    """Distinct scores, and for every score and class that were met: the place of the score, the class, and the rows.

    The bits of a float, read as a whole number, are in its order once those of negative floats are turned, so a key
    holds the score and the class, and one sort of keys does everything.
    """
    cells, rows = count_keys(scores, codes, k)
    bits, code = unpack(cells, k)
    place, distinct = _runs(bits)
    floats = torch.where(distinct < 0, distinct ^ 0x7FFFFFFF, distinct).to(torch.int32).view(torch.float32)
    return floats.double() + 0.0, place, code, rows


def count_keys(scores: Any, codes: Any, k: int) -> tuple[Any, Any]:
    """The distinct keys of scores of 32 bits and classes in order, and how many rows have each.

    Keys are of 32 bits where two classes without negative scores fit. They are sorted by themselves: torch.sort would
    carry along the place of every row, which takes many times the room.
    """
    bits = (scores + 0.0).view(torch.int32)
    if k == 2 and bool(scores.amin() >= 0):
        keys = bits.bitwise_left_shift_(1).bitwise_or_(codes.to(torch.int32)).bitwise_xor_(SIGN)
    else:
        turned = torch.where(bits < 0, bits ^ 0x7FFFFFFF, bits)
        keys = turned.long() * k + codes.long()
    cells, rows = torch.unique(keys, return_counts=True)
    return cells, rows


def unpack(keys: Any, k: int) -> tuple[Any, Any]:
    """The turned bits of the score, and the class, of each key."""
    if keys.dtype == torch.int32:
        wide = (keys ^ SIGN).long() & 0xFFFFFFFF
        return wide >> 1, wide & 1
    bits = torch.div(keys, k, rounding_mode="floor")
    return bits, keys - bits * k


def _base(distinct: Any, most: int) -> int:
    """The smallest exponent for which distinct scores, in order, meet at most `most` bins: as the grid has it."""
    below = distinct < 0
    bits = distinct.abs().view(torch.int64) - below.long()
    field = bits >> 52
    here, there = field[:-1], field[1:]
    differ = torch.frexp((bits[:-1] ^ bits[1:]).double())[1].long()
    level = torch.where(here == there, here.clamp(min=1) - 1075 + differ, torch.maximum(here, there) - 1022)
    level = torch.where(below[:-1] != below[1:], WIDEST + 1, level)
    lowest = -1100
    at_level = torch.bincount(level - lowest, minlength=WIDEST + 2 - lowest).cpu().numpy()
    # One more bin is met than there are neighbours that do not share one.
    met = 1 + len(level) - np.cumsum(at_level)
    return min(int(np.flatnonzero(met <= most)[0]) + lowest, WIDEST)


def _floored(scores: Any, exponent: int) -> Any:
    """The lower edge of each score's bin, as the grid has it."""
    if abs(exponent) >= WIDEST - 1:
        from heldout.evidence.bin_grid import floor_to

        return torch.as_tensor(floor_to(scores.cpu().numpy(), exponent), device=scores.device)
    index = torch.floor(scores * 2.0**-exponent)
    index = torch.where((index == 0) & (scores < 0), -1.0, index)
    low = torch.where(index.abs() < WHOLE, index * 2.0**exponent, scores)
    return low.clamp(min=-np.finfo(np.float64).max) + 0.0
