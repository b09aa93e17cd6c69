"""What is kept, and for how long: room, idle time, and files that come too slowly or never arrive whole."""

from __future__ import annotations

import asyncio
import socket
from types import SimpleNamespace

import pytest
from starlette.requests import Request
from tests.web.serving import in_a_loop, until

from heldout.errors import HeldoutError
from heldout.web.jobs import Workers
from heldout.web.limits import Limits, read_size
from heldout.web.uploads import FullError, StalledError, Uploads, receive, shown_name


def shelf(tmp_path, **limits) -> Uploads:
    held = Limits(**limits)
    return Uploads(tmp_path, held, Workers(held))


def test_there_is_room_for_so_many_files_and_bytes(tmp_path):
    uploads = shelf(tmp_path, kept_files=2, total=1000)
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


def test_a_file_that_does_not_arrive_whole_is_forgotten(server):
    before = set(server.stored())
    with socket.create_connection(server.place.split(":")) as connection:
        connection.sendall(
            f"POST /upload?name=half.csv HTTP/1.1\r\nHost: {server.place}\r\nCookie: {server.cookie}\r\n".encode()
            + b"Content-Length: 5000\r\n\r\n"
            + b"truth,predicted\n" * 20
        )
        until(lambda: set(server.stored()) != before, "a part of it is stored")
    until(lambda: set(server.stored()) == before, "it is forgotten")


def dripping(body: bytes, pause: float, **scope: object) -> Request:
    """A request whose body comes a byte at a time, again and again."""

    async def send() -> dict[str, object]:
        await asyncio.sleep(pause)
        return {"type": "http.request", "body": body, "more_body": True}

    return Request({"type": "http", "method": "POST", "headers": [], **scope}, send)


def test_a_file_that_comes_a_byte_at_a_time_does_not_hold_a_place_for_ever(tmp_path):
    uploads = shelf(tmp_path, stalled=0.4, idle=0.0)
    upload = uploads.new("slow.csv")

    async def wait() -> None:
        arriving = asyncio.create_task(receive(dripping(b"x", 0.05), uploads, upload))
        await asyncio.sleep(0.1)
        # A sweep takes nothing from under one that still sends: it has a limit of its own.
        await uploads.sweep()
        assert upload.path.exists()
        await arriving

    with pytest.raises(StalledError, match="did not arrive whole, or came too slowly"):
        in_a_loop(wait())
    assert 1 < upload.size < 10
    assert not upload.arriving


def test_a_file_that_comes_steadily_may_take_longer_than_a_pause_and_not_longer_than_the_longest(tmp_path):
    uploads = shelf(tmp_path, stalled=0.2, longest=1.0)
    with pytest.raises(StalledError):
        in_a_loop(receive(dripping(b"x" * 10_000, 0.02), uploads, upload := uploads.new("steady.csv")))
    # At ten times the slowest rate it went on for longer than the pause.
    assert upload.size > 100_000


def test_a_form_that_never_ends_is_refused(tmp_path):
    from heldout.web.routes import judge

    uploads = shelf(tmp_path, stalled=0.4)
    app = SimpleNamespace(state=SimpleNamespace(uploads=uploads))
    request = dripping(b" ", 0.05, app=app, path_params={"id": uploads.new("a.csv").id})
    answer = in_a_loop(judge(request))
    assert answer.status_code == 408
    assert b"The form did not arrive whole" in answer.body


def test_what_cannot_be_removed_is_said_and_still_counts(tmp_path, caplog):
    uploads = shelf(tmp_path)
    upload = uploads.new("a.csv")
    uploads.grow(upload, 70)
    # A file where the folder was cannot be removed as a folder.
    upload.folder.rmdir()
    upload.folder.write_text("in the way")
    in_a_loop(uploads.remove(upload))
    assert uploads.find(upload.id) is None
    assert uploads.size == 70
    assert "cannot be removed" in caplog.text


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
