"""What stands before every page: whom the server answers, and what browsers may do with the answer.

A server on the loopback address is reached by every page that is open in the browser, so three doors are shut.
- *DNS rebinding*: a foreign name that was made to point here would give its pages our origin. Only names that are our
  own, or bare addresses, are answered (the Host header; a page cannot forge it).
- *Cross-site requests*: a foreign page can send a form or a file here without reading the answer. What changes
  something is taken only from our own pages (Sec-Fetch-Site or Origin; a page cannot forge them) and from programs.
- *Reading*: no CORS headers, a resource policy of our own origin, no frames, and a policy that runs no foreign script.

Reports are then found only by their address, which holds 192 random bits; a password would add a step and protect
nothing more.
"""

from __future__ import annotations

import asyncio
import ipaddress
import socket
from collections.abc import Iterable
from urllib.parse import urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from heldout.web.jobs import FAULT

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
HEADERS = {
    "content-security-policy": POLICY,
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=()",
    "cache-control": "no-store",
}
CHANGING = frozenset({"DELETE", "PATCH", "POST", "PUT"})
LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})


def own_names(host: str, others: Iterable[str] = ()) -> frozenset[str]:
    """The names that a server bound to `host` answers to, besides addresses where it is open to the network.

    >>> sorted(own_names("127.0.0.1", ["Reports.example"]))
    ['127.0.0.1', '::1', 'localhost', 'reports.example']
    """
    names = LOOPBACK | {host.casefold(), *(name.casefold() for name in others)}
    if is_loopback(host):
        return names
    machine = socket.gethostname().casefold()
    return names | {machine, f"{machine}.local"}


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach a host.

    >>> is_loopback("127.0.0.1"), is_loopback("localhost"), is_loopback("0.0.0.0")
    (True, True, False)
    """
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host.casefold() == "localhost"


class Guard:
    """The application behind its doors; every answer carries the headers."""

    def __init__(self, app: ASGIApp, names: Iterable[str], *, open_to_network: bool) -> None:
        self.app = app
        self.names = frozenset(names)
        self.open_to_network = open_to_network

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer, or refuse to."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        begun = False

        async def send_with_headers(message: Message) -> None:
            nonlocal begun
            if message["type"] == "http.response.start":
                begun = True
                headers = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    headers.setdefault(name, value)
            await send(message)

        try:
            await self._door(scope)(scope, receive, send_with_headers)
        except asyncio.CancelledError:
            # The server ends while somebody still sends: a word to them, and none in the terminal.
            if not begun:
                await PlainTextResponse("The server has ended.\n", 503)(scope, receive, send_with_headers)
        except Exception:
            if not begun:
                await PlainTextResponse(" ".join(FAULT) + "\n", 500)(scope, receive, send_with_headers)
            # The server writes to its terminal what happened.
            raise

    def _door(self, scope: Scope) -> ASGIApp:
        """The application, or the refusal of whom it does not answer."""
        headers = Headers(scope=scope)
        if not self.is_own(headers.get("host", "")):
            return PlainTextResponse("This server does not answer to that name.\n", 421)
        if scope["method"] in CHANGING and not from_own_page(headers):
            return PlainTextResponse("Only pages of this server may change something here.\n", 403)
        return self.app

    def is_own(self, host: str) -> bool:
        """Whether a Host header names this server; the port may be that of a tunnel."""
        name = host_name(host)
        if name in self.names:
            return True
        try:
            ipaddress.ip_address(name)
        except ValueError:
            return False
        # An address cannot be made to point elsewhere; one that is not ours would not have led here.
        return self.open_to_network


def host_name(host: str) -> str:
    """The name in a Host header, without its port.

    >>> host_name("LOCALHOST:8000"), host_name("[::1]:8000"), host_name("a:b@c")
    ('localhost', '::1', '')
    """
    try:
        parts = urlsplit(f"//{host}")
    except ValueError:
        return ""
    return "" if "@" in host or parts.path or parts.query else (parts.hostname or "")


def from_own_page(headers: Headers) -> bool:
    """Whether a request comes from a page of ours, or from a program that is no browser.

    >>> from_own_page(Headers({"host": "localhost:8000", "origin": "http://evil.example"}))
    False
    """
    site, origin = headers.get("sec-fetch-site"), headers.get("origin")
    if site is not None:
        return site == "same-origin"
    # Browsers leave Sec-Fetch-Site out where neither TLS nor the loopback address protects the way.
    try:
        return origin is None or urlsplit(origin).netloc == headers.get("host")
    except ValueError:
        return False
