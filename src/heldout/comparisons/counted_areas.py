"""DeLong's test of areas from sums over the cases, without the cases themselves.

A placement depends on the bin of its score only, so the variance of a difference of areas is a sum over cases that any
engine can make. Where bins hold several scores, the placements are known up to a bound: by the triangle inequality the
standard error is at most what is seen plus that bound, and the test and the interval are made with the most that it
can be, so that they never claim more than the rows would.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from heldout.comparisons.delong_tests import Areas, Influence, Interval, Seen, paired_areas
from heldout.comparisons.tested import Tested
from heldout.evidence import Ranking
from heldout.evidence.joint_scores import Duel, JointScores


def counted_areas(joint: JointScores) -> Areas:
    """The areas of all models with their covariance matrix."""
    if joint.groups is not None:
        found = _grouped(joint)
        return Areas(found.values, found.covariance(), *found.sizes, n=joint.n)
    m = len(joint.placed)
    own = [_variance(joint, *placed.squares) for placed in joint.placed]
    covariance = np.diag(own)
    for one in range(m):
        for two in range(one + 1, m):
            apart = _variance(joint, joint.up[one, two], joint.down[one, two])
            covariance[one, two] = covariance[two, one] = (own[one] + own[two] - apart) / 2
    values = np.array([placed.area for placed in joint.placed])
    return Areas(values, covariance, float(joint.positives), float(joint.negatives), joint.n)


def delong_counted(
    joint: JointScores,
    pair: Duel,
    ranking: Callable[[int], Ranking],
    *,
    level: float = 0.95,
    interval: Interval = "t",
) -> Tested:
    """The area of the one less that of the other on the same cases, as `delong_paired` tests it; pairs in order."""
    one, two = pair
    sides = joint.placed[one], joint.placed[two]
    exact = sides[0].exact and sides[1].exact
    unseen = [sides[0].unseen[place] + sides[1].unseen[place] for place in (0, 1)]
    variance = _grouped_most(joint, pair, unseen) if joint.groups is not None else _most(joint, pair, unseen)
    units = "cases" if joint.groups is None else "groups"
    alike = Seen(ranking, lambda *_: exact and not joint.moved[pair], units)
    found = paired_areas(counted_areas(joint), pair, variance, alike, level=level, interval=interval)
    return found if exact or math.isnan(found.p) else allowing(found, sides[0].slack + sides[1].slack)


def allowing(found: Tested, slack: float) -> Tested:
    """The same with the interval and the p-value that hold wherever within the slack the difference is."""
    size = abs(found.difference)
    nearest = max(size - slack, 0.0) / size if size else 0.0
    near = abs(found.statistic) * nearest
    p = found.p
    if found.statistic and math.isnan(found.df):
        p = math.erfc(near / math.sqrt(2))
    elif found.statistic:
        from scipy.special import stdtr

        p = min(2 * float(stdtr(found.df, -near)), 1.0)
    said = f"the areas come from bins of scores, and their difference is known to ±{slack:.1g}: p and interval allow it"
    return replace(
        found,
        low=max(found.low - slack, -1.0),
        high=min(found.high + slack, 1.0),
        p=p,
        note="; ".join(filter(None, (found.note, said))),
    )


def _most(joint: JointScores, pair: Duel, unseen: Sequence[float]) -> float:
    """The largest variance of the difference that goes with what was seen; that itself where nothing is unseen."""
    seen = joint.up[pair], joint.down[pair]
    if not any(unseen):
        return _variance(joint, *seen)
    return _variance(joint, *((math.sqrt(part) + more) ** 2 for part, more in zip(seen, unseen, strict=True)))


def _grouped(joint: JointScores) -> Influence:
    groups = joint.groups
    if groups is None:
        message = "there are no groups"
        raise TypeError(message)
    p, q = max(joint.positives, 1), max(joint.negatives, 1)
    values = np.array([placed.area for placed in joint.placed])
    sizes = float(groups.sizes[0]), float(groups.sizes[1])
    return Influence(values, groups.up / p, groups.down / q, sizes, len(groups.n))


def _grouped_most(joint: JointScores, pair: Duel, unseen: Sequence[float]) -> float:
    """The same for groups: the form of Obuchowski's variance is never negative, so its root obeys the triangle too."""
    found = _grouped(joint)
    contrast = np.zeros((1, len(joint.placed)))
    contrast[0, list(pair)] = 1.0, -1.0
    variance = float(found.covariance(contrast)[0, 0])
    if not any(unseen) or math.isnan(variance) or joint.groups is None:
        return variance
    # A sum over the cases of a group is off by at most the root of their number times the length of the vector.
    largest = math.sqrt(int(joint.groups.n.max()))
    more = sum(
        math.sqrt(size / (size - 1)) * largest * part / total
        for size, part, total in zip(found.sizes, unseen, (joint.positives, joint.negatives), strict=True)
    )
    return (math.sqrt(max(variance, 0.0)) + more) ** 2


def _variance(joint: JointScores, up: float, down: float) -> float:
    p, q = joint.positives, joint.negatives
    return math.nan if min(p, q) < 2 else up / (p * (p - 1)) + down / (q * (q - 1))
