"""One task for a worker: how far it is, what came of it, and whether its files are free again."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Literal

State = Literal["waiting", "working", "done", "failed", "cancelled"]
Words = tuple[str, str]
# Takes note of bytes that are about to be written, or says why they may not be.
Room = Callable[[int], Words | None]
CANCELLED = ("The computation was cancelled.", "change what you like and begin again.")


def _unlimited(_: int) -> None:
    return None


@dataclass(eq=False)
class Job:
    """One task, and how far it is.

    `finished` is set when nothing touches its files any more: a job that was ended while it ran has finished only
    when its process is dead.
    """

    task: dict[str, Any]
    room: Room = _unlimited
    state: State = "waiting"
    stage: str = "Waiting for a free worker"
    answer: dict[str, Any] = field(default_factory=dict)
    wrong: Words = ("", "")
    begun: float = field(default_factory=time.monotonic)
    finished: asyncio.Event = field(default_factory=asyncio.Event)
    stop: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def ended(self) -> bool:
        """Whether nothing more will come of it."""
        return self.state not in ("waiting", "working")

    @property
    def cancelled(self) -> bool:
        """Whether nobody wants it any more."""
        return self.state == "cancelled"

    @property
    def seconds(self) -> float:
        """How long the person has been waiting."""
        return time.monotonic() - self.begun

    def end(self, state: State, wrong: Words = ("", ""), answer: dict[str, Any] | None = None) -> None:
        """Say what became of it; the first word stands."""
        if not self.ended:
            self.state, self.wrong, self.answer = state, wrong, answer or {}

    def refusal(self, size: int) -> Words | None:
        """Why so many more bytes may not be written; None where they may."""
        return CANCELLED if self.ended else self.room(size)


# What a person is told where the fault is ours; what happened is for the terminal.

FAULT = (
    "heldout failed here, and should not have.",
    "please report it; what happened stands in the terminal that the server was started from.",
)
