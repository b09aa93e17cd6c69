"""What was measured, how much of it is kept, and every cell that leaves its band: docs/promises.md, and .json.

What is not measured again stays as it was published, with its own date and commit; all rows are judged alike.
"""

from __future__ import annotations

import math
import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from statistics import median
from typing import Any

from tests.promises.cell import LEVELS, Kind
from tests.promises.judged_rows import BAND, ENOUGH, FLOOR, NEARLY_ALL, SLACK, Results, Row, list_rows, scale_coverage
from tests.promises.register import FAMILIES, list_cells, load_family


def write_report(results: Results) -> str:
    """The whole page."""
    shown = [family for family in FAMILIES if any(result.family == family for result in results)]
    parts = [_opening(results), "## Which promises are kept", _verdicts(results, shown)]
    parts += ["## Which code was measured", _origins(results, shown)]
    parts += ["## Summary", *_summary(results, shown)]
    for family in shown:
        parts += [f"## {title(family)}", *_family_section(results, family)]
    return "\n\n".join(parts) + "\n"


# What stands in a row of the JSON document; `cell` and `asked` are places in the lists of these names.
COLUMNS = (
    "cell", "asked", "draws", "undefined", "value", "error", "too_low", "too_high", "width", "place", "clearly",
    "at_end",
)  # fmt: skip


def make_document(results: Results, commit: str) -> dict[str, Any]:
    """The same as one JSON document: the cells, and a row for everything that was asked in one at a level.

    A cell of which some rows were kept from an earlier commit is there once for each commit.
    """
    families = [family for family in FAMILIES if any(result.family == family for result in results)]
    cells: list[dict[str, Any]] = []
    rows: list[list[Any]] = []
    asked: dict[tuple[Kind, str, float], int] = {}
    for result in results:
        for row in result.rows:
            number = asked.setdefault((row.kind, row.what, row.level), len(asked))
            rows.append([len(cells), number, *_write_figures(row)])
        cells.append({
            "family": result.family, "cell": result.cell, "n": find_size(result.cell), "draws": result.draws,
            "date": result.date, "commit": result.commit, "findings": list(result.findings),
            "seconds": None if math.isnan(result.seconds) else round(result.seconds, 1),
            "refused": dict(result.refused),
        })  # fmt: skip
    about = {family: " ".join((load_family(family).__doc__ or "").split()) for family in families}
    return {
        "schema": "heldout/promises@1",
        "commit": commit,
        "date": max((cell["date"] for cell in cells), default=""),
        "planned": sum(len(list_cells(family)) for family in FAMILIES),
        "band": list(BAND),
        "floor": FLOOR,
        "bands": {f"{level:g}": [round(scale_coverage(end, level), 4) for end in (FLOOR, *BAND)] for level in LEVELS},
        "slack": dict(SLACK),
        "enough": ENOUGH,
        "families": {
            family: {"title": title(family), "about": about[family],
                     "verdict": judge_family(list_rows(results, family), family)}
            for family in families
        },
        "cells": cells,
        "asked": [list(key) for key in asked],
        "columns": list(COLUMNS),
        "rows": rows,
    }  # fmt: skip


def _write_figures(row: Row) -> list[Any]:
    outcome, width = row.outcome, row.outcome.mean_width
    return [
        outcome.n, outcome.undefined, round(row.value, 4),
        round(outcome.error, 4), outcome.too_low, outcome.too_high,
        None if math.isnan(width) else float(f"{width:.3g}"), row.place, int(row.clearly and row.place != "in band"),
        outcome.at_end,
    ]  # fmt: skip


def find_size(cell: str) -> int | None:
    """The number of cases that the name of a cell says, or of all its groups together.

    >>> find_size("2 classes, n = 1000"), find_size("15 equal groups of 8, alike 0.2"), find_size("by youden")
    (1000, 120, None)
    """
    if found := re.search(r"\bn(?: =)? (\d+)", cell):
        return int(found[1])
    found = re.search(r"\b(\d+) (?:[\w().]+ )*groups of (\d+)", cell)
    return int(found[1]) * int(found[2]) if found else None


def title(family: str) -> str:
    """The name of a family in words."""
    return family.replace("_", " ").capitalize()


def _opening(results: Results) -> str:
    draws = sum(result.draws for result in results)
    places = {(result.family, result.cell) for result in results}
    every = [cell for family in FAMILIES for cell in list_cells(family).values()]
    planned = sum(cell.draws for cell in every)
    last = max((result.date for result in results), default="")
    part = "all" if draws >= planned else f"{draws / planned:.0%} of all"
    return (
        "# Are the promises kept?\n\n"
        "This page is written by `make promises`, which measures every default through the public functions on cases "
        "whose truth is known. A cell is a world (how cases are drawn), a number of cases, and what is asked. Each "
        "draw of a cell is one new test set.\n\n"
        f"Measured until {last}: {len(places):,} of {len(every):,} cells, "
        f"{draws:,} draws ({part} that are planned).\n\n"
        f"A 95 % interval is in its band where it held the truth in {BAND[0]:.0%} to {BAND[1]:.1%} of the draws, and "
        f"far below where it held it in less than {FLOOR:.0%}. At the other levels the bands are what a standard error "
        "wrong by the same factor would give: "
        + "; ".join(
            f"at {level:g}, {_share(scale_coverage(BAND[0], level))} to {_share(scale_coverage(BAND[1], level))}, far "
            f"below under {_share(scale_coverage(FLOOR, level))}"
            for level in LEVELS
            if level != 0.95
        )
        + ". A test may reject a true null .015 more often than its level says, a gate pass falsely and a rule to act "
        "on fire where nothing is wrong .01 more often; H019 and H037 say how many cases a class has, which is true "
        "wherever they fire, and are not judged. The Monte Carlo standard error of a coverage of .95 is .005 "
        "with 2,000 draws, .010 with 500; ± is one standard error. Draws in which a quantity is undefined are "
        "left out of its coverage. Where the true value is the smallest or the largest there can be, as a calibration "
        "error of 0, an interval that reaches it cannot miss on that side; there only the lower end of the band "
        "counts. The other levels are asked at 500 or more of the draws of a cell. A finding counts where it speaks of "
        "how far the result can be trusted and "
        "fired in at least half of the ten draws that were reviewed."
    )


def _origins(results: Results, families: list[str]) -> str:
    """One line for each family and commit: what of it was measured there."""
    opening = (
        "What is not measured again stays as it was published. The verdicts above are made from all rows alike; a row "
        "is a quantity in a cell at a level. Where the processor time was not kept there is a dash."
    )
    lines = []
    for family in families:
        of_family = [result for result in results if result.family == family]
        for commit in sorted({one.commit for one in of_family}, key=lambda text: (_last_date(of_family, text), text)):
            some = [result for result in of_family if result.commit == commit]
            minutes = sum(result.seconds for result in some) / 60
            lines.append([
                title(family), commit or "–", _last_date(some, commit), len(some), sum(len(one.rows) for one in some),
                f"{sum(one.draws for one in some):,}", "–" if math.isnan(minutes) else f"{minutes:,.0f} min",
            ])  # fmt: skip
    head = ["family", "commit", "until", "cells", "rows", "draws", "processor time"]
    return f"{opening}\n\n{_table(head, lines)}"


def _last_date(results: Results, commit: str) -> str:
    return max(result.date for result in results if result.commit == commit)


def _verdicts(results: Results, families: list[str]) -> str:
    """One line for each family: whether it keeps its promise, and what it is that it does not."""
    opening = (
        "A family keeps its promise where nine of ten of its 95 % intervals (a quantity in a cell) are in their band, "
        "none that is far below goes without a finding there, and no test, gate or rule is over its level by more than "
        "two standard errors."
    )
    return "\n".join([opening, "", *(f"- {judge_family(list_rows(results, name), name)}" for name in families)])


def judge_family(rows: list[Row], family: str) -> str:
    """Whether a family keeps its promise, in words with numbers."""
    every = [r for r in rows if r.level == 0.95 and (r.kind == "interval" or r.kind in SLACK)]
    asked = [r for r in every if r.outcome.defined >= ENOUGH]
    main = [r for r in asked if r.kind == "interval"]
    name = f"**{title(family)}**"
    few = f" {len(every) - len(asked):,} of {len(every):,} were asked too seldom to tell." if asked != every else ""
    if not asked:
        return f"{name}: too few draws to tell; at least {ENOUGH} of each quantity are needed."
    silent = [r for r in main if r.failing and r.silent]
    over = [r for r in asked if r.kind in SLACK and r.clearly]
    missing = []
    if main and sum(not r.short and not r.wide for r in main) < NEARLY_ALL * len(main):
        missing.append(f"only {_within(main)} of {len(main):,} intervals are in their band")
    if silent:
        missing.append(f"{len(silent):,} are below {_share(FLOOR)} without a finding")
    if over:
        missing.append(
            f"{len(over):,} of {len(asked) - len(main):,} tests, gates or rules are clearly over their level"
        )
    if missing:
        return f"{name}: **not kept**; {'; '.join(missing)}.{few}"
    figures = [f"{_within(main)} of {len(main):,} intervals in their band"] if main else []
    figures += [f"none of {len(asked) - len(main):,} tests, gates or rules clearly over its level"] * (asked != main)
    return f"{name}: kept; {', '.join(figures)}.{few}"


def _summary(results: Results, families: list[str]) -> list[str]:
    head = [
        "family", "cells", "draws a cell", "intervals", "at an end", "in band", "below", "above", "far below",
        "of these silent", "lowest", "highest", "in band at .8", "at .99", "tests over", "gates over", "rules over",
    ]  # fmt: skip
    lines = []
    for family in families:
        rows = list_rows(results, family)
        at = {level: [r for r in rows if r.kind == "interval" and r.level == level] for level in LEVELS}
        main = at[0.95]
        draws = [result.draws for result in results if result.family == family]
        places = {result.cell for result in results if result.family == family}
        failing = [r for r in main if r.failing]
        ends = [_share(end((r.value for r in main), default=math.nan)) for end in (min, max)]
        lines.append([
            f"[{title(family)}](#{family.replace('_', '-')})", len(places), _span(draws), len(main),
            sum(r.outcome.at_end > 0 for r in main), _within(main), _part(main, [r for r in main if r.short]),
            _part(main, [r for r in main if r.wide]), len(failing),
            sum(r.silent for r in failing), *ends,
            _within(at[0.8]), _within(at[0.99]), *(_over(rows, kind) for kind in SLACK),
        ])  # fmt: skip
    return [_table(head, lines)]


def _within(rows: list[Row]) -> str:
    return _part(rows, [r for r in rows if not r.short and not r.wide])


def _part(rows: list[Row], some: list[Row]) -> str:
    return f"{len(some) / len(rows):.0%}" if rows else "–"


def _over(rows: list[Row], kind: Kind) -> str:
    asked = [r for r in rows if r.kind == kind]
    return f"{sum(r.short for r in asked)} of {len(asked)}" if asked else "–"


def _span(numbers: Iterable[int]) -> str:
    known = sorted(set(numbers))
    return "–" if not known else f"{known[0]:,}" if len(known) == 1 else f"{known[0]:,} to {known[-1]:,}"


def _family_section(results: Results, family: str) -> list[str]:
    rows = list_rows(results, family)
    text = " ".join((load_family(family).__doc__ or "").split())
    parts = [text]
    spaced = family.replace("_", " ")
    if intervals := [r for r in rows if r.kind == "interval"]:
        parts.append(_by_measure(intervals))
    if beside := [r for r in rows if r.kind == "beside"]:
        parts += [f"### Counted beside the promise: {spaced}", _by_measure(beside)]
    for kind, name in HEADINGS.items():
        if some := [r for r in rows if r.kind == kind]:
            parts += [f"### {name}: {spaced}", _rates(some)]
    for level in (0.95, *(level for level in LEVELS if level != 0.95)):
        if outside := _outside(rows, level):
            parts += [f"### Outside the band{'' if level == 0.95 else f' at {level:g}'}: {spaced}", outside]
    if refused := _refused(results, family):
        parts.append(refused)
    return parts


HEADINGS: dict[Kind, str] = {
    "test": "Tests of a true null, how often they reject",
    "gate": "Gates that pass falsely",
    "finding": "Rules to act on where nothing is wrong, how often they fire",
}


def _by_measure(rows: list[Row]) -> str:
    head = ["quantity", "cells", "in band", "lowest", "median", "highest", "cell of the lowest",
            ".8: lowest, median", ".99: lowest, median", "most undefined"]  # fmt: skip
    by_name: dict[str, list[Row]] = defaultdict(list)
    for row in rows:
        by_name[row.what].append(row)
    lines = []
    for what, some in sorted(by_name.items(), key=lambda item: _order(item[1])):
        main = [r for r in some if r.level == 0.95]
        if not main:
            continue
        worst = min(main, key=lambda r: r.value)
        ends = [_ends([r.value for r in some if r.level == level]) for level in (0.8, 0.99)]
        undefined = max(r.outcome.undefined / r.outcome.n for r in main)
        values = [r.value for r in main]
        lines.append([
            what, len(main), _within(main), _share(min(values)), _share(median(values)), _share(max(values)),
            worst.cell, *ends, _share(undefined) if undefined else "–",
        ])  # fmt: skip
    return _table(head, lines)


def _order(rows: list[Row]) -> float:
    return min((r.value for r in rows if r.level == 0.95), default=2.0)


def _ends(values: list[float]) -> str:
    return f"{_share(min(values))}, {_share(median(values))}" if values else "–"


def _rates(rows: list[Row]) -> str:
    head = ["what", "level", "cells", "over", "median", "highest", "cell of the highest", "undefined"]
    by_name: dict[tuple[str, float], list[Row]] = defaultdict(list)
    for row in rows:
        by_name[row.what, row.level].append(row)
    lines = []
    for (what, level), some in sorted(by_name.items()):
        worst = max(some, key=lambda r: r.value)
        undefined = max(r.outcome.undefined / r.outcome.n for r in some)
        lines.append([
            what, f"{level:g}", len(some), sum(r.short for r in some), _share(median(r.value for r in some)),
            f"{_share(worst.value)} ± {_share(worst.outcome.error)}", worst.cell,
            _share(undefined) if undefined else "–",
        ])  # fmt: skip
    return _table(head, lines)


def _outside(rows: list[Row], level: float) -> str:
    """One line for each cell with something outside its band at a level, the lowest first."""
    head = ["cell", "below its band, or over its level", "above its band", "findings that fired"]
    by_cell: dict[str, list[Row]] = defaultdict(list)
    for row in rows:
        if row.level == level and (row.short or row.wide):
            by_cell[row.cell].append(row)
    lines = []
    for cell, some in sorted(by_cell.items(), key=lambda item: min(_badness(r) for r in item[1])):
        below = sorted((r for r in some if r.short), key=_badness)
        above = [r for r in some if r.wide]
        lines.append([
            cell, "; ".join(_describe(r) for r in below) or "–",
            "; ".join(f"{r.what} {_share(r.value)}" for r in above) or "–", ", ".join(some[0].findings) or "–",
        ])  # fmt: skip
    return _table(head, lines) if lines else ""


def _badness(row: Row) -> float:
    return 1 - row.value if row.kind in SLACK else row.value


def _describe(row: Row) -> str:
    """A quantity with its coverage, at .95 also the sides of its misses and its mean width; bold if clearly out."""
    text = f"{row.what} {_share(row.value)} ± {_share(row.outcome.error)}"
    if row.kind == "interval" and row.level == 0.95:
        sides = [side / row.outcome.defined for side in (row.outcome.too_low, row.outcome.too_high)]
        text += f" (too low {_share(sides[0])}, too high {_share(sides[1])}, width {row.outcome.mean_width:.3g})"
    return f"**{text}**" if row.clearly else text


def _refused(results: Results, family: str) -> str:
    lines = []
    for result in results:
        if result.family == family and result.refused:
            most = sorted(result.refused.items(), key=lambda item: -item[1])[:2]
            why = "; ".join(f"{text} ({number:,})" for text, number in most)
            lines.append(f"- {result.cell}: {sum(result.refused.values()):,} of {result.draws:,}: {why}")
    return "Draws that were refused:\n\n" + "\n".join(lines) if lines else ""


def _share(value: float) -> str:
    """A share with three digits and without the leading zero."""
    if math.isnan(value):
        return "–"
    text = f"{value:.3f}"
    return text[1:] if text.startswith("0.") else text


def _table(head: Sequence[str], lines: Sequence[Sequence[object]]) -> str:
    rows = [list(head), ["---"] * len(head), *([str(entry).replace("|", "\\|") for entry in line] for line in lines)]
    return "\n".join("| " + " | ".join(row) + " |" for row in rows)
