"""The processes that compute: what they may write and hold, when they are replaced, and when they cannot be started."""

from __future__ import annotations

import asyncio
import gzip
import os
import signal
from collections.abc import Callable, Coroutine, Iterator
from dataclasses import replace
from pathlib import Path
from threading import Thread
from typing import Any

import numpy as np
import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.parquet as pq  # type: ignore[import-untyped]
import pytest
from tests.web.serving import PATIENCE, predictions

from heldout.web.choices import Choices
from heldout.web.jobs import COMMAND, Workers
from heldout.web.limits import Limits
from heldout.web.uploads import Upload, Uploads

# Imports what it needs when it needs it: most tests here end a worker before it has done anything.
COLD = (*COMMAND[:2], "-c", "from heldout.web import worker; worker._warm_up = lambda: None; worker.main()")
CHOICES = Choices(truth="truth", predicted="predicted")


class Bench:
    """A loop of its own with one worker in it, for several tests."""

    def __init__(self) -> None:
        self.loop = asyncio.new_event_loop()
        self.thread = Thread(target=self.loop.run_forever, daemon=True)
        self.thread.start()
        self.workers = Workers(Limits(workers=1), COLD)
        self.loop.call_soon_threadsafe(self.workers.start)

    def run(self, work: Coroutine[Any, Any, Any]) -> Any:
        """What comes of a coroutine, which ends in good time."""
        return asyncio.run_coroutine_threadsafe(asyncio.wait_for(work, PATIENCE), self.loop).result()

    def close(self) -> None:
        """End the worker and the loop."""
        self.run(self.workers.close())
        assert self.workers.pids == []
        self.loop.call_soon_threadsafe(self.loop.stop)
        self.thread.join(PATIENCE)
        self.loop.close()


@pytest.fixture(scope="module")
def bench() -> Iterator[Bench]:
    made = Bench()
    yield made
    made.close()


def on_disk(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def arrived(uploads: Uploads, data: bytes, name: str = "a.csv") -> Upload:
    upload = uploads.new(name)
    upload.path.write_bytes(data)
    uploads.grow(upload, len(data))
    return upload


async def looked(uploads: Uploads, upload: Upload) -> None:
    uploads.look(upload)
    assert upload.following is not None
    await upload.following


async def judged(uploads: Uploads, upload: Upload) -> None:
    uploads.judge(upload, CHOICES)
    assert upload.following is not None
    await upload.following


async def meanwhile(met: Callable[[], object]) -> None:
    """Let others work until something is so; whoever runs this sets an end."""
    while not met():  # noqa: ASYNC110 - what is waited for tells nobody
        await asyncio.sleep(0.01)


def test_what_is_counted_is_what_lies_on_the_disk(bench, tmp_path):
    """Packed, unpacked, reported, reported again, refused for want of room, removed."""

    async def use() -> None:
        uploads = Uploads(tmp_path, Limits(total=10**8), bench.workers)
        packed = gzip.compress(predictions(2_000, 1_000))
        upload = arrived(uploads, packed)
        await looked(uploads, upload)
        assert uploads.size == on_disk(tmp_path) > 2 * len(packed)
        await judged(uploads, upload)
        assert upload.report is not None
        assert uploads.size == on_disk(tmp_path) > on_disk(upload.report) > 10_000
        first = upload.report
        await judged(uploads, upload)
        assert not first.exists()
        assert uploads.size == on_disk(tmp_path)
        # Room for the file and one report, and not for another report beside it.
        uploads.limits = Limits(total=uploads.size + 1000)
        held = uploads.size
        await judged(uploads, upload)
        assert upload.job is not None
        assert "takes no more" in upload.job.wrong[0]
        assert "remove a file" in upload.job.wrong[1]
        assert uploads.size == on_disk(tmp_path) == held
        await uploads.remove(upload)
        assert uploads.size == on_disk(tmp_path) == 0

    bench.run(use())


def test_files_that_unpack_to_more_than_there_is_room_for_are_refused(bench, tmp_path):
    async def use() -> None:
        uploads = Uploads(tmp_path, Limits(upload=10**6, total=10**6), bench.workers)
        packed = gzip.compress(predictions(30_000, 0))
        assert len(packed) < 10_000
        sent = [arrived(uploads, packed) for _ in range(12)]
        largest = 0

        async def watch() -> None:
            nonlocal largest
            while True:
                largest = max(largest, await asyncio.to_thread(on_disk, tmp_path))
                await asyncio.sleep(0.001)

        watching = asyncio.create_task(watch())
        await asyncio.gather(*(looked(uploads, each) for each in sent))
        watching.cancel()
        kept = [each for each in sent if each.seen is not None]
        refused = [each.job.wrong[0] for each in sent if each.job is not None and each.seen is None]
        assert 0 < len(kept) < len(sent)
        assert all("takes no more" in what for what in refused)
        assert len(kept) + len(refused) == len(sent)
        assert uploads.size == on_disk(tmp_path) <= 10**6
        # A file that is being replaced by what it unpacks to may be there twice for a moment.
        assert largest <= 10**6 + len(packed)

    bench.run(use())


def test_a_folder_is_removed_when_the_process_that_writes_there_is_dead(bench, tmp_path):
    async def use() -> None:
        uploads = Uploads(tmp_path, Limits(), bench.workers)
        upload = arrived(uploads, predictions(3, 3))
        await looked(uploads, upload)
        (pid,) = bench.workers.pids
        os.kill(pid, signal.SIGSTOP)
        uploads.judge(upload, CHOICES)
        await meanwhile(lambda: upload.job is not None and upload.job.state == "working")
        await uploads.remove(upload)
        assert not upload.folder.exists()
        with pytest.raises(ProcessLookupError):
            os.kill(pid, 0)

    bench.run(use())


def test_a_job_that_needs_too_much_memory_is_ended(bench, tmp_path):
    async def use() -> tuple[str, str]:
        uploads = Uploads(tmp_path, Limits(), bench.workers)
        upload = arrived(uploads, predictions(3, 3))
        await looked(uploads, upload)
        os.kill(bench.workers.pids[0], signal.SIGSTOP)
        bench.workers.limits = replace(bench.workers.limits, memory=1.0)
        await judged(uploads, upload)
        bench.workers.limits = replace(bench.workers.limits, memory=float("inf"))
        assert upload.job is not None
        return upload.job.wrong

    what, hint = bench.run(use())
    assert "more memory than there is" in what
    assert "fewer rows" in hint


def test_a_small_file_that_unpacks_to_much_ends_at_the_limit_of_its_worker(bench, tmp_path):
    # A list column declares nothing of its length: 200 lists of a million zeros in less than 1 MB.
    file = tmp_path / "predictions.parquet"
    lists = pa.table({"truth": ["a"], "zeros": [np.zeros(1_000_000, dtype=np.int64)]})
    with pq.ParquetWriter(file, lists.schema, compression="zstd") as writer:
        for _ in range(200):
            writer.write_table(lists)
    assert file.stat().st_size < 1_000_000

    async def use() -> tuple[tuple[str, str], float, str]:
        # Two fifths of it for one worker.
        workers = Workers(Limits(workers=1, memory=1.2e9), COLD)
        workers.start()
        await meanwhile(lambda: workers.pids)
        # Nobody else watches: the limit is the system's own.
        workers.limits = replace(workers.limits, memory=float("inf"))
        uploads = Uploads(tmp_path / "kept", Limits(), workers)
        bomb = arrived(uploads, file.read_bytes(), "bomb.parquet")
        following = asyncio.create_task(looked(uploads, bomb))
        most = 0.0
        while not following.done():
            most = max([most, *(worker.resident for worker in workers._workers)])
            await asyncio.sleep(0.01)
        good = arrived(uploads, predictions(3, 3))
        await looked(uploads, good)
        await workers.close()
        assert bomb.job is not None
        assert good.job is not None
        return bomb.job.wrong, most, good.job.state

    (tmp_path / "kept").mkdir()
    (what, hint), most, state = bench.run(use())
    assert "memory" in f"{what} {hint}"
    assert "fewer rows" in hint
    assert most < 1.2e9
    assert state == "done"


def test_a_worker_that_keeps_memory_after_a_job_is_replaced(bench, tmp_path):
    async def use(grown: float) -> tuple[list[int], list[int]]:
        uploads = Uploads(tmp_path, Limits(), bench.workers)
        await looked(uploads, arrived(uploads, predictions(3, 3)))
        before = bench.workers.pids
        bench.workers.limits = replace(bench.workers.limits, grown=grown)
        # The last job is done by whoever is there then.
        for _ in range(2):
            await looked(uploads, arrived(uploads, predictions(3_000, 3)))
        return before, bench.workers.pids

    before, after = bench.run(use(float("inf")))
    assert before == after
    before, after = bench.run(use(0.0))
    assert before != after
    bench.workers.limits = replace(bench.workers.limits, grown=float("inf"))


def test_where_no_worker_can_be_started_it_is_said_and_tried_again(bench, tmp_path, caplog):
    async def use() -> None:
        workers = Workers(Limits(workers=1), command=[str(tmp_path / "no-such-program")])
        workers.start()
        uploads = Uploads(tmp_path, Limits(), workers)
        upload = arrived(uploads, predictions(3, 3))
        uploads.look(upload)
        await meanwhile(lambda: workers.trouble)
        assert upload.job is not None
        assert "No worker can be started (No such file or directory)" in workers.stage(upload.job)
        workers.command = COLD
        assert upload.following is not None
        await upload.following
        assert upload.job.state == "done"
        assert workers.trouble == ""
        await workers.close()

    bench.run(use())
    assert "No worker can be started" in caplog.text
