"""Text that cannot drive what shows it: control characters are spelled out, markup is broken up, styles are hashed."""

from __future__ import annotations

import base64
import hashlib
import html
import re
import unicodedata

# Format characters that writing needs: joiners, direction marks and the Arabic number signs. The others
# (overrides of direction, soft hyphens, tags) would let two different labels look the same.
_NEEDED = frozenset("\u200c\u200d\u200e\u200f\u061c\u0600\u0601\u0602\u0603\u0604\u0605\u06dd")
_SPELLED = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})


class _Spelling(dict[int, str]):
    """Code point to what is shown for it, filled as characters are met."""

    def __missing__(self, point: int) -> str:
        char = chr(point)
        spelled = unicodedata.category(char) in _SPELLED and char not in _NEEDED
        shown = char.encode("unicode_escape").decode("ascii") if spelled else char
        self[point] = shown
        return shown


_SPELLING = _Spelling()


def visible(text: str) -> str:
    r"""The text on one line, with escapes, line ends and direction overrides written out.

    >>> print(visible("spam\x1b[2J\n"))
    spam\x1b[2J\n
    """
    return text if text.isprintable() else text.translate(_SPELLING)


def visible_lines(text: str) -> list[str]:
    r"""The lines of the text, tabs as spaces, each made visible.

    >>> visible_lines("a\tb\r\nc\x07")
    ['a       b', 'c\\x07']
    """
    return [visible(line) for line in text.replace("\r\n", "\n").expandtabs(8).split("\n")]


def escape_html(text: str) -> str:
    r"""The text, made visible, for the inside of an element or of a quoted attribute.

    >>> escape_html('a<b "c"\x07')
    'a&lt;b &quot;c&quot;\\x07'
    """
    return html.escape(visible(text), quote=True)


# What begins a tag, an end tag, a comment or a declaration in HTML (WHATWG HTML, 13.2.5.6 Tag open state).
_TAG = re.compile(r"<(?=[A-Za-z/!?])")


def break_tags(text: str) -> str:
    r"""The text with an invisible word joiner in whatever would begin a tag, for documents that others put into HTML.

    >>> break_tags("a < b, </script>")
    'a < b, <\u2060/script>'
    """
    return _TAG.sub("<\u2060", text)


def hash_source(text: str) -> str:
    """What a Content-Security-Policy calls an inline script or style with this text (CSP Level 3, 2.3.1).

    >>> hash_source("a{}")
    "'sha256-X1RutGBrXCt9KkSaXMK7tHftWiRscFHOhxsS8tv8hBk='"
    """
    digest = base64.b64encode(hashlib.sha256(text.encode("utf-8")).digest()).decode("ascii")
    return f"'sha256-{digest}'"
