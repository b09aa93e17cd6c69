"""Between what measures lie for certain where scores were counted in bins: how that is said, and limits for it."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from heldout.arguments import require
from heldout.engines.score_evidence import CountedScores, ScoreEvidence
from heldout.evidence import Ranking
from heldout.intervals.estimate import CAUTION
from heldout.measures.catalogue import find
from heldout.measures.certified import CERTIFIED, bounds, bounds_of
from heldout.measures.quantity import Bound
from heldout.measures.rest_columns import find_rest_columns
from heldout.threads import share_out

# The areas whose bounds are said; those of a scaled area are the same, scaled.
AREAS = tuple(name for name, measure in CERTIFIED.items() if measure.scaling is None)
# So many columns of scores a thread takes at a time.
COLUMNS = 32
# How the note of scores in bins begins.
BINNED = "scores were counted in"
# From this width on areas may be off in digits that a report shows.
COARSE = 1e-4
# Below this width bounds are apart by the rounding of floats only.
EXACT = 1e-12
CERTAIN = "areas under curves are exact"
# Smaller numbers are written with a power of ten.
LEAST_PLAIN = 1e-3
# The most digits that are written: a float holds no more.
MOST_DIGITS = 15
# What the name of an interval method ends with where its limits hold for every order inside the bins.
BINS = ", bins"


def area_bounds(evidence: ScoreEvidence) -> dict[str, Any]:
    """The bounds of each area, by class where every class has scores; nothing where all distinct scores were kept.

    Over folds an area is a mean, and its bounds are the means of those of the folds.
    """
    if not isinstance(evidence, CountedScores) or evidence.exact:
        return {}
    if not evidence.per_class and evidence.positive is None:
        return {}
    if evidence.per_class and not evidence.parts and not evidence.tally.pairwise:
        columns = find_rest_columns(evidence.tally)
        pairs = {"roc_auc": columns.areas, "average_precision": columns.precisions}
        return {name: dict(zip(evidence.labels, pairs[name].T.tolist(), strict=True)) for name in AREAS}
    tallies = evidence.parts or (evidence.tally,)

    def find_bounds(at: int) -> list[list[float]]:
        rankings = [tally.bins[at].ranking(tally.place(at)) for tally in tallies]
        return [_mean_bounds(rankings, name) for name in AREAS]

    places = range(len(evidence.tally.bins))
    parts = [places[start : start + COLUMNS] for start in places[::COLUMNS]]
    bounds = [pair for made in share_out(lambda part: [find_bounds(at) for at in part], parts) for pair in made]
    if not evidence.per_class:
        return dict(zip(AREAS, bounds[0], strict=True))
    return {
        name: {label: pairs[place] for label, pairs in zip(evidence.labels, bounds, strict=True)}
        for place, name in enumerate(AREAS)
    }


def _mean_bounds(rankings: Sequence[Ranking], name: str) -> list[float]:
    """The means of the bounds in the folds where there is an area."""
    pairs = [_certified(ranking, name) for ranking in rankings]
    known = [(low, high) for low, high in pairs if not math.isnan(low)]
    if not known:
        return [math.nan, math.nan]
    return [sum(pair[side] for pair in known) / len(known) for side in (0, 1)]


def _certified(ranking: Ranking, name: str) -> tuple[float, float]:
    known = bounds_of(find(name), ranking)
    return bounds(ranking, name) if known is None else known


def allowing(
    value: float, limits: tuple[float, float], certain: tuple[float, float], ends: tuple[float, float]
) -> tuple[float, float]:
    """Limits that hold wherever between its bounds the value is; they end where the measure does.

    >>> [round(limit, 3) for limit in allowing(0.5, (0.4, 0.6), (0.45, 0.75), (0.0, 0.8))]
    [0.35, 0.8]
    """
    low, high = limits
    wide = low - max(value - certain[0], 0.0), high + max(certain[1] - value, 0.0)
    # A limit beyond the end of the measure, as some methods have, stays where it is.
    return max(wide[0], min(ends[0], low)), min(wide[1], max(ends[1], high))


def middle_note(bound: Bound, ranking: Ranking) -> str:
    """What measures that no bounds are known of rest on: the middle of bins, and how wide these are."""
    if bound.measure.kind != "calibration" or ranking.joined is None or not ranking.joined.any():
        return ""
    if "widest bin" not in ranking.memo:
        ranking.memo["widest bin"] = _widest_bin(ranking)
    wide, reach = ranking.memo["widest bin"]
    message = f"scores were taken at the middle of bins up to {wide:.2g} wide"
    return f"{CAUTION}{message}" if wide > COARSE * reach else message


def _widest_bin(ranking: Ranking) -> tuple[float, float]:
    """How wide the widest bin is that may hold several scores, and how far all scores reach."""
    tops, joined = require(ranking.tops, "there are no bins"), require(ranking.joined, "there are no bins")
    # The highest bin may have no end.
    first = float(tops[0] if np.isfinite(tops[0]) else ranking.scores[0])
    widths = np.subtract(tops, ranking.scores)
    widths[0] = first - ranking.scores[0]
    return float(widths.max(where=joined, initial=-np.inf)), first - float(ranking.scores[-1])


def bounds_note(evidence: ScoreEvidence) -> str:
    """How far areas can be off for the bins, in one line; empty where they are exact."""
    areas = area_bounds(evidence)
    if not areas or not isinstance(evidence, CountedScores):
        return ""
    widths = {name: _width(pairs) for name, pairs in areas.items()}
    known = {name: width for name, width in widths.items() if not math.isnan(width)}
    if known and max(known.values()) < EXACT:
        # The width that is left comes from rounding in the sums.
        return f"{BINNED} {sum(len(bins) for bins in evidence.tally.bins):,} bins: {CERTAIN}"
    few = " only" if max(known.values(), default=0.0) > COARSE else ""
    message = f"{BINNED}{few} {sum(len(bins) for bins in evidence.tally.bins):,} bins"
    certain = ", ".join(f"{find(name).title} to {_upwards(width)}" for name, width in known.items())
    return f"{message}: {certain.replace(' to ', ' certain to ', 1)}" if known else message


def _width(area: Any) -> float:
    """How wide bounds are; of several classes the widest, nan where no area is defined."""
    pairs = list(area.values()) if isinstance(area, dict) else [area]
    return max((high - low for low, high in pairs if not math.isnan(low)), default=math.nan)


def _upwards(width: float) -> str:
    """A width with one digit, never less than it is.

    >>> _upwards(6.4e-7), _upwards(0.0123), _upwards(0.0)
    ('7e-07', '.02', '0')
    """
    if not width:
        return "0"
    step = 10.0 ** math.floor(math.log10(width))
    rounded = math.ceil(width / step) * step
    return f"{rounded:.0e}" if rounded < LEAST_PLAIN else f"{rounded:.6f}".rstrip("0").replace("0.", ".", 1)


def bounds_words(areas: Mapping[str, Any]) -> str:
    """The bounds of the areas of one class.

    >>> bounds_words({"roc_auc": [0.81234561, 0.81234583], "average_precision": [math.nan, math.nan]})
    'ROC AUC within [.8123456, .8123459]'
    """
    known = {name: pair for name, pair in areas.items() if not isinstance(pair, dict) and not math.isnan(pair[0])}
    if known and all(pair[1] - pair[0] < EXACT for pair in known.values()):
        return CERTAIN
    return ", ".join(f"{find(name).title} within {_range(pair)}" for name, pair in known.items())


def _range(pair: Sequence[float]) -> str:
    """A pair of bounds with digits enough to tell them apart, rounded outwards.

    >>> _range([0.81234561, 0.81234583])
    '[.8123456, .8123459]'
    """
    low, high = pair
    width = high - low
    digits = MOST_DIGITS if width <= 0 else min(max(3, 1 - math.floor(math.log10(width))), MOST_DIGITS)
    step = 10.0**digits
    ends = math.floor(low * step) / step, math.ceil(high * step) / step
    return f"[{', '.join(f'{end:.{digits}f}'.replace('0.', '.', 1) for end in ends)}]"
