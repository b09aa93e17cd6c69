"""What stands before every page: whom the server answers, and what browsers may do with the answer.

A server on the loopback address is reached by every page that is open in the browser, so three doors are shut.
- *DNS rebinding*: a foreign name that was made to point here would give its pages our origin. Only names that are our
  own, or bare addresses, are answered (the Host header; a page cannot forge it).
- *Cross-site requests*: a foreign page can send a form or a file here without reading the answer. What changes
  something is taken only from our own pages (Sec-Fetch-Site or Origin; a page cannot forge them) and from programs.
- *Reading*: no CORS headers, a resource policy of our own origin, no frames, and a policy that runs no foreign script.

Other users of the machine reach the server, too. Whoever started it is given an address with a token that works once:
the browser that opens it gets a cookie, and without that cookie a server on the loopback address shows nothing. One
that is shared (--host, --name) keeps so only the file that it was started with: other reports are found only by their
address, which holds 192 random bits.
"""

from __future__ import annotations

import asyncio
import ipaddress
import secrets
import socket
from collections.abc import Callable, Iterable
from urllib.parse import urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import Request
from starlette.responses import HTMLResponse, PlainTextResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from heldout.web.jobs import FAULT
from heldout.web.routes import answer_wrong

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


# Style and scripts, which hold no user's data; also the page of a refusal needs them.
FOR_ALL = ("/static/", "/favicon.ico")
# Seconds for which a browser keeps the cookie; the server forgets it when it ends.
COOKIE_LASTS = 30 * 24 * 3600
STRANGER = (
    "This server answers only the browser that opened it first.",
    "open the link that it printed when it was started; it works once, so start it again for another browser.",
)


class Entry:
    """The way in: a token in an address that works once, and the cookie that it is exchanged for.

    `first` is the path of the first page. With `whole`, nothing is shown without the cookie, and otherwise everything
    but what lies under `first`. `used` is called when the token has been exchanged.
    """

    def __init__(self, first: str, port: int, *, whole: bool) -> None:
        self.first = first
        self.whole = whole
        self.used: Callable[[], None] = lambda: None
        # Servers on other ports of this machine get the same cookies: by its name each finds its own.
        self.name = f"heldout-{port}"
        self._token = secrets.token_urlsafe(24)
        self._cookie = secrets.token_urlsafe(24)
        self._spent = False

    @property
    def path(self) -> str:
        """The path of the link that works once."""
        return f"/?token={self._token}"

    def admits(self, request: Request) -> bool:
        """Whether a request has the cookie, or asks for what needs none."""
        path = request.scope["path"]
        if path.startswith(FOR_ALL) or not (self.whole or path == self.first or path.startswith(f"{self.first}/")):
            return True
        return _is_same(request.cookies.get(self.name, ""), self._cookie)

    def answer(self, request: Request) -> Response | None:
        """What is answered before the application is asked; None where it is to be asked."""
        token = request.query_params.get("token") if request.scope["path"] == "/" and request.method == "GET" else None
        if token is None:
            return None if self.admits(request) else answer_wrong(request, 403, *STRANGER)
        # A page of our own leads on, and not a redirection: browsers leave a strict cookie out of all that follows from
        # the page of another site, and the file that the browser was started with is one. A token that is spent or
        # wrong leads there too: the browser that has the cookie gets on, and the others are refused.
        response = HTMLResponse(leading_to(self.first))
        if not self._spent and _is_same(token, self._token):
            self._spent = True
            response.set_cookie(self.name, self._cookie, max_age=COOKIE_LASTS, httponly=True, samesite="strict")
            self.used()
        return response


def _is_same(given: str, secret: str) -> bool:
    return secrets.compare_digest(given.encode("utf-8", "replace"), secret.encode("ascii"))


def leading_to(address: str) -> str:
    """A page that leads on to an address of ours, without a script."""
    return f'<!doctype html><title>heldout</title><meta http-equiv="refresh" content="0;url={address}">'


class Guard:
    """The application behind its doors; every answer carries the headers."""

    def __init__(
        self, app: ASGIApp, names: Iterable[str], *, open_to_network: bool, entry: Entry | None = None
    ) -> None:
        self.app = app
        self.names = frozenset(names)
        self.open_to_network = open_to_network
        self.entry = entry

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
        return (self.entry and self.entry.answer(Request(scope))) or self.app

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
