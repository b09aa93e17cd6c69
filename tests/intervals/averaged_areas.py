"""Single figures of the averaged areas of several classes, as the tests ask for them."""

from __future__ import annotations

from typing import Any

import numpy as np

from heldout.intervals.multiclass_areas import AreaAverage, multiclass_areas


def multiclass_auc(scores: Any, codes: Any, k: int, average: AreaAverage = "macro", *, weight: Any = None) -> float:
    """The value of one average."""
    (found,) = multiclass_areas(scores, codes, k, (average,), weight=weight)
    return found.value


def multiclass_auc_limits(
    scores: Any, codes: Any, k: int, average: AreaAverage = "macro", level: float = 0.95, **options: Any
) -> tuple[float, float]:
    """The limits of one average."""
    (found,) = multiclass_areas(scores, codes, k, (average,), level, **options)
    return found.low, found.high


def ovr_auc(scores: Any, codes: Any, k: int, *, weight: Any = None) -> np.ndarray:
    """The area of each class against the rest, as that of two classes."""
    areas = np.full(k, np.nan)
    for class_ in np.unique(codes):
        own = np.column_stack([-scores[:, class_], scores[:, class_]])
        areas[class_] = multiclass_auc(own, (codes == class_).astype(np.int64), 2, weight=weight)
    return areas
