"""A ranking of bins with one more place: a threshold inside a bin at which the counts are known."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from heldout.evidence.ranking import Ranking


def split_at(ranking: Ranking, threshold: float, tp: float, fp: float) -> Ranking | None:
    """The ranking with exact counts at a threshold at which TP and FP were counted.

    It is the ranking itself where the threshold lies inside no bin, and None where weights or groups keep the bin
    from being divided.

    >>> seen = Ranking(np.array([0.5]), np.array([9]), np.array([5]), joined=np.array([True]), ends=np.array([1.0]))
    >>> split_at(seen, 0.7, 6, 1).positives
    array([6, 3])
    """
    least, most, fewest, all_ = ranking.between(threshold)
    if (least, fewest) == (most, all_):
        return ranking
    if ranking.weighted or ranking.groups is not None or ranking.joined is None:
        return None
    at = int(np.searchsorted(-ranking.scores, -threshold, side="right"))
    above = round(tp) - least, round(fp) - fewest
    positives, negatives = ranking.positives.astype(np.int64), ranking.negatives.astype(np.int64)
    inside = positives[at] - above[0], negatives[at] - above[1]
    sides = [np.insert(held, at, part) for held, part in zip((positives, negatives), above, strict=True)]
    for held, part in zip(sides, inside, strict=True):
        held[at + 1] = part
    ends = ranking.ends
    if ends is not None:
        ends = np.insert(ends, at, ends[at])
        ends[at + 1] = threshold
    joined = np.insert(ranking.joined, at, ranking.joined[at])
    return replace(
        ranking,
        scores=np.insert(ranking.scores, at, threshold),
        positives=sides[0],
        negatives=sides[1],
        joined=joined,
        ends=ends,
    )
