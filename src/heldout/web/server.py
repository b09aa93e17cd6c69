"""Running the application: a free port, a folder that goes away, fair connections, and an end without noise.

It stands apart from the routes, which answer requests: here are the process, its socket and its connections.
"""

from __future__ import annotations

import asyncio
import errno
import os
import shutil
import signal
import socket
import tempfile
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager, suppress
from pathlib import Path
from types import FrameType
from typing import Any

import uvicorn
from h11 import SEND_BODY
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import FileResponse, Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp
from uvicorn.protocols.http.h11_impl import H11Protocol

from heldout.errors import OptionError
from heldout.web import routes
from heldout.web.guard import Entry, Guard, is_loopback, leading_to, own_names
from heldout.web.jobs import Workers
from heldout.web.limits import Limits
from heldout.web.routes import STATIC
from heldout.web.uploads import Uploads

PREFIX = "heldout-"
LOCK = "lock"


@contextmanager
def own_folder() -> Iterator[Path]:
    """A temporary folder for one server; what servers that were killed left behind is removed before."""
    clear_up(Path(tempfile.gettempdir()))
    with tempfile.TemporaryDirectory(prefix=PREFIX, ignore_cleanup_errors=True) as path:
        folder = Path(path)
        (folder / "files").mkdir(mode=0o700)
        # Locked before it has the name that others look for.
        lock = _lock(folder / "new-lock", create=True)
        (folder / "new-lock").rename(folder / LOCK)
        try:
            yield folder / "files"
        finally:
            os.close(lock)


def clear_up(where: Path) -> None:
    """Remove the folders of servers that no longer live: the system unlocks what a process had locked when it dies."""
    if os.name != "posix":
        return
    for folder in where.glob(f"{PREFIX}*"):
        # Not ours, still in use, or gone in the meantime.
        with suppress(OSError):
            if folder.is_symlink() or folder.stat().st_uid != os.getuid():
                continue
            lock = _lock(folder / LOCK, create=False)
            try:
                shutil.rmtree(folder)
            finally:
                os.close(lock)


def _lock(path: Path, *, create: bool) -> int:
    """The number of an open file that only we have locked; OSError where another has."""
    number = os.open(path, os.O_RDWR | (os.O_CREAT if create else 0), 0o600)
    if os.name == "posix":
        import fcntl

        try:
            fcntl.flock(number, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            os.close(number)
            raise
    return number


USUAL_PORT = 8000
TRIED_PORTS = 100
# Seconds that requests under way have to finish once the server is told to end.
LAST_CALL = 2


def bound(host: str, port: int | None) -> socket.socket:
    """A socket that listens there; without a port the usual one, or the next that is free."""
    ports = range(USUAL_PORT, USUAL_PORT + TRIED_PORTS) if port is None else [port]
    for number in ports:
        try:
            family, _, _, _, address = socket.getaddrinfo(host, number, type=socket.SOCK_STREAM)[0]
            return socket.create_server(address[:2], family=family, backlog=1024)
        except OSError as error:
            if error.errno == errno.EADDRINUSE and port is None:
                continue
            if error.errno == errno.EADDRINUSE:
                raise OptionError(
                    f"Port {number} of {host} is taken.",
                    hint="leave out --port for the next free one, or stop the other.",
                ) from None
            raise OptionError(
                f"The server cannot listen on {host}, port {number}: {error.strerror or error}.",
                hint="use an address of this machine, and a port above 1023.",
            ) from None
    raise OptionError(
        f"All ports from {ports[0]} to {ports[-1]} of {host} are taken.", hint="name another with --port."
    )


def address_of(listening: socket.socket, host: str) -> str:
    """The address to open in a browser on this machine."""
    port = listening.getsockname()[1]
    name = "localhost" if host in ("0.0.0.0", "::") else host  # noqa: S104 - the address of every interface
    return f"http://[{name}]:{port}" if ":" in name else f"http://{name}:{port}"


def run(
    limits: Limits,
    *,
    host: str,
    port: int | None,
    file: Path | None,
    started: Callable[[str, Path | None], None],
    names: Sequence[str] = (),
) -> None:
    """Serve until told to end; `started` is called with the address of the first page.

    Where that address holds a token, `started` is also told of a file that leads there, which goes with the token.
    """
    with (
        own_folder() as folder,
        bound(host, port) as listening,
    ):
        port = listening.getsockname()[1]
        app, entry = build(folder, limits, host, names, file, port)

        class Server(uvicorn.Server):
            """A server that says when it listens."""

            async def startup(self, sockets: list[socket.socket] | None = None) -> None:
                await super().startup(sockets)
                if self.started:
                    address = address_of(listening, host)
                    if entry is None:
                        started(f"{address}/", None)
                    else:
                        door = write_door(folder.parent, address + entry.path)
                        entry.used = lambda: door.unlink(missing_ok=True)
                        started(address + entry.path, door)

        server = Server(
            uvicorn.Config(
                app, http=limited_protocol(), limit_concurrency=allow_connections(), ws="none", lifespan="on",
                log_level="warning", access_log=False,
                server_header=False, proxy_headers=False, timeout_graceful_shutdown=LAST_CALL,
            )
        )  # fmt: skip
        with _ending_by_signal(server):
            server.run(sockets=[listening])


def write_door(folder: Path, address: str) -> Path:
    """A page that leads to the address, which holds a token: programs are listed with their arguments, files are not.

    Only this user can read the folder. Jupyter opens its page in the same way.
    """
    door = folder / "open.html"
    number = os.open(door, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(number, "wb") as file:
        file.write(leading_to(address).encode("ascii", "xmlcharrefreplace"))
    return door


class _ending_by_signal:  # noqa: N801 - reads as what it does
    """Let signals end the server and nothing else: the server raises them again when it has ended."""

    def __init__(self, server: object) -> None:
        self._server = server
        self._before: dict[int, object] = {}

    def __enter__(self) -> None:
        for name in ("SIGINT", "SIGTERM", "SIGHUP", "SIGBREAK"):
            number = getattr(signal, name, None)
            if number is not None:
                self._before[number] = signal.signal(number, self._end)

    def __exit__(self, *_: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)  # type: ignore[arg-type]

    def _end(self, _number: int, _frame: FrameType | None) -> None:
        self._server.should_exit = True  # type: ignore[attr-defined]


# Connections: how long a request may take to begin, and how many may be under way.
#
# A request whose head never ends holds a connection, and there are only so many. One that says nothing for a while is
# closed; where very many wait, the one that has waited longest goes, so that whoever sends a whole request is answered.
# What comes in chunks of a byte each takes a thousand times as long to read as what comes whole; others get their turn
# between two pieces of it.

# Seconds within which the head of a request must have come, and how many connections may wait for theirs.
HEAD_WITHIN = 20.0
MOST_WAITING = 256
# The bytes that are read at a time where each may be a chunk of its own.
PIECE = 2_048
# Open files that the server asks the system for, and that it keeps for itself: programs, logs, reports that are read.
WANTED_FILES, OWN_FILES = 8_192, 256


def allow_connections() -> int:
    """How many connections there may be: a file that arrives needs two open files, itself and its connection."""
    try:
        import resource
    except ImportError:
        return (2_048 - OWN_FILES) // 2
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    most = WANTED_FILES if hard == resource.RLIM_INFINITY else min(WANTED_FILES, hard)
    with suppress(OSError, ValueError):
        if soft != resource.RLIM_INFINITY and soft < most:
            resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))
            soft = most
    known = WANTED_FILES if soft == resource.RLIM_INFINITY else min(soft, WANTED_FILES)
    return max((known - OWN_FILES) // 2, 64)


class FairProtocol(H11Protocol):
    """HTTP that reads what may be many small chunks one piece after the other, and lets others have their turn."""

    _waiting = b""

    def data_received(self, data: bytes) -> None:
        """Take what has come; what came before and was not read yet comes first."""
        if self._waiting:
            self._waiting += data
        else:
            self._read(data)

    def _read(self, data: bytes) -> None:
        """Read one piece now, and the rest when others had their turn; the body of a plain request at once."""
        size = len(data) if self._is_plain() else PIECE
        super().data_received(data[:size])
        self._waiting = data[size:]
        if self.transport.is_closing():
            return
        if self._waiting:
            self.transport.pause_reading()
            self.loop.call_soon(self._go_on)
        elif not self.flow.read_paused:
            self.transport.resume_reading()

    def _go_on(self) -> None:
        waiting, self._waiting = self._waiting, b""
        if waiting and not self.transport.is_closing():
            self._read(waiting)

    def _is_plain(self) -> bool:
        """Whether the body of a request is on its way, whose length its head has told."""
        chunked = any(name == b"transfer-encoding" for name, _ in self.headers or ())
        return self.conn.their_state is SEND_BODY and not chunked


def limited_protocol(patience: float = HEAD_WITHIN) -> type[H11Protocol]:
    """The protocol of a server whose connections have these limits."""
    waiting: dict[H11Protocol, asyncio.TimerHandle] = {}

    class LimitedProtocol(FairProtocol):
        """HTTP with an end to waiting for the head of a request."""

        def connection_made(self, transport: Any) -> None:
            super().connection_made(transport)
            self._watch()

        def _read(self, data: bytes) -> None:
            super()._read(data)
            self._watch()

        def on_response_complete(self) -> None:
            super().on_response_complete()
            self._watch()

        def connection_lost(self, exc: Exception | None) -> None:
            self._stop()
            super().connection_lost(exc)

        def _watch(self) -> None:
            """Begin to wait for a head, or stop where one has come."""
            if self.cycle is not None and not self.cycle.response_complete:
                self._stop()
            elif self not in waiting and not self.transport.is_closing():
                waiting[self] = self.loop.call_later(patience, self._give_up)
                if len(waiting) > MOST_WAITING:
                    # Dictionaries keep the order in which things came.
                    next(iter(waiting))._give_up()  # type: ignore[attr-defined]  # noqa: SLF001 - one of us

        def _stop(self) -> None:
            timer = waiting.pop(self, None)
            if timer is not None:
                timer.cancel()

        def _give_up(self) -> None:
            self._stop()
            self.transport.abort()

    return LimitedProtocol


# The application: which address leads where, and what is kept between two requests.

SWEEP_EVERY = 30.0


def build(
    folder: Path, limits: Limits, host: str, names: Sequence[str] = (), file: Path | None = None, port: int = 0
) -> tuple[ASGIApp, Entry | None]:
    """The application that keeps its files in `folder` and answers to `names`, and the way in where there is a door."""
    workers = Workers(limits)
    uploads = Uploads(folder, limits, workers)
    given = None if file is None else uploads.adopt(file)

    @asynccontextmanager
    async def life(_: Starlette) -> AsyncIterator[None]:
        workers.start()
        if given is not None:
            uploads.look(given)
        sweeping = asyncio.create_task(_sweep(uploads))
        try:
            yield
        finally:
            sweeping.cancel()
            await workers.close()

    app = Starlette(
        routes=ROUTES,
        lifespan=life,
        exception_handlers={HTTPException: routes.refused, Exception: routes.failed},
    )
    app.state.uploads = uploads
    # Whoever names another host, or that of a proxy, wants it to be used by others.
    shared = bool(names) or not is_loopback(host)
    first = "/" if given is None else f"/u/{given.id}"
    entry = None if shared and given is None else Entry(first, port, whole=not shared)
    return Guard(app, own_names(host, names), open_to_network=not is_loopback(host), entry=entry), entry


async def _sweep(uploads: Uploads) -> None:
    while True:
        await asyncio.sleep(min(SWEEP_EVERY, uploads.limits.idle))
        await uploads.sweep()


async def icon(_: Request) -> Response:
    """The icon, for browsers that ask for it where icons used to be."""
    return FileResponse(STATIC / "icon.svg")


class Static(StaticFiles):
    """Our own style sheets and scripts, which may be kept as long as they are asked after."""

    def file_response(self, *args: object, **named: object) -> Response:
        """The file, with the rule for keeping it."""
        response = super().file_response(*args, **named)  # type: ignore[arg-type]
        response.headers["cache-control"] = "no-cache"
        return response


ROUTES = [
    Route("/", routes.home),
    Route("/upload", routes.upload, methods=["POST"]),
    Route("/u/{id}", routes.whereabouts),
    Route("/u/{id}", routes.remove, methods=["DELETE"]),
    Route("/u/{id}/columns", routes.columns),
    Route("/u/{id}/second", routes.second),
    Route("/u/{id}/state", routes.state),
    Route("/u/{id}/job", routes.cancel, methods=["DELETE"]),
    Route("/u/{id}/report", routes.judge, methods=["POST"]),
    Route("/u/{id}/report", routes.report),
    Route("/u/{id}/comparison", routes.comparison),
    Route("/u/{id}/{kind}.{form}", routes.download),
    Route("/favicon.ico", icon),
    Mount("/static", Static(directory=STATIC)),
]
