"""Running the application: a free port, a folder that goes away, and an end without noise."""

from __future__ import annotations

import errno
import signal
import socket
from collections.abc import Callable, Sequence
from pathlib import Path
from types import FrameType

from heldout.errors import OptionError
from heldout.web.folder import own_folder
from heldout.web.limits import Limits

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
    started: Callable[[str], None],
    names: Sequence[str] = (),
) -> None:
    """Serve until told to end; `started` is called with the address of the first page."""
    import uvicorn

    from heldout.web.app import build

    with (
        own_folder() as folder,
        bound(host, port) as listening,
    ):
        app, first = build(folder, limits, host, names, file)

        class Server(uvicorn.Server):
            """A server that says when it listens."""

            async def startup(self, sockets: list[socket.socket] | None = None) -> None:
                await super().startup(sockets)
                if self.started:
                    started(address_of(listening, host) + first)

        server = Server(
            uvicorn.Config(
                app, http="h11", ws="none", lifespan="on", log_level="warning", access_log=False,
                server_header=False, proxy_headers=False, timeout_graceful_shutdown=LAST_CALL,
            )
        )  # fmt: skip
        with _ending_by_signal(server):
            server.run(sockets=[listening])


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
