"""Text made to fit a number of terminal cells, where a character may take none, one or two."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from heldout.show.escape import visible

if TYPE_CHECKING:
    from heldout.show.blocks import Align

# A joiner with nothing to join would swallow the space that follows it, and with it the alignment.
_STRAY = re.compile("^[\u200d\ufe0f]+|\u200d+(?=[\u200d\ufe0f\x00-\x7f–—…├┊●←→·]|$)")
# Characters per cell beyond which a text is cut even if all of it is combining marks.
_DENSE = 8


def plain_text(text: str) -> str:
    r"""The text as a terminal may have it.

    >>> plain_text("a\u200d"), plain_text("\x1b[31m")
    ('a', '\\x1b[31m')
    """
    return text if text.isascii() and text.isprintable() else _STRAY.sub("", visible(text))


def cells(text: str) -> int:
    """How many terminal cells the text takes.

    >>> cells("abc"), cells("漢字")
    (3, 4)
    """
    if text.isascii():
        return len(text)
    from rich.cells import cell_len

    return cell_len(text)


def pad(text: str, width: int, align: Align = "left") -> str:
    """The text with spaces up to `width` cells.

    >>> pad("ab", 5, "right"), pad("ab", 5, "center")
    ('   ab', ' ab  ')
    """
    spare = max(width - cells(text), 0)
    before = {"left": 0, "right": spare, "center": spare // 2}[align]
    return " " * before + text + " " * (spare - before)


def shorten(text: str, width: int) -> str:
    """The text in at most `width` cells, its middle left out if need be.

    >>> shorten("Iris-versicolor", 9), shorten("short", 9)
    ('Iris…olor', 'short')
    """
    if cells(text) <= width and len(text) <= _DENSE * max(width, 8):
        return text
    if width < 2:
        return "…" * width
    head = _leading(text[: _DENSE * width], width // 2)
    tail = _trailing(text[-_DENSE * width :], width - 1 - width // 2)
    return plain_text(f"{head}…{tail}")


def wrap(text: str, width: int) -> list[str]:
    """The text in lines of at most `width` cells, broken at spaces where there are any.

    >>> wrap("one two three", 8)
    ['one two', 'three']
    """
    from rich.cells import chop_cells

    width = max(width, 2)
    lines: list[str] = []
    line, used = "", 0
    for word in text.split(" "):
        if not word:
            continue
        size = cells(word)
        if line and used + 1 + size <= width:
            line, used = f"{line} {word}", used + 1 + size
            continue
        if line:
            lines.append(line)
        if size > width:
            *full, word = [plain_text(part) for part in chop_cells(word, width)]  # noqa: PLW2901
            lines += full
            size = cells(word)
        line, used = word, size
    return [*lines, line] if line or not lines else lines


def _leading(text: str, width: int) -> str:
    from rich.cells import split_graphemes

    end = used = 0
    for _, stop, size in split_graphemes(text)[0]:
        if used + size > width:
            break
        end, used = stop, used + size
    return text[:end].rstrip(" \u200d")


def _trailing(text: str, width: int) -> str:
    from rich.cells import split_graphemes

    begin, used = len(text), 0
    for start, _, size in reversed(split_graphemes(text)[0]):
        if used + size > width:
            break
        begin, used = start, used + size
    return text[begin:].lstrip(" \u200d\ufe0f")
