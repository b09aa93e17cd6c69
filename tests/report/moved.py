"""Cases with scores, and the explorer evaluated at a position, for the tests of pages."""

from __future__ import annotations

from typing import Any

import numpy as np

from heldout.show.explorer import Explorer, evaluated

COSTS = {("no", "yes"): 1.0, ("yes", "no"): 10.0}


def churn(n: int = 600, seed: int = 1, share: float = 0.3) -> tuple[Any, Any]:
    """True classes and probabilities that tell them apart somewhat; many distinct scores, some ties."""
    rng = np.random.default_rng(seed)
    positive = rng.random(n) < share
    score = 1 / (1 + np.exp(1 - 2 * positive - rng.normal(size=n)))
    return np.where(positive, "yes", "no"), np.round(score, 3)


def names_at(explorer: Explorer, at: int, **knobs: float) -> dict[str, float]:
    """Every name of an explorer at a position, with knobs turned or not."""
    names = {name: values[at] for name, values in explorer.columns} | dict(explorer.constants)
    names |= {knob.name: knobs.get(knob.name, knob.value) for knob in explorer.knobs}
    names["position"] = explorer.positions[at]
    for name, formula in explorer.derived:
        names[name] = evaluated(formula, names)
    return names


def spread(size: int, number: int) -> list[int]:
    """So many places, even over all of them, first and last among them."""
    return np.unique(np.linspace(0, size - 1, number).round().astype(int)).tolist()
