"""Several documents on one page: the names of sections, and the links to them, made different."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from heldout.show.blocks import Block, Cell, Number, Section, Table
from heldout.show.explorer import Explorer


def renamed(blocks: Iterable[Block], prefix: str) -> list[Block]:
    """The blocks with `prefix` before every section's name, and before every link to one.

    >>> renamed([Section("A", (Section("B", (), "b"),), "a")], "x-")[0].blocks[0].name
    'x-b'
    """
    return [_renamed(block, prefix) for block in blocks]


def _renamed(block: Block, prefix: str) -> Block:
    if isinstance(block, Section):
        name = f"{prefix}{block.name}" if block.name else ""
        return replace(block, name=name, blocks=tuple(renamed(block.blocks, prefix)))
    if isinstance(block, Table):
        return replace(block, rows=tuple(tuple(_cell(cell, prefix) for cell in row) for row in block.rows))
    if isinstance(block, Explorer):
        figures = tuple(replace(f, how=f"{prefix}{f.how}") if f.how else f for f in block.figures)
        return replace(block, figures=figures)
    return block


def _cell(cell: Cell, prefix: str) -> Cell:
    return replace(cell, how=f"{prefix}{cell.how}") if isinstance(cell, Number) and cell.how else cell
