"""The threshold that a reader moves: exact counts at every position, every figure with its limits, and costs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from heldout.arrays import Floats
from heldout.curves.coarse import places_of, shortened
from heldout.estimates.fold_counts import FoldEstimator
from heldout.evidence import Confusion, Label, Ranking
from heldout.evidence.cut import cut_at
from heldout.evidence.split import split_at
from heldout.measures.catalogue import find
from heldout.measures.moved_names import (
    COST_ALARM,
    COST_MISS,
    PREVALENCE,
    RAW_FP,
    RAW_NEGATIVES,
    RAW_POSITIVES,
    RAW_TP,
    SEEN_PREVALENCE,
    N,
)
from heldout.measures.quantity import Bound
from heldout.measures.traced import cost_per_case, of_two_classes
from heldout.report.explorer_how import COST_SECTION, NET, NET_SECTION, UNIT_COSTS
from heldout.report.explorer_limits import Limits, drawn_places, one_by_one, quick, together
from heldout.report.how import method_words, section_name
from heldout.report.page_view import PageView
from heldout.report.positions import CURRENT, Positions, positions
from heldout.show.explorer import Explorer, Expression, Knob, Moving
from heldout.show.fitting import shorten
from heldout.show.numbers import count, number, plain
from heldout.show.printable import visible

# So many positions are kept; fewer where the limits at each take longer, so that all of them take about a second.
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


def why_none(view: PageView) -> str:
    """Why there is no threshold to move, or nothing."""
    if view.scores is None:
        return "no scores were given, so there is no threshold to move"
    if view.positive is None or view.confusion.n_classes != 2 or view.scores.evidence.per_class:
        return "a threshold tells two classes apart, and there are several, each with its own score"
    if isinstance(view.estimator, FoldEstimator):
        return "the predictions come from several models, whose scores are not on one scale: no one threshold fits all"
    ranking = view.ranking(view.positive)
    if not ranking.n_positive or not ranking.n_negative:
        return "only one of the two classes has cases"
    return ""


def threshold_explorer(view: PageView) -> Explorer | None:
    """The explorer of an evaluation of two classes with one score per case; nothing where `why_none` says why."""
    if why_none(view) or view.positive is None or view.scores is None:
        return None
    place = view.confusion.index(view.positive)
    ranking, current = _at_current(view, place)
    costs = np.array(UNIT_COSTS) if view.costs is None else view.costs
    found, limits = _figures(view, ranking, current, place, costs)
    names = tuple(shorten(visible(str(view.confusion.labels[at])), NAMED) for at in (place, 1 - place))
    prevalence = ranking.n_positive / ranking.n
    columns = {RAW_TP: found.tp, RAW_FP: found.fp}
    return Explorer(
        "Threshold",
        tuple(found.thresholds.tolist()),
        found.start,
        tuple((name, tuple(values.tolist())) for name, values in columns.items()),
        (
            (RAW_POSITIVES, float(ranking.n_positive)),
            (RAW_NEGATIVES, float(ranking.n_negative)),
            (SEEN_PREVALENCE, prevalence),
        ),
        DERIVED,
        _knobs(prevalence, costs, place, given=view.costs is not None, name=names[0]),
        limits,
        tuple(f"truth {name}" for name in names),
        tuple(f"predicted {name}" for name in names),
        (("tp", "fn"), ("fp", "tn")),
        (PREVALENCE,),
        CHANGED,
        found.marks,
        found.left_out,
        _detail(view, found, ranking, names[0]),
        f"{100 * view.level:g} % interval",
    )


def _knobs(prevalence: float, costs: Any, place: int, *, given: bool, name: str) -> tuple[Knob, ...]:
    said = "as given" if given else "none were given"
    miss, alarm = float(costs[place, 1 - place]), float(costs[1 - place, place])
    return (
        Knob(PREVALENCE, f"Share of {name}", prevalence, 0.0, 1.0, f"in these cases {number(prevalence)}"),
        Knob(COST_MISS, "Cost of a miss", miss, 0.0, max(miss, MOST_COST), said),
        Knob(COST_ALARM, "Cost of a false alarm", alarm, 0.0, max(alarm, MOST_COST), said),
    )


def _figures(
    view: PageView, ranking: Ranking, current: float | None, place: int, costs: Any
) -> tuple[Positions, tuple[Moving, ...]]:
    bounds = [*(find(name) for name in FIGURES), find("expected_cost", costs=costs)]
    right = costs[place, place], costs[1 - place, 1 - place]
    extra = max(float(costs[place, 1 - place] - right[0]), 0.0), max(float(costs[1 - place, place] - right[1]), 0.0)
    fast = quick(view.estimator)

    def at_most(most: int) -> Positions:
        corners = view.confusion.corners[place]
        return positions(ranking, most, current=current, near=(corners[0], corners[2]), costs=extra)

    found = at_most(MOST if fast else MOST_SLOW)
    corners = _corners(found, ranking)
    if fast and len(ranking) > MOST and len(drawn_places(corners)) > MOST_DRAWN:
        found = at_most(MOST_DRAWN)
        corners = _corners(found, ranking)
    limits: Sequence[Limits | None]
    if fast:
        limits = together(view.estimator, place, bounds, corners)
    elif ranking.groups is not None and len(ranking.groups.place) > MOST_GROUPED:
        limits = [None] * len(bounds)
    else:
        limits = one_by_one(view.estimator, _named(view), bounds, _seen(view, ranking, found))
    moving = [_moving(view, bound, made, place, costs) for bound, made in zip(bounds, limits, strict=True)]
    if view.scores is not None and view.scores.evidence.probabilities is not None:
        why = "at a threshold of 1 a false alarm would weigh infinitely much"
        moving.append(Moving("net_benefit", "net benefit", NET, style="plain", how=NET_SECTION, undefined=why))
    return found, tuple(moving)


def _at_current(view: PageView, place: int) -> tuple[Ranking, float | None]:
    """The ranking and the threshold of the predictions.

    Where it falls into a bin of scores the bin is divided there: how many cases reach it was counted. If it cannot be
    divided the threshold is left out, so that the counts at every position are exact.
    """
    ranking = view.ranking(view.positive)
    if view.threshold is None or view.scores is None:
        return ranking, view.threshold
    current = view.threshold
    tp, _, fp, _ = view.confusion.corners[place].tolist()
    divided = split_at(ranking, current, tp, fp)
    return (ranking, None) if divided is None else (divided, current)


def _named(view: PageView) -> Label:
    if view.positive is None:
        message = "there is no positive class"
        raise TypeError(message)
    return view.positive


def _corners(found: Positions, ranking: Ranking) -> Floats:
    held = (found.tp, ranking.n_positive - found.tp, found.fp, ranking.n_negative - found.fp)
    return np.stack(held, axis=1).astype(np.float64)


def _moving(view: PageView, bound: Bound, limits: Limits | None, place: int, costs: Any) -> Moving:
    measure = bound.measure
    formula = cost_per_case(place, costs) if measure.kind == "cost" else of_two_classes(bound)
    title = "cost per case" if measure.kind == "cost" else bound.title
    style = "plain" if measure.kind == "cost" else "share"
    how = section_name(bound.name) if measure.kind != "cost" or view.costs is not None else COST_SECTION
    if limits is None:
        return Moving(bound.name, title, formula, style=style, how=how, undefined=bound.undefined)
    ends = (tuple(limits.low.tolist()), tuple(limits.high.tolist()))
    given = limits.method
    method = method_words(given) if isinstance(given, str) else tuple(map(method_words, given))
    return Moving(bound.name, title, formula, *ends, method, style, how, bound.undefined)


def _seen(view: PageView, ranking: Ranking, found: Positions) -> list[Confusion]:
    """The whole evidence at each position, weights and groups kept, the classes in the order of the evaluation."""
    positive, labels = _named(view), view.confusion.labels
    negative = next(label for label in labels if label != positive)
    short = shortened(ranking, found.thresholds)
    rows = _rows(view, short) if ranking.weighted else None
    return [
        cut_at(short, place, (negative, positive), rows).with_labels(labels)
        for place in places_of(short, found.thresholds).tolist()
    ]


def _rows(view: PageView, short: Ranking) -> Ranking | None:
    """How many cases, whatever their weight, stand at each score of a shortened ranking."""
    if view.scores is None:
        return None
    ranked = view.scores.evidence.rows_ranked(_named(view))
    # The shortened ranking keeps the lowest score of each run.
    place = len(short) - 1 - (np.searchsorted(short.scores[::-1], ranked.scores, side="right") - 1)
    sums = (np.zeros(len(short), dtype=np.int64), np.zeros(len(short), dtype=np.int64))
    for total, held in zip(sums, (ranked.positives, ranked.negatives), strict=True):
        np.add.at(total, place, held.astype(np.int64))
    return Ranking(short.scores, *sums)


def _start(view: PageView, found: Positions, ranking: Ranking) -> str:
    """What the threshold that it starts at has to do with the predicted classes."""
    fits = found.tp[found.start], found.fp[found.start]
    corners = view.confusion.corners[view.confusion.index(_named(view))]
    if view.threshold is not None:
        return f"It starts at the threshold nearest to {plain(view.threshold)} at which the counts are known."
    if np.allclose(fits, (corners[0], corners[2])):
        return "The predicted classes that were given are those of the threshold it starts at."
    if ranking.joined is not None:
        return "It starts at the threshold whose counts are nearest to those of the predicted classes."
    return "The predicted classes that were given are not those of one threshold; it starts at the nearest."


def _detail(view: PageView, found: Positions, ranking: Ranking, positive: str) -> str:
    said = [f"A case is called {positive} when its score is at least the threshold."]
    if found.left_out:
        what = "distinct scores" if ranking.joined is None else "bins of scores"
        said.append(f"{count(len(found.thresholds))} of {count(len(ranking))} {what} can be chosen.")
    if view.threshold is None or CURRENT not in dict(found.marks):
        said.append(_start(view, found, ranking))
    if ranking.groups is not None and len(ranking.groups.place) > MOST_GROUPED and not quick(view.estimator):
        said.append("Limits are left out here: groups would have to be counted anew at every threshold.")
    return " ".join(said)
