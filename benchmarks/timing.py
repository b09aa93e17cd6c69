"""Interleaved timing: every contender meets the same machine in the same minute.

A machine speeds up and slows down while it works, so running one contender ten times and then the next ten
times compares two moments as much as two programs. Here each round runs every contender once, in an order
that rotates, and each is judged by the median of its rounds.
"""

from __future__ import annotations

import gc
import statistics
import time
from collections.abc import Callable, Iterable, Sequence
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


@dataclass(frozen=True, slots=True)
class Standing:
    """One contender over several kinds of data: median and worst time, and how many times as fast the first is."""

    name: str
    seconds: float
    worst_seconds: float
    ratio: float
    worst_ratio: float
    worst_kind: str


@dataclass(frozen=True, slots=True)
class Series:
    """One task on several kinds of data: the race of each, and for every contender the worst beside the median."""

    task: str
    standings: tuple[Standing, ...]
    races: dict[str, Race]

    def __str__(self) -> str:
        lines = [f"{self.task}: median over {', '.join(self.races)}, and the worst"]
        lines += [
            f"  {one.name:<48} {one.seconds:>9.4f} s (worst {one.worst_seconds:>9.4f})"
            f"  x {one.ratio:>8.2f} (worst {one.worst_ratio:>8.2f}, {one.worst_kind})"
            for one in self.standings
        ]
        return "\n".join(lines)


def race_over(task: str, kinds: Iterable[str], run: Callable[[str], Race]) -> Series:
    """Run the race of every kind of data."""
    races = {kind: run(kind) for kind in kinds}
    standings = []
    for timings in zip(*(one.timings for one in races.values()), strict=True):
        by_kind = dict(zip(races, timings, strict=True))
        # A peer is beaten by the least where its ratio is smallest.
        worst = min(by_kind, key=lambda kind: by_kind[kind].ratio)
        taken, ratios = [one.seconds for one in timings], [one.ratio for one in timings]
        standings.append(
            Standing(
                timings[0].name, statistics.median(taken), max(taken), statistics.median(ratios), min(ratios), worst
            )
        )
    return Series(task, tuple(standings), races)


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
