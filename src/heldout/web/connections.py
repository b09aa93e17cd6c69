"""Connections to the server: how long a request may take to begin, and how many may be under way.

A request whose head never ends holds a connection, and there are only so many. One that says nothing for a while is
closed; where very many wait, the one that has waited longest goes, so that whoever sends a whole request is answered.
What comes in chunks of a byte each takes a thousand times as long to read as what comes whole; others get their turn
between two pieces of it.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import Any

from h11 import SEND_BODY
from uvicorn.protocols.http.h11_impl import H11Protocol

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

    _held = b""

    def data_received(self, data: bytes) -> None:
        """Take what has come; what came before and was not read yet comes first."""
        if self._held:
            self._held += data
        else:
            self._read(data)

    def _read(self, data: bytes) -> None:
        """Read one piece now, and the rest when others had their turn; the body of a plain request at once."""
        size = len(data) if self._is_plain() else PIECE
        super().data_received(data[:size])
        self._held = data[size:]
        if self.transport.is_closing():
            return
        if self._held:
            self.transport.pause_reading()
            self.loop.call_soon(self._go_on)
        elif not self.flow.read_paused:
            self.transport.resume_reading()

    def _go_on(self) -> None:
        held, self._held = self._held, b""
        if held and not self.transport.is_closing():
            self._read(held)

    def _is_plain(self) -> bool:
        """Whether the body of a request is on its way, whose length its head has told."""
        chunked = any(name == b"transfer-encoding" for name, _ in self.headers or ())
        return self.conn.their_state is SEND_BODY and not chunked


def limited_protocol(patience: float = HEAD_WITHIN, most: int = MOST_WAITING) -> type[H11Protocol]:
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
                if len(waiting) > most:
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
