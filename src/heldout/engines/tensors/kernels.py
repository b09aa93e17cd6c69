"""Counting and summing on a device: by kernels of Triton where CUDA and Triton are, else by torch's operations."""

from __future__ import annotations

import importlib.util
from functools import cache
from typing import Any

import torch

from heldout.engines.tensors import loss_sums
from heldout.engines.tensors.ladder_cells import find_cells
from heldout.evidence.bin_grid import BIAS, STEP, Ladder
from heldout.evidence.losses import LOSSES

# Numbers that are worked on at once.
AT_ONCE = 1 << 24
# Pairs of classes that a kernel counts in its own memory.
MOST_PAIRS = 1023
# Fewer rows than this are not worth starting a kernel of our own for: torch's are compiled already.
FEW = 1 << 16
GRID_BLOCK, BATCH_BLOCK = 1024, 256
# Rows of a block, warps that work on it, and programs for each processor of the device that share the rows.
PAIRS, LOSS_ROWS, CALIBRATION_ROWS = (2048, 8, 16), (256, 8, 16), (128, 4, 16)
# Rows of a block of one column, and warps.
COLUMN = (1024, 4)
# What the kernel of losses sums, in its order, and how many bins of calibration another one has.
SUMMED, CALIBRATED = ("brier", "log_loss", "spherical_score"), 10
# Rows of which a counter of 32 bits holds the number, and rows of one thread, which counts two classes in one of them.
LONGEST, MOST_OF_THREAD = (1 << 31) - 1, (1 << 15) - 1


@cache
def has_triton() -> bool:
    """Whether Triton can be imported."""
    return importlib.util.find_spec("triton") is not None


def _runs_kernels(tensor: Any) -> bool:
    return tensor.is_cuda and tensor.numel() >= FEW and has_triton()


def _programs(tensor: Any, each: int) -> int:
    return int(torch.cuda.get_device_properties(tensor.device).multi_processor_count) * each


def _bytes(column: Any) -> Any:
    """A column that a kernel reads: booleans as bytes, and without gaps."""
    column = column.contiguous()
    return column.view(torch.uint8) if column.dtype == torch.bool else column


def add_cells(table: Any, key: Any, valid: Any = None) -> None:
    """Count rows by their key in a table of whole numbers; only `valid` rows, where that is given."""
    ones = torch.ones((), dtype=table.dtype, device=table.device).expand(len(key))
    table.scatter_add_(0, key, ones if valid is None else valid.to(table.dtype))


def count_cells(truth: Any, predicted: Any, rows: tuple[int, int], columns: tuple[int, int] | None) -> Any:
    """How many rows have each pair of whole numbers, which run from the first to the last of `rows` and `columns`."""
    width = 1 if columns is None else columns[1] - columns[0] + 1
    size = (rows[1] - rows[0] + 1) * width
    starts = rows[0], 0 if columns is None else columns[0]
    if (
        _runs_kernels(truth)
        and size <= MOST_PAIRS
        and not truth.is_floating_point()
        and max(map(abs, starts)) < 1 << 30
    ):
        return _count_pairs(truth, predicted, starts, width, size)
    key = truth.long() - starts[0]
    if columns is not None:
        key = key * width + (predicted.long() - starts[1])
    return torch.bincount(key, minlength=size)


def _count_pairs(truth: Any, predicted: Any, starts: tuple[int, int], width: int, size: int) -> Any:

    from heldout.engines.tensors import triton_kernels

    predicted = None if predicted is None else predicted.long() if predicted.is_floating_point() else predicted
    power = max(1 << size.bit_length(), 32)
    out = torch.zeros(power, dtype=torch.int64, device=truth.device)
    read = _bytes(truth)
    block, warps, each = PAIRS
    triton_kernels.count_pairs[(_programs(truth, each),)](
        read, read if predicted is None else _bytes(predicted), out, len(truth), *starts, width,
        PAIRED=predicted is not None, SIZE=power, BLOCK=block, num_warps=warps,
    )  # fmt: skip
    return out[:size]


def count_grid(values: Any, codes: Any, k: int, scale: Any, first: Any, size: int, own: int | None) -> Any:
    """Rows by column, cell of the grid and class: floor(value · scale) - first is the cell of a value in its column.

    Where `own` is a number the classes of column c are 1 for the rows whose code is own + c, else 0.
    """
    n, columns = values.shape
    table = torch.zeros(columns * size * k, dtype=torch.int32, device=values.device)
    scales, firsts = (torch.as_tensor(part, dtype=torch.float64, device=values.device) for part in (scale, first))
    if _runs_kernels(values):
        from heldout.engines.tensors import triton_kernels

        if columns == 1 and own is None and values.dtype == torch.float32 and abs(first[0]) + size * k < 1 << 30:
            block, warps = COLUMN
            triton_kernels.count_column[(-(-n // block),)](
                values.contiguous(), _bytes(codes), table, n, float(scale[0]), int(first[0]), k,
                BLOCK=block, num_warps=warps,
            )  # fmt: skip
            return table.reshape(columns, size, k)
        across = min(1 << (columns - 1).bit_length(), 32)
        down = GRID_BLOCK // across
        triton_kernels.count_cells_of_grid[(-(-n // down), -(-columns // across))](
            values, _bytes(codes), scales, firsts, table, n, columns, *values.stride(), size, k, own or 0,
            SIDED=own is not None, ROWS=down, COLUMNS=across,
        )  # fmt: skip
        return table.reshape(columns, size, k)
    at_once = max(AT_ONCE // columns, 1)
    starts = torch.arange(columns, device=values.device) * size
    for begin in range(0, n, at_once):
        block = values[begin : begin + at_once].double()
        cell = (torch.floor(block * scales) - firsts).long() + starts
        code = codes[begin : begin + at_once].long()[:, None]
        if own is not None:
            code = (code == torch.arange(own, own + columns, device=values.device)).long()
        add_cells(table, (cell * k + code).reshape(-1))
    return table.reshape(columns, size, k)


def sum_positive(
    p: Any, positive: Any, eps: float, weight: Any = None, ladder: Ladder | None = None
) -> tuple[dict[str, Any], Any]:
    """The sums of losses and calibration of probabilities of the positive class; on a ladder, rows by bin and class."""
    state = loss_sums.begin(2, p.device, weighted=weight is not None)
    table = None
    if ladder is not None:
        kind = torch.int32 if len(p) <= LONGEST else torch.int64
        table = torch.zeros(2 * len(ladder), dtype=kind, device=p.device)
    if weight is None and _runs_kernels(p) and _sums_by_kernels():
        _sum_by_kernels(state, p.contiguous(), _bytes(positive), eps, ladder, table)
        return state, table
    at_once = loss_sums.ROWS_AT_ONCE
    for start in range(0, len(p), at_once):
        rows = slice(start, start + at_once)
        part = p[rows].double()
        loss_sums.add_positive(state, part, positive[rows], eps, None if weight is None else weight[rows])
        if ladder is not None:
            add_cells(table, find_cells(ladder, part) * 2 + positive[rows])
    return state, table


def _sums_by_kernels() -> bool:
    """Whether the kernels sum what evidence asks for."""
    return tuple(LOSSES) == SUMMED and loss_sums.BINS == CALIBRATED


def _sum_by_kernels(state: dict[str, Any], p: Any, positive: Any, eps: float, ladder: Any, table: Any) -> None:
    """In two readings: one for everything takes longer, because its sums fill the registers."""
    from heldout.engines.tensors import triton_kernels

    # The first rows tell the centres.
    state["centre"] = loss_sums.find_centre(p[:FEW].double(), positive[:FEW] != 0, eps)
    block, warps, each = CALIBRATION_ROWS
    out = torch.zeros((_programs(p, each), loss_sums.TERMS, 32), dtype=torch.float64, device=p.device)
    sums, edges = torch.zeros_like(out[0]), _calibration_edges(p)
    sizes = {"TERMS": loss_sums.TERMS, "KEYS": 32, "BINS": loss_sums.BINS}
    # Without a ladder nothing is counted on it.
    steps = _steps(Ladder(STEP) if ladder is None else ladder)
    at_once = min(LONGEST, len(out) * block * MOST_OF_THREAD)
    for some, sides in zip(p.split(at_once), positive.split(at_once), strict=True):
        cells = None if table is None else torch.zeros_like(table, dtype=torch.int32)
        triton_kernels.count_and_calibrate[(len(out),)](
            some, sides, cells if cells is not None else out, edges, out, len(some), COUNTS=cells is not None,
            BLOCK=block, num_warps=warps, **sizes, **steps,
        )  # fmt: skip
        sums += out.sum(dim=0)
        if table is not None:
            table += cells
    block, warps, each = LOSS_ROWS
    out = torch.zeros((_programs(p, each), *sums.shape), dtype=torch.float64, device=p.device)
    triton_kernels.sum_losses[(len(out),)](
        p, positive, state["centre"], out, state["clipped"], len(p), eps, BLOCK=block, num_warps=warps, **sizes
    )
    sums += out.sum(dim=0)
    state["sums"] = sums[None, :, : loss_sums.KEYS]
    state["cases"] = state["sums"][0, 0].round().long()


def _calibration_edges(p: Any) -> Any:
    """The inner edges of the bins of calibration in the floats of p, rounded down: no p of these lies between."""
    edges = torch.linspace(0, 1, loss_sums.BINS + 1, dtype=torch.float64, device=p.device)[1:-1]
    near = edges.to(p.dtype)
    return torch.where(near.double() > edges, torch.nextafter(near, torch.zeros_like(near)), near).contiguous()


@cache
def _steps(ladder: Ladder) -> dict[str, Any]:
    """The numbers of a ladder as kernels take them."""
    deep = 2.0**ladder.deepest
    return {
        "BITS": ladder.bits, "SHIFT": ladder.shift, "MIDDLE": ladder.middle, "FIRST": ladder.first_octave,
        "TOP": ladder.top, "LAST": ladder.last,
        "INSIDE": (BIAS - ladder.step) * ladder.octave, "DEEP": deep, "LINEAR": ladder.octave / deep,
    }  # fmt: skip


def counts_batches(values: Any, targets: Any) -> bool:
    """Whether one kernel can count a batch of two classes: one column, and whole numbers as targets."""
    one = values.shape[1] == 1 and not targets.is_floating_point() and targets.device == values.device
    return bool(one and values.is_cuda and has_triton() and _sums_by_kernels())


def count_batch(
    state: dict[str, Any], values: Any, targets: Any, ladder: Ladder, mode: int, place: int, ignored: int | None,
    before: int,
) -> None:  # fmt: skip
    """Check and count a batch of two classes by two kernels; `state` has the centres of the losses already.

    `mode` is 0 where the batch tells whether it is logits, 1 where it is, and 2 where it is probabilities.
    """
    from heldout.engines.tensors import triton_kernels

    n = len(values)
    column, classes = values.reshape(-1), _bytes(targets)
    seen = torch.zeros(2, dtype=torch.int64, device=values.device)
    grid = (-(-n // BATCH_BLOCK),)
    skipped, skips = (0, False) if ignored is None else (ignored, True)
    triton_kernels.check_batch[grid](
        column, classes, state["flags"], state["first_row"].view(torch.int64), state["ends"], seen, n, before, skipped,
        IGNORES=skips, BLOCK=BATCH_BLOCK,
    )  # fmt: skip
    triton_kernels.count_batch[grid](
        column, classes, seen, state["flags"], state["reach"], state["bins"], state["confusion"], state["sums"],
        state["cases"], state["clipped"], state["centre"], state["limits"], n, skipped,
        float(torch.finfo(values.dtype).eps),
        MODE=mode, IGNORES=skips, PLACE=place, BINS=loss_sums.BINS, KEYS=32, BLOCK=BATCH_BLOCK, **_steps(ladder),
    )  # fmt: skip
