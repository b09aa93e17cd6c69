"""How many threads count: as many as the machine has cores, or as were asked for; and work shared out among them."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from threading import Barrier, Thread, current_thread
from typing import TYPE_CHECKING, Any, TypeVar

from heldout.errors import OptionError

if TYPE_CHECKING:
    from functools import cached_property as cached_property  # noqa: PLC0414 - for others to import
else:
    from functools import cached_property as _locking_property

    class cached_property(_locking_property):  # noqa: N801 - what it stands for is called so
        """The one of functools without the lock that it has in Python 3.11, one for all instances of a class.

        Under that lock a thread that shares out work would wait for workers that wait for the lock, for ever.
        """

        def __get__(self, instance: Any, owner: Any = None) -> Any:
            if instance is None:
                return self
            values = instance.__dict__
            if self.attrname not in values:
                # Two threads may both come here: what they make is equal, and the first one stays.
                return values.setdefault(self.attrname, self.func(instance))
            return values[self.attrname]


Part = TypeVar("Part")
Made = TypeVar("Made")

# The prefix of the names of our threads.
WORKER = "heldout"
# Batches queued beyond those being worked on.
AHEAD = 2

_asked: ContextVar[int | None] = ContextVar("threads", default=None)


def count_threads() -> int:
    """So many threads work at once: those asked for, else those of POLARS_MAX_THREADS, else the cores there are.

    >>> with use_threads(3):
    ...     count_threads()
    3
    """
    asked = _asked.get()
    if asked is not None:
        return asked
    limit = os.environ.get("POLARS_MAX_THREADS", "")
    return int(limit) if limit.isdecimal() and int(limit) else _count_cores()


@contextmanager
def use_threads(threads: int | None) -> Iterator[None]:
    """Count with so many threads for a while; None changes nothing."""
    if threads is not None and (isinstance(threads, bool) or not isinstance(threads, int) or threads < 1):
        raise OptionError(
            f"The number of threads cannot be {threads!r}.", hint="give a whole number from 1 on, such as threads=4."
        )
    token = _asked.set(_asked.get() if threads is None else threads)
    try:
        yield
    finally:
        _asked.reset(token)


def share_out(work: Callable[[Part], Made], parts: Iterable[Part]) -> list[Made]:
    """What `work` makes of every part, in their order, whichever thread does it; one part is not worth a thread.

    Only what leaves the interpreter for long gains: sorting and arithmetic of NumPy, Polars, and compiled passes.

    >>> share_out(sum, [[1, 2], [3]])
    [3, 3]
    """
    listed = list(parts)
    threads = min(count_threads(), len(listed))
    # A thread that has a part of the work does all of it: waiting for others of its pool, it might wait for ever.
    pool = None if threads < 2 or current_thread().name.startswith(WORKER) else _start_pool(threads)
    return [work(part) for part in listed] if pool is None else list(pool.map(work, listed))


def share_in_turn(work: Callable[[Part], Made], parts: Iterable[Part]) -> Iterator[Made]:
    """The same of parts that come one after another, and are too many to be held: a few at a time are worked on.

    >>> list(share_in_turn(sum, iter([[1, 2], [3]])))
    [3, 3]
    """
    threads = count_threads()
    pool, waiting = None if threads < 2 else _start_pool(threads), deque[Future[Made]]()
    if pool is None:
        yield from map(work, parts)
        return
    try:
        for part in parts:
            waiting.append(pool.submit(work, part))
            if len(waiting) > threads + AHEAD:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
    finally:
        for future in waiting:
            future.cancel()


@cache
def _start_pool(threads: int) -> ThreadPoolExecutor | None:
    """One pool for each number of threads: starting threads takes longer than a small piece of work.

    None where the system starts no more threads, as in a container with few: then the caller does all by itself.
    """
    pool, all_there = ThreadPoolExecutor(threads, thread_name_prefix=WORKER), Barrier(threads)

    def start_workers() -> None:
        try:
            for _ in range(threads):
                pool.submit(all_there.wait)
        except RuntimeError:
            # Those that did start must not wait for the others.
            all_there.abort()

    # An interrupt that comes to the main thread while it starts a worker leaves one that the pool does not know, and
    # for which Python waits without end as it ends. No other thread is ever interrupted, so another starts them all.
    starter = Thread(target=start_workers)
    try:
        starter.start()
    except RuntimeError:
        all_there.abort()
    else:
        starter.join()
    if not all_there.broken:
        return pool
    pool.shutdown(wait=False)
    return None


if hasattr(os, "register_at_fork"):
    # A process made by fork has none of its parent's threads.
    os.register_at_fork(after_in_child=_start_pool.cache_clear)


def _count_cores() -> int:
    """The cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
