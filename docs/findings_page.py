"""Writes docs/findings.md from the rules; `make docs` runs it."""

from __future__ import annotations

from pathlib import Path

from heldout.findings.review import RULE_CATALOGUE
from heldout.report.explanations import rule_blocks, rules_blocks
from heldout.show.blocks import Block, Prose, Title
from heldout.show.markdown import render_markdown

PAGE = Path(__file__).with_name("findings.md")
HEAD = "Written by make docs from the declarations in src/heldout/findings; change those, not this page."
ABOUT = (
    "Every result is reviewed: each rule that is about it is a pure function of the result, and either found "
    "something, with its numbers, or passed, or had nothing to look at, and says why. What was found stands at the "
    "end of the report and under findings in the JSON document; review holds all of it. A limit is a named argument "
    "of its rule with a default that is cited or called a convention. A severity is the highest that findings of the "
    "rule have. A code is never used for another rule."
)


def page() -> str:
    """The whole page: the table of rules, and a section for each in the order of the codes."""
    blocks: list[Block] = [Title("The findings"), Prose(HEAD), Prose(ABOUT), *rules_blocks()[1:]]
    for code in RULE_CATALOGUE:
        blocks += rule_blocks(code)
    return render_markdown(blocks) + "\n"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
