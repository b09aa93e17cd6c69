"""The families of promises, in the order of the report, and their cells by name."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from importlib import import_module
from types import ModuleType

from tests.promises.cell import LEVELS, Cell

FAMILIES = (
    "counts",
    "rankings",
    "losses_and_calibration",
    "groups",
    "weights",
    "folds",
    "comparisons",
    "best_of_k",
    "gates",
    "slices",
    "threshold_choice",
    "importance",
    "findings_on_sound_models",
)


@cache
def load_family(name: str) -> ModuleType:
    """The module that declares the cells of a family as CELLS and says in its docstring what they are."""
    return import_module(f"tests.promises.families.{name}")


@cache
def list_cells(family: str, levels: tuple[float, ...] = LEVELS) -> dict[str, Cell]:
    """The cells of a family by their names, which must differ, at some levels; some are for fewer of them."""
    cells: list[Cell] = [
        replace(cell, levels=tuple(level for level in levels if level in cell.levels) or cell.levels)
        for cell in load_family(family).CELLS
    ]
    named = {str(cell): cell for cell in cells}
    if len(named) != len(cells):
        texts = [str(cell) for cell in cells]
        message = f"two cells of {family} have one name: {next(t for t in texts if texts.count(t) > 1)}"
        raise ValueError(message)
    return named
