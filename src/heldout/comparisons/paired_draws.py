"""Random joint tables of two classifiers: the posterior, the bootstrap, and A and B swapped case by case."""

from __future__ import annotations

import math
from functools import lru_cache
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from heldout.arrays import Codes, Floats
from heldout.comparisons.pair_tables import Cells, PairedQuantity
from heldout.estimates.draws import CELL_PRIOR, TABLE_PRIOR, posterior_draws

# Up to this many cells of more than two classes are all given their share of the prior. Beyond, the cells that were not
# met are stood for by so many of them, drawn at random: with shares this small each posterior table has its few
# prior cases in a handful of cells anyway, and which cells exist is as good as drawn anew.
PRIOR_CELLS = 1000
# A p-value is read off the tails on both sides of zero, so there are more draws than a single interval takes.
FINER = 2
# Up to so many numbers in all, counts are drawn exactly. In larger tables a cell with fewer cases than NORMAL_FROM is
# drawn from a table of quantiles, and one with more as normal: its part in the sums that measures are made of is then
# as good as normal, and it takes a fraction of the time. The limits move by less than their own Monte Carlo error.
EXACT_NUMBERS = 400_000
# Five standard deviations lie above zero; a draw below that, one in millions, is as good as zero.
NORMAL_FROM = 25
QUANTILES = 1 << 16


def posterior_differences(seen: PairedQuantity, level: float, seed: int) -> Floats:
    """A − B on draws from the Dirichlet posterior of the joint table.

    Two classes: half a case is added to each of the eight cells. More: one case in all, evenly over the k³ cells,
    so that the table of A alone has 1/k² in each of its cells, and so has B's.
    """
    rng = np.random.default_rng([seed, 21])
    cells, shapes = _with_prior(seen, rng)
    size = posterior_draws(-(-len(cells) // FINER), level)
    return seen.differences(lambda many: rng.standard_gamma(shapes, size=(many, len(shapes))), size, cells)


def _with_prior(seen: PairedQuantity, rng: np.random.Generator) -> tuple[Cells, Floats]:
    k, cells = seen.cells.k, seen.cells
    if k**3 <= max(PRIOR_CELLS, 8):
        at = np.arange(k**3)
        shapes = np.full(k**3, CELL_PRIOR if k <= 2 else TABLE_PRIOR / k**3)
        shapes[(cells.truth * k + cells.a) * k + cells.b] += seen.counts
        return Cells(at // (k * k), at // k % k, at % k, k), shapes
    shapes = np.concatenate([seen.counts.astype(np.float64), np.full(PRIOR_CELLS, TABLE_PRIOR / PRIOR_CELLS)])
    truth, a, b = rng.integers(0, k, size=(3, PRIOR_CELLS))
    return cells.joined(Cells(truth, a, b, k)), shapes


def bootstrap_differences(seen: PairedQuantity, replicates: int, seed: int) -> Floats:
    """A − B on tables of cases drawn with replacement, each case with both of its answers."""
    rng = np.random.default_rng([seed, 22])
    counts = seen.counts
    if replicates * len(counts) <= EXACT_NUMBERS:
        shares = counts / counts.sum()
        return seen.differences(
            lambda many: rng.multinomial(seen.n, shares, size=many).astype(np.float64), replicates, seen.cells
        )
    order = np.argsort(counts, kind="stable")
    few = int(np.searchsorted(counts[order], NORMAL_FROM))
    small, large = counts[order[:few]], counts[order[few:]].astype(np.float64)

    def draw(many: int) -> Floats:
        # Each cell by itself, so that the number of cases varies too: Chamandy et al. (2012), the Poisson bootstrap. No
        # measure changes when all counts are multiplied, and given their sum such counts are multinomial.
        drawn = np.empty((many, len(counts)))
        _look_up(small, _poisson_quantiles(), rng, drawn[:, :few])
        noise = rng.standard_normal((many, len(large)))
        noise *= np.sqrt(large)
        np.maximum(np.add(noise, large, out=noise), 0.0, out=drawn[:, few:])
        return drawn

    return seen.differences(draw, replicates, seen.cells.take(order))


def permuted_differences(seen: PairedQuantity, replicates: int, seed: int) -> Floats:
    """A − B with the answers of the two swapped by a coin for every case: what no difference looks like."""
    rng = np.random.default_rng([seed, 23])
    order = np.argsort(np.where(seen.cells.a == seen.cells.b, -1, seen.counts), kind="stable")
    cells, counts = seen.cells.take(order), seen.counts[order].astype(np.float64)
    alike = int((cells.a == cells.b).sum())
    moved = counts[alike:]
    exact = replicates * len(moved) <= EXACT_NUMBERS
    few = int(np.searchsorted(moved, NORMAL_FROM))
    held = moved[few:]

    def draw(many: int) -> Floats:
        drawn = np.empty((many, len(counts) + len(moved)))
        drawn[:, :alike] = counts[:alike]
        swapped = drawn[:, len(counts) :]
        if exact:
            swapped[:] = rng.binomial(moved.astype(np.int64), 0.5, size=(many, len(moved)))
        else:
            _look_up(moved[:few].astype(np.int64), _coin_quantiles(), rng, swapped[:, :few])
            noise = rng.standard_normal((many, len(held)))
            swapped[:, few:] = np.clip(np.rint(held / 2 + np.sqrt(held) / 2 * noise), 0, held)
        np.subtract(moved, swapped, out=drawn[:, alike : len(counts)])
        return drawn

    turned = Cells(cells.truth[alike:], cells.b[alike:], cells.a[alike:], cells.k)
    return seen.differences(draw, replicates, cells.joined(turned))


def _look_up(counts: Codes, tables: NDArray[np.uint8], rng: np.random.Generator, out: Floats) -> None:
    """Fill columns with draws from the distribution of each count; the counts are in order."""
    places = rng.integers(0, tables.shape[1], size=out.shape, dtype=np.uint16)
    edges = np.searchsorted(counts, np.arange(NORMAL_FROM + 1))
    for count, (start, stop) in enumerate(pairwise(edges.tolist())):
        if stop > start:
            out[:, start:stop] = tables[count][places[:, start:stop]]


@lru_cache(maxsize=1)
def _poisson_quantiles() -> NDArray[np.uint8]:
    """Quantiles of the Poisson distributions with small whole means: a draw is one look into a table.

    A cell that holds c of n cases is drawn Binomial(n, c/n) times, which is Poisson(c) but for a factor 1 − c/n.
    """
    from scipy.special import pdtr

    return np.stack([_quantiles(pdtr(np.arange(100), mean)) for mean in range(NORMAL_FROM)])


@lru_cache(maxsize=1)
def _coin_quantiles() -> NDArray[np.uint8]:
    """Quantiles of the number of heads in so many tosses."""
    ways = [np.cumsum([math.comb(tosses, heads) for heads in range(tosses + 1)]) for tosses in range(NORMAL_FROM)]
    return np.stack([_quantiles(sums / sums[-1]) for sums in ways])


def _quantiles(distribution: NDArray[Any]) -> NDArray[np.uint8]:
    # At the middle of each step, so that both tails are cut off alike.
    steps = (np.arange(QUANTILES) + 0.5) / QUANTILES
    return np.searchsorted(distribution, steps).astype(np.uint8)
