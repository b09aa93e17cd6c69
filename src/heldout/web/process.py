"""One worker: a process that is started, given a job, measured, and killed with all that it started."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from heldout.web.fault import FAULT
from heldout.web.job import Job

# -P: a module that happens to lie in the current folder must not be imported instead of a library.
COMMAND = (sys.executable, "-P", "-m", "heldout.web.worker")
# The longest answer of a worker: the columns of a wide file with long names.
LONGEST_ANSWER = 256 * 1024 * 1024
# Seconds that a worker has to import everything.
START_UP = 120.0
DIED = ("The process that worked on this file died.", "it may need more memory than there is: send fewer rows.")


class Worker:
    """A process that computes one job at a time."""

    def __init__(self, process: Process) -> None:
        self._process = process
        self._fresh = 0

    @classmethod
    async def start(cls, command: Sequence[str] = COMMAND) -> Worker:
        """Start a process; OSError where the system has none to give."""
        # A group of its own: Ctrl-C in the terminal is for the server alone, and a kill takes all that it started.
        process = await asyncio.create_subprocess_exec(
            *command, stdin=PIPE, stdout=PIPE, limit=LONGEST_ANSWER, process_group=0 if os.name == "posix" else None
        )
        return cls(process)

    @property
    def pid(self) -> int:
        """The number of the process."""
        return self._process.pid

    @property
    def dead(self) -> bool:
        """Whether the process has ended."""
        return self._process.returncode is not None

    @property
    def resident(self) -> int:
        """The bytes of memory that it holds; 0 where the system does not say."""
        try:
            pages = int(Path(f"/proc/{self.pid}/statm").read_text(encoding="ascii").split()[1])
        except (OSError, ValueError, IndexError):
            return 0
        return pages * os.sysconf("SC_PAGE_SIZE")

    @property
    def grown(self) -> int:
        """The bytes of memory that it holds beyond what it held before its first job."""
        return self.resident - self._fresh

    async def warm_up(self) -> None:
        """Wait until it has imported everything; one that dies on the way is found out by the first job it is given."""
        if self._process.stdout is not None:
            with suppress(TimeoutError):
                await asyncio.wait_for(self._process.stdout.readline(), START_UP)
        self._fresh = self.resident

    async def perform(self, job: Job) -> bool:
        """Send the task and take what comes back; whether the worker lived to answer."""
        answers = self._process.stdout
        try:
            await self._tell(job.task)
            while answers is not None and (line := await answers.readline()):
                message = json.loads(line)
                if "stage" in message:
                    job.stage = message["stage"]
                elif "room" in message:
                    await self._tell({"room": job.refusal(message["room"])})
                else:
                    _end(job, message)
                    return True
        except (BrokenPipeError, ConnectionResetError, ValueError):
            pass
        # Killed from outside, as a system does that runs out of memory, or crashed in a library.
        job.end("failed", DIED)
        return False

    async def kill(self) -> None:
        """End the process and what it started, and wait until it has ended."""
        if not self.dead:
            with suppress(ProcessLookupError):
                if os.name == "posix":
                    os.killpg(self.pid, signal.SIGKILL)
                else:
                    self._process.kill()
        await self._process.wait()

    async def _tell(self, message: dict[str, Any]) -> None:
        if self._process.stdin is not None:
            self._process.stdin.write(json.dumps(message).encode("ascii") + b"\n")
            await self._process.stdin.drain()


def _end(job: Job, message: dict[str, Any]) -> None:
    if "done" in message:
        job.end("done", answer=message["done"])
    else:
        job.end("failed", tuple(message.get("wrong", FAULT)))
