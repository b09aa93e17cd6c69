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
    """What is wrong with the rows of a batch of two classes, added to the counters of `Checks`.

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
    TOP: tl.constexpr, LAST_OCTAVE: tl.constexpr, LAST: tl.constexpr, INSIDE: tl.constexpr, DEEP: tl.constexpr,
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
    place = _find_cell(p, BITS, SHIFT, MIDDLE, FIRST, TOP, LAST_OCTAVE, LAST, INSIDE, DEEP, LINEAR)
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
    LAST_OCTAVE: tl.constexpr, LAST: tl.constexpr, INSIDE: tl.constexpr, DEEP: tl.constexpr, LINEAR: tl.constexpr,
):  # fmt: skip
    """The bin of the ladder for each probability, a float of 64 bits, as `find_cells` has it."""
    low = p < 0.5
    turned = tl.where(low, p.to(tl.int64, bitcast=True), (1.0 - p).to(tl.int64, bitcast=True) - 1)
    number = turned >> SHIFT
    above = tl.where(p == 1.0, LAST, TOP - tl.maximum(number, LAST_OCTAVE))
    below = tl.where(p < DEEP, (tl.minimum(p, DEEP) * LINEAR).to(tl.int64), number - FIRST)
    middle = (p * (1 << BITS)).to(tl.int64) + MIDDLE
    return tl.where(turned >= INSIDE, middle, tl.where(low, below, above))


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
def sum_losses(
    probability, positive, centre, edges, out, clipped, n, eps,
    BINS: tl.constexpr, TERMS: tl.constexpr, KEYS: tl.constexpr, BLOCK: tl.constexpr,
):  # fmt: skip
    """Sums of the cases of every program, whose terms stand as in `loss_sums`.

    1, y − p and its square are summed by class and bin. Of the log and the spherical loss about their centres the
    first power is summed by class, in the first bin of each, and the others all in one; so are those of the Brier loss,
    whose first power follows from the squares.
    """
    keys = tl.arange(0, KEYS)
    brier_centre = tl.load(centre)
    log_centre = tl.load(centre + 1)
    sphere_centre = tl.load(centre + 2)
    number = tl.zeros([KEYS], dtype=tl.float64)
    gaps = tl.zeros([KEYS], dtype=tl.float64)
    squares = tl.zeros([KEYS], dtype=tl.float64)
    none = tl.zeros([BLOCK], dtype=tl.float64)
    b2, b3, l1, l2, l3, s1, s2, s3, hit_l, hit_s = none, none, none, none, none, none, none, none, none, none
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
        sphere = (right * tl.rsqrt(right * right + square) - sphere_centre) * one
        b2 += brier * brier
        b3 += brier * brier * brier
        l1 += loss
        l2 += loss * loss
        l3 += loss * loss * loss
        s1 += sphere
        s2 += sphere * sphere
        s3 += sphere * sphere * sphere
        hit_l += loss * y
        hit_s += sphere * y
    base = out + tl.program_id(0).to(tl.int64) * (TERMS * KEYS)
    tl.store(base + keys, number)
    tl.store(base + KEYS + keys, gaps)
    tl.store(base + 2 * KEYS + keys, squares)
    tl.store(base + 4 * KEYS, tl.sum(b2))
    tl.store(base + 5 * KEYS, tl.sum(b3))
    _store(base + 6 * KEYS, l1, hit_l, BINS)
    tl.store(base + 7 * KEYS, tl.sum(l2))
    tl.store(base + 8 * KEYS, tl.sum(l3))
    _store(base + 9 * KEYS, s1, hit_s, BINS)
    tl.store(base + 10 * KEYS, tl.sum(s2))
    tl.store(base + 11 * KEYS, tl.sum(s3))
    tl.atomic_add(clipped, tl.sum(low).to(tl.int64))


@jit
def _store(where, every, hits, BINS: tl.constexpr):
    positive = tl.sum(hits)
    tl.store(where, tl.sum(every) - positive)
    tl.store(where + BINS, positive)
