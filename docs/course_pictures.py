"""Writes the pictures of the course from the data that it uses; `make docs` runs it."""

from __future__ import annotations

from pathlib import Path

import heldout
from heldout.curves import Curve

ROOT = Path(__file__).parents[1]
FOLDER = ROOT / "docs" / "course" / "pictures"
# Three positives and five negatives with their scores, the example of chapter 2.
EIGHT = {"P": (0.8, 0.6, 0.2), "N": (0.1, 0.9, 0.7, 0.6, 0.5)}


def draw() -> dict[str, Curve]:
    """Every picture by the name of its file."""
    small = [(label, score) for label, scores in EIGHT.items() for score in scores]
    eight = heldout.evaluate([label for label, _ in small], score=[score for _, score in small], positive="P")
    # As of one model: curves of several models have no common threshold.
    women = heldout.evaluate(ROOT / "examples" / "diabetes.csv", positive="tested_positive", fold="none")
    return {
        "roc-eight.svg": eight.curve("roc"),
        "roc.svg": women.curve("roc"),
        "precision-recall.svg": women.curve("precision_recall"),
        "reliability.svg": women.curve("reliability"),
        "decision.svg": women.curve("decision"),
    }


def write(folder: Path) -> list[Path]:
    """Write all pictures into a folder."""
    folder.mkdir(exist_ok=True)
    return [curve.write(folder / name) for name, curve in draw().items()]


if __name__ == "__main__":
    write(FOLDER)
