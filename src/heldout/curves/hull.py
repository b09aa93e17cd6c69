"""The convex hull of a ROC curve: the operating points that are best for some costs and prevalence."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from heldout.curves.curve import ABSENT, Curve


def hull_places(fp: NDArray[Any], tp: NDArray[Any]) -> NDArray[np.int64]:
    """The places of the vertices of the upper hull of points in order of fp and tp; exact for whole counts.

    >>> hull_places(np.array([0, 0, 1, 2, 4]), np.array([0, 2, 2, 4, 4]))
    array([0, 1, 3, 4])
    """
    kept = np.arange(len(fp))
    while len(kept) > 2:
        below = _below(fp[kept], tp[kept])
        # A point on or under a chord is no vertex, so all of them may go at once.
        kept = kept[~below]
        if below.sum() * 20 < len(kept):
            break
    return _chain(fp, tp, kept)


def _below(fp: NDArray[Any], tp: NDArray[Any]) -> NDArray[np.bool_]:
    across, up = np.diff(fp), np.diff(tp)
    inner = across[:-1] * up[1:] - up[:-1] * across[1:] >= 0
    return np.concatenate([[False], inner, [False]])


def _chain(fp: NDArray[Any], tp: NDArray[Any], kept: NDArray[np.int64]) -> NDArray[np.int64]:
    """Andrew's monotone chain, in Python's numbers: whole counts have no rounding and no overflow."""
    xs, ys = fp[kept].tolist(), tp[kept].tolist()
    stack: list[int] = []
    for at in range(len(xs)):
        while len(stack) > 1:
            one, two = stack[-2], stack[-1]
            if (xs[two] - xs[one]) * (ys[at] - ys[one]) - (ys[two] - ys[one]) * (xs[at] - xs[one]) < 0:
                break
            stack.pop()
        stack.append(at)
    return kept[np.array(stack, dtype=np.int64)]


def roc_hull(curve: Curve) -> Curve:
    """The hull of a ROC curve, with its own area."""
    if curve.undefined:
        return curve
    hull = curve.taken(hull_places(curve.fp, curve.tp))
    return replace(
        hull,
        kind="roc_hull",
        title="Convex hull of the ROC curve",
        band=None,
        low=ABSENT,
        high=ABSENT,
        area=float(np.trapezoid(hull.y, hull.x)),
        area_name="area under the hull",
        notes=("The hull is chosen on these cases, and its area is optimistic for others.",),
    )
