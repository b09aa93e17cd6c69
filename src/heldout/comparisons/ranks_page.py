"""The page of learners ranked over data sets: their average ranks drawn, with lines through those that are alike."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from heldout.show.blocks import Block, Section
from heldout.show.drawing import Axis, Chart, Dots, Stroke
from heldout.show.fitting import shorten
from heldout.show.numbers import plain
from heldout.show.printable import visible
from heldout.show.provenance import provenance_section

if TYPE_CHECKING:
    from heldout.comparisons.learner_ranks import LearnerRanks

NAMED = 16


def ranks_page(found: LearnerRanks) -> list[Block]:
    """The verdict, the diagram, the tables, and where they come from."""
    title, verdict, *rest = found.blocks()
    facts = (
        ("learners", str(len(found.table.learners))),
        ("data sets", str(found.table.n)),
        ("correction", found.correction or "none"),
        ("level", f"{found.level:g}"),
    )
    diagram = Section("Average ranks", (ranks_drawing(found),), "ranks")
    return [title, verdict, diagram, Section("Tests", tuple(rest), "tests"), provenance_section(facts)]


def ranks_drawing(found: LearnerRanks) -> Chart:
    """A critical difference diagram, one learner to a row: Demšar (2006) draws all of them on one axis."""
    average = found.average_ranks
    ordered = sorted(average, key=average.__getitem__)
    k = len(ordered)
    row = {name: float(k - at) for at, name in enumerate(ordered)}
    strokes = []
    for at, group in enumerate(found.groups):
        # Each group has a lane of its own below the learners.
        lane = -0.35 * at
        ends = (average[group[0]], average[group[-1]])
        strokes.append(Stroke(ends, (lane, lane), "cannot be told apart" if at == 0 else "", "second"))
    dots = Dots(tuple(average[name] for name in ordered), tuple(row[name] for name in ordered))
    names = [shorten(visible(name), 60) for name in ordered]
    said = "; ".join(f"{name} {plain(average[held])}" for name, held in zip(names, ordered, strict=True))
    detail = "1 is the best rank."
    if not math.isnan(found.critical_difference):
        detail += f" Ranks differ that lie {plain(found.critical_difference)} or more apart ({found.how})."
    ticks = tuple((row[held], shorten(name, NAMED)) for name, held in zip(names, ordered, strict=True))
    lowest = min([0.4, *(-0.35 * at - 0.3 for at in range(len(found.groups)))])
    return Chart(
        "Average ranks over the data sets", f"Average ranks: {said}. {found.verdict}",
        Axis("Average rank", 1.0, float(k)), Axis("", lowest, k + 0.6, ticks), tuple(strokes), (), (dots,),
        detail, "wide", None,
        ("place", "average rank"), tuple((float(at + 1), average[name]) for at, name in enumerate(ordered)),
    )  # fmt: skip
