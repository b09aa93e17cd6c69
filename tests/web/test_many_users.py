"""Many at once: each sees only what is theirs, and nobody waits for another's hanging computation."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import pytest
from tests.web.serving import DIABETES, Server, estimate, predictions


def workers(server: Server) -> list[int]:
    """The processes that compute for a server."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                parent = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
            except (OSError, ValueError):
                continue
            if parent == server.process.pid:
                found.append(int(entry.name))
    return found


def at_rest(pid: int) -> int:
    """The time that a process has computed, where it sleeps now; otherwise 0."""
    held = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return int(held[11]) + int(held[12]) if held[0] == "S" else 0


@contextmanager
def hanging(server: Server) -> Iterator[list[int]]:
    """Every worker stops where it is, as one that hangs does; before that, all of them have started up."""
    stopped = workers(server)
    assert stopped
    quiet = 0
    while quiet < 3:
        before = [at_rest(pid) for pid in stopped]
        time.sleep(0.15)
        quiet = quiet + 1 if all(before) and before == [at_rest(pid) for pid in stopped] else 0
    for pid in stopped:
        os.kill(pid, signal.SIGSTOP)
    try:
        yield stopped
    finally:
        for pid in set(stopped) & set(workers(server)):
            os.kill(pid, signal.SIGCONT)


def test_two_hundred_requests_and_twenty_uploads_at_once(server):
    shared = server.upload(DIABETES.read_bytes(), "diabetes.csv")
    server.report(shared, truth="2", predicted="3")

    def look(at: int) -> int:
        path = ["/", f"{shared}/report", f"{shared}/columns", f"{shared}/report.json"][at % 4]
        return server.ask("GET", path).status

    def use(at: int) -> tuple[str, float, float, str]:
        # Every user has another number of right answers, and a name and a label that nobody else has.
        data = predictions(20 + at, 30).replace(b"yes", f"label{at}x".encode())
        here = server.upload(data, f"user{at}x.csv")
        document = server.report(here, truth="0", predicted="1")
        text = server.ask("GET", f"{here}/report").text
        return here, estimate(document, "accuracy"), (20 + at) / (50 + at), text

    with ThreadPoolExecutor(220) as pool:
        looked = pool.map(look, range(200))
        used = list(pool.map(use, range(20)))
        assert set(looked) == {200}
    assert len({here for here, *_ in used}) == 20
    for at, (_, found, told, text) in enumerate(used):
        assert found == pytest.approx(told, abs=1e-12)
        assert f"user{at}x.csv" in text
        for other in range(20):
            assert (f"label{other}x" in text) == (other == at)


def test_a_hanging_computation_is_cancelled_while_others_finish(server):
    first, second, third = (server.upload(predictions(10 + at, 5)) for at in range(3))
    columns = {"truth": "0", "predicted": "1"}
    with hanging(server):
        for here in (first, second):
            assert server.choose(here, **columns).status == 202
        # As many hang as there are workers at most, so that with more than two the third runs at once.
        for _ in range(max(0, len(workers(server)) - 2)):
            server.choose(server.upload(predictions(1, 1)), **columns)
        assert server.ask("GET", "/").status == 200
        assert server.ask("GET", f"{first}/state").said["busy"]
        server.choose(third, **columns)
        assert "Waiting" in server.ask("GET", f"{third}/state").said["stage"]
        assert server.ask("DELETE", f"{first}/job").said["next"] == f"{first}/columns"
        assert server.wait(third) == f"{third}/report"
        assert server.ask("GET", f"{second}/state").said["busy"]
    assert estimate(server.ask("GET", f"{third}/report.json").said, "accuracy") == pytest.approx(12 / 17)
    assert "cancelled" in server.wrong(first)
    assert server.wait(second) == f"{second}/report"
    assert estimate(server.report(first, **columns), "accuracy") == pytest.approx(10 / 15)


def test_a_computation_that_takes_too_long_is_ended_and_one_that_dies_is_said(tmp_path):
    server = Server.start(tmp_path / "tmp", "--timeout", "3", "--workers", "1")
    try:
        here = server.upload(predictions(5, 5))
        with hanging(server):
            started = time.monotonic()
            server.choose(here, truth="0", predicted="1")
            assert server.wait(here) == f"{here}/columns"
            assert time.monotonic() - started > 2.5
        assert "took longer than 3 seconds" in server.wrong(here)
        assert "--timeout" in server.wrong(here)
        with hanging(server) as stopped:
            server.choose(here, truth="0", predicted="1")
            while "Waiting" in server.ask("GET", f"{here}/state").said["stage"]:
                time.sleep(0.05)
            for pid in stopped:
                os.kill(pid, signal.SIGKILL)
            server.wait(here)
        assert "died" in server.wrong(here)
        assert estimate(server.report(here, truth="0", predicted="1"), "accuracy") == 0.5
    finally:
        server.stop()
