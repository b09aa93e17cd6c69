"""Blocks as text for a terminal, with or without colour; an interval as a bar with its axis above."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, TypeAlias

from heldout.show.blocks import (
    Block,
    Cell,
    Facts,
    Heat,
    Note,
    Overview,
    Prose,
    Section,
    Span,
    Table,
    Title,
    Verbatim,
    drawn_columns,
    header_places,
    pick,
    without_drawn,
)
from heldout.show.escape import visible_lines
from heldout.show.numbers import plain, words
from heldout.show.text_width import cells, pad, plain_text, shorten, wrap

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from rich.console import Console, ConsoleOptions, RenderResult
    from rich.measure import Measurement

    from heldout.show.blocks import Align

Piece: TypeAlias = tuple[str, str]
"""A text and the name of its terminal style; no style is the empty name."""
Line: TypeAlias = list[Piece]

HEADER = "bold"
CAPTION = "italic"
# Cells that words keep when a table is squeezed; figures are never cut while there is another way.
_COLUMN_LABEL, _LEGIBLE, _WRAPPED = 8, 28, 24
# A header over several columns keeps this much of what it says.
_HEADING = 20


# Where a header may be broken: at a space, which is kept, and after a dash that joins two words.
_BREAKS = re.compile(r"( )|(?<=\w–)(?=\w)")


@dataclass(frozen=True, slots=True)
class _Laid:
    """One column in words: what it says, how wide it is with its header folded, and how far it may be squeezed."""

    header: str
    texts: list[str]
    natural: int
    least: int
    folded: int


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
    # What stands under one header stays together.
    for together in header_places(table)[1:]:
        wanted = [least[0], *(least[other] for other in [*panels[-1], *together])]
        if panels[-1] and _total(wanted) > width:
            panels.append([])
        panels[-1] += together
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
            wide = max(TRACK, cells(header))
            laid.append(_Laid(header, bars, wide, TRACK, wide))
            continue
        texts = [plain_text(words(entry)) for entry in entries]
        sizes = [cells(text) for text in texts]
        natural = max([cells(header) if column.spans == 1 else 0, *sizes])
        figures = max((size for size, entry in zip(sizes, entries, strict=True) if _figure(entry)), default=0)
        label = _WRAPPED if column.wrap else _COLUMN_LABEL
        own = max([*map(cells, _BREAKS.split(header)[::2]), *sizes]) if column.spans == 1 else natural
        laid.append(_Laid(header, texts, natural, max(figures, min(natural, label)), own))
    for together in header_places(table):
        if len(together) > 1:
            _make_room(laid, together)
    return laid


def _make_room(laid: list[_Laid], together: range) -> None:
    """Widen the last of some columns where their header is wider than all of them."""
    under, last = [laid[at] for at in together], together[-1]
    header = cells(under[0].header)
    natural = header - _total([column.natural for column in under])
    least = min(header, _HEADING) - _total([column.least for column in under])
    wide = laid[last]
    more = max(natural, 0)
    laid[last] = replace(wide, natural=wide.natural + more, least=wide.least + max(least, 0), folded=wide.folded + more)


def _figure(cell: Cell) -> bool:
    return cell is not None and not isinstance(cell, str)


def _panel_lines(table: Table, width: int) -> list[Line]:
    laid = _laid(table)
    gap = 3 if _total([column.natural for column in laid], 3) <= width else 2
    widths = _squeezed(laid, width - gap * (len(laid) - 1))
    space: Piece = (" " * gap, "")
    lines: list[Line] = []
    if any(column.header for column in laid):
        lines += _head_lines(table, laid, widths, gap)
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


def _head_lines(table: Table, laid: list[_Laid], widths: list[int], gap: int) -> list[Line]:
    """The headers, in several lines where one is too long: the last of each stands on the figures."""
    heads: list[tuple[list[str], int, Align]] = []
    for together in header_places(table):
        room = _total([widths[at] for at in together], gap)
        # Over several columns it begins where the first of them does.
        align = table.columns[together[0]].align if len(together) == 1 else "left"
        heads.append((_fold_header(laid[together[0]].header, room), room, align))
    deepest = max(len(parts) for parts, _, _ in heads)
    return [
        _joined(
            [
                (pad(parts[depth - deepest] if depth >= deepest - len(parts) else "", room, align), HEADER)
                for parts, room, align in heads
            ],
            (" " * gap, ""),
        )
        for depth in range(deepest)
    ]


def _fold_header(header: str, room: int) -> list[str]:
    """The header in lines broken at spaces and after dashes; cut in the middle where a word is wider than the room."""
    if cells(header) <= room:
        return [header]
    first, *rest = _BREAKS.split(header)
    if max(map(cells, (first, *rest[1::2]))) > room:
        return [shorten(header, room)]
    lines = [first]
    for space, word in zip(rest[::2], rest[1::2], strict=True):
        joint = space or ""
        if cells(lines[-1]) + len(joint) + cells(word) <= room:
            lines[-1] += joint + word
        else:
            lines.append(word)
    return lines


def _joined(pieces: Line, space: Piece) -> Line:
    line: Line = []
    for piece in pieces:
        line += [space, piece] if line else [piece]
    return line


def _squeezed(laid: list[_Laid], room: int) -> list[int]:
    """Column widths within the room: headers are folded where that is enough, otherwise the widest gives way."""
    enough = sum(column.folded for column in laid) <= room < sum(column.natural for column in laid)
    wanted = [column.folded if enough else column.natural for column in laid]

    def capped(cap: int) -> list[int]:
        return [max(column.least, min(wide, cap)) for column, wide in zip(laid, wanted, strict=True)]

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


WIDTH = 100
"""Cells to a line of sentences, however wide the screen: longer lines are hard to read."""
_NARROWEST = 20
_LABEL = 10
_MARKS = {"warning": ("!", "bold yellow"), "note": ("·", "dim")}


def render_text(blocks: Iterable[Block], *, width: int = WIDTH, colour: bool = False) -> str:
    """The blocks as lines of at most `width` cells (20 or more), for print or a log.

    With `colour` the same words carry ANSI colours, for a terminal that is known to show them.

    >>> print(render_text([Prose("Better than chance.", label="Verdict"), Note("Few cases.", code="H020")]))
    Verdict   Better than chance.
    · H020  Few cases.
    """
    lines = lay_out(list(blocks), max(width, _NARROWEST))
    if not colour:
        return "\n".join("".join(text for text, _ in line).rstrip() for line in lines)
    return "\n".join("".join(_painted(text, style) for text, style in line) for line in lines)


def to_rich(blocks: Iterable[Block], width: int | None = None) -> Screen:
    """The blocks for `rich.print`: they take the console's width, or `width` if that is less.

    >>> to_rich([Title("Iris")]).width is None
    True
    """
    return Screen(tuple(blocks), width)


class Screen:
    """Blocks that rich lays out when it knows the console; user text is never read as markup."""

    __slots__ = ("blocks", "width")

    def __init__(self, blocks: tuple[Block, ...], width: int | None = None) -> None:
        self.blocks = blocks
        self.width = width

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        from rich.segment import Segment

        room = options.max_width if self.width is None else min(self.width, options.max_width)
        for line in lay_out(self.blocks, max(room, _NARROWEST)):
            # Without colour nothing is shaded, and no space at the end of a line is seen.
            for text, style in line if console.color_system else _trimmed([(text, "") for text, _ in line]):
                yield Segment(text, console.get_style(style) if style else None)
            yield Segment.line()

    def __rich_measure__(self, console: Console, options: ConsoleOptions) -> Measurement:
        from rich.measure import Measurement

        most = options.max_width if self.width is None else min(self.width, options.max_width)
        return Measurement(min(_NARROWEST, most), most)


def lay_out(blocks: Sequence[Block], width: int) -> list[Line]:
    """The blocks in lines of styled pieces, a blank line between those that do not belong together.

    >>> lay_out([Title("Iris", detail="150 cases")], 40)
    [[('Iris', 'bold')], [('150 cases', 'dim')]]
    """
    lines: list[Line] = []
    before: Block | None = None
    for block in blocks:
        laid = _section_lines(block, width) if isinstance(block, Section) else _block_lines(block, width)
        laid = [_trimmed(line) for line in laid]
        if not laid:
            continue
        if before is not None and not _together(before, block):
            lines.append([])
        lines += laid
        before = block
    return lines


def _trimmed(line: Line) -> Line:
    """The line without the spaces at its end; those of a shaded cell are seen, and stay."""
    kept = list(line)
    while kept:
        text, style = kept.pop()
        text = text if " on " in style else text.rstrip(" ")
        if text:
            return [*kept, (text, style)]
    return []


def _together(first: Block, second: Block) -> bool:
    """Notes follow each other, and the labelled sentence that announces them, without a gap."""
    announced = isinstance(first, Note) or (isinstance(first, Prose) and bool(first.label))
    return announced and isinstance(second, Note)


def _block_lines(block: Block, width: int) -> list[Line]:
    reading = min(width, WIDTH)
    if isinstance(block, Table | Overview):
        return table_lines(block.figures if isinstance(block, Overview) else block, width)
    if isinstance(block, Title):
        lines: list[Line] = [[(text, "bold")] for text in wrap(plain_text(block.text), reading)]
        return lines + [[(text, "dim")] for text in wrap(plain_text(block.detail), reading) if text]
    if isinstance(block, Prose):
        return _prose_lines(block, reading)
    if isinstance(block, Note):
        mark, style = _MARKS[block.severity]
        label = plain_text(f"{mark} {block.code}  " if block.code else f"{mark} ")
        return _beside(shorten(label, reading // 2), style, wrap_at=reading, text=[block.text])
    if isinstance(block, Facts):
        return _fact_lines(block, reading)
    # A terminal neither draws charts nor has a slider to move.
    return _verbatim_lines(block, width) if isinstance(block, Verbatim) else []


def _section_lines(block: Section, width: int) -> list[Line]:
    """The heading and what stands under it; nothing where there is nothing that a terminal shows."""
    under = lay_out(block.blocks, width)
    heading: list[Line] = [[(text, "bold")] for text in wrap(plain_text(block.title), min(width, WIDTH)) if text]
    return [*heading, *under] if under else []


def _prose_lines(block: Prose, width: int) -> list[Line]:
    text = block.text.split("\n")
    if not block.label:
        return [[(part, "")] for line in text for part in wrap(plain_text(line), width)]
    label = shorten(plain_text(block.label), width // 2 - 2)
    return _beside(pad(label + "  ", _LABEL), "bold", wrap_at=width, text=text)


def _beside(label: str, style: str, *, wrap_at: int, text: list[str]) -> list[Line]:
    """Wrapped text in its own column to the right of a label."""
    indent = cells(label)
    parts = [part for line in text for part in wrap(plain_text(line), wrap_at - indent)]
    return [[(label, style) if not at else (" " * indent, ""), (part, "")] for at, part in enumerate(parts)]


def _fact_lines(block: Facts, width: int) -> list[Line]:
    names = [shorten(plain_text(name), max(width // 3, 6)) for name, _ in block.pairs]
    widest = max(map(cells, names), default=0)
    lines: list[Line] = []
    for name, (_, value) in zip(names, block.pairs, strict=True):
        lines += _beside(pad(name, widest) + "   ", "dim", wrap_at=width, text=[value])
    return lines


def _verbatim_lines(block: Verbatim, width: int) -> list[Line]:
    from rich.cells import chop_cells

    lines: list[Line] = []
    for line in visible_lines(block.text):
        parts = chop_cells(plain_text(line), width) or [""]
        lines += [[(plain_text(part), "")] for part in parts]
    return lines


def _painted(text: str, style: str) -> str:
    if not style:
        return text
    from rich.color import ColorSystem
    from rich.style import Style

    return Style.parse(style).render(text, color_system=ColorSystem.TRUECOLOR)


TRACK = 27


def bar(span: Span, track: int = TRACK) -> str:
    """The interval as `├──●──┤`, with an arrow where it leaves the track.

    An interval narrower than a cell still gets its two ends, and an end that coincides with the value
    gets none: a value of exactly 1 has nothing to its right.

    >>> bar(Span(0.5, 0.3, 0.7), track=21)
    '      ├───●───┤      '
    """
    marks = [" "] * track
    zero = _zero(span, track)
    if zero is not None:
        marks[zero] = "┊"
    if not (math.isfinite(span.value) and span.ceiling > span.floor):
        return "".join(marks)
    point = _place(span.value, span, track)
    if not (math.isnan(span.low) or math.isnan(span.high)):
        low = _apart(_place(span.low, span, track), point, span.low - span.value)
        high = _apart(_place(span.high, span, track), point, span.high - span.value)
        for at in range(max(low, 0), min(high, track - 1) + 1):
            marks[at] = "─"
        _end(marks, low, "├", outside=span.low < span.floor)
        _end(marks, high, "┤", outside=span.high > span.ceiling)
    marks[point] = "←" if span.value < span.floor else "→" if span.value > span.ceiling else "●"
    return "".join(marks)


def axis(spans: Iterable[Span], track: int = TRACK) -> str:
    """The axis that all these intervals share, or nothing if they do not share one.

    >>> axis([Span(0.5, 0.4, 0.6)], track=11), axis([Span(0, 0, 0, -1, 1)], track=21)
    ('0 ─────── 1', '-1 ────── 0 ─────── 1')
    """
    ends = {(span.floor, span.ceiling) for span in spans}
    if len(ends) != 1:
        return ""
    floor, ceiling = ends.pop()
    left, right = _tick(floor), _tick(ceiling)
    room = track - len(left) - len(right) - 2
    if not (math.isfinite(floor) and math.isfinite(ceiling)) or room < 1:
        return ""
    marks = list(f"{left} {'─' * room} {right}")
    zero = _zero(Span(0, 0, 0, floor, ceiling), track)
    if zero is not None and len(left) + 2 < zero < track - len(right) - 3:
        marks[zero - 1 : zero + 2] = " 0 "
    return "".join(marks)


def _place(value: float, span: Span, track: int) -> int:
    at = span.find_fraction(value) * (track - 1)
    return math.floor(at + 0.5) if math.isfinite(at) else 0


def _zero(span: Span, track: int) -> int | None:
    return _place(0.0, span, track) if span.floor < 0 < span.ceiling else None


def _apart(end: int, point: int, side: float) -> int:
    """At least one cell away from the point on its side, unless the end is the value itself."""
    if side < 0:
        return min(end, point - 1)
    return max(end, point + 1) if side > 0 else point


def _end(marks: list[str], at: int, mark: str, *, outside: bool) -> None:
    if outside:
        marks[0 if mark == "├" else -1] = "←" if mark == "├" else "→"
    elif 0 <= at < len(marks):
        marks[at] = mark


def _tick(value: float) -> str:
    if float(value).is_integer() and abs(value) < 1e6:
        return str(int(value))
    text = f"{value:.3g}"
    return text.replace("0.", ".", 1) if abs(value) < 1 and "e" not in text else plain(value, 3)
