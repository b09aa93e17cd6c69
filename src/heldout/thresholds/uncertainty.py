"""How sure a chosen threshold is: judged on folds that did not choose it, chosen again on drawn cases, and tested.

The test asks of every other threshold whether the cases rule it out as the best.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from heldout.arguments import require
from heldout.arrays import Floats, Integers
from heldout.engines.score_sort import rank
from heldout.errors import OptionError
from heldout.evidence import Confusion
from heldout.evidence.ranking import Ranking, cut_at
from heldout.intervals.areas import kish_sizes
from heldout.intervals.quantiles import z_value
from heldout.thresholds.objective import Classes
from heldout.thresholds.selection_rule import Points, SelectionRule

# What the number of cases is divided by for an interval of cross-fitted figures. The thresholds of the folds are chosen
# on mostly the same cases and jump together, so the figures vary 1.0 to 1.8 times as much as those of independent cases
# (docs/thresholds.md).
CROSS_FITTED = 1.5


@dataclass(frozen=True, eq=False)
class CrossFit:
    """What became of each case when the threshold was chosen without it; one threshold per fold."""

    called: NDArray[np.bool_]
    thresholds: tuple[float, ...]
    unmet: int

    @property
    def folds(self) -> int:
        """In how many folds a threshold was chosen."""
        return len(self.thresholds)


def cross_fit(
    scores: NDArray[np.float64], positive: NDArray[np.bool_], weight: Any, fold: Integers, rule: SelectionRule
) -> CrossFit:
    """Choose on the other folds and apply the choice to each fold; the scores are sorted once.

    Where nothing meets the requirements on the other folds, the nearest threshold is used and counted as unmet.
    """
    distinct, where = np.unique(scores, return_inverse=True)
    where = len(distinct) - 1 - where
    thresholds = distinct[::-1]
    weights = np.ones(len(scores)) if weight is None else weight
    size = len(distinct)
    total = [np.bincount(where, weights=weights * side, minlength=size) for side in (positive, ~positive)]
    called = np.zeros(len(scores), dtype=bool)
    chosen, unmet = [], 0
    for number in range(int(fold.max()) + 1):
        out = fold == number
        parts = [
            np.bincount(where[out], weights=(weights * side)[out], minlength=size) for side in (positive, ~positive)
        ]
        # Below 0 by rounding of weights only.
        up, down = (np.cumsum(np.maximum(whole - part, 0.0)) for whole, part in zip(total, parts, strict=True))
        occupied = np.concatenate([[True], np.diff(up + down, prepend=0.0) > 0])
        points = Points(
            np.concatenate([[np.inf], thresholds])[occupied], np.concatenate([[0.0], up])[occupied],
            np.concatenate([[0.0], down])[occupied],
        )  # fmt: skip
        index = int(rule.judge(points)[1])
        if index < 0:
            index, unmet = rule.nearest(points), unmet + 1
        chosen.append(float(points.thresholds[index]))
        called[out] = scores[out] >= chosen[-1]
    return CrossFit(called, tuple(chosen), unmet)


def make_folds(positive: NDArray[np.bool_], group: Integers | None, folds: int, seed: int) -> Integers:
    """The fold of every case: each class spread evenly, and all cases of a group in one fold.

    There are fewer folds where a class has fewer cases (or the cases fewer groups) than folds were asked for.

    >>> fold = make_folds(np.arange(12) < 4, None, 4, seed=0)
    >>> np.bincount(fold).tolist(), sorted(fold[:4].tolist())
    ([3, 3, 3, 3], [0, 1, 2, 3])
    """
    if isinstance(folds, bool) or not isinstance(folds, int | np.integer) or folds < 2:
        raise OptionError(f"folds must be a whole number from 2 up. Got {folds!r}.", hint="for example folds=10.")
    rng = np.random.default_rng([seed, 12])
    if group is not None:
        return _make_group_folds(positive, group, int(folds), rng)
    fewest = int(min(positive.sum(), (~positive).sum()))
    _check_enough(fewest, "cases of the rarer class")
    number = min(int(folds), fewest)
    fold = np.empty(len(positive), dtype=np.int64)
    start = 0
    for side in (True, False):
        cases = rng.permutation(np.flatnonzero(positive == side))
        # The second class starts where the first ended, so that folds differ by one case at most.
        fold[cases] = (start + np.arange(len(cases))) % number
        start += len(cases)
    return fold


def _make_group_folds(positive: NDArray[np.bool_], group: Integers, folds: int, rng: np.random.Generator) -> Integers:
    count = int(group.max()) + 1
    up = np.bincount(group, weights=positive, minlength=count)
    size = np.bincount(group, minlength=count)
    fewest = int(min(np.count_nonzero(up), np.count_nonzero(size - up)))
    _check_enough(fewest, "groups that hold cases of the rarer class")
    number = min(folds, fewest)
    # Large groups first, each to the fold that lacks most of what it has; shuffled before, so that ties are random.
    order = rng.permutation(count)
    order = order[np.argsort(-size[order], kind="stable")]
    assigned = np.zeros((number, 2))
    wanted = np.array([max(up.sum(), 1.0), max((size - up).sum(), 1.0)])
    of_group = np.zeros(count, dtype=np.int64)
    for g in order.tolist():
        has = np.array([up[g], size[g] - up[g]])
        filled = (assigned + has) / wanted
        best = int(np.argmin((filled**2).sum(axis=1) - ((assigned / wanted) ** 2).sum(axis=1)))
        assigned[best] += has
        of_group[g] = best
    return of_group[group]


def _check_enough(fewest: int, what: str) -> None:
    if fewest < 2:
        raise OptionError(
            f"The honest figure needs at least 2 {what}. There is {fewest}.",
            hint="leave out honest, or bring more cases.",
        )


def pool_folds(
    crossed: CrossFit,
    positive: NDArray[np.bool_],
    *,
    weight: Any,
    group: tuple[Integers, NDArray[Any]] | None,
    classes: Classes,
) -> Confusion:
    """The counts of all left-out folds together."""
    # Called positive or not is a score with two values: the same counting serves, weights and groups included.
    called = crossed.called.astype(np.float64)
    ranking = rank(called, positive, weight=weight, group=group)
    rows = None if weight is None else rank(called, positive)
    index = int(np.count_nonzero(ranking.scores >= 1))
    return cut_at(ranking, index, classes, rows)


Draw = Callable[[np.random.Generator, int], Floats]

# With more distinct scores than this, replicates choose among this many thresholds, with equally many cases between
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
    ranking: Ranking, rule: SelectionRule, points: Points, keep: Iterable[int], *, replicates: int, seed: int
) -> Resampled:
    """Draw cases with replacement, or whole groups where there are groups, and choose again.

    The scores are sorted once: a replicate only draws new counts for the distinct scores. `keep` names places that stay
    among the thresholds however many there are.

    >>> from heldout.thresholds.objective import read_objective
    >>> seen = Ranking(np.array([3.0, 2.0, 1.0]), np.array([40, 10, 10]), np.array([5, 10, 40]))
    >>> rule = SelectionRule(read_objective("youden", (0, 1), None, 0.5))
    >>> drawn = resample(seen, rule, Points.of(seen), [1], replicates=200, seed=0)
    >>> set(drawn.thresholds.tolist()) <= {3.0, 2.0, 1.0}
    True
    """
    grid = thin_thresholds(points, keep)
    all_values, _ = rule.judge(points)
    thresholds, on_all = points.thresholds[grid], all_values[grid]
    draw = _make_draw(ranking, grid)
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
        is_chosen = places >= 0
        picked = np.take_along_axis(values, np.maximum(places, 0)[:, None], axis=1)[:, 0]
        kept.append(tuple(np.where(is_chosen, v, np.nan) for v in (thresholds[places], picked, on_all[places])))  # type: ignore[arg-type]
    return Resampled(*(np.concatenate(column) for column in zip(*kept, strict=True)))


def thin_thresholds(points: Points, keep: Iterable[int]) -> NDArray[np.int64]:
    """The places among which a replicate chooses: all, or MOST_THRESHOLDS with equally many cases between them."""
    size = len(points.thresholds)
    if size <= MOST_THRESHOLDS + 1:
        return np.arange(size)
    cases = points.tp + points.fp
    steps = np.searchsorted(cases, np.linspace(0, cases[-1], MOST_THRESHOLDS + 1))
    always = [0, size - 1, *keep]
    return np.unique(np.concatenate([steps, always])).astype(np.int64)


def _make_draw(ranking: Ranking, grid: NDArray[np.int64]) -> Draw:
    """Draws (size, 2 · intervals): positives, then negatives, between neighbouring places of the grid."""

    def summed(values: Any) -> Floats:
        return np.add.reduceat(np.asarray(values, dtype=np.float64), grid[:-1])

    if ranking.groups is not None:
        return _make_group_draw(ranking, grid)
    counts = np.concatenate([summed(ranking.positives), summed(ranking.negatives)])
    if ranking.positive_squares is not None and ranking.negative_squares is not None:
        squares = np.concatenate([summed(ranking.positive_squares), summed(ranking.negative_squares)])
        # A sum of weights, each multiplied by an exponential variable (Rubin's Bayesian bootstrap), has mean Σw and
        # variance Σw²; so has this gamma variable, and it needs no single weights.
        occupied = counts > 0
        scale = np.divide(squares, counts, out=np.zeros_like(counts), where=occupied)
        # Rounded, because a shape of just 1 is drawn in another way than one a hair beside it.
        shape = np.round(np.divide(counts, scale, out=np.zeros_like(counts), where=occupied), 9)
        return lambda rng, size: rng.standard_gamma(shape, size=(size, len(shape))) * scale
    total = int(counts.sum())
    shares = counts / total
    return lambda rng, size: rng.multinomial(total, shares, size=size).astype(np.float64)


def _make_group_draw(ranking: Ranking, grid: NDArray[np.int64]) -> Draw:
    from scipy import sparse

    groups = require(ranking.groups, "the ranking has no groups to draw")
    number, width = len(groups.keys), len(grid) - 1
    where = np.searchsorted(grid, groups.place, side="right") - 1
    table = sparse.csr_matrix(
        (
            np.concatenate([groups.positives, groups.negatives]).astype(np.float64),
            (np.concatenate([groups.group, groups.group]), np.concatenate([where, width + where])),
        ),
        shape=(number, 2 * width),
    )
    equal = np.full(number, 1 / number)
    return lambda rng, size: np.asarray(rng.multinomial(number, equal, size=size) @ table, dtype=np.float64)


# The critical value of the test below, over z. The studentised distance of the peak of W(t) - t² from its other points
# has one distribution whatever the cases: the range of the points within 1.54 of the peak holds 0 in 95 % of 20,000
# simulated paths, and at levels from .8 to .999 the value is .78 to .79 times z.
BEHIND_PEAK = 0.787
# Shares of positives are kept this far from 0 and 1.
EDGE = 1e-9


def find_unrejected_thresholds(
    ranking: Ranking, rule: SelectionRule, points: Points, index: int, level: float
) -> tuple[float, float]:
    """The lowest and the highest threshold that the cases do not rule out as the best; the chosen one is at `index`.

    If a lower threshold were the best, calling the cases between the two positive would pay: at least a share π of them
    would be positive, the π at which a positive gained makes up for a negative. If a higher one were, at most π. This
    is a test of one proportion, which knows of errors that have not been seen yet.

    >>> from heldout.thresholds.objective import read_objective
    >>> seen = Ranking(np.array([3.0, 2.0, 1.0]), np.array([40, 10, 10]), np.array([5, 10, 40]))
    >>> rule = SelectionRule(read_objective("youden", (0, 1), None, 0.5))
    >>> find_unrejected_thresholds(seen, rule, Points.of(seen), 1, 0.95)
    (1.0, 3.0)
    """
    # Weights are counted in the equally weighted cases that they are worth, whatever their unit.
    case = float(ranking.n) / sum(kish_sizes(ranking)) if ranking.positive_squares is not None else 1.0
    points = Points(points.thresholds, points.tp / case, points.fp / case)
    grid = thin_thresholds(points, [index])
    chosen = int(np.searchsorted(grid, index))
    tp, fp = points.tp[grid], points.fp[grid]
    gain, loss = _find_slopes(rule, points, (tp + tp[chosen]) / 2, (fp + fp[chosen]) / 2)
    with np.errstate(divide="ignore", invalid="ignore"):
        share = np.clip(np.nan_to_num(loss / (gain + loss), nan=0.5), EDGE, 1 - EDGE)
    independent = case * _count_independent(ranking, grid, index, float(share[chosen]))
    positives, negatives = np.abs(tp - tp[chosen]) * independent, np.abs(fp - fp[chosen]) * independent
    # Lower thresholds are ruled out by few positives, higher ones by few negatives.
    lower = np.arange(len(grid)) > chosen
    few, others = np.where(lower, positives, negatives), np.where(lower, negatives, positives)
    behind = _few_deviate(few, few + others, np.where(lower, share, 1 - share))
    if rule.objective.quantity is None:
        behind *= _bend_factor(rule, points, tp, fp, chosen, gain * loss * (positives + negatives))
    behind[chosen] = -np.inf
    likely = np.flatnonzero(behind <= BEHIND_PEAK * z_value(level))
    first, last = int(likely[0]), int(likely[-1])
    if len(grid) < len(points.thresholds):
        # Between two of the grid nothing was tried.
        first, last = max(first - 1, 0), min(last + 1, len(grid) - 1)
    # All thresholds down to the next score call the same cases positive.
    after = int(grid[last]) + 1
    floor = 0.0 if points.thresholds[-1] >= 0 and points.thresholds[1] <= 1 else -np.inf
    return float(points.thresholds[after] if after < len(points.thresholds) else floor), float(
        points.thresholds[grid[first]]
    )


def _find_slopes(rule: SelectionRule, points: Points, tp: Floats, fp: Floats) -> tuple[Floats, Floats]:
    """What one more positive called positive gains, and one more negative loses, at some TP and FP."""
    up, down = float(points.tp[-1]), float(points.fp[-1])
    half = min(0.5, up / 4, down / 4)
    tp, fp = np.clip(tp, half, up - half), np.clip(fp, half, down - half)

    def judge(tp: Floats, fp: Floats) -> Floats:
        # The last point says how many positives and negatives there are.
        whole = Points(np.empty(len(tp) + 1), np.append(tp, up), np.append(fp, down))
        values = np.broadcast_to(rule.objective.values(whole.cells(rule.prevalence)), len(tp) + 1)[:-1]
        return np.asarray(-values if rule.objective.lower else values, dtype=np.float64)

    return judge(tp + half, fp) - judge(tp - half, fp), judge(tp, fp - half) - judge(tp, fp + half)


def _few_deviate(count: Floats, trials: Floats, rate: Floats) -> Floats:
    """The normal deviate of so few or fewer, mid-P: positive where there are fewer than the rate promises."""
    from scipy.special import betainc, ndtri

    rest = trials - count
    up_to = np.where(rest > EDGE, betainc(np.maximum(rest, EDGE), count + 1, 1 - rate), 1.0)
    under = np.where(count > EDGE, betainc(rest + 1, np.maximum(count, EDGE), 1 - rate), 0.0)
    return np.asarray(-ndtri((up_to + under) / 2))


def _bend_factor(rule: SelectionRule, points: Points, tp: Floats, fp: Floats, chosen: int, variance: Floats) -> Floats:
    """What is left of a deviate where the slopes change so much that cases above both thresholds matter too."""
    gain, loss = _find_slopes(rule, points, tp, fp)
    up, down = np.minimum(tp, tp[chosen]), np.minimum(fp, fp[chosen])
    more = (gain - gain[chosen]) ** 2 * up * (1 - up / tp[-1]) + (loss - loss[chosen]) ** 2 * down * (1 - down / fp[-1])
    known = np.maximum(variance, 0.0)
    return np.asarray(np.sqrt(np.divide(known, known + more, out=np.ones_like(known), where=known + more > 0)))


def _count_independent(ranking: Ranking, grid: NDArray[np.int64], index: int, share: float) -> Any:
    """How many independent cases each unit of weight between a threshold and the chosen one is worth."""
    if ranking.positive_squares is None or ranking.negative_squares is None:
        worth: Any = 1.0
    else:
        sums, squares = (
            np.abs(total - total[index])[grid]
            for total in (
                np.concatenate([[0.0], np.cumsum(up + down, dtype=np.float64)])
                for up, down in (
                    (ranking.positives.astype(np.float64), ranking.negatives.astype(np.float64)),
                    (ranking.positive_squares, ranking.negative_squares),
                )
            )
        )
        worth = np.divide(sums, squares, out=np.ones(len(grid)), where=squares > 0)
    if ranking.groups is None:
        return worth
    return worth * _group_worth(ranking, grid, index, share)


def _group_worth(ranking: Ranking, grid: NDArray[np.int64], index: int, share: float) -> Floats:
    """One over the design effect of groups: the squares of single entries over those of the groups' sums."""
    groups = require(ranking.groups, "the ranking has no groups")
    value = (1 - share) * groups.positives.astype(np.float64) - share * groups.negatives.astype(np.float64)
    size = len(ranking)
    singly, together = np.zeros(size), np.zeros(size)
    for side, order in ((groups.place >= index, 1), (groups.place < index, -1)):
        entries = np.flatnonzero(side)
        # Outwards from the chosen threshold, group by group.
        entries = entries[np.lexsort((order * groups.place[entries], groups.group[entries]))]
        of_group, part = groups.group[entries], value[entries]
        running = np.cumsum(part)
        starts = np.flatnonzero(np.diff(of_group, prepend=-1))
        before = running - part
        before -= np.repeat(before[starts], np.diff(np.append(starts, len(entries))))
        np.add.at(together, groups.place[entries], part * part + 2 * before * part)
        np.add.at(singly, groups.place[entries], part * part)
    sums = []
    for increments in (singly, together):
        below = np.concatenate([[0.0], np.cumsum(increments[index:])])
        above = np.concatenate([[0.0], np.cumsum(increments[:index][::-1])])[::-1]
        sums.append(np.concatenate([above[:-1], below])[grid])
    return np.asarray(np.minimum(np.divide(sums[0], sums[1], out=np.ones(len(grid)), where=sums[1] > 0), 1.0))
