"""Measures of the scores of several classes, from the areas between pairs of them."""

from __future__ import annotations

from typing import Any

import numpy as np

from heldout.measures.declare import Measure, measure


@measure(
    symbol="M",
    aliases=("hand_till", "ovo_auc", "multiclass_auc"),
    kind="ranking",
    scope="pairs",
    undefined="fewer than two classes have cases",
    reference="Hand & Till (2001), A simple generalisation of the area under the ROC curve for multiple class problems",
    formula="mean over ordered pairs of classes i, j of P(score i of a case of i > score i of a case of j)",
)
def hand_till_auc(areas: Any) -> tuple[Any, Any]:
    """Mean over all pairs of classes of the area between the two: .5 is guessing."""
    apart = ~np.eye(len(areas), dtype=bool) & ~np.isnan(areas)
    return float(areas[apart].sum()), float(apart.sum())


MEASURES: tuple[Measure, ...] = (hand_till_auc,)
