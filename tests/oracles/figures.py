"""Where the figures of other programs lie, and how they are read."""

from __future__ import annotations

import csv
import json
import math
from pathlib import Path
from typing import Any

DATA = Path(__file__).parent / "data"
WEKA = DATA / "weka"
# Every classifier whose predictions Weka wrote out beside its figures.
WEKA_RUNS = sorted(path.name.removesuffix("_predictions.csv") for path in WEKA.glob("*_predictions.csv"))


def read_json(name: str) -> Any:
    return json.loads((DATA / name).read_text(encoding="utf-8"))


def worked_example(name: str) -> Any:
    return next(example for example in read_json("worked-examples.json")["examples"] if example["id"] == name)


def weka_cases(run: str) -> list[dict[str, str]]:
    """Every prediction of a run: its fold and row, what was true, what Weka predicted, and the probabilities."""
    with (WEKA / f"{run}_predictions.csv").open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def weka_predictions(run: str) -> tuple[list[str], list[str]]:
    """What was true and what Weka predicted."""
    rows = weka_cases(run)
    return [row["actual"] for row in rows], [row["predicted"] for row in rows]


def weka_figures(run: str) -> Any:
    """Weka's figures of the cross-validation."""
    return read_json(f"weka/{run}.json")["cv10_seed1"]


def number(value: float | None) -> float:
    """A figure that may be missing: `null` is the other program's NaN."""
    return math.nan if value is None else value
