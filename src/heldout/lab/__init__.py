"""The laboratory: data drawn from known distributions, where the true error is known."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from heldout.lab.experiments import (
        EstimatorBias,
        IntervalCoverage,
        SamplingSpread,
        TrainingOptimism,
        coverage,
        estimators,
        optimism,
        spread,
    )
    from heldout.lab.worlds import Checkers, Gaussians, Noise, TrueError, World

_HOMES = {
    "Checkers": "worlds",
    "EstimatorBias": "experiments",
    "Gaussians": "worlds",
    "IntervalCoverage": "experiments",
    "Noise": "worlds",
    "SamplingSpread": "experiments",
    "TrainingOptimism": "experiments",
    "TrueError": "worlds",
    "World": "worlds",
    "coverage": "experiments",
    "estimators": "experiments",
    "optimism": "experiments",
    "spread": "experiments",
}

__all__ = [
    "Checkers",
    "EstimatorBias",
    "Gaussians",
    "IntervalCoverage",
    "Noise",
    "SamplingSpread",
    "TrainingOptimism",
    "TrueError",
    "World",
    "coverage",
    "estimators",
    "optimism",
    "spread",
]


def __getattr__(name: str) -> Any:
    """Import a name when it is first used, so that importing the laboratory costs nothing."""
    if name == "worlds":
        return import_module("heldout.lab.worlds")
    if name not in _HOMES:
        raise AttributeError(f"module 'heldout.lab' has no attribute {name!r}")
    return getattr(import_module(f"heldout.lab.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return sorted(__all__)
