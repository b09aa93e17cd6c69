"""Work for other processes: a few warm workers, a queue, and every job cancelled or cut off without harm to others."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
import time
from asyncio.subprocess import PIPE, Process
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from heldout.web.limits import Limits, size_words

State = Literal["waiting", "working", "done", "failed", "cancelled"]
# The longest answer of a worker: the columns of a wide file with long names.
LONGEST_ANSWER = 256 * 1024 * 1024
MEMORY_EVERY = 0.5
# Seconds that a worker has to import everything.
START_UP = 120.0
FAULT = (
    "heldout failed on this file, and should not have.",
    "please report it; what happened stands in the terminal that the server was started from.",
)


@dataclass(eq=False)
class Job:
    """One task, and how far it is."""

    task: dict[str, Any]
    state: State = "waiting"
    stage: str = "Waiting for a free worker"
    answer: dict[str, Any] = field(default_factory=dict)
    wrong: tuple[str, str] = ("", "")
    begun: float = field(default_factory=time.monotonic)
    finished: asyncio.Event = field(default_factory=asyncio.Event)
    stop: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def ended(self) -> bool:
        """Whether nothing more will come of it."""
        return self.state not in ("waiting", "working")

    @property
    def seconds(self) -> float:
        """How long the person has been waiting."""
        return time.monotonic() - self.begun

    def end(self, state: State, wrong: tuple[str, str] = ("", "")) -> None:
        """Say what became of it; the first word stands."""
        if not self.ended:
            self.state, self.wrong = state, wrong
            self.finished.set()


class Workers:
    """Processes that compute, each one job at a time; what hangs is killed and replaced."""

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        self._queue: asyncio.Queue[Job] = asyncio.Queue()
        self._waiting: list[Job] = []
        self._tasks: list[asyncio.Task[None]] = []
        self._running: dict[Job, Process] = {}
        self._processes: set[Process] = set()

    def start(self) -> None:
        """Start the workers; they warm up on their own."""
        self._tasks = [asyncio.create_task(self._tend()) for _ in range(self.limits.workers)]
        self._tasks.append(asyncio.create_task(self._watch_memory()))

    async def close(self) -> None:
        """End every job and every process."""
        for job in [*self._waiting, *self._running]:
            job.end("cancelled")
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await asyncio.gather(*(self._kill(process) for process in list(self._processes)))

    def submit(self, task: dict[str, Any]) -> Job:
        """Put a task into the queue."""
        job = Job(task)
        self._waiting.append(job)
        self._queue.put_nowait(job)
        return job

    def cancel(self, job: Job) -> None:
        """End a job that nobody wants any more; its worker, if it has one, is replaced."""
        job.end("cancelled")
        job.stop.set()
        if job in self._waiting:
            self._waiting.remove(job)

    def ahead(self, job: Job) -> int:
        """How many jobs wait in front of this one."""
        return self._waiting.index(job) if job in self._waiting else 0

    async def _tend(self) -> None:
        """Keep one worker alive and busy."""
        process = await self._process()
        while True:
            job = await self._queue.get()
            if job.ended:
                continue
            self._waiting.remove(job)
            if process.returncode is not None:
                process = await self._replaced(process)
            self._running[job] = process
            try:
                whole = await self._serve(job, process)
            finally:
                del self._running[job]
            if not whole:
                process = await self._replaced(process)

    async def _serve(self, job: Job, process: Process) -> bool:
        """Run a job; whether its worker can be used again."""
        job.state, job.stage = "working", "Starting"
        talk = asyncio.create_task(_talk(job, process))
        stop = asyncio.create_task(job.stop.wait())
        try:
            await asyncio.wait({talk, stop}, timeout=self.limits.timeout, return_when=asyncio.FIRST_COMPLETED)
        finally:
            stop.cancel()
            if not talk.done():
                talk.cancel()
        if talk.done() and not talk.cancelled() and talk.exception() is None:
            return talk.result()
        job.end(
            "failed",
            FAULT
            if talk.done() and not talk.cancelled()
            else (
                f"This took longer than {self.limits.timeout:,.0f} seconds and was ended.",
                "send fewer rows, or start the server with a larger --timeout.",
            ),
        )
        return False

    async def _process(self) -> Process:
        # A group of its own: Ctrl-C in the terminal is for the server alone, and a kill takes all that it started.
        # -P: a module that happens to lie in the current folder must not be imported instead of a library.
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-P", "-m", "heldout.web.worker", stdin=PIPE, stdout=PIPE, limit=LONGEST_ANSWER,
            process_group=0 if os.name == "posix" else None,
        )  # fmt: skip
        self._processes.add(process)
        # A job begins when there is a worker for it, so that its time is its own. A worker that dies on the way
        # is found out by the first job that it is given.
        with suppress(TimeoutError):
            await asyncio.wait_for(_ready(process), START_UP)
        return process

    async def _replaced(self, process: Process) -> Process:
        await self._kill(process)
        return await self._process()

    async def _kill(self, process: Process) -> None:
        if process.returncode is None:
            with suppress(ProcessLookupError):
                if os.name == "posix":
                    os.killpg(process.pid, signal.SIGKILL)
                else:
                    process.kill()
        await process.wait()
        self._processes.discard(process)

    async def _watch_memory(self) -> None:
        """End the largest job when all of them together need more memory than there is to give."""
        while True:
            await asyncio.sleep(MEMORY_EVERY)
            held = {job: resident(process.pid) for job, process in self._running.items()}
            idle = sum(resident(process.pid) for process in self._processes) - sum(held.values())
            if held and idle + sum(held.values()) > self.limits.memory:
                largest = max(held, key=lambda job: held[job])
                largest.end(
                    "failed",
                    (
                        f"This needed more memory than there is: {size_words(held[largest])}.",
                        "send fewer rows or columns, or use a larger machine.",
                    ),
                )
                largest.stop.set()


async def _ready(process: Process) -> None:
    if process.stdout is not None:
        await process.stdout.readline()


async def _talk(job: Job, process: Process) -> bool:
    """Send the task and take what comes back; whether the worker lived to answer."""
    tasks, answers = process.stdin, process.stdout
    try:
        if tasks is not None:
            tasks.write(json.dumps(job.task).encode("ascii") + b"\n")
            await tasks.drain()
        while answers is not None and (line := await answers.readline()):
            message = json.loads(line)
            if "stage" in message:
                job.stage = message["stage"]
                continue
            if "done" in message:
                job.answer = message["done"]
                job.end("done")
            else:
                job.end("failed", tuple(message.get("wrong", FAULT)))
            return True
    except (BrokenPipeError, ConnectionResetError, ValueError):
        pass
    # Killed from outside, as a system does that runs out of memory, or crashed in a library.
    job.end(
        "failed",
        ("The process that worked on this file died.", "it may need more memory than there is: send fewer rows."),
    )
    return False


def resident(pid: int) -> int:
    """The bytes of memory that a process holds; 0 where the system does not say."""
    try:
        pages = int(Path(f"/proc/{pid}/statm").read_text(encoding="ascii").split()[1])
    except (OSError, ValueError, IndexError):
        return 0
    return pages * os.sysconf("SC_PAGE_SIZE")
