"""The end of the server: whatever the signal, the files, the folder and the workers go with it."""

from __future__ import annotations

import asyncio
import os
import re
import signal
import socket
import time
from contextlib import suppress
from pathlib import Path

import pytest
import uvicorn
from tests.web.serving import IRIS, Server, estimate, hanging, in_a_loop, predictions, until, workers

from heldout.cli.serve import serve
from heldout.errors import FileError, HeldoutError, OptionError
from heldout.web.limits import Limits
from heldout.web.server import limited_protocol, own_folder


def gone(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    return False


def ended(server: Server, number: int) -> list[str]:
    """End a server by a signal: everything is gone, and what it said is handed back."""
    pids = workers(server)
    assert len(pids) == 1
    assert server.stored()
    assert server.stop(number) == 0
    assert list(server.temporary.iterdir()) == []
    until(lambda: all(map(gone, pids)), "its workers are gone")
    return [line for line in server.errors if "removed" not in line]


def test_ctrl_c_ends_it_even_when_a_worker_hangs(tmp_path):
    server = Server.start(tmp_path / "tmp", "--workers", "1")
    here = server.upload(predictions(3, 1))
    host, port = server.place.split(":")
    with hanging(server), socket.create_connection((host, int(port))) as sending:
        server.choose(here, truth="0", predicted="1")
        # And even when somebody still sends.
        before = len(server.stored())
        head = f"POST /upload HTTP/1.1\r\nHost: {server.place}\r\nCookie: {server.cookie}\r\nContent-Length: 9\r\n\r\n"
        sending.sendall(f"{head}abc".encode())
        until(lambda: len(server.stored()) > before, "a part has come")
        said = ended(server, signal.SIGINT)
    assert len(said) == 1
    assert "1 running task(s)" in said[0]


def test_leaving_this_machine_is_said_aloud_and_a_signal_to_terminate_ends_it(tmp_path):
    server = Server.start(tmp_path / "tmp", "--workers", "1", "--host", "0.0.0.0")
    assert re.fullmatch(r"http://localhost:\d+/", server.first)
    server.send(predictions(3, 1))
    said = ended(server, signal.SIGTERM)
    assert len(said) == 1
    assert "Warning: on 0.0.0.0 everyone who can reach this machine" in said[0]


def test_a_file_on_the_command_line_is_found_by_the_printed_address_only(tmp_path):
    server = Server.start(tmp_path / "tmp", "examples/iris.csv", "--workers", "1")
    here = server.home
    assert len(here) > 30
    server.wait(here)
    assert "iris.csv" in server.ask("GET", f"{here}/columns").text
    assert "iris" not in server.ask("GET", "/").text
    assert estimate(server.report(here, truth="2", predicted="3"), "accuracy") == pytest.approx(0.96)
    assert ended(server, signal.SIGHUP) == []
    assert IRIS.exists()


def test_workers_do_not_outlive_a_server_that_is_killed(tmp_path, monkeypatch):
    server = Server.start(tmp_path / "tmp", "--workers", "1")
    pids = workers(server)
    server.stop(signal.SIGKILL)
    until(lambda: all(map(gone, pids)), "its workers are gone")
    # The next server on this machine removes what is left; not what another keeps, or what is no server's.
    (left,) = (tmp_path / "tmp").iterdir()
    (tmp_path / "tmp" / "heldout-of-somebody").mkdir()
    with monkeypatch.context() as patched:
        patched.setattr("tempfile.tempdir", str(tmp_path / "tmp"))
        with own_folder() as one, own_folder() as other:
            assert not left.exists()
            assert one.exists()
            assert other.exists()
    assert [path.name for path in (tmp_path / "tmp").iterdir()] == ["heldout-of-somebody"]


def test_a_port_that_is_taken_is_said_and_otherwise_the_next_one_is_used():
    from heldout.web.server import bound

    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(OptionError, match=f"Port {port} of 127.0.0.1 is taken"):
            bound("127.0.0.1", port)
    with bound("127.0.0.1", None) as first, bound("127.0.0.1", None) as second:
        assert first.getsockname()[1] < second.getsockname()[1]


@pytest.mark.parametrize(
    ("options", "kind", "said"),
    [
        ({"file": "no-such.csv"}, FileError, "no file no-such.csv"),
        ({"file": "examples"}, FileError, "is a folder"),
        ({"port": 70_000}, OptionError, "--port must lie between"),
        ({"timeout": 0.0}, OptionError, "--timeout must be"),
        ({"workers": 0}, OptionError, "--workers must be"),
        ({"max_upload": "lots"}, OptionError, "'lots' is not a size"),
        ({"host": "256.1.1.1", "port": 0}, OptionError, "cannot listen on 256.1.1.1"),
    ],
)
def test_a_wrong_call_is_refused_before_anything_starts(options, kind, said):
    with pytest.raises(kind) as raised:
        serve(**{"browser": False, **options})
    assert isinstance(raised.value, HeldoutError)
    assert said in raised.value.what


def test_half_sent_requests_keep_nobody_waiting(tmp_path):
    server = Server.start(tmp_path / "tmp", "--workers", "1")
    host, port = server.place.split(":")
    half = []
    try:
        for at in range(600):
            half.append(socket.create_connection((host, int(port)), timeout=10))
            half[-1].sendall(f"GET /{at} HTTP/1.1\r\nHost: {server.place}\r\nCookie: {server.cookie}\r\nX: ".encode())
        begun = time.monotonic()
        assert server.ask("GET", "/").status == 200
        # Far sooner than the server gives up those that are half sent.
        assert time.monotonic() - begun < Limits().stalled / 2
        # Those that wait longest go first; the youngest may still end its request.
        half[0].settimeout(30)
        with suppress(ConnectionResetError):
            assert half[0].recv(100) == b""
        half[-1].sendall(b"y\r\n\r\n")
        assert half[-1].recv(100).startswith(b"HTTP/1.1 404")
    finally:
        for connection in half:
            connection.close()
        server.stop()


def test_a_request_that_never_ends_is_given_up():
    protocol = limited_protocol(patience=0.2)

    async def serve() -> float:
        loop = asyncio.get_running_loop()
        config = uvicorn.Config(app=_never, http=protocol, lifespan="off", log_level="critical")
        config.load()
        server = uvicorn.Server(config)
        listening = await loop.create_server(lambda: protocol(config, server.server_state, {}), "127.0.0.1", 0)
        reader, writer = await asyncio.open_connection(*listening.sockets[0].getsockname())
        writer.write(b"GET / HTTP/1.1\r\nHo")
        begun = loop.time()
        with suppress(ConnectionResetError):
            assert await reader.read() == b""
        writer.close()
        listening.close()
        return loop.time() - begun

    assert 0.1 < in_a_loop(serve()) < 20


async def _never(scope: object, receive: object, send: object) -> None:
    raise AssertionError((scope, receive, send))


@pytest.mark.parametrize("file", [(), ("examples/iris.csv",)])
def test_the_token_reaches_the_browser_through_a_file_that_goes_with_it(tmp_path, file):
    called = tmp_path / "called"
    program = tmp_path / "browser"
    program.write_text(f'#!/bin/sh\necho "$@" > {called}\n')
    program.chmod(0o755)
    server = Server.start(
        tmp_path / "tmp", *file, "--workers", "1", "--open", browser=str(program), enter=False
    )  # fmt: skip
    until(called.exists, "the browser was called")
    until(lambda: called.read_text().strip(), "with an argument")
    argument = called.read_text().strip()
    secret = server.first.partition("token=")[2]
    assert len(secret) > 30
    assert argument.startswith("file://")
    assert secret not in argument
    for entry in Path("/proc").glob("[0-9]*/cmdline"):
        with suppress(OSError):
            assert secret.encode() not in entry.read_bytes()
    door = Path(argument.removeprefix("file://"))
    assert server.first in door.read_text()
    assert door.stat().st_mode & 0o077 == 0
    assert door.parent.stat().st_mode & 0o077 == 0
    server.enter()
    assert not door.exists()
    assert server.ask("GET", server.home).status in (200, 303)
    server.stop()
