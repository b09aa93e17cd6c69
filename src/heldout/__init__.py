"""heldout judges classifiers: every measure with an honest interval."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from heldout.costs import Costs
    from heldout.decisions.decision import Decision
    from heldout.errors import HeldoutError
    from heldout.estimates.estimate import Estimate
    from heldout.evaluation import Evaluation
    from heldout.evidence import Confusion, Ranking
    from heldout.front.evaluate import count, evaluate
    from heldout.front.thresholds import choose_threshold

__version__ = "0.1.0"

_HOMES = {
    "Confusion": "heldout.evidence",
    "Costs": "heldout.costs",
    "Decision": "heldout.decisions.decision",
    "Estimate": "heldout.estimates.estimate",
    "Evaluation": "heldout.evaluation",
    "HeldoutError": "heldout.errors",
    "Ranking": "heldout.evidence",
    "choose_threshold": "heldout.front.thresholds",
    "count": "heldout.front.evaluate",
    "evaluate": "heldout.front.evaluate",
}

__all__ = [
    "Confusion",
    "Costs",
    "Decision",
    "Estimate",
    "Evaluation",
    "HeldoutError",
    "Ranking",
    "choose_threshold",
    "count",
    "evaluate",
]


def __getattr__(name: str) -> Any:
    """Import a public name when it is first used, so that `import heldout` costs nothing."""
    if name not in _HOMES:
        message = f"module 'heldout' has no attribute {name!r}"
        raise AttributeError(message)
    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return sorted([*__all__, "__version__"])
