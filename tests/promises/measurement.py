"""Runs what is not measured yet: pieces of work over all cores, the first piece of every cell first, then the next.

Each finished piece is written at once, so that a run can be stopped at any time and goes on where it was.
"""

from __future__ import annotations

import math
import os
import sys
import time
import warnings
from collections import defaultdict
from collections.abc import Iterable
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from dataclasses import dataclass, field
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
from tests.promises.cell import LEVELS, REVIEWED, Cell, Tally
from tests.promises.register import list_cells
from tests.promises.store import Measured, Store

PIECES = 40
# One thread in each process: the processes share the cores.
ONE_THREAD = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "POLARS_MAX_THREADS")


@dataclass(frozen=True, slots=True)
class Task:
    """One piece of work."""

    family: str
    name: str
    chunk: int
    levels: tuple[float, ...] = LEVELS

    @property
    def cell(self) -> Cell:
        """The cell."""
        return list_cells(self.family, self.levels)[self.name]

    @property
    def draws(self) -> int:
        """How many draws it is."""
        return REVIEWED if self.chunk == 0 else self.cell.chunk


def list_tasks(store: Store, measured: dict[tuple[str, str], Measured], scale: float) -> list[Task]:
    """What is left to do, so that all cells have about as many draws: a run that is stopped can judge most of them."""
    left: list[tuple[int, int, Task]] = []
    for place, ((family, name), known) in enumerate(measured.items()):
        cell = store.list_cells(family)[name]
        left += [
            (chunk * cell.chunk, place, Task(family, name, chunk, store.levels))
            for chunk in range(cell.count_chunks(scale))
            if chunk not in known.chunks
        ]
    return [task for _, _, task in sorted(left, key=lambda one: one[:2])]


def run_task(task: Task, folder: Path) -> tuple[Tally, float]:
    """Do one piece of work, and say how many seconds of processor time it took."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        truth = Store(folder).truth(task.family, task.cell)
        began = time.process_time()
        tally = task.cell.measure(task.chunk, truth)
    return tally, time.process_time() - began


@dataclass
class Progress:
    """How much is done and how long the rest will take, on standard error."""

    tasks: list[Task]
    jobs: int
    times: dict[tuple[str, str], list[float]] = field(default_factory=lambda: defaultdict(lambda: [0.0, 0.0]))
    began: float = field(default_factory=time.monotonic)
    last: float = 0.0

    def add(self, task: Task, seconds: float) -> None:
        """Count a finished piece of work."""
        spent = self.times[task.family, task.name]
        spent[0] += seconds
        spent[1] += task.draws

    def seconds_of(self, task: Task) -> float:
        """What a piece of work will take: by its cell, or by the median cell where nothing is known of it."""
        spent, draws = self.times.get((task.family, task.name), (0.0, 0.0))
        if draws:
            return spent / draws * task.draws
        known = [spent / draws for spent, draws in self.times.values() if draws]
        return float(np.median(known)) * task.draws if known else math.nan

    def show(self, left: Iterable[Task], *, end: bool = False) -> None:
        """Print a line, at most once in two seconds."""
        now = time.monotonic()
        if not end and now - self.last < 2:
            return
        self.last = now
        left = list(left)
        rest = sum(self.seconds_of(task) for task in left) / self.jobs
        done = len(self.tasks) - len(left)
        ahead = "" if math.isnan(rest) else f", about {_clock(rest)} left"
        line = f"{done:,} of {len(self.tasks):,} pieces in {_clock(now - self.began)}{ahead}"
        if sys.stderr.isatty():
            print(f"\r{line:<78}", end="\n" if end else "", file=sys.stderr, flush=True)
        elif end or done % 50 == 0:
            print(line, file=sys.stderr, flush=True)


def _clock(seconds: float) -> str:
    minutes = round(seconds / 60)
    return f"{seconds:.0f} s" if seconds < 90 else f"{minutes // 60} h {minutes % 60:02} min"


def measure_all(
    store: Store, families: tuple[str, ...], *, scale: float = 1.0, jobs: int = 1, minutes: float = math.inf
) -> None:
    """Measure what is missing of some families, for at most so many minutes."""
    measured = store.read(families)
    tasks = list_tasks(store, measured, scale)
    progress = Progress(tasks, jobs)
    for (family, name), known in measured.items():
        if known.tally.draws:
            progress.times[family, name] = [known.seconds, known.tally.draws]
    run_tasks(store, tasks, progress, minutes)


def confirm_results(store: Store, families: tuple[str, ...], jobs: int) -> list[tuple[str, str]]:
    """Measure one piece again of every cell that other code measured; the cells in which it has another outcome.

    What is the same is taken over, quantity by quantity: every piece has a seed of its own, so code that counts the
    same of a quantity in one of them has not changed how it is computed there.
    """
    earlier = store.find_unconfirmed(families)
    tasks = [Task(*place, min(pieces), store.levels) for place, pieces in earlier.items()]
    run_tasks(store, tasks, Progress(tasks, jobs))
    return [
        (family, name)
        for (family, name), pieces in earlier.items()
        if not store.confirm(family, store.list_cells(family)[name], pieces)
    ]


def run_tasks(store: Store, tasks: list[Task], progress: Progress, minutes: float = math.inf) -> None:
    """Do pieces of work in their order, and write each when it is done."""
    os.environ.update(dict.fromkeys(ONE_THREAD, "1"))
    until = time.monotonic() + 60 * minutes
    queue = list(reversed(tasks))
    running: dict[Future[Any], Task] = {}
    # Spawned, not forked: Polars' threads do not survive a fork. Each does so many pieces and makes room for another,
    # because what large draws took from the machine is not given back.
    with ProcessPoolExecutor(progress.jobs, mp_context=get_context("spawn"), max_tasks_per_child=PIECES) as pool:
        try:
            while running or (queue and time.monotonic() < until):
                while queue and len(running) < 2 * progress.jobs and time.monotonic() < until:
                    task = queue.pop()
                    running[pool.submit(run_task, task, store.folder)] = task
                for future in wait(running, return_when=FIRST_COMPLETED).done:
                    task = running.pop(future)
                    tally, seconds = future.result()
                    store.append(task.family, task.cell, task.chunk, tally, seconds)
                    progress.add(task, seconds)
                progress.show([*queue, *running.values()])
        except KeyboardInterrupt:
            pool.shutdown(wait=False, cancel_futures=True)
            print("\nStopped; running it again goes on from here.", file=sys.stderr)
    progress.show(queue, end=True)
