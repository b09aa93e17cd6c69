"""Writes docs/measures.md from the catalogue; `make docs` runs it."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING

from heldout.measures.catalogue import CATALOGUE

if TYPE_CHECKING:
    from heldout.measures.declare import Measure

PAGE = Path(__file__).with_name("measures.md")
HEAD = """\
# The measures

Written by `make docs` from the declarations in `src/heldout/measures/`; change those, not this page.
"""
DIRECTIONS = {"higher": "higher is better", "lower": "lower is better", "zero": "zero is best", "none": ""}


def page() -> str:
    """The whole page, one section for each measure in the order of the catalogue."""
    return "\n".join([HEAD, *(_section(measure) for measure in CATALOGUE.values())])


def _section(measure: Measure) -> str:
    facts = {
        "Formula": f"`{measure.formula}`",
        "Symbol": measure.symbol,
        "Range": f"{_bound(measure.low)} to {_bound(measure.high)}",
        "Direction": DIRECTIONS[measure.direction],
        "Undefined": f"when {measure.undefined}" if measure.undefined else "",
        "Averages": "macro, micro, weighted" if measure.averages else "",
        "Also called": ", ".join(f"`{alias}`" for alias in measure.aliases),
        "Reference": measure.reference,
    }
    lines = [f"- {name}: {fact}" for name, fact in facts.items() if fact]
    return "\n".join([f"## {measure.title}", "", measure.summary, "", *lines, ""])


def _bound(value: float) -> str:
    if math.isinf(value):
        return "∞" if value > 0 else "−∞"
    return f"{value:g}"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
