"""What was asked in every cell and what came of it, as measured now or as published before; the bands that judge it."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from statistics import NormalDist
from typing import Any

from tests.promises.cell import Kind, Outcome, Tally
from tests.promises.register import FAMILIES, list_cells
from tests.promises.store import Measured

from heldout.findings.review import RULE_CATALOGUE

# What a 95 % interval promises; at other levels, what a standard error that is wrong by the same factor would cover.
BAND, FLOOR = (0.93, 0.985), 0.90
# So many of ten intervals are to be in their band for a family to keep its promise.
NEARLY_ALL = 0.9
# With fewer draws than these nothing can be said: the Monte Carlo error of a coverage of .95 is .011.
ENOUGH = 400
# How much more often than its level says a test may reject a true null, a gate pass falsely, a rule raise an alarm.
SLACK: dict[Kind, float] = {"test": 0.015, "gate": 0.01, "finding": 0.01}
# What the decision for a threshold warns of has no code.
WARNING = "warning"
# Rules that say how far intervals and tests can be trusted; those on costs or thresholds speak of other things.
TRUST_RULES = ("rules_certainty", "rules_classes", "rules_folds", "rules_comparison")
# Rules beside these that say how large something is, or what follows from it: H014 and H054 say that an interval is
# wide, not that it may miss.
OTHER_RULES = {"H013", "H014", "H021", "H035", "H051", "H053", "H054", "H056", "H057", "H058", "H061"}
# Rules whose sentence is a count, so that it is true wherever they fire: all cases are of one class, and a class has
# fewer cases than there are folds.
COUNTING_RULES = {"H019", "H037"}
Measurements = dict[tuple[str, str], Measured]


@cache
def scale_coverage(covered: float, level: float) -> float:
    """The coverage at a level that goes with a coverage at .95.

    >>> scale_coverage(0.93, 0.95), round(scale_coverage(0.93, 0.8), 3), round(scale_coverage(0.93, 0.99), 3)
    (0.93, 0.764, 0.983)
    """
    if level == 0.95:
        return covered
    normal = NormalDist()
    factor = normal.inv_cdf((1 + covered) / 2) / normal.inv_cdf(0.975)
    return 2 * normal.cdf(factor * normal.inv_cdf((1 + level) / 2)) - 1


@dataclass(frozen=True, slots=True)
class Row:
    """One thing that was asked in one cell, with what came of it and the findings that fired there."""

    family: str
    cell: str
    kind: Kind
    what: str
    level: float
    outcome: Outcome
    findings: tuple[str, ...]

    @property
    def value(self) -> float:
        """The coverage of an interval, or how often a test or a gate was wrong."""
        return self.outcome.rate if self.kind in SLACK else self.outcome.covered

    @property
    def promised(self) -> bool:
        """Whether anything is promised of it."""
        return self.kind != "beside" and not (self.kind == "finding" and self.what in COUNTING_RULES)

    @property
    def short(self) -> bool:
        """Whether it is below what was promised."""
        if not self.promised:
            return False
        if self.kind not in SLACK:
            return self.value < scale_coverage(BAND[0], self.level)
        return self.value > 1 - self.level + SLACK[self.kind] + 1e-12

    @property
    def wide(self) -> bool:
        """Whether an interval is wider than it need be; at .99 there are too few misses to tell."""
        if self.outcome.at_end or self.level >= 0.99:
            return False
        return self.kind == "interval" and self.value > scale_coverage(BAND[1], self.level)

    @property
    def failing(self) -> bool:
        """Whether an interval is far below."""
        return self.kind == "interval" and self.value < scale_coverage(FLOOR, self.level)

    @property
    def clearly(self) -> bool:
        """Whether it leaves the band by more than two Monte Carlo standard errors."""
        if self.kind in SLACK:
            return self.promised and self.value - 2 * self.outcome.error > 1 - self.level + SLACK[self.kind]
        low, high = (scale_coverage(end, self.level) for end in BAND)
        return self.value + 2 * self.outcome.error < low or self.value - 2 * self.outcome.error > high

    @property
    def silent(self) -> bool:
        """Whether no finding there says how far the interval can be trusted."""
        return not self.findings

    @property
    def place(self) -> str:
        """Where it lies: in its band, below or above it, or over its level; of what is not promised nothing."""
        if not self.promised:
            return ""
        if self.kind in SLACK:
            return "over" if self.short else "in band"
        return "far below" if self.failing else "below" if self.short else "above" if self.wide else "in band"


@dataclass(frozen=True, slots=True)
class CellResult:
    """What is known of one cell from the code of one commit; `seconds` is nan where it was not kept."""

    family: str
    cell: str
    draws: int
    date: str
    commit: str
    seconds: float
    findings: tuple[str, ...]
    refused: Mapping[str, int]
    rows: tuple[Row, ...]


Results = Sequence[CellResult]


def list_results(measured: Measurements, commit: str = "") -> list[CellResult]:
    """What was measured, cell by cell; cells without a draw are left out."""
    results = []
    for (family, cell), known in measured.items():
        tally = known.tally
        if not tally.draws:
            continue
        findings = list_findings(tally)
        rows = tuple(
            Row(family, cell, kind, what, level, outcome, findings)
            for (kind, what, level), outcome in tally.outcomes.items()
            if outcome.defined >= max(10, 0.02 * outcome.n)
        )
        results.append(
            CellResult(family, cell, tally.draws, known.last[:10], commit, known.seconds, findings, tally.refused, rows)
        )
    return results


def read_document(document: Mapping[str, Any]) -> list[CellResult]:
    """What was published, as `make_document` wrote it."""
    columns, by_cell = document["columns"], defaultdict[int, list[Row]](list)
    cells = document["cells"]
    for figures in document["rows"]:
        found = dict(zip(columns, figures, strict=True))
        cell, (kind, what, level) = cells[found["cell"]], document["asked"][found["asked"]]
        row = Row(cell["family"], cell["cell"], kind, what, level, _read_outcome(found), tuple(cell["findings"]))
        by_cell[found["cell"]].append(row)
    if "at_end" not in columns:
        _infer_ends(document, by_cell)
    return [
        CellResult(
            cell["family"], cell["cell"], cell["draws"], cell["date"], cell.get("commit", document["commit"]),
            math.nan if cell.get("seconds") is None else cell["seconds"], tuple(cell["findings"]),
            cell.get("refused", {}), tuple(by_cell[place]),
        )
        for place, cell in enumerate(cells)
    ]  # fmt: skip


def _infer_ends(document: Mapping[str, Any], by_cell: dict[int, list[Row]]) -> None:
    """Find where the truth is the end of the range: there no interval is too wide, which earlier documents tell."""
    place = document["columns"].index("place")
    told = iter([(figures[0], figures[place]) for figures in sorted(document["rows"], key=lambda figures: figures[0])])
    for rows in (by_cell[number] for number in sorted(by_cell)):
        ends = {row.what for row in rows if next(told)[1] == "in band" and row.wide}
        rows[:] = [replace(r, outcome=replace(r.outcome, at_end=int(r.what in ends))) for r in rows]


def _read_outcome(found: Mapping[str, Any]) -> Outcome:
    """What was counted; of the widths their mean."""
    defined = found["draws"] - found["undefined"]
    bounded, width = (0, 0.0) if found["width"] is None else (defined, defined * found["width"])
    sides = found["too_low"], found["too_high"]
    return Outcome(found["draws"], found["undefined"], *sides, bounded, width, found.get("at_end", 0))


def keep_published(new: Results, published: Results) -> list[CellResult]:
    """What was measured now, and what was published of everything that was not, in the order of the families."""
    again = {(row.family, row.cell, row.kind, row.what, row.level) for result in new for row in result.rows}
    kept = []
    for result in published:
        if result.family not in FAMILIES or result.cell not in list_cells(result.family):
            continue
        rows = tuple(r for r in result.rows if (r.family, r.cell, r.kind, r.what, r.level) not in again)
        if rows:
            kept.append(replace(result, rows=rows))
    order = {(family, cell): place for family in FAMILIES for place, cell in enumerate(list_cells(family))}
    places = {family: place for place, family in enumerate(FAMILIES)}
    return sorted([*new, *kept], key=lambda one: (places[one.family], order[one.family, one.cell]))


def list_rows(results: Results, family: str) -> list[Row]:
    """Everything that was asked of a family and has an answer, cell by cell."""
    return [row for result in results if result.family == family for row in result.rows]


def list_findings(tally: Tally) -> tuple[str, ...]:
    """The findings on how far to trust the result that fired in at least half of the draws that were reviewed."""
    often = [
        code for code, number in tally.findings.items() if 2 * number >= tally.reviewed and code not in OTHER_RULES
    ]
    modules = {code: RULE_CATALOGUE[code].function.__module__ for code in often if code in RULE_CATALOGUE}
    trusted = [code for code, module in modules.items() if module.rpartition(".")[2] in TRUST_RULES]
    return tuple(sorted([*trusted, *({WARNING} & set(often))]))
