"""Only counting: from predictions, in any form, to evidence that merges, is saved, and is evaluated later."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from heldout.engines.accumulate import Evidence, checked_threshold
from heldout.engines.counting import counted
from heldout.evidence import Label
from heldout.front.large import Where, counted_elsewhere
from heldout.predictions.source import Asked, Source, gather
from heldout.predictions.table import Missing


def count(
    data: Any = None,
    predicted: Any = None,
    *,
    truth: Any = None,
    score: Any = None,
    threshold: float | None = None,
    weight: Any = None,
    group: Any = None,
    fold: Any = None,
    slices: Any = None,
    positive: Label | None = None,
    labels: Sequence[Label] | None = None,
    missing: Missing = "refuse",
    engine: str | None = None,
    master: str | None = None,
    tolerance: float = 1e-6,
    passes: int = 3,
) -> Evidence:
    """Only count: evidence that merges with +, is saved to a small file, and can be evaluated later.

    Takes what `evaluate` takes. Where not every part shows all classes, or scores speak for one of two, name them with
    `labels` and `positive`, so that parts that were counted apart fit together.

    >>> first, second = count([0, 1], [0, 0]), count([1, 2], [1, 2])
    >>> (first + second).matrix
    array([[1, 0, 0],
           [1, 1, 0],
           [0, 0, 1]])
    """
    roles = {"truth": truth, "predicted": predicted, "weight": weight, "group": group, "fold": fold}
    cut = checked_threshold(threshold, predicted)
    asked = Asked(labels, missing, score, positive, cut, slices)
    return count_with_source(data, roles, asked, Where(engine, master, tolerance, passes))[0]


def count_with_source(data: Any, roles: dict[str, Any], asked: Asked, where: Where) -> tuple[Evidence, Source]:
    """The evidence of predictions in any form, and where they came from."""
    elsewhere = counted_elsewhere(data, roles, asked, where.checked())
    if elsewhere is not None:
        return Evidence.of(elsewhere[0]), elsewhere[1]
    options = {name: value for name, value in asked.options().items() if name != "against_rest"}
    predictions, source = gather(data, roles, score=asked.score, slices=asked.slices, **options)
    return Evidence.of(counted(predictions, pairs=len(predictions.slices) > 1)), source
