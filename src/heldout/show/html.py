"""Blocks as HTML: a fragment for notebooks, or a page that needs nothing else."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from heldout.show.blocks import (
    Block,
    Cell,
    Column,
    Heat,
    Number,
    Overview,
    Section,
    Span,
    Style,
    Table,
    Title,
    drawn_columns,
    header_places,
)
from heldout.show.chart import Chart, Dots, Stroke
from heldout.show.escape import hash_source, visible, visible_lines
from heldout.show.explorer import (
    Explorer,
    FigureAtPosition,
    ascending,
    figures_at,
    mark_at,
    matrix_at,
    payload,
    script_json,
)
from heldout.show.heatmap import SHADES, Heatmap, find_shade, heatmap_payload, heatmap_svg
from heldout.show.numbers import count, limits, number, percent, words
from heldout.show.svg import bar_svg, chart_svg, mark_swatch_svg, swatch_svg
from heldout.show.text_width import shorten

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from jinja2 import Environment
    from markupsafe import Markup


_UNSAFE = re.compile(r"[^A-Za-z0-9_.-]+")


@dataclass(frozen=True, slots=True)
class Stage:
    """Blocks as a whole; a fragment has no names, because a notebook may hold it twice."""

    page: bool
    # By the identity of a block, because two sections may say the same.
    ids: Mapping[int, str] = field(default_factory=dict)
    names: Mapping[str, str] = field(default_factory=dict)
    drivers: Mapping[int, Explorer] = field(default_factory=dict)
    longest: int = 200
    shown: int = 100

    @classmethod
    def from_fragment(cls, blocks: Sequence[Block]) -> Stage:
        """What a fragment needs: which explorer says where a chart is marked."""
        return cls(page=False, drivers=_drivers(blocks))

    @classmethod
    def from_page(cls, blocks: Sequence[Block]) -> Stage:
        """What a page needs; every section and explorer has an id that nothing else has.

        >>> Stage.from_page([Section("Recall", (), "how recall")]).named("how recall")
        'how-recall'
        """
        ids: dict[int, str] = {}
        names: dict[str, str] = {}
        taken = {"heldout-main", "heldout-dialog-title"}
        for block in flat(blocks):
            if isinstance(block, Section | Explorer | Heatmap):
                name = block.name if isinstance(block, Section) else type(block).__name__.lower()
                unique = _free(_UNSAFE.sub("-", name).strip("-")[:60] or "section", taken)
                ids[id(block)] = unique
                if isinstance(block, Section) and name:
                    names.setdefault(name, unique)
        return cls(page=True, ids=ids, names=names, drivers=_drivers(blocks))

    def level(self, depth: int) -> int:
        """The level of the heading of a section that stands this deep."""
        return min((2 if self.page else 3) + depth, 6)

    def title_level(self, depth: int) -> int:
        """The level of a title that stands this deep, after the heading of the page."""
        return min(2 + depth, 6)

    def anchor(self, block: Block) -> str:
        """The id of a section or explorer, empty in a fragment."""
        return self.ids.get(id(block), "")

    def explorer_id(self, block: Explorer) -> str:
        """The id of an explorer; in a fragment nothing points to it."""
        return self.anchor(block)

    def named(self, name: str) -> str:
        """The id of the section of this name, empty where there is none."""
        return self.names.get(name, "") if name else ""

    def target(self, cell: Cell) -> str:
        """The id of the section that says how a number was made."""
        return self.named(cell.how) if isinstance(cell, Number) else ""

    def driver(self, chart: Chart) -> Explorer | None:
        """The explorer whose mark stands on the chart."""
        return self.drivers.get(id(chart))


def flat(blocks: Sequence[Block]) -> Iterator[Block]:
    """Every block in the order of reading, those of a section after it.

    >>> [type(block).__name__ for block in flat([Section("a", (Section("b", ()),))])]
    ['Section', 'Section']
    """
    for block in blocks:
        yield block
        if isinstance(block, Section):
            yield from flat(block.blocks)
        elif isinstance(block, Overview) and block.chart is not None:
            yield block.chart


def low_to_high(blocks: Iterable[Block]) -> list[Block]:
    """The blocks with the positions of every explorer in rising order."""
    ordered: list[Block] = []
    for block in blocks:
        if isinstance(block, Section):
            ordered.append(replace(block, blocks=tuple(low_to_high(block.blocks))))
        else:
            ordered.append(ascending(block) if isinstance(block, Explorer) else block)
    return ordered


def _drivers(blocks: Sequence[Block]) -> dict[int, Explorer]:
    """Each explorer moves the charts that follow it, the first one also those before it."""
    order = [block for block in flat(blocks) if isinstance(block, Explorer | Chart)]
    now = next((block for block in order if isinstance(block, Explorer)), None)
    explorers: dict[int, Explorer] = {}
    for block in order:
        if isinstance(block, Explorer):
            now = block
        elif now is not None and block.moves is not None:
            explorers[id(block)] = now
    return explorers


def _free(name: str, taken: set[str]) -> str:
    unique, number = name, 1
    while unique in taken:
        number += 1
        unique = f"{name}-{number}"
    taken.add(unique)
    return unique


FOLDER = Path(__file__).parent / "page"
"""Where templates, stylesheets and scripts lie."""
# The separator between the parts of a title.
BETWEEN = " · "
# The exclamation mark asks minifiers to keep this comment.
LICENCE = "/*! Part of heldout. SPDX-License-Identifier: Apache-2.0 */"
# In this order, each may use what the ones before it define.
_SCRIPTS = ("numbers.js", "formulas.js", "explorer.js", "heatmap.js", "reading.js")


def render_html(blocks: Iterable[Block], *, style: bool = True) -> str:
    r"""The blocks as one `div`; `style` puts the few rules it needs in front.

    >>> from heldout.show.blocks import Prose
    >>> print(render_html([Prose("a < b", label="Verdict")], style=False))
    <div class="heldout-doc">
    <p class="heldout-labelled heldout-verdict" dir="auto"><span class="heldout-label">Verdict</span>a &lt; b</p>
    </div>
    """
    shown = low_to_high(blocks)
    body = environment().get_template("blocks.html").module.blocks(shown, Stage.from_fragment(shown), 0)  # type: ignore[attr-defined]
    rules = f"<style>\n{_fragment_style()}</style>\n" if style else ""
    return f'{rules}<div class="heldout-doc">\n{body}</div>'


def render_page(blocks: Iterable[Block], *, title: str) -> str:
    """The blocks as a whole page, for a file that a browser opens without a network.

    Its first `Title` is the heading of the page, or `title` where it has none. Sections at the top are the contents.

    >>> render_page([], title="Iris").splitlines()[0]
    '<!doctype html>'
    """
    from markupsafe import Markup

    shown = low_to_high(blocks)
    first = next((at for at, block in enumerate(shown) if isinstance(block, Title)), None)
    heading = _headed(shown.pop(first) if first is not None else Title(title))
    stage = Stage.from_page(shown)
    return (
        environment()
        .get_template("page.html")
        .render(
            blocks=shown,
            contents=[(stage.anchor(block), block.title) for block in shown if isinstance(block, Section)],
            heading=heading,
            policy=page_policy(),
            # Both are files of this package: nothing that a user wrote is in them.
            script=Markup(page_script()),  # noqa: S704
            stage=stage,
            style=Markup(page_style()),  # noqa: S704
            title=title,
        )
    )


def _headed(block: Block) -> Block:
    """A title whose parts stand in one line, as on a terminal, with all but the first as its detail."""
    if not isinstance(block, Title) or BETWEEN not in block.text:
        return block
    text, rest = block.text.split(BETWEEN, maxsplit=1)
    return Title(text, BETWEEN.join(filter(None, (rest, block.detail))))


@cache
def page_policy() -> str:
    """The security policy of every page: its own script and style, told by their hashes, and nothing else at all.

    A server that sends pages with a policy of its own must allow at least this, as both hold.

    >>> page_policy().split("; ")[0]
    "default-src 'none'"
    """
    return "; ".join(
        [
            "default-src 'none'",
            f"script-src {hash_source(page_script())}",
            f"style-src {hash_source(page_style())}",
            "img-src data:",
            "base-uri 'none'",
            "form-action 'none'",
        ]
    )


@cache
def page_script() -> str:
    """The one script of a page, in a scope of its own.

    >>> page_script().startswith('"use strict";')
    True
    """
    body = "\n".join(_read(name) for name in _SCRIPTS)
    return f'"use strict";\n{LICENCE}\n(() => {{\n{body}}})();\n'


@cache
def page_style() -> str:
    """The one stylesheet of a page.

    >>> "prefers-color-scheme" in page_style()
    True
    """
    return _read("drawing.css") + _read("page.css")


@cache
def _fragment_style() -> str:
    return _read("drawing.css") + _read("fragment.css")


@cache
def _read(name: str) -> str:
    return (FOLDER / name).read_text(encoding="utf-8")


# What templates may ask of blocks: words, classes and drawings.


LONGEST_WORD = 24
"""Letters of a word in a table that is never broken: a table may scroll, but names are easier to read whole."""


@cache
def environment() -> Environment:
    """The templates, with everything escaped that is not known to be markup."""
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    jinja = Environment(
        loader=FileSystemLoader(FOLDER),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    jinja.filters.update(_FILTERS)
    return jinja


def runs(blocks: Sequence[Block]) -> list[Block | tuple[Chart, ...]]:
    """The blocks with charts that follow each other gathered, so that they can stand side by side.

    >>> from heldout.show.blocks import Prose
    >>> len(runs([Prose("a"), Prose("b")]))
    2
    """
    gathered: list[Block | tuple[Chart, ...]] = []
    for block in blocks:
        if not isinstance(block, Chart):
            gathered.append(block)
        elif gathered and isinstance(gathered[-1], tuple):
            gathered[-1] = (*gathered[-1], block)
        else:
            gathered.append((block,))
    return gathered


def shade(share: float) -> str:
    """The class of a shade.

    >>> shade(0.5), shade(0.0), shade(0.001)
    ('heldout-heat-10', '', 'heldout-heat-1')
    """
    return f"heldout-heat-{max(round(min(share, 1.0) * SHADES), 1)}" if share > 0 else ""


def breakable(text: str) -> Markup:
    """A label that may be broken after the signs that join its words.

    >>> print(breakable("tested_positive"))
    tested_<wbr>positive
    """
    from markupsafe import Markup

    return Markup("<wbr>").join(re.split(r"(?<=[\w][_/.-])(?=\w)", text))


def points_table(chart: Chart) -> Table:
    """The table behind a chart, each column written as its numbers ask for.

    >>> from heldout.show.chart import Axis
    >>> points_table(Chart("", "", Axis("x"), Axis("y"), headers=("n",), points=((3.0,),))).rows[0][0].style
    'count'
    """
    columns = [[row[at] for row in chart.points] for at in range(len(chart.headers))]
    styles = [_style(values) for values in columns]
    return Table(
        tuple(Column(header, "right") for header in chart.headers),
        tuple(
            tuple(
                Number(value, style, 4 if style == "share" else None) for value, style in zip(row, styles, strict=True)
            )
            for row in chart.points
        ),
    )


def _style(values: list[float]) -> Style:
    known = [value for value in values if math.isfinite(value)]
    if known and all(float(value).is_integer() for value in known) and max(map(abs, known)) > 1:
        return "count"
    return "share" if all(abs(value) <= 1 for value in known) else "plain"


def track_ends(table: Table, at: int) -> tuple[str, str] | None:
    """What stands over a column of drawn intervals: the ends of their track, where all have the same.

    >>> track_ends(Table((Column(""),), ((Span(0.5, 0.4, 0.6, -1.0, 1.0),), (None,))), 0)
    ('-1', '1')
    >>> track_ends(Table((Column(""),), ((Span(0.01, 0.0, 0.02, -0.05, 0.05),),)), 0)
    ('-.05', '.05')
    """
    cells = [row[at] for row in table.rows]
    ends = {(cell.floor, cell.ceiling) for cell in cells if isinstance(cell, Span)}
    if at not in drawn_columns(table) or len(ends) != 1:
        return None
    # As the figures beside it are written, without a zero before the point.
    low, high = (f"{end:.3g}".replace("0.", ".", 1) if abs(end) < 1 else f"{end:.3g}" for end in ends.pop())
    return low, high


def _classes(cell: Cell, column: Column) -> Markup:
    names = [] if isinstance(cell, str) or cell is None else ["heldout-figure"]
    if column.align != "left":
        names.append(f"heldout-{column.align}")
    if isinstance(cell, Heat):
        names.append(shade(cell.share))
    elif isinstance(cell, str):
        names.append(_long(cell).strip())
    return _class_attribute(names)


def _head(column: Column) -> Markup:
    aligned = [] if column.align == "left" or column.spans > 1 else [f"heldout-{column.align}"]
    return _class_attribute([*aligned, _long(column.header).strip()])


def _long(text: str) -> str:
    """The class of a text with a word so long that it must be broken somewhere; other words stay whole."""
    return " heldout-long" if any(len(word) > LONGEST_WORD for word in text.split()) else ""


def _class_attribute(names: list[str]) -> Markup:
    return _attribute(" ".join(filter(None, names)))


@lru_cache(maxsize=256)
def _attribute(classes: str) -> Markup:
    """The attribute for these classes: a page has thousands of cells of a few kinds."""
    from markupsafe import Markup

    return Markup(' class="{}"').format(classes) if classes else Markup()


def _table_name(table: Table) -> str:
    """What a table is called where only its name is heard."""
    if table.caption:
        return shorten(visible(table.caption), 100)
    headers = [shorten(visible(column.header), 20) for column in table.columns if column.header]
    return f"Table of {', '.join(headers[:6])}" if headers else "Table"


def _named_series(chart: Chart) -> list[Stroke | Dots]:
    series: list[Stroke | Dots] = [*chart.strokes, *chart.dots]
    return [named for named in series if named.name]


def _drawing(chart: Chart, stage: Stage) -> Markup:
    return _safe(chart_svg(chart, mark_at(chart, stage.driver(chart))))


def _matrix_cells(explorer: Explorer) -> list[list[tuple[float, str]]]:
    """Every count with the shade of its share of the row."""
    rows = []
    for row in matrix_at(explorer, explorer.start):
        total = sum(row)
        rows.append([(value, shade(value / total) if total > 0 else "") for value in row])
    return rows


def _counted_cells(heatmap: Heatmap) -> list[list[tuple[float, str, str]]]:
    """Every count of a small matrix with its share of the row in words, and its shade."""
    rows = []
    for i, row in enumerate(heatmap.counts):
        total = math.fsum(row)
        shares = [value / total if total > 0 else math.nan for value in row]
        shades = [find_shade(i, j, 0.0 if math.isnan(part) else part) for j, part in enumerate(shares)]
        rows.append([(v, percent(part), s) for v, part, s in zip(row, shares, shades, strict=True)])
    return rows


def _figures(explorer: Explorer) -> tuple[FigureAtPosition, ...]:
    return figures_at(explorer, explorer.start)


def _limited(explorer: Explorer) -> bool:
    return any(figure.low for figure in explorer.figures)


def _value_words(figure: FigureAtPosition) -> str:
    if math.isnan(figure.value) and figure.moving.undefined:
        return f"– ({visible(figure.moving.undefined)})"
    return number(figure.value, _figure_style(figure))


def _limit_words(figure: FigureAtPosition) -> str:
    if math.isnan(figure.value) or (math.isnan(figure.low) and math.isnan(figure.high)):
        return ""
    return limits(figure.low, figure.high, _figure_style(figure))


def _figure_bar(figure: FigureAtPosition) -> Markup:
    drawn = figure.moving.style == "share" and bool(figure.moving.low)
    return _safe(bar_svg(Span(figure.value, figure.low, figure.high)) if drawn else "")


def _figure_style(figure: FigureAtPosition) -> Style:
    return figure.moving.style  # type: ignore[return-value]


def _start_words(explorer: Explorer) -> str:
    return plainest(explorer.positions[explorer.start])


TICKS = 5
"""Places of a slider whose values are written under it."""


def slider_ticks(explorer: Explorer) -> list[tuple[int, str]]:
    """Even places of a slider, which goes from one position to the next, each with the value that stands there."""
    last = len(explorer.positions) - 1
    places = dict.fromkeys(round(last * step / (TICKS - 1)) for step in range(TICKS))
    return [(at, plainest(float(f"{explorer.positions[at]:.2g}"))) for at in places]


def plainest(value: float) -> str:
    """A number as it can be typed again: every digit, and no point where it is whole.

    >>> plainest(10.0), plainest(0.35), plainest(float("inf"))
    ('10', '0.35', '∞')
    """
    if math.isinf(value):
        return "∞" if value > 0 else "-∞"
    return str(int(value)) if float(value).is_integer() and abs(value) < 1e15 else repr(float(value))


def briefly(value: float) -> str:
    """A number in a field that a reader may change, to four significant digits.

    >>> briefly(5.0), briefly(0.34666666), briefly(1250.0)
    ('5', '0.3467', '1250')
    """
    return plainest(float(f"{value:.4g}"))


def _exact(value: float) -> str:
    """A number for a script: every digit, in JavaScript's own words where it is not finite."""
    if math.isnan(value):
        return "NaN"
    return ("Infinity" if value > 0 else "-Infinity") if math.isinf(value) else plainest(value)


def _safe(text: str) -> Markup:
    """Markup that this package made, every word of it escaped where it was put in."""
    from markupsafe import Markup

    return Markup(text)  # noqa: S704


_FILTERS: dict[str, Any] = {
    "bar": lambda span: _safe(bar_svg(span)),
    "breakable": breakable,
    "briefly": briefly,
    "classes": _classes,
    "count": count,
    "counted_cells": _counted_cells,
    "drawing": _drawing,
    "drawn": drawn_columns,
    "exact": _exact,
    "figure_bar": _figure_bar,
    "figures": _figures,
    "head": _head,
    "header_places": header_places,
    "headed": lambda table: any(column.header for column in table.columns),
    "kind": lambda block: type(block).__name__,
    "limit_words": _limit_words,
    "limited": _limited,
    "long": _long,
    "mark_swatch": lambda _: _safe(mark_swatch_svg()),
    "map": lambda heatmap: _safe(heatmap_svg(heatmap)),
    "map_json": lambda heatmap: _safe(script_json(heatmap_payload(heatmap))),
    "marked": lambda cell: isinstance(cell, Number) and cell.marked,
    "matrix_cells": _matrix_cells,
    "named_series": _named_series,
    "payload_json": lambda explorer: _safe(script_json(payload(explorer))),
    "plainest": plainest,
    "points_table": points_table,
    "runs": runs,
    "shorten": shorten,
    "slider_ticks": slider_ticks,
    "start_words": _start_words,
    "swatch": lambda series: _safe(swatch_svg(series)),
    "table_name": _table_name,
    "track_ends": track_ends,
    "unmarked": lambda cell: words(replace(cell, marked=False)),
    "value_words": _value_words,
    "visible": visible,
    "visible_lines": visible_lines,
    "words": words,
}
