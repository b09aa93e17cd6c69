"""The end of the server: whatever the signal, the files, the folder and the workers go with it."""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import time

import pytest
from tests.web.serving import COMMAND, ROOT, Server, predictions
from tests.web.test_many_users import hanging, workers

from heldout.cli.serve import serve
from heldout.errors import FileError, HeldoutError, OptionError


def gone(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    return False


def all_gone(pids: list[int]) -> bool:
    end = time.monotonic() + 20
    while time.monotonic() < end:
        if all(map(gone, pids)):
            return True
        time.sleep(0.05)
    return False


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_ends_it_cleanly(tmp_path, number):
    server = Server.start(tmp_path / "tmp", "--workers", "1")
    here = server.send(predictions(3, 1)).said["next"]
    pids = workers(server)
    assert len(pids) == 1
    assert server.stored()
    if number == signal.SIGINT:
        # Even when a worker hangs.
        server.wait(here)
        with hanging(server):
            server.choose(here, truth="0", predicted="1")
            assert server.stop(number) == 0
    else:
        assert server.stop(number) == 0
    assert list((tmp_path / "tmp").iterdir()) == []
    assert all_gone(pids)
    assert [line for line in server.errors if "removed" not in line] == []


def test_workers_do_not_outlive_a_server_that_is_killed(tmp_path):
    server = Server.start(tmp_path / "tmp", "--workers", "2")
    pids = workers(server)
    server.stop(signal.SIGKILL)
    assert all_gone(pids)


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


def test_leaving_this_machine_is_said_aloud(tmp_path):
    process = subprocess.Popen(
        [*COMMAND, "--port", "0", "--host", "0.0.0.0", "--workers", "1"],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=ROOT,
        env={**os.environ, "TMPDIR": str(tmp_path)},
    )  # fmt: skip
    assert process.stdout is not None
    assert re.search(r"http://localhost:\d+/", process.stdout.readline())
    process.terminate()
    _, told = process.communicate(timeout=30)
    assert "Warning: on 0.0.0.0 everyone who can reach this machine" in told
    assert process.returncode == 0
