"""What is kept, and for how long: room, idle time, memory, and files that never arrive whole."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import time
from collections.abc import Coroutine
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import pytest
from tests.web.serving import predictions

from heldout.errors import HeldoutError
from heldout.web.jobs import Workers
from heldout.web.limits import Limits, read_size
from heldout.web.names import shown_name
from heldout.web.uploads import FullError, Uploads


def in_a_loop(work: Coroutine[Any, Any, Any]) -> Any:
    """What comes of a coroutine; in a thread of its own, because a browser under test keeps a loop in this one."""
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(asyncio.run, work).result()


def shelf(tmp_path, **limits) -> Uploads:
    held = Limits(**limits)
    return Uploads(tmp_path, held, Workers(held))


def test_there_is_room_for_so_many_files_and_bytes(tmp_path):
    uploads = shelf(tmp_path, kept_files=2, upload=100)
    first = uploads.new("a.csv")
    uploads.grow(first, 999)
    with pytest.raises(FullError, match="keeps 999 bytes"):
        uploads.grow(first, 2)
    uploads.new("b.csv")
    with pytest.raises(FullError, match="keeps 2 files"):
        uploads.new("c.csv")
    in_a_loop(uploads.remove(first))
    uploads.new("c.csv")


def test_ids_and_folders_cannot_be_guessed_from_each_other(tmp_path):
    uploads = shelf(tmp_path)
    made = [uploads.new(f"{at}.csv") for at in range(100)]
    assert len({each.id for each in made}) == 100
    assert all(len(each.id) == 32 and each.id not in str(each.path) for each in made)
    assert all(each.folder.stat().st_mode & 0o077 == 0 for each in made)
    assert uploads.find("") is None
    assert uploads.find(None) is None
    assert uploads.find(made[3].id) is made[3]


def test_what_nobody_opens_is_removed(tmp_path):
    uploads = shelf(tmp_path, idle=100.0)
    old, used, beside = uploads.new("old.csv"), uploads.new("used.csv"), uploads.new("first.csv")
    second = uploads.new("second.csv", beside.id)
    for each in (old, used, beside, second):
        each.touched -= 200
    uploads.find(used.id)
    # Whoever looks at a comparison looks at both files.
    uploads.find(second.id)
    in_a_loop(uploads.sweep())
    assert uploads.find(old.id) is None
    assert not old.folder.exists()
    assert all(uploads.find(each.id) is each and each.folder.exists() for each in (used, beside, second))


def test_a_job_that_needs_too_much_memory_is_ended(tmp_path):
    (tmp_path / "a.csv").write_bytes(predictions(3, 3))

    task = {"kind": "look", "path": str(tmp_path / "a.csv"), "name": "a.csv", "unpacked": 10**6, "columns": 9}

    async def run() -> tuple[str, str]:
        plenty = Limits(workers=1)
        workers = Workers(plenty)
        workers.start()
        first = workers.submit(task)
        await asyncio.wait_for(first.finished.wait(), 60)
        assert first.state == "done"
        workers.limits = replace(plenty, memory=1.0)
        os.kill(next(iter(workers._processes)).pid, signal.SIGSTOP)
        job = workers.submit(task)
        await asyncio.wait_for(job.finished.wait(), 60)
        await workers.close()
        assert not workers._processes
        return job.wrong

    what, hint = in_a_loop(run())
    assert "more memory than there is" in what
    assert "fewer rows" in hint


def test_a_file_that_does_not_arrive_whole_is_forgotten(server):
    before = set(server.stored())
    with socket.create_connection(server.place.split(":")) as connection:
        connection.sendall(
            f"POST /upload?name=half.csv HTTP/1.1\r\nHost: {server.place}\r\nContent-Length: 5000\r\n\r\n".encode()
            + b"truth,predicted\n" * 20
        )
        while set(server.stored()) == before:
            time.sleep(0.02)
    end = time.monotonic() + 20
    while set(server.stored()) != before and time.monotonic() < end:
        time.sleep(0.02)
    assert set(server.stored()) == before


@pytest.mark.parametrize("text", ["", "MB", "-1MB", "1TB", "0", "1e3", "1 000", "nan"])
def test_a_size_that_is_none_is_refused(text):
    with pytest.raises(HeldoutError):
        read_size(text)


@pytest.mark.parametrize(("text", "size"), [("1k", 1000), ("2 mb", 2_000_000), ("0.5GB", 500_000_000), ("7", 7)])
def test_a_size_is_read(text, size):
    assert read_size(text) == size


@pytest.mark.parametrize("name", ["a/b\\c.csv", "  c.csv  ", "/c.csv", "\\\\host\\c.csv"])
def test_only_the_last_part_of_a_name_is_shown(name):
    assert shown_name(name) == "c.csv"
