"""The page and the summary that the command line writes."""

from __future__ import annotations

import pytest

from heldout.cli.output import SUMMARY, cut_markdown, with_command
from heldout.show.blocks import Block, Prose, Section, Verbatim, provenance_section
from heldout.show.markdown import render_markdown


def test_the_command_stands_with_where_the_page_comes_from():
    blocks: list[Block] = [Prose("a"), provenance_section([("file", "x.csv")])]
    told = with_command(blocks, "heldout evaluate 'a b.csv'")
    section = told[1]
    assert isinstance(section, Section)
    assert section.blocks[-1] == Verbatim("heldout evaluate 'a b.csv'")
    assert with_command(blocks, "") == blocks


@pytest.mark.parametrize("line", ["short", "ü" * 300, "x" * 5000])
def test_markdown_for_a_summary_is_cut_at_a_line_and_says_so(line):
    text = render_markdown([Prose("\n".join([line] * (2 * SUMMARY // len(line))))])
    cut = cut_markdown(text)
    assert len(cut.encode()) <= SUMMARY
    *kept, empty, said = cut.split("\n")
    assert text.startswith("\n".join(kept))
    assert not empty
    assert f"{len(kept):,} of" in said


def test_markdown_that_fits_is_left_as_it_is():
    assert cut_markdown("one\ntwo") == "one\ntwo"
