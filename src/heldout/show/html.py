"""Blocks as HTML: a fragment for notebooks, or a page that needs nothing else."""

from __future__ import annotations

import base64
import hashlib
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from heldout.show.blocks import Block, Section, Title
from heldout.show.stage import Stage, low_to_high

if TYPE_CHECKING:
    from collections.abc import Iterable

FOLDER = Path(__file__).parent / "page"
"""Where templates, stylesheets and scripts lie."""
# What stands between the parts of a title.
BETWEEN = " · "
# In this order, each may use what the ones before it define.
_SCRIPTS = ("numbers.js", "formulas.js", "explorer.js", "reading.js")


def render_html(blocks: Iterable[Block], *, style: bool = True) -> str:
    r"""The blocks as one `div`; `style` puts the few rules it needs in front.

    >>> from heldout.show.blocks import Prose
    >>> print(render_html([Prose("a < b", label="Verdict")], style=False))
    <div class="heldout-doc">
    <p class="heldout-labelled heldout-verdict" dir="auto"><span class="heldout-label">Verdict</span>a &lt; b</p>
    </div>
    """
    from heldout.show.markup import environment

    shown = low_to_high(blocks)
    body = environment().get_template("blocks.html").module.blocks(shown, Stage.of_fragment(shown), 0)  # type: ignore[attr-defined]
    rules = f"<style>\n{_fragment_style()}</style>\n" if style else ""
    return f'{rules}<div class="heldout-doc">\n{body}</div>'


def render_page(blocks: Iterable[Block], *, title: str) -> str:
    """The blocks as a whole page, for a file that a browser opens without a network.

    Its first `Title` is the heading of the page, or `title` where it has none. Sections at the top are the contents.

    >>> render_page([], title="Iris").splitlines()[0]
    '<!doctype html>'
    """
    from markupsafe import Markup

    from heldout.show.markup import environment

    shown = low_to_high(blocks)
    first = next((at for at, block in enumerate(shown) if isinstance(block, Title)), None)
    heading = _headed(shown.pop(first) if first is not None else Title(title))
    stage = Stage.of_page(shown)
    return (
        environment()
        .get_template("page.html")
        .render(
            blocks=shown,
            contents=[(stage.anchor(block), block.title) for block in shown if isinstance(block, Section)],
            heading=heading,
            policy=page_policy(),
            # Both are files of this package: nothing that a user wrote is in them.
            script=Markup(page_script()),  # noqa: S704
            stage=stage,
            style=Markup(page_style()),  # noqa: S704
            title=title,
        )
    )


def _headed(block: Block) -> Block:
    """A title whose parts stand in one line, as on a terminal, with all but the first as its detail."""
    if not isinstance(block, Title) or BETWEEN not in block.text:
        return block
    text, rest = block.text.split(BETWEEN, maxsplit=1)
    return Title(text, BETWEEN.join(filter(None, (rest, block.detail))))


@cache
def page_policy() -> str:
    """The security policy of every page: its own script and style, told by their hashes, and nothing else at all.

    A server that sends pages with a policy of its own must allow at least this, as both hold.

    >>> page_policy().split("; ")[0]
    "default-src 'none'"
    """
    return "; ".join(
        [
            "default-src 'none'",
            f"script-src {_hash(page_script())}",
            f"style-src {_hash(page_style())}",
            "img-src data:",
            "base-uri 'none'",
            "form-action 'none'",
        ]
    )


@cache
def page_script() -> str:
    """The one script of a page, in a scope of its own.

    >>> page_script().startswith('"use strict";')
    True
    """
    body = "\n".join(_read(name) for name in _SCRIPTS)
    return f'"use strict";\n(() => {{\n{body}}})();\n'


@cache
def page_style() -> str:
    """The one stylesheet of a page.

    >>> "prefers-color-scheme" in page_style()
    True
    """
    return _read("drawing.css") + _read("page.css")


@cache
def _fragment_style() -> str:
    return _read("drawing.css") + _read("fragment.css")


@cache
def _read(name: str) -> str:
    return (FOLDER / name).read_text(encoding="utf-8")


def _hash(text: str) -> str:
    digest = base64.b64encode(hashlib.sha256(text.encode("utf-8")).digest()).decode("ascii")
    return f"'sha256-{digest}'"
