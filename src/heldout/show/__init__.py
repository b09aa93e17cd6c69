"""What a reader sees: blocks, and the forms they are rendered in."""

from __future__ import annotations

from heldout.show.blocks import (
    Block,
    Cell,
    Column,
    Facts,
    Heat,
    Note,
    Number,
    Prose,
    Range,
    Span,
    Table,
    Title,
    Verbatim,
)
from heldout.show.html import render_html
from heldout.show.latex import render_latex
from heldout.show.markdown import render_markdown
from heldout.show.text import render_text, to_rich

__all__ = [
    "Block",
    "Cell",
    "Column",
    "Facts",
    "Heat",
    "Note",
    "Number",
    "Prose",
    "Range",
    "Span",
    "Table",
    "Title",
    "Verbatim",
    "render_html",
    "render_latex",
    "render_markdown",
    "render_text",
    "to_rich",
]
