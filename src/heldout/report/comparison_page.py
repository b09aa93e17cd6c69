"""The page of a comparison: the verdict, every difference with its interval drawn, the tests, and ROC curves."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Protocol

from heldout.comparisons.roc_pair import RocComparison
from heldout.curves.drawn import drawn_together
from heldout.errors import HeldoutError
from heldout.findings.review import Review
from heldout.findings.shown import findings_section
from heldout.report.comparison import ComparisonView, PairView, comparison_blocks, named
from heldout.report.interval_chart import Mark, interval_chart
from heldout.show.blocks import Block, Note, Prose, Section, Table, Title
from heldout.show.drawing import Chart
from heldout.show.provenance import provenance_section

# Charts of differences hold measures that share a scale; as many differences as this in one.
SHOWN = 40


class ComparisonPage(ComparisonView, Protocol):
    """A comparison as its page sees it."""

    @property
    def seed(self) -> int:
        """The seed of whatever was drawn."""

    @property
    def curves(self) -> object | None:
        """Where ROC curves come from."""

    def roc(self, a: str | None = None, b: str | None = None) -> RocComparison:
        """ROC curve against ROC curve."""


def comparison_page(view: ComparisonPage, review: Review | None) -> list[Block]:
    """Verdict, findings, differences, tests, curves, notes and provenance."""
    every = comparison_blocks(view, full=True)
    title = [block for block in every if isinstance(block, Title)][:1]
    prose = [block for block in every if isinstance(block, Prose) and block.label != "Findings"]
    tables = [block for block in every if isinstance(block, Table)]
    notes = [block for block in every if isinstance(block, Note) and not block.code]
    blocks: list[Block] = [*title, *prose]
    blocks += [] if review is None else [findings_section(review)]
    blocks.append(Section("Differences", (*_charts(view), *tables[:1]), "differences"))
    blocks += _curves(view)
    if tables[1:]:
        blocks.append(Section("Tests", tuple(tables[1:]), "tests", folded=True))
    if notes:
        blocks.append(Section("Notes", tuple(notes), "notes"))
    facts = [
        ("classifiers", ", ".join(view.names)),
        ("compared on", view.setting),
        ("procedure", view.reason),
        ("correction", view.correction or "none"),
        ("level", f"{view.level:g}"),
        ("seed", str(view.seed)),
    ]
    return [*blocks, provenance_section(facts)]


def _charts(view: ComparisonPage) -> list[Chart]:
    """The differences as dots around zero: all measures of one pair, or all pairs by each measure."""
    groups: dict[str, list[PairView]] = {}
    many = len(view.names) > 2
    for pair in view.pairs:
        groups.setdefault(named(pair) if many else f"{pair.a} − {pair.b}", []).append(pair)
    made = []
    for title, held in groups.items():
        marks = _marks(held, many=many)
        level = f"Dots: the difference, bars: its {100 * view.level:g} % interval. Zero is no difference."
        chart = interval_chart(
            marks, f"Differences: {title}", "difference", lines=[("no difference", 0.0)], detail=level
        )
        made += [] if chart is None else [chart]
    return made


def _marks(held: Sequence[PairView], *, many: bool) -> list[Mark]:
    kept = [pair for pair in held if many or abs(pair.tested.difference) <= 1 or math.isnan(pair.tested.difference)]
    return [
        Mark(f"{p.a} − {p.b}" if many else named(p), p.tested.difference, p.tested.low, p.tested.high)
        for p in kept[:SHOWN]
    ]


def _curves(view: ComparisonPage) -> list[Block]:
    """The ROC curves of the first two classifiers, where their scores are there, and the verdict on them."""
    if view.curves is None or len(view.names) < 2:
        return []
    try:
        found = view.roc()
    except HeldoutError:
        return []
    if found.undefined:
        return []
    chart = drawn_together(found.curves, found.names)
    return [Section("ROC curves", (Prose(found.verdict), chart), "curves")]
