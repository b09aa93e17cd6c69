"""Interleaved timing: every contender meets the same machine in the same minute.

A machine speeds up and slows down while it works, so running one contender ten times and then the next ten
times compares two moments as much as two programs. Here each round runs every contender once, in an order
that rotates, and each is judged by the median of its rounds.
"""

from __future__ import annotations

import gc
import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Contender:
    """One way of doing the task.

    `most` limits the rounds of a slow one; `factor` scales the time of one that does only a part of the task
    (a hundredth of the replicates, say). `note` says so in the output.
    """

    name: str
    run: Callable[[], object]
    most: int | None = None
    factor: float = 1.0
    note: str = ""


@dataclass(frozen=True, slots=True)
class Timing:
    """What one contender took: the median of its rounds, scaled by its factor."""

    name: str
    seconds: float
    fastest: float
    slowest: float
    rounds: int
    ratio: float
    note: str


@dataclass(frozen=True, slots=True)
class Race:
    """One task and what each contender took for it; ratios are to the first."""

    task: str
    timings: tuple[Timing, ...]

    def __str__(self) -> str:
        lines = [self.task]
        for timing in self.timings:
            note = f"  ({timing.note})" if timing.note else ""
            lines.append(
                f"  {timing.name:<48} {timing.seconds:>11.4f} s  x {timing.ratio:>9.2f}"
                f"  {timing.rounds:>3} rounds{note}"
            )
        return "\n".join(lines)


def race(task: str, contenders: Sequence[Contender], *, rounds: int) -> Race:
    """Time all contenders, interleaved.

    A first round warms caches and imports and is not counted, except for a contender that runs only once.
    """
    seconds: list[list[float]] = [[] for _ in contenders]
    for round_number in range(rounds + 1):
        start = round_number % len(contenders)
        order = [*range(start, len(contenders)), *range(start)]
        for index in order:
            contender = contenders[index]
            most = rounds if contender.most is None else min(contender.most, rounds)
            warming = round_number == 0 and most > 1
            if not warming and len(seconds[index]) >= most:
                continue
            elapsed = _time_once(contender.run)
            if not warming:
                seconds[index].append(elapsed * contender.factor)
    first = statistics.median(seconds[0])
    return Race(
        task,
        tuple(
            Timing(
                name=contender.name,
                seconds=statistics.median(taken),
                fastest=min(taken),
                slowest=max(taken),
                rounds=len(taken),
                ratio=statistics.median(taken) / first,
                note=contender.note,
            )
            for contender, taken in zip(contenders, seconds, strict=True)
        ),
    )


def _time_once(run: Callable[[], object]) -> float:
    # Garbage of the one before must not be collected on this one's time.
    gc.collect()
    begin = time.perf_counter()
    result = run()
    elapsed = time.perf_counter() - begin
    del result
    return elapsed
