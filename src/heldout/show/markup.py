"""What templates may ask of blocks: words, classes and drawings."""

from __future__ import annotations

import math
from functools import cache
from typing import TYPE_CHECKING, Any

from heldout.show.blocks import Block, Cell, Column, Heat, Number, Span, Style, Table, drawn_columns
from heldout.show.drawing import Chart, Dots, Stroke
from heldout.show.explorer import Explorer
from heldout.show.fitting import shorten
from heldout.show.moving import Figure, figures_at, mark_at, matrix_at, payload, script_json
from heldout.show.numbers import count, limits, number, words
from heldout.show.printable import visible, visible_lines
from heldout.show.stage import Stage
from heldout.show.svg import bar_svg, chart_svg, mark_swatch_svg, swatch_svg

if TYPE_CHECKING:
    from collections.abc import Sequence

    from jinja2 import Environment
    from markupsafe import Markup

SHADES = 20
"""Steps between no shade and the full one; classes, because a strict policy forbids styles in attributes."""

LONGEST_WORD = 24
"""Letters of a word in a table that is never broken: a table may scroll, but names are easier to read whole."""


@cache
def environment() -> Environment:
    """The templates, with everything escaped that is not known to be markup."""
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    from heldout.show.html import FOLDER

    made = Environment(
        loader=FileSystemLoader(FOLDER),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    made.filters.update(_FILTERS)
    return made


def runs(blocks: Sequence[Block]) -> list[Block | tuple[Chart, ...]]:
    """The blocks with charts that follow each other gathered, so that they can stand side by side.

    >>> from heldout.show.blocks import Prose
    >>> len(runs([Prose("a"), Prose("b")]))
    2
    """
    made: list[Block | tuple[Chart, ...]] = []
    for block in blocks:
        if not isinstance(block, Chart):
            made.append(block)
        elif made and isinstance(made[-1], tuple):
            made[-1] = (*made[-1], block)
        else:
            made.append((block,))
    return made


def shade(share: float) -> str:
    """The class of a shade.

    >>> shade(0.5), shade(0.0), shade(0.001)
    ('heldout-heat-10', '', 'heldout-heat-1')
    """
    return f"heldout-heat-{max(round(min(share, 1.0) * SHADES), 1)}" if share > 0 else ""


def points_table(chart: Chart) -> Table:
    """The table behind a chart, each column written as its numbers ask for.

    >>> from heldout.show.drawing import Axis
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
    """
    held = [row[at] for row in table.rows]
    ends = {(cell.floor, cell.ceiling) for cell in held if isinstance(cell, Span)}
    if at not in drawn_columns(table) or len(ends) != 1:
        return None
    low, high = (f"{end:.3g}" for end in ends.pop())
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
    aligned = [] if column.align == "left" else [f"heldout-{column.align}"]
    return _class_attribute([*aligned, _long(column.header).strip()])


def _long(text: str) -> str:
    """The class of a text with a word so long that it must be broken somewhere; other words stay whole."""
    return " heldout-long" if any(len(word) > LONGEST_WORD for word in text.split()) else ""


def _class_attribute(names: list[str]) -> Markup:
    from markupsafe import Markup

    given = " ".join(filter(None, names))
    return Markup(' class="{}"').format(given) if given else Markup()


def _table_name(table: Table) -> str:
    """What a table is called where only its name is heard."""
    if table.caption:
        return shorten(visible(table.caption), 100)
    headers = [shorten(visible(column.header), 20) for column in table.columns if column.header]
    return f"Table of {', '.join(headers[:6])}" if headers else "Table"


def _named_series(chart: Chart) -> list[Stroke | Dots]:
    series: list[Stroke | Dots] = [*chart.strokes, *chart.dots]
    return [one for one in series if one.name]


def _drawing(chart: Chart, stage: Stage) -> Markup:
    return _safe(chart_svg(chart, mark_at(chart, stage.driver(chart))))


def _matrix_cells(explorer: Explorer) -> list[list[tuple[float, str]]]:
    """Every count with the shade of its share of the row."""
    made = []
    for row in matrix_at(explorer, explorer.start):
        total = sum(row)
        made.append([(value, shade(value / total) if total > 0 else "") for value in row])
    return made


def _figures(explorer: Explorer) -> tuple[Figure, ...]:
    return figures_at(explorer, explorer.start)


def _limited(explorer: Explorer) -> bool:
    return any(one.low for one in explorer.figures)


def _value_words(figure: Figure) -> str:
    if math.isnan(figure.value) and figure.moving.undefined:
        return f"– ({visible(figure.moving.undefined)})"
    return number(figure.value, _figure_style(figure))


def _limit_words(figure: Figure) -> str:
    if math.isnan(figure.value) or (math.isnan(figure.low) and math.isnan(figure.high)):
        return ""
    return limits(figure.low, figure.high, _figure_style(figure))


def _figure_bar(figure: Figure) -> Markup:
    drawn = figure.moving.style == "share" and bool(figure.moving.low)
    return _safe(bar_svg(Span(figure.value, figure.low, figure.high)) if drawn else "")


def _figure_style(figure: Figure) -> Style:
    return figure.moving.style  # type: ignore[return-value]


def _start_words(explorer: Explorer) -> str:
    return plainest(explorer.positions[explorer.start])


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
    "briefly": briefly,
    "classes": _classes,
    "count": count,
    "drawing": _drawing,
    "drawn": drawn_columns,
    "exact": _exact,
    "figure_bar": _figure_bar,
    "figures": _figures,
    "head": _head,
    "headed": lambda table: any(column.header for column in table.columns),
    "kind": lambda block: type(block).__name__,
    "limit_words": _limit_words,
    "limited": _limited,
    "long": _long,
    "mark_swatch": lambda _: _safe(mark_swatch_svg()),
    "matrix_cells": _matrix_cells,
    "named_series": _named_series,
    "payload_json": lambda explorer: _safe(script_json(payload(explorer))),
    "plainest": plainest,
    "points_table": points_table,
    "runs": runs,
    "shorten": shorten,
    "start_words": _start_words,
    "swatch": lambda series: _safe(swatch_svg(series)),
    "table_name": _table_name,
    "track_ends": track_ends,
    "value_words": _value_words,
    "visible": visible,
    "visible_lines": visible_lines,
    "words": words,
}
