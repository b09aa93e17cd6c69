"""Several answers in one document: an evaluation, a comparison and a learning curve on one page."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import ClassVar

from heldout.errors import OptionError
from heldout.result import ROW_KEYS, Result, find_backend, keep_backend
from heldout.show.blocks import Block, Cell, Facts, Number, Overview, Prose, Section, Table, Title
from heldout.show.escape import visible
from heldout.show.explorer import Explorer
from heldout.show.text_width import shorten


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
        return _of_table(block, prefix)
    if isinstance(block, Overview):
        more, below = (None if table is None else _of_table(table, prefix) for table in (block.more, block.below))
        figures_table = _of_table(block.figures, prefix)
        return replace(block, figures=figures_table, more=more, below=below, findings=f"{prefix}{block.findings}")
    if isinstance(block, Explorer):
        figures = tuple(replace(f, how=f"{prefix}{f.how}") if f.how else f for f in block.figures)
        return replace(block, figures=figures)
    return block


def _of_table(table: Table, prefix: str) -> Table:
    return replace(table, rows=tuple(tuple(_cell(cell, prefix) for cell in row) for row in table.rows))


def _cell(cell: Cell, prefix: str) -> Cell:
    return replace(cell, how=f"{prefix}{cell.how}") if isinstance(cell, Number) and cell.how else cell


NAMED = 80


@dataclass(frozen=True, repr=False, eq=False)
class Report(Result):
    """Answers that belong together, each under a heading of its own.

    Parameters
    ----------
    parts : result or sequence of results
        What stands in it, in this order.
    title : str
        What stands above all of them.

    Examples
    --------
    >>> from heldout.intervals.estimate import Estimate
    >>> one = Estimate("accuracy", None, None, 0.9, 0.8, 0.95, 0.95, "wilson", 50)
    >>> report = Report([one, one], title="Twice")
    >>> len(report), [part["schema"] for part in report.to_dict()["parts"]]
    (2, ['heldout/estimate@1', 'heldout/estimate@1'])

    """

    schema: ClassVar[str] = "heldout/report@1"
    # The parts hold their own rows.
    rows_name: ClassVar[str] = ""

    parts: tuple[Result, ...]
    title: str = ""

    def __init__(self, parts: Result | Iterable[Result], title: str = "") -> None:
        results = (parts,) if isinstance(parts, Result) else tuple(parts)
        wrong = [part for part in results if not isinstance(part, Result)]
        if wrong:
            raise OptionError(
                f"A report is made of results. Got {type(wrong[0]).__name__}.",
                hint="pass what evaluate, validate, compare or learning_curve returned.",
            )
        if not results:
            raise OptionError("A report needs a part, and there is none.", hint="pass at least one result.")
        object.__setattr__(self, "parts", results)
        keep_backend(self, find_backend(results))
        object.__setattr__(self, "title", str(title))

    def _describe(self) -> str:
        return f"Report of {len(self.parts)} parts"

    def __len__(self) -> int:
        return len(self.parts)

    def rows(self) -> list[dict[str, object]]:
        """The rows of all parts, each with the number of its part as `answer`."""
        rows: list[dict[str, object]] = []
        for number, part in enumerate(self.parts, 1):
            for row in part.rows():
                head = {key: row.get(key) for key in ROW_KEYS}
                rows.append({**head, "answer": number, **{k: v for k, v in row.items() if k not in head}})
        return rows

    def facts(self) -> dict[str, object]:
        """The title, and the document of each part."""
        return {"title": self.title, "parts": [part.to_dict() for part in self.parts]}

    def blocks(self) -> list[Block]:
        """Every part under its own heading."""
        return self._together([part.blocks() for part in self.parts], contents=False)

    def page_blocks(self) -> list[Block]:
        """Every part as on a page of its own, with a table of contents before them."""
        return self._together([part.page_blocks() for part in self.parts], contents=True)

    def _together(self, block_lists: list[list[Block]], *, contents: bool) -> list[Block]:
        headed = [_headed(blocks, f"Part {number}") for number, blocks in enumerate(block_lists, 1)]
        names = [shorten(visible(title.text), NAMED) for title, _ in headed]
        parts = f"{len(block_lists)} part" + "s" * (len(block_lists) != 1)
        page: list[Block] = [Title(self.title or "Report", parts)]
        if contents:
            page.append(Facts(tuple((str(number), name) for number, name in enumerate(names, 1))))
        for number, (name, (title, blocks)) in enumerate(zip(names, headed, strict=True), 1):
            inner = renamed([*_detail(title, name), *blocks], f"part-{number}-")
            page.append(Section(name, tuple(inner), f"part-{number}"))
        return page


def _headed(blocks: list[Block], otherwise: str) -> tuple[Title, list[Block]]:
    """The title that a part begins with, and the rest of it."""
    if blocks and isinstance(blocks[0], Title):
        return blocks[0], blocks[1:]
    return Title(otherwise), blocks


def _detail(title: Title, name: str) -> list[Block]:
    """What the title said beyond the heading: all of it where it was too long."""
    whole_title = [title.text] if name != title.text and name != visible(title.text) else []
    return [Prose(text) for text in (*whole_title, title.detail) if text]
