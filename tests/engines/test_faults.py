"""Engines that fail in the middle: the right answer in the end, or an error that says why; never a wrong answer."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import textwrap
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import dask
import dask.dataframe as dd
import duckdb
import pytest
from distributed import Client, LocalCluster
from tests.engines.parts import TABLE, parts

import heldout
from heldout.engines.engine_errors import engine_errors
from heldout.errors import HeldoutError, OptionError

COLUMNS: dict[str, Any] = {"truth": "truth", "predicted": "predicted", "score": "score", "positive": "ja"}
RIGHT = heldout.evaluate(TABLE, **COLUMNS)


def assert_right(found) -> None:
    assert found.confusion.labels == RIGHT.confusion.labels
    assert found.confusion.matrix.tolist() == RIGHT.confusion.matrix.tolist()
    assert float(found["roc_auc"]) == pytest.approx(float(RIGHT["roc_auc"]), rel=1e-12)


@pytest.fixture
def mortal_workers() -> Iterator[Client]:
    """A Dask cluster for one test, whose workers may be killed: others have one that lives."""
    with (
        dask.config.set({"distributed.scheduler.allowed-failures": 1}),
        LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address="127.0.0.1:0") as cluster,
        Client(cluster) as client,
    ):
        yield client


def slow(folder: Path):
    """A reader that says in which process it is, and waits until one of them was killed.

    It is made in here, so that it travels to workers as it is and they need not find this file.
    """

    def wait(part):
        (folder / f"{os.getpid()}.reading").touch()
        for _ in range(600):
            if (folder / "killed").exists():
                break
            time.sleep(0.1)
        return part

    return wait


def kill_a_reader(folder: Path, killed: list[int]) -> None:
    """Kill the first process that says it is reading."""
    for _ in range(600):
        for started in folder.glob("*.reading"):
            killed.append(int(started.stem))
            os.kill(killed[0], signal.SIGKILL)
            (folder / "killed").touch()
            return
        time.sleep(0.1)


@pytest.mark.usefixtures("mortal_workers")
def test_a_dask_worker_killed_in_the_middle_ends_in_the_right_answer(tmp_path):
    folder, told = parts(tmp_path / "data", "parquet"), tmp_path / "told"
    told.mkdir()
    frame = dd.read_parquet(folder)
    frame = frame.map_partitions(slow(told), meta=frame._meta)
    killed: list[int] = []
    killer = threading.Thread(target=kill_a_reader, args=(told, killed))
    killer.start()
    found = heldout.evaluate(frame, **COLUMNS)
    killer.join()
    assert killed
    assert killed[0] != os.getpid()
    assert_right(found)


@pytest.mark.usefixtures("mortal_workers")
def test_dask_workers_that_die_every_time_end_in_an_error(tmp_path):
    def deadly(part):
        os.kill(os.getpid(), signal.SIGKILL)
        return part

    frame = dd.read_parquet(parts(tmp_path, "parquet"))
    frame = frame.map_partitions(deadly, meta=frame._meta)
    with pytest.raises(HeldoutError, match=r"Dask could not (count|finish).*workers.* died") as caught:
        heldout.evaluate(frame, **COLUMNS)
    assert "memory" in caught.value.hint


def test_a_dask_task_that_fails_is_told_in_one_line(dask_client, tmp_path):
    def broken(part):
        if len(part) and part["score"].iloc[0] == TABLE["score"][80]:
            message = "the disk\nis on fire"
            raise RuntimeError(message)
        return part

    frame = dd.read_parquet(parts(tmp_path, "parquet"))
    with pytest.raises(HeldoutError, match=r"Dask could not count .*: RuntimeError: the disk is on fire"):
        heldout.evaluate(frame.map_partitions(broken, meta=frame._meta), **COLUMNS)
    assert dask_client.submit(sum, (1, 2)).result() == 3


FAILS_ONCE = """
def fails_once(folder):
    from pathlib import Path

    def rows(part):
        import os
        for row in part:
            if row["score"] == {score} and not (seen := Path(folder, "failed")).exists():
                seen.touch()
                raise RuntimeError("the disk is on fire")
            yield row
    return rows
""".format(score=TABLE["score"][100])


def test_a_spark_task_that_fails_without_a_second_try_is_an_error(spark_session, tmp_path):
    made: dict = {}
    exec(FAILS_ONCE, made)
    frame = spark_session.read.parquet(str(parts(tmp_path / "data", "parquet")))
    failing = spark_session.createDataFrame(frame.rdd.mapPartitions(made["fails_once"](str(tmp_path))), frame.schema)
    with pytest.raises(HeldoutError, match=r"Spark could not count .*: RuntimeError: the disk is on fire"):
        heldout.evaluate(failing, **COLUMNS)
    # The session is as good as before, and so is the table, now that it has failed once.
    assert_right(heldout.evaluate(failing, **COLUMNS))


def test_a_spark_task_that_is_tried_again_ends_in_the_right_answer(tmp_path):
    """In a process of its own: how often a task is tried is settled when Spark starts."""
    program = FAILS_ONCE + textwrap.dedent(
        f"""
        import sys
        import heldout
        from heldout.engines.spark import spark_session
        session, close = spark_session("local[2,4]")
        session.sparkContext.pythonExec = sys.executable
        frame = session.read.parquet({str(parts(tmp_path / "data", "parquet"))!r})
        frame = session.createDataFrame(frame.rdd.mapPartitions(fails_once({str(tmp_path)!r})), frame.schema)
        found = heldout.evaluate(frame, truth="truth", predicted="predicted", score="score", positive="ja")
        print(found.confusion.matrix.tolist(), float(found["roc_auc"]).hex())
        close()
        """
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "failed").exists()
    assert done.stdout.split("]] ")[0] + "]]" == str(RIGHT.confusion.matrix.tolist())
    assert float.fromhex(done.stdout.split()[-1]) == pytest.approx(float(RIGHT["roc_auc"]), rel=1e-12)


def truncated(folder: Path) -> Path:
    part = folder / "part-1.parquet"
    part.write_bytes(part.read_bytes()[:-200])
    return folder


def read_by(name, folder, request):
    if name == "spark":
        return request.getfixturevalue("spark_session").read.parquet(str(folder))
    if name == "dask":
        request.getfixturevalue("dask_client")
        return dd.read_parquet(str(folder))
    return duckdb.connect().read_parquet(f"{folder}/*.parquet")


@pytest.mark.parametrize(("name", "shown"), [("spark", "Spark"), ("dask", "Dask"), ("duckdb", "DuckDB")])
def test_a_truncated_file_among_others_is_an_error(name, shown, request, tmp_path):
    frame = read_by(name, truncated(parts(tmp_path, "parquet")), request)
    with pytest.raises(HeldoutError, match=f"{shown} could not count") as caught:
        heldout.evaluate(frame, **COLUMNS)
    # Dask does not say which; a path that is given to evaluate() is looked at beforehand, and then the file is named.
    assert name == "dask" or "part-1.parquet" in caught.value.what
    assert "\n" not in caught.value.what
    assert "damaged" in caught.value.hint
    with pytest.raises(HeldoutError, match=r"part-1\.parquet"):
        heldout.evaluate(tmp_path, engine=name, **COLUMNS)


@pytest.mark.parametrize(("name", "shown"), [("spark", "Spark"), ("dask", "Dask"), ("duckdb", "DuckDB")])
def test_a_file_that_vanishes_is_an_error(name, shown, request, tmp_path):
    frame = read_by(name, parts(tmp_path / "data", "parquet"), request)
    shutil.rmtree(tmp_path / "data")
    with pytest.raises(HeldoutError, match=f"{shown} could not count") as caught:
        heldout.evaluate(frame, **COLUMNS)
    assert "\n" not in caught.value.what


def test_our_own_errors_and_those_of_our_own_code_pass_as_they_are():
    mine = OptionError("It is wrong.", hint="mend it.")
    with pytest.raises(OptionError) as caught, engine_errors("spark"):
        raise mine
    assert caught.value is mine
    with pytest.raises(KeyError), engine_errors("spark"):
        raise KeyError("a slip of ours")


def test_a_process_that_read_tables_of_duckdb_ends_without_a_word():
    """Where something of it were left, the library that binds it to Python would say so."""
    program = "import duckdb, heldout; keep = heldout.evaluate(duckdb.sql('select 1 as truth, 1 as predicted'))"
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert ended.stdout + ended.stderr == ""


def test_a_spark_job_that_is_cancelled_is_an_interruption(spark_session):
    """Ctrl-C reaches Spark's own handler first, which cancels the jobs: what is raised then tells of nothing else."""
    context = spark_session.sparkContext

    def cancel() -> None:
        while not context.statusTracker().getActiveJobsIds():
            time.sleep(0.05)
        context.cancelAllJobs()

    cancelling = threading.Thread(target=cancel)
    cancelling.start()
    with pytest.raises(KeyboardInterrupt), engine_errors("spark"):
        spark_session.range(10**13).selectExpr("sum(id % 7 * (id % 11))").collect()
    cancelling.join()
