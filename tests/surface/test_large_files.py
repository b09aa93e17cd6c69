"""Folders, patterns and long files on the command line: the report of the rows at once, and faults by the file."""

from __future__ import annotations

import contextlib
import json
import os
import re
import signal
import subprocess
import sys
import time
import weakref
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from typer.testing import CliRunner

import heldout
from heldout.cli.app import app
from heldout.engines.stream.batch_engine import count_stream
from heldout.errors import FileError
from heldout.files.batches import batches_of
from heldout.predictions.source import ReadOptions

HELDOUT = Path(sys.executable).with_name("heldout")
run = CliRunner()


def table(n: int, seed: int = 0) -> pl.DataFrame:
    rng = np.random.default_rng(seed)
    score = rng.random(n)
    truth = rng.random(n) < score
    return pl.DataFrame(
        {
            "truth": np.where(truth, "yes", "no"),
            "predicted": np.where((score >= 0.5) ^ (rng.random(n) < 0.01), "yes", "no"),
            "score": score,
            "region": rng.choice(["north", "south"], n),
        }
    )


@pytest.fixture(scope="module")
def preds(tmp_path_factory) -> Path:
    """The same rows in one file, and in a folder of three."""
    folder = tmp_path_factory.mktemp("large")
    frame = table(3000)
    frame.write_parquet(folder / "whole.parquet")
    (folder / "preds").mkdir()
    for place in range(3):
        frame.slice(1000 * place, 1000).write_parquet(folder / "preds" / f"part-{place}.parquet")
    return folder


def document(*arguments: object) -> dict[str, object]:
    done = run.invoke(app, ["evaluate", *map(str, arguments), "--json", "-"])
    assert done.exit_code == 0, done.output
    made: dict[str, object] = json.loads(done.stdout)
    return made


def measures(made: dict[str, object]) -> object:
    return {name: made[name] for name in ("n", "confusion", "estimates", "findings")}


def test_a_folder_and_a_pattern_give_the_measures_of_one_file(preds):
    whole = document(preds / "whole.parquet", "--slice", "region")
    for path in (preds / "preds", preds / "preds" / "part-*.parquet"):
        parts = document(path, "--slice", "region")
        assert close(measures(parts), measures(whole))


def close(one: object, two: object) -> bool:
    """Whether two documents hold the same, figures to the last digits apart."""
    if isinstance(one, dict) and isinstance(two, dict):
        return one.keys() == two.keys() and all(close(one[key], two[key]) for key in one)
    if isinstance(one, list) and isinstance(two, list):
        return len(one) == len(two) and all(map(close, one, two))
    if isinstance(one, float) and isinstance(two, float):
        return one == pytest.approx(two, rel=1e-9, nan_ok=True)
    return one == two


def test_the_screen_of_a_folder_is_that_of_one_file(preds):
    def lines(path: Path) -> list[str]:
        done = run.invoke(app, ["evaluate", str(path)])
        assert done.exit_code == 0, done.output
        return done.stdout.replace(path.name, "PREDS").splitlines()

    one, many = lines(preds / "whole.parquet"), lines(preds / "preds")
    # What is said of rows that were not kept, and of the ranking, stands at the end.
    start = next(at for at, line in enumerate(one) if line.startswith("Findings"))
    assert many[: start - 1] == one[: start - 1]


def test_the_engine_can_be_forced_and_forbidden(preds):
    streamed = document(preds / "whole.parquet", "--engine", "stream")
    assert close(measures(streamed), measures(document(preds / "whole.parquet")))
    held = heldout.evaluate(preds / "preds", engine="memory")
    assert held.predictions is not None
    assert heldout.evaluate(preds / "preds").predictions is None


def test_the_rows_of_a_folder_in_memory_are_those_of_one_file(preds):
    whole = document(preds / "whole.parquet")
    for path in (preds / "preds", preds / "preds" / "part-*.parquet"):
        held = document(path, "--engine", "memory")
        # Nothing that needs rows is left out.
        assert measures(held) == measures(whole)
        assert held["fingerprint"] == whole["fingerprint"]


def test_files_in_memory_need_not_agree_in_columns_that_are_not_used(tmp_path):
    frame = table(400)
    frame[:200].with_columns(note=pl.lit("x"), patient=pl.lit("x")).write_parquet(tmp_path / "0.parquet")
    frame[200:].with_columns(note=pl.lit(1), patient=pl.lit(1)).write_parquet(tmp_path / "1.parquet")
    # As text, in which undefined is equal to undefined.
    assert repr(heldout.evaluate(tmp_path, engine="memory").rows()) == repr(heldout.evaluate(frame).rows())
    with pytest.raises(FileError, match="The column 'note' holds text in"):
        heldout.evaluate(tmp_path, engine="memory", group="note")


# What is left out


def test_a_part_of_no_bytes_is_named_in_every_report(tmp_path):
    for name in ("new", "old"):
        for day in (1, 2):
            (tmp_path / name / f"day={day}").mkdir(parents=True)
            frame = table(200, day).with_columns(case=pl.int_range(200) + 200 * day)
            frame.write_csv(tmp_path / name / f"day={day}" / "part.csv")
    (tmp_path / "new" / "day=3").mkdir()
    (tmp_path / "new" / "day=3" / "part.csv").touch()
    said = "1 file has no bytes and was left out: day=3/part.csv"
    new, old = str(tmp_path / "new"), str(tmp_path / "old")
    evidence, choose = str(tmp_path / "new.evidence"), ["--score", "score", "--maximize", "f1", "--positive", "yes"]
    assert run.invoke(app, ["count", new, "-o", evidence]).exit_code == 0
    for engine in ("stream", "memory", "polars", "duckdb", "dask"):
        for words in (
            ["evaluate", new],
            ["compare", new, old, "--id", "case", "--measure", "accuracy"],
            ["thresholds", new, *choose],
        ):
            done = run.invoke(app, [*words, "--engine", engine, "--json", "-"])
            assert done.exit_code == 0, done.output
            notes = json.loads(done.stdout)["notes"]
            assert [note for note in notes if note.removeprefix("new: ") == said], (engine, words, notes)
    gate = ["check", new, "--baseline", new, "--require", "accuracy >= 0.5, accuracy >= baseline - 0.5"]
    for words in (["evaluate", new], ["evaluate", evidence], ["thresholds", new, *choose], gate):
        done = run.invoke(app, words)
        assert done.exit_code == 0, done.output
        assert f"{said}." in " ".join(done.stdout.split())
    assert json.loads(run.invoke(app, [*gate, "--json", "-"]).stdout)["notes"][0] == said


@pytest.mark.parametrize("engine", ["stream", "memory", "polars", "duckdb", "dask"])
def test_a_parquet_file_of_no_bytes_was_not_written_to_its_end(engine, tmp_path):
    (tmp_path / "day=1").mkdir()
    (tmp_path / "day=2").mkdir()
    table(10).write_parquet(tmp_path / "day=1" / "part.parquet")
    (tmp_path / "day=2" / "part.parquet").touch()
    with pytest.raises(FileError, match=r"day=2/part\.parquet is empty \(0 bytes\)") as refused:
        heldout.evaluate(tmp_path, engine=engine)
    assert "remove it" in refused.value.hint
    assert heldout.evaluate(f"{tmp_path}/day=1/*.parquet", engine=engine).n == 10


def test_a_truncated_file_ends_with_its_name_and_no_trace(preds, tmp_path):
    folder = tmp_path / "preds"
    folder.mkdir()
    for file in (preds / "preds").iterdir():
        (folder / file.name).write_bytes(file.read_bytes())
    bad = folder / "part-1.parquet"
    bad.write_bytes(bad.read_bytes()[:-30])
    done = subprocess.run([HELDOUT, "evaluate", str(folder)], capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 2
    assert done.stdout == ""
    assert "part-1.parquet" in done.stderr.replace("\n", "")
    assert "Traceback" not in done.stderr


def test_a_partition_key_is_a_column_to_slice_by(tmp_path):
    for year in (2025, 2026):
        folder = tmp_path / f"year={year}"
        folder.mkdir()
        table(500, year).write_parquet(folder / "part.parquet")
    evaluation = heldout.evaluate(tmp_path, slices="year")
    assert evaluation.counted is not None
    assert [column.labels for column in evaluation.counted.slices] == [("2025", "2026")]
    assert evaluation.n == 1000


def test_batches_are_let_go_while_others_are_read(preds, monkeypatch):
    batches = batches_of(preds / "preds")
    assert batches is not None
    batches.batch = 50
    alive, most, frames = [0], [], batches.frames

    def gone() -> None:
        alive[0] -= 1

    def watched(*arguments, **options):
        for frame in frames(*arguments, **options):
            alive[0] += 1
            weakref.finalize(frame, gone)
            most.append(alive[0])
            yield frame
            del frame

    monkeypatch.setattr(batches, "frames", watched)
    made, _ = count_stream(batches, {}, ReadOptions(None, "refuse", None, None, None, "region"))
    assert made.n == 3000
    assert len(most) > 100
    assert max(most) < 10


def of_session(number: int) -> dict[Path, str]:
    """The processes of a session that still run: their folders in /proc with their command lines."""
    found = {}
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            state = (folder / "stat").read_text().rpartition(")")[2].split()
            if int(state[3]) == number and state[0] not in "ZX":
                found[folder] = (folder / "cmdline").read_text().replace("\0", " ")
        except (OSError, ValueError):
            # It has ended in the meantime.
            continue
    return found


def reads(number: int, folder: Path) -> bool:
    """Has a process of a session a file of this folder open, or mapped into its memory?"""
    for process in of_session(number):
        # What was closed or has ended in the meantime is asked again.
        with contextlib.suppress(OSError):
            for link in (process / "fd").iterdir():
                with contextlib.suppress(OSError):
                    if link.readlink().is_relative_to(folder):
                        return True
            if f"{folder}{os.sep}" in (process / "maps").read_text():
                return True
    return False


INTERRUPTS = [
    (None, signal.SIGINT),
    (None, signal.SIGTERM),
    ("duckdb", signal.SIGINT),
    ("duckdb", signal.SIGTERM),
    ("spark", signal.SIGINT),
]


@pytest.mark.parametrize(("engine", "number"), INTERRUPTS)
def test_an_interrupt_ends_at_once_and_leaves_no_file_and_no_process(tmp_path, engine, number):
    folder, scratch = tmp_path / "preds", tmp_path / "scratch"
    folder.mkdir()
    scratch.mkdir()
    table(100_000).write_parquet(tmp_path / "part.parquet")
    for place in range(2000):
        os.link(tmp_path / "part.parquet", folder / f"part-{place}.parquet")
    command = [str(HELDOUT), "evaluate", str(folder), "--slice", "region"]
    command += ["--engine", engine] if engine else []
    java = f"-Djava.io.tmpdir={scratch}"
    environment = {**os.environ, "TMPDIR": str(scratch), "SPARK_LOCAL_DIRS": str(scratch), "JAVA_TOOL_OPTIONS": java}
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment, cwd=tmp_path,
        start_new_session=True,
    ) as process:  # fmt: skip
        if engine == "spark":
            # Its virtual machine has been started, and is not ready yet.
            while process.poll() is None and "java" not in " ".join(of_session(process.pid).values()):
                time.sleep(0.1)
        else:
            while process.poll() is None and not reads(process.pid, folder):
                time.sleep(0.05)
        # In the middle of it.
        time.sleep(1)
        assert process.poll() is None, process.communicate()
        process.send_signal(number)
        out, error = process.communicate(timeout=60)
    assert process.returncode in (130, -number, 128 + number)
    assert "Traceback" not in error
    assert "Reading" not in error
    assert out == ""
    # The machine that runs Spark sees that we are gone, and then tidies up.
    patience = time.monotonic() + 30
    while (of_session(process.pid) or any(scratch.iterdir())) and time.monotonic() < patience:
        time.sleep(0.2)
    assert of_session(process.pid) == {}
    assert list(scratch.iterdir()) == []
    assert sorted(path.name for path in tmp_path.iterdir()) == ["part.parquet", "preds", "scratch"]


def test_a_long_reading_shows_on_a_terminal_how_far_it_is(tmp_path):
    folder = tmp_path / "preds"
    folder.mkdir()
    table(100_000).write_parquet(tmp_path / "part.parquet")
    for place in range(2000):
        os.link(tmp_path / "part.parquet", folder / f"part-{place}.parquet")
    ours, theirs = os.openpty()
    with subprocess.Popen(
        [str(HELDOUT), "evaluate", str(folder), "--slice", "region"], stdout=subprocess.PIPE, stderr=theirs
    ) as process:
        os.close(theirs)
        shown = b""
        try:
            while b"Reading" not in shown or b"%)" not in shown:
                shown += os.read(ours, 1000)
            process.send_signal(signal.SIGINT)
            while piece := os.read(ours, 1000):
                shown += piece
        except OSError:
            # So a terminal ends.
            pass
        finally:
            process.kill()
            os.close(ours)
    assert re.search(rb"Reading preds: [0-9,]+ of 200,000,000 rows \([0-9]+%\)", shown)
    # The line is gone before the last word is said; a thread of Polars that is cut short may say its own before.
    last = shown.rpartition(b"%)")[2].replace(b"\r\n", b"\n").lstrip(b" ^C\r")
    assert last == b"Interrupted.\n" or (b"panicked" in last and b"Interrupted.\n" in last)
