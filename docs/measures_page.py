"""Writes docs/measures.md from the catalogue; `make docs` runs it."""

from __future__ import annotations

from pathlib import Path

from heldout.measures.catalogue import CATALOGUE
from heldout.report.explanations import measure_blocks
from heldout.show.blocks import Block, Prose, Title
from heldout.show.markdown import render_markdown

PAGE = Path(__file__).with_name("measures.md")
HEAD = "Written by make docs from the declarations in src/heldout/measures; change those, not this page."


def page() -> str:
    """The whole page, one section for each measure in the order of the catalogue."""
    blocks: list[Block] = [Title("The measures"), Prose(HEAD)]
    for name in CATALOGUE:
        blocks += measure_blocks(name)
    return render_markdown(blocks) + "\n"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
