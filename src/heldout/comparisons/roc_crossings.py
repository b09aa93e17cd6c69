"""Where one ROC curve lies above another, and where the two cross.

A curve may rise straight up, so it is no function of the false positive rate. Along u = FPR + TPR it is: every line of
equal u meets a rising curve once, and the curve whose TPR − FPR is larger there is the better one. So the crossings of
two curves are the changes of sign of a difference that is linear between the points of both, found exactly.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

import numpy as np

from heldout.arrays import Floats

Path = tuple[Floats, Floats]
Side = Literal["a", "b", ""]

# Rates are counts over counts: what differs by less than this is the same.
HAIR = 1e-12


@dataclass(frozen=True, slots=True)
class Stretch:
    """A part of two curves on which one is above the other; `better` is empty where they are one.

    It runs from the point (`fpr_low`, `tpr_low`) to (`fpr_high`, `tpr_high`), which both curves pass through.
    """

    better: Side
    fpr_low: float
    tpr_low: float
    fpr_high: float
    tpr_high: float


@dataclass(frozen=True, slots=True)
class Crossing:
    """A point at which the better curve changes: `before` is the better at smaller rates, `after` at larger ones."""

    fpr: float
    tpr: float
    before: Side
    after: Side


def stretches(a: Path, b: Path) -> tuple[Stretch, ...]:
    """The parts on which A or B is above, or both are one, from (0, 0) to (1, 1).

    A path is the false and the true positive rates of a curve's corners.

    >>> a = np.array([0.0, 0.0, 0.5, 1.0]), np.array([0.0, 0.5, 0.75, 1.0])
    >>> b = np.array([0.0, 0.25, 1.0]), np.array([0.0, 1.0, 1.0])
    >>> [(part.better, round(part.fpr_high, 3)) for part in stretches(a, b)]
    [('a', 0.143), ('b', 1.0)]
    """
    along, height, gap = _differences(a, b)
    signs = np.where(np.abs(gap) <= HAIR, 0, np.sign(gap)).astype(np.int64)
    # Between two corners the sign is that of whichever end is not 0.
    parts = np.where(signs[:-1] != 0, signs[:-1], signs[1:])
    starts = np.flatnonzero(np.diff(parts, prepend=2))
    ends = np.append(starts[1:], len(parts))
    names: dict[int, Side] = {1: "a", -1: "b", 0: ""}
    fpr, tpr = (along - height) / 2, (along + height) / 2
    return tuple(
        Stretch(names[int(parts[first])], *(float(at[place]) for place in (first, last) for at in (fpr, tpr)))
        for first, last in zip(starts, ends, strict=True)
    )


def crossings(parts: tuple[Stretch, ...]) -> tuple[Crossing, ...]:
    """The points at which the better curve changes; where they first meet, if they then run along each other.

    >>> crossings((Stretch("a", 0, 0, 0.2, 0.6), Stretch("", 0.2, 0.6, 0.3, 0.7), Stretch("b", 0.3, 0.7, 1, 1)))
    (Crossing(fpr=0.2, tpr=0.6, before='a', after='b'),)
    """
    apart = [part for part in parts if part.better]
    return tuple(
        Crossing(one.fpr_high, one.tpr_high, one.better, two.better)
        for one, two in pairwise(apart)
        if one.better != two.better
    )


def _differences(a: Path, b: Path) -> tuple[Floats, Floats, Floats]:
    """At every corner of either curve, and where they cross between corners: u, A's TPR − FPR, and A's less B's."""
    (u_a, v_a), (u_b, v_b) = ((fpr + tpr, tpr - fpr) for fpr, tpr in (a, b))
    along = np.union1d(u_a, u_b)
    height = np.interp(along, u_a, v_a)
    gap = height - np.interp(along, u_b, v_b)
    before, after = gap[:-1], gap[1:]
    turns = np.flatnonzero((before * after < 0) & (np.minimum(np.abs(before), np.abs(after)) > HAIR))
    share = before[turns] / (before[turns] - after[turns])
    between = along[turns] + share * (along[turns + 1] - along[turns])
    middle = height[turns] + share * (height[turns + 1] - height[turns])
    return (
        np.insert(along, turns + 1, between),
        np.insert(height, turns + 1, middle),
        np.insert(gap, turns + 1, 0.0),
    )
