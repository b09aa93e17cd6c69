"""The laboratory: data drawn from known distributions, where the truth is known, and experiments that show it."""

from __future__ import annotations

import sys
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from heldout.lab.decisions import best_of_k, cost_accuracy, double_dipping, imbalance
    from heldout.lab.demonstration import Demonstration
    from heldout.lab.error_estimates import bootstrap_632, fold_average, learning_curve, optimism, sample_size
    from heldout.lab.experiment import Experiment, find_experiments
    from heldout.lab.intervals_and_tests import coverage, power, type_one_error
    from heldout.lab.worlds import Checkers, Gaussians, Noise, TrueError, World

_HOMES = {
    "Checkers": "worlds",
    "Demonstration": "demonstration",
    "Experiment": "experiment",
    "Gaussians": "worlds",
    "Noise": "worlds",
    "TrueError": "worlds",
    "World": "worlds",
    "best_of_k": "decisions",
    "bootstrap_632": "error_estimates",
    "cost_accuracy": "decisions",
    "coverage": "intervals_and_tests",
    "double_dipping": "decisions",
    "find_experiments": "experiment",
    "fold_average": "error_estimates",
    "imbalance": "decisions",
    "learning_curve": "error_estimates",
    "optimism": "error_estimates",
    "power": "intervals_and_tests",
    "sample_size": "error_estimates",
    "type_one_error": "intervals_and_tests",
}

__all__ = [
    "Checkers",
    "Demonstration",
    "Experiment",
    "Gaussians",
    "Noise",
    "TrueError",
    "World",
    "best_of_k",
    "bootstrap_632",
    "cost_accuracy",
    "coverage",
    "double_dipping",
    "find_experiments",
    "fold_average",
    "imbalance",
    "learning_curve",
    "optimism",
    "power",
    "sample_size",
    "type_one_error",
]


def __getattr__(name: str) -> Any:
    """Import a name when it is first used, so that importing the laboratory costs nothing."""
    if name == "worlds":
        return import_module("heldout.lab.worlds")
    if name not in _HOMES:
        raise AttributeError(f"module 'heldout.lab' has no attribute {name!r}", name=name, obj=sys.modules[__name__])
    return getattr(import_module(f"heldout.lab.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return sorted(__all__)
