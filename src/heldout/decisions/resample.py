"""The bootstrap of a choice: the cases are drawn again, and the threshold is chosen again, in every replicate."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from heldout.arrays import Floats
from heldout.decisions.points import Points
from heldout.decisions.rule import Rule
from heldout.evidence.ranking import Ranking

Draw = Callable[[np.random.Generator, int], Floats]

# With more distinct scores than this, replicates choose among so many thresholds, with equally many cases between
# them. A chosen threshold varies by far more than 1/2000 of the cases, so its interval is not coarser for it; the
# optimism, by then far below the standard error, comes out up to a third too small.
MOST_THRESHOLDS = 2000
# Numbers in one block of replicates.
BLOCK = 1 << 18
# The choice is near the peak of W(t) - t², W a two-sided Brownian motion: Kim & Pollard (1990). A replicate adds an
# independent W' to W, and by the scaling of that peak gains E W'(t) = 2**(-1/3) of what the choice itself has gained.
CUBE_ROOT = 2 ** (1 / 3)


@dataclass(frozen=True, eq=False)
class Resampled:
    """The threshold chosen in each replicate, its value there, and its value on all the cases; nan where none."""

    thresholds: Floats
    values: Floats
    on_all: Floats

    @property
    def unmet(self) -> float:
        """The share of the replicates in which no threshold could be chosen."""
        return float(np.isnan(self.thresholds).mean())

    @property
    def optimism(self) -> float:
        """How much higher the value is where the choice was made than elsewhere, on average: Efron (1983).

        The mean gap between a replicate and all the cases is too small by a known factor, see above.
        """
        gaps = (self.values - self.on_all)[~np.isnan(self.thresholds)]
        return CUBE_ROOT * float(gaps.mean()) if len(gaps) else float("nan")


def resample(
    ranking: Ranking, rule: Rule, points: Points, keep: Iterable[int], *, replicates: int, seed: int
) -> Resampled:
    """Draw cases with replacement, or whole groups where there are groups, and choose again.

    The scores are sorted once: a replicate only draws new counts for the distinct scores. `keep` names places that stay
    among the thresholds however many there are.

    >>> from heldout.decisions.objective import read_objective
    >>> seen = Ranking(np.array([3.0, 2.0, 1.0]), np.array([40, 10, 10]), np.array([5, 10, 40]))
    >>> rule = Rule(read_objective("youden", (0, 1), None, 0.5))
    >>> drawn = resample(seen, rule, Points.of(seen), [1], replicates=200, seed=0)
    >>> set(drawn.thresholds.tolist()) <= {3.0, 2.0, 1.0}
    True
    """
    grid = thinned(points, keep)
    all_values, _ = rule.judge(points)
    thresholds, on_all = points.thresholds[grid], all_values[grid]
    draw = _drawing(ranking, grid)
    rng = np.random.default_rng([seed, 11])
    groups = 0 if ranking.groups is None else len(ranking.groups.keys)
    block = max(1, BLOCK // (2 * len(grid) + groups))
    kept: list[tuple[Any, Any, Any]] = []
    for start in range(0, replicates, block):
        size = min(block, replicates - start)
        drawn = np.cumsum(draw(rng, size).reshape(size, 2, -1), axis=-1)
        zero = np.zeros((size, 1))
        sample = Points(
            thresholds,
            np.concatenate([zero, drawn[:, 0]], axis=1),
            np.concatenate([zero, drawn[:, 1]], axis=1),
        )
        values, places = rule.judge(sample)
        found = places >= 0
        picked = np.take_along_axis(values, np.maximum(places, 0)[:, None], axis=1)[:, 0]
        kept.append(tuple(np.where(found, v, np.nan) for v in (thresholds[places], picked, on_all[places])))  # type: ignore[arg-type]
    return Resampled(*(np.concatenate(column) for column in zip(*kept, strict=True)))


def thinned(points: Points, keep: Iterable[int], most: int = MOST_THRESHOLDS) -> NDArray[np.int64]:
    """The places among which a replicate chooses: all, or `most` with equally many cases between them."""
    size = len(points.thresholds)
    if size <= most + 1:
        return np.arange(size)
    cases = points.tp + points.fp
    steps = np.searchsorted(cases, np.linspace(0, cases[-1], most + 1))
    always = [0, size - 1, *keep]
    return np.unique(np.concatenate([steps, always])).astype(np.int64)


def _drawing(ranking: Ranking, grid: NDArray[np.int64]) -> Draw:
    """Draws (size, 2 · intervals): positives, then negatives, between neighbouring places of the grid."""

    def summed(values: Any) -> Floats:
        return np.add.reduceat(np.asarray(values, dtype=np.float64), grid[:-1])

    if ranking.groups is not None:
        return _group_drawing(ranking, grid)
    counts = np.concatenate([summed(ranking.positives), summed(ranking.negatives)])
    if ranking.positive_squares is not None and ranking.negative_squares is not None:
        squares = np.concatenate([summed(ranking.positive_squares), summed(ranking.negative_squares)])
        # A sum of weights, each multiplied by an exponential variable (Rubin's Bayesian bootstrap), has mean Σw and
        # variance Σw²; so has this gamma variable, and it needs no single weights.
        held = counts > 0
        scale = np.divide(squares, counts, out=np.zeros_like(counts), where=held)
        shape = np.divide(counts, scale, out=np.zeros_like(counts), where=held)
        return lambda rng, size: rng.standard_gamma(shape, size=(size, len(shape))) * scale
    total = int(counts.sum())
    shares = counts / total
    return lambda rng, size: rng.multinomial(total, shares, size=size).astype(np.float64)


def _group_drawing(ranking: Ranking, grid: NDArray[np.int64]) -> Draw:
    from scipy import sparse

    groups = ranking.groups
    if groups is None:
        message = "there are no groups to draw"
        raise TypeError(message)
    number, width = len(groups.keys), len(grid) - 1
    where = np.searchsorted(grid, groups.place, side="right") - 1
    held = sparse.csr_matrix(
        (
            np.concatenate([groups.positives, groups.negatives]).astype(np.float64),
            (np.concatenate([groups.group, groups.group]), np.concatenate([where, width + where])),
        ),
        shape=(number, 2 * width),
    )
    equal = np.full(number, 1 / number)
    return lambda rng, size: np.asarray(rng.multinomial(number, equal, size=size) @ held, dtype=np.float64)
