"""What the markup of one block must know of the whole: headings, names that links point to, who moves which mark."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from heldout.show.blocks import Block, Cell, Number, Section
from heldout.show.drawing import Chart
from heldout.show.explorer import Explorer
from heldout.show.moving import ascending

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
    def of_fragment(cls, blocks: Sequence[Block]) -> Stage:
        """What a fragment needs: which explorer says where a chart is marked."""
        return cls(page=False, drivers=_drivers(blocks))

    @classmethod
    def of_page(cls, blocks: Sequence[Block]) -> Stage:
        """What a page needs; every section and explorer has an id that nothing else has.

        >>> Stage.of_page([Section("Recall", (), "how recall")]).named("how recall")
        'how-recall'
        """
        ids: dict[int, str] = {}
        names: dict[str, str] = {}
        taken = {"heldout-main", "heldout-dialog-title"}
        for block in flat(blocks):
            if isinstance(block, Section | Explorer):
                name = block.name if isinstance(block, Section) else "explorer"
                made = _free(_UNSAFE.sub("-", name).strip("-")[:60] or "section", taken)
                ids[id(block)] = made
                if isinstance(block, Section) and name:
                    names.setdefault(name, made)
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


def low_to_high(blocks: Iterable[Block]) -> list[Block]:
    """The blocks with the positions of every explorer in rising order."""
    made: list[Block] = []
    for block in blocks:
        if isinstance(block, Section):
            made.append(replace(block, blocks=tuple(low_to_high(block.blocks))))
        else:
            made.append(ascending(block) if isinstance(block, Explorer) else block)
    return made


def _drivers(blocks: Sequence[Block]) -> dict[int, Explorer]:
    """Each explorer moves the charts that follow it, the first one also those before it."""
    order = [block for block in flat(blocks) if isinstance(block, Explorer | Chart)]
    now = next((block for block in order if isinstance(block, Explorer)), None)
    found: dict[int, Explorer] = {}
    for block in order:
        if isinstance(block, Explorer):
            now = block
        elif now is not None and block.moves is not None:
            found[id(block)] = now
    return found


def _free(name: str, taken: set[str]) -> str:
    made, number = name, 1
    while made in taken:
        number += 1
        made = f"{name}-{number}"
    taken.add(made)
    return made
