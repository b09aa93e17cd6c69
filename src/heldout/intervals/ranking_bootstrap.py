"""The bootstrap of a ranking: sorted once, then only the counts at each distinct score are drawn again.

Positives and negatives are drawn separately (stratified) for measures that do not depend on how frequent positives are;
for the others the number of positives is drawn too. With few distinct scores the counts are one multinomial draw,
whatever the number of cases; with many, the cases are drawn and counted. With groups, whole groups are drawn.
Efron & Tibshirani (1993); for groups Field & Welsh (2007).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from heldout.arguments import check_replicates
from heldout.arrays import Floats
from heldout.engines.score_evidence import RowScores
from heldout.errors import ValuesError
from heldout.evidence import RankedGroups, Ranking
from heldout.intervals.areas import effective_sizes, kish_sizes, logit_limits
from heldout.intervals.draws import bca_shares, order_limits, share_limits
from heldout.intervals.proportion import wilson_at
from heldout.intervals.quantiles import t_value, z_value
from heldout.measures.probability import CLASS_ORDER
from heldout.measures.quantity import Bound
from heldout.measures.ranking import (
    BY_RECALL,
    follows_prevalence,
    kolmogorov_smirnov,
    precision_recall_gain_area,
    recall_at_precision,
    value_range,
)
from heldout.measures.ranking_batch import RankingBatch

Form = Literal["transformed", "percentile", "bca"]
FORMS: tuple[Form, ...] = get_args(Form)
Draw = Literal["classes", "cases", "groups"]
STREAMS: dict[Draw, int] = {"classes": 11, "cases": 12, "groups": 13}
Drawing = Callable[[int], tuple[NDArray[Any], NDArray[Any]]]

# The number of counts that are drawn and judged at a time.
NUMBERS = 1 << 20
# A binomial draw takes as long as drawing and counting this many cases.
CASES_PER_BINOMIAL = 12
# Cases whose influence is measured, in each class, for the acceleration of BCa.
PROBES = 200


def resampled_values(
    ranking: Ranking, bounds: Sequence[Bound], *, replicates: int = 2000, seed: int = 0, draw: Draw = "classes"
) -> Floats:
    """The values of measures on resampled rankings, all on the same ones: an array (measures, replicates).

    `draw` says what is drawn again: each of the two classes, all cases together, or whole groups.

    >>> from heldout.measures.ranking import roc_auc
    >>> seen = Ranking(np.array([2.0, 1.0]), np.array([9, 3]), np.array([2, 8]))
    >>> resampled_values(seen, [Bound(roc_auc)], replicates=4).shape
    (1, 4)
    """
    values = np.empty((len(bounds), replicates))
    done = 0
    for batch in resamples(ranking, replicates=replicates, seed=seed, draw=draw):
        size = len(batch.positives)
        for row, bound in zip(values, bounds, strict=True):
            if bound.measure.kind == "calibration":
                # A curve is fitted to each of them.
                row[done : done + size] = [float(bound.value({"ranking": one})) for one in _single(ranking, batch)]
            else:
                row[done : done + size] = bound.value({"ranking": batch})
        done += size
    return values


def _single(ranking: Ranking, batch: RankingBatch) -> Iterator[Ranking]:
    """The rankings of a batch one by one, without the scores that were not drawn."""
    for positives, negatives in zip(batch.positives, batch.negatives, strict=True):
        there = positives + negatives > 0
        yield Ranking(ranking.scores[there], positives[there], negatives[there])


def resamples(ranking: Ranking, *, replicates: int, seed: int, draw: Draw = "classes") -> Iterator[RankingBatch]:
    """Resampled rankings over the same distinct scores, in batches of bounded size."""
    rng = np.random.default_rng([seed, STREAMS[draw]])
    drawing = _group_drawing(ranking, rng) if draw == "groups" else _case_drawing(ranking, rng, draw)
    block = max(1, NUMBERS // max(len(ranking), 1))
    for start in range(0, replicates, block):
        yield RankingBatch(*drawing(min(block, replicates - start)))


def _case_drawing(ranking: Ranking, rng: np.random.Generator, draw: Draw) -> Drawing:
    # Weighted cases are drawn as the number of equally weighted ones that tell as much.
    sizes = kish_sizes(ranking)
    positives, negatives = (
        _class_drawing(column, round(size), rng)
        for column, size in zip((ranking.positives, ranking.negatives), sizes, strict=True)
    )
    n, share = round(sum(sizes)), ranking.n_positive / max(ranking.n, 1e-300)

    def drawing(size: int) -> tuple[NDArray[Any], NDArray[Any]]:
        if draw == "classes":
            split = np.full(size, round(sizes[0]))
            return positives(split), negatives(np.full(size, round(sizes[1])))
        split = rng.binomial(n, share, size=size)
        return positives(split), negatives(n - split)

    return drawing


def _class_drawing(column: NDArray[Any], size: int, rng: np.random.Generator) -> Callable[[Any], NDArray[Any]]:
    """How to draw cases of one class again, given how many for each replicate: arrays (replicates, m)."""
    there = np.flatnonzero(column)
    m = len(column)

    def over_scores(totals: Any) -> NDArray[Any]:
        drawn = np.zeros((len(totals), m), dtype=np.int64)
        if len(there):
            weights = column[there] * 1.0
            drawn[:, there] = rng.multinomial(totals, weights / weights.sum())
        return drawn

    if column.dtype.kind not in "iub" or len(there) * CASES_PER_BINOMIAL < size:
        return over_scores
    starts = np.concatenate([[0], np.cumsum(column[there], dtype=np.int64)[:-1]])

    def over_cases(totals: Any) -> NDArray[Any]:
        drawn = np.zeros((len(totals), m), dtype=np.int32)
        if not size:
            return drawn
        for row, total in zip(drawn, totals, strict=True):
            counts = np.bincount(rng.integers(size, size=total, dtype=np.uint32), minlength=size)
            row[there] = counts if len(there) == size else np.add.reduceat(counts, starts)
        return drawn

    return over_cases


def _group_drawing(ranking: Ranking, rng: np.random.Generator) -> Drawing:
    groups: RankedGroups | None = ranking.groups
    if groups is None:
        raise ValuesError("Groups cannot be drawn: the cases have none.", hint="name the column that holds the group.")
    from scipy import sparse

    number = len(groups.keys)
    shape = (number, len(ranking))
    columns = [
        sparse.csr_matrix((np.asarray(column, dtype=np.float64), (groups.group, groups.place)), shape=shape)
        for column in (groups.positives, groups.negatives)
    ]
    chances = np.full(number, 1 / number)

    def draw(size: int) -> tuple[NDArray[Any], NDArray[Any]]:
        picks = rng.multinomial(number, chances, size=size).astype(np.float64)
        return np.asarray(picks @ columns[0]), np.asarray(picks @ columns[1])

    return draw


def bootstrap_limits(
    ranking: Ranking,
    bound: Bound,
    level: float = 0.95,
    *,
    form: Form = "transformed",
    replicates: int = 1999,
    seed: int = 0,
    draw: Draw | None = None,
) -> tuple[float, float]:
    """The bootstrap interval of a measure: a transformed standard error (the default), percentiles, or BCa.

    Transformed: value ± t · the replicates' standard deviation, on the logit scale of a bounded measure and the log
    scale of one without an upper bound, with t of the smaller class. It stays inside the range, and covers better than
    the other two, which follow the replicates and are too narrow near a bound. Left to itself it draws groups where
    there are groups, otherwise classes, or cases if the measure depends on how frequent positives are.

    >>> from heldout.measures.ranking import tpr_at_fpr
    >>> seen = Ranking(np.array([2.0, 1.0]), np.array([40, 10]), np.array([10, 90]))
    >>> low, high = bootstrap_limits(seen, Bound(tpr_at_fpr, {"fpr": 0.2}))
    >>> print(f"{low:.2f} {high:.2f}")
    0.66 0.89
    """
    value = float(bound.value({"ranking": ranking}))
    if form != "transformed":
        check_replicates(replicates, level)
    if draw is None:
        draw = usual_draw(ranking, bound)
    values = resampled_values(ranking, [bound], replicates=replicates, seed=seed, draw=draw)[0]
    return limits_from(ranking, bound, value, values, level, form)


def probability_limits(
    evidence: RowScores, bound: Bound, level: float, *, form: Form, draw: Draw | None, replicates: int, seed: int
) -> tuple[float, float]:
    """The bootstrap interval of a measure of probabilities: rows, those of each class, or whole groups drawn again."""
    check_replicates(replicates, level)
    source = "ordered" if bound.measure.component == CLASS_ORDER else "probabilities"

    def find(rows: NDArray[Any]) -> float:
        return float(bound.value({"probabilities": getattr(evidence.drawn(rows), source)}))

    parts = _row_units(evidence, draw or ("groups" if evidence.grouped else "cases"))
    rng = np.random.default_rng([seed, STREAMS["cases"], len(parts)])
    values = np.array([find(_drawn_rows(parts, rng)) for _ in range(replicates)])
    value = float(bound.value({"probabilities": getattr(evidence, source)}))
    floor, ceiling = bound.measure.range
    defined = values[~np.isnan(values)]
    if np.isnan(value) or len(defined) < 2:
        return floor, ceiling
    if form == "percentile":
        low, high = order_limits(defined, level)
    elif form == "bca":
        low, high = share_limits(defined, *_shifted_shares(value, defined, _row_skew(evidence, find, value), level))
    else:
        units = sum(len(part) if len(part) > 1 else len(part[0]) for part in parts)
        low, high = _transformed(value, float(defined.std(ddof=1)), (floor, ceiling), units, level)
    return max(float(low), floor), min(float(high), ceiling)


def _row_units(evidence: RowScores, draw: Draw) -> list[list[NDArray[Any]]]:
    """What is drawn again: parts that keep their size, and in each the columns of rows that go together."""
    if draw == "cases":
        return [[np.arange(evidence.n)]]
    codes = evidence.group_codes if draw == "groups" else evidence.codes
    if codes is None:
        raise ValuesError("Groups cannot be drawn: the cases have none.", hint="name the column that holds the group.")
    order = np.argsort(codes, kind="stable")
    rows_of_unit = np.split(order, np.flatnonzero(np.diff(codes[order])) + 1)
    return [rows_of_unit] if draw == "groups" else [[rows] for rows in rows_of_unit]


def _drawn_rows(parts: list[list[NDArray[Any]]], rng: np.random.Generator) -> NDArray[Any]:
    picked = []
    for units in parts:
        if len(units) == 1:
            # Rows that are drawn one by one.
            picked.append(rng.choice(units[0], len(units[0])))
        else:
            picked += [units[at] for at in rng.integers(len(units), size=len(units)).tolist()]
    return np.concatenate(picked)


def _row_skew(evidence: RowScores, find: Callable[[NDArray[Any]], float], value: float) -> float:
    """A sixth of the skewness of the influences, from leaving out single rows, evenly spread."""
    n = evidence.n
    probes = np.unique(((np.arange(PROBES) + 0.5) / PROBES * n).astype(np.int64))
    left = np.array([find(np.delete(np.arange(n), probe)) for probe in probes.tolist()]) if n > 1 else np.zeros(1)
    gaps = np.nan_to_num(value - left)
    gaps = gaps - gaps.mean()
    squares = n * float((gaps**2).mean())
    return n * float((gaps**3).mean()) / (6 * squares**1.5) if squares > 0 else 0.0


def usual_draw(ranking: Ranking, bound: Bound) -> Draw:
    """What to draw again for a measure: groups, all cases, or each class."""
    if ranking.groups is not None:
        return "groups"
    return "cases" if follows_prevalence(bound.measure) or bound.measure.kind == "calibration" else "classes"


def limits_from(
    ranking: Ranking, bound: Bound, value: float, values: Floats, level: float, form: Form
) -> tuple[float, float]:
    """The interval from replicates that were already drawn."""
    floor, ceiling = value_range(bound.measure, bound.parameters)
    if bound.measure.name == precision_recall_gain_area.name and ranking.n_positive:
        # Where recall gain is not negative, at least P² / n positives are found.
        floor = -float(ranking.n_negative / ranking.n_positive)
    defined = values[~np.isnan(values)]
    if np.isnan(value) or len(defined) < 2:
        return floor, ceiling
    if form == "percentile":
        low, high = order_limits(defined, level)
    elif form == "bca":
        low, high = share_limits(defined, *_bca_shares(ranking, bound, value, defined, level))
    elif bound.measure.name == kolmogorov_smirnov.name:
        low, high = _largest_gap(ranking, value, defined, level)
    else:
        size = _cases_behind(ranking, bound)
        low, high = _transformed(value, float(defined.std(ddof=1)), (floor, ceiling), size, level)
        if bound.measure.name == recall_at_precision.name:
            # It jumps from 0 as soon as one threshold is precise enough: neither interval alone holds it.
            outer = order_limits(defined, level)
            low, high = min(low, float(outer[0])), max(high, float(outer[1]))
    return max(float(low), floor), min(float(high), ceiling)


def _cases_behind(ranking: Ranking, bound: Bound) -> float:
    """How many cases the standard error rests on: the smaller class, the positives in a range of recalls, or the k."""
    positives, negatives = effective_sizes(ranking)
    if "k" in bound.parameters:
        return min(positives + negatives, float(bound.parameters["k"]))
    if bound.measure.name not in BY_RECALL:
        return min(positives, negatives)
    inside = positives * float(bound.parameters["high"] - bound.parameters["low"])
    # As few as five: with one or two the t distribution would say that nothing is known.
    return min(positives, negatives, max(inside, 5.0))


def _transformed(
    value: float, error: float, ends: tuple[float, float], size: float, level: float
) -> tuple[float, float]:
    floor, ceiling = ends
    critical = float(t_value(level, size - 1)) if size > 1 else np.inf
    if np.isinf(floor):
        return value - critical * error, value + critical * error
    if np.isinf(ceiling):
        if value <= floor:
            return floor, ceiling
        ratio = np.exp(min(critical * error / (value - floor), 700.0))
        return floor + (value - floor) / ratio, floor + (value - floor) * ratio
    width = ceiling - floor
    share = (value - floor) / width
    if not 1e-12 < share < 1 - 1e-12 or error == 0:
        # At a bound no replicate differs; Wilson with the number of cases knows that this may be chance.
        low, high = (float(end) for end in wilson_at(min(max(share, 0.0), 1.0), size, z_value(level)))
    else:
        low, high = logit_limits(share, error / width, critical)
    return floor + width * low, floor + width * high


def _largest_gap(ranking: Ranking, value: float, values: Floats, level: float) -> tuple[float, float]:
    """A maximum over thresholds is too large in a sample, and again in a resample: what that adds is taken off.

    The interval reaches down to 0 unless the Kolmogorov-Smirnov test rejects that both classes score alike.
    """
    positives, negatives = effective_sizes(ranking)
    size = min(positives, negatives)
    excess = float(values.mean()) - value
    error = float(np.hypot(values.std(ddof=1), excess))
    centre = min(value, max(value - excess, 0.0))
    low, high = _transformed(centre, error, (0.0, 1.0), size, level)
    if size > 1:
        # Next to 0 the logit scale would leave out the value itself.
        high = max(high, centre + float(t_value(level, size - 1)) * error)
    chance = np.sqrt(-np.log((1 - level) / 2) / 2 * (1 / positives + 1 / negatives))
    return (min(low, value) if value > chance else 0.0), max(high, value)


def _bca_shares(ranking: Ranking, bound: Bound, value: float, values: Floats, level: float) -> tuple[Any, Any]:
    skew = 0.0 if bound.measure.kind == "calibration" else _acceleration(ranking, bound, value)
    return _shifted_shares(value, values, skew, level)


def _shifted_shares(value: float, values: Floats, skew: float, level: float) -> tuple[Any, Any]:
    """The shares of BCa, given the acceleration."""
    from scipy.special import ndtri

    # The value and those of redrawn rankings are sums in another order: equal means equal up to rounding.
    slack = 1e-12 * max(abs(value), 1.0)
    below = ((values < value - slack).mean() + (values <= value + slack).mean()) / 2
    shift = ndtri(np.clip(below, 1e-9, 1 - 1e-9))
    return bca_shares(shift, skew, level)


def _acceleration(ranking: Ranking, bound: Bound, value: float) -> float:
    """A sixth of the skewness of the influences, from leaving out single cases, evenly spread over each class.

    With weights a case is one of the equally weighted ones that they are worth.
    """
    cubes = squares = 0.0
    columns = ranking.positives * 1.0, ranking.negatives * 1.0
    sides = zip(columns, (ranking.tp, ranking.fp), kish_sizes(ranking), strict=True)
    for which, (column, up_to, cases) in enumerate(sides):
        total = float(up_to[-1])
        if cases <= 1:
            continue
        case = total / cases
        probes = np.unique(np.searchsorted(up_to, (np.arange(PROBES) + 0.5) / PROBES * total))
        left = np.empty(len(probes))
        block = max(1, NUMBERS // len(column))
        for start in range(0, len(probes), block):
            places = probes[start : start + block]
            pair = [np.broadcast_to(side, (len(places), len(side))) for side in columns]
            fewer = pair[which].copy()
            fewer[np.arange(len(places)), places] = np.maximum(column[places] - case, 0)
            pair[which] = fewer
            left[start : start + block] = bound.value({"ranking": RankingBatch(*pair)})
        weights = column[probes] / column[probes].sum()
        gaps = np.nan_to_num(value - left)
        gaps = (gaps - weights @ gaps) * (cases - 1) / cases
        cubes += cases * float(weights @ gaps**3)
        squares += cases * float(weights @ gaps**2)
    return cubes / (6 * squares**1.5) if squares > 0 else 0.0
