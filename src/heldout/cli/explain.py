"""`heldout measures` and `heldout explain`: the catalogues of measures and of rules, or one entry."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from heldout.show.blocks import Block


def measures(
    name: Annotated[
        str | None, typer.Argument(metavar="NAME", help="A measure, by name, alias or symbol; all of them without.")
    ] = None,
    markdown: Annotated[bool, typer.Option("--markdown", help="Print Markdown.")] = False,
) -> None:
    """List the measures, or explain one: formula, range, when undefined, aliases, reference.

    \b
    Examples:
      heldout measures
      heldout measures TPR
    """  # noqa: D301 - click takes a backspace to mean: do not wrap what follows
    from heldout.report.explanations import catalogue_blocks, measure_blocks

    _print_blocks(catalogue_blocks() if name is None else measure_blocks(name), markdown=markdown)


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
    from heldout.report.explanations import rule_blocks, rules_blocks

    _print_blocks(rules_blocks() if code is None else rule_blocks(code), markdown=markdown)


def _print_blocks(blocks: list[Block], *, markdown: bool) -> None:
    from heldout.cli.output import print_document, show
    from heldout.show.markdown import render_markdown

    if markdown:
        print_document(render_markdown(blocks) + "\n")
    else:
        show(blocks)
