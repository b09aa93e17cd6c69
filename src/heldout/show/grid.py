"""Tables laid out in lines of text that never exceed a width."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from heldout.show.bars import TRACK, axis, bar
from heldout.show.blocks import Cell, Heat, Span, Table, drawn_columns, pick, without_drawn
from heldout.show.fitting import cells, pad, plain_text, shorten, wrap
from heldout.show.numbers import words

Piece: TypeAlias = tuple[str, str]
"""A text and the name of its terminal style; no style is the empty name."""
Line: TypeAlias = list[Piece]

HEADER = "bold"
CAPTION = "italic"
# Cells that words keep when a table is squeezed; figures are never cut while there is another way.
_LABEL, _LEGIBLE, _WRAPPED = 8, 20, 24


@dataclass(frozen=True, slots=True)
class _Laid:
    """One column in words: what it says and how far it may be squeezed."""

    header: str
    texts: list[str]
    natural: int
    least: int


def table_lines(table: Table, width: int) -> list[Line]:
    """The lines of a table; one that is too wide drops its drawings, then continues below itself.

    >>> from heldout.show.blocks import Column
    >>> for line in table_lines(Table((Column("class"), Column("n", "right")), (("a", 1649),)), 40):
    ...     print("".join(text for text, _ in line))
    class       n
    a       1,649
    """
    lines: list[Line] = [[(text, CAPTION)] for text in wrap(plain_text(table.caption), width) if text]
    for number, panel in enumerate(_panels(table, width)):
        if number:
            lines.append([])
        lines += _panel_lines(panel, width)
    return lines


def _panels(table: Table, width: int) -> list[Table]:
    """The table itself if it fits, else without its drawings, else in parts under the first column."""
    laid = _laid(table)
    least = [column.least for column in laid]
    bare = without_drawn(table)
    if bare is not table and bare.columns:
        # A drawing repeats what the figures say: it goes before the names beside it become hard to read.
        legible = [max(column.least, min(column.natural, _LEGIBLE)) for column in laid]
        return [table] if _total(legible) <= width else _panels(bare, width)
    if _total(least) <= width:
        return [table]
    if len(least) < 3:
        return [table]
    panels: list[list[int]] = [[]]
    for at in range(1, len(least)):
        wanted = [least[0], *(least[other] for other in [*panels[-1], at])]
        if panels[-1] and _total(wanted) > width:
            panels.append([])
        panels[-1].append(at)
    return [pick(table, [0, *kept]) for kept in panels]


def _total(widths: list[int], gap: int = 2) -> int:
    return sum(widths) + gap * (len(widths) - 1)


def _laid(table: Table) -> list[_Laid]:
    drawn = drawn_columns(table)
    laid = []
    for at, column in enumerate(table.columns):
        entries = [row[at] for row in table.rows]
        header = plain_text(column.header)
        if at in drawn:
            header = header or axis(entry for entry in entries if isinstance(entry, Span))
            bars = [bar(entry) if isinstance(entry, Span) else "" for entry in entries]
            laid.append(_Laid(header, bars, max(TRACK, cells(header)), TRACK))
            continue
        texts = [plain_text(words(entry)) for entry in entries]
        sizes = [cells(text) for text in texts]
        natural = max([cells(header), *sizes])
        figures = max((size for size, entry in zip(sizes, entries, strict=True) if _figure(entry)), default=0)
        label = _WRAPPED if column.wrap else _LABEL
        laid.append(_Laid(header, texts, natural, max(figures, min(natural, label))))
    return laid


def _figure(cell: Cell) -> bool:
    return cell is not None and not isinstance(cell, str)


def _panel_lines(table: Table, width: int) -> list[Line]:
    laid = _laid(table)
    gap = 3 if _total([column.natural for column in laid], 3) <= width else 2
    widths = _squeezed(laid, width - gap * (len(laid) - 1))
    space: Piece = (" " * gap, "")
    lines: list[Line] = []
    if any(column.header for column in laid):
        heads = [
            pad(shorten(column.header, size), size, spec.align)
            for column, size, spec in zip(laid, widths, table.columns, strict=True)
        ]
        lines.append(_joined([(head, HEADER) for head in heads], space))
    for at, row in enumerate(table.rows):
        folded = [
            wrap(column.texts[at], size) if spec.wrap else [shorten(column.texts[at], size)]
            for column, size, spec in zip(laid, widths, table.columns, strict=True)
        ]
        for depth in range(max(map(len, folded), default=0)):
            pieces: Line = []
            for parts, size, spec, cell in zip(folded, widths, table.columns, row, strict=True):
                text = parts[depth] if depth < len(parts) else ""
                pieces.append((pad(text, size, spec.align), _shade(cell)))
            lines.append(_joined(pieces, space))
    return lines


def _joined(pieces: Line, space: Piece) -> Line:
    line: Line = []
    for piece in pieces:
        line += [space, piece] if line else [piece]
    return line


def _squeezed(laid: list[_Laid], room: int) -> list[int]:
    """Column widths within the room, the widest giving way first."""

    def capped(cap: int) -> list[int]:
        return [max(column.least, min(column.natural, cap)) for column in laid]

    # 10,000-character labels: the cap is searched for by halving, not counted down.
    fits, beyond = 0, max((column.natural for column in laid), default=0) + 1
    while beyond - fits > 1:
        cap = (fits + beyond) // 2
        if sum(capped(cap)) <= room:
            fits = cap
        else:
            beyond = cap
    widths = capped(fits)
    # Only a screen too narrow for two figures side by side still overflows here: cut, rather than spill.
    while sum(widths) > room and max(widths) > 1:
        widths[widths.index(max(widths))] -= 1
    return widths


def _shade(cell: Cell) -> str:
    """The terminal style of a cell: a blue background, deeper as the share grows, text kept readable."""
    if not isinstance(cell, Heat) or not cell.share > 0:
        return ""
    depth = min(cell.share, 1.0) ** 0.7
    shade = [round(light + (deep - light) * depth) for light, deep in ((222, 8), (235, 69), (247, 148))]
    # Relative luminance as in WCAG 2: black and white contrast equally with a grey of 0.179.
    parts = zip((0.2126, 0.7152, 0.0722), shade, strict=True)
    light = sum(weight * (level / 255) ** 2.2 for weight, level in parts)
    ink = "#000000" if light > 0.179 else "#ffffff"
    return f"{ink} on #{shade[0]:02x}{shade[1]:02x}{shade[2]:02x}"
