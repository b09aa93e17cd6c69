"""`heldout measures`: the catalogue, or one entry of it."""

from __future__ import annotations

from typing import Annotated

import typer


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
    from heldout.cli.output import show
    from heldout.cli.writing import print_document
    from heldout.report.catalogue import catalogue_blocks, measure_blocks
    from heldout.show import render_markdown

    blocks = catalogue_blocks() if name is None else measure_blocks(name)
    if markdown:
        print_document(render_markdown(blocks) + "\n")
        return
    show(blocks)
