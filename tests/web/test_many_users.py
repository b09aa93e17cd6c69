"""Many at once: each sees only what is theirs, and nobody waits for another's hanging computation."""

from __future__ import annotations

import os
import signal
import socket
import statistics
import time
from concurrent.futures import ThreadPoolExecutor

import pytest
from tests.web.crowd import BOMBS, gather, timed
from tests.web.serving import Server, estimate, hanging, predictions, until, workers

COLUMNS = {"truth": "0", "predicted": "1"}
FORMS = ("html", "json", "tex", "md")


def own(server: Server, at: int) -> tuple[str, dict[str, str], float]:
    """What one of many users sees: every page and download of a file, and of another compared with it.

    Every user has another number of right predictions, and names, labels and a column that nobody else has.
    """
    mark = f"mark{at}x"
    data = predictions(20 + at, 30).replace(b"yes", f"label{mark}".encode())
    here = server.upload(data.replace(b"predicted", f"column{mark}".encode()), f"first{mark}.csv")
    document = server.report(here, **COLUMNS)
    other = predictions(25 + at, 25).replace(b"yes", f"label{mark}".encode())
    second = server.upload(other, f"second{mark}.csv", beside=here.removeprefix("/u/"))
    pages = {path: server.ask("GET", f"{second}/{path}").text for path in ("columns", "state")}
    server.report(second, **COLUMNS)
    for place, name in ((here, "report"), (second, "comparison")):
        for path in (name, *(f"{name}.{form}" for form in FORMS), "columns", "state"):
            answer = server.ask("GET", f"{place}/{path}")
            assert answer.status == 200
            pages[f"{place}/{path}"] = answer.text
    return here, pages, estimate(document, "accuracy")


def test_two_hundred_requests_and_twenty_uploads_at_once(server):
    shared = server.upload(predictions(7, 2), "shared.csv")
    server.report(shared, **COLUMNS)

    def look(at: int) -> int:
        path = ["/", f"{shared}/report", f"{shared}/columns", f"{shared}/report.json"][at % 4]
        return server.ask("GET", path).status

    with ThreadPoolExecutor(220) as pool:
        looked = pool.map(look, range(200))
        used = list(pool.map(lambda at: own(server, at), range(20)))
        assert set(looked) == {200}
    assert len({here for here, *_ in used}) == 20
    for at, (_, pages, found) in enumerate(used):
        assert found == pytest.approx((20 + at) / (50 + at), abs=1e-12)
        told = "".join(pages.values())
        # The page, its downloads and the form name what is theirs; nothing anywhere names what is another's.
        for path, text in pages.items():
            assert f"mark{at}x" in text or path.endswith("state"), path
        for other in range(20):
            assert (f"mark{other}x" in told) == (other == at)


def test_a_hanging_computation_is_cancelled_while_others_finish(server):
    first, second, third = (server.upload(predictions(10 + at, 5)) for at in range(3))
    with hanging(server):
        for here in (first, second):
            assert server.choose(here, **COLUMNS).status == 202
        # As many hang as there are workers at most, so that with more than two the third runs at once.
        for _ in range(max(0, len(workers(server)) - 2)):
            server.choose(server.upload(predictions(1, 1)), **COLUMNS)
        assert server.ask("GET", "/").status == 200
        assert server.state(first)["busy"]
        server.choose(third, **COLUMNS)
        assert "Waiting" in server.state(third)["stage"]
        assert server.ask("DELETE", f"{first}/job").said["next"] == f"{first}/columns"
        assert server.wait(third) == f"{third}/report"
        assert server.state(second)["busy"]
    assert estimate(server.ask("GET", f"{third}/report.json").said, "accuracy") == pytest.approx(12 / 17)
    assert "cancelled" in server.wrong(first)
    assert server.wait(second) == f"{second}/report"
    assert estimate(server.report(first, **COLUMNS), "accuracy") == pytest.approx(10 / 15)


def test_asking_again_and_again_does_not_keep_the_workers_down(server):
    """Neither a second form while the first is worked on, nor one that is cancelled at once, costs a process."""
    here, other = server.upload(predictions(5, 5)), server.upload(predictions(3, 1))
    with hanging(server) as before:
        assert server.choose(here, **COLUMNS).status == 202
        for _ in range(5):
            answer = server.choose(here, **COLUMNS)
            assert answer.status == 409
            assert answer.said["what"] == "predictions.csv is being worked on."
            assert "cancelled" in answer.said["hint"]
    assert server.wait(here) == f"{here}/report"
    for _ in range(3):
        assert server.choose(here, **COLUMNS).status == 202
        server.ask("DELETE", f"{here}/job")
    assert estimate(server.report(other, **COLUMNS), "accuracy") == 0.75
    assert set(workers(server)) == set(before)


def test_a_computation_that_takes_too_long_is_ended_and_one_that_dies_is_said(tmp_path):
    server = Server.start(tmp_path / "tmp", "--timeout", "2", "--workers", "1")
    try:
        here = server.upload(predictions(5, 5))
        with hanging(server):
            server.choose(here, **COLUMNS)
            assert server.state(here)["busy"]
            assert server.wait(here) == f"{here}/columns"
        assert "took longer than 2 seconds" in server.wrong(here)
        assert "--timeout" in server.wrong(here)
        with hanging(server) as stopped:
            server.choose(here, **COLUMNS)
            until(lambda: "Waiting" not in server.state(here)["stage"], "the job has begun")
            for pid in stopped:
                os.kill(pid, signal.SIGKILL)
            server.wait(here)
        assert "died" in server.wrong(here)
        assert estimate(server.report(here, **COLUMNS), "accuracy") == 0.5
    finally:
        server.stop()


def test_half_sent_requests_and_bombs_keep_nobody_waiting(tmp_path):
    """The short form of `make crowd`, which asks for two seconds where nothing else is at work."""
    limit = 2_000_000_000
    server = Server.start(tmp_path / "tmp", "--memory-limit", str(limit))
    seen = gather(server, half=300, bombs=len(BOMBS), size=400_000_000, users=5, limit=limit)
    server.stop()
    assert seen.reports == 5
    assert len(seen.bombs) == len(BOMBS)
    assert 0 < seen.memory < limit
    # Other work may go on on this machine: by how long a request took before, and not in seconds.
    assert seen.usual < max(2.0, 100 * seen.calibration)


def test_what_comes_byte_by_byte_keeps_nobody_waiting(server):
    """A body in chunks of one byte each takes seconds to read, and others get their turn in between."""
    head = f"POST /upload?name=x.csv HTTP/1.1\r\nHost: {server.place}\r\nCookie: {server.cookie}\r\n"
    held = b"truth,predicted\n" + b"yes,no\nno,no\n" * 15_000
    body = b"".join(b"1\r\n%c\r\n" % letter for letter in held) + b"0\r\n\r\n"
    alone = statistics.median(timed(server) for _ in range(10))
    waited = []
    with ThreadPoolExecutor(1) as pool:

        def send() -> tuple[bytes, float]:
            with socket.create_connection(server.place.split(":"), timeout=120) as connection:
                begun = time.monotonic()
                connection.sendall(f"{head}Transfer-Encoding: chunked\r\n\r\n".encode() + body)
                return connection.recv(1000), time.monotonic() - begun

        sending = pool.submit(send)
        while not sending.done():
            waited.append(timed(server))
            time.sleep(0.01)
        answer, took = sending.result()
    assert answer.startswith(b"HTTP/1.1 201")
    assert max(waited) < max(took / 3, 20 * alone)
