"""Work for other processes: jobs, a queue, and a few warm workers; a job ends without harm to the others."""

from __future__ import annotations

import asyncio
import json
import logging
import math
import os
import signal
import sys
import time
from asyncio.subprocess import PIPE, Process
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from heldout.web.limits import IN_TIME, MEMORY, SEND_LESS, Limits, size_words

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


# The message for faults of the server; the details go to the terminal.

FAULT = (
    "heldout failed here, and should not have.",
    "please report it; what happened stands in the terminal that the server was started from.",
)


# One worker: a process that is started, given a job, measured, and killed with all that it started.

# -P: a module that happens to lie in the current folder must not be imported instead of a library.
COMMAND = (sys.executable, "-P", "-m", "heldout.web.worker")
# The longest answer of a worker: the columns of a wide file with long names.
LONGEST_ANSWER, LONG_ANSWER = 256 * 1024 * 1024, 100_000
# Seconds that a worker has to import everything.
START_UP = 120.0
DIED = ("The process that worked on this file died.", "it may need more memory than there is: send fewer rows.")


class Worker:
    """A process that computes one job at a time."""

    def __init__(self, process: Process) -> None:
        self._process = process
        self._fresh = 0

    @classmethod
    async def start(cls, command: Sequence[str] = COMMAND, memory: float = math.inf) -> Worker:
        """Start a process that may take so many bytes of memory; OSError where the system has none to give."""
        # A group of its own: Ctrl-C in the terminal is for the server alone, and a kill takes all that it started.
        process = await asyncio.create_subprocess_exec(
            *command, stdin=PIPE, stdout=PIPE, limit=LONGEST_ANSWER, process_group=0 if os.name == "posix" else None,
            env={**os.environ, MEMORY: str(memory)},
        )  # fmt: skip
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
                # The columns of a wide file are long to read, and others must not wait for it.
                message = await asyncio.to_thread(json.loads, line) if len(line) > LONG_ANSWER else json.loads(line)
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


LOG = logging.getLogger(__name__)
MEMORY_EVERY = 0.1
# Seconds that a job which nobody wants any more may still take. A process that is killed costs its successor all
# imports: whoever begins and cancels small jobs again and again must not keep the workers from everybody else.
GRACE = 1.0
# Seconds between attempts to start a worker where the system has no process or no memory to give.
FIRST_PAUSE, LONGEST_PAUSE = 0.5, 30.0


class Workers:
    """Processes that compute, each one job at a time; what hangs is killed and replaced.

    `trouble` says why no worker can be started, where that is so.
    """

    def __init__(self, limits: Limits, command: Sequence[str] = COMMAND) -> None:
        self.limits = limits
        self.command = command
        self.trouble = ""
        self._queue: asyncio.Queue[Job] = asyncio.Queue()
        self._waiting: list[Job] = []
        self._tasks: list[asyncio.Task[None]] = []
        self._running: dict[Job, Worker] = {}
        self._workers: set[Worker] = set()

    @property
    def pids(self) -> list[int]:
        """The numbers of the processes."""
        return [worker.pid for worker in self._workers]

    def start(self) -> None:
        """Start the workers; they warm up on their own."""
        self._tasks = [asyncio.create_task(self._tend()) for _ in range(self.limits.workers)]
        self._tasks.append(asyncio.create_task(self._watch_memory()))

    async def close(self) -> None:
        """End every job and every process."""
        left = [*self._waiting, *self._running]
        for job in left:
            job.end("cancelled")
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await asyncio.gather(*(self._end(worker) for worker in list(self._workers)))
        for job in left:
            job.finished.set()

    def submit(self, task: dict[str, Any], room: Room | None = None) -> Job:
        """Put a task into the queue; `room` is asked before anything large is written."""
        job = Job(task) if room is None else Job(task, room)
        self._waiting.append(job)
        self._queue.put_nowait(job)
        return job

    def cancel(self, job: Job) -> None:
        """End a job that nobody wants any more; its worker, if it has one and does not finish soon, is replaced."""
        job.end("cancelled")
        job.stop.set()
        if job in self._waiting:
            self._waiting.remove(job)
            job.finished.set()

    def stage(self, job: Job) -> str:
        """What is being done for a job, or why nothing is."""
        if job not in self._waiting:
            return job.stage
        ahead = self._waiting.index(job)
        return self.trouble or (f"{job.stage}: {ahead} in front of you" if ahead else job.stage)

    async def _tend(self) -> None:
        """Keep one worker alive and busy."""
        worker = await self._started()
        while True:
            job = await self._queue.get()
            if worker.dead and not job.ended:
                worker = await self._replaced(worker)
            if job.ended:
                continue
            self._waiting.remove(job)
            self._running[job] = worker
            whole = False
            try:
                whole = await self._serve(job, worker)
                if not whole:
                    await self._end(worker)
            except Exception:
                LOG.exception("A job failed, and should not have.")
            finally:
                del self._running[job]
                job.end("failed", FAULT)
                job.finished.set()
            # Memory that a large job leaves behind would count against the next job.
            if not whole or worker.grown > self.limits.grown:
                worker = await self._replaced(worker)

    async def _serve(self, job: Job, worker: Worker) -> bool:
        """Run a job; whether its worker can be used again."""
        job.state, job.stage = "working", "Starting"
        talk = asyncio.create_task(worker.perform(job))
        stop = asyncio.create_task(job.stop.wait())
        try:
            await asyncio.wait({talk, stop}, timeout=self.limits.timeout, return_when=asyncio.FIRST_COMPLETED)
            if not talk.done() and job.cancelled:
                await asyncio.wait({talk}, timeout=GRACE)
            if talk.done():
                return await talk
        finally:
            stop.cancel()
            talk.cancel()
        job.end("failed", self._too_long())
        return False

    def _too_long(self) -> Words:
        return (
            f"This took longer than {self.limits.timeout:,.0f} seconds and was ended.",
            "send fewer rows, or start the server with a larger --timeout.",
        )

    async def _started(self) -> Worker:
        """A new worker, as soon as the system gives one; a job begins then, so that its time is its own."""
        pause = FIRST_PAUSE
        while True:
            try:
                worker = await Worker.start(self.command, self.limits.worker_memory)
            except OSError as error:
                message = f"No worker can be started ({error.strerror or error}); trying again"
                if message != self.trouble:
                    LOG.warning("%s until it works.", message)
                self.trouble = message
                await asyncio.sleep(pause)
                pause = min(2 * pause, LONGEST_PAUSE)
                continue
            self.trouble = ""
            self._workers.add(worker)
            await worker.warm_up()
            return worker

    async def _replaced(self, worker: Worker) -> Worker:
        await self._end(worker)
        return await self._started()

    async def _end(self, worker: Worker) -> None:
        await worker.kill()
        self._workers.discard(worker)

    async def _watch_memory(self) -> None:
        """End the largest job when all of them together need more memory than there is to give."""
        while True:
            await asyncio.sleep(MEMORY_EVERY)
            memory = {job: worker.resident for job, worker in self._running.items()}
            if memory and sum(worker.resident for worker in self._workers) > IN_TIME * self.limits.memory:
                largest = max(memory, key=lambda job: memory[job])
                largest.end(
                    "failed",
                    (
                        f"This needed more memory than there is: {size_words(memory[largest])}.",
                        SEND_LESS,
                    ),
                )
                largest.stop.set()
