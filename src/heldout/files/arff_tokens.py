"""The tokens of an ARFF line: words, quoted texts, braces and comments.

The rules are those of the reader in Weka: commas, blanks and control characters separate, and any number
of them counts as one; a word ends at a quote, a brace or a percent sign; a percent sign outside quotes
begins a comment.
"""

from __future__ import annotations

import re

# Group-free, so that findall gives whole tokens; the last alternative is a quote that is never closed.
_TOKEN = re.compile(
    r"""'[^'\\]*(?:\\.[^'\\]*)*'"""
    r'''|"[^"\\]*(?:\\.[^"\\]*)*"'''
    r"""|[{}]|%.*|[^\x00-\x20,'"{}%]+|['"].*""",
    re.DOTALL,
)
_ESCAPE = re.compile(r"\\(u[0-9A-Fa-f]{4}|.)", re.DOTALL)
_ESCAPED = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f"}


class UnclosedQuoteError(Exception):
    """A quote that opens on a line and does not close on it."""


def tokens(line: str) -> list[str]:
    r"""Cut a line into tokens as they are written, without its comment.

    >>> tokens("5.1, 'a b',?  % remark")
    ['5.1', "'a b'", '?']
    """
    found = _TOKEN.findall(line)
    if found and found[-1].startswith("%"):
        found.pop()
    if found and _is_unclosed(found[-1]):
        raise UnclosedQuoteError(found[-1])
    return found


def _is_unclosed(token: str) -> bool:
    mark = token[0]
    if mark not in "'\"":
        return False
    # Only a whole quoted text matches up to its own end; the rest of the line does not.
    return re.fullmatch(rf"{mark}[^{mark}\\]*(?:\\.[^{mark}\\]*)*{mark}", token, re.DOTALL) is None


def unquoted(token: str) -> str:
    r"""The text that a token stands for.

    >>> unquoted(r"'it\'s \u00e9'"), unquoted("plain")
    ("it's é", 'plain')
    """
    if token[0] not in "'\"":
        return token
    inner = token[1:-1]
    if "\\" not in inner:
        return inner
    return _ESCAPE.sub(_escaped, inner)


def _escaped(match: re.Match[str]) -> str:
    code = match[1]
    if len(code) == 5:
        return chr(int(code[1:], 16))
    return _ESCAPED.get(code, code)
