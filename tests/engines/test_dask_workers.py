"""Workers of Dask that will never finish are an error with a hint, not silence."""

from __future__ import annotations

from threading import Event
from typing import Any

import dask
import pytest

from heldout.engines.lazy import dask_workers
from heldout.engines.lazy.dask_workers import watch_dask
from heldout.errors import HeldoutError


class Cluster:
    """Stands for the client of a cluster: what its scheduler says of the workers, and what is cancelled."""

    def __init__(self, statuses: list[str], deaths: int) -> None:
        self.statuses = statuses
        self.left = deaths
        self.events: list[tuple[float, dict[str, Any]]] = [
            (0.0, {"action": "remove-worker", "expected": False}) for _ in range(9)
        ]
        self.futures: dict[str, object] = {}
        self.looks = 0
        self.looked_often = Event()
        self.cancelled = Event()

    def scheduler_info(self, n_workers: int) -> dict[str, Any]:
        assert n_workers == -1
        self.looks += 1
        if self.looks > 9:
            self.looked_often.set()
        return {"workers": {str(at): {"status": status} for at, status in enumerate(self.statuses)}}

    def get_events(self, topic: str) -> list[tuple[float, dict[str, Any]]]:
        assert topic == "all"
        if self.looks and self.left:
            self.left -= 1
            self.events.append((1.0, {"action": "remove-worker", "expected": False}))
            self.events.append((1.0, {"action": "remove-worker", "expected": True}))
            self.events.append((1.0, {"action": "add-worker"}))
        return self.events

    def cancel(self, futures: list[object], *, force: bool) -> None:
        assert force
        assert futures == []
        self.cancelled.set()


@pytest.fixture
def quick(monkeypatch):
    monkeypatch.setattr(dask_workers, "PAUSE", 0.01)
    monkeypatch.setattr(dask_workers, "PAUSED", 0.1)


def compute_until(event: Event, cluster: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dask_workers, "find_client", lambda: cluster)
    with watch_dask(is_dask=True), dask.config.set({"distributed.scheduler.allowed-failures": 3}):
        assert event.wait(60)
        if cluster.cancelled.is_set():
            raise RuntimeError("a computation that was cancelled")


@pytest.mark.usefixtures("quick")
@pytest.mark.parametrize(
    ("statuses", "deaths", "said"),
    [
        (["running", "running"], 4, "Dask could not finish: workers died 4 times."),
        (["paused", "paused"], 0, "all 2 workers have been paused for "),
    ],
)
def test_workers_that_cannot_do_it_are_given_up_with_a_hint(statuses, deaths, said, monkeypatch):
    cluster = Cluster(statuses, deaths)
    with pytest.raises(HeldoutError, match=said) as caught:
        compute_until(cluster.cancelled, cluster, monkeypatch)
    assert "--memory-limit" in caught.value.hint


@pytest.mark.usefixtures("quick")
def test_a_few_deaths_and_a_worker_that_is_awake_are_waited_for(monkeypatch):
    cluster = Cluster(["paused", "running"], 3)
    compute_until(cluster.looked_often, cluster, monkeypatch)
    assert cluster.left == 0


@pytest.mark.usefixtures("quick")
def test_what_else_goes_wrong_passes_as_it_is(monkeypatch):
    monkeypatch.setattr(dask_workers, "find_client", lambda: Cluster(["running"], 0))
    with pytest.raises(ZeroDivisionError), watch_dask(is_dask=True):
        raise ZeroDivisionError
