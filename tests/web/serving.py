"""A real server in a process of its own, and a client that speaks to it as a program would."""

from __future__ import annotations

import asyncio
import http.client
import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Coroutine, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from html import unescape
from pathlib import Path
from typing import Any
from urllib.parse import quote

ROOT = Path(__file__).parents[2]
DIABETES = ROOT / "examples" / "diabetes.csv"
IRIS = ROOT / "examples" / "iris.csv"
COMMAND = (sys.executable, "-W", "error", "-c", "from heldout.cli.app import main; main()", "serve", "--no-open")
PATIENCE = 60.0


def in_a_loop(work: Coroutine[Any, Any, Any]) -> Any:
    """What comes of a coroutine; in a thread of its own, because a browser under test keeps a loop in this one."""

    async def ending() -> Any:
        return await asyncio.wait_for(work, PATIENCE)

    with ThreadPoolExecutor(1) as pool:
        return pool.submit(asyncio.run, ending()).result()


def until(met: Callable[[], object], what: str) -> None:
    """Wait until something is so, and fail where it never is."""
    end = time.monotonic() + PATIENCE
    while not met():
        assert time.monotonic() < end, f"not in {PATIENCE:g} seconds: {what}"
        time.sleep(0.03)


@dataclass
class Answer:
    """What came back for a request."""

    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def text(self) -> str:
        return self.body.decode("utf-8")

    @property
    def said(self) -> dict[str, Any]:
        return json.loads(self.body)


@dataclass
class Server:
    """`heldout serve`, running; everything it stores lies in `temporary`. `first` is the address that it printed."""

    temporary: Path
    process: subprocess.Popen[str]
    first: str
    cookie: str = ""
    home: str = "/"
    errors: list[str] = field(default_factory=list)
    listening: threading.Thread = field(init=False)

    def __post_init__(self) -> None:
        self.listening = threading.Thread(target=self._listen, daemon=True)

    @classmethod
    def start(cls, temporary: Path, *arguments: str, browser: str = "", enter: bool = True) -> Server:
        temporary.mkdir(exist_ok=True)
        process = subprocess.Popen(
            [*COMMAND, "--port", "0", *arguments],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            cwd=ROOT,
            env={**os.environ, "TMPDIR": str(temporary), **({"BROWSER": browser} if browser else {})},
        )
        assert process.stdout is not None
        line = process.stdout.readline()
        address = re.search(r"http://\S+", line)
        assert address is not None, (line, process.stderr and process.stderr.read())
        server = cls(temporary, process, address[0])
        server.listening.start()
        if enter and "token=" in server.first:
            server.enter()
        return server

    def enter(self) -> Answer:
        """Open the printed address as a browser does: the cookie is kept, and the page leads on."""
        answer = self.ask("GET", self.first.removeprefix(self.address))
        self.cookie = answer.headers.get("set-cookie", self.cookie).partition(";")[0]
        self.home = re.search(r"url=([^\"]+)", answer.text)[1]  # type: ignore[index]
        return answer

    def _listen(self) -> None:
        assert self.process.stderr is not None
        self.errors.extend(self.process.stderr)

    @property
    def address(self) -> str:
        return "/".join(self.first.split("/")[:3])

    @property
    def place(self) -> str:
        return self.address.removeprefix("http://")

    def stop(self, number: int = signal.SIGINT) -> int:
        if self.process.poll() is None:
            self.process.send_signal(number)
        status = self.process.wait(timeout=PATIENCE)
        self.listening.join(timeout=PATIENCE)
        for pipe in (self.process.stdout, self.process.stderr):
            assert pipe is not None
            pipe.close()
        return status

    def stored(self) -> list[Path]:
        # Folders may vanish while they are being looked through.
        return [Path(at, name) for at, _, names in os.walk(self.temporary) for name in names if name != "lock"]

    def ask(self, method: str, path: str, body: Any = None, headers: dict[str, str] | None = None) -> Answer:
        connection = http.client.HTTPConnection(self.place, timeout=PATIENCE)
        try:
            cookie = {"Cookie": self.cookie} if self.cookie else {}
            connection.request(method, path, body, {**cookie, **(headers or {})})
            answer = connection.getresponse()
            named = {name.lower(): value for name, value in answer.getheaders()}
            return Answer(answer.status, named, answer.read())
        finally:
            connection.close()

    def send(self, data: bytes, name: str = "predictions.csv", beside: str = "") -> Answer:
        extra = f"&beside={beside}" if beside else ""
        return self.ask("POST", f"/upload?name={quote(name, safe='')}{extra}", data)

    def upload(self, data: bytes, name: str = "predictions.csv", beside: str = "") -> str:
        """The address of a file that was sent and looked into."""
        answer = self.send(data, name, beside)
        assert answer.status == 201, answer.text
        here = answer.said["next"]
        self.wait(here)
        return here

    def wait(self, here: str) -> str:
        """Where a file has got to when nothing more happens to it."""
        until(lambda: not self.state(here)["busy"], f"{here} is done")
        return self.state(here)["next"]

    def state(self, here: str) -> dict[str, Any]:
        """How far a file is, as its page is told."""
        return self.ask("GET", f"{here}/state").said

    def choose(self, here: str, **chosen: Any) -> Answer:
        """Send the form; columns by their place."""
        return self.ask("POST", f"{here}/report", json.dumps(chosen).encode(), {"Content-Type": "application/json"})

    def report(self, here: str, **chosen: Any) -> dict[str, Any]:
        """The JSON of a report that was computed."""
        answer = self.choose(here, **chosen)
        assert answer.status == 202, answer.text
        assert self.wait(here).startswith((f"{here}/report", f"{here}/comparison")), self.wrong(here)
        return self.ask("GET", f"{here}/report.json").said

    def wrong(self, here: str) -> str:
        """What a page says went wrong, as a reader sees it."""
        answer = self.ask("GET", here)
        if answer.status == 303:
            answer = self.ask("GET", answer.headers["location"])
        found = re.search(r'class="wrong"[^>]*>\s*<p>(.*?)</p><p>(.*?)</p>', answer.text, re.DOTALL)
        return unescape(f"{found[1]} {found[2]}") if found else ""


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

    def settled() -> bool:
        nonlocal quiet
        before = [at_rest(pid) for pid in stopped]
        time.sleep(0.1)
        quiet = quiet + 1 if all(before) and before == [at_rest(pid) for pid in stopped] else 0
        return quiet == 3

    until(settled, "the workers have started up")
    for pid in stopped:
        os.kill(pid, signal.SIGSTOP)
    try:
        yield stopped
    finally:
        for pid in set(stopped) & set(workers(server)):
            os.kill(pid, signal.SIGCONT)


def estimate(document: dict[str, Any], measure: str) -> float:
    """The value of a measure of all classes in a report's JSON."""
    return next(row["value"] for row in document["estimates"] if row["measure"] == measure and row["class"] is None)


def predictions(right: int, wrong: int) -> bytes:
    """A file with so many right and wrong answers."""
    rows = [("yes", "yes"), ("no", "no")] * right + [("yes", "no"), ("no", "yes")] * wrong
    return ("truth,predicted\n" + "\n".join(map(",".join, rows)) + "\n").encode()
