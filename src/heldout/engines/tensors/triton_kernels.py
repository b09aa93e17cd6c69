"""Kernels of Triton: counting pairs of classes, cells of a grid, and sums of losses, each in one reading of the rows.

They are written so that every answer is that of the torch operations in `kernels`, which are used without Triton:
counts are equal, and sums, made in floats of 64 bits, differ by rounding alone.
"""

from __future__ import annotations

try:
    import triton
    import triton.language as tl
except ModuleNotFoundError:
    # Without Triton nobody calls them.
    def jit(function):
        """The function as it is."""
        return function
else:
    jit = triton.jit


@jit
def count_pairs(
    truth, predicted, out, n, low_truth, low_predicted, width,
    PAIRED: tl.constexpr, SIZE: tl.constexpr, BLOCK: tl.constexpr,
):  # fmt: skip
    """Rows by pair of whole numbers; SIZE is a power of two above the number of pairs, its last cell is no pair."""
    cells = tl.arange(0, SIZE)
    found = tl.zeros([SIZE], dtype=tl.int32)
    step = tl.num_programs(0).to(tl.int64) * BLOCK
    for start in range(tl.program_id(0).to(tl.int64) * BLOCK, n, step):
        rows = start + tl.arange(0, BLOCK)
        there = rows < n
        key = tl.load(truth + rows, mask=there, other=0).to(tl.int32) - low_truth
        if PAIRED:
            key = key * width + (tl.load(predicted + rows, mask=there, other=0).to(tl.int32) - low_predicted)
        key = tl.where(there, key, SIZE - 1)
        found += tl.histogram(key, SIZE)
    tl.atomic_add(out + cells, found.to(tl.int64))


@jit
def count_cells_of_grid(
    values, codes, scale, first, out, n, columns, row_stride, column_stride, size, k, own,
    SIDED: tl.constexpr, ROWS: tl.constexpr, COLUMNS: tl.constexpr,
):  # fmt: skip
    """Rows by column, cell of the grid and class."""
    rows = tl.program_id(0).to(tl.int64) * ROWS + tl.arange(0, ROWS)
    places = tl.program_id(1) * COLUMNS + tl.arange(0, COLUMNS)
    inside = places < columns
    there = (rows[:, None] < n) & inside[None, :]
    at = rows[:, None] * row_stride + places[None, :].to(tl.int64) * column_stride
    value = tl.load(values + at, mask=there, other=0.0).to(tl.float64)
    scales = tl.load(scale + places, mask=inside, other=0.0)
    firsts = tl.load(first + places, mask=inside, other=0.0)
    cell = (tl.floor(value * scales[None, :]) - firsts[None, :]).to(tl.int64)
    code = tl.load(codes + rows, mask=rows < n, other=0).to(tl.int64)
    if SIDED:
        side = (code[:, None] == (places + own)[None, :].to(tl.int64)).to(tl.int64)
    else:
        side = code[:, None] + tl.zeros([ROWS, COLUMNS], dtype=tl.int64)
    key = (places[None, :].to(tl.int64) * size + cell) * k + side
    tl.atomic_add(out + key, tl.full([ROWS, COLUMNS], 1, dtype=tl.int32), mask=there, sem="relaxed")


@jit
def sum_losses(
    probability, positive, centre, edges, out, clipped, n, eps,
    BINS: tl.constexpr, TERMS: tl.constexpr, KEYS: tl.constexpr, BLOCK: tl.constexpr,
):  # fmt: skip
    """Sums of the cases of every program: by class and bin, and for losses by class, in the first bin of each.

    The terms stand as in `loss_sums`: 1, y − p and its square, then three powers of the Brier, the log and the
    spherical loss about their centres.
    """
    keys = tl.arange(0, KEYS)
    brier_centre = tl.load(centre)
    log_centre = tl.load(centre + 1)
    sphere_centre = tl.load(centre + 2)
    number = tl.zeros([KEYS], dtype=tl.float64)
    gaps = tl.zeros([KEYS], dtype=tl.float64)
    squares = tl.zeros([KEYS], dtype=tl.float64)
    none = tl.zeros([BLOCK], dtype=tl.float64)
    b1, b2, b3, l1, l2, l3, s1, s2, s3 = none, none, none, none, none, none, none, none, none
    pb1, pb2, pb3, pl1, pl2, pl3, ps1, ps2, ps3 = none, none, none, none, none, none, none, none, none
    low = tl.zeros([BLOCK], dtype=tl.int32)
    step = tl.num_programs(0).to(tl.int64) * BLOCK
    for start in range(tl.program_id(0).to(tl.int64) * BLOCK, n, step):
        rows = start + tl.arange(0, BLOCK)
        there = rows < n
        p = tl.load(probability + rows, mask=there, other=0.0).to(tl.float64)
        hit = tl.load(positive + rows, mask=there, other=0) != 0
        y = hit.to(tl.float64)
        one = there.to(tl.float64)
        gap = y - p
        square = gap * gap
        right = tl.where(hit, p, 1.0 - p)
        raised = tl.maximum(right, eps)
        low += ((right < eps) & there).to(tl.int32)
        place = tl.zeros([BLOCK], dtype=tl.int32)
        for edge in tl.static_range(BINS - 1):
            place += (p > tl.load(edges + edge)).to(tl.int32)
        key = tl.where(hit, place + BINS, place)
        key = tl.where(there, key, KEYS - 1)
        at = key[:, None] == keys[None, :]
        number += tl.histogram(key, KEYS).to(tl.float64)
        gaps += tl.sum(tl.where(at, gap[:, None], 0.0), axis=0)
        squares += tl.sum(tl.where(at, square[:, None], 0.0), axis=0)
        brier = (square - brier_centre) * one
        loss = (-tl.log(raised) - log_centre) * one
        sphere = (right / tl.sqrt(right * right + square) - sphere_centre) * one
        hit_brier, hit_loss, hit_sphere = brier * y, loss * y, sphere * y
        b1 += brier
        b2 += brier * brier
        b3 += brier * brier * brier
        l1 += loss
        l2 += loss * loss
        l3 += loss * loss * loss
        s1 += sphere
        s2 += sphere * sphere
        s3 += sphere * sphere * sphere
        pb1 += hit_brier
        pb2 += hit_brier * brier
        pb3 += hit_brier * brier * brier
        pl1 += hit_loss
        pl2 += hit_loss * loss
        pl3 += hit_loss * loss * loss
        ps1 += hit_sphere
        ps2 += hit_sphere * sphere
        ps3 += hit_sphere * sphere * sphere
    base = out + tl.program_id(0).to(tl.int64) * (TERMS * KEYS)
    tl.store(base + keys, number)
    tl.store(base + KEYS + keys, gaps)
    tl.store(base + 2 * KEYS + keys, squares)
    _store(base + 3 * KEYS, b1, pb1, BINS)
    _store(base + 4 * KEYS, b2, pb2, BINS)
    _store(base + 5 * KEYS, b3, pb3, BINS)
    _store(base + 6 * KEYS, l1, pl1, BINS)
    _store(base + 7 * KEYS, l2, pl2, BINS)
    _store(base + 8 * KEYS, l3, pl3, BINS)
    _store(base + 9 * KEYS, s1, ps1, BINS)
    _store(base + 10 * KEYS, s2, ps2, BINS)
    _store(base + 11 * KEYS, s3, ps3, BINS)
    tl.atomic_add(clipped, tl.sum(low).to(tl.int64))


@jit
def _store(where, every, hits, BINS: tl.constexpr):
    positive = tl.sum(hits)
    tl.store(where, tl.sum(every) - positive)
    tl.store(where + BINS, positive)
