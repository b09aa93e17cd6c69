"""`heldout explain`: the rules by which results are reviewed, or one of them."""

from __future__ import annotations

from typing import Annotated

import typer


def explain(
    code: Annotated[
        str | None, typer.Argument(metavar="CODE", help="A rule, such as H012; all of them without.")
    ] = None,
    markdown: Annotated[bool, typer.Option("--markdown", help="Print Markdown.")] = False,
) -> None:
    """List the rules behind the findings, or explain one: why it matters, its limits, what to do, reference.

    \b
    Examples:
      heldout explain
      heldout explain H012
    """  # noqa: D301 - click takes a backspace to mean: do not wrap what follows
    from heldout.cli.output import show
    from heldout.cli.writing import print_document
    from heldout.report.rules import rule_blocks, rules_blocks
    from heldout.show import render_markdown

    blocks = rules_blocks() if code is None else rule_blocks(code)
    if markdown:
        print_document(render_markdown(blocks) + "\n")
        return
    show(blocks)
