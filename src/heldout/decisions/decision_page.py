"""The page of a chosen threshold: the answer, every measure there, and how it was computed."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from heldout.estimates.track import track_floor
from heldout.measures.catalogue import find
from heldout.show.blocks import Block, Cell, Column, Number, Prose, Range, Section, Span, Table
from heldout.show.numbers import count
from heldout.show.provenance import provenance_section

if TYPE_CHECKING:
    from heldout.decisions.decision import Decision

GIVEN = (
    "These intervals are as if the threshold had been given. That of what was optimised stands above, and reaches "
    "further by the optimism of the choice."
)


def decision_page(decision: Decision) -> list[Block]:
    """What the screen says, and all measures at the threshold."""
    floor = track_floor(decision.estimates)
    rows: list[tuple[Cell, ...]] = [
        (
            find(e.measure).title + (f" ({e.class_})" if e.class_ is not None else ""),
            Number(e.value, e.style, e.digits),
            Range(e.low, e.high, e.style, e.digits),
            None if e.style != "share" or math.isnan(e.value) else Span(e.value, e.low, e.high, floor),
            e.method,
        )
        for e in decision.estimates
    ]
    columns = (
        Column("measure"),
        Column("value", "right"),
        Column(f"{100 * decision.level:g} % interval"),
        Column(""),
        Column("method"),
    )
    facts = (
        ("cases", count(decision.n)),
        ("optimised", decision.by),
        ("level", f"{decision.level:g}"),
        ("seed", str(decision.figures.seed)),
        ("replicates", count(decision.figures.replicates)),
    )
    return [
        *decision.blocks(),
        Section("Every measure at the threshold", (Prose(GIVEN), Table(columns, tuple(rows))), "everything"),
        provenance_section(facts),
    ]
