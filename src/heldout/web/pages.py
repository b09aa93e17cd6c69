"""The pages of the application, each filled from a template that escapes whatever comes from a file."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from heldout.show.printable import visible
from heldout.web.names import shortened

if TYPE_CHECKING:
    from jinja2 import Environment

HERE = Path(__file__).parent
STATIC = HERE / "static"


@cache
def _templates() -> Environment:
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    made = Environment(
        loader=FileSystemLoader(HERE / "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters["shown"] = shown
    return made


def shown(text: object, most: int = 80) -> str:
    r"""Text from a file on one line, not longer than a reader reads.

    >>> shown("a\nb"), shown(3)
    ('a\\nb', '3')
    """
    return shortened(visible(str(text)), most)


def page(name: str, **values: Any) -> str:
    """The page of that name.

    >>> "&lt;b&gt;" in page("wrong", status=404, what="<b>", hint="go back.")
    True
    """
    return _templates().get_template(f"{name}.html").render(**values)
