"""Blocks as text for a terminal, with or without colour."""

from __future__ import annotations

from typing import TYPE_CHECKING

from heldout.show.blocks import Block, Facts, Note, Prose, Section, Table, Title, Verbatim
from heldout.show.fitting import cells, pad, plain_text, shorten, wrap
from heldout.show.grid import Line, table_lines
from heldout.show.printable import visible_lines

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from rich.console import Console, ConsoleOptions, RenderResult
    from rich.measure import Measurement

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
    return "\n".join("".join(_painted(text, style) for text, style in line).rstrip() for line in lines)


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
            for text, style in line:
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
        if not laid:
            continue
        if before is not None and not _together(before, block):
            lines.append([])
        lines += laid
        before = block
    return lines


def _together(first: Block, second: Block) -> bool:
    """Notes follow each other, and the labelled sentence that announces them, without a gap."""
    announced = isinstance(first, Note) or (isinstance(first, Prose) and bool(first.label))
    return announced and isinstance(second, Note)


def _block_lines(block: Block, width: int) -> list[Line]:
    reading = min(width, WIDTH)
    if isinstance(block, Table):
        return table_lines(block, width)
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
