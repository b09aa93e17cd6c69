"""Kernels of Triton: pairs of classes, cells of a grid, bins of the ladder, and sums of losses and calibration.

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

    steady = jit
else:
    jit = triton.jit
    # The same, not compiled anew where the number of rows becomes divisible by 16.
    steady = triton.jit(do_not_specialize=["n", "before"])


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
def count_column(values, codes, out, n, scale, first, k, BLOCK: tl.constexpr):
    """Rows by cell of the grid and class, of one column of floats of 32 bits whose cells are numbers of 32 bits."""
    rows = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    there = rows < n
    value = tl.load(values + rows, mask=there, other=0.0)
    code = tl.load(codes + rows, mask=there, other=0).to(tl.int32)
    cell = tl.floor(value * scale).to(tl.int32) - first
    tl.atomic_add(out + (cell * k + code), tl.full([BLOCK], 1, dtype=tl.int32), mask=there, sem="relaxed")


@steady
def check_batch(
    values, targets, flags, first_row, ends, seen, n, before, ignored,
    IGNORES: tl.constexpr, BLOCK: tl.constexpr,
):  # fmt: skip
    """What is wrong with the rows of a batch of two classes, added to the counters of `begin_checks`.

    `first_row` and `ends` are read as whole numbers: the bits of a float that is not negative are in its order. `seen`
    takes how many rows are no probabilities, and how many count.
    """
    rows = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    there = rows < n
    x = tl.load(values + rows, mask=there, other=0.0).to(tl.float64)
    target = tl.load(targets + rows, mask=there, other=0).to(tl.int64)
    counting = there
    if IGNORES:
        counting = there & (target != ignored)
        tl.atomic_add(flags + 9, tl.sum((there & (target == ignored)).to(tl.int64)))
    absent = counting & (x != x)
    infinite = counting & (tl.abs(x) > 1.7976931348623157e308)
    outside = counting & ((target < 0) | (target > 1))
    valid = counting & (x == x) & (tl.abs(x) <= 1.7976931348623157e308) & (target >= 0) & (target <= 1)
    improbable = valid & ((x < -1e-6) | (x > 1.000001))
    missing = tl.sum(absent.to(tl.int64))
    tl.atomic_add(flags + 0, missing)
    tl.atomic_add(flags + 3, missing)
    tl.atomic_add(flags + 4, tl.sum(infinite.to(tl.int64)))
    tl.atomic_add(flags + 6, tl.sum(outside.to(tl.int64)))
    tl.atomic_add(seen, tl.sum(improbable.to(tl.int64)))
    tl.atomic_add(seen + 1, tl.sum(valid.to(tl.int64)))
    place = rows + before
    never = tl.full([BLOCK], 9007199254740992, dtype=tl.int64)
    tl.atomic_min(first_row + 0, _as_bits(tl.min(tl.where(absent, place, never))))
    tl.atomic_min(first_row + 1, _as_bits(tl.min(tl.where(infinite, place, never))))
    tl.atomic_min(first_row + 4, _as_bits(tl.min(tl.where(improbable, place, never))))
    tl.atomic_min(ends + 0, tl.min(tl.where(outside, target, 9223372036854775807)))
    tl.atomic_min(ends + 1, tl.min(tl.where(outside, -target, 9223372036854775807)))


@jit
def _as_bits(row):
    """A row number as the bits of a float."""
    return row.to(tl.float64).to(tl.int64, bitcast=True)


@steady
def count_batch(
    values, targets, seen, flags, reach, bins, confusion, sums, cases, clipped, centre, limits, n, ignored, eps,
    MODE: tl.constexpr, IGNORES: tl.constexpr, PLACE: tl.constexpr, BINS: tl.constexpr, KEYS: tl.constexpr,
    BLOCK: tl.constexpr, BITS: tl.constexpr, SHIFT: tl.constexpr, MIDDLE: tl.constexpr, FIRST: tl.constexpr,
    TOP: tl.constexpr, LAST: tl.constexpr, INSIDE: tl.constexpr, DEEP: tl.constexpr,
    LINEAR: tl.constexpr,
):  # fmt: skip
    """Count the sound rows of a batch of two classes: bins of the ladder, confusion, losses and calibration.

    MODE is 0 where the batch itself tells whether it is logits, 1 where it is, and 2 where it is probabilities. The
    last of `limits` is the threshold, the others are the edges of the bins of calibration.
    """
    rows = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    there = rows < n
    given = tl.load(values + rows, mask=there, other=0.0)
    target = tl.load(targets + rows, mask=there, other=0).to(tl.int64)
    wide = given.to(tl.float64)
    valid = there & (wide == wide) & (tl.abs(wide) <= 1.7976931348623157e308) & (target >= 0) & (target <= 1)
    if IGNORES:
        valid = valid & (target != ignored)
    likely = 1.0 / (1.0 + tl.exp(-given))
    shares = tl.minimum(tl.maximum(wide, 0.0), 1.0)
    if MODE == 0:
        plain = tl.load(seen) == 0
        p = tl.where(plain, shares, likely.to(tl.float64))
        some = (tl.program_id(0) == 0) & (tl.load(seen + 1) > 0)
        tl.atomic_add(flags + 12, (some & plain).to(tl.int64))
        tl.atomic_add(flags + 11, (some & (tl.load(seen) != 0)).to(tl.int64))
    elif MODE == 1:
        p = likely.to(tl.float64)
    else:
        p = shares
        tl.atomic_add(flags + 10, tl.load(seen) * (tl.program_id(0) == 0).to(tl.int64))
    p = tl.where(valid, p, 0.5)
    bits = p.to(tl.int64, bitcast=True)
    tl.atomic_min(reach, tl.min(tl.where(valid, bits, 9218868437227405312)))
    tl.atomic_min(reach + 1, tl.min(tl.where(valid, -bits, 9218868437227405312)))
    place = _find_cell(p, BITS, SHIFT, MIDDLE, FIRST, TOP, LAST, INSIDE, DEEP, LINEAR)
    hit = target == PLACE
    y = hit.to(tl.float64)
    tl.atomic_add(bins + (place * 2 + hit.to(tl.int64)), tl.full([BLOCK], 1, dtype=tl.int64), mask=valid, sem="relaxed")
    called = p >= tl.load(limits + (BINS - 1))
    answer = tl.where(called, PLACE, 1 - PLACE)
    cell = tl.where(valid, target.to(tl.int32) * 2 + answer, 7)
    four = tl.arange(0, 8)
    tl.atomic_add(confusion + four, tl.histogram(cell, 8).to(tl.int64), mask=four < 4)
    one = valid.to(tl.float64)
    gap = y - p
    square = gap * gap
    right = tl.where(hit, p, 1.0 - p)
    raised = tl.maximum(right, eps)
    tl.atomic_add(clipped, tl.sum((valid & (right < eps)).to(tl.int64)))
    at_bin = tl.zeros([BLOCK], dtype=tl.int32)
    for edge in tl.static_range(BINS - 1):
        at_bin += (p > tl.load(limits + edge)).to(tl.int32)
    key = tl.where(valid, tl.where(hit, at_bin + BINS, at_bin), KEYS - 1)
    keys = tl.arange(0, KEYS)
    inside = keys < 2 * BINS
    at = key[:, None] == keys[None, :]
    number = tl.histogram(key, KEYS)
    tl.atomic_add(cases + keys, number.to(tl.int64), mask=inside)
    tl.atomic_add(sums + keys, number.to(tl.float64), mask=inside)
    tl.atomic_add(sums + 2 * BINS + keys, tl.sum(tl.where(at, gap[:, None], 0.0), axis=0), mask=inside)
    tl.atomic_add(sums + 4 * BINS + keys, tl.sum(tl.where(at, square[:, None], 0.0), axis=0), mask=inside)
    brier = (square - tl.load(centre)) * one
    loss = (-tl.log(raised) - tl.load(centre + 1)) * one
    sphere = (right / tl.sqrt(right * right + square) - tl.load(centre + 2)) * one
    _add_powers(sums + 6 * BINS, brier, y, BINS)
    _add_powers(sums + 12 * BINS, loss, y, BINS)
    _add_powers(sums + 18 * BINS, sphere, y, BINS)


@jit
def _find_cell(
    p, BITS: tl.constexpr, SHIFT: tl.constexpr, MIDDLE: tl.constexpr, FIRST: tl.constexpr, TOP: tl.constexpr,
    LAST: tl.constexpr, INSIDE: tl.constexpr, DEEP: tl.constexpr, LINEAR: tl.constexpr,
):  # fmt: skip
    """The bin of the ladder for each probability, a float of 64 bits, as `find_cells` has it."""
    low = p < 0.5
    turned = tl.where(low, p.to(tl.int64, bitcast=True), (1.0 - p).to(tl.int64, bitcast=True) - 1)
    number = (turned >> SHIFT).to(tl.int32)
    above = tl.minimum(TOP - number, LAST)
    below = tl.where(p < DEEP, (tl.minimum(p, DEEP) * LINEAR).to(tl.int32), number - FIRST)
    middle = (p * (1 << BITS)).to(tl.int32) + MIDDLE
    return tl.where(number >= INSIDE, middle, tl.where(low, below, above))


@jit
def _add_powers(where, away, y, BINS: tl.constexpr):
    """Add three powers of a loss, of the negative class to the first bin of the keys and of the positive to its own."""
    _add_both(where, away, y, BINS)
    _add_both(where + 2 * BINS, away * away, y, BINS)
    _add_both(where + 4 * BINS, away * away * away, y, BINS)


@jit
def _add_both(where, values, y, BINS: tl.constexpr):
    tl.atomic_add(where, tl.sum(values * (1.0 - y)))
    tl.atomic_add(where + BINS, tl.sum(values * y))


@jit
def count_and_calibrate(
    probability, positive, table, edges, out, n, COUNTS: tl.constexpr, TERMS: tl.constexpr, KEYS: tl.constexpr,
    BINS: tl.constexpr, BLOCK: tl.constexpr, BITS: tl.constexpr, SHIFT: tl.constexpr, MIDDLE: tl.constexpr,
    FIRST: tl.constexpr, TOP: tl.constexpr, LAST: tl.constexpr, INSIDE: tl.constexpr,
    DEEP: tl.constexpr, LINEAR: tl.constexpr,
):  # fmt: skip
    """Rows by bin of the ladder and class; sums of every program by bin of calibration, as they stand in `loss_sums`.

    1 and y − p are summed by class and bin, its square by bin. Every thread has all sums of its rows: one table for all
    threads would have to be added up for every few rows.
    """
    # Of ten bins nine edges, read once and not for every row.
    e0, e1, e2, e3, e4 = tl.load(edges), tl.load(edges + 1), tl.load(edges + 2), tl.load(edges + 3), tl.load(edges + 4)
    e5, e6, e7, e8 = tl.load(edges + 5), tl.load(edges + 6), tl.load(edges + 7), tl.load(edges + 8)
    bins = tl.arange(0, 16)
    number = tl.zeros([16, BLOCK], dtype=tl.int32)
    missed = tl.zeros([16, BLOCK], dtype=tl.float64)
    found = tl.zeros([16, BLOCK], dtype=tl.float64)
    squares = tl.zeros([16, BLOCK], dtype=tl.float64)
    certain = tl.zeros([BLOCK], dtype=tl.int32)
    step = tl.num_programs(0).to(tl.int64) * BLOCK
    for start in tl.range(tl.program_id(0).to(tl.int64) * BLOCK, n, step, num_stages=3):
        rows = start + tl.arange(0, BLOCK)
        there = rows < n
        given = tl.load(probability + rows, mask=there, other=0.0)
        hit = tl.load(positive + rows, mask=there, other=0) != 0
        p = given.to(tl.float64)
        # A row of the negative class in the lower half of a number, and one of the positive class in the upper half.
        one = tl.where(there, tl.where(hit, 65536, 1), 0)
        if COUNTS:
            cell = _find_cell(p, BITS, SHIFT, MIDDLE, FIRST, TOP, LAST, INSIDE, DEEP, LINEAR)
            # Very many may be 1, and would all wait for one counter.
            certain += tl.where(given == 1.0, one, 0)
            at = table + (cell * 2 + hit.to(tl.int32))
            tl.atomic_add(at, tl.full([BLOCK], 1, dtype=tl.int32), mask=there & (given != 1.0), sem="relaxed")
        gap = tl.where(there, hit.to(tl.float64) - p, 0.0)
        place = (given > e0).to(tl.int32) + (given > e1).to(tl.int32) + (given > e2).to(tl.int32)
        place += (given > e3).to(tl.int32) + (given > e4).to(tl.int32) + (given > e5).to(tl.int32)
        place += (given > e6).to(tl.int32) + (given > e7).to(tl.int32) + (given > e8).to(tl.int32)
        inside = place[None, :] == bins[:, None]
        number += tl.where(inside, one[None, :], 0)
        missed += tl.where(inside, tl.where(hit, 0.0, gap)[None, :], 0.0)
        found += tl.where(inside, tl.where(hit, gap, 0.0)[None, :], 0.0)
        squares += tl.where(inside, (gap * gap)[None, :], 0.0)
    if COUNTS:
        tl.atomic_add(table + 2 * LAST, tl.sum(certain & 65535))
        tl.atomic_add(table + 2 * LAST + 1, tl.sum(certain >> 16))
    base = out + tl.program_id(0).to(tl.int64) * (TERMS * KEYS) + bins
    used = bins < BINS
    tl.store(base, tl.sum(number & 65535, axis=1).to(tl.float64), mask=used)
    tl.store(base + BINS, tl.sum(number >> 16, axis=1).to(tl.float64), mask=used)
    tl.store(base + KEYS, tl.sum(missed, axis=1), mask=used)
    tl.store(base + KEYS + BINS, tl.sum(found, axis=1), mask=used)
    tl.store(base + 2 * KEYS, tl.sum(squares, axis=1), mask=used)


@jit
def sum_losses(
    probability, positive, centre, out, clipped, n, eps,
    TERMS: tl.constexpr, KEYS: tl.constexpr, BINS: tl.constexpr, BLOCK: tl.constexpr,
):  # fmt: skip
    """Powers of the losses about their centres, sums of every program, as they stand in `loss_sums`.

    The first power is summed by class, in the first bin of each, and the others all in one.
    """
    brier_centre = tl.load(centre)
    log_centre = tl.load(centre + 1)
    sphere_centre = tl.load(centre + 2)
    none = tl.zeros([BLOCK], dtype=tl.float64)
    b1, b2, b3, l1, l2, l3, s1, s2, s3 = none, none, none, none, none, none, none, none, none
    hit_b, hit_l, hit_s = none, none, none
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
        low += ((right < eps) & there).to(tl.int32)
        brier = (square - brier_centre) * one
        loss = (-tl.log(tl.maximum(right, eps)) - log_centre) * one
        sphere = (right * tl.rsqrt(right * right + square) - sphere_centre) * one
        b1 += brier
        b2 += brier * brier
        b3 += brier * brier * brier
        l1 += loss
        l2 += loss * loss
        l3 += loss * loss * loss
        s1 += sphere
        s2 += sphere * sphere
        s3 += sphere * sphere * sphere
        hit_b += brier * y
        hit_l += loss * y
        hit_s += sphere * y
    base = out + tl.program_id(0).to(tl.int64) * (TERMS * KEYS)
    _store(base + 3 * KEYS, b1, hit_b, b2, b3, BINS, KEYS)
    _store(base + 6 * KEYS, l1, hit_l, l2, l3, BINS, KEYS)
    _store(base + 9 * KEYS, s1, hit_s, s2, s3, BINS, KEYS)
    tl.atomic_add(clipped, tl.sum(low).to(tl.int64))


@jit
def _store(where, every, hits, second, third, BINS: tl.constexpr, KEYS: tl.constexpr):
    """Write the three powers of one loss, the first by class."""
    positive = tl.sum(hits)
    tl.store(where, tl.sum(every) - positive)
    tl.store(where + BINS, positive)
    tl.store(where + KEYS, tl.sum(second))
    tl.store(where + 2 * KEYS, tl.sum(third))
