"""Blocks as Markdown with GitHub's tables."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

from heldout.show.blocks import (
    LONGEST_LABEL,
    Block,
    Facts,
    Note,
    Number,
    Overview,
    Prose,
    Section,
    Table,
    Title,
    Verbatim,
    without_drawn,
)
from heldout.show.escape import visible, visible_lines
from heldout.show.numbers import words
from heldout.show.text_width import shorten

if TYPE_CHECKING:
    from collections.abc import Iterable

_SPECIAL = re.compile(r"([\\`*_\[\]<>|~&$#])")
# What begins a list, a rule or the underline of a heading when it stands first on a line.
_LEADING = re.compile(r"^([+=-]|\d+(?=[.)]))")
_RULES = {"left": ":---", "right": "---:", "center": ":---:"}


def render_markdown(blocks: Iterable[Block]) -> str:
    r"""The blocks as Markdown; user text stays text, whatever it contains.

    >>> from heldout.show.blocks import Column
    >>> print(render_markdown([Table((Column("class"), Column("n", "right")), (("a|b", 3),))]))
    | class | n |
    | :--- | ---: |
    | a\|b | 3 |
    """
    return _blocks(blocks, 3)


def _blocks(blocks: Iterable[Block], level: int) -> str:
    """Blocks one after the other; sections among them have headings of this level."""
    parts: list[str] = []
    before: Block | None = None
    for block in blocks:
        text = _section(block, level) if isinstance(block, Section) else _block(block)
        if not text:
            continue
        if before is not None:
            parts.append("\n" if isinstance(before, Note) and isinstance(block, Note) else "\n\n")
        parts.append(text)
        before = block
    return "".join(parts)


def escape(text: str) -> str:
    r"""Text that Markdown shows as it is, within a line.

    >>> print(escape("f_score [x](y)"))
    f\_score \[x\](y)
    """
    return _SPECIAL.sub(r"\\\1", visible(text).strip(" "))


def _line(text: str) -> str:
    """Text that Markdown shows as it is where a line begins with it."""
    return _LEADING.sub(_defused, escape(text))


def _defused(match: re.Match[str]) -> str:
    character = match.group()
    # A backslash before a digit would be shown, so the mark after the digits is escaped instead.
    return f"{character}\\" if character[0].isdigit() else f"\\{character}"


def _block(block: Block) -> str:
    if isinstance(block, Table | Overview):
        return _table(block.figures if isinstance(block, Overview) else block)
    if isinstance(block, Title):
        heading = f"## {escape(block.text)}"
        return f"{heading}\n\n{_line(block.detail)}" if block.detail else heading
    if isinstance(block, Prose):
        lines = [line for line in map(_line, block.text.split("\n")) if line]
        # Two trailing spaces would be lost in editors; a backslash at the end also breaks the line.
        return _strong(block.label, "\\\n".join(lines))
    if isinstance(block, Note):
        label = " ".join(filter(None, [block.severity.capitalize(), block.code]))
        return f"- {_strong(label + ':', escape(block.text))}"
    if isinstance(block, Facts):
        return "\n".join(f"- {_strong(name + ':', escape(value))}" for name, value in block.pairs)
    # Charts and explorers have no form in Markdown.
    return _fenced(block) if isinstance(block, Verbatim) else ""


def _section(block: Section, level: int) -> str:
    under = _blocks(block.blocks, level + 1)
    heading = escape(block.title)
    # Without words a heading would be a line of nothing but marks.
    return "\n\n".join(filter(None, [f"{'#' * min(level, 6)} {heading}" if heading else "", under])) if under else ""


def _strong(label: str, text: str) -> str:
    # Emphasis needs a letter at either end, which user text may not have; HTML's tag needs nothing.
    shown = escape(label)
    if not shown:
        return text
    plain = re.fullmatch(r"[A-Za-z][\w .,()-]*:?", label) is not None
    return f"{f'**{shown}**' if plain else f'<strong>{shown}</strong>'} {text}".rstrip(" ")


def _table(table: Table) -> str:
    table = without_drawn(table)
    if not table.columns:
        return ""
    lines = [
        _row(escape(shorten(visible(column.header), LONGEST_LABEL)) for column in table.columns),
        _row(_RULES[column.align] for column in table.columns),
    ]
    # A column that wraps holds sentences; any other holds labels and figures.
    wraps = [column.wrap for column in table.columns]
    lines += [
        _row(
            f"**{escape(words(replace(cell, marked=False)))}**"
            if isinstance(cell, Number) and cell.marked
            else escape(words(cell) if wrapped else shorten(words(cell), LONGEST_LABEL))
            for cell, wrapped in zip(row, wraps, strict=True)
        )
        for row in table.rows
    ]
    body = "\n".join(lines)
    return f"{_strong(table.caption, '')}\n\n{body}" if table.caption.strip() else body


def _row(entries: Iterable[str]) -> str:
    return f"| {' | '.join(entries)} |"


def _fenced(block: Verbatim) -> str:
    lines = visible_lines(block.text)
    longest = max((len(run) for line in lines for run in re.findall("`+", line)), default=0)
    fence = "`" * max(3, longest + 1)
    return "\n".join([f"{fence}text", *lines, fence])
