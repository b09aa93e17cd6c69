"""The workers of a Dask cluster while they count: whether they keep dying, or all wait for memory that nobody frees.

Dask itself gives up a task that kills its worker several times. A worker that dies while it only holds or fetches rows
is started again without end, and one that was paused because its memory is full may wait for ever.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from threading import Event, Thread
from typing import Any

from heldout.errors import HeldoutError

# Seconds between two looks at the workers.
PAUSE = 2.0
# Seconds that all workers may be paused.
PAUSED = 30.0


@contextmanager
def watch_dask(*, is_dask: bool) -> Iterator[None]:
    """End what is computed on a Dask cluster with an error where its workers cannot do it for want of memory."""
    client = find_client() if is_dask else None
    if client is None:
        yield
        return
    watcher = _Watcher(client)
    watcher.start()
    try:
        yield
    except BaseException as error:
        if not watcher.why:
            raise
        raise HeldoutError(
            f"Dask could not finish: {watcher.why}.",
            hint="most often their memory was full: give the workers more of it (dask worker --memory-limit 4GiB) or "
            "the table smaller parts, and install the same heldout on them.",
        ) from error
    finally:
        watcher.ended.set()


def find_client() -> Any:
    """The client of the cluster that Dask computes on; None where threads of this process do."""
    try:
        from distributed import get_client

        return get_client()
    except (ImportError, ValueError):
        return None


class _Watcher(Thread):
    def __init__(self, client: Any) -> None:
        super().__init__(daemon=True)
        self.client = client
        self.ended = Event()
        self.why = ""
        self._before = self._count_deaths()
        self._awake = time.monotonic()

    def run(self) -> None:
        while not self.ended.wait(PAUSE):
            # Where the scheduler itself is gone, the computation ends with Dask's own error.
            with suppress(Exception):
                self.why = self._look()
                if self.why:
                    self._cancel()

    def _look(self) -> str:
        """Why the workers will not finish; empty where they may."""
        workers = list(self.client.scheduler_info(n_workers=-1)["workers"].values())
        if any(worker["status"] != "paused" for worker in workers) or not workers:
            self._awake = time.monotonic()
        if (waited := time.monotonic() - self._awake) > PAUSED:
            return f"all {len(workers)} workers have been paused for {waited:.0f} seconds, because their memory is full"
        died = self._count_deaths() - self._before
        if died > max(_allowed_failures(), len(workers) // 2):
            return f"workers died {died} times"
        return ""

    def _count_deaths(self) -> int:
        events = (event for _, event in self.client.get_events("all"))
        return sum(event.get("action") == "remove-worker" and not event["expected"] for event in events)

    def _cancel(self) -> None:
        from distributed import Future

        futures: Any = [Future(key, self.client) for key in list(self.client.futures)]
        self.client.cancel(futures, force=True)


def _allowed_failures() -> int:
    """How many workers a task may kill before Dask gives it up."""
    import dask

    return int(dask.config.get("distributed.scheduler.allowed-failures", 3))
