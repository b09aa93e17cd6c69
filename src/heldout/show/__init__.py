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
    Section,
    Span,
    Table,
    Title,
    Verbatim,
)
from heldout.show.chart import Axis, Chart, Dots, Ribbon, Stroke
from heldout.show.explorer import Explorer, Knob, Moving
from heldout.show.html import render_html, render_page
from heldout.show.latex import render_latex
from heldout.show.markdown import render_markdown
from heldout.show.text import render_text, to_rich

__all__ = [
    "Axis",
    "Block",
    "Cell",
    "Chart",
    "Column",
    "Dots",
    "Explorer",
    "Facts",
    "Heat",
    "Knob",
    "Moving",
    "Note",
    "Number",
    "Prose",
    "Range",
    "Ribbon",
    "Section",
    "Span",
    "Stroke",
    "Table",
    "Title",
    "Verbatim",
    "render_html",
    "render_latex",
    "render_markdown",
    "render_page",
    "render_text",
    "to_rich",
]
