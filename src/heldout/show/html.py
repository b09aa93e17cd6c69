"""Blocks as HTML: a fragment for notebooks, or a page that needs nothing else."""

from __future__ import annotations

import html
import math
from typing import TYPE_CHECKING

from heldout.show.bars import fraction
from heldout.show.blocks import (
    Block,
    Cell,
    Column,
    Facts,
    Heat,
    Note,
    Prose,
    Span,
    Table,
    Title,
    drawn_columns,
)
from heldout.show.numbers import words
from heldout.show.printable import visible, visible_lines

if TYPE_CHECKING:
    from collections.abc import Iterable

# Colours come from the page around (currentColor and see-through greys), so light and dark both read.
STYLE = """\
.heldout-doc{line-height:1.45;max-width:62rem}
.heldout-doc .heldout-title{font-size:1.25em;font-weight:600;margin:.4em 0 .1em}
.heldout-doc .heldout-detail,.heldout-doc .heldout-facts dt{opacity:.72}
.heldout-doc p{margin:.4em 0}
.heldout-doc .heldout-label{font-weight:600;margin-right:.7em}
.heldout-doc .heldout-note{border-left:3px solid rgba(127,127,127,.45);padding:.1em 0 .1em .7em}
.heldout-doc .heldout-warning{border-left-color:#d55e00}
.heldout-doc table{border-collapse:collapse;margin:.8em 0;font-variant-numeric:tabular-nums}
.heldout-doc caption{text-align:left;font-style:italic;padding:.2em 0}
.heldout-doc th,.heldout-doc td{padding:.2em .7em;text-align:left;border:0;background:none;vertical-align:top}
.heldout-doc th{font-weight:600}
.heldout-doc tbody th{font-weight:400;overflow-wrap:anywhere;max-width:24em}
.heldout-doc thead tr{border-bottom:1px solid currentColor}
.heldout-doc tbody tr{border-bottom:1px solid rgba(127,127,127,.22)}
.heldout-doc .heldout-figure{white-space:nowrap}
.heldout-doc .heldout-right{text-align:right}
.heldout-doc .heldout-center{text-align:center}
.heldout-doc .heldout-bar{display:block;color:inherit}
.heldout-doc .heldout-facts{display:grid;grid-template-columns:max-content 1fr;gap:.15em 1em;margin:.6em 0}
.heldout-doc .heldout-facts dd{margin:0}
.heldout-doc .heldout-verbatim{overflow-x:auto;font-family:ui-monospace,monospace;margin:.8em 0}
"""
_SEVERITIES = {"warning": "Warning", "note": "Note"}
_BAR_WIDTH, _BAR_HEIGHT, _BAR_INSET = 150, 16, 5


def render_html(blocks: Iterable[Block], *, style: bool = True) -> str:
    r"""The blocks as one `div`; `style` puts the few rules it needs in front.

    >>> render_html([Prose("a < b", label="Verdict")], style=False)
    '<div class="heldout-doc">\n<p><span class="heldout-label">Verdict</span>a &lt; b</p>\n</div>'
    """
    parts = [f"<style>\n{STYLE}</style>"] if style else []
    parts.append('<div class="heldout-doc">')
    parts += [_block(block) for block in blocks]
    parts.append("</div>")
    return "\n".join(parts)


def render_page(blocks: Iterable[Block], *, title: str) -> str:
    """The blocks as a whole page, for a file that a browser opens.

    >>> render_page([], title="Iris").splitlines()[0]
    '<!doctype html>'
    """
    return "\n".join(
        [
            "<!doctype html>",
            '<html lang="en">',
            '<head><meta charset="utf-8"><meta name="viewport" content="width=device-width">',
            f"<title>{escape(title)}</title>",
            "<style>",
            ":root{color-scheme:light dark}body{font-family:system-ui,sans-serif;margin:2rem}",
            f"{STYLE}</style></head>",
            "<body>",
            render_html(blocks, style=False),
            "</body>",
            "</html>",
            "",
        ]
    )


def escape(text: str) -> str:
    """Text that HTML shows as it is, in content or in an attribute.

    >>> escape('<b title="x">')
    '&lt;b title=&quot;x&quot;&gt;'
    """
    return html.escape(visible(text), quote=True)


def _block(block: Block) -> str:
    if isinstance(block, Table):
        return _table(block)
    if isinstance(block, Title):
        detail = f'\n<p class="heldout-detail">{escape(block.detail)}</p>' if block.detail else ""
        return f'<h2 class="heldout-title">{escape(block.text)}</h2>{detail}'
    if isinstance(block, Prose):
        label = f'<span class="heldout-label">{escape(block.label)}</span>' if block.label else ""
        return f"<p>{label}{'<br>'.join(escape(line) for line in block.text.split(chr(10)))}</p>"
    if isinstance(block, Note):
        kind = " heldout-warning" if block.severity == "warning" else ""
        label = " ".join(filter(None, [_SEVERITIES[block.severity], block.code]))
        return (
            f'<p class="heldout-note{kind}"><span class="heldout-label">{escape(label)}</span>{escape(block.text)}</p>'
        )
    if isinstance(block, Facts):
        pairs = "".join(f"<dt>{escape(name)}</dt><dd>{escape(value)}</dd>" for name, value in block.pairs)
        return f'<dl class="heldout-facts">{pairs}</dl>'
    lines = "\n".join(html.escape(line) for line in visible_lines(block.text))
    # A parser drops a newline that directly follows the opening tag.
    return f'<pre class="heldout-verbatim">\n{lines}</pre>'


def _table(table: Table) -> str:
    drawn = drawn_columns(table)
    lines = ["<table>"]
    if table.caption:
        lines.append(f"<caption>{escape(table.caption)}</caption>")
    if any(column.header for column in table.columns):
        heads = "".join(_head(column) for column in table.columns)
        lines.append(f"<thead><tr>{heads}</tr></thead>")
    lines.append("<tbody>")
    for row in table.rows:
        entries = [
            _entry(cell, column, at, at in drawn)
            for at, (cell, column) in enumerate(zip(row, table.columns, strict=True))
        ]
        lines.append(f"<tr>{''.join(entries)}</tr>")
    return "\n".join([*lines, "</tbody>", "</table>"])


def _head(column: Column) -> str:
    named = "" if column.align == "left" else f' class="heldout-{column.align}"'
    # An empty header cell heads nothing: assistive software should not announce it.
    return f'<th scope="col"{named}>{escape(column.header)}</th>' if column.header else f"<td{named}></td>"


def _entry(cell: Cell, column: Column, at: int, drawn: bool) -> str:
    names = [] if isinstance(cell, str) or cell is None else ["heldout-figure"]
    if column.align != "left":
        names.append(f"heldout-{column.align}")
    attributes = f' class="{" ".join(names)}"' if names else ""
    if isinstance(cell, Heat) and cell.share > 0:
        # Half-strength at most, so that text of either colour stays readable on it.
        attributes += f' style="background:rgba(0,114,178,{min(cell.share, 1.0) * 0.5:.3f})"'
    if drawn and isinstance(cell, Span):
        return f"<td{attributes}>{_bar(cell)}</td>"
    if not at and isinstance(cell, str):
        return f'<th scope="row"{attributes}>{escape(cell)}</th>'
    return f"<td{attributes}>{escape(words(cell))}</td>"


def _bar(span: Span) -> str:
    """The interval as a line with ends and a point, in the colour of the text."""
    middle = _BAR_HEIGHT / 2
    marks = [_stroke(0, middle, _BAR_WIDTH, middle, 0.2)]
    if span.floor < 0 < span.ceiling:
        zero = _across(0.0, span)
        marks.append(_stroke(zero, 0, zero, _BAR_HEIGHT, 0.35))
    if not math.isnan(span.value):
        if not (math.isnan(span.low) or math.isnan(span.high)):
            low, high = _across(span.low, span), _across(span.high, span)
            marks.append(_stroke(low, middle, high, middle, 1))
            ends = [low] * (span.low >= span.floor) + [high] * (span.high <= span.ceiling)
            marks += [_stroke(end, middle - 4, end, middle + 4, 1) for end in ends]
        if span.floor <= span.value <= span.ceiling:
            marks.append(f'<circle cx="{_across(span.value, span):.1f}" cy="{middle:g}" r="3" fill="currentColor"/>')
    return (
        f'<svg class="heldout-bar" role="img" aria-label="{escape(words(span))}" width="{_BAR_WIDTH}" '
        f'height="{_BAR_HEIGHT}" viewBox="0 0 {_BAR_WIDTH} {_BAR_HEIGHT}">{"".join(marks)}</svg>'
    )


def _across(value: float, span: Span) -> float:
    return _BAR_INSET + fraction(value, span) * (_BAR_WIDTH - 2 * _BAR_INSET)


def _stroke(x1: float, y1: float, x2: float, y2: float, opacity: float) -> str:
    return (
        f'<line x1="{x1:.1f}" y1="{y1:g}" x2="{x2:.1f}" y2="{y2:g}" '
        f'stroke="currentColor" stroke-opacity="{opacity:g}"/>'
    )
