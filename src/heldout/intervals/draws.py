"""Random tables: draws from the Dirichlet posterior of the cells, and the bootstrap of the counts.

Resampling rows is resampling counts: the cost depends on the number of cells, never on the number of rows.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from heldout.arguments import require
from heldout.arrays import Floats
from heldout.evidence import Confusion
from heldout.intervals.quantiles import z_value
from heldout.intervals.target import Subject
from heldout.measures.cells import TWO, TableBatch, class_cells
from heldout.threads import cached_property

# The number of draws is the largest of LADDER that keeps a batch near NUMBERS; (B + 1) · 2.5 % is whole for each.
NUMBERS = 100_000
LADDER = (9999, 3999, 999)
# At least this many draws lie beyond each limit; above this level that would take too many draws.
BEYOND = 5
DRAWN_LEVEL = 0.9999
# Half a case per cell of a 2 × 2 table (Jeffreys), one case in all over larger tables: half a case in every
# cell of a 5 × 5 table would outweigh the data.
CELL_PRIOR = 0.5
TABLE_PRIOR = 1.0
# From this many draws on only those near a limit are sorted.
MANY_DRAWS = 2000
# Larger tables than this are not drawn: their intervals come in closed form.
MOST_CELLS = 20_000
# Nor are more numbers than this drawn, which very high levels would need: they take .2 GB.
MOST_NUMBERS = 25_000_000
# More draws than this take seconds; limits farther out than they reach are continued.
MOST_DRAWS = 199_999


@lru_cache
def can_draw_tables(classes: int, level: float) -> bool:
    """Whether whole tables of so many classes are drawn at a level.

    >>> can_draw_tables(100, 0.95), can_draw_tables(100, 0.999), can_draw_tables(3, 0.9999), can_draw_tables(200, 0.95)
    (True, False, True, False)
    """
    cells = classes**2
    return cells <= MOST_CELLS and level <= DRAWN_LEVEL and cells * _draws_for(cells, level) <= MOST_NUMBERS


def posterior_draws(numbers_per_draw: int, level: float = 0.95) -> int:
    """How many posterior draws to take of something that takes this many numbers.

    At a high level there are so many that some lie beyond the limits, as long as that takes no more than seconds.

    >>> posterior_draws(4), posterior_draws(100), posterior_draws(10_000), posterior_draws(100, level=0.9999)
    (9999, 999, 999, 99999)
    >>> posterior_draws(4, level=0.9999999), posterior_draws(10_000, level=0.9999)
    (199999, 2500)
    """
    most = min(MOST_DRAWS, max(LADDER[-1], MOST_NUMBERS // numbers_per_draw))
    return min(_draws_for(numbers_per_draw, level), most)


def _draws_for(numbers_per_draw: int, level: float) -> int:
    """How many draws show the limits of a level, however long they take."""
    beyond = math.ceil(BEYOND / ((1 - level) / 2) - 1e-6) - 1
    return max(next((b for b in LADDER if b * numbers_per_draw <= NUMBERS), LADDER[-1]), beyond)


@dataclass(frozen=True)
class Draws:
    """Draws that all quantities of one evaluation share, made when first asked for."""

    confusion: Confusion
    seed: int
    replicates: int = 2000
    scale: Any = 1.0
    level: float = 0.95

    def rng(self, stream: int) -> np.random.Generator:
        """A generator of its own for each kind of draw, so that the order of questions does not matter."""
        return np.random.default_rng([self.seed, stream])

    @cached_property
    def limits(self) -> dict[tuple[str, str, str, float], tuple[Any, Any]]:
        """The limits that several measures share, by what found them, measure, axis and level."""
        return {}

    @cached_property
    def of_two(self) -> bool:
        """Whether each class is the rest of the other: then whole tables serve for both, and give one interval."""
        return self.confusion.n_classes == TWO and len(self.confusion.counts) > 0 and np.ndim(self.scale) == 0

    @cached_property
    def posterior_classes(self) -> dict[str, Any]:
        """TP, FN, FP, TN of each class against the rest: arrays (k, B)."""
        if self.of_two:
            classes = self.posterior_tables.classes
            tp, fn, fp = (classes[corner].T for corner in ("tp", "fn", "fp"))
            return class_cells(tp, fn, fp, tp[::-1])
        table = self.confusion.corners * np.reshape(self.scale, (-1, 1)) + CELL_PRIOR
        size = posterior_draws(table.size, self.level)
        drawn = self.rng(1).standard_gamma(table.T[:, :, None], size=(4, len(table), size))
        return class_cells(*drawn)

    @cached_property
    def posterior_tables(self) -> TableBatch:
        """Whole tables."""
        k = self.confusion.n_classes
        prior = CELL_PRIOR if k <= 2 else TABLE_PRIOR / (k * k)
        table = self.confusion.matrix * self.scale + prior
        return TableBatch(self.rng(2).standard_gamma(table, size=(posterior_draws(k * k, self.level), k, k)))

    @cached_property
    def bootstrap_classes(self) -> dict[str, Any]:
        """Resampled TP, FN, FP, TN of each class against the rest: arrays (k, B)."""
        table = self.confusion.corners * np.reshape(self.scale, (-1, 1))
        n = np.maximum(np.rint(table.sum(axis=1)), 1).astype(np.int64)
        shares = table / table.sum(axis=1, keepdims=True)
        drawn = self.rng(3).multinomial(n[:, None], shares[:, None, :], size=(len(table), self.replicates))
        return class_cells(*np.moveaxis(drawn.astype(np.float64), -1, 0))

    def bootstrap_values(self, subject: Subject) -> Floats:
        """The value of a quantity of the whole table on each resampled table."""
        counts = self.confusion.counts * self.scale
        total = max(1, round(float(counts.sum())))
        rng = self.rng(4)
        k, cells = self.confusion.n_classes, len(counts)
        block = max(1, (1 << 22) // (k * k + cells))
        values = []
        for start in range(0, self.replicates, block):
            size = min(block, self.replicates - start)
            drawn = rng.multinomial(total, counts / counts.sum(), size=size)
            tables = np.zeros((size, k, k))
            tables[:, self.confusion.truth, self.confusion.predicted] = drawn
            values.append(np.asarray(subject.of_tables(TableBatch(tables))))
        return np.concatenate(values)

    def bootstrap_groups(self, subject: Subject) -> Floats:
        """The value on each table made of groups drawn with replacement: (B,), or (k, B) for classes."""
        clusters = require(self.confusion.clusters, "there are no groups to draw")
        from scipy import sparse

        cells = len(self.confusion.counts)
        group_cells = sparse.csr_matrix(
            (clusters.count.astype(np.float64), (clusters.group, clusters.cell)),
            shape=(clusters.number, cells),
        )
        rng = self.rng(5)
        k = self.confusion.n_classes
        block = max(1, (1 << 22) // (clusters.number + k * k))
        values = []
        for start in range(0, self.replicates, block):
            size = min(block, self.replicates - start)
            picks = rng.multinomial(clusters.number, np.full(clusters.number, 1 / clusters.number), size=size)
            tables = np.zeros((size, k, k))
            tables[:, self.confusion.truth, self.confusion.predicted] = picks @ group_cells
            values.append(np.asarray(subject.of_tables(TableBatch(tables))))
        return np.moveaxis(np.concatenate(values), 0, -1)


def order_limits(values: Floats, level: float) -> tuple[Any, Any]:
    """Order statistics (B + 1) p of draws along the last axis; between two of them, the outer one.

    `np.quantile`'s default would draw the limits inwards: Hyndman & Fan (1996), type 6 against type 7.
    """
    tail = (1 - level) / 2
    if np.isnan(np.minimum.reduce(values, axis=None, initial=np.inf)):
        return share_limits(values, tail, 1 - tail)
    size = values.shape[-1]
    low, high = _tail_places(tail, size)
    if size < MANY_DRAWS:
        # One place after the other: of draws that it has not seen NumPy finds two at once five times slower.
        ordered = np.partition(values, low, axis=-1)
        least, above = ordered[..., low].copy(), ordered[..., low:]
        above.partition(high - low, axis=-1)
        return least, above[..., high - low]
    flat = values.reshape(-1, size)
    # Of two classes many measures have the same draws.
    alike = len(flat) == TWO and np.array_equal(*flat)
    rows = [_pick_tails(row, low, high) for row in (flat[:1] if alike else flat)] * (TWO if alike else 1)
    ends = np.array(rows).reshape(*values.shape[:-1], 2)
    return ends[..., 0], ends[..., 1]


def posterior_limits(values: Floats, level: float) -> tuple[Any, Any]:
    """Order statistics of posterior draws along the last axis, continued where a level asks for more than there are.

    Beyond the outermost draws, limits lie as much farther from the median as those of a normal distribution do; of
    ratios, which have no upper end, their logarithms.

    >>> drawn = np.random.default_rng(0).standard_normal(999)
    >>> [round(float(posterior_limits(drawn, level)[1]), 1) for level in (0.95, 0.9999999)]
    [1.9, 5.3]
    """
    # One draw is expected beyond either limit at this level.
    shown = 1 - 2 / (values.shape[-1] + 1)
    if level <= shown or shown <= 0:
        return order_limits(values, level)
    ends, (middle, _) = order_limits(values, shown), share_limits(values, 0.5, 0.5)
    stretch = z_value(level) / z_value(shown)
    ratios = np.nanmin(values, initial=np.inf) > 0 and np.nanmax(values, initial=0.0) > 1
    with np.errstate(invalid="ignore", over="ignore"):
        far = [middle * (end / middle) ** stretch if ratios else middle + stretch * (end - middle) for end in ends]
    # A limit that is infinite already, or unknown, is as far as it can be.
    low, high = (np.where(np.isfinite(end) & np.isfinite(away), away, end) for end, away in zip(ends, far, strict=True))
    return low, high


def _pick_tails(values: Floats, low: int, high: int) -> tuple[Any, Any]:
    """The order statistics at two places: the extremes of small blocks of draws say which draws to look at."""
    # The minima of blocks are draws, so the one at a place among them is no less than the draw at that place. There are
    # four times as many as the place asks for, and hardly more draws lie below it than are needed.
    beyond = len(values) - 1 - high
    height = max(1, len(values) // (4 * max(low, beyond) + 4))
    blocks = values[: len(values) // height * height].reshape(height, -1)
    least, most = blocks.min(axis=0), blocks.max(axis=0)
    least.partition(low)
    most.partition(len(most) - 1 - beyond)
    below, above = values.compress(values <= least[low]), values.compress(values >= most[-1 - beyond])
    below.partition(low)
    above.partition(len(above) - 1 - beyond)
    return below[low], above[-1 - beyond]


def share_limits(values: Floats, low_share: Any, high_share: Any) -> tuple[Any, Any]:
    """Order statistics at shares of their own for every row of draws; undefined draws are set aside."""
    flat = np.sort(values.reshape(-1, values.shape[-1]), axis=-1)
    # nan sorts last, so the defined draws of a row are its first ones.
    sizes = (~np.isnan(flat)).sum(axis=-1)
    limits = []
    for share, up in ((low_share, False), (high_share, True)):
        shares = np.broadcast_to(share, values.shape[:-1]).reshape(-1)
        places = _place(shares, np.maximum(sizes, 1), up=up)
        picked = np.take_along_axis(flat, places[:, None], axis=-1)[:, 0]
        limits.append(picked.reshape(values.shape[:-1]))
    return limits[0], limits[1]


def bca_shares(shift: Any, skew: Any, level: float) -> tuple[Any, Any]:
    """The shares of draws below the two limits of BCa, given the shift and the acceleration: Efron (1987).

    Where the correction has passed its pole the share is that at the pole, so that a higher level is never narrower.

    >>> [round(float(share), 4) for share in bca_shares(0.0, 0.0, 0.95)]
    [0.025, 0.975]
    >>> [float(share) for share in bca_shares(0.0, 0.6, 0.95)][1]
    1.0
    """
    from scipy.special import ndtr

    shares = []
    for sign in (-1, 1):
        moved = shift + sign * z_value(level)
        left = 1 - skew * moved
        with np.errstate(divide="ignore", invalid="ignore"):
            inside = ndtr(shift + moved / left)
        shares.append(np.where(left > 0, inside, 1.0 * (np.asarray(moved) > 0)))
    return shares[0], shares[1]


@lru_cache
def _tail_places(tail: float, size: int) -> tuple[int, int]:
    return int(_place(tail, size, up=False)), int(_place(1 - tail, size, up=True))


def _place(share: Any, size: Any, *, up: bool) -> Any:
    # A tolerance: 10,000 · .025 is 250.00000000000003 in floats.
    rank = np.asarray(share) * (size + 1)
    rank = np.ceil(rank - 1e-9) if up else np.floor(rank + 1e-9)
    return np.clip(rank - 1, 0, size - 1).astype(np.int64)
