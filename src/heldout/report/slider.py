"""The threshold that a reader moves: exact counts at every position, every figure with its limits, and costs.

The page of an evaluation shows it; what stands behind its positions is made here.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from heldout.arguments import require
from heldout.arrays import Floats
from heldout.curves.thinning import places_of, shortened
from heldout.curves.threshold_counts import ThresholdTables, counts_at
from heldout.evidence import Confusion, Label, Ranking
from heldout.evidence.ranking import cut_at, split_at
from heldout.intervals.count_estimator import DEFAULTS, PLENTY, Estimator
from heldout.intervals.draws import CELL_PRIOR, DRAWN_LEVEL, Draws, order_limits, posterior_draws
from heldout.intervals.fold_estimates import FoldEstimator
from heldout.intervals.methods import METHODS
from heldout.intervals.proportion import wilson
from heldout.intervals.score_limits import many_cost_limits
from heldout.intervals.target import Subject
from heldout.measures.catalogue import find
from heldout.measures.cells import class_cells
from heldout.measures.quantity import Bound, Quantity
from heldout.measures.symbolic import (
    COST_ALARM,
    COST_MISS,
    PREVALENCE,
    RAW_FP,
    RAW_NEGATIVES,
    RAW_POSITIVES,
    RAW_TP,
    SEEN_PREVALENCE,
    N,
    cost_per_case,
    trace_two_classes,
)
from heldout.report.explanations import COST_SECTION, NET, NET_SECTION, UNIT_COSTS, method_words, section_name
from heldout.results.evaluation import Evaluation
from heldout.show.blocks import head_interval
from heldout.show.escape import visible
from heldout.show.explorer import Explorer, Expression, Knob, Moving
from heldout.show.numbers import count, number, plain
from heldout.show.text_width import shorten

CLOSED = "effective-wilson"
# Tables whose posterior draws are held at a time: 16 of 4 × 10,000 numbers are 5 MB.
TABLES_AT_ONCE = 16


@dataclass(frozen=True, slots=True, eq=False)
class Limits:
    """The limits of one figure at every threshold, and the method that made them: one for all, or one for each."""

    low: Floats
    high: Floats
    method: str | tuple[str, ...]


def is_quick(estimator: Estimator) -> bool:
    """Whether the limits of all thresholds can be made together: independent cases, default methods."""
    confusion = estimator.confusion
    return (
        estimator.method is None
        and estimator.plan is None
        and estimator.level <= DRAWN_LEVEL
        and not confusion.weighted
        and confusion.clusters is None
    )


def drawn_places(corners: Floats) -> NDArray[np.int64]:
    """The thresholds at which measures of agreement need random draws, because an outcome is rare."""
    return np.flatnonzero(corners.min(axis=1) < PLENTY)


def find_limits_together(estimator: Estimator, positive: int, bounds: Sequence[Bound], corners: Floats) -> list[Limits]:
    """The limits of each measure for independent cases, all thresholds at once; `corners` are TP, FN, FP, TN."""
    drawn = [bound for bound in bounds if bound.measure.kind == "agreement"]
    agreed = dict(zip((b.name for b in drawn), _agreement(estimator, positive, drawn, corners), strict=True))
    limits = []
    for bound in bounds:
        if bound.measure.kind == "agreement":
            limits.append(agreed[bound.name])
        elif bound.measure.kind == "cost":
            limits.append(_costs(bound, positive, corners, estimator.level))
        else:
            limits.append(_closed(bound, corners, DEFAULTS[bound.measure.kind], estimator))
    return limits


def find_limits_singly(
    estimator: Estimator, positive: Label, bounds: Sequence[Bound], seen: Sequence[Confusion]
) -> list[Limits]:
    """The limits of each measure from the evidence at each threshold, for weights, groups and methods asked for."""
    asked = [Quantity(bound).resolve(positive) for bound in bounds]
    rows = [[replace(estimator, confusion=confusion).ask(quantity) for quantity in asked] for confusion in seen]
    return [
        Limits(
            np.array([row[at].low for row in rows]),
            np.array([row[at].high for row in rows]),
            tuple(row[at].method for row in rows),
        )
        for at in range(len(asked))
    ]


def _closed(bound: Bound, corners: Floats, name: str, estimator: Estimator) -> Limits:
    none = np.zeros(0, dtype=np.int64)
    tables = ThresholdTables(tuple(range(len(corners))), none, none, none, tables=corners)
    subject = Subject(bound, tables, "class")
    interval = METHODS[name].find(subject, estimator.level, Draws(tables, estimator.seed))
    # An undefined value has no limits, as in every estimate.
    low, high = (np.where(np.isnan(subject.value), np.nan, ends) for ends in interval)
    return Limits(low, high, name)


def _costs(bound: Bound, positive: int, corners: Floats, level: float) -> Limits:
    costs = require(bound.costs, "the slider of a cost needs a cost matrix")
    other = 1 - positive
    order = [(positive, positive), (positive, other), (other, positive), (other, other)]
    values, where = np.unique([costs[cell] for cell in order], return_inverse=True)
    if values.tolist() == [0.0, 1.0]:
        # A cost of 0 or 1 is a proportion, and the score interval of its mean is Wilson's.
        return Limits(*wilson(corners[:, where == 1].sum(axis=1), corners.sum(axis=1), level), "score")
    cells = np.stack([corners[:, where == at].sum(axis=1) for at in range(len(values))], axis=1)
    return Limits(*many_cost_limits(np.broadcast_to(values, cells.shape), cells, level), "score")


def _agreement(estimator: Estimator, positive: int, bounds: Sequence[Bound], corners: Floats) -> list[Limits]:
    """In closed form where every outcome has plenty of cases, elsewhere from draws that all measures share."""
    few = drawn_places(corners)
    many = np.setdiff1d(np.arange(len(corners)), few)
    ends = np.full((2, len(bounds), len(corners)), np.nan)
    for at, bound in enumerate(bounds):
        if len(many):
            closed = _closed(bound, corners[many], CLOSED, estimator)
            ends[0, at, many], ends[1, at, many] = closed.low, closed.high
    for start in range(0, len(few), TABLES_AT_ONCE):
        block = few[start : start + TABLES_AT_ONCE]
        cells = _posterior(corners[block], positive, estimator)
        for at, bound in enumerate(bounds):
            ends[:, at, block] = _draw_limits(bound, corners[block], cells, estimator.level)
    used = tuple(np.where(np.isin(np.arange(len(corners)), few), DEFAULTS["agreement"], CLOSED).tolist())
    return [Limits(ends[0, at], ends[1, at], used) for at in range(len(bounds))]


def _posterior(corners: Floats, positive: int, estimator: Estimator) -> dict[str, Any]:
    """The very draws that an evaluation of each table would make, in the order of its classes: arrays (tables, B)."""
    # TP, FN, FP, TN as the cells of the square, row by row: the positive class comes first or last.
    order = slice(None) if positive == 0 else slice(None, None, -1)
    size = posterior_draws(4, estimator.level)
    drawn = np.empty((4, len(corners), size))
    for at, square in enumerate(corners[:, order].reshape(-1, 2, 2) + CELL_PRIOR):
        rng = np.random.default_rng([estimator.seed, 2])
        drawn[:, at] = rng.standard_gamma(square, size=(size, 2, 2)).reshape(size, 4).T
    return class_cells(*drawn[order])


def _draw_limits(bound: Bound, corners: Floats, cells: dict[str, Any], level: float) -> Floats:
    """Quantiles of the draws of each table, within the range of the measure and with the estimate inside."""
    low, high = order_limits(np.asarray(bound.value(cells)), level)
    floor, ceiling = bound.measure.range
    value = bound.of_classes(corners)
    limits = np.stack([np.fmin(np.fmax(low, floor), value), np.fmax(np.fmin(high, ceiling), value)])
    return np.where(np.isnan(value), np.nan, limits)


Worth = Callable[[Any, Any], Floats]

ROUND = np.arange(1, 20) / 20
CURRENT, CHEAPEST, HIGHEST_F, HIGHEST_J = "current threshold", "cheapest", "highest F1", "highest Youden's J"


@dataclass(frozen=True, slots=True, eq=False)
class Positions:
    """Thresholds from low to high with the exact counts at each; `marks` are the named ones."""

    thresholds: Floats
    tp: NDArray[Any]
    fp: NDArray[Any]
    start: int
    marks: tuple[tuple[str, int], ...]
    left_out: int


def positions(
    ranking: Ranking, most: int, *, current: float | None, near: tuple[float, float], costs: tuple[float, float]
) -> Positions:
    """At most about `most` thresholds: every distinct score if there are that few, else even in rank and in score.

    `near` are the TP and FP to start from where no threshold is current; `costs` are those of a miss and of a false
    alarm, each beyond what the right answer costs.

    >>> seen = Ranking(np.array([0.9, 0.4, 0.2]), np.array([3, 1, 1]), np.array([0, 2, 3]))
    >>> found = positions(seen, 10, current=0.5, near=(0, 0), costs=(1.0, 1.0))
    >>> found.thresholds, found.marks[:2]
    (array([0.2, 0.4, 0.5, 0.9, 0.9]), (('current threshold', 2), ('cheapest', 3)))
    """
    short = shortened(ranking)
    miss, alarm = costs
    positives, negatives = ranking.n_positive, ranking.n_negative
    named: dict[str, float] = {} if current is None else {CURRENT: current}
    cheap, cost = _best(ranking, short, lambda tp, fp: -(miss * (positives - tp) + alarm * fp))
    # Calling nothing positive has no score of its own: it begins just above the highest, or above the highest bin.
    none = float(np.nextafter(ranking.scores[0], np.inf) if ranking.ends is None else ranking.ends[0])
    named[CHEAPEST] = none if -miss * positives > cost else cheap
    named[HIGHEST_F], _ = _best(ranking, short, lambda tp, fp: 2 * tp / (tp + positives + fp))
    named[HIGHEST_J], _ = _best(ranking, short, lambda tp, fp: tp / positives - fp / negatives)
    chosen = _chosen(ranking, most)
    thresholds = np.unique(np.concatenate([chosen, list(named.values()), [none]]))
    tp, fp = counts_at(shortened(ranking, thresholds), thresholds)
    marks = tuple((name, int(np.searchsorted(thresholds, at))) for name, at in named.items())
    at = dict(marks).get(CURRENT)
    start = int((np.abs(tp - near[0]) + np.abs(fp - near[1])).argmin()) if at is None else at
    kept = len(np.unique(places_of(ranking, thresholds)))
    return Positions(thresholds, tp, fp, start, marks, max(len(ranking) - kept, 0))


def _chosen(ranking: Ranking, most: int) -> Floats:
    if len(ranking) <= most:
        return ranking.scores
    # People think of round thresholds of probabilities, so these are kept although no case may score them.
    rounds = ROUND if ranking.scores[-1] >= 0 and ranking.scores[0] <= 1 else ROUND[:0]
    if ranking.joined is not None:
        rounds = np.array([at for at in rounds.tolist() if _is_exact(ranking, at)])
    half = most // 2
    by_rank = np.linspace(0, len(ranking) - 1, half).round().astype(np.int64)
    even = np.linspace(float(ranking.scores[-1]), float(ranking.scores[0]), most - half)
    by_score = np.maximum(places_of(ranking, even) - 1, 0)
    return np.concatenate([ranking.scores[np.union1d(by_rank, by_score)], rounds])


def _is_exact(ranking: Ranking, threshold: float) -> bool:
    """Whether the counts at a threshold are known: not so inside a bin of scores."""
    tp_low, tp_high, fp_low, fp_high = ranking.between(threshold)
    return bool(tp_low == tp_high and fp_low == fp_high)


def _best(ranking: Ranking, short: Ranking, worth: Worth) -> tuple[float, float]:
    """The highest threshold at which something is worth most, of all distinct scores, and how much that is.

    What is worth more grows with TP and falls with FP. So within a run of joined scores it is at most what TP at its
    end and FP at its start would be worth, and only runs that could beat the best end are looked into.
    """
    tp, fp = short.tp.astype(np.float64), short.fp.astype(np.float64)
    at_ends = worth(tp, fp)
    best = int(np.argmax(at_ends))
    best_point = float(short.scores[best]), float(at_ends[best])
    if short is ranking:
        return best_point
    ends = places_of(ranking, short.scores)
    starts = np.concatenate([[0], ends[:-1]])
    before = [np.concatenate([[0.0], candidates[:-1]]) for candidates in (tp, fp)]
    for run in np.flatnonzero((worth(tp, before[1]) > best_point[1]) & (ends - starts > 1)).tolist():
        inside = slice(int(starts[run]), int(ends[run]))
        candidates = [
            first[run] + np.cumsum(side[inside], dtype=np.float64)
            for first, side in zip(before, (ranking.positives, ranking.negatives), strict=True)
        ]
        values = worth(candidates[0], candidates[1])
        top = int(np.argmax(values))
        if values[top] > best_point[1]:
            best_point = float(ranking.scores[inside][top]), float(values[top])
    return best_point


# The most positions that are kept; fewer where the limits at each take longer, so that all of them take about a second.
MOST = 1000
MOST_DRAWN = 500
MOST_SLOW = 100
# Groups are counted anew at every threshold; beyond this many entries their limits are left out.
MOST_GROUPED = 20_000
# The highest cost that a reader may set: no sum of costs over the cases of this world passes what a float can hold.
MOST_COST = 1e12
# Letters of a label beside the matrix.
NAMED = 30
FIGURES = (
    "accuracy",
    "balanced_accuracy",
    "precision",
    "recall",
    "specificity",
    "f1",
    "matthews",
    "kappa",
    "negative_predictive_value",
    "false_positive_rate",
    "false_negative_rate",
    "predicted_positive_rate",
)
DERIVED: tuple[tuple[str, Expression], ...] = (
    # Each is exactly 1 as long as the prevalence is that of the data, so that counts stay whole.
    ("weight_positive", ("/", PREVALENCE, SEEN_PREVALENCE)),
    ("weight_negative", ("/", ("-", 1.0, PREVALENCE), ("-", 1.0, SEEN_PREVALENCE))),
    ("tp", ("*", RAW_TP, "weight_positive")),
    ("fn", ("*", ("-", RAW_POSITIVES, RAW_TP), "weight_positive")),
    ("fp", ("*", RAW_FP, "weight_negative")),
    ("tn", ("*", ("-", RAW_NEGATIVES, RAW_FP), "weight_negative")),
    (N, ("+", ("+", "tp", "fn"), ("+", "fp", "tn"))),
)
CHANGED = (
    "Counts and figures are for the share set here. The limits hold for the cases as they are, so they are not shown; "
    "the curves stay those of the data, and only the mark on the cost curve moves."
)


def why_none(evaluation: Evaluation) -> str:
    """Why there is no threshold to move, or nothing."""
    if evaluation.scores is None:
        return "no scores were given, so there is no threshold to move"
    if evaluation.positive is None or evaluation.confusion.n_classes != 2 or evaluation.scores.evidence.per_class:
        return "a threshold tells two classes apart, and there are several, each with its own score"
    if isinstance(evaluation.estimator, FoldEstimator):
        return "the predictions come from several models, whose scores are not on one scale: no one threshold fits all"
    ranking = evaluation.ranking(evaluation.positive)
    if not ranking.n_positive or not ranking.n_negative:
        return "only one of the two classes has cases"
    return ""


def threshold_explorer(evaluation: Evaluation) -> Explorer | None:
    """The explorer of an evaluation of two classes with one score per case; nothing where `why_none` says why."""
    if why_none(evaluation) or evaluation.positive is None or evaluation.scores is None:
        return None
    index = evaluation.confusion.index(evaluation.positive)
    ranking, current = _at_current(evaluation, index)
    costs = np.array(UNIT_COSTS) if evaluation.costs is None else evaluation.costs
    positions, limits = _figures(evaluation, ranking, current, index, costs)
    names = tuple(shorten(visible(str(evaluation.confusion.labels[at])), NAMED) for at in (index, 1 - index))
    prevalence = ranking.n_positive / ranking.n
    columns = {RAW_TP: positions.tp, RAW_FP: positions.fp}
    return Explorer(
        "Threshold",
        tuple(positions.thresholds.tolist()),
        positions.start,
        tuple((name, tuple(values.tolist())) for name, values in columns.items()),
        (
            (RAW_POSITIVES, float(ranking.n_positive)),
            (RAW_NEGATIVES, float(ranking.n_negative)),
            (SEEN_PREVALENCE, prevalence),
        ),
        DERIVED,
        _knobs(prevalence, costs, index, given=evaluation.costs is not None, name=names[0]),
        limits,
        tuple(f"truth {name}" for name in names),
        tuple(f"predicted {name}" for name in names),
        (("tp", "fn"), ("fp", "tn")),
        (PREVALENCE,),
        CHANGED,
        positions.marks,
        positions.left_out,
        _detail(evaluation, positions, ranking, names[0]),
        head_interval(evaluation.level),
    )


def _knobs(prevalence: float, costs: Any, index: int, *, given: bool, name: str) -> tuple[Knob, ...]:
    origin = "as given" if given else "none were given"
    miss, alarm = float(costs[index, 1 - index]), float(costs[1 - index, index])
    return (
        Knob(PREVALENCE, f"Share of {name}", prevalence, 0.0, 1.0, f"in these cases {number(prevalence)}"),
        Knob(COST_MISS, "Cost of a miss", miss, 0.0, max(miss, MOST_COST), origin),
        Knob(COST_ALARM, "Cost of a false alarm", alarm, 0.0, max(alarm, MOST_COST), origin),
    )


def _figures(
    evaluation: Evaluation, ranking: Ranking, current: float | None, index: int, costs: Any
) -> tuple[Positions, tuple[Moving, ...]]:
    bounds = [*(find(name) for name in FIGURES), find("expected_cost", costs=costs)]
    right = costs[index, index], costs[1 - index, 1 - index]
    extra = max(float(costs[index, 1 - index] - right[0]), 0.0), max(float(costs[1 - index, index] - right[1]), 0.0)
    fast = is_quick(evaluation.estimator)

    def at_most(most: int) -> Positions:
        corners = evaluation.confusion.corners[index]
        return positions(ranking, most, current=current, near=(corners[0], corners[2]), costs=extra)

    kept = at_most(MOST if fast else MOST_SLOW)
    corners = _corners(kept, ranking)
    if fast and len(ranking) > MOST and len(drawn_places(corners)) > MOST_DRAWN:
        kept = at_most(MOST_DRAWN)
        corners = _corners(kept, ranking)
    limits: Sequence[Limits | None]
    if fast:
        limits = find_limits_together(evaluation.estimator, index, bounds, corners)
    elif ranking.groups is not None and len(ranking.groups.place) > MOST_GROUPED:
        limits = [None] * len(bounds)
    else:
        limits = find_limits_singly(evaluation.estimator, _named(evaluation), bounds, _seen(evaluation, ranking, kept))
    moving = [_moving(evaluation, bound, ends, index, costs) for bound, ends in zip(bounds, limits, strict=True)]
    if evaluation.scores is not None and evaluation.scores.evidence.probabilities is not None:
        why = "at a threshold of 1 a false alarm would weigh infinitely much"
        moving.append(Moving("net_benefit", "net benefit", NET, style="plain", how=NET_SECTION, undefined=why))
    return kept, tuple(moving)


def _at_current(evaluation: Evaluation, index: int) -> tuple[Ranking, float | None]:
    """The ranking and the threshold of the predictions.

    Where it falls into a bin of scores the bin is divided there: how many cases reach it was counted. If it cannot be
    divided the threshold is left out, so that the counts at every position are exact.
    """
    ranking = evaluation.ranking(evaluation.positive)
    if evaluation.threshold is None or evaluation.scores is None:
        return ranking, evaluation.threshold
    current = evaluation.threshold
    tp, _, fp, _ = evaluation.confusion.corners[index].tolist()
    divided = split_at(ranking, current, tp, fp)
    return (ranking, None) if divided is None else (divided, current)


def _named(evaluation: Evaluation) -> Label:
    if evaluation.positive is None:
        raise TypeError("there is no positive class")
    return evaluation.positive


def _corners(positions: Positions, ranking: Ranking) -> Floats:
    corners = (positions.tp, ranking.n_positive - positions.tp, positions.fp, ranking.n_negative - positions.fp)
    return np.stack(corners, axis=1).astype(np.float64)


def _moving(evaluation: Evaluation, bound: Bound, limits: Limits | None, index: int, costs: Any) -> Moving:
    measure = bound.measure
    formula = cost_per_case(index, costs) if measure.kind == "cost" else trace_two_classes(bound)
    title = "cost per case" if measure.kind == "cost" else bound.title
    style = "plain" if measure.kind == "cost" else "share"
    how = section_name(bound.name) if measure.kind != "cost" or evaluation.costs is not None else COST_SECTION
    if limits is None:
        return Moving(bound.name, title, formula, style=style, how=how, undefined=bound.undefined)
    ends = (tuple(limits.low.tolist()), tuple(limits.high.tolist()))
    methods = limits.method
    method = method_words(methods) if isinstance(methods, str) else tuple(map(method_words, methods))
    return Moving(bound.name, title, formula, *ends, method, style, how, bound.undefined)


def _seen(evaluation: Evaluation, ranking: Ranking, positions: Positions) -> list[Confusion]:
    """The whole evidence at each position, weights and groups kept, the classes in the order of the evaluation."""
    positive, labels = _named(evaluation), evaluation.confusion.labels
    negative = next(label for label in labels if label != positive)
    short = shortened(ranking, positions.thresholds)
    rows = _rows(evaluation, short) if ranking.weighted else None
    return [
        cut_at(short, cut, (negative, positive), rows).with_labels(labels)
        for cut in places_of(short, positions.thresholds).tolist()
    ]


def _rows(evaluation: Evaluation, short: Ranking) -> Ranking | None:
    """How many cases, whatever their weight, stand at each score of a shortened ranking."""
    if evaluation.scores is None:
        return None
    ranked = evaluation.scores.evidence.rows_ranked(_named(evaluation))
    # The shortened ranking keeps the lowest score of each run.
    cut = len(short) - 1 - (np.searchsorted(short.scores[::-1], ranked.scores, side="right") - 1)
    sums = (np.zeros(len(short), dtype=np.int64), np.zeros(len(short), dtype=np.int64))
    for total, counts in zip(sums, (ranked.positives, ranked.negatives), strict=True):
        np.add.at(total, cut, counts.astype(np.int64))
    return Ranking(short.scores, *sums)


def _start(evaluation: Evaluation, positions: Positions, ranking: Ranking) -> str:
    """What the threshold that it starts at has to do with the predicted classes."""
    fits = positions.tp[positions.start], positions.fp[positions.start]
    corners = evaluation.confusion.corners[evaluation.confusion.index(_named(evaluation))]
    if evaluation.threshold is not None:
        return f"It starts at the threshold nearest to {plain(evaluation.threshold)} at which the counts are known."
    if np.allclose(fits, (corners[0], corners[2])):
        return "The predicted classes that were given are those of the threshold it starts at."
    if ranking.joined is not None:
        return "It starts at the threshold whose counts are nearest to those of the predicted classes."
    return "The predicted classes that were given are not those of one threshold; it starts at the nearest."


def _detail(evaluation: Evaluation, positions: Positions, ranking: Ranking, positive: str) -> str:
    sentences = [f"A case is called {positive} when its score is at least the threshold."]
    if positions.left_out:
        what = "distinct scores" if ranking.joined is None else "bins of scores"
        sentences.append(f"{count(len(positions.thresholds))} of {count(len(ranking))} {what} can be chosen.")
    if evaluation.threshold is None or CURRENT not in dict(positions.marks):
        sentences.append(_start(evaluation, positions, ranking))
    if ranking.groups is not None and len(ranking.groups.place) > MOST_GROUPED and not is_quick(evaluation.estimator):
        sentences.append("Limits are left out here: groups would have to be counted anew at every threshold.")
    return " ".join(sentences)
