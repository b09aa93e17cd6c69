"""A report as the server shows it: the same document that is downloaded, with a bar above it."""

from __future__ import annotations

import re
from html import unescape

META = re.compile(
    r"""<meta\s+http-equiv=["']?Content-Security-Policy["']?\s+content=("[^"]*"|'[^']*')\s*/?>""", re.IGNORECASE
)
# The bar comes after the link that leads past everything before the report, which must be the first to be reached.
BODY = re.compile(r"<body\b[^>]*>(?:\s*<a class=\"heldout-skip\"[^>]*>[^<]*</a>)?", re.IGNORECASE)
STYLE = '<link rel="stylesheet" href="/static/bar.css"><link rel="icon" href="/static/icon.svg">'
# For a document that has no policy of its own: no script at all.
STRICT = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"
OURS = {"style-src": "'self'", "img-src": "'self'"}
LAST = "; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"


def served(document: str, bar: str) -> tuple[str, str]:
    """The document with the bar, and the policy to send with it.

    A document says in its head which of its own scripts may run. Two policies must both allow a thing, and that one
    does not allow our style sheet, so it moves from the head into the header and takes it in.

    >>> served("<head></head><body><p>x</p></body>", "<nav></nav>")[0]
    '<head><link ...></head><body><nav></nav><p>x</p></body>'
    """
    head, found, rest = document.partition("</head>")
    meta = META.search(head)
    policy = STRICT
    if meta is not None:
        policy = unescape(meta[1][1:-1])
        head = head[: meta.start()] + head[meta.end() :]
    body = BODY.search(rest)
    if not found or body is None:
        return document, with_ours(policy)
    rest = rest[: body.end()] + bar + rest[body.end() :]
    return head + STYLE + found + rest, with_ours(policy)


def with_ours(policy: str) -> str:
    """A policy that also allows our style sheet and icon, and no frames around it.

    >>> with_ours("default-src 'none'; style-src 'sha256-x'").split("; ")[:3]
    ["default-src 'none'", "style-src 'sha256-x' 'self'", "img-src 'self'"]
    """
    rules: dict[str, str] = {}
    for rule in policy.split(";"):
        name, _, sources = rule.strip().partition(" ")
        if name and name not in ("base-uri", "form-action", "frame-ancestors"):
            rules[name] = sources.strip()
    for name, source in OURS.items():
        held = rules.get(name, "")
        rules[name] = source if held in ("", "'none'") else f"{held} {source}"
    return "; ".join(f"{name} {sources}".strip() for name, sources in rules.items()) + LAST
