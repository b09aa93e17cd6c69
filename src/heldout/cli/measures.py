"""`heldout measures`: the catalogue, or one entry of it."""

from __future__ import annotations

from typing import Annotated

import typer


def measures(
    name: Annotated[str | None, typer.Argument(help="A measure, by name, alias or symbol.")] = None,
    markdown: Annotated[bool, typer.Option("--markdown", help="Print Markdown.")] = False,
) -> None:
    """Print the catalogue of measures: formula, range, when undefined, aliases, reference."""
    from heldout.report.catalogue import catalogue_blocks, measure_blocks
    from heldout.show import render_markdown, to_rich

    blocks = catalogue_blocks() if name is None else measure_blocks(name)
    if markdown:
        typer.echo(render_markdown(blocks))
        return
    import sys

    from rich.console import Console

    Console(highlight=False, width=None if sys.stdout.isatty() else 100).print(to_rich(blocks))
