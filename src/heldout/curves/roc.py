"""ROC and DET curves, the two rates of error against each other, and the band of a ROC curve."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from statistics import NormalDist
from typing import Any, get_args

import numpy as np
from numpy.typing import NDArray

from heldout.arguments import check_level, require
from heldout.arrays import Floats
from heldout.curves.curve import ABSENT, Band, BandKind, Curve, Reference, Scale
from heldout.curves.declare import check_bands, curve, plot
from heldout.errors import OptionError
from heldout.evidence import Label
from heldout.evidence.ranking import Ranking
from heldout.intervals.areas import kish_sizes
from heldout.intervals.quantiles import t_value, z_value
from heldout.measures.counts import NO_NEGATIVES, NO_POSITIVES
from heldout.measures.quantity import Bound
from heldout.measures.ranking import roc_auc

# Bands of a ROC curve: where the true positive rate at each false positive rate may lie.
#
# Pointwise: the number of negatives above the true threshold of a false positive rate f is Binomial(m, f), whatever
# the distribution of the scores; given it, the positives above that threshold are a plain proportion. The band takes
# quantiles of the mixture of their Jeffreys posteriors. Simultaneous: the same at a higher level, which a stratified
# bootstrap of the curve sets. Derivation, coverage and sources: docs/curves.md.

NODES = 32  # of the quadrature over the number of negatives above the threshold
PRIOR = 0.5
HALVINGS = 12  # 1/4000 of the axis, a quarter of a pixel; the straight line after them does the rest
REPLICATES = 499  # of the bootstrap; (B + 1) · 95 % is whole
WIDEST = 1 - 1e-7  # level beyond which limits do not move any more
DRAWN = 400  # points of the curve at which its band is drawn, besides the grid


def curve_ends(fp: Floats, tp: Floats, at: Floats) -> tuple[Floats, Floats]:
    """The lower and the upper end of a ROC curve, in counts, at any number of false positives.

    The two differ where the curve rises straight up; between points it runs straight.

    >>> curve_ends(np.array([0.0, 0, 2]), np.array([0.0, 3, 4]), np.array([0.0, 1.0]))
    (array([0. , 3.5]), array([3. , 3.5]))
    """
    last = len(fp) - 1
    # 0.07 · 100 is 7.000000000000001 in floats, and must still be found at 7.
    tolerance = 1e-12 * fp[-1]
    between = np.interp(at, fp, tp)
    first = np.minimum(np.searchsorted(fp, at - tolerance, side="left"), last)
    final = np.maximum(np.searchsorted(fp, at + tolerance, side="right") - 1, 0)
    low = np.where(np.abs(fp[first] - at) <= tolerance, tp[first], between)
    return low, np.where(np.abs(fp[final] - at) <= tolerance, tp[final], between)


def rate_grid(size: float) -> Floats:
    """Places along the false positive rate: even, and finer towards 0 and 1, where curves bend.

    >>> len(rate_grid(100)), rate_grid(100)[[0, -1]]
    (125, array([0., 1.]))
    """
    near = np.geomspace(min(1 / (2 * max(size, 1)), 0.005), 0.01, 13)[:-1]
    return np.unique(np.concatenate([np.linspace(0, 1, 101), near, 1 - near]))


def roc_band(ranking: Ranking, kind: BandKind, level: float, seed: int = 0) -> tuple[Band, Floats, Floats]:
    """The band of a ROC curve, and its limits at the points of the curve.

    The limits are worked out on a grid of false positive rates; between its places their distance from the curve is
    interpolated, not they themselves, which would cut the bends of the curve.

    >>> scores = np.array([0.9, 0.7, 0.4, 0.2])
    >>> band, _, _ = roc_band(Ranking(scores, np.array([9, 5, 4, 2]), np.array([1, 4, 6, 9])), "pointwise", 0.95)
    >>> at = np.searchsorted(band.x, 0.25)
    >>> print(f"{band.low[at]:.2f} {band.high[at]:.2f}")
    0.39 0.89
    """
    level = check_level(level)
    if ranking.groups is not None and kind == "simultaneous":
        raise OptionError(
            "Simultaneous bands take rows as independent, and these cases come in groups.",
            hint="use bands='pointwise', which allows for the groups.",
        )
    tp = np.concatenate([[0.0], ranking.tp])
    fp = np.concatenate([[0.0], ranking.fp])
    squares = ranking.negative_squares
    grid = rate_grid(ranking.n_negative if squares is None else ranking.n_negative**2 / float(squares.sum()))
    positives, negatives = sizes_along(ranking, grid, level)
    note = ", effective n" if ranking.weighted else ""
    name = "order-beta, groups" if ranking.groups is not None else f"order-beta{note}"
    mixture = Mixture.of(fp, tp, grid, positives, negatives)
    limits = mixture.limits(level)
    if kind == "simultaneous":
        sizes = max(1, round(positives[0])), max(1, round(negatives[0]))
        critical = _critical(fp, tp, grid, sizes, limits, level, seed)
        wider = min(max(2 * NormalDist().cdf(critical) - 1, level), WIDEST)
        limits = mixture.limits(wider)
        name = f"order-beta, calibrated{note}"
    gaps = mixture.least - limits[0], limits[1] - mixture.most

    def limits_at(counts: Floats) -> tuple[Floats, Floats]:
        least, most = (end / tp[-1] for end in curve_ends(fp, tp, counts))
        below, above = (np.interp(counts / fp[-1], grid, gap) for gap in gaps)
        return np.maximum(least - below, 0.0), np.minimum(most + above, 1.0)

    along = np.union1d(grid * fp[-1], fp[_spread(fp / fp[-1] + tp / tp[-1])])
    used = seed if kind == "simultaneous" else None
    return Band(kind, name, level, along / fp[-1], *limits_at(along), used), *limits_at(fp)


def _spread(path: Floats) -> NDArray[np.int64]:
    """Places of points at about even distances along the curve."""
    return np.unique(np.searchsorted(path, np.linspace(0, path[-1], DRAWN)).clip(max=len(path) - 1))


@dataclass(frozen=True, slots=True, eq=False)
class Mixture:
    """The posterior of the true positive rate at each place: a mixture of beta distributions.

    `row` says to which place a component belongs; `least` and `most` are the ends of the curve there.
    """

    row: NDArray[np.int64]
    weights: Floats
    ups: Floats
    downs: Floats
    least: Floats
    most: Floats

    @classmethod
    def of(cls, fp: Floats, tp: Floats, grid: Floats, positives: Floats, negatives: Floats) -> Mixture:
        """From the counts of the curve, and the number of independent positives and negatives at each place."""
        above = binomial_nodes(grid, negatives) * (fp[-1] / negatives)[:, None]
        # Both ends of a rise are as good a guess: the true threshold lies anywhere between two negatives.
        ends = np.concatenate(curve_ends(fp, tp, above), axis=1) / tp[-1]
        hits = np.sort(ends * positives[:, None], axis=1)
        # With few cases most nodes coincide: each different one is worked out once.
        fresh = np.diff(hits, axis=1, prepend=-1.0) > 0
        row = np.nonzero(fresh)[0]
        weights = np.diff(np.flatnonzero(fresh), append=hits.size) / hits.shape[1]
        missed = np.maximum(positives[row] - hits[fresh], 0.0)
        least, most = (end / tp[-1] for end in curve_ends(fp, tp, grid * fp[-1]))
        return cls(row, weights, hits[fresh] + PRIOR, missed + PRIOR, least, most)

    def below(self, rate: Floats) -> Floats:
        """The probability of a true positive rate below each of these."""
        from scipy.special import betainc

        parts = self.weights * betainc(self.ups, self.downs, rate[self.row])
        return np.asarray(np.bincount(self.row, weights=parts, minlength=len(rate)), dtype=np.float64)

    def limits(self, level: float) -> tuple[Floats, Floats]:
        """Equal-tailed limits, moved to hold the curve: a posterior leaves out an estimate of exactly 0 or 1."""
        low, high = (_quantile(self.below, tail, len(self.least)) for tail in ((1 - level) / 2, (1 + level) / 2))
        return np.minimum(low, self.least), np.maximum(high, self.most)


def binomial_nodes(rate: Floats, size: Floats) -> Floats:
    """Quantiles of Binomial(size, rate) at the middles of equal shares, by halving between whole numbers."""
    from scipy.special import betainc, ndtri

    share = (np.arange(NODES) + 0.5) / NODES
    mean, error = (size * rate)[:, None], np.sqrt(size * rate * (1 - rate))[:, None]
    n, p = size[:, None], np.clip(rate, 0.0, 1.0)[:, None]

    def enough(count: Floats) -> NDArray[np.bool_]:
        """Whether at least the share lies up to this count."""
        reached = betainc(np.maximum(n - count, 1e-9), np.maximum(count, 0.0) + 1, 1 - p) >= share
        return np.asarray((count >= 0) & (reached | (count >= n)))

    # Below `low` lies less than each share, up to `high` at least as much. Cornish & Fisher (1938) come within a count
    # or two of the quantile where the counts are large; where the guess does not hold, five standard errors do.
    z = ndtri(share)
    guess = mean + error * z + (1 - 2 * p) * (z * z - 1) / 6
    low, high = np.floor(np.maximum(guess - 3, -1.0)), np.ceil(np.minimum(guess + 3, n))
    low = np.where(enough(low), np.floor(np.maximum(mean - 5 * error - 5, -1.0)), low)
    high = np.where(enough(high), high, np.ceil(np.minimum(mean + 5 * error + 5, n)))
    while (open_ := high - low > 1).any():
        middle = np.maximum(np.floor((low + high) / 2), 0.0)
        reached = enough(middle)
        low, high = np.where(open_ & ~reached, middle, low), np.where(open_ & reached, middle, high)
    return np.asarray(np.minimum(high, n))


def _quantile(share: Callable[[Floats], Floats], tail: float, size: int) -> Floats:
    """Where each of many distribution functions on [0, 1] reaches a share: halving, then a straight line."""
    low, high = np.zeros(size), np.ones(size)
    below, above = np.zeros(size), np.ones(size)
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        value = share(middle)
        short = value < tail
        low, below = np.where(short, middle, low), np.where(short, value, below)
        high, above = np.where(short, high, middle), np.where(short, above, value)
    return np.asarray(low + (high - low) * (tail - below) / (above - below))


def _critical(
    fp: Floats, tp: Floats, grid: Floats, sizes: tuple[int, int], limits: tuple[Floats, Floats], level: float, seed: int
) -> float:
    """How many standard errors a stratified bootstrap of the curve strays at its worst place: the level's quantile."""
    kept = _spread(fp / fp[-1] + tp / tp[-1])
    rng = np.random.default_rng([seed, 11])
    paths = []
    for held, size in ((fp[kept], sizes[1]), (tp[kept], sizes[0])):
        drawn = rng.multinomial(size, np.diff(held) / held[-1], REPLICATES)
        paths.append(np.concatenate([np.zeros((REPLICATES, 1)), np.cumsum(drawn, axis=1) / size], axis=1))
    middle = sum(curve_ends(fp / fp[-1], tp / tp[-1], grid)) / 2
    error = (limits[1] - limits[0]) / (2 * z_value(level))
    # Beyond the second negative from either end the curve has no standard error to speak of.
    inside = (grid >= 2 / sizes[1]) & (grid <= 1 - 2 / sizes[1])
    inside = inside if inside.any() else np.ones(len(grid), dtype=bool)
    worst = np.empty(REPLICATES)
    for at, (across, up) in enumerate(zip(*paths, strict=True)):
        strayed = sum(curve_ends(across, up, grid)) / 2 - middle
        worst[at] = (np.abs(strayed) / error)[inside].max()
    return float(np.sort(worst)[min(int(np.ceil(level * (REPLICATES + 1))), REPLICATES) - 1])


def sizes_along(ranking: Ranking, grid: Floats, level: float) -> tuple[Floats, Floats]:
    """How many independent positives and negatives the cases are worth at each place of the grid.

    >>> sizes_along(Ranking(np.array([0.5]), np.array([3]), np.array([4])), np.array([0.5]), 0.95)
    (array([3.]), array([4.]))
    """
    if ranking.groups is not None:
        return _group_sizes(ranking, grid, level)
    # Kish (1965): equal weights carry the most information.
    positives, negatives = kish_sizes(ranking)
    return np.full(len(grid), positives), np.full(len(grid), negatives)


def _group_sizes(ranking: Ranking, grid: Floats, level: float) -> tuple[Floats, Floats]:
    """Sizes from the cluster-robust variances of the two rates, shrunk to make up for few groups."""
    groups = require(ranking.groups, "there are no groups")
    index = np.clip(np.searchsorted(ranking.fp, grid * ranking.n_negative), 0, len(ranking) - 1)
    number = len(groups.keys)
    # A t interval with G − 1 degrees of freedom is as long as a z interval with this much less evidence.
    few = (z_value(level) / float(t_value(level, number - 1))) ** 2 if number > 1 else 0.0
    sizes = []
    totals, most = (ranking.n_positive, ranking.n_negative), kish_sizes(ranking)
    for counts, total, cases in zip((groups.positives, groups.negatives), totals, most, strict=True):
        size = np.bincount(groups.group, weights=counts, minlength=number)
        units = float((size > 0).sum())
        effective = np.empty(len(grid))
        for at, top in enumerate(index):
            inside = groups.place <= top
            hits = np.bincount(groups.group[inside], weights=counts[inside], minlength=number)
            rate = hits.sum() / total
            spread = ((hits - rate * size) ** 2).sum() / total**2 * number / max(number - 1, 1)
            # Where all groups agree, groups are the units.
            effective[at] = min(rate * (1 - rate) / spread, cases) if spread > 0 and 0 < rate < 1 else units
        sizes.append(np.maximum(effective * few, 1e-3))
    return sizes[0], sizes[1]


FPR = Scale("false_positive_rate", "False positive rate (1 − specificity)")
TPR = Scale("recall", "True positive rate (recall)")
DEVIATES = Scale(FPR.name, "False alarms: share of the negatives", drawn="probit")
MISSES = Scale("false_negative_rate", "Misses: share of the positives", drawn="probit")
CHANCE = Reference("chance", (0.0, 1.0), (0.0, 1.0))
BANDS: tuple[BandKind, ...] = get_args(BandKind)


def one_class(ranking: Ranking) -> str:
    """Why rates of both classes do not exist, or nothing.

    >>> one_class(Ranking(np.array([0.5]), np.array([2]), np.array([0])))
    'there are no actual negatives'
    """
    if ranking.n_positive <= 0:
        return NO_POSITIVES
    return NO_NEGATIVES if ranking.n_negative <= 0 else ""


def share(counts: NDArray[Any], total: float) -> Floats:
    """Counts over their total, nan where there is none."""
    # Running sums of weights may pass their total by rounding.
    return np.minimum(counts / total, 1.0) if total > 0 else np.full(len(counts), np.nan)


def started(values: NDArray[Any], first: float = 0) -> NDArray[Any]:
    """The values with the start of a curve before them: nothing is predicted positive yet."""
    return np.concatenate([np.array([first], dtype=values.dtype), values])


@curve(
    "roc", "ROC curve", FPR, TPR, variants=("roc_hull",), bands=BANDS, references=lambda _: (CHANCE,),
    slider=lambda at: (at.fpr, at.tpr), page="shown", per_score=True, rank=1,
)  # fmt: skip
def roc(
    ranking: Ranking,
    bands: str | None = "pointwise",
    *,
    level: float = 0.95,
    seed: int = 0,
    positive: Label | None = None,
) -> Curve:
    """The ROC curve: TPR against FPR, from (0, 0) through one point per distinct score to (1, 1).

    Cases with equal scores make one slanted step, which is what breaking ties at random gives on average. "pointwise"
    bands hold at any one false positive rate, "simultaneous" bands everywhere at once.

    >>> curve = roc(Ranking(np.array([0.9, 0.5, 0.1]), np.array([2, 1, 1]), np.array([0, 2, 2])))
    >>> curve.y, curve.x, curve.area
    (array([0.  , 0.5 , 0.75, 1.  ]), array([0. , 0. , 0.5, 1. ]), 0.75)
    """
    kind = check_bands("roc", bands)
    undefined = one_class(ranking)
    tp, fp = started(ranking.tp), started(ranking.fp)
    x, y = share(fp, ranking.n_negative), share(tp, ranking.n_positive)
    band, low, high = None, ABSENT, ABSENT
    if kind is not None and not undefined:
        band, low, high = roc_band(ranking, kind, level, seed)
    return plot(
        "roc", ranking, x, y, threshold=started(ranking.scores, np.inf), tp=tp, fp=fp, low=low, high=high, band=band,
        area=float(Bound(roc_auc).value({"ranking": ranking})), area_name="area under the curve",
        positive=positive, undefined=undefined,
    )  # fmt: skip


@curve(
    "det", "DET curve", DEVIATES, MISSES, bands=BANDS,
    references=lambda _: (Reference("chance", (0.0, 1.0), (1.0, 0.0)),), rank=3,
)  # fmt: skip
def det(
    ranking: Ranking,
    bands: str | None = "pointwise",
    *,
    level: float = 0.95,
    seed: int = 0,
    positive: Label | None = None,
) -> Curve:
    """The detection error trade-off: misses against false alarms, drawn on axes of normal deviates.

    Normal scores give a straight line there (Martin et al. 1997). Rates of exactly 0 and 1 have no place on such axes:
    they are among the points and not in the chart.

    >>> curve = det(Ranking(np.array([0.9, 0.1]), np.array([3, 1]), np.array([1, 4])), bands=None)
    >>> curve.x, curve.y
    (array([0. , 0.2, 1. ]), array([1.  , 0.25, 0.  ]))
    """
    rates = roc(ranking, bands, level=level, seed=seed, positive=positive)
    band = rates.band
    if band is not None:
        band = replace(band, low=1 - band.high, high=1 - band.low)
    return plot(
        "det", ranking, rates.x, 1 - rates.y, threshold=rates.threshold, tp=rates.tp, fp=rates.fp,
        low=1 - rates.high, high=1 - rates.low, band=band, positive=positive, undefined=rates.undefined,
    )  # fmt: skip
