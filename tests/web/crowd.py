"""A crowd before one server: requests that never end, small files that unpack to much, and people who want a report.

`python -m tests.web.crowd` is the full size, and prints what it measured; `make test` runs a short form.
"""

from __future__ import annotations

import argparse
import gzip
import io
import os
import socket
import statistics
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.parquet as pq  # type: ignore[import-untyped]
from tests.web.serving import Server, estimate, predictions, workers

from heldout.web.limits import read_size, size_words


def parquet_bomb(size: int) -> bytes:
    """Lists of a million zeros, whose length no footer declares."""
    lists = pa.table({"truth": ["a"], "zeros": [np.zeros(1_000_000, dtype=np.int64)]})
    held = io.BytesIO()
    with pq.ParquetWriter(held, lists.schema, compression="zstd") as writer:
        for _ in range(max(size // 8_000_000, 1)):
            writer.write_table(lists)
    return held.getvalue()


def npz_bomb(size: int) -> bytes:
    """One row with very many columns."""
    held = io.BytesIO()
    np.savez_compressed(held, truth=np.zeros((1, size // 8)))
    return held.getvalue()


def gzip_bomb(size: int) -> bytes:
    """Rows and rows that are all alike."""
    return gzip.compress(b"truth,predicted\n" + b"no,yes\n" * (size // 7), compresslevel=1)


def arff_bomb(size: int) -> bytes:
    """Empty sparse rows, each of which stands for a thousand zeros."""
    head = "@relation r\n" + "".join(f"@attribute a{at} numeric\n" for at in range(1_000)) + "@data\n"
    return head.encode() + b"{}\n" * (size // 8_000)


def json_bomb(size: int) -> bytes:
    """Nesting without an end in sight."""
    return b'[{"truth": ' + b"[" * (size // 2_000) + b"]" * (size // 2_000) + b"}]"


BOMBS: dict[str, Callable[[int], bytes]] = {
    "bomb.parquet": parquet_bomb,
    "bomb.npz": npz_bomb,
    "bomb.csv.gz": gzip_bomb,
    "bomb.arff": arff_bomb,
    "bomb.json": json_bomb,
}


@dataclass
class Seen:
    """What was measured: seconds of single requests, before and during; bytes of memory; what became of everybody."""

    alone: list[float] = field(default_factory=list)
    crowded: list[float] = field(default_factory=list)
    answered: int = 0
    memory: int = 0
    limit: int = 0
    reports: int = 0
    bombs: list[str] = field(default_factory=list)
    seconds: float = 0.0

    @property
    def calibration(self) -> float:
        """The seconds that a request takes where nobody else asks, as a rule."""
        return statistics.median(self.alone)

    @property
    def usual(self) -> float:
        """The seconds within which nineteen of twenty requests were answered in the crowd."""
        return statistics.quantiles(self.crowded, n=20)[-1]


def held_by(server: Server) -> int:
    """The bytes of memory of a server and all its workers."""
    total = 0
    for pid in (server.process.pid, *workers(server)):
        with suppress(OSError, IndexError):
            total += int(Path(f"/proc/{pid}/statm").read_text(encoding="ascii").split()[1]) * os.sysconf("SC_PAGE_SIZE")
    return total


def timed(server: Server, path: str = "/") -> float:
    """The seconds that one request takes."""
    begun = time.monotonic()
    assert server.ask("GET", path).status == 200
    return time.monotonic() - begun


def half_sent(server: Server, number: int) -> list[socket.socket]:
    """So many connections, each with the beginning of a request."""
    host, port = server.place.split(":")
    half = []
    for at in range(number):
        half.append(socket.create_connection((host, int(port)), timeout=30))
        half[-1].sendall(f"GET /{at} HTTP/1.1\r\nHost: {server.place}\r\nX: ".encode())
    return half


def gather(server: Server, *, half: int, bombs: int, size: int, users: int, limit: int) -> Seen:
    """Let the crowd come all at once, and measure until everybody has an answer."""
    seen, over = Seen(limit=limit), threading.Event()
    # A whole report first: nothing is warm before.
    server.report(server.upload(predictions(3, 1)), truth="0", predicted="1")
    seen.alone = [timed(server) for _ in range(20)]
    packed = {name: make(size) for name, make in BOMBS.items()}

    def watch() -> None:
        while not over.is_set():
            seen.memory = max(seen.memory, held_by(server))
            over.wait(0.02)

    def ask() -> None:
        while not over.is_set():
            seen.crowded.append(timed(server))
            over.wait(0.05)

    def explode(name: str) -> str:
        answer = server.send(packed[name], name)
        if answer.status != 201:
            return f"{name}: {answer.said['what']}"
        here = answer.said["next"]
        patience = time.monotonic() + 600
        while server.state(here)["busy"]:
            assert time.monotonic() < patience, name
            time.sleep(0.5)
        return f"{name}: {server.wrong(here) or 'read'}"

    def use(at: int) -> float:
        answer = server.send(predictions(20 + at, 30))
        assert answer.status == 201, answer.text
        here = answer.said["next"]
        while server.state(here)["busy"]:
            time.sleep(0.2)
        assert server.choose(here, truth="0", predicted="1").status == 202
        while server.state(here)["busy"]:
            time.sleep(0.2)
        return estimate(server.ask("GET", f"{here}/report.json").said, "accuracy")

    begun = time.monotonic()
    watching = threading.Thread(target=watch, daemon=True)
    watching.start()
    connections = half_sent(server, half)
    names = [list(BOMBS)[at % len(BOMBS)] for at in range(bombs)]
    with ThreadPoolExecutor(bombs + users + 1) as pool:
        asking = pool.submit(ask)
        exploded = [pool.submit(explode, name) for name in names]
        used = [pool.submit(use, at) for at in range(users)]
        try:
            for at, each in enumerate(used):
                assert abs(each.result() - (20 + at) / (50 + at)) < 1e-12
                seen.reports += 1
            seen.bombs = [each.result() for each in exploded]
        finally:
            over.set()
        asking.result()
    seen.seconds, seen.answered = time.monotonic() - begun, len(seen.crowded)
    watching.join()
    for connection in connections:
        connection.close()
    return seen


def main() -> int:
    """The full size: whether all were answered within two seconds, in the memory that was allowed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--half", type=int, default=1_100)
    parser.add_argument("--bombs", type=int, default=20)
    parser.add_argument("--users", type=int, default=50)
    parser.add_argument("--size", default="900MB", help="what a bomb unpacks to")
    parser.add_argument("--memory-limit", default="4GB")
    asked = parser.parse_args()
    limit = read_size(asked.memory_limit)
    with tempfile.TemporaryDirectory() as folder:
        server = Server.start(Path(folder) / "tmp", "--memory-limit", asked.memory_limit)
        seen = gather(
            server, half=asked.half, bombs=asked.bombs, size=read_size(asked.size), users=asked.users, limit=limit
        )
        server.stop()
    print(f"{asked.half:,} half-sent requests, {asked.bombs} bombs, {seen.reports} reports in {seen.seconds:.0f} s")
    print(f"alone {seen.calibration * 1e3:.0f} ms; in the crowd, of {seen.answered} requests: ", end="")
    print(f"median {statistics.median(seen.crowded) * 1e3:.0f} ms, longest {max(seen.crowded):.2f} s")
    print(f"memory: {size_words(seen.memory)} of {size_words(limit)}")
    for said in sorted(set(seen.bombs)):
        print(f"  {seen.bombs.count(said)} × {said}")
    return 0 if max(seen.crowded) < 2 and seen.memory < limit else 1


if __name__ == "__main__":
    sys.exit(main())
