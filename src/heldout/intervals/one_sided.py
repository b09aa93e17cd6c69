"""Limits for one-sided statements, such as "recall is at least 0.8": each keeps its own error rate, low or high.

The two ends of an interval may share its error unevenly: Wilson's lower limit of a rate near 0 is too high in far more
than half of its misses. A gate reads one end only, so it needs limits whose own error keeps the level. Clopper and
Pearson's do for a rate: they are quantiles of the Beta distribution after one more case was added on the unfavourable
side. The same is done here for whatever else is made from counts: cells are drawn from the Dirichlet distribution
after one more case was added where it does most harm.

For two independent rates and a measure that moves one way with each (balanced accuracy, likelihood ratios, odds
ratios) that is the melded interval of Fay, Proschan and Brittain (2015), Biometrics 71, 146-156; for the mean of known
costs it is the bound of Phan, Thomas and Learned-Miller (2021), Towards practical mean bounds for small samples.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from heldout.arguments import require
from heldout.arrays import Floats
from heldout.evidence import Ranking
from heldout.evidence.losses import LOSSES
from heldout.evidence.probabilities import Moments, Probabilities
from heldout.intervals.areas import average_precision_limits, delong_logit, kish_sizes, newcombe, newcombe_of_groups
from heldout.intervals.draws import MOST_CELLS, Draws, posterior_draws, posterior_limits
from heldout.intervals.losses import PromisedLosses, loss_bounds, loss_limits, skill_limits
from heldout.intervals.proportion import clopper_pearson
from heldout.intervals.quantiles import z_value
from heldout.intervals.target import Subject
from heldout.measures.cells import TWO, TableBatch, class_cells

Limits = tuple[Any, Any]

# The gradient is taken with this much in every cell, so that it exists where cells are empty.
INSIDE = 0.5
WRONG = 2.0
STREAM = 6


def guarded_class_limits(subject: Subject, level: float, draws: Draws) -> Limits:
    """Limits of a measure of TP, FN, FP and TN for every class; each end by itself has the error (1 − level) / 2."""
    if subject.bound.measure.kind == "f" and subject.bound.parameters["beta"] == 1:
        return _f1_limits(subject, level)
    counts, rng = subject.corners, draws.rng(STREAM)
    size = posterior_draws(counts.size, level)

    def limits(added: Floats) -> Limits:
        cells = rng.standard_gamma((counts + added).T[:, :, None], size=(4, len(counts), size))
        return _outer_limits(subject.of_classes(class_cells(*cells)), level)

    harmful, helpful = _added_corners(subject)
    return np.min([limits(added)[0] for added in harmful], axis=0), limits(helpful)[1]


def _outer_limits(values: Any, level: float) -> Limits:
    """Order statistics of draws; those without a value could be anything, so they lie beyond both ends."""
    drawn = np.asarray(values, dtype=np.float64)
    unknown = np.isnan(drawn)
    low, _ = posterior_limits(np.where(unknown, -np.inf, drawn), level)
    _, high = posterior_limits(np.where(unknown, np.inf, drawn), level)
    return low, high


def _f1_limits(subject: Subject, level: float) -> Limits:
    """F1 is 2J / (1 + J), and of the cases that are TP, FN or FP the share J are TP: a plain rate."""
    tp, fn, fp, _ = subject.corners.T
    low, high = clopper_pearson(tp, tp + fn + fp, level)
    return 2 * low / (1 + low), 2 * high / (1 + high)


def _added_corners(subject: Subject) -> tuple[list[Floats], Floats]:
    """What is added to TP, FN, FP and TN of each class to lower the measure, in one way or several, and to raise it.

    TP and FN make up one rate and FP and TN another, so each pair gets a case. F-scores are one rate: FN and FP get a
    case between them, in whichever of the two it does more harm.
    """
    slope = subject.bound.class_gradient(subject.corners + INSIDE)
    if subject.bound.measure.kind == "f":
        tp, fn, fp, _ = (np.broadcast_to(row, slope.shape) for row in np.eye(4))
        return [fn, fp], tp
    return [np.where(slope < 0, 1.0, 0.0)], np.where(slope > 0, 1.0, 0.0)


def guarded_table_limits(subject: Subject, level: float, draws: Draws) -> Limits:
    """Limits of a measure of the whole table, or of an average over classes.

    Two wrong decisions are added, spread over all kinds of them, or one right decision for each class. With two
    classes that is a case for each of the two rates. With more, a wrong case for each class would outweigh the data;
    a right one has to be there because averages over classes with few cases lie below the truth.
    """
    k = subject.confusion.n_classes
    right = np.eye(k)
    table, rng = subject.confusion.matrix * subject.scale, draws.rng(STREAM)
    size = posterior_draws(k * k, level)
    pairs = []
    for added in (WRONG * (1 - right) / max(k * (k - 1), 1), right):
        tables = rng.standard_gamma(table + added, size=(size, k, k))
        pairs.append(_outer_limits(subject.of_tables(TableBatch(tables)), level))
    # Which of the two lowers the measure depends on whether errors do.
    lows, highs = zip(*pairs, strict=True)
    return min(lows), max(highs)


def guarded_mean_limits(values: Floats, counts: Floats, level: float, draws: Draws) -> tuple[float, float]:
    """Limits of the mean of known values: one more case of the least value for the lower one, of the largest above."""
    size, rng, ends = posterior_draws(len(values), level), draws.rng(STREAM), []
    for end, place in enumerate((int(values.argmin()), int(values.argmax()))):
        added = np.zeros(len(values))
        added[place] = 1.0
        shares = rng.standard_gamma(counts + added, size=(size, len(values)))
        ends.append(float(posterior_limits(shares @ values / shares.sum(axis=1), level)[end]))
    return ends[0], ends[1]


# With more groups than this that hold an error, the normal limits of groups are as good.
MANY_GROUPS = 2000


def guarded_group_limits(subject: Subject, level: float, draws: Draws) -> Limits | None:
    """The same where whole groups were sampled: groups are drawn, after one more was added that is wrong throughout.

    For shares of groups of one size that is the mean bound of Phan, Thomas and Learned-Miller, and, where every group
    is right or wrong throughout, Clopper and Pearson's over groups. The group added holds as many cases of each class
    as groups with that class do on average. Groups without an error differ in size only, so they are drawn
    together. None where so many groups hold errors that there is nothing to guard against.
    """
    confusion = subject.confusion
    clusters = require(confusion.clusters, "there are no groups")
    k, number = confusion.n_classes, clusters.number
    truth, predicted = confusion.truth[clusters.cell], confusion.predicted[clusters.cell]
    erring = np.unique(clusters.group[(truth != predicted) & (clusters.count > 0)])
    if k * k > MOST_CELLS or len(erring) > MANY_GROUPS:
        return None
    # One row for each group with an error, and a last one for the mean of the others.
    rank_of_group = np.full(number, len(erring))
    rank_of_group[erring] = np.arange(len(erring))
    tables = np.zeros((len(erring) + 1, k, k))
    np.add.at(tables, (rank_of_group[clusters.group], truth, predicted), clusters.count)
    alike = number - len(erring)
    tables[-1] /= max(alike, 1)
    shape = np.append(np.ones(len(erring)), alike) * np.mean(subject.scale)
    added = _added_groups(subject, _class_sizes((clusters.group, truth, clusters.count), k))
    size, rng = posterior_draws(len(shape) + k * k, level), draws.rng(STREAM)
    pairs = []
    for table in added:
        shares = np.column_stack([rng.standard_gamma(shape, size=(size, len(shape))), rng.standard_exponential(size)])
        drawn = np.tensordot(shares, np.concatenate([tables, table[None]]), axes=1)
        pairs.append(_outer_limits(np.moveaxis(np.asarray(subject.of_tables(TableBatch(drawn))), 0, -1), level))
    lows, highs = zip(*pairs, strict=True)
    return np.min(lows, axis=0), np.max(highs, axis=0)


def _added_groups(subject: Subject, sizes: Floats) -> list[Floats]:
    """The tables of groups that lower or raise a measure most; `sizes` are the cases of each class that they hold."""
    k, costs = len(sizes), subject.bound.costs
    if costs is not None:
        return [np.diag(sizes) @ np.eye(k)[extreme(costs, axis=1)] for extreme in (np.argmax, np.argmin)]
    wrong = np.outer(sizes, np.ones(k)) * (1 - np.eye(k)) / max(k - 1, 1)
    # What the shares of answers depend on is moved most by a group that is given one answer throughout.
    return [wrong, np.diag(sizes), *(np.outer(sizes, answer) for answer in np.eye(k) if k == TWO)]


def _class_sizes(pairs: Any, classes: int) -> Floats:
    """How many cases of each class a group holds that holds any, on average; `pairs` are of number, class and cases."""
    held, where = np.unique(pairs[0] * classes + pairs[1], return_inverse=True)
    sums = np.bincount(where, weights=pairs[2])
    totals, groups = (np.bincount(held % classes, weights=each, minlength=classes) for each in (sums, sums > 0))
    return np.asarray(totals / np.maximum(groups, 1))


def effective_clopper_pearson(subject: Subject, level: float) -> Limits:
    """Clopper and Pearson's limits with the number of cases that gives a rate the same standard error.

    Korn and Graubard (1998), Survey Methodology 24, 193-201, do so for rates from surveys.
    """
    low, high = subject.bound.measure.range
    share = np.asarray((subject.value - low) / (high - low))
    spread = np.asarray(subject.variance) / (high - low) ** 2
    total = subject.confusion.n * np.asarray(subject.scale, dtype=np.float64)
    with np.errstate(divide="ignore", invalid="ignore"):
        size = np.where(spread > 0, np.minimum(share * (1 - share) / spread, total), total)
    ends = clopper_pearson(np.nan_to_num(share) * size, size, level)
    return tuple(np.where(np.isnan(share), np.nan, low + (high - low) * end) for end in ends)  # type: ignore[return-value]


# Measures of scores: the same guard where the default's own end is too near.

# With more positives than this, one more at the bottom would not change the limit visibly.
PLENTY = 10_000


def guarded_area_limits(ranking: Ranking, level: float) -> tuple[float, float]:
    """Limits of the area under the ROC curve: of DeLong's on the logit scale and Newcombe's the farther ones.

    DeLong's variance is too small where the area is near 1 and one class has few cases: there its lower limit lies
    above the truth in up to .16 instead of .05 of the draws. Newcombe's does not, and errs elsewhere.
    """
    low, high = delong_logit(ranking, level)
    other_low, other_high = (newcombe if ranking.groups is None else newcombe_of_groups)(ranking, level)
    return min(low, other_low), max(high, other_high)


def guarded_precision_limits(ranking: Ranking, level: float) -> tuple[float, float]:
    """Limits of average precision after one more positive was ranked last (first, for the upper one).

    The default takes the numbers of positives and negatives as given. A gate is about cases to come, whose share of
    positives is known no better than these cases tell, and the area moves with it: what that adds is put together with
    the rest as Zou & Donner (2008), Statistics in Medicine 27, 1693-1702, put limits together. Few positives that are
    ranked badly have an average precision above the truth on average; that much is taken off. To groups none is added.
    """
    sizes = kish_sizes(ranking)
    few = ranking.groups is None and ranking.joined is None and sizes[0] <= PLENTY
    low, _ = average_precision_limits(_with_positive(ranking, last=True) if few else ranking, level)
    _, high = average_precision_limits(_with_positive(ranking, last=False) if few else ranking, level)
    value = _precision_at(ranking, 1.0)
    share, cases = _known_share(ranking)
    rarer, oftener = (
        _precision_at(ranking, _odds(end) / _odds(share)) for end in clopper_pearson(share * cases, cases, level)
    )
    low -= _precision_bias(*sizes) * (1 - value)
    lower, upper = value - math.hypot(value - low, value - rarer), value + math.hypot(high - value, oftener - value)
    return max(lower, 0.0), min(upper, 1.0)


def _known_share(ranking: Ranking) -> tuple[float, float]:
    """The share of positives, and how many independent cases know it as well; groups differ in it."""
    groups, sizes = ranking.groups, kish_sizes(ranking)
    if groups is None:
        return sizes[0] / sum(sizes), sum(sizes)
    positives, negatives = (
        np.bincount(groups.group, weights=column, minlength=len(groups.keys))
        for column in (groups.positives, groups.negatives)
    )
    share, number = float(positives.sum() / (positives.sum() + negatives.sum())), len(groups.keys)
    apart = (1 - share) * positives - share * negatives
    variance = float(apart @ apart) / float((positives + negatives).sum()) ** 2 * number / max(number - 1, 1)
    return share, min(share * (1 - share) / variance, sum(sizes)) if variance > 0 else sum(sizes)


def _precision_bias(positives: float, negatives: float) -> float:
    """How far average precision lies above the share of positives when cases are ranked at random, per share missing.

    Bestgen (2015), The Prague Bulletin of Mathematical Linguistics 103, 131-138. Of a perfect ranking there is none.
    """
    n = positives + negatives
    if n < 2 or not negatives:
        return 0.0
    part = (math.log(n) + float(np.euler_gamma)) / n  # the harmonic number over n
    share = positives / n
    return max((positives - 1) / (n - 1) * (1 - part) + part - share, 0.0) / (1 - share)


def _odds(share: Any) -> float:
    return float(share / (1 - share)) if share < 1 else math.inf


def _precision_at(ranking: Ranking, odds: float) -> float:
    """The average precision if positives were so many times as common beside negatives as they are."""
    if not 0 < odds < math.inf:
        return 0.0 if odds == 0 else 1.0
    positives = np.asarray(ranking.positives, dtype=np.float64)
    right, wrong = odds * np.cumsum(positives), np.cumsum(ranking.negatives, dtype=np.float64)
    return float(positives @ (right / np.maximum(right + wrong, 1e-300)) / max(float(positives.sum()), 1e-300))


def _with_positive(ranking: Ranking, *, last: bool) -> Ranking:
    """The ranking with one more positive below all scores, or above them; with weights, one of average weight."""
    scores = np.asarray(ranking.scores, dtype=np.float64)
    edge = (np.nextafter(scores[-1], -np.inf) if last else np.nextafter(scores[0], np.inf)) if len(scores) else 0.0
    squares = ranking.positive_squares
    weight = 1.0 if squares is None or not squares.sum() else float(squares.sum() / ranking.n_positive)

    def extended(column: Any, value: float) -> Floats:
        parts = [np.asarray(column, dtype=np.float64), np.array([value])]
        return np.concatenate(parts if last else parts[::-1])

    return Ranking(
        extended(scores, edge),
        extended(ranking.positives, weight),
        extended(ranking.negatives, 0.0),
        None if squares is None else extended(squares, weight**2),
        None if ranking.negative_squares is None else extended(ranking.negative_squares, 0.0),
    )


def guarded_loss_limits(probabilities: Probabilities, loss: str, level: float) -> tuple[float, float]:
    """Hall's limits for a mean loss, the upper one at least the normal limit after one more case of the worst loss.

    Where few large losses are expected, none may have been seen, and the mean and its spread are both too small. The
    worst Brier loss is known. A log loss has no largest value: the worst is taken as that of an outcome to which the
    forecast gave one chance in n + 2, which is Laplace's estimate for what has not been seen in n cases.
    """
    low, high = loss_limits(probabilities, loss, level)
    floor, ceiling = loss_bounds(probabilities, loss)
    if loss not in probabilities.losses or probabilities.n < 2:
        return low, high
    moments, n = probabilities.losses[loss], probabilities.n
    groups = probabilities.groups
    if groups is not None:
        # Some groups may be wrong throughout, though none was seen: Clopper and Pearson's limit for 0 of G groups.
        shares = groups.weight / float(groups.weight.sum())
        unseen = 1 - ((1 - level) / 2) ** float(shares @ shares)
        moved = moments.mean + PromisedLosses.of(probabilities, loss).reach(moments, unseen)
        return max(min(low, moved), floor), min(max(high, moved), ceiling)
    worst = ceiling if math.isfinite(ceiling) else math.log(n + 2)
    weight = moments.weight / n if n else 1.0
    more = moments + Moments.of(np.array([worst]), np.array([weight]))
    error = math.sqrt(float(more.about(more.mean)[1, 2]) * (n + 1) / max(n, 1)) / more.weight
    return max(low, floor), min(max(high, more.mean + z_value(level) * error), ceiling)


def guarded_skill_limits(probabilities: Probabilities, loss: str, level: float) -> tuple[float, float]:
    """Limits of the skill 1 − loss / reference: by the delta method or from those of the loss, the farther ones."""
    low, high = skill_limits(probabilities, loss, level)
    shares = probabilities.class_weight / (probabilities.weight or 1.0)
    reference = float(LOSSES[loss].reference(shares))
    if not reference > 0:
        return low, high
    least, most = guarded_loss_limits(probabilities, loss, level)
    return min(low, 1 - most / reference), max(high, 1 - least / reference)
