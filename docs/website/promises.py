"""The promises on the site: what intervals covered and how often tests were wrong, from docs/promises.json."""

from __future__ import annotations

import json
import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from html import escape
from statistics import median
from typing import Any

from docs.website.page import ROOT, escape_text, slug, write_code, write_folded, write_table, write_toctree
from docs.website.sources import Site

from heldout.errors import HeldoutError
from heldout.measures.catalogue import find, read_quantity
from heldout.measures.declare import Measure

FILE = ROOT / "docs" / "promises.json"
HOME = "promises"
NOT_YET = "Not measured yet."
# The families whose intervals are those of single measures.
OF_MEASURES = ("counts", "rankings", "losses_and_calibration", "groups", "weights", "folds")
OUTSIDE = ("below", "far below", "above", "over")
MAIN = 0.95
# Cells outside their band that a page names before it refers to the table of the family.
MOST_NAMED = 12


@dataclass(frozen=True, slots=True)
class Row:
    """One thing that was asked in one cell at one level, and what came of it."""

    family: str
    cell: str
    n: int | None
    findings: tuple[str, ...]
    kind: str
    what: str
    level: float
    draws: int
    undefined: int
    value: float
    error: float
    place: str
    clearly: bool
    date: str
    commit: str


@dataclass(frozen=True)
class Promises:
    """The whole document, read."""

    document: Mapping[str, Any]
    rows: tuple[Row, ...]


@cache
def read_promises() -> Promises | None:
    """What was measured; None as long as there is no such file."""
    if not FILE.exists():
        return None
    document = json.loads(FILE.read_text(encoding="utf-8"))
    cells, asked, columns = document["cells"], document["asked"], document["columns"]
    rows = []
    for figures in document["rows"]:
        row = dict(zip(columns, figures, strict=True))
        cell, (kind, what, level) = cells[row["cell"]], asked[row["asked"]]
        rows.append(
            Row(cell["family"], cell["cell"], cell["n"], tuple(cell["findings"]), kind, what, level, row["draws"],
                row["undefined"], row["value"], row["error"], row["place"], bool(row["clearly"]), cell["date"],
                cell.get("commit", document["commit"]))
        )  # fmt: skip
    return Promises(document, tuple(rows))


@cache
def measure_of(what: str) -> str:
    """The measure that something asked is about, by its name; nothing where it is not one measure."""
    try:
        return find(read_quantity(what.partition("[")[0]).bound.name).measure.name
    except HeldoutError:
        return ""


# On the pages of measures, tests and findings.


def write_measure_promises(site: Site, measure: Measure, at: str) -> str:
    """What the default intervals of a measure covered, family by family, and where they did not."""
    promises = read_promises()
    rows = [] if promises is None else [
        row for row in promises.rows
        if row.family in OF_MEASURES and row.kind == "interval" and measure_of(row.what) == measure.name
    ]  # fmt: skip
    main = [row for row in rows if row.level == MAIN]
    if promises is None or not main:
        return NOT_YET
    parts = [
        (
            "How often 95 % intervals held the true value, in simulations where it is known. A cell is a world and a "
            f"number of cases; {_say_when(main)}.{_say_few(promises, main)}"
        ),
        draw_coverage(main, f"Coverage of the 95 % interval of {measure.title} against the number of cases"),
        _write_families(site, main, at),
    ]
    outside = sorted((row for row in main if row.place in OUTSIDE), key=lambda row: row.value)
    if outside:
        parts += [f"Outside the band ({_say_band(promises)}):", _write_cells(site, outside[:MOST_NAMED], at)]
        more = len(outside) - MOST_NAMED
        parts += [f"And {more} more, in the tables of the families."] if more > 0 else []
    return "\n\n".join(parts)


def write_test_promises(site: Site, name: str, at: str) -> str:
    """How often a test rejected a true null."""
    promises = read_promises()
    rows = [] if promises is None else [
        row for row in promises.rows if row.kind == "test" and row.what.rpartition(": ")[2] == name
    ]  # fmt: skip
    if promises is None or not rows:
        return NOT_YET
    text = f"At a level of 95 % a test may reject a true null 5 % of the time; {_say_when(rows)}."
    return f"{text}\n\n{_write_rates(rows)}\n\nAll of them: {_link_families(site, rows, at)}."


def write_finding_promises(site: Site, code: str, at: str) -> str:
    """How often a finding fired where nothing was wrong."""
    promises = read_promises()
    rows = [row for row in promises.rows if row.kind == "finding" and row.what == code] if promises is not None else []
    if promises is None or not rows:
        return ""
    text = f"On sound models, where it has nothing to find; {_say_when(rows)}."
    return f"## False alarms\n\n{text}\n\n{_write_rates(rows)}\n\nAll of them: {_link_families(site, rows, at)}."


def _say_when(rows: Iterable[Row]) -> str:
    """Until when, and at which commits: what was not measured again is that of an earlier one."""
    until = {(row.commit, row.date) for row in rows}
    commits = sorted({commit for commit, _ in until if commit}, key=lambda text: max(d for c, d in until if c == text))
    named = " and ".join(f"`{commit}`" for commit in commits)
    where = f" at commit{'s' if len(commits) > 1 else ''} {named}" if commits else ""
    return f"measured until {max(date for _, date in until)}{where}"


def _say_few(promises: Promises, rows: list[Row]) -> str:
    enough = promises.document["enough"]
    few = sum(row.draws - row.undefined < enough for row in rows)
    if not few:
        return ""
    return f" {few:,} of {len(rows):,} have fewer than {enough} draws, too few to say much: look at the error."


def _say_band(promises: Promises) -> str:
    low, high = promises.document["band"]
    return f"{_share(low)} to {_share(high)}"


def _link_families(site: Site, rows: Iterable[Row], at: str) -> str:
    names = dict.fromkeys(row.family for row in rows)
    return ", ".join(site.link(name.replace("_", " "), family_page(name), at) for name in names)


def _write_families(site: Site, rows: list[Row], at: str) -> str:
    lines = []
    for family in dict.fromkeys(row.family for row in rows):
        some = [row for row in rows if row.family == family]
        values = [row.value for row in some]
        inside = sum(row.place == "in band" for row in some)
        draws = sorted({row.draws for row in some})
        lines.append([
            site.link(family.replace("_", " "), family_page(family), at), f"{inside} of {len(some)}",
            _share(min(values)), _share(median(values)), _share(max(values)),
            f"{draws[0]:,}" if len(draws) == 1 else f"{draws[0]:,} to {draws[-1]:,}",
            f"± {_share(median(row.error for row in some))}",
        ])  # fmt: skip
    head = ["family", "in band", "lowest", "median", "highest", "draws", "Monte Carlo error"]
    return write_table(head, lines)


def _write_cells(site: Site, rows: Iterable[Row], at: str) -> str:
    lines = [
        [escape_text(row.what), escape_text(row.cell), f"{_share(row.value)} ± {_share(row.error)}", row.place,
         ", ".join(site.link(code, f"reference/findings/{code}.md", at) for code in row.findings) or "none"]
        for row in rows
    ]  # fmt: skip
    return write_table(["quantity", "cell", "covered", "where", "findings that fire there"], lines)


def _write_rates(rows: list[Row]) -> str:
    by: dict[tuple[str, float], list[Row]] = defaultdict(list)
    for row in rows:
        by[row.what, row.level].append(row)
    lines = []
    for (what, level), some in sorted(by.items()):
        worst = max(some, key=lambda row: row.value)
        lines.append([
            escape_text(what), f"{level:g}", len(some), sum(row.place == "over" for row in some),
            _share(median(row.value for row in some)), f"{_share(worst.value)} ± {_share(worst.error)}",
            escape_text(worst.cell),
        ])  # fmt: skip
    head = ["what", "level", "cells", "over", "median rate", "highest rate", "cell of the highest"]
    return write_table(head, lines)


def _share(value: float) -> str:
    text = f"{value:.3f}"
    return text[1:] if text.startswith("0.") else text


# Pages of their own.


def family_page(family: str) -> str:
    """Where the page of a family stands."""
    return f"{HOME}/{slug(family)}.md"


def list_families() -> list[str]:
    """The families that were measured."""
    promises = read_promises()
    return [] if promises is None else list(dict.fromkeys(row.family for row in promises.rows))


def add_promises(site: Site) -> None:
    """The page of all promises, and one for each family."""
    at, promises = f"{HOME}/index.md", read_promises()
    opening = (
        "# Promises\n\nAn interval of 95 % should hold the truth 95 % of the time, and a test at 5 % should "
        "reject a true "
        "null 5 % of the time. Whether ours do is measured: `make promises` asks every default, through the public "
        "functions, about cases whose truth is known, and this page shows what came of it, also where it is not good."
    )
    if promises is None:
        site.add(at, f"{opening}\n\n{NOT_YET}")
        return
    document = promises.document
    # One is enough where only some pages are built.
    families = list_families() if site.whole else list_families()[:1]
    draws = sum(cell["draws"] for cell in document["cells"])
    places = len({(cell["family"], cell["cell"]) for cell in document["cells"]})
    parts = [
        opening,
        (
            f"{places:,} of {document['planned']:,} cells, {draws:,} draws; "
            f"{_say_when(promises.rows)}. A 95 % "
            f"interval is in its band where it held the truth in {_say_band(promises)} of the draws, and far "
            "below where in "
            f"less than {_share(document['floor'])}. A family keeps its promise where nine of ten of its "
            "intervals are in "
            "their band, none that is far below goes without a finding, and no test, gate or rule is clearly over its "
            f"level. With fewer than {document['enough']} draws nothing is said."
        ),
        "## Which are kept",
        "\n".join(f"- {_link_verdict(site, name, document, at)}" for name in families),
        "## Coverage against the number of cases",
        (
            "Each mark is a cell: its dot is the median coverage of all quantities asked there, its line goes "
            "from the 5th "
            "to the 95th percentile. The shaded band is where 95 % intervals are meant to be."
        ),
    ]
    for name in families:
        main = [row for row in promises.rows if row.family == name and row.kind == "interval" and row.level == MAIN]
        if main:
            title = document["families"][name]["title"]
            parts += [
                f"### {title}",
                draw_family(main, f"Coverage of 95 % intervals against the number of cases: {title}"),
            ]
        add_family(site, promises, name)
    parts.append(write_toctree((slug(name) for name in families), hidden=True))
    site.add(at, "\n\n".join(parts))


def _link_verdict(site: Site, name: str, document: Mapping[str, Any], at: str) -> str:
    facts = document["families"][name]
    return str(facts["verdict"]).replace(
        f"**{facts['title']}**", f"**{site.link(facts['title'], family_page(name), at)}**", 1
    )


def add_family(site: Site, promises: Promises, family: str) -> None:
    """The page of one family: by quantity, tests and gates, and every cell outside its band."""
    facts, at = promises.document["families"][family], family_page(family)
    rows = [row for row in promises.rows if row.family == family]
    about = escape_text(facts["about"]).replace("\\`", "`")
    parts = [f"# {facts['title']}", about, f"{facts['verdict']} It was {_say_when(rows)}."]
    main = [row for row in rows if row.kind == "interval" and row.level == MAIN]
    if main:
        parts += [draw_family(main, f"Coverage of 95 % intervals: {facts['title']}"), "## By quantity"]
        parts.append(_by_quantity(site, main, at))
    for kind, title in (
        ("test", "Tests of a true null"),
        ("gate", "Gates that pass falsely"),
        ("finding", "False alarms"),
    ):
        some = [row for row in rows if row.kind == kind]
        parts += [f"## {title}", _write_rates(some)] if some else []
    outside = [row for row in rows if row.level == MAIN and row.place in OUTSIDE and row.kind != "beside"]
    if outside:
        cells = len({row.cell for row in outside})
        text = "the worst first in each cell; bold: by more than two Monte Carlo errors."
        parts += ["## Outside the band", f"{len(outside):,} quantities in {cells:,} cells, {text}"]
        parts.append(_write_outside(site, outside, at))
    if family == "counts":
        parts.append(
            write_folded("Measure it again", write_code("make promises    # hours; goes on where it was", "console"))
        )
    site.add(at, "\n\n".join(parts))


def _by_quantity(site: Site, rows: list[Row], at: str) -> str:
    by: dict[str, list[Row]] = defaultdict(list)
    for row in rows:
        by[row.what].append(row)
    lines = []
    for what, some in sorted(by.items(), key=lambda item: min(row.value for row in item[1])):
        values, worst = [row.value for row in some], min(some, key=lambda row: row.value)
        name = escape_text(what)
        lines.append([
            site.link(name, f"reference/measures/{measure_of(what)}.md", at), len(some),
            f"{sum(row.place == 'in band' for row in some)}", _share(min(values)), _share(median(values)),
            _share(max(values)), escape_text(worst.cell),
        ])  # fmt: skip
    return write_table(["quantity", "cells", "in band", "lowest", "median", "highest", "cell of the lowest"], lines)


def _write_outside(site: Site, rows: list[Row], at: str) -> str:
    by: dict[str, list[Row]] = defaultdict(list)
    for row in rows:
        by[row.cell].append(row)
    lines = []
    for cell, some in by.items():
        figures = []
        for row in sorted(some, key=lambda row: row.value):
            text = f"{escape_text(row.what)} {_share(row.value)}"
            figures.append(f"**{text}**" if row.clearly else text)
        codes = ", ".join(site.link(code, f"reference/findings/{code}.md", at) for code in some[0].findings)
        lines.append([escape_text(cell), "; ".join(figures), codes or "none"])
    return write_table(["cell", "quantities, with what they covered", "findings that fire there"], lines)


# Pictures.

WIDTH, HEIGHT, LEFT, BOTTOM, TOP = 560, 220, 44, 34, 10
LOWEST = 0.7


def draw_family(rows: list[Row], title: str) -> str:
    """A mark for each cell: the median coverage, and a line from the 5th to the 95th percentile."""
    by: dict[tuple[str, int | None], list[float]] = defaultdict(list)
    for row in rows:
        by[row.cell, row.n].append(row.value)
    marks = []
    for (cell, n), values in by.items():
        ordered = sorted(values)
        ends = ordered[int(0.05 * (len(ordered) - 1))], ordered[math.ceil(0.95 * (len(ordered) - 1))]
        marks.append((n, median(values), ends, f"{cell}: {_share(median(values))}"))
    return _draw(marks, title)


def draw_coverage(rows: list[Row], title: str) -> str:
    """A dot for everything that was asked."""
    return _draw([(row.n, row.value, (row.value, row.value), f"{row.what}, {row.cell}") for row in rows], title)


def _draw(marks: list[tuple[int | None, float, tuple[float, float], str]], title: str) -> str:
    sizes = [n for n, *_ in marks if n]
    place = _find_places(sizes, len(marks))
    parts = [_draw_rect(0.93, 0.985), _draw_line(0.95, "nominal")]
    parts += [
        f'<text class="tick" x="{LEFT - 6}" y="{_y(value) + 4:.1f}" text-anchor="end">{_share(value)[:3]}</text>'
        for value in (0.7, 0.8, 0.9, 1.0)
    ]
    parts += [
        f'<text class="tick" x="{place(tick, 0):.1f}" y="{HEIGHT - 14}" text-anchor="middle">{tick:,}</text>'
        for tick in _choose_ticks(sizes)
    ]
    label = "cases (log scale)" if sizes else "cells"
    parts.append(f'<text class="tick" x="{(WIDTH + LEFT) / 2}" y="{HEIGHT - 3}" text-anchor="middle">{label}</text>')
    for number, (n, middle, (low, high), _) in enumerate(marks):
        x = place(n, number)
        if high > low:
            parts.append(f'<path class="span" d="M{x:.1f} {_y(low):.1f}V{_y(high):.1f}"/>')
        parts.append(f'<circle class="dot" cx="{x:.1f}" cy="{_y(middle):.1f}" r="2.6"/>')
    return (
        f'<div class="scrolls"><svg class="coverage" role="img" aria-label="{escape(title, quote=True)}" '
        f'viewBox="0 0 {WIDTH} {HEIGHT}" '
        f'width="{WIDTH}">{"".join(parts)}</svg></div>'
    )


def _find_places(sizes: list[int], number: int) -> Callable[[int | None, int], float]:
    wide = WIDTH - LEFT - 24
    if not sizes:
        return lambda _, at: LEFT + 10 + wide * at / max(number - 1, 1)
    low, high = math.log(min(sizes)), math.log(max(sizes))

    def place(n: int | None, at: int) -> float:
        share = (math.log(n or min(sizes)) - low) / ((high - low) or 1.0)
        # Cells of one size stand beside each other, not on top.
        return LEFT + 14 + (wide - 10) * share + (at % 7 - 3) * 1.6

    return place


def _choose_ticks(sizes: list[int]) -> list[int]:
    if not sizes:
        return []
    powers = [10**power for power in range(1, 8) if min(sizes) <= 10**power <= max(sizes)]
    return powers or [min(sizes), *([max(sizes)] if max(sizes) > min(sizes) else [])]


def _y(value: float) -> float:
    inside = max(min(value, 1.0), LOWEST)
    return TOP + (HEIGHT - TOP - BOTTOM) * (1 - inside) / (1 - LOWEST)


def _draw_rect(low: float, high: float) -> str:
    wide, tall = WIDTH - LEFT - 8, _y(low) - _y(high)
    return f'<rect class="band" x="{LEFT}" y="{_y(high):.1f}" width="{wide}" height="{tall:.1f}"/>'


def _draw_line(value: float, kind: str) -> str:
    return f'<path class="{kind}" d="M{LEFT} {_y(value):.1f}H{WIDTH - 8}"/>'
